// SPDX-License-Identifier: Apache-2.0
/* What the objects say, told to the engine. */
#include "base/quantity.h"
#include "control/admission.h"
#include "model/cell.h"
#include "model/configuration.h"
#include "model/kueue.h"
#include "model/selector.h"

void gang_settings(struct control *control, struct admit_settings *ret)
{
    static const enum admit_scope SCOPES[] = {[BLOCK_CLUSTER] = SCOPE_CLUSTER,
                                              [BLOCK_COHORT] = SCOPE_COHORT,
                                              [BLOCK_QUEUE] = SCOPE_QUEUE,
                                              [BLOCK_FLAVOR] = SCOPE_FLAVOR};
    const struct configuration *configuration = gang_configuration(control);
    admit_settings_default(ret);
    if (configuration == NULL)
        return;
    const struct wait_for_ready *ready = &configuration->ready;
    *ret = (struct admit_settings){.waits_for_ready = ready->enable,
                                   .timeout_ms = ready->timeout_ms,
                                   .recovery_ms = ready->recovery_ms,
                                   .blocks = ready->enable && ready->blocks,
                                   .scope = SCOPES[ready->scope],
                                   .orders_by_creation = ready->orders_by_creation,
                                   .limit_count = ready->limit_count,
                                   .limit_ms = ready->limit_ms,
                                   .base_ms = ready->base_ms,
                                   .max_ms = ready->max_ms,
                                   .reset_after_ms = ready->reset_after_ms};
}

static struct admit *engine_of(struct control *control)
{
    return ((struct admission *)control_state(control))->engine;
}

static int64_t milli_of(yyjson_val *val, int64_t otherwise)
{
    scoped_str number = {0};
    struct sv text = {yyjson_get_str(val), yyjson_get_len(val)};
    quantity amount;
    if (yyjson_is_num(val)) {
        json_write_val(val, &number);
        text = (struct sv){number.data, number.len};
    }
    return text.ptr != NULL && quantity_parse(text, &amount, NULL) >= 0 ? quantity_milli(amount)
                                                                        : otherwise;
}

static size_t index_of(const char *const *words, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(words[i], word))
            return i;
    }
    return 0;
}
#define WORD(word, ...)                                                                            \
    index_of((const char *const[]){__VA_ARGS__},                                                   \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), word)

/* ---- quotas ---- */

static struct admit_group group_of(struct arena *arena, yyjson_val *group)
{
    yyjson_val *covered = yyjson_obj_get(group, "coveredResources");
    yyjson_val *flavors = yyjson_obj_get(group, "flavors");
    size_t n_resources = yyjson_arr_size(covered), n_flavors = yyjson_arr_size(flavors), i, n;
    const char **names = arena_alloc(arena, (n_resources + 1) * sizeof(*names));
    const char **flavor_names = arena_alloc(arena, (n_flavors + 1) * sizeof(*flavor_names));
    struct admit_quota *quotas =
        arena_alloc(arena, (n_resources * n_flavors + 1) * sizeof(*quotas));
    yyjson_val *item;
    yyjson_arr_foreach(covered, i, n, item)
    {
        names[i] = yyjson_get_str(item);
    }
    yyjson_arr_foreach(flavors, i, n, item)
    {
        yyjson_val *resources = yyjson_obj_get(item, "resources");
        flavor_names[i] = json_str_at(item, "name");
        for (size_t k = 0; k < n_resources; k++) {
            yyjson_val *quota = yyjson_arr_get(resources, k);
            quotas[i * n_resources + k] = (struct admit_quota){
                .nominal = milli_of(yyjson_obj_get(quota, "nominalQuota"), 0),
                .borrowing = milli_of(yyjson_obj_get(quota, "borrowingLimit"), ADMIT_NO_LIMIT),
                .lending = milli_of(yyjson_obj_get(quota, "lendingLimit"), ADMIT_NO_LIMIT)};
        }
    }
    return (struct admit_group){.resources = names,
                                .n_resources = n_resources,
                                .flavors = flavor_names,
                                .n_flavors = n_flavors,
                                .quotas = quotas};
}

static const struct admit_group *groups_of(struct arena *arena, yyjson_val *spec, size_t *ret_n)
{
    yyjson_val *list = yyjson_obj_get(spec, "resourceGroups");
    size_t i, n;
    struct admit_group *groups = arena_alloc(arena, (yyjson_arr_size(list) + 1) * sizeof(*groups));
    yyjson_val *group;
    yyjson_arr_foreach(list, i, n, group)
    {
        groups[i] = group_of(arena, group);
    }
    *ret_n = yyjson_arr_size(list);
    return groups;
}

static const char *text_or_null(yyjson_val *obj, const char *path)
{
    const char *text = json_str_at(obj, path);
    return text != NULL && *text != '\0' ? text : NULL;
}

static enum admit_stop stop_of(yyjson_val *spec)
{
    return (enum admit_stop)WORD(json_str_at(spec, "stopPolicy"), "None", "Hold", "HoldAndDrain");
}

static struct admit_preemption preemption_of(yyjson_val *spec)
{
    yyjson_val *preemption = yyjson_obj_get(spec, "preemption");
    yyjson_val *borrow = yyjson_obj_get(preemption, "borrowWithinCohort");
    return (struct admit_preemption){
        .within = (enum admit_within)WORD(json_str_at(preemption, "withinClusterQueue"), "Never",
                                          "LowerPriority", "LowerOrNewerEqualPriority"),
        .reclaim = (enum admit_reclaim)WORD(json_str_at(preemption, "reclaimWithinCohort"), "Never",
                                            "LowerPriority", "Any"),
        .borrows_within_cohort = str_eq(json_str_at(borrow, "policy"), "LowerPriority"),
        .has_threshold = yyjson_is_int(yyjson_obj_get(borrow, "maxPriorityThreshold")),
        .threshold = json_int_at(borrow, "maxPriorityThreshold", 0)};
}

void feed_queue(struct control *control, const struct obj *queue)
{
    yyjson_val *spec = yyjson_obj_get(queue->root, "spec");
    yyjson_val *fungible = yyjson_obj_get(spec, "flavorFungibility");
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    struct admit_queue put = {
        .name = queue->meta.name,
        .cohort = text_or_null(spec, "cohortName"),
        .strategy = str_eq(json_str_at(spec, "queueingStrategy"), "StrictFIFO") ? STRICT_FIFO
                                                                                : BEST_EFFORT_FIFO,
        .stop = stop_of(spec),
        .preemption = preemption_of(spec),
        .borrow_tries_next = str_eq(json_str_at(fungible, "whenCanBorrow"), "TryNextFlavor"),
        .preempt_tries_next = !str_eq(json_str_at(fungible, "whenCanPreempt"), "MayStopSearch"),
        .prefers_preemption =
            str_eq(json_str_at(fungible, "preference"), "PreemptionOverBorrowing")};
    put.groups = groups_of(&arena, spec, &put.n_groups);
    put.checks = checks_asked(&arena, control_world(control)->cache, queue, &put.n_checks);
    if (admit_put_queue(engine_of(control), &put, control_now(control), &err) < 0)
        control_event(control, queue, "Warning", "Refused", "%s", err.text);
    arena_done(&arena);
}

void feed_cohort(struct control *control, const struct obj *cohort)
{
    yyjson_val *spec = yyjson_obj_get(cohort->root, "spec");
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    struct admit_cohort put = {.name = cohort->meta.name,
                               .parent = text_or_null(spec, "parentName")};
    put.groups = groups_of(&arena, spec, &put.n_groups);
    if (admit_put_cohort(engine_of(control), &put, control_now(control), &err) < 0)
        control_event(control, cohort, "Warning", "Refused", "%s", err.text);
    arena_done(&arena);
}

/* No selector lets nothing in, an empty one everything. */
static bool lets_in(struct cache *cache, const struct obj *queue, const char *ns)
{
    yyjson_val *object = json_at(queue->root, "spec.namespaceSelector");
    const struct obj *home = cache_get(cache, &KIND_NAMESPACE, "", ns);
    struct label_selector *selector = NULL;
    if (object == NULL || home == NULL || label_selector_of(object, &selector, NULL) < 0)
        return false;
    bool matches = label_selector_matches(selector, home->meta.labels);
    label_selector_free(selector);
    return matches;
}

void feed_local(struct control *control, const struct obj *local)
{
    struct cache *cache = control_world(control)->cache;
    yyjson_val *spec = yyjson_obj_get(local->root, "spec");
    const char *name = json_str_at(spec, "clusterQueue");
    const struct obj *queue = name ? cache_get(cache, &KIND_CLUSTERQUEUE, "", name) : NULL;
    scoped_free char *key = mem_printf("%s/%s", obj_namespace(local), local->meta.name);
    struct admit_local put = {.key = key,
                              .queue = name ? name : "",
                              .stop = stop_of(spec),
                              .is_namespace_refused =
                                  queue != NULL && !lets_in(cache, queue, obj_namespace(local))};
    admit_put_local(engine_of(control), &put, control_now(control));
}

/* ---- workloads ---- */

static bool covers_pods(struct cache *cache, const struct obj *workload)
{
    const char *name = json_str_at(workload->root, "spec.queueName");
    const struct obj *local =
        name ? cache_get(cache, &KIND_LOCALQUEUE, obj_namespace(workload), name) : NULL;
    const char *queue_name = local ? json_str_at(local->root, "spec.clusterQueue") : NULL;
    const struct obj *queue =
        queue_name ? cache_get(cache, &KIND_CLUSTERQUEUE, "", queue_name) : NULL;
    size_t i, n, k, m;
    yyjson_val *group, *resource;
    if (queue == NULL)
        return false;
    yyjson_arr_foreach(json_at(queue->root, "spec.resourceGroups"), i, n, group)
    {
        yyjson_arr_foreach(yyjson_obj_get(group, "coveredResources"), k, m, resource)
        {
            if (yyjson_equals_str(resource, "pods"))
                return true;
        }
    }
    return false;
}

struct feed {
    struct arena *arena;
    struct cache *cache;
    const struct obj *workload;
    struct admit_workload put;
};

static void add_unfit(struct feed *feed, yyjson_val *template, struct admit_pod_set *set)
{
    size_t cap = cache_count(feed->cache, &KIND_RESOURCEFLAVOR);
    struct admit_unfit *unfit = arena_alloc(feed->arena, (cap + 1) * sizeof(*unfit));
    struct obj *flavor = cache_first(feed->cache, &KIND_RESOURCEFLAVOR, NULL);
    for (; flavor != NULL; flavor = cache_after(feed->cache, &KIND_RESOURCEFLAVOR, NULL, flavor)) {
        const char *why = flavor_problem(feed->arena, flavor, template);
        if (why != NULL)
            unfit[set->n_unfit++] = (struct admit_unfit){flavor->meta.name, why};
    }
    set->unfit = unfit;
}

static void add_needs(struct feed *feed, yyjson_val *template, struct admit_pod_set *set)
{
    need_list needs = {0};
    flavor_needs(template, &needs);
    if (covers_pods(feed->cache, feed->workload))
        vec_push(&needs, ((struct admit_need){"pods", 1000}));
    struct admit_need *copy = arena_alloc(feed->arena, (needs.len + 1) * sizeof(*copy));
    if (needs.len > 0)
        memcpy(copy, needs.items, needs.len * sizeof(*copy));
    set->needs = copy;
    set->n_needs = needs.len;
    vec_done(&needs);
}

static void add_pod_sets(struct feed *feed)
{
    yyjson_val *list = json_at(feed->workload->root, "spec.podSets");
    struct admit_pod_set *sets =
        arena_alloc(feed->arena, (yyjson_arr_size(list) + 1) * sizeof(*sets));
    size_t i, n;
    yyjson_val *set;
    yyjson_arr_foreach(list, i, n, set)
    {
        yyjson_val *template = yyjson_obj_get(set, "template");
        const char *name = json_str_at(set, "name");
        sets[i] = (struct admit_pod_set){.name = name ? name : "main",
                                         .count = json_int_at(set, "count", 0),
                                         .min_count = json_int_at(set, "minCount", 0)};
        add_needs(feed, template, &sets[i]);
        add_unfit(feed, template, &sets[i]);
    }
    feed->put.pod_sets = sets;
    feed->put.n_pod_sets = yyjson_arr_size(list);
}

static int64_t reclaimed(const struct obj *workload, const char *pod_set)
{
    yyjson_val *list = json_at(workload->root, "status.reclaimablePods");
    return json_int_at(json_find(list, "name", pod_set), "count", 0);
}

static const struct admit_pick *picks_of(struct feed *feed, yyjson_val *assignment, int64_t left,
                                         int64_t count)
{
    yyjson_val *usage = yyjson_obj_get(assignment, "resourceUsage");
    size_t i, n, k = 0;
    struct admit_pick *picks =
        arena_alloc(feed->arena, (yyjson_obj_size(usage) + 1) * sizeof(*picks));
    yyjson_val *key, *val;
    yyjson_obj_foreach(usage, i, n, key, val)
    {
        const char *resource = yyjson_get_str(key);
        const char *flavor =
            yyjson_get_str(yyjson_obj_get(yyjson_obj_get(assignment, "flavors"), resource));
        int64_t amount = milli_of(val, 0);
        if (flavor == NULL)
            continue;
        if (count > 0 && left < count)
            amount = amount / count * left;
        picks[k++] = (struct admit_pick){resource, flavor, amount};
    }
    return picks;
}

static size_t count_picks(yyjson_val *assignment)
{
    size_t i, n, k = 0;
    yyjson_val *key, *val;
    yyjson_val *flavors = yyjson_obj_get(assignment, "flavors");
    yyjson_obj_foreach(yyjson_obj_get(assignment, "resourceUsage"), i, n, key, val)
    {
        k += yyjson_is_str(yyjson_obj_get(flavors, yyjson_get_str(key)));
    }
    return k;
}

static void add_admission(struct feed *feed)
{
    yyjson_val *admission = json_at(feed->workload->root, "status.admission");
    yyjson_val *list = yyjson_obj_get(admission, "podSetAssignments");
    struct admit_workload *put = &feed->put;
    if (!condition_is(feed->workload, "QuotaReserved", "True") || admission == NULL)
        return;
    struct admit_assigned *assigned =
        arena_alloc(feed->arena, (yyjson_arr_size(list) + 1) * sizeof(*assigned));
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        const char *name = json_str_at(item, "name");
        int64_t count = json_int_at(item, "count", 0);
        int64_t left = count - reclaimed(feed->workload, name);
        left = left < 0 ? 0 : left;
        assigned[i] = (struct admit_assigned){.pod_set = name ? name : "main",
                                              .count = left,
                                              .picks = picks_of(feed, item, left, count),
                                              .n_picks = count_picks(item)};
    }
    put->has_quota = true;
    put->queue = json_str_at(admission, "clusterQueue");
    put->assigned = assigned;
    put->n_assigned = yyjson_arr_size(list);
    put->reserved_at = condition_time(feed->workload, "QuotaReserved");
    put->is_admitted = condition_is(feed->workload, "Admitted", "True");
    put->admitted_at = put->is_admitted ? condition_time(feed->workload, "Admitted") : 0;
}

static void add_requeue(struct feed *feed)
{
    const struct obj *workload = feed->workload;
    yyjson_val *state = json_at(workload->root, "status.requeueState");
    yyjson_val *pauses = json_at(workload->root, "status.flavorPauses");
    struct admit_workload *put = &feed->put;
    struct admit_failed *failed =
        arena_alloc(feed->arena, (yyjson_arr_size(pauses) + 1) * sizeof(*failed));
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(pauses, i, n, item)
    {
        failed[i] = (struct admit_failed){.flavor = json_str_at(item, "flavor"),
                                          .count = json_int_at(item, "count", 0),
                                          .until = cell_time(item, "until")};
    }
    put->failed = failed;
    put->n_failed = yyjson_arr_size(pauses);
    put->requeue_count = json_int_at(state, "count", 0);
    put->requeue_at = cell_time(state, "requeueAt");
    put->first_evicted_at = cell_time(state, "firstEvictedAt");
    if (condition_is(workload, "Evicted", "True")) {
        put->evicted = admit_evicted_of(json_str_at(condition_of(workload, "Evicted"), "reason"));
        put->evicted_at = condition_time(workload, "Evicted");
    }
    put->is_held = condition_is(workload, "Requeued", "False");
    if (put->is_held)
        put->held_by = admit_evicted_of(json_str_at(condition_of(workload, "Requeued"), "reason"));
}

void feed_workload(struct control *control, const struct crew *gang, const struct obj *workload)
{
    struct admission *admission = control_state(control);
    struct feed feed = {
        .arena = &admission->arena, .cache = control_world(control)->cache, .workload = workload};
    struct err err = {0};
    yyjson_val *spec = yyjson_obj_get(workload->root, "spec");
    yyjson_val *ready = condition_of(workload, "PodsReady");
    arena_reset(feed.arena);
    const char *queue = json_str_at(spec, "queueName");
    feed.put = (struct admit_workload){
        .key = gang->key,
        .uid = workload->meta.uid,
        .local = arena_printf(feed.arena, "%s/%s", obj_namespace(workload), queue ? queue : ""),
        .priority = json_int_at(spec, "priority", 0),
        .created = workload->meta.created,
        .max_run_ms = json_int_at(spec, "maximumExecutionTimeSeconds", 0) * 1000,
        .past_run_ms = json_int_at(workload->root, GANG_PAST_PATH, 0) * 1000,
        /* On its way to be switched off: that it still says true is no wish to go on. */
        .is_active = !yyjson_is_false(yyjson_obj_get(spec, "active")) &&
                     !condition_is(workload, "DeactivationTarget", "True"),
        .is_finished = condition_is(workload, "Finished", "True"),
        .is_deleted = workload->meta.deleted != 0,
        .missing = pods_missing(feed.cache, gang, workload),
        .ready = ready ? admit_ready_of(json_str_at(ready, "status"), json_str_at(ready, "reason"))
                       : READY_ABSENT,
        .ready_since = cell_time(ready, "lastTransitionTime")};
    add_pod_sets(&feed);
    add_admission(&feed);
    add_requeue(&feed);
    feed.put.answers = checks_answered(feed.arena, workload, &feed.put.n_answers);
    if (admit_put_workload(admission->engine, &feed.put, control_now(control), &err) < 0)
        control_event(control, workload, "Warning", "Refused", "%s", err.text);
}
