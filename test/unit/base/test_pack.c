// SPDX-License-Identifier: Apache-2.0
/* A pack is right when its text is what writing the document gives, when its view says the same,
 * and when neither depends on what was taken over. */
#include "base/mem.h"
#include "base/pack.h"
#include "base/rng.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void pack_done(struct pack *pack)
{
    buf_unref(pack->text);
    yyjson_doc_free(pack->view);
}

static yyjson_mut_doc *parse(const char *text)
{
    struct err err = {0};
    yyjson_mut_doc *doc = NULL;
    if (json_parse_mut(sv_of(text), &doc, &err) < 0)
        fail_msg("'%s': %s", text, err.text);
    return doc;
}

static void assert_right(const struct pack *pack, yyjson_mut_val *root)
{
    scoped_str text = {0}, view = {0};
    json_write(root, &text);
    json_write_val(pack->view->root, &view);
    assert_string_equal(pack->text->data, text.data);
    assert_int_equal(pack->text->len, text.len);
    assert_string_equal(view.data, text.data);
    assert_true(json_mut_identical(root, pack->view->root));
    assert_int_equal(yyjson_doc_get_val_count(pack->view),
                     unsafe_yyjson_get_next(pack->view->root) - pack->view->root);
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(pack->view->root, i, n, key, value)
    {
        if (i >= PACK_MEMBERS_MAX)
            break;
        scoped_str own = {0};
        json_write_val(value, &own);
        assert_int_equal(pack->spans[i].len, own.len);
        assert_memory_equal(pack->text->data + pack->spans[i].at, own.data, own.len);
    }
}

static const char *const DOCUMENTS[] = {
    "{}",
    "{\"a\":1}",
    "{\"\":\"\",\"a b\":[],\"\\\"\\u0000\":{}}",
    "{\"n\":[1,-1,1.5,-0.0,18446744073709551615,true,false,null],\"s\":\"\\u00e9\\n\\u0000x\"}",
    "{\"deep\":{\"a\":[{\"b\":{\"c\":[[[\"d\"]]]}},{}],\"e\":\"f\"},\"m\":{\"x\":{}},\"z\":0}",
    "{\"1\":1,\"2\":\"2\",\"3\":[3],\"4\":4,\"5\":5,\"6\":6,\"7\":7,\"8\":{\"8\":8},\"9\":[9]}",
};

static void test_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(DOCUMENTS); i++) {
        scoped_json_mut *doc = parse(DOCUMENTS[i]);
        struct pack pack;
        pack_make(doc->root, NULL, NULL, &pack);
        assert_right(&pack, doc->root);
        pack_done(&pack);
    }
}

/* Any document after any other, the other made here or parsed. */
static void test_after_another(void **state)
{
    (void)state;
    size_t n = ARRAY_LEN(DOCUMENTS);
    for (size_t i = 0; i < n * n * 2; i++) {
        scoped_json_mut *before = parse(DOCUMENTS[i % n]);
        scoped_json_mut *after = parse(DOCUMENTS[i / n % n]);
        struct pack old = {0}, pack;
        struct pack_kept kept = {0};
        if (i < n * n) {
            pack_make(before->root, NULL, NULL, &old);
        } else {
            old.text = buf_new(DOCUMENTS[i % n], strlen(DOCUMENTS[i % n]));
            assert_int_equal(json_parse(sv_of(DOCUMENTS[i % n]), &old.view, NULL), 0);
        }
        pack_compare(&kept, after->root, old.view->root, "n");
        pack_make(after->root, &old, &kept, &pack);
        assert_right(&pack, after->root);
        pack_done(&pack);
        pack_done(&old);
    }
}

static void test_what_is_kept(void **state)
{
    (void)state;
    scoped_json_mut *before = parse("{\"a\":{\"x\":[1,\"s\"]},\"b\":2,\"c\":{},\"but\":1}");
    scoped_json_mut *after =
        parse("{\"but\":1,\"new\":1,\"b\":3,\"a\":{\"x\":[1,\"s\"]},\"c\":{}}");
    struct pack old;
    struct pack_kept kept = {0};
    pack_make(before->root, NULL, NULL, &old);
    pack_compare(&kept, after->root, old.view->root, "but");
    pack_compare(&kept, after->root, old.view->root, "but"); /* nothing is noted twice */
    assert_int_equal(kept.len, 2);
    assert_int_equal(pack_member(&kept, yyjson_mut_obj_get(after->root, "a")), 0);
    assert_int_equal(pack_member(&kept, yyjson_mut_obj_get(after->root, "c")), 2);
    assert_int_equal(pack_member(&kept, yyjson_mut_obj_get(after->root, "b")), PACK_MEMBERS_MAX);
    assert_int_equal(pack_member(&kept, yyjson_mut_obj_get(after->root, "but")), PACK_MEMBERS_MAX);
    assert_int_equal(pack_member(NULL, after->root), PACK_MEMBERS_MAX);
    pack_done(&old);
}

static void test_parts(void **state)
{
    (void)state;
    scoped_json_mut *before = parse("{\"s\":{\"a\":[1],\"b\":{\"x\":1},\"c\":[],\"n\":1,\"d\":[2]},"
                                    "\"m\":{\"l\":{\"k\":1}},\"list\":[[1]]}");
    scoped_json_mut *after =
        parse("{\"m\":{\"l\":{\"k\":1}},\"s\":{\"b\":{\"x\":1},\"a\":[1],\"c\":[],"
              "\"n\":2,\"new\":[1]},\"list\":[[1],2]}");
    yyjson_mut_val *s = yyjson_mut_obj_get(after->root, "s");
    yyjson_mut_val *m = yyjson_mut_obj_get(after->root, "m");
    struct pack old;
    struct pack_kept kept = {0};
    pack_make(before->root, NULL, NULL, &old);
    pack_compare(&kept, after->root, old.view->root, "m");
    assert_int_equal(kept.len, 0);
    assert_int_equal(kept.part_count, 2); /* in another order, too; neither scalars nor "c" */
    assert_true(pack_keeps(&kept, yyjson_mut_obj_get(s, "a")));
    assert_true(pack_keeps(&kept, yyjson_mut_obj_get(s, "b")));
    assert_false(pack_keeps(&kept, yyjson_mut_obj_get(s, "new")));
    assert_false(pack_keeps(NULL, yyjson_mut_obj_get(s, "a")));
    assert_false(pack_keeps(&kept, yyjson_mut_obj_get(m, "l")));
    pack_compare_parts(&kept, m, yyjson_obj_get(old.view->root, "m"));
    pack_compare_parts(&kept, m, yyjson_obj_get(old.view->root, "m")); /* once */
    assert_int_equal(kept.part_count, 3);
    assert_true(pack_keeps(&kept, yyjson_mut_obj_get(m, "l")));
    assert_false(pack_keeps(&kept, m));
    pack_forget(&kept);
    assert_false(pack_keeps(&kept, yyjson_mut_obj_get(m, "l")));
    pack_compare(&kept, after->root, old.view->root, "s"); /* a whole member needs no parts */
    assert_int_equal(kept.len, 1);
    assert_int_equal(kept.part_count, 0);
    pack_done(&old);
}

/* The past says what the old document said, and equals the new one where nothing changed. */
static void assert_past(const struct pack_kept *kept, const struct pack *old, yyjson_mut_val *root)
{
    scoped_json_mut *past = pack_past(kept, old->view->root);
    assert_true(json_mut_identical(past->root, old->view->root));
    for (size_t i = 0; i < kept->len; i++) {
        yyjson_val *key = unsafe_yyjson_get_first(old->view->root);
        for (size_t k = kept->members[i]; k > 0; k--)
            key = unsafe_yyjson_get_next(key + 1);
        yyjson_mut_val *then =
            yyjson_mut_obj_getn(past->root, yyjson_get_str(key), yyjson_get_len(key));
        yyjson_mut_val *now = yyjson_mut_obj_getn(root, yyjson_get_str(key), yyjson_get_len(key));
        assert_ptr_equal(now, kept->values[i]);
        assert_true(json_mut_equal(then, now));
        assert_true(!yyjson_mut_is_ctn(now) || then->uni.ptr == now->uni.ptr);
    }
    for (size_t i = 0; i < kept->part_count; i++)
        assert_true(json_mut_identical((yyjson_mut_val *)kept->parts[i].value, kept->parts[i].old));
}

static void test_many_parts(void **state)
{
    (void)state;
    scoped_json_mut *doc = parse("{\"a\":{},\"b\":{}}");
    for (int i = 0; i < 3 * PACK_PARTS_MAX; i++) {
        char path[16];
        (void)snprintf(path, sizeof(path), "%s.%d", i % 2 ? "a" : "b", i);
        yyjson_mut_val *list = yyjson_mut_arr(doc);
        assert_true(yyjson_mut_arr_add_int(doc, list, i));
        json_mut_set(doc, doc->root, path, list);
    }
    struct pack old, pack;
    struct pack_kept kept = {0};
    pack_make(doc->root, NULL, NULL, &old);
    json_mut_set(doc, doc->root, "a.1", NULL);
    json_mut_set(doc, doc->root, "b.new", yyjson_mut_int(doc, 1));
    pack_compare(&kept, doc->root, old.view->root, "");
    assert_int_equal(kept.part_count, PACK_PARTS_MAX);
    assert_past(&kept, &old, doc->root);
    pack_make(doc->root, &old, &kept, &pack);
    assert_right(&pack, doc->root);
    pack_done(&pack);
    pack_done(&old);
}

static yyjson_mut_val *random_value(yyjson_mut_doc *doc, struct rng *rng, int depth)
{
    char text[8];
    rng_suffix(rng, text, (unsigned)rng_below(rng, sizeof(text)));
    switch (rng_below(rng, depth > 0 ? 5 : 3)) {
    case 0:
        return yyjson_mut_strcpy(doc, text);
    case 1:
        return yyjson_mut_sint(doc, rng_between(rng, -2, 2));
    case 2:
        return yyjson_mut_bool(doc, true);
    case 3: {
        yyjson_mut_val *list = yyjson_mut_arr(doc);
        for (uint64_t n = rng_below(rng, 4); n > 0; n--)
            assert_true(yyjson_mut_arr_append(list, random_value(doc, rng, depth - 1)));
        return list;
    }
    default: {
        yyjson_mut_val *obj = yyjson_mut_obj(doc);
        for (uint64_t n = rng_below(rng, 4); n > 0; n--) {
            rng_suffix(rng, text, 3);
            json_mut_put(doc, obj, text, random_value(doc, rng, depth - 1));
        }
        return obj;
    }
    }
}

/* One document through many versions, each of which changes some members and keeps the rest. */
static void test_many_versions(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1);
    for (int story = 0; story < 50; story++) {
        scoped_json_mut *doc = parse("{}");
        struct pack pack;
        pack_make(doc->root, NULL, NULL, &pack);
        for (int version = 0; version < 40; version++) {
            static const char *const KEYS[] = {"a", "b c", "spec", "status", "e",
                                               "f", "",    "h",    "i"};
            const char *key = KEYS[rng_below(&rng, ARRAY_LEN(KEYS))];
            bool gone = rng_chance(&rng, 1, 5);
            yyjson_mut_val *member = yyjson_mut_obj_get(doc->root, key);
            if (yyjson_mut_is_obj(member) && rng_chance(&rng, 3, 4)) /* one of its parts */
                json_mut_put(doc, member, KEYS[rng_below(&rng, ARRAY_LEN(KEYS))],
                             gone ? NULL : random_value(doc, &rng, 3));
            else
                json_mut_put(doc, doc->root, key, gone ? NULL : random_value(doc, &rng, 4));
            struct pack_kept kept = {0};
            struct pack next;
            pack_compare(&kept, doc->root, pack.view->root, "f");
            pack_compare_parts(&kept, yyjson_mut_obj_get(doc->root, "f"),
                               yyjson_obj_get(pack.view->root, "f"));
            assert_past(&kept, &pack, doc->root);
            pack_make(doc->root, &pack, &kept, &next);
            pack_done(&pack); /* the next one must not need it */
            assert_right(&next, doc->root);
            pack = next;
        }
        pack_done(&pack);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),        cmocka_unit_test(test_after_another),
        cmocka_unit_test(test_what_is_kept), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_many_parts),   cmocka_unit_test(test_many_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
