// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/start/container.h"
#include "core/start/graph.h"

/* The containers of one pod as somebody who asks "why?" needs them: what was wanted, what is known
 * and who waits for whom, side by side. Points into the pod, which must live longer. */
#define PODVIEW_NONE UINT32_MAX

struct podview_need {
    uint32_t on; /* index in the list */
    enum dep_condition condition;
    bool is_order; /* nobody wrote it down: init containers come first, one after the other */
};
struct podview_one {
    const char *name;
    yyjson_val *spec;
    yyjson_val *status;         /* NULL: nothing is known yet */
    yyjson_val *life;           /* status.lifecycle, or NULL */
    enum container_state state; /* CT_STATE_COUNT: not known */
    bool is_init, is_sidecar;
    VEC(struct podview_need) needs;
};
struct podview {
    yyjson_val *pod;
    VEC(struct podview_one) list; /* init containers first */
};

void podview_open(struct podview *view, yyjson_val *pod);
void podview_close(struct podview *view);

/* "ready", "completed", "started" */
const char *podview_condition(enum dep_condition condition);
/* As good as it can be: ready, or ended well and for good. */
bool podview_is_done(const struct podview_one *one);
/* Will not start again by itself. */
bool podview_is_final(const struct podview_one *one);
/* Of a container that is blocked: the need that is not met, those that never will be first. */
const struct podview_need *podview_unmet(const struct podview *view, uint32_t i);

/* CT_STATE_COUNT: no such state. */
enum container_state podview_state_of(const char *name);
/* The selector of an owner of pods, as the server takes it; empty when it has none. */
void podview_selector(yyjson_val *owner, struct str *out);
