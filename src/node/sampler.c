// SPDX-License-Identifier: Apache-2.0
#include "node/sampler.h"
#include "node/procfs.h"
#include "os/fd.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (4 << 20) /* stat has a line for each core and a word for each interrupt */
#define CORES_MIN 0.01
#define CPUS_MAX (1 << 16)

static struct sv read_text(const char *root, const char *name, struct str *buffer)
{
    char path[512];
    str_clear(buffer);
    int n = snprintf(path, sizeof(path), "%s/%s", root, name);
    if (n < 0 || (size_t)n >= sizeof(path) || file_read(path, FILE_MAX, buffer, NULL) < 0)
        return (struct sv){0};
    return (struct sv){str_text(buffer), buffer->len};
}

/* PSI may be switched off; then the file is not there, or reading it fails. */
static double io_stall_ms(const char *root, struct str *buffer)
{
    double ms = -1;
    if (!procfs_stall_ms(read_text(root, "pressure/io", buffer), &ms))
        (void)procfs_disk_ms(read_text(root, "diskstats", buffer), &ms); /* else stays unknown */
    return ms;
}

void sampler_take(const char *root, time_ms now, struct gate_sample *ret_sample)
{
    scoped_str buffer = {0};
    struct gate_sample sample = {.at = now,
                                 .cpu_busy = -1,
                                 .cpu_total = -1,
                                 .io_stall_ms = -1,
                                 .pressure_stall_ms = -1,
                                 .load1 = -1};
    /* What cannot be read stays unknown, and what is unknown blocks nothing. */
    (void)procfs_cpu(read_text(root, "stat", &buffer), &sample.cpu_busy, &sample.cpu_total);
    (void)procfs_stall_ms(read_text(root, "pressure/cpu", &buffer), &sample.pressure_stall_ms);
    (void)procfs_load1(read_text(root, "loadavg", &buffer), &sample.load1);
    sample.io_stall_ms = io_stall_ms(root, &buffer);
    *ret_sample = sample;
}

/* ---- cores ---- */

/* The kernel refuses masks that are smaller than its own, so it is asked with larger ones. */
static double affinity_cores(void)
{
    for (int cpus = 1024; cpus <= CPUS_MAX; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (!set)
            break;
        size_t size = CPU_ALLOC_SIZE((size_t)cpus);
        int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return count;
        if (errno != EINVAL)
            break;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (double)online : 1;
}

static bool quota_v2(const char *dir, struct str *buffer, double *ret)
{
    return procfs_quota(read_text(dir, "cpu.max", buffer), ret);
}

static bool quota_v1(const char *dir, struct str *buffer, double *ret)
{
    scoped_str both = {0};
    struct sv quota = sv_trim(read_text(dir, "cpu.cfs_quota_us", buffer));
    str_addn(&both, quota.ptr, quota.len);
    struct sv period = sv_trim(read_text(dir, "cpu.cfs_period_us", buffer));
    str_addc(&both, ' ');
    str_addn(&both, period.ptr, period.len);
    return procfs_quota((struct sv){both.data, both.len}, ret);
}

/* The smallest quota of the group and those above it. Groups that are not there are passed over: a
 * container sees its own group as the root, yet may be told the path that its host knows. */
static double smallest_quota(const char *mount, struct sv group, double cores,
                             bool (*quota)(const char *, struct str *, double *))
{
    scoped_str dir = {0}, buffer = {0};
    str_add(&dir, mount);
    size_t root = dir.len;
    if (memmem(group.ptr, group.len, "/..", 3) == NULL) /* it is outside of what we see */
        str_addn(&dir, group.ptr, group.len);
    for (;;) {
        while (dir.len > root && dir.data[dir.len - 1] == '/')
            dir.data[--dir.len] = '\0';
        double limit = 0;
        if (quota(str_text(&dir), &buffer, &limit) && limit < cores)
            cores = limit;
        if (dir.len == root)
            return cores;
        while (dir.len > root && dir.data[dir.len - 1] != '/')
            dir.data[--dir.len] = '\0';
    }
}

/* Version 1 mounts a folder for each set of controllers; its name is theirs, or a link is. */
static double quota_of_v1(const char *cgroup_root, const struct procfs_group *group, double cores)
{
    scoped_str mount = {0};
    str_addf(&mount, "%s/%.*s", cgroup_root, (int)group->controllers.len, group->controllers.ptr);
    if (!file_exists(str_text(&mount))) {
        str_clear(&mount);
        str_addf(&mount, "%s/cpu", cgroup_root);
    }
    return smallest_quota(str_text(&mount), group->path, cores, quota_v1);
}

static double quota_of_v2(const char *cgroup_root, const struct procfs_group *group, double cores)
{
    scoped_str hybrid = {0};
    str_addf(&hybrid, "%s/unified", cgroup_root);
    bool is_hybrid = file_exists(str_text(&hybrid));
    return smallest_quota(is_hybrid ? str_text(&hybrid) : cgroup_root, group->path, cores,
                          quota_v2);
}

double sampler_cores(const char *proc_root, const char *cgroup_root)
{
    scoped_str buffer = {0};
    double cores = affinity_cores();
    struct sv cgroup = read_text(proc_root, "self/cgroup", &buffer);
    struct procfs_group group;
    if (procfs_cpu_group(cgroup, false, &group))
        cores = quota_of_v1(cgroup_root, &group, cores);
    if (procfs_cpu_group(cgroup, true, &group))
        cores = quota_of_v2(cgroup_root, &group, cores);
    return cores > CORES_MIN ? cores : CORES_MIN;
}
