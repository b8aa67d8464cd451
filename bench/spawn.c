// SPDX-License-Identifier: Apache-2.0
/* N workers started, restarted and ended through the spawner, or by the least that can do it:
 *     bench_spawn spawner|bare N CHILD SOCKET
 * Prints one object of JSON. "Started" means that the program runs: exec has succeeded. */
#include "bench/spawn.h"
#include "base/mem.h"
#include "bench/proc.h"
#include "node/spawner.h"
#include "os/fd.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct bench {
    struct loop *loop;
    struct spawner *spawner;
    const char *child;
    int n, n_started, n_ended;
    int generation;
    bool again; /* start again what ends */
};

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench_spawn: %s: %s\n", what, why);
    exit(1);
}

static void start(struct bench *bench, int i)
{
    char id[64];
    const char *const argv[] = {bench->child, NULL};
    struct spawn_request request = {
        .id = id, .argv = argv, .uid = -1, .gid = -1, .nofile_soft = -1};
    (void)snprintf(id, sizeof(id), "0c5b2b9e-4fd0-4b58-9d0f-8c3a6c4c%04d/main/%d", i,
                   bench->generation);
    spawner_start(bench->spawner, &request);
}

static int number_of(const char *id)
{
    return (int)strtol(id + strlen("0c5b2b9e-4fd0-4b58-9d0f-8c3a6c4c"), NULL, 10);
}

static void on_reply(void *arg, const struct spawn_reply *reply)
{
    struct bench *bench = arg;
    if (reply->type == SPAWN_FAILED)
        die(reply->what, strerror(reply->error));
    bench->n_started += reply->type == SPAWN_STARTED;
    if (reply->type != SPAWN_EXITED)
        return;
    bench->n_ended++;
    int i = number_of(reply->id);
    spawner_forget(bench->spawner, reply->id);
    if (bench->again)
        start(bench, i);
}

static void start_all(struct bench *bench)
{
    bench->n_started = 0;
    bench->generation++;
    for (int i = 0; i < bench->n; i++)
        start(bench, i);
    while (bench->n_started < bench->n)
        loop_turn(bench->loop, -1);
}

static void end_all(struct bench *bench, int signo)
{
    char id[64];
    bench->n_ended = 0;
    for (int i = 0; i < bench->n; i++) {
        (void)snprintf(id, sizeof(id), "0c5b2b9e-4fd0-4b58-9d0f-8c3a6c4c%04d/main/%d", i,
                       bench->generation);
        spawner_signal(bench->spawner, id, signo, true);
    }
    if (bench->again) {
        bench->generation++;
        bench->n_started = 0;
    }
    while (bench->n_ended < bench->n || bench->n_started < bench->n)
        loop_turn(bench->loop, -1);
    bench->again = false;
}

/* Our only child. */
static pid_t helper_pid(void)
{
    scoped_str text = {0};
    scoped_free char *path = mem_printf("/proc/self/task/%d/children", (int)getpid());
    (void)file_read(path, 64, &text, NULL); /* without it its CPU time is not counted */
    return (pid_t)strtol(str_text(&text), NULL, 10);
}

static void measure(struct bench *bench, struct spawn_figures *figures)
{
    uint64_t begin = proc_clock_ns();
    start_all(bench);
    figures->start_ns = proc_clock_ns() - begin;
    pid_t helper = helper_pid();
    figures->rss_bytes = proc_use(getpid()).rss_bytes + proc_use(helper).rss_bytes;
    begin = proc_clock_ns();
    bench->again = true;
    end_all(bench, SIGKILL);
    figures->rolling_ns = proc_clock_ns() - begin;
    begin = proc_clock_ns();
    end_all(bench, SIGTERM);
    start_all(bench);
    figures->stop_start_ns = proc_clock_ns() - begin;
    begin = proc_clock_ns();
    end_all(bench, SIGKILL);
    figures->kill_ns = proc_clock_ns() - begin;
    figures->cpu_ns = proc_use(getpid()).cpu_ns + proc_use(helper).cpu_ns;
}

static struct spawn_figures through_spawner(const char *child, int n, const char *socket)
{
    struct bench bench = {.child = child, .n = n};
    const char *const helper[] = {"/proc/self/exe", "helper", socket, NULL};
    struct spawn_figures figures = {0};
    struct err err = {0};
    if (loop_new(&bench.loop, &err) < 0)
        die("loop", err.text);
    struct spawner_options options = {.loop = bench.loop,
                                      .socket = socket,
                                      .helper = helper,
                                      .on_reply = on_reply,
                                      .arg = &bench};
    if (spawner_open(&options, &bench.spawner, &err) < 0)
        die("spawner", err.text);
    measure(&bench, &figures);
    spawner_close(bench.spawner, true);
    loop_free(bench.loop);
    return figures;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "helper") == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever ends the benchmark ends it too */
        return spawner_main(argv[2]);
    }
    if (argc != 5)
        die("usage", "bench_spawn spawner|bare N CHILD SOCKET");
    fd_limit_raise();
    int n = (int)strtol(argv[2], NULL, 10);
    struct spawn_figures figures = strcmp(argv[1], "bare") == 0
                                       ? spawn_bare(argv[3], n)
                                       : through_spawner(argv[3], n, argv[4]);
    printf("{\"n\":%d,\"start_ns\":%" PRIu64 ",\"rolling_ns\":%" PRIu64
           ",\"stop_start_ns\":%" PRIu64 ",\"kill_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64
           ",\"rss_bytes\":%" PRIu64 "}\n",
           n, figures.start_ns, figures.rolling_ns, figures.stop_start_ns, figures.kill_ns,
           figures.cpu_ns, figures.rss_bytes);
    return 0;
}
