// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "control/statefulset_internal.h"

const char *look_current(const struct set_look *look)
{
    const char *current = json_str_at(look->set->root, "status.currentRevision");
    return current != NULL && *current != '\0' ? current : look->state->wanted;
}

struct draft {
    yyjson_mut_doc *doc;
    yyjson_mut_val *status;
    bool is_changed;
};

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

static void put_text(struct draft *draft, const char *field, const char *text)
{
    if (str_eq(json_mut_str_at(draft->status, field), text))
        return;
    json_mut_put(draft->doc, draft->status, field, yyjson_mut_strcpy(draft->doc, text));
    draft->is_changed = true;
}

/* No pod of an older template is left, and all that are wanted are well: the update is over. */
static bool is_rolled_out(const struct set_look *look)
{
    const struct set_state *state = look->state;
    return state->outdated.count == 0 && state->all.count == look->replicas &&
           state->ready == look->replicas && state->leaving.count == 0;
}

void look_write_set_status(struct set_look *look)
{
    struct set_state *state = look->state;
    struct draft draft = {.doc = obj_edit(look->set)};
    draft.status = json_mut_need_obj(draft.doc, yyjson_mut_doc_get_root(draft.doc), "status");
    const char *current = is_rolled_out(look) ? state->wanted : look->current;
    put_count(&draft, "observedGeneration", look->set->meta.generation, true);
    put_count(&draft, "replicas", state->all.count, true);
    put_count(&draft, "readyReplicas", state->ready, false);
    put_count(&draft, "availableReplicas", state->available, true);
    put_count(&draft, "currentReplicas", set_uses(state, current), false);
    put_count(&draft, "updatedReplicas", set_uses(state, state->wanted), false);
    put_text(&draft, "currentRevision", current);
    put_text(&draft, "updateRevision", state->wanted);
    put_count(&draft, "collisionCount", 0, true);
    if (!draft.is_changed) {
        yyjson_mut_doc_free(draft.doc);
        return;
    }
    control_write_status(look->control, look->set, draft.doc);
}
