// SPDX-License-Identifier: Apache-2.0
#include "store/object.h"
#include "base/mem.h"
#include <assert.h>

/* Takes doc and json. */
static struct obj *obj_make(const struct kind *kind, yyjson_doc *doc, struct buf *json,
                            uint64_t revision)
{
    struct obj *obj = mem_zalloc(sizeof(*obj));
    obj->refs = 1;
    obj->kind = kind;
    obj->revision = revision;
    obj->json = json;
    obj->doc = doc;
    obj->root = yyjson_doc_get_root(doc);
    view_decode(&TYPE_OBJECT_META, yyjson_obj_get(obj->root, "metadata"), &obj->meta);
    return obj;
}

struct obj *obj_new(const struct kind *kind, yyjson_mut_doc *doc, uint64_t revision)
{
    struct str text = {0};
    json_write(yyjson_mut_doc_get_root(doc), &text);
    /* Copied from the mutable tree the view takes exactly the memory it needs; the parser would
     * guess from the length of the text and keep what it guessed. */
    yyjson_doc *view = yyjson_mut_doc_imut_copy(doc, NULL);
    assert(view != NULL);
    return obj_make(kind, view, buf_take(&text), revision);
}

struct obj *obj_load(const struct kind *kind, struct sv json, uint64_t revision)
{
    yyjson_doc *doc = NULL;
    if (json_parse(json, &doc, NULL) < 0)
        return NULL;
    struct obj *obj = obj_make(kind, doc, buf_new(json.ptr, json.len), revision);
    if (obj->meta.name == NULL || obj->meta.uid == NULL) {
        obj_unref(obj);
        return NULL;
    }
    return obj;
}

struct obj *obj_ref(struct obj *obj)
{
    assert(obj->refs > 0);
    obj->refs++;
    return obj;
}

void obj_unref(struct obj *obj)
{
    if (obj == NULL)
        return;
    assert(obj->refs > 0);
    if (--obj->refs > 0)
        return;
    yyjson_doc_free(obj->doc);
    buf_unref(obj->json);
    mem_free(obj);
}

void obj_unref_scoped(struct obj **obj)
{
    obj_unref(*obj);
}

const char *obj_namespace(const struct obj *obj)
{
    return obj->meta.namespace_ ? obj->meta.namespace_ : "";
}

bool obj_has_finalizer(const struct obj *obj, const char *finalizer)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(obj->meta.finalizers, i, n, item)
    {
        if (yyjson_equals_str(item, finalizer))
            return true;
    }
    return false;
}

yyjson_mut_doc *obj_edit(const struct obj *obj)
{
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(obj->doc, NULL);
    assert(doc != NULL);
    return doc;
}
