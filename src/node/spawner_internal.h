// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "node/spawn.h"
#include "node/spawn_link.h"
#include "node/spawner.h"

enum held_state {
    HELD_ASKED, /* the start was asked for */
    HELD_ALIVE,
    HELD_ENDED, /* and not forgotten */
};
/* What the supervisor knows of one child: enough to go on when the helper is gone. */
struct held {
    struct spawner *spawner;
    enum held_state state;
    bool is_transient;
    bool is_queued;    /* its start waits for its turn */
    bool is_under_way; /* it was sent and not answered */
    bool is_doubtful;  /* asked for on a connection that broke before the answer */
    bool is_listed;    /* by the list that is being read */
    bool is_adopted;   /* no helper knows it any more; the rest is about these */
    int pid;
    uint64_t ident;
    int64_t started_ms;
    int code, status;
    int64_t ended_ms;
    int pidfd;
    struct loop_io *io;
    time_ms zombie_since; /* 0: not seen as one */
    char id[];
};

/* An order that waits for its turn, and whom it starts. */
struct waiting {
    struct held *held; /* NULL: another order */
    size_t bytes;
};

struct spawner {
    struct spawner_options options;
    char *socket, *log, *cgroup;
    char **helper;
    struct spawn spawn; /* of helpers */
    struct spawn_link link;
    struct loop_io *link_io;
    int helper_pidfd; /* -1: none that we know of */
    struct loop_io *helper_io;
    struct loop_timer retry; /* of connecting */
    int n_tries, n_failures;
    bool is_greeted;    /* the helper has said hello on this connection */
    bool is_first_list; /* the list that we asked for ourselves is still to come */
    int n_lists;        /* asked for by others, and still to come */
    struct map *held;
    struct str waiting; /* starts, and orders about those, encoded */
    VEC(struct waiting) queue;
    size_t queue_head, waiting_head; /* what is gone of both */
    int n_under_way;                 /* starts that were sent and not answered */
    struct str local;                /* replies of our own making, encoded */
    struct loop_task turn_end;
    struct loop_timer sweep;
    size_t n_adopted; /* alive */
    bool has_adopted; /* ever */
    int zombie;       /* a stranger that the last sweep saw */
};

/* spawner.c */
struct held *held_add(struct spawner *spawner, const char *id);
void held_free(struct held *held);
void spawner_tell(struct spawner *spawner, const struct spawn_reply *reply); /* later this turn */
void held_tell(struct held *held);                                           /* alive or exited */

/* spawner_adopt.c: children without a helper */
void adopt_all(struct spawner *spawner);
void adopt_signal(struct held *held, int signo, bool to_group);
void adopt_done(struct held *held); /* stops watching it */
void adopt_sweep(void *spawner);

/* spawner_connect.c: the helper process and the way to it */
int connect_open(struct spawner *spawner, struct err *err);
void connect_retry(void *spawner);
void connect_lost(struct spawner *spawner); /* the connection has ended */
void connect_flush(struct spawner *spawner);
void connect_close(struct spawner *spawner, bool quit);

/* spawner.c, for spawner_connect.c */
void spawner_read(struct spawner *spawner, int datagrams_max);
void spawner_pump(struct spawner *spawner); /* lets waiting starts go */
enum loss {
    LOST_LINK,   /* the helper lives */
    LOST_HELPER, /* and its children are ours, or nobody's */
    LOST_HOPE,   /* of ever getting one */
};
void spawner_settle(struct spawner *spawner, enum loss loss);
