// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ledger.h"

/* A client that does what clients do, in an order that the seed decides: creates families of
 * objects, gives them new owners, deletes in all ways, holds objects back with finalizers and lets
 * them go later, runs pods as a node would. It reads the store as it is. */
struct client {
    struct sim *sim;
    struct ledger *ledger;
    struct rng *rng;
    uint64_t writes;   /* each has a number, its tag */
    uint64_t answered; /* every one must be, once */
    char last_uid[40]; /* of something that may be gone by now */
};

void client_init(struct client *client, struct sim *sim, struct ledger *ledger);
/* One thing; returns how long it then waits. */
time_ms client_act(struct client *client);
/* Everything that waits for the client: finalizers of what is deleted, pods that a node runs.
 * Returns how many objects that were. */
size_t client_let_go(struct client *client);
