// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdint.h>
#include <stdlib.h>

/* Plays seeds 1 to `count`. The variable `count_name` of the environment says another count;
 * `seed_name` plays that one seed again, and no other. */
static inline void seeds_play(const char *count_name, const char *seed_name, uint64_t count,
                              void (*play)(uint64_t seed))
{
    const char *other = getenv(count_name), *seed = getenv(seed_name);
    if (seed != NULL) {
        play(strtoull(seed, NULL, 10));
        return;
    }
    uint64_t n = other != NULL ? strtoull(other, NULL, 10) : count;
    for (uint64_t i = 1; i <= n; i++)
        play(i);
}
