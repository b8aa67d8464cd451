// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>

/* One end of the connection between supervisor and spawner: a queue of messages going out, whole
 * messages coming in. A datagram is one byte (is there more of its last message?) and as many
 * messages as fit; only a message too big for one datagram is spread over several. Never blocks. */
struct spawn_link {
    int fd;            /* -1 while there is none */
    struct str out;    /* messages that were not sent yet; append to it with spawn_wire_put_*() */
    size_t sent;       /* bytes of `out` that are gone */
    size_t part_sent;  /* of the message at `sent`, when it is spread */
    struct str in;     /* one datagram, or what there is of a spread message */
    bool is_gathering; /* `in` holds the beginning of one */
};

/* `path` is a socket; -errno when nobody listens. */
int spawn_link_connect(struct spawn_link *link, const char *path);
/* Closes it; what was not sent is kept for the next connection, from the start of a message. */
void spawn_link_close(struct spawn_link *link);
void spawn_link_done(struct spawn_link *link);
/* 0: all is sent; 1: the other side is slow, wait for EPOLLOUT; -errno: the connection is broken.
 */
int spawn_link_flush(struct spawn_link *link);
/* 1: *ret holds messages, valid until the next call; 0: nothing now; -errno: it has ended. */
int spawn_link_read(struct spawn_link *link, struct sv *ret);

/* A listening socket of the same kind, mode 0600, in place of what was there. */
int spawn_link_listen(const char *path, int *ret_fd);
