// SPDX-License-Identifier: Apache-2.0
/* Who waits for what, so that a change tries again only those whom it can help:
 *
 * 1. A parked shape waits in its queue's cells for the amounts that it lacked, one cell for each
 *    flavor that it could take; it is woken when any of them is available.
 * 2. Usage that goes down can also help those who may preempt (tree.less); usage that goes up as
 * well can help those who may reclaim, whose pod sets compete for flavors, or whom a reservation
 * kept out (tree.more).
 * 3. A parked shape would not fit if it were tried now: that is what the property test checks.
 *
 * The first of a queue that waits for quota which is its queue's own keeps that quota from
 * borrowers, if the queue could not always take it back (reclaimWithinCohort: Any). */
#include "core/admit/admit_internal.h"
#include <assert.h>

static bool needs_less(const void *a, const void *b)
{
    const struct waiter *x = a, *y = b;
    if (x->needed != y->needed)
        return x->needed < y->needed;
    return (uintptr_t)x < (uintptr_t)y;
}

static void list_add(shape_vec *list, struct shape *shape, size_t *slot)
{
    if (*slot > 0)
        return;
    vec_push(list, shape);
    *slot = list->len;
}

static void list_remove(shape_vec *list, size_t *slot, size_t slot_offset)
{
    if (*slot == 0)
        return;
    size_t at = *slot - 1;
    *slot = 0;
    vec_remove_swap(list, at);
    if (at < list->len)
        *(size_t *)((char *)list->items[at] + slot_offset) = at + 1;
}

/* ---- waiting in cells ---- */

static void ask(struct cell *cell, struct waiter *waiter)
{
    if (!cell->waiters.is_before)
        pq_init(&cell->waiters, needs_less, offsetof(struct waiter, slot));
    pq_push(&cell->waiters, waiter);
    if (cell->asking > 0)
        return;
    struct cell *root = cell_root(cell);
    vec_push(&root->askers, cell);
    cell->asking = root->askers.len;
}

static void unask(struct waiter *waiter)
{
    struct cell *cell = waiter->cell;
    pq_remove(&cell->waiters, waiter);
    if (cell->waiters.len > 0 || cell->asking == 0)
        return;
    struct cell *root = cell_root(cell);
    size_t at = cell->asking - 1;
    cell->asking = 0;
    vec_remove_swap(&root->askers, at);
    if (at < root->askers.len)
        root->askers.items[at]->asking = at + 1;
}

static void wait_for(struct shape *shape, const take_vec *lacks)
{
    assert(!shape->waiters);
    if (lacks->len == 0)
        return;
    shape->waiters = mem_zalloc(lacks->len * sizeof(*shape->waiters));
    shape->n_waiters = lacks->len;
    for (size_t i = 0; i < lacks->len; i++) {
        shape->waiters[i] = (struct waiter){shape, lacks->items[i].cell, lacks->items[i].amount, 0};
        ask(lacks->items[i].cell, &shape->waiters[i]);
    }
}

/* ---- what a blocked head keeps ---- */

static bool first_flavor_that_holds(const struct group *group, const struct spec_set *set,
                                    size_t *ret_flavor)
{
    for (size_t f = 0; f < group->n_flavors; f++) {
        bool holds = true;
        for (size_t i = 0; i < set->n_unfit; i++)
            holds = holds && set->unfit[i] != group->flavors[f];
        for (size_t r = 0; holds && r < group->n_resources; r++) {
            for (size_t i = 0; i < set->n_needs; i++) {
                amount needed = (amount)set->needs[i].amount * set->count;
                bool is_it = set->needs[i].resource == group->resources[r];
                holds = holds &&
                        (!is_it || needed <= group->cells[f * group->n_resources + r]->nominal);
            }
        }
        if (holds) {
            *ret_flavor = f;
            return true;
        }
    }
    return false;
}

static void add_wants(take_vec *wants, const struct group *group, const struct spec_set *set,
                      size_t flavor)
{
    for (size_t r = 0; r < group->n_resources; r++) {
        for (size_t i = 0; i < set->n_needs; i++) {
            if (set->needs[i].resource == group->resources[r])
                vec_push(wants, ((struct take){group->cells[flavor * group->n_resources + r],
                                               (amount)set->needs[i].amount * set->count}));
        }
    }
}

/* Worked out from quotas and the request alone, so that it does not depend on who came when: one
 * pod set, on the first flavor of which the queue's own quota is enough. */
static void find_wants(struct shape *shape)
{
    const struct queue *queue = shape->queue;
    vec_clear(&shape->wants);
    bool can_reclaim = queue->rules.preemption.reclaim == RECLAIM_ANY;
    if (can_reclaim || !queue->node.parent || shape->spec->n_sets != 1)
        return;
    const struct spec_set *set = &shape->spec->sets[0];
    for (size_t g = 0; g < queue->n_groups; g++) {
        size_t flavor = 0;
        if (!first_flavor_that_holds(&queue->groups[g], set, &flavor)) {
            vec_clear(&shape->wants);
            return;
        }
        add_wants(&shape->wants, &queue->groups[g], set, flavor);
    }
}

static const struct shape *first_waiting(const struct queue *queue)
{
    const struct shape *tries = pq_top(&queue->tries), *parked = pq_top(&queue->parked);
    if (!tries || !parked)
        return tries ? tries : parked;
    return shape_is_before(tries, parked) ? tries : parked;
}

static void reserver_set(struct queue *queue, bool is_on)
{
    struct tree *tree = queue->tree;
    if (is_on == (queue->reserver > 0))
        return;
    if (is_on) {
        vec_push(&tree->reservers, queue);
        queue->reserver = tree->reservers.len;
        return;
    }
    size_t at = queue->reserver - 1;
    queue->reserver = 0;
    vec_remove_swap(&tree->reservers, at);
    if (at < tree->reservers.len)
        tree->reservers.items[at]->reserver = at + 1;
}

void reserve_refresh(struct admit *admit, struct queue *queue)
{
    const struct shape *first = queue->n_claims == 0 ? first_waiting(queue) : NULL;
    bool has_wants = first && first->lacks_quota && first->wants.len > 0;
    if (!has_wants && queue->reserver == 0)
        return;
    size_t n = has_wants ? first->wants.len : 0;
    bool is_same = n == queue->reserve.len;
    for (size_t i = 0; i < n; i++) {
        struct take want = first->wants.items[i];
        amount left = want.cell->nominal - want.cell->usage;
        want.amount = want.amount < left ? want.amount : left > 0 ? left : 0;
        is_same = is_same && queue->reserve.items[i].cell == want.cell &&
                  queue->reserve.items[i].amount == want.amount;
        if (i < queue->reserve.len)
            queue->reserve.items[i] = want;
        else
            vec_push(&queue->reserve, want);
    }
    queue->reserve.len = n;
    reserver_set(queue, n > 0);
    if (!is_same)
        tree_stir(admit, queue->tree, false);
}

static void reserve_put(const struct queue *queue, bool is_on)
{
    for (size_t i = 0; i < queue->reserve.len; i++) {
        const struct take *take = &queue->reserve.items[i];
        if (is_on)
            quota_take(take->cell, take->amount);
        else
            quota_give(take->cell, take->amount);
    }
}

static bool reserve_applies(const struct queue *queue, const struct attempt *attempt)
{
    return queue != attempt->queue && wl_is_before(shape_head(first_waiting(queue)), attempt->wl);
}

/* Does it still fit beside what heads before it keep? Asked of those who would borrow. */
bool reserve_allows(const struct attempt *attempt)
{
    const struct tree *tree = attempt->queue->tree;
    if (attempt->level == 0 || tree->reservers.len == 0)
        return true;
    for (size_t i = 0; i < tree->reservers.len; i++) {
        if (reserve_applies(tree->reservers.items[i], attempt))
            reserve_put(tree->reservers.items[i], true);
    }
    bool fits = true;
    for (size_t i = 0; i < attempt->uses.len; i++)
        fits =
            fits && attempt->uses.items[i].amount <= quota_available(attempt->uses.items[i].cell);
    for (size_t i = tree->reservers.len; i-- > 0;) {
        if (reserve_applies(tree->reservers.items[i], attempt))
            reserve_put(tree->reservers.items[i], false);
    }
    return fits;
}

/* ---- parking and waking ---- */

static bool has_choice(const struct queue *queue)
{
    for (size_t i = 0; i < queue->n_groups; i++) {
        if (queue->groups[i].n_flavors > 1)
            return true;
    }
    return false;
}

/* May it come to borrow less when others take more? By another flavor, or by being smaller. */
static bool can_vary(const struct shape *shape)
{
    return shape->spec->spare > 0 || has_choice(shape->queue);
}

static void park_as(struct admit *admit, struct shape *shape, enum shape_state state)
{
    struct queue *queue = shape->queue;
    assert(shape->state == SHAPE_TRY);
    pq_remove(&admit->heads, queue);
    pq_remove(&queue->tries, shape);
    list_remove(&queue->tree->leveled, &shape->leveled_slot, offsetof(struct shape, leveled_slot));
    shape->state = state;
    pq_push(&queue->parked, shape);
    if (!shape->is_touched) {
        shape->is_touched = true;
        vec_push(&admit->touched, shape);
    }
    find_wants(shape);
}

static bool may_preempt(const struct queue *queue)
{
    const struct admit_preemption *rules = &queue->rules.preemption;
    return rules->within != WITHIN_NEVER || rules->reclaim != RECLAIM_NEVER;
}

void shape_park(struct admit *admit, struct shape *shape, const struct attempt *attempt)
{
    struct queue *queue = shape->queue;
    shape->is_reserved = attempt->is_reserved;
    shape->lacks_quota = true;
    park_as(admit, shape, SHAPE_PARKED);
    wait_for(shape, &attempt->lacks);
    if (may_preempt(queue) || attempt->is_fickle || attempt->is_reserved)
        list_add(&queue->tree->less, shape, &shape->less_slot);
    if (preempt_may_reclaim(queue) || attempt->is_fickle || attempt->is_reserved)
        list_add(&queue->tree->more, shape, &shape->more_slot);
    queue_rehead(admit, queue);
    reserve_refresh(admit, queue);
}

void shape_set_aside(struct admit *admit, struct shape *shape, struct scope *scope,
                     struct flavor *flavor)
{
    struct queue *queue = shape->queue;
    shape->lacks_quota = false;
    park_as(admit, shape, SHAPE_ASIDE);
    /* While it waits it may come to lack quota: its queue would keep it for it, or it would
     * preempt, which nobody has to wait with. */
    bool may_move = shape->level > 0 && can_vary(shape);
    if (shape->wants.len > 0 || flavor || may_move || may_preempt(queue))
        list_add(&queue->tree->more, shape, &shape->more_slot);
    if (shape->level > 0) {
        list_add(&queue->tree->less, shape, &shape->less_slot);
        /* One that does not fit any more would keep those behind it in its queue, who may borrow
         * less, from their turn. */
        list_add(&queue->tree->leveled, shape, &shape->leveled_slot);
    }
    if (flavor) {
        shape->flavor = flavor;
        list_add(&flavor->blocked, shape, &shape->flavor_slot);
    } else {
        pq_remove(&scope->queues, queue);
        shape->scope = scope;
        pq_push(&queue->aside, shape);
        pq_push(&scope->queues, queue);
    }
    queue_rehead(admit, queue);
    reserve_refresh(admit, queue);
}

static void leave_scope(struct shape *shape)
{
    struct scope *scope = shape->scope;
    struct queue *queue = shape->queue;
    shape->scope = NULL;
    if (scope->let_in == shape)
        scope->let_in = NULL;
    if (shape->aside_slot == 0)
        return;
    pq_remove(&scope->queues, queue);
    pq_remove(&queue->aside, shape);
    if (queue->aside.len > 0)
        pq_push(&scope->queues, queue);
}

void shape_unpark(struct admit *admit, struct shape *shape)
{
    struct queue *queue = shape->queue;
    (void)admit;
    for (size_t i = 0; i < shape->n_waiters; i++)
        unask(&shape->waiters[i]);
    mem_free(shape->waiters);
    shape->waiters = NULL;
    shape->n_waiters = 0;
    list_remove(&queue->tree->less, &shape->less_slot, offsetof(struct shape, less_slot));
    list_remove(&queue->tree->more, &shape->more_slot, offsetof(struct shape, more_slot));
    list_remove(&queue->tree->leveled, &shape->leveled_slot, offsetof(struct shape, leveled_slot));
    if (shape->flavor)
        list_remove(&shape->flavor->blocked, &shape->flavor_slot,
                    offsetof(struct shape, flavor_slot));
    shape->flavor = NULL;
    if (shape->scope)
        leave_scope(shape);
    pq_remove(&queue->parked, shape);
}

void shape_wake(struct admit *admit, struct shape *shape)
{
    if (shape->state == SHAPE_TRY)
        return;
    struct queue *queue = shape->queue;
    pq_remove(&admit->heads, queue);
    shape_unpark(admit, shape);
    shape->state = SHAPE_TRY;
    shape->level = 0;
    pq_push(&queue->tries, shape);
    queue_rehead(admit, queue);
}

/* Its place among the heads, by how much it would borrow. That only grows with what others take,
 * except that it may have to go to another flavor then, or to be smaller, and borrow less. Or it
 * does not fit any more before it is its turn: then it keeps quota from others, and those behind it
 * in its queue, who may borrow less, are next. */
void shape_relevel(struct admit *admit, struct shape *shape, uint32_t level)
{
    struct queue *queue = shape->queue;
    pq_remove(&admit->heads, queue);
    shape->level = level;
    if (level > 0)
        list_add(&queue->tree->leveled, shape, &shape->leveled_slot);
    queue_rehead(admit, queue);
}

static void unlevel(struct shape *shape)
{
    list_remove(&shape->queue->tree->leveled, &shape->leveled_slot,
                offsetof(struct shape, leveled_slot));
}

static bool still_fits(const struct shape *shape)
{
    if (can_vary(shape))
        return false;
    for (size_t i = 0; i < shape->uses.len; i++) {
        if (shape->uses.items[i].amount > quota_available(shape->uses.items[i].cell))
            return false;
    }
    return true;
}

/* Who fits beside all that is kept need not be tried again: a look at its cells is enough. */
static void level_anew(struct admit *admit, struct tree *tree)
{
    for (size_t i = 0; i < tree->reservers.len; i++)
        reserve_put(tree->reservers.items[i], true);
    for (size_t i = tree->leveled.len; i-- > 0;) {
        struct shape *shape = tree->leveled.items[i];
        if (still_fits(shape))
            continue;
        unlevel(shape);
        if (shape->state == SHAPE_ASIDE)
            shape_wake(admit, shape);
        else
            shape_relevel(admit, shape, 0);
    }
    for (size_t i = tree->reservers.len; i-- > 0;)
        reserve_put(tree->reservers.items[i], false);
}

/* ---- changes ---- */

static void wake_list(struct admit *admit, shape_vec *list, bool asks_first)
{
    for (size_t i = list->len; i-- > 0;) {
        if (i >= list->len)
            continue; /* waking one may take others out */
        struct shape *shape = list->items[i];
        bool is_plain = shape->state == SHAPE_PARKED && !shape->more_slot;
        if (asks_first && is_plain && !preempt_may_help(shape->queue, shape->priority))
            continue;
        shape_wake(admit, shape);
    }
}

static void wake_cell(struct admit *admit, struct cell *cell)
{
    amount available = quota_available(cell);
    for (struct waiter *first; (first = pq_top(&cell->waiters)) && first->needed <= available;)
        shape_wake(admit, first->shape);
}

void park_stir(struct admit *admit)
{
    while (admit->freed.len > 0) {
        struct cell *root = vec_pop(&admit->freed);
        root->is_freed = false;
        for (size_t i = root->askers.len; i-- > 0;) {
            if (i < root->askers.len)
                wake_cell(admit, root->askers.items[i]);
        }
    }
    while (admit->stirred.len > 0) {
        struct tree *tree = vec_pop(&admit->stirred);
        bool is_less = tree->is_less;
        tree->is_less = tree->is_more = false;
        level_anew(admit, tree);
        wake_list(admit, &tree->more, false);
        if (is_less)
            wake_list(admit, &tree->less, true);
    }
}

/* Quotas changed: whatever they waited for may be otherwise now. */
void park_wake_all(struct admit *admit)
{
    for (size_t i = 0; i < admit->queue_list.len; i++) {
        struct queue *queue = admit->queue_list.items[i];
        for (struct shape *shape; (shape = pq_top(&queue->parked));)
            shape_wake(admit, shape);
        pq_remove(&admit->heads, queue);
        for (size_t j = 0; j < queue->tries.len; j++) {
            struct shape *shape = queue->tries.items[j];
            unlevel(shape);
            shape->level = 0;
        }
        queue_rehead(admit, queue);
    }
    for (size_t i = 0; i < admit->stirred.len; i++)
        admit->stirred.items[i]->is_less = admit->stirred.items[i]->is_more = false;
    for (size_t i = 0; i < admit->freed.len; i++)
        admit->freed.items[i]->is_freed = false;
}
