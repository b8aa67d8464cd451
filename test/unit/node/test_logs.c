// SPDX-License-Identifier: Apache-2.0
#include "logkit.h"
#include "os/clock.h"
#include "os/fd.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOON 1767268800000 /* 2026-01-01T12:00:00Z */
#define TMPFS 0x01021994

static void read_all(struct kit *kit, uint32_t generation, struct str *out)
{
    struct log_query query = kit_query(generation);
    kit_read(kit, &query, out);
}

static bool numbered_exists(const char *path, int number)
{
    scoped_free char *name = mem_printf("%s.%d", path, number);
    return file_exists(name);
}

static int64_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

/* ---- rotation ---- */

static bool is_written(void *arg)
{
    return has_exited(arg);
}

/* Three writers at once, as fast as they can, while the front is taken away all the time. With
 * room for everything, everything is there: each line once, each writer's in order. */
static void rotate_under_fire(const char *parent)
{
    enum { WRITERS = 3, LINES = 40000 };
    struct kit kit;
    kit_open(&kit, parent);
    kit_limits(&kit, 64 * 1024, 1000);
    scoped_free char *path = kit_begin(&kit, 1);
    pid_t pids[WRITERS];
    for (int w = 0; w < WRITERS; w++)
        pids[w] = start_writer(path, w * LINES, LINES);
    for (int w = 0; w < WRITERS; w++)
        kit_until(&kit, is_written, &pids[w]);
    kit_settle(&kit);
    assert_true(numbered_exists(path, 20));
    scoped_str text = {0};
    read_all(&kit, 1, &text);
    int next[WRITERS] = {0};
    struct sv rest = {str_text(&text), text.len};
    char wanted[64];
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        assert_true(sv_starts(line, "line "));
        int number = (int)strtol(line.ptr + 5, NULL, 10);
        assert_true(number >= 0 && number < WRITERS * LINES);
        int w = number / LINES;
        (void)snprintf(wanted, sizeof(wanted), "line %d ", w * LINES + next[w]++);
        if (!sv_starts(line, wanted))
            fail_msg("wanted '%s', got '%.*s'", wanted, (int)line.len, line.ptr);
    }
    for (int w = 0; w < WRITERS; w++)
        assert_int_equal(next[w], LINES);
    scoped_str all = {0}; /* the lines themselves are whole, too */
    for (int w = 0; w < WRITERS; w++)
        add_lines(&all, w * LINES, LINES);
    assert_int_equal(text.len, all.len);
    kit_close(&kit);
}

static void test_writers_lose_nothing(void **state)
{
    (void)state;
    rotate_under_fire(NULL);
}

static bool is_tmpfs(void)
{
    struct statfs fs;
    return statfs("/dev/shm", &fs) == 0 && fs.f_type == TMPFS;
}

/* tmpfs cannot take a range out of a file, only free it. */
static void test_writers_lose_nothing_with_holes(void **state)
{
    (void)state;
    if (!is_tmpfs())
        skip();
    rotate_under_fire("/dev/shm");
    struct kit kit;
    kit_open(&kit, "/dev/shm");
    kit_limits(&kit, 64 * 1024, 2);
    scoped_free char *path = kit_begin(&kit, 1);
    scoped_str all = {0}, text = {0};
    add_lines(&all, 0, 30000);
    for (size_t at = 0; at < all.len; at += 50000) {
        append(path, all.data + at, all.len - at < 50000 ? all.len - at : 50000);
        kit_settle(&kit);
    }
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, all.len);
    assert_true(st.st_blocks * 512 < 3 * 64 * 1024);
    kit_close_logs(&kit);
    kit_open_logs(&kit);
    read_all(&kit, 1, &text);
    assert_true(text.len > 2 * 60 * 1024);
    assert_true(is_end_of(&all, &text));
    kit_close(&kit);
}

static void test_what_is_kept(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    kit_limits(&kit, 32 * 1024, 3);
    scoped_free char *path = kit_begin(&kit, 1);
    scoped_str all = {0};
    add_lines(&all, 0, 20000);
    for (size_t at = 0; at < all.len; at += 10000) {
        append(path, all.data + at, all.len - at < 10000 ? all.len - at : 10000);
        kit_settle(&kit);
    }
    assert_true(numbered_exists(path, 3));
    assert_false(numbered_exists(path, 4));
    scoped_str text = {0};
    read_all(&kit, 1, &text);
    assert_true(is_end_of(&all, &text));
    assert_true(text.len > 3 * 31 * 1024);
    assert_true(text.len < 4 * 32 * 1024 + 10000);
    assert_true(size_of(path) < 32 * 1024 + 10000 + 4096);
    for (int i = 1; i <= 3; i++) { /* each file: whole lines */
        scoped_free char *name = mem_printf("%s.%d", path, i);
        scoped_str part = {0};
        assert_int_equal(file_read(name, 1 << 20, &part, NULL), 0);
        assert_memory_equal(part.data, "line ", 5);
        assert_int_equal(part.data[part.len - 1], '\n');
        assert_true(part.len <= 32 * 1024);
    }
    kit_close(&kit);
}

/* Nobody was there for long: the newest files x bytes are kept, without copying the rest. */
static void test_too_long_at_the_start(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    scoped_free char *path = kit_begin(&kit, 1);
    kit_close_logs(&kit);
    scoped_str all = {0}, text = {0};
    add_lines(&all, 0, 100000);
    append(path, all.data, all.len);
    kit_open_logs(&kit);
    kit_limits(&kit, 64 * 1024, 2);
    mem_free(kit_begin(&kit, 1));
    kit_settle(&kit);
    read_all(&kit, 1, &text);
    assert_true(is_end_of(&all, &text));
    assert_memory_equal(text.data, "line ", 5);
    assert_true(text.len > 2 * 64 * 1024 - 256 && text.len <= 3 * 64 * 1024);
    kit_close(&kit);
}

static void test_no_older_files_at_all(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    kit_limits(&kit, 16 * 1024, 0);
    scoped_free char *path = kit_begin(&kit, 1);
    scoped_str all = {0}, text = {0};
    add_lines(&all, 0, 5000);
    append(path, all.data, all.len);
    kit_settle(&kit);
    assert_false(numbered_exists(path, 1));
    read_all(&kit, 1, &text);
    assert_true(is_end_of(&all, &text));
    assert_true(text.len > 15 * 1024 && text.len < 17 * 1024);
    kit_close(&kit);
}

/* A container may cut off its own log: what comes then is seen, and followers go on. */
static void test_container_truncates(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    kit_limits(&kit, 8192, 5);
    scoped_free char *path = kit_begin(&kit, 1);
    scoped_str all = {0}, text = {0};
    add_lines(&all, 0, 1000);
    append(path, all.data, all.len);
    kit_settle(&kit);
    struct sink sink;
    struct log_query query = kit_query(1);
    query.follow = true;
    query.tail_lines = 0;
    sink_open(&sink, &kit, &query);
    loop_turn(kit.loop, 0);
    assert_int_equal(truncate(path, 0), 0);
    append(path, "anew\n", 5);
    log_file_look(kit_file(&kit, 1));
    sink_wants(&sink, "anew\n");
    read_all(&kit, 1, &text);
    assert_true(str_ends(str_text(&text), "\nanew\n"));
    assert_true(text.len > 8192); /* what had been moved away is still there */
    text.len -= strlen("anew\n");
    assert_non_null(memmem(all.data, all.len, text.data, text.len));
    sink_close(&sink);
    kit_close(&kit);
}

/* ---- death at every step ---- */

#define DEATH_BYTES 8192

struct death {
    const char *parent;
    bool alike; /* all lines: the worst for anything that would compare */
    int files;  /* 4: all is kept; 2: the oldest goes while the others are shifted */
    int steps;
};

/* The child: one life of a supervisor, which rotates what is too long. */
static void live(const char *dir, const struct death *death)
{
    struct kit kit = {.dir = (char *)dir};
    struct err err = {0};
    if (loop_new(&kit.loop, &err) < 0 || logs_open(kit.loop, dir, &kit.logs, &err) < 0)
        _exit(3);
    kit_limits(&kit, DEATH_BYTES, death->files);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        _exit(2);
    (void)raise(SIGSTOP);
    mem_free(kit_begin(&kit, 1));
    while (!TAILQ_EMPTY(&kit.logs->rotations))
        loop_turn(kit.loop, 0);
    _exit(0);
}

/* Lets the child make this many steps into and out of system calls, then kills it. True: it came
 * to its end before that. */
static bool kill_after(const char *dir, const struct death *death, int steps)
{
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        live(dir, death);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (int i = 0; i < steps && WIFSTOPPED(status); i++) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    if (!WIFSTOPPED(status)) {
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        return true;
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return false;
}

static void check_kept(struct kit *kit, const struct death *death, const struct str *all)
{
    scoped_str text = {0};
    size_t least = death->files >= 4 ? all->len : (size_t)death->files * (DEATH_BYTES - 128);
    read_all(kit, 1, &text);
    if (text.len < least || !is_end_of(all, &text))
        fail_msg("killed after %d steps: %zu of %zu bytes", death->steps, text.len, all->len);
}

static void whole_life(struct kit *kit, const struct death *death)
{
    kit_open_logs(kit);
    kit_limits(kit, DEATH_BYTES, death->files);
    mem_free(kit_begin(kit, 1));
    kit_settle(kit);
}

/* A first life makes some files, the second one is killed, the third must find all in order. */
static bool die_once(const struct death *death)
{
    struct kit kit;
    scoped_str all = {0};
    kit_open(&kit, death->parent);
    scoped_free char *path = kit_begin(&kit, 1);
    kit_close_logs(&kit);
    for (int i = 0; death->alike && i < 5000; i++)
        str_add(&all, "the same\n");
    add_lines(&all, 0, 1100);
    size_t first = DEATH_BYTES * 5 / 2, second = DEATH_BYTES * 3 / 2;
    append(path, all.data, first);
    whole_life(&kit, death);
    kit_close_logs(&kit);
    append(path, all.data + first, second);
    all.len = first + second;
    bool survived = kill_after(kit.dir, death, death->steps);
    whole_life(&kit, death);
    check_kept(&kit, death, &all);
    scoped_free char *fresh = mem_printf("%s.new", path);
    assert_false(file_exists(fresh));
    kit_close(&kit);
    return survived;
}

static void die_often(struct death death, int stride)
{
    while (!die_once(&death))
        death.steps += stride;
    assert_true(death.steps > 80);
}

/* What was copied, shifted or freed when the supervisor was killed is neither lost nor doubled. */
static void test_killed_at_each_step(void **state)
{
    (void)state;
    die_often((struct death){.files = 4}, 2); /* into a call, out of it */
    die_often((struct death){.files = 4, .alike = true}, 10);
    die_often((struct death){.files = 2}, 10);
}

static void test_killed_with_holes(void **state)
{
    (void)state;
    if (!is_tmpfs())
        skip();
    die_often((struct death){.parent = "/dev/shm", .files = 4}, 10);
}

/* ---- state and marks ---- */

static void test_broken_state(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    scoped_free char *path = kit_begin(&kit, 1);
    append(path, "kept\n", 5);
    kit_close_logs(&kit);
    scoped_free char *marks = mem_printf("%s.marks", path);
    struct log_state loaded;
    size_t count = 9;
    assert_int_equal(log_state_load(marks, &loaded, &count), 0);
    assert_int_equal(count, 1);
    int fd = open(marks, O_WRONLY);
    assert_int_equal(pwrite(fd, "\xff", 1, 9), 1); /* one bit of `base` */
    assert_int_equal(close(fd), 0);
    assert_int_equal(log_state_load(marks, &loaded, &count), -EBADMSG);
    scoped_str text = {0};
    kit_open_logs(&kit);
    read_all(&kit, 1, &text);
    assert_string_equal(str_text(&text), "kept\n");
    assert_int_equal(unlink(marks), 0);
    str_clear(&text);
    read_all(&kit, 1, &text);
    assert_string_equal(str_text(&text), "kept\n");
    kit_close(&kit);
}

/* A hundred marks a second for a day: their number is bounded, and a line is told to be younger
 * than it is by a small part of its age at most. */
static void test_marks_stay_few_and_near(void **state)
{
    (void)state;
    struct log_marks marks = {0};
    const int64_t day = 24 * 3600 * 100;
    for (int64_t i = 1; i <= day; i++) {
        vec_push(&marks.list, ((struct log_mark){i, NOON + i * 10}));
        if (marks.list.len > LOG_MARKS_MAX)
            log_marks_thin(&marks, 0, NOON + i * 10);
        assert_true(marks.list.len <= LOG_MARKS_MAX);
    }
    for (int64_t i = 1; i <= day; i += 997) {
        time_ms told = log_marks_time(&marks, i, 0), age = (day - i) * 10;
        time_ms late = told - (NOON + i * 10);
        if (late < 0 || late > 20 + age / 50)
            fail_msg("%lld ms old: %lld ms late", (long long)age, (long long)late);
    }
    for (int64_t i = 1; i < day; i += 9973) { /* nothing that is young enough is left out */
        int64_t from = log_marks_since(&marks, NOON + i * 10, day);
        assert_true(from < i);
    }
    log_marks_thin(&marks, day / 2, NOON + day * 10);
    assert_true(marks.list.items[0].offset > day / 2);
    vec_done(&marks.list);
}

static void test_marks_of_a_clock_set_back(void **state)
{
    (void)state;
    struct log_marks marks = {0};
    for (int64_t i = 1; i <= 20000; i++) {
        vec_push(&marks.list, ((struct log_mark){i, NOON - i * 1000}));
        if (marks.list.len > LOG_MARKS_MAX)
            log_marks_thin(&marks, 0, NOON - i * 1000);
    }
    assert_true(marks.list.len <= LOG_MARKS_MAX);
    assert_int_equal(vec_last(&marks.list)->offset, 20000);
    vec_done(&marks.list);
}

static bool has_mark(void *arg)
{
    struct log_file *file = arg;
    return file->marked == file->end && file->end > 0;
}

/* The marks of a container that writes for long take no more room than they may. */
static void test_marks_file_is_bounded(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    scoped_free char *path = kit_begin(&kit, 1);
    struct log_file *file = kit_file(&kit, 1);
    for (int i = 0; i < 10000; i++) {
        append_at(path, "x\n", NOON + i * 1000);
        log_file_look(file);
    }
    kit_end(&kit, 1);
    scoped_free char *marks = mem_printf("%s.marks", path);
    assert_true(size_of(marks) <= (int64_t)(64 + LOG_MARKS_MAX * sizeof(struct log_mark)));
    scoped_str text = {0};
    struct log_query query = kit_query(1);
    query.tail_lines = 1;
    query.timestamps = true;
    kit_read(&kit, &query, &text);
    assert_string_equal(str_text(&text), "2026-01-01T14:46:39.000Z x\n");
    kit_close(&kit);
}

/* ---- watching ---- */

static size_t count_descriptors(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    (void)closedir(dir);
    return n;
}

static void test_thousands(void **state)
{
    (void)state;
    enum { FILES = 5000 };
    struct kit kit;
    kit_open(&kit, is_tmpfs() ? "/dev/shm" : NULL); /* a busy disk makes folders slowly */
    size_t before = count_descriptors();
    scoped_free char **paths = mem_zalloc(FILES * sizeof(*paths));
    for (int i = 0; i < FILES; i++) {
        char pod[16];
        struct err err = {0};
        (void)snprintf(pod, sizeof(pod), "p%d", i);
        struct log_name name = {"ns", pod, "u", "c", 1};
        assert_int_equal(logs_begin(kit.logs, &name, &paths[i], &err), 0);
    }
    assert_int_equal(count_descriptors(), before);
    for (int i = 0; i < FILES; i++)
        append(paths[i], "hello\n", 6);
    for (int i = 0; i < FILES; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "ns_p%d_u/c/1", i);
        kit_until(&kit, has_mark, map_get(kit.logs->files, key));
        mem_free(paths[i]);
    }
    assert_int_equal(count_descriptors(), before);
    kit_close(&kit);
}

/* No inotify: sizes are asked for, a follower waits a second at most. */
static void test_without_inotify(void **state)
{
    (void)state;
    struct kit kit;
    struct rlimit old, none;
    kit_open(&kit, NULL);
    kit_close_logs(&kit);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    kit_open_logs(&kit);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(kit.logs->inotify, -1);
    scoped_free char *path = kit_begin(&kit, 1);
    append(path, "read\n", 5);
    scoped_str text = {0};
    read_all(&kit, 1, &text); /* nobody has looked since */
    assert_string_equal(str_text(&text), "read\n");
    struct sink sink;
    struct log_query query = kit_query(1);
    query.follow = true;
    sink_open(&sink, &kit, &query);
    sink_wants(&sink, "read\n");
    append(path, "followed\n", 9);
    sink_wants(&sink, "read\nfollowed\n");
    append(path, "again\n", 6);
    sink_wants(&sink, "read\nfollowed\nagain\n");
    sink_close(&sink);
    kit_close(&kit);
}

/* The times of lines are those of the writes, not of when we came to look. */
static void test_times_while_away(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    scoped_free char *path = kit_begin(&kit, 1);
    append_at(path, "seen\n", NOON);
    log_file_look(kit_file(&kit, 1));
    kit_close_logs(&kit);
    append(path, "away 1\n", 7);
    append_at(path, "away 2\n", NOON + 60000);
    kit_open_logs(&kit);
    mem_free(kit_begin(&kit, 1));
    append_at(path, "back\n", NOON + 90000);
    log_file_look(kit_file(&kit, 1));
    scoped_str text = {0};
    struct log_query query = kit_query(1);
    query.timestamps = true;
    kit_read(&kit, &query, &text);
    assert_string_equal(str_text(&text),
                        "2026-01-01T12:00:00.000Z seen\n2026-01-01T12:01:00.000Z away 1\n"
                        "2026-01-01T12:01:00.000Z away 2\n2026-01-01T12:01:30.000Z back\n");
    kit_close(&kit);
}

/* ---- names and generations ---- */

static void test_names(void **state)
{
    (void)state;
    static char long_pod[254];
    memset(long_pod, 'p', sizeof(long_pod) - 1);
    static const struct {
        struct log_name name;
        int result;
    } NAMES[] = {
        {{"ns", "pod", "uid", "c", 1}, 0},
        {{"a-namespace-of-many-letters", long_pod, "123e4567-e89b-12d3-a456-426614174000", "c", 1},
         0},
        {{"ns", "pod", "uid", "c", 0}, -EINVAL},
        {{"ns", "../pod", "uid", "c", 1}, -EINVAL},
        {{"ns", "pod", "..", "c", 1}, -EINVAL},
        {{"ns", "pod", "uid", "..", 1}, -EINVAL},
        {{"ns", "pod", "", "c", 1}, -EINVAL},
        {{"ns", "pod", "uid", NULL, 1}, -EINVAL},
        {{"ns", "pod", long_pod, "c", 1}, -ENAMETOOLONG},
    };
    struct kit kit;
    kit_open(&kit, NULL);
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        struct err err = {0};
        scoped_free char *path = NULL;
        int r = logs_begin(kit.logs, &NAMES[i].name, &path, &err);
        if (r != NAMES[i].result)
            fail_msg("row %zu: %d %s", i, r, err.text);
        if (r == 0)
            assert_true(file_exists(path) && str_ends(path, "/c/1.log"));
    }
    kit_close(&kit);
}

static bool is_gone(void *path)
{
    return !file_exists(path);
}

static void test_trim_and_remove(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    kit_limits(&kit, 8192, 2);
    scoped_str all = {0};
    add_lines(&all, 0, 400);
    for (uint32_t i = 1; i <= 4; i++) {
        char *path = kit_begin(&kit, i);
        append(path, all.data, all.len);
        kit_settle(&kit);
        kit_end(&kit, i);
        mem_free(path);
    }
    struct log_name name = kit_name(4);
    scoped_free char *folder = mem_printf("%s/ns_p_0000-1111/c", kit.dir);
    scoped_free char *left = mem_printf("%s/2.log.1", folder);
    kit_until(&kit, is_gone, left); /* when nobody has begun for a while */
    assert_int_equal(log_generation(folder, UINT32_MAX), 4);
    assert_int_equal(log_generation(folder, 3), 3);
    assert_int_equal(log_generation(folder, 2), 0);
    mem_free(kit_begin(&kit, 5));
    struct sink sink;
    struct log_query query = kit_query(5);
    query.follow = true;
    sink_open(&sink, &kit, &query);
    loop_turn(kit.loop, 0);
    logs_remove_pod(kit.logs, &name);
    kit_until(&kit, sink_has_ended, &sink);
    sink_close(&sink);
    scoped_free char *pod = mem_printf("%s/ns_p_0000-1111", kit.dir);
    assert_false(file_exists(pod));
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writers_lose_nothing),
        cmocka_unit_test(test_writers_lose_nothing_with_holes),
        cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_too_long_at_the_start),
        cmocka_unit_test(test_no_older_files_at_all),
        cmocka_unit_test(test_container_truncates),
        cmocka_unit_test(test_killed_at_each_step),
        cmocka_unit_test(test_killed_with_holes),
        cmocka_unit_test(test_broken_state),
        cmocka_unit_test(test_marks_stay_few_and_near),
        cmocka_unit_test(test_marks_of_a_clock_set_back),
        cmocka_unit_test(test_marks_file_is_bounded),
        cmocka_unit_test(test_thousands),
        cmocka_unit_test(test_without_inotify),
        cmocka_unit_test(test_times_while_away),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_trim_and_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
