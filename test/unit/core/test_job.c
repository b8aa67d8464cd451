// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/rng.h"
#include "core/job/indexes.h"
#include "core/job/job.h"
#include "core/job/policy.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- indexes ---- */

static void test_text(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out; /* NULL: refused */
        int64_t count;
    } CASES[] = {
        {"", "", 0},        {"0", "0", 1},      {"1,3-5,7", "1,3-5,7", 5},
        {"1,2", "1,2", 2},  {"1-2", "1,2", 2},  {"1,2,3", "1-3", 3},
        {"0-9", "0-9", 10}, {"10", NULL, 0},    {"3-2", NULL, 0},
        {"2-2", NULL, 0},   {"2,2", NULL, 0},   {"3,1", NULL, 0},
        {"1,", NULL, 0},    {",1", NULL, 0},    {"1-", NULL, 0},
        {"-1", NULL, 0},    {"a", NULL, 0},     {"1 ,2", NULL, 0},
        {"1-3-5", NULL, 0}, {"1-3,3", NULL, 0}, {"99999999999999999999", NULL, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        scoped_indexes set = {0};
        scoped_str text = {0};
        struct err err = {0};
        int r = indexes_parse(sv_of(CASES[i].in), 10, &set, &err);
        if (r != (CASES[i].out ? 0 : -EINVAL))
            fail_msg("'%s': %d", CASES[i].in, r);
        if (r < 0) {
            assert_true(*err.text && *err.hint);
            continue;
        }
        indexes_format(&set, &text);
        assert_string_equal(str_text(&text), CASES[i].out);
        assert_int_equal(set.count, CASES[i].count);
    }
}

#define UNIVERSE 60

struct naive {
    bool has[UNIVERSE];
};

static void assert_same(const struct indexes *set, const struct naive *naive)
{
    int64_t count = 0, next = -1, missing = UNIVERSE;
    for (int i = UNIVERSE - 1; i >= 0; i--) {
        assert_int_equal(indexes_has(set, i), naive->has[i]);
        count += naive->has[i];
        if (naive->has[i])
            next = i;
        else
            missing = i;
        assert_int_equal(indexes_next(set, i), next);
        assert_int_equal(indexes_missing(set, i), naive->has[i] ? missing : i);
    }
    assert_int_equal(set->count, count);
    for (size_t i = 0; i + 1 < set->runs.len; i++)
        assert_true(set->runs.items[i].last + 1 < set->runs.items[i + 1].first);
}

static void change(struct rng *rng, struct indexes *set, struct naive *naive)
{
    int64_t a = rng_between(rng, 0, UNIVERSE - 1), b = rng_between(rng, 0, UNIVERSE - 1);
    int64_t low = a < b ? a : b, high = a < b ? b : a;
    bool adds = rng_chance(rng, 1, 2);
    if (rng_chance(rng, 3, 4)) {
        bool changed = adds ? indexes_add(set, a) : indexes_remove(set, a);
        assert_int_equal(changed, naive->has[a] != adds);
        naive->has[a] = adds;
        return;
    }
    if (adds)
        indexes_add_range(set, low, high);
    else
        indexes_remove_range(set, low, high);
    for (int64_t i = low; i <= high; i++)
        naive->has[i] = adds;
}

/* Against an array of booleans; and text and back is the same set. */
static void test_random(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7);
    for (int run = 0; run < 50; run++) {
        scoped_indexes set = {0}, again = {0};
        scoped_str text = {0}, text_again = {0};
        struct naive naive = {0};
        for (int i = 0; i < 100; i++) {
            change(&rng, &set, &naive);
            assert_same(&set, &naive);
        }
        indexes_format(&set, &text);
        assert_int_equal(indexes_parse(sv_of(str_text(&text)), UNIVERSE, &again, NULL), 0);
        assert_same(&again, &naive);
        assert_int_equal(indexes_common(&set, &again), set.count);
        indexes_format(&again, &text_again);
        assert_string_equal(str_text(&text), str_text(&text_again));
    }
}

static void test_common(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        int64_t common;
    } CASES[] = {{"", "1", 0}, {"1-5", "3-9", 3}, {"0,2,4", "1,3,5", 0}, {"0-9", "1,3-5,7", 5}};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        scoped_indexes a = {0}, b = {0};
        assert_int_equal(indexes_parse(sv_of(CASES[i].a), 100, &a, NULL), 0);
        assert_int_equal(indexes_parse(sv_of(CASES[i].b), 100, &b, NULL), 0);
        assert_int_equal(indexes_common(&a, &b), CASES[i].common);
        assert_int_equal(indexes_common(&b, &a), CASES[i].common);
    }
}

static void test_ranges_of_nothing(void **state)
{
    (void)state;
    scoped_indexes set = {0};
    indexes_add_range(&set, 5, 4);
    assert_int_equal(set.count, 0);
    indexes_add_range(&set, 2, 5);
    indexes_remove_range(&set, 4, 3);
    indexes_assign(&set, &set);
    assert_int_equal(set.count, 4);
}

/* ---- failure policy ---- */

static yyjson_doc *parse(const char *text)
{
    yyjson_doc *doc = NULL;
    scoped_free char *json = mem_strdup(text);
    for (char *at = json; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    struct err err = {0};
    if (json_parse(sv_of(json), &doc, &err) < 0)
        fail_msg("%s: %s", json, err.text);
    return doc;
}

#define EXITS(action, operator, values)                                                            \
    "{'rules':[{'action':'" action "','onExitCodes':{'operator':'" operator"','values':[" values   \
                                                                           "]}}]}"
#define MAIN_ONLY                                                                                  \
    "{'rules':[{'action':'FailJob','onExitCodes':{'containerName':'main','operator':'In',"         \
    "'values':[3]}},{'action':'Ignore','onPodConditions':[{'type':'DisruptionTarget'},{'type':"    \
    "'X','status':'False'}]}]}"
#define ENDED(name, code) "{'name':'" name "','state':{'terminated':{'exitCode':" code "}}}"

static void test_failure_policy(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *status;
        enum failure_action action;
        int rule;
    } CASES[] = {
        {EXITS("FailJob", "In", "3,5"), "{'containerStatuses':[" ENDED("a", "3") "]}",
         FAILURE_FAIL_JOB, 0},
        {EXITS("FailJob", "In", "3,5"), "{'containerStatuses':[" ENDED("a", "4") "]}",
         FAILURE_COUNT, -1},
        {EXITS("FailIndex", "NotIn", "3"), "{'containerStatuses':[" ENDED("a", "4") "]}",
         FAILURE_FAIL_INDEX, 0},
        {EXITS("FailIndex", "NotIn", "3"), "{'containerStatuses':[" ENDED("a", "3") "]}",
         FAILURE_COUNT, -1},
        /* 0 is no failure, also not for NotIn */
        {EXITS("FailJob", "NotIn", "3"), "{'containerStatuses':[" ENDED("a", "0") "]}",
         FAILURE_COUNT, -1},
        {EXITS("FailJob", "In", "3"),
         "{'containerStatuses':[" ENDED("a", "0") "," ENDED("b", "3") "]}", FAILURE_FAIL_JOB, 0},
        {EXITS("Ignore", "In", "3"), "{'initContainerStatuses':[" ENDED("i", "3") "]}",
         FAILURE_IGNORE, 0},
        {EXITS("FailJob", "In", "3"), "{'containerStatuses':[{'name':'a','state':{'running':{}}}]}",
         FAILURE_COUNT, -1},
        {MAIN_ONLY, "{'containerStatuses':[" ENDED("side", "3") "]}", FAILURE_COUNT, -1},
        {MAIN_ONLY, "{'containerStatuses':[" ENDED("main", "3") "]}", FAILURE_FAIL_JOB, 0},
        {MAIN_ONLY, "{'conditions':[{'type':'DisruptionTarget','status':'True'}]}", FAILURE_IGNORE,
         1},
        {MAIN_ONLY, "{'conditions':[{'type':'DisruptionTarget','status':'False'}]}", FAILURE_COUNT,
         -1},
        {MAIN_ONLY, "{'conditions':[{'type':'X','status':'False'}]}", FAILURE_IGNORE, 1},
        {EXITS("Count", "In", "3"), "{'containerStatuses':[" ENDED("a", "3") "]}", FAILURE_COUNT,
         0},
        {"null", "{}", FAILURE_COUNT, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        scoped_json *policy = parse(CASES[i].policy);
        scoped_json *status = parse(CASES[i].status);
        struct failure_match match =
            policy_match(yyjson_doc_get_root(policy), yyjson_doc_get_root(status));
        if (match.action != CASES[i].action || match.rule != CASES[i].rule)
            fail_msg("case %zu: action %d by rule %d", i, (int)match.action, match.rule);
    }
}

static void test_failure_message(void **state)
{
    (void)state;
    scoped_json *policy = parse(MAIN_ONLY);
    scoped_json *exited = parse("{'containerStatuses':[" ENDED("main", "3") "]}");
    scoped_json *disrupted = parse("{'conditions':[{'type':'X','status':'False'}]}");
    scoped_str text = {0};
    struct failure_match match =
        policy_match(yyjson_doc_get_root(policy), yyjson_doc_get_root(exited));
    policy_message(&match, "ns", "p", &text);
    assert_string_equal(str_text(&text), "Container main for pod ns/p failed with exit code 3 "
                                         "matching FailJob rule at index 0");
    str_clear(&text);
    match = policy_match(yyjson_doc_get_root(policy), yyjson_doc_get_root(disrupted));
    policy_message(&match, "ns", "p", &text);
    assert_string_equal(str_text(&text),
                        "Pod ns/p has condition X matching Ignore rule at index 1");
}

static void test_success_policy(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *succeeded;
        int rule;
    } CASES[] = {
        {"null", "0-9", -1},
        {"{'rules':[{'succeededIndexes':'0,2-3'}]}", "0,2-3,7", 0},
        {"{'rules':[{'succeededIndexes':'0,2-3'}]}", "0,2,7", -1},
        {"{'rules':[{'succeededIndexes':'0,2-3','succeededCount':2}]}", "0,2,7", 0},
        {"{'rules':[{'succeededIndexes':'0,2-3','succeededCount':2}]}", "0,7-9", -1},
        {"{'rules':[{'succeededCount':3}]}", "0,7-8", 0},
        {"{'rules':[{'succeededCount':3}]}", "0,7", -1},
        {"{'rules':[{'succeededCount':3},{'succeededIndexes':'7'}]}", "7", 1},
        {"{'rules':[{}]}", "0-9", -1}, /* asks for nothing: is not met */
        {"{'rules':[{'succeededIndexes':'3-1'},{'succeededIndexes':'0'}]}", "0-9", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        scoped_json *policy = parse(CASES[i].policy);
        scoped_indexes set = {0};
        assert_int_equal(indexes_parse(sv_of(CASES[i].succeeded), 10, &set, NULL), 0);
        int rule = success_match(yyjson_doc_get_root(policy), 10, &set);
        if (rule != CASES[i].rule)
            fail_msg("case %zu: rule %d", i, rule);
    }
}

/* ---- the plan ---- */

#define START 1000000
#define NOW (START + 5000)
/* parallelism 2, completions 5, nothing there, no limits reached */
#define FACTS                                                                                      \
    .parallelism = 2, .completions = 5, .backoff_limit = 6, .max_failed_indexes = -1,              \
    .deadline_s = -1, .started = START

/* A row may say otherwise than FACTS. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
// clang-format off
static const struct {
    const char *name;
    struct job_facts facts;
    enum job_end end;
    const char *reason;
    int64_t create, remove;
    time_ms wake; /* 0: never */
} PLANS[] = {
    {"start", {FACTS}, JOB_GOES_ON, NULL, 2, 0, 0},
    {"one runs", {FACTS, .active = 1}, JOB_GOES_ON, NULL, 1, 0, 0},
    {"full", {FACTS, .active = 2}, JOB_GOES_ON, NULL, 0, 0, 0},
    {"scaled down", {FACTS, .active = 5}, JOB_GOES_ON, NULL, 0, 3, 0},
    {"one left", {FACTS, .succeeded = 4}, JOB_GOES_ON, NULL, 1, 0, 0},
    {"one too many", {FACTS, .active = 2, .succeeded = 4}, JOB_GOES_ON, NULL, 0, 1, 0},
    {"done", {FACTS, .succeeded = 5}, JOB_SUCCEEDS, "CompletionsReached", 0, 0, 0},
    {"done, one still runs", {FACTS, .succeeded = 5, .active = 1}, JOB_GOES_ON, NULL, 0, 1, 0},
    {"nothing to do", {FACTS, .completions = 0}, JOB_SUCCEEDS, "CompletionsReached", 0, 0, 0},
    {"queue", {FACTS, .completions = -1}, JOB_GOES_ON, NULL, 2, 0, 0},
    {"queue, first success", {FACTS, .completions = -1, .succeeded = 1, .active = 1},
     JOB_GOES_ON, NULL, 0, 0, 0},
    {"queue, all ended", {FACTS, .completions = -1, .succeeded = 1},
     JOB_SUCCEEDS, "CompletionsReached", 0, 0, 0},
    {"suspended", {FACTS, .active = 2, .is_suspended = true}, JOB_GOES_ON, NULL, 0, 2, 0},
    {"suspended and empty", {FACTS, .is_suspended = true}, JOB_GOES_ON, NULL, 0, 0, 0},
    {"suspended but done", {FACTS, .succeeded = 5, .is_suspended = true},
     JOB_SUCCEEDS, "CompletionsReached", 0, 0, 0},
    {"at the limit", {FACTS, .failed = 6}, JOB_GOES_ON, NULL, 2, 0, 0},
    {"past the limit", {FACTS, .failed = 7}, JOB_FAILS, "BackoffLimitExceeded", 0, 0, 0},
    {"no failure allowed", {FACTS, .backoff_limit = 0, .failed = 1},
     JOB_FAILS, "BackoffLimitExceeded", 0, 0, 0},
    {"restarts do not count", {FACTS, .restarts = 6, .active = 2}, JOB_GOES_ON, NULL, 0, 0, 0},
    {"restarts count", {FACTS, .restarts = 6, .active = 2, .restarts_in_place = true},
     JOB_FAILS, "BackoffLimitExceeded", 0, 0, 0},
    {"fewer restarts", {FACTS, .restarts = 5, .active = 2, .restarts_in_place = true},
     JOB_GOES_ON, NULL, 0, 0, 0},
    {"no restart, none allowed",
     {FACTS, .backoff_limit = 0, .active = 2, .restarts_in_place = true},
     JOB_GOES_ON, NULL, 0, 0, 0},
    {"deadline ahead", {FACTS, .active = 2, .deadline_s = 6}, JOB_GOES_ON, NULL, 0, 0, START + 6000},
    {"deadline", {FACTS, .active = 2, .deadline_s = 5}, JOB_FAILS, "DeadlineExceeded", 0, 0, 0},
    {"no deadline while suspended", {FACTS, .deadline_s = 5, .is_suspended = true},
     JOB_GOES_ON, NULL, 0, 0, 0},
    {"a deadline beyond all time", {FACTS, .active = 2, .deadline_s = INT64_MAX},
     JOB_GOES_ON, NULL, 0, 0, 0},
    {"pause", {FACTS, .failures = 1, .last_failure = NOW - 4000},
     JOB_GOES_ON, NULL, 0, 0, NOW + 6000},
    {"pause and deadline", {FACTS, .failures = 1, .last_failure = NOW - 4000, .deadline_s = 8},
     JOB_GOES_ON, NULL, 0, 0, START + 8000},
    {"pause over", {FACTS, .failures = 1, .last_failure = NOW - 10000},
     JOB_GOES_ON, NULL, 2, 0, 0},
    {"longer pause", {FACTS, .failures = 3, .last_failure = NOW - 39999},
     JOB_GOES_ON, NULL, 0, 0, NOW + 1},
    {"each index pauses on its own",
     {FACTS, .failures = 3, .last_failure = NOW, .counts_per_index = true},
     JOB_GOES_ON, NULL, 2, 0, 0},
    {"terminating are replaced", {FACTS, .terminating = 2}, JOB_GOES_ON, NULL, 2, 0, 0},
    {"terminating keep their place", {FACTS, .terminating = 1, .replaces_failed_only = true},
     JOB_GOES_ON, NULL, 1, 0, 0},
    {"all places are taken", {FACTS, .active = 1, .terminating = 3, .replaces_failed_only = true},
     JOB_GOES_ON, NULL, 0, 0, 0},
    {"as many failed indexes as may", {FACTS, .failed_indexes = 1, .max_failed_indexes = 1},
     JOB_GOES_ON, NULL, 2, 0, 0},
    {"too many failed indexes", {FACTS, .failed_indexes = 2, .max_failed_indexes = 1},
     JOB_FAILS, "MaxFailedIndexesExceeded", 0, 0, 0},
    {"all indexes ended, one badly", {FACTS, .failed_indexes = 1, .succeeded = 4},
     JOB_FAILS, "FailedIndexes", 0, 0, 0},
    {"enough succeeded", {FACTS, .succeeded = 1, .active = 2, .is_success_policy_met = true},
     JOB_SUCCEEDS, "SuccessPolicy", 0, 0, 0},
    {"failure goes before success", {FACTS, .failed = 7, .is_success_policy_met = true},
     JOB_FAILS, "BackoffLimitExceeded", 0, 0, 0},
};
// clang-format on
#pragma GCC diagnostic pop

static void test_plans(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(PLANS); i++) {
        struct job_plan plan = job_plan(&PLANS[i].facts, NOW);
        if (plan.end != PLANS[i].end || !str_eq(plan.reason, PLANS[i].reason) ||
            plan.create != PLANS[i].create || plan.remove != PLANS[i].remove ||
            plan.wake != (PLANS[i].wake ? PLANS[i].wake : TIME_NEVER))
            fail_msg("%s: end %d (%s), create %d, remove %d, wake %lld", PLANS[i].name,
                     (int)plan.end, plan.reason ? plan.reason : "", (int)plan.create,
                     (int)plan.remove, (long long)plan.wake);
    }
}

static void test_backoff(void **state)
{
    (void)state;
    static const time_ms SECONDS[] = {0, 10, 20, 40, 80, 160, 320, 360, 360};
    for (size_t i = 0; i < ARRAY_LEN(SECONDS); i++)
        assert_int_equal(job_backoff((int64_t)i), SECONDS[i] * 1000);
    assert_int_equal(job_backoff(INT64_MAX), JOB_BACKOFF_MAX_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),           cmocka_unit_test(test_random),
        cmocka_unit_test(test_common),         cmocka_unit_test(test_ranges_of_nothing),
        cmocka_unit_test(test_failure_policy), cmocka_unit_test(test_failure_message),
        cmocka_unit_test(test_success_policy), cmocka_unit_test(test_plans),
        cmocka_unit_test(test_backoff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
