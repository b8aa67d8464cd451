// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "api/logport.h"
#include "base/err.h"
#include "control/manager.h"
#include "control/usage.h"
#include "os/loop.h"
#include "store/store.h"

/* The server's world, whole: loop, disk, store, controllers, API on a unix socket and on TLS. */
struct host;

/* What a host runs besides the controllers that every server has: the nodes of this machine. Made
 * by somebody above, so that the API need not know it. */
struct host_guest {
    /* Once the data directory is ours alone; before any controller runs. */
    int (*open)(void *arg, const char *data, struct err *err);
    /* After open: the first, the second, ..., then NULL. */
    const struct controller *(*controller)(void *arg, size_t index);
    /* Asked to end: controllers go on until `done` is called. Asked again it hurries. */
    void (*stop)(void *arg, void (*done)(void *done_arg), void *done_arg);
    void (*close)(void *arg); /* after the controllers; also when open() failed */
    void (*metrics)(void *arg, struct str *out);
    /* What pods use, after open; NULL: it does not measure. Lives as long as the guest. */
    const struct usage_source *(*usage)(void *arg);
    const struct log_source *(*logs)(void *arg); /* of its containers; may be NULL */
    void *arg;
};

struct host_options {
    const char *data;               /* directory; made when missing */
    const char *listen;             /* "127.0.0.1:0" */
    size_t window_changes;          /* 0: the default */
    const struct log_source *logs;  /* of containers; NULL: none; must live as long as the host */
    const struct host_guest *guest; /* or NULL; must live as long as the host */
    const struct configuration *configuration; /* or NULL; until host_configure() */
};
int host_start(struct loop *loop, const struct host_options *options, struct host **ret_host,
               struct err *err);
/* Ends the guest, lets the commits under way finish, says goodbye to clients, then calls back.
 * Asked again, it does not wait for what it waits for just then. */
void host_stop(struct host *host, void (*stopped)(void *arg), void *arg);
void host_free(struct host *host);

/* Controllers go on with this one; the one before may then be freed. */
void host_configure(struct host *host, const struct configuration *configuration);
struct store *host_store(struct host *host);
const char *host_url(const struct host *host);        /* https://127.0.0.1:41234 */
const char *host_kubeconfig(const struct host *host); /* its path */
const char *host_socket(const struct host *host);
