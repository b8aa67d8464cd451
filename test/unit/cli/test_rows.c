// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/rows.h"
#include "clitest.h"
#include <errno.h>

#define COLUMNS                                                                                    \
    "\"columnDefinitions\":[{\"name\":\"Name\",\"format\":\"name\"},{\"name\":\"Ready\"},"         \
    "{\"name\":\"Restarts\",\"type\":\"integer\"},{\"name\":\"Nominated Node\",\"priority\":1}]"
#define ROW(ns, name, labels, cells)                                                               \
    "{\"cells\":[\"" name "\"," cells "],\"object\":{\"metadata\":{\"name\":\"" name               \
    "\",\"namespace\":\"" ns "\"" labels "}}}"
#define TABLE(rows) "{\"kind\":\"Table\"," COLUMNS ",\"rows\":[" rows "]}"

static const char TWO[] =
    TABLE(ROW("a", "web-0", ",\"labels\":{\"z\":\"1\",\"app\":\"w\"}",
              "\"1/1\",0,\"n1\"") "," ROW("team", "x", "", "\"0/1\",12,null"));

static const struct {
    struct rows rows;
    const char *table, *want;
} CASES[] = {
    {{.headers = true, .prefix = ""},
     TWO,
     "NAME    READY   RESTARTS\n"
     "web-0   1/1     0\n"
     "x       0/1     12\n"},
    {{.headers = true, .wide = true, .prefix = ""},
     TWO,
     "NAME    READY   RESTARTS   NOMINATED NODE\n"
     "web-0   1/1     0          n1\n"
     "x       0/1     12         <none>\n"},
    {{.headers = true, .show_namespace = true, .prefix = "pod/"},
     TWO,
     "NAMESPACE   NAME        READY   RESTARTS\n"
     "a           pod/web-0   1/1     0\n"
     "team        pod/x       0/1     12\n"},
    {{.headers = false, .show_labels = true, .prefix = ""},
     TWO,
     "web-0   1/1   0     app=w,z=1\n"
     "x       0/1   12    <none>\n"},
    {{.headers = true, .bold = true, .prefix = ""},
     TABLE(ROW("a", "y", "", "\"1\",2,\"\"")),
     "\033[1mNAME   READY   RESTARTS\033[0m\n"
     "y      1       2\n"},
    {{.headers = true, .prefix = ""}, TABLE(""), ""},
    /* A cell cannot drive the terminal or break the table, and counts characters, not bytes. */
    {{.headers = false, .prefix = ""},
     TABLE(ROW("a", "\\u001b[2J\\u009b", "",
               "\"one\\ntwo\",1,\"\"") "," ROW("a", "\xc3\xa4\xc3\xb6", "", "\"b\",2,\"\"")),
     "^[[2J\\x9b   one...   1\n"
     "\xc3\xa4\xc3\xb6          b        2\n"},
};

static void test_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct err err = {0};
        struct rows rows = CASES[i].rows;
        scoped_json *doc = NULL;
        scoped_str out = {0};
        if (json_parse(sv_of(CASES[i].table), &doc, &err) < 0)
            fail_msg("case %zu: %s", i, err.text);
        assert_int_equal(rows_add_table(&rows, yyjson_doc_get_root(doc)), 0);
        rows_print(&rows, &out);
        if (!str_eq(str_text(&out), CASES[i].want))
            fail_msg("case %zu: got\n%swant\n%s", i, str_text(&out), CASES[i].want);
        rows_done(&rows);
    }
}

static void add(struct rows *rows, const char *json, struct str *out)
{
    scoped_json *doc = NULL;
    assert_int_equal(json_parse(sv_of(json), &doc, NULL), 0);
    assert_int_equal(rows_add_table(rows, yyjson_doc_get_root(doc)), 0);
    rows_print(rows, out);
}

/* The tables of a watch: one header, columns that stay where they were, definitions only once. */
static void test_watch(void **state)
{
    (void)state;
    struct rows rows = {.headers = true, .prefix = ""};
    scoped_str out = {0};
    add(&rows, TABLE(""), &out);
    assert_string_equal(str_text(&out), "");
    add(&rows, TABLE(ROW("a", "web-0", "", "\"1/1\",0,\"\"")), &out);
    add(&rows, "{\"kind\":\"Table\",\"rows\":[" ROW("a", "b", "", "\"0/1\",1,\"\"") "]}", &out);
    assert_string_equal(str_text(&out), "NAME    READY   RESTARTS\n"
                                        "web-0   1/1     0\n"
                                        "b       0/1     1\n");
    rows_done(&rows);
}

static void test_refuses_others(void **state)
{
    (void)state;
    static const char *const BAD[] = {"{\"kind\":\"PodList\"}", "{\"kind\":\"Table\"}", "[]",
                                      "{\"kind\":\"Table\",\"columnDefinitions\":[]}"};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        struct rows rows = {.prefix = ""};
        scoped_json *doc = NULL;
        assert_int_equal(json_parse(sv_of(BAD[i]), &doc, NULL), 0);
        assert_int_equal(rows_add_table(&rows, yyjson_doc_get_root(doc)), -EINVAL);
        rows_done(&rows);
    }
}

/* A row with too few cells, or none, is filled up and not read beyond. */
static void test_short_rows(void **state)
{
    (void)state;
    struct rows rows = {.headers = false, .prefix = "", .show_namespace = true};
    scoped_str out = {0};
    add(&rows, TABLE("{\"cells\":[\"a\"]},{}"), &out);
    assert_string_equal(str_text(&out),
                        "      a        <none>   <none>\n      <none>   <none>   <none>\n");
    rows_done(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_refuses_others),
        cmocka_unit_test(test_short_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
