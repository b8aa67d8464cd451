// SPDX-License-Identifier: Apache-2.0
#include "cli/grid.h"
#include <assert.h>

#define GRID_GAP 3
#define COLUMN_MIN 6 /* gap included; scripts cut kubectl's columns by position */

void grid_plain(const char *text, struct str *out)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '\n' || *c == '\r') {
            str_add(out, "...");
            return;
        }
        if (*c < 0x20)
            str_addf(out, "^%c", *c + '@');
        else if (*c == 0x7f)
            str_add(out, "^?");
        else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* C1 controls, e.g. CSI */
            str_addf(out, "\\x%02x", *++c);
        else
            str_addc(out, (char)*c);
    }
}

static size_t width(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80; /* continuation bytes have no width */
    return n;
}

void grid_cell(struct grid *grid, const char *text)
{
    assert(grid->columns > 0 && grid->columns <= GRID_COLUMNS_MAX);
    scoped_str plain = {0};
    grid_plain(text, &plain);
    size_t column = grid->cells.len % grid->columns;
    size_t cell_width = width(str_text(&plain));
    if (cell_width > grid->widths[column])
        grid->widths[column] = cell_width;
    vec_push(&grid->cells, str_take(&plain));
}

static size_t column_of(const struct grid *grid, size_t i, size_t gap)
{
    size_t column = grid->widths[i] + gap;
    return column < COLUMN_MIN ? COLUMN_MIN : column;
}

static size_t row_width(const struct grid *grid, size_t gap)
{
    size_t last = grid->columns - 1, sum = grid->indent + grid->widths[last];
    for (size_t i = 0; i < last; i++)
        sum += column_of(grid, i, gap);
    return sum;
}

static size_t gap_of(const struct grid *grid)
{
    size_t gap = GRID_GAP;
    while (gap > 1 && grid->fits > 0 && row_width(grid, gap) > grid->fits)
        gap--;
    return gap;
}

static void print_row(const struct grid *grid, size_t first, struct str *out)
{
    size_t gap = gap_of(grid);
    str_addf(out, "%*s", (int)grid->indent, "");
    for (size_t i = 0; i < grid->columns; i++) {
        const char *cell = grid->cells.items[first + i];
        str_add(out, cell);
        if (i + 1 < grid->columns)
            str_addf(out, "%*s", (int)(column_of(grid, i, gap) - width(cell)), "");
    }
}

void grid_print(struct grid *grid, bool bold, struct str *out)
{
    assert(grid->cells.len % grid->columns == 0);
    for (size_t i = 0; i < grid->cells.len; i += grid->columns) {
        bool marked = bold && i == 0;
        str_add(out, marked ? "\033[1m" : NULL);
        print_row(grid, i, out);
        str_add(out, marked ? "\033[0m\n" : "\n");
    }
    for (size_t i = 0; i < grid->cells.len; i++)
        mem_free(grid->cells.items[i]);
    vec_clear(&grid->cells);
}

void grid_done(struct grid *grid)
{
    for (size_t i = 0; i < grid->cells.len; i++)
        mem_free(grid->cells.items[i]);
    vec_done(&grid->cells);
}
