// SPDX-License-Identifier: Apache-2.0
/* Preemption, flavors and partial admission; numbers are the pinned cases. */
#include "admit_kit.h"

#define LOWER                                                                                      \
    {                                                                                              \
        .within = WITHIN_LOWER                                                                     \
    }

static void test_59_no_more_victims_than_needed(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=6", &(struct admit_queue){.preemption = LOWER});
    kit_runs(&kit, "low", "q", -1, "1*cpu=1", "one");
    kit_runs(&kit, "mid", "q", 0, "1*cpu=2", "one");
    kit_runs(&kit, "high", "q", 1, "1*cpu=3", "one");
    kit_job(&kit, "new", "q", 1, "1*cpu=2");
    KIT_EXPECT(&kit, "preempt mid by new InClusterQueue, admit new one");
    kit_close(&kit);
}

static void test_61_the_latest_of_equals(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=3",
              &(struct admit_queue){.preemption.within = WITHIN_LOWER_OR_NEWER_EQUAL});
    struct kit_wl *new = kit_new(&kit, "new", "q", 1, "1*cpu=1");
    kit.now += 15 * SECOND;
    kit_runs(&kit, "w1", "q", 2, "1*cpu=1", "one");
    kit_runs(&kit, "w3", "q", 1, "1*cpu=1", "one");
    kit.now += SECOND;
    kit_runs(&kit, "w2", "q", 1, "1*cpu=1", "one");
    kit_put(&kit, new);
    KIT_EXPECT(&kit, "preempt w2 by new InClusterQueue, admit new one");
    kit_close(&kit);
}

static void test_62_takes_back_before_it_evicts_its_own(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    struct admit_queue rules = {.preemption = {.within = WITHIN_LOWER, .reclaim = RECLAIM_LOWER}};
    kit_queue(&kit, "c1", "all", "one:cpu=6", &rules);
    kit_queue(&kit, "c2", "all", "one:cpu=6", &rules);
    kit_runs(&kit, "c1-low", "c1", -1, "1*cpu=3", "one");
    kit_runs(&kit, "c2-mid", "c2", 0, "1*cpu=3", "one");
    kit_runs(&kit, "c2-high", "c2", 1, "1*cpu=6", "one");
    kit_job(&kit, "new", "c1", 1, "1*cpu=3");
    KIT_EXPECT(&kit, "preempt c2-mid by new InCohortReclamation, admit new one");
    kit_close(&kit);
}

/* It borrows even after the eviction unless `needs` is small. */
static void test_64_borrowing_while_taking_back(void **state)
{
    static const struct {
        int64_t victim;
        const char *needs, *want;
    } rows[] = {
        {-1, "1*cpu=4", "preempt v by new InCohortReclaimWhileBorrowing, admit new one"},
        {1, "1*cpu=4", ""},
        {1, "1*cpu=2", "preempt v by new InCohortReclamation, admit new one"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit);
        kit_queue(&kit, "a", "all", "one:cpu=2",
                  &(struct admit_queue){.preemption = {.reclaim = RECLAIM_LOWER,
                                                       .borrows_within_cohort = true,
                                                       .has_threshold = true}});
        kit_queue(&kit, "b", "all", "one:cpu=2", NULL);
        kit_queue(&kit, "c", "all", "one:cpu=2", NULL);
        kit_runs(&kit, "v", "b", rows[i].victim, "1*cpu=5", "one");
        kit_job(&kit, "new", "a", 2, rows[i].needs);
        KIT_EXPECT(&kit, rows[i].want);
        kit_close(&kit);
    }
}

/* A preempted gang that is older than its preemptor does not take the place back. */
static void test_no_flapping_after_preemption(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit.settings.waits_for_ready = kit.settings.blocks = kit.settings.orders_by_creation = true;
    kit_settings(&kit);
    kit.keeps_pods = true;
    kit_queue(&kit, "q", NULL, "one:cpu=4", &(struct admit_queue){.preemption = LOWER});
    kit_job(&kit, "low", "q", 0, "1*cpu=3");
    KIT_EXPECT(&kit, "admit low one");
    kit_ready(&kit, "low", READY_YES);
    kit.now++;
    kit_job(&kit, "high", "q", 1, "1*cpu=3");
    kit.now++;
    kit_job(&kit, "tiny", "q", 0, "1*cpu=2");
    KIT_EXPECT(&kit, "preempt low by high InClusterQueue");
    struct admit_view view;
    admit_explain(kit.admit, "ns/high", kit.now, &view);
    assert_int_equal(view.state, STATE_PREEMPTING);
    assert_string_equal(view.blocker, "ns/low");
    kit_gone(&kit, "low");
    KIT_EXPECT(&kit, "admit high one");
    kit_ready(&kit, "high", READY_YES);
    KIT_EXPECT(&kit, "");
    kit_finish(&kit, "high");
    KIT_EXPECT(&kit, "admit low one");
    kit_close(&kit);
}

static void test_a_better_one_takes_the_place_of_a_preemptor(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit.keeps_pods = true;
    kit_queue(&kit, "q", NULL, "one:cpu=4", &(struct admit_queue){.preemption = LOWER});
    kit_runs(&kit, "low", "q", 0, "1*cpu=4", "one");
    kit_job(&kit, "mid", "q", 1, "1*cpu=4");
    KIT_EXPECT(&kit, "preempt low by mid InClusterQueue");
    kit_job(&kit, "high", "q", 2, "1*cpu=4");
    KIT_EXPECT(&kit, "");
    kit_gone(&kit, "low");
    KIT_EXPECT(&kit, "admit high one");
    kit_close(&kit);
}

static void test_67_68_69_which_flavor(void **state)
{
    static const struct {
        const char *name, *quotas, *other;
        bool borrow_next, preempt_next, prefers_preemption;
        enum admit_within within;
        int64_t runs;
        const char *want;
    } rows[] = {
        {"first that fits", "one:cpu=2 two:cpu=9", "one:cpu=0", .want = "admit w one"},
        {"67: may borrow", "one:cpu=1 two:cpu=9", "one:cpu=1", .want = "admit w one"},
        {"67: next", "one:cpu=1 two:cpu=9", "one:cpu=1", .borrow_next = true,
         .want = "admit w two"},
        {"67: two too small", "one:cpu=1 two:cpu=1", "one:cpu=1", .borrow_next = true,
         .want = "admit w one"},
        {"preempts at the first", "one:cpu=2 two:cpu=9", "one:cpu=0", .within = WITHIN_LOWER,
         .runs = 2, .want = "preempt r by w InClusterQueue, admit w one, admit r two"},
        {"tries the next first", "one:cpu=2 two:cpu=9", "one:cpu=0", .within = WITHIN_LOWER,
         .runs = 2, .preempt_next = true, .want = "admit w two"},
        {"borrows nothing when its victim is gone", "one:cpu=2 two:cpu=9", "one:cpu=0",
         .within = WITHIN_LOWER, .runs = 2, .borrow_next = true,
         .want = "preempt r by w InClusterQueue, admit w one, admit r two"},
        {"borrows even when its victim is gone", "one:cpu=1 two:cpu=9", "one:cpu=1",
         .within = WITHIN_LOWER, .runs = 2, .borrow_next = true, .want = "admit w two"},
        {"69: borrows rather than preempts", "one:cpu=2 two:cpu=1", "one:cpu=0 two:cpu=5",
         .within = WITHIN_LOWER, .runs = 2, .borrow_next = true, .preempt_next = true,
         .want = "admit w two"},
        {"69: preempts rather than borrows", "one:cpu=2 two:cpu=1", "one:cpu=0 two:cpu=5",
         .within = WITHIN_LOWER, .runs = 2, .borrow_next = true, .preempt_next = true,
         .prefers_preemption = true,
         .want = "preempt r by w InClusterQueue, admit w one, admit r two"},
        {"68: no victims", "one:cpu=2 two:cpu=9", "one:cpu=0", .runs = 2, .want = "admit w two"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit);
        kit_queue(&kit, "q", "all", rows[i].quotas,
                  &(struct admit_queue){.borrow_tries_next = rows[i].borrow_next,
                                        .preempt_tries_next = rows[i].preempt_next,
                                        .prefers_preemption = rows[i].prefers_preemption,
                                        .preemption.within = rows[i].within});
        kit_queue(&kit, "p", "all", rows[i].other, NULL);
        if (rows[i].runs > 0)
            kit_runs(&kit, "r", "q", -1, "2*cpu=1", "one");
        kit_job(&kit, "w", "q", 0, "2*cpu=1");
        kit_step(&kit);
        if (!str_eq(str_text(&kit.log), rows[i].want))
            fail_msg("%s: '%s', not '%s'", rows[i].name, str_text(&kit.log), rows[i].want);
        kit_close(&kit);
    }
}

static void test_flavors_that_do_not_suit(void **state)
{
    struct kit kit;
    struct admit_view view;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=9 two:cpu=1", NULL);
    struct kit_wl *wl = kit_new(&kit, "w", "q", 0, "2*cpu=1");
    wl->unfit[0] = (struct admit_unfit){"one", "untolerated taint spot"};
    wl->sets[0].unfit = wl->unfit;
    wl->sets[0].n_unfit = 1;
    kit_put(&kit, wl);
    KIT_EXPECT(&kit, "");
    admit_explain(kit.admit, "ns/w", kit.now, &view);
    assert_string_equal(
        view.message, "couldn't assign flavors to pod set s0: flavor one: untolerated taint spot, "
                      "insufficient quota for cpu in flavor two (needs 2, at most 1)");
    assert_string_equal(view.hint,
                        "it can never fit: raise the quota of ClusterQueue q or ask for less");
    kit_queue(&kit, "q", NULL, "one:cpu=9 two:cpu=2", NULL);
    KIT_EXPECT(&kit, "admit w two");
    kit_close(&kit);
}

static void test_pod_sets_share_flavors(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=5 two:cpu=5", NULL);
    kit_job(&kit, "a", "q", 0, "1*cpu=4; 1*cpu=4");
    KIT_EXPECT(&kit, "admit a one/two");
    kit_job(&kit, "b", "q", 0, "1*cpu=1; 2*cpu=1");
    KIT_EXPECT(&kit, "");
    kit_close(&kit);
}

static void test_quota_for_pods_counts_them(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=100,pods=5", NULL);
    kit_job(&kit, "a", "q", 0, "3*cpu=1");
    kit_job(&kit, "b", "q", 0, "3*cpu=1");
    KIT_EXPECT(&kit, "admit a one");
    kit_close(&kit);
}

static void test_70_partial_admission(void **state)
{
    static const struct {
        const char *sets, *want;
    } rows[] = {
        {"50/20*cpu=2", "admit w one*25"},
        {"20*cpu=1; 30/10*cpu=1; 15/5*cpu=1", "admit w one/one*20/one*10"},
        {"60/51*cpu=1", ""},
        {"50/20*cpu=1", "admit w one"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit);
        kit_queue(&kit, "q", NULL, "one:cpu=50", NULL);
        kit_job(&kit, "w", "q", 0, rows[i].sets);
        KIT_EXPECT(&kit, rows[i].want);
        kit_close(&kit);
    }
}

static void test_71_preempts_rather_than_shrinks(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:gpu=20", &(struct admit_queue){.preemption = LOWER});
    kit_runs(&kit, "low", "q", -1, "10*gpu=1", "one");
    kit_job(&kit, "w", "q", 0, "20/10*gpu=1");
    KIT_EXPECT(&kit, "preempt low by w InClusterQueue, admit w one");
    kit_close(&kit);
}

/* Two of one queue wait for their victims, each on a flavor of its own. Whoever looks again, and
 * however often, they get what they evicted others for; a flavor that is free at once is taken. */
static void test_a_claim_keeps_its_flavor(void **state)
{
    static const struct admit_queue RULES = {.preempt_tries_next = true,
                                             .preemption = {.within = WITHIN_LOWER}};
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct kit kit;
        kit_open(&kit);
        kit.keeps_pods = true;
        kit_queue(&kit, "q", NULL, "one:cpu=2 two:cpu=2 three:cpu=1", &RULES);
        kit_runs(&kit, "a", "q", 0, "1*cpu=2", "one");
        kit_runs(&kit, "b", "q", 1, "1*cpu=2", "two");
        kit_runs(&kit, "c", "q", 9, "1*cpu=1", "three");
        kit_job(&kit, "x", "q", 3, round == 0 ? "1*cpu=2" : "1*cpu=1");
        kit_job(&kit, "y", "q", 2, "1*cpu=2");
        KIT_EXPECT(&kit, "preempt a by x InClusterQueue, preempt b by y InClusterQueue");
        for (int i = 0; i < 3; i++) { /* something else changes */
            kit_put(&kit, kit_find(&kit, "c"));
            KIT_EXPECT(&kit, "");
        }
        if (round == 0) {
            kit_gone(&kit, "b");
            KIT_EXPECT(&kit, "admit y two");
            kit_gone(&kit, "a");
            KIT_EXPECT(&kit, "admit x one");
        } else {
            kit_finish(&kit, "c");
            KIT_EXPECT(&kit, "admit x three");
            kit_gone(&kit, "b");
            KIT_EXPECT(&kit, "admit y two");
        }
        kit_close(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_59_no_more_victims_than_needed),
        cmocka_unit_test(test_61_the_latest_of_equals),
        cmocka_unit_test(test_62_takes_back_before_it_evicts_its_own),
        cmocka_unit_test(test_64_borrowing_while_taking_back),
        cmocka_unit_test(test_no_flapping_after_preemption),
        cmocka_unit_test(test_a_better_one_takes_the_place_of_a_preemptor),
        cmocka_unit_test(test_67_68_69_which_flavor),
        cmocka_unit_test(test_flavors_that_do_not_suit),
        cmocka_unit_test(test_pod_sets_share_flavors),
        cmocka_unit_test(test_quota_for_pods_counts_them),
        cmocka_unit_test(test_70_partial_admission),
        cmocka_unit_test(test_71_preempts_rather_than_shrinks),
        cmocka_unit_test(test_a_claim_keeps_its_flavor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
