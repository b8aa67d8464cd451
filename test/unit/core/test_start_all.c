// SPDX-License-Identifier: Apache-2.0
/* The restart of all containers of a pod, by the numbers of our notes on what the kubelet's tests
 * pin; more of it is in test_start_restart.c, and its status in control/test_runner.c. */
#include "start_kit.h"

#define ALL_UNLESS_0 RULES(UNLESS(0, ACTION_RESTART_ALL))

static void assert_restarts(const struct kit *kit, const char *names, uint32_t count)
{
    for (; *names; names++) {
        struct start_view view = kit_view(kit, *names);
        if (view.restarts != count)
            fail_msg("%c was restarted %u times, not %u", *names, view.restarts, count);
    }
}

/* The end of the other has its rule's code too, killed or by itself: it asks for nothing more, and
 * does not count as one of its own. */
static void test_83_the_same_rule_on_two(void **state)
{
    (void)state;
    static const int CODES[] = {137, 3, 0};
    for (size_t i = 0; i < ARRAY_LEN(CODES); i++) {
        struct kit kit;
        kit_open(&kit, 0);
        add(&kit, MAIN("a", NEVER, ALL_UNLESS_0), MAIN("b", NEVER, ALL_UNLESS_0));
        bring_up(&kit, "ab");
        ends(&kit, 'a', 3);
        expect(&kit, "a unready, b unready, kill b1, weight");
        ends(&kit, 'b', CODES[i]);
        expect(&kit, "start a2, start b2");
        bring_up(&kit, "ab");
        ends(&kit, 'b', 3); /* its first one of its own, which does not wait */
        ends(&kit, 'a', CODES[i]);
        expect(&kit, "b unready, a unready, kill a2, weight, start a3, start b3");
        bring_up(&kit, "ab");
        passes(&kit, 3600 * SECOND);
        expect(&kit, "");
        assert_true(start_pod_is_ready(kit.pod));
        assert_restarts(&kit, "ab", 2);
        kit_close(&kit);
    }
}

/* What was started begins anew in its order; what had to wait starts for the first time. */
static void test_84_an_init_container_asks_for_it(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, INIT("j", NEVER), SIDE("s"), INIT("i", NEVER, ALL_UNLESS_0), MAIN("a", NEVER));
    bring_up(&kit, "j");
    ends(&kit, 'j', 0);
    bring_up(&kit, "si");
    ends(&kit, 'i', 4);
    expect(&kit, "i unready, s unready, kill s1");
    ends(&kit, 's', 137);
    expect(&kit, "start j2");
    bring_up(&kit, "j");
    ends(&kit, 'j', 0);
    expect(&kit, "j unready, start s2");
    runs(&kit, 's');
    expect(&kit, "s ready, start i2");
    bring_up(&kit, "i");
    assert_state(&kit, 'a', CT_BLOCKED, WHY_INIT);
    ends(&kit, 'i', 0);
    expect(&kit, "i unready, start a1");
    bring_up(&kit, "a");
    assert_restarts(&kit, "jsi", 1);
    assert_restarts(&kit, "a", 0);
    assert_true(start_pod_is_ready(kit.pod));
    kit_close(&kit);
}

/* A restart of its own, by rule or by policy, does not stand in the way of a later one of all. */
static void test_88_it_was_restarted_alone_before(void **state)
{
    (void)state;
    static const struct {
        enum start_policy policy;
        int code;
    } rows[] = {{RESTART_NEVER, 1}, {RESTART_ON_FAILURE, 5}, {RESTART_ALWAYS, 0}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit, 0);
        add(&kit,
            MAIN("a", .policy = rows[i].policy,
                 RULES(WHEN(1, ACTION_RESTART), WHEN(2, ACTION_RESTART_ALL))),
            MAIN("b", NEVER));
        bring_up(&kit, "ab");
        ends(&kit, 'a', rows[i].code);
        expect(&kit, "a unready, start a2");
        bring_up(&kit, "a");
        ends(&kit, 'a', 2);
        expect(&kit, "a unready, b unready, kill b1, weight");
        ends(&kit, 'b', 137);
        passes(&kit, 10 * SECOND); /* the second of a within ten minutes waits */
        expect(&kit, "start a3, start b2");
        assert_restarts(&kit, "a", 2);
        assert_restarts(&kit, "b", 1);
        assert_int_equal(kit_view(&kit, 'a').last.exit_code, 2);
        kit_close(&kit);
    }
}

static void test_89_init_fails_the_second_time(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, INIT("i", NEVER), MAIN("a", NEVER, ALL_UNLESS_0), MAIN("b", NEVER));
    bring_up(&kit, "i");
    ends(&kit, 'i', 0);
    bring_up(&kit, "ab");
    ends(&kit, 'a', 3);
    ends(&kit, 'b', 137);
    bring_up(&kit, "i");
    ends(&kit, 'i', 1);
    expect(&kit, "i unready, over");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_FAILED);
    passes(&kit, 3600 * SECOND);
    expect(&kit, "");
    assert_restarts(&kit, "i", 1);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_83_the_same_rule_on_two),
        cmocka_unit_test(test_84_an_init_container_asks_for_it),
        cmocka_unit_test(test_88_it_was_restarted_alone_before),
        cmocka_unit_test(test_89_init_fails_the_second_time),
    };
    return cmocka_run_group_tests_name("core/start_all", tests, NULL, NULL);
}
