// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/vec.h"
#include "os/http.h"
#include <bsd/sys/queue.h>
#include <llhttp.h>
#include <sys/uio.h>

/* Shared by the files of the HTTP server:
 *   http_server.c    listeners, limits, drain
 *   http_conn.c      one connection: states, time-outs, reading, closing
 *   http_head.c      bytes of a head -> an exchange; bodies
 *   http_exchange.c  what handlers call: answers and streams
 *   http_out.c       the queue of an answer's bytes
 *   http_io.c        clear text or TLS */

/* A whole TLS record fits: after a read none of it waits where epoll cannot see it. */
#define HTTP_SCRATCH_BYTES ((size_t)16384)

enum http_state {
    CONN_HANDSHAKE, /* TLS */
    CONN_IDLE,      /* no byte of a request yet */
    CONN_HEAD,      /* some bytes of a head */
    CONN_BODY,      /* head known, body incomplete */
    CONN_WAIT,      /* the handler has it and has not answered */
    CONN_STREAM,    /* a streaming answer under way */
    CONN_FLUSH,     /* the answer is complete, not all of it written */
    CONN_LINGER,    /* our side is shut; what the client still sends is thrown away */
};

struct http_out_item {
    struct buf *buf;
    bool chunked; /* framed as a chunk: size line, bytes, CRLF */
};

struct http_out {
    VEC(struct http_out_item) items;
    size_t first; /* items before it are gone */
    size_t skip;  /* bytes of the first item (framing included) already written */
    size_t bytes; /* payload of the queued items */
};

struct http_conn {
    struct http_server *server;
    struct http_conn *prev, *next;
    TAILQ_ENTRY(http_conn) waits;
    struct loop_io *io;
    struct loop_timer timer;
    struct loop_task task;
    SSL *ssl;
    int fd;
    enum http_state state;
    bool is_waiting;     /* in the server's list of those who have asked for nothing */
    bool broken;         /* to be freed by the task */
    bool eof;            /* the client has shut its side */
    bool read_wants_out; /* TLS must write before it can read, and the reverse */
    bool write_wants_in;
    bool tls_failed;  /* after a fatal error no SSL_shutdown */
    uint32_t scanned; /* of the head, relative to in_pos */
    uint32_t line_start;
    struct str in; /* not yet parsed; no memory while empty */
    size_t in_pos;
    struct http_out out;
    struct http_exchange *x;
    struct http_peer peer;
};

struct http_field {
    uint32_t name, value; /* offsets into the head */
};

struct http_exchange {
    struct http_conn *conn;
    struct http_request req;
    char *head;
    struct http_field *fields;
    size_t field_count;
    uint64_t content_length;
    llhttp_t *chunks; /* parser of a chunked body */
    size_t raw_bytes; /* of a chunked body, with all that stands around its data */
    struct str body;
    char *who;
    void (*on_gone)(void *arg);
    void *on_gone_arg;
    void (*on_room)(void *arg); /* with on_gone_arg */
    time_ms started;
    size_t snapshot_bytes;
    size_t body_bytes;
    int status;
    bool is_head;
    bool is_http10;
    bool keep_alive;
    bool chunked_body;
    bool body_complete;
    bool expects_continue;
};

struct http_listener {
    struct http_server *server;
    struct http_listener *next;
    int fd;
    SSL_CTX *tls;
    struct loop_io *io;
    struct loop_timer pause;
};

struct http_server {
    struct loop *loop;
    struct http_server_options options; /* limits with defaults filled in */
    struct http_listener *listeners;
    struct http_conn *conns;
    TAILQ_HEAD(, http_conn) waiting; /* no head of a request yet; longest first */
    size_t conn_count, conn_peak;    /* the most since memory was last given back */
    bool draining;
    struct buf *last_chunk;
    struct buf *continue_line;
    char read_scratch[HTTP_SCRATCH_BYTES];
    char tls_scratch[HTTP_SCRATCH_BYTES];
};

/* Serves one connected, non-blocking socket; the server closes it, also on failure. */
int http_server_adopt(struct http_server *server, int fd, SSL_CTX *tls);

int http_conn_new(struct http_server *server, int fd, SSL_CTX *tls);
void http_conn_free(struct http_conn *conn);
/* Ends the connection that has waited longest without a request; false: all are busy. */
bool http_conn_displace(struct http_server *server);
/* Looks again at the connection at the end of the turn. */
void http_conn_defer(struct http_conn *conn);
/* What http_out_send() or http_out_flush() returned; goes on to the next request when the answer
 * is out. */
void http_conn_written(struct http_conn *conn, int result, size_t progress);
size_t http_conn_unread(const struct http_conn *conn);

/* Length of the head at the front of the input, 0 while incomplete, -EBADMSG. */
ssize_t http_head_scan(struct http_conn *conn);
/* -EBADMSG with *ret_why, or the exchange. */
int http_head_parse(struct http_conn *conn, const char *head, size_t len,
                    struct http_exchange **ret_x, const char **ret_why);
/* Takes what belongs to the body; bytes used, -EBADMSG, -EFBIG. */
ssize_t http_body_feed(struct http_exchange *x, const char *data, size_t len, size_t bytes_max);

void http_exchange_free(struct http_exchange *x); /* reports it to on_done */
/* An answer by the server itself; the connection ends after it. */
void http_fail(struct http_conn *conn, int status, const char *message);
struct buf *http_fail_text(int status, const char *message);
void http_stream_close(struct http_exchange *x); /* drain: ends it and tells its owner */

bool http_out_is_empty(const struct http_out *out);
/* Both: 0 all written, -EAGAIN some is queued, or the error of the connection. */
int http_out_send(struct http_conn *conn, const struct http_out_item *items, size_t n,
                  size_t *ret_progress);
int http_out_flush(struct http_conn *conn, size_t *ret_progress);
void http_out_done(struct http_out *out);

/* -EAGAIN, another error, bytes; 0 from read is the end. */
int http_io_handshake(struct http_conn *conn);
ssize_t http_io_read(struct http_conn *conn, char *to, size_t len);
ssize_t http_io_discard(struct http_conn *conn, char *to, size_t len);
ssize_t http_io_write(struct http_conn *conn, const struct iovec *iov, int n);
void http_io_shut(struct http_conn *conn); /* our direction only */
