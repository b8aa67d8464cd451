// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/rng.h"
#include <stdint.h>

/* A SQLite VFS in memory that fails on demand and knows what a power cut would leave: it keeps,
 * beside what a reader sees, what has reached the disk, and the writes on their way. For one
 * connection at a time. */
#define FAULTY_VFS "faulty"

enum { OP_READ = 1, OP_WRITE = 2, OP_SYNC = 4, OP_TRUNCATE = 8 };

enum fault_span {
    FAULT_ONCE,  /* that operation alone */
    FAULT_STUCK, /* and every counted one after it */
    FAULT_CUT,   /* from here on nothing works and nothing changes */
};
struct fault {
    unsigned ops; /* which are counted */
    uint64_t at;  /* the count at which it strikes, from 1; 0: never */
    int code;     /* what SQLite is told */
    enum fault_span span;
};

void faulty_vfs_register(void);
void faulty_vfs_reset(void); /* no files, no faults */
void faulty_vfs_arm(struct fault fault);
uint64_t faulty_vfs_count(void); /* counted operations since it was armed */
/* As if the process were killed now: what it does until faulty_vfs_restart() has no effect. */
void faulty_vfs_kill(void);
void faulty_vfs_restart(void); /* a new process, without faults, sees all that was written */
/* The machine starts again, without faults. What was not synced is lost; with `rng`, a random
 * subset of it is, by sectors. */
void faulty_vfs_power_on(struct rng *rng);
