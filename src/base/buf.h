// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"
#include <stddef.h>

/* Bytes that many may hold and nobody changes: an object's serialised form, a watch event that
 * goes to thousands of connections. Counted references, one thread. */
struct buf {
    size_t refs;
    size_t len;
    char data[]; /* NUL-terminated behind len */
};

struct buf *buf_new(const void *data, size_t len);
struct buf *buf_take(struct str *str); /* copies the text into a buffer, empties str */
struct buf *buf_ref(struct buf *buf);
void buf_unref(struct buf *buf); /* NULL is fine */
