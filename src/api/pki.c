// SPDX-License-Identifier: Apache-2.0
#include "api/pki.h"
#include "base/mem.h"
#include "base/str.h"
#include "os/fd.h"
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CERT_YEARS 10
#define CERT_SECONDS (60L * 60 * 24 * 365 * CERT_YEARS)

struct pair {
    EVP_PKEY *key;
    X509 *cert;
};

static void pair_done(struct pair *pair)
{
    EVP_PKEY_free(pair->key);
    X509_free(pair->cert);
    *pair = (struct pair){0};
}
#define scoped_pair __attribute__((cleanup(pair_done))) struct pair

static struct pair pair_take(struct pair *from)
{
    struct pair taken = *from;
    *from = (struct pair){0};
    return taken;
}

static int ssl_err(struct err *err, const char *what)
{
    char text[200] = "unknown reason";
    unsigned long code = ERR_get_error();
    if (code != 0)
        ERR_error_string_n(code, text, sizeof(text));
    ERR_clear_error();
    return err_set(err, -EIO, "%s: %s", what, text);
}

/* ---- making certificates ---- */

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = extension != NULL && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return ok;
}

static bool set_serial(X509 *cert)
{
    unsigned char bytes[16];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    bytes[0] &= 0x7f; /* serial numbers are positive */
    BIGNUM *number = BN_bin2bn(bytes, sizeof(bytes), NULL);
    bool ok = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
    BN_free(number);
    return ok;
}

static X509 *cert_blank(const char *common_name, EVP_PKEY *key)
{
    X509 *cert = X509_new();
    if (cert == NULL)
        return NULL;
    X509_NAME *name = X509_get_subject_name(cert);
    bool ok = X509_set_version(cert, 2) == 1 && set_serial(cert) &&
              X509_gmtime_adj(X509_getm_notBefore(cert), -3600) != NULL &&
              X509_gmtime_adj(X509_getm_notAfter(cert), CERT_SECONDS) != NULL &&
              X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                         (const unsigned char *)common_name, -1, -1, 0) == 1 &&
              X509_set_pubkey(cert, key) == 1;
    if (ok)
        return cert;
    X509_free(cert);
    return NULL;
}

static int make_ca(struct pair *ret_ca, struct err *err)
{
    scoped_pair ca = {.key = EVP_EC_gen("P-256")};
    if (ca.key != NULL)
        ca.cert = cert_blank("muster-ca", ca.key);
    if (ca.cert == NULL)
        return ssl_err(err, "make the certificate authority");
    bool ok = X509_set_issuer_name(ca.cert, X509_get_subject_name(ca.cert)) == 1 &&
              add_extension(ca.cert, ca.cert, NID_basic_constraints, "critical,CA:TRUE") &&
              add_extension(ca.cert, ca.cert, NID_key_usage,
                            "critical,keyCertSign,cRLSign,digitalSignature") &&
              add_extension(ca.cert, ca.cert, NID_subject_key_identifier, "hash") &&
              X509_sign(ca.cert, ca.key, EVP_sha256()) > 0;
    if (!ok)
        return ssl_err(err, "sign the certificate authority");
    *ret_ca = pair_take(&ca);
    return 0;
}

/* Names that clients may use; an address that is not one is taken as a DNS name. */
static void alt_names(const char *address, struct str *out)
{
    char host[256] = "";
    str_add(out, "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,"
                 "IP:127.0.0.1,IP:::1");
    if (gethostname(host, sizeof(host) - 1) == 0 && host[0] != '\0' && strchr(host, ',') == NULL)
        str_addf(out, ",DNS:%s", host);
    ASN1_OCTET_STRING *ip = a2i_IPADDRESS(address);
    if (ip != NULL)
        str_addf(out, ",IP:%s", address);
    else if (*address != '\0')
        str_addf(out, ",DNS:%s", address);
    ASN1_OCTET_STRING_free(ip);
    ERR_clear_error(); /* a2i_IPADDRESS leaves its opinion of host names there */
}

static int make_server(const struct pair *ca, const char *address, struct pair *ret_server,
                       struct err *err)
{
    scoped_pair server = {.key = EVP_EC_gen("P-256")};
    if (server.key != NULL)
        server.cert = cert_blank("muster", server.key);
    if (server.cert == NULL)
        return ssl_err(err, "make the server certificate");
    scoped_str names = {0};
    alt_names(address, &names);
    bool ok = X509_set_issuer_name(server.cert, X509_get_subject_name(ca->cert)) == 1 &&
              add_extension(server.cert, ca->cert, NID_basic_constraints, "critical,CA:FALSE") &&
              add_extension(server.cert, ca->cert, NID_key_usage, "critical,digitalSignature") &&
              add_extension(server.cert, ca->cert, NID_ext_key_usage, "serverAuth") &&
              add_extension(server.cert, ca->cert, NID_subject_alt_name, str_text(&names)) &&
              add_extension(server.cert, ca->cert, NID_authority_key_identifier, "keyid") &&
              X509_sign(server.cert, ca->key, EVP_sha256()) > 0;
    if (!ok)
        return ssl_err(err, "sign the server certificate");
    *ret_server = pair_take(&server);
    return 0;
}

/* ---- keeping the authority ---- */

static char *pem_of(const struct pair *pair, bool is_key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    bool ok =
        bio != NULL && (is_key ? PEM_write_bio_PrivateKey(bio, pair->key, NULL, NULL, 0, NULL, NULL)
                               : PEM_write_bio_X509(bio, pair->cert)) == 1;
    char *data = NULL;
    long len = ok ? BIO_get_mem_data(bio, &data) : 0;
    char *text = ok ? mem_strndup(data, (size_t)len) : NULL;
    BIO_free(bio);
    return text;
}

static int save_ca(const struct pair *ca, const char *key_path, const char *cert_path,
                   struct err *err)
{
    scoped_free char *key = pem_of(ca, true);
    scoped_free char *cert = pem_of(ca, false);
    if (key == NULL || cert == NULL)
        return ssl_err(err, "write the certificate authority");
    int r = file_replace(key_path, key, strlen(key), 0600, err);
    if (r == 0)
        r = file_replace(cert_path, cert, strlen(cert), 0644, err);
    OPENSSL_cleanse(key, strlen(key));
    return r;
}

static int load_ca(const char *key_path, const char *cert_path, struct pair *ret_ca,
                   struct err *err)
{
    scoped_str key = {0};
    scoped_str cert = {0};
    int r = file_read(key_path, 65536, &key, err);
    if (r == 0)
        r = file_read(cert_path, 65536, &cert, err);
    if (r < 0)
        return r;
    BIO *key_bio = BIO_new_mem_buf(key.data, (int)key.len);
    BIO *cert_bio = BIO_new_mem_buf(cert.data, (int)cert.len);
    scoped_pair ca = {.key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL),
                      .cert = PEM_read_bio_X509(cert_bio, NULL, NULL, NULL)};
    BIO_free(key_bio);
    BIO_free(cert_bio);
    OPENSSL_cleanse(key.data, key.len);
    if (ca.key == NULL || ca.cert == NULL || X509_check_private_key(ca.cert, ca.key) != 1) {
        r = ssl_err(err, "read the certificate authority");
        (void)err_hint(err, "remove %s and %s: the next start makes new ones", key_path, cert_path);
        return r;
    }
    *ret_ca = pair_take(&ca);
    return 0;
}

static int need_ca(const char *dir, struct pair *ret_ca, struct err *err)
{
    scoped_free char *key_path = mem_printf("%s/ca.key", dir);
    scoped_free char *cert_path = mem_printf("%s/ca.crt", dir);
    if (file_exists(key_path) && file_exists(cert_path))
        return load_ca(key_path, cert_path, ret_ca, err);
    scoped_pair ca = {0};
    int r = make_ca(&ca, err);
    if (r == 0)
        r = save_ca(&ca, key_path, cert_path, err);
    if (r < 0)
        return r;
    *ret_ca = pair_take(&ca);
    return 0;
}

/* ---- serving ---- */

/* HTTP/1.1 only: clients that offer h2 first must not believe it was accepted. The parameters are
 * OpenSSL's. NOLINTNEXTLINE(readability-function-size) */
static int select_http11(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                         const unsigned char *in, unsigned in_len, void *arg)
{
    static const unsigned char HTTP11[] = "\x08http/1.1";
    (void)ssl, (void)arg;
    int r = SSL_select_next_proto((unsigned char **)out, out_len, HTTP11, sizeof(HTTP11) - 1, in,
                                  in_len);
    return r == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

static int server_context(const struct pair *server, SSL_CTX **ret_ctx, struct err *err)
{
    static const unsigned char SESSION_ID[] = "muster";
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    bool ok = ctx != NULL && SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
              SSL_CTX_use_certificate(ctx, server->cert) == 1 &&
              SSL_CTX_use_PrivateKey(ctx, server->key) == 1 &&
              SSL_CTX_set_session_id_context(ctx, SESSION_ID, sizeof(SESSION_ID) - 1) == 1;
    if (!ok) {
        SSL_CTX_free(ctx);
        return ssl_err(err, "set up TLS");
    }
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); /* tickets resume without it */
    SSL_CTX_set_num_tickets(ctx, 1);
    SSL_CTX_set_alpn_select_cb(ctx, select_http11, NULL);
    *ret_ctx = ctx;
    return 0;
}

int pki_open(const char *dir, const char *address, struct pki *ret_pki, struct err *err)
{
    int r = dir_make(dir, 0700, err);
    if (r < 0)
        return r;
    scoped_pair ca = {0};
    scoped_pair server = {0};
    r = need_ca(dir, &ca, err);
    if (r == 0)
        r = make_server(&ca, address, &server, err);
    SSL_CTX *ctx = NULL;
    if (r == 0)
        r = server_context(&server, &ctx, err);
    if (r < 0)
        return err_wrap(err, "certificates in '%s'", dir);
    *ret_pki = (struct pki){.server = ctx, .ca_pem = pem_of(&ca, false)};
    return 0;
}

void pki_done(struct pki *pki)
{
    SSL_CTX_free(pki->server);
    mem_free(pki->ca_pem);
    *pki = (struct pki){0};
}
