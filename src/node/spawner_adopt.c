// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "node/spawner_internal.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The helper died. Its children became ours, if it was below us and we are a subreaper: then they
 * are reaped here. Else they went to somebody who reaps them for nobody's use; newer kernels tell
 * the status of what another has reaped to those who held a pidfd at that time. */

#define SWEEP_MS 1000
#define SWEEP_LATER_MS 10000
#define ZOMBIE_MS_MAX 2000

/* Of Linux 6.15; older headers do not have it. */
struct pidfd_exit_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t exit_code;
};
#define PIDFD_EXIT_INFO _IOWR(0xFF, 11, struct pidfd_exit_info)
#define PIDFD_EXIT_BIT (UINT64_C(1) << 3)
#define PIDFD_TO_GROUP (1u << 2) /* of pidfd_send_signal(), Linux 6.9 */

void adopt_done(struct held *held)
{
    if (held->io == NULL)
        return;
    loop_io_del(take_ptr(held->io));
    (void)close(held->pidfd);
    held->pidfd = -1;
    held->spawner->n_adopted--;
}

static void adopt_ended(struct held *held, int code, int status)
{
    adopt_done(held);
    held->state = HELD_ENDED;
    held->code = code;
    held->status = status;
    held->ended_ms = loop_wall(held->spawner->options.loop);
    held_tell(held);
    if (held->is_transient)
        held_free(held);
}

/* True when the kernel knows how it ended although another has reaped it. */
static bool exit_of_stranger(int pidfd, int *ret_code, int *ret_status)
{
    struct pidfd_exit_info info = {.mask = PIDFD_EXIT_BIT};
    if (ioctl(pidfd, PIDFD_EXIT_INFO, &info) < 0 || !(info.mask & PIDFD_EXIT_BIT))
        return false;
    bool is_exit = WIFEXITED(info.exit_code);
    *ret_code = is_exit ? CLD_EXITED : WCOREDUMP(info.exit_code) ? CLD_DUMPED : CLD_KILLED;
    *ret_status = is_exit ? WEXITSTATUS(info.exit_code) : WTERMSIG(info.exit_code);
    return true;
}

static void on_pidfd(void *arg, uint32_t events)
{
    struct held *held = arg;
    siginfo_t info = {0};
    int code, status;
    (void)events;
    if (waitid(P_PIDFD, (id_t)held->pidfd, &info, WEXITED | WNOHANG) == 0) {
        if (info.si_pid != 0)
            adopt_ended(held, info.si_code, info.si_status);
        return;
    }
    if (exit_of_stranger(held->pidfd, &code, &status)) {
        adopt_ended(held, code, status);
        return;
    }
    /* It has ended and waits for whoever is its parent: only a hang-up is worth waking up for. */
    if (held->zombie_since == 0)
        held->zombie_since = loop_now(held->spawner->options.loop);
    loop_io_set(held->io, 0);
}

/* A pid may be another's by now; the number of the process is not. */
static int open_same(const struct held *held)
{
    struct stat st;
    int fd = (int)syscall(SYS_pidfd_open, held->pid, 0);
    if (fd < 0)
        return -1;
    if (held->ident == 0 || (fstat(fd, &st) == 0 && st.st_ino == held->ident))
        return fd;
    (void)close(fd);
    return -1;
}

static bool adopt_one(void *arg, const char *key, void *value)
{
    struct spawner *spawner = arg;
    struct held *held = value;
    (void)key;
    if (held->is_adopted || held->state == HELD_ASKED)
        return true;
    held->is_adopted = true;
    if (held->state == HELD_ENDED)
        return true;
    held->pidfd = open_same(held);
    if (held->pidfd < 0) {
        adopt_ended(held, CLD_EXITED, -1);
        return true;
    }
    spawner->n_adopted++;
    held->io = loop_io_add(spawner->options.loop, held->pidfd, EPOLLIN, on_pidfd, held);
    if (held->is_signalled) /* the helper may have died with the order unread */
        adopt_signal(held, held->signo, held->to_group);
    return true;
}

void adopt_all(struct spawner *spawner)
{
    struct loop *loop = spawner->options.loop;
    (void)map_each(spawner->held, adopt_one, spawner);
    spawner->has_adopted = true;
    loop_timer_set(loop, &spawner->sweep, loop_now(loop) + SWEEP_MS);
}

static bool is_alive(int pidfd)
{
    struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 0;
}

void adopt_signal(struct held *held, int signo, bool to_group)
{
    if (held->io == NULL)
        return;
    unsigned flags = to_group ? PIDFD_TO_GROUP : 0;
    long r = syscall(SYS_pidfd_send_signal, held->pidfd, signo, NULL, flags);
    if (r < 0 && errno == EINVAL && to_group && is_alive(held->pidfd))
        (void)kill(-held->pid, signo); /* an older kernel */
}

static bool sweep_one(void *arg, const char *key, void *value)
{
    struct spawner *spawner = arg;
    struct held *held = value;
    (void)key;
    time_ms now = loop_now(spawner->options.loop);
    if (held->io && held->zombie_since && now - held->zombie_since > ZOMBIE_MS_MAX)
        adopt_ended(held, CLD_EXITED, -1); /* nobody reaps it, nobody will tell */
    return true;
}

/* Orphans that came to us with the children. They have sessions of their own, unlike what others in
 * this process may have started; and whoever waits for one does so before the second look. */
static void sweep_strangers(struct spawner *spawner)
{
    siginfo_t info = {0};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
        bool is_known_dead = info.si_pid == spawner->zombie;
        spawner->zombie = info.si_pid;
        if (!is_known_dead || getsid(info.si_pid) == getsid(0))
            return;
        (void)waitid(P_PID, (id_t)info.si_pid, &info, WEXITED | WNOHANG);
        info.si_pid = 0;
    }
    spawner->zombie = 0;
}

void adopt_sweep(void *arg)
{
    struct spawner *spawner = arg;
    struct loop *loop = spawner->options.loop;
    (void)map_each(spawner->held, sweep_one, spawner);
    sweep_strangers(spawner);
    time_ms wait = spawner->n_adopted || spawner->zombie ? SWEEP_MS : SWEEP_LATER_MS;
    loop_timer_set(loop, &spawner->sweep, loop_now(loop) + wait);
}
