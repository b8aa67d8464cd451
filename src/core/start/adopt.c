// SPDX-License-Identifier: Apache-2.0
/* Pods that were there before this engine was: each container is put where it was left, nothing is
 * started twice, and every exit has its consequence exactly once. */
#include "core/start/start_internal.h"

static void place(struct start_ct *ct, enum container_state state)
{
    struct start *start = ct->pod->start;
    start->stats.states[ct->state]--;
    start->stats.states[state]++;
    ct->pod->n_alive += container_has_process(state);
    ct->state = state;
    ct->n_moves = 0;
    start_ct_note_move(ct);
    start_ct_touch(ct);
}

static void place_running(struct start_ct *ct, const struct start_adopted *was)
{
    struct start *start = ct->pod->start;
    bool is_started = was->was_started || !start_has_sign(ct);
    place(ct, is_started ? CT_READY : CT_STARTING);
    ct->is_running = true;
    ct->ready_at = is_started ? ct->started_at : 0;
    if (!is_started && start_takes_slot(ct))
        gate_started(start->gate, true, start->now);
    if (!is_started)
        start_ct_arm_timeout(ct); /* anew: nobody watched it meanwhile */
    start_ct_begin_probes(ct);
    /* Kept until the probe says otherwise, or a restart of the supervisor would look like an
     * outage. */
    bool has_readiness = ct->spec.probes[PROBE_READINESS].is_set;
    if (has_readiness && is_started && was->was_ready)
        ct->probes[PROBE_READINESS].probe.result = PROBE_PASSES;
    ct->is_ready = is_started && (was->was_ready || !has_readiness);
    start_ct_update_ready(ct);
}

static void place_ended(struct start_ct *ct, const struct start_adopted *was)
{
    place(ct, was->exit_code == 0 ? CT_EXITED : CT_FAILED);
    ct->has_exited = true;
    ct->exit_code = was->exit_code;
    ct->why = WHY_EXIT;
    ct->ended_at = was->ended_at < ct->pod->start->now ? was->ended_at : ct->pod->start->now;
}

static void place_known(struct start_ct *ct, const struct start_adopted *was)
{
    time_ms now = ct->pod->start->now;
    ct->is_prepared = true;
    ct->generation = was->generation;
    ct->restarts = was->restarts;
    ct->backoffs = was->is_lost ? 0 : was->restarts;
    ct->started_at = was->started_at < now ? was->started_at : now;
    if (was->is_running)
        place_running(ct, was);
    else
        place_ended(ct, was);
}

/* Since all began: not when an init container has not done its work (again). One that waits for its
 * next generation may have run before, or all begin anew. */
static bool has_main_run(const struct start_pod *pod, const struct start_adopted *was)
{
    bool has_run = false;
    for (uint32_t i = 0; i < pod->n; i++) {
        bool is_waiting = !was[i].is_known || was[i].waits_again;
        if (pod->cts[i].spec.role == START_INIT && (is_waiting || was[i].is_running))
            return false;
        bool is_new = is_waiting && (!was[i].has_run || was[i].is_restarting_all);
        has_run = has_run || (pod->cts[i].spec.role == START_MAIN && !is_new);
    }
    return has_run;
}

static void conclude(struct start_ct *ct, const struct start_adopted *was)
{
    if (!was->is_known)
        start_ct_begin(ct);
    else if (container_is_over(ct->state) && !ct->pod->is_restarting)
        start_ct_decide(ct, was->is_exit_handled, was->waits_again);
}

struct start_pod *start_pod_adopt(struct start *start, const struct start_pod_spec *spec,
                                  const struct start_adopted *containers, time_ms now)
{
    start->now = now > start->now ? now : start->now;
    struct start_pod *pod = start_pod_make(start, spec, start->now);
    if (pod == NULL)
        return NULL;
    bool is_restarting = false;
    for (uint32_t i = 0; i < pod->n; i++) {
        if (containers[i].is_known)
            place_known(&pod->cts[i], &containers[i]);
        is_restarting = is_restarting || containers[i].is_restarting_all;
    }
    pod->is_held = pod->is_member && pod->n_alive == 0;
    pod->has_main_run = has_main_run(pod, containers);
    if (pod->has_main_run)
        pod->init_at = pod->n_init;
    if (is_restarting && pod->is_member)
        start_pod_fall(pod);
    else if (is_restarting)
        start_pod_restart_all(pod, 0);
    for (uint32_t i = 0; i < pod->n; i++)
        conclude(&pod->cts[i], &containers[i]);
    start_pod_review(pod);
    start_settle(start);
    return pod;
}
