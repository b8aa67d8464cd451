// SPDX-License-Identifier: Apache-2.0
/* The tree of one node in all hierarchies at once.
 *
 * 1. Everything lies below the group that we were started in, so that no pod ever has more than we
 *    were given.
 * 2. items[0] is the base: v2 where it is mounted, else the first of v1. All pods and leaves have a
 *    group in it; its cgroup.procs is the truth about who is inside.
 * 3. Groups are dear, a memory group more than all others together. In v1's memory and pids they
 *    are made only for what has a limit there, in v1's cpu for each pod, and for leaves that are
 *    weighed against each other. Who has none joins the nearest group above.
 * 4. Nothing is kept in memory about pods: the directories are the state, hence a new supervisor
 *    finds what a dead one has left.
 * 5. A hierarchy that refuses us is left out; without any, calls succeed and do nothing. */
#include "node/cgroup.h"
#include "base/mem.h"
#include "node/cgroup_internal.h"
#include "os/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KILL_ROUNDS_MAX 10000
#define WEIGHT_PER_CORE 100
#define WEIGHT_MAX 10000

static void hierarchy_done(struct cgroup_hierarchy *h)
{
    cgroup_place_done(&h->place);
    mem_free(h->own);
    mem_free(h->dir);
    for (size_t i = 0; i < h->former.len; i++)
        mem_free(h->former.items[i]);
    vec_done(&h->former);
    *h = (struct cgroup_hierarchy){0};
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int cgroup_fail(struct err *err, int r, const char *what, const char *dir)
{
    return err_set(err, r, "set %s of control group '%s': %s", what, dir, strerror(-r));
}

int cgroup_apply(const struct cgroup_hierarchy *h, const char *dir,
                 const struct cgroup_limits *limits, struct err *err)
{
    int r = 0;
    if (h->controllers & CTL_CPU)
        r = h->is_v2 ? cgroup_v2_cpu(dir, limits, err) : cgroup_v1_cpu(dir, limits, err);
    if (r == 0 && (h->controllers & CTL_MEMORY) && limits->memory_bytes > 0)
        r = h->is_v2 ? cgroup_v2_memory(dir, limits->memory_bytes, err)
                     : cgroup_v1_memory(dir, limits->memory_bytes, err);
    if (r < 0 || !(h->controllers & CTL_PIDS) || limits->pids <= 0)
        return r;
    r = cgroup_file_write(dir, "pids.max", "%" PRId64, limits->pids);
    return r < 0 ? cgroup_fail(err, r, "process limit", dir) : 0;
}

static void add_hint(struct str *why, int r, const char *own)
{
    if (r == -EACCES || r == -EPERM)
        str_addf(why,
                 "no right to make control groups in '%s'; have it delegated, for example: "
                 "systemd-run --user --scope -p Delegate=yes muster up",
                 own);
    else
        str_addf(why, "cannot make control groups in '%s': %s", own, strerror(-r));
}

static void hierarchy_name(struct cgroup_hierarchy *h, const char *name)
{
    scoped_str dir = {0};
    h->own = mem_printf("%s%s", h->place.mount, h->place.own);
    if (!is_directory(h->own)) {
        mem_free(h->own);
        h->own = mem_strdup(h->place.mount);
    }
    str_addf(&dir, "%s/muster.slice/", h->own);
    cgroup_name_escape(name, &dir);
    h->dir = str_take(&dir);
}

/* Which of its controllers we need: v2 counts CPU time and freezes by itself, and has taken first
 * what it offers. */
static unsigned still_wanted(const struct cgroup_tree *tree, unsigned controllers)
{
    bool has_v2 = tree->len > 0 && tree->items[0].is_v2;
    for (size_t i = 0; i < tree->len; i++)
        controllers &= ~tree->items[i].controllers;
    return has_v2 ? controllers & CTL_LIMITS : controllers;
}

/* All pods together would else count as much as one busy process beside the slice. */
static void slice_weigh(const struct cgroup_hierarchy *h, const char *slice)
{
    struct cgroup_limits limits = {.cpu_weight = WEIGHT_PER_CORE * sysconf(_SC_NPROCESSORS_ONLN)};
    if (limits.cpu_weight > WEIGHT_MAX)
        limits.cpu_weight = WEIGHT_MAX;
    (void)cgroup_apply(h, slice, &limits, NULL); /* goes without, less fair */
}

static int hierarchy_make(struct cgroup_hierarchy *h, struct str *why)
{
    scoped_free char *slice = mem_strndup(h->dir, (size_t)(strrchr(h->dir, '/') - h->dir));
    bool is_fresh = mkdir(slice, 0755) == 0; /* else somebody has set it to his taste */
    int r = cgroup_dir_make(h->dir);
    if (r < 0)
        return r;
    if (access(h->dir, W_OK) < 0)
        return -errno; /* it was there before, and is not ours */
    if (h->is_v2)
        h->controllers = cgroup_v2_enable(h, why);
    if (is_fresh)
        slice_weigh(h, slice);
    return 0;
}

static void is_not_empty(void *arg, const char *name)
{
    (void)name;
    *(bool *)arg = true;
}

/* Takes a hierarchy into the tree when it is of use and we may make groups in it. */
static void tree_add(struct cgroup_tree *tree, struct cgroup_place *place, const char *name,
                     struct str *why)
{
    struct cgroup_hierarchy h = {.is_v2 = place->is_v2, .is_aside = place->is_aside};
    h.controllers = still_wanted(tree, place->controllers);
    if (!h.is_v2 && !h.controllers)
        return;
    h.place = *place;
    *place = (struct cgroup_place){0};
    hierarchy_name(&h, name);
    int r = hierarchy_make(&h, why);
    if (r < 0) {
        if (why->len == 0)
            add_hint(why, r, h.own);
        hierarchy_done(&h);
        return;
    }
    h.is_always = tree->len == 0 || (h.controllers & ~(unsigned)(CTL_MEMORY | CTL_PIDS));
    cgroup_dir_each(h.dir, is_not_empty, &h.is_used);
    tree->items[tree->len++] = h;
}

static const struct cgroup_hierarchy *with(const struct cgroup_tree *tree, unsigned controller)
{
    for (size_t i = 0; i < tree->len; i++)
        if (tree->items[i].controllers & controller)
            return &tree->items[i];
    return NULL;
}

static void tree_learn(struct cgroup_tree *tree, struct str *why)
{
    const struct cgroup_hierarchy *cpu = with(tree, CTL_CPU);
    const struct cgroup_hierarchy *base = tree->len > 0 ? &tree->items[0] : NULL;
    tree->can = (struct cgroup_can){
        .is_there = base != NULL,
        .cpu = cpu != NULL,
        .cpu_max = cpu && (cgroup_file_is_there(cpu->dir, "cpu.max") ||
                           cgroup_file_is_there(cpu->dir, "cpu.cfs_quota_us")),
        .memory = with(tree, CTL_MEMORY) != NULL,
        .pids = with(tree, CTL_PIDS) != NULL,
        .kill = base && base->is_v2 && cgroup_file_is_there(base->dir, "cgroup.kill"),
        .events = base && base->is_v2 && cgroup_file_is_there(base->dir, "cgroup.events"),
    };
    if (why->len == 0 && !base)
        str_add(why, "no control groups are mounted here");
    if (why->len == 0 && !(tree->can.cpu && tree->can.memory && tree->can.pids))
        str_addf(why, "no controller for%s%s%s", tree->can.cpu ? "" : " cpu",
                 tree->can.memory ? "" : " memory", tree->can.pids ? "" : " pids");
}

struct cgroup_tree *cgroup_tree_open_in(const char *proc, const char *root, const char *name,
                                        struct str *why)
{
    struct cgroup_tree *tree = mem_zalloc(sizeof(*tree));
    scoped_str mounts = {0}, self = {0}, trouble = {0};
    struct cgroup_places places = {0};
    cgroup_file_read(proc, "self/mountinfo", &mounts);
    cgroup_file_read(proc, "self/cgroup", &self);
    if (root)
        cgroup_places_parse(str_text(&mounts), str_text(&self), root, &places);
    for (size_t i = 0; i < places.len; i++)
        tree_add(tree, &places.items[i], name, &trouble);
    cgroup_places_done(&places);
    tree_learn(tree, &trouble);
    if (why)
        str_add(why, str_text(&trouble));
    return tree;
}

struct cgroup_tree *cgroup_tree_open(const char *root, const char *name, struct str *why)
{
    return cgroup_tree_open_in("/proc", root, name, why);
}

void cgroup_tree_close(struct cgroup_tree *tree)
{
    if (!tree)
        return;
    for (size_t i = 0; i < tree->len; i++)
        hierarchy_done(&tree->items[i]);
    mem_free(tree);
}

struct cgroup_can cgroup_can(const struct cgroup_tree *tree)
{
    return tree->can;
}

/* Which controllers a leaf needs a group of its own for. */
static unsigned wanted_by(const struct cgroup_limits *limits)
{
    return (limits->cpu_weight || limits->cpu_max_milli ? CTL_CPU : 0U) |
           (limits->memory_bytes ? CTL_MEMORY : 0U) | (limits->pids ? CTL_PIDS : 0U);
}

/* The leaf must be in the base, and where its CPU time is counted or its processes are frozen. */
static bool wants_leaf(const struct cgroup_tree *tree, const struct cgroup_hierarchy *h,
                       const struct cgroup_limits *limits)
{
    return h == &tree->items[0] ||
           (h->controllers & (wanted_by(limits) | CTL_CPUACCT | CTL_FREEZER));
}

static int group_make(const char *path, struct err *err)
{
    int r = cgroup_dir_make(path);
    return r < 0 ? err_set(err, r, "make control group '%s': %s", path, strerror(-r)) : 0;
}

int cgroup_pod_make(struct cgroup_tree *tree, const char *pod, const struct cgroup_limits *limits,
                    struct err *err)
{
    scoped_str path = {0};
    for (size_t i = 0; i < tree->len; i++) {
        struct cgroup_hierarchy *h = &tree->items[i];
        if (!h->is_always && !(h->controllers & wanted_by(limits)))
            continue;
        h->is_used = true;
        cgroup_path(h, pod, NULL, &path);
        int r = group_make(str_text(&path), err);
        if (r < 0)
            return r;
        if (h->is_v2)
            cgroup_v2_hand_down(str_text(&path), h->controllers);
        r = cgroup_apply(h, str_text(&path), limits, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int cgroup_pod_weigh(struct cgroup_tree *tree, const char *pod, int64_t cpu_weight, struct err *err)
{
    const struct cgroup_hierarchy *h = with(tree, CTL_CPU);
    struct cgroup_limits limits = {.cpu_weight = cpu_weight};
    scoped_str path = {0};
    const char *home;
    int r = 0;
    for (size_t i = 0; h && r == 0 && (home = cgroup_home(h, i)); i++) {
        cgroup_path_in(home, pod, NULL, &path);
        bool is_there = i == 0 || access(str_text(&path), F_OK) == 0;
        r = is_there ? cgroup_apply(h, str_text(&path), &limits, err) : 0;
    }
    return r;
}

/* Of a pod or a leaf, wherever it is; all of it gone? */
static bool remove_all(const struct cgroup_hierarchy *h, const char *pod, const char *leaf)
{
    scoped_str path = {0};
    const char *home;
    bool is_gone = true;
    for (size_t i = 0; h->is_used && (home = cgroup_home(h, i)); i++) {
        cgroup_path_in(home, pod, leaf, &path);
        is_gone = cgroup_dir_remove(str_text(&path)) && is_gone;
    }
    return is_gone;
}

bool cgroup_pod_remove(struct cgroup_tree *tree, const char *pod)
{
    bool is_gone = true;
    for (size_t i = tree->len; i-- > 0;)
        is_gone = remove_all(&tree->items[i], pod, NULL) && is_gone;
    return is_gone;
}

static int leaf_make_in(struct cgroup_hierarchy *h, const char *path,
                        const struct cgroup_limits *limits, struct err *err)
{
    h->is_used = true;
    int r = group_make(path, err);
    if (r == 0)
        r = cgroup_apply(h, path, limits, err);
    if (r < 0)
        return r;
    /* One victim of many would leave a container that only looks alive; before 4.19 there is no
     * such file. */
    if (h->is_v2 && (h->controllers & CTL_MEMORY) && limits->memory_bytes > 0)
        (void)cgroup_file_write(path, "memory.oom.group", "1");
    return 0;
}

/* The nearest group that a process of the leaf belongs into; false when the hierarchy has none. */
static bool nearest(const struct cgroup_hierarchy *h, const char *pod, const char *leaf,
                    struct str *ret_path)
{
    return cgroup_seek(h, pod, leaf, ret_path) || cgroup_seek(h, pod, NULL, ret_path);
}

/* In v1 through "tasks", which moves one thread: a process that writes itself into "cgroup.procs"
 * stops all forks and exits of the machine until RCU has come to rest, ten milliseconds and more
 * while it is busy. Before exec there is but one thread. */
static void door_add(struct cgroup_door *door, const struct cgroup_hierarchy *h, const char *path)
{
    size_t n = 0;
    if (h->is_v2) {
        door->v2 = mem_strdup(path);
        return;
    }
    while (door->join[n] != NULL)
        n++;
    door->join[n] = mem_printf("%s/tasks", path);
}

int cgroup_leaf_make(struct cgroup_tree *tree, const char *pod, const char *leaf,
                     const struct cgroup_limits *limits, struct err *err)
{
    scoped_str path = {0};
    int r = 0;
    for (size_t i = 0; i < tree->len && r == 0; i++) {
        struct cgroup_hierarchy *h = &tree->items[i];
        if (!wants_leaf(tree, h, limits))
            continue;
        cgroup_path(h, pod, leaf, &path);
        r = leaf_make_in(h, str_text(&path), limits, err);
    }
    return r;
}

void cgroup_leaf_way(struct cgroup_tree *tree, const char *pod, const char *leaf,
                     const struct cgroup_limits *limits, struct cgroup_door *ret_door)
{
    scoped_str path = {0};
    *ret_door = (struct cgroup_door){0};
    for (size_t i = 0; i < tree->len; i++) {
        const struct cgroup_hierarchy *h = &tree->items[i];
        bool has_leaf = wants_leaf(tree, h, limits);
        cgroup_path(h, pod, has_leaf ? leaf : NULL, &path);
        /* Pods have a group everywhere but where only limits are set. */
        bool is_known = has_leaf || (h->is_used && h->is_always);
        if (is_known || (h->is_used && cgroup_seek(h, pod, NULL, &path)))
            door_add(ret_door, h, str_text(&path));
    }
}

void cgroup_leaf_door(struct cgroup_tree *tree, const char *pod, const char *leaf,
                      struct cgroup_door *ret_door)
{
    scoped_str path = {0};
    *ret_door = (struct cgroup_door){0};
    for (size_t i = 0; i < tree->len; i++) {
        const struct cgroup_hierarchy *h = &tree->items[i];
        if (h->is_used && nearest(h, pod, leaf, &path))
            door_add(ret_door, h, str_text(&path));
    }
}

void cgroup_door_done(struct cgroup_door *door)
{
    mem_free(door->v2);
    for (size_t i = 0; i < ARRAY_LEN(door->join); i++)
        mem_free(door->join[i]);
    *door = (struct cgroup_door){0};
}

/* False when there is surely no such leaf; else its files tell. */
static bool base_path(const struct cgroup_tree *tree, const char *pod, const char *leaf,
                      struct str *ret_path)
{
    return tree->len > 0 && cgroup_guess(&tree->items[0], pod, leaf, ret_path);
}

/* Asked at each end of a container: one read, and no more of a file that is that short. */
static bool says_populated(struct str *path)
{
    char text[128];
    str_add(path, "/cgroup.events");
    scoped_fd fd = open(str_text(path), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (n <= 0)
        return false;
    text[n] = '\0';
    return strstr(text, "populated 1") != NULL;
}

bool cgroup_leaf_is_populated(struct cgroup_tree *tree, const char *pod, const char *leaf)
{
    scoped_str path = {0};
    if (!base_path(tree, pod, leaf, &path))
        return false;
    if (tree->can.events)
        return says_populated(&path);
    struct cgroup_pids pids = {0};
    cgroup_pids_of(str_text(&path), &pids);
    bool is_populated = pids.list.len > 0;
    vec_done(&pids.list);
    return is_populated;
}

static bool was_seen(const struct cgroup_pids *pids, cgroup_pid pid)
{
    for (size_t i = 0; i < pids->list.len; i++)
        if (pids->list.items[i] == pid)
            return true;
    return false;
}

/* Kills who is there; returns how many were not there the last time. */
static size_t kill_round(const char *dir, struct cgroup_pids *last)
{
    struct cgroup_pids now = {0};
    size_t fresh = 0;
    cgroup_pids_of(dir, &now);
    for (size_t i = 0; i < now.list.len; i++) {
        cgroup_pid pid = now.list.items[i];
        if (pid == (cgroup_pid)getpid())
            continue;
        fresh += !was_seen(last, pid);
        (void)kill(pid, SIGKILL); /* may have ended by itself */
    }
    vec_done(&last->list);
    *last = now;
    return fresh;
}

/* Frozen processes do not fork while we go through them. Without a freezer the rounds go on until
 * one finds nobody new: the rest has its signal and only has to die. */
static int kill_one_by_one(const struct cgroup_tree *tree, const char *pod, const char *leaf)
{
    const struct cgroup_hierarchy *base = &tree->items[0];
    const struct cgroup_hierarchy *freezer = with(tree, CTL_FREEZER);
    scoped_str dir = {0}, cold = {0};
    struct cgroup_pids last = {0};
    const char *file = base->is_v2 ? "cgroup.freeze" : "freezer.state";
    (void)cgroup_seek(base, pod, leaf, &dir);
    (void)cgroup_seek(freezer ? freezer : base, pod, leaf, &cold);
    (void)cgroup_file_write(str_text(&cold), file, base->is_v2 ? "1" : "FROZEN");
    int rounds = 0;
    while (kill_round(str_text(&dir), &last) > 0 && rounds < KILL_ROUNDS_MAX)
        rounds++;
    (void)cgroup_file_write(str_text(&cold), file, base->is_v2 ? "0" : "THAWED");
    vec_done(&last.list);
    return rounds < KILL_ROUNDS_MAX ? 0 : -EBUSY;
}

int cgroup_leaf_kill(struct cgroup_tree *tree, const char *pod, const char *leaf)
{
    scoped_str path = {0};
    if (!base_path(tree, pod, leaf, &path))
        return 0;
    int r = tree->can.kill ? cgroup_file_write(str_text(&path), "cgroup.kill", "1") : -ENOTSUP;
    return r == 0 || r == -ENOENT ? 0 : kill_one_by_one(tree, pod, leaf);
}

bool cgroup_leaf_remove(struct cgroup_tree *tree, const char *pod, const char *leaf)
{
    bool is_gone = true;
    /* The base goes last: as long as it is there a new supervisor finds the leaf. */
    for (size_t i = tree->len; i-- > 0;)
        is_gone = (i > 0 || is_gone) && remove_all(&tree->items[i], pod, leaf) && is_gone;
    return is_gone;
}

int cgroup_leaf_events(struct cgroup_tree *tree, const char *pod, const char *leaf)
{
    scoped_str path = {0};
    char text[128];
    if (!tree->can.events || !base_path(tree, pod, leaf, &path))
        return -1;
    str_add(&path, "/cgroup.events");
    scoped_fd fd = open(str_text(&path), O_RDONLY | O_CLOEXEC);
    /* Only a read arms it: unread, it would be ready at once. */
    if (fd < 0 || read(fd, text, sizeof(text)) < 0)
        return -1;
    return fd_take(&fd);
}
