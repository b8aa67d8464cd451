// SPDX-License-Identifier: Apache-2.0
/* What a plain process of the node cannot have. Each field of a pod that asks for more than a
 * process can be given stands in one table, with what to do instead; a pod that has one of them is
 * refused before anything of it starts, since one that runs with less than it asked for fails later
 * and says less. Fields that ask for what a process has anyway (hostNetwork: true, hostPID) or that
 * are about images only (imagePullPolicy, imagePullSecrets) are fine and not here. So is subdomain,
 * which every pod of a JobSet has: it gives a pod a name, and promises nobody who knows it.
 *
 * A path names a place below spec. "a|b" is either, "[]" each item of a list. */
#include "base/mem.h"
#include "control/pods/launch.h"
#include "model/podnotes.h"
#include "model/rules.h"
#include <errno.h>
#include <string.h>

enum rule_when {
    GIVEN, /* there, and not empty */
    ON,    /* true */
    OFF,   /* false */
    OTHER, /* a text that is none of `fine` */
};

struct rule {
    const char *path;
    enum rule_when when;
    const char *why, *remedy;
    const char *const *fine;
};

#define EACH "initContainers|containers[]."
#define PROBES "livenessProbe|readinessProbe|startupProbe."
#define CONTEXT EACH "securityContext."
#define LEAVE_OUT "leave it out"
#define RUN_IMAGE "leave it out, or run the pod on a node with a container engine"

// clang-format off
static const struct rule RULES[] = {
    /* the pod */
    {"ephemeralContainers", GIVEN, "nothing can be put into a running process",
     "look at the process from the node itself"},
    {"os.name", OTHER, "this node runs Linux", "set it to linux", VALUES("linux")},
    {"runtimeClassName", OTHER, "this node has no such runtime", "leave it out or set it to process",
     VALUES("process", "")},
    {"resourceClaims", GIVEN, "devices cannot be claimed here",
     "leave it out and give the process access to the device by its user or group"},
    {"hostUsers", OFF, "a process has no user namespace of its own", RUN_IMAGE},
    {"shareProcessNamespace", ON, "a process has no process namespace to share",
     "leave it out: processes of a node see each other anyway"},
    {"hostnameOverride", GIVEN, "a process has the node's host name",
     "use hostname: the variable HOSTNAME is set to it"},
    {"setHostnameAsFQDN", ON, "a process has the node's host name", LEAVE_OUT},
    {"hostAliases", GIVEN, "a process has the node's /etc/hosts",
     "leave it out and add the names to /etc/hosts of the node"},
    {"dnsConfig", GIVEN, "a process has the node's /etc/resolv.conf", LEAVE_OUT},
    {"dnsPolicy", OTHER, "a process has the node's /etc/resolv.conf", "set it to Default",
     VALUES("Default", "ClusterFirst", "ClusterFirstWithHostNet")},
    {"securityContext.seLinuxOptions", GIVEN, "labels are not set for processes", LEAVE_OUT},
    {"securityContext.seccompProfile.type", OTHER, "system calls are not filtered for processes",
     RUN_IMAGE, VALUES("Unconfined")},
    {"securityContext.appArmorProfile.type", OTHER, "profiles are not set for processes",
     RUN_IMAGE, VALUES("Unconfined")},
    {"securityContext.windowsOptions", GIVEN, "this node runs Linux", LEAVE_OUT},
    {"securityContext.sysctls", GIVEN, "a process has the node's kernel parameters",
     "leave it out and set them on the node"},

    /* its volumes; sources that nobody here makes are found by volume_supported() */
    {"volumes[].emptyDir.medium", OTHER, "only disk and Memory are there", "set it to Memory or \"\"",
     VALUES("", "Memory")},
    {"volumes[].projected.sources[].secret|serviceAccountToken|clusterTrustBundle|podCertificate",
     GIVEN, "only configMap and downwardAPI can be projected", "use a ConfigMap or a hostPath"},

    /* its containers */
    {EACH "env[].valueFrom.secretKeyRef", GIVEN, "there are no Secrets here",
     "use a configMapKeyRef, or read a file that only the process's user may read"},
    {EACH "env[].valueFrom.fileKeyRef", GIVEN, "variables are not read from files",
     "use a configMapKeyRef"},
    {EACH "envFrom[].secretRef", GIVEN, "there are no Secrets here",
     "use a configMapRef, or read a file that only the process's user may read"},
    {EACH PROBES "grpc", GIVEN, "gRPC is not spoken here", "use tcpSocket, httpGet or exec"},
    {EACH "lifecycle.postStart", GIVEN, "nothing is run after a start",
     "do it in the command, or in a container of its own with dependsOn"},
    {EACH "lifecycle.preStop.tcpSocket", GIVEN, "it does nothing, in Kubernetes as well",
     "use exec, httpGet or sleep"},
    {EACH "volumeDevices", GIVEN, "block devices are not mapped",
     "leave it out and open the device of the node"},
    {EACH "resources.claims", GIVEN, "devices cannot be claimed here",
     "leave it out and give the process access to the device by its user or group"},
    {EACH "volumeMounts[].mountPropagation", OTHER, "mounts are not passed on",
     "set it to None or leave it out", VALUES("None")},
    {EACH "volumeMounts[].recursiveReadOnly", OTHER, "mounts below a mount keep their rights",
     "set it to IfPossible or leave it out", VALUES("Disabled", "IfPossible")},
    {EACH "stdin", ON, "nobody can attach to a process", LEAVE_OUT},
    {EACH "tty", ON, "a process gets no terminal", "leave it out; script(1) makes one"},
    {CONTEXT "privileged", ON, "a process has the rights of its user, no more",
     "leave it out, or run it as root with runAsUser: 0"},
    {CONTEXT "capabilities.add|drop", GIVEN, "capabilities of processes are not changed",
     RUN_IMAGE},
    {CONTEXT "allowPrivilegeEscalation", OFF, "no_new_privs is not set for processes", RUN_IMAGE},
    {CONTEXT "readOnlyRootFilesystem", ON, "a process sees the node's own files", RUN_IMAGE},
    {CONTEXT "procMount", OTHER, "a process sees the node's own /proc", LEAVE_OUT,
     VALUES("Default")},
    {CONTEXT "seLinuxOptions", GIVEN, "labels are not set for processes", LEAVE_OUT},
    {CONTEXT "seccompProfile.type", OTHER, "system calls are not filtered for processes",
     RUN_IMAGE, VALUES("Unconfined")},
    {CONTEXT "appArmorProfile.type", OTHER, "profiles are not set for processes", RUN_IMAGE,
     VALUES("Unconfined")},
    {CONTEXT "windowsOptions", GIVEN, "this node runs Linux", LEAVE_OUT},
};
// clang-format on

/* ---- the table ---- */

static bool is_fine(const char *text, const char *const *fine)
{
    for (; *fine != NULL; fine++) {
        if (str_eq(text, *fine))
            return true;
    }
    return false;
}

static bool rule_holds(const struct rule *rule, yyjson_val *val)
{
    bool is_empty_list = yyjson_is_arr(val) && yyjson_arr_size(val) == 0;
    bool is_empty_text = yyjson_is_str(val) && yyjson_get_len(val) == 0;
    switch (rule->when) {
    case GIVEN:
        return val != NULL && !yyjson_is_null(val) && !is_empty_list && !is_empty_text;
    case ON:
        return yyjson_is_true(val);
    case OFF:
        return yyjson_is_false(val);
    case OTHER:
        return yyjson_is_str(val) && !is_fine(yyjson_get_str(val), rule->fine);
    }
    return false;
}

static int refuse(const char *path, const char *why, const char *remedy, struct err *err)
{
    int r = err_set(err, -ENOTSUP, "%s: a plain process cannot have this: %s", path, why);
    (void)err_hint(err, "%s", remedy);
    return r;
}

static int walk(const struct rule *rule, yyjson_val *val, struct sv rest, struct str *path,
                struct err *err);

static int walk_list(const struct rule *rule, yyjson_val *list, struct sv rest, struct str *path,
                     struct err *err)
{
    size_t mark = path->len;
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        str_addf(path, "[%zu]", i);
        int r = walk(rule, item, rest, path, err);
        if (r < 0)
            return r;
        path->len = mark;
    }
    return 0;
}

/* Follows one name of a step: NAME or NAME[]. */
static int walk_name(const struct rule *rule, yyjson_val *child, struct sv rest, struct str *path,
                     struct err *err)
{
    if (yyjson_is_arr(child) && rest.len > 0)
        return walk_list(rule, child, rest, path, err);
    if (rest.len > 0)
        return yyjson_is_obj(child) ? walk(rule, child, rest, path, err) : 0;
    if (!rule_holds(rule, child))
        return 0;
    return refuse(str_text(path), rule->why, rule->remedy, err);
}

/* Depth is that of the table's paths. Cutting `path` back leaves its end without a NUL, which the
 * next addition repairs. */
static int walk(const struct rule *rule, yyjson_val *val, struct sv rest, struct str *path,
                struct err *err)
{
    struct sv step = sv_cut(&rest, '.');
    if (step.len > 2 && memcmp(step.ptr + step.len - 2, "[]", 2) == 0)
        step.len -= 2;
    size_t mark = path->len;
    while (step.len > 0) {
        struct sv name = sv_cut(&step, '|');
        str_addf(path, ".%.*s", (int)name.len, name.ptr);
        int r = walk_name(rule, yyjson_obj_getn(val, name.ptr, name.len), rest, path, err);
        if (r < 0)
            return r;
        path->len = mark;
    }
    return 0;
}

/* ---- what no table can say ---- */

static int image_supported(yyjson_val *container, const char *path, bool ignore, struct err *err)
{
    const char *image = json_str_at(container, "image");
    if (image == NULL || *image == '\0')
        return 0;
    if (!ignore) {
        int r = err_set(err, -ENOTSUP,
                        "%s.image: %s cannot be run: this node starts plain "
                        "processes",
                        path, image);
        (void)err_hint(err, "leave out image, or set the annotation " NOTE_RUNTIME
                            ": process on the pod to run the command without it");
        return r;
    }
    if (yyjson_arr_size(yyjson_obj_get(container, "command")) > 0)
        return 0;
    int r = err_set(err, -ENOTSUP, "%s.command: must be given where the image is ignored", path);
    (void)err_hint(err, "write the program that %s would run", image);
    return r;
}

static int ports_supported(yyjson_val *container, const char *path, struct err *err)
{
    size_t i, n;
    yyjson_val *port;
    yyjson_arr_foreach(yyjson_obj_get(container, "ports"), i, n, port)
    {
        int64_t host = json_int_at(port, "hostPort", 0);
        if (host == 0 || host == json_int_at(port, "containerPort", 0))
            continue;
        scoped_free char *place = mem_printf("%s.ports[%zu].hostPort", path, i);
        return refuse(place, "its ports are the node's own",
                      "leave it out, or set it to containerPort", err);
    }
    return 0;
}

static int containers_supported(yyjson_val *spec, bool ignore_images, struct err *err)
{
    static const char *const LISTS[] = {"initContainers", "containers"};
    for (size_t k = 0; k < ARRAY_LEN(LISTS); k++) {
        size_t i, n;
        yyjson_val *item;
        yyjson_arr_foreach(yyjson_obj_get(spec, LISTS[k]), i, n, item)
        {
            scoped_free char *path = mem_printf("spec.%s[%zu]", LISTS[k], i);
            int r = image_supported(item, path, ignore_images, err);
            if (r >= 0)
                r = ports_supported(item, path, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int volume_supported(yyjson_val *volume, size_t index, struct err *err)
{
    static const char *const FINE[] = {"name",        "emptyDir",  "hostPath", "configMap",
                                       "downwardAPI", "projected", NULL};
    size_t i, n;
    yyjson_val *key, *val;
    if (!yyjson_is_obj(volume))
        return 0;
    yyjson_obj_foreach(volume, i, n, key, val)
    {
        if (yyjson_is_null(val) || is_fine(yyjson_get_str(key), FINE))
            continue;
        scoped_free char *path = mem_printf("spec.volumes[%zu].%s", index, yyjson_get_str(key));
        return refuse(path, "volumes of this type are not made here",
                      "use emptyDir, hostPath, configMap, downwardAPI or projected", err);
    }
    return 0;
}

static int volumes_supported(yyjson_val *spec, struct err *err)
{
    size_t i, n;
    yyjson_val *volume;
    yyjson_arr_foreach(yyjson_obj_get(spec, "volumes"), i, n, volume)
    {
        int r = volume_supported(volume, i, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int launch_supported(const struct obj *pod, bool ignore_images, struct err *err)
{
    yyjson_val *spec = yyjson_obj_get(pod->root, "spec");
    yyjson_val *wish = yyjson_obj_get(pod->meta.annotations, NOTE_RUNTIME);
    bool ignore = ignore_images || yyjson_equals_str(wish, "process");
    int r = containers_supported(spec, ignore, err);
    if (r >= 0)
        r = volumes_supported(spec, err);
    scoped_str path = {0};
    for (size_t i = 0; r >= 0 && i < ARRAY_LEN(RULES); i++) {
        str_clear(&path);
        str_add(&path, "spec");
        r = walk(&RULES[i], spec, sv_of(RULES[i].path), &path, err);
    }
    return r;
}
