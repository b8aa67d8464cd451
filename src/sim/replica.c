// SPDX-License-Identifier: Apache-2.0
#include "sim/replica.h"
#include "base/mem.h"
#include <bsd/sys/queue.h>

struct news { /* a change on its way */
    STAILQ_ENTRY(news) next;
    enum change_type type;
    struct obj *obj;
    time_ms at;
};

struct sim_replica {
    struct sim_replica_options options;
    struct cache *cache;
    struct feed *feed;
    struct watch *watch;
    STAILQ_HEAD(, news) queue;
    struct sim_event arrival; /* of the first in the queue */
    time_ms last_at;          /* of the last that was ever queued */
};

static void arm(struct sim_replica *replica)
{
    const struct news *first = STAILQ_FIRST(&replica->queue);
    sim_clock_arm(replica->options.clock, &replica->arrival, first ? first->at : TIME_NEVER);
}

static void on_store_change(void *arg, struct change *change)
{
    struct sim_replica *replica = arg;
    const struct sim_replica_options *o = &replica->options;
    struct news *news = mem_zalloc(sizeof(*news));
    time_ms at = o->clock->now + rng_between(o->rng, 0, o->lag_max_ms);
    replica->last_at = at > replica->last_at ? at : replica->last_at;
    *news =
        (struct news){.type = change->type, .obj = obj_ref(change->obj), .at = replica->last_at};
    bool was_empty = STAILQ_EMPTY(&replica->queue);
    STAILQ_INSERT_TAIL(&replica->queue, news, next);
    if (was_empty)
        arm(replica);
}

static struct news *queue_take(struct sim_replica *replica)
{
    struct news *news = STAILQ_FIRST(&replica->queue);
    if (news != NULL)
        STAILQ_REMOVE_HEAD(&replica->queue, next);
    return news;
}

static void on_arrival(void *arg)
{
    struct sim_replica *replica = arg;
    struct news *news = queue_take(replica);
    struct obj *obj = news->obj;
    scoped_obj *old =
        news->type == CHANGE_DELETED
            ? cache_remove(replica->cache, obj->kind, obj_namespace(obj), obj->meta.name)
            : cache_put(replica->cache, obj);
    sim_trace(replica->options.clock, "seen", obj->revision);
    arm(replica);
    feed_publish(replica->feed, news->type, obj, old);
    obj_unref(obj);
    mem_free(news);
}

static void copy_everything(struct sim_replica *replica, const struct cache *from)
{
    for (size_t k = 0; KINDS[k] != NULL; k++) {
        struct obj *obj = cache_first(from, KINDS[k], NULL);
        for (; obj != NULL; obj = cache_after(from, KINDS[k], NULL, obj))
            obj_unref(cache_put(replica->cache, obj));
    }
}

struct sim_replica *sim_replica_new(const struct sim_replica_options *options)
{
    struct sim_replica *replica = mem_zalloc(sizeof(*replica));
    replica->options = *options;
    replica->cache = cache_new();
    replica->feed = feed_new(options->window_changes);
    replica->last_at = options->clock->now;
    STAILQ_INIT(&replica->queue);
    sim_event_init(&replica->arrival, on_arrival, replica);
    copy_everything(replica, options->store->cache);
    feed_start_at(replica->feed, feed_revision(options->store->feed));
    replica->watch =
        feed_watch(options->store->feed, (struct watch_filter){0}, on_store_change, replica);
    return replica;
}

void sim_replica_free(struct sim_replica *replica)
{
    if (replica == NULL)
        return;
    struct news *news;
    sim_clock_disarm(replica->options.clock, &replica->arrival);
    while ((news = queue_take(replica)) != NULL) {
        obj_unref(news->obj);
        mem_free(news);
    }
    feed_unwatch(replica->watch);
    cache_free(replica->cache);
    feed_free(replica->feed);
    mem_free(replica);
}

struct cache *sim_replica_cache(const struct sim_replica *replica)
{
    return replica->cache;
}

struct feed *sim_replica_feed(const struct sim_replica *replica)
{
    return replica->feed;
}

time_ms sim_replica_caught_up_at(const struct sim_replica *replica)
{
    time_ms now = replica->options.clock->now;
    return replica->last_at > now ? replica->last_at : now;
}

void sim_replica_heal(struct sim_replica *replica, time_ms lag_max_ms)
{
    replica->options.lag_max_ms = lag_max_ms;
}
