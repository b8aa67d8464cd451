// SPDX-License-Identifier: Apache-2.0
#include "core/start/graph.h"
#include "base/heap.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

/* Edges lie flat, container after container, in both directions; the order is Kahn's, with a heap
 * of indices so that ties come as they were declared. */
struct graph {
    uint32_t n;
    uint32_t *needs_at; /* n + 1 offsets into `needs` */
    struct graph_edge *needs;
    uint32_t *dependents_at; /* n + 1 offsets into `dependents` */
    uint32_t *dependents;
    uint32_t *chain;
    uint32_t *order;
};

void graph_free(struct graph *graph)
{
    if (graph == NULL)
        return;
    mem_free(graph->needs_at);
    mem_free(graph->needs);
    mem_free(graph->dependents);
    mem_free(graph);
}

static bool edge_is_sound(const struct graph *graph, uint32_t i, const struct graph_edge *edge,
                          uint32_t *seen_by, struct str *problem)
{
    if (edge->on >= graph->n)
        str_addf(problem, "%u waits for %u, which is not there", i, edge->on);
    else if (edge->on == i)
        str_addf(problem, "%u waits for itself", i);
    else if (seen_by[edge->on] == i + 1)
        str_addf(problem, "%u waits for %u twice", i, edge->on);
    else {
        seen_by[edge->on] = i + 1;
        return true;
    }
    return false;
}

static bool copy_needs(struct graph *graph, graph_edges_fn *edges_of, void *arg,
                       struct str *problem)
{
    scoped_free uint32_t *seen_by = mem_zalloc(sizeof(*seen_by) * (graph->n + 1));
    size_t total = 0, len = 0;
    for (uint32_t i = 0; i < graph->n; i++) {
        (void)edges_of(arg, i, &len);
        total += len;
    }
    assert(total < UINT32_MAX);
    graph->needs = mem_zalloc(sizeof(*graph->needs) * (total + 1));
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct graph_edge *edges = edges_of(arg, i, &len);
        uint32_t at = graph->needs_at[i];
        for (size_t e = 0; e < len; e++) {
            if (!edge_is_sound(graph, i, &edges[e], seen_by, problem))
                return false;
            graph->needs[at++] = edges[e];
        }
        graph->needs_at[i + 1] = at;
    }
    return true;
}

static void turn_around(struct graph *graph)
{
    uint32_t total = graph->needs_at[graph->n];
    graph->dependents = mem_zalloc(sizeof(*graph->dependents) * (total + 1));
    for (uint32_t e = 0; e < total; e++)
        graph->dependents_at[graph->needs[e].on + 1]++;
    for (uint32_t i = 0; i < graph->n; i++)
        graph->dependents_at[i + 1] += graph->dependents_at[i];
    scoped_free uint32_t *at = mem_dup(graph->dependents_at, sizeof(*at) * (graph->n + 1));
    for (uint32_t i = 0; i < graph->n; i++)
        for (uint32_t e = graph->needs_at[i]; e < graph->needs_at[i + 1]; e++)
            graph->dependents[at[graph->needs[e].on]++] = i;
}

/* `waits[i]`: for how many containers i still waits that have no place in the order. Returns how
 * many got one. */
static uint32_t sort(struct graph *graph, uint32_t *waits)
{
    scoped_free struct heap_node *nodes = mem_zalloc(sizeof(*nodes) * (graph->n + 1));
    struct heap heap = {0};
    uint32_t placed = 0;
    for (uint32_t i = 0; i < graph->n; i++) {
        heap_node_init(&nodes[i]);
        waits[i] = graph->needs_at[i + 1] - graph->needs_at[i];
        if (waits[i] == 0)
            heap_push(&heap, &nodes[i], i);
    }
    struct heap_node *node;
    while ((node = heap_pop(&heap)) != NULL) {
        uint32_t i = (uint32_t)(node - nodes);
        graph->order[placed++] = i;
        for (uint32_t d = graph->dependents_at[i]; d < graph->dependents_at[i + 1]; d++)
            if (--waits[graph->dependents[d]] == 0)
                heap_push(&heap, &nodes[graph->dependents[d]], graph->dependents[d]);
    }
    heap_done(&heap);
    return placed;
}

static uint32_t stuck_need(const struct graph *graph, const uint32_t *waits, uint32_t i)
{
    uint32_t e = graph->needs_at[i];
    while (waits[graph->needs[e].on] == 0)
        e++;
    assert(e < graph->needs_at[i + 1]);
    return graph->needs[e].on;
}

/* Whatever has no place waits for another without one, so walking on must meet itself. */
static void tell_circle(const struct graph *graph, const uint32_t *waits, struct str *problem)
{
    scoped_free bool *seen = mem_zalloc(graph->n);
    uint32_t i = 0;
    while (waits[i] == 0)
        i++;
    for (; !seen[i]; i = stuck_need(graph, waits, i))
        seen[i] = true;
    uint32_t first = i;
    str_addf(problem, "%u", first);
    do {
        i = stuck_need(graph, waits, i);
        str_addf(problem, " -> %u", i);
    } while (i != first);
}

static void measure_chains(struct graph *graph)
{
    for (uint32_t k = graph->n; k-- > 0;) {
        uint32_t i = graph->order[k];
        for (uint32_t d = graph->dependents_at[i]; d < graph->dependents_at[i + 1]; d++)
            if (graph->chain[graph->dependents[d]] + 1 > graph->chain[i])
                graph->chain[i] = graph->chain[graph->dependents[d]] + 1;
    }
}

static bool build(struct graph *graph, graph_edges_fn *edges_of, void *arg, struct str *problem)
{
    if (!copy_needs(graph, edges_of, arg, problem))
        return false;
    turn_around(graph);
    scoped_free uint32_t *waits = mem_zalloc(sizeof(*waits) * (graph->n + 1));
    if (sort(graph, waits) < graph->n) {
        tell_circle(graph, waits, problem);
        return false;
    }
    measure_chains(graph);
    return true;
}

struct graph *graph_new(uint32_t n, graph_edges_fn *edges_of, void *arg, struct str *problem)
{
    struct graph *graph = mem_zalloc(sizeof(*graph));
    graph->n = n;
    size_t each = (size_t)n + 1;
    graph->needs_at = mem_zalloc(sizeof(uint32_t) * each * 4); /* all four in one block */
    graph->dependents_at = graph->needs_at + each;
    graph->chain = graph->dependents_at + each;
    graph->order = graph->chain + each;
    if (build(graph, edges_of, arg, problem))
        return graph;
    graph_free(graph);
    return NULL;
}

uint32_t graph_count(const struct graph *graph)
{
    return graph->n;
}

const struct graph_edge *graph_needs(const struct graph *graph, uint32_t i, size_t *ret_n)
{
    assert(i < graph->n);
    *ret_n = graph->needs_at[i + 1] - graph->needs_at[i];
    return graph->needs + graph->needs_at[i];
}

const uint32_t *graph_dependents(const struct graph *graph, uint32_t i, size_t *ret_n)
{
    assert(i < graph->n);
    *ret_n = graph->dependents_at[i + 1] - graph->dependents_at[i];
    return graph->dependents + graph->dependents_at[i];
}

uint32_t graph_chain(const struct graph *graph, uint32_t i)
{
    assert(i < graph->n);
    return graph->chain[i];
}

const uint32_t *graph_order(const struct graph *graph)
{
    return graph->order;
}
