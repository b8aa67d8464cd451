// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/heap.h"
#include "base/timetext.h"

/* Virtual time: it stands still while something happens and jumps to the next thing that is due.
 * Equal times happen in the order in which they were armed, so a run is a function of its seed.
 * Everything that happens goes into one hash: two runs are the same when their hashes are. */
struct sim_event {
    struct heap_node node;
    void (*fire)(void *arg);
    void *arg;
    /* It may lead to nothing: a look at the clock, somebody's wake-up. See `loud`. */
    bool is_quiet;
};

struct sim_clock {
    time_ms now;        /* steady */
    time_ms wall_shift; /* of the clock on the wall against it: somebody may set that */
    struct heap due;
    size_t loud; /* of those that are due: something will surely happen */
    uint64_t trace;
    uint64_t steps;
};

void sim_clock_init(struct sim_clock *clock, time_ms start);
void sim_clock_done(struct sim_clock *clock);

void sim_event_init(struct sim_event *event, void (*fire)(void *arg), void *arg);
/* At that time, or now when it is past; replaces an earlier wish. TIME_NEVER takes it back. */
void sim_clock_arm(struct sim_clock *clock, struct sim_event *event, time_ms at);
void sim_clock_disarm(struct sim_clock *clock, struct sim_event *event);
time_ms sim_clock_next(const struct sim_clock *clock); /* TIME_NEVER: nothing is due, ever */
bool sim_clock_step(struct sim_clock *clock);          /* false: there was nothing */
/* Lets time pass without anything happening; nothing may be due before `to`. */
void sim_clock_pass(struct sim_clock *clock, time_ms to);

time_ms sim_clock_wall(const struct sim_clock *clock); /* since 1970, as the world is told */

void sim_trace(struct sim_clock *clock, const char *what, uint64_t number);
