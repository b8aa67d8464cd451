// SPDX-License-Identifier: Apache-2.0
#include "agent/exchange.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READ_MAX 2048

void exchange_init(struct exchange *x, const struct where *where)
{
    x->where = where;
    x->link = (struct link){.fd = -1};
    x->is_busy = false;
}

void exchange_close(struct exchange *x)
{
    link_close(&x->link);
    x->is_busy = false;
}

/* ---- the request ---- */

__attribute__((format(printf, 2, 3))) static void add(struct exchange *x, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    size_t room = sizeof(x->out) - x->out_len;
    int n = vsnprintf(x->out + x->out_len, room, fmt, ap);
    va_end(ap);
    /* A length beyond the end is how exchange_begin() sees that it did not fit. */
    x->out_len = n < 0 || (size_t)n >= room ? sizeof(x->out) : x->out_len + (size_t)n;
}

/* Straight into the request: the stack stays small. */
static int add_token_of(struct exchange *x, const char *path, struct err *err)
{
    add(x, "Authorization: Bearer ");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, x->out + x->out_len, sizeof(x->out) - x->out_len) : -1;
    int code = errno;
    if (fd >= 0)
        (void)close(fd); /* only read from */
    if (len < 0)
        return err_set(err, -code, "cannot read the token '%s': %s", path, strerror(code));
    x->out_len += (size_t)len;
    while (len > 0 && strchr("\r\n ", x->out[x->out_len - 1]) != NULL)
        x->out_len--, len--;
    add(x, "\r\n");
    return 0;
}

static int add_token(struct exchange *x, struct err *err)
{
    if (x->where->token_file != NULL)
        return add_token_of(x, x->where->token_file, err);
    if (x->where->token != NULL)
        add(x, "Authorization: Bearer %s\r\n", x->where->token);
    return 0;
}

static int write_request(struct exchange *x, const struct ask *ask, struct err *err)
{
    bool is_unix = x->where->socket != NULL;
    x->out_len = x->out_at = 0;
    add(x, "%s %s HTTP/1.1\r\nHost: %s\r\n", ask->method, ask->target,
        is_unix ? "localhost" : x->where->host);
    add(x, "User-Agent: muster-agent/" MUSTER_VERSION "\r\nAccept: application/json\r\n");
    int r = add_token(x, err);
    if (r < 0)
        return r;
    if (ask->content_type != NULL)
        add(x, "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", ask->content_type,
            strlen(ask->body), ask->body);
    else
        add(x, "\r\n");
    if (x->out_len == sizeof(x->out))
        return err_set(err, -EMSGSIZE, "the request to %s is too long", ask->target);
    return 0;
}

int exchange_begin(struct exchange *x, const struct ask *ask, time_ms now, struct err *err)
{
    assert(!x->is_busy);
    int r = write_request(x, ask, err);
    if (r < 0)
        return r;
    x->is_reused = link_is_open(&x->link);
    if (!x->is_reused) {
        r = link_open(&x->link, x->where, err);
        if (r < 0)
            return r;
    }
    x->link.wants = POLLOUT;
    x->deadline = ask->limit_ms > 0 ? now + ask->limit_ms : TIME_NEVER;
    x->is_busy = true;
    answer_init(&x->answer, ask->on_body, ask->arg);
    return 0;
}

/* ---- the answer ---- */

static int failed(struct exchange *x, int code, struct err *err)
{
    bool was_closed =
        x->is_reused && x->answer.status == 0 && (code == -EPIPE || code == -ECONNRESET);
    const char *why = x->link.why[0] != '\0' ? x->link.why : strerror(-code);
    (void)err_set(err, code, "the connection to the server failed: %s", why);
    if (code == -ETIMEDOUT)
        (void)err_set(err, code, "the server did not answer in time");
    if (code == -EBADMSG)
        (void)err_set(err, code, "the server's answer cannot be understood");
    if (code == -EACCES)
        (void)err_hint(err, "is --ca (MUSTER_CA) the authority of this server?");
    exchange_close(x);
    return was_closed ? -EPIPE : code;
}

static int send_rest(struct exchange *x)
{
    while (x->out_at < x->out_len) {
        ssize_t n = link_write(&x->link, x->out + x->out_at, x->out_len - x->out_at);
        if (n <= 0)
            return n == 0 ? -EPIPE : (int)n;
        x->out_at += (size_t)n;
    }
    return 0;
}

static int receive(struct exchange *x)
{
    char data[READ_MAX];
    for (;;) {
        ssize_t n = link_read(&x->link, data, sizeof(data));
        if (n < 0)
            return (int)n;
        if (n == 0)
            return answer_eof(&x->answer);
        size_t used = 0;
        int r = answer_feed(&x->answer, data, (size_t)n, &used);
        if (r != 0)
            return r;
    }
}

int exchange_step(struct exchange *x, time_ms now, struct err *err)
{
    assert(x->is_busy);
    int r = send_rest(x);
    if (r == 0)
        r = receive(x);
    if (r == -EAGAIN)
        r = now >= x->deadline ? -ETIMEDOUT : 0;
    if (r < 0)
        return failed(x, r, err);
    if (r == 0)
        return 0;
    x->is_busy = false;
    if (x->answer.is_close)
        link_close(&x->link);
    return 1;
}

void exchange_idle(struct exchange *x)
{
    if (!x->is_busy)
        link_close(&x->link);
}
