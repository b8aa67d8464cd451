// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/object.h"

/* All live objects in memory: by kind in order of namespace and name, by UID, and by owner. Every
 * look-up returns a borrowed pointer, good until the cache next changes; obj_ref() to keep it. */
struct cache;
struct cache *cache_new(void);
void cache_free(struct cache *cache);

struct obj *cache_get(const struct cache *cache, const struct kind *kind, const char *ns,
                      const char *name);
struct obj *cache_by_uid(const struct cache *cache, const char *uid);
size_t cache_count(const struct cache *cache, const struct kind *kind);

/* In order, within one namespace (ns "" or NULL: all): the first, or the first after (ns, name).
 *     for (o = cache_first(c, kind, ns); o; o = cache_after(c, kind, ns, o)) */
struct obj *cache_first(const struct cache *cache, const struct kind *kind, const char *ns);
struct obj *cache_after(const struct cache *cache, const struct kind *kind, const char *ns,
                        const struct obj *obj);
/* The first whose (namespace, name) is behind the given one, which need not exist. */
struct obj *cache_behind(const struct cache *cache, const struct kind *kind, const char *ns,
                         const char *after_ns, const char *after_name);

/* Objects that name `uid` as an owner: the first, and the next one after `obj`. Constant time. */
struct obj *cache_owned_first(const struct cache *cache, const char *uid);
struct obj *cache_owned_next(const struct cache *cache, const char *uid, const struct obj *obj);

/* Puts a version in place of the one before it (takes its own reference). Returns the one that
 * was there, to be unreferenced by the caller, or NULL. */
struct obj *cache_put(struct cache *cache, struct obj *obj);
struct obj *cache_remove(struct cache *cache, const struct kind *kind, const char *ns,
                         const char *name);
