// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "store/object.h"

/* Containers whose program is muster-agent: the node tells them where the server is, who they are,
 * and, as all pods of a process runtime share one network, at which address of the machine's own
 * their barrier is to be asked for. */
bool companion_is(yyjson_val *container);
/* Of 127.0.0.0/8 and the same for the pod's whole life. Two pods that get the same one are as
 * likely as 1 in 16 million; the agent that comes second cannot listen, and its pod is replaced. */
const char *companion_address(struct arena *arena, const struct obj *pod);
const char *companion_jobset(const struct obj *pod); /* its JobSet's name, NULL: it has none */
