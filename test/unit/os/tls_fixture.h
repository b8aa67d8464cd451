// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/types.h>

/* A context for a server at 127.0.0.1 with a fresh P-256 key and a certificate signed by itself,
 * and one for clients that trust exactly this certificate. */
void tls_fixture_new(SSL_CTX **ret_server, SSL_CTX **ret_client);
