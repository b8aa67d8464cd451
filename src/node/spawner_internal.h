// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
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
    bool is_signalled; /* since it was sent, and with what last */
    bool to_group;
    int signo;
    bool is_doubtful; /* asked for on a connection that broke before the answer */
    bool is_listed;   /* by the list that is being read */
    bool is_adopted;  /* no helper knows it any more; the rest is about these */
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

/* An order that waits for its turn, or a start that waits for its answer. */
struct waiting {
    struct waiting *next;
    struct held *held; /* whom it starts; NULL: another order */
    size_t len;
    char bytes[];
};
struct waiting_list {
    struct waiting *first, *last;
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
    bool is_link_lost;  /* and whether the helper is dead is not known yet */
    bool is_greeted;    /* the helper has said hello on this connection */
    bool is_first_list; /* the list that we asked for ourselves is still to come */
    int n_lists;        /* asked for by others, and still to come */
    struct map *held;
    struct waiting_list waiting;   /* starts, and orders about those */
    struct waiting_list under_way; /* starts, in the order in which they will be answered */
    int n_under_way;
    size_t n_waiting; /* starts */
    int n_unsent;     /* starts that were asked for since we last sent */
    struct str local; /* replies of our own making, encoded */
    struct loop_task turn_end;
    struct loop_timer sweep;
    size_t n_adopted; /* alive */
    bool has_adopted; /* ever */
    int zombie;       /* a stranger that the last sweep saw */
};

/* spawner.c */
void held_free(struct held *held);
void held_tell(struct held *held); /* alive or exited */

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

/* spawner.c, for the others */
void spawner_read(struct spawner *spawner, int datagrams_max);
void spawner_tell_failed(struct spawner *spawner, const char *id, int error, const char *what);

/* spawner_queue.c: orders that cannot go yet, and what becomes of them without a helper */
int queue_put(struct spawner *spawner, const struct spawn_order *order, struct held *held);
void queue_pump(struct spawner *spawner); /* lets go whose turn it is */
void queue_leave(struct held *held);      /* it was answered, or is no more */
void queue_done(struct spawner *spawner);
enum loss {
    LOST_LINK,   /* the helper lives */
    LOST_HELPER, /* and its children are ours, or nobody's */
    LOST_HOPE,   /* of ever getting one */
};
void queue_settle(struct spawner *spawner, enum loss loss);
