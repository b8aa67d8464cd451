// SPDX-License-Identifier: Apache-2.0
/* Owner references. The key is an object's UID; reconciling it answers two questions:
 *   as an owner that is being deleted: may it go (foreground: no blocking dependent is left;
 *     orphan: no dependent names it any more)?
 *   as a dependent: is there still an owner to live for?
 * Dependents are queued once, when their owner goes or begins to wait for them; an owner that
 * waits is queued when one of them is gone and then looks at the first that is left. So a group of
 * n costs n steps, not n squared.
 * A reference to a kind that this server does not know is never judged: it counts as alive; so does
 * one from an object without a namespace to a kind that has one, which can mean nothing. An owner
 * in another namespace is none. Objects that own each other in a circle and all wait for each other
 * do not wait at all. */
#include "base/map.h"
#include "base/mem.h"
#include "control/controllers.h"
#include <string.h>

static bool waits_for_dependents(const struct obj *obj)
{
    return obj->meta.deleted != 0 && obj_has_finalizer(obj, FINALIZER_FOREGROUND);
}

static bool sets_dependents_free(const struct obj *obj)
{
    return obj->meta.deleted != 0 && obj_has_finalizer(obj, FINALIZER_ORPHAN);
}

static const struct kind *kind_of_ref(yyjson_val *ref)
{
    const char *api_version = yyjson_get_str(yyjson_obj_get(ref, "apiVersion"));
    const char *kind = yyjson_get_str(yyjson_obj_get(ref, "kind"));
    return api_version && kind ? kind_stored(kind_of_api(api_version, kind)) : NULL;
}

/* Does the reference, whose UID is the owner's, really mean it? */
static bool is_owner(const struct obj *owner, const struct obj *dependent, yyjson_val *ref)
{
    const struct kind *kind = kind_of_ref(ref);
    if (kind == NULL || strcmp(kind->name, owner->kind->name) != 0 ||
        strcmp(kind->group, owner->kind->group) != 0)
        return false;
    return !kind->namespaced || strcmp(obj_namespace(owner), obj_namespace(dependent)) == 0;
}

static yyjson_val *ref_to(const struct obj *dependent, const struct obj *owner)
{
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach(dependent->meta.owners, i, n, ref)
    {
        if (yyjson_equals_str(yyjson_obj_get(ref, "uid"), owner->meta.uid) &&
            is_owner(owner, dependent, ref))
            return ref;
    }
    return NULL;
}

/* ---- from changes to keys ---- */

static void add_dependents(struct control *control, const char *uid)
{
    struct cache *cache = control_world(control)->cache;
    struct obj *obj = cache_owned_first(cache, uid);
    for (; obj != NULL; obj = cache_owned_next(cache, uid, obj))
        control_add(control, obj->meta.uid);
}

static void add_waiting_owners(struct control *control, const struct obj *obj)
{
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach(obj->meta.owners, i, n, ref)
    {
        const char *uid = yyjson_get_str(yyjson_obj_get(ref, "uid"));
        const struct obj *owner = uid ? cache_by_uid(control_world(control)->cache, uid) : NULL;
        if (owner != NULL && (waits_for_dependents(owner) || sets_dependents_free(owner)))
            control_add(control, uid);
    }
}

/* Most changes are of a status or an annotation: whom the object lives for is the same as before.
 */
static bool is_owned_as_before(const struct change *change)
{
    const struct obj *obj = change->obj, *old = change->old;
    return old != NULL && obj->meta.deleted == old->meta.deleted &&
           yyjson_equals(obj->meta.owners, old->meta.owners);
}

static void map_owned(struct control *control, const struct change *change)
{
    if (yyjson_arr_size(change->obj->meta.owners) > 0)
        control_add(control, change->obj->meta.uid);
    if (change->old != NULL && yyjson_arr_size(change->old->meta.owners) > 0)
        add_waiting_owners(control, change->old); /* it may have let go of one */
}

static void garbage_map(struct control *control, const struct change *change)
{
    const struct obj *obj = change->obj;
    if (change->type == CHANGE_DELETED) {
        add_dependents(control, obj->meta.uid);
        add_waiting_owners(control, obj);
        return;
    }
    if (!is_owned_as_before(change))
        map_owned(control, change);
    if (waits_for_dependents(obj) || sets_dependents_free(obj)) {
        control_add(control, obj->meta.uid);
        if (change->old == NULL || !waits_for_dependents(change->old))
            add_dependents(control, obj->meta.uid);
    }
}

/* ---- as an owner ---- */

static void drop_finalizer(struct control *control, const struct obj *obj, const char *finalizer)
{
    struct write *write = write_new(WRITE_UPDATE, obj->kind, obj_namespace(obj), obj->meta.name);
    write->doc = obj_edit(obj);
    obj_drop_finalizer(yyjson_mut_doc_get_root(write->doc), finalizer);
    control_write(control, write);
}

static bool blocks(const struct obj *dependent, const struct obj *owner)
{
    yyjson_val *ref = ref_to(dependent, owner);
    return ref != NULL && yyjson_get_bool(yyjson_obj_get(ref, "blockOwnerDeletion"));
}

/* Owners of obj that wait for it, each once; a chain may be longer than a stack is deep. */
typedef VEC(const struct obj *) obj_list;

static void add_awaiting_owners(const struct cache *cache, const struct obj *obj, struct map *seen,
                                obj_list *list)
{
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach(obj->meta.owners, i, n, ref)
    {
        const char *uid = yyjson_get_str(yyjson_obj_get(ref, "uid"));
        const struct obj *owner = uid ? cache_by_uid(cache, uid) : NULL;
        if (owner == NULL || !waits_for_dependents(owner) || !blocks(obj, owner))
            continue;
        if (map_put(seen, uid, seen) == NULL)
            vec_push(list, owner);
    }
}

/* Does `ancestor`, itself or through others that wait, wait for `obj`? Both wait for dependents. */
static bool is_awaited_by(const struct cache *cache, const struct obj *obj,
                          const struct obj *ancestor)
{
    struct map *seen = map_new();
    obj_list list = {0};
    bool found = false;
    add_awaiting_owners(cache, obj, seen, &list);
    for (size_t i = 0; i < list.len && !found; i++) {
        found = list.items[i] == ancestor;
        add_awaiting_owners(cache, list.items[i], seen, &list);
    }
    vec_done(&list);
    map_free(seen);
    return found;
}

static bool is_circle(const struct cache *cache, const struct obj *owner,
                      const struct obj *dependent)
{
    if (!waits_for_dependents(dependent) || yyjson_arr_size(owner->meta.owners) == 0)
        return false;
    return is_awaited_by(cache, owner, dependent);
}

static bool has_blocking_dependent(const struct cache *cache, const struct obj *owner)
{
    const char *uid = owner->meta.uid;
    const struct obj *obj = cache_owned_first(cache, uid);
    for (; obj != NULL; obj = cache_owned_next(cache, uid, obj)) {
        if (blocks(obj, owner) && !is_circle(cache, owner, obj))
            return true;
    }
    return false;
}

/* Writes the dependent without its references to the owners that `drop` says yes to. */
static void drop_owners(struct control *control, const struct obj *obj,
                        bool (*drop)(struct control *, const struct obj *, const char *uid),
                        const char *only_uid)
{
    struct write *write = write_new(WRITE_UPDATE, obj->kind, obj_namespace(obj), obj->meta.name);
    write->doc = obj_edit(obj);
    yyjson_mut_val *list =
        json_mut_at(yyjson_mut_doc_get_root(write->doc), "metadata.ownerReferences");
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;) {
        const char *uid = json_mut_str_at(yyjson_mut_arr_get(list, i), "uid");
        bool matches = only_uid ? str_eq(uid, only_uid) : drop(control, obj, uid);
        if (matches)
            yyjson_mut_arr_remove(list, i);
    }
    control_write(control, write);
}

static size_t set_dependents_free(struct control *control, const struct obj *owner)
{
    struct cache *cache = control_world(control)->cache;
    const char *uid = owner->meta.uid;
    size_t count = 0;
    struct obj *obj = cache_owned_first(cache, uid);
    for (; obj != NULL; obj = cache_owned_next(cache, uid, obj)) {
        if (ref_to(obj, owner) == NULL)
            continue;
        drop_owners(control, obj, NULL, uid);
        count++;
    }
    return count;
}

/* True when it asked for a change of the object itself, which is then old. */
static bool reconcile_owner(struct control *control, const struct obj *obj)
{
    if (sets_dependents_free(obj)) {
        if (set_dependents_free(control, obj) > 0)
            return false;
        drop_finalizer(control, obj, FINALIZER_ORPHAN);
        return true;
    }
    if (!waits_for_dependents(obj) || has_blocking_dependent(control_world(control)->cache, obj))
        return false;
    drop_finalizer(control, obj, FINALIZER_FOREGROUND);
    return true;
}

/* ---- as a dependent ---- */

enum owner_state { OWNER_ALIVE, OWNER_WAITING, OWNER_GONE };

static enum owner_state owner_state(struct control *control, const struct obj *obj, yyjson_val *ref)
{
    const struct kind *kind = kind_of_ref(ref);
    const char *uid = yyjson_get_str(yyjson_obj_get(ref, "uid"));
    if (uid == NULL || kind == NULL || (kind->namespaced && !obj->kind->namespaced))
        return OWNER_ALIVE;
    const struct obj *owner = cache_by_uid(control_world(control)->cache, uid);
    if (owner == NULL || !is_owner(owner, obj, ref))
        return OWNER_GONE;
    return waits_for_dependents(owner) ? OWNER_WAITING : OWNER_ALIVE;
}

static bool is_lost_owner(struct control *control, const struct obj *obj, const char *uid)
{
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach(obj->meta.owners, i, n, ref)
    {
        if (yyjson_equals_str(yyjson_obj_get(ref, "uid"), uid))
            return owner_state(control, obj, ref) != OWNER_ALIVE;
    }
    return false;
}

static void collect(struct control *control, const struct obj *obj, bool owner_waits)
{
    bool has_dependents = cache_owned_first(control_world(control)->cache, obj->meta.uid) != NULL;
    struct write *write = write_new(WRITE_DELETE, obj->kind, obj_namespace(obj), obj->meta.name);
    write->if_uid = mem_strdup(obj->meta.uid);
    write->if_version = mem_strdup(obj->meta.resource_version); /* it may get a new owner */
    write->propagation =
        owner_waits && has_dependents ? PROPAGATE_FOREGROUND : PROPAGATE_BACKGROUND;
    /* Its own wish for its dependents stands. */
    if (obj_has_finalizer(obj, FINALIZER_ORPHAN) || obj_has_finalizer(obj, FINALIZER_FOREGROUND))
        write->propagation = PROPAGATE_DEFAULT;
    control_write(control, write);
}

static void reconcile_dependent(struct control *control, const struct obj *obj)
{
    size_t i, n, count[3] = {0};
    yyjson_val *ref;
    yyjson_arr_foreach(obj->meta.owners, i, n, ref)
    {
        count[owner_state(control, obj, ref)]++;
    }
    if (count[OWNER_WAITING] + count[OWNER_GONE] == 0)
        return;
    if (count[OWNER_ALIVE] > 0)
        drop_owners(control, obj, is_lost_owner, NULL);
    else if (obj->meta.deleted == 0)
        collect(control, obj, count[OWNER_WAITING] > 0);
}

static void garbage_reconcile(struct control *control, const char *key)
{
    const struct obj *obj = cache_by_uid(control_world(control)->cache, key);
    if (obj == NULL)
        return;
    if (!reconcile_owner(control, obj) && yyjson_arr_size(obj->meta.owners) > 0)
        reconcile_dependent(control, obj);
}

const struct controller CONTROLLER_GARBAGE = {
    .name = "garbage-collector", .map = garbage_map, .reconcile = garbage_reconcile};
