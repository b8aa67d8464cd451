// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/mem.h"
#include <stddef.h>
#include <string.h>

/* A growing array of any type: struct { T *items; size_t len, cap; }; zero-initialise to start.
 *     VEC(int) v = {0};
 *     vec_push(&v, 3);
 *     for (size_t i = 0; i < v.len; i++) use(v.items[i]);
 *     vec_done(&v); */
#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *items;                                                                                  \
        size_t len;                                                                                \
        size_t cap;                                                                                \
    }

#define vec_push(v, item)                                                                          \
    do {                                                                                           \
        if ((v)->len == (v)->cap)                                                                  \
            (v)->items = vec_grow_((v)->items, &(v)->cap, sizeof(*(v)->items));                    \
        (v)->items[(v)->len++] = (item);                                                           \
    } while (0)
#define vec_pop(v) ((v)->items[--(v)->len])
#define vec_last(v) (&(v)->items[(v)->len - 1])
#define vec_clear(v) ((void)((v)->len = 0))
/* Order is not kept: the last item takes the place of the removed one. */
#define vec_remove_swap(v, i) ((void)((v)->items[i] = (v)->items[--(v)->len]))
#define vec_done(v)                                                                                \
    do {                                                                                           \
        mem_free((v)->items);                                                                      \
        (v)->items = NULL;                                                                         \
        (v)->len = (v)->cap = 0;                                                                   \
    } while (0)

void *vec_grow_(void *items, size_t *cap, size_t item_size);
