// SPDX-License-Identifier: Apache-2.0
/* VPods and their pools without faults; the test plays the nodes. A vpod is told as its column
 * shows it: "0:5 1:5", then "+N" when N have no place. */
#include "base/mem.h"
#include "control/pool_internal.h"
#include "stage.h"
#include <stdio.h>

static const struct controller *const POOL[] = {&CONTROLLER_POOL, &CONTROLLER_STATEFULSET, NULL};
#define SECOND 1000
#define ZONES 3

static void make(struct sim *sim, const struct kind *kind, const char *name, const char *body)
{
    stage_do(sim, stage_write(WRITE_CREATE, kind, kind->namespaced ? "default" : "", name, body));
}

static void make_node(struct sim *sim, const char *name, const char *zone)
{
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'%s','labels':{'topology.kubernetes.io/zone':'%s'}}}", name, zone);
    make(sim, &KIND_NODE, name, body);
}

static void make_vpod(struct sim *sim, const char *name, int vreplicas, const char *more)
{
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'%s'},'spec':{'pool':'web','vreplicas':%d%s}}", name, vreplicas, more);
    make(sim, &KIND_VPOD, name, body);
}

/* New pods are bound, round robin over the nodes, and those that go are gone. */
static void play(struct sim *sim)
{
    for (bool again = true; again;) {
        struct cache *cache = sim_store(sim)->cache;
        struct obj *pod = cache_first(cache, &KIND_POD, "default");
        again = false;
        stage_run(sim, SECOND);
        for (; pod != NULL && !again; pod = cache_after(cache, &KIND_POD, "default", pod)) {
            const char *node = json_str_at(pod->root, "spec.nodeName");
            scoped_free char *name = mem_strdup(pod->meta.name);
            int ordinal = (int)strtol(strrchr(name, '-') + 1, NULL, 10);
            again = true;
            if (pod->meta.deleted != 0) {
                struct write *write = stage_write(WRITE_DELETE, &KIND_POD, "default", name, NULL);
                write->grace_s = 0;
                stage_do(sim, write);
            } else if (node == NULL || *node == '\0') {
                scoped_free char *body = mem_printf("{'target':{'name':'n%d'}}", ordinal % ZONES);
                struct write *write = stage_write(WRITE_CREATE, &KIND_POD, "default", name, body);
                write->sub = SUB_BINDING;
                stage_do(sim, write);
            } else {
                again = false;
            }
        }
    }
    stage_run(sim, SECOND);
}

static struct sim *open_pool(int replicas, const char *notes)
{
    struct sim *sim = stage_open(1, POOL, NULL);
    for (int i = 0; i < ZONES; i++) {
        char name[8], zone[8];
        (void)snprintf(name, sizeof(name), "n%d", i);
        (void)snprintf(zone, sizeof(zone), "z%d", i);
        make_node(sim, name, zone);
    }
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'web','annotations':{'muster.dev/pod-capacity':'10',"
        "'muster.dev/refresh-period':'100s'%s}},'spec':{'replicas':%d,'podManagementPolicy':"
        "'Parallel','selector':{'matchLabels':{'app':'x'}},'template':{'metadata':{'labels':{"
        "'app':'x'}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}",
        notes, replicas);
    make(sim, &KIND_STATEFULSET, "web", body);
    play(sim);
    return sim;
}

static const struct obj *vpod_of(struct sim *sim, const char *name)
{
    const struct obj *vpod = stage_get(sim, &KIND_VPOD, "default", name);
    assert_non_null(vpod);
    return vpod;
}

#define expect(sim, name, text) expect_at(sim, name, text, __LINE__)
static void expect_at(struct sim *sim, const char *name, const char *text, int line)
{
    yyjson_val *status = yyjson_obj_get(vpod_of(sim, name)->root, "status");
    scoped_str is = {0};
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(status, "placements"), i, n, item)
    {
        str_addf(&is, "%s%s:%d", i > 0 ? " " : "", strrchr(json_str_at(item, "podName"), '-') + 1,
                 (int)json_int_at(item, "vreplicas", 0));
    }
    if (json_int_at(status, "pending", 0) > 0)
        str_addf(&is, " +%d", (int)json_int_at(status, "pending", 0));
    if (strcmp(str_text(&is), text) != 0)
        fail_msg("line %d: %s is \"%s\" instead of \"%s\"", line, name, str_text(&is), text);
}

static int replicas(struct sim *sim)
{
    return (int)json_int_at(stage_get(sim, &KIND_STATEFULSET, "default", "web")->root,
                            "spec.replicas", -1);
}

static void patch(struct sim *sim, const struct kind *kind, const char *name, const char *body)
{
    stage_do(sim, stage_write(WRITE_PATCH, kind, kind->namespaced ? "default" : "", name, body));
    stage_run(sim, SECOND);
}

static const char *share(struct sim *sim, int ordinal)
{
    scoped_free char *name = mem_printf("web-%d", ordinal);
    const struct obj *pod = stage_get(sim, &KIND_POD, "default", name);
    return pod ? yyjson_get_str(yyjson_obj_get(pod->meta.annotations, POOL_SHARE_NOTE)) : NULL;
}

/* ---- placing ---- */

static void test_spread(void **state)
{
    (void)state;
    struct sim *sim = open_pool(3, "");
    make_vpod(sim, "a", 6, "");
    play(sim);
    expect(sim, "a", "0:2 1:2 2:2");
    assert_string_equal(share(sim, 1), "{\"v\":2,\"vpods\":[{\"name\":\"a\",\"vreplicas\":2,"
                                       "\"first\":2,\"total\":6}]}");
    make_vpod(sim, "b", 3, "");
    play(sim);
    expect(sim, "b", "0:1 1:1 2:1");
    expect(sim, "a", "0:2 1:2 2:2");
    patch(sim, &KIND_VPOD, "a", "{'spec':{'vreplicas':3}}");
    expect(sim, "a", "0:1 1:1 2:1");
    stage_do(sim, stage_write(WRITE_DELETE, &KIND_VPOD, "default", "b", NULL));
    stage_run(sim, SECOND);
    assert_string_equal(share(sim, 0), "{\"v\":1,\"vpods\":[{\"name\":\"a\",\"vreplicas\":1,"
                                       "\"first\":0,\"total\":3}]}");
    sim_free(sim);
}

static void test_grows_and_shrinks(void **state)
{
    (void)state;
    struct sim *sim = open_pool(1, "");
    make_vpod(sim, "a", 25, "");
    play(sim);
    assert_int_equal(replicas(sim) >= 3, 1);
    yyjson_val *status = yyjson_obj_get(vpod_of(sim, "a")->root, "status");
    assert_int_equal(json_int_at(status, "placed", 0), 25);
    assert_int_equal(stage_events(sim, "PoolGrows") >= 1, 1);
    patch(sim, &KIND_VPOD, "a", "{'spec':{'vreplicas':2}}");
    for (int i = 0; i < 8; i++) {
        stage_run(sim, 100 * SECOND);
        play(sim);
    }
    status = yyjson_obj_get(vpod_of(sim, "a")->root, "status");
    assert_int_equal(json_int_at(status, "placed", 0), 2);
    assert_int_equal(replicas(sim) <= 3, 1);
    sim_free(sim);
}

/* Triggers that never end must not keep a pool from shrinking. */
static void test_churn_does_not_starve(void **state)
{
    (void)state;
    struct sim *sim = open_pool(9, "");
    make_vpod(sim, "a", 3, "");
    make_vpod(sim, "b", 1000, ",'maxPods':1"); /* never fits */
    for (int i = 0; i < 40; i++) {
        scoped_free char *body = mem_printf("{'spec':{'vreplicas':%d}}", 1000 + i);
        patch(sim, &KIND_VPOD, "b", body);
        stage_run(sim, 7 * SECOND);
        play(sim);
    }
    int before = replicas(sim);
    stage_do(sim, stage_write(WRITE_DELETE, &KIND_VPOD, "default", "b", NULL));
    for (int i = 0; i < 40; i++) {
        scoped_free char *body = mem_printf("{'spec':{'vreplicas':%d}}", 3 + i % 2);
        patch(sim, &KIND_VPOD, "a", body);
        stage_run(sim, 7 * SECOND);
        play(sim);
    }
    if (replicas(sim) >= before)
        fail_msg("still %d pods", replicas(sim));
    sim_free(sim);
}

static void test_no_autoscale(void **state)
{
    (void)state;
    struct sim *sim = open_pool(1, ",'muster.dev/autoscale':'false'");
    make_vpod(sim, "a", 25, "");
    play(sim);
    expect(sim, "a", "0:10 +15");
    assert_int_equal(replicas(sim), 1);
    assert_int_equal(stage_events(sim, "FailedScheduling"), 1);
    patch(sim, &KIND_STATEFULSET, "web", "{'spec':{'replicas':3}}");
    play(sim);
    yyjson_val *status = yyjson_obj_get(vpod_of(sim, "a")->root, "status");
    assert_int_equal(json_int_at(status, "placed", 0), 25);
    sim_free(sim);
}

static void test_no_pool(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, POOL, NULL);
    make_vpod(sim, "a", 4, "");
    stage_run(sim, SECOND);
    yyjson_val *why = yyjson_arr_get_first(json_at(vpod_of(sim, "a")->root, "status.conditions"));
    assert_string_equal(json_str_at(why, "reason"), "PoolMissing");
    expect(sim, "a", " +4");
    sim_free(sim);
}

/* ---- what is lost ---- */

static void test_lost_keeps_placements(void **state)
{
    (void)state;
    struct sim *sim = open_pool(3, "");
    make_vpod(sim, "a", 6, "");
    play(sim);
    expect(sim, "a", "0:2 1:2 2:2");
    patch(sim, &KIND_NODE, "n1", "{'spec':{'unschedulable':true}}");
    play(sim);
    expect(sim, "a", "0:2 1:2 2:2");
    make_vpod(sim, "b", 4, ""); /* nothing new there */
    play(sim);
    expect(sim, "b", "0:2 2:2");
    patch(sim, &KIND_NODE, "n2",
          "{'spec':{'taints':[{'key':'node.kubernetes.io/unreachable','effect':'NoExecute'}]}}");
    play(sim);
    expect(sim, "a", "0:2 1:2 2:2");
    expect(sim, "b", "0:2 2:2");
    make_vpod(sim, "c", 2, "");
    play(sim);
    expect(sim, "c", "0:2");
    sim_restart_manager(sim); /* and a new controller moves nothing */
    stage_run(sim, 5 * SECOND);
    expect(sim, "a", "0:2 1:2 2:2");
    expect(sim, "b", "0:2 2:2");
    struct write *write = stage_write(WRITE_DELETE, &KIND_POD, "default", "web-0", NULL);
    write->grace_s = 0;
    stage_do(sim, write);
    play(sim); /* a new pod of the same name has what the old one had */
    expect(sim, "a", "0:2 1:2 2:2");
    assert_non_null(strstr(share(sim, 0), "{\"v\":6,"));
    sim_free(sim);
}

/* ---- policies ---- */

/* A pod takes less than it did: the pool grows, and what is too much moves in one write each. */
static void test_capacity_is_made_smaller(void **state)
{
    (void)state;
    struct sim *sim = open_pool(3, "");
    make_vpod(sim, "a", 15, "");
    make_vpod(sim, "b", 6, "");
    play(sim);
    expect(sim, "a", "0:5 1:5 2:5");
    expect(sim, "b", "0:2 1:2 2:2");
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_STATEFULSET, "default", "web",
                              "{'metadata':{'annotations':{'muster.dev/pod-capacity':'6'}}}"));
    play(sim);
    play(sim);
    expect(sim, "a", "0:5 1:5 2:5");
    assert_int_equal(replicas(sim) > 3, 1);
    assert_int_equal(json_int_at(vpod_of(sim, "b")->root, "status.placed", 0), 6);
    expect(sim, "b", "0:1 1:1 2:1 3:3"); /* as soon as there is room */
    sim_free(sim);
}

static void test_policy(void **state)
{
    (void)state;
    struct sim *sim = open_pool(3, "");
    make(sim, &KIND_CONFIGMAP, "config-scheduler",
         "{'metadata':{'name':'config-scheduler'},'data':{'predicates':'[{\\'Name\\':"
         "\\'PodFitsResources\\'}]','priorities':'[{\\'Name\\':\\'LowestOrdinalPriority\\',"
         "\\'Weight\\':1}]'}}");
    make_vpod(sim, "a", 6, "");
    play(sim);
    expect(sim, "a", "0:6");
    patch(sim, &KIND_CONFIGMAP, "config-scheduler",
          "{'data':{'priorities':'[{\\'Name\\':\\'NoSuchPriority\\',\\'Weight\\':1}]'}}");
    assert_int_equal(stage_events(sim, "BadPolicy"), 1);
    make_vpod(sim, "b", 6, ""); /* the old one goes on to hold */
    play(sim);
    expect(sim, "b", "0:4 1:2");
    sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_grows_and_shrinks),
        cmocka_unit_test(test_churn_does_not_starve),
        cmocka_unit_test(test_no_autoscale),
        cmocka_unit_test(test_no_pool),
        cmocka_unit_test(test_lost_keeps_placements),
        cmocka_unit_test(test_capacity_is_made_smaller),
        cmocka_unit_test(test_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
