// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_set_wrap_hint(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(err_set(&err, -ENOENT, "no file '%s'", "a.yaml"), -ENOENT);
    assert_int_equal(err_wrap(&err, "load '%s'", "dir"), -ENOENT);
    assert_int_equal(err_hint(&err, "make %s", "it"), -ENOENT);
    assert_int_equal(err.code, -ENOENT);
    assert_string_equal(err.text, "load 'dir': no file 'a.yaml'");
    assert_string_equal(err.hint, "make it");
    (void)err_set(&err, -EINVAL, "other");
    assert_string_equal(err.hint, "");
}

static void test_null_keeps_a_failure_a_failure(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, -ENOENT, "text"), -ENOENT);
    assert_true(err_wrap(NULL, "context") < 0);
    assert_true(err_hint(NULL, "hint") < 0);
}

static void test_long_texts_are_cut(void **state)
{
    (void)state;
    struct err err = {0};
    char text[2000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)err_set(&err, -EINVAL, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_string_equal(err.text + strlen(err.text) - 4, "x...");
    (void)err_hint(&err, "%s", text);
    assert_int_equal(strlen(err.hint), sizeof(err.hint) - 1);
    (void)err_wrap(&err, "context");
    assert_int_equal(strncmp(err.text, "context: xxx", 12), 0);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void test_cut_keeps_characters_whole(void **state)
{
    (void)state;
    struct err err = {0};
    char text[2000];
    for (size_t shift = 0; shift < 2; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 2 < sizeof(text); i += 2)
            memcpy(text + i, "\xC3\xA9", 3);
        (void)err_set(&err, -EINVAL, "%s", text);
        size_t len = strlen(err.text);
        assert_int_equal((len - 3 - shift) % 2, 0);
        assert_string_equal(err.text + len - 5, "\xC3\xA9...");
    }
}

static void test_text_may_be_made_from_itself(void **state)
{
    (void)state;
    struct err err = {0};
    (void)err_set(&err, -EINVAL, "inner");
    (void)err_set(&err, err.code, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_wrap_hint),
        cmocka_unit_test(test_null_keeps_a_failure_a_failure),
        cmocka_unit_test(test_long_texts_are_cut),
        cmocka_unit_test(test_cut_keeps_characters_whole),
        cmocka_unit_test(test_text_may_be_made_from_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
