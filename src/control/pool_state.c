// SPDX-License-Identifier: Apache-2.0
/* Invariant: the engine of each pool knows all nodes, the pods of its set, and of each of its vpods
 * what the newest version wants and says. A pool is there while a vpod names it; it is filled from
 * the cache once, when it is new, and from then on by what changes. */
#include "base/mem.h"
#include "control/pool_internal.h"
#include "control/statefulset_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ZONE_LABEL "topology.kubernetes.io/zone"
#define UNREACHABLE "node.kubernetes.io/unreachable"

struct pools *pools_new(void)
{
    struct pools *pools = mem_zalloc(sizeof(*pools));
    pools->pools = map_new();
    pools->nodes = map_new();
    return pools;
}

/* ---- taking down ---- */

static bool free_plain(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    mem_free(value);
    return true;
}

static bool free_shares(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    struct omap *shares = value;
    for (const struct omap_item *i = omap_seek(shares, ""); i != NULL; i = omap_next(i))
        mem_free(i->value);
    omap_free(shares);
    return true;
}

static void vpod_free(struct pool_vpod *vpod)
{
    vec_done(&vpod->committed);
    mem_free(vpod->name);
    mem_free(vpod);
}

static bool free_vpod(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    vpod_free(value);
    return true;
}

static void pool_free(struct pool *pool)
{
    (void)map_each(pool->vpods, free_vpod, NULL);
    (void)map_each(pool->shares, free_shares, NULL);
    (void)map_each(pool->bound, free_plain, NULL);
    map_free(pool->vpods);
    map_free(pool->pending);
    map_free(pool->shares);
    map_free(pool->bound);
    place_free(pool->place);
    mem_free(pool->key);
    mem_free(pool->ns);
    mem_free(pool->name);
    mem_free(pool);
}

static bool free_pool(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    pool_free(value);
    return true;
}

static bool free_node(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    struct pool_node *node = value;
    mem_free(node->zone);
    mem_free(node);
    return true;
}

void pools_free(struct pools *pools)
{
    (void)map_each(pools->pools, free_pool, NULL);
    (void)map_each(pools->nodes, free_node, NULL);
    map_free(pools->pools);
    map_free(pools->nodes);
    mem_free(pools);
}

void pool_forget_if_unused(struct pools *pools, struct pool *pool)
{
    if (map_count(pool->vpods) > 0)
        return;
    (void)map_del(pools->pools, pool->key);
    pool_free(pool);
}

/* ---- names ---- */

void pool_add_key(struct control *control, char what, const char *ns, const char *name)
{
    scoped_free char *key = mem_printf("%c/%s/%s", what, ns, name);
    control_add(control, key);
}

int32_t pool_ordinal(const struct pool *pool, const char *pod_name)
{
    size_t len = strlen(pool->name);
    if (pod_name == NULL || strncmp(pod_name, pool->name, len) != 0 || pod_name[len] != '-')
        return -1;
    const char *digits = pod_name + len + 1;
    size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > 9 || digits[count] != '\0')
        return -1;
    int64_t ordinal = strtoll(digits, NULL, 10) - pool->start;
    return ordinal >= 0 && ordinal < PLACE_PODS_MAX ? (int32_t)ordinal : -1;
}

char *pool_pod_name(const struct pool *pool, int32_t ordinal)
{
    return mem_printf("%s-%d", pool->name, pool->start + ordinal);
}

/* ---- nodes ---- */

static enum place_node_state state_of(const struct obj *node)
{
    if (json_find(json_at(node->root, "spec.taints"), "key", UNREACHABLE) != NULL)
        return PLACE_NODE_UNREACHABLE;
    bool cordoned = yyjson_get_bool(json_at(node->root, "spec.unschedulable"));
    return cordoned ? PLACE_NODE_CORDONED : PLACE_NODE_OK;
}

struct told {
    const char *name;
    const struct pool_node *node; /* NULL: gone */
};

static bool tell_node(void *arg, const char *key, void *value)
{
    (void)key;
    const struct told *told = arg;
    struct pool *pool = value;
    if (told->node != NULL)
        place_set_node(pool->place, told->name, told->node->zone, told->node->state);
    else
        place_remove_node(pool->place, told->name);
    return true;
}

void pools_put_node(struct pools *pools, const struct obj *obj)
{
    struct pool_node *node = map_get(pools->nodes, obj->meta.name);
    const char *zone = yyjson_get_str(yyjson_obj_get(obj->meta.labels, ZONE_LABEL));
    enum place_node_state state = state_of(obj);
    if (node != NULL && node->state == state && str_eq(node->zone, zone))
        return;
    if (node == NULL) {
        node = mem_zalloc(sizeof(*node));
        (void)map_put(pools->nodes, obj->meta.name, node);
    }
    mem_free(node->zone);
    node->zone = mem_strdup(zone);
    node->state = state;
    struct told told = {obj->meta.name, node};
    (void)map_each(pools->pools, tell_node, &told);
}

void pools_drop_node(struct pools *pools, const char *name)
{
    struct pool_node *node = map_del(pools->nodes, name);
    if (node == NULL)
        return;
    (void)free_node(NULL, name, node);
    struct told told = {name, NULL};
    (void)map_each(pools->pools, tell_node, &told);
}

/* ---- the set and its pods ---- */

static const char *note_of(const struct obj *obj, const char *key)
{
    return yyjson_get_str(yyjson_obj_get(obj->meta.annotations, key));
}

yyjson_val *pool_configuration(struct control *control)
{
    const struct configuration *all = control_world(control)->configuration;
    return all != NULL ? all->placement : NULL;
}

static int32_t capacity_of(const struct obj *set, yyjson_val *placement)
{
    const char *text = set != NULL ? note_of(set, POOL_CAPACITY_NOTE) : NULL;
    char *end = NULL;
    long value = text != NULL ? strtol(text, &end, 10) : 0;
    if (text != NULL && *end == '\0' && value > 0 && value <= INT32_MAX)
        return (int32_t)value;
    return (int32_t)json_int_at(placement, "podCapacity", POOL_CAPACITY);
}

static time_ms refresh_of(const struct obj *set, yyjson_val *placement)
{
    const char *const texts[] = {set != NULL ? note_of(set, POOL_REFRESH_NOTE) : NULL,
                                 json_str_at(placement, "refreshPeriod")};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        time_ms value = 0;
        if (texts[i] != NULL && duration_parse(sv_of(texts[i]), &value, NULL) == 0 &&
            value >= POOL_REFRESH_MIN_MS)
            return value;
    }
    return POOL_REFRESH_MS;
}

void pool_read_set(struct control *control, struct pool *pool, const struct obj *set)
{
    yyjson_val *placement = pool_configuration(control);
    pool->has_set = set != NULL;
    pool->is_autoscaled = set != NULL && !str_eq(note_of(set, POOL_AUTOSCALE_NOTE), "false");
    pool->start = set != NULL ? (int32_t)json_int_at(set->root, "spec.ordinals.start", 0) : 0;
    pool->replicas = set != NULL ? (int32_t)json_int_at(set->root, "spec.replicas", 1) : 0;
    pool->capacity = capacity_of(set, placement);
    pool->refresh_ms = refresh_of(set, placement);
    place_set_replicas(pool->place, pool->replicas);
    place_set_capacity(pool->place, pool->capacity);
}

static void number_key(char out[24], int32_t number)
{
    (void)snprintf(out, 24, "%" PRId32, number);
}

static bool is_marked(const struct obj *pod)
{
    return str_eq(note_of(pod, POOL_UNSCHEDULABLE_NOTE), "true");
}

/* The text remembers what the engine was told: a mark, and the node. */
static void tell_pod(struct pool *pool, int32_t ordinal, const char *text)
{
    bool vacated = pool->vacate_from >= 0 && ordinal >= pool->vacate_from;
    const char *node = text[1] != '\0' ? text + 1 : NULL;
    place_set_pod(pool->place, ordinal, node, text[0] == '-' || vacated);
}

bool pool_put_pod(struct pool *pool, const struct obj *pod)
{
    int32_t ordinal = pool_ordinal(pool, pod->meta.name);
    const char *node = json_str_at(pod->root, "spec.nodeName");
    if (ordinal < 0 || set_owner_uid(pod) == NULL)
        return false;
    char key[24];
    number_key(key, ordinal);
    bool is_leaving = pod->meta.deleted != 0 || is_marked(pod);
    scoped_free char *text = mem_printf("%c%s", is_leaving ? '-' : '+', node != NULL ? node : "");
    if (str_eq(map_get(pool->bound, key), text))
        return false;
    tell_pod(pool, ordinal, text);
    mem_free(map_put(pool->bound, key, take_ptr(text)));
    return true;
}

bool pool_drop_pod(struct pool *pool, const char *name)
{
    int32_t ordinal = pool_ordinal(pool, name);
    char key[24];
    number_key(key, ordinal);
    char *text = ordinal >= 0 ? map_del(pool->bound, key) : NULL;
    if (text == NULL)
        return false;
    mem_free(text);
    place_remove_pod(pool->place, ordinal);
    return true;
}

static bool tell_again(void *arg, const char *key, void *value)
{
    tell_pod(arg, (int32_t)strtol(key, NULL, 10), value);
    return true;
}

void pool_vacate(struct pool *pool, int32_t from)
{
    if (pool->vacate_from == from)
        return;
    pool->vacate_from = from;
    (void)map_each(pool->bound, tell_again, pool);
}

/* ---- a new pool ---- */

struct pool *pools_get(struct pools *pools, const char *ns, const char *set)
{
    scoped_free char *key = mem_printf("%s/%s", ns, set);
    return map_get(pools->pools, key);
}

static bool know_node(void *arg, const char *key, void *value)
{
    struct pool *pool = arg;
    const struct pool_node *node = value;
    place_set_node(pool->place, key, node->zone, node->state);
    return true;
}

static void read_all(struct control *control, struct pool *pool)
{
    struct cache *cache = control_world(control)->cache;
    const struct obj *set = cache_get(cache, &KIND_STATEFULSET, pool->ns, pool->name);
    pool_read_set(control, pool, set);
    pool_read_policy(control, pool);
    (void)map_each(((struct pools *)control_state(control))->nodes, know_node, pool);
    const struct obj *pod = set != NULL ? cache_owned_first(cache, set->meta.uid) : NULL;
    for (; pod != NULL; pod = cache_owned_next(cache, set->meta.uid, pod)) {
        if (pod->kind != &KIND_POD)
            continue;
        (void)pool_put_pod(pool, pod);
        pool_add_key(control, 'm', pool->ns, pod->meta.name); /* also who has nothing is told so */
    }
}

struct pool *pools_need(struct control *control, const char *ns, const char *set)
{
    struct pools *pools = control_state(control);
    struct pool *pool = pools_get(pools, ns, set);
    if (pool != NULL)
        return pool;
    pool = mem_zalloc(sizeof(*pool));
    pool->key = mem_printf("%s/%s", ns, set);
    pool->ns = mem_strdup(ns);
    pool->name = mem_strdup(set);
    pool->vpods = map_new();
    pool->pending = map_new();
    pool->shares = map_new();
    pool->bound = map_new();
    pool->vacate_from = -1;
    struct place_policy policy = {0};
    pool->place = place_new(&policy, POOL_CAPACITY);
    (void)map_put(pools->pools, pool->key, pool);
    read_all(control, pool);
    pool->next_refresh = control_steady(control) + pool->refresh_ms;
    pool_add_key(control, 'p', ns, set);
    return pool;
}

/* ---- vpods ---- */

static struct omap *shares_of(struct pool *pool, int32_t ordinal)
{
    char key[24];
    number_key(key, ordinal);
    struct omap *shares = map_get(pool->shares, key);
    if (shares == NULL) {
        shares = omap_new();
        (void)map_put(pool->shares, key, shares);
    }
    return shares;
}

static void put_share(struct control *control, struct pool *pool, const char *vpod,
                      const struct place_at *at, const struct pool_share *share)
{
    struct omap *shares = shares_of(pool, at->ordinal);
    struct pool_share *old = omap_get(shares, vpod);
    if (old != NULL && share != NULL && memcmp(old, share, sizeof(*share)) == 0)
        return;
    if (share != NULL)
        mem_free(omap_put(shares, vpod, mem_dup(share, sizeof(*share))));
    else
        mem_free(omap_del(shares, vpod));
    scoped_free char *name = pool_pod_name(pool, at->ordinal);
    pool_add_key(control, 'm', pool->ns, name);
}

static bool has_ordinal(const struct place_at *at, size_t count, int32_t ordinal)
{
    for (size_t i = 0; i < count; i++) {
        if (at[i].ordinal == ordinal)
            return true;
    }
    return false;
}

/* What its pods have of it now, and those that had some and have none. */
static void share_out(struct control *control, struct pool_vpod *vpod, const struct place_at *at,
                      size_t count)
{
    struct pool_share share = {0};
    for (size_t i = 0; i < vpod->committed.len; i++) {
        const struct place_at *old = &vpod->committed.items[i];
        if (!has_ordinal(at, count, old->ordinal))
            put_share(control, vpod->pool, vpod->name, old, NULL);
    }
    for (size_t i = 0; i < count; i++)
        share.total += at[i].vreplicas;
    for (size_t i = 0; i < count; i++) {
        share.vreplicas = at[i].vreplicas;
        put_share(control, vpod->pool, vpod->name, &at[i], &share);
        share.first += at[i].vreplicas;
    }
    vec_clear(&vpod->committed);
    for (size_t i = 0; i < count; i++)
        vec_push(&vpod->committed, at[i]);
}

static struct pool_vpod *vpod_need(struct pool *pool, const char *name)
{
    struct pool_vpod *vpod = map_get(pool->vpods, name);
    if (vpod != NULL)
        return vpod;
    vpod = mem_zalloc(sizeof(*vpod));
    vpod->pool = pool;
    vpod->name = mem_strdup(name);
    (void)map_put(pool->vpods, name, vpod);
    return vpod;
}

static int by_ordinal(const void *a, const void *b)
{
    const struct place_at *x = a, *y = b;
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

struct place_wish pool_wish(const struct obj *vpod)
{
    bool minimal = str_eq(json_str_at(vpod->root, "spec.rebalance"), "Minimal");
    return (struct place_wish){
        .vreplicas =
            vpod->meta.deleted != 0 ? 0 : (int32_t)json_int_at(vpod->root, "spec.vreplicas", 1),
        .max_pods = (int32_t)json_int_at(vpod->root, "spec.maxPods", 0),
        .rebalance = minimal ? PLACE_MINIMAL : PLACE_SPREAD_AGAIN};
}

void pool_put_vpod(struct control *control, struct pool *pool, const struct obj *obj)
{
    struct pool_vpod *vpod = vpod_need(pool, obj->meta.name);
    VEC(struct place_at) at = {0};
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(obj->root, "status.placements"), i, n, item)
    {
        struct place_at one = {pool_ordinal(pool, json_str_at(item, "podName")),
                               (int32_t)json_int_at(item, "vreplicas", 0)};
        if (one.ordinal >= 0 && one.vreplicas > 0)
            vec_push(&at, one);
    }
    if (at.len > 1)
        qsort(at.items, at.len, sizeof(*at.items), by_ordinal);
    struct place_wish wish = pool_wish(obj);
    place_set_vpod(pool->place, vpod->name, &wish, at.items, at.len);
    share_out(control, vpod, at.items, at.len);
    vec_done(&at);
}

void pool_drop_vpod(struct control *control, struct pool *pool, const char *name)
{
    struct pool_vpod *vpod = map_get(pool->vpods, name);
    if (vpod == NULL)
        return;
    share_out(control, vpod, NULL, 0);
    (void)map_del(pool->vpods, name);
    (void)map_del(pool->pending, name);
    place_remove_vpod(pool->place, name);
    vpod_free(vpod);
}

struct retry {
    struct control *control;
    const struct pool *pool;
};

static bool retry_one(void *arg, const char *key, void *value)
{
    (void)value;
    const struct retry *retry = arg;
    pool_add_key(retry->control, 'v', retry->pool->ns, key);
    return true;
}

void pool_retry_pending(struct control *control, const struct pool *pool)
{
    struct retry retry = {control, pool};
    (void)map_each(pool->pending, retry_one, &retry);
}
