// SPDX-License-Identifier: Apache-2.0
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/mem.h"
#include "node/usage.h"
#include "os/clock.h"
#include "os/fd.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define SECOND INT64_C(1000000000)

/* ---- arithmetic ---- */

static void test_average_since_start_then_of_the_window(void **state)
{
    struct usage_track track;
    (void)state;
    usage_track_start(&track, &(struct usage_sample){.at = 10000});
    assert_true(usage_track_is_due(&track, 10000));
    usage_track_feed(&track, &(struct usage_sample){20000, 5 * SECOND, 100});
    assert_int_equal(usage_track_nano(&track), SECOND / 2);
    assert_int_equal(usage_track_window(&track), 10000);
    assert_false(usage_track_is_due(&track, 20999));
    assert_true(usage_track_is_due(&track, 21000));
    usage_track_feed(&track, &(struct usage_sample){22000, 9 * SECOND, 100});
    assert_int_equal(usage_track_nano(&track), 2 * SECOND);
    assert_int_equal(usage_track_window(&track), 2000);
    usage_track_feed(&track, &(struct usage_sample){23000, 9 * SECOND, 100});
    assert_int_equal(usage_track_nano(&track), 0);
}

static void test_odd_samples(void **state)
{
    struct usage_track track;
    (void)state;
    /* Asked at the very moment of its start. */
    usage_track_start(&track, &(struct usage_sample){.at = 50});
    usage_track_feed(&track, &(struct usage_sample){50, 1000000, 0});
    assert_int_equal(usage_track_window(&track), 1);
    assert_int_equal(usage_track_nano(&track), SECOND);
    /* A counter that goes back, a clock that stands. */
    usage_track_feed(&track, &(struct usage_sample){50, 10, 0});
    assert_int_equal(usage_track_nano(&track), 0);
    /* Years of many cores. */
    usage_track_start(&track, &(struct usage_sample){0});
    usage_track_feed(&track, &(struct usage_sample){INT64_C(100000000000), INT64_MAX, 0});
    assert_int_equal(usage_track_nano(&track), INT64_MAX / 100000000);
}

/* ---- real processes ---- */

static char node[64];

struct seen {
    size_t count;
    char name[64];
    struct usage_reading last;
};

static void see(void *arg, const struct usage_reading *reading)
{
    struct seen *seen = arg;
    seen->count++;
    seen->last = *reading;
    (void)snprintf(seen->name, sizeof(seen->name), "%s", reading->name);
}

static struct seen ask_pod(struct usage *usage, const char *uid)
{
    struct usage_source source = usage_port(usage);
    struct seen seen = {0};
    source.pod(source.arg, uid, see, &seen);
    return seen;
}

static pid_t burn(const struct cgroup_door *door)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        (void)close(ends[1]);
        assert_int_equal(read(ends[0], &(char){0}, 1), 1);
        (void)close(ends[0]);
        return pid;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    scoped_free char *v2 = mem_printf("%s/cgroup.procs", door->v2 ? door->v2 : "");
    for (size_t i = 0; i < ARRAY_LEN(door->join); i++) {
        const char *path = i > 0 ? door->join[i - 1] : door->v2 ? v2 : NULL;
        int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
        if (path && write(fd, "0", 1) != 1)
            _exit(99);
    }
    if (write(ends[1], "!", 1) != 1)
        _exit(98);
    for (volatile unsigned n = 0;; n++)
        ;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A loop that does nothing else uses up to a core, how much depends on who else is there. */
static void expect_burning(struct usage *usage)
{
    time_ms begin = clock_monotonic(), deadline = begin + PATIENCE_MS;
    struct seen first = ask_pod(usage, "u1");
    assert_int_equal(first.count, 1);
    assert_string_equal(first.name, "app");
    struct seen same = ask_pod(usage, "u1"); /* too early: what was read before */
    if (clock_monotonic() - begin < 900)     /* on a machine that lets us run */
        assert_int_equal(same.last.window_ms, first.last.window_ms);
    struct seen next = same;
    while ((next.last.window_ms == first.last.window_ms || next.last.cpu_nano == 0) &&
           clock_monotonic() < deadline) {
        (void)poll(NULL, 0, 20);
        next = ask_pod(usage, "u1");
    }
    assert_true(next.last.window_ms >= 900);
    assert_true(next.last.cpu_nano > 0);
    assert_true(next.last.cpu_nano < SECOND * 3 / 2);
    assert_true(next.last.memory_bytes > 4096);
    time_ms age = clock_wall() - next.last.at;
    assert_true(age >= -1 && age < 2000);
}

static void test_container_in_its_control_group(void **state)
{
    struct err err = {0};
    struct cgroup_door door = {0};
    (void)state;
    struct cgroup_tree *tree = cgroup_tree_open("/sys/fs/cgroup", node, NULL);
    if (!cgroup_can(tree).events) {
        cgroup_tree_remove(tree);
        cgroup_tree_close(tree);
        print_message("# skipped: no control groups here\n");
        skip();
    }
    struct usage *usage = usage_new(&(struct usage_options){tree, node, "/proc"});
    struct cgroup_limits none = {0};
    assert_int_equal(cgroup_pod_make(tree, "u1", &none, &err), 0);
    assert_int_equal(cgroup_leaf_make(tree, "u1", "app.g1", &none, &err), 0);
    cgroup_leaf_door(tree, "u1", "app.g1", &door);
    assert_int_equal(ask_pod(usage, "u1").count, 0);
    pid_t pid = burn(&door);
    usage_begin(usage, &(struct usage_unit){"u1", "app", "app.g1", 0, clock_wall()});
    expect_burning(usage);
    usage_end(usage, "u1", "app", "app.g0"); /* a former one */
    assert_int_equal(ask_pod(usage, "u1").count, 1);
    usage_end(usage, "u1", "app", "app.g1");
    assert_int_equal(ask_pod(usage, "u1").count, 0);
    usage_free(usage);
    end(pid);
    cgroup_door_done(&door);
    time_ms deadline = clock_monotonic() + PATIENCE_MS;
    while (!cgroup_leaf_remove(tree, "u1", "app.g1") && clock_monotonic() < deadline)
        (void)poll(NULL, 0, 2);
    cgroup_tree_remove(tree);
    cgroup_tree_close(tree);
}

static void test_process_without_control_groups(void **state)
{
    struct cgroup_door nowhere = {0};
    (void)state;
    struct cgroup_tree *tree = cgroup_tree_open(NULL, node, NULL);
    struct usage *usage = usage_new(&(struct usage_options){tree, node, "/proc"});
    pid_t pid = burn(&nowhere);
    usage_begin(usage, &(struct usage_unit){"u1", "app", NULL, pid, clock_wall()});
    expect_burning(usage);
    /* A new start takes the place of the old one, and one that nobody can see tells nothing. */
    usage_begin(usage, &(struct usage_unit){"u1", "app", NULL, 1 << 30, clock_wall()});
    assert_int_equal(ask_pod(usage, "u1").count, 0);
    usage_begin(usage, &(struct usage_unit){"u1", "side", NULL, pid, clock_wall() - 3600000});
    struct seen side = ask_pod(usage, "u1");
    assert_int_equal(side.count, 1);
    assert_string_equal(side.name, "side");
    assert_true(side.last.window_ms >= 3600000 - 5);
    assert_true(side.last.cpu_nano < SECOND / 10);
    end(pid);
    usage_free(usage);
    cgroup_tree_close(tree);
}

static void test_node(void **state)
{
    struct seen seen = {0};
    (void)state;
    struct cgroup_tree *tree = cgroup_tree_open(NULL, node, NULL);
    struct usage *usage = usage_new(&(struct usage_options){tree, node, "/proc"});
    struct usage_source source = usage_port(usage);
    source.node(source.arg, "another", see, &seen);
    assert_int_equal(seen.count, 0);
    source.node(source.arg, node, see, &seen);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.name, node);
    assert_true(seen.last.memory_bytes > 1 << 20);
    usage_free(usage);
    cgroup_tree_close(tree);
}

static void put(const char *folder, const char *name, const char *text)
{
    struct err err = {0};
    scoped_free char *path = mem_printf("%s/%s", folder, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0644, &err), 0);
}

/* The files of /proc as texts, with the odd ones among them. */
static void test_readings_of_proc(void **state)
{
    char folder[] = "/tmp/test_usage.XXXXXX";
    int64_t tick = SECOND / sysconf(_SC_CLK_TCK);
    struct seen seen = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    scoped_free char *process = mem_printf("%s/7", folder);
    assert_int_equal(mkdir(process, 0755), 0);
    put(folder, "stat", "cpu  0 0 0 0 0 0 0 0 0 0\n");
    put(folder, "meminfo", "MemTotal: 1000 kB\nMemFree: 5 kB\nMemAvailable: 400 kB\n");
    put(process, "stat", "7 (a) b) c) S 1 7 7 0 -1 0 0 0 0 0 10 20 30 40 20 0 1 0 99\n");
    put(process, "statm", "500 12 3 1 0 9 0\n");
    struct cgroup_tree *tree = cgroup_tree_open(NULL, node, NULL);
    struct usage *usage = usage_new(&(struct usage_options){tree, node, folder});
    struct usage_source source = usage_port(usage);
    usage_begin(usage, &(struct usage_unit){"u1", "app", NULL, 7, clock_wall() - 1000000});
    struct seen pod = ask_pod(usage, "u1");
    assert_int_equal(pod.count, 1);
    assert_int_equal(pod.last.memory_bytes, 12 * sysconf(_SC_PAGESIZE));
    int64_t cpu_ns = pod.last.cpu_nano * pod.last.window_ms / 1000;
    assert_true(cpu_ns <= 100 * tick && cpu_ns > 99 * tick);
    put(folder, "stat", "cpu  1 2 3 4000 5000 6 7 8000 9000 1\n");
    source.node(source.arg, node, see, &seen);
    assert_int_equal(seen.last.memory_bytes, 600 * 1024);
    assert_true(seen.last.cpu_nano * seen.last.window_ms / 1000 <= 19 * tick);
    assert_true(seen.last.cpu_nano > 0);
    usage_free(usage);
    cgroup_tree_close(tree);
    static const char *const names[] = {"7/stat", "7/statm", "7", "stat", "meminfo", ""};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        scoped_free char *path = mem_printf("%s/%s", folder, names[i]);
        assert_int_equal(remove(path), 0);
    }
}

/* Who has a part of the machine does not use what others use of it. */
static void test_a_share_uses_what_its_containers_do(void **state)
{
    struct seen seen = {0};
    (void)state;
    struct cgroup_tree *tree = cgroup_tree_open(NULL, node, NULL);
    struct usage *usage = usage_new(&(struct usage_options){tree, node, "/proc", .is_share = true});
    struct usage_source source = usage_port(usage);
    source.node(source.arg, node, see, &seen);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.name, node);
    assert_int_equal(seen.last.memory_bytes, 0);
    assert_int_equal(seen.last.cpu_nano, 0);
    usage_begin(usage, &(struct usage_unit){"u1", "a", NULL, getpid(), clock_wall() - 1000});
    usage_begin(usage, &(struct usage_unit){"u2", "b", NULL, getpid(), clock_wall() - 1000});
    source.node(source.arg, node, see, &seen);
    struct seen one = ask_pod(usage, "u1"), other = ask_pod(usage, "u2");
    assert_true(one.last.memory_bytes > 0);
    assert_int_equal(seen.last.memory_bytes, one.last.memory_bytes + other.last.memory_bytes);
    assert_int_equal(seen.last.cpu_nano, one.last.cpu_nano + other.last.cpu_nano);
    assert_true(seen.last.window_ms >= one.last.window_ms);
    usage_free(usage);
    cgroup_tree_close(tree);
}

int main(void)
{
    (void)snprintf(node, sizeof(node), "test-usage-%d", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_average_since_start_then_of_the_window),
        cmocka_unit_test(test_odd_samples),
        cmocka_unit_test(test_container_in_its_control_group),
        cmocka_unit_test(test_process_without_control_groups),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_readings_of_proc),
        cmocka_unit_test(test_a_share_uses_what_its_containers_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
