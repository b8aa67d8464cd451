// SPDX-License-Identifier: Apache-2.0
#include "model/patch.h"
#include "patch_types.h"
#include <errno.h>

struct row {
    const char *current, *last, *desired, *result;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scoped_json_mut *doc = flow_mut(rows[i].current);
        scoped_json *last = rows[i].last ? flow(rows[i].last) : NULL;
        scoped_json *desired = flow(rows[i].desired);
        struct err err = {0};
        if (patch_apply(&POD_TYPE, doc, last ? yyjson_doc_get_root(last) : NULL,
                        yyjson_doc_get_root(desired), &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        check_result(i, doc, rows[i].result);
    }
}

static void test_members(void **state)
{
    static const struct row ROWS[] = {
        {"{a: 1}", NULL, "{b: 2}", "{a: 1, b: 2}"},
        {"{a: 1, b: 2}", "{a: 1}", "{b: 2}", "{b: 2}"},
        {"{a: 1, b: 2}", "{c: 1}", "{b: 3}", "{a: 1, b: 3}"},
        {"{a: {x: 1, server: 2}}", "{a: {x: 1}}", "{a: {y: 3}}", "{a: {server: 2, y: 3}}"},
        {"{a: {x: 1, server: 2}}", "{a: {x: 1}}", "{b: 1}", "{b: 1}"},
        {"{a: 1}", NULL, "{a: null, b: {c: null, d: 1}}", "{b: {d: 1}}"},
        {"{a: [1, 2]}", "{a: [1]}", "{a: [3]}", "{a: [3]}"},
        {"{a: 1}", "{a: {b: 1}}", "{a: {c: 1}}", "{a: {c: 1}}"},
        {"{metadata: {labels: {a: '1', mine: x}}}", "{metadata: {labels: {a: '1'}}}",
         "{metadata: {labels: {b: '2'}}}", "{metadata: {labels: {mine: x, b: '2'}}}"},
        {"{spec: {strategy: {type: R, rolling: {max: 1}}}}", NULL, "{spec: {strategy: {type: R}}}",
         "{spec: {strategy: {type: R, rolling: {max: 1}}}}"},
        {"{spec: {strategy: {type: R, rolling: {max: 1}}}}", NULL, "{spec: {strategy: {type: C}}}",
         "{spec: {strategy: {type: C}}}"},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

#define CS(list) "{spec: {containers: [" list "]}}"

static void test_lists(void **state)
{
    static const struct row ROWS[] = {
        {CS("{name: a, image: x, pulled: 1}"), CS("{name: a, image: x}"), CS("{name: a, image: y}"),
         CS("{name: a, image: y, pulled: 1}")},
        {CS("{name: a}, {name: b}"), CS("{name: a}, {name: b}"), CS("{name: b}"), CS("{name: b}")},
        {CS("{name: a}, {name: b}, {name: s}"), CS("{name: a}, {name: b}"), CS(""),
         CS("{name: s}")},
        {CS("{name: side}, {name: a}"), CS("{name: a}"), CS("{name: a}, {name: n}"),
         CS("{name: side}, {name: a}, {name: n}")},
        {CS("{name: a}, {name: b}"), NULL, CS("{name: b}, {name: a}"), CS("{name: b}, {name: a}")},
        {CS("{name: a, args: [x], image: i}"), CS("{name: a, args: [x], image: i}"),
         CS("{name: a, image: i}"), CS("{name: a, image: i}")},
        {CS("{name: a, env: [{name: E, value: x}, {name: S}]}"),
         CS("{name: a, env: [{name: E, value: x}]}"), CS("{name: a, env: [{name: F}]}"),
         CS("{name: a, env: [{name: F}, {name: S}]}")},
        {CS("{name: a}"), CS("{name: a}"), "{spec: {replicas: 1}}", "{spec: {replicas: 1}}"},
        {"{spec: {}}", NULL, CS("{name: a, image: null, env: [{name: E}]}"),
         CS("{name: a, env: [{name: E}]}")},
        {"{spec: {volumes: [{name: v, emptyDir: {}}]}}", NULL,
         "{spec: {volumes: [{name: v, hostPath: {path: /}}]}}",
         "{spec: {volumes: [{name: v, hostPath: {path: /}}]}}"},
        {"{metadata: {finalizers: [server, a, b]}}", "{metadata: {finalizers: [a, b]}}",
         "{metadata: {finalizers: [b, c]}}", "{metadata: {finalizers: [server, b, c]}}"},
        {"{spec: {tolerations: [{key: server}]}}", NULL, "{spec: {tolerations: [{key: b}]}}",
         "{spec: {tolerations: [{key: b}]}}"},
        {CS("{name: a, ports: [{containerPort: 53, protocol: U}, {containerPort: 53, protocol: "
            "T}]}"),
         CS("{name: a, ports: [{containerPort: 53, protocol: U}, {containerPort: 53, protocol: "
            "T}]}"),
         CS("{name: a, ports: [{containerPort: 53, protocol: U}, {containerPort: 53, name: n}]}"),
         CS("{name: a, ports: [{containerPort: 53, protocol: U}, {containerPort: 53, name: n}]}")},
        {CS("{name: a, x: 1}, {name: a, x: 2}"), CS("{name: a}, {name: a}"), CS("{name: a, x: 3}"),
         CS("{name: a, x: 3}")},
        {"{metadata: {}}", NULL, "{metadata: {finalizers: [a, a, null]}}",
         "{metadata: {finalizers: [a, null]}}"},
        {"{spec: {containers: {odd: 1}}}", NULL, CS("{name: a}"), CS("{name: a}")},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

/* Applying the same again changes nothing, whatever the server filled in meanwhile. */
static void test_again(void **state)
{
    (void)state;
    static const char *const DESIRED =
        "{metadata: {name: p, labels: {a: b}, finalizers: [f]}, spec: {containers: [{name: a, "
        "ports: [{containerPort: 80}]}], volumes: [{name: v, emptyDir: {}}], strategy: {type: R}}}";
    static const char *const CURRENT =
        "{metadata: {name: p, uid: x, labels: {a: b, s: t}, finalizers: [g, f]}, spec: "
        "{containers: "
        "[{name: z}, {name: a, ports: [{containerPort: 80, protocol: TCP}]}], volumes: [{name: v, "
        "emptyDir: {}, x: 1}], strategy: {type: R, rolling: 1}, more: 1}, status: {a: 1}}";
    const struct row rows[] = {{CURRENT, DESIRED, DESIRED, CURRENT}};
    check_rows(rows, 1);
}

static void test_refused(void **state)
{
    (void)state;
    struct err err = {0};
    scoped_json_mut *doc = flow_mut("{spec: {}}");
    scoped_json *desired = flow(CS("{image: x}"));
    assert_int_equal(patch_apply(&POD_TYPE, doc, NULL, yyjson_doc_get_root(desired), &err),
                     -EINVAL);
    assert_non_null(strstr(err.text, "an item of containers has no 'name'"));
    scoped_json *list = yyjson_read("[]", 2, 0);
    assert_int_equal(patch_apply(&POD_TYPE, doc, NULL, yyjson_doc_get_root(list), NULL), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
