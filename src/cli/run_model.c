// SPDX-License-Identifier: Apache-2.0
#include "cli/run_model.h"
#include "base/mem.h"
#include "cli/run_kind.h"

/* ---- groups ---- */

bool run_model_is_group(const struct kind *kind)
{
    return run_kind_of(kind) != NULL;
}

static void group_free(struct run_group *group)
{
    for (size_t i = 0; i < group->pods.len; i++)
        run_pod_free(group->pods.items[i]);
    vec_done(&group->pods);
    vec_done(&group->spread.per_pod);
    mem_free(group->spread.why);
    mem_free(group->ns);
    mem_free(group->name);
    mem_free(group->uid);
    mem_free(group->queue);
    mem_free(group->why);
    mem_free(group);
}

static size_t pod_index(const struct run_group *group, const char *uid)
{
    size_t i = 0;
    while (i < group->pods.len && !str_eq(group->pods.items[i]->uid, uid))
        i++;
    return i;
}

/* Order matters: the first blocked one is the one that is told of. */
static void remove_pod(struct run_group *group, size_t index)
{
    struct run_pod **at = &group->pods.items[index];
    group->restarts_past += run_pod_restarts(*at);
    run_pod_free(*at);
    group->pods.len--;
    memmove(at, at + 1, (group->pods.len - index) * sizeof(*at));
}

static void group_pod(struct run_model *model, struct run_group *group, const char *type,
                      yyjson_val *object)
{
    const char *uid = json_str_at(object, "metadata.uid");
    size_t index = pod_index(group, uid);
    if (str_eq(type, "DELETED")) {
        /* One that ended well has done its part, also when it was cleaned away. */
        if (index < group->pods.len && !group->pods.items[index]->succeeded)
            remove_pod(group, index);
        return;
    }
    if (index == group->pods.len)
        vec_push(&group->pods, run_pod_new(object));
    run_pod_update(group->pods.items[index], object, &model->lives);
}

static const char *first_failure(const struct run_group *group)
{
    for (size_t i = 0; i < group->pods.len; i++) {
        if (group->pods.items[i]->failed && group->pods.items[i]->why != NULL)
            return group->pods.items[i]->why;
    }
    return NULL;
}

static void group_gone(struct run_group *group, time_ms now)
{
    group->is_deleted = true;
    if (group->outcome != RUN_GOES_ON)
        return;
    group->outcome = RUN_GONE;
    group->ended_at = now;
    run_set_text(&group->why, "somebody deleted it");
}

static void group_object(struct run_group *group, const char *type, yyjson_val *object, time_ms now)
{
    const struct run_kind *how = run_kind_of(group->kind);
    const char *why = NULL;
    group->is_deleted = group->is_deleted || str_eq(type, "DELETED");
    if (group->outcome != RUN_GOES_ON)
        return;
    how->expect(group, object);
    group->outcome = how->judge(object, &why);
    if (group->outcome == RUN_GOES_ON && str_eq(type, "DELETED"))
        group_gone(group, now);
    if (group->outcome == RUN_GOES_ON)
        return;
    group->ended_at = now;
    if (group->outcome == RUN_LOST)
        run_set_text(&group->why, why ? why : first_failure(group));
}

/* ---- what a watch has yet to tell ---- */

/* Of one pod, or of all: up to which revision it is told. */
static void note_told(struct run_model *model, const char *uid, int64_t revision)
{
    for (size_t i = model->awaited.len; i > 0; i--) {
        struct run_awaited *one = &model->awaited.items[i - 1];
        if ((uid != NULL && !str_eq(one->uid, uid)) || revision < one->revision)
            continue;
        mem_free(one->uid);
        *one = model->awaited.items[--model->awaited.len];
    }
}

static void note_event(struct run_model *model, const struct run_event *event)
{
    bool is_last = str_eq(event->type, "DELETED");
    if (event->kind == &KIND_POD && model->awaited.len > 0)
        note_told(model, json_str_at(event->object, "metadata.uid"),
                  is_last ? INT64_MAX : run_revision_of(event->object));
}

static void await_pod(struct run_model *model, const struct run_group *group, yyjson_val *object)
{
    const char *uid = json_str_at(object, "metadata.uid");
    int64_t revision = run_revision_of(object);
    size_t index = pod_index(group, uid);
    if (index < group->pods.len && group->pods.items[index]->revision >= revision)
        return;
    vec_push(&model->awaited, ((struct run_awaited){mem_strdup(uid), revision}));
}

void run_model_await(struct run_model *model, yyjson_val *list)
{
    size_t i, n;
    yyjson_val *object;
    yyjson_arr_foreach(json_at(list, "items"), i, n, object)
    {
        for (size_t g = 0; g < model->groups.len; g++) {
            const struct run_group *group = model->groups.items[g];
            if (run_kind_of(group->kind)->owns(group, object))
                await_pod(model, group, object);
        }
    }
}

/* ---- the model ---- */

void run_model_init(struct run_model *model, time_ms now)
{
    *model = (struct run_model){.began_at = now};
}

void run_model_done(struct run_model *model)
{
    for (size_t i = 0; i < model->groups.len; i++)
        group_free(model->groups.items[i]);
    vec_done(&model->groups);
    note_told(model, NULL, INT64_MAX);
    vec_done(&model->awaited);
}

void run_model_add(struct run_model *model, const struct kind *kind, yyjson_val *object,
                   bool created)
{
    const struct run_kind *how = run_kind_of(kind);
    struct run_group *group = mem_zalloc(sizeof(*group));
    group->kind = kind;
    group->ns = mem_strdup(json_str_at(object, "metadata.namespace"));
    group->name = mem_strdup(json_str_at(object, "metadata.name"));
    group->uid = mem_strdup(json_str_at(object, "metadata.uid"));
    group->created = created;
    group->ready_at = group->ended_at = -1;
    how->expect(group, object);
    vec_push(&model->groups, group);
}

static void look_again(struct run_group *group, time_ms now)
{
    if (group->ready_at < 0 && run_group_is_ready(group))
        group->ready_at = now;
    group->version++;
}

static void group_event(struct run_model *model, struct run_group *group,
                        const struct run_event *event, time_ms now)
{
    bool is_self = event->kind == group->kind &&
                   str_eq(group->uid, json_str_at(event->object, "metadata.uid"));
    bool is_ours = event->kind == &KIND_POD && run_kind_of(group->kind)->owns(group, event->object);
    if (!is_self && !is_ours)
        return;
    if (is_ours)
        group_pod(model, group, event->type, event->object);
    if (is_self)
        group_object(group, event->type, event->object, now);
    look_again(group, now);
}

void run_model_event(struct run_model *model, const struct run_event *event, time_ms now)
{
    for (size_t i = 0; i < model->groups.len; i++)
        group_event(model, model->groups.items[i], event, now);
    note_event(model, event);
}

static bool is_listed(yyjson_val *list, const char *uid)
{
    size_t i, n;
    yyjson_val *object;
    yyjson_arr_foreach(json_at(list, "items"), i, n, object)
    {
        if (str_eq(json_str_at(object, "metadata.uid"), uid))
            return true;
    }
    return false;
}

static void drop_unlisted(struct run_group *group, const struct kind *kind, yyjson_val *list,
                          time_ms now)
{
    if (group->kind == kind && !is_listed(list, group->uid))
        group_gone(group, now);
    for (size_t i = group->pods.len; i > 0 && kind == &KIND_POD; i--) {
        const struct run_pod *pod = group->pods.items[i - 1];
        if (!pod->succeeded && !is_listed(list, pod->uid))
            remove_pod(group, i - 1);
    }
    look_again(group, now);
}

void run_model_list(struct run_model *model, const struct kind *kind, const char *ns,
                    yyjson_val *list, time_ms now)
{
    size_t i, n;
    yyjson_val *object;
    for (size_t g = 0; g < model->groups.len; g++) {
        if (str_eq(model->groups.items[g]->ns, ns))
            drop_unlisted(model->groups.items[g], kind, list, now);
    }
    if (kind == &KIND_POD)
        note_told(model, NULL, run_revision_of(list)); /* who is not in it has gone */
    yyjson_arr_foreach(json_at(list, "items"), i, n, object)
    {
        run_model_event(model, &(struct run_event){kind, "ADDED", object}, now);
    }
}

static bool pod_writes(const struct run_pod *pod, const struct run_log *log)
{
    if (!str_eq(pod->ns, log->ns) || !str_eq(pod->name, log->pod))
        return false;
    for (size_t i = 0; i < pod->units.len; i++) {
        const struct run_unit *unit = &pod->units.items[i];
        if (unit->runs && str_eq(unit->name, log->container) && str_eq(unit->life, log->life))
            return true;
    }
    return false;
}

bool run_model_log_goes_on(const struct run_model *model, const struct run_log *log)
{
    for (size_t g = 0; g < model->groups.len; g++) {
        const struct run_group *group = model->groups.items[g];
        for (size_t i = 0; i < group->pods.len && group->outcome == RUN_GOES_ON; i++) {
            if (pod_writes(group->pods.items[i], log))
                return true;
        }
    }
    return false;
}

void run_model_stopped(struct run_model *model)
{
    for (size_t g = 0; g < model->groups.len; g++) {
        const struct run_group *group = model->groups.items[g];
        for (size_t i = 0; i < group->pods.len; i++) {
            for (size_t u = 0; u < group->pods.items[i]->units.len; u++)
                group->pods.items[i]->units.items[u].runs = false;
        }
    }
}

/* ---- counting ---- */

static void count_pod(const struct run_pod *pod, struct run_counts *counts)
{
    for (size_t i = 0; i < pod->units.len; i++) {
        const struct run_unit *unit = &pod->units.items[i];
        enum run_state state = pod->succeeded ? RUN_DONE : unit->state;
        counts->running += unit->runs;
        if (unit->is_for_start && state != RUN_FAILED)
            continue;
        counts->by_state[state]++;
        const char *why = state == RUN_WAITING && unit->why == NULL ? pod->why : unit->why;
        counts->why[state] = counts->why[state] ? counts->why[state] : why;
    }
}

static size_t units_of(const struct run_pod *pod)
{
    size_t count = 0;
    for (size_t i = 0; i < pod->units.len; i++)
        count += !pod->units.items[i].is_for_start;
    return count;
}

void run_group_count(const struct run_group *group, struct run_counts *ret_counts)
{
    struct run_counts counts = {.restarts = group->restarts_past, .epoch = group->epoch};
    size_t seen = 0;
    size_t lost = 0; /* units of pods that failed: a Job makes others in their place */
    for (size_t i = 0; i < group->pods.len; i++) {
        const struct run_pod *pod = group->pods.items[i];
        count_pod(pod, &counts);
        counts.restarts += run_pod_restarts(pod);
        seen += units_of(pod);
        lost += pod->failed && group->kind != &KIND_POD ? units_of(pod) : 0;
    }
    if (group->restarts_as_one)
        counts.restarts = group->restarts;
    size_t expected = group->pods_expected * group->units_per_pod;
    counts.total = seen - lost > expected ? seen - lost : expected;
    if (group->outcome == RUN_GOES_ON)
        counts.by_state[RUN_WAITING] += counts.total - (seen - lost);
    *ret_counts = counts;
}

bool run_group_is_ready(const struct run_group *group)
{
    struct run_counts counts;
    if (group->outcome != RUN_GOES_ON)
        return group->outcome == RUN_SUCCEEDED;
    if (group->spread.is_told)
        return group->spread.placed == group->spread.wanted;
    run_group_count(group, &counts);
    return counts.by_state[RUN_READY] + counts.by_state[RUN_DONE] >=
           group->pods_at_once * group->units_per_pod;
}

void run_model_judge(const struct run_model *model, struct run_verdict *ret_verdict)
{
    struct run_verdict verdict = {.groups = model->groups.len, .ready_at = model->began_at};
    for (size_t i = 0; i < model->groups.len; i++) {
        const struct run_group *group = model->groups.items[i];
        struct run_counts counts;
        run_group_count(group, &counts);
        verdict.units += counts.total;
        verdict.restarts += counts.restarts;
        verdict.succeeded += group->outcome == RUN_SUCCEEDED;
        verdict.failed += group->outcome == RUN_LOST || group->outcome == RUN_GONE;
        verdict.ready += run_group_is_ready(group);
        verdict.endless += run_kind_is_endless(group) && group->outcome == RUN_GOES_ON;
        if (group->ready_at < 0 || verdict.ready_at < 0)
            verdict.ready_at = -1;
        else if (group->ready_at > verdict.ready_at)
            verdict.ready_at = group->ready_at;
    }
    *ret_verdict = verdict;
}

bool run_verdict_is_success(const struct run_verdict *verdict)
{
    bool has_ended = verdict->succeeded > 0 || verdict->endless == 0;
    return has_ended && verdict->succeeded + verdict->endless == verdict->groups;
}
