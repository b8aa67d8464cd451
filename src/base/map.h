// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Text to pointer, hashed. Keys are copied; values belong to the caller. */
struct map;
struct map *map_new(void);
void map_free(struct map *map); /* NULL is fine */
void *map_get(const struct map *map, const char *key);
void *map_put(struct map *map, const char *key, void *value); /* returns what was there before */
void *map_del(struct map *map, const char *key);              /* returns what was there */
size_t map_count(const struct map *map);
size_t map_longest_chain(const struct map *map); /* of keys that share a place, for tests */
/* Calls back for each entry in order of insertion; the callback may delete the entry it is given.
 * Stops early and returns false when the callback does. */
bool map_each(const struct map *map, bool (*each)(void *arg, const char *key, void *value),
              void *arg);

/* The same, kept in byte order of the keys, for prefix and range scans. */
struct omap;
struct omap_item {
    const char *key;
    void *value;
};
struct omap *omap_new(void);
void omap_free(struct omap *map);
void *omap_get(const struct omap *map, const char *key);
void *omap_put(struct omap *map, const char *key, void *value);
void *omap_del(struct omap *map, const char *key);
/* The first item whose key is >= key, or NULL. Valid until the map changes. */
const struct omap_item *omap_seek(const struct omap *map, const char *key);
const struct omap_item *omap_next(const struct omap_item *item);
