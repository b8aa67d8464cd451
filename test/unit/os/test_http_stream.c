// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"
#include <errno.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#define STREAM "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n"

static int open_stream(struct fixture *f, const char *request)
{
    int fd = fixture_connect(f);
    f->held = NULL;
    send_text(f, fd, request);
    until(f, f->held);
    return fd;
}

static int send_chunk(struct http_exchange *x, const char *text)
{
    struct buf *chunk = buf_new(text, strlen(text));
    int r = http_stream_send(x, chunk);
    buf_unref(chunk);
    return r;
}

static void test_chunks_arrive_and_the_connection_goes_on(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = open_stream(&f, STREAM);
    expect_text(&f, fd, &got, "\r\n\r\n"); /* the head comes without waiting for an event */
    assert_non_null(strstr(got.data, "Transfer-Encoding: chunked\r\n"));
    str_clear(&got);
    assert_int_equal(send_chunk(f.held, "one\n"), 0);
    assert_int_equal(send_chunk(f.held, ""), 0);
    assert_int_equal(send_chunk(f.held, "a second one that is longer\n"), 0);
    struct buf *last = buf_new("bye\n", 4);
    http_stream_end(f.held, last);
    buf_unref(last);
    expect_text(&f, fd, &got, "0\r\n\r\n");
    assert_string_equal(got.data, "4\r\none\n\r\n1c\r\na second one that is longer\n\r\n"
                                  "4\r\nbye\n\r\n0\r\n\r\n");
    assert_int_equal(f.done_status, 200);
    assert_int_equal(f.done_bytes, 36);
    assert_int_equal(f.gone, 0);
    send_text(&f, fd, "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    expect_text(&f, fd, &got, "GET /echo");
    close(fd);
    fixture_close(&f);
}

static void test_events_sent_at_once_share_a_write_with_the_head(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = open_stream(&f, STREAM);
    for (int i = 0; i < 100; i++)
        assert_int_equal(send_chunk(f.held, "event\n"), 0);
    http_stream_end(f.held, NULL);
    expect_text(&f, fd, &got, "0\r\n\r\n");
    size_t count = 0;
    for (const char *at = got.data; (at = strstr(at, "6\r\nevent\n\r\n")); at++)
        count++;
    assert_int_equal(count, 100);
    close(fd);
    fixture_close(&f);
}

static void test_http_1_0_stream_ends_with_the_connection(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = open_stream(&f, "GET /stream HTTP/1.0\r\n\r\n");
    assert_int_equal(send_chunk(f.held, "one\n"), 0);
    http_stream_end(f.held, NULL);
    expect_end(&f, fd, &got);
    assert_true(str_ends(got.data, "\r\n\r\none\n"));
    assert_null(strstr(got.data, "chunked"));
    close(fd);
    fixture_close(&f);
}

static void test_head_of_a_stream_has_no_chunks(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = open_stream(&f, "HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(send_chunk(f.held, "one\n"), 0);
    http_stream_end(f.held, NULL);
    expect_text(&f, fd, &got, "\r\n\r\n");
    until(&f, f.done == 1);
    assert_true(receive(fd, &got));
    assert_true(str_ends(got.data, "\r\n\r\n"));
    close(fd);
    fixture_close(&f);
}

static void test_reader_that_goes_is_told_once(void **state)
{
    struct fixture f;
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = open_stream(&f, STREAM);
    close(fd);
    until(&f, f.gone == 1);
    assert_int_equal(f.done, 1);
    assert_int_equal(f.done_status, 200);
    fixture_close(&f);
    assert_int_equal(f.gone, 1);
}

/* The owner finds out after its own call, never inside it: it may be walking over its streams. */
static void test_break_found_while_sending_is_told_later(void **state)
{
    struct fixture f;
    struct linger reset = {.l_onoff = 1};
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = open_stream(&f, STREAM);
    loop_turn(f.loop, 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    close(fd);
    for (int i = 0; i < 10; i++)
        assert_int_equal(send_chunk(f.held, "into the void\n"), 0);
    assert_int_equal(f.gone, 0);
    until(&f, f.gone == 1 && http_server_connections(f.server) == 0);
    fixture_close(&f);
}

static void fill(struct fixture *f, size_t chunk_bytes, int *ret_result, size_t *ret_taken)
{
    char *data = mem_zalloc(chunk_bytes);
    struct buf *chunk = buf_new(data, chunk_bytes);
    mem_free(data);
    size_t taken = 0;
    int r;
    while ((r = http_stream_send(f->held, chunk)) == 0 && taken < (size_t)256 << 20)
        taken += chunk->len;
    buf_unref(chunk);
    *ret_result = r;
    *ret_taken = taken;
}

static void test_slow_reader_is_bounded_and_gets_its_farewell(void **state)
{
    struct fixture f;
    struct http_limits limits = {.stream_bytes_max = 100000};
    scoped_str got = {0};
    int r;
    size_t taken;
    (void)state;
    fixture_open(&f, &limits, NULL);
    int fd = open_stream(&f, STREAM);
    fill(&f, 10000, &r, &taken);
    assert_int_equal(r, -ENOBUFS);
    assert_true(taken < (size_t)64 << 20); /* the kernel's buffers and ours */
    struct buf *last = buf_new("too slow\n", 9);
    http_stream_end(f.held, last);
    assert_int_equal(last->refs, 2); /* always taken */
    buf_unref(last);
    bool open = true;
    until(&f, (open = receive(fd, &got),
               !open || (got.len > 4 && str_ends(got.data + got.len - 5, "0\r\n\r\n"))));
    assert_true(open);
    assert_int_equal(f.gone, 0);
    assert_int_equal(f.done, 1);
    assert_int_equal(f.done_bytes, taken + 9);
    close(fd);
    fixture_close(&f);
}

static void test_slow_reader_that_takes_no_farewell_is_closed(void **state)
{
    struct fixture f;
    struct http_limits limits = {.stream_bytes_max = 100000, .write_ms = 5};
    int r;
    size_t taken;
    (void)state;
    fixture_open(&f, &limits, NULL);
    int fd = open_stream(&f, STREAM);
    fill(&f, 10000, &r, &taken);
    assert_int_equal(r, -ENOBUFS);
    http_stream_end(f.held, NULL);
    until(&f, http_server_connections(f.server) == 0);
    assert_int_equal(f.gone, 0);
    close(fd);
    fixture_close(&f);
}

static void test_one_chunk_larger_than_the_queue_is_taken(void **state)
{
    struct fixture f;
    struct http_limits limits = {.stream_bytes_max = 1000};
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, &limits, NULL);
    int fd = open_stream(&f, STREAM);
    expect_text(&f, fd, &got, "\r\n\r\n");
    size_t before = got.len, len = 30u << 20;
    char *data = mem_zalloc(len);
    struct buf *chunk = buf_new(data, len);
    mem_free(data);
    assert_int_equal(http_stream_send(f.held, chunk), 0);
    assert_int_equal(http_stream_send(f.held, chunk), -ENOBUFS);
    buf_unref(chunk);
    http_stream_end(f.held, NULL);
    until(&f, (receive(fd, &got), got.len == before + 9 + len + 2 + 5));
    close(fd);
    fixture_close(&f);
}

static void test_drain_ends_streams(void **state)
{
    struct fixture f;
    scoped_str got = {0};
    (void)state;
    fixture_open(&f, NULL, NULL);
    int fd = open_stream(&f, STREAM);
    assert_int_equal(send_chunk(f.held, "one\n"), 0);
    http_server_drain(f.server);
    expect_end(&f, fd, &got);
    assert_true(str_ends(got.data, "one\n\r\n0\r\n\r\n"));
    assert_int_equal(f.gone, 1);
    loop_turn(f.loop, 0);                                   /* its own task frees it */
    assert_int_equal(http_server_connections(f.server), 0); /* the client is not waited for */
    close(fd);
    fixture_close(&f);
}

enum { STREAMS = 200 };
struct crowd {
    struct fixture f;
    struct http_exchange *x[STREAMS];
    int fd[STREAMS];
};

/* One event goes to all; nothing of it is copied, and idle streams stay small. */
static void test_fan_out_shares_the_event(void **state)
{
    struct crowd *crowd = mem_zalloc(sizeof(*crowd));
    struct fixture *f = &crowd->f;
    scoped_str got = {0};
    (void)state;
    fixture_open(f, NULL, NULL);
    for (int i = 0; i < STREAMS; i++) {
        crowd->fd[i] = open_stream(f, STREAM);
        crowd->x[i] = f->held;
        expect_text(f, crowd->fd[i], &got, "\r\n\r\n");
        str_clear(&got);
    }
    struct buf *event = buf_new("to all of you\n", 14);
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(http_stream_send(crowd->x[i], event), 0);
    assert_int_equal(event->refs, 1); /* all of it is out already */
    buf_unref(event);
    for (int i = 0; i < STREAMS; i++) {
        expect_text(f, crowd->fd[i], &got, "to all of you\n\r\n");
        str_clear(&got);
        close(crowd->fd[i]);
    }
    until(f, http_server_connections(f->server) == 0);
    assert_int_equal(f->gone, STREAMS);
    fixture_close(f);
    mem_free(crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks_arrive_and_the_connection_goes_on),
        cmocka_unit_test(test_events_sent_at_once_share_a_write_with_the_head),
        cmocka_unit_test(test_http_1_0_stream_ends_with_the_connection),
        cmocka_unit_test(test_head_of_a_stream_has_no_chunks),
        cmocka_unit_test(test_reader_that_goes_is_told_once),
        cmocka_unit_test(test_break_found_while_sending_is_told_later),
        cmocka_unit_test(test_slow_reader_is_bounded_and_gets_its_farewell),
        cmocka_unit_test(test_slow_reader_that_takes_no_farewell_is_closed),
        cmocka_unit_test(test_one_chunk_larger_than_the_queue_is_taken),
        cmocka_unit_test(test_drain_ends_streams),
        cmocka_unit_test(test_fan_out_shares_the_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
