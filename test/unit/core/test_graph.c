// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/rng.h"
#include "core/start/graph.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define NODES_MAX 40

struct plan {
    uint32_t n;
    size_t len[NODES_MAX];
    struct graph_edge edges[NODES_MAX][NODES_MAX + 1];
};

static const struct graph_edge *edges_of(void *arg, uint32_t i, size_t *ret_n)
{
    struct plan *plan = arg;
    *ret_n = plan->len[i];
    return plan->edges[i];
}

static void need(struct plan *plan, uint32_t i, uint32_t on)
{
    plan->edges[i][plan->len[i]++] = (struct graph_edge){.on = on, .condition = DEP_READY};
}

/* "1<0 2<1": 1 waits for 0, 2 waits for 1. */
static void read_plan(struct plan *plan, uint32_t n, const char *text)
{
    *plan = (struct plan){.n = n};
    for (const char *p = text; *p; p += p[3] ? 4 : 3)
        need(plan, (uint32_t)(p[0] - '0'), (uint32_t)(p[2] - '0'));
}

static struct graph *build(struct plan *plan, uint32_t n, const char *text)
{
    scoped_str problem = {0};
    read_plan(plan, n, text);
    struct graph *graph = graph_new(plan->n, edges_of, plan, &problem);
    if (graph == NULL)
        fail_msg("'%s': %s", text, str_text(&problem));
    return graph;
}

static void test_order_and_chains(void **state)
{
    (void)state;
    static const struct {
        const char *edges;
        uint32_t order[5], chain[5];
    } rows[] = {
        {"", {0, 1, 2, 3, 4}, {0, 0, 0, 0, 0}},
        /* the study: b on a, c on b, d on b, e on c and d */
        {"1<0 2<1 3<1 4<2 4<3", {0, 1, 2, 3, 4}, {3, 2, 1, 1, 0}},
        {"0<4 1<0 2<0", {3, 4, 0, 1, 2}, {1, 0, 0, 0, 2}},
        {"0<1 1<2 2<3 3<4", {4, 3, 2, 1, 0}, {0, 1, 2, 3, 4}},
        {"4<0 4<1 4<2 4<3", {0, 1, 2, 3, 4}, {1, 1, 1, 1, 0}},
    };
    for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
        struct plan plan;
        struct graph *graph = build(&plan, 5, rows[r].edges);
        assert_int_equal(graph_count(graph), 5);
        for (uint32_t i = 0; i < 5; i++) {
            if (graph_order(graph)[i] != rows[r].order[i] ||
                graph_chain(graph, i) != rows[r].chain[i])
                fail_msg("'%s' at %u", rows[r].edges, i);
        }
        graph_free(graph);
    }
}

static void test_both_directions(void **state)
{
    (void)state;
    struct plan plan;
    struct graph *graph = build(&plan, 5, "1<0 2<1 3<1 4<2 4<3");
    size_t n;
    const uint32_t *dependents = graph_dependents(graph, 1, &n);
    assert_int_equal(n, 2);
    assert_int_equal(dependents[0], 2);
    assert_int_equal(dependents[1], 3);
    const struct graph_edge *needs = graph_needs(graph, 4, &n);
    assert_int_equal(n, 2);
    assert_int_equal(needs[0].on, 2);
    assert_int_equal(needs[1].on, 3);
    (void)graph_dependents(graph, 4, &n);
    assert_int_equal(n, 0);
    (void)graph_needs(graph, 0, &n);
    assert_int_equal(n, 0);
    graph_free(graph);
    graph_free(NULL);
}

static void test_no_graph(void **state)
{
    (void)state;
    static const struct {
        const char *edges, *problem;
    } rows[] = {
        {"1<7", "1 waits for 7, which is not there"},
        {"2<2", "2 waits for itself"},
        {"2<1 2<0 2<1", "2 waits for 1 twice"},
        {"0<1 1<0", "0 -> 1 -> 0"},
        {"1<0 2<1 3<2 2<4 4<3", "2 -> 4 -> 3 -> 2"},
        {"0<1 1<2 2<3 3<1", "1 -> 2 -> 3 -> 1"}, /* 0 only hangs on it */
    };
    for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
        struct plan plan;
        scoped_str problem = {0};
        read_plan(&plan, 5, rows[r].edges);
        assert_null(graph_new(plan.n, edges_of, &plan, &problem));
        assert_string_equal(str_text(&problem), rows[r].problem);
    }
}

static void test_empty(void **state)
{
    (void)state;
    struct plan plan;
    struct graph *graph = build(&plan, 0, "");
    assert_int_equal(graph_count(graph), 0);
    graph_free(graph);
}

static void check_random(const struct plan *plan, const struct graph *graph)
{
    uint32_t place[NODES_MAX];
    for (uint32_t i = 0; i < plan->n; i++)
        place[graph_order(graph)[i]] = i;
    for (uint32_t i = 0; i < plan->n; i++) {
        size_t n;
        uint32_t longest = 0;
        const uint32_t *dependents = graph_dependents(graph, i, &n);
        for (size_t d = 0; d < n; d++) {
            assert_true(place[dependents[d]] > place[i]);
            if (graph_chain(graph, dependents[d]) + 1 > longest)
                longest = graph_chain(graph, dependents[d]) + 1;
        }
        assert_int_equal(graph_chain(graph, i), longest);
    }
}

/* Edges along a random ranking never close a circle; one edge against it does at times. */
static void test_random_graphs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng rng;
        struct plan plan = {.n = 1 + (uint32_t)(seed % NODES_MAX)};
        uint32_t rank[NODES_MAX];
        rng_seed(&rng, seed);
        for (uint32_t i = 0; i < plan.n; i++)
            rank[i] = (uint32_t)rng_below(&rng, 1000) * NODES_MAX + i;
        for (uint32_t i = 0; i < plan.n; i++)
            for (uint32_t on = 0; on < plan.n; on++)
                if (rank[on] < rank[i] && rng_chance(&rng, 1, 4))
                    need(&plan, i, on);
        scoped_str problem = {0};
        struct graph *graph = graph_new(plan.n, edges_of, &plan, &problem);
        assert_non_null(graph);
        check_random(&plan, graph);
        graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_chains), cmocka_unit_test(test_both_directions),
        cmocka_unit_test(test_no_graph),         cmocka_unit_test(test_empty),
        cmocka_unit_test(test_random_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
