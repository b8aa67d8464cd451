// SPDX-License-Identifier: Apache-2.0
#include "ledger.h"
#include "base/mem.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ledger_fail(struct ledger *ledger, const char *fmt, ...)
{
    char text[1024];
    if (ledger->failure != NULL)
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    ledger->failure = mem_strdup(text);
}

static char *key_of(const struct obj *obj)
{
    return mem_printf("%s/%s/%s", obj->kind->name, obj_namespace(obj), obj->meta.name);
}

const char *obj_tag(const struct obj *obj)
{
    return yyjson_get_str(yyjson_obj_get(obj->meta.annotations, LEDGER_TAG));
}

void ledger_init(struct ledger *ledger)
{
    *ledger = (struct ledger){.objects = map_new(),
                              .seen = map_new(),
                              .released = map_new(),
                              .touched = map_new(),
                              .orphans = map_new(),
                              .refused = map_new()};
}

static bool unref_one(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    obj_unref(value);
    return true;
}

static bool free_one(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    mem_free(value);
    return true;
}

static void fold_clear(struct map **fold)
{
    (void)map_each(*fold, unref_one, NULL);
    map_free(*fold);
    *fold = map_new();
}

void ledger_done(struct ledger *ledger)
{
    (void)map_each(ledger->objects, unref_one, NULL);
    (void)map_each(ledger->seen, unref_one, NULL);
    (void)map_each(ledger->orphans, free_one, NULL);
    struct map *maps[] = {ledger->objects, ledger->seen,    ledger->released,
                          ledger->touched, ledger->orphans, ledger->refused};
    for (size_t i = 0; i < ARRAY_LEN(maps); i++)
        map_free(maps[i]);
    mem_free(ledger->failure);
}

static void fold_copy(struct map **fold, const struct cache *cache)
{
    fold_clear(fold);
    for (size_t k = 0; KINDS[k] != NULL; k++) {
        struct obj *obj = cache_first(cache, KINDS[k], NULL);
        for (; obj != NULL; obj = cache_after(cache, KINDS[k], NULL, obj)) {
            scoped_free char *key = key_of(obj);
            (void)map_put(*fold, key, obj_ref(obj));
        }
    }
}

static void start_again(struct ledger *ledger)
{
    fold_copy(&ledger->objects, sim_store(ledger->sim)->cache);
    fold_copy(&ledger->seen, sim_world(ledger->sim)->cache);
    ledger->revision = feed_revision(sim_store(ledger->sim)->feed);
    ledger->seen_revision = feed_revision(sim_world(ledger->sim)->feed);
    ledger->is_changed = true;
}

void ledger_start(struct ledger *ledger, struct sim *sim)
{
    ledger->sim = sim;
    start_again(ledger);
}

void ledger_release(struct ledger *ledger, const char *uid, const char *finalizer)
{
    scoped_free char *key = mem_printf("%s %s", uid, finalizer);
    (void)map_put(ledger->released, key, ledger);
}

void ledger_touch(struct ledger *ledger, const char *uid)
{
    uintptr_t count = (uintptr_t)map_get(ledger->touched, uid);
    (void)map_put(ledger->touched, uid, (void *)(count + 1));
    mem_free(map_del(ledger->orphans, uid));
}

/* ---- one change ---- */

static void check_finalizers(struct ledger *ledger, const struct obj *old, const struct obj *obj)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(old->meta.finalizers, i, n, item)
    {
        const char *finalizer = yyjson_get_str(item);
        if (!str_starts(finalizer, LEDGER_FINALIZERS))
            continue;
        if (obj != NULL && obj_has_finalizer(obj, finalizer))
            continue;
        scoped_free char *key = mem_printf("%s %s", old->meta.uid, finalizer);
        if (map_get(ledger->released, key) == NULL)
            ledger_fail(ledger, "%s lost its finalizer %s", old->meta.name, finalizer);
    }
}

/* From one version to the next, NULL: gone. */
static void check_next(struct ledger *ledger, const struct obj *old, const struct obj *obj)
{
    check_finalizers(ledger, old, obj);
    if (obj == NULL)
        return;
    if (strcmp(old->meta.uid, obj->meta.uid) != 0)
        ledger_fail(ledger, "%s became another object without going first", obj->meta.name);
    if (old->meta.deleted != 0 && obj->meta.deleted == 0)
        ledger_fail(ledger, "the deletion of %s was taken back", obj->meta.name);
    if (obj->meta.generation < old->meta.generation)
        ledger_fail(ledger, "the generation of %s went down", obj->meta.name);
}

static void check_home(struct ledger *ledger, const struct obj *obj)
{
    if (!obj->kind->namespaced)
        return;
    scoped_free char *key = mem_printf("Namespace//%s", obj_namespace(obj));
    const struct obj *home = map_get(ledger->objects, key);
    if (home == NULL || home->meta.deleted != 0)
        ledger_fail(ledger, "%s was created in a namespace that is %s", obj->meta.name,
                    home ? "on its way out" : "not there");
}

static bool has_home(void *arg, const char *key, void *value)
{
    struct ledger *ledger = arg;
    const struct obj *obj = value;
    scoped_free char *home = mem_printf("Namespace//%s", obj_namespace(obj));
    if (obj->kind->namespaced && map_get(ledger->objects, home) == NULL)
        ledger_fail(ledger, "the namespace of %s is gone", key);
    return true;
}

static void check_durable(struct ledger *ledger, const struct obj *obj)
{
    const struct disk_row *row =
        sim_disk_row(sim_disk(ledger->sim), obj->kind, obj_namespace(obj), obj->meta.name);
    if (row == NULL || row->revision < obj->revision)
        ledger_fail(ledger, "%s is known at revision %d but not on the disk", obj->meta.name,
                    (int)obj->revision);
}

/* Has it one owner, this one, and nobody's leave to go? */
static bool lives_for(struct ledger *ledger, const struct obj *obj, const struct obj *owner)
{
    scoped_free char *key = mem_printf("Namespace//%s", obj_namespace(obj));
    const struct obj *home = map_get(ledger->objects, key);
    yyjson_val *ref = yyjson_arr_get_first(obj->meta.owners);
    if (obj->kind == &KIND_EVENT || obj->meta.deleted != 0 || home == NULL ||
        home->meta.deleted != 0 || map_get(ledger->touched, obj->meta.uid) != NULL)
        return false;
    return yyjson_arr_size(obj->meta.owners) == 1 &&
           yyjson_equals_str(yyjson_obj_get(ref, "uid"), owner->meta.uid) &&
           !yyjson_equals_str(yyjson_obj_get(ref, "apiVersion"), LEDGER_STRANGER) &&
           strcmp(obj_namespace(obj), obj_namespace(owner)) == 0;
}

struct orphaning {
    struct ledger *ledger;
    const struct obj *owner;
};

static bool note_orphan(void *arg, const char *key, void *value)
{
    (void)key;
    struct orphaning *o = arg;
    const struct obj *obj = value;
    if (lives_for(o->ledger, obj, o->owner))
        mem_free(map_put(o->ledger->orphans, obj->meta.uid, mem_strdup(o->owner->meta.uid)));
    return true;
}

/* Its owner was deleted once, with the wish that they live on. */
static void note_orphans(struct ledger *ledger, const struct obj *obj, const struct obj *old)
{
    bool frees = obj->meta.deleted != 0 && obj_has_finalizer(obj, FINALIZER_ORPHAN);
    if (!frees || (old != NULL && old->meta.deleted != 0))
        return;
    if ((uintptr_t)map_get(ledger->touched, obj->meta.uid) != 1)
        return;
    struct orphaning orphaning = {ledger, obj};
    (void)map_each(ledger->objects, note_orphan, &orphaning);
}

/* A namespace takes all with it, and an owner that is deleted once more may change its mind. */
static bool forget_orphan(void *arg, const char *key, void *value)
{
    struct ledger *ledger = arg;
    const struct obj *obj = cache_by_uid(sim_store(ledger->sim)->cache, key);
    if (obj != NULL) {
        scoped_free char *home_key = mem_printf("Namespace//%s", obj_namespace(obj));
        const struct obj *home = map_get(ledger->objects, home_key);
        if (home != NULL && home->meta.deleted == 0 &&
            (uintptr_t)map_get(ledger->touched, value) <= 1)
            return true;
    } else if ((uintptr_t)map_get(ledger->touched, value) <= 1) {
        return true; /* gone: the check at the end asks why */
    }
    mem_free(value);
    (void)map_del(ledger->orphans, key);
    return true;
}

void ledger_on_change(struct ledger *ledger, const struct change *change)
{
    struct obj *obj = change->obj;
    scoped_free char *key = key_of(obj);
    bool is_removal = change->type == CHANGE_DELETED;
    if (change->revision <= ledger->revision)
        ledger_fail(ledger, "revision %d came after %d", (int)change->revision,
                    (int)ledger->revision);
    ledger->revision = change->revision;
    ledger->is_changed = true;
    check_durable(ledger, obj);
    if (change->type == CHANGE_ADDED)
        check_home(ledger, obj);
    if (is_removal && yyjson_arr_size(obj->meta.finalizers) > 0)
        ledger_fail(ledger, "%s went with finalizers", key);
    struct obj *old =
        is_removal ? map_del(ledger->objects, key) : map_put(ledger->objects, key, obj_ref(obj));
    if (old != change->old || (old == NULL) != (change->type == CHANGE_ADDED))
        ledger_fail(ledger, "the change of %s does not fit what was there", key);
    if (old != NULL)
        check_next(ledger, old, is_removal ? NULL : obj);
    if (!is_removal)
        note_orphans(ledger, obj, old);
    if (obj->kind == &KIND_NAMESPACE)
        (void)map_each(ledger->orphans, forget_orphan, ledger);
    if (obj->kind == &KIND_NAMESPACE && is_removal)
        (void)map_each(ledger->objects, has_home, ledger);
    obj_unref(old);
}

void ledger_on_seen(struct ledger *ledger, const struct change *change)
{
    scoped_free char *key = key_of(change->obj);
    if (change->revision <= ledger->seen_revision)
        ledger_fail(ledger, "the copy saw revision %d after %d", (int)change->revision,
                    (int)ledger->seen_revision);
    ledger->seen_revision = change->revision;
    ledger->is_changed = true;
    struct obj *old = change->type == CHANGE_DELETED
                          ? map_del(ledger->seen, key)
                          : map_put(ledger->seen, key, obj_ref(change->obj));
    if (old != change->old)
        ledger_fail(ledger, "the copy's change of %s does not fit what was there", key);
    obj_unref(old);
}

/* ---- a crash ---- */

static bool check_survived(void *arg, const char *key, void *value)
{
    struct ledger *ledger = arg;
    const struct obj *known = value;
    const struct disk_row *row =
        sim_disk_row(sim_disk(ledger->sim), known->kind, obj_namespace(known), known->meta.name);
    const struct obj *now = cache_get(sim_store(ledger->sim)->cache, known->kind,
                                      obj_namespace(known), known->meta.name);
    if (row == NULL || row->revision < known->revision)
        ledger_fail(ledger, "the crash took %s back", key);
    else if (now == NULL && row->revision == known->revision)
        ledger_fail(ledger, "the crash lost %s", key);
    else if (row->revision > known->revision && row->revision <= ledger->revision)
        ledger_fail(ledger, "%s changed on the disk and nobody was told", key);
    /* What was under way and got through without anybody hearing of it is a change as well. */
    if (now == NULL || strcmp(now->meta.uid, known->meta.uid) == 0)
        check_next(ledger, known, now);
    return true;
}

static void check_loaded(struct ledger *ledger)
{
    const struct cache *cache = sim_store(ledger->sim)->cache;
    size_t count = 0;
    for (size_t k = 0; KINDS[k] != NULL; k++) {
        struct obj *obj = cache_first(cache, KINDS[k], NULL);
        for (; obj != NULL; obj = cache_after(cache, KINDS[k], NULL, obj), count++) {
            const struct disk_row *row =
                sim_disk_row(sim_disk(ledger->sim), obj->kind, obj_namespace(obj), obj->meta.name);
            if (row == NULL || row->json == NULL || row->revision != obj->revision ||
                strcmp(row->json->data, obj->json->data) != 0)
                ledger_fail(ledger, "%s was not loaded as it is stored", obj->meta.name);
        }
    }
    if (count != sim_disk_count(sim_disk(ledger->sim)))
        ledger_fail(ledger, "%zu objects were loaded of %zu", count,
                    sim_disk_count(sim_disk(ledger->sim)));
}

void ledger_on_reopen(struct ledger *ledger)
{
    (void)map_each(ledger->objects, check_survived, ledger);
    check_loaded(ledger);
    start_again(ledger);
    (void)map_each(ledger->objects, has_home, ledger);
    (void)map_each(ledger->orphans, forget_orphan, ledger);
}

void ledger_on_answer(struct ledger *ledger, const char *tag, const struct write_result *result)
{
    int code = result->status.code;
    if (code == 0 && result->obj != NULL)
        check_durable(ledger, result->obj);
    if (code == 500 || code == 507)
        (void)map_put(ledger->refused, tag, ledger);
}
