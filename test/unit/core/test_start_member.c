// SPDX-License-Identifier: Apache-2.0
/* A pod that is a member of a group: held, released, fallen, held again. */
#include "start_kit.h"

static void add_member(struct kit *kit, const struct start_container_spec *cts, size_t n)
{
    struct start_pod_spec spec = {.uid = "pod",
                                  .grace_ms = 30 * SECOND,
                                  .is_member = true,
                                  .containers = cts,
                                  .n_containers = n};
    (void)kit_add_spec(kit, &spec);
}
#define member(kit, ...)                                                                           \
    add_member(kit, (const struct start_container_spec[]){__VA_ARGS__},                            \
               sizeof((const struct start_container_spec[]){__VA_ARGS__}) /                        \
                   sizeof(struct start_container_spec))

static void release(struct kit *kit)
{
    start_pod_release(kit->start, kit->pod, kit->now);
}

static void test_held_until_released(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    member(&kit, INIT("i", NEVER), MAIN("a", ON_FAILURE));
    passes(&kit, 3600 * SECOND);
    expect(&kit, "");
    assert_state(&kit, 'i', CT_BLOCKED, WHY_GROUP);
    assert_state(&kit, 'a', CT_BLOCKED, WHY_GROUP);
    release(&kit);
    expect(&kit, "start i1");
    assert_state(&kit, 'a', CT_BLOCKED, WHY_INIT);
    runs(&kit, 'i');
    ends(&kit, 'i', 0);
    kit_drain(&kit);
    assert_state(&kit, 'a', CT_STARTING, WHY_NONE);
    release(&kit); /* again says nothing */
    kit_close(&kit);
}

/* A death ends the pod as a whole, at once and without a pause, however often it comes. */
static void test_fall(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    member(&kit, MAIN("a", ON_FAILURE), MAIN("b", ON_FAILURE));
    for (uint32_t i = 1; i <= 5; i++) {
        release(&kit);
        kit_drain(&kit);
        runs(&kit, 'a');
        runs(&kit, 'b');
        kit_drain(&kit);
        assert_true(start_pod_is_ready(kit.pod));
        str_clear(&kit.log);
        ends(&kit, 'a', 3);
        kit_drain(&kit);
        assert_true(strstr(str_text(&kit.log), "kill b") != NULL);
        assert_true(strstr(str_text(&kit.log), "down") == NULL); /* one is left */
        assert_true(start_pod_is_held(kit.pod));
        str_clear(&kit.log);
        ends(&kit, 'b', 137);
        expect(&kit, "down");
        assert_state(&kit, 'a', CT_BLOCKED, WHY_GROUP);
        assert_int_equal(kit_view(&kit, 'a').last.exit_code, 3);
        assert_int_equal(kit_view(&kit, 'a').generation, i);
        assert_int_equal(kit_view(&kit, 'a').restarts, i - 1);
    }
    kit_close(&kit);
}

/* Told to end with its group: init containers run again, and one that had done its work too. */
static void test_restart_with_the_group(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    member(&kit, INIT("i", NEVER), MAIN("a", ON_FAILURE), MAIN("b", ON_FAILURE));
    release(&kit);
    kit_drain(&kit);
    runs(&kit, 'i');
    ends(&kit, 'i', 0);
    kit_drain(&kit);
    runs(&kit, 'a');
    runs(&kit, 'b');
    ends(&kit, 'a', 0);
    kit_drain(&kit);
    str_clear(&kit.log);
    start_pod_restart(kit.start, kit.pod, kit.now);
    expect(&kit, "b unready, kill b1, weight");
    start_pod_restart(kit.start, kit.pod, kit.now); /* twice is once */
    kit_drain(&kit);
    str_clear(&kit.log);
    ends(&kit, 'b', 137);
    expect(&kit, "down");
    release(&kit);
    expect(&kit, "start i2");
    runs(&kit, 'i');
    kit_drain(&kit);
    str_clear(&kit.log);
    ends(&kit, 'i', 0);
    expect(&kit, "i unready, start a2, start b2");
    kit_close(&kit);
}

static void test_success_is_final(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    member(&kit, MAIN("a", ON_FAILURE));
    release(&kit);
    kit_drain(&kit);
    runs(&kit, 'a');
    kit_drain(&kit);
    str_clear(&kit.log);
    ends(&kit, 'a', 0);
    expect(&kit, "a unready, over");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_SUCCEEDED);
    start_pod_restart(kit.start, kit.pod, kit.now); /* too late */
    expect(&kit, "");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_SUCCEEDED);
    kit_close(&kit);
}

/* What its manifest calls the end is the end; a helper that flaps is nobody's death. */
static void test_what_is_no_fall(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    member(&kit, MAIN("a", NEVER));
    release(&kit);
    kit_drain(&kit);
    runs(&kit, 'a');
    ends(&kit, 'a', 1);
    kit_drain(&kit);
    assert_true(start_pod_is_over(kit.pod));
    assert_int_equal(start_pod_phase(kit.pod), PHASE_FAILED);
    kit_close(&kit);
    kit_open(&kit, 0);
    member(&kit, SIDE("s"), MAIN("a", NEVER, RULES(WHEN(7, ACTION_RESTART))));
    release(&kit);
    kit_drain(&kit);
    runs(&kit, 's');
    kit_drain(&kit);
    runs(&kit, 'a');
    kit_drain(&kit);
    str_clear(&kit.log);
    ends(&kit, 's', 1);
    expect(&kit, "s unready, start s2");
    assert_false(start_pod_is_held(kit.pod));
    runs(&kit, 's');
    kit_drain(&kit);
    str_clear(&kit.log);
    ends(&kit, 'a', 7);
    expect(&kit, "a unready, s unready, kill s2");
    ends(&kit, 's', 137);
    expect(&kit, "down");
    kit_close(&kit);
}

static void test_exec_fails(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    member(&kit, MAIN("a", ON_FAILURE));
    release(&kit);
    expect(&kit, "start a1");
    runs_not(&kit, 'a');
    expect(&kit, "down");
    assert_state(&kit, 'a', CT_BLOCKED, WHY_GROUP);
    kit_close(&kit);
}

static void test_stopped_while_held(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    member(&kit, MAIN("a", ON_FAILURE));
    stop(&kit, 30 * SECOND);
    expect(&kit, "over");
    release(&kit);
    expect(&kit, "");
    kit_close(&kit);
}

static void adopt_member(struct kit *kit, const struct start_adopted *was)
{
    static const struct start_container_spec cts[] = {MAIN("a", ON_FAILURE)};
    struct start_pod_spec spec = {.uid = "pod",
                                  .grace_ms = 30 * SECOND,
                                  .is_member = true,
                                  .containers = cts,
                                  .n_containers = 1};
    kit->pod = start_pod_adopt(kit->start, &spec, was, kit->now);
}

/* The supervisor was away: a worker that lives goes on, one that does not waits for the group. */
static void test_adopted(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    adopt_member(&kit, &(struct start_adopted){.is_known = true,
                                               .is_running = true,
                                               .generation = 3,
                                               .restarts = 2,
                                               .started_at = kit.now});
    kit_drain(&kit);
    assert_false(start_pod_is_held(kit.pod));
    assert_true(start_pod_has_process(kit.pod));
    str_clear(&kit.log);
    ends(&kit, 'a', 1);
    expect(&kit, "a unready, down");
    kit_close(&kit);
    kit_open(&kit, 0);
    adopt_member(&kit, &(struct start_adopted){
                           .is_known = true, .generation = 3, .restarts = 2, .exit_code = 1});
    expect(&kit, "down");
    assert_state(&kit, 'a', CT_BLOCKED, WHY_GROUP);
    release(&kit);
    expect(&kit, "start a4");
    kit_close(&kit);
    kit_open(&kit, 0);
    adopt_member(&kit, &(struct start_adopted){.is_known = true,
                                               .generation = 3,
                                               .waits_again = true,
                                               .is_restarting_all = true,
                                               .exit_code = 137});
    expect(&kit, "down");
    assert_true(start_pod_is_held(kit.pod));
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held_until_released),    cmocka_unit_test(test_fall),
        cmocka_unit_test(test_restart_with_the_group), cmocka_unit_test(test_success_is_final),
        cmocka_unit_test(test_what_is_no_fall),        cmocka_unit_test(test_exec_fails),
        cmocka_unit_test(test_stopped_while_held),     cmocka_unit_test(test_adopted),
    };
    return cmocka_run_group_tests_name("core/start_member", tests, NULL, NULL);
}
