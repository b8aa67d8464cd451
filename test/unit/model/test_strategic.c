// SPDX-License-Identifier: Apache-2.0
#include "model/patch.h"
#include "patch_types.h"
#include <errno.h>

struct row {
    const char *target, *patch, *result;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scoped_json_mut *doc = flow_mut(rows[i].target);
        scoped_json *patch = flow(rows[i].patch);
        struct err err = {0};
        if (patch_strategic(&POD_TYPE, doc, yyjson_doc_get_root(patch), &err) < 0)
            fail_msg("row %zu: %s: %s", i, rows[i].patch, err.text);
        check_result(i, doc, rows[i].result);
    }
}

static void test_members(void **state)
{
    static const struct row ROWS[] = {
        {"{spec: {replicas: 1}}", "{spec: {replicas: 2}}", "{spec: {replicas: 2}}"},
        {"{spec: {replicas: 1}}", "{spec: {replicas: null}}", "{spec: {}}"},
        {"{spec: {replicas: 1}}", "{spec: null}", "{}"},
        {"{spec: {}}", "{metadata: {labels: {a: b, c: null}}}",
         "{spec: {}, metadata: {labels: {a: b}}}"},
        {"{other: {a: [1], b: 1}}", "{other: {a: [2], b: null, c: {d: null, e: 1}}}",
         "{other: {a: [2], c: {e: 1}}}"},
        {"{metadata: {labels: {a: b, c: d}}}", "{metadata: {labels: {a: null, x: y}}}",
         "{metadata: {labels: {c: d, x: y}}}"},
        {"{spec: {strategy: {type: A, rolling: {}}}}",
         "{spec: {strategy: {$patch: replace, type: B}}}", "{spec: {strategy: {type: B}}}"},
        {"{spec: {strategy: {type: A}}}", "{spec: {strategy: {$patch: delete}}}",
         "{spec: {strategy: {}}}"},
        {"{spec: {strategy: {type: A}}}", "{spec: {strategy: {$patch: merge, rolling: 1}}}",
         "{spec: {strategy: {type: A, rolling: 1}}}"},
        {"{a: 1}", "{$patch: replace, b: {c: null, d: 1}}", "{b: {d: 1}}"},
        {"{a: 1}", "{$patch: delete, b: 1}", "{}"},
        {"{spec: {strategy: {type: A, rolling: 1}}}",
         "{spec: {strategy: {$retainKeys: [type], type: B}}}", "{spec: {strategy: {type: B}}}"},
        {"{spec: {strategy: {type: A, rolling: 1}}}",
         "{spec: {strategy: {$retainKeys: [type], rolling: null}}}",
         "{spec: {strategy: {type: A}}}"},
        {"{spec: {replicas: [1]}}", "{spec: {replicas: {a: 1}}}", "{spec: {replicas: {a: 1}}}"},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

#define AB "{spec: {containers: [{name: a, image: x}, {name: b, image: y}]}}"

static void test_keyed_lists(void **state)
{
    static const struct row ROWS[] = {
        {AB, "{spec: {containers: [{name: b, image: z}]}}",
         "{spec: {containers: [{name: a, image: x}, {name: b, image: z}]}}"},
        /* new items come first, as kubectl users see it */
        {AB, "{spec: {containers: [{name: c, image: z, args: null}]}}",
         "{spec: {containers: [{name: c, image: z}, {name: a, image: x}, {name: b, image: y}]}}"},
        {AB, "{spec: {containers: [{name: b}, {name: a}]}}",
         "{spec: {containers: [{name: b, image: y}, {name: a, image: x}]}}"},
        {AB, "{spec: {containers: [{name: a, $patch: delete}]}}",
         "{spec: {containers: [{name: b, image: y}]}}"},
        {AB, "{spec: {containers: [{name: nope, $patch: delete}, {name: a, image: z}]}}",
         "{spec: {containers: [{name: a, image: z}, {name: b, image: y}]}}"},
        {AB, "{spec: {containers: [{name: b, $patch: delete}, {name: b, image: new}]}}",
         "{spec: {containers: [{name: b, image: new}, {name: a, image: x}]}}"},
        {AB, "{spec: {containers: [{$patch: replace}, {name: c}]}}",
         "{spec: {containers: [{name: c}]}}"},
        {AB,
         "{spec: {containers: [{name: a, $patch: delete}, {name: b, $patch: delete}, {name: c}]}}",
         "{spec: {containers: [{name: c}]}}"},
        {"{spec: {containers: [{name: a, x: 1}, {name: b}, {name: a, x: 2}]}}",
         "{spec: {containers: [{name: a, y: 1}, {name: a, y: 2}, {name: a, y: 3}]}}",
         "{spec: {containers: [{name: a, x: 1, y: 1}, {name: b}, {name: a, x: 2, y: 2}, {name: a, "
         "y: 3}]}}"},
        {AB, "{spec: {containers: [{$patch: replace}]}}", "{spec: {containers: []}}"},
        {AB, "{spec: {containers: []}}", AB},
        {AB, "{spec: {containers: null}}", "{spec: {}}"},
        {"{spec: {}}",
         "{spec: {containers: [{name: a, image: null, env: [{name: E, $patch: delete}, "
         "{name: F, value: '1'}]}]}}",
         "{spec: {containers: [{name: a, env: [{name: F, value: '1'}]}]}}"},
        {"{spec: {containers: [{name: a, args: [x, y]}]}}",
         "{spec: {containers: [{name: a, args: [z]}]}}",
         "{spec: {containers: [{name: a, args: [z]}]}}"},
        {"{spec: {containers: [{name: a, ports: [{containerPort: 80, name: w}, {containerPort: "
         "81}]}]}}",
         "{spec: {containers: [{name: a, ports: [{containerPort: 81, name: v}, "
         "{containerPort: 80, $patch: delete}]}]}}",
         "{spec: {containers: [{name: a, ports: [{containerPort: 81, name: v}]}]}}"},
        {"{spec: {tolerations: [{key: a}]}}", "{spec: {tolerations: [{key: b}]}}",
         "{spec: {tolerations: [{key: b}]}}"},
        {"{spec: {tolerations: [{key: a}]}}",
         "{spec: {tolerations: [{key: b, $patch: merge}, {$patch: replace}, {key: d, $patch: "
         "delete}]}}",
         "{spec: {tolerations: [{key: b}]}}"},
        {"{spec: {pools: {p: {env: [{name: A, value: x}]}}}}",
         "{spec: {pools: {p: {env: [{name: A, value: z}]}}}}",
         "{spec: {pools: {p: {env: [{name: A, value: z}]}}}}"},
        {"{spec: {pools: {p: {env: [{name: A}]}}}}",
         "{spec: {pools: {p: {env: [{name: B}]}, q: {image: i}}}}",
         "{spec: {pools: {p: {env: [{name: B}, {name: A}]}, q: {image: i}}}}"},
        {"{spec: {volumes: [{name: v, emptyDir: {}}]}}",
         "{spec: {volumes: [{name: v, $retainKeys: [name, hostPath], hostPath: {path: /}}]}}",
         "{spec: {volumes: [{name: v, hostPath: {path: /}}]}}"},
        {"{spec: {containers: [1, {name: a}]}}", "{spec: {containers: [{name: a, image: x}]}}",
         "{spec: {containers: [1, {name: a, image: x}]}}"},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

#define ENV_TWICE "{spec: {containers: [{name: a, args: [x, y], env: [{name: E, value: '1'}]}]}}"

/* A list that says what is there is not merged item by item, and nothing can be seen of that. */
static void test_repeated_lists(void **state)
{
    static const struct row ROWS[] = {
        {AB, AB, AB},
        {ENV_TWICE, ENV_TWICE, ENV_TWICE},
        {AB, "{spec: {containers: [{image: x, name: a}, {name: b, image: y}]}}", AB},
        {AB, "{spec: {containers: [{name: a, image: x}, {name: b, image: z}]}}",
         "{spec: {containers: [{name: a, image: x}, {name: b, image: z}]}}"},
        {AB, "{spec: {containers: [{name: a}, {name: b, image: y}]}}", AB},
        {AB, "{spec: {containers: [{image: x, name: a}, {image: y, name: b}]}}", AB},
        {"{spec: {containers: [{name: a, args: [x, y], pull: {at: 1, by: c}}]}}",
         "{spec: {containers: [{name: a, pull: {by: c}}]}}",
         "{spec: {containers: [{name: a, args: [x, y], pull: {at: 1, by: c}}]}}"},
        {"{spec: {containers: [{name: a, args: [x, y]}]}}",
         "{spec: {containers: [{name: a, args: [x]}]}}",
         "{spec: {containers: [{name: a, args: [x]}]}}"},
        {"{spec: {containers: [{name: a, x: {y: 1}}]}}", "{spec: {containers: [{name: a, x: 1}]}}",
         "{spec: {containers: [{name: a, x: 1}]}}"},
        {"{spec: {containers: [{name: a, x: 1}, {name: a, x: 2}]}}",
         "{spec: {containers: [{name: a, x: 1}, {name: a, x: 2}]}}",
         "{spec: {containers: [{name: a, x: 1}, {name: a, x: 2}]}}"},
        /* what would be obeyed or taken away still is, though the target has it as well */
        {"{spec: {containers: [{name: a, image: null}]}}",
         "{spec: {containers: [{name: a, image: null}]}}", "{spec: {containers: [{name: a}]}}"},
        {"{spec: {containers: [{name: a, x: {y: null}}]}}",
         "{spec: {containers: [{name: a, x: {y: null}}]}}",
         "{spec: {containers: [{name: a, x: {}}]}}"},
        {"{spec: {containers: [{name: a, $patch: delete}]}}",
         "{spec: {containers: [{name: a, $patch: delete}]}}", "{spec: {containers: []}}"},
        {"{spec: {containers: [{name: a, x: {$retainKeys: [z], z: 1}}]}}",
         "{spec: {containers: [{name: a, x: {$retainKeys: [z], z: 1}}]}}",
         "{spec: {containers: [{name: a, x: {z: 1}}]}}"},
        {"{spec: {containers: [{name: a, ports: [{containerPort: 80, name: null}]}]}}",
         "{spec: {containers: [{name: a, ports: [{containerPort: 80, name: null}]}]}}",
         "{spec: {containers: [{name: a, ports: [{containerPort: 80}]}]}}"},
    };
    static const struct {
        const char *both, *error;
    } REFUSED[] = {
        {"{spec: {containers: [{image: x}]}}", "an item of containers has no 'name'"},
        {"{spec: {containers: [{name: a, env: [{value: x}]}]}}", "an item of env has no 'name'"},
        {"{spec: {containers: [1]}}", "an item of containers is no object"},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++) {
        scoped_json_mut *doc = flow_mut(REFUSED[i].both);
        scoped_json *patch = flow(REFUSED[i].both);
        struct err err = {0};
        int r = patch_strategic(&POD_TYPE, doc, yyjson_doc_get_root(patch), &err);
        if (r != -EINVAL || !strstr(err.text, REFUSED[i].error))
            fail_msg("row %zu: %d '%s'", i, r, err.text);
    }
}

#define ORDER "$setElementOrder/containers: "

static void test_orders_and_sets(void **state)
{
    static const struct row ROWS[] = {
        {AB, "{spec: {" ORDER "[{name: b}, {name: a}]}}",
         "{spec: {containers: [{name: b, image: y}, {name: a, image: x}]}}"},
        {AB, "{spec: {" ORDER "[{name: a}, {name: c}, {name: b}], containers: [{name: c}]}}",
         "{spec: {containers: [{name: a, image: x}, {name: c}, {name: b, image: y}]}}"},
        {AB, "{spec: {" ORDER "[{name: c}], containers: [{name: c}, {name: a, $patch: delete}]}}",
         "{spec: {containers: [{name: c}, {name: b, image: y}]}}"},
        {"{spec: {containers: [{name: side}, {name: a}]}}",
         "{spec: {" ORDER "[{name: a}, {name: n}], containers: [{name: n}]}}",
         "{spec: {containers: [{name: side}, {name: a}, {name: n}]}}"},
        {"{spec: {containers: [{name: a}, {name: side}]}}",
         "{spec: {" ORDER "[{name: a}, {name: n}], containers: [{name: n}]}}",
         "{spec: {containers: [{name: a}, {name: n}, {name: side}]}}"},
        {"{spec: {}}", "{spec: {" ORDER "[{name: a}]}}", "{spec: {}}"},
        {"{metadata: {finalizers: [a, b]}}", "{metadata: {finalizers: [b]}}",
         "{metadata: {finalizers: [a, b]}}"},
        {"{metadata: {finalizers: [a, b]}}", "{metadata: {finalizers: [c, a]}}",
         "{metadata: {finalizers: [c, a, b]}}"},
        {"{metadata: {finalizers: [a, b]}}",
         "{metadata: {$deleteFromPrimitiveList/finalizers: [a, z]}}",
         "{metadata: {finalizers: [b]}}"},
        {"{metadata: {finalizers: [a, b]}}",
         "{metadata: {$deleteFromPrimitiveList/finalizers: [a], finalizers: [c], "
         "$setElementOrder/finalizers: [b, c]}}",
         "{metadata: {finalizers: [b, c]}}"},
        {"{metadata: {finalizers: [a, b, c]}}",
         "{metadata: {$deleteFromPrimitiveList/finalizers: [a, b]}}",
         "{metadata: {finalizers: [c]}}"},
        {"{metadata: {}}", "{metadata: {$deleteFromPrimitiveList/finalizers: [a]}}",
         "{metadata: {}}"},
        {"{}", "{metadata: {$setElementOrder/finalizers: [a], finalizers: [a]}}",
         "{metadata: {finalizers: [a]}}"},
        {"{a: {b: [1]}}", "{a: {$setElementOrder/b: [2], $deleteFromPrimitiveList/b: [1]}}",
         "{a: {b: []}}"},
        {"{}", "{a: [[{$patch: replace}, {$retainKeys: [b], b: null}]]}", "{a: [[{b: null}]]}"},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_refused(void **state)
{
    static const struct {
        const char *patch, *error;
    } ROWS[] = {
        {"{$patch: explode}", "unknown value of $patch: explode"},
        {"{$patch: 1}", "unknown value of $patch"},
        {"{spec: {containers: [{image: x}]}}", "an item of containers has no 'name'"},
        {"{spec: {containers: [{$patch: delete}]}}", "to be deleted has no 'name'"},
        {"{spec: {containers: [x]}}", "an item of containers is no object"},
        {"{spec: {containers: [{name: a, $patch: explode}]}}", "explode"},
        {"{spec: {$retainKeys: x}}", "must be a list"},
        {"{spec: {$retainKeys: [a], b: 1}}", "does not name 'b'"},
        {"{spec: {$setElementOrder/containers: x}}", "must be a list"},
        {"{spec: {$deleteFromPrimitiveList/x: 1}}", "must be a list"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json_mut *doc = flow_mut("{spec: {containers: [{name: a}]}}");
        scoped_json *patch = flow(ROWS[i].patch);
        struct err err = {0};
        int r = patch_strategic(&POD_TYPE, doc, yyjson_doc_get_root(patch), &err);
        if (r != -EINVAL || !strstr(err.text, ROWS[i].error))
            fail_msg("row %zu: %d '%s'", i, r, err.text);
    }
    scoped_json_mut *doc = flow_mut("{a: 1}");
    scoped_json *list = yyjson_read("[1]", 3, 0);
    assert_int_equal(patch_strategic(&POD_TYPE, doc, yyjson_doc_get_root(list), NULL), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),        cmocka_unit_test(test_keyed_lists),
        cmocka_unit_test(test_repeated_lists), cmocka_unit_test(test_orders_and_sets),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
