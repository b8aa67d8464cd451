// SPDX-License-Identifier: Apache-2.0
/* Jobs without faults; the test plays the node: it says how pods end. A Job is told in one line,
 * "active/ready/terminating succeeded/failed", then completedIndexes and failedIndexes when there
 * are any, then the conditions that are true. */
#include "base/mem.h"
#include "control/job_internal.h"
#include "stage.h"

static const struct controller *const JOB[] = {&CONTROLLER_JOB, NULL};
static const struct controller *const JOB_AND_GARBAGE[] = {&CONTROLLER_JOB, &CONTROLLER_GARBAGE,
                                                           NULL};
#define SECOND 1000
#define MINUTE (60 * SECOND)
#define NEVER ",'restartPolicy':'Never'"
#define PLACED NEVER ",'nodeName':'n'"

static struct sim *open_job_as(const char *name, const char *spec, const char *pod_spec)
{
    struct sim *sim = stage_open(1, JOB, NULL);
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'%s'},'spec':{%s%s'template':{'metadata':{'labels':{'app':'x'}},"
        "'spec':{'containers':[{'name':'c','image':'i'}]%s}}}}",
        name, spec, *spec ? "," : "", pod_spec);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_JOB, "default", name, body));
    stage_run(sim, SECOND);
    return sim;
}

static struct sim *open_job(const char *spec)
{
    return open_job_as("j", spec, NEVER);
}

static struct obj *job_of(struct sim *sim)
{
    struct obj *job = cache_first(sim_store(sim)->cache, &KIND_JOB, "default");
    assert_non_null(job);
    return job;
}

static void describe(struct sim *sim, struct str *out)
{
    yyjson_val *status = yyjson_obj_get(job_of(sim)->root, "status");
    const char *completed = json_str_at(status, "completedIndexes");
    const char *failed = json_str_at(status, "failedIndexes");
    str_addf(out, "%d/%d/%d %d/%d", (int)json_int_at(status, "active", 0),
             (int)json_int_at(status, "ready", 0), (int)json_int_at(status, "terminating", 0),
             (int)json_int_at(status, "succeeded", 0), (int)json_int_at(status, "failed", 0));
    if (completed != NULL)
        str_addf(out, " done=%s", completed);
    if (failed != NULL && *failed)
        str_addf(out, " bad=%s", failed);
    size_t i, n;
    yyjson_val *condition;
    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), i, n, condition)
    {
        if (str_eq(json_str_at(condition, "status"), "True"))
            str_addf(out, " %s(%s)", json_str_at(condition, "type"),
                     json_str_at(condition, "reason"));
    }
}

#define expect(sim, text) expect_at(sim, text, __LINE__)
static void expect_at(struct sim *sim, const char *text, int line)
{
    scoped_str is = {0};
    describe(sim, &is);
    if (strcmp(str_text(&is), text) != 0)
        fail_msg("line %d: \"%s\" instead of \"%s\"", line, str_text(&is), text);
    yyjson_val *uncounted = json_at(job_of(sim)->root, "status.uncountedTerminatedPods");
    assert_int_equal(yyjson_obj_size(uncounted), 0);
}

static bool is_over(const struct obj *pod)
{
    const char *phase = json_str_at(pod->root, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

/* The first pod that runs; of an index, or (-1) any. */
static struct obj *running(struct sim *sim, int index)
{
    struct cache *cache = sim_store(sim)->cache;
    scoped_free char *text = mem_printf("%d", index);
    struct obj *pod = cache_first(cache, &KIND_POD, "default");
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, "default", pod)) {
        const char *is = yyjson_get_str(yyjson_obj_get(pod->meta.annotations, JOB_INDEX));
        if (!is_over(pod) && pod->meta.deleted == 0 && (index < 0 || str_eq(is, text)))
            return pod;
    }
    return NULL;
}

static size_t pods(struct sim *sim)
{
    return cache_count(sim_store(sim)->cache, &KIND_POD);
}

static void set_status(struct sim *sim, const struct obj *pod, const char *status)
{
    assert_non_null(pod);
    scoped_free char *body = mem_printf("{'status':{%s}}", status);
    struct write *write = stage_write(WRITE_PATCH, &KIND_POD, "default", pod->meta.name, body);
    write->sub = SUB_STATUS;
    stage_do(sim, write);
}

static void end_at(struct sim *sim, const struct obj *pod, int code, const char *more)
{
    scoped_str now = {0};
    rfc3339_format(sim_now(sim), &now);
    scoped_free char *status =
        mem_printf("'phase':'%s','containerStatuses':[{'name':'c','state':{'terminated':{"
                   "'exitCode':%d,'finishedAt':'%s'}}}]%s",
                   code ? "Failed" : "Succeeded", code, str_text(&now), more);
    set_status(sim, pod, status);
    stage_run(sim, SECOND);
}

static void succeed(struct sim *sim, int index)
{
    end_at(sim, running(sim, index), 0, "");
}

static void fail_with(struct sim *sim, int index, int code)
{
    end_at(sim, running(sim, index), code, "");
}

static void patch_job(struct sim *sim, const char *patch)
{
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_JOB, "default", job_of(sim)->meta.name, patch));
    stage_run(sim, SECOND);
}

static void delete_pod(struct sim *sim, const struct obj *pod, int64_t grace)
{
    assert_non_null(pod);
    struct write *write = stage_write(WRITE_DELETE, &KIND_POD, "default", pod->meta.name, NULL);
    write->grace_s = grace;
    stage_do(sim, write);
    stage_run(sim, SECOND);
}

/* What the node does when a pod that is being deleted has stopped. */
static void confirm_all(struct sim *sim)
{
    for (;;) {
        struct cache *cache = sim_store(sim)->cache;
        struct obj *pod = cache_first(cache, &KIND_POD, "default");
        while (pod != NULL && (pod->meta.deleted == 0 || pod->meta.deletion_grace_s == 0))
            pod = cache_after(cache, &KIND_POD, "default", pod);
        if (pod == NULL)
            return;
        delete_pod(sim, pod, 0);
    }
}

static bool is_tracked(const struct obj *pod)
{
    return obj_has_finalizer(pod, JOB_FINALIZER);
}

/* ---- running ---- */

static void test_one_pod(void **state)
{
    (void)state;
    struct sim *sim = open_job("");
    expect(sim, "1/0/0 0/0");
    const struct obj *pod = running(sim, -1);
    assert_true(is_tracked(pod));
    assert_true(str_starts(pod->meta.name, "j-"));
    assert_int_equal(strlen(pod->meta.name), strlen("j-") + 5);
    assert_string_equal(pod->meta.generate_name, "j-");
    const struct obj *job = job_of(sim);
    static const char *const LABELS[] = {"job-name", "batch.kubernetes.io/job-name"};
    for (size_t i = 0; i < ARRAY_LEN(LABELS); i++)
        assert_string_equal(yyjson_get_str(yyjson_obj_get(pod->meta.labels, LABELS[i])), "j");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(pod->meta.labels, "controller-uid")),
                        job->meta.uid);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(pod->meta.labels, "app")), "x");
    yyjson_val *ref = yyjson_arr_get_first(pod->meta.owners);
    assert_string_equal(json_str_at(ref, "uid"), job->meta.uid);
    assert_true(yyjson_get_bool(yyjson_obj_get(ref, "controller")));
    assert_true(yyjson_get_bool(yyjson_obj_get(ref, "blockOwnerDeletion")));
    assert_non_null(json_str_at(job->root, "status.startTime"));
    set_status(sim, pod, "'phase':'Running','conditions':[{'type':'Ready','status':'True'}]");
    expect(sim, "1/1/0 0/0");
    succeed(sim, -1);
    expect(sim, "0/0/0 1/0 SuccessCriteriaMet(CompletionsReached) Complete(CompletionsReached)");
    assert_non_null(json_str_at(job_of(sim)->root, "status.completionTime"));
    assert_int_equal(pods(sim), 1);
    assert_false(is_tracked(cache_first(sim_store(sim)->cache, &KIND_POD, NULL)));
    assert_int_equal(stage_events(sim, "SuccessfulCreate"), 1);
    assert_int_equal(stage_events(sim, "Completed"), 1);
    sim_free(sim);
}

static void test_parallelism(void **state)
{
    (void)state;
    struct sim *sim = open_job("'parallelism':3,'completions':5");
    expect(sim, "3/0/0 0/0");
    succeed(sim, -1);
    expect(sim, "3/0/0 1/0");
    succeed(sim, -1);
    succeed(sim, -1);
    expect(sim, "2/0/0 3/0");
    patch_job(sim, "{'spec':{'parallelism':1}}");
    expect(sim, "1/0/0 3/0"); /* the one too many has not failed */
    assert_int_equal(stage_events(sim, "SuccessfulDelete"), 1);
    patch_job(sim, "{'spec':{'parallelism':9}}");
    expect(sim, "2/0/0 3/0");
    succeed(sim, -1);
    succeed(sim, -1);
    expect(sim, "0/0/0 5/0 SuccessCriteriaMet(CompletionsReached) Complete(CompletionsReached)");
    sim_free(sim);
}

static void test_work_queue(void **state)
{
    (void)state;
    struct sim *sim = open_job("'parallelism':2");
    expect(sim, "2/0/0 0/0");
    succeed(sim, -1);
    expect(sim, "1/0/0 1/0"); /* no new one, the other goes on */
    succeed(sim, -1);
    expect(sim, "0/0/0 2/0 SuccessCriteriaMet(CompletionsReached) Complete(CompletionsReached)");
    sim_free(sim);
}

static void test_indexed(void **state)
{
    (void)state;
    struct sim *sim = open_job("'parallelism':2,'completions':4,'completionMode':'Indexed'");
    expect(sim, "2/0/0 0/0");
    const struct obj *pod = running(sim, 1);
    assert_true(str_starts(pod->meta.name, "j-1-"));
    assert_string_equal(json_str_at(pod->root, "spec.hostname"), "j-1");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(pod->meta.labels, JOB_INDEX)), "1");
    yyjson_val *container = yyjson_arr_get_first(json_at(pod->root, "spec.containers"));
    yyjson_val *env = yyjson_arr_get_first(yyjson_obj_get(container, "env"));
    assert_string_equal(json_str_at(env, "name"), "JOB_COMPLETION_INDEX");
    assert_string_equal(json_str_at(env, "valueFrom.fieldRef.fieldPath"),
                        "metadata.labels['batch.kubernetes.io/job-completion-index']");
    succeed(sim, 1);
    expect(sim, "2/0/0 1/0 done=1");
    succeed(sim, 2);
    assert_non_null(running(sim, 3));
    succeed(sim, 3);
    expect(sim, "1/0/0 3/0 done=1-3");
    fail_with(sim, 0, 1);
    assert_null(running(sim, 0)); /* after a pause */
    stage_run(sim, 11 * SECOND);
    succeed(sim, 0);
    expect(sim, "0/0/0 4/1 done=0-3 SuccessCriteriaMet(CompletionsReached) "
                "Complete(CompletionsReached)");
    sim_free(sim);
}

/* completions and parallelism together may change */
static void test_elastic(void **state)
{
    (void)state;
    struct sim *sim = open_job("'parallelism':3,'completions':3,'completionMode':'Indexed'");
    succeed(sim, 0);
    patch_job(sim, "{'spec':{'parallelism':5,'completions':5}}");
    expect(sim, "4/0/0 1/0 done=0");
    assert_non_null(running(sim, 4));
    patch_job(sim, "{'spec':{'parallelism':2,'completions':2}}");
    expect(sim, "1/0/0 1/0 done=0");
    assert_non_null(running(sim, 1));
    succeed(sim, 1);
    expect(sim, "0/0/0 2/0 done=0,1 SuccessCriteriaMet(CompletionsReached) "
                "Complete(CompletionsReached)");
    sim_free(sim);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    struct sim *sim = open_job("'completions':0");
    expect(sim, "0/0/0 0/0 SuccessCriteriaMet(CompletionsReached) Complete(CompletionsReached)");
    assert_int_equal(pods(sim), 0);
    sim_free(sim);
}

static void test_managed_by(void **state)
{
    (void)state;
    struct sim *sim = open_job("'managedBy':'x.dev/other'");
    assert_int_equal(pods(sim), 0);
    assert_int_equal(yyjson_obj_size(json_at(job_of(sim)->root, "status")), 0);
    sim_free(sim);
    sim = open_job("'managedBy':'kubernetes.io/job-controller'");
    expect(sim, "1/0/0 0/0");
    sim_free(sim);
}

/* ---- failing ---- */

/* Anybody who may write a status may write a condition that has nothing but its type. */
static void test_failed_by_somebody_without_a_reason(void **state)
{
    (void)state;
    struct sim *sim = open_job("");
    struct write *write =
        stage_write(WRITE_PATCH, &KIND_JOB, "default", job_of(sim)->meta.name,
                    "{'status':{'conditions':[{'type':'FailureTarget','status':'True'},"
                    "{'type':'Failed','status':'True'}]}}");
    write->sub = SUB_STATUS;
    stage_do(sim, write);
    stage_run(sim, SECOND);
    assert_int_equal(stage_events(sim, "Failed"), 1);
    sim_free(sim);
}

static void test_backoff(void **state)
{
    (void)state;
    static const int PAUSES[] = {10, 20, 40};
    struct sim *sim = open_job("'backoffLimit':3");
    for (size_t i = 0; i < ARRAY_LEN(PAUSES); i++) {
        fail_with(sim, -1, 1);
        stage_run(sim, (PAUSES[i] - 4) * SECOND);
        assert_null(running(sim, -1));
        stage_run(sim, 4 * SECOND);
        assert_non_null(running(sim, -1));
    }
    expect(sim, "1/0/0 0/3");
    fail_with(sim, -1, 1);
    expect(sim, "0/0/0 0/4 FailureTarget(BackoffLimitExceeded) Failed(BackoffLimitExceeded)");
    assert_int_equal(stage_events(sim, "BackoffLimitExceeded"), 1);
    assert_null(json_str_at(job_of(sim)->root, "status.completionTime"));
    sim_free(sim);
}

static void test_success_ends_backoff(void **state)
{
    (void)state;
    struct sim *sim = open_job("'parallelism':2,'completions':3");
    fail_with(sim, -1, 1);
    assert_non_null(running(sim, -1));
    succeed(sim, -1);
    expect(sim, "2/0/0 1/1"); /* both places at once, no pause is left */
    sim_free(sim);
}

/* When a Job fails, pods that run are stopped and it waits for them. */
static void test_failure_waits_for_pods(void **state)
{
    (void)state;
    struct sim *sim = open_job_as("j", "'parallelism':2,'completions':2,'backoffLimit':0", PLACED);
    fail_with(sim, -1, 1);
    expect(sim, "0/0/1 0/2 FailureTarget(BackoffLimitExceeded)");
    stage_run(sim, MINUTE);
    expect(sim, "0/0/1 0/2 FailureTarget(BackoffLimitExceeded)");
    confirm_all(sim);
    expect(sim, "0/0/0 0/2 FailureTarget(BackoffLimitExceeded) Failed(BackoffLimitExceeded)");
    sim_free(sim);
}

static void test_restarts_count(void **state)
{
    (void)state;
    struct sim *sim = open_job_as("j", "'backoffLimit':2", ",'restartPolicy':'OnFailure'");
    set_status(sim, running(sim, -1),
               "'phase':'Running','containerStatuses':[{'name':'c','restartCount':1}]");
    expect(sim, "1/0/0 0/0");
    set_status(sim, running(sim, -1),
               "'phase':'Running','containerStatuses':[{'name':'c','restartCount':2}]");
    stage_run(sim, SECOND);
    expect(sim, "0/0/0 0/1 FailureTarget(BackoffLimitExceeded) Failed(BackoffLimitExceeded)");
    sim_free(sim);
}

static void test_deadline(void **state)
{
    (void)state;
    struct sim *sim = open_job("'activeDeadlineSeconds':60");
    stage_run(sim, 50 * SECOND);
    expect(sim, "1/0/0 0/0");
    stage_run(sim, 10 * SECOND);
    expect(sim, "0/0/0 0/1 FailureTarget(DeadlineExceeded) Failed(DeadlineExceeded)");
    assert_int_equal(stage_events(sim, "DeadlineExceeded"), 1);
    sim_free(sim);
}

#define POLICY(action)                                                                             \
    "'podFailurePolicy':{'rules':[{'action':'" action                                              \
    "','onExitCodes':{'operator':'In','values':[42]}}]}"

static void test_policy_fail_job(void **state)
{
    (void)state;
    struct sim *sim = open_job("'parallelism':2,'completions':2," POLICY("FailJob"));
    fail_with(sim, -1, 1);
    expect(sim, "1/0/0 0/1");
    const char *name = running(sim, -1)->meta.name;
    scoped_free char *message = mem_printf(
        "Container c for pod default/%s failed with exit code 42 matching FailJob rule at index 0",
        name);
    fail_with(sim, -1, 42);
    expect(sim, "0/0/0 0/2 FailureTarget(PodFailurePolicy) Failed(PodFailurePolicy)");
    assert_string_equal(json_str_at(job_condition(job_of(sim), "Failed"), "message"), message);
    sim_free(sim);
}

static void test_policy_ignore(void **state)
{
    (void)state;
    struct sim *sim = open_job("'backoffLimit':0," POLICY("Ignore"));
    for (int i = 0; i < 3; i++) {
        fail_with(sim, -1, 42);
        expect(sim, "1/0/0 0/0"); /* replaced, not counted, without a pause */
    }
    fail_with(sim, -1, 1);
    expect(sim, "0/0/0 0/1 FailureTarget(BackoffLimitExceeded) Failed(BackoffLimitExceeded)");
    sim_free(sim);
}

static void test_policy_conditions(void **state)
{
    (void)state;
    struct sim *sim = open_job("'backoffLimit':0,'podFailurePolicy':{'rules':[{'action':'Ignore',"
                               "'onPodConditions':[{'type':'DisruptionTarget'}]}]}");
    end_at(sim, running(sim, -1), 137,
           ",'conditions':[{'type':'DisruptionTarget','status':'True'}]");
    expect(sim, "1/0/0 0/0");
    sim_free(sim);
}

/* ---- failing by index ---- */

#define PER_INDEX "'parallelism':3,'completions':3,'completionMode':'Indexed',"

static void test_limit_per_index(void **state)
{
    (void)state;
    struct sim *sim = open_job(PER_INDEX "'backoffLimitPerIndex':1");
    fail_with(sim, 1, 1);
    succeed(sim, 0); /* others do not pause, and a success elsewhere ends no pause */
    assert_null(running(sim, 1));
    stage_run(sim, 10 * SECOND);
    const struct obj *again = running(sim, 1);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(again->meta.annotations, JOB_INDEX_FAILURES)),
                        "1");
    expect(sim, "2/0/0 1/1 done=0");
    fail_with(sim, 1, 1);
    expect(sim, "1/0/0 1/2 done=0 bad=1");
    stage_run(sim, MINUTE);
    assert_null(running(sim, 1));
    succeed(sim, 2);
    expect(sim, "0/0/0 2/2 done=0,2 bad=1 FailureTarget(FailedIndexes) Failed(FailedIndexes)");
    sim_free(sim);
}

/* The count of failures survives whatever happens to pods that failed before. */
static void test_count_survives_deletion(void **state)
{
    (void)state;
    struct sim *sim = open_job(PER_INDEX "'backoffLimitPerIndex':2");
    for (int i = 0; i < 2; i++) {
        fail_with(sim, 1, 1);
        struct cache *cache = sim_store(sim)->cache;
        struct obj *pod = cache_first(cache, &KIND_POD, "default");
        while (pod != NULL && !is_over(pod))
            pod = cache_after(cache, &KIND_POD, "default", pod);
        delete_pod(sim, pod, 0);
        sim_restart_manager(sim);
        stage_run(sim, 21 * SECOND);
        assert_int_equal(pods(sim), 3);
    }
    fail_with(sim, 1, 1);
    expect(sim, "2/0/0 0/3 bad=1");
    sim_free(sim);
}

static void test_max_failed_indexes(void **state)
{
    (void)state;
    struct sim *sim = open_job(PER_INDEX "'backoffLimitPerIndex':0,'maxFailedIndexes':1");
    fail_with(sim, 0, 1);
    expect(sim, "2/0/0 0/1 bad=0");
    fail_with(sim, 1, 1);
    expect(sim, "0/0/0 0/3 bad=0,1 FailureTarget(MaxFailedIndexesExceeded) "
                "Failed(MaxFailedIndexesExceeded)");
    sim_free(sim);
}

static void test_policy_fail_index(void **state)
{
    (void)state;
    struct sim *sim = open_job(PER_INDEX "'backoffLimitPerIndex':5," POLICY("FailIndex"));
    fail_with(sim, 0, 42);
    expect(sim, "2/0/0 0/1 bad=0");
    stage_run(sim, 10 * MINUTE);
    assert_null(running(sim, 0));
    sim_free(sim);
}

static void test_policy_ignore_per_index(void **state)
{
    (void)state;
    struct sim *sim = open_job(PER_INDEX "'backoffLimitPerIndex':0," POLICY("Ignore"));
    fail_with(sim, 0, 42);
    stage_run(sim, 10 * SECOND);
    const struct obj *again = running(sim, 0);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(again->meta.annotations, JOB_INDEX_IGNORED)),
                        "1");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(again->meta.annotations, JOB_INDEX_FAILURES)),
                        "0");
    expect(sim, "3/0/0 0/0");
    sim_free(sim);
}

/* ---- succeeding early ---- */

static void test_success_policy(void **state)
{
    (void)state;
    struct sim *sim = open_job_as("j",
                                  PER_INDEX "'successPolicy':{'rules':[{'succeededIndexes':'0,2',"
                                            "'succeededCount':1}]}",
                                  PLACED);
    succeed(sim, 1);
    expect(sim, "2/0/0 1/0 done=1");
    succeed(sim, 2);
    expect(sim, "0/0/1 2/1 done=1,2 SuccessCriteriaMet(SuccessPolicy)");
    confirm_all(sim);
    expect(sim, "0/0/0 2/1 done=1,2 SuccessCriteriaMet(SuccessPolicy) Complete(SuccessPolicy)");
    sim_free(sim);
}

/* ---- pods that are being stopped ---- */

static void test_replaced_while_terminating(void **state)
{
    (void)state;
    struct sim *sim = open_job_as("j", "", PLACED);
    delete_pod(sim, running(sim, -1), -1);
    expect(sim, "1/0/1 0/1"); /* it counts as a failure at once */
    confirm_all(sim);
    expect(sim, "1/0/0 0/1");
    sim_free(sim);
}

static void test_replaced_when_failed(void **state)
{
    (void)state;
    struct sim *sim = open_job_as("j", "'podReplacementPolicy':'Failed'", PLACED);
    delete_pod(sim, running(sim, -1), -1);
    stage_run(sim, MINUTE);
    expect(sim, "0/0/1 0/0");
    confirm_all(sim);
    expect(sim, "1/0/0 0/1");
    assert_int_equal(pods(sim), 1);
    sim_free(sim);
}

/* A drained node: however many went with it, nobody waits. One that fails by itself afterwards
 * waits as after a first failure. */
static void test_sent_away_without_a_pause(void **state)
{
    (void)state;
    struct sim *sim =
        open_job_as("j", "'parallelism':4,'completions':4,'podReplacementPolicy':'Failed'", PLACED);
    for (int i = 0; i < 4; i++)
        delete_pod(sim, running(sim, -1), -1);
    expect(sim, "0/0/4 0/0");
    sim_restart_manager(sim);
    confirm_all(sim);
    expect(sim, "4/0/0 0/4");
    fail_with(sim, -1, 1);
    stage_run(sim, 6 * SECOND);
    expect(sim, "3/0/0 0/5");
    stage_run(sim, 4 * SECOND);
    expect(sim, "4/0/0 0/5");
    sim_free(sim);
}

/* One that is being stopped and succeeds all the same has succeeded. */
static void test_succeeds_while_terminating(void **state)
{
    (void)state;
    struct sim *sim = open_job_as("j", "'podReplacementPolicy':'Failed'", PLACED);
    const char *name = running(sim, -1)->meta.name;
    scoped_free char *kept = mem_strdup(name);
    delete_pod(sim, running(sim, -1), -1);
    end_at(sim, stage_get(sim, &KIND_POD, "default", kept), 0, "");
    expect(sim, "0/0/0 1/0 SuccessCriteriaMet(CompletionsReached) Complete(CompletionsReached)");
    sim_free(sim);
}

/* ---- suspending ---- */

static void test_suspend(void **state)
{
    (void)state;
    struct sim *sim = open_job("'parallelism':2,'completions':4,'suspend':true,"
                               "'activeDeadlineSeconds':100");
    expect(sim, "0/0/0 0/0 Suspended(JobSuspended)");
    assert_null(json_str_at(job_of(sim)->root, "status.startTime"));
    patch_job(sim, "{'spec':{'suspend':false}}");
    expect(sim, "2/0/0 0/0");
    scoped_free char *first = mem_strdup(json_str_at(job_of(sim)->root, "status.startTime"));
    assert_non_null(first);
    succeed(sim, -1);
    stage_run(sim, MINUTE);
    patch_job(sim, "{'spec':{'suspend':true}}");
    expect(sim, "0/0/0 1/0 Suspended(JobSuspended)");
    assert_int_equal(pods(sim), 1);
    stage_run(sim, 10 * MINUTE); /* the deadline does not run */
    patch_job(sim, "{'spec':{'suspend':false}}");
    expect(sim, "2/0/0 1/0");
    assert_string_not_equal(json_str_at(job_of(sim)->root, "status.startTime"), first);
    stage_run(sim, 90 * SECOND); /* it began anew */
    expect(sim, "2/0/0 1/0");
    assert_int_equal(stage_events(sim, "Suspended"), 1);
    assert_int_equal(stage_events(sim, "Resumed"), 1);
    assert_int_equal(stage_events(sim, "SuccessfulDelete"), 2);
    sim_free(sim);
}

/* ---- the end ---- */

static void test_ttl(void **state)
{
    (void)state;
    struct sim *sim = open_job("'ttlSecondsAfterFinished':30");
    succeed(sim, -1);
    stage_run(sim, 25 * SECOND);
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_JOB), 1);
    stage_run(sim, 10 * SECOND);
    const struct obj *job = cache_first(sim_store(sim)->cache, &KIND_JOB, NULL);
    assert_true(job->meta.deleted != 0); /* its pods are the garbage collector's */
    sim_free(sim);
}

static void test_deleted_job(void **state)
{
    (void)state;
    static const enum propagation HOW[] = {PROPAGATE_BACKGROUND, PROPAGATE_FOREGROUND,
                                           PROPAGATE_ORPHAN};
    for (size_t i = 0; i < ARRAY_LEN(HOW); i++) {
        struct sim *sim = stage_open(1, JOB_AND_GARBAGE, NULL);
        stage_do(sim, stage_write(WRITE_CREATE, &KIND_JOB, "default", "j",
                                  "{'metadata':{'name':'j'},'spec':{'parallelism':3,'template':{"
                                  "'spec':{'containers':[{'name':'c','image':'i'}]" NEVER "}}}}"));
        assert_int_equal(pods(sim), 3);
        struct write *write = stage_write(WRITE_DELETE, &KIND_JOB, "default", "j", NULL);
        write->propagation = HOW[i];
        stage_do(sim, write);
        stage_run(sim, MINUTE);
        assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_JOB), 0);
        assert_int_equal(pods(sim), HOW[i] == PROPAGATE_ORPHAN ? 3 : 0);
        struct obj *left = cache_first(sim_store(sim)->cache, &KIND_POD, NULL);
        assert_true(left == NULL || !is_tracked(left));
        sim_free(sim);
    }
}

/* A finalizer that a Job left behind must not keep a pod for ever. */
static void test_orphan(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, JOB, NULL);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_POD, "default", "p",
                              "{'metadata':{'name':'p','finalizers':['" JOB_FINALIZER
                              "']},'spec':{'containers':[{'name':'c','image':'i'}]}}"));
    assert_false(is_tracked(stage_get(sim, &KIND_POD, "default", "p")));
    sim_free(sim);
}

/* A pod that the store does not take is told about, and tried again. */
static void test_refused_pod(void **state)
{
    (void)state;
    struct sim *sim = open_job_as("j", "", PLACED ",'schedulingGates':[{'name':'x/y'}]");
    stage_run(sim, SECOND);
    assert_int_equal(pods(sim), 0);
    assert_int_equal(stage_events(sim, "FailedCreate"), 1);
    assert_int_equal(stage_events(sim, "SuccessfulCreate"), 0);
    struct obj *event = cache_first(sim_store(sim)->cache, &KIND_EVENT, "default");
    assert_true(json_int_at(event->root, "count", 0) > 1);
    sim_free(sim);
}

/* ---- many ---- */

static struct sim *open_many(int count)
{
    scoped_free char *spec =
        mem_printf("'parallelism':%d,'completions':%d,'completionMode':'Indexed'", count, count);
    struct sim *sim = open_job(spec);
    stage_run(sim, 5 * SECOND);
    assert_int_equal(pods(sim), count);
    return sim;
}

static uint64_t steps_of(struct sim *sim)
{
    struct manager_stats stats;
    assert_int_equal(manager_stats(sim_manager(sim), &stats, 1), 1);
    return stats.reconciles + stats.writes;
}

/* n pods cost n steps, to make and to count. */
static void test_linear(void **state)
{
    (void)state;
    static const int COUNTS[] = {500, 1000, 2000};
    for (size_t i = 0; i < ARRAY_LEN(COUNTS); i++) {
        struct sim *sim = open_many(COUNTS[i]);
        struct cache *cache = sim_store(sim)->cache;
        struct obj *pod = cache_first(cache, &KIND_POD, NULL);
        for (; pod != NULL; pod = cache_after(cache, &KIND_POD, NULL, pod)) {
            struct write *write = stage_write(WRITE_PATCH, &KIND_POD, "default", pod->meta.name,
                                              "{'status':{'phase':'Succeeded'}}");
            write->sub = SUB_STATUS;
            sim_submit(sim, write);
        }
        stage_run(sim, 10 * SECOND);
        assert_non_null(job_condition(job_of(sim), "Complete"));
        assert_int_equal(json_int_at(job_of(sim)->root, "status.succeeded", 0), COUNTS[i]);
        uint64_t steps = steps_of(sim);
        if (steps > 5 * (uint64_t)COUNTS[i])
            fail_msg("%d pods took %d steps", COUNTS[i], (int)steps);
        sim_free(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_pod),
        cmocka_unit_test(test_parallelism),
        cmocka_unit_test(test_work_queue),
        cmocka_unit_test(test_indexed),
        cmocka_unit_test(test_elastic),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_managed_by),
        cmocka_unit_test(test_failed_by_somebody_without_a_reason),
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_success_ends_backoff),
        cmocka_unit_test(test_failure_waits_for_pods),
        cmocka_unit_test(test_restarts_count),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_policy_fail_job),
        cmocka_unit_test(test_policy_ignore),
        cmocka_unit_test(test_policy_conditions),
        cmocka_unit_test(test_limit_per_index),
        cmocka_unit_test(test_count_survives_deletion),
        cmocka_unit_test(test_max_failed_indexes),
        cmocka_unit_test(test_policy_fail_index),
        cmocka_unit_test(test_policy_ignore_per_index),
        cmocka_unit_test(test_success_policy),
        cmocka_unit_test(test_replaced_while_terminating),
        cmocka_unit_test(test_sent_away_without_a_pause),
        cmocka_unit_test(test_replaced_when_failed),
        cmocka_unit_test(test_succeeds_while_terminating),
        cmocka_unit_test(test_suspend),
        cmocka_unit_test(test_ttl),
        cmocka_unit_test(test_deleted_job),
        cmocka_unit_test(test_orphan),
        cmocka_unit_test(test_refused_pod),
        cmocka_unit_test(test_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
