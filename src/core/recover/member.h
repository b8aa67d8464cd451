// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* One member of a group that restarts in place, as its agent sees it: the agent's rows of
 * model/README.md as one table. Whoever is the agent (the node, or muster-agent) tells what
 * happened; the answer is the one thing it must do now. No memory, no time, no I/O.
 *
 * What the agent promises:
 * 1. Before member_join() no worker of this place runs, and the status it joins with was read after
 *    that.
 * 2. A worker that was told to end has ended before member_ended() is called; only then the next
 *    epoch is announced.
 * 3. An announcement is written for this pod's UID and only upwards, again until it is there. */
enum member_state {
    MEMBER_DOWN,     /* no agent yet */
    MEMBER_ANNOUNCE, /* `epoch` is to be written to the pod */
    MEMBER_WAIT,     /* it is written: behind the barrier */
    MEMBER_RUN,      /* the worker of `epoch` was started */
    MEMBER_ENDING,   /* it was told to end, for its epoch is over */
    MEMBER_DONE,     /* it succeeded: the group does not wait for it any more */
    MEMBER_OVER,     /* the group has ended */
    MEMBER_STATE_COUNT,
};

enum member_act {
    MEMBER_NOTHING,
    MEMBER_WRITE, /* announce `epoch`; member_written() when it is there */
    MEMBER_START, /* start the worker, once; its environment may name `epoch` */
    MEMBER_END,   /* end it at once; member_ended() when nothing of it is left */
    MEMBER_ACT_COUNT,
};

/* What an event comes to, for this member. */
enum member_input {
    IN_JOIN,       /* m_join */
    IN_JOIN_KNOWN, /* m_join, and the pod has that epoch already: m_written at once */
    IN_RESUME,     /* the agent is back before anybody missed it */
    IN_WRITTEN,    /* m_written */
    IN_LIFT,       /* m_lift: synced == epoch */
    IN_RESTART,    /* m_restart: deprecated >= epoch */
    IN_DEATH,      /* m_death */
    IN_FORLORN,    /* m_death that is our doing: another one of its epoch has died */
    IN_SUCCESS,    /* m_success */
    IN_OVER,       /* m_over */
    IN_COUNT,
    IN_NONE = IN_COUNT,
};

struct member_cell {
    bool is_legal;
    enum member_state next;
    enum member_act act;
    bool is_next_epoch; /* on to the first epoch that is not over */
};
/* A cell of the table; the functions below go by it, diagrams are drawn from it. */
struct member_cell member_cell(enum member_state state, enum member_input input);

/* What the agent knows of the group. Both epochs are 0 before the first. */
struct member_status {
    int64_t deprecated, synced;
    bool has_verdict; /* Completed or Failed */
};

struct member {
    enum member_state state;
    int64_t epoch; /* 0 before it joined */
    struct member_status seen;
};

/* The agent starts. `announced`: the epoch on the pod, 0 when there is none. */
enum member_act member_join(struct member *member, int64_t announced,
                            const struct member_status *status);
/* The agent starts and finds the worker that an earlier one started still there: as the pod is told
 * of a new epoch only when the worker before is gone, `announced` is the worker's epoch, and
 * nothing was lost. Not for a pod without an epoch. */
enum member_act member_resume(struct member *member, int64_t announced,
                              const struct member_status *status);
/* The pod has `epoch`, by our write or one before it. */
enum member_act member_written(struct member *member, int64_t epoch);
/* A status came, maybe an old one. */
enum member_act member_see(struct member *member, const struct member_status *status);
/* The worker has ended, or could not be started. What it says of itself counts only while nobody
 * told it to end. */
enum member_act member_ended(struct member *member, bool has_succeeded);

/* Another member that ran in this epoch has ended without success: the epoch will be over as soon
 * as that is known. An agent of both need not wait for that: a worker may die at any time, and this
 * one ends for the group as if it had. */
enum member_act member_forlorn(struct member *member, int64_t epoch);

/* An epoch as the annotation has it: a decimal number from 1; 0 for anything else. */
int64_t member_epoch(const char *text_or_null);
const char *member_state_name(enum member_state state);
const char *member_act_name(enum member_act act);
const char *member_input_name(enum member_input input);
