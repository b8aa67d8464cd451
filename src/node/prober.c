// SPDX-License-Identifier: Apache-2.0
/* Questions to containers over the network. Each is one non-blocking socket and one timer; what it
 * waits for is its phase. An answer is told from a callback of the loop, never from within
 * prober_ask(), and is the last thing that is done with a question: whoever hears it may ask again
 * or free the prober.
 *
 * The time-out is for the whole question, redirects included, so that a server that sends one byte
 * a second is as late as one that is silent. */
#include "node/prober.h"
#include "base/map.h"
#include "base/mem.h"
#include "node/prober_http.h"
#include "os/fd.h"
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define REDIRECTS_MAX 10
#define READ_BYTES 4096
#define KEY_BYTES 24

enum phase { CONNECTING, GREETING /* TLS */, SENDING, READING };

struct question {
    struct prober *prober;
    uint64_t ticket;
    struct probe_target target;
    char **headers; /* NULL-terminated, or NULL */
    time_ms timeout_ms;
    struct loop_timer timer;
    char *failure;   /* told when the timer goes off */
    bool is_v6_next; /* "localhost" did not answer on 127.0.0.1 */
    int redirects;

    enum phase phase;
    int fd;
    struct loop_io *io;
    SSL *ssl;
    struct str request;
    size_t sent;
    struct probe_answer answer;
};

struct prober {
    struct loop *loop;
    prober_fn *fn;
    void *arg;
    SSL_CTX *tls;
    struct map *questions; /* by ticket */
};

static const char *key_of(uint64_t ticket, char out[KEY_BYTES])
{
    (void)snprintf(out, KEY_BYTES, "%" PRIx64, ticket); /* always fits */
    return out;
}

/* ---- life of a question ---- */

static void hang_up(struct question *q)
{
    loop_io_del(q->io);
    q->io = NULL;
    SSL_free(q->ssl);
    q->ssl = NULL;
    fd_close_scoped(&q->fd);
}

static void question_free(struct question *q)
{
    hang_up(q);
    loop_timer_clear(q->prober->loop, &q->timer);
    probe_target_done(&q->target);
    for (char **at = q->headers; at != NULL && *at != NULL; at++)
        mem_free(*at);
    mem_free(q->headers);
    mem_free(q->failure);
    str_done(&q->request);
    probe_answer_done(&q->answer);
    mem_free(q);
}

/* Servers answer with any bytes; what we tell is text that fits on a line. */
static char *plain_text(const char *text)
{
    char *copy = mem_strdup(text);
    for (char *at = copy; *at != '\0'; at++) {
        if (*at < ' ' || *at > '~')
            *at = *at == '\n' || *at == '\r' || *at == '\t' ? ' ' : '?';
    }
    return copy;
}

static void answer(struct question *q, bool is_ok, const char *text)
{
    struct prober *prober = q->prober;
    scoped_free char *copy = plain_text(text);
    uint64_t ticket = q->ticket;
    char key[KEY_BYTES];
    (void)map_del(prober->questions, key_of(ticket, key));
    question_free(q);
    prober->fn(prober->arg, ticket, is_ok, copy);
}

static void fail(struct question *q, const char *what, const char *why)
{
    scoped_str text = {0};
    str_add(&text, what);
    probe_target_name(&q->target, &text);
    str_addf(&text, ": %s", why);
    answer(q, false, str_text(&text));
}

static const char *doing(const struct question *q)
{
    return q->phase == CONNECTING ? "connect to " : q->phase == GREETING ? "TLS with " : "GET ";
}

static void on_timer(void *arg)
{
    struct question *q = arg;
    if (q->failure != NULL) {
        scoped_free char *why = take_ptr(q->failure);
        fail(q, "connect to ", why);
        return;
    }
    scoped_str why = {0};
    str_add(&why, "no answer within ");
    duration_format(q->timeout_ms, &why);
    fail(q, doing(q), str_text(&why));
}

/* For what goes wrong while prober_ask() is still running. */
static void fail_later(struct question *q, const char *why)
{
    hang_up(q);
    q->failure = mem_strdup(why);
    loop_timer_set(q->prober->loop, &q->timer, loop_now(q->prober->loop));
}

/* ---- connecting ---- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t address_of(const struct question *q, union address *out)
{
    const char *host = q->target.host;
    *out = (union address){0};
    if (str_eq(host, "localhost"))
        host = q->is_v6_next ? "::1" : "127.0.0.1";
    if (inet_pton(AF_INET, host, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons((uint16_t)q->target.port);
        return sizeof(out->v4);
    }
    if (inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)q->target.port);
        return sizeof(out->v6);
    }
    return 0;
}

static void on_io(void *arg, uint32_t events);

static void dial(struct question *q)
{
    union address address;
    socklen_t len = address_of(q, &address);
    q->phase = CONNECTING;
    if (len == 0) {
        fail_later(q, "not an address; names are not looked up");
        return;
    }
    q->fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (q->fd < 0) {
        fail_later(q, strerror(errno));
        return;
    }
    int on = 1;
    (void)setsockopt(q->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* only slower without */
    q->io = loop_io_add(q->prober->loop, q->fd, EPOLLOUT, on_io, q);
    if (connect(q->fd, &address.any, len) == 0 || errno == EINPROGRESS)
        return; /* the loop tells either way */
    fail_later(q, strerror(errno));
}

static void redial(struct question *q)
{
    hang_up(q);
    probe_answer_done(&q->answer);
    probe_answer_init(&q->answer);
    str_clear(&q->request);
    q->sent = 0;
    dial(q);
}

static int connect_result(const struct question *q)
{
    int error = 0;
    socklen_t len = sizeof(error);
    if (getsockopt(q->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return -errno;
    return -error;
}

static void set_phase(struct question *q, enum phase phase)
{
    q->phase = phase;
    loop_io_set(q->io, phase == READING ? EPOLLIN : EPOLLOUT);
}

/* Made at the first question that needs it: it takes a while and most nodes never do. */
static bool want_tls(struct prober *prober)
{
    if (prober->tls == NULL)
        prober->tls = SSL_CTX_new(TLS_client_method());
    if (prober->tls != NULL)
        SSL_CTX_set_verify(prober->tls, SSL_VERIFY_NONE, NULL);
    return prober->tls != NULL;
}

static bool start_tls(struct question *q)
{
    struct in6_addr ignored;
    const char *host = q->target.host;
    if (!want_tls(q->prober))
        return false;
    q->ssl = SSL_new(q->prober->tls);
    if (q->ssl == NULL || SSL_set_fd(q->ssl, q->fd) != 1)
        return false;
    SSL_set_connect_state(q->ssl);
    bool is_name =
        inet_pton(AF_INET, host, &ignored) != 1 && inet_pton(AF_INET6, host, &ignored) != 1;
    return !is_name || SSL_set_tlsext_host_name(q->ssl, host) == 1;
}

static void on_connected(struct question *q)
{
    int r = connect_result(q);
    if (r < 0 && str_eq(q->target.host, "localhost") && !q->is_v6_next) {
        q->is_v6_next = true;
        redial(q);
        return;
    }
    if (r < 0) {
        fail(q, "connect to ", strerror(-r));
        return;
    }
    if (q->target.path == NULL) {
        answer(q, true, "");
        return;
    }
    probe_request(&q->target, (const char *const *)q->headers, &q->request);
    if (!q->target.is_tls)
        set_phase(q, SENDING);
    else if (start_tls(q))
        set_phase(q, GREETING);
    else
        fail(q, "TLS with ", "out of memory");
}

/* ---- bytes ---- */

/* What TLS wants before the call can be repeated; 0: it has failed. */
static uint32_t tls_wants(const struct question *q, int result)
{
    int code = SSL_get_error(q->ssl, result);
    return code == SSL_ERROR_WANT_READ ? EPOLLIN : code == SSL_ERROR_WANT_WRITE ? EPOLLOUT : 0;
}

static void tls_fail(struct question *q)
{
    const char *why = ERR_reason_error_string(ERR_peek_error());
    fail(q, doing(q), why != NULL ? why : "the connection was closed");
}

static void greet(struct question *q)
{
    ERR_clear_error();
    int n = SSL_do_handshake(q->ssl);
    uint32_t wants = n == 1 ? 0 : tls_wants(q, n);
    if (n == 1)
        set_phase(q, SENDING);
    else if (wants != 0)
        loop_io_set(q->io, wants);
    else
        tls_fail(q);
}

/* Bytes; -EAGAIN when the loop will tell (and was told what to wait for); else an error. */
static ssize_t send_some(struct question *q)
{
    const char *from = q->request.data + q->sent;
    size_t len = q->request.len - q->sent;
    if (q->ssl == NULL) {
        ssize_t n = send(q->fd, from, len, MSG_NOSIGNAL);
        return n < 0 ? -errno : n;
    }
    ERR_clear_error();
    int n = SSL_write(q->ssl, from, (int)len);
    uint32_t wants = n > 0 ? 0 : tls_wants(q, n);
    if (wants != 0)
        loop_io_set(q->io, wants);
    return n > 0 ? n : wants != 0 ? -EAGAIN : -ECONNRESET;
}

static void send_request(struct question *q)
{
    ssize_t n = send_some(q);
    if (n == -EAGAIN || n == -EINTR)
        return;
    /* A server may answer and close without having read everything: read what it has said. */
    if (n >= 0)
        q->sent += (size_t)n;
    if (n < 0 || q->sent == q->request.len)
        set_phase(q, READING);
}

static ssize_t receive_some(struct question *q, char *to, size_t len)
{
    if (q->ssl == NULL) {
        ssize_t n = recv(q->fd, to, len, 0);
        return n < 0 ? -errno : n;
    }
    ERR_clear_error();
    int n = SSL_read(q->ssl, to, (int)len);
    if (n > 0)
        return n;
    int code = SSL_get_error(q->ssl, n);
    /* Many servers hang up without saying good-bye; the parser knows whether all is there. */
    if (code == SSL_ERROR_ZERO_RETURN || code == SSL_ERROR_SYSCALL || code == SSL_ERROR_SSL)
        return 0;
    loop_io_set(q->io, tls_wants(q, n));
    return -EAGAIN;
}

/* ---- verdicts ---- */

static void redirect(struct question *q)
{
    if (!probe_redirect(&q->target, str_text(&q->answer.location))) {
        scoped_free char *text = mem_printf("HTTP status %d, not followed to %s", q->answer.status,
                                            str_text(&q->answer.location));
        answer(q, true, text);
        return;
    }
    if (++q->redirects > REDIRECTS_MAX) {
        fail(q, "GET ", "too many redirects");
        return;
    }
    redial(q);
}

static void judge(struct question *q)
{
    int status = q->answer.status;
    bool is_redirect = status >= 300 && status < 400 && status != 304;
    if (is_redirect && q->answer.location.len > 0) {
        redirect(q);
        return;
    }
    scoped_str text = {0};
    str_addf(&text, "HTTP status %d", status);
    bool is_ok = status >= 200 && status < 400;
    if (!is_ok && q->answer.body.len > 0)
        str_addf(&text, ": %s", str_text(&q->answer.body));
    answer(q, is_ok, str_text(&text));
}

static void read_answer(struct question *q)
{
    char part[READ_BYTES];
    ssize_t n = receive_some(q, part, sizeof(part));
    if (n == -EAGAIN || n == -EINTR)
        return;
    if (n < 0) {
        fail(q, "GET ", strerror((int)-n));
        return;
    }
    struct err err = {0};
    int r = probe_answer_feed(&q->answer, part, (size_t)n, &err);
    if (r < 0)
        fail(q, "GET ", err.text);
    else if (q->answer.is_complete || q->answer.is_long)
        judge(q);
    else if (q->ssl != NULL && SSL_pending(q->ssl) > 0)
        loop_io_set(q->io, EPOLLIN | EPOLLOUT); /* decrypted already: no event will come for it */
}

static void on_io(void *arg, uint32_t events)
{
    static void (*const STEPS[])(struct question * q) = {
        [CONNECTING] = on_connected,
        [GREETING] = greet,
        [SENDING] = send_request,
        [READING] = read_answer,
    };
    struct question *q = arg;
    (void)events; /* errors show in the next call */
    STEPS[q->phase](q);
}

/* ---- the prober ---- */

struct prober *prober_new(struct loop *loop, prober_fn *fn, void *arg)
{
    struct prober *prober = mem_zalloc(sizeof(*prober));
    *prober = (struct prober){.loop = loop, .fn = fn, .arg = arg, .questions = map_new()};
    return prober;
}

static bool drop(void *arg, const char *key, void *value)
{
    struct prober *prober = arg;
    question_free(value);
    (void)map_del(prober->questions, key);
    return true;
}

void prober_free(struct prober *prober)
{
    if (prober == NULL)
        return;
    (void)map_each(prober->questions, drop, prober);
    map_free(prober->questions);
    SSL_CTX_free(prober->tls);
    mem_free(prober);
}

static char **copy_headers(const char *const *headers)
{
    size_t n = 0;
    while (headers != NULL && headers[n] != NULL)
        n++;
    char **copy = mem_zalloc((n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = mem_strdup(headers[i]);
    return copy;
}

static char *copy_host(const char *host)
{
    size_t len = strlen(host);
    bool has_brackets = len >= 2 && host[0] == '[' && host[len - 1] == ']';
    return has_brackets ? mem_strndup(host + 1, len - 2) : mem_strdup(host);
}

void prober_ask(struct prober *prober, const struct prober_question *question, uint64_t ticket)
{
    struct question *q = mem_zalloc(sizeof(*q));
    *q = (struct question){
        .prober = prober, .ticket = ticket, .fd = -1, .timeout_ms = question->timeout_ms};
    q->target = (struct probe_target){.host = copy_host(question->host),
                                      .port = question->port,
                                      .path = mem_strdup(question->path),
                                      .is_tls = question->is_tls};
    q->headers = copy_headers(question->headers);
    probe_answer_init(&q->answer);
    loop_timer_init(&q->timer, on_timer, q);
    loop_timer_set(prober->loop, &q->timer, loop_now(prober->loop) + question->timeout_ms);
    char key[KEY_BYTES];
    prober_cancel(prober, ticket); /* the newer question is the one that is meant */
    (void)map_put(prober->questions, key_of(ticket, key), q);
    dial(q);
}

void prober_cancel(struct prober *prober, uint64_t ticket)
{
    char key[KEY_BYTES];
    struct question *q = map_del(prober->questions, key_of(ticket, key));
    if (q != NULL)
        question_free(q);
}
