// SPDX-License-Identifier: Apache-2.0
/* The node as the agent of a group's pods. The test plays the JobSet's controller: it writes the
 * status by hand and looks at what the members announce. */
#include "base/mem.h"
#include "nodestage.h"

#define WORKER "'restartPolicy':'OnFailure','containers':[{'name':'c','command':['x']}]"
#define EPOCH "jobset.sigs.k8s.io/epoch"
#define CAUSE "muster.dev/epoch-cause"

static struct nodestage s;

static const char *set_uid(void)
{
    const struct obj *set = stage_get(s.sim, &KIND_JOBSET, "default", "g");
    assert_non_null(set);
    return set->meta.uid;
}

static void make_set(const char *strategy)
{
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'g'},'spec':{'failurePolicy':{'maxRestarts':3,'restartStrategy':'%s'},"
        "'replicatedJobs':[{'name':'w','template':{'spec':{'completions':2,'parallelism':2,"
        "'backoffLimit':2147483647,'podReplacementPolicy':'Failed','template':{'spec':{"
        "'containers':[{'name':'c','command':['x']}]}}}}}]}}",
        strategy);
    stage_do(s.sim, stage_write(WRITE_CREATE, &KIND_JOBSET, "default", "g", body));
}

static struct write *epochs(int deprecated, int synced)
{
    scoped_free char *body =
        mem_printf("{'status':{'deprecatedEpoch':%d,'syncedEpoch':%d}}", deprecated, synced);
    struct write *write = stage_write(WRITE_PATCH, &KIND_JOBSET, "default", "g", body);
    write->patch_type = PATCH_MERGE;
    write->sub = SUB_STATUS;
    return write;
}

static void publish(int deprecated, int synced)
{
    stage_do(s.sim, epochs(deprecated, synced));
}

static void make_pod(const char *name, const char *uid, const char *spec)
{
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'%s','labels':{'jobset.sigs.k8s.io/jobset-name':'g',"
                   "'jobset.sigs.k8s.io/jobset-uid':'%s'}},'spec':{'nodeName':'n',%s}}",
                   name, uid, spec);
    stage_do(s.sim, stage_write(WRITE_CREATE, &KIND_POD, "default", name, body));
}

static int open_stage(void **state)
{
    (void)state;
    nodestage_open(&s, false);
    return 0;
}

static int open_group(void **state)
{
    (void)open_stage(state);
    make_set("InPlaceRestart");
    make_pod("a", set_uid(), WORKER);
    make_pod("b", set_uid(), WORKER);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    nodestage_close(&s);
    return 0;
}

static size_t alive(const char *pod)
{
    return sim_runtime_alive(s.runtime, uid_of(&s, pod));
}

static const char *note_of(const char *pod, const char *name)
{
    const char *text = yyjson_get_str(yyjson_obj_get(pod_of(&s, pod)->meta.annotations, name));
    return text != NULL ? text : "";
}

static const char *epoch_of(const char *pod)
{
    return note_of(pod, EPOCH);
}

static void dies(const char *pod, int code)
{
    assert_true(sim_runtime_exit(s.runtime, uid_of(&s, pod), "c", code));
    stage_run(s.sim, 100);
}

static void assert_group(const char *a, const char *b, size_t n_alive)
{
    assert_string_equal(epoch_of("a"), a);
    assert_string_equal(epoch_of("b"), b);
    assert_int_equal(alive("a") + alive("b"), n_alive);
}

static void test_nothing_starts_until_everyone_is_here(void **state)
{
    (void)state;
    run_s(&s, 5);
    assert_group("1", "1", 0);
    assert_string_equal(pod_says(&s, "a", "phase"), "Pending");
    assert_string_equal(container_says(&s, "a", "c", "lifecycle.state"), "blocked");
    assert_string_equal(container_says(&s, "a", "c", "state.waiting.reason"), "WaitingForGroup");
    assert_string_equal(container_says(&s, "a", "c", "state.waiting.message"),
                        "waits for the other members of its group");
    publish(0, 1);
    run_s(&s, 1);
    assert_group("1", "1", 2);
    assert_string_equal(pod_says(&s, "a", "phase"), "Running");
}

static void test_a_death_restarts_all(void **state)
{
    (void)state;
    publish(0, 1);
    run_s(&s, 3);
    assert_group("1", "1", 2);
    dies("a", 9);
    assert_group("2", "2", 0); /* the node is the agent of both, and need not be told */
    publish(1, 1);
    run_s(&s, 1);
    assert_group("2", "2", 0);
    publish(1, 2);
    run_s(&s, 3);
    assert_group("2", "2", 2);
    assert_int_equal(container_number(&s, "a", "c", "restartCount"), 1);
    assert_int_equal(container_number(&s, "b", "c", "restartCount"), 1);
    assert_int_equal(container_number(&s, "a", "c", "lastState.terminated.exitCode"), 9);
    assert_string_equal(pod_says(&s, "b", "phase"), "Running");
}

/* Who died tells why with what it announces; who ended because of it has nothing to tell. */
static void test_the_first_dead_tells_why(void **state)
{
    (void)state;
    publish(0, 1);
    run_s(&s, 3);
    dies("a", 9);
    assert_string_equal(note_of("a", CAUSE), "2 container c ended with exit code 9");
    assert_string_equal(note_of("b", CAUSE), "");
    publish(1, 1);
    publish(1, 2);
    run_s(&s, 1);
    assert_true(sim_runtime_exit(s.runtime, uid_of(&s, "b"), "c", 137));
    dies("a", 1); /* at once: one of them tells */
    assert_string_equal(note_of("b", CAUSE), "3 container c ended with exit code 137 (signal 9)");
    assert_string_equal(note_of("a", CAUSE), ""); /* of an epoch that is over */
}

/* No pause, however often. */
static void test_no_back_off(void **state)
{
    (void)state;
    publish(0, 1);
    run_s(&s, 1);
    for (int epoch = 1; epoch <= 8; epoch++) {
        dies("b", 1);
        publish(epoch, epoch);
        publish(epoch, epoch + 1);
        assert_int_equal(alive("a") + alive("b"), 2);
    }
    run_s(&s, 3);
    assert_int_equal(container_number(&s, "b", "c", "restartCount"), 8);
}

/* Between the death and the last start a pod is written once: that it has a new epoch. */
static void test_statuses_are_written_afterwards(void **state)
{
    (void)state;
    publish(0, 1);
    run_s(&s, 5);
    uint64_t before = pod_of(&s, "b")->revision;
    dies("a", 1);
    publish(1, 1);
    assert_true(pod_of(&s, "b")->revision > before);
    assert_int_equal(container_number(&s, "b", "c", "restartCount"), 0);
    assert_true(is_condition(&s, "b", "Ready", "True"));
    run_s(&s, 3); /* the barrier stays: now people will ask */
    assert_string_equal(container_says(&s, "b", "c", "state.waiting.reason"), "WaitingForGroup");
    assert_true(is_condition(&s, "b", "Ready", "False"));
}

/* Who has been started is still at its exec: it goes first, for a quarter of the time that all
 * took. */
static void test_statuses_wait_for_the_workers(void **state)
{
    (void)state;
    publish(0, 1);
    run_s(&s, 5);
    dies("a", 1);
    publish(1, 1);
    stage_run(s.sim, 400);
    sim_submit(s.sim, epochs(1, 2)); /* a second after the death */
    stage_run(s.sim, 200);
    assert_group("2", "2", 2);
    assert_int_equal(container_number(&s, "b", "c", "restartCount"), 0);
    stage_run(s.sim, 200);
    assert_int_equal(container_number(&s, "b", "c", "restartCount"), 1);
    assert_true(is_condition(&s, "b", "Ready", "True"));
}

static void test_success_leaves(void **state)
{
    (void)state;
    publish(0, 1);
    run_s(&s, 3);
    dies("a", 0);
    run_s(&s, 2);
    assert_string_equal(pod_says(&s, "a", "phase"), "Succeeded");
    dies("b", 1);
    publish(1, 1);
    publish(1, 2);
    run_s(&s, 2);
    assert_group("1", "2", 1);
    assert_string_equal(pod_says(&s, "a", "phase"), "Succeeded");
}

static void test_the_verdict_ends_them(void **state)
{
    (void)state;
    publish(0, 1);
    run_s(&s, 3);
    struct write *write = stage_write(
        WRITE_PATCH, &KIND_JOBSET, "default", "g",
        "{'status':{'conditions':[{'type':'Failed','status':'True','reason':'ReachedMaxRestarts',"
        "'message':'x','lastTransitionTime':'2026-01-01T00:00:10Z'}]}}");
    write->patch_type = PATCH_MERGE;
    write->sub = SUB_STATUS;
    stage_do(s.sim, write);
    run_s(&s, 2);
    assert_group("1", "1", 0);
}

/* ---- the node comes back ---- */

static void test_f_workers_that_live_go_on(void **state)
{
    (void)state;
    publish(0, 1);
    run_s(&s, 3);
    uint64_t starts = sim_runtime_starts(s.runtime);
    sim_crash(s.sim);
    run_s(&s, 5);
    assert_group("1", "1", 2);
    assert_int_equal(sim_runtime_starts(s.runtime), starts);
    dies("a", 1); /* and it is their agent as before */
    assert_group("2", "2", 0);
}

static void crash_with(const char *dying)
{
    sim_runtime_exit(s.runtime, uid_of(&s, dying), "c", 1);
    sim_crash(s.sim);
    run_s(&s, 5);
}

static void test_f_before_it_could_tell_of_a_death(void **state)
{
    (void)state;
    publish(0, 1);
    run_s(&s, 3);
    crash_with("a");
    assert_group("2", "1", 1);
    assert_string_equal(container_says(&s, "a", "c", "lifecycle.state"), "blocked");
}

static void test_f_back_behind_the_barrier(void **state)
{
    (void)state;
    publish(0, 1);
    run_s(&s, 3);
    dies("a", 1);
    publish(1, 1);
    assert_group("2", "2", 0);
    sim_crash(s.sim);
    run_s(&s, 1);
    assert_group("2", "2", 0); /* announced before, so nothing is announced twice */
    publish(1, 2);
    run_s(&s, 5);
    assert_group("2", "2", 2);
}

/* However often it comes back before the lift, each worker starts once. */
static void test_d_back_many_times_behind_the_barrier(void **state)
{
    (void)state;
    for (int epoch = 1; epoch <= 5; epoch++) {
        for (int times = 1; times < epoch; times++) {
            sim_crash(s.sim);
            run_s(&s, 5);
            assert_int_equal(alive("a") + alive("b"), 0);
        }
        uint64_t starts = sim_runtime_starts(s.runtime);
        publish(epoch - 1, epoch);
        run_s(&s, 3);
        scoped_free char *text = mem_printf("%d", epoch);
        assert_group(text, text, 2);
        assert_int_equal(sim_runtime_starts(s.runtime), starts + 2);
        dies(epoch % 2 == 0 ? "a" : "b", 1);
        publish(epoch, epoch);
    }
}

/* ---- the node is told to end ---- */

static void on_quiet(void *arg)
{
    (*(int *)arg)++;
}

static int64_t set_says(const char *field)
{
    const struct obj *set = stage_get(s.sim, &KIND_JOBSET, "default", "g");
    return json_int_at(yyjson_obj_get(set->root, "status"), field, 0);
}

/* Before a pod is touched the epoch is over, so that nobody has to ask for the next one. */
static void test_a_shutdown_is_not_the_groups_fault(void **state)
{
    (void)state;
    int quiet = 0;
    publish(0, 1);
    run_s(&s, 3);
    assert_group("1", "1", 2);
    runner_shutdown(s.runner, on_quiet, &quiet);
    run_s(&s, 1);
    assert_int_equal(quiet, 1);
    assert_group("1", "1", 0);
    assert_int_equal(set_says("deprecatedEpoch"), 1);
    assert_int_equal(set_says("previousInPlaceRestartAttempt"), 0);
    assert_int_equal(set_says("inPlaceRestarts"), 1);
    assert_int_equal(set_says("restartsCountTowardsMax"), 0);
    const struct obj *set = stage_get(s.sim, &KIND_JOBSET, "default", "g");
    yyjson_val *condition = yyjson_arr_get_first(json_at(set->root, "status.conditions"));
    assert_string_equal(json_str_at(condition, "type"), "RestartingJobSet");
    assert_string_equal(json_str_at(condition, "reason"), "NodeShutdown");
    sim_restart_manager(s.sim);
    run_s(&s, 2);
    assert_group("2", "2", 0); /* at the barrier, which is what the group waits for */
    publish(1, 2);
    run_s(&s, 1);
    assert_group("2", "2", 2);
}

/* What is not running is left as it is; a second call does not wait for anything. */
static void test_a_shutdown_at_the_barrier(void **state)
{
    (void)state;
    int quiet = 0;
    run_s(&s, 3);
    uint64_t before = stage_get(s.sim, &KIND_JOBSET, "default", "g")->revision;
    runner_shutdown(s.runner, on_quiet, &quiet);
    run_s(&s, 1);
    assert_int_equal(quiet, 1);
    assert_int_equal(stage_get(s.sim, &KIND_JOBSET, "default", "g")->revision, before);
}

static void test_a_hasty_shutdown_waits_for_no_write(void **state)
{
    (void)state;
    int quiet = 0;
    publish(0, 1);
    run_s(&s, 3);
    runner_shutdown(s.runner, on_quiet, &quiet);
    runner_shutdown(s.runner, on_quiet, &quiet);
    assert_int_equal(set_says("deprecatedEpoch"), 0);
    stage_run(s.sim, 100);
    assert_int_equal(quiet, 1);
    assert_group("1", "1", 0);
}

/* ---- who is no member ---- */

static void test_others_do_not_wait(void **state)
{
    (void)state;
    make_set("Recreate");
    make_pod("a", set_uid(), WORKER);
    make_pod("b", set_uid(),
             "'restartPolicy':'OnFailure','containers':[{'name':'c','command':['muster-agent','--',"
             "'x']}]");
    run_s(&s, 2);
    assert_group("", "", 2);
}

static void test_who_brings_an_agent(void **state)
{
    (void)state;
    make_set("InPlaceRestart");
    make_pod("a", set_uid(),
             "'restartPolicy':'OnFailure','containers':[{'name':'c','command':['/bin/muster-agent',"
             "'--','x']}]");
    make_pod("b", set_uid(),
             "'restartPolicy':'OnFailure','initContainers':[{'name':'i','restartPolicy':'Always',"
             "'command':['y'],'startupProbe':{'httpGet':{'path':'/barrier-is-lifted','port':8080}}}"
             "],'containers':[{'name':'c','command':['x']}]");
    run_s(&s, 2);
    assert_group("", "", 3);
}

/* ---- names ---- */

static struct {
    struct runtime_ops ops;
    int writes, removals;
    char *text; /* as it is; NULL: there is no file */
} names;

static void on_hosts(struct runtime *runtime, const char *set, const char *text_or_null)
{
    (void)runtime;
    assert_string_equal(set, set_uid());
    names.writes += text_or_null != NULL;
    names.removals += text_or_null == NULL;
    mem_free(names.text);
    names.text = mem_strdup(text_or_null);
}

static void keep_names(void)
{
    struct runtime *port = sim_runtime_port(s.runtime);
    mem_free(names.text);
    memset(&names, 0, sizeof(names));
    names.ops = *port->ops;
    names.ops.hosts = on_hosts;
    port->ops = &names.ops;
}

static void resize(int members)
{
    scoped_free char *body = mem_printf(
        "[{'op':'replace','path':'/spec/replicatedJobs/0/template/spec/completions','value':%d},"
        "{'op':'replace','path':'/spec/replicatedJobs/0/template/spec/parallelism','value':%d}]",
        members, members);
    struct write *write = stage_write(WRITE_PATCH, &KIND_JOBSET, "default", "g", body);
    write->patch_type = PATCH_JSON;
    stage_do(s.sim, write);
}

/* One file for all pods of a JobSet, also where the node is nobody's agent. */
static void test_names_live_as_long_as_a_pod_does(void **state)
{
    (void)state;
    keep_names();
    make_set("Recreate");
    make_pod("a", set_uid(), WORKER);
    make_pod("b", set_uid(),
             "'restartPolicy':'OnFailure','containers':[{'name':'c','command':['muster-agent','--',"
             "'x']}]");
    run_s(&s, 2);
    assert_int_equal(names.writes, 1);
    assert_non_null(strstr(names.text, "\n127.0.0.1\tg-w-0-1.g g-w-0-1\n"));
    assert_null(strstr(names.text, "g-w-0-2"));
    publish(0, 1); /* says nothing of names */
    run_s(&s, 1);
    assert_int_equal(names.writes, 1);
    resize(3);
    assert_int_equal(names.writes, 2);
    assert_non_null(strstr(names.text, "\tg-w-0-2.g g-w-0-2\n"));
    dies("a", 0);
    run_s(&s, 2);
    assert_int_equal(names.removals, 0);
    dies("b", 0);
    run_s(&s, 2);
    assert_int_equal(names.removals, 1);
    assert_null(names.text);
}

static const char *const NO_ENV[] = {NULL};

/* What the container of this pod is told, as the word that a manifest would use for it. */
static void expect_names_at(const char *pod, const char *want)
{
    struct launch_node node = {
        .name = "n", .pod_ip = "127.0.0.1", .hosts_dir = "/hosts", .base_env = NO_ENV};
    struct arena arena = {0};
    struct launch launch;
    const struct obj *obj = pod_of(&s, pod);
    yyjson_val *container = yyjson_arr_get_first(json_at(obj->root, "spec.containers"));
    assert_int_equal(
        launch_make(&arena, sim_store(s.sim)->cache, obj, container, &node, &launch, NULL), 0);
    assert_string_equal(launch.argv[0], want);
    arena_done(&arena);
}

static void test_containers_are_told_where_names_are(void **state)
{
    static const char NAMED[] = "'containers':[{'name':'c','command':['$(MUSTER_HOSTS_FILE)']}]";
    (void)state;
    make_set("Recreate");
    make_pod("a", set_uid(), NAMED);
    make_pod("b", "00000000-0000-0000-0000-000000000000", NAMED);
    scoped_free char *want = mem_printf("/hosts/%s", set_uid());
    expect_names_at("a", want);
    expect_names_at("b", "$(MUSTER_HOSTS_FILE)");
    stage_do(s.sim, stage_write(WRITE_DELETE, &KIND_JOBSET, "default", "g", NULL));
    stage_do(
        s.sim,
        stage_write(WRITE_CREATE, &KIND_JOBSET, "default", "g",
                    "{'metadata':{'name':'g'},'spec':{'network':{'enableDNSHostnames':false}}}"));
    make_pod("d", set_uid(), NAMED);
    expect_names_at("d", "$(MUSTER_HOSTS_FILE)");
}

static void test_a_group_has_its_names_through_restarts(void **state)
{
    (void)state;
    keep_names();
    make_set("InPlaceRestart");
    make_pod("a", set_uid(), WORKER);
    make_pod("b", set_uid(), WORKER);
    publish(0, 1);
    run_s(&s, 3);
    dies("a", 9);
    publish(1, 1);
    publish(1, 2);
    run_s(&s, 3);
    assert_group("2", "2", 2);
    assert_int_equal(names.writes, 1);
    assert_int_equal(names.removals, 0);
    mem_free(names.text);
    names.text = NULL;
}

/* Pods of a JobSet of the same name that is gone do not start any more. */
static void test_g_older_incarnations_are_fenced(void **state)
{
    (void)state;
    make_set("InPlaceRestart");
    make_pod("a", "00000000-0000-0000-0000-000000000000", WORKER);
    publish(0, 1);
    run_s(&s, 3);
    assert_int_equal(alive("a"), 0);
    assert_string_equal(container_says(&s, "a", "c", "state.waiting.reason"), "JobSetNotFound");
}

int main(void)
{
#define STORY(name) cmocka_unit_test_setup_teardown(name, open_group, close_stage)
#define ALONE(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)
    const struct CMUnitTest tests[] = {
        STORY(test_nothing_starts_until_everyone_is_here),
        STORY(test_a_death_restarts_all),
        STORY(test_the_first_dead_tells_why),
        STORY(test_no_back_off),
        STORY(test_statuses_are_written_afterwards),
        STORY(test_statuses_wait_for_the_workers),
        STORY(test_success_leaves),
        STORY(test_the_verdict_ends_them),
        STORY(test_f_workers_that_live_go_on),
        STORY(test_f_before_it_could_tell_of_a_death),
        STORY(test_f_back_behind_the_barrier),
        STORY(test_d_back_many_times_behind_the_barrier),
        STORY(test_a_shutdown_is_not_the_groups_fault),
        STORY(test_a_shutdown_at_the_barrier),
        STORY(test_a_hasty_shutdown_waits_for_no_write),
        ALONE(test_others_do_not_wait),
        ALONE(test_who_brings_an_agent),
        ALONE(test_names_live_as_long_as_a_pod_does),
        ALONE(test_containers_are_told_where_names_are),
        ALONE(test_a_group_has_its_names_through_restarts),
        ALONE(test_g_older_incarnations_are_fenced),
    };
    return cmocka_run_group_tests_name("control/gang", tests, NULL, NULL);
}
