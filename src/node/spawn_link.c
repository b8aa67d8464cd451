// SPDX-License-Identifier: Apache-2.0
#include "node/spawn_link.h"
#include "node/spawn_wire.h"
#include "os/fd.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Small enough that several fit into what a socket buffers by default; the rest waits here. */
#define DATAGRAM_BYTES (size_t)(48 * 1024)
#define BACKLOG 16

enum { PART_LAST = 0, PART_MORE = 1 };

/* Of no address yet; the path's is the second answer. */
static int make_socket(const char *path, struct sockaddr_un *ret_address)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    *ret_address = address;
    return fd;
}

int spawn_link_connect(struct spawn_link *link, const char *path)
{
    struct sockaddr_un address;
    scoped_fd fd = make_socket(path, &address);
    if (fd < 0)
        return fd;
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    link->fd = fd_take(&fd);
    return 0;
}

int spawn_link_listen(const char *path, int *ret_fd)
{
    struct sockaddr_un address;
    scoped_fd fd = make_socket(path, &address);
    if (fd < 0)
        return fd;
    (void)unlink(path); /* left by one that was killed */
    mode_t mask = umask(0177);
    int r = bind(fd, (const struct sockaddr *)&address, sizeof(address));
    int error = errno;
    (void)umask(mask);
    if (r < 0)
        return -error;
    if (listen(fd, BACKLOG) < 0)
        return -errno;
    *ret_fd = fd_take(&fd);
    return 0;
}

static void drop_sent(struct spawn_link *link)
{
    if (link->sent == 0)
        return;
    size_t left = link->out.len - link->sent;
    memmove(link->out.data, link->out.data + link->sent, left + 1);
    link->out.len = left;
    link->sent = 0;
}

void spawn_link_close(struct spawn_link *link)
{
    fd_close_scoped(&link->fd);
    drop_sent(link);
    link->part_sent = 0;
    link->is_gathering = false;
    str_clear(&link->in);
}

void spawn_link_done(struct spawn_link *link)
{
    fd_close_scoped(&link->fd);
    str_done(&link->out);
    str_done(&link->in);
}

/* Whole messages from the front that fit into one datagram; 0 when the first alone does not. */
static size_t fitting(struct sv rest)
{
    size_t taken = 0;
    while (taken < rest.len) {
        size_t size = spawn_wire_size((struct sv){rest.ptr + taken, rest.len - taken});
        if (taken + size > DATAGRAM_BYTES)
            break;
        taken += size;
    }
    return taken;
}

static int send_one(struct spawn_link *link, struct sv data, char mark)
{
    struct iovec parts[] = {{&mark, 1}, {(void *)data.ptr, data.len}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    return 0;
}

static int send_next(struct spawn_link *link)
{
    struct sv rest = {link->out.data + link->sent, link->out.len - link->sent};
    size_t whole = fitting(rest);
    if (whole > 0) {
        int r = send_one(link, (struct sv){rest.ptr, whole}, PART_LAST);
        link->sent += r < 0 ? 0 : whole;
        return r;
    }
    size_t size = spawn_wire_size(rest), left = size - link->part_sent;
    size_t part = left < DATAGRAM_BYTES ? left : DATAGRAM_BYTES;
    struct sv data = {rest.ptr + link->part_sent, part};
    int r = send_one(link, data, part < left ? PART_MORE : PART_LAST);
    if (r < 0)
        return r;
    link->part_sent += part;
    if (link->part_sent == size) {
        link->sent += size;
        link->part_sent = 0;
    }
    return 0;
}

int spawn_link_flush(struct spawn_link *link)
{
    if (link->fd < 0)
        return 1;
    while (link->sent < link->out.len) {
        int r = send_next(link);
        if (r < 0) {
            if (link->sent > link->out.len / 2) /* else moving it would cost more than it frees */
                drop_sent(link);
            return r == -EAGAIN ? 1 : r;
        }
    }
    str_clear(&link->out);
    link->sent = 0;
    return 0;
}

int spawn_link_read(struct spawn_link *link, struct sv *ret)
{
    if (!link->is_gathering)
        str_clear(&link->in);
    char mark;
    struct iovec parts[] = {{&mark, 1}, {str_reserve(&link->in, DATAGRAM_BYTES), DATAGRAM_BYTES}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n = recvmsg(link->fd, &message, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (n == 0)
        return -EPIPE;
    if (message.msg_flags & MSG_TRUNC)
        return -EBADMSG;
    link->in.len += (size_t)n - 1;
    link->in.data[link->in.len] = '\0';
    link->is_gathering = mark == PART_MORE;
    if (link->is_gathering)
        return link->in.len > SPAWN_WIRE_MAX ? -EBADMSG : 0;
    *ret = (struct sv){link->in.data, link->in.len};
    return 1;
}
