// SPDX-License-Identifier: Apache-2.0
/* A timeline in characters. Each one stands for the state that fills most of its time; a state that
 * nowhere does, but is worth seeing, gets the one in its middle. */
#include "cli/grid.h"
#include "cli/timeline.h"

#define LABEL_MAX 32
#define END_WIDTH 9 /* " 512ms" behind the bar */
#define BAR_MIN 20
#define TICK_WIDTH 12
#define MARK_WIDTH 2

// clang-format off
static const struct {
    const char *sign;
    const char *color; /* of terminals */
} LOOKS[CT_STATE_COUNT] = {
    [CT_DOWNLOADING] = {"↓", "35"},
    [CT_BLOCKED]     = {"·", "2"},
    [CT_PENDING]     = {"░", "33"},
    [CT_STARTING]    = {"▒", "36"},
    [CT_READY]       = {"█", "32"},
    [CT_FAILED]      = {"✗", "31"},
    [CT_EXITED]      = {"─", "2"},
};
// clang-format on

struct sheet {
    const struct timeline *timeline;
    struct str *out;
    bool color;
    size_t label; /* characters */
    size_t bar;
};

static void add_pad(struct str *out, size_t n, char c)
{
    for (size_t i = 0; i < n; i++)
        str_addc(out, c);
}

static size_t text_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void add_colored(const struct sheet *sheet, const char *color, const char *text)
{
    if (sheet->color)
        str_addf(sheet->out, "\033[%sm%s\033[0m", color, text);
    else
        str_add(sheet->out, text);
}

/* ---- the axis ---- */

static size_t column_of(const struct sheet *sheet, time_ms at)
{
    return (size_t)(at * (time_ms)sheet->bar / sheet->timeline->length);
}

static void add_axis(const struct sheet *sheet)
{
    struct str *out = sheet->out;
    size_t indent = MARK_WIDTH + sheet->label + 1, at = 0;
    time_ms length = sheet->timeline->length;
    time_ms tick = timeline_tick(length, sheet->bar / TICK_WIDTH);
    scoped_str line = {0};
    add_pad(out, indent, ' ');
    for (time_ms t = 0; t < length; t += tick) {
        scoped_str text = {0};
        size_t column = column_of(sheet, t);
        timeline_span_text(t, &text);
        if (column < at || column + text.len > sheet->bar + END_WIDTH)
            continue;
        add_pad(out, column - at, ' ');
        str_add(out, str_text(&text));
        at = column + text.len;
    }
    str_addc(out, '\n');
    add_pad(out, indent, ' ');
    time_ms next = 0;
    for (size_t i = 0; i < sheet->bar; i++) {
        bool is_tick = next < length && column_of(sheet, next) == i;
        str_add(&line, is_tick ? i == 0 ? "├" : "┼" : "─");
        next += is_tick ? tick : 0;
    }
    add_colored(sheet, "2", str_text(&line));
    str_addc(out, '\n');
}

/* ---- bars ---- */

/* The state that fills most of from..to; CT_STATE_COUNT: none does. */
static enum container_state state_of_cell(const struct timeline_row *row, time_ms from, time_ms to)
{
    enum container_state best = CT_STATE_COUNT;
    time_ms most = 0;
    for (size_t i = 0; i < row->spans.len; i++) {
        const struct timeline_span *span = &row->spans.items[i];
        time_ms low = span->from > from ? span->from : from;
        time_ms high = span->to < to ? span->to : to;
        if (high - low > most) {
            most = high - low;
            best = span->state;
        }
    }
    return best;
}

static bool is_shown(const enum container_state *cells, size_t n, enum container_state state)
{
    for (size_t i = 0; i < n; i++) {
        if (cells[i] == state)
            return true;
    }
    return false;
}

/* Times are scaled by the width, so that cells shorter than a millisecond have a time at all. */
static void fill_cells(const struct sheet *sheet, const struct timeline_row *row,
                       enum container_state *cells)
{
    time_ms width = (time_ms)sheet->bar, length = sheet->timeline->length;
    struct timeline_row scaled = {0};
    for (size_t i = 0; i < row->spans.len; i++) {
        struct timeline_span span = row->spans.items[i];
        span.from *= width;
        span.to *= width;
        vec_push(&scaled.spans, span);
    }
    for (size_t i = 0; i < sheet->bar; i++)
        cells[i] = state_of_cell(&scaled, (time_ms)i * length, (time_ms)(i + 1) * length);
    for (size_t i = 0; i < row->spans.len; i++) {
        const struct timeline_span *span = &row->spans.items[i];
        bool matters = span->state == CT_STARTING || span->state == CT_FAILED;
        size_t middle = column_of(sheet, (span->from + span->to) / 2);
        if (matters && middle < sheet->bar && !is_shown(cells, sheet->bar, span->state))
            cells[middle] = span->state;
    }
    vec_done(&scaled.spans);
}

static void add_bar(const struct sheet *sheet, const struct timeline_row *row)
{
    scoped_free enum container_state *cells = mem_zalloc(sheet->bar * sizeof(*cells));
    fill_cells(sheet, row, cells);
    for (size_t i = 0; i < sheet->bar;) {
        scoped_str run = {0};
        enum container_state state = cells[i];
        for (; i < sheet->bar && cells[i] == state; i++)
            str_add(&run, state < CT_STATE_COUNT ? LOOKS[state].sign : " ");
        if (state < CT_STATE_COUNT)
            add_colored(sheet, LOOKS[state].color, str_text(&run));
        else
            str_add(sheet->out, str_text(&run));
    }
}

/* Names are the user's: cut to the width, with control characters made visible. */
static void add_label(const struct sheet *sheet, const char *label)
{
    scoped_str plain = {0};
    grid_plain(label, &plain);
    const char *text = str_text(&plain);
    size_t width = text_width(text), cut = 0, seen = 0;
    size_t room = width > sheet->label ? sheet->label - 1 : width;
    for (; text[cut] != '\0'; cut++) {
        bool is_next = ((unsigned char)text[cut] & 0xc0) != 0x80;
        if (is_next && seen == room)
            break;
        seen += is_next;
    }
    str_addn(sheet->out, text, cut);
    str_add(sheet->out, width > sheet->label ? "…" : "");
    add_pad(sheet->out, width > sheet->label ? 0 : sheet->label - width, ' ');
}

static void add_row(const struct sheet *sheet, const struct timeline_row *row)
{
    if (row->is_critical)
        add_colored(sheet, "1", "* ");
    else
        str_add(sheet->out, "  ");
    add_label(sheet, row->label);
    str_addc(sheet->out, ' ');
    add_bar(sheet, row);
    str_addc(sheet->out, ' ');
    if (row->done_at >= 0)
        timeline_span_text(row->done_at, sheet->out);
    else
        str_add(sheet->out, row->is_later ? "later" : "-");
    str_addc(sheet->out, '\n');
}

/* ---- around it ---- */

static void add_totals(const struct sheet *sheet)
{
    static const enum container_state SHOWN[] = {CT_DOWNLOADING, CT_BLOCKED, CT_PENDING,
                                                 CT_STARTING, CT_FAILED};
    const char *before = "totals: ";
    for (size_t i = 0; i < ARRAY_LEN(SHOWN); i++) {
        time_ms total = sheet->timeline->totals[SHOWN[i]];
        bool is_always = SHOWN[i] != CT_DOWNLOADING && SHOWN[i] != CT_FAILED;
        if (total == 0 && !is_always)
            continue;
        str_addf(sheet->out, "%s%s ", before, container_state_name(SHOWN[i]));
        timeline_span_text(total, sheet->out);
        before = ", ";
    }
    str_addc(sheet->out, '\n');
}

static void add_legend(const struct sheet *sheet)
{
    str_add(sheet->out, "legend:");
    for (enum container_state state = 0; state < CT_STATE_COUNT; state++) {
        bool is_always = state != CT_DOWNLOADING && state != CT_EXITED;
        if (!is_always && !timeline_shows(sheet->timeline, state))
            continue;
        str_addc(sheet->out, ' ');
        add_colored(sheet, LOOKS[state].color, LOOKS[state].sign);
        str_addf(sheet->out, " %s ", container_state_name(state));
    }
    str_add(sheet->out, " * critical path\n");
}

static struct sheet sheet_of(const struct timeline *timeline, const struct timeline_look *look,
                             struct str *out)
{
    struct sheet sheet = {.timeline = timeline, .out = out, .color = look->color, .label = 4};
    for (size_t i = 0; i < timeline->rows.len; i++) {
        size_t width = text_width(timeline->rows.items[i].label);
        sheet.label = width > sheet.label ? width : sheet.label;
    }
    sheet.label = sheet.label > LABEL_MAX ? LABEL_MAX : sheet.label;
    size_t rest = MARK_WIDTH + sheet.label + 1 + END_WIDTH;
    sheet.bar = look->width > rest + BAR_MIN ? look->width - rest : BAR_MIN;
    return sheet;
}

void timeline_text(const struct timeline *timeline, const struct timeline_look *look,
                   struct str *out)
{
    struct sheet sheet = sheet_of(timeline, look, out);
    str_addf(out, "%s: ", timeline->title);
    timeline_summary(timeline, out);
    str_add(out, "\n\n");
    add_axis(&sheet);
    for (size_t i = 0; i < timeline->rows.len; i++)
        add_row(&sheet, &timeline->rows.items[i]);
    str_addc(out, '\n');
    if (timeline->path_text != NULL)
        str_addf(out, "critical path%s: %s\n", timeline->ready_after < 0 ? " so far" : "",
                 timeline->path_text);
    add_totals(&sheet);
    for (size_t i = 0; i < timeline->notes.len; i++)
        str_addf(out, "note: %s\n", timeline->notes.items[i]);
    add_legend(&sheet);
}
