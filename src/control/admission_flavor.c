// SPDX-License-Identifier: Apache-2.0
/* Pods and flavors: what a pod needs, which flavors it can have. */
#include "base/quantity.h"
#include "control/admission.h"
#include "control/binder_internal.h"

/* ---- needs ---- */

static bool read_milli(yyjson_val *val, int64_t *ret)
{
    scoped_str number = {0};
    struct sv text = {yyjson_get_str(val), yyjson_get_len(val)};
    quantity amount;
    if (yyjson_is_num(val)) {
        json_write_val(val, &number);
        text = (struct sv){number.data, number.len};
    }
    if (text.ptr == NULL || quantity_parse(text, &amount, NULL) < 0 || amount < 0)
        return false;
    *ret = quantity_milli(amount);
    return true;
}

static struct admit_need *need_of(need_list *list, const char *resource)
{
    for (size_t i = 0; i < list->len; i++) {
        if (strcmp(list->items[i].resource, resource) == 0)
            return &list->items[i];
    }
    vec_push(list, ((struct admit_need){.resource = resource}));
    return vec_last(list);
}

static void add_need(need_list *list, const char *resource, int64_t amount)
{
    struct admit_need *need = need_of(list, resource);
    if (__builtin_add_overflow(need->amount, amount, &need->amount))
        need->amount = INT64_MAX;
}

static void add_map(need_list *list, yyjson_val *map, yyjson_val *unless)
{
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(map, i, n, key, val)
    {
        int64_t amount = 0;
        const char *name = yyjson_get_str(key);
        if (yyjson_obj_get(unless, name) == NULL && read_milli(val, &amount))
            add_need(list, name, amount);
    }
}

/* A limit without a request is a request as well. */
static void add_container(need_list *list, yyjson_val *container)
{
    yyjson_val *resources = yyjson_obj_get(container, "resources");
    yyjson_val *requests = yyjson_obj_get(resources, "requests");
    add_map(list, requests, NULL);
    add_map(list, yyjson_obj_get(resources, "limits"), requests);
}

static void add_all(need_list *to, const need_list *what)
{
    for (size_t i = 0; i < what->len; i++)
        add_need(to, what->items[i].resource, what->items[i].amount);
}

static void raise_to(need_list *to, const need_list *least)
{
    for (size_t i = 0; i < least->len; i++) {
        struct admit_need *need = need_of(to, least->items[i].resource);
        if (need->amount < least->items[i].amount)
            need->amount = least->items[i].amount;
    }
}

/* Init containers run one after the other before the rest; those that stay add up. */
static void add_init(yyjson_val *list, need_list *staying, need_list *peak)
{
    size_t i, n;
    yyjson_val *container;
    yyjson_arr_foreach(list, i, n, container)
    {
        if (str_eq(json_str_at(container, "restartPolicy"), "Always")) {
            add_container(staying, container);
            raise_to(peak, staying);
            continue;
        }
        need_list own = {0};
        add_container(&own, container);
        add_all(&own, staying);
        raise_to(peak, &own);
        vec_done(&own);
    }
}

void flavor_needs(yyjson_val *template, need_list *out)
{

    yyjson_val *spec = yyjson_obj_get(template, "spec");
    need_list peak = {0}, whole = {0};
    size_t i, n;
    yyjson_val *container;
    add_init(yyjson_obj_get(spec, "initContainers"), out, &peak);
    yyjson_arr_foreach(yyjson_obj_get(spec, "containers"), i, n, container)
    {
        add_container(out, container);
    }
    raise_to(out, &peak);
    add_container(&whole, spec); /* what is said for the pod as a whole goes before its parts */
    for (i = 0; i < whole.len; i++)
        need_of(out, whole.items[i].resource)->amount = whole.items[i].amount;
    add_map(out, yyjson_obj_get(spec, "overhead"), NULL);
    vec_done(&peak);
    vec_done(&whole);
}

/* ---- which flavors ---- */

static bool has_value(yyjson_val *values, const char *text)
{
    size_t i, n;
    yyjson_val *value;
    yyjson_arr_foreach(values, i, n, value)
    {
        if (yyjson_equals_str(value, text))
            return true;
    }
    return false;
}

/* Only labels that the flavor has are compared: of the others nothing is known. */
static bool expression_holds(yyjson_val *expression, yyjson_val *labels)
{
    const char *key = json_str_at(expression, "key");
    const char *operator= json_str_at(expression, "operator");
    const char *is = key ? yyjson_get_str(yyjson_obj_get(labels, key)) : NULL;
    if (is == NULL)
        return true;
    bool listed = has_value(yyjson_obj_get(expression, "values"), is);
    if (str_eq(operator, "In"))
        return listed;
    if (str_eq(operator, "NotIn"))
        return !listed;
    return !str_eq(operator, "DoesNotExist");
}

static bool term_holds(yyjson_val *term, yyjson_val *labels)
{
    size_t i, n;
    yyjson_val *expression;
    yyjson_arr_foreach(yyjson_obj_get(term, "matchExpressions"), i, n, expression)
    {
        if (!expression_holds(expression, labels))
            return false;
    }
    return true;
}

static bool affinity_holds(yyjson_val *spec, yyjson_val *labels)
{
    yyjson_val *terms = json_at(spec, "affinity.nodeAffinity."
                                      "requiredDuringSchedulingIgnoredDuringExecution."
                                      "nodeSelectorTerms");
    size_t i, n;
    yyjson_val *term;
    yyjson_arr_foreach(terms, i, n, term)
    {
        if (term_holds(term, labels))
            return true;
    }
    return yyjson_arr_size(terms) == 0;
}

static const char *selector_problem(struct arena *arena, yyjson_val *spec, yyjson_val *labels)
{
    size_t i, n;
    yyjson_val *key, *want;
    yyjson_obj_foreach(yyjson_obj_get(spec, "nodeSelector"), i, n, key, want)
    {
        const char *is = yyjson_get_str(yyjson_obj_get(labels, yyjson_get_str(key)));
        if (is != NULL && !yyjson_equals_str(want, is))
            return arena_printf(arena, "node selector %s=%s does not match", yyjson_get_str(key),
                                yyjson_get_str(want));
    }
    return affinity_holds(spec, labels) ? NULL : "node affinity does not match";
}

const char *flavor_problem(struct arena *arena, const struct obj *flavor, yyjson_val *template)
{
    yyjson_val *pod = yyjson_obj_get(template, "spec");
    yyjson_val *spec = yyjson_obj_get(flavor->root, "spec");
    size_t i, n;
    yyjson_val *taint;
    yyjson_arr_foreach(yyjson_obj_get(spec, "nodeTaints"), i, n, taint)
    {
        if (str_eq(json_str_at(taint, "effect"), "PreferNoSchedule") ||
            match_tolerates(yyjson_obj_get(pod, "tolerations"), taint) ||
            match_tolerates(yyjson_obj_get(spec, "tolerations"), taint))
            continue;
        return arena_printf(arena, "untolerated taint %s", json_str_at(taint, "key"));
    }
    return selector_problem(arena, pod, yyjson_obj_get(spec, "nodeLabels"));
}
