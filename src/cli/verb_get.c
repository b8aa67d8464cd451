// SPDX-License-Identifier: Apache-2.0
#include "base/map.h"
#include "base/mem.h"
#include "cli/follow.h"
#include "cli/output.h"
#include "cli/rows.h"
#include <errno.h>

const struct opt OPTS_GET[] = {
    {"namespace", 'n', "NAMESPACE", "The namespace of the objects.",
     .complete = COMPLETE_NAMESPACE},
    {"all-namespaces", 'A', NULL, "Objects of all namespaces."},
    {"selector", 'l', "SELECTOR", "Only objects with these labels: a=b,c!=d,e in (x,y),f,!g."},
    {"field-selector", 0, "SELECTOR", "Only objects with these fields: status.phase=Running."},
    {"output", 'o', "FORMAT", "How to print.", .fallback = "table", .values = OUTPUT_FORMATS},
    {"watch", 'w', NULL, "Go on printing what changes."},
    {"no-headers", 0, NULL, "Leave the header of tables out."},
    {"show-labels", 0, NULL, "Add a column with the labels."},
    {0},
};

struct get {
    struct cli *cli;
    struct output output;
    struct targets targets;
    struct rows rows;     /* of the kind at hand */
    struct gather gather; /* for formats that are not tables */
    size_t printed;       /* rows of all kinds */
    struct map *seen;     /* watch: "namespace/name" to the version that was printed */
    int watch_exit;
};

static bool is_table(const struct get *get)
{
    return get->output.format == OUTPUT_TABLE || get->output.format == OUTPUT_WIDE;
}

static void rows_start(struct get *get, const struct kind *kind, struct str *prefix)
{
    const struct opt_values *opts = &get->cli->opts;
    if (get->targets.several_kinds) {
        target_label(kind, prefix);
        str_addc(prefix, '/');
    }
    get->rows =
        (struct rows){.wide = get->output.format == OUTPUT_WIDE,
                      .headers = !opt_flag(opts, "no-headers"),
                      .show_labels = opt_flag(opts, "show-labels"),
                      .show_namespace = opt_flag(opts, "all-namespaces") && kind->namespaced,
                      .bold = get->cli->color,
                      .prefix = str_text(prefix)};
}

static void rows_flush(struct get *get)
{
    scoped_str text = {0};
    rows_print(&get->rows, &text);
    if (get->printed > 0 && text.len > 0 && get->rows.headers)
        fputc('\n', get->cli->out); /* between the tables of two kinds */
    cli_print(get->cli, &text);
    get->printed += get->rows.count;
    rows_done(&get->rows);
}

static void target_url(const struct get *get, const struct target *target, struct str *out)
{
    const char *ns = target_namespace(get->cli, target->kind);
    if (target->name != NULL) {
        target_object(target->kind, ns, target->name, out);
        return;
    }
    const char *labels = opt_get(&get->cli->opts, "selector");
    const char *fields = opt_get(&get->cli->opts, "field-selector");
    target_collection(target->kind, ns, out);
    if (labels != NULL)
        target_query(out, "labelSelector", labels);
    if (fields != NULL)
        target_query(out, "fieldSelector", fields);
}

static void gather_answer(struct get *get, const struct target *target, yyjson_val *root)
{
    if (target->name != NULL) {
        gather_add(&get->gather, target->kind, root);
        return;
    }
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(root, "items"), i, n, item)
    {
        gather_add(&get->gather, target->kind, item);
    }
}

static int no_table(struct cli *cli)
{
    struct err err = {0};
    (void)err_set(&err, -EPROTO, "the server at %s sent no table", cli->remote.label);
    (void)err_hint(&err, "ask for another format: -o yaml");
    return cli_error(cli, CLI_FAILED, &err);
}

static int get_one(struct get *get, const struct target *target)
{
    scoped_str url = {0};
    target_url(get, target, &url);
    scoped_json *doc = NULL;
    struct request req = {.target = str_text(&url), .accept = is_table(get) ? ROWS_ACCEPT : NULL};
    int exit_code = cli_fetch(get->cli, &req, &doc);
    if (exit_code != CLI_OK)
        return exit_code;
    if (!is_table(get))
        gather_answer(get, target, yyjson_doc_get_root(doc));
    else if (rows_add_table(&get->rows, yyjson_doc_get_root(doc)) < 0)
        return no_table(get->cli);
    return CLI_OK;
}

static void say_nothing_found(struct get *get)
{
    const struct target *first = &get->targets.list.items[0];
    const char *ns = target_namespace(get->cli, first->kind);
    if (first->name != NULL)
        return;
    if (ns != NULL)
        fprintf(get->cli->err, "No resources found in %s namespace.\n", ns);
    else
        fprintf(get->cli->err, "No resources found\n");
}

static int get_tables(struct get *get)
{
    int worst = CLI_OK;
    for (size_t i = 0; i < get->targets.list.len && worst < CLI_UNREACHABLE;) {
        scoped_str prefix = {0};
        const struct kind *kind = get->targets.list.items[i].kind;
        rows_start(get, kind, &prefix);
        for (; i < get->targets.list.len && get->targets.list.items[i].kind == kind; i++) {
            int exit_code = get_one(get, &get->targets.list.items[i]);
            worst = exit_code > worst ? exit_code : worst;
        }
        rows_flush(get);
    }
    if (worst == CLI_OK && get->printed == 0)
        say_nothing_found(get);
    return worst;
}

static int get_objects(struct get *get)
{
    int worst = CLI_OK;
    gather_init(&get->gather);
    for (size_t i = 0; i < get->targets.list.len && worst < CLI_UNREACHABLE; i++) {
        int exit_code = get_one(get, &get->targets.list.items[i]);
        worst = exit_code > worst ? exit_code : worst;
    }
    bool single = get->targets.list.len == 1 && get->targets.list.items[0].name != NULL;
    if (worst != CLI_UNREACHABLE) {
        int exit_code = gather_print(get->cli, &get->gather, single, &get->output);
        worst = exit_code > worst ? exit_code : worst;
    }
    gather_done(&get->gather);
    return worst;
}

/* ---- watch ---- */

/* After a forced new list only what changed meanwhile is news. */
static bool is_news(struct get *get, yyjson_val *metadata)
{
    const char *ns = json_str_at(metadata, "namespace");
    const char *name = json_str_at(metadata, "name");
    const char *version = json_str_at(metadata, "resourceVersion");
    if (name == NULL || version == NULL)
        return true;
    scoped_str key = {0};
    str_addf(&key, "%s/%s", ns ? ns : "", name);
    scoped_free char *before = map_put(get->seen, str_text(&key), mem_strdup(version));
    return !str_eq(before, version);
}

static bool row_is_news(void *arg, yyjson_val *row)
{
    return is_news(arg, json_at(row, "object.metadata"));
}

static int watch_table(struct get *get, yyjson_val *table)
{
    scoped_str text = {0};
    if (rows_add_table(&get->rows, table) < 0) {
        get->watch_exit = no_table(get->cli);
        return 1;
    }
    rows_print(&get->rows, &text);
    cli_print(get->cli, &text);
    return fflush(get->cli->out) != 0; /* nobody reads any more */
}

static int watch_object(struct get *get, yyjson_val *object)
{
    if (!is_news(get, yyjson_obj_get(object, "metadata")))
        return 0;
    gather_init(&get->gather);
    gather_add(&get->gather, get->targets.list.items[0].kind, object);
    get->watch_exit = gather_print(get->cli, &get->gather, true, &get->output);
    gather_done(&get->gather);
    return get->watch_exit != CLI_OK || fflush(get->cli->out) != 0;
}

static int not_there(struct get *get, const struct target *target)
{
    scoped_str resource = {0};
    target_resource(target->kind, &resource);
    fprintf(get->cli->err, "Error from server (NotFound): %s \"%s\" not found\n",
            str_text(&resource), target->name);
    get->watch_exit = CLI_FAILED;
    return 1;
}

static int on_list(void *arg, yyjson_val *list)
{
    struct get *get = arg;
    const struct target *target = &get->targets.list.items[0];
    yyjson_val *items = yyjson_obj_get(list, is_table(get) ? "rows" : "items");
    if (target->name != NULL && yyjson_arr_size(items) == 0)
        return not_there(get, target);
    if (is_table(get))
        return watch_table(get, list);
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(items, i, n, item)
    {
        if (watch_object(get, item) != 0)
            return 1;
    }
    return 0;
}

static int on_event(void *arg, const char *type, yyjson_val *object)
{
    (void)type; /* a deleted object is shown as it was last, as kubectl does */
    struct get *get = arg;
    return is_table(get) ? watch_table(get, object) : watch_object(get, object);
}

static bool free_version(void *arg, const char *key, void *version)
{
    (void)arg;
    (void)key;
    mem_free(version);
    return true;
}

static int get_watch(struct get *get)
{
    const struct target *target = &get->targets.list.items[0];
    if (get->targets.list.len > 1)
        return cli_usage(get->cli, "--watch needs one kind, or one object");
    scoped_str url = {0};
    scoped_str prefix = {0};
    target_url(get, &(struct target){target->kind, NULL}, &url);
    if (target->name != NULL) {
        scoped_str field = {0};
        str_addf(&field, "metadata.name=%s", target->name);
        target_query(&url, "fieldSelector", str_text(&field));
    }
    rows_start(get, target->kind, &prefix);
    get->rows.wanted = row_is_news;
    get->rows.wanted_arg = get;
    get->seen = map_new();
    struct follow follow = {
        str_text(&url), is_table(get) ? ROWS_ACCEPT : NULL, TIME_NEVER, on_list, on_event, get};
    int exit_code = follow_run(get->cli, &follow);
    (void)map_each(get->seen, free_version, NULL); /* stops early only when told to */
    map_free(get->seen);
    rows_done(&get->rows);
    return exit_code != CLI_OK ? exit_code : get->watch_exit;
}

static int check_options(struct get *get)
{
    const struct opt_values *opts = &get->cli->opts;
    bool named = get->targets.list.items[0].name != NULL;
    if (named && (opt_is_given(opts, "selector") || opt_is_given(opts, "field-selector")))
        return cli_usage(get->cli, "names and selectors do not go together");
    if (named && opt_flag(opts, "all-namespaces"))
        return cli_usage(get->cli, "names and --all-namespaces do not go together");
    return CLI_OK;
}

static int get_run(struct get *get)
{
    int exit_code = check_options(get);
    if (exit_code == CLI_OK)
        exit_code = cli_connect(get->cli);
    if (exit_code != CLI_OK)
        return exit_code;
    if (opt_flag(&get->cli->opts, "watch"))
        return get_watch(get);
    return is_table(get) ? get_tables(get) : get_objects(get);
}

int verb_get(struct cli *cli, int argc, char **argv)
{
    struct get get = {.cli = cli};
    int exit_code = output_parse(cli, &get.output);
    if (exit_code == CLI_OK)
        exit_code = targets_parse(cli, argc, argv, &get.targets);
    if (exit_code == CLI_OK)
        exit_code = get_run(&get);
    targets_done(&get.targets);
    output_done(&get.output);
    return exit_code;
}
