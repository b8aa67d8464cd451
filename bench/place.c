// SPDX-License-Identifier: Apache-2.0
/* bench_place: what a vreplica costs, by number of pods and of vreplicas, and what it takes to find
 * nodes for a gang. The engine alone: nothing is written. One object of JSON.
 * bench_place POLICY PODS VPODS VREPLICAS: one case once, for a profiler; told are nanoseconds. */
#include "core/place/place.h"
#include "base/mem.h"
#include "core/place/bind.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 3
#define ZONES 3

enum policy { EVEN_ZONE, ZONE, EVEN_NODE, FILL_UP, POLICIES };
static const char *const NAMES[] = {"even+zone", "zone", "even+node", "MAXFILLUP"};

static uint64_t cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* always there */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct place_policy policy_of(enum policy which)
{
    struct place_policy policy = {.has_scheduler = true, .placing = {.ordinal = 2}};
    policy.is_even = which == EVEN_ZONE || which == EVEN_NODE;
    policy.max_skew = 2;
    policy.placing.zone = which == EVEN_NODE ? 0 : 10;
    policy.placing.node = which == EVEN_NODE ? 10 : 0;
    if (which == FILL_UP)
        place_policy_fill_up(&policy);
    return policy;
}

static struct place *pool(enum policy which, int32_t pods, int32_t capacity)
{
    struct place_policy policy = policy_of(which);
    struct place *place = place_new(&policy, capacity);
    int32_t nodes = pods / 10 > ZONES ? pods / 10 : ZONES;
    char name[24], zone[24];
    place_set_replicas(place, pods);
    for (int32_t i = 0; i < nodes; i++) {
        (void)snprintf(name, sizeof(name), "node%" PRId32, i);
        (void)snprintf(zone, sizeof(zone), "zone%" PRId32, i % ZONES);
        place_set_node(place, name, zone, PLACE_NODE_OK);
    }
    for (int32_t i = 0; i < pods; i++) {
        (void)snprintf(name, sizeof(name), "node%" PRId32, i % nodes);
        place_set_pod(place, i, name, false);
    }
    return place;
}

/* `vpods` vpods of so many vreplicas each, from nothing. CPU time of the placing alone. */
static double ns_each(enum policy which, int32_t pods, int32_t vpods, int32_t vreplicas)
{
    int64_t all = (int64_t)vpods * vreplicas;
    struct place *place = pool(which, pods, (int32_t)(all / pods + 20));
    struct place_wish wish = {.vreplicas = vreplicas};
    char name[24];
    for (int32_t i = 0; i < vpods; i++) {
        (void)snprintf(name, sizeof(name), "v%" PRId32, i);
        place_set_vpod(place, name, &wish, NULL, 0);
    }
    uint64_t before = cpu_ns(), placed = 0;
    for (int32_t i = 0; i < vpods; i++) {
        struct place_result result = {0};
        (void)snprintf(name, sizeof(name), "v%" PRId32, i);
        (void)place_schedule(place, name, &result);
        placed += (uint64_t)result.placed;
        place_result_done(&result);
    }
    uint64_t took = cpu_ns() - before;
    place_free(place);
    return placed > 0 ? (double)took / (double)placed : 0;
}

static double best_of(enum policy which, int32_t pods, int32_t vpods, int32_t vreplicas)
{
    double least = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double ns = ns_each(which, pods, vpods, vreplicas);
        least = i == 0 || ns < least ? ns : least;
    }
    return least;
}

static void any_node(void *arg, void *node, struct bind_fit *fit)
{
    (void)arg;
    *fit = (struct bind_fit){.is_allowed = true, .domain = node};
}

/* All members of a gang get a node. */
static double gang_ms(size_t n)
{
    static char *const DOMAINS[ZONES] = {"a", "b", "c"};
    const int64_t has[] = {4000, 1 << 30, 110}, wants[] = {2500, 1 << 20, 1};
    struct bind *bind = bind_new(3);
    for (size_t i = 0; i < n; i++)
        bind_set_node(bind, bind_add_node(bind), DOMAINS[i % ZONES], has, 3);
    uint64_t before = cpu_ns();
    struct bind_rules rules = {.judge = any_node,
                               .wants = wants,
                               .n = 3,
                               .has_domains = true,
                               .is_spread = true,
                               .max_skew = 1};
    struct bind_class *class = bind_class_new(bind, &rules);
    for (size_t i = 0; i < n; i++) {
        enum bind_problem problem;
        size_t id = bind_pick(bind, class, NULL, &problem);
        if (id == BIND_NONE)
            return -1;
        bind_take(bind, id, wants, 3, 1);
        bind_count(bind, class, id, 1);
    }
    double took = (double)(cpu_ns() - before) / 1e6;
    bind_free(bind);
    return took;
}

static int one_case(char **args)
{
    for (int which = 0; which < POLICIES; which++) {
        if (strcmp(args[0], NAMES[which]) != 0)
            continue;
        printf("%.1f\n",
               ns_each((enum policy)which, (int32_t)strtol(args[1], NULL, 10),
                       (int32_t)strtol(args[2], NULL, 10), (int32_t)strtol(args[3], NULL, 10)));
        return 0;
    }
    (void)fprintf(stderr, "bench_place: there is no policy '%s'\n", args[0]);
    return 2;
}

int main(int argc, char **argv)
{
    static const int32_t PODS[] = {10, 100, 1000, 10000};
    static const int32_t VREPLICAS[] = {1000, 10000, 100000, 1000000};
    if (argc == 5)
        return one_case(argv + 1);
    const char *sep = "";
    printf("{\"runs\":[");
    for (int which = 0; which < POLICIES; which++) {
        for (size_t p = 0; p < ARRAY_LEN(PODS); p++) {
            for (size_t v = 0; v < ARRAY_LEN(VREPLICAS); v++, sep = ",")
                printf("%s{\"policy\":\"%s\",\"pods\":%" PRId32 ",\"vreplicas\":%" PRId32
                       ",\"vpods\":1,\"ns\":%.1f}",
                       sep, NAMES[which], PODS[p], VREPLICAS[v],
                       best_of((enum policy)which, PODS[p], 1, VREPLICAS[v]));
            printf(",{\"policy\":\"%s\",\"pods\":%" PRId32
                   ",\"vreplicas\":10,\"vpods\":10000,\"ns\":%.1f}",
                   NAMES[which], PODS[p], best_of((enum policy)which, PODS[p], 10000, 10));
        }
    }
    printf("],\"gang\":[");
    for (size_t n = 500; n <= 5000; n *= 10)
        printf("%s{\"pods\":%zu,\"nodes\":%zu,\"ms\":%.2f}", n > 500 ? "," : "", n, n, gang_ms(n));
    printf("]}\n");
    return 0;
}
