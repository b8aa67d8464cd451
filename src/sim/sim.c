// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "sim/sim_internal.h"
#include <assert.h>

#define HEALED_DELAY_MS 5
#define RUN_BUDGET_MAX 8
#define RUN_BUDGET_DIRECT 1000

static time_ms world_now(struct world *world)
{
    return sim_clock_wall(container_of(world, struct sim, world)->clock);
}

static time_ms world_steady(struct world *world)
{
    return container_of(world, struct sim, world)->clock->now;
}

static void world_wake(struct world *world, time_ms at)
{
    struct sim *sim = container_of(world, struct sim, world);
    sim_clock_arm(sim->clock, &sim->wake, at);
}

static void world_submit_direct(struct world *world, struct write *write)
{
    store_submit(container_of(world, struct sim, world)->store, write);
}

static const struct world_ops WORLD_OPS = {
    .now = world_now, .steady = world_steady, .submit = relay_submit_world, .wake = world_wake};
static const struct world_ops WORLD_OPS_DIRECT = {
    .now = world_now, .steady = world_steady, .submit = world_submit_direct, .wake = world_wake};

static void on_wake(void *arg)
{
    struct sim *sim = arg;
    if (sim->options.is_direct) {
        manager_run(sim->manager, RUN_BUDGET_DIRECT);
        return;
    }
    if (rng_chance(&sim->rng, sim->options.faults.restart, 10000)) {
        sim_restart_manager(sim);
        return;
    }
    /* Seldom all at once: what happens between two keys must not matter. */
    manager_run(sim->manager, 1 + rng_below(&sim->rng, RUN_BUDGET_MAX));
}

static void on_flush(void *arg)
{
    struct sim *sim = arg;
    embedded_flush(sim->store);
}

static void on_dirty(void *arg)
{
    struct sim *sim = arg;
    time_ms pause = sim->options.is_direct ? 0 : rng_between(&sim->rng, 0, 1);
    sim_clock_arm(sim->clock, &sim->flush, sim->clock->now + pause);
}

static time_ms store_now(void *arg)
{
    return sim_clock_wall(((struct sim *)arg)->clock);
}

static void on_store_change(void *arg, struct change *change)
{
    struct sim *sim = arg;
    sim_trace(sim->clock, change->obj->meta.name, change->revision * 4 + change->type);
    if (sim->options.on_change != NULL)
        sim->options.on_change(sim->options.arg, change);
}

static void on_copy_change(void *arg, struct change *change)
{
    struct sim *sim = arg;
    if (sim->options.on_seen != NULL)
        sim->options.on_seen(sim->options.arg, change);
}

/* ---- opening and crashing ---- */

static void open_store(struct sim *sim)
{
    struct embedded_options options = {.disk = sim_disk_port(sim->disk),
                                       .window_changes = sim->options.window_changes,
                                       .seed = rng_next(&sim->rng),
                                       .now = store_now,
                                       .on_dirty = on_dirty,
                                       .arg = sim};
    struct err err = {0};
    int r = embedded_open(&options, &sim->store, &err);
    assert(r == 0);
    sim->watch = feed_watch(sim->store->feed, (struct watch_filter){0}, on_store_change, sim);
}

static void open_world_direct(struct sim *sim)
{
    sim->world = (struct world){.ops = &WORLD_OPS_DIRECT,
                                .cache = sim->store->cache,
                                .feed = sim->store->feed,
                                .configuration = sim->options.configuration};
    rng_seed(&sim->world.rng, rng_next(&sim->rng));
    sim->manager = manager_new(&sim->world, sim->options.controllers);
}

static void open_world(struct sim *sim)
{
    struct sim_replica_options options = {.clock = sim->clock,
                                          .rng = &sim->rng,
                                          .store = sim->store,
                                          .window_changes = sim->options.window_changes,
                                          .lag_max_ms = sim->options.faults.lag_ms};
    sim->replica = sim_replica_new(&options);
    sim->world = (struct world){.ops = &WORLD_OPS,
                                .cache = sim_replica_cache(sim->replica),
                                .feed = sim_replica_feed(sim->replica),
                                .configuration = sim->options.configuration};
    sim->seen = feed_watch(sim->world.feed, (struct watch_filter){0}, on_copy_change, sim);
    rng_seed(&sim->world.rng, rng_next(&sim->rng));
    shadow_forget(sim);
    sim->manager = manager_new(&sim->world, sim->shadow_list);
}

static void open_all(struct sim *sim)
{
    open_store(sim);
    embedded_bootstrap(sim->store);
    if (sim->options.is_direct)
        open_world_direct(sim);
    else
        open_world(sim);
}

/* The store lets go of its writes only when the disk answers: it is made to refuse them all, and
 * nobody is alive to hear it. */
static void close_all(struct sim *sim)
{
    sim->is_crashing = true;
    if (sim->options.on_close != NULL)
        sim->options.on_close(sim->options.arg);
    manager_free(take_ptr(sim->manager));
    sim_clock_disarm(sim->clock, &sim->wake);
    sim_clock_disarm(sim->clock, &sim->flush);
    sim_disk_power_off(sim->disk);
    embedded_flush(sim->store);
    relay_drop_all(sim);
    feed_unwatch(take_ptr(sim->seen));
    sim_replica_free(take_ptr(sim->replica));
    feed_unwatch(take_ptr(sim->watch));
    embedded_close(take_ptr(sim->store));
    sim_disk_power_on(sim->disk);
    sim->is_crashing = false;
}

void sim_crash(struct sim *sim)
{
    sim->stats.crashes++;
    sim_trace(sim->clock, "crash", sim->stats.crashes);
    close_all(sim);
    open_all(sim);
    if (sim->options.on_reopen != NULL)
        sim->options.on_reopen(sim->options.arg);
}

void sim_set_wall(struct sim *sim, time_ms shift)
{
    sim->clock->wall_shift = shift;
    sim_trace(sim->clock, "wall", (uint64_t)shift);
}

void sim_restart_manager(struct sim *sim)
{
    sim->stats.restarts++;
    sim_trace(sim->clock, "restart", sim->stats.restarts);
    assert(!sim->options.is_direct);
    manager_free(sim->manager);
    shadow_forget(sim);
    sim->manager = manager_new(&sim->world, sim->shadow_list);
}

static void on_disk_crash(void *arg)
{
    sim_crash(arg);
}

struct sim *sim_new(const struct sim_options *options)
{
    struct sim *sim = mem_zalloc(sizeof(*sim));
    sim->options = *options;
    if (sim->options.window_changes == 0)
        sim->options.window_changes = 64;
    sim_clock_init(&sim->own_clock, options->start);
    sim->clock = options->clock != NULL ? options->clock : &sim->own_clock;
    rng_seed(&sim->rng, options->seed);
    rng_seed(&sim->client_rng, rng_next(&sim->rng));
    LIST_INIT(&sim->relays);
    sim_event_init(&sim->flush, on_flush, sim);
    sim_event_init(&sim->wake, on_wake, sim);
    sim->wake.is_quiet = true; /* what the manager has to do, it can tell itself */
    const struct sim_faults *f = &options->faults;
    struct sim_disk_options disk = {.clock = sim->clock,
                                    .rng = &sim->rng,
                                    .delay_max_ms = f->commit_ms,
                                    .refused = f->commit_refused,
                                    .crash_before = f->crash_before,
                                    .crash_after = f->crash_after,
                                    .on_crash = on_disk_crash,
                                    .arg = sim};
    sim->disk = sim_disk_new(&disk);
    if (!options->is_direct)
        shadow_controllers(sim);
    open_all(sim);
    return sim;
}

void sim_free(struct sim *sim)
{
    if (sim == NULL)
        return;
    close_all(sim);
    sim_disk_free(sim->disk);
    sim_clock_done(&sim->own_clock);
    map_free(sim->in_flight);
    mem_free(sim->violation);
    mem_free(sim);
}

/* ---- running ---- */

bool sim_step(struct sim *sim)
{
    return sim_clock_step(sim->clock);
}

bool sim_run_until(struct sim *sim, time_ms deadline, bool (*is_reached)(void *arg), void *arg)
{
    while (is_reached == NULL || !is_reached(arg)) {
        if (sim_clock_next(sim->clock) > deadline) {
            sim_clock_pass(sim->clock, deadline);
            return false;
        }
        (void)sim_step(sim); /* there is one: its time was just looked at */
    }
    return true;
}

void sim_heal(struct sim *sim)
{
    struct sim_faults *f = &sim->options.faults;
    *f = (struct sim_faults){
        .commit_ms = HEALED_DELAY_MS, .lag_ms = HEALED_DELAY_MS, .submit_ms = HEALED_DELAY_MS};
    sim_disk_heal(sim->disk);
    sim_replica_heal(sim->replica, f->lag_ms);
}

void sim_submit(struct sim *sim, struct write *write)
{
    relay_submit_client(sim, write);
}

/* ---- looking ---- */

time_ms sim_now(const struct sim *sim)
{
    return sim->clock->now;
}

struct rng *sim_rng(struct sim *sim)
{
    return &sim->client_rng;
}

struct store *sim_store(const struct sim *sim)
{
    return sim->store;
}

const struct sim_disk *sim_disk(const struct sim *sim)
{
    return sim->disk;
}

struct world *sim_world(struct sim *sim)
{
    return &sim->world;
}

struct manager *sim_manager(const struct sim *sim)
{
    return sim->manager;
}

struct sim_clock *sim_clock(struct sim *sim)
{
    return sim->clock;
}

uint64_t sim_trace_hash(const struct sim *sim)
{
    return sim->clock->trace;
}

const char *sim_violation(const struct sim *sim)
{
    return sim->violation;
}

struct sim_stats sim_stats(const struct sim *sim)
{
    struct sim_stats stats = sim->stats;
    stats.steps = sim->clock->steps;
    return stats;
}
