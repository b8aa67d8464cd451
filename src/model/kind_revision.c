// SPDX-License-Identifier: Apache-2.0
#include "model/cell.h"
#include "model/kind.h"
#include "model/rules.h"

// clang-format off
static const struct field REVISION_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"data", F_ANY, ONE, IMMUTABLE, .pb = 2 | PB_JSON,
     .doc = "What was wanted then, as a patch of the owner's spec."},
    {"revision", F_INT64, ONE, REQUIRED | RANGE, .pb = 3 | PB_ZERO,
     .doc = "Its place in the history: the newest has the highest number."},
    {0}};
static const struct type TYPE_REVISION = {
    "io.k8s.api.apps.v1.ControllerRevision",
    "A template that pods of a set were made of, kept for those that still are and for going back.",
    REVISION_FIELDS};
// clang-format on

static void cell_owner(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    yyjson_val *owner = yyjson_arr_get_first(json_at(root, "metadata.ownerReferences"));
    const char *kind = json_str_at(owner, "kind"), *name = json_str_at(owner, "name");
    if (kind == NULL || name == NULL)
        cell_text(out, "<none>");
    else if (str_eq(kind, "StatefulSet"))
        cell_textf(out, "statefulset.apps/%s", name);
    else
        cell_textf(out, "%s/%s", kind, name);
}

// clang-format off
static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Controller", "string", "", "The object whose past this is.", .cell = cell_owner},
    {"Revision", "integer", "", "Its place in the history.", 0, "revision"},
    AGE_COLUMN,
    {0}};
// clang-format on

const struct kind KIND_REVISION = {
    .group = "apps",
    .version = "v1",
    .name = "ControllerRevision",
    .plural = "controllerrevisions",
    .singular = "controllerrevision",
    .namespaced = true,
    .name_format = FMT_DNS_SUBDOMAIN,
    .type = &TYPE_REVISION,
    .columns = COLUMNS,
};
