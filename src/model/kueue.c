// SPDX-License-Identifier: Apache-2.0
#include "model/kueue.h"
#include <stdlib.h>

void kueue_rename(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *parent, const char *from,
                  const char *to)
{
    yyjson_mut_val *obj = json_mut_at(root, parent);
    yyjson_mut_val *value = yyjson_mut_is_obj(obj) ? yyjson_mut_obj_get(obj, from) : NULL;
    if (value == NULL)
        return;
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(doc, value);
    json_mut_put(doc, obj, from, NULL);
    json_mut_put(doc, obj, to, copy);
}

static yyjson_mut_val *label_of(yyjson_mut_val *root, const char *name)
{
    yyjson_mut_val *labels = json_mut_at(root, "metadata.labels");
    return yyjson_mut_is_obj(labels) ? yyjson_mut_obj_get(labels, name) : NULL;
}

/* Is this object, in front of the store, to wait in a queue: by its label, and on its own? */
static bool is_queued(yyjson_mut_val *root)
{
    size_t i, n;
    yyjson_mut_val *ref;
    if (yyjson_mut_get_len(label_of(root, KUEUE_QUEUE_LABEL)) == 0)
        return false;
    yyjson_mut_arr_foreach(json_mut_at(root, "metadata.ownerReferences"), i, n, ref)
    {
        if (yyjson_mut_get_bool(json_mut_at(ref, "controller")))
            return false; /* its owner is who waits */
    }
    return true;
}

void kueue_hold(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    if (is_queued(root) && yyjson_mut_is_obj(json_mut_at(root, "spec")))
        json_mut_set(doc, root, "spec.suspend", yyjson_mut_bool(doc, true));
}

void kueue_hold_pod(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    if (!is_queued(root) || !yyjson_mut_is_obj(json_mut_at(root, "spec")))
        return;
    yyjson_mut_val *gates = json_mut_need_arr(doc, root, "spec.schedulingGates");
    if (json_mut_find(gates, "name", KUEUE_GATE) != NULL)
        return;
    yyjson_mut_val *gate = yyjson_mut_arr_add_obj(doc, gates);
    json_mut_put(doc, gate, "name", yyjson_mut_str(doc, KUEUE_GATE));
    json_mut_put(doc, json_mut_at(root, "metadata.labels"), KUEUE_MANAGED_LABEL,
                 yyjson_mut_str(doc, "true"));
}

/* 0: not a number that can be one. */
static int64_t number_of(const char *text)
{
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return 0;
    long long number = strtoll(text, &end, 10);
    return *end == '\0' && number <= INT32_MAX ? number : 0;
}

int64_t kueue_max_run(const char *text)
{
    return number_of(text);
}

static void refuse_label(struct check *c, const char *name, yyjson_mut_val *label, const char *why)
{
    size_t mark = check_enter(c, "metadata");
    size_t at = check_enter(c, "labels");
    size_t inner = check_enter_member(c, name, label);
    check_invalid(c, NULL, label, why);
    check_leave(c, inner);
    check_leave(c, at);
    check_leave(c, mark);
}

void kueue_check_labels(struct check *c, yyjson_mut_val *root, yyjson_mut_val *old)
{
    yyjson_mut_val *seconds = label_of(root, KUEUE_MAX_RUN_LABEL);
    yyjson_mut_val *queue = label_of(root, KUEUE_QUEUE_LABEL);
    if (seconds != NULL && is_queued(root) && kueue_max_run(yyjson_mut_get_str(seconds)) == 0)
        refuse_label(c, KUEUE_MAX_RUN_LABEL, seconds,
                     "should be a number of seconds between 1 and 2147483647");
    if (old == NULL || !is_queued(old) || yyjson_mut_get_bool(json_mut_at(root, "spec.suspend")) ||
        rules_same(queue, label_of(old, KUEUE_QUEUE_LABEL)))
        return;
    refuse_label(c, KUEUE_QUEUE_LABEL, queue, "field is immutable while it is not suspended");
    check_hint(c, "set spec.active of its Workload to false first");
}

static void check_group_name(struct check *c, yyjson_mut_val *group, bool has_size)
{
    size_t at = check_enter(c, "labels");
    size_t inner = check_enter_member(c, KUEUE_GROUP_LABEL, group);
    const char *why = NULL;
    if (group != NULL)
        why =
            format_problem(FMT_DNS_SUBDOMAIN, yyjson_mut_get_str(group), yyjson_mut_get_len(group));
    if (group == NULL && has_size)
        check_required(c, NULL, "a group of pods has this label and " KUEUE_GROUP_COUNT);
    else if (why != NULL)
        check_invalid(c, NULL, group, why);
    check_leave(c, inner);
    check_leave(c, at);
}

void kueue_check_group(struct check *c, yyjson_mut_val *root)
{
    yyjson_mut_val *notes = json_mut_at(root, "metadata.annotations");
    yyjson_mut_val *size = yyjson_mut_obj_get(notes, KUEUE_GROUP_COUNT);
    yyjson_mut_val *group = label_of(root, KUEUE_GROUP_LABEL);
    if (!is_queued(root) || (size == NULL && group == NULL))
        return;
    size_t mark = check_enter(c, "metadata");
    check_group_name(c, group, size != NULL);
    size_t at = check_enter(c, "annotations");
    size_t inner = check_enter_member(c, KUEUE_GROUP_COUNT, size);
    if (size == NULL)
        check_required(c, NULL, "a group of pods has this annotation and " KUEUE_GROUP_LABEL);
    else if (number_of(yyjson_mut_get_str(size)) == 0)
        check_invalid(c, NULL, size, "should be a number of pods, 1 or more");
    check_leave(c, inner);
    check_leave(c, at);
    check_leave(c, mark);
}

// clang-format off
static const struct field FAIR_SHARING_FIELDS[] = {
    {"weight", F_QUANTITY, ONE, RANGE, .fallback = "\"1\"",
     .doc = "Its share beside others. Kept for manifests that have it; shares are not weighed here."},
    {0}};
const struct type TYPE_FAIR_SHARING = {
    KUEUE_V1BETA2("FairSharing"), "How unused quota would be shared.", FAIR_SHARING_FIELDS};

static const struct field RESOURCE_USAGE_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED, .doc = "The resource."},
    {"total", F_QUANTITY, ONE, .doc = "How much of it is taken."},
    {"borrowed", F_QUANTITY, ONE, .doc = "How much of that is beyond the nominal quota."},
    {0}};
static const struct type TYPE_RESOURCE_USAGE = {
    KUEUE_V1BETA2("ResourceUsage"), "What is taken of one resource.", RESOURCE_USAGE_FIELDS};
static const struct field FLAVOR_USAGE_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED, .doc = "The flavor."},
    {"resources", F_OBJECT, LIST, MERGE, .of = &TYPE_RESOURCE_USAGE, .merge_key = "name",
     .doc = "What is taken of its resources."},
    {0}};
const struct type TYPE_FLAVOR_USAGE = {
    KUEUE_V1BETA2("FlavorUsage"), "What is taken of one flavor.", FLAVOR_USAGE_FIELDS};

static const struct field LOCAL_RESOURCE_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED, .doc = "The resource."},
    {"total", F_QUANTITY, ONE, .doc = "How much of it workloads of this queue have taken."},
    {0}};
static const struct type TYPE_LOCAL_RESOURCE = {
    KUEUE_V1BETA2("LocalQueueResourceUsage"), "What is taken of one resource.",
    LOCAL_RESOURCE_FIELDS};
static const struct field LOCAL_FLAVOR_USAGE_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED, .doc = "The flavor."},
    {"resources", F_OBJECT, LIST, MERGE, .of = &TYPE_LOCAL_RESOURCE, .merge_key = "name",
     .doc = "What is taken of its resources."},
    {0}};
const struct type TYPE_LOCAL_FLAVOR_USAGE = {
    KUEUE_V1BETA2("LocalQueueFlavorUsage"), "What is taken of one flavor.",
    LOCAL_FLAVOR_USAGE_FIELDS};
// clang-format on
