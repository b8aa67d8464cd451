// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/timetext.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the API gets the logs of containers from: whoever starts the server fills this in. */
struct log_ask {
    const char *ns, *pod, *uid, *container;
    const char *node;    /* where the pod runs; "" when that is not known */
    uint32_t generation; /* the latest that is not above it */
    bool previous;       /* the one before */
    bool follow, timestamps;
    int64_t tail_lines;  /* -1: all */
    time_ms since;       /* wall; 0: all */
    int64_t limit_bytes; /* 0: none */
};

/* Called from the loop with text as it comes, with len 0 at the end. False: the text was not taken
 * and is to be offered again after resume(). At the end the reader may be closed from within. */
typedef bool log_take_fn(void *arg, const char *text, size_t len);

struct log_source {
    /* -ENOENT: there is no such log. */
    int (*open)(void *arg, const struct log_ask *ask, log_take_fn *take, void *take_arg,
                void **ret_reader, struct err *err);
    void (*resume)(void *reader);
    void (*close)(void *reader);
    void *arg;
};
