// SPDX-License-Identifier: Apache-2.0
#include "startworld.h"
#include <stdio.h>
#include <string.h>

static bool chance(struct world *world, unsigned percent)
{
    return rng_chance(&world->rng, percent, 100);
}

/* ---- pods ---- */

static struct probe_settings some_probe(struct world *world, unsigned percent)
{
    static const time_ms periods[] = {200, 1000, 5000};
    if (!chance(world, percent))
        return (struct probe_settings){0};
    return (struct probe_settings){
        .is_set = true,
        .initial_delay_ms = chance(world, 70) ? 0 : rng_between(&world->rng, 0, 3000),
        .period_ms = periods[rng_below(&world->rng, 3)],
        .success_threshold = 1,
        .failure_threshold = (int)rng_between(&world->rng, 1, 4),
        .grace_ms = rng_between(&world->rng, -1, 2) * 1000,
    };
}

static void make_rules(struct world *world, struct sw_ct *ct)
{
    ct->spec.n_rules = chance(world, 25) ? (size_t)rng_between(&world->rng, 1, 2) : 0;
    ct->spec.rules = ct->rules;
    for (size_t r = 0; r < ct->spec.n_rules; r++) {
        ct->codes[r] = (int)rng_between(&world->rng, 0, 4);
        ct->rules[r] = (struct start_rule){.action = (enum start_action)rng_below(&world->rng, 3),
                                           .is_not_in = false,
                                           .codes = &ct->codes[r],
                                           .n_codes = 1};
        if (ct->codes[r] == 0) /* else a job would never be done */
            ct->rules[r].action = ACTION_TERMINATE;
    }
}

static void make_needs(struct world *world, struct sw_pod *pod, uint32_t i)
{
    struct sw_ct *ct = &pod->cts[i];
    ct->spec.needs = ct->needs;
    for (uint32_t on = 0; on < i; on++) {
        struct sw_ct *other = &pod->cts[on];
        bool is_fit = other->spec.role != START_INIT && chance(world, 30);
        if (!is_fit || ct->spec.role != START_MAIN)
            continue;
        enum dep_condition condition = other->is_job       ? DEP_COMPLETED
                                       : chance(world, 70) ? DEP_READY
                                                           : DEP_STARTED;
        ct->needs[ct->spec.n_needs++] = (struct graph_edge){on, condition};
    }
}

static void make_ct(struct world *world, struct sw_pod *pod, uint32_t i, uint32_t n_init)
{
    static const char *const names[SW_CONTAINERS] = {"a", "b", "c", "d", "e", "f", "g"};
    struct sw_ct *ct = &pod->cts[i];
    ct->spec = (struct start_container_spec){.name = names[i], .role = START_MAIN};
    ct->spec.policy = (enum start_policy)rng_below(&world->rng, 3);
    if (i < n_init)
        ct->spec.role = chance(world, 50) ? START_INIT : START_SIDECAR;
    if (ct->spec.role == START_INIT && ct->spec.policy == RESTART_ALWAYS)
        ct->spec.policy = RESTART_ON_FAILURE;
    if (ct->spec.role == START_SIDECAR)
        ct->spec.policy = RESTART_ALWAYS;
    ct->is_job =
        ct->spec.role == START_INIT ||
        (ct->spec.role == START_MAIN && ct->spec.policy != RESTART_ALWAYS && chance(world, 30));
    ct->spec.has_image = chance(world, 20);
    ct->spec.has_notify = chance(world, 20);
    ct->spec.probes[PROBE_STARTUP] = some_probe(world, ct->is_job ? 0 : 25);
    ct->spec.probes[PROBE_READINESS] = some_probe(world, ct->is_job ? 0 : 35);
    ct->spec.probes[PROBE_LIVENESS] = some_probe(world, ct->is_job ? 0 : 25);
    ct->spec.start_timeout_ms = chance(world, 50) ? rng_between(&world->rng, 8000, 30000) : 0;
    make_rules(world, ct);
    make_needs(world, pod, i);
    ct->state = CT_DOWNLOADING;
}

static void add_pod(struct world *world)
{
    struct sw_pod *pod = mem_zalloc(sizeof(*pod));
    pod->n = (uint32_t)rng_between(&world->rng, 1, SW_CONTAINERS);
    (void)snprintf(pod->uid, sizeof(pod->uid), "pod-%zu", world->pods.len);
    uint32_t n_init = chance(world, 50) ? (uint32_t)rng_below(&world->rng, pod->n) : 0;
    for (uint32_t i = 0; i < pod->n; i++) {
        make_ct(world, pod, i, n_init);
        pod->specs[i] = pod->cts[i].spec;
    }
    pod->spec = (struct start_pod_spec){.uid = pod->uid,
                                        .priority = rng_between(&world->rng, 0, 2),
                                        .grace_ms = rng_between(&world->rng, 0, 6) * 1000,
                                        .containers = pod->specs,
                                        .n_containers = pod->n,
                                        .host = pod};
    pod->spec.deadline_ms = chance(world, 10) ? rng_between(&world->rng, 1000, 60000) : 0;
    pod->spec.is_member = chance(world, 30);
    pod->added_at = world->now;
    vec_push(&world->pods, pod);
    if (pod->spec.is_member)
        world_release_later(world, pod);
    pod->pod = start_pod_add(world->start, &pod->spec, world->now);
}

void world_stop(struct world *world, struct sw_pod *pod, time_ms grace_ms)
{
    time_ms over_by = world->now + grace_ms;
    if (!pod->is_stopped || over_by < pod->over_by)
        pod->over_by = over_by;
    pod->is_stopped = true;
    start_pod_stop(world->start, pod->pod, grace_ms, world->now);
}

/* ---- the supervisor goes and comes ---- */

static struct start_adopted record_of(const struct sw_ct *ct)
{
    const struct start_view *view = &ct->view;
    bool is_final = view->is_final && ct->is_exit_seen;
    return (struct start_adopted){
        .is_known = ct->generation > 0,
        .is_running = ct->is_alive,
        .was_started = ct->was_ready,
        .was_ready = ct->is_ready,
        .generation = ct->generation,
        .restarts = view->restarts,
        .started_at = ct->started_at,
        .exit_code = ct->exit_code,
        .is_exit_handled = ct->is_exit_seen,
        .waits_again = !ct->is_alive && ct->is_exit_seen && !is_final,
        .is_restarting_all = view->why == WHY_RESTARTING_ALL,
        .ended_at = ct->ended_at,
    };
}

static void adopt_ct(struct sw_ct *ct, const struct start_adopted *was)
{
    ct->is_told = ct->is_killed = false;
    ct->is_exit_seen = true;
    ct->fails = 0;
    ct->state = CT_DOWNLOADING;
    if (!was->is_known)
        return;
    if (!was->is_running) {
        ct->has_exited = true;
        ct->state = ct->exit_code == 0 ? CT_EXITED : CT_FAILED;
        return;
    }
    ct->was_ready = ct->was_ready || !sw_takes_slot(ct);
    ct->is_ready = ct->was_ready && (ct->is_ready || !ct->spec.probes[PROBE_READINESS].is_set);
    ct->state = ct->was_ready ? CT_READY : CT_STARTING;
}

static void adopt(struct world *world, struct sw_pod *pod)
{
    struct start_adopted was[SW_CONTAINERS];
    for (uint32_t i = 0; i < pod->n; i++) {
        was[i] = record_of(&pod->cts[i]);
        was[i].has_run = pod->has_main_run && was[i].is_known;
        adopt_ct(&pod->cts[i], &was[i]);
        /* Whether one that has ended for good ever ran, is not on record. */
        if (pod->cts[i].spec.role == START_MAIN && was[i].is_known && !was[i].waits_again)
            pod->has_main_run = true;
    }
    struct start_pod_spec spec = pod->spec;
    if (spec.deadline_ms > 0) {
        time_ms left = pod->added_at + spec.deadline_ms - world->now;
        spec.deadline_ms = left > 0 ? left : 1;
    }
    pod->pod = start_pod_adopt(world->start, &spec, was, world->now);
    pod->is_released = !start_pod_is_held(pod->pod);
    if (!pod->is_released)
        world_release_later(world, pod);
    if (pod->is_stopped)
        world_stop(world, pod, pod->over_by > world->now ? pod->over_by - world->now : 0);
}

static void supervisor_dies(struct world *world)
{
    struct start_stats stats;
    start_stats(world->start, &stats);
    world->forced_before += stats.forced;
    start_free(world->start);
    world->start = NULL;
    world->adoptions++;
    world->last_start = -1;
    for (size_t p = 0; p < world->pods.len; p++)
        if (world->pods.items[p]->is_over)
            world->pods.items[p]->pod = NULL;
    time_ms away_ms = rng_between(&world->rng, 60, 10000); /* no spawn is on its way any more */
    world_pass(world, away_ms);
    world->start = start_new(&world->settings);
    for (size_t p = 0; p < world->pods.len; p++) {
        struct sw_pod *pod = world->pods.items[p];
        if (pod->pod == NULL)
            continue;
        if (pod->is_stopped)
            pod->over_by += away_ms;
        adopt(world, pod);
    }
}

/* ---- anything ---- */

void world_settings(struct world *world)
{
    struct gate_settings *gate = &world->settings.gate;
    gate_settings_default(gate, 2);
    gate->max_starting_per_core = GATE_OFF;
    gate->max_starting = chance(world, 80) ? (double)rng_between(&world->rng, 1, 3) : GATE_OFF;
    if (!world->is_healed && chance(world, 5))
        gate->max_starting = 0;
    gate->max_rate = chance(world, 30) ? (double)rng_between(&world->rng, 1, 20) : GATE_OFF;
    gate->min_rate = chance(world, 30) ? 1 : chance(world, 80) ? 0.1 : GATE_OFF;
    gate->max_cpu = chance(world, 30) ? 60 : GATE_OFF;
    world->last_start = -1;
}

static struct sw_pod *some_pod(struct world *world)
{
    for (int tries = 0; tries < 8 && world->pods.len > 0; tries++) {
        struct sw_pod *pod = world->pods.items[rng_below(&world->rng, world->pods.len)];
        if (pod->pod != NULL)
            return pod;
    }
    return NULL;
}

/* The host did not get to run: timers and news pile up. */
static void stall(struct world *world)
{
    time_ms due = start_deadline(world->start), span = rng_between(&world->rng, 10, 8000);
    world->now += span;
    for (size_t p = 0; p < world->pods.len; p++)
        world->pods.items[p]->over_by += span;
    start_tick(world->start, world->now, world->now > due ? world->now - due : 0);
}

static void restart(struct world *world, struct sw_pod *pod)
{
    start_pod_restart(world->start, pod->pod, world->now);
    if (pod->spec.is_member) {
        pod->is_released = pod->is_released && pod->is_over;
    } else if (!pod->is_stopped && !start_pod_missed_deadline(pod->pod)) {
        pod->is_over = false;
        pod->has_main_run = false;
    }
}

static void act_on_pod(struct world *world, struct sw_pod *pod, uint64_t what)
{
    uint32_t i = (uint32_t)rng_below(&world->rng, pod->n);
    struct sw_ct *ct = &pod->cts[i];
    if (what < 35 && ct->is_alive)
        world_end(world, pod, i, (int)rng_between(&world->rng, 0, 4));
    else if (what < 45)
        ct->ok_at = world->now + rng_between(&world->rng, 0, 20000); /* sick for a while */
    else if (what < 55)
        world_stop(world, pod, rng_between(&world->rng, 0, 8) * 1000);
    else if (what < 63)
        restart(world, pod);
    else if (what < 68)
        start_unhealthy(world->start, pod->pod, i, world->now);
    else if (what < 73)
        start_extend_timeout(world->start, pod->pod, i, 5000, world->now);
    else if (what < 90 && pod->is_over)
        world_forget(world, pod);
}

void world_act(struct world *world)
{
    uint64_t what = rng_below(&world->rng, 130);
    struct sw_pod *pod = some_pod(world);
    if (what >= 90 && what < 104)
        add_pod(world);
    else if (what < 109 && what >= 104) {
        world_settings(world);
        start_set(world->start, &world->settings, world->now);
    } else if (what < 113 && what >= 109)
        stall(world);
    else if (what < 115 && what >= 113)
        supervisor_dies(world);
    else if (pod != NULL)
        act_on_pod(world, pod, what);
    world_drain(world);
}

void world_heal(struct world *world)
{
    world->is_healed = true;
    world_settings(world);
    start_set(world->start, &world->settings, world->now);
    for (size_t p = 0; p < world->pods.len; p++) {
        struct sw_pod *pod = world->pods.items[p];
        for (uint32_t i = 0; i < pod->n; i++) {
            struct sw_ct *ct = &pod->cts[i];
            ct->is_deaf = false;
            ct->ok_at = world->now;
            if (ct->is_alive && ct->is_job) {
                struct sw_event *event = world_later(world, pod, i, 1000);
                event->type = SW_EXIT;
            }
            if (ct->is_alive && ct->is_told)
                world_later(world, pod, i, 1000)->type = SW_EXIT;
        }
    }
    world_drain(world);
}
