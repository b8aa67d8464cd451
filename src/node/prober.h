// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "os/loop.h"
#include <stdbool.h>
#include <stdint.h>

/* Asks containers over the network: one GET or one connection a question, without blocking.
 * Commands are asked elsewhere, by the runtime that can run them. */
struct prober;
typedef void prober_fn(void *arg, uint64_t ticket, bool is_ok, const char *text);
struct prober *prober_new(struct loop *loop, prober_fn *fn, void *arg);
void prober_free(struct prober *prober); /* questions under way are dropped */

struct prober_question {
    const char *host; /* an address or "localhost"; names are not looked up */
    int port;
    const char *path;           /* NULL: a connection is enough */
    bool is_tls;                /* any certificate is fine, as for kubelet */
    const char *const *headers; /* "Name: value", NULL-terminated, or NULL */
    time_ms timeout_ms;
};
/* 200..399 is well; redirects to other hosts are not followed and count as well. */
void prober_ask(struct prober *prober, const struct prober_question *question, uint64_t ticket);
void prober_cancel(struct prober *prober, uint64_t ticket); /* no answer will come */
