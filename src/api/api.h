// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "api/logport.h"
#include "api/token.h"
#include "control/manager.h"
#include "control/usage.h"
#include "os/http.h"
#include "store/store.h"

/* The Kubernetes API over a store: hand api_on_request and api_on_done to an http_server. */
struct api;
struct api_options {
    struct loop *loop;
    struct store *store;
    struct manager *manager; /* for /metrics; may be NULL */
    const struct token_key *key;
    const char *access_log; /* file, or NULL: none */
    /* Lines for /metrics that only the host knows (disk, process); may be NULL. */
    void (*more_metrics)(void *arg, struct str *out);
    /* NULL while commits work, else why not: /readyz tells. */
    const char *(*trouble)(void *arg);
    void *arg;
    /* For metrics.k8s.io; NULL: nobody measures, there is no such group. Stays
     * where it is. */
    const struct usage_source *usage;
    const struct log_source *logs; /* NULL: there are none */
};
int api_new(const struct api_options *options, struct api **ret_api, struct err *err);
void api_free(struct api *api); /* after the http_server, so that no stream is left */
/* The pods of this server are about to be ended. An agent that hears of it first must not take its
 * group to the next epoch: that one would end with the pods as well, and be charged. */
void api_end_begins(struct api *api);
void api_end_streams(struct api *api); /* tells watchers goodbye */

bool api_may_send(void *api, const struct http_exchange *x); /* is it anybody we know */
void api_on_request(void *api, struct http_exchange *x);
void api_on_done(void *api, const struct http_done *done);

/* For --log-level debug: who asks for this write. */
void api_tell_write(const char *who, const struct write *write);
