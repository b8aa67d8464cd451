// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "core/recover/member.h"
#include "sim/sim.h"

/* The members of one group: a machine for each pod, as a node or an agent would run it, and workers
 * that live, die and succeed. What they do is decided by the test; what must always hold is checked
 * at every start of a worker and at every change of the JobSet and its pods:
 *
 *  S1 when a barrier is lifted, every place that is expected had announced that epoch, and no
 * worker starts in an epoch whose barrier is not lifted; S2 no worker runs in another epoch than
 * the one that starts, and none started in a later one; S3 a place starts one worker in an epoch;
 *  S4 an epoch that lost a worker is deprecated in the end, or there is a verdict;
 *  S5 epochs of the status, and of one pod, never go down;
 *  budget: one charge a restart, only with a restart, only after something went wrong, and never
 *     more than maxRestarts. */
struct crew;

enum work { WORK_NONE, WORK_ALIVE, WORK_DIED, WORK_GOOD };

struct mate { /* a pod and what runs in it */
    struct crew *crew;
    char *uid, *name;
    size_t place;
    struct member member;
    bool is_up;         /* an agent runs */
    bool is_writing;    /* an announcement, or the success, is on its way */
    bool has_failed;    /* the pod is to be reported as failed */
    int exit_code;      /* ... with this */
    bool is_let_go;     /* its end was confirmed */
    size_t status_seen; /* of crew->statuses */
    int64_t announced;  /* as stored */
    bool has_succeeded;
    enum work work;
    int64_t work_epoch;
};

struct crew {
    struct sim *sim;
    char *set; /* name of the JobSet */
    int64_t jobs, members, max_restarts;
    int64_t members_max;
    struct map *mates; /* uid to struct mate */
    VEC(struct mate *) list;
    VEC(struct member_status) statuses; /* all that were stored, in order */
    int64_t charged, restarts;
    int64_t anew; /* restarts that made Jobs anew, or one of them */
    bool has_verdict, is_completed;
    bool is_leaving; /* the nodes were told to end: as agents they do nothing more */
    /* By place. */
    int64_t *announced, *started;
    bool *counted;        /* its Job has counted a success there */
    struct mate **holder; /* the youngest */
    int64_t alive[2],
        alive_epoch[2]; /* workers by epoch: there may be two at most, being checked */
    int64_t broken;     /* the greatest epoch that lost a worker which had not succeeded */
    int64_t last_start; /* the greatest epoch that had a worker */
    uint64_t mishaps;   /* since the last restart: deaths, crashes, replacements */
    uint64_t before;    /* ... and before it, since the one before */
    uint64_t starts, reports, lifts;
    char *failure;
};

void crew_init(struct crew *crew, int64_t jobs, int64_t members, int64_t members_max);
void crew_start(struct crew *crew, struct sim *sim, const char *set, int64_t max_restarts);
void crew_done(struct crew *crew);
void crew_fail(struct crew *crew, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* From the simulator. */
void crew_on_change(struct crew *crew, const struct change *change);
void crew_on_reopen(struct crew *crew);

/* What can happen to a mate; each does nothing where it cannot. */
void mate_step(struct mate *mate, bool sees_all);  /* the next thing that its node or agent does */
void mate_die(struct mate *mate);                  /* its worker exits non-zero */
void mate_succeed(struct mate *mate);              /* ... or zero */
void mate_crash(struct mate *mate);                /* its agent ends, its worker runs on */
void mate_lose(struct mate *mate, int exit_code);  /* its pod fails with all that ran in it */
void mate_repeat(struct mate *mate, int64_t back); /* an announcement, late or again */
void mate_lie(struct mate *mate, int64_t by);      /* somebody announces what is not there yet */

/* The epoch is over by intent: all nodes end with what they run, and come back. */
void crew_come_back(struct crew *crew);

/* All run in one epoch or have succeeded, or there is a verdict and no worker. */
bool crew_is_settled(const struct crew *crew);
void crew_check_end(struct crew *crew);
