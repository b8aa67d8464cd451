// SPDX-License-Identifier: Apache-2.0
/* Limits in the files of v2, and how controllers get down to the pods: a group offers them to its
 * children by a word in cgroup.subtree_control, which the kernel refuses (EBUSY) while processes
 * sit in the group itself, its top excepted. When only we sit there we step aside into a group
 * below the node; processes of others are not ours to move, and the tree then goes without
 * controllers: birth, killing and events work all the same. */
#include "base/mem.h"
#include "node/cgroup_internal.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define PERIOD_US 100000
#define QUOTA_US_MIN 1000

int cgroup_v2_cpu(const char *dir, const struct cgroup_limits *limits, struct err *err)
{
    int r = 0;
    if (limits->cpu_weight > 0)
        r = cgroup_file_write(dir, "cpu.weight", "%" PRId64, limits->cpu_weight);
    if (r < 0)
        return cgroup_fail(err, r, "CPU weight", dir);
    if (limits->cpu_max_milli <= 0 || !cgroup_file_is_there(dir, "cpu.max"))
        return 0;
    int64_t quota = limits->cpu_max_milli * (PERIOD_US / 1000);
    r = cgroup_file_write(dir, "cpu.max", "%" PRId64 " %d",
                          quota < QUOTA_US_MIN ? QUOTA_US_MIN : quota, PERIOD_US);
    return r < 0 ? cgroup_fail(err, r, "CPU limit", dir) : 0;
}

int cgroup_v2_memory(const char *dir, int64_t bytes, struct err *err)
{
    int r = cgroup_file_write(dir, "memory.max", "%" PRId64, bytes);
    if (r < 0)
        return cgroup_fail(err, r, "memory limit", dir);
    (void)cgroup_file_write(dir, "memory.swap.max", "0"); /* kernels without swap lack the file */
    return 0;
}

static unsigned controllers_in(const char *dir)
{
    scoped_str text = {0};
    unsigned found = 0;
    cgroup_file_read(dir, "cgroup.controllers", &text);
    struct sv rest = sv_trim((struct sv){str_text(&text), text.len});
    while (rest.len > 0) {
        struct sv word = sv_cut(&rest, ' ');
        for (unsigned i = 0; i < CTL_COUNT; i++)
            found |= sv_is(word, CTL_NAMES[i]) ? 1U << i : 0;
    }
    return found & CTL_LIMITS;
}

static int offer(const char *dir, unsigned controllers)
{
    scoped_str words = {0};
    for (unsigned i = 0; i < CTL_COUNT; i++)
        if (controllers & 1U << i)
            str_addf(&words, "%s+%s", words.len ? " " : "", CTL_NAMES[i]);
    return cgroup_file_write(dir, "cgroup.subtree_control", "%s", str_text(&words));
}

void cgroup_v2_hand_down(const char *dir, unsigned controllers)
{
    if (controllers)
        (void)offer(dir, controllers); /* checked once, in cgroup_v2_enable */
}

static bool only_we_sit_in(const char *dir)
{
    scoped_str text = {0};
    cgroup_file_read(dir, "cgroup.procs", &text);
    scoped_free char *mine = mem_printf("%d\n", (int)getpid());
    return str_eq(str_text(&text), mine);
}

static bool step_aside(struct cgroup_hierarchy *h)
{
    scoped_free char *aside = mem_printf("%s/supervisor.scope", h->dir);
    if (!only_we_sit_in(h->own) || cgroup_dir_make(aside) < 0)
        return false;
    h->is_aside = cgroup_file_write(aside, "cgroup.procs", "0") == 0;
    return h->is_aside;
}

unsigned cgroup_v2_enable(struct cgroup_hierarchy *h, struct str *why)
{
    unsigned wanted = controllers_in(h->own);
    if (!wanted)
        return 0;
    int r = offer(h->own, wanted);
    if (r == -EBUSY && step_aside(h))
        r = offer(h->own, wanted);
    scoped_free char *slice = mem_strndup(h->dir, (size_t)(strrchr(h->dir, '/') - h->dir));
    if (r == 0)
        r = offer(slice, wanted);
    if (r == 0)
        r = offer(h->dir, wanted);
    if (r == 0)
        return wanted;
    if (r == -EBUSY)
        str_addf(why, "processes of others are in '%s', thus it cannot hand controllers down",
                 h->own);
    else
        str_addf(why, "'%s' does not hand controllers down: %s", h->own, strerror(-r));
    return 0;
}
