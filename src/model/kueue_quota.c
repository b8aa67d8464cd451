// SPDX-License-Identifier: Apache-2.0
/* Quotas: resource groups with their flavors, as ClusterQueues and Cohorts have them. */
#include "model/kueue.h"
#include "model/podspec.h"

#define FLAVORS_MAX 64
#define RESOURCES_MAX 64

// clang-format off
static const struct field QUOTA_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_QUALIFIED,
     .doc = "The resource: cpu, memory, example.com/gpu and so on."},
    {"nominalQuota", F_QUANTITY, ONE, REQUIRED | RANGE,
     .doc = "How much of it is this queue's own."},
    {"borrowingLimit", F_QUANTITY, ONE, RANGE,
     .doc = "How much more may be taken of what others in the cohort do not use. No limit when not "
            "set. Only with a cohort."},
    {"lendingLimit", F_QUANTITY, ONE, RANGE,
     .doc = "How much of the nominal quota others in the cohort may take while it is not used; all of "
            "it when not set. Only with a cohort."},
    {0}};
static const struct type TYPE_QUOTA = {
    KUEUE_V1BETA2("ResourceQuota"), "How much there is of one resource in one flavor.",
    QUOTA_FIELDS};

static const struct field FLAVOR_QUOTAS_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_DNS_SUBDOMAIN,
     .doc = "Name of a ResourceFlavor. While there is none the queue is not active."},
    {"resources", F_OBJECT, LIST, REQUIRED | NON_EMPTY | MERGE | RANGE, .max = RESOURCES_MAX,
     .of = &TYPE_QUOTA, .merge_key = "name",
     .doc = "The quota of each covered resource, in their order."},
    {0}};
static const struct type TYPE_FLAVOR_QUOTAS = {
    KUEUE_V1BETA2("FlavorQuotas"), "The quotas of one flavor.", FLAVOR_QUOTAS_FIELDS};

static const struct field RESOURCE_GROUP_FIELDS[] = {
    {"coveredResources", F_STRING, LIST, REQUIRED | NON_EMPTY | RANGE, .max = RESOURCES_MAX,
     .format = FMT_QUALIFIED,
     .doc = "Resources that are taken from the same flavor: a pod set gets all of them from one."},
    {"flavors", F_OBJECT, LIST, REQUIRED | NON_EMPTY | MERGE | RANGE, .max = FLAVORS_MAX,
     .of = &TYPE_FLAVOR_QUOTAS, .merge_key = "name",
     .doc = "Flavors in the order in which they are tried."},
    {0}};
const struct type TYPE_RESOURCE_GROUP = {
    KUEUE_V1BETA2("ResourceGroup"), "Resources that come from the same flavors.",
    RESOURCE_GROUP_FIELDS};
// clang-format on

struct walk {
    struct kueue_owner owner;
    bool has_parent;
    struct rules_names resources, flavors; /* of the groups before */
};

static void check_quota(struct check *c, yyjson_mut_val *quota, const struct walk *walk)
{
    static const char *const LIMITS[] = {"borrowingLimit", "lendingLimit"};
    const char *what = walk->owner.parent;
    for (size_t i = 0; !walk->has_parent && i < ARRAY_LEN(LIMITS); i++) {
        if (!rules_has(quota, LIMITS[i]))
            continue;
        scoped_free char *why = mem_printf("must be nil when %s is empty", what);
        check_invalid(c, LIMITS[i], yyjson_mut_obj_get(quota, LIMITS[i]), why);
        scoped_free char *hint = mem_printf("set %s, or leave out the limit", what);
        check_hint(c, hint);
    }
    quantity nominal = 0, lending = 0;
    yyjson_mut_val *limit = yyjson_mut_obj_get(quota, "lendingLimit");
    if (walk->has_parent && !walk->owner.is_cohort && resources_amount(limit, &lending) &&
        resources_amount(yyjson_mut_obj_get(quota, "nominalQuota"), &nominal) &&
        quantity_cmp(lending, nominal) > 0)
        check_invalid(c, "lendingLimit", limit, "must be less than or equal to the nominalQuota");
}

static void check_flavor(struct check *c, yyjson_mut_val *flavor, yyjson_mut_val *covered,
                         const struct walk *walk)
{
    yyjson_mut_val *resources = yyjson_mut_obj_get(flavor, "resources");
    size_t mark = check_enter_field(c, "resources", resources), i, n;
    if (yyjson_mut_arr_size(resources) != yyjson_mut_arr_size(covered))
        check_invalid(c, NULL, resources,
                      "must have the same number of resources as the "
                      "coveredResources");
    yyjson_mut_val *quota;
    yyjson_mut_arr_foreach(resources, i, n, quota)
    {
        size_t item = check_enter_item(c, i, quota);
        yyjson_mut_val *name = yyjson_mut_obj_get(quota, "name");
        const char *want = yyjson_mut_get_str(yyjson_mut_arr_get(covered, i));
        if (want != NULL && yyjson_mut_is_str(name) && !str_eq(yyjson_mut_get_str(name), want))
            check_invalid(c, "name", name, "must match the name in coveredResources");
        check_quota(c, quota, walk);
        check_leave(c, item);
    }
    check_leave(c, mark);
}

static void check_group(struct check *c, yyjson_mut_val *group, struct walk *walk)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_val *covered = yyjson_mut_obj_get(group, "coveredResources");
    size_t mark = check_enter_field(c, "coveredResources", covered);
    yyjson_mut_arr_foreach(covered, i, n, item)
    {
        size_t at = check_enter_item(c, i, item);
        if (yyjson_mut_is_str(item) && rules_knows(&walk->resources, yyjson_mut_get_str(item)))
            check_duplicate(c, NULL, item);
        rules_add_name(&walk->resources, item);
        check_leave(c, at);
    }
    check_leave(c, mark);
    yyjson_mut_val *flavors = yyjson_mut_obj_get(group, "flavors");
    mark = check_enter_field(c, "flavors", flavors);
    yyjson_mut_arr_foreach(flavors, i, n, item)
    {
        size_t at = check_enter_item(c, i, item);
        yyjson_mut_val *name = yyjson_mut_obj_get(item, "name");
        if (yyjson_mut_is_str(name) && rules_knows(&walk->flavors, yyjson_mut_get_str(name)))
            check_duplicate(c, "name", name);
        check_flavor(c, item, covered, walk);
        check_leave(c, at);
    }
    rules_names_of(&walk->flavors, flavors, "name"); /* doubles within are the table's to report */
    check_leave(c, mark);
}

void kueue_check_groups(struct check *c, yyjson_mut_val *spec, struct kueue_owner owner)
{
    const char *parent = json_mut_str_at(spec, owner.parent);
    struct walk walk = {.owner = owner, .has_parent = parent != NULL && *parent != '\0'};
    size_t i, n;
    yyjson_mut_val *group;
    yyjson_mut_val *groups = yyjson_mut_obj_get(spec, "resourceGroups");
    size_t mark = check_enter_field(c, "resourceGroups", groups);
    yyjson_mut_arr_foreach(groups, i, n, group)
    {
        size_t at = check_enter_item(c, i, group);
        check_group(c, group, &walk);
        check_leave(c, at);
    }
    check_leave(c, mark);
    rules_names_done(&walk.resources);
    rules_names_done(&walk.flavors);
}
