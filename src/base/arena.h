// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stddef.h>

/* Memory with one lifetime: everything allocated during a request or a step is given back by one
 * arena_reset(). Blocks are kept across resets, so a warm arena does not call malloc. */
struct arena {
    struct arena_block *first; /* kept blocks, in order of use */
    struct arena_block *current;
    size_t used; /* bytes taken from `current` */
};

void arena_init(struct arena *arena);
void arena_reset(struct arena *arena);
void arena_done(struct arena *arena);
void *arena_alloc(struct arena *arena, size_t size); /* zeroed, aligned for any type */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t len);
char *arena_printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
