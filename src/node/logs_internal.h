// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "node/logs.h"
#include <bsd/sys/queue.h>

/* Shared by the files of the logs:
 *   logs.c        the files that are loaded, watching them, begin and end
 *   log_paths.c   names, folders, generations
 *   log_marks.c   GENERATION.log.marks: the state of the rotation and the marks
 *   log_rotate.c  taking lines off the front; finishing what was interrupted
 *   log_trim.c    removing old generations
 *   log_span.c    bytes by logical offset, over all files of a generation
 *   log_reader.c  what kubectl logs asks for
 *
 * Offsets are logical: the first byte that a generation ever wrote is 0, and a byte keeps its
 * offset wherever it is moved to. The live file holds the bytes from `base` on, of which those
 * before `cut` have been moved to the numbered files already:
 *
 *        .log.2      .log.1               .log
 *     [ older ...)[ ...... cut)  [base ... cut ......... end)
 *
 * One thread does everything, so a reader never sees half a rotation. */

/* ---- marks: (offset, time): at this time the log ended here ---- */

struct log_mark {
    int64_t offset;
    time_ms at;
};
struct log_marks {
    VEC(struct log_mark) list; /* offsets rise; times need not, clocks are set back */
};

/* How far a rotation has come; written before the next step is taken. */
enum log_stage {
    STAGE_NONE,
    STAGE_SHIFT,    /* .log.new is complete: to become .log.1 */
    STAGE_PUNCH,    /* the bytes before `cut` are to be freed */
    STAGE_COLLAPSE, /* they are a hole of at least `take` bytes, which is to be taken out */
};
struct log_state {
    int64_t base, cut;
    int64_t next; /* STAGE_SHIFT: what `cut` will be */
    int64_t take;
    enum log_stage stage;
};

#define LOG_MARKS_MAX 4096 /* in one file: 64 KiB */

/* The marks file: one record with the state, then the marks. A missing or broken one is a state
 * of zeroes without marks. */
int log_state_load(const char *path, struct log_state *ret_state, size_t *ret_marks);
int log_state_save(const char *path, const struct log_state *state);
/* Makes the file when it is not there yet: most containers print nothing. */
int log_marks_append(const char *path, const struct log_state *state, const struct log_mark *marks,
                     size_t n);
void log_marks_load(const char *path, struct log_marks *marks);
int log_marks_rewrite(const char *path, const struct log_state *state,
                      const struct log_marks *marks);
/* Drops marks that tell of nothing before `oldest`, then those whose absence costs least, until
 * three quarters of the maximum are left: what is old may be told less exactly. */
void log_marks_thin(struct log_marks *marks, int64_t oldest, time_ms now);
/* The time of a line that ends at `end`: that of the first mark at or behind it. */
time_ms log_marks_time(const struct log_marks *marks, int64_t end, time_ms otherwise);
/* The offset before which every line is older than `since`; `end` when all are. */
int64_t log_marks_since(const struct log_marks *marks, time_ms since, int64_t end);

/* ---- one generation of one container ---- */

#define LOG_PENDING_MAX 16

struct log_file {
    struct logs *logs;
    char *key;       /* NS_POD_UID/CONTAINER/GENERATION */
    char *path;      /* DIR/key.log */
    unsigned refs;   /* begun, read, being rotated */
    int watch;       /* of inotify; -1: sizes are asked for */
    bool is_live;    /* begun and not ended */
    bool is_spare;   /* prepared, and not begun: nothing was ever written to it */
    bool is_queued;  /* for rotation */
    bool is_gone;    /* removed */
    bool cannot_cut; /* the file system frees no ranges */
    time_ms rotate_from;
    struct log_state state;
    int64_t end; /* logical, when last looked at */
    time_ms changed_at;
    int64_t marked; /* offset of the last mark */
    size_t mark_count;
    struct log_mark *pending; /* not in the file yet; room for LOG_PENDING_MAX, or NULL */
    size_t pending_len;
    struct log_marks marks; /* while somebody needs them */
    unsigned marks_users;
    LIST_HEAD(, log_reader) readers;
    TAILQ_ENTRY(log_file) rotations;
};

struct rotation { /* the one that is under way */
    struct log_file *file;
    int from, to;
    int64_t at, until; /* logical: [at, until) is still to be copied */
};

struct log_trim {
    char *folder;
    uint32_t generation; /* which has begun */
};

struct logs {
    struct loop *loop;
    char *dir;
    struct logs_limits limits;
    struct map *files;   /* by key */
    struct map *watches; /* by number of the watch, as text */
    int inotify;         /* -1: none */
    struct loop_io *io;
    struct loop_timer rest;  /* until inotify is listened to again */
    struct loop_timer sweep; /* pending marks, files without a watch */
    TAILQ_HEAD(, log_file) rotations;
    struct loop_task rotate;
    struct rotation rotation;
    bool warned;
    VEC(struct log_trim) trims; /* folders with more generations than needed */
    time_ms trim_from, trim_latest;
    struct loop_timer trim;
};

/* Counted; NULL with -ENOENT when there is no such generation. */
int log_file_get(struct logs *logs, const char *key, struct log_file **ret_file, struct err *err);
void log_file_unref(struct log_file *file);
/* Sees how long it is now, takes a mark, wakes readers, asks for a rotation. */
void log_file_look(struct log_file *file);
void log_file_follow(const struct log_file *file); /* somebody waits for what comes */
void log_file_flush(struct log_file *file);        /* pending marks */
void log_file_use_marks(struct log_file *file);
void log_file_leave_marks(struct log_file *file);

/* Names. Keys and paths are the caller's to free. */
int log_key_dir(const struct log_name *name, struct str *out, struct err *err);
int log_key(const struct log_name *name, struct str *out, struct err *err);
char *log_numbered(const struct log_file *file, int number); /* "PATH.1" */
char *log_marks_path(const struct log_file *file);           /* "PATH.marks" */
/* The highest generation there is that is not above `most`; 0: none. */
uint32_t log_generation(const char *folder, uint32_t most);
void log_remove_generations(const char *folder, uint32_t below); /* the files of those below */
/* All generations and the folder. `each` hears of a generation before its files go. */
void log_remove_folder(const char *folder, void (*each)(void *arg, uint32_t generation), void *arg);

/* Older generations but the one before this one go, when there is time for it. */
void log_trim_ask(struct logs *logs, const struct log_name *name);
void log_trim_turn(void *logs);
void log_trim_done(struct logs *logs);

/* Rotation. */
void log_rotate_recover(struct log_file *file);
bool log_rotate_is_due(const struct log_file *file);
void log_rotate_ask(struct log_file *file);
void log_rotate_forget(struct log_file *file); /* it is going away */
void log_rotate_turn(void *logs);

/* Bytes. `*pos` moves forward when what it points to is gone. Bytes read; 0: the end. */
size_t log_span_read(const struct log_file *file, int64_t *pos, char *to, size_t len);
int64_t log_span_oldest(const struct log_file *file);
/* The beginning of the line that `pos` is in; `pos` itself behind a newline; never below `floor`.
 */
int64_t log_span_line(const struct log_file *file, int64_t pos, int64_t floor);
/* The beginning of the last `lines` lines before `end`. */
int64_t log_span_tail(const struct log_file *file, int64_t end, int64_t lines);

void log_readers_wake(struct log_file *file);
