// SPDX-License-Identifier: Apache-2.0
/* One stored object in the words of each version in which its kind is served. What is asked for in
 * the stored version costs nothing; any other is made of a copy. */
#include "api/call.h"
#include <string.h>

static void translate(const struct kind *as, const struct obj *obj, struct str *out)
{
    scoped_json_mut *doc = obj_borrow(obj);
    kind_from_stored(as, doc);
    json_write(yyjson_mut_doc_get_root(doc), out);
}

void version_add(const struct kind *as, const struct obj *obj, struct str *out)
{
    if (as == obj->kind)
        str_addn(out, obj->json->data, obj->json->len);
    else
        translate(as, obj, out);
}

void version_add_meta(const struct obj *obj, struct str *out)
{
    str_add(out,
            "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
    json_write_val(yyjson_obj_get(obj->root, "metadata"), out);
    str_addc(out, '}');
}

struct buf *version_bytes(const struct kind *as, const struct obj *obj)
{
    if (as == obj->kind)
        return buf_ref(obj->json);
    struct str out = {0};
    translate(as, obj, &out);
    return buf_take(&out);
}

bool version_take(const struct call *call, yyjson_mut_doc *doc, struct status *status)
{
    if (call->as->stored == NULL || (*call->sub != '\0' && strcmp(call->sub, "status") != 0))
        return true;
    char api[128];
    const char *said = json_mut_str_at(yyjson_mut_doc_get_root(doc), "apiVersion");
    if (said != NULL && strcmp(said, kind_api_version(call->as, api)) != 0) {
        status_bad_request(status,
                           "%s in version \"%s\" cannot be handled as a %s: this address takes "
                           "apiVersion %s",
                           call->as->name, said, call->as->name, api);
        return false;
    }
    (void)kind_to_stored(call->as, doc);
    return true;
}
