// SPDX-License-Identifier: Apache-2.0
/* The small program's own printing says what the C library's says. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define vsnprintf small_vsnprintf
#define snprintf small_snprintf
#define __assert_fail small_assert_fail
int vsnprintf(char *to, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
int snprintf(char *to, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#include "../../../src/agent/small.c"
#undef vsnprintf
#undef snprintf

#define CHECK(size, ...)                                                                           \
    do {                                                                                           \
        char got[64] = "untouched", wanted[64] = "untouched";                                      \
        int n = small_snprintf(got, size, __VA_ARGS__);                                            \
        int m = snprintf(wanted, size, __VA_ARGS__);                                               \
        assert_int_equal(n, m);                                                                    \
        assert_string_equal(got, wanted);                                                          \
    } while (0)

static void test_forms(void **state)
{
    (void)state;
    volatile size_t all = 64; /* else the compiler warns of what is tried here */
    CHECK(all, "plain");
    CHECK(all, "%s and %s", "one", "two");
    CHECK(all, "%d %d %d %d", 0, -1, INT_MAX, INT_MIN);
    CHECK(all, "%lld %lld %lld", 0LL, LLONG_MAX, LLONG_MIN);
    CHECK(all, "%zu|%c|100%%", (size_t)12345, 'x');
    CHECK(all, "%.3s|%.*s|%.*s", "abcdef", 2, "xyz", -1, "whole");
    CHECK(all, "%s", "");
}

static void test_lengths(void **state)
{
    (void)state;
    for (volatile size_t size = 0; size < 12; size++)
        CHECK(size, "%s-%d", "abcd", 5678);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
