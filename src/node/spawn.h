// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "node/spawn_wire.h"
#include <stdbool.h>
#include <stdint.h>

/* One start of one program. The caller waits until the child has become the program or has failed:
 * what fails before that is told as a stage and an errno, never as an exit code. */
enum spawn_stage {
    SPAWN_AT_OUT,     /* the file for its output */
    SPAWN_AT_CLONE,   /* no process: limits, memory */
    SPAWN_AT_FILES,   /* descriptors */
    SPAWN_AT_SESSION, /* of its own, or a process group */
    SPAWN_AT_CGROUP,
    SPAWN_AT_MOUNT,
    SPAWN_AT_CHDIR,
    SPAWN_AT_LIMIT,
    SPAWN_AT_USER, /* and groups */
    SPAWN_AT_EXEC,
};
extern const char *const SPAWN_STAGE[]; /* "out", "clone", ... */

struct spawn_fault {
    enum spawn_stage stage;
    int error;        /* errno, positive */
    const char *path; /* of the request, or "" */
};
struct spawn_born {
    int pid;
    int pidfd;      /* the caller's */
    uint64_t ident; /* see struct spawn_reply */
};

/* What is kept between starts. */
struct spawn {
    int null_fd, out_fd;  /* low numbers, reserved */
    char *stack;          /* of the child until it is the program */
    uint64_t ignored;     /* signals that we ignore and a child must not, as bits */
    int oom_fd;           /* our own score's file, or -1 */
    int oom_own, oom_now; /* our own, and what it is set to for the children of the moment */
    bool is_threaded;
    bool has_session; /* of our own and without a terminal: children may stay in it */
    bool has_clone3, has_into_cgroup, has_close_range; /* tests take them away */
};
/* is_threaded: other threads use our descriptors meanwhile, so the cheap way to get rid of them is
 * not open. Do it early: the lower the reserved numbers, the less is copied with each start. */
int spawn_init(struct spawn *spawn, bool is_threaded, struct err *err);
void spawn_done(struct spawn *spawn);
int spawn_start(struct spawn *spawn, const struct spawn_request *request,
                struct spawn_born *ret_born, struct spawn_fault *ret_fault);
/* No start follows at once: our own score is ours again. */
void spawn_rest(struct spawn *spawn);
