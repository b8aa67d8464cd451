// SPDX-License-Identifier: Apache-2.0
/* The status of a Workload under way, and nothing else of it: the rest is not this write's to
 * change, and would be copied for nothing. One write has all that changed, and fails when anybody
 * else has written the Workload since: what was decided depends on what was read. */
#include "base/quantity.h"
#include "control/admission.h"
#include "model/cell.h"

struct gang_draft gang_draft_begin(const struct gang_look *look)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALC);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_val *before = yyjson_obj_get(look->workload->root, "status");
    yyjson_mut_val *status =
        yyjson_is_obj(before) ? yyjson_val_mut_copy(doc, before) : yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    json_mut_put(doc, root, "status", status);
    return (struct gang_draft){.doc = doc,
                               .status = status,
                               .generation = look->workload->meta.generation,
                               .now = look->now};
}

void gang_draft_end(struct gang_draft *draft)
{
    yyjson_mut_doc_free(draft->doc);
    draft->doc = NULL;
}

bool gang_draft_send(struct gang_look *look, struct gang_draft *draft)
{
    if (!draft->is_changed)
        return false;
    struct write *write = write_new(WRITE_UPDATE, &KIND_WORKLOAD, look->gang->ns, look->gang->name);
    write->sub = SUB_STATUS;
    write->if_version = mem_strdup(look->workload->meta.resource_version);
    write->doc = take_ptr(draft->doc);
    control_write(look->control, write);
    return true;
}

/* ---- conditions ---- */

static void put_text(struct gang_draft *draft, yyjson_mut_val *obj, const char *field,
                     const char *text)
{
    json_mut_put(draft->doc, obj, field, yyjson_mut_strcpy(draft->doc, text));
}

void gang_draft_time(struct gang_draft *draft, yyjson_mut_val *obj, const char *field, time_ms at)
{
    scoped_str text = {0};
    if (at % 1000 == 0)
        rfc3339_format(at, &text);
    else
        rfc3339_format_ms(at, &text); /* timers of a server that comes back go on exactly */
    put_text(draft, obj, field, str_text(&text));
}

void gang_draft_condition(struct gang_draft *draft, const char *type, const char *status,
                          const char *reason, const char *message)
{
    yyjson_mut_val *list = json_mut_need_arr(draft->doc, draft->status, "conditions");
    yyjson_mut_val *condition = json_mut_find(list, "type", type);
    bool is_same = condition != NULL && str_eq(json_mut_str_at(condition, "status"), status);
    if (is_same && str_eq(json_mut_str_at(condition, "reason"), reason) &&
        str_eq(json_mut_str_at(condition, "message"), message))
        return;
    if (condition == NULL) {
        condition = yyjson_mut_arr_add_obj(draft->doc, list);
        put_text(draft, condition, "type", type);
    }
    put_text(draft, condition, "status", status);
    if (!is_same)
        gang_draft_time(draft, condition, "lastTransitionTime", draft->now);
    put_text(draft, condition, "reason", reason);
    put_text(draft, condition, "message", message);
    json_mut_put(draft->doc, condition, "observedGeneration",
                 yyjson_mut_sint(draft->doc, draft->generation));
    draft->is_changed = true;
}

void gang_draft_drop_condition(struct gang_draft *draft, const char *type)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(draft->status, "conditions");
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;) {
        if (!str_eq(json_mut_str_at(yyjson_mut_arr_get(list, i), "type"), type))
            continue;
        (void)yyjson_mut_arr_remove(list, i);
        draft->is_changed = true;
    }
}

const char *gang_draft_condition_text(const struct gang_draft *draft, const char *type,
                                      const char *field)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(draft->status, "conditions");
    return json_mut_str_at(json_mut_find(list, "type", type), field);
}

void gang_draft_put(struct gang_draft *draft, const char *field, yyjson_mut_val *value)
{
    yyjson_mut_val *before = yyjson_mut_obj_get(draft->status, field);
    if (before == NULL && value == NULL)
        return;
    if (before != NULL && value != NULL && json_mut_equal(before, value))
        return;
    json_mut_put(draft->doc, draft->status, field, value);
    draft->is_changed = true;
}

void gang_draft_drop(struct gang_draft *draft, const char *object, const char *field)
{
    yyjson_mut_val *from = yyjson_mut_obj_get(draft->status, object);
    if (yyjson_mut_obj_get(from, field) == NULL)
        return;
    json_mut_put(draft->doc, from, field, NULL);
    draft->is_changed = true;
}

/* ---- amounts ---- */

void gang_amount_text(const char *resource, int64_t milli, struct str *out)
{
    quantity amount = quantity_of_milli(milli);
    bool is_bytes = str_eq(resource, "memory") || str_eq(resource, "ephemeral-storage") ||
                    str_starts(resource, "hugepages-");
    if (is_bytes)
        quantity_format_binary(amount, out);
    else
        quantity_format(amount, out);
}

void gang_draft_amount(struct gang_draft *draft, yyjson_mut_val *obj, const char *resource,
                       int64_t milli)
{
    scoped_str text = {0};
    gang_amount_text(resource, milli, &text);
    put_text(draft, obj, resource, str_text(&text));
}

/* ---- reading ---- */

yyjson_val *condition_of(const struct obj *obj, const char *type)
{
    return cell_condition(obj->root, type);
}

bool condition_is(const struct obj *obj, const char *type, const char *status)
{
    return cell_condition_as(obj->root, type, status) != NULL;
}

time_ms condition_time(const struct obj *obj, const char *type)
{
    return cell_time(condition_of(obj, type), "lastTransitionTime");
}
