// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/heap.h"
#include "base/map.h"
#include "control/manager.h"
#include "core/job/indexes.h"
#include "core/job/job.h"
#include <bsd/sys/queue.h>

/* The Job controller in parts:
 *   job_state.c   what is derived from pods, kept up to date with each change;
 *   job_count.c   counts each pod that ended, once: the protocol is told there;
 *   job_pods.c    creates and removes pods;
 *   job_status.c  the Job's status: conditions, counters;
 *   job.c         puts them together. */
#define JOB_FINALIZER "batch.kubernetes.io/job-tracking"
#define JOB_INDEX "batch.kubernetes.io/job-completion-index"
#define JOB_INDEX_FAILURES "batch.kubernetes.io/job-index-failure-count"
#define JOB_INDEX_IGNORED "batch.kubernetes.io/job-index-ignored-failure-count"
#define JOB_BATCH 500         /* writes of one sort in one look */
#define JOB_UNCOUNTED_MAX 500 /* keeps the status of a Job below 20 KB */

enum member_class { MEMBER_ACTIVE, MEMBER_LEAVING, MEMBER_SUCCEEDED, MEMBER_FAILED };
#define MEMBER_CLASSES 4

/* Each member is on one list. Tracked: it has our finalizer, hence is not counted for good. */
enum member_list {
    LIST_ACTIVE,
    LIST_LEAVING, /* is being stopped; tracked */
    LIST_ENDED,   /* tracked */
    LIST_HELD,    /* failed; tracked until its successor, which carries its count, is there */
    LIST_REST,
};
#define MEMBER_LISTS 5

struct member { /* a pod of a Job */
    TAILQ_ENTRY(member) siblings;
    struct job_state *job;
    char *uid, *name;
    enum member_class class;
    enum member_list list;
    bool is_tracked, is_ready;
    bool is_noted;       /* its end is part of the back-off */
    bool is_sent_away;   /* somebody deleted it while it ran */
    bool is_written_off; /* the Job's status has it as failed: a late success changes nothing */
    bool is_excess;      /* during a look: goes first when pods are removed */
    unsigned in_look;    /* the look in which the Job's status named it */
    int64_t index;       /* -1: none */
    int64_t restarts;
    int64_t failures, ignored; /* of its index, before it */
    time_ms ended;
};

struct slot {             /* an index that has pods */
    struct heap_node due; /* in `waiting` during the pause after a failure */
    int64_t index;
    size_t members;
    size_t count[MEMBER_CLASSES]; /* of those that succeeded: the tracked ones */
    int64_t attempts;             /* of the latest pod: failures before it */
    struct member *held;          /* the one whose count goes on to the next */
    int64_t next_failures, next_ignored;
};

struct job_state {
    char *uid;
    TAILQ_HEAD(, member) lists[MEMBER_LISTS];
    size_t count[MEMBER_CLASSES];
    size_t members, ready, untracked_active;
    int64_t restarts; /* of those that are active */
    unsigned look;
    /* The back-off of the Job as a whole. */
    int64_t failures;
    time_ms last_failure;
    /* Of an indexed Job. */
    uint64_t revision; /* of the Job from which the next six are */
    bool is_indexed, counts_per_index, replaces_failed_only;
    int64_t completions;
    struct indexes completed, failed;
    bool is_pending_known;
    struct indexes pending; /* neither done, given up, taken nor paused */
    struct map *slots;      /* index as text to struct slot */
    struct heap waiting;
    bool has_misplaced; /* perhaps: two pods of one index, or of one that is done */
    /* Names given out by number to pods of a Job that is not indexed. */
    struct map *ordinals; /* name to number + 1 */
    int64_t next_ordinal;
    /* What to tell people about, once it is seen to have happened. */
    VEC(char *) created, deleted;
    unsigned news; /* bits of what the Job's conditions have come to say */
};

struct jobs {            /* the controller's state */
    struct map *states;  /* UID of the Job to struct job_state */
    struct map *members; /* UID of the pod to struct member */
};

struct end { /* of a pod, for the back-off */
    time_ms at;
    bool failed;
};

struct look { /* one reconciliation */
    struct control *control;
    struct jobs *jobs;
    struct job_state *state;
    struct obj *job;
    yyjson_val *spec, *status;
    time_ms now;
    bool is_ending; /* the status says how it will end */
    /* The status to be. */
    VEC(const char *) succeeded, failed; /* uncounted */
    int64_t more_succeeded, more_failed; /* out of the uncounted, into the counters */
    struct indexes completed;
    VEC(struct end) ends;
    struct str fail_message; /* a rule of the failure policy ends the Job */
    bool is_dirty;
    size_t released; /* finalizers taken off in this look */
};

/* ---- job_state.c ---- */
struct jobs *jobs_new(void);
void jobs_free(struct jobs *jobs);
struct job_state *jobs_state(struct jobs *jobs, const char *job_uid); /* NULL: has no pods */
struct job_state *jobs_need(struct jobs *jobs, const char *job_uid);
void jobs_forget_if_empty(struct jobs *jobs, struct job_state *state);
/* The UID of the Job that the pod belongs to, or NULL. */
const char *pod_job_uid(const struct obj *pod);
/* Takes a change of a pod of a Job into account. */
void jobs_put_pod(struct jobs *jobs, const struct obj *pod, time_ms now);
void jobs_drop_pod(struct jobs *jobs, const char *uid);
/* Reads what the Job's newest version says about its indexes. */
void state_read_job(struct job_state *state, const struct obj *job);
struct slot *state_slot(struct job_state *state, int64_t index); /* NULL: it has no pods */
void state_settle(struct job_state *state, struct slot *slot);
void state_fail_index(struct job_state *state, int64_t index);
/* The failure count of `member` waits for its successor, which may come at `due`. */
void state_hold(struct job_state *state, struct member *member, bool counts);
void state_end_pauses(struct job_state *state, time_ms now);
void member_move(struct member *member, enum member_list list);
void member_write_off(struct member *member);

/* ---- job_count.c ---- */
void look_count(struct look *look);
/* Takes the finalizer off; the pod is then nobody's to count. */
void look_release(struct look *look, const struct member *member);

/* ---- job_pods.c ---- */
void look_create(struct look *look, int64_t count);
void look_remove(struct look *look, int64_t count);
void look_remove_all(struct look *look); /* the Job ends: whatever runs is stopped */
void look_release_all(struct look *look);
void look_tell_pods(struct look *look);

/* ---- job_status.c ---- */
struct condition_text {
    const char *type, *status, *reason, *message;
};
yyjson_val *job_condition(const struct obj *job, const char *type); /* NULL: none that is True */
bool job_is_finished(const struct obj *job);
void look_write_status(struct look *look, const struct job_plan *plan);
