// SPDX-License-Identifier: Apache-2.0
#include "os/http_internal.h"
#include <errno.h>
#include <stdio.h>

/* The bytes of an answer on their way out: references to shared buffers, never copies (TLS copies
 * into its records). The framing of a chunk is made anew for each attempt, so that a queued chunk
 * costs 16 bytes beside its payload, and an empty queue nothing. */

#define ITEMS_A_WRITE 21
#define WRITE_BUDGET_BYTES ((size_t)1 << 20) /* then other connections have their turn */
#define COMPACT_ITEMS 32

struct frame {
    char line[20]; /* size line of a chunk */
    size_t line_len;
};

bool http_out_is_empty(const struct http_out *out)
{
    return out->first == out->items.len;
}

static void frame_of(const struct http_out_item *item, struct frame *frame)
{
    frame->line_len = 0;
    if (item->chunked)
        frame->line_len =
            (size_t)snprintf(frame->line, sizeof(frame->line), "%zx\r\n", item->buf->len);
}

static size_t item_total(const struct http_out_item *item)
{
    struct frame frame;
    frame_of(item, &frame);
    return frame.line_len + item->buf->len + (item->chunked ? 2 : 0);
}

static int add_iov(struct iovec *iov, const char *data, size_t len, size_t *skip)
{
    if (*skip >= len) {
        *skip -= len;
        return 0;
    }
    *iov = (struct iovec){(char *)data + *skip, len - *skip};
    *skip = 0;
    return 1;
}

static int item_iov(const struct http_out_item *item, struct frame *frame, size_t skip,
                    struct iovec *iov)
{
    frame_of(item, frame);
    int n = add_iov(iov, frame->line, frame->line_len, &skip);
    n += add_iov(iov + n, item->buf->data, item->buf->len, &skip);
    if (item->chunked)
        n += add_iov(iov + n, "\r\n", 2, &skip);
    return n;
}

/* Where in a row of items the writing is. */
struct cursor {
    const struct http_out_item *items;
    size_t n;
    size_t first;
    size_t skip; /* bytes of the first one that are out */
    size_t progress;
};

static ssize_t write_once(struct http_conn *conn, const struct cursor *at)
{
    struct frame frames[ITEMS_A_WRITE];
    struct iovec iov[ITEMS_A_WRITE * 3];
    size_t skip = at->skip;
    int iov_len = 0;
    for (size_t i = 0; i < ITEMS_A_WRITE && at->first + i < at->n; i++) {
        iov_len += item_iov(&at->items[at->first + i], &frames[i], skip, &iov[iov_len]);
        skip = 0;
    }
    return http_io_write(conn, iov, iov_len);
}

static void advance(struct cursor *at, size_t written)
{
    at->progress += written;
    at->skip += written;
    while (at->skip > 0) {
        size_t total = item_total(&at->items[at->first]);
        if (at->skip < total)
            return;
        at->skip -= total;
        at->first++;
    }
}

static int write_some(struct http_conn *conn, struct cursor *at)
{
    while (at->first < at->n) {
        if (at->progress >= WRITE_BUDGET_BYTES)
            return -EAGAIN;
        ssize_t written = write_once(conn, at);
        if (written < 0)
            return (int)written;
        advance(at, (size_t)written);
    }
    return 0;
}

int http_out_send(struct http_conn *conn, const struct http_out_item *items, size_t n,
                  size_t *ret_progress)
{
    struct http_out *out = &conn->out;
    struct cursor at = {.items = items, .n = n};
    int r = -EAGAIN;
    if (http_out_is_empty(out)) {
        r = write_some(conn, &at);
        out->skip = at.skip;
    }
    for (; at.first < n; at.first++) {
        struct http_out_item item = {buf_ref(items[at.first].buf), items[at.first].chunked};
        vec_push(&out->items, item);
        out->bytes += item.buf->len;
    }
    *ret_progress = at.progress;
    return r;
}

static void drop_written(struct http_out *out, size_t first)
{
    for (; out->first < first; out->first++) {
        struct buf *buf = out->items.items[out->first].buf;
        out->bytes -= buf->len;
        buf_unref(buf);
    }
    if (out->first == out->items.len) {
        vec_done(&out->items);
        out->first = 0;
    } else if (out->first >= COMPACT_ITEMS && out->first > out->items.len / 2) {
        out->items.len -= out->first;
        memmove(out->items.items, out->items.items + out->first,
                out->items.len * sizeof(*out->items.items));
        out->first = 0;
    }
}

int http_out_flush(struct http_conn *conn, size_t *ret_progress)
{
    struct http_out *out = &conn->out;
    struct cursor at = {out->items.items, out->items.len, out->first, out->skip, 0};
    int r = write_some(conn, &at);
    out->skip = at.skip;
    drop_written(out, at.first);
    *ret_progress = at.progress;
    return r;
}

void http_out_done(struct http_out *out)
{
    drop_written(out, out->items.len);
}
