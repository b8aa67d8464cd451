// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "os/http_internal.h"
#include <errno.h>
#include <string.h>
#include <strings.h>

/* From bytes to an exchange. A head is collected whole before llhttp sees it: its fields are then
 * contiguous (no copy a field), its size is known before its meaning, and the line discipline can
 * be checked here for every version of the parser: lines end in CRLF and nothing else, a CR or LF
 * stands nowhere else, no line is folded, there is no other control character. Differences in
 * exactly these points between two parsers in a row are what request smuggling is made of. */

#define RAW_BYTES_A_BYTE 8 /* a chunk of one byte takes six */

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\r' && c != '\n' && c != '\t') || c == 0x7f;
}

ssize_t http_head_scan(struct http_conn *conn)
{
    const char *head = conn->in.data + conn->in_pos;
    uint32_t len = (uint32_t)http_conn_unread(conn);
    uint32_t at = conn->scanned, line = conn->line_start;
    char before = at > 0 ? head[at - 1] : '\0';
    for (char c; at < len; at++, before = c) {
        c = head[at];
        if ((unsigned char)c > ' ' && c != 0x7f && before != '\r')
            continue; /* nearly all of them */
        if ((before == '\r') != (c == '\n') || is_control(c))
            return -EBADMSG;
        if ((c == ' ' || c == '\t') && at == line)
            return -EBADMSG;
        if (c != '\n')
            continue;
        if (at == line + 1)
            return (ssize_t)at + 1;
        line = at + 1;
    }
    conn->scanned = at;
    conn->line_start = line;
    return 0;
}

struct span {
    const char *at;
    size_t len;
};
struct head_field {
    struct span name, value;
};
struct head {
    struct span target;
    VEC(struct head_field) fields;
    bool keep_alive;
};

static void span_add(struct span *span, const char *at, size_t len)
{
    if (span->at == NULL)
        span->at = at;
    span->len = (size_t)(at - span->at) + len;
}

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
    struct head *head = parser->data;
    span_add(&head->target, at, len);
    return 0;
}

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
    struct head *head = parser->data;
    struct head_field field = {.name = {at, len}};
    vec_push(&head->fields, field);
    return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
    struct head *head = parser->data;
    if (head->fields.len > 0)
        span_add(&vec_last(&head->fields)->value, at, len);
    return 0;
}

/* Only now: llhttp forgets the flags when the message is complete. */
static int on_headers_complete(llhttp_t *parser)
{
    struct head *head = parser->data;
    head->keep_alive = llhttp_should_keep_alive(parser);
    return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct http_exchange *x = parser->data;
    if (len > x->content_length - x->body.len) /* for chunks: the most that is allowed */
        return HPE_USER;
    str_addn(&x->body, at, len);
    return 0;
}

static int on_complete(llhttp_t *parser)
{
    struct http_exchange *x = parser->data;
    x->body_complete = true;
    return HPE_PAUSED; /* what follows is the next request */
}

static const llhttp_settings_t HEAD_SETTINGS = {
    .on_url = on_url,
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_headers_complete = on_headers_complete,
};
/* Fields after a chunked body (trailers) are read over. */
static const llhttp_settings_t CHUNK_SETTINGS = {
    .on_body = on_body,
    .on_message_complete = on_complete,
};

static char *terminate(struct span span)
{
    char *text = (char *)span.at; /* our own copy of the head */
    text[span.len] = '\0';
    return text;
}

/* "http://host/path" is what a proxy would send; who is meant is known already. */
static const char *without_authority(char *target)
{
    const char *after = strstr(target, "://");
    if (target[0] == '/' || after == NULL)
        return target;
    const char *slash = strchr(after + 3, '/');
    return slash ? slash : "/";
}

static void take_target(struct http_exchange *x, struct span span)
{
    char *target = terminate(span);
    char *mark = strchr(target, '?');
    x->req.query = mark ? mark + 1 : "";
    if (mark)
        *mark = '\0';
    x->req.path = without_authority(target);
}

static void take_fields(struct http_exchange *x, const struct head *head)
{
    x->field_count = head->fields.len;
    x->fields = mem_alloc(sizeof(*x->fields) * (head->fields.len + 1));
    for (size_t i = 0; i < head->fields.len; i++) {
        const struct head_field *field = &head->fields.items[i];
        char *name = terminate(field->name);
        struct span value = field->value;
        while (value.len > 0 && strchr(" \t", value.at[value.len - 1]))
            value.len--;
        x->fields[i].name = (uint32_t)(name - x->head);
        /* An empty value is not reported: the end of the name serves as one. */
        x->fields[i].value = value.at ? (uint32_t)(terminate(value) - x->head)
                                      : (uint32_t)(name + field->name.len - x->head);
    }
}

static size_t count_fields(const struct http_exchange *x, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < x->field_count; i++)
        count += strcasecmp(x->head + x->fields[i].name, name) == 0;
    return count;
}

/* What llhttp lets pass and we do not. NULL when all is well. */
static const char *check_head(const struct http_exchange *x, const llhttp_t *parser)
{
    if (parser->http_major != 1 || parser->http_minor > 1)
        return "HTTP version is not supported; use HTTP/1.1";
    size_t hosts = count_fields(x, "Host");
    if (hosts > 1 || (hosts == 0 && !x->is_http10))
        return "exactly one Host header is required";
    size_t encodings = count_fields(x, "Transfer-Encoding");
    if (encodings == 0)
        return NULL;
    if (encodings > 1 || x->is_http10 || count_fields(x, "Content-Length") > 0 ||
        strcasecmp(http_header(x, "Transfer-Encoding"), "chunked") != 0)
        return "the only transfer encoding is one 'chunked', without a Content-Length";
    return NULL;
}

static void take_body_kind(struct http_exchange *x, llhttp_t *parser)
{
    const char *expect = http_header(x, "Expect");
    x->chunked_body = http_header(x, "Transfer-Encoding") != NULL;
    x->content_length = http_header(x, "Content-Length") ? parser->content_length : 0;
    x->body_complete = !x->chunked_body && x->content_length == 0;
    x->expects_continue = expect && !x->is_http10 && strcasecmp(expect, "100-continue") == 0;
    if (!x->chunked_body)
        return;
    x->chunks = mem_dup(parser, sizeof(*parser));
    x->chunks->settings = (void *)&CHUNK_SETTINGS;
    x->chunks->data = x;
}

static const char *take_head(struct http_exchange *x, llhttp_t *parser, const struct head *head)
{
    x->req.method = llhttp_method_name((llhttp_method_t)parser->method);
    x->is_head = parser->method == HTTP_HEAD;
    x->is_http10 = parser->http_minor == 0;
    x->keep_alive = head->keep_alive;
    take_target(x, head->target);
    take_fields(x, head);
    const char *why = check_head(x, parser);
    if (why == NULL)
        take_body_kind(x, parser);
    return why;
}

static void discard(struct http_exchange *x)
{
    mem_free(x->fields);
    mem_free(x->head);
    mem_free(x);
}

int http_head_parse(struct http_conn *conn, const char *head, size_t len,
                    struct http_exchange **ret_x, const char **ret_why)
{
    struct http_exchange *x = mem_zalloc(sizeof(*x));
    struct head fields = {0};
    llhttp_t parser;
    x->conn = conn;
    x->head = mem_strndup(head, len);
    llhttp_init(&parser, HTTP_REQUEST, &HEAD_SETTINGS);
    parser.data = &fields;
    llhttp_errno_t r = llhttp_execute(&parser, x->head, len);
    /* An upgrade is only offered by the client: the request is answered like any other. */
    const char *why =
        r == HPE_OK || r == HPE_PAUSED_UPGRADE ? NULL : "the request is not valid HTTP/1.1";
    if (why == NULL && fields.target.at == NULL)
        why = "the request has no target";
    if (why == NULL)
        why = take_head(x, &parser, &fields);
    vec_done(&fields.fields);
    if (why) {
        discard(x);
        *ret_why = why;
        return -EBADMSG;
    }
    *ret_x = x;
    return 0;
}

static ssize_t feed_chunks(struct http_exchange *x, const char *data, size_t len, size_t bytes_max)
{
    /* Sizes, extensions and trailers are nobody's data, but reading them is work as well. */
    x->raw_bytes += len;
    if (x->raw_bytes > bytes_max * RAW_BYTES_A_BYTE)
        return -EFBIG;
    x->content_length = bytes_max;
    llhttp_errno_t r = llhttp_execute(x->chunks, data, len);
    if (x->body_complete)
        return r == HPE_OK ? (ssize_t)len : llhttp_get_error_pos(x->chunks) - data;
    if (r == HPE_USER)
        return -EFBIG;
    return r == HPE_OK ? (ssize_t)len : -EBADMSG;
}

ssize_t http_body_feed(struct http_exchange *x, const char *data, size_t len, size_t bytes_max)
{
    if (x->chunked_body)
        return feed_chunks(x, data, len, bytes_max);
    size_t missing = x->content_length - x->body.len;
    size_t part = len < missing ? len : missing;
    str_addn(&x->body, data, part);
    x->body_complete = part == missing;
    return (ssize_t)part;
}
