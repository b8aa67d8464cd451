// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"
#include <stdbool.h>

/* What files of the kernel say about how busy the machine is. All return false, and leave their
 * results alone, when the text is not what it should be. */

/* stat: time of all cores, in ticks. Waiting for a disk is idle: another could run. Time that the
 * hypervisor took is busy: it is not to be had. Time of guests is in that of their users already.
 */
bool procfs_cpu(struct sv stat, double *ret_busy, double *ret_total);
/* pressure/NAME: how long somebody waited so far, the line "some". */
bool procfs_stall_ms(struct sv pressure, double *ret_ms);
/* diskstats: how long each disk was at work so far, summed up; partitions and devices that stand on
 * others are left out, as their work is counted there. */
bool procfs_disk_ms(struct sv diskstats, double *ret_ms);
bool procfs_load1(struct sv loadavg, double *ret_load);
/* self/cgroup: the path of the group that has the CPU controller, and the names of controllers as
 * they stand there ("" for version 2). */
struct procfs_group {
    struct sv controllers, path;
};
bool procfs_cpu_group(struct sv cgroup, bool is_v2, struct procfs_group *ret_group);
/* cpu.max: "200000 100000" is two cores; false also when there is no limit. */
bool procfs_quota(struct sv cpu_max, double *ret_cores);
