// SPDX-License-Identifier: Apache-2.0
#include "model/kueue.h"
#include "model/podspec.h"

#define PARTS_MAX 8

// clang-format off
static const struct field SPEC_FIELDS[] = {
    {"nodeLabels", F_STRING, MAP, KEY_FORMAT, .format = FMT_QUALIFIED,
     .doc = "Labels of the nodes that have this flavor, at most 8. Pods that get the flavor have them "
            "added to their nodeSelector."},
    {"nodeTaints", F_OBJECT, LIST, RANGE, .max = PARTS_MAX, .of = &TYPE_TAINT,
     .doc = "Taints of those nodes: workloads that do not tolerate them do not get the flavor."},
    {"tolerations", F_OBJECT, LIST, RANGE, .max = PARTS_MAX, .of = &TYPE_TOLERATION,
     .doc = "Added to the pods that get the flavor."},
    {"topologyName", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN,
     .doc = "Kept for manifests that have it; there are no Topology objects here."},
    {0}};
// clang-format on

/* As on a node: a taint is known by its key and what it does. */
static void check_taints(struct check *c, yyjson_mut_val *list)
{
    size_t mark = check_enter_field(c, "nodeTaints", list), i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, i, n, item)
    {
        size_t k, m;
        yyjson_mut_val *other;
        yyjson_mut_arr_foreach(list, k, m, other)
        {
            if (k >= i || !str_eq(json_mut_str_at(item, "key"), json_mut_str_at(other, "key")) ||
                !str_eq(json_mut_str_at(item, "effect"), json_mut_str_at(other, "effect")))
                continue;
            size_t at = check_enter_item(c, i, item);
            check_invalid(c, NULL, item, "taints must be unique by key and effect");
            check_leave(c, at);
            break;
        }
    }
    check_leave(c, mark);
}

static void spec_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    yyjson_mut_val *labels = yyjson_mut_obj_get(val, "nodeLabels");
    if (yyjson_mut_is_obj(labels) && yyjson_mut_obj_size(labels) > PARTS_MAX)
        check_invalid(c, "nodeLabels", labels, "must have at most 8 items");
    rules_label_values(c, val, "nodeLabels");
    check_taints(c, yyjson_mut_obj_get(val, "nodeTaints"));
}

static const struct type TYPE_SPEC = {KUEUE_V1BETA2("ResourceFlavorSpec"), "Which nodes it is of.",
                                      SPEC_FIELDS, .check = spec_check};

static const struct field FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, .of = &TYPE_SPEC, .doc = "Which nodes it is of."},
    {0},
};
static const char DOC[] = "A sort of resources: all nodes that have some labels, for instance.";
static const struct type TYPE_FLAVOR = {KUEUE_V1BETA2("ResourceFlavor"), DOC, FIELDS};
static const struct type TYPE_FLAVOR_V1BETA1 = {KUEUE_V1BETA1("ResourceFlavor"), DOC, FIELDS};

static const struct column COLUMNS[] = {NAME_COLUMN, AGE_COLUMN, {0}};

#define FLAVOR_KIND                                                                                \
    .group = KUEUE_GROUP, .name = "ResourceFlavor", .plural = "resourceflavors",                   \
    .singular = "resourceflavor", .short_names = VALUES("flavor", "flavors", "rf"),                \
    .name_format = FMT_DNS_SUBDOMAIN, .columns = COLUMNS

const struct kind KIND_RESOURCEFLAVOR = {FLAVOR_KIND, .version = "v1beta2", .type = &TYPE_FLAVOR};
extern const struct kind KIND_RESOURCEFLAVOR_V1BETA1;
const struct kind KIND_RESOURCEFLAVOR_V1BETA1 = {FLAVOR_KIND, .version = "v1beta1",
                                                 .type = &TYPE_FLAVOR_V1BETA1,
                                                 .stored = &KIND_RESOURCEFLAVOR};
