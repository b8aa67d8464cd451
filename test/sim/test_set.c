// SPDX-License-Identifier: Apache-2.0
/* StatefulSets under everything that can go wrong: a client makes, scales and changes sets, plays
 * the nodes that run their pods and the people who meddle, while the disk, the network and the
 * controllers fail. At every change of the store: a pod of a set has a number that was wanted once,
 * and in an ordered set all below it have been ready before it is made. Then the faults end, and
 * every set must have exactly its pods, all ready and all of the newest template.
 *
 *   test_set [--seed N] [--seeds K] [--steps M] */
#include "base/map.h"
#include "base/mem.h"
#include "control/controllers.h"
#include "control/statefulset_internal.h"
#include "seeds.h"
#include "sim/sim.h"
#include "usual.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define START 1767225600000 /* 2026-01-01 */
#define SECOND 1000
#define STEPS_DEFAULT 200
#define SETS 3
#define REPLICAS_MAX 6
#define HEAL_ROUNDS 2000

static const struct controller *const RUN_BY[] = {&CONTROLLER_STATEFULSET, &CONTROLLER_GARBAGE,
                                                  NULL};

struct run {
    struct sim *sim;
    struct rng *rng;
    struct map *been_ready; /* "UID of the set/ordinal" */
    char *failure;
    uint64_t pods;
    int images;
};

static void fail(struct run *run, const char *what, const char *name)
{
    if (run->failure == NULL)
        run->failure = mem_printf("%s: %s", name, what);
}

static bool is_ready(const struct obj *pod)
{
    return str_eq(json_str_at(pod->root, "status.phase"), "Running");
}

static char *place_of(const char *uid, int64_t ordinal)
{
    return mem_printf("%s/%" PRId64, uid, ordinal);
}

/* ---- what must hold ---- */

static void judge_new(struct run *run, const struct obj *pod, const char *uid, int64_t ordinal)
{
    const struct obj *set = cache_by_uid(sim_store(run->sim)->cache, uid);
    run->pods++;
    if (ordinal >= REPLICAS_MAX)
        fail(run, "a number that nobody wanted", pod->meta.name);
    if (set == NULL || !str_eq(json_str_at(set->root, "spec.podManagementPolicy"), "OrderedReady"))
        return;
    for (int64_t below = 0; below < ordinal; below++) {
        scoped_free char *place = place_of(uid, below);
        if (map_get(run->been_ready, place) == NULL)
            fail(run, "was made before one below it had been ready", pod->meta.name);
    }
}

static void on_change(void *arg, struct change *change)
{
    struct run *run = arg;
    const struct obj *pod = change->obj;
    const char *uid = pod->kind == &KIND_POD ? set_owner_uid(pod) : NULL;
    if (uid == NULL || run->sim == NULL)
        return;
    int64_t ordinal = strtoll(strrchr(pod->meta.name, '-') + 1, NULL, 10);
    scoped_free char *place = place_of(uid, ordinal);
    if (change->type == CHANGE_ADDED)
        judge_new(run, pod, uid, ordinal);
    if (is_ready(pod))
        (void)map_put(run->been_ready, place, run);
}

/* What was committed in the moment of a crash is there without having been told. */
static void on_reopen(void *arg)
{
    struct run *run = arg;
    struct cache *cache = sim_store(run->sim)->cache;
    struct obj *pod = cache_first(cache, &KIND_POD, "default");
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, "default", pod)) {
        const char *uid = set_owner_uid(pod);
        scoped_free char *place =
            place_of(uid != NULL ? uid : "", strtoll(strrchr(pod->meta.name, '-') + 1, NULL, 10));
        if (is_ready(pod))
            (void)map_put(run->been_ready, place, run);
    }
}

/* ---- what is done ---- */

static bool chance(struct run *run, unsigned percent)
{
    return rng_chance(run->rng, percent, 100);
}

static void ask(struct run *run, enum write_op op, const struct kind *kind, const char *name,
                const char *body)
{
    sim_submit(run->sim, usual_write(op, kind, name, body));
}

static void make_set(struct run *run)
{
    scoped_free char *name = mem_printf("s%d", (int)rng_below(run->rng, SETS));
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'%s'},'spec':{'replicas':%d,'podManagementPolicy':'%s',"
        "'selector':{'matchLabels':{'app':'x'}},'minReadySeconds':%d,'template':{'metadata':{"
        "'labels':{'app':'x'}},'spec':{'nodeName':'n','containers':[{'name':'c','image':'i'}]}}}}",
        name, (int)rng_between(run->rng, 0, REPLICAS_MAX),
        chance(run, 50) ? "OrderedReady" : "Parallel", chance(run, 30) ? 5 : 0);
    ask(run, WRITE_CREATE, &KIND_STATEFULSET, name, body);
}

static struct obj *choose(struct run *run, const struct kind *kind)
{
    struct cache *cache = sim_store(run->sim)->cache;
    struct obj *obj = cache_first(cache, kind, "default");
    size_t count = 0;
    for (; obj != NULL; obj = cache_after(cache, kind, "default", obj))
        count++;
    if (count == 0)
        return NULL;
    obj = cache_first(cache, kind, "default");
    for (uint64_t skip = rng_below(run->rng, count); skip > 0; skip--)
        obj = cache_after(cache, kind, "default", obj);
    return obj;
}

static void change_set(struct run *run)
{
    const struct obj *set = choose(run, &KIND_STATEFULSET);
    if (set == NULL)
        return;
    scoped_free char *body =
        chance(run, 50)
            ? mem_printf("{'spec':{'replicas':%d}}", (int)rng_between(run->rng, 0, REPLICAS_MAX))
            : mem_printf("{'spec':{'template':{'spec':{'containers':[{'name':'c','image':"
                         "'i%d'}]}}}}",
                         chance(run, 30) ? 0 : ++run->images);
    ask(run, WRITE_PATCH, &KIND_STATEFULSET, set->meta.name, body);
}

static void set_pod(struct run *run, const struct obj *pod, bool good)
{
    scoped_str now = {0};
    rfc3339_format(sim_now(run->sim), &now);
    scoped_free char *body =
        mem_printf("{'status':{'phase':'%s','conditions':[{'type':'Ready','status':'%s',"
                   "'lastTransitionTime':'%s'}]}}",
                   good ? "Running" : "Failed", good ? "True" : "False", str_text(&now));
    struct write *write = write_new(WRITE_PATCH, &KIND_POD, "default", pod->meta.name);
    for (char *at = body; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    (void)json_parse(sv_of(body), &write->patch, NULL);
    write->sub = SUB_STATUS;
    write->if_uid = mem_strdup(pod->meta.uid);
    write->if_version = mem_strdup(pod->meta.resource_version);
    sim_submit(run->sim, write);
}

static void delete_pod(struct run *run, const struct obj *pod, int64_t grace)
{
    struct write *write = write_new(WRITE_DELETE, &KIND_POD, "default", pod->meta.name);
    write->grace_s = grace;
    write->if_uid = mem_strdup(pod->meta.uid);
    sim_submit(run->sim, write);
}

static bool is_over(const struct obj *pod)
{
    return str_eq(json_str_at(pod->root, "status.phase"), "Failed");
}

static void play_node(struct run *run, unsigned bad_percent)
{
    const struct obj *pod = choose(run, &KIND_POD);
    if (pod == NULL)
        return;
    if (pod->meta.deleted != 0)
        delete_pod(run, pod, 0);
    else if (!is_over(pod) && chance(run, bad_percent))
        set_pod(run, pod, false);
    else if (!is_over(pod) && !is_ready(pod))
        set_pod(run, pod, true);
}

static time_ms act(struct run *run)
{
    uint64_t dice = rng_below(run->rng, 100);
    const struct obj *obj;
    if (dice < 6) {
        make_set(run);
    } else if (dice < 70) {
        play_node(run, 10);
    } else if (dice < 75) {
        obj = choose(run, &KIND_POD);
        if (obj != NULL)
            delete_pod(run, obj, chance(run, 50) ? 0 : 30);
    } else if (dice < 83) {
        change_set(run);
    } else if (dice < 85) {
        obj = choose(run, &KIND_STATEFULSET);
        if (obj != NULL)
            ask(run, WRITE_DELETE, &KIND_STATEFULSET, obj->meta.name, NULL);
    } else {
        return rng_between(run->rng, 0, 6 * SECOND);
    }
    return rng_between(run->rng, 0, 400);
}

static void pass(struct run *run, time_ms span)
{
    (void)sim_run_until(run->sim, sim_now(run->sim) + span, NULL, NULL);
    if (sim_violation(run->sim) != NULL)
        fail(run, sim_violation(run->sim), "simulator");
}

/* ---- the end ---- */

static bool is_done(struct run *run, const struct obj *set)
{
    int64_t wanted = json_int_at(set->root, "spec.replicas", -1);
    yyjson_val *status = yyjson_obj_get(set->root, "status");
    return json_int_at(status, "observedGeneration", 0) == set->meta.generation &&
           json_int_at(status, "replicas", -1) == wanted &&
           json_int_at(status, "readyReplicas", 0) == wanted &&
           json_int_at(status, "updatedReplicas", 0) == wanted &&
           str_eq(json_str_at(status, "currentRevision"), json_str_at(status, "updateRevision")) &&
           run->failure == NULL;
}

static void check_pods(struct run *run, const struct obj *set)
{
    struct cache *cache = sim_store(run->sim)->cache;
    const char *revision = json_str_at(set->root, "status.updateRevision");
    int64_t wanted = json_int_at(set->root, "spec.replicas", -1), found = 0;
    struct obj *pod = cache_first(cache, &KIND_POD, "default");
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, "default", pod)) {
        if (!str_eq(set_owner_uid(pod), set->meta.uid))
            continue;
        found++;
        if (!is_ready(pod) || pod->meta.deleted != 0 ||
            strtoll(strrchr(pod->meta.name, '-') + 1, NULL, 10) >= wanted)
            fail(run, "should not be as it is in the end", pod->meta.name);
        if (!str_eq(yyjson_get_str(yyjson_obj_get(pod->meta.labels, SET_REVISION_LABEL)), revision))
            fail(run, "is of an old template in the end", pod->meta.name);
    }
    if (found != wanted)
        fail(run, "has too many or too few pods in the end", set->meta.name);
}

static void heal(struct run *run)
{
    struct cache *cache = NULL;
    struct obj *set;
    bool done = false;
    sim_heal(run->sim);
    for (int i = 0; i < HEAL_ROUNDS && !done && run->failure == NULL; i++) {
        play_node(run, 0);
        pass(run, SECOND);
        cache = sim_store(run->sim)->cache;
        done = true;
        for (set = cache_first(cache, &KIND_STATEFULSET, NULL); set != NULL;
             set = cache_after(cache, &KIND_STATEFULSET, NULL, set))
            done = done && is_done(run, set);
    }
    if (!done)
        fail(run, "not all sets came to rest", "end");
    cache = sim_store(run->sim)->cache;
    for (set = cache_first(cache, &KIND_STATEFULSET, NULL); set != NULL;
         set = cache_after(cache, &KIND_STATEFULSET, NULL, set))
        check_pods(run, set);
}

enum { PODS, CRASHES };

static void run_seed(uint64_t seed, int steps, struct seed_run *result)
{
    struct run run = {.been_ready = map_new()};
    struct sim_options options = {.seed = seed,
                                  .start = START,
                                  .faults = usual_faults(seed * 41 + 5),
                                  .controllers = RUN_BY,
                                  .on_change = on_change,
                                  .on_reopen = on_reopen,
                                  .arg = &run};
    run.sim = sim_new(&options);
    run.rng = sim_rng(run.sim);
    pass(&run, SECOND);
    for (; result->step < steps && run.failure == NULL; result->step++)
        pass(&run, act(&run));
    heal(&run);
    result->trace = sim_trace_hash(run.sim);
    result->counts[PODS] = run.pods;
    result->counts[CRASHES] = sim_stats(run.sim).crashes;
    result->at_ms = sim_now(run.sim) - START;
    struct sim *sim = run.sim;
    run.sim = NULL;
    sim_free(sim);
    map_free(run.been_ready);
    result->failure = run.failure;
}

int main(int argc, char **argv)
{
    return seeds_main(argc, argv,
                      &(struct seeds){.run = run_seed,
                                      .steps = STEPS_DEFAULT,
                                      .counts = {"pods", "crashes"},
                                      .promise = "pods come in order, and all sets come to rest"});
}
