// SPDX-License-Identifier: Apache-2.0
#include "model/cell.h"
#include "model/kind.h"
#include "model/podspec.h"
#include "model/rules.h"

#define NAME_LABEL "kubernetes.io/metadata.name"

// clang-format off
static const struct field CONDITION_FIELDS[] = {
    {"type", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "What still keeps the namespace."},
    {"status", F_STRING, ONE, REQUIRED, .values = VALUES("True", "False", "Unknown"),
     .pb = 2 | PB_ZERO,
     .doc = "True, False or Unknown."},
    {"lastTransitionTime", F_TIME, ONE, .pb = 4, .doc = "When the status last changed."},
    {"reason", F_STRING, ONE, .pb = 5, .doc = "One word: why the status is what it is."},
    {"message", F_STRING, ONE, .pb = 6, .doc = "The same for people."},
    {0}};
static const struct type TYPE_NAMESPACE_CONDITION = {
    CORE_V1("NamespaceCondition"), "One aspect of the namespace's state.", CONDITION_FIELDS};

static const struct field SPEC_FIELDS[] = {
    {"finalizers", F_STRING, LIST, .pb = 1,
     .doc = "Who still has to clean up before a deleted namespace may go. \"kubernetes\" stays "
            "until nothing is left in it."},
    {0}};
static const struct type TYPE_NAMESPACE_SPEC = {
    CORE_V1("NamespaceSpec"), "What the namespace still waits for.", SPEC_FIELDS};

static const struct field STATUS_FIELDS[] = {
    {"phase", F_STRING, ONE, .values = VALUES("Active", "Terminating"), .pb = 1,
     .doc = "Active, or Terminating once deletion was asked for."},
    {"conditions", F_OBJECT, LIST, MERGE, .of = &TYPE_NAMESPACE_CONDITION, .merge_key = "type",
     .pb = 2,
     .doc = "What still keeps a namespace that is being deleted."},
    {0}};
static const struct type TYPE_NAMESPACE_STATUS = {
    CORE_V1("NamespaceStatus"), "What is known of the namespace.", STATUS_FIELDS};

static const struct field NAMESPACE_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, .of = &TYPE_NAMESPACE_SPEC, .pb = 2,
     .doc = "What the namespace waits for."},
    {"status", F_OBJECT, ONE, .of = &TYPE_NAMESPACE_STATUS, .pb = 3, .doc = "How it is."},
    {0}};

static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Status", "string", "", "Active or Terminating.", 0, "status.phase"},
    AGE_COLUMN,
    {0}};
// clang-format on

/* A label, so that selectors can choose namespaces by name. */
static void namespace_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    yyjson_mut_val *meta = yyjson_mut_obj_get(val, "metadata");
    const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(meta, "name"));
    if (name == NULL || *name == '\0')
        return;
    json_mut_put(doc, json_mut_need_obj(doc, meta, "labels"), NAME_LABEL,
                 yyjson_mut_strcpy(doc, name));
}

static void namespace_prepare(yyjson_mut_doc *doc, yyjson_mut_val *root, time_ms now)
{
    (void)now;
    namespace_fill(doc, root); /* once more: a generated name is known only now */
    yyjson_mut_val *finalizers = yyjson_mut_arr(doc);
    (void)yyjson_mut_arr_add_str(doc, finalizers, "kubernetes");
    json_mut_set(doc, root, "spec.finalizers", finalizers);
    yyjson_mut_val *status = yyjson_mut_obj(doc);
    json_mut_put(doc, status, "phase", yyjson_mut_str(doc, "Active"));
    json_mut_put(doc, root, "status", status);
}

static const struct type TYPE_NAMESPACE = {
    CORE_V1("Namespace"),
    "A room for names: objects in different namespaces do not get into each other's way.",
    NAMESPACE_FIELDS,
    .fill = namespace_fill,
};

const struct kind KIND_NAMESPACE = {
    .group = "",
    .version = "v1",
    .name = "Namespace",
    .plural = "namespaces",
    .singular = "namespace",
    .short_names = VALUES("ns"),
    .is_deleted_singly = true,
    .has_status = true,
    .name_format = FMT_DNS_LABEL,
    .type = &TYPE_NAMESPACE,
    .columns = COLUMNS,
    .selectable = VALUES("status.phase"),
    .prepare = namespace_prepare,
};
