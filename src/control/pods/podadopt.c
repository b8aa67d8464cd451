// SPDX-License-Identifier: Apache-2.0
/* A supervisor that comes back. What runs, and what has ended unseen, is known to the runtime; how
 * far each container had come is in the pod's status, which was durable. From both, the engine
 * goes on as if nothing had been. A container that the status calls running but the runtime does
 * not know (the machine went down) has ended without anybody seeing how. */
#include "control/pods/runner_internal.h"
#include <string.h>

#define EXIT_LOST 255

void podadopt_add(struct runner *runner, const struct runtime_event *event)
{
    vec_push(&runner->found, ((struct unit_found){.uid = mem_strdup(event->unit.uid),
                                                  .container = mem_strdup(event->unit.container),
                                                  .generation = event->unit.generation,
                                                  .has_ended = event->has_ended,
                                                  .exit_code = event->exit_code,
                                                  .is_oom = event->is_oom,
                                                  .at = event->at}));
}

void podadopt_done(struct runner *runner)
{
    for (size_t i = 0; i < runner->found.len; i++) {
        mem_free(runner->found.items[i].uid);
        mem_free(runner->found.items[i].container);
    }
    vec_done(&runner->found);
}

static void drop(struct runner *runner, size_t i)
{
    mem_free(runner->found.items[i].uid);
    mem_free(runner->found.items[i].container);
    vec_remove_swap(&runner->found, i);
}

static struct unit_found *find(const struct runner *runner, const char *uid, const char *container)
{
    struct unit_found *best = NULL;
    for (size_t i = 0; i < runner->found.len; i++) {
        struct unit_found *unit = &runner->found.items[i];
        if (strcmp(unit->uid, uid) == 0 && strcmp(unit->container, container) == 0 &&
            (best == NULL || unit->generation > best->generation))
            best = unit;
    }
    return best;
}

static yyjson_val *status_of(const struct obj *pod, bool is_init, const char *name)
{
    const char *list = is_init ? "status.initContainerStatuses" : "status.containerStatuses";
    return json_find(json_at(pod->root, list), "name", name);
}

static bool is_ours(const struct runner *runner, const struct obj *pod)
{
    return pod != NULL && pod->kind == &KIND_POD &&
           str_eq(json_str_at(pod->root, "spec.nodeName"), runner->options.node);
}

static bool is_known(void *arg, const char *uid)
{
    struct runner *runner = arg;
    return is_ours(runner, cache_by_uid(control_world(runner->control)->cache, uid));
}

static void end_unit(struct runner *runner, const struct unit_found *found)
{
    struct runtime *runtime = runner->options.runtime;
    struct runtime_unit unit = {found->uid, found->container, found->generation};
    if (!found->has_ended)
        runtime->ops->kill(runtime, &unit);
    runtime->ops->forget(runtime, &unit);
}

void podadopt_tidy(struct runner *runner, const char *uid)
{
    bool any = false;
    for (size_t i = runner->found.len; i-- > 0;) {
        if (strcmp(runner->found.items[i].uid, uid) != 0)
            continue;
        end_unit(runner, &runner->found.items[i]);
        drop(runner, i);
        any = true;
    }
    if (any)
        runner->options.runtime->ops->pod_remove(runner->options.runtime, uid);
}

/* Processes without a pod: it was deleted by force, or its name and UID were another node's. */
void podadopt_strays(struct runner *runner)
{
    for (size_t i = 0; i < runner->found.len;) {
        const char *uid = runner->found.items[i].uid;
        if (is_known(runner, uid) || map_get(runner->by_uid, uid) != NULL) {
            i++;
            continue;
        }
        scoped_free char *gone = mem_strdup(uid);
        podadopt_tidy(runner, gone);
        i = 0;
    }
}

bool podadopt_is_begun(const struct runner *runner, const struct rpod *pod)
{
    for (size_t i = 0; i < runner->found.len; i++) {
        if (strcmp(runner->found.items[i].uid, pod->uid) == 0)
            return true;
    }
    for (size_t i = 0; i < pod->n; i++) {
        const struct rcontainer *container = &pod->containers[i];
        yyjson_val *status =
            status_of(pod->obj, container->is_init, json_str_at(container->spec, "name"));
        if (json_int_at(status, "lifecycle.generation", 0) > 0)
            return true;
    }
    return false;
}

static struct unit_found *find_exactly(const struct runner *runner, const struct runtime_unit *unit)
{
    struct unit_found *found = find(runner, unit->uid, unit->container);
    return found != NULL && found->generation == unit->generation ? found : NULL;
}

void podadopt_ready(struct runner *runner, const struct runtime_unit *unit)
{
    struct unit_found *found = find_exactly(runner, unit);
    if (found != NULL)
        found->is_ready = true;
}

void podadopt_ended(struct runner *runner, const struct runtime_event *event)
{
    for (size_t i = 0; i < runner->found.len; i++) {
        struct unit_found *found = &runner->found.items[i];
        if (strcmp(found->uid, event->unit.uid) == 0 &&
            strcmp(found->container, event->unit.container) == 0 &&
            found->generation == event->unit.generation) {
            found->has_ended = true;
            found->exit_code = event->exit_code;
            found->is_oom = event->is_oom;
            found->at = event->at;
        }
    }
}

void podadopt_all(struct runner *runner)
{
    struct cache *cache = control_world(runner->control)->cache;
    runner->has_found_all = true;
    podadopt_strays(runner);
    runner->options.runtime->ops->sweep(runner->options.runtime, is_known, runner);
    for (struct obj *pod = cache_first(cache, &KIND_POD, NULL); pod != NULL;
         pod = cache_after(cache, &KIND_POD, NULL, pod)) {
        if (!is_ours(runner, pod))
            continue;
        scoped_free char *key = mem_printf("%s/%s", obj_namespace(pod), pod->meta.name);
        control_add(runner->control, key);
    }
}

/* Wall time of an object as the engine's time. */
static time_ms time_at(const struct runner *runner, yyjson_val *status, const char *path,
                       time_ms otherwise)
{
    time_ms wall = 0;
    const char *text = json_str_at(status, path);
    if (text == NULL || rfc3339_parse(sv_of(text), &wall, NULL) < 0)
        return otherwise;
    return wall - runner->wall_offset;
}

static void from_status(const struct runner *runner, yyjson_val *status, time_ms now,
                        struct start_adopted *out)
{
    uint32_t generation = (uint32_t)json_int_at(status, "lifecycle.generation", 0);
    const char *state = json_str_at(status, "lifecycle.state");
    out->is_known = generation > 0;
    out->generation = generation;
    out->restarts = (uint32_t)json_int_at(status, "restartCount", 0);
    out->was_started = yyjson_is_true(json_at(status, "started"));
    out->was_ready = yyjson_is_true(json_at(status, "ready"));
    out->started_at = time_at(runner, status, "state.running.startedAt", now);
    out->ended_at = now;
    out->exit_code = EXIT_LOST;
    yyjson_val *end = json_at(status, "state.terminated");
    bool has_process = str_eq(state, "ready") || str_eq(state, "starting");
    if (end == NULL && !has_process)
        end = json_at(status, "lastState.terminated");
    out->waits_again = generation > 0 && !has_process && json_at(status, "state.waiting") != NULL;
    out->is_restarting_all =
        str_eq(json_str_at(status, "state.waiting.reason"), "RestartingAllContainers");
    out->is_exit_handled = out->waits_again || json_at(status, "state.terminated") != NULL;
    out->is_lost = end == NULL && has_process;
    if (end == NULL)
        return;
    out->exit_code = (int)json_int_at(end, "exitCode", EXIT_LOST);
    out->started_at = time_at(runner, end, "startedAt", now);
    out->ended_at = time_at(runner, end, "finishedAt", now);
}

static void from_runtime(const struct runner *runner, const struct unit_found *found, time_ms now,
                         struct start_adopted *out)
{
    bool is_newer = found->generation > out->generation;
    time_ms at = found->at != 0 ? found->at - runner->wall_offset : now;
    out->is_known = true;
    out->is_lost = false;
    if (is_newer) {
        out->restarts = found->generation - 1;
        out->was_started = out->was_ready = false;
    }
    if (is_newer || !found->has_ended)
        out->is_exit_handled = out->waits_again = out->is_restarting_all = false;
    out->generation = found->generation;
    out->is_running = !found->has_ended;
    if (found->has_ended) {
        out->exit_code = found->exit_code;
        out->ended_at = at;
    } else {
        out->started_at = at;
    }
}

/* The oldest generation that the runtime has kept. */
static uint32_t first_kept(const struct runner *runner, const char *uid, const char *container)
{
    uint32_t first = UINT32_MAX;
    for (size_t i = 0; i < runner->found.len; i++) {
        const struct unit_found *unit = &runner->found.items[i];
        if (unit->generation < first && strcmp(unit->uid, uid) == 0 &&
            strcmp(unit->container, container) == 0)
            first = unit->generation;
    }
    return first;
}

/* The engine knows them now. */
static void take_over(struct runner *runner, const char *uid)
{
    for (size_t i = runner->found.len; i-- > 0;) {
        if (strcmp(runner->found.items[i].uid, uid) == 0)
            drop(runner, i);
    }
}

void podadopt_pod(struct runner *runner, struct rpod *pod, const struct start_pod_spec *spec)
{
    time_ms now = control_steady(runner->control);
    struct start_adopted *adopted = arena_alloc(&runner->arena, pod->n * sizeof(*adopted));
    bool *has_said = arena_alloc(&runner->arena, pod->n * sizeof(*has_said));
    bool any = false, was_running = str_eq(json_str_at(pod->obj->root, "status.phase"), "Running");
    for (size_t i = 0; i < pod->n; i++) {
        struct rcontainer *container = &pod->containers[i];
        const char *name = json_str_at(container->spec, "name");
        from_status(runner, status_of(pod->obj, container->is_init, name), now, &adopted[i]);
        const struct unit_found *found = find(runner, pod->uid, name);
        container->forgotten = first_kept(runner, pod->uid, name) - 1;
        if (found != NULL && found->generation >= adopted[i].generation) {
            from_runtime(runner, found, now, &adopted[i]);
            container->is_oom = found->is_oom;
            has_said[i] = found->is_ready && !found->has_ended;
        }
        container->generation = adopted[i].generation;
        if (container->forgotten > container->generation)
            container->forgotten = container->generation;
        adopted[i].has_run = was_running && adopted[i].is_known;
        any |= adopted[i].is_known;
    }
    take_over(runner, pod->uid);
    pod->engine = any ? start_pod_adopt(runner->engine, spec, adopted, now)
                      : start_pod_add(runner->engine, spec, now);
    for (uint32_t i = 0; i < pod->n; i++) {
        if (has_said[i])
            start_notified_ready(runner->engine, pod->engine, i, now);
    }
}
