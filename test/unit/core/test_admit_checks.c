// SPDX-License-Identifier: Apache-2.0
/* Admission checks: others have to agree before one that has quota is admitted. */
#include "admit_kit.h"

static const struct admit_check A = {.name = "a"};
static const struct admit_check A_AND_B[] = {{.name = "a"}, {.name = "b"}};

static void queue_with(struct kit *kit, const char *quotas, const struct admit_check *checks,
                       size_t n)
{
    struct admit_queue rules = {.preempt_tries_next = true, .checks = checks, .n_checks = n};
    kit_queue(kit, "q", NULL, quotas, &rules);
}

static void expect_state(struct kit *kit, const char *key, enum admit_state state,
                         const char *message)
{
    struct admit_view view;
    admit_explain(kit->admit, key, kit->now, &view);
    assert_string_equal(admit_state_text(view.state), admit_state_text(state));
    assert_string_equal(view.message, message);
}

static void test_admitted_when_all_agree(void **state)
{
    struct kit kit;
    struct admit_counts counts;
    (void)state;
    kit_open(&kit);
    queue_with(&kit, "f:cpu=2", A_AND_B, 2);
    kit_job(&kit, "w", "q", 0, "2*cpu=1");
    kit_job(&kit, "x", "q", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "reserve w f");
    expect_state(&kit, "ns/w", STATE_RESERVED, "has quota; waits for admission check a");
    admit_queue_counts(kit.admit, "q", &counts);
    assert_int_equal(counts.reserving, 1);
    assert_int_equal(counts.admitted, 0);
    assert_int_equal(counts.admissions, 0);
    kit_answer(&kit, "w", "a", ANSWER_READY, 0);
    KIT_EXPECT(&kit, "");
    expect_state(&kit, "ns/w", STATE_RESERVED, "has quota; waits for admission check b");
    kit_answer(&kit, "w", "b", ANSWER_READY, 0);
    KIT_EXPECT(&kit, "pass w");
    admit_queue_counts(kit.admit, "q", &counts);
    assert_int_equal(counts.admitted, 1);
    assert_int_equal(counts.admissions, 1);
    kit_answer(&kit, "w", "b", ANSWER_PENDING, 0); /* who runs is not stopped for a doubt … */
    KIT_EXPECT(&kit, "");
    kit.now += SECOND;
    kit_answer(&kit, "w", "b", ANSWER_RETRY, 0); /* … but for a word */
    KIT_EXPECT(&kit, "evict w AdmissionCheck, release w BackoffFinished, reserve x f");
    kit_close(&kit);
}

/* The time to get ready begins when it is admitted, not when it has quota. */
static void test_patience_begins_with_the_last_yes(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit.settings.waits_for_ready = true;
    kit_settings(&kit);
    queue_with(&kit, "f:cpu=2", &A, 1);
    kit_job(&kit, "w", "q", 0, "2*cpu=1");
    kit_pass(&kit, 60 * MINUTE);
    KIT_EXPECT(&kit, "reserve w f");
    kit_answer(&kit, "w", "a", ANSWER_READY, 0);
    kit_pass(&kit, 5 * MINUTE - 1);
    KIT_EXPECT(&kit, "pass w");
    kit_pass(&kit, 1);
    KIT_EXPECT(&kit, "evict w PodsReadyTimeout/WaitForStart 1 +60");
    kit_close(&kit);
}

/* Seconds from now; 0: none. */
struct asks {
    time_ms since, pause;
};
static void test_52_latest_end_wins(void **state)
{
    static const struct {
        const char *name;
        time_ms requeue_at;
        struct asks a, b;
        const char *want;
    } CASES[] = {
        {"later than what is written", 5, {0, 10}, {0}, "evict w AdmissionCheck +10"},
        {"sooner than what is written", 10, {0, 5}, {0}, "evict w AdmissionCheck +10"},
        {"two, the shorter one set later", 0, {10, 5}, {0, 10}, "evict w AdmissionCheck +15"},
        {"in the past", 0, {-20, 5}, {0}, "evict w AdmissionCheck"},
        {"it does not say when", 7, {0}, {0}, "evict w AdmissionCheck +7"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct kit kit;
        kit_open(&kit);
        kit.keeps_pods = true;
        queue_with(&kit, "f:cpu=2", A_AND_B, 2);
        struct kit_wl *wl = kit_runs(&kit, "w", "q", 0, "2*cpu=1", "f");
        const struct asks *asks[] = {&CASES[i].a, &CASES[i].b};
        for (size_t k = 0; k < ARRAY_LEN(asks); k++) {
            bool is_silent = k > 0 && asks[k]->pause == 0;
            wl->answers[k] =
                (struct admit_answered){A_AND_B[k].name, is_silent ? ANSWER_READY : ANSWER_RETRY,
                                        kit.now + asks[k]->since * SECOND, asks[k]->pause * SECOND};
        }
        wl->facts.answers = wl->answers;
        wl->facts.n_answers = ARRAY_LEN(asks);
        if (CASES[i].requeue_at != 0)
            wl->facts.requeue_at = kit.now + CASES[i].requeue_at * SECOND;
        kit_put(&kit, wl);
        kit_step(&kit);
        if (!str_eq(str_text(&kit.log), CASES[i].want))
            fail_msg("%s: %s", CASES[i].name, str_text(&kit.log));
        assert_int_equal(wl->facts.requeue_count, 0); /* no failure of its own */
        kit_close(&kit);
    }
}

/* In its pause it gives way, then it stands in the queue by the time of its eviction. */
static void test_retry_gives_way(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    queue_with(&kit, "f:cpu=2", &A, 1);
    kit_job(&kit, "w", "q", 0, "2*cpu=1");
    KIT_EXPECT(&kit, "reserve w f");
    kit.now += SECOND;
    kit_job(&kit, "x", "q", 0, "2*cpu=1");
    kit.now += SECOND;
    kit_answer(&kit, "w", "a", ANSWER_RETRY, 10 * SECOND);
    kit_step_once(&kit);
    assert_string_equal(str_text(&kit.log), "evict w AdmissionCheck +10");
    expect_state(&kit, "ns/w", STATE_BACKOFF, "an admission check asked to try again later");
    KIT_EXPECT(&kit, "evict w AdmissionCheck +10, reserve x f");
    kit_pass(&kit, 10 * SECOND);
    KIT_EXPECT(&kit, "release w BackoffFinished");
    kit_answer(&kit, "x", "a", ANSWER_READY, 0);
    KIT_EXPECT(&kit, "pass x");
    kit_finish(&kit, "x");
    KIT_EXPECT(&kit, "reserve w f");
    kit_close(&kit);
}

static void test_rejected_is_switched_off(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    queue_with(&kit, "f:cpu=2", A_AND_B, 2);
    struct kit_wl *wl = kit_job(&kit, "w", "q", 0, "2*cpu=1");
    KIT_EXPECT(&kit, "reserve w f");
    kit_answer(&kit, "w", "a", ANSWER_RETRY, 10 * SECOND);
    kit_answer(&kit, "w", "b", ANSWER_REJECTED, 0); /* a no counts more than a later */
    KIT_EXPECT(&kit, "deactivate w refused");
    expect_state(&kit, "ns/w", STATE_INACTIVE, "deactivated: an admission check has rejected it");
    wl->facts.is_active = true;
    kit_put(&kit, wl);
    KIT_EXPECT(&kit, "release w Reactivated, reserve w f");
    kit_close(&kit);
}

/* A check for some flavors is asked of those who got one of them. */
static void test_only_for_some_flavors(void **state)
{
    static const char *const SPOT[] = {"spot"};
    const struct admit_check check = {.name = "a", .flavors = SPOT, .n_flavors = 1};
    struct kit kit;
    const char *const *names;
    size_t n;
    (void)state;
    kit_open(&kit);
    queue_with(&kit, "owned:cpu=2 spot:cpu=2", &check, 1);
    kit_job(&kit, "w", "q", 0, "2*cpu=1");
    kit_job(&kit, "x", "q", 0, "2*cpu=1");
    KIT_EXPECT(&kit, "admit w owned, reserve x spot");
    assert_true(admit_checks(kit.admit, "ns/w", &names, &n));
    assert_int_equal(n, 0);
    assert_true(admit_checks(kit.admit, "ns/x", &names, &n));
    assert_int_equal(n, 1);
    assert_string_equal(names[0], "a");
    assert_false(admit_checks(kit.admit, "ns/gone", &names, &n));
    kit_answer(&kit, "w", "a", ANSWER_REJECTED, 0); /* nobody asked */
    KIT_EXPECT(&kit, "");
    kit_close(&kit);
}

/* What a queue asks for may change while somebody waits for it. */
static void test_queue_changes_its_mind(void **state)
{
    struct kit kit;
    struct admit_counts counts;
    const struct admit_check missing = {.name = "a", .is_missing = true};
    const struct admit_check inactive = {.name = "a", .is_inactive = true};
    (void)state;
    kit_open(&kit);
    queue_with(&kit, "f:cpu=3", &missing, 1);
    kit_job(&kit, "w", "q", 0, "2*cpu=1");
    KIT_EXPECT(&kit, "");
    admit_queue_counts(kit.admit, "q", &counts);
    assert_string_equal(counts.inactive, "AdmissionCheckNotFound");
    assert_string_equal(counts.inactive_message, "there is no AdmissionCheck a");
    queue_with(&kit, "f:cpu=3", &inactive, 1);
    KIT_EXPECT(&kit, "");
    admit_queue_counts(kit.admit, "q", &counts);
    assert_string_equal(counts.inactive, "AdmissionCheckInactive");
    queue_with(&kit, "f:cpu=3", A_AND_B, 2);
    KIT_EXPECT(&kit, "reserve w f");
    kit_answer(&kit, "w", "b", ANSWER_READY, 0);
    KIT_EXPECT(&kit, "");
    queue_with(&kit, "f:cpu=3", &A_AND_B[1], 1);
    KIT_EXPECT(&kit, "pass w");
    queue_with(&kit, "f:cpu=3", A_AND_B, 2); /* who is in is not asked again */
    KIT_EXPECT(&kit, "");
    admit_remove_queue(kit.admit, "q", kit.now);
    kit_answer(&kit, "w", "b", ANSWER_RETRY, 0);
    KIT_EXPECT(&kit, "");
    kit_close(&kit);
}

/* The write of an answer's decision failed: it is decided again. */
static void test_undone(void **state)
{
    struct kit kit;
    struct admit_decisions decisions;
    (void)state;
    kit_open(&kit);
    queue_with(&kit, "f:cpu=2", &A, 1);
    kit_job(&kit, "w", "q", 0, "2*cpu=1");
    KIT_EXPECT(&kit, "reserve w f");
    kit_answer(&kit, "w", "a", ANSWER_READY, 0);
    admit_step(kit.admit, kit.now, &decisions);
    assert_int_equal(decisions.len, 1);
    assert_int_equal(decisions.items[0].type, DECIDED_PASS);
    admit_undo(kit.admit, "ns/w", kit.now);
    KIT_EXPECT(&kit, "pass w");
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_admitted_when_all_agree),
        cmocka_unit_test(test_patience_begins_with_the_last_yes),
        cmocka_unit_test(test_52_latest_end_wins),
        cmocka_unit_test(test_retry_gives_way),
        cmocka_unit_test(test_rejected_is_switched_off),
        cmocka_unit_test(test_only_for_some_flavors),
        cmocka_unit_test(test_queue_changes_its_mind),
        cmocka_unit_test(test_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
