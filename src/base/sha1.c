// SPDX-License-Identifier: Apache-2.0
/* FIPS 180-4, section 6.1. */
#include "base/sha1.h"
#include <stdint.h>
#include <string.h>

#define BLOCK 64
#define LENGTH 8 /* bytes at the end of the last block */

static uint32_t rotate(uint32_t word, unsigned by)
{
    return word << by | word >> (32 - by);
}

static void schedule(const uint8_t *block, uint32_t w[80])
{
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
}

static uint32_t mix(size_t round, uint32_t b, uint32_t c, uint32_t d)
{
    if (round < 20)
        return ((b & c) | (~b & d)) + 0x5a827999;
    if (round < 40)
        return (b ^ c ^ d) + 0x6ed9eba1;
    if (round < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
}

static void add_block(uint32_t h[5], const uint8_t *block)
{
    uint32_t w[80], v[5];
    schedule(block, w);
    memcpy(v, h, sizeof(v));
    for (size_t i = 0; i < 80; i++) {
        uint32_t t = rotate(v[0], 5) + mix(i, v[1], v[2], v[3]) + v[4] + w[i];
        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotate(v[1], 30);
        v[1] = v[0];
        v[0] = t;
    }
    for (size_t i = 0; i < 5; i++)
        h[i] += v[i];
}

void sha1_hex(const void *data, size_t len, char out[SHA1_HEX])
{
    static const char DIGITS[] = "0123456789abcdef";
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    const uint8_t *at = data;
    size_t left = len;
    for (; left >= BLOCK; left -= BLOCK, at += BLOCK)
        add_block(h, at);
    uint8_t tail[2 * BLOCK] = {0};
    if (left > 0)
        memcpy(tail, at, left);
    tail[left] = 0x80;
    size_t size = left + 1 + LENGTH <= BLOCK ? BLOCK : (size_t)2 * BLOCK;
    uint64_t bits = (uint64_t)len * 8;
    for (size_t i = 0; i < LENGTH; i++)
        tail[size - 1 - i] = (uint8_t)(bits >> (8 * i));
    for (size_t i = 0; i < size; i += BLOCK)
        add_block(h, tail + i);
    for (size_t i = 0; i < SHA1_HEX - 1; i++)
        out[i] = DIGITS[h[i / 8] >> (28 - 4 * (i % 8)) & 15];
    out[SHA1_HEX - 1] = '\0';
}
