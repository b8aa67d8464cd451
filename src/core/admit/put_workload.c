// SPDX-License-Identifier: Apache-2.0
#include "core/admit/admit_internal.h"
#include <assert.h>
#include <errno.h>

static int check(const struct admit_workload *from, struct err *err)
{
    if (from->n_pod_sets == 0)
        return err_set(err, -EINVAL, "workload %s has no pod sets", from->key);
    for (size_t i = 0; i < from->n_pod_sets; i++) {
        const struct admit_pod_set *set = &from->pod_sets[i];
        if (set->count < 0 || set->min_count < 0)
            return err_set(err, -EINVAL, "workload %s: pod set %s has a count below zero",
                           from->key, set->name);
        for (size_t j = 0; j < set->n_needs; j++) {
            if (set->needs[j].amount < 0)
                return err_set(err, -EINVAL, "workload %s: pod set %s asks for less than no %s",
                               from->key, set->name, set->needs[j].resource);
        }
    }
    for (size_t i = 0; i < from->n_assigned; i++) {
        for (size_t j = 0; j < from->assigned[i].n_picks; j++) {
            if (from->assigned[i].picks[j].amount < 0)
                return err_set(err, -EINVAL, "workload %s: assigned less than no %s", from->key,
                               from->assigned[i].picks[j].resource);
        }
    }
    return 0;
}

/* It was ready in this admission, and may be recovering: evictions before that do not count. The
 * host need not write that down. */
static bool was_ready(const struct admit_workload *from)
{
    return from->evicted == EVICTED_NOT &&
           (from->ready == READY_YES || from->ready == READY_WAITS_RECOVERY);
}

static struct facts facts_of(struct admit *admit, const struct admit_workload *from)
{
    struct facts facts = {
        .is_active = from->is_active,
        .is_finished = from->is_finished,
        .is_deleted = from->is_deleted,
        .has_quota = from->has_quota && from->queue,
        .evicted = from->evicted,
        .is_held = from->is_held,
        .held_by = from->held_by,
        .ready = from->ready,
        .evicted_at = from->evicted_at,
        .requeue_at = from->requeue_at,
        .first_evicted_at = was_ready(from) ? 0 : from->first_evicted_at,
        .ready_since = from->ready_since,
        .requeue_count = from->requeue_count,
        .priority = from->priority,
        .missing = from->missing,
        .created = from->created,
        .max_run_ms = from->max_run_ms,
        .past_run_ms = from->past_run_ms,
    };
    if (facts.has_quota) {
        facts.queue = queue_of(admit, from->queue);
        facts.reserved_at = from->reserved_at;
        facts.is_admitted = from->is_admitted;
        facts.admitted_at = from->admitted_at;
    }
    return facts;
}

/* ---- what it was given ---- */

static bool is_same_grant(const struct grant *grant, const struct admit_assigned *from)
{
    if (grant->count != from->count || grant->takes.len != from->n_picks)
        return false;
    for (size_t i = 0; i < from->n_picks; i++) {
        const struct take *take = &grant->takes.items[i];
        const struct admit_pick *pick = &from->picks[i];
        if (take->amount != pick->amount || !str_eq(take->cell->resource, pick->resource) ||
            !str_eq(take->cell->flavor->name, pick->flavor))
            return false;
    }
    return true;
}

static bool has_same_grants(const struct wl *wl, const struct admit_workload *from)
{
    if (wl->n_grants != from->n_assigned)
        return false;
    for (size_t i = 0; i < from->n_assigned; i++) {
        if (!is_same_grant(&wl->grants[i], &from->assigned[i]))
            return false;
    }
    return true;
}

static void read_grants(struct admit *admit, struct wl *wl, const struct admit_workload *from)
{
    struct queue *queue = queue_of(admit, from->queue);
    wl_drop_grants(wl);
    wl->n_grants = from->n_assigned;
    wl->grants = mem_zalloc((from->n_assigned + 1) * sizeof(*wl->grants));
    for (size_t i = 0; i < from->n_assigned; i++) {
        wl->grants[i].count = from->assigned[i].count;
        for (size_t j = 0; j < from->assigned[i].n_picks; j++) {
            const struct admit_pick *pick = &from->assigned[i].picks[j];
            struct flavor *flavor = flavor_of(admit, pick->flavor);
            const char *resource = intern(admit, pick->resource);
            /* Its queue may have no quota for it any more; what is used must count all the same. */
            if (!cell_find(&queue->node, flavor, resource))
                tree_unpark(admit);
            vec_push(&wl->grants[i].takes,
                     ((struct take){cell_make(&queue->node, flavor, resource), pick->amount}));
        }
    }
}

static void read_failed(struct admit *admit, struct wl *wl, const struct admit_workload *from)
{
    if (from->n_failed == 0)
        return; /* a host that keeps nothing: what is remembered here holds */
    vec_clear(&wl->failed);
    for (size_t i = 0; i < from->n_failed; i++)
        vec_push(&wl->failed, ((struct failed){flavor_of(admit, from->failed[i].flavor),
                                               from->failed[i].count, from->failed[i].until}));
}

/* ---- in and out ---- */

static void local_enter(struct wl *wl, struct local *local)
{
    wl->local = local;
    vec_push(&local->wls, wl);
    wl->local_slot = local->wls.len;
}

static void local_exit(struct wl *wl)
{
    size_t at = wl->local_slot - 1;
    vec_remove_swap(&wl->local->wls, at);
    if (at < wl->local->wls.len)
        wl->local->wls.items[at]->local_slot = at + 1;
}

static struct wl *wl_make(struct admit *admit, const struct admit_workload *from)
{
    struct wl *wl = mem_zalloc(sizeof(*wl));
    wl->key = mem_strdup(from->key);
    wl->uid = mem_strdup(from->uid ? from->uid : "");
    heap_node_init(&wl->due);
    local_enter(wl, local_of(admit, from->local));
    map_put(admit->wls, wl->key, wl);
    return wl;
}

void wl_free(struct admit *admit, struct wl *wl)
{
    spec_unref(admit, wl->spec);
    wl_drop_grants(wl);
    vec_done(&wl->failed);
    vec_done(&wl->failed_before);
    vec_done(&wl->answers);
    vec_done(&wl->uses);
    mem_free(wl->claim_counts);
    mem_free(wl->claim_picks);
    mem_free(wl->key);
    mem_free(wl->uid);
    mem_free(wl);
}

/* Takes it from its place when what the place depends on is otherwise now. */
static void meet(struct admit *admit, struct wl *wl, const struct admit_workload *from)
{
    struct spec *spec = spec_of(admit, from);
    struct local *local = local_of(admit, from->local);
    bool is_same = spec == wl->spec && local == wl->local && wl->facts.priority == from->priority &&
                   wl->facts.created == from->created &&
                   str_eq(wl->uid, from->uid ? from->uid : "");
    bool is_same_grant = !from->has_quota || !from->queue || has_same_grants(wl, from);
    if (wl->spec && (!is_same || !is_same_grant))
        wl_unplace(admit, wl);
    if (!str_eq(wl->uid, from->uid ? from->uid : "")) {
        mem_free(wl->uid); /* another workload of the same name */
        wl->uid = mem_strdup(from->uid ? from->uid : "");
        vec_clear(&wl->failed);
    }
    if (local != wl->local) {
        local_exit(wl);
        local_enter(wl, local);
    }
    spec_unref(admit, wl->spec);
    wl->spec = spec;
    if (!is_same_grant)
        read_grants(admit, wl, from);
}

int admit_put_workload(struct admit *admit, const struct admit_workload *from, time_ms now,
                       struct err *err)
{
    int r = check(from, err);
    if (r < 0)
        return r;
    struct wl *wl = map_get(admit->wls, from->key);
    if (!wl)
        wl = wl_make(admit, from);
    meet(admit, wl, from);
    time_ms first_evicted_at = wl->facts.first_evicted_at;
    bool was_held = wl->said == STATE_HELD;
    wl->facts = facts_of(admit, from);
    if (wl->facts.first_evicted_at == 0 && wl->facts.requeue_count > 0 && !was_ready(from))
        wl->facts.first_evicted_at = first_evicted_at;
    read_failed(admit, wl, from);
    consent_answers(admit, wl, from);
    wl->put = wl->facts;
    wl_settle(admit, wl, now);
    if (was_held && wl->state != STATE_HELD)
        wl->said = STATE_UNKNOWN;
    return 0;
}

static void forget(wl_vec *list, const struct wl *wl)
{
    for (size_t i = 0; i < list->len; i++) {
        if (list->items[i] == wl) {
            vec_remove_swap(list, i);
            return;
        }
    }
}

void admit_remove_workload(struct admit *admit, const char *key, time_ms now)
{
    struct wl *wl = map_get(admit->wls, key);
    (void)now;
    if (!wl)
        return;
    wl_unplace(admit, wl);
    if (wl->is_told)
        forget(&admit->told, wl);
    local_exit(wl);
    map_del(admit->wls, key);
    wl_free(admit, wl);
    admit->is_dirty = true;
}

void admit_undo(struct admit *admit, const char *key, time_ms now)
{
    struct wl *wl = map_get(admit->wls, key);
    if (!wl)
        return;
    wl->facts = wl->put;
    wl->said = STATE_UNKNOWN;
    failed_vec failed = wl->failed;
    wl->failed = wl->failed_before;
    wl->failed_before = failed;
    wl_settle(admit, wl, now);
    admit->is_claims_dirty = admit->are_all_claims_dirty = true;
}
