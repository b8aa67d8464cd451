// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "api/logport.h"
#include "base/err.h"
#include "os/loop.h"
#include "store/store.h"

/* The server's world, whole: loop, disk, store, controllers, API on a unix socket and on TLS. */
struct host;
struct host_options {
    const char *data;              /* directory; made when missing */
    const char *listen;            /* "127.0.0.1:0" */
    size_t window_changes;         /* 0: the default */
    const struct log_source *logs; /* of containers; NULL: none */
};
int host_start(struct loop *loop, const struct host_options *options, struct host **ret_host,
               struct err *err);
/* Lets the commits under way finish, says goodbye to clients, then calls back. */
void host_stop(struct host *host, void (*stopped)(void *arg), void *arg);
void host_free(struct host *host);

struct store *host_store(struct host *host);
const char *host_url(const struct host *host);        /* https://127.0.0.1:41234 */
const char *host_kubeconfig(const struct host *host); /* its path */
const char *host_socket(const struct host *host);
