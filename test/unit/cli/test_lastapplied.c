// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/lastapplied.h"
#include "clitest.h"

static const struct {
    const char *object, *want; /* the annotation, as kubectl 1.32 writes it */
} CASES[] = {
    {"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"d\",\"name\":"
     "\"a\"}}",
     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{},\"name\":"
     "\"a\","
     "\"namespace\":\"d\"}}\n"},
    {"{\"metadata\":{\"annotations\":{\"b\":\"2\",\"" LAST_APPLIED "\":\"old\",\"a\":\"1\"}}}",
     "{\"metadata\":{\"annotations\":{\"a\":\"1\",\"b\":\"2\"}}}\n"},
    {"{\"data\":{\"x\":\"a<b>&\\\"\\\\\\n\\t\\u0001\\u2028\\u00e4\"},\"metadata\":{}}",
     "{\"data\":{\"x\":\"a\\u003cb\\u003e\\u0026\\\"\\\\\\n\\t\\u0001\\u2028\xc3\xa4\"},"
     "\"metadata\":{\"annotations\":{}}}\n"},
    {"{\"spec\":{\"b\":[1,true,null,-2.5,{\"d\":1,\"c\":2}],\"a\":{}}}",
     "{\"metadata\":{\"annotations\":{}},\"spec\":{\"a\":{},\"b\":[1,true,null,-2.5,"
     "{\"c\":2,\"d\":1}]}}\n"},
};

static void test_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        scoped_json_mut *doc = NULL;
        assert_int_equal(json_parse_mut(sv_of(CASES[i].object), &doc, NULL), 0);
        yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
        lastapplied_set(doc, root);
        yyjson_mut_val *text =
            yyjson_mut_obj_get(json_mut_at(root, "metadata.annotations"), LAST_APPLIED);
        assert_string_equal(yyjson_mut_get_str(text), CASES[i].want);
        scoped_json *again = lastapplied_get(root);
        assert_non_null(again);
        lastapplied_set(doc, root); /* the second time changes nothing */
        text = yyjson_mut_obj_get(json_mut_at(root, "metadata.annotations"), LAST_APPLIED);
        assert_string_equal(yyjson_mut_get_str(text), CASES[i].want);
    }
}

static void test_get_nothing(void **state)
{
    (void)state;
    static const char *const NONE[] = {
        "{}", "{\"metadata\":{\"annotations\":{\"" LAST_APPLIED "\":\"{broken\"}}}",
        "{\"metadata\":{\"annotations\":{\"" LAST_APPLIED "\":7}}}"};
    for (size_t i = 0; i < ARRAY_LEN(NONE); i++) {
        scoped_json_mut *doc = NULL;
        assert_int_equal(json_parse_mut(sv_of(NONE[i]), &doc, NULL), 0);
        assert_null(lastapplied_get(yyjson_mut_doc_get_root(doc)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_get_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
