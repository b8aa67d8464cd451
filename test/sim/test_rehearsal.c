// SPDX-License-Identifier: Apache-2.0
/* Every scenario that is shipped, and the control plane killed at random moments of it: Jobs, gangs
 * and Workloads come to the same end as without, nothing is admitted more often, and the clock of
 * no time-out starts anew.
 *
 *   test_rehearsal [--seeds K] FILE... */
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/manifest.h"
#include "sim/rehearsal.h"
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KILLS_MAX 6
/* What may differ: the pause of a Job before it replaces a failed pod, which only those know who
 * saw it fail; whether a node is silent, which a new control plane finds out anew; jitter. A
 * time-out of minutes that starts anew is more than that. */
#define APART_MS 90000
#define APART_PERCENT 4

struct tale {
    struct map *admitted; /* name of a Workload to how often it was */
    struct str end;       /* what became of each object that matters */
    time_ms ms;
    uint64_t steps;
    unsigned kills;
};

static void on_line(void *arg, const struct line *line)
{
    struct tale *tale = arg;
    if (line->type != LINE_CONDITION || strcmp(line->what, "Admitted") != 0 ||
        strcmp(line->state, "True") != 0)
        return;
    uintptr_t n = (uintptr_t)map_get(tale->admitted, line->obj->meta.name);
    (void)map_put(tale->admitted, line->obj->meta.name, (void *)(n + 1));
}

static bool matters(const struct kind *kind)
{
    return kind == &KIND_JOB || kind == &KIND_JOBSET || kind == &KIND_WORKLOAD;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void describe(const struct obj *obj, struct str *out)
{
    VEC(char *) words = {0};
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(obj->root, "status.conditions"), i, n, item)
    {
        char *word = mem_printf("%s=%s(%s)", json_str_at(item, "type"), json_str_at(item, "status"),
                                json_str_at(item, "reason"));
        vec_push(&words, word);
    }
    if (words.len > 1)
        qsort(words.items, words.len, sizeof(char *), compare);
    str_addf(out, "%s/%s:", obj->kind->name, obj->meta.name);
    for (i = 0; i < words.len; i++) {
        str_addf(out, " %s", words.items[i]);
        mem_free(words.items[i]);
    }
    vec_done(&words);
    str_addf(out, " succeeded=%lld requeued=%lld charged=%lld\n",
             (long long)json_int_at(obj->root, "status.succeeded", 0),
             (long long)json_int_at(obj->root, "status.requeueState.count", 0),
             (long long)json_int_at(obj->root, "status.restartsCountTowardsMax", 0));
}

static void look_at_end(struct rehearsal *rehearsal, struct tale *tale)
{
    const struct cache *cache = sim_store(rehearsal_sim(rehearsal))->cache;
    for (size_t k = 0; KINDS[k] != NULL; k++) {
        const struct obj *obj = cache_first(cache, KINDS[k], NULL);
        for (; matters(KINDS[k]) && obj != NULL; obj = cache_after(cache, KINDS[k], NULL, obj))
            describe(obj, &tale->end);
    }
    tale->ms = rehearsal_ms(rehearsal);
    tale->steps = rehearsal_stats(rehearsal).steps;
}

/* Once without kills, which tells how many steps there are; then with some among them. */
static void play(yyjson_val *spec, uint64_t seed, uint64_t steps, struct tale *tale)
{
    struct rehearsal_options options = {.spec = spec, .on_line = on_line, .arg = tale};
    struct rng rng;
    rng_seed(&rng, seed);
    *tale = (struct tale){.admitted = map_new()};
    struct rehearsal *rehearsal = rehearsal_new(&options);
    uint64_t step = 0, next = steps > 0 ? rng_below(&rng, steps) : UINT64_MAX;
    for (; rehearsal_step(rehearsal); step++) {
        if (step < next)
            continue;
        rehearsal_crash(rehearsal);
        tale->kills++;
        next = tale->kills < KILLS_MAX ? step + rng_below(&rng, steps) : UINT64_MAX;
    }
    look_at_end(rehearsal, tale);
    rehearsal_free(rehearsal);
}

static void tale_done(struct tale *tale)
{
    map_free(tale->admitted);
    str_done(&tale->end);
}

struct comparing {
    const struct tale *plain;
    bool ok;
};

static bool is_no_more(void *arg, const char *name, void *value)
{
    struct comparing *comparing = arg;
    uintptr_t plain = (uintptr_t)map_get(comparing->plain->admitted, name);
    if ((uintptr_t)value <= plain)
        return true;
    printf("# %s was admitted %zu times instead of %zu\n", name, (size_t)value, (size_t)plain);
    comparing->ok = false;
    return false;
}

static bool is_same(const char *file, uint64_t seed, const struct tale *plain,
                    const struct tale *killed)
{
    struct comparing comparing = {plain, true};
    if (strcmp(str_text(&plain->end), str_text(&killed->end)) != 0) {
        printf("# without kills:\n%s# with kills:\n%s", str_text(&plain->end),
               str_text(&killed->end));
        comparing.ok = false;
    }
    time_ms apart = APART_MS + plain->ms * APART_PERCENT / 100;
    if (llabs((long long)(plain->ms - killed->ms)) > apart) {
        printf("# it ended at %" PRId64 " ms instead of %" PRId64 " ms\n", killed->ms, plain->ms);
        comparing.ok = false;
    }
    (void)map_each(killed->admitted, is_no_more, &comparing);
    if (!comparing.ok)
        printf("# %s, seed %" PRIu64 ", %u kills\n", file, seed, killed->kills);
    return comparing.ok;
}

static char *read_file(const char *path)
{
    scoped_str text = {0};
    FILE *file = fopen(path, "r");
    size_t n;
    if (file == NULL)
        return NULL;
    do {
        n = fread(str_reserve(&text, 65536), 1, 65536, file);
        text.len += n;
    } while (n > 0);
    (void)fclose(file);
    return str_take(&text);
}

static yyjson_doc *read_scenario(const char *path)
{
    struct manifest manifest = {0};
    struct err err = {0};
    scoped_free char *text = read_file(path);
    if (text == NULL || manifest_parse(path, sv_of(text), &manifest, &err) < 0) {
        printf("# %s: %s\n", path, text == NULL ? "cannot be read" : err.text);
        return NULL;
    }
    yyjson_mut_doc *doc = manifest.docs.items[0].doc;
    schema_fill(KIND_SCENARIO.type, doc, yyjson_mut_doc_get_root(doc));
    yyjson_doc *filled = yyjson_mut_doc_imut_copy(doc, NULL);
    manifest_done(&manifest);
    return filled;
}

static bool try_file(const char *path, uint64_t seeds)
{
    scoped_json *doc = read_scenario(path);
    yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(doc), "spec");
    bool ok = spec != NULL;
    if (!ok)
        return false;
    struct tale plain;
    play(spec, 0, 0, &plain);
    for (uint64_t seed = 1; seed <= seeds && ok; seed++) {
        struct tale killed;
        play(spec, seed, plain.steps, &killed);
        ok = is_same(path, seed, &plain, &killed);
        tale_done(&killed);
    }
    tale_done(&plain);
    return ok;
}

int main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {{"seeds", required_argument, NULL, 'k'}, {0}};
    uint64_t seeds = 1;
    bool ok = true;
    int option;
    while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
        if (option != 'k')
            return 2;
        seeds = strtoull(optarg, NULL, 10);
    }
    printf("1..%d\n", argc - optind);
    for (int i = optind; i < argc; i++) {
        bool good = try_file(argv[i], seeds);
        printf("%s %d - %s\n", good ? "ok" : "not ok", i - optind + 1, argv[i]);
        ok = ok && good;
    }
    return ok ? 0 : 1;
}
