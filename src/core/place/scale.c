// SPDX-License-Identifier: Apache-2.0
/* How many pods there should be, and which can go. Both are looked at on a copy before anything is
 * done, where Knative's formulas alone would ask for too much. */
#include "core/place/place_internal.h"
#include <assert.h>

/* ---- a copy ---- */

static bool copy_node(void *arg, const char *key, void *value)
{
    const struct node *node = value;
    if (node->zone != NULL)
        place_set_node(arg, key, node->zone->name, node->state);
    return true;
}

static bool copy_vpod(void *arg, const char *key, void *value)
{
    const struct vpod *vpod = value;
    if (vpod->is_listed)
        place_set_vpod(arg, key, &vpod->wish, vpod->committed.at.items, vpod->committed.at.len);
    for (size_t i = 0; i < vpod->reserved.at.len; i++)
        place_reserve(arg, key, vpod->reserved.at.items[i].ordinal,
                      vpod->reserved.at.items[i].vreplicas);
    return true;
}

struct place *place_copy(const struct place *place)
{
    struct place *copy = place_new(&place->policy, place->capacity);
    place_set_replicas(copy, place->replicas);
    (void)map_each(place->nodes, copy_node, copy);
    for (size_t i = 0; i < place->pods.len; i++) {
        const struct pod *pod = place->pods.items[i];
        if (pod != NULL && pod->exists)
            place_set_pod(copy, pod->ordinal, pod->node != NULL ? pod->node->name : NULL,
                          pod->is_leaving);
    }
    (void)map_each(place->vpods, copy_vpod, copy);
    return copy;
}

/* ---- growing ---- */

static int64_t factor_of(const struct place *place)
{
    int64_t factor = 1;
    if (!place->policy.fills_up && place->policy.factor == PLACE_BY_ZONES)
        factor = place->n_zones;
    else if (!place->policy.fills_up && place->policy.factor == PLACE_BY_NODES)
        factor = place->n_nodes;
    return factor > 0 ? factor : 1;
}

static int64_t divide_up(int64_t amount, int64_t by)
{
    return amount / by + (amount % by != 0);
}

static bool must_be_even(const struct place *place)
{
    return place->policy.is_even && !place->policy.fills_up;
}

/* What each new pod is counted on to take. An even spread cannot put more on a new pod than on the
 * fullest one that still has room. */
static int64_t room_of_new_pod(const struct place *place)
{
    int64_t least = place->capacity;
    for (size_t i = 0; must_be_even(place) && i < place->pods.len; i++) {
        const struct pod *pod = place->pods.items[i];
        int64_t room = pod != NULL ? place->capacity - pod->used : 0;
        if (room >= 1 && room < least)
            least = room;
    }
    return least;
}

struct count { /* of pods on nodes that take something */
    const struct place *place;
    int64_t *on_node;
    const struct node **nodes;
    size_t n;
};

static bool gather_node(void *arg, const char *key, void *value)
{
    (void)key;
    struct count *count = arg;
    const struct node *node = value;
    if (node->zone != NULL && node->state == PLACE_NODE_OK) {
        count->on_node[count->n] = (int64_t)node->pods.len;
        count->nodes[count->n++] = node;
    }
    return true;
}

/* New pods are taken to come up where the fewest are. */
static void add_pods(struct place *copy, int32_t replicas)
{
    size_t most = map_count(copy->nodes);
    struct count count = {.place = copy};
    count.on_node = mem_zalloc((most + 1) * sizeof(*count.on_node));
    count.nodes = mem_zalloc((most + 1) * sizeof(*count.nodes));
    (void)map_each(copy->nodes, gather_node, &count);
    place_set_replicas(copy, replicas);
    for (int32_t i = 0; i < replicas && count.n > 0; i++) {
        const struct pod *pod = pod_get(copy, i);
        if (pod != NULL && pod->exists && pod->node != NULL)
            continue;
        size_t best = 0;
        for (size_t k = 1; k < count.n; k++)
            best = count.on_node[k] < count.on_node[best] ? k : best;
        count.on_node[best]++;
        place_set_pod(copy, i, count.nodes[best]->name, false);
    }
    mem_free(count.on_node);
    mem_free(count.nodes);
}

static bool schedule_one(void *arg, const char *key, void *value)
{
    const struct vpod *vpod = value;
    struct place_result result = {0};
    bool is_enough = true;
    if (vpod->is_listed && place_schedule(arg, key, &result))
        is_enough = result.pending == 0;
    place_result_done(&result);
    return is_enough;
}

static bool would_fit(const struct place *place, int64_t replicas)
{
    struct place *copy = place_copy(place);
    add_pods(copy, (int32_t)replicas);
    bool fits = map_each(copy->vpods, schedule_one, copy);
    place_free(copy);
    return fits;
}

/* The least number of steps, up to `most`, with which everything fits, or `most`. */
static int64_t steps_tried(const struct place *place, int64_t first, int64_t factor, int64_t most)
{
    int64_t low = 0, high = most;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (would_fit(place, first + middle * factor))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

/* Knative counts with the smallest room of any pod. One that others have nearly filled would
 * make it ask for dozens of pods; so it is tried, and one step beyond what does is enough. */
static int64_t steps(const struct place *place, int64_t pending, bool is_computed)
{
    int64_t factor = factor_of(place), first = place->last_used + 1;
    int64_t asked = divide_up(divide_up(pending, room_of_new_pod(place)), factor);
    int64_t plain = divide_up(divide_up(pending, place->capacity), factor);
    if (!is_computed || asked <= plain + 1 || first + asked * factor > PLACE_PODS_MAX)
        return asked;
    int64_t tried = steps_tried(place, first, factor, asked) + 1;
    return tried < asked ? tried : asked;
}

int32_t place_autoscale(const struct place *place, int64_t pending, bool may_shrink)
{
    bool is_computed = pending == PLACE_COMPUTED;
    int64_t need = (int64_t)place->last_used + 1;
    if (is_computed)
        pending = place->pending;
    if (pending > 0)
        need += steps(place, pending, is_computed) * factor_of(place);
    if (need < place->replicas && !may_shrink)
        need = place->replicas;
    return need < PLACE_PODS_MAX ? (int32_t)need : PLACE_PODS_MAX;
}

/* ---- compacting ---- */

struct compaction {
    const struct place *place;
    int32_t first, last; /* the pods that are to go */
    struct place_evictions *evictions;
    struct place *copy;
};

static bool has_room_for(const struct compaction *c)
{
    int64_t room = 0, used = 0;
    for (size_t i = 0; i < c->place->pods.len; i++) {
        const struct pod *pod = c->place->pods.items[i];
        if (pod == NULL)
            continue;
        if (pod->ordinal >= c->first && pod->ordinal <= c->last)
            used += pod->used;
        else if (pod->is_open)
            room += c->place->capacity - pod->used;
    }
    return room >= used;
}

static bool find_pods(struct compaction *c)
{
    const struct place *place = c->place;
    int64_t factor = factor_of(place);
    c->last = place->last_used;
    c->first = (int32_t)(c->last - factor + 1 > 0 ? c->last - factor + 1 : 0);
    if (c->last < 1 || place->n_schedulable <= factor)
        return false;
    return place->policy.fills_up || place->replicas - factor >= factor;
}

static bool list_evictions(void *arg, const char *key, void *value)
{
    (void)key;
    struct compaction *c = arg;
    const struct vpod *vpod = value;
    for (size_t i = vpod->placed.at.len; vpod->is_listed && i > 0; i--) {
        struct place_at at = vpod->placed.at.items[i - 1];
        if (at.ordinal >= c->first && at.ordinal <= c->last)
            vec_push(&c->evictions->of,
                     ((struct place_eviction){vpod->name, at.ordinal, at.vreplicas}));
    }
    return true;
}

/* A vpod that has more than it wants gives that up; one that has less is not promised more here. */
static bool settle_wish(void *arg, const char *key, void *value)
{
    struct compaction *c = arg;
    struct vpod *vpod = value;
    struct place_result result = {0};
    if (!vpod->is_listed)
        return true;
    if (vpod->total > vpod->wish.vreplicas)
        (void)place_schedule(c->copy, key, &result);
    struct place_wish wish = vpod->wish;
    wish.vreplicas = vpod->total < PLACE_VREPLICAS_MAX ? (int32_t)vpod->total : PLACE_VREPLICAS_MAX;
    place_set_vpod(c->copy, key, &wish, vpod->committed.at.items, vpod->committed.at.len);
    place_result_done(&result);
    return true;
}

static bool try_it(struct compaction *c)
{
    c->copy = place_copy(c->place);
    for (int32_t i = c->first; i <= c->last; i++) {
        const struct pod *pod = pod_get(c->copy, i);
        if (pod != NULL && pod->exists)
            place_set_pod(c->copy, i, pod->node != NULL ? pod->node->name : NULL, true);
    }
    (void)map_each(c->copy->vpods, settle_wish, c);
    for (size_t i = 0; i < c->evictions->of.len; i++)
        (void)place_evict(c->copy, c->evictions->of.items[i].vpod,
                          c->evictions->of.items[i].ordinal);
    bool fits = map_each(c->copy->vpods, schedule_one, c->copy);
    place_free(c->copy);
    return fits;
}

void place_compact(const struct place *place, struct place_evictions *ret_evictions)
{
    struct compaction c = {.place = place, .evictions = ret_evictions};
    vec_clear(&ret_evictions->of);
    if (!find_pods(&c) || !has_room_for(&c))
        return;
    (void)map_each(place->vpods, list_evictions, &c);
    if (ret_evictions->of.len > 0 && !try_it(&c))
        vec_clear(&ret_evictions->of);
}
