// SPDX-License-Identifier: Apache-2.0
/* What a Workload may say, and what may change while it has quota. */
#include "model/kueue.h"
#include "model/podspec.h"

static bool has_quota(yyjson_mut_val *root)
{
    yyjson_mut_val *reserved =
        json_mut_find(json_mut_at(root, "status.conditions"), "type", "QuotaReserved");
    return str_eq(json_mut_str_at(reserved, "status"), "True");
}

/* Pods are counted, whatever their containers say. */
static void check_requests(struct check *c, yyjson_mut_val *set)
{
    static const char *const LISTS[] = {"initContainers", "containers"};
    size_t template = check_enter(c, "template"), spec = check_enter(c, "spec"), i, n;
    for (size_t list = 0; list < ARRAY_LEN(LISTS); list++) {
        yyjson_mut_val *item;
        size_t mark = check_enter(c, LISTS[list]);
        yyjson_mut_arr_foreach(yyjson_mut_obj_get(json_mut_at(set, "template.spec"), LISTS[list]),
                               i, n, item)
        {
            yyjson_mut_val *pods = json_mut_at(item, "resources.requests.pods");
            if (pods == NULL)
                continue;
            size_t at = check_enter_item(c, i, item);
            size_t inner = check_enter(c, "resources");
            size_t requests = check_enter(c, "requests");
            size_t member = check_enter_member(c, "pods", pods);
            check_invalid(c, NULL, pods, "pods are counted; no container can ask for them");
            check_leave(c, member);
            check_leave(c, requests);
            check_leave(c, inner);
            check_leave(c, at);
        }
        check_leave(c, mark);
    }
    check_leave(c, spec);
    check_leave(c, template);
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
        size_t at = check_enter_item(c, i, set);
        check_requests(c, set);
        if (rules_has(set, "minCount") &&
            json_mut_int_at(set, "minCount", 0) > json_mut_int_at(set, "count", INT32_MAX))
            check_invalid(c, "minCount", least, "should be positive and less or equal to count");
        if (rules_has(set, "minCount") && ++partial > 1)
            check_invalid(c, "minCount", least, "at most one podSet can use minCount");
        check_leave(c, at);
    }
    check_leave(c, mark);
}

static void check_priority(struct check *c, yyjson_mut_val *spec)
{
    static const char *const PAIRS[][2] = {{KUEUE_GROUP, "WorkloadPriorityClass"},
                                           {"scheduling.k8s.io", "PriorityClass"}};
    yyjson_mut_val *ref = yyjson_mut_obj_get(spec, "priorityClassRef");
    if (!yyjson_mut_is_obj(ref))
        return;
    if (!rules_has(spec, "priority"))
        check_required(c, "priority", "must be set when priorityClassRef is");
    yyjson_mut_val *kind = yyjson_mut_obj_get(ref, "kind");
    size_t mark = check_enter(c, "priorityClassRef");
    for (size_t i = 0; kind != NULL && i < ARRAY_LEN(PAIRS); i++) {
        if (!str_eq(json_mut_str_at(ref, "group"), PAIRS[i][0]) ||
            yyjson_mut_equals_str(kind, PAIRS[i][1]))
            continue;
        scoped_free char *why = mem_printf("only %s is of the group %s", PAIRS[i][1], PAIRS[i][0]);
        check_invalid(c, "kind", kind, why);
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

/* Usage is of whole pods; it is counted in thousandths. */
static void check_usage(struct check *c, yyjson_mut_val *assignment)
{
    int64_t count = json_mut_int_at(assignment, "count", 0);
    size_t mark = check_enter(c, "resourceUsage"), i, n;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach(yyjson_mut_obj_get(assignment, "resourceUsage"), i, n, key, val)
    {
        quantity amount = 0;
        if (count <= 0 || !resources_amount(val, &amount))
            continue;
        if (amount % quantity_of_milli(count) == 0)
            continue;
        size_t at = check_enter_member(c, yyjson_mut_get_str(key), val);
        scoped_free char *why = mem_printf("is not a multiple of %lld", (long long)count);
        check_invalid(c, NULL, val, why);
        check_leave(c, at);
    }
    check_leave(c, mark);
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
    yyjson_mut_val *before = json_mut_at(old, "status.admission");
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(before == NULL ? list : NULL, i, n, item)
    {
        size_t assignment = check_enter_item(c, i, item);
        check_usage(c, item);
        check_leave(c, assignment);
    }
    check_leave(c, inner);
    check_leave(c, at);
    if (yyjson_mut_is_obj(before) && !rules_same(before, admission))
        check_invalid(c, "admission", admission, "field is immutable; set it to null first");
    check_leave(c, mark);
}

/* What was given back while it has quota may be with somebody else by now. */
static void check_given_back(struct check *c, yyjson_mut_val *list, yyjson_mut_val *before)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(before, i, n, item)
    {
        const char *name = json_mut_str_at(item, "name");
        if (json_mut_find(list, "name", name) != NULL)
            continue;
        size_t at = check_enter_member(c, name, NULL);
        check_required(c, NULL, "cannot be removed while the workload has quota");
        check_leave(c, at);
    }
}

static void check_reclaimable(struct check *c, yyjson_mut_val *root, yyjson_mut_val *old)
{
    yyjson_mut_val *list = json_mut_at(root, "status.reclaimablePods");
    yyjson_mut_val *sets = json_mut_at(root, "spec.podSets");
    size_t mark = check_enter(c, "status"), i, n;
    size_t inner = check_enter(c, "reclaimablePods");
    yyjson_mut_val *item;
    check_names(c, list, sets);
    if (has_quota(old) && has_quota(root))
        check_given_back(c, list, json_mut_at(old, "status.reclaimablePods"));
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
    static const char *const FROZEN[] = {"podSets", "queueName"}, *const NOTHING[] = {NULL};
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");
    yyjson_mut_val *before = yyjson_mut_obj_get(old, "spec");
    if (!has_quota(old) || !has_quota(root) || json_mut_equal(spec, before))
        return;
    size_t mark = check_enter(c, "spec");
    for (size_t i = 0; i < ARRAY_LEN(FROZEN); i++) {
        yyjson_mut_val *value = yyjson_mut_obj_get(spec, FROZEN[i]);
        scoped_str where = {0};
        if (!rules_changed(value, yyjson_mut_obj_get(before, FROZEN[i]), NOTHING, &where))
            continue;
        check_invalid(c, FROZEN[i], value, "field is immutable while the workload has quota");
        check_hint(c, "set spec.active to false first");
    }
    static const char *const PARTS[] = {"group", "kind"};
    yyjson_mut_val *ref = yyjson_mut_obj_get(spec, "priorityClassRef");
    yyjson_mut_val *ref_before = yyjson_mut_obj_get(before, "priorityClassRef");
    bool is_there = yyjson_mut_is_obj(ref), was_there = yyjson_mut_is_obj(ref_before);
    if (is_there != was_there)
        check_invalid(c, "priorityClassRef", ref,
                      "field is immutable while the workload has quota");
    size_t at = check_enter(c, "priorityClassRef");
    for (size_t i = 0; is_there && was_there && i < ARRAY_LEN(PARTS); i++) {
        yyjson_mut_val *value = yyjson_mut_obj_get(ref, PARTS[i]);
        if (!rules_same(value, yyjson_mut_obj_get(ref_before, PARTS[i])))
            check_invalid(c, PARTS[i], value, "field is immutable while the workload has quota");
    }
    check_leave(c, at);
    check_leave(c, mark);
}

/* What a check adds to pods has to be such that pods can have it, and stays once it is Ready. */
static void check_updates(struct check *c, yyjson_mut_val *state, yyjson_mut_val *sets,
                          yyjson_mut_val *before)
{
    yyjson_mut_val *updates = yyjson_mut_obj_get(state, "podSetUpdates"), *update;
    if (updates == NULL && before == NULL)
        return;
    size_t mark = check_enter_field(c, "podSetUpdates", updates), i, n;
    check_names(c, updates, sets);
    yyjson_mut_arr_foreach(updates, i, n, update)
    {
        size_t at = check_enter_item(c, i, update);
        rules_label_values(c, update, "labels");
        rules_label_values(c, update, "nodeSelector");
        check_leave(c, at);
    }
    check_leave(c, mark);
    if (str_eq(json_mut_str_at(state, "state"), "Ready") &&
        str_eq(json_mut_str_at(before, "state"), "Ready") &&
        !rules_same(updates, yyjson_mut_obj_get(before, "podSetUpdates")))
        check_invalid(c, "podSetUpdates", updates, "field is immutable while the check is Ready");
}

static void check_answers(struct check *c, yyjson_mut_val *root, yyjson_mut_val *old)
{
    yyjson_mut_val *list = json_mut_at(root, "status.admissionChecks"), *item;
    yyjson_mut_val *list_before = json_mut_at(old, "status.admissionChecks");
    size_t mark = check_enter(c, "status"), i, n;
    size_t inner = check_enter_field(c, "admissionChecks", list);
    yyjson_mut_arr_foreach(list, i, n, item)
    {
        size_t at = check_enter_item(c, i, item);
        check_updates(c, item, json_mut_at(root, "spec.podSets"),
                      json_mut_find(list_before, "name", json_mut_str_at(item, "name")));
        check_leave(c, at);
    }
    check_leave(c, inner);
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
    check_priority(c, spec);
    check_leave(c, mark);
    check_admission(c, root, old);
    check_reclaimable(c, root, old);
    check_answers(c, root, old);
    if (old != NULL)
        check_frozen(c, root, old);
}
