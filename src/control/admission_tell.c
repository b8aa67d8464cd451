// SPDX-License-Identifier: Apache-2.0
/* What people and programs are told: events, numbers for metrics, and the answer to "why". */
#include "control/admission.h"
#include "model/cell.h"
#include <stdarg.h>

/* ---- events ---- */

/* Nobody waits for an Event, but a commit of one makes the next write wait for the disk. So they
 * are written together: a gang that is let in has them in somebody else's commit. */
void tell_event(struct gang_look *look, const struct obj *about, const char *type,
                const char *reason, const char *fmt, ...)
{
    char message[1024]; /* as long as an Event's may be */
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    vec_push(&look->admission->sayings, ((struct saying){obj_ref((struct obj *)about), type,
                                                         mem_strdup(reason), mem_strdup(message)}));
    control_add_after(look->control, GANG_TELL, GANG_TELL_PAUSE_MS);
}

static void saying_done(struct saying *saying)
{
    obj_unref(saying->about);
    mem_free(saying->reason);
    mem_free(saying->message);
}

void tell_events(struct control *control)
{
    struct admission *admission = control_state(control);
    for (size_t i = 0; i < admission->sayings.len; i++) {
        struct saying *saying = &admission->sayings.items[i];
        control_event(control, saying->about, saying->type, saying->reason, "%s", saying->message);
        saying_done(saying);
    }
    vec_clear(&admission->sayings);
}

void tell_done(struct admission *admission)
{
    for (size_t i = 0; i < admission->sayings.len; i++)
        saying_done(&admission->sayings.items[i]);
    vec_done(&admission->sayings);
}

/* ---- labels ---- */

/* Of a Workload without quota: the queue in which it waits; or NULL. */
static const char *queue_of(struct cache *cache, const struct obj *workload)
{
    const char *queue = json_str_at(workload->root, "status.admission.clusterQueue");
    const char *name = json_str_at(workload->root, "spec.queueName");
    if (queue != NULL || name == NULL)
        return queue;
    const struct obj *local = cache_get(cache, &KIND_LOCALQUEUE, obj_namespace(workload), name);
    return local != NULL ? json_str_at(local->root, "spec.clusterQueue") : NULL;
}

static const char *text_or_none(const char *text)
{
    return text != NULL ? text : "";
}

/* Of a deactivation the sort and its cause are told apart, as the statistics do. */
struct labels {
    const char *reason, *cause;
};

static struct labels labels_of(const struct admit_decision *what)
{
    const char *limit = admit_deactivated_text(what->reason);
    if (limit != NULL)
        return (struct labels){admit_evicted_text(EVICTED_INACTIVE), limit};
    return (struct labels){admit_evicted_text(what->reason), text_or_none(what->cause)};
}

/* ---- decisions ---- */

static time_ms queued_since(const struct obj *workload)
{
    time_ms requeued = condition_time(workload, "Requeued");
    return requeued > workload->meta.created ? requeued : workload->meta.created;
}

static void tell_admitted(struct gang_look *look, const struct admit_decision *what)
{
    time_ms waited = look->now - queued_since(look->workload);
    scoped_free char *labels = mem_printf("cluster_queue=\"%s\"", what->queue);
    scoped_str wait = {0};
    duration_format(waited / 1000 * 1000, &wait);
    meter_count(look->admission, METER_ADMITTED, labels);
    meter_time(look->admission, METER_ADMISSION_WAIT, labels, waited);
    tell_event(look, look->workload, "Normal", "Admitted",
               "Admitted by ClusterQueue %s, wait time since queued was %s", what->queue,
               str_text(&wait));
}

/* Was it the first for this reason? The write that tells of it has counted it. */
static bool is_first(const struct obj *workload, const struct labels *labels)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(workload->root, "status.schedulingStats.evictions"), i, n, item)
    {
        if (str_eq(json_str_at(item, "reason"), labels->reason) &&
            str_eq(text_or_none(json_str_at(item, "underlyingCause")), labels->cause))
            return json_int_at(item, "count", 0) == 1;
    }
    return false;
}

static void count_preempted(struct gang_look *look, const struct admit_decision *what)
{
    const struct crew *by = gang_find(look->admission, what->preemptor);
    const struct obj *preemptor =
        by != NULL ? cache_get(look->cache, &KIND_WORKLOAD, by->ns, by->name) : NULL;
    const char *queue = preemptor != NULL ? queue_of(look->cache, preemptor) : NULL;
    if (queue == NULL)
        return;
    scoped_free char *labels = mem_printf("preempting_cluster_queue=\"%s\",reason=\"%s\"", queue,
                                          admit_preempt_text(what->preempt));
    meter_count(look->admission, METER_PREEMPTED, labels);
}

/* Of one that was deactivated while it waited there was no quota to become free. */
static void tell_left(struct gang_look *look, const char *queue)
{
    const struct obj *workload = look->workload;
    time_ms evicted = condition_time(workload, "Evicted");
    time_ms free = condition_time(workload, "QuotaReserved");
    if (!look->gang->is_leaving || !condition_is(workload, "Evicted", "True") ||
        !condition_is(workload, "QuotaReserved", "False") || free < evicted)
        return;
    const char *reason = json_str_at(condition_of(workload, "Evicted"), "reason");
    bool is_off = admit_deactivated_text(admit_evicted_of(reason)) != NULL;
    scoped_free char *labels =
        mem_printf("cluster_queue=\"%s\",reason=\"%s\"", queue,
                   is_off ? admit_evicted_text(EVICTED_INACTIVE) : text_or_none(reason));
    meter_time(look->admission, METER_EVICTION, labels, free - evicted);
    look->gang->is_leaving = false;
}

static void tell_evicted(struct gang_look *look, const struct admit_decision *what)
{
    const struct obj *workload = look->workload;
    const char *queue = queue_of(look->cache, workload);
    if (what->reason == EVICTED_INACTIVE && what->queue == NULL)
        return; /* it had no place, and who switched it off knows */
    scoped_free char *event = mem_printf("EvictedDueTo%s", admit_evicted_text(what->reason));
    tell_event(look, workload, "Normal", event, "%s", what->message);
    if (what->reason == EVICTED_PREEMPTED)
        count_preempted(look, what);
    look->gang->is_leaving = true;
    if (queue == NULL)
        return;
    struct labels by = labels_of(what);
    scoped_free char *labels = mem_printf(
        "cluster_queue=\"%s\",reason=\"%s\",underlying_cause=\"%s\"", queue, by.reason, by.cause);
    meter_count(look->admission, METER_EVICTED, labels);
    if (is_first(workload, &by))
        meter_count(look->admission, METER_EVICTED_ONCE, labels);
    if (condition_is(workload, "PodsReady", "True"))
        meter_time(look->admission, METER_READY_TO_EVICTED, labels,
                   look->now - condition_time(workload, "PodsReady"));
    tell_left(look, queue); /* nothing of it ran: its quota is free already */
}

/* What has a reason of its own and is counted by it. */
static void tell_small(struct gang_look *look, const struct admit_decision *what, const char *event,
                       enum meter meter)
{
    const char *queue = queue_of(look->cache, look->workload);
    tell_event(look, look->workload, "Normal", event, "%s",
               what->message ? what->message : what->text);
    if (queue == NULL)
        return;
    scoped_free char *labels =
        mem_printf("cluster_queue=\"%s\",reason=\"%s\"", queue, text_or_none(what->text));
    meter_count(look->admission, meter, labels);
}

/* One Event at most for each: an Event is a write that costs as much as the decision's own, and
 * what the conditions say already is not said again. */
void tell_decision(struct gang_look *look, const struct admit_decision *what)
{
    switch (what->type) {
    case DECIDED_ADMIT:
        if (what->asks_others)
            tell_event(look, look->workload, "Normal", "QuotaReserved",
                       "%s; it waits for its admission checks", what->message);
        else
            tell_admitted(look, what);
        return;
    case DECIDED_PASS:
        tell_admitted(look, what);
        return;
    case DECIDED_EVICT:
    case DECIDED_DEACTIVATE:
        tell_evicted(look, what);
        return;
    case DECIDED_RELEASE:
        tell_small(look, what, "Requeued", METER_REQUEUED);
        return;
    case DECIDED_WAIT: /* the condition says it, with the same text */
        return;
    case DECIDED_RESET:
        if (str_eq(what->text, "Healthy"))
            tell_small(look, what, "Healthy", METER_RESET);
        return;
    }
}

/* ---- progress ---- */

static bool has_got_ready(const struct gang_look *look)
{
    yyjson_val *ready = condition_of(look->workload, "PodsReady");
    return look->gang->awaits_ready && str_eq(json_str_at(ready, "status"), "True") &&
           str_eq(json_str_at(ready, "reason"), "Started");
}

static void tell_ready(struct gang_look *look, const char *labels)
{
    const struct obj *workload = look->workload;
    time_ms at = condition_time(workload, "PodsReady");
    meter_time(look->admission, METER_READY_WAIT, labels, at - queued_since(workload));
    meter_time(look->admission, METER_UNTIL_READY, labels,
               at - condition_time(workload, "Admitted"));
}

/* Labels are made when there is something to count: most looks find nothing new. */
static void count_progress(struct gang_look *look, bool has_ended)
{
    const char *queue = queue_of(look->cache, look->workload);
    if (queue == NULL)
        return;
    scoped_free char *labels = mem_printf("cluster_queue=\"%s\"", queue);
    if (has_got_ready(look))
        tell_ready(look, labels);
    tell_left(look, queue);
    if (has_ended)
        meter_count(look->admission, METER_FINISHED, labels);
}

void tell_progress(struct gang_look *look)
{
    const struct obj *workload = look->workload;
    struct crew *gang = look->gang;
    bool is_over = condition_is(workload, "Finished", "True");
    bool has_ended = gang->is_live && is_over;
    if (has_ended || gang->is_leaving || has_got_ready(look))
        count_progress(look, has_ended);
    gang->awaits_ready =
        condition_is(workload, "Admitted", "True") && !condition_is(workload, "PodsReady", "True");
    if (has_ended && look->ops != NULL) { /* else its maker has said it */
        yyjson_val *end = condition_of(workload, "Finished");
        bool is_bad = str_eq(json_str_at(end, "reason"), "Failed");
        tell_event(look, workload, is_bad ? "Warning" : "Normal", "Finished", "%s",
                   text_or_none(json_str_at(end, "message")));
    }
    gang->is_live = !is_over;
}

/* ---- why ---- */

static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *field, const char *text)
{
    if (text != NULL && *text != '\0')
        json_mut_put(doc, obj, field, yyjson_mut_strcpy(doc, text));
}

static void add_time(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *field, time_ms at)
{
    scoped_str text = {0};
    if (at == 0 || at == TIME_NEVER)
        return;
    rfc3339_format(at, &text);
    add_text(doc, obj, field, str_text(&text));
}

static void add_shortages(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct admit_view *view)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    for (size_t i = 0; i < view->n_shortages; i++) {
        const struct admit_shortage *shortage = &view->shortages[i];
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);
        add_text(doc, item, "podSet", shortage->pod_set);
        add_text(doc, item, "flavor", shortage->flavor);
        add_text(doc, item, "resource", shortage->resource);
        add_text(doc, item, "why", shortage->why);
        const struct {
            const char *field;
            int64_t amount;
        } AMOUNTS[] = {{"needed", shortage->needed},
                       {"available", shortage->available},
                       {"capacity", shortage->capacity}};
        for (size_t k = 0; shortage->resource != NULL && k < ARRAY_LEN(AMOUNTS); k++) {
            scoped_str text = {0};
            gang_amount_text(shortage->resource, AMOUNTS[k].amount, &text);
            add_text(doc, item, AMOUNTS[k].field, str_text(&text));
        }
    }
    json_mut_put(doc, root, "shortages", list);
}

bool tell_explain(struct control *control, const struct obj *workload, struct str *out_json)
{
    struct admission *admission = control_state(control);
    struct admit_view view = {0};
    if (workload->kind != &KIND_WORKLOAD)
        return false;
    scoped_free char *key = mem_printf("%s/%s", obj_namespace(workload), workload->meta.name);
    admit_explain(admission->engine, key, control_now(control), &view);
    scoped_json_mut *doc = yyjson_mut_doc_new(&JSON_ALC);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    json_mut_put(doc, root, "kind", yyjson_mut_str(doc, "WorkloadExplanation"));
    json_mut_put(doc, root, "apiVersion", yyjson_mut_str(doc, "muster.dev/v1alpha1"));
    add_text(doc, root, "state", admit_state_text(view.state));
    add_text(doc, root, "clusterQueue", view.queue);
    json_mut_put(doc, root, "position", yyjson_mut_uint(doc, view.position));
    json_mut_put(doc, root, "pending", yyjson_mut_uint(doc, view.n_pending));
    add_text(doc, root, "blocker", view.blocker);
    json_mut_put(doc, root, "blockers", yyjson_mut_uint(doc, view.n_blockers));
    json_mut_put(doc, root, "tries", yyjson_mut_sint(doc, view.requeue_count));
    if (view.limit_count != ADMIT_NO_LIMIT)
        json_mut_put(doc, root, "limit", yyjson_mut_sint(doc, view.limit_count));
    add_time(doc, root, "retryAt", view.retry_at);
    add_time(doc, root, "evictAt", view.evict_at);
    add_time(doc, root, "overAt", view.over_at);
    add_text(doc, root, "message", view.message);
    add_text(doc, root, "hint", view.hint);
    add_shortages(doc, root, &view);
    json_write(root, out_json);
    return true;
}
