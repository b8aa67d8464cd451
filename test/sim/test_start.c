// SPDX-License-Identifier: Apache-2.0
/* The start engine under everything that can go wrong. For each seed pods come and go while
 * processes crash, hang and lie, settings change and the supervisor dies and adopts; after every
 * step the world compares. Then nothing goes wrong any more: all that can start must get ready, and
 * all that is told to end must be over within its grace.
 *
 *   test_start [--seed N] [--seeds K] [--steps M] [--old FILE] [--repeat] */
#include "base/mem.h"
#include "seeds.h"
#include "startworld.h"
#include <stdio.h>

#define STEPS_DEFAULT 40
#define HEAL_ROUNDS 60
#define HEAL_ROUND_MS 5000
#define GRACE_MS 5000

enum { STEPS, STARTS, OVER_CAP, ADOPTIONS };

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

static void run_seed(uint64_t seed, int steps, struct seed_run *result)
{
    struct world world;
    world_open(&world, seed);
    for (; result->step < steps && world_is_ok(&world); result->step++) {
        world_act(&world);
        world_pass(&world, rng_between(&world.rng, 0, rng_chance(&world.rng, 1, 4) ? 6000 : 400));
    }
    heal(&world);
    end_all(&world);
    result->trace = world.trace;
    result->counts[STEPS] = world.steps;
    result->counts[STARTS] = world.starts;
    result->counts[OVER_CAP] = world.over_cap;
    result->counts[ADOPTIONS] = world.adoptions;
    result->at_ms = world.now;
    if (!world_is_ok(&world))
        result->failure = mem_strdup(world.failure);
    world_close(&world);
}

int main(int argc, char **argv)
{
    return seeds_main(argc, argv,
                      &(struct seeds){.run = run_seed,
                                      .steps = STEPS_DEFAULT,
                                      .twice = 10,
                                      .counts = {"steps", "starts",
                                                 "of them above the cap by minRate", "adoptions"},
                                      .promise = "whatever happens, it holds, and then settles"});
}
