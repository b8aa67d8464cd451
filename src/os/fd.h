// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

/* Descriptors and small files. */
void fd_close_scoped(int *fd);
#define scoped_fd __attribute__((cleanup(fd_close_scoped))) int
int fd_take(int *fd); /* moves it out of its variable, which becomes -1 */

/* As many descriptors as the kernel lets us have: shells give 1024, a server with thousands of
 * watchers needs more. Programs that are started for others must get the old limit back: it is
 * returned; -1 when it is not known. */
int64_t fd_limit_raise(void);

int file_read(const char *path, size_t bytes_max, struct str *out, struct err *err);
/* Writes a temporary file beside it, syncs it, renames it over path, syncs the folder. */
int file_replace(const char *path, const char *data, size_t len, unsigned mode, struct err *err);
bool file_exists(const char *path);
int dir_make(const char *path, unsigned mode, struct err *err); /* with its parents */
