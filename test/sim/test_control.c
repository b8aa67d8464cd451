// SPDX-License-Identifier: Apache-2.0
/* The garbage collector, namespaces and expiry under everything that can go wrong: for each seed a
 * client makes a mess while the disk, the network and the controllers fail; after every step all of
 * ledger.h must hold. Then the faults end, and within bounded virtual time everything must be as if
 * they had never been.
 *
 *   test_control [--seed N] [--seeds K] [--steps M] [--old FILE] [--repeat] */
#include "base/mem.h"
#include "client.h"
#include "control/controllers.h"
#include "seeds.h"
#include <stdio.h>

#define START 1767225600000 /* 2026-01-01 */
#define SECOND 1000
#define HEAL_ROUNDS 40
#define HEAL_ROUND_MS (15 * SECOND)
#define STEPS_DEFAULT 100

/* Those that clean up; what makes objects of its own has a test of its own. */
static const struct controller *const CLEANERS[] = {&CONTROLLER_GARBAGE, &CONTROLLER_NAMESPACE,
                                                    &CONTROLLER_EXPIRY, NULL};

struct run {
    uint64_t seed;
    struct sim *sim;
    struct ledger ledger;
    struct client client;
};

static void on_change(void *arg, struct change *change)
{
    struct run *run = arg;
    if (run->ledger.sim != NULL)
        ledger_on_change(&run->ledger, change);
}

static void on_seen(void *arg, struct change *change)
{
    struct run *run = arg;
    if (run->ledger.sim != NULL)
        ledger_on_seen(&run->ledger, change);
}

static void on_reopen(void *arg)
{
    ledger_on_reopen(&((struct run *)arg)->ledger);
}

/* How bad it is depends on the seed as well: from a slow network to a disk that is hardly there. */
static struct sim_faults faults_of(uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed * 31 + 7);
    bool is_calm = rng_chance(&rng, 1, 8);
    return (struct sim_faults){
        .commit_refused = is_calm ? 0 : (unsigned)rng_below(&rng, 1500),
        .crash_before = is_calm ? 0 : (unsigned)rng_below(&rng, 300),
        .crash_after = is_calm ? 0 : (unsigned)rng_below(&rng, 300),
        .conflict = (unsigned)rng_below(&rng, 3000),
        .restart = (unsigned)rng_below(&rng, 500),
        .commit_ms = rng_between(&rng, 0, 60),
        .lag_ms = rng_between(&rng, 0, 400),
        .submit_ms = rng_between(&rng, 0, 200),
    };
}

static void run_open(struct run *run, uint64_t seed)
{
    *run = (struct run){.seed = seed};
    ledger_init(&run->ledger);
    struct sim_options options = {.seed = seed,
                                  .start = START,
                                  .faults = faults_of(seed),
                                  .controllers = CLEANERS,
                                  .on_change = on_change,
                                  .on_seen = on_seen,
                                  .on_reopen = on_reopen,
                                  .arg = run};
    run->sim = sim_new(&options);
    ledger_start(&run->ledger, run->sim);
    client_init(&run->client, run->sim, &run->ledger);
}

static void run_close(struct run *run)
{
    run->ledger.sim = NULL;
    sim_free(run->sim);
    ledger_done(&run->ledger);
}

/* Lets virtual time pass, and checks after every step. */
static void pass(struct run *run, time_ms span)
{
    time_ms deadline = sim_now(run->sim) + span;
    ledger_check(&run->ledger);
    while (run->ledger.failure == NULL && sim_clock_next(sim_clock(run->sim)) <= deadline) {
        (void)sim_step(run->sim);
        ledger_check(&run->ledger);
    }
    if (run->ledger.failure == NULL)
        (void)sim_run_until(run->sim, deadline, NULL, NULL);
}

/* Rounds, because an event may expire and take a family with it at any time: what counts is that
 * there is a time soon at which nothing is left to do. */
static void settle(struct run *run)
{
    if (run->ledger.failure != NULL)
        return;
    for (int i = 0; i < HEAL_ROUNDS; i++) {
        mem_free(take_ptr(run->ledger.failure)); /* of the round before: not settled yet */
        (void)client_let_go(&run->client);
        pass(run, HEAL_ROUND_MS);
        if (run->ledger.failure != NULL)
            return;
        ledger_check_converged(&run->ledger);
        if (run->ledger.failure == NULL)
            return;
    }
}

static void heal(struct run *run)
{
    sim_heal(run->sim);
    settle(run);
    if (run->client.answered != run->client.writes)
        ledger_fail(&run->ledger, "%d writes, %d answers", (int)run->client.writes,
                    (int)run->client.answered);
}

/* Nobody makes events any more, so an hour later there are none. */
static void outlive_events(struct run *run)
{
    pass(run, (time_ms)EVENT_LIFETIME_MS + 60 * SECOND);
    settle(run);
    if (cache_count(sim_store(run->sim)->cache, &KIND_EVENT) > 0)
        ledger_fail(&run->ledger, "an event outlived its hour");
}

enum { STEPS, WRITES, RECONCILES, CRASHES };

static void run_seed(uint64_t seed, int steps, struct seed_run *result)
{
    struct run run;
    run_open(&run, seed);
    pass(&run, 100);
    for (; result->step < steps && run.ledger.failure == NULL; result->step++)
        pass(&run, client_act(&run.client));
    heal(&run);
    outlive_events(&run);
    struct sim_stats stats = sim_stats(run.sim);
    result->trace = sim_trace_hash(run.sim);
    result->counts[STEPS] = stats.steps;
    result->counts[WRITES] = run.client.writes;
    result->counts[RECONCILES] = stats.reconciles;
    result->counts[CRASHES] = stats.crashes;
    result->at_ms = sim_now(run.sim) - START;
    result->failure = mem_strdup(run.ledger.failure);
    run_close(&run);
}

int main(int argc, char **argv)
{
    return seeds_main(argc, argv,
                      &(struct seeds){.run = run_seed,
                                      .steps = STEPS_DEFAULT,
                                      .counts = {"steps", "writes", "reconciles", "crashes"},
                                      .promise = "whatever happens, it holds, and then settles"});
}
