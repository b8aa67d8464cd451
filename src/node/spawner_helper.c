// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "node/spawn_link.h"
#include "node/spawner.h"
#include "node/spawner_child.h"
#include "os/fd.h"
#include "os/log.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The helper: a process that does nothing but start, signal and reap, so that it is small, has one
 * thread and no reason to fall over, and can be the parent of all containers while supervisors come
 * and go.
 *
 *  1. It holds a lock beside its socket as long as it lives. Who has the lock owns the path of the
 *     socket: two helpers that start at once, or one that ends while another starts, do not take
 *     the socket away from each other.
 *  2. One supervisor at a time, the newest. What was queued for an older one is dropped: the new
 *     one asks for the list.
 *  3. Orders are worked off in small portions, each answered before the next: a thousand starts in
 *     the queue do not delay the news that somebody died, and should we die, our supervisor knows
 *     which few starts may have happened that it did not hear of.
 *  4. It ends when it is of no use: told to quit and without children, or without a supervisor and
 *     without anything to tell one. Never by a signal that a terminal sends. */

#define IDLE_MS 3000
#define OWN_OOM_SCORE_ADJ "-900"
#define DEAD_MAX 256
#define QUEUE_BYTES_MAX (size_t)(64 * 1024 * 1024) /* a supervisor that does not read is gone */

struct helper {
    struct loop *loop;
    struct spawner_children children;
    struct spawn_link link;
    struct loop_io *link_io, *listen_io;
    int listen_fd, lock_fd;
    struct arena arena;
    struct sv inbox;           /* of the datagram being worked off */
    struct loop_task work;     /* goes on with it */
    struct loop_task turn_end; /* sends, and looks whether to end */
    struct loop_timer idle;
    bool is_blocked; /* the supervisor does not read our answers */
    bool is_quitting;
};

static void helper_drop_link(struct helper *helper)
{
    if (helper->link.fd < 0)
        return;
    loop_io_del(take_ptr(helper->link_io));
    spawn_link_close(&helper->link);
    str_clear(&helper->link.out);
    helper->inbox = (struct sv){0};
    helper->is_blocked = false;
    loop_task_cancel(helper->loop, &helper->work);
    loop_defer(helper->loop, &helper->turn_end);
}

static void tell(void *arg, const struct spawn_reply *reply)
{
    struct helper *helper = arg;
    loop_defer(helper->loop, &helper->turn_end);
    if (helper->link.fd >= 0)
        (void)spawn_wire_put_reply(&helper->link.out, reply); /* far below the limit */
}

static void obey(struct helper *helper, const struct spawn_order *order)
{
    switch (order->type) {
    case SPAWN_HELLO:
        if (order->version != SPAWN_WIRE_VERSION)
            log_warn("spawner.version own=%d supervisor=%d", SPAWN_WIRE_VERSION, order->version);
        break;
    case SPAWN_LIST:
        spawner_children_list(&helper->children);
        break;
    case SPAWN_START:
        spawner_children_start(&helper->children, &order->start);
        break;
    case SPAWN_SIGNAL:
        spawner_children_signal(&helper->children, order);
        break;
    case SPAWN_FORGET:
        spawner_children_forget(&helper->children, order->id);
        break;
    case SPAWN_QUIT:
        helper->is_quitting = true;
        break;
    case SPAWN_STARTED:
    case SPAWN_FAILED:
    case SPAWN_EXITED:
    case SPAWN_ALIVE:
    case SPAWN_LISTED:
        break; /* the reader lets none of these through */
    }
}

static void helper_work(void *arg)
{
    struct helper *helper = arg;
    int r = 1;
    loop_defer(helper->loop, &helper->turn_end);
    if (helper->is_blocked)
        return;
    for (int i = 0; i < SPAWN_WIRE_BATCH && r > 0; i++) {
        struct spawn_order order;
        arena_reset(&helper->arena);
        r = spawn_wire_next_order(&helper->inbox, &helper->arena, &order);
        if (r > 0)
            obey(helper, &order);
    }
    if (r < 0) {
        log_error("spawner.garbled error=%d", -r);
        helper_drop_link(helper);
    }
}

static void on_link(void *arg, uint32_t events)
{
    struct helper *helper = arg;
    (void)events;
    if (helper->inbox.len > 0) { /* one datagram after the other; it will still be readable */
        loop_defer(helper->loop, &helper->turn_end);
        return;
    }
    int r = spawn_link_read(&helper->link, &helper->inbox);
    if (r > 0)
        helper_work(helper);
    else if (r < 0 && r != -ECONNRESET) /* which may stand before data that is left to read */
        helper_drop_link(helper);
    loop_defer(helper->loop, &helper->turn_end);
}

static void helper_send(struct helper *helper)
{
    if (helper->link.fd < 0)
        return;
    int r = spawn_link_flush(&helper->link);
    if (r < 0 || helper->link.out.len > QUEUE_BYTES_MAX) {
        helper_drop_link(helper);
        return;
    }
    helper->is_blocked = r > 0;
    loop_io_set(helper->link_io, (helper->inbox.len ? 0 : (uint32_t)EPOLLIN) |
                                     (helper->is_blocked ? (uint32_t)EPOLLOUT : 0));
    if (helper->inbox.len > 0 && !helper->is_blocked)
        loop_defer(helper->loop, &helper->work);
}

static void helper_turn_end(void *arg)
{
    struct helper *helper = arg;
    helper_send(helper);
    if (helper->inbox.len == 0)
        spawn_rest(&helper->children.spawn);
    if (helper->link.out.len == 0 || helper->children.dead.len > DEAD_MAX)
        spawner_children_bury(&helper->children);
    if (helper->is_quitting && helper->children.n_alive == 0 && helper->link.out.len == 0) {
        loop_stop(helper->loop);
        return;
    }
    bool is_idle = helper->link.fd < 0 && map_count(helper->children.by_id) == 0;
    if (!is_idle)
        loop_timer_clear(helper->loop, &helper->idle);
    else if (!heap_contains(&helper->idle.node))
        loop_timer_set(helper->loop, &helper->idle, loop_now(helper->loop) + IDLE_MS);
}

static void on_idle(void *arg)
{
    struct helper *helper = arg;
    loop_stop(helper->loop);
}

static bool is_welcome(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return false;
    return peer.uid == geteuid() || peer.uid == 0;
}

static void on_connect(void *arg, uint32_t events)
{
    struct helper *helper = arg;
    (void)events;
    scoped_fd fd = accept4(helper->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 || !is_welcome(fd))
        return;
    helper_drop_link(helper);
    helper->is_quitting = false; /* that was the wish of another one */
    helper->link.fd = fd_take(&fd);
    helper->link_io = loop_io_add(helper->loop, helper->link.fd, EPOLLIN, on_link, helper);
    struct spawn_reply hello = {
        .type = SPAWN_HELLO, .version = SPAWN_WIRE_VERSION, .pid = (int32_t)getpid()};
    tell(helper, &hello);
}

static void on_signal(void *arg, int signo)
{
    (void)arg;
    log_info("spawner.signal_ignored signal=%d", signo);
}

static int take_lock(const char *socket_path, int *ret_fd, struct err *err)
{
    scoped_free char *path = mem_printf("%s.lock", socket_path);
    scoped_fd fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, -errno, "open '%s': %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, -errno, "lock '%s': %s", path, strerror(errno));
    *ret_fd = fd_take(&fd);
    return 0;
}

/* Each of these only makes it better. */
static void become_helper(void)
{
    (void)setsid(); /* EPERM when we lead one already */
    (void)prctl(PR_SET_NAME, "muster-spawner");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    fd_limit_raise();
    scoped_fd fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, OWN_OOM_SCORE_ADJ, strlen(OWN_OOM_SCORE_ADJ)) < 0)
        return; /* needs a capability */
}

static int watch_signals(struct helper *helper, struct err *err)
{
    static const int SIGNALS[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(SIGNALS) && r == 0; i++)
        r = loop_signal(helper->loop, SIGNALS[i], on_signal, helper, err);
    return r;
}

static int helper_init(struct helper *helper, const char *socket_path, struct err *err)
{
    int r = loop_new(&helper->loop, err);
    if (r == 0)
        r = watch_signals(helper, err);
    if (r == 0)
        r = spawner_children_init(&helper->children, helper->loop, err);
    if (r < 0)
        return r;
    helper->children.tell = tell;
    helper->children.arg = helper;
    arena_init(&helper->arena);
    loop_task_init(&helper->work, helper_work, helper);
    loop_task_init(&helper->turn_end, helper_turn_end, helper);
    loop_timer_init(&helper->idle, on_idle, helper);
    r = spawn_link_listen(socket_path, &helper->listen_fd);
    if (r < 0)
        return err_set(err, r, "listen on '%s': %s", socket_path, strerror(-r));
    helper->listen_io = loop_io_add(helper->loop, helper->listen_fd, EPOLLIN, on_connect, helper);
    loop_defer(helper->loop, &helper->turn_end);
    return 0;
}

static void helper_done(struct helper *helper)
{
    helper_drop_link(helper);
    loop_task_cancel(helper->loop, &helper->turn_end);
    loop_timer_clear(helper->loop, &helper->idle);
    loop_io_del(helper->listen_io);
    (void)close(helper->listen_fd);
    spawner_children_done(&helper->children);
    spawn_link_done(&helper->link);
    arena_done(&helper->arena);
    loop_free(helper->loop);
    (void)close(helper->lock_fd); /* last: from here on the socket may be another's */
}

int spawner_main(const char *socket_path)
{
    struct helper helper = {.link.fd = -1, .listen_fd = -1, .lock_fd = -1};
    struct err err = {0};
    become_helper();
    int r = take_lock(socket_path, &helper.lock_fd, &err);
    if (r == -EWOULDBLOCK)
        return EXIT_SUCCESS; /* there is one already */
    if (r == 0)
        r = helper_init(&helper, socket_path, &err);
    if (r < 0) {
        log_error("spawner.failed error=\"%s\"", err.text);
        return EXIT_FAILURE;
    }
    loop_run(helper.loop);
    (void)unlink(socket_path);
    helper_done(&helper);
    return EXIT_SUCCESS;
}
