// SPDX-License-Identifier: Apache-2.0
#include "bench/wire.h"
#include "base/mem.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECTING_MAX 64
#define SCRATCH_BYTES ((size_t)256 << 10)

struct wire_pool {
    struct loop *loop;
    struct wire_options options;
    struct wire *wires;
    size_t started;
    size_t ready;
    char *scratch;
};

void wire_die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)fputs("bench: ", stderr);
    (void)vfprintf(stderr, fmt, ap);
    (void)fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

size_t wire_pool_ready(const struct wire_pool *pool)
{
    return pool->ready;
}

struct wire *wire_pool_at(struct wire_pool *pool, size_t index)
{
    return &pool->wires[index];
}

void *wire_pool_arg(const struct wire *wire)
{
    return wire->pool->options.arg;
}

/* ---- bytes ---- */

static void set_interest(struct wire *wire, bool wants_out)
{
    if (wire->wants_out == wants_out)
        return;
    wire->wants_out = wants_out;
    loop_io_set(wire->io, wants_out ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* -EAGAIN: later. Anything else that is no success ends the program. */
static ssize_t tls_result(struct wire *wire, int r)
{
    int why = SSL_get_error(wire->ssl, r);
    if (why == SSL_ERROR_WANT_READ)
        return -EAGAIN;
    if (why == SSL_ERROR_WANT_WRITE) {
        set_interest(wire, true);
        return -EAGAIN;
    }
    char text[160];
    ERR_error_string_n(ERR_peek_error(), text, sizeof(text));
    wire_die("connection %zu: TLS: %s", wire->index, text);
}

static ssize_t plain_result(struct wire *wire, ssize_t r)
{
    if (r > 0)
        return r;
    if (r < 0 && (errno == EAGAIN || errno == EINTR))
        return -EAGAIN;
    wire_die("connection %zu: %s", wire->index, r == 0 ? "closed by the server" : strerror(errno));
}

static ssize_t take(struct wire *wire, char *data, size_t len)
{
    if (wire->ssl == NULL)
        return plain_result(wire, recv(wire->fd, data, len, 0));
    ERR_clear_error();
    int r = SSL_read(wire->ssl, data, (int)len);
    return r > 0 ? r : tls_result(wire, r);
}

static ssize_t put(struct wire *wire, const char *data, size_t len)
{
    if (wire->ssl == NULL)
        return plain_result(wire, send(wire->fd, data, len, MSG_NOSIGNAL));
    ERR_clear_error();
    int r = SSL_write(wire->ssl, data, (int)len);
    return r > 0 ? r : tls_result(wire, r);
}

static void flush(struct wire *wire)
{
    while (wire->out_len > 0) {
        ssize_t n = put(wire, wire->out, wire->out_len);
        if (n < 0) {
            set_interest(wire, true);
            return;
        }
        wire->out += n;
        wire->out_len -= (size_t)n;
    }
    set_interest(wire, false);
}

void wire_send(struct wire *wire, const char *bytes, size_t len)
{
    wire->out = bytes;
    wire->out_len = len;
    flush(wire);
}

/* ---- answers ---- */

static struct wire *wire_of(llhttp_t *parser)
{
    return container_of(parser, struct wire, parser);
}

static int on_head(llhttp_t *parser)
{
    struct wire *wire = wire_of(parser);
    wire->status = parser->status_code;
    if (wire->pool->options.on_head != NULL)
        wire->pool->options.on_head(wire);
    return 0;
}

static int on_body(llhttp_t *parser, const char *data, size_t len)
{
    struct wire *wire = wire_of(parser);
    if (wire->pool->options.on_body != NULL)
        wire->pool->options.on_body(wire, data, len);
    return 0;
}

static int on_complete(llhttp_t *parser)
{
    struct wire *wire = wire_of(parser);
    if (wire->pool->options.on_done != NULL)
        wire->pool->options.on_done(wire);
    return 0;
}

static const llhttp_settings_t SETTINGS = {
    .on_headers_complete = on_head, .on_body = on_body, .on_message_complete = on_complete};

static void read_answer(struct wire *wire)
{
    ssize_t n;
    do {
        n = take(wire, wire->pool->scratch, SCRATCH_BYTES);
        if (n < 0)
            return;
        if (llhttp_execute(&wire->parser, wire->pool->scratch, (size_t)n) != HPE_OK)
            wire_die("connection %zu: the answer is not HTTP: %s", wire->index,
                     llhttp_get_error_reason(&wire->parser));
        /* What OpenSSL has already read does not show on the descriptor. */
    } while (wire->ssl != NULL && SSL_pending(wire->ssl) > 0);
}

/* ---- connecting ---- */

static void start_more(struct wire_pool *pool);

static void become_ready(struct wire *wire)
{
    wire->is_ready = true;
    wire->pool->ready++;
    set_interest(wire, false);
    wire->pool->options.on_ready(wire);
    start_more(wire->pool);
}

static void handshake(struct wire *wire)
{
    if (wire->ssl == NULL) {
        become_ready(wire);
        return;
    }
    set_interest(wire, false);
    ERR_clear_error();
    int r = SSL_connect(wire->ssl);
    if (r == 1)
        become_ready(wire);
    else
        (void)tls_result(wire, r);
}

static void on_event(void *arg, uint32_t events)
{
    struct wire *wire = arg;
    if (!wire->is_ready) {
        handshake(wire);
        return;
    }
    if (events & EPOLLOUT)
        flush(wire);
    if (events & ~(uint32_t)EPOLLOUT)
        read_answer(wire);
}

static int connect_unix(int fd, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(to.sun_path))
        wire_die("the socket's path is too long: %s", path);
    memcpy(to.sun_path, path, strlen(path) + 1);
    return connect(fd, (struct sockaddr *)&to, sizeof(to));
}

static int connect_tcp(int fd, const struct wire_options *options)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options->port)};
    if (inet_pton(AF_INET, options->host, &to.sin_addr) != 1)
        wire_die("not an IPv4 address: %s", options->host);
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* slower without */
    return connect(fd, (struct sockaddr *)&to, sizeof(to));
}

static void start_one(struct wire_pool *pool, struct wire *wire)
{
    const struct wire_options *options = &pool->options;
    int family = options->unix_path ? AF_UNIX : AF_INET;
    wire->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (wire->fd < 0)
        wire_die("socket: %s", strerror(errno));
    /* Blocking only while connecting, which on this machine's own sockets waits for nothing but
     * room in the listening queue. */
    int r = options->unix_path ? connect_unix(wire->fd, options->unix_path)
                               : connect_tcp(wire->fd, options);
    if (r < 0)
        wire_die("connect: %s", strerror(errno));
    if (fcntl(wire->fd, F_SETFL, O_NONBLOCK) < 0)
        wire_die("fcntl: %s", strerror(errno));
    llhttp_init(&wire->parser, HTTP_RESPONSE, &SETTINGS);
    wire->wants_out = true;
    wire->io = loop_io_add(pool->loop, wire->fd, EPOLLIN | EPOLLOUT, on_event, wire);
}

static void start_tls(struct wire_pool *pool, struct wire *wire)
{
    if (pool->options.tls == NULL)
        return;
    wire->ssl = SSL_new(pool->options.tls);
    if (wire->ssl == NULL || SSL_set_fd(wire->ssl, wire->fd) != 1)
        wire_die("TLS cannot be set up");
    SSL_set_mode(wire->ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

static void start_more(struct wire_pool *pool)
{
    while (pool->started < pool->options.count && pool->started - pool->ready < CONNECTING_MAX) {
        struct wire *wire = &pool->wires[pool->started];
        wire->pool = pool;
        wire->index = pool->started++;
        start_one(pool, wire);
        start_tls(pool, wire);
    }
}

struct wire_pool *wire_pool_new(struct loop *loop, const struct wire_options *options)
{
    struct wire_pool *pool = mem_zalloc(sizeof(*pool));
    pool->loop = loop;
    pool->options = *options;
    pool->wires = mem_zalloc(options->count * sizeof(*pool->wires));
    pool->scratch = mem_alloc(SCRATCH_BYTES);
    start_more(pool);
    return pool;
}

void wire_pool_free(struct wire_pool *pool)
{
    for (size_t i = 0; i < pool->started; i++) {
        loop_io_del(pool->wires[i].io);
        SSL_free(pool->wires[i].ssl);
        close(pool->wires[i].fd);
    }
    mem_free(pool->scratch);
    mem_free(pool->wires);
    mem_free(pool);
}
