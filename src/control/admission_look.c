// SPDX-License-Identifier: Apache-2.0
/* One look at a gang: its Workload is made and kept right, its owner started and stopped, what
 * becomes of its pods is told. */
#include "control/admission.h"
#include "model/cell.h"
#include "model/kueue.h"

#define PRIORITY_KIND "WorkloadPriorityClass"

static bool has_quota(const struct obj *workload)
{
    return condition_is(workload, "QuotaReserved", "True");
}

static bool is_evicted(const struct obj *workload)
{
    return condition_is(workload, "Evicted", "True");
}

static bool is_switched_off(const struct obj *workload)
{
    return yyjson_is_false(json_at(workload->root, "spec.active"));
}

static bool may_run(const struct obj *workload)
{
    return condition_is(workload, "Admitted", "True") && has_quota(workload) &&
           !is_evicted(workload) && workload->meta.deleted == 0;
}

/* ---- making the Workload ---- */

/* The object whose labels say which queue and which priority. */
static const struct obj *speaker(const struct gang_look *look)
{
    if (look->ops != &OWNER_PODS)
        return look->owner;
    return pods_first(look);
}

static const char *label(const struct obj *obj, const char *name)
{
    return yyjson_get_str(yyjson_obj_get(obj->meta.labels, name));
}

static void put_priority(struct gang_look *look, const struct obj *who, yyjson_mut_doc *doc,
                         yyjson_mut_val *spec)
{
    const char *name = label(who, KUEUE_PRIORITY_LABEL);
    yyjson_mut_val *set = yyjson_mut_arr_get_first(yyjson_mut_obj_get(spec, "podSets"));
    int64_t priority = json_mut_int_at(set, "template.spec.priority", 0);
    if (name != NULL) {
        const struct obj *class = cache_get(look->cache, &KIND_PRIORITYCLASS, "", name);
        priority = class ? json_int_at(class->root, "value", 0) : 0;
        json_mut_set(doc, spec, "priorityClassRef.group", yyjson_mut_str(doc, KUEUE_GROUP));
        json_mut_set(doc, spec, "priorityClassRef.kind", yyjson_mut_str(doc, PRIORITY_KIND));
        json_mut_set(doc, spec, "priorityClassRef.name", yyjson_mut_strcpy(doc, name));
        if (class == NULL)
            tell_event(look, who, "Warning", "PriorityClassNotFound",
                       "There is no WorkloadPriorityClass %s: priority 0", name);
    }
    json_mut_put(doc, spec, "priority", yyjson_mut_sint(doc, priority));
}

static void put_max_run(const struct obj *who, yyjson_mut_doc *doc, yyjson_mut_val *spec)
{
    int64_t seconds = kueue_max_run(label(who, KUEUE_MAX_RUN_LABEL));
    json_mut_put(doc, spec, "maximumExecutionTimeSeconds",
                 seconds > 0 ? yyjson_mut_sint(doc, seconds) : NULL);
}

struct references {
    const struct gang_look *look;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
};

static bool add_member(void *arg, const char *name, void *value)
{
    struct references *to = arg;
    (void)value;
    const struct obj *pod = cache_get(to->look->cache, &KIND_POD, to->look->gang->ns, name);
    if (pod != NULL)
        obj_add_owner(to->doc, to->root, pod, !to->look->gang->is_group);
    return true;
}

static void put_meta(const struct gang_look *look, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    yyjson_mut_val *finalizers = yyjson_mut_arr(doc);
    struct references to = {look, doc, root};
    json_mut_set(doc, root, "metadata.name", yyjson_mut_strcpy(doc, look->gang->name));
    json_mut_set(doc, root, "metadata.namespace", yyjson_mut_strcpy(doc, look->gang->ns));
    (void)json_mut_need_arr(doc, root, "metadata.ownerReferences"); /* none is said as well */
    if (look->owner != NULL)
        obj_add_owner(doc, root, look->owner, true);
    else
        (void)map_each(look->gang->members, add_member, &to);
    (void)yyjson_mut_arr_add_str(doc, finalizers, GANG_FINALIZER);
    json_mut_set(doc, root, "metadata.finalizers", finalizers);
    if (look->owner != NULL) {
        yyjson_mut_val *labels = yyjson_mut_obj(doc);
        json_mut_put(doc, labels, GANG_UID_LABEL, yyjson_mut_strcpy(doc, look->owner->meta.uid));
        json_mut_set(doc, root, "metadata.labels", labels);
    }
}

static void create_workload(struct gang_look *look)
{
    const struct obj *who = look->ops != NULL ? speaker(look) : NULL;
    scoped_str ended = {0};
    if (who == NULL || who->meta.deleted != 0 || look->ops->end(look, &ended) != 0)
        return;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALC);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *sets = yyjson_mut_arr(doc);
    yyjson_mut_doc_set_root(doc, root);
    put_meta(look, doc, root);
    look->ops->describe(look, doc, sets);
    const char *queue = label(who, KUEUE_QUEUE_LABEL);
    if (yyjson_mut_arr_size(sets) == 0 || queue == NULL) { /* a group that is not complete */
        yyjson_mut_doc_free(doc);
        return;
    }
    json_mut_set(doc, root, "spec.queueName", yyjson_mut_strcpy(doc, queue));
    json_mut_set(doc, root, "spec.podSets", sets);
    put_priority(look, who, doc, yyjson_mut_obj_get(root, "spec"));
    put_max_run(who, doc, yyjson_mut_obj_get(root, "spec"));
    struct write *write = write_new(WRITE_CREATE, &KIND_WORKLOAD, look->gang->ns, look->gang->name);
    write->doc = doc;
    control_write_about(look->control, write, (struct obj *)who, "FailedCreateWorkload");
    tell_event(look, who, "Normal", "CreatedWorkload", "Created Workload: %s", look->gang->key);
    if (look->ops->is_running(look))
        look->ops->stop(look);
}

/* ---- keeping it right ---- */

static void write_workload(struct gang_look *look, yyjson_mut_doc *doc)
{
    struct write *write = write_new(WRITE_UPDATE, &KIND_WORKLOAD, look->gang->ns, look->gang->name);
    write->if_version = mem_strdup(look->workload->meta.resource_version);
    write->doc = doc;
    control_write(look->control, write);
}

/* Another class may be named at any time; one with quota cannot get its first or lose its last. */
static bool follow_priority(struct gang_look *look)
{
    const struct obj *workload = look->workload;
    const struct obj *who = speaker(look);
    yyjson_val *ref = json_at(workload->root, "spec.priorityClassRef");
    const char *name = who != NULL ? label(who, KUEUE_PRIORITY_LABEL) : NULL;
    const char *kind = json_str_at(ref, "kind"), *known = json_str_at(ref, "name");
    if (who == NULL || str_eq(name, known) || (ref != NULL && !str_eq(kind, PRIORITY_KIND)) ||
        (has_quota(workload) && (name == NULL || known == NULL)))
        return false;
    yyjson_mut_doc *doc = obj_edit(workload);
    yyjson_mut_val *spec = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "spec");
    json_mut_put(doc, spec, "priorityClassRef", NULL);
    put_priority(look, who, doc, spec);
    write_workload(look, doc);
    return true;
}

/* What the owner wants may change for as long as nothing was given for it. */
static bool follow_owner(struct gang_look *look)
{
    const struct obj *workload = look->workload;
    const struct obj *who = speaker(look);
    const char *queue = who ? label(who, KUEUE_QUEUE_LABEL) : NULL;
    if (queue == NULL || look->ops == &OWNER_PODS || has_quota(workload) ||
        look->ops->is_running(look))
        return false;
    yyjson_mut_doc *doc = obj_edit(workload);
    yyjson_mut_val *spec = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "spec");
    yyjson_mut_val *sets = yyjson_mut_arr(doc);
    look->ops->describe(look, doc, sets);
    bool same_sets = json_mut_equal(sets, yyjson_mut_obj_get(spec, "podSets"));
    bool same = same_sets && str_eq(json_mut_str_at(spec, "queueName"), queue) &&
                json_mut_int_at(spec, "maximumExecutionTimeSeconds", 0) ==
                    kueue_max_run(label(who, KUEUE_MAX_RUN_LABEL));
    if (same) {
        yyjson_mut_doc_free(doc);
        return false;
    }
    if (!same_sets)
        json_mut_put(doc, spec, "podSets", sets);
    json_mut_put(doc, spec, "queueName", yyjson_mut_strcpy(doc, queue));
    put_max_run(who, doc, spec);
    write_workload(look, doc);
    return true;
}

static void switch_off(struct gang_look *look)
{
    struct write *write = write_new(WRITE_PATCH, &KIND_WORKLOAD, look->gang->ns, look->gang->name);
    write->patch_type = PATCH_MERGE;
    write->if_version = mem_strdup(look->workload->meta.resource_version);
    (void)json_parse(SV("{\"spec\":{\"active\":false}}"), &write->patch, NULL);
    control_write(look->control, write);
}

static void let_go(struct gang_look *look)
{
    if (!obj_has_finalizer(look->workload, GANG_FINALIZER))
        return;
    yyjson_mut_doc *doc = obj_edit(look->workload);
    obj_drop_finalizer(yyjson_mut_doc_get_root(doc), GANG_FINALIZER);
    write_workload(look, doc);
}

/* ---- an eviction ---- */

static time_ms patience(const struct obj *workload)
{
    int64_t longest = 0;
    size_t i, n;
    yyjson_val *set;
    yyjson_arr_foreach(json_at(workload->root, "spec.podSets"), i, n, set)
    {
        int64_t grace =
            json_int_at(set, "template.spec.terminationGracePeriodSeconds", GANG_GRACE_S);
        longest = grace > longest ? grace : longest;
    }
    return longest * 1000 + GANG_PATIENCE_MS;
}

/* Everything of the gang has ended. Pods that do not go are made to. */
static bool is_empty(struct gang_look *look, time_ms since)
{
    const struct owner_ops *ops = look->ops;
    if (ops == NULL)
        return look->workload->meta.owners == NULL || look->workload->meta.deleted != 0;
    if (!ops->has_pods(look, false))
        return true;
    time_ms due = since + patience(look->workload);
    if (look->now < due) {
        control_add_at(look->control, look->gang->key, due);
    } else {
        (void)ops->has_pods(look, true);
        control_add_after(look->control, look->gang->key, GANG_PATIENCE_MS);
    }
    return false;
}

static void leave(struct gang_look *look)
{
    const struct owner_ops *ops = look->ops;
    look->gang->is_leaving = true;
    if (ops != NULL && ops->is_running(look)) {
        const struct obj *who = speaker(look);
        ops->stop(look);
        if (who != NULL)
            tell_event(look, who, "Normal", "Stopped", "%s",
                       json_str_at(condition_of(look->workload, "Evicted"), "message"));
        return;
    }
    if (!is_empty(look, condition_time(look->workload, "Evicted")))
        return;
    struct gang_draft draft = gang_draft_begin(look);
    decide_release(look, &draft);
    if (ops != NULL)
        ops->restore(look);
    (void)gang_draft_send(look, &draft);
    gang_draft_end(&draft);
}

/* The Workload is deleted. Its owner, if it is there and goes on, will have another one made for
 * it, and waits for that as it was written. */
static void go(struct gang_look *look)
{
    scoped_str ended = {0};
    bool is_left = look->owner != NULL && look->owner->meta.deleted == 0 &&
                   has_quota(look->workload) && look->ops->end(look, &ended) == 0;
    look->gang->is_leaving = true;
    if (is_left && look->ops->is_running(look)) {
        look->ops->stop(look);
        return;
    }
    if (!is_empty(look, look->workload->meta.deleted))
        return;
    if (is_left && obj_has_finalizer(look->workload, GANG_FINALIZER))
        look->ops->restore(look);
    let_go(look);
}

/* ---- readiness ---- */

static const char *ready_reason(bool is_ready, yyjson_val *before)
{
    const char *reason = json_str_at(before, "reason");
    bool was_ready = str_eq(json_str_at(before, "status"), "True");
    bool recovers = str_eq(reason, "WaitForRecovery");
    if (is_ready)
        return recovers || str_eq(reason, "Recovered") ? "Recovered" : "Started";
    return was_ready || recovers ? "WaitForRecovery" : "WaitForStart";
}

static void put_ready(struct gang_look *look, struct gang_draft *draft)
{
    if (!gang_waits_for_ready(look->control) || !may_run(look->workload))
        return;
    bool is_ready = look->ops->is_running(look) && look->ops->is_ready(look);
    yyjson_val *before = condition_of(look->workload, "PodsReady");
    const char *reason = ready_reason(is_ready, before);
    const char *message = "Not all pods are ready or succeeded";
    if (is_ready)
        message = "All pods reached readiness and the workload is running";
    else if (str_eq(reason, "WaitForRecovery"))
        message = "At least one pod has failed, waiting for recovery";
    if (str_eq(json_str_at(before, "reason"), reason) &&
        str_eq(json_str_at(before, "status"), is_ready ? "True" : "False"))
        return;
    if (is_ready) /* the limit by time begins anew with the next eviction */
        gang_draft_drop(draft, "requeueState", "firstEvictedAt");
    gang_draft_condition(draft, "PodsReady", is_ready ? "True" : "False", reason, message);
}

static void put_reclaimable(struct gang_look *look, struct gang_draft *draft)
{
    yyjson_val *sets = json_at(look->workload->root, "spec.podSets");
    yyjson_mut_val *list = yyjson_mut_arr(draft->doc);
    size_t i, n;
    yyjson_val *set;
    if (!may_run(look->workload))
        return;
    yyjson_arr_foreach(sets, i, n, set)
    {
        int64_t count = look->ops->reclaimable(look, set);
        if (count <= 0)
            continue;
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(draft->doc, list);
        const char *name = json_str_at(set, "name");
        json_mut_put(draft->doc, item, "name", yyjson_mut_strcpy(draft->doc, name ? name : "main"));
        json_mut_put(draft->doc, item, "count", yyjson_mut_sint(draft->doc, count));
    }
    if (yyjson_mut_arr_size(list) > 0)
        gang_draft_put(draft, "reclaimablePods", list);
}

/* ---- the whole of it ---- */

static time_ms ended_at(const struct obj *owner)
{
    static const char *const ENDS[] = {"Completed", "Complete", "Failed"};
    for (size_t i = 0; i < ARRAY_LEN(ENDS); i++) {
        if (condition_is(owner, ENDS[i], "True"))
            return condition_time(owner, ENDS[i]);
    }
    return 0;
}

/* A JobSet has ended when its policy says so, with Jobs that still run: their pods keep the quota
 * until they are gone. */
static bool finish(struct gang_look *look)
{
    scoped_str message = {0};
    int end = look->ops != NULL ? look->ops->end(look, &message) : 0;
    if (end == 0)
        return false;
    look->gang->is_leaving = true;
    if (look->owner != NULL && has_quota(look->workload) && !is_empty(look, ended_at(look->owner)))
        return true;
    look->gang->is_leaving = false;
    struct gang_draft draft = gang_draft_begin(look);
    gang_draft_condition(&draft, "Finished", "True", end > 0 ? "Succeeded" : "Failed",
                         str_text(&message));
    (void)gang_draft_send(look, &draft);
    gang_draft_end(&draft);
    return true;
}

static void start_or_stop(struct gang_look *look)
{
    const struct owner_ops *ops = look->ops;
    bool running = ops->is_running(look);
    if (may_run(look->workload) && !ops->is_started(look)) {
        const struct obj *who = speaker(look);
        ops->start(look);
        if (who != NULL && !running)
            tell_event(look, who, "Normal", "Started", "Admitted by clusterQueue %s",
                       json_str_at(look->workload->root, "status.admission.clusterQueue"));
    } else if (!may_run(look->workload) && running) {
        ops->stop(look); /* somebody else has started it */
    }
}

/* Of one that is gone the Workload goes as well. */
static bool has_owner(const struct gang_look *look)
{
    return look->ops != NULL && speaker(look) != NULL;
}

/* More pods than it has quota for: it waits in the queue again, with a Workload of what it asks
 * for now. Fewer may run, so less is no reason to stop it. */
static bool has_outgrown(struct gang_look *look)
{
    const struct owner_ops *ops = look->ops;
    int64_t given = 0;
    size_t i, n;
    yyjson_val *item;
    if (!has_owner(look) || ops->pods_at_once == NULL || !may_run(look->workload) ||
        !ops->is_running(look))
        return false;
    yyjson_arr_foreach(json_at(look->workload->root, "status.admission.podSetAssignments"), i, n,
                       item)
    {
        given += json_int_at(item, "count", 0);
    }
    int64_t wanted = ops->pods_at_once(look);
    if (wanted <= given)
        return false;
    struct write *write = write_new(WRITE_DELETE, &KIND_WORKLOAD, look->gang->ns, look->gang->name);
    write->if_version = mem_strdup(look->workload->meta.resource_version);
    control_write(look->control, write);
    tell_event(look, look->owner, "Normal", "DeletedWorkload",
               "%lld pods at a time, and quota for %lld: it waits in the queue again",
               (long long)wanted, (long long)given);
    return true;
}

/* Pods of a group that were stopped are gone: it waits in the queue when others have come. */
static void count_missing(struct gang_look *look)
{
    struct crew *gang = look->gang;
    int64_t missing = pods_missing(look->cache, gang, look->workload);
    if (missing == gang->missing)
        return;
    gang->missing = missing;
    feed_workload(look->control, gang, look->workload);
    control_add(look->control, GANG_STEP);
}

static void progress(struct gang_look *look)
{
    const struct obj *workload = look->workload;
    struct crew *gang = look->gang;
    if (condition_is(workload, "DeactivationTarget", "True") && !is_switched_off(workload)) {
        switch_off(look);
        return;
    }
    if (is_evicted(workload) && has_quota(workload)) {
        leave(look);
        return;
    }
    gang->is_leaving = false;
    if (has_outgrown(look))
        return;
    count_missing(look);
    if (!has_owner(look) && !is_switched_off(workload))
        return; /* whoever made it says what becomes of it */
    struct gang_draft draft = gang_draft_begin(look);
    if (has_quota(workload))
        checks_sync(look, &draft);
    if (is_switched_off(workload))
        gang_draft_drop_condition(&draft, "DeactivationTarget");
    if (has_owner(look) && !follow_owner(look) && !follow_priority(look)) {
        start_or_stop(look);
        put_ready(look, &draft);
        put_reclaimable(look, &draft);
    }
    (void)gang_draft_send(look, &draft);
    gang_draft_end(&draft);
}

void look_at_gang(struct gang_look *look)
{
    if (pods_trim(look))
        return;
    if (look->workload == NULL) {
        create_workload(look);
        return;
    }
    if (look->workload->meta.deleted != 0) {
        go(look);
        return;
    }
    tell_progress(look);
    if (decide_settle(look))
        return;
    if (condition_is(look->workload, "Finished", "True"))
        let_go(look);
    else if (!finish(look))
        progress(look);
}
