// SPDX-License-Identifier: Apache-2.0
/* Queues, order and quota; numbers are the pinned cases. */
#include "admit_kit.h"

static void test_first_come_first_served(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=10", NULL);
    kit_job(&kit, "a", "q", 0, "3*cpu=2");
    kit.now++;
    kit_job(&kit, "b", "q", 0, "1*cpu=5");
    kit.now++;
    kit_job(&kit, "c", "q", 0, "1*cpu=4");
    KIT_EXPECT(&kit, "admit a one, admit c one");
    kit_finish(&kit, "a");
    KIT_EXPECT(&kit, "admit b one");
    kit_close(&kit);
}

static void test_strict_head_blocks(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit.shows_waits = true;
    kit_queue(&kit, "q", NULL, "one:cpu=10", &(struct admit_queue){.strategy = STRICT_FIFO});
    kit_job(&kit, "a", "q", 0, "3*cpu=2");
    kit.now++;
    kit_job(&kit, "b", "q", 0, "1*cpu=5");
    kit.now++;
    kit_job(&kit, "c", "q", 0, "1*cpu=4");
    KIT_EXPECT(&kit, "admit a one, wait b Pending");
    struct admit_view view;
    admit_explain(kit.admit, "ns/c", kit.now, &view);
    assert_int_equal(view.state, STATE_BEHIND);
    assert_string_equal(view.blocker, "ns/b");
    assert_int_equal(view.position, 2);
    admit_explain(kit.admit, "ns/b", kit.now, &view);
    assert_int_equal(view.state, STATE_NO_QUOTA);
    assert_string_equal(view.message, "couldn't assign flavors to pod set s0: insufficient unused "
                                      "quota for cpu in flavor one (needs 5)");
    assert_string_equal(view.hint,
                        "1 more of cpu in flavor one has to become free in ClusterQueue q");
    kit_close(&kit);
}

static void test_29_priority_first(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=1", NULL);
    kit_job(&kit, "w1", "q", 1, "1*cpu=1");
    kit.now++;
    kit_job(&kit, "w2", "q", 2, "1*cpu=1");
    KIT_EXPECT(&kit, "admit w2 one");
    kit_close(&kit);
}

/* w1 was evicted after w2 was created. */
static void test_28_evicted_goes_behind_or_stays_in_front(void **state)
{
    static const struct {
        bool by_creation;
        const char *want;
    } rows[] = {{false, "admit w2 one"}, {true, "admit w1 one"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit);
        kit.settings.orders_by_creation = rows[i].by_creation;
        kit_settings(&kit);
        kit_queue(&kit, "q", NULL, "one:cpu=1", &(struct admit_queue){.strategy = STRICT_FIFO});
        struct kit_wl *w1 = kit_new(&kit, "w1", "q", 0, "1*cpu=1");
        kit.now++;
        kit_job(&kit, "w2", "q", 0, "1*cpu=1");
        kit.now++;
        w1->facts.evicted = EVICTED_READY_TIMEOUT;
        w1->facts.evicted_at = kit.now;
        kit_put(&kit, w1);
        KIT_EXPECT(&kit, rows[i].want);
        kit_close(&kit);
    }
}

/* Which time orders it: when it was evicted for not being ready, or when it was created. A check
 * that sent it back always has it stand behind. */
static void test_26_time_of_order(void **state)
{
    static const struct {
        enum admit_evicted evicted;
        bool by_creation;
        size_t want; /* its place, of three */
    } rows[] = {
        {EVICTED_READY_TIMEOUT, false, 3}, {EVICTED_READY_TIMEOUT, true, 1},
        {EVICTED_CHECK, false, 3},         {EVICTED_CHECK, true, 3},
        {EVICTED_PREEMPTED, false, 1},     {EVICTED_NOT, false, 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        struct admit_view view;
        kit_open(&kit);
        kit.settings.orders_by_creation = rows[i].by_creation;
        kit_settings(&kit);
        kit_queue(&kit, "q", NULL, "one:cpu=0", NULL);
        struct kit_wl *w = kit_new(&kit, "w", "q", 0, "1*cpu=1");
        kit.now++;
        kit_job(&kit, "x", "q", 0, "1*cpu=1");
        kit.now++;
        kit_job(&kit, "y", "q", 0, "1*cpu=1");
        kit.now++;
        w->facts.evicted = rows[i].evicted;
        w->facts.evicted_at = kit.now;
        kit_put(&kit, w);
        kit_step(&kit);
        admit_explain(kit.admit, "ns/w", kit.now, &view);
        assert_int_equal(view.position, rows[i].want);
        kit_close(&kit);
    }
}

/* Where one goes that was tried in vain. In a StrictFIFO queue it holds the others up, unless it is
 * not in the queue at all; put again it is there once. */
static void test_53_after_a_try_in_vain(void **state)
{
    static const struct {
        enum admit_strategy strategy;
        bool is_refused, is_paused;
        const char *want;
    } rows[] = {
        {BEST_EFFORT_FIFO, false, false, "admit small one"},
        {STRICT_FIFO, false, false, ""},
        {BEST_EFFORT_FIFO, true, false, "admit small one"},
        {STRICT_FIFO, true, false, "admit small one"},
        {BEST_EFFORT_FIFO, false, true, "admit small one"},
        {STRICT_FIFO, false, true, "admit small one"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        struct admit_counts counts;
        kit_open(&kit);
        kit_queue(&kit, "q", NULL, "one:cpu=1",
                  &(struct admit_queue){.strategy = rows[i].strategy});
        admit_put_local(kit.admit,
                        &(struct admit_local){.key = "ns/other",
                                              .queue = "q",
                                              .is_namespace_refused = rows[i].is_refused},
                        kit.now);
        struct kit_wl *large = kit_new(&kit, "large", "other", 1, "1*cpu=2");
        large->facts.requeue_at = rows[i].is_paused ? kit.now + 60 * SECOND : 0;
        kit_put(&kit, large);
        kit_job(&kit, "small", "q", 0, "1*cpu=1");
        KIT_EXPECT(&kit, rows[i].want);
        kit_put(&kit, large);
        kit_put(&kit, large);
        KIT_EXPECT(&kit, "");
        admit_queue_counts(kit.admit, "q", &counts);
        assert_int_equal(counts.pending, rows[i].want[0] ? 1 : 2);
        kit_close(&kit);
    }
}

static void test_preempted_keeps_its_creation_time(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=1", NULL);
    struct kit_wl *w1 = kit_new(&kit, "w1", "q", 0, "1*cpu=1");
    kit.now++;
    kit_job(&kit, "w2", "q", 0, "1*cpu=1");
    kit.now++;
    w1->facts.evicted = EVICTED_PREEMPTED;
    w1->facts.evicted_at = kit.now;
    kit_put(&kit, w1);
    KIT_EXPECT(&kit, "admit w1 one");
    kit_close(&kit);
}

static void test_equal_times_are_ordered_by_uid(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=1", NULL);
    kit_job(&kit, "b", "q", 0, "1*cpu=1");
    kit_job(&kit, "a", "q", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "admit a one");
    kit_close(&kit);
}

static void test_07_08_10_11_pause_keeps_out_and_still_counts(void **state)
{
    static const struct {
        time_ms from_now;
        bool is_held, is_out;
    } rows[] = {
        {60 * SECOND, false, true}, {60 * SECOND, true, true}, {-60 * SECOND, false, false},
        {0, false, false},          {1, false, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit);
        kit_queue(&kit, "q", NULL, "one:cpu=9", NULL);
        struct kit_wl *b = kit_new(&kit, "b", "q", 0, "1*cpu=1");
        b->facts.evicted = EVICTED_READY_TIMEOUT;
        b->facts.evicted_at = kit.now - 90 * SECOND;
        b->facts.requeue_count = 1;
        b->facts.requeue_at = rows[i].from_now ? kit.now + rows[i].from_now : 0;
        b->facts.is_held = rows[i].is_held;
        b->facts.held_by = EVICTED_READY_TIMEOUT;
        kit_put(&kit, b);
        kit_step(&kit);
        assert_int_equal(strstr(str_text(&kit.log), "admit b") == NULL, rows[i].is_out);
        struct admit_counts counts;
        admit_queue_counts(kit.admit, "q", &counts);
        assert_int_equal(counts.pending, rows[i].is_out);
        if (rows[i].is_out) {
            assert_int_equal(admit_deadline(kit.admit), b->facts.requeue_at);
            /* A change that frees quota does not let it in early. */
            kit_queue(&kit, "q", NULL, "one:cpu=20", NULL);
            KIT_EXPECT(&kit, "");
            kit_pass(&kit, rows[i].from_now);
            KIT_EXPECT(&kit, "release b BackoffFinished, admit b one");
        }
        kit_close(&kit);
    }
}

static void test_55_what_is_not_queued(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        struct kit kit;
        kit_open(&kit);
        kit_queue(&kit, "q", NULL, "one:cpu=9", NULL);
        struct kit_wl *wl = kit_new(&kit, "w", i == 3 ? "nowhere" : "q", 0, "1*cpu=1");
        wl->facts.is_finished = i == 0;
        wl->facts.is_active = i != 1;
        wl->facts.is_deleted = i == 2;
        struct admit_local local = {.key = "ns/q", .queue = i == 4 ? "gone" : "q"};
        local.stop = i == 5 ? STOP_HOLD : STOP_NONE;
        local.is_namespace_refused = i == 6;
        if (i == 4 || i == 5 || i == 6)
            admit_put_local(kit.admit, &local, kit.now);
        if (i == 7)
            admit_remove_flavor(kit.admit, "one", kit.now);
        kit_put(&kit, wl);
        KIT_EXPECT(&kit, i == 1 ? "evict w Deactivated" : "");
        struct admit_view view;
        admit_explain(kit.admit, "ns/w", kit.now, &view);
        static const enum admit_state want[] = {STATE_FINISHED, STATE_INACTIVE, STATE_HELD};
        assert_int_equal(view.state, i < 3 ? want[i] : STATE_HELD);
        kit_close(&kit);
    }
}

static void test_58_who_does_not_borrow_goes_first(void **state)
{
    static const struct {
        const char *first, *second, *want;
    } rows[] = {
        {"1*cpu=56", "1*cpu=45", "admit b one"},
        {"1*cpu=55", "1*cpu=45", "admit b one, admit a one"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit);
        kit_queue(&kit, "qa", "all", "one:cpu=50", NULL);
        kit_queue(&kit, "qb", "all", "one:cpu=50", NULL);
        kit_job(&kit, "a", "qa", 0, rows[i].first);
        kit.now++;
        kit_job(&kit, "b", "qb", 0, rows[i].second);
        KIT_EXPECT(&kit, rows[i].want);
        kit_close(&kit);
    }
}

static void test_limits_of_borrowing_and_lending(void **state)
{
    static const struct {
        const char *quota_a, *quota_b, *request, *want;
    } rows[] = {
        {"one:cpu=5", "one:cpu=5", "1*cpu=10", "admit a one"},
        {"one:cpu=5+4", "one:cpu=5", "1*cpu=10", ""},
        {"one:cpu=5+4", "one:cpu=5", "1*cpu=9", "admit a one"},
        {"one:cpu=5", "one:cpu=5-3", "1*cpu=9", ""},
        {"one:cpu=5", "one:cpu=5-3", "1*cpu=8", "admit a one"},
        {"one:cpu=5+0", "one:cpu=5", "1*cpu=6", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit);
        kit_queue(&kit, "qa", "all", rows[i].quota_a, NULL);
        kit_queue(&kit, "qb", "all", rows[i].quota_b, NULL);
        kit_job(&kit, "a", "qa", 0, rows[i].request);
        KIT_EXPECT(&kit, rows[i].want);
        kit_close(&kit);
    }
}

static void test_cohorts_are_trees(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_cohort(&kit, "root", NULL, "one:cpu=2");
    kit_cohort(&kit, "left", "root", "one:cpu=1+3");
    kit_queue(&kit, "qa", "left", "one:cpu=1", NULL);
    kit_queue(&kit, "qb", "root", "one:cpu=10", NULL);
    kit_job(&kit, "a", "qa", 0, "1*cpu=6");
    kit_job(&kit, "b", "qa", 0, "1*cpu=5");
    KIT_EXPECT(&kit, "admit b one");
    /* A ring of cohorts admits nothing and says why. */
    kit_cohort(&kit, "root", "left", "");
    kit_job(&kit, "c", "qa", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "");
    struct admit_view view;
    admit_explain(kit.admit, "ns/c", kit.now, &view);
    assert_string_equal(view.message,
                        "ClusterQueue qa cannot be used: its cohort is its own ancestor");
    kit_close(&kit);
}

static void test_65_quota_of_a_blocked_head_is_not_lent(void **state)
{
    static const struct {
        enum admit_reclaim reclaim;
        const char *want;
    } rows[] = {{RECLAIM_ANY, "admit b one"}, {RECLAIM_LOWER, ""}, {RECLAIM_NEVER, ""}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        kit_open(&kit);
        kit_queue(&kit, "qa", "all", "one:gpu=2",
                  &(struct admit_queue){.preemption.reclaim = rows[i].reclaim});
        kit_queue(&kit, "qb", "all", "one:gpu=0", NULL);
        kit_runs(&kit, "r", "qa", 0, "1*gpu=1", "one");
        kit_job(&kit, "a", "qa", 0, "1*gpu=2");
        kit.now++;
        kit_job(&kit, "b", "qb", 0, "1*gpu=1");
        KIT_EXPECT(&kit, rows[i].want);
        kit_finish(&kit, "r");
        if (rows[i].reclaim == RECLAIM_ANY)
            KIT_EXPECT(&kit, "preempt b by a InCohortReclamation, admit a one");
        else
            KIT_EXPECT(&kit, "admit a one");
        kit_close(&kit);
    }
}

/* a waited and kept quota; now it fits, and x, which borrows too, is still the first of its queue:
 * y, which does not, is not tried before a. */
static void test_a_head_that_fits_keeps_nothing(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "qa", "all", "one:cpu=3", NULL);
    kit_queue(&kit, "qb", "all", "one:cpu=4", NULL);
    kit_runs(&kit, "ra", "qa", 0, "1*cpu=1", "one");
    kit_runs(&kit, "rb", "qb", 0, "1*cpu=2", "one");
    kit_runs(&kit, "rc", "qb", 0, "1*cpu=3", "one");
    kit_job(&kit, "a", "qa", 1, "1*cpu=3");
    kit_job(&kit, "x", "qb", 0, "1*cpu=3");
    kit.now++;
    kit_job(&kit, "y", "qb", 0, "1*cpu=2");
    KIT_EXPECT(&kit, "");
    kit_finish(&kit, "rc");
    KIT_EXPECT(&kit, "admit a one");
    kit_close(&kit);
}

static void test_stop_policies(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=1", NULL);
    kit_job(&kit, "a", "q", 0, "1*cpu=1");
    kit_job(&kit, "b", "q", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "admit a one");
    kit_queue(&kit, "q", NULL, "one:cpu=2", &(struct admit_queue){.stop = STOP_HOLD});
    KIT_EXPECT(&kit, "");
    kit_queue(&kit, "q", NULL, "one:cpu=2", &(struct admit_queue){.stop = STOP_HOLD_AND_DRAIN});
    KIT_EXPECT(&kit, "evict a ClusterQueueStopped");
    kit_queue(&kit, "q", NULL, "one:cpu=2", NULL);
    KIT_EXPECT(&kit, "release a ClusterQueueRestarted, admit a one, admit b one");
    struct admit_local local = {.key = "ns/q", .queue = "q", .stop = STOP_HOLD_AND_DRAIN};
    admit_put_local(kit.admit, &local, kit.now);
    KIT_EXPECT(&kit, "evict a LocalQueueStopped, evict b LocalQueueStopped");
    kit_close(&kit);
}

static void test_failed_writes_are_taken_back(void **state)
{
    struct kit kit;
    struct admit_decisions decisions;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=1", NULL);
    kit_job(&kit, "a", "q", 0, "1*cpu=1");
    admit_step(kit.admit, kit.now, &decisions);
    assert_int_equal(decisions.len, 1);
    admit_step(kit.admit, kit.now, &decisions);
    assert_int_equal(decisions.len, 0);
    admit_undo(kit.admit, "ns/a", kit.now);
    assert_null(admit_check(kit.admit));
    KIT_EXPECT(&kit, "admit a one");
    kit_close(&kit);
}

static void test_counts_of_queues(void **state)
{
    struct kit kit;
    struct admit_counts counts;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", "all", "one:cpu=2 two:cpu=1", NULL);
    kit_queue(&kit, "p", "all", "one:cpu=2", NULL);
    kit_step(&kit);
    while (admit_changed_queue(kit.admit))
        ;
    kit_job(&kit, "a", "q", 0, "3*cpu=1");
    kit_job(&kit, "b", "q", 0, "9*cpu=1");
    KIT_EXPECT(&kit, "admit a one");
    admit_queue_counts(kit.admit, "q", &counts);
    assert_int_equal(counts.pending, 1);
    assert_int_equal(counts.reserving, 1);
    assert_int_equal(counts.admitted, 1);
    assert_int_equal(counts.n_usage, 2);
    assert_int_equal(counts.usage[0].used, 3000);
    assert_int_equal(counts.usage[0].borrowed, 1000);
    assert_int_equal(counts.usage[1].reserved, 0);
    assert_string_equal(admit_changed_queue(kit.admit), "q");
    assert_null(admit_changed_queue(kit.admit));
    assert_int_equal(admit_queue_active(kit.admit, "q"), 0); /* b waits for a change */
    assert_int_equal(admit_queue_active(kit.admit, "none"), 0);
    kit_close(&kit);
}

static void test_who_waits_for_his_turn(void **state)
{
    struct kit kit;
    struct admit_queue strict = {.strategy = STRICT_FIFO};
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "strict", NULL, "one:cpu=2", &strict);
    kit_job(&kit, "a", "strict", 0, "9*cpu=1");
    kit_job(&kit, "b", "strict", 0, "1*cpu=1");
    kit_step(&kit);
    assert_int_equal(admit_queue_active(kit.admit, "strict"), 2);
    strict.stop = STOP_HOLD;
    kit_queue(&kit, "strict", NULL, "one:cpu=2", &strict);
    kit_step(&kit);
    assert_int_equal(admit_queue_active(kit.admit, "strict"), 0);
    kit_close(&kit);
}

static void test_what_cannot_be_is_refused(void **state)
{
    struct kit kit;
    struct err err = {0};
    (void)state;
    kit_open(&kit);
    static const char *const names[] = {"one", "one"};
    static const struct admit_quota quotas[] = {{-1, ADMIT_NO_LIMIT, ADMIT_NO_LIMIT}, {0}};
    struct admit_group group = {names, 1, names, 2, quotas};
    struct admit_queue queue = {.name = "q", .groups = &group, .n_groups = 1};
    assert_true(admit_put_queue(kit.admit, &queue, 0, &err) < 0);
    assert_string_equal(err.text, "q: flavor one is listed twice");
    group.n_flavors = 1;
    assert_true(admit_put_queue(kit.admit, &queue, 0, &err) < 0);
    assert_string_equal(err.text, "q: quota of one in flavor one is below zero");
    struct kit_wl *wl = kit_new(&kit, "w", "q", 0, "1*cpu=-1");
    assert_true(admit_put_workload(kit.admit, &wl->facts, 0, &err) < 0);
    assert_string_equal(err.text, "workload ns/w: pod set s0 asks for less than no cpu");
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_come_first_served),
        cmocka_unit_test(test_strict_head_blocks),
        cmocka_unit_test(test_29_priority_first),
        cmocka_unit_test(test_28_evicted_goes_behind_or_stays_in_front),
        cmocka_unit_test(test_preempted_keeps_its_creation_time),
        cmocka_unit_test(test_equal_times_are_ordered_by_uid),
        cmocka_unit_test(test_07_08_10_11_pause_keeps_out_and_still_counts),
        cmocka_unit_test(test_26_time_of_order),
        cmocka_unit_test(test_53_after_a_try_in_vain),
        cmocka_unit_test(test_55_what_is_not_queued),
        cmocka_unit_test(test_58_who_does_not_borrow_goes_first),
        cmocka_unit_test(test_limits_of_borrowing_and_lending),
        cmocka_unit_test(test_cohorts_are_trees),
        cmocka_unit_test(test_65_quota_of_a_blocked_head_is_not_lent),
        cmocka_unit_test(test_a_head_that_fits_keeps_nothing),
        cmocka_unit_test(test_stop_policies),
        cmocka_unit_test(test_failed_writes_are_taken_back),
        cmocka_unit_test(test_counts_of_queues),
        cmocka_unit_test(test_who_waits_for_his_turn),
        cmocka_unit_test(test_what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
