// SPDX-License-Identifier: Apache-2.0
/* JobSets whose Jobs the test plays; numbers are those of the list of cases. */
#include "core/recover/epoch.h"
#include "jobset_kit.h"

static const struct controller *const NOBODY[] = {NULL};
static const struct controller *const SETS[] = {&CONTROLLER_JOBSET, NULL};
static const struct controller *const SETS_AND_ALL[] = {&CONTROLLER_JOBSET, &CONTROLLER_JOB,
                                                        &CONTROLLER_GARBAGE, NULL};
#define A_AND_3_B "'replicatedJobs':[" ROLE("a", "", "") "," ROLE("b", ",'replicas':3", "") "]"
#define FAILURE(text) ",'failurePolicy':{" text "}"
#define RULES(text) FAILURE("'maxRestarts':1,'rules':[" text "]")
#define NEVER_POD                                                                                  \
    "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}"
#define FOUR(n) "s-a-0@" n " s-b-0@" n " s-b-1@" n " s-b-2@" n

static struct sim *open_set(const char *spec)
{
    struct sim *sim = kit_open(SETS);
    kit_create(sim, "s", spec);
    return sim;
}

/* ---- Jobs and what is on them ---- */

static void test_jobs_and_labels(void **state)
{
    (void)state;
    struct sim *sim = open_set(A_AND_3_B ",'coordinator':null,'network':{'subdomain':'net'}");
    expect_jobs(sim, FOUR("0"));
    expect(sim, "a 0/0/0/0/0 b 0/0/0/0/0 0/0");
    const struct obj *job = stage_get(sim, &KIND_JOB, "default", "s-b-2");
    static const char *const LABELS[][2] = {
        {"jobset-name", "s"},
        {"replicatedjob-name", "b"},
        {"replicatedjob-replicas", "3"},
        {"global-replicas", "4"},
        {"job-index", "2"},
        {"job-global-index", "3"},
        {"restart-attempt", "0"},
        {"group-name", "default"},
        {"group-replicas", "4"},
        {"job-group-index", "3"},
        {"job-restart-attempt", "0"},
        {"job-key", "8f6357a670005b3d1b4ac58b1a96ec34241c722d"},
    };
    yyjson_val *pods = json_at(job->root, "spec.template.metadata");
    for (size_t i = 0; i < ARRAY_LEN(LABELS); i++) {
        scoped_free char *key = mem_printf(JOBSET_DOMAIN "%s", LABELS[i][0]);
        yyjson_val *const maps[] = {job->meta.labels, job->meta.annotations,
                                    yyjson_obj_get(pods, "labels"),
                                    yyjson_obj_get(pods, "annotations")};
        for (size_t k = 0; k < ARRAY_LEN(maps); k++)
            assert_string_equal(yyjson_get_str(yyjson_obj_get(maps[k], key)), LABELS[i][1]);
    }
    assert_string_equal(kit_label(job, "jobset-uid"), kit_set(sim)->meta.uid);
    assert_string_equal(json_str_at(job->root, "spec.template.spec.subdomain"), "net");
    yyjson_val *ref = yyjson_arr_get_first(job->meta.owners);
    assert_string_equal(json_str_at(ref, "uid"), kit_set(sim)->meta.uid);
    assert_string_equal(json_str_at(ref, "apiVersion"), "jobset.x-k8s.io/v1alpha2");
    assert_true(yyjson_get_bool(yyjson_obj_get(ref, "controller")));
    sim_free(sim);
}

static const char *pods_label(struct sim *sim, const char *name, const char *label)
{
    const struct obj *job = stage_get(sim, &KIND_JOB, "default", name);
    scoped_free char *key = mem_printf(JOBSET_DOMAIN "%s", label);
    return yyjson_get_str(yyjson_obj_get(json_at(job->root, "spec.template.metadata.labels"), key));
}

#define PRIORITY(name, number)                                                                     \
    "{'name':'" name "','template':{'spec':{'template':{'spec':{'subdomain':'own','priority'"      \
    ":" number ",'containers':[{'name':'c','image':'i'}]}}}}}"

/* All have the domain of the JobSet, whatever their template says. */
static void test_priority_and_domain_of_pods(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicatedJobs':[" PRIORITY("a", "7") "," PRIORITY("b", "-7") "]");
    const struct obj *job = stage_get(sim, &KIND_JOB, "default", "s-a-0");
    assert_string_equal(json_str_at(job->root, "spec.template.spec.subdomain"), "s");
    assert_string_equal(pods_label(sim, "s-a-0", "priority"), "7");
    assert_null(kit_label(job, "priority"));
    assert_null(pods_label(sim, "s-b-0", "priority"));
    sim_free(sim);
}

static void test_groups_and_coordinator(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicatedJobs':[" ROLE(
        "a", ",'replicas':2,'groupName':'x'",
        "'completions':2,'parallelism':2,") "," ROLE("b", ",'replicas':2",
                                                     "") "," ROLE("c", ",'groupName':'x'",
                                                                  "") "],"
                                                                      "'coordinator':{'"
                                                                      "replicatedJob':'a','"
                                                                      "jobIndex':1,'podIndex':1},"
                                                                      "'network':{'"
                                                                      "enableDNSHostnames':false}");
    const struct obj *job = stage_get(sim, &KIND_JOB, "default", "s-c-0");
    assert_string_equal(kit_label(job, "group-name"), "x");
    assert_string_equal(kit_label(job, "group-replicas"), "3");
    assert_string_equal(kit_label(job, "job-group-index"), "2");
    assert_string_equal(kit_label(job, "job-global-index"), "4");
    assert_string_equal(kit_label(job, "coordinator"), "s-a-1-1.s");
    assert_null(json_str_at(job->root, "spec.template.spec.subdomain"));
    sim_free(sim);
}

/* ---- one Job a domain ---- */

#define TOPOLOGY "alpha.jobset.sigs.k8s.io/exclusive-topology"
#define BY_LABEL "alpha.jobset.sigs.k8s.io/node-selector"
#define NOTE(name, value) "'annotations':{'" name "':'" value "'}"
#define NOTED(name, job, pods)                                                                     \
    "{'name':'" name "','template':{'metadata':{" job "},'spec':{'template':{'metadata':{" pods    \
    "},'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}}"

static struct sim *open_noted(const char *notes, const char *spec)
{
    struct sim *sim = kit_open(SETS);
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'s','annotations':{%s}},'spec':{%s}}", notes, spec);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_JOBSET, "default", "s", body));
    stage_run(sim, SECOND);
    return sim;
}

static void expect_note(struct sim *sim, const char *job, const char *name, const char *want)
{
    const struct obj *obj = stage_get(sim, &KIND_JOB, "default", job);
    yyjson_val *const NOTES[] = {obj->meta.annotations,
                                 json_at(obj->root, "spec.template.metadata.annotations")};
    for (size_t i = 0; i < ARRAY_LEN(NOTES); i++) {
        const char *note = yyjson_get_str(yyjson_obj_get(NOTES[i], name));
        if (!str_eq(note, want))
            fail_msg("%s of %s: %s instead of %s", name, job, note, want);
    }
}

static void expect_pod_part(struct sim *sim, const char *job, const char *part, const char *want)
{
    scoped_str is = {0};
    const struct obj *obj = stage_get(sim, &KIND_JOB, "default", job);
    yyjson_val *val = yyjson_obj_get(json_at(obj->root, "spec.template.spec"), part);
    if (val != NULL)
        json_write_val(val, &is);
    assert_string_equal(str_text(&is), want);
}

static void test_the_nearest_topology_counts(void **state)
{
    (void)state;
    struct sim *sim = open_noted(
        "'" TOPOLOGY "':'pool'",
        "'replicatedJobs':[" NOTED("a", "", "") "," NOTED(
            "b", NOTE(TOPOLOGY, "rack"),
            "") "," NOTED("c", NOTE(TOPOLOGY, "rack"),
                          NOTE(TOPOLOGY, "zone")) "," NOTED("d", "", NOTE(TOPOLOGY, "")) "]");
    expect_note(sim, "s-a-0", TOPOLOGY, "pool");
    expect_note(sim, "s-b-0", TOPOLOGY, "rack");
    expect_note(sim, "s-c-0", TOPOLOGY, "zone");
    expect_note(sim, "s-d-0", TOPOLOGY, ""); /* this one asks for none */
    expect_note(sim, "s-a-0", BY_LABEL, NULL);
    expect_pod_part(sim, "s-a-0", "nodeSelector", "");
    expect_pod_part(sim, "s-a-0", "tolerations", "");
    sim_free(sim);
}

#define LABELED(job) "\"alpha.jobset.sigs.k8s.io/namespaced-job\":\"default_" job "\""
#define TOLERATED                                                                                  \
    "[{\"key\":\"alpha.jobset.sigs.k8s.io/no-schedule\",\"operator\":\"Exists\",\"effect\":"       \
    "\"NoSchedule\"}]"

/* Suspended and resumed it still has what its nodes are found by. */
static void test_nodes_by_label(void **state)
{
    (void)state;
    struct sim *sim =
        open_noted("'" BY_LABEL "':'','" TOPOLOGY "':'pool'", A_AND_3_B ",'suspend':true");
    expect_note(sim, "s-b-2", BY_LABEL, "");
    expect_pod_part(sim, "s-b-2", "nodeSelector", "{" LABELED("s-b-2") "}");
    expect_pod_part(sim, "s-b-2", "tolerations", TOLERATED);
    kit_patch_set(sim, "{'spec':{'suspend':false}}");
    const struct obj *job = stage_get(sim, &KIND_JOB, "default", "s-b-2");
    assert_false(yyjson_get_bool(json_at(job->root, "spec.suspend")));
    expect_pod_part(sim, "s-b-2", "nodeSelector", "{" LABELED("s-b-2") "}");
    expect_pod_part(sim, "s-b-2", "tolerations", TOLERATED);
    sim_free(sim);
}

static const struct controller *const SETS_AND_BINDER[] = {&CONTROLLER_JOBSET, &CONTROLLER_JOB,
                                                           &CONTROLLER_BINDER, NULL};

static void make_node(struct sim *sim, const char *name, const char *pool)
{
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'%s','labels':{'pool':'%s'}},'status':{'conditions':[{"
                   "'type':'Ready','status':'True','lastTransitionTime':'2026-01-01T00:00:00Z'}],"
                   "'allocatable':{'cpu':'8','memory':'8Gi','pods':'9'}}}",
                   name, pool);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_NODE, "", name, body));
}

/* As the design document has it: on the JobSet. */
static void test_each_job_has_a_pool_of_its_own(void **state)
{
    (void)state;
    static const char *const NODES[][2] = {{"a1", "a"}, {"a2", "a"}, {"b1", "b"}, {"b2", "b"}};
    struct sim *sim = kit_open(SETS_AND_BINDER);
    for (size_t i = 0; i < ARRAY_LEN(NODES); i++)
        make_node(sim, NODES[i][0], NODES[i][1]);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_JOBSET, "default", "s",
                              "{'metadata':{'name':'s'," NOTE(
                                  TOPOLOGY, "pool") "},'spec':{"
                                                    "'replicatedJobs':[" ROLE(
                                                        "w", ",'replicas':2",
                                                        "'completions':2,'parallelism':2,") "]}}"));
    stage_run(sim, 5 * SECOND);
    char pools[2] = {0};
    struct cache *cache = sim_store(sim)->cache;
    struct obj *pod = cache_first(cache, &KIND_POD, "default");
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, "default", pod)) {
        const char *node = json_str_at(pod->root, "spec.nodeName");
        assert_non_null(node);
        char *pool = &pools[*kit_label(pod, "job-index") - '0'];
        assert_true(*pool == '\0' || *pool == *node);
        *pool = *node;
    }
    assert_int_equal(pools[0] + pools[1], 'a' + 'b');
    sim_free(sim);
}

/* ---- a life ---- */

static void expect_metrics(struct sim *sim, int completed, int failed)
{
    scoped_str all = {0};
    scoped_free char *good = mem_printf("\njobset_completed_total %d\n", completed);
    scoped_free char *bad = mem_printf("\njobset_failed_total %d\n", failed);
    manager_metrics(sim_manager(sim), &all);
    assert_non_null(strstr(str_text(&all), good));
    assert_non_null(strstr(str_text(&all), bad));
}

static void test_runs_to_its_end(void **state)
{
    (void)state;
    struct sim *sim = open_set(A_AND_3_B);
    kit_job_active(sim, "s-a-0", 1, 0);
    kit_job_active(sim, "s-b-1", 1, 1);
    expect(sim, "a 0/0/0/1/0 b 1/0/0/1/0 0/0");
    kit_job_done(sim, "s-b-0");
    kit_job_done(sim, "s-b-1");
    kit_job_done(sim, "s-b-2");
    expect(sim, "a 0/0/0/1/0 b 0/3/0/0/0 0/0");
    kit_job_done(sim, "s-a-0");
    expect(sim, "a 0/1/0/0/0 b 0/3/0/0/0 0/0 Completed(AllJobsCompleted)");
    assert_string_equal(json_str_at(kit_set(sim)->root, "status.terminalState"), "Completed");
    assert_int_equal(kit_events(sim, "AllJobsCompleted"), 1);
    expect_jobs(sim, FOUR("0")); /* what has ended stays */
    kit_patch_set(sim, "{'metadata':{'labels':{'a':'b'}}}");
    expect_metrics(sim, 1, 0);
    sim_free(sim);
}

static void test_job_that_is_deleted_comes_back(void **state)
{
    (void)state;
    struct sim *sim = open_set(A_AND_3_B);
    stage_do(sim, stage_write(WRITE_DELETE, &KIND_JOB, "default", "s-b-1", NULL));
    stage_run(sim, SECOND);
    expect_jobs(sim, FOUR("0"));
    sim_free(sim);
}

static void test_58_jobs_of_others(void **state)
{
    (void)state;
    struct sim *sim = kit_open(SETS);
    stage_do(sim,
             stage_write(WRITE_CREATE, &KIND_JOB, "default", "s-a-0",
                         "{'metadata':{'name':'s-a-0','labels':{'" JOBSET_DOMAIN
                         "jobset-name':'s'},'ownerReferences':[{'apiVersion':'jobset.x-k8s.io/"
                         "v1alpha2','kind':'JobSet','name':'s','uid':'other','controller':true}"
                         "]},'spec':{" NEVER_POD "}}"));
    kit_create(sim, "s", A_AND_3_B);
    kit_job_failed(sim, "s-a-0", "BackoffLimitExceeded", "m");
    expect(sim, "a 0/0/0/0/0 b 0/0/0/0/0 0/0");
    assert_true(kit_events(sim, "JobCreationFailed") > 0);
    stage_do(sim, stage_write(WRITE_DELETE, &KIND_JOB, "default", "s-a-0", NULL));
    stage_run(sim, 15 * SECOND);
    expect_jobs(sim, FOUR("0"));
    sim_free(sim);
}

/* ---- failure ---- */

static void test_40_53_55_56_restart_and_fail(void **state)
{
    (void)state;
    struct sim *sim = open_set(A_AND_3_B FAILURE("'maxRestarts':1"));
    kit_job_done(sim, "s-b-1"); /* 56: also what has succeeded is made anew */
    kit_job_failed(sim, "s-b-0", "BackoffLimitExceeded", "m");
    expect(sim, "a 0/0/0/0/0 b 0/0/0/0/0 1/1 RestartingJobSet(DefaultFailurePolicy)");
    expect_jobs(sim, "s-a-0@0- s-b-0@0- s-b-1@0- s-b-2@0-");
    assert_string_equal(kit_condition(sim, "RestartingJobSet", "message"),
                        "applying RestartJobSet failure policy action (first failed job: s-b-0): "
                        "restart 1 of 1, all Jobs are made anew");
    kit_bury(sim, "s-a-0"); /* 53: each as soon as its own predecessor is gone */
    expect_jobs(sim, "s-a-0@1 s-b-0@0- s-b-1@0- s-b-2@0-");
    kit_bury(sim, NULL);
    expect_jobs(sim, FOUR("1"));
    assert_int_equal(kit_events(sim, "RestartJobSetFailurePolicyAction"), 1);
    kit_job_failed(sim, "s-b-2", "BackoffLimitExceeded", "m");
    expect(sim, "a 0/0/0/0/0 b 0/0/1/0/0 1/1 Failed(ReachedMaxRestarts)");
    assert_string_equal(kit_condition(sim, "Failed", "message"),
                        "jobset failed due to reaching max number of restarts (first failed job: "
                        "s-b-2)");
    assert_string_equal(kit_condition(sim, "RestartingJobSet", "reason"), "JobSetFailed");
    expect_jobs(sim, "s-a-0@1- s-b-0@1- s-b-1@1- s-b-2@1");
    assert_string_equal(json_str_at(kit_set(sim)->root, "status.terminalState"), "Failed");
    assert_int_equal(kit_events(sim, "ReachedMaxRestarts"), 1);
    sim_free(sim);
}

static void test_failure_without_a_policy(void **state)
{
    (void)state;
    struct sim *sim = open_set(A_AND_3_B);
    kit_job_failed(sim, "s-b-0", "BackoffLimitExceeded", "m");
    expect(sim, "a 0/0/0/0/0 b 0/0/1/0/0 0/0 Failed(FailedJobs)");
    expect_metrics(sim, 0, 1);
    sim_free(sim);
}

static void test_54_blocking_recreate(void **state)
{
    (void)state;
    struct sim *sim =
        open_set(A_AND_3_B FAILURE("'maxRestarts':1,'restartStrategy':'BlockingRecreate'"));
    kit_job_failed(sim, "s-b-0", "BackoffLimitExceeded", "m");
    kit_bury(sim, "s-a-0");
    kit_bury(sim, "s-b-0");
    kit_bury(sim, "s-b-1");
    expect_jobs(sim, "s-b-2@0-");
    kit_bury(sim, "s-b-2");
    expect_jobs(sim, FOUR("1"));
    sim_free(sim);
}

static void test_52_restarting_ends_when_all_are_ready(void **state)
{
    (void)state;
    struct sim *sim = open_set(A_AND_3_B RULES("{'name':'Rule1','action':'RestartJobSet'}"));
    kit_job_failed(sim, "s-b-0", "BackoffLimitExceeded", "m");
    expect(sim, "a 0/0/0/0/0 b 0/0/0/0/0 1/1 RestartingJobSet(FailurePolicy_Rule1)");
    kit_bury(sim, NULL);
    static const char *const JOBS[] = {"s-a-0", "s-b-0", "s-b-1", "s-b-2"};
    for (size_t i = 0; i < ARRAY_LEN(JOBS); i++) {
        assert_string_equal(kit_condition(sim, "RestartingJobSet", "status"), "True");
        kit_job_active(sim, JOBS[i], 1, 1);
    }
    expect(sim, "a 1/0/0/1/0 b 3/0/0/3/0 1/1");
    assert_string_equal(kit_condition(sim, "RestartingJobSet", "reason"), "JobsReady");
    assert_int_equal(kit_events(sim, "Restarted"), 1);
    sim_free(sim);
}

#define NOT_RULED "a 0/0/0/0/0 b 0/0/0/0/0 1/1 RestartingJobSet(DefaultFailurePolicy)"
#define RULED "a 0/0/0/0/0 b 0/0/0/0/0 1/1 RestartingJobSet(FailurePolicy_failurePolicyRule0)"
#define ENDED "a 0/0/0/0/0 b 0/0/1/0/0 0/0 Failed(FailJobSetFailurePolicyAction)"
#define REASON ",'onJobFailureReasons':['PodFailurePolicy']"

// clang-format off
static const struct rule_row {
    const char *label, *rules, *message, *want;
} RULE_ROWS[] = {
    {"41 whatever the reason", "{'action':'FailJobSet'}", "m", ENDED},
    {"42 another reason", "{'action':'FailJobSet','onJobFailureReasons':['DeadlineExceeded']}", "m",
     NOT_RULED},
    {"42 that reason", "{'action':'FailJobSet'" REASON "}", "m", ENDED},
    {"42 one of several reasons",
     "{'action':'FailJobSet','onJobFailureReasons':['DeadlineExceeded','PodFailurePolicy']}", "m",
     ENDED},
    {"43 the words of the pattern apart, with that reason",
     "{'action':'FailJobSet'" REASON ",'onJobFailureMessagePatterns':['some message']}",
     "some other message", NOT_RULED},
    {"43 the words of the pattern apart",
     "{'action':'FailJobSet','onJobFailureMessagePatterns':['some message']}", "some other message",
     NOT_RULED},
    {"44 one of the patterns within the message, with that reason",
     "{'action':'FailJobSet'" REASON ",'onJobFailureMessagePatterns':['x','some m.ssage']}",
     "there is some message here", ENDED},
    {"44 the pattern within the message, with another reason",
     "{'action':'FailJobSet','onJobFailureReasons':['DeadlineExceeded'],"
     "'onJobFailureMessagePatterns':['some message']}", "there is some message here", NOT_RULED},
    {"45 a restart that does not count", "{'action':'RestartJobSetAndIgnoreMaxRestarts'}", "m",
     "a 0/0/0/0/0 b 0/0/0/0/0 1/0 RestartingJobSet(FailurePolicy_failurePolicyRule0)"},
    {"46 a rule for others, then one for all",
     "{'action':'RestartJobSet','targetReplicatedJobs':['a']},{'action':'FailJobSet'}", "m", ENDED},
    {"47 two that fit, fail first", "{'action':'FailJobSet'},{'action':'RestartJobSet'}", "m", ENDED},
    {"47 two that fit, restart first", "{'action':'RestartJobSet'},{'action':'FailJobSet'}", "m",
     RULED},
    {"48 another replicated job", "{'action':'FailJobSet','targetReplicatedJobs':['a']}", "m",
     NOT_RULED},
    {"48 one of several replicated jobs",
     "{'action':'FailJobSet','targetReplicatedJobs':['a','b']}", "m", ENDED},
    {"48 that replicated job, then all",
     "{'action':'RestartJobSet','targetReplicatedJobs':['b']},{'action':'FailJobSet'}", "m", RULED},
};
// clang-format on

static void test_41_to_48_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(RULE_ROWS); i++) {
        const struct rule_row *row = &RULE_ROWS[i];
        scoped_str is = {0};
        scoped_free char *spec =
            mem_printf(A_AND_3_B ",'failurePolicy':{'maxRestarts':1,'rules':[%s]}", row->rules);
        struct sim *sim = open_set(spec);
        kit_job_failed(sim, "s-b-1", "PodFailurePolicy", row->message);
        kit_describe(sim, &is);
        if (!str_eq(str_text(&is), row->want))
            fail_msg("%s: \"%s\" instead of \"%s\"", row->label, str_text(&is), row->want);
        sim_free(sim);
    }
}

static void test_45_46_ignored_restarts_and_a_last_rule(void **state)
{
    (void)state;
    struct sim *sim = open_set(
        A_AND_3_B FAILURE("'maxRestarts':0,'rules':[{'action':'RestartJobSetAndIgnoreMaxRestarts',"
                          "'targetReplicatedJobs':['b']},{'action':'FailJobSet'}]"));
    for (int i = 0; i < 3; i++) {
        kit_job_failed(sim, "s-b-0", "BackoffLimitExceeded", "m");
        kit_bury(sim, NULL);
    }
    expect_jobs(sim, FOUR("3"));
    kit_job_failed(sim, "s-a-0", "BackoffLimitExceeded", "m");
    expect(sim, "a 0/0/1/0/0 b 0/0/0/0/0 3/0 Failed(FailJobSetFailurePolicyAction)");
    sim_free(sim);
}

static void restarts_of(struct sim *sim, size_t role, struct str *out)
{
    yyjson_val *list = json_at(kit_set(sim)->root, "status.replicatedJobsStatus");
    yyjson_val *item = yyjson_arr_get(list, role);
    json_write_val(yyjson_obj_get(item, "jobRestarts"), out);
    str_addc(out, ' ');
    yyjson_val *counted = yyjson_obj_get(item, "jobRestartsCountTowardsMax");
    if (counted != NULL)
        json_write_val(counted, out);
}

static void test_49_50_51_restart_of_one_job(void **state)
{
    (void)state;
    struct sim *sim = open_set(A_AND_3_B RULES(
        "{'action':'RestartJobAndIgnoreMaxRestarts','onJobFailureReasons':['PodFailurePolicy']},"
        "{'action':'RestartJob'}"));
    kit_job_failed(sim, "s-b-1", "PodFailurePolicy", "m"); /* 50 */
    expect_jobs(sim, "s-a-0@0 s-b-0@0 s-b-1@0- s-b-2@0");
    scoped_str is = {0};
    restarts_of(sim, 1, &is);
    assert_string_equal(str_text(&is), "[0,1,0] ");
    expect(sim, "a 0/0/0/0/0 b 0/0/0/0/0 0/0 RestartingJobSet(FailurePolicy_failurePolicyRule0)");
    kit_bury(sim, NULL);
    expect_jobs(sim, FOUR("0"));
    const struct obj *job = stage_get(sim, &KIND_JOB, "default", "s-b-1");
    assert_string_equal(kit_label(job, "job-restart-attempt"), "1");
    kit_job_failed(sim, "s-b-1", "BackoffLimitExceeded", "m"); /* 49 */
    str_clear(&is);
    restarts_of(sim, 1, &is);
    assert_string_equal(str_text(&is), "[0,2,0] [0,1,0]");
    kit_bury(sim, NULL);
    kit_job_failed(sim, "s-a-0", "BackoffLimitExceeded", "m"); /* 51: one budget for all */
    expect(sim, "a 0/0/1/0/0 b 0/0/0/0/0 0/0 Failed(ReachedMaxRestarts)");
    sim_free(sim);
}

static void test_55_the_first_to_fail_is_named(void **state)
{
    (void)state;
    struct sim *sim = kit_open(SETS);
    kit_create(sim, "s",
               A_AND_3_B
               ",'suspend':true,'managedBy':'jobset.sigs.k8s.io/jobset-controller'" FAILURE(
                   "'rules':[{'action':'FailJobSet'}]"));
    static const char *const TIMES[][2] = {{"s-b-0", "2026-01-01T00:00:09Z"},
                                           {"s-b-2", "2026-01-01T00:00:05Z"}};
    for (size_t i = 0; i < 2; i++) {
        scoped_free char *body =
            mem_printf("{'status':{'conditions':[{'type':'Failed','status':'True','reason':'x',"
                       "'lastTransitionTime':'%s'}]}}",
                       TIMES[i][1]);
        struct write *write = stage_write(WRITE_PATCH, &KIND_JOB, "default", TIMES[i][0], body);
        write->sub = SUB_STATUS;
        sim_submit(sim, write); /* both before the controller has a look */
    }
    stage_run(sim, SECOND);
    assert_non_null(strstr(kit_condition(sim, "Failed", "message"), "first failed job: s-b-2"));
    sim_free(sim);
}

/* ---- order ---- */

static void test_59_60_61_in_order(void **state)
{
    (void)state;
    struct sim *sim = open_set(
        A_AND_3_B ",'startupPolicy':{'startupPolicyOrder':'InOrder'}" FAILURE("'maxRestarts':1"));
    expect_jobs(sim, "s-a-0@0");
    expect(sim, "a 0/0/0/0/0 b 0/0/0/0/0 0/0 "
                "StartupPolicyInProgress(InOrderStartupPolicyInProgress)");
    kit_job_active(sim, "s-a-0", 1, 1);
    expect_jobs(sim, FOUR("0"));
    kit_job_active(sim, "s-b-0", 1, 1);
    kit_job_active(sim, "s-b-1", 1, 1);
    kit_job_done(sim, "s-b-2");
    expect(sim, "a 1/0/0/1/0 b 2/1/0/2/0 0/0 "
                "StartupPolicyCompleted(InOrderStartupPolicyCompleted)");
    kit_job_active(sim, "s-a-0", 1, 0); /* and stays so */
    expect(sim, "a 0/0/0/1/0 b 2/1/0/2/0 0/0 "
                "StartupPolicyCompleted(InOrderStartupPolicyCompleted)");
    kit_job_failed(sim, "s-b-0", "BackoffLimitExceeded", "m"); /* 61: all over again */
    kit_bury(sim, NULL);
    expect_jobs(sim, "s-a-0@1");
    expect(sim, "a 0/0/0/0/0 b 0/0/0/0/0 1/1 "
                "StartupPolicyInProgress(InOrderStartupPolicyInProgress) "
                "RestartingJobSet(DefaultFailurePolicy)");
    kit_job_active(sim, "s-a-0", 1, 1);
    expect_jobs(sim, FOUR("1"));
    sim_free(sim);
}

static void test_65_66_depends_on(void **state)
{
    (void)state;
    struct sim *sim =
        open_set("'replicatedJobs':[" ROLE("a", "", "") "," ROLE("b", ",'replicas':2", "") "," ROLE(
            "c", ",'dependsOn':[{'name':'a','status':'Complete'},{'name':'b','status':'Ready'}]",
            "") "]");
    expect_jobs(sim, "s-a-0@0 s-b-0@0 s-b-1@0");
    kit_job_active(sim, "s-b-0", 1, 1);
    kit_job_active(sim, "s-b-1", 1, 1);
    kit_job_active(sim, "s-a-0", 1, 1);
    expect_jobs(sim, "s-a-0@0 s-b-0@0 s-b-1@0");
    kit_job_active(sim, "s-b-1", 1, 0);
    kit_job_done(sim, "s-a-0");
    expect_jobs(sim, "s-a-0@0 s-b-0@0 s-b-1@0");
    kit_job_active(sim, "s-b-1", 1, 1);
    expect_jobs(sim, "s-a-0@0 s-b-0@0 s-b-1@0 s-c-0@0");
    sim_free(sim);
}

/* A Job that has failed never meets the question in a look: the failure policy comes before it. So
 * the Jobs are put into the controller's state by hand. */
static void put_jobs(struct sim *sim, const char *const status[4])
{
    for (int i = 0; i < 4; i++) {
        scoped_free char *name = mem_printf("s-a-%d", i);
        scoped_free char *body = mem_printf(
            "{'metadata':{'name':'%s','labels':{'" JOBSET_REPLICATED_JOB "':'a','" JOBSET_JOB_INDEX
            "':'%d'},'ownerReferences':[{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet',"
            "'name':'s','uid':'%s','controller':true}]},'spec':{" NEVER_POD "}}",
            name, i, kit_set(sim)->meta.uid);
        stage_do(sim, stage_write(WRITE_CREATE, &KIND_JOB, "default", name, body));
        kit_job_status(sim, name, status[i]);
    }
}

static bool may_b_start(struct sim *sim)
{
    struct sets *sets = sets_new();
    struct obj *set = kit_set(sim);
    struct set_look look = {.sets = sets,
                            .state = sets_put(sets, sim_store(sim)->cache, set),
                            .set = set,
                            .spec = yyjson_obj_get(set->root, "spec")};
    bool may = look_may_start(&look, 1);
    sets_free(sets);
    return may;
}

static void test_62_started_with_one_that_failed(void **state)
{
#define READY "'active':1,'ready':1"
#define ACTIVE "'active':1,'ready':0"
#define OVER(type) "'conditions':[{'type':'" type "','status':'True'}]"
    static const struct {
        const char *status[4];
        bool may;
    } ROWS[] = {
        {{READY, READY, OVER("Complete"), OVER("Failed")}, true},
        {{ACTIVE, ACTIVE, ACTIVE, ACTIVE}, false},
        {{READY, ACTIVE, OVER("Complete"), OVER("Failed")}, false},
        {{OVER("Failed"), OVER("Failed"), OVER("Failed"), OVER("Failed")}, true},
    };
    static const char *const ORDERS[] = {
        ROLE("b", "", "") "],'startupPolicy':{'startupPolicyOrder':'InOrder'}",
        ROLE("b", ",'dependsOn':[{'name':'a','status':'Ready'}]", "") "]",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS) * ARRAY_LEN(ORDERS); i++) {
        const char *order = ORDERS[i % ARRAY_LEN(ORDERS)];
        struct sim *sim = kit_open(NOBODY);
        scoped_free char *spec =
            mem_printf("'replicatedJobs':[" ROLE("a", ",'replicas':4", "") ",%s", order);
        kit_create(sim, "s", spec);
        put_jobs(sim, ROWS[i / ARRAY_LEN(ORDERS)].status);
        if (may_b_start(sim) != ROWS[i / ARRAY_LEN(ORDERS)].may)
            fail_msg("row %zu", i);
        sim_free(sim);
    }
}

static void test_67_when_jobs_are_ready(void **state)
{
    (void)state;
    static const struct {
        const char *size, *status;
        int ready;
    } ROWS[] = {
        {"'parallelism':1,'completions':2,", "'active':1,'ready':1,'succeeded':1", 1},
        {"'completionMode':'NonIndexed','parallelism':5,", "'active':2,'ready':2,'succeeded':3", 1},
        {"'parallelism':3,'completions':2,", "'active':1,'ready':1,'succeeded':1", 1},
        {"'parallelism':2,'completions':3,", "'active':2,'ready':2,'succeeded':1", 1},
        {"'parallelism':4,'completions':5,", "'active':2,'ready':2,'succeeded':1", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *spec = mem_printf(
            "'replicatedJobs':[{'name':'a','template':{'spec':{%s" POD_SPEC "}}}]", ROWS[i].size);
        struct sim *sim = open_set(spec);
        kit_job_status(sim, "s-a-0", ROWS[i].status);
        scoped_free char *want = mem_printf("a %d/0/0/1/0 0/0", ROWS[i].ready);
        kit_expect(sim, want, (int)i);
        sim_free(sim);
    }
}

/* ---- success ---- */

static void test_64_success_policies(void **state)
{
    (void)state;
    struct sim *sim =
        open_set(A_AND_3_B ",'successPolicy':{'operator':'All','targetReplicatedJobs':['b']}");
    kit_job_done(sim, "s-a-0");
    kit_job_done(sim, "s-b-0");
    kit_job_done(sim, "s-b-1");
    expect(sim, "a 0/1/0/0/0 b 0/2/0/0/0 0/0");
    kit_job_done(sim, "s-b-2");
    expect(sim, "a 0/1/0/0/0 b 0/3/0/0/0 0/0 Completed(AllJobsCompleted)");
    sim_free(sim);
    sim = open_set(A_AND_3_B ",'successPolicy':{'operator':'Any','targetReplicatedJobs':['b']}");
    kit_job_done(sim, "s-a-0");
    expect(sim, "a 0/1/0/0/0 b 0/0/0/0/0 0/0");
    kit_job_active(sim, "s-b-0", 1, 1);
    kit_job_done(sim, "s-b-1");
    expect(sim, "a 0/1/0/0/0 b 0/1/0/0/0 0/0 Completed(AllJobsCompleted)");
    expect_jobs(sim, "s-a-0@0 s-b-0@0- s-b-1@0 s-b-2@0-"); /* what is left is removed */
    sim_free(sim);
}

/* ---- the rest of a life ---- */

static bool is_suspended(struct sim *sim, const char *job)
{
    const struct obj *obj = stage_get(sim, &KIND_JOB, "default", job);
    return yyjson_get_bool(json_at(obj->root, "spec.suspend"));
}

static void test_63_77_suspend_and_resume(void **state)
{
    (void)state;
    struct sim *sim = open_set(A_AND_3_B ",'suspend':true");
    expect(sim, "a 0/0/0/0/1 b 0/0/0/0/3 0/0 Suspended(SuspendedJobs)");
    assert_true(is_suspended(sim, "s-a-0"));
    stage_do(sim,
             stage_write(
                 WRITE_PATCH, &KIND_JOBSET, "default", "s",
                 "{'spec':{'replicatedJobs':[" ROLE(
                     "a", "",
                     "") ",{'name':'b',"
                         "'replicas':3,'groupName':'default','template':{'spec':{"
                         "'completionMode':'Indexed','template':{'metadata':{'labels':{'x':'y'}},"
                         "'spec':{'restartPolicy':'OnFailure','nodeSelector':{'zone':'1'},"
                         "'containers':[{'name':'c','image':'i'}]}}}}}]}}"));
    kit_patch_set(sim, "{'spec':{'suspend':false}}");
    expect(sim, "a 0/0/0/0/0 b 0/0/0/0/0 0/0");
    assert_string_equal(kit_condition(sim, "Suspended", "reason"), "ResumeJobs");
    const struct obj *job = stage_get(sim, &KIND_JOB, "default", "s-b-2");
    assert_false(is_suspended(sim, "s-b-2"));
    assert_string_equal(json_str_at(job->root, "spec.template.spec.nodeSelector.zone"), "1");
    assert_string_equal(json_str_at(job->root, "spec.template.metadata.labels.x"), "y");
    kit_patch_set(sim, "{'spec':{'suspend':true}}");
    expect(sim, "a 0/0/0/0/1 b 0/0/0/0/3 0/0 Suspended(SuspendedJobs)");
    assert_int_equal(kit_events(sim, "SuspendedJobs"), 2);
    assert_int_equal(kit_events(sim, "ResumeJobs"), 1);
    sim_free(sim);
}

/* Suspended, they are all there, whatever the order; they go on in it. */
static void test_63_suspended_in_order(void **state)
{
    (void)state;
    struct sim *sim =
        open_set(A_AND_3_B ",'suspend':true,'startupPolicy':{'startupPolicyOrder':'InOrder'}");
    expect(sim, "a 0/0/0/0/1 b 0/0/0/0/3 0/0 Suspended(SuspendedJobs)");
    kit_patch_set(sim, "{'spec':{'suspend':false}}");
    expect(sim, "a 0/0/0/0/0 b 0/0/0/0/3 0/0 "
                "StartupPolicyInProgress(InOrderStartupPolicyInProgress)");
    kit_job_active(sim, "s-a-0", 1, 1);
    expect(sim, "a 1/0/0/1/0 b 0/0/0/0/0 0/0 "
                "StartupPolicyInProgress(InOrderStartupPolicyInProgress)");
    sim_free(sim);
}

/* Anybody who may write a status may write a condition that has nothing but its type. */
static void test_ended_by_somebody_without_a_reason(void **state)
{
    (void)state;
    struct sim *sim = open_set(A_AND_3_B);
    struct write *write =
        stage_write(WRITE_PATCH, &KIND_JOBSET, "default", "s",
                    "{'status':{'conditions':[{'type':'Failed','status':'True'}]}}");
    write->sub = SUB_STATUS;
    stage_do(sim, write);
    stage_run(sim, SECOND);
    assert_int_equal(kit_events(sim, "Failed"), 1);
    sim_free(sim);
}

static void test_68_69_time_to_live(void **state)
{
    (void)state;
    struct sim *sim = kit_open(SETS);
    kit_create(sim, "s",
               A_AND_3_B ",'ttlSecondsAfterFinished':5,'successPolicy':{'operator':'Any'}");
    stage_run(sim, 20 * SECOND); /* not while it runs */
    kit_job_done(sim, "s-a-0");
    stage_run(sim, 2 * SECOND);
    assert_int_equal(kit_set(sim)->meta.deleted, 0);
    stage_run(sim, 4 * SECOND);
    assert_true(kit_set(sim)->meta.deleted != 0);
    sim_free(sim);
}

static void test_80_managed_by_another(void **state)
{
    (void)state;
    struct sim *sim = open_set(A_AND_3_B ",'managedBy':'example.com/other'");
    expect_jobs(sim, "");
    sim_free(sim);
}

static void test_81_nothing_to_do(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicatedJobs':[]");
    expect(sim, "0/0");
    sim_free(sim);
}

static void test_restart_on_demand(void **state)
{
    (void)state;
    struct sim *sim = open_set(A_AND_3_B);
#define REQUEST(v) "{'metadata':{'annotations':{'" RESTART_REQUEST_NOTE "':'" v "'}}}"
    kit_patch_set(sim, REQUEST("one"));
    expect(sim, "a 0/0/0/0/0 b 0/0/0/0/0 1/0 RestartingJobSet(RestartRequested) "
                "RestartRequested(Restarted)");
    kit_bury(sim, NULL);
    expect_jobs(sim, FOUR("1"));
    sim_restart_manager(sim);
    stage_run(sim, SECOND);
    kit_patch_set(sim, REQUEST("one"));
    expect_jobs(sim, FOUR("1"));
    kit_patch_set(sim, REQUEST("two"));
    kit_bury(sim, NULL);
    expect_jobs(sim, FOUR("2"));
    assert_string_equal(kit_condition(sim, "RestartRequested", "message"), "two");
    sim_free(sim);
}

/* ---- with everybody ---- */

static void test_all_controllers_and_a_deletion(void **state)
{
    (void)state;
    struct sim *sim = kit_open(SETS_AND_ALL);
    kit_create(sim, "s", A_AND_3_B FAILURE("'maxRestarts':2"));
    stage_run(sim, 5 * SECOND);
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_POD), 4);
    expect(sim, "a 0/0/0/1/0 b 0/0/0/3/0 0/0");
    const struct obj *pod = cache_first(sim_store(sim)->cache, &KIND_POD, "default");
    assert_string_equal(kit_label(pod, "jobset-uid"), kit_set(sim)->meta.uid);
    stage_do(sim, stage_write(WRITE_DELETE, &KIND_JOBSET, "default", "s", NULL));
    stage_run(sim, 10 * SECOND);
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_JOBSET), 0);
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_JOB), 0);
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_POD), 0);
    sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_and_labels),
        cmocka_unit_test(test_priority_and_domain_of_pods),
        cmocka_unit_test(test_groups_and_coordinator),
        cmocka_unit_test(test_the_nearest_topology_counts),
        cmocka_unit_test(test_nodes_by_label),
        cmocka_unit_test(test_each_job_has_a_pool_of_its_own),
        cmocka_unit_test(test_runs_to_its_end),
        cmocka_unit_test(test_job_that_is_deleted_comes_back),
        cmocka_unit_test(test_58_jobs_of_others),
        cmocka_unit_test(test_40_53_55_56_restart_and_fail),
        cmocka_unit_test(test_failure_without_a_policy),
        cmocka_unit_test(test_54_blocking_recreate),
        cmocka_unit_test(test_52_restarting_ends_when_all_are_ready),
        cmocka_unit_test(test_41_to_48_rules),
        cmocka_unit_test(test_45_46_ignored_restarts_and_a_last_rule),
        cmocka_unit_test(test_49_50_51_restart_of_one_job),
        cmocka_unit_test(test_55_the_first_to_fail_is_named),
        cmocka_unit_test(test_59_60_61_in_order),
        cmocka_unit_test(test_65_66_depends_on),
        cmocka_unit_test(test_62_started_with_one_that_failed),
        cmocka_unit_test(test_67_when_jobs_are_ready),
        cmocka_unit_test(test_64_success_policies),
        cmocka_unit_test(test_63_77_suspend_and_resume),
        cmocka_unit_test(test_63_suspended_in_order),
        cmocka_unit_test(test_ended_by_somebody_without_a_reason),
        cmocka_unit_test(test_68_69_time_to_live),
        cmocka_unit_test(test_80_managed_by_another),
        cmocka_unit_test(test_81_nothing_to_do),
        cmocka_unit_test(test_restart_on_demand),
        cmocka_unit_test(test_all_controllers_and_a_deletion),
    };
    return cmocka_run_group_tests_name("jobset", tests, NULL, NULL);
}
