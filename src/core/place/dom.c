// SPDX-License-Identifier: Apache-2.0
/* Invariants: 1. up->kids[pos - 1] is the domain itself. 2. No kid comes before its parent in the
 * heap. 3. A domain that is no leaf is in the heap above it exactly when it has kids, and its key
 * is its own plus that of its first kid. */
#include "core/place/dom.h"
#include "base/vec.h"
#include <assert.h>

static inline bool before(const struct dom *a, const struct dom *b)
{
    return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

static inline void put(struct dom *up, struct dom *kid, uint32_t index)
{
    up->kids[index] = kid;
    kid->pos = index + 1;
}

static void sift_up(struct dom *up, struct dom *kid, uint32_t index)
{
    while (index > 0) {
        struct dom *parent = up->kids[(index - 1) / 2];
        if (!before(kid, parent))
            break;
        put(up, parent, index);
        index = (index - 1) / 2;
    }
    put(up, kid, index);
}

static void sift_down(struct dom *up, struct dom *kid, uint32_t index)
{
    for (;;) {
        uint32_t child = 2 * index + 1;
        if (child + 1 < up->len && before(up->kids[child + 1], up->kids[child]))
            child++;
        if (child >= up->len || !before(up->kids[child], kid))
            break;
        put(up, up->kids[child], index);
        index = child;
    }
    put(up, kid, index);
}

static void sift(struct dom *up, struct dom *kid)
{
    uint32_t index = kid->pos - 1;
    if (index > 0 && before(kid, up->kids[(index - 1) / 2]))
        sift_up(up, kid, index);
    else
        sift_down(up, kid, index);
}

static void enter(struct dom *up, struct dom *kid)
{
    if (up->len == up->cap) {
        size_t cap = up->cap;
        up->kids = vec_grow_(up->kids, &cap, sizeof(struct dom *));
        up->cap = (uint32_t)cap;
    }
    sift_up(up, kid, up->len++);
}

static void leave(struct dom *up, struct dom *kid)
{
    uint32_t index = kid->pos - 1;
    struct dom *last = up->kids[--up->len];
    kid->pos = 0;
    if (last == kid)
        return;
    put(up, last, index);
    sift(up, last);
}

static void climb(struct dom *dom)
{
    for (; dom->up != NULL; dom = dom->up) {
        if (dom->len == 0) {
            if (dom->pos != 0)
                leave(dom->up, dom);
            continue;
        }
        dom->key = dom->own + dom->kids[0]->key;
        dom->tie = dom->kids[0]->tie;
        if (dom->pos != 0)
            sift(dom->up, dom);
        else
            enter(dom->up, dom);
    }
}

void dom_offer(struct dom *leaf)
{
    assert(leaf->len == 0 && leaf->up != NULL);
    leaf->key = leaf->own;
    if (leaf->pos != 0)
        sift(leaf->up, leaf);
    else
        enter(leaf->up, leaf);
    climb(leaf->up);
}

/* Most are not the best of their node: then nothing above changes. */
void dom_add(struct dom *leaf)
{
    assert(leaf->len == 0 && leaf->up != NULL && leaf->pos == 0);
    leaf->key = leaf->own;
    enter(leaf->up, leaf);
    if (leaf->pos == 1)
        climb(leaf->up);
}

void dom_withdraw(struct dom *leaf)
{
    if (leaf->pos == 0)
        return;
    leave(leaf->up, leaf);
    climb(leaf->up);
}

void dom_retire(struct dom *leaf)
{
    if (leaf->pos != 0)
        leave(leaf->up, leaf);
    climb(leaf->up);
}

void dom_renew(struct dom *dom)
{
    climb(dom);
}

void dom_done(struct dom *dom)
{
    mem_free(dom->kids);
    dom->kids = NULL;
    dom->len = dom->cap = 0;
}
