// SPDX-License-Identifier: Apache-2.0
/* The bytes of a generation as one, over the live file and the numbered ones. Files are opened for
 * each piece: nothing is held open, and a rotation between two pieces needs no word. */
#include "base/mem.h"
#include "node/logs_internal.h"
#include "os/fd.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES 65536

static int64_t size_of(const struct log_file *file, int number)
{
    struct stat st;
    scoped_free char *path = log_numbered(file, number);
    return stat(path, &st) == 0 ? st.st_size : -1;
}

int64_t log_span_oldest(const struct log_file *file)
{
    int64_t oldest = file->state.cut;
    for (int i = 1;; i++) {
        int64_t size = size_of(file, i);
        if (size < 0)
            return oldest > 0 ? oldest : 0;
        oldest -= size;
    }
}

static size_t read_from(const char *path, int64_t at, char *to, size_t len)
{
    scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = pread(fd, to, len, at);
    return n > 0 ? (size_t)n : 0;
}

/* From the numbered file that `*pos` is in; behind a gap the nearest byte there is. */
static size_t read_numbered(const struct log_file *file, int64_t *pos, char *to, size_t len)
{
    int64_t begin = file->state.cut;
    int number = 0;
    while (begin > *pos) {
        int64_t size = size_of(file, number + 1);
        if (size < 0)
            break;
        number++;
        begin -= size;
    }
    if (begin > *pos)
        *pos = begin;
    if (number == 0)
        return 0; /* it has become the live file's */
    scoped_free char *path = log_numbered(file, number);
    return read_from(path, *pos - begin, to, len);
}

static size_t read_piece(const struct log_file *file, int64_t *pos, char *to, size_t len)
{
    const struct log_state *state = &file->state;
    if (*pos < state->cut) {
        size_t n = read_numbered(file, pos, to, len);
        if (n > 0 || *pos < state->cut)
            return n;
    }
    if (*pos >= file->end)
        return 0;
    if ((int64_t)len > file->end - *pos)
        len = (size_t)(file->end - *pos);
    return read_from(file->path, *pos - state->base, to, len);
}

size_t log_span_read(const struct log_file *file, int64_t *pos, char *to, size_t len)
{
    size_t done = read_piece(file, pos, to, len);
    while (done > 0 && done < len) {
        int64_t at = *pos + (int64_t)done;
        size_t n = read_piece(file, &at, to + done, len - done);
        if (n == 0 || at != *pos + (int64_t)done)
            break;
        done += n;
    }
    return done;
}

/* Goes back from `end` until `newlines` of them were seen; the offset behind the last one seen, or
 * `oldest`. */
static int64_t walk_back(const struct log_file *file, int64_t end, int64_t newlines, int64_t oldest)
{
    scoped_free char *piece = mem_alloc(PIECE_BYTES);
    while (end > oldest) {
        int64_t begin = end - oldest > PIECE_BYTES ? end - PIECE_BYTES : oldest;
        int64_t at = begin;
        size_t len = log_span_read(file, &at, piece, (size_t)(end - begin));
        if (at != begin || (int64_t)len != end - begin)
            return at > end ? end : at; /* files are missing: what is left begins here */
        for (const char *hit; (hit = memrchr(piece, '\n', len)) != NULL;) {
            len = (size_t)(hit - piece);
            if (--newlines == 0)
                return begin + (int64_t)len + 1;
        }
        end = begin;
    }
    return oldest;
}

int64_t log_span_line(const struct log_file *file, int64_t pos, int64_t floor)
{
    return walk_back(file, pos, 1, floor);
}

int64_t log_span_tail(const struct log_file *file, int64_t end, int64_t lines)
{
    char last = 0;
    int64_t at = end - 1;
    if (lines <= 0 || end <= 0)
        return end;
    /* A newline at the very end ends the last line, and begins none. */
    bool whole = log_span_read(file, &at, &last, 1) == 1 && last == '\n';
    return walk_back(file, whole ? end - 1 : end, lines, log_span_oldest(file));
}
