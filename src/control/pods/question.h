// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "control/pods/runtime.h"

/* A probe or a hook of the spec as a question for the runtime; `as` and `timeout_ms` (but of a
 * sleep) are the caller's to fill in. -EINVAL when it cannot be asked: a port by a name that no
 * port of the container has. */
int question_read(struct arena *arena, const struct obj *pod, yyjson_val *container,
                  yyjson_val *how, struct runtime_question *ret_question);
int question_signal(const char *name); /* "SIGUSR1" -> 10; 0: no such signal */
