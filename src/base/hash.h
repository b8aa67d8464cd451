// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stddef.h>
#include <stdint.h>

/* FNV-1a, for names and tags that must come out the same everywhere. Not against malice. */
#define HASH_START 14695981039346656037u
uint64_t hash_bytes(uint64_t hash, const void *data, size_t len);
/* A text and its end, so that "ab","c" and "a","bc" differ. */
uint64_t hash_text(uint64_t hash, const char *text);
