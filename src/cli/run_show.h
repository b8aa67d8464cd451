// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"
#include "cli/run_view.h"

/* Shows a run: on a terminal live lines at the bottom, drawn again in place, with logs and notes
 * scrolling above them; elsewhere one plain line a change, at most one a second and group. */

struct run_shown { /* of one group */
    char *text;    /* last plain line; NULL: none yet */
    time_ms at;
    bool is_over; /* its last line has been printed */
};

struct run_show {
    FILE *out;
    bool is_terminal;
    bool is_quiet;  /* logs only */
    bool is_broken; /* nobody reads us any more */
    int rows;
    struct run_style style;
    struct str above;     /* what scrolls up with the next draw */
    VEC(size_t) drawn;    /* widths of the live lines that are on the terminal */
    struct str live_text; /* these lines */
    VEC(struct run_shown) shown;
};

void run_show_init(struct run_show *show, const struct cli *cli, FILE *out, bool is_quiet);
void run_show_done(struct run_show *show);
void run_show_resize(struct run_show *show); /* asks the terminal */
/* Whole lines of logs. */
void run_show_logs(struct run_show *show, struct sv lines);
/* A line of our own; left out when quiet. */
void run_show_note(struct run_show *show, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Brings the output up to date. When it has to be called again without a change; TIME_NEVER. */
time_ms run_show_draw(struct run_show *show, const struct run_model *model, time_ms now);
/* The same, and what is shown stays. */
void run_show_settle(struct run_show *show, const struct run_model *model, time_ms now);
