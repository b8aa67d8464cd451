// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"
#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const double BOUNDS[] = {1, 2.5, 5};

static void test_buckets_add_up(void **state)
{
    (void)state;
    struct histogram histogram;
    scoped_str out = {0};
    histogram_init(&histogram, BOUNDS, ARRAY_LEN(BOUNDS));
    static const double VALUES[] = {0, 1, 1.5, 5, 5.5, 1e6};
    for (size_t i = 0; i < ARRAY_LEN(VALUES); i++)
        histogram_add(&histogram, VALUES[i]);
    histogram_print(&histogram, "wait_seconds", "queue=\"q\"", &out);
    assert_string_equal(str_text(&out), "wait_seconds_bucket{queue=\"q\",le=\"1\"} 2\n"
                                        "wait_seconds_bucket{queue=\"q\",le=\"2.5\"} 3\n"
                                        "wait_seconds_bucket{queue=\"q\",le=\"5\"} 4\n"
                                        "wait_seconds_bucket{queue=\"q\",le=\"+Inf\"} 6\n"
                                        "wait_seconds_sum{queue=\"q\"} 1000013\n"
                                        "wait_seconds_count{queue=\"q\"} 6\n");
}

static void test_without_labels(void **state)
{
    (void)state;
    struct histogram histogram;
    scoped_str out = {0};
    histogram_init(&histogram, BOUNDS, 1);
    histogram_print(&histogram, "x", "", &out);
    assert_string_equal(str_text(&out),
                        "x_bucket{le=\"1\"} 0\nx_bucket{le=\"+Inf\"} 0\nx_sum 0\nx_count 0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_buckets_add_up),
                                       cmocka_unit_test(test_without_labels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
