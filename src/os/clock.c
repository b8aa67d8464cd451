// SPDX-License-Identifier: Apache-2.0
#include "os/clock.h"
#include <time.h>

static time_ms read_clock(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now); /* fails for unknown clocks only */
    return (time_ms)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

time_ms clock_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

time_ms clock_monotonic(void)
{
    return read_clock(CLOCK_MONOTONIC);
}
