// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include <string.h>

#define FNV_PRIME 1099511628211u

uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * FNV_PRIME;
    return hash;
}

uint64_t hash_text(uint64_t hash, const char *text)
{
    return (hash_bytes(hash, text, strlen(text)) ^ 0xff) * FNV_PRIME;
}
