// SPDX-License-Identifier: Apache-2.0
/* 1. Whoever may write to the socket is not trusted for that alone: each datagram must carry the
 *    sender's user, which the kernel fills in, and it must be one of those we listen to.
 * 2. Descriptors that come along are closed at once. That is also what a sender of BARRIER=1 waits
 *    for.
 * 3. A datagram counts as a whole or not at all: one that was cut off, or has a NUL inside, is
 *    dropped. */
#include "node/notifysock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "os/fd.h"
#include "os/log.h"
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define DATAGRAM_MAX 4096 /* as for systemd */
#define DATAGRAMS_A_TURN 32
#define FDS_MAX 253 /* the kernel's own limit for one message */

struct notifysock {
    notifysock_fn *fn;
    void *arg;
    char *path; /* NULL: an abstract name */
    char *address;
    int fd;
    struct loop_io *io;
    int64_t uid; /* also heard; -1: nobody else */
    bool has_warned;
    bool is_reading; /* on_readable() is under way and frees it */
    bool is_closed;
};

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int) * FDS_MAX)];
};

/* ---- what comes ---- */

static void close_fds(const struct cmsghdr *part)
{
    size_t n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
        (void)close(fd); /* not ours to look at */
    }
}

/* The sender, or -1. */
static int64_t take_control(struct msghdr *message)
{
    int64_t uid = -1;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL;
         part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET)
            continue;
        if (part->cmsg_type == SCM_RIGHTS)
            close_fds(part);
        if (part->cmsg_type != SCM_CREDENTIALS)
            continue;
        struct ucred who;
        memcpy(&who, CMSG_DATA(part), sizeof(who));
        uid = who.uid;
    }
    return uid;
}

static bool is_heard(struct notifysock *sock, int64_t uid)
{
    if (uid == 0 || uid == (int64_t)geteuid() || (uid >= 0 && uid == sock->uid))
        return true;
    if (!sock->has_warned)
        log_warn("notify.refused address=%s uid=%" PRId64, sock->address, uid);
    sock->has_warned = true;
    return false;
}

static void tell(struct notifysock *sock, char *text)
{
    while (text != NULL && !sock->is_closed) {
        char *end = strchr(text, '\n');
        if (end != NULL)
            *end = '\0';
        if (*text != '\0')
            sock->fn(sock->arg, text);
        text = end != NULL ? end + 1 : NULL;
    }
}

/* False when there is nothing more to read. */
static bool read_one(struct notifysock *sock)
{
    char text[DATAGRAM_MAX + 1];
    union control control;
    struct iovec part = {text, DATAGRAM_MAX};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t n = recvmsg(sock->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return errno == EINTR;
    int64_t uid = take_control(&message);
    if (!is_heard(sock, uid) || (message.msg_flags & MSG_TRUNC) != 0)
        return true;
    text[n] = '\0';
    while (n > 0 && text[n - 1] == '\0')
        n--; /* some send the NUL that ends their text */
    if (strlen(text) == (size_t)n)
        tell(sock, text);
    return true;
}

static void sock_free(struct notifysock *sock)
{
    fd_close_scoped(&sock->fd);
    mem_free(sock->path);
    mem_free(sock->address);
    mem_free(sock);
}

static void on_readable(void *arg, uint32_t events)
{
    struct notifysock *sock = arg;
    (void)events;
    sock->is_reading = true;
    for (int i = 0; i < DATAGRAMS_A_TURN && !sock->is_closed; i++) {
        if (!read_one(sock))
            break;
    }
    sock->is_reading = false;
    if (sock->is_closed)
        sock_free(sock);
}

/* ---- the socket ---- */

/* A path that does not fit into an address could be bound by detours, but the container could not
 * connect to it. An abstract name has no file and no rights; the check of senders does not need
 * them. */
static socklen_t address_of(struct notifysock *sock, const char *path, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) < sizeof(out->sun_path)) {
        memcpy(out->sun_path, path, strlen(path) + 1);
        sock->path = mem_strdup(path);
        sock->address = mem_strdup(path);
        return sizeof(*out);
    }
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    sock->address = mem_printf("@muster/%016" PRIx64 "/%.32s", hash_text(HASH_START, path), name);
    size_t len = strlen(sock->address);
    memcpy(out->sun_path, sock->address, len);
    out->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static int sock_bind(struct notifysock *sock, const struct sockaddr_un *address, socklen_t len,
                     struct err *err)
{
    int on = 1;
    sock->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (sock->fd < 0)
        return err_set(err, -errno, "make a notify socket: %s", strerror(errno));
    if (setsockopt(sock->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
        return err_set(err, -errno, "notify socket: ask for credentials: %s", strerror(errno));
    if (sock->path != NULL)
        (void)unlink(sock->path); /* of a supervisor that was killed; else it is not there */
    mode_t mask = umask(0177);
    int r = bind(sock->fd, (const struct sockaddr *)address, len) < 0 ? -errno : 0;
    (void)umask(mask);
    if (r < 0)
        (void)err_set(err, r, "bind the notify socket '%s': %s", sock->address, strerror(-r));
    if (r == -EADDRINUSE)
        (void)err_hint(err, "another program has this name; with a data directory whose path is "
                            "shorter, files are used instead: --data DIR");
    return r;
}

/* A callback, its argument, and who pays for it. NOLINTNEXTLINE(readability-function-size) */
int notifysock_open(struct loop *loop, const char *path, notifysock_fn *fn, void *arg,
                    struct notifysock **ret, struct err *err)
{
    struct notifysock *sock = mem_zalloc(sizeof(*sock));
    *sock = (struct notifysock){.fn = fn, .arg = arg, .fd = -1, .uid = -1};
    struct sockaddr_un address;
    socklen_t len = address_of(sock, path, &address);
    int r = sock_bind(sock, &address, len, err);
    if (r < 0) {
        sock_free(sock);
        return r;
    }
    sock->io = loop_io_add(loop, sock->fd, EPOLLIN, on_readable, sock);
    *ret = sock;
    return 0;
}

int notifysock_allow(struct notifysock *sock, int64_t uid, struct err *err)
{
    if (uid < 0 || uid == (int64_t)geteuid())
        return 0;
    if (sock->path != NULL && chown(sock->path, (uid_t)uid, (gid_t)-1) < 0)
        return err_set(err, -errno, "give the notify socket '%s' to user %" PRId64 ": %s",
                       sock->path, uid, strerror(errno));
    sock->uid = uid;
    return 0;
}

const char *notifysock_address(const struct notifysock *sock)
{
    return sock->address;
}

void notifysock_close(struct notifysock *sock)
{
    if (sock == NULL)
        return;
    loop_io_del(sock->io);
    sock->io = NULL;
    if (sock->path != NULL)
        (void)unlink(sock->path); /* the folder may have gone before */
    sock->is_closed = true;
    if (!sock->is_reading)
        sock_free(sock);
}
