// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/start/container.h"

/* How the start of pods went, as a picture: which state each container was in from when to when,
 * and the chain of containers that decided when all were ready. Made from pods, drawn as text, as
 * SVG, told as JSON; nothing here asks a server or a clock. */
#define TIMELINE_NONE SIZE_MAX

struct timeline_span {
    enum container_state state;
    time_ms from, to; /* since the start of the timeline */
};
struct timeline_cause { /* something that a row had to wait for */
    size_t on;          /* row */
    time_ms at;         /* when it came; -1: not yet */
};
struct timeline_row {
    char *pod, *name; /* name NULL: the pod as a whole */
    char *label;      /* what the drawings show; made by timeline_finish() */
    int64_t generation;
    VEC(struct timeline_span) spans;
    VEC(struct timeline_cause) causes;
    time_ms done_at; /* ready, or ended well; -1: not yet */
    bool is_init;
    bool is_over;  /* its last state lasts: nothing is expected of it any more */
    bool is_later; /* started again long after the others: not in the picture */
    bool is_critical;
    time_ms critical_from; /* of one that is: what was before is somebody else's doing */
};
struct timeline {
    char *title;         /* "pod/web" */
    time_ms start;       /* wall clock */
    time_ms length;      /* that is drawn */
    time_ms ready_after; /* -1: not all are ready */
    size_t pods, containers;
    VEC(struct timeline_row) rows;
    VEC(size_t) path; /* of the critical rows, first to last */
    char *path_text;  /* "a 500ms > b 1s"; NULL: there is none */
    VEC(char *) notes;
    time_ms totals[CT_STATE_COUNT]; /* of all containers, until each was done */
};

void timeline_init(struct timeline *timeline, const char *title);
void timeline_done(struct timeline *timeline);
void timeline_row_done(struct timeline_row *row);
void timeline_add_pod(struct timeline *timeline, yyjson_val *pod);
/* Finds the axis, the path and the totals; no pod may be added afterwards. */
void timeline_finish(struct timeline *timeline, time_ms now);
/* At most `rows_max` rows: pods instead of containers if that helps, else the critical ones and as
 * many others as there is room for. Says so in a note. */
void timeline_fold(struct timeline *timeline, size_t rows_max);

struct timeline_look {
    size_t width; /* characters of a line */
    bool color;
};
void timeline_text(const struct timeline *timeline, const struct timeline_look *look,
                   struct str *out);
void timeline_svg(const struct timeline *timeline, struct str *out);
void timeline_json(const struct timeline *timeline, struct str *out);

/* Shared by the drawings: "0s", "512ms", "2.71s", "3m10s". */
void timeline_span_text(time_ms span, struct str *out);
/* A step of the axis that gives at most `ticks` marks: 1, 2 or 5 times a power of ten, or what
 * people count minutes and hours by. */
time_ms timeline_tick(time_ms length, size_t ticks);
/* Where the share of a step of the path ends: where that of the next begins. */
time_ms timeline_share_end(const struct timeline *timeline, size_t step);
/* Is some row in this state for some time? */
bool timeline_shows(const struct timeline *timeline, enum container_state state);
/* "ready after 2.71s: 5 containers" */
void timeline_summary(const struct timeline *timeline, struct str *out);
