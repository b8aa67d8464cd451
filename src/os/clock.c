// SPDX-License-Identifier: Apache-2.0
#include "os/clock.h"
#include <assert.h>
#include <time.h>

static time_ms clock_read(clockid_t clock)
{
    struct timespec at;
    int r = clock_gettime(clock, &at);
    assert(r == 0);
    return (time_ms)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

time_ms clock_monotonic(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

time_ms clock_wall(void)
{
    return clock_read(CLOCK_REALTIME);
}
