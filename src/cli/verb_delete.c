// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/vigil.h"
#include <errno.h>
#include <stdlib.h>

static const char *const CASCADES[] = {"background", "foreground", "orphan", NULL};
static const char *const DRY_RUNS[] = {"none", "client", "server", NULL};
static const char *const FORMATS[] = {"name", NULL};
const struct opt OPTS_DELETE[] = {
    {"filename", 'f', "FILE", "Delete the objects of this file, folder, or - for standard input.",
     .flags = OPT_REPEAT, .complete = COMPLETE_FILE},
    {"namespace", 'n', "NAMESPACE", "The namespace of the objects.",
     .complete = COMPLETE_NAMESPACE},
    {"all-namespaces", 'A', NULL, "Objects of all namespaces, with --all or --selector."},
    {"selector", 'l', "SELECTOR", "Delete all objects of the kind with these labels."},
    {"field-selector", 0, "SELECTOR", "Delete all objects of the kind with these fields."},
    {"all", 0, NULL, "Delete all objects of the kind."},
    {"cascade", 0, "HOW",
     "What happens to objects that belong to it: deleted afterwards, deleted first, or kept.",
     .fallback = "background", .values = CASCADES, .flags = OPT_OPTIONAL, .optional = "background"},
    {"grace-period", 0, "SECONDS", "How long it may take to stop; -1 is the object's own period.",
     .fallback = "-1"},
    {"now", 0, NULL, "The same as --grace-period=1."},
    {"force", 0, NULL, "Do not wait for it to stop at all."},
    {"ignore-not-found", 0, NULL, "An object that is not there is no error."},
    {"wait", 0, NULL, "Wait until the objects are gone.", .fallback = "true"},
    {"timeout", 0, "DURATION", "Give the waiting up after this; 0 is never.", .fallback = "0s"},
    {"dry-run", 0, "WHERE", "Change nothing.", .fallback = "none", .values = DRY_RUNS,
     .flags = OPT_OPTIONAL, .optional = "client"},
    {"output", 'o', "FORMAT", "Print names only.", .values = FORMATS},
    {0},
};

struct deletion {
    struct cli *cli;
    long grace_s;
    bool many;          /* by selector: what is gone meanwhile is no error */
    struct str options; /* the body of each request */
    struct items items;
    struct items waiting;
};

static int read_grace(struct deletion *d)
{
    const struct opt_values *opts = &d->cli->opts;
    const char *text = opt_get(opts, "grace-period");
    char *end = NULL;
    errno = 0;
    d->grace_s = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || d->grace_s < -1)
        return cli_usage(d->cli, "option '--grace-period': '%s' is not a number of seconds", text);
    if (opt_flag(opts, "force") && d->grace_s > 0)
        return cli_usage(d->cli, "--force and --grace-period=%ld contradict each other",
                         d->grace_s);
    if (opt_flag(opts, "now"))
        d->grace_s = 1;
    if (opt_flag(opts, "force"))
        d->grace_s = 0;
    else if (d->grace_s == 0)
        d->grace_s = 1; /* 0 takes the object away before its processes are; that needs --force */
    return CLI_OK;
}

static void make_options(struct deletion *d)
{
    static const char *const POLICIES[] = {"Background", "Foreground", "Orphan"};
    const char *cascade = opt_get(&d->cli->opts, "cascade");
    const char *policy = POLICIES[0];
    for (size_t i = 0; i < ARRAY_LEN(POLICIES); i++)
        policy = str_eq(CASCADES[i], cascade) ? POLICIES[i] : policy;
    str_addf(&d->options,
             "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"%s\"",
             policy);
    if (d->grace_s >= 0)
        str_addf(&d->options, ",\"gracePeriodSeconds\":%ld", d->grace_s);
    if (str_eq(opt_get(&d->cli->opts, "dry-run"), "server"))
        str_add(&d->options, ",\"dryRun\":[\"All\"]");
    str_addc(&d->options, '}');
}

static void print_deleted(struct deletion *d, const struct item *item)
{
    scoped_str label = {0};
    target_label(item->kind, &label);
    const char *dry_run = opt_get(&d->cli->opts, "dry-run");
    const char *note = "";
    if (str_eq(dry_run, "client"))
        note = " (dry run)";
    else if (str_eq(dry_run, "server"))
        note = " (server dry run)";
    if (opt_get(&d->cli->opts, "output") != NULL)
        fprintf(d->cli->out, "%s/%s\n", str_text(&label), item->name);
    else
        fprintf(d->cli->out, "%s \"%s\" %sdeleted%s\n", str_text(&label), item->name,
                opt_flag(&d->cli->opts, "force") ? "force " : "", note);
}

/* The answer is the object, or a Status that names it. */
static void wait_for(struct deletion *d, const struct item *item, struct sv answer)
{
    scoped_json *doc = NULL;
    const char *uid = NULL;
    if (json_parse(answer, &doc, NULL) == 0) {
        uid = json_str_at(yyjson_doc_get_root(doc), "metadata.uid");
        uid = uid ? uid : json_str_at(yyjson_doc_get_root(doc), "details.uid");
    }
    items_add(&d->waiting, item->kind, item->ns, item->name);
    vec_last(&d->waiting.list)->uid = mem_strdup(uid);
}

static int delete_item(struct deletion *d, const struct item *item)
{
    const struct opt_values *opts = &d->cli->opts;
    if (str_eq(opt_get(opts, "dry-run"), "client")) {
        print_deleted(d, item);
        return CLI_OK;
    }
    scoped_str url = {0};
    target_object(item->kind, item->ns, item->name, &url);
    struct request req = {.method = "DELETE",
                          .target = str_text(&url),
                          .body = {str_text(&d->options), d->options.len}};
    struct client_response res = {0};
    int exit_code = cli_call(d->cli, &req, &res);
    if (exit_code != CLI_OK)
        return exit_code;
    struct sv answer = {str_text(&res.body), res.body.len};
    bool missing_is_fine = d->many || opt_flag(opts, "ignore-not-found");
    if (res.status > 299 && !(res.status == 404 && missing_is_fine))
        exit_code = cli_refusal(d->cli, res.status, answer);
    else if (res.status != 404)
        wait_for(d, item, answer);
    if (res.status <= 299)
        print_deleted(d, item);
    client_response_done(&res);
    return exit_code;
}

static int wait_until_gone(struct deletion *d)
{
    time_ms timeout = 0;
    int exit_code = cli_duration(d->cli, "timeout", &timeout);
    struct vigil vigil = {.cli = d->cli, .what = VIGIL_DELETE, .deadline = TIME_NEVER};
    if (timeout > 0)
        vigil.deadline = cli_monotonic(d->cli) + timeout;
    for (size_t i = 0; i < d->waiting.list.len && exit_code == CLI_OK; i++)
        exit_code = vigil_keep(&vigil, &d->waiting.list.items[i]);
    return exit_code;
}

static int delete_items(struct deletion *d)
{
    const struct opt_values *opts = &d->cli->opts;
    bool dry = !str_eq(opt_get(opts, "dry-run"), "none");
    int worst = CLI_OK;
    if (d->items.list.len == 0)
        fprintf(d->cli->err, "No resources found\n");
    if (opt_flag(opts, "force"))
        fprintf(d->cli->err, "Warning: with --force nobody waits for the processes to end; they "
                             "may go on running for a while.\n");
    make_options(d);
    for (size_t i = 0; i < d->items.list.len && worst < CLI_UNREACHABLE; i++) {
        int exit_code = delete_item(d, &d->items.list.items[i]);
        worst = exit_code > worst ? exit_code : worst;
    }
    if (worst == CLI_UNREACHABLE || dry || !opt_flag(opts, "wait"))
        return worst;
    (void)fflush(d->cli->out); /* the waiting may be long; cli_main() looks at the stream again */
    int exit_code = wait_until_gone(d);
    return exit_code > worst ? exit_code : worst;
}

static int add_document(void *arg, const struct manifest *manifest, size_t index)
{
    struct deletion *d = arg;
    struct err err = {0};
    yyjson_mut_val *root = yyjson_mut_doc_get_root(manifest->docs.items[index].doc);
    const char *api = json_mut_str_at(root, "apiVersion");
    const char *word = json_mut_str_at(root, "kind");
    const char *name = json_mut_str_at(root, "metadata.name");
    const char *ns = json_mut_str_at(root, "metadata.namespace");
    const struct kind *kind = api && word ? kind_of_api(api, word) : NULL;
    if (kind != NULL && name != NULL) {
        items_add(&d->items, kind, ns ? ns : cli_namespace(d->cli), name);
        return CLI_OK;
    }
    (void)err_set(&err, -EINVAL, "%s:%d: %s", manifest->file, manifest->docs.items[index].line,
                  kind ? "the object has no metadata.name" : "the object is of no known kind");
    return cli_error(d->cli, CLI_FAILED, &err);
}

static int find_in_files(struct deletion *d)
{
    struct manifests manifests = {0};
    int exit_code = manifests_load(d->cli, &manifests);
    if (exit_code == CLI_OK)
        exit_code = cli_connect(d->cli);
    if (exit_code == CLI_OK)
        exit_code = manifests_each(&manifests, add_document, d);
    manifests_done(&manifests);
    return exit_code;
}

static int find_by_words(struct deletion *d, int argc, char **argv)
{
    const struct opt_values *opts = &d->cli->opts;
    struct targets targets = {0};
    int exit_code = targets_parse(d->cli, argc, argv, &targets);
    if (exit_code != CLI_OK)
        return exit_code;
    bool named = targets.list.items[0].name != NULL;
    d->many = opt_is_given(opts, "selector") || opt_is_given(opts, "field-selector") ||
              opt_flag(opts, "all");
    if (named && d->many)
        exit_code = cli_usage(d->cli, "names and --all or selectors do not go together");
    else if (!named && !d->many)
        exit_code = cli_usage(d->cli, "which %s? Name them, or say --all or --selector",
                              targets.list.items[0].kind->plural);
    if (exit_code == CLI_OK)
        exit_code = cli_connect(d->cli);
    if (exit_code == CLI_OK)
        exit_code = items_find(d->cli, &targets, &d->items);
    targets_done(&targets);
    return exit_code;
}

int verb_delete(struct cli *cli, int argc, char **argv)
{
    struct deletion d = {.cli = cli};
    bool files = opt_count(&cli->opts, "filename") > 0;
    int exit_code = read_grace(&d);
    if (exit_code == CLI_OK && files && argc > 0)
        exit_code = cli_usage(cli, "-f and '%s' do not go together", argv[0]);
    else if (exit_code == CLI_OK)
        exit_code = files ? find_in_files(&d) : find_by_words(&d, argc, argv);
    if (exit_code == CLI_OK)
        exit_code = delete_items(&d);
    str_done(&d.options);
    items_done(&d.items);
    items_done(&d.waiting);
    return exit_code;
}
