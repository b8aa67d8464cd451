// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/jsonpath.h"
#include "clitest.h"
#include <errno.h>

static const char DOC[] =
    "{\"kind\":\"List\",\"n\":null,\"big\":9007199254740993,\"items\":["
    "{\"metadata\":{\"name\":\"a\",\"labels\":{\"app.io/x\":\"1\"}},\"v\":1,\"ok\":true},"
    "{\"metadata\":{\"name\":\"b\"},\"v\":2,\"ok\":false,\"t\":[1,2,3]},"
    "{\"metadata\":{\"name\":\"c\"},\"v\":3.5,\"ref\":\"b\"}]}";

static const struct {
    const char *template;
    const char *want;
} GOOD[] = {
    {"", ""},
    {"plain", "plain"},
    {"{.kind}", "List"},
    {".kind", "List"},
    {"$.kind", "List"},
    {"{$.kind}", "List"},
    {"{@.kind}", "List"},
    {"{['kind']}", "List"},
    {"<{.kind}>", "<List>"},
    {"{ .kind }", "List"},
    {"{.missing}", ""},
    {"{.kind.deeper}", ""},
    {"{.items[*].metadata.name}", "a b c"},
    {"{.items[0].metadata.name}", "a"},
    {"{.items[-1].metadata.name}", "c"},
    {"{.items[-2].metadata.name}", "b"},
    {"{.none[7].metadata.name}", ""},
    {"{.n[7]}", ""},
    {"{.items[1:1].kind}", ""},
    {"{.items[?(@.t[7])].v}", ""},
    {"{.items[1:3].metadata.name}", "b c"},
    {"{.items[:2].metadata.name}", "a b"},
    {"{.items[-2:].metadata.name}", "b c"},
    {"{.items[::2].metadata.name}", "a c"},
    {"{.items[0:3:2].metadata.name}", "a c"},
    {"{.items[0,2].metadata.name}", "a c"},
    {"{.items[0]['v','ok']}", "1 true"},
    {"{.items[0]['metadata.name','v']}", "a 1"},
    {"{.items[*]['metadata.name','none.x']}", "a b c"},
    {"{.items[0:2]['metadata.name','v']}", "a b 1 2"},
    {"{.items[0]['metadata.labels.app\\.io/x']}", "1"},
    {"{.items[0].metadata.labels.app\\.io/x}", "1"},
    {"{.items[0].metadata.labels['app.io/x']}", "1"},
    {"{.items[0].metadata.labels}", "{\"app.io/x\":\"1\"}"},
    {"{.items[1].t}", "[1,2,3]"},
    {"{.items[1].t[*]}", "1 2 3"},
    {"{.items[0].metadata.*}", "a {\"app.io/x\":\"1\"}"},
    {"{..name}", "a b c"},
    {"{..t[1]}", "2"},
    {"{.items[2].v}", "3.5"},
    {"{.big}", "9007199254740993"},
    {"{.n}", "null"},
    {"{.items[?(@.v==2)].metadata.name}", "b"},
    {"{.items[?(@.v!=2)].metadata.name}", "a c"},
    {"{.items[?(@.v>1)].metadata.name}", "b c"},
    {"{.items[?(@.v >= 3.5)].metadata.name}", "c"},
    {"{.items[?(@.v<2)].metadata.name}", "a"},
    {"{.items[?(@.v<=2)].metadata.name}", "a b"},
    {"{.items[?(@.metadata.name==\"b\")].v}", "2"},
    {"{.items[?(@.metadata.name=='b')].v}", "2"},
    {"{.items[?(@.ok==true)].v}", "1"},
    {"{.items[?(@.t)].v}", "2"},
    {"{.items[?(@.t[?(@==3)])].v}", "2"},
    {"{.items[?(@.ref==$.items[1].metadata.name)].v}", "3.5"},
    {"{.items[?(@.metadata.name==$.kind)].v}", ""},
    {"{[?(@==9007199254740992)]}", ""},
    {"{[?(@==9007199254740993)]}", "9007199254740993"},
    {"{range .items[*]}{.metadata.name}={.v}{\"\\n\"}{end}", "a=1\nb=2\nc=3.5\n"},
    {"{range .items[*]}{$.kind}{'\\t'}{end}", "List\tList\tList\t"},
    {"{range .items[1]}{range .t[*]}<{@}>{end}{end}", "<1><2><3>"},
    {"{range .none[*]}x{end}y", "y"},
    {"{range .items[*]}{.metadata.name}", "abc"},
    {"{range .items[*]}{range .t[*]}{@}{end}", "123"},
    {"{.}", NULL}, /* the document itself */
};

static yyjson_doc *parse_doc(void)
{
    yyjson_doc *doc = NULL;
    assert_int_equal(json_parse(sv_of(DOC), &doc, NULL), 0);
    return doc;
}

static void test_good(void **state)
{
    (void)state;
    scoped_json *doc = parse_doc();
    for (size_t i = 0; i < ARRAY_LEN(GOOD); i++) {
        struct err err = {0};
        struct jsonpath *path = NULL;
        if (jsonpath_parse(sv_of(GOOD[i].template), &path, &err) < 0)
            fail_msg("%s: %s", GOOD[i].template, err.text);
        scoped_str out = {0};
        assert_true(jsonpath_print(path, yyjson_doc_get_root(doc), &out, &err) >= 0);
        assert_int_equal(err.code, 0);
        if (!str_eq(str_text(&out), GOOD[i].want ? GOOD[i].want : DOC))
            fail_msg("%s: got '%s', want '%s'", GOOD[i].template, str_text(&out), GOOD[i].want);
        jsonpath_free(path);
    }
}

static const char *const BAD[] = {
    "{",
    "{.a",
    "{.a]}",
    "{.items[}",
    "{.items[0}",
    "{.items[a]}",
    "{.items[1:2:0]}",
    "{.items['a}",
    "{.items[?(@.a]}",
    "{.items[?(@.a==)]}",
    "{.a.}",
    "{name}",
    "{end}",
    "{range .a}x{end}{end}",
    "{\"open}",
    "{.a b}",
    ".a b",
    "{.items[99999999999]}",
    "{.items[?(@.a==1x)]}",
    "{}",
    "{.items[-]}",
    "{..}",
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        struct err err = {0};
        struct jsonpath *path = NULL;
        if (jsonpath_parse(sv_of(BAD[i]), &path, &err) == 0)
            fail_msg("'%s' was accepted", BAD[i]);
        assert_null(path);
        assert_true(str_starts(err.text, "jsonpath, character "));
    }
}

/* As kubectl says it. */
static void test_out_of_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *template, *says;
    } ROWS[] = {
        {"{.items[7].metadata.name}", "array index out of bounds: index 7, length 3"},
        {"{.items[-7].metadata.name}", "array index out of bounds: index -4, length 3"},
        {"{.items[1:9].v}", "array index out of bounds: index 8, length 3"},
        {"{range .items[4:]}x{end}", "array index out of bounds: index 4, length 3"},
        {"{.items[?(@.t[5]==1)].v}", "array index out of bounds: index 5, length 3"},
        {"{.kind[0]}", "an index is for arrays, and this is a single value"},
        {"{.items[0].metadata[0]}", "an index is for arrays, and this is an object"},
    };
    scoped_json *doc = parse_doc();
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct err err = {0};
        struct jsonpath *path = NULL;
        scoped_str out = {0};
        assert_int_equal(jsonpath_parse(sv_of(ROWS[i].template), &path, &err), 0);
        assert_int_equal(jsonpath_print(path, yyjson_doc_get_root(doc), &out, &err), -ERANGE);
        if (strstr(err.text, ROWS[i].says) == NULL)
            fail_msg("%s: '%s'", ROWS[i].template, err.text);
        jsonpath_free(path);
    }
}

static void test_says_where(void **state)
{
    (void)state;
    struct err err = {0};
    struct jsonpath *path = NULL;
    assert_int_equal(jsonpath_parse(SV("{.items[x]}"), &path, &err), -EINVAL);
    assert_true(str_starts(err.text, "jsonpath, character 9: "));
}

static void test_counts_values(void **state)
{
    (void)state;
    static const struct {
        const char *template;
        int n;
    } ROWS[] = {{"{.kind}", 1}, {"{.missing}", 0}, {"x", 0}, {"{.items[*].v}", 3}, {"{.n}", 1}};
    scoped_json *doc = parse_doc();
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct jsonpath *path = NULL;
        scoped_str out = {0};
        assert_int_equal(jsonpath_parse(sv_of(ROWS[i].template), &path, NULL), 0);
        assert_int_equal(jsonpath_print(path, yyjson_doc_get_root(doc), &out, NULL), ROWS[i].n);
        jsonpath_free(path);
    }
}

/* Nested ranges over everything multiply: 200 values to the power of 8. */
static void test_refuses_explosion(void **state)
{
    (void)state;
    scoped_str text = {0};
    scoped_str json = {0};
    str_addc(&json, '[');
    for (int i = 0; i < 200; i++)
        str_add(&json, i ? ",{}" : "{}");
    str_addc(&json, ']');
    for (int i = 0; i < 8; i++)
        str_add(&text, "{range $[*]}");
    for (int i = 0; i < 8; i++)
        str_add(&text, "{end}");
    scoped_json *doc = NULL;
    struct jsonpath *path = NULL;
    scoped_str out = {0};
    struct err err = {0};
    assert_int_equal(json_parse((struct sv){json.data, json.len}, &doc, NULL), 0);
    assert_int_equal(jsonpath_parse((struct sv){text.data, text.len}, &path, NULL), 0);
    assert_int_equal(jsonpath_print(path, yyjson_doc_get_root(doc), &out, &err), -E2BIG);
    jsonpath_free(path);
}

static void test_refuses_depth(void **state)
{
    (void)state;
    scoped_str text = {0};
    struct jsonpath *path = NULL;
    for (int i = 0; i < 40; i++)
        str_add(&text, "{range .a}");
    for (int i = 0; i < 40; i++)
        str_add(&text, "{end}");
    assert_int_equal(jsonpath_parse((struct sv){text.data, text.len}, &path, NULL), -EINVAL);
    assert_null(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),          cmocka_unit_test(test_bad),
        cmocka_unit_test(test_out_of_bounds), cmocka_unit_test(test_says_where),
        cmocka_unit_test(test_counts_values), cmocka_unit_test(test_refuses_explosion),
        cmocka_unit_test(test_refuses_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
