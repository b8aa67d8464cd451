// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"
#include "os/client.h"
#include "os/fd.h"
#include "tls_fixture.h"
#include <errno.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The client blocks, so the server has a thread of its own. What it does is said by the path;
 * nothing of it is touched by the test while the thread runs. */
struct host {
    struct loop *loop;
    struct http_server *server;
    struct loop_io *stop_io;
    int stop_fd;
    int port;
    pthread_t thread;
};

static struct buf *text_buf(const char *text)
{
    return buf_new(text, strlen(text));
}

static void reply_text(struct http_exchange *x, int status, const char *headers, const char *text)
{
    struct buf *body = text_buf(text);
    http_reply(x, status, "text/plain", headers, body);
    buf_unref(body);
}

static void reply_echo(struct http_exchange *x)
{
    const struct http_request *req = http_request_of(x);
    const char *auth = http_header(x, "Authorization"), *type = http_header(x, "Content-Type");
    scoped_str text = {0};
    str_addf(&text, "%s %s %s|", req->method, auth ? auth : "-", type ? type : "-");
    str_addn(&text, req->body.ptr, req->body.len);
    reply_text(x, 200, NULL, text.data);
}

static void ignore_end(void *arg)
{
    (void)arg;
}

static void reply_lines(struct http_exchange *x)
{
    static const char *const PARTS[] = {"one\ntw", "o\n", "\nfour\nrest"};
    http_stream_start(x, 200, "application/json", ignore_end, NULL);
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++) {
        struct buf *part = text_buf(PARTS[i]);
        (void)http_stream_send(x, part); /* what is lost would miss in the test's thread */
        buf_unref(part);
    }
    http_stream_end(x, NULL);
}

static void on_request(void *arg, struct http_exchange *x)
{
    const char *path = http_request_of(x)->path;
    (void)arg;
    if (str_eq(path, "/warn"))
        reply_text(x, 201, "Warning: 299 - \"old \\\"name\\\"\"\r\nWarning: 299 - \"b\"\r\n",
                   "made");
    else if (str_eq(path, "/lines"))
        reply_lines(x);
    else if (str_eq(path, "/gone"))
        reply_text(x, 410, NULL, "gone");
    else if (str_eq(path, "/silent-stream"))
        http_stream_start(x, 200, "application/json", ignore_end, NULL);
    else if (!str_eq(path, "/silent"))
        reply_echo(x);
}

static void on_stop(void *arg, uint32_t events)
{
    (void)events;
    loop_stop(arg);
}

static void *run_loop(void *arg)
{
    struct host *host = arg;
    loop_run(host->loop);
    return NULL;
}

static void host_open(struct host *host, int fd, SSL_CTX *tls)
{
    struct http_server_options options = {.on_request = on_request,
                                          .limits = {.body_bytes_max = 1000}};
    assert_int_equal(loop_new(&host->loop, NULL), 0);
    assert_int_equal(http_server_new(host->loop, &options, &host->server, NULL), 0);
    assert_int_equal(http_server_listen(host->server, fd, tls, NULL), 0);
    host->stop_fd = eventfd(0, EFD_CLOEXEC);
    host->stop_io = loop_io_add(host->loop, host->stop_fd, EPOLLIN, on_stop, host->loop);
    assert_int_equal(pthread_create(&host->thread, NULL, run_loop, host), 0);
}

static void host_close(struct host *host)
{
    assert_int_equal(eventfd_write(host->stop_fd, 1), 0);
    assert_int_equal(pthread_join(host->thread, NULL), 0);
    loop_io_del(host->stop_io);
    close(host->stop_fd);
    http_server_free(host->server);
    loop_free(host->loop);
}

static struct client *client_to(int port, SSL_CTX *tls, int timeout_ms)
{
    struct client_options options = {
        .host = "127.0.0.1", .port = port, .tls = tls, .token = "secret", .timeout_ms = timeout_ms};
    struct client *client;
    assert_int_equal(client_new(&options, &client, NULL), 0);
    return client;
}

static void expect_call(struct client *client, struct client_request req, int status,
                        const char *answer)
{
    struct client_response res = {0};
    struct err err = {0};
    req.content_type = req.body.len > 0 ? "text/x" : NULL;
    req.accept = "*/*";
    int r = client_call(client, &req, &res, &err);
    if (r != 0)
        fail_msg("%s %s: %d %s", req.method, req.target, r, err.text);
    assert_int_equal(res.status, status);
    assert_string_equal(str_text(&res.body), answer);
    client_response_done(&res);
}

static void exercise(struct client *client)
{
    struct client_response res = {0};
    struct err err = {0};
    expect_call(client, (struct client_request){"GET", "/echo"}, 200, "GET Bearer secret -|");
    expect_call(client, (struct client_request){"POST", "/echo", .body = SV("body")}, 200,
                "POST Bearer secret text/x|body");
    expect_call(client, (struct client_request){"HEAD", "/echo"}, 200, "");
    expect_call(client, (struct client_request){"DELETE", "/gone"}, 410, "gone");
    assert_int_equal(client_call(client, &(struct client_request){"PUT", "/warn"}, &res, &err), 0);
    assert_int_equal(res.status, 201);
    assert_string_equal(res.warnings.data, "old \"name\"\nb\n");
    assert_string_equal(res.content_type.data, "text/plain");
    client_response_done(&res);
}

static void test_calls_over_tcp(void **state)
{
    struct host host;
    int port;
    (void)state;
    int fd = listen_on_loopback(&port);
    host_open(&host, fd, NULL);
    struct client *client = client_to(port, NULL, 0);
    exercise(client);
    client_free(client);
    host_close(&host);
}

static void test_calls_over_tls(void **state)
{
    struct host host;
    SSL_CTX *server, *trusting, *stranger;
    struct client_response res = {0};
    struct err err = {0};
    int port;
    (void)state;
    tls_fixture_new(&server, &trusting);
    int fd = listen_on_loopback(&port);
    host_open(&host, fd, server);
    struct client *client = client_to(port, trusting, 0);
    exercise(client);
    client_free(client);
    stranger = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_verify(stranger, SSL_VERIFY_PEER, NULL);
    client = client_to(port, stranger, 0);
    assert_int_equal(client_call(client, &(struct client_request){"GET", "/echo"}, &res, &err),
                     -EKEYREJECTED);
    assert_non_null(strstr(err.text, "certificate of 127.0.0.1"));
    client_free(client);
    host_close(&host);
    SSL_CTX_free(server);
    SSL_CTX_free(trusting);
    SSL_CTX_free(stranger);
}

static int listen_on_path(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

static void test_calls_over_a_unix_socket(void **state)
{
    struct host host;
    char folder[] = "/tmp/test_client.XXXXXX";
    struct client_response res = {0};
    struct err err = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    scoped_free char *path = mem_printf("%s/socket", folder);
    struct client_options options = {.unix_path = path, .token = "secret"};
    struct client *client;
    assert_int_equal(client_new(&options, &client, &err), 0);
    assert_int_equal(client_call(client, &(struct client_request){"GET", "/"}, &res, &err),
                     -ENOENT);
    host_open(&host, listen_on_path(path), NULL);
    exercise(client);
    host_close(&host);
    assert_int_equal(client_call(client, &(struct client_request){"GET", "/"}, &res, &err),
                     -ECONNREFUSED);
    client_free(client);
    unlink(path);
    rmdir(folder);
}

/* A server that closes each connection after its first answer without having said so. */
static void *serve_one_each(void *arg)
{
    static const char ANSWER[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    int *listen_fd = arg;
    char request[4096];
    for (int i = 0; i < 5; i++) {
        struct pollfd ready = {.fd = *listen_fd, .events = POLLIN};
        (void)poll(&ready, 1, 10000);
        scoped_fd fd = accept(*listen_fd, NULL, NULL);
        if (recv(fd, request, sizeof(request), 0) > 0)
            (void)send(fd, ANSWER, sizeof(ANSWER) - 1, MSG_NOSIGNAL);
    }
    return NULL;
}

static void test_reconnects_when_the_server_had_closed(void **state)
{
    pthread_t thread;
    int port;
    (void)state;
    int fd = listen_on_loopback(&port);
    assert_int_equal(pthread_create(&thread, NULL, serve_one_each, &fd), 0);
    struct client *client = client_to(port, NULL, 0);
    for (int i = 0; i < 5; i++)
        expect_call(client, (struct client_request){"GET", "/"}, 200, "ok");
    assert_int_equal(pthread_join(thread, NULL), 0);
    client_free(client);
    close(fd);
}

static void test_a_refusal_is_read_while_sending(void **state)
{
    struct host host;
    struct client_response res = {0};
    struct err err = {0};
    int port;
    size_t len = 3u << 20;
    (void)state;
    int fd = listen_on_loopback(&port);
    host_open(&host, fd, NULL);
    struct client *client = client_to(port, NULL, 0);
    scoped_free char *body = mem_zalloc(len);
    int r = client_call(client,
                        &(struct client_request){"POST", "/echo", "text/x", .body = {body, len}},
                        &res, &err);
    assert_int_equal(r, 0);
    assert_int_equal(res.status, 413);
    client_response_done(&res);
    expect_call(client, (struct client_request){"GET", "/echo"}, 200, "GET Bearer secret -|");
    client_free(client);
    host_close(&host);
}

static int add_line(void *arg, struct sv line)
{
    struct str *text = arg;
    str_addf(text, "[%.*s]", (int)line.len, line.ptr);
    return sv_is(line, "four") ? 44 : 0;
}

static int keep_line(void *arg, struct sv line)
{
    (void)add_line(arg, line);
    return 0;
}

static void test_stream_of_lines(void **state)
{
    struct host host;
    struct client_response res = {0};
    struct err err = {0};
    scoped_str text = {0};
    int port;
    (void)state;
    int fd = listen_on_loopback(&port);
    host_open(&host, fd, NULL);
    struct client *client = client_to(port, NULL, 0);
    int r = client_stream(client, &(struct client_stream){"/lines", NULL, 0, add_line, &text}, &res,
                          &err);
    assert_int_equal(r, 44);
    assert_string_equal(text.data, "[one][two][][four]");
    client_response_done(&res);
    r = client_stream(client, &(struct client_stream){"/lines", NULL, 0, keep_line, &text}, &res,
                      &err);
    assert_int_equal(r, 0);
    assert_int_equal(res.status, 200);
    client_response_done(&res);
    r = client_stream(client, &(struct client_stream){"/gone", NULL, 0, keep_line, &text}, &res,
                      &err);
    assert_int_equal(r, 0);
    assert_int_equal(res.status, 410);
    assert_string_equal(res.body.data, "gone");
    client_response_done(&res);
    r = client_stream(client, &(struct client_stream){"/silent-stream", NULL, 5, keep_line, &text},
                      &res, &err);
    assert_int_equal(r, -ETIMEDOUT);
    client_free(client);
    host_close(&host);
}

static void test_no_answer_in_time(void **state)
{
    struct host host;
    struct client_response res = {0};
    struct err err = {0};
    int port;
    (void)state;
    int fd = listen_on_loopback(&port);
    host_open(&host, fd, NULL);
    struct client *client = client_to(port, NULL, 10);
    int r = client_call(client, &(struct client_request){"GET", "/silent"}, &res, &err);
    assert_int_equal(r, -ETIMEDOUT);
    assert_string_equal(err.text, "GET /silent: the server did not answer in time");
    client_free(client);
    host_close(&host);
}

/* The descriptor that ends it is readable already: nothing here depends on who is faster. */
static void test_whatever_waits_can_be_ended(void **state)
{
    struct host host;
    struct client_response res = {0};
    struct err err = {0};
    scoped_str text = {0};
    int port;
    (void)state;
    int fd = listen_on_loopback(&port);
    host_open(&host, fd, NULL);
    scoped_fd cancel = eventfd(1, EFD_CLOEXEC);
    struct client *client = client_to(port, NULL, 0);
    client_cancel_on(client, cancel);
    struct client_stream stream = {"/silent-stream", NULL, 0, keep_line, &text};
    assert_int_equal(client_stream(client, &stream, &res, &err), -ECANCELED);
    assert_int_equal(client_call(client, &(struct client_request){"GET", "/silent"}, &res, &err),
                     -ECANCELED);
    client_free(client);
    host_close(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whatever_waits_can_be_ended),
        cmocka_unit_test(test_calls_over_tcp),
        cmocka_unit_test(test_calls_over_tls),
        cmocka_unit_test(test_calls_over_a_unix_socket),
        cmocka_unit_test(test_reconnects_when_the_server_had_closed),
        cmocka_unit_test(test_a_refusal_is_read_while_sending),
        cmocka_unit_test(test_stream_of_lines),
        cmocka_unit_test(test_no_answer_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
