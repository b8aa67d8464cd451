// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST "Host: h\r\n"

static void test_keep_alive_serves_a_second_request(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = fixture_connect(&f);
    send_text(&f, fd, "GET /echo?a=b HTTP/1.1\r\n" HOST "X-Extra:  v \r\n\r\n");
    expect_text(&f, fd, &got, "GET /echo?a=b  [v]");
    assert_non_null(strstr(got.data, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(got.data, "Content-Type: text/plain\r\n"));
    assert_non_null(strstr(got.data, "X-Test: yes\r\n"));
    assert_null(strstr(got.data, "Connection:"));
    str_clear(&got);
    send_text(&f, fd, "PUT /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello");
    expect_text(&f, fd, &got, "PUT /echo? hello");
    assert_int_equal(f.done, 2);
    assert_int_equal(f.done_status, 200);
    assert_int_equal(f.done_bytes, strlen("PUT /echo? hello"));
    assert_int_equal(http_server_connections(f.server), 1);
    assert_false(f.peer.is_unix);
    assert_true(str_starts(f.peer.address, "127.0.0.1:"));
    close(fd);
    until(&f, http_server_connections(f.server) == 0);
    fixture_close(&f);
}

static void test_pipelined_requests_are_answered_in_order(void **state)
{
    enum { COUNT = 400 };
    struct fixture f;
    scoped_str got = {0}, sent = {0};
    char last[64];
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = fixture_connect(&f);
    for (int i = 0; i < COUNT; i++)
        str_addf(&sent, "GET /echo?n=%d HTTP/1.1\r\n" HOST "\r\n", i);
    send_text(&f, fd, sent.data);
    (void)snprintf(last, sizeof(last), "?n=%d ", COUNT - 1);
    expect_text(&f, fd, &got, last);
    const char *at = got.data;
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(last, sizeof(last), "?n=%d ", i);
        at = strstr(at, last);
        assert_non_null(at);
    }
    assert_int_equal(f.requests, COUNT);
    close(fd);
    fixture_close(&f);
}

static void test_a_pipelined_request_waits_for_a_late_answer(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = fixture_connect(&f);
    send_text(&f, fd, "GET /late HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n");
    until(&f, f.held);
    for (int i = 0; i < 5; i++)
        loop_turn(f.loop, 0);
    assert_int_equal(f.requests, 1);
    http_reply(f.held, 404, "text/plain", NULL, NULL);
    expect_text(&f, fd, &got, "GET /echo");
    assert_ptr_equal(strstr(got.data, "HTTP/1.1 404 Not Found\r\n"), got.data);
    assert_int_equal(f.gone, 0);
    close(fd);
    fixture_close(&f);
}

static void test_input_held_during_an_answer_is_bounded(void **state)
{
    struct fixture f;
    scoped_str got = {0}, flood = {0};
    struct http_limits limits = {.header_bytes_max = 1024};
    (void)state;
    fixture_open(&f, &limits, NULL);
    int fd = fixture_connect(&f);
    send_text(&f, fd, "GET /late HTTP/1.1\r\n" HOST "\r\n");
    until(&f, f.held);
    for (int i = 0; i < 2000; i++)
        str_add(&flood, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    send_text(&f, fd, flood.data);
    for (int i = 0; i < 5; i++)
        loop_turn(f.loop, 0);
    assert_int_equal(f.requests, 1);
    http_reply(f.held, 200, "text/plain", NULL, NULL);
    until(&f, (receive(fd, &got), f.requests == 2001));
    close(fd);
    fixture_close(&f);
}

static void test_flooding_client_that_leaves_is_noticed(void **state)
{
    struct fixture f;
    struct http_limits limits = {.header_bytes_max = 1024};
    char flood[8192];
    (void)state;
    fixture_open(&f, &limits, NULL);
    int fd = fixture_connect(&f);
    send_text(&f, fd, "GET /late HTTP/1.1\r\n" HOST "\r\n");
    until(&f, f.held);
    memset(flood, 'x', sizeof(flood) - 1);
    flood[sizeof(flood) - 1] = '\0';
    for (int i = 0; i < 8; i++)
        send_text(&f, fd, flood);
    close(fd);
    until(&f, f.gone == 1 && http_server_connections(f.server) == 0);
    fixture_close(&f);
}

static void test_client_gone_before_the_answer(void **state)
{
    struct fixture f;
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = fixture_connect(&f);
    send_text(&f, fd, "GET /late HTTP/1.1\r\n" HOST "\r\n");
    until(&f, f.held);
    close(fd);
    until(&f, f.gone == 1);
    assert_int_equal(f.done, 1);
    assert_int_equal(f.done_status, 0);
    assert_string_equal(f.done_who, "somebody");
    assert_int_equal(http_server_connections(f.server), 0);
    fixture_close(&f);
}

static void test_half_closed_client_gets_its_answers(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    f.big_bytes = 8u << 20;
    int fd = fixture_connect(&f);
    send_text(&f, fd, "GET /echo HTTP/1.1\r\n" HOST "\r\nGET /big HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    expect_end(&f, fd, &got);
    assert_true(got.len > f.big_bytes);
    close(fd);
    until(&f, http_server_connections(f.server) == 0);
    assert_int_equal(f.done, 2);
    fixture_close(&f);
}

static void test_head_has_the_length_and_no_body(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    exchange_text(&f, "HEAD /echo HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", &got);
    assert_non_null(strstr(got.data, "Content-Length: 12\r\n"));
    assert_non_null(strstr(got.data, "Connection: close\r\n"));
    assert_true(str_ends(got.data, "\r\n\r\n"));
    fixture_close(&f);
}

static void test_http_1_0(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    exchange_text(&f, "GET /echo HTTP/1.0\r\n\r\n", &got);
    assert_non_null(strstr(got.data, "GET /echo? "));
    int fd = fixture_connect(&f);
    str_clear(&got);
    send_text(&f, fd, "GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    expect_text(&f, fd, &got, "GET /echo");
    assert_non_null(strstr(got.data, "Connection: keep-alive\r\n"));
    str_clear(&got);
    send_text(&f, fd, "GET /echo?again HTTP/1.0\r\n\r\n");
    expect_text(&f, fd, &got, "?again");
    close(fd);
    fixture_close(&f);
}

static void test_continue_is_sent_to_who_waits_for_it(void **state)
{
    static const char HEAD[] =
        "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n";
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = fixture_connect(&f);
    send_text(&f, fd, HEAD);
    expect_text(&f, fd, &got, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(f.requests, 0);
    send_text(&f, fd, "body");
    expect_text(&f, fd, &got, "POST /echo? body");
    close(fd);
    str_clear(&got);
    exchange_text(&f,
                  "POST /echo HTTP/1.1\r\n" HOST
                  "Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n",
                  &got);
    assert_ptr_equal(strstr(got.data, "HTTP/1.1 413 "), got.data);
    fixture_close(&f);
}

static void test_chunked_body_then_a_pipelined_request(void **state)
{
    static const char TEXT[] = "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
                               "3\r\nabc\r\n4;ext=1\r\ndefg\r\n0\r\nTrailer: x\r\n\r\n"
                               "GET /echo?next HTTP/1.1\r\n" HOST "\r\n";
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = fixture_connect(&f);
    send_text(&f, fd, TEXT);
    expect_text(&f, fd, &got, "?next");
    assert_non_null(strstr(got.data, "POST /echo? abcdefg"));
    str_clear(&got);
    for (const char *at = TEXT; *at; at++) { /* the same, one byte at a time */
        char one[2] = {*at, '\0'};
        send_text(&f, fd, one);
    }
    expect_text(&f, fd, &got, "?next");
    assert_non_null(strstr(got.data, "POST /echo? abcdefg"));
    close(fd);
    fixture_close(&f);
}

static void test_empty_lines_and_absolute_targets(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = fixture_connect(&f);
    send_text(&f, fd, "\r");
    send_text(&f, fd, "\n\r\nGET http://h:1/echo?q HTTP/1.1\r\n" HOST "\r\n");
    expect_text(&f, fd, &got, "GET /echo?q");
    str_clear(&got);
    send_text(&f, fd, "OPTIONS * HTTP/1.1\r\n" HOST "Upgrade: h2c\r\nConnection: upgrade\r\n\r\n");
    expect_text(&f, fd, &got, "OPTIONS *?");
    send_text(&f, fd, "CONNECT h:80 HTTP/1.1\r\n" HOST "X-Extra:\r\n\r\n");
    expect_text(&f, fd, &got, "CONNECT h:80?  []");
    close(fd);
    fixture_close(&f);
}

struct refusal {
    const char *name;
    const char *request;
    int status;
};

#define CHUNKED "Transfer-Encoding: chunked\r\n"
static const struct refusal REFUSALS[] = {
    {"no HTTP", "hello\r\n\r\n", 400},
    {"TLS on a clear port", "\x16\x03\x01\x02", 400},
    {"HTTP/0.9", "GET /\r\n\r\n", 400},
    {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
    {"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
    {"two Hosts", "GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400},
    {"length and chunks", "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n" CHUNKED "\r\nabc",
     400},
    {"chunks and length", "POST / HTTP/1.1\r\n" HOST CHUNKED "Content-Length: 3\r\n\r\nabc", 400},
    {"two lengths", "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 4\r\n\r\n",
     400},
    {"list of lengths", "POST / HTTP/1.1\r\n" HOST "Content-Length: 3, 3\r\n\r\nabc", 400},
    {"signed length", "POST / HTTP/1.1\r\n" HOST "Content-Length: +3\r\n\r\nabc", 400},
    {"endless length", "POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n",
     400},
    {"other encoding", "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", 400},
    {"two encodings", "POST / HTTP/1.1\r\n" HOST CHUNKED CHUNKED "\r\n", 400},
    {"unknown encoding", "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n", 400},
    {"chunks in 1.0", "POST / HTTP/1.0\r\n" CHUNKED "\r\n", 400},
    {"bare LF", "GET / HTTP/1.1\n" HOST "\r\n", 400},
    {"bare LF later", "GET / HTTP/1.1\r\nHost: h\n\r\n", 400},
    {"bare CR", "GET / HTTP/1.1\r\nHost: h\r\n\rX: y\r\n\r\n", 400},
    {"folded line", "GET / HTTP/1.1\r\n" HOST "X-Extra: a\r\n b\r\n\r\n", 400},
    {"space before colon", "GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400},
    {"no name", "GET / HTTP/1.1\r\n" HOST ": v\r\n\r\n", 400},
    {"control character", "GET / HTTP/1.1\r\n" HOST "X-Extra: \x01\r\n\r\n", 400},
    {"space in target", "GET /a b HTTP/1.1\r\n" HOST "\r\n", 400},
    {"bad chunk size", "POST / HTTP/1.1\r\n" HOST CHUNKED "\r\nzz\r\n", 400},
    {"chunk size too long", "POST / HTTP/1.1\r\n" HOST CHUNKED "\r\nfffffffffffffffff\r\n", 400},
    {"chunk ended by LF", "POST / HTTP/1.1\r\n" HOST CHUNKED "\r\n3\nabc\r\n0\r\n\r\n", 400},
    {"chunk too long", "POST / HTTP/1.1\r\n" HOST CHUNKED "\r\n3\r\nabcd\r\n0\r\n\r\n", 400},
    {"body too large", "POST / HTTP/1.1\r\n" HOST "Content-Length: 1025\r\n\r\n", 413},
};

static void check_refusal(struct fixture *f, const char *name, const char *request, int status)
{
    scoped_str got = {0};
    char line[64], code[32];
    exchange_text(f, request, &got);
    (void)snprintf(line, sizeof(line), "HTTP/1.1 %d ", status);
    (void)snprintf(code, sizeof(code), "\"code\":%d}", status);
    if (!str_starts(str_text(&got), line) || !strstr(got.data, code) ||
        !strstr(got.data, "Connection: close\r\n") || !strstr(got.data, "\"kind\":\"Status\""))
        fail_msg("%s: got '%s'", name, str_text(&got));
}

static void test_what_is_refused(void **state)
{
    struct fixture f;
    struct http_limits limits = {.header_bytes_max = 512, .body_bytes_max = 1024};
    (void)state;
    fixture_open(&f, &limits, NULL);
    for (size_t i = 0; i < ARRAY_LEN(REFUSALS); i++)
        check_refusal(&f, REFUSALS[i].name, REFUSALS[i].request, REFUSALS[i].status);
    assert_int_equal(f.requests, 0);
    until(&f, http_server_connections(f.server) == 0);
    fixture_close(&f);
}

static void add_filler(struct str *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        str_addc(text, 'f');
}

static void test_too_much_is_refused(void **state)
{
    struct fixture f;
    struct http_limits limits = {.header_bytes_max = 512, .body_bytes_max = 1024};
    scoped_str whole = {0}, part = {0}, chunks = {0}, flood = {0};
    (void)state;
    fixture_open(&f, &limits, NULL);
    str_add(&whole, "GET / HTTP/1.1\r\n" HOST "X-Extra: ");
    add_filler(&whole, 500);
    str_addn(&part, whole.data, whole.len);
    str_add(&whole, "\r\n\r\n");
    check_refusal(&f, "large head", whole.data, 431);
    check_refusal(&f, "large head, unfinished", part.data, 431);
    str_add(&chunks, "POST / HTTP/1.1\r\n" HOST CHUNKED "\r\n401\r\n");
    add_filler(&chunks, 0x401);
    check_refusal(&f, "large chunk", chunks.data, 413);
    str_clear(&chunks);
    str_add(&chunks, "POST / HTTP/1.1\r\n" HOST CHUNKED "\r\n1;");
    add_filler(&chunks, 1024 * 8);
    check_refusal(&f, "endless extension", chunks.data, 413);
    /* A client that goes on sending must still be able to read why it was refused. */
    str_add(&flood, "POST / HTTP/1.1\r\n" HOST "Content-Length: 4000000\r\n\r\n");
    add_filler(&flood, 4000000);
    check_refusal(&f, "large body", flood.data, 413);
    assert_int_equal(f.requests, 0);
    fixture_close(&f);
}

static void test_slow_clients_are_told(void **state)
{
    struct fixture f;
    struct http_limits limits = {.header_ms = 5, .body_ms = 5};
    (void)state;
    fixture_open(&f, &limits, NULL);
    check_refusal(&f, "slow head", "GET / HTTP/1.1\r\nHos", 408);
    check_refusal(&f, "slow body", "PUT / HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nab", 408);
    check_refusal(&f, "slow chunk", "PUT / HTTP/1.1\r\n" HOST CHUNKED "\r\n9\r\nab", 408);
    assert_int_equal(f.done, 2); /* those whose head was known */
    assert_int_equal(f.done_status, 408);
    fixture_close(&f);
}

static void test_idle_connection_is_closed(void **state)
{
    struct fixture f;
    struct http_limits limits = {.idle_ms = 5};
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, &limits, NULL);
    int fresh = fixture_connect(&f);
    int used = fixture_connect(&f);
    send_text(&f, used, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_end(&f, used, &got);
    assert_non_null(strstr(got.data, "GET /echo"));
    expect_end(&f, fresh, &got);
    until(&f, http_server_connections(f.server) == 0);
    close(fresh);
    close(used);
    fixture_close(&f);
}

static void test_reader_of_a_plain_answer_that_stalls_is_closed(void **state)
{
    struct fixture f;
    struct http_limits limits = {.write_ms = 5};
    (void)state;
    fixture_open(&f, &limits, NULL);
    f.big_bytes = 64u << 20;
    int fd = fixture_connect(&f);
    send_text(&f, fd, "GET /big HTTP/1.1\r\n" HOST "\r\n");
    until(&f, f.requests == 1 && http_server_connections(f.server) == 0);
    assert_int_equal(f.done, 1);
    close(fd);
    fixture_close(&f);
}

static void test_large_answer_arrives_whole(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    f.big_bytes = 20u << 20;
    exchange_text(&f, "GET /big HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", &got);
    const char *body = strstr(got.data, "\r\n\r\n") + 4;
    assert_int_equal(got.len - (size_t)(body - got.data), f.big_bytes);
    assert_int_equal(strspn(body, "b"), f.big_bytes);
    assert_int_equal(f.done_bytes, f.big_bytes);
    fixture_close(&f);
}

static void test_connection_limit(void **state)
{
    struct fixture f;
    struct http_limits limits = {.connections_max = 2};
    scoped_str got = {0};
    int fd[2];
    (void)state;
    fixture_open(&f, &limits, NULL);
    for (int i = 0; i < 2; i++) { /* both are waiting for an answer */
        fd[i] = fixture_connect(&f);
        send_text(&f, fd[i], "GET /late HTTP/1.1\r\n" HOST "\r\n");
        until(&f, f.requests == i + 1);
    }
    int refused = fixture_connect(&f);
    expect_end(&f, refused, &got);
    assert_ptr_equal(strstr(got.data, "HTTP/1.1 503 Service Unavailable\r\n"), got.data);
    close(refused);
    close(fd[0]);
    until(&f, http_server_connections(f.server) == 1);
    fd[0] = fixture_connect(&f);
    str_clear(&got);
    send_text(&f, fd[0], "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_text(&f, fd[0], &got, "GET /echo");
    close(fd[0]);
    close(fd[1]);
    fixture_close(&f);
}

static void test_who_waits_longest_gives_up_his_place(void **state)
{
    struct fixture f;
    struct http_limits limits = {.connections_max = 3};
    scoped_str got = {0}, end = {0};
    (void)state;
    fixture_open(&f, &limits, NULL);
    int busy = fixture_connect(&f), first = fixture_connect(&f), slow = fixture_connect(&f);
    send_text(&f, busy, "GET /late HTTP/1.1\r\n" HOST "\r\n");
    until(&f, f.requests == 1);
    send_text(&f, slow, "GET /echo HTT");
    send_text(&f, first, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_text(&f, first, &got, "GET /echo"); /* answered: it waits from now on */
    int next = fixture_connect(&f);
    expect_end(&f, slow, &end);
    str_clear(&got);
    for (int i = 0; i < 2; i++) {
        int fd = i ? first : next;
        send_text(&f, fd, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
        expect_text(&f, fd, &got, "GET /echo");
        str_clear(&got);
    }
    assert_int_equal(http_server_connections(f.server), 3);
    int fds[] = {busy, first, slow, next};
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    fixture_close(&f);
}

static void test_without_descriptors_it_goes_on_later(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    struct rlimit old, tight;
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = fixture_connect(&f);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    tight = old;
    tight.rlim_cur = (rlim_t)fd + 1;
    send_text(&f, fd, "");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    for (int i = 0; i < 3; i++)
        loop_turn(f.loop, 0);
    assert_int_equal(http_server_connections(f.server), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    send_text(&f, fd, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_text(&f, fd, &got, "GET /echo");
    close(fd);
    fixture_close(&f);
}

static void test_drain_lets_answers_finish(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    int idle = fixture_connect(&f);
    int late = fixture_connect(&f);
    send_text(&f, late, "GET /late HTTP/1.1\r\n" HOST "\r\n");
    until(&f, f.held && http_server_connections(f.server) == 2);
    http_server_drain(f.server);
    expect_end(&f, idle, &got);
    loop_turn(f.loop, 0);                                   /* its own task frees it */
    assert_int_equal(http_server_connections(f.server), 1); /* it is not waited for */
    close(idle);
    http_reply(f.held, 200, "text/plain", NULL, NULL);
    expect_end(&f, late, &got);
    assert_non_null(strstr(got.data, "Connection: close\r\n"));
    close(late);
    until(&f, http_server_connections(f.server) == 0);
    fixture_close(&f);
}

static void test_freeing_the_server_tells_the_owners(void **state)
{
    struct fixture f;
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = fixture_connect(&f);
    send_text(&f, fd, "GET /late HTTP/1.1\r\n" HOST "\r\n");
    until(&f, f.held);
    fixture_close(&f);
    assert_int_equal(f.gone, 1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep_alive_serves_a_second_request),
        cmocka_unit_test(test_pipelined_requests_are_answered_in_order),
        cmocka_unit_test(test_a_pipelined_request_waits_for_a_late_answer),
        cmocka_unit_test(test_input_held_during_an_answer_is_bounded),
        cmocka_unit_test(test_flooding_client_that_leaves_is_noticed),
        cmocka_unit_test(test_client_gone_before_the_answer),
        cmocka_unit_test(test_half_closed_client_gets_its_answers),
        cmocka_unit_test(test_head_has_the_length_and_no_body),
        cmocka_unit_test(test_http_1_0),
        cmocka_unit_test(test_continue_is_sent_to_who_waits_for_it),
        cmocka_unit_test(test_chunked_body_then_a_pipelined_request),
        cmocka_unit_test(test_empty_lines_and_absolute_targets),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_too_much_is_refused),
        cmocka_unit_test(test_slow_clients_are_told),
        cmocka_unit_test(test_idle_connection_is_closed),
        cmocka_unit_test(test_reader_of_a_plain_answer_that_stalls_is_closed),
        cmocka_unit_test(test_large_answer_arrives_whole),
        cmocka_unit_test(test_connection_limit),
        cmocka_unit_test(test_who_waits_longest_gives_up_his_place),
        cmocka_unit_test(test_without_descriptors_it_goes_on_later),
        cmocka_unit_test(test_drain_lets_answers_finish),
        cmocka_unit_test(test_freeing_the_server_tells_the_owners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
