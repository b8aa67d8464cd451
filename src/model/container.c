// SPDX-License-Identifier: Apache-2.0
/* One container of a pod. Beyond Kubernetes there is `dependsOn`, and an image may be missing: the
 * command then runs as a plain process of the node. */
#include "model/container.h"
#include "model/podspec.h"
#include "model/rules.h"

#define RULES_MAX 20
#define EXIT_CODES_MAX 255

// clang-format off
static const struct field CONFIG_KEY_REF_FIELDS[] = {
    {"name", F_STRING, ONE, .pb = PB_IN(1, 1),
     .doc = "Name of the ConfigMap, in the pod's own namespace."},
    {"key", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_CONFIG_KEY, .pb = 2 | PB_ZERO,
     .doc = "The entry whose text is taken."},
    {"optional", F_BOOL, ONE, .pb = 3 | PB_ZERO,
     .doc = "True when the ConfigMap or the entry may be missing."},
    {0}};
static const struct type TYPE_CONFIG_KEY_REF = {
    CORE_V1("ConfigMapKeySelector"), "One entry of a ConfigMap.", CONFIG_KEY_REF_FIELDS};

static const struct field SECRET_KEY_REF_FIELDS[] = {
    {"name", F_STRING, ONE, .pb = PB_IN(1, 1),
     .doc = "Name of the Secret, in the pod's own namespace."},
    {"key", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_CONFIG_KEY, .pb = 2 | PB_ZERO,
     .doc = "The entry whose text is taken."},
    {"optional", F_BOOL, ONE, .pb = 3 | PB_ZERO,
     .doc = "True when the Secret or the entry may be missing."},
    {0}};
static const struct type TYPE_SECRET_KEY_REF = {
    CORE_V1("SecretKeySelector"), "One entry of a Secret.", SECRET_KEY_REF_FIELDS};

static const struct field ENV_SOURCE_FIELDS[] = {
    {"fieldRef", F_OBJECT, ONE, .of = &TYPE_FIELD_REF, .pb = 1 | PB_ZERO,
     .doc = "A field of the pod, such as metadata.name or status.podIP."},
    {"resourceFieldRef", F_OBJECT, ONE, .of = &TYPE_RESOURCE_FIELD_REF, .pb = 2 | PB_ZERO,
     .doc = "A limit or request of a container."},
    {"configMapKeyRef", F_OBJECT, ONE, .of = &TYPE_CONFIG_KEY_REF, .pb = 3 | PB_ZERO,
     .doc = "An entry of a ConfigMap."},
    {"secretKeyRef", F_OBJECT, ONE, .of = &TYPE_SECRET_KEY_REF, .pb = 4 | PB_ZERO,
     .doc = "An entry of a Secret."},
    {"fileKeyRef", F_ANY, ONE, .pb = 5,
     .doc = "An entry of a file in a volume; kept, not used."},
    {0}};

static const struct field CONFIG_ENV_FIELDS[] = {
    {"name", F_STRING, ONE, .pb = PB_IN(1, 1),
     .doc = "Name of the ConfigMap, in the pod's own namespace."},
    {"optional", F_BOOL, ONE, .pb = 2 | PB_ZERO, .doc = "True when the ConfigMap may be missing."},
    {0}};
static const struct type TYPE_CONFIG_ENV = {
    CORE_V1("ConfigMapEnvSource"), "A ConfigMap whose entries become variables.",
    CONFIG_ENV_FIELDS};

static const struct field SECRET_ENV_FIELDS[] = {
    {"name", F_STRING, ONE, .pb = PB_IN(1, 1),
     .doc = "Name of the Secret, in the pod's own namespace."},
    {"optional", F_BOOL, ONE, .pb = 2 | PB_ZERO, .doc = "True when the Secret may be missing."},
    {0}};
static const struct type TYPE_SECRET_ENV = {
    CORE_V1("SecretEnvSource"), "A Secret whose entries become variables.", SECRET_ENV_FIELDS};

static const struct field ENV_FROM_FIELDS[] = {
    {"prefix", F_STRING, ONE, .pb = 1, .doc = "Put in front of each name."},
    {"configMapRef", F_OBJECT, ONE, .of = &TYPE_CONFIG_ENV, .pb = 2 | PB_ZERO,
     .doc = "The ConfigMap whose entries are taken."},
    {"secretRef", F_OBJECT, ONE, .of = &TYPE_SECRET_ENV, .pb = 3 | PB_ZERO,
     .doc = "The Secret whose entries are taken."},
    {0}};
// clang-format on

static void env_source_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    rules_one_of(
        c, val,
        VALUES("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"),
        "source");
    field_ref_check(c, val,
                    VALUES("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
                           "spec.serviceAccountName", "status.hostIP", "status.hostIPs",
                           "status.podIP", "status.podIPs"));
}

static const struct type TYPE_ENV_SOURCE = {
    CORE_V1("EnvVarSource"),
    "Where the value of a variable comes from.",
    ENV_SOURCE_FIELDS,
    .check = env_source_check,
};

static void env_from_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    rules_one_of(c, val, VALUES("configMapRef", "secretRef"), "source");
}

static const struct type TYPE_ENV_FROM = {
    CORE_V1("EnvFromSource"),
    "All entries of a ConfigMap or Secret as variables.",
    ENV_FROM_FIELDS,
    .check = env_from_check,
};

// clang-format off
static const struct field ENV_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_ENV_NAME, .pb = 1 | PB_ZERO,
     .doc = "Name of the variable."},
    {"value", F_STRING, ONE, .pb = 2,
     .doc = "Its value; $(OTHER) is replaced by an earlier variable, $$ is one dollar sign."},
    {"valueFrom", F_OBJECT, ONE, .of = &TYPE_ENV_SOURCE, .pb = 3 | PB_ZERO,
     .doc = "Where the value comes from, instead of `value`."},
    {0}};
// clang-format on

static void env_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    if (yyjson_mut_get_len(yyjson_mut_obj_get(val, "value")) > 0 && rules_has(val, "valueFrom"))
        check_invalid(c, "valueFrom", yyjson_mut_obj_get(val, "valueFrom"),
                      "may not be specified when `value` is not empty");
}

static const struct type TYPE_ENV = {
    CORE_V1("EnvVar"),
    "A variable of the container's environment.",
    ENV_FIELDS,
    .check = env_check,
};

// clang-format off
static const struct field PORT_FIELDS[] = {
    {"name", F_STRING, ONE, .format = FMT_PORT_NAME, .pb = 1,
     .doc = "Name of the port, for probes; unique in the pod."},
    {"containerPort", F_INT32, ONE, REQUIRED | RANGE, .min = 1, .max = 65535, .pb = 3 | PB_ZERO,
     .doc = "Number of the port on which the container listens."},
    {"hostPort", F_INT32, ONE, RANGE, .max = 65535, .pb = 2,
     .doc = "Port of the node that leads to it. With hostNetwork, the same as containerPort."},
    {"hostIP", F_STRING, ONE, .pb = 5, .doc = "Address of the node to which hostPort is bound."},
    {"protocol", F_STRING, ONE, .fallback = "\"TCP\"", .values = VALUES("TCP", "UDP", "SCTP"),
     .pb = 4,
     .doc = "TCP, UDP or SCTP."},
    {0}};
static const struct type TYPE_PORT = {
    CORE_V1("ContainerPort"), "A port on which the container listens.", PORT_FIELDS};

static const struct field MOUNT_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "Name of one of the pod's volumes."},
    {"mountPath", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 3 | PB_ZERO,
     .doc = "Where the container sees it."},
    {"readOnly", F_BOOL, ONE, .pb = 2, .doc = "True when this container may not write to it."},
    {"recursiveReadOnly", F_STRING, ONE, .values = VALUES("Disabled", "IfPossible", "Enabled"),
     .pb = 7 | PB_ZERO,
     .doc = "Whether readOnly also holds for mounts below this one."},
    {"subPath", F_STRING, ONE, .pb = 4,
     .doc = "Part of the volume that is mounted instead of its root."},
    {"subPathExpr", F_STRING, ONE, .pb = 6,
     .doc = "The same with $(VARIABLES) of the container's environment."},
    {"mountPropagation", F_STRING, ONE,
     .values = VALUES("None", "HostToContainer", "Bidirectional"), .pb = 5 | PB_ZERO,
     .doc = "Whether later mounts of the node are seen here and the other way round."},
    {0}};

static const struct field DEVICE_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "Name of a volume of the pod that is a persistentVolumeClaim."},
    {"devicePath", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 2 | PB_ZERO,
     .doc = "Path of the device in the container."},
    {0}};
static const struct type TYPE_DEVICE = {
    CORE_V1("VolumeDevice"), "A volume as a raw block device.", DEVICE_FIELDS};

static const struct field EXIT_CODES_FIELDS[] = {
    {"operator", F_STRING, ONE, REQUIRED, .values = VALUES("In", "NotIn"), .pb = 1,
     .doc = "In: the exit code is one of the values. NotIn: it is none of them."},
    {"values", F_INT32, LIST, RANGE, .max = EXIT_CODES_MAX, .pb = 2,
     .doc = "The exit codes."},
    {0}};
static const struct type TYPE_EXIT_CODES = {
    CORE_V1("ContainerRestartRuleOnExitCodes"), "Exit codes that a rule is about.",
    EXIT_CODES_FIELDS};

static const struct field RESTART_RULE_FIELDS[] = {
    {"action", F_STRING, ONE, REQUIRED,
     .values = VALUES("Restart", "RestartAllContainers", "RestartPod", "Terminate"), .pb = 1,
     .doc = "Restart this container; RestartAllContainers of the pod in place, init containers "
            "first (RestartPod is the same); or Terminate: leave it ended."},
    {"exitCodes", F_OBJECT, ONE, REQUIRED, .of = &TYPE_EXIT_CODES, .pb = 2 | PB_ZERO,
     .doc = "The exit codes for which the rule holds."},
    {0}};
static const struct type TYPE_RESTART_RULE = {
    CORE_V1("ContainerRestartRule"),
    "What to do when the container ends in a certain way; the first rule that fits counts.",
    RESTART_RULE_FIELDS};

static const struct field DEPENDENCY_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY,
     .doc = "The other container of this pod."},
    {"condition", F_STRING, ONE, .fallback = "\"ready\"",
     .values = VALUES("ready", "completed", "started"),
     .doc = "What is waited for: ready (its probes say so), completed (it ended with exit code 0) "
            "or started (its process runs)."},
    {0}};
static const struct type TYPE_DEPENDENCY = {
    "dev.muster.v1alpha1.ContainerDependency",
    "Another container that must be so far before this one starts.", DEPENDENCY_FIELDS};

static const struct field RESIZE_POLICY_FIELDS[] = {
    {"resourceName", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "cpu or memory."},
    {"restartPolicy", F_STRING, ONE, REQUIRED, .values = VALUES("NotRequired", "RestartContainer"),
     .pb = 2 | PB_ZERO,
     .doc = "Whether the container must be restarted when the resource changes."},
    {0}};
static const struct type TYPE_RESIZE_POLICY = {
    CORE_V1("ContainerResizePolicy"), "What a change of a resource takes.", RESIZE_POLICY_FIELDS};
// clang-format on

static void mount_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    rules_at_most_one(c, val, VALUES("subPath", "subPathExpr"), "part of a volume");
}

static const struct type TYPE_MOUNT = {
    CORE_V1("VolumeMount"),
    "A volume, and where the container sees it.",
    MOUNT_FIELDS,
    .check = mount_check,
};

// clang-format off
/* In protobuf an ephemeral container has these in message `outer` of its own; 0: a container. */
#define CONTAINER_FIELDS_SHARED(outer)                                                             \
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_DNS_LABEL,                         \
     .pb = PB_IN(outer, 1) | PB_ZERO,                                                              \
     .doc = "Name of the container, unique in the pod."},                                          \
    {"image", F_STRING, ONE, .pb = PB_IN(outer, 2),                                                \
     .doc = "Image to run. Without one the command runs as a plain process of the node."},         \
    {"command", F_STRING, LIST, .pb = PB_IN(outer, 3),                                             \
     .doc = "Program to run, without a shell; instead of the image's entry point. "                \
            "$(VARIABLES) of the environment are replaced."},                                      \
    {"args", F_STRING, LIST, .pb = PB_IN(outer, 4),                                                \
     .doc = "Arguments of the program; instead of the image's."},                                  \
    {"workingDir", F_STRING, ONE, .pb = PB_IN(outer, 5),                                           \
     .doc = "Directory in which the program starts."},                                             \
    {"ports", F_OBJECT, LIST, MERGE | KEY_MAY_REPEAT, .of = &TYPE_PORT,                            \
     .merge_key = "containerPort", .pb = PB_IN(outer, 6),                                          \
     .doc = "Ports on which the container listens; for people, and for probes by name."},          \
    {"env", F_OBJECT, LIST, MERGE | KEY_MAY_REPEAT, .of = &TYPE_ENV, .merge_key = "name",          \
     .pb = PB_IN(outer, 7),                                                                        \
     .doc = "Variables of the environment; they win over envFrom."},                               \
    {"envFrom", F_OBJECT, LIST, .of = &TYPE_ENV_FROM, .pb = PB_IN(outer, 19),                      \
     .doc = "ConfigMaps and Secrets whose entries become variables; later ones win."},             \
    {"resources", F_OBJECT, ONE, .of = &TYPE_RESOURCES, .fallback = "{}", .pb = PB_IN(outer, 8),   \
     .doc = "CPU, memory and devices that the container asks for and may use at most."},           \
    {"resizePolicy", F_OBJECT, LIST, .of = &TYPE_RESIZE_POLICY, .pb = PB_IN(outer, 23),            \
     .doc = "Which resources can change without a restart."},                                      \
    {"restartPolicy", F_STRING, ONE, .values = VALUES("Always", "OnFailure", "Never"),             \
     .pb = PB_IN(outer, 24) | PB_ZERO,                                                             \
     .doc = "Instead of the pod's. An init container with Always is a sidecar: it keeps "          \
            "running while the next containers start, and ends after them."},                      \
    {"restartPolicyRules", F_OBJECT, LIST, RANGE, .max = RULES_MAX, .of = &TYPE_RESTART_RULE,      \
     .pb = PB_IN(outer, 25),                                                                       \
     .doc = "What to do for certain exit codes; the first rule that fits wins over "               \
            "restartPolicy."},                                                                     \
    {"volumeMounts", F_OBJECT, LIST, MERGE, .of = &TYPE_MOUNT, .merge_key = "mountPath",           \
     .pb = PB_IN(outer, 9),                                                                        \
     .doc = "Volumes of the pod that the container sees."},                                        \
    {"volumeDevices", F_OBJECT, LIST, MERGE, .of = &TYPE_DEVICE, .merge_key = "devicePath",        \
     .pb = PB_IN(outer, 21),                                                                       \
     .doc = "Volumes that the container sees as block devices."},                                  \
    {"livenessProbe", F_OBJECT, ONE, .of = &TYPE_PROBE, .pb = PB_IN(outer, 10) | PB_ZERO,          \
     .doc = "When it fails the container is killed and restarted."},                               \
    {"readinessProbe", F_OBJECT, ONE, .of = &TYPE_PROBE, .pb = PB_IN(outer, 11) | PB_ZERO,         \
     .doc = "While it fails the container is not ready."},                                         \
    {"startupProbe", F_OBJECT, ONE, .of = &TYPE_PROBE, .pb = PB_IN(outer, 22) | PB_ZERO,           \
     .doc = "The other probes begin when it has succeeded once; when it fails the container "      \
            "is killed."},                                                                         \
    {"lifecycle", F_OBJECT, ONE, .of = &TYPE_LIFECYCLE, .pb = PB_IN(outer, 12) | PB_ZERO,          \
     .doc = "What is done when the container has started and before it ends."},                    \
    {"terminationMessagePath", F_STRING, ONE, .fallback = "\"/dev/termination-log\"",              \
     .pb = PB_IN(outer, 13),                                                                       \
     .doc = "File from which the container's last words are read when it has ended."},             \
    {"terminationMessagePolicy", F_STRING, ONE, .fallback = "\"File\"",                            \
     .values = VALUES("File", "FallbackToLogsOnError"), .pb = PB_IN(outer, 20),                    \
     .doc = "FallbackToLogsOnError: the end of the log when the file is empty and the "            \
            "container failed."},                                                                  \
    {"imagePullPolicy", F_STRING, ONE, .values = VALUES("Always", "IfNotPresent", "Never"),        \
     .pb = PB_IN(outer, 14),                                                                       \
     .doc = "When the image is fetched. Always is the default for tag latest or none, "            \
            "else IfNotPresent."},                                                                 \
    {"securityContext", F_OBJECT, ONE, .of = &TYPE_SECURITY_CONTEXT,                               \
     .pb = PB_IN(outer, 15) | PB_ZERO,                                                             \
     .doc = "Who the container is and what it may do. It wins over the pod's."},                   \
    {"stdin", F_BOOL, ONE, .pb = PB_IN(outer, 16),                                                 \
     .doc = "True when standard input is kept open for somebody."},                                \
    {"stdinOnce", F_BOOL, ONE, .pb = PB_IN(outer, 17),                                             \
     .doc = "True when it is closed after the first who attached."},                               \
    {"tty", F_BOOL, ONE, .pb = PB_IN(outer, 18),                                                   \
     .doc = "True for a terminal instead of pipes."}

static const struct field CONTAINER_FIELDS[] = {
    CONTAINER_FIELDS_SHARED(0),
    {"dependsOn", F_OBJECT, LIST, MERGE, .of = &TYPE_DEPENDENCY, .merge_key = "name",
     .doc = "The container starts only when these other containers of the pod are so far; a bare "
            "name waits until it is ready. "
            "The order in which containers are written does not matter. Not in Kubernetes."},
    {"startTimeout", F_DURATION, ONE,
     .doc = "How long it may take from its start until it is ready, such as 90s; then it has "
            "failed. 0s is without limit. Without it, what the node's NodeConfig says. Not in "
            "Kubernetes."},
    {0}};

static const struct field EPHEMERAL_CONTAINER_FIELDS[] = {
    CONTAINER_FIELDS_SHARED(1),
    {"targetContainerName", F_STRING, ONE, .pb = 2,
     .doc = "The container whose processes are to be seen."},
    {0}};
// clang-format on

/* The tag is what follows the last colon behind the last slash; a digest pins the image. */
static bool image_moves(const char *image)
{
    if (strchr(image, '@') != NULL)
        return false;
    const char *slash = strrchr(image, '/');
    const char *tag = strrchr(slash != NULL ? slash : image, ':');
    return tag == NULL || str_eq(tag + 1, "latest");
}

/* "name" is short for {name: name}. */
static void container_expand(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(val, "dependsOn");
    size_t n = yyjson_mut_arr_size(list);
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *item = yyjson_mut_arr_get(list, i);
        if (!yyjson_mut_is_str(item))
            continue;
        yyjson_mut_val *long_form = yyjson_mut_obj(doc);
        json_mut_put(doc, long_form, "name", yyjson_mut_strcpy(doc, yyjson_mut_get_str(item)));
        json_mut_put(doc, long_form, "condition", yyjson_mut_str(doc, "ready"));
        (void)yyjson_mut_arr_replace(list, i, long_form);
    }
}

static void container_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    const char *image = yyjson_mut_get_str(yyjson_mut_obj_get(val, "image"));
    if (image == NULL || *image == '\0' || rules_has(val, "imagePullPolicy"))
        return;
    const char *policy = image_moves(image) ? "Always" : "IfNotPresent";
    json_mut_put(doc, val, "imagePullPolicy", yyjson_mut_str(doc, policy));
}

/* One success must be enough where a failure kills the container. */
static void check_single_success(struct check *c, yyjson_mut_val *val, const char *probe_name)
{
    yyjson_mut_val *probe = yyjson_mut_obj_get(val, probe_name);
    yyjson_mut_val *threshold = yyjson_mut_obj_get(probe, "successThreshold");
    if (threshold == NULL || !yyjson_mut_is_int(threshold) || yyjson_mut_get_sint(threshold) == 1)
        return;
    size_t mark = check_enter(c, probe_name);
    check_invalid(c, "successThreshold", threshold, "must be 1");
    check_leave(c, mark);
}

static void check_port_names(struct check *c, yyjson_mut_val *ports)
{
    scoped_names names = {0};
    size_t mark = check_enter(c, "ports");
    size_t i, n;
    yyjson_mut_val *port;
    yyjson_mut_arr_foreach(ports, i, n, port)
    {
        yyjson_mut_val *name = yyjson_mut_obj_get(port, "name");
        if (yyjson_mut_get_len(name) == 0)
            continue;
        size_t inner = check_enter_item(c, i, port);
        if (rules_knows(&names, yyjson_mut_get_str(name)))
            check_duplicate(c, "name", name);
        check_leave(c, inner);
        rules_add_name(&names, name);
    }
    check_leave(c, mark);
}

static void check_start_timeout(struct check *c, yyjson_mut_val *val)
{
    time_ms span = 0;
    if (!yyjson_mut_is_str(val) || duration_parse(sv_of(yyjson_mut_get_str(val)), &span, NULL) < 0)
        return; /* one report is enough */
    if (span >= 0)
        return;
    check_invalid(c, "startTimeout", val, "must not be negative");
    check_hint(c, "0s is without limit");
}

/* Those of the wrong type are there, and reported as such. */
static bool has_image(yyjson_mut_val *val)
{
    return rules_has(val, "image") && !yyjson_mut_equals_str(yyjson_mut_obj_get(val, "image"), "");
}

static bool has_command(yyjson_mut_val *val)
{
    yyjson_mut_val *command = yyjson_mut_obj_get(val, "command");
    return rules_has(val, "command") &&
           !(yyjson_mut_is_arr(command) && yyjson_mut_arr_size(command) == 0);
}

static void container_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    if (!c->is_never_made && !has_image(val) && !has_command(val)) {
        check_required(c, "image", "a container needs an image, or a command to run without one");
        check_hint(c, "for a plain process write command: [program, argument, ...]");
    }
    check_single_success(c, val, "livenessProbe");
    check_single_success(c, val, "startupProbe");
    check_port_names(c, yyjson_mut_obj_get(val, "ports"));
    check_start_timeout(c, yyjson_mut_obj_get(val, "startTimeout"));
    bool has_rules = yyjson_mut_arr_size(yyjson_mut_obj_get(val, "restartPolicyRules")) > 0;
    if (has_rules && !rules_has(val, "restartPolicy"))
        check_required(c, "restartPolicy", "must be set when `restartPolicyRules` are");
}

const struct type TYPE_CONTAINER = {
    CORE_V1("Container"),   "One program of the pod, with what it needs.",
    CONTAINER_FIELDS,       .check = container_check,
    .fill = container_fill, .expand = container_expand,
};

static void ephemeral_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    static const char *const NOT_HERE[] = {
        "ports",     "livenessProbe", "readinessProbe",     "startupProbe",
        "lifecycle", "restartPolicy", "restartPolicyRules", "resizePolicy",
    };
    for (size_t i = 0; i < ARRAY_LEN(NOT_HERE); i++) {
        if (rules_has(val, NOT_HERE[i]))
            check_forbidden(c, NOT_HERE[i], "may not be set for ephemeral containers");
    }
    if (!has_image(val))
        check_required(c, "image", NULL);
}

const struct type TYPE_EPHEMERAL_CONTAINER = {
    CORE_V1("EphemeralContainer"),
    "A container that is put into a running pod to look at it. It is never restarted.",
    EPHEMERAL_CONTAINER_FIELDS,
    .check = ephemeral_check,
    .fill = container_fill,
};
