// SPDX-License-Identifier: Apache-2.0
#include "base/map.h"
#include "base/mem.h"
#include "fixture.h"
#include <stdio.h>

static struct obj *pod(const char *ns, const char *name, const char *uid, const char *owners)
{
    scoped_str refs = {0};
    struct sv rest = sv_of(owners);
    while (rest.len > 0) {
        struct sv owner = sv_cut(&rest, ' ');
        str_addf(&refs, "%s{'uid':'%.*s'}", refs.len ? "," : "", (int)owner.len, owner.ptr);
    }
    scoped_free char *json =
        mem_printf("{'metadata':{'namespace':'%s','name':'%s','uid':'%s','ownerReferences':[%s]}}",
                   ns, name, uid, str_text(&refs));
    return obj_of(&KIND_POD, 1, json);
}

static void put(struct cache *cache, const char *ns, const char *name, const char *uid,
                const char *owners)
{
    scoped_obj *obj = pod(ns, name, uid, owners);
    obj_unref(cache_put(cache, obj));
}

static void drop(struct cache *cache, const char *ns, const char *name)
{
    struct obj *old = cache_remove(cache, &KIND_POD, ns, name);
    assert_non_null(old);
    obj_unref(old);
}

static void listed(const struct cache *cache, const char *ns, const char *expected)
{
    scoped_str out = {0};
    struct obj *obj = cache_first(cache, &KIND_POD, ns);
    for (; obj != NULL; obj = cache_after(cache, &KIND_POD, ns, obj))
        str_addf(&out, "%s/%s ", obj_namespace(obj), obj->meta.name);
    assert_string_equal(str_text(&out), expected);
}

static void owned(const struct cache *cache, const char *uid, const char *expected)
{
    scoped_str out = {0};
    struct obj *obj = cache_owned_first(cache, uid);
    for (; obj != NULL; obj = cache_owned_next(cache, uid, obj))
        str_addf(&out, "%s ", obj->meta.name);
    assert_string_equal(str_text(&out), expected);
}

static void test_order(void **state)
{
    (void)state;
    struct cache *cache = cache_new();
    listed(cache, NULL, "");
    put(cache, "b", "x", "1", "");
    put(cache, "a", "y", "2", "");
    put(cache, "a-b", "x", "3", "");
    put(cache, "a", "x", "4", "");
    listed(cache, NULL, "a/x a/y a-b/x b/x ");
    listed(cache, "", "a/x a/y a-b/x b/x ");
    listed(cache, "a", "a/x a/y ");
    listed(cache, "aa", "");
    assert_int_equal(cache_count(cache, &KIND_POD), 4);
    assert_int_equal(cache_count(cache, &KIND_JOB), 0);
    assert_null(cache_get(cache, &KIND_JOB, "a", "x"));
    assert_string_equal(cache_get(cache, &KIND_POD, "a", "x")->meta.uid, "4");
    cache_free(cache);
}

static void test_names(void **state)
{
    (void)state;
    struct cache *cache = cache_new();
    put(cache, "a", "bc", "1", "");
    put(cache, "ab", "c", "2", "");
    assert_string_equal(cache_get(cache, &KIND_POD, "a", "bc")->meta.uid, "1");
    assert_string_equal(cache_get(cache, &KIND_POD, "ab", "c")->meta.uid, "2");
    assert_null(cache_get(cache, &KIND_POD, "abc", ""));
    assert_null(cache_get(cache, &KIND_POD, NULL, "abc"));
    assert_null(cache_get(cache, &KIND_JOB, "a", "bc"));
    char longest[2048];
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    assert_null(cache_get(cache, &KIND_POD, "a", longest));
    assert_null(cache_get(cache, &KIND_POD, longest, "bc"));
    cache_free(cache);
}

static void test_behind_what_is_not_there(void **state)
{
    (void)state;
    static const struct {
        const char *ns, *after_ns, *after_name, *expected;
    } CASES[] = {
        {"", "", "", "1"},     {"", "a", "x", "3"},  {"", "a", "xx", "3"}, {"", "a", "z", "2"},
        {"a", "a", "z", NULL}, {"", "b", "x", NULL}, {"a", "a", "", "1"},  {"b", "a", "z", "2"},
    };
    struct cache *cache = cache_new();
    put(cache, "a", "x", "1", "");
    put(cache, "b", "x", "2", "");
    put(cache, "a", "y", "3", "");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct obj *obj =
            cache_behind(cache, &KIND_POD, CASES[i].ns, CASES[i].after_ns, CASES[i].after_name);
        if (!str_eq(obj ? obj->meta.uid : NULL, CASES[i].expected))
            fail_msg("case %zu: %s", i, obj ? obj->meta.uid : "none");
    }
    cache_free(cache);
}

static void test_replace_and_remove(void **state)
{
    (void)state;
    struct cache *cache = cache_new();
    put(cache, "a", "x", "1", "o");
    assert_string_equal(cache_by_uid(cache, "1")->meta.name, "x");
    put(cache, "a", "x", "2", "p"); /* made anew under the same name */
    assert_null(cache_by_uid(cache, "1"));
    assert_non_null(cache_by_uid(cache, "2"));
    owned(cache, "o", "");
    owned(cache, "p", "x ");
    assert_int_equal(cache_count(cache, &KIND_POD), 1);
    drop(cache, "a", "x");
    assert_null(cache_by_uid(cache, "2"));
    owned(cache, "p", "");
    listed(cache, NULL, "");
    assert_null(cache_remove(cache, &KIND_POD, "a", "x"));
    cache_free(cache);
}

static void test_owners(void **state)
{
    (void)state;
    struct cache *cache = cache_new();
    put(cache, "a", "x", "1", "o p");
    put(cache, "a", "y", "2", "o o");
    put(cache, "b", "z", "3", "p");
    owned(cache, "o", "x y ");
    owned(cache, "p", "x z ");
    owned(cache, "q", "");
    put(cache, "a", "x", "1", "p"); /* let go of o */
    owned(cache, "o", "y ");
    owned(cache, "p", "z x ");
    drop(cache, "a", "y");
    owned(cache, "o", "");
    drop(cache, "a", "x");
    drop(cache, "b", "z");
    owned(cache, "p", "");
    cache_free(cache);
}

/* A caller that holds a reference keeps a version that is no longer in the cache. */
static void test_references(void **state)
{
    (void)state;
    struct cache *cache = cache_new();
    scoped_obj *first = pod("a", "x", "1", "");
    assert_null(cache_put(cache, first));
    assert_int_equal(first->refs, 2);
    scoped_obj *second = pod("a", "x", "1", "");
    struct obj *old = cache_put(cache, second);
    assert_ptr_equal(old, first);
    obj_unref(old);
    assert_int_equal(first->refs, 1);
    assert_int_equal(second->refs, 2);
    cache_free(cache);
    assert_int_equal(second->refs, 1);
}

/* Against a recount of everything, with random changes. */
static void recount(const struct cache *cache)
{
    size_t links = 0, found = 0, i, n;
    yyjson_val *ref;
    struct map *owners = map_new();
    struct obj *obj = cache_first(cache, &KIND_POD, NULL);
    for (; obj != NULL; obj = cache_after(cache, &KIND_POD, NULL, obj)) {
        assert_ptr_equal(cache_by_uid(cache, obj->meta.uid), obj);
        yyjson_arr_foreach(obj->meta.owners, i, n, ref)
        {
            links++;
            const char *uid = yyjson_get_str(yyjson_obj_get(ref, "uid"));
            if (map_put(owners, uid, owners) != NULL)
                continue;
            struct obj *member = cache_owned_first(cache, uid);
            for (; member != NULL; member = cache_owned_next(cache, uid, member))
                found++;
        }
    }
    map_free(owners);
    assert_int_equal(links, found);
}

static void test_random_changes(void **state)
{
    (void)state;
    static const char *const OWNERS[] = {"", "o", "p", "o p", "p q", "q o p"};
    struct cache *cache = cache_new();
    struct rng rng;
    rng_seed(&rng, 7);
    for (int i = 0; i < 3000; i++) {
        char name[16], uid[32];
        (void)snprintf(name, sizeof(name), "n%d", (int)rng_below(&rng, 20));
        (void)snprintf(uid, sizeof(uid), "u-%s-%d", name, (int)rng_below(&rng, 3));
        if (rng_chance(&rng, 1, 3))
            obj_unref(cache_remove(cache, &KIND_POD, "a", name));
        else
            put(cache, "a", name, uid, OWNERS[rng_below(&rng, ARRAY_LEN(OWNERS))]);
        recount(cache);
    }
    cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_behind_what_is_not_there),
        cmocka_unit_test(test_replace_and_remove),
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_random_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
