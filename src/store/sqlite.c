// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite.h"
#include "base/json.h"
#include "store/sqlite_internal.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The durable disk as its users see it: opening, loading, and the handing over of batches to the
 * writer's thread and of its answers back.
 *
 * 1. `state` goes IDLE, ASKED (commit), ANSWERED (writer), IDLE (dispatch) and never otherwise.
 * 2. The connection belongs to the caller until loading is done, then to the writer's thread, and
 *    to the caller again once that thread was joined.
 * 3. The writer only reads the rows and never counts a reference: counts belong to one thread.
 * 4. `done` runs on the caller's thread, from dispatch or from close, and may commit again. */

/* Eight megabytes of log: moving them held up the next batch by 15 to 50 ms on a common SSD; half
 * as much cost a third of the throughput of large batches, twice as much brought little. */
#define CHECKPOINT_PAGES 2000

static const struct disk_ops OPS;

static struct sqlite_disk *disk_of(struct disk *disk)
{
    assert(disk->ops == &OPS);
    return container_of(disk, struct sqlite_disk, disk);
}

/* ---- the writer's thread ---- */

static void answer(struct sqlite_disk *disk)
{
    uint64_t one = 1;
    disk->state = SQLITE_ANSWERED;
    pthread_cond_broadcast(&disk->changed);
    ssize_t n = write(disk->event_fd, &one, sizeof(one));
    assert(n == sizeof(one));
}

static void *writer_main(void *arg)
{
    struct sqlite_disk *disk = arg;
    pthread_mutex_lock(&disk->lock);
    for (;;) {
        while (disk->state != SQLITE_ASKED && !disk->stop)
            pthread_cond_wait(&disk->changed, &disk->lock);
        if (disk->state != SQLITE_ASKED)
            break;
        pthread_mutex_unlock(&disk->lock);
        disk->err = (struct err){0};
        disk->result = sqlite_writer_batch(disk, &disk->batch, &disk->err);
        pthread_mutex_lock(&disk->lock);
        answer(disk);
        pthread_mutex_unlock(&disk->lock);
        sqlite_writer_tidy(disk);
        pthread_mutex_lock(&disk->lock);
    }
    pthread_mutex_unlock(&disk->lock);
    return NULL;
}

static int start_writer(struct sqlite_disk *disk, struct err *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int number = pthread_create(&disk->thread, NULL, writer_main, disk);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (number != 0)
        return err_set(err, -number, "start the thread that writes '%s'", disk->file.path);
    disk->running = true;
    return 0;
}

/* ---- loading ---- */

struct loader {
    struct sqlite_disk *disk;
    sqlite3_stmt *statement;
    int (*each)(void *arg, const struct disk_row *row);
    void *arg;
    uint64_t revision;       /* no row may be newer */
    const struct kind *kind; /* of the row before: rows of a kind often follow each other */
};

static bool is_kind(const struct kind *kind, const char *text)
{
    size_t group = strlen(kind->group);
    return strncmp(text, kind->group, group) == 0 && text[group] == '/' &&
           str_eq(text + group + 1, kind->name);
}

static const struct kind *find_kind(const struct kind *guess, const char *text)
{
    if (guess && is_kind(guess, text))
        return guess;
    for (const struct kind *const *kind = KINDS; *kind; kind++)
        if (is_kind(*kind, text))
            return *kind;
    return NULL;
}

static const char *text_column(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}

static int bad_row(const struct loader *load, struct err *err, const char *why)
{
    sqlite3_stmt *row = load->statement;
    err_set(err, -EINVAL, "'%s', row %lld of objects, %s '%s/%s': %s", load->disk->file.path,
            (long long)sqlite3_column_int64(row, 0), text_column(row, 1), text_column(row, 2),
            text_column(row, 3), why);
    return err_hint(err, "restore a backup, or remove the row with the sqlite3 program");
}

static int check_json(const struct loader *load, const struct buf *json, struct err *err)
{
    struct err found = {0};
    scoped_json *doc = NULL;
    if (json_parse((struct sv){json->data, json->len}, &doc, &found) == 0)
        return 0;
    char why[sizeof(found.text) + 32];
    (void)snprintf(why, sizeof(why), "its value is not JSON: %s", found.text);
    return bad_row(load, err, why);
}

static int give_row(struct loader *load, const struct disk_row *row, struct err *err)
{
    if (row->revision == 0 || row->revision > load->revision)
        return bad_row(load, err, "its revision is not one that the store has given");
    int r = check_json(load, row->json, err);
    if (r < 0)
        return r;
    r = load->each(load->arg, row);
    if (r < 0)
        return bad_row(load, err, "it cannot be used as an object of this kind");
    struct sqlite_entry *entry = mem_zalloc(sizeof(*entry));
    entry->id = sqlite3_column_int64(load->statement, 0);
    mem_free(map_put(load->disk->entries, sqlite_writer_key(load->disk, row), entry));
    return 0;
}

static int load_row(struct loader *load, struct err *err)
{
    sqlite3_stmt *statement = load->statement;
    const char *kind = text_column(statement, 1);
    load->kind = find_kind(load->kind, kind);
    if (!load->kind) {
        char why[256];
        (void)snprintf(why, sizeof(why), "the kind '%s' is not known here", kind);
        (void)bad_row(load, err, why);
        return err_hint(err, "was the file made by a newer version? Start that one");
    }
    int64_t revision = sqlite3_column_int64(statement, 4);
    const void *value = sqlite3_column_blob(statement, 5);
    struct disk_row row = {
        .kind = load->kind,
        .ns = text_column(statement, 2),
        .name = text_column(statement, 3),
        .revision = revision > 0 ? (uint64_t)revision : 0,
        .json = buf_new(value, (size_t)sqlite3_column_bytes(statement, 5)),
    };
    int r = give_row(load, &row, err);
    buf_unref(row.json);
    return r;
}

static int load_rows(struct loader *load, struct err *err)
{
    struct sqlite_file *file = &load->disk->file;
    int rc = sqlite3_prepare_v2(file->db, "SELECT id, kind, ns, name, revision, value FROM objects",
                                -1, &load->statement, NULL);
    int r = 0;
    while (rc == SQLITE_OK && r == 0) {
        int step = sqlite3_step(load->statement);
        if (step == SQLITE_DONE)
            break;
        if (step == SQLITE_ROW)
            r = load_row(load, err);
        else
            rc = step;
    }
    if (r == 0 && rc != SQLITE_OK)
        r = sqlite_file_error(file, rc, err);
    sqlite3_finalize(load->statement);
    return r;
}

static int sqlite_load(struct disk *base, int (*each)(void *arg, const struct disk_row *row),
                       void *arg, uint64_t *ret_revision, struct err *err)
{
    struct sqlite_disk *disk = disk_of(base);
    struct err unheard;
    err = err ? err : &unheard; /* codes travel in it */
    assert(!disk->running);
    struct loader load = {.disk = disk, .each = each, .arg = arg};
    int r = sqlite_file_revision(&disk->file, &load.revision, err);
    if (r == 0)
        r = load_rows(&load, err);
    if (r == 0)
        r = start_writer(disk, err);
    if (r < 0)
        return r;
    /* The writer looks at it only when asked, which happens after this. */
    disk->revision = load.revision;
    *ret_revision = load.revision;
    return 0;
}

/* ---- batches ---- */

static void sqlite_commit(struct disk *base, const struct disk_batch *batch)
{
    struct sqlite_disk *disk = disk_of(base);
    assert(disk->running); /* loaded, hence every rowid is known */
    pthread_mutex_lock(&disk->lock);
    assert(disk->state == SQLITE_IDLE);
    disk->batch = *batch;
    disk->state = SQLITE_ASKED;
    pthread_cond_broadcast(&disk->changed);
    pthread_mutex_unlock(&disk->lock);
}

int sqlite_disk_fd(const struct disk *disk)
{
    assert(disk->ops == &OPS);
    return container_of(disk, const struct sqlite_disk, disk)->event_fd;
}

void sqlite_disk_dispatch(struct disk *base)
{
    struct sqlite_disk *disk = disk_of(base);
    uint64_t count;
    (void)!read(disk->event_fd, &count, sizeof(count)); /* nothing there is fine */
    pthread_mutex_lock(&disk->lock);
    bool answered = disk->state == SQLITE_ANSWERED;
    if (answered)
        disk->state = SQLITE_IDLE;
    pthread_mutex_unlock(&disk->lock);
    if (!answered)
        return;
    /* Out of the struct first: `done` may hand over the next batch. */
    struct disk_batch batch = disk->batch;
    int result = disk->result;
    scoped_str text = {0};
    if (result < 0)
        str_addf(&text, "%s%s%s", disk->err.text, disk->err.hint[0] ? "; " : "", disk->err.hint);
    batch.done(batch.arg, result, result < 0 ? str_text(&text) : NULL);
}

/* ---- opening and closing ---- */

static bool free_entry(void *arg, const char *key, void *value)
{
    (void)arg;
    (void)key;
    mem_free(value);
    return true;
}

static void disk_free(struct sqlite_disk *disk)
{
    sqlite_file_disconnect(&disk->file);
    sqlite_file_unlock(&disk->file);
    (void)map_each(disk->entries, free_entry, NULL);
    map_free(disk->entries);
    vec_done(&disk->touched);
    str_done(&disk->key);
    mem_free(disk->file.path);
    mem_free(disk->file.folder);
    mem_free(disk->file.vfs);
    if (disk->event_fd >= 0)
        close(disk->event_fd);
    pthread_cond_destroy(&disk->changed);
    pthread_mutex_destroy(&disk->lock);
    mem_free(disk);
}

static void finish_batches(struct sqlite_disk *disk)
{
    pthread_mutex_lock(&disk->lock);
    while (disk->state != SQLITE_IDLE) {
        while (disk->state == SQLITE_ASKED)
            pthread_cond_wait(&disk->changed, &disk->lock);
        pthread_mutex_unlock(&disk->lock);
        sqlite_disk_dispatch(&disk->disk);
        pthread_mutex_lock(&disk->lock);
    }
    disk->stop = true;
    pthread_cond_broadcast(&disk->changed);
    pthread_mutex_unlock(&disk->lock);
}

static void sqlite_close(struct disk *base)
{
    struct sqlite_disk *disk = disk_of(base);
    if (disk->running) {
        finish_batches(disk);
        pthread_join(disk->thread, NULL);
    }
    disk_free(disk);
}

static const struct disk_ops OPS = {
    .load = sqlite_load,
    .commit = sqlite_commit,
    .close = sqlite_close,
};

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return mem_strdup(".");
    return slash == path ? mem_strdup("/") : mem_strndup(path, (size_t)(slash - path));
}

static struct sqlite_disk *disk_new(const struct sqlite_options *options)
{
    struct sqlite_disk *disk = mem_zalloc(sizeof(*disk));
    disk->disk.ops = &OPS;
    disk->file.path = mem_strdup(options->path);
    disk->file.folder = folder_of(options->path);
    disk->file.vfs = mem_strdup(options->vfs);
    disk->file.sync_full = options->sync_full;
    disk->file.lock_fd = -1;
    disk->entries = map_new();
    disk->checkpoint_pages =
        options->checkpoint_pages > 0 ? options->checkpoint_pages : CHECKPOINT_PAGES;
    disk->checkpoint_at = disk->checkpoint_pages;
    pthread_mutex_init(&disk->lock, NULL);
    pthread_cond_init(&disk->changed, NULL);
    disk->event_fd = -1;
    return disk;
}

int sqlite_disk_open(const struct sqlite_options *options, struct disk **ret_disk, struct err *err)
{
    struct sqlite_disk *disk = disk_new(options);
    struct err unheard;
    err = err ? err : &unheard;
    int r = sqlite_file_lock(&disk->file, err);
    if (r == 0)
        r = sqlite_file_connect(&disk->file, true, err);
    if (r == 0) {
        disk->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (disk->event_fd < 0)
            r = err_set(err, -errno, "make an eventfd for '%s'", disk->file.path);
    }
    if (r < 0) {
        disk_free(disk);
        return r;
    }
    (void)sqlite3_wal_hook(disk->file.db, sqlite_writer_on_wal, disk);
    *ret_disk = &disk->disk;
    return 0;
}
