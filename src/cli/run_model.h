// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/timetext.h"
#include "cli/run_pod.h"
#include "model/kind.h"

/* What `run` follows, in numbers. Objects go in as the server tells of them, counts come out; time
 * is an argument and nothing is printed here.
 *
 * A group is one object of the files that makes processes, a Pod, or a Job or JobSet with its pods,
 * or one whose vreplicas are placed on pods, a VPod. A unit is one container of one pod. */

enum run_outcome { /* of a group */
                   RUN_GOES_ON,
                   RUN_SUCCEEDED,
                   RUN_LOST, /* it failed */
                   RUN_GONE, /* somebody deleted it */
};

struct run_spread { /* where the vreplicas of a VPod are */
    bool is_told;   /* it is a VPod, the rest is of it */
    int64_t wanted, placed, pending;
    char *why;            /* some are pending; NULL: not told */
    VEC(int64_t) per_pod; /* of the pods that have some, in their order */
};

struct run_group {
    const struct kind *kind;
    char *ns, *name, *uid;
    bool created;               /* by us, not found on the server */
    size_t pods_expected;       /* that have to succeed, or to run */
    size_t pods_at_once;        /* that make it ready */
    size_t units_per_pod;       /* that get ready */
    char *queue;                /* that holds it; NULL: none does */
    VEC(struct run_pod *) pods; /* in the order in which they were seen */
    int64_t restarts_past;      /* of pods that are gone */
    bool restarts_as_one;       /* all members at once: these count, not the containers' */
    int64_t restarts, epoch;    /* of a group that does; epoch 0: not in place */
    struct run_spread spread;
    enum run_outcome outcome;
    char *why;        /* it failed */
    bool is_deleted;  /* the object is not on the server any more */
    time_ms ready_at; /* for the first time; -1: not yet */
    time_ms ended_at; /* -1: not yet */
    unsigned version; /* grows with each change */
};

struct run_log { /* what one life of a container prints */
    char *ns, *pod, *container, *life;
};

struct run_counts {
    size_t total; /* that get ready; others are told of when they have failed */
    size_t by_state[RUN_STATE_COUNT];
    size_t running;
    const char *why[RUN_STATE_COUNT]; /* of the first in that state that has a reason */
    int64_t restarts;
    int64_t epoch; /* of a group that restarts in place; else 0 */
};

struct run_awaited {
    char *uid;
    int64_t revision;
};

struct run_model {
    VEC(struct run_group *) groups; /* in the order of the files */
    VEC(struct run_awaited) awaited;
    time_ms began_at;
    struct run_lives lives;
};

void run_model_init(struct run_model *model, time_ms now);
void run_model_done(struct run_model *model);
/* Is it a kind that is followed: that makes processes, or is placed on them? */
bool run_model_is_group(const struct kind *kind);
/* The object as the server answered. */
void run_model_add(struct run_model *model, const struct kind *kind, yyjson_val *object,
                   bool created);
/* One event of a watch: "ADDED", "MODIFIED" or "DELETED". What is not ours is ignored. */
struct run_event {
    const struct kind *kind; /* items of a list do not tell it themselves */
    const char *type;
    yyjson_val *object;
};
void run_model_event(struct run_model *model, const struct run_event *event, time_ms now);
/* All objects of a kind in a namespace: what is not among them any more is gone. */
void run_model_list(struct run_model *model, const struct kind *kind, const char *ns,
                    yyjson_val *list, time_ms now);
/* A list of pods that another stream than their watch has brought: those of ours that the watch has
 * not told of yet, in that version or a later one, are `awaited` until it has. The verdict on a
 * group and its pods come by different watches, and whichever is first. */
void run_model_await(struct run_model *model, yyjson_val *list);
/* Does a log go on without an end, as far as anybody knows? That of a container which runs, in a
 * group that has not ended. */
bool run_model_log_goes_on(const struct run_model *model, const struct run_log *log);
/* There are no processes any more. */
void run_model_stopped(struct run_model *model);

void run_group_count(const struct run_group *group, struct run_counts *ret_counts);
bool run_group_is_ready(const struct run_group *group); /* or has succeeded */

struct run_verdict {
    size_t groups, succeeded, failed, ready;
    size_t endless; /* go on, and never end by themselves */
    size_t units;
    int64_t restarts;
    time_ms ready_at; /* all of them for the first time; -1: never */
};
void run_model_judge(const struct run_model *model, struct run_verdict *ret_verdict);
/* Has all succeeded that has an end? What serves it is not waited for. */
bool run_verdict_is_success(const struct run_verdict *verdict);
