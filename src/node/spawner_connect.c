// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "node/spawner_internal.h"
#include "os/clock.h"
#include "os/log.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* From no helper to a connection, without ever waiting for one:
 *
 *  1. Connect; whoever listens is taken over. Else start one and try again every few milliseconds.
 *  2. The end of the connection is not the end of the helper: sockets are closed before children
 *     are given away. Only its pidfd tells that it is dead and that its children have come to us.
 *  3. A helper that lives but does not want us (we were replaced, or garbled) is connected to
 *     again, slowly.
 *  4. Helpers that die before they say hello are started again ever more slowly; starts that wait
 *     for them fail after a few. */

#define DATAGRAMS_A_TURN 16
#define RETRY_MS 2
#define RETRY_MS_MAX 50
#define AGAIN_MS 1000
#define FAILURES_MAX 5
#define CLOSE_MS 1000

extern char **environ;

static void retry_in(struct spawner *spawner, time_ms wait)
{
    struct loop *loop = spawner->options.loop;
    loop_timer_set(loop, &spawner->retry, loop_now(loop) + wait);
}

static void helper_release(struct spawner *spawner)
{
    if (spawner->helper_pidfd < 0)
        return;
    siginfo_t info;
    loop_io_del(take_ptr(spawner->helper_io));
    (void)waitid(P_PIDFD, (id_t)spawner->helper_pidfd, &info, WEXITED | WNOHANG); /* if ours */
    (void)close(spawner->helper_pidfd);
    spawner->helper_pidfd = -1;
}

static void link_drop(struct spawner *spawner)
{
    if (spawner->link.fd < 0)
        return;
    loop_io_del(take_ptr(spawner->link_io));
    spawn_link_close(&spawner->link);
}

static void on_helper_end(void *arg, uint32_t events)
{
    struct spawner *spawner = arg;
    (void)events;
    if (spawner->link.fd >= 0)
        spawner_read(spawner, INT32_MAX); /* its last words */
    link_drop(spawner);
    helper_release(spawner);
    if (spawner->is_greeted)
        log_warn("spawner.died children=%zu", map_count(spawner->held));
    spawner->n_failures = spawner->is_greeted ? 0 : spawner->n_failures + 1;
    spawner->is_greeted = false;
    spawner->is_link_lost = false;
    spawner->n_tries = 0;
    queue_settle(spawner, LOST_HELPER);
    retry_in(spawner, spawner->n_failures > 1 ? AGAIN_MS : 0);
}

static void helper_watch(struct spawner *spawner, int pidfd)
{
    spawner->helper_pidfd = pidfd;
    spawner->helper_io = loop_io_add(spawner->options.loop, pidfd, EPOLLIN, on_helper_end, spawner);
}

static int helper_start(struct spawner *spawner, struct err *err)
{
    struct spawn_request request = {
        .argv = (const char *const *)spawner->helper,
        .envp = (const char *const *)environ,
        .out = spawner->log,
        .cgroup = spawner->cgroup,
        .uid = -1,
        .gid = -1,
        .nofile_soft = -1,
        .oom_score_adj = spawner->spawn.oom_own,
    };
    struct spawn_born born;
    struct spawn_fault fault;
    int r = spawn_start(&spawner->spawn, &request, &born, &fault);
    if (r < 0)
        return err_set(err, r, "start the spawner: %s %s: %s", SPAWN_STAGE[fault.stage], fault.path,
                       strerror(fault.error));
    helper_watch(spawner, born.pidfd);
    return 0;
}

static void on_link(void *arg, uint32_t events)
{
    (void)events;
    spawner_read(arg, DATAGRAMS_A_TURN);
    connect_flush(arg);
}

/* First of all: who we are, and who is there. Then what has waited. */
static void greet(struct spawner *spawner)
{
    struct str waiting = spawner->link.out;
    struct spawn_order hello = {
        .type = SPAWN_HELLO, .version = SPAWN_WIRE_VERSION, .pid = (int32_t)getpid()};
    struct spawn_order list = {.type = SPAWN_LIST};
    spawner->link.out = (struct str){0};
    (void)spawn_wire_put_order(&spawner->link.out, &hello); /* both are small */
    for (int i = 0; i < spawner->n_lists + 1; i++)
        (void)spawn_wire_put_order(&spawner->link.out, &list);
    str_addn(&spawner->link.out, str_text(&waiting), waiting.len);
    str_done(&waiting);
    spawner->is_greeted = false;
    spawner->is_first_list = true;
}

static int link_open(struct spawner *spawner)
{
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);
    int r = spawn_link_connect(&spawner->link, spawner->socket);
    if (r < 0)
        return r;
    (void)getsockopt(spawner->link.fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
    if (spawner->helper_pidfd < 0) {
        int pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
        if (pidfd < 0) { /* it has just died */
            spawn_link_close(&spawner->link);
            return -errno;
        }
        helper_watch(spawner, pidfd);
    }
    spawner->link_io =
        loop_io_add(spawner->options.loop, spawner->link.fd, EPOLLIN, on_link, spawner);
    greet(spawner);
    connect_flush(spawner);
    return 0;
}

int connect_open(struct spawner *spawner, struct err *err)
{
    if (link_open(spawner) == 0) {
        spawner->n_tries = 0;
        return 0;
    }
    time_ms wait = RETRY_MS << (spawner->n_tries < 5 ? spawner->n_tries++ : 5);
    retry_in(spawner, wait < RETRY_MS_MAX ? wait : RETRY_MS_MAX);
    return spawner->helper_pidfd < 0 ? helper_start(spawner, err) : 0;
}

void connect_retry(void *arg)
{
    struct spawner *spawner = arg;
    struct err err = {0};
    if (spawner->link.fd >= 0)
        return;
    if (spawner->n_failures >= FAILURES_MAX)
        queue_settle(spawner, LOST_HOPE);
    else if (spawner->is_link_lost)
        queue_settle(spawner, LOST_LINK);
    spawner->is_link_lost = false;
    if (connect_open(spawner, &err) == 0)
        return;
    log_error("spawner.failed error=\"%s\"", err.text);
    spawner->n_failures++;
    retry_in(spawner, AGAIN_MS);
}

void connect_lost(struct spawner *spawner)
{
    link_drop(spawner);
    spawner->is_link_lost = true;
    retry_in(spawner, AGAIN_MS); /* unless it turns out to be dead before */
}

void connect_flush(struct spawner *spawner)
{
    spawner->n_unsent = 0;
    if (spawner->link.fd < 0)
        return;
    queue_pump(spawner);
    int r = spawn_link_flush(&spawner->link);
    if (r < 0)
        return; /* reading will tell the same, after what is left to read */
    loop_io_set(spawner->link_io, EPOLLIN | (r > 0 ? (uint32_t)EPOLLOUT : 0));
}

static bool wait_for(int fd, short events, int wait_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    while (poll(&poll_fd, 1, wait_ms) < 0 && errno == EINTR)
        ;
    return poll_fd.revents != 0;
}

/* A helper that has only just been started does not listen yet. */
static void meet_helper(struct spawner *spawner, time_ms until)
{
    while (spawner->helper_pidfd >= 0 && spawner->link.fd < 0 && link_open(spawner) < 0 &&
           clock_monotonic() < until) {
        if (wait_for(spawner->helper_pidfd, POLLIN, RETRY_MS))
            return; /* it has ended */
    }
}

static bool is_no_more(void *arg, const char *key, void *value)
{
    const struct held *held = value;
    (void)arg;
    (void)key;
    return held->state == HELD_ENDED || held->is_adopted;
}

void connect_close(struct spawner *spawner, bool quit)
{
    struct spawn_order order = {.type = SPAWN_QUIT};
    time_ms until = clock_monotonic() + CLOSE_MS;
    if (quit)
        meet_helper(spawner, until); /* it would wait for us otherwise */
    if (quit && spawner->link.fd >= 0)
        (void)spawn_wire_put_order(&spawner->link.out, &order);
    while (spawner->link.fd >= 0 && spawn_link_flush(&spawner->link) > 0 &&
           clock_monotonic() < until)
        (void)wait_for(spawner->link.fd, POLLOUT, CLOSE_MS);
    link_drop(spawner);
    if (quit && spawner->helper_pidfd >= 0 && map_each(spawner->held, is_no_more, NULL))
        (void)wait_for(spawner->helper_pidfd, POLLIN,
                       CLOSE_MS); /* so that no zombie stays behind */
    helper_release(spawner);
    loop_timer_clear(spawner->options.loop, &spawner->retry);
}
