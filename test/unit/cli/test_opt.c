// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/str.h"
#include "cli/opt.h"
#include "clitest.h"
#include <errno.h>

static const char *const FORMATS[] = {"table", "yaml", "jsonpath=", NULL};
static const struct opt OPTS[] = {
    {"namespace", 'n', "NS", "d"},
    {"output", 'o', "FORMAT", "d", .fallback = "table", .values = FORMATS},
    {"watch", 'w', NULL, "d"},
    {"all", 'A', NULL, "d"},
    {"wait", 0, NULL, "d", .fallback = "true"},
    {"cascade", 0, "HOW", "d", .fallback = "background", .flags = OPT_OPTIONAL,
     .optional = "foreground"},
    {"filename", 'f', "FILE", "d", .flags = OPT_REPEAT},
    {0},
};

#define WORDS_MAX 8
struct good {
    const char *words[WORDS_MAX];
    const char *namespace_, *output, *cascade;
    bool watch, all, wait;
    const char *args; /* joined by spaces */
};

static const struct good GOOD[] = {
    {{NULL}, NULL, "table", "background", false, false, true, ""},
    {{"pods", "-n", "a", "x"}, "a", "table", "background", false, false, true, "pods x"},
    {{"-na", "pods"}, "a", "table", "background", false, false, true, "pods"},
    {{"-n=a", "pods"}, "a", "table", "background", false, false, true, "pods"},
    {{"--namespace=a", "--namespace", "b"}, "b", "table", "background", false, false, true, ""},
    {{"-Aw", "pods"}, NULL, "table", "background", true, true, true, "pods"},
    {{"-Awoyaml"}, NULL, "yaml", "background", true, true, true, ""},
    {{"--watch=false", "-w", "--watch=false"}, NULL, "table", "background", false, false, true, ""},
    {{"--wait=false"}, NULL, "table", "background", false, false, false, ""},
    {{"--cascade", "pods"}, NULL, "table", "foreground", false, false, true, "pods"},
    {{"--cascade=orphan"}, NULL, "table", "orphan", false, false, true, ""},
    {{"-o", "jsonpath={.a=b}"}, NULL, "jsonpath={.a=b}", "background", false, false, true, ""},
    {{"-", "--", "-w", "--no"}, NULL, "table", "background", false, false, true, "- -w --no"},
    {{"--namespace="}, "", "table", "background", false, false, true, ""},
};

static int count(const char *const *words)
{
    int n = 0;
    while (n < WORDS_MAX && words[n] != NULL)
        n++;
    return n;
}

static int parse(const char *const *words, struct opt_values *values, struct err *err)
{
    return opt_parse((struct opt_set){{OPTS}}, count(words), (char **)words, values, err);
}

static void check_text(size_t row, const char *got, const char *want)
{
    if (!str_eq(got, want))
        fail_msg("row %zu: got '%s', want '%s'", row, got ? got : "NULL", want ? want : "NULL");
}

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(GOOD); i++) {
        struct err err = {0};
        struct opt_values values = {0};
        int r = parse(GOOD[i].words, &values, &err);
        if (r < 0)
            fail_msg("row %zu: %s", i, err.text);
        scoped_str args = {0};
        for (size_t k = 0; k < values.args.len; k++)
            str_addf(&args, "%s%s", k ? " " : "", values.args.items[k]);
        check_text(i, str_text(&args), GOOD[i].args);
        check_text(i, opt_get(&values, "namespace"), GOOD[i].namespace_);
        check_text(i, opt_get(&values, "output"), GOOD[i].output);
        check_text(i, opt_get(&values, "cascade"), GOOD[i].cascade);
        assert_int_equal(opt_flag(&values, "watch"), GOOD[i].watch);
        assert_int_equal(opt_flag(&values, "all"), GOOD[i].all);
        assert_int_equal(opt_flag(&values, "wait"), GOOD[i].wait);
        opt_done(&values);
    }
}

static const struct {
    const char *words[WORDS_MAX];
    const char *text, *hint;
} BAD[] = {
    {{"--namspace=x"}, "unknown option '--namspace'", "did you mean '--namespace'?"},
    {{"--name", "x"}, "unknown option '--name'", NULL}, /* no abbreviations */
    {{"--qqqqqqqqqq"}, "unknown option '--qqqqqqqqqq'", ""},
    {{"-z"}, "unknown option '-z'", ""},
    {{"-Az"}, "unknown option '-z'", ""},
    {{"-n"}, "option '--namespace' needs an argument", "write it as --namespace=NS"},
    {{"--namespace"}, "option '--namespace' needs an argument", "write it as --namespace=NS"},
    {{"-o", "yml"},
     "option '--output': 'yml' is not one of table, yaml, jsonpath=...",
     "did you mean '--output=yaml'?"},
    {{"--watch=maybe"}, "option '--watch': 'maybe' is not one of true, false", NULL},
    {{"-w=x"}, "option '--watch': 'x' is not one of true, false", NULL},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        struct err err = {0};
        struct opt_values values = {.dashes = 77};
        assert_int_equal(parse(BAD[i].words, &values, &err), -EINVAL);
        check_text(i, err.text, BAD[i].text);
        if (BAD[i].hint != NULL)
            check_text(i, err.hint, BAD[i].hint);
        assert_int_equal(values.dashes, 77); /* untouched */
    }
}

static void test_repeat_and_dashes(void **state)
{
    (void)state;
    static const char *const WORDS[] = {"-f", "a", "x", "-fb", "--", "y", NULL};
    struct opt_values values = {0};
    struct err err = {0};
    assert_int_equal(parse(WORDS, &values, &err), 0);
    assert_int_equal(opt_count(&values, "filename"), 2);
    assert_string_equal(opt_nth(&values, "filename", 0), "a");
    assert_string_equal(opt_nth(&values, "filename", 1), "b");
    assert_int_equal(values.dashes, 1);
    assert_true(opt_is_given(&values, "filename"));
    assert_false(opt_is_given(&values, "output"));
    opt_done(&values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_repeat_and_dashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
