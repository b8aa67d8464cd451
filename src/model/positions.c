// SPDX-License-Identifier: Apache-2.0
#include "model/positions.h"
#include "base/mem.h"
#include <stdint.h>

/* A hash table over addresses, at most half full, never deleted from. Addresses come from an
 * allocator and not from whoever wrote the text, so nobody can choose them to collide. */
struct positions {
    struct position *slots;
    size_t len, cap; /* cap is a power of two */
};

struct positions *positions_new(void)
{
    struct positions *positions = mem_zalloc(sizeof(*positions));
    positions->cap = 64;
    positions->slots = mem_zalloc(positions->cap * sizeof(*positions->slots));
    return positions;
}

void positions_free(struct positions *positions)
{
    if (!positions)
        return;
    mem_free(positions->slots);
    mem_free(positions);
}

static struct position *slot_of(const struct positions *positions, const yyjson_mut_val *val)
{
    uint64_t hash = (uint64_t)(uintptr_t)val * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 32) & (positions->cap - 1);
    while (positions->slots[at].val && positions->slots[at].val != val)
        at = (at + 1) & (positions->cap - 1);
    return &positions->slots[at];
}

static void grow(struct positions *positions)
{
    struct positions bigger = {.len = positions->len, .cap = positions->cap * 2};
    bigger.slots = mem_zalloc(bigger.cap * sizeof(*bigger.slots));
    for (size_t i = 0; i < positions->cap; i++)
        if (positions->slots[i].val)
            *slot_of(&bigger, positions->slots[i].val) = positions->slots[i];
    mem_free(positions->slots);
    *positions = bigger;
}

void positions_put(struct positions *positions, struct position position)
{
    if (2 * positions->len >= positions->cap)
        grow(positions);
    struct position *slot = slot_of(positions, position.val);
    positions->len += !slot->val;
    *slot = position;
}

const struct position *positions_get(const struct positions *positions, const yyjson_mut_val *val)
{
    const struct position *slot = slot_of(positions, val);
    return slot->val ? slot : NULL;
}
