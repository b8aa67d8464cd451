// SPDX-License-Identifier: Apache-2.0
/* Policies of a pool come from the ConfigMaps config-scheduler and config-descheduler of its
 * namespace, in the form of Knative's document; without them pods are filled in order, spread over
 * zones first. A ConfigMap that is wrong changes nothing: what held before goes on to hold, and an
 * Event about it says what is wrong. */
#include "base/mem.h"
#include "control/pool_internal.h"

static const char DEFAULT_SCHEDULER[] =
    "{\"predicates\":[{\"name\":\"PodFitsResources\"}],\"priorities\":["
    "{\"name\":\"AvailabilityZonePriority\",\"weight\":10,\"args\":{\"MaxSkew\":2}},"
    "{\"name\":\"LowestOrdinalPriority\",\"weight\":2}]}";
static const char DEFAULT_DESCHEDULER[] =
    "{\"priorities\":[{\"name\":\"RemoveWithAvailabilityZonePriority\",\"weight\":10,\"args\":"
    "{\"MaxSkew\":2}},{\"name\":\"RemoveWithHighestOrdinalPriority\",\"weight\":2}]}";

/* What --config says, else what is built in. */
static int add_default(struct place_policy *policy, yyjson_val *placement, bool removes,
                       struct err *err)
{
    scoped_json *doc = NULL;
    yyjson_val *own = yyjson_obj_get(placement, removes ? "descheduler" : "scheduler");
    if (str_eq(json_str_at(placement, "policyType"), "MAXFILLUP")) {
        place_policy_fill_up(policy);
        return 0;
    }
    if (own != NULL)
        return removes ? place_policy_descheduler(policy, own, "placement.descheduler", err)
                       : place_policy_scheduler(policy, own, "placement.scheduler", err);
    int r = json_parse(sv_of(removes ? DEFAULT_DESCHEDULER : DEFAULT_SCHEDULER), &doc, err);
    if (r < 0)
        return r;
    yyjson_val *root = yyjson_doc_get_root(doc);
    return removes ? place_policy_descheduler(policy, root, "default", err)
                   : place_policy_scheduler(policy, root, "default", err);
}

/* One list of a ConfigMap: JSON in a text. Missing is none. */
static int read_list(const struct obj *map, const char *field, yyjson_doc **ret_doc,
                     struct err *err)
{
    const char *text = yyjson_get_str(yyjson_obj_get(json_at(map->root, "data"), field));
    if (text == NULL)
        return 0;
    int r = json_parse(sv_of(text), ret_doc, err);
    return r < 0 ? err_wrap(err, "data.%s", field) : 0;
}

static int add_from(struct place_policy *policy, const struct obj *map, bool removes,
                    struct err *err)
{
    const char *type = yyjson_get_str(yyjson_obj_get(json_at(map->root, "data"), "policyType"));
    if (!removes && str_eq(type, "MAXFILLUP")) {
        place_policy_fill_up(policy);
        return 0;
    }
    scoped_json *predicates = NULL, *priorities = NULL;
    int r = read_list(map, "predicates", &predicates, err);
    if (r == 0)
        r = read_list(map, "priorities", &priorities, err);
    if (r < 0)
        return r;
    yyjson_val *first = yyjson_doc_get_root(predicates), *second = yyjson_doc_get_root(priorities);
    return removes ? place_policy_descheduler_lists(policy, first, second, "data", err)
                   : place_policy_scheduler_lists(policy, first, second, "data", err);
}

void pool_read_policy(struct control *control, struct pool *pool)
{
    static const char *const NAMES[] = {POOL_SCHEDULER_MAP, POOL_DESCHEDULER_MAP};
    struct cache *cache = control_world(control)->cache;
    yyjson_val *placement = pool_configuration(control);
    struct place_policy policy = {0};
    for (int i = 0; i < 2; i++) {
        struct err err = {0};
        const struct obj *map = cache_get(cache, &KIND_CONFIGMAP, pool->ns, NAMES[i]);
        bool removes = i == 1;
        if (policy.fills_up)
            break; /* the rest is not looked at */
        if (map == NULL && add_default(&policy, placement, removes, &err) == 0)
            continue;
        if (map != NULL && add_from(&policy, map, removes, &err) == 0)
            continue;
        if (map == NULL)
            map = cache_get(cache, &KIND_STATEFULSET, pool->ns, pool->name);
        if (map != NULL)
            control_event(control, map, "Warning", "BadPolicy",
                          "%s; pool %s keeps the policy it had", err.text, pool->name);
        if (pool->has_policy)
            return;
        if (add_default(&policy, NULL, removes, &err) < 0)
            return;
    }
    pool->has_policy = true;
    place_set_policy(pool->place, &policy);
}
