// SPDX-License-Identifier: Apache-2.0
#include "base/heap.h"
#include "base/vec.h"
#include <assert.h>

/* Invariants: 1. nodes[i]->index == i. 2. No node comes before its parent, (i - 1) / 2. */

void heap_node_init(struct heap_node *node)
{
    *node = (struct heap_node){.index = HEAP_NONE};
}

bool heap_contains(const struct heap_node *node)
{
    return node->index != HEAP_NONE;
}

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    return a->key != b->key ? a->key < b->key : a->seq < b->seq;
}

static void place(struct heap *heap, struct heap_node *node, size_t index)
{
    heap->nodes[index] = node;
    node->index = index;
}

static void sift_up(struct heap *heap, struct heap_node *node, size_t index)
{
    while (index > 0) {
        struct heap_node *parent = heap->nodes[(index - 1) / 2];
        if (!before(node, parent))
            break;
        place(heap, parent, index);
        index = (index - 1) / 2;
    }
    place(heap, node, index);
}

static void sift_down(struct heap *heap, struct heap_node *node, size_t index)
{
    for (;;) {
        size_t child = 2 * index + 1;
        if (child + 1 < heap->len && before(heap->nodes[child + 1], heap->nodes[child]))
            child++;
        if (child >= heap->len || !before(heap->nodes[child], node))
            break;
        place(heap, heap->nodes[child], index);
        index = child;
    }
    place(heap, node, index);
}

void heap_push(struct heap *heap, struct heap_node *node, int64_t key)
{
    assert(!heap_contains(node));
    if (heap->len == heap->cap)
        heap->nodes = vec_grow_(heap->nodes, &heap->cap, sizeof(*heap->nodes));
    node->key = key;
    node->seq = heap->next_seq++;
    sift_up(heap, node, heap->len++);
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    if (!heap_contains(node))
        return;
    size_t hole = node->index;
    assert(hole < heap->len && heap->nodes[hole] == node);
    node->index = HEAP_NONE;
    struct heap_node *last = heap->nodes[--heap->len];
    if (last == node)
        return;
    /* The last node comes from another branch, so it may belong above the hole as well as below. */
    if (hole > 0 && before(last, heap->nodes[(hole - 1) / 2]))
        sift_up(heap, last, hole);
    else
        sift_down(heap, last, hole);
}

struct heap_node *heap_peek(const struct heap *heap)
{
    return heap->len ? heap->nodes[0] : NULL;
}

struct heap_node *heap_pop(struct heap *heap)
{
    struct heap_node *first = heap_peek(heap);
    if (first)
        heap_remove(heap, first);
    return first;
}

void heap_done(struct heap *heap)
{
    for (size_t i = 0; i < heap->len; i++)
        heap->nodes[i]->index = HEAP_NONE;
    mem_free(heap->nodes);
    *heap = (struct heap){0};
}
