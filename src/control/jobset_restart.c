// SPDX-License-Identifier: Apache-2.0
/* Restarts in place: the engine (core/recover) says what the status should say next, one step a
 * look, and nothing else is decided before that is stored.
 *
 * Every restart passes through `deprecated`. One that follows from the announcement of a member is
 * charged in the same write. Those that are not failures of members are not: the JobSet is
 * suspended, its size changes, somebody asks for it, or Jobs are made anew, which is charged as
 * such. For these the controller deprecates the epoch by itself, before the new pods, which begin
 * with the epoch after it, could ask for it. */
#include "base/mem.h"
#include "control/jobset_internal.h"
#include "core/recover/epoch.h"
#include <inttypes.h>

#define REQUESTED "RestartRequested"

/* ---- epochs ---- */

static void draft_deprecated(struct set_look *look, int64_t epoch)
{
    draft_count(look, "deprecatedEpoch", epoch);
    draft_count(look, "previousInPlaceRestartAttempt", epoch - 1);
}

static void draft_synced(struct set_look *look, int64_t epoch)
{
    draft_count(look, "syncedEpoch", epoch);
    draft_count(look, "currentInPlaceRestartAttempt", epoch - 1);
}

static bool is_running(const struct set_look *look)
{
    struct jobset_epochs epochs = jobset_epochs(look->status);
    return epochs.synced > epochs.deprecated;
}

void look_deprecate(struct set_look *look)
{
    if (look->state->group != NULL && is_running(look))
        draft_deprecated(look, jobset_epochs(look->status).synced);
}

/* ---- restarts on demand ---- */

static const char *request_of(const struct set_look *look)
{
    const char *value =
        yyjson_get_str(yyjson_obj_get(look->set->meta.annotations, RESTART_REQUEST_NOTE));
    return value != NULL && *value != '\0' ? value : NULL;
}

/* The last one that was answered is the message of a condition: whatever server keeps the JobSet,
 * conditions are kept as they are. */
static bool look_wants_restart(const struct set_look *look)
{
    const char *wanted = request_of(look);
    yyjson_val *last = set_condition(look->set, REQUESTED);
    return wanted != NULL && !str_eq(wanted, json_str_at(last, "message"));
}

/* Where nobody runs, and will not soon, nothing was restarted. */
static const char *answer_to_request(const struct set_look *look)
{
    if (set_is_finished(look->set))
        return "JobSetFinished";
    return look->is_suspended ? "JobSetSuspended" : "Restarted";
}

void look_note_request(struct set_look *look)
{
    if (look_wants_restart(look))
        draft_condition(look, &(struct set_condition){REQUESTED, "True", answer_to_request(look),
                                                      request_of(look)});
}

static void tell_request(struct set_look *look, const char *how)
{
    scoped_free char *message = mem_printf(
        "a restart that does not count: somebody asked for it (" RESTART_REQUEST_NOTE ": %s); %s",
        request_of(look), how);
    draft_condition(look, &(struct set_condition){"RestartingJobSet", "True", REQUESTED, message});
}

void look_answer_request(struct set_look *look)
{
    if (look->state->group != NULL || !look_wants_restart(look))
        return;
    bool has_jobs = false;
    for (size_t i = 0; i < look->state->roles.len; i++)
        has_jobs |= role_now(&look->state->roles.items[i]) > 0;
    if (has_jobs && !look->is_suspended) {
        draft_count(look, "restarts", look->state->attempt + 1);
        tell_request(look, "all Jobs are made anew");
    }
    look_note_request(look);
}

/* ---- the group ---- */

static bool is_resizing(const struct set_look *look)
{
    for (size_t i = 0; i < look->state->roles.len; i++) {
        if (look->state->roles.items[i].other_size > 0)
            return true;
    }
    return false;
}

/* Jobs that are, or were a moment ago, without pods may still remove some. */
static bool is_pausing(const struct set_look *look)
{
    for (size_t i = 0; i < look->state->roles.len; i++) {
        if (look->state->roles.items[i].suspended + look->state->roles.items[i].paused > 0)
            return true;
    }
    return false;
}

static void tell_charged(struct set_look *look, int64_t epoch)
{
    const struct obj *pod = look_culprit(look);
    scoped_str cause = {0};
    look_cause(look, pod, &cause);
    scoped_free char *message = mem_printf(
        "restart %" PRId64 " of %" PRId64 " in place: pod %s asks for epoch %" PRId64 "%s",
        look_restarts_used(look) + 1, look_restarts_max(look), pod != NULL ? pod->meta.name : "?",
        epoch + 1, str_text(&cause));
    draft_condition(look,
                    &(struct set_condition){"RestartingJobSet", "True", "InPlaceRestart", message});
}

static void restart(struct set_look *look, const struct group_plan *plan)
{
    int64_t counted = json_int_at(look->status, "restartsCountTowardsMax", 0);
    draft_deprecated(look, plan->epoch);
    draft_count(look, "inPlaceRestarts", json_int_at(look->status, "inPlaceRestarts", 0) + 1);
    if (plan->is_charged) {
        draft_count(look, "restartsCountTowardsMax", counted + 1);
        tell_charged(look, plan->epoch);
    } else if (look_wants_restart(look)) {
        tell_request(look, "all members restart in place");
    } else {
        draft_condition(look, &(struct set_condition){
                                  "RestartingJobSet", "True", "Resized",
                                  "a restart in place that does not count: the number of members "
                                  "changes"});
    }
    look_note_request(look);
}

static void fail(struct set_look *look)
{
    const struct obj *pod = look_culprit(look);
    scoped_str cause = {0};
    look_cause(look, pod, &cause);
    scoped_free char *message =
        mem_printf("jobset failed due to reaching max number of restarts: pod %s needs one of the "
                   "group, and all %" PRId64 " that maxRestarts allows are used%s",
                   pod != NULL ? pod->meta.name : "?", look_restarts_max(look), str_text(&cause));
    draft_end(look, false, "ReachedMaxRestarts", message);
}

/* It can neither be let in nor correct itself: announcements only grow. Its Job makes another. */
static void expel(struct set_look *look)
{
    const char *uid = group_culprit(look->state->group);
    const struct obj *pod =
        uid != NULL ? cache_by_uid(control_world(look->control)->cache, uid) : NULL;
    if (pod == NULL)
        return;
    control_event(look->control, look->set, "Warning", "InvalidEpoch",
                  "pod %s announced an epoch that is not there yet; it is replaced",
                  pod->meta.name);
    struct write *write = write_new(WRITE_DELETE, &KIND_POD, obj_namespace(pod), pod->meta.name);
    write->if_uid = mem_strdup(pod->meta.uid);
    control_write(look->control, write);
}

static void tell_malformed(struct set_look *look)
{
    struct set_state *state = look->state;
    if (state->malformed == NULL)
        return;
    control_event(look->control, look->set, "Warning", "InvalidEpoch",
                  "pod %s: its annotation " EPOCH_NOTE " is no whole number from 1 to 2147483647; "
                  "the pod counts as not there",
                  state->malformed);
    mem_free(take_ptr(state->malformed));
}

void look_group(struct set_look *look)
{
    if (look->state->group == NULL)
        return;
    tell_malformed(look);
    if (look->is_suspended) {
        look_deprecate(look);
        look_note_request(look);
        return;
    }
    struct group_budget budget = {look_restarts_used(look), look_restarts_max(look),
                                  look_wants_restart(look) || is_resizing(look)};
    struct group_plan plan = group_plan(look->state->group, &budget);
    if (plan.move == GROUP_DEPRECATE)
        restart(look, &plan);
    else if (plan.move == GROUP_FAIL)
        fail(look);
    else if (plan.move == GROUP_SYNC && !is_pausing(look))
        draft_synced(look, plan.epoch);
    else if (plan.move == GROUP_EXPEL)
        expel(look);
    if (!is_running(look))
        look_note_request(look); /* nobody runs: what starts next is new */
}

/* ---- and after ---- */

void look_settle_restart(struct set_look *look)
{
    if (set_condition(look->set, "RestartingJobSet") == NULL)
        return;
    if (look->is_suspended)
        draft_clear(look, "RestartingJobSet", "JobSetSuspended", "jobset is suspended");
    else if (look_all_ready(look) &&
             (look->state->group == NULL || group_is_ready(look->state->group)))
        draft_clear(look, "RestartingJobSet", SET_ALL_READY, "all jobs are ready");
}
