// SPDX-License-Identifier: Apache-2.0
#include "control/workqueue.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/mem.h"
#include <assert.h>

struct item {
    struct heap_node node; /* in `due` while ready or waiting; its key is when */
    char *key;
    bool is_busy;
    bool is_upkeep;
    time_ms again_at; /* wished for while busy; TIME_NEVER: not */
    unsigned failures;
};

struct workqueue {
    struct map *items;
    struct heap due;
    bool (*is_upkeep)(const char *key); /* NULL: none is */
    size_t upkeep;                      /* such items */
};

struct workqueue *workqueue_new(void)
{
    struct workqueue *queue = mem_zalloc(sizeof(*queue));
    queue->items = map_new();
    return queue;
}

static bool item_free(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    struct item *item = value;
    mem_free(item->key);
    mem_free(item);
    return true;
}

void workqueue_free(struct workqueue *queue)
{
    if (queue == NULL)
        return;
    heap_done(&queue->due); /* before its nodes, which are in the items */
    (void)map_each(queue->items, item_free, NULL);
    map_free(queue->items);
    mem_free(queue);
}

static struct item *item_need(struct workqueue *queue, const char *key)
{
    struct item *item = map_get(queue->items, key);
    if (item != NULL)
        return item;
    item = mem_zalloc(sizeof(*item));
    item->key = mem_strdup(key);
    item->again_at = TIME_NEVER;
    item->is_upkeep = queue->is_upkeep != NULL && queue->is_upkeep(key);
    queue->upkeep += item->is_upkeep;
    heap_node_init(&item->node);
    (void)map_put(queue->items, key, item);
    return item;
}

void workqueue_add(struct workqueue *queue, const char *key)
{
    workqueue_add_at(queue, key, INT64_MIN);
}

void workqueue_add_at(struct workqueue *queue, const char *key, time_ms at)
{
    if (at == TIME_NEVER)
        return;
    struct item *item = item_need(queue, key);
    if (item->is_busy) {
        if (at < item->again_at)
            item->again_at = at;
        return;
    }
    if (heap_contains(&item->node)) {
        if (item->node.key <= at)
            return;
        heap_remove(&queue->due, &item->node);
    }
    heap_push(&queue->due, &item->node, at);
}

const char *workqueue_take(struct workqueue *queue, time_ms now)
{
    struct heap_node *node = heap_peek(&queue->due);
    if (node == NULL || node->key > now)
        return NULL;
    (void)heap_pop(&queue->due);
    struct item *item = container_of(node, struct item, node);
    item->is_busy = true;
    return item->key;
}

static time_ms pause_after(unsigned failures)
{
    time_ms pause = WORKQUEUE_BACKOFF_BASE_MS;
    for (unsigned i = 1; i < failures && pause < WORKQUEUE_BACKOFF_MAX_MS; i++)
        pause *= 2;
    return pause < WORKQUEUE_BACKOFF_MAX_MS ? pause : WORKQUEUE_BACKOFF_MAX_MS;
}

void workqueue_finish(struct workqueue *queue, const char *key, bool failed, time_ms now)
{
    struct item *item = map_get(queue->items, key);
    assert(item != NULL && item->is_busy);
    item->is_busy = false;
    time_ms at = item->again_at;
    item->again_at = TIME_NEVER;
    item->failures = failed ? item->failures + 1 : 0;
    /* News about a key that keeps failing does not cut its pause short. */
    if (failed)
        at = now + pause_after(item->failures);
    if (at != TIME_NEVER) {
        heap_push(&queue->due, &item->node, at);
        return;
    }
    (void)map_del(queue->items, item->key);
    queue->upkeep -= item->is_upkeep;
    mem_free(item->key);
    mem_free(item);
}

bool workqueue_is_busy(const struct workqueue *queue, const char *key)
{
    const struct item *item = map_get(queue->items, key);
    return item != NULL && item->is_busy;
}

time_ms workqueue_next_due(const struct workqueue *queue, time_ms now)
{
    const struct heap_node *node = heap_peek(&queue->due);
    if (node == NULL)
        return TIME_NEVER;
    return node->key > now ? node->key : now;
}

void workqueue_set_upkeep(struct workqueue *queue, bool (*is_upkeep)(const char *key))
{
    assert(map_count(queue->items) == 0);
    queue->is_upkeep = is_upkeep;
}

size_t workqueue_pressing(const struct workqueue *queue)
{
    return map_count(queue->items) - queue->upkeep;
}
