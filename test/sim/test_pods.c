// SPDX-License-Identifier: Apache-2.0
/* A node under everything that can go wrong: for each seed a client makes pods and Jobs and deletes
 * them, gently or by force, while containers die, hang and do not start, the control plane crashes,
 * writes are refused and somebody sets the clock. Every change of the store and every step of a
 * unit is judged at once (podbook.h); then the faults end, and everything must settle.
 *
 *   test_pods [--seed N] [--seeds K] [--steps M] */
#include "base/mem.h"
#include "base/vec.h"
#include "control/controllers.h"
#include "control/pods/runner.h"
#include "podbook.h"
#include "seeds.h"
#include "usual.h"

#define START 1767225600000 /* 2026-01-01 */
#define SECOND 1000
#define STEPS_DEFAULT 60
#define HEAL_ROUNDS 400
#define JOBS_MAX 3
#define PODS_MAX 12

struct run {
    struct sim_clock clock;
    struct sim_runtime *runtime;
    struct runner *runner;
    const struct controller *controllers[5];
    struct sim *sim;
    struct podbook book;
    struct rng *rng;
    int jobs, pods;
};

static void on_change(void *arg, struct change *change)
{
    podbook_on_change(&((struct run *)arg)->book, change);
}

static void on_reopen(void *arg)
{
    podbook_on_reopen(&((struct run *)arg)->book);
}

static struct sim_faults faults_of(struct rng *rng)
{
    bool is_calm = rng_chance(rng, 1, 8);
    return (struct sim_faults){
        .commit_refused = is_calm ? 0 : (unsigned)rng_below(rng, 1000),
        .crash_before = is_calm ? 0 : (unsigned)rng_below(rng, 150),
        .crash_after = is_calm ? 0 : (unsigned)rng_below(rng, 150),
        .conflict = (unsigned)rng_below(rng, 2000),
        .restart = is_calm ? 0 : (unsigned)rng_below(rng, 300),
        .commit_ms = rng_between(rng, 0, 60),
        .lag_ms = rng_between(rng, 0, 400),
        .submit_ms = rng_between(rng, 0, 200),
    };
}

static struct sim_runtime_faults unit_faults_of(struct rng *rng)
{
    return (struct sim_runtime_faults){
        .not_run = (unsigned)rng_below(rng, 1500),
        .bad_answer = (unsigned)rng_below(rng, 3000),
        .dies = (unsigned)rng_below(rng, 4000),
        .deaf = (unsigned)rng_below(rng, 3000),
        .lost_forget = (unsigned)rng_below(rng, 2000),
        .start_ms = rng_between(rng, 0, 500),
        .death_ms = rng_between(rng, 0, 4 * SECOND),
        .answer_ms = rng_between(rng, 0, 1500),
        .tell_ms = rng_between(rng, 0, 300),
        .life_ms = rng_between(rng, 0, 20 * SECOND),
    };
}

/* ---- writing ---- */

static bool chance(struct run *run, unsigned percent)
{
    return rng_chance(run->rng, percent, 100);
}

static void on_answer(void *arg, struct write_result *result)
{
    struct run *run = arg;
    if (result->status.code == 422 || result->status.code == 400)
        podbook_fail(&run->book, "the client's own mistake: %s", str_text(&result->status.message));
}

static void ask(struct run *run, struct write *write)
{
    write->done = on_answer;
    write->arg = run;
    sim_submit(run->sim, write);
}

/* ---- pods and Jobs ---- */

#define PROBE "{'tcpSocket':{'port':1},'periodSeconds':%d,'failureThreshold':2}"
#define C "{'name':'c','command':['x']}"

static const char *const SHAPES[] = {
    "'containers':[" C "]",
    "'containers':[" C ",{'name':'d','command':['x']}]",
    "'containers':[{'name':'c','command':['x'],'readinessProbe':" PROBE "}]",
    "'containers':[{'name':'c','command':['x'],'startupProbe':" PROBE
    ",'lifecycle':{'preStop':{'sleep':{'seconds':1}}}}]",
    "'containers':[{'name':'c','command':['x'],'livenessProbe':" PROBE "}]",
    "'initContainers':[{'name':'i','command':['x']}],'containers':[" C "]",
    "'initContainers':[{'name':'s','command':['x'],'restartPolicy':'Always'},{'name':'i','command':"
    "['x']}],'containers':[" C "]",
    "'containers':[{'name':'c','command':['x'],'restartPolicy':'Never','restartPolicyRules':[{"
    "'action':'RestartAllContainers','exitCodes':{'operator':'In','values':[3]}}]},"
    "{'name':'d','command':['x']}]",
};

/* What becomes of it when nothing goes wrong: init containers are always through in a while. */
static char *notes(struct run *run, bool must_end)
{
    scoped_str out = {0};
    str_addf(&out, "'sim.muster.dev/start':'%dms'", (int)rng_between(run->rng, 0, 5000));
    if (must_end || chance(run, 40))
        str_addf(&out, ",'sim.muster.dev/run':'i=%dms,s=never,%dms'",
                 (int)rng_between(run->rng, 0, 3000), (int)rng_between(run->rng, 0, 20000));
    else
        str_add(&out, ",'sim.muster.dev/run':'i=1s'");
    return str_take(&out);
}

static char *spec(struct run *run, const char *policy)
{
    static const char *const GRACES[] = {"0", "2", "10"};
    scoped_str out = {0};
    str_addf(&out, "'restartPolicy':'%s','terminationGracePeriodSeconds':%s,", policy,
             GRACES[rng_below(run->rng, ARRAY_LEN(GRACES))]);
    str_addf(&out, SHAPES[rng_below(run->rng, ARRAY_LEN(SHAPES))],
             (int)rng_between(run->rng, 1, 10));
    return str_take(&out);
}

static void add_pod(struct run *run)
{
    static const char *const POLICIES[] = {"Always", "OnFailure", "Never"};
    scoped_free char *name = mem_printf("p%d", (int)rng_below(run->rng, PODS_MAX));
    scoped_free char *how = notes(run, false);
    scoped_free char *what = spec(run, POLICIES[rng_below(run->rng, ARRAY_LEN(POLICIES))]);
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'%s','annotations':{%s}%s},'spec':{%s}}", name, how,
                   chance(run, 10) ? ",'labels':{'x':'y'}" : "", what);
    run->pods++;
    ask(run, usual_write(WRITE_CREATE, &KIND_POD, name, body));
}

static void add_job(struct run *run)
{
    if (run->jobs == JOBS_MAX)
        return;
    scoped_free char *name = mem_printf("j%d", run->jobs++);
    scoped_free char *how = notes(run, true);
    scoped_free char *what = spec(run, chance(run, 50) ? "Never" : "OnFailure");
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'%s'},'spec':{'completions':%d,'parallelism':%d,"
        "'backoffLimit':4,'template':{'metadata':{'annotations':{%s}},'spec':{%s}}}}",
        name, (int)rng_between(run->rng, 1, 5), (int)rng_between(run->rng, 1, 3), how, what);
    ask(run, usual_write(WRITE_CREATE, &KIND_JOB, name, body));
}

static struct obj *choose(struct run *run, const struct kind *kind,
                          bool (*fits)(const struct obj *))
{
    VEC(struct obj *) list = {0};
    struct cache *cache = sim_store(run->sim)->cache;
    struct obj *obj = cache_first(cache, kind, "default");
    for (; obj != NULL; obj = cache_after(cache, kind, "default", obj)) {
        if (fits == NULL || fits(obj))
            vec_push(&list, obj);
    }
    obj = list.len > 0 ? list.items[rng_below(run->rng, list.len)] : NULL;
    vec_done(&list);
    return obj;
}

static void delete_pod(struct run *run, bool by_force)
{
    const struct obj *pod = choose(run, &KIND_POD, NULL);
    if (pod == NULL)
        return;
    struct write *write = usual_write(WRITE_DELETE, &KIND_POD, pod->meta.name, NULL);
    write->grace_s = by_force ? 0 : chance(run, 30) ? rng_between(run->rng, 1, 5) : -1;
    write->if_uid = mem_strdup(pod->meta.uid);
    if (by_force)
        podbook_force(&run->book, pod->meta.uid);
    ask(run, write);
}

struct picking {
    struct run *run;
    size_t left;
};

static void end_nth(void *arg, const struct runtime_unit *unit)
{
    static const int CODES[] = {0, 1, 3, 42, 137};
    struct picking *picking = arg;
    if (picking->left-- == 0)
        (void)sim_runtime_exit(picking->run->runtime, unit->uid, unit->container,
                               CODES[rng_below(picking->run->rng, ARRAY_LEN(CODES))]);
}

static void end_a_unit(struct run *run)
{
    size_t n = sim_runtime_alive(run->runtime, NULL);
    struct picking picking = {run, n > 0 ? rng_below(run->rng, n) : 0};
    sim_runtime_each(run->runtime, end_nth, &picking);
}

static time_ms act(struct run *run)
{
    uint64_t dice = rng_below(run->rng, 100);
    if (dice < 22)
        add_pod(run);
    else if (dice < 28)
        add_job(run);
    else if (dice < 45)
        end_a_unit(run);
    else if (dice < 57)
        delete_pod(run, false);
    else if (dice < 61)
        delete_pod(run, true);
    else if (dice < 63)
        sim_crash(run->sim);
    else if (dice < 65)
        sim_set_wall(run->sim, rng_between(run->rng, -120, 120) * SECOND);
    else
        return rng_between(run->rng, 0, 8 * SECOND);
    return rng_between(run->rng, 0, 400);
}

/* ---- running ---- */

static void pass(struct run *run, time_ms span)
{
    time_ms deadline = sim_now(run->sim) + span;
    while (run->book.failure == NULL && sim_clock_next(&run->clock) <= deadline)
        (void)sim_step(run->sim);
    if (run->book.failure == NULL)
        (void)sim_run_until(run->sim, deadline, NULL, NULL);
    if (sim_violation(run->sim) != NULL)
        podbook_fail(&run->book, "%s", sim_violation(run->sim));
    if (sim_runtime_violation(run->runtime) != NULL)
        podbook_fail(&run->book, "%s", sim_runtime_violation(run->runtime));
}

static bool is_open(const struct obj *obj)
{
    if (obj->kind == &KIND_JOB)
        return !job_has_ended(obj);
    return obj->meta.deleted != 0 || str_eq(json_str_at(obj->root, "status.phase"), "Pending");
}

/* Nobody meddles and nothing breaks. Units that were born deaf stay so; a last supervisor finds
 * what was not forgotten. */
static void heal(struct run *run)
{
    sim_heal(run->sim);
    sim_runtime_heal(run->runtime);
    for (int i = 0; i < HEAL_ROUNDS && run->book.failure == NULL; i++) {
        if (choose(run, &KIND_JOB, is_open) == NULL && choose(run, &KIND_POD, is_open) == NULL)
            break;
        pass(run, 10 * SECOND);
    }
    pass(run, 30 * SECOND);
    if (run->book.failure == NULL)
        sim_restart_manager(run->sim);
    pass(run, 30 * SECOND);
    if (run->book.failure == NULL)
        podbook_check_end(&run->book);
}

static void open_run(struct run *run, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed * 41 + 5);
    struct sim_faults faults = faults_of(&rng);
    podbook_init(&run->book);
    sim_clock_init(&run->clock, START);
    struct sim_runtime_options containers = {.clock = &run->clock,
                                             .seed = seed,
                                             .faults = unit_faults_of(&rng),
                                             .notifies = rng_chance(&rng, 1, 3),
                                             .on_step = podbook_on_step,
                                             .arg = &run->book};
    run->runtime = sim_runtime_new(&containers);
    struct runner_options node = {.node = "n",
                                  .runtime = sim_runtime_port(run->runtime),
                                  .launch = {.name = "n", .host_ip = "::1", .pod_ip = "::1"},
                                  .cores = 4,
                                  .memory_bytes = 1 << 30,
                                  .pods_max = 110};
    run->runner = runner_new(&node);
    run->controllers[0] = &CONTROLLER_BINDER;
    run->controllers[1] = &CONTROLLER_JOB;
    run->controllers[2] = runner_controller(run->runner);
    run->controllers[3] = &CONTROLLER_GARBAGE;
    struct sim_options options = {.seed = seed,
                                  .start = START,
                                  .clock = &run->clock,
                                  .faults = faults,
                                  .controllers = run->controllers,
                                  .on_change = on_change,
                                  .on_reopen = on_reopen,
                                  .arg = run};
    run->sim = sim_new(&options);
    run->book.sim = run->sim;
    run->book.runtime = run->runtime;
    run->rng = sim_rng(run->sim);
}

static void close_run(struct run *run)
{
    run->book.sim = NULL;
    sim_free(run->sim);
    runner_free(run->runner);
    sim_runtime_free(run->runtime);
    sim_clock_done(&run->clock);
    podbook_done(&run->book);
}

enum { PODS, STARTS, RESTARTS, STEPS, CRASHES };

static void run_seed(uint64_t seed, int steps, struct seed_run *result)
{
    struct run run = {0};
    open_run(&run, seed);
    pass(&run, SECOND);
    for (; result->step < steps && run.book.failure == NULL; result->step++)
        pass(&run, act(&run));
    heal(&run);
    struct sim_stats stats = sim_stats(run.sim);
    result->trace = sim_trace_hash(run.sim);
    result->counts[PODS] = (uint64_t)run.pods;
    result->counts[STARTS] = sim_runtime_starts(run.runtime);
    result->counts[RESTARTS] = run.book.restarts;
    result->counts[STEPS] = stats.steps;
    result->counts[CRASHES] = stats.crashes + stats.restarts;
    result->at_ms = sim_now(run.sim) - START;
    result->failure = mem_strdup(run.book.failure);
    close_run(&run);
}

int main(int argc, char **argv)
{
    return seeds_main(argc, argv,
                      &(struct seeds){.run = run_seed,
                                      .steps = STEPS_DEFAULT,
                                      .counts = {"pods", "starts", "restarts", "steps", "crashes"},
                                      .promise = "whatever happens, it holds, and then settles"});
}
