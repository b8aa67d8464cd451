// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/rng.h"
#include "base/timetext.h"
#include <errno.h>

/* How long to wait before the next try: thousands of agents lose their server at the same moment
 * and must not come back at the same moment. The n-th pause is a random part of 100 ms doubled n
 * times, at most 5 s, or what the server asked for plus such a part. */
#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS 5000
#define PAUSE_QUEUE_MS 10

struct pause {
    unsigned failures; /* in a row */
    struct rng *rng;
};

static inline time_ms pause_next(struct pause *pause, time_ms asked_ms)
{
    time_ms most = PAUSE_FIRST_MS;
    for (unsigned i = 0; i < pause->failures && most < PAUSE_MAX_MS; i++)
        most *= 2;
    most = most < PAUSE_MAX_MS ? most : PAUSE_MAX_MS;
    pause->failures++;
    return asked_ms + 1 + (time_ms)rng_below(pause->rng, (uint64_t)most);
}

/* After a try that failed with `code`. A unix socket whose queue is full says EAGAIN: so many come
 * at once that there is no room for a moment, which is no trouble. */
static inline time_ms pause_after(struct pause *pause, int code)
{
    if (code == -EAGAIN)
        return 1 + (time_ms)rng_below(pause->rng, PAUSE_QUEUE_MS);
    return pause_next(pause, 0);
}

static inline void pause_reset(struct pause *pause)
{
    pause->failures = 0;
}
