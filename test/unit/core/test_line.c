// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/rng.h"
#include "core/start/line.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_order(struct line *line, struct line_item *items, const char *names)
{
    for (const char *name = names; *name; name++) {
        struct line_item *item = line_pop(line);
        assert_non_null(item);
        if (item - items != *name - 'a')
            fail_msg("%c came where %c was due", (int)('a' + (item - items)), *name);
    }
    assert_null(line_peek(line));
    assert_null(line_pop(line));
    assert_int_equal(line_count(line), 0);
}

struct row {
    int pod;
    uint32_t chain;
};

/* Pods 0 to 2 have priority 0, pod 3 has 10, pod 4 has -10. */
static void check_order(const struct row *rows, size_t n, const char *names)
{
    struct line_pod pods[5] = {[3] = {.priority = 10}, [4] = {.priority = -10}};
    struct line_item items[26] = {0};
    struct line *line = line_new();
    for (size_t i = 0; i < n; i++) {
        items[i].pod = &pods[rows[i].pod];
        items[i].chain = rows[i].chain;
        line_push(line, &items[i]);
    }
    assert_int_equal(line_count(line), n);
    assert_order(line, items, names);
    for (size_t i = 0; i < ARRAY_LEN(pods); i++)
        assert_null(pods[i].slot);
    line_free(line);
}

static void test_order(void **state)
{
    (void)state;
    static const struct row same[] = {{0, 0}, {0, 0}, {0, 0}};
    check_order(same, ARRAY_LEN(same), "abc");
    static const struct row chains[] = {{0, 0}, {0, 2}, {1, 1}, {0, UINT32_MAX}, {1, 2}};
    check_order(chains, ARRAY_LEN(chains), "debca");
    static const struct row priorities[] = {{4, 9}, {0, 5}, {3, 0}, {3, 1}, {0, 6}};
    check_order(priorities, ARRAY_LEN(priorities), "dceba");
}

static void test_pods_take_turns(void **state)
{
    (void)state;
    static const struct row rows[] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {1, 0}, {2, 0}, {2, 0}};
    check_order(rows, ARRAY_LEN(rows), "aefbgcd");
    /* b has the longest chain, and its pod had its turn then. */
    static const struct row chain_first[] = {{0, 0}, {0, 1}, {1, 0}, {1, 0}};
    check_order(chain_first, ARRAY_LEN(chain_first), "bcad");
}

static void test_who_comes_again_is_behind(void **state)
{
    (void)state;
    struct line_pod pods[3] = {0};
    struct line_item items[6] = {0};
    static const int pod_of[] = {0, 1, 1, 0, 2, 2};
    struct line *line = line_new();
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        items[i].pod = &pods[pod_of[i]];
    for (size_t i = 0; i < 3; i++)
        line_push(line, &items[i]);
    assert_ptr_equal(line_peek(line), &items[0]);
    assert_ptr_equal(line_pop(line), &items[0]); /* pod 0 had its turn and leaves */
    assert_false(items[0].is_queued);
    line_push(line, &items[4]);
    line_push(line, &items[3]); /* and is back, behind pods 1 and 2 */
    line_push(line, &items[5]);
    assert_order(line, items, "bedcf");
    line_free(line);
}

static void test_remove(void **state)
{
    (void)state;
    struct line_pod pod = {0}, other = {.priority = 1};
    struct line_item items[3] = {{.pod = &pod}, {.pod = &other}, {.pod = &pod, .chain = 4}};
    struct line *line = line_new();
    line_remove(line, &items[0]); /* was never in it */
    for (size_t i = 0; i < 3; i++)
        line_push(line, &items[i]);
    line_remove(line, &items[1]);
    line_remove(line, &items[1]);
    assert_false(items[1].is_queued);
    assert_null(other.slot);
    assert_ptr_equal(line_peek(line), &items[2]);
    items[1].chain = 1; /* changes between two stays count */
    other.priority = 0;
    line_push(line, &items[1]);
    assert_order(line, items, "cba");
    line_free(line);
    line_free(NULL);
}

/* ---- the same by looking at everything ---- */

#define PODS 12
#define ITEMS 120

struct model {
    struct line_pod pods[PODS];
    struct line_item items[ITEMS];
    bool is_in[ITEMS];
    uint64_t since[ITEMS];
    int ring[PODS]; /* pods that wait, in the order of their turns */
    int n_ring;
    uint64_t now;
};

static int pod_of(const struct model *model, int item)
{
    return (int)(model->items[item].pod - model->pods);
}

static void ring_leave(struct model *model, int pod)
{
    int kept = 0;
    for (int i = 0; i < model->n_ring; i++)
        if (model->ring[i] != pod)
            model->ring[kept++] = model->ring[i];
    model->n_ring = kept;
}

static int waiting_of(const struct model *model, int pod)
{
    int n = 0;
    for (int i = 0; i < ITEMS; i++)
        n += model->is_in[i] && pod_of(model, i) == pod;
    return n;
}

static void model_push(struct model *model, int item)
{
    if (waiting_of(model, pod_of(model, item)) == 0)
        model->ring[model->n_ring++] = pod_of(model, item);
    model->is_in[item] = true;
    model->since[item] = model->now++;
}

static void model_take(struct model *model, int item, bool had_turn)
{
    int pod = pod_of(model, item);
    model->is_in[item] = false;
    bool is_empty = waiting_of(model, pod) == 0;
    if (had_turn || is_empty)
        ring_leave(model, pod);
    if (had_turn && !is_empty)
        model->ring[model->n_ring++] = pod;
}

static bool is_better_class(const struct model *model, int a, int b)
{
    int64_t priority_a = model->items[a].pod->priority, priority_b = model->items[b].pod->priority;
    if (priority_a != priority_b)
        return priority_a > priority_b;
    return model->items[a].chain > model->items[b].chain;
}

static int model_next(const struct model *model)
{
    int best = -1;
    for (int i = 0; i < ITEMS; i++)
        if (model->is_in[i] && (best < 0 || is_better_class(model, i, best)))
            best = i;
    for (int turn = 0; turn < model->n_ring; turn++) {
        int first = -1;
        for (int i = 0; i < ITEMS; i++)
            if (model->is_in[i] && pod_of(model, i) == model->ring[turn] &&
                !is_better_class(model, best, i) &&
                (first < 0 || model->since[i] < model->since[first]))
                first = i;
        if (first >= 0)
            return first;
    }
    return -1;
}

static void act(struct model *model, struct line *line, struct rng *rng)
{
    int item = (int)rng_below(rng, ITEMS);
    switch (rng_below(rng, 4)) {
    case 0:
    case 1:
        if (model->is_in[item])
            break;
        if (waiting_of(model, pod_of(model, item)) == 0)
            model->items[item].pod->priority = rng_between(rng, -1, 1);
        model->items[item].chain = (uint32_t)rng_below(rng, 3);
        model_push(model, item);
        line_push(line, &model->items[item]);
        break;
    case 2:
        if (model->is_in[item])
            model_take(model, item, false);
        line_remove(line, &model->items[item]);
        break;
    default: {
        struct line_item *popped = line_pop(line);
        if (popped)
            model_take(model, (int)(popped - model->items), true);
        break;
    }
    }
}

static void test_like_the_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rng rng;
        rng_seed(&rng, seed);
        struct model model = {0};
        struct line *line = line_new();
        for (int i = 0; i < ITEMS; i++)
            model.items[i].pod = &model.pods[rng_below(&rng, PODS)];
        for (int i = 0; i < 3000; i++) {
            act(&model, line, &rng);
            int want = model_next(&model);
            struct line_item *have = line_peek(line);
            if (have != (want < 0 ? NULL : &model.items[want]))
                fail_msg("seed %d, step %d", (int)seed, i);
        }
        while (line_pop(line))
            continue;
        line_free(line);
    }
}

static void test_a_large_pod_and_many_chains(void **state)
{
    (void)state; /* would not end in time if a start moved all containers of its pod */
    enum { N = 100000 };
    struct line_pod pods[2] = {0};
    struct line_item *items = mem_zalloc(N * sizeof(*items));
    struct line *line = line_new();
    for (int i = 0; i < N; i++) {
        items[i].pod = &pods[i % 2];
        items[i].chain = (uint32_t)(i / 2);
        line_push(line, &items[i]);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(line_pop(line)->chain, (N - 1 - i) / 2);
    line_free(line);
    mem_free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_pods_take_turns),
        cmocka_unit_test(test_who_comes_again_is_behind),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_like_the_model),
        cmocka_unit_test(test_a_large_pod_and_many_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
