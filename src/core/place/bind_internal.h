// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/heap.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/place/bind.h"
#include "core/place/dom.h"

/* Shared by bind.c, which keeps nodes and classes, and near.c, which counts pods by domains. */

struct amounts_of {
    VEC(int64_t) at;
};

struct spot { /* a node */
    void *node;
    struct amounts_of has, taken;
};

struct area { /* a domain, in a class */
    char *name;
    struct dom dom;
    struct heap_node order; /* by count, among the areas with allowed nodes */
    int64_t count;
    size_t allowed; /* nodes */
    bool is_shunned;
};

struct seat { /* a node, in a class */
    struct dom dom;
    struct area *area; /* NULL: in none, or not allowed */
    int64_t preference;
    int64_t count; /* of pods of the spread, also while it is not allowed */
};

struct bind_class {
    struct bind_rules rules;
    struct amounts_of wants;
    char *exclusive;
    struct dom root;
    VEC(struct seat *) seats; /* by node */
    struct map *areas;
    struct heap least;
    VEC(struct area *) shunned;
    VEC(size_t) skipped;
    VEC(struct bind_near) near;
    size_t index; /* in bind->classes */
};

struct claim { /* on a domain of a topology key */
    char *owner;
    size_t pods;
};

struct bind {
    size_t shared, n_nodes;
    VEC(struct spot *) spots;
    VEC(struct bind_class *) classes;
    VEC(struct bind_term *) terms;
    const char *(*domain_of)(void *node, const char *key);
    struct map *claims; /* "key\nvalue" to struct claim */
    struct map *homes;  /* "key\nowner" to the name of its domain */
};

/* bind.c: the seat is offered, or not any more, as amounts and counts are now. */
void seat_renew(const struct bind *bind, struct bind_class *class, size_t id);

/* near.c */
enum bind_problem near_problem(const struct bind_class *class, size_t id);
int64_t near_preference(const struct bind_class *class, size_t id);
void near_join(struct bind_class *class, const struct bind_rules *rules);
void near_leave(struct bind_class *class);
void near_add_node(struct bind *bind, size_t id); /* the node is in no domain yet */
void near_set_node(struct bind *bind, size_t id); /* it may be in others now */
void near_free(struct bind *bind);
