// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/feed.h"

/* What people want to know of a change, in short lines: it is there, a condition turned, a
 * container moved, a number grew. Most of what changes in an object is not worth one. */
enum line_type {
    LINE_CREATED,
    LINE_DELETED,
    LINE_CONDITION, /* what: its type; state: its status; reason */
    LINE_CONTAINER, /* what: its name; state */
    LINE_PHASE,     /* state */
    LINE_FIELD,     /* what: its path; value */
};

struct line {
    time_ms ms; /* since the beginning */
    enum line_type type;
    const struct obj *obj;
    const char *what, *state, *reason;
    yyjson_val *value; /* NULL: it is no longer there */
};
typedef void lines_fn(void *arg, const struct line *line);

/* All lines of one change, in a fixed order. They point into the change. */
void lines_of(const struct change *change, time_ms ms, lines_fn *fn, void *arg);
/* One JSON object, without a newline. */
void line_json(const struct line *line, struct str *out);
