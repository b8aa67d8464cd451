// SPDX-License-Identifier: Apache-2.0
/* How kinds are found, and what must hold of every kind's tables, present and future. */
#include "model/kind.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_lookup(void **state)
{
    (void)state;
    assert_ptr_equal(kind_of_api("v1", "Pod"), &KIND_POD);
    assert_ptr_equal(kind_of_api("batch/v1", "Job"), &KIND_JOB);
    assert_null(kind_of_api("/v1", "Pod"));
    assert_null(kind_of_api("v1", "Job"));
    assert_null(kind_of_api("batch/v2", "Job"));
    assert_null(kind_of_api("batch/v1", "job"));
    assert_null(kind_of_api(NULL, "Pod"));
    assert_null(kind_of_api("v1", NULL));
    assert_ptr_equal(kind_of_resource("", "v1", "configmaps"), &KIND_CONFIGMAP);
    assert_ptr_equal(kind_of_resource("coordination.k8s.io", "v1", "leases"), &KIND_LEASE);
    assert_ptr_equal(kind_of_resource("muster.dev", "v1alpha1", "nodeconfigs"), &KIND_NODECONFIG);
    assert_null(kind_of_resource("", "v1", "pod"));
}

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        const struct kind *kind;
        const char *near;
    } ROWS[] = {
        {"pods", &KIND_POD, NULL},
        {"pod", &KIND_POD, NULL},
        {"po", &KIND_POD, NULL},
        {"Pod", &KIND_POD, NULL},
        {"PODS", &KIND_POD, NULL},
        {"pods.v1", &KIND_POD, NULL},
        {"pods.v1.", &KIND_POD, NULL},
        {"jobs.batch", &KIND_JOB, NULL},
        {"jobs.v1.batch", &KIND_JOB, NULL},
        {"job.v1.batch", &KIND_JOB, NULL},
        {"leases.coordination.k8s.io", &KIND_LEASE, NULL},
        {"leases.v1.coordination.k8s.io", &KIND_LEASE, NULL},
        {"ns", &KIND_NAMESPACE, NULL},
        {"no", &KIND_NODE, NULL},
        {"cm", &KIND_CONFIGMAP, NULL},
        {"ev", &KIND_EVENT, NULL},
        {"pdos", NULL, "pods"},
        {"configmpas", NULL, "configmaps"},
        {"jobs.v2.batch", NULL, NULL},
        {"pods.batch", NULL, NULL},
        {"somethingelse", NULL, NULL},
        {"", NULL, NULL},
        {".", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        const char *near = NULL;
        const struct kind *kind = kind_of_word(ROWS[i].word, &near);
        if (kind != ROWS[i].kind)
            fail_msg("'%s' gave %s", ROWS[i].word, kind == NULL ? "nothing" : kind->name);
        if (ROWS[i].near != NULL && !str_eq(near, ROWS[i].near))
            fail_msg("'%s' is near %s", ROWS[i].word, near == NULL ? "nothing" : near);
        assert_ptr_equal(kind_of_word(ROWS[i].word, NULL), kind);
    }
}

static void test_api_version(void **state)
{
    (void)state;
    char out[128];
    assert_string_equal(kind_api_version(&KIND_POD, out), "v1");
    assert_string_equal(kind_api_version(&KIND_JOB, out), "batch/v1");
}

static void test_category(void **state)
{
    (void)state;
    assert_true(kind_in_category(&KIND_POD, "all"));
    assert_false(kind_in_category(&KIND_POD, "al"));
    assert_false(kind_in_category(&KIND_NODE, "all"));
}

/* ---- invariants of tables ---- */

static bool has_key(const struct field *field)
{
    return field->of != NULL &&
           type_field(field->of, field->merge_key, strlen(field->merge_key)) != NULL;
}

static const char *field_problem(const struct field *field)
{
    if (field->doc == NULL || field->doc[0] == '\0')
        return "has no documentation";
    if (field->of != NULL && field->type != F_OBJECT)
        return "has a type of its own but is no object";
    if (field->merge_key != NULL && (field->shape != LIST || !has_key(field)))
        return "has a merge key that its items do not have";
    if ((field->flags & MERGE) && field->shape == LIST && field->type == F_OBJECT &&
        field->merge_key == NULL)
        return "merges objects without a key";
    if ((field->flags & KEY_FORMAT) && (field->shape != MAP || field->format == FMT_NONE))
        return "has a format of keys that it does not have";
    if ((field->flags & REQUIRED) && field->fallback != NULL)
        return "is required and has a default";
    if (field->values != NULL && field->type != F_STRING)
        return "allows texts but is none";
    return NULL;
}

/* A default that its own field refuses would make every object invalid. */
static const char *fallback_problem(const struct field *field)
{
    if (field->fallback == NULL || field->type == F_OBJECT)
        return NULL;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct field fields[2] = {*field};
    const struct type type = {"Test", "Test.", fields};
    struct findings findings = {0};
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    schema_fill(&type, doc, root);
    schema_check(&type, root, NULL, &findings);
    bool good = yyjson_mut_obj_get(root, field->name) != NULL && findings.list.len == 0;
    findings_done(&findings);
    yyjson_mut_doc_free(doc);
    return good ? NULL : "has a default that it refuses";
}

static void check_type_table(const struct type *type, int depth)
{
    if (depth == 0)
        fail_msg("%s: contains itself", type->name);
    for (const struct field *f = type->fields; f->name != NULL; f++) {
        const char *problem = field_problem(f);
        if (problem == NULL)
            problem = fallback_problem(f);
        if (problem != NULL)
            fail_msg("%s: %s %s", type->name, f->name, problem);
        if (type_field(type, f->name, strlen(f->name)) != f)
            fail_msg("%s: %s stands there twice", type->name, f->name);
        if (f->of != NULL)
            check_type_table(f->of, depth - 1);
    }
}

static void test_tables(void **state)
{
    (void)state;
    for (size_t i = 0; KINDS[i] != NULL; i++)
        check_type_table(KINDS[i]->type, 32);
    for (size_t i = 0; OTHER_VERSIONS[i] != NULL; i++)
        check_type_table(OTHER_VERSIONS[i]->type, 32);
    for (size_t i = 0; READINGS[i] != NULL; i++)
        check_type_table(READINGS[i]->type, 32);
}

/* They share plurals with stored kinds and are found by their address only. */
static void test_readings(void **state)
{
    size_t served = 0;
    (void)state;
    while (kind_served(served) != NULL)
        served++;
    for (size_t i = 0; KINDS[i] != NULL; i++, served--)
        assert_false(kind_is_reading(KINDS[i]));
    for (size_t i = 0; OTHER_VERSIONS[i] != NULL; i++, served--)
        assert_false(kind_is_reading(OTHER_VERSIONS[i]));
    for (size_t i = 0; READINGS[i] != NULL; i++, served--) {
        const struct kind *kind = READINGS[i];
        char api[128];
        assert_true(kind_is_reading(kind));
        assert_ptr_equal(kind_of_resource(kind->group, kind->version, kind->plural), kind);
        assert_null(kind_of_api(kind_api_version(kind, api), kind->name));
        assert_false(kind_is_reading(kind_of_word(kind->plural, NULL)));
        assert_true(str_ends(kind->type->name, kind->name));
    }
    assert_int_equal(served, 0);
}

/* Found by their version, never by a word alone; one stored kind behind each. */
static void test_other_versions(void **state)
{
    (void)state;
    for (size_t i = 0; OTHER_VERSIONS[i] != NULL; i++) {
        const struct kind *kind = OTHER_VERSIONS[i], *stored = kind->stored;
        char api[128];
        assert_non_null(stored);
        assert_null(stored->stored);
        assert_ptr_equal(kind_stored(kind), stored);
        assert_ptr_equal(kind_stored(stored), stored);
        assert_string_equal(kind->name, stored->name);
        assert_string_equal(kind->group, stored->group);
        assert_string_not_equal(kind->version, stored->version);
        assert_ptr_equal(kind_of_api(kind_api_version(kind, api), kind->name), kind);
        assert_ptr_equal(kind_of_resource(kind->group, kind->version, kind->plural), kind);
        assert_ptr_equal(kind_of_word(kind->plural, NULL), stored);
        assert_ptr_equal(kind->columns, stored->columns);
        assert_int_equal(kind->namespaced, stored->namespaced);
        assert_int_equal(kind->has_status, stored->has_status);
        assert_true(str_ends(kind->type->name, kind->name));
    }
}

static void test_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; KINDS[i] != NULL; i++) {
        const struct kind *kind = KINDS[i];
        char api[128];
        assert_ptr_equal(kind_of_api(kind_api_version(kind, api), kind->name), kind);
        assert_ptr_equal(kind_of_resource(kind->group, kind->version, kind->plural), kind);
        assert_ptr_equal(kind_of_word(kind->plural, NULL), kind);
        assert_ptr_equal(kind_of_word(kind->singular, NULL), kind);
        for (const char *const *s = kind->short_names; s != NULL && *s != NULL; s++)
            assert_ptr_equal(kind_of_word(*s, NULL), kind);
        assert_true(str_ends(kind->type->name, kind->name));
        assert_non_null(kind->columns);
        int names = 0; /* first, but for events: theirs says nothing */
        for (const struct column *c = kind->columns; c->name != NULL; c++) {
            assert_true((c->path != NULL) != (c->cell != NULL));
            names += str_eq(c->name, "Name") && str_eq(c->path, "metadata.name");
        }
        assert_int_equal(names, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookup),      cmocka_unit_test(test_words),
        cmocka_unit_test(test_api_version), cmocka_unit_test(test_category),
        cmocka_unit_test(test_tables),      cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_readings),    cmocka_unit_test(test_other_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
