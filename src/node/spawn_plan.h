// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/spawn.h"
#include <signal.h>

/* What the child is told, in memory that both see; it answers in the last three. */
struct spawn_plan {
    const struct spawn *spawn;
    const struct spawn_request *request;
    const char *procs;  /* v2 file to join by, when it was not born there; or NULL */
    bool shares_files;  /* our table is the parent's until we cut it off */
    bool has_handlers;  /* the parent's handlers are still set */
    bool has_out;       /* else output goes nowhere */
    volatile int error; /* 0 while all is well */
    volatile enum spawn_stage stage;
    const char *volatile path;
};

/* As the kernel knows it. The C library hides two signals that it uses itself, and those may have
 * been left ignored by whoever started us (its own posix_spawn does so). */
struct spawn_sigaction {
    void (*handler)(int);
    unsigned long rest[7];
};
#define SPAWN_SIGSET_BYTES ((size_t)8)

/* Runs in the child on a stack of its own while the parent waits; becomes the program or exits. */
int spawn_child_run(void *plan);
