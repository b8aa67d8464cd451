// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The worker and whatever it starts: a session of its own, and all that becomes an orphan is ours
 * to reap. It has ended when nothing of it is left, not before. */
struct worker {
    pid_t pid;       /* 0: none */
    bool has_exited; /* the worker itself; something it started may still be there */
    int code;        /* 0 to 255; 128 + n for signal n */
};

void worker_adopt_orphans(void); /* once, before the first start */
/* `command` is NULL-terminated. Its environment gets MUSTER_EPOCH. */
int worker_start(struct worker *worker, char *const command[], int64_t epoch);
bool worker_is_there(const struct worker *worker);
void worker_signal(const struct worker *worker, int signo); /* to all processes of its group */
void worker_kill(const struct worker *worker);              /* to everything, and for good */
/* After SIGCHLD: collects who has ended. True once when nothing is left of a worker that was
 * started; worker->code says how it ended. */
bool worker_reap(struct worker *worker);
