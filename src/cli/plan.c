// SPDX-License-Identifier: Apache-2.0
/* The order in which the containers of a pod start, from the same graph that the node uses: init
 * containers one after the other, then each container behind what it waits for. */
#include "cli/plan.h"
#include "base/mem.h"
#include "core/start/graph.h"
#include "model/podnotes.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- signals ---- */

static const char *const LISTS[] = {"initContainers", "containers"};

static bool container_has_signal(yyjson_val *object, yyjson_val *container)
{
    static const char *const PROBES[] = {"startupProbe", "readinessProbe", "livenessProbe"};
    for (size_t i = 0; i < ARRAY_LEN(PROBES); i++) {
        if (yyjson_is_obj(yyjson_obj_get(container, PROBES[i])))
            return true;
    }
    const char *name = json_str_at(container, "name");
    return name != NULL && podnotes_notifies(object, name);
}

bool plan_has_signal(yyjson_val *object)
{
    for (size_t k = 0; k < ARRAY_LEN(LISTS); k++) {
        size_t i, n;
        yyjson_val *container;
        yyjson_arr_foreach(yyjson_obj_get(yyjson_obj_get(object, "spec"), LISTS[k]), i, n,
                           container)
        {
            if (container_has_signal(object, container))
                return true;
        }
    }
    return false;
}

/* ---- the graph ---- */

struct node {
    yyjson_val *container;
    const char *name;
    bool is_init, is_sidecar;
    VEC(struct graph_edge) edges;
};
struct planning {
    VEC(struct node) nodes; /* init containers first */
    struct podnotes notes;
};

static void add_nodes(struct planning *p, yyjson_val *list, bool is_init)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        const char *name = json_str_at(item, "name");
        struct node node = {
            .container = item, .name = name != NULL ? name : "", .is_init = is_init};
        node.is_sidecar = is_init && str_eq(json_str_at(item, "restartPolicy"), "Always");
        vec_push(&p->nodes, node);
    }
}

static void add_edge(struct node *node, uint32_t on, enum dep_condition condition)
{
    for (size_t i = 0; i < node->edges.len; i++) {
        if (node->edges.items[i].on == on)
            return;
    }
    struct graph_edge edge = {on, condition};
    vec_push(&node->edges, edge);
}

static void add_needs(struct planning *p, struct node *node)
{
    size_t n = 0;
    const struct podnotes_need *needs = podnotes_needs(&p->notes, node->container, &n);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < p->nodes.len; k++) {
            if (str_eq(p->nodes.items[k].name, needs[i].name))
                add_edge(node, (uint32_t)k, needs[i].condition);
        }
    }
}

/* Every container also waits for the init container before it, which waits for those before. */
static void add_order(struct planning *p)
{
    uint32_t last = UINT32_MAX;
    for (size_t i = 0; i < p->nodes.len; i++) {
        struct node *node = &p->nodes.items[i];
        add_needs(p, node);
        if (last != UINT32_MAX)
            add_edge(node, last, p->nodes.items[last].is_sidecar ? DEP_READY : DEP_COMPLETED);
        if (node->is_init)
            last = (uint32_t)i;
    }
}

static const struct graph_edge *edges_of(void *arg, uint32_t i, size_t *ret_n)
{
    const struct planning *p = arg;
    *ret_n = p->nodes.items[i].edges.len;
    return p->nodes.items[i].edges.items;
}

/* ---- the plan ---- */

/* What the container itself names; that init containers come first needs no words. */
static char *needs_text(struct planning *p, const struct node *node)
{
    static const char *const WORDS[] = {
        [DEP_READY] = "", [DEP_COMPLETED] = " completed", [DEP_STARTED] = " started"};
    struct str out = {0};
    size_t n = 0;
    const struct podnotes_need *needs = podnotes_needs(&p->notes, node->container, &n);
    for (size_t i = 0; i < n; i++)
        str_addf(&out, "%s%s%s", i > 0 ? ", " : "", needs[i].name, WORDS[needs[i].condition]);
    return str_take(&out);
}

static uint32_t step_of(const struct graph *graph, uint32_t i, const uint32_t *steps)
{
    size_t n = 0;
    const struct graph_edge *needs = graph_needs(graph, i, &n);
    uint32_t step = 1;
    for (size_t k = 0; k < n; k++)
        step = steps[needs[k].on] >= step ? steps[needs[k].on] + 1 : step;
    return step;
}

static void fill_plan(struct planning *p, const struct graph *graph, struct plan *plan)
{
    uint32_t n = graph_count(graph);
    const uint32_t *order = graph_order(graph);
    scoped_free uint32_t *steps = mem_zalloc(((size_t)n + 1) * sizeof(*steps));
    for (uint32_t i = 0; i < n; i++) {
        steps[order[i]] = step_of(graph, order[i], steps);
        plan->n_steps = steps[order[i]] > plan->n_steps ? steps[order[i]] : plan->n_steps;
    }
    for (uint32_t step = 1; step <= plan->n_steps; step++) {
        for (uint32_t i = 0; i < n; i++) {
            const struct node *node = &p->nodes.items[i];
            if (steps[i] != step)
                continue;
            struct plan_item item = {.name = mem_strdup(node->name), .step = step};
            item.role = node->is_sidecar ? "sidecar" : node->is_init ? "init" : "";
            item.needs = needs_text(p, node);
            vec_push(&plan->items, item);
        }
    }
}

static void planning_done(struct planning *p)
{
    for (size_t i = 0; i < p->nodes.len; i++)
        vec_done(&p->nodes.items[i].edges);
    vec_done(&p->nodes);
    podnotes_close(&p->notes);
}

int plan_make(yyjson_val *object, struct plan *ret_plan, struct err *err)
{
    struct planning p = {0};
    scoped_str problem = {0};
    podnotes_open(&p.notes, object);
    yyjson_val *spec = yyjson_obj_get(object, "spec");
    for (size_t k = 0; k < ARRAY_LEN(LISTS); k++)
        add_nodes(&p, yyjson_obj_get(spec, LISTS[k]), k == 0);
    add_order(&p);
    struct graph *graph = graph_new((uint32_t)p.nodes.len, edges_of, &p, &problem);
    if (graph != NULL) {
        *ret_plan = (struct plan){0};
        fill_plan(&p, graph, ret_plan);
    }
    int r = graph != NULL ? 0 : err_set(err, -EINVAL, "no order: %s", str_text(&problem));
    graph_free(graph);
    planning_done(&p);
    return r;
}

void plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->items.len; i++) {
        mem_free(plan->items.items[i].name);
        mem_free(plan->items.items[i].needs);
    }
    vec_done(&plan->items);
}

static void add_item(const struct plan_item *item, struct str *out)
{
    str_add(out, item->name);
    bool has_needs = *item->needs != '\0';
    if (*item->role == '\0' && !has_needs)
        return;
    str_addf(out, " (%s%s%s%s)", item->role, *item->role != '\0' && has_needs ? ", " : "",
             has_needs ? "after " : "", item->needs);
}

void plan_text(const struct plan *plan, struct str *out)
{
    uint32_t step = 0;
    for (size_t i = 0; i < plan->items.len; i++) {
        const struct plan_item *item = &plan->items.items[i];
        if (item->step != step)
            str_addf(out, "%s  %u. ", step > 0 ? "\n" : "", item->step);
        else
            str_add(out, ", ");
        step = item->step;
        add_item(item, out);
    }
    str_add(out, plan->items.len > 0 ? "\n" : "");
}

void plan_json(const struct plan *plan, struct str *out)
{
    uint32_t step = 0;
    str_addc(out, '[');
    for (size_t i = 0; i < plan->items.len; i++) {
        const struct plan_item *item = &plan->items.items[i];
        if (item->step != step)
            str_add(out, step > 0 ? "],[" : "[");
        else
            str_addc(out, ',');
        step = item->step;
        json_quote(item->name, strlen(item->name), out);
    }
    str_add(out, step > 0 ? "]]" : "]");
}
