// SPDX-License-Identifier: Apache-2.0
/* A timeline as one SVG file that needs nothing else: its style is inside, for light and for dark
 * screens. Colours are written out per class, since some programs know no CSS variables. What was
 * said by people is escaped. */
#include "cli/timeline.h"

#define WIDTH 960
#define MARGIN 28
#define ROW 26
#define BAR 14
#define TOP 104 /* of the first row */
#define END_SPACE 74
#define LETTER 7 /* width of one, about */
#define LABEL_LETTERS 34
#define LINE_LETTERS 130
#define TICKS 8

static const char STYLE[] =
    "<style>\n"
    "text{font:12px ui-sans-serif,system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;"
    "fill:#39424e}\n"
    ".paper{fill:#fff}.title{font-size:18px;font-weight:600;fill:#16202c}.soft{fill:#6b7685}\n"
    ".label{text-anchor:end}.critical-label{text-anchor:end;font-weight:600;fill:#16202c}\n"
    ".axis{font-size:11px;fill:#6b7685;text-anchor:middle}\n"
    ".grid{stroke:#e4e8ee;stroke-width:1}.lane{fill:#f5f7fa}\n"
    ".downloading{fill:#b59be0}.blocked{fill:#d5dbe3}.pending{fill:#f2b94b}.starting{fill:#4f9de8}"
    "\n"
    ".ready{fill:#3fae74}.failed{fill:#dd4f4f}.exited{fill:#a9b3bf}\n"
    ".path{fill:none;stroke:#d6336c;stroke-width:2;stroke-linejoin:round}.mark{fill:#d6336c}\n"
    "@media (prefers-color-scheme:dark){\n"
    "text{fill:#c3ccd7}.paper{fill:#12171e}.title,.critical-label{fill:#f0f4f8}\n"
    ".soft,.axis{fill:#8d99a8}.grid{stroke:#262f3a}.lane{fill:#1a212a}\n"
    ".downloading{fill:#8d73bd}.blocked{fill:#38424f}.pending{fill:#d79a2b}.starting{fill:#3d86cc}"
    "\n"
    ".ready{fill:#2f9360}.failed{fill:#c94545}.exited{fill:#5b6673}\n"
    ".path{stroke:#f06595}.mark{fill:#f06595}}\n"
    "</style>\n";

struct canvas {
    const struct timeline *timeline;
    struct str *out;
    double left, right; /* of the bars */
    double bottom;      /* of the rows */
};

static void add_escaped(struct str *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        switch (*c) {
        case '&':
            str_add(out, "&amp;");
            break;
        case '<':
            str_add(out, "&lt;");
            break;
        case '>':
            str_add(out, "&gt;");
            break;
        case '"':
            str_add(out, "&quot;");
            break;
        default: /* XML has no way to write other control characters */
            str_addc(out, *c < ' ' ? ' ' : (char)*c);
        }
    }
}

/* At most so many letters of it. */
static void add_cut(struct str *out, const char *text, size_t letters)
{
    size_t seen = 0, cut = 0;
    for (; text[cut] != '\0'; cut++) {
        bool is_next = ((unsigned char)text[cut] & 0xc0) != 0x80;
        if (is_next && seen == letters)
            break;
        seen += is_next;
    }
    str_addn(out, text, cut);
    str_add(out, text[cut] != '\0' ? "…" : "");
}

static double x_of(const struct canvas *canvas, time_ms at)
{
    double part = (double)at / (double)canvas->timeline->length;
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return canvas->left + part * (canvas->right - canvas->left);
}

static double y_of(size_t row)
{
    return TOP + (double)row * ROW;
}

static void add_text(const struct canvas *canvas, double x, double y, const char *class,
                     const char *text)
{
    str_addf(canvas->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    add_escaped(canvas->out, text);
    str_add(canvas->out, "</text>\n");
}

/* ---- parts ---- */

static void add_head(const struct canvas *canvas, double height)
{
    scoped_str summary = {0};
    const struct timeline *timeline = canvas->timeline;
    str_addf(canvas->out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
             "viewBox=\"0 0 %d %.0f\" role=\"img\">\n<title>",
             WIDTH, height, WIDTH, height);
    add_escaped(canvas->out, timeline->title);
    str_add(canvas->out, "</title>\n");
    str_add(canvas->out, STYLE);
    str_addf(canvas->out, "<rect class=\"paper\" width=\"%d\" height=\"%.0f\" rx=\"10\"/>\n", WIDTH,
             height);
    add_text(canvas, MARGIN, 38, "title", timeline->title);
    timeline_summary(timeline, &summary);
    add_text(canvas, MARGIN, 60, "soft", str_text(&summary));
}

static void add_axis(const struct canvas *canvas)
{
    time_ms tick = timeline_tick(canvas->timeline->length, TICKS);
    for (time_ms t = 0; t <= canvas->timeline->length; t += tick) {
        scoped_str text = {0};
        double x = x_of(canvas, t);
        timeline_span_text(t, &text);
        str_addf(canvas->out,
                 "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x,
                 TOP - 8, x, canvas->bottom);
        add_text(canvas, x, TOP - 14, "axis", str_text(&text));
    }
}

static void add_label(const struct canvas *canvas, const struct timeline_row *row, double y)
{
    scoped_str label = {0};
    add_cut(&label, row->label, LABEL_LETTERS);
    add_text(canvas, canvas->left - 12, y, row->is_critical ? "critical-label" : "label",
             str_text(&label));
}

static void add_span(const struct canvas *canvas, const struct timeline_row *row,
                     const struct timeline_span *span, double y)
{
    double from = x_of(canvas, span->from), to = x_of(canvas, span->to);
    scoped_str text = {0};
    if (span->to <= span->from)
        return;
    str_addf(&text, "%s: %s ", row->label, container_state_name(span->state));
    timeline_span_text(span->to - span->from, &text);
    double width = to - from > 1 ? to - from : 1;
    str_addf(canvas->out,
             "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
             "rx=\"%d\"><title>",
             container_state_name(span->state), from, y, width, BAR, width > 6 ? 3 : 0);
    add_escaped(canvas->out, str_text(&text));
    str_add(canvas->out, "</title></rect>\n");
}

/* Every other row is shaded, so that the eye stays on its line. */
static void add_lanes(const struct canvas *canvas)
{
    for (size_t i = 0; i < canvas->timeline->rows.len; i += 2)
        str_addf(canvas->out,
                 "<rect class=\"lane\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n",
                 canvas->left, y_of(i), canvas->right - canvas->left, ROW);
}

static void add_row(const struct canvas *canvas, size_t index)
{
    const struct timeline_row *row = &canvas->timeline->rows.items[index];
    double y = y_of(index);
    scoped_str end = {0};
    add_label(canvas, row, y + 17);
    for (size_t i = 0; i < row->spans.len; i++)
        add_span(canvas, row, &row->spans.items[i], y + (double)(ROW - BAR) / 2);
    if (row->done_at >= 0)
        timeline_span_text(row->done_at, &end);
    else
        str_add(&end, row->is_later ? "later" : "not yet");
    add_text(canvas, canvas->right + 10, y + 17, "soft", str_text(&end));
}

/* One line that goes below each critical bar, from row to row. */
static void add_path(const struct canvas *canvas)
{
    const struct timeline *timeline = canvas->timeline;
    double x = 0, y = 0;
    if (timeline->path.len == 0)
        return;
    str_add(canvas->out, "<path class=\"path\" d=\"");
    for (size_t i = 0; i < timeline->path.len; i++) {
        size_t index = timeline->path.items[i];
        y = y_of(index) + ROW - 3;
        str_addf(canvas->out, "%s%.1f %.1f", i == 0 ? "M" : "L",
                 x_of(canvas, timeline->rows.items[index].critical_from), y);
        x = x_of(canvas, timeline_share_end(timeline, i));
        str_addf(canvas->out, "L%.1f %.1f", x, y);
    }
    str_addf(canvas->out, "\"/>\n<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", x,
             y);
}

static void add_legend(const struct canvas *canvas, double y)
{
    double x = MARGIN;
    for (enum container_state state = 0; state < CT_STATE_COUNT; state++) {
        const char *name = container_state_name(state);
        scoped_str text = {0};
        time_ms total = canvas->timeline->totals[state];
        bool is_always = state != CT_DOWNLOADING && state != CT_EXITED;
        if (!is_always && !timeline_shows(canvas->timeline, state))
            continue;
        str_add(&text, name);
        if (state != CT_READY && state != CT_EXITED && (total > 0 || state != CT_FAILED)) {
            str_addc(&text, ' ');
            timeline_span_text(total, &text);
        }
        str_addf(canvas->out,
                 "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" rx=\"3\"/>\n",
                 name, x, y - 10);
        add_text(canvas, x + 18, y, "soft", str_text(&text));
        x += 18 + (double)text.len * LETTER + 20;
    }
}

static double add_foot(const struct canvas *canvas)
{
    const struct timeline *timeline = canvas->timeline;
    double y = canvas->bottom + 30;
    if (timeline->path_text != NULL) {
        scoped_str text = {0}, line = {0};
        str_addf(canvas->out, "<path class=\"path\" d=\"M%d %.1fL%d %.1f\"/>\n", MARGIN, y - 4,
                 MARGIN + 12, y - 4);
        str_addf(&text, "critical path%s: %s", timeline->ready_after < 0 ? " so far" : "",
                 timeline->path_text);
        add_cut(&line, str_text(&text), LINE_LETTERS);
        add_text(canvas, MARGIN + 18, y, "soft", str_text(&line));
        y += 24;
    }
    add_legend(canvas, y);
    for (size_t i = 0; i < timeline->notes.len; i++) {
        y += 22;
        add_text(canvas, MARGIN, y, "soft", timeline->notes.items[i]);
    }
    return y + MARGIN;
}

static struct canvas canvas_of(const struct timeline *timeline, struct str *out)
{
    size_t longest = 4;
    for (size_t i = 0; i < timeline->rows.len; i++) {
        size_t len = strlen(timeline->rows.items[i].label);
        longest = len > longest ? len : longest;
    }
    longest = longest > LABEL_LETTERS ? LABEL_LETTERS : longest;
    struct canvas canvas = {.timeline = timeline, .out = out};
    canvas.left = MARGIN + (double)longest * LETTER + 16;
    canvas.right = WIDTH - MARGIN - END_SPACE;
    canvas.bottom = y_of(timeline->rows.len) + 4;
    return canvas;
}

void timeline_svg(const struct timeline *timeline, struct str *out)
{
    scoped_str body = {0};
    struct canvas canvas = canvas_of(timeline, &body);
    add_lanes(&canvas);
    add_axis(&canvas);
    for (size_t i = 0; i < timeline->rows.len; i++)
        add_row(&canvas, i);
    add_path(&canvas);
    double height = add_foot(&canvas);
    canvas.out = out; /* the height stands in the first line */
    add_head(&canvas, height);
    str_add(out, str_text(&body));
    str_add(out, "</svg>\n");
}
