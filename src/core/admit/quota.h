// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/vec.h"
#include "core/admit/pq.h"
#include <stdbool.h>
#include <stdint.h>

/* Quota as a tree: queues are leaves, cohorts above them. A cell is one resource of one flavor at
 * one node. What a node does not lend stays `local` to it; the rest of its quota, and its usage
 * above `local`, count at its parent. So a look at what is available, and each change of usage,
 * walks from a queue to its root and touches nobody else. */
typedef __int128 amount;         /* thousandths; sums of int64 always fit */
#define AMOUNT_NONE ((amount)-1) /* no limit */

struct flavor;
struct node;
struct cell {
    struct node *node;
    struct flavor *flavor;
    const char *resource; /* interned: compare the pointer */
    struct cell *parent;  /* the same at the node above */
    amount nominal, borrowing, lending;
    amount subtree;   /* quota of this node and of what those below lend */
    amount local;     /* of it, what is not lent further up */
    amount potential; /* the most that can ever be available here */
    amount usage;
    amount reserved, admitted; /* of queues, for people: by holders, by those who run */
    /* Of queues: shapes that wait for an amount here, least first (park.c). */
    struct pq waiters;
    size_t asking; /* place plus one in the root cell's `askers` */
    /* Of roots: */
    VEC(struct cell *) askers; /* cells of queues below with waiters */
    bool is_freed;
};

struct node {
    const char *name;
    struct node *parent, *root; /* root of a root is itself */
    uint32_t height;            /* above the deepest queue below it */
    bool is_queue;
    long depth;
    VEC(struct cell *) cells; /* never freed while the node is: others keep pointers to them */
};

struct cell *cell_find(const struct node *node, const struct flavor *flavor, const char *resource);
struct cell *cell_make(struct node *node, struct flavor *flavor, const char *resource);
void cells_free(struct node *node);

/* Children first, so that a tree is worked out from its leaves: quotas are set and usage of queues
 * is right, all else is computed. */
void quota_derive(struct node *node);
/* Parents first, after all are derived. */
void quota_derive_potential(struct node *node);

amount quota_available(const struct cell *cell);
/* Would `more` go above what this node has by itself? */
bool quota_borrows(const struct cell *cell, amount more);
/* Height of the lowest node whose own quota holds it: 0 is the queue itself. *ret_home is that
 * node's cell, NULL when there is none; if it is not the root, quota lent to others can be
 * reclaimed. */
uint32_t quota_level(struct cell *cell, amount more, struct cell **ret_home);
void quota_take(struct cell *cell, amount more);
void quota_give(struct cell *cell, amount less);
struct cell *cell_root(struct cell *cell);
