// SPDX-License-Identifier: Apache-2.0
/* Reads one generation from where the query says to its end, or on and on while it is followed. A
 * reader has a logical offset and no descriptor, so rotations do not concern it; when it is so
 * slow that lines vanish before it came to them, it goes on with the oldest there are.
 *
 * With timestamps a line is stamped with the time of its end; one that is not complete yet waits
 * for it, or for 64 KiB of it, or for the end of its container. */
#include "base/mem.h"
#include "node/logs_internal.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

#define PIECE_BYTES 65536
#define PIECES_A_TURN 4

struct log_reader {
    LIST_ENTRY(log_reader) siblings;
    struct logs *logs;
    struct log_file *file;
    log_text_fn *fn;
    void *arg;
    int64_t pos;
    int64_t until; /* not following: the end as it was */
    int64_t left;  /* bytes that may still be given; -1: any number */
    bool follow, timestamps;
    bool in_line;   /* the stamp of the line at `pos` is out */
    bool is_paused; /* by fn */
    bool is_done;
    struct str text; /* composed, not yet taken */
    struct loop_task task;
};

/* ---- where to begin ---- */

static int find_file(struct logs *logs, const struct log_query *query, struct log_file **ret_file,
                     struct err *err)
{
    scoped_str key = {0};
    int r = log_key(&query->name, &key, err);
    if (r < 0)
        return r;
    scoped_free char *folder = mem_printf("%s/%s", logs->dir, str_text(&key));
    uint32_t generation = query->name.generation;
    generation = log_generation(folder, generation > 0 ? generation : UINT32_MAX);
    if (query->previous && generation > 0) {
        uint32_t asked = query->name.generation;
        generation = log_generation(folder, (asked > 0 ? asked : generation) - 1);
    }
    if (generation == 0)
        return err_set(err, -ENOENT, "there is no log of container '%s'", query->name.container);
    str_addf(&key, "/%u", generation);
    return log_file_get(logs, str_text(&key), ret_file, err);
}

static int64_t find_start(struct log_file *file, const struct log_query *query)
{
    int64_t start = log_span_oldest(file);
    if (query->since > 0) {
        log_file_use_marks(file);
        int64_t since = log_marks_since(&file->marks, query->since, file->end);
        log_file_leave_marks(file);
        /* A line that was begun before and completed after is of the time of its end. */
        since = since < file->end ? log_span_line(file, since, start) : since;
        start = since > start ? since : start;
    }
    if (query->tail_lines >= 0) {
        int64_t tail = log_span_tail(file, file->end, query->tail_lines);
        start = tail > start ? tail : start;
    }
    return start;
}

/* ---- composing ---- */

static void add_stamp(struct log_reader *reader, int64_t end)
{
    const struct log_file *file = reader->file;
    rfc3339_format_ms(log_marks_time(&file->marks, end, file->changed_at), &reader->text);
    str_addc(&reader->text, ' ');
}

/* Whether an unfinished line of this length is to be shown as it is. */
static bool shows_part(const struct log_reader *reader, size_t len)
{
    return len == PIECE_BYTES || !reader->follow || !reader->file->is_live;
}

/* Adds the lines of a piece with their stamps; how many bytes of it were used. */
static size_t stamp_lines(struct log_reader *reader, const char *piece, size_t len)
{
    size_t used = 0;
    while (used < len) {
        const char *newline = memchr(piece + used, '\n', len - used);
        size_t next = newline ? (size_t)(newline - piece) + 1 : len;
        bool last = newline == NULL;
        /* What does not begin the piece is read again, whole, with the next one. */
        bool wait = last && (used > 0 ? len == PIECE_BYTES : false);
        if (last && !reader->in_line && (wait || !shows_part(reader, next - used)))
            return used;
        if (!reader->in_line)
            add_stamp(reader, reader->pos + (int64_t)next);
        str_addn(&reader->text, piece + used, next - used);
        reader->in_line = last;
        used = next;
    }
    return used;
}

/* Takes the next piece into `text`; false: there is none now. */
static bool compose(struct log_reader *reader)
{
    char piece[PIECE_BYTES];
    const struct log_file *file = reader->file;
    if (reader->pos > file->end) {
        reader->pos = file->state.cut; /* it was cut off and began anew */
        reader->in_line = false;
    }
    int64_t before = reader->pos;
    size_t len = log_span_read(file, &reader->pos, piece, sizeof(piece));
    if (reader->pos != before)
        reader->in_line = false; /* the rest of its line is gone */
    if (!reader->follow && reader->pos + (int64_t)len > reader->until)
        len = reader->until > reader->pos ? (size_t)(reader->until - reader->pos) : 0;
    size_t used = len;
    if (reader->timestamps)
        used = stamp_lines(reader, piece, len);
    else
        str_addn(&reader->text, piece, len);
    reader->pos += (int64_t)used;
    return used > 0;
}

/* ---- giving ---- */

static void finish(struct log_reader *reader)
{
    reader->is_done = true;
    (void)reader->fn(reader->arg, "", 0); /* may free the reader */
}

/* True when the text was taken. */
static bool give(struct log_reader *reader)
{
    size_t len = reader->text.len;
    if (reader->left >= 0 && (int64_t)len > reader->left)
        len = (size_t)reader->left;
    if (len > 0 && !reader->fn(reader->arg, reader->text.data, len)) {
        reader->is_paused = true;
        return false;
    }
    str_clear(&reader->text);
    if (reader->left >= 0)
        reader->left -= (int64_t)len;
    return true;
}

static bool is_at_end(const struct log_reader *reader)
{
    return !reader->follow || !reader->file->is_live;
}

static void pump(void *arg)
{
    struct log_reader *reader = arg;
    for (int i = 0; i < PIECES_A_TURN; i++) {
        if (reader->is_paused || reader->is_done)
            return;
        if (reader->left == 0) {
            finish(reader);
            return;
        }
        if (reader->text.len == 0 && !compose(reader)) {
            if (is_at_end(reader))
                finish(reader);
            return; /* else log_file_look() wakes us */
        }
        if (!give(reader))
            return;
    }
    loop_defer(reader->logs->loop, &reader->task);
}

void log_readers_wake(struct log_file *file)
{
    struct log_reader *reader;
    LIST_FOREACH(reader, &file->readers, siblings)
    {
        if (!reader->is_paused && !reader->is_done)
            loop_defer(reader->logs->loop, &reader->task);
    }
}

/* ---- the caller's side ---- */

/* What to read, whom to tell, and both ways out. NOLINTNEXTLINE(readability-function-size) */
int log_reader_new(struct logs *logs, const struct log_query *query, log_text_fn *fn, void *arg,
                   struct log_reader **ret, struct err *err)
{
    struct log_file *file = NULL;
    int r = find_file(logs, query, &file, err);
    if (r < 0)
        return r;
    assert(file != NULL);
    log_file_look(file);
    struct log_reader *reader = mem_zalloc(sizeof(*reader));
    reader->logs = logs;
    reader->file = file;
    reader->fn = fn;
    reader->arg = arg;
    reader->follow = query->follow;
    reader->timestamps = query->timestamps;
    reader->left = query->limit_bytes > 0 ? query->limit_bytes : -1;
    reader->pos = find_start(file, query);
    reader->until = file->end;
    if (reader->timestamps)
        log_file_use_marks(file);
    loop_task_init(&reader->task, pump, reader);
    LIST_INSERT_HEAD(&file->readers, reader, siblings);
    if (reader->follow)
        log_file_follow(file);
    loop_defer(logs->loop, &reader->task);
    *ret = reader;
    return 0;
}

void log_reader_resume(struct log_reader *reader)
{
    if (!reader->is_paused)
        return;
    reader->is_paused = false;
    loop_defer(reader->logs->loop, &reader->task);
}

void log_reader_free(struct log_reader *reader)
{
    if (reader == NULL)
        return;
    loop_task_cancel(reader->logs->loop, &reader->task);
    LIST_REMOVE(reader, siblings);
    if (reader->timestamps)
        log_file_leave_marks(reader->file);
    log_file_unref(reader->file);
    str_done(&reader->text);
    mem_free(reader);
}
