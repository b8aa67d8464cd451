// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "core/start/probe.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* One row: at `at` the probe is due and answers; `changed`: its result is another one then. */
struct row {
    time_ms at;
    bool is_ok;
    bool is_changed;
    enum probe_result result;
};

static void run(struct probe *probe, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (probe_due(probe) != rows[i].at)
            fail_msg("row %zu: due at %lld, not %lld", i, (long long)probe_due(probe),
                     (long long)rows[i].at);
        probe_asked(probe);
        assert_int_equal(probe_due(probe), TIME_NEVER);
        bool changed = probe_answer(probe, rows[i].is_ok, rows[i].at);
        if (changed != rows[i].is_changed || probe->result != rows[i].result)
            fail_msg("row %zu: changed %d, result %d", i, changed, (int)probe->result);
    }
}

static const struct probe_settings PLAIN = {.is_set = true,
                                            .initial_delay_ms = 5000,
                                            .period_ms = 10000,
                                            .success_threshold = 2,
                                            .failure_threshold = 3};

static void test_thresholds(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {6000, true, false, PROBE_UNKNOWN},  {16000, true, true, PROBE_PASSES},
        {26000, false, false, PROBE_PASSES}, {36000, false, false, PROBE_PASSES},
        {46000, true, false, PROBE_PASSES}, /* the row of failures begins anew */
        {56000, false, false, PROBE_PASSES}, {66000, false, false, PROBE_PASSES},
        {76000, false, true, PROBE_FAILS},   {86000, false, false, PROBE_FAILS},
        {96000, true, false, PROBE_FAILS},   {106000, true, true, PROBE_PASSES},
    };
    struct probe probe;
    probe_start(&probe, &PLAIN, false, 1000);
    run(&probe, rows, ARRAY_LEN(rows));
}

static void test_haste_asks_often_and_gives_up_as_late(void **state)
{
    (void)state;
    struct probe_settings settings = {
        .is_set = true, .period_ms = 1000, .success_threshold = 1, .failure_threshold = 3};
    struct probe probe;
    time_ms now = 0, failed_at = -1;
    int asked = 0;
    probe_start(&probe, &settings, true, 0);
    while (failed_at < 0) {
        now = probe_due(&probe);
        probe_asked(&probe);
        asked++;
        if (probe_answer(&probe, false, now))
            failed_at = now;
    }
    assert_true(asked > 10);
    assert_true(failed_at >= 2000 && failed_at <= 2300); /* unhurried it would be 2000 */
    assert_int_equal(probe.result, PROBE_FAILS);
}

static void test_haste_gap_grows_to_the_period(void **state)
{
    (void)state;
    struct probe_settings settings = {.is_set = true, .period_ms = 700, .failure_threshold = 1000};
    struct probe probe;
    time_ms last = 0, now = 0, gap = 0;
    probe_start(&probe, &settings, true, 0);
    for (int i = 0; i < 60; i++) {
        now = probe_due(&probe);
        probe_asked(&probe);
        (void)probe_answer(&probe, false, now);
        time_ms next = probe_due(&probe) - now;
        assert_true(next >= gap && next <= 700);
        gap = next;
        if (i == 0)
            assert_int_equal(gap, 100);
        assert_true(now >= last);
        last = now;
    }
    assert_int_equal(gap, 700);
}

static void test_haste_ends_with_success(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {0, false, false, PROBE_UNKNOWN},
        {100, true, false, PROBE_UNKNOWN}, /* both successes may come in haste */
        {200, true, true, PROBE_PASSES},
        {10200, false, false, PROBE_PASSES},
        {20200, false, false, PROBE_PASSES},
        {30200, false, true, PROBE_FAILS},
    };
    struct probe_settings settings = PLAIN;
    settings.initial_delay_ms = 0;
    struct probe probe;
    probe_start(&probe, &settings, true, 0);
    run(&probe, rows, ARRAY_LEN(rows));
}

/* A probe that flaps in haste: the failure that did not count does not let an old one count on. */
static void test_haste_and_flapping(void **state)
{
    (void)state;
    struct probe_settings settings = {
        .is_set = true, .period_ms = 1000, .success_threshold = 3, .failure_threshold = 2};
    static const struct row rows[] = {
        {0, false, false, PROBE_UNKNOWN},   {100, true, false, PROBE_UNKNOWN},
        {200, false, false, PROBE_UNKNOWN}, {300, true, false, PROBE_UNKNOWN},
        {400, true, false, PROBE_UNKNOWN},  {500, true, true, PROBE_PASSES},
    };
    struct probe probe;
    probe_start(&probe, &settings, true, 0);
    run(&probe, rows, ARRAY_LEN(rows));
}

static void test_off_stopped_and_stale(void **state)
{
    (void)state;
    struct probe_settings off = {0};
    struct probe probe;
    probe_start(&probe, &off, false, 5);
    assert_int_equal(probe_due(&probe), TIME_NEVER);
    assert_false(probe_answer(&probe, true, 6)); /* nobody asked */
    assert_int_equal(probe.result, PROBE_UNKNOWN);

    struct probe_settings once = {.is_set = true}; /* zeros are as harmless as ones */
    probe_start(&probe, &once, false, 5);
    assert_int_equal(probe_due(&probe), 5);
    probe_asked(&probe);
    probe_stop(&probe);
    assert_false(probe_answer(&probe, true, 7));
    assert_int_equal(probe_due(&probe), TIME_NEVER);
    probe_start(&probe, &once, false, 10);
    probe_asked(&probe);
    assert_true(probe_answer(&probe, true, 10));
    assert_int_equal(probe_due(&probe), 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_haste_asks_often_and_gives_up_as_late),
        cmocka_unit_test(test_haste_gap_grows_to_the_period),
        cmocka_unit_test(test_haste_ends_with_success),
        cmocka_unit_test(test_haste_and_flapping),
        cmocka_unit_test(test_off_stopped_and_stale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
