// SPDX-License-Identifier: Apache-2.0
#include "cli/run_kind.h"
#include "model/cell.h"
#include "model/jobset.h"
#include "model/kueue.h"

static bool is_true(yyjson_val *object, const char *type)
{
    return cell_condition_as(object, type, "True") != NULL;
}

static bool pod_is_ours(const struct run_group *group, yyjson_val *pod)
{
    return str_eq(group->uid, json_str_at(pod, "metadata.uid"));
}

static bool job_owns(const struct run_group *group, yyjson_val *pod)
{
    size_t i, n;
    yyjson_val *owner;
    yyjson_arr_foreach(json_at(pod, "metadata.ownerReferences"), i, n, owner)
    {
        if (str_eq(json_str_at(owner, "uid"), group->uid))
            return true;
    }
    return false;
}

static void expect_queue(struct run_group *group, yyjson_val *object, bool is_held)
{
    yyjson_val *labels = json_at(object, "metadata.labels");
    run_set_text(&group->queue,
                 is_held ? yyjson_get_str(yyjson_obj_get(labels, KUEUE_QUEUE_LABEL)) : NULL);
}

static bool is_suspended(yyjson_val *object)
{
    return yyjson_get_bool(json_at(object, "spec.suspend"));
}

static void expect_pod(struct run_group *group, yyjson_val *object)
{
    yyjson_val *gates = json_at(object, "spec.schedulingGates");
    group->pods_expected = group->pods_at_once = 1;
    group->units_per_pod = run_units_in(json_at(object, "spec"));
    expect_queue(group, object, json_find(gates, "name", KUEUE_GATE) != NULL);
}

static void expect_job(struct run_group *group, yyjson_val *object)
{
    int64_t at_once = json_int_at(object, "spec.parallelism", 1);
    int64_t all = json_int_at(object, "spec.completions", at_once);
    group->pods_expected = (size_t)all;
    group->pods_at_once = (size_t)(at_once < all ? at_once : all);
    group->units_per_pod = run_units_in(json_at(object, "spec.template.spec"));
    expect_queue(group, object, is_suspended(object));
}

static bool set_owns(const struct run_group *group, yyjson_val *pod)
{
    yyjson_val *labels = json_at(pod, "metadata.labels");
    return str_eq(yyjson_get_str(yyjson_obj_get(labels, JOBSET_LABEL_UID)), group->uid);
}

/* Pods of its Jobs may differ: what is expected of all is told as one kind of pod. */
static void expect_set(struct run_group *group, yyjson_val *object)
{
    size_t i, n, units = 0;
    yyjson_val *one;
    group->pods_expected = group->pods_at_once = 0;
    yyjson_arr_foreach(json_at(object, "spec.replicatedJobs"), i, n, one)
    {
        int64_t at_once = json_int_at(one, "template.spec.parallelism", 1);
        int64_t all = json_int_at(one, "template.spec.completions", at_once);
        int64_t replicas = json_int_at(one, "replicas", 1);
        size_t here = run_units_in(json_at(one, "template.spec.template.spec"));
        group->pods_expected += (size_t)(replicas * all);
        group->pods_at_once += (size_t)(replicas * (at_once < all ? at_once : all));
        units = here > units ? here : units;
    }
    group->units_per_pod = units;
    group->restarts_as_one = true;
    group->restarts = json_int_at(object, "status.restarts", 0) +
                      json_int_at(object, "status.inPlaceRestarts", 0);
    group->epoch = json_int_at(object, "status.syncedEpoch", 0);
    expect_queue(group, object, is_suspended(object));
}

static enum run_outcome judge_set(yyjson_val *object, const char **ret_why)
{
    *ret_why = run_text_of(cell_condition(object, "Failed"));
    if (is_true(object, "Failed"))
        return RUN_LOST;
    return is_true(object, "Completed") ? RUN_SUCCEEDED : RUN_GOES_ON;
}

static enum run_outcome judge_pod(yyjson_val *object, const char **ret_why)
{
    const char *phase = json_str_at(object, "status.phase");
    *ret_why = NULL; /* its containers tell */
    return str_eq(phase, "Succeeded") ? RUN_SUCCEEDED
           : str_eq(phase, "Failed")  ? RUN_LOST
                                      : RUN_GOES_ON;
}

static enum run_outcome judge_job(yyjson_val *object, const char **ret_why)
{
    *ret_why = run_text_of(cell_condition(object, "Failed"));
    if (is_true(object, "Failed"))
        return RUN_LOST;
    return is_true(object, "Complete") ? RUN_SUCCEEDED : RUN_GOES_ON;
}

static void expect_numbered(struct run_group *group, yyjson_val *object)
{
    group->pods_expected = group->pods_at_once = (size_t)json_int_at(object, "spec.replicas", 1);
    group->units_per_pod = run_units_in(json_at(object, "spec.template.spec"));
}

/* It never ends by itself. */
static enum run_outcome judge_endless(yyjson_val *object, const char **ret_why)
{
    (void)object;
    *ret_why = NULL;
    return RUN_GOES_ON;
}

static bool owns_none(const struct run_group *group, yyjson_val *pod)
{
    (void)group, (void)pod;
    return false;
}

static void expect_spread(struct run_group *group, yyjson_val *object)
{
    struct run_spread *spread = &group->spread;
    size_t i, n;
    yyjson_val *item;
    spread->is_told = true;
    spread->wanted = json_int_at(object, "spec.vreplicas", 1);
    spread->placed = json_int_at(object, "status.placed", 0);
    spread->pending = spread->wanted > spread->placed ? spread->wanted - spread->placed : 0;
    bool is_short = cell_condition_as(object, "Scheduled", "False") != NULL;
    run_set_text(&spread->why, is_short ? run_text_of(cell_condition(object, "Scheduled")) : NULL);
    vec_clear(&spread->per_pod);
    yyjson_arr_foreach(json_at(object, "status.placements"), i, n, item)
    {
        vec_push(&spread->per_pod, json_int_at(item, "vreplicas", 0));
    }
}

static const struct run_kind GROUP_KINDS[] = {
    {&KIND_POD, pod_is_ours, expect_pod, judge_pod},
    {&KIND_JOB, job_owns, expect_job, judge_job},
    {&KIND_JOBSET, set_owns, expect_set, judge_set},
    {&KIND_STATEFULSET, job_owns, expect_numbered, judge_endless},
    {&KIND_VPOD, owns_none, expect_spread, judge_endless},
};

const struct run_kind *run_kind_of(const struct kind *kind)
{
    for (size_t i = 0; i < ARRAY_LEN(GROUP_KINDS); i++) {
        if (GROUP_KINDS[i].kind == kind)
            return &GROUP_KINDS[i];
    }
    return NULL;
}

bool run_kind_is_endless(const struct run_group *group)
{
    return run_kind_of(group->kind)->judge == judge_endless;
}
