// SPDX-License-Identifier: Apache-2.0
#include "core/admit/pq.h"
#include "base/vec.h"
#include <assert.h>

void pq_init(struct pq *pq, bool (*is_before)(const void *a, const void *b), size_t slot_offset)
{
    *pq = (struct pq){.is_before = is_before, .slot_offset = slot_offset};
}

void pq_done(struct pq *pq)
{
    vec_done(pq);
}

void *pq_top(const struct pq *pq)
{
    return pq->len > 0 ? pq->items[0] : NULL;
}

static size_t *slot_of(const struct pq *pq, void *item)
{
    return (size_t *)((char *)item + pq->slot_offset);
}

static void put(struct pq *pq, size_t index, void *item)
{
    pq->items[index] = item;
    *slot_of(pq, item) = index + 1;
}

static size_t sift_up(struct pq *pq, size_t index, void *item)
{
    while (index > 0) {
        void *parent = pq->items[(index - 1) / 2];
        if (!pq->is_before(item, parent))
            break;
        put(pq, index, parent);
        index = (index - 1) / 2;
    }
    put(pq, index, item);
    return index;
}

static void sift_down(struct pq *pq, size_t index, void *item)
{
    for (size_t child; (child = 2 * index + 1) < pq->len;) {
        if (child + 1 < pq->len && pq->is_before(pq->items[child + 1], pq->items[child]))
            child++;
        if (!pq->is_before(pq->items[child], item))
            break;
        put(pq, index, pq->items[child]);
        index = child;
    }
    put(pq, index, item);
}

void pq_push(struct pq *pq, void *item)
{
    assert(*slot_of(pq, item) == 0);
    vec_push(pq, item);
    (void)sift_up(pq, pq->len - 1, item);
}

void pq_fix(struct pq *pq, void *item)
{
    size_t slot = *slot_of(pq, item);
    if (slot == 0)
        return;
    assert(pq->items[slot - 1] == item);
    size_t index = sift_up(pq, slot - 1, item);
    sift_down(pq, index, item);
}

void pq_remove(struct pq *pq, void *item)
{
    size_t slot = *slot_of(pq, item);
    if (slot == 0)
        return;
    assert(pq->items[slot - 1] == item);
    *slot_of(pq, item) = 0;
    void *last = vec_pop(pq);
    if (last == item)
        return;
    put(pq, slot - 1, last);
    pq_fix(pq, last);
}
