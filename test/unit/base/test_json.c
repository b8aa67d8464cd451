// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/mem.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static yyjson_mut_doc *parse(const char *text)
{
    struct err err = {0};
    yyjson_mut_doc *doc = NULL;
    if (json_parse_mut(sv_of(text), &doc, &err) < 0)
        fail_msg("'%s': %s", text, err.text);
    return doc;
}

static void assert_written(yyjson_mut_val *val, const char *expected)
{
    scoped_str out = {0};
    json_write(val, &out);
    assert_string_equal(str_text(&out), expected);
}

static void test_parse(void **state)
{
    (void)state;
    static const char *const same[] = {
        "null",
        "0",
        "-1",
        "18446744073709551615",
        "1.5",
        "\"\xC3\xA9\"",
        "[]",
        "{}",
        "{\"a\":[1,{\"a\":2}],\"b\":{\"a\":null},\"\":true}",
    };
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        struct err err = {0};
        scoped_json *doc = NULL;
        assert_int_equal(json_parse(sv_of(same[i]), &doc, &err), 0);
        scoped_str out = {0};
        json_write_val(doc->root, &out);
        assert_string_equal(str_text(&out), same[i]);
        scoped_json_mut *copy = parse(same[i]);
        assert_written(copy->root, same[i]);
    }
    scoped_json *doc = NULL;
    assert_int_equal(json_parse(SV(" 123456789012345678901234567890 "), &doc, NULL), 0);
    assert_true(yyjson_is_real(doc->root));
}

static void test_parse_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "line 1, column 1: there is no text"},
        {" ", "line 1, column 1: "},
        {"{\n  \"a\": 1,\n  \"b\": x\n}", "line 3, column 8: "},
        {"{\n  \"\xC3\xA9\": x}", "line 2, column 8: "}, /* characters, not bytes */
        {"[1,]", "line 1, column 3: "},
        {"[1] 2", "line 1, column 5: "},
        {"[1", "line 1, column 3: "},
        {"{'a':1}", "line 1, column 2: "},
        {"[NaN]", "line 1, column 2: "},
        {"[1e999]", "line 1, column 2: "},
        {"[01]", "line 1, column "},
        {"// c\n1", "line 1, column 1: "},
        {"[\"\xFF\"]", "line 1, column 3: "},
        {"[\"\xED\xA0\x80\"]", "line 1, column 3: "}, /* half of a surrogate pair */
        {"[\"\\ud800\"]", "line 1, column "},
        {"[\"\x01\"]", "line 1, column 3: "},
        {"\xEF\xBB\xBF[]", "line 1, column 1: "},
        {"{\"a\":1,\"a\":2}", "line 1, column 8: key 'a' is there twice"},
        {"[{},\n{\"b\":{\"x\":1, \"\\u0078\":2}}]", "line 2, column 14: key 'x' is there twice"},
        {"{\"a\\nb\\u00e9\":0,\n\"c\":[],\n \"c\":[]}", "line 3, column 2: key 'c' is there twice"},
        {"{\"\":1,\"\":1}", "line 1, column 7: key '' is there twice"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        yyjson_doc *doc = (yyjson_doc *)&err;
        int r = json_parse(sv_of(rows[i].text), &doc, &err);
        if (r != -EINVAL || doc != (yyjson_doc *)&err || !strstr(err.text, rows[i].says) ||
            err.hint[0] == '\0')
            fail_msg("'%s': r=%d text='%s' hint='%s'", rows[i].text, r, err.text, err.hint);
        assert_int_equal(json_parse(sv_of(rows[i].text), &doc, NULL), -EINVAL);
    }
    yyjson_doc *doc;
    assert_int_equal(json_parse((struct sv){NULL, 0}, &doc, NULL), -EINVAL);
}

static void test_the_last_one_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *doc, *repeated;
    } rows[] = {
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}", ""},
        {"{\"a\":1,\"b\":2,\"a\":3}", "{\"b\":2,\"a\":3}", "a\n"},
        {"{\"a\":1,\"a\":2,\"a\":3}", "{\"a\":3}", "a\n"},
        {"{\"b\":[0,{\"c.d\":1,\"c.d\":2}],\"a\":{\"x\":{},\"x\":[]}}",
         "{\"b\":[0,{\"c.d\":2}],\"a\":{\"x\":[]}}", "b[1].c.d\na.x\n"},
        {"{\"a\":{\"x\":1,\"x\":2},\"a\":0}", "{\"a\":0}", "a\n"}, /* what is dropped is not told */
        {"{\"\\n\":1,\"\\n\":2}", "{\"\\n\":2}", "?\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        scoped_json_mut *doc = NULL;
        scoped_str repeated = {0};
        assert_int_equal(json_parse_last(sv_of(rows[i].text), &doc, &repeated, &err), 0);
        assert_written(yyjson_mut_doc_get_root(doc), rows[i].doc);
        assert_string_equal(str_text(&repeated), rows[i].repeated);
    }
    struct err err = {0};
    yyjson_mut_doc *doc = NULL;
    scoped_str repeated = {0};
    assert_int_equal(json_parse_last(SV("{\"a\":1,\"a\":}"), &doc, &repeated, &err), -EINVAL);
    assert_null(doc);
    assert_int_equal(repeated.len, 0);
}

/* Opens and closes `depth` levels, lists and objects in turn. */
static void nest(struct str *out, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        str_add(out, i % 2 ? "{\"a]}\\\"\":" : "[");
    str_addc(out, '0');
    for (size_t i = depth; i-- > 0;)
        str_addc(out, i % 2 ? '}' : ']');
}

static int parse_nested(size_t depth, struct err *err)
{
    scoped_str text = {0};
    nest(&text, depth);
    scoped_json *doc = NULL;
    return json_parse((struct sv){text.data, text.len}, &doc, err);
}

static void test_depth_of_text(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(parse_nested(JSON_DEPTH_MAX, &err), 0);
    assert_int_equal(parse_nested(JSON_DEPTH_MAX + 1, &err), -EINVAL);
    assert_string_equal(err.text, "line 1, column 321: nested deeper than 64 levels");
    assert_true(err.hint[0]);
    assert_int_equal(parse_nested(1000000, &err), -EINVAL);
    scoped_json *wide = NULL; /* width is not depth */
    scoped_str text = {0};
    str_addc(&text, '[');
    for (int i = 0; i < 1000; i++)
        str_add(&text, "[],{},\"[[[\",");
    str_add(&text, "0]");
    assert_int_equal(json_parse((struct sv){text.data, text.len}, &wide, &err), 0);
}

static void test_depth_of_document(void **state)
{
    (void)state;
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *val = yyjson_mut_int(doc, 1);
    assert_int_equal(json_check_depth(val, NULL), 0);
    for (int i = 0; i < 100000; i++) {
        yyjson_mut_val *outer = i % 2 ? yyjson_mut_arr(doc) : yyjson_mut_obj(doc);
        if (i % 2) {
            assert_true(yyjson_mut_arr_append(outer, yyjson_mut_obj(doc)));
            assert_true(yyjson_mut_arr_append(outer, val));
        } else {
            json_mut_put(doc, outer, "k", val);
            json_mut_put(doc, outer, "l", yyjson_mut_arr(doc));
        }
        val = outer;
        struct err err = {0};
        bool fits = i + 2 <= JSON_DEPTH_MAX; /* the empty list inside counts */
        if (i < JSON_DEPTH_MAX + 2)
            assert_int_equal(json_check_depth(val, &err), fits ? 0 : -EINVAL);
    }
    assert_int_equal(json_check_depth(val, NULL), -EINVAL);
}

/* {"k0":0,...}, counted up or down. */
static void many_keys(struct str *out, int n, bool down)
{
    str_addc(out, '{');
    for (int i = 0; i < n; i++)
        str_addf(out, "%s\"k%d\":%d", i ? "," : "", down ? n - 1 - i : i, down ? n - 1 - i : i);
    str_addc(out, '}');
}

static void test_many_keys(void **state)
{
    (void)state;
    static const int counts[] = {1, 2, 15, 16, 17, 18, 33, 100, 100000};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        scoped_str up = {0}, down = {0};
        many_keys(&up, counts[i], false);
        many_keys(&down, counts[i], true);
        scoped_json_mut *a = parse(str_text(&up)), *b = parse(str_text(&down));
        assert_true(json_mut_equal(a->root, b->root));
        assert_true(yyjson_mut_set_int(yyjson_mut_obj_get(b->root, "k0"), -1));
        assert_false(json_mut_equal(a->root, b->root));
        up.data[--up.len] = '\0';
        str_add(&up, ",\n\"k0\":7}");
        struct err err = {0};
        yyjson_doc *doc = NULL;
        assert_int_equal(json_parse((struct sv){up.data, up.len}, &doc, &err), -EINVAL);
        assert_string_equal(err.text, "line 2, column 1: key 'k0' is there twice");
    }
}

static void test_paths(void **state)
{
    (void)state;
    static const char text[] =
        "{\"spec\":{\"nodeName\":\"n1\",\"n\":-5,\"big\":9223372036854775808,"
        "\"f\":1.0,\"l\":[1]}}";
    scoped_json *doc = NULL;
    assert_int_equal(json_parse(sv_of(text), &doc, NULL), 0);
    scoped_json_mut *mut = parse(text);
    assert_ptr_equal(json_at(doc->root, ""), doc->root);
    assert_string_equal(json_str_at(doc->root, "spec.nodeName"), "n1");
    assert_string_equal(json_mut_str_at(mut->root, "spec.nodeName"), "n1");
    assert_null(json_str_at(doc->root, "spec.n"));
    assert_null(json_at(doc->root, "spec.nodeName.deeper"));
    assert_null(json_at(doc->root, "spec.l.0"));
    assert_null(json_at(NULL, "spec"));
    assert_null(json_mut_at(mut->root, "nope.n"));
    assert_null(json_mut_str_at(NULL, "nope"));
    static const struct {
        const char *path;
        int64_t value;
    } ints[] = {{"spec.n", -5}, {"spec.big", 7}, {"spec.f", 7}, {"spec.nodeName", 7}, {"x", 7}};
    for (size_t i = 0; i < ARRAY_LEN(ints); i++) {
        assert_int_equal(json_int_at(doc->root, ints[i].path, 7), ints[i].value);
        assert_int_equal(json_mut_int_at(mut->root, ints[i].path, 7), ints[i].value);
    }
}

static void test_set_and_put(void **state)
{
    (void)state;
    scoped_json_mut *doc = parse("{\"a\":1,\"b\":2}");
    char key[] = "a";
    json_mut_put(doc, doc->root, key, yyjson_mut_str(doc, "x"));
    char path[] = "c.d.e";
    json_mut_set(doc, doc->root, path, yyjson_mut_true(doc));
    memset(path, '?', sizeof(path) - 1); /* keys are copied */
    key[0] = '?';
    assert_written(doc->root, "{\"a\":\"x\",\"b\":2,\"c\":{\"d\":{\"e\":true}}}");
    json_mut_set(doc, doc->root, "c.d.e", yyjson_mut_int(doc, 3));
    json_mut_set(doc, doc->root, "c.d.f", yyjson_mut_int(doc, 4));
    json_mut_set(doc, doc->root, "b.z", yyjson_mut_int(doc, 5)); /* a number in the way */
    assert_written(doc->root, "{\"a\":\"x\",\"b\":{\"z\":5},\"c\":{\"d\":{\"e\":3,\"f\":4}}}");
    json_mut_put(doc, doc->root, "b", NULL);
    json_mut_put(doc, doc->root, "nope", NULL);
    json_mut_set(doc, doc->root, "nope.x", NULL);
    json_mut_set(doc, doc->root, "c.d.e", NULL);
    assert_written(doc->root, "{\"a\":\"x\",\"c\":{\"d\":{\"f\":4}}}");
    json_mut_put(doc, doc->root, "c", yyjson_mut_int(doc, 6)); /* over an object */
    assert_written(doc->root, "{\"a\":\"x\",\"c\":6}");
}

/* What is there and right is kept; what is in the way goes. */
static void test_need(void **state)
{
    (void)state;
    scoped_json_mut *doc = parse("{\"a\":{\"b\":[1]},\"c\":null}");
    assert_ptr_equal(json_mut_need_obj(doc, doc->root, "a"), json_mut_at(doc->root, "a"));
    assert_ptr_equal(json_mut_need_arr(doc, doc->root, "a.b"), json_mut_at(doc->root, "a.b"));
    assert_written(doc->root, "{\"a\":{\"b\":[1]},\"c\":null}");
    json_mut_put(doc, json_mut_need_obj(doc, doc->root, "c"), "d", yyjson_mut_int(doc, 1));
    assert_true(yyjson_mut_arr_add_int(doc, json_mut_need_arr(doc, doc->root, "e.f"), 2));
    assert_written(doc->root, "{\"a\":{\"b\":[1]},\"c\":{\"d\":1},\"e\":{\"f\":[2]}}");
    json_mut_put(doc, json_mut_need_obj(doc, doc->root, "a.b"), "g", yyjson_mut_int(doc, 3));
    assert_written(doc->root, "{\"a\":{\"b\":{\"g\":3}},\"c\":{\"d\":1},\"e\":{\"f\":[2]}}");
}

static void test_a_value_stays_the_callers_after_it_is_put(void **state)
{
    (void)state;
    scoped_json_mut *doc = parse("{\"a\":1,\"b\":2}");
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    json_mut_put(doc, doc->root, "a", list); /* over an old value */
    assert_true(yyjson_mut_arr_add_int(doc, list, 1));
    yyjson_mut_val *obj = yyjson_mut_obj(doc);
    json_mut_set(doc, doc->root, "c", obj); /* as a new one */
    json_mut_put(doc, obj, "d", yyjson_mut_null(doc));
    assert_written(doc->root, "{\"a\":[1],\"b\":2,\"c\":{\"d\":null}}");
}

static void test_equal(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal;
    } rows[] = {
        {"1", "1", true},
        {"1", "1.0", false},
        {"1.5", "1.5", true},
        {"1", "2", false},
        {"-1", "18446744073709551615", false}, /* the same bits */
        {"null", "false", false},
        {"true", "false", false},
        {"true", "true", true},
        {"\"a\"", "\"a\"", true},
        {"\"\\u0061\"", "\"a\"", true},
        {"\"a\"", "\"b\"", false},
        {"\"a\\u0000b\"", "\"a\\u0000c\"", false},
        {"\"1\"", "1", false},
        {"[]", "{}", false},
        {"[]", "[]", true},
        {"{}", "{}", true},
        {"[1,2]", "[2,1]", false},
        {"[1,2]", "[1,2,3]", false},
        {"{\"a\":1,\"b\":[{\"x\":1,\"y\":2}]}", "{\"b\":[{\"y\":2,\"x\":1}],\"a\":1}", true},
        {"{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}", false},
        {"{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", false},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"c\":1}", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        scoped_json_mut *a = parse(rows[i].a), *b = parse(rows[i].b);
        if (json_mut_equal(a->root, b->root) != rows[i].equal ||
            json_mut_equal(b->root, a->root) != rows[i].equal)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
    }
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    assert_true(json_mut_equal(yyjson_mut_sint(doc, 5), yyjson_mut_uint(doc, 5)));
    assert_true(json_mut_equal(NULL, NULL));
    assert_false(json_mut_equal(NULL, yyjson_mut_null(doc)));
}

/* Comparing values before all keys are known to match would take 2^64 steps here. */
static void test_equal_takes_linear_time_in_depth(void **state)
{
    (void)state;
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *a = yyjson_mut_int(doc, 1), *b = yyjson_mut_int(doc, 1);
    for (int i = 0; i < JSON_DEPTH_MAX; i++) {
        yyjson_mut_val *outer_a = yyjson_mut_obj(doc), *outer_b = yyjson_mut_obj(doc);
        json_mut_put(doc, outer_a, "x", a);
        json_mut_put(doc, outer_a, "y", yyjson_mut_int(doc, i));
        json_mut_put(doc, outer_a, "z", yyjson_mut_int(doc, i));
        json_mut_put(doc, outer_b, "x", b);
        json_mut_put(doc, outer_b, "z", yyjson_mut_int(doc, i));
        json_mut_put(doc, outer_b, "y", yyjson_mut_int(doc, i));
        a = outer_a;
        b = outer_b;
    }
    assert_true(json_mut_equal(a, b));
}

static void test_write(void **state)
{
    (void)state;
    static const char pretty[] = "{\n    \"a\": [\n        1\n    ]\n}";
    scoped_json *doc = NULL;
    assert_int_equal(json_parse(SV("{\"a\":[1]}"), &doc, NULL), 0);
    scoped_json_mut *mut = parse("{\"a\":[1]}");
    scoped_str out = {0}, mut_out = {0};
    json_write_val_pretty(doc->root, &out);
    assert_string_equal(str_text(&out), pretty);
    json_write_pretty(mut->root, &mut_out);
    assert_string_equal(str_text(&mut_out), pretty);
    json_write(mut->root, &mut_out); /* appends */
    assert_string_equal(str_text(&mut_out) + sizeof(pretty) - 1, "{\"a\":[1]}");
}

/* Small texts are written elsewhere first: any length comes out whole, and behind what was there.
 */
static void test_write_of_any_length(void **state)
{
    (void)state;
    for (size_t n = 1; n < 200000; n = n * 3 / 2 + 1) {
        scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
        scoped_str word = {0}, out = {0};
        for (size_t i = 0; i < n; i++)
            str_addc(&word, (char)('a' + i % 26));
        str_add(&out, ">");
        yyjson_mut_val *list = yyjson_mut_arr(doc);
        assert_true(yyjson_mut_arr_add_int(doc, list, 1));
        assert_true(yyjson_mut_arr_add_str(doc, list, word.data));
        json_write(list, &out);
        assert_int_equal(out.len, n + 7);
        assert_memory_equal(out.data, ">[1,\"", 5);
        assert_memory_equal(out.data + 5, word.data, n);
        assert_string_equal(out.data + 5 + n, "\"]");
    }
}

static void test_write_replaces_what_json_cannot_say(void **state)
{
    (void)state;
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    assert_true(yyjson_mut_arr_add_real(doc, list, 1e308 * 10));
    assert_written(list, "[null]");
    assert_true(yyjson_mut_arr_add_str(doc, list, "a\xFF\xE2"));
    assert_written(list, "[null,\"a\\uFFFD\\uFFFD\"]");
}

static void test_quote(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t len;
        const char *quoted;
    } rows[] = {
        {"", 0, "\"\""},
        {NULL, 0, "\"\""},
        {"abc", 2, "\"ab\""},
        {"\"\\\n\x01", 4, "\"\\\"\\\\\\n\\u0001\""},
        {"a\0b", 3, "\"a\\u0000b\""},
        {"\xC3\xA9", 2, "\"\xC3\xA9\""},
        {"\xC3\xA9", 1, "\"\\uFFFD\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        scoped_str out = {0};
        json_quote(rows[i].text, rows[i].len, &out);
        assert_string_equal(str_text(&out), rows[i].quoted);
    }
}

static void test_identical(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool identical;
    } rows[] = {
        {"1", "1", true},
        {"-1", "-1", true},
        {"1", "1.0", false},
        {"0.0", "-0.0", false},
        {"1.5", "1.5", true},
        {"-1", "18446744073709551615", false}, /* the same bits */
        {"null", "false", false},
        {"true", "false", false},
        {"\"\\u0061\"", "\"a\"", true},
        {"\"ab\"", "\"ac\"", false},
        {"\"1\"", "1", false},
        {"\"\"", "[]", false},
        {"[]", "{}", false},
        {"{}", "{}", true},
        {"[1,[2,{}],\"x\"]", "[1,[2,{}],\"x\"]", true},
        {"[1,[2,{}],\"x\"]", "[1,[2,[]],\"x\"]", false},
        {"[1,2]", "[1,2,3]", false},
        {"{\"a\":{\"b\":[]},\"c\":1}", "{\"a\":{\"b\":[]},\"c\":1}", true},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", false}, /* equal, written differently */
        {"{\"a\":1}", "{\"b\":1}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        scoped_json_mut *a = parse(rows[i].a);
        scoped_json *b = NULL;
        assert_int_equal(json_parse(sv_of(rows[i].b), &b, NULL), 0);
        if (json_mut_identical(a->root, b->root) != rows[i].identical)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
    }
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    scoped_json *five = NULL;
    assert_int_equal(json_parse(SV("5"), &five, NULL), 0);
    assert_true(json_mut_identical(yyjson_mut_sint(doc, 5), five->root));
    assert_true(json_mut_identical(NULL, NULL));
    assert_false(json_mut_identical(NULL, five->root));
    assert_false(json_mut_identical(yyjson_mut_null(doc), NULL));
}

static void test_borrow(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,\"x\",[],{}],\"b\":{\"c\":null},\"d\":\"y\"}";
    scoped_json *view = NULL;
    assert_int_equal(json_parse(sv_of(text), &view, NULL), 0);
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *copy = json_mut_borrow(doc, view->root);
    assert_written(copy, text);
    json_mut_set(doc, copy, "b.e", yyjson_mut_int(doc, 2));
    assert_true(yyjson_mut_arr_add_int(doc, yyjson_mut_obj_get(copy, "a"), 3));
    json_mut_put(doc, copy, "d", NULL);
    assert_written(copy, "{\"a\":[1,\"x\",[],{},3],\"b\":{\"c\":null,\"e\":2}}");
    assert_null(json_mut_borrow(doc, NULL));
}

/* Keys that the quick look at an object cannot tell apart, none of them there twice, then one. */
static void test_keys_of_one_look(void **state)
{
    (void)state;
    scoped_json *doc = NULL;
    assert_int_equal(json_parse(SV("{\"aXbXc\":1,\"aYbYc\":1,\"a\":{\"aXbXc\":1}}"), &doc, NULL),
                     0);
    struct err err = {0};
    yyjson_mut_doc *mut = NULL;
    assert_int_equal(json_parse_mut(SV("{\"aXbXc\":1,\n\"aYbYc\":1, \"aXbXc\":1}"), &mut, &err),
                     -EINVAL);
    assert_string_equal(err.text, "line 2, column 12: key 'aXbXc' is there twice");
    assert_int_equal(json_parse_mut(SV("{\"\":1,\"\":1}"), &mut, &err), -EINVAL);
}

static void test_find_in_a_list(void **state)
{
    (void)state;
    scoped_json *doc = NULL;
    struct sv text = SV("[1,{},{\"name\":3},{\"name\":\"a\",\"n\":1},{\"name\":\"a\",\"n\":2},"
                        "{\"metadata\":{\"name\":\"b\"}}]");
    assert_int_equal(json_parse(text, &doc, NULL), 0);
    yyjson_val *list = yyjson_doc_get_root(doc);
    assert_int_equal(json_int_at(json_find(list, "name", "a"), "n", 0), 1);
    assert_non_null(json_find(list, "metadata.name", "b"));
    assert_null(json_find(list, "name", "b"));
    assert_null(json_find(NULL, "name", "a"));
    assert_null(json_find(json_find(list, "name", "a"), "name", "a")); /* an object is no list */
    scoped_json_mut *mut = yyjson_doc_mut_copy(doc, NULL);
    yyjson_mut_val *found = json_mut_find(yyjson_mut_doc_get_root(mut), "name", "a");
    assert_int_equal(json_mut_int_at(found, "n", 0), 1);
    assert_null(json_mut_find(yyjson_mut_doc_get_root(mut), "name", "b"));
    assert_null(json_mut_find(found, "name", "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_the_last_one_counts),
        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_depth_of_text),
        cmocka_unit_test(test_depth_of_document),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_find_in_a_list),
        cmocka_unit_test(test_set_and_put),
        cmocka_unit_test(test_need),
        cmocka_unit_test(test_a_value_stays_the_callers_after_it_is_put),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_equal_takes_linear_time_in_depth),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_write_of_any_length),
        cmocka_unit_test(test_write_replaces_what_json_cannot_say),
        cmocka_unit_test(test_quote),
        cmocka_unit_test(test_identical),
        cmocka_unit_test(test_borrow),
        cmocka_unit_test(test_keys_of_one_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
