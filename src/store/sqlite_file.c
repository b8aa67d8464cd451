// SPDX-License-Identifier: Apache-2.0
#include "os/filelock.h"
#include "store/sqlite_internal.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The file below the durable disk: who may use it, what it must look like, and what its errors mean
 * to a person.
 *
 * 1. One instance at a time: a lock on "<file>.lock", which holds the owner's pid. SQLite's own
 *    exclusive mode would keep out `sqlite3 file .backup` as well, which must go on working.
 * 2. A file that is refused stays as it is: everything is checked before the first write, and until
 *    then closing does not move the log of an earlier instance into it.
 * 3. Values are JSON text in a column that converts nothing, so that json_extract() works in the
 *    sqlite3 shell. */

#define APPLICATION_ID 1297306706 /* "MSTR" */
#define FORMAT_VERSION 1
/* quick_check reads the whole file, which costs about a second a gigabyte once it is cached and far
 * more from a slow disk. Larger files rely on what loading sees: every row and every value. */
#define QUICK_CHECK_BYTES_MAX (64LL << 20)
#define LOG_BYTES_KEPT (32 << 20)
#define BUSY_MS 5000 /* a server that just starts or ends holds its file for a moment */

static const char *const STATEMENTS[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_INSERT] = "INSERT INTO objects (kind, ns, name, revision, value)"
                   " VALUES (?1, ?2, ?3, ?4, ?5)",
    [SQL_UPDATE] = "UPDATE objects SET revision = ?1, value = ?2 WHERE id = ?3",
    [SQL_DELETE] = "DELETE FROM objects WHERE id = ?1",
    [SQL_SET_REVISION] = "UPDATE meta SET value = ?1 WHERE key = 'revision'",
    [SQL_GET_REVISION] = "SELECT value FROM meta WHERE key = 'revision'",
    [SQL_SEAL] = "INSERT INTO meta VALUES ('refused', 1)"
                 " ON CONFLICT (key) DO UPDATE SET value = value + 1",
};

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)
static const char SCHEMA[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE objects (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, ns TEXT NOT NULL,"
    " name TEXT NOT NULL, revision INTEGER NOT NULL, value BLOB NOT NULL,"
    " UNIQUE (kind, ns, name));"
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "INSERT INTO meta VALUES ('format', " TEXT_OF(
        FORMAT_VERSION) "), ('revision', 0);"
                        "PRAGMA application_id = " TEXT_OF(
                            APPLICATION_ID) ";"
                                            "PRAGMA user_version = " TEXT_OF(
                                                FORMAT_VERSION) ";"
                                                                "COMMIT;";

/* ---- errors ---- */

static int errno_code(int number)
{
    switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return -ENOSPC;
    case EROFS:
    case EACCES:
    case EPERM:
        return -EROFS;
    default:
        return -EIO;
    }
}

/* Why the system refused; 0 when it is not known. A failed COMMIT does not leave it with the
 * connection (sqlite3_system_errno), only with the file that was written, which is the log. */
static int system_errno(const struct sqlite_file *file, int rc)
{
    if (!file->db)
        return 0;
    if (rc != SQLITE_IOERR_WRITE && rc != SQLITE_IOERR_FSYNC && rc != SQLITE_IOERR_TRUNCATE)
        return sqlite3_system_errno(file->db);
    sqlite3_file *log = NULL;
    int number = 0;
    (void)sqlite3_file_control(file->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (log && log->pMethods)
        (void)log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number);
    return number;
}

static int error_code(const struct sqlite_file *file, int rc)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return errno_code(system_errno(file, rc));
    default:
        return -EIO;
    }
}

static int damaged(const struct sqlite_file *file, struct err *err, const char *why)
{
    err_set(err, -EIO, "'%s' is damaged or not a store: %s", file->path, why);
    return err_hint(err,
                    "restore a backup, or save what is readable: sqlite3 '%s' .recover | sqlite3 "
                    "new.db",
                    file->path);
}

int sqlite_file_error(const struct sqlite_file *file, int rc, struct err *err)
{
    const char *text = file->db ? sqlite3_errmsg(file->db) : sqlite3_errstr(rc);
    int number = system_errno(file, rc);
    int kind = rc & 0xff;
    if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB)
        return damaged(file, err, text);
    if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED) {
        err_set(err, -EIO, "another program is writing to '%s' (%s)", file->path, text);
        return err_hint(err, "end that program; reading it meanwhile, as .backup does, is fine");
    }
    int code = error_code(file, rc);
    const char *system = kind == SQLITE_IOERR && number != 0 ? strerrordesc_np(number) : NULL;
    const char *what = code == -ENOSPC  ? "disk full"
                       : code == -EROFS ? "not writable"
                                        : "input/output error";
    err_set(err, code, "%s: '%s': %s%s%s", what, file->path, text, system ? ", " : "",
            system ? system : "");
    if (code == -ENOSPC)
        return err_hint(err, "free some space in %s; reads go on", file->folder);
    if (code == -EROFS)
        return err_hint(err, "make %s and the files in it writable for user id %u; reads go on",
                        file->folder, (unsigned)geteuid());
    return err_hint(err, "look at the kernel's log for the disk that holds %s; reads go on",
                    file->folder);
}

/* ---- the lock ---- */

/* `pid` 0: it did not say who it is. */
static int locked_by_other(const struct sqlite_file *file, long pid, struct err *err)
{
    if (pid > 0) {
        err_set(err, -EBUSY, "'%s' is in use by another instance, process %ld", file->path, pid);
        return err_hint(err, "stop that process (%ld), or give this one a store of its own", pid);
    }
    err_set(err, -EBUSY, "'%s' is in use by another instance", file->path);
    return err_hint(err, "stop it, or give this one a store of its own");
}

int sqlite_file_lock(struct sqlite_file *file, struct err *err)
{
    scoped_free char *name = mem_printf("%s.lock", file->path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        int number = errno;
        err_set(err, -number, "cannot open '%s': %s", name, strerrordesc_np(number));
        if (number == ENOENT)
            return err_hint(err, "make the folder first: mkdir -p '%s'", file->folder);
        return err_hint(err, "make %s and the files in it writable for user id %u", file->folder,
                        (unsigned)geteuid());
    }
    long holder = 0;
    int r = filelock_take(fd, LOCK_EX, &holder);
    if (r < 0)
        r = err_set(err, r, "lock '%s'", name);
    else if (r == 0)
        r = locked_by_other(file, holder, err);
    if (r < 0) {
        close(fd);
        return r;
    }
    char text[32];
    int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    /* The pid only serves a message: on a full disk it may stay out. */
    (void)!ftruncate(fd, 0);
    (void)!pwrite(fd, text, (size_t)len, 0);
    file->lock_fd = fd;
    return 0;
}

void sqlite_file_unlock(struct sqlite_file *file)
{
    if (file->lock_fd < 0)
        return;
    /* The lock file stays: whoever removed it could remove one that another instance just took. */
    (void)!ftruncate(file->lock_fd, 0);
    close(file->lock_fd);
    file->lock_fd = -1;
}

/* ---- the connection ---- */

int sqlite_file_run(struct sqlite_file *file, enum sqlite_statement which)
{
    sqlite3_stmt *statement = file->statements[which];
    int rc = sqlite3_step(statement);
    int reset = sqlite3_reset(statement);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? reset : rc;
}

static int exec(struct sqlite_file *file, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(file->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : sqlite_file_error(file, rc, err);
}

/* The first column of the first row, as a number. */
static int ask_number(struct sqlite_file *file, const char *sql, int64_t *ret_number,
                      struct err *err)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    int64_t number = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    int r = rc == SQLITE_ROW ? 0 : sqlite_file_error(file, rc, err);
    sqlite3_finalize(statement);
    if (r < 0)
        return r;
    *ret_number = number;
    return 0;
}

/* Whether the first column of the first row is this text; if not, err says what it is. */
static int expect_text(struct sqlite_file *file, const char *sql, const char *text, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    scoped_free char *found =
        rc == SQLITE_ROW ? mem_strdup((const char *)sqlite3_column_text(statement, 0)) : NULL;
    /* The row may come before the work: a change of journal mode is committed only now. */
    while (rc == SQLITE_ROW)
        rc = sqlite3_step(statement);
    int r = rc == SQLITE_DONE ? 0 : sqlite_file_error(file, rc, err);
    /* A check says "*** in database main ***" before what it found. */
    const char *said = found != NULL && *found == '*' ? strchr(found, '\n') : NULL;
    if (r == 0 && !str_eq(found, text))
        r = err_set(err, -EIO, "%s", said != NULL ? said + 1 : found != NULL ? found : "no answer");
    sqlite3_finalize(statement);
    return r;
}

static int check_identity(struct sqlite_file *file, bool *ret_empty, struct err *err)
{
    int64_t application = 0, version = 0, tables = 0;
    int r = ask_number(file, "PRAGMA application_id", &application, err);
    if (r == 0)
        r = ask_number(file, "PRAGMA user_version", &version, err);
    if (r == 0)
        r = ask_number(file, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (r < 0)
        return r;
    bool empty = application == 0 && version == 0 && tables == 0;
    if (!empty && application != APPLICATION_ID) {
        err_set(err, -EINVAL, "'%s' is a database of another program", file->path);
        return err_hint(err, "name another file; this one was left as it is");
    }
    if (version > FORMAT_VERSION) {
        err_set(err, -EINVAL, "'%s' has format %" PRId64 ", this version reads formats up to %d",
                file->path, version, FORMAT_VERSION);
        return err_hint(err, "start the newer version that wrote it, or restore a backup from "
                             "before the upgrade");
    }
    if (!empty && version < 1)
        return damaged(file, err, "it has no format version");
    *ret_empty = empty;
    return 0;
}

static int check_structure(struct sqlite_file *file, struct err *err)
{
    int64_t pages = 0, page_bytes = 0;
    int r = ask_number(file, "PRAGMA page_count", &pages, err);
    if (r == 0)
        r = ask_number(file, "PRAGMA page_size", &page_bytes, err);
    if (r < 0)
        return r;
    if (pages * page_bytes > QUICK_CHECK_BYTES_MAX)
        return 0;
    struct err found = {0};
    if (expect_text(file, "PRAGMA quick_check(1)", "ok", &found) < 0)
        return damaged(file, err, found.text);
    return 0;
}

static int check_writable(struct sqlite_file *file, struct err *err)
{
    if (sqlite3_db_readonly(file->db, "main") == 0)
        return 0;
    err_set(err, -EROFS, "'%s' is read-only", file->path);
    return err_hint(err, "make it writable for user id %u", (unsigned)geteuid());
}

static int configure(struct sqlite_file *file, struct err *err)
{
    struct err found = {0};
    if (expect_text(file, "PRAGMA journal_mode = WAL", "wal", &found) < 0) {
        err_set(err, found.code, "'%s' cannot have a write-ahead log: %s", file->path, found.text);
        return err_hint(err, "%s",
                        found.hint[0] ? found.hint : "use a local file system, not a network one");
    }
    scoped_str sql = {0};
    str_addf(&sql,
             "PRAGMA synchronous = %s; PRAGMA journal_size_limit = %d; PRAGMA cache_size = -2048;"
             "PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;",
             file->sync_full ? "FULL" : "NORMAL", LOG_BYTES_KEPT);
    int r = exec(file, str_text(&sql), err);
    if (r < 0)
        return r;
    /* The writer moves the log itself, after it has answered. */
    (void)sqlite3_wal_autocheckpoint(file->db, 0);
    return 0;
}

static int prepare(struct sqlite_file *file, struct err *err)
{
    for (size_t i = 0; i < SQL_COUNT; i++) {
        int rc = sqlite3_prepare_v3(file->db, STATEMENTS[i], -1, SQLITE_PREPARE_PERSISTENT,
                                    &file->statements[i], NULL);
        if (rc == SQLITE_ERROR)
            return damaged(file, err, sqlite3_errmsg(file->db));
        if (rc != SQLITE_OK)
            return sqlite_file_error(file, rc, err);
    }
    return 0;
}

/* SQLite would make the file readable by all; the log beside it takes its mode from it. What goes
 * wrong here goes wrong again when SQLite opens it, with a better message. */
static void make_private(const struct sqlite_file *file)
{
    int fd = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)close(fd);
}

static int open_connection(struct sqlite_file *file, bool create, struct err *err)
{
    if (create && file->vfs == NULL)
        make_private(file);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
    int rc = sqlite3_open_v2(file->path, &file->db, flags, file->vfs);
    if (rc != SQLITE_OK)
        return sqlite_file_error(file, rc, err);
    (void)sqlite3_extended_result_codes(file->db, 1);
    (void)sqlite3_busy_timeout(file->db, 0);
    (void)sqlite3_db_config(file->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return check_writable(file, err);
}

static int set_up(struct sqlite_file *file, bool create, struct err *err)
{
    int r = open_connection(file, create, err);
    bool empty = false;
    if (r == 0)
        r = check_identity(file, &empty, err);
    if (r == 0 && empty && !create)
        r = damaged(file, err, "it is empty");
    if (r == 0 && create)
        r = check_structure(file, err);
    if (r == 0)
        r = configure(file, err);
    if (r == 0 && empty)
        r = exec(file, SCHEMA, err);
    return r < 0 ? r : prepare(file, err);
}

int sqlite_file_connect(struct sqlite_file *file, bool create, struct err *err)
{
    assert(!file->db);
    int r = set_up(file, create, err);
    if (r < 0) {
        sqlite_file_disconnect(file);
        return r;
    }
    (void)sqlite3_db_config(file->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    return 0;
}

static int look(struct sqlite_file *file, struct backup_report *report, struct err *err)
{
    bool empty = false;
    int64_t objects = 0, revision = 0, pages = 0, page_bytes = 0;
    struct err found = {0};
    int r = check_identity(file, &empty, err);
    if (r == 0 && empty)
        r = damaged(file, err, "it is empty");
    if (r == 0 && expect_text(file, "PRAGMA quick_check(1)", "ok", &found) < 0)
        r = damaged(file, err, found.text);
    if (r == 0)
        r = ask_number(file, "SELECT count(*) FROM objects", &objects, err);
    if (r == 0)
        r = ask_number(file, STATEMENTS[SQL_GET_REVISION], &revision, err);
    if (r == 0)
        r = ask_number(file, "PRAGMA page_count", &pages, err);
    if (r == 0)
        r = ask_number(file, "PRAGMA page_size", &page_bytes, err);
    if (r < 0)
        return r;
    *report = (struct backup_report){.objects = (uint64_t)objects,
                                     .revision = (uint64_t)revision,
                                     .bytes = (uint64_t)(pages * page_bytes)};
    return 0;
}

int sqlite_file_look(struct sqlite_file *file, struct backup_report *ret_report, struct err *err)
{
    assert(!file->db);
    if (access(file->path, R_OK) < 0)
        return err_set(err, -errno, "cannot read '%s': %s", file->path, strerrordesc_np(errno));
    int rc = sqlite3_open_v2(file->path, &file->db, SQLITE_OPEN_READONLY, NULL);
    if (rc != SQLITE_OK)
        return sqlite_file_error(file, rc, err);
    (void)sqlite3_busy_timeout(file->db, BUSY_MS);
    return look(file, ret_report, err);
}

void sqlite_file_disconnect(struct sqlite_file *file)
{
    for (size_t i = 0; i < SQL_COUNT; i++) {
        sqlite3_finalize(file->statements[i]);
        file->statements[i] = NULL;
    }
    /* What it can fail with is a statement left open, and there is none. */
    (void)sqlite3_close(file->db);
    file->db = NULL;
}

int sqlite_file_revision(struct sqlite_file *file, uint64_t *ret_revision, struct err *err)
{
    sqlite3_stmt *statement = file->statements[SQL_GET_REVISION];
    int rc = sqlite3_step(statement);
    bool number = rc == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_INTEGER;
    int64_t revision = number ? sqlite3_column_int64(statement, 0) : -1;
    int r = 0;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        r = sqlite_file_error(file, rc, err);
    else if (revision < 0)
        r = damaged(file, err, "its latest revision is missing");
    (void)sqlite3_reset(statement);
    if (r < 0)
        return r;
    *ret_revision = (uint64_t)revision;
    return 0;
}
