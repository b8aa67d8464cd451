// SPDX-License-Identifier: Apache-2.0
/* Things with names. What somebody refers to exists from then on, unknown until it is put: so the
 * order in which objects arrive does not matter. */
#include "core/admit/admit_internal.h"

const char *intern(struct admit *admit, const char *name)
{
    char *known = map_get(admit->names, name);
    if (!known) {
        known = mem_strdup(name);
        map_put(admit->names, name, known);
    }
    return known;
}

struct flavor *flavor_of(struct admit *admit, const char *name)
{
    struct flavor *flavor = map_get(admit->flavors, name);
    if (!flavor) {
        flavor = mem_zalloc(sizeof(*flavor));
        flavor->name = intern(admit, name);
        map_put(admit->flavors, name, flavor);
    }
    return flavor;
}

static void scope_init(struct scope *scope)
{
    pq_init(&scope->queues, queue_aside_is_before, offsetof(struct queue, scope_slot));
}

static bool lower_is_before(const void *a, const void *b)
{
    const struct wl *x = a, *y = b;
    if (x->facts.priority != y->facts.priority)
        return x->facts.priority < y->facts.priority;
    return (uintptr_t)x < (uintptr_t)y; /* any total order will do */
}

struct queue *queue_of(struct admit *admit, const char *name)
{
    struct queue *queue = map_get(admit->queues, name);
    if (queue)
        return queue;
    queue = mem_zalloc(sizeof(*queue));
    queue->node.name = intern(admit, name);
    queue->node.is_queue = true;
    queue->node.root = &queue->node;
    queue->tree = &queue->own_tree;
    queue->shapes = map_new();
    pq_init(&queue->tries, shape_is_before, offsetof(struct shape, try_slot));
    pq_init(&queue->parked, shape_is_before, offsetof(struct shape, parked_slot));
    pq_init(&queue->aside, shape_is_before, offsetof(struct shape, aside_slot));
    pq_init(&queue->lowest, lower_is_before, offsetof(struct wl, lowest_slot));
    scope_init(&queue->scope);
    scope_init(&queue->own_tree.scope);
    queue_activity(admit, queue);
    map_put(admit->queues, name, queue);
    vec_push(&admit->queue_list, queue);
    return queue;
}

struct cohort *cohort_of(struct admit *admit, const char *name)
{
    struct cohort *cohort = map_get(admit->cohorts, name);
    if (cohort)
        return cohort;
    cohort = mem_zalloc(sizeof(*cohort));
    cohort->node.name = intern(admit, name);
    cohort->node.root = &cohort->node;
    scope_init(&cohort->tree.scope);
    map_put(admit->cohorts, name, cohort);
    vec_push(&admit->cohort_list, cohort);
    return cohort;
}

struct local *local_of(struct admit *admit, const char *key)
{
    struct local *local = map_get(admit->locals, key);
    if (!local) {
        local = mem_zalloc(sizeof(*local));
        local->key = mem_strdup(key);
        map_put(admit->locals, key, local);
    }
    return local;
}

void queue_changed(struct admit *admit, struct queue *queue)
{
    if (queue->is_changed)
        return;
    queue->is_changed = true;
    vec_push(&admit->changed, queue);
}

void local_changed(struct admit *admit, struct local *local)
{
    if (local->is_changed)
        return;
    local->is_changed = true;
    vec_push(&admit->changed_locals, local);
}

const char *admit_changed_queue(struct admit *admit)
{
    while (admit->changed.len > 0) {
        struct queue *queue = vec_pop(&admit->changed);
        queue->is_changed = false;
        if (queue->is_known)
            return queue->node.name;
    }
    return NULL;
}

const char *admit_changed_local(struct admit *admit)
{
    while (admit->changed_locals.len > 0) {
        struct local *local = vec_pop(&admit->changed_locals);
        local->is_changed = false;
        if (local->is_known)
            return local->key;
    }
    return NULL;
}
