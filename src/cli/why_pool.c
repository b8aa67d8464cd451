// SPDX-License-Identifier: Apache-2.0
/* Pools: StatefulSets, and the vreplicas that are placed on them. */
#include "base/mem.h"
#include "cli/why.h"
#include "model/cell.h"

#define PODS_NAMED 3

/* ---- sets ---- */

static int64_t wanted_of(yyjson_val *set)
{
    return json_int_at(set, "spec.replicas", 1);
}

static bool is_whole(yyjson_val *set)
{
    int64_t wanted = wanted_of(set);
    return json_int_at(set, "status.readyReplicas", 0) == wanted &&
           json_int_at(set, "status.replicas", 0) == wanted &&
           json_int_at(set, "status.updatedReplicas", wanted) >= wanted;
}

/* It says nothing of when: the last of its pods that changed does. */
static void note_change(struct why *why, yyjson_val *pods, yyjson_mut_val *answer)
{
    time_ms last = 0;
    size_t i, n;
    yyjson_val *pod;
    scoped_str since = {0};
    yyjson_arr_foreach(pods, i, n, pod)
    {
        time_ms at = cell_time(cell_condition(pod, "Ready"), "lastTransitionTime");
        last = at > last ? at : last;
    }
    if (last == 0)
        return;
    rfc3339_format(last, &since);
    why_put(why, answer, "since", str_text(&since));
}

static int add_unready(struct why *why, yyjson_val *pods, yyjson_mut_val *answer)
{
    size_t i, n, count = 0;
    yyjson_val *pod;
    int exit_code = CLI_OK;
    yyjson_arr_foreach(pods, i, n, pod)
    {
        if (!why_is_true(pod, "Ready") && ++count <= PODS_NAMED && exit_code == CLI_OK)
            exit_code = why_pod(why, pod, why_detail(why, answer));
    }
    return exit_code;
}

static yyjson_doc *fetch_pods(struct why *why, yyjson_val *set)
{
    scoped_str selector = {0};
    podview_selector(set, &selector);
    return selector.len > 0 ? why_list(why, &KIND_POD, json_str_at(set, "metadata.namespace"),
                                       "labelSelector", str_text(&selector))
                            : NULL;
}

int why_statefulset(struct why *why, yyjson_val *set, yyjson_mut_val *answer)
{
    scoped_free char *label = why_label(&KIND_STATEFULSET, set);
    long long ready = (long long)json_int_at(set, "status.readyReplicas", 0);
    long long there = (long long)json_int_at(set, "status.replicas", 0);
    why_set_well(why, answer, is_whole(set));
    if (why_deletion(why, set, label, answer))
        return CLI_OK;
    why_say(why, answer, "%s is %s: %lld of %lld pods are ready, %lld there", label,
            is_whole(set) ? "whole" : "on its way", ready, (long long)wanted_of(set), there);
    yyjson_doc *pods = fetch_pods(why, set);
    note_change(why, why_items(pods), answer);
    int exit_code = add_unready(why, why_items(pods), answer);
    yyjson_doc_free(pods);
    return exit_code;
}

void next_statefulset(struct why *why, yyjson_val *set, struct str *out)
{
    yyjson_doc *vpods =
        why_list(why, &KIND_VPOD, json_str_at(set, "metadata.namespace"), NULL, NULL);
    bool is_pool = false;
    size_t i, n;
    yyjson_val *vpod;
    yyjson_arr_foreach(why_items(vpods), i, n, vpod)
    {
        is_pool =
            is_pool || str_eq(json_str_at(vpod, "spec.pool"), json_str_at(set, "metadata.name"));
    }
    yyjson_doc_free(vpods);
    if (!is_whole(set))
        str_add(out, "it is whole when its pods are there and ready");
    else if (is_pool)
        str_add(out,
                "it grows when vreplicas have no place, and shrinks when they need fewer pods");
    else
        str_add(out, "it stays so until somebody changes it");
}

/* ---- vpods ---- */

int why_vpod(struct why *why, yyjson_val *vpod, yyjson_mut_val *answer)
{
    scoped_free char *label = why_label(&KIND_VPOD, vpod);
    yyjson_val *scheduled = cell_condition(vpod, "Scheduled");
    const char *message = json_str_at(scheduled, "message");
    const char *pool = json_str_at(vpod, "spec.pool");
    bool is_placed = str_eq(json_str_at(scheduled, "status"), "True");
    why_set_well(why, answer, is_placed);
    if (why_deletion(why, vpod, label, answer))
        return CLI_OK;
    why_say(why, answer, "%s %s: %s", label, is_placed ? "is placed" : "is not all placed",
            message != NULL ? message : "nobody has looked at it yet");
    why_put(why, answer, "reason", json_str_at(scheduled, "reason"));
    if (!is_placed)
        why_help(why, answer, "muster why statefulset/%s", pool != NULL ? pool : "");
    return CLI_OK;
}

void next_vpod(struct why *why, yyjson_val *vpod, struct str *out)
{
    (void)why;
    const char *pool = json_str_at(vpod, "spec.pool");
    if (why_is_true(vpod, "Scheduled"))
        str_add(out, "its vreplicas stay where they are until their number or the pool changes");
    else
        str_addf(out, "they are placed when statefulset/%s has grown, or has room",
                 pool != NULL ? pool : "");
}
