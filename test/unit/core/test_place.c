// SPDX-License-Identifier: Apache-2.0
/* The engine by itself: what it counts, what it reserves, what each predicate refuses. Placements
 * are tried in cli/place (cases) and core/place_prop (random). */
#include "base/mem.h"
#include "core/place/bind.h"
#include "core/place/place.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct place *pool(const struct place_policy *policy, int pods)
{
    struct place *place = place_new(policy, 10);
    char node[16], zone[16];
    place_set_replicas(place, pods);
    for (int i = 0; i < pods; i++) {
        (void)snprintf(node, sizeof(node), "n%d", i);
        (void)snprintf(zone, sizeof(zone), "z%d", i % 3);
        place_set_node(place, node, zone, PLACE_NODE_OK);
        place_set_pod(place, i, node, false);
    }
    return place;
}

static const struct place_policy PLAIN = {.has_scheduler = true, .placing.ordinal = 1};
static const struct place_policy EVEN = {.has_scheduler = true, .is_even = true, .max_skew = 2};
static const struct place_policy PARTS = {.has_scheduler = true, .partitions = 2};

static void set(struct place *place, const char *name, int want, const struct place_at *at,
                size_t n)
{
    struct place_wish wish = {.vreplicas = want};
    place_set_vpod(place, name, &wish, at, n);
}

static struct place_refusal refusal(struct place *place, const char *name, int32_t pod)
{
    struct place_refusals list = {0};
    place_explain(place, name, &list);
    struct place_refusal found = list.of.items[pod];
    vec_done(&list.of);
    return found;
}

/* ---- what each predicate says ---- */

static void test_10_11_68_filters(void **state)
{
    (void)state;
    struct place *place = pool(&EVEN, 3);
    set(place, "v", 9, (const struct place_at[]){{0, 5}, {1, 3}}, 2);
    assert_int_equal(refusal(place, "v", 0).reason, PLACE_UNEVEN);
    assert_int_equal(refusal(place, "v", 0).limit, 2);
    assert_int_equal(refusal(place, "v", 2).reason, PLACE_TAKES);
    /* A full pod without any of ours does not count; one with some does. */
    set(place, "other", 10, (const struct place_at[]){{2, 10}}, 1);
    assert_int_equal(refusal(place, "v", 2).reason, PLACE_FULL);
    assert_int_equal(refusal(place, "v", 0).limit, 5);
    assert_int_equal(refusal(place, "v", 1).reason, PLACE_TAKES);
    place_set_policy(place, &PARTS);
    set(place, "other", 0, NULL, 0);
    assert_int_equal(refusal(place, "v", 2).reason, PLACE_TOO_SPREAD);
    assert_int_equal(refusal(place, "v", 0).reason, PLACE_TAKES);
    place_free(place);
}

static void test_pods_that_get_nothing(void **state)
{
    (void)state;
    struct place *place = pool(&PLAIN, 5);
    set(place, "v", 5, NULL, 0);
    place_set_node(place, "n0", "z0", PLACE_NODE_CORDONED);
    place_set_node(place, "n1", "z1", PLACE_NODE_UNREACHABLE);
    place_remove_pod(place, 2);
    place_set_pod(place, 3, "n9", false);
    place_set_pod(place, 4, "n4", true);
    static const enum place_reason REASONS[] = {PLACE_CORDONED, PLACE_UNREACHABLE, PLACE_MISSING,
                                                PLACE_UNBOUND, PLACE_LEAVING};
    for (int i = 0; i < 5; i++)
        assert_int_equal(refusal(place, "v", i).reason, REASONS[i]);
    assert_int_equal(place_nodes(place), 3);
    assert_int_equal(place_zones(place), 3);          /* n2, n3, n4 */
    place_set_node(place, "n9", NULL, PLACE_NODE_OK); /* it comes up later */
    assert_int_equal(refusal(place, "v", 3).reason, PLACE_TAKES);
    assert_int_equal(place_zones(place), 4);
    place_free(place);
}

/* ---- what is counted ---- */

static void add_used(void *arg, const struct place_pod_view *pod)
{
    ((int64_t *)arg)[pod->ordinal] = pod->capacity - pod->used;
}

/* Reserved on a pod without a status counts; reserved for a vpod that is not there takes room. */
static void test_13_14_state(void **state)
{
    (void)state;
    struct place *place = pool(&PLAIN, 5);
    int64_t room[8] = {0};
    static const int64_t WANTED[] = {4, 7, 5, 10, 2};
    set(place, "v0", 6, (const struct place_at[]){{0, 1}, {2, 5}}, 2);
    set(place, "v1", 0, (const struct place_at[]){{1, 0}}, 1);
    place_reserve(place, "v0", 4, 8);
    place_reserve(place, "v4", 0, 5);
    place_reserve(place, "v4", 1, 3);
    place_each_pod(place, add_used, room);
    for (int i = 0; i < 5; i++)
        assert_int_equal(room[i], WANTED[i]);
    assert_int_equal(place_last_used(place), 4);
    place_release(place, "v0");
    assert_int_equal(place_last_used(place), 2);
    place_release(place, "v4");
    struct place_list list = {0};
    assert_false(place_placements(place, "v4", &list));
    place_free(place);
}

/* A pod without a node takes nothing and keeps what it has; nodes that are lost, and pods that
 * have nothing, do not count for what is last or how many zones there are. */
static void test_16_17_19_20_state(void **state)
{
    (void)state;
    struct place *place = pool(&PLAIN, 4);
    int64_t room[8] = {0};
    static const int64_t WANTED[] = {8, 5, 5, 10};
    place_set_pod(place, 0, NULL, false);
    set(place, "v0", 6, (const struct place_at[]){{0, 1}, {2, 5}}, 2);
    set(place, "v1", 2, (const struct place_at[]){{1, 2}}, 1);
    set(place, "v2", 4, (const struct place_at[]){{1, 3}, {0, 1}}, 2);
    place_each_pod(place, add_used, room);
    for (int i = 0; i < 4; i++)
        assert_int_equal(room[i], WANTED[i]);
    assert_int_equal(refusal(place, "v0", 0).reason, PLACE_UNBOUND);
    assert_int_equal(refusal(place, "v0", 1).reason, PLACE_TAKES);
    assert_int_equal(place_last_used(place), 2);
    place_set_node(place, "n1", NULL, PLACE_NODE_OK);
    place_set_node(place, "n2", "z2", PLACE_NODE_UNREACHABLE);
    assert_int_equal(place_nodes(place), 3);
    assert_int_equal(place_zones(place), 2); /* z0, of n0 and n3, and that of n1 */
    place_free(place);
}

static int32_t on(struct place *place, int32_t ordinal)
{
    struct place_list list = {0};
    int32_t found = 0;
    assert_true(place_placements(place, "v", &list));
    for (size_t i = 0; i < list.at.len; i++)
        found = list.at.items[i].ordinal == ordinal ? list.at.items[i].vreplicas : found;
    place_list_done(&list);
    return found;
}

/* An answer counts until the status says the same, or the write is known to have failed. */
static void test_73_reserve(void **state)
{
    (void)state;
    struct place *place = pool(&PLAIN, 2);
    struct place_result result = {0};
    set(place, "v", 12, NULL, 0);
    assert_true(place_schedule(place, "v", &result));
    assert_int_equal(result.placed, 12);
    set(place, "v", 12, NULL, 0); /* heard of before its status was written */
    assert_int_equal(on(place, 0), 10);
    set(place, "v", 12, (const struct place_at[]){{0, 10}}, 1); /* half of it */
    assert_int_equal(on(place, 1), 2);
    place_release(place, "v");
    assert_int_equal(on(place, 1), 0);
    assert_int_equal(place_pending(place), 2);
    assert_true(place_schedule(place, "v", &result) && result.pending == 0);
    set(place, "v", 12, (const struct place_at[]){{0, 10}, {1, 2}}, 2);
    place_release(place, "v"); /* nothing is reserved any more */
    assert_int_equal(on(place, 1), 2);
    assert_int_equal(place_evict(place, "v", 1), 2);
    assert_int_equal(place_pending(place), 2);
    place_remove_vpod(place, "v");
    assert_int_equal(place_last_used(place), -1);
    assert_int_equal(place_pending(place), 0);
    place_result_done(&result);
    place_free(place);
}

/* ---- nodes for pods ---- */

static void judge(void *arg, void *node, struct bind_fit *fit)
{
    (void)arg;
    const char *name = node;
    *fit = (struct bind_fit){
        .is_allowed = *name != '-', .preference = *name == '+' ? 5 : 0, .domain = name + 1};
}

static void test_bind(void **state)
{
    (void)state;
    static char *const NODES[] = {"-x", "=x", "=y", "+y"};
    const int64_t has[] = {4, 100}, wants[] = {2, 0, 1};
    const int64_t device[] = {4, 100, 9};
    struct bind *bind = bind_new(2);
    enum bind_problem problem;
    for (size_t i = 0; i < 4; i++)
        bind_set_node(bind, bind_add_node(bind), NODES[i], has, 2);
    struct bind_rules rules = {.judge = judge, .wants = wants, .n = 3};
    struct bind_class *class = bind_class_new(bind, &rules);
    assert_true(bind_pick(bind, class, NULL, &problem) == BIND_NONE); /* none has the third */
    assert_int_equal(problem, BIND_NO_ROOM);
    for (size_t i = 0; i < 4; i++)
        bind_set_node(bind, i, NODES[i], device, 3);
    assert_int_equal(bind_pick(bind, class, NULL, &problem), 3); /* preferred */
    bind_take(bind, 3, wants, 3, 1);
    bind_take(bind, 3, wants, 3, 1);
    assert_int_equal(bind_pick(bind, class, NULL, &problem), 1); /* the first told of */
    bind_take(bind, 1, wants, 3, 1);
    assert_int_equal(bind_pick(bind, class, NULL, &problem), 2); /* more room */
    bind_set_node(bind, 2, NULL, NULL, 0);
    assert_int_equal(bind_nodes(bind), 3);
    assert_int_equal(bind_pick(bind, class, NULL, &problem), 1);
    bind_class_free(bind, class);
    rules.has_domains = true;
    rules.exclusive = "zone";
    class = bind_class_new(bind, &rules);
    assert_true(bind_claim(bind, class, 1, "job", 1));
    assert_int_equal(bind_pick(bind, class, "job", &problem), 1);
    assert_true(bind_pick(bind, class, "another", &problem) == BIND_NONE);
    assert_int_equal(problem, BIND_EXCLUDED);
    assert_true(bind_claim(bind, class, 1, "job", -1));
    assert_int_equal(bind_pick(bind, class, "another", &problem), 1);
    bind_free(bind);
}

/* Two deciders gave pod 0 away twice: 8 of a, then 7 of b, and it takes 10. */
static void test_the_last_one_moves_off_a_crowded_pod(void **state)
{
    (void)state;
    struct place *place = pool(&PLAIN, 2);
    struct place_result result = {0};
    set(place, "a", 8, (const struct place_at[]){{0, 8}}, 1);
    assert_int_equal(place_surplus(place), 0);
    assert_null(place_crowder(place));
    set(place, "b", 7, (const struct place_at[]){{0, 7}}, 1);
    assert_int_equal(place_surplus(place), 5);
    assert_string_equal(place_crowder(place), "b");
    set(place, "c", 6, (const struct place_at[]){{1, 6}}, 1); /* no room for five */
    assert_true(place_relieve(place, "b", &result));
    assert_false(result.is_changed);
    assert_int_equal(place_surplus(place), 5);
    place_result_done(&result);
    result = (struct place_result){0};
    set(place, "c", 5, (const struct place_at[]){{1, 5}}, 1);
    assert_true(place_relieve(place, "b", &result));
    assert_int_equal(result.placed, 7);
    assert_int_equal(result.placements.at.len, 2);
    assert_int_equal(result.placements.at.items[0].vreplicas, 2);
    assert_int_equal(result.placements.at.items[1].vreplicas, 5);
    assert_int_equal(place_surplus(place), 0);
    assert_null(place_crowder(place));
    place_set_capacity(place, 9); /* both pods are full: one each is too much, b came last */
    assert_int_equal(place_surplus(place), 2);
    assert_string_equal(place_crowder(place), "b");
    assert_false(place_relieve(place, "nobody", &result));
    place_result_done(&result);
    place_free(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_10_11_68_filters),
        cmocka_unit_test(test_pods_that_get_nothing),
        cmocka_unit_test(test_13_14_state),
        cmocka_unit_test(test_73_reserve),
        cmocka_unit_test(test_16_17_19_20_state),
        cmocka_unit_test(test_bind),
        cmocka_unit_test(test_the_last_one_moves_off_a_crowded_pod),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
