// SPDX-License-Identifier: Apache-2.0
#include "model/patch.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static yyjson_mut_doc *parse_mut(const char *text)
{
    yyjson_mut_doc *doc = NULL;
    struct err err = {0};
    if (json_parse_mut(sv_of(text), &doc, &err) < 0)
        fail_msg("'%s': %s", text, err.text);
    return doc;
}

static yyjson_doc *parse(const char *text)
{
    yyjson_doc *doc = NULL;
    struct err err = {0};
    if (json_parse(sv_of(text), &doc, &err) < 0)
        fail_msg("'%s': %s", text, err.text);
    return doc;
}

typedef int (*patch_fn)(yyjson_mut_doc *doc, yyjson_val *patch, struct err *err);

struct row {
    const char *target, *patch, *result;
};

/* Results are compared as text: the order of members counts too. */
static void check_rows(patch_fn fn, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scoped_json_mut *doc = parse_mut(rows[i].target);
        scoped_json *patch = parse(rows[i].patch);
        struct err err = {0};
        if (fn(doc, yyjson_doc_get_root(patch), &err) < 0)
            fail_msg("row %zu %s + %s: %s", i, rows[i].target, rows[i].patch, err.text);
        scoped_str out = {0};
        json_write(yyjson_mut_doc_get_root(doc), &out);
        if (!str_eq(out.data, rows[i].result))
            fail_msg("row %zu %s + %s: %s instead of %s", i, rows[i].target, rows[i].patch,
                     out.data, rows[i].result);
    }
}

/* The first fifteen are the table in RFC 7386, appendix A. */
static void test_merge(void **state)
{
    static const struct row ROWS[] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
        {"{}", "{\"a\":[null,{\"b\":null}]}", "{\"a\":[null,{\"b\":null}]}"},
        {"{\"a\":1,\"b\":2,\"c\":3}", "{\"a\":null,\"b\":null,\"c\":null}", "{}"},
        {"{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":null,\"d\":4}", "{\"a\":1,\"b\":2,\"d\":4}"},
        {"{\"a\":1,\"b\":{\"c\":1}}", "{\"b\":{\"c\":{\"d\":null,\"e\":{}}}}",
         "{\"a\":1,\"b\":{\"c\":{\"e\":{}}}}"},
        {"{\"a\":1}", "{\"\":1}", "{\"a\":1,\"\":1}"},
        {"{\"k0\":0,\"k1\":1,\"k2\":2,\"k3\":3,\"k4\":4,\"k5\":5,\"k6\":6,\"k7\":7,\"k8\":8}",
         "{\"k8\":1,\"k7\":null,\"k6\":null,\"k5\":1,\"k4\":1,\"k3\":1,\"k2\":1,\"k1\":1,\"n\":1}",
         "{\"k0\":0,\"k1\":1,\"k2\":1,\"k3\":1,\"k4\":1,\"k5\":1,\"k8\":1,\"n\":1}"},
    };
    (void)state;
    check_rows(patch_merge, ROWS, ARRAY_LEN(ROWS));
}

/* A.1 to A.20 of RFC 6902 that succeed, then our own. */
static void test_json(void **state)
{
    static const struct row ROWS[] = {
        {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
         "{\"foo\":\"bar\",\"baz\":\"qux\"}"},
        {"{\"foo\":[\"bar\",\"baz\"]}", "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]",
         "{\"foo\":[\"bar\",\"qux\",\"baz\"]}"},
        {"{\"baz\":\"qux\",\"foo\":\"bar\"}", "[{\"op\":\"remove\",\"path\":\"/baz\"}]",
         "{\"foo\":\"bar\"}"},
        {"{\"foo\":[\"bar\",\"qux\",\"baz\"]}", "[{\"op\":\"remove\",\"path\":\"/foo/1\"}]",
         "{\"foo\":[\"bar\",\"baz\"]}"},
        {"{\"baz\":\"qux\",\"foo\":\"bar\"}",
         "[{\"op\":\"replace\",\"path\":\"/baz\",\"value\":\"boo\"}]",
         "{\"baz\":\"boo\",\"foo\":\"bar\"}"},
        {"{\"foo\":{\"bar\":\"baz\",\"waldo\":\"fred\"},\"qux\":{\"corge\":\"grault\"}}",
         "[{\"op\":\"move\",\"from\":\"/foo/waldo\",\"path\":\"/qux/thud\"}]",
         "{\"foo\":{\"bar\":\"baz\"},\"qux\":{\"corge\":\"grault\",\"thud\":\"fred\"}}"},
        {"{\"foo\":[\"all\",\"grass\",\"cows\",\"eat\"]}",
         "[{\"op\":\"move\",\"from\":\"/foo/1\",\"path\":\"/foo/3\"}]",
         "{\"foo\":[\"all\",\"cows\",\"eat\",\"grass\"]}"},
        {"{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}",
         "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"qux\"},"
         "{\"op\":\"test\",\"path\":\"/foo/1\",\"value\":2}]",
         "{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}"},
        {"{\"foo\":\"bar\"}",
         "[{\"op\":\"add\",\"path\":\"/child\",\"value\":{\"grandchild\":{}}}]",
         "{\"foo\":\"bar\",\"child\":{\"grandchild\":{}}}"},
        {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\",\"xyz\":123}]",
         "{\"foo\":\"bar\",\"baz\":\"qux\"}"},
        {"{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":10}]",
         "{\"/\":9,\"~1\":10}"},
        {"{\"foo\":[\"bar\"]}",
         "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[\"abc\",\"def\"]}]",
         "{\"foo\":[\"bar\",[\"abc\",\"def\"]]}"},
        {"{\"a\":1}", "[]", "{\"a\":1}"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"\",\"value\":[1]}]", "[1]"},
        {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":{\"b\":2}}]", "{\"b\":2}"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":2}]", "{\"a\":2}"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":null}]", "{\"a\":null}"},
        {"{\"a\":[]}", "[{\"op\":\"add\",\"path\":\"/a/0\",\"value\":1}]", "{\"a\":[1]}"},
        {"{\"a/b\":1,\"m~n\":2}",
         "[{\"op\":\"remove\",\"path\":\"/a~1b\"},{\"op\":\"replace\",\"path\":\"/"
         "m~0n\",\"value\":3}]",
         "{\"m~n\":3}"},
        {"{\"\":1}", "[{\"op\":\"replace\",\"path\":\"/\",\"value\":2}]", "{\"\":2}"},
        {"{\"a\":{\"b\":1}}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/c\"}]",
         "{\"a\":{\"b\":1,\"c\":{\"b\":1}}}"},
        {"{\"a\":{\"b\":1}}", "[{\"op\":\"copy\",\"from\":\"\",\"path\":\"/c\"}]",
         "{\"a\":{\"b\":1},\"c\":{\"a\":{\"b\":1}}}"},
        {"{\"a\":{\"b\":1}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"\"}]", "{\"b\":1}"},
        {"{\"a\":{\"b\":1}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a\"}]",
         "{\"a\":{\"b\":1}}"},
        {"{\"a\":{\"b\":1},\"c\":2}", "[{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"/a\"}]",
         "{\"a\":1,\"c\":2}"},
        {"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1.0}]", "{\"a\":1}"},
        {"{\"a\":{\"x\":1,\"y\":[2]}}",
         "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"y\":[2],\"x\":1}}]",
         "{\"a\":{\"x\":1,\"y\":[2]}}"},
        {"{\"a\":[1,2,3]}",
         "[{\"op\":\"remove\",\"path\":\"/a/2\"},{\"op\":\"remove\",\"path\":\"/a/0\"},"
         "{\"op\":\"add\",\"path\":\"/a/-\",\"value\":9}]",
         "{\"a\":[2,9]}"},
    };
    (void)state;
    check_rows(patch_json, ROWS, ARRAY_LEN(ROWS));
}

static void test_json_refused(void **state)
{
    static const struct {
        const char *target, *patch;
        int code;
        const char *error;
    } ROWS[] = {
        {"{\"baz\":\"qux\"}", "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"bar\"}]", -ECANCELED,
         "operation 0 (test): the test at /baz failed"},
        {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz/bat\",\"value\":\"qux\"}]", -ENOENT,
         "operation 0 (add): there is nothing at '/baz/bat'"},
        {"{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":\"10\"}]",
         -ECANCELED, "the test at /~01 failed"},
        {"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":true}]", -ECANCELED, ""},
        {"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/b\",\"value\":null}]", -ENOENT, ""},
        {"{\"a\":[1]}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":[1,2]}]", -ECANCELED, ""},
        {"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/b\"}]", -ENOENT, "there is nothing at '/b'"},
        {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/b\",\"value\":1}]", -ENOENT, ""},
        {"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"\"}]", -EINVAL, "whole document"},
        {"{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/2\",\"value\":1}]", -ENOENT,
         "'2' is no index of a list with 1 items"},
        {"{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/01\",\"value\":1}]", -ENOENT, "'01'"},
        {"{\"a\":[1]}", "[{\"op\":\"remove\",\"path\":\"/a/-\"}]", -ENOENT, "'-' is no index"},
        {"{\"a\":[1]}", "[{\"op\":\"remove\",\"path\":\"/a/-1\"}]", -ENOENT, "'-1'"},
        {"{\"a\":[1]}", "[{\"op\":\"remove\",\"path\":\"/a/99999999999999999999\"}]", -ENOENT, ""},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]", -ENOENT,
         "neither object nor list"},
        {"{\"a\":{\"b\":1}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}]", -EINVAL,
         "into itself"},
        {"{\"a\":1}", "[{\"op\":\"copy\",\"path\":\"/b\"}]", -EINVAL, "'from' must be there"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\"}]", -EINVAL, "'value' must be there"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"value\":1}]", -EINVAL, "'path' must be there"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":7,\"value\":1}]", -EINVAL, "'path'"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"b\",\"value\":1}]", -EINVAL, "begin with /"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/~2\",\"value\":1}]", -EINVAL, "~0 nor ~1"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/~\",\"value\":1}]", -EINVAL, "~0 nor ~1"},
        {"{\"a\":1}", "[{\"op\":\"spam\",\"path\":\"/a\"}]", -EINVAL, "no operation 'spam'"},
        {"{\"a\":1}", "[{\"path\":\"/a\"}]", -EINVAL, "'op'"},
        {"{\"a\":1}", "[1]", -EINVAL, "'op'"},
        {"{\"a\":1}", "{\"op\":\"add\"}", -EINVAL, "a list of operations"},
        {"{\"a\":1}",
         "[{\"op\":\"add\",\"path\":\"/b\",\"value\":1},{\"op\":\"remove\",\"path\":\"/c\"}]",
         -ENOENT, "operation 1 (remove)"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json_mut *doc = parse_mut(ROWS[i].target);
        scoped_json *patch = parse(ROWS[i].patch);
        struct err err = {0};
        int r = patch_json(doc, yyjson_doc_get_root(patch), &err);
        if (r != ROWS[i].code || err.code != r || !strstr(err.text, ROWS[i].error))
            fail_msg("row %zu %s: %d '%s'", i, ROWS[i].patch, r, err.text);
        scoped_json_mut *again = parse_mut(ROWS[i].target);
        assert_int_equal(patch_json(again, yyjson_doc_get_root(patch), NULL), r);
    }
}

static int run_json(const char *target, const char *patch_text, struct err *err)
{
    scoped_json_mut *doc = parse_mut(target);
    scoped_json *patch = parse(patch_text);
    return patch_json(doc, yyjson_doc_get_root(patch), err);
}

static char *repeated(const char *text, int times)
{
    struct str out = {0};
    str_addc(&out, '[');
    for (int i = 0; i < times; i++)
        str_addf(&out, "%s%s", i ? "," : "", text);
    str_addc(&out, ']');
    return str_take(&out);
}

static void test_limits(void **state)
{
    (void)state;
    struct err err = {0};
    scoped_free char *wide = repeated("{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}", 60);
    assert_int_equal(run_json("{\"a\":[1,2,3]}", wide, &err), -E2BIG);
    assert_non_null(strstr(err.text, "too large"));
    scoped_free char *deep = repeated("{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/a\"}", 63);
    assert_int_equal(run_json("{\"a\":{}}", deep, &err), -E2BIG);
    assert_non_null(strstr(err.text, "deeper than 64"));
    /* Nor may a patch be deeper that came some other way than through the parser. */
    scoped_str nested = {0};
    for (int i = 0; i <= JSON_DEPTH_MAX; i++)
        str_add(&nested, "{\"a\":");
    str_add(&nested, "1");
    for (int i = 0; i <= JSON_DEPTH_MAX; i++)
        str_addc(&nested, '}');
    scoped_json *too_deep = yyjson_read(nested.data, nested.len, 0);
    scoped_json_mut *doc = parse_mut("{}");
    err = (struct err){0};
    assert_int_equal(patch_merge(doc, yyjson_doc_get_root(too_deep), &err), -E2BIG);
    assert_non_null(strstr(err.text, "the patch is nested deeper than 64"));
    scoped_str text = {0};
    str_add(&text, "{\"b\":[],\"a\":\"");
    for (int i = 0; i < 100000; i++)
        str_add(&text, "0123456789");
    str_add(&text, "\"}");
    scoped_free char *bytes = repeated("{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b/-\"}", 3);
    assert_int_equal(run_json(text.data, bytes, &err), -E2BIG);
    scoped_free char *many = repeated("{\"op\":\"test\",\"path\":\"/a\",\"value\":1}", 10001);
    assert_int_equal(run_json("{\"a\":1}", many, &err), -E2BIG);
    /* Copies that are removed again do not add up. */
    scoped_free char *churn = repeated("{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"},"
                                       "{\"op\":\"remove\",\"path\":\"/b\"}",
                                       1000);
    assert_int_equal(run_json("{\"a\":[[1,2,3],[4,5,6]]}", churn, &err), 0);
}

static void test_steps(void **state)
{
    (void)state;
    struct err err = {0};
    scoped_str target = {0};
    str_add(&target, "{\"a\":[0");
    for (int i = 0; i < 90000; i++)
        str_add(&target, ",0");
    str_add(&target, "]}");
    scoped_free char *patch =
        repeated("{\"op\":\"move\",\"from\":\"/a/80000\",\"path\":\"/a/0\"}", 5000);
    assert_int_equal(run_json(target.data, patch, &err), -E2BIG);
    assert_non_null(strstr(err.text, "too many steps"));
}

/* Quadratic look-ups would take minutes here. */
static void test_many_keys(void **state)
{
    (void)state;
    enum { KEYS = 100000 };
    scoped_str target = {0}, patch = {0};
    str_addc(&target, '{');
    str_addc(&patch, '{');
    for (int i = 0; i < KEYS; i++) {
        str_addf(&target, "%s\"k%d\":1", i ? "," : "", i);
        str_addf(&patch, "%s\"k%d\":%s", i ? "," : "", KEYS - 1 - i, i % 2 ? "null" : "2");
    }
    str_addc(&target, '}');
    str_addc(&patch, '}');
    scoped_json_mut *doc = parse_mut(target.data);
    scoped_json *changes = parse(patch.data);
    assert_int_equal(patch_merge(doc, yyjson_doc_get_root(changes), NULL), 0);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    assert_int_equal(yyjson_mut_obj_size(root), KEYS / 2);
    assert_int_equal(yyjson_mut_get_int(yyjson_mut_obj_get(root, "k99999")), 2);
    assert_null(yyjson_mut_obj_get(root, "k99998"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge),        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_refused), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_steps),        cmocka_unit_test(test_many_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
