// SPDX-License-Identifier: Apache-2.0
#include "core/start/probe.h"
#include <assert.h>
#include <limits.h>

#define HASTE_MS 100 /* the first gap in haste */
#define HASTE_STEP                                                                                 \
    10               /* questions before the gap doubles: it stays near a tenth of the time gone   \
                      */
#define HASTE_MAX 16 /* doublings; only to keep the shift sane, the period is reached before */

static int at_least_one(int threshold)
{
    return threshold < 1 ? 1 : threshold;
}

void probe_start(struct probe *probe, const struct probe_settings *settings, bool is_hasty,
                 time_ms now)
{
    *probe = (struct probe){.settings = *settings, .is_hasty = is_hasty, .counted_at = TIME_NEVER};
    probe->settings.success_threshold = at_least_one(settings->success_threshold);
    probe->settings.failure_threshold = at_least_one(settings->failure_threshold);
    if (probe->settings.period_ms < 1)
        probe->settings.period_ms = 1;
    time_ms delay = settings->initial_delay_ms > 0 ? settings->initial_delay_ms : 0;
    probe->due = settings->is_set ? now + delay : TIME_NEVER;
}

void probe_stop(struct probe *probe)
{
    probe->is_running = false;
    probe->due = TIME_NEVER;
}

void probe_asked(struct probe *probe)
{
    assert(!probe->is_running);
    probe->is_running = true;
    probe->due = TIME_NEVER;
    if (probe->haste < INT_MAX)
        probe->haste++;
}

static time_ms gap(const struct probe *probe)
{
    if (!probe->is_hasty)
        return probe->settings.period_ms;
    int doublings = (probe->haste - 1) / HASTE_STEP;
    time_ms hasty = (time_ms)HASTE_MS << (doublings < HASTE_MAX ? doublings : HASTE_MAX);
    return hasty < probe->settings.period_ms ? hasty : probe->settings.period_ms;
}

static bool counts(const struct probe *probe, bool is_ok, time_ms now)
{
    return is_ok || !probe->is_hasty || probe->counted_at == TIME_NEVER ||
           now - probe->counted_at >= probe->settings.period_ms;
}

static void count(struct probe *probe, bool is_ok, time_ms now)
{
    if (is_ok != probe->last_ok)
        probe->run = 0;
    probe->last_ok = is_ok;
    if (!counts(probe, is_ok, now))
        return;
    if (!is_ok)
        probe->counted_at = now;
    if (probe->run < INT_MAX)
        probe->run++;
}

bool probe_answer(struct probe *probe, bool is_ok, time_ms now)
{
    if (!probe->is_running)
        return false;
    probe->is_running = false;
    count(probe, is_ok, now);
    enum probe_result before = probe->result;
    if (is_ok && probe->run >= probe->settings.success_threshold)
        probe->result = PROBE_PASSES;
    if (!is_ok && probe->run >= probe->settings.failure_threshold)
        probe->result = PROBE_FAILS;
    if (probe->result == PROBE_PASSES)
        probe->is_hasty = false;
    probe->due = now + gap(probe);
    return probe->result != before;
}

time_ms probe_due(const struct probe *probe)
{
    return probe->due;
}
