// SPDX-License-Identifier: Apache-2.0
/* From starting to ready: probes, notification, the start time-out.
 *
 * One sign decides when the start is over: the startup probe, else the readiness probe, else the
 * liveness probe, else READY=1, else that it runs. It is asked in haste, for a slot hangs on it.
 * Readiness and liveness begin when a startup probe, if there is one, has succeeded. */
#include "core/start/start_internal.h"
#include <assert.h>

#define TICKET_INDEX_BITS 22

enum sign { SIGN_STARTUP, SIGN_READINESS, SIGN_LIVENESS, SIGN_NOTIFY, SIGN_RUNS };

static enum sign sign_of(const struct start_ct *ct)
{
    if (ct->spec.probes[PROBE_STARTUP].is_set)
        return SIGN_STARTUP;
    if (ct->spec.probes[PROBE_READINESS].is_set)
        return SIGN_READINESS;
    if (ct->spec.probes[PROBE_LIVENESS].is_set)
        return SIGN_LIVENESS;
    return ct->spec.has_notify ? SIGN_NOTIFY : SIGN_RUNS;
}

/* ---- whether it is ready now ---- */

static void count_done(struct start_ct *ct)
{
    bool is_done = ct->is_final && start_ct_is_completed(ct);
    if (ct->spec.role != START_INIT)
        is_done = is_done || ct->is_ready;
    ct->pod->n_done += (uint32_t)is_done - (uint32_t)ct->is_done;
    ct->is_done = is_done;
}

void start_ct_update_ready(struct start_ct *ct)
{
    bool is_ready = ct->state == CT_READY && !ct->is_ending;
    if (ct->spec.probes[PROBE_READINESS].is_set)
        is_ready = is_ready && ct->probes[PROBE_READINESS].probe.result == PROBE_PASSES;
    if (ct->is_ready != is_ready) {
        ct->is_ready = is_ready;
        (void)start_effect(ct, FX_READY);
        start_ct_touch(ct);
    }
    count_done(ct);
}

/* ---- probes ---- */

static void begin_others(struct start_ct *ct)
{
    bool is_deciding = ct->state == CT_STARTING;
    enum sign sign = sign_of(ct);
    if (ct->n_probes == 0)
        return;
    probe_start(&ct->probes[PROBE_READINESS].probe, &ct->spec.probes[PROBE_READINESS],
                is_deciding && sign == SIGN_READINESS, ct->started_at);
    probe_start(&ct->probes[PROBE_LIVENESS].probe, &ct->spec.probes[PROBE_LIVENESS],
                is_deciding && sign == SIGN_LIVENESS, ct->started_at);
}

void start_ct_begin_probes(struct start_ct *ct)
{
    if (ct->state == CT_STARTING && sign_of(ct) == SIGN_STARTUP)
        probe_start(&ct->probes[PROBE_STARTUP].probe, &ct->spec.probes[PROBE_STARTUP], true,
                    ct->started_at);
    else
        begin_others(ct);
    start_ct_touch(ct);
}

void start_ct_stop_probes(struct start_ct *ct)
{
    for (int kind = 0; kind < ct->n_probes; kind++) {
        probe_stop(&ct->probes[kind].probe);
        ct->probes[kind].ticket = 0;
    }
    start_ct_touch(ct);
}

static void ask(struct start_ct *ct, enum start_probe_kind kind)
{
    struct start *start = ct->pod->start;
    uint64_t ticket = ++start->next_ticket << (TICKET_INDEX_BITS + 2);
    assert(ct->index < 1u << TICKET_INDEX_BITS);
    ct->probes[kind].ticket = ticket | (uint64_t)ct->index << 2 | (uint64_t)kind;
    probe_asked(&ct->probes[kind].probe);
    struct start_effect *effect = start_effect(ct, FX_PROBE);
    effect->probe = kind;
    effect->ticket = ct->probes[kind].ticket;
}

/* ---- the start is over ---- */

static void become_ready(struct start_ct *ct)
{
    if (ct->state != CT_STARTING || ct->is_ending)
        return;
    start_ct_move(ct, CE_READY);
    ct->ready_at = ct->pod->start->now;
    ct->timeout_at = TIME_NEVER;
    if (sign_of(ct) == SIGN_STARTUP) {
        probe_stop(&ct->probes[PROBE_STARTUP].probe);
        begin_others(ct);
    }
    start_ct_update_ready(ct);
    start_ct_spread(ct);
}

/* From here on a sidecar that dies holds nobody back, one that is dead just now neither. */
static void note_main_run(struct start_pod *pod)
{
    if (pod->has_main_run || pod->is_restarting)
        return;
    pod->has_main_run = true;
    pod->init_at = pod->n_init;
    start_pod_review(pod);
}

void start_ct_ran(struct start_ct *ct)
{
    ct->is_running = true;
    ct->started_at = ct->pod->start->now;
    start_ct_answered(ct);
    if (ct->spec.role == START_MAIN)
        note_main_run(ct->pod);
    start_ct_touch(ct);
    if (ct->is_ending)
        return;
    start_ct_begin_probes(ct);
    enum sign sign = sign_of(ct);
    if (sign == SIGN_RUNS || (sign == SIGN_NOTIFY && ct->is_notified))
        become_ready(ct);
    start_ct_spread(ct);
}

void start_notified_ready(struct start *start, struct start_pod *pod, uint32_t container,
                          time_ms now)
{
    assert(container < pod->n);
    struct start_ct *ct = &pod->cts[container];
    start->now = now > start->now ? now : start->now;
    ct->is_notified = ct->state == CT_STARTING;
    if (ct->is_running && sign_of(ct) == SIGN_NOTIFY)
        become_ready(ct);
    start_settle(start);
}

/* ---- answers ---- */

static void on_startup(struct start_ct *ct)
{
    struct probe *probe = &ct->probes[PROBE_STARTUP].probe;
    if (probe->result == PROBE_PASSES)
        become_ready(ct);
    else
        start_ct_unfit(ct, WHY_STARTUP_PROBE, probe->settings.grace_ms);
}

static void on_readiness(struct start_ct *ct)
{
    if (ct->probes[PROBE_READINESS].probe.result == PROBE_PASSES)
        become_ready(ct);
    start_ct_update_ready(ct);
    start_ct_spread(ct);
}

/* Where liveness is all there is, failures before the first success only mean: not yet. */
static void on_liveness(struct start_ct *ct)
{
    struct probe *probe = &ct->probes[PROBE_LIVENESS].probe;
    bool is_deciding = ct->state == CT_STARTING && sign_of(ct) == SIGN_LIVENESS;
    if (probe->result == PROBE_FAILS && !is_deciding)
        start_ct_unfit(ct, WHY_LIVENESS_PROBE, probe->settings.grace_ms);
    else if (probe->result == PROBE_PASSES && is_deciding)
        become_ready(ct);
}

void start_answer(struct start *start, struct start_pod *pod, uint64_t ticket, bool is_ok,
                  time_ms now)
{
    uint32_t index = (uint32_t)(ticket >> 2) & ((1u << TICKET_INDEX_BITS) - 1);
    unsigned kind = (unsigned)(ticket & 3);
    start->now = now > start->now ? now : start->now;
    struct start_ct *ct = index < pod->n ? &pod->cts[index] : NULL;
    if (ct == NULL || (int)kind >= ct->n_probes || ct->probes[kind].ticket != ticket)
        return;
    ct->probes[kind].ticket = 0;
    bool is_changed = probe_answer(&ct->probes[kind].probe, is_ok, start->now);
    if (is_changed && kind == PROBE_STARTUP)
        on_startup(ct);
    else if (is_changed && kind == PROBE_READINESS)
        on_readiness(ct);
    else if (is_changed)
        on_liveness(ct);
    start_arm(start, &ct->timer, start_ct_deadline(ct));
    start_settle(start);
}

void start_unhealthy(struct start *start, struct start_pod *pod, uint32_t container, time_ms now)
{
    assert(container < pod->n);
    struct start_ct *ct = &pod->cts[container];
    start->now = now > start->now ? now : start->now;
    if (ct->state == CT_READY)
        start_ct_unfit(
            ct, WHY_LIVENESS_PROBE,
            ct->spec.probes[PROBE_LIVENESS].is_set ? ct->spec.probes[PROBE_LIVENESS].grace_ms : -1);
    start_settle(start);
}

/* ---- time ---- */

void start_ct_arm_timeout(struct start_ct *ct)
{
    struct start *start = ct->pod->start;
    time_ms timeout = ct->spec.start_timeout_ms;
    if (timeout == START_TIMEOUT_USUAL)
        timeout = start->settings.start_timeout_ms;
    ct->timeout_lag = start->lag;
    ct->timeout_at = timeout > 0 ? start->now + timeout : TIME_NEVER;
    start_ct_touch(ct);
}

/* While the supervisor itself was late nobody could be seen to get ready. */
static time_ms timeout_at(const struct start_ct *ct)
{
    const struct start *start = ct->pod->start;
    if (ct->timeout_at == TIME_NEVER || ct->timeout_lag == start->lag)
        return ct->timeout_at;
    time_ms at = ct->timeout_at + (start->lag - ct->timeout_lag);
    return at > start->judge_at ? at : start->judge_at;
}

void start_extend_timeout(struct start *start, struct start_pod *pod, uint32_t container,
                          time_ms by_ms, time_ms now)
{
    assert(container < pod->n);
    struct start_ct *ct = &pod->cts[container];
    start->now = now > start->now ? now : start->now;
    if (ct->state != CT_STARTING || timeout_at(ct) >= start->now + by_ms)
        return;
    ct->timeout_at = start->now + by_ms;
    ct->timeout_lag = start->lag;
    start_arm(start, &ct->timer, start_ct_deadline(ct));
}

static time_ms sooner(time_ms a, time_ms b)
{
    return a < b ? a : b;
}

time_ms start_ct_deadline(const struct start_ct *ct)
{
    time_ms at = sooner(sooner(ct->again_at, ct->kill_at), timeout_at(ct));
    for (int kind = 0; kind < ct->n_probes; kind++)
        at = sooner(at, probe_due(&ct->probes[kind].probe));
    return at;
}

void start_ct_on_timer(struct start_ct *ct)
{
    time_ms now = ct->pod->start->now;
    if (timeout_at(ct) <= now) {
        ct->pod->start->stats.timeouts++;
        start_ct_kill(ct, WHY_TIMEOUT);
    }
    if (ct->kill_at <= now)
        start_ct_kill(ct, ct->ending_why);
    for (int kind = 0; kind < ct->n_probes; kind++)
        if (probe_due(&ct->probes[kind].probe) <= now)
            ask(ct, (enum start_probe_kind)kind);
    if (ct->again_at <= now)
        start_ct_again(ct);
    start_arm(ct->pod->start, &ct->timer, start_ct_deadline(ct));
}
