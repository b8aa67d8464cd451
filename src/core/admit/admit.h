// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/timetext.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The engine of admission: decides which gang gets quota, when one that does not get ready loses
 * it, and when it may try again. The host puts what the objects say (admit_put_*), asks for
 * decisions (admit_step) and writes them. A decision holds inside from the moment it is given; the
 * host confirms it by putting the workload with what was written, or takes it back with
 * admit_undo().
 *
 * Everything put is copied. Amounts are thousandths, requests are per pod. Names of workloads and
 * local queues are "namespace/name"; 0 is "no time". */
struct admit;

/* ---- settings ---- */

enum admit_scope { SCOPE_CLUSTER, SCOPE_COHORT, SCOPE_QUEUE, SCOPE_FLAVOR };
#define ADMIT_NO_LIMIT (-1)

struct admit_settings {
    bool waits_for_ready;    /* waitForPodsReady.enable: the two timers and what follows */
    time_ms timeout_ms;      /* admitted to ready */
    time_ms recovery_ms;     /* not ready any more to ready again; 0: no timer */
    bool blocks;             /* blockAdmission */
    enum admit_scope scope;  /* who is blocked by a gang that is not ready */
    bool orders_by_creation; /* requeuingStrategy.timestamp: Creation; else Eviction */
    int64_t limit_count;     /* requeues before it is deactivated, ADMIT_NO_LIMIT: none */
    time_ms limit_ms;        /* deactivated this long after its first eviction since it was ready;
                                0: no limit */
    time_ms base_ms, max_ms; /* pauses: base, 2 base, 4 base … max */
    time_ms reset_after_ms;  /* ready for this long: the count is 0 again; 0: never */
};
/* What design and documents give when nothing is configured: the feature is off. */
void admit_settings_default(struct admit_settings *settings);

struct admit *admit_new(const struct admit_settings *settings, uint64_t seed);
void admit_free(struct admit *admit);
void admit_set(struct admit *admit, const struct admit_settings *settings, time_ms now);

/* ---- what the objects say ---- */

enum admit_strategy { BEST_EFFORT_FIFO, STRICT_FIFO };
enum admit_stop { STOP_NONE, STOP_HOLD, STOP_HOLD_AND_DRAIN };
enum admit_within { WITHIN_NEVER, WITHIN_LOWER, WITHIN_LOWER_OR_NEWER_EQUAL };
enum admit_reclaim { RECLAIM_NEVER, RECLAIM_LOWER, RECLAIM_ANY };

struct admit_quota {
    int64_t nominal, borrowing, lending; /* the last two: ADMIT_NO_LIMIT for none */
};
struct admit_group {
    const char *const *resources;
    size_t n_resources;
    const char *const *flavors; /* in order of preference */
    size_t n_flavors;
    const struct admit_quota *quotas; /* n_flavors rows of n_resources */
};
struct admit_preemption {
    enum admit_within within;
    enum admit_reclaim reclaim;
    bool borrows_within_cohort; /* borrowWithinCohort.policy LowerPriority */
    bool has_threshold;         /* maxPriorityThreshold */
    int64_t threshold;
};
/* An admission check: others have to agree before a workload that has quota is admitted. */
struct admit_check {
    const char *name;
    const char *const *flavors; /* it is asked for those who get one of these; none: for all */
    size_t n_flavors;
    bool is_missing;  /* there is no such AdmissionCheck … */
    bool is_inactive; /* … or it says of itself that it does not work: the queue is not used */
};
struct admit_queue { /* a ClusterQueue */
    const char *name;
    const char *cohort; /* NULL: none */
    enum admit_strategy strategy;
    enum admit_stop stop;
    const struct admit_group *groups;
    size_t n_groups;
    struct admit_preemption preemption;
    bool borrow_tries_next;  /* flavorFungibility.whenCanBorrow: TryNextFlavor; default false */
    bool preempt_tries_next; /* whenCanPreempt: TryNextFlavor; Kueue's default is true */
    bool prefers_preemption; /* preference: PreemptionOverBorrowing */
    const struct admit_check *checks;
    size_t n_checks;
};
struct admit_cohort {
    const char *name;
    const char *parent; /* NULL: root */
    const struct admit_group *groups;
    size_t n_groups;
};
struct admit_local { /* a LocalQueue */
    const char *key;
    const char *queue;
    enum admit_stop stop;
    bool is_namespace_refused; /* the ClusterQueue's namespaceSelector does not match */
};

struct admit_need {
    const char *resource;
    int64_t amount; /* of one pod */
};
struct admit_unfit {
    const char *flavor;
    const char *why; /* "untolerated taint spot", "node selector gpu=a100 does not match" */
};
struct admit_pod_set {
    const char *name;
    int64_t count;
    int64_t min_count; /* partial admission; 0: all or nothing */
    const struct admit_need *needs;
    size_t n_needs;
    const struct admit_unfit *unfit; /* flavors that do not suit it */
    size_t n_unfit;
};
struct admit_pick {
    const char *resource, *flavor;
    int64_t amount; /* of all pods of the set */
};
struct admit_assigned {
    const char *pod_set;
    int64_t count;
    const struct admit_pick *picks;
    size_t n_picks;
};

enum admit_evicted {
    EVICTED_NOT,
    EVICTED_READY_TIMEOUT, /* PodsReadyTimeout */
    EVICTED_PREEMPTED,
    EVICTED_INACTIVE,      /* Deactivated */
    EVICTED_LIMIT,         /* DeactivatedDueToRequeuingLimitExceeded */
    EVICTED_TOO_LONG,      /* DeactivatedDueToMaximumExecutionTimeExceeded */
    EVICTED_REFUSED,       /* DeactivatedDueToAdmissionCheck */
    EVICTED_QUEUE_STOPPED, /* ClusterQueueStopped */
    EVICTED_LOCAL_STOPPED, /* LocalQueueStopped */
    EVICTED_CHECK,         /* AdmissionCheck */
    EVICTED_OTHER,
    EVICTED_REASONS
};
/* The engine's own deactivations: what DeactivationTarget and the statistics say of them; NULL for
 * every other reason. */
const char *admit_deactivated_text(enum admit_evicted reason);
/* The reason as the Evicted condition has it, and back (EVICTED_OTHER when unknown). */
const char *admit_evicted_text(enum admit_evicted reason);
enum admit_evicted admit_evicted_of(const char *reason);

enum admit_ready { READY_ABSENT, READY_WAITS_START, READY_WAITS_RECOVERY, READY_YES };
/* Of the PodsReady condition: status and reason, old names as well. */
enum admit_ready admit_ready_of(const char *status, const char *reason);

/* A flavor on which this gang did not get ready. Its pause grows with `count` as the gang's own
 * does; until it is over, other flavors are tried first. */
struct admit_failed {
    const char *flavor;
    int64_t count;
    time_ms until;
};

/* What one check says of a workload: an item of status.admissionChecks. */
enum admit_answer { ANSWER_PENDING, ANSWER_READY, ANSWER_RETRY, ANSWER_REJECTED };
const char *admit_answer_text(enum admit_answer answer);
enum admit_answer admit_answer_of(const char *state); /* PENDING when unknown */
struct admit_answered {
    const char *check;
    enum admit_answer answer;
    time_ms since;    /* lastTransitionTime; 0: not told */
    time_ms pause_ms; /* requeueAfterSeconds, of RETRY */
};

struct admit_workload {
    const char *key, *uid;
    const char *local; /* "namespace/queue"; the local queue */
    int64_t priority;
    time_ms created;
    const struct admit_pod_set *pod_sets;
    size_t n_pod_sets;
    bool is_active, is_finished;
    bool is_deleted; /* deletionTimestamp is set: wants nothing, holds its quota until it is gone */
    int64_t missing; /* of its pods, which somebody else makes: it is not queued without them */

    bool has_quota; /* QuotaReserved; the next fields are of it */
    const char *queue;
    const struct admit_assigned *assigned;
    size_t n_assigned;
    time_ms reserved_at;
    bool is_admitted;
    time_ms admitted_at;

    enum admit_evicted evicted; /* EVICTED_NOT when the condition is absent or not True */
    time_ms evicted_at;
    bool is_held;               /* Requeued is False: not to be queued … */
    enum admit_evicted held_by; /* … for this reason */
    int64_t requeue_count;
    time_ms requeue_at;
    time_ms first_evicted_at; /* first not-ready eviction since it was last ready; for limit_ms */
    const struct admit_failed *failed;
    size_t n_failed;
    time_ms max_run_ms; /* maximumExecutionTimeSeconds: admitted for longer it is deactivated; 0: no
                           limit */
    time_ms past_run_ms; /* accumulatedPastExecutionTimeSeconds: of the admissions that are over */

    enum admit_ready ready;
    time_ms ready_since; /* when it last became what it is */
    const struct admit_answered *answers;
    size_t n_answers;
};

/* Names what cannot be: an amount below zero, a group without resources or a flavor twice. Nothing
 * is changed then. */
int admit_put_queue(struct admit *admit, const struct admit_queue *queue, time_ms now,
                    struct err *err);
int admit_put_cohort(struct admit *admit, const struct admit_cohort *cohort, time_ms now,
                     struct err *err);
int admit_put_workload(struct admit *admit, const struct admit_workload *workload, time_ms now,
                       struct err *err);
void admit_put_flavor(struct admit *admit, const char *name, time_ms now);
void admit_put_local(struct admit *admit, const struct admit_local *local, time_ms now);
/* What is not there is no error. */
void admit_remove_queue(struct admit *admit, const char *name, time_ms now);
void admit_remove_cohort(struct admit *admit, const char *name, time_ms now);
void admit_remove_flavor(struct admit *admit, const char *name, time_ms now);
void admit_remove_local(struct admit *admit, const char *key, time_ms now);
void admit_remove_workload(struct admit *admit, const char *key, time_ms now);

/* ---- decisions ---- */

enum admit_decision_type {
    DECIDED_ADMIT,      /* write QuotaReserved, admission, Admitted unless it is `asks_others`;
                           Evicted goes False */
    DECIDED_PASS,       /* write Admitted: all checks agree */
    DECIDED_EVICT,      /* write Evicted True, `reason` and `cause`, requeue state if it has one */
    DECIDED_DEACTIVATE, /* as EVICT, and spec.active false, requeueState null: a limit is passed */
    DECIDED_RELEASE,    /* write Requeued True with `text`, requeueAt null (all of requeueState null
                           for "Reactivated") */
    DECIDED_WAIT,       /* write QuotaReserved False, `text` as reason, `message` */
    DECIDED_RESET,      /* requeueState null; `text` says why: "Healthy" or "Deactivated" */
};
enum admit_preempt_reason { PREEMPT_IN_QUEUE, PREEMPT_RECLAIM, PREEMPT_RECLAIM_WHILE_BORROWING };
const char *admit_preempt_text(enum admit_preempt_reason reason); /* "InClusterQueue", … */

struct admit_decision {
    enum admit_decision_type type;
    const char *key, *uid;
    const char *text;    /* the condition's reason */
    const char *message; /* for people */
    const char *queue;   /* of ADMIT, PASS; of EVICT, whose quota it loses, or NULL */
    /* ADMIT: */
    const struct admit_assigned *assigned; /* in order of the pod sets */
    size_t n_assigned;
    bool asks_others; /* it has quota, and is admitted when its checks agree */
    /* EVICT: */
    enum admit_evicted reason;
    const char *cause;     /* "WaitForStart", "WaitForRecovery", else "" */
    const char *preemptor; /* its key; of EVICTED_PREEMPTED */
    const char *preemptor_uid;
    enum admit_preempt_reason preempt;
    /* EVICT for READY_TIMEOUT and CHECK: the new requeue state. Of every eviction, first_evicted_at
       0: what is written of it does not count any more. */
    int64_t requeue_count;
    time_ms requeue_at, first_evicted_at;
    const struct admit_failed *failed; /* what to keep of flavors that failed */
    size_t n_failed;
};
struct admit_decisions {
    const struct admit_decision *items; /* in the order in which they are to be written */
    size_t len;
};
/* Everything that is due now. What is returned lives until the next admit_step(). */
void admit_step(struct admit *admit, time_ms now, struct admit_decisions *ret_decisions);
/* When time alone makes the next step useful: `now` or before when something was put since the last
 * one, TIME_NEVER when nothing is due. */
time_ms admit_deadline(const struct admit *admit);
/* The last decision about this workload was not written: everything is as it was last put. */
void admit_undo(struct admit *admit, const char *key, time_ms now);

/* ---- what is ---- */

/* The checks that a workload with quota is asked for, by name. False: it has none, or in a queue
 * that is not known. Lives until the next call that tells what is. */
bool admit_checks(struct admit *admit, const char *key, const char *const **ret_names,
                  size_t *ret_n);

enum admit_state {
    STATE_UNKNOWN, /* never put */
    STATE_FINISHED,
    STATE_INACTIVE,
    STATE_HELD, /* no such queue, queue stopped or not usable, namespace refused, being deleted */
    STATE_BACKOFF,    /* waits for `retry_at` */
    STATE_QUEUED,     /* has not been tried since something changed */
    STATE_NO_QUOTA,   /* does not fit: `shortages` */
    STATE_BEHIND,     /* StrictFIFO: the head of the queue does not fit: `blocker` */
    STATE_BLOCKED,    /* fits, and waits until `blocker` is ready */
    STATE_PREEMPTING, /* waits until those it preempted are gone: `blocker` is one of them */
    STATE_RESERVED,   /* has quota, is not admitted yet: checks have to agree */
    STATE_ADMITTED,
    STATE_EVICTING, /* evicted, its quota is not free yet */
};
const char *admit_state_text(enum admit_state state);
struct admit_shortage {
    const char *pod_set, *flavor, *resource;
    const char *why;   /* of a flavor that cannot be taken at all; NULL: quota */
    int64_t needed;    /* by all pods of the set, and those before it that take the same */
    int64_t available; /* to this queue now, with what it may borrow */
    int64_t capacity;  /* the most that this queue can ever have */
};
struct admit_view {
    enum admit_state state;
    const char *queue;   /* NULL: not known */
    size_t position;     /* 1: next of its queue; 0: not queued */
    size_t n_pending;    /* in its queue */
    const char *blocker; /* key of a workload, or NULL */
    size_t n_blockers;
    int64_t requeue_count;
    int64_t limit_count; /* ADMIT_NO_LIMIT */
    time_ms retry_at;    /* 0: not a matter of time */
    time_ms evict_at;    /* when it loses its quota unless it is ready; 0: no timer runs */
    time_ms over_at;     /* when it has run for as long as it may; 0: no limit, or not admitted */
    const char *message; /* what is the matter, one line */
    const char *hint;    /* what would let it in; "" when nothing needs doing */
    const struct admit_shortage *shortages;
    size_t n_shortages;
};
/* Lives until the next admit_explain(). */
void admit_explain(struct admit *admit, const char *key, time_ms now, struct admit_view *ret_view);

struct admit_usage {
    const char *flavor, *resource;
    int64_t nominal;
    int64_t reserved; /* by workloads with quota */
    int64_t used;     /* by those that are admitted */
    int64_t borrowed; /* of `reserved`, above nominal */
};
struct admit_counts {
    bool is_known;
    const char *inactive; /* why nothing is admitted here ("Stopped", "FlavorNotFound", …); NULL: it
                             is active */
    const char *inactive_message;
    size_t pending, reserving, admitted;
    uint64_t evictions[EVICTED_REASONS]; /* since the engine was made */
    uint64_t admissions;
    const struct admit_usage *usage; /* in the order of groups, flavors, resources */
    size_t n_usage;
};
/* Both live until the next call of either. */
void admit_queue_counts(struct admit *admit, const char *name, struct admit_counts *ret_counts);
void admit_local_counts(struct admit *admit, const char *key, struct admit_counts *ret_counts);
/* Of those that wait in a queue: how many will be tried without anything changing for them first,
 * in Kueue's words active ones, not inadmissible ones. */
size_t admit_queue_active(const struct admit *admit, const char *name);
/* Names whose counts changed since they were last named here, each once; NULL: no more. So a status
 * is written for what changed, and never by looking at everything. */
const char *admit_changed_queue(struct admit *admit);
const char *admit_changed_local(struct admit *admit);

/* All invariants, for tests and the simulator: NULL, or what is wrong. */
const char *admit_check(const struct admit *admit);
