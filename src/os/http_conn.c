// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "os/http_internal.h"
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* One connection.
 *
 *  1. It is freed by its own deferred task only (or with the server): whoever finds it broken, deep
 *     in a handler that walks over thousands of streams, marks it and goes on. The owner of an
 *     unfinished exchange is told from there as well, never from inside its own call.
 *  2. One request at a time. The next one that is already here is taken by the task, so a thousand
 *     pipelined requests are a thousand turns and not a recursion.
 *  3. While a request is being answered at most header_bytes_max of further input are held; after
 *     that we do not read, and TCP holds the client back.
 *  4. The end of the client's stream means that it has gone, unless the answer is already on its
 *     way: a closed socket and a half-closed one look the same from here.
 *  5. Who has sent no whole head of a request yet, or none since his last answer, waits in a list;
 *     when all places are taken, the one that has waited longest gives up his to a new one.
 *  6. A connection which we end lingers: closing a socket with unread input sends a reset that may
 *     overtake the answer. */

#define LINGER_MS 2000
#define READS_A_TURN 16
#define PEAK_MIN 1024 /* connections */

size_t http_conn_unread(const struct http_conn *conn)
{
    return conn->in.len - conn->in_pos;
}

static void consume(struct http_conn *conn, size_t len)
{
    conn->in_pos += len;
    if (conn->in_pos < conn->in.len)
        return;
    if (conn->state == CONN_BODY)
        str_clear(&conn->in); /* more is coming */
    else
        str_done(&conn->in);
    conn->in_pos = 0;
}

static void deadline_in(struct http_conn *conn, time_ms span)
{
    struct loop *loop = conn->server->loop;
    loop_timer_set(loop, &conn->timer, loop_now(loop) + span);
}

static void deadline_off(struct http_conn *conn)
{
    loop_timer_clear(conn->server->loop, &conn->timer);
}

void http_conn_defer(struct http_conn *conn)
{
    loop_defer(conn->server->loop, &conn->task);
}

static void wait_end(struct http_conn *conn)
{
    if (conn->is_waiting)
        TAILQ_REMOVE(&conn->server->waiting, conn, waits);
    conn->is_waiting = false;
}

static void wait_begin(struct http_conn *conn)
{
    wait_end(conn);
    TAILQ_INSERT_TAIL(&conn->server->waiting, conn, waits);
    conn->is_waiting = true;
}

/* To be closed by its task: callers may be deep in somebody's callback. */
static void conn_break(struct http_conn *conn)
{
    conn->broken = true;
    wait_end(conn);
    deadline_off(conn);
    loop_io_set(conn->io, 0);
    http_conn_defer(conn);
}

bool http_conn_displace(struct http_server *server)
{
    struct http_conn *longest = TAILQ_FIRST(&server->waiting);
    if (longest)
        conn_break(longest);
    return longest != NULL;
}

static bool is_answering(const struct http_conn *conn)
{
    return conn->state == CONN_WAIT || conn->state == CONN_STREAM || conn->state == CONN_FLUSH;
}

static bool wants_input(const struct http_conn *conn)
{
    if (conn->eof)
        return false;
    return !is_answering(conn) ||
           http_conn_unread(conn) < conn->server->options.limits.header_bytes_max;
}

static void update_interest(struct http_conn *conn)
{
    uint32_t events = 0;
    if (conn->broken)
        return;
    if (wants_input(conn))
        events |= conn->read_wants_out ? EPOLLOUT : EPOLLIN;
    else if (!conn->eof && conn->state != CONN_FLUSH)
        events |= EPOLLRDHUP;
    if (!http_out_is_empty(&conn->out))
        events |= conn->write_wants_in ? EPOLLIN : EPOLLOUT;
    loop_io_set(conn->io, events);
}

/* A server that stops waits for its connections, and those that have nothing more to say are not
 * worth it: without unread input there is no reset. */
static bool may_close_now(const struct http_conn *conn)
{
    int unread = 0;
    return conn->server->draining && http_conn_unread(conn) == 0 &&
           ioctl(conn->fd, FIONREAD, &unread) == 0 && unread == 0;
}

static void enter_linger(struct http_conn *conn)
{
    if (conn->eof) {
        conn_break(conn);
        return;
    }
    http_io_shut(conn);
    if (may_close_now(conn)) {
        conn_break(conn);
        return;
    }
    conn->state = CONN_LINGER;
    str_done(&conn->in);
    conn->in_pos = 0;
    deadline_in(conn, LINGER_MS);
}

static void enter_idle(struct http_conn *conn)
{
    conn->state = CONN_IDLE;
    wait_begin(conn);
    conn->scanned = conn->line_start = 0;
    deadline_in(conn, conn->server->options.limits.idle_ms);
    if (http_conn_unread(conn) > 0 || conn->eof)
        http_conn_defer(conn);
}

/* The answer is out: the exchange ends here. */
static void answered(struct http_conn *conn)
{
    bool keep_alive = conn->x && conn->x->keep_alive && !conn->server->draining;
    struct http_exchange *x = take_ptr(conn->x);
    if (keep_alive)
        enter_idle(conn);
    else
        enter_linger(conn);
    if (x)
        http_exchange_free(x);
}

void http_conn_written(struct http_conn *conn, int result, size_t progress)
{
    if (conn->broken)
        return;
    if (result < 0 && result != -EAGAIN) {
        conn_break(conn);
        return;
    }
    if (conn->state == CONN_FLUSH) {
        if (http_out_is_empty(&conn->out))
            answered(conn);
        else if (progress > 0 || !heap_contains(&conn->timer.node))
            deadline_in(conn, conn->server->options.limits.write_ms);
    }
    if (!conn->task.queued)
        update_interest(conn); /* or else at the end of this turn: two system calls less */
}

static void tell_room(struct http_conn *conn)
{
    if (conn->broken || conn->state != CONN_STREAM || !http_out_is_empty(&conn->out))
        return;
    void (*on_room)(void *arg) = take_ptr(conn->x->on_room);
    if (on_room)
        on_room(conn->x->on_gone_arg);
}

static void flush(struct http_conn *conn)
{
    if (!conn->broken && !http_out_is_empty(&conn->out)) {
        size_t progress;
        int r = http_out_flush(conn, &progress);
        http_conn_written(conn, r, progress);
    }
    tell_room(conn);
}

static void dispatch(struct http_conn *conn)
{
    struct http_exchange *x = conn->x;
    const struct http_server_options *options = &conn->server->options;
    x->req.body = (struct sv){str_text(&x->body), x->body.len};
    conn->state = CONN_WAIT;
    deadline_off(conn);
    consume(conn, 0); /* gives back the input's memory when nothing is left in it */
    options->on_request(options->arg, x);
}

static void send_continue(struct http_conn *conn)
{
    struct http_out_item item = {conn->server->continue_line, false};
    size_t progress;
    int r = http_out_send(conn, &item, 1, &progress);
    http_conn_written(conn, r, progress);
}

static void start_body(struct http_conn *conn, struct http_exchange *x)
{
    const struct http_server_options *options = &conn->server->options;
    const struct http_limits *limits = &options->limits;
    conn->x = x;
    wait_end(conn);
    conn->state = CONN_BODY;
    x->req.peer = conn->peer;
    x->started = loop_now(conn->server->loop);
    if (!x->chunked_body && x->content_length > limits->body_bytes_max) {
        http_fail(conn, 413, "the request body is too large");
        return;
    }
    if (x->body_complete)
        return;
    if (options->may_send && !options->may_send(options->arg, x)) {
        http_fail(conn, 401, "Unauthorized");
        return;
    }
    deadline_in(conn, limits->body_ms);
    /* A client that did not wait for our word does not need it. */
    if (x->expects_continue && http_conn_unread(conn) == 0)
        send_continue(conn);
}

/* Empty lines before a request are skipped (RFC 9112, 2.2). */
static void skip_empty_lines(struct http_conn *conn)
{
    while (http_conn_unread(conn) >= 2 && conn->in.data[conn->in_pos] == '\r' &&
           conn->in.data[conn->in_pos + 1] == '\n') {
        consume(conn, 2);
        conn->scanned = 0;
    }
}

static void await_head(struct http_conn *conn)
{
    if (conn->state == CONN_HEAD)
        return; /* its time runs from the first byte */
    conn->state = CONN_HEAD;
    deadline_in(conn, conn->server->options.limits.header_ms);
}

static void advance_head(struct http_conn *conn)
{
    size_t max = conn->server->options.limits.header_bytes_max;
    if (conn->line_start == 0)
        skip_empty_lines(conn);
    if (http_conn_unread(conn) == 0)
        return;
    ssize_t len = http_head_scan(conn);
    if (len < 0) {
        http_fail(conn, 400, "the request is not valid HTTP/1.1");
    } else if ((size_t)len > max || (len == 0 && http_conn_unread(conn) > max)) {
        http_fail(conn, 431, "the request headers are too large");
    } else if (len == 0) {
        await_head(conn);
    } else {
        struct http_exchange *x;
        const char *why;
        int r = http_head_parse(conn, conn->in.data + conn->in_pos, (size_t)len, &x, &why);
        consume(conn, (size_t)len);
        if (r < 0)
            http_fail(conn, 400, why);
        else
            start_body(conn, x);
    }
}

static void advance_body(struct http_conn *conn)
{
    struct http_exchange *x = conn->x;
    if (!x->body_complete && http_conn_unread(conn) > 0) {
        ssize_t used = http_body_feed(x, conn->in.data + conn->in_pos, http_conn_unread(conn),
                                      conn->server->options.limits.body_bytes_max);
        if (used == -EFBIG)
            http_fail(conn, 413, "the request body is too large");
        else if (used < 0)
            http_fail(conn, 400, "the request body is not valid chunked encoding");
        if (used < 0)
            return;
        consume(conn, (size_t)used);
    }
    if (x->body_complete)
        dispatch(conn);
}

static void advance(struct http_conn *conn)
{
    if (conn->broken)
        return;
    if (conn->state == CONN_IDLE || conn->state == CONN_HEAD)
        advance_head(conn);
    if (!conn->broken && conn->state == CONN_BODY)
        advance_body(conn);
}

/* After the client's end: what is complete has been taken, what waits for it is in vain. */
static void settle_end(struct http_conn *conn)
{
    if (!conn->eof || conn->broken || conn->task.queued || conn->state == CONN_FLUSH)
        return;
    conn_break(conn);
}

static void read_input(struct http_conn *conn)
{
    char *scratch = conn->server->read_scratch;
    for (int i = 0; i < READS_A_TURN && !conn->broken && wants_input(conn); i++) {
        bool linger = conn->state == CONN_LINGER;
        ssize_t n = linger ? http_io_discard(conn, scratch, HTTP_SCRATCH_BYTES)
                           : http_io_read(conn, scratch, HTTP_SCRATCH_BYTES);
        if (n == -EAGAIN)
            return;
        if (n < 0) {
            conn_break(conn);
            return;
        }
        conn->eof = n == 0;
        if (n > 0 && !linger) {
            str_addn(&conn->in, scratch, (size_t)n);
            advance(conn);
        }
        settle_end(conn);
        if ((size_t)n < HTTP_SCRATCH_BYTES)
            return; /* epoll tells when there is more */
    }
}

static void handshake(struct http_conn *conn)
{
    int r = http_io_handshake(conn);
    if (r == 0)
        enter_idle(conn);
    else if (r != -EAGAIN)
        conn_break(conn);
}

static void on_event(void *arg, uint32_t events)
{
    struct http_conn *conn = arg;
    if (conn->broken)
        return;
    if (!wants_input(conn) && (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))) {
        conn_break(conn);
        return;
    }
    if (conn->state == CONN_HANDSHAKE)
        handshake(conn);
    else if (events & ~(uint32_t)EPOLLOUT || conn->read_wants_out)
        read_input(conn);
    if (events & EPOLLOUT || conn->write_wants_in)
        flush(conn);
    update_interest(conn);
}

static void on_deadline(void *arg)
{
    struct http_conn *conn = arg;
    if (conn->state == CONN_HEAD)
        http_fail(conn, 408, "the request headers did not arrive in time");
    else if (conn->state == CONN_BODY)
        http_fail(conn, 408, "the request body did not arrive in time");
    else
        conn_break(conn);
}

static void drain(struct http_conn *conn)
{
    if (conn->state == CONN_STREAM)
        http_stream_close(conn->x);
    else if (conn->state == CONN_IDLE && http_conn_unread(conn) == 0)
        enter_linger(conn);
    else if (conn->state == CONN_HANDSHAKE)
        conn_break(conn);
}

static void on_task(void *arg)
{
    struct http_conn *conn = arg;
    if (conn->broken) {
        http_conn_free(conn);
        return;
    }
    if (conn->server->draining)
        drain(conn);
    flush(conn);
    advance(conn);
    settle_end(conn);
    update_interest(conn);
}

static void peer_of_inet(const struct sockaddr_storage *from, struct http_peer *peer)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)from;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        (void)snprintf(peer->address, sizeof(peer->address), "%s:%u", host, ntohs(in->sin_port));
    } else if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)from;
        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
        (void)snprintf(peer->address, sizeof(peer->address), "[%s]:%u", host, ntohs(in->sin6_port));
    }
}

static void find_peer(int fd, struct http_peer *peer)
{
    struct sockaddr_storage from = {0};
    socklen_t len = sizeof(from);
    struct ucred cred;
    socklen_t cred_len = sizeof(cred);
    if (getpeername(fd, (struct sockaddr *)&from, &len) < 0 || from.ss_family != AF_UNIX) {
        peer_of_inet(&from, peer);
        return;
    }
    (void)snprintf(peer->address, sizeof(peer->address), "unix");
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) < 0)
        return;
    peer->is_unix = true; /* only with credentials: callers trust the uid */
    peer->uid = cred.uid;
    peer->pid = cred.pid;
}

/* Watch streams are silent for hours: keep-alive probes find the clients that vanished. All four
 * fail on unix sockets, harmlessly. */
static void tune_socket(int fd)
{
    int on = 1, idle_s = 60, interval_s = 15;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
}

static SSL *make_tls(SSL_CTX *ctx, int fd)
{
    SSL *ssl = SSL_new(ctx);
    if (ssl == NULL)
        return NULL;
    SSL_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                          SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_accept_state(ssl);
    return ssl;
}

static void link_conn(struct http_conn *conn)
{
    struct http_server *server = conn->server;
    conn->next = server->conns;
    if (conn->next)
        conn->next->prev = conn;
    server->conns = conn;
    server->conn_count++;
    if (server->conn_count > server->conn_peak)
        server->conn_peak = server->conn_count;
}

/* What thousands of connections have used stays with the allocator when they are gone, since pieces
 * of it are in use for long; their owner would look like one that leaks. */
static void give_back(struct http_server *server)
{
    if (server->conn_peak < PEAK_MIN || server->conn_count > server->conn_peak / 8)
        return;
    server->conn_peak = server->conn_count;
    (void)malloc_trim(0); /* whether there was something to give back */
}

static void unlink_conn(struct http_conn *conn)
{
    if (conn->next)
        conn->next->prev = conn->prev;
    if (conn->prev)
        conn->prev->next = conn->next;
    else
        conn->server->conns = conn->next;
    conn->server->conn_count--;
    give_back(conn->server);
}

int http_conn_new(struct http_server *server, int fd, SSL_CTX *tls)
{
    SSL *ssl = tls ? make_tls(tls, fd) : NULL;
    if (tls && ssl == NULL) {
        close(fd);
        return -ENOMEM;
    }
    struct http_conn *conn = mem_zalloc(sizeof(*conn));
    conn->server = server;
    conn->fd = fd;
    conn->ssl = ssl;
    tune_socket(fd);
    find_peer(fd, &conn->peer);
    loop_timer_init(&conn->timer, on_deadline, conn);
    loop_task_init(&conn->task, on_task, conn);
    conn->state = ssl ? CONN_HANDSHAKE : CONN_IDLE;
    conn->io = loop_io_add(server->loop, fd, EPOLLIN, on_event, conn);
    const struct http_limits *limits = &server->options.limits;
    deadline_in(conn, ssl ? limits->handshake_ms : limits->idle_ms);
    link_conn(conn);
    wait_begin(conn);
    return 0;
}

static void give_up(struct http_exchange *x, bool owned)
{
    if (owned && x->on_gone)
        x->on_gone(x->on_gone_arg);
    http_exchange_free(x);
}

void http_conn_free(struct http_conn *conn)
{
    struct http_exchange *x = take_ptr(conn->x);
    unlink_conn(conn);
    wait_end(conn);
    if (x)
        give_up(x, conn->state == CONN_WAIT || conn->state == CONN_STREAM);
    deadline_off(conn);
    loop_task_cancel(conn->server->loop, &conn->task);
    loop_io_del(conn->io); /* before the close, always */
    if (conn->state != CONN_LINGER)
        http_io_shut(conn);
    SSL_free(conn->ssl);
    close(conn->fd);
    http_out_done(&conn->out);
    str_done(&conn->in);
    mem_free(conn);
}
