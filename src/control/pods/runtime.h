// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/pods/launch.h"
#include "core/start/start.h"

/* The port to whatever runs containers: plain processes (src/node), a container engine, or the
 * simulator. Every call returns at once; answers come through `on_event`, never from within the
 * call. Units are named, not pointed to, so that a supervisor that was started anew can go on. */
struct runtime_unit {
    const char *uid; /* of the pod */
    const char *container;
    uint32_t generation; /* of the container, from 1 */
};

struct runtime_pod {
    const char *uid, *ns, *name;
    size_t n_containers;
    double share;               /* of its weight: less than 1 while it starts */
    int64_t cpu_request_milli;  /* of all containers: the slice's weight */
    int64_t cpu_limit_milli;    /* 0: none */
    int64_t memory_limit_bytes; /* 0: none */
};

enum runtime_event_type {
    RT_PREPARED,    /* `text` says why not, or is NULL */
    RT_RUNNING,     /* `pid` */
    RT_NOT_RUN,     /* `text`: "exec /bin/x: No such file or directory" */
    RT_ENDED,       /* `exit_code` (128 + signal), `is_oom`; nothing of it is left */
    RT_ANSWER,      /* of a question: `ticket`, `is_ok`, `text` */
    RT_NOTIFY,      /* a line from the notify socket: `text` "READY=1" */
    RT_FOUND,       /* answer to adopt(): it runs, or has ended (`has_ended`) and nobody was told */
    RT_FOUND_ALL,   /* end of that list; `unit` is empty */
    RT_POD_REMOVED, /* slice, volumes and files are gone */
};
struct runtime_event {
    enum runtime_event_type type;
    struct runtime_unit unit;
    const char *text;
    int pid;
    int exit_code;
    bool is_oom;
    bool has_ended;
    bool is_ok;
    uint64_t ticket;
    time_ms at; /* wall: when it started or ended */
};
typedef void runtime_event_fn(void *arg, const struct runtime_event *event);

/* How a probe or hook asks. */
struct runtime_question {
    enum { ASK_EXEC, ASK_HTTP, ASK_TCP, ASK_SLEEP } type;
    const char *const *argv; /* ASK_EXEC; runs as the container does */
    const struct launch *as;
    const char *host; /* "" is the pod's own */
    int port;
    const char *path, *scheme;
    const char *const *headers; /* "Name: value" */
    time_ms timeout_ms;         /* ASK_SLEEP: how long */
};

struct runtime {
    const struct runtime_ops *ops;
    bool notifies; /* every container says READY=1, whether its pod asks for it or not */
};
struct runtime_ops {
    const char *name; /* "process" */
    void (*listen)(struct runtime *runtime, runtime_event_fn *fn, void *arg);
    /* Lists what an earlier supervisor left: RT_FOUND ..., RT_FOUND_ALL. */
    void (*adopt)(struct runtime *runtime);
    void (*prepare)(struct runtime *runtime, const struct runtime_unit *unit, const char *image);
    /* The pod's slice; again after an adoption. What goes wrong is told when its units start. */
    void (*pod_create)(struct runtime *runtime, const struct runtime_pod *pod);
    void (*pod_weigh)(struct runtime *runtime, const struct runtime_pod *pod); /* `share` */
    void (*start)(struct runtime *runtime, const struct runtime_unit *unit,
                  const struct launch *launch);
    /* Brings files of ConfigMaps and of the pod itself up to date; how many volumes changed. May be
     * NULL: then they stay as they were at the start. */
    int (*refresh)(struct runtime *runtime, const struct runtime_unit *unit,
                   const struct launch *launch);
    void (*signal)(struct runtime *runtime, const struct runtime_unit *unit, int signo);
    void (*kill)(struct runtime *runtime, const struct runtime_unit *unit); /* all of it, now */
    void (*ask)(struct runtime *runtime, const struct runtime_unit *unit,
                const struct runtime_question *question, uint64_t ticket);
    /* The end of this unit is durable elsewhere: the runtime need not remember it any longer. */
    void (*forget)(struct runtime *runtime, const struct runtime_unit *unit);
    /* No process of it is left: slice and volumes go, logs stay. RT_POD_REMOVED */
    void (*pod_remove)(struct runtime *runtime, const char *uid);
    /* The object is gone, so its logs go too. */
    void (*pod_forget)(struct runtime *runtime, const struct runtime_pod *pod);
    /* The names of a JobSet's members, as text of /etc/hosts, for its processes to read at
     * launch_node.hosts_dir/SET; NULL: no pod of it is left. May be NULL itself. */
    void (*hosts)(struct runtime *runtime, const char *set, const char *text_or_null);
    /* After RT_FOUND_ALL: whatever is kept of pods that are not known any more goes. */
    void (*sweep)(struct runtime *runtime, bool (*is_known)(void *arg, const char *uid), void *arg);
};
