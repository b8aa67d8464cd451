// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "node/spawn.h"
#include "os/loop.h"

/* The children of the helper process: who lives, who has ended and is not forgotten yet. */
struct spawner_children {
    struct loop *loop;
    struct spawn spawn;
    struct map *by_id;
    size_t n_alive, alive_max; /* each has a descriptor */
    VEC(int) dead;             /* pidfds of those that are to be reaped */
    bool is_sweep_due;
    struct loop_timer sweep; /* for orphans */
    void (*tell)(void *arg, const struct spawn_reply *reply);
    void *arg;
};

int spawner_children_init(struct spawner_children *children, struct loop *loop, struct err *err);
void spawner_children_done(struct spawner_children *children); /* the processes live on */
void spawner_children_start(struct spawner_children *children, const struct spawn_request *request);
void spawner_children_signal(struct spawner_children *children, const struct spawn_order *order);
void spawner_children_forget(struct spawner_children *children, const char *id);
void spawner_children_bury(struct spawner_children *children); /* once their ends were sent */
void spawner_children_list(struct spawner_children *children);
