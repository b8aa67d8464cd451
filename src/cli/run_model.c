// SPDX-License-Identifier: Apache-2.0
#include "cli/run_model.h"
#include "base/mem.h"
#include "model/jobset.h"
#include "model/kueue.h"
#include <stdlib.h>

/* ---- reading objects ---- */

static void set_text(char **text, const char *with)
{
    if (str_eq(*text, with))
        return;
    mem_free(*text);
    *text = mem_strdup(with);
}

static yyjson_val *condition_of(yyjson_val *object, const char *type)
{
    size_t i, n;
    yyjson_val *condition;
    yyjson_arr_foreach(json_at(object, "status.conditions"), i, n, condition)
    {
        if (str_eq(json_str_at(condition, "type"), type))
            return condition;
    }
    return NULL;
}

static bool condition_is(yyjson_val *object, const char *type, const char *status)
{
    return str_eq(json_str_at(condition_of(object, type), "status"), status);
}

/* The message of a condition, its reason when it has none. */
static const char *text_of(yyjson_val *val)
{
    const char *message = json_str_at(val, "message");
    return message != NULL && *message != '\0' ? message : json_str_at(val, "reason");
}

static int64_t revision_of(yyjson_val *object)
{
    const char *text = json_str_at(object, "metadata.resourceVersion");
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/* ---- containers ---- */

static const struct {
    const char *word; /* status.containerStatuses[].lifecycle.state */
    enum run_state state;
} LIFECYCLE[] = {
    {"downloading", RUN_WAITING}, {"blocked", RUN_BLOCKED}, {"pending", RUN_PENDING},
    {"starting", RUN_STARTING},   {"ready", RUN_READY},     {"failed", RUN_FAILED},
};

/* A server that is not ours tells no lifecycle. */
static enum run_state state_without_lifecycle(yyjson_val *status)
{
    if (json_at(status, "state.running") == NULL)
        return json_at(status, "state.waiting") != NULL ? RUN_PENDING : RUN_WAITING;
    return yyjson_get_bool(yyjson_obj_get(status, "ready")) ? RUN_READY : RUN_STARTING;
}

static enum run_state state_of(yyjson_val *status)
{
    yyjson_val *ended = json_at(status, "state.terminated");
    if (ended != NULL)
        return json_int_at(ended, "exitCode", -1) == 0 ? RUN_DONE : RUN_FAILED;
    const char *word = json_str_at(status, "lifecycle.state");
    for (size_t i = 0; i < ARRAY_LEN(LIFECYCLE); i++) {
        if (str_eq(word, LIFECYCLE[i].word))
            return LIFECYCLE[i].state;
    }
    if (word != NULL)
        return RUN_PENDING; /* exited, and to be started again */
    return state_without_lifecycle(status);
}

static void set_end_text(struct run_unit *unit, yyjson_val *ended)
{
    const char *reason = json_str_at(ended, "reason"), *message = json_str_at(ended, "message");
    scoped_str text = {0};
    str_addf(&text, "%s ", unit->name);
    if (str_eq(reason, "Error") || reason == NULL)
        str_addf(&text, "ended with exit code %d", (int)json_int_at(ended, "exitCode", -1));
    else
        str_addf(&text, "%s%s%s", reason, message && *message ? ": " : "", message ? message : "");
    set_text(&unit->why, str_text(&text));
}

static void update_unit(struct run_unit *unit, yyjson_val *status)
{
    yyjson_val *ended = json_at(status, "state.terminated");
    yyjson_val *waits = json_at(status, "state.waiting");
    unit->state = status ? state_of(status) : RUN_WAITING;
    unit->runs = json_at(status, "state.running") != NULL;
    unit->restarts = json_int_at(status, "restartCount", unit->restarts);
    if (unit->state == RUN_FAILED && ended != NULL)
        set_end_text(unit, ended);
    else if (unit->state == RUN_FAILED && waits != NULL && text_of(waits) != NULL) {
        scoped_str text = {0};
        str_addf(&text, "%s %s", unit->name, text_of(waits));
        set_text(&unit->why, str_text(&text));
    } else
        set_text(&unit->why, text_of(waits));
}

/* ---- pods ---- */

static void pod_free(struct run_pod *pod)
{
    for (size_t i = 0; i < pod->units.len; i++) {
        mem_free(pod->units.items[i].name);
        mem_free(pod->units.items[i].life);
        mem_free(pod->units.items[i].why);
    }
    vec_done(&pod->units);
    mem_free(pod->ns);
    mem_free(pod->name);
    mem_free(pod->uid);
    mem_free(pod->why);
    mem_free(pod);
}

/* Init containers come and go before the others, and are not followed. */
static bool is_unit(yyjson_val *container, bool is_init)
{
    return !is_init || str_eq(json_str_at(container, "restartPolicy"), "Always");
}

static const struct {
    const char *spec, *status;
    bool is_init;
} LISTS[] = {
    {"initContainers", "status.initContainerStatuses", true},
    {"containers", "status.containerStatuses", false},
};

static bool waits_for_end_of(yyjson_val *container, const char *name)
{
    yyjson_val *edge = json_find(json_at(container, "dependsOn"), "name", name);
    return str_eq(json_str_at(edge, "condition"), "completed");
}

/* It does its work for another container, as an init container does. */
static bool is_for_start(yyjson_val *pod_spec, const char *name)
{
    for (size_t list = 0; list < ARRAY_LEN(LISTS); list++) {
        size_t i, n;
        yyjson_val *container;
        yyjson_arr_foreach(json_at(pod_spec, LISTS[list].spec), i, n, container)
        {
            if (waits_for_end_of(container, name))
                return true;
        }
    }
    return false;
}

/* Those that get ready. */
static size_t units_in(yyjson_val *pod_spec)
{
    size_t count = 0, i, n;
    yyjson_val *container;
    for (size_t list = 0; list < ARRAY_LEN(LISTS); list++) {
        yyjson_arr_foreach(json_at(pod_spec, LISTS[list].spec), i, n, container)
        {
            count += is_unit(container, LISTS[list].is_init) &&
                     !is_for_start(pod_spec, json_str_at(container, "name"));
        }
    }
    return count;
}

static struct run_pod *pod_new(yyjson_val *object)
{
    struct run_pod *pod = mem_zalloc(sizeof(*pod));
    yyjson_val *spec = json_at(object, "spec");
    pod->ns = mem_strdup(json_str_at(object, "metadata.namespace"));
    pod->name = mem_strdup(json_str_at(object, "metadata.name"));
    pod->uid = mem_strdup(json_str_at(object, "metadata.uid"));
    for (size_t list = 0; list < ARRAY_LEN(LISTS); list++) {
        size_t i, n;
        yyjson_val *container;
        yyjson_arr_foreach(json_at(spec, LISTS[list].spec), i, n, container)
        {
            struct run_unit unit = {.name = mem_strdup(json_str_at(container, "name"))};
            unit.is_for_start = is_for_start(spec, unit.name);
            if (is_unit(container, LISTS[list].is_init) && unit.name != NULL)
                vec_push(&pod->units, unit);
            else
                mem_free(unit.name);
        }
    }
    return pod;
}

/* A container has its name before it has a process, and a log with the process only. */
static bool has_lived(yyjson_val *status, const char *life)
{
    return json_at(status, "state.running") != NULL ||
           json_at(status, "state.terminated") != NULL ||
           str_eq(json_str_at(status, "lastState.terminated.containerID"), life);
}

static void begin_life(struct run_model *model, struct run_pod *pod, struct run_unit *unit,
                       yyjson_val *status)
{
    const char *life = json_str_at(status, "containerID");
    if (life == NULL || *life == '\0' || str_eq(life, unit->life) || !has_lived(status, life))
        return;
    set_text(&unit->life, life);
    if (model->on_life != NULL)
        model->on_life(model->arg, pod, unit);
}

/* Why a pod failed: its own word, else what its first failed container says. */
static void explain_pod(struct run_pod *pod, yyjson_val *object)
{
    const char *why = text_of(json_at(object, "status"));
    if (!pod->failed && why == NULL && condition_is(object, "PodScheduled", "False"))
        why = text_of(condition_of(object, "PodScheduled"));
    for (size_t i = 0; i < pod->units.len && why == NULL && pod->failed; i++) {
        if (pod->units.items[i].state == RUN_FAILED)
            why = pod->units.items[i].why;
    }
    set_text(&pod->why, why);
}

static void pod_update(struct run_model *model, struct run_pod *pod, yyjson_val *object)
{
    const char *phase = json_str_at(object, "status.phase");
    pod->revision = revision_of(object);
    pod->succeeded = str_eq(phase, "Succeeded");
    pod->failed = str_eq(phase, "Failed");
    for (size_t i = 0; i < pod->units.len; i++) {
        struct run_unit *unit = &pod->units.items[i];
        yyjson_val *status = NULL;
        for (size_t list = 0; list < ARRAY_LEN(LISTS) && status == NULL; list++)
            status = json_find(json_at(object, LISTS[list].status), "name", unit->name);
        update_unit(unit, status);
        begin_life(model, pod, unit, status);
    }
    explain_pod(pod, object);
}

/* ---- groups ---- */

static bool pod_is_ours(const struct run_group *group, yyjson_val *pod)
{
    return str_eq(group->uid, json_str_at(pod, "metadata.uid"));
}

static bool job_owns(const struct run_group *group, yyjson_val *pod)
{
    size_t i, n;
    yyjson_val *owner;
    yyjson_arr_foreach(json_at(pod, "metadata.ownerReferences"), i, n, owner)
    {
        if (str_eq(json_str_at(owner, "uid"), group->uid))
            return true;
    }
    return false;
}

static void expect_queue(struct run_group *group, yyjson_val *object, bool is_held)
{
    yyjson_val *labels = json_at(object, "metadata.labels");
    set_text(&group->queue,
             is_held ? yyjson_get_str(yyjson_obj_get(labels, KUEUE_QUEUE_LABEL)) : NULL);
}

static bool is_suspended(yyjson_val *object)
{
    return yyjson_get_bool(json_at(object, "spec.suspend"));
}

static void expect_pod(struct run_group *group, yyjson_val *object)
{
    yyjson_val *gates = json_at(object, "spec.schedulingGates");
    group->pods_expected = group->pods_at_once = 1;
    group->units_per_pod = units_in(json_at(object, "spec"));
    expect_queue(group, object, json_find(gates, "name", KUEUE_GATE) != NULL);
}

static void expect_job(struct run_group *group, yyjson_val *object)
{
    int64_t at_once = json_int_at(object, "spec.parallelism", 1);
    int64_t all = json_int_at(object, "spec.completions", at_once);
    group->pods_expected = (size_t)all;
    group->pods_at_once = (size_t)(at_once < all ? at_once : all);
    group->units_per_pod = units_in(json_at(object, "spec.template.spec"));
    expect_queue(group, object, is_suspended(object));
}

static bool set_owns(const struct run_group *group, yyjson_val *pod)
{
    yyjson_val *labels = json_at(pod, "metadata.labels");
    return str_eq(yyjson_get_str(yyjson_obj_get(labels, JOBSET_LABEL_UID)), group->uid);
}

/* Pods of its Jobs may differ: what is expected of all is told as one kind of pod. */
static void expect_set(struct run_group *group, yyjson_val *object)
{
    size_t i, n, units = 0;
    yyjson_val *one;
    group->pods_expected = group->pods_at_once = 0;
    yyjson_arr_foreach(json_at(object, "spec.replicatedJobs"), i, n, one)
    {
        int64_t at_once = json_int_at(one, "template.spec.parallelism", 1);
        int64_t all = json_int_at(one, "template.spec.completions", at_once);
        int64_t replicas = json_int_at(one, "replicas", 1);
        size_t here = units_in(json_at(one, "template.spec.template.spec"));
        group->pods_expected += (size_t)(replicas * all);
        group->pods_at_once += (size_t)(replicas * (at_once < all ? at_once : all));
        units = here > units ? here : units;
    }
    group->units_per_pod = units;
    group->restarts_as_one = true;
    group->restarts = json_int_at(object, "status.restarts", 0) +
                      json_int_at(object, "status.inPlaceRestarts", 0);
    group->epoch = json_int_at(object, "status.syncedEpoch", 0);
    expect_queue(group, object, is_suspended(object));
}

static enum run_outcome judge_set(yyjson_val *object, const char **ret_why)
{
    *ret_why = text_of(condition_of(object, "Failed"));
    if (condition_is(object, "Failed", "True"))
        return RUN_LOST;
    return condition_is(object, "Completed", "True") ? RUN_SUCCEEDED : RUN_GOES_ON;
}

static enum run_outcome judge_pod(yyjson_val *object, const char **ret_why)
{
    const char *phase = json_str_at(object, "status.phase");
    *ret_why = NULL; /* its containers tell */
    return str_eq(phase, "Succeeded") ? RUN_SUCCEEDED
           : str_eq(phase, "Failed")  ? RUN_LOST
                                      : RUN_GOES_ON;
}

static enum run_outcome judge_job(yyjson_val *object, const char **ret_why)
{
    *ret_why = text_of(condition_of(object, "Failed"));
    if (condition_is(object, "Failed", "True"))
        return RUN_LOST;
    return condition_is(object, "Complete", "True") ? RUN_SUCCEEDED : RUN_GOES_ON;
}

static void expect_numbered(struct run_group *group, yyjson_val *object)
{
    group->pods_expected = group->pods_at_once = (size_t)json_int_at(object, "spec.replicas", 1);
    group->units_per_pod = units_in(json_at(object, "spec.template.spec"));
}

/* It never ends by itself. */
static enum run_outcome judge_endless(yyjson_val *object, const char **ret_why)
{
    (void)object;
    *ret_why = NULL;
    return RUN_GOES_ON;
}

static bool owns_none(const struct run_group *group, yyjson_val *pod)
{
    (void)group, (void)pod;
    return false;
}

static void expect_spread(struct run_group *group, yyjson_val *object)
{
    struct run_spread *spread = &group->spread;
    size_t i, n;
    yyjson_val *item;
    spread->is_told = true;
    spread->wanted = json_int_at(object, "spec.vreplicas", 1);
    spread->placed = json_int_at(object, "status.placed", 0);
    spread->pending = spread->wanted > spread->placed ? spread->wanted - spread->placed : 0;
    bool is_short = condition_is(object, "Scheduled", "False");
    set_text(&spread->why, is_short ? text_of(condition_of(object, "Scheduled")) : NULL);
    vec_clear(&spread->per_pod);
    yyjson_arr_foreach(json_at(object, "status.placements"), i, n, item)
    {
        vec_push(&spread->per_pod, json_int_at(item, "vreplicas", 0));
    }
}

static const struct group_kind {
    const struct kind *kind;
    bool (*owns)(const struct run_group *group, yyjson_val *pod);
    void (*expect)(struct run_group *group, yyjson_val *object);
    enum run_outcome (*judge)(yyjson_val *object, const char **ret_why);
} GROUP_KINDS[] = {
    {&KIND_POD, pod_is_ours, expect_pod, judge_pod},
    {&KIND_JOB, job_owns, expect_job, judge_job},
    {&KIND_JOBSET, set_owns, expect_set, judge_set},
    {&KIND_STATEFULSET, job_owns, expect_numbered, judge_endless},
    {&KIND_VPOD, owns_none, expect_spread, judge_endless},
};

static const struct group_kind *group_kind(const struct kind *kind)
{
    for (size_t i = 0; i < ARRAY_LEN(GROUP_KINDS); i++) {
        if (GROUP_KINDS[i].kind == kind)
            return &GROUP_KINDS[i];
    }
    return NULL;
}

static bool is_endless(const struct run_group *group)
{
    return group_kind(group->kind)->judge == judge_endless;
}

bool run_model_is_group(const struct kind *kind)
{
    return group_kind(kind) != NULL;
}

static void group_free(struct run_group *group)
{
    for (size_t i = 0; i < group->pods.len; i++)
        pod_free(group->pods.items[i]);
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

static int64_t pod_restarts(const struct run_pod *pod)
{
    int64_t restarts = 0;
    for (size_t i = 0; i < pod->units.len; i++)
        restarts += pod->units.items[i].restarts;
    return restarts;
}

/* Order matters: the first blocked one is the one that is told of. */
static void remove_pod(struct run_group *group, size_t index)
{
    struct run_pod **at = &group->pods.items[index];
    group->restarts_past += pod_restarts(*at);
    pod_free(*at);
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
        vec_push(&group->pods, pod_new(object));
    pod_update(model, group->pods.items[index], object);
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
    set_text(&group->why, "somebody deleted it");
}

static void group_object(struct run_group *group, const char *type, yyjson_val *object, time_ms now)
{
    const struct group_kind *how = group_kind(group->kind);
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
        set_text(&group->why, why ? why : first_failure(group));
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
                  is_last ? INT64_MAX : revision_of(event->object));
}

static void await_pod(struct run_model *model, const struct run_group *group, yyjson_val *object)
{
    const char *uid = json_str_at(object, "metadata.uid");
    int64_t revision = revision_of(object);
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
            if (group_kind(group->kind)->owns(group, object))
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
    const struct group_kind *how = group_kind(kind);
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
    bool is_ours = event->kind == &KIND_POD && group_kind(group->kind)->owns(group, event->object);
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
        note_told(model, NULL, revision_of(list)); /* who is not in it has gone */
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
        counts.restarts += pod_restarts(pod);
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
        verdict.endless += is_endless(group) && group->outcome == RUN_GOES_ON;
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
