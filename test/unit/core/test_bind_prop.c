// SPDX-License-Identifier: Apache-2.0
/* Random clusters against a reference that knows no index: for each pod it looks at every node and
 * every pod, by the rules as docs/place.md has them: room, spread, and who is near whom. After each
 * step the engine and the reference agree on the node for every class.
 *
 * BIND_CLUSTERS says how many clusters; a failure names the seed, BIND_SEED plays that one again.
 */
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/place/bind.h"
#include "seeds.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define NODES 7
#define APPS 4  /* a pod's label; one class each */
#define TERMS 5 /* "pods whose app is in a set", by zone or by host */
#define PODS 24
#define NEAR 4
#ifdef __SANITIZE_ADDRESS__
#define CLUSTERS 5000
#else
#define CLUSTERS 100000
#endif

struct node {
    int number, zone; /* zone -1: without the label */
    bool is_there, is_cordoned;
    int64_t has, liking;
};
struct term {
    unsigned apps; /* bits: whom it counts */
    bool by_host;
    struct bind_term *term;
};
struct near {
    int term;
    enum bind_nearness how;
    int64_t weight;
};
struct app {
    int64_t wants;
    struct near near[NEAR];
    size_t n_near;
    bool is_near_itself, is_spread;
    int64_t max_skew;
    struct bind_class *class;
};
struct pod {
    int app, node; /* node -1: none */
};
struct world {
    uint64_t seed;
    struct rng rng;
    struct node nodes[NODES];
    struct term terms[TERMS];
    struct app apps[APPS];
    struct pod pods[PODS];
    size_t n_pods;
    struct bind *bind;
};

static const char *const ZONES[] = {"z0", "z1", "z2"};
static const char *const HOSTS[] = {"h0", "h1", "h2", "h3", "h4", "h5", "h6"};

static int64_t pick(struct world *w, int64_t low, int64_t high)
{
    return rng_between(&w->rng, low, high);
}

static const char *domain_of(void *node, const char *key)
{
    const struct node *n = node;
    if (str_eq(key, "host"))
        return HOSTS[n->number];
    return n->zone >= 0 ? ZONES[n->zone] : NULL;
}

static void judge(void *arg, void *node, struct bind_fit *fit)
{
    const struct node *n = node;
    (void)arg;
    *fit = (struct bind_fit){!n->is_cordoned, n->liking, domain_of(node, "zone")};
}

/* ---- the reference ---- */

static bool is_same_domain(const struct world *w, const struct term *term, int a, int b)
{
    const struct node *x = &w->nodes[a], *y = &w->nodes[b];
    if (!x->is_there || !y->is_there)
        return false;
    return term->by_host ? a == b : x->zone >= 0 && x->zone == y->zone;
}

static int64_t near_count(const struct world *w, const struct term *term, int node)
{
    int64_t count = 0;
    for (size_t i = 0; i < w->n_pods; i++) {
        const struct pod *pod = &w->pods[i];
        count += pod->node >= 0 && (term->apps >> pod->app & 1) &&
                 is_same_domain(w, term, node, pod->node);
    }
    return count;
}

static int64_t count_all(const struct world *w, const struct term *term)
{
    int64_t count = 0;
    for (size_t i = 0; i < w->n_pods; i++) {
        const struct pod *pod = &w->pods[i];
        count += pod->node >= 0 && (term->apps >> pod->app & 1) &&
                 is_same_domain(w, term, pod->node, pod->node);
    }
    return count;
}

static bool is_near_fine(const struct world *w, const struct app *app, int node)
{
    bool is_met = true, has_domains = true;
    int64_t all = 0;
    for (size_t i = 0; i < app->n_near; i++) {
        const struct term *term = &w->terms[app->near[i].term];
        int64_t count = near_count(w, term, node);
        if (app->near[i].how == BIND_AVOIDS && count > 0)
            return false;
        if (app->near[i].how != BIND_WANTS)
            continue;
        is_met = is_met && count > 0;
        has_domains = has_domains && (term->by_host || w->nodes[node].zone >= 0);
        all += count_all(w, term);
    }
    return is_met || (app->is_near_itself && all == 0 && has_domains);
}

static int64_t liking(const struct world *w, const struct app *app, int node)
{
    int64_t sum = w->nodes[node].liking;
    for (size_t i = 0; i < app->n_near; i++) {
        if (app->near[i].how == BIND_PREFERS)
            sum += app->near[i].weight * near_count(w, &w->terms[app->near[i].term], node);
    }
    return sum > BIND_PREFERENCE_MAX    ? BIND_PREFERENCE_MAX
           : sum < -BIND_PREFERENCE_MAX ? -BIND_PREFERENCE_MAX
                                        : sum;
}

static int64_t left(const struct world *w, int node)
{
    int64_t sum = w->nodes[node].has;
    for (size_t i = 0; i < w->n_pods; i++)
        sum -= w->pods[i].node == node ? w->apps[w->pods[i].app].wants : 0;
    return sum;
}

static bool is_allowed(const struct world *w, const struct app *app, int node)
{
    const struct node *n = &w->nodes[node];
    return n->is_there && !n->is_cordoned && (!app->is_spread || n->zone >= 0);
}

/* Pods of the app's own label, in the zone, on nodes that are allowed. */
static int64_t spread_count(const struct world *w, const struct app *app, int zone)
{
    int64_t count = 0;
    for (size_t i = 0; i < w->n_pods; i++) {
        const struct pod *pod = &w->pods[i];
        count += pod->node >= 0 && &w->apps[pod->app] == app && is_allowed(w, app, pod->node) &&
                 w->nodes[pod->node].zone == zone;
    }
    return count;
}

static int64_t least_count(const struct world *w, const struct app *app)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < NODES; i++) {
        int64_t count = is_allowed(w, app, i) ? spread_count(w, app, w->nodes[i].zone) : INT64_MAX;
        least = count < least ? count : least;
    }
    return least;
}

static size_t best_node(const struct world *w, const struct app *app)
{
    size_t best = BIND_NONE;
    int64_t best_key[3] = {0};
    for (int i = 0; i < NODES; i++) {
        bool is_full = app->wants > 0 && left(w, i) < app->wants;
        if (is_full || !is_allowed(w, app, i) || !is_near_fine(w, app, i))
            continue;
        int64_t has = w->nodes[i].has, room = left(w, i);
        int64_t share = has > 0 && room > 0 ? room * 1000000 / has : 0;
        int64_t key[3] = {app->is_spread ? spread_count(w, app, w->nodes[i].zone) : 0,
                          -liking(w, app, i), -share};
        bool is_better = best == BIND_NONE;
        for (int k = 0; k < 3 && !is_better && key[k] <= best_key[k]; k++)
            is_better = key[k] < best_key[k];
        if (!is_better)
            continue;
        best = (size_t)i;
        memcpy(best_key, key, sizeof(key));
    }
    if (best != BIND_NONE && app->is_spread && app->max_skew > 0 &&
        best_key[0] + 1 - least_count(w, app) > app->max_skew)
        return BIND_NONE;
    return best;
}

/* ---- both ---- */

static void tell_pod(struct world *w, const struct pod *pod, int sign)
{
    struct app *app = &w->apps[pod->app];
    bind_take(w->bind, (size_t)pod->node, &app->wants, 1, sign);
    if (app->is_spread)
        bind_count(w->bind, app->class, (size_t)pod->node, sign);
    for (int i = 0; i < TERMS; i++) {
        if (w->terms[i].apps >> pod->app & 1)
            (void)bind_term_count(w->bind, w->terms[i].term, (size_t)pod->node, sign);
    }
}

static void tell_node(struct world *w, int i)
{
    struct node *node = &w->nodes[i];
    bind_set_node(w->bind, (size_t)i, node->is_there ? node : NULL, &node->has, 1);
}

static void compare(struct world *w)
{
    for (int i = 0; i < APPS; i++) {
        enum bind_problem problem;
        size_t want = best_node(w, &w->apps[i]);
        size_t is = bind_pick(w->bind, w->apps[i].class, NULL, &problem);
        if (want != is)
            fail_msg("seed %" PRIu64 ": app %d goes to %zd, should go to %zd", w->seed, i,
                     (ssize_t)is, (ssize_t)want);
        for (int n = 0; n < NODES; n++) {
            enum bind_problem why = bind_why(w->bind, w->apps[i].class, (size_t)n, NULL);
            bool is_far = why == BIND_NOT_NEAR || why == BIND_TOO_NEAR;
            if (w->nodes[n].is_there && is_far == is_near_fine(w, &w->apps[i], n))
                fail_msg("seed %" PRIu64 ": app %d, node %d: told %d", w->seed, i, n, (int)why);
        }
    }
}

static void make_class(struct world *w, struct app *app)
{
    struct bind_near near[NEAR];
    for (size_t i = 0; i < app->n_near; i++)
        near[i] = (struct bind_near){w->terms[app->near[i].term].term, app->near[i].how,
                                     app->near[i].weight};
    struct bind_rules rules = {.judge = judge,
                               .wants = &app->wants,
                               .n = 1,
                               .has_domains = app->is_spread,
                               .is_spread = app->is_spread,
                               .max_skew = app->max_skew,
                               .near = near,
                               .n_near = app->n_near,
                               .is_near_itself = app->is_near_itself};
    app->class = bind_class_new(w->bind, &rules);
    for (size_t i = 0; i < w->n_pods && app->is_spread; i++) {
        if (w->pods[i].node >= 0 && &w->apps[w->pods[i].app] == app)
            bind_count(w->bind, app->class, (size_t)w->pods[i].node, 1);
    }
}

static void random_app(struct world *w, struct app *app)
{
    *app = (struct app){.wants = pick(w, 0, 3), .is_near_itself = pick(w, 0, 1)};
    app->n_near = (size_t)pick(w, 0, NEAR);
    for (size_t i = 0; i < app->n_near; i++)
        app->near[i] = (struct near){(int)pick(w, 0, TERMS - 1), (enum bind_nearness)pick(w, 0, 2),
                                     pick(w, -60, 60)};
    app->is_spread = pick(w, 0, 3) == 0;
    app->max_skew = app->is_spread ? pick(w, 0, 2) : 0;
}

static void open_world(struct world *w, uint64_t seed)
{
    *w = (struct world){.seed = seed, .bind = bind_new(1)};
    rng_seed(&w->rng, seed);
    bind_domains(w->bind, domain_of);
    for (int i = 0; i < NODES; i++) {
        w->nodes[i] = (struct node){i,
                                    (int)pick(w, -1, 2),
                                    pick(w, 0, 9) > 0,
                                    pick(w, 0, 9) == 0,
                                    pick(w, 0, 12),
                                    pick(w, -20, 20)};
        (void)bind_add_node(w->bind);
        tell_node(w, i);
    }
    for (int i = 0; i < TERMS; i++)
        w->terms[i] = (struct term){(unsigned)pick(w, 0, (1 << APPS) - 1), pick(w, 0, 1),
                                    bind_term_new(w->bind, "")};
    for (int i = 0; i < TERMS; i++) { /* with the right key, and made while there are others */
        bind_term_free(w->bind, w->terms[i].term);
        w->terms[i].term = bind_term_new(w->bind, w->terms[i].by_host ? "host" : "zone");
    }
    for (int i = 0; i < APPS; i++) {
        random_app(w, &w->apps[i]);
        make_class(w, &w->apps[i]);
    }
}

static void step_pod(struct world *w)
{
    if (w->n_pods == PODS || (w->n_pods > 0 && pick(w, 0, 3) == 0)) {
        size_t at = (size_t)pick(w, 0, (int64_t)w->n_pods - 1);
        tell_pod(w, &w->pods[at], -1);
        w->pods[at] = w->pods[--w->n_pods];
        return;
    }
    struct pod pod = {.app = (int)pick(w, 0, APPS - 1)};
    size_t node = best_node(w, &w->apps[pod.app]);
    if (node == BIND_NONE || pick(w, 0, 7) == 0) /* somebody else has put it somewhere */
        node = (size_t)pick(w, 0, NODES - 1);
    pod.node = (int)node;
    w->pods[w->n_pods++] = pod;
    tell_pod(w, &pod, 1);
}

static void step_other(struct world *w)
{
    int i = (int)pick(w, 0, NODES - 1);
    struct node *node = &w->nodes[i];
    struct app *app = &w->apps[pick(w, 0, APPS - 1)];
    switch (pick(w, 0, 3)) {
    case 0:
        node->is_there = !node->is_there;
        break;
    case 1:
        node->zone = (int)pick(w, -1, 2);
        break;
    case 2:
        node->is_cordoned = !node->is_cordoned;
        break;
    default: /* a class that comes when pods are there */
        bind_class_free(w->bind, app->class);
        make_class(w, app);
        return;
    }
    tell_node(w, i);
}

static void run_world(uint64_t seed)
{
    struct world w;
    open_world(&w, seed);
    compare(&w);
    for (int64_t i = pick(&w, 4, 20); i > 0; i--) {
        if (pick(&w, 0, 4) > 0)
            step_pod(&w);
        else
            step_other(&w);
        compare(&w);
    }
    bind_free(w.bind);
}

static void test_clusters(void **state)
{
    (void)state;
    seeds_play("BIND_CLUSTERS", "BIND_SEED", CLUSTERS, run_world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clusters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
