// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

/* A type in the likeness of a pod, for tests of patches. */
static const struct field PORT_FIELDS[] = {
    {"containerPort", F_INT32}, {"protocol", F_STRING}, {"name", F_STRING}, {0}};
static const struct type PORT_TYPE = {"Port", .fields = PORT_FIELDS};
static const struct field ENV_FIELDS[] = {{"name", F_STRING}, {"value", F_STRING}, {0}};
static const struct type ENV_TYPE = {"Env", .fields = ENV_FIELDS};
static const struct field CONTAINER_FIELDS[] = {
    {"name", F_STRING},
    {"image", F_STRING},
    {"args", F_STRING, LIST},
    {"env", F_OBJECT, LIST, MERGE, .of = &ENV_TYPE, .merge_key = "name"},
    {"ports", F_OBJECT, LIST, MERGE, .of = &PORT_TYPE, .merge_key = "containerPort"},
    {0}};
static const struct type CONTAINER_TYPE = {"Container", .fields = CONTAINER_FIELDS};
static const struct field VOLUME_FIELDS[] = {
    {"name", F_STRING}, {"emptyDir", F_ANY}, {"hostPath", F_ANY}, {0}};
static const struct type VOLUME_TYPE = {"Volume", .fields = VOLUME_FIELDS};
static const struct field STRATEGY_FIELDS[] = {{"type", F_STRING}, {"rolling", F_ANY}, {0}};
static const struct type STRATEGY_TYPE = {"Strategy", .fields = STRATEGY_FIELDS};
static const struct field TOLERATION_FIELDS[] = {{"key", F_STRING}, {0}};
static const struct type TOLERATION_TYPE = {"Toleration", .fields = TOLERATION_FIELDS};
static const struct field SPEC_FIELDS[] = {
    {"containers", F_OBJECT, LIST, MERGE, .of = &CONTAINER_TYPE, .merge_key = "name"},
    {"volumes", F_OBJECT, LIST, MERGE | RETAIN_KEYS, .of = &VOLUME_TYPE, .merge_key = "name"},
    {"strategy", F_OBJECT, ONE, RETAIN_KEYS, .of = &STRATEGY_TYPE},
    {"tolerations", F_OBJECT, LIST, .of = &TOLERATION_TYPE},
    {"replicas", F_INT32},
    {"pools", F_OBJECT, MAP, .of = &CONTAINER_TYPE},
    {0}};
static const struct type SPEC_TYPE = {"Spec", .fields = SPEC_FIELDS};
static const struct field META_FIELDS[] = {
    {"name", F_STRING}, {"labels", F_STRING, MAP}, {"finalizers", F_STRING, LIST, MERGE}, {0}};
static const struct type META_TYPE = {"Meta", .fields = META_FIELDS};
static const struct field POD_FIELDS[] = {
    {"metadata", F_OBJECT, ONE, .of = &META_TYPE}, {"spec", F_OBJECT, ONE, .of = &SPEC_TYPE}, {0}};
static const struct type POD_TYPE = {"Pod", .fields = POD_FIELDS};

/* Tests write their documents in YAML's flow style, which has no quotes to escape. */
#include "model/manifest.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static inline yyjson_mut_doc *flow_mut(const char *text)
{
    struct manifest manifest;
    struct err err = {0};
    if (manifest_parse("test", sv_of(text), &manifest, &err) < 0)
        fail_msg("'%s': %s", text, err.text);
    assert_int_equal(manifest.docs.len, 1);
    yyjson_mut_doc *doc = yyjson_mut_doc_mut_copy(manifest.docs.items[0].doc, NULL);
    manifest_done(&manifest);
    return doc;
}

static inline yyjson_doc *flow(const char *text)
{
    scoped_json_mut *doc = flow_mut(text);
    return yyjson_mut_doc_imut_copy(doc, NULL);
}

/* Members in the same order, too. */
static inline void check_result(size_t row, yyjson_mut_doc *doc, const char *expected)
{
    scoped_json_mut *wanted = flow_mut(expected);
    scoped_str got_text = {0}, wanted_text = {0};
    json_write(yyjson_mut_doc_get_root(doc), &got_text);
    json_write(yyjson_mut_doc_get_root(wanted), &wanted_text);
    if (!str_eq(got_text.data, wanted_text.data))
        fail_msg("row %zu: %s\ninstead of %s", row, got_text.data, wanted_text.data);
}
