// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/run_model.h"

/* What `run` shows, as text: state in, lines out. Nothing here writes to a terminal. */
struct run_style {
    int columns; /* of the terminal */
    bool color;
    bool utf8;
    bool stopping;     /* we are ending: what still runs is what counts */
    size_t name_width; /* of the longest name, so that bars stand under each other */
    time_ms began_at;
};

/* "pod/shop" */
void run_view_name(const struct run_group *group, struct str *out);
/* One line without its end, never wider than the terminal. */
void run_view_line(const struct run_group *group, const struct run_style *style, struct str *out);
/* "job/x: 12/60 ready, 2 starting, 46 blocked (waits for container db)" */
void run_view_plain(const struct run_group *group, const struct run_style *style, struct str *out);
/* "2 succeeded, 1 failed; all ready after 3.2 s; no restarts; took 4.0 s" */
void run_view_summary(const struct run_model *model, time_ms now, struct str *out);

/* Columns that a text takes on a terminal; colours take none. */
size_t run_view_width(struct sv text);
/* A line of somebody's log made harmless: colours stay, other control sequences go. */
void run_view_clean(struct sv line, struct str *out);
