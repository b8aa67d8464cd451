// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/heap.h"
#include "base/vec.h"
#include "core/start/line.h"
#include "core/start/start.h"

/* What the files of the engine share. A call from outside goes: a door (start.c) -> what happens to
 * one container (pod.c, ready.c, restart.c, stop.c) -> start_settle(), which draws the conclusions
 * for each pod that was touched. Effects only gather; nothing waits for them. */

#define START_EXIT_NOT_RUN 128 /* the code rules see when exec failed */
#define START_CATCH_UP_MS                                                                          \
    1000 /* after a tick this late nobody is judged until as much has passed */

struct start_timer {
    struct heap_node node;
    struct start_pod *pod;
    struct start_ct *ct; /* NULL: the pod's own */
};

struct asked { /* one probe of a container */
    struct probe probe;
    uint64_t ticket; /* of the question that is out; 0: none */
};

struct start_ct {
    struct start_pod *pod;
    uint32_t index;
    struct start_container_spec spec; /* own copies; `needs` is in the graph */

    enum container_state state;
    time_ms since;
    uint32_t generation, restarts;
    bool is_prepared;
    bool is_under_way; /* FX_START has no answer yet: counted in start->n_under_way */
    bool is_running;   /* start_running() came for this generation */
    bool is_notified;
    bool is_ending; /* told to end for `ending_why`, not reaped */
    bool is_ready;
    bool is_final;
    bool is_done;    /* ready, or completed for good: counted in pod->n_done */
    bool has_exited; /* exit_code is of this generation */
    bool is_touched; /* in start->touched */
    enum start_reason ending_why, why;
    int exit_code;
    time_ms started_at, ready_at, ended_at;

    uint32_t backoffs; /* restarts in a row, each soon after the start */
    time_ms again_at, kill_at;
    time_ms timeout_at, timeout_lag; /* see start->lag */
    struct start_timer timer;
    struct line_item item;
    uint32_t watched; /* the need that was unmet when last looked at: look there first */
    uint32_t waiters; /* while the pod ends: dependents that still run */
    /* Most containers have no probe at all: then there is no room for any. */
    int n_probes; /* PROBE_KINDS, or 0 */
    struct asked *probes;

    struct start_end last; /* how the generation before ended */
    uint8_t n_moves;       /* of this generation */
    struct start_move moves[START_MOVES_KEPT];
};

enum start_want { WANT_RUN, WANT_FINISH, WANT_STOP }; /* FINISH: it came to its own end */

struct start_pod {
    struct start *start;
    size_t index; /* in start->pods */
    char *uid;
    void *host;
    time_ms grace_ms;
    struct graph *graph;
    struct start_ct *cts;
    uint32_t n, n_init; /* init containers and sidecars come first */
    struct line_pod lines[2];
    struct start_timer timer;

    enum start_want want;
    bool is_restarting; /* all end, then all begin anew */
    bool is_member;
    bool is_held;      /* a member behind the barrier: nothing of it starts */
    bool has_main_run; /* since all began: a lone sidecar holds nobody back any more */
    bool has_init_failed, has_missed_deadline;
    bool is_starting, is_over;
    bool is_dirty, is_changed, is_change_queued;
    uint32_t init_at; /* the first init container or sidecar that has not let the next one on */
    uint32_t n_alive, n_done, n_mains_final;
    uint32_t top_alive; /* while it ends: no container at or behind this index runs */
    time_ms deadline_at, kill_at, again_at;
    size_t n_effects; /* not taken yet */
};

struct start {
    struct start_settings settings;
    struct gate *gate;
    struct line *lines[2]; /* [true]: those that take a slot */
    struct gate_verdict verdicts[2];
    bool wants_admission;
    size_t n_under_way; /* starts that the host has not answered */
    time_ms ask_at;
    time_ms now;
    time_ms
        lag; /* by how much all ticks so far were late, in sum: start time-outs stand still then */
    time_ms judge_at; /* of those that started before the last very late tick: not sooner */
    uint64_t next_ticket;
    struct heap timers;
    VEC(struct start_pod *) pods;
    VEC(struct start_pod *) dirty;
    VEC(struct start_ct *) touched;
    VEC(struct start_effect) effects;
    size_t first_effect;
    struct start_stats stats; /* moves, timeouts, restarts, states */
};

/* start.c */
struct start_effect *start_effect(struct start_ct *ct, enum start_effect_type type);
void start_pod_effect(struct start_pod *pod, enum start_effect_type type);
void start_settle(struct start *start);
bool start_has_sign(const struct start_ct *ct); /* of readiness; else it is ready at once */
bool start_takes_slot(const struct start_ct *ct);
void start_ct_answered(struct start_ct *ct); /* it runs, or will not */
void start_arm(struct start *start, struct start_timer *timer, time_ms at);

/* pod.c: one container in its pod */
struct start_pod *start_pod_make(struct start *start, const struct start_pod_spec *spec,
                                 time_ms now);
void start_pod_free(struct start_pod *pod);
void start_pod_touch(struct start_pod *pod);
void start_pod_settle(struct start_pod *pod);
void start_pod_review(struct start_pod *pod); /* after adoption: who may start? */
void start_pod_on_timer(struct start_pod *pod);
void start_ct_touch(struct start_ct *ct);
void start_ct_move(struct start_ct *ct, enum container_event event);
void start_ct_note_move(struct start_ct *ct);
void start_ct_begin(struct start_ct *ct); /* downloading: fetch, or on to blocked */
bool start_ct_may_start(struct start_ct *ct);
void start_ct_try(struct start_ct *ct);    /* blocked: on to pending when it may */
void start_ct_spread(struct start_ct *ct); /* what others wait for may have changed */
void start_ct_set_final(struct start_ct *ct, bool is_final);
bool start_ct_is_completed(const struct start_ct *ct);
bool start_ct_meets(const struct start_ct *ct, enum dep_condition condition);

/* ready.c */
void start_ct_on_timer(struct start_ct *ct);
time_ms start_ct_deadline(const struct start_ct *ct);
void start_ct_ran(struct start_ct *ct);
void start_ct_begin_probes(struct start_ct *ct);
void start_ct_stop_probes(struct start_ct *ct);
void start_ct_update_ready(struct start_ct *ct);
void start_ct_arm_timeout(struct start_ct *ct);

/* restart.c */
void start_ct_ended(struct start_ct *ct, enum container_event event, int code,
                    enum start_reason why);
/* What follows from an exit. After adoption part of it may be decided already. */
void start_ct_decide(struct start_ct *ct, bool is_handled, bool waits_again);
void start_ct_again(struct start_ct *ct);
void start_pod_restart_all(struct start_pod *pod, time_ms delay_ms);
void start_pod_go_on_restarting(struct start_pod *pod);
void start_pod_fall(struct start_pod *pod); /* a member: all of it ends, and is held */

/* stop.c */
void start_ct_unfit(struct start_ct *ct, enum start_reason why, time_ms grace_ms);
void start_ct_kill(struct start_ct *ct, enum start_reason why);
void start_pod_end(struct start_pod *pod, enum start_want want, time_ms grace_ms);
void start_pod_go_on_ending(struct start_pod *pod, struct start_ct *ended);
void start_pod_kill_rest(struct start_pod *pod);
