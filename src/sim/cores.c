// SPDX-License-Identifier: Apache-2.0
/* Sharing without touching everybody: all who work are served at the same rate, so one number, the
 * service so far, tells of each when he ends: when it has grown by his work. */
#include "sim/cores.h"
#include "base/mem.h"
#include <math.h>

#define MICRO 1000.0

static double rate(const struct cores *cores)
{
    double n = (double)cores->jobs.len;
    return cores->count <= 0 || n <= cores->count ? 1.0 : cores->count / n;
}

static void advance(struct cores *cores)
{
    double passed = (double)(cores->clock->now - cores->at);
    cores->served += passed * rate(cores) * MICRO;
    cores->busy_ms += passed * rate(cores) * (double)cores->jobs.len;
    cores->at = cores->clock->now;
}

static void arm(struct cores *cores)
{
    const struct heap_node *first = heap_peek(&cores->jobs);
    if (first == NULL) {
        sim_clock_disarm(cores->clock, &cores->next);
        return;
    }
    double left = ((double)first->key - cores->served) / (MICRO * rate(cores));
    sim_clock_arm(cores->clock, &cores->next,
                  cores->clock->now + (left > 0 ? (time_ms)ceil(left) : 0));
}

/* A callback may add and remove. */
static void on_next(void *arg)
{
    struct cores *cores = arg;
    struct heap_node *first;
    advance(cores);
    while ((first = heap_peek(&cores->jobs)) != NULL && (double)first->key <= cores->served + 1) {
        (void)heap_pop(&cores->jobs);
        struct cores_job *job = container_of(first, struct cores_job, node);
        job->done(job->arg);
    }
    arm(cores);
}

void cores_init(struct cores *cores, struct sim_clock *clock, double count)
{
    *cores = (struct cores){.clock = clock, .count = count, .at = clock->now};
    sim_event_init(&cores->next, on_next, cores);
}

void cores_done(struct cores *cores)
{
    sim_clock_disarm(cores->clock, &cores->next);
    heap_done(&cores->jobs);
}

void cores_job_init(struct cores_job *job, void (*done)(void *arg), void *arg)
{
    heap_node_init(&job->node);
    job->done = done;
    job->arg = arg;
}

void cores_add(struct cores *cores, struct cores_job *job, time_ms work_ms)
{
    advance(cores);
    heap_push(&cores->jobs, &job->node, (int64_t)(cores->served + (double)work_ms * MICRO));
    arm(cores);
}

void cores_remove(struct cores *cores, struct cores_job *job)
{
    if (!heap_contains(&job->node))
        return;
    advance(cores);
    heap_remove(&cores->jobs, &job->node);
    arm(cores);
}

double cores_busy_ms(struct cores *cores)
{
    advance(cores);
    return cores->busy_ms;
}
