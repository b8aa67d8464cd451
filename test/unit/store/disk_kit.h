// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/disk.h"

/* What the tests of a disk share: two kinds, a folder that goes away, batches one after the other,
 * and the answer waited for. */
extern const struct kind KIT_POD, KIT_JOB;

char *kit_folder_new(void); /* "/tmp/..." */
void kit_folder_remove(char *folder);
char *kit_path(const char *folder, const char *name);

struct kit_answer {
    bool done;
    int result;
    char text[1024];
};
/* Commits and waits; the answer's result is returned too. */
int kit_commit(struct disk *disk, const struct disk_row *rows, size_t len, uint64_t revision,
               struct kit_answer *answer);
void kit_on_done(void *arg, int result, const char *text); /* arg: struct kit_answer */
void kit_wait(struct disk *disk, const struct kit_answer *answer);
