// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"
#include "cli/run_model.h"
#include "model/kind.h"

/* What the server streams to `run`: watches and logs, each read by a thread of its own, given to
 * the loop as posts. Threads that are ahead of the loop wait, so a log that runs over costs time
 * and not memory. */
struct run_feed;

enum run_post_type {
    RUN_POST_LIST,  /* text: a list of `kind` in `ns` */
    RUN_POST_EVENT, /* text: an object; event: "ADDED", ... */
    RUN_POST_LOG,   /* text: whole lines */
    RUN_POST_END,   /* a watch could not go on; text: what it printed; exit_code */
};

struct run_post {
    enum run_post_type type;
    const struct kind *kind;
    const char *ns;
    char event[16];
    struct str text;
    int exit_code;
};

/* The connection of `cli` must be there, the signals that are for the loop be blocked. */
int run_feed_new(struct cli *cli, struct run_feed **ret_feed, struct err *err);
/* Ends all threads, whatever they wait for. NULL is fine. */
void run_feed_free(struct run_feed *feed);
int run_feed_fd(const struct run_feed *feed); /* readable while there are posts */
/* `ns` must live as long as the feed. */
void run_feed_watch(struct run_feed *feed, const struct kind *kind, const char *ns);
/* Follows one life of a container. False: too many are followed already. */
bool run_feed_log(struct run_feed *feed, const struct run_log *log);
/* Is a log being read that `is_meant`? */
bool run_feed_reads(const struct run_feed *feed,
                    bool (*is_meant)(void *arg, const struct run_log *log), void *arg);
/* Gives all posts that are there, in order. */
void run_feed_take(struct run_feed *feed, void (*each)(void *arg, const struct run_post *post),
                   void *arg);
