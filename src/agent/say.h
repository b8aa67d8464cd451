// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include <stdbool.h>

/* One line on standard error, which is also the worker's. */
void say_quietly(bool is_quiet); /* only what went wrong */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_problem(const struct err *err); /* text, and the remedy in a line of its own */

/* The same trouble is told once, not with every try. */
struct said {
    char text[160]; /* the last problem; "" since things went well */
};
void say_once(struct said *said, const struct err *err);
void say_forget(struct said *said);
