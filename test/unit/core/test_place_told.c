// SPDX-License-Identifier: Apache-2.0
/* What the engine is told may be odd, old or about nothing; and what it tells to people. */
#include "base/mem.h"
#include "base/str.h"
#include "core/place/place.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct place_policy PLAIN = {.has_scheduler = true, .placing.ordinal = 1};

static struct place *pool(int pods)
{
    struct place *place = place_new(&PLAIN, 10);
    place_set_replicas(place, pods);
    place_set_node(place, "n", "z", PLACE_NODE_OK);
    for (int i = 0; i < pods; i++)
        place_set_pod(place, i, "n", false);
    return place;
}

static char *placements(struct place *place, const char *name)
{
    struct place_list list = {0};
    struct str text = {0};
    if (!place_placements(place, name, &list))
        str_add(&text, "unknown");
    for (size_t i = 0; i < list.at.len; i++)
        str_addf(&text, "%s%d:%d", i > 0 ? " " : "", (int)list.at.items[i].ordinal,
                 (int)list.at.items[i].vreplicas);
    place_list_done(&list);
    return str_take(&text);
}

/* A status that somebody edited: unsorted, a pod twice, pods and amounts that cannot be. */
static void test_an_odd_status(void **state)
{
    (void)state;
    static const struct place_at ODD[] = {{3, 2}, {1, 4}, {-1, 5}, {PLACE_PODS_MAX, 5},
                                          {1, 3}, {2, 0}, {0, -7}};
    static const struct place_at MUCH[] = {{1, INT32_MAX}, {0, PLACE_VREPLICAS_MAX}, {0, 1}};
    struct place *place = pool(4);
    struct place_wish wish = {.vreplicas = 9};
    place_set_vpod(place, "v", &wish, ODD, ARRAY_LEN(ODD));
    scoped_free char *odd = placements(place, "v");
    assert_string_equal(odd, "1:7 3:2");
    assert_int_equal(place_pending(place), 0);
    wish.vreplicas = INT32_MAX;
    place_set_vpod(place, "v", &wish, MUCH, ARRAY_LEN(MUCH));
    scoped_free char *much = placements(place, "v");
    scoped_free char *most = mem_printf("0:%d 1:%d", PLACE_VREPLICAS_MAX, PLACE_VREPLICAS_MAX);
    assert_string_equal(much, most);
    place_free(place);
}

static void test_about_nothing(void **state)
{
    (void)state;
    struct place *place = pool(1);
    struct place_refusals refusals = {0};
    place_remove_vpod(place, "v");
    place_release(place, "v");
    place_remove_node(place, "elsewhere");
    assert_int_equal(place_evict(place, "v", 0), 0);
    place_explain(place, "v", &refusals);
    assert_int_equal(refusals.of.len, 0);
    scoped_free char *none = placements(place, "v");
    assert_string_equal(none, "unknown");
    /* Room that is reserved for a vpod that is not there is nothing to evict or to tell of. */
    place_reserve(place, "v", 0, 3);
    assert_int_equal(place_evict(place, "v", 0), 0);
    struct place_wish wish = {.vreplicas = 3};
    place_set_vpod(place, "v", &wish, NULL, 0);
    assert_int_equal(place_evict(place, "v", 7), 0); /* there is no such pod */
    assert_int_equal(place_evict(place, "v", 0), 3);
    place_free(place);
    place_free(NULL);
}

/* ---- nodes come and go ---- */

static void note_pod(void *arg, const struct place_pod_view *pod)
{
    str_addf(arg, "%s%d %s/%s %d", ((struct str *)arg)->len > 0 ? ", " : "", (int)pod->ordinal,
             pod->node != NULL ? pod->node : "-", pod->zone != NULL ? pod->zone : "-",
             (int)pod->used);
}

#define expect_pods(place, wanted)                                                                 \
    do {                                                                                           \
        scoped_str seen = {0};                                                                     \
        place_each_pod(place, note_pod, &seen);                                                    \
        assert_string_equal(str_text(&seen), wanted);                                              \
    } while (0)

static void test_nodes_come_and_go(void **state)
{
    (void)state;
    struct place *place = pool(2);
    struct place_wish wish = {.vreplicas = 4};
    place_set_vpod(place, "v", &wish, (const struct place_at[]){{1, 2}, {3, 1}}, 2);
    /* The last one is where nobody said that a pod is. */
    expect_pods(place, "0 n/z 0, 1 n/z 2, 3 -/- 1");
    place_set_node(place, "n", NULL, PLACE_NODE_OK); /* its zone is not known any more */
    expect_pods(place, "0 n/- 0, 1 n/- 2, 3 -/- 1");
    place_remove_node(place, "n");
    expect_pods(place, "0 n/- 0, 1 n/- 2, 3 -/- 1");
    assert_int_equal(place_nodes(place), 0);
    struct place_result result = {0};
    (void)place_schedule(place, "v", &result);
    assert_int_equal(result.placed, 3); /* nothing new without a node */
    place_set_node(place, "n", "y", PLACE_NODE_OK);
    place_set_node(place, "n", "y", PLACE_NODE_OK);
    expect_pods(place, "0 n/y 0, 1 n/y 2, 3 -/- 1");
    place_remove_pod(place, 0);
    place_remove_pod(place, 1);
    expect_pods(place, "1 -/- 2, 3 -/- 1");
    place_remove_node(place, "n"); /* no pod is on it: it is forgotten */
    place_remove_node(place, "n");
    assert_int_equal(place_nodes(place), 0);
    place_result_done(&result);
    place_free(place);
}

/* ---- texts ---- */

static void test_refusals_as_text(void **state)
{
    (void)state;
    static const struct {
        struct place_refusal refusal;
        const char *text;
    } ROWS[] = {
        {{.reason = PLACE_MISSING}, "does not exist"},
        {{.reason = PLACE_FULL, .have = 10, .limit = 10}, "full, 10 of 10 vreplicas"},
        {{.reason = PLACE_TOO_SPREAD, .have = 2, .limit = 2},
         "one pod too many, on 2 of at most 2 pods"},
        {{.reason = PLACE_UNEVEN, .have = 6, .limit = 5},
         "uneven, one more makes 6, at most 5 is even"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_str text = {0};
        place_refusal_text(&ROWS[i].refusal, &text);
        assert_string_equal(str_text(&text), ROWS[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_odd_status),
        cmocka_unit_test(test_about_nothing),
        cmocka_unit_test(test_nodes_come_and_go),
        cmocka_unit_test(test_refusals_as_text),
    };
    return cmocka_run_group_tests_name("place_told", tests, NULL, NULL);
}
