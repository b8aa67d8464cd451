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
    const char *home;
    for (size_t i = 0; tree->len > 0 && (home = cgroup_home(&tree->items[0], i)); i++) {
        struct walk walk = {home, {0}, each, arg};
        cgroup_dir_each(home, walk_pod, &walk);
    }
}

static bool is_home(const struct cgroup_hierarchy *h, const char *dir)
{
    const char *home;
    for (size_t i = 0; (home = cgroup_home(h, i)); i++)
        if (str_eq(home, dir))
            return true;
    return false;
}

void cgroup_leaf_found(struct cgroup_tree *tree, const char *pod, int pid)
{
    scoped_str text = {0}, mark = {0};
    scoped_free char *proc = mem_printf("/proc/%d", pid);
    cgroup_file_read(proc, "cgroup", &text);
    for (size_t i = 0; i < tree->len; i++) {
        struct cgroup_hierarchy *h = &tree->items[i];
        const char *slice = strrchr(h->dir, '/') - strlen("/muster.slice");
        scoped_free char *place = cgroup_place_of(str_text(&text), &h->place);
        cgroup_path_in(slice, pod, NULL, &mark);
        char *at = place ? strstr(place, str_text(&mark)) : NULL;
        if (!at)
            continue;
        at[strlen(slice)] = '\0';
        char *home = mem_printf("%s%s", h->place.mount, place);
        h->is_used = true;
        if (is_home(h, home))
            mem_free(home);
        else
            vec_push(&h->former, home);
    }
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
        r = cgroup_apply(h, dir, &limits, err);
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
    const char *home;
};

/* Processes in groups of our own go back to where we came from, pods stay where they are. */
static void leave_scope(void *arg, const char *name)
{
    const struct leaving *leaving = arg;
    struct cgroup_pids pids = {0};
    if (!str_ends(name, ".scope"))
        return;
    scoped_free char *dir = mem_printf("%s/%s", leaving->home, name);
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
    scoped_free char *dir = mem_printf("%s/%s", leaving->home, name);
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

static void home_remove(const struct cgroup_hierarchy *h, const char *home)
{
    struct leaving leaving = {h, home};
    int pods = 0;
    scoped_free char *slice = mem_strndup(home, (size_t)(strrchr(home, '/') - home));
    cgroup_dir_each(home, remove_pod, &leaving);
    cgroup_dir_each(home, count_pod, &pods);
    bool is_ours = home == h->dir; /* in others there may be somebody's processes */
    if (pods > 0 || (is_ours && !take_back(h, slice)))
        return;
    if (is_ours)
        cgroup_dir_each(home, leave_scope, &leaving);
    (void)cgroup_dir_remove(home);
    (void)rmdir(slice); /* not when it has other nodes */
}

void cgroup_tree_remove(struct cgroup_tree *tree)
{
    const char *home;
    for (size_t i = tree->len; i-- > 0;)
        for (size_t k = 0; (home = cgroup_home(&tree->items[i], k)); k++)
            home_remove(&tree->items[i], home);
}
