// SPDX-License-Identifier: Apache-2.0
/* Order of the checks: freeze, maxRate, minRate (lets through), cap, CPU, I/O, pressure, load. The
 * first that says no is the reason that is shown.
 *
 * 1. Nothing gets past a freeze or maxRate.
 * 2. Every other gate holds the queue for at most 1/minRate: a cap full of containers that wait for
 *    the one in the queue, or a load average that takes minutes to fall, must not stop it for good.
 *    That time counts from the later of the last start and the moment the queue became not empty,
 *    so somebody who comes alone after an idle hour does not jump the gates.
 * 3. What is not known never blocks: no samples, no PSI, samples that are too old.
 * 4. A clock that jumps forward gives at most a burst; one that jumps back gives at most one start
 *    more, and then everything counts from the new time. */
#include "core/start/gate.h"
#include "base/mem.h"
#include "core/start/average.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>

#define WINDOW_MS 10000
#define EPSILON 1e-9 /* of counts that were computed: 0.29 x 100 is not quite 29 */

struct gate {
    struct gate_settings settings;
    size_t starting;
    uint64_t forced;
    double tokens; /* starts that maxRate has left, as of tokens_at */
    time_ms tokens_at;
    bool has_started, is_waiting;
    time_ms last_start, waiting_since;
    struct average cpu, io, pressure;
    double load1;
    time_ms load_at;
};

void gate_settings_default(struct gate_settings *settings, double cores)
{
    *settings = (struct gate_settings){
        .max_starting_per_core = 1,
        .max_starting = GATE_OFF,
        .cores = cores,
        .max_rate = GATE_OFF,
        .burst = 1,
        .min_rate = 0.1,
        .max_cpu = GATE_OFF,
        .max_io = GATE_OFF,
        .max_pressure = GATE_OFF,
        .max_load = GATE_OFF,
        .cpu_window_ms = WINDOW_MS,
        .io_window_ms = WINDOW_MS,
        .pressure_window_ms = WINDOW_MS,
    };
}

static bool is_on(double setting)
{
    return setting > 0;
}

static bool is_frozen(double setting)
{
    return setting >= 0 && setting <= 0;
}

/* A span that may be out of the range of time_ms. */
static time_ms later_by(time_ms at, double span_ms)
{
    if (span_ms >= 9e15) /* 285,000 years */
        return TIME_NEVER;
    return at + (time_ms)ceil(span_ms - EPSILON);
}

/* ---- maxRate: a bucket of `burst` tokens that fills at `max_rate` a second ---- */

static double burst_of(const struct gate_settings *settings)
{
    return settings->burst > 1 ? settings->burst : 1;
}

static double tokens_now(const struct gate *gate, time_ms now)
{
    double burst = burst_of(&gate->settings);
    if (!is_on(gate->settings.max_rate))
        return gate->tokens < burst ? gate->tokens : burst;
    double tokens = gate->tokens;
    if (now < gate->tokens_at)
        tokens = tokens > 1 ? tokens : 1;
    else
        tokens += (double)(now - gate->tokens_at) * gate->settings.max_rate / 1000;
    return tokens < burst ? tokens : burst;
}

/* ---- minRate ---- */

/* When a start is owed; TIME_NEVER when none is. */
static time_ms owed_at(const struct gate *gate, time_ms now)
{
    if (!gate->is_waiting || !is_on(gate->settings.min_rate))
        return TIME_NEVER;
    time_ms from = gate->waiting_since;
    if (gate->has_started && gate->last_start > from)
        from = gate->last_start;
    if (from > now) /* the clock was set back */
        return now;
    return later_by(from, 1000 / gate->settings.min_rate);
}

/* ---- the gates ---- */

static struct gate_verdict refused(enum gate_name gate, double have, double limit)
{
    return (struct gate_verdict){.gate = gate, .have = have, .limit = limit, .ask_at = TIME_NEVER};
}

static const char *frozen_setting(const struct gate_settings *settings)
{
    const struct {
        const char *name;
        double value;
    } table[] = {
        {"maxStartingContainersPerCore", settings->max_starting_per_core},
        {"maxStarting", settings->max_starting},
        {"maxRate", settings->max_rate},
        {"maxCPU", settings->max_cpu},
        {"maxIO", settings->max_io},
        {"maxPressure", settings->max_pressure},
        {"maxLoadAverageMultiplier", settings->max_load},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (is_frozen(table[i].value))
            return table[i].name;
    return NULL;
}

static double at_least_one(double count)
{
    double whole = floor(count + EPSILON);
    return whole > 1 ? whole : 1;
}

/* GATE_OFF: none. */
static double cap_of(const struct gate_settings *settings)
{
    double cap = GATE_OFF;
    if (is_on(settings->max_starting_per_core))
        cap = at_least_one(settings->max_starting_per_core * settings->cores);
    if (is_on(settings->max_starting) && (cap < 0 || settings->max_starting < cap))
        cap = at_least_one(settings->max_starting);
    return cap;
}

static double load_now(const struct gate *gate, time_ms now)
{
    time_ms age = now - gate->load_at;
    return age > WINDOW_MS || age < -WINDOW_MS ? -1 : gate->load1;
}

/* What minRate may overrule; .is_allowed when no gate objects. */
static struct gate_verdict ask_overridable(const struct gate *gate, time_ms now)
{
    const struct gate_settings *settings = &gate->settings;
    double cap = cap_of(settings);
    if (cap > 0 && (double)gate->starting >= cap)
        return refused(GATE_CAP, (double)gate->starting, cap);
    const struct {
        enum gate_name name;
        double have, limit;
    } table[] = {
        {GATE_CPU, average_percent(&gate->cpu, now), settings->max_cpu},
        {GATE_IO, average_percent(&gate->io, now), settings->max_io},
        {GATE_PRESSURE, average_percent(&gate->pressure, now), settings->max_pressure},
        {GATE_LOAD, load_now(gate, now), settings->max_load * settings->cores},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (!is_on(table[i].limit) || table[i].have < table[i].limit)
            continue;
        struct gate_verdict verdict = refused(table[i].name, table[i].have, table[i].limit);
        verdict.needs_samples = true;
        return verdict;
    }
    return (struct gate_verdict){.is_allowed = true, .ask_at = now};
}

struct gate_verdict gate_ask(const struct gate *gate, bool takes_slot, time_ms now)
{
    const char *zero = frozen_setting(&gate->settings);
    if (zero) {
        struct gate_verdict verdict = refused(GATE_FROZEN, 0, 0);
        verdict.setting = zero;
        return verdict;
    }
    double missing = 1 - tokens_now(gate, now), rate = gate->settings.max_rate;
    if (is_on(rate) && missing > EPSILON) {
        struct gate_verdict verdict = refused(GATE_RATE, rate, rate);
        verdict.ask_at = later_by(now, missing * 1000 / rate);
        return verdict;
    }
    if (!takes_slot)
        return (struct gate_verdict){.is_allowed = true, .ask_at = now};
    struct gate_verdict verdict = ask_overridable(gate, now);
    if (verdict.is_allowed)
        return verdict;
    verdict.ask_at = owed_at(gate, now);
    if (verdict.ask_at <= now) {
        verdict.is_allowed = verdict.is_forced = true;
        verdict.needs_samples = false;
        verdict.ask_at = now;
    }
    return verdict;
}

/* ---- what happens ---- */

struct gate *gate_new(const struct gate_settings *settings)
{
    struct gate *gate = mem_zalloc(sizeof(*gate));
    gate->settings = *settings;
    gate->tokens = burst_of(settings);
    gate->load1 = -1;
    average_init(&gate->cpu, settings->cpu_window_ms);
    average_init(&gate->io, settings->io_window_ms);
    average_init(&gate->pressure, settings->pressure_window_ms);
    return gate;
}

void gate_free(struct gate *gate)
{
    mem_free(gate);
}

void gate_set(struct gate *gate, const struct gate_settings *settings, time_ms now)
{
    /* What was saved up so far is counted at the old rate; without a rate it was not used up. */
    bool was_limited = gate->settings.max_rate >= 0;
    gate->tokens = was_limited ? tokens_now(gate, now) : burst_of(settings);
    gate->tokens_at = now;
    gate->settings = *settings;
    if (gate->tokens > burst_of(settings))
        gate->tokens = burst_of(settings);
    average_set_window(&gate->cpu, settings->cpu_window_ms);
    average_set_window(&gate->io, settings->io_window_ms);
    average_set_window(&gate->pressure, settings->pressure_window_ms);
}

const struct gate_settings *gate_settings(const struct gate *gate)
{
    return &gate->settings;
}

bool gate_wants_samples(const struct gate *gate)
{
    const struct gate_settings *settings = &gate->settings;
    return is_on(settings->max_cpu) || is_on(settings->max_io) || is_on(settings->max_pressure) ||
           is_on(settings->max_load);
}

void gate_sample(struct gate *gate, const struct gate_sample *sample)
{
    average_add(&gate->cpu, sample->at, sample->cpu_busy, sample->cpu_total);
    average_add(&gate->io, sample->at, sample->io_stall_ms, (double)sample->at);
    average_add(&gate->pressure, sample->at, sample->pressure_stall_ms, (double)sample->at);
    gate->load1 = sample->load1;
    gate->load_at = sample->at;
}

void gate_waiting(struct gate *gate, bool is_waiting, time_ms now)
{
    if (is_waiting && !gate->is_waiting)
        gate->waiting_since = now;
    gate->is_waiting = is_waiting;
}

void gate_started(struct gate *gate, bool takes_slot, time_ms now)
{
    if (gate_ask(gate, takes_slot, now).is_forced)
        gate->forced++;
    double tokens = tokens_now(gate, now) - 1;
    gate->tokens = tokens > 0 ? tokens : 0; /* starts that were not asked for owe nothing */
    gate->tokens_at = now;
    if (!takes_slot)
        return;
    gate->starting++;
    gate->has_started = true;
    gate->last_start = now;
    if (gate->waiting_since > now) /* the clock was set back */
        gate->waiting_since = now;
}

void gate_ended(struct gate *gate)
{
    assert(gate->starting > 0);
    gate->starting--;
}

size_t gate_starting(const struct gate *gate)
{
    return gate->starting;
}

uint64_t gate_forced(const struct gate *gate)
{
    return gate->forced;
}

/* ---- words ---- */

const char *gate_name(enum gate_name name)
{
    static const char *const NAMES[GATE_NAME_COUNT] = {
        [GATE_NONE] = "none",         [GATE_FROZEN] = "frozen", [GATE_RATE] = "rate",
        [GATE_CAP] = "cap",           [GATE_CPU] = "cpu",       [GATE_IO] = "io",
        [GATE_PRESSURE] = "pressure", [GATE_LOAD] = "load",
    };
    assert(name < GATE_NAME_COUNT);
    return NAMES[name];
}

void gate_verdict_text(const struct gate_verdict *verdict, char *out, size_t size)
{
    const char *name = gate_name(verdict->gate);
    const char *despite = verdict->is_forced ? "minRate, despite " : "";
    /* One decimal is enough; it keeps the order, so "80% >= 80.5%" cannot come out. */
    double have = round(verdict->have * 10) / 10, limit = round(verdict->limit * 10) / 10;
    switch (verdict->gate) {
    case GATE_FROZEN:
        (void)snprintf(out, size, "%s (%s is 0)", name, verdict->setting);
        break;
    case GATE_RATE:
        (void)snprintf(out, size, "%s %g/s", name, verdict->limit);
        break;
    case GATE_CAP:
        (void)snprintf(out, size, "%s%s %.0f/%.0f", despite, name, have, limit);
        break;
    case GATE_CPU:
    case GATE_IO:
    case GATE_PRESSURE:
        (void)snprintf(out, size, "%s%s %g%% >= %g%%", despite, name, have, limit);
        break;
    case GATE_LOAD:
        (void)snprintf(out, size, "%s%s %.1f >= %.1f", despite, name, have, limit);
        break;
    case GATE_NONE:
    case GATE_NAME_COUNT:
        (void)snprintf(out, size, "%s", "");
        break;
    }
}
