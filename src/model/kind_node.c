// SPDX-License-Identifier: Apache-2.0
#include "model/cell.h"
#include "model/kind.h"
#include "model/podspec.h"
#include "model/rules.h"
#include <stdlib.h>

// clang-format off
static const struct field TAINT_FIELDS[] = {
    {"key", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_QUALIFIED, .pb = 1 | PB_ZERO,
     .doc = "Key by which pods tolerate it."},
    {"value", F_STRING, ONE, .format = FMT_LABEL_VALUE, .pb = 2,
     .doc = "Value that belongs to the key."},
    {"effect", F_STRING, ONE, REQUIRED,
     .values = VALUES("NoSchedule", "PreferNoSchedule", "NoExecute"), .pb = 3 | PB_ZERO,
     .doc = "For pods that do not tolerate it: NoSchedule, none is placed here; "
            "PreferNoSchedule, only when there is no other node; NoExecute, running ones go too."},
    {"timeAdded", F_TIME, ONE, .pb = 4,
     .doc = "When a NoExecute taint was added."},
    {0}};
const struct type TYPE_TAINT = {
    CORE_V1("Taint"), "Keeps pods away from a node.", TAINT_FIELDS};

static const struct field SPEC_FIELDS[] = {
    {"unschedulable", F_BOOL, ONE, .pb = 4,
     .doc = "True (kubectl cordon) when no new pods are placed here."},
    {"taints", F_OBJECT, LIST, .of = &TYPE_TAINT, .pb = 5,
     .doc = "Keep pods away that do not tolerate them."},
    {"podCIDR", F_STRING, ONE, .pb = 1,
     .doc = "Addresses for the node's pods."},
    {"podCIDRs", F_STRING, LIST, MERGE, .pb = 7,
     .doc = "The same for several families of addresses; the first is podCIDR."},
    {"providerID", F_STRING, ONE, .pb = 3,
     .doc = "The machine's name with its cloud."},
    {"externalID", F_STRING, ONE, .pb = 2,
     .doc = "No longer used; accepted from old clients."},
    {"configSource", F_ANY, ONE, .pb = 6,
     .doc = "No longer used; accepted from old clients."},
    {0}};

static const struct field NODE_CONDITION_FIELDS[] = {
    {"type", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "Ready, MemoryPressure, DiskPressure, PIDPressure and so on."},
    {"status", F_STRING, ONE, REQUIRED, .values = VALUES("True", "False", "Unknown"),
     .pb = 2 | PB_ZERO,
     .doc = "True, False, or Unknown when the node is silent."},
    {"lastHeartbeatTime", F_TIME, ONE, .pb = 3, .doc = "When the node last said so."},
    {"lastTransitionTime", F_TIME, ONE, .pb = 4, .doc = "When the status last changed."},
    {"reason", F_STRING, ONE, .pb = 5, .doc = "One word: why the status is what it is."},
    {"message", F_STRING, ONE, .pb = 6, .doc = "The same for people."},
    {0}};
static const struct type TYPE_NODE_CONDITION = {
    CORE_V1("NodeCondition"), "One aspect of the node's state, and since when it is so.",
    NODE_CONDITION_FIELDS};

static const struct field ADDRESS_FIELDS[] = {
    {"type", F_STRING, ONE, REQUIRED, .pb = 1 | PB_ZERO,
     .doc = "Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS."},
    {"address", F_STRING, ONE, REQUIRED, .pb = 2 | PB_ZERO, .doc = "The address or name."},
    {0}};
static const struct type TYPE_ADDRESS = {
    CORE_V1("NodeAddress"), "A way to reach the node.", ADDRESS_FIELDS};

static const struct field ENDPOINT_FIELDS[] = {
    {"Port", F_INT32, ONE, .pb = 1 | PB_ZERO, .doc = "Port on which it listens."},
    {0}};
static const struct type TYPE_ENDPOINT = {
    CORE_V1("DaemonEndpoint"), "Where a daemon of the node listens.", ENDPOINT_FIELDS};
static const struct field ENDPOINTS_FIELDS[] = {
    {"kubeletEndpoint", F_OBJECT, ONE, .of = &TYPE_ENDPOINT, .pb = 1,
     .doc = "Where the program that runs the pods listens."},
    {0}};
static const struct type TYPE_ENDPOINTS = {
    CORE_V1("NodeDaemonEndpoints"), "Where the node's daemons listen.", ENDPOINTS_FIELDS};

static const struct field INFO_FIELDS[] = {
    {"machineID", F_STRING, ONE, .pb = 1 | PB_ZERO, .doc = "The machine's id."},
    {"systemUUID", F_STRING, ONE, .pb = 2 | PB_ZERO, .doc = "The machine's UUID."},
    {"bootID", F_STRING, ONE, .pb = 3 | PB_ZERO, .doc = "Changes with each boot."},
    {"kernelVersion", F_STRING, ONE, .pb = 4 | PB_ZERO, .doc = "Version of the kernel."},
    {"osImage", F_STRING, ONE, .pb = 5 | PB_ZERO, .doc = "Name of the distribution."},
    {"containerRuntimeVersion", F_STRING, ONE, .pb = 6 | PB_ZERO,
     .doc = "What runs the containers, as name://version."},
    {"kubeletVersion", F_STRING, ONE, .pb = 7 | PB_ZERO,
     .doc = "Version of the program that runs the pods."},
    {"kubeProxyVersion", F_STRING, ONE, .pb = 8 | PB_ZERO, .doc = "No longer used."},
    {"operatingSystem", F_STRING, ONE, .pb = 9 | PB_ZERO, .doc = "Such as linux."},
    {"architecture", F_STRING, ONE, .pb = 10 | PB_ZERO, .doc = "Such as amd64."},
    {"swap", F_ANY, ONE, .pb = 11, .doc = "How much swap there is."},
    {0}};
static const struct type TYPE_INFO = {
    CORE_V1("NodeSystemInfo"), "What the machine is and runs.", INFO_FIELDS};

static const struct field IMAGE_FIELDS[] = {
    {"names", F_STRING, LIST, .pb = 1, .doc = "Names of the image."},
    {"sizeBytes", F_INT64, ONE, .pb = 2, .doc = "Its size."},
    {0}};
static const struct type TYPE_IMAGE = {
    CORE_V1("ContainerImage"), "An image that the node has.", IMAGE_FIELDS};

static const struct field STATUS_FIELDS[] = {
    {"capacity", F_QUANTITY, MAP, RANGE, .pb = 1,
     .doc = "What the node has: cpu, memory, pods, devices."},
    {"allocatable", F_QUANTITY, MAP, RANGE, .pb = 2, .doc = "What of it pods may use."},
    {"phase", F_STRING, ONE, .pb = 3, .doc = "No longer used."},
    {"conditions", F_OBJECT, LIST, MERGE, .of = &TYPE_NODE_CONDITION, .merge_key = "type", .pb = 4,
     .doc = "How the node is."},
    {"addresses", F_OBJECT, LIST, MERGE | KEY_MAY_REPEAT, .of = &TYPE_ADDRESS,
     .merge_key = "type", .pb = 5,
     .doc = "Ways to reach the node."},
    {"daemonEndpoints", F_OBJECT, ONE, .of = &TYPE_ENDPOINTS, .pb = 6,
     .doc = "Where the node's daemons listen."},
    {"nodeInfo", F_OBJECT, ONE, .of = &TYPE_INFO, .pb = 7, .doc = "What the machine is and runs."},
    {"images", F_OBJECT, LIST, .of = &TYPE_IMAGE, .pb = 8, .doc = "Images that the node has."},
    {"volumesInUse", F_STRING, LIST, .pb = 9, .doc = "Volumes that are mounted."},
    {"volumesAttached", F_ANY, LIST, .pb = 10, .doc = "Volumes that are attached."},
    {"config", F_ANY, ONE, .pb = 11, .doc = "No longer used."},
    {"runtimeHandlers", F_ANY, LIST, .pb = 12, .doc = "Runtimes that the node offers."},
    {"features", F_ANY, ONE, .pb = 13, .doc = "What the node's runtime can do."},
    {"declaredFeatures", F_STRING, LIST, .pb = 14, .doc = "Features that the node says it has."},
    {0}};
static const struct type TYPE_NODE_STATUS = {
    CORE_V1("NodeStatus"), "What is known of the node.", STATUS_FIELDS};
// clang-format on

static void node_spec_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    struct map *seen = map_new();
    size_t mark = check_enter(c, "taints");
    size_t i, n;
    yyjson_mut_val *taint;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(val, "taints"), i, n, taint)
    {
        const char *key = yyjson_mut_get_str(yyjson_mut_obj_get(taint, "key"));
        const char *effect = yyjson_mut_get_str(yyjson_mut_obj_get(taint, "effect"));
        scoped_free char *pair = mem_printf("%s:%s", key ? key : "", effect ? effect : "");
        size_t inner = check_enter_item(c, i, taint);
        if (map_put(seen, pair, taint) != NULL)
            check_duplicate(c, NULL, taint);
        check_leave(c, inner);
    }
    check_leave(c, mark);
    map_free(seen);
}

static const struct type TYPE_NODE_SPEC = {
    CORE_V1("NodeSpec"),
    "How the node is to be used.",
    SPEC_FIELDS,
    .check = node_spec_check,
};

// clang-format off
static const struct field NODE_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, .of = &TYPE_NODE_SPEC, .fallback = "{}", .pb = 2,
     .doc = "How the node is to be used."},
    {"status", F_OBJECT, ONE, .of = &TYPE_NODE_STATUS, .pb = 3,
     .doc = "What is known of the node; written by itself."},
    {0}};
static const struct type TYPE_NODE = {
    CORE_V1("Node"), "A machine, or part of one, that runs pods.", NODE_FIELDS};
// clang-format on

/* ---- cells ---- */

static const char *ready_word(yyjson_val *root)
{
    yyjson_val *ready = cell_condition(root, "Ready");
    if (ready == NULL)
        return "Unknown";
    return str_eq(json_str_at(ready, "status"), "True") ? "Ready" : "NotReady";
}

static void cell_status(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    bool cordoned = yyjson_get_bool(json_at(root, "spec.unschedulable"));
    cell_textf(out, "%s%s", ready_word(root), cordoned ? ",SchedulingDisabled" : "");
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

#define ROLE_PREFIX "node-role.kubernetes.io/"

/* The role that a label gives, or "". */
static const char *role_of(const char *key, const char *value)
{
    if (str_starts(key, ROLE_PREFIX))
        return key + strlen(ROLE_PREFIX);
    return str_eq(key, "kubernetes.io/role") && value != NULL ? value : "";
}

static void cell_roles(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    VEC(const char *) roles = {0};
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(json_at(root, "metadata.labels"), i, n, key, value)
    {
        const char *role = role_of(yyjson_get_str(key), yyjson_get_str(value));
        if (*role != '\0')
            vec_push(&roles, role);
    }
    if (roles.len > 0)
        qsort(roles.items, roles.len, sizeof(*roles.items), compare_texts);
    scoped_str text = {0};
    for (size_t k = 0; k < roles.len; k++) {
        if (k == 0 || !str_eq(roles.items[k], roles.items[k - 1]))
            str_addf(&text, "%s%s", k == 0 ? "" : ",", roles.items[k]);
    }
    vec_done(&roles);
    cell_text(out, text.len > 0 ? str_text(&text) : "<none>");
}

static void add_address(yyjson_val *root, const char *type, struct str *out)
{
    cell_at(out, json_find(json_at(root, "status.addresses"), "type", type), "address", "<none>");
}

static void cell_internal_ip(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    add_address(root, "InternalIP", out);
}

static void cell_external_ip(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    add_address(root, "ExternalIP", out);
}

static void cell_version(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, root, "status.nodeInfo.kubeletVersion", "");
}

static void cell_os_image(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, root, "status.nodeInfo.osImage", "<unknown>");
}

static void cell_kernel(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, root, "status.nodeInfo.kernelVersion", "<unknown>");
}

static void cell_runtime(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, root, "status.nodeInfo.containerRuntimeVersion", "<unknown>");
}

// clang-format off
static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Status",      "string", "", "Whether it is ready, and takes new pods.", .cell = cell_status},
    {"Roles",       "string", "", "What it is for, from its labels.", .cell = cell_roles},
    AGE_COLUMN,
    {"Version",     "string", "", "Version of what runs the pods.", .cell = cell_version},
    {"Internal-IP", "string", "", "Address inside the cluster.", 1, .cell = cell_internal_ip},
    {"External-IP", "string", "", "Address for the world.", 1, .cell = cell_external_ip},
    {"OS-Image",    "string", "", "Name of the distribution.", 1, .cell = cell_os_image},
    {"Kernel-Version",    "string", "", "Version of the kernel.", 1, .cell = cell_kernel},
    {"Container-Runtime", "string", "", "What runs the containers.", 1, .cell = cell_runtime},
    {0}};
// clang-format on

const struct kind KIND_NODE = {
    .group = "",
    .version = "v1",
    .name = "Node",
    .plural = "nodes",
    .singular = "node",
    .short_names = VALUES("no"),
    .has_status = true,
    .name_format = FMT_DNS_SUBDOMAIN,
    .type = &TYPE_NODE,
    .columns = COLUMNS,
    .selectable = VALUES("spec.unschedulable=spec.unschedulable|false"),
};
