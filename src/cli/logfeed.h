// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"

/* Prints the logs of containers, of several at once when they are followed: one thread and one
 * connection each, whole lines to cli->out. */
struct logfeed;

struct logfeed_options {
    bool follow;
    bool previous;
    bool timestamps;
    bool prefix;       /* "[pod/NAME/CONTAINER] " before each line */
    const char *tail;  /* lines; NULL: all */
    const char *limit; /* bytes; NULL: all */
    int64_t since_s;   /* 0: all */
    const char *since; /* a time; NULL: all */
};

struct logfeed *logfeed_new(struct cli *cli, const struct logfeed_options *options);
/* Following: begins and returns. Else: prints it whole. `container` NULL: the server knows. The
 * connection of `cli` must be there. */
void logfeed_add(struct logfeed *feed, const char *ns, const char *pod, const char *container);
/* Until all have ended; the worst exit code. Errors have been printed. */
int logfeed_finish(struct logfeed *feed); /* frees it */
