// SPDX-License-Identifier: Apache-2.0
#include "base/vec.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_push_and_pop(void **state)
{
    (void)state;
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        vec_push(&v, i);
    assert_int_equal(v.len, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v.items[i], i);
    assert_int_equal(*vec_last(&v), 999);
    assert_int_equal(vec_pop(&v), 999);
    assert_int_equal(v.len, 999);
    vec_clear(&v);
    assert_int_equal(v.len, 0);
    assert_true(v.cap >= 1000);
    vec_done(&v);
    assert_null(v.items);
}

static void test_remove_swap(void **state)
{
    (void)state;
    struct pair {
        int a, b;
    };
    VEC(struct pair) v = {0};
    for (int i = 0; i < 3; i++)
        vec_push(&v, ((struct pair){i, -i}));
    vec_remove_swap(&v, 0);
    assert_int_equal(v.len, 2);
    assert_int_equal(v.items[0].b, -2);
    vec_remove_swap(&v, 1);
    assert_int_equal(v.len, 1);
    assert_int_equal(v.items[0].a, 2);
    vec_done(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_and_pop),
        cmocka_unit_test(test_remove_swap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
