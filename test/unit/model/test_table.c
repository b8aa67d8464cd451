// SPDX-License-Identifier: Apache-2.0
#include "model/kind.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void ready_cell(yyjson_val *root, time_ms now, struct str *out)
{
    str_addf(out, "\"%lld/%lld\"", (long long)json_int_at(root, "status.ready", 0), (long long)now);
}

static const struct column COLUMNS[] = {
    {"Name", "string", "name", "The \"name\".", 0, "metadata.name", NULL},
    {"Ready", "string", "", "How many.", 0, NULL, ready_cell},
    {"Restarts", "integer", "", "How often.", 0, "status.restarts", NULL},
    {"Age", "date", "", "How old.", 0, "metadata.creationTimestamp", NULL},
    {"Node", "string", "", NULL, 1, "spec.nodeName", NULL},
    {0},
};
static const struct kind KIND = {.name = "Thing", .columns = COLUMNS};

static void test_cells(void **state)
{
    (void)state;
    static const struct {
        const char *object, *want;
    } ROWS[] = {
        {"{}", "[\"<none>\",\"0/90000\",0,\"<unknown>\",\"<none>\"]"},
        {"{\"metadata\":{\"name\":\"a\\\"b\",\"creationTimestamp\":\"1970-01-01T00:00:30Z\"},"
         "\"status\":{\"ready\":2,\"restarts\":3},\"spec\":{\"nodeName\":\"n1\"}}",
         "[\"a\\\"b\",\"2/90000\",3,\"60s\",\"n1\"]"},
        {"{\"metadata\":{\"name\":\"\",\"creationTimestamp\":\"x\"},\"status\":{\"restarts\":"
         "\"3\"},\"spec\":{\"nodeName\":null}}",
         "[\"<none>\",\"0/90000\",0,\"<unknown>\",\"<none>\"]"},
        {"{\"metadata\":{\"name\":true,\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},"
         "\"spec\":{\"nodeName\":7}}",
         "[\"true\",\"0/90000\",0,\"0s\",\"7\"]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json *doc = NULL;
        assert_int_equal(json_parse(sv_of(ROWS[i].object), &doc, NULL), 0);
        scoped_str got = {0};
        table_cells(&KIND, yyjson_doc_get_root(doc), 90000, &got);
        assert_string_equal(str_text(&got), ROWS[i].want);
    }
}

static void test_columns(void **state)
{
    (void)state;
    scoped_str got = {0};
    table_columns(&KIND, &got);
    assert_string_equal(
        str_text(&got),
        "[{\"name\":\"Name\",\"type\":\"string\",\"format\":\"name\",\"description\":"
        "\"The \\\"name\\\".\",\"priority\":0},"
        "{\"name\":\"Ready\",\"type\":\"string\",\"format\":\"\",\"description\":\"How many.\","
        "\"priority\":0},"
        "{\"name\":\"Restarts\",\"type\":\"integer\",\"format\":\"\",\"description\":"
        "\"How often.\",\"priority\":0},"
        "{\"name\":\"Age\",\"type\":\"string\",\"format\":\"\",\"description\":\"How old.\","
        "\"priority\":0},"
        "{\"name\":\"Node\",\"type\":\"string\",\"format\":\"\",\"description\":\"\","
        "\"priority\":1}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
