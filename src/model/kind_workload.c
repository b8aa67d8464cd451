// SPDX-License-Identifier: Apache-2.0
/* The Workload: a gang as the queue sees it. In v1beta1 the priority class is two fields instead of
 * one reference, and a field of the status has a letter too many. */
#include "model/kueue.h"
#include "model/podspec.h"

#define POD_SETS_MAX 18
#define CONDITIONS_MAX 16
#define PAST_V1BETA1 "accumulatedPastExexcutionTimeSeconds"
#define PAST "accumulatedPastExecutionTimeSeconds"
#define GROUP_PODS "scheduling.k8s.io"

// clang-format off
static const struct field POD_SET_FIELDS[] = {
    {"name", F_STRING, ONE, .fallback = "\"main\"", .format = FMT_DNS_LABEL,
     .doc = "A name for the set, no other set's."},
    {"count", F_INT32, ONE, REQUIRED | RANGE,
     .doc = "How many pods the set has."},
    {"minCount", F_INT32, ONE, RANGE, .min = 1,
     .doc = "How few will do when there is not enough quota for all. One set of a workload at most "
            "may have it."},
    {"template", F_OBJECT, ONE, REQUIRED | AS_WRITTEN | NEVER_MADE, .of = &TYPE_POD_TEMPLATE_SPEC,
     .doc = "The pattern of its pods: what they ask for and where they can run."},
    {"topologyRequest", F_ANY, ONE, .doc = "Kept for manifests that have it."},
    {0}};
static const struct type TYPE_POD_SET = {
    KUEUE_V1BETA2("PodSet"), "Pods that are all alike.", POD_SET_FIELDS};

static const struct field CLASS_REF_FIELDS[] = {
    {"group", F_STRING, ONE, .values = VALUES("", KUEUE_GROUP, GROUP_PODS),
     .doc = KUEUE_GROUP " or " GROUP_PODS "."},
    {"kind", F_STRING, ONE, .values = VALUES("", "WorkloadPriorityClass", "PriorityClass"),
     .doc = "WorkloadPriorityClass or PriorityClass."},
    {"name", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN, .doc = "Its name."},
    {0}};
static const struct type TYPE_CLASS_REF = {
    KUEUE_V1BETA2("PriorityClassRef"), "Where the priority is from.", CLASS_REF_FIELDS};

#define SPEC_ROWS                                                                                  \
    {"podSets", F_OBJECT, LIST, REQUIRED | NON_EMPTY | MERGE | RANGE, .max = POD_SETS_MAX,         \
     .of = &TYPE_POD_SET, .merge_key = "name",                                                     \
     .doc = "The pods, set by set. Cannot be changed while the workload has quota."},              \
    {"queueName", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN,                                      \
     .doc = "The LocalQueue in which it waits. Cannot be changed while the workload has quota."},  \
    {"priority", F_INT32, ONE, .doc = "Higher goes first. 0 when not set."},                       \
    {"active", F_BOOL, ONE, .fallback = "true",                                                    \
     .doc = "False takes its quota away and keeps it out of the queue; set it to true again, and "   \
            "all tries are forgotten. Set to false when there were too many of them."},            \
    {"maximumExecutionTimeSeconds", F_INT32, ONE, RANGE, .min = 1, .max = INT32_MAX,               \
     .doc = "Seconds for which it may be admitted, all times together; then it is deactivated."},  \
    {0}
static const struct field SPEC_FIELDS[] = {
    {"priorityClassRef", F_OBJECT, ONE, .of = &TYPE_CLASS_REF, .doc = "Where the priority is from."},
    SPEC_ROWS};
static const struct field SPEC_FIELDS_V1BETA1[] = {
    {"priorityClassName", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN,
     .doc = "The class that the priority is from. In v1beta2 part of priorityClassRef."},
    {"priorityClassSource", F_STRING, ONE,
     .values = VALUES("", KUEUE_GROUP "/workloadpriorityclass", GROUP_PODS "/priorityclass"),
     .doc = "Of which kind that class is. In v1beta2 part of priorityClassRef."},
    SPEC_ROWS};

static const struct field ASSIGNMENT_FIELDS[] = {
    {"name", F_STRING, ONE, .fallback = "\"main\"", .doc = "The pod set."},
    {"flavors", F_STRING, MAP, .doc = "Which flavor it got for each resource."},
    {"resourceUsage", F_QUANTITY, MAP, .doc = "How much of each resource all its pods take."},
    {"count", F_INT32, ONE, RANGE, .doc = "How many pods may run."},
    {"topologyAssignment", F_ANY, ONE, .doc = "Not used here."},
    {"delayedTopologyRequest", F_STRING, ONE, .doc = "Not used here."},
    {0}};
static const struct type TYPE_ASSIGNMENT = {
    KUEUE_V1BETA2("PodSetAssignment"), "What one pod set got.", ASSIGNMENT_FIELDS};
static const struct field ADMISSION_FIELDS[] = {
    {"clusterQueue", F_STRING, ONE, REQUIRED, .format = FMT_DNS_SUBDOMAIN,
     .doc = "The ClusterQueue whose quota it has."},
    {"podSetAssignments", F_OBJECT, LIST, MERGE, .of = &TYPE_ASSIGNMENT, .merge_key = "name",
     .doc = "What each pod set got."},
    {0}};
static const struct type TYPE_ADMISSION = {
    KUEUE_V1BETA2("Admission"), "The quota that a workload has.", ADMISSION_FIELDS};

static const struct field REQUEUE_FIELDS[] = {
    {"count", F_INT32, ONE, RANGE, .doc = "How often it was evicted because it did not get ready."},
    {"requeueAt", F_TIME, ONE, .doc = "Not before then is it in the queue again."},
    {"firstEvictedAt", F_TIME, ONE,
     .doc = "When the first of those evictions since it was ready was; for backoffLimitTimeout."},
    {0}};
static const struct type TYPE_REQUEUE = {
    KUEUE_V1BETA2("RequeueState"), "What is remembered from one try to the next.", REQUEUE_FIELDS};

static const struct field PAUSE_FIELDS[] = {
    {"flavor", F_STRING, ONE, REQUIRED, .doc = "The flavor."},
    {"count", F_INT32, ONE, RANGE, .doc = "How often the workload did not get ready on it."},
    {"until", F_TIME, ONE, .doc = "Until then it is not tried again, if there is another."},
    {0}};
static const struct type TYPE_PAUSE = {
    KUEUE_V1BETA2("FlavorPause"), "A flavor on which the workload did not get ready.", PAUSE_FIELDS};

static const struct field RECLAIMABLE_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED, .doc = "The pod set."},
    {"count", F_INT32, ONE, REQUIRED | RANGE, .doc = "How many of its pods have ended for good."},
    {0}};
static const struct type TYPE_RECLAIMABLE = {
    KUEUE_V1BETA2("ReclaimablePod"), "Pods whose quota is free again.", RECLAIMABLE_FIELDS};

static const struct field REQUEST_FIELDS[] = {
    {"name", F_STRING, ONE, .doc = "The pod set."},
    {"resources", F_QUANTITY, MAP, .doc = "How much all its pods ask for."},
    {0}};
static const struct type TYPE_REQUEST = {
    KUEUE_V1BETA2("PodSetRequest"), "What a pod set that waits asks for.", REQUEST_FIELDS};

static const struct field UPDATE_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED, .doc = "The pod set."},
    {"labels", F_STRING, MAP, KEY_FORMAT, .format = FMT_QUALIFIED,
     .doc = "Labels that its pods get, unless they have them."},
    {"annotations", F_STRING, MAP, KEY_FORMAT, .format = FMT_QUALIFIED,
     .doc = "Annotations that they get in the same way."},
    {"nodeSelector", F_STRING, MAP, KEY_FORMAT, .format = FMT_QUALIFIED,
     .doc = "What is asked of the node as well."},
    {"tolerations", F_OBJECT, LIST, .of = &TYPE_TOLERATION, .doc = "What else is tolerated."},
    {0}};
static const struct type TYPE_UPDATE = {
    KUEUE_V1BETA2("PodSetUpdate"), "What a check adds to the pods of a set.", UPDATE_FIELDS};

static const struct field CHECK_STATE_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED, .doc = "The AdmissionCheck."},
    {"state", F_STRING, ONE, REQUIRED, .values = VALUES("Pending", "Ready", "Retry", "Rejected"),
     .doc = "By who answers for it. Ready lets it start when all are; Retry takes its quota and tries "
            "again; Rejected deactivates it."},
    {"lastTransitionTime", F_TIME, ONE, .doc = "When the state last changed."},
    {"message", F_STRING, ONE, .doc = "For people."},
    {"requeueAfterSeconds", F_INT32, ONE, RANGE, .max = INT32_MAX,
     .doc = "Of Retry: for how long, from lastTransitionTime, it is kept out of the queue."},
    {"retryCount", F_INT32, ONE, RANGE, .max = INT32_MAX, .doc = "How often this check said Retry."},
    {"podSetUpdates", F_OBJECT, LIST, MERGE, .of = &TYPE_UPDATE, .merge_key = "name",
     .doc = "What is added to the pods when it starts, and taken away when it is evicted."},
    {0}};
static const struct type TYPE_CHECK_STATE = {
    KUEUE_V1BETA2("AdmissionCheckState"), "What one check says.", CHECK_STATE_FIELDS};

static const struct field EVICTION_FIELDS[] = {
    {"reason", F_STRING, ONE, REQUIRED, .doc = "Why it was evicted."},
    {"underlyingCause", F_STRING, ONE, .doc = "More exactly; may be empty."},
    {"count", F_INT64, ONE, REQUIRED | RANGE, .doc = "How often."},
    {0}};
static const struct type TYPE_EVICTION = {
    KUEUE_V1BETA2("WorkloadSchedulingStatsEviction"), "Evictions of one sort.", EVICTION_FIELDS};
static const struct field STATS_FIELDS[] = {
    {"evictions", F_OBJECT, LIST, .of = &TYPE_EVICTION, .doc = "How often it was evicted and why."},
    {0}};
static const struct type TYPE_STATS = {
    KUEUE_V1BETA2("SchedulingStats"), "What happened to it so far.", STATS_FIELDS};

#define STATUS_ROWS                                                                                \
    {"conditions", F_OBJECT, LIST, MERGE | RANGE, .max = CONDITIONS_MAX, .of = &TYPE_CONDITION,    \
     .merge_key = "type",                                                                          \
     .doc = "QuotaReserved, Admitted, PodsReady, Evicted, Requeued, Preempted, DeactivationTarget, " \
            "Finished."},                                                                          \
    {"admission", F_OBJECT, ONE, .of = &TYPE_ADMISSION, .doc = "The quota that it has."},          \
    {"requeueState", F_OBJECT, ONE, .of = &TYPE_REQUEUE,                                           \
     .doc = "What is remembered from one try to the next."},                                       \
    {"flavorPauses", F_OBJECT, LIST, MERGE, .of = &TYPE_PAUSE, .merge_key = "flavor",              \
     .doc = "Flavors on which it did not get ready."},                                             \
    {"reclaimablePods", F_OBJECT, LIST, MERGE, .of = &TYPE_RECLAIMABLE, .merge_key = "name",       \
     .doc = "Pods whose quota is free again."},                                                    \
    {"admissionChecks", F_OBJECT, LIST, MERGE, .of = &TYPE_CHECK_STATE, .merge_key = "name",       \
     .doc = "What the checks say that its ClusterQueue asks for."},                                \
    {"resourceRequests", F_OBJECT, LIST, MERGE, .of = &TYPE_REQUEST, .merge_key = "name",          \
     .doc = "What it asks for while it waits."},                                                   \
    {"schedulingStats", F_OBJECT, ONE, .of = &TYPE_STATS, .doc = "What happened to it so far."},   \
    {0}
static const struct field STATUS_FIELDS[] = {
    {PAST, F_INT32, ONE, .doc = "Seconds for which it was admitted before."}, STATUS_ROWS};
static const struct field STATUS_FIELDS_V1BETA1[] = {
    {PAST_V1BETA1, F_INT32, ONE, .doc = "Seconds for which it was admitted before."}, STATUS_ROWS};

static const struct type TYPE_SPEC = {
    KUEUE_V1BETA2("WorkloadSpec"), "What it needs, and how urgent it is.", SPEC_FIELDS};
static const struct type TYPE_SPEC_V1BETA1 = {
    KUEUE_V1BETA1("WorkloadSpec"), "What it needs, and how urgent it is.", SPEC_FIELDS_V1BETA1};
static const struct type TYPE_STATUS = {
    KUEUE_V1BETA2("WorkloadStatus"), "How far it is.", STATUS_FIELDS};
static const struct type TYPE_STATUS_V1BETA1 = {
    KUEUE_V1BETA1("WorkloadStatus"), "How far it is.", STATUS_FIELDS_V1BETA1};

static const struct field FIELDS[] = {KUEUE_KIND_FIELDS(TYPE_SPEC, TYPE_STATUS, "How far it is.")};
static const struct field FIELDS_V1BETA1[] = {
    KUEUE_KIND_FIELDS(TYPE_SPEC_V1BETA1, TYPE_STATUS_V1BETA1, "How far it is.")};
static const char DOC[] =
    "A gang as the queue sees it: pods that get their quota together or not at all.";
static const struct type TYPE_WORKLOAD = {
    KUEUE_V1BETA2("Workload"), DOC, FIELDS, .check = workload_check};
static const struct type TYPE_WORKLOAD_V1BETA1 = {
    KUEUE_V1BETA1("Workload"), DOC, FIELDS_V1BETA1, .check = workload_check};
// clang-format on

/* ---- versions ---- */

static const struct {
    const char *source, *group, *kind;
} SOURCES[] = {
    {KUEUE_GROUP "/workloadpriorityclass", KUEUE_GROUP, "WorkloadPriorityClass"},
    {GROUP_PODS "/priorityclass", GROUP_PODS, "PriorityClass"},
};

static yyjson_mut_val *copy_of(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    return val != NULL ? yyjson_mut_val_mut_copy(doc, val) : NULL;
}

static void to_stored(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    kueue_rename(doc, root, "status", PAST_V1BETA1, PAST);
    yyjson_mut_val *spec = json_mut_at(root, "spec");
    yyjson_mut_val *name = copy_of(doc, json_mut_at(spec, "priorityClassName"));
    const char *source = json_mut_str_at(spec, "priorityClassSource");
    for (size_t i = 0; source != NULL && i < ARRAY_LEN(SOURCES); i++) {
        if (strcmp(source, SOURCES[i].source) != 0)
            continue;
        json_mut_set(doc, spec, "priorityClassRef.group", yyjson_mut_str(doc, SOURCES[i].group));
        json_mut_set(doc, spec, "priorityClassRef.kind", yyjson_mut_str(doc, SOURCES[i].kind));
    }
    if (name != NULL && yyjson_mut_get_len(name) > 0)
        json_mut_set(doc, spec, "priorityClassRef.name", name);
    if (yyjson_mut_is_obj(spec)) {
        json_mut_put(doc, spec, "priorityClassName", NULL);
        json_mut_put(doc, spec, "priorityClassSource", NULL);
    }
}

static void from_stored(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    kueue_rename(doc, root, "status", PAST, PAST_V1BETA1);
    yyjson_mut_val *spec = json_mut_at(root, "spec");
    yyjson_mut_val *ref = json_mut_at(spec, "priorityClassRef");
    if (!yyjson_mut_is_obj(ref))
        return;
    yyjson_mut_val *name = copy_of(doc, yyjson_mut_obj_get(ref, "name"));
    const char *group = json_mut_str_at(ref, "group");
    const char *source = NULL;
    for (size_t i = 0; group != NULL && i < ARRAY_LEN(SOURCES); i++)
        source = strcmp(group, SOURCES[i].group) == 0 ? SOURCES[i].source : source;
    json_mut_put(doc, spec, "priorityClassRef", NULL);
    if (name != NULL)
        json_mut_put(doc, spec, "priorityClassName", name);
    if (source != NULL)
        json_mut_put(doc, spec, "priorityClassSource", yyjson_mut_str(doc, source));
}

/* ---- cells ---- */

static void cell_admitted(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, cell_condition(root, "Admitted"), "status", "");
}

static void cell_finished(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, cell_condition(root, "Finished"), "status", "");
}

static void cell_ready(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, cell_condition(root, "PodsReady"), "status", "");
}

static void cell_queue(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, root, "spec.queueName", "");
}

static void cell_reserved(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, root, "status.admission.clusterQueue", "");
}

static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Queue", "string", "", "Where it waits.", .cell = cell_queue},
    {"Reserved in", "string", "", "Whose quota it has.", .cell = cell_reserved},
    {"Admitted", "string", "", "Whether it may run.", .cell = cell_admitted},
    {"Finished", "string", "", "Whether it has ended.", .cell = cell_finished},
    AGE_COLUMN,
    {"Pods ready", "string", "", "Whether all its pods are ready.", 1, .cell = cell_ready},
    {"Priority", "integer", "", "Higher goes first.", 1, "spec.priority"},
    {0}};

#define WORKLOAD_KIND                                                                              \
    .group = KUEUE_GROUP, .name = "Workload", .plural = "workloads", .singular = "workload",       \
    .short_names = VALUES("wl"), .namespaced = true, .has_status = true,                           \
    .name_format = FMT_DNS_SUBDOMAIN, .columns = COLUMNS,                                          \
    .selectable = VALUES("spec.queueName", "status.admission.clusterQueue")

const struct kind KIND_WORKLOAD = {WORKLOAD_KIND, .version = "v1beta2", .type = &TYPE_WORKLOAD};
extern const struct kind KIND_WORKLOAD_V1BETA1;
const struct kind KIND_WORKLOAD_V1BETA1 = {WORKLOAD_KIND,
                                           .version = "v1beta1",
                                           .type = &TYPE_WORKLOAD_V1BETA1,
                                           .stored = &KIND_WORKLOAD,
                                           .to_stored = to_stored,
                                           .from_stored = from_stored};
