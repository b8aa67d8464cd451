// SPDX-License-Identifier: Apache-2.0
#include "agent/tls.h"
#include <errno.h>
#include <link.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SILENT_S 20 /* of the network, before a connection counts as lost */

static SSL_CTX *context;
static bool has_read;        /* something, from any connection, since there was nothing to read */
static SSL_SESSION *session; /* of the last connection: the next one is cheaper for the server */

static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text != NULL ? text : "unknown reason";
}

static int keep_session(SSL *ssl, SSL_SESSION *fresh)
{
    (void)ssl;
    SSL_SESSION_free(session);
    session = fresh;
    return 1;
}

int tls_prepare(const struct where *where, char *const argv[], struct err *err)
{
    (void)argv;
    if (where->socket != NULL)
        return 0;
    /* Nothing of the machine's configuration is of use here, and reading it takes memory. */
    if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1)
        context = SSL_CTX_new(TLS_client_method());
    if (context == NULL)
        return err_set(err, -EIO, "no TLS: %s", reason());
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, keep_session);
    int ok = where->ca_file != NULL ? SSL_CTX_load_verify_locations(context, where->ca_file, NULL)
                                    : SSL_CTX_set_default_verify_paths(context);
    if (ok == 1)
        return 0;
    (void)err_set(err, -EINVAL, "cannot read certificates from '%s': %s",
                  where->ca_file != NULL ? where->ca_file : "the machine's own", reason());
    return err_hint(err, "name the server's CA with --ca or MUSTER_CA");
}

/* The code and the constants of the program itself: what is not written to is only a view of the
 * file, and comes back when it is touched. */
static int let_go_of(struct dl_phdr_info *program, size_t size, void *arg)
{
    (void)size, (void)arg;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &program->dlpi_phdr[i];
        uintptr_t begin = program->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
        begin = (begin + page - 1) / page * page;
        end = end / page * page;
        if (part->p_type == PT_LOAD && !(part->p_flags & PF_W) && begin < end)
            (void)madvise((void *)begin, end - begin, MADV_DONTNEED); /* it only helps */
    }
    return 1; /* the first is the program: no other is asked for */
}

/* For the first connection OpenSSL makes a table of every algorithm it has, and thereby walks
 * through nearly all of its code; a handshake needs half of it, and the kernel maps sixteen pages
 * for each that is touched. What follows for hours is to wait for a line of text. Without this all
 * of it counts as the agent's memory: 5.0 MB instead of 1.3, and more with each OpenSSL. */
static void let_go(void)
{
    (void)dl_iterate_phdr(let_go_of, NULL); /* it returns what let_go_of() does */
}

/* A cut cable says nothing: the kernel asks for us. */
static void watch_over(int fd)
{
    int on = 1, idle = SILENT_S / 2, every = SILENT_S / 4, count = 2;
    unsigned unanswered = SILENT_S * 1000;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* all of these only help */
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof(unanswered));
}

static int connect_to(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    watch_over(fd);
    if (connect(fd, at->ai_addr, at->ai_addrlen) < 0 && errno != EINPROGRESS) {
        int code = -errno;
        (void)close(fd); /* nothing was written to it */
        return code;
    }
    return fd;
}

static int connect_any(const struct where *where, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int r = getaddrinfo(where->host, where->port, &hints, &found);
    if (r != 0)
        return err_set(err, -EHOSTUNREACH, "no address of '%s': %s", where->host, gai_strerror(r));
    int fd = -EHOSTUNREACH;
    for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next)
        fd = connect_to(at);
    freeaddrinfo(found);
    if (fd < 0)
        return err_set(err, fd, "cannot reach '%s:%s': %s", where->host, where->port,
                       strerror(-fd));
    return fd;
}

static bool is_address(const char *host)
{
    ASN1_OCTET_STRING *ip = a2i_IPADDRESS(host);
    bool yes = ip != NULL;
    ASN1_OCTET_STRING_free(ip);
    return yes;
}

static bool expect(SSL *ssl, const char *host)
{
    if (is_address(host))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

int tls_open(struct link *link, const struct where *where, struct err *err)
{
    int fd = connect_any(where, err);
    if (fd < 0)
        return fd;
    SSL *ssl = SSL_new(context);
    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1 || !expect(ssl, where->host)) {
        SSL_free(ssl);
        (void)close(fd); /* nothing was written to it */
        return err_set(err, -EIO, "no TLS to '%s': %s", where->host, reason());
    }
    if (session != NULL)
        (void)SSL_set_session(ssl, session); /* without it the handshake is only longer */
    SSL_set_connect_state(ssl);
    link->fd = fd;
    link->tls = ssl;
    link->wants = POLLOUT;
    return 0;
}

static ssize_t failure(struct link *link, int n)
{
    SSL *ssl = link->tls;
    switch (SSL_get_error(ssl, n)) {
    case SSL_ERROR_WANT_READ:
        link->wants = POLLIN;
        return -EAGAIN;
    case SSL_ERROR_WANT_WRITE:
        link->wants = POLLOUT;
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        return errno != 0 ? -errno : -ECONNRESET;
    default:
        break;
    }
    long verdict = SSL_get_verify_result(ssl);
    (void)snprintf(link->why, sizeof(link->why), "%s",
                   verdict != X509_V_OK ? X509_verify_cert_error_string(verdict) : reason());
    return verdict != X509_V_OK ? -EACCES : -EPROTO;
}

/* OpenSSL's list of errors is one for all connections: what another one left there must not count
 * for this one. */
ssize_t tls_read(struct link *link, char *to, size_t len)
{
    ERR_clear_error();
    errno = 0;
    int n = SSL_read(link->tls, to, (int)len);
    link->wants = POLLIN;
    ssize_t r = n > 0 ? n : failure(link, n);
    if (r == -EAGAIN && has_read)
        let_go();
    if (r > 0 || r == -EAGAIN)
        has_read = r > 0;
    return r;
}

ssize_t tls_write(struct link *link, const char *data, size_t len)
{
    ERR_clear_error();
    errno = 0;
    int n = SSL_write(link->tls, data, (int)len);
    link->wants = POLLOUT;
    return n > 0 ? n : failure(link, n);
}

void tls_close(struct link *link)
{
    SSL_free(link->tls);
    link->tls = NULL;
}
