// SPDX-License-Identifier: Apache-2.0
/* The small program's half: it has no TLS and becomes the other one, which has. */
#include "agent/tls.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX "-tls"

int tls_prepare(const struct where *where, char *const argv[], struct err *err)
{
    if (where->socket != NULL)
        return 0;
    char path[PATH_MAX + sizeof(SUFFIX)];
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);
    if (len < 0)
        return err_set(err, -errno, "cannot find out where this program is: %s", strerror(errno));
    memcpy(path + len, SUFFIX, sizeof(SUFFIX));
    (void)execv(path, argv); /* it returns only when it failed */
    (void)err_set(err, -errno, "cannot run '%s': %s", path, strerror(errno));
    return err_hint(err, "it is the agent that can do TLS; install it beside this one, or name the "
                         "server's unix socket with --socket");
}

int tls_open(struct link *link, const struct where *where, struct err *err)
{
    (void)link;
    return err_set(err, -ENOTSUP, "no TLS here for '%s'", where->host);
}

ssize_t tls_read(struct link *link, char *to, size_t len)
{
    (void)link, (void)to, (void)len;
    return -ENOTSUP;
}

ssize_t tls_write(struct link *link, const char *data, size_t len)
{
    (void)link, (void)data, (void)len;
    return -ENOTSUP;
}

void tls_close(struct link *link)
{
    link->tls = NULL;
}
