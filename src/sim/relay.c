// SPDX-License-Identifier: Apache-2.0
/* Writes on their way to the store and answers on their way back. A client's are passed on at
 * once; a controller's go late, and its answers come when the copy it reads from shows the write
 * (world.h promises that), or, when they are refusals, at any time. */
#include "base/mem.h"
#include "sim/sim_internal.h"
#include <assert.h>
#include <stdio.h>

struct relay {
    LIST_ENTRY(relay) siblings;
    struct sim *sim;
    struct sim_event event;
    struct write *write; /* until the store has it */
    write_done_fn *done;
    void *arg;
    char *turn; /* of a controller, or NULL */
    unsigned manager_life;
    bool is_client;
    bool is_answered;
    struct write_result result;
};

static struct relay *relay_new(struct sim *sim, struct write *write)
{
    struct relay *relay = mem_zalloc(sizeof(*relay));
    *relay = (struct relay){.sim = sim, .write = write, .done = write->done, .arg = write->arg};
    /* A write that nobody hears of (an Event) holds no key. */
    relay->turn = write->done != NULL ? mem_strdup(sim->turn) : NULL;
    relay->manager_life = sim->manager_life;
    LIST_INSERT_HEAD(&sim->relays, relay, siblings);
    return relay;
}

static void relay_end(struct relay *relay)
{
    struct sim *sim = relay->sim;
    struct obj *obj = relay->result.obj;
    LIST_REMOVE(relay, siblings);
    sim_clock_disarm(sim->clock, &relay->event);
    if (relay->turn != NULL && relay->manager_life == sim->manager_life)
        shadow_answered(sim, relay->turn);
    if (relay->done != NULL)
        relay->done(relay->arg, &relay->result);
    status_done(&relay->result.status);
    str_done(&relay->result.warnings);
    obj_unref(obj);
    mem_free(relay->turn);
    mem_free(relay);
}

static void on_deliver(void *arg)
{
    relay_end(arg);
}

/* The store keeps what is in `from` only during its call. */
static void keep_result(struct relay *relay, struct write_result *from)
{
    relay->result = *from;
    relay->result.obj = from->obj ? obj_ref(from->obj) : NULL;
    relay->result.status = (struct status){0};
    status_move(&relay->result.status, &from->status);
    relay->result.warnings = (struct str){0};
    str_add(&relay->result.warnings, str_text(&from->warnings));
}

static void on_answer(void *arg, struct write_result *result)
{
    struct relay *relay = arg;
    struct sim *sim = relay->sim;
    keep_result(relay, result);
    relay->is_answered = true;
    if (sim->is_crashing)
        status_set(&relay->result.status, SIM_STATUS_UNKNOWN, "Timeout",
                   "the server went away before it answered");
    if (relay->is_client || sim->is_crashing) {
        relay_end(relay);
        return;
    }
    time_ms at =
        status_ok(&result->status) ? sim_replica_caught_up_at(sim->replica) : sim->clock->now;
    sim_event_init(&relay->event, on_deliver, relay);
    sim_clock_arm(sim->clock, &relay->event,
                  at + rng_between(&sim->rng, 0, sim->options.faults.submit_ms));
}

static void relay_send(struct relay *relay)
{
    struct write *write = take_ptr(relay->write);
    write->done = on_answer;
    write->arg = relay;
    store_submit(relay->sim->store, write);
}

void relay_submit_client(struct sim *sim, struct write *write)
{
    struct relay *relay = relay_new(sim, write);
    heap_node_init(&relay->event.node);
    relay->is_client = true;
    relay_send(relay);
}

/* Somebody else changes the object just before, so that whoever decided by its version is late. */
static void slip_in(struct sim *sim, const struct write *write)
{
    struct write *other = write_new(WRITE_PATCH, write->kind, write->ns, write->name);
    char text[96];
    int len = snprintf(text, sizeof(text),
                       "{\"metadata\":{\"annotations\":{\"muster.dev/poke\":\"%llu\"}}}",
                       (unsigned long long)++sim->stats.conflicts);
    int r = json_parse((struct sv){text, (size_t)len}, &other->patch, NULL);
    assert(r == 0);
    other->patch_type = PATCH_MERGE;
    store_submit(sim->store, other);
}

static void on_due(void *arg)
{
    struct relay *relay = arg;
    struct sim *sim = relay->sim;
    if (relay->write->op != WRITE_CREATE &&
        rng_chance(&sim->rng, sim->options.faults.conflict, 10000))
        slip_in(sim, relay->write);
    relay_send(relay);
}

void relay_submit_world(struct world *world, struct write *write)
{
    struct sim *sim = container_of(world, struct sim, world);
    struct relay *relay = relay_new(sim, write);
    if (relay->turn != NULL)
        shadow_sent(sim, relay->turn);
    sim_event_init(&relay->event, on_due, relay);
    sim_clock_arm(sim->clock, &relay->event,
                  sim->clock->now + rng_between(&sim->rng, 0, sim->options.faults.submit_ms));
}

void relay_drop_all(struct sim *sim)
{
    struct relay *relay;
    assert(sim->is_crashing);
    while ((relay = LIST_FIRST(&sim->relays)) != NULL) {
        assert(relay->write != NULL || relay->is_answered);
        write_free(take_ptr(relay->write));
        if (!relay->is_answered)
            status_set(&relay->result.status, SIM_STATUS_UNKNOWN, "Timeout",
                       "the server went away before it was asked");
        relay_end(relay);
    }
}
