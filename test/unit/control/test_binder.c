// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "control/binder_internal.h"
#include "stage.h"

static const struct controller *const BINDER[] = {&CONTROLLER_BINDER, NULL};

#define READY "'conditions':[{'type':'Ready','status':'True'}]"

static void add_node_with(struct sim *sim, const char *name, const char *meta, const char *spec,
                          const char *status)
{
    scoped_free char *body = mem_printf("{'metadata':{'name':'%s'%s},'spec':{%s},'status':{%s}}",
                                        name, meta, spec, status);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_NODE, "", name, body));
}

static void add_node(struct sim *sim, const char *name, const char *cpu)
{
    scoped_free char *status =
        mem_printf(READY ",'allocatable':{'cpu':'%s','memory':'1Gi','pods':'10'}", cpu);
    add_node_with(sim, name, "", "", status);
}

static struct write *pod_write(const char *name, const char *cpu, const char *more)
{
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'%s'},'spec':{'containers':[{'name':'c','image':'i',"
                   "'resources':{'requests':{'cpu':'%s'}}}]%s}}",
                   name, cpu, more);
    return stage_write(WRITE_CREATE, &KIND_POD, "default", name, body);
}

static void add_pod(struct sim *sim, const char *name, const char *cpu)
{
    stage_do(sim, pod_write(name, cpu, ""));
}

static const char *node_of(struct sim *sim, const char *pod)
{
    return json_str_at(stage_get(sim, &KIND_POD, "default", pod)->root, "spec.nodeName");
}

static yyjson_val *scheduled(struct sim *sim, const char *pod)
{
    const struct obj *obj = stage_get(sim, &KIND_POD, "default", pod);
    size_t i, n;
    yyjson_val *condition;
    yyjson_arr_foreach(json_at(obj->root, "status.conditions"), i, n, condition)
    {
        if (str_eq(json_str_at(condition, "type"), "PodScheduled"))
            return condition;
    }
    return NULL;
}

static int events(struct sim *sim, const char *reason, const char *pod)
{
    struct cache *cache = sim_store(sim)->cache;
    int count = 0;
    struct obj *event = cache_first(cache, &KIND_EVENT, NULL);
    for (; event != NULL; event = cache_after(cache, &KIND_EVENT, NULL, event))
        count += str_eq(json_str_at(event->root, "reason"), reason) &&
                 str_eq(json_str_at(event->root, "involvedObject.name"), pod);
    return count;
}

static void end_pod(struct sim *sim, const char *name)
{
    struct write *write =
        stage_write(WRITE_PATCH, &KIND_POD, "default", name, "{'status':{'phase':'Succeeded'}}");
    write->sub = SUB_STATUS;
    stage_do(sim, write);
}

static void test_most_room(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_node(sim, "a", "2");
    add_node(sim, "b", "4");
    add_pod(sim, "p1", "1"); /* both are empty: by name */
    add_pod(sim, "p2", "1");
    add_pod(sim, "p3", "1"); /* b has 3 of 4 left, a has 1 of 2 */
    assert_string_equal(node_of(sim, "p1"), "a");
    assert_string_equal(node_of(sim, "p2"), "b");
    assert_string_equal(node_of(sim, "p3"), "b");
    assert_string_equal(json_str_at(scheduled(sim, "p1"), "status"), "True");
    stage_run(sim, 1000);
    assert_int_equal(events(sim, "Scheduled", "p1"), 1);
    sim_free(sim);
}

static int told(struct sim *sim)
{
    struct cache *cache = sim_store(sim)->cache;
    int count = 0;
    struct obj *event = cache_first(cache, &KIND_EVENT, NULL);
    for (; event != NULL; event = cache_after(cache, &KIND_EVENT, NULL, event))
        count += str_eq(json_str_at(event->root, "reason"), "Scheduled");
    return count;
}

/* Of a crowd only so many are told about; a single one later is. */
static void test_news_of_a_crowd(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    char name[16];
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        add_pod(sim, name, "1m");
    }
    add_node_with(sim, "a", "", "", READY ",'allocatable':{'cpu':'4','memory':'1Gi','pods':'999'}");
    stage_run(sim, 2000);
    assert_in_range(told(sim), 200, 230);
    assert_string_equal(node_of(sim, "p299"), "a");
    stage_run(sim, 1000);
    add_pod(sim, "late", "1m");
    stage_run(sim, 1000);
    assert_int_equal(events(sim, "Scheduled", "late"), 1);
    sim_free(sim);
}

static void test_waits_for_room(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_pod(sim, "early", "1");
    assert_string_equal(json_str_at(scheduled(sim, "early"), "message"),
                        "0/0 nodes are available.");
    add_pod(sim, "big", "64");
    add_pod(sim, "as-big", "64");
    add_node(sim, "a", "1");
    assert_string_equal(node_of(sim, "early"), "a");
    assert_string_equal(json_str_at(scheduled(sim, "big"), "message"),
                        "0/1 nodes are available: 1 Insufficient cpu.");
    assert_string_equal(json_str_at(scheduled(sim, "as-big"), "message"),
                        "0/1 nodes are available: 1 Insufficient cpu.");
    add_pod(sim, "late", "500m");
    assert_null(node_of(sim, "late"));
    yyjson_val *condition = scheduled(sim, "late");
    assert_string_equal(json_str_at(condition, "status"), "False");
    assert_string_equal(json_str_at(condition, "reason"), "Unschedulable");
    assert_string_equal(json_str_at(condition, "message"),
                        "0/1 nodes are available: 1 Insufficient cpu.");
    assert_int_equal(events(sim, "FailedScheduling", "late"), 1);
    end_pod(sim, "early");
    assert_string_equal(node_of(sim, "late"), "a");
    assert_string_equal(json_str_at(scheduled(sim, "late"), "status"), "True");
    sim_free(sim);
}

/* A pod that is gone, and one that was never ours, both count. */
static void test_room_of_others(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_node(sim, "a", "1");
    stage_do(sim, pod_write("set", "1", ",'nodeName':'a'"));
    add_pod(sim, "p", "1");
    assert_null(node_of(sim, "p"));
    struct write *gone = stage_write(WRITE_DELETE, &KIND_POD, "default", "set", NULL);
    gone->grace_s = 0;
    stage_do(sim, gone);
    assert_string_equal(node_of(sim, "p"), "a");
    sim_free(sim);
}

static void test_left_alone(void **state)
{
    (void)state;
    static const char *const SPECS[] = {",'schedulingGates':[{'name':'x/y'}]",
                                        ",'schedulerName':'another'"};
    for (size_t i = 0; i < ARRAY_LEN(SPECS); i++) {
        struct sim *sim = stage_open(1, BINDER, NULL);
        add_node(sim, "a", "1");
        stage_do(sim, pod_write("p", "1", SPECS[i]));
        stage_run(sim, 60000);
        assert_null(node_of(sim, "p"));
        sim_free(sim);
    }
}

static void test_gate_opens(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_node(sim, "a", "1");
    stage_do(sim, pod_write("p", "1", ",'schedulingGates':[{'name':'x/y'}]"));
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_POD, "default", "p",
                              "{'spec':{'schedulingGates':null}}"));
    assert_string_equal(node_of(sim, "p"), "a");
    sim_free(sim);
}

#define ALLOCATABLE "'allocatable':{'cpu':'2','memory':'1Gi','pods':'1','x.dev/gpu':'2'}"
#define NEED(operator, values)                                                                     \
    ",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"              \
    "'nodeSelectorTerms':[{'matchExpressions':[{'key':'disk','operator':'"                         \
    operator"'" values "}]}]}}}"
#define TOLERATE(text) ",'tolerations':[{" text "}]"
#define TAINT(effect) "'taints':[{'key':'k','value':'v','effect':'" effect "'}]"

/* One node, one pod: NULL when it fits, else why not. */
static const struct {
    const char *name, *node_spec, *node_status, *pod, *problem;
} MATCHES[] = {
    {"plain", "", READY "," ALLOCATABLE, "", NULL},
    {"not ready", "", ALLOCATABLE, "", "1 node(s) were not ready"},
    {"cordoned", "'unschedulable':true", READY "," ALLOCATABLE, "", "1 node(s) were unschedulable"},
    {"cordon borne", "'unschedulable':true", READY "," ALLOCATABLE,
     TOLERATE("'key':'node.kubernetes.io/unschedulable','operator':'Exists'"), NULL},
    {"taint", TAINT("NoSchedule"), READY "," ALLOCATABLE, "",
     "1 node(s) had untolerated taint {k: v}"},
    {"taint NoExecute", TAINT("NoExecute"), READY "," ALLOCATABLE, "",
     "1 node(s) had untolerated taint {k: v}"},
    {"taint that is a wish", TAINT("PreferNoSchedule"), READY "," ALLOCATABLE, "", NULL},
    {"taint borne", TAINT("NoSchedule"), READY "," ALLOCATABLE,
     TOLERATE("'key':'k','value':'v','effect':'NoSchedule'"), NULL},
    {"another value borne", TAINT("NoSchedule"), READY "," ALLOCATABLE,
     TOLERATE("'key':'k','value':'w'"), "1 node(s) had untolerated taint {k: v}"},
    {"another effect borne", TAINT("NoExecute"), READY "," ALLOCATABLE,
     TOLERATE("'key':'k','operator':'Exists','effect':'NoSchedule'"),
     "1 node(s) had untolerated taint {k: v}"},
    {"everything borne", TAINT("NoExecute"), READY "," ALLOCATABLE, TOLERATE("'operator':'Exists'"),
     NULL},
    {"selector", "", READY "," ALLOCATABLE, ",'nodeSelector':{'disk':'7'}", NULL},
    {"another selector", "", READY "," ALLOCATABLE, ",'nodeSelector':{'disk':'8'}",
     "1 node(s) didn't match Pod's node affinity/selector"},
    {"in", "", READY "," ALLOCATABLE, NEED("In", ",'values':['6','7']"), NULL},
    {"not in", "", READY "," ALLOCATABLE, NEED("NotIn", ",'values':['6','7']"),
     "1 node(s) didn't match Pod's node affinity/selector"},
    {"exists", "", READY "," ALLOCATABLE, NEED("Exists", ""), NULL},
    {"does not exist", "", READY "," ALLOCATABLE, NEED("DoesNotExist", ""),
     "1 node(s) didn't match Pod's node affinity/selector"},
    {"greater", "", READY "," ALLOCATABLE, NEED("Gt", ",'values':['6']"), NULL},
    {"less", "", READY "," ALLOCATABLE, NEED("Lt", ",'values':['7']"),
     "1 node(s) didn't match Pod's node affinity/selector"},
    {"no place", "", READY ",'allocatable':{'cpu':'2','pods':'0'}", "", "1 Too many pods"},
    {"device", "", READY "," ALLOCATABLE,
     ",'resources':{'requests':{'x.dev/gpu':'2'},'limits':{'x.dev/gpu':'2'}}", NULL},
    {"devices", "", READY "," ALLOCATABLE,
     ",'resources':{'requests':{'x.dev/gpu':'3'},'limits':{'x.dev/gpu':'3'}}",
     "1 Insufficient x.dev/gpu"},
    {"two things", "", READY ",'allocatable':{'pods':'1'}",
     ",'resources':{'requests':{'memory':'1'}}", "1 Insufficient cpu, 1 Insufficient memory"},
};

static void test_matches(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(MATCHES); i++) {
        struct sim *sim = stage_open(1, BINDER, NULL);
        add_node_with(sim, "a", ",'labels':{'disk':'7'}", MATCHES[i].node_spec,
                      MATCHES[i].node_status);
        stage_do(sim, pod_write("p", "1", MATCHES[i].pod));
        const char *node = node_of(sim, "p"),
                   *message = json_str_at(scheduled(sim, "p"), "message");
        scoped_free char *expected = mem_printf(
            "0/1 nodes are available: %s.", MATCHES[i].problem != NULL ? MATCHES[i].problem : "");
        if (MATCHES[i].problem == NULL ? node == NULL : !str_eq(message, expected))
            fail_msg("%s: node %s, %s", MATCHES[i].name, node ? node : "none",
                     message ? message : "no message");
        sim_free(sim);
    }
}

/* cpu in thousandths */
static const struct {
    const char *spec;
    int64_t cpu;
} ASKED[] = {
    {"{'containers':[{'resources':{'requests':{'cpu':'1'}}},{'resources':{'requests':{'cpu':"
     "'500m'}}}]}",
     1500},
    {"{'initContainers':[{'resources':{'requests':{'cpu':2}}}],'containers':[{'resources':{"
     "'requests':{'cpu':'1'}}}]}",
     2000},
    {"{'initContainers':[{'restartPolicy':'Always','resources':{'requests':{'cpu':'1'}}},"
     "{'resources':{'requests':{'cpu':'2'}}}],'containers':[{'resources':{'requests':{'cpu':'1'}}}"
     "]}",
     3000},
    {"{'initContainers':[{'resources':{'requests':{'cpu':'2'}}},{'restartPolicy':'Always',"
     "'resources':{'requests':{'cpu':'1'}}}],'containers':[{'resources':{'requests':{'cpu':'1'}}}"
     "]}",
     2000},
    {"{'overhead':{'cpu':'250m'},'containers':[{'resources':{'requests':{'cpu':'1'}}}]}", 1250},
    {"{'resources':{'requests':{'cpu':'3'}},'containers':[{'resources':{'requests':{'cpu':'1'}}}]}",
     3000},
    {"{'containers':[{}]}", 0},
};

static void test_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ASKED); i++) {
        struct write *write = stage_write(WRITE_PATCH, &KIND_POD, "", "", ASKED[i].spec);
        struct resource_names names;
        struct amounts wants = {0};
        resource_names_init(&names);
        amounts_of_pod(&names, yyjson_doc_get_root(write->patch), &wants);
        if (amounts_get(&wants, RESOURCE_CPU) != ASKED[i].cpu)
            fail_msg("%s: %d", ASKED[i].spec, (int)amounts_get(&wants, RESOURCE_CPU));
        assert_int_equal(amounts_get(&wants, RESOURCE_PODS), 1);
        amounts_done(&wants);
        resource_names_done(&names);
        write_free(write);
    }
}

static uint64_t reconciles(struct sim *sim)
{
    struct manager_stats stats;
    assert_int_equal(manager_stats(sim_manager(sim), &stats, 1), 1);
    return stats.reconciles;
}

static size_t bound_pods(struct sim *sim)
{
    struct cache *cache = sim_store(sim)->cache;
    size_t count = 0;
    struct obj *pod = cache_first(cache, &KIND_POD, NULL);
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, NULL, pod))
        count += json_str_at(pod->root, "spec.nodeName") != NULL;
    return count;
}

/* Room for one is not looked at by all that wait, and a heartbeat by none. */
static void test_waiting_is_cheap(void **state)
{
    (void)state;
    enum { WAITING = 400 };
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_node(sim, "a", "1");
    add_pod(sim, "first", "1");
    for (int i = 0; i < WAITING; i++) {
        scoped_free char *name = mem_printf("p%d", i);
        sim_submit(sim, pod_write(name, "1", ""));
    }
    stage_run(sim, 5000);
    assert_int_equal(bound_pods(sim), 1);
    uint64_t before = reconciles(sim);
    struct write *beat =
        stage_write(WRITE_PATCH, &KIND_NODE, "", "a",
                    "{'status':{'conditions':[{'type':'Ready','status':'True','lastHeartbeatTime'"
                    ":'2026-01-01T00:00:09Z'}]}}");
    beat->sub = SUB_STATUS;
    stage_do(sim, beat);
    assert_int_equal(reconciles(sim), before);
    end_pod(sim, "first");
    assert_int_equal(bound_pods(sim), 2);
    assert_in_range(reconciles(sim) - before, 2, 8);
    struct write *grown = stage_write(WRITE_PATCH, &KIND_NODE, "", "a",
                                      "{'status':{'allocatable':{'cpu':'500','pods':'1000'}}}");
    grown->sub = SUB_STATUS;
    stage_do(sim, grown);
    stage_run(sim, 5000);
    assert_int_equal(bound_pods(sim), 1 + WAITING);
    sim_free(sim);
}

/* ---- with faults ---- */

static int64_t cpu_taken(struct sim *sim, const char *node)
{
    struct cache *cache = sim_store(sim)->cache;
    int64_t sum = 0;
    struct obj *pod = cache_first(cache, &KIND_POD, NULL);
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, NULL, pod)) {
        struct resource_names names;
        struct amounts wants = {0};
        if (!str_eq(json_str_at(pod->root, "spec.nodeName"), node) ||
            str_eq(json_str_at(pod->root, "status.phase"), "Succeeded"))
            continue;
        resource_names_init(&names);
        amounts_of_pod(&names, yyjson_obj_get(pod->root, "spec"), &wants);
        sum += amounts_get(&wants, RESOURCE_CPU);
        amounts_done(&wants);
        resource_names_done(&names);
    }
    return sum;
}

static void end_one(struct sim *sim)
{
    struct cache *cache = sim_store(sim)->cache;
    struct obj *pod = cache_first(cache, &KIND_POD, NULL);
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, NULL, pod)) {
        if (json_str_at(pod->root, "spec.nodeName") == NULL ||
            str_eq(json_str_at(pod->root, "status.phase"), "Succeeded"))
            continue;
        struct write *write = stage_write(WRITE_PATCH, &KIND_POD, "default", pod->meta.name,
                                          "{'status':{'phase':'Succeeded'}}");
        write->sub = SUB_STATUS;
        sim_submit(sim, write);
        return;
    }
}

static void run_seed(uint64_t seed)
{
    static const struct sim_faults FAULTS = {.commit_refused = 500,
                                             .crash_before = 100,
                                             .crash_after = 100,
                                             .conflict = 2000,
                                             .commit_ms = 20,
                                             .lag_ms = 80,
                                             .submit_ms = 80};
    static const char *const NODES[] = {"a", "b", "c"};
    struct sim *sim = stage_open(seed, BINDER, &FAULTS);
    for (size_t i = 0; i < ARRAY_LEN(NODES); i++) {
        scoped_free char *body =
            mem_printf("{'metadata':{'name':'%s'},'status':{" READY
                       ",'allocatable':{'cpu':'3','memory':'1Gi','pods':'10'}}}",
                       NODES[i]);
        do {
            sim_submit(sim, stage_write(WRITE_CREATE, &KIND_NODE, "", NODES[i], body));
            stage_run(sim, 200);
        } while (stage_get(sim, &KIND_NODE, "", NODES[i]) == NULL);
    }
    for (int i = 0; i < 60; i++) {
        scoped_free char *name = mem_printf("p%d", i);
        sim_submit(sim, pod_write(name, i % 3 ? "1" : "1500m", ""));
        stage_run(sim, rng_between(sim_rng(sim), 0, 150));
        if (i % 2)
            end_one(sim);
        for (size_t k = 0; k < ARRAY_LEN(NODES); k++)
            assert_true(cpu_taken(sim, NODES[k]) <= 3000);
    }
    sim_heal(sim);
    for (int i = 0; i < 80; i++) {
        end_one(sim);
        stage_run(sim, 5000);
        for (size_t k = 0; k < ARRAY_LEN(NODES); k++)
            assert_true(cpu_taken(sim, NODES[k]) <= 3000);
    }
    if (bound_pods(sim) != cache_count(sim_store(sim)->cache, &KIND_POD))
        fail_msg("seed %d: %zu of %zu pods found a node", (int)seed, bound_pods(sim),
                 cache_count(sim_store(sim)->cache, &KIND_POD));
    sim_free(sim);
}

static void test_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_most_room),        cmocka_unit_test(test_waits_for_room),
        cmocka_unit_test(test_news_of_a_crowd),  cmocka_unit_test(test_room_of_others),
        cmocka_unit_test(test_left_alone),       cmocka_unit_test(test_gate_opens),
        cmocka_unit_test(test_matches),          cmocka_unit_test(test_requests),
        cmocka_unit_test(test_waiting_is_cheap), cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
