// SPDX-License-Identifier: Apache-2.0
/* The start engine under everything that can go wrong. For each seed pods come and go while
 * processes crash, hang and lie, settings change and the supervisor dies and adopts; after every
 * step the world compares. Then nothing goes wrong any more: all that can start must get ready, and
 * all that is told to end must be over within its grace.
 *
 *   test_start [--seed N] [--seeds K] [--steps M] [--old FILE] [--repeat] */
#include "startworld.h"
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS_DEFAULT 40
#define HEAL_ROUNDS 60
#define HEAL_ROUND_MS 5000
#define GRACE_MS 5000

struct summary {
    uint64_t trace, steps, starts, over_cap, adoptions;
};

static void end_all(struct world *world)
{
    for (size_t p = 0; p < world->pods.len; p++)
        if (world->pods.items[p]->pod)
            world_stop(world, world->pods.items[p], GRACE_MS);
    world_drain(world);
    world_pass(world, GRACE_MS + 2 * SW_SLACK_MS);
    for (size_t p = 0; p < world->pods.len; p++) {
        struct sw_pod *pod = world->pods.items[p];
        if (pod->pod && !pod->is_over)
            world_fail(world, "%s does not end", pod->uid);
        if (pod->pod && world_is_ok(world))
            world_forget(world, pod);
    }
    world_drain(world);
    if (world_is_ok(world) && start_deadline(world->start) != TIME_NEVER)
        world_fail(world, "there is something left to wait for");
}

static void heal(struct world *world)
{
    world_heal(world);
    for (int i = 0; i < HEAL_ROUNDS && world_is_ok(world) && world_unsettled(world); i++)
        world_pass(world, HEAL_ROUND_MS);
    const char *unsettled = world_unsettled(world);
    if (world_is_ok(world) && unsettled)
        world_fail(world, "%s", unsettled);
}

/* False: it failed, and said so. */
static bool run_seed(uint64_t seed, int steps, struct summary *summary)
{
    struct world world;
    int step = 0;
    world_open(&world, seed);
    for (; step < steps && world_is_ok(&world); step++) {
        world_act(&world);
        world_pass(&world, rng_between(&world.rng, 0, rng_chance(&world.rng, 1, 4) ? 6000 : 400));
    }
    heal(&world);
    end_all(&world);
    bool ok = world_is_ok(&world);
    if (!ok)
        printf("# seed %" PRIu64 ", step %d, %" PRId64 " ms: %s\n# repeat: test_sim_start --seed "
               "%" PRIu64 " --seeds 1 --steps %d\n",
               seed, step, world.now, world.failure, seed, steps);
    *summary =
        (struct summary){world.trace, summary->steps + world.steps, summary->starts + world.starts,
                         summary->over_cap + world.over_cap, summary->adoptions + world.adoptions};
    world_close(&world);
    return ok;
}

static bool repeats(uint64_t seed, int steps)
{
    struct summary first = {0}, second = {0};
    for (uint64_t s = seed; s < seed + 10; s++) {
        if (!run_seed(s, steps, &first) || !run_seed(s, steps, &second))
            return false;
        if (first.trace == second.trace)
            continue;
        printf("# seed %" PRIu64 " does not repeat itself\n", s);
        return false;
    }
    return true;
}

/* Lines "SEED STEPS", # begins a comment. */
static bool run_old(const char *path, struct summary *summary)
{
    FILE *file = fopen(path, "re");
    char line[256];
    bool ok = file != NULL;
    if (file == NULL)
        printf("# cannot open %s\n", path);
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        uint64_t seed;
        int steps;
        if (line[0] != '#' && sscanf(line, "%" SCNu64 " %d", &seed, &steps) == 2)
            ok = run_seed(seed, steps, summary) && ok;
    }
    if (file != NULL)
        (void)fclose(file);
    return ok;
}

static void say(int *number, bool ok, const char *what)
{
    printf("%s %d - %s\n", ok ? "ok" : "not ok", ++*number, what);
    (void)fflush(stdout);
}

static bool run_range(uint64_t first, uint64_t count, int steps, struct summary *summary)
{
    bool ok = true;
    for (uint64_t seed = first; seed < first + count && ok; seed++)
        ok = run_seed(seed, steps, summary);
    return ok;
}

int main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {
        {"seed", required_argument, NULL, 's'},  {"seeds", required_argument, NULL, 'k'},
        {"steps", required_argument, NULL, 'm'}, {"old", required_argument, NULL, 'o'},
        {"repeat", no_argument, NULL, 'r'},      {0}};
    uint64_t seed = 1, seeds = 1;
    int steps = STEPS_DEFAULT, option, number = 0;
    const char *old = NULL;
    bool repeat = false, ok = true;
    struct summary summary = {0};
    while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
        switch (option) {
        case 's':
            seed = strtoull(optarg, NULL, 10);
            break;
        case 'k':
            seeds = strtoull(optarg, NULL, 10);
            break;
        case 'm':
            steps = (int)strtol(optarg, NULL, 10);
            break;
        case 'o':
            old = optarg;
            break;
        case 'r':
            repeat = true;
            break;
        default:
            return 2;
        }
    }
    printf("1..%d\n", 1 + (old != NULL) + repeat);
    if (old != NULL)
        say(&number, ok &= run_old(old, &summary), "seeds that once failed");
    if (repeat)
        say(&number, ok &= repeats(seed, steps), "the same seed is the same run");
    bool all = run_range(seed, seeds, steps, &summary);
    printf("# %" PRIu64 " steps, %" PRIu64 " starts, %" PRIu64 " of them above the cap by minRate, "
           "%" PRIu64 " adoptions\n",
           summary.steps, summary.starts, summary.over_cap, summary.adoptions);
    say(&number, all, "whatever happens, it holds, and then settles");
    return ok && all ? 0 : 1;
}
