// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "os/loop.h"

/* The socket on which one container says READY=1, STATUS=..., EXTEND_TIMEOUT_USEC=..., WATCHDOG=1
 * (sd_notify). Made only for containers that ask for it: a descriptor each. */
struct notifysock;
/* One assignment at a time, NUL-terminated; what is not understood is passed on too. */
typedef void notifysock_fn(void *arg, const char *assignment);
int notifysock_open(struct loop *loop, const char *path, notifysock_fn *fn, void *arg,
                    struct notifysock **ret, struct err *err);
void notifysock_close(struct notifysock *sock); /* removes the path; NULL is fine */
