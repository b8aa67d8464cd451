// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "model/selector.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static yyjson_doc *parse(const char *text)
{
    yyjson_doc *doc = NULL;
    if (json_parse(sv_of(text), &doc, NULL) < 0)
        fail_msg("'%s' is not JSON", text);
    return doc;
}

struct match_row {
    const char *selector, *subject;
    bool matches;
};

static const char LABELS[] =
    "{\"app\":\"web\",\"tier\":\"front\",\"n\":\"5\",\"e\":\"\",\"in\":\"in\",\"x.io/y\":\"z\"}";

static void test_labels(void **state)
{
    static const struct match_row ROWS[] = {
        {"", NULL, true},
        {"   ", NULL, true},
        {"app=web", NULL, true},
        {"app==web", NULL, true},
        {" app = web ", NULL, true},
        {"app=db", NULL, false},
        {"app!=db", NULL, true},
        {"app!=web", NULL, false},
        {"nope!=web", NULL, true},
        {"nope=web", NULL, false},
        {"app", NULL, true},
        {"nope", NULL, false},
        {"!app", NULL, false},
        {"!nope", NULL, true},
        {"! nope", NULL, true},
        {"app in (web, db)", NULL, true},
        {"app in (db)", NULL, false},
        {"app notin (db)", NULL, true},
        {"app notin(web)", NULL, false},
        {"nope in (a)", NULL, false},
        {"nope notin (a)", NULL, true},
        {"e=", NULL, true},
        {"app=", NULL, false},
        {"e=,app=web", NULL, true},
        {"e in ()", NULL, true},
        {"e in (a,)", NULL, true},
        {"app in (,web)", NULL, true},
        {"n>4", NULL, true},
        {"n > 5", NULL, false},
        {"n<6", NULL, true},
        {"n<5", NULL, false},
        {"app>1", NULL, false},
        {"nope<1", NULL, false},
        {"in in (in)", NULL, true},
        {"in notin (notin)", NULL, true},
        {"in=in", NULL, true},
        {"x.io/y=z", NULL, true},
        {"app=web,tier=front,!zone", NULL, true},
        {"app=web,tier=back", NULL, false},
        {"app=web , tier in (front)", NULL, true},
    };
    (void)state;
    scoped_json *labels = parse(LABELS);
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct label_selector *selector = NULL;
        struct err err = {0};
        if (label_selector_parse(sv_of(ROWS[i].selector), &selector, &err) < 0)
            fail_msg("'%s': %s", ROWS[i].selector, err.text);
        if (label_selector_matches(selector, yyjson_doc_get_root(labels)) != ROWS[i].matches)
            fail_msg("'%s' is wrong", ROWS[i].selector);
        label_selector_free(selector);
    }
    struct label_selector *selector = NULL;
    assert_int_equal(label_selector_parse(SV("!a,b!=c"), &selector, NULL), 0);
    assert_true(label_selector_matches(selector, NULL));
    label_selector_free(selector);
}

#define X64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static void test_labels_refused(void **state)
{
    static const struct {
        const char *selector, *error;
    } ROWS[] = {
        {",", "a key was expected, not ','"},
        {"a,", "it ends where a key"},
        {"a,,b", "at character 3: a key was expected"},
        {"=a", "a key was expected, not '='"},
        {"!", "it ends where a key"},
        {"!a=b", "',' was expected, not '='"},
        {"!!a", "a key was expected, not '!'"},
        {"a b", "an operator (= == != in notin > <) was expected, not 'b'"},
        {"a=b c", "at character 5: ',' was expected, not 'c'"},
        {"a=b=c", "',' was expected, not '='"},
        {"a=(b)", "a value was expected, not '('"},
        {"a in b", "'(' was expected, not 'b'"},
        {"a in (b", "it ends where ',' or ')'"},
        {"a in (b c)", "',' or ')' was expected, not 'c'"},
        {"a in", "it ends where '('"},
        {"a(b)", "an operator"},
        {"a>x", "must be an integer"},
        {"a>", "must be an integer"},
        {"a>9223372036854775808", "must be an integer"},
        {"-a=b", "key '-a'"},
        {"a/b/c=d", "key 'a/b/c'"},
        {X64 "=a", "no more than 63"},
        {"a=" X64, "no more than 63"},
        {"a=b/c", "value 'b/c' of key 'a'"},
        {"a in (b,_c)", "value '_c' of key 'a'"},
        {"a\x01=b", "key"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct label_selector *selector = NULL;
        struct err err = {0};
        int r = label_selector_parse(sv_of(ROWS[i].selector), &selector, &err);
        if (r != -EINVAL || selector || !strstr(err.text, ROWS[i].error))
            fail_msg("'%s': %d '%s'", ROWS[i].selector, r, err.text);
    }
}

static void test_label_objects(void **state)
{
    static const struct match_row ROWS[] = {
        {"{}", NULL, true},
        {"{\"matchLabels\":null}", NULL, true},
        {"{\"matchLabels\":{\"app\":\"web\"}}", NULL, true},
        {"{\"matchLabels\":{\"app\":\"db\"}}", NULL, false},
        {"{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\",\"values\":[\"web\"]}]}",
         NULL, true},
        {"{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"NotIn\",\"values\":[\"web\"]}]}",
         NULL, false},
        {"{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Exists\"}]}", NULL, true},
        {"{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"DoesNotExist\"}]}", NULL, false},
        {"{\"matchLabels\":{\"app\":\"web\"},\"matchExpressions\":[{\"key\":\"tier\","
         "\"operator\":\"DoesNotExist\",\"values\":[]}]}",
         NULL, false},
    };
    static const char *const BAD[] = {
        "{\"matchLabels\":[]}",
        "{\"matchLabels\":{\"a\":1}}",
        "{\"matchLabels\":{\"-a\":\"b\"}}",
        "{\"matchLabels\":{\"a\":\"/\"}}",
        "{\"matchExpressions\":{}}",
        "{\"matchExpressions\":[1]}",
        "{\"matchExpressions\":[{\"key\":\"a\"}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"1\"]}]}",
        "{\"matchExpressions\":[{\"operator\":\"Exists\"}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[1]}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\",\"values\":[\"x\"]}]}",
    };
    (void)state;
    scoped_json *labels = parse(LABELS);
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json *object = parse(ROWS[i].selector);
        struct label_selector *selector = NULL;
        struct err err = {0};
        if (label_selector_of(yyjson_doc_get_root(object), &selector, &err) < 0)
            fail_msg("'%s': %s", ROWS[i].selector, err.text);
        if (label_selector_matches(selector, yyjson_doc_get_root(labels)) != ROWS[i].matches)
            fail_msg("'%s' is wrong", ROWS[i].selector);
        label_selector_free(selector);
    }
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        scoped_json *object = parse(BAD[i]);
        struct label_selector *selector = NULL;
        struct err err = {0};
        int r = label_selector_of(yyjson_doc_get_root(object), &selector, &err);
        if (r != -EINVAL || !str_starts(err.text, "label selector: "))
            fail_msg("'%s': %d '%s'", BAD[i], r, err.text);
    }
}

static const char *const ALLOWED[] = {
    "spec.nodeName", "spec.n", "spec.b", "spec.o", "alias=spec.n", "off=spec.off|false", NULL};

static void test_fields(void **state)
{
    static const struct match_row ROWS[] = {
        {"", NULL, true},
        {",", NULL, true},
        {"metadata.name=a", NULL, true},
        {"metadata.name==a", NULL, true},
        {"metadata.name!=a", NULL, false},
        {"metadata.name=b", NULL, false},
        {"metadata.namespace=ns,metadata.name=a", NULL, true},
        {"metadata.namespace=ns,metadata.name=b", NULL, false},
        {"spec.nodeName=", NULL, true},
        {"spec.nodeName!=", NULL, false},
        {"spec.nodeName=x", NULL, false},
        {"spec.n=5", NULL, true},
        {"spec.n!=6", NULL, true},
        {"spec.b=true", NULL, true},
        {"alias=5", NULL, true}, /* the label is not the path */
        {"alias=6", NULL, false},
        {"off=false", NULL, true}, /* what an object without it has */
        {"off!=false", NULL, false},
        {"off=", NULL, false},
        {"spec.o={}", NULL, false},
        {"spec.o=", NULL, false},
        {"metadata.name!=a\\,b", NULL, true},
        {"metadata.name!=a\\=b\\\\", NULL, true},
    };
    (void)state;
    scoped_json *root = parse("{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"},"
                              "\"spec\":{\"n\":5,\"b\":true,\"o\":{}}}");
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct field_selector *selector = NULL;
        struct err err = {0};
        if (field_selector_parse(sv_of(ROWS[i].selector), ALLOWED, &selector, &err) < 0)
            fail_msg("'%s': %s", ROWS[i].selector, err.text);
        if (field_selector_matches(selector, yyjson_doc_get_root(root)) != ROWS[i].matches)
            fail_msg("'%s' is wrong", ROWS[i].selector);
        field_selector_free(selector);
    }
}

static void test_field_values(void **state)
{
    (void)state;
    struct field_selector *selector = NULL;
    assert_int_equal(
        field_selector_parse(SV("spec.n!=1,metadata.name=a\\,b\\=c\\\\"), ALLOWED, &selector, NULL),
        0);
    assert_string_equal(field_selector_exact(selector, "metadata.name"), "a,b=c\\");
    assert_null(field_selector_exact(selector, "spec.n"));
    assert_null(field_selector_exact(selector, "metadata.namespace"));
    field_selector_free(selector);
    assert_int_equal(field_selector_parse(SV("metadata.name=a"), NULL, &selector, NULL), 0);
    field_selector_free(selector);
}

static void test_fields_refused(void **state)
{
    static const struct {
        const char *selector, *error, *hint;
    } ROWS[] = {
        {"spec.foo=1", "field label not supported: spec.foo",
         "supported: metadata.name, metadata.namespace, spec.nodeName, spec.n"},
        {"metadata.name", "cannot understand 'metadata.name'", "metadata.name=a"},
        {"=a", "cannot understand '=a'", ""},
        {"!=a", "cannot understand '!=a'", ""},
        {"metadata.name=a=b", "a bare '='", "\\="},
        {"metadata.name=a\\b", "a \\ stands before", ""},
        {"metadata.name=a\\", "a \\ stands before", ""},
        {" metadata.name=a", "field label not supported:  metadata.name", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct field_selector *selector = NULL;
        struct err err = {0};
        int r = field_selector_parse(sv_of(ROWS[i].selector), ALLOWED, &selector, &err);
        if (r != -EINVAL || !strstr(err.text, ROWS[i].error) || !strstr(err.hint, ROWS[i].hint))
            fail_msg("'%s': %d '%s' (%s)", ROWS[i].selector, r, err.text, err.hint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),        cmocka_unit_test(test_labels_refused),
        cmocka_unit_test(test_label_objects), cmocka_unit_test(test_fields),
        cmocka_unit_test(test_field_values),  cmocka_unit_test(test_fields_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
