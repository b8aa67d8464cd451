// SPDX-License-Identifier: Apache-2.0
/* Vpods: what they want, what their status says, what is reserved. Invariant: `used` of the pods is
 * the sum of `placed` of all vpods, and `placed` is `committed` overruled by `reserved`. */
#include "core/place/place_internal.h"
#include <assert.h>
#include <stdlib.h>

/* ---- lists ---- */

void place_list_done(struct place_list *list)
{
    vec_done(&list->at);
}

void place_result_done(struct place_result *result)
{
    place_list_done(&result->placements);
}

static int64_t list_total(const struct place_list *list)
{
    int64_t total = 0;
    for (size_t i = 0; i < list->at.len; i++)
        total += list->at.items[i].vreplicas;
    return total;
}

static size_t list_seek(const struct place_list *list, int32_t ordinal)
{
    size_t low = 0, high = list->at.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->at.items[middle].ordinal < ordinal)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int32_t list_get(const struct place_list *list, int32_t ordinal)
{
    size_t i = list_seek(list, ordinal);
    return i < list->at.len && list->at.items[i].ordinal == ordinal ? list->at.items[i].vreplicas
                                                                    : 0;
}

static void list_put(struct place_list *list, int32_t ordinal, int32_t vreplicas)
{
    size_t i = list_seek(list, ordinal);
    struct place_at at = {ordinal, vreplicas};
    if (i < list->at.len && list->at.items[i].ordinal == ordinal) {
        list->at.items[i] = at;
        return;
    }
    vec_push(&list->at, at);
    memmove(&list->at.items[i + 1], &list->at.items[i],
            (list->at.len - 1 - i) * sizeof(*list->at.items));
    list->at.items[i] = at;
}

static void list_copy(struct place_list *to, const struct place_list *from)
{
    vec_clear(&to->at);
    for (size_t i = 0; i < from->at.len; i++)
        vec_push(&to->at, from->at.items[i]);
}

static bool list_equal(const struct place_list *a, const struct place_list *b)
{
    return a->at.len == b->at.len &&
           (a->at.len == 0 ||
            memcmp(a->at.items, b->at.items, a->at.len * sizeof(*a->at.items)) == 0);
}

static int by_ordinal(const void *a, const void *b)
{
    const struct place_at *left = a, *right = b;
    return (left->ordinal > right->ordinal) - (left->ordinal < right->ordinal);
}

/* Sorted, one entry a pod. What no pod can have is left out. */
static void list_tidy(struct place_list *list)
{
    size_t kept = 0;
    if (list->at.len > 1)
        qsort(list->at.items, list->at.len, sizeof(*list->at.items), by_ordinal);
    for (size_t i = 0; i < list->at.len; i++) {
        struct place_at at = list->at.items[i];
        if (at.ordinal < 0 || at.ordinal >= PLACE_PODS_MAX || at.vreplicas <= 0)
            continue;
        if (at.vreplicas > PLACE_VREPLICAS_MAX)
            at.vreplicas = PLACE_VREPLICAS_MAX;
        struct place_at *last = kept > 0 ? &list->at.items[kept - 1] : NULL;
        if (last != NULL && last->ordinal == at.ordinal) {
            int64_t sum = (int64_t)last->vreplicas + at.vreplicas;
            last->vreplicas = sum < PLACE_VREPLICAS_MAX ? (int32_t)sum : PLACE_VREPLICAS_MAX;
        } else {
            list->at.items[kept++] = at;
        }
    }
    list->at.len = kept;
}

void vpod_use(struct place *place, const struct place_list *list, int sign)
{
    for (size_t i = 0; i < list->at.len; i++) {
        const struct place_at *at = &list->at.items[i];
        pod_use(place, pod_need(place, at->ordinal), (int64_t)sign * at->vreplicas);
    }
}

/* ---- one vpod ---- */

static int64_t pending_of(const struct vpod *vpod)
{
    int64_t left = vpod->wish.vreplicas - vpod->total;
    return vpod->is_listed && left > 0 ? left : 0;
}

static struct vpod *vpod_need(struct place *place, const char *name)
{
    struct vpod *vpod = map_get(place->vpods, name);
    if (vpod != NULL)
        return vpod;
    vpod = mem_zalloc(sizeof(*vpod));
    vpod->name = mem_strdup(name);
    (void)map_put(place->vpods, name, vpod);
    return vpod;
}

static struct vpod *vpod_listed(const struct place *place, const char *name)
{
    struct vpod *vpod = map_get(place->vpods, name);
    return vpod != NULL && vpod->is_listed ? vpod : NULL;
}

/* The pods know already. */
static void take_placed(struct place *place, struct vpod *vpod, struct place_list *placed)
{
    place->pending -= pending_of(vpod);
    if (!list_equal(&vpod->placed, placed))
        vpod->placed_at = ++place->last_placed;
    place_list_done(&vpod->placed);
    vpod->placed = *placed;
    *placed = (struct place_list){0};
    vpod->total = list_total(&vpod->placed);
    place->pending += pending_of(vpod);
}

/* Reservations that the status has caught up with are over. */
static void merge(struct place *place, struct vpod *vpod)
{
    struct place_list placed = {0};
    const struct place_list *reserved = &vpod->reserved;
    size_t kept = 0, c = 0, n = vpod->committed.at.len;
    for (size_t i = 0; i < reserved->at.len; i++) {
        struct place_at at = reserved->at.items[i];
        for (; c < n && vpod->committed.at.items[c].ordinal < at.ordinal; c++)
            vec_push(&placed.at, vpod->committed.at.items[c]);
        bool has = c < n && vpod->committed.at.items[c].ordinal == at.ordinal;
        int32_t committed = has ? vpod->committed.at.items[c].vreplicas : 0;
        c += has;
        if (at.vreplicas > 0)
            vec_push(&placed.at, at);
        if (at.vreplicas != committed)
            reserved->at.items[kept++] = at;
    }
    for (; c < n; c++)
        vec_push(&placed.at, vpod->committed.at.items[c]);
    vpod->reserved.at.len = kept;
    vpod_use(place, &vpod->placed, -1);
    vpod_use(place, &placed, 1);
    take_placed(place, vpod, &placed);
}

static void drop_if_empty(struct place *place, struct vpod *vpod)
{
    if (vpod->is_listed || vpod->reserved.at.len > 0)
        return;
    (void)map_del(place->vpods, vpod->name);
    place_list_done(&vpod->committed);
    place_list_done(&vpod->placed);
    place_list_done(&vpod->reserved);
    mem_free(vpod->name);
    mem_free(vpod);
}

void place_set_vpod(struct place *place, const char *name, const struct place_wish *wish,
                    const struct place_at *committed, size_t n)
{
    assert(wish->vreplicas >= 0 && wish->max_pods >= 0);
    struct vpod *vpod = vpod_need(place, name);
    place->pending -= pending_of(vpod);
    vpod->is_listed = true;
    vpod->wish = *wish;
    if (wish->vreplicas > PLACE_VREPLICAS_MAX)
        vpod->wish.vreplicas = PLACE_VREPLICAS_MAX;
    place->pending += pending_of(vpod);
    vec_clear(&vpod->committed.at);
    for (size_t i = 0; i < n; i++)
        vec_push(&vpod->committed.at, committed[i]);
    list_tidy(&vpod->committed);
    merge(place, vpod);
}

void place_remove_vpod(struct place *place, const char *name)
{
    struct vpod *vpod = map_get(place->vpods, name);
    if (vpod == NULL)
        return;
    place->pending -= pending_of(vpod);
    vpod->is_listed = false;
    vec_clear(&vpod->committed.at);
    vec_clear(&vpod->reserved.at);
    merge(place, vpod);
    drop_if_empty(place, vpod);
}

void place_reserve(struct place *place, const char *name, int32_t ordinal, int32_t vreplicas)
{
    assert(ordinal >= 0 && ordinal < PLACE_PODS_MAX && vreplicas >= 0 &&
           vreplicas <= PLACE_VREPLICAS_MAX);
    struct vpod *vpod = vpod_need(place, name);
    list_put(&vpod->reserved, ordinal, vreplicas);
    merge(place, vpod);
    drop_if_empty(place, vpod);
}

void place_release(struct place *place, const char *name)
{
    struct vpod *vpod = map_get(place->vpods, name);
    if (vpod == NULL)
        return;
    vec_clear(&vpod->reserved.at);
    merge(place, vpod);
    drop_if_empty(place, vpod);
}

/* ---- decisions ---- */

/* Where the answer differs from the status. */
static void reserve_answer(struct vpod *vpod)
{
    const struct place_list *now = &vpod->placed, *then = &vpod->committed;
    size_t i = 0, k = 0;
    vec_clear(&vpod->reserved.at);
    while (i < now->at.len || k < then->at.len) {
        int32_t a = i < now->at.len ? now->at.items[i].ordinal : INT32_MAX;
        int32_t b = k < then->at.len ? then->at.items[k].ordinal : INT32_MAX;
        int32_t has = i < now->at.len && a <= b ? now->at.items[i].vreplicas : 0;
        int32_t had = k < then->at.len && b <= a ? then->at.items[k].vreplicas : 0;
        if (has != had)
            vec_push(&vpod->reserved.at, ((struct place_at){a < b ? a : b, has}));
        i += a <= b;
        k += b <= a;
    }
}

static void settle(struct place *place, struct vpod *vpod, struct place_list *placed)
{
    take_placed(place, vpod, placed);
    reserve_answer(vpod);
}

static void correct(struct place *place, struct vpod *vpod, struct place_list *ret)
{
    if (vpod->total > vpod->wish.vreplicas)
        run_remove(place, vpod, ret);
    else if (place->policy.fills_up)
        run_fill(place, vpod, ret);
    else
        run_add(place, vpod, ret);
}

/* All anew; unless the old way holds more, because it is on pods that get nothing new, or was
 * placed under another policy. */
static void spread_again(struct place *place, struct vpod *vpod, struct place_list *ret)
{
    int64_t want = vpod->wish.vreplicas;
    run_spread(place, vpod, ret);
    int64_t got = list_total(ret);
    if (got == want || got >= vpod->total)
        return;
    vpod_use(place, ret, -1);
    vpod_use(place, &vpod->placed, 1);
    correct(place, vpod, ret);
}

static void schedule(struct place *place, struct vpod *vpod)
{
    const struct place_policy *policy = &place->policy;
    bool is_minimal = policy->fills_up || vpod->wish.rebalance == PLACE_MINIMAL;
    bool is_shrinking = vpod->total > vpod->wish.vreplicas;
    struct place_list placed = {0};
    if (is_shrinking && (policy->has_descheduler || is_minimal))
        run_remove(place, vpod, &placed);
    else if (is_minimal && (policy->has_scheduler || policy->fills_up))
        correct(place, vpod, &placed);
    else if (policy->has_scheduler)
        spread_again(place, vpod, &placed);
    else
        return;
    settle(place, vpod, &placed);
}

static void tell_result(const struct vpod *vpod, const struct place_list *before,
                        struct place_result *ret_result)
{
    list_copy(&ret_result->placements, &vpod->placed);
    ret_result->placed = vpod->total;
    ret_result->pending = pending_of(vpod);
    ret_result->is_changed = !list_equal(before, &vpod->placed);
}

bool place_schedule(struct place *place, const char *name, struct place_result *ret_result)
{
    struct vpod *vpod = vpod_listed(place, name);
    if (vpod == NULL)
        return false;
    struct place_list before = {0};
    list_copy(&before, &vpod->placed);
    if (vpod->total != vpod->wish.vreplicas)
        schedule(place, vpod);
    tell_result(vpod, &before, ret_result);
    place_list_done(&before);
    return true;
}

bool place_placements(const struct place *place, const char *name, struct place_list *ret_list)
{
    const struct vpod *vpod = vpod_listed(place, name);
    if (vpod == NULL)
        return false;
    list_copy(ret_list, &vpod->placed);
    return true;
}

int32_t place_evict(struct place *place, const char *name, int32_t ordinal)
{
    const struct vpod *vpod = vpod_listed(place, name);
    int32_t had = vpod != NULL ? list_get(&vpod->placed, ordinal) : 0;
    if (had > 0)
        place_reserve(place, name, ordinal, 0);
    return had;
}

/* ---- too much on a pod ---- */

int64_t place_surplus(const struct place *place)
{
    return place->surplus;
}

struct crowd {
    int32_t ordinal;
    const struct vpod *newest;
};

static bool find_newest(void *arg, const char *key, void *value)
{
    struct crowd *crowd = arg;
    const struct vpod *vpod = value;
    (void)key;
    if (vpod->is_listed && list_get(&vpod->placed, crowd->ordinal) > 0 &&
        (crowd->newest == NULL || vpod->placed_at > crowd->newest->placed_at))
        crowd->newest = vpod;
    return true;
}

const char *place_crowder(const struct place *place)
{
    for (size_t i = 0; place->surplus > 0 && i < place->pods.len; i++) {
        const struct pod *pod = place->pods.items[i];
        if (pod == NULL || pod->used <= place->capacity)
            continue;
        struct crowd crowd = {.ordinal = pod->ordinal};
        (void)map_each(place->vpods, find_newest, &crowd);
        if (crowd.newest != NULL)
            return crowd.newest->name;
    }
    return NULL;
}

/* What is left of it when it has gone from where there is too much. */
static void without_surplus(const struct place *place, const struct vpod *vpod,
                            struct place_list *ret)
{
    for (size_t i = 0; i < vpod->placed.at.len; i++) {
        struct place_at at = vpod->placed.at.items[i];
        int64_t over = pod_get(place, at.ordinal)->used - place->capacity;
        int64_t off = over < at.vreplicas ? over : at.vreplicas;
        at.vreplicas -= off > 0 ? (int32_t)off : 0;
        if (at.vreplicas > 0)
            vec_push(&ret->at, at);
    }
}

static void replace(struct place *place, struct vpod *vpod, struct place_list *placed)
{
    vpod_use(place, &vpod->placed, -1);
    vpod_use(place, placed, 1);
    take_placed(place, vpod, placed);
}

static void relieve(struct place *place, struct vpod *vpod)
{
    struct place_list before = {0}, kept = {0}, placed = {0};
    int64_t had = vpod->total;
    list_copy(&before, &vpod->placed);
    without_surplus(place, vpod, &kept);
    replace(place, vpod, &kept);
    correct(place, vpod, &placed);
    settle(place, vpod, &placed);
    if (vpod->total < had) {
        replace(place, vpod, &before);
        reserve_answer(vpod);
    }
    place_list_done(&before);
    place_list_done(&kept);
}

bool place_relieve(struct place *place, const char *name, struct place_result *ret_result)
{
    struct vpod *vpod = vpod_listed(place, name);
    bool has_policy = place->policy.has_scheduler || place->policy.fills_up;
    if (vpod == NULL)
        return false;
    struct place_list before = {0};
    list_copy(&before, &vpod->placed);
    if (place->surplus > 0 && has_policy && vpod->total <= vpod->wish.vreplicas)
        relieve(place, vpod);
    tell_result(vpod, &before, ret_result);
    place_list_done(&before);
    return true;
}

int64_t place_pending(const struct place *place)
{
    return place->pending;
}

int32_t place_last_used(const struct place *place)
{
    return place->last_used;
}
