// SPDX-License-Identifier: Apache-2.0
/* The runner as stories: pods on one node with virtual containers, no faults. How it comes back
 * after a restart is in test_readopt.c; faults are in test/sim. */
#include "base/mem.h"
#include "nodestage.h"
#include <signal.h>

#define ONE "'containers':[{'name':'c','command':['x']}]"
#define PROBE "'httpGet':{'port':80},'periodSeconds':1"

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

static size_t alive(const char *pod)
{
    return sim_runtime_alive(s.runtime, uid_of(&s, pod));
}

static void end(const char *pod, const char *container, int code)
{
    assert_true(sim_runtime_exit(s.runtime, uid_of(&s, pod), container, code));
    stage_run(s.sim, 500);
}

static void assert_status(const char *pod, const char *expected)
{
    scoped_free char *text = status_text(&s, pod);
    assert_string_equal(text, expected);
}

#define AT(second) "'2026-01-01T00:00:" second "Z'"
#define CONDITION(type, status, second)                                                            \
    "{'type':'" type "','status':'" status "','lastTransitionTime':" AT(second) "}"
#define UNREADY(type, names, second)                                                               \
    "{'type':'" type "','status':'False','reason':'ContainersNotReady','message':"                 \
    "'containers with unready status: [" names "]','lastTransitionTime':" AT(second) "}"
#define ADDRESSES                                                                                  \
    "'hostIP':'127.0.0.1','hostIPs':[{'ip':'127.0.0.1'}],'podIP':'127.0.0.1',"                     \
    "'podIPs':[{'ip':'127.0.0.1'}],"
#define MOVE(state, second) "{'state':'" state "','at':" AT(second) "}"
#define START_MOVES(second)                                                                        \
    MOVE("downloading", second)                                                                    \
    "," MOVE("blocked", second) "," MOVE("pending", second) "," MOVE("starting", second)

/* ---- one pod ---- */

static void test_runs(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "", ONE);
    run_s(&s, 5);
    assert_status(
        "p",
        "{'phase':'Running','qosClass':'BestEffort','conditions':[" CONDITION("Initialized", "True", "01") "," CONDITION(
            "ContainersReady", "True",
            "01") "," CONDITION("Ready", "True",
                                "01") "]," ADDRESSES
                                      "'startTime':" AT(
                                          "01") ","
                                                "'containerStatuses':[{'name':'c','state':{'"
                                                "running':{'startedAt':" AT(
                                                    "01") "}},'lastState':{},'ready':true,'started'"
                                                          ":true,"
                                                          "'restartCount':0,'image':'','imageID':''"
                                                          ",'containerID':'sim://"
                                                          "UID/c/"
                                                          "1','lifecycle':{'state':'ready','since'"
                                                          ":" AT(
                                                              "01") ",'generation':1,'moves':"
                                                                    "[" START_MOVES("01") "," MOVE(
                                                                        "ready", "01") "]}"
                                                                                       "}]"
                                                                                       "}");
    assert_true(sim_runtime_share(s.runtime, uid_of(&s, "p")) == 1.0);
    assert_int_equal(runner_pods(s.runner), 1);
}

/* All of it after a death and a restart: lastState, restartCount, a new containerID. */
static void test_restarted(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "", ONE);
    run_s(&s, 3); /* 00:00:04.5 */
    end("p", "c", 7);
    assert_status(
        "p",
        "{'phase':'Running','qosClass':'BestEffort','conditions':[" CONDITION("Initialized", "True", "01") "," CONDITION(
            "ContainersReady", "True",
            "04") "," CONDITION("Ready", "True",
                                "04") "]," ADDRESSES
                                      "'startTime':" AT(
                                          "01") ","
                                                "'containerStatuses':[{'name':'"
                                                "c','state':{'running':{'"
                                                "startedAt':" AT(
                                                    "04") "}},'lastState':{'"
                                                          "terminated':{'"
                                                          "exitCode':7,'reason'"
                                                          ":'Error',"
                                                          "'startedAt':" AT(
                                                              "0"
                                                              "1") ",'finishedAt':" AT("04") ",'"
                                                                                             "conta"
                                                                                             "inerI"
                                                                                             "D':'"
                                                                                             "sim:/"
                                                                                             "/"
                                                                                             "UID/"
                                                                                             "c/"
                                                                                             "1'}},"
                                                                                             "'read"
                                                                                             "y':"
                                                                                             "true,"
                                                                                             "'"
                                                                                             "start"
                                                                                             "ed':"
                                                                                             "true,"
                                                                                             "'"
                                                                                             "resta"
                                                                                             "rtCou"
                                                                                             "nt':"
                                                                                             "1,'"
                                                                                             "image"
                                                                                             "':'"
                                                                                             "','"
                                                                                             "image"
                                                                                             "ID':'"
                                                                                             "','"
                                                                                             "conta"
                                                                                             "inerI"
                                                                                             "D':'"
                                                                                             "sim:/"
                                                                                             "/"
                                                                                             "UID/"
                                                                                             "c/2',"
                                                                                             "'life"
                                                                                             "cycle"
                                                                                             "':{'"
                                                                                             "state"
                                                                                             "'"
                                                                                             ":'"
                                                                                             "ready"
                                                                                             "','"
                                                                                             "since"
                                                                                             "'"
                                                                                             ":" AT("04") ",'generation':2,'moves':[" START_MOVES(
                                                                                                 "0"
                                                                                                 "4") "," MOVE("ready",
                                                                                                               "04") "]}}]}");
}

static void test_succeeds(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "'sim.muster.dev/run':'10s'", "'restartPolicy':'Never'," ONE);
    run_s(&s, 9);
    assert_string_equal(pod_says(&s, "p", "phase"), "Running");
    run_s(&s, 2);
    assert_string_equal(pod_says(&s, "p", "phase"), "Succeeded");
    assert_string_equal(container_says(&s, "p", "c", "state.terminated.reason"), "Completed");
    assert_int_equal(container_number(&s, "p", "c", "state.terminated.exitCode"), 0);
    assert_true(is_condition(&s, "p", "Ready", "False"));
    assert_true(is_condition(&s, "p", "Initialized", "True"));
    assert_int_equal(runner_pods(s.runner), 0);
    assert_int_equal(sim_runtime_kept(s.runtime), 0);
    assert_true(sim_runtime_share(s.runtime, uid_of(&s, "p")) == 0);
    nodestage_delete(&s, "p", -1);
    assert_true(pod_is_gone(&s, "p"));
}

static void test_fails(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "'sim.muster.dev/exit':'3@9s'", "'restartPolicy':'Never'," ONE);
    run_s(&s, 10);
    assert_string_equal(pod_says(&s, "p", "phase"), "Failed");
    assert_int_equal(container_number(&s, "p", "c", "state.terminated.exitCode"), 3);
    assert_string_equal(container_says(&s, "p", "c", "state.terminated.startedAt"),
                        "2026-01-01T00:00:01Z");
    assert_string_equal(container_says(&s, "p", "c", "state.terminated.finishedAt"),
                        "2026-01-01T00:00:10Z");
    assert_int_equal(sim_runtime_kept(s.runtime), 0);
}

/* The first restart comes at once, then after 10 s, 20 s, 40 s. */
static void test_crash_loop(void **state)
{
    (void)state;
    static const int STARTS[] = {0, 1, 12, 33, 74};
    nodestage_pod(&s, "p", "'sim.muster.dev/exit':'1@1s'", ONE);
    for (int second = 0; second < 80; second++) {
        int due = 0;
        for (size_t i = 0; i < ARRAY_LEN(STARTS); i++)
            due += STARTS[i] <= second;
        if (sim_runtime_starts(s.runtime) != (uint64_t)due)
            fail_msg("%d starts after %d s", (int)sim_runtime_starts(s.runtime), second);
        if (second == 20) {
            assert_string_equal(container_says(&s, "p", "c", "state.waiting.reason"),
                                "CrashLoopBackOff");
            assert_string_equal(container_says(&s, "p", "c", "lifecycle.nextStart"),
                                "2026-01-01T00:00:34Z");
            assert_string_equal(container_says(&s, "p", "c", "lastState.terminated.containerID") +
                                    strlen("sim://") + strlen(uid_of(&s, "p")),
                                "/c/3");
            assert_string_equal(pod_says(&s, "p", "phase"), "Running");
            assert_true(is_condition(&s, "p", "Ready", "False"));
        }
        run_s(&s, 1);
    }
    assert_int_equal(container_number(&s, "p", "c", "restartCount"), 4);
    assert_in_range(sim_runtime_kept(s.runtime), 1, 1); /* earlier ones are forgotten */
}

static void test_not_run(void **state)
{
    (void)state;
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.not_run = 10000});
    nodestage_pod(&s, "p", "", "'restartPolicy':'Never'," ONE);
    run_s(&s, 2);
    assert_string_equal(pod_says(&s, "p", "phase"), "Failed");
    assert_string_equal(container_says(&s, "p", "c", "state.terminated.reason"), "StartError");
    assert_non_null(
        strstr(container_says(&s, "p", "c", "state.terminated.message"), "temporarily"));
}

/* Who waits for its next try says what the last one met. */
static void test_not_run_yet(void **state)
{
    (void)state;
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.not_run = 10000});
    nodestage_pod(&s, "p", "", ONE);
    run_s(&s, 5);
    assert_string_equal(container_says(&s, "p", "c", "state.waiting.reason"), "CrashLoopBackOff");
    const char *says = container_says(&s, "p", "c", "state.waiting.message");
    assert_true(str_starts(says, "could not be started: "));
    assert_non_null(strstr(says, "; starts again after a pause"));
}

/* ---- several containers ---- */

#define GANG                                                                                       \
    "'restartPolicy':'Never','initContainers':[{'name':'setup','command':['x']},"                  \
    "{'name':'side','command':['x'],'restartPolicy':'Always'}],"                                   \
    "'containers':[{'name':'c','command':['x']}]"

static void test_init_and_sidecar(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "'sim.muster.dev/run':'setup=5s,c=20s'", GANG);
    run_s(&s, 2);
    assert_string_equal(pod_says(&s, "p", "phase"), "Pending");
    assert_true(is_condition(&s, "p", "Initialized", "False"));
    assert_string_equal(container_says(&s, "p", "c", "state.waiting.reason"), "PodInitializing");
    assert_string_equal(container_says(&s, "p", "side", "lifecycle.state"), "blocked");
    assert_int_equal(alive("p"), 1);
    run_s(&s, 4);
    assert_string_equal(pod_says(&s, "p", "phase"), "Running");
    assert_true(is_condition(&s, "p", "Initialized", "True"));
    assert_true(is_condition(&s, "p", "Ready", "True"));
    assert_string_equal(container_says(&s, "p", "setup", "state.terminated.reason"), "Completed");
    end("p", "side", 1);
    assert_int_equal(container_number(&s, "p", "side", "restartCount"), 1);
    assert_int_equal(alive("p"), 2);
    run_s(&s, 20); /* its work is done; the sidecar ends with the pod */
    assert_string_equal(pod_says(&s, "p", "phase"), "Succeeded");
    assert_int_equal(container_number(&s, "p", "side", "state.terminated.exitCode"), 128 + SIGTERM);
    assert_int_equal(sim_runtime_kept(s.runtime), 0);
}

static void test_init_fails(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "'sim.muster.dev/exit':'setup=4@2s'", GANG);
    run_s(&s, 3);
    assert_string_equal(pod_says(&s, "p", "phase"), "Failed");
    assert_int_equal(container_number(&s, "p", "setup", "state.terminated.exitCode"), 4);
    assert_int_equal(sim_runtime_starts(s.runtime), 1);
}

#define ALL_AGAIN                                                                                  \
    "'restartPolicy':'Never','initContainers':[{'name':'setup','command':['x']},"                  \
    "{'name':'side','command':['x'],'restartPolicy':'Always'}],"                                   \
    "'containers':[{'name':'c','command':['x'],'restartPolicy':'Never','restartPolicyRules':[{"    \
    "'action':'RestartAllContainers','exitCodes':{'operator':'In','values':[64]}}]},"              \
    "{'name':'d','command':['x']}]"

static void test_86_a_restart_of_all_is_told_of_each(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int code;
    } rows[] = {{"setup", 0}, {"side", 128 + SIGKILL}, {"c", 64}, {"d", 128 + SIGKILL}};
    nodestage_pod(&s, "p", "'sim.muster.dev/run':'setup=2s'", ALL_AGAIN);
    run_s(&s, 4);
    assert_true(is_condition(&s, "p", "Ready", "True"));
    end("p", "c", 64);
    assert_string_equal(pod_says(&s, "p", "phase"), "Pending");
    run_s(&s, 4);
    assert_string_equal(pod_says(&s, "p", "phase"), "Running");
    assert_true(is_condition(&s, "p", "Ready", "True"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *name = rows[i].name;
        assert_int_equal(container_number(&s, "p", name, "restartCount"), 1);
        assert_int_equal(container_number(&s, "p", name, "lastState.terminated.exitCode"),
                         rows[i].code);
        assert_string_not_equal(container_says(&s, "p", name, "lastState.terminated.finishedAt"),
                                "");
    }
    assert_int_equal(alive("p"), 3);
}

/* ---- readiness ---- */

static void test_probes(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "'sim.muster.dev/start':'10s'",
                  "'containers':[{'name':'c','command':['x'],'readinessProbe':{" PROBE
                  "},'livenessProbe':{" PROBE ",'initialDelaySeconds':20,'failureThreshold':3}}]");
    run_s(&s, 8);
    assert_string_equal(container_says(&s, "p", "c", "lifecycle.state"), "starting");
    assert_true(is_condition(&s, "p", "Ready", "False"));
    assert_true(sim_runtime_share(s.runtime, uid_of(&s, "p")) == 0.25);
    run_s(&s, 3);
    assert_string_equal(container_says(&s, "p", "c", "lifecycle.state"), "ready");
    assert_true(is_condition(&s, "p", "Ready", "True"));
    assert_true(sim_runtime_share(s.runtime, uid_of(&s, "p")) == 1.0);
    run_s(&s, 15);
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.bad_answer = 10000});
    run_s(&s, 10); /* three noes: not ready, and told to end */
    sim_runtime_heal(s.runtime);
    assert_true(is_condition(&s, "p", "Ready", "False"));
    run_s(&s, 12);
    assert_int_equal(container_number(&s, "p", "c", "restartCount"), 1);
    assert_int_equal(container_number(&s, "p", "c", "lastState.terminated.exitCode"),
                     128 + SIGTERM);
    assert_true(is_condition(&s, "p", "Ready", "True"));
}

static void test_start_timeout(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "'sim.muster.dev/start':'never'",
                  "'restartPolicy':'Never','containers':[{'name':'c','command':['x'],"
                  "'startTimeout':'20s','readinessProbe':{" PROBE "}}]");
    run_s(&s, 19);
    assert_int_equal(alive("p"), 1);
    run_s(&s, 2);
    assert_string_equal(pod_says(&s, "p", "phase"), "Failed");
    assert_string_equal(container_says(&s, "p", "c", "state.terminated.reason"), "StartTimeout");
}

static void test_notify_and_watchdog(void **state)
{
    (void)state;
    nodestage_pod(&s, "p",
                  "'muster.dev/notify':'true','muster.dev/watchdog':'5s',"
                  "'sim.muster.dev/start':'2s'",
                  ONE);
    run_s(&s, 1);
    assert_true(is_condition(&s, "p", "Ready", "False"));
    run_s(&s, 1);
    assert_true(is_condition(&s, "p", "Ready", "True"));
    assert_true(sim_runtime_say(s.runtime, uid_of(&s, "p"), "c", "STATUS=busy"));
    for (int i = 0; i < 5; i++) {
        assert_true(sim_runtime_say(s.runtime, uid_of(&s, "p"), "c", "WATCHDOG=1"));
        run_s(&s, 3);
    }
    assert_string_equal(container_says(&s, "p", "c", "lifecycle.message"), "busy");
    assert_int_equal(container_number(&s, "p", "c", "restartCount"), 0);
    run_s(&s, 4);
    assert_int_equal(container_number(&s, "p", "c", "restartCount"), 1);
}

/* ---- deletion ---- */

#define GRACE_20 "'terminationGracePeriodSeconds':20,"

static void test_delete(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "", GRACE_20 ONE);
    run_s(&s, 2);
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.death_ms = 15000});
    scoped_free char *uid = mem_strdup(uid_of(&s, "p"));
    nodestage_delete(&s, "p", -1);
    run_s(&s, 6); /* usually it is gone by then, and nobody needs to be told */
    assert_true(is_condition(&s, "p", "Ready", "False"));
    for (int i = 0; i < 200 && sim_runtime_alive(s.runtime, uid) > 0; i++) {
        assert_false(pod_is_gone(&s, "p"));
        stage_run(s.sim, 100);
    }
    stage_run(s.sim, 100);
    assert_true(pod_is_gone(&s, "p"));
    assert_int_equal(sim_runtime_kept(s.runtime), 0);
}

static void test_delete_deaf(void **state)
{
    (void)state;
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.deaf = 10000});
    nodestage_pod(&s, "p", "", GRACE_20 ONE);
    nodestage_pod(&s, "q", "", GRACE_20 ONE);
    run_s(&s, 2);
    nodestage_delete(&s, "p", -1);
    nodestage_delete(&s, "q", -1);
    run_s(&s, 5);
    nodestage_delete(&s, "q", 3); /* hurry */
    run_s(&s, 4);
    assert_true(pod_is_gone(&s, "q"));
    run_s(&s, 8); /* 18 s */
    assert_int_equal(alive("p"), 1);
    run_s(&s, 3);
    assert_true(pod_is_gone(&s, "p"));
}

/* By force: the object goes at once, the process right after; the next of that name waits. */
static void test_force_and_again(void **state)
{
    (void)state;
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.death_ms = 4000});
    nodestage_pod(&s, "p", "", ONE);
    run_s(&s, 1);
    scoped_free char *first = mem_strdup(uid_of(&s, "p"));
    nodestage_delete(&s, "p", 0);
    assert_true(pod_is_gone(&s, "p"));
    nodestage_pod(&s, "p", "", ONE);
    assert_string_not_equal(first, uid_of(&s, "p"));
    for (int i = 0; i < 50 && sim_runtime_alive(s.runtime, first) > 0; i++) {
        assert_int_equal(alive("p"), 0);
        stage_run(s.sim, 100);
    }
    run_s(&s, 1);
    assert_int_equal(sim_runtime_alive(s.runtime, first), 0);
    assert_string_equal(pod_says(&s, "p", "phase"), "Running");
    assert_int_equal(container_number(&s, "p", "c", "restartCount"), 0);
    assert_int_equal(alive("p"), 1);
}

/* A finalizer keeps the object: it says how all ended, and goes when it may. */
static void test_delete_with_finalizer(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "", ONE);
    stage_do(s.sim, stage_write(WRITE_PATCH, &KIND_POD, "default", "p",
                                "{'metadata':{'finalizers':['x.y/z']}}"));
    run_s(&s, 2);
    nodestage_delete(&s, "p", -1);
    run_s(&s, 2);
    assert_string_equal(pod_says(&s, "p", "phase"), "Failed");
    assert_int_equal(container_number(&s, "p", "c", "state.terminated.exitCode"), 128 + SIGTERM);
    assert_int_equal(alive("p"), 0);
    stage_do(s.sim, stage_write(WRITE_PATCH, &KIND_POD, "default", "p",
                                "{'metadata':{'finalizers':null}}"));
    assert_true(pod_is_gone(&s, "p"));
}

/* Somebody else says that it has failed: it ends, and that is not taken back. */
static void test_said_to_have_failed(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "", ONE);
    run_s(&s, 2);
    struct write *write = stage_write(WRITE_PATCH, &KIND_POD, "default", "p",
                                      "{'status':{'phase':'Failed','reason':'Evicted'}}");
    write->sub = SUB_STATUS;
    stage_do(s.sim, write);
    run_s(&s, 2);
    assert_string_equal(pod_says(&s, "p", "phase"), "Failed");
    assert_string_equal(pod_says(&s, "p", "reason"), "Evicted");
    assert_int_equal(sim_runtime_kept(s.runtime), 0);
    assert_int_equal(runner_pods(s.runner), 0);
}

/* ---- what holds a pod back ---- */

static void test_config_comes_later(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "",
                  "'containers':[{'name':'c','command':['x'],'envFrom':[{'configMapRef':{'name':"
                  "'m'}}]}]");
    run_s(&s, 30);
    assert_string_equal(pod_says(&s, "p", "phase"), "Pending");
    assert_string_equal(container_says(&s, "p", "c", "state.waiting.reason"),
                        "CreateContainerConfigError");
    assert_int_equal(sim_runtime_starts(s.runtime), 0);
    stage_do(s.sim, stage_write(WRITE_CREATE, &KIND_CONFIGMAP, "default", "m",
                                "{'metadata':{'name':'m'},'data':{'A':'b'}}"));
    assert_true(is_condition(&s, "p", "Ready", "True"));
}

static void test_held_is_deleted(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "",
                  "'containers':[{'name':'c','command':['x'],'envFrom':[{'configMapRef':{'name':"
                  "'m'}}]}]");
    run_s(&s, 1);
    nodestage_delete(&s, "p", -1);
    assert_true(pod_is_gone(&s, "p"));
}

static void test_unsupported(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "", "'containers':[{'name':'c','image':'nginx'}]");
    run_s(&s, 1);
    assert_string_equal(pod_says(&s, "p", "phase"), "Failed");
    assert_string_equal(pod_says(&s, "p", "reason"), "Unsupported");
    assert_int_equal(sim_runtime_starts(s.runtime), 0);
    assert_true(is_condition(&s, "p", "Initialized", "True"));
    assert_true(is_condition(&s, "p", "ContainersReady", "False"));
    scoped_free char *status = status_text(&s, "p");
    assert_non_null(strstr(status, "containers with unready status: [c]"));
    assert_null(strstr(status, "containerStatuses")); /* they do not wait */
}

static void test_unsupported_with_an_init_container(void **state)
{
    (void)state;
    nodestage_pod(
        &s, "p", "",
        "'initContainers':[{'name':'i','command':['x']},{'name':'side','command':['x'],"
        "'restartPolicy':'Always'}],'containers':[{'name':'c','image':'nginx'},{'name':'d',"
        "'command':['x']}]");
    run_s(&s, 1);
    assert_true(is_condition(&s, "p", "Initialized", "False"));
    scoped_free char *status = status_text(&s, "p");
    assert_non_null(strstr(status, "containers with unready status: [side c d]"));
}

static void test_deadline(void **state)
{
    (void)state;
    nodestage_pod(&s, "p", "", "'activeDeadlineSeconds':10," ONE);
    run_s(&s, 8);
    assert_string_equal(pod_says(&s, "p", "phase"), "Running");
    run_s(&s, 3);
    assert_string_equal(pod_says(&s, "p", "phase"), "Failed");
    assert_string_equal(pod_says(&s, "p", "reason"), "DeadlineExceeded");
}

/* ---- the node ---- */

static const struct obj *node(void)
{
    return stage_get(s.sim, &KIND_NODE, "", "n");
}

static void test_node_and_lease(void **state)
{
    (void)state;
    assert_non_null(node());
    assert_string_equal(json_str_at(node()->root, "status.capacity.cpu"), "2");
    assert_string_equal(json_str_at(node()->root, "status.allocatable.memory"), "1Gi");
    assert_string_equal(json_str_at(node()->root, "status.capacity.pods"), "110");
    assert_string_equal(json_str_at(node()->root, "status.nodeInfo.containerRuntimeVersion"),
                        "sim");
    /* Kubernetes' types require it, so a strict client must find it. */
    assert_string_equal(json_str_at(node()->root, "status.nodeInfo.bootID"), "");
    assert_string_equal(json_str_at(node()->root, "metadata.labels.zone"), "a");
    run_s(&s, 3600);
    const struct obj *lease = stage_get(s.sim, &KIND_LEASE, "kube-node-lease", "n");
    assert_non_null(lease);
    time_ms renewed = 0;
    const char *text = json_str_at(lease->root, "spec.renewTime");
    assert_int_equal(rfc3339_parse(sv_of(text), &renewed, NULL), 0);
    assert_in_range(renewed, sim_now(s.sim) - 10100, sim_now(s.sim));
    assert_string_equal(json_str_at(lease->root, "spec.holderIdentity"), "n");
    stage_do(s.sim, stage_write(WRITE_DELETE, &KIND_NODE, "", "n", NULL));
    assert_non_null(node()); /* made anew */
    assert_string_equal(json_str_at(node()->root, "status.capacity.cpu"), "2");
}

/* At most one starts at a time; lifted while they wait, all go. */
static void test_settings(void **state)
{
    (void)state;
    static const char SLOW[] = "'sim.muster.dev/start':'60s'";
    static const char PROBED[] =
        "'containers':[{'name':'c','command':['x'],'readinessProbe':{" PROBE "}}]";
    int told = s.settings_told;
    stage_do(s.sim, stage_write(WRITE_CREATE, &KIND_NODECONFIG, "", "default",
                                "{'metadata':{'name':'default'},'spec':{'throttling':{"
                                "'maxStarting':1},'logs':{'maxSize':'1Mi'}}}"));
    assert_true(s.settings_told > told);
    assert_int_equal(s.log_bytes, 1 << 20);
    nodestage_pod(&s, "a", SLOW, PROBED);
    nodestage_pod(&s, "b", SLOW, PROBED);
    nodestage_pod(&s, "c", SLOW, PROBED);
    run_s(&s, 5);
    assert_int_equal(sim_runtime_alive(s.runtime, NULL), 1);
    assert_string_equal(container_says(&s, "b", "c", "state.waiting.reason"), "StartThrottled");
    stage_do(s.sim, stage_write(WRITE_CREATE, &KIND_NODECONFIG, "", "n",
                                "{'metadata':{'name':'n'},'spec':{'throttling':{'maxStarting':2}"
                                "}}"));
    assert_int_equal(sim_runtime_alive(s.runtime, NULL), 2);
    stage_do(s.sim, stage_write(WRITE_PATCH, &KIND_NODECONFIG, "", "n",
                                "{'spec':{'throttling':{'maxStarting':3,"
                                "'maxStartingContainersPerCore':5}}}"));
    assert_int_equal(sim_runtime_alive(s.runtime, NULL), 3);
}

/* ---- the end ---- */

static void on_quiet(void *arg)
{
    (*(int *)arg)++;
}

static void test_shutdown(void **state)
{
    (void)state;
    sim_runtime_set_faults(s.runtime, &(struct sim_runtime_faults){.deaf = 5000});
    for (int i = 0; i < 6; i++) {
        scoped_free char *name = mem_printf("p%d", i);
        nodestage_pod(&s, name, "", GRACE_20 ONE);
    }
    run_s(&s, 2);
    int quiet = 0;
    scoped_free char *before = status_text(&s, "p0");
    runner_shutdown(s.runner, on_quiet, &quiet);
    run_s(&s, 5);
    assert_int_equal(quiet, 0);
    assert_in_range(sim_runtime_alive(s.runtime, NULL), 1, 5);
    runner_shutdown(s.runner, on_quiet, &quiet); /* hurry */
    stage_run(s.sim, 100);
    assert_int_equal(quiet, 1);
    assert_int_equal(sim_runtime_alive(s.runtime, NULL), 0);
    scoped_free char *after = status_text(&s, "p0");
    assert_string_equal(before, after);
    sim_restart_manager(s.sim); /* the next life: they were to run */
    run_s(&s, 2);
    assert_int_equal(sim_runtime_alive(s.runtime, NULL), 6);
    assert_int_equal(container_number(&s, "p0", "c", "restartCount"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_runs),
        TEST(test_restarted),
        TEST(test_succeeds),
        TEST(test_fails),
        TEST(test_crash_loop),
        TEST(test_not_run),
        TEST(test_not_run_yet),
        TEST(test_init_and_sidecar),
        TEST(test_init_fails),
        TEST(test_86_a_restart_of_all_is_told_of_each),
        TEST(test_probes),
        TEST(test_start_timeout),
        TEST(test_notify_and_watchdog),
        TEST(test_delete),
        TEST(test_delete_deaf),
        TEST(test_force_and_again),
        TEST(test_delete_with_finalizer),
        TEST(test_said_to_have_failed),
        TEST(test_config_comes_later),
        TEST(test_held_is_deleted),
        TEST(test_unsupported),
        TEST(test_unsupported_with_an_init_container),
        TEST(test_deadline),
        TEST(test_node_and_lease),
        TEST(test_settings),
        TEST(test_shutdown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
