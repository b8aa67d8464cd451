// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/run_show.h"
#include "clitest.h"
#include <stdlib.h>

/* A group by its numbers: one container a pod. */
struct numbers {
    size_t by_state[RUN_STATE_COUNT];
    const char *why[RUN_STATE_COUNT];
    int64_t restarts;
    size_t at_once; /* 0: all */
    enum run_outcome outcome;
    time_ms ready_at, ended_at;
    const char *end_why, *queue;
};

static struct run_group *group_of(const struct kind *kind, const char *name,
                                  const struct numbers *n)
{
    struct run_group *group = mem_zalloc(sizeof(*group));
    *group = (struct run_group){.kind = kind,
                                .ns = mem_strdup("default"),
                                .name = mem_strdup(name),
                                .uid = mem_strdup(name),
                                .units_per_pod = 1,
                                .restarts_past = n->restarts,
                                .outcome = n->outcome,
                                .ready_at = n->ready_at,
                                .ended_at = n->ended_at,
                                .queue = mem_strdup(n->queue),
                                .why = mem_strdup(n->end_why)};
    for (size_t state = 0; state < RUN_STATE_COUNT; state++) {
        for (size_t i = 0; i < n->by_state[state]; i++) {
            struct run_pod *pod = mem_zalloc(sizeof(*pod));
            struct run_unit unit = {.name = mem_strdup("c"),
                                    .state = (enum run_state)state,
                                    .runs = state == RUN_READY || state == RUN_STARTING,
                                    .why = mem_strdup(n->why[state])};
            vec_push(&pod->units, unit);
            vec_push(&group->pods, pod);
        }
    }
    group->pods_expected = group->pods.len;
    group->pods_at_once = n->at_once ? n->at_once : group->pods.len;
    return group;
}

static const struct numbers HALF = {
    .by_state = {[RUN_READY] = 12, [RUN_STARTING] = 2, [RUN_BLOCKED] = 46},
    .why = {[RUN_BLOCKED] = "waits for container db"},
    .ready_at = -1,
};
static const struct numbers READY = {.by_state = {[RUN_READY] = 60}, .ready_at = 4200};
static const struct numbers RESTARTED = {
    .by_state = {[RUN_READY] = 2}, .ready_at = 150000, .restarts = 1};
static const struct numbers CRASHED = {
    .by_state = {[RUN_READY] = 3, [RUN_FAILED] = 1, [RUN_PENDING] = 2, [RUN_WAITING] = 1},
    .why = {[RUN_FAILED] = "app ended with exit code 3", [RUN_PENDING] = "2 of 2 are starting"},
    .restarts = 7,
    .ready_at = -1};
static const struct numbers BATCH = {
    .by_state = {[RUN_DONE] = 37, [RUN_READY] = 4, [RUN_WAITING] = 59}, .at_once = 4};
static const struct numbers QUEUED = {
    .by_state = {[RUN_WAITING] = 8}, .queue = "gangs", .ready_at = -1};
static const struct numbers EVICTED = {
    .by_state = {[RUN_WAITING] = 8}, .queue = "gangs", .restarts = 2, .ready_at = 4200};
static const struct numbers EVICTING = {
    .by_state = {[RUN_READY] = 1, [RUN_WAITING] = 7}, .queue = "gangs", .ready_at = 4200};
static const struct numbers WON = {
    .by_state = {[RUN_DONE] = 1}, .outcome = RUN_SUCCEEDED, .ended_at = 2345};
static const struct numbers LOST = {.by_state = {[RUN_FAILED] = 1},
                                    .outcome = RUN_LOST,
                                    .ended_at = 3000,
                                    .end_why = "app ended with exit code 3"};

static const struct row {
    const struct numbers *numbers;
    int columns; /* 0: the plain line */
    bool stopping, utf8, color;
    const char *want;
} ROWS[] = {
    {&HALF, 0, .want = "job/x: 12/60 ready, 2 starting, 46 blocked (waits for container db)"},
    {&READY, 0, .want = "job/x: 60/60 ready in 3.2 s"},
    {&RESTARTED, 0, .want = "job/x: 2/2 ready in 2m29s, 1 restart"},
    {&CRASHED, 0,
     .want = "job/x: 3/7 ready, 2 pending (2 of 2 are starting), 1 waiting, 1 failed (app ended "
             "with exit code 3), 7 restarts"},
    {&BATCH, 0, .want = "job/x: 37/100 done, 4 ready, 59 waiting"},
    {&QUEUED, 0, .want = "job/x: waits in queue gangs"},
    {&EVICTED, 0, .want = "job/x: waits in queue gangs, 2 restarts"},
    {&EVICTING, 0, .want = "job/x: 1/8 ready, 7 waiting"},
    {&QUEUED, 0, .stopping = true, .want = "job/x: stopped"},
    {&WON, 0, .want = "job/x: succeeded in 1.3 s"},
    {&LOST, 0, .want = "job/x: failed after 2.0 s: app ended with exit code 3"},
    {&HALF, 0, .stopping = true, .want = "job/x: stopping, 14 of 60 still run"},
    {&WON, 0, .stopping = true, .want = "job/x: succeeded in 1.3 s"},
    {&HALF, 100, .utf8 = true,
     .want = "• job/x  ████▒░░░░░░░░░░░░░░░░░░░  12/60 ready, 2 starting, 46 blocked (waits for "
             "container db)"},
    {&HALF, 100,
     .want = "- job/x  ####+...................  12/60 ready, 2 starting, 46 blocked (waits for "
             "container db)"},
    {&HALF, 60, .utf8 = true,
     .want = "• job/x  ██▒░░░░░░░  12/60 ready, 2 starting, 46 blocked (…"},
    {&HALF, 30, .utf8 = true, .want = "• job/x  12/60 ready, 2 star…"},
    {&HALF, 12, .want = "- job>  12>"},
    {&HALF, 60, .utf8 = true, .color = true,
     .want =
         "\033[33m•\033[0m job/x  \033[32m██\033[0m\033[33m▒\033[0m\033[2m░░░░░░░\033[0m  12/60 "
         "ready, 2 starting, 46 blocked (\033[0m…"},
    {&CRASHED, 60, .want = "- job/x  ####....xx  3/7 ready, 2 pending (2 of 2 are star>"},
    {&BATCH, 60, .want = "+ job/x  37/100 done, 4 ready, 59 waiting"},
    {&QUEUED, 60, .utf8 = true, .want = "• job/x  ░░░░░░░░░░  waits in queue gangs"},
    {&READY, 60, .utf8 = true, .want = "✔ job/x  60/60 ready in 3.2 s"},
    {&WON, 60, .utf8 = true, .color = true, .want = "\033[32m✔\033[0m job/x  succeeded in 1.3 s"},
    {&LOST, 60, .utf8 = true, .want = "✘ job/x  failed after 2.0 s: app ended with exit code 3"},
};

static void group_free(struct run_group *group)
{
    struct run_model model = {0};
    vec_push(&model.groups, group);
    run_model_done(&model);
}

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        const struct row *row = &ROWS[i];
        struct run_group *group = group_of(&KIND_JOB, "x", row->numbers);
        struct run_style style = {.columns = row->columns,
                                  .stopping = row->stopping,
                                  .utf8 = row->utf8,
                                  .color = row->color,
                                  .began_at = 1000};
        scoped_str got = {0};
        if (row->columns == 0)
            run_view_plain(group, &style, &got);
        else
            run_view_line(group, &style, &got);
        if (!str_eq(str_text(&got), row->want))
            fail_msg("row %zu:\n%s\nand should be\n%s", i, str_text(&got), row->want);
        size_t width = run_view_width((struct sv){got.data, got.len});
        if (row->columns > 0 && width >= (size_t)row->columns)
            fail_msg("row %zu is %zu wide", i, width);
        group_free(group);
    }
}

static struct run_group *vpod_of(const int64_t *per_pod, int64_t wanted, const char *why)
{
    struct run_group *group = group_of(&KIND_VPOD, "v", &(struct numbers){.ready_at = -1});
    group->spread = (struct run_spread){.is_told = true, .wanted = wanted};
    for (; *per_pod > 0; per_pod++) {
        vec_push(&group->spread.per_pod, *per_pod);
        group->spread.placed += *per_pod;
    }
    group->spread.pending = wanted - group->spread.placed;
    group->spread.why = mem_strdup(why);
    return group;
}

static void test_lines_of_vpods(void **state)
{
    static const struct {
        int64_t per_pod[32];
        int64_t wanted;
        const char *why;
        int columns;
        bool ascii, stopping;
        const char *want;
    } rows[] = {
        {{3, 3, 3, 1},
         10,
         NULL,
         80,
         .want = "✔ vpod/v  ███▃        10/10 placed on 4 pods, 1 to 3 each"},
        {{3, 3, 3, 1},
         10,
         NULL,
         80,
         .ascii = true,
         .want = "+ vpod/v  ###-        10/10 placed on 4 pods, 1 to 3 each"},
        {{2, 2},
         9,
         "pods are full",
         80,
         .want = "• vpod/v  ██          4/9 placed on 2 pods, 2 each, 5 pending (pods are full)"},
        {{4}, 4, NULL, 80, .want = "✔ vpod/v  █           4/4 placed on 1 pod"},
        {{0}, 4, NULL, 80, .want = "• vpod/v              0/4 placed, 4 pending"},
        {{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1},
         35,
         NULL,
         80,
         .want = "✔ vpod/v  ████████▄▄  35/35 placed on 20 pods, 1 to 2 each"},
        {{4}, 4, NULL, 40, .want = "✔ vpod/v  4/4 placed on 1 pod"},
        {{4, 4}, 8, NULL, 0, .want = "vpod/v: 8/8 placed on 2 pods, 4 each"},
        {{4, 4}, 8, NULL, 80, .stopping = true, .want = "• vpod/v  stopped"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct run_group *group = vpod_of(rows[i].per_pod, rows[i].wanted, rows[i].why);
        struct run_style style = {
            .columns = rows[i].columns, .utf8 = !rows[i].ascii, .stopping = rows[i].stopping};
        scoped_str got = {0};
        if (rows[i].columns == 0)
            run_view_plain(group, &style, &got);
        else
            run_view_line(group, &style, &got);
        if (!str_eq(str_text(&got), rows[i].want))
            fail_msg("row %zu:\n%s\nand should be\n%s", i, str_text(&got), rows[i].want);
        group_free(group);
    }
}

static void test_no_width_is_overrun(void **state)
{
    (void)state;
    for (int columns = 1; columns < 140; columns++) {
        struct run_group *group = group_of(&KIND_JOB, "a-name-of-some-length", &CRASHED);
        struct run_style style = {.columns = columns, .utf8 = true, .color = true};
        scoped_str got = {0};
        run_view_line(group, &style, &got);
        assert_true(run_view_width((struct sv){got.data, got.len}) < (size_t)columns);
        group_free(group);
    }
}

static void test_widths_and_harmless_lines(void **state)
{
    static const struct {
        const char *text, *clean;
        size_t width;
    } TEXTS[] = {
        {"abc", "abc", 3},
        {"\033[1;31mred\033[0m", "\033[1;31mred\033[0m\033[0m", 3},
        {"\033[31mred", "\033[31mred\033[0m", 3},
        {"up\033[2Adown\033[K", "updown", 6},
        {"\033]0;title\aname", "name", 4},
        {"50%\r100%", "50%100%", 7},
        {"bell\a\b\x7f.", "bell.", 5},
        {"übung ✔", "übung ✔", 7},
        {"日本", "日本", 4},
        {"broken \xff\xc3", "broken \xff\xc3", 9},
        {"\033[", "", 0},
        {"\033", "", 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
        scoped_str got = {0};
        run_view_clean(sv_of(TEXTS[i].text), &got);
        assert_string_equal(str_text(&got), TEXTS[i].clean);
        assert_int_equal(run_view_width((struct sv){str_text(&got), got.len}), TEXTS[i].width);
    }
}

/* ---- the screen ---- */

struct screen {
    struct run_show show;
    struct run_model model;
    FILE *out;
    char *text;
    size_t len;
};

static void screen_open(struct screen *screen, bool is_terminal)
{
    struct cli cli = {0};
    *screen = (struct screen){0};
    screen->out = open_memstream(&screen->text, &screen->len);
    run_model_init(&screen->model, 1000);
    run_show_init(&screen->show, &cli, screen->out, false);
    screen->show.is_terminal = is_terminal;
    screen->show.style.utf8 = false;
    screen->show.style.columns = 60;
}

static void screen_close(struct screen *screen)
{
    run_show_done(&screen->show);
    run_model_done(&screen->model);
    (void)fclose(screen->out); /* memory only */
    free(screen->text);
}

/* What was written since the last time. */
static void assert_written(struct screen *screen, size_t *from, const char *want)
{
    (void)fflush(screen->out); /* memory only */
    const char *got = screen->text + *from;
    if (!str_eq(got, want))
        fail_msg("written was\n%s\nand should be\n%s", got, want);
    *from = screen->len;
}

static void replace(struct screen *screen, size_t index, const struct numbers *numbers)
{
    const char *name = index == 0 ? "x" : "y";
    group_free(screen->model.groups.items[index]);
    screen->model.groups.items[index] = group_of(&KIND_JOB, name, numbers);
}

static void test_a_terminal_is_drawn_in_place(void **state)
{
    (void)state;
    struct screen s;
    size_t at = 0;
    screen_open(&s, true);
    vec_push(&s.model.groups, group_of(&KIND_JOB, "x", &HALF));
    vec_push(&s.model.groups, group_of(&KIND_JOB, "y", &HALF));
#define BAR(name) "- job/" name "  ##+.......  12/60 ready, 2 starting, 46 blocked (>\n"
    assert_true(run_show_draw(&s.show, &s.model, 1000) == TIME_NEVER);
    assert_written(&s, &at, "\r\033[J" BAR("x") BAR("y"));
    run_show_draw(&s.show, &s.model, 1100);
    assert_written(&s, &at, ""); /* nothing has changed */
    run_show_logs(&s.show, SV("a/c | one\na/c | \033[2Jtwo\n"));
    run_show_draw(&s.show, &s.model, 1200);
    assert_written(&s, &at, "\r\033[2A\033[Ja/c | one\na/c | two\n" BAR("x") BAR("y"));
    replace(&s, 0, &WON); /* the last word on it stays above */
    run_show_draw(&s.show, &s.model, 1300);
    assert_written(&s, &at, "\r\033[2A\033[J+ job/x  succeeded in 1.3 s\n" BAR("y"));
    s.show.style.columns = 25; /* what is there takes three rows now */
    run_show_draw(&s.show, &s.model, 1400);
    assert_written(&s, &at, "\r\033[3A\033[J- job/y  12/60 ready, 2>\n");
    replace(&s, 1, &READY);
    s.show.style.columns = 60;
    run_show_settle(&s.show, &s.model, 1500);
    assert_written(&s, &at, "\r\033[1A\033[J+ job/y  60/60 ready in 3.2 s\n");
    run_show_note(&s.show, "that was %s", "it");
    run_show_settle(&s.show, &s.model, 1500);
    assert_written(&s, &at, "\r\033[Jthat was it\n"); /* what was settled is not drawn again */
    screen_close(&s);
}

static void test_more_groups_than_rows(void **state)
{
    (void)state;
    struct screen s;
    size_t at = 0;
    screen_open(&s, true);
    s.show.rows = 5;
    vec_push(&s.model.groups, group_of(&KIND_JOB, "a", &READY));
    vec_push(&s.model.groups, group_of(&KIND_JOB, "b", &HALF));
    vec_push(&s.model.groups, group_of(&KIND_JOB, "c", &READY));
    vec_push(&s.model.groups, group_of(&KIND_JOB, "d", &READY));
    run_show_draw(&s.show, &s.model, 1000);
    assert_written(&s, &at, "\r\033[J" BAR("b") "+ job/a  60/60 ready in 3.2 s\n... 2 more\n");
    screen_close(&s);
}

static void test_plain_lines_come_once_a_second(void **state)
{
    (void)state;
    struct screen s;
    size_t at = 0;
    screen_open(&s, false);
    vec_push(&s.model.groups, group_of(&KIND_JOB, "x", &CRASHED));
#define FIRST                                                                                      \
    "job/x: 3/7 ready, 2 pending (2 of 2 are starting), 1 waiting, 1 failed (app ended with exit " \
    "code 3), 7 restarts\n"
#define SECOND "job/x: 12/60 ready, 2 starting, 46 blocked (waits for container db)\n"
    assert_true(run_show_draw(&s.show, &s.model, 1000) == TIME_NEVER);
    assert_written(&s, &at, FIRST);
    replace(&s, 0, &HALF);
    run_show_logs(&s.show, SV("a/c | one\n"));
    assert_int_equal(run_show_draw(&s.show, &s.model, 1300), 2000);
    assert_written(&s, &at, "a/c | one\n"); /* logs do not wait */
    assert_true(run_show_draw(&s.show, &s.model, 2000) == TIME_NEVER);
    assert_written(&s, &at, SECOND);
    run_show_draw(&s.show, &s.model, 9000);
    assert_written(&s, &at, "");
    replace(&s, 0, &READY); /* news do not wait either */
    run_show_draw(&s.show, &s.model, 9001);
    assert_written(&s, &at, "job/x: 60/60 ready in 3.2 s\n");
    replace(&s, 0, &LOST);
    run_show_draw(&s.show, &s.model, 9002);
    assert_written(&s, &at, "job/x: failed after 2.0 s: app ended with exit code 3\n");
    run_show_settle(&s.show, &s.model, 9003);
    assert_written(&s, &at, "");
    screen_close(&s);
}

static void test_quiet_shows_logs_only(void **state)
{
    (void)state;
    for (int terminal = 0; terminal < 2; terminal++) {
        struct screen s;
        size_t at = 0;
        screen_open(&s, terminal);
        s.show.is_quiet = true;
        vec_push(&s.model.groups, group_of(&KIND_JOB, "x", &HALF));
        run_show_note(&s.show, "a note");
        run_show_draw(&s.show, &s.model, 1000);
        assert_written(&s, &at, "");
        run_show_logs(&s.show, SV("a/c | one\n"));
        run_show_settle(&s.show, &s.model, 1001);
        assert_written(&s, &at, terminal ? "\r\033[Ja/c | one\n" : "a/c | one\n");
        screen_close(&s);
    }
}

static void test_summary(void **state)
{
    (void)state;
    struct run_model model;
    scoped_str text = {0};
    run_model_init(&model, 1000);
    vec_push(&model.groups, group_of(&KIND_JOB, "x", &READY));
    vec_push(&model.groups, group_of(&KIND_JOB, "y", &RESTARTED));
    run_view_summary(&model, 200000, &text);
    assert_string_equal(text.data, "0 succeeded, 0 failed, 2 had not ended; all ready after 2m29s; "
                                   "1 restart; took 3m19s");
    vec_push(&model.groups, group_of(&KIND_JOB, "z", &LOST));
    model.groups.items[2]->ready_at = -1;
    str_clear(&text);
    run_view_summary(&model, 4000, &text);
    assert_string_equal(text.data, "0 succeeded, 1 failed, 2 had not ended; not all got ready; "
                                   "1 restart; took 3.0 s");
    run_model_done(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_lines_of_vpods),
        cmocka_unit_test(test_no_width_is_overrun),
        cmocka_unit_test(test_widths_and_harmless_lines),
        cmocka_unit_test(test_a_terminal_is_drawn_in_place),
        cmocka_unit_test(test_more_groups_than_rows),
        cmocka_unit_test(test_plain_lines_come_once_a_second),
        cmocka_unit_test(test_quiet_shows_logs_only),
        cmocka_unit_test(test_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
