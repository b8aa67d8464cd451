// SPDX-License-Identifier: Apache-2.0
#include "control/binder_internal.h"
#include "model/cell.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- taints ---- */

static bool same_or_any(const char *wanted, const char *is)
{
    return wanted == NULL || *wanted == '\0' || str_eq(wanted, is);
}

bool match_one_tolerates(yyjson_val *toleration, yyjson_val *taint)
{
    const char *key = json_str_at(toleration, "key");
    const char *value = json_str_at(toleration, "value");
    const char *is = json_str_at(taint, "value");
    if (!same_or_any(json_str_at(toleration, "effect"), json_str_at(taint, "effect")))
        return false;
    if (str_eq(json_str_at(toleration, "operator"), "Exists"))
        return same_or_any(key, json_str_at(taint, "key"));
    return str_eq(key, json_str_at(taint, "key")) && str_eq(value ? value : "", is ? is : "");
}

bool match_tolerates(yyjson_val *tolerations, yyjson_val *taint)
{
    size_t i, n;
    yyjson_val *toleration;
    yyjson_arr_foreach(tolerations, i, n, toleration)
    {
        if (match_one_tolerates(toleration, taint))
            return true;
    }
    return false;
}

static yyjson_val *untolerated(yyjson_val *taints, yyjson_val *tolerations)
{
    size_t i, n;
    yyjson_val *taint;
    yyjson_arr_foreach(taints, i, n, taint)
    {
        bool is_wish = str_eq(json_str_at(taint, "effect"), "PreferNoSchedule");
        if (!is_wish && !match_tolerates(tolerations, taint))
            return taint;
    }
    return NULL;
}

/* A cordoned node is as if it had its taint, also before it has. */
static bool tolerates_cordon(yyjson_val *tolerations)
{
    scoped_json *doc = NULL;
    int r =
        json_parse(SV("{\"key\":\"" TAINT_CORDONED "\",\"effect\":\"NoSchedule\"}"), &doc, NULL);
    return r == 0 && match_tolerates(tolerations, yyjson_doc_get_root(doc));
}

/* ---- labels ---- */

static bool number_of(const char *text, long long *ret_number)
{
    char *end;
    errno = 0;
    if (text == NULL || *text == '\0')
        return false;
    *ret_number = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static bool requirement_holds(yyjson_val *requirement, const char *is)
{
    const char *how = json_str_at(requirement, "operator");
    yyjson_val *values = yyjson_obj_get(requirement, "values");
    long long left, right;
    if (str_eq(how, "In"))
        return is != NULL && json_find(values, "", is) != NULL;
    if (str_eq(how, "NotIn"))
        return is == NULL || json_find(values, "", is) == NULL;
    if (str_eq(how, "Exists"))
        return is != NULL;
    if (str_eq(how, "DoesNotExist"))
        return is == NULL;
    if (!number_of(is, &left) || !number_of(yyjson_get_str(yyjson_arr_get_first(values)), &right))
        return false;
    return str_eq(how, "Gt") ? left > right : left < right;
}

static bool all_hold(yyjson_val *requirements, const struct obj *node, bool of_fields)
{
    size_t i, n;
    yyjson_val *requirement;
    yyjson_arr_foreach(requirements, i, n, requirement)
    {
        const char *key = json_str_at(requirement, "key");
        const char *is = of_fields
                             ? (str_eq(key, "metadata.name") ? node->meta.name : NULL)
                             : yyjson_get_str(yyjson_obj_get(node->meta.labels, key ? key : ""));
        if (!requirement_holds(requirement, is))
            return false;
    }
    return true;
}

static bool term_holds(yyjson_val *term, const struct obj *node)
{
    yyjson_val *labels = yyjson_obj_get(term, "matchExpressions");
    yyjson_val *fields = yyjson_obj_get(term, "matchFields");
    if (yyjson_arr_size(labels) + yyjson_arr_size(fields) == 0)
        return false;
    return all_hold(labels, node, false) && all_hold(fields, node, true);
}

static bool affinity_holds(yyjson_val *spec, const struct obj *node)
{
    yyjson_val *terms = json_at(spec, "affinity.nodeAffinity."
                                      "requiredDuringSchedulingIgnoredDuringExecution."
                                      "nodeSelectorTerms");
    size_t i, n;
    yyjson_val *term;
    if (terms == NULL)
        return true;
    yyjson_arr_foreach(terms, i, n, term)
    {
        if (term_holds(term, node))
            return true;
    }
    return false;
}

static bool selector_holds(yyjson_val *selector, yyjson_val *labels)
{
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(selector, i, n, key, val)
    {
        const char *is = yyjson_get_str(yyjson_obj_get(labels, yyjson_get_str(key)));
        if (is == NULL || !yyjson_equals_str(val, is))
            return false;
    }
    return true;
}

const char *match_problem(const struct obj *node, yyjson_val *pod_spec, char *buf, size_t size)
{
    yyjson_val *tolerations = yyjson_obj_get(pod_spec, "tolerations");
    if (node->meta.deleted != 0 ||
        !cell_condition_is(json_at(node->root, "status.conditions"), "Ready", "True"))
        return "node(s) were not ready";
    if (yyjson_get_bool(json_at(node->root, "spec.unschedulable")) &&
        !tolerates_cordon(tolerations))
        return "node(s) were unschedulable";
    yyjson_val *taint = untolerated(json_at(node->root, "spec.taints"), tolerations);
    if (taint != NULL) {
        const char *value = json_str_at(taint, "value");
        (void)snprintf(buf, size, "node(s) had untolerated taint {%s: %s}",
                       json_str_at(taint, "key"), value ? value : "");
        return buf;
    }
    if (!selector_holds(yyjson_obj_get(pod_spec, "nodeSelector"), node->meta.labels) ||
        !affinity_holds(pod_spec, node))
        return "node(s) didn't match Pod's node affinity/selector";
    return NULL;
}

int64_t match_preference(const struct obj *node, yyjson_val *pod_spec)
{
    yyjson_val *wishes = json_at(pod_spec, "affinity.nodeAffinity."
                                           "preferredDuringSchedulingIgnoredDuringExecution");
    yyjson_val *tolerations = yyjson_obj_get(pod_spec, "tolerations"), *item;
    int64_t sum = 0;
    size_t i, n;
    yyjson_arr_foreach(wishes, i, n, item)
    {
        if (term_holds(yyjson_obj_get(item, "preference"), node))
            sum += json_int_at(item, "weight", 0);
    }
    yyjson_arr_foreach(json_at(node->root, "spec.taints"), i, n, item)
    {
        if (str_eq(json_str_at(item, "effect"), "PreferNoSchedule") &&
            !match_tolerates(tolerations, item))
            sum -= 100;
    }
    return sum;
}
