// SPDX-License-Identifier: Apache-2.0
/* What one admission costs in the engine alone, with ever more waiting: N workloads in 1000 queues,
 * three requests of different size, all quota in use. Then, again and again, one ends and the next
 * is admitted. Flat is right: the cost must not grow with who waits.
 *
 *     bench_admit_core [PENDING [ADMISSIONS]]
 * prints one line: pending, admissions, µs each. Under `valgrind --tool=callgrind
 * --toggle-collect=bench_admissions` the instructions are those of the admissions only. */
#include "base/mem.h"
#include "base/vec.h"
#include "core/admit/admit.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define QUEUES 1000
#define COHORT 10 /* queues in one */
#define RUNS 20   /* CPUs of a queue */

struct held {
    char key[32];
    struct admit_workload facts;
    struct admit_assigned assigned;
    struct admit_pick pick;
    char queue[16];
    int size;
};
struct bench {
    struct admit *admit;
    VEC(struct held *) held;
    int next;
};

static const int SIZES[] = {1, 5, 20};

static void put(struct bench *bench, int i, struct held *held)
{
    char key[32], local[32], uid[32];
    int size = SIZES[i % 3];
    struct admit_need need = {"cpu", size * 1000};
    struct admit_pod_set set = {.name = "main", .count = 1, .needs = &need, .n_needs = 1};
    (void)snprintf(key, sizeof(key), "ns/w%d", i);
    (void)snprintf(uid, sizeof(uid), "%08d", i);
    (void)snprintf(local, sizeof(local), "ns/q%d", (i / 3) % QUEUES);
    struct admit_workload facts = {.key = key,
                                   .uid = uid,
                                   .local = local,
                                   .priority = size,
                                   .created = 1000 + i,
                                   .pod_sets = &set,
                                   .n_pod_sets = 1,
                                   .is_active = true};
    if (held) { /* what the host would write */
        facts.has_quota = facts.is_admitted = true;
        facts.queue = held->queue;
        facts.assigned = &held->assigned;
        facts.n_assigned = 1;
    }
    (void)admit_put_workload(bench->admit, &facts, 0, NULL);
}

static void write_down(struct bench *bench, const struct admit_decisions *decisions)
{
    for (size_t i = 0; i < decisions->len; i++) {
        const struct admit_decision *decision = &decisions->items[i];
        if (decision->type != DECIDED_ADMIT)
            continue;
        struct held *held = mem_zalloc(sizeof(*held));
        (void)snprintf(held->key, sizeof(held->key), "%s", decision->key);
        (void)snprintf(held->queue, sizeof(held->queue), "%s", decision->queue);
        held->pick = decision->assigned[0].picks[0];
        held->assigned = decision->assigned[0];
        held->assigned.picks = &held->pick;
        put(bench, (int)strtol(held->key + 4, NULL, 10), held);
        vec_push(&bench->held, held);
    }
}

/* One ends, and what follows from it; not inlined, so that callgrind finds it. */
__attribute__((noinline)) static int bench_admissions(struct bench *bench, int n)
{
    int admitted = 0;
    for (size_t at = 0; admitted < n && bench->held.len > 0; at++) {
        at %= bench->held.len;
        struct held *held = bench->held.items[at];
        admit_remove_workload(bench->admit, held->key, 0);
        mem_free(held);
        vec_remove_swap(&bench->held, at);
        struct admit_decisions decisions;
        size_t before = bench->held.len;
        admit_step(bench->admit, 0, &decisions);
        write_down(bench, &decisions);
        admitted += (int)(bench->held.len - before);
    }
    return admitted;
}

static void make_queues(struct bench *bench)
{
    admit_put_flavor(bench->admit, "default", 0);
    for (int i = 0; i < QUEUES; i++) {
        static const char *const resources[] = {"cpu"}, *const flavors[] = {"default"};
        struct admit_quota quota = {RUNS * 1000, 100 * 1000, ADMIT_NO_LIMIT};
        struct admit_group group = {resources, 1, flavors, 1, &quota};
        char name[16], cohort[16], key[32];
        (void)snprintf(name, sizeof(name), "q%d", i);
        (void)snprintf(key, sizeof(key), "ns/q%d", i);
        (void)snprintf(cohort, sizeof(cohort), "c%d", i / COHORT);
        struct admit_queue queue = {.name = name,
                                    .cohort = cohort,
                                    .groups = &group,
                                    .n_groups = 1,
                                    .preempt_tries_next = true,
                                    .preemption = {WITHIN_LOWER, RECLAIM_ANY, false, false, 0}};
        (void)admit_put_queue(bench->admit, &queue, 0, NULL);
        admit_put_local(bench->admit, &(struct admit_local){.key = key, .queue = name}, 0);
    }
}

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    int pending = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10000;
    int n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1000;
    struct admit_settings settings;
    admit_settings_default(&settings);
    struct bench bench = {.admit = admit_new(&settings, 1)};
    make_queues(&bench);
    for (int i = 0; i < pending; i++)
        put(&bench, i, NULL);
    struct admit_decisions decisions;
    double start = seconds();
    admit_step(bench.admit, 0, &decisions);
    write_down(&bench, &decisions);
    double first = seconds() - start;
    start = seconds();
    int admitted = bench_admissions(&bench, n);
    double each = (seconds() - start) / (admitted > 0 ? admitted : 1);
    (void)printf("pending %d: first step %.1f ms, then %d admissions, %.2f us each\n", pending,
                 first * 1e3, admitted, each * 1e6);
    for (size_t i = 0; i < bench.held.len; i++)
        mem_free(bench.held.items[i]);
    vec_done(&bench.held);
    admit_free(bench.admit);
    return 0;
}
