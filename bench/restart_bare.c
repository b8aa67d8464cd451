// SPDX-License-Identifier: Apache-2.0
/* The floor of a group restart: restart_bare WORKER FILE N ROUNDS starts N workers that append 16
 * bytes each to FILE, then, ROUNDS times: one is killed; when its death is seen all others are
 * killed; when all are reaped all are started. Prints for each round the nanoseconds from the kill
 * to the last worker's own word of its start. */
#include "base/mem.h"
#include "bench/proc.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
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

static void start_all(struct bare *bare)
{
    for (int i = 0; i < bare->n; i++) {
        int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD | SIGCHLD;
        if (clone(become, bare->stack + STACK_BYTES, flags, bare, &bare->pidfds[i]) < 0)
            die("restart_bare: clone");
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
    uint64_t begin = proc_clock_ns();
    (void)syscall(SYS_pidfd_send_signal, bare->pidfds[bare->n / 2], SIGKILL, NULL, 0);
    reap(bare, 1);
    for (int i = 0; i < bare->n; i++)
        if (bare->pidfds[i] >= 0)
            (void)syscall(SYS_pidfd_send_signal, bare->pidfds[i], SIGKILL, NULL, 0);
    reap(bare, bare->n - 1);
    start_all(bare);
    printf("%lld\n", (long long)(last_start(bare, round) - (int64_t)begin));
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    struct bare bare = {.worker = argv[1], .file = argv[2], .n = (int)strtol(argv[3], NULL, 10)};
    bare.stack = mem_alloc(STACK_BYTES);
    bare.pidfds = mem_zalloc((size_t)bare.n * sizeof(int));
    bare.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    bare.records_fd = open(bare.file, O_RDONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (bare.records_fd < 0)
        die("restart_bare: open");
    start_all(&bare);
    (void)last_start(&bare, 0);
    int rounds = (int)strtol(argv[4], NULL, 10);
    for (int round = 1; round <= rounds; round++)
        restart(&bare, round);
    for (int i = 0; i < bare.n; i++)
        (void)syscall(SYS_pidfd_send_signal, bare.pidfds[i], SIGKILL, NULL, 0);
    reap(&bare, bare.n);
    mem_free(bare.pidfds);
    mem_free(bare.stack);
    return 0;
}
