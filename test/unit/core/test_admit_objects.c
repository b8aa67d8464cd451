// SPDX-License-Identifier: Apache-2.0
/* Objects change and go while gangs wait or run in them; and what cannot be is refused with a text
 * that names it. */
#include "admit_kit.h"
#include <errno.h>

static void expect_view(struct kit *kit, const char *key, enum admit_state state,
                        const char *message)
{
    struct admit_view view;
    admit_explain(kit->admit, key, kit->now, &view);
    assert_int_equal(view.state, state);
    assert_string_equal(view.message, message);
}

static void point_local(struct kit *kit, const char *key, const char *queue, enum admit_stop stop)
{
    admit_put_local(kit->admit, &(struct admit_local){.key = key, .queue = queue, .stop = stop},
                    kit->now);
}

/* ---- objects go, and come back ---- */

static void test_what_is_not_there_is_no_error(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    for (int i = 0; i < 2; i++) {
        admit_remove_queue(kit.admit, "q", kit.now);
        admit_remove_cohort(kit.admit, "c", kit.now);
        admit_remove_local(kit.admit, "ns/q", kit.now);
        admit_remove_workload(kit.admit, "ns/a", kit.now);
        admit_undo(kit.admit, "ns/a", kit.now);
        if (i > 0)
            break;
        /* The second time they have been there. */
        kit_queue(&kit, "q", NULL, "one:cpu=10", NULL);
        kit_cohort(&kit, "c", NULL, "one:cpu=1");
        kit_job(&kit, "a", "q", 0, "1*cpu=1");
        KIT_EXPECT(&kit, "admit a one");
        admit_remove_workload(kit.admit, "ns/a", kit.now);
        admit_remove_local(kit.admit, "ns/q", kit.now);
        admit_remove_queue(kit.admit, "q", kit.now);
        admit_remove_cohort(kit.admit, "c", kit.now);
    }
    struct admit_counts counts;
    admit_queue_counts(kit.admit, "q", &counts);
    assert_false(counts.is_known);
    admit_queue_counts(kit.admit, "never", &counts);
    assert_false(counts.is_known);
    admit_local_counts(kit.admit, "ns/q", &counts);
    assert_false(counts.is_known);
    admit_local_counts(kit.admit, "ns/never", &counts);
    assert_false(counts.is_known);
    expect_view(&kit, "ns/a", STATE_UNKNOWN, "not known");
    KIT_EXPECT(&kit, "");
    kit_close(&kit);
}

/* Who waits in a queue that goes is held, and who runs keeps what it has, until it comes back. */
static void test_a_queue_goes_and_comes_back(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=2", NULL);
    kit_job(&kit, "a", "q", 0, "1*cpu=2");
    kit.now++;
    kit_job(&kit, "b", "q", 0, "1*cpu=2");
    KIT_EXPECT(&kit, "admit a one");
    admit_remove_queue(kit.admit, "q", kit.now);
    KIT_EXPECT(&kit, "");
    struct admit_view view;
    admit_explain(kit.admit, "ns/b", kit.now, &view);
    assert_int_equal(view.state, STATE_HELD);
    admit_explain(kit.admit, "ns/a", kit.now, &view);
    assert_int_equal(view.state, STATE_ADMITTED);
    kit_queue(&kit, "q", NULL, "one:cpu=3", NULL);
    KIT_EXPECT(&kit, ""); /* a still has two of them */
    kit_finish(&kit, "a");
    KIT_EXPECT(&kit, "admit b one");
    kit_close(&kit);
}

static void test_a_local_queue_goes_and_comes_back(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=2", NULL);
    kit_job(&kit, "a", "q", 0, "1*cpu=2");
    kit.now++;
    kit_job(&kit, "b", "q", 0, "1*cpu=2");
    KIT_EXPECT(&kit, "admit a one");
    admit_remove_local(kit.admit, "ns/q", kit.now);
    kit_finish(&kit, "a");
    KIT_EXPECT(&kit, "");
    struct admit_view view;
    admit_explain(kit.admit, "ns/b", kit.now, &view);
    assert_int_equal(view.state, STATE_HELD);
    assert_null(view.queue);
    point_local(&kit, "ns/q", "q", STOP_NONE);
    KIT_EXPECT(&kit, "admit b one");
    kit_close(&kit);
}

/* A local queue that is pointed elsewhere takes those that wait with it. */
static void test_a_local_queue_is_pointed_elsewhere(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=2", NULL);
    kit_queue(&kit, "other", NULL, "one:cpu=1", NULL);
    point_local(&kit, "ns/second", "q", STOP_NONE);
    kit_job(&kit, "a", "q", 0, "1*cpu=2");
    kit.now++;
    kit_job(&kit, "b", "q", 0, "1*cpu=1");
    kit.now++;
    kit_job(&kit, "c", "second", 0, "1*cpu=1");
    KIT_EXPECT(&kit, "admit a one");
    point_local(&kit, "ns/second", "other", STOP_NONE);
    KIT_EXPECT(&kit, "admit c one");
    point_local(&kit, "ns/second", "other", STOP_NONE); /* says the same: nothing happens */
    KIT_EXPECT(&kit, "");
    struct admit_view view;
    admit_explain(kit.admit, "ns/b", kit.now, &view);
    assert_int_equal(view.position, 1);
    assert_string_equal(view.queue, "q");
    kit_close(&kit);
}

static void test_a_workload_changes_its_queue(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=1", NULL);
    kit_queue(&kit, "other", NULL, "one:cpu=4", NULL);
    struct kit_wl *a = kit_job(&kit, "a", "q", 0, "1*cpu=2");
    struct kit_wl *b = kit_job(&kit, "b", "q", 0, "1*cpu=2");
    KIT_EXPECT(&kit, "");
    (void)snprintf(a->local, sizeof(a->local), "ns/other");
    kit_put(&kit, a);
    KIT_EXPECT(&kit, "admit a one");
    (void)snprintf(b->local, sizeof(b->local), "ns/other");
    kit_put(&kit, b);
    KIT_EXPECT(&kit, "admit b one");
    struct admit_counts counts;
    admit_local_counts(kit.admit, "ns/q", &counts);
    assert_int_equal(counts.pending, 0);
    admit_local_counts(kit.admit, "ns/other", &counts);
    assert_int_equal(counts.reserving, 2);
    kit_close(&kit);
}

/* Deleted and made again between two looks: only the uid tells, and with a later birth it queues
 * behind. One without a uid is taken as it is. */
static void test_another_workload_of_the_same_name(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=2", NULL);
    kit_job(&kit, "first", "q", 0, "1*cpu=2");
    kit.now++;
    struct kit_wl *a = kit_job(&kit, "a", "q", 0, "1*cpu=2");
    kit.now++;
    kit_job(&kit, "b", "q", 0, "1*cpu=2");
    KIT_EXPECT(&kit, "admit first one");
    kit.now++;
    (void)snprintf(a->uid, sizeof(a->uid), "uid-2");
    a->facts.created = kit.now;
    kit_put(&kit, a);
    kit_finish(&kit, "first");
    KIT_EXPECT(&kit, "admit b one");
    kit_finish(&kit, "b");
    KIT_EXPECT(&kit, "admit a one");
    struct kit_wl *c = kit_new(&kit, "c", "q", 0, "1*cpu=2");
    c->facts.uid = NULL;
    c->uid[0] = '\0';
    kit_put(&kit, c);
    kit_put(&kit, c);
    kit_finish(&kit, "a");
    KIT_EXPECT(&kit, "admit c one");
    kit_close(&kit);
}

/* What is written as its admission counts, whoever wrote it, also when it is written over. */
static void test_an_admission_is_written_over(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=4,gpu=4 two:cpu=4,gpu=4", NULL);
    struct kit_wl *a = kit_runs(&kit, "a", "q", 0, "2*cpu=1,gpu=1", "one");
    static const struct {
        const char *resource, *flavor;
        int64_t count, amount;
        int64_t one_cpu, one_gpu, two_cpu;
    } ROWS[] = {
        {"cpu", "one", 2, 3000, 3000, 2000, 0}, {"cpu", "two", 2, 3000, 0, 2000, 3000},
        {"gpu", "one", 2, 1000, 0, 3000, 0},    {"gpu", "one", 1, 1000, 0, 3000, 0},
        {"cpu", "one", 1, 1000, 1000, 2000, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        a->picks[0][0] = (struct admit_pick){ROWS[i].resource, ROWS[i].flavor, ROWS[i].amount};
        a->assigned[0].count = ROWS[i].count;
        kit_put(&kit, a);
        KIT_EXPECT(&kit, "");
        struct admit_counts counts;
        admit_queue_counts(kit.admit, "q", &counts);
        assert_int_equal(counts.n_usage, 4);
        assert_int_equal(counts.usage[0].reserved, ROWS[i].one_cpu);
        assert_int_equal(counts.usage[1].reserved, ROWS[i].one_gpu);
        assert_int_equal(counts.usage[2].reserved, ROWS[i].two_cpu);
    }
    /* Quota that names no queue is none. */
    a->facts.queue = NULL;
    kit_put(&kit, a);
    KIT_EXPECT(&kit, "admit a one");
    kit_close(&kit);
}

static void test_a_cohort_lends_no_more(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_cohort(&kit, "c", NULL, "one:cpu=5");
    kit_cohort(&kit, "c", NULL, "one:cpu=5"); /* says the same */
    kit_queue(&kit, "q", "c", "one:cpu=1", NULL);
    kit_job(&kit, "a", "q", 0, "1*cpu=4");
    KIT_EXPECT(&kit, "admit a one");
    kit.now++;
    kit_job(&kit, "b", "q", 0, "1*cpu=2");
    KIT_EXPECT(&kit, "admit b one");
    admit_remove_cohort(kit.admit, "c", kit.now);
    kit_finish(&kit, "a");
    kit_finish(&kit, "b");
    kit_job(&kit, "d", "q", 0, "1*cpu=2");
    KIT_EXPECT(&kit, "");
    kit_cohort(&kit, "c", NULL, "one:cpu=1");
    KIT_EXPECT(&kit, "admit d one");
    kit_close(&kit);
}

/* ---- what is told ---- */

static void test_a_resource_that_the_queue_does_not_have(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=4", NULL);
    kit_job(&kit, "a", "q", 0, "1*cpu=1,gpu=1");
    KIT_EXPECT(&kit, "");
    struct admit_view view;
    admit_explain(kit.admit, "ns/a", kit.now, &view);
    assert_int_equal(view.state, STATE_NO_QUOTA);
    assert_int_equal(view.n_shortages, 1);
    assert_string_equal(view.shortages[0].resource, "gpu");
    assert_string_equal(view.shortages[0].why, "the queue has no quota for it");
    assert_string_equal(
        view.hint, "it can never fit: give ClusterQueue q quota for gpu, or do not ask for it");
    kit_close(&kit);
}

/* Each would fit alone. */
static void test_pod_sets_that_do_not_fit_together(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=6", NULL);
    kit_job(&kit, "a", "q", 0, "1*cpu=1;6*cpu=1");
    KIT_EXPECT(&kit, "");
    struct admit_view view;
    admit_explain(kit.admit, "ns/a", kit.now, &view);
    assert_int_equal(view.n_shortages, 1);
    assert_int_equal(view.shortages[0].needed, 7000);
    assert_int_equal(view.shortages[0].capacity, 6000);
    assert_non_null(
        strstr(view.message, "insufficient quota for cpu in flavor one (needs 7, at most 6)"));
    assert_string_equal(view.hint,
                        "it can never fit: raise the quota of ClusterQueue q or ask for less");
    kit_close(&kit);
}

static void test_why_a_local_queue_admits_nothing(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    kit_queue(&kit, "q", NULL, "one:cpu=4", NULL);
    struct admit_counts counts;
    KIT_EXPECT(&kit, "");
    admit_local_counts(kit.admit, "ns/q", &counts);
    assert_null(counts.inactive);
    point_local(&kit, "ns/q", "q", STOP_HOLD);
    admit_local_counts(kit.admit, "ns/q", &counts);
    assert_string_equal(counts.inactive, "Stopped");
    assert_string_equal(counts.inactive_message, "it is stopped (stopPolicy)");
    point_local(&kit, "ns/q", "q", STOP_NONE);
    admit_remove_flavor(kit.admit, "one", kit.now);
    KIT_EXPECT(&kit, "");
    admit_local_counts(kit.admit, "ns/q", &counts);
    assert_string_equal(counts.inactive, "ClusterQueueIsInactive");
    struct admit_counts of_queue;
    admit_queue_counts(kit.admit, "q", &of_queue);
    assert_string_equal(counts.inactive_message, of_queue.inactive_message);
    kit_close(&kit);
}

/* ---- what cannot be ---- */

static void test_quotas_that_cannot_be(void **state)
{
    static const char *const RESOURCES[] = {"cpu"}, *const FLAVORS[] = {"one", "one"};
    static const struct {
        size_t n_resources, n_flavors;
        struct admit_quota quota;
        const char *text;
    } ROWS[] = {
        {0, 1, {1, -1, -1}, "x: a resource group without covered resources"},
        {1, 0, {1, -1, -1}, "x: a resource group without flavors"},
        {1, 2, {1, -1, -1}, "x: flavor one is listed twice"},
        {1, 1, {-1, -1, -1}, "x: quota of cpu in flavor one is below zero"},
        {1, 1, {1, -2, -1}, "x: quota of cpu in flavor one is below zero"},
        {1, 1, {1, -1, -2}, "x: quota of cpu in flavor one is below zero"},
    };
    struct kit kit;
    (void)state;
    kit_open(&kit);
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        const struct admit_quota quotas[] = {ROWS[i].quota, ROWS[i].quota};
        struct admit_group group = {RESOURCES, ROWS[i].n_resources, FLAVORS, ROWS[i].n_flavors,
                                    quotas};
        struct admit_queue queue = {.name = "x", .groups = &group, .n_groups = 1};
        struct admit_cohort cohort = {"x", NULL, &group, 1};
        struct err err = {0};
        assert_int_equal(admit_put_queue(kit.admit, &queue, kit.now, &err), -EINVAL);
        assert_string_equal(err.text, ROWS[i].text);
        err = (struct err){0};
        assert_int_equal(admit_put_cohort(kit.admit, &cohort, kit.now, &err), -EINVAL);
        assert_string_equal(err.text, ROWS[i].text);
        struct admit_counts counts;
        admit_queue_counts(kit.admit, "x", &counts);
        assert_false(counts.is_known);
    }
    kit_close(&kit);
}

static void expect_refused(struct kit *kit, const struct kit_wl *wl, const char *text)
{
    struct err err = {0};
    assert_int_equal(admit_put_workload(kit->admit, &wl->facts, kit->now, &err), -EINVAL);
    assert_string_equal(err.text, text);
    expect_view(kit, wl->key, STATE_UNKNOWN, "not known");
}

static void test_workloads_that_cannot_be(void **state)
{
    struct kit kit;
    (void)state;
    kit_open(&kit);
    expect_refused(&kit, kit_new(&kit, "a", "q", 0, ""), "workload ns/a has no pod sets");
    expect_refused(&kit, kit_new(&kit, "b", "q", 0, "-1*cpu=1"),
                   "workload ns/b: pod set s0 has a count below zero");
    expect_refused(&kit, kit_new(&kit, "c", "q", 0, "3/-1*cpu=1"),
                   "workload ns/c: pod set s0 has a count below zero");
    expect_refused(&kit, kit_new(&kit, "d", "q", 0, "1*cpu=-1"),
                   "workload ns/d: pod set s0 asks for less than no cpu");
    struct kit_wl *wl = kit_new(&kit, "e", "q", 0, "1*cpu=1");
    wl->picks[0][0] = (struct admit_pick){"cpu", "one", -1};
    wl->assigned[0] = (struct admit_assigned){"s0", 1, wl->picks[0], 1};
    wl->facts.assigned = wl->assigned;
    wl->facts.n_assigned = 1;
    expect_refused(&kit, wl, "workload ns/e: assigned less than no cpu");
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_there_is_no_error),
        cmocka_unit_test(test_a_queue_goes_and_comes_back),
        cmocka_unit_test(test_a_local_queue_goes_and_comes_back),
        cmocka_unit_test(test_a_local_queue_is_pointed_elsewhere),
        cmocka_unit_test(test_a_workload_changes_its_queue),
        cmocka_unit_test(test_another_workload_of_the_same_name),
        cmocka_unit_test(test_an_admission_is_written_over),
        cmocka_unit_test(test_a_cohort_lends_no_more),
        cmocka_unit_test(test_a_resource_that_the_queue_does_not_have),
        cmocka_unit_test(test_pod_sets_that_do_not_fit_together),
        cmocka_unit_test(test_why_a_local_queue_admits_nothing),
        cmocka_unit_test(test_quotas_that_cannot_be),
        cmocka_unit_test(test_workloads_that_cannot_be),
    };
    return cmocka_run_group_tests_name("admit_objects", tests, NULL, NULL);
}
