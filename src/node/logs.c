// SPDX-License-Identifier: Apache-2.0
/* The files that are loaded: those of running containers, which are watched, and those that
 * somebody reads. No descriptor is held for any of them: a watch of inotify is not one.
 *
 * A file that grows is looked at (stat) at once, then for some milliseconds nobody listens: a
 * container that writes ten thousand lines a second costs as much as one that writes a hundred.
 * Where inotify fails, lengths are asked for every ten seconds, and whenever somebody reads. */
#include "base/mem.h"
#include "node/logs_internal.h"
#include "os/fd.h"
#include "os/log.h"
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define REST_MS 10
#define SWEEP_MS 10000
#define FOLLOW_MS 1000 /* the same for a file that has no watch and is followed */
#define READS_A_TURN 8
#define FUTURE_MS 1000

/* ---- marks of a file ---- */

static void compact_marks(struct log_file *file)
{
    struct log_marks marks = {0};
    scoped_free char *path = log_marks_path(file);
    log_marks_load(path, &marks);
    for (size_t i = 0; i < file->pending_len; i++)
        vec_push(&marks.list, file->pending[i]);
    log_marks_thin(&marks, log_span_oldest(file), loop_wall(file->logs->loop));
    if (log_marks_rewrite(path, &file->state, &marks) == 0)
        file->mark_count = marks.list.len;
    vec_done(&marks.list);
}

void log_file_flush(struct log_file *file)
{
    if (file->pending_len == 0)
        return;
    scoped_free char *path = log_marks_path(file);
    if (file->mark_count + file->pending_len > LOG_MARKS_MAX)
        compact_marks(file);
    else if (log_marks_append(path, &file->state, file->pending, file->pending_len) == 0)
        file->mark_count += file->pending_len;
    /* Those that could not be written are lost: their lines get the time of the next one. */
    mem_free(take_ptr(file->pending)); /* who is silent needs none */
    file->pending_len = 0;
}

static void sweep_soon(struct logs *logs)
{
    if (!heap_contains(&logs->sweep.node))
        loop_timer_set(logs->loop, &logs->sweep, loop_now(logs->loop) + SWEEP_MS);
}

static void add_mark(struct log_file *file)
{
    struct log_mark mark = {file->end, file->changed_at};
    if (file->pending_len == LOG_PENDING_MAX)
        log_file_flush(file);
    if (file->pending == NULL)
        file->pending = mem_alloc(LOG_PENDING_MAX * sizeof(*file->pending));
    file->pending[file->pending_len++] = mark;
    file->marked = file->end;
    if (file->marks_users > 0)
        vec_push(&file->marks.list, mark);
    if (file->marks.list.len > 2 * LOG_MARKS_MAX)
        log_marks_thin(&file->marks, 0, loop_wall(file->logs->loop));
    sweep_soon(file->logs);
}

void log_file_use_marks(struct log_file *file)
{
    if (file->marks_users++ > 0)
        return;
    log_file_flush(file);
    scoped_free char *path = log_marks_path(file);
    log_marks_load(path, &file->marks);
}

void log_file_leave_marks(struct log_file *file)
{
    if (--file->marks_users == 0)
        vec_done(&file->marks.list);
}

/* ---- looking ---- */

/* The container has cut its own log off: what it writes now follows what was moved away. */
static void begin_anew(struct log_file *file)
{
    struct log_marks marks = {0};
    scoped_free char *path = log_marks_path(file);
    log_rotate_forget(file);
    log_file_flush(file);
    log_marks_load(path, &marks);
    while (marks.list.len > 0 && vec_last(&marks.list)->offset > file->state.cut)
        marks.list.len--;
    file->state = (struct log_state){.base = file->state.cut, .cut = file->state.cut};
    if (log_marks_rewrite(path, &file->state, &marks) == 0)
        file->mark_count = marks.list.len;
    file->marked = marks.list.len > 0 ? vec_last(&marks.list)->offset : 0;
    if (file->marks_users > 0) {
        vec_done(&file->marks.list);
        file->marks.list.items = marks.list.items;
        file->marks.list.len = marks.list.len;
        file->marks.list.cap = marks.list.cap;
    } else {
        vec_done(&marks.list);
    }
}

/* When its last byte came, as the kernel noted it; a container may touch its own log, though. */
static time_ms changed_at(const struct log_file *file, const struct stat *st)
{
    time_ms at = (time_ms)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
    time_ms now = loop_wall(file->logs->loop);
    return at > now + FUTURE_MS ? now : at;
}

void log_file_look(struct log_file *file)
{
    struct stat st;
    if (stat(file->path, &st) < 0) {
        file->is_gone = errno == ENOENT;
        return;
    }
    file->is_gone = false;
    int64_t end = file->state.base + st.st_size;
    if (end < file->end || end < file->state.cut) {
        begin_anew(file);
        end = file->state.base + st.st_size;
    }
    bool moved = end != file->end;
    file->end = end;
    file->changed_at = changed_at(file, &st);
    if (end > file->marked)
        add_mark(file);
    if (moved)
        log_readers_wake(file);
    if (log_rotate_is_due(file))
        log_rotate_ask(file);
}

static bool look_each(void *arg, const char *key, void *value)
{
    struct log_file *file = value;
    (void)arg, (void)key;
    if (file->is_live)
        log_file_look(file);
    return true;
}

/* ---- inotify ---- */

static void on_event(struct logs *logs, const struct inotify_event *event)
{
    char number[16];
    if (event->mask & IN_Q_OVERFLOW) {
        (void)map_each(logs->files, look_each, NULL);
        return;
    }
    (void)snprintf(number, sizeof(number), "%d", event->wd);
    struct log_file *file = map_get(logs->watches, number);
    if (file != NULL && event->mask & IN_MODIFY)
        log_file_look(file);
}

static void on_inotify(void *arg, uint32_t events)
{
    struct logs *logs = arg;
    (void)events;
    _Alignas(struct inotify_event) char part[16384];
    for (int i = 0; i < READS_A_TURN; i++) {
        ssize_t n = read(logs->inotify, part, sizeof(part));
        if (n <= 0)
            break;
        for (const char *at = part; at < part + n;) {
            const struct inotify_event *event = (const void *)at;
            on_event(logs, event);
            at += sizeof(*event) + event->len;
        }
    }
    loop_io_set(logs->io, 0);
    loop_timer_set(logs->loop, &logs->rest, loop_now(logs->loop) + REST_MS);
}

static void on_rested(void *arg)
{
    struct logs *logs = arg;
    loop_io_set(logs->io, EPOLLIN);
}

/* Told once: it will be thousands. */
static void watch_failed(struct logs *logs, const char *what)
{
    if (!logs->warned)
        log_warn("logs.unwatched log=%s problem=\"inotify: %s\"", what, strerror(errno));
    logs->warned = true;
}

static void watch(struct log_file *file)
{
    struct logs *logs = file->logs;
    char number[16];
    file->watch = logs->inotify < 0 ? -1 : inotify_add_watch(logs->inotify, file->path, IN_MODIFY);
    if (file->watch < 0) {
        watch_failed(logs, file->key);
        sweep_soon(logs);
        return;
    }
    (void)snprintf(number, sizeof(number), "%d", file->watch);
    (void)map_put(logs->watches, number, file);
}

static void unwatch(struct log_file *file)
{
    char number[16];
    if (file->watch < 0)
        return;
    (void)snprintf(number, sizeof(number), "%d", file->watch);
    (void)map_del(file->logs->watches, number);
    (void)inotify_rm_watch(file->logs->inotify, file->watch); /* gone with its file already? */
    file->watch = -1;
}

/* ---- the sweep ---- */

struct sweep {
    bool unwatched, followed;
};

static bool sweep_each(void *arg, const char *key, void *value)
{
    struct sweep *sweep = arg;
    struct log_file *file = value;
    (void)key;
    log_file_flush(file);
    if (!file->is_live || file->watch >= 0)
        return true;
    log_file_look(file);
    sweep->unwatched = true;
    sweep->followed = sweep->followed || !LIST_EMPTY(&file->readers);
    return true;
}

static void on_sweep(void *arg)
{
    struct logs *logs = arg;
    struct sweep sweep = {0};
    (void)map_each(logs->files, sweep_each, &sweep);
    if (sweep.unwatched)
        loop_timer_set(logs->loop, &logs->sweep,
                       loop_now(logs->loop) + (sweep.followed ? FOLLOW_MS : SWEEP_MS));
}

void log_file_follow(const struct log_file *file)
{
    struct logs *logs = file->logs;
    if (file->is_live && file->watch < 0)
        loop_timer_set(logs->loop, &logs->sweep, loop_now(logs->loop) + FOLLOW_MS);
}

/* ---- files ---- */

/* Without a readable state: what is a hole in front was moved away once. */
static void guess_state(struct log_file *file, const char *marks_path, bool is_new)
{
    scoped_fd fd = open(file->path, O_RDONLY | O_CLOEXEC);
    off_t data = fd >= 0 ? lseek(fd, 0, SEEK_DATA) : 0;
    file->state = (struct log_state){.cut = data > 0 ? data : 0};
    if (!is_new && log_marks_rewrite(marks_path, &file->state, &(struct log_marks){0}) < 0)
        log_warn("logs.state log=%s problem=\"cannot be written\"", file->key);
}

static void load(struct log_file *file)
{
    struct log_marks marks = {0};
    scoped_free char *path = log_marks_path(file);
    int r = log_state_load(path, &file->state, &file->mark_count);
    if (r < 0)
        guess_state(file, path, r == -ENOENT);
    log_rotate_recover(file);
    log_marks_load(path, &marks);
    file->marked = marks.list.len > 0 ? vec_last(&marks.list)->offset : 0;
    file->end = file->marked; /* shorter now: it was cut off while nobody looked */
    vec_done(&marks.list);
    log_file_look(file);
}

static struct log_file *file_add(struct logs *logs, const char *key, const char *path)
{
    struct log_file *file = mem_zalloc(sizeof(*file));
    file->logs = logs;
    file->key = mem_strdup(key);
    file->path = mem_strdup(path);
    file->watch = -1;
    LIST_INIT(&file->readers);
    (void)map_put(logs->files, key, file);
    file->refs = 1; /* looking may queue a rotation, which holds one more */
    return file;
}

int log_file_get(struct logs *logs, const char *key, struct log_file **ret_file, struct err *err)
{
    struct log_file *file = map_get(logs->files, key);
    if (file == NULL) {
        scoped_free char *path = mem_printf("%s/%s.log", logs->dir, key);
        if (!file_exists(path))
            return err_set(err, -ENOENT, "there is no log '%s'", key);
        file = file_add(logs, key, path);
        load(file);
    } else {
        file->refs++;
    }
    *ret_file = file;
    return 0;
}

void log_file_unref(struct log_file *file)
{
    assert(file->refs > 0);
    if (--file->refs > 0)
        return;
    log_file_flush(file);
    unwatch(file);
    (void)map_del(file->logs->files, file->key);
    vec_done(&file->marks.list);
    mem_free(file->key);
    mem_free(file->path);
    mem_free(file->pending);
    mem_free(file);
}

/* ---- what the runtime calls ---- */

static int full_key(const struct log_name *name, struct str *key, struct err *err)
{
    int r = log_key(name, key, err);
    if (r == 0 && name->generation == 0)
        r = err_set(err, -EINVAL, "generations are counted from 1");
    if (r == 0)
        str_addf(key, "/%u", name->generation);
    return r;
}

/* The generation before the last is not needed any more when this one begins. To empty its file and
 * use it again is much cheaper than to remove it and make one: file systems do not like to give
 * away what was freed within the last seconds, and a group of thousands restarts all at once. What
 * else there is of it goes with log_trim_ask(). */
static bool use_again(const struct logs *logs, const struct log_name *name, const char *path)
{
    scoped_str key = {0};
    if (name->generation < 3 || log_key(name, &key, NULL) < 0)
        return false;
    str_addf(&key, "/%u", name->generation - 2);
    if (map_get(logs->files, str_text(&key)) != NULL)
        return false; /* somebody reads it */
    scoped_free char *old = mem_printf("%s/%s.log", logs->dir, str_text(&key));
    return renameat2(AT_FDCWD, old, AT_FDCWD, path, RENAME_NOREPLACE) == 0 &&
           truncate(path, 0) == 0;
}

static int make_folder(const struct logs *logs, const struct log_name *name, struct err *err)
{
    scoped_str folder = {0};
    str_addf(&folder, "%s/", logs->dir);
    int r = log_key(name, &folder, err);
    return r < 0 ? r : dir_make(str_text(&folder), 0750, err);
}

/* 1: it was not there before. */
static int create(struct logs *logs, const struct log_name *name, const char *path, struct err *err)
{
    if (use_again(logs, name, path))
        return 1;
    scoped_fd fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    if (fd < 0 && errno == ENOENT) {
        int r = make_folder(logs, name, err);
        if (r < 0)
            return r;
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    }
    if (fd < 0 && errno != EEXIST)
        return err_set(err, -errno, "create log '%s': %s", path, strerror(errno));
    return fd >= 0;
}

static void begin_file(struct log_file *file, bool is_fresh)
{
    file->is_live = true;
    watch(file);
    if (!is_fresh)
        log_file_look(file); /* what came before the watch */
}

void logs_prepare(struct logs *logs, const struct log_name *name)
{
    scoped_str key = {0};
    if (full_key(name, &key, NULL) < 0 || map_get(logs->files, str_text(&key)) != NULL)
        return;
    scoped_free char *path = mem_printf("%s/%s.log", logs->dir, str_text(&key));
    if (create(logs, name, path, NULL) <= 0)
        return; /* a log that is there is not for us to judge */
    struct log_file *file = file_add(logs, str_text(&key), path);
    file->is_spare = true;
    watch(file);
}

static bool take_prepared(const struct logs *logs, const char *key, char **ret_path)
{
    struct log_file *file = map_get(logs->files, key);
    if (file == NULL || !file->is_spare)
        return false;
    file->is_spare = false;
    file->is_live = true;
    *ret_path = mem_strdup(file->path);
    return true;
}

int logs_begin(struct logs *logs, const struct log_name *name, char **ret_path, struct err *err)
{
    scoped_str key = {0};
    struct log_file *file = NULL;
    int r = full_key(name, &key, err);
    if (r < 0)
        return r;
    log_trim_ask(logs, name);
    if (take_prepared(logs, str_text(&key), ret_path))
        return 0;
    scoped_free char *path = mem_printf("%s/%s.log", logs->dir, str_text(&key));
    r = create(logs, name, path, err);
    bool is_fresh = r > 0 && map_get(logs->files, str_text(&key)) == NULL;
    if (is_fresh)
        file = file_add(logs, str_text(&key), path); /* nothing of it can be on the disk */
    else if (r >= 0)
        r = log_file_get(logs, str_text(&key), &file, err);
    if (r < 0)
        return r;
    assert(file != NULL);
    if (file->is_live)
        log_file_unref(file); /* begun before */
    else
        begin_file(file, is_fresh);
    *ret_path = take_ptr(path);
    return 0;
}

static void end_file(struct log_file *file)
{
    log_file_look(file);
    log_file_flush(file);
    unwatch(file);
    file->is_live = file->is_spare = false;
    log_readers_wake(file);
    log_file_unref(file);
}

void logs_end(struct logs *logs, const struct log_name *name)
{
    scoped_str key = {0};
    if (full_key(name, &key, NULL) < 0)
        return;
    struct log_file *file = map_get(logs->files, str_text(&key));
    if (file != NULL && file->is_live)
        end_file(file);
}

struct removal {
    struct logs *logs;
    const char *pod, *container; /* names of folders */
};

static void end_generation(void *arg, uint32_t generation)
{
    const struct removal *removal = arg;
    scoped_free char *key = mem_printf("%s/%s/%u", removal->pod, removal->container, generation);
    struct log_file *file = map_get(removal->logs->files, key);
    if (file != NULL && (file->is_live || file->is_spare))
        end_file(file);
}

static void remove_folder(struct logs *logs, const char *name)
{
    scoped_free char *folder = mem_printf("%s/%s", logs->dir, name);
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        scoped_free char *container = mem_printf("%s/%s", folder, entry->d_name);
        struct removal removal = {logs, name, entry->d_name};
        if (entry->d_name[0] != '.')
            log_remove_folder(container, end_generation, &removal);
    }
    (void)closedir(dir);
    (void)rmdir(folder); /* what is not ours keeps it */
}

void logs_remove_pod(struct logs *logs, const struct log_name *name)
{
    scoped_str folder = {0};
    if (log_key_dir(name, &folder, NULL) == 0)
        remove_folder(logs, str_text(&folder));
}

void logs_sweep(struct logs *logs, bool (*is_known)(void *arg, const char *uid), void *arg)
{
    DIR *dir = opendir(logs->dir);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *uid = strrchr(entry->d_name, '_');
        if (uid != NULL && !is_known(arg, uid + 1))
            remove_folder(logs, entry->d_name);
    }
    (void)closedir(dir);
}

void logs_set_limits(struct logs *logs, const struct logs_limits *limits)
{
    assert(limits->file_bytes > 0 && limits->files >= 0);
    logs->limits = *limits;
    (void)map_each(logs->files, look_each, NULL);
}

int logs_open(struct loop *loop, const char *dir, struct logs **ret, struct err *err)
{
    int r = dir_make(dir, 0750, err);
    if (r < 0)
        return r;
    struct logs *logs = mem_zalloc(sizeof(*logs));
    logs->loop = loop;
    logs->dir = mem_strdup(dir);
    logs->limits = (struct logs_limits){.file_bytes = 10 << 20, .files = 5};
    logs->files = map_new();
    logs->watches = map_new();
    logs->rotation = (struct rotation){.from = -1, .to = -1};
    TAILQ_INIT(&logs->rotations);
    loop_task_init(&logs->rotate, log_rotate_turn, logs);
    loop_timer_init(&logs->rest, on_rested, logs);
    loop_timer_init(&logs->sweep, on_sweep, logs);
    loop_timer_init(&logs->trim, log_trim_turn, logs);
    logs->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (logs->inotify >= 0)
        logs->io = loop_io_add(loop, logs->inotify, EPOLLIN, on_inotify, logs);
    else
        watch_failed(logs, "all");
    *ret = logs;
    return 0;
}

static bool close_each(void *arg, const char *key, void *value)
{
    struct log_file *file = value;
    (void)arg, (void)key;
    assert(LIST_EMPTY(&file->readers));
    file->refs++;
    if (file->is_live)
        log_file_look(file); /* the last mark that we can take */
    log_rotate_forget(file);
    if (file->is_live || file->is_spare)
        log_file_unref(file);
    log_file_unref(file);
    return true;
}

void logs_close(struct logs *logs)
{
    if (logs == NULL)
        return;
    (void)map_each(logs->files, close_each, NULL);
    assert(map_count(logs->files) == 0);
    loop_task_cancel(logs->loop, &logs->rotate);
    loop_timer_clear(logs->loop, &logs->rest);
    loop_timer_clear(logs->loop, &logs->sweep);
    log_trim_done(logs);
    loop_io_del(logs->io);
    if (logs->inotify >= 0)
        close(logs->inotify);
    map_free(logs->files);
    map_free(logs->watches);
    mem_free(logs->dir);
    mem_free(logs);
}
