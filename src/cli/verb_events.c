// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/eventlist.h"
#include "cli/follow.h"
#include "cli/grid.h"
#include "cli/output.h"
#include <strings.h>

static const char *const FORMATS[] = {"table", "yaml", "json", "name", "jsonpath=", NULL};
const struct opt OPTS_EVENTS[] = {
    {"namespace", 'n', "NAMESPACE", "The namespace of the events.", .complete = COMPLETE_NAMESPACE},
    {"all-namespaces", 'A', NULL, "Events of all namespaces."},
    {"for", 0, "KIND/NAME", "Only events about this object.", .complete = COMPLETE_KIND_NAME},
    {"types", 0, "TYPE,...", "Only events of these types: Normal, Warning."},
    {"output", 'o', "FORMAT", "How to print.", .fallback = "table", .values = FORMATS},
    {"watch", 'w', NULL, "Go on printing what happens."},
    {"no-headers", 0, NULL, "Leave the header of the table out."},
    {0},
};

struct events {
    struct cli *cli;
    struct output output;
    struct grid grid;
    bool started;  /* the header is out */
    time_ms since; /* watch: what is older was printed */
    int exit_code;
};

static bool is_wanted(const struct events *events, yyjson_val *event)
{
    const char *types = opt_get(&events->cli->opts, "types");
    if (types == NULL)
        return true;
    const char *type = json_str_at(event, "type");
    struct sv rest = sv_of(types);
    while (rest.len > 0) {
        struct sv one = sv_trim(sv_cut(&rest, ','));
        if (type != NULL && one.len == strlen(type) && strncasecmp(one.ptr, type, one.len) == 0)
            return true;
    }
    return false;
}

/* Misspelt ones would be waited for in vain. */
static int check_types(struct events *events)
{
    static const char *const TYPES[] = {"Normal", "Warning"};
    const char *types = opt_get(&events->cli->opts, "types");
    struct sv rest = sv_of(types);
    for (bool is_more = types != NULL; is_more; is_more = rest.len > 0) {
        struct sv one = sv_trim(sv_cut(&rest, ','));
        bool is_known = false;
        for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
            is_known |= strlen(TYPES[i]) == one.len && strncasecmp(one.ptr, TYPES[i], one.len) == 0;
        if (!is_known)
            return cli_usage(events->cli, "option '--types': '%.*s' is neither Normal nor Warning",
                             (int)one.len, one.ptr);
    }
    return CLI_OK;
}

static void add_text(struct events *events, yyjson_val *event, const char *path)
{
    const char *text = json_str_at(event, path);
    grid_cell(&events->grid, text ? text : "");
}

static void add_header(struct events *events)
{
    static const char *const TITLES[] = {"NAMESPACE", "LAST SEEN", "TYPE",
                                         "REASON",    "OBJECT",    "MESSAGE"};
    bool all = opt_flag(&events->cli->opts, "all-namespaces");
    events->grid.columns = all ? 6 : 5;
    if (opt_flag(&events->cli->opts, "no-headers"))
        return;
    for (size_t i = all ? 0 : 1; i < ARRAY_LEN(TITLES); i++)
        grid_cell(&events->grid, TITLES[i]);
}

static void add_event(struct events *events, yyjson_val *event)
{
    scoped_str age = {0};
    scoped_str object = {0};
    if (events->grid.columns == 0)
        add_header(events);
    event_age(event, cli_now(events->cli), &age);
    event_object(event, &object);
    if (opt_flag(&events->cli->opts, "all-namespaces"))
        add_text(events, event, "metadata.namespace");
    grid_cell(&events->grid, str_text(&age));
    add_text(events, event, "type");
    add_text(events, event, "reason");
    grid_cell(&events->grid, str_text(&object));
    add_text(events, event, "message");
}

static int flush_rows(struct events *events)
{
    scoped_str text = {0};
    if (events->grid.cells.len > 0) {
        bool headers = !opt_flag(&events->cli->opts, "no-headers");
        grid_print(&events->grid, events->cli->color && headers && !events->started, &text);
        events->started = true;
    }
    cli_print(events->cli, &text);
    return fflush(events->cli->out);
}

static void say_none(struct events *events)
{
    if (opt_flag(&events->cli->opts, "all-namespaces"))
        fprintf(events->cli->err, "No events found\n");
    else
        fprintf(events->cli->err, "No events found in %s namespace.\n", cli_namespace(events->cli));
}

static int print_sorted(struct events *events, yyjson_val *list)
{
    struct eventlist sorted = {0};
    struct gather gather;
    bool table = events->output.format == OUTPUT_TABLE;
    gather_init(&gather);
    eventlist_sort(yyjson_obj_get(list, "items"), &sorted);
    for (size_t i = 0; i < sorted.list.len; i++) {
        yyjson_val *event = sorted.list.items[i];
        if (!is_wanted(events, event) || event_time(event) < events->since)
            continue;
        if (table)
            add_event(events, event);
        else
            gather_add(&gather, &KIND_EVENT, event);
    }
    int exit_code = CLI_OK;
    if (!table)
        exit_code = gather_print(events->cli, &gather, false, &events->output);
    else
        (void)flush_rows(events); /* cli_main() reports a failed stream */
    eventlist_done(&sorted);
    gather_done(&gather);
    return exit_code;
}

static int on_list(void *arg, yyjson_val *list)
{
    struct events *events = arg;
    events->exit_code = print_sorted(events, list);
    /* Events have whole seconds: after a forced new list, better one twice than one lost. */
    time_ms now = cli_now(events->cli);
    events->since = now - now % 1000;
    return events->exit_code != CLI_OK || ferror(events->cli->out);
}

static int on_event(void *arg, const char *type, yyjson_val *event)
{
    struct events *events = arg;
    if (str_eq(type, "DELETED") || !is_wanted(events, event))
        return 0;
    if (events->output.format != OUTPUT_TABLE) {
        events->exit_code = output_object(events->cli, &events->output, event);
        return events->exit_code != CLI_OK || fflush(events->cli->out) != 0;
    }
    add_event(events, event);
    return flush_rows(events) != 0;
}

/* --for KIND/NAME; 0 or an exit code. */
static int add_object_selector(struct events *events, struct str *url)
{
    const char *about = opt_get(&events->cli->opts, "for");
    if (about == NULL)
        return CLI_OK;
    scoped_free char *word = mem_strdup(about);
    struct targets targets = {0};
    if (strchr(about, '/') == NULL)
        return cli_usage(events->cli, "option '--for': '%s' is not KIND/NAME", about);
    int exit_code = targets_parse(events->cli, 1, &word, &targets);
    if (exit_code != CLI_OK)
        return exit_code;
    scoped_str selector = {0};
    str_addf(&selector, "involvedObject.kind=%s,involvedObject.name=%s",
             targets.list.items[0].kind->name, targets.list.items[0].name);
    target_query(url, "fieldSelector", str_text(&selector));
    targets_done(&targets);
    return CLI_OK;
}

static int show(struct events *events, const char *url)
{
    if (opt_flag(&events->cli->opts, "watch")) {
        struct follow follow = {url, NULL, TIME_NEVER, on_list, on_event, events};
        int exit_code = follow_run(events->cli, &follow);
        return exit_code != CLI_OK ? exit_code : events->exit_code;
    }
    scoped_json *doc = NULL;
    int exit_code = cli_fetch(events->cli, &(struct request){.target = url}, &doc);
    if (exit_code == CLI_OK)
        exit_code = print_sorted(events, yyjson_doc_get_root(doc));
    if (exit_code == CLI_OK && events->output.format == OUTPUT_TABLE && !events->started)
        say_none(events);
    return exit_code;
}

int verb_events(struct cli *cli, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct events events = {.cli = cli};
    scoped_str query = {0};
    int exit_code = output_parse(cli, &events.output);
    if (exit_code == CLI_OK)
        exit_code = check_types(&events);
    if (exit_code == CLI_OK)
        exit_code = add_object_selector(&events, &query);
    if (exit_code == CLI_OK)
        exit_code = cli_connect(cli);
    if (exit_code == CLI_OK) {
        scoped_str url = {0};
        target_collection(&KIND_EVENT, target_namespace(cli, &KIND_EVENT), &url);
        str_add(&url, str_text(&query));
        exit_code = show(&events, str_text(&url));
    }
    grid_done(&events.grid);
    output_done(&events.output);
    return exit_code;
}
