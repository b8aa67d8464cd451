// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/vec.h"
#include "sim/lines.h"

/* How the jobs of a rehearsal went, as a picture: a row for each Job, JobSet and pod of its own,
 * and for each node to which something happened. Made from the lines of the rehearsal. */
enum gantt_state {
    GANTT_NONE,     /* not there, or over */
    GANTT_WAITING,  /* for quota, or for room */
    GANTT_PAUSED,   /* was evicted, may not be tried again yet */
    GANTT_STARTING, /* admitted; not all of it is ready */
    GANTT_RUNNING,
    GANTT_STOPPING, /* evicted; some of it still ends */
    GANTT_CORDONED,
    GANTT_SILENT, /* a node that is unreachable */
    GANTT_STATES,
};
const char *gantt_state_name(enum gantt_state state);
struct gantt_row;
const char *gantt_end(const struct gantt_row *row); /* how it stands in the end */

struct gantt_span {
    enum gantt_state state;
    time_ms from, to;
};

struct gantt_row {
    const struct kind *kind;
    char *uid, *ns, *name;
    char *label;
    VEC(struct gantt_span) spans;
    enum gantt_state now; /* since when: the last span, which is open */
    time_ms created;
    time_ms ready_at; /* first time; -1: never */
    time_ms over_at;  /* -1: not */
    const char *end;  /* how it ended; NULL: it did not */
    unsigned evictions;
    time_ms spent[GANTT_STATES];
    struct obj *owner, *workload; /* as last heard of; or NULL */
};

struct gantt {
    char *title;
    time_ms length;
    size_t jobs, nodes, pods;
    uint64_t changes;
    bool is_final;
    VEC(struct gantt_row *) rows;
    struct map *by_uid; /* of the object itself; of a Workload by the UID of its owner */
};

void gantt_init(struct gantt *gantt, const char *title);
void gantt_done(struct gantt *gantt);
void gantt_add(struct gantt *gantt, const struct line *line);
/* Closes what is open; no line may come afterwards. `is_final`: nothing can happen any more, so who
 * is not ready by now never will be. */
void gantt_finish(struct gantt *gantt, time_ms ms, uint64_t changes, bool is_final);

struct gantt_look {
    size_t width;
    bool color;
    size_t rows_max;
};
void gantt_text(const struct gantt *gantt, const struct gantt_look *look, struct str *out);
void gantt_html(const struct gantt *gantt, struct str *out);
/* "3 jobs on 2 nodes, 10m35s, 214 changes" */
void gantt_summary(const struct gantt *gantt, struct str *out);
/* Who waits for what will never come, as a sentence; nothing when there is nobody. */
void gantt_stuck(const struct gantt *gantt, struct str *out);
