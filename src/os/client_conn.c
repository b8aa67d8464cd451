// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "os/client_internal.h"
#include "os/fd.h"
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int wait_ms(time_ms deadline)
{
    if (deadline == CLIENT_FOREVER)
        return -1;
    time_ms left = deadline - clock_monotonic();
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

/* poll() passes over a negative descriptor: without a cancel_fd the second one never tells. */
static int wait_for(const struct client *client, int fd, short events, time_ms deadline)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = fd, .events = events},
                               {.fd = client->cancel_fd, .events = POLLIN}};
        int n = poll(fds, ARRAY_LEN(fds), wait_ms(deadline));
        if (n > 0)
            return fds[1].revents != 0 ? -ECANCELED : 0;
        if (n == 0)
            return -ETIMEDOUT;
        if (errno != EINTR)
            return -errno;
    }
}

static int finish_connect(const struct client *client, int fd, time_ms deadline)
{
    int error = 0;
    socklen_t len = sizeof(error);
    int r = wait_for(client, fd, POLLOUT, deadline);
    if (r < 0)
        return r;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return -errno;
    return -error;
}

/* A connected descriptor or an error. */
static int connect_to(const struct client *client, const struct sockaddr *to, socklen_t len,
                      time_ms deadline)
{
    scoped_fd fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int r = connect(fd, to, len) < 0 ? -errno : 0;
    if (r == -EINPROGRESS)
        r = finish_connect(client, fd, deadline);
    if (r < 0)
        return r;
    return fd_take(&fd);
}

static int open_unix(struct client *client, time_ms deadline, struct err *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = strlen(client->unix_path);
    if (len >= sizeof(to.sun_path))
        return err_set(err, -ENAMETOOLONG, "socket path '%s' is too long", client->unix_path);
    memcpy(to.sun_path, client->unix_path, len + 1);
    int fd = connect_to(client, (const struct sockaddr *)&to, sizeof(to), deadline);
    if (fd < 0)
        return err_set(err, fd, "connect to '%s': %s", client->unix_path, strerror(-fd));
    return fd;
}

static int open_inet(struct client *client, time_ms deadline, struct err *err)
{
    struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char port[16];
    (void)snprintf(port, sizeof(port), "%d", client->port);
    int r = getaddrinfo(client->host, port, &want, &found);
    if (r != 0)
        return err_set(err, -EHOSTUNREACH, "look up '%s': %s", client->host, gai_strerror(r));
    int fd = -EHOSTUNREACH;
    for (struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = connect_to(client, at->ai_addr, at->ai_addrlen, deadline);
    freeaddrinfo(found);
    if (fd < 0)
        return err_set(err, fd, "connect to %s:%d: %s", client->host, client->port, strerror(-fd));
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* only slower without */
    return fd;
}

/* Whom we expect: checked only when the context asks for verification at all. */
static bool expect_name(SSL *ssl, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    if (host == NULL)
        return true;
    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

static int tls_error(struct client *client, struct err *err)
{
    long verdict = SSL_get_verify_result(client->ssl);
    if (verdict != X509_V_OK)
        return err_set(err, -EKEYREJECTED, "certificate of %s: %s",
                       client->host ? client->host : "", X509_verify_cert_error_string(verdict));
    const char *why = ERR_reason_error_string(ERR_peek_error());
    return err_set(err, -EPROTO, "TLS handshake: %s", why ? why : "the connection was closed");
}

/* 0 when the call may be repeated. */
static int tls_wait(struct client *client, int result, time_ms deadline)
{
    int code = SSL_get_error(client->ssl, result);
    if (code == SSL_ERROR_WANT_READ)
        return wait_for(client, client->fd, POLLIN, deadline);
    if (code == SSL_ERROR_WANT_WRITE)
        return wait_for(client, client->fd, POLLOUT, deadline);
    return -ECONNRESET;
}

static int start_tls(struct client *client, time_ms deadline, struct err *err)
{
    client->ssl = SSL_new(client->tls);
    if (client->ssl == NULL || SSL_set_fd(client->ssl, client->fd) != 1 ||
        !expect_name(client->ssl, client->host))
        return err_set(err, -ENOMEM, "prepare TLS");
    SSL_set_mode(client->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE);
    for (;;) {
        ERR_clear_error();
        int n = SSL_connect(client->ssl);
        if (n == 1)
            return 0;
        int r = tls_wait(client, n, deadline);
        if (r == -ETIMEDOUT || r == -ECANCELED)
            return err_set(err, r, "TLS handshake: %s", strerror(-r));
        if (r < 0)
            return tls_error(client, err);
    }
}

int client_open(struct client *client, time_ms deadline, struct err *err)
{
    if (client->fd >= 0)
        return 0;
    int fd =
        client->unix_path ? open_unix(client, deadline, err) : open_inet(client, deadline, err);
    if (fd < 0)
        return fd;
    client->fd = fd;
    client->reused = false;
    int r = client->tls ? start_tls(client, deadline, err) : 0;
    if (r < 0)
        client_close(client);
    return r;
}

void client_close(struct client *client)
{
    if (client->ssl) {
        ERR_clear_error();
        (void)SSL_shutdown(client->ssl); /* a courtesy */
        SSL_free(client->ssl);
        client->ssl = NULL;
    }
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}

static ssize_t write_once(struct client *client, const char *data, size_t len, time_ms deadline)
{
    if (client->ssl == NULL) {
        ssize_t n = send(client->fd, data, len, MSG_NOSIGNAL);
        if (n >= 0 || errno == EINTR)
            return n < 0 ? 0 : n;
        return errno == EAGAIN ? wait_for(client, client->fd, POLLOUT, deadline) : -errno;
    }
    ERR_clear_error();
    int n = SSL_write(client->ssl, data, len > INT_MAX ? INT_MAX : (int)len);
    return n > 0 ? n : tls_wait(client, n, deadline);
}

int client_write(struct client *client, const char *data, size_t len, time_ms deadline)
{
    while (len > 0) {
        ssize_t n = write_once(client, data, len, deadline);
        if (n < 0)
            return (int)n;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static ssize_t tls_read(struct client *client, char *to, size_t len, time_ms deadline)
{
    for (;;) {
        ERR_clear_error();
        int n = SSL_read(client->ssl, to, (int)len);
        if (n > 0)
            return n;
        if (SSL_get_error(client->ssl, n) == SSL_ERROR_ZERO_RETURN)
            return 0;
        int r = tls_wait(client, n, deadline);
        if (r < 0)
            return r;
    }
}

ssize_t client_read(struct client *client, char *to, size_t len, time_ms deadline)
{
    if (client->ssl)
        return tls_read(client, to, len, deadline);
    for (;;) {
        ssize_t n = recv(client->fd, to, len, 0);
        if (n >= 0)
            return n;
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
        int r = wait_for(client, client->fd, POLLIN, deadline);
        if (r < 0)
            return r;
    }
}
