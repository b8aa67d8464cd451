// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "sim/sim.h"

/* What must always hold, kept by a second, naive account of all objects: the fold of the changes
 * that were announced. The first thing found wrong is kept; the rest of the run is of no interest.
 *
 *  1. revisions only grow, and a change fits what was there before;
 *  2. what is announced or acknowledged is on the disk, also after a crash, and is never undone;
 *     what was refused is not there;
 *  3. nothing is created in a namespace that is absent or on its way out, and a namespace goes
 *     after all that is in it;
 *  4. an object does not vanish while it has finalizers, and a client's finalizer goes only when
 *     that client let it go; a deletion is never taken back;
 *  5. both caches are what their feeds say, and their indexes what a recount says;
 *  6. dependents that were set free live on. */
struct ledger {
    struct sim *sim;
    struct map *objects;  /* key to struct obj: as announced by the store */
    struct map *seen;     /* the same, as the controllers' copy was told */
    struct map *released; /* "uid finalizer" that the client asked to take off */
    struct map *touched;  /* UID to how often the client deleted it or gave it owners */
    struct map *orphans;  /* UID to UID of the owner that set it free */
    struct map *refused;  /* tag of a write that was not stored */
    uint64_t revision, seen_revision;
    bool is_changed; /* since the last full check */
    char *failure;
};

/* Annotation with which the client marks each of its writes. */
#define LEDGER_TAG "test.dev/op"
#define LEDGER_FINALIZERS "test.dev/"
#define LEDGER_STRANGER "x.dev/v1" /* a group that the server does not know */

void ledger_init(struct ledger *ledger);
void ledger_start(struct ledger *ledger, struct sim *sim); /* what is there at the start */
void ledger_done(struct ledger *ledger);

void ledger_on_change(struct ledger *ledger, const struct change *change);
void ledger_on_seen(struct ledger *ledger, const struct change *change);
void ledger_on_reopen(struct ledger *ledger);
/* The client heard of its write. `key` and `tag` are what it asked for. */
void ledger_on_answer(struct ledger *ledger, const char *tag, const struct write_result *result);
void ledger_release(struct ledger *ledger, const char *uid, const char *finalizer);
void ledger_touch(struct ledger *ledger, const char *uid);

/* After each step. */
void ledger_check(struct ledger *ledger);
/* After the faults have ended and some time has passed. */
void ledger_check_converged(struct ledger *ledger);

void ledger_fail(struct ledger *ledger, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *obj_tag(const struct obj *obj); /* NULL: none */
