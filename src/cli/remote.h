// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "os/client.h"

/* The server as the verbs see it: requests and line streams. remote_open() makes the real one;
 * tests have one that answers from a script. */

struct request {
    const char *method; /* NULL: GET */
    const char *target; /* path and query */
    const char *accept; /* NULL: JSON */
    struct sv body;     /* sent as JSON */
};

typedef int line_fn(void *arg, struct sv line);

struct stream {
    const char *target;
    const char *accept;
    int timeout_ms; /* 0: for ever */
    line_fn *on_line;
    void *arg;
    line_fn *on_text; /* instead of on_line: bytes as they come */
};

struct remote {
    int (*call)(void *self, const struct request *req, struct client_response *res,
                struct err *err);
    int (*stream)(void *self, const struct stream *stream, struct client_response *res,
                  struct err *err);
    void (*close)(void *self);
    void *self;      /* NULL: not connected */
    char label[256]; /* "unix:/run/muster.sock", for messages */
    /* A further connection to the same server, for another thread; NULL: there is but one. */
    int (*again)(void *self, struct remote *ret_remote, struct err *err);
    /* Calls and streams end with -ECANCELED once this descriptor is readable; NULL: they cannot. */
    void (*cancel_on)(void *self, int fd);
};

/* Where the server is and who we are. */
struct address {
    char *server;     /* "unix:PATH", "https://host:port", "http://host:port" */
    char *ca_pem;     /* NULL: what the system trusts */
    char *token;      /* or NULL */
    char *namespace_; /* or NULL */
    int timeout_ms;   /* 0: the client's own */
};
void address_done(struct address *address);
int remote_open(const struct address *address, struct remote *ret_remote, struct err *err);
void remote_close(struct remote *remote);

/* Reads the current context of a kubeconfig: server, authority, token, namespace. `*address` must
 * be zeroed and is the caller's to free, also after a failure. */
int kubeconfig_read(const char *path, struct address *address, struct err *err);
