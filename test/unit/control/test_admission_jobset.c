// SPDX-License-Identifier: Apache-2.0
/* JobSets in a queue: admission, the JobSets' own controller, Jobs and the garbage collector
 * together; the test plays the node. */
#include "base/mem.h"
#include "model/configuration.h"
#include "stage.h"

static const struct controller *const ALL[] = {&CONTROLLER_JOB, &CONTROLLER_JOBSET,
                                               &CONTROLLER_GARBAGE, &CONTROLLER_ADMISSION, NULL};
#define SECOND 1000
#define MINUTE (60 * SECOND)
#define TIMEOUTS "'enable':true,'timeout':'5m','recoveryTimeout':'2m'"

static struct configuration config;

static void read_config(const char *ready)
{
    scoped_free char *text = mem_printf("{'waitForPodsReady':{%s}}", ready);
    for (char *at = text; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    struct err err = {0};
    scoped_json *doc = NULL;
    assert_int_equal(json_parse(sv_of(text), &doc, &err), 0);
    configuration_done(&config);
    if (configuration_of(yyjson_doc_get_root(doc), &config, &err) < 0)
        fail_msg("%s", err.text);
}

/* Two flavors that have nothing in common, four places each; whoever fails in one tries the other.
 */
static struct sim *open_queue(void)
{
    read_config(TIMEOUTS);
    struct sim_options options = {
        .seed = 1, .start = STAGE_START, .controllers = ALL, .configuration = &config};
    struct sim *sim = sim_new(&options);
    stage_run(sim, SECOND);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_RESOURCEFLAVOR, "", "f",
                              "{'metadata':{'name':'f'},'spec':{'nodeLabels':{'pool':'x'},"
                              "'tolerations':[{'key':'t','operator':'Exists'}]}}"));
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_RESOURCEFLAVOR, "", "g",
                              "{'metadata':{'name':'g'},'spec':{'nodeLabels':{'zone':'y'}}}"));
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_CLUSTERQUEUE, "", "q",
                              "{'metadata':{'name':'q'},'spec':{'namespaceSelector':{},"
                              "'resourceGroups':[{'coveredResources':['cpu'],'flavors':["
                              "{'name':'f','resources':[{'name':'cpu','nominalQuota':'4'}]},"
                              "{'name':'g','resources':[{'name':'cpu','nominalQuota':'0'}]}"
                              "]}]}}"));
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_LOCALQUEUE, "default", "lq",
                              "{'metadata':{'name':'lq'},'spec':{'clusterQueue':'q'}}"));
    return sim;
}

static void close_queue(struct sim *sim)
{
    sim_free(sim);
    configuration_done(&config);
}

#define POD                                                                                        \
    "'template':{'spec':{'restartPolicy':'Never','nodeName':'n','containers':[{'name':'c','image'" \
    ":'i',"                                                                                        \
    "'resources':{'requests':{'cpu':'1'}}}]}}"
#define IN_PLACE                                                                                   \
    "'failurePolicy':{'maxRestarts':1,'restartStrategy':'InPlaceRestart'},'replicatedJobs':[{"     \
    "'name':'w','replicas':2,'template':{'spec':{'completions':2,'parallelism':2,"                 \
    "'completionMode':'Indexed','backoffLimit':2147483647,'podReplacementPolicy':'Failed'," POD    \
    "}}}]"
#define ROLE(name, replicas)                                                                       \
    "{'name':'" name "','replicas':" replicas                                                      \
    ",'template':{'spec':{'completions':1,'parallelism':1,'backoffLimit':0," POD "}}}"
#define ANEW(max)                                                                                  \
    "'failurePolicy':{'maxRestarts':" max                                                          \
    "},'replicatedJobs':[" ROLE("a", "2") "," ROLE("b", "2") "]"

static void make_set(struct sim *sim, const char *spec)
{
    scoped_free char *body = mem_printf("{'metadata':{'name':'s','labels':{"
                                        "'kueue.x-k8s.io/queue-name':'lq'}},'spec':{%s}}",
                                        spec);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_JOBSET, "default", "s", body));
    stage_run(sim, SECOND);
}

static struct obj *get(struct sim *sim, const struct kind *kind, const char *name)
{
    struct obj *obj = stage_get(sim, kind, "default", name);
    if (obj == NULL)
        fail_msg("there is no %s %s", kind->name, name);
    return obj;
}

#define expect(sim, type, want)                                                                    \
    stage_expect(get(sim, &KIND_WORKLOAD, "jobset-s"), type, want, __LINE__)
static int64_t number(struct sim *sim, const struct kind *kind, const char *name, const char *path)
{
    return json_int_at(get(sim, kind, name)->root, path, 0);
}

#define used_restarts(sim) number(sim, &KIND_JOBSET, "s", "status.restartsCountTowardsMax")

/* A field of the template of a Job's pods, as JSON. */
static void expect_template(struct sim *sim, const char *job, const char *path, const char *want)
{
    yyjson_val *template = json_at(get(sim, &KIND_JOB, job)->root, "spec.template.spec");
    scoped_free char *is = yyjson_val_write_opts(json_at(template, path), 0, &JSON_ALC, NULL, NULL);
    if (!str_eq(is, want))
        fail_msg("%s of %s is %s instead of %s", path, job, is ? is : "not there",
                 want ? want : "not there");
}

/* ---- the node ---- */

#define READY "'phase':'Running','conditions':[{'type':'Ready','status':'True'}]"
#define UNREADY "'phase':'Pending','conditions':[{'type':'Ready','status':'False'}]"
#define DONE "'phase':'Succeeded'"
#define DIED "'phase':'Failed'"

/* Every pod announces the epoch, as its agent would. */
static void announce(struct sim *sim, int n, const char *epoch)
{
    struct cache *cache = sim_store(sim)->cache;
    for (; n > 0; n--) {
        struct obj *pod = cache_first(cache, &KIND_POD, "default");
        while (pod != NULL && (pod->meta.deleted != 0 ||
                               str_eq(yyjson_get_str(yyjson_obj_get(pod->meta.annotations,
                                                                    "jobset.sigs.k8s.io/epoch")),
                                      epoch)))
            pod = cache_after(cache, &KIND_POD, "default", pod);
        assert_non_null(pod);
        scoped_free char *body =
            mem_printf("{'metadata':{'annotations':{'jobset.sigs.k8s.io/epoch':'%s'}}}", epoch);
        stage_do(sim, stage_write(WRITE_PATCH, &KIND_POD, "default", pod->meta.name, body));
    }
    stage_run(sim, SECOND);
}

static size_t pods(struct sim *sim)
{
    return cache_count(sim_store(sim)->cache, &KIND_POD);
}

static void set_active(struct sim *sim, bool active)
{
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_WORKLOAD, "default", "jobset-s",
                              active ? "{'spec':{'active':true}}" : "{'spec':{'active':false}}"));
    stage_run(sim, SECOND);
}

static void set_quota(struct sim *sim, const char *f, const char *g)
{
    scoped_free char *body =
        mem_printf("{'spec':{'resourceGroups':[{'coveredResources':['cpu'],'flavors':["
                   "{'name':'f','resources':[{'name':'cpu','nominalQuota':'%s'}]},"
                   "{'name':'g','resources':[{'name':'cpu','nominalQuota':'%s'}]}]}]}}",
                   f, g);
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_CLUSTERQUEUE, "", "q", body));
    stage_run(sim, SECOND);
}

/* ---- stories ---- */

static void test_in_place(void **state)
{
    (void)state;
    struct sim *sim = open_queue();
    make_set(sim, IN_PLACE);
    expect(sim, "Admitted", "True/Admitted");
    expect(sim, "PodsReady", "False/WaitForStart");
    expect_template(sim, "s-w-1", "nodeSelector", "{\"pool\":\"x\"}");
    assert_int_equal(pods(sim), 4);
    announce(sim, 4, "1");
    stage_pods_become(sim, NULL, 4, "Pending", READY);
    expect(sim, "PodsReady", "True/Started");
    /* One dies: all restart where they are. */
    stage_pods_become(sim, NULL, 1, "Running", UNREADY);
    announce(sim, 4, "2");
    expect(sim, "PodsReady", "False/WaitForRecovery");
    assert_int_equal(used_restarts(sim), 1);
    stage_pods_become(sim, NULL, 1, "Pending", READY);
    expect(sim, "PodsReady", "True/Recovered");
    /* One is not ready for too long: evicted, and the quota is kept until the last pod is gone. */
    stage_pods_become(sim, NULL, 1, "Running", UNREADY);
    stage_run(sim, 2 * MINUTE);
    expect(sim, "Evicted", "True/PodsReadyTimeout");
    stage_reap(sim, 3);
    expect(sim, "QuotaReserved", "True/QuotaReserved");
    stage_reap(sim, 1);
    expect(sim, "QuotaReserved", "False/PendingEvaluation");
    stage_run(sim, 2 * MINUTE);
    expect(sim, "Requeued", "True/BackoffFinished");
    expect(sim, "Admitted", "True/Admitted");
    expect(sim, "PodsReady", "False/WaitForStart");
    announce(sim, 4, "3");
    stage_pods_become(sim, NULL, 4, "Pending", READY);
    expect(sim, "PodsReady", "True/Started");
    set_active(sim, false);
    stage_reap(sim, 4);
    expect(sim, "QuotaReserved", "False/Deactivated");
    set_active(sim, true);
    announce(sim, 4, "4");
    stage_pods_become(sim, NULL, 4, "Pending", READY);
    expect(sim, "PodsReady", "True/Started");
    assert_int_equal(used_restarts(sim), 1);
    stage_pods_become(sim, NULL, 4, "Running", DONE);
    expect(sim, "Finished", "True/Succeeded");
    close_queue(sim);
}

/* What the flavor before has left on the Jobs goes when another one is given. */
static void test_other_flavor(void **state)
{
    (void)state;
    struct sim *sim = open_queue();
    make_set(sim, ANEW("0"));
    expect_template(sim, "s-a-0", "nodeSelector", "{\"pool\":\"x\"}");
    set_active(sim, false);
    stage_reap(sim, 4);
    set_quota(sim, "0", "4");
    set_active(sim, true);
    expect(sim, "Admitted", "True/Admitted");
    expect_template(sim, "s-a-0", "nodeSelector", "{\"zone\":\"y\"}");
    expect_template(sim, "s-a-0", "tolerations", NULL);
    close_queue(sim);
}

/* It has failed, and what is left of it is told to go: that keeps the quota until it is gone. */
static void test_failed_with_pods(void **state)
{
    (void)state;
    struct sim *sim = open_queue();
    make_set(sim, ANEW("0"));
    stage_pods_become(sim, NULL, 4, "Pending", READY);
    stage_pods_become(sim, "s-a-0", 1, "Running", DIED);
    assert_string_equal(json_str_at(get(sim, &KIND_JOBSET, "s")->root, "status.terminalState"),
                        "Failed");
    expect(sim, "Finished", "none");
    stage_reap(sim, 2);
    expect(sim, "Finished", "none");
    sim_crash(sim); /* whoever comes after knows whose the pods are */
    stage_run(sim, SECOND);
    stage_reap(sim, 1);
    expect(sim, "Finished", "True/Failed");
    close_queue(sim);
}

/* Jobs that have succeeded are made anew with the others, and need their quota. */
static void test_no_quota_back_before_restarts(void **state)
{
    (void)state;
    struct sim *sim = open_queue();
    make_set(sim, ANEW("1"));
    stage_pods_become(sim, NULL, 4, "Pending", READY);
    stage_pods_become(sim, "s-a-0", 1, "Running", DONE);
    stage_pods_become(sim, "s-a-1", 1, "Running", DONE);
    const struct obj *workload = get(sim, &KIND_WORKLOAD, "jobset-s");
    assert_null(json_at(workload->root, "status.reclaimablePods"));
    stage_pods_become(sim, "s-b-0", 1, "Running", DIED);
    stage_reap(sim, 4);
    stage_pods_become(sim, NULL, 4, "Pending", READY);
    expect(sim, "PodsReady", "True/Recovered");
    assert_int_equal(number(sim, &KIND_JOBSET, "s", "status.restarts"), 1);
    /* There will be no other restart. */
    stage_pods_become(sim, "s-a-0", 1, "Running", DONE);
    workload = get(sim, &KIND_WORKLOAD, "jobset-s");
    yyjson_val *back = json_at(workload->root, "status.reclaimablePods");
    assert_int_equal(json_int_at(yyjson_arr_get_first(back), "count", 0), 1);
    close_queue(sim);
}

/* Its Workload goes first, then Jobs and pods of which nobody knows any more whose they were. */
static void test_deleted(void **state)
{
    (void)state;
    struct sim *sim = open_queue();
    make_set(sim, ANEW("0"));
    stage_pods_become(sim, NULL, 4, "Pending", READY);
    stage_pods_become(sim, NULL, 4, "Running", DONE);
    expect(sim, "Finished", "True/Succeeded");
    stage_do(sim, stage_write(WRITE_DELETE, &KIND_WORKLOAD, "default", "jobset-s", NULL));
    stage_do(sim, stage_write(WRITE_DELETE, &KIND_JOBSET, "default", "s", NULL));
    stage_run(sim, 10 * SECOND);
    stage_reap(sim, 4);
    stage_run(sim, 10 * SECOND);
    struct cache *cache = sim_store(sim)->cache;
    assert_int_equal(cache_count(cache, &KIND_WORKLOAD), 0);
    assert_int_equal(cache_count(cache, &KIND_JOB), 0);
    assert_int_equal(pods(sim), 0);
    close_queue(sim);
}

/* Somebody deletes the Workload of a JobSet that runs: it stops, and another one is made. */
static void test_workload_deleted(void **state)
{
    (void)state;
    struct sim *sim = open_queue();
    make_set(sim, ANEW("0"));
    stage_pods_become(sim, NULL, 4, "Pending", READY);
    scoped_free char *uid = mem_strdup(get(sim, &KIND_WORKLOAD, "jobset-s")->meta.uid);
    stage_do(sim, stage_write(WRITE_DELETE, &KIND_WORKLOAD, "default", "jobset-s", NULL));
    stage_run(sim, SECOND);
    stage_reap(sim, 3);
    assert_string_equal(get(sim, &KIND_WORKLOAD, "jobset-s")->meta.uid, uid);
    stage_reap(sim, 1);
    stage_run(sim, SECOND);
    const struct obj *workload = get(sim, &KIND_WORKLOAD, "jobset-s");
    assert_string_not_equal(workload->meta.uid, uid);
    yyjson_val *set = yyjson_arr_get_first(json_at(workload->root, "spec.podSets"));
    assert_null(json_at(set, "template.spec.nodeSelector"));
    expect(sim, "Admitted", "True/Admitted");
    expect_template(sim, "s-a-0", "nodeSelector", "{\"pool\":\"x\"}");
    close_queue(sim);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_other_flavor),
        cmocka_unit_test(test_failed_with_pods),
        cmocka_unit_test(test_no_quota_back_before_restarts),
        cmocka_unit_test(test_deleted),
        cmocka_unit_test(test_workload_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
