// SPDX-License-Identifier: Apache-2.0
#include "cli/run_view.h"
#include "base/mem.h"
#include <inttypes.h>

#define BAR_LONG 24
#define BAR_SHORT 10
#define COLUMNS_LONG 90  /* from here on the bar is long */
#define COLUMNS_SHORT 56 /* below this there is none */

enum color { PLAIN, RED, GREEN, YELLOW, DIM };
static const char *const CODES[] = {"", "\033[31m", "\033[32m", "\033[33m", "\033[2m"};

static void paint(const struct run_style *style, enum color color, const char *text,
                  struct str *out)
{
    bool on = style->color && color != PLAIN;
    str_addf(out, "%s%s%s", on ? CODES[color] : "", text, on ? "\033[0m" : "");
}

/* ---- widths ---- */

/* One character of UTF-8; a broken one is a byte. */
static size_t char_len(struct sv text, unsigned *ret_code)
{
    unsigned char c = (unsigned char)text.ptr[0];
    size_t len = c < 0x80 ? 1 : c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    *ret_code = len == 1 ? c : c & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if (i >= text.len || ((unsigned char)text.ptr[i] & 0xc0) != 0x80) {
            *ret_code = c;
            return 1;
        }
        *ret_code = *ret_code << 6 | ((unsigned char)text.ptr[i] & 0x3f);
    }
    return len;
}

/* A colour, "ESC [ digits and semicolons m": its length, 0 when it is something else. */
static size_t color_len(struct sv text)
{
    if (text.len < 3 || text.ptr[0] != '\033' || text.ptr[1] != '[')
        return 0;
    for (size_t i = 2; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == 'm')
            return i + 1;
        if ((c < '0' || c > '9') && c != ';' && c != ':')
            return 0;
    }
    return 0;
}

static size_t char_columns(unsigned code)
{
    bool is_mark = code >= 0x300 && code <= 0x36f;
    bool is_wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xffdc) ||
                   (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
    return is_mark ? 0 : is_wide ? 2 : 1;
}

size_t run_view_width(struct sv text)
{
    size_t width = 0;
    while (text.len > 0) {
        unsigned code;
        size_t len = color_len(text);
        if (len == 0) {
            len = char_len(text, &code);
            width += char_columns(code);
        }
        text.ptr += len;
        text.len -= len;
    }
    return width;
}

/* At most so many columns of it, with an ellipsis when something was cut off; ends colours. */
static void add_cut(struct sv text, size_t columns, bool utf8, struct str *out)
{
    bool fits = run_view_width(text) <= columns, colored = false;
    const char *mark = fits || columns == 0 ? "" : utf8 ? "…" : ">";
    size_t left = columns - (*mark != '\0');
    while (text.len > 0) {
        unsigned code = 0;
        size_t len = color_len(text);
        size_t width = 0;
        colored = colored || len > 0;
        if (len == 0) {
            len = char_len(text, &code);
            width = char_columns(code);
        }
        if (width > left)
            break;
        left -= width;
        str_addn(out, text.ptr, len);
        text.ptr += len;
        text.len -= len;
    }
    str_addf(out, "%s%s", !fits && colored ? "\033[0m" : "", mark);
}

/* "ESC [ ... letter", "ESC ] ... BEL", "ESC x": how much of the text is one sequence. */
static size_t sequence_len(struct sv text)
{
    if (text.len < 2)
        return text.len;
    if (text.ptr[1] != '[' && text.ptr[1] != ']')
        return 2;
    size_t i = 2;
    bool is_csi = text.ptr[1] == '[';
    while (i < text.len) {
        char c = text.ptr[i++];
        if (is_csi ? c >= '@' && c <= '~' : c == '\a')
            break;
    }
    return i;
}

void run_view_clean(struct sv line, struct str *out)
{
    bool colored = false;
    while (line.len > 0) {
        unsigned char c = (unsigned char)line.ptr[0];
        size_t color = color_len(line);
        size_t len = color > 0 ? color : c == '\033' ? sequence_len(line) : 1;
        if (color > 0 || c == '\t' || (c >= ' ' && c != 0x7f))
            str_addn(out, line.ptr, len);
        colored = colored || color > 0;
        line.ptr += len;
        line.len -= len;
    }
    str_add(out, colored ? "\033[0m" : "");
}

/* ---- words ---- */

/* "3.2 s", "2m 5s" */
static void add_seconds(time_ms ms, struct str *out)
{
    if (ms < 120000)
        str_addf(out, "%" PRId64 ".%" PRId64 " s", ms / 1000, ms % 1000 / 100);
    else
        duration_human(ms, out);
}

void run_view_name(const struct run_group *group, struct str *out)
{
    str_addf(out, "%s/%s", group->kind->singular, group->name);
}

static void add_count(size_t count, const char *word, const char *why, struct str *out)
{
    if (count == 0)
        return;
    str_addf(out, ", %zu %s", count, word);
    if (why != NULL)
        str_addf(out, " (%s)", why);
}

static void add_restarts(const struct run_counts *counts, struct str *out)
{
    if (counts->restarts > 0)
        str_addf(out, ", %" PRId64 " restart%s", counts->restarts,
                 counts->restarts == 1 ? "" : "s");
    if (counts->restarts > 0 && counts->epoch > 0)
        str_addf(out, " (epoch %" PRId64 ")", counts->epoch);
}

/* A Job with more completions than it runs at once counts what is done; all others count what is
 * ready. */
static void add_counts(const struct run_group *group, const struct run_counts *counts,
                       struct str *out)
{
    const size_t *n = counts->by_state;
    bool is_batch = group->pods_expected > group->pods_at_once;
    /* That the throttle holds some back is nothing to tell of while others start. */
    bool all_pend = n[RUN_STARTING] == 0;
    if (is_batch)
        str_addf(out, "%zu/%zu done", n[RUN_DONE], counts->total);
    else
        str_addf(out, "%zu/%zu ready", n[RUN_READY] + n[RUN_DONE], counts->total);
    if (is_batch)
        add_count(n[RUN_READY], "ready", NULL, out);
    add_count(n[RUN_STARTING], "starting", NULL, out);
    add_count(n[RUN_PENDING], "pending", all_pend ? counts->why[RUN_PENDING] : NULL, out);
    add_count(n[RUN_BLOCKED], "blocked", counts->why[RUN_BLOCKED], out);
    add_count(n[RUN_WAITING], "waiting", counts->why[RUN_WAITING], out);
    add_count(n[RUN_FAILED], "failed", counts->why[RUN_FAILED], out);
    add_restarts(counts, out);
}

/* While a queue holds it none of it is made, or what is left of it ends. */
static void add_going(const struct run_group *group, const struct run_counts *counts,
                      struct str *out)
{
    if (group->queue == NULL || counts->running > 0) {
        add_counts(group, counts, out);
        return;
    }
    str_addf(out, "waits in queue %s", group->queue);
    add_restarts(counts, out);
}

/* ---- spread ---- */

static int64_t least_of(const struct run_spread *spread, int64_t *ret_most)
{
    int64_t least = spread->per_pod.items[0], most = least;
    for (size_t i = 1; i < spread->per_pod.len; i++) {
        int64_t here = spread->per_pod.items[i];
        least = here < least ? here : least;
        most = here > most ? here : most;
    }
    *ret_most = most;
    return least;
}

/* One cell a pod, as high as its share; where there are too many, one for the fullest of some. */
static void add_heights(const struct run_spread *spread, const struct run_style *style,
                        size_t width, struct str *out)
{
    static const char *const BLOCKS[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const LETTERS[] = {".", ".", "-", "-", "+", "+", "#", "#"};
    const char *const *levels = style->utf8 ? BLOCKS : LETTERS;
    size_t n = spread->per_pod.len, cells = n < width ? n : width;
    int64_t most = 0;
    scoped_str text = {0};
    (void)(n > 0 ? least_of(spread, &most) : 0);
    for (size_t cell = 0; cell < cells; cell++) {
        int64_t here = 0;
        for (size_t i = cell * n / cells; i < (cell + 1) * n / cells; i++)
            here = spread->per_pod.items[i] > here ? spread->per_pod.items[i] : here;
        str_add(&text, levels[here > 0 ? (here * 8 - 1) / most : 0]);
    }
    paint(style, GREEN, str_text(&text), out);
    str_addf(out, "%*s  ", (int)(width - cells), "");
}

static void add_spread(const struct run_spread *spread, struct str *out)
{
    int64_t most, least = spread->per_pod.len > 0 ? least_of(spread, &most) : 0;
    if (spread->per_pod.len == 0)
        return;
    str_addf(out, " on %zu pod%s", spread->per_pod.len, spread->per_pod.len == 1 ? "" : "s");
    if (spread->per_pod.len > 1 && least == most)
        str_addf(out, ", %" PRId64 " each", least);
    else if (spread->per_pod.len > 1)
        str_addf(out, ", %" PRId64 " to %" PRId64 " each", least, most);
}

static void add_placed(const struct run_spread *spread, struct str *out)
{
    str_addf(out, "%" PRId64 "/%" PRId64 " placed", spread->placed, spread->wanted);
    add_spread(spread, out);
    add_count((size_t)spread->pending, "pending", spread->why, out);
}

enum look { LOOK_GOING, LOOK_READY, LOOK_GOOD, LOOK_BAD, LOOK_STOPPING };

static enum look look_of(const struct run_group *group, const struct run_style *style)
{
    if (group->outcome == RUN_SUCCEEDED)
        return LOOK_GOOD;
    if (group->outcome == RUN_LOST || (group->outcome == RUN_GONE && !style->stopping))
        return LOOK_BAD;
    if (style->stopping)
        return LOOK_STOPPING;
    return run_group_is_ready(group) ? LOOK_READY : LOOK_GOING;
}

/* Everything behind the name. */
static void add_phrase(const struct run_group *group, const struct run_style *style, enum look look,
                       struct str *out)
{
    struct run_counts counts;
    run_group_count(group, &counts);
    switch (look) {
    case LOOK_GOOD:
        str_add(out, "succeeded in ");
        add_seconds(group->ended_at - style->began_at, out);
        add_restarts(&counts, out);
        break;
    case LOOK_BAD:
        str_add(out, group->outcome == RUN_GONE ? "gone after " : "failed after ");
        add_seconds(group->ended_at - style->began_at, out);
        str_addf(out, "%s%s", group->why ? ": " : "", group->why ? group->why : "");
        break;
    case LOOK_STOPPING:
        if (counts.running > 0)
            str_addf(out, "stopping, %zu of %zu still run%s", counts.running, counts.total,
                     counts.running == 1 ? "s" : "");
        else
            str_add(out, "stopped");
        break;
    case LOOK_READY:
        if (group->spread.is_told) {
            add_placed(&group->spread, out);
            break;
        }
        if (group->pods_expected == group->pods_at_once) {
            str_addf(out, "%zu/%zu ready in ", counts.total, counts.total);
            add_seconds(group->ready_at - style->began_at, out);
            add_restarts(&counts, out);
            break;
        } /* fall through */
    case LOOK_GOING:
        if (group->spread.is_told)
            add_placed(&group->spread, out);
        else
            add_going(group, &counts, out);
        break;
    }
}

void run_view_plain(const struct run_group *group, const struct run_style *style, struct str *out)
{
    run_view_name(group, out);
    str_add(out, ": ");
    add_phrase(group, style, look_of(group, style), out);
}

/* ---- bars ---- */

static void add_cells(const struct run_style *style, enum color color, const char *cell, size_t n,
                      struct str *out)
{
    scoped_str cells = {0};
    for (size_t i = 0; i < n; i++)
        str_add(&cells, cell);
    if (n > 0)
        paint(style, color, str_text(&cells), out);
}

static void add_bar(const struct run_group *group, const struct run_style *style, size_t width,
                    struct str *out)
{
    struct run_counts counts;
    run_group_count(group, &counts);
    const size_t *n = counts.by_state;
    size_t total = counts.total > 0 ? counts.total : 1;
    bool is_batch = group->pods_expected > group->pods_at_once;
    size_t good = n[RUN_DONE] + (is_batch ? 0 : n[RUN_READY]);
    size_t busy = n[RUN_STARTING] + (is_batch ? n[RUN_READY] : 0);
    /* One failure is seen, however small its share. */
    size_t bad = (n[RUN_FAILED] * width + total - 1) / total;
    bad = bad > width ? width : bad;
    good = good * width / total;
    good = good > width - bad ? width - bad : good;
    busy = (busy * width + total - 1) / total;
    busy = busy > width - bad - good ? width - bad - good : busy;
    add_cells(style, GREEN, style->utf8 ? "█" : "#", good, out);
    add_cells(style, YELLOW, style->utf8 ? "▒" : "+", busy, out);
    add_cells(style, DIM, style->utf8 ? "░" : ".", width - good - busy - bad, out);
    add_cells(style, RED, style->utf8 ? "█" : "x", bad, out);
    str_add(out, "  ");
}

static const struct {
    const char *utf8, *ascii;
    enum color color;
} SIGNS[] = {
    [LOOK_GOING] = {"•", "-", YELLOW},    [LOOK_READY] = {"✔", "+", GREEN},
    [LOOK_GOOD] = {"✔", "+", GREEN},      [LOOK_BAD] = {"✘", "!", RED},
    [LOOK_STOPPING] = {"•", "-", YELLOW},
};

void run_view_line(const struct run_group *group, const struct run_style *style, struct str *out)
{
    enum look look = look_of(group, style);
    scoped_str line = {0}, name = {0};
    size_t columns = style->columns > 0 ? (size_t)style->columns : 80;
    size_t width = columns >= COLUMNS_LONG ? BAR_LONG : columns >= COLUMNS_SHORT ? BAR_SHORT : 0;
    size_t name_max = columns / 3;
    size_t pad = style->name_width < name_max ? style->name_width : name_max;
    paint(style, SIGNS[look].color, style->utf8 ? SIGNS[look].utf8 : SIGNS[look].ascii, &line);
    str_addc(&line, ' ');
    run_view_name(group, &name);
    add_cut((struct sv){str_text(&name), name.len}, name_max, style->utf8, &line);
    for (size_t i = name.len; i < pad; i++)
        str_addc(&line, ' ');
    str_add(&line, "  ");
    if (group->spread.is_told && width > 0 && !style->stopping)
        add_heights(&group->spread, style, width, &line); /* always: it is what one looks for */
    else if (look == LOOK_GOING && width > 0)
        add_bar(group, style, width, &line);
    add_phrase(group, style, look, &line);
    /* The last column stays free: some terminals wrap when it is written. */
    add_cut((struct sv){str_text(&line), line.len}, columns - 1, style->utf8, out);
}

void run_view_summary(const struct run_model *model, time_ms now, struct str *out)
{
    struct run_verdict verdict;
    run_model_judge(model, &verdict);
    size_t others = verdict.groups - verdict.succeeded - verdict.failed;
    str_addf(out, "%zu succeeded, %zu failed", verdict.succeeded, verdict.failed);
    if (others > 0)
        str_addf(out, ", %zu %s", others,
                 run_verdict_is_success(&verdict) ? "stopped" : "had not ended");
    if (verdict.ready_at >= 0) {
        str_add(out, "; all ready after ");
        add_seconds(verdict.ready_at - model->began_at, out);
    } else {
        str_add(out, "; not all got ready");
    }
    if (verdict.restarts > 0)
        str_addf(out, "; %" PRId64 " restart%s", verdict.restarts,
                 verdict.restarts == 1 ? "" : "s");
    else
        str_add(out, "; no restarts");
    str_add(out, "; took ");
    add_seconds(now - model->began_at, out);
}
