// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/str.h"
#include <openssl/types.h>

/* A small blocking HTTP/1.1 client for the CLI, tests and benchmarks: one kept-alive connection
 * to a unix socket or to host:port with or without TLS. Answers are parsed with llhttp. */
struct client;
struct client_options {
    const char *unix_path; /* or: */
    const char *host;
    int port;
    SSL_CTX *tls;      /* NULL: clear text */
    const char *token; /* sent as Authorization: Bearer */
    int timeout_ms;    /* for one answer's head and for each read of a body; 0: 30 s */
};
struct client_response {
    int status;
    struct str content_type;
    struct str warnings; /* the texts of Warning headers, one a line */
    struct str body;
};

int client_new(const struct client_options *options, struct client **ret_client, struct err *err);
/* Another one to the same server, not connected yet. */
int client_twin(const struct client *client, struct client **ret_client, struct err *err);
/* Whatever waits ends with -ECANCELED once this descriptor is readable, so that another thread can
 * end it; one eventfd may serve many clients. -1: none. Set before the first use. */
void client_cancel_on(struct client *client, int fd);
void client_free(struct client *client);
struct client_request {
    const char *method; /* NULL: GET */
    const char *target; /* path and query */
    const char *content_type;
    const char *accept;
    struct sv body;
};
/* One request, the whole answer. Reconnects once when the server had closed an idle connection.
 * -ECONNREFUSED, -ENOENT: nobody is listening. -ETIMEDOUT. */
int client_call(struct client *client, const struct client_request *req,
                struct client_response *res, struct err *err);

struct client_stream {
    const char *target;
    const char *accept;
    int timeout_ms; /* without a byte; 0: for ever */
    /* Called for each line, without its newline, until it returns something else than 0. */
    int (*on_line)(void *arg, struct sv line);
    void *arg;
    /* Instead of on_line: called with what has come, lines or not. */
    int (*on_text)(void *arg, struct sv text);
};
/* A streaming GET until on_line() ends it (its value is returned), the server ends it (0), or an
 * error. An answer that is not 200 is put into res, whose status tells, and returned as 0. */
int client_stream(struct client *client, const struct client_stream *stream,
                  struct client_response *res, struct err *err);
void client_response_done(struct client_response *res);
