// SPDX-License-Identifier: Apache-2.0
#include "tls_fixture.h"
#include "fixture.h"
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

static void add_names(X509 *cert)
{
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    assert_non_null(names);
    assert_int_equal(X509_add_ext(cert, names, -1), 1);
    X509_EXTENSION_free(names);
}

static X509 *make_cert(EVP_PKEY *key)
{
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_set_pubkey(cert, key);
    add_names(cert);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    return cert;
}

void tls_fixture_new(SSL_CTX **ret_server, SSL_CTX **ret_client)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    assert_non_null(key);
    X509 *cert = make_cert(key);
    SSL_CTX *server = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate(server, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(server, key), 1);
    SSL_CTX *client = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_verify(client, SSL_VERIFY_PEER, NULL);
    assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(client), cert), 1);
    X509_free(cert);
    EVP_PKEY_free(key);
    *ret_server = server;
    *ret_client = client;
}
