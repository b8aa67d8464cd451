// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "base/vec.h"
#include <stdbool.h>
#include <stdint.h>

/* What can be said about the start of a pod without starting it. `object` is a Pod or a template:
 * something with a spec that has containers. */

/* Does any container say when it is ready, by a probe or on its socket? If none does, all are as
 * soon as they run, and a throttle has nothing to count. */
bool plan_has_signal(yyjson_val *object);

struct plan_item {
    char *name;
    const char *role; /* "init", "sidecar" or "" */
    char *needs;      /* what it waits for, for people: "database, setup completed"; or "" */
    uint32_t step;    /* from 1; those of one step can start together */
};
struct plan {
    VEC(struct plan_item) items; /* in order of steps, then as they are written */
    uint32_t n_steps;
};
/* The object must have been checked. -EINVAL when its containers wait in a circle. */
int plan_make(yyjson_val *object, struct plan *ret_plan, struct err *err);
void plan_done(struct plan *plan);
void plan_text(const struct plan *plan, struct str *out); /* a line a step */
void plan_json(const struct plan *plan, struct str *out); /* [["a","b"],["c"]] */
