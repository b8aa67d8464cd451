// SPDX-License-Identifier: Apache-2.0
/* Admission checks of real objects; the test plays who answers for them. A Workload is told in one
 * line: what its conditions say, then each check as name=state. */
#include "base/mem.h"
#include "model/cell.h"
#include "stage.h"

static const struct controller *const ALL[] = {&CONTROLLER_JOB, &CONTROLLER_GARBAGE,
                                               &CONTROLLER_ADMISSION, NULL};
#define SECOND 1000

static void make_check(struct sim *sim, const char *name)
{
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'%s'},'spec':{'controllerName':'example.dev/x'}}", name);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_ADMISSIONCHECK, "", name, body));
    stage_run(sim, SECOND);
}

static struct sim *open_with(const char *checks)
{
    struct sim *sim = stage_open(1, ALL, NULL);
    scoped_free char *queue = mem_printf(
        "{'metadata':{'name':'q'},'spec':{'namespaceSelector':{},'admissionChecksStrategy':{"
        "'admissionChecks':[%s]},'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{'name':"
        "'f','resources':[{'name':'cpu','nominalQuota':'1'}]}]}]}}",
        checks);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_RESOURCEFLAVOR, "", "f",
                              "{'metadata':{'name':'f'},'spec':{}}"));
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_CLUSTERQUEUE, "", "q", queue));
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_LOCALQUEUE, "default", "lq",
                              "{'metadata':{'name':'lq'},'spec':{'clusterQueue':'q'}}"));
    stage_do(sim,
             stage_write(WRITE_CREATE, &KIND_JOB, "default", "j",
                         "{'metadata':{'name':'j','labels':{'kueue.x-k8s.io/queue-name':'lq'}},"
                         "'spec':{'template':{'spec':{'restartPolicy':'Never','containers':[{"
                         "'name':'c','image':'i','resources':{'requests':{'cpu':'1'}}}]}}}}"));
    stage_run(sim, SECOND);
    return sim;
}

static void answer(struct sim *sim, const char *check, const char *state, const char *more)
{
    scoped_str now = {0};
    rfc3339_format(sim_now(sim), &now);
    scoped_free char *body =
        mem_printf("{'status':{'admissionChecks':[{'name':'%s','state':'%s','message':'',"
                   "'lastTransitionTime':'%s'%s}]}}",
                   check, state, str_text(&now), more);
    struct write *write = stage_write(WRITE_PATCH, &KIND_WORKLOAD, "default", "job-j", body);
    write->patch_type = PATCH_STRATEGIC;
    write->sub = SUB_STATUS;
    stage_do(sim, write);
    stage_run(sim, SECOND);
}

#define expect(sim, want) expect_at(sim, want, __LINE__)
static void expect_at(struct sim *sim, const char *want, int line)
{
    static const char *const TYPES[] = {"QuotaReserved", "Admitted", "Evicted"};
    const struct obj *workload = stage_get(sim, &KIND_WORKLOAD, "default", "job-j");
    const struct obj *job = stage_get(sim, &KIND_JOB, "default", "j");
    scoped_str is = {0};
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++) {
        yyjson_val *item = cell_condition(workload->root, TYPES[i]);
        if (str_eq(json_str_at(item, "status"), "True"))
            str_addf(&is, "%s/%s ", TYPES[i], json_str_at(item, "reason"));
    }
    size_t i, n;
    yyjson_val *check;
    yyjson_arr_foreach(json_at(workload->root, "status.admissionChecks"), i, n, check)
    {
        str_addf(&is, "%s=%s ", json_str_at(check, "name"), json_str_at(check, "state"));
    }
    str_add(&is, yyjson_get_bool(json_at(job->root, "spec.suspend")) ? "suspended" : "runs");
    if (!str_eq(str_text(&is), want))
        fail_msg("line %d: '%s' instead of '%s'", line, str_text(&is), want);
}

static void expect_active(struct sim *sim, const char *reason)
{
    const struct obj *queue = stage_get(sim, &KIND_CLUSTERQUEUE, "", "q");
    assert_string_equal(json_str_at(cell_condition(queue->root, "Active"), "reason"), reason);
}

static void patch_queue(struct sim *sim, const char *checks)
{
    scoped_free char *body =
        mem_printf("{'spec':{'admissionChecksStrategy':{'admissionChecks':[%s]}}}", checks);
    struct write *write = stage_write(WRITE_PATCH, &KIND_CLUSTERQUEUE, "", "q", body);
    write->patch_type = PATCH_MERGE;
    stage_do(sim, write);
    stage_run(sim, SECOND);
}

static void test_starts_when_all_are_ready(void **state)
{
    (void)state;
    struct sim *sim = open_with("{'name':'a'},{'name':'b'}");
    expect_active(sim, "AdmissionCheckNotFound");
    make_check(sim, "a");
    expect(sim, "suspended");
    make_check(sim, "b");
    expect_active(sim, "Ready");
    expect(sim, "QuotaReserved/QuotaReserved a=Pending b=Pending suspended");
    assert_int_equal(stage_events(sim, "QuotaReserved"), 1);
    assert_int_equal(stage_events(sim, "Admitted"), 0);
    answer(sim, "b", "Ready", "");
    expect(sim, "QuotaReserved/QuotaReserved a=Pending b=Ready suspended");
    answer(sim, "a", "Ready", "");
    expect(sim, "QuotaReserved/QuotaReserved Admitted/Admitted a=Ready b=Ready runs");
    assert_int_equal(stage_events(sim, "Admitted"), 1);
    sim_free(sim);
}

static void test_52_retry_pauses(void **state)
{
    (void)state;
    struct sim *sim = open_with("{'name':'a'}");
    make_check(sim, "a");
    answer(sim, "a", "Ready", "");
    expect(sim, "QuotaReserved/QuotaReserved Admitted/Admitted a=Ready runs");
    time_ms asked = sim_now(sim) / SECOND * SECOND;
    answer(sim, "a", "Retry", ",'requeueAfterSeconds':30");
    expect(sim, "Evicted/AdmissionCheck a=Pending suspended");
    const struct obj *workload = stage_get(sim, &KIND_WORKLOAD, "default", "job-j");
    yyjson_val *check = yyjson_arr_get_first(json_at(workload->root, "status.admissionChecks"));
    assert_int_equal(json_int_at(check, "retryCount", 0), 1);
    assert_string_equal(json_str_at(check, "message"),
                        "Reset to Pending after eviction. Previously: Retry");
    assert_int_equal(cell_time(json_at(workload->root, "status.requeueState"), "requeueAt"),
                     asked + 30 * SECOND);
    assert_int_equal(json_int_at(workload->root, "status.requeueState.count", 0), 0);
    stage_run(sim, 30 * SECOND);
    expect(sim, "QuotaReserved/QuotaReserved a=Pending suspended");
    sim_free(sim);
}

static void test_rejected_then_switched_on(void **state)
{
    (void)state;
    struct sim *sim = open_with("{'name':'a'}");
    make_check(sim, "a");
    answer(sim, "a", "Rejected", "");
    expect(sim, "Evicted/DeactivatedDueToAdmissionCheck a=Pending suspended");
    const struct obj *workload = stage_get(sim, &KIND_WORKLOAD, "default", "job-j");
    assert_true(yyjson_is_false(json_at(workload->root, "spec.active")));
    struct write *write =
        stage_write(WRITE_PATCH, &KIND_WORKLOAD, "default", "job-j", "{'spec':{'active':true}}");
    write->patch_type = PATCH_MERGE;
    stage_do(sim, write);
    stage_run(sim, SECOND);
    expect(sim, "QuotaReserved/QuotaReserved a=Pending suspended");
    sim_free(sim);
}

/* Who answers finds his item also when the queue asks for it later; who is in stays in. */
static void test_queue_asks_for_others(void **state)
{
    (void)state;
    struct sim *sim = open_with("{'name':'a'}");
    make_check(sim, "a");
    make_check(sim, "b");
    patch_queue(sim, "{'name':'a','onFlavors':['other']},{'name':'b'}");
    expect(sim, "QuotaReserved/QuotaReserved b=Pending suspended");
    patch_queue(sim, "{'name':'a','onFlavors':['other']}");
    expect(sim, "QuotaReserved/QuotaReserved Admitted/Admitted runs");
    patch_queue(sim, "{'name':'b'}");
    expect(sim, "QuotaReserved/QuotaReserved Admitted/Admitted b=Pending runs");
    sim_free(sim);
}

/* Who answers for a check may say that he cannot. */
static void test_inactive_check(void **state)
{
    (void)state;
    struct sim *sim = open_with("{'name':'a'}");
    make_check(sim, "a");
    struct write *write = stage_write(
        WRITE_PATCH, &KIND_ADMISSIONCHECK, "", "a",
        "{'status':{'conditions':[{'type':'Active','status':'False','reason':'Broken','message':'',"
        "'lastTransitionTime':'2026-01-01T00:00:00Z'}]}}");
    write->patch_type = PATCH_MERGE;
    write->sub = SUB_STATUS;
    stage_do(sim, write);
    stage_run(sim, SECOND);
    expect_active(sim, "AdmissionCheckInactive");
    sim_free(sim);
}

static void expect_template(struct sim *sim, const char *path, const char *want)
{
    const struct obj *job = stage_get(sim, &KIND_JOB, "default", "j");
    scoped_str is = {0};
    yyjson_val *template = json_at(job->root, "spec.template");
    yyjson_val *val = json_at(template, path);
    if (val != NULL)
        json_write_val(val, &is);
    assert_string_equal(str_text(&is), want);
}

/* The template goes before a check, an earlier check before a later one; all is taken away with
 * the quota. */
static void test_answers_add_to_pods(void **state)
{
    (void)state;
    struct sim *sim = open_with("{'name':'a'},{'name':'b'}");
    make_check(sim, "a");
    make_check(sim, "b");
    answer(sim, "a", "Ready",
           ",'podSetUpdates':[{'name':'main','annotations':{'x.dev/slice':'7','x.dev/who':'a'},"
           "'nodeSelector':{'zone':'z'},'tolerations':[{'key':'k','operator':'Exists'}]}]");
    expect_template(sim, "metadata.annotations", "");
    answer(sim, "b", "Ready",
           ",'podSetUpdates':[{'name':'main',"
           "'annotations':{'x.dev/who':'b'},'labels':{'by':'b','batch.kubernetes.io/job-name':'n'},"
           "'tolerations':[{'key':'k','operator':'Exists'}]}]");
    expect(sim, "QuotaReserved/QuotaReserved Admitted/Admitted a=Ready b=Ready runs");
    expect_template(sim, "metadata.annotations", "{\"x.dev/slice\":\"7\",\"x.dev/who\":\"a\"}");
    expect_template(sim, "metadata.labels.by", "\"b\"");
    expect_template(sim, "spec.nodeSelector", "{\"zone\":\"z\"}");
    expect_template(sim, "spec.tolerations", "[{\"key\":\"k\",\"operator\":\"Exists\"}]");
    const struct obj *job = stage_get(sim, &KIND_JOB, "default", "j");
    yyjson_val *labels = json_at(job->root, "spec.template.metadata.labels");
    assert_true(yyjson_equals_str(yyjson_obj_get(labels, "batch.kubernetes.io/job-name"), "j"));
    answer(sim, "a", "Retry", ",'requeueAfterSeconds':30");
    expect(sim, "Evicted/AdmissionCheck a=Pending b=Pending suspended");
    expect_template(sim, "metadata.annotations", "");
    expect_template(sim, "metadata.labels.by", "");
    expect_template(sim, "spec.nodeSelector", "");
    expect_template(sim, "spec.tolerations", "");
    sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts_when_all_are_ready),
        cmocka_unit_test(test_52_retry_pauses),
        cmocka_unit_test(test_rejected_then_switched_on),
        cmocka_unit_test(test_queue_asks_for_others),
        cmocka_unit_test(test_inactive_check),
        cmocka_unit_test(test_answers_add_to_pods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
