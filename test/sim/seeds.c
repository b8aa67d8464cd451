// SPDX-License-Identifier: Apache-2.0
#include "seeds.h"
#include "base/mem.h"
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct course {
    const struct seeds *of;
    const char *program;
    uint64_t first, count;
    int steps, number;
    int64_t size; /* of the large run; 0: none is asked for */
    const char *old;
    bool goes_on;
    uint64_t sum[SEEDS_COUNTS];
};

/* ---- one seed ---- */

static bool run_one(struct course *course, uint64_t seed, int steps, uint64_t *ret_trace)
{
    struct seed_run run = {0};
    course->of->run(seed, steps, &run);
    for (size_t i = 0; i < SEEDS_COUNTS; i++)
        course->sum[i] += run.counts[i];
    bool is_ok = run.failure == NULL;
    if (!is_ok)
        printf("# seed %" PRIu64 ", step %d, %" PRId64 " ms: %s\n# repeat: %s --seed %" PRIu64
               " --seeds 1 --steps %d\n",
               seed, run.step, run.at_ms, run.failure, course->program, seed, steps);
    mem_free(run.failure);
    *ret_trace = run.trace;
    return is_ok;
}

/* ---- cases ---- */

static bool repeats(struct course *course)
{
    uint64_t once, again, last = course->first + (course->of->twice ? course->of->twice : 1);
    for (uint64_t seed = course->first; seed < last; seed++) {
        if (!run_one(course, seed, course->steps, &once) ||
            !run_one(course, seed, course->steps, &again))
            return false;
        if (once == again)
            continue;
        printf("# seed %" PRIu64 " does not repeat itself\n", seed);
        return false;
    }
    return true;
}

/* Lines "SEED STEPS", # begins a comment. */
static bool run_old(struct course *course)
{
    FILE *file = fopen(course->old, "re");
    char line[256];
    bool is_ok = file != NULL;
    if (file == NULL)
        printf("# cannot open %s\n", course->old);
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        uint64_t seed, trace;
        int steps;
        if (line[0] != '#' && sscanf(line, "%" SCNu64 " %d", &seed, &steps) == 2)
            is_ok = run_one(course, seed, steps, &trace) && is_ok;
    }
    if (file != NULL)
        (void)fclose(file);
    return is_ok;
}

static bool run_range(struct course *course)
{
    bool is_ok = true;
    uint64_t trace;
    memset(course->sum, 0, sizeof(course->sum));
    for (uint64_t i = 0; i < course->count && (is_ok || course->goes_on); i++)
        is_ok = run_one(course, course->first + i, course->steps, &trace) && is_ok;
    printf("#");
    for (size_t i = 0; i < SEEDS_COUNTS && course->of->counts[i] != NULL; i++)
        printf("%s %" PRIu64 " %s", i > 0 ? "," : "", course->sum[i], course->of->counts[i]);
    printf("\n");
    return is_ok;
}

static bool say(struct course *course, bool is_ok, const char *what)
{
    printf("%s %d - %s\n", is_ok ? "ok" : "not ok", ++course->number, what);
    (void)fflush(stdout);
    return is_ok;
}

static int run_all(struct course *course)
{
    const struct seeds *of = course->of;
    printf("1..%d\n", 2 + (course->old != NULL) + (of->has_happened != NULL));
    bool is_ok = course->old == NULL || say(course, run_old(course), "seeds that once failed");
    is_ok &= say(course, repeats(course), "the same seed is the same run");
    is_ok &= say(course, run_range(course), of->promise);
    if (of->has_happened != NULL)
        is_ok &= say(course, of->has_happened(course->sum, course->count), "enough has happened");
    return is_ok ? 0 : 1;
}

/* ---- the command line ---- */

static int refuse(const struct course *course, const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", course->program, what);
    return 2;
}

static int take(struct course *course, int option)
{
    switch (option) {
    case 's':
        course->first = strtoull(optarg, NULL, 10);
        return 0;
    case 'k':
        course->count = strtoull(optarg, NULL, 10);
        return 0;
    case 'm':
        course->steps = (int)strtol(optarg, NULL, 10);
        return 0;
    case 'o':
        course->old = optarg;
        return 0;
    case 'a':
        course->goes_on = true;
        return 0;
    case 't':
        if (course->of->ret_is_traced == NULL)
            return refuse(course, "--trace: there is no trace here");
        *course->of->ret_is_traced = true;
        return 0;
    case 'n':
        course->size = strtoll(optarg, NULL, 10);
        return course->of->run_large != NULL && course->size > 0
                   ? 0
                   : refuse(course, "--members: no such run");
    default:
        return 2; /* getopt has told why */
    }
}

int seeds_main(int argc, char **argv, const struct seeds *seeds)
{
    static const struct option OPTIONS[] = {
        {"seed", required_argument, NULL, 's'},    {"seeds", required_argument, NULL, 'k'},
        {"steps", required_argument, NULL, 'm'},   {"old", required_argument, NULL, 'o'},
        {"all", no_argument, NULL, 'a'},           {"trace", no_argument, NULL, 't'},
        {"members", required_argument, NULL, 'n'}, {0}};
    struct course course = {
        .of = seeds, .program = argv[0], .first = 1, .count = 1, .steps = seeds->steps};
    int option;
    while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
        int r = take(&course, option);
        if (r != 0)
            return r;
    }
    if (optind < argc)
        return refuse(&course, "takes options only");
    return course.size > 0 ? seeds->run_large(course.size) : run_all(&course);
}
