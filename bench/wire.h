// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "os/loop.h"
#include <llhttp.h>
#include <openssl/types.h>
#include <stdbool.h>

/* Many HTTP/1.1 connections to one server, for a load generator that shares its cores with that
 * server: nothing is allocated once a connection stands, requests are sent from memory that the
 * caller keeps, and bodies are shown where they were read. */
struct wire_pool;

struct wire {
    struct wire_pool *pool;
    void *arg; /* the caller's */
    size_t index;
    int status; /* of the answer under way */
    int fd;
    bool is_ready;
    bool wants_out; /* a handshake or a request waits for room */
    SSL *ssl;
    struct loop_io *io;
    const char *out;
    size_t out_len;
    llhttp_t parser;
};

struct wire_options {
    const char *unix_path; /* or: */
    const char *host;      /* an address, with: */
    int port;
    SSL_CTX *tls;
    size_t count;
    void (*on_ready)(struct wire *wire); /* connected, handshake done */
    void (*on_head)(struct wire *wire);  /* NULL is fine for this one and the next */
    void (*on_body)(struct wire *wire, const char *data, size_t len);
    void (*on_done)(struct wire *wire); /* the whole answer is there; may send again */
    void *arg;
};

/* A few connections are made at a time, so that no listening queue overflows. Any trouble ends the
 * program with a message: a benchmark that limps measures nothing. */
struct wire_pool *wire_pool_new(struct loop *loop, const struct wire_options *options);
void wire_pool_free(struct wire_pool *pool);
size_t wire_pool_ready(const struct wire_pool *pool);
struct wire *wire_pool_at(struct wire_pool *pool, size_t index);
void *wire_pool_arg(const struct wire *wire);

/* `bytes` must stay until the answer is there. */
void wire_send(struct wire *wire, const char *bytes, size_t len);

void wire_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
