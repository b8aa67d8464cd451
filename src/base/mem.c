// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nothing useful can be done without memory, and a check at every caller would never be tested:
 * stop here, where a core dump shows who asked. */
static void *must(void *ptr)
{
    if (!ptr)
        abort();
    return ptr;
}

/* malloc(0) may answer NULL, which would look like exhaustion. */
static size_t at_least_one(size_t size)
{
    return size ? size : 1;
}

void *mem_alloc(size_t size)
{
    return must(malloc(at_least_one(size)));
}

void *mem_zalloc(size_t size)
{
    return must(calloc(1, at_least_one(size)));
}

void *mem_realloc(void *old, size_t size)
{
    return must(realloc(old, at_least_one(size)));
}

void *mem_dup(const void *data, size_t size)
{
    void *copy = mem_alloc(size);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *mem_strdup(const char *text)
{
    return text ? mem_dup(text, strlen(text) + 1) : NULL;
}

char *mem_strndup(const char *text, size_t len)
{
    char *copy = mem_alloc(len + 1);
    if (len)
        memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

/* Most texts are short: they are made once, and measured by that. */
char *mem_printf(const char *fmt, ...)
{
    assert(fmt);
    char usual[SHORT_TEXT_BYTES];
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(usual, sizeof(usual), fmt, ap);
    va_end(ap);
    assert(len >= 0);
    char *text = mem_alloc((size_t)len + 1);
    if ((size_t)len < sizeof(usual))
        return memcpy(text, usual, (size_t)len + 1);
    va_start(ap, fmt);
    (void)vsnprintf(text, (size_t)len + 1, fmt, ap); /* the length is known by now */
    va_end(ap);
    return text;
}

void mem_free(void *ptr)
{
    free(ptr);
}

void mem_free_scoped(void *ptr_to_ptr)
{
    void *ptr;
    memcpy(&ptr, ptr_to_ptr, sizeof(ptr)); /* it points to some T *, which void ** may not alias */
    free(ptr);
}
