// SPDX-License-Identifier: Apache-2.0
/* The binder's finer rules: what is preferred, spread over domains, domains of one job, and gangs,
 * which are bound as a whole or not at all. */
#include "base/mem.h"
#include "stage.h"

static const struct controller *const BINDER[] = {&CONTROLLER_BINDER, NULL};

#define READY "'conditions':[{'type':'Ready','status':'True'}]"

static void add_node(struct sim *sim, const char *name, const char *zone, int cpu, const char *spec)
{
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'%s','labels':{'zone':'%s','host':'%s'}},'spec':{%s},"
                   "'status':{" READY ",'allocatable':{'cpu':'%d','memory':'1Gi','pods':'100'}}}",
                   name, zone, name, spec, cpu);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_NODE, "", name, body));
}

static struct write *pod_write(const char *name, const char *meta, const char *spec)
{
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'%s'%s},'spec':{'containers':[{'name':'c','image':'i',"
                   "'resources':{'requests':{'cpu':'1'}}}]%s}}",
                   name, meta, spec);
    return stage_write(WRITE_CREATE, &KIND_POD, "default", name, body);
}

static void add_pod(struct sim *sim, const char *name, const char *meta, const char *spec)
{
    stage_do(sim, pod_write(name, meta, spec));
}

static const char *node_of(struct sim *sim, const char *pod)
{
    const char *node =
        json_str_at(stage_get(sim, &KIND_POD, "default", pod)->root, "spec.nodeName");
    return node != NULL ? node : "";
}

static const char *message_of(struct sim *sim, const char *pod)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(
        json_at(stage_get(sim, &KIND_POD, "default", pod)->root, "status.conditions"), i, n, item)
    {
        if (str_eq(json_str_at(item, "type"), "PodScheduled"))
            return json_str_at(item, "message");
    }
    return "";
}

static void end_pod(struct sim *sim, const char *name)
{
    struct write *write =
        stage_write(WRITE_PATCH, &KIND_POD, "default", name, "{'status':{'phase':'Succeeded'}}");
    write->sub = SUB_STATUS;
    stage_do(sim, write);
}

static size_t bound(struct sim *sim, const char *prefix)
{
    struct cache *cache = sim_store(sim)->cache;
    size_t count = 0;
    struct obj *pod = cache_first(cache, &KIND_POD, NULL);
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, NULL, pod))
        count +=
            str_starts(pod->meta.name, prefix) && json_str_at(pod->root, "spec.nodeName") != NULL;
    return count;
}

/* ---- what is preferred ---- */

#define PREFER                                                                                     \
    ",'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':"   \
    "10,'preference':{'matchExpressions':[{'key':'zone','operator':'In','values':['z2']}]}}]}}"

static void test_preferred(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_node(sim, "a", "z1", 8, "");
    add_node(sim, "b", "z2", 2, "");
    add_node(sim, "c", "z1", 64, "'taints':[{'key':'k','effect':'PreferNoSchedule'}]");
    add_pod(sim, "p1", "", PREFER);
    add_pod(sim, "p2", "", PREFER);
    add_pod(sim, "p3", "", PREFER); /* b is full */
    add_pod(sim, "p4", "", "");
    assert_string_equal(node_of(sim, "p1"), "b");
    assert_string_equal(node_of(sim, "p2"), "b");
    assert_string_equal(node_of(sim, "p3"), "a");
    assert_string_equal(node_of(sim, "p4"), "a");
    sim_free(sim);
}

/* ---- spread ---- */

#define LABEL ",'labels':{'app':'x'}"
#define CONSTRAINT(key, when)                                                                      \
    "{'maxSkew':1,'topologyKey':'" key "','whenUnsatisfiable':'" when                              \
    "','labelSelector':{'matchLabels':{'app':'x'}}}"
#define SPREAD(list) ",'topologySpreadConstraints':[" list "]"

static void test_spread(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_node(sim, "a", "z1", 64, "");
    add_node(sim, "b", "z2", 2, "");
    for (int i = 0; i < 5; i++) {
        scoped_free char *name = mem_printf("p%d", i);
        add_pod(sim, name, LABEL, SPREAD(CONSTRAINT("zone", "DoNotSchedule")));
    }
    /* b is full with two; a may have one more than b, not two. */
    add_pod(sim, "p5", LABEL, SPREAD(CONSTRAINT("zone", "DoNotSchedule")));
    assert_int_equal(bound(sim, "p"), 5);
    assert_string_equal(node_of(sim, "p5"), "");
    assert_string_equal(message_of(sim, "p5"),
                        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod "
                        "topology spread constraints.");
    add_pod(sim, "wish", LABEL, SPREAD(CONSTRAINT("zone", "ScheduleAnyway")));
    assert_string_equal(node_of(sim, "wish"), "a");
    for (int i = 0; i < 5; i++) { /* one of those on b ends: one goes there */
        scoped_free char *name = mem_printf("p%d", i);
        if (!str_eq(node_of(sim, name), "b"))
            continue;
        end_pod(sim, name);
        break;
    }
    assert_string_equal(node_of(sim, "p5"), "b");
    sim_free(sim);
}

/* Both bounds hold: over zones, and over nodes within. */
static void test_two_spreads(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_node(sim, "a", "z1", 64, "");
    add_node(sim, "b", "z1", 8, "");
    add_node(sim, "c", "z2", 8, "");
    for (int i = 0; i < 8; i++) {
        scoped_free char *name = mem_printf("p%d", i);
        add_pod(
            sim, name, LABEL,
            SPREAD(CONSTRAINT("zone", "DoNotSchedule") "," CONSTRAINT("host", "DoNotSchedule")));
    }
    int on[3] = {0};
    for (int i = 0; i < 8; i++) {
        scoped_free char *name = mem_printf("p%d", i);
        const char *node = node_of(sim, name);
        if (*node != '\0')
            on[*node - 'a']++;
        assert_true(on[0] - on[1] <= 1 && on[0] - on[2] <= 1 && on[2] - on[1] <= 1);
        assert_true(on[0] + on[1] - on[2] <= 1 && on[2] - on[0] - on[1] <= 1);
    }
    assert_true(on[0] + on[1] + on[2] >= 3);
    sim_free(sim);
}

/* ---- gangs ---- */

#define GANG(name, size)                                                                           \
    ",'annotations':{'muster.dev/gang':'" name "','muster.dev/gang-size':'" size "'}"

static void test_gang_waits_for_all(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_node(sim, "a", "z1", 2, "");
    add_node(sim, "b", "z1", 2, "");
    add_pod(sim, "g0", GANG("g", "3"), "");
    add_pod(sim, "g1", GANG("g", "3"), "");
    assert_int_equal(bound(sim, "g"), 0);
    assert_string_equal(message_of(sim, "g0"),
                        "gang default/g has 1 of its 3 members: waiting for the others");
    add_pod(sim, "g2", GANG("g", "3"), "");
    assert_int_equal(bound(sim, "g"), 3);
    /* One that takes the place of a member that ended need not wait for others. */
    end_pod(sim, "g1");
    add_pod(sim, "g3", GANG("g", "3"), "");
    assert_int_equal(bound(sim, "g3"), 1);
    sim_free(sim);
}

static void test_gang_fits_as_a_whole(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_node(sim, "a", "z1", 2, "");
    add_node(sim, "b", "z1", 1, "");
    add_pod(sim, "x", "", "");
    for (int i = 0; i < 3; i++) {
        scoped_free char *name = mem_printf("g%d", i);
        add_pod(sim, name, GANG("g", "3"), "");
    }
    stage_run(sim, 5000);
    assert_int_equal(bound(sim, "g"), 0);
    for (int i = 0; i < 3; i++) {
        scoped_free char *name = mem_printf("g%d", i);
        assert_string_equal(message_of(sim, name),
                            "gang default/g of 3 does not fit as a whole: 0/2 nodes are available: "
                            "2 Insufficient cpu.");
    }
    add_pod(sim, "y", "", ""); /* the room that the gang does not get is for others */
    assert_int_equal(bound(sim, "y"), 1);
    end_pod(sim, "x");
    assert_int_equal(bound(sim, "g"), 0);
    end_pod(sim, "y");
    stage_run(sim, 1000);
    assert_int_equal(bound(sim, "g"), 3);
    sim_free(sim);
}

#define OF_SET(job)                                                                                \
    ",'labels':{'jobset.sigs.k8s.io/jobset-name':'s','jobset.sigs.k8s.io/job-key':'" job "'}"
#define TEMPLATE(parallelism)                                                                      \
    "'template':{'spec':{'parallelism':" parallelism ",'completions':" parallelism                 \
    ",'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}"

static void test_jobset_is_a_gang(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_JOBSET, "default", "s",
                              "{'metadata':{'name':'s'},'spec':{'replicatedJobs':[{'name':'w',"
                              "'replicas':2," TEMPLATE("2") "}]}}"));
    add_node(sim, "a", "z1", 8, "");
    add_pod(sim, "s0", OF_SET("j0"), "");
    add_pod(sim, "s1", OF_SET("j0"), "");
    add_pod(sim, "s2", OF_SET("j1"), "");
    assert_int_equal(bound(sim, "s"), 0);
    add_pod(sim, "s3", OF_SET("j1"), "");
    assert_int_equal(bound(sim, "s"), 4);
    sim_free(sim);
}

static void say_succeeded(struct sim *sim, const char *count)
{
    scoped_free char *body = mem_printf("{'status':{'succeeded':%s}}", count);
    struct write *write = stage_write(WRITE_PATCH, &KIND_JOB, "default", "s-w-0", body);
    write->sub = SUB_STATUS;
    stage_do(sim, write);
}

/* Members that have succeeded do not come back: those that are made anew are the whole gang. */
static void test_who_has_succeeded_is_not_waited_for(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_JOBSET, "default", "s",
                              "{'metadata':{'name':'s'},'spec':{'replicatedJobs':[{'name':'w',"
                              "'replicas':1," TEMPLATE("4") "}]}}"));
    scoped_free char *job = mem_printf(
        "{'metadata':{'name':'s-w-0','labels':{'jobset.sigs.k8s.io/jobset-name':'s'},"
        "'ownerReferences':[{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','name':'s',"
        "'uid':'%s'}]},'spec':{'parallelism':4,'completions':4,'template':{'spec':{"
        "'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}",
        stage_get(sim, &KIND_JOBSET, "default", "s")->meta.uid);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_JOB, "default", "s-w-0", job));
    add_node(sim, "a", "z1", 8, "");
    say_succeeded(sim, "1");
    add_pod(sim, "s0", OF_SET("j0"), "");
    assert_string_equal(message_of(sim, "s0"),
                        "gang default/s has 1 of its 3 members: waiting for the others");
    add_pod(sim, "s1", OF_SET("j0"), "");
    assert_int_equal(bound(sim, "s"), 0);
    say_succeeded(sim, "2"); /* it was told late */
    assert_int_equal(bound(sim, "s"), 2);
    sim_free(sim);
}

/* ---- one job a domain ---- */

#define ALONE(job)                                                                                 \
    ",'labels':{'jobset.sigs.k8s.io/job-key':'" job "'},'annotations':{'alpha.jobset.sigs.k8s.io/" \
    "exclusive-topology':'zone','muster.dev/gang':'" job "','muster.dev/gang-size':'2'}"

static void test_exclusive(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_node(sim, "a", "z1", 1, ""); /* the most room in share, but too little for two */
    add_node(sim, "b1", "z2", 1, "");
    add_node(sim, "b2", "z2", 1, "");
    add_node(sim, "c", "z3", 4, "");
    add_pod(sim, "j0", ALONE("j"), "");
    add_pod(sim, "j1", ALONE("j"), "");
    add_pod(sim, "k0", ALONE("k"), "");
    add_pod(sim, "k1", ALONE("k"), "");
    add_pod(sim, "l0", ALONE("l"), "");
    add_pod(sim, "l1", ALONE("l"), "");
    assert_int_equal(bound(sim, "j") + bound(sim, "k"), 4);
    assert_int_equal(*node_of(sim, "j0"), *node_of(sim, "j1"));
    assert_int_equal(*node_of(sim, "k0"), *node_of(sim, "k1"));
    assert_int_not_equal(*node_of(sim, "j0"), *node_of(sim, "k0"));
    assert_int_not_equal(*node_of(sim, "j0"), 'a');
    assert_int_equal(bound(sim, "l"), 0);
    add_pod(sim, "other", "", ""); /* who does not ask for it may share a domain */
    assert_int_equal(bound(sim, "other"), 1);
    char was = *node_of(sim, "j0");
    end_pod(sim, "j0");
    assert_int_equal(bound(sim, "l"), 0);
    end_pod(sim, "other");
    end_pod(sim, "j1");
    stage_run(sim, 1000);
    assert_int_equal(bound(sim, "l"), 2);
    assert_int_equal(*node_of(sim, "l0"), was);
    assert_int_equal(*node_of(sim, "l1"), was);
    sim_free(sim);
}

/* ---- with faults ---- */

static bool has_node(struct sim *sim, const char *name)
{
    struct obj *pod = stage_get(sim, &KIND_POD, "default", name);
    return pod != NULL && json_str_at(pod->root, "spec.nodeName") != NULL;
}

static void submit_until_there(struct sim *sim, const char *name, const char *meta)
{
    int tries = 0;
    do {
        sim_submit(sim, pod_write(name, meta, ""));
        stage_run(sim, 200);
        assert_in_range(++tries, 1, 1000);
    } while (stage_get(sim, &KIND_POD, "default", name) == NULL);
}

/* The simulator's own first writes may be among those that fail. */
static void need_namespace(struct sim *sim)
{
    while (stage_get(sim, &KIND_NAMESPACE, "", "default") == NULL) {
        sim_submit(sim, stage_write(WRITE_CREATE, &KIND_NAMESPACE, "", "default",
                                    "{'metadata':{'name':'default'}}"));
        stage_run(sim, 200);
    }
}

/* Two gangs of three in room for four: at rest one is whole, and no node of the other is used. */
static void run_seed(uint64_t seed)
{
    static const struct sim_faults FAULTS = {
        .commit_refused = 500, .conflict = 2000, .commit_ms = 20, .lag_ms = 80, .submit_ms = 80};
    struct sim *sim = stage_open(seed, BINDER, &FAULTS);
    static const char *const NODES[] = {"a", "b"};
    need_namespace(sim);
    for (size_t i = 0; i < ARRAY_LEN(NODES); i++) {
        scoped_free char *body =
            mem_printf("{'metadata':{'name':'%s'},'status':{" READY
                       ",'allocatable':{'cpu':'2','memory':'1Gi','pods':'9'}}}",
                       NODES[i]);
        do {
            sim_submit(sim, stage_write(WRITE_CREATE, &KIND_NODE, "", NODES[i], body));
            stage_run(sim, 200);
        } while (stage_get(sim, &KIND_NODE, "", NODES[i]) == NULL);
    }
    for (int i = 0; i < 3; i++) {
        scoped_free char *g = mem_printf("g%d", i), *h = mem_printf("h%d", i);
        submit_until_there(sim, g, GANG("g", "3"));
        submit_until_there(sim, h, GANG("h", "3"));
    }
    sim_heal(sim);
    stage_run(sim, 60000);
    int g = has_node(sim, "g0") + has_node(sim, "g1") + has_node(sim, "g2");
    int h = has_node(sim, "h0") + has_node(sim, "h1") + has_node(sim, "h2");
    if (g + h != 3 || (g != 0 && h != 0))
        fail_msg("seed %d: %d of g and %d of h have a node", (int)seed, g, h);
    sim_free(sim);
}

static void test_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preferred),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_two_spreads),
        cmocka_unit_test(test_gang_waits_for_all),
        cmocka_unit_test(test_gang_fits_as_a_whole),
        cmocka_unit_test(test_jobset_is_a_gang),
        cmocka_unit_test(test_who_has_succeeded_is_not_waited_for),
        cmocka_unit_test(test_exclusive),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
