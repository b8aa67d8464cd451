// SPDX-License-Identifier: Apache-2.0
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/str.h"
#include "os/loop.h"
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct trace {
    struct loop *loop;
    struct str text;
    struct loop_io *other;
    struct loop_timer timer;
    struct loop_task task, second;
    int fd;
    int count;
};

static struct trace trace_open(void)
{
    struct trace trace = {0};
    assert_int_equal(loop_new(&trace.loop, NULL), 0);
    return trace;
}

static void trace_close(struct trace *trace)
{
    loop_free(trace->loop);
    str_done(&trace->text);
}

static void remove_other(void *arg, uint32_t events)
{
    struct trace *trace = arg;
    (void)events;
    trace->count++;
    loop_io_del(trace->other);
    trace->other = NULL;
}

/* Both are ready and fetched together; whichever runs first removes the other. */
static void test_events_of_a_removed_descriptor_are_dropped(void **state)
{
    struct trace a = trace_open();
    struct trace b = {.loop = a.loop};
    int fd_a = eventfd(1, EFD_CLOEXEC), fd_b = eventfd(1, EFD_CLOEXEC);
    (void)state;
    struct loop_io *io_a = loop_io_add(a.loop, fd_a, EPOLLIN, remove_other, &a);
    struct loop_io *io_b = loop_io_add(a.loop, fd_b, EPOLLIN, remove_other, &b);
    a.other = io_b;
    b.other = io_a;
    loop_turn(a.loop, 1000);
    assert_int_equal(a.count + b.count, 1);
    loop_io_del(a.count ? io_a : io_b);
    close(fd_a);
    close(fd_b);
    trace_close(&a);
}

static void count_event(void *arg, uint32_t events)
{
    int *count = arg;
    (void)events;
    (*count)++;
}

static void replace_other(void *arg, uint32_t events)
{
    struct trace *trace = arg;
    (void)events;
    loop_io_del(trace->other); /* its slot is given to the new one */
    trace->other = loop_io_add(trace->loop, trace->fd, 0, count_event, &trace->count);
}

static void test_events_do_not_reach_the_next_owner_of_a_slot(void **state)
{
    struct trace a = trace_open();
    struct trace b = {.loop = a.loop};
    int fd_a = eventfd(1, EFD_CLOEXEC), fd_b = eventfd(1, EFD_CLOEXEC);
    (void)state;
    struct loop_io *io_a = loop_io_add(a.loop, fd_a, EPOLLIN, replace_other, &a);
    struct loop_io *io_b = loop_io_add(a.loop, fd_b, EPOLLIN, replace_other, &b);
    a.other = io_b;
    a.fd = fd_b;
    b.other = io_a;
    b.fd = fd_a;
    loop_turn(a.loop, 1000);
    assert_int_equal(a.count + b.count, 0);
    bool a_ran = a.other != io_b;
    loop_io_del(a_ran ? io_a : io_b);
    loop_io_del(a_ran ? a.other : b.other);
    close(fd_a);
    close(fd_b);
    trace_close(&a);
}

struct named {
    struct trace *trace;
    struct loop_timer timer;
    char name;
};

static void add_name(void *arg)
{
    struct named *named = arg;
    str_addc(&named->trace->text, named->name);
}

static void test_timers_run_in_order_and_can_be_moved(void **state)
{
    struct trace trace = trace_open();
    struct named timers[] = {{&trace, .name = 'a'},
                             {&trace, .name = 'b'},
                             {&trace, .name = 'c'},
                             {&trace, .name = 'd'},
                             {&trace, .name = 'e'}};
    time_ms now = loop_now(trace.loop);
    (void)state;
    for (size_t i = 0; i < 5; i++)
        loop_timer_init(&timers[i].timer, add_name, &timers[i]);
    loop_timer_set(trace.loop, &timers[0].timer, now + 4);
    loop_timer_set(trace.loop, &timers[1].timer, now + 2);
    loop_timer_set(trace.loop, &timers[2].timer, now + 2);
    loop_timer_set(trace.loop, &timers[3].timer, now + 1);
    loop_timer_set(trace.loop, &timers[4].timer, now + 60000);
    loop_timer_set(trace.loop, &timers[3].timer, now + 5); /* moved */
    loop_timer_clear(trace.loop, &timers[4].timer);
    while (trace.text.len < 4)
        loop_turn(trace.loop, 1000);
    assert_string_equal(trace.text.data, "bcad");
    assert_true(loop_now(trace.loop) >= now + 5);
    trace_close(&trace);
}

static void set_again(void *arg)
{
    struct trace *trace = arg;
    trace->count++;
    loop_timer_set(trace->loop, &trace->timer, loop_now(trace->loop) - 1);
}

static void test_timer_set_into_the_past_runs_once_a_turn(void **state)
{
    struct trace trace = trace_open();
    (void)state;
    loop_timer_init(&trace.timer, set_again, &trace);
    loop_timer_set(trace.loop, &trace.timer, 0);
    for (int i = 1; i <= 3; i++) {
        loop_turn(trace.loop, 1000);
        assert_int_equal(trace.count, i);
    }
    loop_timer_clear(trace.loop, &trace.timer);
    trace_close(&trace);
}

static void stop(void *arg)
{
    loop_stop(arg);
}

static void test_run_until_stopped(void **state)
{
    struct trace trace = trace_open();
    (void)state;
    loop_timer_init(&trace.timer, stop, trace.loop);
    loop_timer_set(trace.loop, &trace.timer, loop_now(trace.loop) + 3);
    loop_run(trace.loop);
    trace_close(&trace);
}

static void defer_again(void *arg)
{
    struct trace *trace = arg;
    trace->count++;
    loop_defer(trace->loop, &trace->task);
}

static void cancel_second(void *arg)
{
    struct trace *trace = arg;
    loop_task_cancel(trace->loop, &trace->second);
}

static void test_tasks_run_once_a_turn(void **state)
{
    struct trace trace = trace_open();
    (void)state;
    loop_task_init(&trace.task, defer_again, &trace);
    loop_defer(trace.loop, &trace.task);
    loop_defer(trace.loop, &trace.task);
    loop_turn(trace.loop, 1000);
    assert_int_equal(trace.count, 1);
    loop_turn(trace.loop, 1000); /* does not wait: a task is due */
    assert_int_equal(trace.count, 2);
    loop_task_cancel(trace.loop, &trace.task);
    loop_turn(trace.loop, 0);
    assert_int_equal(trace.count, 2);
    trace_close(&trace);
}

static void test_a_task_may_cancel_one_that_runs_next(void **state)
{
    struct trace trace = trace_open();
    (void)state;
    loop_task_init(&trace.task, cancel_second, &trace);
    loop_task_init(&trace.second, defer_again, &trace);
    loop_defer(trace.loop, &trace.task);
    loop_defer(trace.loop, &trace.second);
    loop_turn(trace.loop, 1000);
    assert_int_equal(trace.count, 0);
    loop_defer(trace.loop, &trace.second); /* the list is still sound */
    loop_turn(trace.loop, 1000);
    assert_int_equal(trace.count, 1);
    loop_task_cancel(trace.loop, &trace.task);
    trace_close(&trace);
}

static void on_signal(void *arg, int signo)
{
    int *got = arg;
    *got = signo;
}

static void test_signals_are_delivered_in_the_loop(void **state)
{
    struct trace trace = trace_open();
    int got_usr1 = 0, got_usr2 = 0;
    (void)state;
    assert_int_equal(loop_signal(trace.loop, SIGUSR1, on_signal, &got_usr1, NULL), 0);
    assert_int_equal(loop_signal(trace.loop, SIGUSR2, on_signal, &got_usr2, NULL), 0);
    assert_int_equal(raise(SIGUSR2), 0);
    assert_int_equal(got_usr2, 0);
    loop_turn(trace.loop, 1000);
    assert_int_equal(got_usr2, SIGUSR2);
    assert_int_equal(got_usr1, 0);
    trace_close(&trace);
}

static void test_time_stands_still_within_a_turn(void **state)
{
    struct trace trace = trace_open();
    (void)state;
    time_ms now = loop_now(trace.loop), wall = loop_wall(trace.loop);
    assert_true(wall > 1700000000000);
    for (int i = 0; i < 1000000; i++)
        assert_true(loop_now(trace.loop) == now);
    loop_turn(trace.loop, 0);
    assert_true(loop_now(trace.loop) >= now);
    trace_close(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_of_a_removed_descriptor_are_dropped),
        cmocka_unit_test(test_events_do_not_reach_the_next_owner_of_a_slot),
        cmocka_unit_test(test_timers_run_in_order_and_can_be_moved),
        cmocka_unit_test(test_timer_set_into_the_past_runs_once_a_turn),
        cmocka_unit_test(test_run_until_stopped),
        cmocka_unit_test(test_tasks_run_once_a_turn),
        cmocka_unit_test(test_a_task_may_cancel_one_that_runs_next),
        cmocka_unit_test(test_signals_are_delivered_in_the_loop),
        cmocka_unit_test(test_time_stands_still_within_a_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
