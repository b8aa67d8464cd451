// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "base/vec.h"

/* One pod that `run` follows, and its containers, as the last version of the object has them. */

enum run_state {              /* of a unit, a container */
                 RUN_WAITING, /* its pod is not there or has no node yet */
                 RUN_BLOCKED,
                 RUN_PENDING,
                 RUN_STARTING,
                 RUN_READY,
                 RUN_DONE, /* ended well */
                 RUN_FAILED,
                 RUN_STATE_COUNT
};

struct run_unit {
    char *name;
    enum run_state state;
    bool is_for_start; /* others wait for its end: it is none of those that get ready */
    bool runs;         /* there is a process */
    char *life; /* which start of the container it is: its containerID; NULL before the first */
    char *why;  /* it waits, or failed; NULL: not told */
    int64_t restarts;
};

struct run_pod {
    char *ns, *name, *uid;
    bool succeeded, failed;
    int64_t revision; /* the newest one that was told of */
    char *why;        /* it failed; or waits for a node */
    VEC(struct run_unit) units;
};

/* A container has begun a life; its log is worth reading from now on. May be NULL. */
struct run_lives {
    void (*on_life)(void *arg, const struct run_pod *pod, const struct run_unit *unit);
    void *arg;
};

struct run_pod *run_pod_new(yyjson_val *object);
void run_pod_free(struct run_pod *pod);
void run_pod_update(struct run_pod *pod, yyjson_val *object, const struct run_lives *lives);
int64_t run_pod_restarts(const struct run_pod *pod);
/* How many containers of such a pod get ready. */
size_t run_units_in(yyjson_val *pod_spec);

/* What objects say. */
void run_set_text(char **text, const char *with);
const char *run_text_of(yyjson_val *val); /* a condition's message, its reason when it has none */
int64_t run_revision_of(yyjson_val *object);
