// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/disk.h"

/* The durable disk: one SQLite file (WAL, synchronous=FULL), written by one thread that owns it
 * after loading. A lock file beside it keeps a second instance out. */
struct sqlite_options {
    const char *path; /* the database file; its folder must exist */
    const char *vfs;  /* NULL: the default one; tests put theirs here */
    int sync_full;    /* 1 always, but for benchmarks that show what it costs */
    /* Pages in the write-ahead log from which they are moved into the file; 0: the default. */
    int checkpoint_pages;
};
/* Errors that a person can act on: read-only folder, file that is not a database or is damaged,
 * in use by another instance (names its pid), written by a newer version. Nothing is changed. */
int sqlite_disk_open(const struct sqlite_options *options, struct disk **ret_disk, struct err *err);
/* Readable when a batch was finished by the writer thread; then call dispatch, which tells it. */
int sqlite_disk_fd(const struct disk *disk);
void sqlite_disk_dispatch(struct disk *disk);
