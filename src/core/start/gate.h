// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/timetext.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The composite throttle between pending and starting, for one machine. It knows nothing of
 * containers: it is asked "may one start now?", is told of starts, of slots that come free and of
 * samples of the machine, and answers with the gate that said no and when to ask again. */

#define GATE_OFF (-1.0)

struct gate_settings {
    double max_starting_per_core; /* cap = max(1, floor(this x cores)); 0 freezes; GATE_OFF */
    double max_starting;          /* absolute, the smaller one counts; 0 freezes; GATE_OFF */
    double cores;
    double max_rate; /* starts a second, as spacing; 0 freezes; GATE_OFF */
    int burst;       /* starts that may come at once after a pause; 1 */
    double min_rate; /* starts a second that no gate but max_rate, 0 and dependencies can hold */
    double max_cpu;  /* percent of all cores, average of cpu_window_ms; 0 freezes; GATE_OFF */
    double max_io;   /* percent of time that somebody waited for the disk; likewise */
    double max_pressure; /* percent of time that somebody waited for a CPU (PSI); likewise */
    double max_load;     /* 1-minute load average < this x cores; likewise */
    time_ms cpu_window_ms, io_window_ms, pressure_window_ms;
};
void gate_settings_default(struct gate_settings *settings, double cores);

enum gate_name {
    GATE_NONE,
    GATE_FROZEN, /* a setting is 0 */
    GATE_RATE,
    GATE_CAP,
    GATE_CPU,
    GATE_IO,
    GATE_PRESSURE,
    GATE_LOAD,
    GATE_NAME_COUNT,
};
const char *gate_name(enum gate_name name); /* "cap" */

struct gate_verdict {
    bool is_allowed;
    bool is_forced;      /* only minRate let it through */
    enum gate_name gate; /* that said no, or that minRate overruled */
    double have, limit;  /* of that gate: 2 of 2 slots, 93.0 of 80.0 percent */
    const char *setting; /* of GATE_FROZEN: which one is 0, "maxRate"; else NULL */
    time_ms ask_at;      /* TIME_NEVER: only a freed slot, a sample or new settings can help */
    bool needs_samples;  /* a resource gate is the one that blocks: keep sampling */
};
/* "cap 2/2", "rate 10/s", "cpu 93% >= 80%", "load 4.1 >= 3.0", "frozen (maxRate is 0)"; of a start
 * that minRate lets through "minRate, despite cap 2/2"; "" when nothing is in the way. */
void gate_verdict_text(const struct gate_verdict *verdict, char *out, size_t size);

/* Cumulative counters where the kernel has them, so that any window can be averaged. */
struct gate_sample {
    time_ms at;       /* of the same clock as every `now` here */
    double cpu_busy;  /* busy time of all cores so far, any unit; iowait is idle, steal is busy;
                       * negative: not known */
    double cpu_total; /* busy + idle, same unit */
    double io_stall_ms, pressure_stall_ms; /* "some" totals so far; negative: not known */
    double load1;                          /* negative: not known */
};

struct gate;
struct gate *gate_new(const struct gate_settings *settings);
void gate_free(struct gate *gate);
void gate_set(struct gate *gate, const struct gate_settings *settings, time_ms now);
const struct gate_settings *gate_settings(const struct gate *gate);
bool gate_wants_samples(const struct gate *gate); /* some resource gate is on */
void gate_sample(struct gate *gate, const struct gate_sample *sample);

/* The queue went from empty to not empty, or back: minRate counts from there. */
void gate_waiting(struct gate *gate, bool is_waiting, time_ms now);
/* `takes_slot`: false for a container without any sign of readiness; the cap and the resource
 * gates cannot judge what they would never see end, so only maxRate and a freeze hold it. */
struct gate_verdict gate_ask(const struct gate *gate, bool takes_slot, time_ms now);
/* Only starts that take a slot move minRate's clock: the others pass the gates by themselves and
 * must not keep one that cannot from being let through. */
void gate_started(struct gate *gate, bool takes_slot, time_ms now);
void gate_ended(struct gate *gate); /* a slot is free again */
size_t gate_starting(const struct gate *gate);
uint64_t gate_forced(const struct gate *gate); /* starts that only minRate let through */
