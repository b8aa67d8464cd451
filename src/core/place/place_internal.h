// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "core/place/dom.h"
#include "core/place/place.h"

/* Two trees over the same domains: TREE_ALL holds every pod that takes something and is always
 * there; TREE_SOME is built for one run over the pods that one vpod has, and is empty otherwise. */
enum { TREE_ALL, TREE_SOME, TREE_COUNT };

/* One vreplica more or less in a zone, on a node or on a pod. The whole range of ordinals is as
 * much as one vreplica, so with equal weights spread goes before order. */
#define UNIT (INT64_C(1) << 20)

struct zone {
    char *name; /* "": of nodes without one */
    struct dom dom[TREE_COUNT];
    int64_t count;    /* vreplicas of the vpod that a run is about; 0 between runs */
    int64_t nodes;    /* that are told of or waited for */
    int64_t ok_nodes; /* of those that take something */
};

struct node {
    char *name;
    struct zone *zone; /* NULL: nobody told of this node yet */
    enum place_node_state state;
    struct dom dom[TREE_COUNT];
    int64_t count;
    VEC(struct pod *) pods;
};

struct pod {
    int32_t ordinal;
    bool exists, is_leaving;
    bool is_schedulable; /* as pod_renew() found it */
    bool is_open;        /* and has room */
    struct node *node;   /* NULL: not bound */
    size_t seat;         /* in the node's list */
    struct dom dom[TREE_COUNT];
    int64_t used;  /* vreplicas of all vpods */
    int64_t count; /* of the vpod that a run is about; 0 between runs */
    bool is_touched;
    struct pod *next_held; /* held back by EvenPodSpread, in a run */
};

#define POD_BLOCK 32

struct vpod {
    char *name;
    bool is_listed; /* else only something is reserved for it */
    struct place_wish wish;
    struct place_list committed, placed;
    struct place_list reserved; /* zeroes included */
    int64_t total;              /* of `placed` */
    uint64_t placed_at;         /* when `placed` changed: a number that grows */
};

struct place {
    struct place_policy policy;
    int32_t capacity, replicas;
    int64_t ordinal_unit; /* penalty of one ordinal, for the number of replicas */
    struct map *nodes, *zones;
    VEC(struct pod *) pods; /* by ordinal; NULL: nothing known */
    VEC(struct pod *)
    blocks; /* where they are: POD_BLOCK side by side, since runs mostly go by
               ordinal; NULL: none of these is known */
    struct dom root[TREE_COUNT];
    int64_t n_nodes, n_zones;      /* that take something */
    int64_t n_schedulable, n_open; /* pods; open: with room */
    int32_t last_used;             /* -1: none */
    struct map *vpods;             /* name to struct vpod */
    int64_t pending;               /* of all vpods */
    int64_t surplus;               /* of all pods, above their capacity */
    uint64_t last_placed;
    VEC(struct pod *) touched; /* by the run that is going on */
};

/* pool.c */
struct pod *pod_need(struct place *place, int32_t ordinal);
static inline struct pod *pod_get(const struct place *place, int64_t ordinal)
{
    return ordinal >= 0 && (size_t)ordinal < place->pods.len ? place->pods.items[ordinal] : NULL;
}
void pod_use(struct place *place, struct pod *pod, int64_t more); /* `used` changes */
enum place_reason pod_reason(const struct place *place, int32_t ordinal);

/* run.c: what one vpod gets, from what is placed to `want` in all; leaves the answer in `ret`. */
void run_spread(struct place *place, const struct vpod *vpod, struct place_list *ret);
void run_add(struct place *place, const struct vpod *vpod, struct place_list *ret);
void run_fill(struct place *place, const struct vpod *vpod, struct place_list *ret);
void run_remove(struct place *place, const struct vpod *vpod, struct place_list *ret);
int64_t run_pods_max(const struct place *place, const struct vpod *vpod); /* INT64_MAX: any */

/* vpods.c */
int32_t list_get(const struct place_list *list, int32_t ordinal);
void vpod_use(struct place *place, const struct place_list *list, int sign);
