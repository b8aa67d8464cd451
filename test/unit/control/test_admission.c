// SPDX-License-Identifier: Apache-2.0
/* Admission without faults; the test plays the node: it says how pods are. Rows whose name has a
 * number are what Kueue does in such a case. A Workload is told in one line: its conditions in
 * order of their names as Type=Status/Reason, short forms for the long ones. */
#include "base/mem.h"
#include "model/configuration.h"
#include "stage.h"
#include <limits.h>

static const struct controller *const ALL[] = {&CONTROLLER_JOB, &CONTROLLER_GARBAGE,
                                               &CONTROLLER_ADMISSION, NULL};
#define SECOND 1000
#define MINUTE (60 * SECOND)

static struct configuration config;

static struct sim *open_with(const char *ready)
{
    scoped_free char *text = mem_printf("{\"waitForPodsReady\":%s}", *ready ? ready : "null");
    struct err err = {0};
    scoped_json *doc = NULL;
    assert_int_equal(json_parse(sv_of(text), &doc, &err), 0);
    configuration_done(&config);
    if (configuration_of(yyjson_doc_get_root(doc), &config, &err) < 0)
        fail_msg("%s", err.text);
    struct sim_options options = {
        .seed = 1, .start = STAGE_START, .controllers = ALL, .configuration = &config};
    struct sim *sim = sim_new(&options);
    stage_run(sim, SECOND);
    return sim;
}

#define CPU_QUEUE(name, cpu)                                                                       \
    "{'metadata':{'name':'" name "'},'spec':{'namespaceSelector':{},'resourceGroups':[{"           \
    "'coveredResources':['cpu'],'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':" \
    "'" cpu "'}]}]}]}}"

static void make_queue(struct sim *sim, const char *cluster_queue)
{
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_RESOURCEFLAVOR, "", "f",
                              "{'metadata':{'name':'f'},'spec':{'nodeLabels':{'pool':'x'},"
                              "'tolerations':[{'key':'t','operator':'Exists'}]}}"));
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_CLUSTERQUEUE, "", "q", cluster_queue));
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_LOCALQUEUE, "default", "lq",
                              "{'metadata':{'name':'lq'},'spec':{'clusterQueue':'q'}}"));
}

static void make_job(struct sim *sim, const char *name, const char *spec)
{
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'%s','labels':{'kueue.x-k8s.io/queue-name':'lq'}},'spec':{%s"
        "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i',"
        "'resources':{'requests':{'cpu':'1'}}}]}}}}",
        name, spec);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_JOB, "default", name, body));
    stage_run(sim, SECOND);
}

static struct obj *workload(struct sim *sim, const char *name)
{
    struct obj *obj = stage_get(sim, &KIND_WORKLOAD, "default", name);
    if (obj == NULL)
        fail_msg("there is no Workload %s", name);
    return obj;
}

static bool is_suspended(struct sim *sim, const char *job)
{
    const struct obj *obj = stage_get(sim, &KIND_JOB, "default", job);
    return yyjson_get_bool(json_at(obj->root, "spec.suspend"));
}

#define expect(sim, name, type, want) stage_expect(workload(sim, name), type, want, __LINE__)
#define READY "'phase':'Running','conditions':[{'type':'Ready','status':'True'}]"
#define DONE "'phase':'Succeeded'"
#define DIED "'phase':'Failed'"

static size_t pods(struct sim *sim)
{
    return cache_count(sim_store(sim)->cache, &KIND_POD);
}

static int64_t number(struct sim *sim, const char *name, const char *path)
{
    return json_int_at(workload(sim, name)->root, path, -1);
}

/* ---- a Job's way ---- */

static void test_job_waits_runs_ends(void **state)
{
    (void)state;
    struct sim *sim = open_with("");
    make_queue(sim, CPU_QUEUE("q", "2"));
    make_job(sim, "a", "'parallelism':2,'completions':2,");
    expect(sim, "job-a", "Admitted", "True/Admitted");
    expect(sim, "job-a", "PodsReady", "none");
    assert_false(is_suspended(sim, "a"));
    const struct obj *job = stage_get(sim, &KIND_JOB, "default", "a");
    assert_string_equal(json_str_at(job->root, "spec.template.spec.nodeSelector.pool"), "x");
    assert_int_equal(yyjson_arr_size(json_at(job->root, "spec.template.spec.tolerations")), 1);
    make_job(sim, "b", "");
    expect(sim, "job-b", "QuotaReserved", "False/Pending");
    assert_true(is_suspended(sim, "b"));
    const struct obj *queue = stage_get(sim, &KIND_CLUSTERQUEUE, "", "q");
    assert_int_equal(json_int_at(queue->root, "status.pendingWorkloads", -1), 1);
    assert_int_equal(json_int_at(queue->root, "status.admittedWorkloads", -1), 1);
    stage_pods_become(sim, "a", 2, "Pending", DONE);
    expect(sim, "job-a", "Finished", "True/Succeeded");
    expect(sim, "job-b", "Admitted", "True/Admitted");
    assert_int_equal(pods(sim), 3);
    sim_free(sim);
}

static void test_workload_follows_its_job(void **state)
{
    (void)state;
    struct sim *sim = open_with("");
    make_job(sim, "a", "'parallelism':2,");
    assert_int_equal(
        json_int_at(yyjson_arr_get_first(json_at(workload(sim, "job-a")->root, "spec.podSets")),
                    "count", 0),
        2);
    stage_do(sim,
             stage_write(WRITE_PATCH, &KIND_JOB, "default", "a", "{'spec':{'parallelism':3}}"));
    stage_run(sim, SECOND);
    assert_int_equal(
        json_int_at(yyjson_arr_get_first(json_at(workload(sim, "job-a")->root, "spec.podSets")),
                    "count", 0),
        3);
    stage_do(sim, stage_write(WRITE_DELETE, &KIND_JOB, "default", "a", NULL));
    stage_run(sim, 5 * SECOND);
    assert_null(stage_get(sim, &KIND_WORKLOAD, "default", "job-a"));
    sim_free(sim);
}

#define PRIORITY_LABEL "kueue.x-k8s.io/priority-class"

static void make_class(struct sim *sim, const char *name, const char *value)
{
    scoped_free char *body = mem_printf("{'metadata':{'name':'%s'},'value':%s}", name, value);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_PRIORITYCLASS, "", name, body));
}

static void label_job(struct sim *sim, const char *job, const char *class)
{
    scoped_free char *body = mem_printf("{'metadata':{'labels':{'" PRIORITY_LABEL "':%s}}}", class);
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_JOB, "default", job, body));
    stage_run(sim, SECOND);
}

static int64_t priority(struct sim *sim, const char *name)
{
    return json_int_at(workload(sim, name)->root, "spec.priority", -1);
}

static void test_priority_follows_the_label(void **state)
{
    (void)state;
    struct sim *sim = open_with("");
    make_queue(sim, CPU_QUEUE("q", "1"));
    make_class(sim, "low", "1");
    make_class(sim, "high", "9");
    make_job(sim, "runs", "");
    make_job(sim, "first", "");
    make_job(sim, "second", "");
    label_job(sim, "second", "'high'");
    assert_int_equal(priority(sim, "job-second"), 9);
    stage_do(sim, stage_write(WRITE_DELETE, &KIND_JOB, "default", "runs", NULL));
    stage_run(sim, 5 * SECOND);
    expect(sim, "job-second", "Admitted", "True/Admitted"); /* it has overtaken the other */
    expect(sim, "job-first", "QuotaReserved", "False/Pending");
    label_job(sim, "second", "'low'"); /* also while it has quota */
    assert_int_equal(priority(sim, "job-second"), 1);
    label_job(sim, "first", "'low'");
    label_job(sim, "first", "null");
    assert_int_equal(priority(sim, "job-first"), 0);
    assert_null(json_at(workload(sim, "job-first")->root, "spec.priorityClassRef"));
    sim_free(sim);
}

/* More pods than there is quota for would be more than was promised to all. */
static void test_a_job_outgrows_its_quota(void **state)
{
    (void)state;
    struct sim *sim = open_with("");
    make_queue(sim, CPU_QUEUE("q", "3"));
    make_job(sim, "a", "'parallelism':2,'completions':9,");
    scoped_free char *uid = mem_strdup(workload(sim, "job-a")->meta.uid);
    stage_do(sim,
             stage_write(WRITE_PATCH, &KIND_JOB, "default", "a", "{'spec':{'parallelism':1}}"));
    stage_run(sim, 5 * SECOND);
    assert_string_equal(workload(sim, "job-a")->meta.uid, uid); /* fewer may run */
    stage_do(sim,
             stage_write(WRITE_PATCH, &KIND_JOB, "default", "a", "{'spec':{'parallelism':4}}"));
    stage_run(sim, 5 * SECOND);
    stage_reap(sim, INT_MAX);
    stage_run(sim, 5 * SECOND);
    assert_string_not_equal(workload(sim, "job-a")->meta.uid, uid);
    expect(sim, "job-a", "QuotaReserved", "False/Pending");
    assert_true(is_suspended(sim, "a"));
    stage_do(sim,
             stage_write(WRITE_PATCH, &KIND_JOB, "default", "a", "{'spec':{'parallelism':3}}"));
    stage_run(sim, 5 * SECOND);
    expect(sim, "job-a", "Admitted", "True/Admitted");
    assert_int_equal(pods(sim), 3);
    sim_free(sim);
}

/* ---- readiness ---- */

#define WAITS                                                                                      \
    "{\"enable\":true,\"timeout\":\"5m\",\"requeuingStrategy\":{\"backoffBaseSeconds\":60}}"

static void test_41_ready_counts_those_that_succeeded(void **state)
{
    (void)state;
    struct sim *sim = open_with(WAITS);
    make_queue(sim, CPU_QUEUE("q", "3"));
    make_job(sim, "a", "'parallelism':3,'completions':3,");
    expect(sim, "job-a", "PodsReady", "False/WaitForStart");
    stage_pods_become(sim, "a", 1, "Pending", READY);
    stage_pods_become(sim, "a", 1, "Pending", DONE);
    expect(sim, "job-a", "PodsReady", "False/WaitForStart");
    stage_pods_become(sim, "a", 1, "Pending", READY);
    expect(sim, "job-a", "PodsReady", "True/Started");
    stage_pods_become(sim, NULL, 1, "Running", DONE);
    stage_pods_become(sim, NULL, 1, "Running", DONE);
    expect(sim, "job-a", "PodsReady", "True/Started");
    expect(sim, "job-a", "Finished", "True/Succeeded");
    sim_free(sim);
}

static void test_43_min_of_parallelism_and_completions(void **state)
{
    (void)state;
    struct sim *sim = open_with(WAITS);
    make_queue(sim, CPU_QUEUE("q", "9"));
    make_job(sim, "a", "'parallelism':5,'completions':2,");
    assert_int_equal(
        json_int_at(yyjson_arr_get_first(json_at(workload(sim, "job-a")->root, "spec.podSets")),
                    "count", 0),
        2);
    stage_pods_become(sim, "a", 1, "Pending", DONE);
    expect(sim, "job-a", "PodsReady", "False/WaitForStart");
    stage_pods_become(sim, "a", 1, "Pending", READY);
    expect(sim, "job-a", "PodsReady", "True/Started");
    sim_free(sim);
}

static void test_44_recovery(void **state)
{
    (void)state;
    struct sim *sim = open_with(WAITS);
    make_queue(sim, CPU_QUEUE("q", "2"));
    make_job(sim, "a", "'parallelism':2,'completions':2,");
    stage_pods_become(sim, "a", 2, "Pending", READY);
    expect(sim, "job-a", "PodsReady", "True/Started");
    stage_pods_become(sim, NULL, 1, "Running", DIED);
    expect(sim, "job-a", "PodsReady", "False/WaitForRecovery");
    stage_run(sim, 30 * SECOND); /* the Job makes another after its own pause */
    stage_pods_become(sim, "a", 1, "Pending", READY);
    expect(sim, "job-a", "PodsReady", "True/Recovered");
    sim_free(sim);
}

/* ---- evictions ---- */

/* A pod that has a node stays until that node has ended it. */
static char *place_one(struct sim *sim)
{
    struct obj *pod = cache_first(sim_store(sim)->cache, &KIND_POD, "default");
    char *name = mem_strdup(pod->meta.name);
    stage_do(sim,
             stage_write(WRITE_PATCH, &KIND_POD, "default", name, "{'spec':{'nodeName':'n'}}"));
    return name;
}

static void test_46_47_timeout_then_back(void **state)
{
    (void)state;
    struct sim *sim = open_with(WAITS);
    make_queue(sim, CPU_QUEUE("q", "2"));
    make_job(sim, "a", "'parallelism':2,'completions':2,");
    scoped_free char *name = place_one(sim);
    stage_run(sim, 5 * MINUTE);
    expect(sim, "job-a", "Evicted", "True/PodsReadyTimeout");
    assert_true(is_suspended(sim, "a"));
    assert_non_null(stage_get(sim, &KIND_POD, "default", name));
    expect(sim, "job-a", "QuotaReserved", "True/QuotaReserved");
    stage_reap(sim, INT_MAX);
    expect(sim, "job-a", "PodsReady", "False/WaitForStart");
    expect(sim, "job-a", "QuotaReserved", "False/PendingEvaluation");
    expect(sim, "job-a", "Evicted", "True/PodsReadyTimeout");
    expect(sim, "job-a", "Admitted", "False/NoReservation");
    expect(sim, "job-a", "Requeued", "False/PodsReadyTimeout");
    assert_null(json_at(workload(sim, "job-a")->root, "status.admission"));
    assert_int_equal(number(sim, "job-a", "status.requeueState.count"), 1);
    yyjson_val *stat = yyjson_arr_get_first(
        json_at(workload(sim, "job-a")->root, "status.schedulingStats.evictions"));
    assert_string_equal(json_str_at(stat, "reason"), "PodsReadyTimeout");
    assert_string_equal(json_str_at(stat, "underlyingCause"), "WaitForStart");
    const struct obj *job = stage_get(sim, &KIND_JOB, "default", "a");
    assert_null(json_at(job->root, "spec.template.spec.nodeSelector"));
    stage_run(sim, 70 * SECOND); /* the pause is over: nobody else is there, it is admitted again */
    expect(sim, "job-a", "Requeued", "True/BackoffFinished");
    expect(sim, "job-a", "Admitted", "True/Admitted");
    expect(sim, "job-a", "Evicted", "False/QuotaReserved");
    assert_int_equal(number(sim, "job-a", "status.requeueState.count"), 1);
    assert_null(json_at(workload(sim, "job-a")->root, "status.requeueState.requeueAt"));
    /* Ready it keeps its count, but a limit by time begins anew. */
    assert_non_null(json_at(workload(sim, "job-a")->root, "status.requeueState.firstEvictedAt"));
    stage_pods_become(sim, "a", 2, "Pending", READY);
    expect(sim, "job-a", "PodsReady", "True/Started");
    assert_int_equal(number(sim, "job-a", "status.requeueState.count"), 1);
    assert_null(json_at(workload(sim, "job-a")->root, "status.requeueState.firstEvictedAt"));
    sim_free(sim);
}

/* Quota is not given on while a pod of the one before still runs; a pod that does not go is killed
 * after its grace period and some patience. */
static void test_watchdog_frees_quota(void **state)
{
    (void)state;
    struct sim *sim = open_with(WAITS);
    make_queue(sim, CPU_QUEUE("q", "2"));
    make_job(sim, "a", "'parallelism':2,'completions':2,");
    make_job(sim, "b", "'parallelism':2,'completions':2,");
    scoped_free char *name = place_one(sim);
    stage_run(sim, 5 * MINUTE);
    expect(sim, "job-a", "Evicted", "True/PodsReadyTimeout");
    expect(sim, "job-a", "QuotaReserved", "True/QuotaReserved");
    expect(sim, "job-b", "Admitted", "none");
    stage_run(sim, 70 * SECOND);
    assert_null(stage_get(sim, &KIND_POD, "default", name));
    expect(sim, "job-b", "Admitted", "True/Admitted");
    sim_free(sim);
}

static void test_01_limit_deactivates(void **state)
{
    (void)state;
    struct sim *sim = open_with("{\"enable\":true,\"timeout\":\"10s\",\"requeuingStrategy\":{"
                                "\"backoffBaseSeconds\":1,\"backoffLimitCount\":1}}");
    make_queue(sim, CPU_QUEUE("q", "2"));
    make_job(sim, "a", "'parallelism':1,");
    for (int i = 0; i < 2; i++) {
        stage_run(sim, 12 * SECOND);
        stage_reap(sim, INT_MAX);
    }
    stage_run(sim, 5 * SECOND);
    stage_reap(sim, INT_MAX);
    expect(sim, "job-a", "Evicted", "True/DeactivatedDueToRequeuingLimitExceeded");
    expect(sim, "job-a", "QuotaReserved", "False/Deactivated");
    expect(sim, "job-a", "Requeued", "False/DeactivatedDueToRequeuingLimitExceeded");
    expect(sim, "job-a", "DeactivationTarget", "none");
    assert_true(yyjson_is_false(json_at(workload(sim, "job-a")->root, "spec.active")));
    assert_null(json_at(workload(sim, "job-a")->root, "status.requeueState"));
    assert_int_equal(pods(sim), 0);
    /* 4 and 5: switched on again it begins anew. */
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_WORKLOAD, "default", "job-a",
                              "{'spec':{'active':true}}"));
    stage_run(sim, 3 * SECOND);
    expect(sim, "job-a", "Requeued", "True/Reactivated");
    expect(sim, "job-a", "Admitted", "True/Admitted");
    stage_run(sim, 11 * SECOND);
    stage_reap(sim, INT_MAX);
    assert_int_equal(number(sim, "job-a", "status.requeueState.count"), 1);
    sim_free(sim);
}

/* Of a queue that is gone or held nobody is let in, but what is over is over. */
static void test_05_23_24_without_a_usable_queue(void **state)
{
    (void)state;
    for (int is_held = 0; is_held < 2; is_held++) {
        struct sim *sim = open_with("{\"enable\":true,\"timeout\":\"10s\",\"requeuingStrategy\":{"
                                    "\"backoffBaseSeconds\":20,\"backoffLimitCount\":1}}");
        make_queue(sim, CPU_QUEUE("q", "2"));
        make_job(sim, "a", "'parallelism':1,");
        stage_run(sim, 11 * SECOND);
        stage_reap(sim, INT_MAX);
        expect(sim, "job-a", "Requeued", "False/PodsReadyTimeout");
        stage_do(sim, is_held ? stage_write(WRITE_PATCH, &KIND_CLUSTERQUEUE, "", "q",
                                            "{'spec':{'stopPolicy':'Hold'}}")
                              : stage_write(WRITE_DELETE, &KIND_LOCALQUEUE, "default", "lq", NULL));
        stage_run(sim, 25 * SECOND);
        expect(sim, "job-a", "Requeued", "True/BackoffFinished");
        expect(sim, "job-a", "Admitted", "False/NoReservation");
        assert_null(json_at(workload(sim, "job-a")->root, "status.requeueState.requeueAt"));
        assert_int_equal(number(sim, "job-a", "status.requeueState.count"), 1);
        struct write *off = stage_write(
            WRITE_PATCH, &KIND_WORKLOAD, "default", "job-a",
            "{'status':{'conditions':[{'type':'Requeued','status':'False','message':'','reason':"
            "'DeactivatedDueToRequeuingLimitExceeded','lastTransitionTime':'2026-01-01T00:00:00Z'}]"
            "}}");
        off->patch_type = PATCH_STRATEGIC;
        off->sub = SUB_STATUS;
        stage_do(sim, off);
        stage_run(sim, 2 * SECOND);
        expect(sim, "job-a", "Requeued", "True/Reactivated");
        assert_null(json_at(workload(sim, "job-a")->root, "status.requeueState"));
        sim_free(sim);
    }
}

static void set_label(struct sim *sim, const char *job, const char *seconds)
{
    scoped_free char *body = mem_printf(
        "{'metadata':{'labels':{'kueue.x-k8s.io/max-exec-time-seconds':'%s'}}}", seconds);
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_JOB, "default", job, body));
    stage_run(sim, SECOND);
}

/* The label may change for as long as the Job waits; time is counted over two admissions. */
static void test_maximum_execution_time(void **state)
{
    (void)state;
    struct sim *sim = open_with(WAITS);
    make_job(sim, "a", "'parallelism':1,");
    assert_int_equal(number(sim, "job-a", "spec.maximumExecutionTimeSeconds"), -1);
    set_label(sim, "a", "500");
    assert_int_equal(number(sim, "job-a", "spec.maximumExecutionTimeSeconds"), 500);
    set_label(sim, "a", "400");
    assert_int_equal(number(sim, "job-a", "spec.maximumExecutionTimeSeconds"), 400);
    make_queue(sim, CPU_QUEUE("q", "2"));
    stage_run(sim, 5 * MINUTE + 2 * SECOND); /* never ready: evicted */
    stage_reap(sim, INT_MAX);
    assert_in_range(number(sim, "job-a", "status.accumulatedPastExecutionTimeSeconds"), 300, 304);
    stage_run(sim, 70 * SECOND);
    expect(sim, "job-a", "Admitted", "True/Admitted");
    stage_pods_become(sim, "a", 1, "Pending", READY);
    stage_run(sim, 85 * SECOND);
    expect(sim, "job-a", "Admitted", "True/Admitted");
    stage_run(sim, 20 * SECOND);
    stage_reap(sim, INT_MAX);
    expect(sim, "job-a", "Evicted", "True/DeactivatedDueToMaximumExecutionTimeExceeded");
    expect(sim, "job-a", "QuotaReserved", "False/Deactivated");
    expect(sim, "job-a", "Requeued", "False/DeactivatedDueToMaximumExecutionTimeExceeded");
    expect(sim, "job-a", "DeactivationTarget", "none");
    assert_true(yyjson_is_false(json_at(workload(sim, "job-a")->root, "spec.active")));
    assert_true(is_suspended(sim, "a"));
    assert_int_equal(pods(sim), 0);
    assert_null(
        json_at(workload(sim, "job-a")->root, "status.accumulatedPastExecutionTimeSeconds"));
    yyjson_val *stat = yyjson_arr_get(
        json_at(workload(sim, "job-a")->root, "status.schedulingStats.evictions"), 1);
    assert_string_equal(json_str_at(stat, "reason"), "Deactivated");
    assert_string_equal(json_str_at(stat, "underlyingCause"), "MaximumExecutionTimeExceeded");
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_WORKLOAD, "default", "job-a",
                              "{'spec':{'active':true}}"));
    stage_run(sim, 3 * SECOND);
    expect(sim, "job-a", "Requeued", "True/Reactivated");
    expect(sim, "job-a", "Admitted", "True/Admitted");
    sim_free(sim);
}

/* Somebody changes the Workload in the moment in which it is admitted: the write fails, and it is
 * decided again about the newest one. */
static void test_56_changed_while_it_is_admitted(void **state)
{
    (void)state;
    struct sim *sim = open_with("");
    make_queue(sim, CPU_QUEUE("q", "1"));
    make_job(sim, "a", "");
    make_job(sim, "b", "");
    expect(sim, "job-b", "QuotaReserved", "False/Pending");
    struct write *done = stage_write(WRITE_DELETE, &KIND_JOB, "default", "a", NULL);
    sim_submit(sim, done);
    for (int i = 0; i < 200; i++) { /* one of them is between the decision and its write */
        scoped_free char *body =
            mem_printf("{'metadata':{'annotations':{'look':'%d'}},'spec':{'priority':%d}}", i, i);
        sim_submit(sim, stage_write(WRITE_PATCH, &KIND_WORKLOAD, "default", "job-b", body));
        stage_run(sim, 1);
    }
    stage_reap(sim, INT_MAX);
    stage_run(sim, 5 * SECOND);
    expect(sim, "job-b", "Admitted", "True/Admitted");
    assert_int_equal(number(sim, "job-b", "spec.priority"), 199);
    const struct obj *queue = stage_get(sim, &KIND_CLUSTERQUEUE, "", "q");
    assert_int_equal(json_int_at(queue->root, "status.admittedWorkloads", -1), 1);
    assert_int_equal(json_int_at(queue->root, "status.pendingWorkloads", -1), 0);
    sim_free(sim);
}

static size_t count_events(struct sim *sim, const char *name, const char *reason)
{
    struct cache *cache = sim_store(sim)->cache;
    struct obj *event = cache_first(cache, &KIND_EVENT, "default");
    size_t n = 0;
    for (; event != NULL; event = cache_after(cache, &KIND_EVENT, "default", event))
        n += str_eq(json_str_at(event->root, "involvedObject.name"), name) &&
             (reason == NULL || str_eq(json_str_at(event->root, "reason"), reason));
    return n;
}

static void switch_active(struct sim *sim, const char *name, bool is_active)
{
    scoped_free char *body = mem_printf("{'spec':{'active':%s}}", is_active ? "true" : "false");
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_WORKLOAD, "default", name, body));
    stage_run(sim, 2 * SECOND);
}

static void expect_stat(struct sim *sim, const char *name, size_t at, const char *want)
{
    yyjson_val *stat =
        yyjson_arr_get(json_at(workload(sim, name)->root, "status.schedulingStats.evictions"), at);
    scoped_free char *is =
        mem_printf("%s/%s %lld", json_str_at(stat, "reason"), json_str_at(stat, "underlyingCause"),
                   (long long)json_int_at(stat, "count", -1));
    assert_string_equal(is, want);
}

static size_t count_stats(struct sim *sim, const char *name)
{
    return yyjson_arr_size(json_at(workload(sim, name)->root, "status.schedulingStats.evictions"));
}

/* It was evicted before; another system has left that as the reason why it is not any more. */
static void test_50_switched_off_by_a_person(void **state)
{
    (void)state;
    struct sim *sim = open_with(WAITS);
    make_queue(sim, CPU_QUEUE("q", "2"));
    make_job(sim, "a", "'parallelism':1,");
    stage_run(sim, 5 * MINUTE);
    stage_reap(sim, INT_MAX);
    stage_run(sim, 70 * SECOND);
    expect(sim, "job-a", "Admitted", "True/Admitted");
    stage_pods_become(sim, "a", 1, "Pending", READY);
    struct write *past =
        stage_write(WRITE_PATCH, &KIND_WORKLOAD, "default", "job-a",
                    "{'status':{'conditions':[{'type':'Evicted','status':'False','reason':"
                    "'PodsReadyTimeout','message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}"
                    "}");
    past->patch_type = PATCH_STRATEGIC;
    past->sub = SUB_STATUS;
    stage_do(sim, past);
    stage_run(sim, SECOND);
    expect(sim, "job-a", "Evicted", "False/PodsReadyTimeout");
    expect_stat(sim, "job-a", 0, "PodsReadyTimeout/WaitForStart 1");
    switch_active(sim, "job-a", false);
    stage_reap(sim, INT_MAX);
    expect(sim, "job-a", "Evicted", "True/Deactivated");
    expect(sim, "job-a", "QuotaReserved", "False/Deactivated");
    expect_stat(sim, "job-a", 0, "PodsReadyTimeout/WaitForStart 1");
    expect_stat(sim, "job-a", 1, "Deactivated/ 1");
    assert_int_equal(count_stats(sim, "job-a"), 2);
    assert_true(is_suspended(sim, "a"));
    sim_free(sim);
}

static void test_49_switched_off_in_its_pause(void **state)
{
    (void)state;
    struct sim *sim = open_with(WAITS);
    make_queue(sim, CPU_QUEUE("q", "2"));
    make_job(sim, "a", "'parallelism':1,");
    stage_run(sim, 5 * MINUTE);
    stage_reap(sim, INT_MAX);
    expect(sim, "job-a", "Requeued", "False/PodsReadyTimeout");
    assert_non_null(json_at(workload(sim, "job-a")->root, "status.flavorPauses"));
    switch_active(sim, "job-a", false);
    expect(sim, "job-a", "Evicted", "True/PodsReadyTimeout");
    expect(sim, "job-a", "Requeued", "False/PodsReadyTimeout");
    assert_null(json_at(workload(sim, "job-a")->root, "status.requeueState"));
    assert_null(json_at(workload(sim, "job-a")->root, "status.flavorPauses"));
    expect_stat(sim, "job-a", 0, "PodsReadyTimeout/WaitForStart 1");
    assert_int_equal(count_stats(sim, "job-a"), 1);
    assert_int_equal(count_events(sim, "job-a", "Healthy"), 0);
    switch_active(sim, "job-a", true);
    expect(sim, "job-a", "Requeued", "True/BackoffFinished");
    expect(sim, "job-a", "Admitted", "True/Admitted");
    stage_run(sim, 5 * MINUTE);
    assert_int_equal(number(sim, "job-a", "status.requeueState.count"), 1);
    sim_free(sim);
}

static void test_switched_off_while_it_waits(void **state)
{
    (void)state;
    struct sim *sim = open_with(WAITS);
    make_queue(sim, CPU_QUEUE("q", "0"));
    make_job(sim, "a", "'parallelism':1,");
    expect(sim, "job-a", "QuotaReserved", "False/Pending");
    switch_active(sim, "job-a", false);
    expect(sim, "job-a", "Evicted", "True/Deactivated");
    expect(sim, "job-a", "Requeued", "none");
    expect_stat(sim, "job-a", 0, "Deactivated/ 1");
    assert_int_equal(count_stats(sim, "job-a"), 1);
    assert_int_equal(count_events(sim, "job-a", "EvictedDueToDeactivated"), 0);
    switch_active(sim, "job-a", true);
    expect(sim, "job-a", "Evicted", "True/Deactivated");
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_CLUSTERQUEUE, "", "q", CPU_QUEUE("q", "1")));
    stage_run(sim, 2 * SECOND);
    expect(sim, "job-a", "Admitted", "True/Admitted");
    expect(sim, "job-a", "Evicted", "False/QuotaReserved");
    sim_free(sim);
}

static void test_13_20_recovery_timeout(void **state)
{
    (void)state;
    struct sim *sim = open_with("{\"enable\":true,\"timeout\":\"5m\",\"recoveryTimeout\":\"3s\"}");
    make_queue(sim, CPU_QUEUE("q", "1"));
    make_job(sim, "a", "");
    stage_pods_become(sim, "a", 1, "Pending", READY);
    stage_pods_become(sim, NULL, 1, "Running", DIED);
    expect(sim, "job-a", "PodsReady", "False/WaitForRecovery");
    stage_run(sim, 4 * SECOND);
    stage_reap(sim, INT_MAX);
    expect(sim, "job-a", "Evicted", "True/PodsReadyTimeout");
    yyjson_val *stat = yyjson_arr_get_first(
        json_at(workload(sim, "job-a")->root, "status.schedulingStats.evictions"));
    assert_string_equal(json_str_at(stat, "underlyingCause"), "WaitForRecovery");
    sim_free(sim);
}

static void test_34_37_block_and_next(void **state)
{
    (void)state;
    struct sim *sim = open_with(WAITS);
    make_queue(sim, CPU_QUEUE("q", "4"));
    make_job(sim, "a", "'parallelism':2,");
    make_job(sim, "b", "'parallelism':2,");
    expect(sim, "job-a", "Admitted", "True/Admitted");
    expect(sim, "job-b", "QuotaReserved", "False/WaitingForPodsReady");
    expect(sim, "job-b", "PodsReady", "False/WaitForStart");
    stage_pods_become(sim, "a", 2, "Pending", READY);
    expect(sim, "job-b", "Admitted", "True/Admitted");
    sim_free(sim);
}

/* ---- pods ---- */

static void make_pod(struct sim *sim, const char *name, const char *more)
{
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'%s','labels':{'kueue.x-k8s.io/queue-name':'lq'%s}%s,'spec'"
        ":{'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'1'}}}]}}",
        name, *more ? ",'kueue.x-k8s.io/pod-group-name':'g'" : "",
        *more ? ",'annotations':{'kueue.x-k8s.io/pod-group-total-count':'2'}}" : "}");
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_POD, "default", name, body));
    stage_run(sim, SECOND);
}

static size_t gates(struct sim *sim, const char *name)
{
    const struct obj *pod = stage_get(sim, &KIND_POD, "default", name);
    return yyjson_arr_size(json_at(pod->root, "spec.schedulingGates"));
}

static void test_plain_pod(void **state)
{
    (void)state;
    struct sim *sim = open_with("");
    make_pod(sim, "p", "");
    assert_int_equal(gates(sim, "p"), 1);
    make_queue(sim, CPU_QUEUE("q", "1"));
    stage_run(sim, SECOND);
    expect(sim, "pod-p", "Admitted", "True/Admitted");
    assert_int_equal(gates(sim, "p"), 0);
    const struct obj *pod = stage_get(sim, &KIND_POD, "default", "p");
    assert_string_equal(json_str_at(pod->root, "spec.nodeSelector.pool"), "x");
    sim_free(sim);
}

static void test_pod_group(void **state)
{
    (void)state;
    struct sim *sim = open_with("");
    make_queue(sim, CPU_QUEUE("q", "2"));
    make_pod(sim, "p1", "g");
    assert_null(stage_get(sim, &KIND_WORKLOAD, "default", "podgroup-g"));
    make_pod(sim, "p2", "g");
    expect(sim, "podgroup-g", "Admitted", "True/Admitted");
    assert_int_equal(gates(sim, "p1") + gates(sim, "p2"), 0);
    sim_free(sim);
}

static void say_phase(struct sim *sim, const char *name, const char *phase)
{
    scoped_free char *body = mem_printf("{'status':{'phase':'%s'}}", phase);
    struct write *write = stage_write(WRITE_PATCH, &KIND_POD, "default", name, body);
    write->sub = SUB_STATUS;
    stage_do(sim, write);
    stage_run(sim, SECOND);
}

/* Who takes the place of one that has failed starts at once; who comes besides is too many. */
static void test_pod_group_gets_a_replacement(void **state)
{
    (void)state;
    struct sim *sim = open_with("");
    make_queue(sim, CPU_QUEUE("q", "2"));
    make_pod(sim, "p1", "g");
    make_pod(sim, "p2", "g");
    say_phase(sim, "p2", "Failed");
    make_pod(sim, "p3", "g");
    assert_int_equal(gates(sim, "p3"), 0);
    make_pod(sim, "p4", "g");
    assert_null(stage_get(sim, &KIND_POD, "default", "p4"));
    say_phase(sim, "p3", "Failed");
    make_pod(sim, "p5", "g");
    assert_int_equal(gates(sim, "p5"), 0);
    say_phase(sim, "p1", "Succeeded");
    say_phase(sim, "p5", "Succeeded");
    expect(sim, "podgroup-g", "Finished", "True/Succeeded");
    sim_free(sim);
}

/* Evicted, its pods are gone for good: it takes no quota before others have been made. */
static void test_pod_group_waits_for_its_pods(void **state)
{
    (void)state;
    struct sim *sim = open_with("{\"enable\":true,\"timeout\":\"1m\",\"requeuingStrategy\":"
                                "{\"backoffBaseSeconds\":10}}");
    make_queue(sim, CPU_QUEUE("q", "2"));
    make_pod(sim, "p1", "g");
    make_pod(sim, "p2", "g");
    say_phase(sim, "p2", "Failed"); /* it is kept, and the group's Workload with it */
    stage_run(sim, 3 * MINUTE);
    assert_null(stage_get(sim, &KIND_POD, "default", "p1"));
    expect(sim, "podgroup-g", "Requeued", "True/BackoffFinished");
    expect(sim, "podgroup-g", "QuotaReserved", "False/Inadmissible");
    make_pod(sim, "p3", "g");
    expect(sim, "podgroup-g", "QuotaReserved", "False/Inadmissible");
    make_pod(sim, "p4", "g");
    expect(sim, "podgroup-g", "Admitted", "True/Admitted");
    assert_int_equal(gates(sim, "p3") + gates(sim, "p4"), 0);
    sim_free(sim);
}

/* Each start is a write of its own, and may be refused because somebody else has written. */
static void test_pod_group_half_started_is_completed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        configuration_done(&config);
        configuration_default(&config);
        struct sim_options options = {
            .seed = seed, .start = STAGE_START, .controllers = ALL, .configuration = &config};
        options.faults = (struct sim_faults){.conflict = 4000};
        struct sim *sim = sim_new(&options);
        stage_run(sim, SECOND);
        make_queue(sim, CPU_QUEUE("q", "2"));
        make_pod(sim, "p1", "g");
        make_pod(sim, "p2", "g");
        sim_heal(sim);
        stage_run(sim, 10 * SECOND);
        expect(sim, "podgroup-g", "Admitted", "True/Admitted");
        assert_int_equal(gates(sim, "p1") + gates(sim, "p2"), 0);
        sim_free(sim);
    }
}

/* ---- workloads that are nobody's, as a benchmark makes them ---- */

static void test_raw_workload(void **state)
{
    (void)state;
    struct sim *sim = open_with("");
    make_queue(sim, CPU_QUEUE("q", "1"));
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_WORKLOAD, "default", "w",
                              "{'metadata':{'name':'w'},'spec':{'queueName':'lq','podSets':[{'name'"
                              ":'main','count':1,'template':{'spec':{'containers':[{'name':'c',"
                              "'image':'i','resources':{'requests':{'cpu':'1'}}}]}}}]}}"));
    stage_run(sim, SECOND);
    expect(sim, "w", "Admitted", "True/Admitted");
    stage_do(sim,
             stage_write(WRITE_PATCH, &KIND_WORKLOAD, "default", "w", "{'spec':{'active':false}}"));
    stage_run(sim, SECOND);
    expect(sim, "w", "QuotaReserved", "False/Deactivated");
    sim_free(sim);
}

static void make_raw_for(struct sim *sim, const char *name, int priority, int ms)
{
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'%s'},'spec':{'queueName':'lq','priority':%d,'podSets':[{"
                   "'name':'main','count':1,'template':{'spec':{'containers':[{'name':'c','image':"
                   "'i','resources':{'requests':{'cpu':'1'}}}]}}}]}}",
                   name, priority);
    sim_submit(sim, stage_write(WRITE_CREATE, &KIND_WORKLOAD, "default", name, body));
    stage_run(sim, ms);
}

static void make_raw(struct sim *sim, const char *name, int priority)
{
    make_raw_for(sim, name, priority, SECOND);
}

/* Who made it is its job side, and says how it is. */
static void tell_raw(struct sim *sim, const char *name, const char *type)
{
    scoped_free char *body =
        mem_printf("{'status':{'conditions':[{'type':'%s','status':'True','reason':'ByTest',"
                   "'message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}",
                   type);
    struct write *write = stage_write(WRITE_PATCH, &KIND_WORKLOAD, "default", name, body);
    write->patch_type = PATCH_STRATEGIC;
    write->sub = SUB_STATUS;
    stage_do(sim, write);
    stage_run(sim, SECOND);
}

static int64_t reserving(struct sim *sim)
{
    const struct obj *queue = stage_get(sim, &KIND_CLUSTERQUEUE, "", "q");
    return json_int_at(queue->root, "status.reservingWorkloads", -1);
}

static void test_raw_workload_ready_then_finished(void **state)
{
    (void)state;
    struct sim *sim = open_with(WAITS);
    make_queue(sim, CPU_QUEUE("q", "2"));
    make_raw(sim, "a", 0);
    make_raw(sim, "b", 0);
    make_raw(sim, "c", 0);
    expect(sim, "a", "Admitted", "True/Admitted");
    expect(sim, "a", "PodsReady", "none");
    expect(sim, "b", "QuotaReserved", "False/WaitingForPodsReady");
    tell_raw(sim, "a", "PodsReady");
    expect(sim, "b", "Admitted", "True/Admitted");
    tell_raw(sim, "b", "PodsReady");
    expect(sim, "c", "Admitted", "none");
    assert_int_equal(reserving(sim), 2);
    tell_raw(sim, "a", "Finished");
    expect(sim, "a", "QuotaReserved", "True/QuotaReserved");
    expect(sim, "c", "Admitted", "True/Admitted");
    assert_int_equal(reserving(sim), 2);
    sim_free(sim);
}

/* Nothing of it runs that anybody here knows of: its quota is free at once. */
static void test_raw_workload_preempted(void **state)
{
    (void)state;
    struct sim *sim = open_with("");
    make_queue(sim, "{'metadata':{'name':'q'},'spec':{'namespaceSelector':{},'preemption':{"
                    "'withinClusterQueue':'LowerPriority'},'resourceGroups':[{'coveredResources':"
                    "['cpu'],'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':'1'"
                    "}]}]}]}}");
    make_raw(sim, "low", 1);
    expect(sim, "low", "Admitted", "True/Admitted");
    make_raw(sim, "high", 2);
    expect(sim, "low", "Evicted", "True/Preempted");
    expect(sim, "low", "Admitted", "False/NoReservation");
    expect(sim, "low", "Requeued", "True/Preempted");
    assert_int_equal(count_events(sim, "low", "EvictedDueToPreempted"), 1);
    assert_int_equal(count_events(sim, "low", NULL), 2); /* and that it was admitted before */
    expect(sim, "high", "Admitted", "True/Admitted");
    tell_raw(sim, "high", "Finished");
    expect(sim, "low", "Admitted", "True/Admitted");
    expect(sim, "low", "Evicted", "False/QuotaReserved");
    assert_int_equal(reserving(sim), 1);
    sim_free(sim);
}

/* An admission is two writes: the status, and one Event a little later. */
static void test_one_event_a_decision(void **state)
{
    (void)state;
    struct sim *sim = open_with("");
    make_queue(sim, CPU_QUEUE("q", "1"));
    make_raw(sim, "a", 0);
    make_raw(sim, "b", 0);
    assert_int_equal(count_events(sim, "a", "Admitted"), 1);
    assert_int_equal(count_events(sim, "a", NULL), 1);
    assert_int_equal(count_events(sim, "b", NULL), 0);
    expect(sim, "b", "QuotaReserved", "False/Pending");
    tell_raw(sim, "a", "Finished"); /* its maker knows */
    assert_int_equal(count_events(sim, "a", NULL), 1);
    sim_free(sim);
}

/* That it waits is written when it has waited for a moment; until then it is like any other: it is
 * admitted, and what people do with it is heard. */
static void test_short_wait_is_not_told(void **state)
{
    (void)state;
    struct sim *sim = open_with("");
    make_queue(sim, CPU_QUEUE("q", "1"));
    make_raw(sim, "a", 0);
    make_raw_for(sim, "b", 0, 50);
    expect(sim, "b", "QuotaReserved", "none");
    tell_raw(sim, "a", "Finished");
    expect(sim, "b", "Admitted", "True/Admitted");
    make_raw_for(sim, "c", 0, 50);
    sim_submit(
        sim, stage_write(WRITE_PATCH, &KIND_WORKLOAD, "default", "c", "{'spec':{'active':false}}"));
    make_raw(sim, "d", 0);
    expect(sim, "d", "QuotaReserved", "False/Pending");
    tell_raw(sim, "b", "Finished");
    expect(sim, "c", "Admitted", "none");
    expect(sim, "d", "Admitted", "True/Admitted");
    make_raw_for(sim, "e", 0, 50);
    tell_raw(sim, "e", "Finished");
    expect(sim, "e", "QuotaReserved", "none");
    sim_free(sim);
}

/* The control plane comes back in the middle: nothing is admitted twice, timers go on. */
static void test_restart_goes_on(void **state)
{
    (void)state;
    struct sim *sim = open_with(WAITS);
    make_queue(sim, CPU_QUEUE("q", "2"));
    make_job(sim, "a", "'parallelism':2,");
    make_job(sim, "b", "'parallelism':2,");
    stage_run(sim, 2 * MINUTE);
    sim_crash(sim);
    stage_run(sim, SECOND);
    expect(sim, "job-a", "Admitted", "True/Admitted");
    expect(sim, "job-b", "Admitted", "none");
    stage_run(sim, 3 * MINUTE);
    stage_reap(sim, INT_MAX);
    expect(sim, "job-a", "Evicted", "True/PodsReadyTimeout");
    expect(sim, "job-b", "Admitted", "True/Admitted");
    assert_int_equal(number(sim, "job-a", "status.requeueState.count"), 1);
    sim_free(sim);
}

static int close_all(void **state)
{
    (void)state;
    configuration_done(&config);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_waits_runs_ends),
        cmocka_unit_test(test_workload_follows_its_job),
        cmocka_unit_test(test_priority_follows_the_label),
        cmocka_unit_test(test_a_job_outgrows_its_quota),
        cmocka_unit_test(test_41_ready_counts_those_that_succeeded),
        cmocka_unit_test(test_43_min_of_parallelism_and_completions),
        cmocka_unit_test(test_44_recovery),
        cmocka_unit_test(test_46_47_timeout_then_back),
        cmocka_unit_test(test_watchdog_frees_quota),
        cmocka_unit_test(test_01_limit_deactivates),
        cmocka_unit_test(test_05_23_24_without_a_usable_queue),
        cmocka_unit_test(test_maximum_execution_time),
        cmocka_unit_test(test_56_changed_while_it_is_admitted),
        cmocka_unit_test(test_50_switched_off_by_a_person),
        cmocka_unit_test(test_49_switched_off_in_its_pause),
        cmocka_unit_test(test_switched_off_while_it_waits),
        cmocka_unit_test(test_13_20_recovery_timeout),
        cmocka_unit_test(test_34_37_block_and_next),
        cmocka_unit_test(test_plain_pod),
        cmocka_unit_test(test_pod_group),
        cmocka_unit_test(test_pod_group_gets_a_replacement),
        cmocka_unit_test(test_pod_group_waits_for_its_pods),
        cmocka_unit_test(test_pod_group_half_started_is_completed),
        cmocka_unit_test(test_raw_workload),
        cmocka_unit_test(test_raw_workload_ready_then_finished),
        cmocka_unit_test(test_raw_workload_preempted),
        cmocka_unit_test(test_one_event_a_decision),
        cmocka_unit_test(test_short_wait_is_not_told),
        cmocka_unit_test(test_restart_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, close_all);
}
