// SPDX-License-Identifier: Apache-2.0
#include "agent/link.h"
#include "agent/tls.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int open_unix(struct link *link, const char *path, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return err_set(err, -ENAMETOOLONG, "the socket's path '%s' is too long", path);
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, -errno, "no socket: %s", strerror(errno));
    /* A full queue is EAGAIN here, and nothing would tell when there is room: tried again later. */
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int code = -errno;
        (void)close(fd); /* nothing was written to it */
        return err_set(err, code, "cannot reach the server at '%s': %s", path, strerror(-code));
    }
    link->fd = fd;
    link->wants = POLLOUT;
    return 0;
}

int link_open(struct link *link, const struct where *where, struct err *err)
{
    *link = (struct link){.fd = -1};
    if (where->socket != NULL)
        return open_unix(link, where->socket, err);
    return tls_open(link, where, err);
}

bool link_is_open(const struct link *link)
{
    return link->fd >= 0;
}

static ssize_t result(struct link *link, ssize_t n, short wants)
{
    link->wants = wants;
    return n < 0 ? -errno : n;
}

ssize_t link_read(struct link *link, char *to, size_t len)
{
    if (link->tls != NULL)
        return tls_read(link, to, len);
    ssize_t n;
    do
        n = recv(link->fd, to, len, 0);
    while (n < 0 && errno == EINTR);
    return result(link, n, POLLIN);
}

ssize_t link_write(struct link *link, const char *data, size_t len)
{
    if (link->tls != NULL)
        return tls_write(link, data, len);
    ssize_t n;
    do
        n = send(link->fd, data, len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return result(link, n, POLLOUT);
}

void link_close(struct link *link)
{
    if (link->tls != NULL)
        tls_close(link);
    if (link->fd >= 0)
        (void)close(link->fd); /* whatever was to be said has been answered, or is asked again */
    link->fd = -1;
}
