// SPDX-License-Identifier: Apache-2.0
/* Which member asks for a restart, and what happened to it: for people, nothing is decided by it.
 *
 * A node that is the agent of its pods says so in the announcement, for it writes statuses only
 * when the group runs again. Of a pod with an agent of its own its status tells, as far as it is
 * there in time. */
#include "control/jobset_internal.h"
#include "core/recover/epoch.h"
#include "model/cell.h"
#include <inttypes.h>

const struct obj *look_culprit(const struct set_look *look)
{
    const struct set_state *state = look->state;
    const struct cache *cache = control_world(look->control)->cache;
    bool is_told = state->told_epoch == jobset_epochs(look->status).synced + 1;
    const struct obj *pod = is_told ? cache_by_uid(cache, state->told_by) : NULL;
    if (pod != NULL && pod->meta.deleted == 0)
        return pod;
    const char *uid = group_culprit(state->group);
    return uid != NULL ? cache_by_uid(cache, uid) : NULL;
}

/* ---- what a status tells ---- */

/* When the members were last known to be in an epoch together: what ended before is another story.
 */
static time_ms together_since(const struct obj *set)
{
    size_t i, n;
    yyjson_val *condition;
    yyjson_arr_foreach(json_at(set->root, "status.conditions"), i, n, condition)
    {
        if (str_eq(json_str_at(condition, "type"), "RestartingJobSet"))
            return cell_time(condition, "lastTransitionTime");
    }
    return set->meta.created;
}

static yyjson_val *failure_of(yyjson_val *container, time_ms since)
{
    static const char *const ENDS[] = {"state.terminated", "lastState.terminated"};
    for (size_t i = 0; i < ARRAY_LEN(ENDS); i++) {
        yyjson_val *end = json_at(container, ENDS[i]);
        if (end != NULL && json_int_at(end, "exitCode", 0) != 0 &&
            cell_time(end, "finishedAt") > since)
            return end;
    }
    return NULL;
}

/* All containers of a pod end when one asks for it; those are killed. */
static bool is_victim(yyjson_val *end)
{
    int64_t code = json_int_at(end, "exitCode", 0);
    return (code == 137 || code == 143) && !str_eq(json_str_at(end, "reason"), "OOMKilled");
}

static yyjson_val *find_failed(const struct obj *pod, time_ms since, yyjson_val **ret_end)
{
    static const char *const LISTS[] = {"status.containerStatuses", "status.initContainerStatuses"};
    yyjson_val *found = NULL;
    for (size_t k = 0; k < ARRAY_LEN(LISTS); k++) {
        size_t i, n;
        yyjson_val *container;
        yyjson_arr_foreach(json_at(pod->root, LISTS[k]), i, n, container)
        {
            yyjson_val *end = failure_of(container, since);
            if (end == NULL || (found != NULL && (is_victim(end) || !is_victim(*ret_end))))
                continue;
            found = container;
            *ret_end = end;
        }
    }
    return found;
}

static void add_failed(const struct obj *pod, time_ms since, struct str *out)
{
    yyjson_val *end = NULL, *container = find_failed(pod, since, &end);
    if (container == NULL)
        return;
    const char *reason = json_str_at(end, "reason");
    bool is_usual = reason == NULL || str_eq(reason, "Error");
    str_addf(out, ": container %s ended with exit code %" PRId64 "%s%s",
             json_str_at(container, "name"), json_int_at(end, "exitCode", 0), is_usual ? "" : ", ",
             is_usual ? "" : reason);
}

void look_cause(const struct set_look *look, const struct obj *pod, struct str *out)
{
    if (pod == NULL)
        return;
    yyjson_val *notes = pod->meta.annotations;
    int64_t epoch = epoch_of_notes(yyjson_get_str(yyjson_obj_get(notes, EPOCH_NOTE)),
                                   yyjson_get_str(yyjson_obj_get(notes, EPOCH_NOTE_LATER)), NULL);
    const char *cause = epoch_cause(yyjson_get_str(yyjson_obj_get(notes, EPOCH_CAUSE_NOTE)), epoch);
    if (cause != NULL)
        str_addf(out, ": %s", cause);
    else if (jobset_pod_has_agent(yyjson_obj_get(pod->root, "spec")))
        add_failed(pod, together_since(look->set), out);
}
