// SPDX-License-Identifier: Apache-2.0
/* Queues and flavors: whether they are open, who is in them, what of their quota is used. */
#include "base/mem.h"
#include "cli/why.h"
#include "model/cell.h"
#include <string.h>

static long long count_at(yyjson_val *object, const char *path)
{
    return (long long)json_int_at(object, path, 0);
}

/* "clusterqueue/machine lets gangs in: 1 admitted, 1 waits" */
static bool say_open(struct why *why, const struct kind *kind, yyjson_val *queue,
                     yyjson_mut_val *answer)
{
    scoped_free char *label = why_label(kind, queue);
    yyjson_val *active = cell_condition(queue, "Active");
    bool is_open = str_eq(json_str_at(active, "status"), "True");
    long long pending = count_at(queue, "status.pendingWorkloads");
    why_set_well(why, answer, is_open);
    if (why_deletion(why, queue, label, answer))
        return false;
    if (is_open) {
        why_say(why, answer, "%s lets gangs in: %lld admitted, %lld wait%s", label,
                count_at(queue, "status.admittedWorkloads"), pending, pending == 1 ? "s" : "");
        return true;
    }
    const char *message = json_str_at(active, "message");
    why_say(why, answer, "%s lets nobody in: %s", label,
            message != NULL ? message : "no controller has looked at it yet");
    why_put(why, answer, "reason", json_str_at(active, "reason"));
    return true;
}

static yyjson_val *named(yyjson_val *list, const char *name)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        if (str_eq(json_str_at(item, "name"), name))
            return item;
    }
    return NULL;
}

/* A quantity is text, or a number that somebody wrote without quotes. */
static void add_amount(yyjson_val *val, struct str *out)
{
    if (yyjson_is_str(val))
        str_add(out, yyjson_get_str(val));
    else if (val != NULL)
        json_write_val(val, out);
    else
        str_add(out, "0");
}

static void add_flavor(struct why *why, yyjson_val *queue, yyjson_val *flavor,
                       yyjson_mut_val *answer)
{
    const char *name = json_str_at(flavor, "name");
    yyjson_val *used = named(json_at(queue, "status.flavorsReservation"), name);
    size_t i, n;
    yyjson_val *resource;
    yyjson_arr_foreach(yyjson_obj_get(flavor, "resources"), i, n, resource)
    {
        const char *what = json_str_at(resource, "name");
        scoped_str text = {0};
        str_addf(&text, "flavor %s: ", name);
        add_amount(yyjson_obj_get(named(yyjson_obj_get(used, "resources"), what), "total"), &text);
        str_add(&text, " of ");
        add_amount(yyjson_obj_get(resource, "nominalQuota"), &text);
        str_addf(&text, " %s in use", what);
        why_text(why, why_detail(why, answer), &text);
    }
}

int why_clusterqueue(struct why *why, yyjson_val *queue, yyjson_mut_val *answer)
{
    if (!say_open(why, &KIND_CLUSTERQUEUE, queue, answer))
        return CLI_OK;
    size_t i, n, k, m;
    yyjson_val *group, *flavor;
    yyjson_arr_foreach(json_at(queue, "spec.resourceGroups"), i, n, group)
    {
        yyjson_arr_foreach(yyjson_obj_get(group, "flavors"), k, m, flavor)
        {
            add_flavor(why, queue, flavor, answer);
        }
    }
    return CLI_OK;
}

static void add_next(yyjson_val *queue, struct str *out)
{
    long long pending = count_at(queue, "status.pendingWorkloads");
    if (!why_is_true(queue, "Active"))
        str_add(out, "it lets gangs in when what is missing is there");
    else if (pending > 0)
        str_addf(out,
                 "the first of the %lld that wait%s is let in when there is quota for all of it",
                 pending, pending == 1 ? "s" : "");
    else
        str_add(out, "whoever comes is let in when there is quota for all of it");
}

void next_clusterqueue(struct why *why, yyjson_val *queue, struct str *out)
{
    (void)why;
    add_next(queue, out);
}

int why_localqueue(struct why *why, yyjson_val *queue, yyjson_mut_val *answer)
{
    const char *target = json_str_at(queue, "spec.clusterQueue");
    if (!say_open(why, &KIND_LOCALQUEUE, queue, answer))
        return CLI_OK;
    yyjson_mut_val *detail = why_detail(why, answer);
    why_say(why, detail, "quota is that of clusterqueue/%s", target != NULL ? target : "");
    why_help(why, detail, "muster queue %s", target != NULL ? target : "");
    return CLI_OK;
}

void next_localqueue(struct why *why, yyjson_val *queue, struct str *out)
{
    (void)why;
    add_next(queue, out);
}

/* ---- flavors ---- */

/* Nodes that have all its labels. */
static size_t count_nodes(struct why *why, yyjson_val *flavor)
{
    scoped_str selector = {0};
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(json_at(flavor, "spec.nodeLabels"), i, n, key, val)
    {
        str_addf(&selector, "%s%s=%s", i > 0 ? "," : "", yyjson_get_str(key), yyjson_get_str(val));
    }
    yyjson_doc *nodes = why_list(why, &KIND_NODE, NULL, selector.len > 0 ? "labelSelector" : NULL,
                                 str_text(&selector));
    size_t count = yyjson_arr_size(why_items(nodes));
    yyjson_doc_free(nodes);
    return count;
}

static bool offers(yyjson_val *queue, const char *name)
{
    size_t i, n;
    yyjson_val *group;
    yyjson_arr_foreach(json_at(queue, "spec.resourceGroups"), i, n, group)
    {
        if (named(yyjson_obj_get(group, "flavors"), name) != NULL)
            return true;
    }
    return false;
}

static void add_queues(struct why *why, const char *name, yyjson_mut_val *answer)
{
    yyjson_doc *queues = why_list(why, &KIND_CLUSTERQUEUE, NULL, NULL, NULL);
    size_t i, n;
    yyjson_val *queue;
    yyjson_arr_foreach(why_items(queues), i, n, queue)
    {
        if (offers(queue, name))
            why_say(why, why_detail(why, answer), "clusterqueue/%s has quota of it",
                    json_str_at(queue, "metadata.name"));
    }
    yyjson_doc_free(queues);
}

int why_flavor(struct why *why, yyjson_val *flavor, yyjson_mut_val *answer)
{
    scoped_free char *label = why_label(&KIND_RESOURCEFLAVOR, flavor);
    if (why_deletion(why, flavor, label, answer))
        return CLI_OK;
    size_t nodes = count_nodes(why, flavor);
    why_set_well(why, answer, nodes > 0);
    if (nodes > 0)
        why_say(why, answer, "%s is there: %zu node%s it", label, nodes,
                nodes == 1 ? " is" : "s are");
    else
        why_say(why, answer, "%s is there, and no node is it: none has all its labels", label);
    add_queues(why, json_str_at(flavor, "metadata.name"), answer);
    return CLI_OK;
}

void next_flavor(struct why *why, yyjson_val *flavor, struct str *out)
{
    (void)why, (void)flavor;
    str_add(out, "whoever is admitted with it is placed on its nodes");
}
