// SPDX-License-Identifier: Apache-2.0
/* What comes next for a gang and its parts, from what their objects say. */
#include "cli/why.h"
#include "model/cell.h"
#include "model/job.h"
#include "model/jobset.h"
#include "model/kueue.h"

#define KEPT "nothing more: it is kept until somebody deletes it"

static bool is_suspended(yyjson_val *object)
{
    return yyjson_get_bool(json_at(object, "spec.suspend"));
}

static void add_owned_end(yyjson_val *object, struct str *out)
{
    yyjson_val *owner = cell_controller(object);
    if (owner != NULL)
        str_addf(out, "nothing more: it is kept for its %s %s", json_str_at(owner, "kind"),
                 json_str_at(owner, "name"));
    else
        str_add(out, KEPT);
}

/* ---- pods ---- */

static void next_of_failed_pod(yyjson_val *pod, struct str *out)
{
    yyjson_val *owner = cell_controller(pod);
    if (owner != NULL)
        str_addf(out, "its %s %s makes another one, unless it has ended",
                 json_str_at(owner, "kind"), json_str_at(owner, "name"));
    else
        str_add(out, KEPT);
}

static bool is_member(yyjson_val *pod)
{
    return yyjson_obj_get(json_at(pod, "metadata.labels"), JOBSET_LABEL_UID) != NULL;
}

void next_pod(struct why *why, yyjson_val *pod, struct str *out)
{
    (void)why;
    const char *phase = json_str_at(pod, "status.phase");
    const char *node = json_str_at(pod, "spec.nodeName");
    if (str_eq(phase, "Succeeded"))
        add_owned_end(pod, out);
    else if (str_eq(phase, "Failed"))
        next_of_failed_pod(pod, out);
    else if (yyjson_arr_size(json_at(pod, "spec.schedulingGates")) > 0)
        str_add(out, "it is placed when its scheduling gates are gone");
    else if (node == NULL || *node == '\0')
        str_addf(out, "it is placed when %s",
                 is_member(pod) ? "there is room for its whole gang" : "a node takes it");
    else if (!why_is_true(pod, "Ready"))
        str_add(out, "it is ready when all its containers are");
    else if (str_eq(json_str_at(pod, "spec.restartPolicy"), "Always"))
        str_add(out, "it runs until it is deleted");
    else
        str_add(out, "it is done when its containers have ended well");
}

/* ---- jobs ---- */

static bool add_expiry(struct why *why, yyjson_val *object, const char *condition, struct str *out)
{
    time_ms at = cell_time(cell_condition(object, condition), "lastTransitionTime");
    int64_t left_s = json_int_at(object, "spec.ttlSecondsAfterFinished", -1);
    if (left_s < 0 || at == 0)
        return false;
    str_add(out, "it is deleted in ");
    why_left(why, at + left_s * 1000, out);
    return true;
}

static void next_of_suspended_job(yyjson_val *job, struct str *out)
{
    yyjson_val *owner = cell_controller(job);
    if (str_eq(json_str_at(owner, "kind"), KIND_JOBSET.name))
        str_addf(out, "it makes its pods when its JobSet %s starts", json_str_at(owner, "name"));
    else
        str_add(out, "it makes its pods when spec.suspend is false");
}

void next_job(struct why *why, yyjson_val *job, struct str *out)
{
    int64_t active = json_int_at(job, "status.active", 0);
    int64_t left =
        json_int_at(job, "spec.completions", 1) - json_int_at(job, "status.succeeded", 0);
    const char *end = why_is_true(job, "Complete") ? "Complete" : "Failed";
    if (why_is_true(job, end)) {
        if (!add_expiry(why, job, end, out))
            add_owned_end(job, out);
    } else if (why_is_foreign(job, JOB_MANAGER)) {
        str_add(out, "what its manager makes of it");
    } else if (is_suspended(job)) {
        next_of_suspended_job(job, out);
    } else if (active > 0 && json_int_at(job, "status.ready", 0) == active) {
        str_addf(out, "it is done when %lld more of its pods have succeeded",
                 (long long)(left > 0 ? left : 0));
    } else {
        str_add(out, "it is at work when all its pods are ready");
    }
}

static bool is_queued(yyjson_val *owner)
{
    return yyjson_obj_get(json_at(owner, "metadata.labels"), KUEUE_QUEUE_LABEL) != NULL;
}

static bool is_at_barrier(yyjson_val *set)
{
    return str_eq(json_str_at(set, "spec.failurePolicy.restartStrategy"), "InPlaceRestart") &&
           json_int_at(set, "status.syncedEpoch", 0) <=
               json_int_at(set, "status.deprecatedEpoch", 0);
}

static bool is_at_work(yyjson_val *set)
{
    int64_t there = 0, wanted = 0;
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(set, "status.replicatedJobsStatus"), i, n, item)
    {
        there += json_int_at(item, "ready", 0) + json_int_at(item, "succeeded", 0);
    }
    yyjson_arr_foreach(json_at(set, "spec.replicatedJobs"), i, n, item)
    {
        wanted += json_int_at(item, "replicas", 1);
    }
    return there >= wanted;
}

void next_jobset(struct why *why, yyjson_val *set, struct str *out)
{
    const char *end = why_is_true(set, "Completed") ? "Completed" : "Failed";
    if (why_is_true(set, end)) {
        if (!add_expiry(why, set, end, out))
            add_owned_end(set, out);
    } else if (why_is_foreign(set, JOBSET_MANAGER)) {
        str_add(out, "what its manager makes of it");
    } else if (is_suspended(set) && is_queued(set)) {
        str_addf(out, "it starts when its Workload jobset-%s is admitted",
                 json_str_at(set, "metadata.name"));
    } else if (is_suspended(set)) {
        str_add(out, "it starts when spec.suspend is false");
    } else if (is_at_barrier(set)) {
        str_add(out, "all members start together when the last has arrived");
    } else if (is_at_work(set)) {
        str_add(out, "it is done when all its Jobs are");
    } else {
        str_add(out, "it is at work when all its members are ready");
    }
}

/* ---- workloads ---- */

static void next_of_admitted(yyjson_val *workload, struct str *out)
{
    if (why_is_true(workload, "Evicted"))
        str_add(out, "its quota is free when its last pod is gone");
    else if (cell_condition(workload, "PodsReady") == NULL || why_is_true(workload, "PodsReady"))
        str_add(out, "its quota is free when it has finished");
    else
        str_add(out, "all its pods get ready in time, or it leaves its place");
}

void next_workload(struct why *why, yyjson_val *workload, struct str *out)
{
    time_ms again = cell_time(workload, "status.requeueState.requeueAt");
    yyjson_val *active = json_at(workload, "spec.active");
    if (why_is_true(workload, "Finished")) {
        str_add(out, "nothing more: its quota is free, and it goes with its owner");
    } else if (why_is_true(workload, "QuotaReserved")) {
        next_of_admitted(workload, out);
    } else if (yyjson_is_false(active)) {
        str_add(out, "it is queued again when spec.active is true");
    } else if (again > why->now) {
        str_add(out, "it is in the queue again in ");
        why_left(why, again, out);
    } else {
        str_add(out, "it is let in, whole, when it is its turn and there is quota for all of it");
    }
}
