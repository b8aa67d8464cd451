// SPDX-License-Identifier: Apache-2.0
/* Units on virtual time.
 *
 *   start() ── birth ──> runs ──> ready ──> dead, kept ── forget() ──> gone
 *                 └ not run ──> gone     └ signal, annotation, fault
 *
 * 1. What is told goes through one queue, so it arrives late but in order, and never from within a
 *    call.
 * 2. adopt() is a new supervisor on the line: what was on its way to the one before is lost, what
 *    was asked for is settled at once, and the list that it is told is what is true now. */
#include "sim/runtime.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/podnotes.h"
#include "sim/cores.h"
#include <bsd/sys/queue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PID_FIRST 1000
#define SAY_AGAIN_MS 1
#define EXIT_BY(signo) (128 + (signo))

struct told { /* an event on its way */
    STAILQ_ENTRY(told) next;
    struct runtime_event event; /* owns its texts */
    time_ms at;
};

struct question { /* that was asked and is not answered yet */
    LIST_ENTRY(question) siblings;
    struct sim_unit *unit;
    struct sim_event due;
    uint64_t ticket;
    bool is_late, is_sleep;
};

enum stage { UNIT_ASKED, UNIT_RUNS, UNIT_DEAD };

struct sim_unit {
    TAILQ_ENTRY(sim_unit) siblings;
    struct sim_runtime *rt;
    char *id, *uid, *container;
    uint32_t generation;
    enum stage stage;
    bool wants_notify, is_forgotten, is_deaf, is_ready;
    int pid;
    int exit_code;
    time_ms birth_at, death_at;
    time_ms cpu_ms, start_ms, run_ms, exit_ms; /* as its pod says; TIME_NEVER: not */
    struct cores_job work;
    int planned_code;
    time_ms wall; /* when it started or died */
    struct sim_event birth, ready, death;
    LIST_HEAD(, question) questions;
};

struct slice {
    double share;
};

struct sim_runtime {
    struct runtime port;
    struct sim_runtime_options options;
    struct rng rng;
    runtime_event_fn *fn;
    void *arg;
    TAILQ_HEAD(units, sim_unit) units;
    struct map *by_id;
    struct map *alive;  /* "UID/container" to the one that is not dead; a start asks for it */
    struct map *slices; /* by UID */
    struct cores cores;
    STAILQ_HEAD(, told) queue;
    struct sim_event arrival;
    time_ms last_at;
    int next_pid;
    uint64_t starts;
    char *violation;
};

static struct sim_runtime *self(struct runtime *runtime)
{
    return container_of(runtime, struct sim_runtime, port);
}

static bool chance(struct sim_runtime *rt, unsigned of_ten_thousand)
{
    return rng_chance(&rt->rng, of_ten_thousand, 10000);
}

static time_ms soon(struct sim_runtime *rt, time_ms most)
{
    return rt->options.clock->now + rng_between(&rt->rng, 0, most);
}

static struct runtime_unit name_of(const struct sim_unit *unit)
{
    return (struct runtime_unit){unit->uid, unit->container, unit->generation};
}

static void note(struct sim_unit *unit, enum sim_unit_step step)
{
    struct runtime_unit name = name_of(unit);
    struct sim_runtime *rt = unit->rt;
    sim_trace(rt->options.clock, unit->id, (uint64_t)step);
    if (rt->options.on_step != NULL)
        rt->options.on_step(rt->options.arg, step, &name, unit->exit_code);
}

/* ---- telling ---- */

static void told_free(struct told *told)
{
    mem_free((char *)told->event.unit.uid);
    mem_free((char *)told->event.unit.container);
    mem_free((char *)told->event.text);
    mem_free(told);
}

static void arm_queue(struct sim_runtime *rt)
{
    const struct told *first = STAILQ_FIRST(&rt->queue);
    sim_clock_arm(rt->options.clock, &rt->arrival, first != NULL ? first->at : TIME_NEVER);
}

static void tell(struct sim_runtime *rt, const struct runtime_event *event)
{
    struct told *told = mem_zalloc(sizeof(*told));
    told->event = *event;
    told->event.unit.uid = mem_strdup(event->unit.uid);
    told->event.unit.container = mem_strdup(event->unit.container);
    told->event.text = mem_strdup(event->text);
    time_ms at = soon(rt, rt->options.faults.tell_ms);
    rt->last_at = told->at = at > rt->last_at ? at : rt->last_at;
    STAILQ_INSERT_TAIL(&rt->queue, told, next);
    arm_queue(rt);
}

static void on_arrival(void *arg)
{
    struct sim_runtime *rt = arg;
    struct told *told = STAILQ_FIRST(&rt->queue);
    STAILQ_REMOVE_HEAD(&rt->queue, next);
    arm_queue(rt);
    if (rt->fn != NULL)
        rt->fn(rt->arg, &told->event);
    told_free(told);
}

static void tell_about(struct sim_unit *unit, enum runtime_event_type type, const char *text)
{
    struct runtime_event event = {.type = type,
                                  .unit = name_of(unit),
                                  .text = text,
                                  .pid = unit->pid,
                                  .exit_code = unit->exit_code,
                                  .has_ended = unit->stage == UNIT_DEAD,
                                  .at = unit->wall};
    tell(unit->rt, &event);
}

/* ---- questions ---- */

static void question_free(struct question *question)
{
    sim_clock_disarm(question->unit->rt->options.clock, &question->due);
    LIST_REMOVE(question, siblings);
    mem_free(question);
}

static void drop_questions(struct sim_unit *unit)
{
    struct question *question;
    while ((question = LIST_FIRST(&unit->questions)) != NULL)
        question_free(question);
}

static void on_answer(void *arg)
{
    struct question *question = arg;
    struct sim_unit *unit = question->unit;
    struct sim_runtime *rt = unit->rt;
    bool is_ok = unit->is_ready && !question->is_late && !chance(rt, rt->options.faults.bad_answer);
    is_ok = is_ok || question->is_sleep;
    struct runtime_event event = {.type = RT_ANSWER,
                                  .unit = name_of(unit),
                                  .ticket = question->ticket,
                                  .is_ok = is_ok,
                                  .text = is_ok               ? NULL
                                          : question->is_late ? "the answer took too long"
                                                              : "the answer was no"};
    tell(rt, &event);
    question_free(question);
}

/* ---- the life of a unit ---- */

static void unit_set_alive(struct sim_unit *unit, bool is_alive)
{
    scoped_free char *key = mem_printf("%s/%s", unit->uid, unit->container);
    if (is_alive)
        (void)map_put(unit->rt->alive, key, unit);
    else if (map_get(unit->rt->alive, key) == unit)
        (void)map_del(unit->rt->alive, key);
}

static void unit_drop(struct sim_unit *unit)
{
    struct sim_runtime *rt = unit->rt;
    unit_set_alive(unit, false);
    drop_questions(unit);
    sim_clock_disarm(rt->options.clock, &unit->birth);
    sim_clock_disarm(rt->options.clock, &unit->ready);
    sim_clock_disarm(rt->options.clock, &unit->death);
    cores_remove(&rt->cores, &unit->work);
    TAILQ_REMOVE(&rt->units, unit, siblings);
    (void)map_del(rt->by_id, unit->id);
    mem_free(unit->id);
    mem_free(unit->uid);
    mem_free(unit->container);
    mem_free(unit);
}

static void plan_death(struct sim_unit *unit, time_ms at, int code)
{
    if (unit->stage == UNIT_ASKED && at < unit->birth_at)
        at = unit->birth_at;
    if (unit->stage == UNIT_DEAD || at >= unit->death_at)
        return; /* another end comes first */
    unit->death_at = at;
    unit->planned_code = code;
    sim_clock_arm(unit->rt->options.clock, &unit->death, at);
}

static time_ms after(time_ms at, time_ms span)
{
    return span == TIME_NEVER ? TIME_NEVER : at + span;
}

static void on_ready(void *arg)
{
    struct sim_unit *unit = arg;
    unit->is_ready = true;
    if (unit->wants_notify)
        tell_about(unit, RT_NOTIFY, "READY=1");
    plan_death(unit, after(unit->rt->options.clock->now, unit->run_ms), 0);
}

static void on_death(void *arg)
{
    struct sim_unit *unit = arg;
    struct sim_runtime *rt = unit->rt;
    drop_questions(unit);
    sim_clock_disarm(rt->options.clock, &unit->ready);
    cores_remove(&rt->cores, &unit->work);
    unit->stage = UNIT_DEAD;
    unit_set_alive(unit, false);
    unit->exit_code = unit->planned_code;
    unit->wall = sim_clock_wall(rt->options.clock);
    note(unit, SIM_UNIT_END);
    if (unit->is_forgotten) {
        note(unit, SIM_UNIT_FORGET);
        unit_drop(unit);
        return;
    }
    tell_about(unit, RT_ENDED, NULL);
}

static void on_worked(void *arg)
{
    struct sim_unit *unit = arg;
    struct sim_clock *clock = unit->rt->options.clock;
    sim_clock_arm(clock, &unit->ready, after(clock->now, unit->start_ms));
}

static void live(struct sim_unit *unit)
{
    static const int CODES[] = {0, 1, 3, 42, EXIT_BY(SIGSEGV)};
    struct sim_runtime *rt = unit->rt;
    time_ms now = rt->options.clock->now;
    unit->stage = UNIT_RUNS;
    unit->pid = rt->next_pid++;
    unit->wall = sim_clock_wall(rt->options.clock);
    if (unit->cpu_ms > 0 && unit->cpu_ms != TIME_NEVER)
        cores_add(&rt->cores, &unit->work, unit->cpu_ms);
    else if (unit->cpu_ms == 0)
        on_worked(unit);
    plan_death(unit, after(now, unit->exit_ms), unit->exit_code);
    unit->exit_code = 0;
    if (chance(rt, rt->options.faults.dies))
        plan_death(unit, soon(rt, rt->options.faults.life_ms),
                   CODES[rng_below(&rt->rng, ARRAY_LEN(CODES))]);
}

/* True: it runs. */
static bool be_born(struct sim_unit *unit)
{
    struct sim_runtime *rt = unit->rt;
    sim_clock_disarm(rt->options.clock, &unit->birth);
    if (!chance(rt, rt->options.faults.not_run)) {
        live(unit);
        return true;
    }
    note(unit, SIM_UNIT_NOT_RUN);
    return false;
}

static void on_birth(void *arg)
{
    struct sim_unit *unit = arg;
    if (be_born(unit)) {
        tell_about(unit, RT_RUNNING, NULL);
        return;
    }
    tell_about(unit, RT_NOT_RUN, "exec: Resource temporarily unavailable");
    unit_drop(unit);
}

/* ---- what its pod says ---- */

/* "VALUE" or "NAME=VALUE,NAME=VALUE"; empty: nothing. */
static struct sv note_for(yyjson_val *annotations, const char *key, const char *container)
{
    struct sv rest = sv_of(yyjson_get_str(yyjson_obj_get(annotations, key)));
    struct sv found = {0};
    while (rest.len > 0) {
        struct sv value = sv_trim(sv_cut(&rest, ','));
        if (memchr(value.ptr, '=', value.len) == NULL)
            found = value;
        else if (sv_is(sv_cut(&value, '='), container))
            return value;
    }
    return found;
}

static time_ms span_of(struct sv text, time_ms otherwise)
{
    time_ms span = 0;
    if (sv_is(text, "never"))
        return TIME_NEVER;
    return text.len > 0 && duration_parse(text, &span, NULL) == 0 && span >= 0 ? span : otherwise;
}

static void read_notes(struct sim_unit *unit, yyjson_val *annotations)
{
    struct sv end = note_for(annotations, NOTE_SIM_EXIT, unit->container);
    struct sv code = sv_cut(&end, '@');
    unit->cpu_ms = span_of(note_for(annotations, NOTE_SIM_CPU, unit->container), 0);
    unit->start_ms = span_of(note_for(annotations, NOTE_SIM_START, unit->container), 0);
    unit->run_ms = span_of(note_for(annotations, NOTE_SIM_RUN, unit->container), TIME_NEVER);
    unit->exit_ms = span_of(end, TIME_NEVER);
    char digits[8];
    (void)snprintf(digits, sizeof(digits), "%.*s", (int)(code.len < 7 ? code.len : 7),
                   code.len > 0 ? code.ptr : "");
    unit->exit_code =
        (int)strtol(digits, NULL, 10) & 255; /* until it runs: the one that is planned */
}

/* ---- the port ---- */

static char *id_of(const struct runtime_unit *name)
{
    return mem_printf("%s/%s/%u", name->uid, name->container, name->generation);
}

static struct sim_unit *find(struct sim_runtime *rt, const struct runtime_unit *name)
{
    scoped_free char *id = id_of(name);
    return map_get(rt->by_id, id);
}

static struct sim_unit *find_alive(const struct sim_runtime *rt, const char *uid,
                                   const char *container)
{
    struct sim_unit *unit;
    if (container != NULL) {
        scoped_free char *key = mem_printf("%s/%s", uid, container);
        return map_get(rt->alive, key);
    }
    TAILQ_FOREACH(unit, &rt->units, siblings)
    {
        if (unit->stage != UNIT_DEAD && strcmp(unit->uid, uid) == 0)
            return unit;
    }
    return NULL;
}

static bool may_start(struct sim_runtime *rt, const struct runtime_unit *name)
{
    const struct sim_unit *other = find_alive(rt, name->uid, name->container);
    if (other == NULL)
        other = find(rt, name);
    if (other == NULL)
        return true;
    if (rt->violation == NULL)
        rt->violation = mem_printf("%s/%s/%u was started while %s was %s", name->uid,
                                   name->container, name->generation, other->id,
                                   other->stage == UNIT_DEAD ? "not forgotten" : "alive");
    return false;
}

static void rt_start(struct runtime *runtime, const struct runtime_unit *name,
                     const struct launch *launch)
{
    struct sim_runtime *rt = self(runtime);
    if (!may_start(rt, name))
        return;
    struct sim_unit *unit = mem_zalloc(sizeof(*unit));
    *unit = (struct sim_unit){.rt = rt,
                              .id = id_of(name),
                              .uid = mem_strdup(name->uid),
                              .container = mem_strdup(name->container),
                              .generation = name->generation,
                              .wants_notify = launch->wants_notify || rt->port.notifies,
                              .is_deaf = chance(rt, rt->options.faults.deaf),
                              .birth_at = soon(rt, rt->options.faults.start_ms),
                              .death_at = TIME_NEVER};
    read_notes(unit, launch->annotations);
    sim_event_init(&unit->birth, on_birth, unit);
    sim_event_init(&unit->ready, on_ready, unit);
    sim_event_init(&unit->death, on_death, unit);
    cores_job_init(&unit->work, on_worked, unit);
    LIST_INIT(&unit->questions);
    TAILQ_INSERT_TAIL(&rt->units, unit, siblings);
    (void)map_put(rt->by_id, unit->id, unit);
    unit_set_alive(unit, true);
    rt->starts++;
    sim_clock_arm(rt->options.clock, &unit->birth, unit->birth_at);
    note(unit, SIM_UNIT_START);
}

static void rt_listen(struct runtime *runtime, runtime_event_fn *fn, void *arg)
{
    self(runtime)->fn = fn;
    self(runtime)->arg = arg;
}

static void lose_queue(struct sim_runtime *rt)
{
    struct told *told;
    while ((told = STAILQ_FIRST(&rt->queue)) != NULL) {
        STAILQ_REMOVE_HEAD(&rt->queue, next);
        told_free(told);
    }
}

static void rt_adopt(struct runtime *runtime)
{
    struct sim_runtime *rt = self(runtime);
    struct sim_unit *unit, *next;
    lose_queue(rt);
    for (unit = TAILQ_FIRST(&rt->units); unit != NULL; unit = next) {
        next = TAILQ_NEXT(unit, siblings);
        drop_questions(unit);
        if (unit->stage == UNIT_ASKED && !be_born(unit)) {
            unit_drop(unit); /* whoever asked for it is gone */
            continue;
        }
        tell_about(unit, RT_FOUND, NULL);
        /* It may have said so just when nobody listened. */
        if (unit->stage == UNIT_RUNS && unit->is_ready)
            sim_clock_arm(rt->options.clock, &unit->ready, rt->options.clock->now + SAY_AGAIN_MS);
    }
    struct runtime_event all = {.type = RT_FOUND_ALL};
    tell(rt, &all);
}

static void rt_prepare(struct runtime *runtime, const struct runtime_unit *name, const char *image)
{
    (void)image;
    struct runtime_event event = {.type = RT_PREPARED, .unit = *name};
    tell(self(runtime), &event);
}

static void rt_pod_weigh(struct runtime *runtime, const struct runtime_pod *pod)
{
    struct slice *slice = map_get(self(runtime)->slices, pod->uid);
    if (slice != NULL)
        slice->share = pod->share;
}

static void rt_pod_create(struct runtime *runtime, const struct runtime_pod *pod)
{
    struct sim_runtime *rt = self(runtime);
    if (map_get(rt->slices, pod->uid) == NULL)
        (void)map_put(rt->slices, pod->uid, mem_zalloc(sizeof(struct slice)));
    rt_pod_weigh(runtime, pod);
}

static void rt_signal(struct runtime *runtime, const struct runtime_unit *name, int signo)
{
    struct sim_runtime *rt = self(runtime);
    struct sim_unit *unit = find(rt, name);
    if (unit != NULL && signo != SIGCONT && (signo == SIGKILL || !unit->is_deaf))
        plan_death(unit, soon(rt, rt->options.faults.death_ms), EXIT_BY(signo));
}

static void rt_kill(struct runtime *runtime, const struct runtime_unit *name)
{
    rt_signal(runtime, name, SIGKILL);
}

static void rt_ask(struct runtime *runtime, const struct runtime_unit *name,
                   const struct runtime_question *what, uint64_t ticket)
{
    struct sim_runtime *rt = self(runtime);
    struct sim_unit *unit = find(rt, name);
    if (unit == NULL || unit->stage != UNIT_RUNS)
        return; /* its end answers everything */
    struct question *question = mem_zalloc(sizeof(*question));
    time_ms now = rt->options.clock->now, at = soon(rt, rt->options.faults.answer_ms);
    question->unit = unit;
    question->ticket = ticket;
    question->is_sleep = what->type == ASK_SLEEP;
    question->is_late = at - now > what->timeout_ms;
    sim_event_init(&question->due, on_answer, question);
    LIST_INSERT_HEAD(&unit->questions, question, siblings);
    bool is_at_end = question->is_late || question->is_sleep;
    sim_clock_arm(rt->options.clock, &question->due, is_at_end ? now + what->timeout_ms : at);
}

static void rt_forget(struct runtime *runtime, const struct runtime_unit *name)
{
    struct sim_runtime *rt = self(runtime);
    struct sim_unit *unit = find(rt, name);
    if (unit == NULL || chance(rt, rt->options.faults.lost_forget))
        return;
    unit->is_forgotten = true;
    if (unit->stage != UNIT_DEAD)
        return;
    note(unit, SIM_UNIT_FORGET);
    unit_drop(unit);
}

static void rt_pod_remove(struct runtime *runtime, const char *uid)
{
    struct sim_runtime *rt = self(runtime);
    mem_free(map_del(rt->slices, uid));
    struct runtime_event event = {.type = RT_POD_REMOVED, .unit = {uid, "", 0}};
    tell(rt, &event);
}

static void rt_pod_forget(struct runtime *runtime, const struct runtime_pod *pod)
{
    (void)runtime, (void)pod; /* nothing here has logs */
}

struct sweeping {
    struct sim_runtime *rt;
    bool (*is_known)(void *arg, const char *uid);
    void *arg;
};

static bool sweep_one(void *arg, const char *uid, void *value)
{
    struct sweeping *sweeping = arg;
    if (sweeping->is_known(sweeping->arg, uid))
        return true;
    (void)map_del(sweeping->rt->slices, uid);
    mem_free(value);
    return true;
}

static void rt_sweep(struct runtime *runtime, bool (*is_known)(void *arg, const char *uid),
                     void *arg)
{
    struct sweeping sweeping = {self(runtime), is_known, arg};
    (void)map_each(sweeping.rt->slices, sweep_one, &sweeping);
}

static const struct runtime_ops OPS = {
    .name = "sim",
    .listen = rt_listen,
    .adopt = rt_adopt,
    .prepare = rt_prepare,
    .pod_create = rt_pod_create,
    .pod_weigh = rt_pod_weigh,
    .start = rt_start,
    .signal = rt_signal,
    .kill = rt_kill,
    .ask = rt_ask,
    .forget = rt_forget,
    .pod_remove = rt_pod_remove,
    .pod_forget = rt_pod_forget,
    .sweep = rt_sweep,
};

/* ---- life and looking ---- */

struct sim_runtime *sim_runtime_new(const struct sim_runtime_options *options)
{
    struct sim_runtime *rt = mem_zalloc(sizeof(*rt));
    rt->port = (struct runtime){.ops = &OPS, .notifies = options->notifies};
    rt->options = *options;
    rng_seed(&rt->rng, options->seed);
    TAILQ_INIT(&rt->units);
    STAILQ_INIT(&rt->queue);
    rt->by_id = map_new();
    rt->alive = map_new();
    rt->slices = map_new();
    rt->next_pid = PID_FIRST;
    sim_event_init(&rt->arrival, on_arrival, rt);
    cores_init(&rt->cores, options->clock, options->cores);
    return rt;
}

static bool free_value(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    mem_free(value);
    return true;
}

void sim_runtime_free(struct sim_runtime *rt)
{
    if (rt == NULL)
        return;
    struct sim_unit *unit;
    lose_queue(rt);
    sim_clock_disarm(rt->options.clock, &rt->arrival);
    while ((unit = TAILQ_FIRST(&rt->units)) != NULL)
        unit_drop(unit);
    cores_done(&rt->cores);
    (void)map_each(rt->slices, free_value, NULL);
    map_free(rt->slices);
    map_free(rt->by_id);
    map_free(rt->alive);
    mem_free(rt->violation);
    mem_free(rt);
}

struct runtime *sim_runtime_port(struct sim_runtime *rt)
{
    return &rt->port;
}

void sim_runtime_set_faults(struct sim_runtime *rt, const struct sim_runtime_faults *faults)
{
    rt->options.faults = *faults;
}

void sim_runtime_heal(struct sim_runtime *rt)
{
    sim_runtime_set_faults(rt, &(struct sim_runtime_faults){0});
}

bool sim_runtime_exit(struct sim_runtime *rt, const char *uid, const char *container, int code)
{
    struct sim_unit *unit = find_alive(rt, uid, container);
    if (unit == NULL || unit->stage != UNIT_RUNS)
        return false;
    plan_death(unit, rt->options.clock->now, code);
    return true;
}

bool sim_runtime_say(struct sim_runtime *rt, const char *uid, const char *container,
                     const char *line)
{
    struct sim_unit *unit = find_alive(rt, uid, container);
    if (unit == NULL || unit->stage != UNIT_RUNS)
        return false;
    tell_about(unit, RT_NOTIFY, line);
    return true;
}

size_t sim_runtime_alive(const struct sim_runtime *rt, const char *uid)
{
    size_t n = 0;
    const struct sim_unit *unit;
    TAILQ_FOREACH(unit, &rt->units, siblings)
    {
        n += unit->stage != UNIT_DEAD && (uid == NULL || strcmp(unit->uid, uid) == 0);
    }
    return n;
}

size_t sim_runtime_kept(const struct sim_runtime *rt)
{
    return map_count(rt->by_id);
}

void sim_runtime_each(const struct sim_runtime *rt,
                      void (*each)(void *arg, const struct runtime_unit *unit), void *arg)
{
    const struct sim_unit *unit;
    TAILQ_FOREACH(unit, &rt->units, siblings)
    {
        struct runtime_unit name = name_of(unit);
        if (unit->stage != UNIT_DEAD)
            each(arg, &name);
    }
}

double sim_runtime_busy_ms(struct sim_runtime *rt)
{
    return cores_busy_ms(&rt->cores);
}

uint64_t sim_runtime_starts(const struct sim_runtime *rt)
{
    return rt->starts;
}

double sim_runtime_share(const struct sim_runtime *rt, const char *uid)
{
    const struct slice *slice = map_get(rt->slices, uid);
    return slice != NULL ? slice->share : 0;
}

const char *sim_runtime_violation(const struct sim_runtime *rt)
{
    return rt->violation;
}
