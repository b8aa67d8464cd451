// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/map.h"
#include "control/manager.h"
#include "core/admit/admit.h"

/* The admission controller in parts:
 *   admission.c         from changes to keys, one gang a key: a Workload and what it is of;
 *   admission_feed.c    what the objects say, told to the engine (core/admit);
 *   admission_flavor.c  which flavors suit a pod set;
 *   admission_adds.c    what flavors and checks add to its pods;
 *   admission_decide.c  decisions of the engine, written as the status of Workloads;
 *   admission_checks.c  what others have to agree to;
 *   admission_draft.c   a status under way: conditions, then one write;
 *   admission_look.c    one look at a gang: its owner is started, stopped, watched;
 *   admission_job.c, admission_jobset.c, admission_pods.c   the owners;
 *   admission_queue.c   status of the queues;
 *   admission_tell.c    events, and what `muster why` asks for;
 *   admission_metrics.c metrics.
 *
 * A gang has one key, so that nothing is written about it twice at a time. Decisions of the engine
 * are kept until the write that they need is known; meanwhile changes of the Workload are not told
 * to the engine, since its own account is ahead of them. */

#define GANG_STEP "~step" /* no gang's key: those have a / after a letter or digit */
#define GANG_TELL "~tell"
#define GANG_CLUSTER_QUEUE "~cq "
#define GANG_LOCAL_QUEUE "~lq "
#define GANG_FINALIZER "kueue.x-k8s.io/resource-in-use"
#define GANG_UID_LABEL "kueue.x-k8s.io/job-uid"
#define GANG_PAST "accumulatedPastExecutionTimeSeconds"
#define GANG_PAST_PATH "status." GANG_PAST
#define GANG_STATUS_PAUSE_MS 500 /* status of queues is written at most so often, all at once */
#define GANG_TELL_PAUSE_MS 100   /* Events of so long are written together */
#define GANG_WAIT_PAUSE_MS 100   /* who waits for less is not told that he waits */
#define GANG_PATIENCE_MS 30000   /* beyond its grace period, for a pod to go by itself */
#define GANG_GRACE_S 30          /* of pods that do not say */

struct gang_look;

/* What is suspended and resumed as one. `owner` is the object; of pods it is NULL. */
struct owner_ops {
    const struct kind *kind;
    const char *prefix; /* of the Workload's name */
    /* The podSets of its Workload. */
    void (*describe)(const struct gang_look *look, yyjson_mut_doc *doc, yyjson_mut_val *sets);
    bool (*is_running)(const struct gang_look *look); /* or a part of it */
    bool (*is_started)(const struct gang_look *look); /* all of it that may */
    void (*start)(struct gang_look *look);            /* with what was assigned */
    void (*stop)(struct gang_look *look);             /* pods go */
    void (*restore)(struct gang_look *look); /* after all have gone: as it was before it started */
    bool (*is_ready)(const struct gang_look *look);
    /* How many pods it runs by its spec; NULL: cannot be changed while it runs. */
    int64_t (*pods_at_once)(const struct gang_look *look);
    /* 0: not ended, 1: succeeded, -1: failed; with a text for people. */
    int (*end)(const struct gang_look *look, struct str *message);
    /* A pod that has not ended; `kill`: such pods are removed at once. */
    bool (*has_pods)(struct gang_look *look, bool kill);
    /* How many pods of a set have ended for good, and need no quota any more. */
    int64_t (*reclaimable)(const struct gang_look *look, yyjson_val *pod_set);
};
extern const struct owner_ops OWNER_JOB, OWNER_JOBSET, OWNER_PODS;

struct decided { /* a decision that is not known to be written */
    struct arena arena;
    struct admit_decision what;
    bool is_sent;
};

struct crew {
    char *key; /* of its Workload: "namespace/name" */
    char *ns, *name;
    const struct owner_ops *ops; /* NULL: nobody's that is known here */
    char *owner;                 /* name of the owner, or of the group of pods */
    char *owner_uid;             /* or NULL */
    struct map *members;         /* OWNER_PODS: name of a pod to itself */
    struct map *parts;           /* OWNER_JOBSET: UID of a Job of it to the gang */
    VEC(struct decided *) decided;
    struct decided *wait; /* that it waits, to be written if it still does; or NULL */
    time_ms wait_at;      /* when */
    bool is_group;        /* of pods, more than one */
    int64_t missing;      /* of a group that has no quota: so many pods more are needed */
    bool is_leaving;      /* evicted or deleted: its pods are looked at one by one */
    /* For metrics; what was before this process began is not counted. */
    bool is_live;      /* seen before it ended */
    bool awaits_ready; /* seen admitted and not ready yet */
};

struct queue_past {   /* of one ClusterQueue */
    uint64_t evicted; /* by its status when it was first looked at */
};

enum meter {
    METER_ADMITTED,
    METER_FINISHED,
    METER_EVICTED,
    METER_EVICTED_ONCE,
    METER_PREEMPTED,
    METER_REQUEUED,
    METER_RESET,
    METER_ADMISSION_WAIT,
    METER_READY_WAIT,
    METER_UNTIL_READY,
    METER_READY_TO_EVICTED,
    METER_EVICTION,
    METERS
};

struct saying { /* an Event that is not written yet */
    struct obj *about;
    const char *type; /* a literal */
    char *reason, *message;
};

struct admission { /* the controller's state */
    struct admit *engine;
    struct map *gangs;          /* key to struct crew */
    struct map *by_uid;         /* UID of an owner, or of a Job of a JobSet, to its gang */
    struct map *queues;         /* name of a ClusterQueue to struct queue_past */
    struct map *meters[METERS]; /* labels to a series; NULL: none yet */
    VEC(struct saying) sayings;
    struct arena arena; /* for what the engine is told of one Workload */
};

struct gang_draft { /* a status under way */
    yyjson_mut_doc *doc;
    yyjson_mut_val *status;
    int64_t generation; /* of the Workload */
    time_ms now;
    bool is_changed;
};

struct gang_look {
    struct control *control;
    struct admission *admission;
    struct crew *gang;
    struct obj *workload;        /* NULL: there is none yet */
    const struct owner_ops *ops; /* of the gang; NULL: the Workload is nobody's that is known */
    struct obj *owner;           /* NULL: gone, or pods */
    const char *owner_uid;       /* or NULL */
    struct cache *cache;
    time_ms now;
};

/* ---- admission.c ---- */
struct crew *gang_find(const struct admission *admission, const char *key);
const struct configuration *gang_configuration(struct control *control);
bool gang_waits_for_ready(struct control *control);

/* ---- admission_feed.c ---- */
void gang_settings(struct control *control, struct admit_settings *ret);
void feed_workload(struct control *control, const struct crew *gang, const struct obj *workload);
void feed_queue(struct control *control, const struct obj *queue);
void feed_cohort(struct control *control, const struct obj *cohort);
void feed_local(struct control *control, const struct obj *local);

/* ---- admission_checks.c ---- */
bool checks_of_queue(const struct obj *queue); /* whether it names any */
const struct admit_check *checks_asked(struct arena *arena, struct cache *cache,
                                       const struct obj *queue, size_t *ret_n);
const struct admit_answered *checks_answered(struct arena *arena, const struct obj *workload,
                                             size_t *ret_n);
/* Of one with quota: an item for each check that is asked for, and no other. */
void checks_sync(struct gang_look *look, struct gang_draft *draft);
void checks_reset(struct gang_draft *draft); /* quota is lost: all have to be asked again */

/* ---- admission_flavor.c ---- */
/* What one pod of the template needs; names live in the template. */
typedef VEC(struct admit_need) need_list;
void flavor_needs(yyjson_val *template, need_list *out);
/* NULL: the flavor suits pods of this template; else why not, in the arena. */
const char *flavor_problem(struct arena *arena, const struct obj *flavor, yyjson_val *template);

/* ---- admission_adds.c ---- */
/* Puts what admission adds to the pods of a set into a template, or a pod, that was as_written. */
void adds_put(const struct gang_look *look, yyjson_mut_doc *doc, yyjson_mut_val *template,
              yyjson_val *as_written, const char *set);
void adds_remove(yyjson_mut_doc *doc, yyjson_mut_val *template, yyjson_val *as_written);

/* ---- admission_draft.c ---- */
struct gang_draft gang_draft_begin(const struct gang_look *look);
/* The condition's time is when its status last changed. */
void gang_draft_condition(struct gang_draft *draft, const char *type, const char *status,
                          const char *reason, const char *message);
void gang_draft_drop_condition(struct gang_draft *draft, const char *type);
const char *gang_draft_condition_text(const struct gang_draft *draft, const char *type,
                                      const char *field);
void gang_draft_put(struct gang_draft *draft, const char *field,
                    yyjson_mut_val *value); /* NULL removes */
void gang_draft_drop(struct gang_draft *draft, const char *object, const char *field);
void gang_draft_time(struct gang_draft *draft, yyjson_mut_val *obj, const char *field, time_ms at);
void gang_draft_amount(struct gang_draft *draft, yyjson_mut_val *obj, const char *resource,
                       int64_t milli);
/* One write with all of it, when anything changed. True: it was sent. */
bool gang_draft_send(struct gang_look *look, struct gang_draft *draft);
void gang_draft_end(struct gang_draft *draft);
void gang_amount_text(const char *resource, int64_t milli, struct str *out);
yyjson_val *condition_of(const struct obj *obj, const char *type); /* or NULL */
bool condition_is(const struct obj *obj, const char *type, const char *status);
time_ms condition_time(const struct obj *obj, const char *type); /* 0: none */

/* ---- admission_decide.c ---- */
void decide_keep(struct control *control, struct crew *gang, const struct admit_decision *decision);
void decide_forget(struct crew *gang);
/* Works off what was decided. True: this look is over, a write is under way. */
bool decide_settle(struct gang_look *look);
/* The second half of an eviction, when nothing of the gang is left: quota is free. */
void decide_release(struct gang_look *look, struct gang_draft *draft);

/* ---- admission_look.c ---- */
void look_at_gang(struct gang_look *look);

/* ---- admission_pods.c ---- */
const struct obj *pods_first(const struct gang_look *look); /* of a gang of pods; or NULL */
/* Pods that a group without quota needs and that are not there, neither waiting nor done. */
int64_t pods_missing(struct cache *cache, const struct crew *gang, const struct obj *workload);
/* A group that has more pods than it says loses the newest of those that wait: they would never
 * start, and it would never end. True: one goes. */
bool pods_trim(struct gang_look *look);
/* The pods of a Job that have not ended. */
bool pods_live(struct gang_look *look, const char *owner_uid, bool kill);

/* ---- admission_queue.c ---- */
void queue_write_cluster(struct control *control, const char *name);
void queue_write_local(struct control *control, const char *key);
void queue_add_changed(struct control *control);
void queue_add(struct control *control, const char *prefix, const char *key);
void queue_forget_all(struct admission *admission);

/* ---- admission_tell.c ---- */
/* As control_event(), a little later and together with others. */
void tell_event(struct gang_look *look, const struct obj *about, const char *type,
                const char *reason, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void tell_events(struct control *control); /* those that wait */
void tell_done(struct admission *admission);
void tell_decision(struct gang_look *look, const struct admit_decision *decision);
/* What happened to the gang since it was looked at before: it got ready, its quota is free, it has
 * ended. */
void tell_progress(struct gang_look *look);
bool tell_explain(struct control *control, const struct obj *workload, struct str *out_json);

/* ---- admission_metrics.c ---- */
/* Labels are 'cluster_queue="q",reason="r"'. */
void meter_count(struct admission *admission, enum meter meter, const char *labels);
void meter_time(struct admission *admission, enum meter meter, const char *labels, time_ms span);
void meter_print(struct control *control, struct str *out);
void meter_done(struct admission *admission);
