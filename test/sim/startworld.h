// SPDX-License-Identifier: Apache-2.0
#pragma once
/* A world for the start engine to act on: processes that start slowly, crash, hang, ignore signals
 * and lie to probes, on a virtual clock. It believes nothing the engine says: what runs, what is
 * ready and who holds a slot it knows by itself, and compares after every step. */
#include "base/heap.h"
#include "base/rng.h"
#include "base/vec.h"
#include "core/start/start.h"

#define SW_CONTAINERS 7
#define SW_SLACK_MS 400 /* from a kill to its reaping, and a spawn on its way before */

enum sw_event_type { SW_SPAWNED, SW_EXIT, SW_ANSWER, SW_NOTIFY, SW_PREPARED, SW_RELEASE };

struct sw_event {
    struct heap_node node;
    enum sw_event_type type;
    struct sw_pod *pod;
    uint32_t ct, generation;
    int code;
    uint64_t ticket, engine; /* asked by the how manieth supervisor: another one hears nothing */
    enum start_probe_kind probe;
};

struct sw_ct {
    struct start_container_spec spec;
    struct graph_edge needs[SW_CONTAINERS];
    struct start_rule rules[2];
    int codes[2];
    bool is_job; /* ends by itself, with 0 unless something goes wrong */

    bool is_asked, is_alive; /* a spawn is on its way; there is a process */
    bool is_told, is_killed, is_deaf;
    bool was_ready, is_ready; /* once; now */
    int fails;
    uint32_t generation;
    time_ms started_at, ok_at, ended_at;
    bool has_exited, is_exit_seen;
    int exit_code;
    struct start_view view; /* as a host would have kept it */
    enum container_state state;
};

struct sw_pod {
    struct start_pod *pod; /* NULL: not added, or removed */
    char uid[24];
    struct start_pod_spec spec;
    struct start_container_spec specs[SW_CONTAINERS];
    struct sw_ct cts[SW_CONTAINERS];
    uint32_t n;
    bool has_main_run; /* at least since the last restart of all */
    bool is_stopped, is_over;
    bool is_released; /* a member: its group lets it run */
    time_ms over_by, added_at;
};

struct world {
    uint64_t seed, trace, steps, starts, adoptions, over_cap;
    struct rng rng;
    time_ms now, next_sample, away_ms;
    struct start *start; /* NULL: the supervisor is away */
    struct start_settings settings;
    bool is_healed;
    uint64_t forced_before; /* of engines before this one */
    time_ms last_start;     /* of the same settings and engine; negative: none */
    double cpu_busy, cpu_total;
    struct heap events;
    VEC(struct sw_pod *) pods;
    char failure[256], text[200];
};

void world_open(struct world *world, uint64_t seed);
void world_close(struct world *world);
/* One thing happens: the next of the world or a timer of the engine, not later than `until`. */
bool world_step(struct world *world, time_ms until);
void world_pass(struct world *world, time_ms ms);
void world_fail(struct world *world, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool world_is_ok(const struct world *world);

/* startworld_act.c: what a user, a bad day or an administrator does */
void world_act(struct world *world);
void world_settings(struct world *world);
void world_stop(struct world *world, struct sw_pod *pod, time_ms grace_ms);
void world_heal(struct world *world);

/* startworld.c, for the others */
void world_drain(struct world *world);
void world_forget(struct world *world, struct sw_pod *pod);
struct sw_event *world_later(struct world *world, struct sw_pod *pod, uint32_t ct, time_ms ms);
void world_end(struct world *world, struct sw_pod *pod, uint32_t ct, int code);
void world_release_later(struct world *world, struct sw_pod *pod);

/* startworld_check.c */
bool sw_takes_slot(const struct sw_ct *ct);
void world_check_start(struct world *world, struct sw_pod *pod, uint32_t ct);
void world_check_term(struct world *world, struct sw_pod *pod, const struct start_effect *effect);
void world_check(struct world *world);
const char *world_unsettled(struct world *world); /* NULL: all that can be ready is */
