// SPDX-License-Identifier: Apache-2.0
#include "os/log.h"
#include "base/str.h"
#include "base/timetext.h"
#include "os/clock.h"
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES_MAX 4096

static const char *const LEVELS[] = {
    [LOG_DEBUG_LEVEL] = "debug",
    [LOG_INFO_LEVEL] = "info",
    [LOG_WARN_LEVEL] = "warn",
    [LOG_ERROR_LEVEL] = "error",
};

static _Atomic int level_min = LOG_INFO_LEVEL; /* helper threads log too */

void log_set_level(enum log_level level)
{
    atomic_store(&level_min, (int)level);
}

static void add_now(struct str *line)
{
    rfc3339_format_ms(clock_wall(), line);
}

/* What a peer sent may stand in a value: no control character may forge or break a line. */
static void defang(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
    }
}

void log_line(enum log_level level, const char *fmt, ...)
{
    if ((int)level < atomic_load(&level_min))
        return;
    int saved_errno = errno;
    char text[LINE_BYTES_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args); /* a longer line is cut */
    va_end(args);
    defang(text);
    scoped_str line = {0};
    add_now(&line);
    str_addf(&line, " %s %s\n", LEVELS[level], text);
    /* One write a line, so that lines of two threads do not mix. */
    ssize_t n = write(STDERR_FILENO, line.data, line.len);
    (void)n; /* nowhere left to complain */
    errno = saved_errno;
}

void log_quote(const char *text, struct str *out)
{
    str_addc(out, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            str_addf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            str_addf(out, "\\x%02x", c);
        else
            str_addc(out, (char)c);
    }
    str_addc(out, '"');
}
