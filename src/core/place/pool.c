// SPDX-License-Identifier: Apache-2.0
/* Nodes and pods of a pool, and the tree over them. Invariants: 1. A pod is offered in TREE_ALL
 * exactly when it is schedulable and has room, between runs. 2. n_open counts those. 3. Every
 * `own` in TREE_ALL but those of pods is 0 between runs. */
#include "core/place/place_internal.h"
#include <assert.h>

/* ---- pods ---- */

enum place_reason pod_reason(const struct place *place, int32_t ordinal)
{
    const struct pod *pod = pod_get(place, ordinal);
    if (ordinal >= place->replicas)
        return PLACE_BEYOND;
    if (pod == NULL || !pod->exists)
        return PLACE_MISSING;
    if (pod->is_leaving)
        return PLACE_LEAVING;
    if (pod->node == NULL || pod->node->zone == NULL)
        return PLACE_UNBOUND;
    if (pod->node->state == PLACE_NODE_CORDONED)
        return PLACE_CORDONED;
    return pod->node->state == PLACE_NODE_UNREACHABLE ? PLACE_UNREACHABLE : PLACE_TAKES;
}

static void pod_renew(struct place *place, struct pod *pod)
{
    bool is_schedulable = pod_reason(place, pod->ordinal) == PLACE_TAKES;
    bool is_open = is_schedulable && pod->used < place->capacity;
    place->n_schedulable += is_schedulable - pod->is_schedulable;
    place->n_open += is_open - pod->is_open;
    pod->is_schedulable = is_schedulable;
    pod->is_open = is_open;
    struct dom *dom = &pod->dom[TREE_ALL];
    dom->own = place->policy.placing.ordinal * place->ordinal_unit * pod->ordinal;
    dom->tie = pod->ordinal;
    if (is_open)
        dom_offer(dom);
    else
        dom_withdraw(dom);
}

struct pod *pod_need(struct place *place, int32_t ordinal)
{
    assert(ordinal >= 0 && ordinal < PLACE_PODS_MAX);
    while (place->pods.len <= (size_t)ordinal)
        vec_push(&place->pods, NULL);
    struct pod *pod = place->pods.items[ordinal];
    if (pod != NULL)
        return pod;
    size_t block = (size_t)ordinal / POD_BLOCK;
    while (place->blocks.len <= block)
        vec_push(&place->blocks, NULL);
    if (place->blocks.items[block] == NULL)
        place->blocks.items[block] = mem_zalloc(POD_BLOCK * sizeof(*pod));
    pod = place->pods.items[ordinal] = &place->blocks.items[block][ordinal % POD_BLOCK];
    pod->ordinal = ordinal;
    return pod;
}

static int64_t surplus_of(const struct place *place, const struct pod *pod)
{
    return pod->used > place->capacity ? pod->used - place->capacity : 0;
}

void pod_use(struct place *place, struct pod *pod, int64_t more)
{
    place->surplus -= surplus_of(place, pod);
    pod->used += more;
    place->surplus += surplus_of(place, pod);
    assert(pod->used >= 0);
    if (pod->used > 0 && pod->ordinal > place->last_used)
        place->last_used = pod->ordinal;
    while (place->last_used >= 0) {
        const struct pod *last = pod_get(place, place->last_used);
        if (last != NULL && last->used > 0)
            break;
        place->last_used--;
    }
    bool is_open = pod->is_schedulable && pod->used < place->capacity;
    if (is_open == pod->is_open)
        return;
    pod->is_open = is_open;
    place->n_open += is_open ? 1 : -1;
    if (is_open)
        dom_offer(&pod->dom[TREE_ALL]);
    else
        dom_withdraw(&pod->dom[TREE_ALL]);
}

/* ---- zones and nodes ---- */

static struct zone *zone_need(struct place *place, const char *name)
{
    struct zone *zone = map_get(place->zones, name);
    if (zone != NULL)
        return zone;
    zone = mem_zalloc(sizeof(*zone));
    zone->name = mem_strdup(name);
    for (int i = 0; i < TREE_COUNT; i++)
        zone->dom[i].up = &place->root[i];
    (void)map_put(place->zones, name, zone);
    return zone;
}

static void zone_free(struct zone *zone)
{
    for (int i = 0; i < TREE_COUNT; i++)
        dom_done(&zone->dom[i]);
    mem_free(zone->name);
    mem_free(zone);
}

static void zone_leave(struct place *place, struct node *node)
{
    struct zone *zone = take_ptr(node->zone);
    if (zone == NULL)
        return;
    if (node->state == PLACE_NODE_OK) {
        place->n_nodes--;
        place->n_zones -= --zone->ok_nodes == 0;
    }
    for (int i = 0; i < TREE_COUNT; i++)
        node->dom[i].up = NULL;
    if (--zone->nodes > 0)
        return;
    (void)map_del(place->zones, zone->name);
    zone_free(zone);
}

static void zone_join(struct place *place, struct node *node, const char *name)
{
    struct zone *zone = node->zone = zone_need(place, name);
    zone->nodes++;
    if (node->state == PLACE_NODE_OK) {
        place->n_nodes++;
        place->n_zones += zone->ok_nodes++ == 0;
    }
    for (int i = 0; i < TREE_COUNT; i++)
        node->dom[i].up = &zone->dom[i];
}

static struct node *node_need(struct place *place, const char *name)
{
    struct node *node = map_get(place->nodes, name);
    if (node != NULL)
        return node;
    node = mem_zalloc(sizeof(*node));
    node->name = mem_strdup(name);
    (void)map_put(place->nodes, name, node);
    return node;
}

static void node_free(struct node *node)
{
    for (int i = 0; i < TREE_COUNT; i++)
        dom_done(&node->dom[i]);
    vec_done(&node->pods);
    mem_free(node->name);
    mem_free(node);
}

/* A node that nobody told of and no pod is on need not be remembered. */
static void node_drop_unused(struct place *place, struct node *node)
{
    if (node->zone != NULL || node->pods.len > 0)
        return;
    (void)map_del(place->nodes, node->name);
    node_free(node);
}

static void withdraw_pods(struct node *node)
{
    for (size_t i = 0; i < node->pods.len; i++)
        dom_withdraw(&node->pods.items[i]->dom[TREE_ALL]);
}

static void renew_pods(struct place *place, struct node *node)
{
    for (size_t i = 0; i < node->pods.len; i++)
        pod_renew(place, node->pods.items[i]);
}

void place_set_node(struct place *place, const char *name, const char *zone,
                    enum place_node_state state)
{
    struct node *node = node_need(place, name);
    const char *in = zone != NULL ? zone : "";
    if (node->zone != NULL && node->state == state && strcmp(node->zone->name, in) == 0)
        return;
    withdraw_pods(node);
    zone_leave(place, node);
    node->state = state;
    zone_join(place, node, in);
    renew_pods(place, node);
}

void place_remove_node(struct place *place, const char *name)
{
    struct node *node = map_get(place->nodes, name);
    if (node == NULL)
        return;
    withdraw_pods(node);
    zone_leave(place, node);
    renew_pods(place, node);
    node_drop_unused(place, node);
}

/* ---- pods come and go ---- */

static void leave_node(struct place *place, struct pod *pod)
{
    struct node *node = take_ptr(pod->node);
    if (node == NULL)
        return;
    dom_withdraw(&pod->dom[TREE_ALL]);
    struct pod *last = vec_pop(&node->pods);
    if (last != pod) {
        node->pods.items[pod->seat] = last;
        last->seat = pod->seat;
    }
    node_drop_unused(place, node);
}

static void join_node(struct place *place, struct pod *pod, const char *name)
{
    struct node *node = pod->node = node_need(place, name);
    pod->seat = node->pods.len;
    vec_push(&node->pods, pod);
    for (int i = 0; i < TREE_COUNT; i++)
        pod->dom[i].up = &node->dom[i];
}

void place_set_pod(struct place *place, int32_t ordinal, const char *node, bool is_leaving)
{
    struct pod *pod = pod_need(place, ordinal);
    pod->exists = true;
    pod->is_leaving = is_leaving;
    if (node == NULL || pod->node == NULL || strcmp(node, pod->node->name) != 0) {
        leave_node(place, pod);
        if (node != NULL)
            join_node(place, pod, node);
    }
    pod_renew(place, pod);
}

void place_remove_pod(struct place *place, int32_t ordinal)
{
    struct pod *pod = pod_get(place, ordinal);
    if (pod == NULL)
        return;
    pod->exists = pod->is_leaving = false;
    leave_node(place, pod);
    pod_renew(place, pod);
}

/* ---- settings ---- */

/* The next power of two, so that growing pod by pod seldom moves all keys. */
static int64_t ordinal_unit(int32_t replicas)
{
    int64_t range = 1;
    while (range < replicas)
        range *= 2;
    return UNIT / range;
}

/* Policy, capacity or scale have changed. */
static void renew_all(struct place *place)
{
    place->ordinal_unit = ordinal_unit(place->replicas);
    for (size_t i = 0; i < place->pods.len; i++) {
        if (place->pods.items[i] != NULL)
            pod_renew(place, place->pods.items[i]);
    }
}

void place_set_replicas(struct place *place, int32_t replicas)
{
    assert(replicas >= 0 && replicas <= PLACE_PODS_MAX);
    int32_t from = replicas < place->replicas ? replicas : place->replicas;
    int32_t to = replicas < place->replicas ? place->replicas : replicas;
    place->replicas = replicas;
    if (ordinal_unit(replicas) != place->ordinal_unit) {
        renew_all(place);
        return;
    }
    for (int32_t i = from; i < to; i++) {
        struct pod *pod = pod_get(place, i);
        if (pod != NULL)
            pod_renew(place, pod);
    }
}

int32_t place_replicas(const struct place *place)
{
    return place->replicas;
}

void place_set_policy(struct place *place, const struct place_policy *policy)
{
    place->policy = *policy;
    renew_all(place);
}

void place_set_capacity(struct place *place, int32_t capacity)
{
    assert(capacity >= 1);
    if (place->capacity == capacity)
        return;
    place->capacity = capacity;
    place->surplus = 0;
    for (size_t i = 0; i < place->pods.len; i++) {
        if (place->pods.items[i] != NULL)
            place->surplus += surplus_of(place, place->pods.items[i]);
    }
    renew_all(place);
}

size_t place_zones(const struct place *place)
{
    return (size_t)place->n_zones;
}

size_t place_nodes(const struct place *place)
{
    return (size_t)place->n_nodes;
}

void place_each_pod(const struct place *place,
                    void (*each)(void *arg, const struct place_pod_view *pod), void *arg)
{
    size_t n = place->pods.len;
    for (size_t i = 0; i < n; i++) {
        const struct pod *pod = place->pods.items[i];
        if (pod == NULL || (!pod->exists && pod->used == 0))
            continue;
        struct place_pod_view view = {.ordinal = pod->ordinal,
                                      .used = pod->used,
                                      .capacity = place->capacity,
                                      .reason = pod_reason(place, pod->ordinal)};
        view.node = pod->node != NULL ? pod->node->name : NULL;
        view.zone = pod->node != NULL && pod->node->zone != NULL && *pod->node->zone->name != '\0'
                        ? pod->node->zone->name
                        : NULL;
        each(arg, &view);
    }
}

/* ---- the whole ---- */

struct place *place_new(const struct place_policy *policy, int32_t capacity)
{
    assert(capacity >= 1);
    struct place *place = mem_zalloc(sizeof(*place));
    place->policy = *policy;
    place->capacity = capacity;
    place->ordinal_unit = ordinal_unit(0);
    place->last_used = -1;
    place->nodes = map_new();
    place->zones = map_new();
    place->vpods = map_new();
    return place;
}

static bool free_node(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    node_free(value);
    return true;
}

static bool free_zone(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    zone_free(value);
    return true;
}

static bool free_vpod(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    struct vpod *vpod = value;
    place_list_done(&vpod->committed);
    place_list_done(&vpod->placed);
    place_list_done(&vpod->reserved);
    mem_free(vpod->name);
    mem_free(vpod);
    return true;
}

void place_free(struct place *place)
{
    if (place == NULL)
        return;
    (void)map_each(place->vpods, free_vpod, NULL);
    (void)map_each(place->nodes, free_node, NULL);
    (void)map_each(place->zones, free_zone, NULL);
    map_free(place->vpods);
    map_free(place->nodes);
    map_free(place->zones);
    for (size_t i = 0; i < place->blocks.len; i++)
        mem_free(place->blocks.items[i]);
    vec_done(&place->blocks);
    vec_done(&place->pods);
    vec_done(&place->touched);
    for (int i = 0; i < TREE_COUNT; i++)
        dom_done(&place->root[i]);
    mem_free(place);
}
