// SPDX-License-Identifier: Apache-2.0
/* A program that is busy while it starts, and one that answers while others start:
 *     start_worker calibrate                    prints how much work a millisecond is
 *     start_worker alu|mem|mix NAME FILE WORK   works, says READY=1, adds a line to FILE, sleeps
 *     start_worker serve NAME FILE WORK         READY=1, then WORK every 10 ms; its times in FILE
 * WORK is a number of steps, not a time: who has to share the CPU takes longer. A line is NAME and,
 * in nanoseconds, when main() began, when it was ready, and the CPU time between the two. */
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ENDS_AFTER_S 300 /* whatever becomes of those who should end it */
#define HEAP_BYTES ((size_t)16 << 20)
#define MIX_PARTS 10
#define MIX_WAIT_NS 30000000
#define PERIOD_NS 10000000
#define CALLS_MAX 6000 /* one minute */
#define TRIES 12
#define TRY_STEPS 8000000
#define NS_PER_S 1000000000

static volatile uint64_t sink; /* or the compiler would see that nobody needs the result */

static uint64_t now_ns(clockid_t clock)
{
    struct timespec at;
    (void)clock_gettime(clock, &at); /* cannot fail with these clocks */
    return (uint64_t)at.tv_sec * NS_PER_S + (uint64_t)at.tv_nsec;
}

static void wait_until(uint64_t at_ns)
{
    struct timespec at = {(time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0) {
    }
}

static uint64_t next_random(uint64_t x)
{
    x ^= x << 13;
    x ^= x >> 7;
    return x ^ (x << 17);
}

/* Registers only. */
static void spin(uint64_t steps)
{
    uint64_t x = 88172645463325252;
    while (steps-- > 0)
        x = next_random(x);
    sink = x;
}

/* Fresh memory, then reads all over it. */
static void roam(uint64_t steps)
{
    unsigned char *heap =
        mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (heap == MAP_FAILED)
        exit(1);
    memset(heap, 1, HEAP_BYTES);
    uint64_t x = 88172645463325252, sum = 0;
    while (steps-- > 0) {
        x = next_random(x);
        sum += heap[x % HEAP_BYTES];
    }
    sink = sum;
    (void)munmap(heap, HEAP_BYTES);
}

static void spin_and_wait(uint64_t steps)
{
    for (int i = 0; i < MIX_PARTS; i++) {
        spin(steps / MIX_PARTS);
        wait_until(now_ns(CLOCK_MONOTONIC) + MIX_WAIT_NS);
    }
}

/* ---- calibration ---- */

/* The best of several, in CPU time: whoever disturbs us shall not make the work smaller. */
static double steps_per_ms(void (*work)(uint64_t steps), uint64_t steps)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        work(steps);
        uint64_t took = now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
        best = took < best ? took : best;
    }
    return (double)steps / ((double)best / 1e6);
}

static int calibrate(void)
{
    printf("{\"alu\":%.0f,\"mem\":%.0f}\n", steps_per_ms(spin, TRY_STEPS),
           steps_per_ms(roam, TRY_STEPS));
    return 0;
}

/* ---- as a container ---- */

static void say_ready(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL || strlen(path) >= sizeof(address.sun_path))
        exit(1);
    size_t len = strlen(path);
    memcpy(address.sun_path, path, len);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    static const char READY[] = "READY=1";
    if (sendto(fd, READY, strlen(READY), 0, (const struct sockaddr *)&address, size) < 0)
        exit(1);
    (void)close(fd); /* nothing was buffered */
}

static void add_line(const char *file, const char *name, uint64_t begin, uint64_t ready)
{
    char line[256];
    int len = snprintf(line, sizeof(line), "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name, begin,
                       ready, now_ns(CLOCK_PROCESS_CPUTIME_ID));
    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, line, (size_t)len) != len) /* in one piece: many append */
        exit(1);
    (void)close(fd); /* the write has told */
}

struct call {
    uint64_t due_ns, done_ns;
};

/* Calls come every 10 ms whether the one before has been answered or not. */
static int serve(const char *file, uint64_t steps)
{
    size_t size = CALLS_MAX * sizeof(struct call);
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
        return 1;
    struct call *calls = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (calls == MAP_FAILED)
        return 1;
    memset(calls, 0, size);
    say_ready();
    uint64_t due = now_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < CALLS_MAX; i++) {
        due += PERIOD_NS;
        wait_until(due);
        spin(steps);
        calls[i] = (struct call){due, now_ns(CLOCK_MONOTONIC)};
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    static const struct {
        const char *name;
        void (*work)(uint64_t steps);
    } KINDS[] = {{"alu", spin}, {"mem", roam}, {"mix", spin_and_wait}};
    (void)alarm(ENDS_AFTER_S); /* tells what was left of the one before: none */
    if (argc == 2 && strcmp(argv[1], "calibrate") == 0)
        return calibrate();
    if (argc != 5)
        return 2;
    uint64_t steps = strtoull(argv[4], NULL, 10);
    if (strcmp(argv[1], "serve") == 0)
        return serve(argv[3], steps);
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        if (strcmp(argv[1], KINDS[i].name) != 0)
            continue;
        KINDS[i].work(steps);
        uint64_t ready = now_ns(CLOCK_MONOTONIC);
        say_ready();
        add_line(argv[3], argv[2], begin, ready);
        for (;;)
            (void)pause(); /* until somebody ends it */
    }
    return 2;
}
