// SPDX-License-Identifier: Apache-2.0
/* The loop. As long as there is somebody to try: the best of all queues (who borrows least, then
 * priority, then time) is tried; it is admitted, or evicts whom it may, or waits. Nothing that
 * waits would fit when the loop ends. */
#include "core/admit/admit_internal.h"
#include <assert.h>

#define TRIES_MIN 10000
#define TRIES_EACH 50

struct admit *admit_new(const struct admit_settings *settings, uint64_t seed)
{
    struct admit *admit = mem_zalloc(sizeof(*admit));
    admit->settings = *settings;
    rng_seed(&admit->rng, seed);
    struct map **maps[] = {&admit->names,  &admit->flavors, &admit->queues, &admit->cohorts,
                           &admit->locals, &admit->specs,   &admit->wls};
    for (size_t i = 0; i < ARRAY_LEN(maps); i++)
        *maps[i] = map_new();
    pq_init(&admit->heads, queue_head_is_before, offsetof(struct queue, head_slot));
    pq_init(&admit->scope.queues, queue_aside_is_before, offsetof(struct queue, scope_slot));
    arena_init(&admit->out);
    arena_init(&admit->view);
    return admit;
}

void tree_done(struct tree *tree)
{
    vec_done(&tree->queues);
    vec_done(&tree->reservers);
    vec_done(&tree->less);
    vec_done(&tree->more);
    vec_done(&tree->leveled);
}

static bool free_wl(void *arg, const char *key, void *value)
{
    struct admit *admit = arg;
    (void)key;
    wl_unplace(admit, value);
    wl_free(admit, value);
    return true;
}

static bool free_local(void *arg, const char *key, void *value)
{
    struct local *local = value;
    (void)arg;
    (void)key;
    vec_done(&local->wls);
    vec_done(&local->use);
    mem_free(local->key);
    mem_free(local);
    return true;
}

static bool free_flavor(void *arg, const char *key, void *value)
{
    (void)arg;
    (void)key;
    vec_done(&((struct flavor *)value)->blocked);
    mem_free(value);
    return true;
}

static bool free_name(void *arg, const char *key, void *value)
{
    (void)arg;
    (void)key;
    mem_free(value);
    return true;
}

static void free_cohort(struct cohort *cohort)
{
    cells_free(&cohort->node);
    pq_done(&cohort->tree.scope.queues);
    tree_done(&cohort->tree);
    mem_free(cohort->parent);
    mem_free(cohort->spec);
    mem_free(cohort);
}

static void free_lists(struct admit *admit)
{
    vec_done(&admit->queue_list);
    vec_done(&admit->cohort_list);
    vec_done(&admit->opening);
    vec_done(&admit->stirred);
    vec_done(&admit->freed);
    vec_done(&admit->claims);
    vec_done(&admit->touched);
    vec_done(&admit->decisions);
    vec_done(&admit->changed);
    vec_done(&admit->changed_locals);
    vec_done(&admit->candidates);
    vec_done(&admit->told);
    heap_done(&admit->due);
    pq_done(&admit->heads);
    pq_done(&admit->scope.queues);
    str_done(&admit->text);
    arena_done(&admit->out);
    arena_done(&admit->view);
    attempt_done(&admit->attempt);
}

void admit_free(struct admit *admit)
{
    if (!admit)
        return;
    (void)map_each(admit->wls, free_wl, admit);
    (void)map_each(admit->locals, free_local, NULL);
    for (size_t i = 0; i < admit->queue_list.len; i++)
        queue_free(admit->queue_list.items[i]);
    for (size_t i = 0; i < admit->cohort_list.len; i++)
        free_cohort(admit->cohort_list.items[i]);
    (void)map_each(admit->flavors, free_flavor, NULL);
    (void)map_each(admit->names, free_name, NULL);
    free_lists(admit);
    struct map *maps[] = {admit->names,  admit->flavors, admit->queues, admit->cohorts,
                          admit->locals, admit->specs,   admit->wls};
    for (size_t i = 0; i < ARRAY_LEN(maps); i++)
        map_free(maps[i]);
    mem_free(admit);
}

static bool settle_each(void *arg, const char *key, void *value)
{
    (void)key;
    wl_settle(arg, value, ((struct admit *)arg)->now);
    return true;
}

void admit_set(struct admit *admit, const struct admit_settings *settings, time_ms now)
{
    admit->settings = *settings;
    admit->now = now;
    tree_unpark(admit); /* those set aside may not have to wait any more */
    (void)map_each(admit->wls, settle_each, admit);
    admit->is_claims_dirty = admit->are_all_claims_dirty = true;
}

/* ---- trying ---- */

static void lift(const take_vec *uses, bool is_on)
{
    for (size_t i = 0; i < uses->len; i++) {
        if (is_on)
            quota_take(uses->items[i].cell, uses->items[i].amount);
        else
            quota_give(uses->items[i].cell, uses->items[i].amount);
    }
}

static void try_out(struct admit *admit, struct wl *wl, struct shape *shape, time_ms now)
{
    struct attempt *attempt = &admit->attempt;
    attempt->wl = wl;
    attempt->queue = wl->pending_in;
    attempt->shape = shape;
    attempt->now = now;
    assign_try(admit, attempt);
}

/* Claims of those who come after it in its own queue do not count against it. */
static void lift_later_claims(struct admit *admit, const struct wl *wl, bool is_on)
{
    for (size_t i = 0; i < admit->claims.len; i++) {
        const struct wl *claim = admit->claims.items[i];
        if (claim->pending_in == wl->pending_in && wl_is_before(wl, claim))
            lift(&claim->uses, is_on);
    }
}

static void drop_later_claims(struct admit *admit, const struct wl *wl, time_ms now)
{
    for (size_t i = admit->claims.len; i-- > 0;) {
        struct wl *claim = admit->claims.items[i];
        if (claim->pending_in == wl->pending_in && wl_is_before(wl, claim)) {
            claim_drop(admit, claim);
            wl_settle(admit, claim, now);
        }
    }
}

/* True when it needs that those claims are dropped. */
static bool try_shape(struct admit *admit, struct shape *shape, time_ms now)
{
    struct queue *queue = shape->queue;
    struct wl *wl = shape_head(shape);
    try_out(admit, wl, shape, now);
    if (admit->attempt.mode >= MODE_PREEMPT || queue->n_claims == 0)
        return false;
    lift_later_claims(admit, wl, false);
    try_out(admit, wl, shape, now);
    lift_later_claims(admit, wl, true);
    return true;
}

static void claim_now(struct admit *admit, const struct attempt *attempt, time_ms now)
{
    struct wl *wl = attempt->wl;
    shape_leave(admit, wl);
    claim_take(admit, wl, attempt);
    decide_preempt(admit, attempt, now);
    wl_tell(admit, wl);
    due_arm(admit, wl, now);
}

static void note_uses(struct shape *shape, const struct attempt *attempt)
{
    vec_clear(&shape->uses);
    for (size_t i = 0; i < attempt->uses.len; i++)
        vec_push(&shape->uses, attempt->uses.items[i]);
}

static void try_head(struct admit *admit, struct queue *queue, time_ms now)
{
    struct attempt *attempt = &admit->attempt;
    struct shape *shape = pq_top(&queue->tries);
    struct scope *scope = shape->scope;
    struct flavor *flavor = NULL;
    if (scope_lets_in_before(admit, shape))
        return;
    if (scope)
        scope->let_in = NULL;
    shape->scope = NULL;
    bool drops = try_shape(admit, shape, now);
    if (attempt->mode < MODE_PREEMPT) {
        shape_park(admit, shape, attempt);
    } else if (attempt->mode == MODE_FIT && scope_blocks(admit, attempt, &scope, &flavor)) {
        note_uses(shape, attempt);
        shape->level = attempt->level;
        shape_set_aside(admit, shape, scope, flavor);
    } else if (attempt->level > shape->level) {
        note_uses(shape, attempt);
        shape_relevel(admit, shape, attempt->level);
        shape->lacks_quota = false; /* it only waits for its turn */
        reserve_refresh(admit, queue);
    } else {
        if (drops)
            drop_later_claims(admit, attempt->wl, now);
        if (attempt->mode == MODE_FIT)
            decide_admit(admit, attempt->wl, attempt, now);
        else
            claim_now(admit, attempt, now);
    }
}

/* ---- those who wait for their victims ---- */

/* Its own claim is among what is used. */
static bool fits_beside_claims(const struct attempt *attempt)
{
    const struct wl *wl = attempt->wl;
    lift(&wl->uses, false);
    bool fits = true;
    for (size_t i = 0; i < attempt->uses.len; i++)
        fits =
            fits && attempt->uses.items[i].amount <= quota_available(attempt->uses.items[i].cell);
    lift(&wl->uses, true);
    return fits;
}

/* Flavors are chosen anew where that lets it in at once, or where those that it claims are out of
 * reach. Else two that wait side by side would swap theirs at each look. */
static void try_claim(struct admit *admit, struct wl *wl, time_ms now)
{
    struct attempt *attempt = &admit->attempt;
    try_out(admit, wl, NULL, now);
    if (attempt->mode == MODE_FIT)
        return;
    assign_as_claimed(admit, attempt);
    if (attempt->mode < MODE_PREEMPT)
        try_out(admit, wl, NULL, now);
}

static void claim_retry(struct admit *admit, struct wl *wl, time_ms now)
{
    struct attempt *attempt = &admit->attempt;
    struct scope *scope = NULL;
    struct flavor *flavor = NULL;
    lift(&wl->uses, false);
    try_claim(admit, wl, now);
    if (attempt->mode < MODE_PREEMPT) {
        lift_later_claims(admit, wl, false);
        try_claim(admit, wl, now);
        lift_later_claims(admit, wl, true);
    }
    lift(&wl->uses, true);
    if (attempt->mode < MODE_PREEMPT) {
        claim_drop(admit, wl);
        wl_settle(admit, wl, now);
    } else if (attempt->mode != MODE_FIT) {
        lift(&wl->uses, false);
        claim_change(wl, attempt);
        lift(&wl->uses, true);
        decide_preempt(admit, attempt, now);
    } else if (!scope_blocks(admit, attempt, &scope, &flavor)) {
        if (!fits_beside_claims(attempt))
            drop_later_claims(admit, wl, now);
        decide_admit(admit, wl, attempt, now);
    }
}

/* Best first. */
static void sort_in(wl_vec *claims, struct wl *wl)
{
    vec_push(claims, wl);
    for (size_t i = claims->len - 1; i > 0 && wl_is_before(wl, claims->items[i - 1]); i--) {
        claims->items[i] = claims->items[i - 1];
        claims->items[i - 1] = wl;
    }
}

static bool retry_claims(struct admit *admit, time_ms now)
{
    if (!admit->is_claims_dirty)
        return false;
    wl_vec claims = {0};
    for (size_t i = 0; i < admit->claims.len; i++) {
        struct wl *wl = admit->claims.items[i];
        if (admit->are_all_claims_dirty || wl->pending_in->tree->is_claims_dirty)
            sort_in(&claims, wl);
    }
    for (size_t i = 0; i < claims.len; i++)
        claims.items[i]->pending_in->tree->is_claims_dirty = false;
    admit->is_claims_dirty = admit->are_all_claims_dirty = false;
    for (size_t i = 0; i < claims.len; i++) {
        if (claims.items[i]->is_claiming)
            claim_retry(admit, claims.items[i], now);
    }
    bool had_any = claims.len > 0;
    vec_done(&claims);
    return had_any;
}

static void settle_queues(struct admit *admit, time_ms now)
{
    for (size_t i = 0; i < admit->queue_list.len; i++) {
        struct queue *queue = admit->queue_list.items[i];
        if (!queue->needs_settling)
            continue;
        queue->needs_settling = false;
        wl_settle_queue(admit, queue, now);
    }
}

void admit_step(struct admit *admit, time_ms now, struct admit_decisions *ret_decisions)
{
    arena_reset(&admit->out);
    vec_clear(&admit->decisions);
    if (admit->is_tree_dirty) {
        tree_rebuild(admit);
        settle_queues(admit, now);
    }
    due_run(admit, now);
    /* Each try admits, evicts, parks or sets aside, so this ends by itself; the bound is a promise
     * to the host that a fault here cannot keep it from its other work. */
    size_t most = TRIES_MIN + TRIES_EACH * map_count(admit->wls);
    for (size_t i = 0; i < most; i++) {
        park_stir(admit);
        if (retry_claims(admit, now))
            continue;
        scope_let_in(admit);
        struct queue *queue = pq_top(&admit->heads);
        if (!queue)
            break;
        try_head(admit, queue, now);
    }
    decide_waits(admit);
    admit->is_dirty = admit->heads.len > 0;
    *ret_decisions = (struct admit_decisions){admit->decisions.items, admit->decisions.len};
}

time_ms admit_deadline(const struct admit *admit)
{
    if (admit->is_dirty)
        return 0;
    const struct heap_node *node = heap_peek(&admit->due);
    return node ? node->key : TIME_NEVER;
}
