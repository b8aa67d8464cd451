// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/timetext.h"
#include "os/loop.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Logs of containers. A container writes straight into its file (opened for appending), so it
 * never waits for us and goes on without us. We watch the file grow (inotify), note when which byte
 * was there (for timestamps and --since), and take whole lines off its front into numbered files
 * when it is too long. Overflow rule: a container is never blocked; the newest lines are always
 * kept; of the older ones at most files x bytes.
 *
 * DIR/NS_POD_UID/CONTAINER/GENERATION.log, .log.1 (older) ... and .log.marks */
struct logs;
struct logs_limits {
    int64_t file_bytes; /* 10 MiB */
    int files;          /* 5 */
};
int logs_open(struct loop *loop, const char *dir, struct logs **ret, struct err *err);
void logs_close(struct logs *logs);
void logs_set_limits(struct logs *logs, const struct logs_limits *limits);

struct log_name {
    const char *ns, *pod, *uid, *container;
    uint32_t generation;
};
/* The file that the container shall write to; directories are made, watching begins. Older
 * generations but the one before this one go a little later. */
int logs_begin(struct logs *logs, const struct log_name *name, char **ret_path, struct err *err);
/* Makes it now, so that its beginning costs next to nothing. Nothing happens when it is there. */
void logs_prepare(struct logs *logs, const struct log_name *name);
void logs_end(struct logs *logs, const struct log_name *name);        /* no more will come */
void logs_remove_pod(struct logs *logs, const struct log_name *name); /* the whole pod's */
/* Logs of pods that nobody knows any more go. */
void logs_sweep(struct logs *logs, bool (*is_known)(void *arg, const char *uid), void *arg);

/* Reading, as `kubectl logs` asks. */
struct log_query {
    struct log_name name; /* generation 0: the latest; else the latest that is not above it */
    bool follow, timestamps;
    bool previous;       /* the one before that generation */
    int64_t tail_lines;  /* -1: all */
    time_ms since;       /* wall; 0: all */
    int64_t limit_bytes; /* 0: none */
};
struct log_reader;
/* `fn` is called from the loop with text as it comes; with len 0 at the end (not following, or the
 * container has ended). It returns false when it has not taken the text: the same is
 * offered again after log_reader_resume(). It must not free the reader, except at the end. */
typedef bool log_text_fn(void *arg, const char *text, size_t len);
int log_reader_new(struct logs *logs, const struct log_query *query, log_text_fn *fn, void *arg,
                   struct log_reader **ret, struct err *err);
void log_reader_resume(struct log_reader *reader);
void log_reader_free(struct log_reader *reader);
