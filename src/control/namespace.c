// SPDX-License-Identifier: Apache-2.0
/* A namespace that is deleted first loses its content, then its finalizer, then goes. Content is
 * deleted some hundred objects at a time: the key is held until those writes are known, so the
 * next look finds what is left. */
#include "base/mem.h"
#include "control/controllers.h"

#define DELETES_PER_LOOK 500

static void namespace_map(struct control *control, const struct change *change)
{
    const struct obj *obj = change->obj;
    if (obj->kind == &KIND_NAMESPACE) {
        if (obj->meta.deleted != 0 && change->type != CHANGE_DELETED)
            control_add(control, obj->meta.name);
        return;
    }
    if (!obj->kind->namespaced)
        return;
    const struct obj *home =
        cache_get(control_world(control)->cache, &KIND_NAMESPACE, "", obj_namespace(obj));
    if (home != NULL && home->meta.deleted != 0)
        control_add(control, home->meta.name);
}

static void delete_one(struct control *control, const struct obj *obj)
{
    struct write *write = write_new(WRITE_DELETE, obj->kind, obj_namespace(obj), obj->meta.name);
    write->if_uid = mem_strdup(obj->meta.uid);
    write->propagation = PROPAGATE_BACKGROUND;
    control_write(control, write);
}

/* Deletes what is not being deleted yet; returns how many objects there still are (at least). */
static size_t empty_kind(struct control *control, const struct kind *kind, const char *ns,
                         size_t *budget)
{
    struct cache *cache = control_world(control)->cache;
    size_t left = 0;
    struct obj *obj = cache_first(cache, kind, ns);
    for (; obj != NULL && *budget > 0; obj = cache_after(cache, kind, ns, obj)) {
        left++;
        if (obj->meta.deleted != 0)
            continue;
        delete_one(control, obj);
        (*budget)--;
    }
    return left;
}

static void take_finalizer(struct control *control, const struct obj *home)
{
    struct write *write = write_new(WRITE_UPDATE, &KIND_NAMESPACE, "", home->meta.name);
    write->sub = SUB_FINALIZE;
    write->doc = obj_edit(home);
    json_mut_set(write->doc, yyjson_mut_doc_get_root(write->doc), "spec.finalizers",
                 yyjson_mut_arr(write->doc));
    control_write(control, write);
}

static void namespace_reconcile(struct control *control, const char *key)
{
    const struct obj *home = cache_get(control_world(control)->cache, &KIND_NAMESPACE, "", key);
    if (home == NULL || home->meta.deleted == 0)
        return;
    size_t left = 0, budget = DELETES_PER_LOOK;
    for (size_t i = 0; KINDS[i] != NULL; i++) {
        if (KINDS[i]->namespaced)
            left += empty_kind(control, KINDS[i], key, &budget);
    }
    if (left == 0 && yyjson_arr_size(json_at(home->root, "spec.finalizers")) > 0)
        take_finalizer(control, home);
}

const struct controller CONTROLLER_NAMESPACE = {
    .name = "namespace", .map = namespace_map, .reconcile = namespace_reconcile};
