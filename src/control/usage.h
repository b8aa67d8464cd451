// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/timetext.h"

/* The port to whoever measures what pods and nodes use; the API asks through it. */
struct usage_reading {
    const char *name;     /* of the container, or of the node */
    time_ms at;           /* wall: when it was read */
    time_ms window_ms;    /* the time before, over which cpu_nano is the average */
    int64_t cpu_nano;     /* billionths of a core */
    int64_t memory_bytes; /* at that moment */
};
typedef void usage_fn(void *arg, const struct usage_reading *reading);

struct usage_source {
    /* Calls back for each container of the pod that runs; not at all: nothing is known of it. */
    void (*pod)(void *arg, const char *uid, usage_fn *each, void *each_arg);
    /* Once, or not at all: somebody else's node. */
    void (*node)(void *arg, const char *name, usage_fn *each, void *each_arg);
    void *arg;
};
