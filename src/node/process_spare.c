// SPDX-License-Identifier: Apache-2.0
/* A member of a group that restarts in place is prepared for its next start while it runs: the
 * control group and the log of its next generation are made when nobody has started for a while. At
 * the restart of thousands they would be most of the work. What is not prepared in time, or was
 * lost with an earlier supervisor, is made at the start as for any other container. */
#include "node/process_internal.h"

#define SPARES_A_TURN 16
#define LATEST_MS 20000 /* where somebody always starts */

void punit_ask_spare(struct punit *unit)
{
    struct process_runtime *rt = unit->runtime;
    if (rt->spares.len == 0)
        rt->spares_latest = loop_now(rt->loop) + LATEST_MS;
    vec_push(&rt->spares, mem_strdup(unit->id));
    rt->spares_from = loop_now(rt->loop) + SPARES_QUIET_MS;
    if (!heap_contains(&rt->make_spares.node))
        loop_timer_set(rt->loop, &rt->make_spares, rt->spares_from);
}

static void make_spare(const struct punit *unit)
{
    const struct process_runtime *rt = unit->runtime;
    scoped_free char *leaf = punit_leaf_name(unit->container, unit->generation + 1);
    struct log_name name = punit_log(unit);
    name.generation++;
    logs_prepare(rt->logs, &name);
    if (!unit->has_leaf || cgroup_leaf_make(rt->tree, unit->uid, leaf, &unit->limits, NULL) < 0)
        return; /* a failure is met again, and told, at the start */
    mem_free(unit->pod->spare);
    unit->pod->spare = take_ptr(leaf);
}

void process_make_spares(void *arg)
{
    struct process_runtime *rt = arg;
    time_ms now = loop_now(rt->loop);
    time_ms due = rt->spares_from < rt->spares_latest ? rt->spares_from : rt->spares_latest;
    for (int i = 0; i < SPARES_A_TURN && now >= due && rt->spares.len > 0; i++) {
        scoped_free char *id = vec_pop(&rt->spares);
        const struct punit *unit = map_get(rt->units, id);
        if (unit != NULL && unit->stage == PUNIT_RUNNING)
            make_spare(unit);
    }
    if (rt->spares.len > 0)
        loop_timer_set(rt->loop, &rt->make_spares, now < due ? due : now + 1);
}

void process_spares_done(struct process_runtime *rt)
{
    loop_timer_clear(rt->loop, &rt->make_spares);
    for (size_t i = 0; i < rt->spares.len; i++)
        mem_free(rt->spares.items[i]);
    vec_done(&rt->spares);
}
