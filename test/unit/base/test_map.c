// SPDX-License-Identifier: Apache-2.0
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int A, B, C;

static void test_put_get_del(void **state)
{
    (void)state;
    struct map *map = map_new();
    char key[] = "a";
    assert_null(map_get(map, "a"));
    assert_null(map_put(map, key, &A));
    key[0] = 'b'; /* the map has a copy */
    assert_ptr_equal(map_get(map, "a"), &A);
    assert_null(map_get(map, "b"));
    assert_ptr_equal(map_put(map, "a", &B), &A);
    assert_int_equal(map_count(map), 1);
    assert_null(map_put(map, "", &C));
    assert_ptr_equal(map_get(map, ""), &C);
    assert_ptr_equal(map_del(map, "a"), &B);
    assert_null(map_del(map, "a"));
    assert_int_equal(map_count(map), 1);
    map_free(map);
    map_free(NULL);
}

struct walk {
    struct map *map;
    struct str seen;
    size_t stop_after;
};

static bool walk_and_delete(void *arg, const char *key, void *value)
{
    struct walk *walk = arg;
    str_addf(&walk->seen, "%s ", key);
    if (value == &B)
        assert_ptr_equal(map_del(walk->map, key), &B);
    return --walk->stop_after > 0;
}

static void test_each(void **state)
{
    (void)state;
    struct map *map = map_new();
    (void)map_put(map, "z", &B);
    (void)map_put(map, "m", &A);
    (void)map_put(map, "a", &B);
    struct walk walk = {.map = map, .stop_after = 2};
    assert_false(map_each(map, walk_and_delete, &walk));
    assert_string_equal(str_text(&walk.seen), "z m ");
    str_clear(&walk.seen);
    walk.stop_after = 9;
    assert_true(map_each(map, walk_and_delete, &walk));
    assert_string_equal(str_text(&walk.seen), "m a ");
    assert_int_equal(map_count(map), 1);
    str_done(&walk.seen);
    map_free(map);
}

/* Names that differ at one end only, as those of pods and of their groups do. */
static void test_like_names_are_spread(void **state)
{
    static const char *const FORMATS[] = {"/Pod/default/pod-%06d", "%06d-pod", "p%d", "pod-%08d/w",
                                          "01234567-89ab-cdef-0123-456789%06d/worker/1"};
    (void)state;
    for (size_t f = 0; f < sizeof(FORMATS) / sizeof(*FORMATS); f++) {
        struct map *map = map_new();
        char key[64];
        for (int i = 0; i < 20000; i++) {
            (void)snprintf(key, sizeof(key), FORMATS[f], i);
            assert_null(map_put(map, key, map));
        }
        if (map_longest_chain(map) > 16)
            fail_msg("%s: a chain of %zu", FORMATS[f], map_longest_chain(map));
        map_free(map);
    }
}

static void test_ordered(void **state)
{
    (void)state;
    struct omap *map = omap_new();
    assert_null(omap_seek(map, ""));
    assert_null(omap_put(map, "pods/b", &B));
    assert_null(omap_put(map, "pods/a", &A));
    assert_null(omap_put(map, "nodes/x", &C));
    assert_null(omap_put(map, "pods/\xC3\xA9", &C));
    assert_ptr_equal(omap_put(map, "pods/b", &A), &B);
    scoped_str seen = {0};
    for (const struct omap_item *item = omap_seek(map, "pods/");
         item && str_starts(item->key, "pods/"); item = omap_next(item))
        str_addf(&seen, "%s ", item->key);
    assert_string_equal(str_text(&seen), "pods/a pods/b pods/\xC3\xA9 ");
    assert_string_equal(omap_seek(map, "pods/a")->key, "pods/a");
    assert_string_equal(omap_seek(map, "o")->key, "pods/a");
    assert_null(omap_seek(map, "q"));
    assert_ptr_equal(omap_del(map, "pods/a"), &A);
    assert_null(omap_del(map, "pods/a"));
    assert_null(omap_get(map, "pods/a"));
    assert_ptr_equal(omap_get(map, "nodes/x"), &C);
    omap_free(map);
    omap_free(NULL);
}

/* As many as there should be, each once and in order. */
static void check_order(const struct omap *map, size_t count)
{
    size_t n = 0;
    const char *last = "";
    for (const struct omap_item *item = omap_seek(map, ""); item; item = omap_next(item), n++) {
        assert_true(strcmp(last, item->key) < 0);
        last = item->key;
    }
    assert_int_equal(n, count);
}

static void test_both_agree(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7);
    struct map *map = map_new();
    struct omap *omap = omap_new();
    void *values[] = {&A, &B, &C};
    for (int i = 0; i < 20000; i++) {
        scoped_free char *key = mem_printf("key-%d", (int)rng_below(&rng, 500));
        void *value = values[rng_below(&rng, 3)];
        if (rng_chance(&rng, 1, 2))
            assert_ptr_equal(map_put(map, key, value), omap_put(omap, key, value));
        else
            assert_ptr_equal(map_del(map, key), omap_del(omap, key));
        assert_ptr_equal(map_get(map, key), omap_get(omap, key));
        if (i % 500 == 0)
            check_order(omap, map_count(map));
    }
    map_free(map);
    omap_free(omap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_get_del),
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_like_names_are_spread),
        cmocka_unit_test(test_ordered),
        cmocka_unit_test(test_both_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
