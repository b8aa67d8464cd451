// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "store/backup.h"
#include "store/sqlite.h"
#include <pthread.h>
#include <sqlite3.h>

/* What is known of one object's row. Only the last row of an object in a batch is written. */
struct sqlite_entry {
    int64_t id;     /* its rowid in the file; 0: not there */
    int64_t new_id; /* its rowid once the batch under way is committed */
    size_t last;    /* index of its last row in the batch under way */
};

enum sqlite_statement {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_INSERT,
    SQL_UPDATE,
    SQL_DELETE,
    SQL_SET_REVISION,
    SQL_GET_REVISION,
    SQL_SEAL,
    SQL_COUNT
};

/* The connection and what must be known to make it anew. */
struct sqlite_file {
    char *path;
    char *folder;
    char *vfs;
    bool sync_full;
    int lock_fd;
    sqlite3 *db;
    sqlite3_stmt *statements[SQL_COUNT];
};

/* Between the two threads: the loop's thread asks, the writer answers, dispatch makes it idle. */
enum sqlite_state { SQLITE_IDLE, SQLITE_ASKED, SQLITE_ANSWERED };

struct sqlite_disk {
    struct disk disk;
    struct sqlite_file file;
    /* The writer's own; the loop's thread only before it starts and after it ended. */
    struct map *entries;                /* "group/Kind/namespace/name" to struct sqlite_entry */
    VEC(struct sqlite_entry *) touched; /* of each row of the batch under way */
    struct str key;
    uint64_t revision; /* the latest that was acknowledged */
    bool in_doubt;     /* a refused batch might be found in the file after a crash */
    bool reopen;       /* the connection is of no more use */
    int checkpoint_pages;
    int checkpoint_at; /* pages in the log at which to try next */
    int wal_pages;
    /* Handed over under `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum sqlite_state state;
    bool stop;
    struct disk_batch batch;
    int result;
    struct err err;
    pthread_t thread;
    bool running;
    int event_fd;
};

/* sqlite_file.c */
int sqlite_file_lock(struct sqlite_file *file, struct err *err);
/* `create`: an empty or missing file becomes a store. */
int sqlite_file_connect(struct sqlite_file *file, bool create, struct err *err);
/* Opens it for reading only and checks all of it; the connection stays, also after an error. */
int sqlite_file_look(struct sqlite_file *file, struct backup_report *ret_report, struct err *err);
void sqlite_file_disconnect(struct sqlite_file *file);
void sqlite_file_unlock(struct sqlite_file *file);
/* Puts the connection's last error, and what a person can do about it, into err. */
int sqlite_file_error(const struct sqlite_file *file, int rc, struct err *err);
/* Runs a statement that gives no rows, its parameters already bound. Returns SQLite's code. */
int sqlite_file_run(struct sqlite_file *file, enum sqlite_statement which);
int sqlite_file_revision(struct sqlite_file *file, uint64_t *ret_revision, struct err *err);

/* sqlite_writer.c */
const char *sqlite_writer_key(struct sqlite_disk *disk, const struct disk_row *row);
int sqlite_writer_batch(struct sqlite_disk *disk, const struct disk_batch *batch, struct err *err);
/* What needs not be waited for: moves the log into the file when it has grown. */
void sqlite_writer_tidy(struct sqlite_disk *disk);
int sqlite_writer_on_wal(void *arg, sqlite3 *db, const char *name, int pages);
