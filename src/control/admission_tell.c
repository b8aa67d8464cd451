// SPDX-License-Identifier: Apache-2.0
/* What people and programs are told: events, metrics, and the answer to "why". */
#include "control/admission.h"
#include "model/cell.h"
#include <inttypes.h>

/* ---- numbers ---- */

struct tally {
    uint64_t count;
};

struct queue_numbers *tell_numbers(struct admission *admission, const char *queue)
{
    struct queue_numbers *numbers = map_get(admission->numbers, queue);
    if (numbers != NULL)
        return numbers;
    numbers = mem_zalloc(sizeof(*numbers));
    numbers->evicted = map_new();
    numbers->once = map_new();
    (void)map_put(admission->numbers, queue, numbers);
    return numbers;
}

static void tally_add(struct map *map, const char *key)
{
    struct tally *tally = map_get(map, key);
    if (tally == NULL) {
        tally = mem_zalloc(sizeof(*tally));
        (void)map_put(map, key, tally);
    }
    tally->count++;
}

static bool free_tally(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    mem_free(value);
    return true;
}

static bool free_numbers(void *arg, const char *key, void *value)
{
    struct queue_numbers *numbers = value;
    (void)arg, (void)key;
    (void)map_each(numbers->evicted, free_tally, NULL);
    (void)map_each(numbers->once, free_tally, NULL);
    map_free(numbers->evicted);
    map_free(numbers->once);
    mem_free(numbers);
    return true;
}

void tell_done(struct admission *admission)
{
    (void)map_each(admission->numbers, free_numbers, NULL);
    map_free(admission->numbers);
}

/* ---- decisions ---- */

static double seconds(time_ms span)
{
    return span > 0 ? (double)span / 1000 : 0;
}

static void tell_admitted(struct gang_look *look, const struct admit_decision *what)
{
    struct queue_numbers *numbers = tell_numbers(look->admission, what->queue);
    time_ms since = look->workload->meta.created;
    time_ms requeued = condition_time(look->workload, "Requeued");
    since = requeued > since ? requeued : since;
    scoped_str wait = {0};
    duration_format((look->now - since) / 1000 * 1000, &wait);
    numbers->admitted++;
    numbers->wait_s += seconds(look->now - since);
    control_event(look->control, look->workload, "Normal", "QuotaReserved",
                  "Quota reserved in ClusterQueue %s, wait time since queued was %s", what->queue,
                  str_text(&wait));
    control_event(look->control, look->workload, "Normal", "Admitted",
                  "Admitted by ClusterQueue %s, wait time since reservation was 0s", what->queue);
}

static void tell_evicted(struct gang_look *look, const struct admit_decision *what)
{
    const struct obj *workload = look->workload;
    const char *queue = json_str_at(workload->root, "status.admission.clusterQueue");
    const char *reason = admit_evicted_text(what->reason);
    scoped_free char *event = mem_printf("EvictedDueTo%s", reason);
    control_event(look->control, workload, "Normal", event, "%s", what->message);
    if (what->reason == EVICTED_PREEMPTED)
        control_event(look->control, workload, "Normal", "Preempted", "%s", what->message);
    if (queue == NULL)
        queue = what->queue;
    if (queue == NULL)
        return;
    struct queue_numbers *numbers = tell_numbers(look->admission, queue);
    scoped_free char *key = mem_printf("%s\t%s", reason, what->cause ? what->cause : "");
    tally_add(numbers->evicted, key);
    if (!look->gang->was_evicted)
        tally_add(numbers->once, key);
    look->gang->was_evicted = true;
    if (str_eq(what->cause, "WaitForRecovery")) {
        numbers->ready_to_evicted++;
        numbers->ready_to_evicted_s += seconds(look->now - condition_time(workload, "PodsReady"));
    }
}

void tell_decision(struct gang_look *look, const struct admit_decision *what)
{
    switch (what->type) {
    case DECIDED_ADMIT:
        tell_admitted(look, what);
        return;
    case DECIDED_EVICT:
    case DECIDED_DEACTIVATE:
        tell_evicted(look, what);
        return;
    case DECIDED_RELEASE:
        control_event(look->control, look->workload, "Normal", "Requeued", "%s",
                      what->message ? what->message : what->text);
        return;
    case DECIDED_WAIT:
        control_event(look->control, look->workload, "Warning", "Pending", "%s",
                      what->message ? what->message : "");
        return;
    case DECIDED_RESET:
        return;
    }
}

void tell_ready(struct gang_look *look, const char *queue, const char *reason)
{
    if (queue == NULL || !str_eq(reason, "Started"))
        return;
    struct queue_numbers *numbers = tell_numbers(look->admission, queue);
    numbers->ready++;
    numbers->ready_wait_s += seconds(look->now - condition_time(look->workload, "Admitted"));
}

/* ---- metrics ---- */

struct print {
    struct str *out;
    struct admission *admission;
    const char *queue, *name;
    bool once;
};

static bool print_tally(void *arg, const char *key, void *value)
{
    struct print *print = arg;
    const struct tally *tally = value;
    struct sv rest = sv_of(key);
    struct sv reason = sv_cut(&rest, '\t');
    str_addf(print->out,
             "%s{cluster_queue=\"%s\",reason=\"%.*s\",underlying_cause=\"%.*s\"} %" PRIu64 "\n",
             print->name, print->queue, (int)reason.len, reason.ptr, (int)rest.len, rest.ptr,
             tally->count);
    return true;
}

static bool print_evicted(void *arg, const char *key, void *value)
{
    struct print *print = arg;
    const struct queue_numbers *numbers = value;
    print->queue = key;
    return map_each(print->once ? numbers->once : numbers->evicted, print_tally, print);
}

static bool print_queue(void *arg, const char *key, void *value)
{
    struct print *print = arg;
    const struct queue_numbers *n = value;
    struct admit_counts counts = {0};
    admit_queue_counts(print->admission->engine, key, &counts);
    const struct {
        const char *name;
        double value;
    } ROWS[] = {{"kueue_pending_workloads", (double)counts.pending},
                {"kueue_reserving_active_workloads", (double)counts.reserving},
                {"kueue_admitted_active_workloads", (double)counts.admitted},
                {"kueue_admitted_workloads_total", (double)n->admitted},
                {"kueue_admission_wait_time_seconds_sum", n->wait_s},
                {"kueue_admission_wait_time_seconds_count", (double)n->admitted},
                {"kueue_admitted_until_ready_wait_time_seconds_sum", n->ready_wait_s},
                {"kueue_admitted_until_ready_wait_time_seconds_count", (double)n->ready},
                {"kueue_pods_ready_to_evicted_time_seconds_sum", n->ready_to_evicted_s},
                {"kueue_pods_ready_to_evicted_time_seconds_count", (double)n->ready_to_evicted}};
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++)
        str_addf(print->out, "%s{cluster_queue=\"%s\"} %.15g\n", ROWS[i].name, key, ROWS[i].value);
    return true;
}

void tell_metrics(struct control *control, struct str *out)
{
    struct admission *admission = control_state(control);
    struct print print = {.out = out, .admission = admission};
    (void)map_each(admission->numbers, print_queue, &print);
    print.name = "kueue_evicted_workloads_total";
    (void)map_each(admission->numbers, print_evicted, &print);
    print.once = true;
    print.name = "kueue_evicted_workloads_once_total";
    (void)map_each(admission->numbers, print_evicted, &print);
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
