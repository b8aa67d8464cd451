// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "store/sqlite_internal.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* One batch, one transaction: the rows and the latest revision become durable together.
 *
 * Rows are found by rowid, which is kept in memory for every object, so that an update touches
 * neither the index nor the names.
 *
 * What a failure means. Up to COMMIT nothing of the batch can be found in the file: without its
 * commit mark SQLite ignores whatever was written to the log. When COMMIT itself fails the mark may
 * have reached the log all the same (the write was done, the sync was not), and this connection
 * does not count it, but the recovery at the next start would: a caller was told "refused" and
 * finds the write done after a crash. There are two honest ways out:
 *
 *   a) Open the file anew and look: if recovery finds the batch, report success. Refused: the sync
 *      failed, so the log is in the page cache but perhaps not on the disk, and Linux reports a
 *      failed write-back once only; a second sync may say "done" for pages that are lost. That
 *      success could be taken back by a power cut.
 *   b) Destroy the mark: a tiny transaction on the same connection goes to the very place of the
 *      refused one. Frames of the log are chained by their checksums, so whatever remains of the
 *      refused batch behind it is never read again. Once the seal is synced the refusal is final.
 *
 * We do b, and look at the stored revision afterwards, since it is cheap: should it be the batch's
 * (it never was in tests), the seal has just made it durable and success is reported.
 *
 * If the seal fails as well, the batch is refused "in doubt". The next batch that succeeds takes
 * its place in the log and ends the doubt. Only a crash before that can bring the refused batch
 * back, wholly, as the latest one; nobody can tell it from one whose answer was lost on the way.
 * For the same reason the connection is kept after I/O errors: only opening a file makes SQLite
 * read the log again. Errors that make it useless (damage, file gone) have it opened anew, and then
 * the stored revision must be the acknowledged one; otherwise every batch is refused until a
 * restart loads what is really there. */

const char *sqlite_writer_key(struct sqlite_disk *disk, const struct disk_row *row)
{
    struct str *key = &disk->key;
    str_clear(key);
    str_add(key, row->kind->group);
    str_addc(key, '/');
    str_add(key, row->kind->name);
    str_addc(key, '/');
    str_add(key, row->ns);
    str_addc(key, '/');
    str_add(key, row->name);
    return str_text(key);
}

/* ---- which rows to write ---- */

static void collect(struct sqlite_disk *disk, const struct disk_batch *batch)
{
    vec_clear(&disk->touched);
    for (size_t i = 0; i < batch->len; i++) {
        const char *key = sqlite_writer_key(disk, &batch->rows[i]);
        struct sqlite_entry *entry = map_get(disk->entries, key);
        if (!entry) {
            entry = mem_zalloc(sizeof(*entry));
            (void)map_put(disk->entries, key, entry);
        }
        entry->last = i;
        vec_push(&disk->touched, entry);
    }
}

/* Brings the entries to what the file holds now. */
static void settle(struct sqlite_disk *disk, const struct disk_batch *batch, bool committed)
{
    for (size_t i = 0; i < batch->len; i++) {
        struct sqlite_entry *entry = disk->touched.items[i];
        if (entry->last != i)
            continue;
        if (committed)
            entry->id = entry->new_id;
        if (entry->id == 0)
            mem_free(map_del(disk->entries, sqlite_writer_key(disk, &batch->rows[i])));
    }
    vec_clear(&disk->touched);
}

/* ---- the transaction ---- */

static void bind_text(sqlite3_stmt *statement, int index, const char *text, size_t len)
{
    /* Of the bound memory only the pointer is kept, so that this cannot fail for want of it; the
     * rows stay until the batch is answered. */
    (void)sqlite3_bind_text64(statement, index, text, len, SQLITE_STATIC, SQLITE_UTF8);
}

static int insert_row(struct sqlite_file *file, struct sqlite_entry *entry,
                      const struct disk_row *row)
{
    char kind[256];
    int len = snprintf(kind, sizeof(kind), "%s/%s", row->kind->group, row->kind->name);
    assert(len > 0 && (size_t)len < sizeof(kind));
    sqlite3_stmt *statement = file->statements[SQL_INSERT];
    bind_text(statement, 1, kind, (size_t)len);
    bind_text(statement, 2, row->ns, strlen(row->ns));
    bind_text(statement, 3, row->name, strlen(row->name));
    (void)sqlite3_bind_int64(statement, 4, (int64_t)row->revision);
    bind_text(statement, 5, row->json->data, row->json->len);
    int rc = sqlite_file_run(file, SQL_INSERT);
    /* `kind` ends with this function. */
    (void)sqlite3_clear_bindings(statement);
    entry->new_id = sqlite3_last_insert_rowid(file->db);
    return rc;
}

static int update_row(struct sqlite_file *file, struct sqlite_entry *entry,
                      const struct disk_row *row)
{
    sqlite3_stmt *statement = file->statements[SQL_UPDATE];
    (void)sqlite3_bind_int64(statement, 1, (int64_t)row->revision);
    bind_text(statement, 2, row->json->data, row->json->len);
    (void)sqlite3_bind_int64(statement, 3, entry->id);
    entry->new_id = entry->id;
    return sqlite_file_run(file, SQL_UPDATE);
}

static int delete_row(struct sqlite_file *file, struct sqlite_entry *entry)
{
    (void)sqlite3_bind_int64(file->statements[SQL_DELETE], 1, entry->id);
    entry->new_id = 0;
    return sqlite_file_run(file, SQL_DELETE);
}

static int write_row(struct sqlite_file *file, struct sqlite_entry *entry,
                     const struct disk_row *row, struct err *err)
{
    bool made_and_removed = !row->json && entry->id == 0;
    if (made_and_removed) {
        entry->new_id = 0;
        return 0;
    }
    int rc = !row->json       ? delete_row(file, entry)
             : entry->id == 0 ? insert_row(file, entry, row)
                              : update_row(file, entry, row);
    if ((rc & 0xff) != SQLITE_CONSTRAINT && rc != SQLITE_OK)
        return sqlite_file_error(file, rc, err);
    if (rc == SQLITE_OK && sqlite3_changes(file->db) == 1)
        return 0;
    err_set(err, -EIO, "'%s' was changed by another program: %s %s/%s is not as it was left",
            file->path, row->kind->name, row->ns, row->name);
    return err_hint(err, "restart to load what is there now");
}

static int write_rows(struct sqlite_disk *disk, const struct disk_batch *batch, struct err *err)
{
    struct sqlite_file *file = &disk->file;
    int rc = sqlite_file_run(file, SQL_BEGIN);
    if (rc != SQLITE_OK)
        return sqlite_file_error(file, rc, err);
    for (size_t i = 0; i < batch->len; i++) {
        struct sqlite_entry *entry = disk->touched.items[i];
        int r = entry->last == i ? write_row(file, entry, &batch->rows[i], err) : 0;
        if (r < 0)
            return r;
    }
    (void)sqlite3_bind_int64(file->statements[SQL_SET_REVISION], 1, (int64_t)batch->revision);
    rc = sqlite_file_run(file, SQL_SET_REVISION);
    return rc == SQLITE_OK ? 0 : sqlite_file_error(file, rc, err);
}

/* ---- after a failure ---- */

static void roll_back(struct sqlite_disk *disk)
{
    struct sqlite_file *file = &disk->file;
    int kind = sqlite3_errcode(file->db) & 0xff;
    if (!sqlite3_get_autocommit(file->db))
        (void)sqlite_file_run(file, SQL_ROLLBACK); /* judged by the next line */
    bool stuck = !sqlite3_get_autocommit(file->db);
    if (stuck || kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_CANTOPEN ||
        kind == SQLITE_PROTOCOL || kind == SQLITE_MISUSE)
        disk->reopen = true;
}

/* Whether the refused batch is there after all; see the head of this file. */
static bool seal(struct sqlite_disk *disk, uint64_t refused)
{
    struct sqlite_file *file = &disk->file;
    disk->in_doubt = true;
    int rc = sqlite_file_run(file, SQL_SEAL);
    if (rc != SQLITE_OK) {
        roll_back(disk);
        return false;
    }
    disk->in_doubt = false;
    uint64_t stored = 0;
    int r = sqlite_file_revision(file, &stored, NULL);
    return r == 0 && stored == refused && refused != disk->revision;
}

/* ---- before a batch ---- */

static int open_anew(struct sqlite_disk *disk, struct err *err)
{
    struct sqlite_file *file = &disk->file;
    sqlite_file_disconnect(file);
    int r = sqlite_file_connect(file, false, err);
    if (r < 0)
        return r;
    (void)sqlite3_wal_hook(file->db, sqlite_writer_on_wal, disk);
    uint64_t stored = 0;
    r = sqlite_file_revision(file, &stored, err);
    if (r < 0)
        return r;
    if (stored != disk->revision) {
        err_set(err, -EIO, "'%s' was at revision %" PRIu64 " and is now found at %" PRIu64,
                file->path, disk->revision, stored);
        return err_hint(err, "restart to load what is there now");
    }
    disk->reopen = false;
    disk->in_doubt = false;
    disk->wal_pages = 0;
    return 0;
}

/* Somebody has removed the log: it still takes what we write, and nobody would find it after a
 * crash. Closing moves what it holds into the file, so a new connection puts all of it right. */
static bool is_log_lost(const struct sqlite_disk *disk)
{
    if (disk->wal_pages == 0)
        return false;
    scoped_free char *path = mem_printf("%s-wal", disk->file.path);
    sqlite3_vfs *vfs = sqlite3_vfs_find(disk->file.vfs);
    int found = 1;
    return vfs && vfs->xAccess(vfs, path, SQLITE_ACCESS_EXISTS, &found) == SQLITE_OK && !found;
}

/* A file that was renamed or removed still takes writes, which nobody would find again. */
static int check_in_place(const struct sqlite_file *file, struct err *err)
{
    int moved = 0;
    int rc = sqlite3_file_control(file->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (rc != SQLITE_OK || !moved)
        return 0;
    err_set(err, -EIO, "'%s' was removed, renamed or replaced while in use", file->path);
    return err_hint(err, "put it back, or stop, restore a backup and start again; reads go on");
}

static int make_ready(struct sqlite_disk *disk, struct err *err)
{
    int r = disk->file.db ? check_in_place(&disk->file, err) : 0;
    if (r < 0)
        return r;
    if (is_log_lost(disk))
        disk->reopen = true;
    if (disk->reopen || !disk->file.db) {
        disk->reopen = true;
        r = open_anew(disk, err);
    }
    return r;
}

int sqlite_writer_batch(struct sqlite_disk *disk, const struct disk_batch *batch, struct err *err)
{
    int r = make_ready(disk, err);
    if (r < 0)
        return r;
    collect(disk, batch);
    r = write_rows(disk, batch, err);
    if (r < 0) {
        roll_back(disk);
    } else {
        int rc = sqlite_file_run(&disk->file, SQL_COMMIT);
        if (rc != SQLITE_OK) {
            r = sqlite_file_error(&disk->file, rc, err);
            roll_back(disk);
            r = seal(disk, batch->revision) ? 0 : r;
        } else {
            disk->in_doubt = false;
        }
    }
    settle(disk, batch, r == 0);
    if (r == 0)
        disk->revision = batch->revision;
    else if (r == -ENOSPC)
        disk->checkpoint_at = 0;
    return r;
}

/* ---- the log ---- */

int sqlite_writer_on_wal(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct sqlite_disk *disk = arg;
    (void)db;
    (void)name;
    bool started_over = pages < disk->wal_pages;
    if (started_over)
        disk->checkpoint_at = disk->checkpoint_pages;
    disk->wal_pages = pages;
    return SQLITE_OK;
}

void sqlite_writer_tidy(struct sqlite_disk *disk)
{
    if (!disk->file.db || disk->wal_pages < disk->checkpoint_at)
        return;
    /* Passive: waits for nobody. Its failure costs nothing but a longer log, and is met again by
     * the next try. On a full disk it lets the log start over in the space that it has, which is
     * enough as long as the file need not grow. While somebody reads, the log cannot start over;
     * trying at every batch would cost a sync each time. */
    (void)sqlite3_wal_checkpoint_v2(disk->file.db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    disk->checkpoint_at = disk->wal_pages + disk->checkpoint_pages;
}
