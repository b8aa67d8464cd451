// SPDX-License-Identifier: Apache-2.0
/* The store without the API: a number of updates always under way, committed in whatever batches
 * they come. Shows what durability costs, and what is left for HTTP. Prints one object of JSON. */
#include "base/json.h"
#include "base/mem.h"
#include "base/vec.h"
#include "bench/proc.h"
#include "bench/request.h"
#include "store/embedded.h"
#include "store/sqlite.h"
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW_CHANGES 16384

struct bench {
    struct disk *disk;
    struct store *store;
    struct rng rng;
    struct request pod;
    struct request status;
    struct request note;
    enum { RUN_PUT, RUN_STATUS, RUN_NOTE } type;
    bool is_dirty;
    uint64_t keys;
    size_t under_way;
    uint64_t done;
    uint64_t refused;
};

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench_store: %s: %s\n", what, why);
    exit(1);
}

static time_ms wall_now(void *arg)
{
    (void)arg;
    return (time_ms)(proc_clock_ns() / 1000000); /* any clock does: nobody reads the dates */
}

static void on_dirty(void *arg)
{
    struct bench *bench = arg;
    bench->is_dirty = true;
}

static void on_done(void *arg, struct write_result *result)
{
    struct bench *bench = arg;
    bench->under_way--;
    bench->done++;
    bench->refused += !status_ok(&result->status);
}

static void submit(struct bench *bench, enum write_op op, uint64_t key)
{
    char name[32];
    struct request *body = op != WRITE_PATCH           ? &bench->pod
                           : bench->type == RUN_STATUS ? &bench->status
                                                       : &bench->note;
    struct err err = {0};
    request_number(body, key, bench->done);
    struct sv text = {body->bytes.data, body->bytes.len};
    (void)snprintf(name, sizeof(name), "pod-%06" PRIu64, key);
    struct write *write = write_new(op, &KIND_POD, "default", op == WRITE_CREATE ? "" : name);
    int r;
    if (op == WRITE_PATCH) {
        write->sub = bench->type == RUN_STATUS ? SUB_STATUS : SUB_NONE;
        write->patch_type = bench->type == RUN_STATUS ? PATCH_STRATEGIC : PATCH_MERGE;
        r = json_parse(text, &write->patch, &err);
    } else {
        r = json_parse_mut(text, &write->doc, &err);
    }
    if (r < 0)
        die("body", err.text);
    write->validation = VALIDATE_WARN;
    write->done = on_done;
    write->arg = bench;
    bench->under_way++;
    store_submit(bench->store, write);
}

/* What an event loop would do in one turn. */
static void turn(struct bench *bench)
{
    if (bench->is_dirty) {
        bench->is_dirty = false;
        embedded_flush(bench->store);
    }
    struct pollfd ready = {.fd = sqlite_disk_fd(bench->disk), .events = POLLIN};
    (void)poll(&ready, 1, -1); /* an interruption only costs a turn */
    sqlite_disk_dispatch(bench->disk);
}

static void settle(struct bench *bench)
{
    while (embedded_busy(bench->store))
        turn(bench);
}

static void fill(struct bench *bench, size_t in_flight)
{
    embedded_bootstrap(bench->store);
    settle(bench);
    for (uint64_t key = 0; key < bench->keys;) {
        while (key < bench->keys && bench->under_way < in_flight)
            submit(bench, WRITE_CREATE, key++);
        turn(bench);
    }
    settle(bench);
}

static void run(struct bench *bench, size_t in_flight, double seconds)
{
    enum write_op op = bench->type == RUN_PUT ? WRITE_UPDATE : WRITE_PATCH;
    struct embedded_stats stats = embedded_stats(bench->store);
    struct proc_use before = proc_use(getpid());
    uint64_t start = proc_clock_ns();
    bench->done = 0;
    while ((double)(proc_clock_ns() - start) < seconds * 1e9) {
        while (bench->under_way < in_flight)
            submit(bench, op, rng_below(&bench->rng, bench->keys));
        turn(bench);
    }
    settle(bench);
    double took = (double)(proc_clock_ns() - start) / 1e9;
    struct proc_use after = proc_use(getpid());
    printf("{\"requests\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"seconds\":%.6f,\"batches\":%" PRIu64
           ",\"cpu_ns\":%" PRIu64 ",\"main_ns\":%" PRIu64 "}\n",
           bench->done, bench->refused, took, embedded_stats(bench->store).batches - stats.batches,
           after.cpu_ns - before.cpu_ns, after.main_ns - before.main_ns);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        die("usage", "bench_store FOLDER put|patch|note KEYS IN-FLIGHT SECONDS");
    struct bench bench = {.type = strcmp(argv[2], "put") == 0    ? RUN_PUT
                                  : strcmp(argv[2], "note") == 0 ? RUN_NOTE
                                                                 : RUN_STATUS,
                          .keys = strtoull(argv[3], NULL, 10)};
    size_t in_flight = strtoull(argv[4], NULL, 10);
    if (bench.keys == 0 || bench.keys > REQUEST_KEYS_MAX || in_flight == 0)
        die("usage", "KEYS and IN-FLIGHT must be numbers");
    scoped_free char *path = mem_printf("%s/store.db", argv[1]);
    struct sqlite_options disk = {.path = path, .sync_full = 1};
    struct err err = {0};
    if (sqlite_disk_open(&disk, &bench.disk, &err) < 0)
        die("disk", err.text);
    struct embedded_options store = {.disk = bench.disk,
                                     .window_changes = WINDOW_CHANGES,
                                     .seed = 1,
                                     .now = wall_now,
                                     .on_dirty = on_dirty,
                                     .arg = &bench};
    if (embedded_open(&store, &bench.store, &err) < 0)
        die("store", err.text);
    rng_seed(&bench.rng, 1);
    request_pod(&bench.pod);
    request_status(&bench.status);
    request_note(&bench.note);
    fill(&bench, in_flight);
    run(&bench, in_flight, strtod(argv[5], NULL));
    bench.disk->ops->close(bench.disk);
    embedded_close(bench.store);
    request_done(&bench.pod);
    request_done(&bench.status);
    request_done(&bench.note);
    return 0;
}
