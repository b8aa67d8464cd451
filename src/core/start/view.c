// SPDX-License-Identifier: Apache-2.0
#include "core/start/start_internal.h"
#include <assert.h>
#include <string.h>

static void view_needs(const struct start_ct *ct, struct start_view *view)
{
    size_t n;
    const struct graph_edge *needs = graph_needs(ct->pod->graph, ct->index, &n);
    view->why = WHY_NONE;
    for (size_t e = 0; e < n; e++) {
        const struct start_ct *on = &ct->pod->cts[needs[e].on];
        if (start_ct_meets(on, needs[e].condition))
            continue;
        if (view->why == WHY_NONE || on->is_final)
            view->blocker = on->index;
        view->why = on->is_final ? WHY_DEPENDENCY_FAILED : WHY_DEPENDENCY;
        if (on->is_final)
            return;
    }
}

static void view_blocked(const struct start_ct *ct, struct start_view *view)
{
    const struct start_pod *pod = ct->pod;
    uint32_t turn = ct->spec.role == START_MAIN ? pod->n_init : ct->index;
    if (pod->is_restarting) {
        view->why = WHY_RESTARTING_ALL;
    } else if (pod->is_held) {
        view->why = WHY_GROUP;
    } else if (pod->init_at < turn) {
        view->why = WHY_INIT;
        view->blocker = pod->init_at;
    } else {
        view_needs(ct, view);
    }
}

static void view_over(const struct start_ct *ct, struct start_view *view)
{
    view->why = view->ended_why = ct->why;
    if (ct->pod->is_restarting) {
        view->why = WHY_RESTARTING_ALL;
        view->again_at = ct->pod->again_at;
    } else if (!ct->is_final) {
        view->why = WHY_BACKOFF;
        view->again_at = ct->again_at;
    }
}

static void view_why(const struct start_ct *ct, struct start_view *view)
{
    switch (ct->state) {
    case CT_BLOCKED:
        view_blocked(ct, view);
        break;
    case CT_PENDING:
        view->why = WHY_GATE;
        view->gate = ct->pod->start->verdicts[start_takes_slot(ct)];
        break;
    case CT_STARTING:
    case CT_READY:
        view->why = ct->is_ending ? ct->ending_why : WHY_NONE;
        break;
    case CT_FAILED:
    case CT_EXITED:
        view_over(ct, view);
        break;
    case CT_DOWNLOADING:
    case CT_STATE_COUNT:
        break;
    }
}

void start_view(const struct start_pod *pod, uint32_t container, struct start_view *ret_view)
{
    assert(container < pod->n);
    const struct start_ct *ct = &pod->cts[container];
    *ret_view = (struct start_view){.last = ct->last, .n_moves = ct->n_moves};
    memcpy(ret_view->moves, ct->moves, ct->n_moves * sizeof(ct->moves[0]));
    ret_view->name = ct->spec.name;
    ret_view->role = ct->spec.role;
    ret_view->state = ct->state;
    ret_view->generation = ct->generation;
    ret_view->restarts = ct->restarts;
    ret_view->is_ready = ct->is_ready;
    ret_view->is_started = ct->state == CT_READY;
    ret_view->is_ending = ct->is_ending;
    ret_view->is_final = ct->is_final;
    ret_view->again_at = TIME_NEVER;
    ret_view->since = ct->since;
    ret_view->started_at = ct->started_at;
    ret_view->ready_at = ct->ready_at;
    ret_view->ended_at = ct->ended_at;
    ret_view->exit_code = ct->exit_code;
    view_why(ct, ret_view);
}

/* Told to end it may have ended well nevertheless. */
static bool has_succeeded(const struct start_ct *ct)
{
    return start_ct_is_completed(ct);
}

static enum start_phase final_phase(const struct start_pod *pod)
{
    if (pod->has_missed_deadline || pod->has_init_failed)
        return PHASE_FAILED;
    for (uint32_t i = pod->n_init; i < pod->n; i++)
        if (!has_succeeded(&pod->cts[i]))
            return PHASE_FAILED;
    return PHASE_SUCCEEDED;
}

enum start_phase start_pod_phase(const struct start_pod *pod)
{
    if (pod->is_over)
        return final_phase(pod);
    return pod->has_main_run ? PHASE_RUNNING : PHASE_PENDING;
}

bool start_pod_is_starting(const struct start_pod *pod)
{
    return pod->is_starting;
}

bool start_pod_is_ready(const struct start_pod *pod)
{
    return pod->n_done == pod->n && !pod->is_restarting;
}

bool start_pod_is_initialized(const struct start_pod *pod)
{
    return pod->init_at == pod->n_init;
}

bool start_pod_is_stopping(const struct start_pod *pod)
{
    return pod->want == WANT_STOP;
}

bool start_pod_is_held(const struct start_pod *pod)
{
    return pod->is_held;
}

bool start_pod_has_process(const struct start_pod *pod)
{
    return pod->n_alive > 0;
}

bool start_pod_is_over(const struct start_pod *pod)
{
    return pod->is_over;
}

bool start_pod_missed_deadline(const struct start_pod *pod)
{
    return pod->has_missed_deadline;
}

void *start_pod_host(const struct start_pod *pod)
{
    return pod->host;
}

void start_stats(const struct start *start, struct start_stats *ret_stats)
{
    *ret_stats = start->stats;
    ret_stats->pods = start->pods.len;
    ret_stats->starting_slots = gate_starting(start->gate);
    ret_stats->forced = gate_forced(start->gate);
}
