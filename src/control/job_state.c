// SPDX-License-Identifier: Apache-2.0
/* Invariants: counts, lists and slots are what a recount of the members says; `pending`, once it
 * is known, has an index if and only if is_free() says so of it. Each change of a pod costs a few
 * look-ups, however many pods there are. */
#include "base/mem.h"
#include "control/job_internal.h"
#include "model/cell.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct jobs *jobs_new(void)
{
    struct jobs *jobs = mem_zalloc(sizeof(*jobs));
    jobs->states = map_new();
    jobs->members = map_new();
    return jobs;
}

struct job_state *jobs_state(struct jobs *jobs, const char *job_uid)
{
    return map_get(jobs->states, job_uid);
}

struct job_state *jobs_need(struct jobs *jobs, const char *job_uid)
{
    struct job_state *state = map_get(jobs->states, job_uid);
    if (state != NULL)
        return state;
    state = mem_zalloc(sizeof(*state));
    state->uid = mem_strdup(job_uid);
    state->slots = map_new();
    state->ordinals = map_new();
    for (size_t i = 0; i < MEMBER_LISTS; i++)
        TAILQ_INIT(&state->lists[i]);
    (void)map_put(jobs->states, job_uid, state);
    return state;
}

static bool slot_free(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    mem_free(value);
    return true;
}

static void state_free(struct job_state *state)
{
    heap_done(&state->waiting); /* before the slots, which its nodes are in */
    (void)map_each(state->slots, slot_free, NULL);
    map_free(state->slots);
    map_free(state->ordinals);
    indexes_done(&state->completed);
    indexes_done(&state->failed);
    indexes_done(&state->pending);
    for (size_t i = 0; i < state->created.len; i++)
        mem_free(state->created.items[i]);
    vec_done(&state->created);
    for (size_t i = 0; i < state->deleted.len; i++)
        mem_free(state->deleted.items[i]);
    vec_done(&state->deleted);
    mem_free(state->uid);
    mem_free(state);
}

void jobs_forget_if_empty(struct jobs *jobs, struct job_state *state)
{
    if (state->members > 0)
        return;
    (void)map_del(jobs->states, state->uid);
    state_free(state);
}

static bool member_free(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    struct member *member = value;
    mem_free(member->uid);
    mem_free(member->name);
    mem_free(member);
    return true;
}

static bool free_state(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    state_free(value);
    return true;
}

void jobs_free(struct jobs *jobs)
{
    (void)map_each(jobs->states, free_state, NULL);
    (void)map_each(jobs->members, member_free, NULL);
    map_free(jobs->states);
    map_free(jobs->members);
    mem_free(jobs);
}

/* ---- indexes and their slots ---- */

struct slot *state_slot(struct job_state *state, int64_t index)
{
    char key[24];
    (void)snprintf(key, sizeof(key), "%" PRId64, index);
    return map_get(state->slots, key);
}

static struct slot *slot_need(struct job_state *state, int64_t index)
{
    struct slot *slot = state_slot(state, index);
    if (slot != NULL)
        return slot;
    char key[24];
    (void)snprintf(key, sizeof(key), "%" PRId64, index);
    slot = mem_zalloc(sizeof(*slot));
    slot->index = index;
    slot->attempts = -1;
    heap_node_init(&slot->due);
    (void)map_put(state->slots, key, slot);
    return slot;
}

static bool is_free(const struct job_state *state, const struct slot *slot)
{
    return slot->index < state->completions && slot->count[MEMBER_ACTIVE] == 0 &&
           slot->count[MEMBER_SUCCEEDED] == 0 && !heap_contains(&slot->due) &&
           !(state->replaces_failed_only && slot->count[MEMBER_LEAVING] > 0) &&
           !indexes_has(&state->completed, slot->index) &&
           !indexes_has(&state->failed, slot->index);
}

static bool is_misplaced(const struct job_state *state, const struct slot *slot)
{
    if (slot->count[MEMBER_ACTIVE] == 0)
        return false;
    return slot->count[MEMBER_ACTIVE] > 1 || slot->count[MEMBER_SUCCEEDED] > 0 ||
           slot->index >= state->completions || indexes_has(&state->completed, slot->index) ||
           indexes_has(&state->failed, slot->index);
}

void state_settle(struct job_state *state, struct slot *slot)
{
    if (!state->is_pending_known)
        return;
    state->has_misplaced |= is_misplaced(state, slot);
    if (is_free(state, slot))
        (void)indexes_add(&state->pending, slot->index);
    else
        (void)indexes_remove(&state->pending, slot->index);
}

static bool settle_slot(void *arg, const char *key, void *value)
{
    (void)key;
    state_settle(arg, value);
    return true;
}

/* All over again: at the start, and when the Job wants something else. */
static void find_pending(struct job_state *state)
{
    indexes_done(&state->pending);
    if (state->completions > 0)
        indexes_add_range(&state->pending, 0, state->completions - 1);
    for (size_t i = 0; i < state->completed.runs.len; i++)
        indexes_remove_range(&state->pending, state->completed.runs.items[i].first,
                             state->completed.runs.items[i].last);
    for (size_t i = 0; i < state->failed.runs.len; i++)
        indexes_remove_range(&state->pending, state->failed.runs.items[i].first,
                             state->failed.runs.items[i].last);
    state->is_pending_known = true;
    (void)map_each(state->slots, settle_slot, state);
}

static void read_set(yyjson_val *status, const char *field, struct indexes *set)
{
    const char *text = json_str_at(status, field);
    if (indexes_parse(sv_of(text), (int64_t)INT32_MAX + 1, set, NULL) < 0)
        indexes_done(set);
}

void state_read_job(struct job_state *state, const struct obj *job)
{
    yyjson_val *spec = yyjson_obj_get(job->root, "spec");
    if (state->revision == job->revision)
        return;
    state->revision = job->revision;
    int64_t completions = json_int_at(spec, "completions", 0);
    bool failed_only = str_eq(json_str_at(spec, "podReplacementPolicy"), "Failed");
    if (completions != state->completions || failed_only != state->replaces_failed_only)
        state->is_pending_known = false;
    state->completions = completions;
    state->replaces_failed_only = failed_only;
    state->is_indexed = str_eq(json_str_at(spec, "completionMode"), "Indexed");
    state->counts_per_index = yyjson_is_int(yyjson_obj_get(spec, "backoffLimitPerIndex"));
    if (!state->is_indexed)
        return;
    yyjson_val *status = yyjson_obj_get(job->root, "status");
    read_set(status, "completedIndexes", &state->completed);
    /* An index that was given up in a write that failed is given up again: its pod is still
     * there. */
    scoped_indexes failed = {0};
    read_set(status, "failedIndexes", &failed);
    for (size_t i = 0; i < failed.runs.len; i++)
        indexes_add_range(&state->failed, failed.runs.items[i].first, failed.runs.items[i].last);
    if (completions < INT32_MAX) {
        indexes_remove_range(&state->completed, completions, INT32_MAX);
        indexes_remove_range(&state->failed, completions, INT32_MAX);
    }
    if (!state->is_pending_known)
        find_pending(state);
}

void state_fail_index(struct job_state *state, int64_t index)
{
    (void)indexes_add(&state->failed, index);
    struct slot *slot = state_slot(state, index);
    if (slot != NULL)
        state_settle(state, slot);
}

void state_hold(struct job_state *state, struct member *member, bool counts)
{
    struct slot *slot = state_slot(state, member->index);
    int64_t attempts = member->failures + member->ignored + 1;
    slot->held = member;
    slot->next_failures = member->failures + counts;
    slot->next_ignored = member->ignored + !counts;
    member_move(member, LIST_HELD);
    heap_remove(&state->waiting, &slot->due);
    heap_push(&state->waiting, &slot->due, member->ended + job_backoff(attempts));
    state_settle(state, slot);
}

void state_end_pauses(struct job_state *state, time_ms now)
{
    struct heap_node *node;
    while ((node = heap_peek(&state->waiting)) != NULL && node->key <= now) {
        (void)heap_pop(&state->waiting);
        state_settle(state, container_of(node, struct slot, due));
    }
}

/* ---- members ---- */

void member_move(struct member *member, enum member_list list)
{
    struct job_state *state = member->job;
    TAILQ_REMOVE(&state->lists[member->list], member, siblings);
    member->list = list;
    TAILQ_INSERT_TAIL(&state->lists[list], member, siblings);
}

/* The success of a pod that was not in the Job's care is none: its index has to run again. (One
 * that was counted is in `completed`.) */
static bool takes_slot(const struct member *member)
{
    return member->class != MEMBER_SUCCEEDED || member->is_tracked;
}

static void slot_leave(struct job_state *state, struct member *member)
{
    struct slot *slot = state_slot(state, member->index);
    slot->count[member->class] -= takes_slot(member);
    slot->members--;
    if (slot->held == member) {
        slot->held = NULL;
        heap_remove(&state->waiting, &slot->due);
    }
    state_settle(state, slot);
    if (slot->members > 0)
        return;
    char key[24];
    (void)snprintf(key, sizeof(key), "%" PRId64, slot->index);
    mem_free(map_del(state->slots, key));
}

static void slot_enter(struct job_state *state, struct member *member)
{
    struct slot *slot = slot_need(state, member->index);
    int64_t attempts = member->failures + member->ignored;
    slot->count[member->class] += takes_slot(member);
    slot->members++;
    if (attempts > slot->attempts)
        slot->attempts = attempts;
    struct member *held = slot->held;
    if (held != NULL && slot->attempts > held->failures + held->ignored) {
        slot->held = NULL;
        heap_remove(&state->waiting, &slot->due);
        member_move(held, LIST_ENDED);
    }
    state_settle(state, slot);
}

static void unlink_member(struct member *member)
{
    struct job_state *state = member->job;
    bool is_active = member->class == MEMBER_ACTIVE;
    TAILQ_REMOVE(&state->lists[member->list], member, siblings);
    state->count[member->class]--;
    state->members--;
    state->ready -= is_active && member->is_ready;
    state->untracked_active -= is_active && !member->is_tracked;
    state->restarts -= is_active ? member->restarts : 0;
    if (member->index >= 0)
        slot_leave(state, member);
}

static void link_member(struct member *member)
{
    static const enum member_list TRACKED[MEMBER_CLASSES] = {
        [MEMBER_ACTIVE] = LIST_ACTIVE,
        [MEMBER_LEAVING] = LIST_LEAVING,
        [MEMBER_SUCCEEDED] = LIST_ENDED,
        [MEMBER_FAILED] = LIST_ENDED,
    };
    struct job_state *state = member->job;
    bool is_active = member->class == MEMBER_ACTIVE;
    member->list = is_active || member->is_tracked ? TRACKED[member->class] : LIST_REST;
    TAILQ_INSERT_TAIL(&state->lists[member->list], member, siblings);
    state->count[member->class]++;
    state->members++;
    state->ready += is_active && member->is_ready;
    state->untracked_active += is_active && !member->is_tracked;
    state->restarts += is_active ? member->restarts : 0;
    if (member->index >= 0)
        slot_enter(state, member);
}

void member_write_off(struct member *member)
{
    if (member->is_written_off)
        return;
    member->is_written_off = true;
    if (member->class != MEMBER_SUCCEEDED)
        return;
    unlink_member(member);
    member->class = MEMBER_FAILED;
    link_member(member);
}

/* ---- from pods ---- */

const char *pod_job_uid(const struct obj *pod)
{
    yyjson_val *ref = obj_controller(pod);
    bool is_job = str_eq(json_str_at(ref, "kind"), "Job") &&
                  str_eq(json_str_at(ref, "apiVersion"), "batch/v1");
    return is_job ? json_str_at(ref, "uid") : NULL;
}

/* With a grace of zero, nobody runs the pod (any more): it was never placed, or its node has
 * confirmed the end. What keeps it is our finalizer. */
static enum member_class class_of(const struct obj *pod)
{
    const char *phase = json_str_at(pod->root, "status.phase");
    if (str_eq(phase, "Succeeded"))
        return MEMBER_SUCCEEDED;
    if (str_eq(phase, "Failed") || (pod->meta.deleted != 0 && pod->meta.deletion_grace_s == 0))
        return MEMBER_FAILED;
    return pod->meta.deleted != 0 ? MEMBER_LEAVING : MEMBER_ACTIVE;
}

static int64_t annotation(const struct obj *pod, const char *key, int64_t otherwise)
{
    const char *text = yyjson_get_str(yyjson_obj_get(pod->meta.annotations, key));
    if (text == NULL || *text < '0' || *text > '9')
        return otherwise;
    long long value = strtoll(text, NULL, 10);
    return value <= INT32_MAX ? value : otherwise;
}

static void read_containers(struct member *member, const struct obj *pod)
{
    static const char *const LISTS[] = {"status.initContainerStatuses", "status.containerStatuses"};
    member->restarts = 0;
    for (size_t k = 0; k < ARRAY_LEN(LISTS); k++) {
        size_t i, n;
        yyjson_val *container;
        yyjson_arr_foreach(json_at(pod->root, LISTS[k]), i, n, container)
        {
            time_ms at = cell_time(container, "state.terminated.finishedAt");
            member->ended = at > member->ended ? at : member->ended;
            member->restarts += json_int_at(container, "restartCount", 0);
        }
    }
}

static void read_pod(struct member *member, const struct obj *pod, time_ms now)
{
    enum member_class class = class_of(pod);
    if (class == MEMBER_SUCCEEDED && member->is_written_off)
        class = MEMBER_FAILED;
    bool is_over = class != MEMBER_ACTIVE;
    time_ms before = member->ended;
    member->is_sent_away = member->is_sent_away || class == MEMBER_LEAVING;
    member->class = class;
    member->is_tracked = obj_has_finalizer(pod, JOB_FINALIZER);
    member->is_ready = cell_condition_is(json_at(pod->root, "status.conditions"), "Ready", "True");
    member->index = annotation(pod, JOB_INDEX, -1);
    member->failures = annotation(pod, JOB_INDEX_FAILURES, 0);
    member->ignored = annotation(pod, JOB_INDEX_IGNORED, 0);
    member->ended = 0;
    read_containers(member, pod);
    if (!is_over)
        member->ended = 0;
    else if (member->ended == 0 && pod->meta.deleted != 0)
        member->ended = pod->meta.deleted - pod->meta.deletion_grace_s * 1000;
    else if (member->ended == 0)
        member->ended = before != 0 ? before : now;
}

void jobs_put_pod(struct jobs *jobs, const struct obj *pod, time_ms now)
{
    const char *job_uid = pod_job_uid(pod);
    struct member *member = map_get(jobs->members, pod->meta.uid);
    if (member != NULL && strcmp(member->job->uid, job_uid) != 0) {
        jobs_drop_pod(jobs, pod->meta.uid);
        member = NULL;
    }
    if (member == NULL) {
        member = mem_zalloc(sizeof(*member));
        member->uid = mem_strdup(pod->meta.uid);
        member->name = mem_strdup(pod->meta.name);
        member->job = jobs_need(jobs, job_uid);
        (void)map_put(jobs->members, pod->meta.uid, member);
    } else {
        unlink_member(member);
    }
    read_pod(member, pod, now);
    link_member(member);
}

void jobs_drop_pod(struct jobs *jobs, const char *uid)
{
    struct member *member = map_del(jobs->members, uid);
    if (member == NULL)
        return;
    struct job_state *state = member->job;
    unlink_member(member);
    intptr_t ordinal = (intptr_t)map_del(state->ordinals, member->name);
    if (ordinal > 0 && ordinal - 1 < state->next_ordinal)
        state->next_ordinal = ordinal - 1;
    (void)member_free(NULL, NULL, member);
}
