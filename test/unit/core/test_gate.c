// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/rng.h"
#include "core/start/gate.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define T0 1000000

static struct gate_settings open_settings(void)
{
    struct gate_settings settings;
    gate_settings_default(&settings, 2);
    settings.max_starting_per_core = GATE_OFF;
    settings.min_rate = GATE_OFF;
    return settings;
}

static void assert_text(const struct gate_verdict *verdict, const char *want)
{
    char text[80];
    gate_verdict_text(verdict, text, sizeof(text));
    assert_string_equal(text, want);
}

static void assert_refused(const struct gate *gate, time_ms now, const char *want)
{
    struct gate_verdict verdict = gate_ask(gate, true, now);
    assert_text(&verdict, want);
    assert_false(verdict.is_allowed);
}

static void assert_allowed(const struct gate *gate, time_ms now)
{
    struct gate_verdict verdict = gate_ask(gate, true, now);
    assert_text(&verdict, "");
    assert_true(verdict.is_allowed);
    assert_false(verdict.is_forced);
    assert_int_equal(verdict.ask_at, now);
}

static void start_n(struct gate *gate, int n, time_ms now)
{
    for (int i = 0; i < n; i++)
        gate_started(gate, true, now);
}

static void end_all(struct gate *gate)
{
    while (gate_starting(gate) > 0)
        gate_ended(gate);
}

/* CPU so far as a machine of two cores counts it, in hundredths of a second. */
static void sample_cpu(struct gate *gate, time_ms at, double busy, double total)
{
    gate_sample(gate, &(struct gate_sample){at, busy, total, -1, -1, -1});
}

/* ---- cap ---- */

static void test_cap(void **state)
{
    (void)state;
    static const struct {
        double per_core, absolute, cores;
        int cap; /* 0: none */
    } rows[] = {
        {1, GATE_OFF, 2, 2},
        {3, GATE_OFF, 2, 6},
        {0.33, GATE_OFF, 2, 1},
        {0.33, GATE_OFF, 16, 5},
        {0.29, GATE_OFF, 100, 29}, /* 28.999999999999996 in binary */
        {1, GATE_OFF, 0.5, 1},
        {1, GATE_OFF, 2.9, 2},
        {GATE_OFF, 7, 2, 7},
        {4, 7, 2, 7},
        {4, 9, 2, 8},
        {4, 0.5, 2, 1},
        {GATE_OFF, GATE_OFF, 2, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gate_settings settings = open_settings();
        settings.max_starting_per_core = rows[i].per_core;
        settings.max_starting = rows[i].absolute;
        settings.cores = rows[i].cores;
        struct gate *gate = gate_new(&settings);
        for (int n = 0; n < (rows[i].cap ? rows[i].cap : 500); n++) {
            if (!gate_ask(gate, true, T0).is_allowed)
                fail_msg("row %zu: cap of %d closed at %d", i, rows[i].cap, n);
            gate_started(gate, true, T0);
        }
        if (gate_ask(gate, true, T0).is_allowed != (rows[i].cap == 0))
            fail_msg("row %zu: cap of %d", i, rows[i].cap);
        end_all(gate);
        gate_free(gate);
    }
}

static void test_a_freed_slot_opens_the_cap(void **state)
{
    (void)state;
    struct gate_settings settings;
    gate_settings_default(&settings, 2);
    struct gate *gate = gate_new(&settings);
    start_n(gate, 2, T0);
    struct gate_verdict verdict = gate_ask(gate, true, T0);
    assert_int_equal(verdict.gate, GATE_CAP);
    assert_true(verdict.have == 2 && verdict.limit == 2);
    assert_text(&verdict, "cap 2/2");
    assert_int_equal(verdict.ask_at, TIME_NEVER); /* nobody waits, so minRate owes nothing */
    assert_false(verdict.needs_samples);
    gate_ended(gate);
    assert_allowed(gate, T0);
    assert_int_equal(gate_starting(gate), 1);
    gate_free(gate);
}

static void test_what_takes_no_slot_passes_a_full_cap(void **state)
{
    (void)state;
    struct gate_settings settings;
    gate_settings_default(&settings, 1);
    settings.max_cpu = 50;
    settings.max_rate = 10;
    struct gate *gate = gate_new(&settings);
    sample_cpu(gate, T0, 0, 0);
    sample_cpu(gate, T0 + 1000, 100, 100);
    start_n(gate, 1, T0 + 1000);
    assert_refused(gate, T0 + 1100, "cap 1/1");
    assert_true(gate_ask(gate, false, T0 + 1100).is_allowed);
    gate_started(gate, false, T0 + 1100);
    assert_int_equal(gate_starting(gate), 1);
    assert_int_equal(gate_ask(gate, false, T0 + 1100).gate, GATE_RATE); /* that holds everybody */
    settings.max_io = 0;
    gate_set(gate, &settings, T0 + 2000);
    assert_int_equal(gate_ask(gate, false, T0 + 2000).gate, GATE_FROZEN);
    gate_free(gate);
}

/* ---- maxRate ---- */

static void test_rate_is_a_spacing(void **state)
{
    (void)state;
    struct gate_settings settings = open_settings();
    settings.max_rate = 10;
    struct gate *gate = gate_new(&settings);
    assert_allowed(gate, T0);
    gate_started(gate, true, T0);
    struct gate_verdict verdict = gate_ask(gate, true, T0);
    assert_text(&verdict, "rate 10/s");
    assert_int_equal(verdict.ask_at, T0 + 100);
    assert_refused(gate, T0 + 99, "rate 10/s");
    assert_allowed(gate, T0 + 100);
    gate_started(gate, true, T0 + 150); /* late: the next one is not early for it */
    assert_int_equal(gate_ask(gate, true, T0 + 160).ask_at, T0 + 250);
    gate_free(gate);
}

static void test_rates_that_are_no_whole_milliseconds(void **state)
{
    (void)state;
    static const double rates[] = {0.0001, 0.3, 3, 7, 60, 333, 1000, 30000};
    for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
        struct gate_settings settings = open_settings();
        settings.max_rate = rates[i];
        settings.burst = 100;
        struct gate *gate = gate_new(&settings);
        time_ms now = T0;
        int n = 0;
        for (; n < 2000; n++) {
            struct gate_verdict verdict = gate_ask(gate, true, now);
            if (!verdict.is_allowed) {
                assert_true(verdict.ask_at > now);
                now = verdict.ask_at;
                assert_true(gate_ask(gate, true, now).is_allowed); /* it was worth waking up */
            }
            gate_started(gate, true, now);
        }
        double most = 100 + (double)(now - T0) * rates[i] / 1000 + 0.001;
        if (n > most || (rates[i] <= 1000 && n < most - 2))
            fail_msg("rate %g: %d starts in %lld ms", rates[i], n, (long long)(now - T0));
        end_all(gate);
        gate_free(gate);
    }
}

static void test_burst_and_jumps_of_the_clock(void **state)
{
    (void)state;
    struct gate_settings settings = open_settings();
    settings.max_rate = 1;
    settings.burst = 3;
    struct gate *gate = gate_new(&settings);
    for (int i = 0; i < 3; i++) {
        assert_allowed(gate, T0);
        gate_started(gate, true, T0);
    }
    assert_refused(gate, T0, "rate 1/s");
    time_ms later = T0 + INT64_C(365) * 24 * 3600 * 1000; /* asleep for a year */
    for (int i = 0; i < 3; i++) {
        assert_allowed(gate, later);
        gate_started(gate, true, later);
    }
    assert_refused(gate, later, "rate 1/s");
    assert_allowed(gate, T0); /* set back by a year: one more, then spaced from there */
    gate_started(gate, true, T0);
    assert_int_equal(gate_ask(gate, true, T0).ask_at, T0 + 1000);
    gate_free(gate);
}

/* ---- minRate ---- */

static void test_min_rate_dissolves_the_unlucky_flow(void **state)
{
    (void)state; /* B and C hold both slots and wait for A, which waits for a slot */
    struct gate_settings settings;
    gate_settings_default(&settings, 2);
    struct gate *gate = gate_new(&settings);
    gate_waiting(gate, true, T0);
    start_n(gate, 2, T0);
    struct gate_verdict verdict = gate_ask(gate, true, T0 + 1);
    assert_int_equal(verdict.ask_at, T0 + 10000);
    assert_refused(gate, T0 + 9999, "cap 2/2");
    verdict = gate_ask(gate, true, T0 + 10000);
    assert_true(verdict.is_allowed && verdict.is_forced);
    assert_int_equal(verdict.gate, GATE_CAP);
    assert_text(&verdict, "minRate, despite cap 2/2");
    assert_int_equal(gate_forced(gate), 0);
    gate_started(gate, true, T0 + 10000);
    assert_int_equal(gate_forced(gate), 1);
    assert_int_equal(gate_starting(gate), 3);
    assert_int_equal(gate_ask(gate, true, T0 + 10001).ask_at, T0 + 20000);
    gate_free(gate);
}

static void test_min_rate_counts_from_when_somebody_waits(void **state)
{
    (void)state;
    struct gate_settings settings;
    gate_settings_default(&settings, 1);
    struct gate *gate = gate_new(&settings);
    gate_waiting(gate, true, T0);
    start_n(gate, 1, T0);
    gate_waiting(gate, false, T0);
    assert_refused(gate, T0 + 50000, "cap 1/1");
    gate_waiting(gate, true, T0 + 3600000); /* alone after an hour: does not jump the gate */
    gate_waiting(gate, true, T0 + 3605000); /* said twice: counts from the first */
    assert_int_equal(gate_ask(gate, true, T0 + 3605000).ask_at, T0 + 3610000);
    gate_started(gate, false, T0 + 3606000); /* passed by itself; the other one still waits */
    assert_refused(gate, T0 + 3609999, "cap 1/1");
    assert_true(gate_ask(gate, true, T0 + 3610000).is_forced);
    gate_free(gate);
}

static void test_min_rate_yields_to_max_rate_and_a_freeze(void **state)
{
    (void)state;
    struct gate_settings settings;
    gate_settings_default(&settings, 1);
    settings.max_rate = 0.05;
    struct gate *gate = gate_new(&settings);
    gate_waiting(gate, true, T0);
    start_n(gate, 1, T0);
    assert_refused(gate, T0 + 19999, "rate 0.05/s");
    assert_true(gate_ask(gate, true, T0 + 20000).is_forced);
    settings.max_starting = 0;
    gate_set(gate, &settings, T0 + 20000);
    struct gate_verdict verdict = gate_ask(gate, true, T0 + 900000);
    assert_text(&verdict, "frozen (maxStarting is 0)");
    assert_int_equal(verdict.ask_at, TIME_NEVER);
    gate_free(gate);
}

static void test_min_rate_after_the_clock_went_back(void **state)
{
    (void)state;
    struct gate_settings settings;
    gate_settings_default(&settings, 1);
    struct gate *gate = gate_new(&settings);
    gate_waiting(gate, true, T0);
    start_n(gate, 1, T0);
    assert_true(gate_ask(gate, true, T0 - 900000).is_forced);
    gate_started(gate, true, T0 - 900000);
    assert_int_equal(gate_ask(gate, true, T0 - 900000).ask_at, T0 - 890000);
    gate_free(gate);
}

static void test_a_tiny_min_rate_does_not_overflow(void **state)
{
    (void)state;
    struct gate_settings settings;
    gate_settings_default(&settings, 1);
    settings.min_rate = 1e-300;
    struct gate *gate = gate_new(&settings);
    gate_waiting(gate, true, T0);
    start_n(gate, 1, T0);
    assert_int_equal(gate_ask(gate, true, T0).ask_at, TIME_NEVER);
    gate_free(gate);
}

/* ---- what the machine says ---- */

static void test_cpu(void **state)
{
    (void)state;
    struct gate_settings settings = open_settings();
    settings.max_cpu = 80;
    settings.min_rate = 0.1;
    struct gate *gate = gate_new(&settings);
    assert_true(gate_wants_samples(gate));
    gate_waiting(gate, true, T0);
    assert_allowed(gate, T0); /* nothing known */
    sample_cpu(gate, T0, 5000, 10000);
    assert_allowed(gate, T0); /* one sample is no span */
    sample_cpu(gate, T0 + 1000, 5186, 10200);
    struct gate_verdict verdict = gate_ask(gate, true, T0 + 1000);
    assert_text(&verdict, "cpu 93% >= 80%");
    assert_true(verdict.needs_samples);
    assert_int_equal(verdict.ask_at, T0 + 10000);
    sample_cpu(gate, T0 + 2000, 5320, 10400); /* 320 of 400: strictly below is what is asked */
    assert_refused(gate, T0 + 2000, "cpu 80% >= 80%");
    sample_cpu(gate, T0 + 3000, 5479, 10600);
    assert_allowed(gate, T0 + 3000);
    verdict = gate_ask(gate, true, T0 + 3000);
    assert_false(verdict.needs_samples);
    gate_free(gate);
}

static void test_the_window_slides(void **state)
{
    (void)state;
    struct gate_settings settings = open_settings();
    settings.max_cpu = 80;
    struct gate *gate = gate_new(&settings);
    double busy = 0, total = 0;
    time_ms now = T0;
    int opened_after = -1;
    for (int i = 0; i < 40; i++, now += 500) { /* 20 s of full load */
        sample_cpu(gate, now, busy += 100, total += 100);
        if (i > 0)
            assert_refused(gate, now, "cpu 100% >= 80%");
    }
    for (int i = 1; i < 40 && opened_after < 0; i++, now += 500) { /* idle from here */
        sample_cpu(gate, now, busy, total += 100);
        if (gate_ask(gate, true, now).is_allowed)
            opened_after = i;
    }
    assert_int_equal(opened_after, 5); /* 2.5 s of 10 s are idle; at 4 it was just 80 % */
    gate_free(gate);
}

static void test_many_samples_are_thinned_out(void **state)
{
    (void)state;
    struct gate_settings settings = open_settings();
    settings.max_cpu = 50;
    settings.cpu_window_ms = 10000;
    struct gate *gate = gate_new(&settings);
    for (int i = 0; i <= 40000; i++) /* each millisecond; busy in the second half of each 10 s */
        sample_cpu(gate, T0 + i,
                   (double)(i / 10000 * 5000 + (i % 10000 > 5000 ? i % 10000 - 5000 : 0)),
                   (double)i);
    struct gate_verdict verdict = gate_ask(gate, true, T0 + 40000);
    assert_false(verdict.is_allowed);
    assert_true(verdict.have >= 50 && verdict.have < 51); /* a hundredth of the window is missing */
    gate_free(gate);
}

static void test_samples_that_tell_nothing(void **state)
{
    (void)state;
    struct gate_settings settings = open_settings();
    settings.max_cpu = settings.max_io = settings.max_pressure = 1;
    settings.max_load = 0.1;
    struct gate *gate = gate_new(&settings);
    gate_sample(gate, &(struct gate_sample){T0, 100, 100, -1, -1, -1});
    gate_sample(gate, &(struct gate_sample){T0, 100, 100, -1, -1, -1});       /* no time passed */
    gate_sample(gate, &(struct gate_sample){T0 + 500, 100, 100, -1, -1, -1}); /* nor work counted */
    assert_allowed(gate, T0 + 500);
    gate_sample(gate,
                &(struct gate_sample){T0 + 1000, 50, 60, -1, -1, -1}); /* counters went back */
    assert_allowed(gate, T0 + 1000);
    gate_sample(gate, &(struct gate_sample){T0 + 2000, 150, 160, -1, -1, -1});
    assert_refused(gate, T0 + 2000, "cpu 100% >= 1%");
    assert_allowed(gate, T0 + 60000); /* a minute old */
    assert_allowed(gate, T0 - 60000); /* or of a time that is yet to come */
    gate_sample(gate, &(struct gate_sample){T0 + 90000, 9000, 9100, -1, -1, -1});
    assert_allowed(gate, T0 + 90000); /* what was in the pause is no measure of now */
    gate_sample(gate, &(struct gate_sample){T0 - 90000, 9100, 9200, -1, -1, -1});
    assert_allowed(gate, T0 - 90000); /* the clock went back */
    gate_free(gate);
}

static void test_a_window_shorter_than_the_sampling(void **state)
{
    (void)state;
    struct gate_settings settings = open_settings();
    settings.max_cpu = 80;
    settings.cpu_window_ms = 200;
    struct gate *gate = gate_new(&settings);
    sample_cpu(gate, T0, 0, 0);
    sample_cpu(gate, T0 + 1000, 0, 200);
    sample_cpu(gate, T0 + 2000, 190, 400);
    assert_refused(gate, T0 + 2000, "cpu 95% >= 80%");
    gate_free(gate);
}

static void test_io_and_pressure(void **state)
{
    (void)state;
    struct gate_settings settings = open_settings();
    settings.max_io = 30;
    settings.max_pressure = 40;
    struct gate *gate = gate_new(&settings);
    gate_sample(gate, &(struct gate_sample){T0, 0, 0, 1000, 7000, -1});
    gate_sample(gate, &(struct gate_sample){T0 + 1000, 0, 0, 1299, 7399, -1});
    assert_allowed(gate, T0 + 1000);
    gate_sample(gate, &(struct gate_sample){T0 + 2000, 0, 0, 1625, 7900, -1});
    assert_refused(gate, T0 + 2000, "io 31.3% >= 30%");
    settings.max_io = GATE_OFF;
    gate_set(gate, &settings, T0 + 2000);
    assert_refused(gate, T0 + 2000, "pressure 45% >= 40%");
    gate_free(gate);
}

static void test_load(void **state)
{
    (void)state;
    struct gate_settings settings = open_settings();
    settings.max_load = 1.5;
    struct gate *gate = gate_new(&settings);
    gate_sample(gate, &(struct gate_sample){T0, 0, 0, -1, -1, 4.1});
    assert_refused(gate, T0, "load 4.1 >= 3.0");
    gate_sample(gate, &(struct gate_sample){T0, 0, 0, -1, -1, 3.0});
    assert_refused(gate, T0, "load 3.0 >= 3.0");
    gate_sample(gate, &(struct gate_sample){T0, 0, 0, -1, -1, 2.99});
    assert_allowed(gate, T0);
    gate_free(gate);
}

static void test_order_of_reasons(void **state)
{
    (void)state;
    struct gate_settings settings;
    gate_settings_default(&settings, 2);
    settings.max_cpu = settings.max_io = settings.max_pressure = 50;
    settings.max_load = 1;
    settings.max_rate = 10;
    struct gate *gate = gate_new(&settings);
    gate_sample(gate, &(struct gate_sample){T0, 0, 0, 0, 0, 9});
    gate_sample(gate, &(struct gate_sample){T0 + 1000, 200, 200, 900, 900, 9});
    start_n(gate, 2, T0 + 1000);
    double *const next_off[] = {&settings.max_rate,     &settings.max_starting_per_core,
                                &settings.max_cpu,      &settings.max_io,
                                &settings.max_pressure, &settings.max_load};
    static const char *const texts[] = {"rate 10/s",           "cap 2/2",
                                        "cpu 100% >= 50%",     "io 90% >= 50%",
                                        "pressure 90% >= 50%", "load 9.0 >= 2.0"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_refused(gate, T0 + 1000, texts[i]);
        *next_off[i] = GATE_OFF;
        gate_set(gate, &settings, T0 + 1000);
    }
    assert_allowed(gate, T0 + 1000);
    assert_false(gate_wants_samples(gate));
    gate_free(gate);
}

static void test_zero_freezes_whatever_it_is(void **state)
{
    (void)state;
    struct gate_settings settings;
    gate_settings_default(&settings, 2);
    struct {
        double *setting;
        const char *text;
    } rows[] = {
        {&settings.max_starting_per_core, "frozen (maxStartingContainersPerCore is 0)"},
        {&settings.max_starting, "frozen (maxStarting is 0)"},
        {&settings.max_rate, "frozen (maxRate is 0)"},
        {&settings.max_cpu, "frozen (maxCPU is 0)"},
        {&settings.max_io, "frozen (maxIO is 0)"},
        {&settings.max_pressure, "frozen (maxPressure is 0)"},
        {&settings.max_load, "frozen (maxLoadAverageMultiplier is 0)"},
    };
    struct gate *gate = gate_new(&settings);
    gate_waiting(gate, true, T0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        double before = *rows[i].setting;
        *rows[i].setting = 0;
        gate_set(gate, &settings, T0);
        assert_refused(gate, T0 + 100000, rows[i].text);
        assert_false(gate_ask(gate, false, T0 + 100000).is_allowed);
        *rows[i].setting = before;
        gate_set(gate, &settings, T0);
        assert_allowed(gate, T0);
    }
    settings.min_rate = 0; /* off, not frozen */
    gate_set(gate, &settings, T0);
    assert_allowed(gate, T0);
    gate_free(gate);
}

static void test_settings_change_at_run_time(void **state)
{
    (void)state;
    struct gate_settings settings = open_settings();
    settings.max_rate = 1;
    settings.burst = 5;
    struct gate *gate = gate_new(&settings);
    start_n(gate, 3, T0); /* two are left */
    settings.burst = 1;
    gate_set(gate, &settings, T0);
    gate_started(gate, true, T0);
    assert_int_equal(gate_ask(gate, true, T0).ask_at, T0 + 1000);
    settings.max_rate = 10; /* half a token at the old rate, the rest at the new one */
    gate_set(gate, &settings, T0 + 500);
    assert_int_equal(gate_ask(gate, true, T0 + 500).ask_at, T0 + 550);
    settings.max_rate = GATE_OFF;
    gate_set(gate, &settings, T0 + 500);
    assert_allowed(gate, T0 + 500);
    settings.max_rate = 1;
    gate_set(gate, &settings, T0 + 500);
    assert_allowed(gate, T0 + 500); /* nothing was used up while there was no limit */
    gate_free(gate);
}

/* ---- a machine that starts and ends things at random ---- */

struct world {
    struct rng rng;
    struct gate *gate;
    struct gate_settings settings;
    time_ms now, waiting_since, last_start;
    size_t waiting, starting;
    double busy, total, bucket; /* the naive bucket, filled each millisecond */
};

static void world_start(struct world *world)
{
    struct gate_verdict verdict = gate_ask(world->gate, true, world->now);
    if (!verdict.is_allowed) {
        assert_true(verdict.ask_at > world->now);
        return;
    }
    if (world->settings.max_rate > 0)
        assert_true(world->bucket > 1 - 1e-6);
    time_ms from =
        world->last_start > world->waiting_since ? world->last_start : world->waiting_since;
    if (verdict.is_forced)
        assert_true((double)(world->now - from) >= 1000 / world->settings.min_rate - 1);
    else if (world->settings.max_starting > 0)
        assert_true((double)world->starting < world->settings.max_starting);
    gate_started(world->gate, true, world->now);
    world->last_start = world->now;
    world->bucket -= 1;
    world->starting++;
    if (--world->waiting == 0)
        gate_waiting(world->gate, false, world->now);
}

static void world_tick(struct world *world)
{
    world->now++;
    world->bucket += world->settings.max_rate / 1000;
    if (world->bucket > world->settings.burst)
        world->bucket = world->settings.burst;
    world->total += 0.2;
    world->busy += world->now / 5000 % 2 ? 0.2 : 0;
    if (world->now % 500 == 0)
        sample_cpu(world->gate, world->now, world->busy, world->total);
    if (rng_chance(&world->rng, 1, 200)) {
        if (world->waiting++ == 0) {
            gate_waiting(world->gate, true, world->now);
            world->waiting_since = world->now;
        }
    }
    if (world->starting > 0 && rng_chance(&world->rng, 1, 400)) {
        gate_ended(world->gate);
        world->starting--;
    }
    if (world->waiting > 0)
        world_start(world);
}

static void test_random_worlds(void **state)
{
    (void)state;
    uint64_t forced = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct world world = {.now = T0};
        rng_seed(&world.rng, seed);
        world.settings = open_settings();
        world.settings.max_starting = (double)rng_between(&world.rng, 1, 4);
        world.settings.max_rate = (double)rng_between(&world.rng, 1, 20);
        world.settings.burst = (int)rng_between(&world.rng, 1, 4);
        world.settings.min_rate = 0.5;
        world.settings.max_cpu = (double)rng_between(&world.rng, 10, 90);
        world.bucket = world.settings.burst;
        world.gate = gate_new(&world.settings);
        for (int i = 0; i < 20000; i++) {
            world_tick(&world);
            time_ms from =
                world.last_start > world.waiting_since ? world.last_start : world.waiting_since;
            /* Nobody waits longer than minRate allows, or maxRate's spacing. */
            if (world.waiting > 0 && world.now - from > 2001)
                fail_msg("seed %d: stuck", (int)seed);
            assert_int_equal(gate_starting(world.gate), world.starting);
        }
        forced += gate_forced(world.gate);
        gate_free(world.gate);
    }
    assert_true(forced > 100); /* the worlds are hard enough to need it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cap),
        cmocka_unit_test(test_a_freed_slot_opens_the_cap),
        cmocka_unit_test(test_what_takes_no_slot_passes_a_full_cap),
        cmocka_unit_test(test_rate_is_a_spacing),
        cmocka_unit_test(test_rates_that_are_no_whole_milliseconds),
        cmocka_unit_test(test_burst_and_jumps_of_the_clock),
        cmocka_unit_test(test_min_rate_dissolves_the_unlucky_flow),
        cmocka_unit_test(test_min_rate_counts_from_when_somebody_waits),
        cmocka_unit_test(test_min_rate_yields_to_max_rate_and_a_freeze),
        cmocka_unit_test(test_min_rate_after_the_clock_went_back),
        cmocka_unit_test(test_a_tiny_min_rate_does_not_overflow),
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_the_window_slides),
        cmocka_unit_test(test_many_samples_are_thinned_out),
        cmocka_unit_test(test_samples_that_tell_nothing),
        cmocka_unit_test(test_a_window_shorter_than_the_sampling),
        cmocka_unit_test(test_io_and_pressure),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_order_of_reasons),
        cmocka_unit_test(test_zero_freezes_whatever_it_is),
        cmocka_unit_test(test_settings_change_at_run_time),
        cmocka_unit_test(test_random_worlds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
