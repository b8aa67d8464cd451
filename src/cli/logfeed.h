// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"

/* Prints the logs of containers, of several at once when they are followed: one thread and one
 * connection each, whole lines to cli->out. */
struct logfeed;

/* Whole lines with their prefixes, from the threads, one call at a time. Not 0: that is enough. */
typedef int logfeed_fn(void *arg, struct sv lines);

struct logfeed_options {
    bool follow;
    bool previous;
    bool timestamps;
    bool prefix;       /* "[pod/NAME/CONTAINER] " before each line */
    bool bar;          /* instead: "NAME/CONTAINER | " */
    const char *tail;  /* lines; NULL: all */
    const char *limit; /* bytes; NULL: all */
    int64_t since_s;   /* 0: all */
    const char *since; /* a time; NULL: all */
    logfeed_fn *sink;  /* NULL: cli->out */
    void *arg;
    bool is_silent;  /* errors are not printed */
    bool can_cancel; /* the streams end when cancel_fd becomes readable */
    int cancel_fd;
};

struct logfeed *logfeed_new(struct cli *cli, const struct logfeed_options *options);
/* Following: begins and returns. Else: prints it whole. `container` NULL: the server knows. The
 * connection of `cli` must be there. Gives its number. */
size_t logfeed_add(struct logfeed *feed, const char *ns, const char *pod, const char *container);
/* How many are being read. */
size_t logfeed_busy(const struct logfeed *feed);
bool logfeed_is_busy(const struct logfeed *feed, size_t number);
/* Until all have ended; the worst exit code. Errors have been printed. */
int logfeed_finish(struct logfeed *feed); /* frees it */
