// SPDX-License-Identifier: Apache-2.0
/* dependsOn between the containers of one pod, as a graph. Init containers start one after the
 * other and before all others, so an init container can only wait for an earlier one; the order in
 * which the other containers are written does not matter.
 *
 * A circle is found by a depth-first walk with its own stack of the containers that are being
 * looked at: meeting one of them again closes the circle, and the stack from there on is the path
 * that is shown. The walk does not recurse, since a pod may name thousands of containers. */
#include "model/podspec.h"
#include "model/rules.h"
#include <assert.h>

enum mark {
    NEW,
    ON_PATH,
    CLEAR, /* nothing behind it closes a circle */
};

struct vertex {
    yyjson_mut_val *container;
    const char *name;
    bool init;
    size_t index; /* in its list */
    enum mark mark;
    yyjson_mut_arr_iter edges; /* those not yet followed */
};

struct graph {
    VEC(struct vertex) vertices;
    VEC(struct vertex *) path;
    struct map *by_name;
    struct rules_names names;
};

static void graph_add(struct graph *graph, yyjson_mut_val *list, bool init)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, i, n, item)
    {
        yyjson_mut_val *name = yyjson_mut_obj_get(item, "name");
        struct vertex v = {.container = item, .init = init, .index = i};
        v.name = yyjson_mut_get_str(name);
        if (v.name == NULL)
            continue;
        vec_push(&graph->vertices, v);
        rules_add_name(&graph->names, name);
    }
}

static void graph_init(struct graph *graph, yyjson_mut_val *spec)
{
    graph_add(graph, yyjson_mut_obj_get(spec, "initContainers"), true);
    graph_add(graph, yyjson_mut_obj_get(spec, "containers"), false);
    graph->by_name = map_new();
    /* Only now: pushing moved the vertices. */
    for (size_t i = 0; i < graph->vertices.len; i++) {
        struct vertex *v = &graph->vertices.items[i];
        (void)map_put(graph->by_name, v->name, v); /* equal names are reported elsewhere */
    }
}

static void graph_done(struct graph *graph)
{
    vec_done(&graph->vertices);
    vec_done(&graph->path);
    map_free(graph->by_name);
    rules_names_done(&graph->names);
}

static const char *edge_name(yyjson_mut_val *edge)
{
    return yyjson_mut_get_str(yyjson_mut_obj_get(edge, "name"));
}

/* ---- each edge by itself ---- */

static void check_order(struct check *c, const struct vertex *from, const struct vertex *to,
                        yyjson_mut_val *name)
{
    if (from == to)
        check_invalid(c, "name", name, "a container cannot wait for itself");
    else if (from->init && !to->init)
        check_invalid(c, "name", name,
                      "an init container cannot wait for a container that starts after it");
    else if (from->init && to->index > from->index)
        check_invalid(c, "name", name, "init containers start in order; this one comes later");
}

static void check_edges(struct check *c, const struct graph *graph, const struct vertex *from)
{
    size_t list = check_enter(c, "dependsOn");
    size_t i, n;
    yyjson_mut_val *edge;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(from->container, "dependsOn"), i, n, edge)
    {
        yyjson_mut_val *name = yyjson_mut_obj_get(edge, "name");
        size_t item = check_enter_item(c, i, edge);
        rules_known(c, "name", name, &graph->names);
        const char *text = yyjson_mut_get_str(name);
        const struct vertex *to = text != NULL ? map_get(graph->by_name, text) : NULL;
        if (to != NULL)
            check_order(c, from, to, name);
        check_leave(c, item);
    }
    check_leave(c, list);
}

/* ---- circles ---- */

static void graph_push(struct graph *graph, struct vertex *v)
{
    v->mark = ON_PATH;
    v->edges = yyjson_mut_arr_iter_with(yyjson_mut_obj_get(v->container, "dependsOn"));
    vec_push(&graph->path, v);
}

static size_t path_index(const struct graph *graph, const struct vertex *v)
{
    size_t i = 0;
    while (graph->path.items[i] != v)
        i++;
    assert(i < graph->path.len);
    return i;
}

static void report_circle(struct check *c, const struct graph *graph, const struct vertex *start)
{
    scoped_str text = {0};
    str_add(&text, "dependency cycle: ");
    for (size_t i = path_index(graph, start); i < graph->path.len; i++)
        str_addf(&text, "%s -> ", graph->path.items[i]->name);
    str_add(&text, start->name);
    size_t list = check_enter(c, start->init ? "initContainers" : "containers");
    size_t item = check_enter_item(c, start->index, start->container);
    check_invalid(c, "dependsOn", yyjson_mut_obj_get(start->container, "name"), str_text(&text));
    check_hint(c, "take one of these dependencies away");
    check_leave(c, item);
    check_leave(c, list);
}

/* One step: follow the next edge of the container at the end of the path, or leave it. */
static void graph_step(struct graph *graph, struct check *c)
{
    struct vertex *v = *vec_last(&graph->path);
    yyjson_mut_val *edge = yyjson_mut_arr_iter_next(&v->edges);
    if (edge == NULL) {
        v->mark = CLEAR;
        (void)vec_pop(&graph->path);
        return;
    }
    const char *name = edge_name(edge);
    struct vertex *to = name != NULL ? map_get(graph->by_name, name) : NULL;
    if (to == NULL || to == v || to->mark == CLEAR)
        return;
    if (to->mark == ON_PATH)
        report_circle(c, graph, to);
    else
        graph_push(graph, to);
}

void depends_check(struct check *c, yyjson_mut_val *spec)
{
    struct graph graph = {0};
    graph_init(&graph, spec);
    for (size_t i = 0; i < graph.vertices.len; i++) {
        struct vertex *v = &graph.vertices.items[i];
        size_t list = check_enter(c, v->init ? "initContainers" : "containers");
        size_t item = check_enter_item(c, v->index, v->container);
        check_edges(c, &graph, v);
        check_leave(c, item);
        check_leave(c, list);
    }
    for (size_t i = 0; i < graph.vertices.len; i++) {
        if (graph.vertices.items[i].mark == NEW)
            graph_push(&graph, &graph.vertices.items[i]);
        while (graph.path.len > 0)
            graph_step(&graph, c);
    }
    graph_done(&graph);
}
