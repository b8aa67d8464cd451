// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/timetext.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The barrier of a group that restarts in place, as its controller sees it. It is told what is
 * known of each pod, in any order and as often as one likes, and says what to write next; the
 * protocol is the table of model/README.md. Work per report is constant, whatever the number of
 * members. */
struct group;
struct group *group_new(void);
void group_free(struct group *group); /* NULL is fine */

/* A member's place: the replicated job by its number, the Job in it, the completion index. */
struct group_place {
    uint32_t role;
    int64_t job, index;
};
struct group_role {
    int64_t jobs, members; /* so many Jobs, so many members in each */
};
/* Who is expected. Members outside of this must be gone before a barrier is lifted. */
void group_resize(struct group *group, const struct group_role *roles, size_t count);
/* What the group's status says. The rest of the engine follows from it and the pods. */
void group_set_epochs(struct group *group, int64_t deprecated, int64_t synced);

enum group_life {
    GROUP_LIVES,
    GROUP_LEAVES, /* is being stopped */
    GROUP_FAILED,
    GROUP_SUCCEEDED, /* leaves the barrier: nobody waits for it any more */
};
struct group_pod {
    const char *uid;
    struct group_place place;
    time_ms created; /* of two pods with one place, the younger counts */
    enum group_life life;
    int64_t epoch; /* that it has announced; 0: none */
    bool is_ready; /* in that epoch: not what was said of the one before */
};
/* True: what the group should do may have changed. */
bool group_put(struct group *group, const struct group_pod *pod);
bool group_drop(struct group *group, const char *uid);
/* Known to have succeeded by other means than a pod, which may be gone by now. */
bool group_set_done(struct group *group, struct group_place place, bool is_done);

enum group_move {
    GROUP_WAIT,
    GROUP_COMPLETE,  /* all members have succeeded */
    GROUP_FAIL,      /* a member needs a restart, and there is none left */
    GROUP_DEPRECATE, /* restart: deprecated = epoch, and one restart more is charged if so */
    GROUP_SYNC,      /* lift the barrier: synced = epoch */
    GROUP_EXPEL,     /* a member has announced an impossible epoch, and nobody hears it any more */
};
struct group_budget {
    int64_t used, max;  /* restarts that were charged, and how many may be */
    bool wants_restart; /* somebody asks for one; it is not charged */
};
struct group_plan {
    enum group_move move;
    int64_t epoch;
    bool is_charged;
};
struct group_plan group_plan(const struct group *group, const struct group_budget *budget);

/* The pod whose announcement asks for the restart (GROUP_DEPRECATE that is charged, GROUP_FAIL), or
 * that is to be expelled (GROUP_EXPEL); NULL: none. Looks at all members. */
const char *group_culprit(const struct group *group);

/* The barrier is lifted, and everybody who is expected has become ready since. */
bool group_is_ready(const struct group *group);

struct group_counts {
    int64_t places, done; /* expected at all; of these, succeeded */
    int64_t arrived;      /* have announced the epoch that comes next */
    int64_t outside;      /* not expected, and not gone yet */
};
struct group_counts group_counts(const struct group *group);
/* Counts everything anew and compares, for tests. NULL, or what is wrong. */
const char *group_problem(const struct group *group);
