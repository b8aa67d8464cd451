// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who waits for whom among the containers of one pod. Built once from names that were validated
 * (the model refuses unknown names and circles with their place); asked often. */
enum dep_condition { DEP_READY, DEP_COMPLETED, DEP_STARTED };

struct graph_edge {
    uint32_t on; /* index of the container that is waited for */
    enum dep_condition condition;
};

struct graph;
/* `edges_of(arg, i, &n)`: what container i waits for. NULL when it is no graph: an index out of
 * range, itself, the same twice, or a circle; then `problem` says which, with the circle's path as
 * indices "2 -> 5 -> 2". */
typedef const struct graph_edge *graph_edges_fn(void *arg, uint32_t i, size_t *ret_n);
struct graph *graph_new(uint32_t n, graph_edges_fn *edges_of, void *arg, struct str *problem);
void graph_free(struct graph *graph);

uint32_t graph_count(const struct graph *graph);
const struct graph_edge *graph_needs(const struct graph *graph, uint32_t i, size_t *ret_n);
const uint32_t *graph_dependents(const struct graph *graph, uint32_t i, size_t *ret_n);
/* Length of the longest chain of containers that wait for i: 0 when nobody does. */
uint32_t graph_chain(const struct graph *graph, uint32_t i);
/* All indices, each behind what it waits for, ties in order of declaration. */
const uint32_t *graph_order(const struct graph *graph);
