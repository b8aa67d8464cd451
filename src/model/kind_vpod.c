// SPDX-License-Identifier: Apache-2.0
#include "model/cell.h"
#include "model/kind.h"
#include "model/rules.h"
#include <string.h>

#define V1ALPHA1(name) "dev.muster.v1alpha1." name
#define VREPLICAS_MAX 1000000
#define SPREAD_SHOWN 8 /* pods in the column; more are counted */

// clang-format off
static const struct field SPEC_FIELDS[] = {
    {"pool", F_STRING, ONE, REQUIRED | NON_EMPTY | IMMUTABLE, .format = FMT_DNS_SUBDOMAIN,
     .doc = "The StatefulSet in the same namespace whose pods take the vreplicas."},
    {"vreplicas", F_INT32, ONE, RANGE, .fallback = "1", .min = 0, .max = VREPLICAS_MAX,
     .doc = "How many equal parts the work of this source has."},
    {"maxPods", F_INT32, ONE, RANGE, .min = 1,
     .doc = "On how many pods they may be at most, for instance the partitions of a topic."},
    {"rebalance", F_STRING, ONE, .fallback = "\"Spread\"", .values = VALUES("Spread", "Minimal"),
     .doc = "Spread: when it grows, all of its vreplicas are spread anew. Minimal: nothing moves "
            "that need not."},
    {0}};
static const struct type TYPE_SPEC = {
    V1ALPHA1("VPodSpec"), "How many vreplicas there are, and in which pool.", SPEC_FIELDS};

static const struct field PLACEMENT_FIELDS[] = {
    {"podName", F_STRING, ONE, REQUIRED | NON_EMPTY, .doc = "The pod."},
    {"vreplicas", F_INT32, ONE, REQUIRED | RANGE, .min = 1, .doc = "How many it has of them."},
    {0}};
static const struct type TYPE_PLACEMENT = {
    V1ALPHA1("Placement"), "So many vreplicas on a pod.", PLACEMENT_FIELDS};

static const struct field STATUS_FIELDS[] = {
    {"observedGeneration", F_INT64, ONE,
     .doc = "The generation of the vpod that this status is about."},
    {"placements", F_OBJECT, LIST, .of = &TYPE_PLACEMENT, .merge_key = "podName",
     .doc = "Where its vreplicas are, in order of the pods' numbers."},
    {"placed", F_INT32, ONE, RANGE, .doc = "How many have a place."},
    {"pending", F_INT32, ONE, RANGE, .doc = "How many have none."},
    {"conditions", F_OBJECT, LIST, MERGE, .of = &TYPE_CONDITION, .merge_key = "type",
     .doc = "Scheduled: whether all have a place, and why not."},
    {0}};
static const struct type TYPE_STATUS = {
    V1ALPHA1("VPodStatus"), "Where its vreplicas are.", STATUS_FIELDS};

static const struct field VPOD_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, REQUIRED, .of = &TYPE_SPEC,
     .doc = "How many vreplicas there are, and in which pool."},
    {"status", F_OBJECT, ONE, .of = &TYPE_STATUS, .doc = "Where its vreplicas are."},
    {0}};
static const struct type TYPE_VPOD = {
    V1ALPHA1("VPod"), "An event source whose work is spread, in equal parts, over a pool of pods.",
    VPOD_FIELDS};
// clang-format on

static void vpod_prepare(yyjson_mut_doc *doc, yyjson_mut_val *root, time_ms now)
{
    (void)now;
    json_mut_put(doc, root, "status", yyjson_mut_obj(doc));
}

/* "0:5 1:5 2:4": the pods by their numbers. */
static void cell_spread(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    scoped_str text = {0};
    size_t i, n;
    yyjson_val *item, *list = json_at(root, "status.placements");
    yyjson_arr_foreach(list, i, n, item)
    {
        const char *name = json_str_at(item, "podName");
        const char *dash = name != NULL ? strrchr(name, '-') : NULL;
        if (i < SPREAD_SHOWN)
            str_addf(&text, "%s%s:%lld", i > 0 ? " " : "", dash != NULL ? dash + 1 : "?",
                     (long long)json_int_at(item, "vreplicas", 0));
    }
    if (yyjson_arr_size(list) > SPREAD_SHOWN)
        str_addf(&text, " … %zu pods", yyjson_arr_size(list));
    cell_text(out, text.len > 0 ? str_text(&text) : "<none>");
}

static void cell_placed(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_textf(out, "%lld/%lld", (long long)json_int_at(root, "status.placed", 0),
               (long long)json_int_at(root, "spec.vreplicas", 0));
}

// clang-format off
static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Pool",    "string",  "", "The StatefulSet that takes its vreplicas.", 0, "spec.pool"},
    {"Placed",  "string",  "", "Vreplicas with a place, of those wanted.", .cell = cell_placed},
    {"Spread",  "string",  "", "Numbers of pods, and how many each has.", .cell = cell_spread},
    AGE_COLUMN,
    {0}};
// clang-format on

static const struct kind_scale SCALE = {
    .spec_replicas = "spec.vreplicas",
    .status_replicas = "status.placed",
};

const struct kind KIND_VPOD = {
    .group = "muster.dev",
    .version = "v1alpha1",
    .name = "VPod",
    .plural = "vpods",
    .singular = "vpod",
    .short_names = VALUES("vp"),
    .namespaced = true,
    .has_status = true,
    .name_format = FMT_DNS_SUBDOMAIN,
    .type = &TYPE_VPOD,
    .columns = COLUMNS,
    .scale = &SCALE,
    .prepare = vpod_prepare,
};
