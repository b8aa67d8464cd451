// SPDX-License-Identifier: Apache-2.0
/* How containers end: one that became unfit, or all of a pod in order.
 *
 * A pod ends backwards: who depends on others goes before them; a sidecar goes when nothing that
 * was declared behind it runs. All of it shares one grace; when that is gone, what is left is
 * killed. What has no process ends at once and leaves no trace. */
#include "core/start/start_internal.h"
#include <assert.h>

static void begin_ending(struct start_ct *ct, enum start_reason why)
{
    ct->is_ending = true;
    ct->ending_why = why;
    ct->timeout_at = TIME_NEVER;
    start_ct_stop_probes(ct);
    start_ct_update_ready(ct);
    start_ct_spread(ct);
}

void start_ct_kill(struct start_ct *ct, enum start_reason why)
{
    assert(container_has_process(ct->state));
    if (!ct->is_ending)
        begin_ending(ct, why);
    ct->kill_at = TIME_NEVER;
    start_ct_touch(ct);
    (void)start_effect(ct, FX_KILL);
}

static void term(struct start_ct *ct, enum start_reason why, time_ms grace_ms)
{
    if (grace_ms <= 0) {
        start_ct_kill(ct, why);
        return;
    }
    begin_ending(ct, why);
    start_effect(ct, FX_TERM)->grace_ms = grace_ms;
}

void start_ct_unfit(struct start_ct *ct, enum start_reason why, time_ms grace_ms)
{
    struct start_pod *pod = ct->pod;
    time_ms now = pod->start->now;
    if (ct->is_ending)
        return;
    if (grace_ms < 0)
        grace_ms = pod->grace_ms;
    if (pod->want != WANT_RUN && pod->kill_at - now < grace_ms)
        grace_ms = pod->kill_at - now;
    term(ct, why, grace_ms);
    if (grace_ms > 0)
        ct->kill_at = now + grace_ms;
}

/* ---- a whole pod ---- */

static void tell(struct start_ct *ct)
{
    if (!ct->is_ending)
        term(ct, WHY_STOPPED, ct->pod->kill_at - ct->pod->start->now);
}

/* Its turn has come, as far as dependsOn goes. Sidecars have a turn of their own. */
static bool has_turn(const struct start_ct *ct)
{
    return container_has_process(ct->state) && ct->waiters == 0 && ct->spec.role != START_SIDECAR;
}

static void tell_sidecars(struct start_pod *pod)
{
    while (pod->top_alive > 0 && !container_has_process(pod->cts[pod->top_alive - 1].state))
        pod->top_alive--;
    if (pod->top_alive > 0 && pod->cts[pod->top_alive - 1].spec.role == START_SIDECAR)
        tell(&pod->cts[pod->top_alive - 1]);
}

static void end_without_process(struct start_ct *ct)
{
    ct->again_at = TIME_NEVER;
    if (!container_is_over(ct->state)) {
        ct->why = WHY_STOPPED;
        start_ct_move(ct, CE_STOPPED);
    }
    start_ct_set_final(ct, true);
    start_ct_touch(ct);
}

static void count_waiters(struct start_pod *pod)
{
    for (uint32_t i = 0; i < pod->n; i++) {
        size_t n;
        const uint32_t *dependents = graph_dependents(pod->graph, i, &n);
        pod->cts[i].waiters = 0;
        for (size_t d = 0; d < n; d++)
            pod->cts[i].waiters += container_has_process(pod->cts[dependents[d]].state);
    }
}

static void begin_to_end(struct start_pod *pod)
{
    pod->is_restarting = false;
    pod->again_at = TIME_NEVER;
    for (uint32_t i = 0; i < pod->n; i++)
        if (!container_has_process(pod->cts[i].state))
            end_without_process(&pod->cts[i]);
    count_waiters(pod);
    pod->top_alive = pod->n;
    if (pod->kill_at <= pod->start->now)
        return;
    for (uint32_t i = 0; i < pod->n; i++)
        if (has_turn(&pod->cts[i]))
            tell(&pod->cts[i]);
    tell_sidecars(pod);
}

void start_pod_kill_rest(struct start_pod *pod)
{
    pod->kill_at = TIME_NEVER;
    for (uint32_t i = 0; i < pod->n; i++)
        if (container_has_process(pod->cts[i].state))
            start_ct_kill(&pod->cts[i], WHY_STOPPED);
}

void start_pod_end(struct start_pod *pod, enum start_want want, time_ms grace_ms)
{
    time_ms now = pod->start->now;
    bool is_first = pod->want == WANT_RUN;
    bool is_killed = !is_first && pod->kill_at == TIME_NEVER; /* nothing is left to hurry */
    time_ms kill_at = now + (grace_ms > 0 ? grace_ms : 0);
    bool is_sooner = is_first || (!is_killed && kill_at < pod->kill_at);
    if (!is_sooner && want <= pod->want)
        return; /* else a host that asks whenever something changes would go round for ever */
    if (want > pod->want)
        pod->want = want;
    start_pod_touch(pod);
    if (is_sooner)
        pod->kill_at = kill_at;
    if (is_first)
        begin_to_end(pod);
    if (pod->kill_at <= now)
        start_pod_kill_rest(pod);
}

void start_pod_go_on_ending(struct start_pod *pod, struct start_ct *ended)
{
    size_t n;
    const struct graph_edge *needs = graph_needs(pod->graph, ended->index, &n);
    for (size_t e = 0; e < n; e++) {
        struct start_ct *on = &pod->cts[needs[e].on];
        assert(on->waiters > 0);
        on->waiters--;
        if (has_turn(on))
            tell(on);
    }
    tell_sidecars(pod);
}
