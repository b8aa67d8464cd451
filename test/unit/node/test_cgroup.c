// SPDX-License-Identifier: Apache-2.0
/* Real control groups of this machine, below muster.slice/test-cgroup-PID; where none can be made
 * the tests skip and say why. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/mem.h"
#include "node/cgroup_internal.h"
#include "os/clock.h"
#include "os/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define NOTHING (&(struct cgroup_limits){0})

static char node[64];

/* Asks again and again; a test that hangs fails after a minute. */
#define eventually(condition)                                                                      \
    do {                                                                                           \
        time_ms deadline_ = clock_monotonic() + PATIENCE_MS;                                       \
        while (!(condition)) {                                                                     \
            if (clock_monotonic() > deadline_)                                                     \
                fail_msg("never became true: %s", #condition);                                     \
            (void)poll(NULL, 0, 2);                                                                \
        }                                                                                          \
    } while (0)

#define needs(tree, what)                                                                          \
    do {                                                                                           \
        if (!cgroup_can(tree).what) {                                                              \
            print_message("# skipped: no control groups for %s here\n", #what);                    \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static void reap_all(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

static void end_leaf(void *arg, const char *pod, const char *leaf)
{
    struct cgroup_tree *tree = arg;
    assert_int_equal(cgroup_leaf_kill(tree, pod, leaf), 0);
    eventually((reap_all(), !cgroup_leaf_is_populated(tree, pod, leaf)));
    eventually(cgroup_leaf_remove(tree, pod, leaf));
}

static int setup(void **state)
{
    scoped_str why = {0};
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    *state = cgroup_tree_open("/sys/fs/cgroup", node, &why);
    if (why.len > 0)
        print_message("# %s\n", str_text(&why));
    return 0;
}

static void expect_gone(const struct cgroup_tree *tree)
{
    for (size_t i = 0; i < tree->len; i++)
        if (access(tree->items[i].dir, F_OK) == 0)
            fail_msg("left behind: %s", tree->items[i].dir);
}

static int teardown(void **state)
{
    struct cgroup_tree *tree = *state;
    cgroup_each_leaf(tree, end_leaf, tree);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    cgroup_tree_remove(tree);
    expect_gone(tree);
    cgroup_tree_close(tree);
    return 0;
}

/* A child that goes through the door, tells so by one byte, and does its work. */
struct child {
    pid_t pid;
    int from; /* what it writes */
};

static void write_pid(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1)
        _exit(99);
    (void)close(fd);
}

static void enter(const struct cgroup_door *door)
{
    for (size_t i = 0; door->join[i]; i++)
        write_pid(door->join[i]);
    if (!door->v2)
        return;
    scoped_free char *path = mem_printf("%s/cgroup.procs", door->v2);
    write_pid(path);
}

static struct child child_start(struct cgroup_tree *tree, const char *pod, const char *leaf,
                                void (*work)(int to))
{
    struct cgroup_door door = {0};
    int ends[2];
    char byte = 0;
    cgroup_leaf_door(tree, pod, leaf, &door);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        enter(&door);
        if (write(ends[1], "!", 1) != 1)
            _exit(98);
        work(ends[1]);
        _exit(0);
    }
    (void)close(ends[1]);
    cgroup_door_done(&door);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    return (struct child){pid, ends[0]};
}

static int child_wait(struct child *child)
{
    int status = 0;
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    (void)close(child->from);
    return status;
}

static void work_wait(int to)
{
    (void)to;
    for (;;)
        (void)pause();
}

static void work_burn(int to)
{
    (void)to;
    for (volatile unsigned n = 0;; n++)
        ;
}

static void leaf_make(struct cgroup_tree *tree, const char *pod, const char *leaf,
                      const struct cgroup_limits *limits)
{
    struct err err = {0};
    if (cgroup_pod_make(tree, pod, NOTHING, &err) < 0)
        fail_msg("%s", err.text);
    if (cgroup_leaf_make(tree, pod, leaf, limits, &err) < 0)
        fail_msg("%s", err.text);
}

static void leaf_end(struct cgroup_tree *tree, const char *pod, const char *leaf)
{
    end_leaf(tree, pod, leaf);
    (void)cgroup_pod_remove(tree, pod);
}

static void test_life_of_a_leaf(void **state)
{
    struct cgroup_tree *tree = *state;
    struct cgroup_usage usage = {0};
    needs(tree, is_there);
    leaf_make(tree, "p1", "app.g1", NOTHING);
    leaf_make(tree, "p1", "app.g1", NOTHING);
    assert_false(cgroup_leaf_is_populated(tree, "p1", "app.g1"));
    struct child child = child_start(tree, "p1", "app.g1", work_wait);
    assert_true(cgroup_leaf_is_populated(tree, "p1", "app.g1"));
    assert_false(cgroup_leaf_remove(tree, "p1", "app.g1"));
    assert_int_equal(cgroup_leaf_usage(tree, "p1", "app.g1", &usage), 0);
    assert_int_equal(usage.processes, 1);
    assert_false(cgroup_pod_remove(tree, "p1")); /* not while it is used */
    assert_true(cgroup_leaf_is_populated(tree, "p1", "app.g1"));
    assert_int_equal(cgroup_leaf_kill(tree, "p1", "app.g1"), 0);
    int status = child_wait(&child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    eventually(!cgroup_leaf_is_populated(tree, "p1", "app.g1"));
    eventually(cgroup_leaf_remove(tree, "p1", "app.g1"));
    assert_true(cgroup_leaf_remove(tree, "p1", "app.g1"));
    assert_int_equal(cgroup_leaf_kill(tree, "p1", "app.g1"), 0);
    assert_int_equal(cgroup_leaf_usage(tree, "p1", "app.g1", &usage), -ENOENT);
    eventually(cgroup_pod_remove(tree, "p1"));
}

static void test_groups_inside_a_leaf_go_with_it(void **state)
{
    struct cgroup_tree *tree = *state;
    struct cgroup_door door = {0};
    struct cgroup_usage usage = {0};
    needs(tree, kill);
    leaf_make(tree, "p1", "app.g1", NOTHING);
    cgroup_leaf_door(tree, "p1", "app.g1", &door);
    scoped_free char *inner = mem_printf("%s/inner", door.v2);
    scoped_free char *innermost = mem_printf("%s/deep", inner);
    assert_int_equal(mkdir(inner, 0755), 0);
    assert_int_equal(mkdir(innermost, 0755), 0);
    struct child child = child_start(tree, "p1", "app.g1", work_wait);
    assert_int_equal(cgroup_file_write(innermost, "cgroup.procs", "%d", child.pid), 0);
    assert_int_equal(cgroup_leaf_usage(tree, "p1", "app.g1", &usage), 0);
    assert_int_equal(usage.processes, 1);
    assert_int_equal(cgroup_leaf_kill(tree, "p1", "app.g1"), 0);
    assert_int_equal(WTERMSIG(child_wait(&child)), SIGKILL);
    cgroup_door_done(&door);
    leaf_end(tree, "p1", "app.g1");
}

static void test_events_tell_filling_and_emptying(void **state)
{
    struct cgroup_tree *tree = *state;
    char text[128];
    needs(tree, events);
    assert_int_equal(cgroup_leaf_events(tree, "p1", "none.g1"), -1);
    leaf_make(tree, "p1", "app.g1", NOTHING);
    scoped_fd fd = cgroup_leaf_events(tree, "p1", "app.g1");
    struct pollfd watched = {.fd = fd, .events = POLLPRI};
    assert_int_equal(poll(&watched, 1, 0), 0);
    struct child child = child_start(tree, "p1", "app.g1", work_wait);
    assert_int_equal(poll(&watched, 1, PATIENCE_MS), 1);
    assert_true(pread(fd, text, sizeof(text), 0) > 0);
    assert_int_equal(poll(&watched, 1, 0), 0);
    assert_int_equal(cgroup_leaf_kill(tree, "p1", "app.g1"), 0);
    assert_int_equal(poll(&watched, 1, PATIENCE_MS), 1);
    eventually(!cgroup_leaf_is_populated(tree, "p1", "app.g1"));
    assert_true(WIFSIGNALED(child_wait(&child)));
    leaf_end(tree, "p1", "app.g1");
}

#define HOG_BYTES ((size_t)256 << 20)

static void work_hog(int to)
{
    (void)to;
    char *all = mmap(NULL, HOG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t at = 0; all != MAP_FAILED && at < HOG_BYTES; at += 4096)
        all[at] = 1;
}

static void expect_hog_dies(struct cgroup_tree *tree, const char *leaf)
{
    int64_t before = cgroup_leaf_oom_kills(tree, "p1", leaf);
    struct child child = child_start(tree, "p1", leaf, work_hog);
    int status = child_wait(&child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(cgroup_leaf_oom_kills(tree, "p1", leaf), before + 1);
}

static void test_memory_limit_kills_and_counts(void **state)
{
    struct cgroup_tree *tree = *state;
    needs(tree, memory);
    leaf_make(tree, "p1", "app.g1", &(struct cgroup_limits){.memory_bytes = 16 << 20});
    expect_hog_dies(tree, "app.g1");
    /* Growing and shrinking both work, with a sum of memory and swap beside. */
    leaf_make(tree, "p1", "app.g1", &(struct cgroup_limits){.memory_bytes = 64 << 20});
    leaf_make(tree, "p1", "app.g1", &(struct cgroup_limits){.memory_bytes = 32 << 20});
    expect_hog_dies(tree, "app.g1");
    /* A leaf without a limit of its own is under its pod's. */
    struct err err = {0};
    struct cgroup_limits all = {.memory_bytes = 48 << 20};
    assert_int_equal(cgroup_pod_make(tree, "p1", &all, &err), 0);
    assert_int_equal(cgroup_leaf_make(tree, "p1", "free.g1", NOTHING, &err), 0);
    expect_hog_dies(tree, "free.g1");
    leaf_end(tree, "p1", "free.g1");
    leaf_end(tree, "p1", "app.g1");
}

static void work_fork_until_refused(int to)
{
    char made = 0;
    while (made < 40) {
        pid_t pid = fork();
        if (pid == 0)
            work_wait(to);
        if (pid < 0)
            break;
        made++;
    }
    if (write(to, &made, 1) != 1)
        _exit(97);
    work_wait(to);
}

static void test_process_limit_refuses_forks(void **state)
{
    struct cgroup_tree *tree = *state;
    struct cgroup_usage usage = {0};
    char made = 0;
    needs(tree, pids);
    leaf_make(tree, "p1", "app.g1", &(struct cgroup_limits){.pids = 7});
    struct child child = child_start(tree, "p1", "app.g1", work_fork_until_refused);
    assert_int_equal(read(child.from, &made, 1), 1);
    assert_int_equal(made, 6);
    assert_int_equal(cgroup_leaf_usage(tree, "p1", "app.g1", &usage), 0);
    assert_int_equal(usage.processes, 7);
    assert_int_equal(cgroup_leaf_kill(tree, "p1", "app.g1"), 0);
    assert_int_equal(WTERMSIG(child_wait(&child)), SIGKILL);
    leaf_end(tree, "p1", "app.g1");
}

static int64_t cpu_of(struct cgroup_tree *tree, const char *pod)
{
    struct cgroup_usage usage = {0};
    assert_int_equal(cgroup_leaf_usage(tree, pod, "app.g1", &usage), 0);
    return usage.cpu_ns;
}

/* One burns on the other's only CPU, so that they have to share it. */
static void pin(pid_t pid)
{
    cpu_set_t ours, one;
    int cpu = 0;
    assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
    while (!CPU_ISSET(cpu, &ours))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(pid, sizeof(one), &one), 0);
}

/* The share of the first in what both burn from now on. */
static double share_of_first(struct cgroup_tree *tree)
{
    int64_t a = cpu_of(tree, "p1"), b = cpu_of(tree, "p2");
    eventually(cpu_of(tree, "p1") - a + cpu_of(tree, "p2") - b > 500000000);
    double first = (double)(cpu_of(tree, "p1") - a), second = (double)(cpu_of(tree, "p2") - b);
    return first / (first + second);
}

static void test_weight_decides_who_runs(void **state)
{
    struct cgroup_tree *tree = *state;
    struct err err = {0};
    needs(tree, cpu);
    leaf_make(tree, "p1", "app.g1", NOTHING);
    leaf_make(tree, "p2", "app.g1", NOTHING);
    if (cpu_of(tree, "p1") < 0)
        skip();
    assert_int_equal(cgroup_pod_weigh(tree, "p1", 400, &err), 0);
    assert_int_equal(cgroup_pod_weigh(tree, "p2", 100, &err), 0);
    struct child a = child_start(tree, "p1", "app.g1", work_burn);
    pin(a.pid);
    struct child b = child_start(tree, "p2", "app.g1", work_burn);
    pin(b.pid);
    double high = share_of_first(tree);
    assert_int_equal(cgroup_pod_weigh(tree, "p1", 25, &err), 0);
    double low = share_of_first(tree);
    print_message("# share of the first: %.2f with four times the weight, %.2f with a quarter\n",
                  high, low);
    assert_true(high > 0.65 && high < 0.97);
    assert_true(low > 0.03 && low < 0.35);
    leaf_end(tree, "p1", "app.g1");
    leaf_end(tree, "p2", "app.g1");
    reap_all();
    (void)close(a.from);
    (void)close(b.from);
}

static void test_cpu_limit_holds_back(void **state)
{
    struct cgroup_tree *tree = *state;
    needs(tree, cpu_max);
    leaf_make(tree, "p1", "app.g1", &(struct cgroup_limits){.cpu_max_milli = 100});
    struct child child = child_start(tree, "p1", "app.g1", work_burn);
    time_ms begin = clock_monotonic();
    eventually(cpu_of(tree, "p1") > 300000000);
    /* 0.3 s of CPU at a tenth of a core are 3 s, less what fits into the first and last period. */
    assert_true(clock_monotonic() - begin > 1500);
    leaf_end(tree, "p1", "app.g1");
    (void)close(child.from);
}

#define TOUCHED_BYTES ((size_t)24 << 20)

static void work_touch(int to)
{
    char *all =
        mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t at = 0; all != MAP_FAILED && at < TOUCHED_BYTES; at += 4096)
        all[at] = 1;
    if (write(to, "t", 1) == 1)
        work_wait(to);
}

static int64_t resident_of(pid_t pid)
{
    scoped_free char *dir = mem_printf("/proc/%d", (int)pid);
    scoped_str text = {0};
    cgroup_file_read(dir, "statm", &text);
    const char *second = strchr(str_text(&text), ' ');
    assert_non_null(second);
    return strtoll(second, NULL, 10) * sysconf(_SC_PAGESIZE);
}

/* With a group that counts (-1) and without (0). */
static void expect_memory_seen(struct cgroup_tree *tree, int64_t memory_bytes)
{
    struct cgroup_usage usage = {0};
    char byte = 0;
    leaf_make(tree, "p1", "app.g1", &(struct cgroup_limits){.memory_bytes = memory_bytes});
    struct child child = child_start(tree, "p1", "app.g1", work_touch);
    assert_int_equal(read(child.from, &byte, 1), 1);
    assert_int_equal(cgroup_leaf_usage(tree, "p1", "app.g1", &usage), 0);
    /* v1 counts in batches: up to 64 pages a CPU may be missing. */
    assert_true(usage.memory_bytes > (int64_t)TOUCHED_BYTES - (4 << 20));
    /* A sanitizer's pages are shared with us, so how much it has in all is not known here. */
    assert_true(usage.memory_bytes <= resident_of(child.pid) + (8 << 20));
    assert_int_equal(usage.processes, 1);
    leaf_end(tree, "p1", "app.g1");
    (void)close(child.from);
}

static void test_memory_is_seen_with_and_without_a_group(void **state)
{
    struct cgroup_tree *tree = *state;
    needs(tree, is_there);
    expect_memory_seen(tree, 0);
    expect_memory_seen(tree, -1);
}

/* Fifty chains: each process leaves its work to a child and ends. They give up by themselves after
 * half a minute, should the test not get at them. */
#define CHAINS 50

static int hop_ms;

static void work_hop(int to)
{
    time_ms end = clock_monotonic() + PATIENCE_MS / 2;
    int gate[2];
    if (pipe(gate) < 0)
        _exit(95);
    for (int i = 0; i < CHAINS; i++)
        if (fork() == 0)
            goto chain;
    if (write(to, "f", 1) != 1)
        _exit(96);
    _exit(0);
chain:
    (void)setsid();
    (void)close(gate[1]);
    if (read(gate[0], &(char){0}, 1) != 0) /* all begin when the last is there */
        _exit(94);
    while (clock_monotonic() < end) {
        if (fork() > 0)
            _exit(0);
        (void)poll(NULL, 0, hop_ms);
    }
    _exit(0);
}

static void expect_bomb_dies(struct cgroup_tree *tree)
{
    struct cgroup_usage usage = {0};
    char byte = 0;
    leaf_make(tree, "p1", "bomb.g1", NOTHING);
    struct child child = child_start(tree, "p1", "bomb.g1", work_hop);
    assert_int_equal(read(child.from, &byte, 1), 1);
    (void)child_wait(&child);
    assert_int_equal(cgroup_leaf_usage(tree, "p1", "bomb.g1", &usage), 0);
    assert_true(usage.processes > CHAINS / 2);
    assert_int_equal(cgroup_leaf_kill(tree, "p1", "bomb.g1"), 0);
    eventually((reap_all(), !cgroup_leaf_is_populated(tree, "p1", "bomb.g1")));
    eventually(cgroup_leaf_remove(tree, "p1", "bomb.g1"));
    (void)cgroup_pod_remove(tree, "p1");
}

static void test_kill_ends_a_fork_bomb(void **state)
{
    struct cgroup_tree *tree = *state;
    needs(tree, kill);
    hop_ms = 1;
    expect_bomb_dies(tree);
}

static void test_without_cgroup_kill_it_is_frozen_and_killed(void **state)
{
    struct cgroup_tree *tree = *state;
    needs(tree, kill);
    tree->can.kill = false;
    hop_ms = 1;
    expect_bomb_dies(tree);
}

/* A /proc with the mounts of this machine less some. */
struct other_proc {
    char path[64];
};

/* Lines with `unwanted` are left out; as if we had been started in `own` of v2 and cpu. */
static void other_proc_make(struct other_proc *proc, const char *unwanted, const char *own)
{
    struct err err = {0};
    scoped_str mounts = {0}, self = {0}, kept = {0};
    (void)snprintf(proc->path, sizeof(proc->path), "/tmp/test_cgroup.XXXXXX");
    assert_non_null(mkdtemp(proc->path));
    cgroup_file_read("/proc", "self/mountinfo", &mounts);
    cgroup_file_read("/proc", "self/cgroup", &self);
    if (own) {
        scoped_free char *lines = mem_printf("90:cpu:%s\n0::%s\n%s", own, own, str_text(&self));
        str_clear(&self);
        str_add(&self, lines);
    }
    struct sv rest = sv_of(str_text(&mounts));
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        scoped_free char *text = mem_strndup(line.ptr, line.len);
        if (!strstr(text, unwanted))
            str_addf(&kept, "%s\n", text);
    }
    scoped_free char *folder = mem_printf("%s/self", proc->path);
    scoped_free char *mountinfo = mem_printf("%s/mountinfo", folder);
    scoped_free char *cgroup = mem_printf("%s/cgroup", folder);
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(file_replace(mountinfo, str_text(&kept), kept.len, 0644, &err), 0);
    assert_int_equal(file_replace(cgroup, str_text(&self), self.len, 0644, &err), 0);
}

static void other_proc_remove(struct other_proc *proc)
{
    static const char *const names[] = {"/self/mountinfo", "/self/cgroup", "/self", ""};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        scoped_free char *path = mem_printf("%s%s", proc->path, names[i]);
        (void)remove(path);
    }
}

/* The same machine as if it had no v2: everything goes by v1. */
static void test_v1_alone(void **state)
{
    struct other_proc proc;
    struct cgroup_door door = {0};
    (void)state;
    other_proc_make(&proc, " - cgroup2 ", NULL);
    struct cgroup_tree *tree = cgroup_tree_open_in(proc.path, "/sys/fs/cgroup", node, NULL);
    other_proc_remove(&proc);
    bool is_there = cgroup_can(tree).is_there && cgroup_can(tree).cpu;
    if (is_there) {
        assert_false(cgroup_can(tree).kill);
        assert_false(cgroup_can(tree).events);
        leaf_make(tree, "p1", "app.g1", NOTHING);
        assert_int_equal(cgroup_leaf_events(tree, "p1", "app.g1"), -1);
        cgroup_leaf_door(tree, "p1", "app.g1", &door);
        assert_null(door.v2);
        assert_non_null(door.join[0]);
        /* The other file would make each start wait for the whole machine. */
        for (size_t i = 0; door.join[i]; i++)
            assert_true(str_ends(door.join[i], ".scope/tasks") ||
                        str_ends(door.join[i], ".slice/tasks"));
        cgroup_door_done(&door);
        struct child child = child_start(tree, "p1", "app.g1", work_burn);
        eventually(cpu_of(tree, "p1") > 10000000);
        leaf_end(tree, "p1", "app.g1");
        (void)close(child.from);
        hop_ms = 1;
        expect_bomb_dies(tree);
    }
    cgroup_tree_remove(tree);
    expect_gone(tree);
    cgroup_tree_close(tree);
    if (!is_there)
        skip();
}

/* Only the cpu hierarchy: no freezer, so rounds of killing have to be faster than the hops. */
static void test_one_v1_hierarchy_without_a_freezer(void **state)
{
    scoped_str why = {0};
    (void)state;
    struct cgroup_tree *tree = cgroup_tree_open("/sys/fs/cgroup/cpu", node, &why);
    bool is_there = cgroup_can(tree).cpu && !cgroup_can(tree).events;
    if (is_there) {
        assert_non_null(strstr(str_text(&why), "no controller for memory pids"));
        hop_ms = 50;
        expect_bomb_dies(tree);
    }
    cgroup_tree_remove(tree);
    expect_gone(tree);
    cgroup_tree_close(tree);
    if (!is_there)
        skip();
}

static void remember(void *arg, const char *pod, const char *leaf)
{
    str_addf(arg, "%s|%s\n", pod, leaf);
}

static void test_leftovers_and_odd_names(void **state)
{
    struct cgroup_tree *tree = *state;
    scoped_str seen = {0};
    static const char *const odd[] = {"../../x", "a b\n%41/", "..", "\xc3\xa4.g2"};
    needs(tree, is_there);
    cgroup_each_leaf(tree, remember, &seen);
    assert_string_equal(str_text(&seen), "");
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        leaf_make(tree, odd[i], odd[i], NOTHING);
        struct cgroup_tree *next = cgroup_tree_open("/sys/fs/cgroup", node, NULL);
        str_clear(&seen);
        cgroup_each_leaf(next, remember, &seen);
        cgroup_tree_close(next);
        scoped_free char *expected = mem_printf("%s|%s\n", odd[i], odd[i]);
        assert_string_equal(str_text(&seen), expected);
        leaf_end(tree, odd[i], odd[i]);
    }
    char huge[400];
    memset(huge, 'x', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    struct err err = {0};
    assert_int_equal(cgroup_leaf_make(tree, "p1", huge, NOTHING, &err), -ENAMETOOLONG);
    assert_non_null(strstr(err.text, "make control group"));
    (void)cgroup_pod_remove(tree, "p1");
}

/* Where a process is, in the hierarchy of a controller. */
static void place_of(pid_t pid, const char *controller, struct str *ret_path)
{
    scoped_free char *dir = mem_printf("/proc/%d", (int)pid);
    scoped_str text = {0};
    cgroup_file_read(dir, "cgroup", &text);
    struct sv rest = sv_of(str_text(&text));
    str_clear(ret_path);
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        (void)sv_cut(&line, ':');
        if (sv_starts(sv_cut(&line, ':'), controller))
            str_addn(ret_path, line.ptr, line.len);
    }
}

static void test_own_group_and_back(void **state)
{
    struct cgroup_tree *tree = *state;
    struct err err = {0};
    scoped_str before = {0}, now = {0};
    needs(tree, cpu);
    struct child child = child_start(tree, "none", "none", work_wait);
    place_of(child.pid, "cpu", &before);
    assert_int_equal(cgroup_own(tree, "supervisor", 1000, child.pid, &err), 0);
    place_of(child.pid, "cpu", &now);
    scoped_free char *expected = mem_printf("/muster.slice/%s/supervisor.scope", node);
    assert_true(str_ends(str_text(&now), expected));
    assert_int_equal(cgroup_own(tree, "supervisor", 1000, 1 << 30, &err), -ESRCH);
    cgroup_tree_remove(tree);
    expect_gone(tree);
    place_of(child.pid, "cpu", &now);
    assert_string_equal(str_text(&now), str_text(&before));
    assert_int_equal(kill(child.pid, SIGKILL), 0);
    (void)child_wait(&child);
}

/* After its tree was taken away from under it (somebody tidied up) it makes it again. */
static void test_a_lost_tree_is_made_again(void **state)
{
    struct cgroup_tree *tree = *state;
    needs(tree, is_there);
    cgroup_tree_remove(tree);
    expect_gone(tree);
    leaf_make(tree, "p1", "app.g1", NOTHING);
    struct child child = child_start(tree, "p1", "app.g1", work_wait);
    assert_true(cgroup_leaf_is_populated(tree, "p1", "app.g1"));
    leaf_end(tree, "p1", "app.g1");
    (void)close(child.from);
}

/* A supervisor that was started elsewhere, and its container that outlived it. */
static struct child start_elsewhere(const char *own)
{
    struct other_proc proc;
    other_proc_make(&proc, "no such line", own);
    struct cgroup_tree *tree = cgroup_tree_open_in(proc.path, "/sys/fs/cgroup", node, NULL);
    other_proc_remove(&proc);
    leaf_make(tree, "p1", "app.g1", NOTHING);
    struct child child = child_start(tree, "p1", "app.g1", work_wait);
    cgroup_tree_close(tree);
    return child;
}

static bool is_elsewhere(const struct cgroup_hierarchy *h)
{
    return h->is_v2 || (h->controllers & CTL_CPU);
}

static int make_group(const char *path)
{
    return mkdir(path, 0755);
}

static void each_elsewhere(const struct cgroup_tree *tree, const char *own,
                           int (*act)(const char *path))
{
    for (size_t i = 0; i < tree->len; i++) {
        scoped_free char *dir = mem_printf("%s%s", tree->items[i].place.mount, own);
        if (is_elsewhere(&tree->items[i]))
            assert_int_equal(act(dir), 0);
    }
}

static void test_leaves_of_another_home(void **state)
{
    struct cgroup_tree *tree = *state;
    struct err err = {0};
    struct cgroup_usage usage = {0};
    scoped_str seen = {0};
    needs(tree, kill);
    scoped_free char *own = mem_printf("/%s-elsewhere", node);
    for (size_t i = 0; i < tree->len; i++) {
        if (is_elsewhere(&tree->items[i]) && *tree->items[i].place.own)
            skip(); /* we are not at the top and make nothing outside of our own group */
    }
    each_elsewhere(tree, own, make_group);
    struct child child = start_elsewhere(own);
    assert_false(cgroup_leaf_is_populated(tree, "p1", "app.g1"));
    cgroup_leaf_found(tree, "p2", child.pid); /* it is not in that pod */
    assert_false(cgroup_leaf_is_populated(tree, "p1", "app.g1"));
    cgroup_leaf_found(tree, "p1", child.pid);
    cgroup_leaf_found(tree, "p1", child.pid);
    assert_int_equal(tree->items[0].former.len, 1);
    assert_true(cgroup_leaf_is_populated(tree, "p1", "app.g1"));
    cgroup_each_leaf(tree, remember, &seen);
    assert_string_equal(str_text(&seen), "p1|app.g1\n");
    assert_int_equal(cgroup_leaf_usage(tree, "p1", "app.g1", &usage), 0);
    assert_int_equal(usage.processes, 1);
    /* The pod goes on here: its next leaf is at home. */
    leaf_make(tree, "p1", "app.g2", NOTHING);
    assert_int_equal(cgroup_pod_weigh(tree, "p1", 10, &err), 0);
    struct child next = child_start(tree, "p1", "app.g2", work_wait);
    assert_false(cgroup_leaf_remove(tree, "p1", "app.g1"));
    assert_int_equal(cgroup_leaf_kill(tree, "p1", "app.g1"), 0);
    assert_int_equal(WTERMSIG(child_wait(&child)), SIGKILL);
    eventually(cgroup_leaf_remove(tree, "p1", "app.g1"));
    assert_true(cgroup_leaf_is_populated(tree, "p1", "app.g2"));
    leaf_end(tree, "p1", "app.g2");
    (void)close(next.from);
    cgroup_tree_remove(tree);
    each_elsewhere(tree, own, rmdir); /* nothing is left in it */
}

static void expect_nothing_done(struct cgroup_tree *tree)
{
    struct cgroup_limits limits = {100, 100, 1 << 20, 10};
    struct cgroup_usage usage = {0};
    struct cgroup_door door = {0};
    struct err err = {0};
    scoped_str seen = {0};
    assert_false(cgroup_can(tree).is_there);
    assert_int_equal(cgroup_pod_make(tree, "p1", &limits, &err), 0);
    assert_int_equal(cgroup_pod_weigh(tree, "p1", 10, &err), 0);
    assert_int_equal(cgroup_leaf_make(tree, "p1", "app.g1", &limits, &err), 0);
    cgroup_leaf_door(tree, "p1", "app.g1", &door);
    assert_null(door.v2);
    assert_null(door.join[0]);
    assert_false(cgroup_leaf_is_populated(tree, "p1", "app.g1"));
    assert_int_equal(cgroup_leaf_kill(tree, "p1", "app.g1"), 0);
    assert_int_equal(cgroup_leaf_events(tree, "p1", "app.g1"), -1);
    assert_int_equal(cgroup_leaf_oom_kills(tree, "p1", "app.g1"), 0);
    assert_int_equal(cgroup_leaf_usage(tree, "p1", "app.g1", &usage), 0);
    assert_int_equal(usage.cpu_ns, -1);
    assert_int_equal(usage.memory_bytes, -1);
    assert_true(cgroup_leaf_remove(tree, "p1", "app.g1"));
    (void)cgroup_pod_remove(tree, "p1");
    cgroup_each_leaf(tree, remember, &seen);
    assert_string_equal(str_text(&seen), "");
    assert_int_equal(cgroup_own(tree, "supervisor", 100, (int)getpid(), &err), 0);
    cgroup_tree_remove(tree);
}

static void test_nothing_mounted(void **state)
{
    static const char *const roots[] = {"/nowhere", "/sys/fs/cgroupx", NULL};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        scoped_str why = {0};
        struct cgroup_tree *tree = cgroup_tree_open(roots[i], node, &why);
        assert_string_equal(str_text(&why), "no control groups are mounted here");
        expect_nothing_done(tree);
        cgroup_tree_close(tree);
    }
}

#define NOBODY 65534

static void test_without_rights_nothing_happens(void **state)
{
    scoped_str why = {0};
    int status = 0;
    (void)state;
    if (geteuid() != 0)
        skip();
    pid_t pid = fork();
    if (pid == 0) {
        if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
            _exit(1);
        struct cgroup_tree *tree = cgroup_tree_open("/sys/fs/cgroup", node, &why);
        bool is_told = strstr(str_text(&why), "no right to make control groups") ||
                       strstr(str_text(&why), "no control groups are mounted");
        _exit(is_told && !cgroup_can(tree).is_there && !strchr(str_text(&why), '\n') ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_weights_and_shares(void **state)
{
    (void)state;
    assert_int_equal(cgroup_weight_of_milli(1000), 100);
    assert_int_equal(cgroup_weight_of_milli(0), cgroup_weight_of_milli(50));
    assert_int_equal(cgroup_weight_of_milli(1), 1);
    assert_int_equal(cgroup_weight_of_milli(256000), 10000);
    assert_int_equal(cgroup_weight_of_milli(INT64_MAX), 10000);
    assert_int_equal(cgroup_shares_of_weight(100), 1024);
    assert_int_equal(cgroup_shares_of_weight(1), 2);
    assert_int_equal(cgroup_shares_of_weight(10000), 262144);
    assert_int_equal(cgroup_shares_of_weight(-5), 2);
    assert_int_equal(cgroup_shares_of_weight(20000), 262144);
    for (int64_t weight = 2; weight <= 10000; weight++)
        assert_true(cgroup_shares_of_weight(weight) > cgroup_shares_of_weight(weight - 1));
}

int main(void)
{
    (void)snprintf(node, sizeof(node), "test-cgroup-%d", (int)getpid());
#define REAL(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        REAL(test_life_of_a_leaf),
        REAL(test_groups_inside_a_leaf_go_with_it),
        REAL(test_events_tell_filling_and_emptying),
        REAL(test_memory_limit_kills_and_counts),
        REAL(test_process_limit_refuses_forks),
        REAL(test_weight_decides_who_runs),
        REAL(test_cpu_limit_holds_back),
        REAL(test_memory_is_seen_with_and_without_a_group),
        REAL(test_kill_ends_a_fork_bomb),
        REAL(test_without_cgroup_kill_it_is_frozen_and_killed),
        REAL(test_v1_alone),
        REAL(test_one_v1_hierarchy_without_a_freezer),
        REAL(test_leftovers_and_odd_names),
        REAL(test_own_group_and_back),
        REAL(test_a_lost_tree_is_made_again),
        REAL(test_leaves_of_another_home),
        cmocka_unit_test(test_nothing_mounted),
        cmocka_unit_test(test_without_rights_nothing_happens),
        cmocka_unit_test(test_weights_and_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
