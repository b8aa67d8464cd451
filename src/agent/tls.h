// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "agent/link.h"

/* TCP with TLS. There are two programs: muster-agent, which can only do without and needs a
 * fiftieth of the memory, and muster-agent-tls. The first becomes the second when the server is not
 * on a unix socket. tls_openssl.c and tls_other.c have the same functions, one for each. */
int tls_prepare(const struct where *where, char *const argv[], struct err *err);
int tls_open(struct link *link, const struct where *where, struct err *err);
ssize_t tls_read(struct link *link, char *to, size_t len);
ssize_t tls_write(struct link *link, const char *data, size_t len);
void tls_close(struct link *link);
