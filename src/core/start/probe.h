// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/timetext.h"
#include <stdbool.h>

/* When one probe of a container is due, and what its answers add up to. Pure: it is told the time
 * and the answers, and tells when it wants the next one. */
struct probe_settings {
    bool is_set;
    time_ms initial_delay_ms, period_ms, timeout_ms;
    int success_threshold, failure_threshold;
    time_ms grace_ms; /* of the kill after a failure; negative: the pod's */
};

enum probe_result { PROBE_UNKNOWN, PROBE_PASSES, PROBE_FAILS };

struct probe {
    struct probe_settings settings;
    enum probe_result result; /* since the thresholds were last reached */
    int run;                  /* equal answers in a row */
    bool last_ok;
    bool is_running;    /* an answer is awaited */
    bool is_hasty;      /* short period until its first success: the slot it holds is worth more */
    int haste;          /* questions asked so far */
    time_ms counted_at; /* in haste: the last failure that counted; TIME_NEVER: none */
    time_ms due;        /* TIME_NEVER while running or switched off */
};

void probe_start(struct probe *probe, const struct probe_settings *settings, bool is_hasty,
                 time_ms now);
void probe_stop(struct probe *probe);
void probe_asked(struct probe *probe); /* the question is out */
/* Returns true when `result` changed. In haste a failure counts for failureThreshold only once per
 * configured period, so that asking more often does not give up sooner. */
bool probe_answer(struct probe *probe, bool is_ok, time_ms now);
/* While starting: 100 ms, growing to the configured period; afterwards the configured one. */
time_ms probe_due(const struct probe *probe);
