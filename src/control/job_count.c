// SPDX-License-Identifier: Apache-2.0
/* Counts each pod that has ended, exactly once, whatever crashes in between:
 *
 *   1. its UID is put into status.uncountedTerminatedPods (an index that succeeded: into
 *      completedIndexes), by a write that fails when anybody else has written the Job;
 *   2. once that is stored, the pod loses the finalizer that kept it from vanishing unseen;
 *   3. once that is seen, one write moves the UID out of the list and into the counter.
 *
 * A pod with the finalizer is not counted; a UID in the list whose pod has none any more (or is
 * gone) is to be counted now; a pod without it that is in no list is counted. No state but the
 * stored one is needed to tell which.
 *
 * Where each index has its own limit, its count of failures is kept on its pods: a pod that failed
 * keeps the finalizer until its successor is there, which carries the count on. */
#include "base/mem.h"
#include "control/job_internal.h"
#include "core/job/policy.h"
#include <stdlib.h>

void look_release(struct look *look, const struct member *member)
{
    static const char PATCH[] =
        "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"" JOB_FINALIZER "\"]}}";
    struct write *write = write_new(WRITE_PATCH, &KIND_POD, obj_namespace(look->job), member->name);
    write->patch_type = PATCH_STRATEGIC;
    write->if_uid = mem_strdup(member->uid);
    /* One that runs as far as we know may have ended by now, and then it counts. */
    const struct obj *pod = member->class == MEMBER_ACTIVE
                                ? cache_by_uid(control_world(look->control)->cache, member->uid)
                                : NULL;
    if (pod != NULL)
        write->if_version = mem_strdup(pod->meta.resource_version);
    (void)json_parse((struct sv){PATCH, sizeof(PATCH) - 1}, &write->patch, NULL);
    control_write(look->control, write);
    look->released++;
}

/* ---- what the status lists already ---- */

static void read_uncounted(struct look *look, bool failed)
{
    struct job_state *state = look->state;
    yyjson_val *list = json_at(look->status, failed ? "uncountedTerminatedPods.failed"
                                                    : "uncountedTerminatedPods.succeeded");
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        const char *uid = yyjson_get_str(item);
        struct member *member = map_get(look->jobs->members, uid ? uid : "");
        if (member == NULL || member->job != state || !member->is_tracked) {
            *(failed ? &look->more_failed : &look->more_succeeded) += 1;
            look->is_dirty = true;
            continue;
        }
        member->in_look = state->look;
        if (failed) {
            vec_push(&look->failed, uid);
            member_write_off(member);
        } else {
            vec_push(&look->succeeded, uid);
        }
    }
}

static bool has_room(const struct look *look)
{
    return look->succeeded.len + look->failed.len < JOB_UNCOUNTED_MAX;
}

static void note_end(struct look *look, struct member *member, bool failed)
{
    if (member->is_noted)
        return;
    member->is_noted = true;
    vec_push(&look->ends, ((struct end){member->ended, failed}));
}

/* ---- pods that succeeded ---- */

static bool is_known_index(const struct look *look, const struct member *member)
{
    return member->index >= 0 && member->index < look->state->completions;
}

static void count_success(struct look *look, struct member *member)
{
    struct job_state *state = look->state;
    if (state->is_indexed) {
        bool counts = is_known_index(look, member) && !indexes_has(&state->failed, member->index);
        if (!counts || indexes_has(&state->completed, member->index)) {
            look_release(look, member); /* the index is enough to count it once */
            return;
        }
        (void)indexes_add(&look->completed, member->index);
    } else {
        if (!has_room(look))
            return;
        vec_push(&look->succeeded, member->uid);
    }
    note_end(look, member, false);
    look->is_dirty = true;
}

/* ---- pods that failed ---- */

static bool is_last_word(const struct look *look, const struct member *member)
{
    struct job_state *state = look->state;
    const struct slot *slot = state_slot(state, member->index);
    return look->is_ending || indexes_has(&state->failed, member->index) ||
           indexes_has(&look->completed, member->index) ||
           slot->attempts > member->failures + member->ignored || slot->count[MEMBER_SUCCEEDED] > 0;
}

/* True: there will be another pod for this index, and this one has to wait for it. */
static bool holds(struct look *look, struct member *member, enum failure_action action)
{
    struct job_state *state = look->state;
    if (!state->counts_per_index || is_last_word(look, member))
        return false;
    int64_t limit = json_int_at(look->spec, "backoffLimitPerIndex", 0);
    bool counts = action != FAILURE_IGNORE;
    if (action == FAILURE_FAIL_INDEX || (counts && member->failures >= limit)) {
        state_fail_index(state, member->index);
        look->is_dirty = true;
        return false;
    }
    if (action == FAILURE_FAIL_JOB)
        return false;
    state_hold(state, member, counts);
    return true;
}

static void count_failure(struct look *look, struct member *member)
{
    struct job_state *state = look->state;
    const struct obj *pod = cache_by_uid(control_world(look->control)->cache, member->uid);
    if (pod == NULL)
        return; /* about to be dropped */
    if (state->is_indexed && !is_known_index(look, member)) {
        look_release(look, member);
        return;
    }
    struct failure_match match = policy_match(yyjson_obj_get(look->spec, "podFailurePolicy"),
                                              yyjson_obj_get(pod->root, "status"));
    if (match.action == FAILURE_FAIL_JOB && look->fail_message.len == 0)
        policy_message(&match, obj_namespace(pod), pod->meta.name, &look->fail_message);
    if (holds(look, member, match.action))
        return;
    if (match.action == FAILURE_IGNORE) {
        look_release(look, member);
        return;
    }
    if (!has_room(look))
        return;
    vec_push(&look->failed, member->uid);
    /* Who was told to go has not failed: a drained node must not make the others wait, the longer
     * the more pods were on it. */
    if (pod->meta.deleted == 0)
        note_end(look, member, true);
    look->is_dirty = true;
}

/* ---- all of them ---- */

static void count_list(struct look *look, enum member_list list)
{
    struct job_state *state = look->state;
    struct member *member = TAILQ_FIRST(&state->lists[list]), *next;
    for (; member != NULL && look->released < JOB_BATCH; member = next) {
        next = TAILQ_NEXT(member, siblings); /* it may be moved */
        if (member->in_look == state->look)
            look_release(look, member);
        else if (member->class == MEMBER_SUCCEEDED)
            count_success(look, member);
        else
            count_failure(look, member);
    }
}

static void release_held(struct job_state *state)
{
    struct member *member;
    while ((member = TAILQ_FIRST(&state->lists[LIST_HELD])) != NULL) {
        struct slot *slot = state_slot(state, member->index);
        if (slot->held == member) {
            slot->held = NULL;
            heap_remove(&state->waiting, &slot->due);
            state_settle(state, slot);
        }
        member_move(member, LIST_ENDED);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* A success ends a row of failures, in the order in which they happened. */
static void note_backoff(struct look *look)
{
    struct job_state *state = look->state;
    if (look->ends.len > 1)
        qsort(look->ends.items, look->ends.len, sizeof(*look->ends.items), by_time);
    for (size_t i = 0; i < look->ends.len; i++) {
        const struct end *end = &look->ends.items[i];
        state->failures = end->failed ? state->failures + 1 : 0;
        if (end->failed)
            state->last_failure = end->at;
    }
}

void look_count(struct look *look)
{
    struct job_state *state = look->state;
    indexes_assign(&look->completed, &state->completed);
    read_uncounted(look, false);
    read_uncounted(look, true);
    if (look->is_ending)
        release_held(state);
    count_list(look, LIST_ENDED);
    /* A pod that is being stopped has failed already where it is replaced already. */
    if (!state->replaces_failed_only)
        count_list(look, LIST_LEAVING);
    note_backoff(look);
}
