// SPDX-License-Identifier: Apache-2.0
#include "agent/answer.h"
#include "base/str.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int on_body(void *arg, const char *data, size_t len)
{
    str_addn(arg, data, len);
    return 0;
}

/* Fed byte by byte and in one piece; what follows the answer must be left alone. */
static void check(const char *text, int status, const char *body, bool is_close)
{
    for (size_t step = 1; step <= strlen(text); step += strlen(text) - 1) {
        struct answer answer;
        scoped_str got = {0};
        size_t used = 0;
        int r = 0;
        answer_init(&answer, on_body, &got);
        for (size_t at = 0; at < strlen(text) && r == 0; at += used)
            r = answer_feed(&answer, text + at, strlen(text) - at < step ? strlen(text) - at : step,
                            &used);
        if (r == 0)
            r = answer_eof(&answer);
        assert_int_equal(r, 1);
        assert_int_equal(answer.status, status);
        assert_string_equal(str_text(&got), body);
        assert_int_equal(answer.is_close, is_close);
    }
}

static void test_bodies(void **state)
{
    (void)state;
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false);
    check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n"
          "Trailer: x\r\n\r\n",
          200, "abcde", false);
    check("HTTP/1.1 204 No Content\r\n\r\n", 204, "", false);
    check("HTTP/1.1 500 X\r\nconnection: close\r\ncontent-length:0\r\n\r\n", 500, "", true);
    check("HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, "until the end", true);
    check("HTTP/1.0 200 OK\nContent-Length: 2\n\nhi", 200, "hi", true);
    check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x",
          false);
}

static void test_what_follows_is_left(void **state)
{
    (void)state;
    struct answer answer;
    scoped_str got = {0};
    size_t used = 0;
    const char *text = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxNEXT";
    answer_init(&answer, on_body, &got);
    assert_int_equal(answer_feed(&answer, text, strlen(text), &used), 1);
    assert_int_equal(used, strlen(text) - 4);
}

static void test_retry_after(void **state)
{
    (void)state;
    struct answer answer;
    scoped_str got = {0};
    size_t used = 0;
    const char *text = "HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n";
    answer_init(&answer, on_body, &got);
    assert_int_equal(answer_feed(&answer, text, strlen(text), &used), 1);
    assert_int_equal(answer.retry_after_s, 3);
}

static void test_what_is_not_http(void **state)
{
    (void)state;
    static const char *const BAD[] = {
        "SSH-2.0\r\n",
        "HTTP/2 200\r\n",
        "HTTP/1.1 20\r\n",
        "HTTP/1.1 abc\r\n",
        "\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
    };
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        struct answer answer;
        scoped_str got = {0};
        size_t used = 0;
        answer_init(&answer, on_body, &got);
        assert_int_equal(answer_feed(&answer, BAD[i], strlen(BAD[i]), &used), -EBADMSG);
    }
}

static void test_an_end_in_the_middle(void **state)
{
    (void)state;
    static const char *const CUT[] = {
        "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nh"};
    for (size_t i = 0; i < sizeof(CUT) / sizeof(CUT[0]); i++) {
        struct answer answer;
        scoped_str got = {0};
        size_t used = 0;
        answer_init(&answer, on_body, &got);
        assert_int_equal(answer_feed(&answer, CUT[i], strlen(CUT[i]), &used), 0);
        assert_int_equal(answer_eof(&answer), -ECONNRESET);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_what_follows_is_left),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_what_is_not_http),
        cmocka_unit_test(test_an_end_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
