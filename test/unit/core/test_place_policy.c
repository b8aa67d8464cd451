// SPDX-License-Identifier: Apache-2.0
/* The lists of plugins as users write them: what they come to, and each mistake with the remedy
 * that is told. */
#include "base/mem.h"
#include "core/place/policy.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Quotes are written as ' here; JSON has the others. */
static yyjson_doc *doc_of(const char *text)
{
    scoped_free char *json = mem_strdup(text);
    for (char *c = json; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    yyjson_doc *doc = NULL;
    struct err err = {0};
    if (json_parse(sv_of(json), &doc, &err) < 0)
        fail_msg("%s: %s", json, err.text);
    return doc;
}

static int read(struct place_policy *policy, bool is_scheduler, const char *text, struct err *err)
{
    scoped_json *doc = doc_of(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    return is_scheduler ? place_policy_scheduler(policy, root, "scheduler", err)
                        : place_policy_descheduler(policy, root, "descheduler", err);
}

/* ---- what is understood ---- */

static void test_a_scheduler(void **state)
{
    (void)state;
    struct place_policy policy = {.fills_up = false};
    struct err err = {0};
    int r = read(&policy, true,
                 "{'predicates': [{'name': 'PodFitsResources'},"
                 "                {'name': 'NoMaxResourceCount', 'args': {'NumPartitions': 7}},"
                 "                {'Name': 'EvenPodSpread', 'ARGS': {'maxskew': 2}}],"
                 " 'Priorities': [{'name': 'EvenPodSpread', 'weight': 1, 'args': {'MaxSkew': 1}},"
                 "                {'name': 'LowestOrdinalPriority', 'weight': 10, 'args': null}]}",
                 &err);
    assert_string_equal(err.text, "");
    assert_int_equal(r, 0);
    assert_true(policy.has_scheduler && !policy.has_descheduler && policy.is_even);
    assert_int_equal(policy.max_skew, 2);
    assert_int_equal(policy.partitions, 7);
    assert_int_equal(policy.placing.pod, 1);
    assert_int_equal(policy.placing.ordinal, 10);
    assert_int_equal(policy.factor, PLACE_BY_ONE);
}

static void test_a_descheduler(void **state)
{
    (void)state;
    struct place_policy policy = {.fills_up = false};
    struct err err = {0};
    int r = read(&policy, false,
                 "{'predicates': [], 'priorities': ["
                 "{'name': 'RemoveWithEvenPodSpreadPriority', 'weight': 3, 'args': {'MaxSkew': 1}},"
                 "{'name': 'RemoveWithAvailabilityNodePriority','weight':4,'args': {'MaxSkew': 1}},"
                 "{'name': 'RemoveWithAvailabilityZonePriority','weight':5,'args': {'MaxSkew': 1}},"
                 "{'name': 'HighestOrdinalPriority', 'weight': 0}]}",
                 &err);
    assert_string_equal(err.text, "");
    assert_int_equal(r, 0);
    assert_true(policy.has_descheduler && !policy.has_scheduler);
    assert_int_equal(policy.removing.pod, 3);
    assert_int_equal(policy.removing.node, 4);
    assert_int_equal(policy.removing.zone, 5);
    assert_int_equal(policy.removing.ordinal, 0);
    assert_int_equal(policy.factor, PLACE_BY_ONE); /* removing alone brings no pods by zones */
}

#define ZONES "{'name': 'AvailabilityZonePriority', 'weight': 1, 'args': {'MaxSkew': 1}}"
#define NODES "{'name': 'AvailabilityNodePriority', 'weight': 1, 'args': {'MaxSkew': 1}}"

static void test_nodes_go_before_zones(void **state)
{
    (void)state;
    static const struct {
        const char *priorities;
        enum place_factor factor;
    } CASES[] = {
        {"[]", PLACE_BY_ONE},
        {"[" ZONES "]", PLACE_BY_ZONES},
        {"[" NODES "]", PLACE_BY_NODES},
        {"[" ZONES "," NODES "]", PLACE_BY_NODES},
        {"[" NODES "," ZONES "]", PLACE_BY_NODES},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        scoped_json *none = doc_of("[]"), *doc = doc_of(CASES[i].priorities);
        struct place_policy policy = {.fills_up = false};
        int r = place_policy_scheduler_lists(&policy, yyjson_doc_get_root(none),
                                             yyjson_doc_get_root(doc), "here", NULL);
        assert_int_equal(r, 0);
        assert_int_equal(policy.factor, CASES[i].factor);
    }
}

/* A ConfigMap has texts, and arguments there are texts in texts. */
static void test_arguments_as_text(void **state)
{
    (void)state;
    static const struct {
        const char *args;
        bool is_right;
    } CASES[] = {
        {"'{\\'MaxSkew\\': 3}'", true},
        {"' {\\'maxSkew\\':3} '", true},
        {"'{\\'MaxSkew\\': '", false},
        {"'null'", false},
        {"'  '", false},
        {"'3'", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        scoped_free char *text =
            mem_printf("{'predicates': [{'name': 'EvenPodSpread', 'args': %s}],"
                       " 'priorities': []}",
                       CASES[i].args);
        struct place_policy policy = {.fills_up = false};
        struct err err = {0};
        int r = read(&policy, true, text, &err);
        if ((r == 0) != CASES[i].is_right)
            fail_msg("%s: %d, %s", CASES[i].args, r, err.text);
        assert_int_equal(policy.max_skew, CASES[i].is_right ? 3 : 0);
    }
}

/* ---- what is refused ---- */

#define PREDICATES(item) "{'predicates': [" item "], 'priorities': []}"
#define PRIORITIES(item) "{'predicates': [], 'priorities': [" item "]}"
#define SKEW(args) PREDICATES("{'name': 'EvenPodSpread', 'args': " args "}")
#define WEIGHT(weight) PRIORITIES("{'name': 'LowestOrdinalPriority', 'weight': " weight "}")
#define WHOLE "a whole number from 0 to 10"
#define SECOND "with less no pod could take a second vreplica"

static const struct refused {
    const char *json, *text, *hint;
    bool is_descheduler;
} REFUSED[] = {
    {"[]", "scheduler: not an object", "{\"predicates\": [...], \"priorities\": [...]}"},
    {"{'predicates': []}", "scheduler: priorities is missing", "a list, which may be empty: []"},
    {"{'priorities': []}", "scheduler: predicates is missing", "a list, which may be empty: []"},
    {"{'predicates': [], 'priorities': [], 'prioritys': 1}", "scheduler: unknown key 'prioritys'",
     "did you mean 'priorities'?"},
    {"{'predicates': {}, 'priorities': []}", "scheduler.predicates: not a list", ""},
    {"{'predicates': [], 'priorities': 3}", "scheduler.priorities: not a list", ""},
    {PREDICATES("'PodFitsResources'"), "scheduler.predicates[0]: not an object", ""},
    {PREDICATES("{}"), "scheduler.predicates[0]: name is missing, or no text",
     "the name of a plugin, such as PodFitsResources"},
    {PRIORITIES("{'name': 3}"), "scheduler.priorities[0]: name is missing, or no text",
     "the name of a plugin, such as LowestOrdinalPriority"},
    {"{'priorities': [{'weight': 1}]}", "descheduler.priorities[0]: name is missing, or no text",
     "the name of a plugin, such as RemoveWithHighestOrdinalPriority", true},
    {PREDICATES("{'name': 'PodFitsResource'}"),
     "scheduler.predicates[0]: unknown plugin 'PodFitsResource'",
     "did you mean 'PodFitsResources'?"},
    {PREDICATES("{'name': ''}"), "scheduler.predicates[0]: unknown plugin ''",
     "known here: PodFitsResources, NoMaxResourceCount, EvenPodSpread"},
    {PREDICATES("{'name': 'PodFitsResources'}, {'name': 'PodFitsResources'}"),
     "scheduler.predicates[1]: PodFitsResources is there twice", "keep one of them"},
    {"{'priorities': [{'name': 'HighestOrdinalPriority', 'weight': 1},"
     "{'name': 'RemoveWithHighestOrdinalPriority', 'weight': 1}]}",
     "descheduler.priorities[1]: RemoveWithHighestOrdinalPriority is there twice",
     "keep one of them", true},
    {PREDICATES("{'name': 'PodFitsResources', 'weight': 1}"),
     "scheduler.predicates[0]: unknown key 'weight'", "remove it"},
    {PREDICATES("{'name': 'PodFitsResources', 'args': {'MaxSkew': 1}}"),
     "scheduler.predicates[0].args: unknown key 'MaxSkew'", "remove it"},
    {SKEW("{'': 1}"), "scheduler.predicates[0].args: unknown key ''", "did you mean 'MaxSkew'?"},
    {SKEW("{'MaxSkw': 1}"), "scheduler.predicates[0].args: unknown key 'MaxSkw'",
     "did you mean 'MaxSkew'?"},
    {SKEW("[1]"), "scheduler.predicates[0].args: not an object", ""},
    {SKEW("null"), "scheduler.predicates[0].args: MaxSkew is missing",
     "EvenPodSpread needs it: {\"MaxSkew\": 2}"},
    {SKEW("{}"), "scheduler.predicates[0].args: MaxSkew is missing",
     "EvenPodSpread needs it: {\"MaxSkew\": 2}"},
    {SKEW("{'MaxSkew': 0}"), "scheduler.predicates[0].args.MaxSkew: not a whole number from 1 on",
     SECOND},
    {SKEW("{'MaxSkew': -3}"), "scheduler.predicates[0].args.MaxSkew: not a whole number from 1 on",
     SECOND},
    {SKEW("{'MaxSkew': 1.5}"), "scheduler.predicates[0].args.MaxSkew: not a whole number from 1 on",
     SECOND},
    {SKEW("{'MaxSkew': 2147483648}"),
     "scheduler.predicates[0].args.MaxSkew: not a whole number from 1 on", SECOND},
    {PRIORITIES("{'name': 'LowestOrdinalPriority'}"), "scheduler.priorities[0]: weight is missing",
     WHOLE},
    {WEIGHT("-1"), "scheduler.priorities[0].weight: -1", WHOLE},
    {WEIGHT("11"), "scheduler.priorities[0].weight: 11", WHOLE},
    {WEIGHT("0.5"), "scheduler.priorities[0].weight: 0.5", WHOLE},
    {"3", "descheduler: not an object", "{\"predicates\": [...], \"priorities\": [...]}", true},
    {"{}", "descheduler: priorities is missing", "a list, which may be empty: []", true},
    {"{'predicates': 1, 'priorities': []}", "descheduler.predicates: not an empty list",
     "a descheduler has priorities only; leave predicates out", true},
    {"{'predicates': [{'name': 'PodFitsResources'}], 'priorities': []}",
     "descheduler.predicates: not an empty list",
     "a descheduler has priorities only; leave predicates out", true},
};

static void test_mistakes(void **state)
{
    (void)state;
    const struct place_policy before = {.partitions = 5, .placing.zone = 2};
    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++) {
        const struct refused *row = &REFUSED[i];
        struct place_policy policy = before;
        struct err err = {0};
        assert_int_equal(read(&policy, !row->is_descheduler, row->json, &err), -EINVAL);
        assert_string_equal(err.text, row->text);
        assert_string_equal(err.hint, row->hint);
        /* Nothing of a list that is refused holds; and who does not ask why is refused as well. */
        assert_memory_equal(&policy, &before, sizeof(policy));
        assert_int_equal(read(&policy, !row->is_descheduler, row->json, NULL), -EINVAL);
    }
}

static void test_filling_up_forgets_the_rest(void **state)
{
    (void)state;
    struct place_policy policy = {.is_even = true, .max_skew = 3, .partitions = 4};
    place_policy_fill_up(&policy);
    assert_true(policy.fills_up && !policy.is_even && policy.partitions == 0);
    assert_int_equal(policy.placing.ordinal, 1);
    assert_int_equal(policy.removing.ordinal, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_scheduler),
        cmocka_unit_test(test_a_descheduler),
        cmocka_unit_test(test_nodes_go_before_zones),
        cmocka_unit_test(test_arguments_as_text),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_filling_up_forgets_the_rest),
    };
    return cmocka_run_group_tests_name("place_policy", tests, NULL, NULL);
}
