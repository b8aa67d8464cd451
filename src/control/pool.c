// SPDX-License-Identifier: Apache-2.0
/* VPods and their pools: from changes to keys. Every change is told to the engine at once; what
 * follows from it is decided when its key is looked at. What is lost (a pod, a node, a zone) keeps
 * its placements: nothing is moved for it, and nothing new goes there. */
#include "base/mem.h"
#include "control/controllers.h"
#include "control/pool_internal.h"
#include "control/statefulset_internal.h"

static struct pool *pool_of_pod(struct control *control, const struct obj *pod)
{
    const char *dash = strrchr(pod->meta.name, '-');
    if (dash == NULL || set_owner_uid(pod) == NULL)
        return NULL;
    scoped_free char *set = mem_strndup(pod->meta.name, (size_t)(dash - pod->meta.name));
    return pools_get(control_state(control), obj_namespace(pod), set);
}

static const char *share_of(const struct obj *pod)
{
    return yyjson_get_str(yyjson_obj_get(pod->meta.annotations, POOL_SHARE_NOTE));
}

static void map_pod(struct control *control, const struct change *change)
{
    const struct obj *pod = change->obj;
    struct pool *pool = pool_of_pod(control, pod);
    if (pool == NULL)
        return;
    bool is_news = change->type == CHANGE_DELETED ? pool_drop_pod(pool, pod->meta.name)
                                                  : pool_put_pod(pool, pod);
    if (is_news)
        pool_retry_pending(control, pool);
    bool is_new = change->old == NULL || !str_eq(share_of(pod), share_of(change->old));
    if (change->type != CHANGE_DELETED && is_new)
        pool_add_key(control, 'm', pool->ns, pod->meta.name);
}

static void map_vpod(struct control *control, const struct change *change)
{
    const struct obj *vpod = change->obj;
    const char *ns = obj_namespace(vpod), *set = json_str_at(vpod->root, "spec.pool");
    if (set == NULL)
        return;
    if (change->type != CHANGE_DELETED) {
        pool_put_vpod(control, pools_need(control, ns, set), vpod);
        pool_add_key(control, 'v', ns, vpod->meta.name);
        return;
    }
    struct pool *pool = pools_get(control_state(control), ns, set);
    if (pool == NULL)
        return;
    pool_drop_vpod(control, pool, vpod->meta.name);
    pool_retry_pending(control, pool); /* there may be room for others */
    pool_forget_if_unused(control_state(control), pool);
}

static bool add_vpod(void *arg, const char *key, void *value)
{
    const struct pool_vpod *vpod = value;
    pool_add_key(arg, 'v', vpod->pool->ns, key);
    return true;
}

/* Other numbers mean other pods: everything is told anew. */
static void renumber(struct control *control, struct pool *pool)
{
    struct pools *pools = control_state(control);
    struct cache *cache = control_world(control)->cache;
    scoped_free char *ns = mem_strdup(pool->ns), *set = mem_strdup(pool->name);
    VEC(struct obj *) vpods = {0};
    struct obj *vpod = cache_first(cache, &KIND_VPOD, ns);
    for (; vpod != NULL; vpod = cache_after(cache, &KIND_VPOD, ns, vpod)) {
        if (str_eq(json_str_at(vpod->root, "spec.pool"), set))
            vec_push(&vpods, vpod);
    }
    for (size_t i = 0; i < vpods.len; i++)
        pool_drop_vpod(control, pool, vpods.items[i]->meta.name);
    pool_forget_if_unused(pools, pool);
    for (size_t i = 0; i < vpods.len; i++)
        pool_put_vpod(control, pools_need(control, ns, set), vpods.items[i]);
    vec_done(&vpods);
}

static void map_set(struct control *control, const struct change *change)
{
    const struct obj *set = change->obj;
    struct pools *pools = control_state(control);
    struct pool *pool = pools_get(pools, obj_namespace(set), set->meta.name);
    if (pool == NULL)
        return;
    bool is_gone = change->type == CHANGE_DELETED;
    int32_t start = (int32_t)json_int_at(set->root, "spec.ordinals.start", 0);
    if (!is_gone && start != pool->start) {
        renumber(control, pool);
        pool = pools_get(pools, obj_namespace(set), set->meta.name);
    }
    bool had_set = pool->has_set;
    time_ms period = pool->refresh_ms;
    int32_t replicas = pool->replicas, capacity = pool->capacity;
    pool_read_set(control, pool, is_gone ? NULL : set);
    if (pool->refresh_ms != period)
        pool->next_refresh = control_steady(control) + pool->refresh_ms;
    if (had_set != pool->has_set)
        (void)map_each(pool->vpods, add_vpod, control);
    else if (replicas != pool->replicas || capacity != pool->capacity)
        pool_retry_pending(control, pool);
    if (capacity != pool->capacity && place_crowder(pool->place) != NULL)
        pool_add_key(control, 'v', pool->ns, place_crowder(pool->place));
    pool_add_key(control, 'p', pool->ns, pool->name);
}

static bool retry_pool(void *arg, const char *key, void *value)
{
    (void)key;
    pool_retry_pending(arg, value);
    return true;
}

static void map_node(struct control *control, const struct change *change)
{
    struct pools *pools = control_state(control);
    if (change->type == CHANGE_DELETED)
        pools_drop_node(pools, change->obj->meta.name);
    else
        pools_put_node(pools, change->obj);
    (void)map_each(pools->pools, retry_pool, control);
}

struct reload {
    struct control *control;
    const char *ns;
};

static bool reload_pool(void *arg, const char *key, void *value)
{
    (void)key;
    const struct reload *reload = arg;
    struct pool *pool = value;
    if (strcmp(pool->ns, reload->ns) != 0)
        return true;
    pool_read_policy(reload->control, pool);
    pool_retry_pending(reload->control, pool);
    return true;
}

static void map_config(struct control *control, const struct change *change)
{
    struct pools *pools = control_state(control);
    const char *name = change->obj->meta.name;
    struct reload reload = {control, obj_namespace(change->obj)};
    if (strcmp(name, POOL_SCHEDULER_MAP) == 0 || strcmp(name, POOL_DESCHEDULER_MAP) == 0)
        (void)map_each(pools->pools, reload_pool, &reload);
}

static void pool_map(struct control *control, const struct change *change)
{
    const struct kind *kind = change->obj->kind;
    if (kind == &KIND_POD)
        map_pod(control, change);
    else if (kind == &KIND_VPOD)
        map_vpod(control, change);
    else if (kind == &KIND_STATEFULSET)
        map_set(control, change);
    else if (kind == &KIND_NODE)
        map_node(control, change);
    else if (kind == &KIND_CONFIGMAP)
        map_config(control, change);
}

static void pool_reconcile(struct control *control, const char *key)
{
    struct sv rest = sv_of(key + 2);
    struct sv ns = sv_cut(&rest, '/');
    scoped_free char *space = mem_strndup(ns.ptr, ns.len);
    if (key[0] == 'v')
        pool_reconcile_vpod(control, space, rest.ptr);
    else if (key[0] == 'p')
        pool_reconcile_pool(control, space, rest.ptr);
    else
        pool_reconcile_member(control, space, rest.ptr);
}

static bool configure_pool(void *arg, const char *key, void *value)
{
    struct control *control = arg;
    struct pool *pool = value;
    (void)key;
    pool_read_set(
        control, pool,
        cache_get(control_world(control)->cache, &KIND_STATEFULSET, pool->ns, pool->name));
    pool_read_policy(control, pool);
    pool->next_refresh = control_steady(control) + pool->refresh_ms;
    pool_retry_pending(control, pool);
    pool_add_key(control, 'p', pool->ns, pool->name);
    return true;
}

static void pool_configure(struct control *control)
{
    struct pools *pools = control_state(control);
    (void)map_each(pools->pools, configure_pool, control);
}

static void pool_begin(struct control *control)
{
    control_set_state(control, pools_new());
}

static void pool_end(struct control *control)
{
    pools_free(control_state(control));
    control_set_state(control, NULL);
}

const struct controller CONTROLLER_POOL = {
    .name = "pool-controller",
    .map = pool_map,
    .reconcile = pool_reconcile,
    .configure = pool_configure,
    .begin = pool_begin,
    .end = pool_end,
};
