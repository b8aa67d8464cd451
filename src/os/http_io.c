// SPDX-License-Identifier: Apache-2.0
#include "os/http_internal.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>

/* OpenSSL's error queue belongs to the thread, not to the connection: an error that one client left
 * there would be read as the result of another's next call. Hence ERR_clear_error() before each. */

static int tls_result(struct http_conn *conn, int result, bool *wants_other, int other)
{
    int code = SSL_get_error(conn->ssl, result);
    *wants_other = code == other;
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
        return -EAGAIN;
    if (code == SSL_ERROR_ZERO_RETURN)
        return 0;
    conn->tls_failed = true;
    return -ECONNRESET;
}

/* Somebody wrote http: for https:, and would only see that the connection is closed. */
static void answer_plain(struct http_conn *conn)
{
    static const char ANSWER[] = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n"
                                 "Client sent an HTTP request to an HTTPS server.\n";
    char rest[4096];
    (void)http_io_discard(conn, rest, sizeof(rest)); /* else closing throws the answer away */
    (void)send(conn->fd, ANSWER, sizeof(ANSWER) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int http_io_handshake(struct http_conn *conn)
{
    ERR_clear_error();
    int n = SSL_accept(conn->ssl);
    if (n == 1) {
        conn->read_wants_out = false;
        return 0;
    }
    if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST)
        answer_plain(conn);
    int r = tls_result(conn, n, &conn->read_wants_out, SSL_ERROR_WANT_WRITE);
    return r == 0 ? -ECONNRESET : r;
}

static ssize_t tls_read(struct http_conn *conn, char *to, size_t len)
{
    ERR_clear_error();
    int n = SSL_read(conn->ssl, to, (int)len);
    if (n > 0) {
        conn->read_wants_out = false;
        return n;
    }
    return tls_result(conn, n, &conn->read_wants_out, SSL_ERROR_WANT_WRITE);
}

ssize_t http_io_discard(struct http_conn *conn, char *to, size_t len)
{
    ssize_t n;
    do
        n = recv(conn->fd, to, len, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

ssize_t http_io_read(struct http_conn *conn, char *to, size_t len)
{
    return conn->ssl ? tls_read(conn, to, len) : http_io_discard(conn, to, len);
}

/* A record costs more than the copy: small pieces (size line, data, CRLF) share one. After
 * WANT_WRITE the same bytes are offered again, as OpenSSL demands, because they are taken from the
 * same place of the queue; there may only be more of them. */
static ssize_t tls_write(struct http_conn *conn, const struct iovec *iov, int n)
{
    char *scratch = conn->server->tls_scratch;
    size_t len = 0;
    for (int i = 0; i < n && len < HTTP_SCRATCH_BYTES; i++) {
        size_t room = HTTP_SCRATCH_BYTES - len;
        size_t part = iov[i].iov_len < room ? iov[i].iov_len : room;
        memcpy(scratch + len, iov[i].iov_base, part);
        len += part;
    }
    ERR_clear_error();
    int r = SSL_write(conn->ssl, scratch, (int)len);
    if (r > 0) {
        conn->write_wants_in = false;
        return r;
    }
    r = tls_result(conn, r, &conn->write_wants_in, SSL_ERROR_WANT_READ);
    return r == 0 ? -EPIPE : r;
}

ssize_t http_io_write(struct http_conn *conn, const struct iovec *iov, int n)
{
    if (conn->ssl)
        return tls_write(conn, iov, n);
    struct msghdr message = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n};
    ssize_t sent;
    do
        sent = sendmsg(conn->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

void http_io_shut(struct http_conn *conn)
{
    if (conn->ssl && !conn->tls_failed && conn->state != CONN_HANDSHAKE) {
        ERR_clear_error();
        (void)SSL_shutdown(conn->ssl); /* a courtesy; the socket is shut next */
    }
    (void)shutdown(conn->fd, SHUT_WR); /* fails when the client has gone */
}
