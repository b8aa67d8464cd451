// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"
#include "cli/run_feed.h"
#include "cli/run_model.h"
#include "cli/run_server.h"
#include "cli/run_show.h"
#include "cli/target.h"
#include "os/loop.h"

/* One `muster run`. It goes through its phases in a straight line (server, apply, follow, end);
 * each of them turns the loop until what it waits for is so, or `signals`, `is_late` or
 * `is_lost` say that it never will be. */
enum run_result {
    RUN_RESULT_NONE,
    RUN_RESULT_SUCCEEDED,
    RUN_RESULT_READY, /* --until ready */
    RUN_RESULT_FAILED,
    RUN_RESULT_TIMEOUT,
    RUN_RESULT_INTERRUPTED,
    RUN_RESULT_LOST,    /* the server */
    RUN_RESULT_REFUSED, /* it could not begin */
};

struct run {
    struct cli *cli;
    const struct manifests *manifests; /* what is run */
    struct loop *loop;
    struct run_model model;
    struct run_show show;
    struct run_feed *feed;    /* NULL: not following yet */
    struct run_server server; /* pid 0: there is none */
    bool is_private;
    bool with_logs;
    bool until_ready;
    bool told_of_logs; /* that there are too many */
    struct items made; /* by us, in the order of the files */
    time_ms drawn_at;
    bool is_dirty;
    struct loop_timer draw_timer, late_timer, alarm;
    bool alarm_rang;
    struct loop_io *feed_io, *out_io, *pid_io;
    int signals; /* that asked us to end */
    bool is_late;
    bool is_server_ready;
    bool has_server_ended;
    int server_code;
    bool is_ending; /* streams may break now */
    bool is_lost;   /* a watch cannot go on */
    int lost_code;
};

/* Something has changed; the next draw is at most 100 ms away. */
void run_touch(struct run *run);
/* One turn of the loop, which waits for something to happen. */
void run_turn(struct run *run);

/* The end: shows why, stops what has to be stopped, tells how it was. Gives the exit code. */
int run_end(struct run *run, enum run_result result);
