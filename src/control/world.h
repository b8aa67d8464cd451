// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/rng.h"
#include "model/configuration.h"
#include "store/store.h"

/* All that a controller sees of the world. Two hosts provide it: the server (epoll, SQLite)
 * and the simulator (virtual clock, faults); one for Kubernetes (an informer's cache) is planned.
 */
struct world;

struct world_ops {
    time_ms (*now)(struct world *world);    /* since 1970; somebody may set it */
    time_ms (*steady)(struct world *world); /* never jumps: for time-outs and pauses */
    /* As store_submit(), with one promise more: `done` is called only after `cache` and `feed`
     * show the write, so nobody ever has to guess about his own writes. */
    void (*submit)(struct world *world, struct write *write);
    /* manager_run() is wanted at that steady time; replaces an earlier wish. TIME_NEVER takes it
     * back. */
    void (*wake)(struct world *world, time_ms at);
};

struct world {
    const struct world_ops *ops;
    struct cache *cache;
    struct feed *feed; /* what changes in `cache`, in order */
    struct rng rng;
    /* What the control plane is told; NULL: nothing. Whoever replaces it calls
     * manager_configure(). */
    const struct configuration *configuration;
};
