// SPDX-License-Identifier: Apache-2.0
/* Nodes for pods, beyond the plain case in test_place.c: domains with owners, bounds of a spread,
 * what was tried already, amounts at the edge. A node is a text: '-' not allowed, '+' and '<' far
 * more and far less preferred than may be, '?' without a domain; its domain follows. */
#include "base/mem.h"
#include "core/place/bind.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ROOM 4

struct field {
    struct bind *bind;
    struct bind_class *class;
};

static void judge(void *arg, void *node, struct bind_fit *fit)
{
    (void)arg;
    const char *name = node;
    *fit = (struct bind_fit){.is_allowed = *name != '-',
                             .preference = *name == '+'   ? BIND_PREFERENCE_MAX * 9
                                           : *name == '<' ? -BIND_PREFERENCE_MAX * 9
                                                          : 0,
                             .domain = *name == '?' ? NULL : name + 1};
}

static const int64_t WANTS[] = {1};

static struct bind_rules rules_of(const char *exclusive, int64_t max_skew)
{
    return (struct bind_rules){.judge = judge,
                               .wants = WANTS,
                               .n = 1,
                               .has_domains = true,
                               .is_spread = max_skew > 0,
                               .max_skew = max_skew,
                               .exclusive = exclusive};
}

static struct field open_field(const struct bind_rules *rules, char *const *nodes, size_t n)
{
    const int64_t has[] = {ROOM};
    struct field field = {.bind = bind_new(1)};
    for (size_t i = 0; i < n; i++)
        bind_set_node(field.bind, bind_add_node(field.bind), nodes[i], has, 1);
    field.class = bind_class_new(field.bind, rules);
    return field;
}

#define expect_pick(field, owner, node)                                                            \
    do {                                                                                           \
        enum bind_problem pick_problem;                                                            \
        assert_int_equal(bind_pick((field)->bind, (field)->class, owner, &pick_problem), node);    \
        assert_int_equal(pick_problem, BIND_FITS);                                                 \
    } while (0)
#define expect_none(field, owner, why)                                                             \
    do {                                                                                           \
        enum bind_problem none_problem;                                                            \
        assert_true(bind_pick((field)->bind, (field)->class, owner, &none_problem) == BIND_NONE);  \
        assert_int_equal(none_problem, why);                                                       \
    } while (0)

/* ---- one owner a domain ---- */

static void test_owners_of_domains(void **state)
{
    (void)state;
    static char *const NODES[] = {"=x", "=y", "?"};
    struct bind_rules rules = rules_of("zone", 0);
    struct field field = open_field(&rules, NODES, 3);
    struct bind *bind = field.bind;
    /* A node without a domain is none of this; and what was not claimed cannot be given back. */
    assert_false(bind_claim(bind, field.class, 2, "a", 1));
    assert_false(bind_claim(bind, field.class, 2, "a", -1));
    assert_null(bind_home(bind, field.class, "a"));
    assert_true(bind_claim(bind, field.class, 0, "a", 1));
    assert_string_equal(bind_home(bind, field.class, "a"), "x");
    assert_null(bind_home(bind, field.class, NULL));
    /* Two are there by somebody else's will: the first one keeps it. */
    assert_false(bind_claim(bind, field.class, 0, "b", 1));
    assert_null(bind_home(bind, field.class, "b"));
    expect_pick(&field, "a", 0);
    expect_pick(&field, "b", 1);
    expect_pick(&field, NULL, 1); /* whoever has no owner keeps out as well */
    assert_int_equal(bind_why(bind, field.class, 0, "a"), BIND_FITS);
    assert_int_equal(bind_why(bind, field.class, 1, "a"), BIND_EXCLUDED); /* stays together */
    assert_int_equal(bind_why(bind, field.class, 0, "b"), BIND_EXCLUDED);
    assert_int_equal(bind_why(bind, field.class, 0, NULL), BIND_EXCLUDED);
    assert_int_equal(bind_why(bind, field.class, 1, NULL), BIND_FITS);
    assert_int_equal(bind_why(bind, field.class, 2, "b"), BIND_NO_ROOM);
    assert_true(bind_claim(bind, field.class, 0, "a", -1));
    assert_null(bind_home(bind, field.class, "a"));
    expect_pick(&field, "b", 0);
    bind_free(bind);
}

/* The claim holds for every class with the same key, also one that has no such domain, and for no
 * other key. */
static void test_claims_are_of_a_key(void **state)
{
    (void)state;
    static char *const NODES[] = {"=x", "=y"};
    struct bind_rules zone = rules_of("zone", 0), rack = rules_of("rack", 0),
                      any = rules_of(NULL, 0);
    struct field field = open_field(&zone, NODES, 2);
    struct field racks = {field.bind, bind_class_new(field.bind, &rack)};
    struct field anywhere = {field.bind, bind_class_new(field.bind, &any)};
    struct field twins = {field.bind, bind_class_new(field.bind, &zone)};
    assert_true(bind_claim(field.bind, field.class, 0, "a", 1));
    expect_pick(&twins, "b", 1);
    expect_pick(&racks, "b", 0);
    expect_pick(&anywhere, "b", 0);
    assert_null(bind_home(field.bind, anywhere.class, "a"));
    assert_int_equal(bind_why(field.bind, anywhere.class, 0, "b"), BIND_FITS);
    bind_free(field.bind);
}

static void not_x(void *arg, void *node, struct bind_fit *fit)
{
    judge(arg, node, fit);
    fit->is_allowed = fit->is_allowed && *fit->domain != 'x';
}

/* Its pods are in a domain that this class may not use: it waits, it does not spread out. */
static void test_home_is_out_of_reach(void **state)
{
    (void)state;
    static char *const NODES[] = {"=x", "=y"};
    struct bind_rules rules = rules_of("zone", 0);
    struct field field = open_field(&rules, NODES, 2);
    rules.judge = not_x;
    struct field others = {field.bind, bind_class_new(field.bind, &rules)};
    assert_true(bind_claim(field.bind, field.class, 0, "a", 1));
    expect_none(&others, "a", BIND_NO_ROOM);
    expect_pick(&others, "b", 1);
    bind_free(field.bind);
}

/* ---- a spread with a bound ---- */

static void test_spread_within_a_bound(void **state)
{
    (void)state;
    static char *const NODES[] = {"=x", "=y"};
    const int64_t all[] = {ROOM};
    struct bind_rules rules = rules_of(NULL, 1);
    struct field field = open_field(&rules, NODES, 2);
    expect_pick(&field, NULL, 0);
    bind_count(field.bind, field.class, 0, 1);
    expect_pick(&field, NULL, 1);
    assert_int_equal(bind_why(field.bind, field.class, 0, NULL), BIND_UNEVEN);
    /* The other domain is full: its count still is the least, so this one may not run ahead. */
    bind_take(field.bind, 1, all, 1, 1);
    assert_int_equal(bind_why(field.bind, field.class, 1, NULL), BIND_NO_ROOM);
    expect_none(&field, NULL, BIND_UNEVEN);
    /* When its only node goes, so does the domain, and nothing holds this one back. */
    bind_set_node(field.bind, 1, NULL, NULL, 0);
    expect_pick(&field, NULL, 0);
    /* A pod that ends on a node that is gone is remembered until the node is back. */
    bind_count(field.bind, field.class, 1, 1);
    bind_take(field.bind, 1, all, 1, -1);
    bind_set_node(field.bind, 1, NODES[1], all, 1);
    bind_count(field.bind, field.class, 0, -1);
    expect_pick(&field, NULL, 0);
    assert_int_equal(bind_why(field.bind, field.class, 1, NULL), BIND_UNEVEN);
    bind_free(field.bind);
}

/* ---- what was tried ---- */

static void test_tried_already(void **state)
{
    (void)state;
    static char *const NODES[] = {"=x", "=x", "=y", "-z"};
    struct bind_rules rules = rules_of("zone", 0);
    struct field field = open_field(&rules, NODES, 4);
    expect_pick(&field, "a", 0);
    bind_skip(field.class, 0);
    expect_pick(&field, "a", 1);
    bind_shun(field.bind, field.class, 1);
    bind_shun(field.bind, field.class, 0); /* the same domain once more */
    bind_shun(field.bind, field.class, 3); /* not in any */
    expect_pick(&field, "a", 2);
    bind_shun(field.bind, field.class, 2);
    expect_none(&field, "a", BIND_EXCLUDED);
    bind_unshun(field.bind, field.class);
    expect_pick(&field, "a", 1);
    bind_unskip(field.bind, field.class);
    expect_pick(&field, "a", 0);
    bind_free(field.bind);
}

/* ---- amounts ---- */

static void test_preferences_are_bounded(void **state)
{
    (void)state;
    static char *const NODES[] = {"<x", "=x", "+x"};
    const int64_t all[] = {ROOM};
    struct bind_rules rules = rules_of(NULL, 0);
    struct field field = open_field(&rules, NODES, 3);
    expect_pick(&field, NULL, 2);
    bind_take(field.bind, 2, all, 1, 1);
    expect_pick(&field, NULL, 1);
    bind_take(field.bind, 1, all, 1, 1);
    expect_pick(&field, NULL, 0);
    bind_take(field.bind, 0, all, 1, 1);
    expect_none(&field, NULL, BIND_NO_ROOM);
    bind_free(field.bind);
}

/* Sums stop at the edge: a node that is asked for too much is full, not wrapped around to free. */
static void test_amounts_at_the_edge(void **state)
{
    (void)state;
    static char *const NODES[] = {"=x"};
    const int64_t most[] = {INT64_MAX};
    struct bind_rules rules = rules_of(NULL, 0);
    struct field field = open_field(&rules, NODES, 1);
    bind_take(field.bind, 0, most, 1, 1);
    bind_take(field.bind, 0, most, 1, 1);
    assert_int_equal(bind_left(field.bind, 0, 0), ROOM - INT64_MAX);
    expect_none(&field, NULL, BIND_NO_ROOM);
    for (int i = 0; i < 3; i++)
        bind_take(field.bind, 0, most, 1, -1);
    assert_int_equal(bind_left(field.bind, 0, 0), 0); /* nobody can tell what is left */
    expect_none(&field, NULL, BIND_NO_ROOM);
    bind_free(field.bind);
}

/* A node that tells of none of the shared resources comes last, but it comes. */
static void test_nodes_without_amounts(void **state)
{
    (void)state;
    static char *const NODES[] = {"=x", "=x"};
    const int64_t nothing[] = {0};
    struct bind_rules rules = rules_of(NULL, 0);
    rules.n = 0;
    struct field field = open_field(&rules, NODES, 2);
    bind_set_node(field.bind, 0, NODES[0], nothing, 1);
    expect_pick(&field, NULL, 1);
    bind_set_node(field.bind, 1, NULL, NULL, 0);
    expect_pick(&field, NULL, 0);
    assert_int_equal(bind_nodes(field.bind), 1);
    assert_null(bind_node(field.bind, 1));
    bind_free(field.bind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owners_of_domains),    cmocka_unit_test(test_claims_are_of_a_key),
        cmocka_unit_test(test_home_is_out_of_reach), cmocka_unit_test(test_spread_within_a_bound),
        cmocka_unit_test(test_tried_already),        cmocka_unit_test(test_preferences_are_bounded),
        cmocka_unit_test(test_amounts_at_the_edge),  cmocka_unit_test(test_nodes_without_amounts),
    };
    return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
