// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/why.h"

static const char *const FORMATS[] = {"text", "json", NULL};
const struct opt OPTS_WHY[] = {
    {"namespace", 'n', "NAMESPACE", "The namespace of the object.", .complete = COMPLETE_NAMESPACE},
    {"output", 'o', "FORMAT", "How to print.", .fallback = "text", .values = FORMATS},
    {0},
};

static void print_answer(struct cli *cli, const struct why *why, yyjson_mut_val *answer)
{
    scoped_str out = {0};
    if (str_eq(opt_get(&cli->opts, "output"), "json")) {
        json_write_pretty(answer, &out);
        str_addc(&out, '\n');
    } else {
        why_print(why, answer, &out);
    }
    cli_print(cli, &out);
}

static int explain(struct cli *cli, const struct kind *kind, const char *name)
{
    struct why why = {.cli = cli, .now = cli_now(cli)};
    scoped_str url = {0};
    scoped_json *doc = NULL;
    int exit_code = cli_connect(cli);
    target_object(kind, cli_namespace(cli), name, &url);
    if (exit_code == CLI_OK)
        exit_code = cli_fetch(cli, &(struct request){.target = str_text(&url)}, &doc);
    if (exit_code != CLI_OK)
        return exit_code;
    why.doc = yyjson_mut_doc_new(&JSON_ALC);
    yyjson_mut_val *answer = yyjson_mut_obj(why.doc);
    exit_code = why_life(&why, kind, yyjson_doc_get_root(doc), answer);
    if (exit_code == CLI_OK)
        print_answer(cli, &why, answer);
    why_done(&why);
    return exit_code;
}

int verb_why(struct cli *cli, int argc, char **argv)
{
    struct targets targets = {0};
    int exit_code = targets_parse(cli, argc, argv, &targets);
    if (exit_code != CLI_OK)
        return exit_code;
    const struct target *target = &targets.list.items[0];
    if (targets.list.len != 1 || target->name == NULL)
        exit_code = cli_usage(cli, "one object at a time: KIND/NAME");
    else
        exit_code = explain(cli, target->kind, target->name);
    targets_done(&targets);
    return exit_code;
}
