// SPDX-License-Identifier: Apache-2.0
/* Groups that restart in place under everything that can go wrong: workers die, agents crash, pods
 * are lost, announcements come late or twice, people suspend, resize and ask for restarts, while
 * the disk, the network and the controllers fail. What must hold is checked at every step (crew.h);
 * then the faults end, and the group must run again, or have ended.
 *
 *   test_restart [--seed N] [--seeds K] [--steps M] [--trace]
 *   test_restart --members N        one large group, with a few deaths; counts what that costs */
#include "base/mem.h"
#include "control/controllers.h"
#include "core/recover/epoch.h"
#include "crew.h"
#include "seeds.h"
#include "usual.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define START 1767225600000 /* 2026-01-01 */
#define SECOND 1000
#define STEPS_DEFAULT 250
#define HEAL_ROUNDS 3000
#define MEMBERS_MAX 6

static const struct controller *const RUN_BY[] = {&CONTROLLER_JOBSET, &CONTROLLER_JOB,
                                                  &CONTROLLER_GARBAGE, NULL};

struct run {
    struct sim *sim;
    struct crew crew;
    struct rng *rng;
    bool is_calm;   /* nobody meddles with the JobSet */
    bool has_rules; /* some exit codes fail the Job, and the failure policy has it made anew */
    bool is_kind;   /* nothing happens to members: no restart may be charged */
    uint64_t shutdowns;
};

static bool is_traced;

static void trace(const struct run *run, const struct change *change)
{
    static const char *const VERBS[] = {
        [CHANGE_ADDED] = "+", [CHANGE_MODIFIED] = " ", [CHANGE_DELETED] = "-"};
    const struct obj *obj = change->obj;
    yyjson_val *role = yyjson_arr_get_first(json_at(obj->root, "spec.replicatedJobs"));
    const char *epoch = yyjson_get_str(yyjson_obj_get(obj->meta.annotations, EPOCH_NOTE));
    const char *phase = json_str_at(obj->root, "status.phase");
    if (obj->kind == &KIND_EVENT)
        return;
    printf("# %6" PRId64 " %s %s %s%s", sim_now(run->sim) - START, VERBS[change->type],
           obj->kind->name, obj->meta.name, obj->meta.deleted != 0 ? " leaves" : "");
    if (obj->kind == &KIND_POD)
        printf(" epoch %s %s%s\n", epoch ? epoch : "none", phase,
               yyjson_arr_size(obj->meta.finalizers) > 0 ? "" : " free");
    else
        printf(" %" PRId64 "/%" PRId64 " charged %" PRId64 " members %" PRId64 " done %s%s\n",
               json_int_at(obj->root, "status.deprecatedEpoch", -1),
               json_int_at(obj->root, "status.syncedEpoch", -1),
               json_int_at(obj->root, "status.restartsCountTowardsMax", 0),
               role ? json_int_at(role, "template.spec.completions", 0)
                    : json_int_at(obj->root, "spec.completions", 0),
               json_str_at(obj->root, "status.completedIndexes"),
               yyjson_get_bool(json_at(obj->root, "spec.suspend")) ? " suspended" : "");
}

static void on_change(void *arg, struct change *change)
{
    struct run *run = arg;
    if (is_traced)
        trace(run, change);
    crew_on_change(&run->crew, change);
}

static void on_reopen(void *arg)
{
    struct run *run = arg;
    crew_on_reopen(&run->crew);
}

static struct sim_faults faults_of(uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed * 41 + 7);
    bool is_calm = rng_chance(&rng, 1, 8);
    return (struct sim_faults){
        .commit_refused = is_calm ? 0 : (unsigned)rng_below(&rng, 500),
        .crash_before = is_calm ? 0 : (unsigned)rng_below(&rng, 60),
        .crash_after = is_calm ? 0 : (unsigned)rng_below(&rng, 60),
        .conflict = (unsigned)rng_below(&rng, 3000),
        .restart = is_calm ? 0 : (unsigned)rng_below(&rng, 600),
        .commit_ms = rng_between(&rng, 0, 60),
        .lag_ms = rng_between(&rng, 0, 600),
        .submit_ms = rng_between(&rng, 0, 300),
    };
}

/* ---- the JobSet ---- */

#define FAIL_JOB(code) "{'action':'FailJob','onExitCodes':{'operator':'In','values':[" code "]}}"
#define ON_MESSAGE(code, action)                                                                   \
    "{'action':'" action "','onJobFailureMessagePatterns':['exit code " code "']}"

static char *spec_of(const struct run *run, int64_t members)
{
    const struct crew *crew = &run->crew;
    return mem_printf(
        "{'metadata':{'name':'s'},'spec':{'failurePolicy':{'restartStrategy':'InPlaceRestart',"
        "'maxRestarts':%" PRId64 "%s},'replicatedJobs':[{'name':'w','replicas':%" PRId64
        ",'template':{'spec':{'completions':%" PRId64 ",'parallelism':%" PRId64
        ",'backoffLimit':2147483647,'podReplacementPolicy':'Failed'%s,'template':{'spec':{"
        "'restartPolicy':'Never','nodeName':'n','containers':[{'name':'c','image':'i'}]}}}}}]}}",
        crew->max_restarts,
        run->has_rules
            ? ",'rules':[" ON_MESSAGE("40", "RestartJobSetAndIgnoreMaxRestarts") "," ON_MESSAGE(
                  "41", "RestartJob") "]"
            : "",
        crew->jobs, members, members,
        run->has_rules ? ",'podFailurePolicy':{'rules':[" FAIL_JOB("40,41,42") "]}" : "");
}

static void on_answer(void *arg, struct write_result *result)
{
    struct run *run = arg;
    if (result->status.code == 422 || result->status.code == 400)
        crew_fail(&run->crew, "the client's own mistake: %s", str_text(&result->status.message));
}

static void ask(struct run *run, enum write_op op, const char *body)
{
    struct write *write = usual_write(op, &KIND_JOBSET, "s", body);
    write->done = on_answer;
    write->arg = run;
    sim_submit(run->sim, write);
}

static const struct obj *set_of(struct run *run)
{
    return cache_get(sim_store(run->sim)->cache, &KIND_JOBSET, "default", "s");
}

static void set_suspend(struct run *run, bool suspend)
{
    ask(run, WRITE_PATCH, suspend ? "{'spec':{'suspend':true}}" : "{'spec':{'suspend':false}}");
}

static void resize(struct run *run)
{
    const struct crew *crew = &run->crew;
    if (crew->has_verdict || set_of(run) == NULL)
        return;
    scoped_free char *body = spec_of(run, rng_between(run->rng, 1, MEMBERS_MAX));
    ask(run, WRITE_PATCH, body);
}

static void on_deprecated(void *arg, struct write_result *result)
{
    struct run *run = arg;
    if (!run->crew.is_leaving)
        return;
    if (status_ok(&result->status)) {
        run->shutdowns++;
        crew_come_back(&run->crew);
    }
    run->crew.is_leaving = false; /* somebody else was faster: it is not tried again here */
}

/* A server that is told to end: as src/control/pods/leave.c has it. */
static void shut_down(struct run *run)
{
    const struct obj *set = set_of(run);
    int64_t synced = set != NULL ? json_int_at(set->root, "status.syncedEpoch", 0) : 0;
    if (run->crew.is_leaving || run->crew.has_verdict || synced == 0 ||
        synced <= json_int_at(set->root, "status.deprecatedEpoch", 0))
        return;
    scoped_free char *json = mem_printf("{\"status\":{\"deprecatedEpoch\":%" PRId64
                                        ",\"previousInPlaceRestartAttempt\":%" PRId64 "}}",
                                        synced, synced - 1);
    struct write *write = write_new(WRITE_PATCH, &KIND_JOBSET, "default", "s");
    if (json_parse(sv_of(json), &write->patch, NULL) < 0)
        abort();
    write->sub = SUB_STATUS;
    write->if_version = mem_strdup(set->meta.resource_version);
    write->done = on_deprecated;
    write->arg = run;
    run->crew.is_leaving = true;
    sim_submit(run->sim, write);
}

/* ---- time ---- */

static void pass(struct run *run, time_ms span)
{
    time_ms deadline = sim_now(run->sim) + span;
    while (run->crew.failure == NULL && sim_clock_next(sim_clock(run->sim)) <= deadline)
        (void)sim_step(run->sim);
    if (run->crew.failure == NULL)
        (void)sim_run_until(run->sim, deadline, NULL, NULL);
    if (sim_violation(run->sim) != NULL)
        crew_fail(&run->crew, "%s", sim_violation(run->sim));
}

static void meddle(struct run *run)
{
    uint64_t dice = rng_below(run->rng, 13);
    if (run->is_calm)
        return;
    if (dice >= 10) {
        shut_down(run);
    } else if (dice < 2) {
        set_suspend(run, rng_chance(run->rng, 1, 2));
    } else if (dice < 4) { /* and somebody thinks better of it */
        set_suspend(run, true);
        pass(run, rng_between(run->rng, 0, 1500));
        set_suspend(run, false);
    } else if (dice < 8) {
        scoped_free char *body =
            mem_printf("{'metadata':{'annotations':{'" RESTART_REQUEST_NOTE "':'%d'}}}",
                       (int)rng_below(run->rng, 1000));
        ask(run, WRITE_PATCH, body);
    } else {
        resize(run);
    }
}

static struct mate *any_mate(struct run *run)
{
    size_t count = run->crew.list.len;
    return count > 0 ? run->crew.list.items[rng_below(run->rng, count)] : NULL;
}

static void mishap(struct run *run, struct mate *mate)
{
    uint64_t dice = rng_below(run->rng, 100);
    if (run->is_kind)
        mate_repeat(mate, (int64_t)rng_below(run->rng, 3));
    else if (dice < 40)
        mate_die(mate);
    else if (dice < 50)
        mate_succeed(mate);
    else if (dice < 70)
        mate_crash(mate);
    else if (dice < (run->has_rules ? 90 : 78))
        mate_lose(mate, run->has_rules && rng_chance(run->rng, 3, 4)
                            ? 40 + (int)rng_below(run->rng, 3)
                            : 1);
    else if (rng_chance(run->rng, 1, 4))
        mate_lie(mate, rng_between(run->rng, 1, 4));
    else
        mate_repeat(mate, (int64_t)rng_below(run->rng, 3));
}

static time_ms act(struct run *run)
{
    struct mate *mate = any_mate(run);
    uint64_t dice = rng_below(run->rng, 1000);
    if (set_of(run) == NULL) { /* a crash may have swallowed it */
        scoped_free char *body = spec_of(run, run->crew.members);
        ask(run, WRITE_CREATE, body);
        return SECOND;
    }
    if (dice < 15)
        meddle(run);
    else if (dice < 90 && mate != NULL)
        mishap(run, mate);
    else if (dice < 150)
        return rng_between(run->rng, 0, 8 * SECOND);
    for (uint64_t i = rng_below(run->rng, 6); i > 0 && (mate = any_mate(run)) != NULL; i--)
        mate_step(mate, false);
    return rng_between(run->rng, 0, 300);
}

static void step_all(struct run *run)
{
    for (size_t i = 0; i < run->crew.list.len && run->crew.failure == NULL; i++)
        mate_step(run->crew.list.items[i], true);
}

/* Nothing goes wrong any more: all run together, or it has ended. */
static void heal(struct run *run)
{
    sim_heal(run->sim);
    run->crew.is_leaving = false;
    pass(run, 10 * SECOND);
    for (int i = 0; i < HEAL_ROUNDS && run->crew.failure == NULL; i++) {
        const struct obj *set = set_of(run);
        if (set != NULL && yyjson_get_bool(json_at(set->root, "spec.suspend")))
            set_suspend(run, false);
        step_all(run);
        pass(run, SECOND);
        if (i > 30 && crew_is_settled(&run->crew))
            break;
    }
    crew_check_end(&run->crew);
}

/* ... and when all succeed, the JobSet has. */
static void finish(struct run *run)
{
    for (int i = 0; i < 400 && run->crew.failure == NULL && !run->crew.has_verdict; i++) {
        for (size_t k = 0; k < run->crew.list.len; k++)
            mate_succeed(run->crew.list.items[k]);
        step_all(run);
        pass(run, SECOND);
    }
    if (run->crew.failure == NULL && !run->crew.has_verdict)
        crew_fail(&run->crew, "all have succeeded, and the JobSet has not");
}

enum { STARTS, LIFTS, RESTARTS, CHARGED, ANEW, COMPLETED, CRASHES, SHUTDOWNS };

static void open_run(struct run *run, uint64_t seed, struct sim_faults faults)
{
    struct sim_options options = {.seed = seed,
                                  .start = START,
                                  .faults = faults,
                                  .controllers = RUN_BY,
                                  .on_change = on_change,
                                  .on_reopen = on_reopen,
                                  .arg = run};
    run->sim = sim_new(&options);
    run->rng = sim_rng(run->sim);
}

static void close_run(struct run *run)
{
    sim_free(run->sim);
    crew_done(&run->crew);
}

static void run_seed(uint64_t seed, int steps, struct seed_run *result)
{
    struct run run = {0};
    struct rng rng;
    rng_seed(&rng, seed);
    int64_t max = rng_between(&rng, 0, 12);
    crew_init(&run.crew, rng_between(&rng, 1, 2), rng_between(&rng, 1, MEMBERS_MAX), MEMBERS_MAX);
    run.is_calm = rng_chance(&rng, 1, 3);
    run.is_kind = !run.is_calm && rng_chance(&rng, 1, 4);
    run.has_rules = rng_chance(&rng, 1, 2);
    open_run(&run, seed, faults_of(seed));
    crew_start(&run.crew, run.sim, "s", max);
    pass(&run, SECOND);
    while (cache_get(sim_store(run.sim)->cache, &KIND_NAMESPACE, NULL, "default") == NULL) {
        sim_crash(run.sim); /* the disk did not even take that; another try */
        pass(&run, SECOND);
    }
    for (; result->step < steps && run.crew.failure == NULL; result->step++)
        pass(&run, act(&run));
    heal(&run);
    finish(&run);
    result->trace = sim_trace_hash(run.sim);
    result->counts[STARTS] = run.crew.starts;
    result->counts[LIFTS] = run.crew.lifts;
    result->counts[RESTARTS] = (uint64_t)run.crew.restarts;
    result->counts[CHARGED] = (uint64_t)run.crew.charged;
    result->counts[ANEW] = (uint64_t)run.crew.anew;
    result->counts[COMPLETED] = run.crew.is_completed;
    result->counts[CRASHES] = sim_stats(run.sim).crashes;
    result->counts[SHUTDOWNS] = run.shutdowns;
    result->at_ms = sim_now(run.sim) - START;
    result->failure = mem_strdup(run.crew.failure);
    close_run(&run);
}

static bool has_happened(const uint64_t *counts, uint64_t seeds)
{
    return seeds < 20 ||
           (counts[LIFTS] > seeds && counts[RESTARTS] > counts[CHARGED] && counts[CHARGED] > 0 &&
            counts[ANEW] > 0 && counts[COMPLETED] > 0 && counts[COMPLETED] < seeds &&
            counts[CRASHES] > 0 && counts[SHUTDOWNS] > 0);
}

/* ---- one large group ---- */

struct cost {
    uint64_t reports, reconciles, writes;
};

static struct cost cost_now(struct run *run)
{
    struct manager_stats stats;
    (void)manager_stats(sim_manager(run->sim), &stats, 1);
    return (struct cost){run->crew.reports, stats.reconciles, stats.writes};
}

static bool is_settled(struct run *run)
{
    for (int i = 0; i < 300 && run->crew.failure == NULL; i++) {
        step_all(run);
        pass(run, 200);
        if (crew_is_settled(&run->crew))
            return true;
    }
    return false;
}

/* A death: all members report, and the controller looks at the JobSet a few times. */
static bool restart_once(struct run *run, int deaths)
{
    struct cost before = cost_now(run);
    int64_t epoch = vec_last(&run->crew.statuses)->synced;
    for (int i = 0; i < deaths; i++)
        mate_die(any_mate(run));
    bool ok = is_settled(run);
    struct cost after = cost_now(run);
    printf("# epoch %" PRId64 ": %" PRIu64 " reports, %" PRIu64 " looks, %" PRIu64 " writes\n",
           vec_last(&run->crew.statuses)->synced, after.reports - before.reports,
           after.reconciles - before.reconciles, after.writes - before.writes);
    return ok && vec_last(&run->crew.statuses)->synced == epoch + 1 &&
           after.reconciles - before.reconciles < 20 && after.writes - before.writes < 8;
}

static int run_large(int64_t members)
{
    struct run run = {0};
    crew_init(&run.crew, 1, members, members);
    struct sim_faults faults = {.lag_ms = 20, .submit_ms = 5, .commit_ms = 2};
    open_run(&run, 1, faults);
    crew_start(&run.crew, run.sim, "s", 5);
    scoped_free char *body = spec_of(&run, members);
    ask(&run, WRITE_CREATE, body);
    pass(&run, 20 * SECOND);
    printf("1..2\n");
    bool ok = is_settled(&run);
    for (int i = 0; i < 3 && ok; i++)
        ok = restart_once(&run, i == 1 ? 50 : 1);
    ok = ok && run.crew.charged == 3;
    printf("%s 1 - %" PRId64 " members restart, one charge each time, with a constant number of "
           "looks\n",
           ok ? "ok" : "not ok", members);
    finish(&run);
    ok = ok && run.crew.failure == NULL && run.crew.is_completed;
    if (run.crew.failure != NULL)
        printf("# %s\n", run.crew.failure);
    printf("%s 2 - all succeed\n", ok ? "ok" : "not ok");
    close_run(&run);
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    return seeds_main(
        argc, argv,
        &(struct seeds){.run = run_seed,
                        .steps = STEPS_DEFAULT,
                        .counts = {"starts", "epochs", "restarts", "charged", "of Jobs",
                                   "completed", "crashes"},
                        .promise = "S1 to S5, the budget, and every group runs or has ended",
                        .has_happened = has_happened,
                        .ret_is_traced = &is_traced,
                        .run_large = run_large});
}
