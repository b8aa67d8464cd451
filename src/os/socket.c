// SPDX-License-Identifier: Apache-2.0
#include "os/socket.h"
#include "os/fd.h"
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 4096
#define PORT_MAX 65535
#define FORMS "write it like 127.0.0.1:8443, [::1]:8443 or 127.0.0.1:0 for any free port"

int socket_listen_unix(const char *path, int *ret_fd, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        (void)err_set(err, -ENAMETOOLONG,
                      "the path of the socket is too long (%zu of at most %zu "
                      "characters): %s",
                      strlen(path), sizeof(address.sun_path) - 1, path);
        return err_hint(err, "choose a data directory with a shorter path: --data DIR");
    }
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    scoped_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, -errno, "make a unix socket: %s", strerror(errno));
    /* A socket left by a killed server is in the way; a running one holds the store's lock, so
     * nobody is listening here any more. */
    (void)unlink(path);
    mode_t mask = umask(0177); /* never open to others, not even between bind and chmod */
    int r = bind(fd, (const struct sockaddr *)&address, sizeof(address));
    (void)umask(mask);
    if (r < 0 || listen(fd, BACKLOG) < 0)
        return err_set(err, -errno, "listen on '%s': %s", path, strerror(errno));
    *ret_fd = fd_take(&fd);
    return 0;
}

/* getaddrinfo() takes names of services and the lower 16 bits of any number. */
static bool is_port(const char *text)
{
    unsigned number = 0;
    size_t len = strspn(text, "0123456789");
    return len > 0 && len <= 5 && text[len] == '\0' && sscanf(text, "%u", &number) == 1 &&
           number <= PORT_MAX;
}

static int split_address(const char *address, char host[256], char port[16], struct err *err)
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL || (size_t)(colon - address) >= 256) {
        (void)err_set(err, -EINVAL, "'%s' is not ADDRESS:PORT", address);
        return err_hint(err, "%s", FORMS);
    }
    if (!is_port(colon + 1)) {
        (void)err_set(err, -EINVAL, "the port of '%s' is not a number from 0 to %d", address,
                      PORT_MAX);
        return err_hint(err, "%s", FORMS);
    }
    size_t len = (size_t)(colon - address);
    if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    }
    (void)snprintf(host, 256, "%.*s", (int)len, address);
    (void)snprintf(port, 16, "%s", colon + 1);
    return 0;
}

int socket_check_tcp(const char *address, struct err *err)
{
    char host[256] = "", port[16] = "";
    return split_address(address, host, port, err);
}

static int bind_one(const struct addrinfo *info)
{
    scoped_fd fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* only a nicety */
    if (bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    return fd_take(&fd);
}

static int bound_to(int fd, char ret_host[256], int *ret_port)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    char port[16];
    if (getsockname(fd, (struct sockaddr *)&address, &len) < 0 ||
        getnameinfo((struct sockaddr *)&address, len, ret_host, 256, port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return -EIO;
    unsigned number = 0;
    (void)sscanf(port, "%u", &number); /* digits, from getnameinfo */
    *ret_port = (int)number;
    /* Listening everywhere, we are best reached here. */
    if (strcmp(ret_host, "0.0.0.0") == 0 || strcmp(ret_host, "::") == 0)
        (void)snprintf(ret_host, 256, "127.0.0.1");
    return 0;
}

int socket_listen_tcp(const char *address, int *ret_fd, char ret_host[256], int *ret_port,
                      struct err *err)
{
    char host[256] = "", port[16] = "";
    int r = split_address(address, host, port, err);
    if (r < 0)
        return r;
    struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *found = NULL;
    r = getaddrinfo(host[0] ? host : NULL, port, &hints, &found);
    if (r != 0)
        return err_set(err, -EINVAL, "cannot listen on '%s': %s", address, gai_strerror(r));
    scoped_fd fd = bind_one(found);
    freeaddrinfo(found);
    if (fd < 0) {
        (void)err_set(err, fd, "cannot listen on '%s': %s", address, strerror(-fd));
        if (fd == -EADDRINUSE)
            (void)err_hint(err, "another program has that port; 127.0.0.1:0 picks a free one");
        return fd;
    }
    r = bound_to(fd, ret_host, ret_port);
    if (r < 0)
        return err_set(err, r, "cannot tell what '%s' is bound to", address);
    *ret_fd = fd_take(&fd);
    return 0;
}
