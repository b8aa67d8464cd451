// SPDX-License-Identifier: Apache-2.0
/* The picture in characters, and a table of who waited how long. A character stands for the state
 * that fills most of its time; one that nowhere does gets the character in its middle. */
#include "cli/gantt.h"
#include "cli/grid.h"
#include "cli/timeline.h"

#define LABEL_MAX 28
#define BAR_MIN 20
#define TICK_WIDTH 12

// clang-format off
static const struct {
    const char *sign;
    const char *color; /* of terminals */
} LOOKS[GANTT_STATES] = {
    [GANTT_NONE]     = {" ", ""},
    [GANTT_WAITING]  = {"·", "2"},
    [GANTT_PAUSED]   = {"z", "35"},
    [GANTT_STARTING] = {"▒", "36"},
    [GANTT_RUNNING]  = {"█", "32"},
    [GANTT_STOPPING] = {"x", "31"},
    [GANTT_CORDONED] = {"-", "33"},
    [GANTT_SILENT]   = {"?", "31"},
};
// clang-format on

struct sheet {
    const struct gantt *gantt;
    struct str *out;
    bool color;
    size_t label, bar; /* characters */
};

static void pad(struct str *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        str_addc(out, ' ');
}

static void colored(const struct sheet *sheet, const char *color, const char *text)
{
    if (sheet->color && *color != '\0')
        str_addf(sheet->out, "\033[%sm%s\033[0m", color, text);
    else
        str_add(sheet->out, text);
}

static size_t column_of(const struct sheet *sheet, time_ms at)
{
    return (size_t)((double)at * (double)sheet->bar / (double)sheet->gantt->length);
}

static void add_axis(const struct sheet *sheet)
{
    size_t at = 0;
    time_ms length = sheet->gantt->length;
    time_ms tick = timeline_tick(length, sheet->bar / TICK_WIDTH);
    scoped_str line = {0};
    time_ms next = 0;
    pad(sheet->out, sheet->label + 1);
    for (time_ms t = 0; t <= length; t += tick) {
        scoped_str text = {0};
        size_t column = column_of(sheet, t);
        timeline_span_text(t, &text);
        if (column < at || column + text.len > sheet->bar)
            continue;
        pad(sheet->out, column - at);
        str_add(sheet->out, str_text(&text));
        at = column + text.len;
    }
    str_addc(sheet->out, '\n');
    pad(sheet->out, sheet->label + 1);
    for (size_t i = 0; i < sheet->bar; i++) {
        bool is_tick = next <= length && column_of(sheet, next) == i;
        str_add(&line, is_tick ? i == 0 ? "├" : "┼" : "─");
        next += is_tick ? tick : 0;
    }
    colored(sheet, "2", str_text(&line));
    str_addc(sheet->out, '\n');
}

static enum gantt_state state_of_cell(const struct gantt_row *row, double from, double to)
{
    enum gantt_state best = GANTT_NONE;
    double most = 0;
    for (size_t i = 0; i < row->spans.len; i++) {
        const struct gantt_span *span = &row->spans.items[i];
        double low = (double)span->from > from ? (double)span->from : from;
        double high = (double)span->to < to ? (double)span->to : to;
        if (high - low > most) {
            most = high - low;
            best = span->state;
        }
    }
    return best;
}

static void add_bar(const struct sheet *sheet, const struct gantt_row *row)
{
    scoped_free enum gantt_state *cells = mem_zalloc(sheet->bar * sizeof(*cells));
    double width = (double)sheet->gantt->length / (double)sheet->bar;
    bool shown[GANTT_STATES] = {[GANTT_NONE] = true};
    for (size_t i = 0; i < sheet->bar; i++) {
        cells[i] = state_of_cell(row, width * (double)i, width * (double)(i + 1));
        shown[cells[i]] = true;
    }
    for (size_t i = 0; i < row->spans.len; i++) {
        const struct gantt_span *span = &row->spans.items[i];
        size_t middle = column_of(sheet, (span->from + span->to) / 2);
        if (shown[span->state] || span->to == span->from || middle >= sheet->bar)
            continue;
        cells[middle] = span->state;
        shown[span->state] = true;
    }
    for (size_t i = 0; i < sheet->bar; i++)
        colored(sheet, LOOKS[cells[i]].color, LOOKS[cells[i]].sign);
}

static void add_row(const struct sheet *sheet, const struct gantt_row *row)
{
    size_t len = strlen(row->label);
    if (len > sheet->label) {
        str_addn(sheet->out, row->label, sheet->label - 1); /* names are ASCII */
        str_add(sheet->out, "…");
    } else {
        str_add(sheet->out, row->label);
        pad(sheet->out, sheet->label - len);
    }
    str_addc(sheet->out, ' ');
    add_bar(sheet, row);
    while (sheet->out->len > 0 && sheet->out->data[sheet->out->len - 1] == ' ')
        sheet->out->len--;
    str_addc(sheet->out, '\n');
}

static void add_legend(const struct sheet *sheet)
{
    bool seen[GANTT_STATES] = {0};
    const char *gap = "";
    for (size_t i = 0; i < sheet->gantt->rows.len; i++) {
        const struct gantt_row *row = sheet->gantt->rows.items[i];
        for (size_t k = 0; k < row->spans.len; k++)
            seen[row->spans.items[k].state] = true;
    }
    pad(sheet->out, sheet->label + 1);
    for (enum gantt_state state = GANTT_NONE + 1; state < GANTT_STATES; state++) {
        if (!seen[state])
            continue;
        str_add(sheet->out, gap);
        colored(sheet, LOOKS[state].color, LOOKS[state].sign);
        str_addf(sheet->out, " %s", gantt_state_name(state));
        gap = "  ";
    }
    str_add(sheet->out, "\n\n");
}

/* ---- the table ---- */

static void put_span(struct grid *grid, time_ms span)
{
    scoped_str text = {0};
    if (span < 0)
        str_add(&text, "-");
    else
        timeline_span_text(span, &text);
    grid_cell(grid, str_text(&text));
}

static void put_row(struct grid *grid, const struct gantt_row *row)
{
    scoped_str number = {0};
    str_addf(&number, "%u", row->evictions);
    grid_cell(grid, row->label);
    put_span(grid, row->created);
    put_span(grid, row->spent[GANTT_WAITING] + row->spent[GANTT_PAUSED]);
    put_span(grid, row->spent[GANTT_STARTING]);
    put_span(grid, row->spent[GANTT_RUNNING]);
    grid_cell(grid, str_text(&number));
    put_span(grid, row->ready_at);
    put_span(grid, row->over_at);
    grid_cell(grid, gantt_end(row));
}

static void add_table(const struct gantt *gantt, const struct gantt_look *look, struct str *out)
{
    static const char *const HEADS[] = {"JOB",     "CREATED", "WAITED", "STARTING", "RAN",
                                        "EVICTED", "READY",   "OVER",   "END"};
    struct grid grid = {.columns = ARRAY_LEN(HEADS), .fits = look->width};
    size_t shown = 0;
    for (size_t i = 0; i < ARRAY_LEN(HEADS); i++)
        grid_cell(&grid, HEADS[i]);
    for (size_t i = 0; i < gantt->rows.len && shown < look->rows_max; i++) {
        if (gantt->rows.items[i]->kind == &KIND_NODE)
            continue;
        put_row(&grid, gantt->rows.items[i]);
        shown++;
    }
    grid_print(&grid, false, out);
    grid_done(&grid);
}

static void add_stuck(const struct gantt *gantt, struct str *out)
{
    scoped_str stuck = {0};
    gantt_stuck(gantt, &stuck);
    if (stuck.len > 0)
        str_addf(out, "\n%s\n", str_text(&stuck));
}

static struct sheet sheet_of(const struct gantt *gantt, const struct gantt_look *look,
                             struct str *out)
{
    struct sheet sheet = {.gantt = gantt, .out = out, .color = look->color, .label = 4};
    for (size_t i = 0; i < gantt->rows.len; i++) {
        size_t len = strlen(gantt->rows.items[i]->label);
        sheet.label = len > sheet.label ? len : sheet.label;
    }
    sheet.label = sheet.label > LABEL_MAX ? LABEL_MAX : sheet.label;
    sheet.bar = look->width > sheet.label + 1 + BAR_MIN ? look->width - sheet.label - 1 : BAR_MIN;
    return sheet;
}

void gantt_text(const struct gantt *gantt, const struct gantt_look *look, struct str *out)
{
    struct sheet sheet = sheet_of(gantt, look, out);
    str_addf(out, "%s: ", gantt->title);
    gantt_summary(gantt, out);
    str_add(out, "\n\n");
    if (gantt->rows.len == 0)
        return;
    add_axis(&sheet);
    for (size_t i = 0; i < gantt->rows.len && i < look->rows_max; i++)
        add_row(&sheet, gantt->rows.items[i]);
    if (gantt->rows.len > look->rows_max)
        str_addf(out, "and %zu more\n", gantt->rows.len - look->rows_max);
    add_legend(&sheet);
    if (gantt->jobs > 0)
        add_table(gantt, look, out);
    add_stuck(gantt, out);
}
