// SPDX-License-Identifier: Apache-2.0
#include "model/manifest.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* What is said about the only document of `text`. */
static char *check(const char *text, size_t *ret_count, const struct kind **ret_kind)
{
    struct manifest manifest;
    struct err err = {0};
    if (manifest_parse("f.yaml", sv_of(text), &manifest, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(manifest.docs.len, 1);
    scoped_str before = {0}, after = {0};
    yyjson_mut_val *root = yyjson_mut_doc_get_root(manifest.docs.items[0].doc);
    json_write(root, &before);
    struct str out = {0};
    *ret_count = manifest_check(&manifest, 0, &out, ret_kind);
    json_write(root, &after);
    assert_string_equal(before.data, after.data); /* defaults stay out of what was written */
    manifest_done(&manifest);
    return str_take(&out);
}

struct row {
    const char *text;
    size_t count;
    const char *lines[4]; /* each must be there */
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t count = 0;
        const struct kind *kind = NULL;
        scoped_free char *said = check(rows[i].text, &count, &kind);
        if (count != rows[i].count)
            fail_msg("row %zu: %zu findings:\n%s", i, count, said);
        for (size_t j = 0; j < ARRAY_LEN(rows[i].lines) && rows[i].lines[j]; j++)
            if (!strstr(said, rows[i].lines[j]))
                fail_msg("row %zu: '%s' is not in\n%s", i, rows[i].lines[j], said);
    }
}

#define POD "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n"

static void test_kinds(void **state)
{
    static const struct row ROWS[] = {
        {POD "spec:\n  containers:\n  - {name: c, image: i}\n", 0, {NULL}},
        {"apiVersion: batch/v2\nkind: Job\nmetadata: {name: a}\n",
         1,
         {"f.yaml:1:13: apiVersion: Invalid value: \"batch/v2\"",
          "\n    hint: write apiVersion: batch/v1\n"}},
        {"apiVersion: v1\nkind: Podd\nmetadata: {name: a}\n",
         1,
         {"f.yaml:2:7: kind: Unsupported value: \"Podd\"", "did you mean Pod (apiVersion: v1)?"}},
        {"apiVersion: v1\nkind: Xyzzyplugh\nmetadata: {name: a}\n",
         1,
         {"f.yaml:2:7: kind: Unsupported value: \"Xyzzyplugh\""}},
        {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
         1,
         {"f.yaml:2:7: kind: Unsupported value: \"Deployment\": there is no such kind in apps/v1\n"
          "    hint: apps/v1 has StatefulSet, ControllerRevision\n"}},
        {"apiVersion: apps/v2\nkind: Deployment\nmetadata: {name: a}\n",
         1,
         {"there is no such kind in apps/v2\n"}},
        {"kind: Job\nmetadata: {generateName: a-}\n",
         1,
         {"f.yaml:1:1: apiVersion: Required value\n    hint: a Job is of apiVersion: batch/v1\n"}},
        {"spec: {}\n",
         3,
         {"f.yaml:1:1: apiVersion: Required value", "f.yaml:1:1: kind: Required value",
          "f.yaml:1:1: metadata.name: Required value"}},
        {"apiVersion: 1\nkind: Pod\nmetadata: {name: a}\n",
         1,
         {"f.yaml:1:1: apiVersion: Invalid value: must be a string"}},
        {"apiVersion: v1\nkind: ''\nmetadata: {name: a}\n", 1, {"kind: Required value"}},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_fields(void **state)
{
    static const struct row ROWS[] = {
        {POD "  lables: {a: b}\nspec:\n  containers:\n  - {name: c, imagee: i, image: i}\n",
         2,
         {"f.yaml:5:3: metadata.lables: ", "f.yaml:8:15: spec.containers[0].imagee: ",
          "\n    hint: "}},
        {POD "spec:\n  restartPolicy: Maybe\n  containers:\n  - name: c\n    image: i\n    env:\n"
             "    - name: A\n      value: 1\n",
         2,
         {"f.yaml:6:18: spec.restartPolicy: Unsupported value: \"Maybe\"",
          "f.yaml:12:14: spec.containers[0].env[0].value: "}},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    a b: c\n",
         1,
         {"f.yaml:6:10: metadata.labels: Invalid value: \"a b\": "}},
        /* said once */
        {POD "spec:\n  containers:\n  - {name: c, image: 12}\n  - {name: d, image: []}\n"
             "  - {name: e, command: x}\n",
         3,
         {"f.yaml:7:22: spec.containers[0].image: Invalid value: \"integer\": must be a string",
          "f.yaml:8:22: spec.containers[1].image: ", "f.yaml:9:24: spec.containers[2].command: "}},
        /* as it was written, not as what it was taken for */
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
         "data: {a: 0777, b: off, c: 1e3, d: &x 3.10, e: *x}\n",
         5,
         {"f.yaml:4:11: data[a]: Invalid value: \"integer\": must be a string\n    hint: write it "
          "in "
          "quotes: \"0777\"\n",
          "quotes: \"off\"\n", "quotes: \"1e3\"\n", "quotes: \"3.10\"\n"}},
        {"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":"
         "\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":{\"a\":1.0,\"b\":true}}]}",
         2,
         {"quotes: \"1.0\"\n", "quotes: \"true\"\n"}},
        /* the place of what is missing is that of its nearest parent */
        {POD "spec:\n  containers:\n  - name: c\n    image: i\n  - image: j\n",
         1,
         {"f.yaml:9:5: spec.containers[1].name: Required value"}},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: Not_Good\n",
         1,
         {"f.yaml:4:9: metadata.name: Invalid value: \"Not_Good\": "}},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n",
         1,
         {"f.yaml:3:11: metadata.name: Required value"}},
        {"apiVersion: v1\nkind: ConfigMap\n", 1, {"f.yaml:1:1: metadata"}},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_order(void **state)
{
    (void)state;
    size_t count = 0;
    const struct kind *kind = NULL;
    scoped_free char *said =
        check(POD "spec:\n  restartPolicy: Maybe\n  containers:\n  - name: c\n    image: i\n"
                  "    typo: 1\n",
              &count, &kind);
    assert_ptr_equal(kind, &KIND_POD);
    assert_int_equal(count, 2);
    assert_true(str_starts(said, "f.yaml:6:18: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
