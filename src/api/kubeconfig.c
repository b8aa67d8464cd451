// SPDX-License-Identifier: Apache-2.0
#include "api/kubeconfig.h"
#include "base/mem.h"
#include "base/str.h"
#include "os/fd.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

int kubeconfig_write(const char *path, const struct kubeconfig *config, struct err *err)
{
    size_t len = strlen(config->ca_pem);
    scoped_free char *ca = mem_zalloc((len + 2) / 3 * 4 + 1);
    (void)EVP_EncodeBlock((unsigned char *)ca, (const unsigned char *)config->ca_pem, (int)len);
    scoped_str out = {0};
    str_addf(&out,
             "apiVersion: v1\n"
             "kind: Config\n"
             "clusters:\n"
             "- name: muster\n"
             "  cluster:\n"
             "    server: %s\n"
             "    certificate-authority-data: %s\n"
             "users:\n"
             "- name: %s\n"
             "  user:\n"
             "    token: %s\n"
             "contexts:\n"
             "- name: muster\n"
             "  context:\n"
             "    cluster: muster\n"
             "    user: %s\n"
             "    namespace: default\n"
             "current-context: muster\n",
             config->server, ca, config->user, config->token, config->user);
    int r = file_replace(path, out.data, out.len, 0600, err);
    OPENSSL_cleanse(out.data, out.len);
    return r;
}
