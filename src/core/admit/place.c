// SPDX-License-Identifier: Apache-2.0
/* A workload's place follows from its facts alone:
 *   holder   has quota, whatever else is said of it; what it uses counts in its queue's cells
 *   shape    waits to be tried
 *   claim    preempted others and waits for them to go; what it will use counts already
 *   nowhere  finished, inactive, held, or in its pause
 * wl_settle() moves it from where it was, and does nothing when it is there already: a put that
 * confirms what was decided costs next to nothing and wakes nobody. */
#include "core/admit/admit_internal.h"
#include <assert.h>

static time_ms stamp_of(const struct admit *admit, const struct facts *facts)
{
    bool by_eviction =
        (facts->evicted == EVICTED_READY_TIMEOUT && !admit->settings.orders_by_creation) ||
        facts->evicted == EVICTED_CHECK;
    return by_eviction ? facts->evicted_at : facts->created;
}

bool wl_is_before(const void *a, const void *b)
{
    const struct wl *x = a, *y = b;
    if (x->facts.priority != y->facts.priority)
        return x->facts.priority > y->facts.priority;
    if (x->stamp != y->stamp)
        return x->stamp < y->stamp;
    if (x->facts.created != y->facts.created)
        return x->facts.created < y->facts.created;
    int order = strcmp(x->uid, y->uid);
    return order != 0 ? order < 0 : strcmp(x->key, y->key) < 0;
}

static enum admit_state classify(const struct wl *wl, time_ms now)
{
    const struct facts *facts = &wl->facts;
    if (facts->is_finished)
        return STATE_FINISHED;
    if (facts->has_quota && facts->evicted != EVICTED_NOT)
        return STATE_EVICTING;
    if (facts->has_quota)
        return facts->is_admitted ? STATE_ADMITTED : STATE_RESERVED;
    if (facts->is_deleted)
        return STATE_HELD;
    if (!facts->is_active)
        return STATE_INACTIVE;
    const struct local *local = wl->local;
    bool is_open = local->is_known && !local->is_refused && local->stop == STOP_NONE &&
                   !local->queue->inactive;
    if (!is_open || facts->missing > 0)
        return STATE_HELD;
    if (facts->requeue_at > now || facts->is_held)
        return STATE_BACKOFF;
    return STATE_QUEUED;
}

/* ---- what is used ---- */

void tree_stir(struct admit *admit, struct tree *tree, bool is_less)
{
    if (!tree->is_less && !tree->is_more)
        vec_push(&admit->stirred, tree);
    tree->is_more = tree->is_claims_dirty = admit->is_claims_dirty = true;
    if (is_less)
        tree->is_less = true;
    admit->is_dirty = true;
}

static void tree_freed(struct admit *admit, struct cell *cell)
{
    struct cell *root = cell_root(cell);
    if (root->is_freed)
        return;
    root->is_freed = true;
    vec_push(&admit->freed, root);
}

static void take_all(struct admit *admit, struct queue *queue, const take_vec *uses, bool is_on)
{
    for (size_t i = 0; i < uses->len; i++) {
        if (is_on) {
            quota_take(uses->items[i].cell, uses->items[i].amount);
        } else {
            quota_give(uses->items[i].cell, uses->items[i].amount);
            tree_freed(admit, uses->items[i].cell);
        }
    }
    tree_stir(admit, queue->tree, !is_on);
    reserve_refresh(admit, queue);
}

static void add_use(take_vec *uses, struct cell *cell, amount more)
{
    for (size_t i = 0; i < uses->len; i++) {
        if (uses->items[i].cell == cell) {
            uses->items[i].amount += more;
            return;
        }
    }
    vec_push(uses, ((struct take){cell, more}));
}

static void sum_grants(struct wl *wl)
{
    vec_clear(&wl->uses);
    for (size_t i = 0; i < wl->n_grants; i++) {
        const take_vec *takes = &wl->grants[i].takes;
        for (size_t j = 0; j < takes->len; j++) {
            if (takes->items[j].cell)
                add_use(&wl->uses, takes->items[j].cell, takes->items[j].amount);
        }
    }
}

void wl_drop_grants(struct wl *wl)
{
    for (size_t i = 0; i < wl->n_grants; i++)
        vec_done(&wl->grants[i].takes);
    mem_free(wl->grants);
    wl->grants = NULL;
    wl->n_grants = 0;
}

static struct local_use *local_use(struct local *local, struct cell *cell)
{
    for (size_t i = 0; i < local->use.len; i++) {
        if (local->use.items[i].cell == cell)
            return &local->use.items[i];
    }
    vec_push(&local->use, ((struct local_use){.cell = cell}));
    return vec_last(&local->use);
}

static void count_use(struct wl *wl, bool is_used, int sign)
{
    for (size_t i = 0; i < wl->uses.len; i++) {
        struct cell *cell = wl->uses.items[i].cell;
        struct local_use *use = local_use(wl->local, cell);
        *(is_used ? &use->used : &use->reserved) += sign * wl->uses.items[i].amount;
        *(is_used ? &cell->admitted : &cell->reserved) += sign * wl->uses.items[i].amount;
    }
}

static void count_admitted(struct admit *admit, struct wl *wl, bool is_on)
{
    if (wl->is_counted_admitted == is_on)
        return;
    wl->is_counted_admitted = is_on;
    struct queue *queue = wl->holds_in;
    queue->admitted += is_on ? 1 : (size_t)-1;
    wl->local->admitted += is_on ? 1 : (size_t)-1;
    count_use(wl, true, is_on ? 1 : -1);
    queue_changed(admit, queue);
    local_changed(admit, wl->local);
}

static void hold(struct admit *admit, struct wl *wl)
{
    struct queue *queue = wl->holds_in = wl->facts.queue;
    sum_grants(wl);
    vec_push(&queue->holders, wl);
    wl->holder_slot = queue->holders.len;
    pq_push(&queue->lowest, wl);
    queue->reserving++;
    wl->local->reserving++;
    count_use(wl, false, 1);
    take_all(admit, queue, &wl->uses, true);
    queue_changed(admit, queue);
    local_changed(admit, wl->local);
}

static void let_go(struct admit *admit, struct wl *wl)
{
    struct queue *queue = wl->holds_in;
    scope_uncount(admit, wl);
    count_admitted(admit, wl, false);
    size_t at = wl->holder_slot - 1;
    vec_remove_swap(&queue->holders, at);
    if (at < queue->holders.len)
        queue->holders.items[at]->holder_slot = at + 1;
    wl->holder_slot = 0;
    pq_remove(&queue->lowest, wl);
    queue->reserving--;
    wl->local->reserving--;
    count_use(wl, false, -1);
    wl->holds_in = NULL;
    take_all(admit, queue, &wl->uses, false);
    vec_clear(&wl->uses);
    queue_changed(admit, queue);
    local_changed(admit, wl->local);
}

/* ---- claims ---- */

void claim_take(struct admit *admit, struct wl *wl, const struct attempt *attempt)
{
    assert(!wl->is_claiming && !wl->shape && !wl->holds_in);
    claim_change(wl, attempt);
    wl->is_claiming = true;
    wl->state = STATE_PREEMPTING;
    vec_push(&admit->claims, wl);
    wl->claim_slot = admit->claims.len;
    wl->local->queue->n_claims++;
    take_all(admit, wl->local->queue, &wl->uses, true);
    queue_rehead(admit, wl->local->queue); /* StrictFIFO: nobody goes before it now */
}

void claim_drop(struct admit *admit, struct wl *wl)
{
    if (!wl->is_claiming)
        return;
    wl->is_claiming = false;
    size_t at = wl->claim_slot - 1;
    vec_remove_swap(&admit->claims, at);
    if (at < admit->claims.len)
        admit->claims.items[at]->claim_slot = at + 1;
    wl->claim_slot = 0;
    struct queue *queue = wl->pending_in;
    queue->n_claims--;
    take_all(admit, queue, &wl->uses, false);
    vec_clear(&wl->uses);
    queue_rehead(admit, queue);
}

/* ---- settling ---- */

static void count_pending(struct admit *admit, struct wl *wl, struct queue *queue)
{
    if (wl->pending_in == queue)
        return;
    if (wl->pending_in) {
        wl->pending_in->pending--;
        wl->local->pending--;
        queue_changed(admit, wl->pending_in);
    }
    wl->pending_in = queue;
    if (queue) {
        queue->pending++;
        wl->local->pending++;
        queue_changed(admit, queue);
    }
    local_changed(admit, wl->local);
}

void wl_tell(struct admit *admit, struct wl *wl)
{
    if (wl->is_told)
        return;
    wl->is_told = true;
    vec_push(&admit->told, wl);
}

static bool is_holding(enum admit_state state)
{
    return state == STATE_RESERVED || state == STATE_ADMITTED || state == STATE_EVICTING;
}

static bool is_waiting(enum admit_state state)
{
    return state == STATE_HELD || state == STATE_BACKOFF || state == STATE_QUEUED;
}

static void settle_waiting(struct admit *admit, struct wl *wl, enum admit_state state, time_ms now)
{
    time_ms stamp = stamp_of(admit, &wl->facts);
    bool is_queued = state == STATE_QUEUED;
    if (wl->shape && stamp != wl->stamp)
        shape_leave(admit, wl);
    if (wl->holds_in && stamp != wl->stamp)
        tree_stir(admit, wl->holds_in->tree, true); /* newer than others now: they may preempt it */
    wl->stamp = stamp;
    bool is_counted = is_waiting(state) && wl->local->is_known && !wl->facts.is_deleted;
    count_pending(admit, wl, is_counted ? wl->local->queue : NULL);
    if (is_queued && !wl->is_claiming)
        shape_join(admit, wl, now);
    else if (wl->pending_in && is_queued && wl->failed.len > 0) /* a flavor's pause may be over */
        admit->is_claims_dirty = wl->pending_in->tree->is_claims_dirty = true;
    if (state == STATE_HELD)
        wl_tell(admit, wl);
}

static void settle_holding(struct admit *admit, struct wl *wl, enum admit_state state)
{
    bool holds = is_holding(state);
    if (wl->holds_in && (!holds || wl->holds_in != wl->facts.queue))
        let_go(admit, wl);
    if (holds && !wl->holds_in)
        hold(admit, wl);
    bool is_doomed = holds && state == STATE_EVICTING;
    if (holds && is_doomed != wl->is_doomed)
        tree_stir(admit, wl->holds_in->tree, true); /* the first to be taken as a victim now */
    wl->is_doomed = is_doomed;
    if (!holds)
        return;
    count_admitted(admit, wl, wl->facts.is_admitted);
    if (wl->facts.ready == READY_YES)
        scope_uncount(admit, wl);
    else
        scope_count(admit, wl);
}

void wl_settle(struct admit *admit, struct wl *wl, time_ms now)
{
    enum admit_state state = classify(wl, now);
    if (wl->shape && state != STATE_QUEUED)
        shape_leave(admit, wl);
    if (state != STATE_QUEUED)
        claim_drop(admit, wl);
    settle_holding(admit, wl, state);
    settle_waiting(admit, wl, state, now);
    if (!is_holding(state))
        wl_drop_grants(wl);
    wl->state = wl->is_claiming ? STATE_PREEMPTING : state;
    due_arm(admit, wl, now);
    admit->is_dirty = true;
}

void wl_unplace(struct admit *admit, struct wl *wl)
{
    if (wl->shape)
        shape_leave(admit, wl);
    claim_drop(admit, wl);
    if (wl->holds_in)
        let_go(admit, wl);
    count_pending(admit, wl, NULL);
    heap_remove(&admit->due, &wl->due);
}

void wl_settle_local(struct admit *admit, struct local *local, time_ms now)
{
    for (size_t i = 0; i < local->wls.len; i++)
        wl_settle(admit, local->wls.items[i], now);
}

/* Holders may be of other local queues than those that point here now. */
void wl_settle_queue(struct admit *admit, struct queue *queue, time_ms now)
{
    for (size_t i = 0; i < queue->locals.len; i++)
        wl_settle_local(admit, queue->locals.items[i], now);
    for (size_t i = 0; i < queue->holders.len; i++)
        due_arm(admit, queue->holders.items[i], now);
}
