// SPDX-License-Identifier: Apache-2.0
/* Pods in, rows, text and pictures out. */
#include "base/mem.h"
#include "cli/timeline.h"
#include "script.h"
#include <string.h>

#define AT(s) "2026-01-02T03:04:" s "Z"
#define MOVE(state, s) "{\"state\":\"" state "\",\"at\":\"" AT(s) "\"}"
#define NEEDS(list) ",\"dependsOn\":[" list "]"
#define NEED(name) "{\"name\":\"" name "\",\"condition\":\"ready\"}"
#define SPEC(name, more) "{\"name\":\"" name "\"" more "}"
#define STATUS(name, ready, state, generation, moves)                                              \
    "{\"name\":\"" name "\",\"ready\":" ready ",\"lifecycle\":{\"state\":\"" state                 \
    "\",\"generation\":" generation ",\"moves\":[" moves "]}}"
#define POD(name, specs, statuses)                                                                 \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"containers\":[" specs                       \
    "]},\"status\":{\"containerStatuses\":[" statuses "]}}"
#define FIRST(s) MOVE("downloading", s) "," MOVE("blocked", s)
#define REST(p, s, r) MOVE("pending", p) "," MOVE("starting", s) "," MOVE("ready", r)

/* The study's example: a; b after a; c and d after b; e after c and d. d has to wait for a slot. */
static const char STUDY[] = POD(
    "app",
    SPEC("a", "") "," SPEC("b", NEEDS(NEED("a"))) "," SPEC("c", NEEDS(NEED("b"))) "," SPEC(
        "d", NEEDS(NEED("b"))) "," SPEC("e", NEEDS(NEED("c") "," NEED("d"))),
    STATUS("a", "true", "ready", "1", FIRST("00.000") "," REST("00.000", "00.000", "01.000")) "," STATUS(
        "b", "true", "ready", "1",
        FIRST("00.000") "," REST(
            "01.000", "01.000",
            "03.000")) "," STATUS("c", "true", "ready", "1",
                                  FIRST("00.000") "," REST(
                                      "03.000", "03.000",
                                      "04.000")) "," STATUS("d", "true", "ready", "1",
                                                            FIRST("00.000") "," REST(
                                                                "03.000", "04.000",
                                                                "07.000")) "," STATUS("e", "true",
                                                                                      "ready", "1",
                                                                                      FIRST(
                                                                                          "00."
                                                                                          "000") "," REST("07.000",
                                                                                                          "07.000",
                                                                                                          "10."
                                                                                                          "000")));

static void make(struct timeline *timeline, const char *const *pods, size_t n, time_ms now)
{
    timeline_init(timeline, n == 1 ? "pod/app" : "job/app");
    for (size_t i = 0; i < n; i++) {
        scoped_json *doc = NULL;
        assert_int_equal(json_parse(sv_of(pods[i]), &doc, NULL), 0);
        timeline_add_pod(timeline, yyjson_doc_get_root(doc));
    }
    timeline_finish(timeline, now);
}

#define START 1767323040000 /* 03:04:00 */

static void test_text(void **state)
{
    (void)state;
    struct timeline timeline;
    scoped_str out = {0};
    make(&timeline, (const char *const[]){STUDY}, 1, START + 99000);
    assert_int_equal(timeline.start, START);
    assert_int_equal(timeline.ready_after, 10000);
    timeline_text(&timeline, &(struct timeline_look){.width = 69}, &out);
    assert_string_equal(
        str_text(&out),
        "pod/app: ready after 10s, 5 containers\n"
        "\n"
        "       0s                       5s                       10s\n"
        "       ├────────────────────────┼────────────────────────┼──\n"
        "* a    ▒▒▒▒▒████████████████████████████████████████████████ 1s\n"
        "* b    ·····▒▒▒▒▒▒▒▒▒▒██████████████████████████████████████ 3s\n"
        "  c    ···············▒▒▒▒▒█████████████████████████████████ 4s\n"
        "* d    ···············░░░░░▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒██████████████████ 7s\n"
        "* e    ···································▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒███ 10s\n"
        "\n"
        "critical path: a 1s > b 2s > d 4s > e 3s\n"
        "totals: blocked 14s, pending 1s, starting 10s\n"
        "legend: · blocked  ░ pending  ▒ starting  █ ready  ✗ failed  * critical path\n");
    timeline_done(&timeline);
}

static void test_path(void **state)
{
    (void)state;
    struct timeline timeline;
    make(&timeline, (const char *const[]){STUDY}, 1, START + 99000);
    assert_string_equal(timeline.path_text, "a 1s > b 2s > d 4s > e 3s");
    assert_int_equal(timeline.path.len, 4);
    assert_false(timeline.rows.items[2].is_critical);
    assert_int_equal(timeline.rows.items[3].critical_from, 3000);
    assert_int_equal(timeline_share_end(&timeline, 2), 7000);
    assert_int_equal(timeline.totals[CT_BLOCKED], 0 + 1000 + 3000 + 3000 + 7000);
    assert_int_equal(timeline.totals[CT_PENDING], 1000);
    assert_int_equal(timeline.totals[CT_STARTING], 1000 + 2000 + 1000 + 3000 + 3000);
    assert_int_equal(timeline.totals[CT_READY], 0);
    timeline_done(&timeline);
}

/* What is on its way ends now, and the path ends at what holds the others up. */
static void test_unfinished(void **state)
{
    (void)state;
    static const char POD_TEXT[] =
        POD("app", SPEC("web", NEEDS(NEED("db"))) "," SPEC("db", ""),
            STATUS("web", "false", "blocked", "0", FIRST("00.000")) "," STATUS(
                "db", "false", "starting", "1",
                FIRST("00.000") "," MOVE("pending", "00.000") "," MOVE("starting", "01.000")));
    struct timeline timeline;
    scoped_str out = {0};
    make(&timeline, (const char *const[]){POD_TEXT}, 1, START + 4000);
    assert_int_equal(timeline.ready_after, -1);
    assert_int_equal(timeline.length, 4000);
    timeline_text(&timeline, &(struct timeline_look){.width = 40}, &out);
    assert_string_equal(
        str_text(&out),
        "pod/app: not ready yet, 2 of 2 are not, after 4s, 2 containers\n"
        "\n"
        "       0s          2s\n"
        "       ├───────────┼───────────\n"
        "  web  ························ -\n"
        "* db   ░░░░░░▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ -\n"
        "\n"
        "critical path so far: db 4s\n"
        "totals: blocked 4s, pending 1s, starting 3s\n"
        "legend: · blocked  ░ pending  ▒ starting  █ ready  ✗ failed  * critical path\n");
    timeline_done(&timeline);
}

/* A restart hours later is told, not drawn; one that failed is not ready. */
static void test_restarts(void **state)
{
    (void)state;
    static const char POD_TEXT[] =
        POD("app", SPEC("a", "") "," SPEC("b", "") "," SPEC("c", ""),
            STATUS("a", "true", "ready", "1",
                   FIRST("00.000") "," REST(
                       "00.000", "00.000",
                       "01.000")) "," STATUS("b", "true", "ready", "3",
                                             FIRST("30.000") "," REST(
                                                 "30.000", "30.000",
                                                 "30.100")) "," STATUS("c", "true", "ready", "2",
                                                                       FIRST("01.500") "," REST(
                                                                           "01.500", "01.500",
                                                                           "01.900")));
    struct timeline timeline;
    make(&timeline, (const char *const[]){POD_TEXT}, 1, START + 60000);
    assert_int_equal(timeline.ready_after, 1900);
    assert_true(timeline.rows.items[1].is_later);
    assert_false(timeline.rows.items[2].is_later);
    assert_int_equal(timeline.notes.len, 1);
    assert_string_equal(timeline.notes.items[0],
                        "b was started again (start 3) after 30s; that is not in the picture");
    assert_string_equal(timeline.rows.items[2].label, "c (start 2)");
    timeline_done(&timeline);
}

static void test_fails(void **state)
{
    (void)state;
    static const char POD_TEXT[] =
        POD("app", SPEC("a", ""),
            STATUS("a", "false", "failed", "2",
                   FIRST("00.000") "," REST("00.000", "00.000", "00.010") "," MOVE("failed",
                                                                                   "01.000")));
    struct timeline timeline;
    scoped_str out = {0};
    make(&timeline, (const char *const[]){POD_TEXT}, 1, START + 2000);
    assert_int_equal(timeline.ready_after, -1);
    timeline_text(&timeline, &(struct timeline_look){.width = 40, .color = true}, &out);
    /* ten milliseconds of starting are still seen */
    assert_non_null(strstr(str_text(&out), "\033[36m▒\033[0m\033[32m█"));
    assert_non_null(strstr(str_text(&out), "█\033[0m\033[31m✗"));
    timeline_done(&timeline);
}

/* ---- many ---- */

static char *many_pod(size_t i, size_t containers)
{
    struct str specs = {0}, statuses = {0};
    for (size_t k = 0; k < containers; k++) {
        str_addf(&specs, "%s" SPEC("c%zu", ""), k > 0 ? "," : "", k);
        str_addf(&statuses,
                 "%s{\"name\":\"c%zu\",\"ready\":true,\"lifecycle\":{\"state\":\"ready\","
                 "\"generation\":1,\"moves\":[" MOVE("starting", "%02zu.000") "," MOVE(
                     "ready", "%02zu.500") "]}}",
                 k > 0 ? "," : "", k, i % 50, i % 50 + k % 2);
    }
    char *text = mem_printf(POD("p%zu", "%s", "%s"), i, str_text(&specs), str_text(&statuses));
    str_done(&specs);
    str_done(&statuses);
    return text;
}

static void test_fold(void **state)
{
    (void)state;
    char *pods[70];
    for (size_t i = 0; i < ARRAY_LEN(pods); i++)
        pods[i] = many_pod(i, 2);
    struct timeline timeline;
    make(&timeline, (const char *const *)pods, 40, START);
    assert_string_equal(timeline.rows.items[3].label, "p1/c1");
    timeline_fold(&timeline, 60);
    assert_int_equal(timeline.rows.len, 40);
    assert_string_equal(timeline.rows.items[1].label, "p1");
    assert_int_equal(timeline.rows.items[1].done_at, 2500);
    assert_int_equal(timeline.rows.items[1].spans.len, 2); /* starting until both are ready */
    assert_int_equal(timeline.rows.items[1].spans.items[0].to, 2500);
    assert_true(timeline.rows.items[39].is_critical);
    timeline_done(&timeline);

    make(&timeline, (const char *const *)pods, 70, START);
    timeline_fold(&timeline, 30);
    assert_int_equal(timeline.rows.len, 30);
    bool has_critical = false;
    for (size_t i = 0; i < timeline.rows.len; i++)
        has_critical = has_critical || timeline.rows.items[i].is_critical;
    assert_true(has_critical);
    assert_string_equal(timeline.notes.items[1], "and 40 more; -o json has all of them");
    timeline_done(&timeline);
    for (size_t i = 0; i < ARRAY_LEN(pods); i++)
        mem_free(pods[i]);
}

static void test_fold_containers(void **state)
{
    (void)state;
    scoped_free char *pod = many_pod(1, 100);
    struct timeline timeline;
    make(&timeline, (const char *const[]){pod}, 1, START);
    assert_string_equal(timeline.rows.items[99].label, "c99");
    size_t last = timeline.path.items[0];
    scoped_free char *label = mem_strdup(timeline.rows.items[last].label);
    timeline_fold(&timeline, 60);
    assert_int_equal(timeline.rows.len, 60);
    assert_string_equal(timeline.rows.items[timeline.path.items[0]].label, label);
    assert_string_equal(timeline.notes.items[0], "and 40 more; -o json has all of them");
    timeline_done(&timeline);
}

/* ---- the other forms ---- */

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what))
        n++;
    return n;
}

static void test_svg(void **state)
{
    (void)state;
    struct timeline timeline;
    scoped_str out = {0};
    make(&timeline, (const char *const[]){STUDY}, 1, START);
    mem_free(timeline.title);
    timeline.title = mem_strdup("pod/<&\"\001>");
    timeline_svg(&timeline, &out);
    const char *svg = str_text(&out);
    assert_true(str_starts(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\""));
    assert_true(str_ends(svg, "</svg>\n"));
    assert_non_null(strstr(svg, "<title>pod/&lt;&amp;&quot; &gt;</title>"));
    assert_int_equal(count(svg, "<rect class=\"starting\""), 5 + 1); /* and the legend */
    assert_int_equal(count(svg, "<rect class=\"pending\""), 1 + 1);
    assert_int_equal(count(svg, "class=\"critical-label\""), 4);
    assert_int_equal(count(svg, "<path class=\"path\""), 1 + 1);
    assert_int_equal(count(svg, "<text"), count(svg, "</text>"));
    assert_non_null(strstr(svg, "critical path: a 1s &gt; b 2s &gt; d 4s &gt; e 3s"));
    assert_non_null(strstr(svg, "prefers-color-scheme:dark"));
    assert_null(strstr(svg, "<rect class=\"exited\""));
    timeline_done(&timeline);
}

static void test_json(void **state)
{
    (void)state;
    struct timeline timeline;
    scoped_str out = {0};
    scoped_json *doc = NULL;
    make(&timeline, (const char *const[]){STUDY}, 1, START);
    timeline_json(&timeline, &out);
    assert_int_equal(json_parse((struct sv){out.data, out.len}, &doc, NULL), 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_string_equal(json_str_at(root, "start"), "2026-01-02T03:04:00.000Z");
    assert_int_equal(json_int_at(root, "readyAfterMs", -1), 10000);
    assert_int_equal(json_int_at(root, "totalsMs.pending", -1), 1000);
    assert_int_equal(yyjson_arr_size(json_at(root, "criticalPath")), 4);
    yyjson_val *last = yyjson_arr_get_last(json_at(root, "criticalPath"));
    assert_string_equal(json_str_at(last, "container"), "e");
    assert_int_equal(json_int_at(last, "fromMs", -1), 7000);
    assert_int_equal(json_int_at(last, "toMs", -1), 10000);
    yyjson_val *span =
        yyjson_arr_get_last(json_at(yyjson_arr_get_first(json_at(root, "containers")), "spans"));
    assert_string_equal(json_str_at(span, "state"), "ready");
    timeline_done(&timeline);
}

/* Nothing to draw, and times that cannot be read. */
static void test_odd(void **state)
{
    (void)state;
    static const char *const PODS[] = {
        "{}", POD("app", SPEC("a", ""), ""),
        POD("app", SPEC("a", ""),
            "{\"name\":\"a\",\"lifecycle\":{\"moves\":[{\"state\":\"no such\",\"at\":\"" AT(
                "00") "\"},{\"state\":\"ready\",\"at\":\"yesterday\"},{}]}}")};
    for (size_t i = 0; i < ARRAY_LEN(PODS); i++) {
        struct timeline timeline;
        scoped_str out = {0};
        make(&timeline, &PODS[i], 1, START);
        timeline_text(&timeline, &(struct timeline_look){.width = 10}, &out);
        timeline_svg(&timeline, &out);
        timeline_json(&timeline, &out);
        assert_int_equal(timeline.length, 1);
        assert_null(timeline.path_text);
        timeline_done(&timeline);
    }
}

static void test_tick(void **state)
{
    (void)state;
    static const struct {
        time_ms length;
        size_t ticks;
        time_ms tick;
    } ROWS[] = {{1, 8, 1},
                {8, 8, 1},
                {10, 8, 2},
                {4549, 8, 1000},
                {60000, 8, 10000},
                {3600000, 4, 1200000},
                {86400000LL * 365, 5, 86400000LL * 74},
                {100, 0, 100}};
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++)
        assert_int_equal(timeline_tick(ROWS[i].length, ROWS[i].ticks), ROWS[i].tick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_restarts),
        cmocka_unit_test(test_fails),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_fold_containers),
        cmocka_unit_test(test_svg),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_odd),
        cmocka_unit_test(test_tick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
