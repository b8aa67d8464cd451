// SPDX-License-Identifier: Apache-2.0
/* The job side. Everything is decided by what watches show and by time; a write is sent with the
 * version that it follows from, and nothing more is sent of a workload until that version is past.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "bench/admit.h"
#include "bench/proc.h"
#include <stdio.h>
#include <string.h>

#define GUARD_MS 1000

struct wish {
    enum act act;
    size_t index;
};

struct writer { /* one connection */
    struct str request;
    struct wish wish;
};

struct source { /* one class of one queue */
    struct play *play;
    struct loop_timer timer;
    size_t first;
    uint64_t made;
    const struct sort *sort;
};

/* Of the one run of this program. */
static struct {
    VEC(struct wish) wishes; /* from `next` on */
    size_t next;
    VEC(struct wire *) idle;
    struct writer *writers;
    uint64_t answered;
} line;

/* ---- writing ---- */

static void send_wish(struct play *play, struct wire *wire, struct wish wish)
{
    struct writer *writer = wire->arg;
    writer->wish = wish;
    str_clear(&writer->request);
    text_act(play, wish.act, wish.index, &writer->request);
    if (wish.act == ACT_CREATE)
        play->tasks[wish.index].created_ns = proc_clock_ns();
    wire_send(wire, writer->request.data, writer->request.len);
}

/* By turns: a server closes connections that nobody uses for long. */
static struct wire *take_idle(void)
{
    struct wire *first = line.idle.items[0];
    line.idle.len--;
    memmove(line.idle.items, line.idle.items + 1, line.idle.len * sizeof(*line.idle.items));
    return first;
}

static void want(struct play *play, enum act act, size_t index)
{
    struct wish wish = {act, index};
    if (line.idle.len > 0)
        send_wish(play, take_idle(), wish);
    else
        vec_push(&line.wishes, wish);
}

static void on_ready(struct wire *wire)
{
    wire->arg = &line.writers[wire->index];
    vec_push(&line.idle, wire);
}

static void on_body(struct wire *wire, const char *data, size_t len)
{
    if (wire->status >= 300 && wire->status != 409)
        wire_die("status %d: %.*s", wire->status, (int)len, data);
}

static void on_done(struct wire *wire)
{
    struct play *play = wire_pool_arg(wire);
    const struct writer *writer = wire->arg;
    line.answered++;
    /* Somebody else has written it: its newer version is on its way and will be looked at. */
    play->conflicts += wire->status == 409;
    if (writer->wish.act == ACT_CREATE && ++play->created == play->n_tasks)
        play->generated_ns = proc_clock_ns();
    if (line.next < line.wishes.len) {
        send_wish(play, wire, line.wishes.items[line.next++]);
        return;
    }
    vec_clear(&line.wishes);
    line.next = 0;
    vec_push(&line.idle, wire);
}

/* ---- one workload ---- */

static void write_task(struct task *task, enum act act)
{
    task->sent_version = task->version;
    want(task->play, act, (size_t)(task - task->play->tasks));
}

static void wait_until(struct task *task, int64_t ms_since_admission)
{
    int64_t passed = (int64_t)((proc_clock_ns() - task->admitted_ns) / 1000000);
    int64_t left = ms_since_admission > passed ? ms_since_admission - passed : 0;
    loop_timer_set(task->play->loop, &task->timer, loop_now(task->play->loop) + left);
}

struct wants {
    bool is_ready;
    int64_t until_ms; /* since its admission; -1: for ever */
};

/* What a gang of that habit is like so long after its admission. */
static struct wants wants_of(const struct task *task, int64_t ms)
{
    const struct plan *plan = task->play->plan;
    switch (task->habit) {
    case HABIT_READY:
        return (struct wants){true, -1};
    case HABIT_SLOW:
        return ms < plan->slow_ms ? (struct wants){false, plan->slow_ms} : (struct wants){true, -1};
    case HABIT_NEVER:
        return (struct wants){false, -1};
    case HABIT_FLAPS:
        if (ms < plan->flap_ms)
            return (struct wants){true, plan->flap_ms};
        if (task->admissions == 1)
            return (struct wants){false, -1};
        return ms < 2 * plan->flap_ms ? (struct wants){false, 2 * plan->flap_ms}
                                      : (struct wants){true, -1};
    }
    return (struct wants){0};
}

static void run_task(struct task *task)
{
    const struct plan *plan = task->play->plan;
    int64_t ms = (int64_t)((proc_clock_ns() - task->admitted_ns) / 1000000);
    int64_t run_ms = plan->sorts[task->sort].run_ms;
    struct wants wants = plan->tells_ready ? wants_of(task, ms) : (struct wants){true, -1};
    if (plan->tells_ready && wants.is_ready != task->is_ready)
        write_task(task, wants.is_ready ? ACT_READY : ACT_UNREADY);
    else if (wants.until_ms >= 0)
        wait_until(task, wants.until_ms);
    else if (wants.is_ready && ms >= run_ms)
        write_task(task, ACT_FINISH);
    else if (wants.is_ready)
        wait_until(task, run_ms);
}

void play_look(struct task *task)
{
    if (task->sent_version == task->version || task->is_finished)
        return;
    loop_timer_clear(task->play->loop, &task->timer);
    if (task->is_evicted && task->holds_quota)
        write_task(task, ACT_CLEAR);
    else if (task->is_admitted)
        run_task(task);
}

static void on_time(void *arg)
{
    play_look(arg);
}

/* ---- creating ---- */

static void make_more(void *arg)
{
    struct source *source = arg;
    struct play *play = source->play;
    int64_t interval = source->sort->interval_ms;
    int64_t passed = (int64_t)((proc_clock_ns() - play->start_ns) / 1000000);
    while (source->made < source->sort->count &&
           (int64_t)(source->made + 1) * interval <= passed) /* the first after one interval */
        want(play, ACT_CREATE, source->first + source->made++);
    if (source->made < source->sort->count)
        loop_timer_set(play->loop, &source->timer,
                       loop_now(play->loop) + (int64_t)(source->made + 1) * interval - passed);
}

/* The habits are spread evenly, and differently in each class. */
static enum habit habit_of(const struct plan *plan, size_t index)
{
    uint64_t at = (uint64_t)index * 617 % 1000;
    if (at < plan->never)
        return HABIT_NEVER;
    if (at < plan->never + plan->slow)
        return HABIT_SLOW;
    return at < plan->never + plan->slow + plan->flaps ? HABIT_FLAPS : HABIT_READY;
}

static struct source *make_tasks(struct play *play)
{
    const struct plan *plan = play->plan;
    size_t index = 0;
    play->n_queues = plan->cohorts * plan->queues;
    for (size_t i = 0; i < plan->n_sorts; i++)
        play->n_tasks += plan->sorts[i].count * play->n_queues;
    play->tasks = mem_zalloc(play->n_tasks * sizeof(*play->tasks));
    play->queues = mem_zalloc(play->n_queues * sizeof(*play->queues));
    play->seen.cohort_held = mem_zalloc(plan->cohorts * sizeof(*play->seen.cohort_held));
    struct source *sources = mem_zalloc(play->n_queues * plan->n_sorts * sizeof(*sources));
    for (size_t i = 0; i < play->n_queues * plan->n_sorts; i++) {
        const struct sort *sort = &plan->sorts[i % plan->n_sorts];
        sources[i] = (struct source){.play = play, .first = index, .sort = sort};
        loop_timer_init(&sources[i].timer, make_more, &sources[i]);
        for (uint64_t k = 0; k < sort->count; k++, index++) {
            struct task *task = &play->tasks[index];
            *task = (struct task){.queue = (uint32_t)(i / plan->n_sorts),
                                  .sort = (uint32_t)(i % plan->n_sorts),
                                  .habit = habit_of(plan, index),
                                  .play = play};
            loop_timer_init(&task->timer, on_time, task);
        }
    }
    return sources;
}

/* ---- the whole ---- */

static void set_up(struct play *play)
{
    size_t first_part, count = text_setup_count(play->plan, &first_part);
    for (size_t i = 0; i < first_part; i++)
        want(play, ACT_SETUP, i);
    while (line.answered < first_part)
        loop_turn(play->loop, -1);
    for (size_t i = first_part; i < count; i++)
        want(play, ACT_SETUP, i);
    while (line.answered < count)
        loop_turn(play->loop, -1);
}

static void begin(struct play *play)
{
    play->start_ns = proc_clock_ns();
    play->seen.first_version = play->seen.last_version;
    for (size_t i = 0; i < play->n_queues; i++)
        play->queues[i].used_ns = play->queues[i].held_ns = play->start_ns;
}

static void create_all(struct play *play, struct source *sources)
{
    for (size_t i = 0; i < play->n_queues * play->plan->n_sorts; i++)
        make_more(&sources[i]);
}

/* What is told counts from here: time, CPU, admissions, writes. */
static void skip(struct play *play)
{
    play->has_skipped = true;
    play->before = proc_use(play->plan->pid);
    play->seen.admissions = play->seen.evictions = play->seen.status_writes = 0;
    begin(play);
}

static bool is_over(struct play *play)
{
    const struct plan *plan = play->plan;
    if (!play->has_skipped && plan->skip > 0) {
        if (play->seen.admissions >= plan->skip)
            skip(play);
        return false;
    }
    if (plan->stop_after > 0)
        return play->seen.admissions >= plan->stop_after;
    return play->seen.ended == play->n_tasks && seen_is_idle(play);
}

struct guard {
    struct play *play;
    struct loop_timer timer;
};

/* A run that does not end says how far it came. */
static void on_guard(void *arg)
{
    struct guard *guard = arg;
    struct play *play = guard->play;
    double passed = (double)(proc_clock_ns() - play->start_ns) / 1e9;
    if (passed > play->plan->limit_s)
        wire_die("after %.0f s: %zu of %zu created, %zu admissions, %zu ended", passed,
                 (size_t)play->created, play->n_tasks, (size_t)play->seen.admissions,
                 (size_t)play->seen.ended);
    loop_timer_set(play->loop, &guard->timer, loop_now(play->loop) + GUARD_MS);
}

/* When none may be admitted before all are there, time counts from the opening of the queues. */
static void open_queues(struct play *play)
{
    while (play->created < play->n_tasks)
        loop_turn(play->loop, -1);
    play->before = proc_use_at_rest(play->plan->pid);
    begin(play);
    for (size_t i = 0; i < play->n_queues; i++)
        want(play, ACT_OPEN, i);
}

static struct wire_pool *connect_writers(struct play *play)
{
    struct wire_options options = play->plan->target;
    options.count = play->plan->conns;
    options.on_ready = on_ready;
    options.on_body = on_body;
    options.on_done = on_done;
    options.arg = play;
    line.writers = mem_zalloc(options.count * sizeof(*line.writers));
    struct wire_pool *pool = wire_pool_new(play->loop, &options);
    while (wire_pool_ready(pool) < options.count)
        loop_turn(play->loop, -1);
    return pool;
}

void play_run(struct play *play)
{
    struct guard guard = {.play = play};
    struct source *sources = make_tasks(play);
    struct wire_pool *writers = connect_writers(play);
    set_up(play);
    struct wire_pool *workloads = seen_watch(play, "workloads");
    struct wire_pool *queues = seen_watch(play, "clusterqueues");
    play->before = proc_use_at_rest(play->plan->pid);
    begin(play);
    loop_timer_init(&guard.timer, on_guard, &guard);
    on_guard(&guard);
    create_all(play, sources);
    if (play->plan->is_held)
        open_queues(play);
    while (!is_over(play))
        loop_turn(play->loop, -1);
    play->end_ns = proc_clock_ns();
    seen_settle(play, play->end_ns);
    play->after =
        play->plan->stop_after > 0 ? proc_use(play->plan->pid) : proc_use_at_rest(play->plan->pid);
    loop_timer_clear(play->loop, &guard.timer);
    wire_pool_free(queues);
    wire_pool_free(workloads);
    wire_pool_free(writers);
    mem_free(sources);
}
