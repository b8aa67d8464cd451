// SPDX-License-Identifier: Apache-2.0
#include "os/client.h"
#include "base/mem.h"
#include "os/client_internal.h"
#include <errno.h>
#include <llhttp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <string.h>
#include <strings.h>

/* A request is written whole, then its answer is read. A server may answer before it has read all
 * (413) and stop listening: an error while writing is therefore looked at only when no answer can
 * be read. A request is repeated only when a connection that had worked before ended without one
 * byte of an answer: the server closed it for being idle. */

#define READ_BYTES 65536
#define TIMEOUT_MS_DEFAULT 30000

struct answer {
    struct client_response res;
    bool is_head;
    bool any;  /* a byte has come */
    bool head; /* of the final answer */
    bool complete;
    bool keep_alive;
    struct str name, value;                    /* of the field being read */
    struct str line;                           /* begun line of a stream */
    int (*on_line)(void *arg, struct sv line); /* neither: the body is collected */
    int (*on_text)(void *arg, struct sv text);
    void *arg;
    int stopped; /* what on_line or on_text returned */
};

struct request {
    struct client_request head;
    int body_timeout_ms; /* 0: for ever */
};

void client_response_done(struct client_response *res)
{
    str_done(&res->content_type);
    str_done(&res->warnings);
    str_done(&res->body);
    res->status = 0;
}

static void answer_done(struct answer *answer)
{
    client_response_done(&answer->res);
    str_done(&answer->name);
    str_done(&answer->value);
    str_done(&answer->line);
}

/* 299 - "the text", with \ before what needs it (RFC 9111 dropped the header, Kubernetes did
 * not). */
static void add_warning(struct str *warnings, const char *value)
{
    const char *at = strchr(value, '"');
    if (at == NULL)
        return;
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++;
        str_addc(warnings, *at);
    }
    str_addc(warnings, '\n');
}

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
    struct answer *answer = parser->data;
    str_addn(&answer->name, at, len);
    return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
    struct answer *answer = parser->data;
    str_addn(&answer->value, at, len);
    return 0;
}

static int on_value_complete(llhttp_t *parser)
{
    struct answer *answer = parser->data;
    const char *name = str_text(&answer->name), *value = str_text(&answer->value);
    if (strcasecmp(name, "Content-Type") == 0) {
        str_clear(&answer->res.content_type);
        str_add(&answer->res.content_type, value);
    } else if (strcasecmp(name, "Warning") == 0) {
        add_warning(&answer->res.warnings, value);
    }
    str_clear(&answer->name);
    str_clear(&answer->value);
    return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct answer *answer = parser->data;
    if (parser->status_code < 200)
        return 0; /* 100 Continue: the answer follows */
    answer->head = true;
    answer->res.status = parser->status_code;
    answer->keep_alive = llhttp_should_keep_alive(parser);
    return answer->is_head ? 1 : 0;
}

static int add_lines(struct answer *answer, const char *at, size_t len)
{
    while (len > 0) {
        const char *end = memchr(at, '\n', len);
        size_t part = end ? (size_t)(end - at) : len;
        str_addn(&answer->line, at, part);
        if (end == NULL)
            return 0;
        struct sv line = {str_text(&answer->line), answer->line.len};
        answer->stopped = answer->on_line(answer->arg, line);
        str_clear(&answer->line);
        if (answer->stopped)
            return HPE_USER;
        at = end + 1;
        len -= part + 1;
    }
    return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct answer *answer = parser->data;
    if (answer->on_line && answer->res.status == 200)
        return add_lines(answer, at, len);
    if (answer->on_text && answer->res.status == 200) {
        answer->stopped = answer->on_text(answer->arg, (struct sv){at, len});
        return answer->stopped ? HPE_USER : 0;
    }
    str_addn(&answer->res.body, at, len);
    return 0;
}

static int on_complete(llhttp_t *parser)
{
    struct answer *answer = parser->data;
    if (!answer->head)
        return 0;
    answer->complete = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t SETTINGS = {
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

static void add_request(const struct client *client, const struct request *req, struct str *text)
{
    str_addf(text, "%s %s HTTP/1.1\r\n", req->head.method, req->head.target);
    if (client->unix_path)
        str_add(text, "Host: localhost\r\n");
    else
        str_addf(text, strchr(client->host, ':') ? "Host: [%s]:%d\r\n" : "Host: %s:%d\r\n",
                 client->host, client->port);
    if (req->head.accept)
        str_addf(text, "Accept: %s\r\n", req->head.accept);
    if (client->token)
        str_addf(text, "Authorization: Bearer %s\r\n", client->token);
    if (req->head.content_type)
        str_addf(text, "Content-Type: %s\r\n", req->head.content_type);
    if (req->head.body.len > 0 || req->head.content_type)
        str_addf(text, "Content-Length: %zu\r\n", req->head.body.len);
    str_add(text, "\r\n");
}

static int send_request(struct client *client, const struct request *req)
{
    scoped_str text = {0};
    time_ms deadline = clock_monotonic() + client->timeout_ms;
    add_request(client, req, &text);
    int r = client_write(client, text.data, text.len, deadline);
    return r < 0 ? r : client_write(client, req->head.body.ptr, req->head.body.len, deadline);
}

static time_ms read_deadline(const struct answer *answer, const struct request *req, time_ms head)
{
    if (!answer->head)
        return head;
    return req->body_timeout_ms ? clock_monotonic() + req->body_timeout_ms : CLIENT_FOREVER;
}

/* 0 when the answer is complete or was stopped. */
static int read_answer(struct client *client, const struct request *req, struct answer *answer)
{
    time_ms head_deadline = clock_monotonic() + client->timeout_ms;
    scoped_free char *part = mem_alloc(READ_BYTES);
    llhttp_t parser;
    llhttp_init(&parser, HTTP_RESPONSE, &SETTINGS);
    parser.data = answer;
    while (!answer->complete && !answer->stopped) {
        time_ms deadline = read_deadline(answer, req, head_deadline);
        ssize_t n = client_read(client, part, READ_BYTES, deadline);
        if (n < 0)
            return (int)n;
        answer->any = answer->any || n > 0;
        llhttp_errno_t r =
            n > 0 ? llhttp_execute(&parser, part, (size_t)n) : llhttp_finish(&parser);
        if (answer->complete || answer->stopped)
            return 0;
        if (n == 0)
            return -ECONNRESET;
        if (r != HPE_OK)
            return -EPROTO;
    }
    return 0;
}

static const char *error_text(int r)
{
    if (r == -ETIMEDOUT)
        return "the server did not answer in time";
    if (r == -EPROTO)
        return "the answer is not valid HTTP";
    if (r == -ECONNRESET || r == -EPIPE)
        return "the server closed the connection";
    return strerror(-r);
}

/* One attempt; *ret_retry tells whether another one is allowed. */
static int attempt(struct client *client, const struct request *req, struct answer *answer,
                   bool *ret_retry, struct err *err)
{
    *ret_retry = false;
    int r = client_open(client, clock_monotonic() + client->timeout_ms, err);
    if (r < 0)
        return r;
    int sent = send_request(client, req);
    r = sent == -ETIMEDOUT || sent == -ECANCELED ? sent : read_answer(client, req, answer);
    *ret_retry = r < 0 && r != -ETIMEDOUT && r != -ECANCELED && client->reused && !answer->any;
    if (r < 0 || sent < 0 || !answer->complete || !answer->keep_alive)
        client_close(client);
    client->reused = true;
    if (r < 0)
        return err_set(err, r, "%s %s: %s", req->head.method, req->head.target, error_text(r));
    return 0;
}

static int run(struct client *client, const struct request *req, struct answer *answer,
               struct client_response *res, struct err *err)
{
    bool retry;
    int r = attempt(client, req, answer, &retry, err);
    if (retry) {
        if (err)
            *err = (struct err){0};
        r = attempt(client, req, answer, &retry, err);
    }
    if (r == 0) {
        *res = answer->res;
        answer->res = (struct client_response){0};
        r = answer->stopped;
    }
    answer_done(answer);
    return r;
}

int client_call(struct client *client, const struct client_request *req,
                struct client_response *res, struct err *err)
{
    struct request full = {*req, client->timeout_ms};
    full.head.method = req->method ? req->method : "GET";
    struct answer answer = {.is_head = str_eq(full.head.method, "HEAD")};
    return run(client, &full, &answer, res, err);
}

int client_stream(struct client *client, const struct client_stream *stream,
                  struct client_response *res, struct err *err)
{
    struct request full = {{.method = "GET", .target = stream->target, .accept = stream->accept},
                           stream->timeout_ms};
    struct answer answer = {
        .on_line = stream->on_line, .on_text = stream->on_text, .arg = stream->arg};
    return run(client, &full, &answer, res, err);
}

int client_new(const struct client_options *options, struct client **ret_client, struct err *err)
{
    if (options->unix_path == NULL && (options->host == NULL || options->port <= 0))
        return err_set(err, -EINVAL, "neither a socket path nor a host and port is given");
    if (options->token && strpbrk(options->token, "\r\n"))
        return err_set(err, -EINVAL, "the token contains a line end");
    if (options->tls && SSL_CTX_up_ref(options->tls) != 1)
        return err_set(err, -EINVAL, "TLS context cannot be shared");
    /* OpenSSL writes without MSG_NOSIGNAL. */
    if (options->tls)
        (void)signal(SIGPIPE, SIG_IGN); /* cannot fail for a valid signal */
    struct client *client = mem_zalloc(sizeof(*client));
    client->unix_path = mem_strdup(options->unix_path);
    client->host = mem_strdup(options->host);
    client->token = mem_strdup(options->token);
    client->port = options->port;
    client->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : TIMEOUT_MS_DEFAULT;
    client->tls = options->tls;
    client->fd = -1;
    client->cancel_fd = -1;
    *ret_client = client;
    return 0;
}

int client_twin(const struct client *client, struct client **ret_client, struct err *err)
{
    return client_new(&(struct client_options){.unix_path = client->unix_path,
                                               .host = client->host,
                                               .port = client->port,
                                               .tls = client->tls,
                                               .token = client->token,
                                               .timeout_ms = client->timeout_ms},
                      ret_client, err);
}

void client_cancel_on(struct client *client, int fd)
{
    client->cancel_fd = fd;
}

void client_free(struct client *client)
{
    if (client == NULL)
        return;
    client_close(client);
    SSL_CTX_free(client->tls);
    mem_free(client->unix_path);
    mem_free(client->host);
    mem_free(client->token);
    mem_free(client);
}
