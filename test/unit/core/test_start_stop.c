// SPDX-License-Identifier: Apache-2.0
/* How pods end: in order, within their grace, by themselves or because they were told to. */
#include "start_kit.h"

static void test_reverse_order_of_dependencies(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a"), MAIN("b", NEEDS(READY(0))), MAIN("c", NEEDS(READY(1))),
        MAIN("d", NEEDS(READY(1))), MAIN("x"));
    bring_up(&kit, "axbcd");
    stop(&kit, 30 * SECOND);
    expect(&kit, "c unready, term c1 30000, d unready, term d1 30000, x unready, term x1 30000");
    assert_true(start_pod_is_stopping(kit.pod));
    passes(&kit, 4 * SECOND);
    ends(&kit, 'd', 143);
    ends(&kit, 'x', 0);
    expect(&kit, "");
    ends(&kit, 'c', 143);
    expect(&kit, "b unready, term b1 26000"); /* what is left of the grace */
    passes(&kit, 6 * SECOND);
    ends(&kit, 'b', 0);
    expect(&kit, "a unready, term a1 20000");
    assert_state(&kit, 'b', CT_EXITED, WHY_STOPPED);
    ends(&kit, 'a', 0);
    expect(&kit, "over");
    assert_true(start_pod_is_over(kit.pod));
    passes(&kit, 3600 * SECOND);
    expect(&kit, "");
    stop(&kit, 0);
    expect(&kit, ""); /* over comes once */
    kit_close(&kit);
}

static void test_grace_ends_in_a_kill_for_all(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a"), MAIN("b", NEEDS(READY(0))));
    bring_up(&kit, "ab");
    stop(&kit, 5 * SECOND);
    expect(&kit, "b unready, term b1 5000");
    passes(&kit, 5 * SECOND - 1);
    expect(&kit, "");
    passes(&kit, 1);
    expect(&kit, "a unready, kill a1, kill b1");
    ends(&kit, 'b', 137);
    expect(&kit, "");
    ends(&kit, 'a', 137);
    expect(&kit, "over");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_FAILED);
    kit_close(&kit);
}

static void test_no_grace(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a"), MAIN("b", NEEDS(READY(0))));
    bring_up(&kit, "ab");
    stop(&kit, 0);
    expect(&kit, "a unready, kill a1, b unready, kill b1");
    stop(&kit, 0);
    stop(&kit, 10 * SECOND);
    passes(&kit, 60 * SECOND);
    expect(&kit, ""); /* told once */
    ends(&kit, 'a', 137);
    ends(&kit, 'b', 137);
    expect(&kit, "over");
    kit_close(&kit);
}

/* A host that asks on every change must come to rest. */
static void test_asked_again_it_says_nothing_new(void **state)
{
    (void)state;
    struct kit kit;
    struct start_effect effect;
    kit_open(&kit, 0);
    add(&kit, MAIN("a"));
    bring_up(&kit, "a");
    stop(&kit, 30 * SECOND);
    expect(&kit, "a unready, term a1 30000");
    passes(&kit, 2 * SECOND);
    stop(&kit, 28 * SECOND);
    assert_false(start_next(kit.start, &effect));
    stop(&kit, 40 * SECOND);
    assert_false(start_next(kit.start, &effect));
    stop(&kit, 1 * SECOND);
    assert_true(start_next(kit.start, &effect)); /* this one hurries it */
    kit_close(&kit);
}

static void test_asked_again_it_hurries(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a"));
    bring_up(&kit, "a");
    stop(&kit, 30 * SECOND);
    expect(&kit, "a unready, term a1 30000");
    stop(&kit, 60 * SECOND); /* more grace is not given */
    stop(&kit, 10 * SECOND);
    expect(&kit, "");
    passes(&kit, 10 * SECOND);
    expect(&kit, "kill a1");
    kit_close(&kit);
}

/* 1.4: stop, delete, reload while blocked/pending must be immediate and leave no trace. */
static void test_stop_while_waiting_is_immediate(void **state)
{
    (void)state;
    struct kit kit;
    struct start_stats stats;
    kit_open(&kit, 1);
    add(&kit, MAIN("x", NOTIFY));
    expect(&kit, "start x1");
    struct start_pod *first = kit.pod;
    add(&kit, MAIN("a", NOTIFY), MAIN("b", NEEDS(READY(0))), MAIN("c", IMAGE));
    expect(&kit, "prepare c");
    assert_state(&kit, 'a', CT_PENDING, WHY_GATE);
    stop(&kit, 30 * SECOND);
    expect(&kit, "over");
    assert_state(&kit, 'a', CT_EXITED, WHY_STOPPED);
    assert_int_equal(kit_view(&kit, 'a').generation, 0);
    prepared(&kit, 'c', NULL); /* comes too late */
    expect(&kit, "");
    start_pod_remove(kit.start, kit.pod);
    kit.pod = first;
    runs(&kit, 'x');
    notifies(&kit, 'x');
    expect(&kit, "x ready, weight"); /* nobody comes for the slot */
    start_stats(kit.start, &stats);
    assert_int_equal(stats.pods, 1);
    assert_int_equal(stats.starting_slots, 0);
    kit_close(&kit);
}

static void test_stop_while_starting(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    add(&kit, MAIN("a", NOTIFY, TIMEOUT(2 * SECOND)));
    struct start_pod *first = kit.pod;
    add(&kit, MAIN("b", NOTIFY));
    expect(&kit, "start a1");
    kit.pod = first;
    stop(&kit, 5 * SECOND);
    expect(&kit, "term a1 5000");
    runs(&kit, 'a'); /* it was on its way */
    notifies(&kit, 'a');
    passes(&kit, 3 * SECOND);
    expect(&kit, ""); /* neither ready nor late; the slot is its own until it is reaped */
    ends(&kit, 'a', 143);
    expect(&kit, "over, start b1");
    kit_close(&kit);

    kit_open(&kit, 1);
    add(&kit, MAIN("a", NOTIFY));
    expect(&kit, "start a1");
    stop(&kit, 5 * SECOND);
    runs_not(&kit, 'a');
    expect(&kit, "term a1 5000, over");
    assert_state(&kit, 'a', CT_EXITED, WHY_STOPPED);
    kit_close(&kit);
}

static void test_sidecars_end_last_and_backwards(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, SIDE("s"), SIDE("t"), MAIN("a"), MAIN("b", NEEDS(READY(1))));
    bring_up(&kit, "stab");
    stop(&kit, 30 * SECOND);
    expect(&kit, "a unready, term a1 30000, b unready, term b1 30000");
    ends(&kit, 'a', 0);
    expect(&kit, "");
    ends(&kit, 'b', 0);
    expect(&kit, "t unready, term t1 30000");
    ends(&kit, 't', 0);
    expect(&kit, "s unready, term s1 30000");
    ends(&kit, 's', 0);
    expect(&kit, "over");
    kit_close(&kit);
}

static void test_stop_in_the_middle_of_init(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, SIDE("s"), INIT("i", ON_FAILURE), MAIN("a"));
    bring_up(&kit, "si");
    stop(&kit, 30 * SECOND);
    expect(&kit, "i unready, term i1 30000"); /* it may need the sidecar to end well */
    ends(&kit, 'i', 0);
    expect(&kit, "s unready, term s1 30000");
    ends(&kit, 's', 0);
    expect(&kit, "over");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_FAILED);
    kit_close(&kit);
}

/* Crashes during the end are not restarted, and open the way for those behind. */
static void test_crash_while_ending(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a"), MAIN("b", NEEDS(READY(0))), MAIN("c", NEEDS(READY(1))));
    bring_up(&kit, "abc");
    stop(&kit, 30 * SECOND);
    expect(&kit, "c unready, term c1 30000");
    ends(&kit, 'b', 1); /* its turn had not come */
    expect(&kit, "b unready, a unready, term a1 30000");
    assert_state(&kit, 'b', CT_FAILED, WHY_EXIT);
    assert_true(kit_view(&kit, 'b').is_final);
    ends(&kit, 'a', 0);
    ends(&kit, 'c', 0);
    expect(&kit, "over");
    kit_close(&kit);
}

static void test_probes_stop_when_it_ends(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", LIVENESS), MAIN("b", READINESS, NEEDS(STARTED(0))));
    bring_up(&kit, "ab");
    passes(&kit, 0);
    answers(&kit, 'a', PROBE_LIVENESS, true);
    answers(&kit, 'b', PROBE_READINESS, true);
    kit_drain(&kit);
    str_clear(&kit.log);
    stop(&kit, 30 * SECOND);
    expect(&kit, "b unready, term b1 30000");
    passes(&kit, 10 * SECOND);
    expect(&kit, "ask a liveness"); /* it is needed until its turn comes */
    ends(&kit, 'b', 0);
    expect(&kit, "a unready, term a1 20000");
    answers(&kit, 'a', PROBE_LIVENESS, false);
    passes(&kit, 19 * SECOND);
    expect(&kit, "");
    kit_close(&kit);
}

static void test_success_ends_the_sidecars(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, SIDE("s"), SIDE("t"), MAIN("a", ON_FAILURE), MAIN("b", NEVER));
    bring_up(&kit, "stab");
    ends(&kit, 'a', 0);
    ends(&kit, 's', 0);
    expect(&kit, "a unready, s unready, start s2"); /* as long as the pod lives */
    runs(&kit, 's');
    kit.now += 1000 * SECOND;
    ends(&kit, 'b', 0);
    expect(&kit, "s ready, b unready, t unready, term t1 30000");
    assert_false(start_pod_is_stopping(kit.pod));
    assert_int_equal(start_pod_phase(kit.pod), PHASE_RUNNING);
    ends(&kit, 't', 143);
    expect(&kit, "s unready, term s2 30000");
    passes(&kit, 30 * SECOND);
    expect(&kit, "kill s2");
    ends(&kit, 's', 137);
    expect(&kit, "over");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_SUCCEEDED); /* the main ones decide */
    kit_close(&kit);
}

static void test_one_failed_main_fails_the_pod(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NEVER), MAIN("b", NEVER));
    bring_up(&kit, "ab");
    ends(&kit, 'a', 1);
    expect(&kit, "a unready");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_RUNNING);
    ends(&kit, 'b', 0);
    expect(&kit, "b unready, over");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_FAILED);
    kit_close(&kit);
}

static void test_failed_init_fails_the_pod(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, SIDE("s"), INIT("i", NEVER), INIT("j", NEVER), MAIN("a"));
    bring_up(&kit, "si");
    ends(&kit, 'i', 7);
    expect(&kit, "i unready, s unready, term s1 30000");
    assert_state(&kit, 'a', CT_EXITED, WHY_STOPPED);
    ends(&kit, 's', 0);
    expect(&kit, "over");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_FAILED);
    kit_close(&kit);
}

static void test_deadline(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    const struct start_container_spec cts[] = {MAIN("a")};
    struct start_pod_spec spec = {.uid = "p",
                                  .containers = cts,
                                  .n_containers = 1,
                                  .grace_ms = 2 * SECOND,
                                  .deadline_ms = 60 * SECOND};
    kit_add_spec(&kit, &spec);
    bring_up(&kit, "a");
    passes(&kit, 60 * SECOND - 1);
    expect(&kit, "");
    assert_false(start_pod_missed_deadline(kit.pod));
    passes(&kit, 1);
    expect(&kit, "a unready, term a1 2000");
    assert_true(start_pod_missed_deadline(kit.pod));
    start_pod_restart(kit.start, kit.pod, kit.now); /* too late for that */
    ends(&kit, 'a', 0);
    expect(&kit, "over");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_FAILED); /* though it ended well */
    kit_close(&kit);
}

static void test_all_done_before_the_deadline(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    const struct start_container_spec cts[] = {SIDE("s"), MAIN("a", NEVER)};
    struct start_pod_spec spec = {.uid = "p",
                                  .containers = cts,
                                  .n_containers = 2,
                                  .grace_ms = 20 * SECOND,
                                  .deadline_ms = 60 * SECOND};
    kit_add_spec(&kit, &spec);
    bring_up(&kit, "sa");
    passes(&kit, 55 * SECOND);
    ends(&kit, 'a', 0);
    expect(&kit, "a unready, s unready, term s1 20000");
    passes(&kit, 10 * SECOND); /* only the sidecar is late */
    ends(&kit, 's', 0);
    expect(&kit, "over");
    assert_false(start_pod_missed_deadline(kit.pod));
    assert_int_equal(start_pod_phase(kit.pod), PHASE_SUCCEEDED);
    kit_close(&kit);
}

static void test_unfit_while_waiting_for_its_turn(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a"), MAIN("b", NEEDS(READY(0))));
    bring_up(&kit, "ab");
    stop(&kit, 5 * SECOND);
    start_unhealthy(kit.start, kit.pod, 0, kit.now);
    expect(&kit, "b unready, term b1 5000, a unready, term a1 5000"); /* no more than is left */
    passes(&kit, 5 * SECOND);
    ends(&kit, 'a', 137);
    ends(&kit, 'b', 137);
    kit_drain(&kit);
    assert_true(start_pod_is_over(kit.pod));
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reverse_order_of_dependencies),
        cmocka_unit_test(test_grace_ends_in_a_kill_for_all),
        cmocka_unit_test(test_no_grace),
        cmocka_unit_test(test_asked_again_it_says_nothing_new),
        cmocka_unit_test(test_asked_again_it_hurries),
        cmocka_unit_test(test_stop_while_waiting_is_immediate),
        cmocka_unit_test(test_stop_while_starting),
        cmocka_unit_test(test_sidecars_end_last_and_backwards),
        cmocka_unit_test(test_stop_in_the_middle_of_init),
        cmocka_unit_test(test_crash_while_ending),
        cmocka_unit_test(test_probes_stop_when_it_ends),
        cmocka_unit_test(test_success_ends_the_sidecars),
        cmocka_unit_test(test_one_failed_main_fails_the_pod),
        cmocka_unit_test(test_failed_init_fails_the_pod),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_all_done_before_the_deadline),
        cmocka_unit_test(test_unfit_while_waiting_for_its_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
