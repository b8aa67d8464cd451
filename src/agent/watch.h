// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "agent/exchange.h"
#include "agent/pause.h"
#include "agent/reading.h"
#include "agent/say.h"

/* The one watch of an agent: its JobSet, for as long as the agent lives. The first answer begins
 * with the JobSet as it is now, so the status is never older than the agent; after a break it goes
 * on from the last version it saw, or anew when the server does not know that any more. */
struct watch_options {
    const struct where *where;
    const char *ns, *jobset;
    struct rng *rng;
    void (*on_jobset)(void *arg, const struct reading *reading);
    void *arg;
};

struct watch {
    struct watch_options options;
    struct exchange x;
    struct reader reader;
    struct pause pause;
    time_ms retry_at; /* while the exchange is not busy */
    char version[VERSION_MAX];
    struct said said;
    struct reading refusal; /* of an answer that is not 200 */
    bool is_expired;        /* an ERROR event came: begin anew */
    int error_code;
};

void watch_init(struct watch *watch, const struct watch_options *options);
/* Does what is due; call after every poll, and when watch_due() has come. */
void watch_step(struct watch *watch, time_ms now);
time_ms watch_due(const struct watch *watch);
