// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/str.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_building(void **state)
{
    (void)state;
    scoped_str str = {0};
    assert_string_equal(str_text(&str), "");
    str_add(&str, NULL);
    str_add(&str, "ab");
    str_addn(&str, "cdef", 2);
    str_addn(&str, NULL, 0);
    str_addc(&str, 'e');
    str_addf(&str, "-%d", 42);
    assert_string_equal(str_text(&str), "abcde-42");
    assert_int_equal(str.len, 8);
    str_clear(&str);
    assert_string_equal(str_text(&str), "");
    for (int i = 0; i < 1000; i++)
        str_addf(&str, "%03d", i);
    assert_int_equal(str.len, 3000);
    assert_string_equal(str.data + 2994, "998999");
}

static void test_reserve_and_take(void **state)
{
    (void)state;
    struct str str = {0};
    str_add(&str, "ab");
    char *room = str_reserve(&str, 100);
    memcpy(room, "cde", 3);
    str.len += 3;
    assert_string_equal(str_text(&str), "abcde");
    char *text = str_take(&str);
    assert_string_equal(text, "abcde");
    assert_null(str.data);
    mem_free(text);
    text = str_take(&str);
    assert_string_equal(text, "");
    mem_free(text);
}

static void test_views(void **state)
{
    (void)state;
    assert_true(sv_eq(sv_of(NULL), SV("")));
    assert_true(sv_eq((struct sv){NULL, 0}, SV("")));
    assert_true(sv_is(SV("abc"), "abc"));
    assert_false(sv_is(SV("abc"), "abcd"));
    assert_true(sv_cmp(SV("a"), SV("ab")) < 0);
    assert_true(sv_cmp(SV("b"), SV("ab")) > 0);
    assert_true(sv_cmp(SV("\xFF"), SV("a")) > 0);
    assert_int_equal(sv_cmp(SV("a"), SV("a")), 0);
    assert_true(sv_starts(SV("abc"), "ab"));
    assert_true(sv_starts(SV("abc"), ""));
    assert_false(sv_starts(SV("a"), "ab"));
    assert_true(sv_is(sv_trim(SV(" \t a b\r\n")), "a b"));
    assert_true(sv_is(sv_trim(SV("  ")), ""));
}

static void test_cut(void **state)
{
    (void)state;
    struct sv rest = SV("a,,b");
    assert_true(sv_is(sv_cut(&rest, ','), "a"));
    assert_true(sv_is(sv_cut(&rest, ','), ""));
    assert_true(sv_is(rest, "b"));
    assert_true(sv_is(sv_cut(&rest, ','), "b"));
    assert_int_equal(rest.len, 0);
    assert_true(sv_is(sv_cut(&rest, ','), ""));
    rest = (struct sv){NULL, 0};
    assert_true(sv_is(sv_cut(&rest, ','), ""));
}

static void test_texts(void **state)
{
    (void)state;
    assert_true(str_starts("abc", "ab"));
    assert_false(str_starts("a", "ab"));
    assert_true(str_ends("abc", "bc"));
    assert_false(str_ends("c", "bc"));
    assert_true(str_ends("abc", ""));
    assert_true(str_eq(NULL, NULL));
    assert_false(str_eq(NULL, ""));
    assert_true(str_eq("a", "a"));
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const CANDIDATES[] = {
        "replicas", NULL, "template", "selector", "resources", "nodeName", "nodeSelector", "cpu",
    };
    static const struct {
        const char *word, *nearest;
    } rows[] = {
        {"replica", "replicas"},   /* lost */
        {"replicass", "replicas"}, /* inserted */
        {"repilcas", "replicas"},  /* swapped */
        {"tamplete", "template"},  /* two changed of eight */
        {"NODENAME", "nodeName"},  /* case */
        {"CPU", "cpu"},
        {"cpi", "cpu"},
        {"nodeS", "nodeSelector"}, /* cut short */
        {"res", "resources"},
        {"re", NULL}, /* too short to be the start of something */
        {"volumes", NULL},
        {"", NULL},
        {NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = str_nearest(rows[i].word, CANDIDATES, ARRAY_LEN(CANDIDATES));
        if (!str_eq(got, rows[i].nearest))
            fail_msg("'%s': got '%s'", rows[i].word, got ? got : "(none)");
    }
    assert_null(str_nearest("a", NULL, 0));
}

static void test_nearest_prefers_the_nearer(void **state)
{
    (void)state;
    static const char *const CANDIDATES[] = {"nodes", "node", "nodeName"};
    assert_string_equal(str_nearest("node", CANDIDATES, 3), "node");
    assert_string_equal(str_nearest("nodee", CANDIDATES, 3), "nodes");
    assert_string_equal(str_nearest("nodenam", CANDIDATES, 3), "nodeName");
}

static void test_nearest_of_long_words(void **state)
{
    (void)state;
    char word[300], candidate[300];
    memset(word, 'a', sizeof(word));
    memset(candidate, 'A', sizeof(candidate));
    word[299] = candidate[299] = '\0';
    const char *candidates[] = {candidate};
    assert_ptr_equal(str_nearest(word, candidates, 1), candidate);
    word[298] = 'b';
    assert_null(str_nearest(word, candidates, 1));
    word[96] = candidate[96] = '\0';
    word[0] = 'b';
    assert_ptr_equal(str_nearest(word, candidates, 1), candidate);
}

static void test_memory(void **state)
{
    (void)state;
    scoped_free char *text = mem_printf("%s/%d", "a", 1);
    assert_string_equal(text, "a/1");
    scoped_free char *copy = mem_strdup(text);
    assert_string_equal(copy, "a/1");
    assert_null(mem_strdup(NULL));
    scoped_free char *part = mem_strndup("abc", 2);
    assert_string_equal(part, "ab");
    scoped_free void *nothing = mem_alloc(0);
    assert_non_null(nothing);
    scoped_free char *moved = take_ptr(copy);
    assert_null(copy);
    assert_string_equal(moved, "a/1");
}

static void test_numbers(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {0, 9, 10, 18446744073709551615u};
    scoped_str out = {0};
    str_room(&out, 100);
    const char *data = out.data;
    assert_string_equal(str_text(&out), "");
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        str_addu(&out, numbers[i]);
        str_addc(&out, ' ');
    }
    assert_string_equal(out.data, "0 9 10 18446744073709551615 ");
    assert_ptr_equal(out.data, data); /* there was room */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_building),
        cmocka_unit_test(test_reserve_and_take),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_nearest_prefers_the_nearer),
        cmocka_unit_test(test_nearest_of_long_words),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
