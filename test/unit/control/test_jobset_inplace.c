// SPDX-License-Identifier: Apache-2.0
/* Groups that restart in place: Jobs are real, the test plays the members by what they announce.
 * Numbers and letters are those of the list of cases. A group is told in one line:
 * "deprecated/synced restarts/counted/in place", then the conditions that are true. */
#include "core/recover/epoch.h"
#include "jobset_kit.h"
#include "model/jobset.h"
#include <stdio.h>
#include <stdlib.h>

static const struct controller *const ALL[] = {&CONTROLLER_JOBSET, &CONTROLLER_JOB,
                                               &CONTROLLER_GARBAGE, NULL};
#define MINUTE (60 * SECOND)
#define REQUEST(v) "{'metadata':{'annotations':{'" RESTART_REQUEST_NOTE "':'" v "'}}}"

/* Two Jobs of `members` each. */
static char *spec_of(int members, const char *failure, const char *more)
{
    return mem_printf(
        "'failurePolicy':{'restartStrategy':'InPlaceRestart',%s},'replicatedJobs':[{'name':'w',"
        "'replicas':2,'template':{'spec':{'completions':%d,'parallelism':%d,'backoffLimit':"
        "2147483647,"
        "'podReplacementPolicy':'Failed','podFailurePolicy':{'rules':[{'action':'FailJob',"
        "'onExitCodes':{'operator':'In','values':[42]}}]},'template':{'spec':{'nodeName':'n',"
        "'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}}]%s",
        failure, members, members, more);
}

static struct sim *open_group_with(int members, const char *failure, const char *more)
{
    struct sim *sim = kit_open(ALL);
    scoped_free char *spec = spec_of(members, failure, more);
    kit_create(sim, "s", spec);
    stage_run(sim, 5 * SECOND);
    return sim;
}

static struct sim *open_group(int max_restarts)
{
    scoped_free char *failure = mem_printf("'maxRestarts':%d", max_restarts);
    return open_group_with(2, failure, "");
}

static struct sim *open_group_of_agents(void)
{
    struct sim *sim = kit_open(ALL);
    kit_create(
        sim, "s",
        "'failurePolicy':{'restartStrategy':'InPlaceRestart','maxRestarts':3},'replicatedJobs':[{"
        "'name':'w','template':{'spec':{'completions':2,'parallelism':2,'backoffLimit':2147483647,"
        "'podReplacementPolicy':'Failed','template':{'spec':{'nodeName':'n','restartPolicy':"
        "'OnFailure','initContainers':[{'name':'i','image':'i','restartPolicy':'Always'}],"
        "'containers':[{'name':'c','image':'i','command':['muster-agent','--','x']}]}}}}}]");
    stage_run(sim, 5 * SECOND);
    return sim;
}

#define group_is(sim, text) expect_group(sim, text, __LINE__)
static void expect_group(struct sim *sim, const char *text, int line)
{
    yyjson_val *status = yyjson_obj_get(kit_set(sim)->root, "status");
    scoped_str is = {0};
    int64_t deprecated = json_int_at(status, "deprecatedEpoch", -1);
    int64_t synced = json_int_at(status, "syncedEpoch", -1);
    str_addf(&is, "%d/%d %d/%d/%d", (int)deprecated, (int)synced,
             (int)json_int_at(status, "restarts", 0),
             (int)json_int_at(status, "restartsCountTowardsMax", 0),
             (int)json_int_at(status, "inPlaceRestarts", 0));
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), i, n, item)
    {
        if (str_eq(json_str_at(item, "status"), "True"))
            str_addf(&is, " %s(%s)", json_str_at(item, "type"), json_str_at(item, "reason"));
    }
    if (strcmp(str_text(&is), text) != 0)
        fail_msg("line %d: \"%s\" instead of \"%s\"", line, str_text(&is), text);
    assert_int_equal(json_int_at(status, "previousInPlaceRestartAttempt", -1), deprecated - 1);
    assert_int_equal(json_int_at(status, "currentInPlaceRestartAttempt", -1), synced - 1);
}

/* ---- members: "job.index" ---- */

static bool has_ended(const struct obj *pod)
{
    const char *phase = json_str_at(pod->root, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

static struct obj *find_pod(struct sim *sim, const char *who, bool and_ended)
{
    struct cache *cache = sim_store(sim)->cache;
    char index[8] = {who[2], '\0'}, job[8] = {who[0], '\0'};
    struct obj *pod = cache_first(cache, &KIND_POD, "default");
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, "default", pod)) {
        if (str_eq(yyjson_get_str(yyjson_obj_get(pod->meta.annotations, JOB_INDEX)), index) &&
            str_eq(kit_label(pod, "job-index"), job) && pod->meta.deleted == 0 &&
            (and_ended || !has_ended(pod)))
            return pod;
    }
    return NULL;
}

static struct obj *pod_of(struct sim *sim, const char *who)
{
    struct obj *pod = find_pod(sim, who, false);
    if (pod == NULL)
        fail_msg("%s has no pod", who);
    return pod;
}

static void announce_as(struct sim *sim, const char *who, const char *note, int number)
{
    scoped_free char *body = mem_printf("{'metadata':{'annotations':{'%s':'%d'}}}", note, number);
    stage_do(sim,
             stage_write(WRITE_PATCH, &KIND_POD, "default", pod_of(sim, who)->meta.name, body));
}

static void announce(struct sim *sim, const char *who, int epoch)
{
    announce_as(sim, who, EPOCH_NOTE, epoch);
}

/* Without the name of its JobSet the server takes it. */
static void lie(struct sim *sim, const char *who, int epoch)
{
    scoped_free char *body = mem_printf("{'metadata':{'labels':{'" JOBSET_LABEL_NAME
                                        "':null},'annotations':{'" EPOCH_NOTE "':'%d'}}}",
                                        epoch);
    stage_do(sim,
             stage_write(WRITE_PATCH, &KIND_POD, "default", pod_of(sim, who)->meta.name, body));
}

static void on_refused(void *arg, struct write_result *result)
{
    str_addf(arg, "%d %s", result->status.code, str_text(&result->status.message));
}

static void expect_refused(struct sim *sim, const char *who, const char *note, int number,
                           const char *text)
{
    scoped_str said = {0};
    scoped_free char *body = mem_printf("{'metadata':{'annotations':{'%s':'%d'}}}", note, number);
    struct write *write =
        stage_write(WRITE_PATCH, &KIND_POD, "default", pod_of(sim, who)->meta.name, body);
    write->done = on_refused;
    write->arg = &said;
    sim_submit(sim, write);
    stage_run(sim, SECOND);
    if (!str_starts(str_text(&said), "422 ") || strstr(str_text(&said), text) == NULL)
        fail_msg("%s instead of %s", str_text(&said), text);
}

static void announce_all(struct sim *sim, int epoch)
{
    static const char *const ALL_MEMBERS[] = {"0.0", "0.1", "1.0", "1.1"};
    for (size_t i = 0; i < ARRAY_LEN(ALL_MEMBERS); i++) {
        if (find_pod(sim, ALL_MEMBERS[i], false) != NULL)
            announce(sim, ALL_MEMBERS[i], epoch);
    }
    stage_run(sim, SECOND);
}

static void set_status(struct sim *sim, const char *who, const char *status)
{
    scoped_free char *body = mem_printf("{'status':{%s}}", status);
    struct write *write =
        stage_write(WRITE_PATCH, &KIND_POD, "default", pod_of(sim, who)->meta.name, body);
    write->sub = SUB_STATUS;
    stage_do(sim, write);
    stage_run(sim, SECOND);
}

static void end_with(struct sim *sim, const char *who, int code)
{
    scoped_str now = {0};
    rfc3339_format(sim_now(sim), &now);
    scoped_free char *status =
        mem_printf("'phase':'%s','containerStatuses':[{'name':'c','state':{'terminated':{"
                   "'exitCode':%d,'finishedAt':'%s'}}}]",
                   code ? "Failed" : "Succeeded", code, str_text(&now));
    set_status(sim, who, status);
}

static void ready_all(struct sim *sim)
{
    static const char *const ALL_MEMBERS[] = {"0.0", "0.1", "1.0", "1.1"};
    for (size_t i = 0; i < ARRAY_LEN(ALL_MEMBERS); i++)
        set_status(sim, ALL_MEMBERS[i],
                   "'phase':'Running','conditions':[{'type':'Ready','status':'True'}]");
}

/* What the node writes of so many members when they run again. */
static void tell_restarts(struct sim *sim, size_t members)
{
    static const char *const ALL_MEMBERS[] = {"0.0", "0.1", "1.0", "1.1"};
    for (size_t i = 0; i < members; i++)
        set_status(sim, ALL_MEMBERS[i], "'containerStatuses':[{'name':'c','restartCount':1}]");
}

/* What nodes do with pods that are being deleted. */
static void confirm_deletions(struct sim *sim)
{
    for (;;) {
        struct cache *cache = sim_store(sim)->cache;
        struct obj *pod = cache_first(cache, &KIND_POD, "default");
        while (pod != NULL && (pod->meta.deleted == 0 || pod->meta.deletion_grace_s == 0))
            pod = cache_after(cache, &KIND_POD, "default", pod);
        if (pod == NULL)
            break;
        struct write *write = stage_write(WRITE_DELETE, &KIND_POD, "default", pod->meta.name, NULL);
        write->grace_s = 0;
        stage_do(sim, write);
    }
    stage_run(sim, 5 * SECOND);
}

/* ---- the cases of the list ---- */

static void test_01_04_a_life_with_one_restart(void **state)
{
    (void)state;
    struct sim *sim = open_group(3);
    group_is(sim, "0/0 0/0/0");
    announce(sim, "0.0", 1);
    announce(sim, "0.1", 1);
    announce(sim, "1.0", 1);
    stage_run(sim, SECOND);
    group_is(sim, "0/0 0/0/0");
    announce(sim, "1.1", 1);
    group_is(sim, "0/1 0/0/0"); /* 4 */
    ready_all(sim);
    announce(sim, "1.0", 2);
    group_is(sim, "1/1 0/1/1 RestartingJobSet(InPlaceRestart)"); /* 1 */
    scoped_free char *want = mem_printf("restart 1 of 3 in place: pod %s asks for epoch 2",
                                        pod_of(sim, "1.0")->meta.name);
    assert_string_equal(kit_condition(sim, "RestartingJobSet", "message"), want);
    assert_int_equal(kit_events(sim, "Restarting"), 1);
    announce_all(sim, 2);
    group_is(sim, "1/2 0/1/1 RestartingJobSet(InPlaceRestart)"); /* 2; Ready is still of epoch 1 */
    tell_restarts(sim, 3);
    group_is(sim, "1/2 0/1/1 RestartingJobSet(InPlaceRestart)");
    tell_restarts(sim, 4);
    group_is(sim, "1/2 0/1/1");
    assert_string_equal(kit_condition(sim, "RestartingJobSet", "reason"), "JobsReady"); /* 52 */
    assert_int_equal(kit_events(sim, "Restarted"), 1);
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_POD), 4); /* none was made anew */
    end_with(sim, "0.0", 0);
    end_with(sim, "0.1", 0);
    end_with(sim, "1.0", 0);
    group_is(sim, "1/2 0/1/1");
    end_with(sim, "1.1", 0);
    group_is(sim, "1/2 0/1/1 Completed(AllJobsCompleted)");
    sim_free(sim);
}

static void test_05_08_upstreams_names(void **state)
{
    (void)state;
    struct sim *sim = open_group(3);
    static const char *const WHO[] = {"0.0", "0.1", "1.0", "1.1"};
    for (size_t i = 0; i < ARRAY_LEN(WHO); i++)
        announce_as(sim, WHO[i], EPOCH_NOTE_LATER, 0);
    stage_run(sim, SECOND);
    group_is(sim, "0/1 0/0/0");
    announce_as(sim, "0.1", EPOCH_NOTE_LATER, 1);
    group_is(sim, "1/1 0/1/1 RestartingJobSet(InPlaceRestart)");
    sim_free(sim);
}

static void test_13_19_restarts_of_containers_are_not_charged(void **state)
{
    (void)state;
    struct sim *sim = open_group(0);
    announce_all(sim, 1);
    set_status(sim, "0.0",
               "'phase':'Running','initContainerStatuses':[{'name':'i','restartCount':10}],"
               "'containerStatuses':[{'name':'c','restartCount':5}]");
    stage_run(sim, MINUTE);
    group_is(sim, "0/1 0/0/0");
    sim_free(sim);
}

static void test_14_j_no_restart_left(void **state)
{
    (void)state;
    struct sim *sim = open_group(0);
    announce_all(sim, 1);
    announce(sim, "0.0", 2);
    group_is(sim, "0/1 0/0/0 Failed(ReachedMaxRestarts)");
    assert_non_null(strstr(kit_condition(sim, "Failed", "message"), "all 0 that maxRestarts"));
    stage_run(sim, 10 * SECOND);
    confirm_deletions(sim);
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_POD), 0); /* nobody runs on */
    sim_free(sim);
    sim = open_group(1);
    announce_all(sim, 1);
    announce_all(sim, 2); /* all at once is one */
    group_is(sim, "1/2 0/1/1 RestartingJobSet(InPlaceRestart)");
    announce(sim, "0.0", 3);
    group_is(sim, "1/2 0/1/1 Failed(ReachedMaxRestarts)");
    stage_run(sim, 10 * SECOND);
    assert_string_equal(kit_condition(sim, "RestartingJobSet", "reason"), "JobSetFailed");
    assert_int_equal(kit_events(sim, "Restarted"), 0); /* it has not come up again */
    sim_free(sim);
}

/* The member that died first, and how; not one of those that ended because of it. */
static void test_j_the_cause_of_a_restart(void **state)
{
    (void)state;
    static const char *const OTHERS[] = {"0.0", "0.1", "1.1"};
    struct sim *sim = open_group(1);
    announce_all(sim, 1);
    scoped_free char *name = mem_strdup(pod_of(sim, "1.0")->meta.name);
    for (int epoch = 2; epoch <= 3; epoch++) {
        scoped_free char *first =
            mem_printf("{'metadata':{'annotations':{'" EPOCH_NOTE "':'%d','" EPOCH_CAUSE_NOTE
                       "':'%d container c ended with exit code %d'}}}",
                       epoch, epoch, epoch);
        scoped_free char *plain =
            mem_printf("{'metadata':{'annotations':{'" EPOCH_NOTE "':'%d'}}}", epoch);
        for (size_t i = 0; i < ARRAY_LEN(OTHERS); i++) /* all in one turn */
            sim_submit(sim, stage_write(WRITE_PATCH, &KIND_POD, "default",
                                        pod_of(sim, OTHERS[i])->meta.name, plain));
        sim_submit(sim, stage_write(WRITE_PATCH, &KIND_POD, "default", name, first));
        stage_run(sim, SECOND);
    }
    group_is(sim, "1/2 0/1/1 Failed(ReachedMaxRestarts)");
    scoped_free char *restarted = mem_printf(
        "restart 1 of 1 in place: pod %s asks for epoch 2: container c ended with exit code 2",
        name);
    assert_true(kit_has_event(sim, "Restarting", restarted));
    scoped_free char *failed =
        mem_printf("jobset failed due to reaching max number of restarts: pod %s needs one of the "
                   "group, and all 1 that maxRestarts allows are used: container c ended with "
                   "exit code 3",
                   name);
    assert_true(kit_has_event(sim, "ReachedMaxRestarts", failed));
    assert_string_equal(kit_condition(sim, "Failed", "message"), failed);
    sim_free(sim);
}

/* Of pods with agents of their own the status tells; what was killed along with another does not.
 */
static void test_j_the_cause_as_a_status_has_it(void **state)
{
    (void)state;
    static const struct {
        const char *at, *reason;
        int code, init_code;
        bool is_old;
        const char *cause;
    } ROWS[] = {
        {"lastState", "Error", 3, 137, false, ": container c ended with exit code 3"},
        {"lastState", "Error", 137, 1, false, ": container i ended with exit code 1"},
        {"state", "OOMKilled", 137, 137, false,
         ": container c ended with exit code 137, OOMKilled"},
        {"lastState", "Completed", 0, 0, false, ""},
        {"lastState", "Error", 3, 1, true, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct sim *sim = open_group_of_agents();
        announce_all(sim, 1);
        scoped_str at = {0};
        rfc3339_format(ROWS[i].is_old ? STAGE_START - MINUTE : sim_now(sim), &at);
        scoped_free char *status = mem_printf(
            "'containerStatuses':[{'name':'c','%s':{'terminated':{'exitCode':%d,'reason':'%s',"
            "'finishedAt':'%s'}}}],'initContainerStatuses':[{'name':'i','lastState':{'terminated':{"
            "'exitCode':%d,'reason':'Error','finishedAt':'%s'}}}]",
            ROWS[i].at, ROWS[i].code, ROWS[i].reason, str_text(&at), ROWS[i].init_code,
            str_text(&at));
        set_status(sim, "0.1", status);
        announce(sim, "0.1", 2);
        scoped_free char *want = mem_printf("restart 1 of 3 in place: pod %s asks for epoch 2%s",
                                            pod_of(sim, "0.1")->meta.name, ROWS[i].cause);
        assert_string_equal(kit_condition(sim, "RestartingJobSet", "message"), want);
        sim_free(sim);
    }
}

static void test_16_17_j_restarts_that_do_not_count(void **state)
{
    (void)state;
    struct sim *sim = open_group_with(
        2, "'maxRestarts':1,'rules':[{'action':'RestartJobSetAndIgnoreMaxRestarts'}]", "");
    announce_all(sim, 1);
    end_with(sim, "0.0", 42);
    confirm_deletions(sim); /* its Job fails when all its pods have ended */
    group_is(sim, "1/1 1/0/0 RestartingJobSet(FailurePolicy_failurePolicyRule0)");
    confirm_deletions(sim);
    stage_run(sim, 10 * SECOND);
    confirm_deletions(sim);
    expect_jobs(sim, "s-w-0@1 s-w-1@1");
    announce_all(sim, 2);
    group_is(sim, "1/2 1/0/0 RestartingJobSet(FailurePolicy_failurePolicyRule0)"); /* 17 */
    announce(sim, "0.0", 3);
    announce_all(sim, 3);
    group_is(sim, "2/3 1/1/1 RestartingJobSet(InPlaceRestart)");
    announce(sim, "0.0", 4);
    group_is(sim, "2/3 1/1/1 Failed(ReachedMaxRestarts)"); /* 16 */
    sim_free(sim);
}

static void test_j_a_job_made_anew_is_charged_once(void **state)
{
    (void)state;
    struct sim *sim = open_group_with(2, "'maxRestarts':1,'rules':[{'action':'RestartJob'}]", "");
    announce_all(sim, 1);
    end_with(sim, "0.0", 42);
    stage_run(sim, 5 * SECOND);
    confirm_deletions(sim);
    stage_run(sim, 10 * SECOND);
    announce_all(sim, 2);
    group_is(sim, "1/2 0/0/0 RestartingJobSet(FailurePolicy_failurePolicyRule0)");
    announce(sim, "1.1", 3);
    group_is(sim, "1/2 0/0/0 Failed(ReachedMaxRestarts)"); /* the Job's restart was the one */
    sim_free(sim);
}

static void test_22_pods_of_others(void **state)
{
    (void)state;
    struct sim *sim = open_group(3);
    announce_all(sim, 1);
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'liar','labels':{'" JOBSET_DOMAIN "jobset-name':'s','" JOBSET_DOMAIN
        "jobset-uid':'%s','" JOBSET_DOMAIN "replicatedjob-name':'w','" JOBSET_DOMAIN
        "job-index':'0'},'annotations':{'" JOB_INDEX "':'0','" EPOCH_NOTE
        "':'2'}},'spec':{'containers':[{'name':'c','image':'i'}]}}",
        kit_set(sim)->meta.uid);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_POD, "default", "liar", body));
    stage_run(sim, SECOND);
    group_is(sim, "0/1 0/0/0");
    sim_free(sim);
}

/* ---- our own ---- */

static void test_a_one_has_succeeded_and_another_fails(void **state)
{
    (void)state;
    struct sim *sim = open_group(3);
    announce_all(sim, 1);
    end_with(sim, "0.1", 0);
    stage_run(sim, 5 * SECOND);
    struct obj *done = find_pod(sim, "0.1", true);
    stage_do(sim, stage_write(WRITE_DELETE, &KIND_POD, "default", done->meta.name, NULL));
    stage_run(sim, 5 * SECOND); /* even its pod was cleared away */
    announce(sim, "1.0", 2);
    announce_all(sim, 2);
    group_is(sim, "1/2 0/1/1 RestartingJobSet(InPlaceRestart)");
    sim_restart_manager(sim); /* and the controller forgot */
    stage_run(sim, SECOND);
    announce(sim, "1.0", 3);
    announce_all(sim, 3);
    group_is(sim, "2/3 0/2/2 RestartingJobSet(InPlaceRestart)");
    sim_free(sim);
}

static void test_e_controllers_come_and_go(void **state)
{
    (void)state;
    for (int pause = 0; pause < 8; pause++) {
        struct sim *sim = open_group(3);
        announce_all(sim, 1);
        announce(sim, "1.0", 2);
        struct write *write =
            stage_write(WRITE_PATCH, &KIND_POD, "default", pod_of(sim, "0.0")->meta.name,
                        "{'metadata':{'annotations':{'" EPOCH_NOTE "':'2'}}}");
        sim_submit(sim, write);
        for (int i = 0; i < pause; i++)
            (void)sim_step(sim);
        sim_restart_manager(sim);
        stage_run(sim, SECOND);
        announce_all(sim, 2);
        group_is(sim, "1/2 0/1/1 RestartingJobSet(InPlaceRestart)");
        sim_free(sim);
    }
}

static void test_g_a_pod_is_replaced(void **state)
{
    (void)state;
    struct sim *sim = open_group(3);
    announce_all(sim, 1);
    end_with(sim, "0.0", 1);
    stage_run(sim, 20 * SECOND);
    group_is(sim, "0/1 0/0/0"); /* nothing before somebody is there */
    announce(sim, "0.0", 2);
    group_is(sim, "1/1 0/1/1 RestartingJobSet(InPlaceRestart)");
    announce_all(sim, 2);
    group_is(sim, "1/2 0/1/1 RestartingJobSet(InPlaceRestart)");
    sim_free(sim);
}

static void test_h_suspend_and_resume(void **state)
{
    (void)state;
    struct sim *sim = open_group(0);
    for (int epoch = 1; epoch <= 3; epoch++) {
        announce_all(sim, epoch);
        scoped_free char *runs = mem_printf("%d/%d 0/0/0", epoch - 1, epoch);
        group_is(sim, runs);
        kit_patch_set(sim, "{'spec':{'suspend':true}}");
        stage_run(sim, 5 * SECOND);
        confirm_deletions(sim);
        scoped_free char *waits = mem_printf("%d/%d 0/0/0 Suspended(SuspendedJobs)", epoch, epoch);
        group_is(sim, waits);
        assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_POD), 0);
        kit_patch_set(sim, "{'spec':{'suspend':false}}");
        stage_run(sim, 10 * SECOND);
        assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_POD), 4);
    }
    sim_free(sim);
}

static void test_h_suspend_while_it_restarts(void **state)
{
    (void)state;
    struct sim *sim = open_group(3);
    announce_all(sim, 1);
    announce(sim, "0.0", 2);
    announce(sim, "0.1", 2);
    group_is(sim, "1/1 0/1/1 RestartingJobSet(InPlaceRestart)");
    kit_patch_set(sim, "{'spec':{'suspend':true}}");
    stage_run(sim, SECOND);
    announce_all(sim, 2);
    group_is(sim, "1/1 0/1/1 Suspended(SuspendedJobs)"); /* nothing is let in */
    assert_int_equal(kit_events(sim, "Restarted"), 0);
    confirm_deletions(sim);
    kit_patch_set(sim, "{'spec':{'suspend':false}}");
    stage_run(sim, 10 * SECOND);
    announce_all(sim, 2);
    group_is(sim, "1/2 0/1/1");
    sim_free(sim);
}

static void resize(struct sim *sim, int members)
{
    scoped_free char *spec = spec_of(members, "'maxRestarts':0", "");
    scoped_free char *body = mem_printf("{'spec':{%s}}", spec);
    kit_patch_set(sim, body);
    stage_run(sim, 5 * SECOND);
}

static void test_h_78_size_changes(void **state)
{
    (void)state;
    struct sim *sim = open_group(0);
    announce_all(sim, 1);
    resize(sim, 3);
    group_is(sim, "1/1 0/0/1 RestartingJobSet(Resized)");
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_POD), 6);
    announce_all(sim, 2);
    group_is(sim, "1/1 0/0/1 RestartingJobSet(Resized)");
    announce(sim, "0.2", 2);
    announce(sim, "1.2", 2);
    group_is(sim, "1/2 0/0/1 RestartingJobSet(Resized)");
    resize(sim, 1);
    group_is(sim, "2/2 0/0/2 RestartingJobSet(Resized)");
    announce(sim, "0.0", 3);
    announce(sim, "1.0", 3);
    stage_run(sim, SECOND);
    group_is(sim, "2/2 0/0/2 RestartingJobSet(Resized)"); /* others may run still */
    confirm_deletions(sim);
    group_is(sim, "2/3 0/0/2 RestartingJobSet(Resized)");
    sim_free(sim);
}

/* A Job that is complete keeps its size, and nobody waits for members that it will never have. */
static void test_h_a_complete_job_does_not_grow(void **state)
{
    (void)state;
    struct sim *sim = open_group(0);
    announce_all(sim, 1);
    end_with(sim, "0.0", 0);
    end_with(sim, "0.1", 0);
    stage_run(sim, 5 * SECOND);
    resize(sim, 3);
    announce(sim, "1.0", 2);
    announce(sim, "1.1", 2);
    announce(sim, "1.2", 2);
    group_is(sim, "1/2 0/0/1 RestartingJobSet(Resized)");
    sim_free(sim);
}

static void test_k_waiting_costs_nothing(void **state)
{
    (void)state;
    struct sim *sim = open_group(0);
    announce(sim, "0.0", 1);
    for (int i = 0; i < 48; i++)
        stage_run(sim, 30 * (time_ms)MINUTE);
    group_is(sim, "0/0 0/0/0");
    announce_all(sim, 1);
    group_is(sim, "0/1 0/0/0");
    sim_free(sim);
}

static void test_l_an_impossible_epoch(void **state)
{
    (void)state;
    struct sim *sim = open_group(3);
    announce_all(sim, 1);
    announce(sim, "0.0", 2);
    lie(sim, "0.1", 50); /* while the group restarts */
    stage_run(sim, SECOND);
    group_is(sim, "1/1 0/1/1 RestartingJobSet(InPlaceRestart)"); /* the group goes on */
    assert_int_equal(kit_events(sim, "InvalidEpoch"), 0);
    announce(sim, "1.0", 2);
    announce(sim, "1.1", 2);
    stage_run(sim, SECOND);
    group_is(sim, "1/1 0/1/1 RestartingJobSet(InPlaceRestart)");
    assert_int_equal(kit_events(sim, "InvalidEpoch"), 1);
    confirm_deletions(sim);
    stage_run(sim, 20 * SECOND);
    announce(sim, "0.1", 2); /* another has its place */
    group_is(sim, "1/2 0/1/1 RestartingJobSet(InPlaceRestart)");
    sim_free(sim);
}

static void test_l_the_server_refuses_what_is_beyond(void **state)
{
    (void)state;
    struct sim *sim = open_group(3);
    expect_refused(sim, "0.0", EPOCH_NOTE, 2, "may not be above 1, the epoch that comes next");
    announce_all(sim, 1);
    expect_refused(sim, "0.0", EPOCH_NOTE, 3, "may not be above 2, the epoch that comes next");
    expect_refused(sim, "0.0", EPOCH_NOTE_LATER, 2, "may not be above 1, the attempt that comes");
    group_is(sim, "0/1 0/0/0");
    announce(sim, "0.0", 2);
    expect_refused(sim, "0.0", EPOCH_NOTE, 3, "may not be above 2, the epoch that comes next");
    announce_all(sim, 2);
    announce_as(sim, "0.0", EPOCH_NOTE_LATER, 2);
    group_is(sim, "2/2 0/2/2 RestartingJobSet(InPlaceRestart)");
    sim_free(sim);
}

/* His agent could not announce the death: the pod that comes instead asks for the restart. */
static void test_l_the_liar_dies(void **state)
{
    (void)state;
    struct sim *sim = open_group(3);
    announce_all(sim, 1);
    scoped_free char *liar = mem_strdup(pod_of(sim, "0.1")->meta.uid);
    lie(sim, "0.1", 5);
    stage_run(sim, SECOND);
    group_is(sim, "0/1 0/0/0");
    assert_int_equal(kit_events(sim, "InvalidEpoch"), 1);
    assert_true(cache_by_uid(sim_store(sim)->cache, liar)->meta.deleted != 0);
    confirm_deletions(sim);
    stage_run(sim, 20 * SECOND);
    announce_all(sim, 2);
    group_is(sim, "1/2 0/1/1 RestartingJobSet(InPlaceRestart)");
    sim_free(sim);
}

static void test_restart_on_demand(void **state)
{
    (void)state;
    struct sim *sim = open_group(0);
    kit_patch_set(sim, REQUEST("early")); /* nobody runs: nothing to do */
    group_is(sim, "0/0 0/0/0 RestartRequested(Restarted)");
    announce_all(sim, 1);
    group_is(sim, "0/1 0/0/0 RestartRequested(Restarted)");
    kit_patch_set(sim, REQUEST("2026-01-01T00:00:00Z"));
    group_is(sim, "1/1 0/0/1 RestartRequested(Restarted) RestartingJobSet(RestartRequested)");
    assert_string_equal(kit_condition(sim, "RestartRequested", "message"), "2026-01-01T00:00:00Z");
    sim_restart_manager(sim);
    stage_run(sim, SECOND);
    announce_all(sim, 2);
    group_is(sim, "1/2 0/0/1 RestartRequested(Restarted) RestartingJobSet(RestartRequested)");
    kit_patch_set(sim, "{'metadata':{'annotations':null}}");
    group_is(sim, "1/2 0/0/1 RestartRequested(Restarted) RestartingJobSet(RestartRequested)");
    sim_free(sim);
}

/* Nobody runs, so nothing was restarted; and nothing is later. */
static void test_restart_of_what_does_not_run(void **state)
{
    (void)state;
    struct sim *sim = open_group(0);
    announce_all(sim, 1);
    kit_patch_set(sim, "{'spec':{'suspend':true}}");
    kit_patch_set(sim, REQUEST("asleep"));
    group_is(sim, "1/1 0/0/0 Suspended(SuspendedJobs) RestartRequested(JobSetSuspended)");
    confirm_deletions(sim);
    kit_patch_set(sim, "{'spec':{'suspend':false}}");
    stage_run(sim, 10 * SECOND);
    announce_all(sim, 2);
    group_is(sim, "1/2 0/0/0 RestartRequested(JobSetSuspended)");
    announce(sim, "0.0", 3);
    kit_patch_set(sim, REQUEST("over"));
    group_is(sim, "1/2 0/0/0 RestartRequested(JobSetFinished) Failed(ReachedMaxRestarts)");
    sim_free(sim);
}

/* Of the reports of N members a constant number makes the controller look at the JobSet. */
static void test_n_looks_do_not_grow_with_members(void **state)
{
    (void)state;
    struct sim *sim = open_group_with(200, "'maxRestarts':3", "");
    struct cache *cache = sim_store(sim)->cache;
    assert_int_equal(cache_count(cache, &KIND_POD), 400);
    stage_run(sim, 10 * SECOND);
    struct manager_stats before, after;
    (void)manager_stats(sim_manager(sim), &before, 1);
    struct obj *pod = cache_first(cache, &KIND_POD, "default");
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, "default", pod))
        sim_submit(sim, stage_write(WRITE_PATCH, &KIND_POD, "default", pod->meta.name,
                                    "{'metadata':{'annotations':{'" EPOCH_NOTE "':'1'}}}"));
    stage_run(sim, 10 * SECOND);
    (void)manager_stats(sim_manager(sim), &after, 1);
    assert_string_equal(after.controller, "jobset-controller");
    group_is(sim, "0/1 0/0/0");
    assert_in_range(after.reconciles - before.reconciles, 1, 4);
    assert_int_equal(after.writes - before.writes, 1);
    sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_01_04_a_life_with_one_restart),
        cmocka_unit_test(test_05_08_upstreams_names),
        cmocka_unit_test(test_13_19_restarts_of_containers_are_not_charged),
        cmocka_unit_test(test_14_j_no_restart_left),
        cmocka_unit_test(test_j_the_cause_of_a_restart),
        cmocka_unit_test(test_j_the_cause_as_a_status_has_it),
        cmocka_unit_test(test_16_17_j_restarts_that_do_not_count),
        cmocka_unit_test(test_j_a_job_made_anew_is_charged_once),
        cmocka_unit_test(test_22_pods_of_others),
        cmocka_unit_test(test_a_one_has_succeeded_and_another_fails),
        cmocka_unit_test(test_e_controllers_come_and_go),
        cmocka_unit_test(test_g_a_pod_is_replaced),
        cmocka_unit_test(test_h_suspend_and_resume),
        cmocka_unit_test(test_h_suspend_while_it_restarts),
        cmocka_unit_test(test_h_78_size_changes),
        cmocka_unit_test(test_h_a_complete_job_does_not_grow),
        cmocka_unit_test(test_k_waiting_costs_nothing),
        cmocka_unit_test(test_l_an_impossible_epoch),
        cmocka_unit_test(test_l_the_server_refuses_what_is_beyond),
        cmocka_unit_test(test_l_the_liar_dies),
        cmocka_unit_test(test_restart_on_demand),
        cmocka_unit_test(test_restart_of_what_does_not_run),
        cmocka_unit_test(test_n_looks_do_not_grow_with_members),
    };
    return cmocka_run_group_tests_name("jobset in place", tests, NULL, NULL);
}
