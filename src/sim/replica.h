// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/rng.h"
#include "sim/clock.h"
#include "store/store.h"

/* What controllers see: a copy of the store's objects that every change reaches late, in order. */
struct sim_replica;

struct sim_replica_options {
    struct sim_clock *clock;
    struct rng *rng;
    struct store *store;
    size_t window_changes;
    time_ms lag_max_ms;
};

struct sim_replica *sim_replica_new(const struct sim_replica_options *options);
void sim_replica_free(struct sim_replica *replica);
struct cache *sim_replica_cache(const struct sim_replica *replica);
struct feed *sim_replica_feed(const struct sim_replica *replica);
/* When everything that the store has announced by now will be here. */
time_ms sim_replica_caught_up_at(const struct sim_replica *replica);
void sim_replica_heal(struct sim_replica *replica, time_ms lag_max_ms);
