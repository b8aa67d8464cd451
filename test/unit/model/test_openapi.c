// SPDX-License-Identifier: Apache-2.0
/* What kubectl looks for in the document, on the kinds as they are. */
#include "base/map.h"
#include "model/kind.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static yyjson_doc *document(const char *group, const char *version)
{
    scoped_str text = {0};
    struct err err = {0};
    yyjson_doc *doc = NULL;
    openapi_v3(group, version, &text);
    if (json_parse((struct sv){text.data, text.len}, &doc, &err) < 0)
        fail_msg("%s/%s: %s", group, version, err.text);
    return doc;
}

static yyjson_val *get(yyjson_val *obj, const char *key)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    if (val == NULL)
        fail_msg("'%s' is missing", key);
    return val;
}

static yyjson_val *path_of(yyjson_doc *doc, const char *path)
{
    return get(get(yyjson_doc_get_root(doc), "paths"), path);
}

static yyjson_val *schema_of(yyjson_doc *doc, const char *name)
{
    return get(json_at(yyjson_doc_get_root(doc), "components.schemas"), name);
}

static void assert_json(yyjson_val *val, const char *want)
{
    scoped_str text = {0};
    json_write_val(val, &text);
    assert_string_equal(str_text(&text), want);
}

static void test_head(void **state)
{
    (void)state;
    scoped_json *doc = document("", "v1");
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_string_equal(json_str_at(root, "openapi"), "3.0.0");
    assert_string_equal(json_str_at(root, "info.title"), "muster");
    assert_string_equal(json_str_at(root, "info.version"), MUSTER_VERSION);
    scoped_json *none = document("no.such.group", "v1");
    assert_int_equal(yyjson_obj_size(json_at(yyjson_doc_get_root(none), "paths")), 0);
}

static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *group, *path, *methods; /* in order, then parameters */
    } ROWS[] = {
        {"", "/api/v1/pods", "get parameters "},
        {"", "/api/v1/namespaces/{namespace}/pods", "get post delete parameters "},
        {"", "/api/v1/namespaces/{namespace}/pods/{name}", "get put patch delete parameters "},
        {"", "/api/v1/namespaces/{namespace}/pods/{name}/status", "get put patch parameters "},
        {"", "/api/v1/nodes", "get post delete parameters "},
        {"", "/api/v1/nodes/{name}", "get put patch delete parameters "},
        {"", "/api/v1/nodes/{name}/status", "get put patch parameters "},
        {"batch", "/apis/batch/v1/jobs", "get parameters "},
        {"batch", "/apis/batch/v1/namespaces/{namespace}/jobs/{name}",
         "get put patch delete parameters "},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json *doc = document(ROWS[i].group, "v1");
        scoped_str got = {0};
        size_t n, max;
        yyjson_val *key, *val;
        yyjson_obj_foreach(path_of(doc, ROWS[i].path), n, max, key, val)
        {
            str_addf(&got, "%s ", yyjson_get_str(key));
        }
        assert_string_equal(str_text(&got), ROWS[i].methods);
    }
    scoped_json *core = document("", "v1");
    yyjson_val *paths = json_at(yyjson_doc_get_root(core), "paths");
    assert_null(yyjson_obj_get(paths, "/api/v1/namespaces/{namespace}/configmaps/{name}/status"));
    assert_null(yyjson_obj_get(paths, "/apis/batch/v1/jobs"));
}

static void test_scale_paths(void **state)
{
    (void)state;
    for (size_t i = 0; KINDS[i] != NULL; i++) {
        const struct kind *kind = KINDS[i];
        scoped_json *doc = document(kind->group, kind->version);
        char api[128];
        scoped_free char *path =
            mem_printf("%s/%s%s/%s/{name}/scale", kind->group[0] == '\0' ? "/api" : "/apis",
                       kind_api_version(kind, api),
                       kind->namespaced ? "/namespaces/{namespace}" : "", kind->plural);
        yyjson_val *val = yyjson_obj_get(json_at(yyjson_doc_get_root(doc), "paths"), path);
        assert_int_equal(val != NULL, kind->scale != NULL);
        if (val != NULL)
            assert_json(get(get(val, "get"), "x-kubernetes-group-version-kind"),
                        "{\"group\":\"autoscaling\",\"kind\":\"Scale\",\"version\":\"v1\"}");
    }
}

static bool has_param(yyjson_val *op, const char *name)
{
    size_t i, max;
    yyjson_val *param;
    yyjson_arr_foreach(get(op, "parameters"), i, max, param)
    {
        if (str_eq(json_str_at(param, "name"), name))
            return true;
    }
    return false;
}

static void test_operations(void **state)
{
    (void)state;
    static const char POD_GVK[] = "{\"group\":\"\",\"kind\":\"Pod\",\"version\":\"v1\"}";
    static const char GVK[] = "x-kubernetes-group-version-kind";
    scoped_json *doc = document("", "v1");
    yyjson_val *list = get(path_of(doc, "/api/v1/pods"), "get");
    assert_json(get(list, GVK), POD_GVK);
    assert_string_equal(json_str_at(list, "x-kubernetes-action"), "list");
    assert_string_equal(json_str_at(list, "operationId"), "listCoreV1PodForAllNamespaces");
    assert_true(has_param(list, "labelSelector") && has_param(list, "limit"));
    assert_false(has_param(list, "fieldValidation"));
    yyjson_val *item = path_of(doc, "/api/v1/namespaces/{namespace}/pods/{name}");
    yyjson_val *patch = get(item, "patch");
    assert_json(get(patch, GVK), POD_GVK);
    assert_true(has_param(patch, "fieldValidation") && has_param(patch, "dryRun"));
    assert_true(has_param(item, "name") && has_param(item, "namespace"));
    yyjson_val *bodies = get(get(patch, "requestBody"), "content");
    assert_non_null(yyjson_obj_get(bodies, "application/strategic-merge-patch+json"));
    yyjson_val *post = get(path_of(doc, "/api/v1/namespaces/{namespace}/pods"), "post");
    yyjson_val *body = get(get(get(post, "requestBody"), "content"), "application/json");
    assert_json(body, "{\"schema\":{\"$ref\":\"#/components/schemas/io.k8s.api.core.v1.Pod\"}}");
}

static void test_schemas(void **state)
{
    (void)state;
    scoped_json *doc = document("", "v1");
    yyjson_val *pod = schema_of(doc, "io.k8s.api.core.v1.Pod");
    assert_json(get(pod, "x-kubernetes-group-version-kind"),
                "[{\"group\":\"\",\"kind\":\"Pod\",\"version\":\"v1\"}]");
    yyjson_val *meta = json_at(pod, "properties.metadata");
    assert_json(get(meta, "allOf"), "[{\"$ref\":\"#/components/schemas/"
                                    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta\"}]");
    assert_non_null(json_str_at(meta, "description"));
    yyjson_val *list = schema_of(doc, "io.k8s.api.core.v1.PodList");
    assert_json(get(list, "x-kubernetes-group-version-kind"),
                "[{\"group\":\"\",\"kind\":\"PodList\",\"version\":\"v1\"}]");
    assert_json(json_at(list, "properties.items.items"),
                "{\"allOf\":[{\"$ref\":\"#/components/schemas/io.k8s.api.core.v1.Pod\"}]}");
    assert_json(get(list, "required"), "[\"items\"]");
    yyjson_val *spec = schema_of(doc, "io.k8s.api.core.v1.PodSpec");
    yyjson_val *containers = json_at(spec, "properties.containers");
    assert_string_equal(json_str_at(containers, "x-kubernetes-patch-strategy"), "merge");
    assert_string_equal(json_str_at(containers, "x-kubernetes-patch-merge-key"), "name");
    assert_string_equal(json_str_at(containers, "x-kubernetes-list-type"), "map");
    assert_json(get(containers, "x-kubernetes-list-map-keys"), "[\"name\"]");
    yyjson_val *volumes = json_at(spec, "properties.volumes");
    assert_string_equal(json_str_at(volumes, "x-kubernetes-patch-strategy"), "merge,retainKeys");
    yyjson_val *container = json_at(schema_of(doc, "io.k8s.api.core.v1.Container"), "properties");
    assert_string_equal(json_str_at(container, "args.type"), "array");
    assert_string_equal(json_str_at(container, "args.items.type"), "string");
    assert_string_equal(json_str_at(container, "args.x-kubernetes-list-type"), "atomic");
    assert_json(get(schema_of(doc, "io.k8s.apimachinery.pkg.api.resource.Quantity"), "oneOf"),
                "[{\"type\":\"string\"},{\"type\":\"number\"}]");
}

/* ---- the document holds together ---- */

static void check_refs(yyjson_val *schemas, yyjson_val *val)
{
    static const char PREFIX[] = "#/components/schemas/";
    size_t i, max;
    yyjson_val *key, *item;
    yyjson_arr_foreach(val, i, max, item)
    {
        check_refs(schemas, item);
    }
    yyjson_obj_foreach(val, i, max, key, item)
    {
        if (str_eq(yyjson_get_str(key), "$ref") && yyjson_is_str(item)) {
            assert_true(str_starts(yyjson_get_str(item), PREFIX));
            (void)get(schemas, yyjson_get_str(item) + sizeof(PREFIX) - 1);
        }
        check_refs(schemas, item);
    }
}

static void check_operation_ids(yyjson_val *paths)
{
    struct map *seen = map_new();
    size_t i, max, j, jmax;
    yyjson_val *path, *ops, *method, *op;
    yyjson_obj_foreach(paths, i, max, path, ops)
    {
        yyjson_obj_foreach(ops, j, jmax, method, op)
        {
            const char *id = json_str_at(op, "operationId");
            if (id != NULL && map_put(seen, id, op) != NULL)
                fail_msg("two operations are called %s", id);
        }
    }
    map_free(seen);
}

static void test_whole(void **state)
{
    (void)state;
    const struct kind *kind;
    for (size_t i = 0; (kind = kind_served(i)) != NULL; i++) {
        scoped_json *doc = document(kind->group, kind->version);
        yyjson_val *root = yyjson_doc_get_root(doc);
        (void)schema_of(doc, kind->type->name);
        check_refs(json_at(root, "components.schemas"), root);
        check_operation_ids(json_at(root, "paths"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_head),        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_scale_paths), cmocka_unit_test(test_operations),
        cmocka_unit_test(test_schemas),     cmocka_unit_test(test_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
