// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/manager.h"
#include "control/pods/runtime.h"

/* Runs the pods that are bound to one node: objects in, status out; the engine of core/start
 * decides, a runtime acts. It is a controller like any other, so the simulator runs it too, with a
 * runtime of its own.
 *
 *   Pod object ──> runner ──> start engine ──> effects ──> runtime
 *   Pod status <── runner <── start engine <── what happened ──┘ */
struct runner;
struct runner_options {
    const char *node; /* its name */
    struct runtime *runtime;
    struct launch_node launch;
    double cores;
    int64_t memory_bytes;
    int64_t pods_max;
    /* "name=quantity" of what else the node has, NULL-terminated, or NULL. */
    const char *const *resources;
    const char *const *labels; /* "key=value" of the Node object, NULL-terminated, or NULL */
    yyjson_val *taints;        /* of the Node object when it is made; or NULL */
    const char *os_image, *kernel, *architecture;
    /* How long others may take it for alive without a word; it renews four times in that. 0: as
     * usual. */
    int64_t lease_s;
    /* Its runtime only pretends: no pod asks too much of it, and nothing is too slow to start
     * unless a NodeConfig or the pod says so. */
    bool is_virtual;
    const char *warning; /* e.g. no control groups: shown on the Node; or NULL */
    /* Told when whether samples are wanted may have changed; may be NULL. */
    void (*on_samples)(void *arg, bool wanted);
    void (*on_settings)(void *arg, int64_t log_bytes, int log_files);
    void (*on_registered)(void *arg); /* once: the Node object is there and ready; may be NULL */
    /* Until then, each time that the store does not take the Node object; may be NULL. */
    void (*on_refused)(void *arg, const struct status *why);
    void *arg;
};
struct runner *runner_new(const struct runner_options *options);
void runner_free(struct runner *runner); /* after its manager */
const struct controller *runner_controller(const struct runner *runner);

void runner_sample(struct runner *runner, const struct gate_sample *sample);
/* Ends all pods in reverse order of their dependencies. Their objects are left alone: the next
 * start of the node runs them again where their restart policy says so. A second call kills. */
void runner_shutdown(struct runner *runner, void (*done)(void *arg), void *arg);
/* Pods with something left to run or to tidy up; for tests. */
size_t runner_pods(const struct runner *runner);
/* Nothing is due but questions to containers that are ready: while these answer as before, nothing
 * will change. */
bool runner_is_steady(const struct runner *runner);
void runner_metrics(const struct runner *runner, struct str *out);
