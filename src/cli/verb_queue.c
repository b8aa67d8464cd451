// SPDX-License-Identifier: Apache-2.0
/* Queues at a glance: how full each ClusterQueue is, who waits, what was evicted. */
#include "base/mem.h"
#include "base/quantity.h"
#include "cli/grid.h"
#include "cli/target.h"
#include "model/cell.h"
#include <string.h>

#define BAR_CELLS 20

static const char *const FORMATS[] = {"table", "json", NULL};
const struct opt OPTS_QUEUE[] = {
    {"output", 'o', "FORMAT", "How to print.", .fallback = "table", .values = FORMATS},
    {"no-headers", 0, NULL, "Leave the header of the table out."},
    {0},
};

struct queues {
    struct cli *cli;
    const char *name; /* NULL: all */
    yyjson_doc *list;
    yyjson_mut_doc *doc;
    yyjson_mut_val *out;
};

static quantity amount_of(yyjson_val *val)
{
    scoped_str number = {0};
    struct sv text = {yyjson_get_str(val), yyjson_get_len(val)};
    quantity amount = 0;
    if (yyjson_is_num(val)) {
        json_write_val(val, &number);
        text = (struct sv){number.data, number.len};
    }
    return text.ptr != NULL && quantity_parse(text, &amount, NULL) >= 0 ? amount : 0;
}

/* ---- what is told of a queue, as JSON; the table is made from the same ---- */

static void add_resource(struct queues *q, yyjson_mut_val *list, yyjson_val *queue,
                         const char *flavor, yyjson_val *quota)
{
    const char *resource = json_str_at(quota, "name");
    yyjson_val *reserved = json_find(json_at(queue, "status.flavorsReservation"), "name", flavor);
    yyjson_val *usage = json_find(yyjson_obj_get(reserved, "resources"), "name", resource);
    quantity used = amount_of(yyjson_obj_get(usage, "total"));
    quantity nominal = amount_of(yyjson_obj_get(quota, "nominalQuota"));
    yyjson_mut_val *item = yyjson_mut_arr_add_obj(q->doc, list);
    scoped_str used_text = {0}, nominal_text = {0};
    bool is_bytes = str_eq(resource, "memory");
    if (is_bytes) {
        quantity_format_binary(used, &used_text);
        quantity_format_binary(nominal, &nominal_text);
    } else {
        quantity_format(used, &used_text);
        quantity_format(nominal, &nominal_text);
    }
    int64_t percent = nominal > 0 ? (int64_t)(used * 100 / nominal) : used > 0 ? 100 : 0;
    json_mut_put(q->doc, item, "flavor", yyjson_mut_strcpy(q->doc, flavor));
    json_mut_put(q->doc, item, "resource", yyjson_mut_strcpy(q->doc, resource));
    json_mut_put(q->doc, item, "used", yyjson_mut_strcpy(q->doc, str_text(&used_text)));
    json_mut_put(q->doc, item, "nominal", yyjson_mut_strcpy(q->doc, str_text(&nominal_text)));
    json_mut_put(q->doc, item, "percent", yyjson_mut_sint(q->doc, percent));
}

static void add_resources(struct queues *q, yyjson_mut_val *list, yyjson_val *queue)
{
    size_t g, groups, f, flavors, r, resources;
    yyjson_val *group, *flavor, *quota;
    yyjson_arr_foreach(json_at(queue, "spec.resourceGroups"), g, groups, group)
    {
        yyjson_arr_foreach(yyjson_obj_get(group, "flavors"), f, flavors, flavor)
        {
            yyjson_arr_foreach(yyjson_obj_get(flavor, "resources"), r, resources, quota)
            {
                add_resource(q, list, queue, json_str_at(flavor, "name"), quota);
            }
        }
    }
}

static bool is_active(yyjson_val *queue, const char **ret_reason)
{
    yyjson_val *active = cell_condition(queue, "Active");
    if (active == NULL)
        return false;
    *ret_reason = json_str_at(active, "reason");
    return str_eq(json_str_at(active, "status"), "True");
}

static void add_queue(struct queues *q, yyjson_val *queue)
{
    static const struct {
        const char *field, *path;
    } COUNTS[] = {{"pending", "status.pendingWorkloads"},
                  {"reserving", "status.reservingWorkloads"},
                  {"admitted", "status.admittedWorkloads"},
                  {"evictions", "status.evictedWorkloads"}};
    const char *reason = "Unknown";
    const char *cohort = json_str_at(queue, "spec.cohortName");
    yyjson_mut_val *item = yyjson_mut_arr_add_obj(q->doc, q->out);
    yyjson_mut_val *resources = yyjson_mut_arr(q->doc);
    bool active = is_active(queue, &reason);
    json_mut_put(q->doc, item, "name",
                 yyjson_mut_strcpy(q->doc, json_str_at(queue, "metadata.name")));
    if (cohort != NULL)
        json_mut_put(q->doc, item, "cohort", yyjson_mut_strcpy(q->doc, cohort));
    json_mut_put(q->doc, item, "active", yyjson_mut_bool(q->doc, active));
    json_mut_put(q->doc, item, "reason", yyjson_mut_strcpy(q->doc, reason ? reason : ""));
    for (size_t i = 0; i < ARRAY_LEN(COUNTS); i++)
        json_mut_put(q->doc, item, COUNTS[i].field,
                     yyjson_mut_sint(q->doc, json_int_at(queue, COUNTS[i].path, 0)));
    add_resources(q, resources, queue);
    json_mut_put(q->doc, item, "resources", resources);
}

/* ---- the table ---- */

static void add_bar(struct grid *grid, yyjson_mut_val *resource)
{
    int64_t percent = json_mut_int_at(resource, "percent", 0);
    int64_t full = percent * BAR_CELLS / 100;
    scoped_str bar = {0};
    str_addc(&bar, '[');
    for (int64_t i = 0; i < BAR_CELLS; i++)
        str_addc(&bar, i < full ? '#' : '.');
    str_addf(&bar, "] %s/%s %s %s", json_mut_str_at(resource, "used"),
             json_mut_str_at(resource, "nominal"), json_mut_str_at(resource, "flavor"),
             json_mut_str_at(resource, "resource"));
    if (percent > 100)
        str_add(&bar, " (borrows)");
    grid_cell(grid, str_text(&bar));
}

static void add_row(struct grid *grid, yyjson_mut_val *queue)
{
    static const char *const COUNTS[] = {"pending", "admitted", "evictions"};
    yyjson_mut_val *resources = yyjson_mut_obj_get(queue, "resources");
    const char *cohort = json_mut_str_at(queue, "cohort");
    bool active = yyjson_mut_get_bool(yyjson_mut_obj_get(queue, "active"));
    grid_cell(grid, json_mut_str_at(queue, "name"));
    grid_cell(grid, cohort ? cohort : "");
    for (size_t i = 0; i < ARRAY_LEN(COUNTS); i++) {
        scoped_str number = {0};
        str_addf(&number, "%lld", (long long)json_mut_int_at(queue, COUNTS[i], 0));
        grid_cell(grid, str_text(&number));
    }
    if (!active)
        grid_cell(grid, json_mut_str_at(queue, "reason"));
    else if (yyjson_mut_arr_size(resources) == 0)
        grid_cell(grid, "no quota");
    else
        add_bar(grid, yyjson_mut_arr_get_first(resources));
    for (size_t i = 1; i < yyjson_mut_arr_size(resources); i++) {
        for (int blank = 0; blank < 5; blank++)
            grid_cell(grid, "");
        add_bar(grid, yyjson_mut_arr_get(resources, i));
    }
}

static void print_table(struct queues *q, struct str *out)
{
    static const char *const TITLES[] = {"NAME",     "COHORT",    "PENDING",
                                         "ADMITTED", "EVICTIONS", "USAGE"};
    struct grid grid = {.columns = ARRAY_LEN(TITLES)};
    bool headers = !opt_flag(&q->cli->opts, "no-headers");
    for (size_t i = 0; headers && i < ARRAY_LEN(TITLES); i++)
        grid_cell(&grid, TITLES[i]);
    size_t i, n;
    yyjson_mut_val *queue;
    yyjson_mut_arr_foreach(q->out, i, n, queue)
    {
        add_row(&grid, queue);
    }
    grid_print(&grid, q->cli->color && headers, out);
    grid_done(&grid);
}

static int show(struct queues *q)
{
    size_t i, n;
    yyjson_val *queue;
    scoped_str text = {0};
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(q->list), "items"), i, n, queue)
    {
        if (q->name == NULL || str_eq(json_str_at(queue, "metadata.name"), q->name))
            add_queue(q, queue);
    }
    if (yyjson_mut_arr_size(q->out) == 0) {
        fprintf(q->cli->err,
                q->name ? "error: there is no ClusterQueue '%s'\n" : "No ClusterQueues found%s\n",
                q->name ? q->name : "");
        return q->name ? CLI_FAILED : CLI_OK;
    }
    if (str_eq(opt_get(&q->cli->opts, "output"), "json")) {
        json_write_pretty(q->out, &text);
        str_addc(&text, '\n');
    } else {
        print_table(q, &text);
    }
    cli_print(q->cli, &text);
    return CLI_OK;
}

int verb_queue(struct cli *cli, int argc, char **argv)
{
    struct queues q = {.cli = cli, .name = argc > 0 ? argv[0] : NULL};
    scoped_str url = {0};
    target_collection(&KIND_CLUSTERQUEUE, NULL, &url);
    int r = cli_fetch(cli, &(struct request){.target = str_text(&url)}, &q.list);
    if (r != CLI_OK)
        return r;
    q.doc = yyjson_mut_doc_new(&JSON_ALC);
    q.out = yyjson_mut_arr(q.doc);
    yyjson_mut_doc_set_root(q.doc, q.out);
    r = show(&q);
    yyjson_mut_doc_free(q.doc);
    yyjson_doc_free(q.list);
    return r;
}
