// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/runtime.h"
#include "sim/sim.h"

/* The virtual nodes of a rehearsal: each the runner that a real node has, over containers that only
 * pretend, in a world of its own. A node is told what concerns it and nothing else, so that a
 * thousand of them cost a change no more than one. */
struct fleet;

enum node_state {
    NODE_READY,
    NODE_CORDONED,    /* takes no new pods */
    NODE_DRAINED,     /* nor keeps those that it has */
    NODE_UNREACHABLE, /* says and hears nothing; its containers go on */
    NODE_GONE,        /* with all that was on it */
};
bool node_state_of(const char *name, enum node_state *ret_state);

struct fleet *fleet_new(struct sim_clock *clock, uint64_t seed);
void fleet_free(struct fleet *fleet); /* after fleet_close() */
/* One node; what a Scenario or a Node object says of it outlives the fleet. Each may be NULL. */
struct machine {
    yyjson_val *capacity, *labels, *taints;
};
void fleet_add(struct fleet *fleet, const char *name, struct machine machine);
size_t fleet_count(const struct fleet *fleet);
bool fleet_has(const struct fleet *fleet, const char *name);
void fleet_names(const struct fleet *fleet, struct str *out); /* "a, b, c and 7 more" */

/* The control plane is there (again); is about to go. Containers live through both. */
void fleet_open(struct fleet *fleet, struct sim *sim);
void fleet_close(struct fleet *fleet);

void fleet_set_state(struct fleet *fleet, const char *name, enum node_state state);
/* A container of that pod ends by itself; false: it does not run. NULL: the only one that does. */
bool fleet_exit(struct fleet *fleet, const struct obj *pod, const char *container, int code);

/* Nothing will happen on any node unless somebody else does something. */
bool fleet_is_quiet(const struct fleet *fleet);
uint64_t fleet_starts(const struct fleet *fleet);
