// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

struct buf *buf_new(const void *data, size_t len)
{
    struct buf *buf = mem_alloc(sizeof(*buf) + len + 1);
    buf->refs = 1;
    buf->len = len;
    if (len > 0)
        memcpy(buf->data, data, len);
    buf->data[len] = '\0';
    return buf;
}

struct buf *buf_take(struct str *str)
{
    struct buf *buf = buf_new(str->data, str->len);
    str_done(str);
    return buf;
}

struct buf *buf_ref(struct buf *buf)
{
    assert(buf->refs > 0);
    buf->refs++;
    return buf;
}

void buf_unref(struct buf *buf)
{
    if (buf == NULL)
        return;
    assert(buf->refs > 0);
    if (--buf->refs == 0)
        mem_free(buf);
}
