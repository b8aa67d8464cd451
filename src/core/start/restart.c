// SPDX-License-Identifier: Apache-2.0
/* What comes after an end: the rules by exit code, the policy, the back-off, and the restart of
 * all containers of a pod.
 *
 * A restart is a new generation and goes the way of the first one: blocked, pending, starting. So a
 * crash storm is throttled like any other rush. */
#include "core/start/start_internal.h"
#include <assert.h>

/* ---- the decision ---- */

enum verdict {
    VERDICT_OVER,
    VERDICT_TERMINATE, /* over by a rule that says so */
    VERDICT_AGAIN,
    VERDICT_ALL,
};

static bool does_match(const struct start_rule *rule, int code)
{
    bool is_in = false;
    for (size_t i = 0; i < rule->n_codes; i++)
        is_in = is_in || rule->codes[i] == code;
    return is_in != rule->is_not_in;
}

static enum verdict by_policy(const struct start_ct *ct)
{
    switch (ct->spec.policy) {
    case RESTART_ALWAYS:
        return VERDICT_AGAIN;
    case RESTART_ON_FAILURE:
        return ct->state == CT_FAILED ? VERDICT_AGAIN : VERDICT_OVER;
    case RESTART_NEVER:
        return VERDICT_OVER;
    }
    return VERDICT_OVER;
}

static enum verdict by_rules(const struct start_ct *ct)
{
    static const enum verdict of_action[] = {[ACTION_RESTART] = VERDICT_AGAIN,
                                             [ACTION_RESTART_ALL] = VERDICT_ALL,
                                             [ACTION_TERMINATE] = VERDICT_TERMINATE};
    for (size_t i = 0; i < ct->spec.n_rules; i++)
        if (does_match(&ct->spec.rules[i], ct->exit_code))
            return of_action[ct->spec.rules[i].action];
    return by_policy(ct);
}

static enum verdict judge(const struct start_ct *ct)
{
    if (ct->why == WHY_PREPARE) /* it has not run: neither its policy nor its code can say */
        return VERDICT_AGAIN;
    enum verdict verdict = by_rules(ct);
    if (ct->spec.role != START_SIDECAR)
        return verdict;
    if (verdict == VERDICT_OVER)
        verdict = VERDICT_AGAIN; /* there as long as the pod is */
    /* An agent that came back alone would wait at a new barrier while the worker of the old one
     * still runs behind it. */
    bool is_alone = verdict == VERDICT_AGAIN && ct->spec.awaits_others && ct->pod->has_main_run;
    return is_alone ? VERDICT_ALL : verdict;
}

/* A group that restarts together has a budget of its own; a back-off would only make it wait. */
static bool is_of_group(const struct start_pod *pod)
{
    bool is = false;
    for (uint32_t i = 0; i < pod->n; i++)
        is = is || pod->cts[i].spec.awaits_others;
    return is;
}

/* The first restart comes at once, then each waits twice as long as the one before. */
static time_ms next_backoff(struct start_ct *ct)
{
    const struct start_settings *settings = &ct->pod->start->settings;
    bool has_run_long =
        ct->started_at > 0 && ct->ended_at - ct->started_at >= settings->backoff_reset_ms;
    if (has_run_long)
        ct->backoffs = 0;
    time_ms delay = ct->backoffs == 0 ? 0 : settings->backoff_first_ms;
    for (uint32_t i = 1; i < ct->backoffs && delay < settings->backoff_max_ms; i++)
        delay *= 2;
    if (ct->backoffs < UINT32_MAX)
        ct->backoffs++;
    return delay < settings->backoff_max_ms ? delay : settings->backoff_max_ms;
}

/* A helper or an init container of a member comes again by itself, as does one without its image:
 * that is not the end of the worker. */
static bool is_fall(const struct start_ct *ct, enum verdict verdict)
{
    bool is_worker = ct->spec.role == START_MAIN && ct->why != WHY_PREPARE;
    return verdict == VERDICT_ALL || (verdict == VERDICT_AGAIN && is_worker);
}

/* A sidecar is over only where a rule says so, and then the pod has failed, whatever its code. */
static void be_over(struct start_ct *ct)
{
    start_ct_set_final(ct, true);
    bool is_failed_init = ct->spec.role == START_INIT && ct->state == CT_FAILED;
    if (is_failed_init || ct->spec.role == START_SIDECAR) {
        ct->pod->has_init_failed = true;
        start_pod_touch(ct->pod);
    }
}

void start_ct_decide(struct start_ct *ct, bool is_handled, bool waits_again)
{
    struct start *start = ct->pod->start;
    enum verdict verdict = waits_again ? VERDICT_AGAIN : judge(ct);
    if (verdict == VERDICT_OVER || verdict == VERDICT_TERMINATE) {
        be_over(ct);
        return;
    }
    if (ct->pod->is_member && is_fall(ct, verdict)) {
        start_pod_fall(ct->pod);
        return;
    }
    bool is_prompt = verdict == VERDICT_ALL && is_of_group(ct->pod);
    time_ms again_at = ct->ended_at + (is_prompt ? 0 : next_backoff(ct));
    if (verdict == VERDICT_ALL && !is_handled) {
        start_pod_restart_all(ct->pod, again_at - start->now);
        return;
    }
    ct->again_at = again_at;
    start_ct_touch(ct);
    if (again_at <= start->now)
        start_ct_again(ct);
}

/* ---- the end of a generation ---- */

void start_ct_ended(struct start_ct *ct, enum container_event event, int code,
                    enum start_reason why)
{
    struct start_pod *pod = ct->pod;
    start_ct_move(ct, event);
    start_ct_stop_probes(ct);
    start_ct_answered(ct);
    ct->is_running = ct->is_ending = ct->is_notified = false;
    ct->timeout_at = ct->kill_at = TIME_NEVER;
    ct->why = why;
    ct->has_exited = event != CE_PREPARE_FAILED;
    ct->exit_code = code;
    ct->ended_at = pod->start->now;
    start_ct_update_ready(ct);
    if (pod->want != WANT_RUN)
        start_ct_set_final(ct, true);
    else if (!pod->is_restarting)
        start_ct_decide(ct, false, false);
    start_ct_spread(ct);
    if (pod->want != WANT_RUN)
        start_pod_go_on_ending(pod, ct);
}

static void keep_last(struct start_ct *ct)
{
    if (!ct->has_exited)
        return;
    ct->last = (struct start_end){.generation = ct->generation,
                                  .exit_code = ct->exit_code,
                                  .why = ct->why,
                                  .started_at = ct->started_at,
                                  .ended_at = ct->ended_at};
}

void start_ct_again(struct start_ct *ct)
{
    assert(container_is_over(ct->state));
    keep_last(ct);
    ct->has_exited = false;
    ct->exit_code = 0;
    ct->why = WHY_NONE;
    ct->started_at = ct->ready_at = ct->ended_at = 0;
    ct->again_at = TIME_NEVER;
    ct->n_moves = 0;
    start_ct_set_final(ct, false);
    start_ct_move(ct, CE_AGAIN);
    start_ct_update_ready(ct);
    start_ct_begin(ct);
}

/* ---- all of them ---- */

static void begin_to_end(struct start_ct *ct)
{
    ct->again_at = TIME_NEVER;
    start_ct_set_final(ct, false);
    start_ct_touch(ct);
    if (ct->state == CT_PENDING)
        start_ct_move(ct, CE_REBLOCKED);
    if (container_has_process(ct->state))
        start_ct_kill(ct, WHY_RESTARTING_ALL);
}

/* Where running is being ready, nobody would see a smaller share of the CPU: it would be given back
 * before it counts. In a large group even the writing of it is felt. */
static bool does_start_take_time(const struct start_pod *pod)
{
    bool does = false;
    for (uint32_t i = 0; i < pod->n; i++)
        does = does || start_takes_slot(&pod->cts[i]) || pod->cts[i].spec.role == START_INIT;
    return does;
}

void start_pod_restart_all(struct start_pod *pod, time_ms delay_ms)
{
    struct start *start = pod->start;
    pod->want = WANT_RUN;
    pod->is_over = pod->has_init_failed = pod->has_main_run = false;
    pod->kill_at = TIME_NEVER;
    pod->init_at = 0;
    time_ms at = start->now + (delay_ms > 0 ? delay_ms : 0);
    /* Asked again while it waits: the later one may only hurry it. */
    pod->again_at = pod->is_restarting && pod->again_at < at ? pod->again_at : at;
    pod->is_restarting = true;
    /* Helpers after those they help. Whoever caused it has ended already. */
    for (uint32_t i = 0; i < pod->n; i++)
        begin_to_end(&pod->cts[(pod->n_init + i) % pod->n]);
    if (!pod->is_starting && (!pod->is_member || does_start_take_time(pod))) {
        pod->is_starting = true;
        start_pod_effect(pod, FX_WEIGHT);
    }
    start_pod_touch(pod);
}

void start_pod_fall(struct start_pod *pod)
{
    assert(pod->is_member);
    pod->is_held = true;
    start_pod_restart_all(pod, 0);
}

void start_pod_go_on_restarting(struct start_pod *pod)
{
    if (pod->n_alive > 0 || pod->again_at > pod->start->now)
        return;
    pod->is_restarting = false;
    pod->again_at = TIME_NEVER;
    if (pod->is_member)
        start_pod_effect(pod, FX_POD_DOWN);
    for (uint32_t i = 0; i < pod->n; i++) {
        struct start_ct *ct = &pod->cts[i];
        if (container_is_over(ct->state))
            start_ct_again(ct);
        else
            start_ct_try(ct);
    }
}
