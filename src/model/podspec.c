// SPDX-License-Identifier: Apache-2.0
/* What a pod is made of. The checks here are those between containers, volumes and the pod; each
 * container's own are in container.c. */
#include "model/podspec.h"
#include "model/container.h"
#include "model/kind.h"
#include "model/podnotes.h"
#include "model/rules.h"

// clang-format off
static const struct field HOST_ALIAS_FIELDS[] = {
    {"ip", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_IP, .pb = 1 | PB_ZERO,
     .doc = "The address."},
    {"hostnames", F_STRING, LIST, .pb = 2,
     .doc = "Names for it."},
    {0}};
static const struct type TYPE_HOST_ALIAS = {
    CORE_V1("HostAlias"), "A line of the pod's /etc/hosts.", HOST_ALIAS_FIELDS};

static const struct field DNS_OPTION_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1,
     .doc = "Name of the option, such as ndots."},
    {"value", F_STRING, ONE, .pb = 2 | PB_ZERO, .doc = "Its value, where it has one."},
    {0}};
static const struct type TYPE_DNS_OPTION = {
    CORE_V1("PodDNSConfigOption"), "An option of the resolver.", DNS_OPTION_FIELDS};

static const struct field DNS_CONFIG_FIELDS[] = {
    {"nameservers", F_STRING, LIST, .pb = 1, .doc = "Addresses of name servers, in addition."},
    {"searches", F_STRING, LIST, .pb = 2, .doc = "Domains in which short names are looked for."},
    {"options", F_OBJECT, LIST, .of = &TYPE_DNS_OPTION, .pb = 3, .doc = "Options of the resolver."},
    {0}};
static const struct type TYPE_DNS_CONFIG = {
    CORE_V1("PodDNSConfig"), "The pod's /etc/resolv.conf.", DNS_CONFIG_FIELDS};

static const struct field GATE_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_QUALIFIED, .pb = 1 | PB_ZERO,
     .doc = "Name of the gate; whoever put it there takes it away."},
    {0}};
static const struct type TYPE_SCHEDULING_GATE = {
    CORE_V1("PodSchedulingGate"), "Keeps a pod from being placed.", GATE_FIELDS};

static const struct field READINESS_GATE_FIELDS[] = {
    {"conditionType", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_QUALIFIED,
     .pb = 1 | PB_ZERO,
     .doc = "Type of the condition that must be True as well."},
    {0}};
static const struct type TYPE_READINESS_GATE = {
    CORE_V1("PodReadinessGate"), "A condition without which the pod is not ready.",
    READINESS_GATE_FIELDS};

static const struct field OS_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED, .values = VALUES("linux", "windows"), .pb = 1 | PB_ZERO,
     .doc = "linux or windows."},
    {0}};
static const struct type TYPE_OS = {
    CORE_V1("PodOS"), "The operating system that the containers need.", OS_FIELDS};

static const struct field POD_CLAIM_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_DNS_LABEL, .pb = 1 | PB_ZERO,
     .doc = "The name by which containers mean it."},
    {"resourceClaimName", F_STRING, ONE, .pb = 3 | PB_ZERO,
     .doc = "A ResourceClaim of the same namespace."},
    {"resourceClaimTemplateName", F_STRING, ONE, .pb = 4 | PB_ZERO,
     .doc = "A template from which a claim is made for this pod."},
    {0}};
// clang-format on

static void pod_claim_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    rules_one_of(c, val, VALUES("resourceClaimName", "resourceClaimTemplateName"), "claim");
}

static const struct type TYPE_POD_CLAIM = {
    CORE_V1("PodResourceClaim"),
    "A device that is claimed for the pod.",
    POD_CLAIM_FIELDS,
    .check = pod_claim_check,
};

/* Each change of one container writes the status of all: what one pod may cost must have an end. */
#define CONTAINERS_MAX 1000

// clang-format off
static const struct field POD_SPEC_FIELDS[] = {
    /* what runs */
    {"initContainers", F_OBJECT, LIST, MERGE | RANGE, .max = CONTAINERS_MAX, .of = &TYPE_CONTAINER,
     .merge_key = "name", .pb = 20,
     .doc = "Run one after the other, each to its end, before the containers start. "
            "With restartPolicy Always they are sidecars and stay."},
    {"containers", F_OBJECT, LIST, REQUIRED | NON_EMPTY | MERGE | RANGE, .min = 1,
     .max = CONTAINERS_MAX, .of = &TYPE_CONTAINER, .merge_key = "name", .pb = 2,
     .doc = "The programs of the pod; at least one."},
    {"ephemeralContainers", F_OBJECT, LIST, MERGE, .of = &TYPE_EPHEMERAL_CONTAINER,
     .merge_key = "name", .pb = 34,
     .doc = "Containers that were put into the running pod to look at it."},
    {"volumes", F_OBJECT, LIST, MERGE | RETAIN_KEYS, .of = &TYPE_VOLUME, .merge_key = "name",
     .pb = 1,
     .doc = "Directories that the containers can share."},
    {"restartPolicy", F_STRING, ONE, .fallback = "\"Always\"",
     .values = VALUES("Always", "OnFailure", "Never"), .pb = 3,
     .doc = "What happens when a container ends: Always starts it again, OnFailure only after a "
            "failure, Never not at all."},
    {"terminationGracePeriodSeconds", F_INT64, ONE, RANGE, .fallback = "30", .pb = 4 | PB_ZERO,
     .doc = "Seconds that containers get to end after they were told to; then they are killed."},
    {"activeDeadlineSeconds", F_INT64, ONE, RANGE, .min = 1, .pb = 5 | PB_ZERO,
     .doc = "Seconds from its start after which the pod is stopped and counts as failed."},
    {"resources", F_OBJECT, ONE, .of = &TYPE_RESOURCES, .pb = 40 | PB_ZERO,
     .doc = "What all containers together ask for and may use at most."},
    /* where it runs */
    {"nodeName", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN, .pb = 10,
     .doc = "The node that runs the pod; set when it is placed."},
    {"nodeSelector", F_STRING, MAP, KEY_FORMAT, .format = FMT_QUALIFIED, .pb = 7,
     .doc = "Labels that the node must have."},
    {"affinity", F_OBJECT, ONE, .of = &TYPE_AFFINITY, .pb = 18 | PB_ZERO,
     .doc = "Rules on where the pod may run and where it would like to."},
    {"tolerations", F_OBJECT, LIST, .of = &TYPE_TOLERATION, .pb = 22,
     .doc = "Taints of nodes that do not keep this pod away."},
    {"topologySpreadConstraints", F_OBJECT, LIST, MERGE | KEY_MAY_REPEAT,
     .of = &TYPE_TOPOLOGY_SPREAD, .merge_key = "topologyKey", .pb = 33,
     .doc = "How pods are spread over zones, nodes and other places; all must hold."},
    {"schedulerName", F_STRING, ONE, .fallback = "\"default-scheduler\"", .pb = 19,
     .doc = "Who places the pod."},
    {"schedulingGates", F_OBJECT, LIST, MERGE, .of = &TYPE_SCHEDULING_GATE, .merge_key = "name",
     .pb = 38,
     .doc = "While there are any the pod is not placed. They can be taken away, not added."},
    {"priorityClassName", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN, .pb = 24,
     .doc = "Name of the pod's priority."},
    {"priority", F_INT32, ONE, .pb = 25 | PB_ZERO,
     .doc = "The number behind priorityClassName; higher goes first."},
    {"preemptionPolicy", F_STRING, ONE, .values = VALUES("PreemptLowerPriority", "Never"),
     .pb = 31 | PB_ZERO,
     .doc = "Whether pods of lower priority may be stopped for this one."},
    {"runtimeClassName", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN, .pb = 29 | PB_ZERO,
     .doc = "Which of the node's runtimes runs the pod."},
    {"overhead", F_QUANTITY, MAP, RANGE, .pb = 32,
     .doc = "What the pod takes besides its containers."},
    {"os", F_OBJECT, ONE, .of = &TYPE_OS, .pb = 36 | PB_ZERO,
     .doc = "The operating system that the containers need."},
    {"resourceClaims", F_OBJECT, LIST, MERGE | RETAIN_KEYS, .of = &TYPE_POD_CLAIM,
     .merge_key = "name", .pb = 39,
     .doc = "Devices that are claimed for the pod before it starts."},
    /* its surroundings */
    {"hostNetwork", F_BOOL, ONE, .pb = 11, .doc = "True when the pod uses the node's own network."},
    {"hostPID", F_BOOL, ONE, .pb = 12, .doc = "True when the pod sees the node's processes."},
    {"hostIPC", F_BOOL, ONE, .pb = 13, .doc = "True when the pod shares the node's IPC."},
    {"hostUsers", F_BOOL, ONE, .pb = 37 | PB_ZERO,
     .doc = "False for a user namespace of the pod's own."},
    {"shareProcessNamespace", F_BOOL, ONE, .pb = 27 | PB_ZERO,
     .doc = "True when the containers see each other's processes."},
    {"hostname", F_STRING, ONE, .format = FMT_DNS_LABEL, .pb = 16,
     .doc = "Host name of the pod; without it, the pod's name."},
    {"hostnameOverride", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN, .pb = 41 | PB_ZERO,
     .doc = "Host name that the pod's processes see, whatever hostname says."},
    {"subdomain", F_STRING, ONE, .format = FMT_DNS_LABEL, .pb = 17,
     .doc = "Makes the pod known as hostname.subdomain.namespace.svc."},
    {"setHostnameAsFQDN", F_BOOL, ONE, .pb = 35 | PB_ZERO,
     .doc = "True when the host name is the whole of that."},
    {"hostAliases", F_OBJECT, LIST, MERGE | KEY_MAY_REPEAT, .of = &TYPE_HOST_ALIAS,
     .merge_key = "ip", .pb = 23,
     .doc = "Lines for the pod's /etc/hosts."},
    {"dnsPolicy", F_STRING, ONE, .fallback = "\"ClusterFirst\"",
     .values = VALUES("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"), .pb = 6,
     .doc = "Where names are looked up: in the cluster first, as on the node (Default), or only "
            "as dnsConfig says (None)."},
    {"dnsConfig", F_OBJECT, ONE, .of = &TYPE_DNS_CONFIG, .pb = 26 | PB_ZERO,
     .doc = "Name servers and domains, in addition to those of dnsPolicy."},
    {"enableServiceLinks", F_BOOL, ONE, .pb = 30 | PB_ZERO,
     .doc = "True when services of the namespace become variables of the environment."},
    /* its rights */
    {"securityContext", F_OBJECT, ONE, .of = &TYPE_POD_SECURITY_CONTEXT, .fallback = "{}",
     .pb = 14 | PB_ZERO,
     .doc = "Who the pod's containers are and what they may do."},
    {"serviceAccountName", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN, .pb = 8,
     .doc = "The account in whose name the pod talks to the API."},
    {"serviceAccount", F_STRING, ONE, .pb = 9,
     .doc = "Old name of serviceAccountName; kept equal to it."},
    {"automountServiceAccountToken", F_BOOL, ONE, .pb = 21 | PB_ZERO,
     .doc = "False when the containers should not find a token."},
    {"imagePullSecrets", F_OBJECT, LIST, MERGE | KEY_MAY_REPEAT, .of = &TYPE_LOCAL_REF,
     .merge_key = "name", .pb = 15,
     .doc = "Secrets with which images are fetched."},
    {"readinessGates", F_OBJECT, LIST, .of = &TYPE_READINESS_GATE, .pb = 28,
     .doc = "Conditions that must be True, besides all containers being ready, for the pod to "
            "be ready."},
    {"workloadRef", F_ANY, ONE, .pb = 42,
     .doc = "The Workload of scheduling.k8s.io of which the pod is a member; kept, not used."},
    {0}};

static const struct field POD_TEMPLATE_SPEC_FIELDS[] = {
    {"metadata", F_OBJECT, ONE, .of = &TYPE_OBJECT_META, .pb = 1,
     .doc = "Labels and annotations of the pods. Their names are made, not given."},
    {"spec", F_OBJECT, ONE, REQUIRED, .of = &TYPE_POD_SPEC, .pb = 2,
     .doc = "What the pods are made of."},
    {0}};
// clang-format on

/* ---- defaults ---- */

/* Two names of one field; old clients read the old one. */
static void podspec_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(val, "serviceAccountName"));
    const char *old = yyjson_mut_get_str(yyjson_mut_obj_get(val, "serviceAccount"));
    if (name != NULL && *name != '\0')
        json_mut_put(doc, val, "serviceAccount", yyjson_mut_strcpy(doc, name));
    else if (old != NULL && *old != '\0')
        json_mut_put(doc, val, "serviceAccountName", yyjson_mut_strcpy(doc, old));
}

/* ---- checks ---- */

static const char *const CONTAINER_LISTS[] = {"initContainers", "containers",
                                              "ephemeralContainers"};

/* Equal names inside one list are the table's to find. */
static void check_names(struct check *c, yyjson_mut_val *spec)
{
    scoped_names names = {0};
    for (size_t k = 0; k < ARRAY_LEN(CONTAINER_LISTS); k++) {
        yyjson_mut_val *list = yyjson_mut_obj_get(spec, CONTAINER_LISTS[k]);
        size_t mark = check_enter(c, CONTAINER_LISTS[k]);
        size_t i, n;
        yyjson_mut_val *item;
        yyjson_mut_arr_foreach(list, i, n, item)
        {
            yyjson_mut_val *name = yyjson_mut_obj_get(item, "name");
            size_t inner = check_enter_item(c, i, item);
            if (yyjson_mut_is_str(name) && rules_knows(&names, yyjson_mut_get_str(name)))
                check_duplicate(c, "name", name);
            check_leave(c, inner);
        }
        check_leave(c, mark);
        rules_names_of(&names, list, "name");
    }
}

/* field: a list of the container whose items name something of the pod. */
static void check_uses(struct check *c, yyjson_mut_val *container, const char *field,
                       const struct rules_names *names)
{
    size_t mark = check_enter(c, field);
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(container, field), i, n, item)
    {
        size_t inner = check_enter_item(c, i, item);
        rules_known(c, "name", yyjson_mut_obj_get(item, "name"), names);
        check_leave(c, inner);
    }
    check_leave(c, mark);
}

static bool is_sidecar(yyjson_mut_val *container)
{
    return str_eq(yyjson_mut_get_str(yyjson_mut_obj_get(container, "restartPolicy")), "Always");
}

/* An init container that ends cannot be asked whether it is well. */
static void check_init(struct check *c, yyjson_mut_val *container)
{
    static const char *const SIDECAR_ONLY[] = {"livenessProbe", "readinessProbe", "startupProbe",
                                               "lifecycle"};
    if (is_sidecar(container))
        return;
    for (size_t i = 0; i < ARRAY_LEN(SIDECAR_ONLY); i++) {
        if (rules_has(container, SIDECAR_ONLY[i]))
            check_forbidden(c, SIDECAR_ONLY[i],
                            "may not be set for init containers without restartPolicy=Always");
    }
}

struct uses {
    struct rules_names volumes;
    struct rules_names claims;
};

static void check_container(struct check *c, yyjson_mut_val *container, bool init,
                            const struct uses *uses)
{
    check_uses(c, container, "volumeMounts", &uses->volumes);
    check_uses(c, container, "volumeDevices", &uses->volumes);
    size_t mark = check_enter(c, "resources");
    check_uses(c, yyjson_mut_obj_get(container, "resources"), "claims", &uses->claims);
    check_leave(c, mark);
    if (init)
        check_init(c, container);
}

static void check_containers(struct check *c, yyjson_mut_val *spec)
{
    struct uses uses = {0};
    rules_names_of(&uses.volumes, yyjson_mut_obj_get(spec, "volumes"), "name");
    rules_names_of(&uses.claims, yyjson_mut_obj_get(spec, "resourceClaims"), "name");
    for (size_t k = 0; k < ARRAY_LEN(CONTAINER_LISTS); k++) {
        size_t mark = check_enter(c, CONTAINER_LISTS[k]);
        size_t i, n;
        yyjson_mut_val *item;
        yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, CONTAINER_LISTS[k]), i, n, item)
        {
            size_t inner = check_enter_item(c, i, item);
            check_container(c, item, k == 0, &uses);
            check_leave(c, inner);
        }
        check_leave(c, mark);
    }
    rules_names_done(&uses.volumes);
    rules_names_done(&uses.claims);
}

/* The same key may come twice, once for each answer to whenUnsatisfiable. */
static void check_spread(struct check *c, yyjson_mut_val *list)
{
    struct map *seen = map_new();
    size_t mark = check_enter(c, "topologySpreadConstraints");
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, i, n, item)
    {
        const char *key = yyjson_mut_get_str(yyjson_mut_obj_get(item, "topologyKey"));
        const char *when = yyjson_mut_get_str(yyjson_mut_obj_get(item, "whenUnsatisfiable"));
        scoped_free char *pair = mem_printf("%s %s", key ? key : "", when ? when : "");
        size_t inner = check_enter_item(c, i, item);
        if (map_put(seen, pair, item) != NULL)
            check_duplicate(c, "topologyKey", yyjson_mut_obj_get(item, "topologyKey"));
        check_leave(c, inner);
    }
    check_leave(c, mark);
    map_free(seen);
}

static void podspec_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    check_names(c, val);
    check_containers(c, val);
    check_spread(c, yyjson_mut_obj_get(val, "topologySpreadConstraints"));
    rules_label_values(c, val, "nodeSelector");
    depends_check(c, val);
    const char *dns = yyjson_mut_get_str(yyjson_mut_obj_get(val, "dnsPolicy"));
    if (str_eq(dns, "None") &&
        yyjson_mut_arr_size(json_mut_at(val, "dnsConfig.nameservers")) == 0) {
        size_t mark = check_enter(c, "dnsConfig");
        check_required(c, "nameservers", "must be given when `dnsPolicy` is None");
        check_leave(c, mark);
    }
    if (yyjson_mut_get_bool(yyjson_mut_obj_get(val, "hostPID")) &&
        yyjson_mut_get_bool(yyjson_mut_obj_get(val, "shareProcessNamespace")))
        check_forbidden(c, "shareProcessNamespace", "may not be true when `hostPID` is true");
}

const struct type TYPE_POD_SPEC = {
    CORE_V1("PodSpec"),   "What a pod is made of and what it needs.",
    POD_SPEC_FIELDS,      .check = podspec_check,
    .fill = podspec_fill,
};

const struct type TYPE_POD_TEMPLATE_SPEC = {
    CORE_V1("PodTemplateSpec"),
    "The pattern after which pods are made.",
    POD_TEMPLATE_SPEC_FIELDS,
    .check = podnotes_check,
};
