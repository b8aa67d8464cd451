// SPDX-License-Identifier: Apache-2.0
#include "cli/applying.h"
#include "cli/output.h"
#include <errno.h>

static const char *const DRY_RUNS[] = {"none", "client", "server", NULL};
static const char *const FORMATS[] = {"name", "yaml", "json", "jsonpath=", NULL};
const struct opt OPTS_APPLY[] = {
    {"filename", 'f', "FILE", "A file, a folder of files, or - for standard input.",
     .flags = OPT_REPEAT, .complete = COMPLETE_FILE},
    {"namespace", 'n', "NAMESPACE", "The namespace of objects that name none.",
     .complete = COMPLETE_NAMESPACE},
    {"dry-run", 0, "WHERE",
     "Change nothing: 'client' computes the result here, 'server' lets the server check it too.",
     .fallback = "none", .values = DRY_RUNS, .flags = OPT_OPTIONAL, .optional = "client"},
    {"validate", 0, NULL, "Check the files here before anything is sent.", .fallback = "true"},
    {"output", 'o', "FORMAT", "Print the resulting objects so.", .values = FORMATS},
    {0},
};

struct apply {
    struct cli *cli;
    struct output output; /* OUTPUT_TABLE: one line an object */
    const char *dry_run;
};

static int on_applied(void *arg, const struct applied *applied)
{
    struct apply *apply = arg;
    if (apply->output.format != OUTPUT_TABLE) {
        struct gather gather;
        gather_init(&gather);
        gather_add(&gather, applied->kind, applied->object);
        int exit_code = gather_print(apply->cli, &gather, true, &apply->output);
        gather_done(&gather);
        return exit_code;
    }
    scoped_str label = {0};
    target_label(applied->kind, &label);
    const char *note = "";
    if (str_eq(apply->dry_run, "client"))
        note = " (dry run)";
    else if (str_eq(apply->dry_run, "server"))
        note = " (server dry run)";
    fprintf(apply->cli->out, "%s/%s %s%s\n", str_text(&label), applied->name, applied->verb, note);
    return CLI_OK;
}

/* Most often a pipe whose first program has failed. */
static int refuse_nothing(struct cli *cli, const struct manifests *manifests)
{
    for (size_t i = 0; i < manifests->list.len; i++) {
        if (manifests->list.items[i].docs.len > 0)
            return CLI_OK;
    }
    struct err err = {0};
    if (manifests->configured != NULL)
        return CLI_OK;
    err_set(&err, -ENOENT, "there is no object in what is to be applied");
    return cli_error(cli, CLI_FAILED, &err);
}

static int apply_all(struct apply *apply)
{
    struct manifests manifests = {0};
    int exit_code = manifests_load(apply->cli, &manifests);
    if (exit_code == CLI_OK)
        exit_code = refuse_nothing(apply->cli, &manifests);
    bool validate = opt_flag(&apply->cli->opts, "validate");
    if (exit_code == CLI_OK && validate)
        exit_code = applying_check(apply->cli, &manifests);
    if (exit_code == CLI_OK)
        exit_code = cli_connect(apply->cli);
    struct applying applying = {.cli = apply->cli,
                                .dry_run = apply->dry_run,
                                .is_strict = validate,
                                .on_applied = on_applied,
                                .arg = apply};
    if (exit_code == CLI_OK) {
        manifests_pass_over(apply->cli, &manifests);
        exit_code = applying_send(&applying, &manifests);
    }
    manifests_done(&manifests);
    return exit_code;
}

int verb_apply(struct cli *cli, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct apply apply = {.cli = cli, .dry_run = opt_get(&cli->opts, "dry-run")};
    if (opt_count(&cli->opts, "filename") == 0)
        return cli_usage(cli, "'muster apply' needs -f FILE");
    int exit_code = output_parse(cli, &apply.output);
    if (exit_code == CLI_OK)
        exit_code = apply_all(&apply);
    output_done(&apply.output);
    return exit_code;
}
