// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/timetext.h"
#include <stdbool.h>

/* What a Job needs now, decided from what it wants and what is there. */
#define JOB_BACKOFF_BASE_MS 10000 /* after the first failure; doubles with each further one */
#define JOB_BACKOFF_MAX_MS 360000

struct job_facts {
    /* What is wanted; -1: not given. */
    int64_t parallelism, completions, backoff_limit, max_failed_indexes, deadline_s;
    bool is_suspended;
    bool replaces_failed_only; /* a pod that is being stopped keeps its place until it has ended */
    bool counts_per_index;     /* each index has its own limit and its own pauses */
    bool restarts_in_place;    /* restartPolicy OnFailure: restarts count as failures */
    /* What is there. Succeeded of an indexed Job are its indexes. */
    int64_t active, terminating, succeeded, failed, failed_indexes, restarts;
    bool is_success_policy_met;
    time_ms started;      /* 0: not yet */
    int64_t failures;     /* in a row, without a success in between */
    time_ms last_failure; /* when the last of them ended */
};

enum job_end { JOB_GOES_ON, JOB_SUCCEEDS, JOB_FAILS };

struct job_plan {
    enum job_end end;
    const char *reason, *message; /* of the end */
    int64_t create, remove;       /* pods, while it goes on */
    time_ms wake;                 /* when time alone changes this; TIME_NEVER */
};

struct job_plan job_plan(const struct job_facts *facts, time_ms now);
/* How long to wait after the last of `failures` failures in a row; 0 for none. */
time_ms job_backoff(int64_t failures);
