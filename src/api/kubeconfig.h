// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"

/* Writes a kubeconfig (0600) with one cluster, one user, one context. */
struct kubeconfig {
    const char *server;
    const char *ca_pem;
    const char *user;
    const char *token;
};
int kubeconfig_write(const char *path, const struct kubeconfig *config, struct err *err);
