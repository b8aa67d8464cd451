// SPDX-License-Identifier: Apache-2.0
#pragma once
/* How the engine is made. Facts come in (put.c), give each workload its place (place.c): a holder
 * of quota, or waiting in a shape, or neither. A shape is all waiting workloads of one queue that
 * ask for the same with the same priority: if its first does not fit, none of it does, so work
 * grows with the number of shapes, not of workloads. A shape is tried, parked until what it lacks
 * is there (park.c), or set aside because somebody is not ready (scope.c). The loop of admit.c
 * takes the best of all queues, asks assign.c and preempt.c whether it fits, and goes on until
 * nobody is left to try. What time does is in due.c. */
#include "base/arena.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/str.h"
#include "core/admit/admit.h"
#include "core/admit/quota.h"

struct shape;
struct queue;
struct wl;
struct scope;
typedef VEC(struct shape *) shape_vec;
typedef VEC(struct queue *) queue_vec;
typedef VEC(struct wl *) wl_vec;

struct flavor {
    const char *name;
    bool exists;
    size_t unready;    /* holders on it that are not ready */
    shape_vec blocked; /* SCOPE_FLAVOR: who waits for them */
};

/* Those who may not be admitted together: the cluster, a tree of cohorts, or a queue. */
struct scope {
    size_t unready;       /* holders that are not ready */
    struct pq queues;     /* queues with shapes set aside here, the best first */
    struct shape *let_in; /* was let back to be tried */
    size_t opening;       /* place plus one in admit.opening */
};

struct group {
    const char **resources;
    size_t n_resources;
    struct flavor **flavors;
    size_t n_flavors;
    struct cell **cells; /* n_flavors rows of n_resources */
};

struct tree { /* of a root node: everything that belongs together */
    queue_vec queues, reservers;
    shape_vec less, more; /* parked shapes to try again when usage went down, or changed at all */
    shape_vec leveled;    /* shapes to be tried or set aside whose level may be otherwise after a
                             change */
    bool is_less, is_more, is_claims_dirty;
    struct scope scope;
};

struct cohort {
    struct node node;
    char *parent;
    char *spec;       /* as put; NULL: only named by others */
    struct tree tree; /* used while it is a root */
    bool is_in_cycle;
};

struct take { /* so much of a cell */
    struct cell *cell;
    amount amount;
};
typedef VEC(struct take) take_vec;

struct consent { /* a check that a queue asks for */
    const char *name;
    struct flavor **flavors;
    size_t n_flavors;
    bool is_missing, is_inactive;
};
struct answered { /* and what it said of a workload */
    const char *check;
    enum admit_answer answer;
    time_ms since, pause_ms;
};

struct queue {
    struct node node;
    struct tree own_tree; /* used while it is a root */
    struct tree *tree;
    char *spec, *cohort;
    bool is_known, needs_settling;
    struct admit_queue rules; /* pointers in it are not used */
    struct group *groups;
    size_t n_groups;
    VEC(struct consent) consents;
    const char *inactive, *inactive_message;

    struct map *shapes;
    struct pq tries;    /* shapes to be tried */
    struct pq parked;   /* all others */
    struct pq aside;    /* of those, the ones that wait for readiness in a scope */
    size_t n_claims;    /* of its workloads: wait for their victims to go, are in no shape */
    size_t head_slot;   /* in admit.heads */
    size_t scope_slot;  /* in scope.queues */
    struct scope scope; /* SCOPE_QUEUE */
    wl_vec holders;
    struct pq lowest; /* holders, the lowest priority first */
    take_vec reserve; /* of its nominal quota, kept from borrowers for its blocked head */
    size_t reserver;  /* place plus one in tree.reservers */
    VEC(struct local *) locals;

    size_t pending, reserving, admitted;
    uint64_t evictions[EVICTED_REASONS], admissions;
    bool is_changed;
};

struct local_use {
    struct cell *cell;
    amount reserved, used;
};
struct local {
    char *key;
    bool is_known, is_refused, is_changed;
    enum admit_stop stop;
    struct queue *queue; /* NULL: not put yet */
    wl_vec wls;
    VEC(struct local_use) use;
    size_t pending, reserving, admitted;
    uint64_t evictions[EVICTED_REASONS], admissions;
};

struct spec_need {
    const char *resource;
    int64_t amount;
    bool is_implied; /* "pods": only where a queue has quota for it */
};
struct spec_set {
    const char *name;
    int64_t count, min_count;
    struct spec_need *needs;
    size_t n_needs;
    struct flavor **unfit;
    const char **why;
    size_t n_unfit;
};
struct spec { /* what a workload asks for; shared by all that ask for the same */
    char *text;
    size_t refs;
    uint64_t id;
    struct spec_set *sets;
    size_t n_sets;
    int64_t spare; /* sum of count - min_count */
};

struct failed {
    struct flavor *flavor;
    int64_t count;
    time_ms until;
};
typedef VEC(struct failed) failed_vec;

struct facts {
    bool is_active, is_finished, is_deleted, has_quota, is_admitted, is_held;
    enum admit_evicted evicted, held_by;
    enum admit_ready ready;
    struct queue *queue; /* of its quota */
    time_ms reserved_at, admitted_at, evicted_at, requeue_at, first_evicted_at, ready_since;
    int64_t requeue_count, priority, missing;
    time_ms created, max_run_ms, past_run_ms;
};

struct grant { /* of one pod set */
    int64_t count;
    take_vec takes; /* one a need, in their order; cell NULL: nothing is needed */
};

struct wl {
    char *key, *uid;
    struct local *local;
    size_t local_slot;
    struct spec *spec;
    struct facts facts, put; /* as assumed, as last put */
    bool is_told;            /* in admit.told */
    time_ms stamp;           /* by which it is ordered */
    enum admit_state state;
    struct grant *grants; /* while it has quota; one a pod set */
    size_t n_grants;
    failed_vec failed, failed_before;
    VEC(struct answered) answers;
    struct heap_node due;

    struct shape *shape;
    size_t shape_slot;
    struct queue *pending_in; /* counted there */
    struct queue *holds_in;
    size_t holder_slot, lowest_slot;
    take_vec uses; /* what it holds, or claims */
    bool is_claiming;
    size_t claim_slot;
    int64_t *claim_counts; /* of what it claims, as in an attempt */
    struct cell **claim_picks;
    bool is_unready; /* counted in scopes */
    bool is_doomed;  /* holds quota and is evicted */
    bool is_counted_admitted;
    enum admit_state said; /* of the last DECIDED_WAIT */
};

enum shape_state { SHAPE_TRY, SHAPE_PARKED, SHAPE_ASIDE };
struct waiter {
    struct shape *shape;
    struct cell *cell;
    amount needed;
    size_t slot;
};
struct shape {
    struct queue *queue;
    struct spec *spec;
    int64_t priority;
    char *key;
    struct pq wls;
    enum shape_state state;
    uint32_t level;
    size_t try_slot, parked_slot, aside_slot;
    struct scope *scope;   /* aside: where; or which let it in */
    struct flavor *flavor; /* aside for SCOPE_FLAVOR */
    struct waiter *waiters;
    size_t n_waiters;
    size_t less_slot, more_slot, flavor_slot, leveled_slot; /* place plus one */
    bool lacks_quota; /* when last tried; holds while it is tried again, so that what it keeps from
                         others does not come and go */
    take_vec wants;   /* of its queue's own quota: what it keeps from borrowers then */
    take_vec uses;    /* what it would use, when it was last found to fit by borrowing */
    bool is_reserved; /* fits, but only with what others keep for their heads */
    bool is_touched;  /* parked in this step */
};

enum mode { MODE_NO_FIT, MODE_NO_CANDIDATES, MODE_PREEMPT, MODE_RECLAIM, MODE_FIT };
struct victim {
    struct wl *wl;
    enum admit_preempt_reason why;
};
struct attempt {
    struct wl *wl;
    struct queue *queue;
    struct shape *shape; /* NULL: it claims already */
    time_ms now;
    int64_t *counts; /* of the pod sets */
    enum mode mode;
    uint32_t level;
    struct cell **picks; /* for each need of each set, in order */
    take_vec uses;       /* summed up by cell */
    take_vec lacks;      /* a parked shape waits for any of these */
    bool is_fickle;      /* any change may help: sets compete for flavors */
    bool is_reserved;    /* fits, but only with what others' heads keep */
    VEC(struct victim) victims;
};

struct admit {
    struct admit_settings settings;
    struct rng rng;
    struct map *names; /* interned resources */
    struct map *flavors, *queues, *cohorts, *locals, *specs;
    struct map *wls;
    uint64_t next_spec;
    queue_vec queue_list;
    VEC(struct cohort *) cohort_list;
    bool is_tree_dirty;
    struct scope scope; /* SCOPE_CLUSTER */
    VEC(struct scope *) opening;
    struct pq heads; /* queues with something to try */
    VEC(struct tree *) stirred;
    VEC(struct cell *) freed; /* root cells */
    wl_vec claims;
    bool is_claims_dirty; /* some tree's are */
    bool are_all_claims_dirty;
    shape_vec touched;
    struct heap due;
    bool is_dirty;
    time_ms now; /* of admit_set() only */
    time_ms last_requeue_at;
    VEC(struct admit_decision) decisions;
    struct arena out, view;
    queue_vec changed;
    VEC(struct local *) changed_locals;
    struct attempt attempt;
    VEC(struct victim) candidates;
    wl_vec told; /* to be looked at for DECIDED_WAIT: held, claiming */
    struct str text;
};

/* names.c */
const char *intern(struct admit *admit, const char *name);
struct flavor *flavor_of(struct admit *admit, const char *name);
struct queue *queue_of(struct admit *admit, const char *name);
struct cohort *cohort_of(struct admit *admit, const char *name);
struct local *local_of(struct admit *admit, const char *key);
void queue_changed(struct admit *admit, struct queue *queue);
void local_changed(struct admit *admit, struct local *local);

/* spec.c */
struct spec *spec_of(struct admit *admit, const struct admit_workload *from);
void spec_unref(struct admit *admit, struct spec *spec);

/* tree.c */
void tree_rebuild(struct admit *admit);
void tree_unpark(struct admit *admit); /* quotas are about to change: everybody is to be tried */
void tree_done(struct tree *tree);
void queue_free(struct queue *queue);
void wl_free(struct admit *admit, struct wl *wl);
void queue_activity(struct admit *admit, struct queue *queue);

/* place.c: a workload's place follows from its facts. */
bool wl_is_before(const void *a, const void *b);
void wl_settle(struct admit *admit, struct wl *wl, time_ms now);
void wl_settle_local(struct admit *admit, struct local *local, time_ms now);
void wl_settle_queue(struct admit *admit, struct queue *queue, time_ms now);
void wl_tell(struct admit *admit, struct wl *wl);
void wl_unplace(struct admit *admit, struct wl *wl);
void wl_drop_grants(struct wl *wl);
void claim_take(struct admit *admit, struct wl *wl, const struct attempt *attempt);
void claim_change(struct wl *wl, const struct attempt *attempt); /* to what is tried */
void claim_drop(struct admit *admit, struct wl *wl);
void tree_stir(struct admit *admit, struct tree *tree, bool is_less);

/* shape.c */
void shape_join(struct admit *admit, struct wl *wl, time_ms now);
void shape_leave(struct admit *admit, struct wl *wl);
bool shape_is_before(const void *a, const void *b);
bool queue_head_is_before(const void *a, const void *b);
bool queue_aside_is_before(const void *a, const void *b);
struct wl *shape_head(const struct shape *shape);
void queue_rehead(struct admit *admit, struct queue *queue);

/* park.c */
void shape_park(struct admit *admit, struct shape *shape, const struct attempt *attempt);
void shape_set_aside(struct admit *admit, struct shape *shape, struct scope *scope,
                     struct flavor *flavor);
void shape_wake(struct admit *admit, struct shape *shape);
void shape_relevel(struct admit *admit, struct shape *shape, uint32_t level);
void shape_unpark(struct admit *admit, struct shape *shape); /* out of every list of waiting */
void park_wake_all(struct admit *admit);
void reserve_refresh(struct admit *admit, struct queue *queue);
bool reserve_allows(const struct attempt *attempt);
void park_stir(struct admit *admit); /* wakes whom the changes since then can help */

/* scope.c */
struct scope *scope_of(struct admit *admit, struct queue *queue);
void scope_count(struct admit *admit, struct wl *wl);
void scope_uncount(struct admit *admit, struct wl *wl);
void scope_recount(struct admit *admit, bool is_on);
void scope_let_in(struct admit *admit);
/* Somebody of its own queue, who comes first and was set aside, may be tried now, and is to be. */
bool scope_lets_in_before(struct admit *admit, const struct shape *shape);
bool scope_blocks(struct admit *admit, const struct attempt *attempt, struct scope **ret_scope,
                  struct flavor **ret_flavor);

/* assign.c */
void assign_try(struct admit *admit, struct attempt *attempt);
/* With what its workload claims, instead of the best: MODE_FIT, MODE_PREEMPT or MODE_NO_FIT. */
void assign_as_claimed(struct admit *admit, struct attempt *attempt);
void attempt_done(struct attempt *attempt);

/* preempt.c */
/* Whom to evict so that `uses` fit; false when nobody, or not enough, may be. */
bool preempt_search(struct admit *admit, struct attempt *attempt, const take_vec *uses);
/* Of what was found: the level of one use when the victims are gone. */
uint32_t preempt_level(const struct attempt *attempt, struct take use);
bool preempt_may_help(const struct queue *queue, int64_t priority);
bool preempt_may_reclaim(const struct queue *queue);

/* consent.c: admission checks. */
void consent_put(struct admit *admit, struct queue *queue, const struct admit_queue *from);
void consent_drop(struct queue *queue);
void consent_write(struct str *out, const struct admit_queue *from); /* equal texts: the same */
void consent_answers(struct admit *admit, struct wl *wl, const struct admit_workload *from);
/* The worst of all answers that its queue asks for; READY when it asks for none. `ret_check` is who
 * gave it, or NULL. */
enum admit_answer consent_of(const struct wl *wl, const struct queue *queue,
                             const char **ret_check);
/* When a workload that is to be tried again may be; 0 when nobody says. */
time_ms consent_retry_at(const struct wl *wl, const struct queue *queue, time_ms now);

/* due.c */
void due_arm(struct admit *admit, struct wl *wl, time_ms now);
void due_run(struct admit *admit, time_ms now);
/* When it loses its quota unless it gets ready, and when it has run for as long as it may; both
 * TIME_NEVER for never. */
time_ms due_patience(const struct admit *admit, const struct facts *facts);
time_ms due_over(const struct facts *facts);

/* decide.c */
struct admit_decision *decide(struct admit *admit, struct wl *wl, enum admit_decision_type type);
void decide_reset(struct admit *admit, struct wl *wl, const char *text, const char *message);
void decide_evict(struct admit *admit, struct wl *wl, enum admit_evicted reason, time_ms now);
void decide_admit(struct admit *admit, struct wl *wl, const struct attempt *attempt, time_ms now);
void decide_pass(struct admit *admit, struct wl *wl, time_ms now); /* checks agree */
void decide_preempt(struct admit *admit, const struct attempt *attempt, time_ms now);
void decide_waits(struct admit *admit);

/* ---- explain.c ---- */
/* Why one that has no quota waits, one line; lives until something is explained again. */
const char *explain_briefly(struct admit *admit, const struct wl *wl);
void amount_text(struct str *out, amount a);
int64_t amount_int(amount a);
