// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/podview.h"
#include "cli/target.h"
#include "cli/timeline.h"
#include <errno.h>

#define ROWS_MAX 60

static const char *const FORMATS[] = {"text", "svg", "json", NULL};
const struct opt OPTS_TIMELINE[] = {
    {"namespace", 'n', "NAMESPACE", "The namespace of the object.", .complete = COMPLETE_NAMESPACE},
    {"output", 'o', "FORMAT", "How to draw it.", .fallback = "text", .values = FORMATS},
    {"width", 0, "COLUMNS", "How wide the text may be; as the terminal, or 100."},
    {0},
};

static int add_members(struct cli *cli, yyjson_val *owner, struct timeline *timeline)
{
    scoped_str url = {0}, selector = {0};
    scoped_json *doc = NULL;
    podview_selector(owner, &selector);
    target_collection(&KIND_POD, cli_namespace(cli), &url);
    target_query(&url, "labelSelector", str_text(&selector));
    int exit_code = cli_fetch(cli, &(struct request){.target = str_text(&url)}, &doc);
    size_t i, n;
    yyjson_val *pod;
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "items"), i, n, pod)
    {
        timeline_add_pod(timeline, pod);
    }
    return exit_code;
}

static int add_object(struct cli *cli, const struct target *target, struct timeline *timeline)
{
    scoped_str url = {0};
    scoped_json *doc = NULL;
    target_object(target->kind, cli_namespace(cli), target->name, &url);
    int exit_code = cli_fetch(cli, &(struct request){.target = str_text(&url)}, &doc);
    if (exit_code != CLI_OK)
        return exit_code;
    if (target->kind != &KIND_POD)
        return add_members(cli, yyjson_doc_get_root(doc), timeline);
    timeline_add_pod(timeline, yyjson_doc_get_root(doc));
    return CLI_OK;
}

static int say_nothing_yet(struct cli *cli, const struct timeline *timeline)
{
    struct err err = {0};
    (void)err_set(&err, -ENOENT, "%s: nothing of it has begun to start", timeline->title);
    (void)err_hint(&err, "see 'muster why %s'", timeline->title);
    return cli_error(cli, CLI_FAILED, &err);
}

static bool has_moved(const struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->rows.len; i++) {
        if (timeline->rows.items[i].spans.len > 0)
            return true;
    }
    return false;
}

static int show(struct cli *cli, const struct target *target, struct timeline *timeline)
{
    struct timeline_look look = {.color = cli->color};
    const char *format = opt_get(&cli->opts, "output");
    scoped_str out = {0};
    int exit_code = cli_width(cli, &look.width);
    if (exit_code == CLI_OK)
        exit_code = cli_connect(cli);
    if (exit_code == CLI_OK)
        exit_code = add_object(cli, target, timeline);
    if (exit_code != CLI_OK)
        return exit_code;
    timeline_finish(timeline, cli_now(cli));
    if (str_eq(format, "json")) {
        timeline_json(timeline, &out);
    } else if (!has_moved(timeline)) {
        return say_nothing_yet(cli, timeline);
    } else {
        timeline_fold(timeline, ROWS_MAX);
        if (str_eq(format, "svg"))
            timeline_svg(timeline, &out);
        else
            timeline_text(timeline, &look, &out);
    }
    cli_print(cli, &out);
    return CLI_OK;
}

int verb_timeline(struct cli *cli, int argc, char **argv)
{
    struct targets targets = {0};
    struct timeline timeline = {0};
    int exit_code = targets_parse(cli, argc, argv, &targets);
    if (exit_code != CLI_OK)
        return exit_code;
    const struct target *target = &targets.list.items[0];
    if (targets.list.len != 1 || target->name == NULL) {
        exit_code = cli_usage(cli, "one object at a time: KIND/NAME");
    } else if (target->kind != &KIND_POD && target->kind != &KIND_JOB) {
        exit_code =
            cli_usage(cli, "pods and jobs have a timeline, %s do not", target->kind->plural);
    } else {
        scoped_free char *title = mem_printf("%s/%s", target->kind->singular, target->name);
        timeline_init(&timeline, title);
        exit_code = show(cli, target, &timeline);
    }
    timeline_done(&timeline);
    targets_done(&targets);
    return exit_code;
}
