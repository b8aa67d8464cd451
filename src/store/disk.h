// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "store/object.h"

/* Where commits become durable. One batch is under way at a time; its completion is told on the
 * thread that submitted it. Two implementations: SQLite behind a writer thread, and the
 * simulator's disk that is slow, full or torn when the seed says so. */
struct disk_row {
    const struct kind *kind;
    const char *ns;
    const char *name;
    uint64_t revision;
    struct buf *json; /* NULL: the object is removed */
};

struct disk_batch {
    const struct disk_row *rows; /* in order; a later row of the same object wins */
    size_t len;
    uint64_t revision; /* of the last row */
    /* 0: durable. -ENOSPC, -EROFS, -EIO: not done, nothing of it is there; text says more. */
    void (*done)(void *arg, int result, const char *text);
    void *arg;
};

struct disk {
    const struct disk_ops *ops;
};
struct disk_ops {
    /* Every object that is there, in any order; then the latest revision ever committed. */
    int (*load)(struct disk *disk, int (*each)(void *arg, const struct disk_row *row), void *arg,
                uint64_t *ret_revision, struct err *err);
    void (*commit)(struct disk *disk, const struct disk_batch *batch);
    void (*close)(struct disk *disk); /* waits for the batch under way */
};
