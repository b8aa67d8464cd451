// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* How the members of a group tell in which epoch they are: an annotation of their pod. The first
 * epoch is 1. The later name counts attempts, which begin with 0: attempt = epoch - 1. */
#define EPOCH_NOTE "jobset.sigs.k8s.io/epoch"
#define EPOCH_NOTE_LATER "jobset.sigs.k8s.io/in-place-restart-attempt"
/* Why that epoch is needed, on the pod whose failure it was: "2 container c ended with exit code
 * 3". It belongs to the epoch that it begins with. */
#define EPOCH_CAUSE_NOTE "muster.dev/epoch-cause"
/* On a JobSet: each new value asks for one restart of the whole group. */
#define RESTART_REQUEST_NOTE "muster.dev/restart-request"

#define EPOCH_MAX INT32_MAX

/* A decimal int32 without sign, blank or needless zero: "0", "17". False: it is none. */
bool epoch_parse(const char *text, int64_t *ret_number);
/* What the two annotations say together; either may be NULL. 0: nothing. Malformed ones say
 * nothing, and *ret_malformed (may be NULL) tells of them. */
int64_t epoch_of_notes(const char *epoch, const char *attempt, bool *ret_malformed);
/* What that note says of this epoch; NULL: nothing. */
const char *epoch_cause(const char *note_or_null, int64_t epoch);
