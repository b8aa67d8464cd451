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
struct bind_term;

/* Pods that a class wants to be near, or away from. A term counts pods by the domains of a topology
 * key; whom it counts is the host's word (bind_term_count). */
enum bind_nearness {
    BIND_WANTS,   /* the node's domain has such a pod */
    BIND_AVOIDS,  /* it has none; a node without a domain is fine */
    BIND_PREFERS, /* each such pod adds `weight`, which may be negative */
};
struct bind_near {
    struct bind_term *term;
    enum bind_nearness how;
    int64_t weight;
};

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
    const struct bind_near *near; /* copied; the terms outlive the class */
    size_t n_near;
    bool is_near_itself; /* as long as there is no pod that it wants to be near, one of the class
                            may be the first, wherever there are domains */
};

struct bind *bind_new(size_t shared); /* resources below `shared` make up the share of room left */
/* In which domain of a topology key a node is, or NULL; to be told before the first term. */
void bind_domains(struct bind *bind, const char *(*domain_of)(void *node, const char *key));
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

struct bind_term *bind_term_new(struct bind *bind, const char *key);
void bind_term_free(struct bind *bind, struct bind_term *term); /* no class uses it any more */
/* So many of the term's pods more, or less, on the node. True: its domain has its first. */
bool bind_term_count(struct bind *bind, struct bind_term *term, size_t id, int64_t by);
/* Of all domains. */
int64_t bind_term_total(const struct bind_term *term);

enum bind_problem {
    BIND_FITS,
    BIND_NO_ROOM,
    BIND_UNEVEN,
    BIND_EXCLUDED,
    BIND_NOT_NEAR, /* none of the pods that it wants to be near is there */
    BIND_TOO_NEAR, /* one that it avoids is */
};
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
