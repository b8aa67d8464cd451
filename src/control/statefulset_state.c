// SPDX-License-Identifier: Apache-2.0
/* Invariants: sets of ordinals and counts are what a recount of the members says. Each change of a
 * pod costs a few look-ups, however many pods there are; only a new template, or another
 * minReadySeconds, walks over all of them. */
#include "base/mem.h"
#include "control/statefulset_internal.h"
#include "model/cell.h"
#include <stdlib.h>

struct sets *stsets_new(void)
{
    struct sets *sets = mem_zalloc(sizeof(*sets));
    sets->states = map_new();
    sets->members = map_new();
    return sets;
}

struct set_state *stsets_state(struct sets *sets, const char *uid)
{
    return map_get(sets->states, uid);
}

struct set_state *stsets_need(struct sets *sets, const char *uid)
{
    struct set_state *state = map_get(sets->states, uid);
    if (state != NULL)
        return state;
    state = mem_zalloc(sizeof(*state));
    state->uid = mem_strdup(uid);
    TAILQ_INIT(&state->members);
    (void)map_put(sets->states, uid, state);
    return state;
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mem_free(names[i]);
}

static void state_free(struct set_state *state)
{
    heap_done(&state->waiting);
    indexes_done(&state->all);
    indexes_done(&state->leaving);
    indexes_done(&state->ended);
    indexes_done(&state->unwell);
    indexes_done(&state->outdated);
    for (size_t i = 0; i < state->uses.len; i++)
        mem_free(state->uses.items[i].revision);
    vec_done(&state->uses);
    for (size_t i = 0; i < state->revisions.len; i++)
        mem_free(state->revisions.items[i].name);
    vec_done(&state->revisions);
    free_names(state->created.items, state->created.len);
    vec_done(&state->created);
    free_names(state->deleted.items, state->deleted.len);
    vec_done(&state->deleted);
    mem_free(state->wanted);
    mem_free(state->uid);
    mem_free(state);
}

void stsets_forget_if_empty(struct sets *sets, struct set_state *state)
{
    if (!TAILQ_EMPTY(&state->members) || state->revisions.len > 0)
        return;
    (void)map_del(sets->states, state->uid);
    state_free(state);
}

static void member_free(struct set_member *member)
{
    mem_free(member->uid);
    mem_free(member->revision);
    mem_free(member);
}

static bool free_state(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    state_free(value);
    return true;
}

static bool free_member(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    member_free(value);
    return true;
}

void stsets_free(struct sets *sets)
{
    (void)map_each(sets->states, free_state, NULL);
    (void)map_each(sets->members, free_member, NULL);
    map_free(sets->states);
    map_free(sets->members);
    mem_free(sets);
}

int64_t indexes_last(const struct indexes *set, int64_t upto)
{
    for (size_t i = set->runs.len; i-- > 0;) {
        const struct interval *run = &set->runs.items[i];
        if (run->first <= upto)
            return run->last < upto ? run->last : upto;
    }
    return -1;
}

/* ---- counting ---- */

static void use_revision(struct set_state *state, const char *revision, int64_t more)
{
    for (size_t i = 0; i < state->uses.len; i++) {
        struct set_use *use = &state->uses.items[i];
        if (strcmp(use->revision, revision) != 0)
            continue;
        use->pods += more;
        if (use->pods == 0) {
            mem_free(use->revision);
            vec_remove_swap(&state->uses, i);
        }
        return;
    }
    struct set_use use = {mem_strdup(revision), more};
    vec_push(&state->uses, use);
}

int64_t set_uses(const struct set_state *state, const char *revision)
{
    for (size_t i = 0; i < state->uses.len; i++) {
        if (str_eq(state->uses.items[i].revision, revision))
            return state->uses.items[i].pods;
    }
    return 0;
}

static bool is_well(const struct set_member *member)
{
    return member->is_available && !member->is_leaving && !member->is_ended;
}

static void link_member(struct set_member *member, time_ms now)
{
    struct set_state *state = member->set;
    time_ms due = member->ready_since + state->min_ready_ms;
    member->is_available = member->is_ready && now >= due;
    if (member->is_ready && !member->is_available)
        heap_push(&state->waiting, &member->due, due);
    TAILQ_INSERT_TAIL(&state->members, member, siblings);
    (void)indexes_add(&state->all, member->ordinal);
    if (member->is_leaving)
        (void)indexes_add(&state->leaving, member->ordinal);
    else
        use_revision(state, member->revision, 1);
    if (member->is_ended && !member->is_leaving)
        (void)indexes_add(&state->ended, member->ordinal);
    if (!is_well(member))
        (void)indexes_add(&state->unwell, member->ordinal);
    if (!str_eq(member->revision, state->wanted) && !member->is_leaving)
        (void)indexes_add(&state->outdated, member->ordinal);
    state->ready += member->is_ready;
    if (member->is_available)
        state->pause_ms = 0;
    state->available += member->is_available;
}

static void unlink_member(struct set_member *member)
{
    struct set_state *state = member->set;
    heap_remove(&state->waiting, &member->due);
    TAILQ_REMOVE(&state->members, member, siblings);
    (void)indexes_remove(&state->all, member->ordinal);
    (void)indexes_remove(&state->leaving, member->ordinal);
    (void)indexes_remove(&state->ended, member->ordinal);
    (void)indexes_remove(&state->unwell, member->ordinal);
    (void)indexes_remove(&state->outdated, member->ordinal);
    if (!member->is_leaving)
        use_revision(state, member->revision, -1);
    state->ready -= member->is_ready;
    state->available -= member->is_available;
}

static void relink_all(struct set_state *state, time_ms now)
{
    size_t count = (size_t)state->all.count;
    while (count-- > 0) {
        struct set_member *member = TAILQ_FIRST(&state->members);
        unlink_member(member);
        link_member(member, now);
    }
}

void set_end_waits(struct set_state *state, time_ms now)
{
    struct heap_node *node;
    while ((node = heap_peek(&state->waiting)) != NULL && node->key <= now) {
        struct set_member *member = container_of(node, struct set_member, due);
        unlink_member(member);
        link_member(member, now);
    }
}

void set_read(struct set_state *state, const struct obj *set, time_ms now)
{
    if (state->revision_read == set->revision)
        return;
    state->revision_read = set->revision;
    int64_t min_ready = json_int_at(set->root, "spec.minReadySeconds", 0) * 1000;
    if (state->wanted != NULL && state->generation == set->meta.generation)
        return;
    state->generation = set->meta.generation;
    char *wanted = revision_name(set);
    bool is_new = !str_eq(wanted, state->wanted) || min_ready != state->min_ready_ms;
    mem_free(state->wanted);
    state->wanted = wanted;
    state->min_ready_ms = min_ready;
    if (is_new)
        relink_all(state, now);
}

/* ---- from pods ---- */

const char *set_owner_uid(const struct obj *obj)
{
    yyjson_val *ref = obj_controller(obj);
    bool is_set = str_eq(json_str_at(ref, "kind"), "StatefulSet") &&
                  str_eq(json_str_at(ref, "apiVersion"), "apps/v1");
    return is_set ? json_str_at(ref, "uid") : NULL;
}

/* The number at the end of its name; -1: it is none of those that the set makes. */
static int64_t ordinal_of(const struct obj *pod)
{
    const char *dash = strrchr(pod->meta.name, '-');
    const char *digits = dash != NULL ? dash + 1 : "";
    size_t len = strspn(digits, "0123456789");
    if (len == 0 || len > 10 || digits[len] != '\0' || (digits[0] == '0' && len > 1))
        return -1;
    return strtoll(digits, NULL, 10);
}

static void read_pod(struct set_member *member, const struct obj *pod)
{
    const char *phase = json_str_at(pod->root, "status.phase");
    const char *revision = yyjson_get_str(yyjson_obj_get(pod->meta.labels, SET_REVISION_LABEL));
    yyjson_val *ready = cell_condition(pod->root, "Ready");
    mem_free(member->revision);
    member->revision = mem_strdup(revision != NULL ? revision : "");
    member->is_leaving = pod->meta.deleted != 0;
    member->is_ended = str_eq(phase, "Failed") || str_eq(phase, "Succeeded");
    member->is_ready = str_eq(phase, "Running") && str_eq(json_str_at(ready, "status"), "True");
    member->ready_since = cell_time(ready, "lastTransitionTime");
}

void stsets_put_pod(struct sets *sets, const struct obj *pod, time_ms now)
{
    const char *set_uid = set_owner_uid(pod);
    struct set_member *member = map_get(sets->members, pod->meta.uid);
    int64_t ordinal = ordinal_of(pod);
    if (ordinal < 0)
        return;
    if (member != NULL && strcmp(member->set->uid, set_uid) != 0) {
        stsets_drop_pod(sets, pod->meta.uid);
        member = NULL;
    }
    if (member != NULL) {
        unlink_member(member);
    } else {
        member = mem_zalloc(sizeof(*member));
        member->uid = mem_strdup(pod->meta.uid);
        member->ordinal = ordinal;
        member->set = stsets_need(sets, set_uid);
        heap_node_init(&member->due);
        (void)map_put(sets->members, pod->meta.uid, member);
    }
    read_pod(member, pod);
    link_member(member, now);
}

void stsets_drop_pod(struct sets *sets, const char *uid)
{
    struct set_member *member = map_del(sets->members, uid);
    if (member == NULL)
        return;
    unlink_member(member);
    member_free(member);
}
