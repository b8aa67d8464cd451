// SPDX-License-Identifier: Apache-2.0
/* bench_admit: the workloads of a plan, given to a server at their times, and what came of them as
 * one object of JSON. Times are told, never judged. */
#include "bench/admit.h"
#include "base/mem.h"
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- what is told ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* From its creation to its last admission. */
static void print_sort(const struct play *play, size_t sort)
{
    double *waits = mem_alloc((play->n_tasks + 1) * sizeof(*waits)), sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < play->n_tasks; i++) {
        const struct task *task = &play->tasks[i];
        if (task->sort != sort || task->admitted_ns == 0)
            continue;
        waits[n] = (double)(task->admitted_ns - task->created_ns) / 1e6;
        sum += waits[n++];
    }
    qsort(waits, n, sizeof(*waits), compare);
    printf("\"%s\":{\"count\":%zu,\"mean_ms\":%.3f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
           "\"max_ms\":%.3f}",
           play->plan->sorts[sort].name, n, n > 0 ? sum / (double)n : 0, n > 0 ? waits[n / 2] : 0,
           n > 0 ? waits[n * 99 / 100] : 0, n > 0 ? waits[n - 1] : 0);
    mem_free(waits);
}

/* CPUs in use over CPUs that there are, as status of the queues says and as workloads do. */
static void print_usage(const struct play *play, double seconds)
{
    double used = 0, held = 0;
    double all = (double)play->plan->nominal * (double)play->n_queues * seconds;
    for (size_t i = 0; i < play->n_queues; i++) {
        used += play->queues[i].used_s;
        held += play->queues[i].held_s;
    }
    printf("\"usage\":%.5f,\"usage_by_workloads\":%.5f,", used / all, held / all);
}

static double own_cpu_s(void)
{
    struct rusage use;
    (void)getrusage(RUSAGE_SELF, &use); /* cannot fail for this one */
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void print_play(const struct play *play)
{
    const struct seen *seen = &play->seen;
    double seconds = (double)(play->end_ns - play->start_ns) / 1e9;
    uint64_t again = 0, unfinished = 0, given_up = 0;
    for (size_t i = 0; i < play->n_tasks; i++) {
        again += play->tasks[i].admissions > play->tasks[i].evictions + 1;
        unfinished += !play->tasks[i].is_finished;
        given_up += play->tasks[i].is_given_up;
    }
    printf("{\"seconds\":%.3f,\"workloads\":%zu,\"admissions\":%" PRIu64 ",\"evictions\":%" PRIu64
           ",\"given_up\":%" PRIu64 ",\"unfinished\":%" PRIu64 ",\"over_quota\":%" PRIu64
           ",\"admitted_twice\":%" PRIu64 ",",
           seconds, play->n_tasks, seen->admissions, seen->evictions, given_up, unfinished,
           seen->over_quota, again);
    printf("\"generation_s\":%.3f,\"conflicts\":%" PRIu64 ",\"writes\":%" PRIu64
           ",\"queue_status_writes\":%" PRIu64 ",",
           ((double)play->generated_ns - (double)play->start_ns) / 1e9, play->conflicts,
           seen->last_version - seen->first_version, seen->status_writes);
    print_usage(play, seconds);
    printf("\"cpu_s\":%.4f,\"loop_cpu_s\":%.4f,\"runner_cpu_s\":%.3f,\"classes\":{",
           (double)(play->after.cpu_ns - play->before.cpu_ns) / 1e9,
           (double)(play->after.main_ns - play->before.main_ns) / 1e9, own_cpu_s());
    for (size_t i = 0; i < play->plan->n_sorts; i++) {
        if (i > 0)
            putchar(',');
        print_sort(play, i);
    }
    puts("}}");
}

/* ---- the command line ---- */

static const struct option OPTIONS[] = {
    {"unix", required_argument, NULL, 'u'},
    {"pid", required_argument, NULL, 'p'},
    {"cohorts", required_argument, NULL, 'o'},
    {"queues", required_argument, NULL, 'q'},
    {"class", required_argument, NULL, 'c'},
    {"nominal", required_argument, NULL, 'n'},
    {"borrowing", required_argument, NULL, 'b'},
    {"ready", no_argument, NULL, 'r'},
    {"held", no_argument, NULL, 'h'},
    {"never", required_argument, NULL, 'N'},
    {"slow", required_argument, NULL, 'S'},
    {"flaps", required_argument, NULL, 'F'},
    {"skip", required_argument, NULL, 'k'},
    {"stop-after", required_argument, NULL, 'a'},
    {"limit", required_argument, NULL, 'l'},
    {"conns", required_argument, NULL, 'w'},
    {0},
};

static void usage(void)
{
    (void)fputs(
        "usage: bench_admit --unix PATH [--pid PID] [--cohorts N] [--queues N] [--nominal CPUS]\n"
        "         [--borrowing CPUS] --class NAME:COUNT:INTERVAL_MS:RUN_MS:PRIORITY:CPUS ...\n"
        "         [--ready [--never N] [--slow N:MS] [--flaps N:MS]] [--held] [--skip N]\n"
        "         [--stop-after N] [--conns N] [--limit SECONDS]\n"
        "COUNT is of each queue; N of --never, --slow and --flaps is of a thousand\n",
        stderr);
    exit(2);
}

/* The next number of "a:b:c"; all of them when `more` is false. */
static int64_t number_of(char **text, bool more)
{
    char *end;
    int64_t number = strtoll(*text, &end, 10);
    if (end == *text || number < 0 || *end != (more ? ':' : '\0'))
        usage();
    *text = end + more;
    return number;
}

static void add_sort(struct plan *plan, char *text)
{
    char *colon = strchr(text, ':');
    if (colon == NULL || plan->n_sorts == SORTS_MAX)
        usage();
    *colon = '\0';
    char *rest = colon + 1;
    struct sort *sort = &plan->sorts[plan->n_sorts++];
    sort->name = text;
    sort->count = (uint64_t)number_of(&rest, true);
    sort->interval_ms = number_of(&rest, true);
    sort->run_ms = number_of(&rest, true);
    sort->priority = number_of(&rest, true);
    sort->cpu = number_of(&rest, false);
}

static void set_habit(uint64_t *ret_share, int64_t *ret_ms, char *text)
{
    *ret_share = (uint64_t)number_of(&text, true);
    *ret_ms = number_of(&text, false);
}

static bool set_number(struct plan *plan, int letter, char *text)
{
    switch (letter) {
    case 'p':
        plan->pid = (pid_t)number_of(&text, false);
        return true;
    case 'o':
        plan->cohorts = (size_t)number_of(&text, false);
        return true;
    case 'q':
        plan->queues = (size_t)number_of(&text, false);
        return true;
    case 'n':
        plan->nominal = number_of(&text, false);
        return true;
    case 'b':
        plan->borrowing = number_of(&text, false);
        return true;
    case 'N':
        plan->never = (uint64_t)number_of(&text, false);
        return true;
    case 'k':
        plan->skip = (uint64_t)number_of(&text, false);
        return true;
    case 'a':
        plan->stop_after = (uint64_t)number_of(&text, false);
        return true;
    case 'l':
        plan->limit_s = (double)number_of(&text, false);
        return true;
    case 'w':
        plan->conns = (size_t)number_of(&text, false);
        return true;
    default:
        return false;
    }
}

static void set_option(struct plan *plan, int letter, char *text)
{
    if (set_number(plan, letter, text))
        return;
    switch (letter) {
    case 'u':
        plan->target.unix_path = text;
        return;
    case 'c':
        add_sort(plan, text);
        return;
    case 'r':
        plan->tells_ready = true;
        return;
    case 'h':
        plan->is_held = true;
        return;
    case 'S':
        set_habit(&plan->slow, &plan->slow_ms, text);
        return;
    case 'F':
        set_habit(&plan->flaps, &plan->flap_ms, text);
        return;
    default:
        usage();
    }
}

int main(int argc, char **argv)
{
    struct plan plan = {
        .cohorts = 5, .queues = 6, .nominal = 20, .borrowing = 100, .limit_s = 600, .conns = 32};
    int letter;
    while ((letter = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1)
        set_option(&plan, letter, optarg);
    if (optind != argc || plan.target.unix_path == NULL || plan.n_sorts == 0 || plan.conns == 0 ||
        plan.cohorts == 0 || plan.queues == 0)
        usage();
    struct err err = {0};
    struct play play = {.plan = &plan};
    if (loop_new(&play.loop, &err) < 0)
        wire_die("%s", err.text);
    play_run(&play);
    print_play(&play);
    loop_free(play.loop);
    mem_free(play.seen.cohort_held);
    mem_free(play.queues);
    mem_free(play.tasks);
    return 0;
}
