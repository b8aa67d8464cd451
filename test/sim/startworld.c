// SPDX-License-Identifier: Apache-2.0
#include "startworld.h"
#include "base/hash.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void world_fail(struct world *world, const char *fmt, ...)
{
    if (!world_is_ok(world))
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(world->failure, sizeof(world->failure), fmt, args);
    va_end(args);
}

bool world_is_ok(const struct world *world)
{
    return world->failure[0] == '\0';
}

void world_open(struct world *world, uint64_t seed)
{
    *world = (struct world){.seed = seed, .now = 1000000, .trace = HASH_START, .last_start = -1};
    rng_seed(&world->rng, seed);
    start_settings_default(&world->settings, 2);
    world->settings.backoff_first_ms = 1000;
    world->settings.backoff_max_ms = 8000;
    world->settings.backoff_reset_ms = 60000;
    world_settings(world);
    world->start = start_new(&world->settings);
}

void world_close(struct world *world)
{
    struct heap_node *node;
    start_free(world->start);
    while ((node = heap_pop(&world->events)) != NULL)
        mem_free(container_of(node, struct sw_event, node));
    heap_done(&world->events);
    for (size_t i = 0; i < world->pods.len; i++)
        mem_free(world->pods.items[i]);
    vec_done(&world->pods);
}

/* ---- events of the world ---- */

struct sw_event *world_later(struct world *world, struct sw_pod *pod, uint32_t ct, time_ms ms)
{
    struct sw_event *event = mem_zalloc(sizeof(*event));
    event->pod = pod;
    event->ct = ct;
    event->generation = pod->cts[ct].generation;
    heap_node_init(&event->node);
    heap_push(&world->events, &event->node, world->now + ms);
    return event;
}

static void exit_later(struct world *world, struct sw_pod *pod, uint32_t ct, int code, time_ms ms)
{
    struct sw_event *event = world_later(world, pod, ct, ms);
    event->type = SW_EXIT;
    event->code = code;
}

static bool is_mishap(struct world *world, unsigned percent)
{
    return !world->is_healed && rng_chance(&world->rng, percent, 100);
}

static bool is_sign_notify(const struct sw_ct *ct)
{
    return ct->spec.has_notify && !ct->spec.probes[0].is_set && !ct->spec.probes[1].is_set &&
           !ct->spec.probes[2].is_set;
}

static void say_ready(struct world *world, struct sw_pod *pod, uint32_t i)
{
    struct sw_ct *ct = &pod->cts[i];
    if (world->start && is_sign_notify(ct) && ct->is_alive && !ct->is_told)
        ct->was_ready = ct->is_ready = true;
    if (world->start)
        start_notified_ready(world->start, pod->pod, i, world->now);
}

static void live(struct world *world, struct sw_pod *pod, uint32_t i)
{
    struct sw_ct *ct = &pod->cts[i];
    ct->is_asked = false;
    ct->is_alive = true;
    ct->started_at = world->now;
    ct->is_deaf = is_mishap(world, 10);
    ct->ok_at = world->now;
    if (!world->is_healed)
        ct->ok_at += rng_between(&world->rng, 0, is_mishap(world, 20) ? 60000 : 3000);
    if (ct->is_killed)
        exit_later(world, pod, i, 137, rng_between(&world->rng, 0, 100));
    else if (is_mishap(world, 20))
        exit_later(world, pod, i, (int)rng_between(&world->rng, 1, 4),
                   rng_between(&world->rng, 0, 20000));
    else if (ct->is_job)
        exit_later(world, pod, i, 0, rng_between(&world->rng, 0, 4000));
    if (ct->spec.has_notify)
        world_later(world, pod, i, ct->ok_at - world->now)->type = SW_NOTIFY;
    if (ct->spec.role == START_MAIN)
        pod->has_main_run = true;
    if (!sw_takes_slot(ct) && !ct->is_told)
        ct->was_ready = ct->is_ready = true;
    if (world->start)
        start_running(world->start, pod->pod, i, ct->generation, world->now);
}

void world_end(struct world *world, struct sw_pod *pod, uint32_t i, int code)
{
    struct sw_ct *ct = &pod->cts[i];
    bool was_asked = ct->is_asked;
    ct->is_asked = ct->is_alive = ct->is_told = ct->is_killed = false;
    ct->was_ready = ct->is_ready = false;
    ct->has_exited = true;
    ct->exit_code = was_asked ? 128 : code;
    ct->ended_at = world->now;
    ct->is_exit_seen = world->start != NULL;
    struct start_exit end = {.generation = ct->generation, .code = code};
    if (world->start && was_asked)
        start_not_run(world->start, pod->pod, i, ct->generation, world->now);
    else if (world->start)
        start_ended(world->start, pod->pod, i, &end, world->now);
}

static void answer(struct world *world, const struct sw_event *event)
{
    struct sw_ct *ct = &event->pod->cts[event->ct];
    bool is_ok = world->now >= ct->ok_at && !is_mishap(world, 10);
    if (world->start == NULL || event->engine != world->adoptions)
        return;
    if (!ct->is_told && is_ok && event->probe == PROBE_STARTUP) {
        ct->was_ready = true;
        ct->is_ready = !ct->spec.probes[PROBE_READINESS].is_set;
    } else if (!ct->is_told && event->probe == PROBE_READINESS) {
        ct->fails = is_ok ? 0 : ct->fails + 1;
        ct->was_ready = ct->was_ready || is_ok;
        ct->is_ready =
            is_ok || (ct->is_ready && ct->fails < ct->spec.probes[event->probe].failure_threshold);
    } else if (!ct->is_told && is_ok && !ct->was_ready && !ct->spec.probes[PROBE_STARTUP].is_set &&
               !ct->spec.probes[PROBE_READINESS].is_set) {
        ct->was_ready = ct->is_ready = true;
    }
    start_answer(world->start, event->pod->pod, event->ticket, is_ok, world->now);
}

/* News of a generation that is gone; the engine must not listen. */
static void say_stale(struct world *world, const struct sw_event *event)
{
    struct start_exit end = {.generation = event->generation, .code = event->code};
    if (world->start == NULL)
        return;
    if (event->type == SW_ANSWER && event->engine == world->adoptions)
        start_answer(world->start, event->pod->pod, event->ticket, true, world->now);
    if (event->type == SW_EXIT)
        start_ended(world->start, event->pod->pod, event->ct, &end, world->now);
}

void world_release_later(struct world *world, struct sw_pod *pod)
{
    world_later(world, pod, 0, rng_between(&world->rng, 0, 3000))->type = SW_RELEASE;
}

/* The group may start again: only when this member has come to rest. */
static void release(struct world *world, struct sw_pod *pod)
{
    if (world->start == NULL || !start_pod_is_held(pod->pod) || start_pod_has_process(pod->pod))
        return;
    pod->is_released = true;
    start_pod_release(world->start, pod->pod, world->now);
}

static void happen(struct world *world, const struct sw_event *event)
{
    struct sw_pod *pod = event->pod;
    struct sw_ct *ct = &pod->cts[event->ct];
    bool is_current = event->generation == ct->generation;
    if (pod->pod == NULL)
        return;
    if (event->type == SW_RELEASE) {
        release(world, pod);
    } else if (!is_current && event->type != SW_PREPARED) {
        say_stale(world, event);
    } else if (event->type == SW_SPAWNED && ct->is_asked) {
        if (is_mishap(world, 5))
            world_end(world, pod, event->ct, 128);
        else
            live(world, pod, event->ct);
    } else if (event->type == SW_EXIT && ct->is_alive) {
        world_end(world, pod, event->ct, event->code);
    } else if (event->type == SW_ANSWER && ct->is_alive) {
        answer(world, event);
    } else if (event->type == SW_NOTIFY && ct->is_alive) {
        say_ready(world, pod, event->ct);
        if (!ct->was_ready)
            world_later(world, pod, event->ct, 1000)->type = SW_NOTIFY;
    } else if (event->type == SW_PREPARED && world->start) {
        start_prepared(world->start, pod->pod, event->ct, is_mishap(world, 20) ? "no" : NULL,
                       world->now);
    }
}

/* ---- effects of the engine ---- */

static void on_term(struct world *world, struct sw_pod *pod, const struct start_effect *effect)
{
    struct sw_ct *ct = &pod->cts[effect->container];
    world_check_term(world, pod, effect);
    ct->is_told = true;
    ct->is_ready = false;
    if (effect->type == FX_KILL) {
        ct->is_killed = true;
        if (ct->is_alive)
            exit_later(world, pod, effect->container, 137, rng_between(&world->rng, 0, 100));
    } else if (ct->is_alive && !ct->is_deaf) {
        exit_later(world, pod, effect->container, rng_chance(&world->rng, 1, 3) ? 0 : 143,
                   rng_between(&world->rng, 0, 3000));
    }
}

static void on_start(struct world *world, struct sw_pod *pod, const struct start_effect *effect)
{
    struct sw_ct *ct = &pod->cts[effect->container];
    world_check_start(world, pod, effect->container);
    if (effect->generation <= ct->generation)
        world_fail(world, "%s: generation %u after %u", ct->spec.name, effect->generation,
                   ct->generation);
    ct->is_asked = true;
    ct->is_told = ct->is_killed = ct->was_ready = ct->is_ready = ct->has_exited = false;
    ct->fails = 0;
    ct->generation = effect->generation;
    world->starts++;
    world->last_start = world->now;
    world_later(world, pod, effect->container, rng_between(&world->rng, 0, 50))->type = SW_SPAWNED;
}

static void on_moved(struct world *world, struct sw_ct *ct, const struct start_effect *effect)
{
    bool is_arrow = false;
    for (int event = 0; event < CE_COUNT; event++) {
        struct container_move move = container_move(effect->from, (enum container_event)event);
        is_arrow = is_arrow || (move.is_legal && move.next == effect->to);
    }
    if (!is_arrow || effect->from != ct->state)
        world_fail(world, "%s: %s>%s, but it was %s", ct->spec.name,
                   container_state_name(effect->from), container_state_name(effect->to),
                   container_state_name(ct->state));
    ct->state = effect->to;
}

static void on_over(struct world *world, struct sw_pod *pod)
{
    if (pod->is_over)
        world_fail(world, "%s is over twice", pod->uid);
    for (uint32_t i = 0; i < pod->n; i++)
        if (pod->cts[i].is_asked || pod->cts[i].is_alive)
            world_fail(world, "%s is over, but %s runs", pod->uid, pod->cts[i].spec.name);
    pod->is_over = true;
}

static void on_down(struct world *world, struct sw_pod *pod)
{
    for (uint32_t i = 0; i < pod->n; i++)
        if (pod->cts[i].is_asked || pod->cts[i].is_alive)
            world_fail(world, "%s is down, but %s runs", pod->uid, pod->cts[i].spec.name);
    if (!pod->spec.is_member || !start_pod_is_held(pod->pod))
        world_fail(world, "%s is down, but not held", pod->uid);
    pod->is_released = false;
    world_release_later(world, pod);
}

static void act_on(struct world *world, const struct start_effect *effect)
{
    struct sw_pod *pod = start_pod_host(effect->pod);
    struct sw_ct *ct = &pod->cts[effect->container];
    switch (effect->type) {
    case FX_PREPARE:
        world_later(world, pod, effect->container, rng_between(&world->rng, 0, 2000))->type =
            SW_PREPARED;
        break;
    case FX_START:
        on_start(world, pod, effect);
        break;
    case FX_TERM:
    case FX_KILL:
        on_term(world, pod, effect);
        break;
    case FX_PROBE: {
        struct sw_event *event =
            world_later(world, pod, effect->container, rng_between(&world->rng, 0, 200));
        event->type = SW_ANSWER;
        event->probe = effect->probe;
        event->ticket = effect->ticket;
        event->engine = world->adoptions;
        if (!ct->is_alive || ct->is_told || effect->generation != ct->generation)
            world_fail(world, "%s: probed without reason", ct->spec.name);
        break;
    }
    case FX_MOVED:
        on_moved(world, ct, effect);
        break;
    case FX_POD_DOWN:
        on_down(world, pod);
        break;
    case FX_POD_OVER:
        on_over(world, pod);
        break;
    case FX_READY:
    case FX_WEIGHT:
    case FX_CHANGED:
        break;
    }
}

void world_drain(struct world *world)
{
    struct start_effect effect;
    while (world->start && world_is_ok(world) && start_next(world->start, &effect)) {
        const int64_t what[] = {world->now,        (int64_t)effect.type, effect.container,
                                effect.generation, (int64_t)effect.to,   (int64_t)effect.ticket,
                                effect.grace_ms};
        world->trace = hash_bytes(world->trace, what, sizeof(what));
        act_on(world, &effect);
    }
    world_check(world);
}

void world_forget(struct world *world, struct sw_pod *pod)
{
    start_pod_remove(world->start, pod->pod);
    pod->pod = NULL;
}

/* ---- time ---- */

static void sample(struct world *world)
{
    if (!start_wants_samples(world->start) || world->now < world->next_sample)
        return;
    world->next_sample = world->now + 500;
    world->cpu_total += 1000;
    world->cpu_busy += world->is_healed ? 10 : (double)rng_below(&world->rng, 1000);
    struct gate_sample now = {.at = world->now,
                              .cpu_busy = world->cpu_busy,
                              .cpu_total = world->cpu_total,
                              .io_stall_ms = -1,
                              .pressure_stall_ms = -1,
                              .load1 = -1};
    start_sample(world->start, &now, world->now);
}

bool world_step(struct world *world, time_ms until)
{
    struct heap_node *first = heap_peek(&world->events);
    time_ms world_at = first ? first->key : TIME_NEVER;
    time_ms timer_at = world->start ? start_deadline(world->start) : TIME_NEVER;
    if (world->start && start_wants_samples(world->start) && world->next_sample < timer_at)
        timer_at = world->next_sample;
    time_ms at = world_at < timer_at ? world_at : timer_at;
    if (at > until || !world_is_ok(world))
        return false;
    world->steps++;
    world->now = at > world->now ? at : world->now;
    if (world_at <= timer_at) {
        struct sw_event *event = container_of(heap_pop(&world->events), struct sw_event, node);
        happen(world, event);
        mem_free(event);
    } else {
        start_tick(world->start, world->now, 0);
        sample(world);
    }
    world_drain(world);
    return true;
}

void world_pass(struct world *world, time_ms ms)
{
    time_ms until = world->now + ms;
    while (world_step(world, until))
        ;
    world->now = until;
}
