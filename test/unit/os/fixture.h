// SPDX-License-Identifier: Apache-2.0
#pragma once
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/mem.h"
#include "base/str.h"
#include "os/http.h"
#include "os/loop.h"
#include <string.h>
#include <time.h>

/* A server on a loopback port with a handler that does what the path says, and raw clients in the
 * same thread:
 *   /echo    answers "METHOD path?query body"
 *   /late    is kept in `held`; the test answers
 *   /stream  starts a stream, kept in `held`
 *   /big     answers big_bytes bytes */
struct fixture {
    struct loop *loop;
    struct http_server *server;
    int port;
    struct http_exchange *held;
    size_t big_bytes;
    int requests;
    int gone; /* calls of on_abandoned and on_closed */
    int done;
    int done_status;
    size_t done_bytes;
    char done_who[32];
    char body[256];
    struct http_peer peer;
};

void fixture_open(struct fixture *f, const struct http_limits *limits, SSL_CTX *tls);
void fixture_close(struct fixture *f);
int fixture_connect(struct fixture *f);
int listen_on_loopback(int *ret_port);
void send_text(struct fixture *f, int fd, const char *text);
/* Appends what has come; false at the end of the stream. */
bool receive(int fd, struct str *got);
void expect_text(struct fixture *f, int fd, struct str *got, const char *needle);
void expect_end(struct fixture *f, int fd, struct str *got);
int64_t test_now_ms(void);
/* Sends the request on a connection of its own, gives everything up to its end. */
void exchange_text(struct fixture *f, const char *request, struct str *got);

/* Turns the loop until it is so; a test that hangs fails after ten seconds. */
#define until(f, condition)                                                                        \
    do {                                                                                           \
        int64_t deadline_ = test_now_ms() + 10000;                                                 \
        while (!(condition)) {                                                                     \
            if (test_now_ms() > deadline_)                                                         \
                fail_msg("never became true: %s", #condition);                                     \
            loop_turn((f)->loop, 2);                                                               \
        }                                                                                          \
    } while (0)
