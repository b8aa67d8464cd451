// SPDX-License-Identifier: Apache-2.0
/* Jobs under everything that can go wrong: for each seed a client makes Jobs, plays the nodes that
 * run their pods and the people who meddle, while the disk, the network and the controllers fail.
 * Every change of the store is judged at once (book.h); then the faults end, and all Jobs must.
 *
 *   test_job [--seed N] [--seeds K] [--steps M] */
#include "base/mem.h"
#include "book.h"
#include "control/controllers.h"
#include "seeds.h"
#include "usual.h"

#define START 1767225600000 /* 2026-01-01 */
#define SECOND 1000
#define STEPS_DEFAULT 150
#define HEAL_ROUNDS 4000
#define JOBS_MAX 4

static const struct controller *const RUN_BY[] = {&CONTROLLER_JOB, &CONTROLLER_GARBAGE, NULL};

struct run {
    struct sim *sim;
    struct book book;
    struct rng *rng;
    int jobs;
};

static void on_change(void *arg, struct change *change)
{
    struct run *run = arg;
    book_on_change(&run->book, change);
}

static void on_reopen(void *arg)
{
    struct run *run = arg;
    book_on_reopen(&run->book);
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
        book_fail(&run->book, "the client's own mistake: %s", str_text(&result->status.message));
}

static void ask(struct run *run, struct write *write)
{
    write->done = on_answer;
    write->arg = run;
    sim_submit(run->sim, write);
}

/* ---- Jobs ---- */

#define IGNORE_42                                                                                  \
    ",'podFailurePolicy':{'rules':[{'action':'Ignore','onExitCodes':{'operator':'In','values':[42" \
    "]}}]}"
#define INDEXED ",'completionMode':'Indexed'"

/* Without a %d of its own: completions follow from the shape. */
static const char *const SHAPES[] = {
    ",'completions':%d",
    ",'completions':%d,'podReplacementPolicy':'Failed'",
    ",'completions':%d" IGNORE_42,
    ",'completions':%d" INDEXED,
    ",'completions':%d" INDEXED ",'podReplacementPolicy':'Failed'",
    ",'completions':%d" INDEXED ",'backoffLimitPerIndex':2",
    ",'completions':%d" INDEXED ",'backoffLimitPerIndex':1" IGNORE_42,
    ",'completions':%d" INDEXED ",'successPolicy':{'rules':[{'succeededCount':2}]}",
    ",'completions':%d,'activeDeadlineSeconds':40",
};

static void add_job(struct run *run)
{
    if (run->jobs == JOBS_MAX)
        return;
    scoped_str spec = {0};
    int completions = (int)rng_between(run->rng, 2, 9);
    bool is_queue = chance(run, 10);
    str_addf(&spec, "'parallelism':%d,'backoffLimit':%d", (int)rng_between(run->rng, 1, 5),
             (int)rng_between(run->rng, 1, 8));
    if (!is_queue)
        str_addf(&spec, SHAPES[rng_below(run->rng, ARRAY_LEN(SHAPES))], completions);
    if (chance(run, 10))
        str_add(&spec, ",'suspend':true");
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'j%d'},'spec':{%s,'template':{'spec':{'restartPolicy':'Never',"
        "'containers':[{'name':'c','image':'i'}]%s}}}}",
        run->jobs, str_text(&spec), chance(run, 70) ? ",'nodeName':'n'" : "");
    scoped_free char *name = mem_printf("j%d", run->jobs++);
    ask(run, usual_write(WRITE_CREATE, &KIND_JOB, name, body));
}

typedef VEC(struct obj *) obj_list;

static struct obj *choose(struct run *run, const struct kind *kind,
                          bool (*fits)(const struct obj *))
{
    obj_list list = {0};
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

static void set_suspend(struct run *run, const struct obj *job, bool suspend)
{
    ask(run, usual_write(WRITE_PATCH, &KIND_JOB, job->meta.name,
                         suspend ? "{'spec':{'suspend':true}}" : "{'spec':{'suspend':false}}"));
}

/* ---- pods ---- */

static bool runs(const struct obj *pod)
{
    return pod_state(pod) == POD_RUNS || pod_state(pod) == POD_STOPS;
}

static void end_pod(struct run *run, const struct obj *pod, int code)
{
    scoped_str now = {0};
    rfc3339_format(sim_now(run->sim), &now);
    scoped_free char *body =
        mem_printf("{'status':{'phase':'%s','containerStatuses':[{'name':'c','state':{'terminated'"
                   ":{'exitCode':%d,'finishedAt':'%s'}}}]}}",
                   code ? "Failed" : "Succeeded", code, str_text(&now));
    struct write *write = usual_write(WRITE_PATCH, &KIND_POD, pod->meta.name, body);
    write->sub = SUB_STATUS;
    write->if_uid = mem_strdup(pod->meta.uid);
    write->if_version = mem_strdup(pod->meta.resource_version); /* what has ended stays ended */
    ask(run, write);
}

static void get_ready(struct run *run, const struct obj *pod)
{
    struct write *write = usual_write(
        WRITE_PATCH, &KIND_POD, pod->meta.name,
        "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}}");
    write->sub = SUB_STATUS;
    write->if_uid = mem_strdup(pod->meta.uid);
    write->if_version = mem_strdup(pod->meta.resource_version); /* what has ended stays ended */
    ask(run, write);
}

static void delete_pod(struct run *run, const struct obj *pod, int64_t grace)
{
    struct write *write = usual_write(WRITE_DELETE, &KIND_POD, pod->meta.name, NULL);
    write->grace_s = grace;
    write->if_uid = mem_strdup(pod->meta.uid);
    ask(run, write);
}

/* A node: a pod that is told to stop ends or is just gone; others end as they like. */
static void play_node(struct run *run, unsigned good_percent)
{
    const struct obj *pod = choose(run, &KIND_POD, runs);
    if (pod == NULL)
        return;
    if (pod_state(pod) == POD_STOPS && chance(run, 50))
        delete_pod(run, pod, 0);
    else if (chance(run, 20) && pod_state(pod) == POD_RUNS)
        get_ready(run, pod);
    else
        end_pod(run, pod, chance(run, good_percent) ? 0 : chance(run, 30) ? 42 : 1);
}

static bool is_unfinished(const struct obj *job)
{
    return !job_finished(job);
}

static time_ms act(struct run *run)
{
    uint64_t dice = rng_below(run->rng, 100);
    if (dice < 6) {
        add_job(run);
    } else if (dice < 70) {
        play_node(run, 75);
    } else if (dice < 76) {
        const struct obj *pod = choose(run, &KIND_POD, runs);
        if (pod != NULL)
            delete_pod(run, pod, -1);
    } else if (dice < 82) {
        const struct obj *job = choose(run, &KIND_JOB, is_unfinished);
        if (job != NULL)
            set_suspend(run, job, chance(run, 40));
    } else if (dice < 83) {
        const struct obj *job = choose(run, &KIND_JOB, NULL);
        if (job != NULL)
            ask(run, usual_write(WRITE_DELETE, &KIND_JOB, job->meta.name, NULL));
    } else {
        return rng_between(run->rng, 0, 6 * SECOND);
    }
    return rng_between(run->rng, 0, 400);
}

/* ---- running ---- */

static void pass(struct run *run, time_ms span)
{
    time_ms deadline = sim_now(run->sim) + span;
    while (run->book.failure == NULL && sim_clock_next(sim_clock(run->sim)) <= deadline)
        (void)sim_step(run->sim);
    if (run->book.failure == NULL)
        (void)sim_run_until(run->sim, deadline, NULL, NULL);
    if (sim_violation(run->sim) != NULL)
        book_fail(&run->book, "%s", sim_violation(run->sim));
}

static bool is_suspended(const struct obj *job)
{
    return yyjson_get_bool(json_at(job->root, "spec.suspend"));
}

/* Nodes do their work, nobody meddles: every Job comes to an end. */
static void heal(struct run *run)
{
    sim_heal(run->sim);
    for (int i = 0; i < HEAL_ROUNDS && run->book.failure == NULL; i++) {
        const struct obj *job = choose(run, &KIND_JOB, is_suspended);
        if (job != NULL)
            set_suspend(run, job, false);
        if (choose(run, &KIND_JOB, is_unfinished) == NULL && choose(run, &KIND_POD, runs) == NULL)
            break;
        play_node(run, 100);
        pass(run, SECOND);
    }
    pass(run, 60 * SECOND);
    book_check_end(&run->book);
}

enum { JOBS, PODS, STEPS, CRASHES };

static void run_seed(uint64_t seed, int steps, struct seed_run *result)
{
    struct run run = {0};
    struct sim_options options = {.seed = seed,
                                  .start = START,
                                  .faults = usual_faults(seed * 37 + 11),
                                  .controllers = RUN_BY,
                                  .on_change = on_change,
                                  .on_reopen = on_reopen,
                                  .arg = &run};
    book_init(&run.book);
    run.sim = sim_new(&options);
    book_start(&run.book, run.sim);
    run.rng = sim_rng(run.sim);
    pass(&run, SECOND);
    for (; result->step < steps && run.book.failure == NULL; result->step++)
        pass(&run, act(&run));
    heal(&run);
    struct sim_stats stats = sim_stats(run.sim);
    result->trace = sim_trace_hash(run.sim);
    result->counts[JOBS] = (uint64_t)run.jobs;
    result->counts[PODS] = run.book.pods_made;
    result->counts[STEPS] = stats.steps;
    result->counts[CRASHES] = stats.crashes;
    result->at_ms = sim_now(run.sim) - START;
    result->failure = mem_strdup(run.book.failure);
    run.book.sim = NULL;
    sim_free(run.sim);
    book_done(&run.book);
}

int main(int argc, char **argv)
{
    return seeds_main(argc, argv,
                      &(struct seeds){.run = run_seed,
                                      .steps = STEPS_DEFAULT,
                                      .counts = {"jobs", "pods", "steps", "crashes"},
                                      .promise = "each pod counts once, and all Jobs end"});
}
