// SPDX-License-Identifier: Apache-2.0
#include "sim/clock.h"
#include "base/mem.h"
#include <assert.h>

#define FNV_START 14695981039346656037u
#define FNV_PRIME 1099511628211u

void sim_clock_init(struct sim_clock *clock, time_ms start)
{
    *clock = (struct sim_clock){.now = start, .trace = FNV_START};
}

void sim_clock_done(struct sim_clock *clock)
{
    heap_done(&clock->due);
}

void sim_event_init(struct sim_event *event, void (*fire)(void *arg), void *arg)
{
    heap_node_init(&event->node);
    event->is_quiet = false;
    event->fire = fire;
    event->arg = arg;
}

void sim_clock_arm(struct sim_clock *clock, struct sim_event *event, time_ms at)
{
    sim_clock_disarm(clock, event);
    if (at == TIME_NEVER)
        return;
    heap_push(&clock->due, &event->node, at > clock->now ? at : clock->now);
    clock->loud += !event->is_quiet;
}

void sim_clock_disarm(struct sim_clock *clock, struct sim_event *event)
{
    if (!heap_contains(&event->node))
        return;
    heap_remove(&clock->due, &event->node);
    clock->loud -= !event->is_quiet;
}

time_ms sim_clock_next(const struct sim_clock *clock)
{
    const struct heap_node *node = heap_peek(&clock->due);
    return node ? node->key : TIME_NEVER;
}

bool sim_clock_step(struct sim_clock *clock)
{
    struct heap_node *node = heap_pop(&clock->due);
    if (node == NULL)
        return false;
    struct sim_event *event = container_of(node, struct sim_event, node);
    assert(node->key >= clock->now);
    clock->now = node->key;
    clock->steps++;
    clock->loud -= !event->is_quiet;
    event->fire(event->arg);
    return true;
}

void sim_clock_pass(struct sim_clock *clock, time_ms to)
{
    assert(to >= clock->now && to <= sim_clock_next(clock));
    clock->now = to;
}

time_ms sim_clock_wall(const struct sim_clock *clock)
{
    return clock->now + clock->wall_shift;
}

void sim_trace(struct sim_clock *clock, const char *what, uint64_t number)
{
    uint64_t hash = clock->trace;
    for (; *what != '\0'; what++)
        hash = (hash ^ (unsigned char)*what) * FNV_PRIME;
    hash = (hash ^ number) * FNV_PRIME;
    clock->trace = (hash ^ (uint64_t)clock->now) * FNV_PRIME;
}
