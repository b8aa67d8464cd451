// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* What simulations have in common: options of the command line, the first seeds twice, then one
 * seed after the other, as TAP. What fails is told with the command that repeats it.
 *
 *     --seed 1 --seeds 1 --steps N   which seeds, and how many steps each
 *     --old FILE                     also the seeds that once failed, lines "SEED STEPS"
 *     --all                          goes on after a seed that failed
 *     --trace                        tells what happens, where a simulation can
 *     --members N                    one large run instead, where there is one */

#define SEEDS_COUNTS 8

struct seed_run { /* zero at first */
    uint64_t trace;
    uint64_t counts[SEEDS_COUNTS];
    int step;      /* how far it came */
    int64_t at_ms; /* likewise */
    char *failure; /* NULL: none; given to the caller */
};
struct seeds {
    void (*run)(uint64_t seed, int steps, struct seed_run *run);
    int steps;                        /* unless --steps says otherwise */
    uint64_t twice;                   /* so many seeds have to repeat themselves; 0: one */
    const char *counts[SEEDS_COUNTS]; /* what was counted, for people */
    const char *promise;
    /* Whether what was to be tried did happen, when all went well; NULL: no such case. */
    bool (*has_happened)(const uint64_t *counts, uint64_t seeds);
    bool *ret_is_traced;            /* NULL: cannot */
    int (*run_large)(int64_t size); /* NULL: there is none */
};
/* The exit code of the program. */
int seeds_main(int argc, char **argv, const struct seeds *seeds);
