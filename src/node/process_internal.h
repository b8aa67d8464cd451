// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "node/cgroup.h"
#include "node/node.h"
#include "node/notifysock.h"
#include "node/prober.h"
#include "node/spawners.h"
#include "node/volumes.h"
#include <bsd/sys/queue.h>

/* Shared by the files of the process runtime. */
enum punit_stage {
    PUNIT_ASKED,    /* the spawner has the request */
    PUNIT_RUNNING,  /* its first process lives */
    PUNIT_DRAINING, /* that one has ended; others in its control group are being killed */
    PUNIT_ENDED,    /* nothing is left; kept until forgotten */
};

#define SPARES_QUIET_MS 500

struct ppod;

struct punit { /* one container in one generation */
    LIST_ENTRY(punit) siblings;
    struct process_runtime *runtime;
    struct ppod *pod;
    char *id; /* "uid/container/generation" */
    char *uid, *container;
    uint32_t generation;
    char *leaf;
    struct cgroup_limits limits;
    enum punit_stage stage;
    bool has_leaf;
    bool is_member;    /* of a group that restarts in place */
    bool is_forgotten; /* nobody waits for its end */
    int pid;
    int exit_code;
    bool is_oom;
    time_ms at; /* wall: started, or ended */
    int64_t oom_before;
    int64_t uid_of; /* of its user; -1: ours */
    int events_fd;
    struct loop_io *events_io;
    struct loop_timer drain;
    time_ms drain_step_ms;
    struct notifysock *notify;
    LIST_HEAD(, pask) asks;
};

struct ppod {
    char *uid;
    char *ns, *name; /* NULL until the pod is known (again) */
    int64_t weight;  /* of the slice now */
    size_t n_containers;
    char *problem;   /* why its slice could not be made, or NULL */
    char *spare;     /* the leaf that was made last for a next start, or NULL */
    bool is_removed; /* goes with its last unit */
    LIST_HEAD(, punit) units;
};

struct pask { /* one question under way */
    LIST_ENTRY(pask) siblings;
    struct process_runtime *runtime;
    uint64_t own;    /* our number: callers' tickets are not unique over pods */
    uint64_t ticket; /* theirs */
    char *uid, *container;
    uint32_t generation;
    char *id; /* of the process that answers (ASK_EXEC), or NULL */
    bool is_network;
    bool is_late; /* was killed by the time-out */
    struct loop_timer timer;
};

struct later { /* an answer that must not come from within the call */
    enum runtime_event_type type;
    char *uid, *container, *text;
    uint32_t generation;
};

struct process_runtime {
    struct runtime port; /* first */
    struct loop *loop;
    char *data, *pods_dir;
    int64_t nofile_soft;
    struct cgroup_tree *tree;
    struct cgroup_can can;
    struct str warning;
    struct spawners *spawners;
    struct logs *logs;
    struct prober *prober;
    struct volumes *volumes;
    struct usage *usage;
    VEC(char *) spares; /* ids of members whose next start is to be prepared */
    time_ms spares_from, spares_latest;
    struct loop_timer make_spares;
    VEC(char *) clinging; /* UIDs of pods whose groups the kernel did not let go yet */
    time_ms clinging_pause_ms;
    struct loop_timer remove_groups;
    VEC(char *) removing; /* UIDs of pods whose files go, a few each turn */
    struct loop_task remove_some;
    struct map *units; /* by id */
    struct map *pods;  /* by uid */
    struct map *asks;  /* by number as text */
    uint64_t next_ask;
    runtime_event_fn *fn;
    void *arg;
    bool is_adopting, is_closing;
    VEC(struct later) later;
    struct loop_task tell_later;
};

/* process.c */
void process_tell(struct process_runtime *rt, const struct runtime_event *event);
struct punit *process_unit(struct process_runtime *rt, const struct runtime_unit *unit);
struct punit *punit_new(struct process_runtime *rt, const char *uid, const char *container,
                        uint32_t generation);
void punit_free(struct punit *unit); /* and its pod, when that only waited for it */
int punit_listen(struct punit *unit, struct err *err); /* on its notify socket */
void punit_keep_ready(const struct punit *unit);       /* that it said so, for who comes after us */
void punit_measure(struct punit *unit);                /* what it uses, from now on */
char *punit_notify_path(const struct punit *unit);
char *punit_leaf_name(const char *container, uint32_t generation);
struct runtime_unit punit_name(const struct punit *unit);
struct log_name punit_log(const struct punit *unit);

/* process_end.c: from the exit of the first process to an empty control group. */
void punit_exited(struct punit *unit, const struct spawn_reply *reply);
void punit_kill(struct punit *unit);
void punit_forget(struct punit *unit); /* it has ended, and that is known for good */
int exit_code_of(const struct spawn_reply *reply);

/* process_spare.c: members are prepared for their next start. */
void punit_ask_spare(struct punit *unit);
void process_make_spares(void *rt);
void process_spares_done(struct process_runtime *rt);

/* process_groups.c: control groups of pods that are gone. */
void process_groups_init(struct process_runtime *rt);
void process_groups_done(struct process_runtime *rt);
void process_remove_group(struct process_runtime *rt, const char *uid);

/* process_ask.c: probes and hooks. */
void process_ask(struct runtime *runtime, const struct runtime_unit *unit,
                 const struct runtime_question *question, uint64_t ticket);
bool process_ask_reply(struct process_runtime *rt, const struct spawn_reply *reply);
void process_ask_answer(void *arg, uint64_t own, bool is_ok, const char *text);
void process_asks_of(struct punit *unit); /* those under way are dropped */

/* process_hosts.c */
void process_hosts(struct runtime *runtime, const char *set, const char *text_or_null);
void process_hosts_sweep(const struct process_runtime *rt);

/* process_adopt.c: what an earlier supervisor left. */
void process_adopt(struct runtime *runtime);
void process_adopt_reply(struct process_runtime *rt, const struct spawn_reply *reply);
void process_sweep(struct runtime *runtime, bool (*is_known)(void *arg, const char *uid),
                   void *arg);
/* An adopted unit of a pod that is known again: its log is watched, its notify socket is ours. */
void punit_resume(struct punit *unit);
