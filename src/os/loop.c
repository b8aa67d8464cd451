// SPDX-License-Identifier: Apache-2.0
#include "os/loop.h"
#include "base/mem.h"
#include "base/vec.h"
#include "os/clock.h"
#include "os/fd.h"
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* A turn is: wait, descriptors, timers that are due, deferred tasks.
 *
 *  1. An epoll event carries the number of a slot and the slot's generation, never a pointer. A
 *     callback may thus remove (and free) anything: an event of a removed descriptor which was
 *     already fetched no longer matches and is dropped, even if the slot was given away again.
 *  2. A descriptor is taken out of epoll before its owner closes it: a duplicate that a child holds
 *     for an instant would otherwise keep reporting it.
 *  3. Timers and tasks started by a timer or a task run in the next turn, so that no chain of them
 *     can starve the descriptors.
 *  4. The timerfd is armed at or before the earliest deadline. It is not moved when timers are
 *     cleared or postponed (most are: they are time-outs); an early wake-up is cheaper. */

#define EVENTS_A_TURN 64 /* few, so that a turn's writes are on the disk while the next is read */
#define SLOT_NONE UINT32_MAX

struct loop_slot {
    struct loop_io *io; /* NULL while free */
    uint32_t generation;
    uint32_t next_free;
};

struct loop_io {
    struct loop *loop;
    loop_io_fn *fn;
    void *arg;
    int fd;
    uint32_t slot;
    uint32_t events;
};

struct loop_signal {
    loop_signal_fn *fn;
    void *arg;
};

struct loop {
    int epoll_fd;
    int timer_fd;
    int signal_fd;
    bool stopped;
    time_ms now;
    time_ms wall;
    time_ms armed_at;
    struct heap timers;
    VEC(struct loop_slot) slots;
    uint32_t free_slot;
    struct loop_task *first, *last; /* to run at the end of this turn */
    struct loop_task *running;      /* rest of those that run now */
    struct loop_io *timer_io;
    struct loop_io *signal_io;
    sigset_t signals;
    struct loop_signal handlers[_NSIG];
};

static void loop_read_clock(struct loop *loop)
{
    loop->now = clock_monotonic();
    loop->wall = clock_wall();
}

time_ms loop_now(const struct loop *loop)
{
    return loop->now;
}

time_ms loop_wall(const struct loop *loop)
{
    return loop->wall;
}

static uint32_t slot_take(struct loop *loop, struct loop_io *io)
{
    if (loop->free_slot == SLOT_NONE) {
        struct loop_slot slot = {.next_free = SLOT_NONE};
        loop->free_slot = (uint32_t)loop->slots.len;
        vec_push(&loop->slots, slot);
    }
    uint32_t index = loop->free_slot;
    loop->free_slot = loop->slots.items[index].next_free;
    loop->slots.items[index].io = io;
    return index;
}

static void slot_give(struct loop *loop, uint32_t index)
{
    struct loop_slot *slot = &loop->slots.items[index];
    slot->io = NULL;
    slot->generation++;
    slot->next_free = loop->free_slot;
    loop->free_slot = index;
}

static struct epoll_event io_event(const struct loop_io *io)
{
    uint64_t generation = io->loop->slots.items[io->slot].generation;
    return (struct epoll_event){.events = io->events, .data.u64 = generation << 32 | io->slot};
}

struct loop_io *loop_io_add(struct loop *loop, int fd, uint32_t epoll_events, loop_io_fn *fn,
                            void *arg)
{
    struct loop_io *io = mem_zalloc(sizeof(*io));
    *io = (struct loop_io){loop, fn, arg, fd, 0, epoll_events};
    io->slot = slot_take(loop, io);
    struct epoll_event event = io_event(io);
    int r = epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    assert(r == 0); /* a wrong descriptor, or one added twice */
    return io;
}

void loop_io_set(struct loop_io *io, uint32_t epoll_events)
{
    if (io->events == epoll_events)
        return;
    io->events = epoll_events;
    struct epoll_event event = io_event(io);
    int r = epoll_ctl(io->loop->epoll_fd, EPOLL_CTL_MOD, io->fd, &event);
    assert(r == 0);
}

void loop_io_del(struct loop_io *io)
{
    if (io == NULL)
        return;
    int r = epoll_ctl(io->loop->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL);
    assert(r == 0); /* it was closed before it was removed */
    slot_give(io->loop, io->slot);
    mem_free(io);
}

void loop_timer_init(struct loop_timer *timer, loop_fn *fn, void *arg)
{
    heap_node_init(&timer->node);
    timer->fn = fn;
    timer->arg = arg;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, time_ms at_monotonic)
{
    heap_remove(&loop->timers, &timer->node);
    heap_push(&loop->timers, &timer->node, at_monotonic);
}

void loop_timer_clear(struct loop *loop, struct loop_timer *timer)
{
    heap_remove(&loop->timers, &timer->node);
}

static void loop_arm(struct loop *loop)
{
    struct heap_node *first = heap_peek(&loop->timers);
    if (first == NULL || first->key == TIME_NEVER || first->key >= loop->armed_at)
        return;
    loop->armed_at = first->key;
    time_ms at = first->key > 1 ? first->key : 1; /* zero would disarm it */
    struct itimerspec spec = {
        .it_value = {.tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000},
    };
    int r = timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
    assert(r == 0);
}

static void on_timer_fd(void *arg, uint32_t events)
{
    struct loop *loop = arg;
    uint64_t count;
    (void)events;
    ssize_t n = read(loop->timer_fd, &count, sizeof(count));
    (void)n; /* EAGAIN after it was moved meanwhile: due timers are looked for anyway */
    loop->armed_at = TIME_NEVER;
}

static void loop_run_timers(struct loop *loop)
{
    uint64_t seq_end = loop->timers.next_seq;
    struct heap_node *node;
    while ((node = heap_peek(&loop->timers)) && node->key <= loop->now && node->seq < seq_end) {
        heap_pop(&loop->timers);
        struct loop_timer *timer = container_of(node, struct loop_timer, node);
        timer->fn(timer->arg);
    }
}

void loop_task_init(struct loop_task *task, loop_fn *fn, void *arg)
{
    *task = (struct loop_task){.fn = fn, .arg = arg};
}

void loop_defer(struct loop *loop, struct loop_task *task)
{
    if (task->queued)
        return;
    task->queued = 1;
    task->next = NULL;
    if (loop->last)
        loop->last->next = task;
    else
        loop->first = task;
    loop->last = task;
}

static bool list_remove(struct loop_task **first, struct loop_task **last, struct loop_task *task)
{
    struct loop_task *before = NULL;
    for (struct loop_task *at = *first; at; before = at, at = at->next) {
        if (at != task)
            continue;
        *(before ? &before->next : first) = at->next;
        if (last && *last == at)
            *last = before;
        return true;
    }
    return false;
}

void loop_task_cancel(struct loop *loop, struct loop_task *task)
{
    if (!task->queued)
        return;
    bool found =
        list_remove(&loop->running, NULL, task) || list_remove(&loop->first, &loop->last, task);
    assert(found);
    task->queued = 0;
}

static void loop_run_tasks(struct loop *loop)
{
    loop->running = take_ptr(loop->first);
    loop->last = NULL;
    while (loop->running) {
        struct loop_task *task = loop->running;
        loop->running = task->next;
        task->queued = 0; /* before the call: it may free the task or queue it again */
        task->fn(task->arg);
    }
}

static void loop_dispatch(struct loop *loop, const struct epoll_event *event)
{
    uint32_t index = (uint32_t)event->data.u64;
    const struct loop_slot *slot = &loop->slots.items[index];
    if (slot->io == NULL || slot->generation != (uint32_t)(event->data.u64 >> 32))
        return;
    slot->io->fn(slot->io->arg, event->events);
}

void loop_turn(struct loop *loop, int wait_ms)
{
    struct epoll_event events[EVENTS_A_TURN];
    loop_arm(loop);
    int n = epoll_wait(loop->epoll_fd, events, EVENTS_A_TURN, loop->first ? 0 : wait_ms);
    assert(n >= 0 || errno == EINTR);
    loop_read_clock(loop);
    for (int i = 0; i < n; i++)
        loop_dispatch(loop, &events[i]);
    loop_run_timers(loop);
    loop_run_tasks(loop);
}

void loop_run(struct loop *loop)
{
    loop->stopped = false;
    while (!loop->stopped)
        loop_turn(loop, -1);
}

void loop_stop(struct loop *loop)
{
    loop->stopped = true;
}

static void on_signal_fd(void *arg, uint32_t events)
{
    struct loop *loop = arg;
    struct signalfd_siginfo info;
    (void)events;
    while (read(loop->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        struct loop_signal handler = loop->handlers[info.ssi_signo];
        if (handler.fn)
            handler.fn(handler.arg, (int)info.ssi_signo);
    }
}

int loop_signal(struct loop *loop, int signo, loop_signal_fn *fn, void *arg, struct err *err)
{
    assert(signo > 0 && signo < _NSIG);
    sigset_t signals = loop->signals;
    sigaddset(&signals, signo);
    int r = pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (r != 0)
        return err_set(err, -r, "block signal %d: %s", signo, strerror(r));
    int fd = signalfd(loop->signal_fd, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return err_set(err, -errno, "watch signal %d: %s", signo, strerror(errno));
    loop->signals = signals;
    loop->handlers[signo] = (struct loop_signal){fn, arg};
    if (loop->signal_fd < 0) {
        loop->signal_fd = fd;
        loop->signal_io = loop_io_add(loop, fd, EPOLLIN, on_signal_fd, loop);
    }
    return 0;
}

int loop_new(struct loop **ret_loop, struct err *err)
{
    scoped_fd epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0)
        return err_set(err, -errno, "create epoll: %s", strerror(errno));
    scoped_fd timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (timer_fd < 0)
        return err_set(err, -errno, "create timerfd: %s", strerror(errno));
    struct loop *loop = mem_zalloc(sizeof(*loop));
    loop->epoll_fd = fd_take(&epoll_fd);
    loop->timer_fd = fd_take(&timer_fd);
    loop->signal_fd = -1;
    loop->armed_at = TIME_NEVER;
    loop->free_slot = SLOT_NONE;
    sigemptyset(&loop->signals);
    loop_read_clock(loop);
    loop->timer_io = loop_io_add(loop, loop->timer_fd, EPOLLIN, on_timer_fd, loop);
    *ret_loop = loop;
    return 0;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    loop_io_del(loop->timer_io);
    loop_io_del(loop->signal_io);
    for (size_t i = 0; i < loop->slots.len; i++)
        assert(loop->slots.items[i].io == NULL);
    assert(heap_peek(&loop->timers) == NULL && loop->first == NULL);
    vec_done(&loop->slots);
    heap_done(&loop->timers);
    if (loop->signal_fd >= 0)
        close(loop->signal_fd);
    close(loop->timer_fd);
    close(loop->epoll_fd);
    mem_free(loop);
}
