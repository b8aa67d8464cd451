// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"
#include "tls_fixture.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#define GET "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n"

struct tls {
    struct fixture f;
    SSL_CTX *server, *client;
};

static void tls_open(struct tls *tls, const struct http_limits *limits)
{
    tls_fixture_new(&tls->server, &tls->client);
    fixture_open(&tls->f, limits, tls->server);
}

static void tls_close(struct tls *tls)
{
    fixture_close(&tls->f);
    SSL_CTX_free(tls->server);
    SSL_CTX_free(tls->client);
}

static bool again(SSL *ssl, int n)
{
    int code = SSL_get_error(ssl, n);
    return code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE;
}

static SSL *tls_connect(struct tls *tls)
{
    SSL *ssl = SSL_new(tls->client);
    int n = 0;
    SSL_set_fd(ssl, fixture_connect(&tls->f));
    until(&tls->f, (ERR_clear_error(), n = SSL_connect(ssl), n == 1 || !again(ssl, n)));
    assert_int_equal(n, 1);
    return ssl;
}

static void tls_hang_up(SSL *ssl)
{
    int fd = SSL_get_fd(ssl);
    ERR_clear_error();
    (void)SSL_shutdown(ssl);
    SSL_free(ssl);
    close(fd);
}

static void tls_reset(SSL *ssl)
{
    struct linger reset = {.l_onoff = 1};
    int fd = SSL_get_fd(ssl);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    SSL_free(ssl);
    close(fd);
}

static void tls_send(struct tls *tls, SSL *ssl, const char *text)
{
    int n = 0;
    until(&tls->f, (ERR_clear_error(), n = SSL_write(ssl, text, (int)strlen(text)), n > 0));
}

/* False at the end of the stream. */
static bool tls_receive(SSL *ssl, struct str *got)
{
    char part[16384];
    ERR_clear_error();
    int n = SSL_read(ssl, part, sizeof(part));
    if (n > 0)
        str_addn(got, part, (size_t)n);
    return n > 0 || again(ssl, n);
}

static void tls_expect(struct tls *tls, SSL *ssl, struct str *got, const char *needle)
{
    bool open = true;
    until(&tls->f, (open = tls_receive(ssl, got), strstr(str_text(got), needle) || !open));
    assert_non_null(strstr(str_text(got), needle));
}

static void test_requests_over_tls(void **state)
{
    struct tls tls;
    scoped_str got = {0};
    (void)state;
    tls_open(&tls, NULL);
    SSL *ssl = tls_connect(&tls);
    tls_send(&tls, ssl, GET);
    tls_expect(&tls, ssl, &got, "GET /echo");
    str_clear(&got);
    tls_send(&tls, ssl, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
    tls_expect(&tls, ssl, &got, "POST /echo? hi");
    tls_hang_up(ssl);
    until(&tls.f, http_server_connections(tls.f.server) == 0);
    tls_close(&tls);
}

static void test_a_request_without_tls_is_told_so(void **state)
{
    struct tls tls;
    scoped_str got = {0};
    (void)state;
    tls_open(&tls, NULL);
    exchange_text(&tls.f, GET, &got);
    assert_non_null(strstr(str_text(&got), "HTTP request to an HTTPS server"));
    tls_close(&tls);
}

static void test_large_answer_to_a_slow_reader(void **state)
{
    struct tls tls;
    scoped_str got = {0};
    (void)state;
    tls_open(&tls, NULL);
    tls.f.big_bytes = 12u << 20;
    SSL *ssl = tls_connect(&tls);
    tls_send(&tls, ssl, "GET /big HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    until(&tls.f, tls.f.requests == 1);
    for (int i = 0; i < 20; i++)
        loop_turn(tls.f.loop, 0); /* fills all buffers: the writer has to wait */
    until(&tls.f, !tls_receive(ssl, &got));
    const char *body = strstr(got.data, "\r\n\r\n") + 4;
    assert_int_equal(got.len - (size_t)(body - got.data), tls.f.big_bytes);
    assert_int_equal(SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN);
    tls_hang_up(ssl);
    tls_close(&tls);
}

static void test_stream_over_tls(void **state)
{
    struct tls tls;
    scoped_str got = {0};
    (void)state;
    tls_open(&tls, NULL);
    SSL *ssl = tls_connect(&tls);
    tls_send(&tls, ssl, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    tls_expect(&tls, ssl, &got, "\r\n\r\n");
    struct buf *chunk = buf_new("event\n", 6);
    assert_int_equal(http_stream_send(tls.f.held, chunk), 0);
    tls_expect(&tls, ssl, &got, "6\r\nevent\n\r\n");
    tls_hang_up(ssl);
    until(&tls.f, tls.f.gone == 1);
    buf_unref(chunk);
    tls_close(&tls);
}

static void test_slow_reader_over_tls_is_bounded(void **state)
{
    struct tls tls;
    struct http_limits limits = {.stream_bytes_max = 50000};
    scoped_str got = {0};
    char data[5000] = {0};
    int r = 0;
    (void)state;
    tls_open(&tls, &limits);
    SSL *ssl = tls_connect(&tls);
    tls_send(&tls, ssl, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    tls_expect(&tls, ssl, &got, "\r\n\r\n");
    struct buf *chunk = buf_new(data, sizeof(data));
    size_t sent = 0;
    for (; (r = http_stream_send(tls.f.held, chunk)) == 0; sent++)
        assert_true(sent < 100000);
    assert_int_equal(r, -ENOBUFS);
    http_stream_end(tls.f.held, NULL);
    size_t whole = got.len + sent * (sizeof(data) + 8) + 5;
    until(&tls.f, (tls_receive(ssl, &got), got.len == whole));
    buf_unref(chunk);
    tls_hang_up(ssl);
    tls_close(&tls);
}

/* OpenSSL's error queue is shared by all connections of the thread. */
static void test_abrupt_end_of_one_does_not_disturb_others(void **state)
{
    struct tls tls;
    scoped_str got = {0};
    (void)state;
    tls_open(&tls, NULL);
    SSL *steady = tls_connect(&tls);
    tls_send(&tls, steady, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
    until(&tls.f, tls.f.held);
    struct http_exchange *held = tls.f.held;
    for (int i = 0; i < 20; i++) {
        SSL *rude = tls_connect(&tls);
        int raw = fixture_connect(&tls.f);
        send_text(&tls.f, raw, "this is no handshake\r\n\r\n");
        tls_send(&tls, rude, GET);
        if (i % 2) {
            tls_reset(rude);
        } else { /* FIN without close_notify */
            int fd = SSL_get_fd(rude);
            SSL_free(rude);
            close(fd);
        }
        SSL *polite = tls_connect(&tls);
        tls_send(&tls, polite, GET);
        tls_expect(&tls, polite, &got, "GET /echo");
        str_clear(&got);
        tls_hang_up(polite);
        close(raw);
    }
    until(&tls.f, http_server_connections(tls.f.server) == 1);
    http_reply(held, 200, "text/plain", NULL, NULL);
    tls_expect(&tls, steady, &got, "Content-Length: 0");
    tls_hang_up(steady);
    tls_close(&tls);
}

static void test_slow_handshake_is_closed(void **state)
{
    struct tls tls;
    struct http_limits limits = {.handshake_ms = 5};
    scoped_str got = {0};
    (void)state;
    tls_open(&tls, &limits);
    int fd = fixture_connect(&tls.f);
    expect_end(&tls.f, fd, &got);
    assert_int_equal(got.len, 0);
    close(fd);
    tls_close(&tls);
}

static void test_limit_closes_without_a_word(void **state)
{
    struct tls tls;
    struct http_limits limits = {.connections_max = 1};
    scoped_str got = {0};
    (void)state;
    tls_open(&tls, &limits);
    SSL *ssl = tls_connect(&tls);
    int fd = fixture_connect(&tls.f);
    expect_end(&tls.f, fd, &got);
    assert_int_equal(got.len, 0);
    close(fd);
    tls_hang_up(ssl);
    tls_close(&tls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_over_tls),
        cmocka_unit_test(test_a_request_without_tls_is_told_so),
        cmocka_unit_test(test_large_answer_to_a_slow_reader),
        cmocka_unit_test(test_stream_over_tls),
        cmocka_unit_test(test_slow_reader_over_tls_is_bounded),
        cmocka_unit_test(test_abrupt_end_of_one_does_not_disturb_others),
        cmocka_unit_test(test_slow_handshake_is_closed),
        cmocka_unit_test(test_limit_closes_without_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
