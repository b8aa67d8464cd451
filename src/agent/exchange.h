// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "agent/answer.h"
#include "agent/link.h"
#include "base/timetext.h"

/* One request and its answer after the other on a connection that is kept. */
#define EXCHANGE_OUT_MAX 8192

struct exchange {
    const struct where *where;
    struct link link;
    bool is_busy;   /* a request is under way */
    bool is_reused; /* an answer has come over this connection before */
    time_ms deadline;
    size_t out_len, out_at;
    char out[EXCHANGE_OUT_MAX];
    struct answer answer;
};

struct ask {
    const char *method, *target;
    const char *content_type; /* NULL: no body */
    const char *body;
    time_ms limit_ms;                                        /* for the whole of it; 0: for ever */
    int (*on_body)(void *arg, const char *data, size_t len); /* answer.h */
    void *arg;
};

void exchange_init(struct exchange *x, const struct where *where);
int exchange_begin(struct exchange *x, const struct ask *ask, time_ms now, struct err *err);
/* After a poll. 1: the answer is whole, x->answer tells. 0: not yet. Negative: it failed and the
 * connection is closed; -EPIPE when a kept connection had been closed by the server in the
 * meantime, so that nothing is wrong. */
int exchange_step(struct exchange *x, time_ms now, struct err *err);
/* A kept connection that became readable without a request: the server has closed it. */
void exchange_idle(struct exchange *x);
void exchange_close(struct exchange *x);
