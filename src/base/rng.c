// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"
#include <assert.h>
#include <stddef.h>

/* SplitMix64 spreads any seed, 0 too, over the state, which must not be all zero. */
static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t value, int bits)
{
    return (value << bits) | (value >> (64 - bits));
}

void rng_seed(struct rng *rng, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++)
        rng->s[i] = splitmix(&seed);
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *rng, uint64_t limit)
{
    assert(limit > 0);
    /* 2^64 mod limit: drawing again below it leaves a whole number of rounds of `limit`. */
    uint64_t uneven = -limit % limit;
    uint64_t drawn;
    do
        drawn = rng_next(rng);
    while (drawn < uneven);
    return drawn % limit;
}

int64_t rng_between(struct rng *rng, int64_t low, int64_t high)
{
    assert(low <= high);
    uint64_t width = (uint64_t)high - (uint64_t)low;
    uint64_t offset = width == UINT64_MAX ? rng_next(rng) : rng_below(rng, width + 1);
    return (int64_t)((uint64_t)low + offset);
}

bool rng_chance(struct rng *rng, uint32_t numerator, uint32_t denominator)
{
    return rng_below(rng, denominator) < numerator;
}

void rng_uuid(struct rng *rng, uint64_t serial, char out[37])
{
    static const char HEX[] = "0123456789abcdef";
    static const char SHAPE[] = "ssssssss-xxxx-8xxx-yxxx-xxxxxxxxxxxx"; /* RFC 9562, 5.8 */
    uint64_t high = rng_next(rng), low = rng_next(rng), left = serial << 32;
    for (size_t i = 0; i < sizeof(SHAPE); i++) {
        uint64_t *bits = i < 18 ? &high : &low;
        switch (SHAPE[i]) {
        case 's':
            out[i] = HEX[left >> 60];
            left <<= 4;
            break;
        case 'x':
        case 'y':
            out[i] = HEX[SHAPE[i] == 'y' ? 8 | (*bits & 3) : *bits & 15];
            *bits >>= 4;
            break;
        default:
            out[i] = SHAPE[i];
        }
    }
}

void rng_suffix(struct rng *rng, char *out, unsigned len)
{
    /* No vowels and no 0, 1, 3: no words arise by chance, and no two characters look alike. */
    static const char ALPHABET[] = "bcdfghjklmnpqrstvwxz2456789";
    for (unsigned i = 0; i < len; i++)
        out[i] = ALPHABET[rng_below(rng, sizeof(ALPHABET) - 1)];
    out[len] = '\0';
}
