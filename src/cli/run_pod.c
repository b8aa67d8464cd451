// SPDX-License-Identifier: Apache-2.0
#include "cli/run_pod.h"
#include "base/mem.h"
#include "model/cell.h"
#include <stdlib.h>

/* ---- reading objects ---- */

void run_set_text(char **text, const char *with)
{
    if (str_eq(*text, with))
        return;
    mem_free(*text);
    *text = mem_strdup(with);
}

const char *run_text_of(yyjson_val *val)
{
    const char *message = json_str_at(val, "message");
    return message != NULL && *message != '\0' ? message : json_str_at(val, "reason");
}

int64_t run_revision_of(yyjson_val *object)
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
    run_set_text(&unit->why, str_text(&text));
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
    else if (unit->state == RUN_FAILED && waits != NULL && run_text_of(waits) != NULL) {
        scoped_str text = {0};
        str_addf(&text, "%s %s", unit->name, run_text_of(waits));
        run_set_text(&unit->why, str_text(&text));
    } else
        run_set_text(&unit->why, run_text_of(waits));
}

/* ---- pods ---- */

void run_pod_free(struct run_pod *pod)
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

size_t run_units_in(yyjson_val *pod_spec)
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

struct run_pod *run_pod_new(yyjson_val *object)
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

static void begin_life(struct run_pod *pod, struct run_unit *unit, yyjson_val *status,
                       const struct run_lives *lives)
{
    const char *life = json_str_at(status, "containerID");
    if (life == NULL || *life == '\0' || str_eq(life, unit->life) || !has_lived(status, life))
        return;
    run_set_text(&unit->life, life);
    if (lives->on_life != NULL)
        lives->on_life(lives->arg, pod, unit);
}

/* Why a pod failed: its own word, else what its first failed container says. */
static void explain_pod(struct run_pod *pod, yyjson_val *object)
{
    const char *why = run_text_of(json_at(object, "status"));
    if (!pod->failed && why == NULL && cell_condition_as(object, "PodScheduled", "False") != NULL)
        why = run_text_of(cell_condition(object, "PodScheduled"));
    for (size_t i = 0; i < pod->units.len && why == NULL && pod->failed; i++) {
        if (pod->units.items[i].state == RUN_FAILED)
            why = pod->units.items[i].why;
    }
    run_set_text(&pod->why, why);
}

void run_pod_update(struct run_pod *pod, yyjson_val *object, const struct run_lives *lives)
{
    const char *phase = json_str_at(object, "status.phase");
    pod->revision = run_revision_of(object);
    pod->succeeded = str_eq(phase, "Succeeded");
    pod->failed = str_eq(phase, "Failed");
    for (size_t i = 0; i < pod->units.len; i++) {
        struct run_unit *unit = &pod->units.items[i];
        yyjson_val *status = NULL;
        for (size_t list = 0; list < ARRAY_LEN(LISTS) && status == NULL; list++)
            status = json_find(json_at(object, LISTS[list].status), "name", unit->name);
        update_unit(unit, status);
        begin_life(pod, unit, status, lives);
    }
    explain_pod(pod, object);
}

int64_t run_pod_restarts(const struct run_pod *pod)
{
    int64_t restarts = 0;
    for (size_t i = 0; i < pod->units.len; i++)
        restarts += pod->units.items[i].restarts;
    return restarts;
}
