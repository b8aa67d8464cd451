// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "os/fd.h"
#include "os/http_internal.h"
#include "os/log.h"
#include <errno.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_USUAL 10000
#define ACCEPTS_A_TURN 64   /* TLS handshakes are dear: the others must be served between them */
#define ACCEPT_PAUSE_MS 100 /* when there is no descriptor left; closing others is no remedy */

/* A quarter stays for files, pods and the database. */
static size_t connections_by_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= CONNECTIONS_USUAL / 3 * 4)
        return CONNECTIONS_USUAL;
    return (size_t)limit.rlim_cur / 4 * 3;
}

static void fill_limits(struct http_limits *limits)
{
#define DEFAULT(field, value) limits->field = limits->field ? limits->field : (value)
    DEFAULT(header_bytes_max, 32u << 10);
    DEFAULT(body_bytes_max, 3u << 20);
    DEFAULT(connections_max, connections_by_descriptors());
    DEFAULT(stream_bytes_max, 4u << 20);
    DEFAULT(handshake_ms, 10 * 1000);
    DEFAULT(header_ms, 10 * 1000);
    DEFAULT(body_ms, 60 * 1000);
    DEFAULT(idle_ms, 120 * 1000);
    DEFAULT(write_ms, 60 * 1000);
#undef DEFAULT
}

int http_server_new(struct loop *loop, const struct http_server_options *options,
                    struct http_server **ret_server, struct err *err)
{
    if (options->limits.header_bytes_max > UINT32_MAX / 2)
        return err_set(err, -EINVAL, "limit of header bytes is out of range");
    /* OpenSSL writes without MSG_NOSIGNAL: a client that has gone must not end the process. */
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        return err_set(err, -errno, "ignore SIGPIPE: %s", strerror(errno));
    struct http_server *server = mem_zalloc(sizeof(*server));
    server->loop = loop;
    server->options = *options;
    fill_limits(&server->options.limits);
    TAILQ_INIT(&server->waiting);
    server->last_chunk = buf_new("0\r\n\r\n", 5);
    server->continue_line = buf_new("HTTP/1.1 100 Continue\r\n\r\n", 25);
    *ret_server = server;
    return 0;
}

static void refuse(int fd)
{
    static const char *const WHY = "the server has as many connections as it may have; try again";
    struct buf *text = http_fail_text(503, WHY);
    ssize_t n = send(fd, text->data, text->len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)n; /* there is nothing better to tell it with */
    buf_unref(text);
    (void)shutdown(fd, SHUT_WR);
    close(fd);
}

int http_server_adopt(struct http_server *server, int fd, SSL_CTX *tls)
{
    if (server->conn_count < server->options.limits.connections_max || http_conn_displace(server))
        return http_conn_new(server, fd, tls);
    if (tls)
        close(fd); /* a word in clear text would only puzzle it */
    else
        refuse(fd);
    return -EBUSY;
}

static void pause_accepting(struct http_listener *listener, int error)
{
    struct loop *loop = listener->server->loop;
    log_warn("http.accept_paused errno=%d pause_ms=%d", error, ACCEPT_PAUSE_MS);
    loop_io_set(listener->io, 0);
    loop_timer_set(loop, &listener->pause, loop_now(loop) + ACCEPT_PAUSE_MS);
}

static void on_pause_over(void *arg)
{
    struct http_listener *listener = arg;
    loop_io_set(listener->io, EPOLLIN);
}

static void on_acceptable(void *arg, uint32_t events)
{
    struct http_listener *listener = arg;
    (void)events;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            (void)http_server_adopt(listener->server, fd, listener->tls); /* told to the client */
        } else if (errno == EAGAIN) {
            return;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_accepting(listener, errno);
            return;
        } /* anything else is the fate of that one connection (accept(2)) */
    }
}

int http_server_listen(struct http_server *server, int listen_fd, SSL_CTX *tls, struct err *err)
{
    if (tls && SSL_CTX_up_ref(tls) != 1)
        return err_set(err, -EINVAL, "TLS context cannot be shared");
    struct http_listener *listener = mem_zalloc(sizeof(*listener));
    listener->server = server;
    listener->fd = listen_fd;
    listener->tls = tls;
    listener->next = server->listeners;
    server->listeners = listener;
    loop_timer_init(&listener->pause, on_pause_over, listener);
    listener->io = loop_io_add(server->loop, listen_fd, EPOLLIN, on_acceptable, listener);
    return 0;
}

static void stop_listening(struct http_server *server)
{
    while (server->listeners) {
        struct http_listener *listener = server->listeners;
        server->listeners = listener->next;
        loop_timer_clear(server->loop, &listener->pause);
        loop_io_del(listener->io);
        close(listener->fd);
        SSL_CTX_free(listener->tls);
        mem_free(listener);
    }
}

void http_server_drain(struct http_server *server)
{
    server->draining = true;
    stop_listening(server);
    for (struct http_conn *conn = server->conns; conn; conn = conn->next)
        http_conn_defer(conn);
}

size_t http_server_connections(const struct http_server *server)
{
    return server->conn_count;
}

void http_server_free(struct http_server *server)
{
    if (server == NULL)
        return;
    stop_listening(server);
    while (server->conns)
        http_conn_free(server->conns);
    buf_unref(server->last_chunk);
    buf_unref(server->continue_line);
    mem_free(server);
}
