// SPDX-License-Identifier: Apache-2.0
#include "model/kueue.h"

// clang-format off
static const struct field SPEC_FIELDS[] = {
    {"clusterQueue", F_STRING, ONE, REQUIRED | NON_EMPTY | IMMUTABLE, .format = FMT_DNS_SUBDOMAIN,
     .doc = "The ClusterQueue whose quota workloads of this queue get. Cannot be changed."},
    {"stopPolicy", F_STRING, ONE, .fallback = "\"None\"",
     .values = VALUES("None", "Hold", "HoldAndDrain"),
     .doc = "Hold admits nothing new from this queue, HoldAndDrain evicts what was admitted too."},
    {"fairSharing", F_OBJECT, ONE, .of = &TYPE_FAIR_SHARING,
     .doc = "Kept for manifests that have it."},
    {0}};

#define STATUS_ROWS                                                                                \
    {"conditions", F_OBJECT, LIST, MERGE | RANGE, .max = 16, .of = &TYPE_CONDITION,                \
     .merge_key = "type", .doc = "Active: whether it can admit workloads, and why not."},          \
    {"pendingWorkloads", F_INT32, ONE, .doc = "Workloads that wait."},                             \
    {"reservingWorkloads", F_INT32, ONE, .doc = "Workloads that have quota."},                     \
    {"admittedWorkloads", F_INT32, ONE, .doc = "Workloads that may run."},                         \
    {"flavorsReservation", F_OBJECT, LIST, .of = &TYPE_LOCAL_FLAVOR_USAGE,                         \
     .doc = "What workloads with quota have taken."},                                              \
    {"flavors", F_ANY, LIST, .doc = "Flavors of the ClusterQueue; not filled in here."},           \
    {"fairSharing", F_ANY, ONE, .doc = "Not used here."},                                          \
    {0}
static const struct field STATUS_FIELDS[] = {
    {"flavorsUsage", F_OBJECT, LIST, .of = &TYPE_LOCAL_FLAVOR_USAGE,
     .doc = "What admitted workloads have taken."},
    STATUS_ROWS};
static const struct field STATUS_FIELDS_V1BETA1[] = {
    {"flavorUsage", F_OBJECT, LIST, .of = &TYPE_LOCAL_FLAVOR_USAGE,
     .doc = "What admitted workloads have taken. In v1beta2 flavorsUsage."},
    STATUS_ROWS};
// clang-format on

static const struct type TYPE_SPEC = {KUEUE_V1BETA2("LocalQueueSpec"), "Where it leads.",
                                      SPEC_FIELDS};
static const struct type TYPE_STATUS = {KUEUE_V1BETA2("LocalQueueStatus"), "How full it is.",
                                        STATUS_FIELDS};
static const struct type TYPE_STATUS_V1BETA1 = {KUEUE_V1BETA1("LocalQueueStatus"),
                                                "How full it is.", STATUS_FIELDS_V1BETA1};
static const struct field FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, REQUIRED, .of = &TYPE_SPEC, .doc = "Where it leads."},
    {"status", F_OBJECT, ONE, .of = &TYPE_STATUS, .doc = "How full it is."},
    {0}};
static const struct field FIELDS_V1BETA1[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, REQUIRED, .of = &TYPE_SPEC, .doc = "Where it leads."},
    {"status", F_OBJECT, ONE, .of = &TYPE_STATUS_V1BETA1, .doc = "How full it is."},
    {0}};

static const char DOC[] =
    "A queue of one namespace, named by the label " KUEUE_QUEUE_LABEL " of Jobs, JobSets and pods.";
static const struct type TYPE_QUEUE = {KUEUE_V1BETA2("LocalQueue"), DOC, FIELDS};
static const struct type TYPE_QUEUE_V1BETA1 = {KUEUE_V1BETA1("LocalQueue"), DOC, FIELDS_V1BETA1};

static void to_stored(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    kueue_rename(doc, root, "status", "flavorUsage", "flavorsUsage");
}

static void from_stored(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    kueue_rename(doc, root, "status", "flavorsUsage", "flavorUsage");
}

static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"ClusterQueue", "string", "", "Where it leads.", 0, "spec.clusterQueue"},
    {"Pending Workloads", "integer", "", "Those that wait.", 0, "status.pendingWorkloads"},
    {"Admitted Workloads", "integer", "", "Those that may run.", 0, "status.admittedWorkloads"},
    {"Age", "date", "", "Time since it was created.", 1, "metadata.creationTimestamp"},
    {0}};

#define QUEUE_KIND                                                                                 \
    .group = KUEUE_GROUP, .name = "LocalQueue", .plural = "localqueues", .singular = "localqueue", \
    .short_names = VALUES("queue", "queues", "lq"), .namespaced = true, .has_status = true,        \
    .name_format = FMT_DNS_SUBDOMAIN, .columns = COLUMNS,                                          \
    .selectable = VALUES("spec.clusterQueue")

const struct kind KIND_LOCALQUEUE = {QUEUE_KIND, .version = "v1beta2", .type = &TYPE_QUEUE};
extern const struct kind KIND_LOCALQUEUE_V1BETA1;
const struct kind KIND_LOCALQUEUE_V1BETA1 = {QUEUE_KIND,
                                             .version = "v1beta1",
                                             .type = &TYPE_QUEUE_V1BETA1,
                                             .stored = &KIND_LOCALQUEUE,
                                             .to_stored = to_stored,
                                             .from_stored = from_stored};
