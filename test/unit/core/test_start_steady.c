// SPDX-License-Identifier: Apache-2.0
/* When nothing is due any more; and reports that come twice, too late, or say less than one thinks.
 */
#include "start_kit.h"

static bool is_steady(struct kit *kit)
{
    kit_drain(kit);
    return start_is_steady(kit->start);
}

/* Time is due while something starts, ends or pauses, not for the probes of what is ready. */
static void test_steady_is_nothing_but_probes(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit, 0);
    assert_true(is_steady(&kit)); /* nothing is there */
    add(&kit, MAIN("a", READINESS, TIMEOUT(60 * SECOND)));
    assert_false(start_is_steady(kit.start)); /* wants to start */
    expect(&kit, "start a1");
    assert_false(is_steady(&kit)); /* may be too slow */
    runs(&kit, 'a');
    passes(&kit, SECOND);
    assert_false(is_steady(&kit));
    answers(&kit, 'a', PROBE_READINESS, true);
    assert_state(&kit, 'a', CT_READY, WHY_NONE);
    assert_true(is_steady(&kit)); /* the next question is due all the same */
    assert_true(start_deadline(kit.start) < TIME_NEVER);
    stop(&kit, 30 * SECOND);
    assert_false(is_steady(&kit)); /* will be killed */
    ends(&kit, 'a', 0);
    assert_true(is_steady(&kit));
    kit_close(&kit);
}

static void test_a_pause_or_a_deadline_is_not_steady(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", TIMEOUT(0)));
    for (int i = 0; i < 2; i++) { /* the first comes again at once */
        passes(&kit, 0);
        runs(&kit, 'a');
        assert_true(is_steady(&kit));
        ends(&kit, 'a', 1);
    }
    assert_state(&kit, 'a', CT_FAILED, WHY_BACKOFF);
    assert_false(is_steady(&kit));
    kit_close(&kit);
    kit_open(&kit, 0);
    const struct start_container_spec main = MAIN("a", TIMEOUT(0));
    kit_add_spec(&kit, &(struct start_pod_spec){.uid = "pod",
                                                .grace_ms = SECOND,
                                                .deadline_ms = 60 * SECOND,
                                                .containers = &main,
                                                .n_containers = 1});
    passes(&kit, 0);
    runs(&kit, 'a');
    assert_false(is_steady(&kit));
    kit_close(&kit);
}

/* One may start at a time, and the rate has to allow it: the next look is due. */
static void test_waiting_at_the_gate_is_not_steady(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit, 0);
    kit.settings.gate.max_rate = 1;
    kit.settings.gate.burst = 1;
    start_set(kit.start, &kit.settings, kit.now);
    add(&kit, MAIN("a", TIMEOUT(0)), MAIN("b", TIMEOUT(0)));
    expect(&kit, "start a1");
    runs(&kit, 'a');
    assert_state(&kit, 'b', CT_PENDING, WHY_GATE);
    assert_false(is_steady(&kit));
    passes(&kit, 2 * SECOND);
    expect(&kit, "a ready, start b1");
    runs(&kit, 'b');
    assert_true(is_steady(&kit));
    kit_close(&kit);
}

/* ---- reports ---- */

static void test_what_is_said_twice_counts_once(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NOTIFY));
    expect(&kit, "start a1");
    notifies(&kit, 'a'); /* it was faster than the report that it runs */
    expect(&kit, "");
    runs(&kit, 'a');
    expect(&kit, "a ready, weight");
    runs(&kit, 'a');
    notifies(&kit, 'a');
    runs_not(&kit, 'a'); /* it does run: who says otherwise is late */
    expect(&kit, "");
    assert_state(&kit, 'a', CT_READY, WHY_NONE);
    kit_close(&kit);
}

/* A probe decides; that the program says it is ready changes nothing. */
static void test_ready_is_what_the_probe_says(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NOTIFY, STARTUP));
    expect(&kit, "start a1");
    notifies(&kit, 'a');
    runs(&kit, 'a');
    notifies(&kit, 'a');
    assert_state(&kit, 'a', CT_STARTING, WHY_NONE);
    passes(&kit, SECOND);
    answers(&kit, 'a', PROBE_STARTUP, true);
    assert_state(&kit, 'a', CT_READY, WHY_NONE);
    kit_close(&kit);
}

static void test_out_of_memory_and_yet_well(void **state)
{
    static const struct {
        int code;
        bool is_oom;
        enum container_state state;
        enum start_reason why;
    } ROWS[] = {
        {137, true, CT_FAILED, WHY_OOM},
        {0, true, CT_EXITED, WHY_EXIT}, /* a child of it was killed, and it coped */
        {137, false, CT_FAILED, WHY_EXIT},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct kit kit;
        kit_open(&kit, 0);
        add(&kit, MAIN("a", NEVER));
        expect(&kit, "start a1");
        runs(&kit, 'a');
        struct start_exit end = {.generation = 1, .code = ROWS[i].code, .is_oom = ROWS[i].is_oom};
        start_ended(kit.start, kit.pod, 0, &end, kit.now);
        assert_state(&kit, 'a', ROWS[i].state, ROWS[i].why);
        kit_close(&kit);
    }
}

/* ---- rules ---- */

static void test_rules_with_several_codes(void **state)
{
    static const int CODES[] = {3, 42, 7};
    static const struct {
        int code;
        bool is_not_in, does_restart;
    } ROWS[] = {{3, false, true},  {42, false, true}, {7, false, true},
                {8, false, false}, {42, true, false}, {8, true, true}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct kit kit;
        const struct start_rule rule = {ACTION_RESTART, ROWS[i].is_not_in, CODES, 3};
        kit_open(&kit, 0);
        add(&kit, MAIN("a", NEVER, .rules = &rule, .n_rules = 1));
        expect(&kit, "start a1");
        runs(&kit, 'a');
        expect(&kit, "a ready, weight");
        ends(&kit, 'a', ROWS[i].code);
        expect(&kit, ROWS[i].does_restart ? "a unready, start a2" : "a unready, over");
        kit_close(&kit);
    }
}

/* Sidecars are there as long as the pod is, whatever its policy says. */
static void test_a_sidecar_of_a_pod_that_never_restarts(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit, 0);
    add(&kit, SIDE("s", NEVER), MAIN("a", NEVER));
    expect(&kit, "start s1");
    runs(&kit, 's');
    expect(&kit, "s ready, start a1");
    runs(&kit, 'a');
    expect(&kit, "a ready, weight");
    ends(&kit, 's', 0);
    expect(&kit, "s unready, start s2");
    kit_close(&kit);
}

/* ---- specs ---- */

static void test_an_init_container_waits_for_earlier_ones_only(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit, 0);
    const struct start_container_spec later[] = {INIT("i", NEEDS(STARTED(1))), MAIN("a")};
    const struct start_container_spec earlier[] = {SIDE("s"), INIT("i", NEEDS(STARTED(0))),
                                                   MAIN("a")};
    struct start_pod_spec spec = {.uid = "pod", .containers = later, .n_containers = 2};
    assert_null(start_pod_add(kit.start, &spec, kit.now));
    const struct start_adopted known[2] = {0};
    assert_null(start_pod_adopt(kit.start, &spec, known, kit.now));
    spec.containers = earlier;
    spec.n_containers = 3;
    kit_add_spec(&kit, &spec);
    expect(&kit, "start s1");
    runs(&kit, 's');
    expect(&kit, "s ready, start i1");
    kit_close(&kit);
    start_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady_is_nothing_but_probes),
        cmocka_unit_test(test_a_pause_or_a_deadline_is_not_steady),
        cmocka_unit_test(test_waiting_at_the_gate_is_not_steady),
        cmocka_unit_test(test_what_is_said_twice_counts_once),
        cmocka_unit_test(test_ready_is_what_the_probe_says),
        cmocka_unit_test(test_out_of_memory_and_yet_well),
        cmocka_unit_test(test_rules_with_several_codes),
        cmocka_unit_test(test_a_sidecar_of_a_pod_that_never_restarts),
        cmocka_unit_test(test_an_init_container_waits_for_earlier_ones_only),
    };
    return cmocka_run_group_tests_name("start_steady", tests, NULL, NULL);
}
