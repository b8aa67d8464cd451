// SPDX-License-Identifier: Apache-2.0
/* Nodes, their settings, and what else pods need: ConfigMaps and Namespaces. */
#include "base/mem.h"
#include "cli/why.h"
#include "model/cell.h"
#include <ctype.h>
#include <string.h>

#define TAINT_CORDONED "node.kubernetes.io/unschedulable"

static bool has_ended(yyjson_val *pod)
{
    const char *phase = json_str_at(pod, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

/* ---- nodes ---- */

struct load {
    size_t pods, ready;
};

static struct load load_of(struct why *why, yyjson_val *node)
{
    struct load load = {0};
    scoped_free char *value = mem_printf("spec.nodeName=%s", json_str_at(node, "metadata.name"));
    yyjson_doc *pods = why_list(why, &KIND_POD, NULL, "fieldSelector", value);
    size_t i, n;
    yyjson_val *pod;
    yyjson_arr_foreach(why_items(pods), i, n, pod)
    {
        load.pods += !has_ended(pod);
        load.ready += !has_ended(pod) && why_is_true(pod, "Ready");
    }
    yyjson_doc_free(pods);
    return load;
}

static bool is_cordoned(yyjson_val *node)
{
    return yyjson_get_bool(json_at(node, "spec.unschedulable"));
}

/* No condition tells of it: its conditions are those from before. */
static time_ms cordoned_at(yyjson_val *node)
{
    return cell_time(json_find(json_at(node, "spec.taints"), "key", TAINT_CORDONED), "timeAdded");
}

int why_node(struct why *why, yyjson_val *node, yyjson_mut_val *answer)
{
    scoped_free char *label = why_label(&KIND_NODE, node);
    yyjson_val *ready = cell_condition(node, "Ready");
    bool is_ready = str_eq(json_str_at(ready, "status"), "True");
    why_set_well(why, answer, is_ready && !is_cordoned(node));
    if (why_deletion(why, node, label, answer))
        return CLI_OK;
    struct load load = load_of(why, node);
    if (!is_ready) {
        const char *message = json_str_at(ready, "message");
        why_say(why, answer, "%s is not ready: %s", label,
                message != NULL ? message : "it has not said anything yet");
        why_put(why, answer, "reason", json_str_at(ready, "reason"));
        why_help(why, answer, "is its program there? muster up runs this machine's nodes");
    } else if (is_cordoned(node)) {
        why_say(why, answer, "%s is ready, but cordoned, and %s", label,
                load.pods == 0 ? "empty" : "still has pods");
        why_put(why, answer, "reason", "Cordoned");
        why_since(why, answer, cordoned_at(node));
    } else {
        why_say(why, answer, "%s is ready and takes pods", label);
    }
    why_say(why, why_detail(why, answer), "%zu pod%s on it, %zu ready", load.pods,
            load.pods == 1 ? " is" : "s are", load.ready);
    return CLI_OK;
}

void next_node(struct why *why, yyjson_val *node, struct str *out)
{
    (void)why;
    if (!why_is_true(node, "Ready"))
        str_add(out, "its pods are made anew elsewhere when they have waited as long as they "
                     "tolerate it");
    else if (is_cordoned(node))
        str_addf(out, "it takes pods again after: muster uncordon %s",
                 json_str_at(node, "metadata.name"));
    else
        str_add(out, "it takes pods as long as it has room");
}

int why_nodeconfig(struct why *why, yyjson_val *config, yyjson_mut_val *answer)
{
    scoped_free char *label = why_label(&KIND_NODECONFIG, config);
    const char *name = json_str_at(config, "metadata.name");
    if (why_deletion(why, config, label, answer))
        return CLI_OK;
    why_set_well(why, answer, true);
    if (str_eq(name, "default"))
        why_say(why, answer,
                "%s is in force on all nodes, but for what a NodeConfig of their own says", label);
    else
        why_say(why, answer, "%s is in force on node/%s", label, name);
    return CLI_OK;
}

void next_nodeconfig(struct why *why, yyjson_val *config, struct str *out)
{
    (void)why, (void)config;
    str_add(out, "a change of it holds from the next start of a container on");
}

/* ---- ConfigMaps ---- */

static bool refers(yyjson_val *val, const char *name);

/* {configMapRef: {name}}, {configMapKeyRef: {name}}, {configMap: {name}} */
static bool member_refers(const char *key, yyjson_val *val, const char *name)
{
    bool is_reference = str_starts(key, "configMap") && yyjson_is_obj(val);
    return (is_reference && str_eq(json_str_at(val, "name"), name)) || refers(val, name);
}

static bool refers(yyjson_val *val, const char *name)
{
    size_t i, n;
    yyjson_val *key, *item;
    bool is_found = false;
    if (yyjson_is_obj(val)) {
        yyjson_obj_foreach(val, i, n, key, item)
        {
            is_found = is_found || member_refers(yyjson_get_str(key), item, name);
        }
    } else if (yyjson_is_arr(val)) {
        yyjson_arr_foreach(val, i, n, item)
        {
            is_found = is_found || refers(item, name);
        }
    }
    return is_found;
}

int why_configmap(struct why *why, yyjson_val *map, yyjson_mut_val *answer)
{
    scoped_free char *label = why_label(&KIND_CONFIGMAP, map);
    const char *name = json_str_at(map, "metadata.name");
    size_t i, n, users = 0,
                 keys = yyjson_obj_size(yyjson_obj_get(map, "data")) +
                        yyjson_obj_size(yyjson_obj_get(map, "binaryData"));
    yyjson_val *pod;
    why_set_well(why, answer, true);
    if (why_deletion(why, map, label, answer))
        return CLI_OK;
    yyjson_doc *pods = why_list(why, &KIND_POD, json_str_at(map, "metadata.namespace"), NULL, NULL);
    yyjson_arr_foreach(why_items(pods), i, n, pod)
    {
        users += !has_ended(pod) && refers(yyjson_obj_get(pod, "spec"), name);
    }
    yyjson_doc_free(pods);
    why_say(why, answer, "%s is there, with %zu key%s; %zu pod%s it", label, keys,
            keys == 1 ? "" : "s", users,
            users == 1 ? " that has not ended uses" : "s that have not ended use");
    return CLI_OK;
}

void next_configmap(struct why *why, yyjson_val *map, struct str *out)
{
    (void)why;
    if (yyjson_get_bool(yyjson_obj_get(map, "immutable")))
        str_add(out, "nothing more: it cannot change");
    else
        str_add(out, "when it changes, files of pods that run follow; their environment does at "
                     "their next start");
}

/* ---- namespaces, and all others ---- */

int why_namespace(struct why *why, yyjson_val *space, yyjson_mut_val *answer)
{
    scoped_free char *label = why_label(&KIND_NAMESPACE, space);
    why_set_well(why, answer, json_str_at(space, "metadata.deletionTimestamp") == NULL);
    if (!why_deletion(why, space, label, answer))
        why_say(why, answer, "%s is active: objects can be made in it", label);
    return CLI_OK;
}

void next_namespace(struct why *why, yyjson_val *space, struct str *out)
{
    (void)why, (void)space;
    str_add(out, "it stays until it is deleted, and takes all that is in it along");
}

int why_plain(struct why *why, yyjson_val *object, yyjson_mut_val *answer)
{
    const char *kind = json_str_at(object, "kind"), *name = json_str_at(object, "metadata.name");
    scoped_free char *label =
        mem_printf("%s/%s", kind != NULL ? kind : "", name != NULL ? name : "");
    for (char *at = label; *at != '/'; at++)
        *at = (char)tolower((unsigned char)*at);
    why_set_well(why, answer, true);
    if (!why_deletion(why, object, label, answer))
        why_say(why, answer, "%s is there; nothing is waited for", label);
    return CLI_OK;
}

void next_plain(struct why *why, yyjson_val *object, struct str *out)
{
    (void)why, (void)object;
    str_add(out, "nothing happens to it by itself");
}
