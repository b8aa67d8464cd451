// SPDX-License-Identifier: Apache-2.0
/* Each row of the agent in model/README.md is a cell here, under the name that the model gives it.
 * What the model does in one move, "ends the worker, then announces", takes time here: ENDING is
 * that time.
 *
 * 1. An epoch never goes down, and a start happens only from WAIT, so once for each epoch.
 * 2. A status never goes back: of two that came in the wrong order the newer one counts. */
#include "core/recover/member.h"
#include "core/recover/epoch.h"
#include <assert.h>
#include <stddef.h>

#define GO(next_, act_)                                                                            \
    {                                                                                              \
        true, MEMBER_##next_, MEMBER_##act_, false                                                 \
    }
#define ON(next_, act_)                                                                            \
    {                                                                                              \
        true, MEMBER_##next_, MEMBER_##act_, true                                                  \
    }

/* A cell that is not named is zero: such an event says nothing to that state. */
// clang-format off
static const struct member_cell TABLE[MEMBER_STATE_COUNT][IN_COUNT] = {
    [MEMBER_DOWN] = {
        [IN_JOIN]       = GO(ANNOUNCE, WRITE),
        [IN_JOIN_KNOWN] = GO(WAIT,     NOTHING),
        [IN_RESUME]     = GO(RUN,      NOTHING),
        [IN_OVER]       = GO(OVER,     NOTHING),
    },
    [MEMBER_ANNOUNCE] = {
        [IN_WRITTEN]    = GO(WAIT,     NOTHING),
        [IN_RESTART]    = ON(ANNOUNCE, WRITE),
        [IN_OVER]       = GO(OVER,     NOTHING),
    },
    [MEMBER_WAIT] = {
        [IN_LIFT]       = GO(RUN,      START),
        [IN_RESTART]    = ON(ANNOUNCE, WRITE),
        [IN_OVER]       = GO(OVER,     NOTHING),
    },
    [MEMBER_RUN] = {
        [IN_RESTART]    = GO(ENDING,   END),
        [IN_DEATH]      = ON(ANNOUNCE, WRITE),
        [IN_FORLORN]    = GO(ENDING,   END),
        [IN_SUCCESS]    = GO(DONE,     NOTHING),
        [IN_OVER]       = GO(OVER,     END),
    },
    [MEMBER_ENDING] = {
        [IN_DEATH]      = ON(ANNOUNCE, WRITE),
        [IN_SUCCESS]    = ON(ANNOUNCE, WRITE), /* it was told to end: exit 0 is no success */
        [IN_OVER]       = GO(OVER,     NOTHING),
    },
};
// clang-format on

struct member_cell member_cell(enum member_state state, enum member_input input)
{
    assert(state < MEMBER_STATE_COUNT && input < IN_COUNT);
    return TABLE[state][input];
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static enum member_act step(struct member *member, enum member_input input)
{
    if (input == IN_NONE)
        return MEMBER_NOTHING;
    const struct member_cell *cell = &TABLE[member->state][input];
    if (!cell->is_legal)
        return MEMBER_NOTHING;
    if (cell->is_next_epoch)
        member->epoch = larger(member->epoch, member->seen.deprecated) + 1;
    member->state = cell->next;
    return cell->act;
}

/* What the newest status means for this epoch. */
static enum member_input input_of(const struct member *member)
{
    if (member->seen.has_verdict)
        return IN_OVER;
    if (member->seen.deprecated >= member->epoch)
        return IN_RESTART;
    return member->seen.synced == member->epoch ? IN_LIFT : IN_NONE;
}

static void learn(struct member *member, const struct member_status *status)
{
    struct member_status *seen = &member->seen;
    seen->synced = larger(seen->synced, status->synced);
    /* When an epoch is synced those before it are over, whether or not we were told so. */
    seen->deprecated = larger(seen->deprecated, larger(status->deprecated, seen->synced - 1));
    seen->has_verdict = seen->has_verdict || status->has_verdict;
}

enum member_act member_join(struct member *member, int64_t announced,
                            const struct member_status *status)
{
    assert(member->state == MEMBER_DOWN);
    learn(member, status);
    if (member->seen.has_verdict)
        return step(member, IN_OVER);
    /* An epoch that was synced may have had a worker here. One beyond the next cannot be: who
     * wrote it was not an agent. */
    member->epoch = larger(member->seen.deprecated, member->seen.synced) + 1;
    return step(member, announced == member->epoch ? IN_JOIN_KNOWN : IN_JOIN);
}

enum member_act member_resume(struct member *member, int64_t announced,
                              const struct member_status *status)
{
    assert(member->state == MEMBER_DOWN && announced > 0);
    member->epoch = announced;
    (void)step(member, IN_RESUME);
    return member_see(member, status);
}

enum member_act member_written(struct member *member, int64_t epoch)
{
    if (member->state != MEMBER_ANNOUNCE || epoch < member->epoch)
        return MEMBER_NOTHING;
    (void)step(member, IN_WRITTEN);
    return step(member, input_of(member)); /* the others may have been faster than the answer */
}

enum member_act member_see(struct member *member, const struct member_status *status)
{
    learn(member, status);
    return member->state == MEMBER_DOWN ? MEMBER_NOTHING : step(member, input_of(member));
}

enum member_act member_ended(struct member *member, bool has_succeeded)
{
    return step(member, has_succeeded ? IN_SUCCESS : IN_DEATH);
}

enum member_act member_forlorn(struct member *member, int64_t epoch)
{
    return step(member, member->epoch == epoch ? IN_FORLORN : IN_NONE);
}

int64_t member_epoch(const char *text_or_null)
{
    int64_t epoch = 0;
    (void)epoch_parse(text_or_null, &epoch); /* nothing is what anything else says */
    return epoch;
}

const char *member_state_name(enum member_state state)
{
    static const char *const NAMES[MEMBER_STATE_COUNT] = {
        [MEMBER_DOWN] = "down", [MEMBER_ANNOUNCE] = "announce", [MEMBER_WAIT] = "wait",
        [MEMBER_RUN] = "run",   [MEMBER_ENDING] = "ending",     [MEMBER_DONE] = "done",
        [MEMBER_OVER] = "over",
    };
    assert(state < MEMBER_STATE_COUNT);
    return NAMES[state];
}

const char *member_act_name(enum member_act act)
{
    static const char *const NAMES[MEMBER_ACT_COUNT] = {
        [MEMBER_NOTHING] = "nothing",
        [MEMBER_WRITE] = "write",
        [MEMBER_START] = "start",
        [MEMBER_END] = "end",
    };
    assert(act < MEMBER_ACT_COUNT);
    return NAMES[act];
}

const char *member_input_name(enum member_input input)
{
    static const char *const NAMES[IN_COUNT] = {
        [IN_JOIN] = "join",       [IN_JOIN_KNOWN] = "join, known",
        [IN_RESUME] = "resume",   [IN_WRITTEN] = "written",
        [IN_LIFT] = "lift",       [IN_RESTART] = "restart",
        [IN_DEATH] = "death",     [IN_FORLORN] = "forlorn",
        [IN_SUCCESS] = "success", [IN_OVER] = "over",
    };
    assert(input < IN_COUNT);
    return NAMES[input];
}
