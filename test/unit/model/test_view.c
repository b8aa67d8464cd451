// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"
#include "model/schema.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct inner {
    int64_t count;
};
struct view {
    const char *name, *wait, *data;
    int64_t small, big;
    bool on;
    double ratio;
    time_ms at, micro;
    quantity cpu;
    struct inner inner;
    yyjson_val *any, *target, *list, *map;
};

static const struct field INNER_FIELDS[] = {
    {"count", F_INT64, ONE, .view = VIEW(struct inner, count)},
    {0},
};
static const struct type INNER = {"Inner", "Inner.", INNER_FIELDS};
static const struct field FIELDS[] = {
    {"name", F_STRING, ONE, .view = VIEW(struct view, name)},
    {"unseen", F_STRING, ONE},
    {"wait", F_DURATION, ONE, .view = VIEW(struct view, wait)},
    {"data", F_BYTES, ONE, .view = VIEW(struct view, data)},
    {"small", F_INT32, ONE, .view = VIEW(struct view, small)},
    {"big", F_INT64, ONE, .view = VIEW(struct view, big)},
    {"on", F_BOOL, ONE, .view = VIEW(struct view, on)},
    {"ratio", F_NUMBER, ONE, .view = VIEW(struct view, ratio)},
    {"at", F_TIME, ONE, .view = VIEW(struct view, at)},
    {"micro", F_MICRO_TIME, ONE, .view = VIEW(struct view, micro)},
    {"cpu", F_QUANTITY, ONE, .view = VIEW(struct view, cpu)},
    {"inner", F_OBJECT, ONE, .of = &INNER, .view = VIEW(struct view, inner)},
    {"any", F_ANY, ONE, .view = VIEW(struct view, any)},
    {"target", F_INT_OR_STRING, ONE, .view = VIEW(struct view, target)},
    {"list", F_OBJECT, LIST, .of = &INNER, .view = VIEW(struct view, list)},
    {"map", F_STRING, MAP, .view = VIEW(struct view, map)},
    {0},
};
static const struct type TYPE = {"Type", "Type.", FIELDS};

static yyjson_doc *parse(const char *text)
{
    struct err err = {0};
    yyjson_doc *doc = NULL;
    if (json_parse(sv_of(text), &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

static void test_all(void **state)
{
    (void)state;
    scoped_json *doc = parse("{\"name\":\"n\",\"unseen\":\"u\",\"wait\":\"5m\",\"data\":\"aGk=\","
                             "\"small\":-3,\"big\":9223372036854775807,\"on\":true,\"ratio\":0.5,"
                             "\"at\":\"1970-01-01T00:00:02Z\",\"micro\":"
                             "\"1970-01-01T00:00:02.500000Z\",\"cpu\":\"1500m\",\"inner\":{"
                             "\"count\":9},\"any\":[1],\"target\":\"50%\",\"list\":[{}],"
                             "\"map\":{\"a\":\"b\"}}");
    struct view view = {0};
    view_decode(&TYPE, yyjson_doc_get_root(doc), &view);
    assert_string_equal(view.name, "n");
    assert_string_equal(view.wait, "5m");
    assert_string_equal(view.data, "aGk=");
    assert_int_equal(view.small, -3);
    assert_true(view.big == INT64_MAX);
    assert_true(view.on);
    assert_true(view.ratio > 0.49 && view.ratio < 0.51);
    assert_int_equal(view.at, 2000);
    assert_int_equal(view.micro, 2500);
    assert_int_equal(quantity_milli(view.cpu), 1500);
    assert_int_equal(view.inner.count, 9);
    assert_int_equal(yyjson_arr_size(view.any), 1);
    assert_string_equal(yyjson_get_str(view.target), "50%");
    assert_int_equal(yyjson_arr_size(view.list), 1);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(view.map, "a")), "b");
}

static void test_numbers_as_quantities(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t milli;
    } ROWS[] = {{"{\"cpu\":2}", 2000}, {"{\"cpu\":0.25}", 250}, {"{\"cpu\":\"x\"}", 0}};
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json *doc = parse(ROWS[i].text);
        struct view view = {0};
        view_decode(&TYPE, yyjson_doc_get_root(doc), &view);
        assert_int_equal(quantity_milli(view.cpu), ROWS[i].milli);
    }
}

static void test_absent_or_wrong_stays_zero(void **state)
{
    (void)state;
    static const char *const ROWS[] = {
        "{}",
        "[]",
        "{\"name\":null,\"inner\":null,\"any\":null,\"list\":null,\"map\":null}",
        "{\"name\":1,\"wait\":2,\"data\":[],\"small\":\"3\",\"big\":9223372036854775808,\"on\":"
        "\"true\",\"ratio\":\"x\",\"at\":\"never\",\"micro\":4,\"cpu\":[],\"inner\":[],"
        "\"list\":{},\"map\":[]}",
    };
    static const struct view zero;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json *doc = parse(ROWS[i]);
        struct view view;
        memset(&view, 0, sizeof(view));
        view_decode(&TYPE, yyjson_doc_get_root(doc), &view);
        assert_memory_equal(&view, &zero, sizeof(view));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_numbers_as_quantities),
        cmocka_unit_test(test_absent_or_wrong_stays_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
