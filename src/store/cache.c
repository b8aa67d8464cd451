// SPDX-License-Identifier: Apache-2.0
/* Invariants:
 *  1. an entry is in its kind's tree and hash, in the UID hash, and once in the list of each
 *     owner it names, all or none;
 *  2. the UID by which an entry is found is that of its object, so replacing the object re-keys the
 *     entry before the old object may go; namespace and name are the entry's own.
 * The tree is for going through the objects in order. One is found by the hash: in a tree of twenty
 * thousand the way down is fifteen entries, each of them far from the one before in memory.
 * The lists of owners are intrusive: taking one of five thousand members out of its group costs
 * the same as taking the only one. */
#include "store/cache.h"
#include "base/hash.h"
#include "base/mem.h"
#include <assert.h>
#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#define HASH_FUNCTION(key, len, hash) ((hash) = hash_quick((key), (len)))
#define uthash_malloc(size) mem_alloc(size)
#define uthash_free(ptr, size) mem_free(ptr)
#include <uthash.h>

/* More than the longest namespace and the longest name that any kind takes. */
#define KEY_BYTES_MAX 512

struct entry;

struct owner {
    char *uid;
    TAILQ_HEAD(, owner_link) links;
    UT_hash_handle hh;
};

struct owner_link {
    TAILQ_ENTRY(owner_link) siblings;
    struct owner *owner;
    struct entry *entry;
};

struct entry {
    RB_ENTRY(entry) node;
    UT_hash_handle hh;      /* by UID */
    UT_hash_handle hh_name; /* by namespace and name */
    struct obj *obj;
    const char *ns;   /* in key, as the name */
    const char *name; /* or wherever the caller has it, in one that is only looked with */
    struct owner_link *links;
    size_t link_count;
    char key[]; /* the namespace, NUL, the name, NUL */
};

RB_HEAD(entry_tree, entry);

struct shelf { /* the objects of one kind */
    const struct kind *kind;
    struct entry_tree tree;
    struct entry *by_name;
    size_t count;
};

struct cache {
    struct shelf *shelves;
    size_t shelf_count;
    struct entry *by_uid;
    struct owner *owners;
};

static int entry_cmp(struct entry *a, struct entry *b)
{
    int r = strcmp(a->ns, b->ns);
    return r != 0 ? r : strcmp(a->name, b->name);
}

/* RB_GENERATE_STATIC says __unused, which is a macro on BSD only. */
RB_GENERATE_INTERNAL(entry_tree, entry, node, entry_cmp, __attribute__((unused)) static)

struct cache *cache_new(void)
{
    struct cache *cache = mem_zalloc(sizeof(*cache));
    while (KINDS[cache->shelf_count] != NULL)
        cache->shelf_count++;
    cache->shelves = mem_zalloc(cache->shelf_count * sizeof(*cache->shelves));
    for (size_t i = 0; i < cache->shelf_count; i++) {
        cache->shelves[i].kind = KINDS[i];
        RB_INIT(&cache->shelves[i].tree);
    }
    return cache;
}

static struct shelf *shelf_of(const struct cache *cache, const struct kind *kind)
{
    for (size_t i = 0; i < cache->shelf_count; i++) {
        if (cache->shelves[i].kind == kind)
            return &cache->shelves[i];
    }
    assert(!"a kind that is not in KINDS");
    return NULL;
}

static struct entry *entry_find(const struct cache *cache, const struct kind *kind, const char *ns,
                                const char *name)
{
    assert(name != NULL);
    ns = ns ? ns : "";
    size_t ns_len = strlen(ns), name_len = strlen(name);
    if (ns_len + name_len + 2 > KEY_BYTES_MAX)
        return NULL; /* no valid name is that long */
    char key[KEY_BYTES_MAX];
    memcpy(mempcpy(key, ns, ns_len + 1), name, name_len + 1);
    struct entry *entry = NULL;
    HASH_FIND(hh_name, shelf_of(cache, kind)->by_name, key, ns_len + name_len + 2, entry);
    return entry;
}

static struct entry *entry_new(const struct obj *obj)
{
    const char *ns = obj_namespace(obj), *name = obj->meta.name;
    size_t ns_len = strlen(ns), name_len = strlen(name);
    assert(ns_len + name_len + 2 <= KEY_BYTES_MAX);
    struct entry *entry = mem_zalloc(sizeof(*entry) + ns_len + name_len + 2);
    memcpy(mempcpy(entry->key, ns, ns_len + 1), name, name_len + 1);
    entry->ns = entry->key;
    entry->name = entry->key + ns_len + 1;
    return entry;
}

struct obj *cache_get(const struct cache *cache, const struct kind *kind, const char *ns,
                      const char *name)
{
    struct entry *entry = entry_find(cache, kind, ns, name);
    return entry ? entry->obj : NULL;
}

static struct entry *entry_by_uid(const struct cache *cache, const char *uid)
{
    struct entry *entry = NULL;
    HASH_FIND_STR(cache->by_uid, uid, entry);
    return entry;
}

struct obj *cache_by_uid(const struct cache *cache, const char *uid)
{
    struct entry *entry = entry_by_uid(cache, uid);
    return entry ? entry->obj : NULL;
}

size_t cache_count(const struct cache *cache, const struct kind *kind)
{
    return shelf_of(cache, kind)->count;
}

/* The entry's object if it is still inside the namespace asked for. */
static struct obj *within(struct entry *entry, const char *ns)
{
    if (entry == NULL || (ns != NULL && *ns != '\0' && strcmp(entry->ns, ns) != 0))
        return NULL;
    return entry->obj;
}

struct obj *cache_first(const struct cache *cache, const struct kind *kind, const char *ns)
{
    struct entry key = {.ns = ns ? ns : "", .name = ""};
    return within(RB_NFIND(entry_tree, &shelf_of(cache, kind)->tree, &key), ns);
}

struct obj *cache_after(const struct cache *cache, const struct kind *kind, const char *ns,
                        const struct obj *obj)
{
    return cache_behind(cache, kind, ns, obj_namespace(obj), obj->meta.name);
}

struct obj *cache_behind(const struct cache *cache, const struct kind *kind, const char *ns,
                         const char *after_ns, const char *after_name)
{
    struct entry key = {.ns = after_ns, .name = after_name};
    struct entry *entry = RB_NFIND(entry_tree, &shelf_of(cache, kind)->tree, &key);
    if (entry != NULL && entry_cmp(entry, &key) == 0)
        entry = RB_NEXT(entry_tree, NULL, entry);
    return within(entry, ns);
}

static struct owner *owner_find(const struct cache *cache, const char *uid)
{
    struct owner *owner = NULL;
    HASH_FIND_STR(cache->owners, uid, owner);
    return owner;
}

struct obj *cache_owned_first(const struct cache *cache, const char *uid)
{
    struct owner *owner = owner_find(cache, uid);
    return owner ? TAILQ_FIRST(&owner->links)->entry->obj : NULL;
}

struct obj *cache_owned_next(const struct cache *cache, const char *uid, const struct obj *obj)
{
    struct entry *entry = entry_by_uid(cache, obj->meta.uid);
    if (entry == NULL)
        return NULL;
    for (size_t i = 0; i < entry->link_count; i++) {
        struct owner_link *link = &entry->links[i];
        if (strcmp(link->owner->uid, uid) == 0) {
            struct owner_link *next = TAILQ_NEXT(link, siblings);
            return next ? next->entry->obj : NULL;
        }
    }
    return NULL;
}

static struct owner *owner_need(struct cache *cache, const char *uid)
{
    struct owner *owner = owner_find(cache, uid);
    if (owner != NULL)
        return owner;
    owner = mem_zalloc(sizeof(*owner));
    owner->uid = mem_strdup(uid);
    TAILQ_INIT(&owner->links);
    HASH_ADD_KEYPTR(hh, cache->owners, owner->uid, strlen(owner->uid), owner);
    return owner;
}

static bool names_twice(struct entry *entry, const struct owner *owner)
{
    for (size_t i = 0; i < entry->link_count; i++) {
        if (entry->links[i].owner == owner)
            return true;
    }
    return false;
}

static void link_owners(struct cache *cache, struct entry *entry)
{
    yyjson_val *owners = entry->obj->meta.owners;
    size_t i, n;
    yyjson_val *ref;
    if (yyjson_arr_size(owners) == 0)
        return;
    entry->links = mem_zalloc(yyjson_arr_size(owners) * sizeof(*entry->links));
    yyjson_arr_foreach(owners, i, n, ref)
    {
        const char *uid = yyjson_get_str(yyjson_obj_get(ref, "uid"));
        struct owner *owner = uid ? owner_need(cache, uid) : NULL;
        if (owner == NULL || names_twice(entry, owner))
            continue;
        struct owner_link *link = &entry->links[entry->link_count++];
        link->owner = owner;
        link->entry = entry;
        TAILQ_INSERT_TAIL(&owner->links, link, siblings);
    }
}

static void unlink_owners(struct cache *cache, struct entry *entry)
{
    for (size_t i = 0; i < entry->link_count; i++) {
        struct owner *owner = entry->links[i].owner;
        TAILQ_REMOVE(&owner->links, &entry->links[i], siblings);
        if (!TAILQ_EMPTY(&owner->links))
            continue;
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is in the hash
        HASH_DEL(cache->owners, owner);
        mem_free(owner->uid);
        mem_free(owner);
    }
    mem_free(entry->links);
    entry->links = NULL;
    entry->link_count = 0;
}

static void entry_attach(struct cache *cache, struct entry *entry, struct obj *obj)
{
    entry->obj = obj_ref(obj);
    HASH_ADD_KEYPTR(hh, cache->by_uid, obj->meta.uid, strlen(obj->meta.uid), entry);
    link_owners(cache, entry);
}

/* Out of the hash and the owners' lists, not of the tree; hands the object's reference over. */
static struct obj *entry_detach(struct cache *cache, struct entry *entry)
{
    unlink_owners(cache, entry);
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is in the hash
    HASH_DEL(cache->by_uid, entry);
    return entry->obj;
}

/* A new version mostly has the UID and the owners of the old one, and stays where it is. */
static struct obj *entry_replace(struct cache *cache, struct entry *entry, struct obj *obj)
{
    struct obj *old = entry->obj;
    yyjson_val *owners = obj->meta.owners, *old_owners = old->meta.owners;
    bool same_owners = owners == NULL || old_owners == NULL ? owners == old_owners
                                                            : yyjson_equals(owners, old_owners);
    if (same_owners && strcmp(old->meta.uid, obj->meta.uid) == 0) {
        entry->obj = obj_ref(obj);
        entry->hh.key = (void *)obj->meta.uid;
        return old;
    }
    (void)entry_detach(cache, entry);
    entry_attach(cache, entry, obj);
    return old;
}

struct obj *cache_put(struct cache *cache, struct obj *obj)
{
    struct shelf *shelf = shelf_of(cache, obj->kind);
    struct entry *entry = entry_find(cache, obj->kind, obj_namespace(obj), obj->meta.name);
    if (entry != NULL)
        return entry_replace(cache, entry, obj);
    entry = entry_new(obj);
    entry_attach(cache, entry, obj);
    RB_INSERT(entry_tree, &shelf->tree, entry);
    HASH_ADD_KEYPTR(hh_name, shelf->by_name, entry->key,
                    (size_t)(entry->name - entry->key) + strlen(entry->name) + 1, entry);
    shelf->count++;
    return NULL;
}

static struct obj *entry_drop(struct cache *cache, struct shelf *shelf, struct entry *entry)
{
    RB_REMOVE(entry_tree, &shelf->tree, entry);
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is in the hash
    HASH_DELETE(hh_name, shelf->by_name, entry);
    shelf->count--;
    struct obj *old = entry_detach(cache, entry);
    mem_free(entry);
    return old;
}

struct obj *cache_remove(struct cache *cache, const struct kind *kind, const char *ns,
                         const char *name)
{
    struct entry *entry = entry_find(cache, kind, ns, name);
    return entry ? entry_drop(cache, shelf_of(cache, kind), entry) : NULL;
}

void cache_free(struct cache *cache)
{
    if (cache == NULL)
        return;
    for (size_t i = 0; i < cache->shelf_count; i++) {
        struct shelf *shelf = &cache->shelves[i];
        struct entry *entry;
        while ((entry = RB_ROOT(&shelf->tree)) != NULL)
            obj_unref(entry_drop(cache, shelf, entry));
    }
    mem_free(cache->shelves);
    mem_free(cache);
}
