// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "model/cell.h"
#include "stage.h"

static const struct controller *const LIFE[] = {&CONTROLLER_NODELIFE, NULL};
#define SECOND 1000
#define UNREACHABLE "node.kubernetes.io/unreachable"
#define CORDONED "node.kubernetes.io/unschedulable"
#define NOT_READY "node.kubernetes.io/not-ready"

static void renew(struct sim *sim, int times)
{
    for (int i = 0; i < times; i++) {
        scoped_str now = {0};
        rfc3339_format_micro(sim_now(sim), &now);
        bool is_there = stage_get(sim, &KIND_LEASE, "kube-node-lease", "n") != NULL;
        scoped_free char *body =
            mem_printf("{'metadata':{'name':'n'},'spec':{'renewTime':'%s'}}", str_text(&now));
        stage_do(sim, stage_write(is_there ? WRITE_PATCH : WRITE_CREATE, &KIND_LEASE,
                                  "kube-node-lease", "n", body));
        stage_run(sim, 10 * SECOND - 500);
    }
}

static void add_pod(struct sim *sim, const char *name, const char *more)
{
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'%s'},'spec':{'nodeName':'n','containers':[{'name':'c',"
                   "'image':'i'}]%s}}",
                   name, more);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_POD, "default", name, body));
    struct write *ready =
        stage_write(WRITE_PATCH, &KIND_POD, "default", name,
                    "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}"
                    "]}}");
    ready->sub = SUB_STATUS;
    stage_do(sim, ready);
}

static struct sim *open_node(void)
{
    struct sim *sim = stage_open(1, LIFE, NULL);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_NODE, "", "n",
                              "{'metadata':{'name':'n'},'status':{'conditions':[{'type':'Ready',"
                              "'status':'True'},{'type':'DiskPressure','status':'False'}]}}"));
    renew(sim, 1);
    return sim;
}

static bool says(struct sim *sim, const char *type, const char *status)
{
    const struct obj *node = stage_get(sim, &KIND_NODE, "", "n");
    return cell_condition_is(json_at(node->root, "status.conditions"), type, status);
}

static int taints(struct sim *sim, const char *key)
{
    const struct obj *node = stage_get(sim, &KIND_NODE, "", "n");
    size_t i, n;
    yyjson_val *taint;
    int count = 0;
    yyjson_arr_foreach(json_at(node->root, "spec.taints"), i, n, taint)
    {
        count += str_eq(json_str_at(taint, "key"), key);
    }
    return count;
}

static bool is_ready(struct sim *sim, const char *pod)
{
    const struct obj *obj = stage_get(sim, &KIND_POD, "default", pod);
    assert_non_null(obj);
    return cell_condition_is(json_at(obj->root, "status.conditions"), "Ready", "True");
}

static bool is_deleted(struct sim *sim, const char *pod)
{
    const struct obj *obj = stage_get(sim, &KIND_POD, "default", pod);
    return obj == NULL || obj->meta.deleted != 0;
}

static void test_alive(void **state)
{
    (void)state;
    struct sim *sim = open_node();
    add_pod(sim, "p", "");
    renew(sim, 30);
    assert_true(says(sim, "Ready", "True"));
    assert_int_equal(taints(sim, UNREACHABLE), 0);
    assert_true(is_ready(sim, "p") && !is_deleted(sim, "p"));
    sim_free(sim);
}

static void test_silent_and_back(void **state)
{
    (void)state;
    struct sim *sim = open_node();
    add_pod(sim, "p", "");
    stage_run(sim, 25 * SECOND);
    assert_true(says(sim, "Ready", "True"));
    stage_run(sim, 10 * SECOND); /* more than 40 s since the renewal */
    assert_true(says(sim, "Ready", "Unknown"));
    assert_true(says(sim, "DiskPressure", "Unknown"));
    assert_int_equal(taints(sim, UNREACHABLE), 2);
    assert_false(is_ready(sim, "p"));
    assert_false(is_deleted(sim, "p"));
    stage_run(sim, 100 * SECOND);
    assert_false(is_deleted(sim, "p"));
    renew(sim, 1);
    assert_true(says(sim, "Ready", "True"));
    assert_true(says(sim, "DiskPressure", "False"));
    assert_int_equal(taints(sim, UNREACHABLE), 0);
    renew(sim, 40);
    assert_false(is_deleted(sim, "p"));
    sim_free(sim);
}

/* Seconds after the taint at which pods go, by what they tolerate. */
static const struct {
    const char *name, *spec;
    int after_s; /* -1: stays */
} PODS[] = {
    {"default", "", 300},
    {"short",
     ",'tolerations':[{'key':'" UNREACHABLE "','operator':'Exists','effect':'NoExecute',"
     "'tolerationSeconds':20}]",
     20},
    {"ever", ",'tolerations':[{'key':'" UNREACHABLE "','operator':'Exists','effect':'NoExecute'}]",
     -1},
    {"all", ",'tolerations':[{'operator':'Exists'}]", -1},
};

static void test_eviction(void **state)
{
    (void)state;
    struct sim *sim = open_node();
    for (size_t i = 0; i < ARRAY_LEN(PODS); i++)
        add_pod(sim, PODS[i].name, PODS[i].spec);
    while (taints(sim, UNREACHABLE) == 0)
        stage_run(sim, 100);
    for (int second = 0; second < 400; second++) {
        for (size_t i = 0; i < ARRAY_LEN(PODS); i++) {
            bool early = second < PODS[i].after_s - 2 || PODS[i].after_s < 0;
            if (early && is_deleted(sim, PODS[i].name))
                fail_msg("%s went after %d s", PODS[i].name, second);
            if (!early && second > PODS[i].after_s + 2 && !is_deleted(sim, PODS[i].name))
                fail_msg("%s is there after %d s", PODS[i].name, second);
        }
        stage_run(sim, SECOND);
    }
    sim_free(sim);
}

/* A taint that somebody sets by hand is borne for no time at all. */
static void test_taint_by_hand(void **state)
{
    (void)state;
    struct sim *sim = open_node();
    add_pod(sim, "p", "");
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_NODE, "", "n",
                              "{'spec':{'taints':[{'key':'x','effect':'NoExecute'}]}}"));
    assert_true(is_deleted(sim, "p"));
    assert_int_equal(taints(sim, "x"), 1);
    sim_free(sim);
}

static void test_says_not_ready(void **state)
{
    (void)state;
    struct sim *sim = open_node();
    struct write *write = stage_write(WRITE_PATCH, &KIND_NODE, "", "n",
                                      "{'status':{'conditions':[{'type':'Ready','status':'False',"
                                      "'reason':'x'}]}}");
    write->sub = SUB_STATUS;
    stage_do(sim, write);
    assert_int_equal(taints(sim, NOT_READY), 2);
    assert_true(says(sim, "Ready", "False"));
    renew(sim, 2);
    assert_true(says(sim, "Ready", "False"));
    stage_run(sim, 60 * SECOND); /* now it is silent as well */
    assert_int_equal(taints(sim, NOT_READY), 0);
    assert_int_equal(taints(sim, UNREACHABLE), 2);
    sim_free(sim);
}

/* For whoever looks at taints only; pods that are there stay. */
static void test_cordoned(void **state)
{
    struct sim *sim = open_node();
    (void)state;
    add_pod(sim, "p", "");
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_NODE, "", "n", "{'spec':{'unschedulable':true}}"));
    renew(sim, 1);
    assert_int_equal(taints(sim, CORDONED), 1);
    assert_false(is_deleted(sim, "p")); /* it is for new pods only */
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_NODE, "", "n", "{'spec':{'unschedulable':null}}"));
    renew(sim, 1);
    assert_int_equal(taints(sim, CORDONED), 0);
    sim_free(sim);
}

/* A controller that begins knows of nobody; it takes nothing back, and gives everybody time. */
static void test_restart(void **state)
{
    (void)state;
    struct sim *sim = open_node();
    stage_run(sim, 30 * SECOND);
    sim_restart_manager(sim);
    stage_run(sim, 30 * SECOND);
    assert_true(says(sim, "Ready", "True"));
    stage_run(sim, 15 * SECOND);
    assert_true(says(sim, "Ready", "Unknown"));
    sim_restart_manager(sim);
    stage_run(sim, 60 * SECOND);
    assert_true(says(sim, "Ready", "Unknown"));
    assert_int_equal(taints(sim, UNREACHABLE), 2);
    renew(sim, 1);
    assert_true(says(sim, "Ready", "True"));
    sim_free(sim);
}

/* Whatever goes wrong on the way, a node that is silent is tainted and one that is back is not. */
static void test_faults(void **state)
{
    (void)state;
    static const struct sim_faults FAULTS = {
        .conflict = 3000, .restart = 500, .commit_ms = 20, .lag_ms = 100, .submit_ms = 100};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim *sim = stage_open(seed, LIFE, &FAULTS);
        stage_do(sim, stage_write(WRITE_CREATE, &KIND_NODE, "", "n",
                                  "{'metadata':{'name':'n'},'status':{'conditions':[{'type':"
                                  "'Ready','status':'True'}]}}"));
        add_pod(sim, "p", "");
        for (int i = 0; i < 3; i++) {
            stage_run(sim, 120 * SECOND);
            assert_true(says(sim, "Ready", "Unknown"));
            assert_int_equal(taints(sim, UNREACHABLE), 2);
            assert_false(is_ready(sim, "p"));
            renew(sim, 3);
            assert_true(says(sim, "Ready", "True"));
            assert_int_equal(taints(sim, UNREACHABLE), 0);
        }
        sim_free(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alive),          cmocka_unit_test(test_silent_and_back),
        cmocka_unit_test(test_eviction),       cmocka_unit_test(test_taint_by_hand),
        cmocka_unit_test(test_says_not_ready), cmocka_unit_test(test_cordoned),
        cmocka_unit_test(test_restart),        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
