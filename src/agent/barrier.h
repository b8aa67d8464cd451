// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* The endpoint that the startup probe of a sidecar asks: 503 before the barrier is lifted, 200 from
 * then on. The worker's container starts after the first 200. */
#define BARRIER_CLIENTS 4

struct barrier {
    int fd; /* -1: not listening */
    const char *path;
    bool is_lifted;
    size_t oldest; /* gives way when all are taken: one that never asks blocks nobody */
    struct barrier_client {
        int fd; /* -1: free */
        size_t len;
        char head[512];
    } clients[BARRIER_CLIENTS];
};

/* `address` may be NULL: all of this pod's addresses. */
int barrier_open(struct barrier *barrier, const char *address, int port, const char *path,
                 struct err *err);
/* Fills at most 1 + BARRIER_CLIENTS entries. */
size_t barrier_polls(const struct barrier *barrier, struct pollfd *polls);
void barrier_step(struct barrier *barrier);
