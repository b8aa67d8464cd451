// SPDX-License-Identifier: Apache-2.0
/* Who waits for whom among the containers of one pod, as a graph: dependsOn of the containers and,
 * for servers that know no such field, an annotation of the pod that says the same. Init containers
 * start one after the other and before all others, so an init container can only wait for an
 * earlier one; the order in which the other containers are written does not matter.
 *
 * A circle is found by a depth-first walk with its own stack of the containers that are being
 * looked at: meeting one of them again closes the circle, and the stack from there on is the path
 * that is shown. The walk does not recurse, since a pod may name thousands of containers.
 *
 * Fields are checked with the spec, the annotation with the object that has both. A circle of
 * fields alone was reported by then; one that goes through the annotation is reported there. */
#include "model/podnotes.h"
#include "model/podspec.h"
#include "model/rules.h"
#include <assert.h>

enum mark {
    NEW,
    ON_PATH,
    CLEAR, /* nothing behind it closes a circle */
};

struct edge {
    struct vertex *to;
    bool is_noted; /* by the annotation */
};

struct vertex {
    yyjson_mut_val *container;
    const char *name;
    bool init;
    size_t index; /* in its list */
    enum mark mark;
    VEC(struct edge) edges;
    size_t next;         /* edge to follow */
    bool is_noted_entry; /* the path came here by such an edge */
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

static struct vertex *graph_find(const struct graph *graph, const char *name)
{
    return name != NULL ? map_get(graph->by_name, name) : NULL;
}

static void link_fields(const struct graph *graph, struct vertex *from)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(from->container, "dependsOn"), i, n, item)
    {
        struct edge edge = {
            .to = graph_find(graph, yyjson_mut_get_str(yyjson_mut_obj_get(item, "name")))};
        if (edge.to != NULL && edge.to != from)
            vec_push(&from->edges, edge);
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
    for (size_t i = 0; i < graph->vertices.len; i++)
        link_fields(graph, &graph->vertices.items[i]);
}

static void graph_done(struct graph *graph)
{
    for (size_t i = 0; i < graph->vertices.len; i++)
        vec_done(&graph->vertices.items[i].edges);
    vec_done(&graph->vertices);
    vec_done(&graph->path);
    map_free(graph->by_name);
    rules_names_done(&graph->names);
}

/* ---- each edge by itself ---- */

/* NULL, or why `from` cannot wait for `to`. */
static const char *order_problem(const struct vertex *from, const struct vertex *to)
{
    if (from == to)
        return "a container cannot wait for itself";
    if (from->init && !to->init)
        return "an init container cannot wait for a container that starts after it";
    if (from->init && to->index > from->index)
        return "init containers start in order; this one comes later";
    return NULL;
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
        const struct vertex *to = graph_find(graph, yyjson_mut_get_str(name));
        const char *problem = to != NULL ? order_problem(from, to) : NULL;
        if (problem != NULL)
            check_invalid(c, "name", name, problem);
        check_leave(c, item);
    }
    check_leave(c, list);
}

/* ---- circles ---- */

struct circle {
    const struct graph *graph;
    const struct vertex *start;
    bool is_noted; /* goes through the annotation */
};
typedef void circle_fn(struct check *c, const struct circle *circle, const char *text,
                       yyjson_mut_val *note);

static void graph_push(struct graph *graph, struct vertex *v, bool is_noted)
{
    v->mark = ON_PATH;
    v->next = 0;
    v->is_noted_entry = is_noted;
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

static void report_field_circle(struct check *c, const struct circle *circle, const char *text,
                                yyjson_mut_val *note)
{
    (void)note;
    const struct vertex *start = circle->start;
    size_t list = check_enter(c, start->init ? "initContainers" : "containers");
    size_t item = check_enter_item(c, start->index, start->container);
    check_invalid(c, "dependsOn", yyjson_mut_obj_get(start->container, "name"), text);
    check_hint(c, "take one of these dependencies away");
    check_leave(c, item);
    check_leave(c, list);
}

static void report_noted_circle(struct check *c, const struct circle *circle, const char *text,
                                yyjson_mut_val *note)
{
    if (!circle->is_noted)
        return;
    check_invalid(c, NULL, note, text);
    check_hint(c, "take one of these dependencies away");
}

struct walk {
    struct graph *graph;
    struct check *c;
    circle_fn *report;
    yyjson_mut_val *note;
};

static void close_circle(const struct walk *walk, const struct edge *last)
{
    const struct graph *graph = walk->graph;
    struct circle circle = {.graph = graph, .start = last->to, .is_noted = last->is_noted};
    scoped_str text = {0};
    str_add(&text, "dependency cycle: ");
    size_t first = path_index(graph, last->to);
    for (size_t i = first; i < graph->path.len; i++) {
        circle.is_noted |= i > first && graph->path.items[i]->is_noted_entry;
        str_addf(&text, "%s -> ", graph->path.items[i]->name);
    }
    str_add(&text, last->to->name);
    walk->report(walk->c, &circle, str_text(&text), walk->note);
}

/* One step: follow the next edge of the container at the end of the path, or leave it. */
static void walk_step(const struct walk *walk)
{
    struct graph *graph = walk->graph;
    struct vertex *v = *vec_last(&graph->path);
    if (v->next == v->edges.len) {
        v->mark = CLEAR;
        (void)vec_pop(&graph->path);
        return;
    }
    struct edge edge = v->edges.items[v->next++];
    if (edge.to->mark == ON_PATH)
        close_circle(walk, &edge);
    else if (edge.to->mark == NEW)
        graph_push(graph, edge.to, edge.is_noted);
}

static void find_circles(const struct walk *walk)
{
    struct graph *graph = walk->graph;
    for (size_t i = 0; i < graph->vertices.len; i++) {
        if (graph->vertices.items[i].mark == NEW)
            graph_push(graph, &graph->vertices.items[i], false);
        while (graph->path.len > 0)
            walk_step(walk);
    }
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
    struct walk walk = {.graph = &graph, .c = c, .report = report_field_circle};
    find_circles(&walk);
    graph_done(&graph);
}

/* ---- the annotation ---- */

struct noting {
    struct check *c;
    struct graph *graph;
    yyjson_mut_val *note;
};

static void note_invalid(const struct noting *n, const char *from, const char *to, const char *why)
{
    scoped_free char *text = mem_printf("%s: %s%s%s", from, to, *to != '\0' ? ": " : "", why);
    check_invalid(n->c, NULL, n->note, text);
}

static void note_unknown(const struct noting *n, const char *from, const char *name)
{
    const struct rules_names *names = &n->graph->names;
    note_invalid(n, from, str_eq(from, name) ? "" : name, "not found");
    check_hint_nearest(n->c, name, names->list.items, names->list.len);
}

/* What dependsOn says of the same pair: NULL when nothing. */
static const char *field_condition(const struct vertex *from, const char *name)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(from->container, "dependsOn"), i, n, item)
    {
        const char *condition = yyjson_mut_get_str(yyjson_mut_obj_get(item, "condition"));
        if (str_eq(yyjson_mut_get_str(yyjson_mut_obj_get(item, "name")), name))
            return condition != NULL ? condition : "ready";
    }
    return NULL;
}

static bool is_noted_before(const struct vertex *from, const struct vertex *to)
{
    for (size_t i = 0; i < from->edges.len; i++) {
        if (from->edges.items[i].is_noted && from->edges.items[i].to == to)
            return true;
    }
    return false;
}

static void note_edge(const struct noting *n, struct vertex *from, const char *text)
{
    struct sv rest = sv_of(text);
    struct sv part = sv_cut(&rest, ':');
    scoped_free char *name = mem_strndup(part.ptr, part.len);
    const char *condition = podnotes_condition(text);
    struct vertex *to = graph_find(n->graph, name);
    if (to == NULL) {
        note_unknown(n, from->name, name);
        return;
    }
    const char *field = field_condition(from, name);
    const char *problem = order_problem(from, to);
    if (condition == NULL)
        problem = "the condition must be ready, completed or started";
    else if (problem == NULL && is_noted_before(from, to))
        problem = "named twice";
    else if (problem == NULL && field != NULL && !str_eq(field, condition))
        problem = "dependsOn has another condition";
    if (problem != NULL) {
        note_invalid(n, from->name, text, problem);
        return;
    }
    struct edge edge = {.to = to, .is_noted = true};
    vec_push(&from->edges, edge);
}

static void note_container(const struct noting *n, const char *name, yyjson_val *list)
{
    struct vertex *from = graph_find(n->graph, name);
    if (from == NULL) {
        note_unknown(n, name, name);
        return;
    }
    if (!yyjson_is_arr(list)) {
        note_invalid(n, name, "", "must be a list of containers");
        return;
    }
    size_t i, count;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, count, item)
    {
        if (yyjson_is_str(item))
            note_edge(n, from, yyjson_get_str(item));
        else
            note_invalid(n, name, "", "must be a list of containers");
    }
}

static void note_read(const struct noting *n)
{
    struct err err = {0};
    scoped_json *doc = NULL;
    struct sv text = {yyjson_mut_get_str(n->note), yyjson_mut_get_len(n->note)};
    if (json_parse(text, &doc, &err) < 0 || !yyjson_is_obj(yyjson_doc_get_root(doc))) {
        check_invalid(n->c, NULL, n->note, err.code < 0 ? err.text : "must be a JSON object");
        check_hint(n->c, "for example {\"web\":[\"database\",\"setup:completed\"]}");
        return;
    }
    size_t i, count;
    yyjson_val *key, *list;
    yyjson_obj_foreach(yyjson_doc_get_root(doc), i, count, key, list)
    {
        note_container(n, yyjson_get_str(key), list);
    }
}

void depends_check_note(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *note)
{
    struct graph graph = {0};
    graph_init(&graph, spec);
    struct noting noting = {.c = c, .graph = &graph, .note = note};
    note_read(&noting);
    struct walk walk = {.graph = &graph, .c = c, .report = report_noted_circle, .note = note};
    find_circles(&walk);
    graph_done(&graph);
}
