// SPDX-License-Identifier: Apache-2.0
/* One page that needs nothing else: the picture as SVG, the table, styles inside, for light and
 * dark screens. What came from files is escaped. */
#include "cli/gantt.h"
#include "cli/timeline.h"

#define WIDTH 1080
#define LEFT 220
#define RIGHT 20
#define ROW 24
#define BAR 14
#define TOP 34
#define TICKS 10
#define ROWS_MAX 2000

static const char HEAD[] =
    "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
    "body{font:14px system-ui,sans-serif;margin:2em;color:#16202c;background:#fff}\n"
    "h1{font-size:20px;margin:0}p{color:#6b7685}table{border-collapse:collapse;margin-top:1.5em}\n"
    "td,th{padding:3px 14px 3px 0;text-align:left;border-bottom:1px solid #e4e8ee}\n"
    "td{font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto}\n"
    "svg text{font:12px system-ui,sans-serif;fill:#39424e}.axis{text-anchor:middle;fill:#6b7685}\n"
    ".label{text-anchor:end}.grid{stroke:#e4e8ee}.lane{fill:#f5f7fa}\n"
    ".waiting{fill:#d5dbe3}.paused{fill:#b59be0}.starting{fill:#4f9de8}.running{fill:#3fae74}\n"
    ".evicted{fill:#dd4f4f}.cordoned{fill:#f2b94b}.unreachable{fill:#dd4f4f}\n"
    "@media (prefers-color-scheme:dark){body{color:#f0f4f8;background:#12171e}p{color:#8d99a8}\n"
    "td,th{border-color:#262f3a}svg text{fill:#c3ccd7}.grid{stroke:#262f3a}.lane{fill:#1a212a}\n"
    ".waiting{fill:#38424f}.paused{fill:#8d73bd}.starting{fill:#3d86cc}.running{fill:#2f9360}}\n"
    "</style>\n";

static void escaped(struct str *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '&')
            str_add(out, "&amp;");
        else if (*text == '<')
            str_add(out, "&lt;");
        else if (*text == '>')
            str_add(out, "&gt;");
        else if (*text == '"')
            str_add(out, "&quot;");
        else
            str_addc(out, *text);
    }
}

static double x_of(const struct gantt *gantt, time_ms at)
{
    return LEFT + (double)at / (double)gantt->length * (WIDTH - LEFT - RIGHT);
}

static double y_of(size_t row)
{
    return TOP + (double)row * ROW;
}

static void add_axis(const struct gantt *gantt, size_t rows, struct str *out)
{
    time_ms tick = timeline_tick(gantt->length, TICKS);
    for (time_ms t = 0; t <= gantt->length; t += tick) {
        double x = x_of(gantt, t);
        scoped_str text = {0};
        timeline_span_text(t, &text);
        str_addf(out, "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\"/>", x,
                 TOP - 8, x, y_of(rows));
        str_addf(out, "<text class=\"axis\" x=\"%.1f\" y=\"%d\">%s</text>\n", x, TOP - 14,
                 str_text(&text));
    }
}

static void add_span(const struct gantt *gantt, const struct gantt_span *span, double y,
                     struct str *out)
{
    double from = x_of(gantt, span->from), to = x_of(gantt, span->to);
    scoped_str text = {0};
    if (span->state == GANTT_NONE || span->to == span->from)
        return;
    str_addf(&text, "%s ", gantt_state_name(span->state));
    timeline_span_text(span->to - span->from, &text);
    str_add(&text, " from ");
    timeline_span_text(span->from, &text);
    str_addf(out,
             "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\">"
             "<title>%s</title></rect>\n",
             gantt_state_name(span->state), from, y, to - from > 1 ? to - from : 1, BAR,
             str_text(&text));
}

static void add_row(const struct gantt *gantt, size_t index, struct str *out)
{
    const struct gantt_row *row = gantt->rows.items[index];
    double y = y_of(index);
    if (index % 2 == 0)
        str_addf(out, "<rect class=\"lane\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>", LEFT,
                 y, WIDTH - LEFT - RIGHT, ROW);
    str_addf(out, "<text class=\"label\" x=\"%d\" y=\"%.1f\">", LEFT - 10, y + 16);
    escaped(out, row->label);
    str_add(out, "</text>\n");
    for (size_t i = 0; i < row->spans.len; i++)
        add_span(gantt, &row->spans.items[i], y + (double)(ROW - BAR) / 2, out);
}

static void add_legend(double y, struct str *out)
{
    double x = LEFT;
    for (enum gantt_state state = GANTT_NONE + 1; state < GANTT_STATES; state++) {
        str_addf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\"/>",
                 gantt_state_name(state), x, y);
        str_addf(out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x + 17, y + 11,
                 gantt_state_name(state));
        x += 100;
    }
}

static void add_cell(struct str *out, time_ms span)
{
    str_add(out, "<td>");
    if (span < 0)
        str_addc(out, '-');
    else
        timeline_span_text(span, out);
    str_add(out, "</td>");
}

static void add_table(const struct gantt *gantt, struct str *out)
{
    str_add(out, "<table><tr><th>job<th>created<th>waited<th>starting<th>ran<th>evicted<th>ready"
                 "<th>over<th>end</tr>\n");
    for (size_t i = 0; i < gantt->rows.len && i < ROWS_MAX; i++) {
        const struct gantt_row *row = gantt->rows.items[i];
        if (row->kind == &KIND_NODE)
            continue;
        str_add(out, "<tr><td>");
        escaped(out, row->label);
        str_add(out, "</td>");
        add_cell(out, row->created);
        add_cell(out, row->spent[GANTT_WAITING] + row->spent[GANTT_PAUSED]);
        add_cell(out, row->spent[GANTT_STARTING]);
        add_cell(out, row->spent[GANTT_RUNNING]);
        str_addf(out, "<td>%u</td>", row->evictions);
        add_cell(out, row->ready_at);
        add_cell(out, row->over_at);
        str_addf(out, "<td>%s</td></tr>\n", gantt_end(row));
    }
    str_add(out, "</table>\n");
}

void gantt_html(const struct gantt *gantt, struct str *out)
{
    size_t rows = gantt->rows.len < ROWS_MAX ? gantt->rows.len : ROWS_MAX;
    double height = y_of(rows) + 40;
    scoped_str stuck = {0};
    str_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    escaped(out, gantt->title);
    str_add(out, "</title>\n");
    str_add(out, HEAD);
    str_add(out, "</head><body><h1>");
    escaped(out, gantt->title);
    str_add(out, "</h1><p>");
    gantt_summary(gantt, out);
    str_add(out, "</p><p>");
    gantt_stuck(gantt, &stuck);
    escaped(out, str_text(&stuck));
    str_addf(out, "</p>\n<svg width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" role=\"img\">\n",
             WIDTH, height, WIDTH, height);
    for (size_t i = 0; i < rows; i++)
        add_row(gantt, i, out);
    add_axis(gantt, rows, out);
    add_legend(y_of(rows) + 16, out);
    str_add(out, "</svg>\n");
    add_table(gantt, out);
    str_add(out, "</body></html>\n");
}
