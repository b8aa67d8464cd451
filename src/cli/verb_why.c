// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/why.h"

static const char *const FORMATS[] = {"text", "json", NULL};
const struct opt OPTS_WHY[] = {
    {"namespace", 'n', "NAMESPACE", "The namespace of the object.", .complete = COMPLETE_NAMESPACE},
    {"output", 'o', "FORMAT", "How to print.", .fallback = "text", .values = FORMATS},
    {0},
};

static const struct why_kind *explainer_of(const struct kind *kind)
{
    for (const struct why_kind *one = WHY_KINDS; one->kind != NULL; one++) {
        if (one->kind == kind)
            return one;
    }
    return NULL;
}

static int usage_kind(struct cli *cli, const struct kind *kind)
{
    scoped_str known = {0};
    for (const struct why_kind *one = WHY_KINDS; one->kind != NULL; one++)
        str_addf(&known, "%s%s", known.len > 0 ? ", " : "", one->kind->plural);
    return cli_usage(cli, "%s cannot be explained; these can: %s", kind->plural, str_text(&known));
}

static void print_answer(struct cli *cli, yyjson_mut_val *answer)
{
    scoped_str out = {0};
    if (str_eq(opt_get(&cli->opts, "output"), "json")) {
        json_write_pretty(answer, &out);
        str_addc(&out, '\n');
    } else {
        why_print(answer, &out);
    }
    cli_print(cli, &out);
}

static int explain(struct cli *cli, const struct why_kind *kind, const char *name)
{
    struct why why = {.cli = cli, .now = cli_now(cli)};
    scoped_str url = {0};
    scoped_json *doc = NULL;
    int exit_code = cli_connect(cli);
    target_object(kind->kind, cli_namespace(cli), name, &url);
    if (exit_code == CLI_OK)
        exit_code = cli_fetch(cli, &(struct request){.target = str_text(&url)}, &doc);
    if (exit_code != CLI_OK)
        return exit_code;
    why.doc = yyjson_mut_doc_new(&JSON_ALC);
    yyjson_mut_val *answer = yyjson_mut_obj(why.doc);
    why_put(&why, answer, "kind", kind->kind->name);
    why_put(&why, answer, "namespace", json_str_at(yyjson_doc_get_root(doc), "metadata.namespace"));
    why_put(&why, answer, "name", name);
    exit_code = kind->explain(&why, yyjson_doc_get_root(doc), answer);
    if (exit_code == CLI_OK)
        print_answer(cli, answer);
    yyjson_mut_doc_free(why.doc);
    yyjson_doc_free(why.configs);
    yyjson_doc_free(why.neighbours);
    mem_free(why.node);
    return exit_code;
}

int verb_why(struct cli *cli, int argc, char **argv)
{
    struct targets targets = {0};
    int exit_code = targets_parse(cli, argc, argv, &targets);
    if (exit_code != CLI_OK)
        return exit_code;
    const struct target *target = &targets.list.items[0];
    const struct why_kind *kind = explainer_of(target->kind);
    if (targets.list.len != 1 || target->name == NULL)
        exit_code = cli_usage(cli, "one object at a time: KIND/NAME");
    else if (kind == NULL)
        exit_code = usage_kind(cli, target->kind);
    else
        exit_code = explain(cli, kind, target->name);
    targets_done(&targets);
    return exit_code;
}
