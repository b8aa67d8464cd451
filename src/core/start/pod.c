// SPDX-License-Identifier: Apache-2.0
/* A pod and its containers: how they are made, how one moves, who waits for whom.
 *
 * 1. start_ct_move() is the only writer of a container's state, and keeps every count that hangs on
 *    it.
 * 2. Init containers and sidecars come first and in order: `init_at` is the first that does not let
 *    the next one on. Until a main container has run it goes back when a sidecar dies.
 * 3. A blocked container remembers one need that is unmet; a change of any other one costs it
 *    nothing. So a change costs the number of those that wait for it. */
#include "core/start/start_internal.h"
#include <assert.h>
#include <string.h>

/* ---- making and freeing ---- */

static const struct graph_edge *edges_of(void *arg, uint32_t i, size_t *ret_n)
{
    const struct start_pod_spec *spec = arg;
    *ret_n = spec->containers[i].n_needs;
    return spec->containers[i].needs;
}

/* Init containers first, and each waits for earlier ones at most: else it would wait for ever. */
static bool is_in_order(const struct start_pod_spec *spec)
{
    for (size_t i = 0; i < spec->n_containers; i++) {
        const struct start_container_spec *ct = &spec->containers[i];
        if (ct->role == START_MAIN)
            continue;
        if (i > 0 && spec->containers[i - 1].role == START_MAIN)
            return false;
        for (size_t e = 0; e < ct->n_needs; e++)
            if (ct->needs[e].on >= i)
                return false;
    }
    return true;
}

static const struct start_rule *copy_rules(const struct start_rule *rules, size_t n)
{
    if (n == 0)
        return NULL;
    struct start_rule *copy = mem_zalloc(sizeof(*copy) * n);
    for (size_t i = 0; i < n; i++) {
        copy[i] = rules[i];
        copy[i].codes = mem_dup(rules[i].codes, sizeof(int) * rules[i].n_codes);
    }
    return copy;
}

static void init_timer(struct start_timer *timer, struct start_pod *pod, struct start_ct *ct)
{
    heap_node_init(&timer->node);
    timer->pod = pod;
    timer->ct = ct;
}

static void init_ct(struct start_pod *pod, uint32_t i, const struct start_container_spec *spec)
{
    struct start_ct *ct = &pod->cts[i];
    *ct = (struct start_ct){.pod = pod,
                            .index = i,
                            .spec = *spec,
                            .since = pod->start->now,
                            .again_at = TIME_NEVER,
                            .kill_at = TIME_NEVER,
                            .timeout_at = TIME_NEVER};
    ct->spec.name = mem_strdup(spec->name);
    ct->spec.rules = copy_rules(spec->rules, spec->n_rules);
    ct->spec.needs = NULL;
    init_timer(&ct->timer, pod, ct);
    heap_node_init(&ct->item.node);
    ct->item.pod = &pod->lines[start_takes_slot(ct)];
    for (int kind = 0; kind < PROBE_KINDS; kind++)
        ct->n_probes = spec->probes[kind].is_set ? PROBE_KINDS : ct->n_probes;
    if (ct->n_probes > 0)
        ct->probes = mem_zalloc(sizeof(*ct->probes) * PROBE_KINDS);
    for (int kind = 0; kind < ct->n_probes; kind++)
        ct->probes[kind].probe.due = TIME_NEVER;
    pod->start->stats.states[CT_DOWNLOADING]++;
    start_ct_note_move(ct);
}

/* What waits for an init container is everything behind it. */
static void set_chains(struct start_pod *pod)
{
    uint32_t longest = 0;
    for (uint32_t i = pod->n; i-- > 0;) {
        struct start_ct *ct = &pod->cts[i];
        ct->item.chain = graph_chain(pod->graph, i);
        if (i >= pod->n_init) {
            if (ct->item.chain > longest)
                longest = ct->item.chain;
            continue;
        }
        if (i + 1 < pod->n)
            longest++;
        ct->item.chain = longest;
    }
}

struct start_pod *start_pod_make(struct start *start, const struct start_pod_spec *spec,
                                 time_ms now)
{
    scoped_str problem = {0};
    uint32_t n = (uint32_t)spec->n_containers;
    struct graph *graph = is_in_order(spec) ? graph_new(n, edges_of, (void *)spec, &problem) : NULL;
    if (graph == NULL)
        return NULL;
    struct start_pod *pod = mem_zalloc(sizeof(*pod));
    *pod = (struct start_pod){.start = start,
                              .index = start->pods.len,
                              .uid = mem_strdup(spec->uid),
                              .host = spec->host,
                              .grace_ms = spec->grace_ms,
                              .graph = graph,
                              .n = n,
                              .is_starting = true,
                              .is_member = spec->is_member,
                              .is_held = spec->is_member,
                              .deadline_at = TIME_NEVER,
                              .kill_at = TIME_NEVER,
                              .again_at = TIME_NEVER};
    if (spec->deadline_ms > 0)
        pod->deadline_at = now + spec->deadline_ms;
    pod->lines[0].priority = pod->lines[1].priority = spec->priority;
    init_timer(&pod->timer, pod, NULL);
    pod->cts = mem_zalloc(sizeof(*pod->cts) * n);
    for (uint32_t i = 0; i < n; i++) {
        init_ct(pod, i, &spec->containers[i]);
        pod->n_init += spec->containers[i].role != START_MAIN;
    }
    set_chains(pod);
    vec_push(&start->pods, pod);
    start_pod_touch(pod);
    return pod;
}

void start_pod_free(struct start_pod *pod)
{
    for (uint32_t i = 0; i < pod->n; i++) {
        struct start_container_spec *spec = &pod->cts[i].spec;
        for (size_t r = 0; r < spec->n_rules; r++)
            mem_free((void *)spec->rules[r].codes);
        mem_free((void *)spec->rules);
        mem_free((void *)spec->name);
        mem_free(pod->cts[i].probes);
    }
    graph_free(pod->graph);
    mem_free(pod->cts);
    mem_free(pod->uid);
    mem_free(pod);
}

/* ---- one container moves ---- */

void start_pod_touch(struct start_pod *pod)
{
    pod->is_changed = true;
    if (pod->is_dirty)
        return;
    pod->is_dirty = true;
    vec_push(&pod->start->dirty, pod);
}

void start_ct_touch(struct start_ct *ct)
{
    start_pod_touch(ct->pod);
    if (ct->is_touched)
        return;
    ct->is_touched = true;
    vec_push(&ct->pod->start->touched, ct);
}

void start_ct_note_move(struct start_ct *ct)
{
    if (ct->n_moves == START_MOVES_KEPT) {
        ct->n_moves--;
        memmove(&ct->moves[0], &ct->moves[1], sizeof(ct->moves[0]) * ct->n_moves);
    }
    ct->moves[ct->n_moves++] = (struct start_move){ct->state, ct->since};
}

static void leave(struct start_ct *ct)
{
    struct start *start = ct->pod->start;
    bool takes_slot = start_takes_slot(ct);
    start->stats.states[ct->state]--;
    ct->pod->n_alive -= container_has_process(ct->state);
    if (ct->state == CT_PENDING)
        line_remove(start->lines[takes_slot], &ct->item);
    if (ct->state == CT_STARTING && takes_slot) {
        gate_ended(start->gate);
        start->wants_admission = true;
    }
}

static void enter(struct start_ct *ct)
{
    struct start *start = ct->pod->start;
    start->stats.states[ct->state]++;
    start->stats.moves[ct->state]++;
    ct->pod->n_alive += container_has_process(ct->state);
    if (ct->state == CT_PENDING) {
        line_push(start->lines[start_takes_slot(ct)], &ct->item);
        start->wants_admission = true;
    }
    gate_waiting(start->gate, line_count(start->lines[true]) > 0, start->now);
}

void start_ct_move(struct start_ct *ct, enum container_event event)
{
    struct container_move move = container_move(ct->state, event);
    assert(move.is_legal);
    enum container_state from = ct->state;
    leave(ct);
    ct->state = move.next;
    ct->since = ct->pod->start->now;
    enter(ct);
    start_ct_note_move(ct);
    start_ct_touch(ct);
    struct start_effect *effect = start_effect(ct, FX_MOVED);
    effect->from = from;
    effect->to = move.next;
}

void start_ct_begin(struct start_ct *ct)
{
    assert(ct->state == CT_DOWNLOADING);
    start_ct_touch(ct);
    if (ct->spec.has_image && !ct->is_prepared) {
        (void)start_effect(ct, FX_PREPARE);
        return;
    }
    start_ct_move(ct, CE_PREPARED);
    start_ct_try(ct);
}

void start_ct_set_final(struct start_ct *ct, bool is_final)
{
    if (ct->is_final == is_final)
        return;
    ct->is_final = is_final;
    if (ct->spec.role == START_MAIN)
        ct->pod->n_mains_final += is_final ? 1 : (uint32_t)-1;
    start_ct_touch(ct);
    start_ct_update_ready(ct);
}

/* ---- who waits for whom ---- */

bool start_ct_is_completed(const struct start_ct *ct)
{
    return ct->state == CT_EXITED && ct->has_exited && ct->exit_code == 0;
}

bool start_ct_meets(const struct start_ct *ct, enum dep_condition condition)
{
    switch (condition) {
    case DEP_READY:
        return ct->is_ready;
    case DEP_COMPLETED:
        return start_ct_is_completed(ct);
    case DEP_STARTED: /* one that has done its work for good was started */
        return ct->is_running || (ct->is_final && start_ct_is_completed(ct));
    }
    return false;
}

/* Init order: the next one may come. */
static bool lets_on(const struct start_ct *ct)
{
    if (ct->spec.role == START_INIT)
        return ct->is_final && start_ct_is_completed(ct);
    if (ct->spec.probes[PROBE_STARTUP].is_set)
        return ct->state == CT_READY && !ct->is_ending;
    return ct->is_running && !ct->is_ending;
}

static bool are_needs_met(struct start_ct *ct)
{
    size_t n;
    const struct graph_edge *needs = graph_needs(ct->pod->graph, ct->index, &n);
    for (size_t k = 0; k < n; k++) {
        size_t e = (ct->watched + k) % n;
        if (start_ct_meets(&ct->pod->cts[needs[e].on], needs[e].condition))
            continue;
        ct->watched = (uint32_t)e;
        return false;
    }
    return true;
}

bool start_ct_may_start(struct start_ct *ct)
{
    struct start_pod *pod = ct->pod;
    uint32_t turn = ct->spec.role == START_MAIN ? pod->n_init : ct->index;
    return pod->want == WANT_RUN && !pod->is_restarting && !pod->is_held && pod->init_at >= turn &&
           are_needs_met(ct);
}

void start_ct_try(struct start_ct *ct)
{
    if (ct->state == CT_BLOCKED && start_ct_may_start(ct))
        start_ct_move(ct, CE_UNBLOCKED);
}

static void try_mains(struct start_pod *pod)
{
    for (uint32_t i = pod->n_init; i < pod->n; i++)
        start_ct_try(&pod->cts[i]);
}

static void move_init_on(struct start_ct *ct)
{
    struct start_pod *pod = ct->pod;
    uint32_t before = pod->init_at;
    if (!pod->has_main_run && ct->index < pod->init_at && !lets_on(ct))
        pod->init_at = ct->index;
    while (pod->init_at < pod->n_init && lets_on(&pod->cts[pod->init_at]))
        pod->init_at++;
    if (pod->init_at <= before)
        return;
    if (pod->init_at == pod->n_init)
        try_mains(pod);
    else
        start_ct_try(&pod->cts[pod->init_at]);
}

void start_pod_review(struct start_pod *pod)
{
    while (pod->init_at < pod->n_init && lets_on(&pod->cts[pod->init_at]))
        pod->init_at++;
    for (uint32_t i = 0; i < pod->n; i++)
        start_ct_try(&pod->cts[i]);
}

void start_ct_spread(struct start_ct *ct)
{
    size_t n;
    const uint32_t *dependents = graph_dependents(ct->pod->graph, ct->index, &n);
    for (size_t i = 0; i < n; i++)
        start_ct_try(&ct->pod->cts[dependents[i]]);
    if (ct->spec.role != START_MAIN)
        move_init_on(ct);
}

/* ---- conclusions for the pod ---- */

/* Blocked by what has failed for good, or by another main container that is itself blocked. */
static bool is_stuck(const struct start_ct *ct)
{
    size_t n;
    const struct graph_edge *needs = graph_needs(ct->pod->graph, ct->index, &n);
    for (size_t i = 0; ct->state == CT_BLOCKED && i < n; i++) {
        const struct start_ct *on = &ct->pod->cts[needs[i].on];
        bool waits_too = on->spec.role == START_MAIN && on->state == CT_BLOCKED;
        if (!start_ct_meets(on, needs[i].condition) && (on->is_final || waits_too))
            return true;
    }
    return false;
}

/* No main container runs or will: what is not over waits, directly or through others that wait (the
 * graph has no circle), for one that failed for good. */
static bool is_hopeless(const struct start_pod *pod)
{
    for (uint32_t i = pod->n_init; i < pod->n && pod->n_mains_final > 0; i++) {
        if (!pod->cts[i].is_final && !is_stuck(&pod->cts[i]))
            return false;
    }
    return pod->n_mains_final > 0;
}

static bool has_come_to_its_end(const struct start_pod *pod)
{
    uint32_t n_mains = pod->n - pod->n_init;
    if (n_mains == 0 && pod->init_at < pod->n_init)
        return false;
    return pod->has_init_failed || pod->n_mains_final == n_mains || is_hopeless(pod);
}

static void settle_weight(struct start_pod *pod)
{
    if (!pod->is_starting || pod->is_restarting || pod->n_done < pod->n || pod->n_alive == 0)
        return;
    pod->is_starting = false;
    start_pod_effect(pod, FX_WEIGHT);
}

static time_ms pod_deadline(const struct start_pod *pod)
{
    if (pod->is_over)
        return TIME_NEVER;
    if (pod->want != WANT_RUN)
        return pod->kill_at;
    bool is_waiting = pod->is_restarting && pod->n_alive == 0;
    return is_waiting && pod->again_at < pod->deadline_at ? pod->again_at : pod->deadline_at;
}

void start_pod_settle(struct start_pod *pod)
{
    if (pod->want == WANT_RUN && pod->is_restarting)
        start_pod_go_on_restarting(pod);
    if (pod->want == WANT_RUN && !pod->is_restarting && has_come_to_its_end(pod))
        start_pod_end(pod, WANT_FINISH, pod->grace_ms);
    settle_weight(pod);
    bool is_last = pod->want != WANT_RUN && pod->n_alive == 0 && !pod->is_over;
    if (is_last)
        pod->is_over = true;
    start_arm(pod->start, &pod->timer, pod_deadline(pod));
    if (pod->is_changed && !pod->is_change_queued) {
        pod->is_change_queued = true;
        start_pod_effect(pod, FX_CHANGED);
    }
    pod->is_changed = false;
    if (is_last)
        start_pod_effect(pod, FX_POD_OVER);
}

void start_pod_on_timer(struct start_pod *pod)
{
    time_ms now = pod->start->now;
    start_pod_touch(pod); /* which also goes on with a restart that had to wait */
    if (pod->want == WANT_RUN && pod->deadline_at <= now) {
        pod->has_missed_deadline = true;
        start_pod_end(pod, WANT_FINISH, pod->grace_ms);
    } else if (pod->want != WANT_RUN && pod->kill_at <= now) {
        start_pod_kill_rest(pod);
    }
}
