// SPDX-License-Identifier: Apache-2.0
/* Pods near each other and away from each other, alone and in gangs. Nodes a1, a2 are in zone a,
 * b1, b2 in zone b; c1 has no zone. */
#include "base/mem.h"
#include "stage.h"

static const struct controller *const BINDER[] = {&CONTROLLER_BINDER, NULL};

static void add_node(struct sim *sim, const char *name, int cpu)
{
    scoped_free char *zone = *name == 'c' ? mem_strdup("") : mem_printf("'zone':'%c',", *name);
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'%s','labels':{%s'host':'%s'}},'status':{'conditions':[{'type':'Ready'"
        ",'status':'True'}],'allocatable':{'cpu':'%d','memory':'1Gi','pods':'100'}}}",
        name, zone, name, cpu);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_NODE, "", name, body));
}

static struct sim *open_nodes(int a, int b, int c)
{
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_node(sim, "a1", a);
    add_node(sim, "a2", a);
    add_node(sim, "b1", b);
    add_node(sim, "b2", b);
    if (c > 0)
        add_node(sim, "c1", c);
    return sim;
}

struct pod {
    const char *name, *app, *affinity, *more; /* more: annotations */
    const char *ns;
};

static void add(struct sim *sim, const struct pod *pod)
{
    const char *ns = pod->ns != NULL ? pod->ns : "default";
    scoped_free char *body = mem_printf(
        "{'metadata':{'name':'%s','labels':{'app':'%s'}%s},'spec':{'containers':[{'name':'c',"
        "'image':'i','resources':{'requests':{'cpu':'1'}}}],'affinity':{%s}}}",
        pod->name, pod->app, pod->more != NULL ? pod->more : "",
        pod->affinity != NULL ? pod->affinity : "");
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_POD, ns, pod->name, body));
}

static const char *node_in(struct sim *sim, const char *ns, const char *pod)
{
    const char *node = json_str_at(stage_get(sim, &KIND_POD, ns, pod)->root, "spec.nodeName");
    return node != NULL ? node : "";
}

static const char *node_of(struct sim *sim, const char *pod)
{
    return node_in(sim, "default", pod);
}

static const char *why(struct sim *sim, const char *pod)
{
    yyjson_val *list =
        json_at(stage_get(sim, &KIND_POD, "default", pod)->root, "status.conditions");
    const char *text = json_str_at(yyjson_arr_get_first(list), "message");
    return text != NULL ? text : "";
}

static void drop(struct sim *sim, const char *pod)
{
    struct write *write = stage_write(WRITE_DELETE, &KIND_POD, "default", pod, NULL);
    write->grace_s = 0;
    stage_do(sim, write);
    stage_run(sim, 1000);
}

#define TERM(app, key) "{'topologyKey':'" key "','labelSelector':{'matchLabels':{'app':'" app "'}}}"
#define MUST(terms) "'requiredDuringSchedulingIgnoredDuringExecution':[" terms "]"
#define LIKE(weight, term)                                                                         \
    "'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':" weight                         \
    ",'podAffinityTerm':" term "}]"
#define NEAR(rules) "'podAffinity':{" rules "}"
#define AWAY(rules) "'podAntiAffinity':{" rules "}"
#define GANG(size) ",'annotations':{'muster.dev/gang':'g','muster.dev/gang-size':'" size "'}"

static void test_near_waits_for_whom_it_wants(void **state)
{
    (void)state;
    struct sim *sim = open_nodes(2, 8, 64);
    add(sim, &(struct pod){"w", "w", NEAR(MUST(TERM("db", "zone")))});
    assert_string_equal(node_of(sim, "w"), "");
    assert_string_equal(why(sim, "w"), "0/5 nodes are available: 4 node(s) didn't match pod "
                                       "affinity rules, 1 node(s) had no label zone.");
    add(sim, &(struct pod){"b", "b", NEAR(MUST(TERM("b", "zone")))}); /* its own first one */
    add(sim, &(struct pod){"db", "db", NEAR(MUST(TERM("b", "host")))});
    stage_run(sim, 1000);
    assert_string_equal(node_of(sim, "b"), "a1");
    assert_string_equal(node_of(sim, "db"), "a1");
    assert_string_equal(node_of(sim, "w"), "a2"); /* the zone; a1 is full, b1 has more room */
    sim_free(sim);
}

static void test_away_from_others(void **state)
{
    (void)state;
    struct sim *sim = open_nodes(8, 8, 0);
    static const char *const NAMES[] = {"p0", "p1", "p2", "p3", "p4"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        add(sim, &(struct pod){NAMES[i], "x", AWAY(MUST(TERM("x", "host")))});
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(node_of(sim, NAMES[i]), node_of(sim, NAMES[k]));
    }
    assert_string_equal(node_of(sim, "p4"), "");
    assert_string_equal(why(sim, "p4"),
                        "0/4 nodes are available: 4 node(s) didn't match pod anti-affinity rules.");
    scoped_free char *freed = mem_strdup(node_of(sim, "p1"));
    drop(sim, "p1");
    assert_string_equal(node_of(sim, "p4"), freed);
    sim_free(sim);
}

/* Whom a pod that is there minds stays away from it, though it asks for nothing itself. */
static void test_who_is_minded_stays_away(void **state)
{
    (void)state;
    struct sim *sim = open_nodes(8, 2, 0);
    add(sim, &(struct pod){"quiet", "q", AWAY(MUST(TERM("loud", "zone")))});
    assert_string_equal(node_of(sim, "quiet"), "a1");
    add(sim, &(struct pod){"l1", "loud"});
    add(sim, &(struct pod){"other", "calm"});
    assert_string_equal(node_of(sim, "l1"), "b1");
    assert_string_equal(node_of(sim, "other"), "a2");
    static const char *const NAMES[] = {"l2", "l3", "l4", "l5"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        add(sim, &(struct pod){NAMES[i], "loud"});
    assert_string_equal(node_of(sim, "l4"), "b2");
    assert_string_equal(node_of(sim, "l5"), "");
    assert_string_equal(why(sim, "l5"), "0/4 nodes are available: 2 Insufficient cpu, 2 node(s) "
                                        "didn't match pod anti-affinity rules.");
    drop(sim, "quiet");
    assert_string_equal(node_of(sim, "l5"), "a1");
    sim_free(sim);
}

static void test_what_is_preferred(void **state)
{
    (void)state;
    struct sim *sim = open_nodes(64, 8, 0);
    add(sim, &(struct pod){"db", "db", AWAY(MUST(TERM("none", "zone")))});
    assert_string_equal(node_of(sim, "db"), "a1");
    add(sim, &(struct pod){"w", "w", AWAY(LIKE("10", TERM("db", "zone")))});
    assert_string_equal(node_of(sim, "w"), "b1");
    add(sim, &(struct pod){"v", "v", NEAR(LIKE("10", TERM("w", "host")))});
    assert_string_equal(node_of(sim, "v"), "b1");
    add(sim, &(struct pod){"u", "u", NEAR(LIKE("10", TERM("nobody", "host")))});
    assert_string_equal(node_of(sim, "u"), "a2");
    sim_free(sim);
}

static void test_namespaces(void **state)
{
    (void)state;
    struct sim *sim = open_nodes(8, 8, 0);
    stage_do(sim,
             stage_write(WRITE_CREATE, &KIND_NAMESPACE, "", "far", "{'metadata':{'name':'far'}}"));
    add(sim, &(struct pod){"db", "db", .ns = "far"});
    assert_string_equal(node_in(sim, "far", "db"), "a1");
#define IN(spaces) "{'topologyKey':'host'," spaces ",'labelSelector':{'matchLabels':{'app':'db'}}}"
    add(sim, &(struct pod){"here", "w", NEAR(MUST(TERM("db", "host")))});
    add(sim, &(struct pod){"there", "w", NEAR(MUST(IN("'namespaces':['far']")))});
    add(sim, &(struct pod){"all", "w", NEAR(MUST(IN("'namespaceSelector':{}")))});
    add(sim, &(struct pod){"some", "w",
                           NEAR(MUST(IN("'namespaceSelector':{'matchLabels':{'a':'b'}}")))});
    assert_string_equal(node_of(sim, "here"), "");
    assert_string_equal(node_of(sim, "there"), "a1");
    assert_string_equal(node_of(sim, "all"), "a1");
    assert_string_equal(node_of(sim, "some"), "");
    assert_string_equal(why(sim, "some"),
                        "spec.affinity.podAffinity: namespaceSelector is not done here; give the "
                        "pods a label, or name their namespaces");
    sim_free(sim);
}

/* A pod gets another label: who counts it is told. */
static void test_labels_change(void **state)
{
    (void)state;
    struct sim *sim = open_nodes(8, 8, 0);
    add(sim, &(struct pod){"x", "x"});
    add(sim, &(struct pod){"w", "w", NEAR(MUST(TERM("y", "host")))});
    assert_string_equal(node_of(sim, "w"), "");
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_POD, "default", "x",
                              "{'metadata':{'labels':{'app':'y'}}}"));
    stage_run(sim, 1000);
    assert_string_equal(node_of(sim, "w"), node_of(sim, "x"));
    sim_free(sim);
}

/* ---- gangs ---- */

static size_t bound(struct sim *sim, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        scoped_free char *name = mem_printf("g%zu", i);
        count += *node_of(sim, name) != '\0';
    }
    return count;
}

static void add_gang(struct sim *sim, size_t n, const char *affinity, const char *gang)
{
    for (size_t i = 0; i < n; i++) {
        scoped_free char *name = mem_printf("g%zu", i);
        add(sim, &(struct pod){name, "g", affinity, gang});
    }
    stage_run(sim, 1000);
}

static void test_gang_apart_or_not_at_all(void **state)
{
    (void)state;
    struct sim *sim = open_nodes(8, 8, 0);
    add_gang(sim, 5, AWAY(MUST(TERM("g", "host"))), GANG("5"));
    assert_int_equal(bound(sim, 5), 0);
    assert_string_equal(why(sim, "g0"),
                        "gang default/g of 5 does not fit as a whole: 0/4 nodes are available: 4 "
                        "node(s) didn't match pod anti-affinity rules.");
    add_node(sim, "c1", 1);
    stage_run(sim, 1000);
    assert_int_equal(bound(sim, 5), 5);
    sim_free(sim);
}

/* All in one zone: the first choice, with the roomier node, is too small for all. */
static void test_gang_together_tries_every_zone(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, BINDER, NULL);
    add_node(sim, "a1", 3);
    add_node(sim, "b1", 2);
    add_node(sim, "b2", 2);
    add(sim, &(struct pod){"one", "one", AWAY(MUST(TERM("none", "host")))});
    assert_string_equal(node_of(sim, "one"), "a1");
    drop(sim, "one");
    add_gang(sim, 4, NEAR(MUST(TERM("g", "zone"))), GANG("4"));
    assert_int_equal(bound(sim, 4), 4);
    for (size_t i = 0; i < 4; i++) {
        scoped_free char *name = mem_printf("g%zu", i);
        assert_int_equal(*node_of(sim, name), 'b');
    }
    sim_free(sim);
}

/* A worker that comes first by its name waits in the gang for the one it wants to be near. */
static void test_gang_in_the_order_of_its_wishes(void **state)
{
    (void)state;
    struct sim *sim = open_nodes(3, 8, 0);
    add(sim, &(struct pod){"a-worker", "w", NEAR(MUST(TERM("d", "zone"))), GANG("3")});
    add(sim, &(struct pod){"b-worker", "w", NEAR(MUST(TERM("d", "zone"))), GANG("3")});
    add(sim, &(struct pod){"driver", "d", NULL, GANG("3")});
    stage_run(sim, 1000);
    assert_string_equal(node_of(sim, "driver"), "a1");
    assert_int_equal(*node_of(sim, "a-worker"), 'a');
    assert_int_equal(*node_of(sim, "b-worker"), 'a');
    sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near_waits_for_whom_it_wants),
        cmocka_unit_test(test_away_from_others),
        cmocka_unit_test(test_who_is_minded_stays_away),
        cmocka_unit_test(test_what_is_preferred),
        cmocka_unit_test(test_namespaces),
        cmocka_unit_test(test_labels_change),
        cmocka_unit_test(test_gang_apart_or_not_at_all),
        cmocka_unit_test(test_gang_together_tries_every_zone),
        cmocka_unit_test(test_gang_in_the_order_of_its_wishes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
