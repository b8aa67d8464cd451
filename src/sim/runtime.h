// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/rng.h"
#include "control/pods/runtime.h"
#include "sim/clock.h"

/* Containers that only pretend: the runtime port on virtual time. It lives outside the control
 * plane, as the spawner does: a crash of everything else leaves its units as they are, and adopt()
 * tells of them. How a unit behaves is written on its pod:
 *
 *   sim.muster.dev/start: 5s      from its start until it is ready: probes answer well from then on
 *                                 (`never`: they never do); 0s unless said
 *   sim.muster.dev/run: 10m       from ready until it exits with 0; for ever unless said
 *   sim.muster.dev/exit: 3@90s    exits with 3, 90 s after it was started
 *   sim.muster.dev/start-cpu: 1s  CPU that it needs before `start` begins; those that need it at
 * the same time share the cores, a core at most for each
 *
 * Each also for some containers of the pod: "web=5s,db=1m". Anything that cannot be read counts as
 * not said. */
struct sim_runtime;

struct sim_runtime_faults {
    /* Of every ten thousand: starts that come to nothing, questions answered badly, units that die
     * by themselves, units deaf to SIGTERM, forget() calls that get lost. */
    unsigned not_run, bad_answer, dies, deaf, lost_forget;
    /* At most, each drawn anew. */
    time_ms start_ms;  /* until it runs */
    time_ms death_ms;  /* from a signal to the end */
    time_ms answer_ms; /* until a question is answered */
    time_ms tell_ms;   /* until an event is heard of; their order is kept */
    time_ms life_ms;   /* of those that die by themselves */
};

enum sim_unit_step {
    SIM_UNIT_START,   /* start() was called */
    SIM_UNIT_NOT_RUN, /* and came to nothing */
    SIM_UNIT_END,     /* it is dead; nobody has been told yet */
    SIM_UNIT_FORGET,  /* dead, and now forgotten */
};

struct sim_runtime_options {
    struct sim_clock *clock; /* outlives it */
    uint64_t seed;
    struct sim_runtime_faults faults;
    /* Every unit says READY=1 when it is ready, so `start` counts without a probe, too. */
    bool notifies;
    double cores; /* 0: one for each that starts */
    /* For whoever keeps account, at the moment it happens; or NULL. */
    void (*on_step)(void *arg, enum sim_unit_step step, const struct runtime_unit *unit,
                    int exit_code);
    void *arg;
};

struct sim_runtime *sim_runtime_new(const struct sim_runtime_options *options);
void sim_runtime_free(struct sim_runtime *rt);
struct runtime *sim_runtime_port(struct sim_runtime *rt);
void sim_runtime_heal(struct sim_runtime *rt); /* all faults off */
void sim_runtime_set_faults(struct sim_runtime *rt, const struct sim_runtime_faults *faults);

/* Something ends or speaks by itself. False: no such unit is alive. */
bool sim_runtime_exit(struct sim_runtime *rt, const char *uid, const char *container, int code);
bool sim_runtime_say(struct sim_runtime *rt, const char *uid, const char *container,
                     const char *line);

size_t sim_runtime_alive(const struct sim_runtime *rt, const char *uid); /* NULL: of all pods */
double sim_runtime_busy_ms(struct sim_runtime *rt);    /* CPU time that was used by starts */
size_t sim_runtime_kept(const struct sim_runtime *rt); /* units, dead but not forgotten ones too */
/* Every living unit, in order of their start. */
void sim_runtime_each(const struct sim_runtime *rt,
                      void (*each)(void *arg, const struct runtime_unit *unit), void *arg);
uint64_t sim_runtime_starts(const struct sim_runtime *rt);
/* Share of its weight that the pod was given last; 0: there is no slice. */
double sim_runtime_share(const struct sim_runtime *rt, const char *uid);
/* What a supervisor did that it never may: started a container that is alive, or a unit that it was
 * not told the end of. NULL: nothing. */
const char *sim_runtime_violation(const struct sim_runtime *rt);
