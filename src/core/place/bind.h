// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Binds pods to nodes with the trees that place vreplicas on pods (dom.h): the same engine, another
 * profile. Nodes have amounts of several resources. Pods that ask for the same, with the same
 * rules, are of one class; a class keeps its nodes in a tree root > domains > nodes in which the
 * best node that has room is on top. So a pod costs a look at the top, and what it takes costs one
 * sift for each class. Rules are asked once for each class and node, and again when the node
 * changes.
 *
 * Order: fewest pods of the spread in the domain (when the class has one), then what is preferred,
 * then the largest share of room left, then the node that was told of first. */

#define BIND_NONE SIZE_MAX
#define BIND_PREFERENCE_MAX 10000

struct bind;
struct bind_class;

struct bind_fit {       /* what the rules say of one node */
    bool is_allowed;    /* labels, taints, state */
    int64_t preference; /* between -BIND_PREFERENCE_MAX and BIND_PREFERENCE_MAX */
    const char *domain; /* of the class's topology key; NULL: the node has none */
};
struct bind_rules {
    void (*judge)(void *arg, void *node, struct bind_fit *fit);
    void *arg;
    const int64_t *wants; /* amounts by number of the resource; copied */
    size_t n;
    bool has_domains;      /* spread or exclusive: nodes without a domain take nothing */
    bool is_spread;        /* pods that were counted make their domain less wanted */
    int64_t max_skew;      /* 0: that is a wish; else a bound */
    const char *exclusive; /* topology key: one owner a domain; NULL: not asked for; copied */
};

struct bind *bind_new(size_t shared); /* resources below `shared` make up the share of room left */
void bind_free(struct bind *bind);

/* A number for each node, for good; `node` is handed to the rules. NULL: it is gone, and what is
 * taken on it is remembered. */
size_t bind_add_node(struct bind *bind);
void bind_set_node(struct bind *bind, size_t id, void *node, const int64_t *has, size_t n);
void *bind_node(const struct bind *bind, size_t id);
size_t bind_nodes(const struct bind *bind); /* that are there */
int64_t bind_left(const struct bind *bind, size_t id, size_t resource);
/* Amounts are taken, or given back (sign -1). */
void bind_take(struct bind *bind, size_t id, const int64_t *amounts, size_t n, int sign);

struct bind_class *bind_class_new(struct bind *bind, const struct bind_rules *rules);
void bind_class_free(struct bind *bind, struct bind_class *class);
/* One pod of the class's spread more or less on the node. */
void bind_count(struct bind *bind, struct bind_class *class, size_t id, int sign);
/* The pods of one owner keep others of the same topology key out of their domain, and stay in it
 * together. False: nothing to claim, or somebody else has it. */
bool bind_claim(struct bind *bind, struct bind_class *class, size_t id, const char *owner,
                int sign);

enum bind_problem { BIND_FITS, BIND_NO_ROOM, BIND_UNEVEN, BIND_EXCLUDED };
/* The best node for one more pod, or BIND_NONE and why. owner: NULL unless exclusive. */
size_t bind_pick(struct bind *bind, struct bind_class *class, const char *owner,
                 enum bind_problem *ret_problem);
/* The domain that the owner's pods are in, or NULL. */
const char *bind_home(const struct bind *bind, const struct bind_class *class, const char *owner);
/* It was tried: not this node again, until bind_unskip(); not its domain for owners that have none,
 * until bind_unshun(). */
void bind_skip(struct bind_class *class, size_t id);
void bind_unskip(struct bind *bind, struct bind_class *class);
void bind_shun(struct bind *bind, struct bind_class *class, size_t id);
void bind_unshun(struct bind *bind, struct bind_class *class);
/* Why not this node, when the rules and the amounts let it. */
enum bind_problem bind_why(struct bind *bind, struct bind_class *class, size_t id,
                           const char *owner);
