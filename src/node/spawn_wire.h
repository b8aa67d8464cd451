// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Messages between the supervisor and its spawner, the helper process that is the parent of all
 * containers and outlives the supervisor. One datagram of a SOCK_SEQPACKET holds one or more
 * messages (spawn_link.h). Integers are little-endian; texts are length + bytes + NUL. Everything
 * read is checked: the spawner must not fall over a supervisor of another version. Messages of
 * unknown type are skipped, and so is what a later version adds at the end of a known one. */
#define SPAWN_WIRE_VERSION 1
#define SPAWN_WIRE_MAX (1u << 20) /* of one message; huge environments are refused */

/* The spawner sends its answers at latest after so many starts, and starts no more before they are
 * sent: when it dies, all but so many of the unanswered starts have not happened. */
#define SPAWN_WIRE_BATCH 16

enum spawn_msg {
    SPAWN_HELLO = 1, /* both ways: version, pid of the sender */
    /* to the spawner */
    SPAWN_LIST,   /* -> SPAWN_ALIVE or SPAWN_EXITED for each, then SPAWN_LISTED */
    SPAWN_START,  /* -> SPAWN_STARTED or SPAWN_FAILED */
    SPAWN_SIGNAL, /* id, signal, to the whole process group or only its leader */
    SPAWN_FORGET, /* id: the exit is known and durable */
    SPAWN_QUIT,   /* end when the last child has ended */
    /* from the spawner */
    SPAWN_STARTED, /* id, pid, start time (wall ms) */
    SPAWN_FAILED,  /* id, errno, what failed ("exec", "chdir", "cgroup", ...) on which path */
    SPAWN_EXITED,  /* id, status as of waitid: code and value; end time; sent again until forgotten
                    */
    SPAWN_ALIVE,
    SPAWN_LISTED,
};

struct spawn_mount {
    const char *source, *target;
    bool is_read_only;
};
/* One start. Ids are the supervisor's: "uid/container/generation", or "probe/..." for what is not
 * to be kept. A second start of an id that is alive or not forgotten is refused with EEXIST. */
struct spawn_request {
    const char *id;
    const char *const *argv, *const *envp;
    const char *dir;         /* or NULL */
    const char *out;         /* file for standard output and error, appended to; NULL: null */
    const char *cgroup;      /* v2 directory to be born in, or NULL */
    const char *const *join; /* v1 cgroup.procs files to write to, NULL-terminated, or NULL */
    int64_t uid, gid;        /* -1: unchanged */
    const int64_t *groups;
    size_t n_groups;
    int64_t nofile_soft; /* RLIMIT_NOFILE to give; -1: unchanged */
    int32_t oom_score_adj;
    bool is_transient; /* a probe: gone from the list once its exit was sent */
    const struct spawn_mount *mounts;
    size_t n_mounts;
};
struct spawn_reply {
    enum spawn_msg type;
    const char *id;  /* points into the datagram */
    int32_t version; /* of a hello */
    int32_t pid;
    uint64_t ident; /* of the process while the machine is up, where pids are used again; 0: none */
    int32_t error;  /* errno, positive */
    const char *what; /* SPAWN_STAGE of spawn.h, "id" or "spawner"; never NULL */
    const char *path; /* what it was about, such as the program; "" when nothing */
    int32_t code,
        status;    /* CLD_EXITED, CLD_KILLED, CLD_DUMPED; exit code or signal, -1: not known */
    int64_t at_ms; /* wall */
};
struct spawn_order { /* what the spawner reads */
    enum spawn_msg type;
    const char *id;       /* NULL but for start, signal and forget */
    int32_t version, pid; /* of a hello */
    int32_t signo;
    bool to_group;
    struct spawn_request start; /* arrays live in the reader's arena */
};

/* Both append one message. Too big a one is not written: -EMSGSIZE. */
int spawn_wire_put_order(struct str *out, const struct spawn_order *order);
int spawn_wire_put_reply(struct str *out, const struct spawn_reply *reply);

/* Cut the next message off *rest: 1, or 0 when none is left, or -EBADMSG for what cannot be read;
 * nothing behind that can be trusted. Texts point into the bytes, arrays are the arena's. */
int spawn_wire_next_order(struct sv *rest, struct arena *arena, struct spawn_order *ret);
int spawn_wire_next_reply(struct sv *rest, struct spawn_reply *ret);
/* Bytes of the whole message at the front, 0 when it is not all there or its size is nonsense. */
size_t spawn_wire_size(struct sv bytes);
