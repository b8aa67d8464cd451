// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

/* The control groups of one node: muster.slice/NODE/pod-UID.slice/CONTAINER.gN.scope, the same path
 * in each hierarchy that is of use, below the group that we were started in. v2 with controllers,
 * v1 controllers, and the mixture (v1 controllers beside a bare v2 tree, used for birth, killing,
 * CPU time and emptiness) look alike from here. Without the right to make groups everything
 * succeeds and does nothing: cgroup_can() tells. */
struct cgroup_tree;

struct cgroup_can {
    bool is_there;                       /* any hierarchy at all */
    bool cpu, cpu_max, memory, pids, io; /* settings that have an effect */
    bool kill, events;                   /* v2 files */
};
struct cgroup_limits {
    int64_t cpu_weight; /* 1..10000; 0: leave. The only container of a pod needs none */
    int64_t cpu_max_milli;
    int64_t memory_bytes; /* 0: none; -1: none, but counted exactly and not summed up (v1) */
    int64_t pids;
};

/* root: where hierarchies are mounted, "/sys/fs/cgroup"; NULL: none. Our own place in them comes
 * from /proc/self. Never fails; `why` gets one line when something is missing. With v2 the calling
 * process may be moved into a group beside the pods. */
struct cgroup_tree *cgroup_tree_open(const char *root, const char *name, struct str *why);
void cgroup_tree_close(struct cgroup_tree *tree);
/* What is empty, at the very end; processes in groups of cgroup_own go back where we came from. */
void cgroup_tree_remove(struct cgroup_tree *tree);
struct cgroup_can cgroup_can(const struct cgroup_tree *tree);

/* pod is "UID", leaf "CONTAINER.gN": "pod-", ".slice" and ".scope" are added here, odd characters
 * escaped. Making what is there already is fine, and sets its limits anew. */
int cgroup_pod_make(struct cgroup_tree *tree, const char *pod, const struct cgroup_limits *limits,
                    struct err *err);
int cgroup_pod_weigh(struct cgroup_tree *tree, const char *pod, int64_t cpu_weight,
                     struct err *err);
/* With all leaves; false: something of it is still used, or the kernel is not yet done with it. */
bool cgroup_pod_remove(struct cgroup_tree *tree, const char *pod);

/* How a child gets in: the v2 directory (NULL: none) and the v1 files into which it writes "0",
 * while it has a single thread. */
struct cgroup_door {
    char *v2;
    char *join[8]; /* NULL-terminated */
};
/* One leaf per generation: after cgroup.kill a leaf kills whatever is born in it. */
int cgroup_leaf_make(struct cgroup_tree *tree, const char *pod, const char *leaf,
                     const struct cgroup_limits *limits, struct err *err);
/* Of a leaf that was just made with these limits, in a pod that is there: nothing is looked for. */
void cgroup_leaf_way(struct cgroup_tree *tree, const char *pod, const char *leaf,
                     const struct cgroup_limits *limits, struct cgroup_door *ret_door);
void cgroup_leaf_door(struct cgroup_tree *tree, const char *pod, const char *leaf,
                      struct cgroup_door *ret_door);
void cgroup_door_done(struct cgroup_door *door);
bool cgroup_leaf_is_populated(struct cgroup_tree *tree, const char *pod, const char *leaf);
/* Kills all processes in it and does not wait until they are gone; without cgroup.kill, pid by pid
 * until none is left to be found. */
int cgroup_leaf_kill(struct cgroup_tree *tree, const char *pod, const char *leaf);
bool cgroup_leaf_remove(struct cgroup_tree *tree, const char *pod, const char *leaf); /* gone? */
/* A descriptor that becomes ready (EPOLLPRI) when the leaf empties or fills, and again only after a
 * pread of it from 0; -1: none. The caller closes it. */
int cgroup_leaf_events(struct cgroup_tree *tree, const char *pod, const char *leaf);
/* How many the kernel has killed in it for lack of memory; 0 where nobody counts. */
int64_t cgroup_leaf_oom_kills(struct cgroup_tree *tree, const char *pod, const char *leaf);

struct cgroup_usage {
    int64_t cpu_ns;       /* so far; -1: not known */
    int64_t memory_bytes; /* now, without reclaimable file cache; -1 */
    int64_t processes;
};
/* -ENOENT: no such leaf. */
int cgroup_leaf_usage(struct cgroup_tree *tree, const char *pod, const char *leaf,
                      struct cgroup_usage *ret_usage);
/* Leaves that are there, of all pods: for what a dead supervisor left. */
void cgroup_each_leaf(struct cgroup_tree *tree,
                      void (*each)(void *arg, const char *pod, const char *leaf), void *arg);
/* This leaf lives, and this process is in it: a former self may have been started in another group
 * than we (another session of the same user), and have its tree there. From now on its leaves are
 * found, listed, killed and removed like ours. */
void cgroup_leaf_found(struct cgroup_tree *tree, const char *pod, int pid);
/* The supervisor and its spawner in a group of their own beside all pods, NODE/name.scope. */
int cgroup_own(struct cgroup_tree *tree, const char *name, int64_t cpu_weight, int pid,
               struct err *err);
/* Shares and weights: quadratic, so that 1024 shares are weight 100, and so is one core. Who asks
 * for nothing (0) counts as 50m. */
int64_t cgroup_weight_of_milli(int64_t cpu_request_milli);
int64_t cgroup_shares_of_weight(int64_t weight);
