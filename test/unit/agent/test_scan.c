// SPDX-License-Identifier: Apache-2.0
/* What is told of a text, as one line a value: "path=value"; ">" is SCAN_SEP. */
#include "agent/scan.h"
#include "base/str.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void add_path(struct str *out, const char *path)
{
    for (; *path != '\0'; path++)
        str_addc(out, *path == SCAN_SEP[0] ? '>' : *path);
}

static void on_value(void *arg, const char *path, const struct scan_value *value)
{
    static const char *const TYPES[] = {"s", "n", "b", "0"};
    add_path(arg, path);
    str_addf(arg, "=%s:%s%s\n", TYPES[value->type], value->text, value->is_cut ? "..." : "");
}

static void on_close(void *arg, const char *path)
{
    add_path(arg, path);
    str_add(arg, ")\n");
}

static void on_end(void *arg)
{
    str_add(arg, "END\n");
}

static int feed(const char *text, size_t step, struct str *out)
{
    struct scan scan;
    struct scan_port port = {on_value, on_close, on_end, out};
    scan_init(&scan, &port);
    int r = 0;
    for (size_t at = 0, len = strlen(text); at < len && r == 0; at += step)
        r = scan_feed(&scan, text + at, len - at < step ? len - at : step);
    return r;
}

static void check(const char *text, const char *told)
{
    for (size_t step = 1; step < 8; step += 3) {
        scoped_str out = {0};
        assert_int_equal(feed(text, step, &out), 0);
        assert_string_equal(str_text(&out), told);
    }
}

static void refuse(const char *text)
{
    scoped_str out = {0};
    assert_int_equal(feed(text, 100, &out), -EBADMSG);
}

static void test_values(void **state)
{
    (void)state;
    check("{\"a\":1,\"b\":{\"c\":\"x\",\"d\":[true,null,{\"e\":-1.5e+3}]}}",
          "a=n:1\nb>c=s:x\nb>d>*=b:true\nb>d>*=0:null\nb>d>*>e=n:-1.5e+3\nb>d>*)\nb>d)\nb)\n)"
          "\nEND\n");
    check(" [ ] \n{ }\n\"top\" 5 ", ")\nEND\n)\nEND\n=s:top\nEND\n=n:5\nEND\n");
    check("{\"a.b/c\":\"\\u0041\\n\\\"\\u00e9\"}", "a.b/c=s:A\n\"?\n)\nEND\n");
}

static void test_names_that_have_no_path(void **state)
{
    (void)state;
    check("{\"a\\u0041\":{\"b\":1,\"c\":[2]},\"d\":3}", "=n:1\n=n:2\n)\n)\nd=n:3\n)\nEND\n");
    check("{\"x\":{\"\":{\"y\":1},\"z\":2}}", "=n:1\n)\nx>z=n:2\nx)\n)\nEND\n");
    char text[1200], name[SCAN_PATH_MAX + 1];
    memset(name, 'k', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    (void)snprintf(text, sizeof(text), "{\"x\":{\"%s\":{\"y\":1},\"z\":2}}", name);
    check(text, "=n:1\n)\nx>z=n:2\nx)\n)\nEND\n");
}

static void test_long_strings_are_cut(void **state)
{
    (void)state;
    char text[1000] = "{\"a\":\"", told[600] = "a=s:";
    memset(text + strlen(text), 'v', 400);
    (void)strncat(text, "\",\"b\":\"w\"}", 20);
    memset(told + strlen(told), 'v', SCAN_TEXT_MAX - 1);
    (void)strncat(told, "...\nb=s:w\n)\nEND\n", 30);
    check(text, told);
}

static void test_what_is_not_json(void **state)
{
    (void)state;
    static const char *const BAD[] = {
        "}",        "]",          "{]",    "[}",          "{\"a\"}",
        "{\"a\":}", "{\"a\":1,}", "[1,]",  "[1 2]",       "{a:1}",
        "tru ",     "nul ",       "01 ",   "1. ",         "1e ",
        "- ",       "+1 ",        "[.5]",  "\"\\x\"",     "\"\\u00g0\"",
        "\"\n\"",   "{\"a\" 1}",  "{1:2}", "[truefalse]", "{\"a\":1 \"b\":2}",
        ",",        ":",
    };
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
        refuse(BAD[i]);
    char deep[SCAN_DEPTH_MAX + 2];
    memset(deep, '[', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    refuse(deep);
    deep[SCAN_DEPTH_MAX] = '\0';
    scoped_str out = {0};
    assert_int_equal(feed(deep, 1, &out), 0);
}

static void test_numbers(void **state)
{
    (void)state;
    assert_int_equal(scan_number("0"), 0);
    assert_int_equal(scan_number("2147483647"), 2147483647);
    assert_int_equal(scan_number("2147483648"), -1);
    assert_int_equal(scan_number("99999999999999999999"), -1);
    assert_int_equal(scan_number("-1"), -1);
    assert_int_equal(scan_number("1.0"), -1);
    assert_int_equal(scan_number(""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_names_that_have_no_path),
        cmocka_unit_test(test_long_strings_are_cut),
        cmocka_unit_test(test_what_is_not_json),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
