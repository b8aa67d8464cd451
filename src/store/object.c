// SPDX-License-Identifier: Apache-2.0
#include "store/object.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

/* Takes what is in the pack. */
static struct obj *obj_make(const struct kind *kind, const struct pack *pack, uint64_t revision)
{
    struct obj *obj = mem_zalloc(sizeof(*obj));
    obj->refs = 1;
    obj->kind = kind;
    obj->revision = revision;
    obj->json = pack->text;
    obj->doc = pack->view;
    obj->root = yyjson_doc_get_root(pack->view);
    memcpy(obj->spans, pack->spans, sizeof(obj->spans));
    view_decode(&TYPE_OBJECT_META, yyjson_obj_get(obj->root, "metadata"), &obj->meta);
    return obj;
}

struct obj *obj_new(const struct kind *kind, yyjson_mut_doc *doc, uint64_t revision)
{
    struct pack pack;
    pack_make(yyjson_mut_doc_get_root(doc), NULL, NULL, &pack);
    return obj_make(kind, &pack, revision);
}

struct obj *obj_next(const struct obj *old, yyjson_mut_doc *doc, const struct pack_kept *kept,
                     uint64_t revision)
{
    struct pack pack, before = {.text = old->json, .view = old->doc};
    memcpy(before.spans, old->spans, sizeof(before.spans));
    pack_make(yyjson_mut_doc_get_root(doc), &before, kept, &pack);
    return obj_make(old->kind, &pack, revision);
}

/* The text stays what is on the disk, should a later writer of ours have put it otherwise. */
static void keep_text(struct pack *pack, struct sv json)
{
    if (pack->text->len == json.len && memcmp(pack->text->data, json.ptr, json.len) == 0)
        return;
    buf_unref(pack->text);
    pack->text = buf_new(json.ptr, json.len);
    memset(pack->spans, 0, sizeof(pack->spans));
}

/* A view that was made here is a third smaller than one that was parsed, which has a copy of the
 * text in it. */
struct obj *obj_load(const struct kind *kind, struct sv json, uint64_t revision)
{
    scoped_json_mut *doc = NULL;
    struct pack pack;
    if (json_parse_mut(json, &doc, NULL) < 0 || !yyjson_mut_is_obj(yyjson_mut_doc_get_root(doc)))
        return NULL;
    pack_make(yyjson_mut_doc_get_root(doc), NULL, NULL, &pack);
    keep_text(&pack, json);
    struct obj *obj = obj_make(kind, &pack, revision);
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

void obj_freeze(struct obj *obj)
{
    yyjson_doc_free(obj->doc);
    obj->doc = NULL;
    obj->root = NULL;
    obj->meta = (struct meta){0};
}

void obj_thaw(struct obj *obj)
{
    if (obj->doc != NULL)
        return;
    int r = json_parse((struct sv){obj->json->data, obj->json->len}, &obj->doc, NULL);
    assert(r == 0); /* we have written it */
    (void)r;
    obj->root = yyjson_doc_get_root(obj->doc);
    view_decode(&TYPE_OBJECT_META, yyjson_obj_get(obj->root, "metadata"), &obj->meta);
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
    return json_find(obj->meta.finalizers, "", finalizer) != NULL;
}

void obj_drop_finalizer(yyjson_mut_val *root, const char *finalizer)
{
    yyjson_mut_val *list = json_mut_at(root, "metadata.finalizers");
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;) {
        if (yyjson_mut_equals_str(yyjson_mut_arr_get(list, i), finalizer))
            (void)yyjson_mut_arr_remove(list, i);
    }
}

yyjson_val *obj_controller(const struct obj *obj)
{
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach(obj->meta.owners, i, n, ref)
    {
        if (yyjson_get_bool(yyjson_obj_get(ref, "controller")))
            return ref;
    }
    return NULL;
}

void obj_add_owner(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct obj *owner,
                   bool controls)
{
    char api[128];
    yyjson_mut_val *ref =
        yyjson_mut_arr_add_obj(doc, json_mut_need_arr(doc, root, "metadata.ownerReferences"));
    yyjson_mut_obj_add_strcpy(doc, ref, "apiVersion", kind_api_version(owner->kind, api));
    yyjson_mut_obj_add_str(doc, ref, "kind", owner->kind->name);
    yyjson_mut_obj_add_strcpy(doc, ref, "name", owner->meta.name);
    yyjson_mut_obj_add_strcpy(doc, ref, "uid", owner->meta.uid);
    if (controls) {
        yyjson_mut_obj_add_bool(doc, ref, "controller", true);
        yyjson_mut_obj_add_bool(doc, ref, "blockOwnerDeletion", true);
    }
}

yyjson_mut_doc *obj_edit(const struct obj *obj)
{
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(obj->doc, NULL);
    assert(doc != NULL);
    return doc;
}

yyjson_mut_doc *obj_borrow(const struct obj *obj)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALC);
    assert(doc != NULL);
    yyjson_mut_doc_set_root(doc, json_mut_borrow(doc, obj->root));
    return doc;
}
