// SPDX-License-Identifier: Apache-2.0
#pragma once

/* Where the server is, and as whom we come. */
struct where {
    const char *socket; /* a unix socket, or NULL: */
    char host[256];
    char port[8];
    const char *ca_file;    /* NULL: what the machine trusts */
    const char *token_file; /* read for every request: tokens are renewed while we run */
    const char *token;      /* NULL: none */
};
