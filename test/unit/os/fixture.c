// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int64_t test_now_ms(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

static void on_gone(void *arg)
{
    struct fixture *f = arg;
    f->gone++;
    f->held = NULL;
}

static void reply_echo(struct http_exchange *x)
{
    const struct http_request *req = http_request_of(x);
    scoped_str text = {0};
    str_addf(&text, "%s %s?%s ", req->method, req->path, req->query);
    str_addn(&text, req->body.ptr, req->body.len);
    const char *extra = http_header(x, "X-Extra");
    if (extra)
        str_addf(&text, " [%s]", extra);
    struct buf *body = buf_take(&text);
    http_reply(x, 200, "text/plain", "X-Test: yes\r\n", body);
    buf_unref(body);
}

static void reply_big(struct fixture *f, struct http_exchange *x)
{
    char *data = mem_alloc(f->big_bytes);
    memset(data, 'b', f->big_bytes);
    struct buf *body = buf_new(data, f->big_bytes);
    mem_free(data);
    http_reply(x, 200, "text/plain", NULL, body);
    buf_unref(body);
}

static void on_request(void *arg, struct http_exchange *x)
{
    struct fixture *f = arg;
    const struct http_request *req = http_request_of(x);
    f->requests++;
    f->peer = req->peer;
    if (str_eq(req->path, "/late")) {
        f->held = x;
        http_tag(x, "somebody");
        http_on_abandoned(x, on_gone, f);
    } else if (str_eq(req->path, "/stream")) {
        f->held = x;
        http_stream_start(x, 200, "application/json", on_gone, f);
    } else if (str_eq(req->path, "/big")) {
        reply_big(f, x);
    } else {
        reply_echo(x);
    }
}

static void on_done(void *arg, const struct http_done *done)
{
    struct fixture *f = arg;
    assert_non_null(done->req->method);
    assert_true(done->took_ms >= 0);
    f->done++;
    f->done_status = done->status;
    f->done_bytes = done->body_bytes;
    (void)snprintf(f->done_who, sizeof(f->done_who), "%s", done->who);
}

int listen_on_loopback(int *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 512), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

void fixture_open(struct fixture *f, const struct http_limits *limits, SSL_CTX *tls)
{
    struct http_server_options options = {.on_request = on_request, .on_done = on_done, .arg = f};
    if (limits)
        options.limits = *limits;
    *f = (struct fixture){.done_status = -1};
    assert_int_equal(loop_new(&f->loop, NULL), 0);
    assert_int_equal(http_server_new(f->loop, &options, &f->server, NULL), 0);
    int fd = listen_on_loopback(&f->port);
    assert_int_equal(http_server_listen(f->server, fd, tls, NULL), 0);
}

void fixture_close(struct fixture *f)
{
    http_server_free(f->server);
    loop_free(f->loop);
}

int fixture_connect(struct fixture *f)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)f->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

void send_text(struct fixture *f, int fd, const char *text)
{
    size_t len = strlen(text);
    while (len > 0) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN)
            return; /* a refusal may come before the end of the request */
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
        loop_turn(f->loop, 0);
    }
}

bool receive(int fd, struct str *got)
{
    char part[65536];
    ssize_t n = recv(fd, part, sizeof(part), MSG_DONTWAIT);
    if (n > 0)
        str_addn(got, part, (size_t)n);
    return n > 0 || (n < 0 && errno == EAGAIN);
}

void expect_text(struct fixture *f, int fd, struct str *got, const char *needle)
{
    bool open = true;
    until(f, (open = receive(fd, got), strstr(str_text(got), needle) || !open));
    if (strstr(str_text(got), needle) == NULL)
        fail_msg("'%s' is not in '%s'", needle, str_text(got));
}

void expect_end(struct fixture *f, int fd, struct str *got)
{
    until(f, !receive(fd, got));
}

void exchange_text(struct fixture *f, const char *request, struct str *got)
{
    int fd = fixture_connect(f);
    send_text(f, fd, request);
    expect_end(f, fd, got);
    close(fd);
}
