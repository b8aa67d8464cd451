// SPDX-License-Identifier: Apache-2.0
/* Jobs in a queue while the control plane is killed, commits fail and others write in between: at
 * every moment no more pods run than there is quota for, and only of Jobs that have it; nothing is
 * admitted again without an eviction; and all comes to the same end. */
#include "base/mem.h"
#include "model/cell.h"
#include "model/configuration.h"
#include "stage.h"

static const struct controller *const ALL[] = {&CONTROLLER_JOB, &CONTROLLER_GARBAGE,
                                               &CONTROLLER_ADMISSION, NULL};
#define SECOND 1000
#define MINUTE (60 * SECOND)
#define SEEDS 40
#define QUOTA 4
#define TURN_MS 500 /* how often the node looks at its pods */
#define READY_MS 5000
#define DONE_MS 20000
#define SETTLED_MS (30 * MINUTE)

/* Not among them: controllers that are begun anew while writes of those before are on their way to
 * the same store. In the server they live and end with it. */
static const struct sim_faults FAULTS = {.commit_refused = 40,
                                         .crash_before = 150,
                                         .crash_after = 150,
                                         .conflict = 300,
                                         .commit_ms = 20,
                                         .lag_ms = 100,
                                         .submit_ms = 30};

static const struct job {
    const char *name;
    int pods;
    bool never; /* gets ready */
} JOBS[] = {{"a", 3, false}, {"never-b", 2, true}, {"c", 4, false},
            {"d", 1, false}, {"never-e", 3, true}, {"f", 2, false}};
#define N_JOBS ARRAY_LEN(JOBS)

struct play {
    struct sim *sim;
    struct configuration config;
    int admitted[N_JOBS];
    time_ms admitted_at[N_JOBS];
    char wrong[256];
};

/* ---- at every moment ---- */

static bool is_live(const struct obj *pod)
{
    const char *phase = json_str_at(pod->root, "status.phase");
    return !str_eq(phase, "Succeeded") && !str_eq(phase, "Failed");
}

static bool has(const struct obj *obj, const char *type)
{
    return obj != NULL && cell_condition_as(obj->root, type, "True") != NULL;
}

static void check_pods(struct play *play, const struct change *change)
{
    struct cache *cache = sim_store(play->sim)->cache;
    int live = 0;
    struct obj *pod = cache_first(cache, &KIND_POD, "default");
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, "default", pod))
        live += is_live(pod);
    if (live > QUOTA)
        (void)snprintf(play->wrong, sizeof(play->wrong), "%d pods run", live);
    if (change->type != CHANGE_ADDED)
        return;
    scoped_free char *name = mem_printf("job-%s", stage_job_of(change->obj));
    const struct obj *workload = cache_get(cache, &KIND_WORKLOAD, "default", name);
    if (!has(workload, "QuotaReserved"))
        (void)snprintf(play->wrong, sizeof(play->wrong), "%s runs without quota", name);
}

/* Pods of those that have quota, less what they have given back. */
static int64_t held(const struct obj *workload)
{
    if (!has(workload, "QuotaReserved") || has(workload, "Finished"))
        return 0;
    yyjson_val *set =
        yyjson_arr_get_first(json_at(workload->root, "status.admission.podSetAssignments"));
    yyjson_val *back = yyjson_arr_get_first(json_at(workload->root, "status.reclaimablePods"));
    return json_int_at(set, "count", 0) - json_int_at(back, "count", 0);
}

/* By the time of the condition: the very write may have been followed by a crash. */
static void count_admission(struct play *play, const struct obj *workload, size_t job)
{
    time_ms at = cell_time(cell_condition(workload->root, "Admitted"), "lastTransitionTime");
    if (!has(workload, "Admitted") || at == play->admitted_at[job])
        return;
    play->admitted_at[job] = at;
    play->admitted[job]++;
}

static void check_workloads(struct play *play, const struct change *change)
{
    struct cache *cache = sim_store(play->sim)->cache;
    int64_t sum = 0;
    struct obj *workload = cache_first(cache, &KIND_WORKLOAD, "default");
    for (; workload != NULL; workload = cache_after(cache, &KIND_WORKLOAD, "default", workload))
        sum += held(workload);
    if (sum > QUOTA)
        (void)snprintf(play->wrong, sizeof(play->wrong), "%d of the quota are given", (int)sum);
    for (size_t i = 0; i < N_JOBS; i++) {
        if (str_eq(change->obj->meta.name + strlen("job-"), JOBS[i].name))
            count_admission(play, change->obj, i);
    }
}

static void on_change(void *arg, struct change *change)
{
    struct play *play = arg;
    if (play->sim == NULL || *play->wrong != '\0')
        return;
    if (change->obj->kind == &KIND_POD)
        check_pods(play, change);
    else if (change->obj->kind == &KIND_WORKLOAD)
        check_workloads(play, change);
}

/* ---- the client and the node: what is not answered is tried again ---- */

static void send(struct play *play, struct write *write)
{
    sim_submit(play->sim, write);
}

static void create(struct play *play, const struct kind *kind, const char *ns, const char *name,
                   const char *body)
{
    if (stage_get(play->sim, kind, ns, name) == NULL)
        send(play, stage_write(WRITE_CREATE, kind, ns, name, body));
}

static void make_all(struct play *play)
{
    create(play, &KIND_NAMESPACE, "", "default", "{'metadata':{'name':'default'}}"); /* refused */
    create(play, &KIND_RESOURCEFLAVOR, "", "f", "{'metadata':{'name':'f'}}");
    create(play, &KIND_CLUSTERQUEUE, "", "q",
           "{'metadata':{'name':'q'},'spec':{'namespaceSelector':{},'resourceGroups':[{"
           "'coveredResources':['cpu'],'flavors':[{'name':'f','resources':[{'name':'cpu',"
           "'nominalQuota':'4'}]}]}]}}");
    create(play, &KIND_LOCALQUEUE, "default", "lq",
           "{'metadata':{'name':'lq'},'spec':{'clusterQueue':'q'}}");
    for (size_t i = 0; i < N_JOBS; i++) {
        scoped_free char *body = mem_printf(
            "{'metadata':{'name':'%s','labels':{'kueue.x-k8s.io/queue-name':'lq'}},'spec':{"
            "'parallelism':%d,'completions':%d,'template':{'spec':{'restartPolicy':'Never',"
            "'nodeName':'n','terminationGracePeriodSeconds':3,'containers':[{'name':'c',"
            "'image':'i','resources':{'requests':{'cpu':'1'}}}]}}}}",
            JOBS[i].name, JOBS[i].pods, JOBS[i].pods);
        create(play, &KIND_JOB, "default", JOBS[i].name, body);
    }
}

static void tend(struct play *play, const struct obj *pod)
{
    const char *status = NULL;
    time_ms age = sim_now(play->sim) - pod->meta.created;
    if (pod->meta.deleted != 0 && sim_now(play->sim) >= pod->meta.deleted) {
        struct write *write = stage_write(WRITE_DELETE, &KIND_POD, "default", pod->meta.name, NULL);
        write->grace_s = 0;
        send(play, write);
    } else if (is_live(pod) && !str_starts(stage_job_of(pod), "never")) {
        bool is_ready = str_eq(json_str_at(pod->root, "status.phase"), "Running");
        if (age > DONE_MS)
            status = "{'status':{'phase':'Succeeded'}}";
        else if (age > READY_MS && !is_ready)
            status = "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':"
                     "'True'}]}}";
    }
    if (status == NULL || pod->meta.deleted != 0)
        return;
    struct write *write = stage_write(WRITE_PATCH, &KIND_POD, "default", pod->meta.name, status);
    write->sub = SUB_STATUS;
    send(play, write);
}

static void turn(struct play *play)
{
    struct cache *cache = sim_store(play->sim)->cache;
    make_all(play);
    struct obj *pod = cache_first(cache, &KIND_POD, "default");
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, "default", pod))
        tend(play, pod);
}

/* ---- the whole of it ---- */

static bool is_settled(const struct play *play)
{
    for (size_t i = 0; i < N_JOBS; i++) {
        scoped_free char *name = mem_printf("job-%s", JOBS[i].name);
        const struct obj *workload = stage_get(play->sim, &KIND_WORKLOAD, "default", name);
        bool is_over = JOBS[i].never ? workload != NULL && has(workload, "Evicted") &&
                                           !has(workload, "QuotaReserved") &&
                                           yyjson_is_false(json_at(workload->root, "spec.active"))
                                     : has(workload, "Finished");
        if (!is_over)
            return false;
    }
    return true;
}

static int64_t evictions(const struct obj *workload)
{
    int64_t sum = 0;
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(workload->root, "status.schedulingStats.evictions"), i, n, item)
    {
        sum += json_int_at(item, "count", 0);
    }
    return sum;
}

static void check_end(const struct play *play, uint64_t seed)
{
    if (*play->wrong != '\0')
        fail_msg("seed %d: %s", (int)seed, play->wrong);
    if (!is_settled(play))
        fail_msg("seed %d: it has not come to its end", (int)seed);
    for (size_t i = 0; i < N_JOBS; i++) {
        scoped_free char *name = mem_printf("job-%s", JOBS[i].name);
        const struct obj *workload = stage_get(play->sim, &KIND_WORKLOAD, "default", name);
        int64_t wanted = JOBS[i].never ? 2 : 0; /* one try more is allowed */
        if (evictions(workload) != wanted || play->admitted[i] != (JOBS[i].never ? 2 : 1))
            fail_msg("seed %d: %s was admitted %d times and evicted %d times", (int)seed, name,
                     play->admitted[i], (int)evictions(workload));
    }
}

/* Returns how often it was killed. */
static uint64_t try_seed(uint64_t seed, const struct sim_faults *faults)
{
    struct play play = {0};
    struct err err = {0};
    scoped_json *doc = NULL;
    static const char READY[] = "{\"waitForPodsReady\":{\"enable\":true,\"timeout\":\"30s\","
                                "\"blockAdmission\":false,\"requeuingStrategy\":{"
                                "\"backoffBaseSeconds\":10,\"backoffLimitCount\":1}}}";
    assert_int_equal(json_parse(sv_of(READY), &doc, &err), 0);
    assert_int_equal(configuration_of(yyjson_doc_get_root(doc), &play.config, &err), 0);
    struct sim_options options = {.seed = seed,
                                  .start = STAGE_START,
                                  .controllers = ALL,
                                  .configuration = &play.config,
                                  .faults = *faults,
                                  .on_change = on_change,
                                  .arg = &play};
    play.sim = sim_new(&options);
    while (!is_settled(&play) && *play.wrong == '\0' &&
           sim_now(play.sim) < STAGE_START + SETTLED_MS) {
        turn(&play);
        (void)sim_run_until(play.sim, sim_now(play.sim) + TURN_MS, NULL, NULL);
    }
    check_end(&play, seed);
    if (sim_violation(play.sim) != NULL)
        fail_msg("seed %d: %s", (int)seed, sim_violation(play.sim));
    uint64_t crashes = sim_stats(play.sim).crashes;
    sim_free(play.sim);
    configuration_done(&play.config);
    return crashes;
}

static void test_without_faults(void **state)
{
    (void)state;
    assert_int_equal(try_seed(1, &(struct sim_faults){0}), 0);
}

static void test_killed(void **state)
{
    (void)state;
    uint64_t crashes = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        crashes += try_seed(seed, &FAULTS);
    assert_true(crashes > SEEDS);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_faults),
        cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
