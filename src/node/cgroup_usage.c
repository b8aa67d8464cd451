// SPDX-License-Identifier: Apache-2.0
/* What a leaf has used, and whether the kernel has killed in it for memory. */
#include "base/mem.h"
#include "node/cgroup_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel walks all pages for a fair share of memory (PSS); that is worth it for few and small
 * processes, where shared libraries matter most. */
#define FAIR_BYTES_MAX ((int64_t)64 << 20)
#define FAIR_PROCESSES_MAX 16

/* In the nearest group with this controller; false when there is none. */
static bool group_with(const struct cgroup_tree *tree, unsigned controller, const char *pod,
                       const char *leaf, struct str *ret_path)
{
    for (size_t i = 0; i < tree->len; i++) {
        if (!(tree->items[i].controllers & controller) || !tree->items[i].is_used)
            continue;
        return cgroup_seek(&tree->items[i], pod, leaf, ret_path);
    }
    return false;
}

int64_t cgroup_leaf_oom_kills(struct cgroup_tree *tree, const char *pod, const char *leaf)
{
    scoped_str path = {0};
    /* v1 counts where the victim sat, so the pod's group does when the leaf has none. */
    if (!group_with(tree, CTL_MEMORY, pod, leaf, &path) &&
        !group_with(tree, CTL_MEMORY, pod, NULL, &path))
        return 0;
    int64_t kills = cgroup_file_field(str_text(&path), "memory.events", "oom_kill");
    if (kills < 0)
        kills = cgroup_file_field(str_text(&path), "memory.oom_control", "oom_kill");
    return kills < 0 ? 0 : kills;
}

static int64_t cpu_ns_of(const struct cgroup_tree *tree, const char *base, const char *pod,
                         const char *leaf)
{
    scoped_str path = {0};
    int64_t us = tree->items[0].is_v2 ? cgroup_file_field(base, "cpu.stat", "usage_usec") : -1;
    if (us >= 0)
        return us * 1000;
    if (!group_with(tree, CTL_CPUACCT, pod, leaf, &path))
        return -1;
    return cgroup_file_number(str_text(&path), "cpuacct.usage");
}

/* File cache that nobody has touched of late goes away by itself under pressure. */
static int64_t working_set(const char *dir)
{
    int64_t used = cgroup_file_number(dir, "memory.current");
    const char *cache = "inactive_file";
    if (used < 0) {
        used = cgroup_file_number(dir, "memory.usage_in_bytes");
        cache = "total_inactive_file";
    }
    if (used < 0)
        return -1;
    int64_t idle = cgroup_file_field(dir, "memory.stat", cache);
    return idle < 0 || idle > used ? used : used - idle;
}

static int64_t resident(cgroup_pid pid)
{
    char dir[32];
    scoped_str text = {0};
    (void)snprintf(dir, sizeof(dir), "/proc/%d", pid);
    cgroup_file_read(dir, "statm", &text);
    const char *blank = strchr(str_text(&text), ' ');
    return blank ? strtoll(blank + 1, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
}

static int64_t fair_share(cgroup_pid pid)
{
    char dir[32];
    scoped_str text = {0};
    (void)snprintf(dir, sizeof(dir), "/proc/%d", pid);
    cgroup_file_read(dir, "smaps_rollup", &text);
    const char *at = strstr(str_text(&text), "\nPss:");
    return at ? strtoll(at + strlen("\nPss:"), NULL, 10) * 1024 : -1;
}

static int64_t memory_of(const struct cgroup_pids *pids)
{
    int64_t sum = 0;
    for (size_t i = 0; i < pids->list.len; i++) {
        int64_t all = resident(pids->list.items[i]), fair = -1;
        if (pids->list.len <= FAIR_PROCESSES_MAX && all <= FAIR_BYTES_MAX)
            fair = fair_share(pids->list.items[i]);
        sum += fair >= 0 ? fair : all;
    }
    return sum;
}

int cgroup_leaf_usage(struct cgroup_tree *tree, const char *pod, const char *leaf,
                      struct cgroup_usage *ret_usage)
{
    scoped_str base = {0}, path = {0};
    struct cgroup_pids pids = {0};
    *ret_usage = (struct cgroup_usage){-1, -1, 0};
    if (tree->len == 0)
        return 0;
    if (!cgroup_seek(&tree->items[0], pod, leaf, &base))
        return -ENOENT;
    cgroup_pids_of(str_text(&base), &pids);
    ret_usage->cpu_ns = cpu_ns_of(tree, str_text(&base), pod, leaf);
    ret_usage->processes = (int64_t)pids.list.len;
    if (group_with(tree, CTL_MEMORY, pod, leaf, &path))
        ret_usage->memory_bytes = working_set(str_text(&path));
    if (ret_usage->memory_bytes < 0)
        ret_usage->memory_bytes = memory_of(&pids);
    vec_done(&pids.list);
    return 0;
}
