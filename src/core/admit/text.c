// SPDX-License-Identifier: Apache-2.0
/* The words of conditions, in one place, so that what is written is what is read again. */
#include "base/mem.h"
#include "base/str.h"
#include "core/admit/admit.h"
#include <string.h>

#define DEACTIVATED "Deactivated"

static const char *const EVICTED[EVICTED_REASONS] = {
    [EVICTED_NOT] = "",
    [EVICTED_READY_TIMEOUT] = "PodsReadyTimeout",
    [EVICTED_PREEMPTED] = "Preempted",
    [EVICTED_INACTIVE] = DEACTIVATED,
    [EVICTED_LIMIT] = "DeactivatedDueToRequeuingLimitExceeded",
    [EVICTED_TOO_LONG] = "DeactivatedDueToMaximumExecutionTimeExceeded",
    [EVICTED_REFUSED] = "DeactivatedDueToAdmissionCheck",
    [EVICTED_QUEUE_STOPPED] = "ClusterQueueStopped",
    [EVICTED_LOCAL_STOPPED] = "LocalQueueStopped",
    [EVICTED_CHECK] = "AdmissionCheck",
    [EVICTED_OTHER] = "Evicted",
};

const char *admit_evicted_text(enum admit_evicted reason)
{
    return EVICTED[reason];
}

const char *admit_deactivated_text(enum admit_evicted reason)
{
    bool is_own =
        reason == EVICTED_LIMIT || reason == EVICTED_TOO_LONG || reason == EVICTED_REFUSED;
    return is_own ? EVICTED[reason] + strlen(DEACTIVATED "DueTo") : NULL;
}

/* Whatever begins with "Deactivated" is a deactivation: a reason that gets a longer name one day
 * must not leave a workload stuck. */
enum admit_evicted admit_evicted_of(const char *reason)
{
    for (size_t i = EVICTED_READY_TIMEOUT; i < ARRAY_LEN(EVICTED); i++) {
        if (str_eq(reason, EVICTED[i]))
            return (enum admit_evicted)i;
    }
    if (reason && str_starts(reason, DEACTIVATED))
        return EVICTED_LIMIT;
    return EVICTED_OTHER;
}

enum admit_ready admit_ready_of(const char *status, const char *reason)
{
    if (!status)
        return READY_ABSENT;
    if (str_eq(status, "True"))
        return READY_YES;
    bool recovers =
        str_eq(reason, "WaitForRecovery") || str_eq(reason, "WorkloadWaitForPodsRecovery");
    return recovers ? READY_WAITS_RECOVERY : READY_WAITS_START;
}

static const char *const ANSWERS[] = {
    [ANSWER_PENDING] = "Pending",
    [ANSWER_READY] = "Ready",
    [ANSWER_RETRY] = "Retry",
    [ANSWER_REJECTED] = "Rejected",
};

const char *admit_answer_text(enum admit_answer answer)
{
    return ANSWERS[answer];
}

enum admit_answer admit_answer_of(const char *state)
{
    for (size_t i = 0; i < ARRAY_LEN(ANSWERS); i++) {
        if (str_eq(state, ANSWERS[i]))
            return (enum admit_answer)i;
    }
    return ANSWER_PENDING;
}

const char *admit_preempt_text(enum admit_preempt_reason reason)
{
    static const char *const texts[] = {
        [PREEMPT_IN_QUEUE] = "InClusterQueue",
        [PREEMPT_RECLAIM] = "InCohortReclamation",
        [PREEMPT_RECLAIM_WHILE_BORROWING] = "InCohortReclaimWhileBorrowing",
    };
    return texts[reason];
}

const char *admit_state_text(enum admit_state state)
{
    static const char *const texts[] = {
        [STATE_UNKNOWN] = "unknown",        [STATE_FINISHED] = "finished",
        [STATE_INACTIVE] = "inactive",      [STATE_HELD] = "held",
        [STATE_BACKOFF] = "backing off",    [STATE_QUEUED] = "queued",
        [STATE_NO_QUOTA] = "no quota",      [STATE_BEHIND] = "behind",
        [STATE_BLOCKED] = "blocked",        [STATE_PREEMPTING] = "preempting",
        [STATE_RESERVED] = "reserved",      [STATE_ADMITTED] = "admitted",
        [STATE_EVICTING] = "being evicted",
    };
    return texts[state];
}

void admit_settings_default(struct admit_settings *settings)
{
    *settings = (struct admit_settings){
        .timeout_ms = 300 * 1000,
        .limit_count = ADMIT_NO_LIMIT,
        .base_ms = 60 * 1000,
        .max_ms = 3600 * 1000,
        .reset_after_ms = 600 * 1000,
    };
}
