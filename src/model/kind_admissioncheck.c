// SPDX-License-Identifier: Apache-2.0
#include "model/kueue.h"

// clang-format off
static const struct field PARAMETERS_FIELDS[] = {
    {"apiGroup", F_STRING, ONE, REQUIRED, .doc = "The group of its kind."},
    {"kind", F_STRING, ONE, REQUIRED, .doc = "Its kind."},
    {"name", F_STRING, ONE, REQUIRED, .doc = "Its name."},
    {0}};
static const struct type TYPE_PARAMETERS = {
    KUEUE_V1BETA2("AdmissionCheckParametersReference"), "An object with settings of the check.",
    PARAMETERS_FIELDS};
static const struct field SPEC_FIELDS[] = {
    {"controllerName", F_STRING, ONE, REQUIRED | NON_EMPTY | IMMUTABLE,
     .doc = "Who answers. Nobody here does: any client may that writes status.admissionChecks of "
            "Workloads. Cannot be changed."},
    {"parameters", F_OBJECT, ONE, .of = &TYPE_PARAMETERS, .doc = "For who answers."},
    {"retryDelayMinutes", F_INT64, ONE, .doc = "Kept for manifests that have it."},
    {0}};
static const struct field STATUS_FIELDS[] = {
    {"conditions", F_OBJECT, LIST, MERGE | RANGE, .max = 16, .of = &TYPE_CONDITION,
     .merge_key = "type",
     .doc = "Active, by who answers: while it is False, queues that name the check let nobody in."},
    {0}};
// clang-format on

static const struct type TYPE_SPEC = {KUEUE_V1BETA2("AdmissionCheckSpec"), "Who answers.",
                                      SPEC_FIELDS};
static const struct type TYPE_STATUS = {KUEUE_V1BETA2("AdmissionCheckStatus"), "Whether it works.",
                                        STATUS_FIELDS};
static const struct field FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, REQUIRED, .of = &TYPE_SPEC, .doc = "Who answers."},
    {"status", F_OBJECT, ONE, .of = &TYPE_STATUS, .doc = "Whether it works."},
    {0}};
static const char DOC[] = "Something that has to agree before a workload that has quota may start; "
                          "ClusterQueues name it.";
static const struct type TYPE_CHECK = {KUEUE_V1BETA2("AdmissionCheck"), DOC, FIELDS};
static const struct type TYPE_CHECK_V1BETA1 = {KUEUE_V1BETA1("AdmissionCheck"), DOC, FIELDS};

static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Controller", "string", "", "Who answers.", 0, "spec.controllerName"},
    AGE_COLUMN,
    {0}};

#define CHECK_KIND                                                                                 \
    .group = KUEUE_GROUP, .name = "AdmissionCheck", .plural = "admissionchecks",                   \
    .singular = "admissioncheck", .has_status = true, .name_format = FMT_DNS_SUBDOMAIN,            \
    .columns = COLUMNS

const struct kind KIND_ADMISSIONCHECK = {CHECK_KIND, .version = "v1beta2", .type = &TYPE_CHECK};
extern const struct kind KIND_ADMISSIONCHECK_V1BETA1;
const struct kind KIND_ADMISSIONCHECK_V1BETA1 = {
    CHECK_KIND, .version = "v1beta1", .type = &TYPE_CHECK_V1BETA1, .stored = &KIND_ADMISSIONCHECK};
