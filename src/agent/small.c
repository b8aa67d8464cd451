// SPDX-License-Identifier: Apache-2.0
/* Only in the small program, in place of the C library's: printing without floating point, which
 * alone would be a tenth of it. Knows what this program writes: %s %.*s %.Ns %d %lld %zu %c %%. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct out {
    char *to;
    size_t size, len;
};

static void put(struct out *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++, out->len++) {
        if (out->len + 1 < out->size)
            out->to[out->len] = text[i];
    }
}

static void put_number(struct out *out, long long number)
{
    char digits[24];
    size_t at = sizeof(digits);
    unsigned long long left =
        number < 0 ? 0ULL - (unsigned long long)number : (unsigned long long)number;
    do
        digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0)
        digits[--at] = '-';
    put(out, digits + at, sizeof(digits) - at);
}

static size_t precision(const char **at, int star)
{
    size_t most = 0;
    if (**at != '.')
        return SIZE_MAX;
    (*at)++;
    if (**at == '*') {
        (*at)++;
        return star < 0 ? SIZE_MAX : (size_t)star;
    }
    for (; **at >= '0' && **at <= '9'; (*at)++)
        most = most * 10 + (size_t)(**at - '0');
    return most;
}

static void put_text(struct out *out, const char *text, size_t most)
{
    put(out, text, strnlen(text, most));
}

int vsnprintf(char *to, size_t size, const char *fmt, va_list ap)
{
    struct out out = {to, size, 0};
    for (const char *at = fmt; *at != '\0'; at++) {
        if (*at != '%') {
            put(&out, at, 1);
            continue;
        }
        at++;
        bool has_star = at[0] == '.' && at[1] == '*';
        size_t most = precision(&at, has_star ? va_arg(ap, int) : 0);
        if (strncmp(at, "lld", 3) == 0) {
            put_number(&out, va_arg(ap, long long));
            at += 2;
        } else if (strncmp(at, "zu", 2) == 0) {
            put_number(&out, (long long)va_arg(ap, size_t));
            at++;
        } else if (*at == 'd') {
            put_number(&out, va_arg(ap, int));
        } else if (*at == 's') {
            put_text(&out, va_arg(ap, const char *), most);
        } else if (*at == 'c') {
            char c = (char)va_arg(ap, int);
            put(&out, &c, 1);
        } else if (*at == '%') {
            put(&out, at, 1);
        } else {
            abort(); /* a form that nobody taught it */
        }
    }
    if (size > 0)
        to[out.len < size ? out.len : size - 1] = '\0';
    return (int)out.len;
}

int snprintf(char *to, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(to, size, fmt, ap);
    va_end(ap);
    return n;
}

/* The C library's own would bring the whole of stdio along. */
void __assert_fail(const char *what, const char *file, int line, const char *function);
void __assert_fail(const char *what, const char *file, int line, const char *function)
{
    char text[400];
    int n = snprintf(text, sizeof(text), "muster-agent: %s:%d: %s: '%s' does not hold\n", file,
                     line, function, what);
    size_t len = n < 0 || (size_t)n >= sizeof(text) ? sizeof(text) - 1 : (size_t)n;
    ssize_t written = write(STDERR_FILENO, text, len);
    (void)written; /* nobody else could be told */
    abort();
}
