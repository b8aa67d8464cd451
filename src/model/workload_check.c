// SPDX-License-Identifier: Apache-2.0
/* What a Workload may say, and what may change while it has quota. */
#include "model/kueue.h"

static bool has_quota(yyjson_mut_val *root)
{
    yyjson_mut_val *reserved =
        json_mut_find(json_mut_at(root, "status.conditions"), "type", "QuotaReserved");
    return str_eq(json_mut_str_at(reserved, "status"), "True");
}

static void check_pod_sets(struct check *c, yyjson_mut_val *spec)
{
    size_t i, n, partial = 0;
    yyjson_mut_val *set;
    yyjson_mut_val *sets = yyjson_mut_obj_get(spec, "podSets");
    size_t mark = check_enter_field(c, "podSets", sets);
    yyjson_mut_arr_foreach(sets, i, n, set)
    {
        yyjson_mut_val *least = yyjson_mut_obj_get(set, "minCount");
        if (!rules_has(set, "minCount"))
            continue;
        size_t at = check_enter_item(c, i, set);
        if (json_mut_int_at(set, "minCount", 0) > json_mut_int_at(set, "count", INT32_MAX))
            check_invalid(c, "minCount", least, "should be positive and less or equal to count");
        if (++partial > 1)
            check_invalid(c, "minCount", least, "at most one podSet can use minCount");
        check_leave(c, at);
    }
    check_leave(c, mark);
}

/* At the path of status.NAME: each item's name is a pod set's. */
static void check_names(struct check *c, yyjson_mut_val *list, yyjson_mut_val *sets)
{
    struct rules_names names = {0};
    size_t i, n;
    yyjson_mut_val *item;
    rules_names_of(&names, sets, "name");
    yyjson_mut_arr_foreach(list, i, n, item)
    {
        size_t at = check_enter_item(c, i, item);
        rules_known(c, "name", yyjson_mut_obj_get(item, "name"), &names);
        check_leave(c, at);
    }
    rules_names_done(&names);
}

static void check_admission(struct check *c, yyjson_mut_val *root, yyjson_mut_val *old)
{
    yyjson_mut_val *admission = json_mut_at(root, "status.admission");
    if (!yyjson_mut_is_obj(admission))
        return;
    yyjson_mut_val *sets = json_mut_at(root, "spec.podSets");
    yyjson_mut_val *list = yyjson_mut_obj_get(admission, "podSetAssignments");
    size_t mark = check_enter(c, "status");
    size_t at = check_enter(c, "admission");
    size_t inner = check_enter(c, "podSetAssignments");
    if (yyjson_mut_arr_size(list) != yyjson_mut_arr_size(sets))
        check_invalid(c, NULL, list, "must have the same number of podSets as the spec");
    check_names(c, list, sets);
    check_leave(c, inner);
    check_leave(c, at);
    yyjson_mut_val *before = json_mut_at(old, "status.admission");
    if (yyjson_mut_is_obj(before) && !rules_same(before, admission))
        check_invalid(c, "admission", admission, "field is immutable; set it to null first");
    check_leave(c, mark);
}

static void check_reclaimable(struct check *c, yyjson_mut_val *root, yyjson_mut_val *old)
{
    yyjson_mut_val *list = json_mut_at(root, "status.reclaimablePods");
    yyjson_mut_val *sets = json_mut_at(root, "spec.podSets");
    size_t mark = check_enter(c, "status"), i, n;
    size_t inner = check_enter(c, "reclaimablePods");
    yyjson_mut_val *item;
    check_names(c, list, sets);
    yyjson_mut_arr_foreach(list, i, n, item)
    {
        size_t at = check_enter_item(c, i, item);
        const char *name = json_mut_str_at(item, "name");
        yyjson_mut_val *set = json_mut_find(sets, "name", name);
        yyjson_mut_val *before =
            json_mut_find(json_mut_at(old, "status.reclaimablePods"), "name", name);
        yyjson_mut_val *count = yyjson_mut_obj_get(item, "count");
        int64_t value = json_mut_int_at(item, "count", 0);
        if (set != NULL && value > json_mut_int_at(set, "count", INT32_MAX))
            check_invalid(c, "count", count, "should be less or equal to the podSet's count");
        if (before != NULL && has_quota(old) && has_quota(root) &&
            value < json_mut_int_at(before, "count", 0))
            check_invalid(c, "count", count, "cannot be less than it was");
        check_leave(c, at);
    }
    check_leave(c, inner);
    check_leave(c, mark);
}

static void check_frozen(struct check *c, yyjson_mut_val *root, yyjson_mut_val *old)
{
    static const char *const FROZEN[] = {"podSets", "queueName"};
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");
    yyjson_mut_val *before = yyjson_mut_obj_get(old, "spec");
    if (!has_quota(old) || !has_quota(root) || json_mut_equal(spec, before))
        return;
    size_t mark = check_enter(c, "spec");
    for (size_t i = 0; i < ARRAY_LEN(FROZEN); i++) {
        yyjson_mut_val *value = yyjson_mut_obj_get(spec, FROZEN[i]);
        if (rules_same(value, yyjson_mut_obj_get(before, FROZEN[i])))
            continue;
        check_invalid(c, FROZEN[i], value, "field is immutable while the workload has quota");
        check_hint(c, "set spec.active to false first");
    }
    size_t at = check_enter(c, "priorityClassRef");
    static const char *const PARTS[] = {"group", "kind"};
    yyjson_mut_val *ref = yyjson_mut_obj_get(spec, "priorityClassRef");
    yyjson_mut_val *ref_before = yyjson_mut_obj_get(before, "priorityClassRef");
    for (size_t i = 0; ref != NULL && ref_before != NULL && i < ARRAY_LEN(PARTS); i++) {
        yyjson_mut_val *value = yyjson_mut_obj_get(ref, PARTS[i]);
        if (!rules_same(value, yyjson_mut_obj_get(ref_before, PARTS[i])))
            check_invalid(c, PARTS[i], value, "field is immutable while the workload has quota");
    }
    check_leave(c, at);
    check_leave(c, mark);
}

void workload_check(struct check *c, yyjson_mut_val *root, yyjson_mut_val *old)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");
    if (spec == NULL)
        check_required(c, "spec", NULL);
    if (!yyjson_mut_is_obj(spec))
        return;
    size_t mark = check_enter(c, "spec");
    check_pod_sets(c, spec);
    check_leave(c, mark);
    check_admission(c, root, old);
    check_reclaimable(c, root, old);
    if (old != NULL)
        check_frozen(c, root, old);
}
