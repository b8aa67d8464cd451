// SPDX-License-Identifier: Apache-2.0
#include "core/start/container.h"
#include <assert.h>
#include <stddef.h>

/* A cell that is not named here is zero, hence illegal. A generation that comes again passes
 * `downloading` as the first did: at once when its image is there. */

#define TO(state)                                                                                  \
    {                                                                                              \
        .is_legal = true, .next = CT_##state                                                       \
    }

// clang-format off
static const struct container_move TABLE[CT_STATE_COUNT][CE_COUNT] = {
    [CT_DOWNLOADING] = {
        [CE_PREPARED]       = TO(BLOCKED),
        [CE_PREPARE_FAILED] = TO(FAILED),
        [CE_STOPPED]        = TO(EXITED),
    },
    [CT_BLOCKED] = {
        [CE_UNBLOCKED]      = TO(PENDING),
        [CE_STOPPED]        = TO(EXITED),
    },
    [CT_PENDING] = {
        [CE_REBLOCKED]      = TO(BLOCKED),
        [CE_ADMITTED]       = TO(STARTING),
        [CE_STOPPED]        = TO(EXITED),
    },
    [CT_STARTING] = {
        [CE_READY]          = TO(READY),
        [CE_START_FAILED]   = TO(FAILED),
        [CE_ENDED_WELL]     = TO(EXITED),
        [CE_ENDED_BADLY]    = TO(FAILED),
    },
    [CT_READY] = {
        [CE_ENDED_WELL]     = TO(EXITED),
        [CE_ENDED_BADLY]    = TO(FAILED),
    },
    [CT_FAILED] = {
        [CE_AGAIN]          = TO(DOWNLOADING),
    },
    [CT_EXITED] = {
        [CE_AGAIN]          = TO(DOWNLOADING),
    },
};

static const struct {
    const char *name;
    bool has_process, is_over;
} STATES[CT_STATE_COUNT] = {
    [CT_DOWNLOADING] = {"downloading", false, false},
    [CT_BLOCKED]     = {"blocked",     false, false},
    [CT_PENDING]     = {"pending",     false, false},
    [CT_STARTING]    = {"starting",    true,  false},
    [CT_READY]       = {"ready",       true,  false},
    [CT_FAILED]      = {"failed",      false, true},
    [CT_EXITED]      = {"exited",      false, true},
};

static const char *const EVENTS[CE_COUNT] = {
    [CE_PREPARED]       = "prepared",
    [CE_PREPARE_FAILED] = "prepare failed",
    [CE_UNBLOCKED]      = "unblocked",
    [CE_REBLOCKED]      = "reblocked",
    [CE_ADMITTED]       = "admitted",
    [CE_READY]          = "ready",
    [CE_START_FAILED]   = "start failed",
    [CE_ENDED_WELL]     = "ended well",
    [CE_ENDED_BADLY]    = "ended badly",
    [CE_STOPPED]        = "stopped",
    [CE_AGAIN]          = "again",
};
// clang-format on

struct container_move container_move(enum container_state state, enum container_event event)
{
    assert(state < CT_STATE_COUNT && event < CE_COUNT);
    return TABLE[state][event];
}

const char *container_state_name(enum container_state state)
{
    assert(state < CT_STATE_COUNT);
    return STATES[state].name;
}

const char *container_event_name(enum container_event event)
{
    assert(event < CE_COUNT);
    return EVENTS[event];
}

bool container_has_process(enum container_state state)
{
    assert(state < CT_STATE_COUNT);
    return STATES[state].has_process;
}

bool container_is_over(enum container_state state)
{
    assert(state < CT_STATE_COUNT);
    return STATES[state].is_over;
}
