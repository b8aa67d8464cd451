// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/target.h"
#include <errno.h>

const struct opt OPTS_RESTART[] = {
    {"namespace", 'n', "NAMESPACE", "The namespace of the objects.",
     .complete = COMPLETE_NAMESPACE},
    {0},
};

static int ask(struct cli *cli, const struct item *item)
{
    scoped_str url = {0}, label = {0};
    scoped_json *answer = NULL;
    target_object(item->kind, item->ns, item->name, &url);
    str_add(&url, "/restart");
    struct request req = {.method = "POST", .target = str_text(&url), .body = SV("{}")};
    int exit_code = cli_fetch(cli, &req, &answer);
    if (exit_code != CLI_OK)
        return exit_code;
    target_label(item->kind, &label);
    bool is_suspended = yyjson_get_bool(json_at(yyjson_doc_get_root(answer), "spec.suspend"));
    fprintf(cli->out,
            is_suspended ? "%s/%s is suspended: it starts anew when it is resumed\n"
                         : "%s/%s restarts\n",
            str_text(&label), item->name);
    return CLI_OK;
}

static int check(struct cli *cli, const struct items *items)
{
    for (size_t i = 0; i < items->list.len; i++) {
        const struct item *item = &items->list.items[i];
        if (item->kind == &KIND_JOBSET)
            continue;
        struct err err = {0};
        (void)err_set(&err, -EINVAL, "a %s cannot be restarted", item->kind->singular);
        (void)err_hint(&err, "JobSets can: muster restart jobset/NAME; a pod that is deleted is "
                             "made anew by its Job");
        return cli_error(cli, CLI_USAGE, &err);
    }
    return CLI_OK;
}

int verb_restart(struct cli *cli, int argc, char **argv)
{
    struct targets targets = {0};
    struct items items = {0};
    int exit_code = targets_parse(cli, argc, argv, &targets);
    if (exit_code == CLI_OK && targets.list.items[0].name == NULL)
        exit_code = cli_usage(cli, "which one? Write: muster restart jobset/NAME");
    if (exit_code == CLI_OK)
        exit_code = cli_connect(cli);
    if (exit_code == CLI_OK)
        exit_code = items_find(cli, &targets, &items);
    if (exit_code == CLI_OK)
        exit_code = check(cli, &items);
    int worst = exit_code;
    for (size_t i = 0; exit_code == CLI_OK && i < items.list.len && worst < CLI_UNREACHABLE; i++) {
        int code = ask(cli, &items.list.items[i]);
        worst = code > worst ? code : worst;
    }
    items_done(&items);
    targets_done(&targets);
    return worst;
}
