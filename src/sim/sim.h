// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/manager.h"
#include "sim/clock.h"
#include "sim/disk.h"

/* The world of the simulator: the embedded store on a bad disk, controllers that see a late copy
 * of it, and a clock that jumps. No real time and no real I/O: a run is a function of its seed,
 * and sim_trace_hash() of two runs with the same seed and the same client is the same.
 *
 *   client ── sim_submit ──> store ──> sim_disk        crash: store, copy and controllers are
 *                              │ lag                    thrown away and opened again from the disk
 *   controllers <── copy <─────┘
 *        └── writes, late, now and then beaten by somebody else's ──> store */
struct sim;

struct sim_faults {
    /* Of every ten thousand: commits, commits, commits, controllers' updates, controllers' turns.
     */
    unsigned commit_refused, crash_before, crash_after, conflict, restart;
    /* At most, each drawn anew. */
    time_ms commit_ms, lag_ms, submit_ms;
};

struct sim_options {
    uint64_t seed;
    time_ms start; /* since 1970 */
    /* Shared with whatever else has to live in the same time (a runtime); NULL: one of its own. It
     * outlives the simulator. */
    struct sim_clock *clock;
    struct sim_faults faults;
    const struct controller *const *controllers; /* NULL-terminated */
    const struct configuration *configuration;   /* NULL: nothing is configured */
    /* No copy, no lag, no faults: controllers stand on the store itself as in the server, and what
     * one thing leads to happens in the same millisecond. For rehearsals, where times should be
     * exact; tests of controllers want the opposite. Any number of controllers. */
    bool is_direct;
    size_t window_changes;
    /* Every change of the store, at once, before the copy sees it. */
    watch_fn *on_change;
    watch_fn *on_seen; /* the same, when the controllers' copy shows it */
    /* The control plane is about to crash, or to be freed: nobody may hold on to the store. */
    void (*on_close)(void *arg);
    /* The control plane crashed and is back: the store is new. */
    void (*on_reopen)(void *arg);
    void *arg;
};

/* How a client hears of a write that a crash overtook: it may have happened or not. */
#define SIM_STATUS_UNKNOWN 504

struct sim *sim_new(const struct sim_options *options);
void sim_free(struct sim *sim); /* before whatever the client has armed on its clock */

bool sim_step(struct sim *sim); /* the next event; false: nothing will ever happen again */
/* Steps until `is_reached` (NULL: never) says so, or to the deadline. True: reached. */
bool sim_run_until(struct sim *sim, time_ms deadline, bool (*is_reached)(void *arg), void *arg);
/* All faults off; delays become short. */
void sim_heal(struct sim *sim);
void sim_crash(struct sim *sim);
void sim_restart_manager(struct sim *sim);
/* Somebody sets the clock on the wall: from now on it is `shift` off the steady one. */
void sim_set_wall(struct sim *sim, time_ms shift);

/* As a client, straight to the store. `done` may be called at once; it must not step. */
void sim_submit(struct sim *sim, struct write *write);

time_ms sim_now(const struct sim *sim);
struct rng *sim_rng(struct sim *sim); /* for the client: one seed drives everything */
struct store *sim_store(const struct sim *sim);
const struct sim_disk *sim_disk(const struct sim *sim);
struct world *sim_world(struct sim *sim);
struct manager *sim_manager(const struct sim *sim);
struct sim_clock *sim_clock(struct sim *sim);
uint64_t sim_trace_hash(const struct sim *sim);
/* What went wrong by the simulator's own account (a key was worked on while its write was on its
 * way), or NULL. */
const char *sim_violation(const struct sim *sim);

struct sim_stats {
    uint64_t steps, crashes, restarts, conflicts, reconciles;
};
struct sim_stats sim_stats(const struct sim *sim);
