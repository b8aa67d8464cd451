// SPDX-License-Identifier: Apache-2.0
#include "model/kueue.h"

// clang-format off
static const struct field FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"value", F_INT32, ONE, REQUIRED,
     .doc = "The priority of workloads of this class; higher goes first. Workloads that are there "
            "keep the number that they got."},
    {"description", F_STRING, ONE, RANGE, .max = 2048, .doc = "For people: when to use it."},
    {0}};
// clang-format on

static const char DOC[] =
    "A name for a priority of workloads, chosen by the label " KUEUE_PRIORITY_LABEL
    ". The priority of the pods is another matter.";
static const struct type TYPE_CLASS = {KUEUE_V1BETA2("WorkloadPriorityClass"), DOC, FIELDS};
static const struct type TYPE_CLASS_V1BETA1 = {KUEUE_V1BETA1("WorkloadPriorityClass"), DOC, FIELDS};

static const struct column COLUMNS[] = {
    NAME_COLUMN, {"Value", "integer", "", "The priority.", 0, "value"}, AGE_COLUMN, {0}};

#define CLASS_KIND                                                                                 \
    .group = KUEUE_GROUP, .name = "WorkloadPriorityClass", .plural = "workloadpriorityclasses",    \
    .singular = "workloadpriorityclass", .short_names = VALUES("wpc"),                             \
    .name_format = FMT_DNS_SUBDOMAIN, .columns = COLUMNS

const struct kind KIND_PRIORITYCLASS = {CLASS_KIND, .version = "v1beta2", .type = &TYPE_CLASS};
extern const struct kind KIND_PRIORITYCLASS_V1BETA1;
const struct kind KIND_PRIORITYCLASS_V1BETA1 = {
    CLASS_KIND, .version = "v1beta1", .type = &TYPE_CLASS_V1BETA1, .stored = &KIND_PRIORITYCLASS};
