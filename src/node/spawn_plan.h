// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/spawn.h"

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

/* Runs in the child on a stack of its own while the parent waits; becomes the program or exits. */
int spawn_child_run(void *plan);
