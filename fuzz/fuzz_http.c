// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "os/http_internal.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Arbitrary bytes as what a client sends, over a real connection. The first byte of the input is
 * the size of the pieces in which the rest arrives, so that every state is left and entered in the
 * middle of things; the second one chooses what the handler does. Properties: no memory error, each
 * request is answered or abandoned exactly once, and nothing is left behind. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
    struct loop *loop;
    struct http_server *server;
    struct http_exchange *held; /* to be answered in a later turn */
    bool is_stream;
    uint8_t mode;
    int requests, done;
};

static void on_gone(void *arg)
{
    struct world *world = arg;
    assert(world->held);
    world->held = NULL;
}

static void check_request(struct http_exchange *x)
{
    const struct http_request *req = http_request_of(x);
    assert(req->method[0] && req->path && req->query);
    assert(strlen(req->path) < 4096 && req->body.len <= 256);
    assert(req->body.ptr[req->body.len] == '\0');
    assert(http_header(x, "Host") || x->is_http10);
}

static void on_request(void *arg, struct http_exchange *x)
{
    struct world *world = arg;
    unsigned choice = (world->mode + (unsigned)world->requests++) % 3;
    assert(world->held == NULL); /* one at a time */
    check_request(x);
    if (choice == 0) {
        struct buf *body = buf_new(http_request_of(x)->path, strlen(http_request_of(x)->path));
        http_reply(x, 200, "text/plain", NULL, body);
        buf_unref(body);
        return;
    }
    world->held = x;
    world->is_stream = choice == 2;
    if (world->is_stream)
        http_stream_start(x, 200, "text/plain", on_gone, world);
    else
        http_on_abandoned(x, on_gone, world);
}

static void on_done(void *arg, const struct http_done *done)
{
    struct world *world = arg;
    assert(done->req->method && done->who && done->status >= 0 && done->took_ms >= 0);
    world->done++;
}

static void answer_held(struct world *world)
{
    struct http_exchange *x = take_ptr(world->held);
    if (x == NULL)
        return;
    struct buf *text = buf_new("late\n", 5);
    if (world->is_stream) {
        (void)http_stream_send(x, text); /* refused is fine, too */
        http_stream_end(x, text);
    } else {
        http_reply(x, 404, "text/plain", NULL, text);
    }
    buf_unref(text);
}

static void read_answers(int fd)
{
    char answer[4096];
    while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
        ;
}

static void feed(struct world *world, int fd, const uint8_t *data, size_t size, size_t piece)
{
    while (size > 0) {
        size_t part = size < piece ? size : piece;
        ssize_t n = send(fd, data, part, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        } else if (errno != EAGAIN) {
            return;
        }
        loop_turn(world->loop, 0);
        read_answers(fd);
        answer_held(world);
    }
}

static void open_world(struct world *world)
{
    struct http_server_options options = {
        .limits = {.header_bytes_max = 1024, .body_bytes_max = 256},
        .on_request = on_request,
        .on_done = on_done,
        .arg = world,
    };
    int r = loop_new(&world->loop, NULL);
    assert(r == 0);
    r = http_server_new(world->loop, &options, &world->server, NULL);
    assert(r == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world world = {0};
    int ends[2];
    if (size < 2)
        return 0;
    world.mode = data[1];
    int r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);
    assert(r == 0);
    open_world(&world);
    r = http_server_adopt(world.server, ends[0], NULL);
    assert(r == 0);
    feed(&world, ends[1], data + 2, size - 2, (size_t)data[0] + 1);
    (void)shutdown(ends[1], SHUT_WR); /* the server may have closed it */
    for (int i = 0; i < 10000 && http_server_connections(world.server) > 0; i++) {
        loop_turn(world.loop, 0);
        read_answers(ends[1]);
        answer_held(&world);
    }
    assert(http_server_connections(world.server) == 0);
    assert(world.held == NULL && world.done >= world.requests);
    close(ends[1]);
    http_server_free(world.server);
    loop_free(world.loop);
    return 0;
}
