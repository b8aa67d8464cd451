// SPDX-License-Identifier: Apache-2.0
/* The floor of a group restart: restart_bare WORKER FILE N ROUNDS [least|groups] starts N workers
 * that append 16 bytes each to FILE, then, ROUNDS times: one is killed; when its death is seen all
 * others are killed; when all are reaped all are started. Prints for each round the nanoseconds
 * from the kill to the last worker's own word of its start.
 *
 * Started by posix_spawn(), as anybody would write it. With "least" by the cheapest call that there
 * is, a clone that shares even the table of descriptors. With "groups" each start has a control
 * group of its own, made before the round begins, and is done as a node does it: how much of a
 * node's time is the kernel's price for them. */
#include "base/mem.h"
#include "bench/proc.h"
#include "node/cgroup.h"
#include "node/spawn.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 65536
#define EVENTS_MAX 256

struct record {
    int64_t pid, ns;
};
struct bare {
    const char *worker, *file;
    char *stack;
    int *pidfds;
    int epoll_fd, records_fd, n;
    bool is_least;
    struct cgroup_tree *tree; /* or NULL: without groups */
    struct cgroup_door *doors;
    struct spawn spawn;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int become(void *arg)
{
    const struct bare *bare = arg;
    char *const argv[] = {(char *)bare->worker, (char *)bare->file, NULL}, *const envp[] = {NULL};
    (void)close_range(3, ~0U, CLOSE_RANGE_UNSHARE);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)execve(bare->worker, argv, envp);
    _exit(127);
}

/* ---- control groups ---- */

static void leaf_names(int i, int round, char pod[16], char leaf[16])
{
    (void)snprintf(pod, 16, "w%d", i);
    (void)snprintf(leaf, 16, "w.g%d", round);
}

/* For the next round, while the workers of this one run. */
static void make_groups(struct bare *bare, int round)
{
    const struct cgroup_limits limits = {0};
    char pod[16], leaf[16];
    for (int i = 0; bare->tree != NULL && i < bare->n; i++) {
        leaf_names(i, round, pod, leaf);
        if (cgroup_pod_make(bare->tree, pod, &limits, NULL) < 0 ||
            cgroup_leaf_make(bare->tree, pod, leaf, &limits, NULL) < 0)
            die("restart_bare: control group");
        cgroup_door_done(&bare->doors[i]);
        cgroup_leaf_way(bare->tree, pod, leaf, &limits, &bare->doors[i]);
    }
}

/* Of the round before, in which nobody is any more. */
static void remove_groups(struct bare *bare, int round)
{
    char pod[16], leaf[16];
    for (int i = 0; bare->tree != NULL && i < bare->n; i++) {
        leaf_names(i, round, pod, leaf);
        (void)cgroup_leaf_remove(bare->tree, pod, leaf); /* else the whole tree goes in the end */
    }
}

static int open_groups(struct bare *bare)
{
    struct err err = {0};
    bare->tree = cgroup_tree_open("/sys/fs/cgroup", "bench-restart", NULL);
    bare->doors = mem_zalloc((size_t)bare->n * sizeof(*bare->doors));
    if (cgroup_can(bare->tree).is_there && spawn_init(&bare->spawn, false, &err) == 0)
        return 0;
    (void)fprintf(stderr, "restart_bare: no control groups here\n");
    return 1;
}

static void close_groups(struct bare *bare)
{
    if (bare->tree == NULL)
        return;
    for (int i = 0; i < bare->n; i++)
        cgroup_door_done(&bare->doors[i]);
    mem_free(bare->doors);
    cgroup_tree_remove(bare->tree);
    cgroup_tree_close(bare->tree);
    spawn_done(&bare->spawn);
}

/* ---- starts and ends ---- */

static int start_in_group(struct bare *bare, int i)
{
    const char *const argv[] = {bare->worker, bare->file, NULL}, *const envp[] = {NULL};
    struct spawn_request request = {.argv = argv,
                                    .envp = envp,
                                    .cgroup = bare->doors[i].v2,
                                    .join = (const char *const *)bare->doors[i].join,
                                    .uid = -1,
                                    .gid = -1,
                                    .nofile_soft = -1,
                                    .oom_score_adj = bare->spawn.oom_own};
    struct spawn_born born = {.pidfd = -1};
    struct spawn_fault fault;
    int r = spawn_start(&bare->spawn, &request, &born, &fault);
    bare->pidfds[i] = born.pidfd;
    return r;
}

static int start_plainly(struct bare *bare, int i)
{
    char *const argv[] = {(char *)bare->worker, (char *)bare->file, NULL}, *const envp[] = {NULL};
    pid_t pid;
    if (posix_spawn(&pid, bare->worker, NULL, NULL, argv, envp) != 0)
        return -1;
    bare->pidfds[i] = (int)syscall(SYS_pidfd_open, pid, 0);
    return bare->pidfds[i];
}

static int start_at_least_cost(struct bare *bare, int i)
{
    int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD | SIGCHLD;
    return clone(become, bare->stack + STACK_BYTES, flags, bare, &bare->pidfds[i]);
}

static int start_one(struct bare *bare, int i)
{
    if (bare->tree != NULL)
        return start_in_group(bare, i);
    return bare->is_least ? start_at_least_cost(bare, i) : start_plainly(bare, i);
}

static void start_all(struct bare *bare)
{
    for (int i = 0; i < bare->n; i++) {
        if (start_one(bare, i) < 0)
            die("restart_bare: start");
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        if (epoll_ctl(bare->epoll_fd, EPOLL_CTL_ADD, bare->pidfds[i], &event) < 0)
            die("restart_bare: epoll_ctl");
    }
}

/* Until `wanted` have ended. */
static void reap(struct bare *bare, int wanted)
{
    struct epoll_event events[EVENTS_MAX];
    while (wanted > 0) {
        int n = epoll_wait(bare->epoll_fd, events, EVENTS_MAX, -1);
        for (int k = 0; k < n; k++) {
            int *pidfd = &bare->pidfds[events[k].data.u32];
            siginfo_t info = {0};
            (void)waitid(P_PIDFD, (id_t)*pidfd, &info, WEXITED | WNOHANG);
            (void)epoll_ctl(bare->epoll_fd, EPOLL_CTL_DEL, *pidfd, NULL);
            (void)close(*pidfd);
            *pidfd = -1;
            wanted--;
        }
    }
}

/* The latest word of the `round`th start, once all have spoken. */
static int64_t last_start(struct bare *bare, int round)
{
    size_t size = sizeof(struct record) * (size_t)bare->n;
    off_t end = (off_t)size * (round + 1);
    struct stat now = {0};
    while (fstat(bare->records_fd, &now) == 0 && now.st_size < end)
        (void)nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    struct record *records = mem_alloc(size);
    if (pread(bare->records_fd, records, size, end - (off_t)size) != (ssize_t)size)
        die("restart_bare: pread");
    int64_t last = 0;
    for (int i = 0; i < bare->n; i++)
        last = records[i].ns > last ? records[i].ns : last;
    mem_free(records);
    return last;
}

static void restart(struct bare *bare, int round)
{
    make_groups(bare, round);
    uint64_t begin = proc_clock_ns();
    (void)syscall(SYS_pidfd_send_signal, bare->pidfds[bare->n / 2], SIGKILL, NULL, 0);
    reap(bare, 1);
    for (int i = 0; i < bare->n; i++)
        if (bare->pidfds[i] >= 0)
            (void)syscall(SYS_pidfd_send_signal, bare->pidfds[i], SIGKILL, NULL, 0);
    reap(bare, bare->n - 1);
    start_all(bare);
    printf("%lld\n", (long long)(last_start(bare, round) - (int64_t)begin));
    remove_groups(bare, round - 1);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    struct bare bare = {.worker = argv[1], .file = argv[2], .n = (int)strtol(argv[3], NULL, 10)};
    bare.stack = mem_alloc(STACK_BYTES);
    bare.pidfds = mem_zalloc((size_t)bare.n * sizeof(int));
    bare.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    bare.records_fd = open(bare.file, O_RDONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (bare.records_fd < 0)
        die("restart_bare: open");
    const char *way = argc > 5 ? argv[5] : "";
    bare.is_least = strcmp(way, "least") == 0;
    if (strcmp(way, "groups") == 0 && open_groups(&bare) != 0)
        return 1;
    make_groups(&bare, 0);
    start_all(&bare);
    (void)last_start(&bare, 0);
    int rounds = (int)strtol(argv[4], NULL, 10);
    for (int round = 1; round <= rounds; round++)
        restart(&bare, round);
    for (int i = 0; i < bare.n; i++)
        (void)syscall(SYS_pidfd_send_signal, bare.pidfds[i], SIGKILL, NULL, 0);
    reap(&bare, bare.n);
    close_groups(&bare);
    mem_free(bare.pidfds);
    mem_free(bare.stack);
    return 0;
}
