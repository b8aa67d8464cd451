// SPDX-License-Identifier: Apache-2.0
/* StatefulSets: pods with numbers. The key is the set's UID. What is decided in a look:
 *   1. a pod that has ended is removed; its successor has the same name;
 *   2. OrderedReady makes the lowest missing pod once all below it are well, Parallel all at once;
 *   3. pods beyond the wanted number go, highest first; OrderedReady one at a time and only while
 *      all that stay are well;
 *   4. an update replaces pods of an older template, highest first, as many as may be away. One
 *      that is not well anyway goes at once: a template that never gets ready must not stand in
 *      the way of the one that repairs it. */
#include "base/mem.h"
#include "control/controllers.h"
#include "control/statefulset_internal.h"
#include <stdlib.h>

/* ---- from changes to keys ---- */

/* The pod may have stood in the way of a set's own pod of that name: somebody else's, or one of an
 * older set of the same name. */
static void add_set_by_name(struct control *control, const struct obj *pod)
{
    const char *dash = strrchr(pod->meta.name, '-');
    if (dash == NULL)
        return;
    scoped_free char *name = mem_strndup(pod->meta.name, (size_t)(dash - pod->meta.name));
    const struct obj *set =
        cache_get(control_world(control)->cache, &KIND_STATEFULSET, obj_namespace(pod), name);
    if (set != NULL)
        control_add(control, set->meta.uid);
}

static void forget_if_gone(struct control *control, const char *uid)
{
    struct sets *sets = control_state(control);
    struct set_state *state = stsets_state(sets, uid);
    if (state != NULL && cache_by_uid(control_world(control)->cache, uid) == NULL)
        stsets_forget_if_empty(sets, state);
}

static void map_pod(struct control *control, const struct change *change)
{
    struct sets *sets = control_state(control);
    const struct obj *pod = change->obj;
    const char *uid = set_owner_uid(pod);
    const struct set_member *before = map_get(sets->members, pod->meta.uid);
    scoped_free char *old = before != NULL ? mem_strdup(before->set->uid) : NULL;
    if (change->type == CHANGE_DELETED || uid == NULL)
        stsets_drop_pod(sets, pod->meta.uid);
    else
        stsets_put_pod(sets, pod, control_now(control));
    if (uid != NULL)
        control_add(control, uid);
    if (change->type == CHANGE_DELETED)
        add_set_by_name(control, pod);
    if (old != NULL) {
        control_add(control, old);
        forget_if_gone(control, old);
    }
}

static void map_revision(struct control *control, const struct change *change)
{
    struct sets *sets = control_state(control);
    const char *uid = set_owner_uid(change->obj);
    if (uid == NULL)
        return;
    if (change->type == CHANGE_DELETED)
        revision_drop(stsets_need(sets, uid), change->obj->meta.name);
    else
        revision_put(stsets_need(sets, uid), change->obj);
    control_add(control, uid);
    forget_if_gone(control, uid);
}

static void set_map(struct control *control, const struct change *change)
{
    const struct kind *kind = change->obj->kind;
    if (kind == &KIND_POD)
        map_pod(control, change);
    else if (kind == &KIND_REVISION)
        map_revision(control, change);
    else if (kind == &KIND_STATEFULSET && change->type != CHANGE_DELETED)
        control_add(control, change->obj->meta.uid);
    else if (kind == &KIND_STATEFULSET)
        forget_if_gone(control, change->obj->meta.uid);
}

/* ---- deciding ---- */

static int64_t last_of(const struct set_look *look)
{
    return look->start + look->replicas - 1;
}

/* The pause before the next removal; the first one is at once. */
static bool is_paused(struct set_look *look)
{
    struct set_state *state = look->state;
    if (state->pause_ms == 0)
        state->pause_until = 0;
    if (look->now < state->pause_until) {
        control_add_at(look->control, state->uid, state->pause_until);
        return true;
    }
    state->pause_ms = state->pause_ms == 0 ? SET_PAUSE_MIN_MS : 2 * state->pause_ms;
    if (state->pause_ms > SET_PAUSE_MAX_MS)
        state->pause_ms = SET_PAUSE_MAX_MS;
    state->pause_until = look->now + state->pause_ms;
    return false;
}

static void remove_ended(struct set_look *look)
{
    int64_t ordinal = indexes_next(&look->state->ended, 0);
    if (ordinal < 0 || is_paused(look))
        return;
    for (size_t n = 0; ordinal >= 0 && n < SET_BATCH; n++) {
        look_delete_pod(look, ordinal);
        ordinal = indexes_next(&look->state->ended, ordinal + 1);
    }
}

static void create_all(struct set_look *look)
{
    int64_t ordinal = indexes_missing(&look->state->all, look->start);
    for (size_t n = 0; ordinal <= last_of(look) && n < SET_BATCH; n++) {
        look_create_pod(look, ordinal);
        ordinal = indexes_missing(&look->state->all, ordinal + 1);
    }
}

/* True: all pods that are wanted are there and well. */
static bool create_in_order(struct set_look *look)
{
    int64_t last = last_of(look);
    int64_t missing = indexes_missing(&look->state->all, look->start);
    int64_t unwell = indexes_next(&look->state->unwell, look->start);
    bool is_all = missing > last, is_well = unwell < 0 || unwell > last;
    if (!is_all && (is_well || missing < unwell))
        look_create_pod(look, missing);
    return is_all && is_well;
}

/* The highest that is not wanted and at most `upto`; -1: none. */
static int64_t condemned(const struct set_look *look, int64_t upto)
{
    int64_t ordinal = indexes_last(&look->state->all, upto);
    if (ordinal >= look->start && ordinal <= last_of(look))
        ordinal = indexes_last(&look->state->all, look->start - 1);
    return ordinal;
}

static void remove_all_condemned(struct set_look *look)
{
    int64_t ordinal = condemned(look, INT64_MAX);
    for (size_t n = 0; ordinal >= 0 && n < SET_BATCH; n++) {
        look_delete_pod(look, ordinal);
        ordinal = condemned(look, ordinal - 1);
    }
}

/* True: none is left. */
static bool remove_in_order(struct set_look *look)
{
    int64_t ordinal = condemned(look, INT64_MAX);
    if (ordinal >= 0)
        look_delete_pod(look, ordinal);
    return ordinal < 0;
}

/* ---- updating ---- */

static void replace_unwell(struct set_look *look)
{
    const struct set_state *state = look->state;
    int64_t ordinal = indexes_next(&state->outdated, look->start + look->partition);
    for (size_t n = 0; ordinal >= 0 && ordinal <= last_of(look) && n < SET_BATCH;) {
        if (indexes_has(&state->unwell, ordinal)) {
            look_delete_pod(look, ordinal);
            n++;
        }
        ordinal = indexes_next(&state->outdated, ordinal + 1);
    }
}

static int64_t away(const struct set_look *look)
{
    scoped_indexes wanted = {0};
    if (look->replicas > 0)
        indexes_add_range(&wanted, look->start, last_of(look));
    return look->replicas - indexes_common(&wanted, &look->state->all) +
           indexes_common(&wanted, &look->state->unwell);
}

static void replace_next(struct set_look *look)
{
    int64_t budget = look->max_unavailable - away(look);
    int64_t lowest = look->start + look->partition;
    int64_t ordinal = indexes_last(&look->state->outdated, last_of(look));
    for (; budget > 0 && ordinal >= lowest; budget--) {
        look_delete_pod(look, ordinal);
        ordinal = indexes_last(&look->state->outdated, ordinal - 1);
    }
}

static void work(struct set_look *look)
{
    bool is_settled = true;
    remove_ended(look);
    if (look->is_rolling)
        replace_unwell(look);
    if (look->is_ordered) {
        is_settled = create_in_order(look) && remove_in_order(look);
    } else {
        create_all(look);
        remove_all_condemned(look);
    }
    if (look->is_rolling && is_settled && look->state->outdated.count > 0)
        replace_next(look);
}

/* ---- a look ---- */

static int64_t max_unavailable(yyjson_val *spec)
{
    yyjson_val *most = json_at(spec, "updateStrategy.rollingUpdate.maxUnavailable");
    int64_t number = yyjson_is_int(most) ? yyjson_get_sint(most) : 1;
    if (yyjson_is_str(most))
        number = json_int_at(spec, "replicas", 1) * strtoll(yyjson_get_str(most), NULL, 10) / 100;
    return number > 1 ? number : 1;
}

static void look_at(struct set_look *look)
{
    struct set_state *state = look->state;
    set_read(state, look->set, look->now);
    set_end_waits(state, look->now);
    look->current = look_current(look);
    look_tell_changes(look);
    if (look->set->meta.deleted != 0)
        return; /* what becomes of its pods is the collector's business */
    if (look_need_revision(look)) {
        work(look);
        look_prune_revisions(look);
    }
    look_write_set_status(look);
    const struct heap_node *next = heap_peek(&state->waiting);
    if (next != NULL)
        control_add_at(look->control, state->uid, next->key);
}

static void set_reconcile(struct control *control, const char *key)
{
    struct sets *sets = control_state(control);
    struct obj *set = cache_by_uid(control_world(control)->cache, key);
    if (set == NULL || set->kind != &KIND_STATEFULSET)
        return;
    yyjson_val *spec = yyjson_obj_get(set->root, "spec");
    struct set_look look = {
        .control = control,
        .state = stsets_need(sets, key),
        .set = set,
        .spec = spec,
        .now = control_now(control),
        .start = json_int_at(spec, "ordinals.start", 0),
        .replicas = json_int_at(spec, "replicas", 1),
        .partition = json_int_at(spec, "updateStrategy.rollingUpdate.partition", 0),
        .max_unavailable = max_unavailable(spec),
        .is_ordered = !str_eq(json_str_at(spec, "podManagementPolicy"), "Parallel"),
        .is_rolling = !str_eq(json_str_at(spec, "updateStrategy.type"), "OnDelete"),
    };
    look_at(&look);
}

static void set_begin(struct control *control)
{
    control_set_state(control, stsets_new());
}

static void set_end(struct control *control)
{
    stsets_free(control_state(control));
    control_set_state(control, NULL);
}

const struct controller CONTROLLER_STATEFULSET = {
    .name = "statefulset-controller",
    .map = set_map,
    .reconcile = set_reconcile,
    .begin = set_begin,
    .end = set_end,
};
