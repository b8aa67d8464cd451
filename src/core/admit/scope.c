// SPDX-License-Identifier: Apache-2.0
/* Blocking without standing still. A gang that fits while somebody in its scope is not ready is set
 * aside, in order, and the next is tried. When everybody is ready the best of those set aside is
 * let back and tried like any other, quota and all; if it is admitted, the scope is blocked again.
 * So one admission costs one try, however many wait. */
#include "core/admit/admit_internal.h"
#include <assert.h>

static struct scope *scope_at(struct admit *admit, struct queue *queue, enum admit_scope which)
{
    switch (which) {
    case SCOPE_CLUSTER:
        return &admit->scope;
    case SCOPE_COHORT:
        return &queue->tree->scope;
    case SCOPE_QUEUE:
        return &queue->scope;
    case SCOPE_FLAVOR:
        break;
    }
    return NULL;
}

static void scope_open(struct admit *admit, struct scope *scope)
{
    if (scope->opening > 0 || scope->queues.len == 0)
        return;
    vec_push(&admit->opening, scope);
    scope->opening = admit->opening.len;
    admit->is_dirty = true;
}

static void scope_close(struct admit *admit, struct scope *scope)
{
    size_t at = scope->opening - 1;
    scope->opening = 0;
    vec_remove_swap(&admit->opening, at);
    if (at < admit->opening.len)
        admit->opening.items[at]->opening = at + 1;
}

static void flavor_open(struct admit *admit, struct flavor *flavor)
{
    while (flavor->blocked.len > 0)
        shape_wake(admit, *vec_last(&flavor->blocked));
}

static void count_flavors(struct admit *admit, struct wl *wl, bool is_on)
{
    for (size_t i = 0; i < wl->uses.len; i++) {
        struct flavor *flavor = wl->uses.items[i].cell->flavor;
        flavor->unready += is_on ? 1 : (size_t)-1;
        if (flavor->unready == 0)
            flavor_open(admit, flavor);
    }
}

void scope_count(struct admit *admit, struct wl *wl)
{
    if (wl->is_unready)
        return;
    wl->is_unready = true;
    for (int i = SCOPE_CLUSTER; i <= SCOPE_QUEUE; i++)
        scope_at(admit, wl->holds_in, (enum admit_scope)i)->unready++;
    count_flavors(admit, wl, true);
}

void scope_uncount(struct admit *admit, struct wl *wl)
{
    if (!wl->is_unready)
        return;
    wl->is_unready = false;
    for (int i = SCOPE_CLUSTER; i <= SCOPE_QUEUE; i++) {
        struct scope *scope = scope_at(admit, wl->holds_in, (enum admit_scope)i);
        assert(scope->unready > 0);
        if (--scope->unready == 0)
            scope_open(admit, scope);
    }
    count_flavors(admit, wl, false);
    admit->is_claims_dirty = admit->are_all_claims_dirty = true;
}

/* Around a change of who belongs to which tree. */
void scope_recount(struct admit *admit, bool is_on)
{
    for (size_t i = 0; i < admit->queue_list.len; i++) {
        struct queue *queue = admit->queue_list.items[i];
        for (size_t j = 0; j < queue->holders.len; j++) {
            struct wl *wl = queue->holders.items[j];
            if (is_on && wl->facts.ready != READY_YES)
                scope_count(admit, wl);
            else if (!is_on)
                scope_uncount(admit, wl);
        }
    }
}

bool scope_blocks(struct admit *admit, const struct attempt *attempt, struct scope **ret_scope,
                  struct flavor **ret_flavor)
{
    if (!admit->settings.waits_for_ready || !admit->settings.blocks)
        return false;
    if (admit->settings.scope != SCOPE_FLAVOR) {
        struct scope *scope = scope_at(admit, attempt->queue, admit->settings.scope);
        *ret_scope = scope;
        return scope->unready > 0;
    }
    for (size_t i = 0; i < attempt->uses.len; i++) {
        struct flavor *flavor = attempt->uses.items[i].cell->flavor;
        if (flavor->unready > 0) {
            *ret_flavor = flavor;
            return true;
        }
    }
    return false;
}

/* The best of those set aside here; if it is not the next of its queue anyhow, so is another's. */
static void let_one_in(struct admit *admit, struct scope *scope)
{
    while (!scope->let_in && scope->queues.len > 0) {
        struct queue *queue = pq_top(&scope->queues);
        struct shape *shape = pq_top(&queue->aside);
        uint32_t level = shape->level;
        shape_wake(admit, shape);
        shape_relevel(admit, shape, level);
        if (pq_top(&queue->tries) == shape && queue->head_slot > 0) {
            scope->let_in = shape;
            shape->scope = scope;
        }
    }
}

bool scope_lets_in_before(struct admit *admit, const struct shape *shape)
{
    struct queue *queue = shape->queue;
    struct shape *first = pq_top(&queue->aside);
    if (!first || first->scope->unready > 0 || shape_is_before(shape, first))
        return false;
    uint32_t level = first->level;
    shape_wake(admit, first);
    shape_relevel(admit, first, level);
    return true;
}

void scope_let_in(struct admit *admit)
{
    for (size_t i = admit->opening.len; i-- > 0;) {
        struct scope *scope = admit->opening.items[i];
        if (scope->unready == 0)
            let_one_in(admit, scope);
        if (scope->unready > 0 || (scope->queues.len == 0 && !scope->let_in))
            scope_close(admit, scope);
    }
}
