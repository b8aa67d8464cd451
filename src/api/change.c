// SPDX-License-Identifier: Apache-2.0
/* POST, PUT, PATCH and DELETE: a request becomes one write to the store, and the store's answer,
 * which comes when the write is durable, becomes the response. */
#include "api/body.h"
#include "base/mem.h"
#include "core/recover/epoch.h"
#include "model/cell.h"
#include "model/options.h"
#include "model/podnotes.h"
#include "os/log.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- bodies ---- */

/* Which fields the numbers of a protobuf body are depends on the address. */
static const struct type *body_type(const struct call *call)
{
    if (call->verb == VERB_DELETE || call->verb == VERB_DELETE_MANY)
        return &TYPE_DELETE_OPTIONS;
    if (strcmp(call->sub, "binding") == 0)
        return &TYPE_BINDING;
    if (strcmp(call->sub, "eviction") == 0)
        return &TYPE_EVICTION;
    return strcmp(call->sub, "scale") == 0 ? &TYPE_SCALE : call->as->type;
}

static bool take_object(struct call *call, struct write *write, yyjson_mut_doc **ret_doc,
                        struct status *status)
{
    return body_object(call, body_type(call), &write->repeated, ret_doc, status);
}

/* ---- options ---- */

/* DeleteOptions come in the body, in the query, or in both. */
static bool delete_options(struct call *call, struct write *write, struct status *status)
{
    scoped_json_mut *doc = NULL;
    if (call->req->body.len > 0 && !take_object(call, write, &doc, status))
        return false;
    yyjson_mut_val *options = doc ? yyjson_mut_doc_get_root(doc) : NULL;
    if (call->verb == VERB_CREATE) /* an Eviction is a deletion by another name */
        options = json_mut_at(options, "deleteOptions");
    return writeoptions_delete(call, options, write, status);
}

/* ---- answers ---- */

static void add_warnings(const struct str *warnings, struct str *headers)
{
    struct sv rest = {warnings->data, warnings->len};
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        if (line.len == 0)
            continue;
        str_add(headers, "Warning: 299 - ");
        /* A quoted string of HTTP: no control characters can be in it. */
        str_addc(headers, '"');
        for (size_t i = 0; i < line.len; i++) {
            unsigned char c = (unsigned char)line.ptr[i];
            if (c == '"' || c == '\\')
                str_addc(headers, '\\');
            str_addc(headers, c < 0x20 || c == 0x7f ? '?' : (char)c);
        }
        str_add(headers, "\"\r\n");
    }
}

static struct buf *deleted_status(const struct call *call, const struct obj *obj)
{
    struct str out = {0};
    str_add(&out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                  "\"Success\",\"details\":{\"name\":");
    json_quote(obj->meta.name, strlen(obj->meta.name), &out);
    if (*call->kind->group != '\0')
        str_addf(&out, ",\"group\":\"%s\"", call->kind->group);
    str_addf(&out, ",\"kind\":\"%s\",\"uid\":\"%s\"}}\n", call->kind->plural, obj->meta.uid);
    return buf_take(&out);
}

static struct buf *answer_body(struct call *call, const struct write_result *result)
{
    /* As in Kubernetes, a Pod's deletion is answered with the Pod, gone already or not: typed
     * clients decode it as one. */
    if (call->verb == VERB_DELETE && result->removed && call->kind != &KIND_POD)
        return deleted_status(call, result->obj);
    if (strcmp(call->sub, "binding") == 0 || strcmp(call->sub, "eviction") == 0) {
        struct str out = {0};
        str_add(&out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                      "\"status\":\"Success\",\"code\":201}\n");
        return buf_take(&out);
    }
    struct str out = {0};
    if (strcmp(call->sub, "scale") == 0) {
        tables_scale(call, result->obj, &out);
        return buf_take(&out);
    }
    if (call_wants_table(call)) {
        tables_begin(&out, call->kind, "{}");
        tables_row_as(&out, call->as, result->obj, loop_wall(call->api->loop),
                      call_param(call, "includeObject"));
        tables_end(&out);
        return buf_take(&out);
    }
    if (call->shape == SHAPE_META) {
        version_add_meta(result->obj, &out);
        return buf_take(&out);
    }
    return version_bytes(call->as, result->obj);
}

static void on_written(void *arg, struct write_result *result)
{
    struct call *call = arg;
    if (call->x == NULL) { /* the client has gone; what it asked for is done all the same */
        call_free(call);
        return;
    }
    if (!status_ok(&result->status)) {
        call_refuse(call, &result->status);
        return;
    }
    scoped_str headers = {0};
    add_warnings(&result->warnings, &headers);
    int code = call->verb == VERB_CREATE ? 201 : 200;
    struct buf *body = answer_body(call, result);
    call_reply(call, code, "application/json", str_text(&headers), body);
    buf_unref(body);
}

static void on_abandoned(void *arg)
{
    struct call *call = arg;
    call->x = NULL;
}

void api_tell_write(const char *who, const struct write *write)
{
    static const char *const OPS[] = {[WRITE_CREATE] = "create",
                                      [WRITE_UPDATE] = "update",
                                      [WRITE_PATCH] = "patch",
                                      [WRITE_DELETE] = "delete"};
    /* The name of what is created may stand in the object only, or be made up for it. */
    const char *name = write->name;
    if (*name == '\0' && write->doc != NULL)
        name = json_mut_str_at(yyjson_mut_doc_get_root(write->doc), "metadata.name");
    log_debug("store.asked by=\"%s\" op=%s kind=%s object=%s/%s", who, OPS[write->op],
              write->kind->name, write->ns, name != NULL ? name : "");
}

/* ---- many at once ---- */

struct sweep { /* a deletecollection: the answer waits for the last of its deletions */
    struct call *call;
    size_t left;
    struct str items;
    struct status status; /* of the first that failed */
};

static void sweep_finish(struct sweep *sweep)
{
    struct call *call = sweep->call;
    char api_version[128];
    if (call->x == NULL) {
        call_free(call);
    } else if (!status_ok(&sweep->status)) {
        call_refuse(call, &sweep->status);
    } else {
        struct str out = {0};
        str_addf(&out, "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{},\"items\":[%s]}",
                 call->kind->name, kind_api_version(call->as, api_version),
                 str_text(&sweep->items));
        call_reply_json(call, 200, &out);
    }
    str_done(&sweep->items);
    status_done(&sweep->status);
    mem_free(sweep);
}

static void on_swept(void *arg, struct write_result *result)
{
    struct sweep *sweep = arg;
    bool gone = result->status.code == 404;
    if (status_ok(&result->status)) {
        if (sweep->items.len > 0)
            str_addc(&sweep->items, ',');
        version_add(sweep->call->as, result->obj, &sweep->items);
    } else if (!gone && status_ok(&sweep->status)) {
        status_move(&sweep->status, &result->status);
    }
    if (--sweep->left == 0)
        sweep_finish(sweep);
}

static void sweep_one(struct sweep *sweep, const struct obj *obj, const struct write *model)
{
    struct write *write = write_new(WRITE_DELETE, obj->kind, obj_namespace(obj), obj->meta.name);
    write->propagation = model->propagation;
    write->grace_s = model->grace_s;
    write->dry_run = model->dry_run;
    write->if_uid = mem_strdup(obj->meta.uid);
    write->done = on_swept;
    write->arg = sweep;
    sweep->left++;
    api_tell_write(sweep->call->who.name, write);
    store_submit(sweep->call->api->store, write);
}

static void delete_many(struct call *call)
{
    struct status status = {0};
    struct filter filter = {0};
    struct write *model = write_new(WRITE_DELETE, call->kind, call->ns, "");
    if (!listoptions_check(call, &status) || !writeoptions_dry_run(call, model, &status) ||
        !delete_options(call, model, &status) || !filter_parse(call, &filter, &status)) {
        write_free(model);
        call_refuse(call, &status);
        return;
    }
    struct sweep *sweep = mem_zalloc(sizeof(*sweep));
    sweep->call = call;
    sweep->left = 1; /* ours, so that it does not finish before all were asked for */
    http_on_abandoned(call->x, on_abandoned, call);
    struct cache *cache = call->api->store->cache;
    struct obj *obj = cache_first(cache, call->kind, call->ns);
    for (; obj != NULL; obj = cache_after(cache, call->kind, call->ns, obj)) {
        if (filter_matches(&filter, obj))
            sweep_one(sweep, obj, model);
    }
    filter_done(&filter);
    write_free(model);
    if (--sweep->left == 0)
        sweep_finish(sweep);
}

/* ---- one ---- */

static enum write_sub sub_of(const char *sub)
{
    static const char *const SUBS[] = {[SUB_STATUS] = "status",
                                       [SUB_SCALE] = "scale",
                                       [SUB_BINDING] = "binding",
                                       [SUB_FINALIZE] = "finalize"};
    for (size_t i = SUB_STATUS; i < ARRAY_LEN(SUBS); i++) {
        if (strcmp(sub, SUBS[i]) == 0)
            return (enum write_sub)i;
    }
    return SUB_NONE;
}

/* Each request is a value of its own: the controller answers each of them once. */
static bool fill_restart(const struct call *call, struct write *write)
{
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *notes = yyjson_mut_obj(doc);
    scoped_str value = {0};
    rfc3339_format_micro(loop_wall(call->api->loop), &value);
    str_addf(&value, " %s", call->who.name);
    yyjson_mut_doc_set_root(doc, root);
    json_mut_put(doc, notes, RESTART_REQUEST_NOTE, yyjson_mut_strcpy(doc, str_text(&value)));
    json_mut_set(doc, root, "metadata.annotations", notes);
    write->op = WRITE_PATCH;
    write->patch_type = PATCH_MERGE;
    write->patch = yyjson_mut_doc_imut_copy(doc, NULL);
    return true;
}

static bool fill_write(struct call *call, struct write *write, struct status *status)
{
    write->sub = sub_of(call->sub);
    if (!writeoptions_dry_run(call, write, status) || !writeoptions_validation(call, write, status))
        return false;
    switch (call->verb) {
    case VERB_CREATE:
        if (strcmp(call->sub, "restart") == 0)
            return fill_restart(call, write);
        if (strcmp(call->sub, "eviction") == 0) {
            write->op = WRITE_DELETE;
            return delete_options(call, write, status);
        }
        write->op = write->sub == SUB_BINDING ? WRITE_UPDATE : WRITE_CREATE;
        return take_object(call, write, &write->doc, status) &&
               version_take(call, write->doc, status);
    case VERB_UPDATE:
        write->op = WRITE_UPDATE;
        return take_object(call, write, &write->doc, status) &&
               version_take(call, write->doc, status);
    case VERB_PATCH:
        write->op = WRITE_PATCH;
        write->as = call->as->stored != NULL ? call->as : NULL;
        return body_patch(call, write, status);
    case VERB_DELETE:
        write->op = WRITE_DELETE;
        return delete_options(call, write, status);
    case VERB_GET:
    case VERB_LIST:
    case VERB_WATCH:
    case VERB_DELETE_MANY:
        break;
    }
    return false;
}

/* POST to a collection that spans all namespaces: the object must say where it belongs. */
static bool settle_namespace(const struct call *call, struct write *write, struct status *status)
{
    if (call->verb != VERB_CREATE || !call->kind->namespaced || *call->ns != '\0')
        return true;
    const char *ns = json_mut_str_at(yyjson_mut_doc_get_root(write->doc), "metadata.namespace");
    if (ns == NULL || *ns == '\0') {
        status_bad_request(status, "an empty namespace may not be set during creation");
        return false;
    }
    mem_free(write->ns);
    write->ns = mem_strdup(ns);
    return true;
}

void api_end_begins(struct api *api)
{
    api->is_ending = true;
}

static void admit(void *arg, const struct obj *old, const struct obj *new_, struct status *status)
{
    const struct call *call = container_of((struct identity *)arg, struct call, who);
    auth_admit(arg, old, new_, status);
    bool is_change = old != NULL && new_ != NULL && new_->kind == &KIND_POD;
    if (call->api->is_ending && status_ok(status) && is_change &&
        podnotes_announced(new_->root, old->root))
        status_set(
            status, 503, "ServiceUnavailable",
            "pod %s: this server ends, and its pods with it: no epoch is announced to it any "
            "more; ask again when it is back",
            new_->meta.name);
}

/* Of one that has ended nothing is left that could restart. Judged by the newest version. */
static void admit_restart(void *arg, const struct obj *old, const struct obj *new_,
                          struct status *status)
{
    static const char *const ENDS[] = {"Completed", "Failed"};
    admit(arg, old, new_, status);
    for (size_t i = 0; old != NULL && i < ARRAY_LEN(ENDS) && status_ok(status); i++) {
        if (cell_condition_as(old->root, ENDS[i], "True") == NULL)
            continue;
        scoped_free char *why = mem_printf("it has ended (%s), so there is nothing to restart; "
                                           "delete it and create it anew",
                                           ENDS[i]);
        status_conflict(status, old->kind, old->meta.name, why);
    }
}

void change_answer(struct call *call)
{
    if (call->verb == VERB_DELETE_MANY) {
        delete_many(call);
        return;
    }
    struct status status = {0};
    struct write *write = write_new(WRITE_CREATE, call->kind, call->ns, call->name);
    if (!fill_write(call, write, &status) || !settle_namespace(call, write, &status)) {
        write_free(write);
        call_refuse(call, &status);
        return;
    }
    write->admit = strcmp(call->sub, "restart") == 0 ? admit_restart : admit;
    write->admit_arg = &call->who;
    write->done = on_written;
    write->arg = call;
    http_on_abandoned(call->x, on_abandoned, call);
    api_tell_write(call->who.name, write);
    store_submit(call->api->store, write);
}
