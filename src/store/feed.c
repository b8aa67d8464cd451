// SPDX-License-Identifier: Apache-2.0
/* Watches stand in three places: those for all objects of a kind (or of all kinds), those for a
 * namespace, those for one name. A change visits exactly the lists it can concern. A callback may
 * close watches, the next one in the list included, so closing during a walk only marks them;
 * they are freed when the outermost walk ends. */
#include "store/feed.h"
#include "base/mem.h"
#include <assert.h>
#include <bsd/sys/queue.h>
#include <errno.h>
#define uthash_malloc(size) mem_alloc(size)
#define uthash_free(ptr, size) mem_free(ptr)
#include <uthash.h>

/* Past versions are kept for those who resume, but not at any price. */
#define KEY_BYTES_USUAL 120
#define WINDOW_BYTES_MAX ((size_t)32 << 20)
/* The latest changes stay as they are: whoever is behind is behind by few, and those who work with
 * a version that was replaced let it go soon. Of older ones, versions that only we hold are
 * frozen. */
#define WARM_CHANGES 512

struct watch_list { /* all watches with the same filter */
    char *key;
    bool is_named;
    TAILQ_HEAD(, watch) watches;
    UT_hash_handle hh;
};

struct watch {
    TAILQ_ENTRY(watch) siblings;
    TAILQ_ENTRY(watch) dead;
    struct feed *feed;
    struct watch_list *list;
    const struct kind *kind;
    char *ns;
    char *name;
    bool is_closed;
    uint64_t opened_at; /* it hears what comes after */
    watch_fn *fn;
    void *arg;
};

struct feed {
    struct change *ring;
    size_t cap;
    size_t start;
    size_t len;
    size_t cold;  /* of these, from the first on: past the time when they are frozen */
    size_t bytes; /* of the versions in the window */
    uint64_t oldest;
    uint64_t latest;
    struct watch_list *lists;
    size_t watch_count;
    size_t
        named; /* lists of watches for one name; mostly there are none, and nobody is looked for */
    int walks; /* nesting of callbacks under way */
    TAILQ_HEAD(, watch) graveyard;
};

struct feed *feed_new(size_t window_changes)
{
    struct feed *feed = mem_zalloc(sizeof(*feed));
    assert(window_changes > 0);
    feed->cap = window_changes;
    feed->ring = mem_zalloc(feed->cap * sizeof(*feed->ring));
    TAILQ_INIT(&feed->graveyard);
    return feed;
}

static void change_done(struct change *change)
{
    obj_unref(change->obj);
    obj_unref(change->old);
    buf_unref(change->as_json);
    *change = (struct change){0};
}

void feed_free(struct feed *feed)
{
    if (feed == NULL)
        return;
    assert(feed->watch_count == 0);
    for (size_t i = 0; i < feed->len; i++)
        change_done(&feed->ring[(feed->start + i) % feed->cap]);
    mem_free(feed->ring);
    mem_free(feed);
}

void feed_start_at(struct feed *feed, uint64_t revision)
{
    feed->oldest = feed->latest = revision;
}

uint64_t feed_oldest(const struct feed *feed)
{
    return feed->oldest;
}

uint64_t feed_revision(const struct feed *feed)
{
    return feed->latest;
}

size_t feed_watches(const struct feed *feed)
{
    return feed->watch_count;
}

/* ---- lists of watches ---- */

static void list_key(struct str *key, const struct kind *kind, const char *ns, const char *name)
{
    str_clear(key);
    if (kind != NULL) {
        str_add(key, kind->group);
        str_addc(key, '/');
        str_add(key, kind->name);
    }
    if (ns != NULL) {
        str_addc(key, '|');
        str_add(key, ns);
    }
    if (name != NULL) {
        str_addc(key, '|');
        str_add(key, name);
        str_addc(key, '|');
    }
}

static struct watch_list *list_find(struct feed *feed, const struct str *key)
{
    struct watch_list *list = NULL;
    HASH_FIND(hh, feed->lists, str_text(key), key->len, list);
    return list;
}

static const char *or_null(const char *text)
{
    return text != NULL && *text != '\0' ? text : NULL;
}

static struct watch_list *list_need(struct feed *feed, const struct watch_filter *filter)
{
    scoped_str key = {0};
    list_key(&key, filter->kind, or_null(filter->ns), or_null(filter->name));
    struct watch_list *list = list_find(feed, &key);
    if (list == NULL) {
        list = mem_zalloc(sizeof(*list));
        list->key = mem_strdup(str_text(&key));
        TAILQ_INIT(&list->watches);
        HASH_ADD_KEYPTR(hh, feed->lists, list->key, key.len, list);
        list->is_named = or_null(filter->name) != NULL;
        feed->named += list->is_named;
    }
    return list;
}

struct watch *feed_watch(struct feed *feed, struct watch_filter filter, watch_fn *fn, void *arg)
{
    struct watch *watch = mem_zalloc(sizeof(*watch));
    *watch = (struct watch){.feed = feed, .kind = filter.kind, .fn = fn, .arg = arg};
    watch->list = list_need(feed, &filter);
    watch->opened_at = feed->latest;
    watch->ns = mem_strdup(or_null(filter.ns));
    watch->name = mem_strdup(or_null(filter.name));
    TAILQ_INSERT_TAIL(&watch->list->watches, watch, siblings);
    feed->watch_count++;
    return watch;
}

static void watch_bury(struct watch *watch)
{
    struct watch_list *list = watch->list;
    TAILQ_REMOVE(&list->watches, watch, siblings);
    if (TAILQ_EMPTY(&list->watches)) {
        watch->feed->named -= list->is_named;
        HASH_DEL(watch->feed->lists, list);
        mem_free(list->key);
        mem_free(list);
    }
    mem_free(watch->ns);
    mem_free(watch->name);
    mem_free(watch);
}

void feed_unwatch(struct watch *watch)
{
    if (watch == NULL)
        return;
    struct feed *feed = watch->feed;
    assert(!watch->is_closed);
    watch->is_closed = true;
    feed->watch_count--;
    if (feed->walks > 0)
        TAILQ_INSERT_TAIL(&feed->graveyard, watch, dead);
    else
        watch_bury(watch);
}

static void walk_end(struct feed *feed)
{
    if (--feed->walks > 0)
        return;
    struct watch *watch;
    while ((watch = TAILQ_FIRST(&feed->graveyard)) != NULL) {
        TAILQ_REMOVE(&feed->graveyard, watch, dead);
        watch_bury(watch);
    }
}

/* ---- changes ---- */

/* About what a version holds in memory: its text, the strings of its view once more, and the view's
 * values. What watchers share of it goes with it. */
static size_t weight(const struct change *change)
{
    const struct obj *obj = change->obj;
    if (obj->doc == NULL)
        return sizeof(*obj) + obj->json->len;
    return sizeof(*obj) + 2 * obj->json->len +
           yyjson_doc_get_val_count(obj->doc) * sizeof(yyjson_val);
}

/* Index of the first change behind the revision. */
static size_t ring_search(const struct feed *feed, uint64_t after_revision)
{
    size_t low = 0, high = feed->len;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (feed->ring[(feed->start + mid) % feed->cap].revision > after_revision)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/* The change that brought this version, if it is still known. */
static struct change *bringer(const struct feed *feed, const struct obj *obj)
{
    size_t i = ring_search(feed, obj->revision - 1);
    struct change *change = &feed->ring[(feed->start + i) % feed->cap];
    return i < feed->len && change->obj == obj ? change : NULL;
}

static void freeze(struct feed *feed, struct obj *obj, size_t others)
{
    struct change *change = bringer(feed, obj);
    if (obj->doc == NULL || obj->refs != others + (change != NULL))
        return; /* somebody else has it */
    feed->bytes -= change != NULL ? weight(change) : 0;
    obj_freeze(obj);
    feed->bytes += change != NULL ? weight(change) : 0;
}

static void thaw(struct feed *feed, struct obj *obj)
{
    struct change *change = obj->doc == NULL ? bringer(feed, obj) : NULL;
    feed->bytes -= change != NULL ? weight(change) : 0;
    obj_thaw(obj);
    feed->bytes += change != NULL ? weight(change) : 0;
}

/* A version is past once a later change has it as the old one, or when it was a deletion. */
static void chill(struct feed *feed, struct change *change)
{
    buf_unref(take_ptr(change->as_json));
    if (change->old != NULL && change->old != change->obj)
        freeze(feed, change->old, 1);
    if (change->type == CHANGE_DELETED)
        freeze(feed, change->obj, 0);
}

bool feed_has_changed(const struct feed *feed, const struct kind *kind, uint64_t after_revision)
{
    if (after_revision < feed->oldest)
        return true;
    for (size_t i = ring_search(feed, after_revision); i < feed->len; i++) {
        if (feed->ring[(feed->start + i) % feed->cap].obj->kind == kind)
            return true;
    }
    return false;
}

static void ring_drop_first(struct feed *feed)
{
    struct change *first = &feed->ring[feed->start];
    feed->oldest = first->revision;
    feed->bytes -= weight(first);
    change_done(first);
    feed->start = (feed->start + 1) % feed->cap;
    feed->len--;
    feed->cold -= feed->cold > 0;
}

static struct change *ring_push(struct feed *feed, struct change change)
{
    feed->bytes += weight(&change);
    while (feed->len == feed->cap || (feed->len > 0 && feed->bytes > WINDOW_BYTES_MAX))
        ring_drop_first(feed);
    struct change *slot = &feed->ring[(feed->start + feed->len++) % feed->cap];
    *slot = change;
    for (; feed->len - feed->cold > WARM_CHANGES; feed->cold++)
        chill(feed, &feed->ring[(feed->start + feed->cold) % feed->cap]);
    return slot;
}

static void tell_list(struct feed *feed, struct str *key, struct change *change)
{
    struct watch_list *list = list_find(feed, key);
    if (list == NULL)
        return;
    struct watch *watch;
    TAILQ_FOREACH(watch, &list->watches, siblings)
    {
        if (!watch->is_closed && watch->opened_at < change->revision)
            watch->fn(watch->arg, change);
    }
}

static void tell_kind(struct feed *feed, const struct kind *kind, struct change *change)
{
    const char *ns = or_null(obj_namespace(change->obj));
    const char *name = change->obj->meta.name;
    scoped_str key = {0};
    str_room(&key, KEY_BYTES_USUAL);
    tell_list(feed, (list_key(&key, kind, NULL, NULL), &key), change);
    if (ns != NULL)
        tell_list(feed, (list_key(&key, kind, ns, NULL), &key), change);
    if (feed->named == 0)
        return;
    tell_list(feed, (list_key(&key, kind, NULL, name), &key), change);
    if (ns != NULL)
        tell_list(feed, (list_key(&key, kind, ns, name), &key), change);
}

static void tell(struct feed *feed, struct change *change)
{
    feed->walks++;
    tell_kind(feed, NULL, change);
    tell_kind(feed, change->obj->kind, change);
    walk_end(feed);
}

void feed_publish(struct feed *feed, enum change_type type, struct obj *obj, struct obj *old)
{
    assert(obj->revision > feed->latest);
    assert(feed->walks == 0); /* nobody publishes from inside a callback */
    feed->latest = obj->revision;
    struct change change = {.type = type, .revision = obj->revision, .obj = obj_ref(obj)};
    change.old = old ? obj_ref(old) : NULL;
    tell(feed, ring_push(feed, change));
}

static bool watch_wants(const struct watch *watch, const struct obj *obj)
{
    if (watch->kind != NULL && watch->kind != obj->kind)
        return false;
    if (watch->ns != NULL && strcmp(watch->ns, obj_namespace(obj)) != 0)
        return false;
    return watch->name == NULL || strcmp(watch->name, obj->meta.name) == 0;
}

static void replay_one(struct watch *watch, struct change *change, bool is_cold)
{
    struct feed *feed = watch->feed;
    if (watch->kind != NULL && watch->kind != change->obj->kind)
        return;
    thaw(feed, change->obj);
    if (change->old != NULL)
        thaw(feed, change->old);
    if (watch_wants(watch, change->obj))
        watch->fn(watch->arg, change);
    if (is_cold)
        chill(feed, change);
}

int feed_replay(struct watch *watch, uint64_t after_revision)
{
    struct feed *feed = watch->feed;
    if (after_revision < feed->oldest)
        return -ESTALE;
    feed->walks++;
    for (size_t i = ring_search(feed, after_revision); i < feed->len && !watch->is_closed; i++) {
        struct change *change = &feed->ring[(feed->start + i) % feed->cap];
        replay_one(watch, change, i < feed->cold);
    }
    walk_end(feed);
    return 0;
}
