// SPDX-License-Identifier: Apache-2.0
/* What requests carry: JSON, YAML, Kubernetes' protobuf; and patches. */
#include "api/body.h"
#include "base/mem.h"
#include "model/manifest.h"
#include "model/protobuf.h"
#include <errno.h>
#include <string.h>
#include <strings.h>

static bool is_type(const char *content_type, const char *wanted)
{
    size_t len = strlen(wanted);
    return strncasecmp(content_type, wanted, len) == 0 &&
           (content_type[len] == '\0' || content_type[len] == ';' || content_type[len] == ' ');
}

static const char *content_type(const struct call *call)
{
    const char *type = http_header(call->x, "content-type");
    return type ? type : "application/json";
}

static void unsupported(const char *type, const char *wanted, struct status *status)
{
    status_set(status, 415, "UnsupportedMediaType",
               "the body of the request was in an unknown format (%s) - accepted media types "
               "include: %s",
               type, wanted);
}

static int parse_yaml(struct sv text, yyjson_mut_doc **ret_doc, struct err *err)
{
    struct manifest manifest = {0};
    int r = manifest_parse("body", text, &manifest, err);
    if (r < 0)
        return r;
    if (manifest.docs.len == 1)
        *ret_doc = take_ptr(manifest.docs.items[0].doc);
    else
        r = err_set(err, -EINVAL, "the body holds %zu documents, not one", manifest.docs.len);
    manifest_done(&manifest);
    return r;
}

/* Kinds that Kubernetes has no messages for have only the number of their metadata: read as
 * protobuf, all else would be lost without a word. */
static bool has_numbers(const struct type *type)
{
    for (const struct field *f = type->fields; f->name != NULL; f++)
        if (f->pb != 0 && strcmp(f->name, "metadata") != 0)
            return true;
    return false;
}

/* As Kubernetes reads it: how a key that is there twice is taken is the write's validation. */
static int parse_json(struct sv text, char **repeated, yyjson_mut_doc **ret_doc, struct err *err)
{
    scoped_str lines = {0};
    int r = json_parse_last(text, ret_doc, &lines, err);
    if (r == 0 && lines.len > 0 && repeated != NULL) {
        mem_free(*repeated);
        *repeated = str_take(&lines);
    }
    return r;
}

bool body_object(const struct call *call, const struct type *of, char **repeated,
                 yyjson_mut_doc **ret_doc, struct status *status)
{
    const char *type = content_type(call);
    struct err err = {0};
    yyjson_mut_doc *doc = NULL;
    int r = 0;
    if (is_type(type, "application/json"))
        r = parse_json(call->req->body, repeated, &doc, &err);
    else if (is_type(type, "application/yaml"))
        r = parse_yaml(call->req->body, &doc, &err);
    else if (is_type(type, PROTOBUF_MEDIA_TYPE) && !has_numbers(of))
        unsupported(type, "application/json, application/yaml", status);
    else if (is_type(type, PROTOBUF_MEDIA_TYPE))
        r = protobuf_decode(of, call->req->body, &doc, &err);
    else
        unsupported(type, "application/json, application/yaml, " PROTOBUF_MEDIA_TYPE, status);
    if (r < 0)
        status_bad_request(status, "the body cannot be read: %s", err.text);
    else if (status_ok(status) && !yyjson_mut_is_obj(yyjson_mut_doc_get_root(doc)))
        status_bad_request(status, "the body must be one object");
    if (!status_ok(status)) {
        yyjson_mut_doc_free(doc);
        return false;
    }
    *ret_doc = doc;
    return true;
}

static int parse_patch(struct sv text, struct write *write, struct err *err)
{
    scoped_json_mut *doc = NULL;
    if (json_parse(text, &write->patch, NULL) == 0)
        return 0;
    int r = parse_json(text, &write->repeated, &doc, err);
    if (r == 0)
        write->patch = yyjson_mut_doc_imut_copy(doc, NULL);
    return r;
}

bool body_patch(const struct call *call, struct write *write, struct status *status)
{
    static const struct {
        const char *type;
        enum patch_type patch;
    } TYPES[] = {{"application/merge-patch+json", PATCH_MERGE},
                 {"application/json-patch+json", PATCH_JSON},
                 {"application/strategic-merge-patch+json", PATCH_STRATEGIC}};
    const char *type = content_type(call);
    size_t i = 0;
    while (i < ARRAY_LEN(TYPES) && !is_type(type, TYPES[i].type))
        i++;
    if (i == ARRAY_LEN(TYPES)) {
        unsupported(type,
                    "application/json-patch+json, application/merge-patch+json, "
                    "application/strategic-merge-patch+json",
                    status);
        if (is_type(type, "application/apply-patch+yaml"))
            str_add(&status->message, " (server-side apply is not there yet: use client-side "
                                      "apply, `kubectl apply` without --server-side)");
        return false;
    }
    write->patch_type = TYPES[i].patch;
    struct err err = {0};
    if (parse_patch(call->req->body, write, &err) < 0) {
        status_bad_request(status, "the patch cannot be read: %s", err.text);
        return false;
    }
    return true;
}
