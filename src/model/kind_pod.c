// SPDX-License-Identifier: Apache-2.0
#include "model/kind.h"
#include "model/kueue.h"
#include "model/podcells.h"
#include "model/podnotes.h"
#include "model/podspec.h"
#include "model/rules.h"

// clang-format off
static const struct field POD_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, REQUIRED, .of = &TYPE_POD_SPEC, .pb = 2,
     .doc = "What the pod is made of and what it needs."},
    {"status", F_OBJECT, ONE, .of = &TYPE_POD_STATUS, .pb = 3,
     .doc = "What is known of the pod; written by its node."},
    {0}};
// clang-format on

/* ---- defaults that templates do not get ---- */

static void fill_requests(yyjson_mut_doc *doc, yyjson_mut_val *container)
{
    yyjson_mut_val *resources = yyjson_mut_obj_get(container, "resources");
    yyjson_mut_val *limits = yyjson_mut_obj_get(resources, "limits");
    if (yyjson_mut_obj_size(limits) == 0)
        return;
    yyjson_mut_val *requests = json_mut_need_obj(doc, resources, "requests");
    size_t i, n;
    yyjson_mut_val *key, *limit;
    yyjson_mut_obj_foreach(limits, i, n, key, limit)
    {
        const char *name = yyjson_mut_get_str(key);
        quantity amount;
        if (yyjson_mut_obj_get(requests, name) != NULL)
            continue;
        if (resources_amount(limit, &amount)) /* one report of a wrong limit is enough */
            json_mut_put(doc, requests, name, yyjson_mut_val_mut_copy(doc, limit));
    }
}

static void fill_host_ports(yyjson_mut_doc *doc, yyjson_mut_val *container)
{
    size_t i, n;
    yyjson_mut_val *port;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(container, "ports"), i, n, port)
    {
        yyjson_mut_val *number = yyjson_mut_obj_get(port, "containerPort");
        if (yyjson_mut_is_int(number) && json_mut_int_at(port, "hostPort", 0) == 0)
            json_mut_put(doc, port, "hostPort", yyjson_mut_val_mut_copy(doc, number));
    }
}

static const char *const CONTAINER_LISTS[] = {"initContainers", "containers"};

static void pod_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(val, "spec");
    if (!yyjson_mut_is_obj(spec))
        return;
    bool host_network = yyjson_mut_get_bool(yyjson_mut_obj_get(spec, "hostNetwork"));
    for (size_t k = 0; k < ARRAY_LEN(CONTAINER_LISTS); k++) {
        size_t i, n;
        yyjson_mut_val *container;
        yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, CONTAINER_LISTS[k]), i, n, container)
        {
            fill_requests(doc, container);
            if (host_network)
                fill_host_ports(doc, container);
        }
    }
    if (!rules_has(spec, "enableServiceLinks"))
        json_mut_put(doc, spec, "enableServiceLinks", yyjson_mut_bool(doc, true));
}

/* ---- updates ---- */

/* What may change in spec at all; how is checked one by one below. */
#define MUTABLE_ALWAYS                                                                             \
    "containers[].image", "initContainers[].image", "ephemeralContainers",                         \
        "activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations",                   \
        "schedulingGates", "nodeName"
static const char *const MUTABLE[] = {MUTABLE_ALWAYS, NULL};
/* A pod that a gate holds back has not been placed: where it may go can still be narrowed. */
static const char *const MUTABLE_GATED[] = {MUTABLE_ALWAYS, "nodeSelector", "affinity.nodeAffinity",
                                            NULL};

static void check_node_name(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *old)
{
    if (yyjson_mut_get_len(yyjson_mut_obj_get(old, "nodeName")) > 0)
        rules_frozen(c, spec, old, "nodeName");
}

static void check_deadline(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *old)
{
    yyjson_mut_val *now = yyjson_mut_obj_get(spec, "activeDeadlineSeconds");
    yyjson_mut_val *before = yyjson_mut_obj_get(old, "activeDeadlineSeconds");
    if (!yyjson_mut_is_int(before))
        return;
    if (!rules_has(spec, "activeDeadlineSeconds"))
        check_invalid(c, "activeDeadlineSeconds", now, "may not be removed once it is set");
    else if (yyjson_mut_get_sint(now) > yyjson_mut_get_sint(before))
        check_invalid(c, "activeDeadlineSeconds", now, "may be lowered, not raised");
}

/* The item as text, whatever the order of its fields. */
static void item_text(yyjson_mut_val *item, const char *const *fields, struct str *out)
{
    str_clear(out);
    for (; *fields != NULL; fields++) {
        yyjson_mut_val *val = yyjson_mut_obj_get(item, *fields);
        if (val != NULL)
            json_write(val, out);
        str_addc(out, ',');
    }
}

/* Is every item of `part` in `whole`? */
static bool list_covers(yyjson_mut_val *whole, yyjson_mut_val *part, const char *const *fields)
{
    struct map *known = map_new();
    scoped_str text = {0};
    bool covers = true;
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(whole, i, n, item)
    {
        item_text(item, fields, &text);
        (void)map_put(known, str_text(&text), item);
    }
    yyjson_mut_arr_foreach(part, i, n, item)
    {
        item_text(item, fields, &text);
        covers = covers && map_get(known, str_text(&text)) != NULL;
    }
    map_free(known);
    return covers;
}

static void check_lists(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *old)
{
    if (!list_covers(yyjson_mut_obj_get(spec, "tolerations"),
                     yyjson_mut_obj_get(old, "tolerations"),
                     VALUES("key", "operator", "value", "effect", "tolerationSeconds")))
        check_forbidden(c, "tolerations", "tolerations may be added, not changed or removed");
    if (!list_covers(yyjson_mut_obj_get(old, "schedulingGates"),
                     yyjson_mut_obj_get(spec, "schedulingGates"), VALUES("name")))
        check_forbidden(c, "schedulingGates", "gates may be removed, not added");
}

static void check_update(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *old)
{
    if (json_mut_equal(spec, old))
        return; /* nearly always: nodes report the status, the rest of a pod stays */
    bool gated = yyjson_mut_arr_size(yyjson_mut_obj_get(old, "schedulingGates")) > 0;
    scoped_str path = {0};
    if (rules_changed(spec, old, gated ? MUTABLE_GATED : MUTABLE, &path)) {
        check_forbidden(c, str_text(&path),
                        "may not change in a pod; only images, activeDeadlineSeconds, "
                        "terminationGracePeriodSeconds, added tolerations and removed "
                        "schedulingGates may");
        check_hint(c, "delete the pod and create it anew");
    }
    check_node_name(c, spec, old);
    check_deadline(c, spec, old);
    check_lists(c, spec, old);
}

static void pod_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(val, "spec");
    yyjson_mut_val *old_spec = yyjson_mut_obj_get(old, "spec");
    size_t mark = check_enter(c, "spec");
    bool gated = yyjson_mut_arr_size(yyjson_mut_obj_get(spec, "schedulingGates")) > 0;
    if (gated && yyjson_mut_get_len(yyjson_mut_obj_get(spec, "nodeName")) > 0)
        check_forbidden(c, "nodeName", "may not be set until all schedulingGates are removed");
    if (yyjson_mut_is_obj(old_spec) && yyjson_mut_is_obj(spec))
        check_update(c, spec, old_spec);
    check_leave(c, mark);
    if (old == NULL)
        kueue_check_group(c, val);
    podnotes_check(c, val, old);
    podnotes_check_epochs(c, val, old);
}

static const struct type TYPE_POD = {
    CORE_V1("Pod"),   "A group of containers that run together on one node.",
    POD_FIELDS,       .check = pod_check,
    .fill = pod_fill,
};

/* ---- the beginning of its life ---- */

static const char *const QOS_RESOURCES[] = {"cpu", "memory"};

struct qos {
    quantity requests[ARRAY_LEN(QOS_RESOURCES)];
    quantity limits[ARRAY_LEN(QOS_RESOURCES)];
    bool all_limited; /* each container has all limits */
};

static quantity amount_at(yyjson_mut_val *map, const char *name)
{
    quantity amount;
    bool known = resources_amount(yyjson_mut_obj_get(map, name), &amount);
    return known && amount > 0 ? amount : 0;
}

static void qos_add(struct qos *qos, yyjson_mut_val *container)
{
    yyjson_mut_val *resources = yyjson_mut_obj_get(container, "resources");
    for (size_t k = 0; k < ARRAY_LEN(QOS_RESOURCES); k++) {
        quantity request = amount_at(yyjson_mut_obj_get(resources, "requests"), QOS_RESOURCES[k]);
        quantity limit = amount_at(yyjson_mut_obj_get(resources, "limits"), QOS_RESOURCES[k]);
        qos->all_limited &= limit > 0;
        /* A sum too large for a quantity is still more than nothing, which is what counts. */
        (void)quantity_add(qos->requests[k], request, &qos->requests[k]);
        (void)quantity_add(qos->limits[k], limit, &qos->limits[k]);
    }
}

static const char *qos_class(yyjson_mut_val *spec)
{
    struct qos qos = {.all_limited = true};
    for (size_t k = 0; k < ARRAY_LEN(CONTAINER_LISTS); k++) {
        size_t i, n;
        yyjson_mut_val *container;
        yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, CONTAINER_LISTS[k]), i, n, container)
        {
            qos_add(&qos, container);
        }
    }
    bool any = false, equal = true;
    for (size_t k = 0; k < ARRAY_LEN(QOS_RESOURCES); k++) {
        any |= qos.requests[k] > 0 || qos.limits[k] > 0;
        equal &= quantity_cmp(qos.requests[k], qos.limits[k]) == 0;
    }
    if (!any)
        return "BestEffort";
    return qos.all_limited && equal ? "Guaranteed" : "Burstable";
}

static void add_gated_condition(yyjson_mut_doc *doc, yyjson_mut_val *status)
{
    yyjson_mut_val *condition = yyjson_mut_obj(doc);
    json_mut_put(doc, condition, "type", yyjson_mut_str(doc, "PodScheduled"));
    json_mut_put(doc, condition, "status", yyjson_mut_str(doc, "False"));
    json_mut_put(doc, condition, "reason", yyjson_mut_str(doc, "SchedulingGated"));
    json_mut_put(doc, condition, "message",
                 yyjson_mut_str(doc, "the pod is not placed while it has schedulingGates"));
    yyjson_mut_val *conditions = yyjson_mut_arr(doc);
    (void)yyjson_mut_arr_append(conditions, condition);
    json_mut_put(doc, status, "conditions", conditions);
}

static void pod_prepare(yyjson_mut_doc *doc, yyjson_mut_val *root, time_ms now)
{
    (void)now;
    kueue_hold_pod(doc, root);
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");
    yyjson_mut_val *status = yyjson_mut_obj(doc);
    json_mut_put(doc, status, "phase", yyjson_mut_str(doc, "Pending"));
    json_mut_put(doc, status, "qosClass", yyjson_mut_str(doc, qos_class(spec)));
    if (yyjson_mut_arr_size(yyjson_mut_obj_get(spec, "schedulingGates")) > 0)
        add_gated_condition(doc, status);
    json_mut_put(doc, root, "status", status);
}

const struct kind KIND_POD = {
    .group = "",
    .version = "v1",
    .name = "Pod",
    .plural = "pods",
    .singular = "pod",
    .short_names = VALUES("po"),
    .categories = VALUES("all"),
    .namespaced = true,
    .has_status = true,
    .name_format = FMT_DNS_SUBDOMAIN,
    .type = &TYPE_POD,
    .columns = POD_COLUMNS,
    .selectable = VALUES("spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
                         "spec.serviceAccountName", "spec.hostNetwork=spec.hostNetwork|false",
                         "status.phase", "status.podIP", "status.nominatedNodeName"),
    .prepare = pod_prepare,
};
