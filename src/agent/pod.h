// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "agent/exchange.h"
#include "agent/pause.h"
#include "agent/reading.h"
#include "agent/say.h"

/* The agent's own pod: what epoch it has, and the epoch it shall have. A write carries what makes
 * it safe to arrive late or twice: the pod's UID, and the epoch (or the version) that it replaces.
 * It is repeated until the pod has the epoch. */
struct pod_options {
    const struct where *where;
    const char *ns, *name;
    const char *uid; /* NULL: of whichever pod has the name when we first ask */
    struct rng *rng;
    void (*on_known)(void *arg); /* read for the first time: pod->epoch */
    void (*on_written)(void *arg, int64_t epoch);
    void (*on_replaced)(void *arg); /* another pod has our name: we are of the past */
    void *arg;
};

struct pod {
    struct pod_options options;
    struct exchange x;
    struct reader reader;
    struct reading answer;
    struct pause pause;
    time_ms retry_at;
    bool is_known; /* what follows is as the server last said */
    bool is_told;  /* on_known() was called */
    bool is_replaced;
    char uid[UID_MAX];
    char version[VERSION_MAX];
    char epoch_text[TEXT_MAX], attempt_text[TEXT_MAX];
    int64_t epoch;  /* 0: none */
    int64_t wanted; /* 0: none yet */
    struct said said;
};

void pod_init(struct pod *pod, const struct pod_options *options);
void pod_want(struct pod *pod, int64_t epoch);
void pod_step(struct pod *pod, time_ms now);
time_ms pod_due(const struct pod *pod);
