// SPDX-License-Identifier: Apache-2.0
/* The load generator: a number of connections, each with one request under way (bench_load), and
 * the mode `watch`, in which they listen while one more connection writes. Prints one object of
 * JSON. Times are told, never judged. */
#include "bench/load.h"
#include "base/mem.h"
#include "base/rng.h"
#include "bench/proc.h"
#include "bench/request.h"
#include <getopt.h>
#include <inttypes.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const TYPE_NAMES[REQUEST_TYPE_COUNT] = {
    [REQUEST_CREATE] = "create",     [REQUEST_PUT] = "put",   [REQUEST_PATCH] = "patch",
    [REQUEST_CONFIG] = "config",     [REQUEST_GET] = "get",   [REQUEST_ETCD] = "etcd",
    [REQUEST_RECONFIG] = "reconfig", [REQUEST_NOTE] = "note",
};

struct worker { /* one connection's */
    struct request request;
    uint64_t sent_ns;
    uint64_t body_bytes;
};

struct run {
    const struct load *load;
    struct worker *workers;
    struct rng rng;
    uint64_t next_key;
    uint64_t sent;
    uint64_t answered;
    uint64_t failed;
    uint64_t body_bytes;
    uint64_t end_ns;
    size_t idle; /* connections that have nothing more to do */
    bool started;
    struct times times;
};

/* ---- times ---- */

void times_add(struct times *times, uint64_t ns)
{
    uint64_t us = ns / 1000;
    size_t slot = us < TIMES_FINE ? us : TIMES_FINE + (us - TIMES_FINE) / 1000;
    times->slots[slot < TIMES_SLOTS ? slot : TIMES_SLOTS - 1]++;
    times->count++;
    if (us > times->max_us)
        times->max_us = us;
}

uint64_t times_at(const struct times *times, double share)
{
    uint64_t wanted = (uint64_t)((double)times->count * share), seen = 0;
    for (size_t i = 0; i < TIMES_SLOTS; i++) {
        seen += times->slots[i];
        if (seen > wanted)
            return i < TIMES_FINE ? i : TIMES_FINE + (i - TIMES_FINE) * 1000;
    }
    return times->max_us;
}

/* ---- requests ---- */

/* Creations count up; everything else meets the objects in random order. */
static uint64_t pick_key(struct run *run)
{
    if (run->load->request.type == REQUEST_CREATE)
        return run->load->first_key + run->next_key++;
    return rng_next(&run->rng) % run->load->keys;
}

static bool wants_more(const struct run *run, uint64_t now)
{
    return run->load->count > 0 ? run->sent < run->load->count : now < run->end_ns;
}

static void send_next(struct run *run, struct wire *wire, uint64_t now)
{
    if (!wants_more(run, now)) {
        run->idle++;
        return;
    }
    struct worker *worker = wire->arg;
    request_number(&worker->request, pick_key(run), now / 1000 % 10000000000u);
    run->sent++;
    worker->sent_ns = now;
    wire_send(wire, worker->request.bytes.data, worker->request.bytes.len);
}

static void on_ready(struct wire *wire)
{
    struct run *run = wire_pool_arg(wire);
    wire->arg = &run->workers[wire->index];
}

static void on_body(struct wire *wire, const char *data, size_t len)
{
    struct run *run = wire_pool_arg(wire);
    run->body_bytes += len;
    if (wire->status >= 300 && run->failed == 0)
        (void)fprintf(stderr, "bench: status %d: %.*s\n", wire->status, (int)len, data);
}

static void on_done(struct wire *wire)
{
    struct run *run = wire_pool_arg(wire);
    struct worker *worker = wire->arg;
    uint64_t now = proc_clock_ns();
    times_add(&run->times, now - worker->sent_ns);
    run->answered++;
    run->failed += wire->status >= 300;
    send_next(run, wire, now);
}

static void print_run(const struct run *run, double seconds, const struct proc_use *before,
                      const struct proc_use *after)
{
    printf("{\"requests\":%" PRIu64 ",\"failed\":%" PRIu64
           ",\"seconds\":%.6f,\"body_bytes\":%" PRIu64 ",\"p50_us\":%" PRIu64 ",\"p99_us\":%" PRIu64
           ",\"max_us\":%" PRIu64 ",\"cpu_ns\":%" PRIu64 ",\"main_ns\":%" PRIu64
           ",\"rss_bytes\":%" PRIu64 "}\n",
           run->answered, run->failed, seconds, run->body_bytes, times_at(&run->times, 0.5),
           times_at(&run->times, 0.99), run->times.max_us, after->cpu_ns - before->cpu_ns,
           after->main_ns - before->main_ns, after->rss_bytes);
}

static void prepare(struct run *run)
{
    struct request first;
    request_init(&first, &run->load->request);
    run->workers = mem_zalloc(run->load->conns * sizeof(*run->workers));
    for (size_t i = 0; i < run->load->conns; i++)
        request_copy(&run->workers[i].request, &first);
    request_done(&first);
    rng_seed(&run->rng, run->load->seed);
}

static void drop(struct run *run)
{
    for (size_t i = 0; i < run->load->conns; i++)
        request_done(&run->workers[i].request);
    mem_free(run->workers);
}

static void load_requests(struct loop *loop, const struct load *load)
{
    struct run *run = mem_zalloc(sizeof(*run));
    run->load = load;
    prepare(run);
    struct wire_options options = load->target;
    options.count = load->conns;
    options.on_ready = on_ready;
    options.on_body = on_body;
    options.on_done = on_done;
    options.arg = run;
    struct wire_pool *pool = wire_pool_new(loop, &options);
    while (wire_pool_ready(pool) < load->conns)
        loop_turn(loop, -1);
    struct proc_use before = proc_use_at_rest(load->pid);
    uint64_t start = proc_clock_ns();
    run->end_ns = start + (uint64_t)(load->seconds * 1e9);
    for (size_t i = 0; i < load->conns; i++)
        send_next(run, wire_pool_at(pool, i), start);
    while (run->idle < load->conns)
        loop_turn(loop, -1);
    double seconds = (double)(proc_clock_ns() - start) / 1e9;
    struct proc_use after = proc_use_at_rest(load->pid);
    print_run(run, seconds, &before, &after);
    wire_pool_free(pool);
    drop(run);
    mem_free(run);
}

/* ---- the command line ---- */

static const struct option OPTIONS[] = {
    {"unix", required_argument, NULL, 'u'},
    {"tls", required_argument, NULL, 't'},
    {"ca", required_argument, NULL, 'a'},
    {"token", required_argument, NULL, 'o'},
    {"conns", required_argument, NULL, 'c'},
    {"seconds", required_argument, NULL, 's'},
    {"count", required_argument, NULL, 'n'},
    {"keys", required_argument, NULL, 'k'},
    {"first", required_argument, NULL, 'f'},
    {"pid", required_argument, NULL, 'p'},
    {"path", required_argument, NULL, 'q'},
    {"value-bytes", required_argument, NULL, 'v'},
    {"events", required_argument, NULL, 'e'},
    {"seed", required_argument, NULL, 'd'},
    {0},
};

static void usage(void)
{
    (void)fputs("usage: bench_load TYPE (--unix PATH | --tls IP:PORT --ca FILE) [--token T]\n"
                "         [--conns N] [--seconds S | --count N] [--keys N] [--first N]\n"
                "         [--path P] [--value-bytes N] [--events N] [--pid PID] [--seed N]\n"
                "TYPE: create, put, patch, note, config, reconfig, get, etcd, or watch\n",
                stderr);
    exit(2);
}

static uint64_t number_of(const char *text)
{
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    if (*end != '\0' || *text == '\0')
        usage();
    return number;
}

static void set_address(struct load *load, char *text)
{
    char *colon = strrchr(text, ':');
    if (colon == NULL)
        usage();
    *colon = '\0';
    load->target.host = text;
    load->target.port = (int)number_of(colon + 1);
}

static void set_option(struct load *load, int letter, char *value)
{
    switch (letter) {
    case 'u':
        load->target.unix_path = value;
        break;
    case 't':
        set_address(load, value);
        break;
    case 'a':
        load->ca = value;
        break;
    case 'o':
        load->request.token = value;
        break;
    case 'c':
        load->conns = number_of(value);
        break;
    case 's':
        load->seconds = strtod(value, NULL);
        break;
    case 'n':
        load->count = number_of(value);
        break;
    case 'k':
        load->keys = number_of(value);
        break;
    case 'f':
        load->first_key = number_of(value);
        break;
    case 'p':
        load->pid = (pid_t)number_of(value);
        break;
    case 'q':
        load->request.path = value;
        break;
    case 'v':
        load->request.value_bytes = number_of(value);
        break;
    case 'e':
        load->events = number_of(value);
        break;
    case 'd':
        load->seed = number_of(value);
        break;
    default:
        usage();
    }
}

static void set_type(struct load *load, const char *word)
{
    load->is_watch = strcmp(word, "watch") == 0;
    size_t i = 0;
    while (!load->is_watch && i < REQUEST_TYPE_COUNT && strcmp(TYPE_NAMES[i], word) != 0)
        i++;
    if (i == REQUEST_TYPE_COUNT)
        usage();
    load->request.type = load->is_watch ? REQUEST_GET : (enum request_type)i;
}

static SSL_CTX *make_tls(const char *ca)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    if (ctx == NULL || SSL_CTX_load_verify_locations(ctx, ca, NULL) != 1)
        wire_die("no TLS with the authority '%s'", ca);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    return ctx;
}

static void check(const struct load *load)
{
    bool tls = load->target.host != NULL;
    bool path = load->request.type != REQUEST_GET || load->request.path != NULL;
    if (tls == (load->target.unix_path != NULL) || tls != (load->ca != NULL) || !path ||
        load->conns == 0 || load->keys == 0 || load->keys > REQUEST_KEYS_MAX)
        usage();
}

int main(int argc, char **argv)
{
    struct load load = {.conns = 1, .seconds = 1, .keys = 1, .events = 11, .seed = 1};
    int letter;
    while ((letter = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1)
        set_option(&load, letter, optarg);
    if (optind + 1 != argc)
        usage();
    set_type(&load, argv[optind]);
    check(&load);
    if (load.ca != NULL)
        load.target.tls = make_tls(load.ca);
    struct err err = {0};
    struct loop *loop;
    if (loop_new(&loop, &err) < 0)
        wire_die("%s", err.text);
    if (load.is_watch)
        load_watches(loop, &load);
    else
        load_requests(loop, &load);
    loop_free(loop);
    SSL_CTX_free(load.target.tls);
    return 0;
}
