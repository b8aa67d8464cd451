// SPDX-License-Identifier: Apache-2.0
/* Decisions: what the host is to write, and the same change made to the facts, so that the next
 * decision builds on it. */
#include "base/quantity.h"
#include "core/admit/admit_internal.h"
#include <assert.h>

void amount_text(struct str *out, amount a)
{
    quantity_format((quantity)a * 1000000, out);
}

int64_t amount_int(amount a)
{
    if (a > INT64_MAX)
        return INT64_MAX;
    return a < INT64_MIN ? INT64_MIN : (int64_t)a;
}

struct admit_decision *decide(struct admit *admit, struct wl *wl, enum admit_decision_type type)
{
    vec_push(&admit->decisions, ((struct admit_decision){.type = type}));
    struct admit_decision *decision = vec_last(&admit->decisions);
    decision->key = arena_strdup(&admit->out, wl->key);
    decision->uid = arena_strdup(&admit->out, wl->uid);
    decision->text = decision->message = decision->cause = "";
    return decision;
}

/* ---- evictions ---- */

static time_ms pause_of(struct admit *admit, int64_t count)
{
    const struct admit_settings *settings = &admit->settings;
    time_ms pause = settings->base_ms;
    for (int64_t i = 1; i < count && pause < settings->max_ms; i++)
        pause = pause > settings->max_ms / 2 ? settings->max_ms : pause * 2;
    return pause < settings->max_ms ? pause : settings->max_ms;
}

static time_ms with_jitter(struct admit *admit, time_ms pause)
{
    return pause + (time_ms)rng_below(&admit->rng, (uint64_t)(pause / 10) + 1);
}

/* Two that fail together do not come back together. */
static time_ms requeue_time(struct admit *admit, time_ms now, time_ms pause)
{
    time_ms at = now + with_jitter(admit, pause);
    if (at == admit->last_requeue_at && pause >= 10)
        at += at < now + pause + pause / 10 ? 1 : -1;
    admit->last_requeue_at = at;
    return at;
}

static void remember_flavor(struct admit *admit, struct wl *wl, struct flavor *flavor)
{
    struct failed *failed = NULL;
    for (size_t i = 0; i < wl->failed.len && !failed; i++) {
        if (wl->failed.items[i].flavor == flavor)
            failed = &wl->failed.items[i];
    }
    if (!failed) {
        vec_push(&wl->failed, ((struct failed){.flavor = flavor}));
        failed = vec_last(&wl->failed);
    }
    if (failed->until > wl->facts.requeue_at)
        return; /* of another resource of the same flavor */
    failed->count++;
    failed->until = wl->facts.requeue_at + with_jitter(admit, pause_of(admit, failed->count));
}

static void keep_failed(struct wl *wl)
{
    vec_clear(&wl->failed_before);
    for (size_t i = 0; i < wl->failed.len; i++)
        vec_push(&wl->failed_before, wl->failed.items[i]);
}

static void write_failed(struct admit *admit, const struct wl *wl, struct admit_decision *decision)
{
    struct admit_failed *out = arena_alloc(&admit->out, (wl->failed.len + 1) * sizeof(*out));
    for (size_t i = 0; i < wl->failed.len; i++)
        out[i] = (struct admit_failed){wl->failed.items[i].flavor->name, wl->failed.items[i].count,
                                       wl->failed.items[i].until};
    decision->failed = out;
    decision->n_failed = wl->failed.len;
}

static void requeue_later(struct admit *admit, struct wl *wl, time_ms now)
{
    struct facts *facts = &wl->facts;
    facts->requeue_count++;
    time_ms at = requeue_time(admit, now, pause_of(admit, facts->requeue_count));
    facts->requeue_at = facts->requeue_at > at ? facts->requeue_at : at;
    if (facts->first_evicted_at == 0)
        facts->first_evicted_at = now;
    for (size_t i = 0; i < wl->uses.len; i++)
        remember_flavor(admit, wl, wl->uses.items[i].cell->flavor);
}

/* No failure of its own: it is not counted. A pause that is longer stays. */
static void retry_later(struct wl *wl, time_ms now)
{
    time_ms at = consent_retry_at(wl, wl->holds_in, now);
    if (at > now && at > wl->facts.requeue_at)
        wl->facts.requeue_at = at;
}

static void forget_requeues(struct wl *wl)
{
    wl->facts.requeue_count = 0;
    wl->facts.requeue_at = wl->facts.first_evicted_at = 0;
    vec_clear(&wl->failed);
}

static bool is_limit_passed(const struct admit *admit, const struct facts *facts, time_ms now)
{
    const struct admit_settings *settings = &admit->settings;
    if (settings->limit_count != ADMIT_NO_LIMIT && facts->requeue_count + 1 > settings->limit_count)
        return true;
    return settings->limit_ms > 0 && facts->first_evicted_at > 0 &&
           now - facts->first_evicted_at >= settings->limit_ms;
}

static const char *evict_message(struct admit *admit, const struct wl *wl,
                                 enum admit_evicted reason, const char *cause)
{
    static const char *const texts[EVICTED_REASONS] = {
        [EVICTED_READY_TIMEOUT] = "Exceeded the time to get ready",
        [EVICTED_LIMIT] = ("Deactivated: it did not get ready within the limit of retries. Set "
                           "spec.active to true to queue it again"),
        [EVICTED_TOO_LONG] = ("Deactivated: it has run for its maximum execution time. Set "
                              "spec.active to true to queue it again, with all of that time"),
        [EVICTED_INACTIVE] = "The workload is deactivated",
        [EVICTED_QUEUE_STOPPED] = "The ClusterQueue is stopped",
        [EVICTED_LOCAL_STOPPED] = "The LocalQueue is stopped",
    };
    if (reason == EVICTED_READY_TIMEOUT && str_eq(cause, "WaitForRecovery"))
        return "Exceeded the time to get ready again";
    const char *check = NULL;
    if (reason == EVICTED_CHECK || reason == EVICTED_REFUSED)
        (void)consent_of(wl, wl->holds_in, &check);
    if (check && reason == EVICTED_CHECK)
        return arena_printf(&admit->out, "Admission check %s asks to try again", check);
    if (check)
        return arena_printf(&admit->out,
                            "Deactivated: admission check %s has rejected it. Set spec.active to "
                            "true to queue it again",
                            check);
    return texts[reason] ? texts[reason] : "Evicted";
}

/* One that was switched off while it waited has lost no place. */
static void count_eviction(struct admit *admit, struct wl *wl, enum admit_evicted reason)
{
    struct queue *queue = wl->holds_in ? wl->holds_in : wl->pending_in;
    if (!queue)
        return;
    queue->evictions[reason]++;
    queue_changed(admit, queue);
    wl->local->evictions[reason]++;
    local_changed(admit, wl->local);
}

void decide_reset(struct admit *admit, struct wl *wl, const char *text, const char *message)
{
    keep_failed(wl);
    forget_requeues(wl);
    struct admit_decision *decision = decide(admit, wl, DECIDED_RESET);
    decision->text = text;
    decision->message = message;
}

void decide_evict(struct admit *admit, struct wl *wl, enum admit_evicted reason, time_ms now)
{
    struct facts *facts = &wl->facts;
    const char *cause = "";
    if (reason == EVICTED_READY_TIMEOUT) {
        cause = facts->ready == READY_WAITS_RECOVERY ? "WaitForRecovery" : "WaitForStart";
        reason = is_limit_passed(admit, facts, now) ? EVICTED_LIMIT : reason;
    }
    bool deactivates = admit_deactivated_text(reason) != NULL;
    count_eviction(admit, wl, reason);
    keep_failed(wl);
    facts->evicted = reason;
    facts->evicted_at = now;
    if (reason == EVICTED_READY_TIMEOUT)
        requeue_later(admit, wl, now);
    else if (reason == EVICTED_CHECK)
        retry_later(wl, now);
    else if (deactivates || reason == EVICTED_INACTIVE)
        forget_requeues(wl);
    if (reason == EVICTED_TOO_LONG)
        facts->past_run_ms = 0;
    if (deactivates) {
        facts->is_active = false;
        facts->is_held = !facts->has_quota;
        facts->held_by = reason;
    }
    struct admit_decision *decision =
        decide(admit, wl, deactivates ? DECIDED_DEACTIVATE : DECIDED_EVICT);
    decision->reason = reason;
    decision->text = admit_evicted_text(reason);
    decision->message = evict_message(admit, wl, reason, cause);
    decision->cause = cause;
    decision->queue = wl->holds_in ? wl->holds_in->node.name : NULL;
    decision->requeue_count = facts->requeue_count;
    decision->requeue_at = facts->requeue_at;
    decision->first_evicted_at = facts->first_evicted_at;
    write_failed(admit, wl, decision);
    wl_settle(admit, wl, now);
}

static void preempt_one(struct admit *admit, const struct wl *by, struct victim victim, time_ms now)
{
    struct wl *wl = victim.wl;
    struct admit_decision *decision = decide(admit, wl, DECIDED_EVICT);
    decision->reason = EVICTED_PREEMPTED;
    decision->text = admit_evicted_text(EVICTED_PREEMPTED);
    decision->preempt = victim.why;
    decision->preemptor = arena_strdup(&admit->out, by->key);
    decision->preemptor_uid = arena_strdup(&admit->out, by->uid);
    decision->message = arena_printf(&admit->out, "Preempted to accommodate workload %s (%s)",
                                     by->key, admit_preempt_text(victim.why));
    decision->queue = wl->holds_in->node.name;
    decision->requeue_count = wl->facts.requeue_count;
    decision->first_evicted_at = wl->facts.first_evicted_at;
    count_eviction(admit, wl, EVICTED_PREEMPTED);
    wl->facts.evicted = EVICTED_PREEMPTED;
    wl->facts.evicted_at = now;
    wl_settle(admit, wl, now);
}

/* Those who are on their way out already only have to go. */
void decide_preempt(struct admit *admit, const struct attempt *attempt, time_ms now)
{
    for (size_t i = 0; i < attempt->victims.len; i++) {
        if (attempt->victims.items[i].wl->facts.evicted == EVICTED_NOT)
            preempt_one(admit, attempt->wl, attempt->victims.items[i], now);
    }
}

/* ---- admissions ---- */

static void grant(struct wl *wl, const struct attempt *attempt)
{
    const struct spec *spec = wl->spec;
    wl_drop_grants(wl);
    wl->n_grants = spec->n_sets;
    wl->grants = mem_zalloc((spec->n_sets + 1) * sizeof(*wl->grants));
    for (size_t i = 0, first = 0; i < spec->n_sets; first += spec->sets[i++].n_needs) {
        wl->grants[i].count = attempt->counts[i];
        for (size_t j = 0; j < spec->sets[i].n_needs; j++) {
            if (attempt->picks[first + j])
                vec_push(
                    &wl->grants[i].takes,
                    ((struct take){attempt->picks[first + j],
                                   (amount)spec->sets[i].needs[j].amount * attempt->counts[i]}));
        }
    }
}

static void write_grants(struct admit *admit, const struct wl *wl, struct admit_decision *decision)
{
    struct admit_assigned *out = arena_alloc(&admit->out, (wl->n_grants + 1) * sizeof(*out));
    for (size_t i = 0; i < wl->n_grants; i++) {
        const take_vec *takes = &wl->grants[i].takes;
        struct admit_pick *picks = arena_alloc(&admit->out, (takes->len + 1) * sizeof(*picks));
        for (size_t j = 0; j < takes->len; j++)
            picks[j] = (struct admit_pick){takes->items[j].cell->resource,
                                           takes->items[j].cell->flavor->name,
                                           amount_int(takes->items[j].amount)};
        out[i] =
            (struct admit_assigned){wl->spec->sets[i].name, wl->grants[i].count, picks, takes->len};
    }
    decision->assigned = out;
    decision->n_assigned = wl->n_grants;
}

static void count_admission(struct wl *wl, struct queue *queue)
{
    queue->admissions += wl->facts.is_admitted;
    wl->local->admissions += wl->facts.is_admitted;
}

void decide_admit(struct admit *admit, struct wl *wl, const struct attempt *attempt, time_ms now)
{
    struct facts *facts = &wl->facts;
    struct queue *queue = attempt->queue;
    if (wl->shape)
        shape_leave(admit, wl);
    claim_drop(admit, wl);
    grant(wl, attempt);
    facts->has_quota = true;
    facts->is_admitted = consent_of(wl, queue, NULL) == ANSWER_READY;
    facts->queue = queue;
    facts->reserved_at = facts->ready_since = now;
    facts->admitted_at = facts->is_admitted ? now : 0;
    facts->ready = READY_WAITS_START;
    facts->evicted = EVICTED_NOT;
    facts->is_held = false;
    count_admission(wl, queue);
    wl->said = STATE_UNKNOWN;
    wl_settle(admit, wl, now);
    struct admit_decision *decision = decide(admit, wl, DECIDED_ADMIT);
    decision->text = facts->is_admitted ? "Admitted" : "QuotaReserved";
    decision->asks_others = !facts->is_admitted;
    decision->queue = queue->node.name;
    decision->message =
        arena_printf(&admit->out, "Quota reserved in ClusterQueue %s", queue->node.name);
    decision->requeue_count = facts->requeue_count;
    write_grants(admit, wl, decision);
}

void decide_pass(struct admit *admit, struct wl *wl, time_ms now)
{
    struct facts *facts = &wl->facts;
    facts->is_admitted = true;
    facts->admitted_at = now;
    if (facts->ready != READY_YES)
        facts->ready_since = now;
    count_admission(wl, wl->holds_in);
    struct admit_decision *decision = decide(admit, wl, DECIDED_PASS);
    decision->text = "Admitted";
    decision->queue = wl->holds_in->node.name;
    decision->message = "All admission checks agree";
    decision->requeue_count = facts->requeue_count;
    wl_settle(admit, wl, now);
}

/* ---- waiting ---- */

static void say(struct admit *admit, struct wl *wl, enum admit_state state)
{
    static const char *const reasons[] = {
        [STATE_HELD] = "Inadmissible",
        [STATE_BLOCKED] = "WaitingForPodsReady",
        [STATE_EVICTING] = "Pending", /* the longest index */
    };
    if (wl->said == state)
        return;
    wl->said = state;
    struct admit_decision *decision = decide(admit, wl, DECIDED_WAIT);
    decision->text = reasons[state] ? reasons[state] : "Pending";
    decision->message = arena_strdup(&admit->out, explain_briefly(admit, wl));
}

void decide_waits(struct admit *admit)
{
    for (size_t i = 0; i < admit->touched.len; i++) {
        struct shape *shape = admit->touched.items[i];
        if (!shape)
            continue; /* nobody is left in it */
        shape->is_touched = false;
        if (shape->state != SHAPE_TRY)
            say(admit, shape_head(shape),
                shape->state == SHAPE_ASIDE ? STATE_BLOCKED : STATE_NO_QUOTA);
    }
    vec_clear(&admit->touched);
    for (size_t i = 0; i < admit->told.len; i++) {
        struct wl *wl = admit->told.items[i];
        wl->is_told = false;
        if ((wl->state == STATE_HELD && !wl->facts.is_deleted) || wl->state == STATE_PREEMPTING)
            say(admit, wl, wl->state);
    }
    vec_clear(&admit->told);
}
