// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "control/manager.h"
#include "core/job/indexes.h"
#include "core/recover/group.h"
#include "model/jobset.h"
#include <bsd/sys/queue.h>

/* The JobSet controller in parts:
 *   jobset_state.c    what is derived from Jobs and, for restarts in place, from pods;
 *   jobset_jobs.c     creates, removes, resizes, suspends and resumes Jobs;
 *   jobset_policy.c   what follows from Jobs that ended: failure, success, order of start;
 *   jobset_cause.c    which member asks for a restart, and why;
 *   jobset_restart.c  the group that restarts in place, and restarts that somebody asks for;
 *   jobset_status.c   the JobSet's status: one write has all that a look changes;
 *   jobset.c          puts them together. */
#define JOBSET_DOMAIN "jobset.sigs.k8s.io/"
#define JOBSET_RESTART_ATTEMPT JOBSET_DOMAIN "restart-attempt"
#define JOBSET_JOB_RESTART_ATTEMPT JOBSET_DOMAIN "job-restart-attempt"
#define JOBSET_REPLICATED_JOB JOBSET_DOMAIN "replicatedjob-name"
#define JOBSET_JOB_INDEX JOBSET_DOMAIN "job-index"
#define SET_ALL_READY "JobsReady" /* reason for which a restart is over */
#define JOBSET_BATCH 500          /* writes of one sort in one look */

/* Each Job is of one class, and on the list of that class. */
enum set_class {
    SET_LIVE,
    SET_DONE,    /* succeeded */
    SET_FAILED,  /* and nothing has followed from it yet */
    SET_OLD,     /* of an attempt that is over: to be removed */
    SET_LEAVING, /* being removed */
};
#define SET_CLASSES 5

struct set_job { /* a Job of a JobSet */
    TAILQ_ENTRY(set_job) siblings;
    struct set_state *set;
    char *uid, *name;
    size_t role;
    int64_t index, attempt, own_attempt;
    int64_t members; /* pods of this Job as it is */
    enum set_class class;
    bool is_complete, is_failed, is_deleted;
    bool is_ready, is_active, is_suspended; /* of a live one */
    bool is_paused;                         /* its controller has seen that it is suspended */
    bool has_other_size;                    /* than the template says */
    int64_t
        done_upto; /* a Job that is complete is so for all members, however many are wanted now */
    time_ms failed_at;
    struct indexes completed; /* as its status says, in the version of that revision */
    uint64_t completed_in;
};

struct set_member { /* a pod of a group; it may outlive its Job */
    LIST_ENTRY(set_member) siblings;
    struct set_state *set;
    struct group_place place;
    bool has_agent; /* of its own: its restarts do not show in the pod's status */
    int64_t epoch;  /* that it had announced in the version before */
    char uid[];
};

struct role { /* a replicated job */
    char *name, *group;
    int64_t replicas, members; /* members: pods in each Job, as its template says */
    int64_t most;              /* members that it ever had */
    bool is_sized;             /* the template names their number */
    size_t count[SET_CLASSES];
    size_t ready, active, suspended, paused, other_size; /* of the live ones */
    struct indexes free;                                 /* indexes without a Job */
    VEC(int64_t) restarts;                               /* by index: of that Job alone */
};

struct set_state { /* there is one as long as the JobSet is known */
    char *uid;
    uint64_t revision; /* of the JobSet from which the next are */
    int64_t attempt;
    VEC(struct role) roles;
    TAILQ_HEAD(, set_job) lists[SET_CLASSES];
    struct group *group; /* NULL: does not restart in place */
    LIST_HEAD(, set_member) members;
    int64_t told_epoch; /* the last that was announced with a cause */
    char *told_by;      /* UID of the pod that did so first; or NULL */
    char *malformed;    /* name of a pod whose announcement makes no sense; or NULL */
    unsigned news;      /* bits of what the conditions have come to say */
};

struct sets {            /* the controller's state */
    struct map *states;  /* UID of the JobSet to struct set_state */
    struct map *jobs;    /* UID of the Job to struct set_job */
    struct map *members; /* UID of the pod to struct set_member */
    struct sets_counts {
        uint64_t reports; /* pods that told something new to a group */
        uint64_t completed, failed;
    } counts;
};

struct set_draft { /* the status to be */
    yyjson_mut_doc *doc;
    yyjson_mut_val *status;
    bool is_changed;
};

struct set_look { /* one reconciliation */
    struct control *control;
    struct sets *sets;
    struct set_state *state;
    struct obj *set;
    yyjson_val *spec, *status;
    time_ms now;
    bool is_suspended; /* it should be */
    struct set_draft draft;
};

/* ---- jobset_state.c ---- */
struct sets *sets_new(void);
void sets_free(struct sets *sets);
/* The UID of the JobSet that controls this Job, or NULL. */
const char *job_set_uid(const struct obj *job);
/* The JobSet is there, or has changed: makes its state, with all Jobs and pods that the cache
 * knows, and reads it anew. */
struct set_state *sets_put(struct sets *sets, const struct cache *cache, const struct obj *set);
void sets_drop(struct sets *sets, const char *uid);
void sets_put_job(struct sets *sets, const struct cache *cache, const struct obj *job);
void sets_drop_job(struct sets *sets, const char *uid);
/* The state to which the pod belongs, when what its group should do may have changed; else NULL. */
struct set_state *sets_put_pod(struct sets *sets, const struct cache *cache, const struct obj *pod);
struct set_state *sets_drop_pod(struct sets *sets, const struct cache *cache,
                                const struct obj *pod);
size_t role_now(const struct role *role); /* Jobs of the present attempt */

/* ---- jobset_jobs.c ---- */
void look_remove_jobs(struct set_look *look, enum set_class class);
void look_create_jobs(struct set_look *look);
void look_resize_jobs(struct set_look *look);
void look_suspend_jobs(struct set_look *look);

/* ---- jobset_policy.c ---- */
/* True: the status has changed so that nothing else is to be done in this look. */
bool look_apply_failures(struct set_look *look);
bool look_apply_success(struct set_look *look);
/* Upstream's reason of the event about a restart, by the reason of the condition; NULL: no Job
 * failed. */
const char *look_action_event(const struct set_look *look, const char *reason);
bool look_may_start(const struct set_look *look, size_t role);
void look_start_order(struct set_look *look);
bool look_all_ready(const struct set_look *look);
/* Restarts that count, and how many may. */
int64_t look_restarts_used(const struct set_look *look);
int64_t look_restarts_max(const struct set_look *look);

/* ---- jobset_cause.c ---- */
/* The pod that asks for the restart; NULL: none that is there. */
const struct obj *look_culprit(const struct set_look *look);
/* ": container c ended with exit code 3", as far as anybody knows. */
void look_cause(const struct set_look *look, const struct obj *pod, struct str *out);

/* ---- jobset_restart.c ---- */
/* Whoever runs is in an epoch that is over; not charged. Nothing where nothing restarts in place.
 */
void look_deprecate(struct set_look *look);
void look_group(struct set_look *look);
void look_note_request(struct set_look *look);   /* what somebody asked for is done, or pointless */
void look_answer_request(struct set_look *look); /* where nothing restarts in place */
void look_settle_restart(struct set_look *look);

/* ---- jobset_status.c ---- */
struct set_condition {
    const char *type, *status, *reason, *message;
};
yyjson_val *set_condition(const struct obj *set, const char *type); /* NULL: none that is True */
bool set_is_finished(const struct obj *set);
void draft_open(struct set_look *look);
void draft_count(struct set_look *look, const char *field, int64_t count);
void draft_condition(struct set_look *look, const struct set_condition *condition);
/* Takes the condition to False, if it is there. */
void draft_clear(struct set_look *look, const char *type, const char *reason, const char *message);
void draft_end(struct set_look *look, bool good, const char *reason, const char *message);
void draft_jobs(struct set_look *look);
/* jobRestarts and, if so, jobRestartsCountTowardsMax of one Job grow by one. */
void draft_job_restart(struct set_look *look, const struct set_job *job, bool is_charged);
void draft_write(struct set_look *look);
