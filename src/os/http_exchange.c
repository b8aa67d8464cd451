// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "os/http_internal.h"
#include <assert.h>
#include <errno.h>
#include <strings.h>

/* What a handler calls. Nothing here frees a connection or calls a handler back (see http_conn.c,
 * 1), except that on_done may be called from inside http_reply() and http_stream_end(). */

#define HEAD_BYTES_USUAL 250

struct status_text {
    int status;
    const char *phrase;
    const char *reason; /* of a Status object */
};

// clang-format off
static const struct status_text STATUS_TEXTS[] = {
    {100, "Continue", ""}, {101, "Switching Protocols", ""},
    {200, "OK", ""}, {201, "Created", ""}, {202, "Accepted", ""}, {204, "No Content", ""},
    {206, "Partial Content", ""},
    {301, "Moved Permanently", ""}, {302, "Found", ""}, {303, "See Other", ""},
    {304, "Not Modified", ""}, {307, "Temporary Redirect", ""}, {308, "Permanent Redirect", ""},
    {400, "Bad Request", "BadRequest"}, {401, "Unauthorized", "Unauthorized"},
    {403, "Forbidden", "Forbidden"}, {404, "Not Found", "NotFound"},
    {405, "Method Not Allowed", "MethodNotAllowed"}, {406, "Not Acceptable", "NotAcceptable"},
    {408, "Request Timeout", "Timeout"}, {409, "Conflict", "Conflict"}, {410, "Gone", "Gone"},
    {411, "Length Required", "BadRequest"}, {412, "Precondition Failed", "Conflict"},
    {413, "Content Too Large", "RequestEntityTooLarge"},
    {415, "Unsupported Media Type", "UnsupportedMediaType"},
    {416, "Range Not Satisfiable", "BadRequest"},
    {422, "Unprocessable Content", "Invalid"}, {429, "Too Many Requests", "TooManyRequests"},
    {431, "Request Header Fields Too Large", "RequestHeaderFieldsTooLarge"},
    {500, "Internal Server Error", "InternalError"}, {501, "Not Implemented", "NotImplemented"},
    {502, "Bad Gateway", "BadGateway"}, {503, "Service Unavailable", "ServiceUnavailable"},
    {504, "Gateway Timeout", "Timeout"}, {507, "Insufficient Storage", "InsufficientStorage"},
};
// clang-format on

static struct status_text status_text(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(STATUS_TEXTS); i++) {
        if (STATUS_TEXTS[i].status == status)
            return STATUS_TEXTS[i];
    }
    return (struct status_text){status, "Other", ""};
}

const struct http_request *http_request_of(const struct http_exchange *x)
{
    return &x->req;
}

const char *http_header(const struct http_exchange *x, const char *name)
{
    for (size_t i = 0; i < x->field_count; i++) {
        if (strcasecmp(x->head + x->fields[i].name, name) == 0)
            return x->head + x->fields[i].value;
    }
    return NULL;
}

void http_tag(struct http_exchange *x, const char *who)
{
    mem_free(x->who);
    x->who = mem_strdup(who);
}

void http_on_abandoned(struct http_exchange *x, void (*fn)(void *arg), void *arg)
{
    assert(x->conn->state == CONN_WAIT);
    x->on_gone = fn;
    x->on_gone_arg = arg;
}

void http_exchange_free(struct http_exchange *x)
{
    const struct http_server *server = x->conn->server;
    struct http_done done = {.req = &x->req,
                             .who = x->who ? x->who : "",
                             .status = x->status,
                             .body_bytes = x->body_bytes,
                             .took_ms = loop_now(server->loop) - x->started};
    if (server->options.on_done)
        server->options.on_done(server->options.arg, &done);
    mem_free(x->who);
    mem_free(x->fields);
    mem_free(x->head);
    mem_free(x->chunks);
    str_done(&x->body);
    mem_free(x);
}

/* The lines up to what tells the length; `x` is NULL when there was no request to speak of. */
static void add_head(struct http_exchange *x, int status, const char *content_type,
                     struct str *head)
{
    str_room(head, HEAD_BYTES_USUAL);
    str_add(head, "HTTP/1.1 ");
    str_addu(head, (uint64_t)status);
    str_addc(head, ' ');
    str_add(head, status_text(status).phrase);
    if (content_type) {
        str_add(head, "\r\nContent-Type: ");
        str_add(head, content_type);
    }
    str_add(head, "\r\n");
    if (x && (x->conn->server->draining || x->conn->eof))
        x->keep_alive = false;
    if (x == NULL || !x->keep_alive)
        str_add(head, "Connection: close\r\n");
    else if (x->is_http10)
        str_add(head, "Connection: keep-alive\r\n");
}

static void send_items(struct http_conn *conn, const struct http_out_item *items, size_t n)
{
    size_t progress;
    if (conn->broken)
        return;
    int r = http_out_send(conn, items, n, &progress);
    http_conn_written(conn, r, progress);
}

static bool has_no_body(int status)
{
    return status == 204 || status == 304 || status < 200;
}

static void add_length(struct str *head, size_t len)
{
    str_add(head, "Content-Length: ");
    str_addu(head, len);
    str_add(head, "\r\n");
}

static void answer(struct http_conn *conn, int status, struct str *head, struct buf *body)
{
    struct http_exchange *x = conn->x;
    size_t len = body ? body->len : 0;
    if (!has_no_body(status))
        add_length(head, len);
    str_add(head, "\r\n");
    bool bare = len == 0 || has_no_body(status) || (x && x->is_head);
    if (x) {
        x->status = status;
        x->body_bytes = bare ? 0 : len;
    }
    struct http_out_item items[] = {{buf_take(head), false}, {body, false}};
    loop_timer_clear(conn->server->loop, &conn->timer);
    conn->state = CONN_FLUSH;
    send_items(conn, items, bare ? 1 : 2);
    buf_unref(items[0].buf);
}

void http_reply(struct http_exchange *x, int status, const char *content_type, const char *headers,
                struct buf *body)
{
    assert(x->conn->state == CONN_WAIT);
    scoped_str head = {0};
    add_head(x, status, content_type, &head);
    str_add(&head, headers);
    answer(x->conn, status, &head, body);
}

static struct buf *status_object(int status, const char *message)
{
    scoped_str text = {0};
    str_addf(&text,
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
             "\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}\n",
             message, status_text(status).reason, status);
    return buf_take(&text);
}

void http_fail(struct http_conn *conn, int status, const char *message)
{
    scoped_str head = {0};
    struct buf *body = status_object(status, message);
    if (conn->x)
        conn->x->keep_alive = false;
    add_head(conn->x, status, "application/json", &head);
    answer(conn, status, &head, body);
    buf_unref(body);
}

struct buf *http_fail_text(int status, const char *message)
{
    scoped_str text = {0};
    struct buf *body = status_object(status, message);
    add_head(NULL, status, "application/json", &text);
    str_addf(&text, "Content-Length: %zu\r\n\r\n%s", body->len, body->data);
    buf_unref(body);
    return buf_take(&text);
}

void http_stream_start(struct http_exchange *x, int status, const char *content_type,
                       void (*on_closed)(void *arg), void *arg)
{
    struct http_conn *conn = x->conn;
    assert(conn->state == CONN_WAIT);
    scoped_str head = {0};
    if (x->is_http10)
        x->keep_alive = false; /* no chunks there: the end of the connection ends the answer */
    add_head(x, status, content_type, &head);
    str_add(&head, x->is_http10 ? "\r\n" : "Transfer-Encoding: chunked\r\n\r\n");
    x->status = status;
    x->on_gone = on_closed;
    x->on_gone_arg = arg;
    conn->state = CONN_STREAM;
    if (conn->broken)
        return;
    /* Queued, not sent: the task sends it together with the first events. */
    struct http_out_item item = {buf_take(&head), false};
    vec_push(&conn->out.items, item);
    conn->out.bytes += item.buf->len;
    http_conn_defer(conn);
}

/* Whether one more chunk may be queued. A reader that takes everything is given any chunk, however
 * large: what is bounded is how far behind a reader may fall. */
static bool has_room(struct http_exchange *x, size_t len)
{
    struct http_conn *conn = x->conn;
    size_t max = conn->server->options.limits.stream_bytes_max + x->snapshot_bytes;
    if (http_out_is_empty(&conn->out) || conn->out.bytes + len <= max)
        return true;
    size_t progress;
    int r = http_out_flush(conn, &progress);
    http_conn_written(conn, r, progress);
    return conn->broken || http_out_is_empty(&conn->out) || conn->out.bytes + len <= max;
}

void http_stream_snapshot(struct http_exchange *x, struct buf *chunk)
{
    x->snapshot_bytes = chunk->len;
    (void)http_stream_send(x, chunk); /* it has room: we have just made it */
}

int http_stream_send(struct http_exchange *x, struct buf *chunk)
{
    struct http_conn *conn = x->conn;
    assert(conn->state == CONN_STREAM);
    if (chunk->len == 0 || x->is_head || conn->broken)
        return 0; /* on_closed follows for a broken one; an empty chunk would end the stream */
    if (!has_room(x, chunk->len))
        return -ENOBUFS;
    struct http_out_item item = {chunk, !x->is_http10};
    x->body_bytes += chunk->len;
    send_items(conn, &item, 1);
    return 0;
}

size_t http_stream_queued(const struct http_exchange *x)
{
    return x->conn->out.bytes;
}

void http_stream_on_room(struct http_exchange *x, void (*fn)(void *arg))
{
    assert(x->conn->state == CONN_STREAM);
    x->on_room = fn;
    http_conn_defer(x->conn); /* all of it may be out already */
}

void http_stream_end(struct http_exchange *x, struct buf *last)
{
    struct http_conn *conn = x->conn;
    assert(conn->state == CONN_STREAM);
    struct http_out_item items[2];
    size_t n = 0;
    if (last && last->len > 0 && !x->is_head) {
        items[n++] = (struct http_out_item){last, !x->is_http10};
        x->body_bytes += last->len;
    }
    if (!x->is_head && !x->is_http10)
        items[n++] = (struct http_out_item){conn->server->last_chunk, false};
    conn->state = CONN_FLUSH;
    if (n > 0)
        send_items(conn, items, n);
    else
        http_conn_written(conn, 0, 0);
}

void http_stream_close(struct http_exchange *x)
{
    if (x->on_gone)
        x->on_gone(x->on_gone_arg);
    http_stream_end(x, NULL);
}
