// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/timetext.h"
#include <stdbool.h>
#include <stddef.h>

/* Which part of the last `window_ms` something was busy, from counters that only grow. With less
 * than a window it says what there is; with less than two samples it knows nothing. */
#define AVERAGE_KEPT 160
#define AVERAGE_UNKNOWN (-1.0)

struct average {
    time_ms window_ms;
    size_t first, n; /* a ring, oldest first */
    struct average_point {
        time_ms at;
        double part, whole;
    } points[AVERAGE_KEPT];
    double percent; /* AVERAGE_UNKNOWN, or 0 to 100 */
};

void average_init(struct average *average, time_ms window_ms);
void average_set_window(struct average *average, time_ms window_ms);
/* `part` of `whole`, both so far; a negative `part` is not known and is left out. */
void average_add(struct average *average, time_ms at, double part, double whole);
/* AVERAGE_UNKNOWN too when the last sample is so old that it says nothing about `now`. */
double average_percent(const struct average *average, time_ms now);
