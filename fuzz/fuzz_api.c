// SPDX-License-Identifier: Apache-2.0
/* Requests of an administrator, over a real connection, to the real API on a store whose disk is
 * memory and now and then full. The first byte says which commits are refused. Properties: no
 * memory error, every request is answered or abandoned, what was stored can be read back, nothing
 * is left behind. */
#include "api/api.h"
#include "base/mem.h"
#include "os/http_internal.h"
#include "store/embedded.h"
#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct place {
    struct disk disk; /* first: cast back from the port */
    struct disk_batch batch;
    bool has_batch;
    unsigned refuse_mask, commits;
    struct loop *loop;
    struct store *store;
    struct api *api;
    struct http_server *server;
};

static int disk_load(struct disk *disk, int (*each)(void *arg, const struct disk_row *row),
                     void *arg, uint64_t *ret_revision, struct err *err)
{
    (void)disk, (void)each, (void)arg, (void)err;
    *ret_revision = 0;
    return 0;
}

static void disk_commit(struct disk *disk, const struct disk_batch *batch)
{
    struct place *place = (struct place *)disk;
    place->batch = *batch;
    place->has_batch = true;
}

static const struct disk_ops DISK_OPS = {.load = disk_load, .commit = disk_commit};

static void check_rows(const struct disk_batch *batch)
{
    for (size_t i = 0; i < batch->len; i++) {
        const struct disk_row *row = &batch->rows[i];
        assert(i == 0 || row->revision > batch->rows[i - 1].revision);
        if (row->json == NULL)
            continue;
        struct obj *obj =
            obj_load(row->kind, (struct sv){row->json->data, row->json->len}, row->revision);
        assert(obj != NULL);
        obj_unref(obj);
    }
}

static time_ms fixed_now(void *arg)
{
    (void)arg;
    return 1700000000000;
}

static void on_dirty(void *arg)
{
    (void)arg; /* pump() flushes */
}

static void pump(struct place *place)
{
    loop_turn(place->loop, 0);
    embedded_flush(place->store);
    if (!place->has_batch)
        return;
    place->has_batch = false;
    check_rows(&place->batch);
    bool refused = (place->refuse_mask >> (place->commits++ % 8)) & 1;
    place->batch.done(place->batch.arg, refused ? -ENOSPC : 0, "the disk of the test is full");
}

static void read_answers(int fd)
{
    char answer[65536];
    while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
        ;
}

static void open_place(struct place *place)
{
    static const struct token_key KEY = {{0}};
    place->disk.ops = &DISK_OPS;
    struct embedded_options store = {.disk = &place->disk,
                                     .window_changes = 4,
                                     .seed = 1,
                                     .now = fixed_now,
                                     .on_dirty = on_dirty};
    int r = loop_new(&place->loop, NULL);
    assert(r == 0);
    r = embedded_open(&store, &place->store, NULL);
    assert(r == 0);
    embedded_bootstrap(place->store);
    struct api_options api = {.loop = place->loop, .store = place->store, .key = &KEY};
    r = api_new(&api, &place->api, NULL);
    assert(r == 0);
    struct http_server_options http = {
        .on_request = api_on_request, .on_done = api_on_done, .arg = place->api};
    r = http_server_new(place->loop, &http, &place->server, NULL);
    assert(r == 0);
    pump(place);
}

static void close_place(struct place *place)
{
    api_end_streams(place->api);
    http_server_free(place->server);
    while (embedded_busy(place->store))
        pump(place);
    assert(feed_watches(place->store->feed) == 0);
    embedded_close(place->store);
    api_free(place->api);
    loop_free(place->loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct place place = {0};
    int ends[2];
    int r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);
    assert(r == 0);
    open_place(&place);
    place.refuse_mask = data[0];
    r = http_server_adopt(place.server, ends[0], NULL);
    assert(r == 0);
    size_t sent = 1;
    for (int idle = 0; idle < 8; idle++) {
        ssize_t n = send(ends[1], data + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            sent += (size_t)n;
            idle = 0;
        }
        pump(&place);
        read_answers(ends[1]);
    }
    close(ends[1]);
    close_place(&place);
    return 0;
}
