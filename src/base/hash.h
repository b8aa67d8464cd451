// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* FNV-1a, for names and tags that must come out the same everywhere. Not against malice. */
#define HASH_START 14695981039346656037u
uint64_t hash_bytes(uint64_t hash, const void *data, size_t len);
/* A text and its end, so that "ab","c" and "a","bc" differ. */
uint64_t hash_text(uint64_t hash, const char *text);

/* For tables in memory: eight bytes at a time. Keys are names and paths of fifty bytes and more,
 * and are looked up for each change of each object. Spreads well; not against malice. */
#define HASH_MIX 0x9e3779b97f4a7c15u
static inline unsigned hash_quick(const void *data, size_t len)
{
    const char *key = data;
    uint64_t hash = len * HASH_MIX, word;
    for (; len >= sizeof(word); key += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, key, sizeof(word));
        hash = (hash ^ word) * HASH_MIX;
        hash ^= hash >> 29;
    }
    word = 0;
    memcpy(&word, key, len);
    hash = (hash ^ word) * HASH_MIX;
    hash =
        (hash ^ hash >> 32) * HASH_MIX; /* what differs in the last byte must reach the first bit */
    return (unsigned)(hash ^ hash >> 32);
}
