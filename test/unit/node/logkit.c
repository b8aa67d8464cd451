// SPDX-License-Identifier: Apache-2.0
#include "logkit.h"
#include "os/clock.h"
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000

void kit_open_logs(struct kit *kit)
{
    struct err err = {0};
    if (logs_open(kit->loop, kit->dir, &kit->logs, &err) < 0)
        fail_msg("%s", err.text);
}

void kit_close_logs(struct kit *kit)
{
    logs_close(kit->logs);
    kit->logs = NULL;
}

void kit_open(struct kit *kit, const char *parent)
{
    struct err err = {0};
    const char *tmp = getenv("TMPDIR");
    *kit = (struct kit){0};
    kit->dir = mem_printf("%s/muster-logs-XXXXXX", parent ? parent : tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(kit->dir));
    if (loop_new(&kit->loop, &err) < 0)
        fail_msg("%s", err.text);
    kit_open_logs(kit);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

void kit_close(struct kit *kit)
{
    kit_close_logs(kit);
    loop_free(kit->loop);
    assert_int_equal(nftw(kit->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    mem_free(kit->dir);
}

void kit_limits(struct kit *kit, int64_t bytes, int files)
{
    logs_set_limits(kit->logs, &(struct logs_limits){bytes, files});
}

struct log_name kit_name(uint32_t generation)
{
    return (struct log_name){"ns", "p", "0000-1111", "c", generation};
}

char *kit_begin(struct kit *kit, uint32_t generation)
{
    struct err err = {0};
    char *path = NULL;
    struct log_name name = kit_name(generation);
    if (logs_begin(kit->logs, &name, &path, &err) < 0)
        fail_msg("%s", err.text);
    return path;
}

void kit_end(struct kit *kit, uint32_t generation)
{
    struct log_name name = kit_name(generation);
    logs_end(kit->logs, &name);
}

struct log_file *kit_file(struct kit *kit, uint32_t generation)
{
    char key[64];
    (void)snprintf(key, sizeof(key), "ns_p_0000-1111/c/%u", generation);
    return map_get(kit->logs->files, key);
}

void kit_until(struct kit *kit, bool (*is_so)(void *arg), void *arg)
{
    time_ms limit = clock_monotonic() + PATIENCE_MS;
    while (!is_so(arg)) {
        if (clock_monotonic() > limit)
            fail_msg("it does not come to that");
        loop_turn(kit->loop, 20);
    }
}

static bool is_settled(void *arg)
{
    const struct kit *kit = arg;
    return TAILQ_EMPTY(&kit->logs->rotations);
}

void kit_settle(struct kit *kit)
{
    logs_set_limits(kit->logs, &(struct logs_limits){kit->logs->limits.file_bytes,
                                                     kit->logs->limits.files}); /* looks at all */
    kit_until(kit, is_settled, kit);
}

/* ---- reading ---- */

static bool on_text(void *arg, const char *text, size_t len)
{
    struct sink *sink = arg;
    sink->calls++;
    assert_false(sink->ended);
    if (len == 0) {
        sink->ended = true;
        log_reader_free(take_ptr(sink->reader));
        return true;
    }
    if (sink->refuse)
        return false;
    str_addn(&sink->text, text, len);
    return true;
}

struct log_query kit_query(uint32_t generation)
{
    return (struct log_query){.name = kit_name(generation), .tail_lines = -1};
}

void sink_open(struct sink *sink, struct kit *kit, const struct log_query *query)
{
    struct err err = {0};
    *sink = (struct sink){.kit = kit};
    if (log_reader_new(kit->logs, query, on_text, sink, &sink->reader, &err) < 0)
        fail_msg("%s", err.text);
}

void sink_close(struct sink *sink)
{
    log_reader_free(sink->reader);
    str_done(&sink->text);
}

bool sink_has_ended(void *arg)
{
    const struct sink *sink = arg;
    return sink->ended;
}

struct wish {
    const struct sink *sink;
    size_t len;
};

static bool has_come(void *arg)
{
    const struct wish *wish = arg;
    return wish->sink->text.len >= wish->len;
}

void sink_wants(struct sink *sink, const char *text)
{
    struct wish wish = {sink, strlen(text)};
    kit_until(sink->kit, has_come, &wish);
    assert_string_equal(str_text(&sink->text), text);
}

void kit_read(struct kit *kit, const struct log_query *query, struct str *out)
{
    struct sink sink;
    sink_open(&sink, kit, query);
    kit_until(kit, sink_has_ended, &sink);
    str_addn(out, sink.text.data, sink.text.len);
    sink_close(&sink);
}

/* ---- writing ---- */

void append(const char *path, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    assert_int_equal(close(fd), 0);
}

void append_at(const char *path, const char *text, time_ms at)
{
    struct timespec when = {at / 1000, at % 1000 * 1000000};
    append(path, text, strlen(text));
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){when, when}, 0), 0);
}

static int make_line(char line[128], int number)
{
    return snprintf(line, 128, "line %d %.*s\n", number, number * 7 % 61,
                    "the quick brown fox jumps over the lazy dog and does so again");
}

void add_lines(struct str *out, int first, int count)
{
    char line[128];
    for (int i = first; i < first + count; i++)
        str_addn(out, line, (size_t)make_line(line, i));
}

pid_t start_writer(const char *path, int first, int count)
{
    char line[128];
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    for (int i = first; i < first + count; i++) {
        ssize_t len = make_line(line, i);
        if (write(fd, line, (size_t)len) != len)
            _exit(1);
    }
    _exit(0);
}

bool has_exited(pid_t *pid)
{
    int status = 0;
    if (*pid != 0 && waitpid(*pid, &status, WNOHANG) == *pid) {
        assert_int_equal(status, 0);
        *pid = 0;
    }
    return *pid == 0;
}

bool is_end_of(const struct str *whole, const struct str *part)
{
    return part->len <= whole->len &&
           memcmp(whole->data + whole->len - part->len, str_text(part), part->len) == 0;
}
