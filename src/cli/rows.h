// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "cli/grid.h"
#include <stdbool.h>

/* A Table of the server as text, as people know it from kubectl. */
#define ROWS_ACCEPT "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

struct rows {
    bool wide; /* columns of lower priority too */
    bool headers;
    bool show_labels;
    bool show_namespace; /* first column */
    bool bold;
    const char *prefix;                         /* before names: "pod/", or "" */
    bool (*wanted)(void *arg, yyjson_val *row); /* NULL: all */
    void *wanted_arg;
    /* from here on its own */
    struct grid grid;
    VEC(char *) titles; /* wait for the first row: no header over nothing */
    VEC(size_t) shown;  /* which of the server's columns */
    size_t name_column;
    size_t count;    /* rows so far */
    bool header_due; /* in the next print */
};

/* Adds the rows of a Table; the first one, which must have columnDefinitions, sets the columns.
 * -EINVAL: not a Table. */
int rows_add_table(struct rows *rows, yyjson_val *table);
void rows_print(struct rows *rows, struct str *out); /* what was added since the last time */
void rows_done(struct rows *rows);
