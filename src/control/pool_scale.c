// SPDX-License-Identifier: Apache-2.0
/* How many pods a pool has. Two reasons to look: some vreplicas have no place (then it may grow),
 * and the period is over (then it may shrink too, and when it need not it may be compacted). Looks
 * of the first kind never move the time of the second: steady growth elsewhere must not keep a pool
 * from shrinking.
 *
 * A compaction was tried on a copy by the engine. Its pods get nothing new from then on, the vpods
 * on them are placed anew, each with one write, and the pods go when the period is over again and
 * nothing of it is left unwritten. */
#include "base/mem.h"
#include "control/pool_internal.h"
#include <inttypes.h>

static void write_replicas(struct control *control, struct pool *pool, int32_t wanted)
{
    struct obj *set =
        cache_get(control_world(control)->cache, &KIND_STATEFULSET, pool->ns, pool->name);
    if (set == NULL || set->meta.deleted != 0)
        return;
    bool grows = wanted > pool->replicas;
    control_event(control, set, "Normal", grows ? "PoolGrows" : "PoolShrinks",
                  "%d pods instead of %d: %" PRId64 " vreplicas have no place", wanted,
                  pool->replicas, place_pending(pool->place));
    struct write *write = write_new(WRITE_PATCH, &KIND_STATEFULSET, pool->ns, pool->name);
    scoped_free char *patch = mem_printf("{\"spec\":{\"replicas\":%d}}", wanted);
    (void)json_parse(sv_of(patch), &write->patch, NULL); /* cannot fail: made here */
    write->patch_type = PATCH_MERGE;
    write->sub = SUB_SCALE;
    write->if_uid = mem_strdup(set->meta.uid);
    control_write(control, write);
}

static bool is_committed(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    const struct pool_vpod *vpod = value;
    return !vpod->is_uncommitted;
}

static void compact(struct control *control, struct pool *pool)
{
    struct place_evictions evictions = {0};
    place_compact(pool->place, &evictions);
    int32_t lowest = -1;
    for (size_t i = 0; i < evictions.of.len; i++) {
        int32_t ordinal = evictions.of.items[i].ordinal;
        lowest = lowest < 0 || ordinal < lowest ? ordinal : lowest;
    }
    pool_vacate(pool, lowest);
    for (size_t i = 0; i < evictions.of.len; i++) {
        const struct place_eviction *one = &evictions.of.items[i];
        struct pool_vpod *vpod = map_get(pool->vpods, one->vpod);
        (void)place_evict(pool->place, one->vpod, one->ordinal);
        vpod->is_uncommitted = true;
        pool_add_key(control, 'v', pool->ns, vpod->name);
    }
    vec_done(&evictions.of);
}

/* What is too much on some pod needs room as well. */
static int64_t lacking(const struct pool *pool)
{
    int64_t surplus = place_surplus(pool->place);
    return surplus > 0 ? place_pending(pool->place) + surplus : PLACE_COMPUTED;
}

/* True: it was. */
static bool refresh(struct control *control, struct pool *pool)
{
    bool is_settled = place_surplus(pool->place) == 0 && map_each(pool->vpods, is_committed, NULL);
    int32_t wanted = place_autoscale(pool->place, lacking(pool), is_settled);
    if (wanted != pool->replicas) {
        write_replicas(control, pool, wanted);
        return true;
    }
    pool_vacate(pool, -1);
    if (is_settled && place_pending(pool->place) == 0)
        compact(control, pool);
    return false;
}

static void grow(struct control *control, struct pool *pool)
{
    int32_t wanted = place_autoscale(pool->place, lacking(pool), false);
    pool->is_triggered = false;
    if (pool->vacate_from >= 0) {
        /* The room that was being emptied is needed after all. */
        pool_vacate(pool, -1);
        pool_retry_pending(control, pool);
    } else if (wanted > pool->replicas) {
        write_replicas(control, pool, wanted);
    }
}

void pool_reconcile_pool(struct control *control, const char *ns, const char *name)
{
    struct pool *pool = pools_get(control_state(control), ns, name);
    if (pool == NULL || !pool->has_set || !pool->is_autoscaled)
        return;
    time_ms now = control_steady(control);
    scoped_free char *key = mem_printf("p/%s/%s", ns, name);
    if (now >= pool->next_refresh) {
        pool->next_refresh = now + pool->refresh_ms;
        (void)refresh(control, pool);
    } else if (pool->is_triggered) {
        grow(control, pool);
    }
    control_add_after(control, key, pool->next_refresh - now);
}
