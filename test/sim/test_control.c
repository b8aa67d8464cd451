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
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct summary {
    uint64_t trace, steps, reconciles, crashes, writes;
};

/* False: it failed, and said so. */
static bool run_seed(uint64_t seed, int steps, struct summary *summary)
{
    struct run run;
    int step = 0;
    run_open(&run, seed);
    pass(&run, 100);
    for (; step < steps && run.ledger.failure == NULL; step++)
        pass(&run, client_act(&run.client));
    heal(&run);
    outlive_events(&run);
    struct sim_stats stats = sim_stats(run.sim);
    *summary =
        (struct summary){sim_trace_hash(run.sim), summary->steps + stats.steps,
                         summary->reconciles + stats.reconciles, summary->crashes + stats.crashes,
                         summary->writes + run.client.writes};
    bool ok = run.ledger.failure == NULL;
    if (!ok)
        printf("# seed %" PRIu64 ", step %d, %" PRId64 " ms: %s\n# repeat: test_sim_control --seed "
               "%" PRIu64 " --seeds 1 --steps %d\n",
               seed, step, sim_now(run.sim) - START, run.ledger.failure, seed, steps);
    run_close(&run);
    return ok;
}

/* The same seed twice is the same run. */
static bool repeats(uint64_t seed, int steps)
{
    struct summary first = {0}, second = {0};
    if (!run_seed(seed, steps, &first) || !run_seed(seed, steps, &second))
        return false;
    if (first.trace != second.trace)
        printf("# seed %" PRIu64 " does not repeat itself\n", seed);
    return first.trace == second.trace;
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
    printf("# %" PRIu64 " steps, %" PRIu64 " writes, %" PRIu64 " reconciles, %" PRIu64 " crashes\n",
           summary.steps, summary.writes, summary.reconciles, summary.crashes);
    say(&number, all, "whatever happens, it holds, and then settles");
    return ok && all ? 0 : 1;
}
