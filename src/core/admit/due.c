// SPDX-License-Identifier: Apache-2.0
/* What time does. Each workload has one timer, for the next thing that can become due:
 *   admitted, not ready     timeout or recoveryTimeout: evicted, or deactivated at the limit
 *   admitted, ready         resetAfter: its count is 0 again
 *   admitted                maximumExecutionTimeSeconds: deactivated
 *   in its pause            requeueAt: back into the queue, whether that can be used or not
 *   waiting                 a flavor's pause is over; backoffLimitTimeout
 *   deactivated             that it is evicted is to be said, its tries are to be forgotten
 * What does not need time (deactivated by its user, its queue drained, reactivated) is due now. */
#include "core/admit/admit_internal.h"
#include <assert.h>

static time_ms sooner(time_ms a, time_ms b)
{
    return a < b ? a : b;
}

static enum admit_evicted forced(const struct wl *wl)
{
    if (!wl->facts.is_active)
        return EVICTED_INACTIVE;
    if (wl->local->is_known && wl->local->stop == STOP_HOLD_AND_DRAIN)
        return EVICTED_LOCAL_STOPPED;
    if (wl->holds_in->is_known && wl->holds_in->rules.stop == STOP_HOLD_AND_DRAIN)
        return EVICTED_QUEUE_STOPPED;
    return EVICTED_NOT;
}

/* Whether its checks have said something that is to be done. */
static bool is_answered(const struct wl *wl)
{
    if (!wl->holds_in->is_known)
        return false; /* what is asked for is not known either */
    enum admit_answer answer = consent_of(wl, wl->holds_in, NULL);
    return answer == ANSWER_RETRY || answer == ANSWER_REJECTED ||
           (answer == ANSWER_READY && wl->state == STATE_RESERVED);
}

/* When patience ends with one that is not ready; TIME_NEVER: no timer runs. */
static time_ms patience(const struct admit *admit, const struct facts *facts)
{
    const struct admit_settings *settings = &admit->settings;
    if (!settings->waits_for_ready || !facts->is_admitted || facts->ready == READY_YES)
        return TIME_NEVER;
    if (facts->ready != READY_WAITS_RECOVERY)
        return facts->admitted_at + settings->timeout_ms;
    return settings->recovery_ms > 0 ? facts->ready_since + settings->recovery_ms : TIME_NEVER;
}

static time_ms healthy_at(const struct admit *admit, const struct wl *wl)
{
    time_ms after = admit->settings.reset_after_ms;
    bool has_past = wl->facts.requeue_count > 0 || wl->failed.len > 0;
    if (wl->facts.ready != READY_YES || !has_past || after == 0)
        return TIME_NEVER;
    return wl->facts.ready_since + after;
}

static time_ms given_up_at(const struct admit *admit, const struct facts *facts)
{
    if (admit->settings.limit_ms == 0 || facts->first_evicted_at == 0)
        return TIME_NEVER;
    return facts->first_evicted_at + admit->settings.limit_ms;
}

/* Of one that is not admitted: it may not run for a moment more, so it need not be let in. */
time_ms due_over(const struct facts *facts)
{
    if (facts->max_run_ms == 0)
        return TIME_NEVER;
    if (facts->is_admitted)
        return facts->admitted_at + facts->max_run_ms - facts->past_run_ms;
    return facts->past_run_ms >= facts->max_run_ms ? 0 : TIME_NEVER;
}

time_ms due_patience(const struct admit *admit, const struct facts *facts)
{
    return sooner(patience(admit, facts), given_up_at(admit, facts));
}

static time_ms next_flavor_at(const struct wl *wl, time_ms now)
{
    time_ms at = TIME_NEVER;
    for (size_t i = 0; i < wl->failed.len; i++) {
        if (wl->failed.items[i].until > now)
            at = sooner(at, wl->failed.items[i].until);
    }
    return at;
}

static bool has_past(const struct wl *wl)
{
    const struct facts *facts = &wl->facts;
    return facts->requeue_count > 0 || facts->requeue_at != 0 || facts->first_evicted_at != 0 ||
           wl->failed.len > 0;
}

/* What stopped it has to be there and to go on; any other reason has nothing to do with queues. */
static bool may_return(const struct wl *wl)
{
    const struct local *local = wl->local;
    if (!wl->facts.is_held)
        return true;
    if (wl->facts.held_by == EVICTED_LOCAL_STOPPED)
        return local->is_known && local->stop == STOP_NONE;
    if (wl->facts.held_by == EVICTED_QUEUE_STOPPED)
        return local->is_known && local->queue->is_known && local->queue->rules.stop == STOP_NONE;
    return true;
}

static time_ms return_at(const struct wl *wl, time_ms now)
{
    const struct facts *facts = &wl->facts;
    bool is_away = facts->is_held || facts->requeue_at != 0;
    if (facts->is_deleted || !is_away || !may_return(wl))
        return TIME_NEVER;
    return facts->requeue_at > now ? facts->requeue_at : now;
}

static time_ms next_due(const struct admit *admit, const struct wl *wl, time_ms now)
{
    const struct facts *facts = &wl->facts;
    switch ((int)wl->state) { /* others have no timer */
    case STATE_RESERVED:
    case STATE_ADMITTED:
        if (forced(wl) != EVICTED_NOT || is_answered(wl))
            return now;
        return sooner(sooner(due_patience(admit, facts), healthy_at(admit, wl)), due_over(facts));
    case STATE_HELD:
        return return_at(wl, now);
    case STATE_BACKOFF:
        return sooner(return_at(wl, now), sooner(given_up_at(admit, facts), due_over(facts)));
    case STATE_QUEUED:
    case STATE_PREEMPTING:
        if (facts->requeue_at != 0)
            return now;
        return sooner(next_flavor_at(wl, now), sooner(given_up_at(admit, facts), due_over(facts)));
    case STATE_INACTIVE:
        return facts->evicted == EVICTED_NOT || has_past(wl) ? now : TIME_NEVER;
    case STATE_EVICTING:
        return !facts->is_active && has_past(wl) ? now : TIME_NEVER;
    }
    return TIME_NEVER;
}

void due_arm(struct admit *admit, struct wl *wl, time_ms now)
{
    time_ms at = next_due(admit, wl, now);
    if (heap_contains(&wl->due) && wl->due.key == at)
        return;
    heap_remove(&admit->due, &wl->due);
    if (at != TIME_NEVER)
        heap_push(&admit->due, &wl->due, at);
}

/* ---- what is due ---- */

static void release(struct admit *admit, struct wl *wl, time_ms now)
{
    static const char *const texts[EVICTED_REASONS] = {
        [EVICTED_INACTIVE] = "Reactivated",
        [EVICTED_LIMIT] = "Reactivated",
        [EVICTED_TOO_LONG] = "Reactivated",
        [EVICTED_REFUSED] = "Reactivated",
        [EVICTED_QUEUE_STOPPED] = "ClusterQueueRestarted",
        [EVICTED_LOCAL_STOPPED] = "LocalQueueRestarted",
    };
    const char *text = wl->facts.is_held ? texts[wl->facts.held_by] : NULL;
    struct admit_decision *decision = decide(admit, wl, DECIDED_RELEASE);
    decision->text = text ? text : "BackoffFinished";
    decision->message = wl->state == STATE_HELD ? "The workload may be queued again"
                                                : "The workload is queued again";
    if (text && str_eq(text, "Reactivated")) {
        wl->facts.requeue_count = 0;
        wl->facts.first_evicted_at = 0;
        vec_clear(&wl->failed);
    }
    decision->requeue_count = wl->facts.requeue_count;
    wl->facts.is_held = false;
    wl->facts.requeue_at = 0;
    wl_settle(admit, wl, now);
}

static void run_answers(struct admit *admit, struct wl *wl, time_ms now)
{
    enum admit_answer answer = consent_of(wl, wl->holds_in, NULL);
    if (answer == ANSWER_READY)
        decide_pass(admit, wl, now);
    else
        decide_evict(admit, wl, answer == ANSWER_RETRY ? EVICTED_CHECK : EVICTED_REFUSED, now);
}

static void run_holder(struct admit *admit, struct wl *wl, time_ms now)
{
    enum admit_evicted reason = forced(wl);
    if (reason != EVICTED_NOT) {
        decide_evict(admit, wl, reason, now);
    } else if (is_answered(wl)) {
        run_answers(admit, wl, now);
    } else if (due_patience(admit, &wl->facts) <= now) {
        decide_evict(admit, wl, EVICTED_READY_TIMEOUT, now);
    } else if (due_over(&wl->facts) <= now) {
        decide_evict(admit, wl, EVICTED_TOO_LONG, now);
    } else if (healthy_at(admit, wl) <= now) {
        decide_reset(admit, wl, "Healthy",
                     "It was ready for long enough: retries are counted from 0 again");
    }
    due_arm(admit, wl, now);
}

/* One that is evicted already keeps the reason for it. */
static void run_switched_off(struct admit *admit, struct wl *wl, time_ms now)
{
    assert(!wl->facts.is_active);
    if (wl->facts.evicted == EVICTED_NOT)
        decide_evict(admit, wl, EVICTED_INACTIVE, now);
    else
        decide_reset(admit, wl, "Deactivated", "It is deactivated: its tries are forgotten");
    due_arm(admit, wl, now);
}

static void run_one(struct admit *admit, struct wl *wl, time_ms now)
{
    switch ((int)wl->state) { /* others have no timer */
    case STATE_RESERVED:
    case STATE_ADMITTED:
        run_holder(admit, wl, now);
        break;
    case STATE_HELD:
        release(admit, wl, now);
        break;
    case STATE_BACKOFF:
    case STATE_QUEUED:
    case STATE_PREEMPTING:
        if (given_up_at(admit, &wl->facts) <= now)
            decide_evict(admit, wl, EVICTED_LIMIT, now);
        else if (due_over(&wl->facts) <= now)
            decide_evict(admit, wl, EVICTED_TOO_LONG, now);
        else if (wl->facts.is_held || wl->facts.requeue_at != 0)
            release(admit, wl, now);
        else
            wl_settle(admit, wl, now); /* a flavor may be tried again */
        break;
    case STATE_INACTIVE:
    case STATE_EVICTING:
        run_switched_off(admit, wl, now);
        break;
    }
}

void due_run(struct admit *admit, time_ms now)
{
    admit->last_requeue_at = 0;
    for (struct heap_node *node; (node = heap_peek(&admit->due)) && node->key <= now;) {
        heap_remove(&admit->due, node);
        run_one(admit, container_of(node, struct wl, due), now);
    }
}
