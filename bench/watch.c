// SPDX-License-Identifier: Apache-2.0
/* Thousands of watches of one namespace's ConfigMaps, and one writer: how long until the last
 * watcher has an event, and what that costs the server. */
#include "base/mem.h"
#include "bench/load.h"
#include "bench/proc.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct fan {
    const struct load *load;
    struct request request; /* shared by all: it has no numbers in it */
    size_t streaming;
    size_t received; /* watchers that have the event under way */
    uint64_t first_ns;
    uint64_t last_ns;
    bool written;
};

static void on_ready(struct wire *wire)
{
    struct fan *fan = wire_pool_arg(wire);
    wire_send(wire, fan->request.bytes.data, fan->request.bytes.len);
}

static void on_head(struct wire *wire)
{
    struct fan *fan = wire_pool_arg(wire);
    if (wire->status != 200)
        wire_die("a watch was answered with status %d", wire->status);
    fan->streaming++;
}

/* Every event ends in a newline, and there is no other in it. */
static void on_body(struct wire *wire, const char *data, size_t len)
{
    struct fan *fan = wire_pool_arg(wire);
    const char *end = data + len;
    while ((data = memchr(data, '\n', (size_t)(end - data))) != NULL) {
        data++;
        fan->last_ns = proc_clock_ns();
        if (fan->received++ == 0)
            fan->first_ns = fan->last_ns;
    }
}

static void on_stream_end(struct wire *wire)
{
    wire_die("the server ended watch %zu", wire->index);
}

static void on_writer_ready(struct wire *wire)
{
    (void)wire;
}

static void on_written(struct wire *wire)
{
    struct fan *fan = wire_pool_arg(wire);
    if (wire->status >= 300)
        wire_die("the object was refused with status %d", wire->status);
    fan->written = true;
}

static struct wire_pool *open_watches(struct loop *loop, struct fan *fan)
{
    struct wire_options options = fan->load->target;
    options.count = fan->load->conns;
    options.on_ready = on_ready;
    options.on_head = on_head;
    options.on_body = on_body;
    options.on_done = on_stream_end;
    options.arg = fan;
    struct wire_pool *pool = wire_pool_new(loop, &options);
    while (fan->streaming < fan->load->conns)
        loop_turn(loop, -1);
    return pool;
}

static struct wire_pool *open_writer(struct loop *loop, struct fan *fan)
{
    struct wire_options options = fan->load->target;
    options.count = 1;
    options.on_ready = on_writer_ready;
    options.on_done = on_written;
    options.arg = fan;
    struct wire_pool *pool = wire_pool_new(loop, &options);
    while (wire_pool_ready(pool) == 0)
        loop_turn(loop, -1);
    return pool;
}

static void one_event(struct loop *loop, struct fan *fan, struct wire *writer,
                      struct request *request)
{
    struct proc_use before = proc_use_at_rest(fan->load->pid);
    uint64_t start = proc_clock_ns();
    request_number(request, 0, start / 1000 % 10000000000u);
    fan->received = 0;
    fan->written = false;
    wire_send(writer, request->bytes.data, request->bytes.len);
    while (!fan->written || fan->received < fan->load->conns)
        loop_turn(loop, -1);
    struct proc_use after = proc_use_at_rest(fan->load->pid);
    printf("{\"wall_ms\":%.3f,\"first_ms\":%.3f,\"cpu_ms\":%.3f}",
           (double)(fan->last_ns - start) / 1e6, (double)(fan->first_ns - start) / 1e6,
           (double)(after.cpu_ns - before.cpu_ns) / 1e6);
}

static void print_set_up(uint64_t ns, const struct proc_use *before, const struct proc_use *after)
{
    printf("{\"setup_ms\":%.3f,\"setup_cpu_ms\":%.3f,\"rss_before\":%" PRIu64
           ",\"rss_after\":%" PRIu64 ",\"events\":[",
           (double)ns / 1e6, (double)(after->cpu_ns - before->cpu_ns) / 1e6, before->rss_bytes,
           after->rss_bytes);
}

void load_watches(struct loop *loop, const struct load *load)
{
    struct fan fan = {.load = load};
    request_init(&fan.request, &load->request);
    struct request_options put = {.type = REQUEST_RECONFIG, .token = load->request.token};
    struct request request;
    request_init(&request, &put);
    struct wire_pool *writer = open_writer(loop, &fan);
    struct proc_use before = proc_use_at_rest(load->pid);
    uint64_t start = proc_clock_ns();
    struct wire_pool *watches = open_watches(loop, &fan);
    uint64_t took = proc_clock_ns() - start;
    struct proc_use after = proc_use_at_rest(load->pid);
    print_set_up(took, &before, &after);
    for (uint64_t i = 0; i < load->events; i++) {
        if (i > 0)
            putchar(',');
        one_event(loop, &fan, wire_pool_at(writer, 0), &request);
    }
    printf("],\"rss_end\":%" PRIu64 "}\n", proc_use(load->pid).rss_bytes);
    wire_pool_free(watches);
    wire_pool_free(writer);
    request_done(&request);
    request_done(&fan.request);
}
