// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/heap.h"
#include "base/timetext.h"
#include <stdint.h>

/* One thread's event loop: epoll for descriptors, a heap behind one timerfd for timers, one
 * signalfd for signals, and tasks that run at the end of a turn. Time is read once a turn. */
struct loop;
struct loop_io; /* one watched descriptor */

typedef void loop_io_fn(void *arg, uint32_t epoll_events);
typedef void loop_fn(void *arg);
typedef void loop_signal_fn(void *arg, int signo);

int loop_new(struct loop **ret_loop, struct err *err);
void loop_free(struct loop *loop);              /* everything in it must have been removed */
void loop_run(struct loop *loop);               /* until loop_stop() */
void loop_turn(struct loop *loop, int wait_ms); /* one turn, for tests; -1 waits for ever */
void loop_stop(struct loop *loop);

time_ms loop_now(const struct loop *loop);  /* monotonic, of this turn */
time_ms loop_wall(const struct loop *loop); /* since 1970, of this turn */

/* The descriptor stays the caller's; remove it before closing it. A callback may remove any
 * descriptor, its own included: events of a removed one that were already fetched are dropped. */
struct loop_io *loop_io_add(struct loop *loop, int fd, uint32_t epoll_events, loop_io_fn *fn,
                            void *arg);
void loop_io_set(struct loop_io *io, uint32_t epoll_events);
void loop_io_del(struct loop_io *io); /* NULL is fine */

/* A timer lives in the caller's struct. Setting a running timer moves it. */
struct loop_timer {
    struct heap_node node;
    loop_fn *fn;
    void *arg;
};
void loop_timer_init(struct loop_timer *timer, loop_fn *fn, void *arg);
void loop_timer_set(struct loop *loop, struct loop_timer *timer, time_ms at_monotonic);
void loop_timer_clear(struct loop *loop, struct loop_timer *timer);

/* Runs once after all events of this turn were handled; queued twice it still runs once. */
struct loop_task {
    struct loop_task *next;
    int queued;
    loop_fn *fn;
    void *arg;
};
void loop_task_init(struct loop_task *task, loop_fn *fn, void *arg);
void loop_defer(struct loop *loop, struct loop_task *task);
void loop_task_cancel(struct loop *loop, struct loop_task *task);

/* Blocks the signal for the process and delivers it here. */
int loop_signal(struct loop *loop, int signo, loop_signal_fn *fn, void *arg, struct err *err);
