// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Seeded random numbers (xoshiro256**): the same seed gives the same sequence everywhere. Not for
 * secrets. */
struct rng {
    uint64_t s[4];
};

void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t limit);             /* 0 <= result < limit, unbiased */
int64_t rng_between(struct rng *rng, int64_t low, int64_t high); /* both ends included */
bool rng_chance(struct rng *rng, uint32_t numerator, uint32_t denominator);
/* A UUID (version 8) that begins with the low 32 bits of `serial` and is random otherwise: those
 * with a greater serial sort later, but for the one in four billion where it wraps. Writes 36
 * characters and a NUL. */
void rng_uuid(struct rng *rng, uint64_t serial, char out[37]);
/* `len` characters from the alphabet Kubernetes uses for generated names, and a NUL. */
void rng_suffix(struct rng *rng, char *out, unsigned len);
