// SPDX-License-Identifier: Apache-2.0
/* What pods and nodes use, from metrics.k8s.io. */
#include "base/mem.h"
#include "base/quantity.h"
#include "cli/grid.h"
#include "cli/output.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const char *const FORMATS[] = {"table", "yaml", "json", NULL};
static const char *const ORDERS[] = {"cpu", "memory", NULL};
const struct opt OPTS_TOP[] = {
    {"namespace", 'n', "NAMESPACE", "The namespace of the pods.", .complete = COMPLETE_NAMESPACE},
    {"all-namespaces", 'A', NULL, "Pods of all namespaces."},
    {"selector", 'l', "SELECTOR", "Only objects with these labels."},
    {"containers", 0, NULL, "A line for each container of a pod."},
    {"sort-by", 0, "WHAT", "The greediest first: by cpu or memory.", .values = ORDERS},
    {"output", 'o', "FORMAT", "How to print.", .fallback = "table", .values = FORMATS},
    {"watch", 'w', NULL, "Ask again and again; on a terminal the screen is drawn anew."},
    {"interval", 0, "DURATION", "How often --watch asks.", .fallback = "2s"},
    {"no-headers", 0, NULL, "Leave the header of the table out."},
    {0},
};

struct row {
    const char *ns, *name, *container; /* of the answer; container NULL: the whole object */
    quantity cpu, memory;
};

struct top {
    struct cli *cli;
    struct output output;
    const struct kind *kind; /* PodMetrics or NodeMetrics */
    const char *name;        /* NULL: all */
    time_ms interval;
    struct grid grid; /* widths stay while it watches */
    VEC(struct row) rows;
    yyjson_doc *nodes; /* for percentages */
};

static bool is_pods(const struct top *top)
{
    return top->kind == &KIND_POD_METRICS;
}

static bool is_all(const struct top *top)
{
    return is_pods(top) && opt_flag(&top->cli->opts, "all-namespaces");
}

/* ---- from the answer to rows ---- */

static quantity amount(yyjson_val *object, const char *path)
{
    const char *text = json_str_at(object, path);
    quantity q = 0;
    return text != NULL && quantity_parse(sv_of(text), &q, NULL) == 0 ? q : 0;
}

static struct row row_of(yyjson_val *item, yyjson_val *user)
{
    return (struct row){.ns = json_str_at(item, "metadata.namespace"),
                        .name = json_str_at(item, "metadata.name"),
                        .container = user == item ? NULL : json_str_at(user, "name"),
                        .cpu = amount(user, "usage.cpu"),
                        .memory = amount(user, "usage.memory")};
}

static void add_pod(struct top *top, yyjson_val *item)
{
    struct row sum = row_of(item, item);
    size_t i, n;
    yyjson_val *container;
    yyjson_arr_foreach(yyjson_obj_get(item, "containers"), i, n, container)
    {
        struct row row = row_of(item, container);
        if (opt_flag(&top->cli->opts, "containers"))
            vec_push(&top->rows, row);
        (void)quantity_add(sum.cpu, row.cpu, &sum.cpu); /* a sum that does not fit is not shown */
        (void)quantity_add(sum.memory, row.memory, &sum.memory);
    }
    if (!opt_flag(&top->cli->opts, "containers"))
        vec_push(&top->rows, sum);
}

static void add_item(struct top *top, yyjson_val *item)
{
    if (is_pods(top))
        add_pod(top, item);
    else
        vec_push(&top->rows, row_of(item, item));
}

static int text_cmp(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int by_name(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    int order = text_cmp(a->ns, b->ns);
    if (order == 0)
        order = text_cmp(a->name, b->name);
    return order != 0 ? order : text_cmp(a->container, b->container);
}

static int by_cpu(const void *left, const void *right)
{
    int order = quantity_cmp(((const struct row *)right)->cpu, ((const struct row *)left)->cpu);
    return order != 0 ? order : by_name(left, right);
}

static int by_memory(const void *left, const void *right)
{
    int order =
        quantity_cmp(((const struct row *)right)->memory, ((const struct row *)left)->memory);
    return order != 0 ? order : by_name(left, right);
}

static void sort_rows(struct top *top)
{
    const char *order = opt_get(&top->cli->opts, "sort-by");
    if (top->rows.len == 0)
        return;
    qsort(top->rows.items, top->rows.len, sizeof(*top->rows.items),
          order == NULL          ? by_name
          : str_eq(order, "cpu") ? by_cpu
                                 : by_memory);
}

/* ---- from rows to text ---- */

static void add_header(struct top *top)
{
    static const char *const NODE_TITLES[] = {"NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)",
                                              "MEMORY(%)"};
    bool containers = is_pods(top) && opt_flag(&top->cli->opts, "containers");
    const char *const POD_TITLES[] = {is_all(top) ? "NAMESPACE" : NULL, containers ? "POD" : NULL,
                                      "NAME", "CPU(cores)", "MEMORY(bytes)"};
    const char *const *titles = is_pods(top) ? POD_TITLES : NODE_TITLES;
    bool is_shown = !opt_flag(&top->cli->opts, "no-headers");
    top->grid.columns = 0;
    for (size_t i = 0; i < ARRAY_LEN(NODE_TITLES); i++)
        top->grid.columns += titles[i] != NULL;
    for (size_t i = 0; is_shown && i < ARRAY_LEN(NODE_TITLES); i++) {
        if (titles[i] != NULL)
            grid_cell(&top->grid, titles[i]);
    }
}

static void add_cellf(struct top *top, const char *fmt, long long value)
{
    scoped_str text = {0};
    str_addf(&text, fmt, value);
    grid_cell(&top->grid, str_text(&text));
}

/* Of what pods may have on the node; "<unknown>" when it does not say. */
static void add_percent(struct top *top, const char *node, const char *path, quantity used)
{
    size_t i, n;
    yyjson_val *item;
    quantity whole = 0;
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(top->nodes), "items"), i, n, item)
    {
        if (str_eq(json_str_at(item, "metadata.name"), node))
            whole = amount(item, path);
    }
    if (whole > 0)
        add_cellf(top, "%lld%%", (long long)(used * 100 / whole));
    else
        grid_cell(&top->grid, "<unknown>");
}

static void add_row(struct top *top, const struct row *row)
{
    if (is_all(top))
        grid_cell(&top->grid, row->ns ? row->ns : "");
    grid_cell(&top->grid, row->name ? row->name : "");
    if (row->container != NULL)
        grid_cell(&top->grid, row->container);
    add_cellf(top, "%lldm", (long long)quantity_milli(row->cpu));
    if (!is_pods(top))
        add_percent(top, row->name, "status.allocatable.cpu", row->cpu);
    add_cellf(top, "%lldMi", (long long)quantity_value(row->memory) >> 20);
    if (!is_pods(top))
        add_percent(top, row->name, "status.allocatable.memory", row->memory);
}

static void make_table(struct top *top, struct str *out)
{
    add_header(top);
    for (size_t i = 0; i < top->rows.len; i++)
        add_row(top, &top->rows.items[i]);
    grid_print(&top->grid, top->cli->color && !opt_flag(&top->cli->opts, "no-headers"), out);
}

static void say_none(const struct top *top)
{
    if (!is_pods(top) || is_all(top))
        fprintf(top->cli->err, "No resources found\n");
    else
        fprintf(top->cli->err, "No resources found in %s namespace.\n", cli_namespace(top->cli));
}

/* Over what is on the screen, line by line, so that nothing flickers; what does not fit is left
 * out, since a screen that scrolls cannot be drawn over. */
static void draw(const struct top *top, const struct str *table, struct str *out)
{
    struct winsize size = {0};
    struct sv rest = {str_text(table), table->len};
    size_t lines = ioctl(fileno(top->cli->out), TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
    str_add(out, "\033[H");
    for (size_t i = 0; rest.len > 0 && (lines == 0 || i + 1 < lines); i++) {
        struct sv line = sv_cut(&rest, '\n');
        str_addn(out, line.ptr, line.len);
        str_add(out, "\033[K\n");
    }
    str_add(out, "\033[J");
}

/* ---- asking ---- */

/* A server that measures nothing does not know the address at all. */
static int no_such_group(struct top *top)
{
    struct err err = {0};
    (void)err_set(&err, -ENOENT, "this server does not measure what is used");
    (void)err_hint(&err, "only one that runs pods itself does: muster up without --no-node");
    return cli_error(top->cli, CLI_FAILED, &err);
}

static int ask(struct top *top, const char *url, yyjson_doc **ret_doc)
{
    struct client_response res = {0};
    struct err err = {0};
    int exit_code = cli_call(top->cli, &(struct request){.target = url}, &res);
    if (exit_code != CLI_OK)
        return exit_code;
    struct sv body = {str_text(&res.body), res.body.len};
    if (res.status == 404 && top->name == NULL)
        exit_code = no_such_group(top);
    else if (res.status > 299)
        exit_code = cli_refusal(top->cli, res.status, body);
    else if (json_parse(body, ret_doc, &err) < 0)
        exit_code = cli_error(top->cli, CLI_FAILED, &err);
    client_response_done(&res);
    return exit_code;
}

static int fetch(struct top *top, yyjson_doc **ret_doc)
{
    const char *selector = opt_get(&top->cli->opts, "selector");
    const char *ns = target_namespace(top->cli, top->kind);
    scoped_str url = {0};
    if (top->name != NULL)
        target_object(top->kind, ns, top->name, &url);
    else
        target_collection(top->kind, ns, &url);
    if (selector != NULL)
        target_query(&url, "labelSelector", selector);
    return ask(top, str_text(&url), ret_doc);
}

static int fetch_nodes(struct top *top)
{
    yyjson_doc_free(top->nodes);
    top->nodes = NULL;
    return cli_fetch(top->cli, &(struct request){.target = "/api/v1/nodes"}, &top->nodes);
}

static int print_table(struct top *top, yyjson_val *answer)
{
    scoped_str table = {0}, screen = {0};
    bool watches = opt_flag(&top->cli->opts, "watch");
    yyjson_val *items = yyjson_obj_get(answer, "items"), *item;
    size_t i, n;
    int exit_code = is_pods(top) ? CLI_OK : fetch_nodes(top);
    if (exit_code != CLI_OK)
        return exit_code;
    vec_clear(&top->rows);
    yyjson_arr_foreach(items, i, n, item)
    {
        add_item(top, item);
    }
    if (items == NULL)
        add_item(top, answer);
    sort_rows(top);
    if (top->rows.len == 0 && !watches) {
        say_none(top);
        return CLI_OK;
    }
    make_table(top, &table);
    if (watches && top->cli->terminal)
        draw(top, &table, &screen);
    cli_print(top->cli, watches && top->cli->terminal ? &screen : &table);
    return CLI_OK;
}

static int show(struct top *top)
{
    scoped_json *doc = NULL;
    int exit_code = fetch(top, &doc);
    if (exit_code != CLI_OK)
        return exit_code;
    if (top->output.format == OUTPUT_TABLE)
        return print_table(top, yyjson_doc_get_root(doc));
    return output_object(top->cli, &top->output, yyjson_doc_get_root(doc));
}

static int show_again_and_again(struct top *top)
{
    struct timespec span = {top->interval / 1000, (top->interval % 1000) * 1000000};
    scoped_str clear = {0};
    if (top->cli->terminal)
        str_add(&clear, "\033[2J");
    cli_print(top->cli, &clear);
    for (;;) {
        int exit_code = show(top);
        if (exit_code != CLI_OK || fflush(top->cli->out) != 0)
            return exit_code;
        (void)nanosleep(&span, NULL); /* woken early only means asking early */
    }
}

/* ---- the command line ---- */

static int parse(struct top *top, int argc, char **argv)
{
    const struct opt_values *opts = &top->cli->opts;
    const struct kind *of = argc > 0 ? target_kind(top->cli, argv[0]) : &KIND_POD;
    if (of == NULL)
        return CLI_USAGE;
    if (of != &KIND_POD && of != &KIND_NODE)
        return cli_usage(top->cli, "only pods and nodes are measured, not %s", of->plural);
    top->kind = of == &KIND_POD ? &KIND_POD_METRICS : &KIND_NODE_METRICS;
    top->name = argc > 1 ? argv[1] : NULL;
    if (top->name != NULL && (opt_is_given(opts, "selector") || is_all(top)))
        return cli_usage(top->cli, "a name goes neither with --selector nor --all-namespaces");
    int exit_code = cli_duration(top->cli, "interval", &top->interval);
    if (exit_code == CLI_OK && top->interval <= 0)
        return cli_usage(top->cli, "option '--interval' must be more than nothing");
    return exit_code;
}

int verb_top(struct cli *cli, int argc, char **argv)
{
    struct top top = {.cli = cli};
    int exit_code = output_parse(cli, &top.output);
    if (exit_code == CLI_OK)
        exit_code = parse(&top, argc, argv);
    if (exit_code == CLI_OK)
        exit_code = cli_connect(cli);
    if (exit_code == CLI_OK)
        exit_code = opt_flag(&cli->opts, "watch") ? show_again_and_again(&top) : show(&top);
    grid_done(&top.grid);
    vec_done(&top.rows);
    yyjson_doc_free(top.nodes);
    output_done(&top.output);
    return exit_code;
}
