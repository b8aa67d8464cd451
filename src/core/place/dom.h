// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A domain in a tree (root > zones > nodes > pods) in which the best leaf is always on top. Each
 * domain keeps those below it that have a leaf to offer in a heap; its own key is what it costs by
 * itself (`own`) and the key of its best. A change of one leaf costs a sift on each level. */
struct dom {
    struct dom *up;    /* NULL: the root */
    struct dom **kids; /* heap, least (key, tie) first */
    uint32_t len, cap;
    uint32_t pos;     /* in the heap of `up`, from 1; 0: not in it */
    int32_t tie;      /* of its best leaf */
    int64_t own, key; /* key: own + key of the best below */
};

void dom_done(struct dom *dom);
/* Puts the leaf in, or in its new place; the domains above it may have a new `own` as well. */
void dom_offer(struct dom *leaf);
/* Puts a leaf in that is not in it; nothing above has a new `own`. */
void dom_add(struct dom *leaf);
void dom_withdraw(struct dom *leaf); /* no-op when not in */
/* The same, and the domains above it may have a new `own`. */
void dom_retire(struct dom *leaf);
/* `own` of a domain has changed. */
void dom_renew(struct dom *dom);
static inline bool dom_is_in(const struct dom *dom)
{
    return dom->pos != 0;
}
/* The best leaf below, or NULL. */
static inline struct dom *dom_best(const struct dom *root)
{
    if (root->len == 0)
        return NULL;
    struct dom *best = root->kids[0];
    while (best->len > 0)
        best = best->kids[0];
    return best;
}
