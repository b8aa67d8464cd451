// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/inputs.h"
#include "cli/lastapplied.h"
#include "cli/output.h"
#include "model/patch.h"
#include <errno.h>

/* Apply, computed here: fetch the object, add what the file says, take away what the file said the
 * last time and no longer does, put the result back under the version that was fetched. Somebody
 * else's change in between is a 409 and means another try. */
#define TRIES_MAX 5

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
    int tries_left; /* for the object at hand */
};

/* One object on its way. */
struct wanted {
    const struct kind *kind;
    const char *ns, *name;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
};

static int fail_at(struct apply *apply, const struct manifest *manifest, size_t index,
                   struct err *err)
{
    (void)err_wrap(err, "%s:%d", manifest->file, manifest->docs.items[index].line);
    return cli_error(apply->cli, CLI_FAILED, err);
}

static int settle_namespace(struct apply *apply, struct wanted *wanted, struct err *err)
{
    if (!wanted->kind->namespaced)
        return 0;
    yyjson_mut_val *metadata = yyjson_mut_obj_get(wanted->root, "metadata");
    const char *own = json_mut_str_at(metadata, "namespace");
    const char *asked = cli_namespace(apply->cli);
    if (own != NULL && *own != '\0') {
        wanted->ns = own;
        if (!opt_is_given(&apply->cli->opts, "namespace") || str_eq(own, asked))
            return 0;
        (void)err_set(err, -EINVAL, "the object is in namespace '%s', not in '%s'", own, asked);
        return err_hint(err, "leave --namespace out, or say --namespace=%s", own);
    }
    json_mut_put(wanted->doc, metadata, "namespace", yyjson_mut_strcpy(wanted->doc, asked));
    wanted->ns = asked;
    return 0;
}

static int read_wanted(struct apply *apply, const struct manifest *manifest, size_t index,
                       struct wanted *wanted, struct err *err)
{
    wanted->doc = manifest->docs.items[index].doc;
    wanted->root = yyjson_mut_doc_get_root(wanted->doc);
    const char *api = json_mut_str_at(wanted->root, "apiVersion");
    const char *word = json_mut_str_at(wanted->root, "kind");
    wanted->kind = api && word ? kind_of_api(api, word) : NULL;
    wanted->name = json_mut_str_at(wanted->root, "metadata.name");
    if (wanted->kind == NULL)
        return err_set(err, -EINVAL, "%s %s is not a known kind", api ? api : "(no apiVersion)",
                       word ? word : "(no kind)");
    if (wanted->name == NULL || *wanted->name == '\0') {
        (void)err_set(err, -EINVAL, "the object has no metadata.name");
        return err_hint(err, "apply finds objects by their names; generateName cannot be applied");
    }
    return settle_namespace(apply, wanted, err);
}

static int print_result(struct apply *apply, const struct wanted *wanted, const char *verb,
                        yyjson_val *result)
{
    if (apply->output.format != OUTPUT_TABLE) {
        struct gather gather;
        gather_init(&gather);
        gather_add(&gather, wanted->kind, result);
        int exit_code = gather_print(apply->cli, &gather, true, &apply->output);
        gather_done(&gather);
        return exit_code;
    }
    scoped_str label = {0};
    target_label(wanted->kind, &label);
    const char *note = "";
    if (str_eq(apply->dry_run, "client"))
        note = " (dry run)";
    else if (str_eq(apply->dry_run, "server"))
        note = " (server dry run)";
    fprintf(apply->cli->out, "%s/%s %s%s\n", str_text(&label), wanted->name, verb, note);
    return CLI_OK;
}

static void write_url(const struct apply *apply, const struct wanted *wanted, bool create,
                      struct str *url)
{
    if (create)
        target_collection(wanted->kind, wanted->ns, url);
    else
        target_object(wanted->kind, wanted->ns, wanted->name, url);
    target_query(url, "fieldManager", "muster-client-side-apply");
    if (opt_flag(&apply->cli->opts, "validate"))
        target_query(url, "fieldValidation", "Strict");
    if (str_eq(apply->dry_run, "server"))
        target_query(url, "dryRun", "All");
}

static int on_answer(struct apply *apply, const struct wanted *wanted, const char *verb,
                     const struct client_response *res)
{
    struct sv answer = {str_text(&res->body), res->body.len};
    scoped_json *doc = NULL;
    if (res->status == 409 && apply->tries_left > 0)
        return -EAGAIN;
    if (res->status > 299 || json_parse(answer, &doc, NULL) < 0)
        return cli_refusal(apply->cli, res->status, answer);
    return print_result(apply, wanted, verb, yyjson_doc_get_root(doc));
}

/* Sends the object, or only thinks of it. -EAGAIN: somebody was faster. */
static int send_object(struct apply *apply, const struct wanted *wanted, bool create,
                       yyjson_mut_val *root)
{
    const char *verb = create ? "created" : "configured";
    if (str_eq(apply->dry_run, "client")) {
        scoped_json *doc = yyjson_mut_val_imut_copy(root, NULL);
        return print_result(apply, wanted, verb, yyjson_doc_get_root(doc));
    }
    scoped_str url = {0};
    scoped_str body = {0};
    write_url(apply, wanted, create, &url);
    json_write(root, &body);
    struct client_response res = {0};
    struct request req = {.method = create ? "POST" : "PUT",
                          .target = str_text(&url),
                          .body = {str_text(&body), body.len}};
    int r = cli_call(apply->cli, &req, &res);
    if (r != CLI_OK)
        return r;
    r = on_answer(apply, wanted, verb, &res);
    client_response_done(&res);
    return r;
}

static int update(struct apply *apply, const struct wanted *wanted, struct sv answer)
{
    struct err err = {0};
    scoped_json_mut *current = NULL;
    scoped_json *live = NULL;
    int r = json_parse_mut(answer, &current, &err);
    if (r == 0)
        r = json_parse(answer, &live, &err);
    if (r < 0)
        return cli_error(apply->cli, CLI_FAILED, &err);
    scoped_json *last = lastapplied_get(yyjson_mut_doc_get_root(current));
    scoped_json *desired = yyjson_mut_val_imut_copy(wanted->root, NULL);
    r = patch_apply(wanted->kind->type, current, yyjson_doc_get_root(last),
                    yyjson_doc_get_root(desired), &err);
    if (r < 0)
        return cli_error(apply->cli, CLI_FAILED, &err);
    scoped_json_mut *before = yyjson_doc_mut_copy(live, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(current);
    if (json_mut_equal(yyjson_mut_doc_get_root(before), root))
        return print_result(apply, wanted, "unchanged", yyjson_doc_get_root(live));
    return send_object(apply, wanted, false, root);
}

static int try_once(struct apply *apply, const struct wanted *wanted)
{
    scoped_str url = {0};
    target_object(wanted->kind, wanted->ns, wanted->name, &url);
    struct client_response res = {0};
    int r = cli_call(apply->cli, &(struct request){.target = str_text(&url)}, &res);
    if (r != CLI_OK)
        return r;
    struct sv answer = {str_text(&res.body), res.body.len};
    if (res.status == 404)
        r = send_object(apply, wanted, true, wanted->root);
    else if (res.status > 299)
        r = cli_refusal(apply->cli, res.status, answer);
    else
        r = update(apply, wanted, answer);
    client_response_done(&res);
    return r;
}

static int apply_document(void *arg, const struct manifest *manifest, size_t index)
{
    struct apply *apply = arg;
    struct err err = {0};
    struct wanted wanted = {0};
    if (read_wanted(apply, manifest, index, &wanted, &err) < 0)
        return fail_at(apply, manifest, index, &err);
    lastapplied_set(wanted.doc, wanted.root);
    apply->tries_left = TRIES_MAX;
    int r = -EAGAIN;
    while (r == -EAGAIN) {
        apply->tries_left--;
        r = try_once(apply, &wanted);
    }
    return r;
}

static int check_document(void *arg, const struct manifest *manifest, size_t index)
{
    struct apply *apply = arg;
    const struct kind *kind = NULL;
    scoped_str findings = {0};
    if (manifest_check(manifest, index, &findings, &kind) == 0)
        return CLI_OK;
    fwrite(str_text(&findings), 1, findings.len, apply->cli->err);
    return CLI_FAILED;
}

static int apply_all(struct apply *apply)
{
    struct manifests manifests = {0};
    int exit_code = manifests_load(apply->cli, &manifests);
    if (exit_code == CLI_OK && opt_flag(&apply->cli->opts, "validate"))
        exit_code = manifests_each(&manifests, check_document, apply);
    if (exit_code == CLI_OK)
        exit_code = cli_connect(apply->cli);
    if (exit_code == CLI_OK)
        exit_code = manifests_each(&manifests, apply_document, apply);
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
