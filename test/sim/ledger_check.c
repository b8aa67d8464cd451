// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "control/controllers.h"
#include "ledger.h"
#include <string.h>

#define SLACK_MS (3 * 60 * 1000)

/* ---- after each step ---- */

struct recount {
    struct ledger *ledger;
    const struct cache *cache;
};

static bool walk_owned(void *arg, const char *uid, void *value)
{
    struct recount *r = arg;
    uintptr_t count = 0;
    struct obj *obj = cache_owned_first(r->cache, uid);
    for (; obj != NULL; obj = cache_owned_next(r->cache, uid, obj))
        count++;
    if (count != (uintptr_t)value)
        ledger_fail(r->ledger, "%s owns %zu by the index and %zu by a recount", uid, (size_t)count,
                    (size_t)(uintptr_t)value);
    return true;
}

static void count_owners(const struct obj *obj, struct map *counts)
{
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach(obj->meta.owners, i, n, ref)
    {
        const char *uid = yyjson_get_str(yyjson_obj_get(ref, "uid"));
        (void)map_put(counts, uid, (void *)((uintptr_t)map_get(counts, uid) + 1));
    }
}

/* The cache holds exactly what the fold does, and its indexes agree. */
static void check_cache(struct ledger *ledger, const struct cache *cache, const struct map *fold)
{
    struct map *counts = map_new();
    size_t count = 0;
    for (size_t k = 0; KINDS[k] != NULL; k++) {
        size_t of_kind = 0;
        struct obj *obj = cache_first(cache, KINDS[k], NULL);
        for (; obj != NULL; obj = cache_after(cache, KINDS[k], NULL, obj), of_kind++) {
            scoped_free char *key =
                mem_printf("%s/%s/%s", obj->kind->name, obj_namespace(obj), obj->meta.name);
            if (map_get(fold, key) != obj)
                ledger_fail(ledger, "%s in the cache is not what the feed said", key);
            if (cache_by_uid(cache, obj->meta.uid) != obj)
                ledger_fail(ledger, "%s is not found by its UID", key);
            count_owners(obj, counts);
        }
        if (cache_count(cache, KINDS[k]) != of_kind)
            ledger_fail(ledger, "%s: %zu counted, %zu there", KINDS[k]->name,
                        cache_count(cache, KINDS[k]), of_kind);
        count += of_kind;
    }
    if (count != map_count(fold))
        ledger_fail(ledger, "%zu objects in the cache, %zu by the feed", count, map_count(fold));
    struct recount recount = {ledger, cache};
    (void)map_each(counts, walk_owned, &recount);
    map_free(counts);
}

void ledger_check(struct ledger *ledger)
{
    if (sim_violation(ledger->sim) != NULL)
        ledger_fail(ledger, "%s", sim_violation(ledger->sim));
    if (!ledger->is_changed)
        return;
    ledger->is_changed = false;
    check_cache(ledger, sim_store(ledger->sim)->cache, ledger->objects);
    check_cache(ledger, sim_world(ledger->sim)->cache, ledger->seen);
}

/* ---- when all faults have ended ---- */

static bool is_judged(const struct obj *obj, yyjson_val *ref, const struct kind **ret_kind)
{
    const char *api_version = yyjson_get_str(yyjson_obj_get(ref, "apiVersion"));
    const char *kind = yyjson_get_str(yyjson_obj_get(ref, "kind"));
    *ret_kind = kind_of_api(api_version, kind);
    return *ret_kind != NULL && (!(*ret_kind)->namespaced || obj->kind->namespaced);
}

static bool is_alive(struct ledger *ledger, const struct obj *obj, yyjson_val *ref)
{
    const struct kind *kind;
    if (!is_judged(obj, ref, &kind))
        return true;
    const char *uid = yyjson_get_str(yyjson_obj_get(ref, "uid"));
    const struct obj *owner = cache_by_uid(sim_store(ledger->sim)->cache, uid);
    return owner != NULL && owner->kind == kind &&
           (!kind->namespaced || strcmp(obj_namespace(owner), obj_namespace(obj)) == 0);
}

static void check_owners(struct ledger *ledger, const struct obj *obj)
{
    size_t i, n, alive = 0;
    yyjson_val *ref;
    yyjson_arr_foreach(obj->meta.owners, i, n, ref)
    {
        alive += is_alive(ledger, obj, ref);
    }
    size_t all = yyjson_arr_size(obj->meta.owners);
    if (all > 0 && alive == 0)
        ledger_fail(ledger, "%s %s lives on without any of its owners", obj->kind->name,
                    obj->meta.name);
    else if (alive < all)
        ledger_fail(ledger, "%s %s still names an owner that is gone", obj->kind->name,
                    obj->meta.name);
}

static time_ms last_news(const struct obj *event)
{
    const char *text = json_str_at(event->root, "lastTimestamp");
    time_ms at = 0;
    if (text == NULL || rfc3339_parse(sv_of(text), &at, NULL) < 0)
        return event->meta.created;
    return at > event->meta.created ? at : event->meta.created;
}

static bool check_settled(void *arg, const char *key, void *value)
{
    struct ledger *ledger = arg;
    const struct obj *obj = value;
    if (obj->meta.deleted != 0)
        ledger_fail(ledger, "%s does not go: %s", key, obj->json->data);
    if (obj_has_finalizer(obj, FINALIZER_FOREGROUND) || obj_has_finalizer(obj, FINALIZER_ORPHAN))
        ledger_fail(ledger, "%s still has the collector's finalizer", key);
    check_owners(ledger, obj);
    if (obj->kind == &KIND_EVENT &&
        last_news(obj) + EVENT_LIFETIME_MS + SLACK_MS < sim_now(ledger->sim))
        ledger_fail(ledger, "%s is too old", key);
    const char *tag = obj_tag(obj);
    if (tag != NULL && map_get(ledger->refused, tag) != NULL)
        ledger_fail(ledger, "%s carries %s, which was refused", key, tag);
    return true;
}

static bool check_orphan(void *arg, const char *uid, void *value)
{
    struct ledger *ledger = arg;
    const struct obj *obj = cache_by_uid(sim_store(ledger->sim)->cache, uid);
    size_t i, n;
    yyjson_val *ref;
    if ((uintptr_t)map_get(ledger->touched, value) > 1)
        return true; /* the owner was deleted again, perhaps with another wish */
    if (obj == NULL || obj->meta.deleted != 0) {
        ledger_fail(ledger, "%s did not outlive the owner that set it free",
                    obj ? obj->meta.name : uid);
        return false;
    }
    yyjson_arr_foreach(obj->meta.owners, i, n, ref)
    {
        if (yyjson_equals_str(yyjson_obj_get(ref, "uid"), value))
            ledger_fail(ledger, "%s still names the owner that set it free", obj->meta.name);
    }
    return true;
}

void ledger_check_converged(struct ledger *ledger)
{
    (void)map_each(ledger->objects, check_settled, ledger);
    (void)map_each(ledger->orphans, check_orphan, ledger);
}
