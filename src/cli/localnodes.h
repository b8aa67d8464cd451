// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/localnode.h"

/* Several nodes of one machine as one guest of the host: each has processes, groups, files and a
 * Node object of its own. */
struct localnodes;
struct localnodes *localnodes_new(void);
void localnodes_free(struct localnodes *nodes); /* with its nodes; after the host */
void localnodes_add(struct localnodes *nodes, struct localnode *node);
const struct host_guest *localnodes_guest(const struct localnodes *nodes); /* NULL: it has none */
/* Calls back once pods can be bound to all of them. */
void localnodes_when_ready(struct localnodes *nodes, void (*fn)(void *arg), void *arg);
