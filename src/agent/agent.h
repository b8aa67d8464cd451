// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "agent/barrier.h"
#include "agent/config.h"
#include "agent/pod.h"
#include "agent/watch.h"
#include "agent/worker.h"
#include "core/recover/member.h"

/* One agent: joins what it hears (watch, pod, worker, signals) to the member's machine, and does
 * what that says. */
struct agent {
    const struct config *config;
    struct member member;
    struct member_status status; /* of the JobSet, as last seen */
    char jobset_uid[UID_MAX];    /* another JobSet of this name is none of ours */
    bool has_status;
    bool is_bypassed; /* this JobSet does not restart in place: the barrier is open */
    struct watch watch;
    struct pod pod;
    struct worker worker;
    struct barrier barrier;
    struct rng rng;
    int signal_fd;
    int told_to_end;  /* the signal; 0: not */
    time_ms kill_at;  /* SIGTERM was sent to the worker: SIGKILL then */
    time_ms start_at; /* the worker could not be forked: tried again then */
    time_ms sweep_at; /* the worker has left something behind: killed again then */
    time_ms now;
    bool is_over;
    int exit_code;
};

/* Runs until there is nothing more to do; returns the exit code. */
int agent_run(struct agent *agent, const struct config *config, struct err *err);
