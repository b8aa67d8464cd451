// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/describe.h"
#include "cli/target.h"
#include "cli/why.h"

const struct opt OPTS_DESCRIBE[] = {
    {"namespace", 'n', "NAMESPACE", "The namespace of the objects.",
     .complete = COMPLETE_NAMESPACE},
    {"all-namespaces", 'A', NULL, "Objects of all namespaces."},
    {"selector", 'l', "SELECTOR", "Only objects with these labels."},
    {"show-events", 0, NULL, "Show what happened to them as well.", .fallback = "true"},
    {0},
};

/* Events are a courtesy: a server that refuses them must not hide the object. */
static void fetch_events(struct cli *cli, const struct item *item, yyjson_doc **ret_events)
{
    if (!opt_flag(&cli->opts, "show-events"))
        return;
    scoped_str url = {0};
    scoped_str selector = {0};
    str_addf(&selector, "involvedObject.kind=%s,involvedObject.name=%s", item->kind->name,
             item->name);
    target_collection(&KIND_EVENT, item->ns ? item->ns : "default", &url);
    target_query(&url, "fieldSelector", str_text(&selector));
    struct client_response res = {0};
    if (cli_call(cli, &(struct request){.target = str_text(&url)}, &res) != CLI_OK)
        return;
    if (res.status == 200)
        (void)json_parse((struct sv){str_text(&res.body), res.body.len}, ret_events, NULL);
    client_response_done(&res);
}

/* A courtesy as well: without them it is the names of pods. */
static void fetch_list(struct cli *cli, const struct kind *kind, const char *ns, yyjson_doc **ret)
{
    scoped_str url = {0};
    struct client_response res = {0};
    target_collection(kind, ns, &url);
    if (cli_call(cli, &(struct request){.target = str_text(&url)}, &res) != CLI_OK)
        return;
    if (res.status == 200)
        (void)json_parse((struct sv){str_text(&res.body), res.body.len}, ret, NULL);
    client_response_done(&res);
}

static void add_spread(struct cli *cli, const struct item *item, yyjson_val *vpod, struct str *out)
{
    scoped_json *pods = NULL, *nodes = NULL;
    fetch_list(cli, &KIND_POD, item->ns, &pods);
    fetch_list(cli, &KIND_NODE, NULL, &nodes);
    describe_spread(vpod, yyjson_doc_get_root(pods), yyjson_doc_get_root(nodes), out);
}

/* What cannot be had makes it shorter, not wrong. */
static void add_life(struct cli *cli, const struct item *item, yyjson_val *object, struct str *out)
{
    struct why why = {.cli = cli, .now = cli_now(cli), .doc = yyjson_mut_doc_new(&JSON_ALC)};
    scoped_str text = {0};
    yyjson_mut_val *answer = yyjson_mut_obj(why.doc);
    if (why_life(&why, item->kind, object, answer) == CLI_OK) {
        why_print(&why, answer, &text);
        describe_life(str_text(&text), out);
    }
    why_done(&why);
}

static int describe_item(struct cli *cli, const struct item *item, bool first)
{
    scoped_str url = {0};
    scoped_json *doc = NULL;
    scoped_json *events = NULL;
    target_object(item->kind, item->ns, item->name, &url);
    int exit_code = cli_fetch(cli, &(struct request){.target = str_text(&url)}, &doc);
    if (exit_code != CLI_OK)
        return exit_code;
    fetch_events(cli, item, &events);
    scoped_str text = {0};
    str_add(&text, first ? NULL : "\n\n");
    describe_object(yyjson_doc_get_root(doc), cli_now(cli), &text);
    if (item->kind == &KIND_VPOD)
        add_spread(cli, item, yyjson_doc_get_root(doc), &text);
    add_life(cli, item, yyjson_doc_get_root(doc), &text);
    if (opt_flag(&cli->opts, "show-events"))
        describe_events(yyjson_doc_get_root(events), cli_now(cli), &text);
    cli_print(cli, &text);
    return CLI_OK;
}

static int describe_all(struct cli *cli, const struct targets *targets)
{
    struct items items = {0};
    int worst = cli_connect(cli);
    if (worst == CLI_OK)
        worst = items_find(cli, targets, &items);
    if (worst == CLI_OK && items.list.len == 0)
        fprintf(cli->err, "No resources found\n");
    bool first = true;
    for (size_t i = 0; i < items.list.len && worst < CLI_UNREACHABLE; i++) {
        int exit_code = describe_item(cli, &items.list.items[i], first);
        first = first && exit_code != CLI_OK;
        worst = exit_code > worst ? exit_code : worst;
    }
    items_done(&items);
    return worst;
}

int verb_describe(struct cli *cli, int argc, char **argv)
{
    struct targets targets = {0};
    int exit_code = targets_parse(cli, argc, argv, &targets);
    if (exit_code != CLI_OK)
        return exit_code;
    bool named = targets.list.items[0].name != NULL;
    if (named && opt_is_given(&cli->opts, "selector"))
        exit_code = cli_usage(cli, "names and selectors do not go together");
    else
        exit_code = describe_all(cli, &targets);
    targets_done(&targets);
    return exit_code;
}
