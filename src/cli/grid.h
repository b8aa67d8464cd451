// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"
#include "base/vec.h"

/* Text in columns: three spaces between them, at least six wide, nothing behind the last. Widths
 * are counted in characters and never shrink, so the rows of a watch stay below those already
 * printed. Control characters are shown, not sent: a cell cannot drive the terminal. */
#define GRID_COLUMNS_MAX 64
struct grid {
    size_t columns; /* set before the first cell */
    VEC(char *) cells;
    size_t widths[GRID_COLUMNS_MAX];
    size_t indent;
    size_t fits; /* in so many columns, if narrower gaps are enough for that; 0: of no matter */
};

void grid_cell(struct grid *grid, const char *text); /* row after row */
/* Appends all rows and forgets them, keeping the widths. bold: the first row is a header. */
void grid_print(struct grid *grid, bool bold, struct str *out);
void grid_done(struct grid *grid);

/* The text with control characters made visible; stops at a newline with "...". */
void grid_plain(const char *text, struct str *out);
