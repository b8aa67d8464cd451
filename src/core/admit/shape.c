// SPDX-License-Identifier: Apache-2.0
/* Shapes and the order of a queue. A queue has its shapes in two heaps, those to be tried and all
 * others, both by their first workload; the engine has its queues in one heap by their first shape
 * to be tried. In a StrictFIFO queue nothing is tried while somebody who comes first waits. */
#include "core/admit/admit_internal.h"
#include <assert.h>
#include <stdlib.h>

struct wl *shape_head(const struct shape *shape)
{
    return pq_top(&shape->wls);
}

bool shape_is_before(const void *a, const void *b)
{
    return wl_is_before(shape_head(a), shape_head(b));
}

static bool key_is_before(const struct shape *a, const struct shape *b)
{
    if (a->level != b->level)
        return a->level < b->level;
    return shape_is_before(a, b);
}

/* Those who borrow less first, so that nobody's own quota is lent away under his nose. */
bool queue_head_is_before(const void *a, const void *b)
{
    return key_is_before(pq_top(&((const struct queue *)a)->tries),
                         pq_top(&((const struct queue *)b)->tries));
}

bool queue_aside_is_before(const void *a, const void *b)
{
    return key_is_before(pq_top(&((const struct queue *)a)->aside),
                         pq_top(&((const struct queue *)b)->aside));
}

static bool has_claim_before(const struct admit *admit, const struct queue *queue,
                             const struct wl *wl)
{
    if (queue->n_claims == 0)
        return false;
    for (size_t i = 0; i < admit->claims.len; i++) {
        const struct wl *claim = admit->claims.items[i];
        if (claim->pending_in == queue && wl_is_before(claim, wl))
            return true;
    }
    return false;
}

/* Puts the queue where it belongs among the heads, after anything about its first changed. */
void queue_rehead(struct admit *admit, struct queue *queue)
{
    pq_remove(&admit->heads, queue);
    const struct shape *first = pq_top(&queue->tries);
    if (!first)
        return;
    if (queue->rules.strategy == STRICT_FIFO) {
        const struct shape *waits = pq_top(&queue->parked);
        if (waits && shape_is_before(waits, first))
            return;
        if (has_claim_before(admit, queue, shape_head(first)))
            return;
    }
    pq_push(&admit->heads, queue);
    admit->is_dirty = true;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (struct flavor *const *)a,
              y = (uintptr_t) * (struct flavor *const *)b;
    return x < y ? -1 : x > y;
}

/* The flavors it should not be put on now, in an order that equal sets share. */
static size_t avoided(const struct wl *wl, time_ms now, struct flavor **out)
{
    size_t n = 0;
    for (size_t i = 0; i < wl->failed.len; i++) {
        if (wl->failed.items[i].until > now)
            out[n++] = wl->failed.items[i].flavor;
    }
    if (n > 1)
        qsort(out, n, sizeof(*out), by_address);
    return n;
}

static struct shape *shape_make(struct queue *queue, const struct wl *wl)
{
    struct shape *shape = mem_zalloc(sizeof(*shape));
    shape->queue = queue;
    shape->spec = wl->spec;
    shape->priority = wl->facts.priority;
    pq_init(&shape->wls, wl_is_before, offsetof(struct wl, shape_slot));
    return shape;
}

static void shape_free(struct admit *admit, struct shape *shape)
{
    struct queue *queue = shape->queue;
    if (shape->is_touched) {
        for (size_t i = 0; i < admit->touched.len; i++) {
            if (admit->touched.items[i] == shape)
                admit->touched.items[i] = NULL;
        }
    }
    map_del(queue->shapes, shape->key);
    pq_done(&shape->wls);
    vec_done(&shape->wants);
    vec_done(&shape->uses);
    mem_free(shape->key);
    mem_free(shape);
}

static void key_of(struct str *out, const struct wl *wl, struct flavor **avoids, size_t n)
{
    str_clear(out);
    str_addu(out, wl->spec->id);
    str_addc(out, ':');
    str_addf(out, "%lld", (long long)wl->facts.priority);
    for (size_t i = 0; i < n; i++)
        str_addf(out, ":%s", avoids[i]->name);
}

/* After its first changed. */
static void shape_fix(struct shape *shape)
{
    struct queue *queue = shape->queue;
    pq_fix(&queue->tries, shape);
    pq_fix(&queue->parked, shape);
    pq_fix(&queue->aside, shape);
    if (shape->scope && shape->state == SHAPE_ASIDE)
        pq_fix(&shape->scope->queues, queue);
}

static void join_known(struct admit *admit, struct shape *shape, struct wl *wl)
{
    struct queue *queue = shape->queue;
    pq_remove(&admit->heads, queue); /* its first may change: not while it is in there */
    pq_push(&shape->wls, wl);
    if (shape_head(shape) == wl) {
        shape_fix(shape);
        /* Only an earlier one may preempt its equals. */
        if (shape->state == SHAPE_PARKED &&
            queue->rules.preemption.within == WITHIN_LOWER_OR_NEWER_EQUAL)
            shape_wake(admit, shape);
        if (queue->tree->reservers.len > 0)
            tree_stir(admit, queue->tree, false);
    }
}

void shape_join(struct admit *admit, struct wl *wl, time_ms now)
{
    struct queue *queue = wl->local->queue;
    struct flavor **avoids = NULL;
    size_t n_avoids = 0;
    if (wl->failed.len > 0) {
        avoids = mem_alloc(wl->failed.len * sizeof(*avoids));
        n_avoids = avoided(wl, now, avoids);
    }
    key_of(&admit->text, wl, avoids, n_avoids);
    struct shape *shape = map_get(queue->shapes, admit->text.data);
    if (wl->shape && wl->shape != shape)
        shape_leave(admit, wl);
    if (!wl->shape && shape) {
        join_known(admit, shape, wl);
    } else if (!wl->shape) {
        shape = shape_make(queue, wl);
        shape->key = mem_strdup(admit->text.data);
        map_put(queue->shapes, shape->key, shape);
        pq_push(&shape->wls, wl);
        pq_remove(&admit->heads, queue);
        pq_push(&queue->tries, shape);
    }
    mem_free(avoids);
    if (wl->shape == shape)
        return;
    wl->shape = shape;
    queue_rehead(admit, queue);
    reserve_refresh(admit, queue);
}

void shape_leave(struct admit *admit, struct wl *wl)
{
    struct shape *shape = wl->shape;
    struct queue *queue = shape->queue;
    wl->shape = NULL;
    pq_remove(&admit->heads, queue);
    if (shape->wls.len == 1) {
        shape_unpark(admit, shape);
        pq_remove(&queue->tries, shape);
        pq_remove(&shape->wls, wl);
        shape_free(admit, shape);
    } else {
        bool was_head = shape_head(shape) == wl;
        if (shape->scope && shape->state == SHAPE_ASIDE)
            pq_remove(&shape->scope->queues, queue);
        pq_remove(&shape->wls, wl);
        if (was_head)
            shape_fix(shape);
        if (shape->scope && shape->state == SHAPE_ASIDE)
            pq_push(&shape->scope->queues, queue);
    }
    if (queue->tree->reservers.len > 0)
        tree_stir(admit, queue->tree, false);
    queue_rehead(admit, queue);
    reserve_refresh(admit, queue);
}
