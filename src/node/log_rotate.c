// SPDX-License-Identifier: Apache-2.0
/* Taking lines off the front of a file that others append to.
 *
 * The lines are copied to .log.new a piece a turn, since they do not change any more; then, in one
 * go, .log.new becomes .log.1 and the bytes are taken out of the live file. The writers hold the
 * file open for appending: the kernel looks for its end under the same lock that moves it, so no
 * byte of theirs is lost or written twice, and nobody has to open anything again.
 *
 * Whole blocks only can be taken out, so some bytes before `cut` stay in front: they are in .log.1
 * and no reader looks at them. First the blocks become a hole, then the hole is collapsed:
 *   - punching throws dirty pages away which collapsing would write to the disk first;
 *   - a file system that cannot collapse (tmpfs, btrfs) is left with the hole, which costs nothing;
 *   - it tells whether a collapse that was interrupted has happened: is there still a hole?
 *
 * Each step can be repeated or recognised, and the state is saved before it:
 *   copy                 killed: .log.new is thrown away, nothing else has changed
 *   STAGE_SHIFT  saved   .log.new is whole. It is renamed last, behind a gap that the shifting
 *                        leaves: where the gap is, the shifting stopped
 *   STAGE_PUNCH  saved   the lines count as .log.1's; punching twice does no harm
 *   STAGE_COLLAPSE saved a hole in front: to be collapsed. Data in front: it was
 *   STAGE_NONE   saved   done */
#include "base/mem.h"
#include "node/logs_internal.h"
#include "os/fd.h"
#include "os/log.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_A_TURN ((int64_t)1 << 20)
#define PIECE_BYTES 65536
#define RETRY_MS 10000

static char *fresh_path(const struct log_file *file)
{
    return mem_printf("%s.new", file->path);
}

static void warn(const struct log_file *file, const char *what, int r)
{
    log_warn("logs.rotate log=%s problem=\"%s: %s\"", file->key, what, strerror(-r));
}

/* What is in memory is what is on the disk: a state that cannot be saved is not entered. */
static int enter(struct log_file *file, struct log_state state)
{
    scoped_free char *path = log_marks_path(file);
    int r = log_state_save(path, &state);
    if (r == 0)
        file->state = state;
    return r;
}

/* ---- the steps ---- */

static int count_numbered(const struct log_file *file)
{
    for (int i = 1;; i++) {
        scoped_free char *path = log_numbered(file, i);
        if (!file_exists(path))
            return i - 1;
    }
}

static void remove_numbered(const struct log_file *file, int from)
{
    for (int i = count_numbered(file); i >= from; i--) {
        scoped_free char *path = log_numbered(file, i);
        (void)unlink(path); /* one that stays is found again by the next rotation */
    }
}

/* Up by one, into the first gap; what is beyond the limit goes. */
static void shift_numbered(const struct log_file *file)
{
    int max = file->logs->limits.files;
    remove_numbered(file, max);
    for (int i = count_numbered(file); i >= 1; i--) {
        scoped_free char *from = log_numbered(file, i);
        scoped_free char *to = log_numbered(file, i + 1);
        (void)rename(from, to); /* fails only together with the rename below, which is looked at */
    }
}

static int step_shift(struct log_file *file)
{
    scoped_free char *fresh = fresh_path(file);
    scoped_free char *first = log_numbered(file, 1);
    if (file_exists(fresh)) {
        shift_numbered(file);
        if (rename(fresh, first) < 0)
            return -errno;
    }
    struct log_state next = file->state;
    next.cut = file->state.next;
    next.stage = STAGE_PUNCH;
    return enter(file, next);
}

/* As many whole blocks as lie before the cut, but never the whole file. */
static int64_t blocks_before_cut(const struct log_file *file, const struct stat *st)
{
    int64_t block = st->st_blksize > 0 ? st->st_blksize : 4096;
    int64_t take = (file->state.cut - file->state.base) / block * block;
    while (take > 0 && take >= st->st_size)
        take -= block;
    return take > 0 ? take : 0;
}

static int step_punch(struct log_file *file, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    int64_t take = blocks_before_cut(file, &st);
    if (take > 0 && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, take) < 0) {
        int r = -errno;
        file->cannot_cut = r == -EOPNOTSUPP || r == -ENOSYS;
        warn(file, "free the front of the file", r);
        take = 0;
    }
    struct log_state next = file->state;
    next.take = take;
    next.stage = take > 0 ? STAGE_COLLAPSE : STAGE_NONE;
    return enter(file, next);
}

static bool hole_is_there(const struct log_file *file, int fd)
{
    off_t data = lseek(fd, 0, SEEK_DATA);
    return data < 0 || data >= file->state.take;
}

/* A file system that cannot do it keeps the hole, and offsets in the file stay as they are. */
static int step_collapse(struct log_file *file, int fd)
{
    bool done = !hole_is_there(file, fd) ||
                fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, file->state.take) == 0;
    struct log_state next = file->state;
    next.base += done ? file->state.take : 0;
    next.take = 0;
    next.stage = STAGE_NONE;
    return enter(file, next);
}

/* From wherever the state says. */
static int finish(struct log_file *file)
{
    scoped_fd fd = open(file->path, O_RDWR | O_CLOEXEC);
    int r = fd < 0 ? -errno : 0;
    if (r == 0 && file->state.stage == STAGE_SHIFT)
        r = step_shift(file);
    if (r == 0 && file->state.stage == STAGE_PUNCH)
        r = step_punch(file, fd);
    if (r == 0 && file->state.stage == STAGE_COLLAPSE)
        r = step_collapse(file, fd);
    return r;
}

void log_rotate_recover(struct log_file *file)
{
    scoped_free char *fresh = fresh_path(file);
    if (file->state.stage == STAGE_NONE) {
        (void)unlink(fresh); /* there is none, usually */
        return;
    }
    int r = finish(file);
    if (r < 0)
        warn(file, "finish what was begun", r);
}

/* ---- where to cut ---- */

/* Behind the last line that fits; in the middle of a line that is longer than a file may be. */
static int64_t cut_for(const struct log_file *file, int64_t most)
{
    int64_t cut = log_span_line(file, most, file->state.cut);
    return cut > file->state.cut ? cut : most;
}

/* The first line that begins at `from` or soon behind it; `from` when none does. */
static int64_t line_from(const struct log_file *file, int64_t from)
{
    char piece[PIECE_BYTES];
    int64_t at = from - 1;
    size_t len = log_span_read(file, &at, piece, sizeof(piece));
    const char *newline = at == from - 1 ? memchr(piece, '\n', len) : NULL;
    return newline ? at + (newline - piece) + 1 : from;
}

/* Far too long, because nobody was there: the oldest is not even copied. */
static bool drop_excess(struct log_file *file)
{
    const struct logs_limits *limits = &file->logs->limits;
    int64_t keep = limits->file_bytes * (limits->files + 1);
    if (file->end - file->state.cut <= keep)
        return false;
    int64_t line = line_from(file, file->end - keep);
    log_warn("logs.dropped log=%s bytes=%lld", file->key, (long long)(line - file->state.cut));
    remove_numbered(file, 1); /* they no longer end where the rest begins */
    struct log_state next = file->state;
    next.cut = line;
    next.stage = STAGE_PUNCH;
    int r = enter(file, next);
    if (r == 0)
        r = finish(file);
    if (r < 0)
        warn(file, "drop what is too much", r);
    return r == 0;
}

bool log_rotate_is_due(const struct log_file *file)
{
    return !file->cannot_cut && !file->is_gone &&
           file->end - file->state.cut > file->logs->limits.file_bytes;
}

/* ---- one after the other, a piece a turn ---- */

void log_rotate_ask(struct log_file *file)
{
    struct logs *logs = file->logs;
    if (file->is_queued || loop_now(logs->loop) < file->rotate_from)
        return;
    file->is_queued = true;
    file->refs++;
    TAILQ_INSERT_TAIL(&logs->rotations, file, rotations);
    loop_defer(logs->loop, &logs->rotate);
}

static void close_rotation(struct rotation *rotation)
{
    if (rotation->from >= 0)
        close(rotation->from);
    if (rotation->to >= 0)
        close(rotation->to);
    *rotation = (struct rotation){.from = -1, .to = -1};
}

void log_rotate_forget(struct log_file *file)
{
    struct logs *logs = file->logs;
    if (!file->is_queued)
        return;
    if (logs->rotation.file == file)
        close_rotation(&logs->rotation);
    TAILQ_REMOVE(&logs->rotations, file, rotations);
    file->is_queued = false;
    log_file_unref(file);
}

static int begin(struct rotation *rotation, struct log_file *file)
{
    assert(file->logs->limits.files > 0 && file->state.stage == STAGE_NONE);
    scoped_free char *fresh = fresh_path(file);
    rotation->file = file;
    rotation->from = open(file->path, O_RDONLY | O_CLOEXEC);
    if (rotation->from < 0)
        return -errno;
    rotation->to = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (rotation->to < 0)
        return -errno;
    rotation->at = file->state.cut;
    rotation->until = cut_for(file, file->state.cut + file->logs->limits.file_bytes);
    return 0;
}

static int copy_piece(struct rotation *rotation)
{
    char piece[PIECE_BYTES];
    int64_t left = rotation->until - rotation->at;
    size_t want = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
    ssize_t n = pread(rotation->from, piece, want, rotation->at - rotation->file->state.base);
    if (n <= 0)
        return n < 0 ? -errno : -EIO; /* shorter than before: cut off by somebody else */
    for (ssize_t done = 0; done < n;) {
        ssize_t written = write(rotation->to, piece + done, (size_t)(n - done));
        if (written <= 0)
            return written < 0 ? -errno : -ENOSPC;
        done += written;
    }
    rotation->at += n;
    return 0;
}

static int copy_some(struct rotation *rotation)
{
    int64_t stop = rotation->at + COPY_A_TURN;
    int r = 0;
    while (r == 0 && rotation->at < rotation->until && rotation->at < stop)
        r = copy_piece(rotation);
    return r;
}

static int commit(struct rotation *rotation)
{
    struct log_file *file = rotation->file;
    log_file_look(file);
    if (rotation->file == NULL)
        return 0; /* somebody has cut the file off meanwhile: the copy is of no use */
    log_file_flush(file);
    struct log_state next = file->state;
    next.next = rotation->until;
    next.stage = STAGE_SHIFT;
    int r = enter(file, next);
    return r < 0 ? r : finish(file);
}

/* The disk is full, mostly: room is made by letting the oldest go, for the newest must stay. */
static void give_up(struct log_file *file, int r)
{
    scoped_free char *fresh = fresh_path(file);
    warn(file, "move the front away", r);
    file->rotate_from = loop_now(file->logs->loop) + RETRY_MS;
    if (file->state.stage != STAGE_NONE)
        return;          /* .log.new may be all there is of its lines */
    (void)unlink(fresh); /* may not have come to be */
    int n = count_numbered(file);
    if (n > 0 && r == -ENOSPC)
        remove_numbered(file, n);
}

static int turn(struct logs *logs, struct log_file *file)
{
    struct rotation *rotation = &logs->rotation;
    if (rotation->file == NULL) {
        log_file_look(file);
        int r = file->state.stage != STAGE_NONE ? finish(file) : 0;
        if (r < 0)
            return r;
        if (!log_rotate_is_due(file) || (drop_excess(file) && !log_rotate_is_due(file)))
            return 1;
        r = begin(rotation, file);
        if (r < 0)
            return r;
    }
    int r = copy_some(rotation);
    if (r == 0 && rotation->at == rotation->until)
        r = commit(rotation);
    else if (r == 0)
        return 0;
    return r < 0 ? r : 1;
}

/* 1: done with, 0: to be continued. A file that is still too long queues behind the others. */
void log_rotate_turn(void *arg)
{
    struct logs *logs = arg;
    struct log_file *file = TAILQ_FIRST(&logs->rotations);
    if (file == NULL)
        return;
    int r = turn(logs, file);
    if (r < 0)
        give_up(file, r);
    if (r != 0) {
        bool again = log_rotate_is_due(file);
        file->refs++;
        log_rotate_forget(file);
        if (again)
            log_rotate_ask(file);
        log_file_unref(file);
    }
    if (!TAILQ_EMPTY(&logs->rotations))
        loop_defer(logs->loop, &logs->rotate);
}
