// SPDX-License-Identifier: Apache-2.0
/* Updates and patches, and what they share with creation. An update is always judged as a whole
 * new version against the newest old one: a patch is first applied to a copy, a sub-resource first
 * restricted to the part that it may change, and then the same path decides. */
#include "base/mem.h"
#include "model/jobset.h"
#include "model/patch.h"
#include "model/podnotes.h"
#include "store/write_internal.h"
#include <errno.h>
#include <stdio.h>

struct write *write_new(enum write_op op, const struct kind *kind, const char *ns, const char *name)
{
    struct write *write = mem_zalloc(sizeof(*write));
    write->op = op;
    write->kind = kind;
    write->ns = mem_strdup(ns && kind->namespaced ? ns : "");
    write->name = mem_strdup(name ? name : "");
    write->grace_s = -1;
    return write;
}

void write_free(struct write *write)
{
    if (write == NULL)
        return;
    mem_free(write->ns);
    mem_free(write->name);
    mem_free(write->if_uid);
    mem_free(write->if_version);
    mem_free(write->repeated);
    yyjson_mut_doc_free(write->doc);
    yyjson_doc_free(write->patch);
    mem_free(write);
}

/* ---- shared with creation ---- */

static void warn_unknown(const struct findings *unknown, struct str *warnings)
{
    for (size_t i = 0; i < unknown->list.len; i++) {
        const struct finding *f = &unknown->list.items[i];
        str_addf(warnings, "%s%s%s%s\n", f->text, f->hint ? " (" : "", f->hint ? f->hint : "",
                 f->hint ? ")" : "");
    }
}

static void warn_repeated(const struct write *write, struct str *warnings)
{
    struct sv rest = sv_of(write->repeated);
    while (rest.len > 0) {
        struct sv path = sv_cut(&rest, '\n');
        str_addf(warnings, "duplicate field \"%.*s\"\n", (int)path.len, path.ptr);
    }
}

static bool keeps_all_but_metadata(yyjson_mut_val *root, const struct pack_kept *kept)
{
    size_t i, n;
    yyjson_mut_val *key, *value;
    yyjson_mut_obj_foreach(root, i, n, key, value)
    {
        if (pack_member(kept, value) == PACK_MEMBERS_MAX && !yyjson_mut_equals_str(key, "metadata"))
            return false;
    }
    return true;
}

static void refuse_lines(const struct write *write, const struct str *lines, struct status *status)
{
    scoped_str all = {0};
    struct sv rest = {str_text(lines), lines->len};
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        str_addf(&all, "%s%.*s", all.len > 0 ? ", " : "", (int)line.len, line.ptr);
    }
    status_set(status, 400, "BadRequest",
               "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %s",
               write->kind->name, write->kind->version, write->kind->name, str_text(&all));
}

static bool judge_unknown(const struct write *write, const struct obj *old,
                          struct write_result *result, struct decision *decision)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(decision->doc);
    bool was_known = old != NULL && old->is_known;
    if (write->validation == VALIDATE_IGNORE) {
        decision->is_known = was_known && keeps_all_but_metadata(root, &decision->kept);
        return true;
    }
    /* What a client sends again is told to him again, unless there was nothing to tell. */
    struct findings unknown = {0};
    schema_unknown_rest(write->kind->type, root, was_known ? &decision->kept : NULL, &unknown);
    decision->is_known = unknown.list.len == 0;
    scoped_str lines = {0};
    warn_repeated(write, &lines);
    warn_unknown(&unknown, &lines);
    findings_done(&unknown);
    bool refused = write->validation == VALIDATE_STRICT && lines.len > 0;
    if (refused)
        refuse_lines(write, &lines, &result->status);
    else
        str_addn(&result->warnings, str_text(&lines), lines.len);
    return !refused;
}

bool write_complete(const struct write *write, const struct obj *old, struct write_result *result,
                    struct decision *decision)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(decision->doc);
    if (old != NULL)
        pack_compare(&decision->kept, root, old->root, "metadata");
    if (!judge_unknown(write, old, result, decision))
        return false;
    schema_fill_rest(write->kind->type, decision->doc, root, &decision->kept);
    if (old == NULL)
        return true;
    /* Once more: a client may have left out what is filled in. */
    pack_compare(&decision->kept, root, old->root, "metadata");
    pack_compare_parts(&decision->kept, yyjson_mut_obj_get(root, "metadata"),
                       yyjson_obj_get(old->root, "metadata"));
    return true;
}

static void check_name(struct check *c, const struct kind *kind, yyjson_mut_val *meta)
{
    yyjson_mut_val *name = yyjson_mut_obj_get(meta, "name");
    const char *text = yyjson_mut_get_str(name);
    if (name != NULL && text == NULL)
        return; /* a wrong type is the table's to report */
    if (text == NULL || *text == '\0') {
        check_required(c, "name", "name or generateName is required");
        return;
    }
    const char *problem = format_problem(kind->name_format, text, yyjson_mut_get_len(name));
    if (problem != NULL)
        check_invalid(c, "name", name, problem);
}

/* An object on its way out may only lose what holds it back. */
static void check_finalizers(struct check *c, yyjson_mut_val *meta, yyjson_mut_val *old_meta)
{
    size_t i, n;
    yyjson_mut_val *item, *before = yyjson_mut_obj_get(old_meta, "finalizers");
    if (yyjson_mut_obj_get(old_meta, "deletionTimestamp") == NULL)
        return;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(meta, "finalizers"), i, n, item)
    {
        if (json_mut_find(before, "", yyjson_mut_get_str(item)) != NULL)
            continue;
        scoped_free char *why =
            mem_printf("an object that is being deleted takes no new finalizers, such as %s",
                       yyjson_mut_is_str(item) ? yyjson_mut_get_str(item) : "this one");
        check_forbidden(c, "finalizers", why);
        return;
    }
}

static void check_meta(const struct kind *kind, yyjson_mut_val *root, yyjson_mut_val *old,
                       struct findings *findings)
{
    struct check check = {.findings = findings, .at = root};
    yyjson_mut_val *meta = yyjson_mut_obj_get(root, "metadata");
    size_t mark = check_enter(&check, "metadata");
    if (old == NULL) /* a name never changes, so it is judged once */
        check_name(&check, kind, meta);
    check_finalizers(&check, meta, yyjson_mut_obj_get(old, "metadata"));
    check_leave(&check, mark);
}

/* The JobSet of which this pod is a member; NULL: it is not, or not any more, one of ours. */
static const struct obj *jobset_of(const struct write_env *env, const struct write *write,
                                   yyjson_mut_val *pod)
{
    yyjson_mut_val *labels = json_mut_at(pod, "metadata.labels");
    const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(labels, JOBSET_LABEL_NAME));
    const char *uid = yyjson_mut_get_str(yyjson_mut_obj_get(labels, JOBSET_LABEL_UID));
    const struct obj *set =
        name != NULL ? env->head(env->arg, &KIND_JOBSET, write->ns, name) : NULL;
    return set != NULL && (uid == NULL || strcmp(uid, set->meta.uid) == 0) ? set : NULL;
}

/* Nobody has let anyone into the epoch that comes next, so nobody can ask for the one after it. */
static void check_announced(const struct write_env *env, const struct write *write,
                            yyjson_mut_val *pod, yyjson_mut_val *old, struct findings *findings)
{
    if (write->kind != &KIND_POD || !podnotes_announces(pod, old))
        return;
    const struct obj *set = jobset_of(env, write, pod);
    if (set == NULL)
        return;
    struct check check = {.findings = findings, .at = pod};
    struct jobset_epochs epochs = jobset_epochs(yyjson_obj_get(set->root, "status"));
    int64_t last = epochs.synced > epochs.deprecated ? epochs.synced : epochs.deprecated;
    podnotes_check_limit(&check, pod, old, last + 1);
}

bool write_check(const struct write_env *env, const struct write *write, yyjson_mut_doc *doc,
                 yyjson_mut_val *old, struct write_result *result)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    struct findings findings = {0};
    check_meta(write->kind, root, old, &findings);
    schema_check(write->kind->type, root, old, &findings);
    check_announced(env, write, root, old, &findings);
    if (findings.list.len > 0) {
        const char *name = json_mut_str_at(root, "metadata.name");
        status_invalid(&result->status, write->kind, name ? name : "", &findings);
    }
    findings_done(&findings);
    return status_ok(&result->status);
}

static bool list_is_empty(yyjson_mut_val *root, const char *path)
{
    return yyjson_mut_arr_size(json_mut_at(root, path)) == 0;
}

bool write_may_go(const struct kind *kind, yyjson_mut_val *root)
{
    if (json_mut_at(root, "metadata.deletionTimestamp") == NULL)
        return false;
    if (!list_is_empty(root, "metadata.finalizers"))
        return false;
    if (kind == &KIND_NAMESPACE && !list_is_empty(root, "spec.finalizers"))
        return false;
    return json_mut_int_at(root, "metadata.deletionGracePeriodSeconds", 0) == 0;
}

/* ---- update ---- */

static bool name_matches(struct write *write, yyjson_mut_val *root, struct status *status)
{
    const char *name = json_mut_str_at(root, "metadata.name");
    const char *ns = json_mut_str_at(root, "metadata.namespace");
    if (name != NULL && strcmp(name, write->name) != 0) {
        status_bad_request(status,
                           "the name of the object (%s) does not match the name on the URL (%s)",
                           name, write->name);
        return false;
    }
    if (ns != NULL && strcmp(ns, write->ns) != 0) {
        status_bad_request(status,
                           "the namespace of the provided object does not match the namespace "
                           "sent on the request");
        return false;
    }
    return true;
}

static bool version_matches(struct write *write, const struct obj *old, yyjson_mut_val *root,
                            struct status *status)
{
    const char *version = json_mut_str_at(root, "metadata.resourceVersion");
    if (write->if_version != NULL)
        version = write->if_version;
    if (version != NULL && *version != '\0' && strcmp(version, old->meta.resource_version) != 0) {
        status_conflict(status, write->kind, write->name, NULL);
        return false;
    }
    const char *uid = json_mut_str_at(root, "metadata.uid");
    if (write->if_uid != NULL)
        uid = write->if_uid;
    if (uid != NULL && strcmp(uid, old->meta.uid) != 0) {
        char why[256];
        (void)snprintf(why, sizeof(why),
                       "Precondition failed: UID in precondition: %s, UID in object meta: %s", uid,
                       old->meta.uid);
        status_conflict(status, write->kind, write->name, why);
        return false;
    }
    return true;
}

/* As in Kubernetes, whose clients leave out what is empty: such a list would be a difference to
 * what they send back. */
static void drop_empty(yyjson_mut_doc *doc, yyjson_mut_val *meta, const char *key)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(meta, key);
    if (yyjson_mut_is_arr(list) && yyjson_mut_arr_size(list) == 0)
        json_mut_put(doc, meta, key, NULL);
}

/* What belongs to the server stays as it was, whatever the client sent. */
static void keep_server_fields(yyjson_mut_doc *doc, yyjson_mut_val *root, yyjson_val *old)
{
    static const char *const KEYS[] = {"name",
                                       "namespace",
                                       "uid",
                                       "generation",
                                       "creationTimestamp",
                                       "deletionTimestamp",
                                       "generateName",
                                       "deletionGracePeriodSeconds"};
    yyjson_mut_val *meta = json_mut_need_obj(doc, root, "metadata");
    yyjson_val *from = yyjson_obj_get(old, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++) {
        json_mut_put(doc, meta, KEYS[i], json_mut_borrow(doc, yyjson_obj_get(from, KEYS[i])));
    }
    json_mut_put(doc, meta, "resourceVersion", NULL);
    json_mut_put(doc, meta, "selfLink", NULL);
    drop_empty(doc, meta, "finalizers"); /* the last one was taken off */
    drop_empty(doc, meta, "ownerReferences");
}

static void keep_part(yyjson_mut_doc *doc, yyjson_mut_val *root, yyjson_val *old, const char *key)
{
    json_mut_put(doc, root, key, json_mut_borrow(doc, yyjson_obj_get(old, key)));
}

/* Which object and which version the client means is judged whichever part of it is written. */
static void carry_claims(yyjson_mut_doc *to, yyjson_mut_doc *from)
{
    static const char *const CLAIMS[] = {"name", "namespace", "uid", "resourceVersion"};
    yyjson_mut_val *said = yyjson_mut_obj_get(yyjson_mut_doc_get_root(from), "metadata");
    yyjson_mut_val *meta = yyjson_mut_obj_get(yyjson_mut_doc_get_root(to), "metadata");
    for (size_t i = 0; i < ARRAY_LEN(CLAIMS); i++) {
        yyjson_mut_val *value = yyjson_mut_obj_get(said, CLAIMS[i]);
        if (value != NULL)
            json_mut_put(to, meta, CLAIMS[i], yyjson_mut_val_mut_copy(to, value));
    }
}

/* Restricts the new version to what the sub-resource may change: returns the document to judge. */
static yyjson_mut_doc *only_status(const struct obj *old, yyjson_mut_doc *doc)
{
    yyjson_mut_doc *result = obj_borrow(old);
    yyjson_mut_val *status = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "status");
    json_mut_put(result, yyjson_mut_doc_get_root(result), "status",
                 status ? yyjson_mut_val_mut_copy(result, status) : NULL);
    carry_claims(result, doc);
    return result;
}

/* Such a patch was applied to a copy of the newest version, which therefore differs in nothing but
 * its status: there is nothing to restrict. A JSON patch names its places in another way. */
static bool patches_status_alone(const struct write *write)
{
    yyjson_val *patch = yyjson_doc_get_root(write->patch);
    return write->op == WRITE_PATCH && write->patch_type != PATCH_JSON &&
           yyjson_obj_size(patch) == 1 && yyjson_obj_get(patch, "status") != NULL;
}

static yyjson_mut_doc *only_finalizers(const struct obj *old, yyjson_mut_doc *doc)
{
    yyjson_mut_doc *result = obj_borrow(old);
    yyjson_mut_val *list = json_mut_at(yyjson_mut_doc_get_root(doc), "spec.finalizers");
    json_mut_set(result, yyjson_mut_doc_get_root(result), "spec.finalizers",
                 list ? yyjson_mut_val_mut_copy(result, list) : yyjson_mut_arr(result));
    carry_claims(result, doc);
    return result;
}

static void add_scheduled_condition(yyjson_mut_doc *doc, yyjson_mut_val *root, time_ms now)
{
    yyjson_mut_val *list = json_mut_need_arr(doc, root, "status.conditions");
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;) {
        const char *type = json_mut_str_at(yyjson_mut_arr_get(list, i), "type");
        if (str_eq(type, "PodScheduled"))
            yyjson_mut_arr_remove(list, i);
    }
    scoped_str at = {0};
    rfc3339_format(now, &at);
    yyjson_mut_val *condition = yyjson_mut_arr_add_obj(doc, list);
    yyjson_mut_obj_add_str(doc, condition, "type", "PodScheduled");
    yyjson_mut_obj_add_str(doc, condition, "status", "True");
    yyjson_mut_obj_add_strcpy(doc, condition, "lastTransitionTime", str_text(&at));
}

static bool may_bind(const struct obj *pod, const char *node, struct status *status)
{
    const char *already = json_str_at(pod->root, "spec.nodeName");
    char why[640];
    if (node == NULL || *node == '\0') {
        status_bad_request(status, "Binding \"%s\": target.name must name the node",
                           pod->meta.name);
        return false;
    }
    if (already != NULL && *already != '\0')
        (void)snprintf(why, sizeof(why), "pod %s is already assigned to node \"%s\"",
                       pod->meta.name, already);
    else if (pod->meta.deleted != 0)
        (void)snprintf(why, sizeof(why), "pod %s is being deleted: no node may take it",
                       pod->meta.name);
    else
        return true;
    status_conflict(status, pod->kind, pod->meta.name, why);
    return false;
}

static yyjson_mut_doc *bound(const struct write_env *env, struct write *write,
                             struct status *status)
{
    const char *node = json_mut_str_at(yyjson_mut_doc_get_root(write->doc), "target.name");
    if (!may_bind(env->old, node, status))
        return NULL;
    yyjson_mut_doc *doc = obj_borrow(env->old);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    carry_claims(doc, write->doc);
    json_mut_set(doc, root, "spec.nodeName", yyjson_mut_strcpy(doc, node));
    add_scheduled_condition(doc, root, env->now);
    return doc;
}

static yyjson_mut_doc *scaled(const struct obj *old, struct write *write, struct status *status)
{
    yyjson_mut_doc *doc = obj_borrow(old);
    carry_claims(doc, write->doc);
    if (scale_apply(write->kind, doc, yyjson_mut_doc_get_root(write->doc), status))
        return doc;
    yyjson_mut_doc_free(doc);
    return NULL;
}

/* The whole new version that this write asks for, before it is judged. NULL: refused. */
static yyjson_mut_doc *wanted_version(const struct write_env *env, struct write *write,
                                      struct status *status)
{
    switch (write->sub) {
    case SUB_NONE:
        return take_ptr(write->doc);
    case SUB_STATUS:
        return patches_status_alone(write) ? take_ptr(write->doc)
                                           : only_status(env->old, write->doc);
    case SUB_FINALIZE:
        return only_finalizers(env->old, write->doc);
    case SUB_BINDING:
        return bound(env, write, status);
    case SUB_SCALE:
        return scaled(env->old, write, status);
    }
    return NULL;
}

/* Equal but for what every write touches. */
static bool same_part(yyjson_mut_val *a, yyjson_mut_val *b, const char *key)
{
    return json_mut_equal(yyjson_mut_obj_get(a, key), yyjson_mut_obj_get(b, key));
}

static bool same_besides(yyjson_mut_val *a, yyjson_mut_val *b, const char *skip1, const char *skip2)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(a);
    yyjson_mut_val *key;
    size_t seen = 0, skipped = 0;
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        const char *name = yyjson_mut_get_str(key);
        if (strcmp(name, skip1) == 0 || strcmp(name, skip2) == 0)
            continue;
        seen++;
        if (!same_part(a, b, name))
            return false;
    }
    skipped += yyjson_mut_obj_get(b, skip1) != NULL;
    skipped += yyjson_mut_obj_get(b, skip2) != NULL;
    return yyjson_mut_obj_size(b) == seen + skipped;
}

/* Counts the versions of what is wanted; tells whether anything at all is new. */
static bool note_change(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct obj *old,
                        yyjson_mut_val *old_root)
{
    if (same_besides(root, old_root, "metadata", "status"))
        return !same_part(root, old_root, "metadata") || !same_part(root, old_root, "status");
    if (old->meta.generation != 0)
        json_mut_set(doc, root, "metadata.generation",
                     yyjson_mut_sint(doc, old->meta.generation + 1));
    return true;
}

/* Type information may be left out by a client; it is never wrong in what we store. */
static void set_type(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct kind *kind)
{
    char api_version[128];
    json_mut_put(doc, root, "kind", yyjson_mut_str(doc, kind->name));
    json_mut_put(doc, root, "apiVersion",
                 yyjson_mut_strcpy(doc, kind_api_version(kind, api_version)));
}

/* The old version to compare with. */
static yyjson_mut_doc *past_of(const struct obj *old, const struct pack_kept *kept)
{
    yyjson_mut_doc *doc = pack_past(kept, old->root);
    yyjson_mut_val *meta = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "metadata");
    json_mut_put(doc, meta, "resourceVersion", NULL);
    return doc;
}

/* The status is another sub-resource's, so what the client says of it does not count. */
static bool owns_status(const struct write *write)
{
    return write->kind->has_status && write->sub != SUB_STATUS && write->sub != SUB_BINDING;
}

/* A patch of the two merging kinds leaves alone what it does not name, unless it has directives
 * ("$patch"). Versions that are translated on the way are not looked into. */
static bool names_all_it_changes(const struct write *write)
{
    yyjson_val *patch = yyjson_doc_get_root(write->patch);
    if (write->op != WRITE_PATCH || write->patch_type == PATCH_JSON || write->as != NULL ||
        (write->sub != SUB_NONE && write->sub != SUB_STATUS) || !yyjson_is_obj(patch))
        return false;
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(patch, i, n, key, value)
    {
        if (yyjson_get_str(key)[0] == '$')
            return false;
    }
    return true;
}

static bool leaves_alone(const struct write *write, const char *key)
{
    return names_all_it_changes(write) &&
           yyjson_obj_get(yyjson_doc_get_root(write->patch), key) == NULL;
}

/* What nobody can have changed need not be compared: of a patch that sets one annotation that is
 * nearly all of the object. */
static void keep_untouched(const struct write *write, const struct obj *old,
                           struct decision *decision)
{
    if (write->kind->prepare_update != NULL) /* it may change anything */
        return;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(decision->doc);
    yyjson_val *patch = names_all_it_changes(write) ? yyjson_doc_get_root(write->patch) : NULL;
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(old->root, i, n, key, value)
    {
        bool is_ours = owns_status(write) && yyjson_equals_str(key, "status");
        bool is_unnamed = patch != NULL &&
                          yyjson_obj_getn(patch, yyjson_get_str(key), yyjson_get_len(key)) == NULL;
        if ((is_ours || is_unnamed) && yyjson_is_ctn(value) && !yyjson_equals_str(key, "metadata"))
            pack_keep(&decision->kept, root, key, i);
    }
}

/* What the client may not touch is put in its place before anything is judged. */
static void restore(const struct write *write, const struct obj *old, yyjson_mut_doc *doc)
{
    const struct kind *kind = write->kind;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    if (leaves_alone(write, "metadata")) /* it is that of the old version */
        json_mut_set(doc, root, "metadata.resourceVersion", NULL);
    else
        keep_server_fields(doc, root, old->root);
    set_type(doc, root, kind);
    if (owns_status(write))
        keep_part(doc, root, old->root, "status");
    if (kind == &KIND_NAMESPACE && write->sub != SUB_FINALIZE)
        keep_part(doc, root, old->root, "spec"); /* it holds nothing but who still cleans up */
    if (kind->prepare_update != NULL)
        kind->prepare_update(doc, root, old->root);
}

static void judge_update(const struct write_env *env, struct write *write,
                         struct write_result *result, struct decision *decision)
{
    struct obj *old = env->old;
    yyjson_mut_doc *doc = wanted_version(env, write, &result->status);
    decision->doc = doc;
    if (doc == NULL)
        return;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    if (!name_matches(write, root, &result->status) ||
        !version_matches(write, old, root, &result->status))
        return;
    restore(write, old, doc);
    keep_untouched(write, old, decision);
    if (!write_complete(write, old, result, decision))
        return;
    scoped_json_mut *past = past_of(old, &decision->kept);
    yyjson_mut_val *old_root = yyjson_mut_doc_get_root(past);
    if (!write_check(env, write, doc, old_root, result))
        return;
    bool changed = note_change(doc, root, old, old_root);
    if (write_may_go(write->kind, root))
        decision->verdict = VERDICT_REMOVE;
    else
        decision->verdict = changed ? VERDICT_PUT : VERDICT_KEEP;
}

/* ---- patch ---- */

static bool apply_patch(struct write *write, yyjson_mut_doc *doc, struct status *status)
{
    struct err err = {0};
    yyjson_val *patch = yyjson_doc_get_root(write->patch);
    int r = 0;
    switch (write->patch_type) {
    case PATCH_MERGE:
        r = patch_merge(doc, patch, &err);
        break;
    case PATCH_JSON:
        r = patch_json(doc, patch, &err);
        break;
    case PATCH_STRATEGIC:
        r = patch_strategic((write->as ? write->as : write->kind)->type, doc, patch, &err);
        break;
    }
    if (r == 0 && !yyjson_mut_is_obj(yyjson_mut_doc_get_root(doc)))
        r = err_set(&err, -EINVAL, "the patched object is no longer an object");
    if (r == 0)
        return true;
    if (write->patch_type == PATCH_JSON && yyjson_is_arr(patch))
        status_set(status, 422, "Invalid",
                   "the server rejected our request due to an error in our "
                   "request: %s",
                   err.text);
    else
        status_bad_request(status, "%s", err.text);
    return false;
}

bool write_is_of_kind(const struct kind *kind, yyjson_mut_val *root, struct status *status)
{
    char api_version[128];
    kind_api_version(kind, api_version);
    const char *name = json_mut_str_at(root, "kind");
    const char *version = json_mut_str_at(root, "apiVersion");
    if ((name == NULL || str_eq(name, kind->name)) &&
        (version == NULL || str_eq(version, api_version)))
        return true;
    status_bad_request(status,
                       "%s in version \"%s\" cannot be handled as a %s: this address takes "
                       "apiVersion %s, kind %s",
                       name ? name : "?", version ? version : "?", kind->name, api_version,
                       kind->name);
    return false;
}

/* A Scale and a Binding are kinds of their own. */
static bool has_own_kind(const struct write *write)
{
    return write->sub != SUB_SCALE && write->sub != SUB_BINDING;
}

static bool prepare_patch(const struct write_env *env, struct write *write, struct status *status)
{
    yyjson_mut_doc *doc = write->sub == SUB_SCALE ? scale_view(env->old) : obj_borrow(env->old);
    bool translates = write->as != NULL && write->sub != SUB_SCALE;
    if (translates)
        kind_from_stored(write->as, doc);
    const struct kind *kind = write->as ? write->as : write->kind;
    if (!apply_patch(write, doc, status) ||
        (has_own_kind(write) && !write_is_of_kind(kind, yyjson_mut_doc_get_root(doc), status))) {
        yyjson_mut_doc_free(doc);
        return false;
    }
    if (translates)
        (void)kind_to_stored(write->as, doc);
    yyjson_mut_doc_free(write->doc);
    write->doc = doc;
    return true;
}

static bool has_body(const struct write *write, struct status *status)
{
    if (write->op != WRITE_CREATE && write->op != WRITE_UPDATE)
        return true;
    if (write->doc != NULL && yyjson_mut_is_obj(yyjson_mut_doc_get_root(write->doc)))
        return true;
    status_bad_request(status, "the body must be one JSON object");
    return false;
}

void write_decide(const struct write_env *env, struct write *write, struct write_result *result,
                  struct decision *decision)
{
    if (!has_body(write, &result->status))
        return;
    if (write->op == WRITE_CREATE && write->sub == SUB_NONE) {
        create_decide(env, write, result, decision);
        return;
    }
    if (env->old == NULL) {
        status_not_found(&result->status, write->kind, write->name);
        return;
    }
    if (write->op == WRITE_DELETE) {
        delete_decide(env, write, result, decision);
        return;
    }
    if (write->op == WRITE_PATCH && !prepare_patch(env, write, &result->status))
        return;
    if (write->op == WRITE_UPDATE && has_own_kind(write) &&
        !write_is_of_kind(write->kind, yyjson_mut_doc_get_root(write->doc), &result->status))
        return;
    judge_update(env, write, result, decision);
}
