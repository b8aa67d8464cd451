// SPDX-License-Identifier: Apache-2.0
/* A Job as the owner of a gang: suspended until it is admitted. */
#include "control/admission.h"
#include "model/kueue.h"
#include <stdlib.h>

static int64_t pods_at_once(yyjson_val *spec)
{
    int64_t parallelism = json_int_at(spec, "parallelism", 1);
    int64_t completions = json_int_at(spec, "completions", parallelism);
    return parallelism < completions ? parallelism : completions;
}

static yyjson_val *spec_of(const struct gang_look *look)
{
    return yyjson_obj_get(look->owner->root, "spec");
}

static void job_describe(const struct gang_look *look, yyjson_mut_doc *doc, yyjson_mut_val *sets)
{
    yyjson_val *spec = spec_of(look);
    yyjson_mut_val *set = yyjson_mut_arr_add_obj(doc, sets);
    const char *least =
        yyjson_get_str(yyjson_obj_get(look->owner->meta.annotations, KUEUE_MIN_PARALLELISM));
    json_mut_put(doc, set, "name", yyjson_mut_str(doc, "main"));
    json_mut_put(doc, set, "count", yyjson_mut_sint(doc, pods_at_once(spec)));
    if (least != NULL && strtol(least, NULL, 10) > 0)
        json_mut_put(doc, set, "minCount", yyjson_mut_sint(doc, strtol(least, NULL, 10)));
    json_mut_put(doc, set, "template", yyjson_val_mut_copy(doc, yyjson_obj_get(spec, "template")));
}

static bool job_is_running(const struct gang_look *look)
{
    return look->owner != NULL && !yyjson_get_bool(yyjson_obj_get(spec_of(look), "suspend"));
}

static void write_job(struct gang_look *look, yyjson_mut_doc *doc)
{
    struct write *write =
        write_new(WRITE_UPDATE, &KIND_JOB, look->gang->ns, look->owner->meta.name);
    write->if_version = mem_strdup(look->owner->meta.resource_version);
    write->doc = doc;
    control_write_about(look->control, write, look->owner, "FailedStart");
}

static yyjson_val *set_of(const struct gang_look *look)
{
    return yyjson_arr_get_first(json_at(look->workload->root, "spec.podSets"));
}

static yyjson_val *assignment_of(const struct gang_look *look)
{
    return yyjson_arr_get_first(
        json_at(look->workload->root, "status.admission.podSetAssignments"));
}

static void job_start(struct gang_look *look)
{
    yyjson_mut_doc *doc = obj_edit(look->owner);
    yyjson_mut_val *spec = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "spec");
    yyjson_val *set = set_of(look), *assignment = assignment_of(look);
    int64_t wanted = json_int_at(set, "count", 0);
    int64_t given = json_int_at(assignment, "count", wanted);
    json_mut_put(doc, spec, "suspend", yyjson_mut_bool(doc, false));
    if (given < wanted)
        json_mut_put(doc, spec, "parallelism", yyjson_mut_sint(doc, given));
    adds_put(look, doc, yyjson_mut_obj_get(spec, "template"), yyjson_obj_get(set, "template"),
             json_str_at(set, "name"));
    write_job(look, doc);
}

static void job_stop(struct gang_look *look)
{
    if (look->owner == NULL)
        return;
    yyjson_mut_doc *doc = obj_edit(look->owner);
    yyjson_mut_val *spec = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "spec");
    json_mut_put(doc, spec, "suspend", yyjson_mut_bool(doc, true));
    yyjson_val *set = look->workload ? set_of(look) : NULL;
    int64_t wanted = json_int_at(set, "count", 0);
    if (json_mut_int_at(spec, "parallelism", 1) < wanted)
        json_mut_put(doc, spec, "parallelism", yyjson_mut_sint(doc, wanted));
    write_job(look, doc);
}

static void job_restore(struct gang_look *look)
{
    if (look->owner == NULL)
        return;
    yyjson_mut_doc *doc = obj_edit(look->owner);
    yyjson_mut_val *spec = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "spec");
    adds_remove(doc, yyjson_mut_obj_get(spec, "template"),
                yyjson_obj_get(set_of(look), "template"));
    write_job(look, doc);
}

/* Those that succeeded and are not counted yet are as good as counted. Failed ones never are. */
static bool job_is_ready(const struct gang_look *look)
{
    yyjson_val *status = yyjson_obj_get(look->owner->root, "status");
    int64_t ready = json_int_at(status, "ready", 0) + json_int_at(status, "succeeded", 0) +
                    (int64_t)yyjson_arr_size(json_at(status, "uncountedTerminatedPods.succeeded"));
    return ready >= pods_at_once(spec_of(look));
}

static int64_t job_pods_at_once(const struct gang_look *look)
{
    return pods_at_once(spec_of(look));
}

static int job_end(const struct gang_look *look, struct str *message)
{
    if (look->owner == NULL)
        return 0;
    bool complete = condition_is(look->owner, "Complete", "True");
    bool failed = condition_is(look->owner, "Failed", "True");
    if (complete)
        str_add(message, "Job finished successfully");
    else if (failed)
        str_add(message, json_str_at(condition_of(look->owner, "Failed"), "message"));
    return complete ? 1 : failed ? -1 : 0;
}

static bool job_has_pods(struct gang_look *look, bool kill)
{
    if (look->owner != NULL && !kill &&
        (json_int_at(look->owner->root, "status.active", 0) > 0 ||
         json_int_at(look->owner->root, "status.terminating", 0) > 0))
        return true;
    return pods_live(look, look->owner_uid, kill);
}

/* When fewer completions are left than may run at once, the rest is not needed any more. */
static int64_t job_reclaimable(const struct gang_look *look, yyjson_val *pod_set)
{
    yyjson_val *spec = spec_of(look);
    int64_t succeeded = json_int_at(look->owner->root, "status.succeeded", 0);
    int64_t completions = json_int_at(spec, "completions", -1);
    int64_t count = json_int_at(assignment_of(look), "count", json_int_at(pod_set, "count", 0));
    if (completions < 0 || succeeded == 0 || completions - succeeded >= count)
        return 0;
    return count - (completions - succeeded);
}

const struct owner_ops OWNER_JOB = {
    .kind = &KIND_JOB,
    .prefix = "job-",
    .describe = job_describe,
    .is_running = job_is_running,
    .is_started = job_is_running,
    .start = job_start,
    .stop = job_stop,
    .restore = job_restore,
    .is_ready = job_is_ready,
    .pods_at_once = job_pods_at_once,
    .end = job_end,
    .has_pods = job_has_pods,
    .reclaimable = job_reclaimable,
};
