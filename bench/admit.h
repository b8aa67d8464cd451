// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"
#include "bench/proc.h"
#include "bench/wire.h"
#include "os/loop.h"
#include <stdint.h>
#include <sys/types.h>

/* The workloads of Kueue's own benchmark, and the part of its runner: they are created at their
 * times, run for as long as they say once they are admitted, and are then finished.
 *   admit.c        the command line, and what is told at the end;
 *   admit_play.c   the job side: who is created, ready, finished, and when;
 *   admit_seen.c   what watches say: state of each workload, use of each queue;
 *   admit_text.c   requests. */

#define SORTS_MAX 8
#define ADMIT_API "/apis/kueue.x-k8s.io/v1beta2"

struct sort { /* one class of workloads, in every queue */
    const char *name;
    uint64_t count;
    int64_t interval_ms, run_ms; /* interval 0: all at once */
    int64_t priority, cpu;
};

enum habit {
    HABIT_READY, /* at once */
    HABIT_SLOW,  /* after slow_ms */
    HABIT_FLAPS, /* the first time it loses its readiness for good, then once for flap_ms */
    HABIT_NEVER,
};

struct plan {
    struct wire_options target; /* only the address is filled in */
    size_t cohorts, queues;     /* queues of a cohort */
    struct sort sorts[SORTS_MAX];
    size_t n_sorts;
    int64_t nominal, borrowing;
    bool tells_ready;
    bool is_held;                /* all are created before the first may be admitted */
    uint64_t slow, flaps, never; /* of a thousand */
    int64_t slow_ms, flap_ms;
    uint64_t skip;       /* so many admissions are not measured */
    uint64_t stop_after; /* so many that are; 0: when all have ended */
    double limit_s;
    size_t conns;
    pid_t pid; /* of the server */
};

struct task { /* one workload */
    uint32_t queue, sort;
    uint32_t admissions, evictions;
    enum habit habit;
    bool is_admitted, holds_quota, is_evicted, is_ready, is_finished, is_given_up;
    uint64_t version;      /* newest that was seen */
    uint64_t sent_version; /* of the last write: nothing more before that one shows */
    uint64_t created_ns, admitted_ns;
    struct loop_timer timer;
    struct play *play;
};

struct queue {
    uint64_t pending, reserving; /* by its status */
    double used;                 /* CPUs, likewise */
    int64_t held;                /* CPUs of workloads that hold quota, by their own status */
    double used_s, held_s;       /* integrals over time */
    uint64_t used_ns, held_ns;   /* until when */
};

struct seen {
    uint64_t admissions, evictions, ended;
    uint64_t over_quota; /* times that a cohort or a queue held more than it may */
    uint64_t status_writes;
    uint64_t first_version, last_version;
    int64_t *cohort_held;
};

enum act { ACT_SETUP, ACT_CREATE, ACT_READY, ACT_UNREADY, ACT_CLEAR, ACT_FINISH, ACT_OPEN };

struct play {
    const struct plan *plan;
    struct loop *loop;
    struct task *tasks;
    size_t n_tasks, n_queues;
    struct queue *queues;
    struct seen seen;
    uint64_t created, conflicts;
    bool has_skipped;
    uint64_t start_ns, generated_ns, end_ns;
    struct proc_use before, after; /* of the server */
};

/* ---- admit_text.c ---- */
void text_setup(const struct plan *plan, size_t number, struct str *out);
size_t text_setup_count(const struct plan *plan, size_t *ret_first_part);
void text_act(const struct play *play, enum act act, size_t index, struct str *out);
void text_watch(const char *plural, struct str *out);

/* ---- admit_seen.c ---- */
struct wire_pool *seen_watch(struct play *play, const char *plural);
void seen_settle(struct play *play, uint64_t now_ns); /* the integrals, up to now */
bool seen_is_idle(const struct play *play);           /* all queues are, by their status */

/* ---- admit_play.c ---- */
void play_run(struct play *play);
void play_look(struct task *task); /* after something was seen of it */
