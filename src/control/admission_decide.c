// SPDX-License-Identifier: Apache-2.0
/* Decisions of the engine, written as the status of a Workload. An eviction is one step when
 * nothing of the gang runs; else it has two: the first says so and stops the pods, the second gives
 * the quota back when the last of them is gone. */
#include "control/admission.h"
#include "model/cell.h"

/* ---- keeping ---- */

static const char *copy(struct arena *arena, const char *text)
{
    return text != NULL ? arena_strdup(arena, text) : NULL;
}

static const struct admit_assigned *copy_assigned(struct arena *arena,
                                                  const struct admit_decision *from)
{
    struct admit_assigned *to = arena_alloc(arena, (from->n_assigned + 1) * sizeof(*to));
    for (size_t i = 0; i < from->n_assigned; i++) {
        const struct admit_assigned *one = &from->assigned[i];
        struct admit_pick *picks = arena_alloc(arena, (one->n_picks + 1) * sizeof(*picks));
        for (size_t k = 0; k < one->n_picks; k++)
            picks[k] = (struct admit_pick){copy(arena, one->picks[k].resource),
                                           copy(arena, one->picks[k].flavor), one->picks[k].amount};
        to[i] = *one;
        to[i].pod_set = copy(arena, one->pod_set);
        to[i].picks = picks;
    }
    return to;
}

static const struct admit_failed *copy_failed(struct arena *arena,
                                              const struct admit_decision *from)
{
    struct admit_failed *to = arena_alloc(arena, (from->n_failed + 1) * sizeof(*to));
    for (size_t i = 0; i < from->n_failed; i++) {
        to[i] = from->failed[i];
        to[i].flavor = copy(arena, from->failed[i].flavor);
    }
    return to;
}

static struct decided *decided_new(const struct admit_decision *decision)
{
    struct decided *decided = mem_zalloc(sizeof(*decided));
    struct arena *arena = &decided->arena;
    arena_init(arena);
    struct admit_decision *what = &decided->what;
    *what = *decision;
    what->key = copy(arena, decision->key);
    what->uid = copy(arena, decision->uid);
    what->text = copy(arena, decision->text);
    what->message = copy(arena, decision->message);
    what->queue = copy(arena, decision->queue);
    what->cause = copy(arena, decision->cause);
    what->preemptor = copy(arena, decision->preemptor);
    what->preemptor_uid = copy(arena, decision->preemptor_uid);
    what->assigned = copy_assigned(arena, decision);
    what->failed = copy_failed(arena, decision);
    return decided;
}

static void decided_free(struct decided *decided)
{
    if (decided == NULL)
        return;
    arena_done(&decided->arena);
    mem_free(decided);
}

/* ---- that it waits ---- */

/* In a queue that moves the first is let in a moment after it became the first. That it waits is
 * therefore written a little later, if it still does: most never need that write. Nothing depends
 * on it: the engine has the gang in its queue all the same, and hears of its changes. */
static void wait_keep(struct control *control, struct crew *gang,
                      const struct admit_decision *decision)
{
    if (gang->wait == NULL) {
        gang->wait_at = control_now(control) + GANG_WAIT_PAUSE_MS;
        control_add_at(control, gang->key, gang->wait_at);
    }
    decided_free(gang->wait);
    gang->wait = decided_new(decision);
}

static void wait_drop(struct crew *gang)
{
    decided_free(take_ptr(gang->wait));
}

static void wait_write(struct crew *gang)
{
    if (gang->wait != NULL)
        vec_push(&gang->decided, take_ptr(gang->wait));
}

static void wait_look(struct gang_look *look)
{
    struct crew *gang = look->gang;
    if (gang->wait == NULL)
        return;
    if (condition_is(look->workload, "Finished", "True"))
        wait_drop(gang);
    else if (look->now >= gang->wait_at)
        wait_write(gang);
    else /* this look may have come in place of the one that was asked for */
        control_add_at(look->control, gang->key, gang->wait_at);
}

/* ---- what is not written yet ---- */

/* An admission says more than that it waited; before anything else that is written first. */
void decide_keep(struct control *control, struct crew *gang, const struct admit_decision *decision)
{
    if (decision->type == DECIDED_WAIT) {
        wait_keep(control, gang, decision);
        return;
    }
    if (decision->type == DECIDED_ADMIT)
        wait_drop(gang);
    wait_write(gang);
    vec_push(&gang->decided, decided_new(decision));
    control_add(control, gang->key);
}

static void drop_first(struct crew *gang)
{
    struct decided *first = gang->decided.items[0];
    gang->decided.len--;
    memmove(gang->decided.items, gang->decided.items + 1,
            gang->decided.len * sizeof(*gang->decided.items));
    decided_free(first);
}

void decide_forget(struct crew *gang)
{
    while (gang->decided.len > 0)
        drop_first(gang);
    wait_drop(gang);
}

/* ---- writing ---- */

static const char *text_or(const char *text, const char *otherwise)
{
    return text != NULL && *text != '\0' ? text : otherwise;
}

static void put_admission(struct gang_draft *draft, const struct admit_decision *what)
{
    yyjson_mut_doc *doc = draft->doc;
    yyjson_mut_val *admission = yyjson_mut_obj(doc);
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    json_mut_put(doc, admission, "clusterQueue", yyjson_mut_strcpy(doc, what->queue));
    json_mut_put(doc, admission, "podSetAssignments", list);
    for (size_t i = 0; i < what->n_assigned; i++) {
        const struct admit_assigned *one = &what->assigned[i];
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_val *flavors = yyjson_mut_obj(doc), *usage = yyjson_mut_obj(doc);
        for (size_t k = 0; k < one->n_picks; k++) {
            const struct admit_pick *pick = &one->picks[k];
            json_mut_put(doc, flavors, pick->resource, yyjson_mut_strcpy(doc, pick->flavor));
            gang_draft_amount(draft, usage, pick->resource, pick->amount);
        }
        json_mut_put(doc, item, "name", yyjson_mut_strcpy(doc, one->pod_set));
        json_mut_put(doc, item, "flavors", flavors);
        json_mut_put(doc, item, "resourceUsage", usage);
        json_mut_put(doc, item, "count", yyjson_mut_sint(doc, one->count));
    }
    gang_draft_put(draft, "admission", admission);
}

/* An eviction that is over is still told of, for people. */
static void put_past(struct gang_draft *draft, const char *type)
{
    if (!str_eq(gang_draft_condition_text(draft, type, "status"), "True"))
        return;
    scoped_free char *message = mem_printf(
        "Previously: %s", text_or(gang_draft_condition_text(draft, type, "message"), ""));
    gang_draft_condition(draft, type, "False", "QuotaReserved", message);
}

/* Of who waits, has quota, or was let in just now. */
static void put_not_ready(struct gang_look *look, struct gang_draft *draft)
{
    if (gang_waits_for_ready(look->control) && look->ops != NULL)
        gang_draft_condition(draft, "PodsReady", "False", "WaitForStart",
                             "Not all pods are ready or succeeded");
}

static void put_pass(struct gang_draft *draft)
{
    gang_draft_condition(draft, "Admitted", "True", "Admitted", "The workload is admitted");
}

static void put_admit(struct gang_look *look, struct gang_draft *draft,
                      const struct admit_decision *what)
{
    scoped_free char *message = mem_printf("Quota reserved in ClusterQueue %s", what->queue);
    gang_draft_condition(draft, "QuotaReserved", "True", "QuotaReserved", message);
    put_past(draft, "Evicted");
    put_past(draft, "Preempted");
    put_admission(draft, what);
    gang_draft_put(draft, "resourceRequests", NULL);
    checks_sync(look, draft);
    if (!what->asks_others)
        put_pass(draft);
    put_not_ready(look, draft);
}

static void count_eviction(struct gang_draft *draft, const char *reason, const char *cause)
{
    yyjson_mut_doc *doc = draft->doc;
    yyjson_mut_val *list = json_mut_need_arr(doc, draft->status, "schedulingStats.evictions");
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, i, n, item)
    {
        if (str_eq(json_mut_str_at(item, "reason"), reason) &&
            str_eq(text_or(json_mut_str_at(item, "underlyingCause"), ""), cause)) {
            int64_t count = json_mut_int_at(item, "count", 0);
            json_mut_put(doc, item, "count", yyjson_mut_sint(doc, count + 1));
            return;
        }
    }
    item = yyjson_mut_arr_add_obj(doc, list);
    json_mut_put(doc, item, "reason", yyjson_mut_strcpy(doc, reason));
    json_mut_put(doc, item, "underlyingCause", yyjson_mut_strcpy(doc, cause));
    json_mut_put(doc, item, "count", yyjson_mut_sint(doc, 1));
}

static void put_requeue(struct gang_draft *draft, const struct admit_decision *what)
{
    yyjson_mut_doc *doc = draft->doc;
    yyjson_mut_val *state = yyjson_mut_obj(doc);
    if (what->requeue_count > 0)
        json_mut_put(doc, state, "count", yyjson_mut_sint(doc, what->requeue_count));
    if (what->requeue_at != 0)
        gang_draft_time(draft, state, "requeueAt", what->requeue_at);
    if (what->first_evicted_at != 0)
        gang_draft_time(draft, state, "firstEvictedAt", what->first_evicted_at);
    gang_draft_put(draft, "requeueState", state);
    yyjson_mut_val *pauses = yyjson_mut_arr(doc);
    for (size_t i = 0; i < what->n_failed; i++) {
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, pauses);
        json_mut_put(doc, item, "flavor", yyjson_mut_strcpy(doc, what->failed[i].flavor));
        json_mut_put(doc, item, "count", yyjson_mut_sint(doc, what->failed[i].count));
        gang_draft_time(draft, item, "until", what->failed[i].until);
    }
    gang_draft_put(draft, "flavorPauses", what->n_failed > 0 ? pauses : NULL);
}

static void forget_tries(struct gang_draft *draft)
{
    gang_draft_put(draft, "requeueState", NULL);
    gang_draft_put(draft, "flavorPauses", NULL);
}

static void put_evict(struct gang_draft *draft, const struct admit_decision *what)
{
    const char *reason = text_or(what->text, admit_evicted_text(what->reason));
    const char *cause = text_or(what->cause, "");
    const char *limit = admit_deactivated_text(what->reason);
    /* Of a deactivation the stats name the sort and its cause apart. */
    if (limit != NULL)
        count_eviction(draft, admit_evicted_text(EVICTED_INACTIVE), limit);
    else
        count_eviction(draft, reason, cause);
    gang_draft_condition(draft, "Evicted", "True", reason, text_or(what->message, reason));
    if (what->reason == EVICTED_PREEMPTED)
        gang_draft_condition(draft, "Preempted", "True", admit_preempt_text(what->preempt),
                             text_or(what->message, "Preempted"));
    if (limit != NULL)
        gang_draft_condition(draft, "DeactivationTarget", "True", limit,
                             text_or(what->message, reason));
    if (what->reason == EVICTED_TOO_LONG) /* switched on again it has all of its time */
        gang_draft_put(draft, GANG_PAST, NULL);
    if (limit != NULL || what->reason == EVICTED_INACTIVE)
        forget_tries(draft);
    else if (what->reason == EVICTED_READY_TIMEOUT ||
             (what->reason == EVICTED_CHECK && what->requeue_at != 0))
        put_requeue(draft, what);
    else if (what->first_evicted_at == 0)
        gang_draft_drop(draft, "requeueState", "firstEvictedAt");
    checks_reset(draft);
    draft->is_changed = true;
}

static void add_run(struct gang_draft *draft, time_ms ran)
{
    int64_t past = json_mut_int_at(draft->status, GANG_PAST, 0);
    gang_draft_put(draft, GANG_PAST, yyjson_mut_sint(draft->doc, past + ran / 1000));
}

void decide_release(struct gang_look *look, struct gang_draft *draft)
{
    const char *known = gang_draft_condition_text(draft, "Evicted", "reason");
    scoped_free char *reason = mem_strdup(text_or(known, "Evicted"));
    const char *said = gang_draft_condition_text(draft, "Evicted", "message");
    scoped_free char *message = mem_strdup(text_or(said, ""));
    bool inactive = str_starts(reason, "Deactivated");
    time_ms admitted = condition_time(look->workload, "Admitted");
    bool requeues = admit_evicted_of(reason) == EVICTED_PREEMPTED;
    gang_draft_condition(draft, "Requeued", requeues ? "True" : "False", reason, message);
    gang_draft_condition(draft, "QuotaReserved", "False",
                         inactive ? "Deactivated" : "PendingEvaluation", message);
    gang_draft_put(draft, "admission", NULL);
    gang_draft_put(draft, "reclaimablePods", NULL);
    checks_reset(draft);
    if (str_eq(gang_draft_condition_text(draft, "Admitted", "status"), "True")) {
        gang_draft_condition(draft, "Admitted", "False", "NoReservation",
                             "The workload has no reservation");
        if (admit_evicted_of(reason) != EVICTED_TOO_LONG)
            add_run(draft, look->now - admitted);
    }
    if (gang_draft_condition_text(draft, "PodsReady", "status") != NULL)
        gang_draft_condition(draft, "PodsReady", "False", "WaitForStart",
                             "Not all pods are ready or succeeded");
}

static void put_back(struct gang_draft *draft, const struct admit_decision *what)
{
    if (str_eq(what->text, "Reactivated"))
        forget_tries(draft);
    else
        gang_draft_drop(draft, "requeueState", "requeueAt");
    gang_draft_condition(draft, "Requeued", "True", text_or(what->text, "Requeued"),
                         text_or(what->message, "The workload is in the queue again"));
}

static void put_wait(struct gang_draft *draft, const struct admit_decision *what)
{
    gang_draft_condition(draft, "QuotaReserved", "False", text_or(what->text, "Pending"),
                         text_or(what->message, ""));
}

static void put_decision(struct gang_look *look, struct gang_draft *draft,
                         const struct admit_decision *what)
{
    switch (what->type) {
    case DECIDED_ADMIT:
        put_admit(look, draft, what);
        return;
    case DECIDED_PASS:
        put_pass(draft);
        put_not_ready(look, draft);
        return;
    case DECIDED_EVICT:
    case DECIDED_DEACTIVATE:
        put_evict(draft, what);
        if (look->ops == NULL && look->workload->meta.owners == NULL &&
            condition_is(look->workload, "QuotaReserved", "True"))
            decide_release(look, draft); /* nobody's: nothing of it runs that is known here */
        return;
    case DECIDED_RELEASE:
        put_back(draft, what);
        return;
    case DECIDED_WAIT:
        put_wait(draft, what);
        put_not_ready(look, draft);
        return;
    case DECIDED_RESET:
        forget_tries(draft);
        return;
    }
}

/* ---- settling ---- */

static bool says(const struct obj *workload, const char *type, const char *status,
                 const char *reason)
{
    yyjson_val *condition = condition_of(workload, type);
    return str_eq(json_str_at(condition, "status"), status) &&
           (reason == NULL || str_eq(json_str_at(condition, "reason"), reason));
}

/* Does the Workload show what was decided? */
static bool is_shown(const struct obj *workload, const struct admit_decision *what)
{
    switch (what->type) {
    case DECIDED_ADMIT:
        return says(workload, "QuotaReserved", "True", NULL);
    case DECIDED_PASS:
        return says(workload, "Admitted", "True", NULL);
    case DECIDED_EVICT:
    case DECIDED_DEACTIVATE:
        return says(workload, "Evicted", "True", NULL);
    case DECIDED_RELEASE:
        return says(workload, "Requeued", "True", NULL);
    case DECIDED_WAIT:
        return says(workload, "QuotaReserved", "False", text_or(what->text, "Pending"));
    case DECIDED_RESET:
        return json_at(workload->root, "status.requeueState") == NULL;
    }
    return false;
}

/* The write is known. What it came to is what the engine goes on with. */
static void confirm(struct gang_look *look)
{
    struct crew *gang = look->gang;
    if (!is_shown(look->workload, &gang->decided.items[0]->what)) {
        decide_forget(gang);
        admit_undo(look->admission->engine, gang->key, look->now);
    } else {
        tell_decision(look, &gang->decided.items[0]->what);
        drop_first(gang);
    }
    if (gang->decided.len > 0)
        return;
    feed_workload(look->control, gang, look->workload);
    control_add(look->control, GANG_STEP);
}

bool decide_settle(struct gang_look *look)
{
    struct crew *gang = look->gang;
    if (gang->decided.len > 0 && gang->decided.items[0]->is_sent)
        confirm(look);
    if (gang->decided.len == 0)
        wait_look(look);
    if (gang->decided.len == 0)
        return false;
    struct decided *next = gang->decided.items[0];
    if (!str_eq(next->what.uid, look->workload->meta.uid)) {
        decide_forget(gang); /* about one of the same name that is gone */
        feed_workload(look->control, gang, look->workload);
        return false;
    }
    struct gang_draft draft = gang_draft_begin(look);
    put_decision(look, &draft, &next->what);
    next->is_sent = true;
    (void)gang_draft_send(look, &draft);
    gang_draft_end(&draft);
    control_add(look->control, gang->key); /* once the write is known */
    return true;
}
