// SPDX-License-Identifier: Apache-2.0
/* A supervisor that comes back: nothing is started twice, no exit is lost, and whoever reads the
 * objects sees nothing of it. The containers live on meanwhile. */
#include "base/mem.h"
#include "nodestage.h"
#include <signal.h>

#define ONE "'containers':[{'name':'c','command':['x']}]"
#define HOUR 3600000

static struct nodestage s;

static int open_stage(void **state)
{
    (void)state;
    nodestage_open(&s, false);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    nodestage_close(&s);
    return 0;
}

static void end(const char *pod, const char *container, int code)
{
    assert_true(sim_runtime_exit(s.runtime, uid_of(&s, pod), container, code));
}

/* The pod's version: unchanged when nobody wrote it. */
static uint64_t version(const char *pod)
{
    return pod_of(&s, pod)->revision;
}

static void come_back(bool crashes)
{
    if (crashes)
        sim_crash(s.sim);
    else
        sim_restart_manager(s.sim);
}

/* Running, ended for good, crashed and waiting, waiting for an init container: all as they were. */
static void check_nothing_is_written(bool crashes)
{
    nodestage_pod(&s, "runs", "",
                  "'containers':[{'name':'c','command':['x'],'readinessProbe':{'httpGet':{'port':"
                  "80}}}]");
    nodestage_pod(&s, "half", "'sim.muster.dev/run':'a=1s'",
                  "'restartPolicy':'Never','containers':[{'name':'a','command':['x']},{'name':'b',"
                  "'command':['x']}]");
    nodestage_pod(&s, "loops", "'sim.muster.dev/exit':'1@1s'", ONE);
    nodestage_pod(&s, "again", "", ONE);
    nodestage_pod(&s, "inits", "",
                  "'initContainers':[{'name':'i','command':['x']}],'containers':[{'name':'c',"
                  "'command':['x']}]");
    run_s(&s, 3);
    end("again", "c", 9);
    run_s(&s, 3);
    static const char *const PODS[] = {"runs", "half", "loops", "again", "inits"};
    uint64_t before[ARRAY_LEN(PODS)];
    for (size_t i = 0; i < ARRAY_LEN(PODS); i++)
        before[i] = version(PODS[i]);
    uint64_t starts = sim_runtime_starts(s.runtime);
    come_back(crashes);
    run_s(&s, 2);
    for (size_t i = 0; i < ARRAY_LEN(PODS); i++) {
        if (before[i] != version(PODS[i])) {
            scoped_free char *text = status_text(&s, PODS[i]);
            print_message("%s\n", text);
            fail_msg("%s was written", PODS[i]);
        }
    }
    assert_int_equal(sim_runtime_starts(s.runtime), starts);
    assert_int_equal(container_number(&s, "again", "c", "lastState.terminated.exitCode"), 9);
    assert_true(sim_runtime_share(s.runtime, uid_of(&s, "runs")) == 1.0);
    run_s(&s, 10); /* the back-off goes on where it was */
    assert_int_equal(container_number(&s, "loops", "c", "restartCount"), 2);
}

static void test_nothing_is_written(void **state)
{
    (void)state;
    check_nothing_is_written(false);
}

static void test_crash(void **state)
{
    (void)state;
    check_nothing_is_written(true);
}

/* It ended while nobody was there to hear it. */
static void test_exit_is_not_lost(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "", "'restartPolicy':'Never'," ONE);
    nodestage_pod(&s, "q", "", ONE);
    run_s(&s, 2);
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.tell_ms = 5000});
    end("p", "c", 17);
    end("q", "c", 18);
    stage_run(s.sim, 1);
    come_back(false);
    run_s(&s, 10);
    assert_string_equal(pod_says(&s, "p", "phase"), "Failed");
    assert_int_equal(container_number(&s, "p", "c", "state.terminated.exitCode"), 17);
    assert_int_equal(container_number(&s, "q", "c", "lastState.terminated.exitCode"), 18);
    assert_int_equal(container_number(&s, "q", "c", "restartCount"), 1);
}

/* It ends after it was listed and before its pod was looked at. */
static void test_ends_while_adopted(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "", "'restartPolicy':'Never'," ONE);
    run_s(&s, 2);
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.tell_ms = 2000});
    come_back(false);
    end("p", "c", 19);
    run_s(&s, 10);
    assert_string_equal(pod_says(&s, "p", "phase"), "Failed");
    assert_int_equal(container_number(&s, "p", "c", "state.terminated.exitCode"), 19);
}

/* The ConfigMap is gone by now: a pod that runs does not stop for that. */
static void test_config_is_gone(void **state)
{
    (void)state;
    stage_do(s.sim, stage_write(WRITE_CREATE, &KIND_CONFIGMAP, "default", "m",
                                "{'metadata':{'name':'m'},'data':{'A':'b'}}"));
    nodestage_pod(&s, "p", "",
                  "'containers':[{'name':'c','command':['x'],'envFrom':[{'configMapRef':{'name':"
                  "'m'}}]}]");
    run_s(&s, 1);
    stage_do(s.sim, stage_write(WRITE_DELETE, &KIND_CONFIGMAP, "default", "m", NULL));
    come_back(false);
    run_s(&s, 1);
    assert_string_equal(pod_says(&s, "p", "phase"), "Running");
    assert_int_equal(sim_runtime_starts(s.runtime), 1);
    nodestage_delete(&s, "p", -1);
    assert_true(pod_is_gone(&s, "p"));
    assert_int_equal(sim_runtime_alive(s.runtime, NULL), 0);
}

/* Deleted before or while we were away: confirmed when the process is gone, with what was left of
 * the grace. */
static void test_deletion_goes_on(void **state)
{
    (void)state;
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.deaf = 10000});
    nodestage_pod(&s, "p", "", "'terminationGracePeriodSeconds':30," ONE);
    run_s(&s, 1);
    nodestage_delete(&s, "p", -1);
    run_s(&s, 10);
    come_back(true);
    for (int second = 11; second < 29; second++) {
        assert_int_equal(sim_runtime_alive(s.runtime, NULL), 1);
        assert_false(pod_is_gone(&s, "p"));
        run_s(&s, 1);
    }
    run_s(&s, 4);
    assert_true(pod_is_gone(&s, "p"));
    assert_int_equal(sim_runtime_kept(s.runtime), 0);
}

/* Whatever nobody knows any more ends, also where its pod goes in the same moment. */
static void test_strays(void **state)
{
    (void)state;
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.death_ms = 9000});
    nodestage_pod(&s, "p", "", ONE);
    nodestage_pod(&s, "q", "", ONE);
    run_s(&s, 1);
    nodestage_delete(&s, "p", 0);
    come_back(false);
    sim_submit(s.sim, ({
                   struct write *write = stage_write(WRITE_DELETE, &KIND_POD, "default", "q", NULL);
                   write->grace_s = 0;
                   write;
               }));
    run_s(&s, 20);
    assert_int_equal(sim_runtime_kept(s.runtime), 0);
    assert_int_equal(sim_runtime_starts(s.runtime), 2);
}

/* ---- a restart of all goes on ---- */

#define ALL_AGAIN                                                                                  \
    "'restartPolicy':'Never','initContainers':[{'name':'setup','command':['x']},"                  \
    "{'name':'side','command':['x'],'restartPolicy':'Always'}],"                                   \
    "'containers':[{'name':'c','command':['x'],'restartPolicy':'Never','restartPolicyRules':[{"    \
    "'action':'RestartAllContainers','exitCodes':{'operator':'In','values':[64]}}]},"              \
    "{'name':'d','command':['x']}]"

static void check_all_run_again(void)
{
    static const char *const NAMES[] = {"setup", "side", "c", "d"};
    run_s(&s, 30);
    assert_true(is_condition(&s, "p", "Ready", "True"));
    assert_int_equal(sim_runtime_alive(s.runtime, NULL), 3);
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        assert_int_equal(container_number(&s, "p", NAMES[i], "restartCount"), 1);
    assert_int_equal(sim_runtime_starts(s.runtime), 2 * ARRAY_LEN(NAMES));
    sim_runtime_heal(s.runtime);
    nodestage_delete(&s, "p", 0);
    run_s(&s, 5);
    assert_int_equal(sim_runtime_kept(s.runtime), 0);
}

static void begin_to_restart_all(void)
{
    nodestage_pod(&s, "p", "'sim.muster.dev/run':'setup=5s'", ALL_AGAIN);
    run_s(&s, 7);
    assert_int_equal(sim_runtime_alive(s.runtime, NULL), 3);
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.death_ms = 10000});
    end("p", "c", 64);
}

static void check_back_in_the_clean_up(bool crashes)
{
    begin_to_restart_all();
    for (int i = 0; i < 3; i++) {
        stage_run(s.sim, 500);
        assert_int_equal(sim_runtime_starts(s.runtime), 4);
        assert_in_range(sim_runtime_alive(s.runtime, NULL), 1, 2);
        come_back(crashes);
    }
    check_all_run_again();
}

static void check_back_in_the_start_up(bool crashes)
{
    begin_to_restart_all();
    for (int i = 0; i < 200 && sim_runtime_starts(s.runtime) == 4; i++)
        stage_run(s.sim, 100);
    for (int i = 0; i < 3; i++) { /* while the init container runs, which takes five seconds */
        assert_int_equal(sim_runtime_starts(s.runtime), 5);
        assert_int_equal(sim_runtime_alive(s.runtime, NULL), 1);
        come_back(crashes);
        stage_run(s.sim, 1000);
    }
    check_all_run_again();
}

static void test_87_back_in_the_clean_up(void **state)
{
    (void)state;
    check_back_in_the_clean_up(false);
}

static void test_87_crash_in_the_clean_up(void **state)
{
    (void)state;
    check_back_in_the_clean_up(true);
}

static void test_87_back_in_the_start_up(void **state)
{
    (void)state;
    check_back_in_the_start_up(false);
}

static void test_87_crash_in_the_start_up(void **state)
{
    (void)state;
    check_back_in_the_start_up(true);
}

/* ---- time ---- */

/* Pauses, graces and time-outs do not follow the clock on the wall. */
static void test_clock_set_back(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "'sim.muster.dev/exit':'1@1s'", ONE);
    nodestage_pod(&s, "d", "", "'activeDeadlineSeconds':60," ONE);
    run_s(&s, 6); /* in back-off since second 2 or 3, for 10 s */
    assert_int_equal(sim_runtime_starts(s.runtime), 3);
    sim_set_wall(s.sim, -HOUR);
    run_s(&s, 8);
    assert_int_equal(container_number(&s, "p", "c", "restartCount"), 2);
    sim_set_wall(s.sim, HOUR);
    nodestage_pod(&s, "g", "", "'terminationGracePeriodSeconds':20," ONE);
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.deaf = 10000});
    nodestage_pod(&s, "h", "", "'terminationGracePeriodSeconds':20," ONE);
    run_s(&s, 1);
    nodestage_delete(&s, "h", -1);
    sim_set_wall(s.sim, 2 * HOUR);
    run_s(&s, 18);
    assert_false(pod_is_gone(&s, "h"));
    sim_set_wall(s.sim, 0);
    run_s(&s, 3);
    assert_true(pod_is_gone(&s, "h"));
    assert_string_equal(pod_says(&s, "d", "phase"), "Running");
    run_s(&s, 30);
    assert_string_equal(pod_says(&s, "d", "phase"), "Failed");
}

/* Set back while we were away: what is in the objects lies in the future. */
static void test_set_back_and_restarted(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "'sim.muster.dev/exit':'1@1s'", ONE);
    nodestage_pod(&s, "r", "", ONE);
    nodestage_pod(&s, "d", "", "'activeDeadlineSeconds':60," ONE);
    run_s(&s, 6);
    uint64_t before = version("r");
    sim_set_wall(s.sim, -HOUR);
    come_back(true);
    run_s(&s, 20); /* the pause begins anew at worst */
    assert_int_equal(container_number(&s, "p", "c", "restartCount"), 2);
    assert_int_equal(before, version("r"));
    run_s(&s, 45);
    assert_string_equal(pod_says(&s, "d", "phase"), "Failed");
}

/* ---- the node ---- */

static void test_node_is_written_again(void **state)
{
    (void)state;
    run_s(&s, 5);
    uint64_t before = stage_get(s.sim, &KIND_NODE, "", "n")->revision;
    come_back(true);
    run_s(&s, 1);
    assert_true(before < stage_get(s.sim, &KIND_NODE, "", "n")->revision);
    before = stage_get(s.sim, &KIND_NODE, "", "n")->revision;
    run_s(&s, 100);
    assert_int_equal(before, stage_get(s.sim, &KIND_NODE, "", "n")->revision);
}

/* A runtime whose containers all say when they are ready: `start` counts without a probe. */
static void test_all_notify(void **state)
{
    (void)state;
    struct nodestage own;
    nodestage_open(&own, true);
    nodestage_pod(&own, "p", "'sim.muster.dev/start':'5s','sim.muster.dev/run':'20s'",
                  "'restartPolicy':'Never'," ONE);
    run_s(&own, 4);
    assert_true(is_condition(&own, "p", "Ready", "False"));
    run_s(&own, 1);
    assert_true(is_condition(&own, "p", "Ready", "True"));
    run_s(&own, 18);
    assert_string_equal(pod_says(&own, "p", "phase"), "Running");
    run_s(&own, 2);
    assert_string_equal(pod_says(&own, "p", "phase"), "Succeeded");
    nodestage_close(&own);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_is_written),
        TEST(test_crash),
        TEST(test_exit_is_not_lost),
        TEST(test_ends_while_adopted),
        TEST(test_config_is_gone),
        TEST(test_deletion_goes_on),
        TEST(test_strays),
        TEST(test_87_back_in_the_clean_up),
        TEST(test_87_crash_in_the_clean_up),
        TEST(test_87_back_in_the_start_up),
        TEST(test_87_crash_in_the_start_up),
        TEST(test_clock_set_back),
        TEST(test_set_back_and_restarted),
        TEST(test_node_is_written_again),
        cmocka_unit_test(test_all_notify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
