// SPDX-License-Identifier: Apache-2.0
#include "model/manifest.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* All documents as one JSON line each. */
static char *parse_to_json(struct sv text, struct err *err)
{
    struct manifest manifest;
    struct str out = {0};
    if (manifest_parse("f.yaml", text, &manifest, err) < 0)
        return NULL;
    for (size_t i = 0; i < manifest.docs.len; i++) {
        if (i)
            str_addc(&out, '\n');
        json_write(yyjson_mut_doc_get_root(manifest.docs.items[i].doc), &out);
    }
    manifest_done(&manifest);
    return str_take(&out);
}

struct row {
    const char *text, *json;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct err err = {0};
        scoped_free char *json = parse_to_json(sv_of(rows[i].text), &err);
        if (!json)
            fail_msg("row %zu '%s': refused: %s", i, rows[i].text, err.text);
        if (!str_eq(json, rows[i].json))
            fail_msg("row %zu '%s': %s instead of %s", i, rows[i].text, json, rows[i].json);
    }
}

static const struct row SCALARS[] = {
    {"a: 1", "{\"a\":1}"},
    {"a: -1", "{\"a\":-1}"},
    {"a: +7", "{\"a\":7}"},
    {"a: -0", "{\"a\":0}"},
    {"a: 0x1F", "{\"a\":31}"},
    {"a: -0x10", "{\"a\":-16}"},
    {"a: 0o17", "{\"a\":15}"},
    {"a: 017", "{\"a\":15}"},
    {"a: 00", "{\"a\":0}"},
    {"a: 0b101", "{\"a\":5}"},
    {"a: 1_000", "{\"a\":1000}"},
    {"a: 0x_ff", "{\"a\":255}"},
    {"a: 08", "{\"a\":8}"},
    {"a: 0x", "{\"a\":\"0x\"}"},
    {"a: 0b2", "{\"a\":\"0b2\"}"},
    {"a: 0xg", "{\"a\":\"0xg\"}"},
    {"a: _1", "{\"a\":\"_1\"}"},
    {"a: 9223372036854775807", "{\"a\":9223372036854775807}"},
    {"a: 18446744073709551615", "{\"a\":18446744073709551615}"},
    {"a: -9223372036854775808", "{\"a\":-9223372036854775808}"},
    {"a: 18446744073709551616", "{\"a\":18446744073709552000.0}"},
    {"a: 1.5", "{\"a\":1.5}"},
    {"a: .5", "{\"a\":0.5}"},
    {"a: 1.", "{\"a\":1}"},
    {"a: -2.5e-3", "{\"a\":-0.0025}"},
    {"a: 1e3", "{\"a\":1000}"},
    {"a: 3.0", "{\"a\":3}"},
    {"a: 1e999", "{\"a\":\"1e999\"}"},
    {"a: 1e", "{\"a\":\"1e\"}"},
    {"a: 1.2.3", "{\"a\":\"1.2.3\"}"},
    {"a: ._5", "{\"a\":\"._5\"}"},
    {"a: .", "{\"a\":\".\"}"},
    {"a: +", "{\"a\":\"+\"}"},
    {"a: true", "{\"a\":true}"},
    {"a: True", "{\"a\":true}"},
    {"a: TRUE", "{\"a\":true}"},
    {"a: tRue", "{\"a\":\"tRue\"}"},
    {"a: yes", "{\"a\":true}"},
    {"a: y", "{\"a\":true}"},
    {"a: N", "{\"a\":false}"},
    {"a: Yes", "{\"a\":true}"},
    {"a: on", "{\"a\":true}"},
    {"a: ON", "{\"a\":true}"},
    {"a: no", "{\"a\":false}"},
    {"a: Off", "{\"a\":false}"},
    {"a: ~", "{\"a\":null}"},
    {"a: null", "{\"a\":null}"},
    {"a: Null", "{\"a\":null}"},
    {"a: nUll", "{\"a\":\"nUll\"}"},
    {"a:", "{\"a\":null}"},
    {"a: ''", "{\"a\":\"\"}"},
    {"a: \"1\"", "{\"a\":\"1\"}"},
    {"a: 'yes'", "{\"a\":\"yes\"}"},
    {"a: ! \"12\"", "{\"a\":\"12\"}"},
    {"a: |\n  12\n", "{\"a\":\"12\\n\"}"},
    {"a: >\n  x\n  y\n", "{\"a\":\"x y\\n\"}"},
    {"a: 2001-01-01", "{\"a\":\"2001-01-01\"}"},
    {"a: 2001-12-14T21:59:43Z", "{\"a\":\"2001-12-14T21:59:43Z\"}"},
    {"a: 10:20", "{\"a\":\"10:20\"}"},
    {"a: !!str 12", "{\"a\":\"12\"}"},
    {"a: !!str", "{\"a\":\"\"}"},
    {"a: !!int \"12\"", "{\"a\":12}"},
    {"a: !!float 1", "{\"a\":1}"},
    {"a: !!bool \"no\"", "{\"a\":false}"},
    {"a: !!null ''", "{\"a\":null}"},
    {"a: !!timestamp 2001-01-01", "{\"a\":\"2001-01-01\"}"},
    {"a: !!map {b: 1}", "{\"a\":{\"b\":1}}"},
    {"a: !!seq [1]", "{\"a\":[1]}"},
    {"a: \"\\u00e4\\x41\\0\"", "{\"a\":\"\xc3\xa4"
                               "A\\u0000\"}"},
};

static void test_scalars(void **state)
{
    (void)state;
    check_rows(SCALARS, ARRAY_LEN(SCALARS));
}

static void test_keys(void **state)
{
    static const struct row ROWS[] = {
        {"1: a", "{\"1\":\"a\"}"},
        {"0x10: a", "{\"16\":\"a\"}"},
        {"1.50: a", "{\"1.5\":\"a\"}"},
        {"true: a", "{\"true\":\"a\"}"},
        {"on: a", "{\"true\":\"a\"}"},
        {"y: a", "{\"true\":\"a\"}"},
        {"\"\": a", "{\"\":\"a\"}"},
        {"? a\n: b", "{\"a\":\"b\"}"},
        {"2001-01-01: a", "{\"2001-01-01\":\"a\"}"},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_anchors(void **state)
{
    static const struct row ROWS[] = {
        {"a: &x 1\nb: *x", "{\"a\":1,\"b\":1}"},
        {"a: &x {c: [1]}\nb: *x", "{\"a\":{\"c\":[1]},\"b\":{\"c\":[1]}}"},
        {"a: &x 1\nb: &x 2\nc: *x", "{\"a\":1,\"b\":2,\"c\":2}"},
        {"&k a: 1\nb: *k", "{\"a\":1,\"b\":\"a\"}"},
        {"a: &x key\n*x : 2", "{\"a\":\"key\",\"key\":2}"},
        {"a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3",
         "{\"a\":{\"b\":1,\"c\":2},\"d\":{\"c\":3,\"b\":1}}"},
        {"a: &x {b: 1}\nc: &y {b: 2, d: 3}\ne: {<<: [*x, *y], f: 4}",
         "{\"a\":{\"b\":1},\"c\":{\"b\":2,\"d\":3},\"e\":{\"f\":4,\"b\":1,\"d\":3}}"},
        {"a: {<<: {b: 1}, <<: {c: 2}}", "{\"a\":{\"b\":1,\"c\":2}}"},
        {"a: {'<<': 1}", "{\"a\":{\"<<\":1}}"},
        {"a: &x {b: 1}\nc: &y {<<: *x}\nd: {<<: *y}",
         "{\"a\":{\"b\":1},\"c\":{\"b\":1},\"d\":{\"b\":1}}"},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_documents(void **state)
{
    static const struct row ROWS[] = {
        {"", ""},
        {"# only a comment\n", ""},
        {"---\n---\na: 1\n---\n# nothing\n---\nb: 2\n...\n", "{\"a\":1}\n{\"b\":2}"},
        {"\xEF\xBB\xBF"
         "a: 1\r\nb:\r\n- 2\r\n",
         "{\"a\":1,\"b\":[2]}"},
        {"{\"a\": 1}{\"b\": [1, {}, []]}\n {\"c\": 1.0}",
         "{\"a\":1}\n{\"b\":[1,{},[]]}\n{\"c\":1}"},
        {"\xEF\xBB\xBF{\"a\": \"\\ud83d\\ude00\"}", "{\"a\":\"\xf0\x9f\x98\x80\"}"},
        {"{\"a\": 1}\n---\n{\"b\": 2}", "{\"a\":1}\n{\"b\":2}"},
        {"{\"a\": 1}\n---\nb: 2\n", "{\"a\":1}\n{\"b\":2}"},
        {"{a: b, c: [d, 'e']}", "{\"a\":\"b\",\"c\":[\"d\",\"e\"]}"},
        {"{\"a\": 1, # comment\n \"b\": 2,}", "{\"a\":1,\"b\":2}"},
        {"kind: List\napiVersion: v1\nitems:\n- a: 1\n- kind: List\n  items: [{b: 2}]\n---\nc: 3",
         "{\"a\":1}\n{\"b\":2}\n{\"c\":3}"},
        {"kind: List\nitems: []\n", ""},
        {"kind: List\nitems: x\n", "{\"kind\":\"List\",\"items\":\"x\"}"},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
    struct err err = {0};
    scoped_free char *utf16 = parse_to_json((struct sv){"\xff\xfe"
                                                        "a\0:\0 \0\xe4\0\n\0",
                                                        12},
                                            &err);
    assert_string_equal(utf16, "{\"a\":\"\xc3\xa4\"}");
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *text, *error, *hint;
    } ROWS[] = {
        {"a: 1\nb: 2\na: 3\n", "f.yaml:3:1: the key 'a' stands twice, first at 1:1", "remove"},
        {"{\"x\": {\"a\": 1,\n \"a\": 2}}", "f.yaml:2:2: the key 'a' stands twice, first at 1:8",
         "remove"},
        {"1: a\n\"1\": b\n", "f.yaml:2:1: the key '1' stands twice, first at 1:1", ""},
        {"a:\n\tb: 1\n", "f.yaml:2:1: a tab stands in the indentation", "spaces"},
        {"a: b: c\n", "f.yaml:1:5: a second ': ' on a line", "quotes"},
        {"a:\n  b: 1\n c: 2\n", "f.yaml:3:2: a key was expected here", "same column"},
        {"a:\n- b\n - c: 1\n  d\n", "f.yaml:3:5: a second ': ' on a line", "column"},
        {"a: [1, 2\nb: 3\n", "f.yaml:2:2: ',' or ']' was expected here", "closed"},
        {"a: \"x\n", "f.yaml:2:1: the text ends inside quotes", "close"},
        {"a: \"\\q\"\n", "f.yaml:1:5: there is no such escape", "backslash"},
        {"a: @x\n", "f.yaml:1:4: text cannot begin with @", "quotes"},
        {"a: %x\n", "f.yaml:1:4: text cannot begin with %", "template"},
        {"a: {{ .Values.x }}\n", "f.yaml:1:5: a collection cannot be a key", ""},
        {"a: {{ .Values.x }\n", "f.yaml:", ""},
        {"a: *x\n", "f.yaml:1:4: no anchor &x", ""},
        {"a: &x [*x]\n", "f.yaml:1:8: the alias *x stands inside", ""},
        {"a: .inf\n", "f.yaml:1:4: .inf is not a number", "quotes"},
        {"a: -.INF\n", "f.yaml:1:4: -.INF is not a number", "quotes"},
        {"a: .NaN\n", "f.yaml:1:4: .NaN is not a number", "quotes"},
        {"a: 0x10000000000000000\n", "f.yaml:1:4: the number 0x10000000000000000 does not fit", ""},
        {"~: 1\n", "f.yaml:1:1: null cannot be a key", "quotes"},
        {"? [a]\n: 1\n", "f.yaml:1:3: a collection cannot be a key", ""},
        {"a: &x [1]\n*x : 1\n", "f.yaml:2:1: a collection cannot be a key", ""},
        {"a: {<<: 1}\n", "f.yaml:1:9: << takes a mapping", ""},
        {"a: {<<: [{b: 1}, 2]}\n", "f.yaml:1:9: << takes a mapping", ""},
        {"a: !!int x\n", "f.yaml:1:4: 'x' does not fit its tag !!int", ""},
        {"a: !!int 1.5\n", "f.yaml:1:4: '1.5' does not fit its tag !!int", ""},
        {"a: !!binary aGk=\n", "f.yaml:1:4: the tag !!binary is not supported", "!!str"},
        {"a: !mine 1\n", "f.yaml:1:4: the tag !mine is not supported", "!!str"},
        {"a: !!set {b}\n", "f.yaml:1:4: the tag !!set is not supported", ""},
        {"a: !!str [b]\n", "f.yaml:1:4: the tag !!str is not supported", ""},
        {"- a\n- b\n", "f.yaml:1:1: a mapping was expected here, not a list", "apiVersion"},
        {"just text\n", "f.yaml:1:1: a mapping was expected here, not a single value", ""},
        {"[{\"a\": 1}]", "f.yaml:1:1: an object was expected here", ""},
        {"{\"a\": 1,\n \"b\": nul}x", "f.yaml:2:7: ", ""},
        {"{\"a\": 1}\n{\"b\": 1,\n  \"c\": \"\\q\"}", "f.yaml:3:10: invalid escaped character", ""},
        {"{\"a\": \"", "f.yaml:1:", ""},
        {"a: \x01\n", "f.yaml:1:4: a control character", "escape"},
        {"a: \xff\n", "f.yaml:1:4: invalid leading UTF-8 octet", ""},
        {"kind: List\nitems:\n- a: 1\n- 2\n", "f.yaml:4:3: items[1] of the list is no object", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct err err = {0};
        scoped_free char *json = parse_to_json(sv_of(ROWS[i].text), &err);
        if (json)
            fail_msg("row %zu '%s': accepted: %s", i, ROWS[i].text, json);
        if (!str_starts(err.text, ROWS[i].error) || !strstr(err.hint, ROWS[i].hint) || !err.code)
            fail_msg("row %zu '%s': '%s' (%s), not '%s' (%s)", i, ROWS[i].text, err.text, err.hint,
                     ROWS[i].error, ROWS[i].hint);
        assert_true(manifest_parse("f.yaml", sv_of(ROWS[i].text), NULL, NULL) < 0);
    }
}

/* What can be read is read, and all else is told. */
static void test_each(void **state)
{
    (void)state;
    static const struct {
        const char *text, *docs, *said;
    } ROWS[] = {
        {"a: 1\n---\nb: 2\n", "{\"a\":1}{\"b\":2}", ""},
        {"", "", ""},
        {"a: 1\n---\nb: [x\n---\nc: 3\n--- {d: 4}\n---\ne: {f: 1, f: 2}\n",
         "{\"a\":1}{\"c\":3}{\"d\":4}",
         "f.yaml:4:1: ',' or ']' was expected here\n    hint: a '[' above is not closed, or a "
         "value "
         "needs quotes\n"
         "f.yaml:8:11: the key 'f' stands twice, first at 8:5\n    hint: a key may stand only once "
         "in a "
         "mapping; remove one of the two\n"},
        {"a: 'x\n---\nb: 2\n", "{\"b\":2}",
         "f.yaml:2:1: the text ends inside quotes\n    hint: close the quotes that are opened "
         "above\n"},
        {"a: |\n  text\n  ---\nb:\n---x\n---\n{\"c\": 3}\n", "{\"c\":3}", NULL},
        {"{\"a\": 1}\n---\n{\"b\": x y}\n---\n{\"c\":\n  nul x}\n",
         "{\"a\":1}{\"b\":\"x y\"}{\"c\":\"nul x\"}", ""},
        {"kind: List\nitems:\n- a: 1\n- 2\n- {kind: List, items: [3, {b: 1}]}\n---\n- c\n---\nd: "
         "4\n",
         "{\"a\":1}{\"b\":1}{\"d\":4}",
         "f.yaml:4:3: items[1] of the list is no object\n"
         "f.yaml:5:24: items[0] of the list is no object\n"
         "f.yaml:7:1: a mapping was expected here, not a list\n    hint: a document begins with "
         "keys "
         "such as apiVersion: and kind:\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct manifest manifest = {0};
        scoped_str said = {0}, docs = {0};
        size_t n = manifest_parse_each("f.yaml", sv_of(ROWS[i].text), &manifest, &said);
        for (size_t d = 0; d < manifest.docs.len; d++)
            json_write(yyjson_mut_doc_get_root(manifest.docs.items[d].doc), &docs);
        assert_string_equal(str_text(&docs), ROWS[i].docs);
        if (ROWS[i].said != NULL)
            assert_string_equal(str_text(&said), ROWS[i].said);
        assert_int_equal(n > 0, said.len > 0);
        manifest_done(&manifest);
    }
}

static void repeat(struct str *out, const char *text, int times)
{
    for (int i = 0; i < times; i++)
        str_add(out, text);
}

static bool accepts(const struct str *text, struct err *err)
{
    scoped_free char *json = parse_to_json((struct sv){text->data, text->len}, err);
    return json;
}

static void test_depth(void **state)
{
    (void)state;
    for (int json = 0; json < 2; json++)
        for (int depth = 63; depth <= 66; depth++) {
            scoped_str text = {0};
            struct err err = {0};
            str_add(&text, json ? "{\"a\":" : "a: ");
            repeat(&text, "[", depth - 1);
            repeat(&text, "]", depth - 1);
            str_add(&text, json ? "}" : "");
            if (accepts(&text, &err) != (depth <= 64))
                fail_msg("json %d depth %d: %s", json, depth, err.text);
            if (depth > 64)
                assert_non_null(strstr(err.text, "nested deeper than 64"));
        }
    scoped_str text = {0};
    repeat(&text, "[", 500000);
    struct err err = {0};
    assert_false(accepts(&text, &err));
}

static void test_alias_depth(void **state)
{
    (void)state;
    for (int depth = 30; depth <= 33; depth++) {
        scoped_str text = {0};
        struct err err = {0};
        str_add(&text, "a: &x ");
        repeat(&text, "[", depth);
        repeat(&text, "]", depth);
        str_add(&text, "\nb: ");
        repeat(&text, "[", 32);
        str_add(&text, "*x");
        repeat(&text, "]", 32);
        if (accepts(&text, &err) != (1 + 32 + depth <= 64))
            fail_msg("depth %d: %s", depth, err.text);
    }
}

static void test_alias_budget(void **state)
{
    (void)state;
    struct err err = {0};
    scoped_str laughs = {0};
    str_add(&laughs, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 9; i++) {
        str_addf(&laughs, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++)
            str_addf(&laughs, "%s*a%d", j ? "," : "", i - 1);
        str_add(&laughs, "]\n");
    }
    assert_false(accepts(&laughs, &err));
    assert_non_null(strstr(err.text, "aliases make this document larger than 100000 values"));
    scoped_str merged = {0};
    str_add(&merged, "a: &a {");
    for (int i = 0; i < 1000; i++)
        str_addf(&merged, "k%d: 1,", i);
    str_add(&merged, "}\nb:\n");
    for (int i = 0; i < 200; i++)
        str_add(&merged, "- <<: *a\n");
    assert_false(accepts(&merged, &err));
    scoped_str texts = {0};
    str_add(&texts, "a: &a \"");
    repeat(&texts, "0123456789", 100000);
    str_add(&texts, "\"\nb: [");
    repeat(&texts, "*a,", 50);
    str_add(&texts, "]\n");
    assert_false(accepts(&texts, &err));
}

static void test_positions(void **state)
{
    static const struct {
        const char *path;
        int line, column;
    } ROWS[] = {{"", 2, 1},       {"a", 2, 4},    {"spec", 3, 1},      {"spec.x", 4, 6},
                {"spec.z", 6, 8}, {"copy", 4, 6}, {"spec.made", 3, 1}, {"flow.b", 8, 11}};
    static const char TEXT[] =
        "# comment\na: 1\nspec:\n  x: &x\n  - 1\n  z:   2\ncopy: *x\nflow: {b: 3}\n";
    (void)state;
    struct manifest manifest;
    assert_int_equal(manifest_parse("f", sv_of(TEXT), &manifest, NULL), 0);
    struct manifest_doc *doc = &manifest.docs.items[0];
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc->doc);
    json_mut_set(doc->doc, root, "spec.made", yyjson_mut_int(doc->doc, 1));
    assert_int_equal(doc->line, 2);
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        yyjson_mut_val *val = json_mut_at(root, ROWS[i].path);
        int line = 0, column = 0;
        assert_non_null(val);
        assert_true(manifest_position(doc, val, &line, &column));
        if (line != ROWS[i].line || column != ROWS[i].column)
            fail_msg("'%s' is at %d:%d", ROWS[i].path, line, column);
    }
    int line, column;
    yyjson_mut_val stranger = {0};
    assert_false(manifest_position(doc, &stranger, &line, &column));
    manifest_done(&manifest);
}

static void test_json_positions(void **state)
{
    static const char TEXT[] = " {\"\xc3\xa4\": \"\\\"}\", \"b\": [ {\"c\" :\n"
                               "   -1.5e3 }, [ ] ],\n"
                               " \"d\":\ttrue}\n"
                               "{\"e\": null}";
    (void)state;
    struct manifest manifest;
    assert_int_equal(manifest_parse("f", sv_of(TEXT), &manifest, NULL), 0);
    assert_int_equal(manifest.docs.len, 2);
    struct manifest_doc *doc = &manifest.docs.items[0];
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc->doc);
    yyjson_mut_val *b = yyjson_mut_obj_get(root, "b");
    const struct {
        yyjson_mut_val *val;
        int line, column;
    } ROWS[] = {{root, 1, 2},
                {yyjson_mut_obj_get(root, "\xc3\xa4"), 1, 8},
                {b, 1, 20},
                {yyjson_mut_arr_get(b, 0), 1, 22},
                {yyjson_mut_obj_get(yyjson_mut_arr_get(b, 0), "c"), 1, 23},
                {yyjson_mut_arr_get(b, 1), 2, 14},
                {yyjson_mut_obj_get(root, "d"), 3, 7}};
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        int line = 0, column = 0;
        assert_true(manifest_position(doc, ROWS[i].val, &line, &column));
        if (line != ROWS[i].line || column != ROWS[i].column)
            fail_msg("row %zu is at %d:%d", i, line, column);
    }
    assert_int_equal(manifest.docs.items[1].line, 4);
    manifest_done(&manifest);
}

static void test_list_positions(void **state)
{
    static const char TEXT[] = "kind: List\nitems:\n- kind: A\n  spec: [1]\n- kind: B\n";
    (void)state;
    struct manifest manifest;
    int line = 0, column = 0;
    assert_int_equal(manifest_parse("f", sv_of(TEXT), &manifest, NULL), 0);
    assert_int_equal(manifest.docs.len, 2);
    assert_int_equal(manifest.docs.items[1].line, 5);
    struct manifest_doc *doc = &manifest.docs.items[0];
    yyjson_mut_val *spec = json_mut_at(yyjson_mut_doc_get_root(doc->doc), "spec");
    assert_true(manifest_position(doc, yyjson_mut_arr_get_first(spec), &line, &column));
    assert_int_equal(line, 4);
    assert_int_equal(column, 10);
    manifest_done(&manifest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),        cmocka_unit_test(test_each),
        cmocka_unit_test(test_keys),           cmocka_unit_test(test_anchors),
        cmocka_unit_test(test_documents),      cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_depth),          cmocka_unit_test(test_alias_depth),
        cmocka_unit_test(test_alias_budget),   cmocka_unit_test(test_positions),
        cmocka_unit_test(test_json_positions), cmocka_unit_test(test_list_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
