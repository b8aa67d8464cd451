// SPDX-License-Identifier: Apache-2.0
/* The Node object and its Lease: that the node is there, what it has, that it is alive. */
#include "base/quantity.h"
#include "control/pods/runner_internal.h"
#include "model/cell.h"
#include <stdio.h>

#define LEASE_NS "kube-node-lease"
#define LEASE_SECONDS 40
#define RENEWALS 4 /* while a lease lasts */

static void put(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *text)
{
    if (text != NULL)
        json_mut_put(doc, obj, key, yyjson_mut_strcpy(doc, text));
}

/* Of "key=value" each. */
static void put_pairs(const char *const *pairs, yyjson_mut_doc *doc, yyjson_mut_val *map)
{
    for (size_t i = 0; pairs != NULL && pairs[i] != NULL; i++) {
        struct sv rest = sv_of(pairs[i]);
        struct sv key = sv_cut(&rest, '=');
        scoped_free char *name = mem_strndup(key.ptr, key.len);
        put(doc, map, name, rest.ptr);
    }
}

/* ---- what the node has ---- */

static yyjson_mut_val *capacity(const struct runner *runner, yyjson_mut_doc *doc)
{
    yyjson_mut_val *map = yyjson_mut_obj(doc);
    scoped_str cpu = {0}, memory = {0}, pods = {0};
    quantity_format(quantity_of_milli((int64_t)(runner->options.cores * 1000)), &cpu);
    quantity_format_binary(quantity_of(runner->options.memory_bytes), &memory);
    str_addf(&pods, "%lld", (long long)runner->options.pods_max);
    put(doc, map, "cpu", str_text(&cpu));
    put(doc, map, "memory", str_text(&memory));
    put(doc, map, "pods", str_text(&pods));
    put_pairs(runner->options.resources, doc, map);
    return map;
}

static void add_condition(const struct runner *runner, yyjson_mut_doc *doc, yyjson_mut_val *list,
                          const char *const words[4])
{
    yyjson_mut_val *condition = yyjson_mut_obj(doc);
    scoped_str now = {0};
    rfc3339_format(runner_wall(runner, control_steady(runner->control)), &now);
    put(doc, condition, "type", words[0]);
    put(doc, condition, "status", words[1]);
    put(doc, condition, "reason", words[2]);
    put(doc, condition, "message", words[3]);
    put(doc, condition, "lastHeartbeatTime", str_text(&now));
    put(doc, condition, "lastTransitionTime", str_text(&now));
    (void)yyjson_mut_arr_append(list, condition);
}

static yyjson_mut_val *conditions(const struct runner *runner, yyjson_mut_doc *doc)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    const char *warning = runner->options.warning;
    const char *const ready[4] = {"Ready", "True", "NodeReady", "pods can run here"};
    const char *const groups[4] = {"ControlGroups", warning == NULL ? "True" : "False",
                                   warning == NULL ? "Usable" : "NotUsable",
                                   warning == NULL ? "each pod has a slice of its own" : warning};
    add_condition(runner, doc, list, ready);
    add_condition(runner, doc, list, groups);
    return list;
}

static void put_status(const struct runner *runner, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    json_mut_set(doc, root, "status.capacity", capacity(runner, doc));
    json_mut_set(doc, root, "status.allocatable", capacity(runner, doc));
    json_mut_set(doc, root, "status.conditions", conditions(runner, doc));
    yyjson_mut_val *addresses = yyjson_mut_arr(doc);
    const char *const pairs[2][2] = {{"InternalIP", runner->options.launch.host_ip},
                                     {"Hostname", runner->options.node}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        yyjson_mut_val *address = yyjson_mut_obj(doc);
        put(doc, address, "type", pairs[i][0]);
        put(doc, address, "address", pairs[i][1]);
        (void)yyjson_mut_arr_append(addresses, address);
    }
    json_mut_set(doc, root, "status.addresses", addresses);
    yyjson_mut_val *info = yyjson_mut_obj(doc);
    put(doc, info, "architecture", runner->options.architecture);
    put(doc, info, "kernelVersion", runner->options.kernel);
    put(doc, info, "osImage", runner->options.os_image);
    put(doc, info, "operatingSystem", "linux");
    put(doc, info, "kubeletVersion", "muster-" MUSTER_VERSION);
    put(doc, info, "containerRuntimeVersion", runner->options.runtime->ops->name);
    /* Nothing here needs them, but strict clients refuse a node without them. */
    static const char *const UNUSED[] = {"machineID", "systemUUID", "bootID", "kubeProxyVersion"};
    for (size_t i = 0; i < ARRAY_LEN(UNUSED); i++)
        put(doc, info, UNUSED[i], "");
    json_mut_set(doc, root, "status.nodeInfo", info);
}

static yyjson_mut_val *labels(const struct runner *runner, yyjson_mut_doc *doc)
{
    yyjson_mut_val *map = yyjson_mut_obj(doc);
    put(doc, map, "kubernetes.io/hostname", runner->options.node);
    put(doc, map, "kubernetes.io/os", "linux");
    put(doc, map, "kubernetes.io/arch", runner->options.architecture);
    put_pairs(runner->options.labels, doc, map);
    return map;
}

static void on_refused(void *arg, const struct status *why)
{
    const struct runner *runner = arg;
    if (runner->options.on_refused != NULL && !runner->has_told_registered)
        runner->options.on_refused(runner->options.arg, why);
}

static void create_node(struct runner *runner)
{
    struct write *write = write_new(WRITE_CREATE, &KIND_NODE, "", runner->options.node);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    put(doc, root, "apiVersion", "v1");
    put(doc, root, "kind", "Node");
    json_mut_set(doc, root, "metadata.name", yyjson_mut_strcpy(doc, runner->options.node));
    json_mut_set(doc, root, "metadata.labels", labels(runner, doc));
    if (runner->options.taints != NULL)
        json_mut_set(doc, root, "spec.taints", yyjson_val_mut_copy(doc, runner->options.taints));
    write->doc = doc;
    control_write_told(runner->control, write, on_refused, runner);
}

static bool has_status(const struct runner *runner, const struct obj *node)
{
    yyjson_val *ready = cell_condition_as(node->root, "Ready", "True");
    return str_eq(json_str_at(ready, "lastHeartbeatTime"), runner->registered);
}

void register_node(struct runner *runner)
{
    const struct obj *node =
        cache_get(control_world(runner->control)->cache, &KIND_NODE, "", runner->options.node);
    if (node == NULL) {
        create_node(runner);
        return;
    }
    if (has_status(runner, node)) {
        if (runner->options.on_registered != NULL && !runner->has_told_registered)
            runner->options.on_registered(runner->options.arg);
        runner->has_told_registered = true;
        return;
    }
    struct write *write = write_new(WRITE_UPDATE, &KIND_NODE, "", runner->options.node);
    write->sub = SUB_STATUS;
    write->doc = obj_edit(node);
    put_status(runner, write->doc, yyjson_mut_doc_get_root(write->doc));
    scoped_str now = {0};
    rfc3339_format(runner_wall(runner, control_steady(runner->control)), &now);
    (void)snprintf(runner->registered, sizeof(runner->registered), "%s", str_text(&now));
    control_write_told(runner->control, write, on_refused, runner);
    /* A server that comes back within the second writes what is there: no change tells of it. */
    control_add(runner->control, "@node");
}

/* ---- that it is alive ---- */

static int64_t lease_seconds(const struct runner *runner)
{
    return runner->options.lease_s > 0 ? runner->options.lease_s : LEASE_SECONDS;
}

static void fill_lease(const struct runner *runner, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    scoped_str now = {0};
    rfc3339_format_micro(control_now(runner->control), &now);
    json_mut_set(doc, root, "spec.holderIdentity", yyjson_mut_strcpy(doc, runner->options.node));
    json_mut_set(doc, root, "spec.leaseDurationSeconds",
                 yyjson_mut_sint(doc, lease_seconds(runner)));
    json_mut_set(doc, root, "spec.renewTime", yyjson_mut_strcpy(doc, str_text(&now)));
}

void register_lease(struct runner *runner)
{
    control_add_after(runner->control, "@lease", lease_seconds(runner) * 1000 / RENEWALS);
    const struct obj *lease = cache_get(control_world(runner->control)->cache, &KIND_LEASE,
                                        LEASE_NS, runner->options.node);
    struct write *write = write_new(lease != NULL ? WRITE_UPDATE : WRITE_CREATE, &KIND_LEASE,
                                    LEASE_NS, runner->options.node);
    if (lease != NULL) {
        write->doc = obj_edit(lease);
    } else {
        write->doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *root = yyjson_mut_obj(write->doc);
        yyjson_mut_doc_set_root(write->doc, root);
        put(write->doc, root, "apiVersion", "coordination.k8s.io/v1");
        put(write->doc, root, "kind", "Lease");
        json_mut_set(write->doc, root, "metadata.name",
                     yyjson_mut_strcpy(write->doc, runner->options.node));
        json_mut_set(write->doc, root, "metadata.namespace", yyjson_mut_str(write->doc, LEASE_NS));
    }
    fill_lease(runner, write->doc, yyjson_mut_doc_get_root(write->doc));
    control_write(runner->control, write);
}
