// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "os/loop.h"
#include <openssl/types.h>
#include <stdbool.h>
#include <sys/types.h>

/* HTTP/1.1 for a server: llhttp parses, epoll drives, OpenSSL encrypts. Knows nothing of what is
 * served. One request at a time on a connection (pipelined ones wait in the input buffer); an
 * answer may come later, from another callback; a streaming answer has a bounded queue. */
struct http_server;
struct http_exchange; /* one request and its answer */

struct http_limits {         /* zero means the default in brackets */
    size_t header_bytes_max; /* request line and headers [32 KiB]: 431 */
    size_t body_bytes_max;   /* [3 MiB]: 413 */
    size_t connections_max;  /* [10000, less with few descriptors]; a further one takes the place
                              * of who has asked for nothing longest, or is refused with 503 */
    size_t stream_bytes_max; /* queued for one slow reader [4 MiB] */
    time_ms handshake_ms;    /* [10 s] */
    time_ms header_ms;       /* first byte to end of headers [10 s]: 408 */
    time_ms body_ms;         /* end of headers to end of body [60 s]: 408 */
    time_ms idle_ms;         /* between requests [120 s]: closed */
    time_ms write_ms;        /* no byte taken by the reader of a plain answer [60 s]: closed */
};

struct http_peer {
    bool is_unix;
    uid_t uid; /* of a unix peer (SO_PEERCRED) */
    pid_t pid;
    char address[64]; /* "127.0.0.1:4711", "unix" */
};

struct http_request {
    const char *method; /* "GET" */
    const char *path;   /* as sent, still percent-encoded, without query */
    const char *query;  /* without '?', "" when absent */
    struct sv body;
    struct http_peer peer;
};

struct http_done { /* how a request ended */
    const struct http_request *req;
    const char *who;
    int status;
    size_t body_bytes;
    time_ms took_ms;
};

struct http_server_options {
    struct http_limits limits;
    /* Asked when the head of a request with a body is there: false refuses the body with 401, so
     * that nobody unknown makes us keep one. NULL: everybody may. */
    bool (*may_send)(void *arg, const struct http_exchange *x);
    /* Called once the whole request is there. Must answer now or later, exactly once. */
    void (*on_request)(void *arg, struct http_exchange *x);
    /* Called when the answer is complete or the client has gone: for access log and metrics.
     * `who` is what http_tag() gave, "" otherwise. status 0: the client left before an answer. */
    void (*on_done)(void *arg, const struct http_done *done);
    void *arg;
};

int http_server_new(struct loop *loop, const struct http_server_options *options,
                    struct http_server **ret_server, struct err *err);
/* Takes a listening, non-blocking socket (the server closes it). tls is NULL for clear text. */
int http_server_listen(struct http_server *server, int listen_fd, SSL_CTX *tls, struct err *err);
/* Stops listening, ends streams, lets plain answers under way finish; until
 * http_server_connections() is 0. */
void http_server_drain(struct http_server *server);
size_t http_server_connections(const struct http_server *server);
void http_server_free(struct http_server *server); /* closes what is left */

const struct http_request *http_request_of(const struct http_exchange *x);
const char *http_header(const struct http_exchange *x, const char *name); /* NULL when absent */
void http_tag(struct http_exchange *x, const char *who);

/* The whole answer at once; the exchange is gone afterwards. `headers` are further lines, each
 * ended by CRLF, or NULL. Body of HEAD requests is left out by the server. Takes its own
 * reference to body; body may be NULL. */
void http_reply(struct http_exchange *x, int status, const char *content_type, const char *headers,
                struct buf *body);

/* A streaming answer (chunked). After http_stream_start() the exchange lives until
 * http_stream_end() or until on_closed, which is called exactly once when the client goes away or
 * falls behind; after on_closed the exchange must not be used. Not called after
 * http_stream_end(). */
void http_stream_start(struct http_exchange *x, int status, const char *content_type,
                       void (*on_closed)(void *arg), void *arg);
/* Queues one chunk (own reference). -ENOBUFS: over stream_bytes_max, nothing queued; the caller
 * should send its farewell with http_stream_end(x, last) which is always taken. */
int http_stream_send(struct http_exchange *x, struct buf *chunk);
/* The first chunk of a stream, of any size: it does not count towards how far behind the reader
 * may fall. */
void http_stream_snapshot(struct http_exchange *x, struct buf *chunk);
/* How much of a stream waits for its reader. */
size_t http_stream_queued(const struct http_exchange *x);
/* Calls `fn` once, with the stream's own argument, when nothing waits any longer: for those who
 * would rather pause than fall behind. Not after on_closed. */
void http_stream_on_room(struct http_exchange *x, void (*fn)(void *arg));
/* Ends the stream after what is queued and `last` (may be NULL). */
void http_stream_end(struct http_exchange *x, struct buf *last);
/* An answer that is not there yet: called once if the client goes away before http_reply(); the
 * exchange must not be used after that. */
void http_on_abandoned(struct http_exchange *x, void (*fn)(void *arg), void *arg);
