// SPDX-License-Identifier: Apache-2.0
/* Jobs. The key is the Job's UID; pods that have lost their Job have keys of their own, with a
 * slash. Each look takes what is derived from the pods (job_state.c), counts what has ended, lets
 * the plan (core/job) say what to do, and asks for all of it at once. How a Job ends is stored
 * before anything is stopped for it; that it has ended, after everything has stopped. */
#include "model/job.h"
#include "base/mem.h"
#include "control/controllers.h"
#include "control/job_internal.h"
#include "core/job/policy.h"
#include "model/cell.h"

/* ---- from changes to keys ---- */

/* A pod that waits for a Job to count it, and the Job is gone. */
static bool is_orphan(struct control *control, const struct obj *pod)
{
    const char *uid = pod_job_uid(pod);
    if (!obj_has_finalizer(pod, JOB_FINALIZER))
        return false;
    const struct obj *job = uid ? cache_by_uid(control_world(control)->cache, uid) : NULL;
    return job == NULL || job->kind != &KIND_JOB;
}

static void add_orphan(struct control *control, const char *ns, const char *name)
{
    scoped_free char *key = mem_printf("%s/%s", ns, name);
    control_add(control, key);
}

static void map_pod(struct control *control, const struct change *change)
{
    struct jobs *jobs = control_state(control);
    const struct obj *pod = change->obj;
    const char *uid = pod_job_uid(pod);
    const struct member *before = map_get(jobs->members, pod->meta.uid);
    struct job_state *old = before != NULL ? before->job : NULL;
    if (old != NULL)
        control_add(control, old->uid);
    if (change->type == CHANGE_DELETED || uid == NULL)
        jobs_drop_pod(jobs, pod->meta.uid);
    else
        jobs_put_pod(jobs, pod, control_now(control));
    if (uid != NULL)
        control_add(control, uid);
    if (change->type != CHANGE_DELETED && is_orphan(control, pod))
        add_orphan(control, obj_namespace(pod), pod->meta.name);
    if (old != NULL && cache_by_uid(control_world(control)->cache, old->uid) == NULL)
        jobs_forget_if_empty(jobs, old);
}

enum { NEWS_COMPLETE, NEWS_FAILED, NEWS_SUSPENDED, NEWS_RESUMED };

static unsigned news_of(const struct obj *job, const struct obj *old)
{
    static const struct {
        const char *condition;
        unsigned news;
    } NEWS[] = {{"Complete", 1U << NEWS_COMPLETE},
                {"Failed", 1U << NEWS_FAILED},
                {"Suspended", 1U << NEWS_SUSPENDED}};
    unsigned news = 0;
    for (size_t i = 0; i < ARRAY_LEN(NEWS); i++) {
        if (job_condition(job, NEWS[i].condition) && !job_condition(old, NEWS[i].condition))
            news |= NEWS[i].news;
    }
    if (job_condition(old, "Suspended") && !job_condition(job, "Suspended"))
        news |= 1U << NEWS_RESUMED;
    return news;
}

static void map_job(struct control *control, const struct change *change)
{
    struct jobs *jobs = control_state(control);
    const struct obj *job = change->obj;
    if (change->type != CHANGE_DELETED) {
        struct job_state *state = jobs_need(jobs, job->meta.uid);
        if (change->old != NULL)
            state->news |= news_of(job, change->old);
        control_add(control, job->meta.uid);
        return;
    }
    struct job_state *state = jobs_state(jobs, job->meta.uid);
    for (size_t i = 0; state != NULL && i < MEMBER_LISTS; i++) {
        struct member *member;
        TAILQ_FOREACH(member, &state->lists[i], siblings)
        {
            if (member->is_tracked)
                add_orphan(control, obj_namespace(job), member->name);
        }
    }
    if (state != NULL)
        jobs_forget_if_empty(jobs, state);
}

static void job_map(struct control *control, const struct change *change)
{
    if (change->obj->kind == &KIND_POD)
        map_pod(control, change);
    else if (change->obj->kind == &KIND_JOB)
        map_job(control, change);
}

/* ---- a look ---- */

static void tell_conditions(struct look *look)
{
    unsigned news = look->state->news;
    look->state->news = 0;
    if (news & 1U << NEWS_SUSPENDED)
        control_event(look->control, look->job, "Normal", "Suspended", "Job suspended");
    if (news & 1U << NEWS_RESUMED)
        control_event(look->control, look->job, "Normal", "Resumed", "Job resumed");
    if (news & 1U << NEWS_COMPLETE)
        control_event(look->control, look->job, "Normal", "Completed", "Job completed");
    yyjson_val *failed = job_condition(look->job, "Failed");
    if (news & 1U << NEWS_FAILED && failed != NULL)
        control_event_of(look->control, look->job, "Warning", NULL, failed);
}

static struct job_facts facts_of(const struct look *look)
{
    const struct job_state *state = look->state;
    yyjson_val *spec = look->spec;
    int64_t succeeded = json_int_at(look->status, "succeeded", 0) + look->more_succeeded +
                        (int64_t)look->succeeded.len;
    return (struct job_facts){
        .parallelism = json_int_at(spec, "parallelism", 1),
        .completions = json_int_at(spec, "completions", -1),
        .backoff_limit = json_int_at(spec, "backoffLimit", -1),
        .max_failed_indexes = json_int_at(spec, "maxFailedIndexes", -1),
        .deadline_s = json_int_at(spec, "activeDeadlineSeconds", -1),
        .is_suspended = yyjson_get_bool(yyjson_obj_get(spec, "suspend")),
        .replaces_failed_only = state->replaces_failed_only,
        .counts_per_index = state->counts_per_index,
        .restarts_in_place = str_eq(json_str_at(spec, "template.spec.restartPolicy"), "OnFailure"),
        .active = (int64_t)state->count[MEMBER_ACTIVE],
        .terminating = (int64_t)state->count[MEMBER_LEAVING],
        .succeeded = state->is_indexed ? look->completed.count : succeeded,
        .failed =
            json_int_at(look->status, "failed", 0) + look->more_failed + (int64_t)look->failed.len,
        .failed_indexes = state->failed.count,
        .restarts = state->restarts,
        .is_success_policy_met =
            state->is_indexed && success_match(yyjson_obj_get(spec, "successPolicy"),
                                               state->completions, &look->completed) >= 0,
        /* A Job that goes on begins anew, with the write that says so. */
        .started = job_condition(look->job, "Suspended") ? 0 : cell_time(look->status, "startTime"),
        .failures = state->failures,
        .last_failure = state->last_failure,
    };
}

static struct job_plan plan_of(const struct look *look)
{
    struct job_facts facts = facts_of(look);
    struct job_plan plan = job_plan(&facts, look->now);
    if (look->fail_message.len > 0) {
        plan.end = JOB_FAILS;
        plan.reason = "PodFailurePolicy";
        plan.message = look->fail_message.data;
    }
    return plan;
}

/* Every look says anew when the next one is due. */
static void arm(const struct look *look, time_ms wake)
{
    const struct heap_node *pause = heap_peek(&look->state->waiting);
    if (pause != NULL && pause->key < wake)
        wake = pause->key;
    if (wake != TIME_NEVER)
        control_add_at(look->control, look->job->meta.uid, wake);
}

static void work(struct look *look)
{
    struct job_plan plan = {.wake = TIME_NEVER};
    state_end_pauses(look->state, look->now);
    look_count(look);
    if (look->is_ending) {
        look_remove_all(look);
    } else {
        plan = plan_of(look);
        if (plan.end == JOB_GOES_ON) {
            look_remove(look, plan.remove);
            look_create(look, plan.create);
        }
    }
    look_write_status(look, &plan);
    if (plan.end == JOB_GOES_ON && !look->is_ending)
        arm(look, plan.wake);
}

/* A finished Job is deleted with its pods some time after, when it says so. */
static void expire(struct look *look)
{
    int64_t ttl = json_int_at(look->spec, "ttlSecondsAfterFinished", -1);
    yyjson_val *end = job_condition(look->job, "Complete");
    if (end == NULL)
        end = job_condition(look->job, "Failed");
    if (ttl < 0 || look->job->meta.deleted != 0)
        return;
    time_ms due = cell_time(end, "lastTransitionTime") + ttl * 1000;
    if (due > look->now) {
        control_add_at(look->control, look->job->meta.uid, due);
        return;
    }
    struct write *write =
        write_new(WRITE_DELETE, &KIND_JOB, obj_namespace(look->job), look->job->meta.name);
    write->if_uid = mem_strdup(look->job->meta.uid);
    write->if_version = mem_strdup(look->job->meta.resource_version); /* the wish may be new */
    write->propagation = PROPAGATE_FOREGROUND;
    control_write(look->control, write);
}

static bool is_managed_by_another(yyjson_val *spec)
{
    const char *manager = json_str_at(spec, "managedBy");
    return manager != NULL && strcmp(manager, JOB_MANAGER) != 0;
}

static void look_at(struct look *look)
{
    state_read_job(look->state, look->job);
    look->state->look++;
    look_tell_pods(look);
    tell_conditions(look);
    if (job_is_finished(look->job)) {
        look_release_all(look);
        look_remove(look, (int64_t)look->state->untracked_active);
        expire(look);
    } else if (look->job->meta.deleted != 0) {
        look_release_all(look);
    } else {
        work(look);
    }
}

static void reconcile_orphan(struct control *control, const char *key)
{
    struct sv rest = sv_of(key);
    struct sv ns = sv_cut(&rest, '/');
    scoped_free char *space = mem_strndup(ns.ptr, ns.len);
    struct obj *pod = cache_get(control_world(control)->cache, &KIND_POD, space, rest.ptr);
    if (pod == NULL || !is_orphan(control, pod))
        return;
    struct member member = {.uid = (char *)pod->meta.uid, .name = (char *)pod->meta.name};
    struct look look = {.control = control, .job = pod};
    look_release(&look, &member);
}

static void job_reconcile(struct control *control, const char *key)
{
    struct jobs *jobs = control_state(control);
    if (strchr(key, '/') != NULL) {
        reconcile_orphan(control, key);
        return;
    }
    struct obj *job = cache_by_uid(control_world(control)->cache, key);
    if (job == NULL || job->kind != &KIND_JOB)
        return;
    struct look look = {.control = control,
                        .jobs = jobs,
                        .state = jobs_need(jobs, key),
                        .job = job,
                        .spec = yyjson_obj_get(job->root, "spec"),
                        .status = yyjson_obj_get(job->root, "status"),
                        .now = control_now(control)};
    if (is_managed_by_another(look.spec))
        return;
    look.is_ending =
        job_condition(job, "SuccessCriteriaMet") || job_condition(job, "FailureTarget");
    look_at(&look);
    vec_done(&look.succeeded);
    vec_done(&look.failed);
    vec_done(&look.ends);
    indexes_done(&look.completed);
    str_done(&look.fail_message);
}

static void job_begin(struct control *control)
{
    control_set_state(control, jobs_new());
}

static void job_end(struct control *control)
{
    jobs_free(control_state(control));
    control_set_state(control, NULL);
}

const struct controller CONTROLLER_JOB = {
    .name = "job-controller",
    .map = job_map,
    .reconcile = job_reconcile,
    .begin = job_begin,
    .end = job_end,
};
