// SPDX-License-Identifier: Apache-2.0
#include "base/map.h"
#include "base/mem.h"
#include "disk_kit.h"
#include "store/sqlite.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- helpers ---- */

struct fixture {
    char *folder;
    char *path;
    struct disk *disk;
    struct err err;
    struct str seen; /* "Pod default/a@3={...}" a line */
    uint64_t revision;
};

static int setup(void **state)
{
    struct fixture *fix = mem_zalloc(sizeof(*fix));
    fix->folder = kit_folder_new();
    fix->path = kit_path(fix->folder, "store.db");
    *state = fix;
    return 0;
}

static void shut(struct fixture *fix)
{
    if (fix->disk)
        fix->disk->ops->close(fix->disk);
    fix->disk = NULL;
}

static int teardown(void **state)
{
    struct fixture *fix = *state;
    shut(fix);
    str_done(&fix->seen);
    kit_folder_remove(fix->folder);
    mem_free(fix->path);
    mem_free(fix);
    return 0;
}

static int see_row(void *arg, const struct disk_row *row)
{
    struct fixture *fix = arg;
    str_addf(&fix->seen, "%s %s/%s@%d=%s\n", row->kind->name, row->ns, row->name,
             (int)row->revision, row->json->data);
    return strstr(row->json->data, "unusable") ? -EINVAL : 0;
}

static int try_open(struct fixture *fix)
{
    struct sqlite_options options = {.path = fix->path, .sync_full = 1};
    fix->err = (struct err){0};
    str_clear(&fix->seen);
    int r = sqlite_disk_open(&options, &fix->disk, &fix->err);
    if (r < 0)
        return r;
    return fix->disk->ops->load(fix->disk, see_row, fix, &fix->revision, &fix->err);
}

static void must_open(struct fixture *fix)
{
    int r = try_open(fix);
    if (r < 0)
        fail_msg("open: %s; %s", fix->err.text, fix->err.hint);
}

static void reopen(struct fixture *fix)
{
    shut(fix);
    must_open(fix);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

/* One row of a Pod in "default"; json NULL removes it. */
static int put_one(struct fixture *fix, const char *name, const char *json, uint64_t revision,
                   struct kit_answer *answer)
{
    struct buf *buf = json ? buf_new(json, strlen(json)) : NULL;
    struct disk_row row = {&KIT_POD, "default", name, revision, buf};
    int r = kit_commit(fix->disk, &row, 1, revision, answer);
    buf_unref(buf);
    return r;
}

static void shell(struct fixture *fix, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(fix->path, &db), SQLITE_OK);
    char *text = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK)
        fail_msg("%s: %s", sql, text);
    sqlite3_close(db);
}

static int take_text(void *arg, int columns, char **values, char **names)
{
    (void)columns;
    (void)names;
    str_add(arg, values[0]);
    return 0;
}

static void assert_query(struct fixture *fix, const char *sql, const char *expected)
{
    sqlite3 *db = NULL;
    scoped_str got = {0};
    assert_int_equal(sqlite3_open(fix->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, take_text, &got, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_string_equal(str_text(&got), expected);
}

/* ---- the good days ---- */

static void test_round_trip(void **state)
{
    struct fixture *fix = *state;
    must_open(fix);
    assert_int_equal(fix->revision, 0);
    assert_string_equal(str_text(&fix->seen), "");
    struct buf *a = buf_new("{\"a\":1}", 7), *b = buf_new("{\"b\":1}", 7);
    const struct disk_row rows[] = {
        {&KIT_POD, "default", "x", 1, a},
        {&KIT_JOB, "default", "x", 2, b},
        {&KIT_POD, "other", "x", 3, b},
        {&KIT_POD, "", "x", 4, a},
    };
    assert_int_equal(kit_commit(fix->disk, rows, ARRAY_LEN(rows), 4, NULL), 0);
    reopen(fix);
    assert_int_equal(fix->revision, 4);
    assert_string_equal(str_text(&fix->seen),
                        "Pod default/x@1={\"a\":1}\nJob default/x@2={\"b\":1}\n"
                        "Pod other/x@3={\"b\":1}\nPod /x@4={\"a\":1}\n");
    const struct disk_row changes[] = {
        {&KIT_JOB, "default", "x", 5, a},
        {&KIT_POD, "default", "x", 6, NULL},
        {&KIT_POD, "", "y", 7, b},
    };
    assert_int_equal(kit_commit(fix->disk, changes, ARRAY_LEN(changes), 7, NULL), 0);
    reopen(fix);
    assert_int_equal(fix->revision, 7);
    assert_string_equal(str_text(&fix->seen), "Job default/x@5={\"a\":1}\nPod other/x@3={\"b\":1}\n"
                                              "Pod /x@4={\"a\":1}\nPod /y@7={\"b\":1}\n");
    buf_unref(a);
    buf_unref(b);
}

static void test_last_row_of_an_object_wins(void **state)
{
    struct fixture *fix = *state;
    must_open(fix);
    assert_int_equal(put_one(fix, "kept", "{}", 1, NULL), 0);
    struct buf *one = buf_new("{\"v\":1}", 7), *two = buf_new("{\"v\":2}", 7);
    const struct disk_row rows[] = {
        {&KIT_POD, "default", "new", 2, one},    {&KIT_POD, "default", "brief", 3, one},
        {&KIT_POD, "default", "kept", 4, one},   {&KIT_POD, "default", "new", 5, two},
        {&KIT_POD, "default", "brief", 6, NULL}, {&KIT_POD, "default", "kept", 7, NULL},
        {&KIT_POD, "default", "kept", 8, two},   {&KIT_POD, "default", "unknown", 9, NULL},
    };
    assert_int_equal(kit_commit(fix->disk, rows, ARRAY_LEN(rows), 9, NULL), 0);
    assert_int_equal(put_one(fix, "brief", "{\"v\":3}", 10, NULL), 0);
    reopen(fix);
    assert_int_equal(fix->revision, 10);
    assert_string_equal(str_text(&fix->seen), "Pod default/kept@8={\"v\":2}\n"
                                              "Pod default/new@5={\"v\":2}\n"
                                              "Pod default/brief@10={\"v\":3}\n");
    buf_unref(one);
    buf_unref(two);
}

static void test_file_is_open_to_the_sqlite3_program(void **state)
{
    struct fixture *fix = *state;
    must_open(fix);
    assert_int_equal(put_one(fix, "a", "{\"spec\":{\"n\":7}}", 1, NULL), 0);
    assert_query(fix, "PRAGMA user_version", "1");
    assert_query(fix, "PRAGMA application_id", "1297306706");
    assert_query(fix, "PRAGMA journal_mode", "wal");
    assert_query(fix, "SELECT kind || ns || name || json_extract(value, '$.spec.n') FROM objects",
                 "/Poddefaulta7");
    scoped_free char *copy = kit_path(fix->folder, "copy.db");
    scoped_free char *sql = mem_printf("VACUUM INTO '%s'", copy);
    shell(fix, sql);
    assert_int_equal(put_one(fix, "b", "{}", 2, NULL), 0);
    shut(fix);
    mem_free(fix->path);
    fix->path = take_ptr(copy);
    must_open(fix);
    assert_int_equal(fix->revision, 1);
    assert_string_equal(str_text(&fix->seen), "Pod default/a@1={\"spec\":{\"n\":7}}\n");
}

struct chain {
    struct disk *disk;
    struct disk_batch batch;
    int left;
    int told;
};

static void commit_again(void *arg, int result, const char *text)
{
    struct chain *chain = arg;
    assert_int_equal(result, 0);
    assert_null(text);
    chain->told++;
    chain->batch.revision++;
    if (chain->left-- > 0)
        chain->disk->ops->commit(chain->disk, &chain->batch);
}

static void test_close_finishes_what_is_under_way(void **state)
{
    struct fixture *fix = *state;
    must_open(fix);
    struct chain chain = {.disk = fix->disk, .left = 2};
    chain.batch = (struct disk_batch){.revision = 1, .done = commit_again, .arg = &chain};
    fix->disk->ops->commit(fix->disk, &chain.batch);
    shut(fix);
    assert_int_equal(chain.told, 3);
    must_open(fix);
    assert_int_equal(fix->revision, 3);
}

static void test_log_is_moved_into_the_file(void **state)
{
    struct fixture *fix = *state;
    must_open(fix);
    scoped_free char *log_path = kit_path(fix->folder, "store.db-wal");
    char json[4096];
    int len = snprintf(json, sizeof(json), "{\"v\":\"%03900d\"}", 1);
    struct buf *buf = buf_new(json, (size_t)len);
    struct disk_row rows[100];
    char names[100][8];
    for (size_t i = 0; i < 100; i++) {
        snprintf(names[i], sizeof(names[i]), "n%zu", i);
        rows[i] = (struct disk_row){&KIT_POD, "default", names[i], 1, buf};
    }
    for (uint64_t revision = 1; revision <= 60; revision++)
        assert_int_equal(kit_commit(fix->disk, rows, 100, revision, NULL), 0);
    struct stat info;
    assert_int_equal(stat(log_path, &info), 0);
    /* 60 batches are more than 25 MB of log; 2000 pages and one batch are less than 10. */
    assert_in_range(info.st_size, 1, 10 << 20);
    buf_unref(buf);
}

/* ---- refused at the door ---- */

static void test_second_instance(void **state)
{
    struct fixture *fix = *state;
    must_open(fix);
    struct sqlite_options options = {.path = fix->path, .sync_full = 1};
    struct disk *other = NULL;
    struct err err = {0};
    assert_int_equal(sqlite_disk_open(&options, &other, &err), -EBUSY);
    assert_null(other);
    char expected[64];
    snprintf(expected, sizeof(expected), "in use by another instance, process %ld", (long)getpid());
    assert_has(err.text, expected);
    shut(fix);
    must_open(fix);
}

/* Somebody has the lock of the store, in the name of a process that has ended and was not waited
 * for. Each look at that name is told. */
struct dead {
    int fd, looks;
    pid_t pid;
};

static void die_with_lock(struct fixture *fix, struct dead *dead)
{
    scoped_free char *path = kit_path(fix->folder, "store.db.lock");
    dead->pid = fork();
    if (dead->pid == 0)
        _exit(0);
    assert_true(dead->pid > 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)dead->pid, &info, WEXITED | WNOWAIT), 0);
    dead->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    assert_true(dead->fd >= 0);
    assert_int_equal(flock(dead->fd, LOCK_EX | LOCK_NB), 0);
    assert_true(dprintf(dead->fd, "%ld\n", (long)dead->pid) > 0);
    dead->looks = inotify_init1(IN_CLOEXEC);
    assert_true(inotify_add_watch(dead->looks, path, IN_ACCESS) >= 0);
}

static void bury(struct dead *dead)
{
    assert_int_equal(waitpid(dead->pid, NULL, 0), dead->pid);
    close(dead->looks);
}

static void *let_go_when_seen(void *arg)
{
    struct dead *dead = arg;
    char event[4096];
    ssize_t n = read(dead->looks, event, sizeof(event));
    close(dead->fd);
    return n > 0 ? dead : NULL;
}

static void test_who_dies_is_waited_for(void **state)
{
    struct fixture *fix = *state;
    struct dead dead;
    pthread_t thread;
    void *seen = NULL;
    die_with_lock(fix, &dead);
    assert_int_equal(pthread_create(&thread, NULL, let_go_when_seen, &dead), 0);
    must_open(fix);
    assert_int_equal(pthread_join(thread, &seen), 0);
    assert_non_null(seen);
    bury(&dead);
}

static void test_who_dies_is_not_waited_for_without_end(void **state)
{
    struct fixture *fix = *state;
    struct dead dead;
    die_with_lock(fix, &dead);
    assert_int_equal(try_open(fix), -EBUSY);
    assert_has(fix->err.text, "in use by another instance");
    assert_null(strstr(fix->err.text, "process")); /* it is none that could be stopped */
    close(dead.fd);
    bury(&dead);
}

static void refused(struct fixture *fix, int code, const char *text, const char *hint)
{
    int r = try_open(fix);
    assert_has(fix->err.text, text);
    assert_has(fix->err.hint, hint);
    assert_int_equal(r, code);
    shut(fix);
}

static void test_refused_files(void **state)
{
    struct fixture *fix = *state;
    static const struct {
        const char *sql, *undo;
        int code;
        const char *text, *hint;
    } cases[] = {
        {"PRAGMA user_version = 7", "PRAGMA user_version = 1", -EINVAL,
         "has format 7, this version reads formats up to 1", "newer version"},
        {"PRAGMA application_id = 5", "PRAGMA application_id = 1297306706", -EINVAL,
         "database of another program", "name another file"},
        {"UPDATE objects SET kind = 'apps/Deployment'", "UPDATE objects SET kind = '/Pod'", -EINVAL,
         "row 1 of objects, apps/Deployment 'default/a': the kind 'apps/Deployment' is not known",
         "made by a newer version?"},
        {"UPDATE objects SET kind = 'Pod'", "UPDATE objects SET kind = '/Pod'", -EINVAL,
         "the kind 'Pod' is not known", "newer version?"},
        {"UPDATE objects SET value = '{\"a\":'", "UPDATE objects SET value = '{}'", -EINVAL,
         "row 1 of objects, /Pod 'default/a': its value is not JSON", "restore a backup"},
        {"UPDATE objects SET value = ''", "UPDATE objects SET value = '{}'", -EINVAL,
         "row 1 of objects, /Pod 'default/a': its value is not JSON", "restore a backup"},
        {"UPDATE objects SET value = '{\"unusable\":1}'", "UPDATE objects SET value = '{}'",
         -EINVAL, "/Pod 'default/a': it cannot be used", "restore a backup"},
        {"UPDATE objects SET revision = 9", "UPDATE objects SET revision = 1", -EINVAL,
         "/Pod 'default/a': its revision", "restore a backup"},
        {"UPDATE objects SET revision = -9", "UPDATE objects SET revision = 1", -EINVAL,
         "/Pod 'default/a': its revision", "restore a backup"},
        {"UPDATE meta SET key = 'no' WHERE key = 'revision'",
         "UPDATE meta SET key = 'revision' WHERE key = 'no'", -EIO, "latest revision is missing",
         ".recover"},
        {"ALTER TABLE objects RENAME TO things", "ALTER TABLE things RENAME TO objects", -EIO,
         "no such table: objects", ".recover"},
    };
    must_open(fix);
    assert_int_equal(put_one(fix, "a", "{}", 1, NULL), 0);
    shut(fix);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        shell(fix, cases[i].sql);
        refused(fix, cases[i].code, cases[i].text, cases[i].hint);
        shell(fix, cases[i].undo);
        reopen(fix);
        assert_string_equal(str_text(&fix->seen), "Pod default/a@1={}\n");
        shut(fix);
    }
}

static void write_file(const char *path, long offset, const char *data, size_t len)
{
    FILE *file = fopen(path, offset > 0 ? "r+" : "w");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void test_not_a_database(void **state)
{
    struct fixture *fix = *state;
    static const char text[] = "this is a text that somebody named by mistake, and a long one: it "
                               "has more bytes than the header of a database has, so that it can "
                               "not be taken for the beginning of one";
    write_file(fix->path, 0, text, sizeof(text));
    refused(fix, -EIO, "is damaged or not a store: file is not a database", ".recover");
    char back[sizeof(text)] = "";
    FILE *file = fopen(fix->path, "r");
    assert_non_null(file);
    assert_int_equal(fread(back, 1, sizeof(back), file), sizeof(text));
    fclose(file);
    assert_memory_equal(back, text, sizeof(text));
}

static void test_damaged_page(void **state)
{
    struct fixture *fix = *state;
    must_open(fix);
    assert_int_equal(put_one(fix, "a", "{}", 1, NULL), 0);
    shut(fix);
    char garbage[4096];
    memset(garbage, 0x5a, sizeof(garbage));
    write_file(fix->path, 4096, garbage, sizeof(garbage));
    refused(fix, -EIO, "is damaged", "restore a backup");
}

/* Runs `body` without root's right to write everywhere; its asserts count in this process too. */
static void as_nobody(void (*body)(struct fixture *), struct fixture *fix)
{
    uid_t before = geteuid();
    if (before == 0)
        assert_int_equal(seteuid(65534), 0);
    body(fix);
    if (before == 0)
        assert_int_equal(seteuid(0), 0);
}

static void open_refused_as_read_only(struct fixture *fix)
{
    (void)try_open(fix);
}

static void test_read_only_folder(void **state)
{
    struct fixture *fix = *state;
    assert_int_equal(chmod(fix->folder, 0555), 0);
    as_nobody(open_refused_as_read_only, fix);
    assert_int_equal(chmod(fix->folder, 0755), 0);
    assert_int_equal(fix->err.code, -EACCES);
    assert_has(fix->err.text, "store.db.lock': Permission denied");
    assert_has(fix->err.hint, fix->folder);
    assert_has(fix->err.hint, "writable for user id");
    assert_null(fix->disk);
}

static void test_read_only_file(void **state)
{
    struct fixture *fix = *state;
    scoped_free char *lock = kit_path(fix->folder, "store.db.lock");
    must_open(fix);
    shut(fix);
    assert_int_equal(chmod(fix->folder, 0777), 0);
    assert_int_equal(chmod(lock, 0666), 0);
    assert_int_equal(chmod(fix->path, 0444), 0);
    as_nobody(open_refused_as_read_only, fix);
    assert_int_equal(fix->err.code, -EROFS);
    assert_has(fix->err.text, "store.db' is read-only");
    assert_has(fix->err.hint, "writable for user id");
}

static void test_missing_folder(void **state)
{
    struct fixture *fix = *state;
    mem_free(fix->path);
    fix->path = kit_path(fix->folder, "none/store.db");
    refused(fix, -ENOENT, "none/store.db.lock': No such file", "mkdir -p");
}

/* ---- trouble while running ---- */

static char *long_json(size_t len)
{
    char *json = mem_alloc(len + 1);
    memset(json, 'x', len);
    memcpy(json, "{\"v\":\"", 6);
    memcpy(json + len - 2, "\"}", 3);
    return json;
}

static void fill_until_refused(struct fixture *fix, struct kit_answer *answer)
{
    scoped_free char *json = long_json(20000);
    char name[16];
    for (uint64_t i = 1; i <= 1000; i++) {
        snprintf(name, sizeof(name), "n%d", (int)i);
        if (put_one(fix, name, json, fix->revision + 1, answer) < 0)
            return;
        fix->revision++;
    }
    fail_msg("it was never full");
}

static void check_full(struct fixture *fix, const struct kit_answer *answer)
{
    assert_has(answer->text, "disk full");
    assert_int_equal(answer->result, -ENOSPC);
    assert_has(answer->text, "free some space in ");
    assert_has(answer->text, fix->folder);
    assert_has(answer->text, "reads go on");
}

static void check_works_again(struct fixture *fix)
{
    uint64_t acknowledged = fix->revision;
    assert_int_equal(put_one(fix, "after", "{}", acknowledged + 1, NULL), 0);
    reopen(fix);
    assert_int_equal(fix->revision, acknowledged + 1);
    assert_has(str_text(&fix->seen), "Pod default/after@");
    size_t lines = 0;
    for (const char *at = str_text(&fix->seen); *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, acknowledged + 1);
}

static void test_file_size_limit(void **state)
{
    struct fixture *fix = *state;
    struct rlimit before, small = {.rlim_cur = 1 << 20};
    must_open(fix);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct kit_answer answer;
    fill_until_refused(fix, &answer);
    int again = put_one(fix, "again", "{}", fix->revision + 1, NULL);
    if (again == 0)
        fix->revision++;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    check_full(fix, &answer);
    check_works_again(fix);
}

/* A file system of its own, seen by this process only. */
static bool mount_small(const char *folder)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", folder, "tmpfs", 0, "size=2m") == 0;
}

static void test_full_file_system(void **state)
{
    struct fixture *fix = *state;
    if (!mount_small(fix->folder))
        skip();
    scoped_free char *ballast = kit_path(fix->folder, "ballast");
    scoped_free char *data = long_json(800000);
    write_file(ballast, 0, data, 800000);
    must_open(fix);
    struct kit_answer answer;
    fill_until_refused(fix, &answer);
    check_full(fix, &answer);
    assert_int_equal(unlink(ballast), 0);
    check_works_again(fix);
    shut(fix);
    assert_int_equal(umount(fix->folder), 0);
}

/* The log alone fills the disk, though the file would not grow: nothing must be freed by hand. */
static void test_log_starts_over_when_the_disk_is_full(void **state)
{
    struct fixture *fix = *state;
    if (!mount_small(fix->folder))
        skip();
    must_open(fix);
    scoped_free char *json = long_json(20000);
    struct kit_answer answer = {0};
    uint64_t revision = 1000; /* of as many bytes as those to come: rows are overwritten in place */
    assert_int_equal(put_one(fix, "n1", json, revision, NULL), 0);
    reopen(fix); /* closing has moved the object into the file */
    while (revision < 2000 && put_one(fix, "n1", json, revision + 1, &answer) == 0)
        revision++;
    check_full(fix, &answer);
    assert_int_equal(put_one(fix, "n1", "{}", revision + 1, &answer), 0);
    reopen(fix);
    assert_int_equal(fix->revision, revision + 1);
    shut(fix);
    assert_int_equal(umount(fix->folder), 0);
}

static void test_file_system_turns_read_only(void **state)
{
    struct fixture *fix = *state;
    if (!mount_small(fix->folder))
        skip();
    must_open(fix);
    assert_int_equal(put_one(fix, "a", "{}", 1, NULL), 0);
    struct kit_answer answer;
    shut(fix);
    assert_int_equal(mount("none", fix->folder, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL), 0);
    int r = try_open(fix);
    shut(fix);
    assert_int_equal(mount("none", fix->folder, "tmpfs", MS_REMOUNT, NULL), 0);
    assert_int_equal(r, -EROFS);
    assert_has(fix->err.text, "Read-only file system");
    must_open(fix);
    assert_int_equal(put_one(fix, "b", "{}", 2, &answer), 0);
    shut(fix);
    assert_int_equal(umount(fix->folder), 0);
}

static void test_file_moved_away(void **state)
{
    struct fixture *fix = *state;
    scoped_free char *elsewhere = kit_path(fix->folder, "moved.db");
    struct kit_answer answer;
    must_open(fix);
    assert_int_equal(put_one(fix, "a", "{}", 1, NULL), 0);
    assert_int_equal(rename(fix->path, elsewhere), 0);
    assert_int_equal(put_one(fix, "b", "{}", 2, &answer), -EIO);
    assert_has(answer.text, "was removed, renamed or replaced while in use; put it back");
    assert_int_equal(rename(elsewhere, fix->path), 0);
    assert_int_equal(put_one(fix, "c", "{}", 2, &answer), 0);
    reopen(fix);
    assert_string_equal(str_text(&fix->seen), "Pod default/a@1={}\nPod default/c@2={}\n");
}

static void test_log_removed(void **state)
{
    struct fixture *fix = *state;
    scoped_free char *log = mem_printf("%s-wal", fix->path);
    must_open(fix);
    assert_int_equal(put_one(fix, "a", "{}", 1, NULL), 0);
    assert_int_equal(unlink(log), 0);
    assert_int_equal(put_one(fix, "b", "{}", 2, NULL), 0);
    assert_int_equal(access(log, F_OK), 0); /* or else a crash would lose it */
    reopen(fix);
    assert_string_equal(str_text(&fix->seen), "Pod default/a@1={}\nPod default/b@2={}\n");
}

static void test_another_program_writes(void **state)
{
    struct fixture *fix = *state;
    struct kit_answer answer;
    must_open(fix);
    assert_int_equal(put_one(fix, "a", "{}", 1, NULL), 0);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(fix->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(put_one(fix, "a", "{}", 2, &answer), -EIO);
    assert_has(answer.text, "another program is writing to");
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(put_one(fix, "a", "{\"v\":2}", 2, &answer), 0);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM objects", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(put_one(fix, "a", "{}", 3, &answer), -EIO);
    assert_has(answer.text, "changed by another program: Pod default/a");
    assert_has(answer.text, "restart to load");
    reopen(fix);
    assert_int_equal(fix->revision, 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_round_trip),
        TEST(test_last_row_of_an_object_wins),
        TEST(test_file_is_open_to_the_sqlite3_program),
        TEST(test_close_finishes_what_is_under_way),
        TEST(test_log_is_moved_into_the_file),
        TEST(test_second_instance),
        TEST(test_who_dies_is_waited_for),
        TEST(test_who_dies_is_not_waited_for_without_end),
        TEST(test_refused_files),
        TEST(test_not_a_database),
        TEST(test_damaged_page),
        TEST(test_read_only_folder),
        TEST(test_read_only_file),
        TEST(test_missing_folder),
        TEST(test_file_size_limit),
        TEST(test_full_file_system),
        TEST(test_log_starts_over_when_the_disk_is_full),
        TEST(test_file_system_turns_read_only),
        TEST(test_file_moved_away),
        TEST(test_log_removed),
        TEST(test_another_program_writes),
    };
    (void)signal(SIGXFSZ, SIG_IGN); /* the test's own thread; the writer has it blocked */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
