// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/rng.h"
#include "store/disk.h"
#include "store/store.h"

/* The store in this process: decides each write against the newest version (committed or still on
 * its way to the disk), collects what was decided into batches, and lets memory, watchers and
 * callers know of a write only after its commit. */
struct embedded_options {
    struct disk *disk;
    size_t window_changes;
    uint64_t seed;               /* of UIDs and generated names */
    time_ms (*now)(void *arg);   /* since 1970 */
    void (*on_dirty)(void *arg); /* there is something to commit: call embedded_flush() soon */
    void *arg;
};

int embedded_open(const struct embedded_options *options, struct store **ret_store,
                  struct err *err);
void embedded_close(struct store *store); /* nothing may be under way */
/* Hands what was decided to the disk unless a batch is under way; that one's end flushes again. */
void embedded_flush(struct store *store);
bool embedded_busy(const struct store *store);
/* Makes the namespaces that are always there, when they are not. */
void embedded_bootstrap(struct store *store);

struct embedded_stats {
    uint64_t batches, rows, refused_batches;
    const char *trouble; /* why the last batch was refused, NULL while commits work */
};
struct embedded_stats embedded_stats(const struct store *store);
