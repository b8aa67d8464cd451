// SPDX-License-Identifier: Apache-2.0
#include "agent/barrier.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 16

static int listen_on(const char *address, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_ANY);
    if (address != NULL && inet_pton(AF_INET, address, &to.sin_addr) != 1)
        return -EINVAL;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* bind tells if it matters */
    if (bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || listen(fd, BACKLOG) < 0) {
        int code = -errno;
        (void)close(fd); /* nobody has connected */
        return code;
    }
    return fd;
}

/* All addresses of the pod: IPv6 takes IPv4 as well, where there is any. */
static int listen_on_all(int port)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1, off = 0;
    if (fd < 0)
        return listen_on(NULL, port);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* bind tells if it matters */
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, (struct sockaddr *)&to, sizeof(to)) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int code = -errno;
    (void)close(fd); /* nobody has connected */
    return code == -EADDRINUSE ? code : listen_on(NULL, port);
}

int barrier_open(struct barrier *barrier, const char *address, int port, const char *path,
                 struct err *err)
{
    *barrier = (struct barrier){.path = path};
    for (size_t i = 0; i < BARRIER_CLIENTS; i++)
        barrier->clients[i].fd = -1;
    barrier->fd = address != NULL ? listen_on(address, port) : listen_on_all(port);
    if (barrier->fd >= 0)
        return 0;
    (void)err_set(err, barrier->fd, "cannot listen on port %d for the startup probe: %s", port,
                  strerror(-barrier->fd));
    return err_hint(err, "another program has it: give the probe and STARTUP_PROBE_PORT another "
                         "one");
}

size_t barrier_polls(const struct barrier *barrier, struct pollfd *polls)
{
    size_t n = 0;
    if (barrier->fd < 0)
        return 0;
    for (size_t i = 0; i < BARRIER_CLIENTS; i++) {
        if (barrier->clients[i].fd >= 0)
            polls[n++] = (struct pollfd){.fd = barrier->clients[i].fd, .events = POLLIN};
    }
    polls[n++] = (struct pollfd){.fd = barrier->fd, .events = POLLIN};
    return n;
}

/* What to answer to the head of a request that begins like this: an HTTP status. */
static int verdict_on(const struct barrier *barrier, const char *head)
{
    if (strncmp(head, "GET ", 4) != 0 && strncmp(head, "HEAD ", 5) != 0)
        return 405;
    const char *path = strchr(head, ' ') + 1;
    size_t len = strcspn(path, " ?\r\n");
    if (len != strlen(barrier->path) || strncmp(path, barrier->path, len) != 0)
        return 404;
    return barrier->is_lifted ? 200 : 503;
}

static void reply(const struct barrier *barrier, struct barrier_client *client)
{
    static const struct {
        int status;
        const char *text;
    } TEXTS[] = {
        {200, "OK"}, {404, "Not Found"}, {405, "Method Not Allowed"}, {503, "Service Unavailable"}};
    int status = verdict_on(barrier, client->head);
    const char *text = "";
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        if (TEXTS[i].status == status)
            text = TEXTS[i].text;
    }
    char out[160];
    int len = snprintf(out, sizeof(out),
                       "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n"
                       "Connection: close\r\n\r\n",
                       status, text);
    ssize_t sent = send(client->fd, out, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent; /* a probe that does not listen asks again */
}

static void drop(struct barrier_client *client)
{
    (void)close(client->fd); /* what was to be said was said */
    client->fd = -1;
    client->len = 0;
}

static void serve(const struct barrier *barrier, struct barrier_client *client)
{
    size_t room = sizeof(client->head) - 1 - client->len;
    ssize_t n = recv(client->fd, client->head + client->len, room, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        client->len += (size_t)n;
    client->head[client->len] = '\0';
    bool is_whole = strstr(client->head, "\r\n\r\n") != NULL;
    bool is_full = client->len == sizeof(client->head) - 1; /* the first line is what counts */
    if (n > 0 && !is_whole && !is_full)
        return;
    if (is_whole || is_full)
        reply(barrier, client);
    drop(client);
}

static struct barrier_client *free_client(struct barrier *barrier)
{
    for (size_t i = 0; i < BARRIER_CLIENTS; i++) {
        if (barrier->clients[i].fd < 0)
            return &barrier->clients[i];
    }
    struct barrier_client *client = &barrier->clients[barrier->oldest++ % BARRIER_CLIENTS];
    drop(client);
    return client;
}

void barrier_step(struct barrier *barrier)
{
    if (barrier->fd < 0)
        return;
    int fd;
    while ((fd = accept4(barrier->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        free_client(barrier)->fd = fd;
    for (size_t i = 0; i < BARRIER_CLIENTS; i++) {
        if (barrier->clients[i].fd >= 0)
            serve(barrier, &barrier->clients[i]);
    }
}
