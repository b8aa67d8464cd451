// SPDX-License-Identifier: Apache-2.0
#include "agent/say.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME "muster-agent: "

static bool is_quiet;

void say_quietly(bool quiet)
{
    is_quiet = quiet;
}

/* In one write, so that it does not mix with what the worker writes. */
static void write_line(const char *fmt, va_list ap)
{
    char line[1200] = NAME;
    size_t at = sizeof(NAME) - 1;
    int n = vsnprintf(line + at, sizeof(line) - at - 1, fmt, ap);
    if (n < 0)
        return;
    at += (size_t)n < sizeof(line) - at - 1 ? (size_t)n : sizeof(line) - at - 2;
    line[at++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, at);
    (void)written; /* nobody else could be told */
}

void say(const char *fmt, ...)
{
    if (is_quiet)
        return;
    va_list ap;
    va_start(ap, fmt);
    write_line(fmt, ap);
    va_end(ap);
}

__attribute__((format(printf, 1, 2))) static void always(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    write_line(fmt, ap);
    va_end(ap);
}

void say_problem(const struct err *err)
{
    always("%s", err->text);
    if (err->hint[0] != '\0')
        always("%s", err->hint);
}

void say_once(struct said *said, const struct err *err)
{
    if (strncmp(said->text, err->text, sizeof(said->text) - 1) == 0)
        return;
    (void)snprintf(said->text, sizeof(said->text), "%.*s", (int)sizeof(said->text) - 1, err->text);
    say_problem(err);
}

void say_forget(struct said *said)
{
    said->text[0] = '\0';
}
