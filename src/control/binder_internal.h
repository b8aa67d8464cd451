// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "control/manager.h"
#include "core/place/bind.h"
#include "store/object.h"
#include <bsd/sys/queue.h>

#define TAINT_CORDONED "node.kubernetes.io/unschedulable" /* of a node with spec.unschedulable */

/* The binder in parts:
 *   binder.c        hears of pods and nodes, asks the engine, writes bindings;
 *   binder_class.c  pods that fit and fail together: their rules as the engine wants them;
 *   binder_near.c   pods that want to be near others, or away from them;
 *   binder_gang.c   pods that are bound all or not at all;
 *   binder_why.c    why a pod has no node;
 *   binder_match.c  whether a node's labels and taints suit a pod;
 *   binder_room.c   what pods ask for and nodes have. */

/* Names of resources, each with a number. The first three are always there. */
enum { RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_PODS, RESOURCE_KNOWN };
struct resource_names {
    VEC(char *) list;
};
void resource_names_init(struct resource_names *names);
void resource_names_done(struct resource_names *names);

/* Amounts by number: thousandths of cpu, whole units of everything else. Missing is 0. */
struct amounts {
    VEC(int64_t) of;
};
void amounts_done(struct amounts *amounts);
int64_t amounts_get(const struct amounts *amounts, size_t resource);
void amounts_add(struct amounts *to, const struct amounts *what, int64_t times);
/* {"cpu":"2","memory":"1Gi"} */
void amounts_read(struct resource_names *names, yyjson_val *map, struct amounts *out);
/* All that a pod asks for: its containers together or the largest of its init containers, what it
 * takes besides, and one place. */
void amounts_of_pod(struct resource_names *names, yyjson_val *spec, struct amounts *out);

/* NULL when the node's labels, taints and conditions let the pod in, else why not, in
 * Kubernetes' words ("node(s) were unschedulable"). */
const char *match_problem(const struct obj *node, yyjson_val *pod_spec, char *buf, size_t size);
/* How much the pod would like the node: preferred affinity less taints that are wishes. */
int64_t match_preference(const struct obj *node, yyjson_val *pod_spec);
bool match_one_tolerates(yyjson_val *toleration, yyjson_val *taint);
/* Does one of the tolerations bear this taint? */
bool match_tolerates(yyjson_val *tolerations, yyjson_val *taint);

/* ---- what the binder keeps ---- */

struct room { /* of one node */
    char *name;
    size_t id;        /* with the engine */
    struct obj *node; /* NULL: it is gone, or was never told of */
    struct amounts has;
};

#define SPREADS_MAX 4 /* constraints of one pod that are looked at */
struct pod_class;
struct spread { /* a topology spread constraint, or an exclusive topology */
    struct pod_class *class;
    const char *key; /* of the topology; in the sample */
    struct bind_class *rules;
    struct label_selector *selector; /* of the pods that count; NULL: none */
    bool is_hard;
};
struct pod_term;
struct guest;
TAILQ_HEAD(guest_list, guest);
struct pod_class {
    char *name; /* signature */
    struct obj *sample;
    struct amounts wants;
    const char *exclusive; /* topology key, in the sample; or NULL */
    struct spread spreads[SPREADS_MAX];
    size_t n_spreads;             /* the first one orders the nodes; there is always one */
    VEC(struct pod_term *) terms; /* of `near`, each with a reference */
    VEC(struct bind_near) near;
    size_t n_wanted;      /* of those, the first ones */
    const char *near_key; /* topology of the first that is wanted, in the sample; or NULL */
    bool is_near_itself;
    bool saw_no_node;         /* when it was last explained why its pods wait */
    struct guest_list guests; /* that wait */
    uint64_t explained_at;    /* version of which `why` tells */
    struct str why;
};

struct gang {
    char *name;
    char *set; /* UID of the JobSet whose pods it has, or NULL */
    int64_t size;
    int64_t n_done;   /* of a JobSet: members that have succeeded and do not come back */
    bool is_outdated; /* n_done is to be counted again */
    size_t n_members, n_waiting, n_placed;
    struct guest_list waiting;
    uint64_t tried_at; /* version at which it did not fit */
    bool is_told;      /* all members were told why it does not fit */
    struct str why;
};

struct guest {                   /* a pod that takes room, or waits for some */
    TAILQ_ENTRY(guest) siblings; /* in its class or gang, while it waits */
    char *key;                   /* "namespace/name" */
    struct obj *pod;             /* as last heard of */
    struct room *room;           /* where it takes room, or NULL */
    struct amounts wants;
    char *owner;      /* whose exclusive domain it shares, or NULL */
    bool is_promised; /* its gang has room for it; nothing is written yet */
    bool is_assumed;  /* the write was asked for, the pod does not show it yet */
    bool is_news;     /* the pod got its node from us, and nobody was told yet */
    bool is_claimed;
    VEC(struct pod_term *) bears; /* its anti-affinity, while it takes room */
    struct gang *gang;            /* or NULL */
    struct pod_class *class;      /* while it waits by itself */
    bool waits_in_gang;
    int64_t generation; /* of the pod that waits */
};

struct binder {
    struct resource_names names;
    time_ms news_at;     /* steady: if nothing had been told since, all of the burst were free */
    struct map *rooms;   /* name of the node to struct room */
    struct map *guests;  /* UID of the pod to struct guest */
    struct map *classes; /* signature to struct pod_class */
    struct map *gangs;   /* name to struct gang */
    struct map *terms;   /* name to struct pod_term */
    uint64_t last_term;
    struct bind *bind;
    size_t n_waiting;
    bool is_trying;   /* a gang: no class may go meanwhile */
    bool is_nearer;   /* some domain has got a pod that somebody wants to be near */
    uint64_t version; /* of nodes and what is taken on them */
};

/* binder_class.c */
struct pod_class *binder_class_need(struct binder *binder, const struct guest *guest);
bool binder_class_free(void *binder, const char *key, void *class);
bool binder_class_unshun(void *binder, const char *key, void *class);
/* The best room for one more pod of the class, or NULL. */
struct room *binder_class_pick(struct binder *binder, struct pod_class *class, const char *owner);
/* The guest takes room, or gives it back: amounts, spreads and claims. */
void binder_guest_take(struct binder *binder, struct guest *guest, struct room *room);
void binder_guest_give(struct binder *binder, struct guest *guest);
/* The pod as it is now; who counts it by its labels is told when those have changed. */
void binder_guest_renew(struct binder *binder, struct guest *guest, const struct obj *pod);
/* Topology that the pod's Job wants for itself, or NULL; and whose pods share it. */
const char *exclusive_key(const struct obj *pod);
char *exclusive_owner(const struct obj *pod);

/* binder_near.c */
/* Names what is asked for and not done. */
bool near_unsupported(const struct obj *pod, struct str *out);
/* What a class's signature has to tell: who minds the pod, and whether it means itself. */
void near_sign(struct binder *binder, const struct obj *pod, struct str *out);
void near_begin_class(struct binder *binder, struct pod_class *class);
void near_end_class(struct binder *binder, struct pod_class *class);
/* It wants to be near its own, and there is none yet: any domain will do. */
bool near_may_be_first(const struct pod_class *class);
/* The guest has got its room, or is about to lose it. */
void near_take(struct binder *binder, struct guest *guest);
void near_give(struct binder *binder, struct guest *guest);
void near_forget(struct binder *binder, struct guest *guest); /* all of it ends */

/* binder_gang.c */
void binder_gang_join(struct binder *binder, struct cache *cache, struct guest *guest);
void binder_gang_leave(struct binder *binder, struct guest *guest);
void binder_gang_wait(struct binder *binder, struct guest *guest);
void binder_gang_stop_waiting(struct binder *binder, struct guest *guest);
/* A Job has changed: does it leave a gang that waits with fewer to wait for? The first that waits,
 * or NULL. */
struct guest *binder_gang_job(struct binder *binder, const struct change *change);
int64_t binder_gang_wants(struct cache *cache, struct gang *gang); /* members that are to come */
bool binder_gang_is_due(const struct binder *binder, struct cache *cache, struct gang *gang);
/* Room for all that wait, who are promised it, or for none: then gang->why tells why. */
struct guest_vec {
    VEC(struct guest *) of;
};
bool binder_gang_try(struct binder *binder, struct gang *gang, struct guest_vec *ret_members);

/* binder_why.c: "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable." */
const char *binder_why(struct binder *binder, struct guest *guest);
