// SPDX-License-Identifier: Apache-2.0
/* One vpod: the engine says where its vreplicas go and keeps the answer reserved; the status says
 * it to everybody. Until the status is stored, nobody acts on it. */
#include "base/mem.h"
#include "control/pool_internal.h"
#include "model/cell.h"
#include <inttypes.h>

struct verdict { /* the condition Scheduled */
    bool is_good;
    const char *reason;
    struct str message;
};

/* ---- why not ---- */

static void explain(const struct pool *pool, const char *name, struct str *out)
{
    struct place_refusals refusals = {0};
    size_t counts[PLACE_REASON_COUNT] = {0};
    place_explain(pool->place, name, &refusals);
    for (size_t i = 0; i < refusals.of.len; i++)
        counts[refusals.of.items[i].reason]++;
    const char *sep = ": ";
    for (size_t i = 0; i < PLACE_REASON_COUNT; i++) {
        if (counts[i] == 0 || i == PLACE_TAKES)
            continue;
        str_addf(out, "%s%zu × %s", sep, counts[i], place_reason((enum place_reason)i));
        sep = ", ";
    }
    vec_done(&refusals.of);
}

static void judge(const struct pool *pool, const struct obj *vpod,
                  const struct place_result *result, struct verdict *verdict)
{
    int64_t wanted = json_int_at(vpod->root, "spec.vreplicas", 1);
    verdict->is_good = result->pending == 0;
    if (!pool->has_set) {
        verdict->is_good = false;
        verdict->reason = "PoolMissing";
        str_addf(&verdict->message, "there is no StatefulSet %s in namespace %s", pool->name,
                 pool->ns);
    } else if (verdict->is_good) {
        verdict->reason = "AllPlaced";
        str_addf(&verdict->message, "%" PRId64 " vreplicas on %zu pods", result->placed,
                 result->placements.at.len);
    } else {
        verdict->reason = "NotEnoughPods";
        str_addf(&verdict->message, "%" PRId64 " of %" PRId64 " vreplicas have no place on %d pods",
                 result->pending, wanted, pool->replicas);
        explain(pool, vpod->meta.name, &verdict->message);
    }
}

/* ---- the status ---- */

static yyjson_mut_val *placements_of(const struct pool *pool, const struct place_list *list,
                                     yyjson_mut_doc *doc)
{
    yyjson_mut_val *out = yyjson_mut_arr(doc);
    for (size_t i = 0; i < list->at.len; i++) {
        scoped_free char *name = pool_pod_name(pool, list->at.items[i].ordinal);
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, out);
        yyjson_mut_obj_add_strcpy(doc, item, "podName", name);
        yyjson_mut_obj_add_int(doc, item, "vreplicas", list->at.items[i].vreplicas);
    }
    return out;
}

/* The time of a condition is when its status changed. */
static yyjson_mut_val *condition_of(const struct obj *vpod, const struct verdict *verdict,
                                    time_ms now, yyjson_mut_doc *doc)
{
    const char *status = verdict->is_good ? "True" : "False";
    yyjson_val *old = yyjson_arr_get_first(json_at(vpod->root, "status.conditions"));
    scoped_str time = {0};
    if (str_eq(json_str_at(old, "status"), status))
        str_add(&time, json_str_at(old, "lastTransitionTime"));
    if (time.len == 0)
        rfc3339_format(now / 1000 * 1000, &time);
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);
    yyjson_mut_obj_add_str(doc, item, "type", "Scheduled");
    yyjson_mut_obj_add_str(doc, item, "status", status);
    yyjson_mut_obj_add_strcpy(doc, item, "lastTransitionTime", str_text(&time));
    yyjson_mut_obj_add_strcpy(doc, item, "reason", verdict->reason);
    yyjson_mut_obj_add_strcpy(doc, item, "message", str_text(&verdict->message));
    return list;
}

static bool write_status(struct control *control, const struct pool *pool, const struct obj *vpod,
                         const struct place_result *result)
{
    struct verdict verdict = {0};
    judge(pool, vpod, result, &verdict);
    yyjson_mut_doc *doc = obj_edit(vpod);
    yyjson_mut_val *status = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_int(doc, status, "observedGeneration", vpod->meta.generation);
    yyjson_mut_obj_add_val(doc, status, "placements",
                           placements_of(pool, &result->placements, doc));
    yyjson_mut_obj_add_int(doc, status, "placed", result->placed);
    yyjson_mut_obj_add_int(doc, status, "pending", result->pending);
    yyjson_mut_obj_add_val(doc, status, "conditions",
                           condition_of(vpod, &verdict, control_now(control), doc));
    yyjson_val *old = yyjson_obj_get(vpod->root, "status");
    yyjson_mut_val *before = old != NULL ? yyjson_val_mut_copy(doc, old) : NULL;
    bool is_new = before == NULL || !json_mut_equal(before, status);
    bool is_bad_news =
        !verdict.is_good && !cell_condition_is(json_at(old, "conditions"), "Scheduled", "False");
    if (is_bad_news)
        control_event(control, vpod, "Warning", "FailedScheduling", "%s",
                      str_text(&verdict.message));
    str_done(&verdict.message);
    if (!is_new) {
        yyjson_mut_doc_free(doc);
        return false;
    }
    json_mut_put(doc, yyjson_mut_doc_get_root(doc), "status", status);
    control_write_status(control, vpod, doc);
    return true;
}

/* ---- a look ---- */

/* Without a set there is nothing to place on, and nothing is taken away. */
static void keep_all(const struct pool *pool, const struct obj *vpod, struct place_result *result)
{
    int64_t wanted = json_int_at(vpod->root, "spec.vreplicas", 1);
    (void)place_placements(pool->place, vpod->meta.name, &result->placements);
    for (size_t i = 0; i < result->placements.at.len; i++)
        result->placed += result->placements.at.items[i].vreplicas;
    result->pending = wanted > result->placed ? wanted - result->placed : 0;
}

static int64_t committed_sum(const struct pool_vpod *vpod)
{
    int64_t sum = 0;
    for (size_t i = 0; i < vpod->committed.len; i++)
        sum += vpod->committed.items[i].vreplicas;
    return sum;
}

/* Growth and compaction place vreplicas anew, and with nodes away fewer may find a place than have
 * one. Then those that have one keep it, and only what is missing is looked for. */
static bool schedule(struct pool *pool, struct pool_vpod *vpod, const struct obj *obj,
                     struct place_result *result)
{
    if (!place_schedule(pool->place, vpod->name, result))
        return false;
    if (result->pending == 0 || result->placed >= committed_sum(vpod))
        return true;
    struct place_wish wish = pool_wish(obj);
    place_result_done(result);
    *result = (struct place_result){0};
    place_release(pool->place, vpod->name);
    wish.rebalance = PLACE_MINIMAL;
    place_set_vpod(pool->place, vpod->name, &wish, vpod->committed.items, vpod->committed.len);
    (void)place_schedule(pool->place, vpod->name, result); /* it was there a moment ago */
    wish = pool_wish(obj);
    place_set_vpod(pool->place, vpod->name, &wish, vpod->committed.items, vpod->committed.len);
    return true;
}

static void note_pending(struct control *control, struct pool *pool, struct pool_vpod *vpod,
                         bool is_pending)
{
    vpod->is_pending = is_pending;
    if (!is_pending) {
        (void)map_del(pool->pending, vpod->name);
        return;
    }
    (void)map_put(pool->pending, vpod->name, vpod);
    pool->is_triggered = true;
    pool_add_key(control, 'p', pool->ns, pool->name);
}

/* More than a pod takes: the one that came last goes elsewhere. True: it should, and cannot yet. */
static bool relieve(struct control *control, struct pool *pool, struct pool_vpod *vpod,
                    struct place_result *result)
{
    const char *who = place_crowder(pool->place);
    if (who == NULL)
        return false;
    if (strcmp(who, vpod->name) != 0) {
        pool_add_key(control, 'v', pool->ns, who);
        return false;
    }
    place_result_done(result);
    *result = (struct place_result){0};
    (void)place_relieve(pool->place, vpod->name, result); /* it was there a moment ago */
    who = place_crowder(pool->place);
    bool is_stuck = who != NULL && strcmp(who, vpod->name) == 0;
    if (who != NULL && !is_stuck)
        pool_add_key(control, 'v', pool->ns, who);
    return is_stuck;
}

void pool_reconcile_vpod(struct control *control, const char *ns, const char *name)
{
    const struct obj *obj = cache_get(control_world(control)->cache, &KIND_VPOD, ns, name);
    const char *set = obj != NULL ? json_str_at(obj->root, "spec.pool") : NULL;
    struct pool *pool = set != NULL ? pools_get(control_state(control), ns, set) : NULL;
    struct pool_vpod *vpod = pool != NULL ? map_get(pool->vpods, name) : NULL;
    if (vpod == NULL || obj->meta.deleted != 0)
        return;
    struct place_result result = {0};
    if (!pool->has_set)
        keep_all(pool, obj, &result);
    else if (!schedule(pool, vpod, obj, &result))
        return;
    bool is_stuck = pool->has_set && relieve(control, pool, vpod, &result);
    note_pending(control, pool, vpod, is_stuck || result.pending > 0);
    vpod->is_uncommitted = write_status(control, pool, obj, &result);
    place_result_done(&result);
}
