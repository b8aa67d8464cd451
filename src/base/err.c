// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Ends a text that did not fit with "...", without leaving half a UTF-8 character before it. */
static void cut(char *text, size_t size)
{
    size_t end = size - sizeof("...");
    while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80)
        end--;
    memcpy(text + end, "...", sizeof("..."));
}

static void format_va(char *to, size_t size, const char *fmt, va_list ap)
{
    /* Arguments may point into `to` (a new text made from the old one), hence the detour. */
    char text[sizeof(((struct err *)0)->text)];
    int len = vsnprintf(text, size, fmt, ap);
    if (len < 0)
        text[0] = '\0';
    else if ((size_t)len >= size)
        cut(text, size);
    memcpy(to, text, strlen(text) + 1);
}

__attribute__((format(printf, 3, 4))) static void format(char *to, size_t size, const char *fmt,
                                                         ...)
{
    va_list ap;
    va_start(ap, fmt);
    format_va(to, size, fmt, ap);
    va_end(ap);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    if (!err)
        return code;
    va_list ap;
    va_start(ap, fmt);
    format_va(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    err->code = code;
    err->hint[0] = '\0'; /* it belonged to the error before */
    return code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    if (!err)
        return -EINVAL; /* the code is not known here, but a failure must stay one */
    char context[sizeof(err->text)];
    va_list ap;
    va_start(ap, fmt);
    format_va(context, sizeof(context), fmt, ap);
    va_end(ap);
    format(err->text, sizeof(err->text), "%s: %s", context, err->text);
    return err->code;
}

int err_hint(struct err *err, const char *fmt, ...)
{
    if (!err)
        return -EINVAL; /* as in err_wrap() */
    va_list ap;
    va_start(ap, fmt);
    format_va(err->hint, sizeof(err->hint), fmt, ap);
    va_end(ap);
    return err->code;
}
