// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* A binary heap of pointers with an order of its own, for orders that do not fit into one number
 * (base/heap.h). Each item has a size_t `slot` at the same offset: its place plus one, 0 while it
 * is not in. The order must be total. */
struct pq {
    void **items;
    size_t len, cap;
    bool (*is_before)(const void *a, const void *b);
    size_t slot_offset;
};

void pq_init(struct pq *pq, bool (*is_before)(const void *a, const void *b), size_t slot_offset);
void pq_done(struct pq *pq);
void *pq_top(const struct pq *pq); /* NULL when empty */
void pq_push(struct pq *pq, void *item);
void pq_remove(struct pq *pq, void *item); /* no-op when not in */
void pq_fix(struct pq *pq, void *item);    /* its place may have changed; no-op when not in */
