// SPDX-License-Identifier: Apache-2.0
/* One run: vreplicas of one vpod are placed or removed, one at a time, each on the pod that is then
 * the best. What a domain costs is how many of the vpod's vreplicas it has, times its weight: the
 * emptiest zone, node and pod goes first when placing, the fullest when removing. (A sum of
 * distances to all others, as Knative's scheduler has it, puts an empty zone last once the
 * others are far ahead; and it cannot be kept up to date by looking at one domain.)
 *
 * EvenPodSpread: a pod that has `max_skew` more than the least of the others is held back until
 * the least has more. While placing, the least never falls, so a pod is held back and let go at
 * most once for each vreplica. Pods that hold nothing of the vpod and have no room do not count,
 * and none of those without any counts once the vpod is on as many pods as it may be.
 *
 * During a run `used` of pods is always right; `count` of pods, nodes and zones is of this vpod. */
#include "core/place/place_internal.h"
#include <assert.h>
#include <stdlib.h>

/* In the order in which they came: that is mostly the order of their keys, and who comes after
 * those who are there has his place in a heap at once. */
struct held {
    struct pod *first, *last;
};

struct run {
    struct place *place;
    struct dom *root;
    int tree;
    int64_t sign; /* 1: the least key is the best; -1: turned round */
    struct place_weights weights;
    int64_t opened, pods_max; /* pods with at least one, and how many there may be */
    /* EvenPodSpread; `hist` NULL: not asked for */
    int64_t *hist;     /* count to number of schedulable pods that have it; `top` stands for more */
    struct held *held; /* count to those held back */
    int64_t top, least, freed;
    int64_t touched_open;
};

int64_t run_pods_max(const struct place *place, const struct vpod *vpod)
{
    int64_t most = vpod->wish.max_pods > 0 ? vpod->wish.max_pods : INT64_MAX;
    int64_t partitions = place->policy.partitions;
    if (!place->policy.fills_up && partitions > 0 && partitions < most)
        most = partitions;
    return most;
}

/* ---- counts and keys ---- */

/* What is on a lost node is not there to spread against. */
static struct node *counted_node(const struct pod *pod)
{
    struct node *node = pod->node;
    bool counts = node != NULL && node->zone != NULL && node->state != PLACE_NODE_UNREACHABLE;
    return counts ? node : NULL;
}

static void add_count(struct run *run, struct pod *pod, int64_t more)
{
    struct node *node = counted_node(pod);
    if (!pod->is_touched) {
        pod->is_touched = true;
        vec_push(&run->place->touched, pod);
    }
    run->opened += pod->count == 0 ? 1 : 0;
    pod->count += more;
    run->opened -= pod->count == 0 ? 1 : 0;
    if (node == NULL)
        return;
    node->count += more;
    node->zone->count += more;
}

static void set_own(struct run *run, struct pod *pod)
{
    const struct place_weights *w = &run->weights;
    struct node *node = counted_node(pod);
    struct dom *dom = &pod->dom[run->tree];
    dom->own = run->sign *
               (w->pod * UNIT * pod->count + w->ordinal * run->place->ordinal_unit * pod->ordinal);
    dom->tie = (int32_t)run->sign * pod->ordinal;
    if (node == NULL)
        return;
    node->dom[run->tree].own = run->sign * w->node * UNIT * node->count;
    node->zone->dom[run->tree].own = run->sign * w->zone * UNIT * node->zone->count;
}

/* Counts have changed. */
static void renew(struct run *run, struct pod *pod, bool is_candidate)
{
    struct dom *dom = &pod->dom[run->tree];
    if (pod->node == NULL || pod->node->zone == NULL)
        return; /* in no tree */
    set_own(run, pod);
    if (is_candidate) {
        dom_offer(dom);
        return;
    }
    dom_retire(dom);
}

/* ---- EvenPodSpread ---- */

static void even_start(struct run *run, int64_t want)
{
    const struct place *place = run->place;
    if (!place->policy.is_even || place->policy.fills_up)
        return;
    run->top = (want < place->capacity ? want : place->capacity) + 1;
    run->hist = mem_zalloc(((size_t)run->top + 1) * sizeof(*run->hist));
    run->held = mem_zalloc(((size_t)run->top + 1) * sizeof(struct held));
}

static int64_t even_slot(const struct run *run, const struct pod *pod)
{
    return pod->count < run->top ? pod->count : run->top;
}

/* The least that a pod has on which the vpod could have something. */
static int64_t even_least(struct run *run)
{
    if (run->place->n_open > run->touched_open && run->opened < run->pods_max)
        return 0;
    while (run->least < run->top && run->hist[run->least] == 0)
        run->least++;
    return run->least;
}

static bool even_holds(struct run *run, const struct pod *pod)
{
    return run->hist != NULL && pod->count >= even_least(run) + run->place->policy.max_skew;
}

static void even_hold(struct run *run, struct pod *pod)
{
    struct held *held = &run->held[even_slot(run, pod)];
    if (held->first == NULL)
        held->first = pod;
    else
        held->last->next_held = pod;
    held->last = pod;
}

static void even_free(struct run *run)
{
    if (run->hist == NULL)
        return;
    int64_t until = even_least(run) + run->place->policy.max_skew;
    for (; run->freed < until && run->freed <= run->top; run->freed++) {
        struct pod *pod = take_ptr(run->held[run->freed].first), *next;
        for (; pod != NULL; pod = next) {
            next = take_ptr(pod->next_held);
            set_own(run, pod); /* the tree may be another than when it was held back */
            dom_add(&pod->dom[run->tree]);
        }
    }
}

/* Its count is no longer `before`. */
static void even_counted(struct run *run, const struct pod *pod, int64_t before, bool was_open)
{
    if (run->hist == NULL || !pod->is_schedulable)
        return;
    if (before > 0) {
        run->hist[before < run->top ? before : run->top]--;
        run->touched_open -= was_open;
    }
    run->hist[even_slot(run, pod)]++;
    run->touched_open += pod->is_open;
}

/* ---- the course of a run ---- */

/* From now on only pods count that the vpod is on. */
static void narrow(struct run *run)
{
    struct place *place = run->place;
    run->tree = TREE_SOME;
    run->root = &place->root[TREE_SOME];
    for (size_t i = 0; i < place->touched.len; i++) {
        struct pod *pod = place->touched.items[i];
        if (pod->is_open && !even_holds(run, pod))
            renew(run, pod, true);
    }
}

static void place_one(struct run *run, struct pod *pod)
{
    int64_t before = pod->count;
    pod_use(run->place, pod, 1);
    add_count(run, pod, 1);
    even_counted(run, pod, before, true);
    bool is_held = pod->is_open && even_holds(run, pod);
    if (is_held)
        even_hold(run, pod);
    renew(run, pod, pod->is_open && !is_held);
    even_free(run);
    if (run->tree == TREE_ALL && run->opened >= run->pods_max)
        narrow(run);
}

static void place_some(struct run *run, int64_t left)
{
    for (; left > 0; left--) {
        struct dom *best = dom_best(run->root);
        if (best == NULL)
            return;
        place_one(run, container_of(best, struct pod, dom[run->tree]));
    }
}

static struct run run_begin(struct place *place, const struct place_weights *weights, int tree,
                            int64_t sign)
{
    assert(place->touched.len == 0);
    return (struct run){.place = place,
                        .root = &place->root[tree],
                        .tree = tree,
                        .sign = sign,
                        .weights = *weights,
                        .pods_max = INT64_MAX};
}

static int by_ordinal(const void *a, const void *b)
{
    const struct pod *const *left = a, *const *right = b;
    return (*left)->ordinal < (*right)->ordinal ? -1 : 1;
}

static void forget_pod(struct run *run, struct pod *pod)
{
    struct place *place = run->place;
    struct dom *dom = &pod->dom[TREE_ALL];
    pod->count = 0;
    pod->is_touched = false;
    pod->next_held = NULL;
    dom_withdraw(&pod->dom[TREE_SOME]);
    dom->own = place->policy.placing.ordinal * place->ordinal_unit * pod->ordinal;
    dom->tie = pod->ordinal;
    if (pod->node == NULL || pod->node->zone == NULL)
        return;
    pod->node->count = pod->node->zone->count = 0;
    pod->node->dom[TREE_ALL].own = pod->node->zone->dom[TREE_ALL].own = 0;
    if (pod->is_open)
        dom_offer(dom);
    else
        dom_renew(dom->up);
}

/* Tells what the vpod has now and leaves the trees as they are between runs. */
static void run_end(struct run *run, struct place_list *ret)
{
    struct place *place = run->place;
    if (place->touched.len > 1)
        qsort(place->touched.items, place->touched.len, sizeof(struct pod *), by_ordinal);
    vec_clear(&ret->at);
    for (size_t i = 0; i < place->touched.len; i++) {
        struct pod *pod = place->touched.items[i];
        if (pod->count > 0)
            vec_push(&ret->at, ((struct place_at){pod->ordinal, (int32_t)pod->count}));
    }
    for (size_t i = 0; i < place->touched.len; i++)
        forget_pod(run, place->touched.items[i]);
    vec_clear(&place->touched);
    mem_free(run->hist);
    mem_free(run->held);
}

/* What the vpod has counts in the run. */
static void load(struct run *run, const struct vpod *vpod)
{
    for (size_t i = 0; i < vpod->placed.at.len; i++) {
        const struct place_at *at = &vpod->placed.at.items[i];
        struct pod *pod = pod_get(run->place, at->ordinal);
        add_count(run, pod, at->vreplicas);
        even_counted(run, pod, 0, false);
    }
}

void run_spread(struct place *place, const struct vpod *vpod, struct place_list *ret)
{
    struct run run = run_begin(place, &place->policy.placing, TREE_ALL, 1);
    run.pods_max = run_pods_max(place, vpod);
    vpod_use(place, &vpod->placed, -1);
    even_start(&run, vpod->wish.vreplicas);
    place_some(&run, vpod->wish.vreplicas);
    run_end(&run, ret);
}

void run_add(struct place *place, const struct vpod *vpod, struct place_list *ret)
{
    struct run run = run_begin(place, &place->policy.placing, TREE_ALL, 1);
    run.pods_max = run_pods_max(place, vpod);
    even_start(&run, vpod->wish.vreplicas);
    load(&run, vpod);
    if (run.opened >= run.pods_max)
        run.tree = TREE_SOME, run.root = &place->root[TREE_SOME];
    for (size_t i = 0; i < place->touched.len; i++) {
        struct pod *pod = place->touched.items[i];
        bool is_held = pod->is_open && even_holds(&run, pod);
        if (is_held)
            even_hold(&run, pod);
        renew(&run, pod, pod->is_open && !is_held);
    }
    even_free(&run);
    place_some(&run, vpod->wish.vreplicas - vpod->total);
    run_end(&run, ret);
}

static int64_t fill_pod(struct run *run, struct pod *pod, int64_t left)
{
    int64_t room = run->place->capacity - pod->used;
    if (!pod->is_open || left <= 0)
        return 0;
    int64_t some = room < left ? room : left;
    pod_use(run->place, pod, some);
    add_count(run, pod, some);
    return some;
}

void run_fill(struct place *place, const struct vpod *vpod, struct place_list *ret)
{
    struct run run = run_begin(place, &place->policy.placing, TREE_ALL, 1);
    run.pods_max = run_pods_max(place, vpod);
    load(&run, vpod);
    int64_t left = vpod->wish.vreplicas - vpod->total;
    for (size_t i = 0; i < vpod->placed.at.len; i++)
        left -= fill_pod(&run, pod_get(place, vpod->placed.at.items[i].ordinal), left);
    while (left > 0 && run.opened < run.pods_max && dom_best(run.root) != NULL)
        left -= fill_pod(&run, container_of(dom_best(run.root), struct pod, dom[TREE_ALL]), left);
    run_end(&run, ret);
}

/* ---- removing ---- */

static int64_t take(struct run *run, struct pod *pod, int64_t some)
{
    pod_use(run->place, pod, -some);
    add_count(run, pod, -some);
    return some;
}

/* Pods that get nothing new are left first, the last ones before the others. */
static int64_t take_stranded(struct run *run, const struct vpod *vpod, int64_t left)
{
    for (size_t i = vpod->placed.at.len; i > 0 && left > 0; i--) {
        struct pod *pod = pod_get(run->place, vpod->placed.at.items[i - 1].ordinal);
        if (!pod->is_schedulable)
            left -= take(run, pod, pod->count < left ? pod->count : left);
    }
    return left;
}

void run_remove(struct place *place, const struct vpod *vpod, struct place_list *ret)
{
    const struct place_policy *policy = &place->policy;
    bool is_own = policy->has_descheduler || policy->fills_up;
    const struct place_weights *weights = is_own ? &policy->removing : &policy->placing;
    bool is_by_order = weights->zone == 0 && weights->node == 0 && weights->pod == 0;
    struct run run = run_begin(place, weights, TREE_SOME, -1);
    load(&run, vpod);
    int64_t left = take_stranded(&run, vpod, vpod->total - vpod->wish.vreplicas);
    for (size_t i = 0; i < place->touched.len && left > 0; i++)
        renew(&run, place->touched.items[i], place->touched.items[i]->is_schedulable);
    while (left > 0) {
        struct pod *pod = container_of(dom_best(run.root), struct pod, dom[TREE_SOME]);
        left -= take(&run, pod,
                     is_by_order && pod->count < left ? pod->count
                     : is_by_order                    ? left
                                                      : 1);
        renew(&run, pod, pod->count > 0);
    }
    run_end(&run, ret);
}
