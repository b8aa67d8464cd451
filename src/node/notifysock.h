// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "os/loop.h"

/* The socket on which one container says READY=1, STATUS=..., EXTEND_TIMEOUT_USEC=..., WATCHDOG=1
 * (sd_notify). Made only for containers that ask for it: a descriptor each. Only root, our own
 * user and the one that was allowed are heard; the kernel tells who sent. */
struct notifysock;
/* One assignment at a time, NUL-terminated; what is not understood is passed on too. It may close
 * the socket. */
typedef void notifysock_fn(void *arg, const char *assignment);
/* What is left of an earlier socket at `path` is replaced, so that a container that was started by
 * an earlier supervisor reaches this one. */
int notifysock_open(struct loop *loop, const char *path, notifysock_fn *fn, void *arg,
                    struct notifysock **ret, struct err *err);
/* Hears this user as well, and gives him the path. */
int notifysock_allow(struct notifysock *sock, int64_t uid, struct err *err);
/* What $NOTIFY_SOCKET must be: the path or, where it is longer than an address may be, "@" and an
 * abstract name that is the same for the same path. */
const char *notifysock_address(const struct notifysock *sock);
void notifysock_close(struct notifysock *sock); /* removes the path; NULL is fine */
