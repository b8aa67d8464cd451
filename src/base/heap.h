// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A binary min-heap of nodes that live inside the caller's structs. The order is (key, sequence of
 * insertion), so equal keys come out first in, first out. */
struct heap_node {
    int64_t key;
    uint64_t seq;
    size_t index; /* HEAP_NONE while not in a heap */
};
#define HEAP_NONE SIZE_MAX

struct heap {
    struct heap_node **nodes;
    size_t len;
    size_t cap;
    uint64_t next_seq;
};

void heap_node_init(struct heap_node *node);
bool heap_contains(const struct heap_node *node);
void heap_push(struct heap *heap, struct heap_node *node, int64_t key);
void heap_remove(struct heap *heap, struct heap_node *node); /* no-op when not in it */
struct heap_node *heap_peek(const struct heap *heap);        /* NULL when empty */
struct heap_node *heap_pop(struct heap *heap);
void heap_done(struct heap *heap);
