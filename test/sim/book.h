// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "sim/sim.h"

/* A second, naive account of Jobs and their pods, kept from the store's own changes:
 *
 *  1. a pod that has ended loses the tracking finalizer only after the Job's status has it, in
 *     uncountedTerminatedPods or (of an index that succeeded) in completedIndexes;
 *  2. a UID leaves the list only when the pod has lost the finalizer, the counter grows by as many
 *     as leave, by nothing else, and no UID is ever listed again;
 *  3. there never are more pods than parallelism says, of one index never two, and none of one
 *     that is done; where a pod that is being stopped keeps its place, it counts. (Right after the
 *     controllers were restarted, a creation of their earlier life may still come in: another
 *     index may have had its turn in between.)
 *  4. a Job that has ended stays ended, said before how it would, and has no pod that is not
 *     counted;
 *  5. in the end each pod that ended in the Job's care is counted. */
struct book {
    struct sim *sim;
    struct map *pods;    /* UID to struct page */
    struct map *counted; /* UIDs that left a list */
    struct map *known;   /* UID to struct obj: Jobs and pods as last heard of */
    uint64_t pods_made;
    uint64_t restarts;
    time_ms restarted; /* when that number last grew */
    char *failure;
};

enum pod_state { POD_RUNS, POD_STOPS, POD_SUCCEEDED, POD_FAILED };

void book_init(struct book *book);
void book_start(struct book *book, struct sim *sim);
void book_done(struct book *book);
void book_on_change(struct book *book, const struct change *change);
/* What was stored in the moment of a crash was announced to nobody: it is found now. */
void book_on_reopen(struct book *book);
void book_check_end(struct book *book);
void book_fail(struct book *book, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

enum pod_state pod_state(const struct obj *pod);
bool job_finished(const struct obj *job);
