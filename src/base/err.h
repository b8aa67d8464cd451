// SPDX-License-Identifier: Apache-2.0
#pragma once

/* One error on the caller's stack: what went wrong in one line, and what to do about it in
 * another. Functions that can fail return 0 or a positive value, or a negative errno and fill
 * `err` when it is not NULL. */
struct err {
    int code; /* negative errno, 0 while unset */
    char text[640];
    char hint[320];
};

/* Both return `code`, so that `return err_set(err, -EINVAL, ...)` reads naturally. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Puts context before the text: "load 'a.yaml': ...". Returns err->code. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds the remedy. Returns err->code. */
int err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
