// SPDX-License-Identifier: Apache-2.0
/* Cases of test/data/place through the verb itself. cases.jsonl holds what a known scheduler was
 * tested for, ours.jsonl what we decided to do otherwise; docs/decisions/0021 tells why. */
#include "base/mem.h"
#include "os/fd.h"
#include "script.h"

static const char *folder;

/* ---- a case becomes the input of `muster place` ---- */

static void copy_key(yyjson_mut_doc *doc, yyjson_val *from, const char *key, const char *as)
{
    yyjson_val *val = yyjson_obj_get(from, key);
    if (val != NULL)
        json_mut_put(doc, yyjson_mut_doc_get_root(doc), as, yyjson_val_mut_copy(doc, val));
}

static void add_vpod(yyjson_mut_doc *doc, yyjson_mut_val *list, yyjson_val *from, const char *key)
{
    static const char *const KEYS[] = {"vreplicas", "placements", "maxPods", "rebalance"};
    yyjson_mut_val *vpod = yyjson_mut_obj(doc);
    json_mut_put(doc, vpod, "name", yyjson_val_mut_copy(doc, yyjson_obj_get(from, key)));
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++) {
        yyjson_val *val = yyjson_obj_get(from, KEYS[i]);
        if (val != NULL)
            json_mut_put(doc, vpod, KEYS[i], yyjson_val_mut_copy(doc, val));
    }
    yyjson_mut_arr_append(list, vpod);
}

static yyjson_mut_doc *input_of(yyjson_val *test)
{
    static const char *const SAME[] = {"capacity",  "replicas",    "nodes",    "pods",
                                       "scheduler", "descheduler", "reserved", "policyType"};
    yyjson_val *given = yyjson_obj_get(test, "given"), *when = yyjson_obj_get(test, "when");
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *vpods = yyjson_mut_arr(doc);
    yyjson_mut_doc_set_root(doc, root);
    for (size_t i = 0; i < ARRAY_LEN(SAME); i++)
        copy_key(doc, given, SAME[i], SAME[i]);
    copy_key(doc, given, "policy_type", "policyType");
    copy_key(doc, when, "pending", "pending");
    copy_key(doc, when, "attempt_scale_down", "attemptScaleDown");
    json_mut_put(doc, root, "vpods", vpods);
    size_t i, n;
    yyjson_val *vpod;
    yyjson_arr_foreach(yyjson_obj_get(given, "vpods"), i, n, vpod)
        add_vpod(doc, vpods, vpod, "key");
    if (yyjson_obj_get(when, "vpod") != NULL)
        add_vpod(doc, vpods, when, "vpod");
    return doc;
}

static yyjson_doc *run_place(yyjson_val *test)
{
    const char *kind = json_str_at(test, "kind");
    yyjson_mut_doc *doc = input_of(test);
    scoped_str in = {0};
    json_write(yyjson_mut_doc_get_root(doc), &in);
    yyjson_mut_doc_free(doc);
    char *texts[2];
    size_t lens[2];
    FILE *streams[3] = {fmemopen((char *)str_text(&in), in.len, "r"),
                        open_memstream(&texts[0], &lens[0]), open_memstream(&texts[1], &lens[1])};
    struct cli cli = {.in = streams[0], .out = streams[1], .err = streams[2]};
    const char *words[] = {"muster", "place", "-", "-o", "json", "--compact"};
    int argc = str_eq(kind, "schedule") ? 5 : 6;
    words[5] = str_eq(kind, "autoscale") ? "--autoscale" : "--compact";
    int exit_code = cli_main(&cli, argc, (char **)words);
    cli_done(&cli);
    for (int i = 0; i < 3; i++)
        fclose(streams[i]);
    if (exit_code != 0 || lens[1] > 0)
        fail_msg("%s: exit %d, %s", json_str_at(test, "id"), exit_code, texts[1]);
    yyjson_doc *answer = NULL;
    assert_int_equal(json_parse(sv_of(texts[0]), &answer, NULL), 0);
    free(texts[0]);
    free(texts[1]);
    return answer;
}

static bool is_as_expected(yyjson_val *test, yyjson_val *answer)
{
    yyjson_val *expect = yyjson_obj_get(test, "expect");
    if (!str_eq(json_str_at(test, "kind"), "schedule"))
        return yyjson_equals(answer, expect);
    const char *name = json_str_at(test, "when.vpod");
    yyjson_val *placed = yyjson_obj_get(yyjson_obj_get(answer, "placements"), name);
    int64_t pending = yyjson_get_sint(yyjson_obj_get(yyjson_obj_get(answer, "pending"), name));
    bool wants_pending = !yyjson_is_null(yyjson_obj_get(expect, "error"));
    int64_t left = json_int_at(test, "derived.left", pending);
    return yyjson_equals(placed, yyjson_obj_get(expect, "placements")) &&
           (pending > 0) == wants_pending && pending == left;
}

static int run_file(const char *name)
{
    scoped_str text = {0};
    scoped_free char *path = mem_printf("%s/%s", folder, name);
    assert_true(file_read(path, 1 << 20, &text, NULL) >= 0);
    struct sv rest = {str_text(&text), text.len};
    int count = 0, bad = 0;
    while (rest.len > 0) {
        scoped_json *doc = NULL;
        assert_int_equal(json_parse(sv_cut(&rest, '\n'), &doc, NULL), 0);
        yyjson_val *test = yyjson_doc_get_root(doc);
        scoped_json *answer = run_place(test);
        count++;
        if (is_as_expected(test, yyjson_doc_get_root(answer)))
            continue;
        bad++;
        scoped_str got = {0};
        json_write_val(yyjson_doc_get_root(answer), &got);
        print_message("# %s (%s): got %s\n", json_str_at(test, "id"), json_str_at(test, "title"),
                      str_text(&got));
    }
    assert_int_equal(bad, 0);
    return count;
}

static void test_known_cases(void **state)
{
    (void)state;
    assert_int_equal(run_file("cases.jsonl"), 27);
}

/* More of what it was tested for, by the same numbers. Where it is meant to be otherwise here, the
 * case says what is expected there, and why. */
static void test_table_cases(void **state)
{
    (void)state;
    assert_int_equal(run_file("table.jsonl"), 28);
}

static void test_our_cases(void **state)
{
    (void)state;
    assert_in_range(run_file("ours.jsonl"), 24, 1000);
}

/* ---- for people ---- */

#define POOL "capacity: 2\nreplicas: 2\nnodes: [[a, z0], [b, z1, cordoned]]\n"
#define FITS "predicates: [{name: PodFitsResources}]"
#define LOW "{name: LowestOrdinalPriority, weight: 1}"
#define BAD(name, text, problem)                                                                   \
    {                                                                                              \
        name, {"place", "-"}, {{0}}, 1, "", problem, text                                          \
    }

static const struct scene SCENES[] = {
    {"bars and reasons",
     {"place", "-"},
     {{0}},
     0,
     "v: 2 vreplicas placed, 1 pending\n"
     "  z0                2     ##############################\n"
     "    a               2     ##############################\n"
     "      pod 0 (2/2)   2     ##############################\n"
     "Nothing more fits, because\n"
     "  pod 0: full, 2 of 2 vreplicas\n"
     "  pod 1: its node is cordoned\n",
     "",
     POOL "policyType: MAXFILLUP\nvpods: [{name: v, vreplicas: 3}]\n"},
    {"autoscale",
     {"place", "-", "--autoscale"},
     {{0}},
     0,
     "2 pods, now 2\n",
     "",
     POOL "policyType: MAXFILLUP\nvpods: [{name: v, vreplicas: 3}]\n"},
    {"compact",
     {"place", "-", "--compact"},
     {{0}},
     0,
     "evict 1 vreplica of v from pod 1\n",
     "",
     "capacity: 2\nreplicas: 2\nnodes: [[a, z0], [b, z1]]\npolicyType: MAXFILLUP\n"
     "vpods: [{name: v, vreplicas: 2, placements: [[0, 1], [1, 1]]}]\n"},
    {"yaml, several vpods, as reserved",
     {"place", "-", "-o", "json"},
     {{0}},
     0,
     "{\"placements\":{\"b\":[[0,1]],\"a\":[]},\"pending\":{\"b\":1,\"a\":1}}\n",
     "",
     POOL "policyType: MAXFILLUP\nreserved: {gone: [[0, 1]]}\n"
          "vpods: [{name: b, vreplicas: 2}, {name: a, vreplicas: 1}]\n"},
    {"both at once", {"place", "-", "--autoscale", "--compact"}, {{0}}, 2, "", NULL},
    BAD("no capacity", "replicas: 2\n",
        "error: -:1:1: capacity: is missing\nhint: a whole number, such as 3\n"),
    BAD("unknown plugin",
        POOL "scheduler: {predicates: [{name: PodFitResources}], priorities: []}\n",
        "error: -:4:26: scheduler.predicates[0]: unknown plugin 'PodFitResources'\n"
        "hint: did you mean 'PodFitsResources'?\n"),
    BAD("weight",
        POOL "scheduler:\n  " FITS "\n  priorities:\n  - {name: LowestOrdinalPriority, "
             "weight: 11}\n",
        "error: -:7:43: scheduler.priorities[0].weight: 11\n"
        "hint: a whole number from 0 to 10\n"),
    BAD("unknown argument",
        POOL "scheduler:\n  predicates: [{name: EvenPodSpread, args: '{\"Skew\": 1}'}]\n"
             "  priorities: []\n",
        "error: -:5:44: scheduler.predicates[0].args: unknown key 'Skew'\n"
        "hint: did you mean 'MaxSkew'?\n"),
    BAD("missing argument",
        POOL "scheduler:\n  predicates: [{name: EvenPodSpread}]\n  priorities: []\n",
        "error: -:5:16: scheduler.predicates[0].args: MaxSkew is missing\n"
        "hint: EvenPodSpread needs it: {\"MaxSkew\": 2}\n"),
    BAD("missing list", POOL "scheduler: {" FITS "}\n",
        "error: -:4:12: scheduler: priorities is missing\n"
        "hint: a list, which may be empty: []\n"),
    BAD("twice", POOL "scheduler: {" FITS ", priorities: [" LOW ", " LOW "]}\n",
        "error: -:4:108: scheduler.priorities[1]: LowestOrdinalPriority is there twice\n"
        "hint: keep one of them\n"),
    BAD("no policy", POOL,
        "error: -:1:1: scheduler: is missing\n"
        "hint: give scheduler {predicates, priorities}, or policyType "
        "MAXFILLUP\n"),
    BAD("unknown node", POOL "policyType: MAXFILLUP\npods: [[0, c]]\n",
        "error: -:5:8: pods[0]: there is no node 'c'\n"
        "hint: add it to nodes, or write null: the pod is on no node yet\n"),
    BAD("a placement",
        POOL "policyType: MAXFILLUP\nvpods: [{name: v, vreplicas: 1, placements: "
             "[[0, 1], [1]]}]\n",
        "error: -:5:54: vpods[0].placements[1]: not a placement\n"
        "hint: [ordinal, vreplicas], such as [0, 5]\n"),
    BAD("too many", POOL "policyType: MAXFILLUP\nvpods: [{name: v, vreplicas: 1e18}]\n",
        "error: -:5:30: vpods[0].vreplicas: not a whole number from 0 to 4194304\n"
        "hint: a whole number, such as 3\n"),
    BAD("two objects", "{}\n---\n{}\n",
        "error: -: 2 objects instead of one\n"
        "hint: muster help place shows what is read\n"),
};

static void test_scenes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(SCENES); i++)
        scene_play(&SCENES[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_cases),
        cmocka_unit_test(test_table_cases),
        cmocka_unit_test(test_our_cases),
        cmocka_unit_test(test_scenes),
    };
    folder = argc > 1 ? argv[1] : "test/data/place";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
