// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "sim/replica.h"
#include "sim/sim.h"
#include "store/embedded.h"
#include <bsd/sys/queue.h>

#define SIM_CONTROLLERS_MAX 16

struct relay; /* one write that the simulator stands in the middle of */

struct sim {
    struct sim_options options;
    struct sim_clock *clock, own_clock;
    struct rng rng;        /* faults and delays */
    struct rng client_rng; /* the test's own, so that a fault more does not change what it does */
    struct sim_disk *disk;
    /* All below is thrown away in a crash. */
    struct store *store;
    struct watch *watch;
    struct watch *seen;
    struct sim_replica *replica;
    struct world world;
    struct manager *manager;
    struct sim_event flush, wake;
    LIST_HEAD(, relay) relays;
    bool is_crashing;
    /* The controllers, each behind a trampoline that knows its number. */
    struct controller shadows[SIM_CONTROLLERS_MAX];
    const struct controller *shadow_list[SIM_CONTROLLERS_MAX + 1];
    unsigned manager_life; /* which manager it is: late answers to an earlier one do not count */
    struct map *in_flight; /* "number|key" to the number of writes on their way */
    char *turn;            /* the one that is being worked on, or NULL */
    char *violation;
    struct sim_stats stats;
};

/* relay.c */
void relay_submit_client(struct sim *sim, struct write *write);
void relay_submit_world(struct world *world, struct write *write);
void relay_drop_all(struct sim *sim); /* whoever waits is told so; after the store let go of all */

/* shadow.c */
void shadow_controllers(struct sim *sim);
void shadow_forget(struct sim *sim); /* the manager is new */
void shadow_sent(struct sim *sim, const char *turn);
void shadow_answered(struct sim *sim, const char *turn);
