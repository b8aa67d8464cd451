// SPDX-License-Identifier: Apache-2.0
#include "model/cell.h"
#include "model/jobset.h"
#include "model/kind.h"
#include "model/kueue.h"
#include <inttypes.h>

// clang-format off
static const struct field JOBSET_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, .of = &TYPE_JOBSET_SPEC, .fallback = "{}",
     .doc = "The Jobs of the set, and what becomes of all when one ends."},
    {"status", F_OBJECT, ONE, .of = &TYPE_JOBSET_STATUS, .doc = "How far the JobSet has come."},
    {0}};
// clang-format on

static void jobset_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(val, "spec");
    yyjson_mut_val *old_spec = yyjson_mut_obj_get(old, "spec");
    kueue_check_labels(c, val, old);
    if (!yyjson_mut_is_obj(spec) || (old_spec != NULL && json_mut_equal(spec, old_spec)))
        return;
    jobset_names_check(c, val);
    if (yyjson_mut_is_obj(old_spec))
        jobset_update_check(c, val, old);
}

static const struct type TYPE_JOBSET = {
    JOBSET_V1ALPHA2("JobSet"),
    "Jobs that belong together: they start, restart, succeed and fail as one.",
    JOBSET_FIELDS,
    .check = jobset_check,
};

/* Agents compare with the epochs from their first look on. */
static void jobset_prepare(yyjson_mut_doc *doc, yyjson_mut_val *root, time_ms now)
{
    static const char *const ZERO[] = {"restarts", "deprecatedEpoch", "syncedEpoch"};
    (void)now;
    kueue_hold(doc, root);
    yyjson_mut_val *status = yyjson_mut_obj(doc);
    for (size_t i = 0; i < ARRAY_LEN(ZERO); i++)
        json_mut_put(doc, status, ZERO[i], yyjson_mut_sint(doc, 0));
    json_mut_put(doc, root, "status", status);
}

static void cell_completed(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, cell_condition(root, "Completed"), "status", "<none>");
}

/* Both ways together: it is one number that people want to see stay low. */
static void cell_restarts(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    int64_t anew = json_int_at(root, "status.restarts", 0);
    cell_textf(out, "%" PRId64, anew + json_int_at(root, "status.inPlaceRestarts", 0));
}

// clang-format off
static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"TerminalState", "string", "", "How it ended.", 0, "status.terminalState"},
    {"Restarts",  "string", "", "How often all were restarted, made anew or in place.",
     .cell = cell_restarts},
    {"Completed", "string", "", "Whether it has succeeded.", .cell = cell_completed},
    {"Suspended", "string", "", "Whether it has no pods for now.", 0, "spec.suspend"},
    AGE_COLUMN,
    {"Epoch", "integer", "", "The epoch in which all members run.", 1, "status.syncedEpoch"},
    {0}};
// clang-format on

const struct kind KIND_JOBSET = {
    .group = "jobset.x-k8s.io",
    .version = "v1alpha2",
    .name = "JobSet",
    .plural = "jobsets",
    .singular = "jobset",
    .namespaced = true,
    .has_status = true,
    .name_format = FMT_DNS_NAME,
    .type = &TYPE_JOBSET,
    .columns = COLUMNS,
    .prepare = jobset_prepare,
};
