// SPDX-License-Identifier: Apache-2.0
/* Whom to evict so that a workload fits. Candidates are put in order, taken away one by one until
 * it fits, and then, from the last to the first, given back if it fits without them too: so no gang
 * is evicted for nothing. Usage is really taken off and put on the cells meanwhile, and is as
 * before at the end.
 *
 * A queue takes back what others borrowed only up to its own quota; above it, only from its own
 * workloads, or as borrowWithinCohort allows. In a deep tree "its own" is the quota of the lowest
 * cohort that holds the request, and those outside of it give back. */
#include "core/admit/admit_internal.h"
#include <stdlib.h>

struct search {
    struct admit *admit;
    struct attempt *attempt;
    const take_vec *uses;
    take_vec lacks;          /* of `uses`, what is not available now */
    const struct node *home; /* whose quota holds the request */
    bool may_borrow;
    bool has_limit; /* others' workloads from this priority on end the borrowing */
    int64_t limit;
};

static bool is_older(const struct wl *a, const struct wl *b)
{
    return a->stamp < b->stamp;
}

bool preempt_may_reclaim(const struct queue *queue)
{
    const struct admit_preemption *rules = &queue->rules.preemption;
    if (rules->reclaim == RECLAIM_NEVER || !queue->node.parent)
        return false;
    if (rules->borrows_within_cohort || queue->node.parent->parent)
        return true;
    for (size_t i = 0; i < queue->node.cells.len; i++) {
        const struct cell *cell = queue->node.cells.items[i];
        if (cell->usage < cell->nominal)
            return true;
    }
    return false;
}

bool preempt_may_help(const struct queue *queue, int64_t priority)
{
    const struct wl *lowest = pq_top(&queue->lowest);
    enum admit_within within = queue->rules.preemption.within;
    bool within_helps =
        lowest && within != WITHIN_NEVER &&
        (lowest->facts.priority < priority ||
         (within == WITHIN_LOWER_OR_NEWER_EQUAL && lowest->facts.priority == priority));
    return within_helps || preempt_may_reclaim(queue);
}

static bool uses_what_lacks(const struct search *search, const struct wl *wl)
{
    for (size_t i = 0; i < wl->uses.len; i++) {
        const struct cell *used = wl->uses.items[i].cell;
        for (size_t j = 0; j < search->lacks.len; j++) {
            const struct cell *lacks = search->lacks.items[j].cell;
            if (used->flavor == lacks->flavor && used->resource == lacks->resource)
                return true;
        }
    }
    return false;
}

/* Of what counts as used there: what nobody has yet. */
static amount claimed(const struct admit *admit, const struct queue *queue, const struct cell *cell)
{
    amount sum = 0;
    for (size_t i = 0; queue->n_claims > 0 && i < admit->claims.len; i++) {
        const struct wl *claim = admit->claims.items[i];
        for (size_t k = 0; claim->pending_in == queue && k < claim->uses.len; k++)
            sum += claim->uses.items[k].cell == cell ? claim->uses.items[k].amount : 0;
    }
    return sum;
}

/* A claim does not make its queue a borrower: those who hold its quota would be evicted for what
 * another only waits for, and when that claim goes they were evicted for nothing. */
static bool queue_borrows(const struct search *search, const struct queue *queue)
{
    for (size_t i = 0; i < search->lacks.len; i++) {
        const struct cell *lacks = search->lacks.items[i].cell;
        const struct cell *cell = cell_find(&queue->node, lacks->flavor, lacks->resource);
        if (cell && quota_borrows(cell, -claimed(search->admit, queue, cell)))
            return true;
    }
    return false;
}

static bool is_below(const struct node *node, const struct node *home)
{
    for (; node; node = node->parent) {
        if (node == home)
            return true;
    }
    return false;
}

static void gather_own(struct search *search)
{
    const struct attempt *attempt = search->attempt;
    const struct wl *wl = attempt->wl;
    enum admit_within within = attempt->queue->rules.preemption.within;
    if (within == WITHIN_NEVER)
        return;
    for (size_t i = 0; i < attempt->queue->holders.len; i++) {
        struct wl *held = attempt->queue->holders.items[i];
        bool is_equal = held->facts.priority == wl->facts.priority;
        bool may = held->facts.priority < wl->facts.priority ||
                   (within == WITHIN_LOWER_OR_NEWER_EQUAL && is_equal && is_older(wl, held));
        if (may && uses_what_lacks(search, held))
            vec_push(&search->admit->candidates, ((struct victim){held, PREEMPT_IN_QUEUE}));
    }
}

static void gather_others(struct search *search)
{
    const struct attempt *attempt = search->attempt;
    const struct tree *tree = attempt->queue->tree;
    enum admit_reclaim reclaim = attempt->queue->rules.preemption.reclaim;
    if (reclaim == RECLAIM_NEVER)
        return;
    for (size_t i = 0; i < tree->queues.len; i++) {
        struct queue *queue = tree->queues.items[i];
        bool is_outside =
            queue != attempt->queue && (!search->home || !is_below(&queue->node, search->home));
        if (!is_outside || queue->holders.len == 0 || !queue_borrows(search, queue))
            continue;
        for (size_t j = 0; j < queue->holders.len; j++) {
            struct wl *held = queue->holders.items[j];
            bool may = reclaim == RECLAIM_ANY || held->facts.priority < attempt->wl->facts.priority;
            if (may && uses_what_lacks(search, held))
                vec_push(&search->admit->candidates, ((struct victim){held, PREEMPT_RECLAIM}));
        }
    }
}

/* Who goes first: the evicted, others' before one's own, low priority, the latest to get quota. */
static int by_worth(const void *a, const void *b)
{
    const struct victim *v = a, *w = b;
    const struct facts *x = &v->wl->facts, *y = &w->wl->facts;
    if ((x->evicted != EVICTED_NOT) != (y->evicted != EVICTED_NOT))
        return x->evicted != EVICTED_NOT ? -1 : 1;
    if (v->why != w->why)
        return v->why != PREEMPT_IN_QUEUE ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->reserved_at != y->reserved_at)
        return x->reserved_at > y->reserved_at ? -1 : 1;
    int order = strcmp(v->wl->uid, w->wl->uid);
    return order != 0 ? order : strcmp(v->wl->key, w->wl->key);
}

static bool fits(const struct search *search, bool may_borrow)
{
    for (size_t i = 0; i < search->uses->len; i++) {
        const struct take *use = &search->uses->items[i];
        const struct cell *home = use->cell;
        while (search->home && home->parent && home->node != search->home)
            home = home->parent;
        if (!may_borrow && quota_borrows(home, use->amount))
            return false;
        if (use->amount > quota_available(use->cell))
            return false;
    }
    return true;
}

static void put_back(const struct wl *wl, bool is_on)
{
    for (size_t i = 0; i < wl->uses.len; i++) {
        if (is_on)
            quota_take(wl->uses.items[i].cell, wl->uses.items[i].amount);
        else
            quota_give(wl->uses.items[i].cell, wl->uses.items[i].amount);
    }
}

/* Takes one away; what it means for borrowing is returned in *may_borrow. */
static bool take_away(struct search *search, struct victim victim, bool *may_borrow)
{
    bool is_others = victim.why != PREEMPT_IN_QUEUE;
    if (is_others && !queue_borrows(search, victim.wl->holds_in))
        return false; /* its queue has given back enough */
    if (is_others && search->has_limit) {
        if (victim.wl->facts.priority >= search->limit)
            *may_borrow = false;
        else
            victim.why = PREEMPT_RECLAIM_WHILE_BORROWING;
    }
    put_back(victim.wl, false);
    vec_push(&search->attempt->victims, victim);
    return true;
}

static bool find_least(struct search *search, bool only_own)
{
    struct attempt *attempt = search->attempt;
    const struct admit *admit = search->admit;
    bool may_borrow = search->may_borrow, is_found = false;
    vec_clear(&attempt->victims);
    for (size_t i = 0; i < admit->candidates.len && !is_found; i++) {
        if (only_own && admit->candidates.items[i].why != PREEMPT_IN_QUEUE)
            continue;
        is_found =
            take_away(search, admit->candidates.items[i], &may_borrow) && fits(search, may_borrow);
    }
    /* Not the last: without it, it did not fit. */
    for (size_t i = is_found ? attempt->victims.len - 1 : 0; i-- > 0;) {
        put_back(attempt->victims.items[i].wl, true);
        if (!fits(search, may_borrow)) {
            put_back(attempt->victims.items[i].wl, false);
            continue;
        }
        for (size_t j = i; j + 1 < attempt->victims.len; j++)
            attempt->victims.items[j] = attempt->victims.items[j + 1];
        attempt->victims.len--;
    }
    for (size_t i = 0; i < attempt->victims.len; i++)
        put_back(attempt->victims.items[i].wl, true);
    return is_found;
}

/* Is there anything of its own quota left that others use? */
static bool is_under_nominal(const struct search *search)
{
    for (size_t i = 0; i < search->lacks.len; i++) {
        const struct cell *home = search->lacks.items[i].cell;
        while (search->home && home->parent && home->node != search->home)
            home = home->parent;
        if (home->usage >= home->subtree)
            return false;
    }
    return true;
}

static void drop_others_from(struct admit *admit, int64_t limit)
{
    size_t kept = 0;
    for (size_t i = 0; i < admit->candidates.len; i++) {
        struct victim victim = admit->candidates.items[i];
        if (victim.why == PREEMPT_IN_QUEUE || victim.wl->facts.priority < limit)
            admit->candidates.items[kept++] = victim;
    }
    admit->candidates.len = kept;
}

static bool choose(struct search *search)
{
    struct admit *admit = search->admit;
    const struct admit_preemption *rules = &search->attempt->queue->rules.preemption;
    bool has_others = admit->candidates.items[0].why != PREEMPT_IN_QUEUE;
    for (size_t i = 0; i < admit->candidates.len && !has_others; i++)
        has_others = admit->candidates.items[i].why != PREEMPT_IN_QUEUE;
    search->may_borrow = true;
    if (!has_others)
        return find_least(search, false);
    if (rules->borrows_within_cohort) {
        search->has_limit = true;
        search->limit = search->attempt->wl->facts.priority;
        if (rules->has_threshold && rules->threshold < search->limit)
            search->limit = rules->threshold + 1;
        if (!is_under_nominal(search))
            drop_others_from(admit, search->limit);
        return find_least(search, false);
    }
    search->may_borrow = false;
    if (is_under_nominal(search) && find_least(search, false))
        return true;
    search->may_borrow = true;
    return find_least(search, true);
}

static void find_home(struct search *search)
{
    for (size_t i = 0; i < search->uses->len; i++) {
        const struct take *use = &search->uses->items[i];
        struct cell *home = NULL;
        if (use->amount <= use->cell->nominal || !use->cell->parent)
            continue; /* the queue itself */
        (void)quota_level(use->cell, use->amount, &home);
        if (home && home->parent && (!search->home || is_below(search->home, home->node)))
            search->home = home->node;
    }
}

bool preempt_search(struct admit *admit, struct attempt *attempt, const take_vec *uses)
{
    struct search search = {.admit = admit, .attempt = attempt, .uses = uses};
    vec_clear(&attempt->victims);
    if (!preempt_may_help(attempt->queue, attempt->wl->facts.priority))
        return false;
    for (size_t i = 0; i < uses->len; i++) {
        if (uses->items[i].amount > quota_available(uses->items[i].cell))
            vec_push(&search.lacks, uses->items[i]);
    }
    find_home(&search);
    vec_clear(&admit->candidates);
    gather_own(&search);
    gather_others(&search);
    bool is_found = false;
    if (admit->candidates.len > 0) {
        qsort(admit->candidates.items, admit->candidates.len, sizeof(struct victim), by_worth);
        is_found = choose(&search);
    }
    vec_done(&search.lacks);
    if (!is_found)
        vec_clear(&attempt->victims);
    return is_found;
}

uint32_t preempt_level(const struct attempt *attempt, struct take use)
{
    struct cell *home = NULL;
    for (size_t i = 0; i < attempt->victims.len; i++)
        put_back(attempt->victims.items[i].wl, false);
    uint32_t level = quota_level(use.cell, use.amount, &home);
    for (size_t i = 0; i < attempt->victims.len; i++)
        put_back(attempt->victims.items[i].wl, true);
    return level;
}
