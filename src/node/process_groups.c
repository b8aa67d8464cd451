// SPDX-License-Identifier: Apache-2.0
/* The control groups of pods that are gone. The kernel refuses to remove a group for some moments
 * after it has said that nobody is in it, so what is refused is tried again until it is done. */
#include "node/process_internal.h"

#define PAUSE_FIRST_MS 20
#define PAUSE_MAX_MS 5000

static void plan(struct process_runtime *rt)
{
    if (rt->clinging.len == 0 || heap_contains(&rt->remove_groups.node))
        return;
    loop_timer_set(rt->loop, &rt->remove_groups, loop_now(rt->loop) + rt->clinging_pause_ms);
    time_ms next = rt->clinging_pause_ms * 2;
    rt->clinging_pause_ms = next < PAUSE_MAX_MS ? next : PAUSE_MAX_MS;
}

void process_remove_group(struct process_runtime *rt, const char *uid)
{
    if (cgroup_pod_remove(rt->tree, uid))
        return;
    vec_push(&rt->clinging, mem_strdup(uid));
    rt->clinging_pause_ms = PAUSE_FIRST_MS;
    plan(rt);
}

/* A pod that is back (it was adopted) needs its group again, and takes it along when it goes. */
static bool is_settled(struct process_runtime *rt, const char *uid)
{
    return map_get(rt->pods, uid) != NULL || cgroup_pod_remove(rt->tree, uid);
}

static void remove_again(void *arg)
{
    struct process_runtime *rt = arg;
    for (size_t i = rt->clinging.len; i-- > 0;) {
        if (!is_settled(rt, rt->clinging.items[i]))
            continue;
        mem_free(rt->clinging.items[i]);
        vec_remove_swap(&rt->clinging, i);
    }
    plan(rt);
}

void process_groups_init(struct process_runtime *rt)
{
    loop_timer_init(&rt->remove_groups, remove_again, rt);
}

void process_groups_done(struct process_runtime *rt)
{
    loop_timer_clear(rt->loop, &rt->remove_groups);
    for (size_t i = 0; i < rt->clinging.len; i++)
        mem_free(rt->clinging.items[i]); /* the next supervisor finds them */
    vec_done(&rt->clinging);
}
