// SPDX-License-Identifier: Apache-2.0
#include "startworld.h"
#include <stdio.h>

bool sw_takes_slot(const struct sw_ct *ct)
{
    return ct->spec.has_notify || ct->spec.probes[0].is_set || ct->spec.probes[1].is_set ||
           ct->spec.probes[2].is_set;
}

static bool has_process(const struct sw_ct *ct)
{
    return ct->is_asked || ct->is_alive;
}

static size_t slots(const struct world *world)
{
    size_t n = 0;
    for (size_t p = 0; p < world->pods.len; p++)
        for (uint32_t i = 0; world->pods.items[p]->pod && i < world->pods.items[p]->n; i++) {
            const struct sw_ct *ct = &world->pods.items[p]->cts[i];
            n += sw_takes_slot(ct) && has_process(ct) && !ct->was_ready;
        }
    return n;
}

/* ---- a start ---- */

static bool is_met(const struct sw_ct *ct, enum dep_condition condition)
{
    bool is_completed = !has_process(ct) && ct->has_exited && ct->exit_code == 0;
    if (condition == DEP_READY)
        return ct->is_ready;
    return condition == DEP_COMPLETED ? is_completed : ct->is_alive || is_completed;
}

static bool is_let_on(const struct sw_pod *pod, uint32_t i)
{
    const struct sw_ct *ct = &pod->cts[i];
    struct start_view view;
    start_view(pod->pod, i, &view);
    if (ct->spec.role == START_INIT)
        return is_met(ct, DEP_COMPLETED) && view.is_final;
    if (pod->has_main_run)
        return true;
    return ct->is_alive && (ct->was_ready || !ct->spec.probes[PROBE_STARTUP].is_set);
}

static void check_order(struct world *world, const struct sw_pod *pod, uint32_t i)
{
    const struct sw_ct *ct = &pod->cts[i];
    for (uint32_t k = 0; k < i; k++)
        if (pod->cts[k].spec.role != START_MAIN && !is_let_on(pod, k) &&
            (ct->spec.role == START_MAIN || !pod->has_main_run))
            world_fail(world, "%s %s started before %s let it on", pod->uid, ct->spec.name,
                       pod->cts[k].spec.name);
    for (size_t e = 0; e < ct->spec.n_needs; e++)
        if (!is_met(&pod->cts[ct->needs[e].on], ct->needs[e].condition))
            world_fail(world, "%s %s started before its dependency %s", pod->uid, ct->spec.name,
                       pod->cts[ct->needs[e].on].spec.name);
}

static void check_gate(struct world *world, const struct sw_ct *ct)
{
    const struct gate_settings *gate = &world->settings.gate;
    struct start_stats stats;
    start_stats(world->start, &stats);
    if (gate->max_starting >= 0 && gate->max_starting < 1)
        world_fail(world, "%s started in a freeze", ct->spec.name);
    if (sw_takes_slot(ct) && gate->max_starting > 0 && (double)slots(world) >= gate->max_starting)
        world->over_cap++;
    if (world->over_cap > world->forced_before + stats.forced)
        world_fail(world, "%s started above the cap, and minRate did not ask for it",
                   ct->spec.name);
    if (gate->max_rate > 0 && world->last_start >= 0 &&
        (double)(world->now - world->last_start) < 1000 / gate->max_rate - 1)
        world_fail(world, "%s started too soon after another", ct->spec.name);
}

void world_check_start(struct world *world, struct sw_pod *pod, uint32_t i)
{
    struct sw_ct *ct = &pod->cts[i];
    if (has_process(ct))
        world_fail(world, "%s %s has a twin", pod->uid, ct->spec.name);
    if (pod->is_stopped || pod->is_over)
        world_fail(world, "%s %s started in a pod that is to end", pod->uid, ct->spec.name);
    if (pod->spec.is_member && !pod->is_released)
        world_fail(world, "%s %s started before its group let it", pod->uid, ct->spec.name);
    check_order(world, pod, i);
    check_gate(world, ct);
}

/* ---- an end ---- */

/* Backwards: nobody who depends on it runs; a sidecar goes when all behind it are gone. */
static void check_turn(struct world *world, const struct sw_pod *pod, uint32_t i)
{
    bool is_sidecar = pod->cts[i].spec.role == START_SIDECAR;
    for (uint32_t k = 0; k < pod->n; k++) {
        const struct sw_ct *other = &pod->cts[k];
        bool is_before = is_sidecar && k > i;
        for (size_t e = 0; e < other->spec.n_needs; e++)
            is_before = is_before || other->needs[e].on == i;
        if (is_before && has_process(other))
            world_fail(world, "%s %s is told to end before %s has", pod->uid, pod->cts[i].spec.name,
                       other->spec.name);
    }
}

void world_check_term(struct world *world, struct sw_pod *pod, const struct start_effect *effect)
{
    struct sw_ct *ct = &pod->cts[effect->container];
    struct start_view view;
    start_view(pod->pod, effect->container, &view);
    if (!has_process(ct) || effect->generation != ct->generation)
        world_fail(world, "%s %s is told to end, but does not run", pod->uid, ct->spec.name);
    if (effect->type == FX_TERM && view.why == WHY_STOPPED) {
        check_turn(world, pod, effect->container);
        /* When it came to its own end just before it was stopped, that was told with its grace. */
        if (pod->is_stopped && world->now + effect->grace_ms > pod->over_by &&
            effect->grace_ms > pod->spec.grace_ms)
            world_fail(world, "%s %s gets more grace than there is", pod->uid, ct->spec.name);
    }
}

/* ---- after every step ---- */

static void check_ct(struct world *world, struct sw_pod *pod, uint32_t i)
{
    struct sw_ct *ct = &pod->cts[i];
    struct start_view *view = &ct->view;
    start_view(pod->pod, i, view);
    if (container_has_process(view->state) != has_process(ct))
        world_fail(world, "%s %s is %s, but it %s", pod->uid, ct->spec.name,
                   container_state_name(view->state), has_process(ct) ? "runs" : "does not run");
    if (view->is_ready != ct->is_ready)
        world_fail(world, "%s %s: ready is %d, not %d", pod->uid, ct->spec.name, view->is_ready,
                   ct->is_ready);
    if (view->state == CT_BLOCKED && view->why == WHY_NONE)
        world_fail(world, "%s %s is blocked by nothing", pod->uid, ct->spec.name);
    if (view->why == WHY_RESTARTING_ALL || view->why == WHY_GROUP)
        pod->has_main_run = false;
}

void world_check(struct world *world)
{
    struct start_stats stats;
    if (world->start == NULL || !world_is_ok(world))
        return;
    const char *problem = start_check(world->start);
    if (problem)
        world_fail(world, "broken: %s", problem);
    for (size_t p = 0; p < world->pods.len; p++) {
        struct sw_pod *pod = world->pods.items[p];
        for (uint32_t i = 0; pod->pod && i < pod->n; i++)
            check_ct(world, pod, i);
        if (pod->pod && pod->is_over != start_pod_is_over(pod->pod))
            world_fail(world, "%s: over or not?", pod->uid);
        if (pod->pod && pod->is_stopped && !pod->is_over && world->now > pod->over_by + SW_SLACK_MS)
            world_fail(world, "%s is not over in time", pod->uid);
    }
    start_stats(world->start, &stats);
    if (stats.starting_slots != slots(world))
        world_fail(world, "%zu slots are held, not %zu", slots(world), stats.starting_slots);
}

/* ---- when nothing goes wrong any more ---- */

/* What it waits for will never be. */
static bool is_hopeless(const struct sw_pod *pod, uint32_t i)
{
    const struct sw_ct *ct = &pod->cts[i];
    for (size_t e = 0; e < ct->spec.n_needs; e++) {
        const struct sw_ct *on = &pod->cts[ct->needs[e].on];
        /* One that was unfit has failed, with whatever code it ended. */
        bool is_final = on->view.is_final &&
                        (on->view.state == CT_FAILED || !is_met(on, ct->needs[e].condition));
        if (is_final || (on->view.state == CT_BLOCKED && is_hopeless(pod, ct->needs[e].on)))
            return true;
    }
    return false;
}

static bool is_settled(const struct sw_pod *pod, uint32_t i)
{
    const struct start_view *view = &pod->cts[i].view;
    return view->is_ready || view->is_final || (view->state == CT_BLOCKED && is_hopeless(pod, i));
}

const char *world_unsettled(struct world *world)
{
    for (size_t p = 0; p < world->pods.len; p++) {
        struct sw_pod *pod = world->pods.items[p];
        for (uint32_t i = 0; pod->pod && !pod->is_over && i < pod->n; i++) {
            const struct start_view *view = &pod->cts[i].view;
            if (is_settled(pod, i))
                continue;
            (void)snprintf(world->text, sizeof(world->text),
                           "%s %s is still %s: why %d, ended %d, code %d, %u restarts", pod->uid,
                           pod->cts[i].spec.name, container_state_name(view->state), (int)view->why,
                           (int)view->ended_why, view->exit_code, view->restarts);
            return world->text;
        }
    }
    return NULL;
}
