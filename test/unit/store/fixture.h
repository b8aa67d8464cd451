// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/embedded.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* An embedded store on a disk in memory that answers when the test says so. */
struct memory_disk {
    struct disk disk;
    struct map *rows; /* "Kind|ns|name" to struct memory_row */
    uint64_t revision;
    struct disk_batch batch;
    bool is_busy;
    size_t commits;
};

struct bench {
    struct memory_disk disk;
    struct store *store;
    time_ms now;
    size_t dirty; /* calls of on_dirty */
    bool flush_at_once;
};

/* What came back, kept for the test. */
struct outcome {
    int calls;
    int code;
    char reason[64];
    char message[1024];
    char warnings[512];
    struct obj *obj;
    bool created, removed, unchanged;
};

void bench_open(struct bench *bench); /* empty, with the namespaces that are always there */
void bench_reopen(struct bench *bench);
void bench_close(struct bench *bench);
/* Ends the batch under way, if there is one; result as in disk.h. */
void bench_commit(struct bench *bench, int result);
/* Flushes and commits until nothing is left. */
void bench_settle(struct bench *bench);
const char *bench_row(const struct bench *bench, const char *key); /* JSON, NULL: not there */

/* `body` is JSON with ' instead of ", or NULL. */
struct write *write_of(enum write_op op, const struct kind *kind, const char *ns, const char *name,
                       const char *body);
void submit(struct bench *bench, struct write *write, struct outcome *outcome);
void outcome_done(struct outcome *outcome);
/* Submits and settles; fails the test unless the code is the one wanted (0: fine). */
struct obj *must(struct bench *bench, struct write *write, int code);
struct obj *get(const struct bench *bench, const struct kind *kind, const char *ns,
                const char *name);
/* The object as from a cache: made of JSON with ' instead of ". */
struct obj *obj_of(const struct kind *kind, uint64_t revision, const char *json);
