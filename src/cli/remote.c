// SPDX-License-Identifier: Apache-2.0
#include "cli/remote.h"
#include "base/mem.h"
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct link {
    struct client *client;
    SSL_CTX *tls;
};

static int link_call(void *self, const struct request *req, struct client_response *res,
                     struct err *err)
{
    struct link *link = self;
    const char *type = req->body.len > 0 ? "application/json" : NULL;
    struct client_request call = {.method = req->method,
                                  .target = req->target,
                                  .content_type = type,
                                  .accept = req->accept ? req->accept : "application/json",
                                  .body = req->body};
    return client_call(link->client, &call, res, err);
}

static int link_stream(void *self, const struct stream *stream, struct client_response *res,
                       struct err *err)
{
    struct link *link = self;
    struct client_stream call = {.target = stream->target,
                                 .accept = stream->accept ? stream->accept : "application/json",
                                 .timeout_ms = stream->timeout_ms,
                                 .on_line = stream->on_line,
                                 .arg = stream->arg,
                                 .on_text = stream->on_text};
    return client_stream(link->client, &call, res, err);
}

static void link_close(void *self)
{
    struct link *link = self;
    client_free(link->client);
    SSL_CTX_free(link->tls);
    mem_free(link);
}

static void link_cancel_on(void *self, int fd)
{
    struct link *link = self;
    client_cancel_on(link->client, fd);
}

static int link_again(void *self, struct remote *ret_remote, struct err *err);

static struct remote remote_of(struct link *link)
{
    return (struct remote){.call = link_call,
                           .stream = link_stream,
                           .close = link_close,
                           .self = link,
                           .again = link_again,
                           .cancel_on = link_cancel_on};
}

static int link_again(void *self, struct remote *ret_remote, struct err *err)
{
    const struct link *old = self;
    struct client *client = NULL;
    int r = client_twin(old->client, &client, err);
    if (r < 0)
        return r;
    struct link *link = mem_zalloc(sizeof(*link));
    link->client = client; /* which holds the TLS context, too */
    *ret_remote = remote_of(link);
    return 0;
}

/* All certificates of a PEM text become trusted. */
static int trust_pem(SSL_CTX *tls, const char *pem, struct err *err)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509_STORE *store = SSL_CTX_get_cert_store(tls);
    int n = 0;
    X509 *cert = NULL;
    while (bio != NULL && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        n += X509_STORE_add_cert(store, cert);
        X509_free(cert);
    }
    BIO_free(bio);
    ERR_clear_error(); /* the end of the text is reported as an error */
    return n > 0 ? 0 : err_set(err, -EINVAL, "the certificate authority holds no certificate");
}

static int make_tls(const char *ca_pem, SSL_CTX **ret_tls, struct err *err)
{
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    if (tls == NULL)
        return err_set(err, -ENOMEM, "cannot set up TLS");
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION); /* cannot fail for a known version */
    int r = 0;
    if (ca_pem != NULL)
        r = trust_pem(tls, ca_pem, err);
    else if (SSL_CTX_set_default_verify_paths(tls) != 1)
        r = err_set(err, -EIO, "cannot load the system's certificate authorities");
    if (r < 0) {
        SSL_CTX_free(tls);
        return r;
    }
    *ret_tls = tls;
    return 0;
}

static bool is_loopback(const char *host)
{
    return str_eq(host, "localhost") || str_eq(host, "::1") || str_starts(host, "127.");
}

static int parse_port(const char *text, int *ret_port)
{
    char *end = NULL;
    errno = 0;
    long port = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || port < 1 || port > 65535)
        return -EINVAL;
    *ret_port = (int)port;
    return 0;
}

/* "host", "host:port", "[::1]:port"; a trailing slash is fine, a path is not. */
static int split_host(const char *text, char **ret_host, int *ret_port)
{
    struct sv rest = sv_of(text);
    while (rest.len > 0 && rest.ptr[rest.len - 1] == '/')
        rest.len--;
    scoped_free char *copy = mem_strndup(rest.ptr, rest.len);
    bool bracket = copy[0] == '[';
    char *end = bracket ? strchr(copy, ']') : strchr(copy, ':');
    char *host = bracket ? copy + 1 : copy;
    if (strchr(copy, '/') != NULL || (bracket && end == NULL))
        return -EINVAL;
    char *port = end ? end + (bracket ? 1 : 0) : NULL;
    if (port != NULL && *port == ':' && parse_port(port + 1, ret_port) < 0)
        return -EINVAL;
    if (port != NULL && *port != ':' && *port != '\0')
        return -EINVAL;
    if (end != NULL)
        *end = '\0';
    if (*host == '\0')
        return -EINVAL;
    *ret_host = mem_strdup(host);
    return 0;
}

static int open_net(const struct address *address, struct client_options *options,
                    struct link *link, struct err *err)
{
    bool tls = str_starts(address->server, "https://");
    scoped_free char *host = NULL;
    options->port = tls ? 443 : 80;
    int r = split_host(address->server + (tls ? 8 : 7), &host, &options->port);
    if (r < 0)
        return err_set(err, r, "server '%s' is not SCHEME://HOST[:PORT]", address->server);
    if (!tls && !is_loopback(host)) {
        (void)err_set(err, -EPERM, "server '%s' is not this machine and has no TLS",
                      address->server);
        return err_hint(err, "use https://");
    }
    if (tls)
        r = make_tls(address->ca_pem, &link->tls, err);
    if (r < 0)
        return r;
    options->host = host;
    options->tls = link->tls;
    return client_new(options, &link->client, err);
}

static int open_link(const struct address *address, struct link *link, struct err *err)
{
    struct client_options options = {.token = address->token, .timeout_ms = address->timeout_ms};
    if (str_starts(address->server, "https://") || str_starts(address->server, "http://"))
        return open_net(address, &options, link, err);
    if (!str_starts(address->server, "unix:") || address->server[5] == '\0') {
        (void)err_set(err, -EINVAL, "server '%s' is not understood", address->server);
        return err_hint(err, "write unix:PATH or https://HOST:PORT");
    }
    options.unix_path = address->server + 5;
    return client_new(&options, &link->client, err);
}

int remote_open(const struct address *address, struct remote *ret_remote, struct err *err)
{
    struct link *link = mem_zalloc(sizeof(*link));
    int r = open_link(address, link, err);
    if (r < 0) {
        SSL_CTX_free(link->tls);
        mem_free(link);
        return r;
    }
    *ret_remote = remote_of(link);
    (void)snprintf(ret_remote->label, sizeof(ret_remote->label), "%s", address->server);
    return 0;
}

void remote_close(struct remote *remote)
{
    if (remote->self != NULL)
        remote->close(remote->self);
    *remote = (struct remote){0};
}

void address_done(struct address *address)
{
    mem_free(address->server);
    mem_free(address->ca_pem);
    if (address->token != NULL)
        explicit_bzero(address->token, strlen(address->token));
    mem_free(address->token);
    mem_free(address->namespace_);
    *address = (struct address){0};
}
