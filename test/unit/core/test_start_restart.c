// SPDX-License-Identifier: Apache-2.0
/* What comes after an end: rules, policies, back-off, the restart of all. */
#include "start_kit.h"

static void test_policies(void **state)
{
    (void)state;
    static const struct {
        enum start_policy policy;
        int code;
        bool is_again;
    } rows[] = {
        {RESTART_ALWAYS, 0, true},     {RESTART_ALWAYS, 1, true}, {RESTART_ON_FAILURE, 0, false},
        {RESTART_ON_FAILURE, 1, true}, {RESTART_NEVER, 0, false}, {RESTART_NEVER, 137, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit, 0);
        add(&kit, MAIN("a", .policy = rows[i].policy), MAIN("x"));
        bring_up(&kit, "ax");
        ends(&kit, 'a', rows[i].code);
        expect(&kit, rows[i].is_again ? "a unready, start a2" : "a unready");
        struct start_view view = kit_view(&kit, 'a');
        assert_int_equal(view.is_final, !rows[i].is_again);
        assert_int_equal(view.restarts, rows[i].is_again);
        if (!rows[i].is_again)
            assert_int_equal(view.state, rows[i].code ? CT_FAILED : CT_EXITED);
        kit_close(&kit);
    }
}

/* Every exit, also 0; the first rule that matches; else the policy. */
static void test_rules(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *effects;
    } rows[] = {
        {42, "a unready, start a2"},                   /* Restart beats Never */
        {43, "a unready"},                             /* Terminate */
        {44, "a unready, x unready, kill x1, weight"}, /* RestartAllContainers */
        {0, "a unready, start a2"},                    /* the last rule: not in 1 */
        {1, "a unready"},                              /* none: Never */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit, 0);
        add(&kit,
            MAIN("a", NEVER,
                 RULES(WHEN(42, ACTION_RESTART), WHEN(43, ACTION_TERMINATE),
                       WHEN(44, ACTION_RESTART_ALL), WHEN(42, ACTION_TERMINATE),
                       UNLESS(1, ACTION_RESTART))),
            MAIN("x"));
        bring_up(&kit, "ax");
        ends(&kit, 'a', rows[i].code);
        expect(&kit, rows[i].effects);
        kit_close(&kit);
    }
}

/* 82: regular victims, then init containers and sidecars; who caused it has ended before. What is
 * past and has no process any more begins anew as well. */
static void test_82_order_of_a_restart_of_all(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, INIT("i", ON_FAILURE), SIDE("s"), SIDE("t"), MAIN("a"),
        MAIN("b", NEVER, RULES(WHEN(44, ACTION_RESTART_ALL))), MAIN("c", NEVER), MAIN("d"));
    kit_drain(&kit);
    runs(&kit, 'i');
    kit_drain(&kit);
    ends(&kit, 'i', 0);
    bring_up(&kit, "stabcd");
    ends(&kit, 'c', 0);
    kit_drain(&kit);
    str_clear(&kit.log);
    ends(&kit, 'b', 44);
    expect(&kit, "b unready, a unready, kill a1, d unready, kill d1, s unready, kill s1, "
                 "t unready, kill t1, weight");
    ends(&kit, 's', 137);
    ends(&kit, 't', 137);
    ends(&kit, 'd', 137);
    expect(&kit, "");
    ends(&kit, 'a', 137);
    expect(&kit, "start i2");
    runs(&kit, 'i');
    expect(&kit, "i ready");
    ends(&kit, 'i', 0);
    expect(&kit, "i unready, start s2");
    runs(&kit, 's');
    expect(&kit, "s ready, start t2");
    runs(&kit, 't');
    expect(&kit, "t ready, start a2, start b2, start c2, start d2");
    kit_close(&kit);
}

/* 1.4: exec fails -> failed at once, slot freed, restart policy applies. */
static void test_exec_fails(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    add(&kit, MAIN("a", NOTIFY, NEVER), MAIN("b", NOTIFY));
    expect(&kit, "start a1");
    runs_not(&kit, 'a');
    expect(&kit, "start b1");
    assert_state(&kit, 'a', CT_FAILED, WHY_NOT_RUN);
    assert_true(kit_view(&kit, 'a').is_final);
    runs_not(&kit, 'b');
    expect(&kit, "start b2");
    assert_int_equal(kit_view(&kit, 'b').last.why, WHY_NOT_RUN);
    kit_close(&kit);
}

/* 1.4: container exits while starting -> failed at once, slot freed, restart policy applies. */
static void test_exit_while_starting(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    kit.shows_moves = true;
    add(&kit, MAIN("a", NOTIFY, ON_FAILURE), MAIN("b", NOTIFY, NEVER));
    kit_drain(&kit);
    str_clear(&kit.log);
    ends(&kit, 'a', 9);
    expect(&kit, "a: starting>failed, a: failed>downloading, a: downloading>blocked, "
                 "a: blocked>pending, b: pending>starting, start b1"); /* behind those who wait */
    ends(&kit, 'b', 0);
    expect(&kit, "b: starting>exited, a: pending>starting, start a2");
    assert_state(&kit, 'b', CT_EXITED, WHY_EXIT);
    kit_close(&kit);
}

static void test_backoff(void **state)
{
    (void)state;
    static const time_ms waits[] = {0, 10, 20, 40, 80, 160, 300, 300};
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a"));
    bring_up(&kit, "a");
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        passes(&kit, SECOND);
        ends(&kit, 'a', 1);
        kit_drain(&kit);
        if (waits[i] > 0) {
            assert_state(&kit, 'a', CT_FAILED, WHY_BACKOFF);
            assert_int_equal(kit_view(&kit, 'a').ended_why, WHY_EXIT);
            assert_int_equal(kit_view(&kit, 'a').again_at, kit.now + waits[i] * SECOND);
            passes(&kit, waits[i] * SECOND - 1);
            assert_state(&kit, 'a', CT_FAILED, WHY_BACKOFF);
            passes(&kit, 1);
        }
        assert_state(&kit, 'a', CT_STARTING, WHY_NONE);
        assert_int_equal(kit_view(&kit, 'a').generation, i + 2);
        runs(&kit, 'a');
    }
    passes(&kit, 600 * SECOND); /* long enough to be forgiven */
    ends(&kit, 'a', 1);
    kit_drain(&kit);
    assert_state(&kit, 'a', CT_STARTING, WHY_NONE);
    struct start_view view = kit_view(&kit, 'a');
    assert_int_equal(view.restarts, 9);
    assert_int_equal(view.last.generation, 9);
    assert_int_equal(view.last.exit_code, 1);
    kit_close(&kit);
}

static void test_stop_in_backoff_is_immediate(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a"));
    bring_up(&kit, "a");
    ends(&kit, 'a', 1);
    kit_drain(&kit);
    ends(&kit, 'a', 1);
    kit_drain(&kit);
    assert_state(&kit, 'a', CT_FAILED, WHY_BACKOFF);
    str_clear(&kit.log);
    stop(&kit, 30 * SECOND);
    expect(&kit, "over");
    passes(&kit, 3600 * SECOND);
    expect(&kit, "");
    kit_close(&kit);
}

/* 1.4: a ready container crashes; its restart passes pending again, else a crash storm bypasses
 * the throttle. */
static void test_crash_storm_stays_throttled(void **state)
{
    (void)state;
    struct kit kit;
    struct start_stats stats;
    enum { N = 200, CAP = 3 };
    struct start_pod *pods[N];
    kit_open(&kit, CAP);
    kit.settings.gate.min_rate = GATE_OFF;
    start_set(kit.start, &kit.settings, kit.now);
    for (int i = 0; i < N; i++) {
        pods[i] = add(&kit, MAIN("a", NOTIFY));
        kit_drain(&kit);
        runs(&kit, 'a');
        notifies(&kit, 'a');
    }
    kit_drain(&kit);
    start_stats(kit.start, &stats);
    assert_int_equal(stats.states[CT_READY], N);
    for (int i = 0; i < N; i++) {
        kit.pod = pods[i];
        ends(&kit, 'a', 1);
        kit_drain(&kit);
        start_stats(kit.start, &stats);
        assert_true(stats.states[CT_STARTING] <= CAP);
    }
    assert_int_equal(stats.states[CT_STARTING], CAP);
    assert_int_equal(stats.states[CT_PENDING], N - CAP);
    kit_close(&kit);
}

/* 1.4 and process-compose #530: the restart of one that waits starts no twin. */
static void test_restart_while_blocked(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NOTIFY), MAIN("b", NEEDS(READY(0))));
    bring_up(&kit, "a");
    assert_state(&kit, 'b', CT_BLOCKED, WHY_DEPENDENCY);
    start_pod_restart(kit.start, kit.pod, kit.now);
    expect(&kit, "kill a1");
    assert_state(&kit, 'b', CT_BLOCKED, WHY_RESTARTING_ALL);
    start_pod_restart(kit.start, kit.pod, kit.now);
    kit_drain(&kit);
    str_clear(&kit.log);
    ends(&kit, 'a', 137);
    expect(&kit, "start a2");
    runs(&kit, 'a');
    notifies(&kit, 'a');
    expect(&kit, "a ready, start b1"); /* its first run */
    runs(&kit, 'b');
    expect(&kit, "b ready, weight");
    assert_int_equal(kit_view(&kit, 'a').restarts, 1);
    assert_int_equal(kit_view(&kit, 'b').restarts, 0);
    kit_close(&kit);
}

static void test_restart_of_all_begins_with_init(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, INIT("i", NEVER), SIDE("s", STARTUP), MAIN("a", NEVER),
        MAIN("w", NEVER, RULES(UNLESS(0, ACTION_RESTART_ALL))));
    bring_up(&kit, "i");
    ends(&kit, 'i', 0);
    bring_up(&kit, "s");
    passes(&kit, 0);
    answers(&kit, 's', PROBE_STARTUP, true);
    bring_up(&kit, "aw");
    ends(&kit, 'a', 0); /* done, but runs again all the same */
    expect(&kit, "a unready");
    ends(&kit, 'w', 3);
    expect(&kit, "w unready, s unready, kill s1, weight");
    assert_true(start_pod_is_starting(kit.pod));
    assert_int_equal(start_pod_phase(kit.pod), PHASE_PENDING);
    assert_state(&kit, 'w', CT_FAILED, WHY_RESTARTING_ALL);
    assert_state(&kit, 'i', CT_EXITED, WHY_RESTARTING_ALL);
    ends(&kit, 's', 137);
    expect(&kit, "start i2");
    ends(&kit, 'i', 0);
    expect(&kit, "start s2");
    runs(&kit, 's');
    passes(&kit, 0);
    answers(&kit, 's', PROBE_STARTUP, true);
    expect(&kit, "ask s startup, s ready, start a2, start w2");
    for (const char *name = "isaw"; *name; name++)
        assert_int_equal(kit_view(&kit, *name).restarts, 1);
    assert_int_equal(kit_view(&kit, 's').last.why, WHY_RESTARTING_ALL);
    assert_int_equal(kit_view(&kit, 'w').last.exit_code, 3);
    /* again, soon after: the back-off of the one who asks for it holds all */
    runs(&kit, 'w');
    runs_not(&kit, 'a');
    expect(&kit, "w ready");
    ends(&kit, 'w', 3);
    expect(&kit, "w unready, s unready, kill s2");
    ends(&kit, 's', 137);
    expect(&kit, "");
    assert_int_equal(kit_view(&kit, 'i').again_at, kit.now + 10 * SECOND);
    passes(&kit, 10 * SECOND);
    expect(&kit, "start i3");
    ends(&kit, 'i', 1); /* an init container that fails after it fails the pod */
    expect(&kit, "over");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_FAILED);
    kit_close(&kit);
}

static void test_stop_wins_over_restart_of_all(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a"), MAIN("b", NEEDS(READY(0))));
    bring_up(&kit, "ab");
    start_pod_restart(kit.start, kit.pod, kit.now);
    expect(&kit, "a unready, kill a1, b unready, kill b1, weight");
    ends(&kit, 'a', 137);
    stop(&kit, 30 * SECOND);
    start_pod_restart(kit.start, kit.pod, kit.now); /* no more */
    expect(&kit, "");
    ends(&kit, 'b', 137);
    expect(&kit, "over");
    kit_close(&kit);
}

/* A member that has done its part takes part in a restart of the group. */
static void test_restart_of_a_pod_that_is_over(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NEVER));
    bring_up(&kit, "a");
    ends(&kit, 'a', 0);
    expect(&kit, "a unready, over");
    start_pod_restart(kit.start, kit.pod, kit.now);
    expect(&kit, "weight, start a2");
    runs(&kit, 'a');
    ends(&kit, 'a', 0);
    kit_drain(&kit);
    assert_int_equal(start_pod_phase(kit.pod), PHASE_SUCCEEDED);
    kit_close(&kit);
}

static void test_image_is_fetched_once(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", IMAGE), MAIN("b", IMAGE));
    expect(&kit, "prepare a, prepare b");
    prepared(&kit, 'a', NULL);
    expect(&kit, "start a1");
    start_pod_restart(kit.start, kit.pod, kit.now);
    expect(&kit, "kill a1");
    prepared(&kit, 'b', NULL); /* in the middle of it */
    expect(&kit, "");
    ends(&kit, 'a', 137);
    expect(&kit, "start a2, start b1");
    kit_close(&kit);
}

static void test_watchdog_and_oom(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NOTIFY), MAIN("x"));
    bring_up(&kit, "ax");
    start_unhealthy(kit.start, kit.pod, 0, kit.now);
    expect(&kit, ""); /* not ready yet: the start time-out watches it */
    notifies(&kit, 'a');
    start_unhealthy(kit.start, kit.pod, 0, kit.now);
    start_unhealthy(kit.start, kit.pod, 0, kit.now);
    kit_drain(&kit);
    str_clear(&kit.log);
    assert_state(&kit, 'a', CT_READY, WHY_LIVENESS_PROBE);
    ends(&kit, 'a', 0); /* ended well, but it was unfit */
    expect(&kit, "start a2");
    assert_int_equal(kit_view(&kit, 'a').last.why, WHY_LIVENESS_PROBE);
    struct start_exit end = {.generation = 2, .code = 137, .is_oom = true};
    start_ended(kit.start, kit.pod, 0, &end, kit.now);
    expect(&kit, "");
    assert_int_equal(kit_view(&kit, 'a').ended_why, WHY_OOM);
    kit_close(&kit);
}

/* A sidecar stays as long as its pod does; a rule that terminates it ends both. */
static void test_a_terminated_sidecar_fails_its_pod(void **state)
{
    (void)state;
    static const struct {
        int code;
        bool is_over;
    } rows[] = {{64, false}, {1, true}, {0, true}, {137, true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit, 0);
        add(&kit, SIDE("s", RULES(WHEN(64, ACTION_RESTART_ALL), UNLESS(64, ACTION_TERMINATE))),
            MAIN("a", NEVER));
        bring_up(&kit, "sa");
        ends(&kit, 's', rows[i].code);
        kit_drain(&kit);
        ends(&kit, 'a', 143);
        kit_drain(&kit);
        assert_int_equal(start_pod_is_over(kit.pod), rows[i].is_over);
        if (rows[i].is_over)
            assert_int_equal(start_pod_phase(kit.pod), PHASE_FAILED);
        kit_close(&kit);
    }
}

/* An agent at its barrier keeps nobody's slot; once the worker runs it does not come back alone,
 * and how often all restart is the group's business, not the back-off's. */
static void test_an_agent_and_its_worker(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    add(&kit, SIDE("s", NOTIFY, .awaits_others = true), MAIN("a", NEVER));
    kit_drain(&kit);
    runs(&kit, 's');
    kit_drain(&kit);
    assert_state(&kit, 's', CT_STARTING, WHY_NONE);
    struct start_stats stats;
    start_stats(kit.start, &stats);
    assert_int_equal(stats.starting_slots, 0);
    for (uint32_t generation = 1; generation < 5; generation++) {
        if (generation > 1)
            runs(&kit, 's');
        notifies(&kit, 's');
        kit_drain(&kit);
        runs(&kit, 'a');
        kit_drain(&kit);
        ends(&kit, 's', 1);
        kit_drain(&kit);
        ends(&kit, 'a', 137); /* was killed */
        kit_drain(&kit);
        assert_int_equal(kit_view(&kit, 's').generation, generation + 1);
        assert_state(&kit, 's', CT_STARTING, WHY_NONE);
        assert_int_equal(kit_view(&kit, 'a').generation, generation);
    }
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_82_order_of_a_restart_of_all),
        cmocka_unit_test(test_exec_fails),
        cmocka_unit_test(test_exit_while_starting),
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_stop_in_backoff_is_immediate),
        cmocka_unit_test(test_crash_storm_stays_throttled),
        cmocka_unit_test(test_restart_while_blocked),
        cmocka_unit_test(test_restart_of_all_begins_with_init),
        cmocka_unit_test(test_stop_wins_over_restart_of_all),
        cmocka_unit_test(test_restart_of_a_pod_that_is_over),
        cmocka_unit_test(test_image_is_fetched_once),
        cmocka_unit_test(test_watchdog_and_oom),
        cmocka_unit_test(test_a_terminated_sidecar_fails_its_pod),
        cmocka_unit_test(test_an_agent_and_its_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
