// SPDX-License-Identifier: Apache-2.0
/* From a Pod object, which was validated, to what the start engine wants to know. */
#include "control/pods/companion.h"
#include "control/pods/runner_internal.h"
#include "model/podnotes.h"
#include <string.h>

#define SECOND_MS 1000

static yyjson_val *list_of(const struct obj *pod, bool init)
{
    return json_at(pod->root, init ? "spec.initContainers" : "spec.containers");
}

size_t podspec_count(const struct obj *pod)
{
    return yyjson_arr_size(list_of(pod, true)) + yyjson_arr_size(list_of(pod, false));
}

yyjson_val *podspec_container(const struct obj *pod, size_t i, bool *ret_is_init)
{
    size_t inits = yyjson_arr_size(list_of(pod, true));
    *ret_is_init = i < inits;
    return i < inits ? yyjson_arr_get(list_of(pod, true), i)
                     : yyjson_arr_get(list_of(pod, false), i - inits);
}

static enum start_policy policy_of(const char *word)
{
    if (str_eq(word, "Never"))
        return RESTART_NEVER;
    return str_eq(word, "OnFailure") ? RESTART_ON_FAILURE : RESTART_ALWAYS;
}

static void read_probe(yyjson_val *probe, struct probe_settings *out)
{
    if (probe == NULL)
        return;
    int64_t grace_s = json_int_at(probe, "terminationGracePeriodSeconds", -1);
    *out = (struct probe_settings){
        .is_set = true,
        .initial_delay_ms = json_int_at(probe, "initialDelaySeconds", 0) * SECOND_MS,
        .period_ms = json_int_at(probe, "periodSeconds", 10) * SECOND_MS,
        .timeout_ms = json_int_at(probe, "timeoutSeconds", 1) * SECOND_MS,
        .success_threshold = (int)json_int_at(probe, "successThreshold", 1),
        .failure_threshold = (int)json_int_at(probe, "failureThreshold", 3),
        .grace_ms = grace_s < 0 ? -1 : grace_s * SECOND_MS,
    };
}

static enum start_action action_of(const char *word)
{
    if (str_eq(word, "Restart"))
        return ACTION_RESTART;
    return str_eq(word, "Terminate") ? ACTION_TERMINATE : ACTION_RESTART_ALL;
}

static void read_rules(struct arena *arena, yyjson_val *list, struct start_container_spec *out)
{
    struct start_rule *rules = arena_alloc(arena, (yyjson_arr_size(list) + 1) * sizeof(*rules));
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        yyjson_val *values = json_at(item, "exitCodes.values");
        int *codes = arena_alloc(arena, (yyjson_arr_size(values) + 1) * sizeof(*codes));
        size_t k, m;
        yyjson_val *value;
        yyjson_arr_foreach(values, k, m, value)
        {
            codes[k] = (int)yyjson_get_sint(value);
        }
        rules[i] = (struct start_rule){.action = action_of(json_str_at(item, "action")),
                                       .is_not_in =
                                           str_eq(json_str_at(item, "exitCodes.operator"), "NotIn"),
                                       .codes = codes,
                                       .n_codes = yyjson_arr_size(values)};
    }
    out->rules = rules;
    out->n_rules = yyjson_arr_size(list);
}

static uint32_t index_of(const struct obj *pod, const char *name)
{
    size_t n = podspec_count(pod);
    for (size_t i = 0; i < n; i++) {
        bool is_init;
        if (str_eq(json_str_at(podspec_container(pod, i, &is_init), "name"), name))
            return (uint32_t)i;
    }
    return (uint32_t)n;
}

struct reading {
    struct arena *arena;
    const struct obj *pod;
    struct podnotes notes;
};

static void read_needs(struct reading *reading, yyjson_val *container,
                       struct start_container_spec *out)
{
    size_t n = 0;
    const struct podnotes_need *found = podnotes_needs(&reading->notes, container, &n);
    struct graph_edge *needs = arena_alloc(reading->arena, (n + 1) * sizeof(*needs));
    for (size_t i = 0; i < n; i++) {
        needs[i].on = index_of(reading->pod, found[i].name);
        needs[i].condition = found[i].condition;
    }
    out->needs = needs;
    out->n_needs = n;
}

void podspec_notify(const struct obj *pod, const char *container, bool *ret_wants,
                    time_ms *ret_watchdog_ms)
{
    const char *watchdog = yyjson_get_str(yyjson_obj_get(pod->meta.annotations, NOTE_WATCHDOG));
    time_ms ms = 0;
    *ret_wants = podnotes_notifies(pod->root, container);
    if (!*ret_wants || watchdog == NULL || duration_parse(sv_of(watchdog), &ms, NULL) < 0 || ms < 0)
        ms = 0;
    *ret_watchdog_ms = ms;
}

static time_ms start_timeout(yyjson_val *container)
{
    const char *own = json_str_at(container, "startTimeout");
    time_ms ms = START_TIMEOUT_USUAL;
    if (own != NULL)
        (void)duration_parse(sv_of(own), &ms, NULL); /* was validated */
    return ms;
}

static void read_container(struct reading *reading, size_t i, struct start_container_spec *out)
{
    const struct obj *pod = reading->pod;
    bool is_init;
    yyjson_val *container = podspec_container(pod, i, &is_init);
    const char *pod_policy = json_str_at(pod->root, "spec.restartPolicy");
    const char *own_policy = json_str_at(container, "restartPolicy");
    enum start_policy policy = policy_of(own_policy != NULL ? own_policy : pod_policy);
    bool is_sidecar = is_init && str_eq(own_policy, "Always");
    if (is_init && !is_sidecar && policy == RESTART_ALWAYS)
        policy = RESTART_ON_FAILURE; /* an init container that ended well is not run again */
    out->name = json_str_at(container, "name");
    out->role = is_sidecar ? START_SIDECAR : is_init ? START_INIT : START_MAIN;
    out->has_notify = podnotes_notifies(pod->root, out->name);
    out->has_pre_stop = json_at(container, "lifecycle.preStop") != NULL;
    out->policy = policy;
    out->start_timeout_ms = start_timeout(container);
    out->awaits_others = companion_is(container) && json_at(container, "startupProbe") != NULL;
    if (out->awaits_others && out->start_timeout_ms == START_TIMEOUT_USUAL)
        out->start_timeout_ms = 0; /* the barrier may take as long as the slowest member */
    read_rules(reading->arena, json_at(container, "restartPolicyRules"), out);
    read_needs(reading, container, out);
    read_probe(json_at(container, "startupProbe"), &out->probes[PROBE_STARTUP]);
    read_probe(json_at(container, "readinessProbe"), &out->probes[PROBE_READINESS]);
    read_probe(json_at(container, "livenessProbe"), &out->probes[PROBE_LIVENESS]);
}

void podspec_read(struct arena *arena, const struct obj *pod, bool all_notify,
                  struct start_pod_spec *ret_spec)
{
    size_t n = podspec_count(pod);
    struct start_container_spec *containers = arena_alloc(arena, n * sizeof(*containers));
    struct reading reading = {.arena = arena, .pod = pod};
    podnotes_open(&reading.notes, pod->root);
    for (size_t i = 0; i < n; i++) {
        read_container(&reading, i, &containers[i]);
        containers[i].has_notify |= all_notify;
    }
    podnotes_close(&reading.notes);
    *ret_spec = (struct start_pod_spec){
        .uid = pod->meta.uid,
        .priority = json_int_at(pod->root, "spec.priority", 0),
        .grace_ms = json_int_at(pod->root, "spec.terminationGracePeriodSeconds", 30) * SECOND_MS,
        .deadline_ms = json_int_at(pod->root, "spec.activeDeadlineSeconds", 0) * SECOND_MS,
        .containers = containers,
        .n_containers = n};
}
