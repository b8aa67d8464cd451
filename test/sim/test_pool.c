// SPDX-License-Identifier: Apache-2.0
/* VPods and their pool under everything that can go wrong: a client makes, scales and deletes
 * vpods, binds pods, loses pods and nodes, while the disk, the network and the controllers fail. At
 * every change of a vpod: what is placed and what is pending make up what was wanted, and no
 * placement is lost while the vpod wants as many as before. Then the faults end, and every vreplica
 * has a place, no pod more than it takes, and every pod was told what the statuses say.
 *
 *   test_pool [--seed N] [--seeds K] [--steps M] */
#include "base/map.h"
#include "base/mem.h"
#include "control/controllers.h"
#include "control/pool_internal.h"
#include "seeds.h"
#include "sim/sim.h"
#include "usual.h"

#define START 1767225600000 /* 2026-01-01 */
#define SECOND 1000
#define STEPS_DEFAULT 150
#define NODES 6
#define VPODS 5
#define CAPACITY 5
#define HEAL_ROUNDS 600

static const struct controller *const RUN_BY[] = {&CONTROLLER_POOL, &CONTROLLER_STATEFULSET,
                                                  &CONTROLLER_GARBAGE, NULL};

struct run {
    struct sim *sim;
    struct rng *rng;
    char *failure;
    uint64_t changes;
};

static void fail(struct run *run, const char *what, const char *name)
{
    if (run->failure == NULL)
        run->failure = mem_printf("%s: %s", name, what);
}

static int64_t sum_of(const struct obj *vpod)
{
    int64_t sum = 0;
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(vpod->root, "status.placements"), i, n, item)
    {
        sum += json_int_at(item, "vreplicas", 0);
    }
    return sum;
}

/* ---- what must hold ---- */

static void on_change(void *arg, struct change *change)
{
    struct run *run = arg;
    const struct obj *vpod = change->obj;
    if (vpod->kind != &KIND_VPOD || change->type == CHANGE_DELETED)
        return;
    run->changes++;
    int64_t placed = json_int_at(vpod->root, "status.placed", 0);
    int64_t pending = json_int_at(vpod->root, "status.pending", 0);
    int64_t wanted = json_int_at(vpod->root, "spec.vreplicas", 0);
    bool is_current =
        json_int_at(vpod->root, "status.observedGeneration", 0) == vpod->meta.generation;
    if (placed != sum_of(vpod))
        fail(run, "the sum of the placements is not what is placed", vpod->meta.name);
    if (is_current && placed + pending != wanted)
        fail(run, "placed and pending are not what is wanted", vpod->meta.name);
    bool is_same = change->old != NULL && change->old->meta.generation == vpod->meta.generation;
    int64_t had = change->old != NULL ? sum_of(change->old) : 0;
    if (is_same && placed < (had < wanted ? had : wanted))
        fail(run, "lost a vreplica that it wants", vpod->meta.name);
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

static struct obj *choose(struct run *run, const struct kind *kind)
{
    struct cache *cache = sim_store(run->sim)->cache;
    struct obj *obj = cache_first(cache, kind, NULL);
    size_t count = 0;
    for (; obj != NULL; obj = cache_after(cache, kind, NULL, obj))
        count++;
    if (count == 0)
        return NULL;
    obj = cache_first(cache, kind, NULL);
    for (uint64_t skip = rng_below(run->rng, count); skip > 0; skip--)
        obj = cache_after(cache, kind, NULL, obj);
    return obj;
}

static void make_world(struct run *run)
{
    for (int i = 0; i < NODES; i++) {
        scoped_free char *name = mem_printf("n%d", i);
        scoped_free char *body =
            mem_printf("{'metadata':{'name':'%s','labels':{'topology.kubernetes.io/zone':'z%d'}}}",
                       name, i % 3);
        if (cache_get(sim_store(run->sim)->cache, &KIND_NODE, "", name) == NULL)
            ask(run, WRITE_CREATE, &KIND_NODE, name, body);
    }
    if (cache_first(sim_store(run->sim)->cache, &KIND_STATEFULSET, NULL) == NULL)
        ask(run, WRITE_CREATE, &KIND_STATEFULSET, "p",
            "{'metadata':{'name':'p','annotations':{'muster.dev/pod-capacity':'5',"
            "'muster.dev/refresh-period':'20s'}},'spec':{'replicas':1,'podManagementPolicy':"
            "'Parallel','selector':{'matchLabels':{'app':'x'}},'template':{'metadata':{'labels':{"
            "'app':'x'}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}");
}

/* A pod that waits is bound somewhere; one that goes is gone. */
static void play_node(struct run *run)
{
    const struct obj *pod = choose(run, &KIND_POD);
    if (pod == NULL)
        return;
    const char *node = json_str_at(pod->root, "spec.nodeName");
    struct write *write = NULL;
    if (pod->meta.deleted != 0) {
        write = usual_write(WRITE_DELETE, &KIND_POD, pod->meta.name, NULL);
        write->grace_s = 0;
    } else if (node == NULL || *node == '\0') {
        scoped_free char *body =
            mem_printf("{'target':{'name':'n%d'}}", (int)rng_below(run->rng, NODES));
        write = usual_write(WRITE_CREATE, &KIND_POD, pod->meta.name, body);
        write->sub = SUB_BINDING;
        write->op = WRITE_UPDATE;
    } else {
        return;
    }
    write->if_uid = mem_strdup(pod->meta.uid);
    sim_submit(run->sim, write);
}

static void change_vpod(struct run *run)
{
    scoped_free char *name = mem_printf("v%d", (int)rng_below(run->rng, VPODS));
    bool is_there = cache_get(sim_store(run->sim)->cache, &KIND_VPOD, "default", name) != NULL;
    int wanted = (int)rng_between(run->rng, 0, 14);
    scoped_free char *body =
        is_there ? mem_printf("{'spec':{'vreplicas':%d}}", wanted)
                 : mem_printf("{'metadata':{'name':'%s'},'spec':{'pool':'p','vreplicas':%d,"
                              "'rebalance':'%s'}}",
                              name, wanted, chance(run, 50) ? "Minimal" : "Spread");
    if (is_there && chance(run, 15))
        ask(run, WRITE_DELETE, &KIND_VPOD, name, NULL);
    else
        ask(run, is_there ? WRITE_PATCH : WRITE_CREATE, &KIND_VPOD, name, body);
}

static void change_node(struct run *run, const struct obj *node, bool heals)
{
    static const char *const STATES[] = {
        "{'spec':{'unschedulable':null,'taints':null}}", "{'spec':{'unschedulable':true}}",
        "{'spec':{'taints':[{'key':'node.kubernetes.io/unreachable','effect':'NoExecute'}]}}"};
    if (node != NULL)
        ask(run, WRITE_PATCH, &KIND_NODE, node->meta.name,
            STATES[heals ? 0 : rng_below(run->rng, ARRAY_LEN(STATES))]);
}

static time_ms act(struct run *run)
{
    uint64_t dice = rng_below(run->rng, 100);
    const struct obj *pod;
    if (dice < 20) {
        change_vpod(run);
    } else if (dice < 65) {
        play_node(run);
    } else if (dice < 70) {
        change_node(run, choose(run, &KIND_NODE), chance(run, 50));
    } else if (dice < 75) {
        pod = choose(run, &KIND_POD);
        if (pod != NULL)
            ask(run, WRITE_DELETE, &KIND_POD, pod->meta.name, NULL);
    } else {
        return rng_between(run->rng, 0, 15 * SECOND);
    }
    return rng_between(run->rng, 0, 500);
}

static void pass(struct run *run, time_ms span)
{
    (void)sim_run_until(run->sim, sim_now(run->sim) + span, NULL, NULL);
    if (sim_violation(run->sim) != NULL)
        fail(run, sim_violation(run->sim), "simulator");
}

/* ---- the end ---- */

static bool all_placed(struct run *run)
{
    struct cache *cache = sim_store(run->sim)->cache;
    const struct obj *vpod = cache_first(cache, &KIND_VPOD, NULL);
    for (; vpod != NULL; vpod = cache_after(cache, &KIND_VPOD, NULL, vpod)) {
        if (json_int_at(vpod->root, "status.observedGeneration", 0) != vpod->meta.generation ||
            json_int_at(vpod->root, "status.placed", -1) !=
                json_int_at(vpod->root, "spec.vreplicas", 0))
            return false;
    }
    return true;
}

static int64_t placed_on(struct run *run, const char *pod)
{
    struct cache *cache = sim_store(run->sim)->cache;
    const struct obj *vpod = cache_first(cache, &KIND_VPOD, NULL);
    int64_t sum = 0;
    for (; vpod != NULL; vpod = cache_after(cache, &KIND_VPOD, NULL, vpod)) {
        size_t i, n;
        yyjson_val *item;
        yyjson_arr_foreach(json_at(vpod->root, "status.placements"), i, n, item)
        {
            if (str_eq(json_str_at(item, "podName"), pod))
                sum += json_int_at(item, "vreplicas", 0);
        }
    }
    return sum;
}

static int64_t told(const struct obj *pod)
{
    scoped_json *doc = NULL;
    const char *text = yyjson_get_str(yyjson_obj_get(pod->meta.annotations, POOL_SHARE_NOTE));
    if (text == NULL || json_parse(sv_of(text), &doc, NULL) < 0)
        return -1;
    return json_int_at(yyjson_doc_get_root(doc), "v", -1);
}

static void check_end(struct run *run)
{
    struct cache *cache = sim_store(run->sim)->cache;
    const struct obj *pod = cache_first(cache, &KIND_POD, NULL);
    bool has_vpods = cache_first(cache, &KIND_VPOD, NULL) != NULL;
    int64_t all = 0, wanted = 0;
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, NULL, pod)) {
        int64_t placed = placed_on(run, pod->meta.name);
        all += placed;
        if (placed > CAPACITY)
            fail(run, "has more than it takes", pod->meta.name);
        if (has_vpods && told(pod) != placed)
            fail(run, "was told something else than the statuses say", pod->meta.name);
    }
    const struct obj *vpod = cache_first(cache, &KIND_VPOD, NULL);
    for (; vpod != NULL; vpod = cache_after(cache, &KIND_VPOD, NULL, vpod))
        wanted += json_int_at(vpod->root, "spec.vreplicas", 0);
    if (all != wanted)
        fail(run, "vreplicas are on pods that do not exist", "end");
}

static void heal(struct run *run)
{
    sim_heal(run->sim);
    for (int i = 0; i < NODES; i++) {
        scoped_free char *name = mem_printf("n%d", i);
        change_node(run, cache_get(sim_store(run->sim)->cache, &KIND_NODE, "", name), true);
        pass(run, SECOND);
    }
    bool done = false;
    for (int i = 0; i < HEAL_ROUNDS && run->failure == NULL; i++) {
        play_node(run);
        pass(run, SECOND);
        done = all_placed(run);
        if (done && i > HEAL_ROUNDS / 2)
            break;
    }
    if (!done)
        fail(run, "not all vreplicas found a place", "end");
    check_end(run);
}

/* A controller that begins anew beside writes of its former self that are still under way may give
 * two vpods the same room; that is mended. */
static struct sim_faults faults_of(uint64_t seed)
{
    return usual_faults(seed * 43 + 3);
}

enum { CHANGES, CRASHES };

static void run_seed(uint64_t seed, int steps, struct seed_run *result)
{
    struct run run = {0};
    struct sim_options options = {.seed = seed,
                                  .start = START,
                                  .faults = faults_of(seed),
                                  .controllers = RUN_BY,
                                  .on_change = on_change,
                                  .arg = &run};
    run.sim = sim_new(&options);
    run.rng = sim_rng(run.sim);
    pass(&run, SECOND);
    for (; result->step < steps && run.failure == NULL; result->step++) {
        make_world(&run); /* whatever of it a crash has swallowed */
        pass(&run, act(&run));
    }
    heal(&run);
    result->trace = sim_trace_hash(run.sim);
    result->counts[CHANGES] = run.changes;
    result->counts[CRASHES] = sim_stats(run.sim).crashes;
    result->at_ms = sim_now(run.sim) - START;
    sim_free(run.sim);
    result->failure = run.failure;
}

int main(int argc, char **argv)
{
    return seeds_main(argc, argv,
                      &(struct seeds){.run = run_seed,
                                      .steps = STEPS_DEFAULT,
                                      .counts = {"changes of vpods", "crashes"},
                                      .promise = "no vreplica is lost, and all find a place"});
}
