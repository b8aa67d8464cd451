// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "control/manager.h"
#include "core/place/place.h"

/* Pools: StatefulSets whose pods take the vreplicas of VPods. In parts:
 *   pool_state.c   tells the placement engine (core/place) of every change;
 *   pool_policy.c  its policies, from ConfigMaps;
 *   pool_vpod.c    places the vreplicas of one vpod and writes its status;
 *   pool_scale.c   how many pods there are, and compaction;
 *   pool_member.c  tells each pod what it has, in an annotation;
 *   pool.c         changes to keys, keys to those.
 *
 * Keys: "v/NS/NAME" a vpod, "p/NS/NAME" a pool, "m/NS/NAME" a pod of a pool. */
#define POOL_CAPACITY_NOTE "muster.dev/pod-capacity"       /* on the set: vreplicas a pod */
#define POOL_REFRESH_NOTE "muster.dev/refresh-period"      /* on the set: how often it may shrink */
#define POOL_AUTOSCALE_NOTE "muster.dev/autoscale"         /* on the set: "false" leaves replicas */
#define POOL_SHARE_NOTE "muster.dev/vreplicas"             /* on a pod: what it has */
#define POOL_UNSCHEDULABLE_NOTE "muster.dev/unschedulable" /* on a pod: "true", nothing new */
#define POOL_SCHEDULER_MAP "config-scheduler"
#define POOL_DESCHEDULER_MAP "config-descheduler"
#define POOL_CAPACITY 20
#define POOL_REFRESH_MS 100000
#define POOL_REFRESH_MIN_MS 100

struct pool_node {
    char *zone;
    enum place_node_state state;
};

struct pool_share { /* of a vpod on a pod, as its status says */
    int32_t vreplicas, first, total;
};

struct pool_vpod {
    struct pool *pool;
    char *name;
    VEC(struct place_at) committed; /* as the status says, ordinals of the engine */
    bool is_pending;
    bool is_uncommitted; /* decided otherwise than the status says */
};

struct pool {
    char *key; /* NS/NAME */
    char *ns, *name;
    struct place *place;
    struct map *vpods;   /* name to struct pool_vpod */
    struct map *pending; /* those with vreplicas without a place */
    struct map *shares;  /* ordinal to struct omap: name of the vpod to struct pool_share */
    struct map *bound;   /* ordinal to char *: what the engine was told of the pod */
    /* From the set. */
    bool has_set, is_autoscaled;
    int32_t start, replicas, capacity;
    time_ms refresh_ms;
    /* The periodic look; steady. Looks because something did not fit do not move it. */
    time_ms next_refresh;
    bool is_triggered;
    int32_t vacate_from; /* pods from here on are being emptied; -1: none */
    bool has_policy;     /* a good one */
};

struct pools {
    struct map *pools; /* NS/NAME to struct pool */
    struct map *nodes; /* name to struct pool_node */
};

/* ---- pool_state.c ---- */
struct pools *pools_new(void);
void pools_free(struct pools *pools);
struct pool *pools_get(struct pools *pools, const char *ns, const char *set);
/* Makes it, from all that is there, when it is new. */
struct pool *pools_need(struct control *control, const char *ns, const char *set);
void pool_forget_if_unused(struct pools *pools, struct pool *pool);
void pools_put_node(struct pools *pools, const struct obj *node);
void pools_drop_node(struct pools *pools, const char *name);
void pool_read_set(struct control *control, struct pool *pool, const struct obj *set_or_null);
yyjson_val *pool_configuration(struct control *control); /* the block `placement`, or NULL */
/* True: something that matters for placing has changed. */
bool pool_put_pod(struct pool *pool, const struct obj *pod);
bool pool_drop_pod(struct pool *pool, const char *name);
/* The pod as the engine knows it: -1: none of this pool. */
int32_t pool_ordinal(const struct pool *pool, const char *pod_name);
char *pool_pod_name(const struct pool *pool, int32_t ordinal);
void pool_vacate(struct pool *pool, int32_t from); /* -1: nothing (any more) */
void pool_put_vpod(struct control *control, struct pool *pool, const struct obj *vpod);
struct place_wish pool_wish(const struct obj *vpod);
void pool_drop_vpod(struct control *control, struct pool *pool, const char *name);
void pool_retry_pending(struct control *control, const struct pool *pool);
void pool_add_key(struct control *control, char what, const char *ns, const char *name);

/* ---- pool_policy.c ---- */
void pool_read_policy(struct control *control, struct pool *pool);

/* ---- pool_vpod.c, pool_scale.c, pool_member.c ---- */
void pool_reconcile_vpod(struct control *control, const char *ns, const char *name);
void pool_reconcile_pool(struct control *control, const char *ns, const char *name);
void pool_reconcile_member(struct control *control, const char *ns, const char *name);
