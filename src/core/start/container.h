// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>

/* The life of one container on its node, as one table. A process that was told to end stays in its
 * state until it is reaped: what is wanted is kept apart (pod.h) from what is. */
enum container_state {
    CT_DOWNLOADING, /* its image is being fetched; a plain process passes at once */
    CT_BLOCKED,     /* waits for the containers it depends on */
    CT_PENDING,     /* waits for the throttle */
    CT_STARTING,    /* its process was asked for or runs; not ready yet; holds a slot */
    CT_READY,       /* has been ready; whether it is just now, is a flag of its own */
    CT_FAILED,      /* ended badly, could not start, or did not get ready in time */
    CT_EXITED,      /* ended well, or because it was told to */
    CT_STATE_COUNT,
};

enum container_event {
    CE_PREPARED,
    CE_PREPARE_FAILED,
    CE_UNBLOCKED, /* all dependencies are met */
    CE_REBLOCKED, /* one is no longer met, seen at the moment of starting */
    CE_ADMITTED,  /* the throttle lets it start */
    CE_READY,     /* first success of the probe that decides, or READY=1, or exec without either */
    CE_START_FAILED,
    CE_ENDED_WELL, /* reaped: exit 0, or told to end */
    CE_ENDED_BADLY,
    CE_STOPPED, /* told to end before it had a process */
    CE_AGAIN,   /* next generation: waits for its dependencies and the throttle as the first did */
    CE_COUNT,
};

struct container_move {
    bool is_legal;
    enum container_state next;
};
/* The only place that knows which move is possible; diagrams are drawn from it. */
struct container_move container_move(enum container_state state, enum container_event event);
const char *container_state_name(enum container_state state); /* "blocked" */
const char *container_event_name(enum container_event event);
bool container_has_process(enum container_state state); /* starting, ready */
bool container_is_over(enum container_state state);     /* failed, exited */
