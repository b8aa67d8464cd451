// SPDX-License-Identifier: Apache-2.0
/* Between engine and runtime: effects become calls, what happened becomes events of the engine.
 * Nothing is decided here. */
#include "control/pods/gang.h"
#include "control/pods/question.h"
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOOK_BIT (1ull << 63) /* tickets of preStop hooks; the engine counts from 1 */
#define PROBE_TOLD_MS 1000
#define USEC_PER_MS 1000
/* A portion is 64 starts or 1024 kills: a kill is but a message. */
#define PORTION_COST 1024
#define START_COST 16
#define KILL_COST 1

static struct runtime *runtime_of(struct runner *runner)
{
    return runner->options.runtime;
}

static time_ms now_of(struct runner *runner)
{
    return control_steady(runner->control);
}

static struct runtime_unit unit_of(const struct rpod *pod, uint32_t container, uint32_t generation)
{
    return (struct runtime_unit){pod->uid, json_str_at(pod->containers[container].spec, "name"),
                                 generation};
}

static void rpod_say(struct rpod *pod, uint32_t container, const char *message)
{
    char *copy = message != NULL && *message != '\0' ? mem_strdup(message) : NULL;
    mem_free(pod->containers[container].message);
    pod->containers[container].message = copy;
}

/* ---- effects ---- */

static void do_start(struct runner *runner, struct rpod *pod, const struct start_effect *fx)
{
    struct rcontainer *container = &pod->containers[fx->container];
    struct launch launch = {0};
    struct err err = {0};
    struct runtime_unit unit = unit_of(pod, fx->container, fx->generation);
    int r = launch_make(&runner->arena, control_world(runner->control)->cache, pod->obj,
                        container->spec, &runner->options.launch, &launch, &err);
    container->generation = fx->generation;
    container->has_ended = false;
    container->is_oom = false;
    container->pid = 0;
    container->watchdog_at = TIME_NEVER;
    rpod_say(pod, fx->container, NULL);
    podspec_notify(pod->obj, unit.container, &launch.wants_notify, &launch.watchdog_ms);
    if (r == 0)
        gang_env(pod, &runner->arena, &launch);
    container->watchdog_ms = launch.watchdog_ms;
    if (r < 0) {
        rpod_say(pod, fx->container, err.text);
        runner->stats.start_errors++;
        start_not_run(runner->engine, pod->engine, fx->container, fx->generation, now_of(runner));
        return;
    }
    runtime_of(runner)->ops->start(runtime_of(runner), &unit, &launch);
}

static void tell_to_end(struct runner *runner, struct rpod *pod, uint32_t container)
{
    struct runtime_unit unit = unit_of(pod, container, pod->containers[container].generation);
    const char *name = json_str_at(pod->containers[container].spec, "lifecycle.stopSignal");
    int signo = name != NULL ? question_signal(name) : SIGTERM;
    runtime_of(runner)->ops->signal(runtime_of(runner), &unit, signo > 0 ? signo : SIGTERM);
    runtime_of(runner)->ops->signal(runtime_of(runner), &unit, SIGCONT); /* it may be stopped */
}

static void do_term(struct runner *runner, struct rpod *pod, const struct start_effect *fx)
{
    yyjson_val *spec = pod->containers[fx->container].spec;
    yyjson_val *hook = json_at(spec, "lifecycle.preStop");
    struct runtime_question question = {0};
    if (hook == NULL || question_read(&runner->arena, pod->obj, spec, hook, &question) < 0) {
        tell_to_end(runner, pod, fx->container);
        return;
    }
    question.timeout_ms = question.type == ASK_SLEEP ? question.timeout_ms : fx->grace_ms;
    struct launch launch = {0};
    if (launch_make(&runner->arena, control_world(runner->control)->cache, pod->obj, spec,
                    &runner->options.launch, &launch, NULL) == 0)
        question.as = &launch;
    struct runtime_unit unit = unit_of(pod, fx->container, fx->generation);
    uint64_t ticket = HOOK_BIT | (uint64_t)fx->container << 32 | fx->generation;
    runtime_of(runner)->ops->ask(runtime_of(runner), &unit, &question, ticket);
}

static const char *const PROBE_FIELDS[] = {
    [PROBE_STARTUP] = "startupProbe",
    [PROBE_READINESS] = "readinessProbe",
    [PROBE_LIVENESS] = "livenessProbe",
};

static void do_probe(struct runner *runner, struct rpod *pod, const struct start_effect *fx)
{
    yyjson_val *spec = pod->containers[fx->container].spec;
    yyjson_val *probe = json_at(spec, PROBE_FIELDS[fx->probe]);
    struct runtime_question question = {0};
    struct launch launch = {0};
    runner->stats.probes++;
    int r = question_read(&runner->arena, pod->obj, spec, probe, &question);
    if (r == 0 && question.type == ASK_EXEC) {
        r = launch_make(&runner->arena, control_world(runner->control)->cache, pod->obj, spec,
                        &runner->options.launch, &launch, NULL);
        question.as = &launch;
    }
    if (r < 0) {
        start_answer(runner->engine, pod->engine, fx->ticket, false, now_of(runner));
        return;
    }
    question.timeout_ms = json_int_at(probe, "timeoutSeconds", 1) * 1000;
    struct runtime_unit unit = unit_of(pod, fx->container, fx->generation);
    runtime_of(runner)->ops->ask(runtime_of(runner), &unit, &question, fx->ticket);
}

static void do_weigh(struct runner *runner, struct rpod *pod)
{
    struct runtime_pod slice = rpod_slice(pod);
    runtime_of(runner)->ops->pod_weigh(runtime_of(runner), &slice);
}

/* People look for these in `kubectl describe`; every move is in the status and in the metrics. */
static void do_moved(struct runner *runner, struct rpod *pod, const struct start_effect *fx)
{
    struct start_view view;
    start_view(pod->engine, fx->container, &view);
    if (fx->to == CT_READY && fx->from == CT_STARTING && view.ready_at > view.started_at)
        control_event(runner->control, pod->obj, "Normal", "Started",
                      "Started container %s, ready after %lld ms", view.name,
                      (long long)(view.ready_at - view.started_at));
    if (fx->to != CT_FAILED || view.state != CT_FAILED)
        return;
    if (view.ended_why == WHY_TIMEOUT)
        control_event(runner->control, pod->obj, "Warning", "StartTimeout",
                      "Container %s was not ready in time and was ended", view.name);
    else if (view.ended_why == WHY_NOT_RUN)
        control_event(runner->control, pod->obj, "Warning", "Failed",
                      "Container %s could not be started: %s", view.name,
                      pod->containers[fx->container].message != NULL
                          ? pod->containers[fx->container].message
                          : "unknown reason");
    else if (view.ended_why == WHY_STARTUP_PROBE || view.ended_why == WHY_LIVENESS_PROBE)
        control_event(runner->control, pod->obj, "Warning", "Unhealthy",
                      "Container %s failed its %s probe and was ended", view.name,
                      view.ended_why == WHY_STARTUP_PROBE ? "startup" : "liveness");
    else if (view.ended_why == WHY_OOM)
        control_event(runner->control, pod->obj, "Warning", "OOMKilled",
                      "Container %s used more memory than its limit", view.name);
    else if (!view.is_final)
        control_event(runner->control, pod->obj, "Warning", "BackOff",
                      "Container %s ended with exit code %d; it starts again", view.name,
                      view.exit_code);
}

static void do_pod_over(struct runner *runner, struct rpod *pod)
{
    pod->is_over = true;
    gang_leave(pod);
    control_add(runner->control, pod->key);
}

static void act(struct runner *runner, const struct start_effect *fx)
{
    struct rpod *pod = start_pod_host(fx->pod);
    struct runtime *runtime = runtime_of(runner);
    struct runtime_unit unit = {0};
    switch (fx->type) {
    case FX_PREPARE:
        unit = unit_of(pod, fx->container, fx->generation);
        runtime->ops->prepare(runtime, &unit,
                              json_str_at(pod->containers[fx->container].spec, "image"));
        break;
    case FX_START:
        do_start(runner, pod, fx);
        break;
    case FX_TERM:
        do_term(runner, pod, fx);
        break;
    case FX_KILL:
        unit = unit_of(pod, fx->container, pod->containers[fx->container].generation);
        runtime->ops->kill(runtime, &unit);
        break;
    case FX_PROBE:
        do_probe(runner, pod, fx);
        break;
    case FX_MOVED:
        do_moved(runner, pod, fx);
        break;
    case FX_WEIGHT:
        do_weigh(runner, pod);
        break;
    case FX_READY:
    case FX_CHANGED:
        if (!gang_defers(pod))
            control_add(runner->control, pod->key);
        break;
    case FX_POD_DOWN:
        gang_on_down(pod);
        break;
    case FX_POD_OVER:
        do_pod_over(runner, pod);
        break;
    }
}

static void finish_shutdown(struct runner *runner)
{
    if (!runner->is_shutdown || runner->shutdown_done == NULL)
        return;
    struct start_stats stats = {0};
    start_stats(runner->engine, &stats);
    if (stats.states[CT_STARTING] + stats.states[CT_READY] > 0)
        return;
    void (*done)(void *arg) = take_ptr(runner->shutdown_done);
    done(runner->shutdown_arg);
}

static void arm_tick(struct runner *runner)
{
    time_ms at = start_deadline(runner->engine);
    if (at == runner->tick_at || at == TIME_NEVER)
        return;
    runner->tick_at = at;
    time_ms pause = at - now_of(runner);
    control_add_after(runner->control, KEY_TICK, pause > 0 ? pause : 0);
}

static int cost_of(enum start_effect_type type)
{
    return type == FX_START ? START_COST : type == FX_KILL ? KILL_COST : 0;
}

/* A group of thousands is started and ended in portions: who does it begins with the first of them
 * while the next are prepared, and nobody else waits for all of them. True: there is more, later.
 */
static bool act_portion(struct runner *runner)
{
    struct start_effect fx;
    if (runner->portion_at != now_of(runner))
        runner->portion_cost = 0;
    runner->portion_at = now_of(runner);
    while (runner->portion_cost < PORTION_COST) {
        if (!start_next(runner->engine, &fx))
            return false;
        runner->portion_cost += cost_of(fx.type);
        act(runner, &fx);
    }
    return true;
}

void act_pump(struct runner *runner)
{
    if (runner->control == NULL)
        return;
    /* What is due at once is part of what is left: a tick before the next portion would only find
     * it again, and on a clock that waits for all keys to be done never come to that portion. */
    if (act_portion(runner))
        control_add_after(runner->control, KEY_MORE, 1);
    else
        arm_tick(runner);
    bool wants = start_wants_samples(runner->engine);
    if (runner->options.on_samples != NULL && wants != runner->was_sampling)
        runner->options.on_samples(runner->options.arg, wants);
    runner->was_sampling = wants;
    finish_shutdown(runner);
}

/* ---- watchdogs ---- */

/* Keys "!INDEX/UID": this container must have said WATCHDOG=1 by now. */
static void watchdog_key(const struct rpod *pod, uint32_t i, char *out, size_t size)
{
    (void)snprintf(out, size, "!%u/%s", i, pod->uid);
}

static void act_watchdog_arm(struct runner *runner, struct rpod *pod, uint32_t i)
{
    struct rcontainer *container = &pod->containers[i];
    if (container->watchdog_ms == 0)
        return;
    char key[128];
    watchdog_key(pod, i, key, sizeof(key));
    container->watchdog_at = now_of(runner) + container->watchdog_ms;
    control_add_after(runner->control, key, container->watchdog_ms);
}

void act_watchdog(struct runner *runner, const char *key)
{
    const char *slash = strchr(key, '/');
    uint32_t i = (uint32_t)strtoul(key + 1, NULL, 10);
    struct rpod *pod = slash != NULL ? map_get(runner->by_uid, slash + 1) : NULL;
    if (pod == NULL || pod->engine == NULL || pod->containers[i].watchdog_at == TIME_NEVER)
        return;
    time_ms left = pod->containers[i].watchdog_at - now_of(runner);
    if (left > 0) {
        control_add_after(runner->control, key, left);
        return;
    }
    struct start_view view;
    start_view(pod->engine, i, &view);
    if (view.state == CT_STARTING) { /* counts from when it is ready: the start has a time-out */
        act_watchdog_arm(runner, pod, i);
        return;
    }
    rpod_say(pod, i, "the watchdog was not fed in time");
    pod->containers[i].watchdog_at = TIME_NEVER;
    start_unhealthy(runner->engine, pod->engine, i, now_of(runner));
    act_pump(runner);
}

/* ---- what happened ---- */

static bool find_container(const struct rpod *pod, const char *name, uint32_t *ret_index)
{
    for (uint32_t i = 0; i < pod->n; i++) {
        if (strcmp(json_str_at(pod->containers[i].spec, "name"), name) == 0) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

static void on_ended(struct runner *runner, struct rpod *pod, uint32_t i,
                     const struct runtime_event *event)
{
    struct rcontainer *container = &pod->containers[i];
    if (container->generation == event->unit.generation) {
        container->has_ended = true;
        container->watchdog_at = TIME_NEVER;
        container->is_oom = event->is_oom;
        struct start_view view;
        start_view(pod->engine, i, &view);
        if (!view.is_ending || event->text != NULL)
            rpod_say(pod, i, event->text); /* a probe is no reason unless it was ended for it */
    }
    struct start_exit end = {event->unit.generation, event->exit_code, event->is_oom};
    start_ended(runner->engine, pod->engine, i, &end, now_of(runner));
}

static void on_answer(struct runner *runner, struct rpod *pod, uint32_t i,
                      const struct runtime_event *event)
{
    if (event->ticket & HOOK_BIT) {
        if (!event->is_ok)
            control_event(runner->control, pod->obj, "Warning", "FailedPreStopHook", "%s: %s",
                          event->unit.container, event->text != NULL ? event->text : "failed");
        if (pod->containers[i].generation == (uint32_t)event->ticket)
            tell_to_end(runner, pod, i);
        return;
    }
    if (!event->is_ok) {
        runner->stats.probe_failures++;
        /* A first failure is usual while a container starts; only if it lasts it is worth a write.
         */
        if (pod->containers[i].message == NULL)
            control_add_after(runner->control, pod->key, PROBE_TOLD_MS);
        rpod_say(pod, i, event->text);
    }
    start_answer(runner->engine, pod->engine, event->ticket, event->is_ok, now_of(runner));
}

/* sd_notify's words. MAINPID and the like are somebody else's business. */
static void on_notify(struct runner *runner, struct rpod *pod, uint32_t i, const char *text)
{
    time_ms now = now_of(runner);
    struct rcontainer *container = &pod->containers[i];
    if (strcmp(text, "READY=1") == 0) {
        start_notified_ready(runner->engine, pod->engine, i, now);
    } else if (str_starts(text, "STATUS=")) {
        mem_free(container->status);
        container->status = mem_strdup(text + strlen("STATUS="));
        control_add(runner->control, pod->key);
    } else if (str_starts(text, "EXTEND_TIMEOUT_USEC=")) {
        long long usec = strtoll(text + strlen("EXTEND_TIMEOUT_USEC="), NULL, 10);
        if (usec > 0)
            start_extend_timeout(runner->engine, pod->engine, i, usec / USEC_PER_MS, now);
    } else if (strcmp(text, "WATCHDOG=trigger") == 0) {
        start_unhealthy(runner->engine, pod->engine, i, now);
    } else if (strcmp(text, "WATCHDOG=1") == 0 && container->watchdog_ms > 0) {
        container->watchdog_at = now + container->watchdog_ms;
    }
}

static void on_unit_event(struct runner *runner, struct rpod *pod, uint32_t i,
                          const struct runtime_event *event)
{
    time_ms now = now_of(runner);
    switch (event->type) {
    case RT_PREPARED:
        rpod_say(pod, i, event->text);
        start_prepared(runner->engine, pod->engine, i, event->text, now);
        break;
    case RT_RUNNING:
        if (pod->containers[i].generation == event->unit.generation) {
            pod->containers[i].pid = event->pid;
            act_watchdog_arm(runner, pod, i);
        }
        start_running(runner->engine, pod->engine, i, event->unit.generation, now);
        break;
    case RT_NOT_RUN:
        rpod_say(pod, i, event->text);
        runner->stats.start_errors++;
        start_not_run(runner->engine, pod->engine, i, event->unit.generation, now);
        break;
    case RT_ENDED:
        on_ended(runner, pod, i, event);
        break;
    case RT_ANSWER:
        on_answer(runner, pod, i, event);
        break;
    case RT_NOTIFY:
        on_notify(runner, pod, i, event->text);
        break;
    case RT_FOUND:
    case RT_FOUND_ALL:
    case RT_POD_REMOVED:
        break;
    }
}

void act_on_event(void *arg, const struct runtime_event *event)
{
    struct runner *runner = arg;
    if (runner->control == NULL)
        return;
    arena_reset(&runner->arena);
    struct rpod *pod = event->unit.uid != NULL ? map_get(runner->by_uid, event->unit.uid) : NULL;
    uint32_t i = 0;
    if (event->type == RT_FOUND) {
        podadopt_add(runner, event);
    } else if (event->type == RT_FOUND_ALL) {
        podadopt_all(runner);
    } else if (event->type == RT_POD_REMOVED && pod != NULL) {
        pod->stage = RPOD_REMOVED;
        control_add(runner->control, pod->key);
    } else if (event->type == RT_ENDED && (pod == NULL || pod->engine == NULL)) {
        podadopt_ended(runner, event);
    } else if (event->type == RT_NOTIFY && (pod == NULL || pod->engine == NULL)) {
        if (str_eq(event->text, "READY=1"))
            podadopt_ready(runner, &event->unit);
    } else if (pod != NULL && pod->engine != NULL &&
               find_container(pod, event->unit.container, &i)) {
        on_unit_event(runner, pod, i, event);
    }
    act_pump(runner);
    control_wake(runner->control);
}
