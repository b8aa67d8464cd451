// SPDX-License-Identifier: Apache-2.0
/* The floor: nothing but the system calls that no way of starting and ending N processes can do
 * without, done the cheapest way we know. */
#include "base/mem.h"
#include "bench/proc.h"
#include "bench/spawn.h"
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES 65536
#define EVENTS_MAX 256

struct bare {
    const char *child;
    char *stack;
    int *pidfds;
    int epoll_fd;
    int n, n_alive;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int become(void *arg)
{
    const struct bare *bare = arg;
    char *const argv[] = {(char *)bare->child, NULL}, *const envp[] = {NULL};
    (void)close_range(3, ~0U, CLOSE_RANGE_UNSHARE);
    (void)execve(bare->child, argv, envp);
    _exit(127);
}

static void start(struct bare *bare, int i)
{
    int pidfd;
    int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD | SIGCHLD;
    if (clone(become, bare->stack + STACK_BYTES, flags, bare, &pidfd) < 0)
        die("bench_spawn: clone");
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
    if (epoll_ctl(bare->epoll_fd, EPOLL_CTL_ADD, pidfd, &event) < 0)
        die("bench_spawn: epoll_ctl");
    bare->pidfds[i] = pidfd;
    bare->n_alive++;
}

static void start_all(struct bare *bare)
{
    for (int i = 0; i < bare->n; i++)
        start(bare, i);
}

static void signal_all(struct bare *bare, int signo)
{
    for (int i = 0; i < bare->n; i++)
        (void)syscall(SYS_pidfd_send_signal, bare->pidfds[i], signo, NULL, 0);
}

/* Until as many have ended as there are; each is started again, or not. */
static void reap_all(struct bare *bare, bool again)
{
    struct epoll_event events[EVENTS_MAX];
    for (int n_reaped = 0; n_reaped < bare->n;) {
        int n = epoll_wait(bare->epoll_fd, events, EVENTS_MAX, -1);
        for (int k = 0; k < n; k++) {
            int i = (int)events[k].data.u32;
            siginfo_t info = {0};
            if (waitid(P_PIDFD, (id_t)bare->pidfds[i], &info, WEXITED | WNOHANG) < 0)
                die("bench_spawn: waitid");
            if (info.si_code == CLD_EXITED) /* it is deaf to all but signals */
                die("bench_spawn: child");
            (void)epoll_ctl(bare->epoll_fd, EPOLL_CTL_DEL, bare->pidfds[i], NULL);
            (void)close(bare->pidfds[i]);
            bare->n_alive--;
            n_reaped++;
            if (again)
                start(bare, i);
        }
    }
}

struct spawn_figures spawn_bare(const char *child, int n)
{
    struct bare bare = {.child = child, .n = n};
    bare.stack = mem_alloc(STACK_BYTES);
    bare.pidfds = mem_zalloc((size_t)n * sizeof(int));
    bare.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct proc_use before = proc_use(getpid());
    struct spawn_figures figures = {0};
    uint64_t begin = proc_clock_ns();
    start_all(&bare);
    uint64_t started = proc_clock_ns();
    figures.rss_bytes = proc_use(getpid()).rss_bytes;
    uint64_t rolling = proc_clock_ns();
    signal_all(&bare, SIGKILL);
    reap_all(&bare, true);
    uint64_t rolled = proc_clock_ns();
    signal_all(&bare, SIGTERM);
    reap_all(&bare, false);
    start_all(&bare);
    uint64_t again = proc_clock_ns();
    signal_all(&bare, SIGKILL);
    reap_all(&bare, false);
    uint64_t end = proc_clock_ns();
    figures.start_ns = started - begin;
    figures.rolling_ns = rolled - rolling;
    figures.stop_start_ns = again - rolled;
    figures.kill_ns = end - again;
    figures.cpu_ns = proc_use(getpid()).cpu_ns - before.cpu_ns;
    (void)close(bare.epoll_fd);
    mem_free(bare.pidfds);
    mem_free(bare.stack);
    return figures;
}
