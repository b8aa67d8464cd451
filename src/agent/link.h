// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "agent/where.h"
#include "base/err.h"
#include <stdbool.h>
#include <sys/types.h>

/* One connection to the server that never blocks. */
struct link {
    int fd;        /* -1: closed */
    void *tls;     /* NULL: clear text */
    short wants;   /* what to poll for before it is tried again */
    char why[160]; /* why the other end is not believed, when that is the reason */
};

int link_open(struct link *link, const struct where *where, struct err *err);
bool link_is_open(const struct link *link);
/* Bytes; 0 at the end; -EAGAIN: poll for link->wants; or another negative errno. */
ssize_t link_read(struct link *link, char *to, size_t len);
ssize_t link_write(struct link *link, const char *data, size_t len);
void link_close(struct link *link);
