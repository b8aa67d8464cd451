// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include <openssl/types.h>

/* The certificate authority that the first start makes, and a server certificate under it. Keys
 * are P-256 and stay in `dir` with mode 0600. */
struct pki {
    SSL_CTX *server;
    char *ca_pem; /* for the kubeconfig */
};
/* `address` is what the server listens on; localhost, the loopback addresses and the host's name
 * are always in the certificate. */
int pki_open(const char *dir, const char *address, struct pki *ret_pki, struct err *err);
void pki_done(struct pki *pki);
