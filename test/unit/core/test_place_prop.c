// SPDX-License-Identifier: Apache-2.0
/* Random pools against a reference that knows no index: it looks at every pod for every vreplica,
 * by the rules as docs/place.md has them. After each step the engine and the reference agree on
 * every placement, and what must hold of any spread holds.
 *
 * PLACE_CLUSTERS says how many pools; a failure names the seed, PLACE_SEED plays that one again. */
#include "base/mem.h"
#include "base/rng.h"
#include "core/place/place.h"
#include "seeds.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define PODS_MOST 14
#define VPODS_MOST 3
#define NODES_MOST 6
#define UNIT 1048576
#ifdef __SANITIZE_ADDRESS__
#define CLUSTERS 4000
#else
#define CLUSTERS 100000
#endif

struct world {
    uint64_t seed;
    struct rng rng;
    struct place_policy policy;
    int32_t capacity, replicas;
    int n_nodes, n_zones, n_vpods;
    int zone_of[NODES_MOST];
    enum place_node_state state_of[NODES_MOST];
    int node_of[PODS_MOST]; /* -1: not bound, -2: no such pod */
    struct place_wish wish[VPODS_MOST];
    int32_t has[VPODS_MOST][PODS_MOST];
    struct place *place;
};

#define CHECK(w, condition)                                                                        \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("seed %" PRIu64 ": %s (line %d)", (w)->seed, #condition, __LINE__);           \
    } while (0)

/* ---- the reference ---- */

static bool takes(const struct world *w, int pod)
{
    int node = pod < w->replicas ? w->node_of[pod] : -2;
    return node >= 0 && w->state_of[node] == PLACE_NODE_OK;
}

static int64_t used(const struct world *w, int pod)
{
    int64_t sum = 0;
    for (int v = 0; v < w->n_vpods; v++)
        sum += w->has[v][pod];
    return sum;
}

static bool is_open(const struct world *w, int pod)
{
    return takes(w, pod) && used(w, pod) < w->capacity;
}

static int64_t total(const struct world *w, int v)
{
    int64_t sum = 0;
    for (int p = 0; p < PODS_MOST; p++)
        sum += w->has[v][p];
    return sum;
}

/* Of pods in the same zone (or on the same node) that are not lost. */
static int64_t in_domain(const struct world *w, int v, int pod, bool is_zone)
{
    int64_t sum = 0;
    for (int p = 0; p < PODS_MOST; p++) {
        int a = w->node_of[p], b = w->node_of[pod];
        if (a < 0 || w->state_of[a] == PLACE_NODE_UNREACHABLE)
            continue;
        if (is_zone ? w->zone_of[a] == w->zone_of[b] : a == b)
            sum += w->has[v][p];
    }
    return sum;
}

static int64_t cost(const struct world *w, int v, int pod, const struct place_weights *weights)
{
    int64_t range = 1;
    while (range < w->replicas)
        range *= 2;
    return weights->zone * UNIT * in_domain(w, v, pod, true) +
           weights->node * UNIT * in_domain(w, v, pod, false) +
           weights->pod * UNIT * w->has[v][pod] + weights->ordinal * (UNIT / range) * pod;
}

static int pods_of(const struct world *w, int v)
{
    int count = 0;
    for (int p = 0; p < PODS_MOST; p++)
        count += w->has[v][p] > 0;
    return count;
}

static bool may_open(const struct world *w, int v)
{
    int count = pods_of(w, v);
    bool fills = w->policy.fills_up;
    return (w->wish[v].max_pods == 0 || count < w->wish[v].max_pods) &&
           (fills || w->policy.partitions == 0 || count < w->policy.partitions);
}

static bool is_allowed(const struct world *w, int v, int pod)
{
    if (!is_open(w, pod) || (w->has[v][pod] == 0 && !may_open(w, v)))
        return false;
    if (!w->policy.is_even || w->policy.fills_up)
        return true;
    for (int p = 0; p < PODS_MOST; p++) {
        bool counts = w->has[v][p] > 0 ? takes(w, p) : is_open(w, p) && may_open(w, v);
        if (p != pod && counts && w->has[v][pod] + 1 - w->has[v][p] > w->policy.max_skew)
            return false;
    }
    return true;
}

static int best(const struct world *w, int v)
{
    int found = -1;
    for (int p = 0; p < PODS_MOST; p++) {
        if (is_allowed(w, v, p) && (found < 0 || cost(w, v, p, &w->policy.placing) <
                                                     cost(w, v, found, &w->policy.placing)))
            found = p;
    }
    return found;
}

static void naive_add(struct world *w, int v)
{
    int pod;
    if (w->policy.fills_up) {
        for (int p = 0; p < PODS_MOST; p++) {
            while (w->has[v][p] > 0 && is_open(w, p) && total(w, v) < w->wish[v].vreplicas)
                w->has[v][p]++;
        }
        for (int p = 0; p < PODS_MOST; p++) {
            while (is_allowed(w, v, p) && total(w, v) < w->wish[v].vreplicas)
                w->has[v][p]++;
        }
        return;
    }
    while (total(w, v) < w->wish[v].vreplicas && (pod = best(w, v)) >= 0)
        w->has[v][pod]++;
}

static int worst(const struct world *w, int v)
{
    const struct place_policy *policy = &w->policy;
    bool is_own = policy->has_descheduler || policy->fills_up;
    const struct place_weights *weights = is_own ? &policy->removing : &policy->placing;
    int found = -1;
    for (int p = PODS_MOST - 1; p >= 0; p--) {
        if (w->has[v][p] > 0 && !takes(w, p))
            return p;
    }
    for (int p = 0; p < PODS_MOST; p++) {
        if (w->has[v][p] > 0 && (found < 0 || cost(w, v, p, weights) >= cost(w, v, found, weights)))
            found = p;
    }
    return found;
}

static void naive_correct(struct world *w, int v)
{
    while (total(w, v) > w->wish[v].vreplicas)
        w->has[v][worst(w, v)]--;
    naive_add(w, v);
}

static void naive_spread(struct world *w, int v)
{
    int32_t before[PODS_MOST];
    int64_t had = total(w, v);
    memcpy(before, w->has[v], sizeof(before));
    memset(w->has[v], 0, sizeof(w->has[v]));
    naive_add(w, v);
    if (total(w, v) == w->wish[v].vreplicas || total(w, v) >= had)
        return;
    memcpy(w->has[v], before, sizeof(before));
    naive_correct(w, v);
}

static void naive_schedule(struct world *w, int v)
{
    const struct place_policy *policy = &w->policy;
    bool is_minimal = policy->fills_up || w->wish[v].rebalance == PLACE_MINIMAL;
    int64_t more = w->wish[v].vreplicas - total(w, v);
    if (more == 0)
        return;
    if (more < 0 && (policy->has_descheduler || is_minimal))
        naive_correct(w, v);
    else if (is_minimal && (policy->has_scheduler || policy->fills_up))
        naive_correct(w, v);
    else if (policy->has_scheduler)
        naive_spread(w, v);
}

/* ---- a random world ---- */

static int64_t pick(struct world *w, int64_t low, int64_t high)
{
    return rng_between(&w->rng, low, high);
}

static void random_weights(struct world *w, struct place_weights *weights)
{
    static const int64_t SOME[] = {0, 0, 1, 2, 5, 10};
    weights->zone = SOME[pick(w, 0, 5)];
    weights->node = SOME[pick(w, 0, 5)];
    weights->pod = SOME[pick(w, 0, 5)];
    weights->ordinal = SOME[pick(w, 0, 5)];
}

static void random_policy(struct world *w)
{
    struct place_policy *policy = &w->policy;
    *policy = (struct place_policy){0};
    if (rng_chance(&w->rng, 1, 6)) {
        place_policy_fill_up(policy);
        return;
    }
    policy->has_scheduler = rng_chance(&w->rng, 9, 10);
    policy->has_descheduler = rng_chance(&w->rng, 1, 2);
    policy->is_even = rng_chance(&w->rng, 1, 2);
    policy->max_skew = policy->is_even ? pick(w, 1, 3) : 0;
    policy->partitions = rng_chance(&w->rng, 1, 3) ? pick(w, 1, 6) : 0;
    policy->factor = (enum place_factor)pick(w, 0, 2);
    random_weights(w, &policy->placing);
    random_weights(w, &policy->removing);
}

static void tell_node(struct world *w, int node)
{
    char name[16], zone[16];
    (void)snprintf(name, sizeof(name), "n%d", node);
    (void)snprintf(zone, sizeof(zone), "z%d", w->zone_of[node]);
    place_set_node(w->place, name, w->zone_of[node] == 0 ? NULL : zone, w->state_of[node]);
}

static void tell_pod(struct world *w, int pod)
{
    char name[16];
    (void)snprintf(name, sizeof(name), "n%d", w->node_of[pod]);
    if (w->node_of[pod] == -2)
        place_remove_pod(w->place, pod);
    else
        place_set_pod(w->place, pod, w->node_of[pod] >= 0 ? name : NULL, false);
}

static void tell_vpod(struct world *w, int v)
{
    char name[16];
    struct place_at at[PODS_MOST];
    for (int p = 0; p < PODS_MOST; p++)
        at[p] = (struct place_at){p, w->has[v][p]};
    (void)snprintf(name, sizeof(name), "v%d", v);
    place_set_vpod(w->place, name, &w->wish[v], at, PODS_MOST);
}

static void random_wish(struct world *w, int v)
{
    w->wish[v].vreplicas = (int32_t)pick(w, 0, (int64_t)w->capacity * w->replicas * 3 / 4 + 3);
    w->wish[v].max_pods = rng_chance(&w->rng, 1, 4) ? (int32_t)pick(w, 1, 6) : 0;
    w->wish[v].rebalance = rng_chance(&w->rng, 1, 2) ? PLACE_MINIMAL : PLACE_SPREAD_AGAIN;
}

static void world_open(struct world *w, uint64_t seed)
{
    *w = (struct world){.seed = seed};
    rng_seed(&w->rng, seed);
    random_policy(w);
    w->capacity = (int32_t)pick(w, 1, 8);
    w->replicas = (int32_t)pick(w, 0, PODS_MOST);
    w->n_nodes = (int)pick(w, 1, NODES_MOST);
    w->n_zones = (int)pick(w, 1, 3);
    w->n_vpods = (int)pick(w, 1, VPODS_MOST);
    w->place = place_new(&w->policy, w->capacity);
    for (int i = 0; i < w->n_nodes; i++) {
        w->zone_of[i] = (int)pick(w, 0, w->n_zones - 1);
        w->state_of[i] = rng_chance(&w->rng, 1, 8) ? (enum place_node_state)pick(w, 1, 2) : 0;
        tell_node(w, i);
    }
    for (int i = 0; i < PODS_MOST; i++) {
        w->node_of[i] =
            (int)(rng_chance(&w->rng, 1, 12) ? pick(w, -2, -1) : pick(w, 0, w->n_nodes - 1));
        tell_pod(w, i);
    }
    place_set_replicas(w->place, w->replicas);
    for (int v = 0; v < w->n_vpods; v++) {
        random_wish(w, v);
        tell_vpod(w, v);
    }
}

/* ---- what must hold ---- */

static void check_same(struct world *w, int v, const struct place_list *list)
{
    int32_t got[PODS_MOST] = {0};
    for (size_t i = 0; i < list->at.len; i++) {
        CHECK(w, list->at.items[i].ordinal < PODS_MOST && list->at.items[i].vreplicas > 0);
        CHECK(w, i == 0 || list->at.items[i].ordinal > list->at.items[i - 1].ordinal);
        got[list->at.items[i].ordinal] = list->at.items[i].vreplicas;
    }
    for (int p = 0; p < PODS_MOST; p++)
        CHECK(w, got[p] == w->has[v][p]);
}

static void check_bounds(struct world *w, int v, const int32_t *before)
{
    bool grew = total(w, v) > 0;
    for (int p = 0; p < PODS_MOST; p++) {
        /* Nothing goes onto a pod that is full or gets nothing new. */
        if (w->has[v][p] > before[p])
            CHECK(w, takes(w, p) && used(w, p) <= w->capacity);
    }
    if (w->wish[v].rebalance != PLACE_MINIMAL || !grew)
        return;
    bool has_more = false, has_less = false;
    for (int p = 0; p < PODS_MOST; p++) {
        has_more |= w->has[v][p] > before[p];
        has_less |= w->has[v][p] < before[p];
    }
    CHECK(w, !(has_more && has_less));
}

static void check_pending(struct world *w)
{
    int64_t pending = 0, last = -1;
    for (int v = 0; v < w->n_vpods; v++) {
        int64_t left = w->wish[v].vreplicas - total(w, v);
        pending += left > 0 ? left : 0;
    }
    int64_t surplus = 0;
    for (int p = 0; p < PODS_MOST; p++) {
        last = used(w, p) > 0 ? p : last;
        surplus += used(w, p) > w->capacity ? used(w, p) - w->capacity : 0;
    }
    CHECK(w, place_surplus(w->place) == surplus);
    CHECK(w, (place_crowder(w->place) != NULL) == (surplus > 0));
    CHECK(w, place_pending(w->place) == pending);
    CHECK(w, place_last_used(w->place) == last);
}

/* A pod takes more exactly when the reference would let it; and if one does, nothing pends. */
static void check_explained(struct world *w, int v, const char *name, int64_t pending)
{
    struct place_refusals refusals = {0};
    place_explain(w->place, name, &refusals);
    CHECK(w, refusals.of.len == (size_t)w->replicas);
    for (size_t i = 0; i < refusals.of.len; i++) {
        bool is_free = refusals.of.items[i].reason == PLACE_TAKES;
        if (w->policy.has_scheduler || w->policy.fills_up)
            CHECK(w, is_free == is_allowed(w, v, (int)i));
        CHECK(w, !is_free || pending == 0);
    }
    vec_done(&refusals.of);
}

static void schedule(struct world *w, int v)
{
    char name[16];
    int32_t before[PODS_MOST];
    struct place_result result = {0};
    (void)snprintf(name, sizeof(name), "v%d", v);
    memcpy(before, w->has[v], sizeof(before));
    naive_schedule(w, v);
    CHECK(w, place_schedule(w->place, name, &result));
    check_same(w, v, &result.placements);
    CHECK(w, result.is_changed == (memcmp(before, w->has[v], sizeof(before)) != 0));
    check_bounds(w, v, before);
    check_pending(w);
    check_explained(w, v, name, result.pending);
    place_result_done(&result);
}

static bool evict_all(struct world *w, const struct place_evictions *evictions)
{
    for (size_t i = 0; i < evictions->of.len; i++) {
        const struct place_eviction *e = &evictions->of.items[i];
        int v = e->vpod[1] - '0';
        CHECK(w, place_evict(w->place, e->vpod, e->ordinal) == e->vreplicas);
        CHECK(w, w->has[v][e->ordinal] == e->vreplicas);
        w->has[v][e->ordinal] = 0;
    }
    return evictions->of.len > 0;
}

/* What was evicted finds a place below: nothing is lost. Only asked when everything is settled,
 * and the pods that are to go are marked, as the one who shrinks the pool does. */
static void compact(struct world *w)
{
    int64_t before[VPODS_MOST];
    struct place_evictions evictions = {0};
    int32_t last = place_last_used(w->place);
    if (place_pending(w->place) > 0)
        return;
    for (int v = 0; v < w->n_vpods; v++) {
        before[v] = total(w, v);
        if (before[v] > w->wish[v].vreplicas)
            return;
    }
    place_compact(w->place, &evictions);
    int32_t first = last;
    for (size_t i = 0; i < evictions.of.len; i++)
        first = evictions.of.items[i].ordinal < first ? evictions.of.items[i].ordinal : first;
    if (evict_all(w, &evictions)) {
        int64_t factor = w->policy.fills_up || w->policy.factor == PLACE_BY_ONE ? 1
                         : w->policy.factor == PLACE_BY_ZONES ? (int64_t)place_zones(w->place)
                                                              : (int64_t)place_nodes(w->place);
        for (int64_t p = last - factor + 1 > 0 ? last - factor + 1 : 0; p <= last; p++) {
            if (w->node_of[p] != -2)
                place_remove_pod(w->place, (int32_t)p);
            w->node_of[p] = -2;
        }
        for (int v = 0; v < w->n_vpods; v++)
            schedule(w, v);
        for (int v = 0; v < w->n_vpods; v++)
            CHECK(w, total(w, v) == before[v]);
    }
    vec_done(&evictions.of);
}

static void change(struct world *w)
{
    int v = (int)pick(w, 0, w->n_vpods - 1), pod = (int)pick(w, 0, PODS_MOST - 1);
    int node = (int)pick(w, 0, w->n_nodes - 1);
    switch (pick(w, 0, 7)) {
    case 0:
        w->replicas = (int32_t)pick(w, 0, PODS_MOST);
        place_set_replicas(w->place, w->replicas);
        break;
    case 1:
        w->state_of[node] = (enum place_node_state)pick(w, 0, 2);
        tell_node(w, node);
        break;
    case 2:
        w->node_of[pod] = (int)pick(w, -2, w->n_nodes - 1);
        tell_pod(w, pod);
        break;
    case 3:
        compact(w);
        break;
    case 4: /* the status catches up, or a write is lost and it does not matter */
        tell_vpod(w, v);
        break;
    default:
        random_wish(w, v);
        tell_vpod(w, v);
        schedule(w, v);
    }
}

/* A copy answers the same. */
static void check_copy(struct world *w)
{
    struct place *copy = place_copy(w->place);
    CHECK(w, place_autoscale(copy, PLACE_COMPUTED, true) ==
                 place_autoscale(w->place, PLACE_COMPUTED, true));
    for (int v = 0; v < w->n_vpods; v++) {
        char name[16];
        struct place_list a = {0}, b = {0};
        (void)snprintf(name, sizeof(name), "v%d", v);
        CHECK(w, place_placements(copy, name, &a) && place_placements(w->place, name, &b));
        CHECK(w, a.at.len == b.at.len);
        for (size_t i = 0; i < a.at.len; i++)
            CHECK(w, memcmp(&a.at.items[i], &b.at.items[i], sizeof(a.at.items[i])) == 0);
        place_list_done(&a);
        place_list_done(&b);
    }
    place_free(copy);
}

static void run_world(uint64_t seed)
{
    struct world w;
    world_open(&w, seed);
    for (int v = 0; v < w.n_vpods; v++)
        schedule(&w, v);
    for (int64_t i = pick(&w, 0, 6); i > 0; i--)
        change(&w);
    for (int v = 0; v < w.n_vpods; v++)
        schedule(&w, v);
    check_copy(&w);
    place_free(w.place);
}

static void test_clusters(void **state)
{
    (void)state;
    seeds_play("PLACE_CLUSTERS", "PLACE_SEED", CLUSTERS, run_world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clusters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
