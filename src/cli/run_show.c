// SPDX-License-Identifier: Apache-2.0
#include "cli/run_show.h"
#include "base/mem.h"
#include <stdarg.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Live lines end in a newline, so the cursor stands in the row below them. To draw again it goes
 * up as many rows as they take now: a terminal that became narrower has broken lines in two, hence
 * the widths are kept and not the number of lines. Then everything below is erased, what scrolls is
 * written, and the live lines follow, all in one write. */

#define PLAIN_PAUSE_MS 1000
#define COLUMNS_DEFAULT 80
#define ROWS_DEFAULT 24
#define COLUMNS_MIN 12

/* What the locale says; without one UTF-8, which is what terminals are today. */
static bool has_utf8(void)
{
    static const char *const NAMES[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        const char *value = getenv(NAMES[i]);
        if (value == NULL || *value == '\0')
            continue;
        const char *dot = strrchr(value, '.');
        return dot != NULL &&
               (strncasecmp(dot, ".utf-8", 6) == 0 || strncasecmp(dot, ".utf8", 5) == 0);
    }
    return true;
}

void run_show_resize(struct run_show *show)
{
    struct winsize size = {0};
    int fd = fileno(show->out);
    show->style.columns = COLUMNS_DEFAULT;
    show->rows = ROWS_DEFAULT;
    if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) < 0)
        return;
    if (size.ws_col > 0)
        show->style.columns = size.ws_col < COLUMNS_MIN ? COLUMNS_MIN : size.ws_col;
    if (size.ws_row > 0)
        show->rows = size.ws_row;
}

void run_show_init(struct run_show *show, const struct cli *cli, FILE *out, bool is_quiet)
{
    int fd = fileno(out);
    *show = (struct run_show){.out = out, .is_quiet = is_quiet};
    show->is_terminal = fd >= 0 && isatty(fd) && !str_eq(getenv("TERM"), "dumb");
    show->style.color = cli->color && show->is_terminal;
    show->style.utf8 = has_utf8();
    run_show_resize(show);
}

void run_show_done(struct run_show *show)
{
    for (size_t i = 0; i < show->shown.len; i++)
        mem_free(show->shown.items[i].text);
    vec_done(&show->shown);
    vec_done(&show->drawn);
    str_done(&show->above);
    str_done(&show->live_text);
}

void run_show_logs(struct run_show *show, struct sv lines)
{
    if (!show->is_terminal) {
        str_addn(&show->above, lines.ptr, lines.len);
        return;
    }
    while (lines.len > 0) {
        run_view_clean(sv_cut(&lines, '\n'), &show->above);
        str_addc(&show->above, '\n');
    }
}

void run_show_note(struct run_show *show, const char *fmt, ...)
{
    if (show->is_quiet)
        return;
    va_list args;
    char text[1024];
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    str_addf(&show->above, "%s\n", text);
}

/* ---- both ways ---- */

static void know_groups(struct run_show *show, const struct run_model *model)
{
    show->style.began_at = model->began_at;
    while (show->shown.len < model->groups.len) {
        scoped_str name = {0};
        run_view_name(model->groups.items[show->shown.len], &name);
        if (name.len > show->style.name_width)
            show->style.name_width = name.len;
        vec_push(&show->shown, (struct run_shown){0});
    }
}

static void write_out(struct run_show *show, const char *text, size_t len)
{
    if (len == 0 || show->is_broken)
        return;
    if (fwrite(text, 1, len, show->out) != len || fflush(show->out) != 0)
        show->is_broken = true;
}

/* ---- plain lines ---- */

/* What nobody should wait for: the end of something, and that all is ready. */
static bool is_news(const struct run_show *show, const struct run_group *group)
{
    return group->outcome != RUN_GOES_ON || show->style.stopping ||
           (group->pods_at_once == group->pods_expected && run_group_is_ready(group));
}

static time_ms draw_plain(struct run_show *show, const struct run_model *model, time_ms now)
{
    time_ms due = TIME_NEVER;
    for (size_t i = 0; i < model->groups.len && !show->is_quiet; i++) {
        struct run_shown *shown = &show->shown.items[i];
        scoped_str text = {0};
        run_view_plain(model->groups.items[i], &show->style, &text);
        if (shown->is_over || str_eq(shown->text, str_text(&text)))
            continue;
        bool waits = shown->text != NULL && now < shown->at + PLAIN_PAUSE_MS;
        if (waits && !is_news(show, model->groups.items[i])) {
            due = shown->at + PLAIN_PAUSE_MS < due ? shown->at + PLAIN_PAUSE_MS : due;
            continue;
        }
        str_addf(&show->above, "%s\n", str_text(&text));
        mem_free(shown->text);
        shown->text = str_take(&text);
        shown->at = now;
        shown->is_over = model->groups.items[i]->outcome != RUN_GOES_ON;
    }
    write_out(show, str_text(&show->above), show->above.len);
    str_clear(&show->above);
    return due;
}

/* ---- the terminal ---- */

static void add_live(struct run_show *show, struct sv line, struct str *lines)
{
    str_addn(lines, line.ptr, line.len);
    str_addc(lines, '\n');
    vec_push(&show->drawn, run_view_width(line));
}

/* How many rows the live lines take in a terminal of this width. */
static size_t rows_taken(const struct run_show *show)
{
    size_t columns = (size_t)show->style.columns, rows = 0;
    for (size_t i = 0; i < show->drawn.len; i++) {
        size_t width = show->drawn.items[i];
        rows += width > columns ? (width + columns - 1) / columns : 1;
    }
    return rows;
}

static void add_over(struct run_show *show, const struct run_model *model)
{
    for (size_t i = 0; i < model->groups.len; i++) {
        struct run_shown *shown = &show->shown.items[i];
        if (shown->is_over || model->groups.items[i]->outcome == RUN_GOES_ON)
            continue;
        shown->is_over = true;
        run_view_line(model->groups.items[i], &show->style, &show->above);
        str_addc(&show->above, '\n');
    }
}

/* Those that are on their way come before those that are ready, when there is not room for all. */
static void add_lines(struct run_show *show, const struct run_model *model, struct str *lines)
{
    size_t left = 0, room = show->rows > 3 ? (size_t)show->rows - 2 : 1;
    for (size_t i = 0; i < model->groups.len; i++)
        left += !show->shown.items[i].is_over;
    room = left > room ? room - 1 : room;
    bool all_fit = left <= room;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < model->groups.len && room > 0; i++) {
            const struct run_group *group = model->groups.items[i];
            bool first = all_fit || !run_group_is_ready(group);
            if (show->shown.items[i].is_over || first != (pass == 0))
                continue;
            scoped_str line = {0};
            run_view_line(group, &show->style, &line);
            add_live(show, (struct sv){str_text(&line), line.len}, lines);
            left--;
            room--;
        }
    }
    if (left == 0)
        return;
    scoped_str more = {0};
    str_addf(&more, "%s %zu more", show->style.utf8 ? "…" : "...", left);
    add_live(show, (struct sv){str_text(&more), more.len}, lines);
}

static void draw_terminal(struct run_show *show, const struct run_model *model)
{
    scoped_str frame = {0}, lines = {0};
    size_t up = rows_taken(show);
    vec_clear(&show->drawn);
    if (!show->is_quiet) {
        add_over(show, model);
        add_lines(show, model, &lines);
    }
    bool is_same = lines.len == show->live_text.len && up == show->drawn.len &&
                   str_eq(str_text(&lines), str_text(&show->live_text));
    if (show->above.len == 0 && is_same)
        return;
    str_addc(&frame, '\r');
    if (up > 0)
        str_addf(&frame, "\033[%zuA", up);
    str_add(&frame, "\033[J");
    str_addn(&frame, str_text(&show->above), show->above.len);
    str_addn(&frame, str_text(&lines), lines.len);
    write_out(show, frame.data, frame.len);
    str_clear(&show->above);
    str_clear(&show->live_text);
    str_addn(&show->live_text, str_text(&lines), lines.len);
}

time_ms run_show_draw(struct run_show *show, const struct run_model *model, time_ms now)
{
    know_groups(show, model);
    if (!show->is_terminal)
        return draw_plain(show, model, now);
    draw_terminal(show, model);
    return TIME_NEVER;
}

void run_show_settle(struct run_show *show, const struct run_model *model, time_ms now)
{
    for (size_t i = 0; i < show->shown.len; i++)
        show->shown.items[i].at = now - PLAIN_PAUSE_MS;
    (void)run_show_draw(show, model, now); /* nothing waits any longer */
    vec_clear(&show->drawn);
    str_clear(&show->live_text);
    for (size_t i = 0; i < show->shown.len; i++)
        show->shown.items[i].is_over = true;
}
