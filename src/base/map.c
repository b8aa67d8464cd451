// SPDX-License-Identifier: Apache-2.0
#include "base/map.h"
#include "base/hash.h"
#include "base/mem.h"
#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HASH_FUNCTION(key, len, hash) ((hash) = hash_quick((key), (len)))
#define uthash_malloc(size) mem_alloc(size)
#define uthash_free(ptr, size) mem_free(ptr)
#define uthash_fatal(msg) abort() /* not reached: mem_alloc() aborts first */
#include <uthash.h>

struct entry {
    UT_hash_handle hh; /* also keeps the order of insertion */
    void *value;
    char key[];
};

struct map {
    struct entry *entries;
};

struct map *map_new(void)
{
    return mem_zalloc(sizeof(struct map));
}

void map_free(struct map *map)
{
    if (!map)
        return;
    struct entry *entry, *next;
    HASH_ITER(hh, map->entries, entry, next)
    {
        HASH_DEL(map->entries, entry);
        mem_free(entry);
    }
    mem_free(map);
}

static struct entry *find(const struct map *map, const char *key)
{
    struct entry *entry;
    HASH_FIND_STR(map->entries, key, entry);
    return entry;
}

void *map_get(const struct map *map, const char *key)
{
    struct entry *entry = find(map, key);
    return entry ? entry->value : NULL;
}

void *map_put(struct map *map, const char *key, void *value)
{
    struct entry *entry = find(map, key);
    void *before = entry ? entry->value : NULL;
    if (!entry) {
        size_t len = strlen(key);
        assert(len <= UINT_MAX); /* uthash counts in unsigned */
        entry = mem_zalloc(sizeof(*entry) + len + 1);
        memcpy(entry->key, key, len + 1);
        HASH_ADD_KEYPTR(hh, map->entries, entry->key, len, entry);
    }
    entry->value = value;
    return before;
}

void *map_del(struct map *map, const char *key)
{
    struct entry *entry = find(map, key);
    if (!entry)
        return NULL;
    void *before = entry->value;
    HASH_DEL(map->entries, entry);
    mem_free(entry);
    return before;
}

size_t map_count(const struct map *map)
{
    return HASH_COUNT(map->entries);
}

size_t map_longest_chain(const struct map *map)
{
    size_t longest = 0;
    const UT_hash_table *table = map->entries ? map->entries->hh.tbl : NULL;
    for (unsigned i = 0; table && i < table->num_buckets; i++)
        if (table->buckets[i].count > longest)
            longest = table->buckets[i].count;
    return longest;
}

bool map_each(const struct map *map, bool (*each)(void *arg, const char *key, void *value),
              void *arg)
{
    struct entry *entry, *next;
    HASH_ITER(hh, map->entries, entry, next)
    {
        if (!each(arg, entry->key, entry->value))
            return false;
    }
    return true;
}
