// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "node/spawn_wire.h"
#include "os/loop.h"

/* The supervisor's side of the spawner: starts the helper when none listens on the socket, else
 * takes over the one that an earlier supervisor left, with its children. Requests of one turn go
 * out as one datagram. When the helper dies its children become ours (subreaper) and are reaped
 * here, so that no exit is lost; a new helper is started for what comes next.
 *
 * Each start is answered by one of SPAWN_STARTED and SPAWN_FAILED, and each that started by
 * SPAWN_EXITED, at least once, until it is forgotten. Two things come only with losses:
 * SPAWN_FAILED of "spawner" with ECONNRESET means that nobody knows whether it runs (clear its
 * control group before the next start), and a SPAWN_EXITED may come without its SPAWN_STARTED, or
 * with status -1: it is gone, nobody knows how. Orders are taken before there is a helper; they
 * wait for it.
 *
 * Both processes belong into a CPU group with a share of its own: each child leads a session, and
 * on a busy machine the scheduler puts a new session behind all others while we wait for it. */
struct spawner;
struct spawner_options {
    struct loop *loop;
    const char *socket; /* path in the data directory; beside it a .lock and a .log appear */
    const char *const
        *helper;        /* argv of the helper process, e.g. {"/proc/self/exe", "spawner", …} */
    const char *cgroup; /* where the helper itself lives, or NULL */
    /* From the loop, never from within a call. May order anything, but not close. */
    void (*on_reply)(void *arg, const struct spawn_reply *reply);
    void *arg;
};
int spawner_open(const struct spawner_options *options, struct spawner **ret, struct err *err);
void spawner_close(struct spawner *spawner,
                   bool quit); /* quit: the helper ends with its children */
void spawner_list(struct spawner *spawner);
void spawner_start(struct spawner *spawner, const struct spawn_request *request);
void spawner_signal(struct spawner *spawner, const char *id, int signo, bool to_group);
void spawner_forget(struct spawner *spawner, const char *id);
bool spawner_holds(const struct spawner *spawner, const char *id); /* asked for, not forgotten */
size_t spawner_starts(const struct spawner *spawner);              /* not answered yet */

/* The helper's main: never returns but to exit. Single-threaded, no allocation per child beyond
 * its record. */
int spawner_main(const char *socket);
