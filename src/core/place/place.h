// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/vec.h"
#include "core/place/policy.h"

/* Where the vreplicas of vpods run: on which pods of one pool (a StatefulSet), within the capacity
 * of each, spread over zones, nodes and pods as the policy says.
 *
 * A `struct place` lives as long as its pool and is told of every change. It keeps what is free on
 * each pod and a tree root > zones > nodes > pods in which the best pod is always on top, so a
 * vreplica costs a walk of that tree, O(log pods), and nothing is ever counted again.
 *
 * One authority for counts: what a vpod's status says (committed), overruled by what was decided
 * and is not in the status yet (reserved). place_schedule() reserves its answer by itself. */

#define PLACE_PODS_MAX (1 << 20)
#define PLACE_VREPLICAS_MAX (1 << 22) /* of one vpod; more is taken as so many */

struct place;

struct place_at { /* so many vreplicas on the pod with this ordinal */
    int32_t ordinal;
    int32_t vreplicas;
};
struct place_list { /* ascending ordinals, no zeroes */
    VEC(struct place_at) at;
};
void place_list_done(struct place_list *list);

struct place *place_new(const struct place_policy *policy, int32_t capacity);
void place_free(struct place *place); /* NULL is fine */
/* A copy to try things on. */
struct place *place_copy(const struct place *place);
void place_set_policy(struct place *place, const struct place_policy *policy);
void place_set_capacity(struct place *place, int32_t capacity); /* vreplicas a pod; all alike */

/* ---- nodes and pods ---- */

enum place_node_state { PLACE_NODE_OK, PLACE_NODE_CORDONED, PLACE_NODE_UNREACHABLE };
/* New or changed. No zone (NULL) is a zone of its own. */
void place_set_node(struct place *place, const char *name, const char *zone,
                    enum place_node_state state);
void place_remove_node(struct place *place, const char *name);
/* How many pods are wanted. Pods from there on get nothing new. */
void place_set_replicas(struct place *place, int32_t replicas);
int32_t place_replicas(const struct place *place);
/* New or changed. node NULL: not bound yet. is_leaving: it is marked or being deleted, and gets
 * nothing new. A node that nobody told of makes the pod wait for it. */
void place_set_pod(struct place *place, int32_t ordinal, const char *node, bool is_leaving);
void place_remove_pod(struct place *place, int32_t ordinal); /* its vreplicas stay where they are */

/* ---- vpods ---- */

enum place_rebalance {
    PLACE_SPREAD_AGAIN, /* growth places all vreplicas of the vpod again, as Knative has it */
    PLACE_MINIMAL,      /* growth adds, shrinking takes away; nothing else moves */
};
struct place_wish {
    int32_t vreplicas;
    int32_t max_pods; /* 0: no limit besides NumPartitions */
    enum place_rebalance rebalance;
};
/* New or changed: what it wants and what its status says. What is reserved for it stays, but for
 * pods about which status and reservation agree. */
void place_set_vpod(struct place *place, const char *name, const struct place_wish *wish,
                    const struct place_at *committed, size_t n);
void place_remove_vpod(struct place *place, const char *name); /* with what is reserved for it */
/* Of a vpod that nobody told of a reservation takes capacity only. vreplicas may be 0: it leaves
 * that pod. */
void place_reserve(struct place *place, const char *name, int32_t ordinal, int32_t vreplicas);
/* The write that was to commit the reservation has failed: only the status counts again. */
void place_release(struct place *place, const char *name);

/* ---- decisions ---- */

struct place_result {
    struct place_list placements; /* all of the vpod's */
    int64_t placed, pending;      /* pending: wanted, and there is no place */
    bool is_changed;              /* something is placed elsewhere than before */
};
void place_result_done(struct place_result *result);
/* Places or removes vreplicas of one vpod until it has as many as it wants, or no pod takes more.
 * What fits stays placed. The answer is reserved. False: there is no such vpod. */
bool place_schedule(struct place *place, const char *name, struct place_result *ret_result);
/* What is placed now, committed and reserved. False: there is no such vpod. */
bool place_placements(const struct place *place, const char *name, struct place_list *ret_list);
/* Takes all vreplicas of the vpod off the pod, as a reservation; how many there were. */
int32_t place_evict(struct place *place, const char *name, int32_t ordinal);
/* More than the pods take, all added up: two were given the same room by deciders who did not know
 * of each other, or a pod takes less than it did. */
int64_t place_surplus(const struct place *place);
/* Who is to move first: of those on the first pod that has too much, the one that was placed last;
 * NULL: no pod has. Valid until vpods change. */
const char *place_crowder(const struct place *place);
/* Moves what the vpod has on pods that have too much, as far as it is too much there, to others.
 * All of it or nothing, and nothing else moves. False: there is no such vpod. */
bool place_relieve(struct place *place, const char *name, struct place_result *ret_result);
int64_t place_pending(const struct place *place); /* of all vpods: wanted and not placed */
/* The highest ordinal with a vreplica, or -1; for tests. */
int32_t place_last_used(const struct place *place);

enum place_reason { /* why a pod takes no (further) vreplica of a vpod */
                    PLACE_TAKES,
                    PLACE_BEYOND,      /* its ordinal is not below `replicas` */
                    PLACE_MISSING,     /* the pod does not exist */
                    PLACE_UNBOUND,     /* it is on no node, or on one that is not known */
                    PLACE_CORDONED,    /* its node gets nothing new */
                    PLACE_UNREACHABLE, /* its node is lost */
                    PLACE_LEAVING,
                    PLACE_FULL,       /* PodFitsResources */
                    PLACE_TOO_SPREAD, /* NoMaxResourceCount or maxPods: the vpod is on as many pods
                                         as it may */
                    PLACE_UNEVEN, /* EvenPodSpread: one more would be too many against the others */
                    PLACE_NO_POLICY, /* there is no scheduler policy */
                    PLACE_REASON_COUNT,
};
const char *place_reason(enum place_reason reason); /* "full" */
struct place_refusal {
    int32_t ordinal;
    enum place_reason reason;
    int64_t have, limit; /* 10 of 10 vreplicas, 4 against at most 3, on 5 of 5 pods */
};
/* "pod 3: full, 10 of 10 vreplicas" without the pod */
void place_refusal_text(const struct place_refusal *refusal, struct str *out);
/* One for every pod below `replicas`, PLACE_TAKES among them. */
struct place_refusals {
    VEC(struct place_refusal) of;
};
void place_explain(const struct place *place, const char *name, struct place_refusals *ret_list);

#define PLACE_COMPUTED (-1)
/* How many pods there should be. pending: PLACE_COMPUTED takes place_pending(). may_shrink: this
 * is the periodic look, not one because something did not fit. The period must not be started
 * again by such looks, or they keep the pool from ever shrinking. */
int32_t place_autoscale(const struct place *place, int64_t pending, bool may_shrink);

struct place_eviction {
    const char *vpod; /* as long as the vpod is there */
    int32_t ordinal, vreplicas;
};
struct place_evictions {
    VEC(struct place_eviction) of;
};
/* What to take off the last pods so that they can go; empty unless all of it was found to fit on
 * the others. Changes nothing: place_evict() does, then place_schedule(). */
void place_compact(const struct place *place, struct place_evictions *ret_evictions);

/* ---- for those who draw ---- */

struct place_pod_view {
    int32_t ordinal, capacity;
    int64_t used;
    enum place_reason reason; /* why it gets nothing new from anybody, or PLACE_TAKES */
    const char *node, *zone;  /* NULL: none */
};
/* Of every pod that exists or has something on it, ascending. */
void place_each_pod(const struct place *place,
                    void (*each)(void *arg, const struct place_pod_view *pod), void *arg);
/* How many there are that take something; for tests. */
size_t place_zones(const struct place *place);
size_t place_nodes(const struct place *place);
