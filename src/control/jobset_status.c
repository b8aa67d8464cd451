// SPDX-License-Identifier: Apache-2.0
/* What the JobSet says of itself. A look works on a draft of the status; one write has all that
 * changed, and fails when anybody else has written the JobSet since: what was decided depends on
 * what was read. */
#include "base/mem.h"
#include "control/jobset_internal.h"
#include "model/cell.h"

yyjson_val *set_condition(const struct obj *set, const char *type)
{
    return cell_condition_as(set->root, type, "True");
}

bool set_is_finished(const struct obj *set)
{
    return set_condition(set, "Completed") != NULL || set_condition(set, "Failed") != NULL;
}

void draft_open(struct set_look *look)
{
    struct set_draft *draft = &look->draft;
    draft->doc = obj_edit(look->set);
    draft->status = json_mut_need_obj(draft->doc, yyjson_mut_doc_get_root(draft->doc), "status");
}

static void put_count(struct set_draft *draft, yyjson_mut_val *obj, const char *field,
                      int64_t count)
{
    if (json_mut_int_at(obj, field, -1) == count)
        return;
    json_mut_put(draft->doc, obj, field, yyjson_mut_sint(draft->doc, count));
    draft->is_changed = true;
}

void draft_count(struct set_look *look, const char *field, int64_t count)
{
    put_count(&look->draft, look->draft.status, field, count);
}

static void put_text(struct set_draft *draft, yyjson_mut_val *obj, const char *field,
                     const char *text)
{
    if (str_eq(json_mut_str_at(obj, field), text))
        return;
    json_mut_put(draft->doc, obj, field, text ? yyjson_mut_strcpy(draft->doc, text) : NULL);
    draft->is_changed = true;
}

void draft_condition(struct set_look *look, const struct set_condition *text)
{
    struct set_draft *draft = &look->draft;
    yyjson_mut_val *list = json_mut_need_arr(draft->doc, draft->status, "conditions");
    yyjson_mut_val *condition = json_mut_find(list, "type", text->type);
    if (condition == NULL)
        condition = yyjson_mut_arr_add_obj(draft->doc, list);
    put_text(draft, condition, "type", text->type);
    if (!str_eq(json_mut_str_at(condition, "status"), text->status)) {
        scoped_str now = {0};
        rfc3339_format(look->now, &now);
        put_text(draft, condition, "lastTransitionTime", str_text(&now));
    }
    put_text(draft, condition, "status", text->status);
    put_text(draft, condition, "reason", text->reason);
    put_text(draft, condition, "message", text->message);
}

void draft_clear(struct set_look *look, const char *type, const char *reason, const char *message)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(look->draft.status, "conditions");
    yyjson_mut_val *condition = json_mut_find(list, "type", type);
    if (condition != NULL && str_eq(json_mut_str_at(condition, "status"), "True"))
        draft_condition(look, &(struct set_condition){type, "False", reason, message});
}

void draft_end(struct set_look *look, bool good, const char *reason, const char *message)
{
    const char *type = good ? "Completed" : "Failed";
    draft_condition(look, &(struct set_condition){type, "True", reason, message});
    draft_clear(look, "RestartingJobSet", good ? "JobSetCompleted" : "JobSetFailed",
                good ? "jobset completed successfully" : "jobset failed");
    put_text(&look->draft, look->draft.status, "terminalState", type);
}

/* ---- replicated jobs ---- */

static yyjson_mut_val *role_status(struct set_look *look, const char *name)
{
    struct set_draft *draft = &look->draft;
    yyjson_mut_val *list = json_mut_need_arr(draft->doc, draft->status, "replicatedJobsStatus");
    yyjson_mut_val *item = json_mut_find(list, "name", name);
    if (item != NULL)
        return item;
    item = yyjson_mut_arr_add_obj(draft->doc, list);
    put_text(draft, item, "name", name);
    return item;
}

void draft_jobs(struct set_look *look)
{
    for (size_t i = 0; i < look->state->roles.len; i++) {
        const struct role *role = &look->state->roles.items[i];
        yyjson_mut_val *item = role_status(look, role->name);
        put_count(&look->draft, item, "ready", (int64_t)role->ready);
        put_count(&look->draft, item, "succeeded", (int64_t)role->count[SET_DONE]);
        put_count(&look->draft, item, "failed", (int64_t)role->count[SET_FAILED]);
        put_count(&look->draft, item, "active", (int64_t)role->active);
        put_count(&look->draft, item, "suspended", (int64_t)role->suspended);
    }
}

/* The list has a number for each Job of the replicated job. */
static void count_up(struct set_look *look, yyjson_mut_val *status, const char *field,
                     const struct set_job *job)
{
    struct set_draft *draft = &look->draft;
    yyjson_mut_val *list = json_mut_need_arr(draft->doc, status, field);
    while ((int64_t)yyjson_mut_arr_size(list) < look->state->roles.items[job->role].replicas)
        (void)yyjson_mut_arr_add_sint(draft->doc, list, 0);
    yyjson_mut_val *item = yyjson_mut_arr_get(list, (size_t)job->index);
    (void)yyjson_mut_set_sint(item, yyjson_mut_get_sint(item) + 1);
    draft->is_changed = true;
}

void draft_job_restart(struct set_look *look, const struct set_job *job, bool is_charged)
{
    yyjson_mut_val *item = role_status(look, look->state->roles.items[job->role].name);
    count_up(look, item, "jobRestarts", job);
    if (is_charged)
        count_up(look, item, "jobRestartsCountTowardsMax", job);
}

void draft_write(struct set_look *look)
{
    if (!look->draft.is_changed) {
        yyjson_mut_doc_free(take_ptr(look->draft.doc));
        return;
    }
    control_write_status(look->control, look->set, take_ptr(look->draft.doc));
}
