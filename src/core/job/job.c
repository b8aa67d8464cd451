// SPDX-License-Identifier: Apache-2.0
#include "core/job/job.h"

time_ms job_backoff(int64_t failures)
{
    time_ms pause = failures > 0 ? JOB_BACKOFF_BASE_MS : 0;
    for (int64_t i = 1; i < failures && pause < JOB_BACKOFF_MAX_MS; i++)
        pause *= 2;
    return pause < JOB_BACKOFF_MAX_MS ? pause : JOB_BACKOFF_MAX_MS;
}

static void end_as(struct job_plan *plan, enum job_end end, const char *reason, const char *message)
{
    plan->end = end;
    plan->reason = reason;
    plan->message = message;
}

static bool is_past_backoff_limit(const struct job_facts *facts)
{
    if (facts->backoff_limit < 0)
        return false;
    if (facts->failed > facts->backoff_limit)
        return true;
    if (!facts->restarts_in_place || facts->restarts == 0)
        return false;
    return facts->restarts >= facts->backoff_limit;
}

static time_ms deadline_of(const struct job_facts *facts)
{
    if (facts->deadline_s < 0 || facts->is_suspended || facts->started == 0)
        return TIME_NEVER;
    return facts->deadline_s > (TIME_NEVER - facts->started) / 1000
               ? TIME_NEVER
               : facts->started + facts->deadline_s * 1000;
}

static bool is_complete(const struct job_facts *facts)
{
    if (facts->active > 0)
        return false;
    return facts->completions < 0 ? facts->succeeded > 0 : facts->succeeded >= facts->completions;
}

/* The first reason that holds is the one that is told. */
static void decide_end(const struct job_facts *facts, time_ms now, struct job_plan *plan)
{
    if (is_past_backoff_limit(facts))
        end_as(plan, JOB_FAILS, "BackoffLimitExceeded",
               "Job has reached the specified backoff limit");
    else if (deadline_of(facts) <= now)
        end_as(plan, JOB_FAILS, "DeadlineExceeded",
               "Job was active longer than specified deadline");
    else if (facts->max_failed_indexes >= 0 && facts->failed_indexes > facts->max_failed_indexes)
        end_as(plan, JOB_FAILS, "MaxFailedIndexesExceeded",
               "Job has exceeded the specified maximal number of failed indexes");
    else if (facts->failed_indexes > 0 &&
             facts->failed_indexes + facts->succeeded >= facts->completions)
        end_as(plan, JOB_FAILS, "FailedIndexes", "Job has failed indexes");
    else if (facts->is_success_policy_met)
        end_as(plan, JOB_SUCCEEDS, "SuccessPolicy", "Matched rules of the success policy");
    else if (is_complete(facts))
        end_as(plan, JOB_SUCCEEDS, "CompletionsReached",
               "Reached expected number of succeeded pods");
}

static int64_t wanted_active(const struct job_facts *facts)
{
    if (facts->is_suspended)
        return 0;
    /* A work queue: the first success says that there is no more work to take. */
    if (facts->completions < 0)
        return facts->succeeded > 0 ? facts->active : facts->parallelism;
    int64_t left = facts->completions - facts->succeeded;
    left = left < 0 ? 0 : left;
    return left < facts->parallelism ? left : facts->parallelism;
}

struct job_plan job_plan(const struct job_facts *facts, time_ms now)
{
    struct job_plan plan = {.wake = TIME_NEVER};
    decide_end(facts, now, &plan);
    if (plan.end != JOB_GOES_ON)
        return plan;
    plan.wake = deadline_of(facts);
    int64_t wanted = wanted_active(facts);
    if (facts->active > wanted) {
        plan.remove = facts->active - wanted;
        return plan;
    }
    int64_t held = facts->replaces_failed_only ? facts->terminating : 0;
    int64_t create = wanted - facts->active - held;
    if (create <= 0)
        return plan;
    time_ms due = facts->counts_per_index ? 0 : facts->last_failure + job_backoff(facts->failures);
    if (facts->failures > 0 && due > now)
        plan.wake = due < plan.wake ? due : plan.wake;
    else
        plan.create = create;
    return plan;
}
