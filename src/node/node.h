// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/pods/runtime.h"
#include "node/logs.h"
#include "node/usage.h"
#include "os/loop.h"

/* The runtime `process`: containers are processes of this machine, in control groups of their own
 * where we may make them. */
struct process_runtime;
struct process_options {
    struct loop *loop;
    const char *data;        /* directory of this node: pods/, logs/, spawner.sock */
    const char *cgroup_root; /* "/sys/fs/cgroup"; NULL: none */
    const char *node;
    bool is_share;             /* of a machine that has several nodes */
    const char *const *helper; /* program and first word of the spawner helper; a socket follows */
    int64_t nofile_soft;       /* what pods get; the supervisor raised its own */
};
int process_runtime_open(const struct process_options *options, struct process_runtime **ret,
                         struct err *err);
/* `quit`: no pod is left, the helper ends too. Else everything goes on without us. */
void process_runtime_close(struct process_runtime *runtime, bool quit);
struct runtime *process_runtime_port(struct process_runtime *runtime);
struct logs *process_runtime_logs(struct process_runtime *runtime);
struct usage *process_runtime_usage(struct process_runtime *runtime);
/* NULL, or why there are no control groups: shown once, and as a condition of the node. */
const char *process_runtime_warning(const struct process_runtime *runtime);
