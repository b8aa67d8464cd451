// SPDX-License-Identifier: Apache-2.0
/* A JobSet as the owner of a gang: one pod set for each replicated job. */
#include "control/admission.h"
#include "model/kueue.h"

static yyjson_val *spec_of(const struct gang_look *look)
{
    return yyjson_obj_get(look->owner->root, "spec");
}

static int64_t pods_of_one(yyjson_val *job)
{
    yyjson_val *spec = json_at(job, "template.spec");
    int64_t parallelism = json_int_at(spec, "parallelism", 1);
    int64_t completions = json_int_at(spec, "completions", parallelism);
    return parallelism < completions ? parallelism : completions;
}

static void set_describe(const struct gang_look *look, yyjson_mut_doc *doc, yyjson_mut_val *sets)
{
    size_t i, n;
    yyjson_val *job;
    yyjson_arr_foreach(yyjson_obj_get(spec_of(look), "replicatedJobs"), i, n, job)
    {
        yyjson_mut_val *set = yyjson_mut_arr_add_obj(doc, sets);
        int64_t count = json_int_at(job, "replicas", 1) * pods_of_one(job);
        json_mut_put(doc, set, "name", yyjson_mut_strcpy(doc, json_str_at(job, "name")));
        json_mut_put(doc, set, "count", yyjson_mut_sint(doc, count));
        json_mut_put(doc, set, "template",
                     yyjson_val_mut_copy(doc, json_at(job, "template.spec.template")));
    }
}

static bool set_is_running(const struct gang_look *look)
{
    return look->owner != NULL && !yyjson_get_bool(yyjson_obj_get(spec_of(look), "suspend"));
}

static void write_set(struct gang_look *look, yyjson_mut_doc *doc)
{
    struct write *write =
        write_new(WRITE_UPDATE, &KIND_JOBSET, look->gang->ns, look->owner->meta.name);
    write->if_version = mem_strdup(look->owner->meta.resource_version);
    write->doc = doc;
    control_write_about(look->control, write, look->owner, "FailedStart");
}

static void apply(struct gang_look *look, yyjson_mut_doc *doc, bool starts)
{
    yyjson_val *sets = json_at(look->workload->root, "spec.podSets");
    size_t i, n;
    yyjson_mut_val *job;
    yyjson_mut_arr_foreach(json_mut_at(yyjson_mut_doc_get_root(doc), "spec.replicatedJobs"), i, n,
                           job)
    {
        const char *name = json_mut_str_at(job, "name");
        yyjson_mut_val *template = json_mut_at(job, "template.spec.template");
        yyjson_val *as_written = yyjson_obj_get(json_find(sets, "name", name), "template");
        if (starts)
            adds_put(look, doc, template, as_written, name);
        else
            adds_remove(doc, template, as_written);
    }
}

static void set_start(struct gang_look *look)
{
    yyjson_mut_doc *doc = obj_edit(look->owner);
    json_mut_set(doc, yyjson_mut_doc_get_root(doc), "spec.suspend", yyjson_mut_bool(doc, false));
    apply(look, doc, true);
    write_set(look, doc);
}

static void set_stop(struct gang_look *look)
{
    if (look->owner == NULL)
        return;
    yyjson_mut_doc *doc = obj_edit(look->owner);
    json_mut_set(doc, yyjson_mut_doc_get_root(doc), "spec.suspend", yyjson_mut_bool(doc, true));
    write_set(look, doc);
}

static void set_restore(struct gang_look *look)
{
    if (look->owner == NULL)
        return;
    yyjson_mut_doc *doc = obj_edit(look->owner);
    apply(look, doc, false);
    write_set(look, doc);
}

static bool set_is_ready(const struct gang_look *look)
{
    yyjson_val *list = json_at(look->owner->root, "status.replicatedJobsStatus");
    size_t i, n;
    yyjson_val *job;
    yyjson_arr_foreach(yyjson_obj_get(spec_of(look), "replicatedJobs"), i, n, job)
    {
        yyjson_val *status = json_find(list, "name", json_str_at(job, "name"));
        if (json_int_at(status, "ready", 0) + json_int_at(status, "succeeded", 0) <
            json_int_at(job, "replicas", 1))
            return false;
    }
    return true;
}

static int set_end(const struct gang_look *look, struct str *message)
{
    if (look->owner == NULL)
        return 0;
    bool completed = condition_is(look->owner, "Completed", "True");
    bool failed = condition_is(look->owner, "Failed", "True");
    if (completed || failed)
        str_add(message, json_str_at(condition_of(look->owner, completed ? "Completed" : "Failed"),
                                     "message"));
    return completed ? 1 : failed ? -1 : 0;
}

/* A Job that was not told to stop yet may be about to make pods. */
static bool may_make_pods(const struct obj *job)
{
    return job->meta.deleted == 0 && !yyjson_get_bool(json_at(job->root, "spec.suspend")) &&
           !condition_is(job, "Complete", "True") && !condition_is(job, "Failed", "True");
}

static bool set_has_pods(struct gang_look *look, bool kill)
{
    bool any = false;
    const char *uid = look->owner_uid;
    struct obj *job = cache_owned_first(look->cache, uid);
    for (; job != NULL && (!any || kill); job = cache_owned_next(look->cache, uid, job)) {
        if (job->kind == &KIND_JOB)
            any |= pods_live(look, job->meta.uid, kill) || (!kill && may_make_pods(job));
    }
    return any;
}

/* A restart may make Jobs anew that have succeeded, and they need their quota again. While one is
 * under way the counts are still those from before it. */
static bool may_restart(const struct gang_look *look)
{
    yyjson_val *policy = yyjson_obj_get(spec_of(look), "failurePolicy");
    return condition_is(look->owner, "RestartingJobSet", "True") ||
           yyjson_arr_size(yyjson_obj_get(policy, "rules")) > 0 ||
           json_int_at(policy, "maxRestarts", 0) >
               json_int_at(look->owner->root, "status.restartsCountTowardsMax", 0);
}

/* Never less than before: that is given away. */
static int64_t set_reclaimable(const struct gang_look *look, yyjson_val *pod_set)
{
    const char *name = json_str_at(pod_set, "name");
    yyjson_val *job = json_find(yyjson_obj_get(spec_of(look), "replicatedJobs"), "name", name);
    yyjson_val *status =
        json_find(json_at(look->owner->root, "status.replicatedJobsStatus"), "name", name);
    yyjson_val *given =
        json_find(json_at(look->workload->root, "status.reclaimablePods"), "name", name);
    int64_t before = json_int_at(given, "count", 0);
    int64_t now = may_restart(look) ? 0 : json_int_at(status, "succeeded", 0) * pods_of_one(job);
    return now > before ? now : before;
}

const struct owner_ops OWNER_JOBSET = {
    .kind = &KIND_JOBSET,
    .prefix = "jobset-",
    .describe = set_describe,
    .is_running = set_is_running,
    .is_started = set_is_running,
    .start = set_start,
    .stop = set_stop,
    .restore = set_restore,
    .is_ready = set_is_ready,
    .end = set_end,
    .has_pods = set_has_pods,
    .reclaimable = set_reclaimable,
};
