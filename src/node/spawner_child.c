// SPDX-License-Identifier: Apache-2.0
#include "node/spawner_child.h"
#include "base/mem.h"
#include "os/clock.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*  1. A child that has ended is looked at first, told of, and reaped when that was sent: should we
 *     die in between, whoever inherits it can still see how it ended. From the look on its record
 *     has no pid, so that a signal cannot hit a stranger.
 *  2. Orphans that became ours (their parent was a child of ours) are looked for some time after a
 *     SIGCHLD. The kernel goes through all children to find one, so not for each signal.
 *  3. A pidfd leaves epoll before it is closed. */

#define SWEEP_MS 50
#define SPARE_FDS 64 /* for supervisors that connect, and for what a start opens */

struct child {
    struct spawner_children *all;
    struct loop_io *io;
    int pid; /* 0: has ended */
    int pidfd;
    uint64_t ident;
    bool is_transient;
    int code, status;
    int64_t started_ms, ended_ms;
    char id[];
};

static void tell(struct spawner_children *children, const struct spawn_reply *reply)
{
    children->tell(children->arg, reply);
}

static void child_free(struct child *child)
{
    if (child->io) {
        loop_io_del(child->io);
        (void)close(child->pidfd);
    }
    mem_free(child);
}

static void child_tell(const struct child *child)
{
    struct spawn_reply alive = {.type = SPAWN_ALIVE,
                                .id = child->id,
                                .pid = child->pid,
                                .ident = child->ident,
                                .at_ms = child->started_ms};
    struct spawn_reply exited = {.type = SPAWN_EXITED,
                                 .id = child->id,
                                 .code = child->code,
                                 .status = child->status,
                                 .at_ms = child->ended_ms};
    tell(child->all, child->pid ? &alive : &exited);
}

/* Nothing happens when it is still alive. */
static void child_look(struct child *child)
{
    struct spawner_children *children = child->all;
    siginfo_t info = {0};
    int r = waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG | WNOWAIT);
    if (r == 0 && info.si_pid == 0)
        return;
    child->code = r == 0 ? info.si_code : CLD_EXITED;
    child->status = r == 0 ? info.si_status : -1; /* somebody else has reaped it: not known */
    child->pid = 0;
    child->ended_ms = clock_wall();
    children->n_alive--;
    loop_io_del(take_ptr(child->io));
    vec_push(&children->dead, child->pidfd);
    child_tell(child);
    if (child->is_transient)
        spawner_children_forget(children, child->id);
}

static void on_pidfd(void *arg, uint32_t events)
{
    (void)events;
    child_look(arg);
}

static void refuse(struct spawner_children *children, const char *id, int error, const char *what)
{
    struct spawn_reply reply = {.type = SPAWN_FAILED, .id = id, .error = error, .what = what};
    tell(children, &reply);
}

static void child_add(struct spawner_children *children, const struct spawn_request *request,
                      const struct spawn_born *born)
{
    size_t id_bytes = strlen(request->id) + 1;
    struct child *child = mem_zalloc(sizeof(*child) + id_bytes);
    child->all = children;
    child->pid = born->pid;
    child->pidfd = born->pidfd;
    child->ident = born->ident;
    child->is_transient = request->is_transient;
    child->started_ms = clock_wall();
    memcpy(child->id, request->id, id_bytes);
    child->io = loop_io_add(children->loop, child->pidfd, EPOLLIN, on_pidfd, child);
    (void)map_put(children->by_id, child->id, child);
    children->n_alive++;
    struct spawn_reply reply = {.type = SPAWN_STARTED,
                                .id = child->id,
                                .pid = child->pid,
                                .ident = child->ident,
                                .at_ms = child->started_ms};
    tell(children, &reply);
}

void spawner_children_start(struct spawner_children *children, const struct spawn_request *request)
{
    struct spawn_born born;
    struct spawn_fault fault;
    if (map_get(children->by_id, request->id)) {
        refuse(children, request->id, EEXIST, "id");
        return;
    }
    if (children->n_alive >= children->alive_max) {
        refuse(children, request->id, EMFILE, SPAWN_STAGE[SPAWN_AT_CLONE]);
        return;
    }
    if (spawn_start(&children->spawn, request, &born, &fault) == 0) {
        child_add(children, request, &born);
        return;
    }
    struct spawn_reply reply = {.type = SPAWN_FAILED,
                                .id = request->id,
                                .error = fault.error,
                                .what = SPAWN_STAGE[fault.stage],
                                .path = fault.path};
    tell(children, &reply);
}

void spawner_children_signal(struct spawner_children *children, const struct spawn_order *order)
{
    const struct child *child = map_get(children->by_id, order->id);
    if (child == NULL || child->pid == 0 || order->signo <= 0 || order->signo >= _NSIG)
        return;
    /* ESRCH is as good: it has ended and will be reaped. */
    if (order->to_group)
        (void)kill(-child->pid, order->signo); /* it leads a group */
    else
        (void)syscall(SYS_pidfd_send_signal, child->pidfd, order->signo, NULL, 0);
}

void spawner_children_forget(struct spawner_children *children, const char *id)
{
    struct child *child = map_get(children->by_id, id);
    if (child == NULL || child->pid != 0)
        return; /* what lives is not forgotten */
    (void)map_del(children->by_id, id);
    child_free(child);
}

static bool list_one(void *arg, const char *key, void *value)
{
    (void)arg;
    (void)key;
    child_tell(value);
    return true;
}

void spawner_children_list(struct spawner_children *children)
{
    struct spawn_reply reply = {.type = SPAWN_LISTED};
    (void)map_each(children->by_id, list_one, NULL);
    tell(children, &reply);
}

struct search {
    int pid;
    struct child *found;
};

static bool is_pid(void *arg, const char *key, void *value)
{
    struct search *search = arg;
    struct child *child = value;
    (void)key;
    if (child->pid == search->pid)
        search->found = child;
    return search->found == NULL;
}

static void sweep_soon(struct spawner_children *children)
{
    if (!heap_contains(&children->sweep.node))
        loop_timer_set(children->loop, &children->sweep, loop_now(children->loop) + SWEEP_MS);
}

/* Only while no dead child of ours waits to be reaped, which would be taken for an orphan. */
static void sweep(struct spawner_children *children)
{
    siginfo_t info = {0};
    children->is_sweep_due = false;
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
        struct search search = {.pid = info.si_pid};
        (void)map_each(children->by_id, is_pid, &search);
        if (search.found) { /* its pidfd is about to be looked at, and it hides the others */
            sweep_soon(children);
            return;
        }
        (void)waitid(P_PID, (id_t)info.si_pid, &info, WEXITED | WNOHANG);
        info.si_pid = 0;
    }
}

void spawner_children_bury(struct spawner_children *children)
{
    siginfo_t info;
    for (size_t i = 0; i < children->dead.len; i++) {
        (void)waitid(P_PIDFD, (id_t)children->dead.items[i], &info, WEXITED | WNOHANG);
        (void)close(children->dead.items[i]);
    }
    vec_clear(&children->dead);
    if (children->is_sweep_due)
        sweep(children);
}

static void on_sweep(void *arg)
{
    struct spawner_children *children = arg;
    children->is_sweep_due = true;
    if (children->dead.len == 0) /* else they come first */
        sweep(children);
}

static void on_sigchld(void *arg, int signo)
{
    (void)signo;
    sweep_soon(arg);
}

int spawner_children_init(struct spawner_children *children, struct loop *loop, struct err *err)
{
    int r = spawn_init(&children->spawn, false, err);
    if (r < 0)
        return r;
    children->spawn.has_session = getsid(0) == getpid(); /* see become_helper() */
    struct rlimit limit = {0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    children->alive_max = limit.rlim_cur > SPARE_FDS ? limit.rlim_cur - SPARE_FDS : 1;
    children->loop = loop;
    children->by_id = map_new();
    loop_timer_init(&children->sweep, on_sweep, children);
    return loop_signal(loop, SIGCHLD, on_sigchld, children, err);
}

static bool free_one(void *arg, const char *key, void *value)
{
    (void)arg;
    (void)key;
    child_free(value);
    return true;
}

void spawner_children_done(struct spawner_children *children)
{
    if (children->loop != NULL)
        sweep(children); /* orphans that ended within the last moments */
    loop_timer_clear(children->loop, &children->sweep);
    children->is_sweep_due = false;
    spawner_children_bury(children);
    (void)map_each(children->by_id, free_one, NULL);
    map_free(children->by_id);
    vec_done(&children->dead);
    spawn_done(&children->spawn);
}
