// SPDX-License-Identifier: Apache-2.0
/* The ClusterQueue. v1beta1 differs in three places: `cohort` for cohortName, a plain list of
 * admission checks, and two words for "stop at this flavor" where v1beta2 has one. */
#include "model/kueue.h"

#define GROUPS_MAX 16

// clang-format off
#define FUNGIBILITY_DOC                                                                            \
    "Which flavor is taken when the first that fits would need more than free quota of its own."
#define PREFERENCE_ROW                                                                             \
    {"preference", F_STRING, ONE,                                                                  \
     .values = VALUES("BorrowingOverPreemption", "PreemptionOverBorrowing"),                       \
     .doc = "Which is the lesser evil when no flavor stops the search. BorrowingOverPreemption when " \
            "not set."}
static const struct field FUNGIBILITY_FIELDS[] = {
    {"whenCanBorrow", F_STRING, ONE, .fallback = "\"MayStopSearch\"",
     .values = VALUES("MayStopSearch", "TryNextFlavor"),
     .doc = "MayStopSearch borrows in this flavor, TryNextFlavor looks at the next first."},
    {"whenCanPreempt", F_STRING, ONE, .fallback = "\"TryNextFlavor\"",
     .values = VALUES("MayStopSearch", "TryNextFlavor"),
     .doc = "MayStopSearch preempts in this flavor, TryNextFlavor looks at the next first."},
    PREFERENCE_ROW,
    {0}};
static const struct type TYPE_FUNGIBILITY = {
    KUEUE_V1BETA2("FlavorFungibility"), FUNGIBILITY_DOC, FUNGIBILITY_FIELDS};
static const struct field FUNGIBILITY_FIELDS_V1BETA1[] = {
    {"whenCanBorrow", F_STRING, ONE, .fallback = "\"Borrow\"",
     .values = VALUES("Borrow", "MayStopSearch", "TryNextFlavor"),
     .doc = "Borrow borrows in this flavor, TryNextFlavor looks at the next first."},
    {"whenCanPreempt", F_STRING, ONE, .fallback = "\"TryNextFlavor\"",
     .values = VALUES("Preempt", "MayStopSearch", "TryNextFlavor"),
     .doc = "Preempt preempts in this flavor, TryNextFlavor looks at the next first."},
    PREFERENCE_ROW,
    {0}};
static const struct type TYPE_FUNGIBILITY_V1BETA1 = {
    KUEUE_V1BETA1("FlavorFungibility"), FUNGIBILITY_DOC, FUNGIBILITY_FIELDS_V1BETA1};

static const struct field BORROW_FIELDS[] = {
    {"policy", F_STRING, ONE, .fallback = "\"Never\"", .values = VALUES("Never", "LowerPriority"),
     .doc = "LowerPriority also preempts for what must be borrowed, and only lower priorities."},
    {"maxPriorityThreshold", F_INT32, ONE,
     .doc = "Workloads above this priority are not preempted for it."},
    {0}};
static const struct type TYPE_BORROW = {
    KUEUE_V1BETA2("BorrowWithinCohort"), "Preemption while borrowing.", BORROW_FIELDS};

static const struct field PREEMPTION_FIELDS[] = {
    {"reclaimWithinCohort", F_STRING, ONE, .fallback = "\"Never\"",
     .values = VALUES("Never", "LowerPriority", "Any"),
     .doc = "Whose workloads in other queues of the cohort, which have borrowed, are preempted for a "
            "workload that fits the nominal quota."},
    {"borrowWithinCohort", F_OBJECT, ONE, .of = &TYPE_BORROW,
     .doc = "Whether workloads are preempted for one that has to borrow."},
    {"withinClusterQueue", F_STRING, ONE, .fallback = "\"Never\"",
     .values = VALUES("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
     .doc = "Which workloads of the queue itself are preempted."},
    {0}};
static const struct type TYPE_PREEMPTION = {
    KUEUE_V1BETA2("ClusterQueuePreemption"), "Who makes room for whom.", PREEMPTION_FIELDS};

static const struct field CHECK_RULE_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED, .doc = "An AdmissionCheck."},
    {"onFlavors", F_STRING, LIST, .doc = "Flavors for which it holds; all when empty."},
    {0}};
static const struct type TYPE_CHECK_RULE = {
    KUEUE_V1BETA2("AdmissionCheckStrategyRule"), "One admission check.", CHECK_RULE_FIELDS};
static const struct field CHECKS_FIELDS[] = {
    {"admissionChecks", F_OBJECT, LIST, .of = &TYPE_CHECK_RULE, .doc = "The checks."},
    {0}};
static const struct type TYPE_CHECKS = {
    KUEUE_V1BETA2("AdmissionChecksStrategy"), "Checks by others before admission.", CHECKS_FIELDS};

#define SPEC_ROWS                                                                                  \
    {"resourceGroups", F_OBJECT, LIST, RANGE, .max = GROUPS_MAX, .of = &TYPE_RESOURCE_GROUP,       \
     .doc = "The quotas: groups of resources, each with its flavors."},                            \
    {"queueingStrategy", F_STRING, ONE, .fallback = "\"BestEffortFIFO\"",                          \
     .values = VALUES("StrictFIFO", "BestEffortFIFO"),                                             \
     .doc = "By priority, then time. StrictFIFO: one that does not fit holds up those behind it; "   \
            "BestEffortFIFO: it does not."},                                                       \
    {"namespaceSelector", F_OBJECT, ONE, .of = &TYPE_LABEL_SELECTOR,                               \
     .doc = "Labels of the namespaces whose workloads are let in; {} is all, none when not set."}, \
    {"preemption", F_OBJECT, ONE, .of = &TYPE_PREEMPTION, .fallback = "{}",                        \
     .doc = "Who makes room for whom."},                                                           \
    {"admissionChecksStrategy", F_OBJECT, ONE, .of = &TYPE_CHECKS,                                 \
     .doc = "Checks by others: who has quota waits until each of them is Ready."},                 \
    {"stopPolicy", F_STRING, ONE, .fallback = "\"None\"",                                          \
     .values = VALUES("None", "Hold", "HoldAndDrain"),                                             \
     .doc = "Hold admits nothing new, HoldAndDrain evicts what was admitted too."},                \
    {"fairSharing", F_OBJECT, ONE, .of = &TYPE_FAIR_SHARING,                                       \
     .doc = "Kept for manifests that have it."},                                                   \
    {"admissionScope", F_ANY, ONE, .doc = "Kept for manifests that have it."},                     \
    {0}
static const struct field SPEC_FIELDS[] = {
    {"cohortName", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN,
     .doc = "Queues with the same cohort lend each other what they do not use."},
    {"flavorFungibility", F_OBJECT, ONE, .of = &TYPE_FUNGIBILITY, .fallback = "{}",
     .doc = FUNGIBILITY_DOC},
    SPEC_ROWS};
static const struct field SPEC_FIELDS_V1BETA1[] = {
    {"cohort", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN,
     .doc = "Queues with the same cohort lend each other what they do not use. In v1beta2 "
            "cohortName."},
    {"flavorFungibility", F_OBJECT, ONE, .of = &TYPE_FUNGIBILITY_V1BETA1, .fallback = "{}",
     .doc = FUNGIBILITY_DOC},
    {"admissionChecks", F_STRING, LIST,
     .doc = "Checks for all flavors. In v1beta2 part of admissionChecksStrategy."},
    SPEC_ROWS};

static const struct field STATUS_FIELDS[] = {
    {"conditions", F_OBJECT, LIST, MERGE | RANGE, .max = 16, .of = &TYPE_CONDITION,
     .merge_key = "type", .doc = "Active: whether it can admit workloads, and why not."},
    {"flavorsReservation", F_OBJECT, LIST, .of = &TYPE_FLAVOR_USAGE,
     .doc = "What workloads with quota have taken."},
    {"flavorsUsage", F_OBJECT, LIST, .of = &TYPE_FLAVOR_USAGE,
     .doc = "What admitted workloads have taken."},
    {"pendingWorkloads", F_INT32, ONE, .doc = "Workloads that wait."},
    {"reservingWorkloads", F_INT32, ONE, .doc = "Workloads that have quota."},
    {"admittedWorkloads", F_INT32, ONE, .doc = "Workloads that may run."},
    {"evictedWorkloads", F_INT64, ONE,
     .doc = "How often a workload was evicted since the queue is there."},
    {"fairSharing", F_ANY, ONE, .doc = "Not used here."},
    {0}};
// clang-format on

static void check_preemption(struct check *c, yyjson_mut_val *spec)
{
    yyjson_mut_val *policy = json_mut_at(spec, "preemption.borrowWithinCohort.policy");
    if (!str_eq(json_mut_str_at(spec, "preemption.reclaimWithinCohort"), "Never") ||
        policy == NULL || yyjson_mut_equals_str(policy, "Never"))
        return;
    size_t mark = check_enter(c, "preemption");
    size_t inner = check_enter(c, "borrowWithinCohort");
    check_invalid(c, "policy", policy, "needs reclaimWithinCohort other than Never");
    check_leave(c, inner);
    check_leave(c, mark);
}

/* A preference is between borrowing and preempting when the whole list was looked at. */
static void check_fungibility(struct check *c, yyjson_mut_val *spec)
{
    yyjson_mut_val *rules = yyjson_mut_obj_get(spec, "flavorFungibility");
    yyjson_mut_val *preference = yyjson_mut_obj_get(rules, "preference");
    if (!yyjson_mut_is_str(preference) ||
        (str_eq(json_mut_str_at(rules, "whenCanBorrow"), "TryNextFlavor") &&
         str_eq(json_mut_str_at(rules, "whenCanPreempt"), "TryNextFlavor")))
        return;
    size_t mark = check_enter(c, "flavorFungibility");
    check_invalid(c, "preference", preference,
                  "needs whenCanBorrow and whenCanPreempt to be TryNextFlavor");
    check_leave(c, mark);
}

static void spec_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    kueue_check_groups(c, val, (struct kueue_owner){.parent = "cohortName"});
    check_preemption(c, val);
    check_fungibility(c, val);
}

static void spec_check_v1beta1(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    kueue_check_groups(c, val, (struct kueue_owner){.parent = "cohort"});
    check_preemption(c, val);
    check_fungibility(c, val);
    if (yyjson_mut_arr_size(yyjson_mut_obj_get(val, "admissionChecks")) > 0 &&
        rules_has(val, "admissionChecksStrategy"))
        check_forbidden(c, "admissionChecks", "only one of it and admissionChecksStrategy");
}

static const struct type TYPE_SPEC = {KUEUE_V1BETA2("ClusterQueueSpec"), "What there is to give.",
                                      SPEC_FIELDS, .check = spec_check};
static const struct type TYPE_SPEC_V1BETA1 = {KUEUE_V1BETA1("ClusterQueueSpec"),
                                              "What there is to give.", SPEC_FIELDS_V1BETA1,
                                              .check = spec_check_v1beta1};
static const struct type TYPE_STATUS = {KUEUE_V1BETA2("ClusterQueueStatus"), "What is given.",
                                        STATUS_FIELDS};

static const struct field FIELDS[] = {KUEUE_KIND_FIELDS(TYPE_SPEC, TYPE_STATUS, "What is given.")};
static const struct field FIELDS_V1BETA1[] = {
    KUEUE_KIND_FIELDS(TYPE_SPEC_V1BETA1, TYPE_STATUS, "What is given.")};

static const char DOC[] = "A pool of quota and the line of workloads that wait for it.";
static const struct type TYPE_QUEUE = {KUEUE_V1BETA2("ClusterQueue"), DOC, FIELDS};
static const struct type TYPE_QUEUE_V1BETA1 = {KUEUE_V1BETA1("ClusterQueue"), DOC, FIELDS_V1BETA1};

/* ---- versions ---- */

static void reword(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *path, const char *from,
                   const char *to)
{
    if (str_eq(json_mut_str_at(root, path), from))
        json_mut_set(doc, root, path, yyjson_mut_str(doc, to));
}

static void to_stored(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    kueue_rename(doc, root, "spec", "cohort", "cohortName");
    reword(doc, root, "spec.flavorFungibility.whenCanBorrow", "Borrow", "MayStopSearch");
    reword(doc, root, "spec.flavorFungibility.whenCanPreempt", "Preempt", "MayStopSearch");
    yyjson_mut_val *names = json_mut_at(root, "spec.admissionChecks");
    if (!yyjson_mut_is_arr(names))
        return;
    yyjson_mut_val *rules = yyjson_mut_arr(doc);
    size_t i, n;
    yyjson_mut_val *name;
    yyjson_mut_arr_foreach(names, i, n, name)
    {
        yyjson_mut_val *rule = yyjson_mut_arr_add_obj(doc, rules);
        json_mut_put(doc, rule, "name", yyjson_mut_val_mut_copy(doc, name));
    }
    json_mut_put(doc, json_mut_at(root, "spec"), "admissionChecks", NULL);
    if (n > 0)
        json_mut_set(doc, root, "spec.admissionChecksStrategy.admissionChecks", rules);
}

static void from_stored(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    kueue_rename(doc, root, "spec", "cohortName", "cohort");
    reword(doc, root, "spec.flavorFungibility.whenCanBorrow", "MayStopSearch", "Borrow");
    reword(doc, root, "spec.flavorFungibility.whenCanPreempt", "MayStopSearch", "Preempt");
}

static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Cohort", "string", "", "With whom it shares.", 0, "spec.cohortName"},
    {"Strategy", "string", "", "Who is next.", 1, "spec.queueingStrategy"},
    {"Pending Workloads", "integer", "", "Those that wait.", 0, "status.pendingWorkloads"},
    {"Admitted Workloads", "integer", "", "Those that may run.", 1, "status.admittedWorkloads"},
    {"Age", "date", "", "Time since it was created.", 1, "metadata.creationTimestamp"},
    {0}};

#define QUEUE_KIND                                                                                 \
    .group = KUEUE_GROUP, .name = "ClusterQueue", .plural = "clusterqueues",                       \
    .singular = "clusterqueue", .short_names = VALUES("cq"), .has_status = true,                   \
    .name_format = FMT_DNS_SUBDOMAIN, .columns = COLUMNS

const struct kind KIND_CLUSTERQUEUE = {QUEUE_KIND, .version = "v1beta2", .type = &TYPE_QUEUE};
extern const struct kind KIND_CLUSTERQUEUE_V1BETA1;
const struct kind KIND_CLUSTERQUEUE_V1BETA1 = {QUEUE_KIND,
                                               .version = "v1beta1",
                                               .type = &TYPE_QUEUE_V1BETA1,
                                               .stored = &KIND_CLUSTERQUEUE,
                                               .to_stored = to_stored,
                                               .from_stored = from_stored};
