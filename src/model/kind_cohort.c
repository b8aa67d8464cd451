// SPDX-License-Identifier: Apache-2.0
#include "model/kueue.h"

#define GROUPS_MAX 16

// clang-format off
#define SPEC_ROWS                                                                                  \
    {"resourceGroups", F_OBJECT, LIST, RANGE, .max = GROUPS_MAX, .of = &TYPE_RESOURCE_GROUP,       \
     .doc = "Quota of the cohort itself, for all that are in it."},                                \
    {"fairSharing", F_OBJECT, ONE, .of = &TYPE_FAIR_SHARING,                                       \
     .doc = "Kept for manifests that have it."},                                                   \
    {0}
static const struct field SPEC_FIELDS[] = {
    {"parentName", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN,
     .doc = "The cohort that this one is part of; none: it is the root of its tree."},
    SPEC_ROWS};
static const struct field SPEC_FIELDS_V1BETA1[] = {
    {"parent", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN,
     .doc = "The cohort that this one is part of; none: it is the root of its tree. In v1beta2 "
            "parentName."},
    SPEC_ROWS};
static const struct field STATUS_FIELDS[] = {
    {"fairSharing", F_ANY, ONE, .doc = "Not used here."},
    {0}};
// clang-format on

static void spec_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    kueue_check_groups(c, val, (struct kueue_owner){.parent = "parentName", .is_cohort = true});
}

static void spec_check_v1beta1(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    kueue_check_groups(c, val, (struct kueue_owner){.parent = "parent", .is_cohort = true});
}

static const struct type TYPE_SPEC = {KUEUE_V1BETA2("CohortSpec"), "Where it stands.", SPEC_FIELDS,
                                      .check = spec_check};
static const struct type TYPE_SPEC_V1BETA1 = {KUEUE_V1BETA1("CohortSpec"), "Where it stands.",
                                              SPEC_FIELDS_V1BETA1, .check = spec_check_v1beta1};
static const struct type TYPE_STATUS = {KUEUE_V1BETA2("CohortStatus"), "How it is.", STATUS_FIELDS};

static const struct field FIELDS[] = {KUEUE_KIND_FIELDS(TYPE_SPEC, TYPE_STATUS, "How it is.")};
static const struct field FIELDS_V1BETA1[] = {
    KUEUE_KIND_FIELDS(TYPE_SPEC_V1BETA1, TYPE_STATUS, "How it is.")};

static void check_self(struct check *c, yyjson_mut_val *val, const char *field)
{
    yyjson_mut_val *parent = yyjson_mut_obj_get(yyjson_mut_obj_get(val, "spec"), field);
    const char *name = json_mut_str_at(val, "metadata.name");
    if (name == NULL || !yyjson_mut_equals_str(parent, name))
        return;
    size_t mark = check_enter(c, "spec");
    check_invalid(c, field, parent, "a cohort cannot be part of itself");
    check_leave(c, mark);
}

static void cohort_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    check_self(c, val, "parentName");
}

static void cohort_check_v1beta1(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    check_self(c, val, "parent");
}

static const char DOC[] =
    "Queues that lend each other what they do not use, in a tree. Only needed "
    "for quota of its own or a parent: a cohort's name in ClusterQueues is "
    "enough otherwise.";
static const struct type TYPE_COHORT = {KUEUE_V1BETA2("Cohort"), DOC, FIELDS,
                                        .check = cohort_check};
static const struct type TYPE_COHORT_V1BETA1 = {KUEUE_V1BETA1("Cohort"), DOC, FIELDS_V1BETA1,
                                                .check = cohort_check_v1beta1};

static void to_stored(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    kueue_rename(doc, root, "spec", "parent", "parentName");
}

static void from_stored(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    kueue_rename(doc, root, "spec", "parentName", "parent");
}

static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Parent", "string", "", "The cohort that it is part of.", 0, "spec.parentName"},
    AGE_COLUMN,
    {0}};

#define COHORT_KIND                                                                                \
    .group = KUEUE_GROUP, .name = "Cohort", .plural = "cohorts", .singular = "cohort",             \
    .has_status = true, .name_format = FMT_DNS_SUBDOMAIN, .columns = COLUMNS

const struct kind KIND_COHORT = {COHORT_KIND, .version = "v1beta2", .type = &TYPE_COHORT};
extern const struct kind KIND_COHORT_V1BETA1;
const struct kind KIND_COHORT_V1BETA1 = {COHORT_KIND,
                                         .version = "v1beta1",
                                         .type = &TYPE_COHORT_V1BETA1,
                                         .stored = &KIND_COHORT,
                                         .to_stored = to_stored,
                                         .from_stored = from_stored};
