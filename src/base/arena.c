// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/mem.h"
#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Blocks stand in one list: those before and including `current` are in use, those after it are
 * left from earlier turns. A block of the rest that fits is moved up behind `current`; a new one is
 * made only when none fits, so the list stops growing once it has seen the largest turn. */

#define BLOCK_BYTES ((size_t)16 * 1024)
/* Of an arena that lives for one decision nothing more is needed. Up to a kilobyte malloc keeps at
 * hand; what is larger makes it tidy up first. */
#define FIRST_BLOCK_BYTES ((size_t)960)

struct arena_block {
    struct arena_block *next;
    size_t size; /* bytes in data */
    _Alignas(max_align_t) unsigned char data[];
};

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

void arena_reset(struct arena *arena)
{
    arena->current = arena->first;
    arena->used = 0;
}

void arena_done(struct arena *arena)
{
    while (arena->first) {
        struct arena_block *next = arena->first->next;
        mem_free(arena->first);
        arena->first = next;
    }
    arena_init(arena);
}

static struct arena_block *block_new(size_t size, size_t usual)
{
    size = size > usual ? size : usual;
    assert(size <= SIZE_MAX - sizeof(struct arena_block));
    struct arena_block *block = mem_alloc(sizeof(*block) + size);
    block->size = size;
    return block;
}

static struct arena_block *unlink_fitting(struct arena_block **link, size_t size)
{
    for (; *link; link = &(*link)->next) {
        struct arena_block *block = *link;
        if (block->size < size)
            continue;
        *link = block->next;
        return block;
    }
    return NULL;
}

static void next_block(struct arena *arena, size_t size)
{
    struct arena_block **link = arena->current ? &arena->current->next : &arena->first;
    struct arena_block *block = unlink_fitting(link, size);
    if (!block)
        block = block_new(size, arena->first ? BLOCK_BYTES : FIRST_BLOCK_BYTES);
    block->next = *link;
    *link = block;
    arena->current = block;
    arena->used = 0;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    const size_t align = _Alignof(max_align_t);
    assert(size <= SIZE_MAX - align);
    size = (size + align - 1) / align * align;
    if (!arena->current || size > arena->current->size - arena->used)
        next_block(arena, size);
    void *ptr = arena->current->data + arena->used;
    arena->used += size;
    return memset(ptr, 0, size);
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
    char *copy = arena_alloc(arena, len + 1);
    if (len)
        memcpy(copy, text, len);
    return copy;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
    assert(fmt);
    char usual[SHORT_TEXT_BYTES]; /* as in mem_printf() */
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(usual, sizeof(usual), fmt, ap);
    va_end(ap);
    assert(len >= 0);
    char *text = arena_alloc(arena, (size_t)len + 1);
    if ((size_t)len < sizeof(usual))
        return memcpy(text, usual, (size_t)len + 1);
    va_start(ap, fmt);
    (void)vsnprintf(text, (size_t)len + 1, fmt, ap); /* the length is known by now */
    va_end(ap);
    return text;
}
