// SPDX-License-Identifier: Apache-2.0
/* What concerns the tree as a whole: who is in it, our own groups, taking it down. */
#include "base/mem.h"
#include "node/cgroup_internal.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

struct walk {
    const char *dir;
    struct sv pod; /* plain name while its leaves are walked */
    void (*each)(void *arg, const char *pod, const char *leaf);
    void *arg;
};

/* The middle of PREFIX...SUFFIX in plain text; false when it is named otherwise. */
static bool name_between(const char *name, const char *prefix, const char *suffix,
                         struct str *ret_name)
{
    size_t skip = strlen(prefix), tail = strlen(suffix), len = strlen(name);
    if (len < skip + tail || !str_starts(name, prefix) || !str_ends(name, suffix))
        return false;
    cgroup_name_plain((struct sv){name + skip, len - skip - tail}, ret_name);
    return true;
}

static void walk_leaf(void *arg, const char *name)
{
    const struct walk *walk = arg;
    scoped_str leaf = {0};
    if (name_between(name, "", ".scope", &leaf))
        walk->each(walk->arg, walk->pod.ptr, str_text(&leaf));
}

static void walk_pod(void *arg, const char *name)
{
    const struct walk *walk = arg;
    scoped_str pod = {0};
    if (!name_between(name, "pod-", ".slice", &pod))
        return;
    scoped_free char *dir = mem_printf("%s/%s", walk->dir, name);
    struct walk inner = {dir, {str_text(&pod), pod.len}, walk->each, walk->arg};
    cgroup_dir_each(dir, walk_leaf, &inner);
}

void cgroup_each_leaf(struct cgroup_tree *tree,
                      void (*each)(void *arg, const char *pod, const char *leaf), void *arg)
{
    if (tree->len == 0)
        return;
    struct walk walk = {tree->items[0].dir, {0}, each, arg};
    cgroup_dir_each(walk.dir, walk_pod, &walk);
}

int cgroup_own(struct cgroup_tree *tree, const char *name, int64_t cpu_weight, int pid,
               struct err *err)
{
    struct cgroup_limits limits = {.cpu_weight = cpu_weight};
    scoped_str path = {0};
    for (size_t i = 0; i < tree->len; i++) {
        const struct cgroup_hierarchy *h = &tree->items[i];
        if (!(h->controllers & CTL_CPU))
            continue;
        cgroup_path(h, NULL, name, &path);
        const char *dir = str_text(&path);
        int r = cgroup_dir_make(dir);
        if (r < 0)
            return err_set(err, r, "make control group '%s': %s", dir, strerror(-r));
        r = h->is_v2 ? cgroup_v2_apply(dir, h->controllers, &limits, err)
                     : cgroup_v1_apply(dir, h->controllers, &limits, err);
        if (r < 0)
            return r;
        r = cgroup_file_write(dir, "cgroup.procs", "%d", pid);
        if (r < 0)
            return err_set(err, r, "move process %d to '%s': %s", pid, dir, strerror(-r));
    }
    return 0;
}

struct leaving {
    const struct cgroup_hierarchy *h;
};

/* Processes in groups of our own go back to where we came from, pods stay where they are. */
static void leave_scope(void *arg, const char *name)
{
    const struct leaving *leaving = arg;
    struct cgroup_pids pids = {0};
    if (!str_ends(name, ".scope"))
        return;
    scoped_free char *dir = mem_printf("%s/%s", leaving->h->dir, name);
    cgroup_pids_of(dir, &pids);
    for (size_t i = 0; i < pids.list.len; i++)
        (void)cgroup_file_write(leaving->h->own, "cgroup.procs", "%d", pids.list.items[i]);
    vec_done(&pids.list);
}

static void count_child(void *arg, const char *name)
{
    (void)name;
    (*(int *)arg)++;
}

static void remove_pod(void *arg, const char *name)
{
    const struct leaving *leaving = arg;
    scoped_free char *dir = mem_printf("%s/%s", leaving->h->dir, name);
    if (str_starts(name, "pod-"))
        (void)cgroup_dir_remove(dir); /* with a process inside it stays */
}

static void count_pod(void *arg, const char *name)
{
    *(int *)arg += str_starts(name, "pod-");
}

/* In v2 nobody may go back while our old group still hands controllers down. They are taken back
 * from below; from our old group only if we made it hand them down, and not when another node has
 * its tree beside ours. */
static bool take_back(const struct cgroup_hierarchy *h, const char *slice)
{
    int nodes = 0;
    if (!h->is_v2 || !h->is_aside)
        return true;
    cgroup_dir_each(slice, count_child, &nodes);
    if (nodes > 1)
        return false;
    const char *const dirs[] = {h->dir, slice, h->own};
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        for (unsigned c = 0; c < CTL_COUNT; c++)
            if (h->controllers & 1U << c)
                (void)cgroup_file_write(dirs[i], "cgroup.subtree_control", "-%s", CTL_NAMES[c]);
    return true;
}

static void hierarchy_remove(const struct cgroup_hierarchy *h)
{
    struct leaving leaving = {h};
    int pods = 0;
    scoped_free char *slice = mem_strndup(h->dir, (size_t)(strrchr(h->dir, '/') - h->dir));
    cgroup_dir_each(h->dir, remove_pod, &leaving);
    cgroup_dir_each(h->dir, count_pod, &pods);
    if (pods > 0 || !take_back(h, slice))
        return;
    cgroup_dir_each(h->dir, leave_scope, &leaving);
    (void)cgroup_dir_remove(h->dir);
    (void)rmdir(slice); /* not when it has other nodes */
}

void cgroup_tree_remove(struct cgroup_tree *tree)
{
    for (size_t i = tree->len; i-- > 0;)
        hierarchy_remove(&tree->items[i]);
}
