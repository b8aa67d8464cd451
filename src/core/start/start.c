// SPDX-License-Identifier: Apache-2.0
/* The doors of the engine, its timers, its effects, and the way from pending to starting.
 *
 * 1. Whoever changes a container touches it; start_settle() at the end of each door sets its timer
 *    and draws the pod's conclusions. Nothing else may be left to do between two calls, but asking
 *    the throttle.
 * 2. One timer for each container and each pod, all in one heap: the earliest thing it waits for.
 * 3. A container is in a line exactly while it is pending, and holds a slot exactly while it is
 *    starting and has some sign of readiness to show that depends on itself (start_takes_slot).
 * 4. Time never runs backwards in here.
 * 5. Only so many starts are asked for that have no answer yet. The host starts one after the other
 *    anyway: the rest stays in line, where it can still be called off, and the host prepares the
 *    next ones beside those that are being started instead of before them. */
#include "core/start/start_internal.h"
#include <assert.h>
#include <string.h>

#define UNDER_WAY_MAX 256
#define UNDER_WAY_LOW 192 /* from here on more are asked for, some at a time */

void start_settings_default(struct start_settings *settings, double cores)
{
    *settings = (struct start_settings){.start_timeout_ms = 300000,
                                        .backoff_first_ms = 10000,
                                        .backoff_max_ms = 300000,
                                        .backoff_reset_ms = 600000};
    gate_settings_default(&settings->gate, cores);
}

struct start *start_new(const struct start_settings *settings)
{
    struct start *start = mem_zalloc(sizeof(*start));
    start->settings = *settings;
    start->gate = gate_new(&settings->gate);
    start->lines[false] = line_new();
    start->lines[true] = line_new();
    start->ask_at = TIME_NEVER;
    return start;
}

void start_free(struct start *start)
{
    if (start == NULL)
        return;
    while (start->pods.len > 0)
        start_pod_remove(start, *vec_last(&start->pods));
    line_free(start->lines[false]);
    line_free(start->lines[true]);
    gate_free(start->gate);
    heap_done(&start->timers);
    vec_done(&start->pods);
    vec_done(&start->dirty);
    vec_done(&start->touched);
    vec_done(&start->effects);
    mem_free(start);
}

static void pass_time(struct start *start, time_ms now)
{
    if (now > start->now)
        start->now = now;
}

/* ---- effects ---- */

static struct start_effect *push_effect(struct start_pod *pod, enum start_effect_type type)
{
    struct start *start = pod->start;
    vec_push(&start->effects, ((struct start_effect){.type = type, .pod = pod}));
    pod->n_effects++;
    return vec_last(&start->effects);
}

void start_pod_effect(struct start_pod *pod, enum start_effect_type type)
{
    (void)push_effect(pod, type);
}

struct start_effect *start_effect(struct start_ct *ct, enum start_effect_type type)
{
    struct start_effect *effect = push_effect(ct->pod, type);
    effect->container = ct->index;
    effect->generation = ct->generation;
    return effect;
}

static bool take_effect(struct start *start, struct start_effect *ret_effect)
{
    while (start->first_effect < start->effects.len) {
        struct start_effect *effect = &start->effects.items[start->first_effect++];
        if (effect->pod == NULL)
            continue;
        effect->pod->n_effects--;
        if (effect->type == FX_CHANGED)
            effect->pod->is_change_queued = false;
        *ret_effect = *effect;
        return true;
    }
    start->first_effect = 0;
    vec_clear(&start->effects);
    return false;
}

static void drop_effects(struct start_pod *pod)
{
    struct start *start = pod->start;
    for (size_t i = start->first_effect; pod->n_effects > 0; i++) {
        if (start->effects.items[i].pod != pod)
            continue;
        start->effects.items[i].pod = NULL;
        pod->n_effects--;
    }
}

/* ---- timers ---- */

void start_arm(struct start *start, struct start_timer *timer, time_ms at)
{
    if (heap_contains(&timer->node) && timer->node.key == at)
        return;
    heap_remove(&start->timers, &timer->node);
    if (at != TIME_NEVER)
        heap_push(&start->timers, &timer->node, at);
}

void start_settle(struct start *start)
{
    while (start->dirty.len > 0) {
        struct start_pod *pod = vec_pop(&start->dirty);
        pod->is_dirty = false;
        start_pod_settle(pod);
    }
    while (start->touched.len > 0) {
        struct start_ct *ct = vec_pop(&start->touched);
        ct->is_touched = false;
        start_arm(start, &ct->timer, start_ct_deadline(ct));
    }
}

time_ms start_deadline(const struct start *start)
{
    if (start->wants_admission)
        return start->now;
    struct heap_node *first = heap_peek(&start->timers);
    time_ms at = first ? first->key : TIME_NEVER;
    return start->ask_at < at ? start->ask_at : at;
}

void start_tick(struct start *start, time_ms now, time_ms late_ms)
{
    pass_time(start, now);
    start->lag += late_ms > 0 ? late_ms : 0;
    /* What was said meanwhile is still to be read. */
    if (late_ms >= START_CATCH_UP_MS)
        start->judge_at = start->now + START_CATCH_UP_MS;
    struct heap_node *first;
    while ((first = heap_peek(&start->timers)) != NULL && first->key <= start->now) {
        struct start_timer *timer =
            container_of(heap_pop(&start->timers), struct start_timer, node);
        if (timer->ct)
            start_ct_on_timer(timer->ct);
        else
            start_pod_on_timer(timer->pod);
        start_settle(start);
    }
    if (start->ask_at <= start->now)
        start->wants_admission = true;
}

static bool is_timer_of_ready(const struct start_timer *timer)
{
    const struct start_ct *ct = timer->ct;
    return ct != NULL && ct->state == CT_READY && ct->again_at == TIME_NEVER &&
           ct->kill_at == TIME_NEVER;
}

bool start_is_steady(const struct start *start)
{
    if (start->wants_admission || start->ask_at != TIME_NEVER)
        return false;
    for (size_t i = 0; i < start->timers.len; i++) {
        const struct start_timer *timer =
            container_of(start->timers.nodes[i], struct start_timer, node);
        if (!is_timer_of_ready(timer))
            return false;
    }
    return true;
}

/* ---- from pending to starting ---- */

bool start_has_sign(const struct start_ct *ct)
{
    bool has_sign = ct->spec.has_notify;
    for (int kind = 0; kind < PROBE_KINDS; kind++)
        has_sign = has_sign || ct->spec.probes[kind].is_set;
    return has_sign;
}

bool start_takes_slot(const struct start_ct *ct)
{
    return start_has_sign(ct) && !ct->spec.awaits_others;
}

static struct start_ct *ct_of(struct line_item *item)
{
    return item ? container_of(item, struct start_ct, item) : NULL;
}

/* Who is next in a line. Those whose dependencies were lost meanwhile go back. */
static struct start_ct *head_of(struct start *start, bool takes_slot)
{
    struct start_ct *ct;
    while ((ct = ct_of(line_peek(start->lines[takes_slot]))) != NULL && !start_ct_may_start(ct))
        start_ct_move(ct, CE_REBLOCKED);
    return ct;
}

/* The two lines are one in all but this: a cap that is full does not hold those that need no
 * slot. */
static bool is_before(const struct start_ct *a, const struct start_ct *b)
{
    if (a->item.pod->priority != b->item.pod->priority)
        return a->item.pod->priority > b->item.pod->priority;
    if (a->item.chain != b->item.chain)
        return a->item.chain > b->item.chain;
    return a->since <= b->since;
}

static void note_under_way(struct start_ct *ct)
{
    ct->is_under_way = true;
    ct->pod->start->n_under_way++;
}

void start_ct_answered(struct start_ct *ct)
{
    struct start *start = ct->pod->start;
    if (!ct->is_under_way)
        return;
    ct->is_under_way = false;
    if (--start->n_under_way == UNDER_WAY_LOW)
        start->wants_admission = true;
}

static bool admit(struct start *start, struct start_ct *ct)
{
    if (ct == NULL)
        return false;
    bool takes_slot = start_takes_slot(ct);
    struct gate_verdict verdict = gate_ask(start->gate, takes_slot, start->now);
    start->verdicts[takes_slot] = verdict;
    if (!verdict.is_allowed) {
        if (verdict.ask_at < start->ask_at)
            start->ask_at = verdict.ask_at;
        return false;
    }
    gate_started(start->gate, takes_slot, start->now); /* before it leaves: see gate_waiting() */
    struct line_item *item = line_pop(start->lines[takes_slot]);
    assert(item == &ct->item);
    (void)item;
    ct->generation++;
    if (ct->generation > 1) {
        ct->restarts++;
        start->stats.restarts++;
    }
    start_ct_move(ct, CE_ADMITTED);
    start_ct_arm_timeout(ct);
    (void)start_effect(ct, FX_START);
    note_under_way(ct);
    return true;
}

static void admit_all(struct start *start)
{
    bool is_any = true;
    while (is_any && start->n_under_way < UNDER_WAY_MAX) {
        struct start_ct *slot = head_of(start, true), *plain = head_of(start, false);
        start->ask_at = TIME_NEVER;
        bool is_slot_first = plain == NULL || (slot != NULL && is_before(slot, plain));
        is_any = admit(start, is_slot_first ? slot : plain);
        if (!is_any)
            is_any = admit(start, is_slot_first ? plain : slot);
    }
    start_settle(start);
}

bool start_next(struct start *start, struct start_effect *ret_effect)
{
    while (!take_effect(start, ret_effect)) {
        if (!start->wants_admission)
            return false;
        start->wants_admission = false;
        admit_all(start);
    }
    return true;
}

/* ---- doors ---- */

void start_set(struct start *start, const struct start_settings *settings, time_ms now)
{
    pass_time(start, now);
    start->settings = *settings;
    gate_set(start->gate, &settings->gate, start->now);
    start->wants_admission = true;
}

void start_sample(struct start *start, const struct gate_sample *sample, time_ms now)
{
    pass_time(start, now);
    gate_sample(start->gate, sample);
    if (line_count(start->lines[true]) > 0)
        start->wants_admission = true;
}

bool start_wants_samples(const struct start *start)
{
    bool is_busy = line_count(start->lines[true]) > 0 || gate_starting(start->gate) > 0;
    return is_busy && gate_wants_samples(start->gate);
}

struct start_pod *start_pod_add(struct start *start, const struct start_pod_spec *spec, time_ms now)
{
    pass_time(start, now);
    struct start_pod *pod = start_pod_make(start, spec, start->now);
    for (uint32_t i = 0; pod && i < pod->n; i++)
        start_ct_begin(&pod->cts[i]);
    start_settle(start);
    return pod;
}

void start_pod_remove(struct start *start, struct start_pod *pod)
{
    assert(start->dirty.len == 0 && start->touched.len == 0);
    drop_effects(pod);
    for (uint32_t i = 0; i < pod->n; i++) {
        struct start_ct *ct = &pod->cts[i];
        line_remove(start->lines[start_takes_slot(ct)], &ct->item);
        heap_remove(&start->timers, &ct->timer.node);
        start->stats.states[ct->state]--;
        start_ct_answered(ct);
        if (ct->state == CT_STARTING && start_takes_slot(ct))
            gate_ended(start->gate);
    }
    gate_waiting(start->gate, line_count(start->lines[true]) > 0, start->now);
    heap_remove(&start->timers, &pod->timer.node);
    start->pods.items[pod->index] = *vec_last(&start->pods);
    start->pods.items[pod->index]->index = pod->index;
    start->pods.len--;
    start->wants_admission = true;
    start_pod_free(pod);
}

void start_pod_stop(struct start *start, struct start_pod *pod, time_ms grace_ms, time_ms now)
{
    pass_time(start, now);
    start_pod_end(pod, WANT_STOP, grace_ms);
    start_settle(start);
}

void start_pod_restart(struct start *start, struct start_pod *pod, time_ms now)
{
    pass_time(start, now);
    if (pod->is_member && pod->want == WANT_RUN)
        start_pod_fall(pod);
    else if (!pod->is_member && pod->want != WANT_STOP && !pod->has_missed_deadline)
        start_pod_restart_all(pod, 0);
    start_settle(start);
}

void start_pod_release(struct start *start, struct start_pod *pod, time_ms now)
{
    pass_time(start, now);
    if (pod->is_held) {
        pod->is_held = false;
        start_pod_touch(pod);
        start_pod_review(pod);
    }
    start_settle(start);
}

void start_prepared(struct start *start, struct start_pod *pod, uint32_t container,
                    const char *problem_or_null, time_ms now)
{
    pass_time(start, now);
    assert(container < pod->n);
    struct start_ct *ct = &pod->cts[container];
    if (ct->state != CT_DOWNLOADING)
        return;
    if (problem_or_null == NULL) {
        ct->is_prepared = true;
        start_ct_move(ct, CE_PREPARED);
        start_ct_try(ct);
    } else {
        start_ct_ended(ct, CE_PREPARE_FAILED, 0, WHY_PREPARE);
    }
    start_settle(start);
}

/* The container, when it has a process of that generation; else NULL. */
static struct start_ct *alive_of(struct start_pod *pod, uint32_t container, uint32_t generation)
{
    assert(container < pod->n);
    struct start_ct *ct = &pod->cts[container];
    return container_has_process(ct->state) && ct->generation == generation ? ct : NULL;
}

void start_running(struct start *start, struct start_pod *pod, uint32_t container,
                   uint32_t generation, time_ms now)
{
    pass_time(start, now);
    struct start_ct *ct = alive_of(pod, container, generation);
    if (ct && !ct->is_running)
        start_ct_ran(ct);
    start_settle(start);
}

static bool was_told(const struct start_ct *ct)
{
    return ct->is_ending && (ct->ending_why == WHY_STOPPED || ct->ending_why == WHY_RESTARTING_ALL);
}

void start_not_run(struct start *start, struct start_pod *pod, uint32_t container,
                   uint32_t generation, time_ms now)
{
    pass_time(start, now);
    struct start_ct *ct = alive_of(pod, container, generation);
    if (ct && !ct->is_running)
        start_ct_ended(ct, was_told(ct) ? CE_ENDED_WELL : CE_START_FAILED, START_EXIT_NOT_RUN,
                       ct->is_ending ? ct->ending_why : WHY_NOT_RUN);
    start_settle(start);
}

void start_ended(struct start *start, struct start_pod *pod, uint32_t container,
                 const struct start_exit *end, time_ms now)
{
    pass_time(start, now);
    struct start_ct *ct = alive_of(pod, container, end->generation);
    if (ct == NULL)
        return;
    bool is_bad = ct->is_ending ? !was_told(ct) : end->code != 0;
    enum start_reason why = end->is_oom && end->code != 0 ? WHY_OOM : WHY_EXIT;
    if (ct->is_ending)
        why = ct->ending_why;
    start_ct_ended(ct, is_bad ? CE_ENDED_BADLY : CE_ENDED_WELL, end->code, why);
    start_settle(start);
}
