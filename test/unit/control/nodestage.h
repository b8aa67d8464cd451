// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/pods/runner.h"
#include "sim/runtime.h"
#include "stage.h"

/* One node called "n" on the simulator, faults off: the runner and virtual containers. */
struct nodestage {
    struct sim_clock clock;
    struct sim_runtime *runtime;
    struct runner *runner;
    const struct controller *controllers[3];
    struct sim *sim;
    bool wants_samples;
    int settings_told;
    int64_t log_bytes;
};

void nodestage_open(struct nodestage *stage, bool notifies);
void nodestage_close(struct nodestage *stage); /* fails the test on any violation */

/* A pod of this node in "default". `more` goes into the metadata, `spec` is what follows nodeName;
 * both with ' for ". */
void nodestage_pod(struct nodestage *stage, const char *name, const char *annotations,
                   const char *spec);
void nodestage_delete(struct nodestage *stage, const char *name, int64_t grace_s);
/* The object; fails when it is not there. */
const struct obj *pod_of(struct nodestage *stage, const char *name);
bool pod_is_gone(struct nodestage *stage, const char *name);
const char *uid_of(struct nodestage *stage, const char *name);
/* Of "status.PATH", and of a container's status (init or not). */
const char *pod_says(struct nodestage *stage, const char *name, const char *path);
yyjson_val *container_of_pod(struct nodestage *stage, const char *name, const char *container);
const char *container_says(struct nodestage *stage, const char *name, const char *container,
                           const char *path);
int64_t container_number(struct nodestage *stage, const char *name, const char *container,
                         const char *path);
bool is_condition(struct nodestage *stage, const char *name, const char *type, const char *status);
/* The status as text: UIDs and fractions of seconds left out, " as '. The caller frees. */
char *status_text(struct nodestage *stage, const char *name);
void run_s(struct nodestage *stage, int seconds);
