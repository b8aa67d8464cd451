// SPDX-License-Identifier: Apache-2.0
/* The supervisor was away: nothing starts twice, nothing is forgotten. */
#include "start_kit.h"

static struct start_pod *adopt(struct kit *kit, const struct start_container_spec *cts, size_t n,
                               const struct start_adopted *was)
{
    struct start_pod_spec spec = {
        .uid = "pod", .grace_ms = 30 * SECOND, .containers = cts, .n_containers = n};
    kit->pod = start_pod_adopt(kit->start, &spec, was, kit->now);
    assert_non_null(kit->pod);
    return kit->pod;
}

static void test_running_ones_go_on(void **state)
{
    (void)state;
    struct kit kit;
    struct start_stats stats;
    kit_open(&kit, 1);
    const struct start_container_spec cts[] = {INIT("i", NEVER),
                                               SIDE("s", STARTUP),
                                               MAIN("a", READINESS),
                                               MAIN("b", NOTIFY, TIMEOUT(5 * SECOND)),
                                               MAIN("c"),
                                               MAIN("n", NOTIFY)};
    const struct start_adopted was[] = {
        {.is_known = true, .generation = 1, .exit_code = 0},
        {.is_known = true,
         .is_running = true,
         .was_started = true,
         .was_ready = true,
         .generation = 3,
         .restarts = 2,
         .started_at = kit.now - 10 * SECOND},
        {.is_known = true,
         .is_running = true,
         .was_started = true,
         .was_ready = true,
         .generation = 1},
        {.is_known = true, .is_running = true, .generation = 1},
        {.is_known = true, .is_running = true, .generation = 1},
        {0},
    };
    adopt(&kit, cts, ARRAY_LEN(cts), was);
    expect(&kit, ""); /* b holds the only slot, so n waits */
    start_stats(kit.start, &stats);
    assert_int_equal(stats.starting_slots, 1);
    assert_state(&kit, 's', CT_READY, WHY_NONE);
    assert_true(kit_view(&kit, 'a').is_ready);
    assert_state(&kit, 'b', CT_STARTING, WHY_NONE);
    assert_state(&kit, 'c', CT_READY, WHY_NONE);
    assert_state(&kit, 'n', CT_PENDING, WHY_GATE);
    assert_int_equal(start_pod_phase(kit.pod), PHASE_RUNNING);
    assert_int_equal(kit_view(&kit, 's').generation, 3);
    for (int i = 0; i < 3; i++) { /* its readiness is lost like any other's */
        passes(&kit, i == 0 ? 0 : 10 * SECOND);
        answers(&kit, 'a', PROBE_READINESS, false);
        if (i == 0) {
            expect(&kit, "ask a readiness");
            notifies(&kit, 'b');
            expect(&kit, "b ready, start n1");
        }
    }
    expect(&kit, "ask a readiness, ask a readiness, a unready");
    struct start_exit end = {.generation = 3, .code = 1};
    start_ended(kit.start, kit.pod, 1, &end, kit.now);
    expect(&kit, "s unready"); /* two restarts before: 20 s */
    assert_int_equal(kit_view(&kit, 's').again_at, kit.now + 20 * SECOND);
    kit_close(&kit);
}

static void test_ended_meanwhile(void **state)
{
    (void)state;
    static const struct {
        enum start_policy policy;
        struct start_adopted was;
        const char *effects;
        enum container_state state;
    } rows[] = {
        {RESTART_NEVER, {.exit_code = 1}, "", CT_FAILED},
        {RESTART_NEVER, {.exit_code = 0}, "weight", CT_EXITED},
        {RESTART_ON_FAILURE, {.exit_code = 0}, "weight", CT_EXITED},
        {RESTART_ON_FAILURE, {.exit_code = 1}, "start a2", CT_STARTING},
        {RESTART_ALWAYS, {.exit_code = 0}, "start a2", CT_STARTING},
        /* decided before: again, whatever the policy (a restart of all) */
        {RESTART_NEVER,
         {.exit_code = 137, .is_exit_handled = true, .waits_again = true},
         "start a2",
         CT_STARTING},
        {RESTART_NEVER, {.exit_code = 1, .is_exit_handled = true}, "", CT_FAILED},
        {RESTART_ALWAYS, {.exit_code = 1, .is_exit_handled = true}, "start a2", CT_STARTING},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit, 0);
        const struct start_container_spec cts[] = {MAIN("a", .policy = rows[i].policy), MAIN("x")};
        struct start_adopted was[2] = {rows[i].was,
                                       {.is_known = true, .is_running = true, .generation = 1}};
        was[0].is_known = true;
        was[0].generation = 1;
        adopt(&kit, cts, 2, was);
        expect(&kit, rows[i].effects);
        assert_int_equal(kit_view(&kit, 'a').state, rows[i].state);
        kit_close(&kit);
    }
}

static void test_backoff_goes_on(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    const struct start_container_spec cts[] = {MAIN("a")};
    const struct start_adopted was[] = {{.is_known = true,
                                         .generation = 4,
                                         .restarts = 3,
                                         .exit_code = 1,
                                         .is_exit_handled = true,
                                         .waits_again = true,
                                         .started_at = kit.now - 16 * SECOND,
                                         .ended_at = kit.now - 15 * SECOND}};
    adopt(&kit, cts, 1, was);
    expect(&kit, "");
    assert_int_equal(kit_view(&kit, 'a').again_at, kit.now + 25 * SECOND); /* 40 from its end */
    passes(&kit, 25 * SECOND);
    expect(&kit, "start a5");
    kit_close(&kit);
}

/* Whoever stops a server and starts it again three times has not seen his pods crash. */
static void test_an_end_that_nobody_saw(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    const struct start_container_spec cts[] = {MAIN("a")};
    const struct start_adopted was[] = {{.is_known = true,
                                         .generation = 4,
                                         .restarts = 3,
                                         .exit_code = 255,
                                         .is_lost = true,
                                         .started_at = kit.now - 16 * SECOND,
                                         .ended_at = kit.now}};
    adopt(&kit, cts, 1, was);
    passes(&kit, 0);
    expect(&kit, "start a5");
    kit_close(&kit);
}

/* A rule that restarts all acts once, not once a supervisor. */
static void test_87_restart_of_all(void **state)
{
    (void)state;
    struct kit kit;
    const struct start_container_spec cts[] = {
        INIT("i", NEVER), MAIN("a", NEVER, RULES(UNLESS(0, ACTION_RESTART_ALL))), MAIN("b", NEVER)};
    struct start_adopted was[] = {
        {.is_known = true, .generation = 1, .exit_code = 0},
        {.is_known = true, .generation = 1, .exit_code = 1},
        {.is_known = true, .is_running = true, .generation = 1},
    };
    kit_open(&kit, 0); /* it died unseen */
    adopt(&kit, cts, 3, was);
    expect(&kit, "b unready, kill b1");
    ends(&kit, 'b', 137);
    expect(&kit, "start i2");
    kit_close(&kit);

    kit_open(&kit, 0); /* seen; b was about to be killed */
    was[0].is_restarting_all = was[1].is_restarting_all = was[2].is_restarting_all = true;
    was[1].is_exit_handled = true;
    adopt(&kit, cts, 3, was);
    expect(&kit, "b unready, kill b1");
    ends(&kit, 'b', 137);
    expect(&kit, "start i2");
    ends(&kit, 'i', 0);
    expect(&kit, "start a2, start b2");
    kit_close(&kit);

    kit_open(&kit, 0); /* all were dead, i runs again, a and b wait for it */
    const struct start_adopted later[] = {
        {.is_known = true, .is_running = true, .generation = 2, .restarts = 1},
        {.is_known = true,
         .generation = 1,
         .exit_code = 1,
         .is_exit_handled = true,
         .waits_again = true},
        {.is_known = true,
         .generation = 1,
         .exit_code = 137,
         .is_exit_handled = true,
         .waits_again = true},
    };
    adopt(&kit, cts, 3, later);
    expect(&kit, "");
    assert_state(&kit, 'a', CT_BLOCKED, WHY_INIT);
    assert_int_equal(start_pod_phase(kit.pod), PHASE_PENDING);
    ends(&kit, 'i', 0);
    expect(&kit, "i unready, start a2, start b2");
    kit_close(&kit);
}

/* Adopt and stop in one go starts nothing. */
static void test_adopted_to_be_stopped(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    const struct start_container_spec cts[] = {MAIN("a"), MAIN("b", NEEDS(READY(0))), MAIN("c")};
    const struct start_adopted was[] = {
        {.is_known = true, .is_running = true, .generation = 1},
        {.is_known = true, .generation = 1, .exit_code = 1},
        {0},
    };
    adopt(&kit, cts, 3, was);
    stop(&kit, 30 * SECOND);
    expect(&kit, "a unready, term a1 30000");
    ends(&kit, 'a', 0);
    expect(&kit, "over");
    kit_close(&kit);
}

static void test_nothing_left_to_do(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    const struct start_container_spec cts[] = {SIDE("s"), MAIN("a", NEVER)};
    const struct start_adopted was[] = {
        {.is_known = true, .is_running = true, .generation = 1},
        {.is_known = true, .generation = 1, .exit_code = 0},
    };
    adopt(&kit, cts, 2, was);
    expect(&kit, "s unready, term s1 30000");
    ends(&kit, 's', 0);
    expect(&kit, "over");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_SUCCEEDED);
    kit_close(&kit);
}

/* A time of the past that lies in the future (another clock) does no harm. */
static void test_times_are_clamped(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    const struct start_container_spec cts[] = {MAIN("a", LIVENESS)};
    const struct start_adopted was[] = {{.is_known = true,
                                         .is_running = true,
                                         .was_started = true,
                                         .generation = 1,
                                         .started_at = INT64_MAX / 2}};
    adopt(&kit, cts, 1, was);
    passes(&kit, 0);
    expect(&kit, "weight, ask a liveness");
    assert_int_equal(kit_view(&kit, 'a').started_at, kit.now);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_running_ones_go_on),    cmocka_unit_test(test_ended_meanwhile),
        cmocka_unit_test(test_backoff_goes_on),       cmocka_unit_test(test_87_restart_of_all),
        cmocka_unit_test(test_adopted_to_be_stopped), cmocka_unit_test(test_nothing_left_to_do),
        cmocka_unit_test(test_times_are_clamped),     cmocka_unit_test(test_an_end_that_nobody_saw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
