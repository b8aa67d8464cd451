// SPDX-License-Identifier: Apache-2.0
/* The control path of a group restart: N members with the agent's own code (watch, announcement,
 * the member's machine), but without processes and without workers, in one program. One member
 * "dies"; what is measured is the time until the barrier is lifted for the last one.
 *
 * bench_agents SOCKET NAMESPACE JOBSET ROUNDS SERVER_PID < "pod uid" lines */
#include "agent/pod.h"
#include "agent/watch.h"
#include "base/mem.h"
#include "base/vec.h"
#include "bench/proc.h"
#include "core/recover/member.h"
#include "os/clock.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX 1024
#define LOOK_MS 10 /* how often pauses of reconnects are looked at */
#define LIMIT_MS 60000

struct bench;
struct one {
    struct bench *bench;
    struct watch watch;
    struct pod pod;
    struct member member;
    struct member_status status;
    bool has_status, is_due;
    int fds[2]; /* in epoll; -1: none */
    short wants[2];
};

struct bench {
    struct where where;
    struct rng rng;
    int epoll;
    struct one *ones;
    size_t count;
    VEC(struct one *) due;
    size_t lifted; /* members that run in `epoch` */
    int64_t epoch;
    uint64_t last_ns, announcements, events;
};

static void be_due(struct one *one)
{
    if (one->is_due)
        return;
    one->is_due = true;
    vec_push(&one->bench->due, one);
}

static void act(struct one *one, enum member_act what)
{
    struct bench *bench = one->bench;
    if (what == MEMBER_WRITE) {
        pod_want(&one->pod, one->member.epoch);
        bench->announcements++;
        be_due(one);
    } else if (what == MEMBER_START) {
        bench->lifted += one->member.epoch == bench->epoch;
        bench->last_ns = proc_clock_ns();
    } else if (what == MEMBER_END) {
        act(one, member_ended(&one->member, false)); /* no process: it has ended */
    }
}

static void join(struct one *one)
{
    if (one->has_status && one->pod.is_told && one->member.state == MEMBER_DOWN)
        act(one, member_join(&one->member, one->pod.epoch, &one->status));
}

static void on_jobset(void *arg, const struct reading *jobset)
{
    struct one *one = arg;
    one->status = jobset->status;
    one->has_status = true;
    one->bench->events++;
    if (one->member.state == MEMBER_DOWN)
        join(one);
    else
        act(one, member_see(&one->member, &jobset->status));
}

static void on_known(void *arg)
{
    join(arg);
}

static void on_written(void *arg, int64_t epoch)
{
    struct one *one = arg;
    act(one, member_written(&one->member, epoch));
}

static void on_replaced(void *arg)
{
    struct one *one = arg;
    (void)fprintf(stderr, "bench_agents: pod %s was replaced\n", one->pod.options.name);
    exit(1);
}

/* ---- the loop ---- */

static void follow(struct one *one, size_t which, const struct exchange *x)
{
    struct bench *bench = one->bench;
    int fd = link_is_open(&x->link) ? x->link.fd : -1;
    short wants = x->is_busy ? x->link.wants : POLLIN;
    if (fd == one->fds[which] && wants == one->wants[which])
        return;
    struct epoll_event event = {.events = (uint32_t)wants, .data.ptr = one};
    /* A closed descriptor has left epoll by itself, and its number may be in use again. */
    if (fd >= 0 && epoll_ctl(bench->epoll, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
        (void)epoll_ctl(bench->epoll, EPOLL_CTL_ADD, fd, &event);
    one->fds[which] = fd;
    one->wants[which] = wants;
}

static void step(struct one *one, time_ms now)
{
    watch_step(&one->watch, now);
    pod_step(&one->pod, now);
    follow(one, 0, &one->watch.x);
    follow(one, 1, &one->pod.x);
}

static void look_at_pauses(struct bench *bench, time_ms now)
{
    for (size_t i = 0; i < bench->count; i++) {
        struct one *one = &bench->ones[i];
        if (watch_due(&one->watch) <= now || pod_due(&one->pod) <= now)
            be_due(one);
    }
}

static void turn(struct bench *bench)
{
    static time_ms looked_at;
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(bench->epoll, events, EVENTS_MAX, bench->due.len > 0 ? 0 : LOOK_MS);
    time_ms now = clock_monotonic();
    for (int i = 0; i < n; i++)
        be_due(events[i].data.ptr);
    if (now - looked_at >= LOOK_MS) {
        looked_at = now;
        look_at_pauses(bench, now);
    }
    size_t due = bench->due.len; /* those who become due meanwhile are of the next turn */
    for (size_t i = 0; i < due; i++) {
        bench->due.items[i]->is_due = false;
        step(bench->due.items[i], now);
    }
    memmove(bench->due.items, bench->due.items + due,
            (bench->due.len - due) * sizeof(bench->due.items[0]));
    bench->due.len -= due;
}

static void until_all_run(struct bench *bench, int64_t epoch)
{
    time_ms limit = clock_monotonic() + LIMIT_MS;
    bench->epoch = epoch;
    bench->lifted = 0;
    while (bench->lifted < bench->count) {
        turn(bench);
        if (clock_monotonic() > limit) {
            (void)fprintf(stderr, "bench_agents: epoch %lld: %zu of %zu in time\n",
                          (long long)epoch, bench->lifted, bench->count);
            exit(1);
        }
    }
}

/* ---- the run ---- */

static void add_one(struct bench *bench, char *const argv[], const char *line)
{
    struct one *one = &bench->ones[bench->count++];
    char name[256], uid[UID_MAX];
    if (sscanf(line, "%255s %63s", name, uid) != 2) {
        (void)fprintf(stderr, "bench_agents: no pod in '%s'\n", line);
        exit(2);
    }
    one->bench = bench;
    one->fds[0] = one->fds[1] = -1;
    struct watch_options watch = {&bench->where, argv[2], argv[3], &bench->rng, on_jobset, one};
    struct pod_options pod = {.where = &bench->where,
                              .ns = argv[2],
                              .name = mem_strdup(name),
                              .uid = mem_strdup(uid),
                              .rng = &bench->rng,
                              .on_known = on_known,
                              .on_written = on_written,
                              .on_replaced = on_replaced,
                              .arg = one};
    watch_init(&one->watch, &watch);
    pod_init(&one->pod, &pod);
    be_due(one);
}

static void round_of(struct bench *bench, pid_t server, int number)
{
    uint64_t cpu = proc_use(server).cpu_ns, own = proc_use(getpid()).cpu_ns;
    uint64_t announcements = bench->announcements, events = bench->events;
    struct one *victim = &bench->ones[(size_t)number % bench->count];
    uint64_t began = proc_clock_ns();
    act(victim, member_ended(&victim->member, false));
    until_all_run(bench, victim->member.epoch);
    (void)printf("{\"members\":%zu,\"epoch\":%lld,\"ms\":%.1f,\"server_cpu_ms\":%.1f,"
                 "\"own_cpu_ms\":%.1f,\"announcements\":%llu,\"events\":%llu}\n",
                 bench->count, (long long)bench->epoch, (double)(bench->last_ns - began) / 1e6,
                 (double)(proc_use(server).cpu_ns - cpu) / 1e6,
                 (double)(proc_use(getpid()).cpu_ns - own) / 1e6,
                 (unsigned long long)(bench->announcements - announcements),
                 (unsigned long long)(bench->events - events));
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        (void)fprintf(stderr, "usage: bench_agents SOCKET NAMESPACE JOBSET ROUNDS SERVER_PID\n");
        return 2;
    }
    static struct bench bench;
    bench.where.socket = argv[1];
    rng_seed(&bench.rng, (uint64_t)getpid());
    bench.epoll = epoll_create1(EPOLL_CLOEXEC);
    char line[512];
    size_t room = 0;
    while (fgets(line, sizeof(line), stdin) != NULL) {
        if (bench.count == room) {
            room = 20000; /* one address for each for good: callbacks keep it */
            bench.ones = calloc(room, sizeof(*bench.ones));
        }
        add_one(&bench, argv, line);
    }
    until_all_run(&bench, 1);
    for (int i = 0, rounds = (int)strtol(argv[4], NULL, 10); i < rounds; i++)
        round_of(&bench, (pid_t)strtol(argv[5], NULL, 10), i * 7919);
    return 0;
}
