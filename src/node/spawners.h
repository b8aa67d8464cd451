// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/spawner.h"

/* The spawners of one node behind one door. A start is a chain of waiting, the spawner for its
 * child and the child for a CPU, so one spawner alone leaves a part of the machine idle: when many
 * starts are asked for at once a second one takes half of them. Ids are found where they were
 * started. */
struct spawners;

/* As for one; `socket` is the first's, the second's is beside it, and the last word of `helper` is
 * whichever it is. */
int spawners_open(const struct spawner_options *options, struct spawners **ret, struct err *err);
void spawners_close(struct spawners *spawners, bool quit);
void spawners_list(struct spawners *spawners); /* one SPAWN_LISTED when all have told */
void spawners_start(struct spawners *spawners, const struct spawn_request *request);
void spawners_signal(struct spawners *spawners, const char *id, int signo, bool to_group);
void spawners_forget(struct spawners *spawners, const char *id);
