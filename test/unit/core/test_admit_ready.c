// SPDX-License-Identifier: Apache-2.0
/* waitForPodsReady: timers, pauses, limits, blocking; numbers are the pinned cases. */
#include "admit_kit.h"

static void open_waiting(struct kit *kit, const char *quota)
{
    kit_open(kit);
    kit->settings.waits_for_ready = true;
    kit_settings(kit);
    kit_queue(kit, "q", NULL, quota, NULL);
}

static void test_01_04_limit_deactivates_and_reactivation_counts_anew(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=1");
    kit.settings.limit_count = 2;
    kit_settings(&kit);
    kit_job(&kit, "w", "q", 0, "1*cpu=1");
    kit_pass(&kit, 60 * MINUTE);
    KIT_EXPECT(&kit, "admit w one, evict w PodsReadyTimeout/WaitForStart 1 +60, "
                     "release w BackoffFinished, admit w one, "
                     "evict w PodsReadyTimeout/WaitForStart 2 +120, "
                     "release w BackoffFinished, admit w one, deactivate w/WaitForStart");
    struct kit_wl *w = kit_find(&kit, "w");
    assert_int_equal(w->facts.requeue_count, 0);
    assert_int_equal(w->facts.requeue_at, 0);
    struct admit_counts counts;
    admit_queue_counts(kit.admit, "q", &counts);
    assert_int_equal(counts.evictions[EVICTED_LIMIT], 1);
    assert_int_equal(counts.evictions[EVICTED_READY_TIMEOUT], 2);
    assert_int_equal(counts.pending, 0);
    w->facts.is_active = true;
    kit_put(&kit, w);
    KIT_EXPECT(&kit, "release w Reactivated, admit w one");
    kit_pass(&kit, 5 * MINUTE);
    KIT_EXPECT(&kit, "evict w PodsReadyTimeout/WaitForStart 1 +60");
    kit_close(&kit);
}

static void test_limit_0_deactivates_at_the_first_timeout(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=1");
    kit.settings.limit_count = 0;
    kit_settings(&kit);
    kit_job(&kit, "w", "q", 0, "1*cpu=1");
    kit_pass(&kit, 5 * MINUTE);
    KIT_EXPECT(&kit, "admit w one, deactivate w/WaitForStart");
    kit_close(&kit);
}

/* One admitted workload, put as it is found; what is decided and when the next timer is. */
static void test_02_13_14_16_17_19_20_22_timers(void **state)
{
    static const struct {
        const char *name;
        time_ms admitted_ago, since_ago, timeout, recovery;
        enum admit_ready ready;
        int64_t count, limit;
        time_ms requeue_in;
        bool is_off, is_reserved_only;
        const char *want;
        time_ms next_in;
    } rows[] = {
        {.name = "2: at the limit",
         .admitted_ago = 300,
         .timeout = 3,
         .count = 1,
         .limit = 1,
         .ready = READY_WAITS_START,
         .requeue_in = -1,
         .want = "deactivate w/WaitForStart"},
        {.name = "13: recovery",
         .admitted_ago = 60,
         .timeout = 300,
         .recovery = 180,
         .limit = -1,
         .ready = READY_WAITS_RECOVERY,
         .want = "",
         .next_in = 180},
        {.name = "14: no recovery timer",
         .admitted_ago = 600,
         .timeout = 300,
         .limit = -1,
         .ready = READY_WAITS_RECOVERY,
         .want = "",
         .next_in = -1},
        {.name = "start timer",
         .admitted_ago = 60,
         .timeout = 300,
         .limit = -1,
         .ready = READY_WAITS_START,
         .want = "",
         .next_in = 240},
        {.name = "condition absent",
         .admitted_ago = 60,
         .timeout = 300,
         .limit = -1,
         .ready = READY_ABSENT,
         .want = "",
         .next_in = 240},
        {.name = "17: ready",
         .admitted_ago = 600,
         .timeout = 300,
         .limit = -1,
         .ready = READY_YES,
         .want = "",
         .next_in = -1},
        {.name = "17: not admitted",
         .admitted_ago = 600,
         .timeout = 300,
         .limit = -1,
         .ready = READY_WAITS_START,
         .is_reserved_only = true,
         .want = "",
         .next_in = -1},
        {.name = "17: off",
         .admitted_ago = 600,
         .timeout = 300,
         .limit = -1,
         .is_off = true,
         .ready = READY_WAITS_START,
         .want = "",
         .next_in = -1},
        {.name = "19: cap",
         .admitted_ago = 600,
         .timeout = 300,
         .count = 10,
         .limit = -1,
         .requeue_in = -1,
         .ready = READY_WAITS_START,
         .want = "evict w PodsReadyTimeout/WaitForStart 11 +7200"},
        {.name = "20: recovery passed",
         .admitted_ago = 200,
         .since_ago = 180,
         .timeout = 300,
         .recovery = 3,
         .limit = -1,
         .ready = READY_WAITS_RECOVERY,
         .want = "evict w PodsReadyTimeout/WaitForRecovery 1 +10"},
        {.name = "22: a later time stays",
         .admitted_ago = 600,
         .timeout = 300,
         .limit = -1,
         .requeue_in = 600,
         .ready = READY_WAITS_START,
         .want = "evict w PodsReadyTimeout/WaitForStart 1 +600"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        open_waiting(&kit, "one:cpu=1");
        kit.keeps_pods = true;
        kit.settings.waits_for_ready = !rows[i].is_off;
        kit.settings.timeout_ms = rows[i].timeout * SECOND;
        kit.settings.recovery_ms = rows[i].recovery * SECOND;
        kit.settings.limit_count = rows[i].limit;
        kit.settings.base_ms = 10 * SECOND;
        kit.settings.max_ms = 7200 * SECOND;
        kit_settings(&kit);
        const struct admit_check silent = {.name = "silent"};
        if (rows[i].is_reserved_only)
            kit_queue(&kit, "q", NULL, "one:cpu=1",
                      &(struct admit_queue){.checks = &silent, .n_checks = 1});
        struct kit_wl *w = kit_runs(&kit, "w", "q", 0, "1*cpu=1", "one");
        w->facts.is_admitted = !rows[i].is_reserved_only;
        w->facts.admitted_at = kit.now - rows[i].admitted_ago * SECOND;
        w->facts.ready = rows[i].ready;
        w->facts.ready_since = kit.now - rows[i].since_ago * SECOND;
        w->facts.requeue_count = rows[i].count;
        w->facts.requeue_at = rows[i].requeue_in ? kit.now + rows[i].requeue_in * SECOND : 0;
        kit_put(&kit, w);
        kit_step(&kit);
        if (!str_eq(str_text(&kit.log), rows[i].want))
            fail_msg("%s: '%s', not '%s'", rows[i].name, str_text(&kit.log), rows[i].want);
        time_ms next = admit_deadline(kit.admit);
        if (rows[i].next_in != 0)
            assert_int_equal(next,
                             rows[i].next_in < 0 ? TIME_NEVER : kit.now + rows[i].next_in * SECOND);
        kit_close(&kit);
    }
}

static void test_05_every_deactivation_can_be_undone(void **state)
{
    static const enum admit_evicted reasons[] = {EVICTED_INACTIVE, EVICTED_LIMIT, EVICTED_TOO_LONG,
                                                 EVICTED_REFUSED};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        struct kit kit;
        open_waiting(&kit, "one:cpu=1");
        struct kit_wl *w = kit_new(&kit, "w", "q", 0, "1*cpu=1");
        w->facts.evicted = w->facts.held_by = reasons[i];
        w->facts.is_held = true;
        w->facts.requeue_count = 3;
        kit_put(&kit, w);
        KIT_EXPECT(&kit, "release w Reactivated, admit w one");
        assert_int_equal(w->facts.requeue_count, 0);
        kit_close(&kit);
    }
}

static void test_23_25_47_end_of_a_pause(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=0");
    struct kit_wl *w = kit_new(&kit, "w", "q", 0, "1*cpu=1");
    w->facts.evicted = w->facts.held_by = EVICTED_READY_TIMEOUT;
    w->facts.is_held = true;
    w->facts.requeue_count = 1;
    w->facts.requeue_at = kit.now + 60 * SECOND;
    kit_put(&kit, w);
    KIT_EXPECT(&kit, "");
    assert_int_equal(admit_deadline(kit.admit), kit.now + 60 * SECOND);
    kit_pass(&kit, 60 * SECOND);
    KIT_EXPECT(&kit, "release w BackoffFinished");
    assert_int_equal(w->facts.requeue_count, 1);
    assert_int_equal(w->facts.requeue_at, 0);
    assert_int_equal(w->facts.evicted, EVICTED_READY_TIMEOUT);
    /* 25: a finished one is left alone. */
    w->facts.is_held = w->facts.is_finished = true;
    w->facts.requeue_at = kit.now - 1;
    kit_put(&kit, w);
    KIT_EXPECT(&kit, "");
    assert_int_equal(admit_deadline(kit.admit), TIME_NEVER);
    kit_close(&kit);
}

/* Whatever keeps it from being queued: 0 nothing of the queue is there, 1 no ClusterQueue, 2 that
 * does not serve the namespace, 3 it is held, 4 the LocalQueue is, 5 it names a check that is not
 * there. */
#define UNUSABLE 6
static void open_unusable(struct kit *kit, int how)
{
    const struct admit_check missing = {.name = "a", .is_missing = true};
    const struct admit_queue rules = {
        .stop = how == 3 ? STOP_HOLD : STOP_NONE, .checks = &missing, .n_checks = how == 5};
    open_waiting(kit, "one:cpu=1");
    kit_queue(kit, "q", NULL, "one:cpu=1", &rules);
    if (how <= 1)
        admit_remove_queue(kit->admit, "q", kit->now);
    if (how == 0)
        admit_remove_local(kit->admit, "ns/q", kit->now);
    if (how == 2 || how == 4)
        admit_put_local(kit->admit,
                        &(struct admit_local){.key = "ns/q",
                                              .queue = "q",
                                              .stop = how == 4 ? STOP_HOLD : STOP_NONE,
                                              .is_namespace_refused = how == 2},
                        kit->now);
}

static void test_05_23_24_without_a_usable_queue(void **state)
{
    (void)state;
    for (int how = 0; how < UNUSABLE; how++) {
        struct kit kit;
        open_unusable(&kit, how);
        struct kit_wl *off = kit_new(&kit, "off", "q", 0, "1*cpu=1");
        off->facts.evicted = off->facts.held_by = EVICTED_LIMIT;
        off->facts.is_held = true;
        off->facts.requeue_count = 3;
        kit_put(&kit, off);
        struct kit_wl *w = kit_new(&kit, "w", "q", 0, "1*cpu=1");
        w->facts.evicted = w->facts.held_by = EVICTED_READY_TIMEOUT;
        w->facts.evicted_at = kit.now + 1; /* after the other was made */
        w->facts.is_held = true;
        w->facts.requeue_count = 1;
        w->facts.requeue_at = kit.now + 60 * SECOND;
        kit_put(&kit, w);
        KIT_EXPECT(&kit, "release off Reactivated");
        assert_int_equal(off->facts.requeue_count, 0);
        kit_pass(&kit, 60 * SECOND - 1);
        KIT_EXPECT(&kit, "");
        assert_int_equal(admit_deadline(kit.admit), kit.now + 1);
        kit_pass(&kit, 1);
        KIT_EXPECT(&kit, "release w BackoffFinished");
        assert_int_equal(w->facts.requeue_count, 1);
        assert_int_equal(w->facts.requeue_at, 0);
        assert_int_equal(admit_deadline(kit.admit), TIME_NEVER);
        kit_queue(&kit, "q", NULL, "one:cpu=2", NULL);
        KIT_EXPECT(&kit, "admit off one, admit w one");
        kit_close(&kit);
    }
}

/* One whose queue was stopped returns when that is there and goes on, and not before. */
static void test_a_stopped_queue_has_to_go_on(void **state)
{
    (void)state;
    for (int how = 0; how < UNUSABLE; how++) {
        struct kit kit;
        open_unusable(&kit, how);
        struct kit_wl *by_queue = kit_new(&kit, "by-queue", "q", 0, "1*cpu=1");
        by_queue->facts.evicted = by_queue->facts.held_by = EVICTED_QUEUE_STOPPED;
        by_queue->facts.is_held = true;
        kit_put(&kit, by_queue);
        struct kit_wl *by_local = kit_new(&kit, "by-local", "q", 0, "1*cpu=1");
        by_local->facts.evicted = by_local->facts.held_by = EVICTED_LOCAL_STOPPED;
        by_local->facts.is_held = true;
        kit_put(&kit, by_local);
        static const char *const wants[UNUSABLE] = {
            "",
            "release by-local LocalQueueRestarted",
            "release by-queue ClusterQueueRestarted, release by-local LocalQueueRestarted",
            "release by-local LocalQueueRestarted",
            "release by-queue ClusterQueueRestarted",
            "release by-queue ClusterQueueRestarted, release by-local LocalQueueRestarted",
        };
        kit_step(&kit);
        if (!str_eq(str_text(&kit.log), wants[how]))
            fail_msg("%d: '%s', not '%s'", how, str_text(&kit.log), wants[how]);
        kit_queue(&kit, "q", NULL, "one:cpu=2", NULL);
        kit_step(&kit);
        assert_false(by_queue->facts.is_held || by_local->facts.is_held);
        assert_true(by_queue->facts.is_admitted && by_local->facts.is_admitted);
        kit_close(&kit);
    }
}

static void test_pauses_grow_to_the_cap_and_sum_up(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=1");
    kit.settings.limit_count = 10;
    kit_settings(&kit);
    kit_job(&kit, "w", "q", 0, "1*cpu=1");
    kit_pass(&kit, 24 * 60 * MINUTE);
    static const int pauses[] = {60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600};
    scoped_str want = {0};
    int sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(pauses); i++) {
        str_addf(&want, "admit w one, evict w PodsReadyTimeout/WaitForStart %zu +%d, ", i + 1,
                 pauses[i]);
        str_add(&want, "release w BackoffFinished, ");
        sum += pauses[i];
    }
    str_add(&want, "admit w one, deactivate w/WaitForStart");
    assert_int_equal(sum, 18180);
    KIT_EXPECT(&kit, str_text(&want));
    kit_close(&kit);
}

static void test_those_who_fail_together_do_not_return_together(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=2");
    kit.settings.base_ms = 100;
    kit_settings(&kit);
    for (int i = 0; i < 100; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "a%d", i);
        struct kit_wl *a = kit_job(&kit, name, "q", 0, "1*cpu=1");
        name[0] = 'b';
        struct kit_wl *b = kit_job(&kit, name, "q", 0, "1*cpu=1");
        kit_step(&kit);
        kit.now += 5 * MINUTE;
        kit_step(&kit);
        assert_int_equal(a->facts.evicted_at, kit.now);
        assert_int_equal(b->facts.evicted_at, kit.now);
        assert_int_not_equal(a->facts.requeue_at, b->facts.requeue_at);
        kit_finish(&kit, a->key + 3);
        kit_finish(&kit, b->key + 3);
    }
    kit_close(&kit);
}

static void test_quota_is_held_until_the_pods_are_gone(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=1");
    kit.keeps_pods = true;
    kit_job(&kit, "a", "q", 0, "1*cpu=1");
    kit.now++;
    kit_job(&kit, "b", "q", 0, "1*cpu=1");
    kit_pass(&kit, 5 * MINUTE);
    KIT_EXPECT(&kit, "admit a one, evict a PodsReadyTimeout/WaitForStart 1 +60");
    struct admit_view view;
    admit_explain(kit.admit, "ns/a", kit.now, &view);
    assert_int_equal(view.state, STATE_EVICTING);
    kit_gone(&kit, "a");
    KIT_EXPECT(&kit, "admit b one");
    kit_close(&kit);
}

static void test_31_32_who_is_next_after_a_timeout(void **state)
{
    static const struct {
        bool by_creation;
        const char *want;
    } rows[] = {
        {false, "admit w1 one, evict w1 PodsReadyTimeout/WaitForStart 1 +1, admit w2 one, "
                "release w1 BackoffFinished, evict w2 PodsReadyTimeout/WaitForStart 1 +1, "
                "admit w3 one, release w2 BackoffFinished, "
                "evict w3 PodsReadyTimeout/WaitForStart 1 +1, admit w1 one"},
        {true, "admit w1 one, evict w1 PodsReadyTimeout/WaitForStart 1 +1, admit w2 one, "
               "release w1 BackoffFinished, evict w2 PodsReadyTimeout/WaitForStart 1 +1, "
               "admit w1 one, release w2 BackoffFinished, "
               "evict w1 PodsReadyTimeout/WaitForStart 2 +2, admit w2 one"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        open_waiting(&kit, "one:cpu=1");
        kit.settings.blocks = true;
        kit.settings.orders_by_creation = rows[i].by_creation;
        kit.settings.base_ms = SECOND;
        kit_settings(&kit);
        kit_job(&kit, "w1", "q", 0, "1*cpu=1");
        kit.now++;
        kit_job(&kit, "w2", "q", 0, "1*cpu=1");
        kit.now++;
        kit_job(&kit, "w3", "q", 0, "1*cpu=1");
        kit_pass(&kit, 15 * MINUTE);
        KIT_EXPECT(&kit, rows[i].want);
        assert_int_equal(kit_find(&kit, "w3")->facts.requeue_count, rows[i].by_creation ? 0 : 1);
        kit_close(&kit);
    }
}

/* ---- blocking ---- */

static void open_blocking(struct kit *kit, enum admit_scope scope)
{
    kit_open(kit);
    kit->shows_waits = true;
    kit->settings.waits_for_ready = kit->settings.blocks = true;
    kit->settings.scope = scope;
    kit_settings(kit);
    kit_queue(kit, "prod", "all", "one:cpu=9", NULL);
    kit_queue(kit, "dev", "all", "one:cpu=9 two:cpu=9", NULL);
    kit_queue(kit, "lone", NULL, "two:cpu=9", NULL);
}

static void test_34_waits_until_the_other_is_ready(void **state)
{
    struct kit kit;
    (void)state;
    open_blocking(&kit, SCOPE_CLUSTER);
    kit_job(&kit, "p", "prod", 0, "1*cpu=1");
    kit.now++;
    kit_job(&kit, "d", "dev", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "admit p one, wait d WaitingForPodsReady");
    struct admit_view view;
    admit_explain(kit.admit, "ns/d", kit.now, &view);
    assert_int_equal(view.state, STATE_BLOCKED);
    assert_string_equal(view.blocker, "ns/p");
    kit_ready(&kit, "p", READY_YES);
    KIT_EXPECT(&kit, "admit d one");
    /* 38: not ready any more blocks again; deleted does not. */
    kit_ready(&kit, "d", READY_YES);
    kit_ready(&kit, "p", READY_WAITS_RECOVERY);
    kit_job(&kit, "l", "lone", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "wait l WaitingForPodsReady");
    admit_remove_workload(kit.admit, "ns/p", kit.now);
    KIT_EXPECT(&kit, "admit l two");
    kit_close(&kit);
}

static void test_35_one_of_two_heads(void **state)
{
    struct kit kit;
    (void)state;
    open_blocking(&kit, SCOPE_CLUSTER);
    kit_job(&kit, "old", "prod", 0, "1*cpu=1");
    kit.now++;
    kit_job(&kit, "new", "dev", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "admit old one, wait new WaitingForPodsReady");
    kit.settings.blocks = false;
    kit_settings(&kit);
    KIT_EXPECT(&kit, "admit new one");
    kit_close(&kit);
}

static void test_37_timed_out_and_gone_lets_others_in(void **state)
{
    struct kit kit;
    (void)state;
    open_blocking(&kit, SCOPE_CLUSTER);
    kit_job(&kit, "p", "prod", 0, "1*cpu=1");
    kit.now++;
    kit_job(&kit, "d", "dev", 0, "1*cpu=1");
    kit_pass(&kit, 5 * MINUTE);
    KIT_EXPECT(&kit, "admit p one, wait d WaitingForPodsReady, "
                     "evict p PodsReadyTimeout/WaitForStart 1 +60, admit d one");
    struct admit_counts counts;
    admit_queue_counts(kit.admit, "prod", &counts);
    assert_int_equal(counts.pending, 1);
    assert_int_equal(counts.reserving + counts.admitted, 0);
    assert_int_equal(counts.usage[0].reserved, 0);
    kit_close(&kit);
}

static void test_scopes_block_no_further_than_they_say(void **state)
{
    static const struct {
        enum admit_scope scope;
        const char *want;
    } rows[] = {
        {SCOPE_CLUSTER, "admit p one, wait d WaitingForPodsReady, wait p2 WaitingForPodsReady, "
                        "wait l WaitingForPodsReady"},
        {SCOPE_COHORT, "admit p one, admit l two, wait d WaitingForPodsReady, "
                       "wait p2 WaitingForPodsReady"},
        {SCOPE_QUEUE, "admit p one, admit d one, admit l two, wait p2 WaitingForPodsReady"},
        {SCOPE_FLAVOR, "admit p one, admit l two, wait d WaitingForPodsReady, "
                       "wait p2 WaitingForPodsReady"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kit kit;
        open_blocking(&kit, rows[i].scope);
        static const char *const jobs[][2] = {
            {"p", "prod"}, {"d", "dev"}, {"p2", "prod"}, {"l", "lone"}};
        for (size_t j = 0; j < ARRAY_LEN(jobs); j++, kit.now++)
            kit_job(&kit, jobs[j][0], jobs[j][1], 0, "1*cpu=1");
        KIT_EXPECT(&kit, rows[i].want);
        kit_close(&kit);
    }
}

static void test_quota_is_checked_again_when_it_is_its_turn(void **state)
{
    struct kit kit;
    (void)state;
    open_blocking(&kit, SCOPE_QUEUE);
    kit_job(&kit, "p", "prod", 0, "1*cpu=1");
    kit.now++;
    kit_job(&kit, "p2", "prod", 0, "1*cpu=9");
    KIT_EXPECT(&kit, "admit p one, wait p2 WaitingForPodsReady");
    kit_job(&kit, "d", "dev", 0, "1*cpu=9");
    KIT_EXPECT(&kit, "admit d one, wait p2 Pending");
    kit_ready(&kit, "p", READY_YES);
    KIT_EXPECT(&kit, "");
    kit_finish(&kit, "p");
    KIT_EXPECT(&kit, "admit p2 one");
    kit_close(&kit);
}

/* ---- ours on top ---- */

static void test_a_healthy_run_resets_the_count(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=1");
    kit_job(&kit, "w", "q", 0, "1*cpu=1");
    kit_pass(&kit, 7 * MINUTE);
    KIT_EXPECT(&kit, "admit w one, evict w PodsReadyTimeout/WaitForStart 1 +60, "
                     "release w BackoffFinished, admit w one");
    kit_ready(&kit, "w", READY_YES);
    kit_pass(&kit, 10 * MINUTE - 1);
    KIT_EXPECT(&kit, "");
    kit_pass(&kit, 1);
    KIT_EXPECT(&kit, "reset w");
    assert_int_equal(kit_find(&kit, "w")->facts.requeue_count, 0);
    kit_close(&kit);
}

static void test_a_flavor_that_failed_is_not_the_next(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=1 two:cpu=1");
    kit_job(&kit, "w", "q", 0, "1*cpu=1");
    kit_pass(&kit, 19 * MINUTE);
    KIT_EXPECT(&kit, "admit w one, evict w PodsReadyTimeout/WaitForStart 1 +60, "
                     "release w BackoffFinished, admit w two, "
                     "evict w PodsReadyTimeout/WaitForStart 2 +120, "
                     "release w BackoffFinished, admit w one, "
                     "evict w PodsReadyTimeout/WaitForStart 3 +240");
    kit_close(&kit);
}

static void test_a_flavor_without_alternative_is_tried_again(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=2 two:cpu=1");
    kit_job(&kit, "w", "q", 0, "1*cpu=2");
    kit_pass(&kit, 7 * MINUTE);
    KIT_EXPECT(&kit, "admit w one, evict w PodsReadyTimeout/WaitForStart 1 +60, "
                     "release w BackoffFinished, admit w one");
    kit_close(&kit);
}

static void test_a_flavor_in_its_pause_is_waited_for(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=1 two:cpu=1");
    kit_runs(&kit, "r", "q", 0, "1*cpu=1", "two");
    kit_job(&kit, "w", "q", 0, "1*cpu=1");
    kit_pass(&kit, 6 * MINUTE + 6 * SECOND);
    KIT_EXPECT(&kit, "admit w one, evict w PodsReadyTimeout/WaitForStart 1 +60, "
                     "release w BackoffFinished");
    kit_pass(&kit, 66 * SECOND);
    KIT_EXPECT(&kit, "admit w one");
    kit_close(&kit);
}

/* One that waits for its victim to go takes the flavor whose pause is over before that. */
static void test_a_preemptor_takes_a_flavor_after_its_pause(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=1 two:cpu=1");
    kit_queue(&kit, "q", NULL, "one:cpu=1 two:cpu=1",
              &(struct admit_queue){.preemption.within = WITHIN_LOWER});
    kit_runs(&kit, "r", "q", 0, "1*cpu=1", "two");
    kit_job(&kit, "w", "q", 1, "1*cpu=1");
    kit_pass(&kit, 5 * MINUTE);
    KIT_EXPECT(&kit, "admit w one, evict w PodsReadyTimeout/WaitForStart 1 +60");
    kit.keeps_pods = true;
    kit_pass(&kit, 66 * SECOND);
    KIT_EXPECT(&kit, "release w BackoffFinished, preempt r by w InClusterQueue");
    kit_pass(&kit, 66 * SECOND);
    KIT_EXPECT(&kit, "admit w one");
    kit_close(&kit);
}

static void test_limit_by_time(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=1");
    kit.settings.limit_ms = 9 * MINUTE;
    kit_settings(&kit);
    kit_job(&kit, "w", "q", 0, "1*cpu=1");
    kit_pass(&kit, 14 * MINUTE);
    KIT_EXPECT(&kit, "admit w one, evict w PodsReadyTimeout/WaitForStart 1 +60, "
                     "release w BackoffFinished, admit w one, "
                     "evict w PodsReadyTimeout/WaitForStart 2 +120, "
                     "release w BackoffFinished, admit w one, deactivate w/WaitForStart");
    kit_close(&kit);
}

static void test_50_deactivated_by_its_user(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=1");
    kit.keeps_pods = true;
    struct kit_wl *w = kit_runs(&kit, "w", "q", 0, "1*cpu=1", "one");
    w->facts.requeue_count = 2;
    w->facts.is_active = false;
    kit_put(&kit, w);
    KIT_EXPECT(&kit, "evict w Deactivated");
    assert_int_equal(w->facts.requeue_count, 0);
    kit_gone(&kit, "w");
    KIT_EXPECT(&kit, "");
    kit_close(&kit);
}

/* Evicted already it keeps its reason, but not its tries; switched on again it does not wait for
 * the end of the pause in which it was. */
static void test_49_deactivated_while_it_leaves_or_pauses(void **state)
{
    (void)state;
    for (int is_gone = 0; is_gone < 2; is_gone++) {
        struct kit kit;
        struct admit_counts counts;
        open_waiting(&kit, "one:cpu=1 two:cpu=1");
        kit.keeps_pods = !is_gone;
        struct kit_wl *w = kit_job(&kit, "w", "q", 0, "1*cpu=1");
        kit_pass(&kit, 5 * MINUTE);
        KIT_EXPECT(&kit, "admit w one, evict w PodsReadyTimeout/WaitForStart 1 +60");
        w->facts.is_active = false;
        kit_put(&kit, w);
        KIT_EXPECT(&kit, "reset w");
        assert_int_equal(w->facts.evicted, EVICTED_READY_TIMEOUT);
        assert_int_equal(w->facts.requeue_count + w->facts.requeue_at, 0);
        admit_queue_counts(kit.admit, "q", &counts);
        assert_int_equal(counts.evictions[EVICTED_INACTIVE], 0);
        if (!is_gone)
            kit_gone(&kit, "w");
        KIT_EXPECT(&kit, "");
        w->facts.is_active = true;
        kit_put(&kit, w);
        KIT_EXPECT(&kit, "release w BackoffFinished, admit w one");
        kit_close(&kit);
    }
}

static void test_deactivated_while_it_waits(void **state)
{
    struct kit kit;
    struct admit_view view;
    struct admit_counts counts;
    (void)state;
    open_waiting(&kit, "one:cpu=0");
    struct kit_wl *w = kit_job(&kit, "w", "q", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "");
    w->facts.is_active = false;
    w->facts.requeue_count = 2; /* of tries before */
    kit_put(&kit, w);
    KIT_EXPECT(&kit, "evict w Deactivated");
    assert_int_equal(w->facts.requeue_count, 0);
    admit_explain(kit.admit, "ns/w", kit.now, &view);
    assert_int_equal(view.state, STATE_INACTIVE);
    assert_string_equal(view.message, "deactivated");
    admit_queue_counts(kit.admit, "q", &counts);
    assert_int_equal(counts.evictions[EVICTED_INACTIVE], 0); /* it had no place to lose */
    kit_queue(&kit, "q", NULL, "one:cpu=1", NULL);
    KIT_EXPECT(&kit, "");
    w->facts.is_active = true;
    kit_put(&kit, w);
    KIT_EXPECT(&kit, "admit w one");
    kit_close(&kit);
}

/* Evictions before it was ready do not count: not at its first blip, not for the tries after it,
 * and not when it is evicted for another reason. Nobody but the engine forgets them here. */
static void test_limit_by_time_begins_anew_when_it_is_ready(void **state)
{
    struct kit kit;
    struct admit_view view;
    (void)state;
    open_waiting(&kit, "one:cpu=1");
    kit.settings.limit_ms = 9 * MINUTE + 30 * SECOND;
    kit.settings.recovery_ms = 2 * MINUTE;
    kit.settings.reset_after_ms = 0;
    kit_settings(&kit);
    struct kit_wl *w = kit_job(&kit, "w", "q", 0, "1*cpu=1");
    kit_pass(&kit, 7 * MINUTE);
    KIT_EXPECT(&kit, "admit w one, evict w PodsReadyTimeout/WaitForStart 1 +60, "
                     "release w BackoffFinished, admit w one");
    assert_int_not_equal(w->facts.first_evicted_at, 0);
    kit_ready(&kit, "w", READY_YES);
    kit_pass(&kit, 9 * MINUTE);
    KIT_EXPECT(&kit, "");
    kit_ready(&kit, "w", READY_WAITS_RECOVERY);
    KIT_EXPECT(&kit, "");
    admit_explain(kit.admit, "ns/w", kit.now, &view);
    assert_int_equal(view.evict_at, kit.now + 2 * MINUTE);
    kit_pass(&kit, 2 * MINUTE);
    KIT_EXPECT(&kit, "evict w PodsReadyTimeout/WaitForRecovery 2 +120");
    assert_int_equal(w->facts.first_evicted_at, kit.now);
    kit_pass(&kit, kit.settings.limit_ms - 1);
    KIT_EXPECT(&kit, "release w BackoffFinished, admit w one, "
                     "evict w PodsReadyTimeout/WaitForStart 3 +240");
    kit_pass(&kit, 1);
    KIT_EXPECT(&kit, "deactivate w");
    kit_queue(&kit, "p", NULL, "one:cpu=1",
              &(struct admit_queue){.preemption.within = WITHIN_LOWER});
    struct kit_wl *v = kit_runs(&kit, "v", "p", 0, "1*cpu=1", "one");
    v->facts.requeue_count = 1;
    v->facts.first_evicted_at = kit.now - 9 * MINUTE;
    kit_put(&kit, v);
    kit_job(&kit, "high", "p", 1, "1*cpu=1");
    KIT_EXPECT(&kit, "preempt v by high InClusterQueue, admit high one");
    assert_int_equal(v->facts.first_evicted_at, 0);
    kit_close(&kit);
}

/* Who counts as ready, and when all are: only then the one that waits is let in. */
static void test_38_when_all_are_ready(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=9");
    kit.settings.blocks = true;
    kit_settings(&kit);
    kit_queue(&kit, "p", NULL, "two:cpu=9", NULL);
    kit_job(&kit, "first", "q", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "admit first one"); /* nobody is there: all are ready */
    kit_job(&kit, "w", "p", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "");
    kit_ready(&kit, "first", READY_ABSENT);
    KIT_EXPECT(&kit, "");
    kit_ready(&kit, "first", READY_WAITS_START);
    KIT_EXPECT(&kit, "");
    kit_ready(&kit, "first", READY_YES);
    KIT_EXPECT(&kit, "admit w two");
    kit_ready(&kit, "w", READY_YES);
    kit_ready(&kit, "first", READY_WAITS_RECOVERY);
    kit_job(&kit, "x", "p", 0, "1*cpu=1");
    KIT_EXPECT(&kit, ""); /* one of two queues is not */
    kit_ready(&kit, "first", READY_YES);
    KIT_EXPECT(&kit, "admit x two");
    kit_job(&kit, "y", "q", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "");
    admit_remove_workload(kit.admit, "ns/x", kit.now); /* the one that is not ready is deleted */
    KIT_EXPECT(&kit, "admit y one");
    kit_close(&kit);
}

/* Nothing sleeps while somebody is waited for: a step ends, others are served, and all of it can be
 * thrown away at any time. */
static void test_40_nobody_sleeps_while_blocked(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=9");
    kit.settings.blocks = true;
    kit.settings.scope = SCOPE_QUEUE;
    kit_settings(&kit);
    kit_queue(&kit, "p", NULL, "two:cpu=9", NULL);
    kit_job(&kit, "first", "q", 0, "1*cpu=1");
    kit.now++;
    kit_job(&kit, "blocked", "q", 0, "1*cpu=1");
    kit_job(&kit, "other", "p", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "admit first one, admit other two");
    assert_true(admit_deadline(kit.admit) > kit.now);
    kit_close(&kit);
}

/* ---- maximumExecutionTimeSeconds ---- */

static struct kit_wl *limited(struct kit *kit, const char *name, time_ms max_run)
{
    struct kit_wl *wl = kit_new(kit, name, "q", 0, "1*cpu=1");
    wl->facts.max_run_ms = max_run;
    kit_put(kit, wl);
    return wl;
}

static void test_execution_time_is_counted_from_admission(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit); /* needs no waitForPodsReady */
    kit_queue(&kit, "q", NULL, "one:cpu=1", NULL);
    kit_job(&kit, "first", "q", 0, "1*cpu=1");
    limited(&kit, "w", 10 * MINUTE);
    kit_pass(&kit, 60 * MINUTE); /* waiting costs nothing */
    KIT_EXPECT(&kit, "admit first one");
    kit_finish(&kit, "first");
    KIT_EXPECT(&kit, "admit w one");
    struct admit_view view;
    admit_explain(kit.admit, "ns/w", kit.now, &view);
    assert_int_equal(view.over_at, kit.now + 10 * MINUTE);
    assert_int_equal(view.evict_at, 0);
    kit_ready(&kit, "w", READY_YES);
    kit_pass(&kit, 10 * MINUTE - 1);
    KIT_EXPECT(&kit, "");
    kit_pass(&kit, 1);
    KIT_EXPECT(&kit, "deactivate w too long");
    admit_explain(kit.admit, "ns/w", kit.now, &view);
    assert_int_equal(view.state, STATE_INACTIVE);
    assert_string_equal(view.message, "deactivated: it has run for its maximum execution time");
    kit_close(&kit);
}

static void test_execution_time_adds_up_over_evictions(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=1");
    kit.settings.recovery_ms = 1 * MINUTE;
    kit_settings(&kit);
    struct kit_wl *w = limited(&kit, "w", 10 * MINUTE);
    KIT_EXPECT(&kit, "admit w one");
    kit_pass(&kit, 4 * MINUTE);
    kit_ready(&kit, "w", READY_YES);
    kit_pass(&kit, 1 * MINUTE);
    kit_ready(&kit, "w", READY_WAITS_RECOVERY);
    kit_pass(&kit, 1 * MINUTE);
    KIT_EXPECT(&kit, "evict w PodsReadyTimeout/WaitForRecovery 1 +60");
    assert_int_equal(w->facts.past_run_ms, 6 * MINUTE);
    kit_pass(&kit, 2 * MINUTE);
    KIT_EXPECT(&kit, "release w BackoffFinished, admit w one");
    time_ms left = w->facts.admitted_at + 4 * MINUTE - kit.now;
    kit_pass(&kit, left - 1);
    KIT_EXPECT(&kit, "");
    kit_pass(&kit, 1);
    KIT_EXPECT(&kit, "deactivate w too long");
    w->facts.is_active = true; /* switched on again it has all of its time */
    kit_put(&kit, w);
    KIT_EXPECT(&kit, "release w Reactivated, admit w one");
    kit_ready(&kit, "w", READY_YES);
    kit_pass(&kit, 10 * MINUTE - 1);
    KIT_EXPECT(&kit, "");
    kit_pass(&kit, 1);
    KIT_EXPECT(&kit, "deactivate w too long");
    kit_close(&kit);
}

/* A row each: it runs out while it leaves, both timers at once, more time is given. */
static void test_execution_time_and_other_reasons(void **state)
{
    struct kit kit;
    (void)state;
    open_waiting(&kit, "one:cpu=1");
    kit.keeps_pods = true;
    struct kit_wl *w = limited(&kit, "w", 6 * MINUTE);
    kit_pass(&kit, 5 * MINUTE);
    KIT_EXPECT(&kit, "admit w one, evict w PodsReadyTimeout/WaitForStart 1 +60");
    kit_pass(&kit, 2 * MINUTE); /* an eviction is not changed while it leaves */
    KIT_EXPECT(&kit, "");
    kit_gone(&kit, "w"); /* it is not let in only to be deactivated */
    KIT_EXPECT(&kit, "deactivate w too long");
    w->facts.is_active = true;
    w->facts.is_held = true;
    w->facts.held_by = EVICTED_TOO_LONG;
    w->facts.max_run_ms = 5 * MINUTE; /* and both at once: getting ready comes first */
    kit_put(&kit, w);
    KIT_EXPECT(&kit, "release w Reactivated, admit w one");
    kit_pass(&kit, 5 * MINUTE);
    KIT_EXPECT(&kit, "evict w PodsReadyTimeout/WaitForStart 1 +60");
    w->facts.max_run_ms = 20 * MINUTE;
    kit_gone(&kit, "w");
    kit_pass(&kit, 2 * MINUTE);
    KIT_EXPECT(&kit, "release w BackoffFinished, admit w one");
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_01_04_limit_deactivates_and_reactivation_counts_anew),
        cmocka_unit_test(test_limit_0_deactivates_at_the_first_timeout),
        cmocka_unit_test(test_02_13_14_16_17_19_20_22_timers),
        cmocka_unit_test(test_05_every_deactivation_can_be_undone),
        cmocka_unit_test(test_23_25_47_end_of_a_pause),
        cmocka_unit_test(test_05_23_24_without_a_usable_queue),
        cmocka_unit_test(test_a_stopped_queue_has_to_go_on),
        cmocka_unit_test(test_pauses_grow_to_the_cap_and_sum_up),
        cmocka_unit_test(test_those_who_fail_together_do_not_return_together),
        cmocka_unit_test(test_quota_is_held_until_the_pods_are_gone),
        cmocka_unit_test(test_31_32_who_is_next_after_a_timeout),
        cmocka_unit_test(test_34_waits_until_the_other_is_ready),
        cmocka_unit_test(test_35_one_of_two_heads),
        cmocka_unit_test(test_37_timed_out_and_gone_lets_others_in),
        cmocka_unit_test(test_scopes_block_no_further_than_they_say),
        cmocka_unit_test(test_quota_is_checked_again_when_it_is_its_turn),
        cmocka_unit_test(test_a_healthy_run_resets_the_count),
        cmocka_unit_test(test_a_flavor_that_failed_is_not_the_next),
        cmocka_unit_test(test_a_flavor_without_alternative_is_tried_again),
        cmocka_unit_test(test_a_flavor_in_its_pause_is_waited_for),
        cmocka_unit_test(test_a_preemptor_takes_a_flavor_after_its_pause),
        cmocka_unit_test(test_limit_by_time),
        cmocka_unit_test(test_limit_by_time_begins_anew_when_it_is_ready),
        cmocka_unit_test(test_50_deactivated_by_its_user),
        cmocka_unit_test(test_49_deactivated_while_it_leaves_or_pauses),
        cmocka_unit_test(test_deactivated_while_it_waits),
        cmocka_unit_test(test_38_when_all_are_ready),
        cmocka_unit_test(test_40_nobody_sleeps_while_blocked),
        cmocka_unit_test(test_execution_time_is_counted_from_admission),
        cmocka_unit_test(test_execution_time_adds_up_over_evictions),
        cmocka_unit_test(test_execution_time_and_other_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
