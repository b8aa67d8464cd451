// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/mem.h"
#include "base/str.h"
#include "node/logs_internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

/* Logs in a folder of their own, on a real loop and a real disk. */
struct kit {
    struct loop *loop;
    struct logs *logs;
    char *dir;
};
void kit_open(struct kit *kit, const char *parent); /* a folder in `parent`; NULL: in $TMPDIR */
void kit_open_logs(struct kit *kit);
void kit_close_logs(struct kit *kit);
void kit_close(struct kit *kit); /* the folder goes with all that is in it */
void kit_limits(struct kit *kit, int64_t bytes, int files);

struct log_name kit_name(uint32_t generation); /* container "c" of pod "p" */
char *kit_begin(struct kit *kit, uint32_t generation);
void kit_end(struct kit *kit, uint32_t generation);
struct log_file *kit_file(struct kit *kit, uint32_t generation); /* NULL: not loaded */
/* Turns of the loop until the condition holds; fails the test when it does not come to that. */
void kit_until(struct kit *kit, bool (*is_so)(void *arg), void *arg);
/* Until nothing is left to be rotated. */
void kit_settle(struct kit *kit);

/* What a reader gave. */
struct sink {
    struct kit *kit;
    struct log_reader *reader;
    struct str text;
    bool refuse; /* take nothing */
    size_t calls;
    bool ended;
};
struct log_query kit_query(uint32_t generation); /* everything, once */
void sink_open(struct sink *sink, struct kit *kit, const struct log_query *query);
void sink_close(struct sink *sink);
bool sink_has_ended(void *sink);
void sink_wants(struct sink *sink, const char *text); /* waits for exactly this so far */
/* Reads to the end; the caller frees. */
void kit_read(struct kit *kit, const struct log_query *query, struct str *out);

void append(const char *path, const void *data, size_t len);
void append_at(const char *path, const char *text, time_ms at); /* with this time of change */
/* "line 0\n", "line 1\n"... of differing length, appended by a process of its own. */
pid_t start_writer(const char *path, int first, int count);
void add_lines(struct str *out, int first, int count); /* what it writes */
bool has_exited(pid_t *pid);                           /* 0 once it has, and well */
/* The last bytes of `whole` that `part` must be; true when they are. */
bool is_end_of(const struct str *whole, const struct str *part);
