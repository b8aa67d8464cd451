// SPDX-License-Identifier: Apache-2.0
/* GENERATION.log.marks: one record of 64 bytes with the state of the rotation, rewritten in place,
 * then marks of 16 bytes, appended. Numbers are in the byte order of the machine: the file never
 * leaves it. A single write of a record is not torn by the death of this process; a checksum finds
 * what the death of the machine has torn. */
#include "base/hash.h"
#include "base/mem.h"
#include "node/logs_internal.h"
#include "os/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x31474f4c5453554dULL /* "MUSTLOG1" */

#define AT_MAX ((time_ms)1 << 53)

struct head {
    uint64_t magic;
    int64_t base, cut, next, take;
    uint64_t stage;
    uint64_t unused;
    uint64_t sum;
};
_Static_assert(sizeof(struct head) == 64, "the record is written as it is");
_Static_assert(sizeof(struct log_mark) == 16, "marks are written as they are");

static uint64_t sum_of(const struct head *head)
{
    return hash_bytes(HASH_START, head, offsetof(struct head, sum));
}

static struct head head_of(const struct log_state *state)
{
    struct head head = {.magic = MAGIC,
                        .base = state->base,
                        .cut = state->cut,
                        .next = state->next,
                        .take = state->take,
                        .stage = state->stage};
    head.sum = sum_of(&head);
    return head;
}

static bool is_sane(const struct head *head)
{
    return head->magic == MAGIC && head->sum == sum_of(head) && head->stage <= STAGE_COLLAPSE &&
           head->base >= 0 && head->cut >= head->base && head->take >= 0;
}

int log_state_load(const char *path, struct log_state *ret_state, size_t *ret_marks)
{
    struct head head;
    struct stat st;
    *ret_state = (struct log_state){0};
    *ret_marks = 0;
    scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || !is_sane(&head) ||
        fstat(fd, &st) < 0)
        return -EBADMSG;
    *ret_state = (struct log_state){head.base, head.cut, head.next, head.take, head.stage};
    *ret_marks = ((size_t)st.st_size - sizeof(head)) / sizeof(struct log_mark);
    return 0;
}

int log_state_save(const char *path, const struct log_state *state)
{
    struct head head = head_of(state);
    scoped_fd fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
    if (fd < 0)
        return -errno;
    ssize_t n = pwrite(fd, &head, sizeof(head), 0);
    return n == (ssize_t)sizeof(head) ? 0 : n < 0 ? -errno : -ENOSPC;
}

int log_marks_append(const char *path, const struct log_state *state, const struct log_mark *marks,
                     size_t n)
{
    scoped_fd fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && log_state_save(path, state) == 0)
        fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t done = write(fd, marks, n * sizeof(*marks));
    if (done == (ssize_t)(n * sizeof(*marks)))
        return 0;
    int r = done < 0 ? -errno : -ENOSPC;
    if (done > 0) { /* half a mark would shift all that follow */
        off_t end = lseek(fd, 0, SEEK_END);
        if (ftruncate(fd, end - done) < 0)
            r = -errno;
    }
    return r;
}

void log_marks_load(const char *path, struct log_marks *marks)
{
    struct log_mark part[256];
    int64_t last = -1;
    off_t at = sizeof(struct head);
    vec_clear(&marks->list);
    scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    for (ssize_t n; (n = pread(fd, part, sizeof(part), at)) > 0; at += n) {
        for (size_t i = 0; i < (size_t)n / sizeof(part[0]); i++) {
            if (part[i].offset <= last || part[i].at < 0 || part[i].at > AT_MAX)
                continue; /* the search relies on their order, sums on their size */
            last = part[i].offset;
            vec_push(&marks->list, part[i]);
        }
    }
}

int log_marks_rewrite(const char *path, const struct log_state *state,
                      const struct log_marks *marks)
{
    scoped_free char *fresh = mem_printf("%s.new", path);
    struct head head = head_of(state);
    scoped_fd fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (fd < 0)
        return -errno;
    ssize_t bytes = (ssize_t)(marks->list.len * sizeof(marks->list.items[0]));
    bool ok = write(fd, &head, sizeof(head)) == (ssize_t)sizeof(head) &&
              (bytes == 0 || write(fd, marks->list.items, (size_t)bytes) == bytes) &&
              rename(fresh, path) == 0;
    if (ok)
        return 0;
    (void)unlink(fresh);
    return -EIO;
}

/* ---- marks in memory ---- */

static void drop_before(struct log_marks *marks, int64_t oldest)
{
    size_t first = 0;
    while (first < marks->list.len && marks->list.items[first].offset <= oldest)
        first++;
    marks->list.len -= first;
    if (first > 0 && marks->list.len > 0)
        memmove(marks->list.items, marks->list.items + first,
                marks->list.len * sizeof(marks->list.items[0]));
}

/* From the newest to the oldest: a mark goes when the lines that it stood for become no more than
 * one `part`th of their age too young. Clocks that were set back make it stay. */
static size_t drop_near(struct log_mark *marks, size_t n, time_ms now, int64_t part)
{
    size_t kept = n; /* marks[kept..n) stay */
    for (size_t i = n; i-- > 0;) {
        const struct log_mark *newer = kept < n ? &marks[kept] : NULL;
        time_ms gap = newer ? newer->at - marks[i].at : 0;
        time_ms age = newer ? now - newer->at : 0;
        if (newer != NULL && gap >= 0 && age >= 0 && gap <= age / part)
            continue;
        marks[--kept] = marks[i];
    }
    memmove(marks, marks + kept, (n - kept) * sizeof(*marks));
    return n - kept;
}

static size_t drop_every_second(struct log_mark *marks, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (i % 2 == 1 || i + 1 == n)
            marks[kept++] = marks[i];
    }
    return kept;
}

void log_marks_thin(struct log_marks *marks, int64_t oldest, time_ms now)
{
    const size_t wanted = LOG_MARKS_MAX * 3 / 4;
    drop_before(marks, oldest);
    for (int64_t part = 4096; part >= 8 && marks->list.len > wanted; part /= 2)
        marks->list.len = drop_near(marks->list.items, marks->list.len, now, part);
    while (marks->list.len > wanted)
        marks->list.len = drop_every_second(marks->list.items, marks->list.len);
}

time_ms log_marks_time(const struct log_marks *marks, int64_t end, time_ms otherwise)
{
    size_t low = 0, high = marks->list.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (marks->list.items[middle].offset < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low < marks->list.len ? marks->list.items[low].at : otherwise;
}

int64_t log_marks_since(const struct log_marks *marks, time_ms since, int64_t end)
{
    int64_t before = 0;
    for (size_t i = 0; i < marks->list.len; i++) {
        if (marks->list.items[i].at >= since)
            return before;
        before = marks->list.items[i].offset;
    }
    return end;
}
