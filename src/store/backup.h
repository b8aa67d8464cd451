// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include <stdint.h>

/* Copies of a store's file. A copy is one moment of the store, whole: what was acknowledged before
 * it began is in it. */
struct backup_report {
    uint64_t objects, revision;
    uint64_t bytes;
};
/* Saves the store at `path`, which may be in use, as the file `to`. An earlier backup there is
 * replaced once the new one is complete; any other file is refused. */
int backup_save(const char *path, const char *to, struct backup_report *ret_report,
                struct err *err);
/* Puts the backup `from` in the place of the store at `path`, which must not be in use; what was
 * there is kept as `kept`. Revisions go on behind those of both, so that nobody who saw later ones
 * takes old for new. `from` is only read. */
int backup_restore(const char *path, const char *from, const char *kept,
                   struct backup_report *ret_report, struct err *err);
