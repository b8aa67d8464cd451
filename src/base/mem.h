// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stddef.h>

/* The one place that calls malloc; running out of memory aborts, so callers never check. */
void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
void *mem_realloc(void *old, size_t size);
void *mem_dup(const void *data, size_t size);
char *mem_strdup(const char *text); /* NULL gives NULL */
char *mem_strndup(const char *text, size_t len);
#define SHORT_TEXT_BYTES 256 /* formatted on the stack first, so that it is done once */
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void mem_free(void *ptr);

/* scoped_free char *name = ...; is freed when the scope ends. */
void mem_free_scoped(void *ptr_to_ptr);
#define scoped_free __attribute__((cleanup(mem_free_scoped)))

/* Moves a pointer out of its variable, so that its cleanup does nothing. */
#define take_ptr(p)                                                                                \
    ({                                                                                             \
        __auto_type taken_ = (p);                                                                  \
        (p) = NULL;                                                                                \
        taken_;                                                                                    \
    })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
