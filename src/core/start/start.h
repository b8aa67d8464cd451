// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/start/container.h"
#include "core/start/gate.h"
#include "core/start/graph.h"
#include "core/start/probe.h"

/* The engine of one node: decides when each container of each pod starts, is probed, is told to end
 * and starts again. Events in, effects out, time as an argument; the host acts on the effects and
 * reports what came of them. One door for everything, so that the simulator can stand in for the
 * world. */
struct start;
struct start_pod; /* one pod on this node */

enum start_role { START_INIT, START_SIDECAR, START_MAIN };
enum start_policy { RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_NEVER };
enum start_action { ACTION_RESTART, ACTION_RESTART_ALL, ACTION_TERMINATE };
#define START_TIMEOUT_USUAL (-1)
enum start_probe_kind { PROBE_STARTUP, PROBE_READINESS, PROBE_LIVENESS, PROBE_KINDS };

struct start_rule {
    enum start_action action;
    bool is_not_in;
    const int *codes;
    size_t n_codes;
};

/* Everything is copied by start_pod_add(). */
struct start_container_spec {
    const char *name;
    enum start_role role;
    bool has_image;
    bool has_notify;   /* READY=1 is awaited when there is no probe */
    bool has_pre_stop; /* told to end: the host runs the hook first */
    /* It gets ready when others on this node have started, so it must not keep their slots: an
     * agent at its barrier. */
    bool awaits_others;
    enum start_policy policy;
    const struct start_rule *rules;
    size_t n_rules;
    const struct graph_edge *needs; /* dependsOn: indices into the pod's containers */
    size_t n_needs;
    struct probe_settings probes[PROBE_KINDS];
    time_ms start_timeout_ms; /* 0: none; START_TIMEOUT_USUAL: that of the settings */
};
struct start_pod_spec {
    const char *uid;
    int64_t priority;
    time_ms grace_ms;
    time_ms deadline_ms; /* activeDeadlineSeconds, what is left of it from now on; 0: none */
    bool is_member; /* of a group that starts together: held until start_pod_release(); see there */
    const struct start_container_spec *containers; /* init and sidecars first, as declared */
    size_t n_containers;
    void *host; /* the host's own, start_pod_host() */
};

struct start_settings {
    struct gate_settings gate;
    time_ms start_timeout_ms; /* 5 min; what holds when a container starts; 0: none */
    time_ms backoff_first_ms, backoff_max_ms, backoff_reset_ms; /* 10 s, 5 min, 10 min */
};
void start_settings_default(struct start_settings *settings, double cores);

struct start *start_new(const struct start_settings *settings);
void start_free(struct start *start);
void start_set(struct start *start, const struct start_settings *settings, time_ms now);
void start_sample(struct start *start, const struct gate_sample *sample, time_ms now);
bool start_wants_samples(const struct start *start);

/* ---- what the host must do ---- */

enum start_effect_type {
    FX_PREPARE,  /* fetch the image; answer start_prepared() */
    FX_START,    /* make generation `generation` run; answer start_running() or start_not_run() */
    FX_TERM,     /* run preStop if there is one, then tell it to end; `grace_ms` in all */
    FX_KILL,     /* end every process in it now */
    FX_PROBE,    /* ask `probe` once; answer start_answer() with the same `ticket` */
    FX_MOVED,    /* state changed: `from`, `to`; for events, metrics, timeline */
    FX_READY,    /* whether it is ready changed (start_view.is_ready) */
    FX_WEIGHT,   /* the pod starts or is ready: its share of the CPU changes */
    FX_CHANGED,  /* something a reader of the pod's status can see changed */
    FX_POD_DOWN, /* of a member: it fell, or was restarted, and no process is left; it is held */
    FX_POD_OVER, /* no process is left and none will come: phase is final or the pod was stopped */
};
struct start_effect {
    enum start_effect_type type;
    struct start_pod *pod;
    uint32_t container; /* not of FX_WEIGHT, FX_CHANGED, FX_POD_DOWN, FX_POD_OVER */
    uint32_t generation;
    enum container_state from, to; /* of FX_MOVED */
    enum start_probe_kind probe;
    uint64_t ticket;
    time_ms grace_ms;
};
/* Effects gather inside; the host takes them one by one after each call, in order. A pod that is
 * removed takes its effects along. The throttle is asked only when all others are taken, so that
 * calls that belong together (adopt and stop, many pods at once) come before the first start. */
bool start_next(struct start *start, struct start_effect *ret_effect);

/* ---- what happened ---- */

/* NULL when `needs` is no graph (graph.h), or init containers are not first, or one of them waits
 * for a container declared after it: the model refuses such a pod before. */
struct start_pod *start_pod_add(struct start *start, const struct start_pod_spec *spec,
                                time_ms now);
/* After a restart of the supervisor: what is known of a container that was there before. */
struct start_adopted {
    bool is_known;    /* false: it never started; begins as new */
    bool is_running;  /* else it has ended with `exit` */
    bool was_started; /* the startup probe had succeeded, or it had been ready once */
    bool was_ready;
    uint32_t generation;
    uint32_t restarts;
    time_ms started_at;
    int exit_code;        /* 128 + signal for a death by signal */
    bool is_exit_handled; /* what follows from this exit was decided already; a rule that restarts
                             all does not do so twice */
    bool waits_again; /* decided: again. It was in back-off, or on its way to the next generation */
    bool is_restarting_all; /* why was WHY_RESTARTING_ALL: that restart of all goes on */
    bool has_run; /* a main container: it had run since all began, whatever it waits for now */
    bool is_lost; /* nobody saw it end: the node was stopped, or lost its power. No fault of its
                     own, so it starts again without a back-off */
    time_ms ended_at;
};
struct start_pod *start_pod_adopt(struct start *start, const struct start_pod_spec *spec,
                                  const struct start_adopted *containers, time_ms now);
/* Deletion, or the server is going down: everything ends in reverse order of dependencies, within
 * `grace_ms` in all. Asked again with less grace it hurries. */
void start_pod_stop(struct start *start, struct start_pod *pod, time_ms grace_ms, time_ms now);
/* All containers end at once and begin anew with the init containers (RestartAllContainers, a
 * group restart). A member is held then. */
void start_pod_restart(struct start *start, struct start_pod *pod, time_ms now);
/* A member may start its containers, until it falls: where another pod would start a main container
 * again after its end, or all of them, a member ends as a whole, without a back-off, and is held;
 * whether it starts again is the group's decision. After an adoption a member is held exactly when
 * none of its processes is left. */
void start_pod_release(struct start *start, struct start_pod *pod, time_ms now);
void start_pod_remove(struct start *start, struct start_pod *pod); /* after FX_POD_OVER */

void start_prepared(struct start *start, struct start_pod *pod, uint32_t container,
                    const char *problem_or_null, time_ms now);
/* Answers about another generation than the current one are ignored. */
void start_running(struct start *start, struct start_pod *pod, uint32_t container,
                   uint32_t generation, time_ms now);
void start_not_run(struct start *start, struct start_pod *pod, uint32_t container,
                   uint32_t generation, time_ms now);
struct start_exit {
    uint32_t generation;
    int code; /* 128 + signal for a death by signal */
    bool is_oom;
};
void start_ended(struct start *start, struct start_pod *pod, uint32_t container,
                 const struct start_exit *end, time_ms now);
void start_answer(struct start *start, struct start_pod *pod, uint64_t ticket, bool is_ok,
                  time_ms now);
/* From the notify socket. */
void start_notified_ready(struct start *start, struct start_pod *pod, uint32_t container,
                          time_ms now);
void start_extend_timeout(struct start *start, struct start_pod *pod, uint32_t container,
                          time_ms by_ms, time_ms now);
/* A watchdog that was not fed, or anything else that makes a container unfit: as a failed liveness
 * probe. */
void start_unhealthy(struct start *start, struct start_pod *pod, uint32_t container, time_ms now);

/* Timers. A tick that comes `late_ms` too late (the supervisor itself was starved or stopped)
 * moves start time-outs by that much instead of failing everybody. */
time_ms start_deadline(const struct start *start);
void start_tick(struct start *start, time_ms now, time_ms late_ms);
/* Nothing is due but probes of containers that are ready. Looks at every timer. */
bool start_is_steady(const struct start *start);

/* ---- what is ---- */

enum start_phase { PHASE_PENDING, PHASE_RUNNING, PHASE_SUCCEEDED, PHASE_FAILED };
enum start_reason { /* why a container waits or why it ended */
                    WHY_NONE,
                    WHY_DEPENDENCY,        /* blocked by `blocker` */
                    WHY_DEPENDENCY_FAILED, /* blocked by `blocker`, which failed for good */
                    WHY_INIT,              /* blocked by an earlier init container, `blocker` */
                    WHY_GROUP,             /* blocked: a member that is held */
                    WHY_GATE,              /* pending: `gate` */
                    WHY_BACKOFF,           /* over, starts again at `again_at` */
                    WHY_RESTARTING_ALL,
                    WHY_STOPPED,        /* told to end */
                    WHY_TIMEOUT,        /* did not get ready in time */
                    WHY_STARTUP_PROBE,  /* killed by a failed startup probe */
                    WHY_LIVENESS_PROBE, /* killed by a failed liveness probe or watchdog */
                    WHY_NOT_RUN,        /* exec failed */
                    WHY_PREPARE,        /* image could not be had */
                    WHY_OOM,
                    WHY_EXIT, /* it ended by itself */
};
#define START_MOVES_KEPT 8
struct start_move {
    enum container_state state;
    time_ms at;
};
struct start_end { /* how a generation ended */
    uint32_t generation;
    int exit_code;
    enum start_reason why;
    time_ms started_at, ended_at;
};
struct start_view {
    const char *name;
    enum start_role role;
    enum container_state state;
    uint32_t generation; /* 1 for the first run; 0 before */
    uint32_t restarts;
    bool is_ready;   /* now */
    bool is_started; /* startup is behind it */
    bool is_ending;  /* told to end, not reaped yet */
    bool is_final;   /* over, and will not start again */
    enum start_reason why;
    uint32_t blocker;
    struct gate_verdict gate;
    enum start_reason ended_why; /* how this generation ended, whatever it waits for now */
    time_ms again_at;
    time_ms since;                          /* when `state` was entered */
    time_ms started_at, ready_at, ended_at; /* of this generation; 0: not */
    int exit_code;
    struct start_end last; /* generation 0: there was none */
    size_t n_moves;        /* of this generation, oldest first */
    struct start_move moves[START_MOVES_KEPT];
};
void start_view(const struct start_pod *pod, uint32_t container, struct start_view *ret_view);
enum start_phase start_pod_phase(const struct start_pod *pod);
/* Until it has been ready as a whole, and again when all its containers restart. */
bool start_pod_is_starting(const struct start_pod *pod);
bool start_pod_is_ready(const struct start_pod *pod);       /* all are ready (or completed) */
bool start_pod_is_initialized(const struct start_pod *pod); /* init containers are through */
bool start_pod_is_stopping(const struct start_pod *pod);
bool start_pod_is_held(const struct start_pod *pod); /* for tests */
bool start_pod_has_process(const struct start_pod *pod);
bool start_pod_is_over(const struct start_pod *pod); /* for tests */
bool start_pod_missed_deadline(const struct start_pod *pod);
void *start_pod_host(const struct start_pod *pod);

struct start_stats {
    size_t pods, states[CT_STATE_COUNT], starting_slots;
    uint64_t moves[CT_STATE_COUNT], forced, timeouts, restarts;
};
void start_stats(const struct start *start, struct start_stats *ret_stats);
/* All invariants, for tests and the simulator: NULL, or what is wrong. */
const char *start_check(const struct start *start);
