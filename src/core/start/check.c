// SPDX-License-Identifier: Apache-2.0
/* Everything that is counted along the way is counted again from nothing here, and what must never
 * be is looked for. A table of sentences, so that a failure reads as what it means. */
#include "core/start/start_internal.h"
#include <assert.h>

struct rule {
    const char *text;
    bool is_held;
};

static const char *first_broken(const struct rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!rules[i].is_held)
            return rules[i].text;
    return NULL;
}

static bool is_asked(const struct start_ct *ct)
{
    bool is_any = false;
    for (int kind = 0; kind < ct->n_probes; kind++) {
        const struct probe *probe = &ct->probes[kind].probe;
        is_any = is_any || probe->is_running || probe_due(probe) != TIME_NEVER;
    }
    return is_any;
}

static bool is_timer_right(const struct start_timer *timer, time_ms at)
{
    return heap_contains(&timer->node) ? timer->node.key <= at : at == TIME_NEVER;
}

static const char *check_ct(struct start_ct *ct)
{
    bool is_alive = container_has_process(ct->state), is_over = container_is_over(ct->state);
    bool has_again = ct->again_at != TIME_NEVER;
    bool is_run = ct->pod->want == WANT_RUN && !ct->pod->is_restarting;
    const struct rule rules[] = {
        {"a container is in the line exactly while it is pending",
         ct->item.is_queued == (ct->state == CT_PENDING)},
        {"only a process runs", !ct->is_running || is_alive},
        {"a start is under way until it runs or has ended",
         !ct->is_under_way || (ct->state == CT_STARTING && !ct->is_running)},
        {"only a process is told to end", !ct->is_ending || is_alive},
        {"only a ready container is ready now", !ct->is_ready || ct->state == CT_READY},
        {"one that is told to end is not ready", !(ct->is_ready && ct->is_ending)},
        {"only one that runs and stays is probed",
         !is_asked(ct) || (ct->is_running && !ct->is_ending)},
        {"only a starting one can be late",
         ct->timeout_at == TIME_NEVER || ct->state == CT_STARTING},
        {"only one that is told to end is killed", ct->kill_at == TIME_NEVER || ct->is_ending},
        {"only what is over comes again or is final", is_over || !(has_again || ct->is_final)},
        {"what is final does not come again", !(has_again && ct->is_final)},
        {"what is over comes again or is final", !is_over || !is_run || has_again || ct->is_final},
        {"nothing waits in a pod that ends", ct->pod->want == WANT_RUN || is_alive || is_over},
        {"what is over in a pod that ends is final",
         ct->pod->want == WANT_RUN || !is_over || ct->is_final},
        {"a blocked container has a reason", ct->state != CT_BLOCKED || !start_ct_may_start(ct)},
        {"a process has a generation", !is_alive || ct->generation > 0},
        {"no more restarts than generations", ct->restarts <= ct->generation},
        {"a container's timer is not late", is_timer_right(&ct->timer, start_ct_deadline(ct))},
        {"nothing is left to settle for a container", !ct->is_touched},
    };
    return first_broken(rules, ARRAY_LEN(rules));
}

static const char *check_pod(const struct start_pod *pod)
{
    uint32_t n_alive = 0, n_done = 0, n_mains_final = 0;
    for (uint32_t i = 0; i < pod->n; i++) {
        struct start_ct *ct = &pod->cts[i];
        const char *problem = check_ct(ct);
        if (problem)
            return problem;
        n_alive += container_has_process(ct->state);
        n_done += ct->is_done;
        n_mains_final += ct->is_final && ct->spec.role == START_MAIN;
    }
    bool does_end = pod->want != WANT_RUN;
    const struct rule rules[] = {
        {"processes of a pod are counted", n_alive == pod->n_alive},
        {"containers that are done are counted", n_done == pod->n_done},
        {"main containers that are over are counted", n_mains_final == pod->n_mains_final},
        {"a pod is over exactly when it ends and no process is left",
         pod->is_over == (does_end && n_alive == 0)},
        {"a pod that ends does not restart", !(does_end && pod->is_restarting)},
        {"only a member is held", !pod->is_held || pod->is_member},
        {"a member that is held runs nothing but what ends",
         !pod->is_held || pod->n_alive == 0 || pod->is_restarting || does_end},
        {"init containers stay in bounds", pod->init_at <= pod->n_init},
        {"a main container ran only behind the init containers",
         !pod->has_main_run || pod->init_at == pod->n_init},
        {"a pod that runs on has something to wait for", does_end || pod->is_restarting ||
                                                             pod->n == pod->n_init ||
                                                             n_mains_final < pod->n - pod->n_init},
        {"nothing is left to settle for a pod", !pod->is_dirty && !pod->is_changed},
    };
    return first_broken(rules, ARRAY_LEN(rules));
}

const char *start_check(const struct start *start)
{
    size_t states[CT_STATE_COUNT] = {0}, slots = 0, n_under_way = 0, n_effects = 0;
    for (size_t p = 0; p < start->pods.len; p++) {
        struct start_pod *pod = start->pods.items[p];
        const char *problem = pod->index == p ? check_pod(pod) : "a pod knows its place";
        if (problem)
            return problem;
        for (uint32_t i = 0; i < pod->n; i++) {
            states[pod->cts[i].state]++;
            slots += pod->cts[i].state == CT_STARTING && start_takes_slot(&pod->cts[i]);
            n_under_way += pod->cts[i].is_under_way;
        }
        n_effects += pod->n_effects;
    }
    for (int s = 0; s < CT_STATE_COUNT; s++)
        if (states[s] != start->stats.states[s])
            return "containers of each state are counted";
    size_t n_pending = line_count(start->lines[0]) + line_count(start->lines[1]);
    const struct rule rules[] = {
        {"slots are counted", slots == gate_starting(start->gate)},
        {"starts under way are counted", n_under_way == start->n_under_way},
        {"all that wait are in line", n_pending == states[CT_PENDING]},
        {"effects belong to pods", n_effects <= start->effects.len - start->first_effect},
    };
    return first_broken(rules, ARRAY_LEN(rules));
}
