// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

/* The control groups of one node: muster.slice/NODE/pod-UID.slice/CONTAINER.gN.scope, the same path
 * in each hierarchy that is of use. v2 with controllers, v1 controllers, and the mixture (v1
 * controllers beside a bare v2 tree, used for birth, killing and emptiness) look alike from here.
 * Without the right to make groups everything succeeds and does nothing: cgroup_can() tells. */
struct cgroup_tree;

struct cgroup_can {
    bool is_there;                       /* any hierarchy at all */
    bool cpu, cpu_max, memory, pids, io; /* settings that have an effect */
    bool kill, events;                   /* v2 files */
};
struct cgroup_limits {
    int64_t cpu_weight; /* 1..10000; 0: leave */
    int64_t cpu_max_milli;
    int64_t memory_bytes;
    int64_t pids;
};

/* root: where hierarchies are mounted, "/sys/fs/cgroup"; parent: relative path in each of them
 * under which the tree is made ("" or "/some/group"). Never fails for lack of rights; `why` tells
 * then. */
struct cgroup_tree *cgroup_tree_open(const char *root, const char *name, struct str *why);
void cgroup_tree_close(struct cgroup_tree *tree);
void cgroup_tree_remove(struct cgroup_tree *tree); /* what is empty, at the very end */
struct cgroup_can cgroup_can(const struct cgroup_tree *tree);

/* pod and leaf are single path components. Making what is there already is fine. */
int cgroup_pod_make(struct cgroup_tree *tree, const char *pod, const struct cgroup_limits *limits,
                    struct err *err);
int cgroup_pod_weigh(struct cgroup_tree *tree, const char *pod, int64_t cpu_weight,
                     struct err *err);
void cgroup_pod_remove(struct cgroup_tree *tree, const char *pod);

/* One leaf per generation: after cgroup.kill a leaf kills whatever is born in it. */
int cgroup_leaf_make(struct cgroup_tree *tree, const char *pod, const char *leaf,
                     const struct cgroup_limits *limits, struct err *err);
/* How a child gets in: the v2 directory (NULL: none) and the v1 files to write its pid to. */
struct cgroup_door {
    char *v2;
    char *join[8]; /* NULL-terminated */
};
void cgroup_leaf_door(struct cgroup_tree *tree, const char *pod, const char *leaf,
                      struct cgroup_door *ret_door);
void cgroup_door_done(struct cgroup_door *door);
bool cgroup_leaf_is_populated(struct cgroup_tree *tree, const char *pod, const char *leaf);
/* Kills all processes in it; without cgroup.kill, pid by pid until none is left to be found. */
int cgroup_leaf_kill(struct cgroup_tree *tree, const char *pod, const char *leaf);
bool cgroup_leaf_remove(struct cgroup_tree *tree, const char *pod, const char *leaf); /* gone? */
/* A descriptor that becomes readable (EPOLLPRI) when the leaf empties or fills; -1: none. */
int cgroup_leaf_events(struct cgroup_tree *tree, const char *pod, const char *leaf);
int64_t cgroup_leaf_oom_kills(struct cgroup_tree *tree, const char *pod, const char *leaf);

struct cgroup_usage {
    int64_t cpu_ns;       /* so far; -1: not known */
    int64_t memory_bytes; /* now, without reclaimable file cache; -1 */
    int64_t processes;
};
int cgroup_leaf_usage(struct cgroup_tree *tree, const char *pod, const char *leaf,
                      struct cgroup_usage *ret_usage);
/* Leaves that are there, of all pods: for what a dead supervisor left. */
void cgroup_each_leaf(struct cgroup_tree *tree,
                      void (*each)(void *arg, const char *pod, const char *leaf), void *arg);
/* The supervisor and its spawner in a group of their own above all pods. */
int cgroup_own(struct cgroup_tree *tree, const char *name, int64_t cpu_weight, int pid,
               struct err *err);
/* Shares and weights: quadratic, so that 1024 shares are weight 100. */
int64_t cgroup_weight_of_milli(int64_t cpu_request_milli);
int64_t cgroup_shares_of_weight(int64_t weight);
