// SPDX-License-Identifier: Apache-2.0
/* What the Job says of itself. One write has all that changed in a look, and fails when anybody
 * else has written the Job since: the counters depend on it. */
#include "base/mem.h"
#include "control/job_internal.h"
#include "model/cell.h"

yyjson_val *job_condition(const struct obj *job, const char *type)
{
    return cell_condition_as(job->root, type, "True");
}

bool job_is_finished(const struct obj *job)
{
    return job_condition(job, "Complete") != NULL || job_condition(job, "Failed") != NULL;
}

struct draft {
    struct look *look;
    yyjson_mut_doc *doc;
    yyjson_mut_val *status;
    struct str now;
    bool is_changed;
};

/* ---- parts ---- */

static void put_text(struct draft *draft, const char *field, const char *text)
{
    if (str_eq(json_mut_str_at(draft->status, field), text))
        return;
    json_mut_put(draft->doc, draft->status, field,
                 text ? yyjson_mut_strcpy(draft->doc, text) : NULL);
    draft->is_changed = true;
}

/* Kubernetes leaves out some counters when they are zero. */
static void put_count(struct draft *draft, const char *field, int64_t count, bool keeps_zero)
{
    int64_t before = json_mut_int_at(draft->status, field, -1);
    if (before == count || (before == -1 && count == 0 && !keeps_zero))
        return;
    json_mut_put(draft->doc, draft->status, field,
                 count == 0 && !keeps_zero ? NULL : yyjson_mut_sint(draft->doc, count));
    draft->is_changed = true;
}

static void put_condition(struct draft *draft, const struct condition_text *text)
{
    yyjson_mut_doc *doc = draft->doc;
    yyjson_mut_val *list = json_mut_need_arr(doc, draft->status, "conditions");
    yyjson_mut_val *condition = json_mut_find(list, "type", text->type);
    if (condition != NULL && str_eq(json_mut_str_at(condition, "status"), text->status))
        return;
    if (condition == NULL)
        condition = yyjson_mut_arr_add_obj(doc, list);
    const struct {
        const char *field, *value;
    } FIELDS[] = {{"type", text->type},
                  {"status", text->status},
                  {"lastProbeTime", str_text(&draft->now)},
                  {"lastTransitionTime", str_text(&draft->now)},
                  {"reason", text->reason},
                  {"message", text->message}};
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++)
        json_mut_put(doc, condition, FIELDS[i].field,
                     FIELDS[i].value ? yyjson_mut_strcpy(doc, FIELDS[i].value) : NULL);
    draft->is_changed = true;
}

static void put_uids(struct draft *draft, yyjson_mut_val *uncounted, const char *field,
                     const char *const *uids, size_t count)
{
    yyjson_mut_val *list = yyjson_mut_arr(draft->doc);
    for (size_t i = 0; i < count; i++)
        (void)yyjson_mut_arr_add_strcpy(draft->doc, list, uids[i]);
    json_mut_put(draft->doc, uncounted, field, count > 0 ? list : NULL);
}

static void put_counts(struct draft *draft)
{
    struct look *look = draft->look;
    struct job_state *state = look->state;
    put_count(draft, "active", (int64_t)state->count[MEMBER_ACTIVE], false);
    put_count(draft, "ready", (int64_t)state->ready, true);
    put_count(draft, "terminating", (int64_t)state->count[MEMBER_LEAVING], true);
    put_count(draft, "failed", json_int_at(look->status, "failed", 0) + look->more_failed, false);
    int64_t succeeded = json_int_at(look->status, "succeeded", 0) + look->more_succeeded;
    if (state->is_indexed) {
        scoped_str completed = {0}, failed = {0};
        indexes_format(&look->completed, &completed);
        put_text(draft, "completedIndexes", completed.len > 0 ? completed.data : NULL);
        indexes_format(&state->failed, &failed);
        if (state->counts_per_index)
            put_text(draft, "failedIndexes", str_text(&failed));
        succeeded = look->completed.count;
    }
    put_count(draft, "succeeded", succeeded, false);
    if (look->is_dirty || yyjson_obj_get(look->status, "uncountedTerminatedPods") == NULL) {
        yyjson_mut_val *uncounted = yyjson_mut_obj(draft->doc);
        put_uids(draft, uncounted, "succeeded", look->succeeded.items, look->succeeded.len);
        put_uids(draft, uncounted, "failed", look->failed.items, look->failed.len);
        json_mut_put(draft->doc, draft->status, "uncountedTerminatedPods", uncounted);
        draft->is_changed = true;
    }
}

/* ---- beginning, pausing, ending ---- */

static void put_suspension(struct draft *draft)
{
    bool wants = yyjson_get_bool(yyjson_obj_get(draft->look->spec, "suspend"));
    bool is = job_condition(draft->look->job, "Suspended") != NULL;
    if (wants)
        put_condition(
            draft, &(struct condition_text){"Suspended", "True", "JobSuspended", "Job suspended"});
    else if (is)
        put_condition(draft,
                      &(struct condition_text){"Suspended", "False", "JobResumed", "Job resumed"});
    if (!wants && (is || json_str_at(draft->look->status, "startTime") == NULL))
        put_text(draft, "startTime", str_text(&draft->now));
}

/* All pods have ended and are counted, so the counters are final. */
static bool is_settled(const struct look *look)
{
    const struct job_state *state = look->state;
    return state->count[MEMBER_ACTIVE] == 0 && state->count[MEMBER_LEAVING] == 0 &&
           TAILQ_EMPTY(&state->lists[LIST_ENDED]) && TAILQ_EMPTY(&state->lists[LIST_HELD]) &&
           look->succeeded.len + look->failed.len == 0;
}

static void put_end(struct draft *draft)
{
    yyjson_val *good = job_condition(draft->look->job, "SuccessCriteriaMet");
    yyjson_val *why = good ? good : job_condition(draft->look->job, "FailureTarget");
    if (!is_settled(draft->look))
        return;
    put_condition(draft, &(struct condition_text){good ? "Complete" : "Failed", "True",
                                                  json_str_at(why, "reason"),
                                                  json_str_at(why, "message")});
    if (good != NULL)
        put_text(draft, "completionTime", str_text(&draft->now));
}

static void put_plan(struct draft *draft, const struct job_plan *plan)
{
    if (draft->look->is_ending) {
        put_end(draft);
        return;
    }
    put_suspension(draft);
    if (plan->end == JOB_GOES_ON)
        return;
    put_condition(draft, &(struct condition_text){plan->end == JOB_SUCCEEDS ? "SuccessCriteriaMet"
                                                                            : "FailureTarget",
                                                  "True", plan->reason, plan->message});
}

void look_write_status(struct look *look, const struct job_plan *plan)
{
    struct draft draft = {.look = look, .doc = obj_edit(look->job)};
    draft.status = json_mut_need_obj(draft.doc, yyjson_mut_doc_get_root(draft.doc), "status");
    rfc3339_format(look->now, &draft.now);
    put_counts(&draft);
    put_plan(&draft, plan);
    str_done(&draft.now);
    if (!draft.is_changed) {
        yyjson_mut_doc_free(draft.doc);
        return;
    }
    control_write_status(look->control, look->job, draft.doc);
}
