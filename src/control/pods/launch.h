// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "store/cache.h"

/* What a container needs to run, resolved from the pod and the ConfigMaps it names: everything a
 * runtime must know, nothing it must look up. Lives in an arena. */
struct launch_mount {
    enum { MOUNT_EMPTY_DIR, MOUNT_HOST_PATH, MOUNT_CONFIG_MAP } type;
    const char *volume;   /* its name in the pod */
    const char *path;     /* where the container sees it */
    const char *sub_path; /* relative, without ".."; NULL: the whole volume */
    const char *host_path;
    const char *host_path_type; /* "", "DirectoryOrCreate", "File" ... */
    bool is_read_only;
    bool is_memory;     /* emptyDir medium Memory */
    int64_t size_bytes; /* emptyDir sizeLimit; 0: none */
    /* Of MOUNT_CONFIG_MAP, which also stands for downwardAPI and projected: what is in it. */
    size_t n_files;
    const struct launch_file {
        const char *path; /* relative, without ".." */
        const char *data;
        size_t len;
        int mode;
    } * files;
};
struct launch {
    const char *const *argv; /* NULL-terminated; $(VAR) replaced */
    const char *const *envp; /* "NAME=value", NULL-terminated, no name twice */
    const char *dir;         /* NULL: the runtime's choice */
    const char *image;       /* "" for a plain process */
    const char *stop_signal; /* "SIGTERM" unless the pod says otherwise */
    int64_t uid, gid;        /* -1: the supervisor's own */
    const int64_t *groups;   /* supplementalGroups and fsGroup */
    size_t n_groups;
    int64_t fs_group;                           /* that owns the volumes; -1: none */
    int64_t cpu_request_milli, cpu_limit_milli; /* 0: none */
    int64_t memory_request_bytes, memory_limit_bytes;
    int64_t pids_limit;
    int32_t oom_score_adj; /* as kubelet sets it by the pod's QoS class */
    const struct launch_mount *mounts;
    size_t n_mounts;
    bool is_member;          /* of a group that restarts in place: it will start again */
    bool wants_notify;       /* NOTIFY_SOCKET */
    time_ms watchdog_ms;     /* WATCHDOG_USEC; 0: none */
    yyjson_val *annotations; /* of the pod, or NULL: hints for one runtime only */
};

/* Where the agent of a pod finds the server, and as whom it comes. */
struct launch_agents {
    const char *socket; /* NULL: agents are told nothing */
    /* A token for the agent of this pod, and for nothing else. */
    void (*make_token)(void *arg, const struct obj *pod, const char *jobset, struct str *out);
    void *arg;
};

/* What the node knows for fieldRef and for the environment. */
struct launch_node {
    const char *name, *host_ip;
    struct launch_agents agents;
    const char *pod_ip;
    /* "NAME=value", NULL-terminated: the environment of every process before the pod's own
     * variables; PATH is added when it is missing. NULL for a runtime that has images, which bring
     * theirs. */
    const char *const *base_env;
    const char *hosts_dir; /* where runtime_ops.hosts puts names of members; NULL: nowhere */
    int64_t uid;           /* the supervisor's own; only 0 can start processes of other users */
    int64_t cpu_milli, memory_bytes; /* what is there: containers without a limit may use it */
};
/* `container`: its object in the pod's spec. -ENOENT: a ConfigMap or a key is missing (err says
 * which; it may come). -EINVAL: the pod can never start like this. -ENOTSUP: something no runtime
 * here can do; err names the field. */
int launch_make(struct arena *arena, const struct cache *cache, const struct obj *pod,
                yyjson_val *container, const struct launch_node *node, struct launch *ret_launch,
                struct err *err);
/* Fields of the pod that the process runtime does not have: 0, or -ENOTSUP with the path of the
 * first and the remedy. `ignore_images`: of all pods; a pod can ask for it with the annotation
 * muster.dev/runtime: process. */
int launch_supported(const struct obj *pod, bool ignore_images, struct err *err);
