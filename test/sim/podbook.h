// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "sim/runtime.h"
#include "sim/sim.h"

/* A second, naive account of pods and their units, kept from the store's changes and the runtime's
 * steps:
 *
 *  1. a unit is started only when the generation before it has ended or never ran, and never of a
 *     pod that has ended, as far as the controllers can see, or is gone;
 *  2. a pod that nobody deleted by force goes only when none of its units is alive;
 *  3. an end is forgotten only when the pod's stored status tells of it, or the pod goes;
 *  4. what a status says of an end is what happened: that unit has ended, with that code
 *     (unless a start that came to nothing had the same name before);
 *  5. a pod that has ended stays as it ended, and a count of restarts never goes down (but for
 *     a start that came to nothing, which may be counted again). */
struct podbook {
    struct sim *sim;
    struct sim_runtime *runtime;
    struct map *units; /* "uid/container/generation" to struct unit_page */
    struct map *pods;  /* UID to struct obj, as last heard of */
    struct map *forced;
    struct map *gone;
    uint64_t ends, restarts;
    char *failure;
};

void podbook_init(struct podbook *book);
void podbook_done(struct podbook *book);
void podbook_on_step(void *arg, enum sim_unit_step step, const struct runtime_unit *unit,
                     int exit_code);
void podbook_on_change(struct podbook *book, const struct change *change);
/* What was stored in the moment of a crash was announced to nobody: it is found now. */
void podbook_on_reopen(struct podbook *book);
void podbook_force(struct podbook *book, const char *uid); /* about to be deleted by force */
/* All has settled: deleted pods are gone, Jobs have ended, nothing runs that nobody wants. */
void podbook_check_end(struct podbook *book);
void podbook_fail(struct podbook *book, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

bool has_ended(const struct obj *pod);
bool job_has_ended(const struct obj *job);
