// SPDX-License-Identifier: Apache-2.0
#include "cli/applying.h"
#include "base/mem.h"
#include "cli/lastapplied.h"
#include "cli/target.h"
#include "cli/vigil.h"
#include "model/cell.h"
#include "model/patch.h"
#include <errno.h>

/* Apply, computed here: fetch the object, add what the file says, take away what the file said the
 * last time and no longer does, put the result back under the version that was fetched. Somebody
 * else's change in between is a 409 and means another try. */
#define TRIES_MAX 5

/* One object on its way. */
struct wanted {
    const struct kind *kind;
    const char *ns, *name;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
};

static int fail_at(struct applying *apply, const struct manifest *manifest, size_t index,
                   struct err *err)
{
    (void)err_wrap(err, "%s:%d", manifest->file, manifest->docs.items[index].line);
    return cli_error(apply->cli, CLI_FAILED, err);
}

static int settle_namespace(struct applying *apply, struct wanted *wanted, struct err *err)
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

static int read_wanted(struct applying *apply, const struct manifest *manifest, size_t index,
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

static int tell(struct applying *apply, const struct wanted *wanted, const char *verb,
                yyjson_val *object)
{
    struct applied applied = {wanted->kind, wanted->ns, wanted->name, verb, object};
    return apply->on_applied(apply->arg, &applied);
}

static void write_url(const struct applying *apply, const struct wanted *wanted, bool create,
                      struct str *url)
{
    if (create)
        target_collection(wanted->kind, wanted->ns, url);
    else
        target_object(wanted->kind, wanted->ns, wanted->name, url);
    target_query(url, "fieldManager", "muster-client-side-apply");
    if (apply->is_strict)
        target_query(url, "fieldValidation", "Strict");
    if (str_eq(apply->dry_run, "server"))
        target_query(url, "dryRun", "All");
}

static int on_answer(struct applying *apply, const struct wanted *wanted, const char *verb,
                     const struct client_response *res)
{
    struct sv answer = {str_text(&res->body), res->body.len};
    scoped_json *doc = NULL;
    if (res->status == 409 && apply->tries_left > 0)
        return -EAGAIN;
    if (res->status > 299 || json_parse(answer, &doc, NULL) < 0)
        return cli_refusal(apply->cli, res->status, answer);
    return tell(apply, wanted, verb, yyjson_doc_get_root(doc));
}

/* Sends the object, or only thinks of it. -EAGAIN: somebody was faster. */
static int send_object(struct applying *apply, const struct wanted *wanted, bool create,
                       yyjson_mut_val *root)
{
    const char *verb = create ? "created" : "configured";
    if (str_eq(apply->dry_run, "client")) {
        scoped_json *doc = yyjson_mut_val_imut_copy(root, NULL);
        return tell(apply, wanted, verb, yyjson_doc_get_root(doc));
    }
    scoped_str url = {0};
    scoped_str body = {0};
    if (create && apply->before_create != NULL)
        apply->before_create(apply->arg, wanted->doc);
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

static int update(struct applying *apply, const struct wanted *wanted, struct sv answer)
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
        return tell(apply, wanted, "unchanged", yyjson_doc_get_root(live));
    return send_object(apply, wanted, false, root);
}

/* A Pod, a Job or a JobSet that is over does nothing when it is applied once more. */
static bool has_ended(struct sv answer)
{
    static const char *const ENDS[] = {"Complete", "Completed", "Failed"};
    scoped_json *doc = NULL;
    if (json_parse(answer, &doc, NULL) < 0)
        return false;
    yyjson_val *object = yyjson_doc_get_root(doc);
    const char *phase = json_str_at(object, "status.phase");
    if (str_eq(phase, "Succeeded") || str_eq(phase, "Failed"))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(ENDS); i++) {
        if (cell_condition_as(object, ENDS[i], "True") != NULL)
            return true;
    }
    return false;
}

static int refuse_taken(struct applying *apply, const struct wanted *wanted)
{
    struct err err = {0};
    (void)err_set(&err, -EEXIST, "%s/%s is there already, and has not ended",
                  wanted->kind->singular, wanted->name);
    (void)err_hint(&err, "take another --name, or end it with: muster delete %s %s -n %s",
                   wanted->kind->singular, wanted->name, wanted->ns);
    return cli_error(apply->cli, CLI_FAILED, &err);
}

static int renew(struct applying *apply, const struct wanted *wanted)
{
    scoped_str url = {0};
    struct client_response res = {0};
    target_object(wanted->kind, wanted->ns, wanted->name, &url);
    struct request req = {.method = "DELETE",
                          .target = str_text(&url),
                          .body = SV("{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                                     "\"propagationPolicy\":\"Foreground\"}")};
    int r = cli_call(apply->cli, &req, &res);
    if (r != CLI_OK)
        return r;
    bool gone = res.status <= 299 || res.status == 404;
    if (!gone)
        r = cli_refusal(apply->cli, res.status, (struct sv){str_text(&res.body), res.body.len});
    client_response_done(&res);
    if (!gone)
        return r;
    struct vigil vigil = {.cli = apply->cli, .what = VIGIL_DELETE, .deadline = TIME_NEVER};
    struct item item = {wanted->kind, (char *)wanted->ns, (char *)wanted->name, NULL};
    r = vigil_keep(&vigil, &item);
    return r != CLI_OK ? r : send_object(apply, wanted, true, wanted->root);
}

static int try_once(struct applying *apply, const struct wanted *wanted)
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
    else if (apply->renew && has_ended(answer))
        r = renew(apply, wanted);
    else if (apply->is_new)
        r = refuse_taken(apply, wanted);
    else
        r = update(apply, wanted, answer);
    client_response_done(&res);
    return r;
}

static int apply_document(void *arg, const struct manifest *manifest, size_t index)
{
    struct applying *apply = arg;
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
    struct cli *cli = arg;
    const struct kind *kind = NULL;
    scoped_str findings = {0};
    if (manifest_check(manifest, index, &findings, &kind) == 0)
        return CLI_OK;
    fwrite(str_text(&findings), 1, findings.len, cli->err);
    return CLI_FAILED;
}

int applying_check(struct cli *cli, const struct manifests *manifests)
{
    size_t count = 0;
    for (size_t i = 0; i < manifests->list.len; i++)
        count += manifests->list.items[i].docs.len;
    if (count == 0 && manifests->configured == NULL) {
        struct err err = {0};
        (void)err_set(&err, -ENOENT, "no objects passed to %s", cli->verb->name);
        return cli_error(cli, CLI_FAILED, &err);
    }
    return manifests_each(manifests, check_document, cli);
}

int applying_send(struct applying *applying, const struct manifests *manifests)
{
    return manifests_each(manifests, apply_document, applying);
}
