// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bench/request.h"
#include "bench/wire.h"
#include <sys/types.h>

/* What one run of the load generator is to do. */
struct load {
    struct wire_options target; /* only the address is filled in */
    const char *ca;
    struct request_options request;
    bool is_watch;
    size_t conns;
    double seconds;
    uint64_t count; /* of requests; 0: for `seconds` */
    uint64_t keys;
    uint64_t first_key;
    uint64_t events; /* of a watch */
    uint64_t seed;
    pid_t pid; /* of the server, whose CPU time is told; 0: of nobody */
};

/* How long answers took: exact to the microsecond below TIMES_FINE, then to the millisecond. */
#define TIMES_FINE 20000
#define TIMES_SLOTS 30000
struct times {
    uint64_t slots[TIMES_SLOTS];
    uint64_t count;
    uint64_t max_us;
};
void times_add(struct times *times, uint64_t ns);
uint64_t times_at(const struct times *times, double share); /* microseconds */

void load_watches(struct loop *loop, const struct load *load); /* watch.c */
