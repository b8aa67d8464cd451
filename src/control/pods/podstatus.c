// SPDX-License-Identifier: Apache-2.0
/* What is told of a pod: the status object, made from the engine's view. The same view gives the
 * same bytes, so that a status that says nothing new is not written. What was told of a generation
 * stays as it was told: a supervisor that comes back knows less of it. */
#include "control/pods/runner_internal.h"
#include "model/cell.h"
#include <stdio.h>
#include <string.h>

struct maker {
    const struct rpod *pod;
    const struct obj *current; /* conditions of others, and since when ours hold */
    yyjson_mut_doc *doc;
};

static yyjson_mut_val *time_of(struct maker *m, time_ms steady, bool fine)
{
    scoped_str text = {0};
    time_ms wall = runner_wall(m->pod->runner, steady);
    if (fine)
        rfc3339_format_micro(wall, &text);
    else
        rfc3339_format(wall, &text);
    return yyjson_mut_strcpy(m->doc, str_text(&text));
}

static void put_text(struct maker *m, yyjson_mut_val *obj, const char *key, const char *text)
{
    if (text != NULL && *text != '\0')
        json_mut_put(m->doc, obj, key, yyjson_mut_strcpy(m->doc, text));
}

/* ---- one container ---- */

/* One word for why a container waits, or why it ended; what is not here has the usual one. */
static const char *const WAITING[] = {
    [WHY_DEPENDENCY] = "DependencyNotReady",
    [WHY_DEPENDENCY_FAILED] = "DependencyFailed",
    [WHY_INIT] = "PodInitializing",
    [WHY_GROUP] = "WaitingForGroup",
    [WHY_GATE] = "StartThrottled",
    [WHY_BACKOFF] = "CrashLoopBackOff",
    [WHY_RESTARTING_ALL] = "RestartingAllContainers",
    [WHY_PREPARE] = "ErrImagePull",
    [WHY_EXIT] = NULL,
};
static const char *const ENDED[] = {
    [WHY_OOM] = "OOMKilled",
    [WHY_TIMEOUT] = "StartTimeout",
    [WHY_NOT_RUN] = "StartError",
    [WHY_PREPARE] = "ErrImagePull",
    [WHY_EXIT] = NULL,
};

static const char *waiting_reason(const struct start_view *view)
{
    return WAITING[view->why] != NULL ? WAITING[view->why] : "ContainerCreating";
}

static const char *ended_reason(enum start_reason why, int exit_code)
{
    if (ENDED[why] != NULL)
        return ENDED[why];
    return exit_code == 0 ? "Completed" : "Error";
}

static const char *blocker_name(const struct rpod *pod, const struct start_view *view)
{
    return view->blocker < pod->n ? json_str_at(pod->containers[view->blocker].spec, "name") : "?";
}

/* Why it has to be started again; `message` is of a start that failed. */
static void backoff_message(const struct start_view *view, const char *message, char *out,
                            size_t size)
{
    static const char AGAIN[] = "starts again after a pause";
    if (view->ended_why == WHY_NOT_RUN && message != NULL)
        (void)snprintf(out, size, "could not be started: %s; %s", message, AGAIN);
    else if (view->ended_why == WHY_OOM)
        (void)snprintf(out, size, "was killed for memory; %s", AGAIN);
    else if (view->ended_why == WHY_TIMEOUT)
        (void)snprintf(out, size, "was not ready in time; %s", AGAIN);
    else
        (void)snprintf(out, size, "ended with exit code %d; %s", view->exit_code, AGAIN);
}

static void waiting_message(const struct rpod *pod, const struct start_view *view,
                            const char *message, char *out, size_t size)
{
    char gate[64];
    gate_verdict_text(&view->gate, gate, sizeof(gate));
    out[0] = '\0';
    if (view->why == WHY_DEPENDENCY || view->why == WHY_INIT)
        (void)snprintf(out, size, "waits for container %s", blocker_name(pod, view));
    else if (view->why == WHY_DEPENDENCY_FAILED)
        (void)snprintf(out, size, "waits for container %s, which has failed for good",
                       blocker_name(pod, view));
    else if (view->why == WHY_GROUP)
        (void)snprintf(out, size, "waits for the other members of its group");
    else if (view->why == WHY_GATE)
        (void)snprintf(out, size, "waits for the throttle: %s", gate);
    else if (view->why == WHY_BACKOFF)
        backoff_message(view, message, out, size);
    else if (view->why == WHY_RESTARTING_ALL)
        (void)snprintf(out, size, "all containers of the pod are started again");
}

struct ended {
    uint32_t generation;
    int exit_code;
    enum start_reason why;
    time_ms started_at, ended_at;
    const char *message;
};

#define ID_SIZE 512

static void id_of(const struct maker *m, const char *name, uint32_t generation, char id[ID_SIZE])
{
    (void)snprintf(id, ID_SIZE, "%s://%s/%s/%u", m->pod->runner->options.runtime->ops->name,
                   m->pod->uid, name, generation);
}

static void put_id(struct maker *m, yyjson_mut_val *obj, const char *name, uint32_t generation)
{
    char id[ID_SIZE];
    id_of(m, name, generation, id);
    put_text(m, obj, "containerID", id);
}

/* The container's status as the object has it, or NULL. */
static yyjson_val *status_now(const struct maker *m, const char *name)
{
    yyjson_val *status = yyjson_obj_get(m->current->root, "status");
    yyjson_val *found = json_find(yyjson_obj_get(status, "containerStatuses"), "name", name);
    return found ? found : json_find(yyjson_obj_get(status, "initContainerStatuses"), "name", name);
}

static yyjson_mut_val *copy_if_of(struct maker *m, yyjson_val *part, yyjson_val *owner,
                                  const char *id)
{
    bool same = part != NULL && str_eq(json_str_at(owner, "containerID"), id);
    return same ? yyjson_val_mut_copy(m->doc, part) : NULL;
}

static yyjson_val *if_code(yyjson_val *end, int code)
{
    return json_int_at(end, "exitCode", -1) == code ? end : NULL;
}

/* An end that was told already. */
static yyjson_mut_val *told_end(struct maker *m, const char *name, const struct ended *ended)
{
    char id[ID_SIZE];
    yyjson_val *now = status_now(m, name);
    yyjson_val *end = if_code(json_at(now, "state.terminated"), ended->exit_code);
    yyjson_val *last = if_code(json_at(now, "lastState.terminated"), ended->exit_code);
    id_of(m, name, ended->generation, id);
    yyjson_mut_val *copy = copy_if_of(m, end, end, id);
    return copy != NULL ? copy : copy_if_of(m, last, last, id);
}

/* The end before this generation, as it was told to or by an earlier life. */
static yyjson_mut_val *end_before(struct maker *m, const struct start_view *view)
{
    char id[ID_SIZE];
    yyjson_val *last = json_at(status_now(m, view->name), "lastState.terminated");
    id_of(m, view->name, view->generation, id);
    bool is_other = last != NULL && !str_eq(json_str_at(last, "containerID"), id);
    return is_other ? yyjson_val_mut_copy(m->doc, last) : NULL;
}

static yyjson_mut_val *running(struct maker *m, const struct start_view *view)
{
    char id[ID_SIZE];
    yyjson_val *now = status_now(m, view->name);
    id_of(m, view->name, view->generation, id);
    yyjson_mut_val *told = copy_if_of(m, json_at(now, "state.running"), now, id);
    if (told != NULL)
        return told;
    yyjson_mut_val *made = yyjson_mut_obj(m->doc);
    json_mut_put(m->doc, made, "startedAt", time_of(m, view->started_at, false));
    return made;
}

static yyjson_mut_val *terminated(struct maker *m, const char *name, const struct ended *ended)
{
    yyjson_mut_val *told = told_end(m, name, ended);
    if (told != NULL)
        return told;
    yyjson_mut_val *t = yyjson_mut_obj(m->doc);
    json_mut_put(m->doc, t, "exitCode", yyjson_mut_sint(m->doc, ended->exit_code));
    if (ended->exit_code > 128 && ended->exit_code < 193)
        json_mut_put(m->doc, t, "signal", yyjson_mut_sint(m->doc, ended->exit_code - 128));
    put_text(m, t, "reason", ended_reason(ended->why, ended->exit_code));
    put_text(m, t, "message", ended->message);
    if (ended->started_at != 0)
        json_mut_put(m->doc, t, "startedAt", time_of(m, ended->started_at, false));
    json_mut_put(m->doc, t, "finishedAt", time_of(m, ended->ended_at, false));
    put_id(m, t, name, ended->generation);
    return t;
}

static struct ended own_end(const struct start_view *view, const char *message)
{
    return (struct ended){view->generation, view->exit_code, view->why,
                          view->started_at, view->ended_at,  message};
}

static void put_states(struct maker *m, yyjson_mut_val *status, const struct start_view *view,
                       const char *message)
{
    yyjson_mut_val *state = yyjson_mut_obj(m->doc), *last = yyjson_mut_obj(m->doc);
    bool waits = !container_has_process(view->state) || view->started_at == 0;
    if (container_is_over(view->state) && view->is_final && view->ended_at != 0) {
        struct ended end = own_end(view, message);
        json_mut_put(m->doc, state, "terminated", terminated(m, view->name, &end));
    } else if (waits) {
        yyjson_mut_val *waiting = yyjson_mut_obj(m->doc);
        char why[320];
        waiting_message(m->pod, view, message, why, sizeof(why));
        put_text(m, waiting, "reason", waiting_reason(view));
        put_text(m, waiting, "message", why[0] != '\0' ? why : message);
        json_mut_put(m->doc, state, "waiting", waiting);
    } else {
        json_mut_put(m->doc, state, "running", running(m, view));
    }
    if (container_is_over(view->state) && !view->is_final && view->ended_at != 0) {
        struct ended end = own_end(view, message);
        end.why = view->ended_why;
        json_mut_put(m->doc, last, "terminated", terminated(m, view->name, &end));
    } else if (view->last.generation != 0) {
        struct ended end = {view->last.generation, view->last.exit_code, view->last.why,
                            view->last.started_at, view->last.ended_at,  NULL};
        json_mut_put(m->doc, last, "terminated", terminated(m, view->name, &end));
    } else {
        json_mut_put(m->doc, last, "terminated", end_before(m, view)); /* NULL: there was none */
    }
    json_mut_put(m->doc, status, "state", state);
    json_mut_put(m->doc, status, "lastState", last);
}

/* How it came to its state, if an earlier life has seen as much of that or more. Where moves were
 * dropped, equal numbers mean nothing. */
static yyjson_val *told_life(const struct maker *m, const struct start_view *view)
{
    yyjson_val *life = json_at(status_now(m, view->name), "lifecycle");
    size_t seen = view->n_moves + (view->n_moves == START_MOVES_KEPT);
    bool same = json_int_at(life, "generation", 0) == view->generation &&
                str_eq(json_str_at(life, "state"), container_state_name(view->state)) &&
                yyjson_arr_size(json_at(life, "moves")) >= seen;
    return same ? life : NULL;
}

static yyjson_mut_val *moves_of(struct maker *m, const struct start_view *view)
{
    yyjson_mut_val *moves = yyjson_mut_arr(m->doc);
    for (size_t i = 0; i < view->n_moves; i++) {
        yyjson_mut_val *move = yyjson_mut_obj(m->doc);
        put_text(m, move, "state", container_state_name(view->moves[i].state));
        json_mut_put(m->doc, move, "at", time_of(m, view->moves[i].at, true));
        (void)yyjson_mut_arr_append(moves, move);
    }
    return moves;
}

static yyjson_mut_val *lifecycle(struct maker *m, const struct start_view *view, const char *said)
{
    yyjson_mut_val *life = yyjson_mut_obj(m->doc);
    yyjson_val *told = told_life(m, view);
    char why[320];
    put_text(m, life, "state", container_state_name(view->state));
    json_mut_put(m->doc, life, "since",
                 told != NULL ? yyjson_val_mut_copy(m->doc, json_at(told, "since"))
                              : time_of(m, view->since, true));
    json_mut_put(m->doc, life, "generation", yyjson_mut_uint(m->doc, view->generation));
    if (!container_has_process(view->state) && !container_is_over(view->state)) {
        waiting_message(m->pod, view, NULL, why, sizeof(why));
        put_text(m, life, "reason", waiting_reason(view));
        put_text(m, life, "message", why);
    } else {
        put_text(m, life, "message", said);
    }
    if (view->why == WHY_BACKOFF)
        json_mut_put(m->doc, life, "nextStart", time_of(m, view->again_at, false));
    json_mut_put(m->doc, life, "moves",
                 told != NULL ? yyjson_val_mut_copy(m->doc, json_at(told, "moves"))
                              : moves_of(m, view));
    return life;
}

/* What the program says of itself, or else, while it is not ready, what its last probe met. */
static const char *said_of(const struct rcontainer *container, const struct start_view *view)
{
    if (container->status != NULL)
        return container->status;
    return container_has_process(view->state) && !view->is_ready ? container->message : NULL;
}

static yyjson_mut_val *container_status(struct maker *m, uint32_t i)
{
    const struct rpod *pod = m->pod;
    const struct rcontainer *container = &pod->containers[i];
    struct start_view view;
    start_view(pod->engine, i, &view);
    yyjson_mut_val *status = yyjson_mut_obj(m->doc);
    put_text(m, status, "name", view.name);
    put_states(m, status, &view, container->message);
    json_mut_put(m->doc, status, "ready", yyjson_mut_bool(m->doc, view.is_ready));
    json_mut_put(m->doc, status, "started", yyjson_mut_bool(m->doc, view.is_started));
    json_mut_put(m->doc, status, "restartCount", yyjson_mut_uint(m->doc, view.restarts));
    const char *image = json_str_at(container->spec, "image");
    json_mut_put(m->doc, status, "image", yyjson_mut_strcpy(m->doc, image != NULL ? image : ""));
    json_mut_put(m->doc, status, "imageID", yyjson_mut_str(m->doc, ""));
    if (view.generation > 0)
        put_id(m, status, view.name, view.generation);
    json_mut_put(m->doc, status, "lifecycle", lifecycle(m, &view, said_of(container, &view)));
    return status;
}

/* A pod that is not in the engine: nothing of it has run, and something is missing. */
static yyjson_mut_val *held_status(struct maker *m, uint32_t i)
{
    const struct rcontainer *container = &m->pod->containers[i];
    yyjson_mut_val *status = yyjson_mut_obj(m->doc), *waiting = yyjson_mut_obj(m->doc);
    put_text(m, status, "name", json_str_at(container->spec, "name"));
    put_text(m, waiting, "reason", m->pod->held_reason);
    put_text(m, waiting, "message", m->pod->held_message);
    json_mut_set(m->doc, status, "state.waiting", waiting);
    json_mut_put(m->doc, status, "ready", yyjson_mut_bool(m->doc, false));
    json_mut_put(m->doc, status, "restartCount", yyjson_mut_uint(m->doc, 0));
    json_mut_put(m->doc, status, "image", yyjson_mut_str(m->doc, ""));
    json_mut_put(m->doc, status, "imageID", yyjson_mut_str(m->doc, ""));
    return status;
}

/* Refused, or stopped while something was missing: nothing of it has run or will. */
static bool is_failed_unrun(const struct rpod *pod)
{
    return pod->engine == NULL && (pod->is_refused || pod->is_over);
}

static void put_containers(struct maker *m, yyjson_mut_val *status)
{
    if (is_failed_unrun(m->pod)) { /* no state of a container says that; the pod's reason does */
        json_mut_put(m->doc, status, "initContainerStatuses", yyjson_mut_null(m->doc));
        json_mut_put(m->doc, status, "containerStatuses", yyjson_mut_null(m->doc));
        return;
    }
    yyjson_mut_val *inits = yyjson_mut_arr(m->doc), *mains = yyjson_mut_arr(m->doc);
    for (uint32_t i = 0; i < m->pod->n; i++) {
        yyjson_mut_val *one = m->pod->engine != NULL ? container_status(m, i) : held_status(m, i);
        (void)yyjson_mut_arr_append(m->pod->containers[i].is_init ? inits : mains, one);
    }
    if (yyjson_mut_arr_size(inits) > 0)
        json_mut_put(m->doc, status, "initContainerStatuses", inits);
    json_mut_put(m->doc, status, "containerStatuses", mains);
}

/* ---- conditions ---- */

/* As a condition reads, from left to right. NOLINTNEXTLINE(readability-function-size) */
static void put_condition(struct maker *m, yyjson_mut_val *list, const char *type, bool holds,
                          const char *reason, const char *message)
{
    yyjson_val *before = cell_condition(m->current->root, type);
    const char *status = holds ? "True" : "False";
    yyjson_mut_val *condition = yyjson_mut_obj(m->doc);
    put_text(m, condition, "type", type);
    put_text(m, condition, "status", status);
    if (!holds) {
        put_text(m, condition, "reason", reason);
        put_text(m, condition, "message", message);
    }
    const char *since = json_str_at(before, "lastTransitionTime");
    if (since != NULL && str_eq(json_str_at(before, "status"), status)) {
        put_text(m, condition, "lastTransitionTime", since);
    } else {
        time_ms now = control_steady(m->pod->runner->control);
        json_mut_put(m->doc, condition, "lastTransitionTime", time_of(m, now, false));
    }
    (void)yyjson_mut_arr_append(list, condition);
}

static bool gates_hold(const struct maker *m)
{
    size_t i, n;
    yyjson_val *gate;
    yyjson_arr_foreach(json_at(m->pod->obj->root, "spec.readinessGates"), i, n, gate)
    {
        const char *type = json_str_at(gate, "conditionType");
        if (cell_condition_as(m->current->root, type, "True") == NULL)
            return false;
    }
    return true;
}

/* One that ends before the others begin; not a sidecar. */
static bool is_init(const struct rcontainer *container)
{
    return container->is_init && !str_eq(json_str_at(container->spec, "restartPolicy"), "Always");
}

static void unready_names(const struct rpod *pod, struct str *out)
{
    for (uint32_t i = 0; i < pod->n; i++) {
        const struct rcontainer *container = &pod->containers[i];
        struct start_view view = {.name = json_str_at(container->spec, "name")};
        if (pod->engine != NULL)
            start_view(pod->engine, i, &view);
        if (!view.is_ready && !is_init(container))
            str_addf(out, "%s%s", out->len > 0 ? " " : "", view.name);
    }
}

static bool is_initialized(const struct rpod *pod)
{
    bool has_init = false;
    for (uint32_t i = 0; i < pod->n; i++)
        has_init |= pod->containers[i].is_init;
    return pod->engine != NULL ? start_pod_is_initialized(pod->engine) : !has_init;
}

static bool is_ours(const char *type)
{
    static const char *const OURS[] = {"Initialized", "ContainersReady", "Ready",
                                       "AllContainersRestarting"};
    for (size_t i = 0; i < ARRAY_LEN(OURS); i++) {
        if (str_eq(type, OURS[i]))
            return true;
    }
    return false;
}

static void put_conditions(struct maker *m, yyjson_mut_val *status)
{
    const struct start_pod *engine = m->pod->engine;
    yyjson_mut_val *list = yyjson_mut_arr(m->doc);
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(m->current->root, "status.conditions"), i, n, item)
    {
        if (!is_ours(json_str_at(item, "type")))
            (void)yyjson_mut_arr_append(list, yyjson_val_mut_copy(m->doc, item));
    }
    bool is_done = engine != NULL && start_pod_phase(engine) == PHASE_SUCCEEDED;
    bool is_ready =
        engine != NULL && !is_done && start_pod_is_ready(engine) && !start_pod_is_stopping(engine);
    scoped_str names = {0}, message = {0};
    unready_names(m->pod, &names);
    str_addf(&message, "containers with unready status: [%s]", str_text(&names));
    const char *why = is_done ? "PodCompleted" : "ContainersNotReady";
    const char *text = is_done ? "" : str_text(&message);
    put_condition(m, list, "Initialized", is_initialized(m->pod), "ContainersNotInitialized",
                  "init containers have not ended yet");
    put_condition(m, list, "ContainersReady", is_ready, why, text);
    bool gates = gates_hold(m);
    put_condition(m, list, "Ready", is_ready && gates, gates ? why : "ReadinessGatesNotReady",
                  gates ? text : "a readiness gate does not hold");
    json_mut_put(m->doc, status, "conditions", list);
}

/* ---- the pod ---- */

static const char *phase_of(const struct rpod *pod)
{
    static const char *const PHASES[] = {
        [PHASE_PENDING] = "Pending",
        [PHASE_RUNNING] = "Running",
        [PHASE_SUCCEEDED] = "Succeeded",
        [PHASE_FAILED] = "Failed",
    };
    if (pod->engine == NULL)
        return is_failed_unrun(pod) ? "Failed" : "Pending";
    return PHASES[start_pod_phase(pod->engine)];
}

static void put_reason(struct maker *m, yyjson_mut_val *status)
{
    const struct rpod *pod = m->pod;
    yyjson_mut_val *none = yyjson_mut_null(m->doc);
    json_mut_put(m->doc, status, "reason", none);
    json_mut_put(m->doc, status, "message", yyjson_mut_null(m->doc));
    if (pod->engine != NULL && start_pod_missed_deadline(pod->engine)) {
        put_text(m, status, "reason", "DeadlineExceeded");
        put_text(m, status, "message", "the pod was active longer than its deadline");
    } else if (pod->is_refused) {
        put_text(m, status, "reason", pod->held_reason);
        put_text(m, status, "message", pod->held_message);
    }
}

static void put_addresses(struct maker *m, yyjson_mut_val *status)
{
    const struct launch_node *node = &m->pod->runner->options.launch;
    static const struct {
        const char *one, *all;
    } KEYS[] = {{"hostIP", "hostIPs"}, {"podIP", "podIPs"}};
    const char *const addresses[] = {node->host_ip, node->pod_ip};
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++) {
        if (addresses[i] == NULL)
            continue;
        yyjson_mut_val *item = yyjson_mut_obj(m->doc), *list = yyjson_mut_arr(m->doc);
        put_text(m, status, KEYS[i].one, addresses[i]);
        put_text(m, item, "ip", addresses[i]);
        (void)yyjson_mut_arr_append(list, item);
        json_mut_put(m->doc, status, KEYS[i].all, list);
    }
}

void podstatus_make(const struct rpod *pod, const struct obj *current, yyjson_mut_doc *doc,
                    yyjson_mut_val *patch)
{
    struct maker m = {.pod = pod, .current = current, .doc = doc};
    yyjson_mut_val *status = yyjson_mut_obj(doc);
    put_text(&m, status, "phase", phase_of(pod));
    put_reason(&m, status);
    put_conditions(&m, status);
    put_addresses(&m, status);
    scoped_str started = {0};
    rfc3339_format(pod->started_at, &started);
    put_text(&m, status, "startTime", str_text(&started));
    put_containers(&m, status);
    json_mut_put(doc, patch, "status", status);
}
