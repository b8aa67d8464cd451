// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/timetext.h"
#include "os/client.h"
#include "os/clock.h"
#include <sys/types.h>

/* Shared by client.c (requests and answers) and client_conn.c (the connection). */
struct client {
    char *unix_path;
    char *host;
    char *token;
    int port;
    int timeout_ms;
    SSL_CTX *tls;
    SSL *ssl;
    int fd;        /* -1 while not connected */
    int cancel_fd; /* -1: none */
    bool reused;   /* an answer has come over it: the server may have closed it since */
};

#define CLIENT_FOREVER TIME_NEVER

/* All wait until `deadline`, then -ETIMEDOUT; -ECANCELED when cancel_fd became readable. The socket
 * itself never blocks. */
int client_open(struct client *client, time_ms deadline, struct err *err);
void client_close(struct client *client);
int client_write(struct client *client, const char *data, size_t len, time_ms deadline);
/* Bytes, 0 at the end of the stream. */
ssize_t client_read(struct client *client, char *to, size_t len, time_ms deadline);
