// SPDX-License-Identifier: Apache-2.0
/* JobSets. The key is the JobSet's UID. A look takes what is derived from Jobs and pods
 * (jobset_state.c) and decides from it and the stored status; a step that others act upon (an end,
 * a restart, a barrier that is lifted) is stored first, and what follows from it is done by the
 * look after. */
#include "base/mem.h"
#include "control/controllers.h"
#include "control/jobset_internal.h"
#include "model/cell.h"
#include <inttypes.h>

/* ---- from changes to keys ---- */

/* Conditions that people are told of. */
static const struct {
    const char *type, *status, *event;
    const char *reason; /* of the event; NULL: that of the condition */
    const char *only;   /* the condition's, for it to be told; NULL: any */
} NEWS[] = {
    {"Completed", "True", "Normal", NULL, NULL},
    {"Failed", "True", "Warning", NULL, NULL},
    {"Suspended", "True", "Normal", NULL, NULL},
    {"Suspended", "False", "Normal", NULL, NULL},
    {"RestartingJobSet", "True", "Warning", "Restarting", NULL},
    {"RestartingJobSet", "False", "Normal", "Restarted", SET_ALL_READY},
    {"StartupPolicyInProgress", "True", "Normal", NULL, NULL},
    {"StartupPolicyCompleted", "True", "Normal", NULL, NULL},
};

static yyjson_val *news_in(const struct obj *set, size_t of)
{
    yyjson_val *condition = cell_condition_as(set->root, NEWS[of].type, NEWS[of].status);
    bool is_told = NEWS[of].only == NULL || str_eq(json_str_at(condition, "reason"), NEWS[of].only);
    return is_told ? condition : NULL;
}

static unsigned news_of(const struct obj *set, const struct obj *old)
{
    unsigned news = 0;
    for (size_t i = 0; i < ARRAY_LEN(NEWS); i++) {
        yyjson_val *now = news_in(set, i), *before = news_in(old, i);
        if (now != NULL && (before == NULL ||
                            !str_eq(json_str_at(now, "message"), json_str_at(before, "message"))))
            news |= 1U << i;
    }
    return news;
}

static bool is_managed_by_another(yyjson_val *spec)
{
    const char *manager = json_str_at(spec, "managedBy");
    return manager != NULL && strcmp(manager, JOBSET_MANAGER) != 0;
}

static void count_end(struct sets *sets, const struct obj *set, const struct obj *old)
{
    if (!set_is_finished(set) || set_is_finished(old) ||
        is_managed_by_another(yyjson_obj_get(set->root, "spec")))
        return;
    bool is_good = set_condition(set, "Completed") != NULL;
    sets->counts.completed += is_good;
    sets->counts.failed += !is_good;
}

static void map_set(struct control *control, const struct change *change)
{
    struct sets *sets = control_state(control);
    const struct obj *set = change->obj;
    if (change->type == CHANGE_DELETED) {
        sets_drop(sets, set->meta.uid);
        return;
    }
    struct set_state *state = sets_put(sets, control_world(control)->cache, set);
    if (change->old != NULL) {
        state->news |= news_of(set, change->old);
        count_end(sets, set, change->old);
    }
    control_add(control, set->meta.uid);
}

static void map_job(struct control *control, const struct change *change)
{
    struct sets *sets = control_state(control);
    const struct obj *job = change->obj;
    const char *uid = job_set_uid(job);
    const struct set_job *before = map_get(sets->jobs, job->meta.uid);
    if (before != NULL)
        control_add(control, before->set->uid);
    if (change->type == CHANGE_DELETED)
        sets_drop_job(sets, job->meta.uid);
    else
        sets_put_job(sets, control_world(control)->cache, job);
    if (uid != NULL)
        control_add(control, uid);
}

/* A report wakes the JobSet only when something follows from it: of the members that arrive at a
 * barrier, or become ready behind it, the last. */
static void map_pod(struct control *control, const struct change *change)
{
    struct sets *sets = control_state(control);
    struct set_state *state = change->type == CHANGE_DELETED
                                  ? sets_drop_pod(sets, control_world(control)->cache, change->obj)
                                  : sets_put_pod(sets, control_world(control)->cache, change->obj);
    static const struct group_budget ANY = {.max = 1};
    if (state != NULL && (group_plan(state->group, &ANY).move != GROUP_WAIT ||
                          group_is_ready(state->group) || state->malformed != NULL))
        control_add(control, state->uid);
}

static void set_map(struct control *control, const struct change *change)
{
    if (change->obj->kind == &KIND_POD)
        map_pod(control, change);
    else if (change->obj->kind == &KIND_JOB)
        map_job(control, change);
    else if (change->obj->kind == &KIND_JOBSET)
        map_set(control, change);
}

/* ---- a look ---- */

static void tell(struct set_look *look)
{
    unsigned news = look->state->news;
    look->state->news = 0;
    for (size_t i = 0; i < ARRAY_LEN(NEWS); i++) {
        yyjson_val *condition = news & 1U << i ? news_in(look->set, i) : NULL;
        if (condition == NULL)
            continue;
        const char *action = look_action_event(look, json_str_at(condition, "reason"));
        control_event_of(look->control, look->set, NEWS[i].event,
                         action != NULL ? action : NEWS[i].reason, condition);
    }
}

/* A finished JobSet is deleted with all that it has some time after, when it says so. */
static void expire(struct set_look *look)
{
    int64_t ttl = json_int_at(look->spec, "ttlSecondsAfterFinished", -1);
    yyjson_val *end = set_condition(look->set, "Completed");
    if (end == NULL)
        end = set_condition(look->set, "Failed");
    if (ttl < 0)
        return;
    time_ms due = cell_time(end, "lastTransitionTime") + ttl * 1000;
    if (due > look->now) {
        control_add_at(look->control, look->set->meta.uid, due);
        return;
    }
    struct write *write =
        write_new(WRITE_DELETE, &KIND_JOBSET, obj_namespace(look->set), look->set->meta.name);
    write->if_uid = mem_strdup(look->set->meta.uid);
    write->if_version = mem_strdup(look->set->meta.resource_version); /* the wish may be new */
    write->propagation = PROPAGATE_FOREGROUND;
    control_write(look->control, write);
}

static void put_suspension(struct set_look *look)
{
    bool is = set_condition(look->set, "Suspended") != NULL;
    if (look->is_suspended) {
        draft_condition(look, &(struct set_condition){"Suspended", "True", "SuspendedJobs",
                                                      "jobset is suspended"});
        if (!is)
            draft_clear(look, "StartupPolicyCompleted", "SuspendedJobs", "jobset is suspended");
    } else if (is) {
        draft_condition(
            look, &(struct set_condition){"Suspended", "False", "ResumeJobs", "jobset is resumed"});
    }
}

/* Nobody of a group may run, as its status says. Only then it changes its size or loses its pods by
 * our doing: the pods that come later begin with the next epoch, and must not find the one before
 * still good, for then they would ask for a restart. */
static bool has_barrier_down(const struct set_look *look)
{
    struct jobset_epochs epochs = jobset_epochs(look->status);
    if (look->state->group == NULL || epochs.synced <= epochs.deprecated)
        return true;
    struct group_counts counts = group_counts(look->state->group);
    return counts.done == counts.places; /* nobody is left who could ask for anything */
}

static void work(struct set_look *look)
{
    look_remove_jobs(look, SET_OLD);
    look_settle_restart(look);
    if (look_apply_failures(look) || look_apply_success(look))
        return;
    put_suspension(look);
    look_create_jobs(look);
    if (!look->is_suspended || has_barrier_down(look))
        look_suspend_jobs(look);
    if (has_barrier_down(look))
        look_resize_jobs(look);
    look_start_order(look);
    look_answer_request(look);
    look_group(look);
}

static void look_at(struct set_look *look)
{
    tell(look);
    if (look->set->meta.deleted != 0)
        return;
    draft_open(look);
    draft_jobs(look);
    if (set_is_finished(look->set)) {
        look_remove_jobs(look, SET_LIVE);
        look_remove_jobs(look, SET_OLD);
        look_note_request(look);
        draft_write(look);
        expire(look);
    } else {
        work(look);
        draft_write(look);
    }
}

static void set_reconcile(struct control *control, const char *key)
{
    struct sets *sets = control_state(control);
    struct obj *set = cache_by_uid(control_world(control)->cache, key);
    if (set == NULL || set->kind != &KIND_JOBSET)
        return;
    struct set_look look = {.control = control,
                            .sets = sets,
                            .state = sets_put(sets, control_world(control)->cache, set),
                            .set = set,
                            .spec = yyjson_obj_get(set->root, "spec"),
                            .status = yyjson_obj_get(set->root, "status"),
                            .now = control_now(control)};
    look.is_suspended = yyjson_get_bool(yyjson_obj_get(look.spec, "suspend"));
    if (!is_managed_by_another(look.spec))
        look_at(&look);
}

static void set_begin(struct control *control)
{
    control_set_state(control, sets_new());
}

static void set_end(struct control *control)
{
    sets_free(control_state(control));
    control_set_state(control, NULL);
}

/* Upstream's names, without its label: it has the name of each JobSet that there ever was. */
static void set_metrics(struct control *control, struct str *out)
{
    const struct sets *sets = control_state(control);
    str_addf(out,
             "# HELP jobset_completed_total JobSets that have completed.\n"
             "# TYPE jobset_completed_total counter\njobset_completed_total %" PRIu64 "\n"
             "# HELP jobset_failed_total JobSets that have failed.\n"
             "# TYPE jobset_failed_total counter\njobset_failed_total %" PRIu64 "\n",
             sets->counts.completed, sets->counts.failed);
}

const struct controller CONTROLLER_JOBSET = {
    .name = "jobset-controller",
    .map = set_map,
    .reconcile = set_reconcile,
    .begin = set_begin,
    .end = set_end,
    .metrics = set_metrics,
};
