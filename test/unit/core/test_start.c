// SPDX-License-Identifier: Apache-2.0
/* From added to ready: dependencies, init order, the throttle, probes, time-outs. */
#include "start_kit.h"

static void test_a_plain_process_is_ready_when_it_runs(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    kit.shows_moves = true;
    add(&kit, MAIN("a"));
    assert_int_equal(start_pod_phase(kit.pod), PHASE_PENDING);
    expect(&kit, "a: downloading>blocked, a: blocked>pending, a: pending>starting, start a1");
    kit.now += 5;
    runs(&kit, 'a');
    expect(&kit, "a: starting>ready, a ready, weight");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_RUNNING);
    assert_true(start_pod_is_ready(kit.pod));
    struct start_view view = kit_view(&kit, 'a');
    assert_int_equal(view.generation, 1);
    assert_int_equal(view.restarts, 0);
    assert_int_equal(view.started_at, kit.now);
    assert_int_equal(view.n_moves, 5);
    assert_int_equal(start_deadline(kit.start), TIME_NEVER); /* idle costs nothing */
    kit_close(&kit);
}

/* The study: b on a, c on b, d on b, e on c and d. */
static void test_the_graph_of_the_study(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NOTIFY), MAIN("b", NOTIFY, NEEDS(READY(0))),
        MAIN("c", NOTIFY, NEEDS(READY(1))), MAIN("d", NOTIFY, NEEDS(READY(1))),
        MAIN("e", NOTIFY, NEEDS(READY(2), READY(3))));
    expect(&kit, "start a1");
    assert_state(&kit, 'e', CT_BLOCKED, WHY_DEPENDENCY);
    runs(&kit, 'a');
    expect(&kit, "");
    notifies(&kit, 'a');
    expect(&kit, "a ready, start b1");
    runs(&kit, 'b');
    notifies(&kit, 'b');
    expect(&kit, "b ready, start c1, start d1");
    runs(&kit, 'c');
    runs(&kit, 'd');
    notifies(&kit, 'd');
    expect(&kit, "d ready");
    assert_int_equal(kit_view(&kit, 'e').blocker, 2);
    notifies(&kit, 'c');
    expect(&kit, "c ready, start e1");
    runs(&kit, 'e');
    notifies(&kit, 'e');
    expect(&kit, "e ready, weight");
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plain_process_is_ready_when_it_runs),
        cmocka_unit_test(test_the_graph_of_the_study),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
