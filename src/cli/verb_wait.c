// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/vigil.h"
#include <errno.h>

#define FOREVER_MS (7 * 24 * 3600 * (time_ms)1000) /* what a negative time-out means to kubectl */

const struct opt OPTS_WAIT[] = {
    {"for", 0, "WHAT",
     "What to wait for: condition=NAME[=VALUE], delete, create, or jsonpath={.PATH}[=VALUE].",
     .complete = COMPLETE_WISH},
    {"namespace", 'n', "NAMESPACE", "The namespace of the objects.",
     .complete = COMPLETE_NAMESPACE},
    {"all-namespaces", 'A', NULL, "Objects of all namespaces, with --all or --selector."},
    {"selector", 'l', "SELECTOR", "All objects of the kind with these labels."},
    {"field-selector", 0, "SELECTOR", "All objects of the kind with these fields."},
    {"all", 0, NULL, "All objects of the kind."},
    {"timeout", 0, "DURATION", "Give up after this; 0 looks once, less than 0 is a week.",
     .fallback = "30s"},
    {0},
};

/* The two parts of "a=b", where b may hold further equal signs. */
static void split(char *text, char **ret_value)
{
    char *equals = strchr(text, '=');
    *ret_value = equals ? equals + 1 : NULL;
    if (equals != NULL)
        *equals = '\0';
}

/* The path may hold "==" in a filter: the value begins behind the closing brace. */
static void split_path(char *text, char **ret_value)
{
    char *brace = strrchr(text, '}');
    char *equals = strchr(brace ? brace : text, '=');
    *ret_value = equals ? equals + 1 : NULL;
    if (equals != NULL)
        *equals = '\0';
}

static int parse_jsonpath(struct vigil *vigil, char *text)
{
    struct err err = {0};
    char *value = NULL;
    split_path(text, &value);
    vigil->what = VIGIL_JSONPATH;
    vigil->value = value;
    if (jsonpath_parse(sv_of(text), &vigil->path, &err) < 0)
        return cli_error(vigil->cli, CLI_USAGE, &err);
    return CLI_OK;
}

static int refuse_for(struct cli *cli, const char *text)
{
    static const char *const WORDS[] = {"delete", "create", "condition", "jsonpath"};
    struct err err = {0};
    size_t len = strcspn(text, "=");
    scoped_free char *word = mem_strndup(text, len);
    const char *nearest = str_nearest(word, WORDS, ARRAY_LEN(WORDS));
    (void)err_set(&err, -EINVAL,
                  "option '--for': '%s' is none of condition=NAME[=VALUE], delete, create, "
                  "jsonpath={.PATH}[=VALUE]",
                  text);
    if (nearest != NULL)
        (void)err_hint(&err, "did you mean '%s%s'?", nearest, text + len);
    else
        (void)err_hint(&err, "for example --for=condition=Ready");
    return cli_error(cli, CLI_USAGE, &err);
}

/* `text` is cut into the parts that the vigil points to. */
static int parse_for(struct vigil *vigil, char *text)
{
    char *value = NULL;
    if (str_eq(text, "delete") || str_eq(text, "create")) {
        vigil->what = str_eq(text, "delete") ? VIGIL_DELETE : VIGIL_CREATE;
    } else if (str_starts(text, "condition=")) {
        vigil->what = VIGIL_CONDITION;
        vigil->condition = text + strlen("condition=");
        split(text + strlen("condition="), &value);
        vigil->value = value ? value : "true";
    } else if (str_starts(text, "jsonpath=")) {
        return parse_jsonpath(vigil, text + strlen("jsonpath="));
    } else {
        return refuse_for(vigil->cli, text);
    }
    return CLI_OK;
}

static int wait_all(struct vigil *vigil, const struct items *items)
{
    struct cli *cli = vigil->cli;
    int worst = CLI_OK;
    for (size_t i = 0; i < items->list.len && worst < CLI_UNREACHABLE; i++) {
        int exit_code = vigil_keep(vigil, &items->list.items[i]);
        worst = exit_code > worst ? exit_code : worst;
        if (exit_code != CLI_OK)
            continue;
        scoped_str label = {0};
        target_label(items->list.items[i].kind, &label);
        fprintf(cli->out, "%s/%s condition met\n", str_text(&label), items->list.items[i].name);
        (void)fflush(cli->out); /* cli_main() looks at the stream again */
    }
    return worst;
}

static int find_items(struct cli *cli, const struct targets *targets, struct items *items)
{
    const struct opt_values *opts = &cli->opts;
    bool many = opt_is_given(opts, "selector") || opt_is_given(opts, "field-selector") ||
                opt_flag(opts, "all");
    bool named = targets->list.items[0].name != NULL;
    if (named == many)
        return cli_usage(cli, named ? "names and --all or selectors do not go together"
                                    : "which ones? Name them, or say --all or --selector");
    int exit_code = cli_connect(cli);
    if (exit_code == CLI_OK)
        exit_code = items_find(cli, targets, items);
    if (exit_code != CLI_OK || items->list.len > 0)
        return exit_code;
    struct err err = {0};
    (void)err_set(&err, -ENOENT, "no such objects");
    return cli_error(cli, CLI_FAILED, &err);
}

static int wait_run(struct vigil *vigil, int argc, char **argv)
{
    struct cli *cli = vigil->cli;
    struct targets targets = {0};
    struct items items = {0};
    time_ms timeout = 0;
    int exit_code = cli_duration(cli, "timeout", &timeout);
    if (exit_code == CLI_OK)
        exit_code = targets_parse(cli, argc, argv, &targets);
    if (exit_code == CLI_OK)
        exit_code = find_items(cli, &targets, &items);
    vigil->deadline = cli_monotonic(cli) + (timeout < 0 ? FOREVER_MS : timeout);
    if (exit_code == CLI_OK)
        exit_code = wait_all(vigil, &items);
    items_done(&items);
    targets_done(&targets);
    return exit_code;
}

int verb_wait(struct cli *cli, int argc, char **argv)
{
    struct vigil vigil = {.cli = cli};
    scoped_free char *what = mem_strdup(opt_get(&cli->opts, "for"));
    if (what == NULL)
        return cli_usage(cli, "'muster wait' needs --for=WHAT");
    int exit_code = parse_for(&vigil, what);
    if (exit_code == CLI_OK)
        exit_code = wait_run(&vigil, argc, argv);
    jsonpath_free(vigil.path);
    return exit_code;
}
