// SPDX-License-Identifier: Apache-2.0
/* Admission checks of a Workload. Who answers for a check is somebody else, who writes into
 * status.admissionChecks; here the list is kept such that he finds his item in it: with those that
 * the queue asks for, and all of them Pending again when quota is lost. */
#include "control/admission.h"
#include "model/cell.h"

/* ---- told to the engine ---- */

bool checks_of_queue(const struct obj *queue)
{
    return yyjson_arr_size(json_at(queue->root, "spec.admissionChecksStrategy.admissionChecks")) >
           0;
}

static const char *const *names_of(struct arena *arena, yyjson_val *list)
{
    const char **names = arena_alloc(arena, (yyjson_arr_size(list) + 1) * sizeof(*names));
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        names[i] = yyjson_get_str(item);
    }
    return names;
}

const struct admit_check *checks_asked(struct arena *arena, struct cache *cache,
                                       const struct obj *queue, size_t *ret_n)
{
    yyjson_val *list = json_at(queue->root, "spec.admissionChecksStrategy.admissionChecks");
    struct admit_check *checks = arena_alloc(arena, (yyjson_arr_size(list) + 1) * sizeof(*checks));
    size_t i, n;
    yyjson_val *rule;
    yyjson_arr_foreach(list, i, n, rule)
    {
        const char *name = json_str_at(rule, "name");
        yyjson_val *flavors = yyjson_obj_get(rule, "onFlavors");
        const struct obj *check = cache_get(cache, &KIND_ADMISSIONCHECK, "", name);
        checks[i] = (struct admit_check){.name = name,
                                         .flavors = names_of(arena, flavors),
                                         .n_flavors = yyjson_arr_size(flavors),
                                         .is_missing = check == NULL,
                                         .is_inactive = check != NULL &&
                                                        condition_is(check, "Active", "False")};
    }
    *ret_n = yyjson_arr_size(list);
    return checks;
}

const struct admit_answered *checks_answered(struct arena *arena, const struct obj *workload,
                                             size_t *ret_n)
{
    yyjson_val *list = json_at(workload->root, "status.admissionChecks");
    struct admit_answered *answers =
        arena_alloc(arena, (yyjson_arr_size(list) + 1) * sizeof(*answers));
    size_t i, n, len = 0;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        if (json_str_at(item, "name") == NULL)
            continue;
        answers[len++] =
            (struct admit_answered){.check = json_str_at(item, "name"),
                                    .answer = admit_answer_of(json_str_at(item, "state")),
                                    .since = cell_time(item, "lastTransitionTime"),
                                    .pause_ms = json_int_at(item, "requeueAfterSeconds", 0) * 1000};
    }
    *ret_n = len;
    return answers;
}

/* ---- written ---- */

static yyjson_mut_val *list_of(struct gang_draft *draft)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(draft->status, "admissionChecks");
    return yyjson_mut_is_arr(list) ? list : NULL;
}

static void put_pending(struct gang_draft *draft, yyjson_mut_val *item, const char *message)
{
    yyjson_mut_doc *doc = draft->doc;
    json_mut_put(doc, item, "state", yyjson_mut_strcpy(doc, admit_answer_text(ANSWER_PENDING)));
    json_mut_put(doc, item, "message", yyjson_mut_strcpy(doc, message));
    gang_draft_time(draft, item, "lastTransitionTime", draft->now);
    draft->is_changed = true;
}

static bool has_name(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(names[i], name))
            return true;
    }
    return false;
}

static void drop_others(struct gang_draft *draft, const char *const *names, size_t n)
{
    yyjson_mut_val *list = list_of(draft);
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;) {
        if (has_name(names, n, json_mut_str_at(yyjson_mut_arr_get(list, i), "name")))
            continue;
        (void)yyjson_mut_arr_remove(list, i);
        draft->is_changed = true;
    }
    if (list != NULL && yyjson_mut_arr_size(list) == 0)
        gang_draft_put(draft, "admissionChecks", NULL);
}

void checks_sync(struct gang_look *look, struct gang_draft *draft)
{
    const char *const *names;
    size_t n;
    if (!admit_checks(look->admission->engine, look->gang->key, &names, &n))
        return;
    drop_others(draft, names, n);
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *list = list_of(draft);
        if (list == NULL) {
            list = yyjson_mut_arr(draft->doc);
            json_mut_put(draft->doc, draft->status, "admissionChecks", list);
        }
        if (json_mut_find(list, "name", names[i]) != NULL)
            continue;
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(draft->doc, list);
        json_mut_put(draft->doc, item, "name", yyjson_mut_strcpy(draft->doc, names[i]));
        put_pending(draft, item, "");
    }
}

void checks_reset(struct gang_draft *draft)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list_of(draft), i, n, item)
    {
        enum admit_answer before = admit_answer_of(json_mut_str_at(item, "state"));
        if (before == ANSWER_PENDING)
            continue;
        scoped_free char *message = mem_printf("Reset to Pending after eviction. Previously: %s",
                                               admit_answer_text(before));
        int64_t retries = json_mut_int_at(item, "retryCount", 0) + 1;
        json_mut_put(draft->doc, item, "retryCount",
                     before == ANSWER_RETRY ? yyjson_mut_sint(draft->doc, retries) : NULL);
        json_mut_put(draft->doc, item, "podSetUpdates", NULL);
        put_pending(draft, item, message);
    }
}
