// SPDX-License-Identifier: Apache-2.0
/* 1. Nothing is in its place before it is complete, checked and synced: a copy is made beside its
 *    goal and renamed.
 * 2. SQLite's own copying sees one moment of the source, its log included, also while a server
 *    writes.
 * 3. A restore that is cut off leaves the old store, or none and the old one as `kept`; starting it
 *    again finishes it. */
#include "store/backup.h"
#include "base/mem.h"
#include "os/fd.h"
#include "store/sqlite_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Clients may have seen more than either file tells: those of another machine, say. */
#define REVISIONS_SKIPPED 1000000

static int system_error(struct err *err, const char *what, const char *path)
{
    int number = errno;
    return err_set(err, -number, "cannot %s '%s': %s", what, path, strerrordesc_np(number));
}

static int sync_path(const char *path, int flags, struct err *err)
{
    scoped_fd fd = open(path, flags | O_CLOEXEC);
    return fd < 0 || fsync(fd) < 0 ? system_error(err, "sync", path) : 0;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return mem_strdup(".");
    return slash == path ? mem_strdup("/") : mem_strndup(path, (size_t)(slash - path));
}

/* ---- copying ---- */

static int copy_error(sqlite3 *db, int rc, const char *path, struct err *err)
{
    return err_set(err, (rc & 0xff) == SQLITE_FULL ? -ENOSPC : -EIO, "cannot write '%s': %s", path,
                   db != NULL ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

/* All pages of an open connection into a new file. */
static int copy_pages(sqlite3 *from, const char *to, struct err *err)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(to, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_backup *copy = sqlite3_backup_init(db, "main", from, "main");
        rc = copy != NULL ? sqlite3_backup_step(copy, -1) : sqlite3_errcode(db);
        int finished = sqlite3_backup_finish(copy);
        rc = rc == SQLITE_DONE ? finished : rc;
    }
    /* Without a log of its own a copy can be read where nothing can be written. */
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    int r = rc == SQLITE_OK ? 0 : copy_error(db, rc, to, err);
    (void)sqlite3_close(db); /* nothing of it is open any more */
    return r;
}

static int make_empty(const char *path, struct err *err)
{
    (void)unlink(path); /* of an attempt that was cut off; what else it may be, open() tells */
    scoped_fd fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        return 0;
    (void)system_error(err, "write", path);
    return err_hint(err, "its folder must exist and be writable");
}

/* The store at `path` into the new file `to`, checked there and synced. */
static int copy_store(const char *path, const char *to, struct backup_report *ret_report,
                      struct err *err)
{
    struct sqlite_file source = {.path = (char *)path, .folder = (char *)".", .lock_fd = -1};
    int r = sqlite_file_look(&source, ret_report, err);
    if (r == 0)
        r = make_empty(to, err);
    if (r == 0)
        r = copy_pages(source.db, to, err);
    sqlite_file_disconnect(&source);
    struct sqlite_file copy = {.path = (char *)to, .folder = (char *)".", .lock_fd = -1};
    if (r == 0)
        r = sqlite_file_look(&copy, ret_report, err);
    sqlite_file_disconnect(&copy);
    return r == 0 ? sync_path(to, O_RDONLY, err) : r;
}

static void remove_with_logs(const char *path)
{
    static const char *const ENDS[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
        scoped_free char *name = mem_printf("%s%s", path, ENDS[i]);
        (void)unlink(name); /* most of them are not there */
    }
}

/* ---- saving ---- */

/* Whoever mistypes a name should not lose a file. */
static int may_replace(const char *path, struct err *err)
{
    if (!file_exists(path))
        return 0;
    struct sqlite_file there = {.path = (char *)path, .folder = (char *)".", .lock_fd = -1};
    struct backup_report report;
    struct err found = {0};
    int r = sqlite_file_look(&there, &report, &found);
    sqlite_file_disconnect(&there);
    if (r == 0)
        return 0;
    (void)err_set(err, -EEXIST, "'%s' is there already and is no backup", path);
    return err_hint(err, "name another file, or remove that one");
}

static int move(const char *from, const char *to, struct err *err)
{
    if (rename(from, to) < 0)
        return system_error(err, "make", to);
    scoped_free char *folder = folder_of(to);
    return sync_path(folder, O_RDONLY | O_DIRECTORY, err);
}

int backup_save(const char *path, const char *to, struct backup_report *ret_report, struct err *err)
{
    struct backup_report report = {0};
    scoped_free char *part = mem_printf("%s.part", to);
    int r = may_replace(to, err);
    if (r == 0)
        r = copy_store(path, part, &report, err);
    if (r == 0)
        r = move(part, to, err);
    remove_with_logs(part);
    if (r == 0)
        *ret_report = report;
    return r;
}

/* ---- restoring ---- */

static int set_revision(const char *path, uint64_t revision, struct err *err)
{
    struct sqlite_file file = {
        .path = (char *)path, .folder = (char *)".", .lock_fd = -1, .sync_full = true};
    int r = sqlite_file_connect(&file, false, err);
    if (r < 0)
        return r;
    (void)sqlite3_bind_int64(file.statements[SQL_SET_REVISION], 1, (sqlite3_int64)revision);
    int rc = sqlite_file_run(&file, SQL_SET_REVISION);
    if (rc != SQLITE_OK)
        r = sqlite_file_error(&file, rc, err);
    sqlite_file_disconnect(&file); /* the last one: the log goes into the file */
    return r;
}

/* The revision of what is there, 0 when it cannot be read; then its log is in the file, too. */
static uint64_t settle_old(const char *path)
{
    struct sqlite_file old = {
        .path = (char *)path, .folder = (char *)".", .lock_fd = -1, .sync_full = true};
    uint64_t revision = 0;
    struct err ignored = {0};
    if (!file_exists(path) || sqlite_file_connect(&old, false, &ignored) < 0)
        return 0; /* it may be damaged: that is what backups are for */
    (void)sqlite_file_revision(&old, &revision, &ignored);
    sqlite_file_disconnect(&old);
    return revision;
}

static int keep_old(const char *path, const char *kept, struct err *err)
{
    scoped_free char *log = mem_printf("%s-wal", path), *kept_log = mem_printf("%s-wal", kept);
    if (file_exists(path) && rename(path, kept) < 0)
        return system_error(err, "make", kept);
    if (file_exists(log) && rename(log, kept_log) < 0)
        return system_error(err, "make", kept_log);
    scoped_free char *index = mem_printf("%s-shm", path);
    (void)unlink(index); /* it only serves those who have the file open */
    return 0;
}

static int replace_store(const char *path, const char *from, const char *kept,
                         struct backup_report *report, struct err *err)
{
    scoped_free char *part = mem_printf("%s.part", path);
    int r = copy_store(from, part, report, err);
    if (r == 0) {
        uint64_t old = settle_old(path);
        report->revision = (old > report->revision ? old : report->revision) + REVISIONS_SKIPPED;
        r = set_revision(part, report->revision, err);
    }
    if (r == 0)
        r = sync_path(part, O_RDONLY, err);
    if (r == 0)
        r = keep_old(path, kept, err);
    if (r == 0)
        r = move(part, path, err);
    remove_with_logs(part);
    return r;
}

int backup_restore(const char *path, const char *from, const char *kept,
                   struct backup_report *ret_report, struct err *err)
{
    scoped_free char *folder = folder_of(path);
    struct sqlite_file lock = {.path = (char *)path, .folder = folder, .lock_fd = -1};
    struct backup_report report = {0};
    int r = sqlite_file_lock(&lock, err);
    if (r < 0)
        return r;
    r = replace_store(path, from, kept, &report, err);
    sqlite_file_unlock(&lock);
    if (r == 0)
        *ret_report = report;
    return r;
}
