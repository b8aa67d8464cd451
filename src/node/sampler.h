// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/start/gate.h"

/* How busy the machine is, from procfs; `root` is "/proc", or a folder of a test. */
void sampler_take(const char *root, time_ms now, struct gate_sample *ret_sample);
/* Cores that are ours: of the affinity mask and the CPU quota of our own control group, or of one
 * above it, the smaller. Never 0. */
double sampler_cores(const char *proc_root, const char *cgroup_root);
