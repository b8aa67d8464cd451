// SPDX-License-Identifier: Apache-2.0
/* JobSets whose Jobs the test plays; numbers are those of the list of cases. */
#include "jobset_kit.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_and_labels),
        cmocka_unit_test(test_groups_and_coordinator),
        cmocka_unit_test(test_runs_to_its_end),
        cmocka_unit_test(test_job_that_is_deleted_comes_back),
        cmocka_unit_test(test_58_jobs_of_others),
    };
    (void)SETS_AND_ALL;
    return cmocka_run_group_tests_name("jobset", tests, NULL, NULL);
}
