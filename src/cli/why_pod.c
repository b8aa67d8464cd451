// SPDX-License-Identifier: Apache-2.0
/* A pod: the first thing on its way that did not happen yet is the answer. It is created, placed on
 * a node, taken by it, its containers become ready, in this order; each step below either explains
 * or passes on. Among containers those come first that wait for no other one: they are the causes.
 */
#include "cli/why.h"
#include "model/cell.h"

#define CONTAINERS_NAMED 10

struct pod_case {
    struct why *why;
    const struct podview *view;
    const char *label; /* "pod/web" */
    yyjson_mut_val *answer;
};

/* ---- deleted ---- */

static bool explain_deletion(struct pod_case *c)
{
    scoped_str names = {0};
    if (!why_deletion(c->why, c->view->pod, c->label, c->answer))
        return false;
    for (size_t i = 0; i < c->view->list.len; i++) {
        const struct podview_one *one = &c->view->list.items[i];
        if (json_at(one->status, "state.running") != NULL)
            str_addf(&names, "%s%s", names.len > 0 ? ", " : "", one->name);
    }
    if (names.len > 0)
        why_say(c->why, why_detail(c->why, c->answer), "these containers still run: %s",
                str_text(&names));
    return true;
}

/* ---- over ---- */

static void help_refused(struct pod_case *c, const char *message)
{
    if (message != NULL && strstr(message, ".image:") != NULL)
        why_help(c->why, c->answer,
                 "leave the image out, annotate the pod with muster.dev/runtime: process, or set "
                 "images: Ignore in a NodeConfig");
    why_help(c->why, c->answer,
             "muster events --for %s says more; a changed pod has to be created "
             "anew",
             c->label);
}

static bool has_failed(const struct podview_one *one)
{
    yyjson_val *end = json_at(one->status, "state.terminated");
    return end != NULL && json_int_at(end, "exitCode", 0) != 0;
}

static void add_failed(struct pod_case *c, uint32_t i)
{
    const struct podview_one *one = &c->view->list.items[i];
    yyjson_val *end = json_at(one->status, "state.terminated");
    yyjson_mut_val *detail = why_detail(c->why, c->answer);
    scoped_str text = {0};
    str_addf(&text, "%s ", one->name);
    why_end(end, &text);
    why_text(c->why, detail, &text);
    why_put(c->why, detail, "container", one->name);
    why_put(c->why, detail, "reason", json_str_at(end, "reason"));
    why_container_more(c->why, c->view, i, detail);
}

/* The first container that failed says it for all, unless the pod has a reason of its own. */
static void explain_failure(struct pod_case *c)
{
    const char *reason = json_str_at(c->view->pod, "status.reason");
    const char *message = json_str_at(c->view->pod, "status.message");
    const struct podview_one *first = NULL;
    scoped_str text = {0};
    str_addf(&text, "%s has failed", c->label);
    if (reason != NULL || message != NULL)
        str_addf(&text, ": %s%s%s", reason != NULL ? reason : "",
                 reason != NULL && message != NULL ? ": " : "", message != NULL ? message : "");
    for (uint32_t i = 0; i < c->view->list.len; i++) {
        const struct podview_one *one = &c->view->list.items[i];
        if (!has_failed(one))
            continue;
        if (first != NULL || reason != NULL || message != NULL) {
            add_failed(c, i);
            continue;
        }
        first = one;
        str_addf(&text, ": %s ", one->name);
        why_end(json_at(one->status, "state.terminated"), &text);
        why_put(c->why, c->answer, "container", one->name);
        why_container_more(c->why, c->view, i, c->answer);
    }
    why_text(c->why, c->answer, &text);
    why_put(c->why, c->answer, "reason", reason);
    if (str_eq(reason, "Unsupported"))
        help_refused(c, message);
}

static bool explain_end(struct pod_case *c)
{
    const char *phase = json_str_at(c->view->pod, "status.phase");
    if (str_eq(phase, "Succeeded"))
        why_say(c->why, c->answer, "%s is done: all its containers ended well", c->label);
    else if (str_eq(phase, "Failed"))
        explain_failure(c);
    else
        return false;
    return true;
}

/* ---- not on a node ---- */

static void explain_gates(struct pod_case *c, yyjson_val *gates)
{
    scoped_str names = {0};
    size_t i, n;
    yyjson_val *gate;
    yyjson_arr_foreach(gates, i, n, gate)
    {
        const char *name = json_str_at(gate, "name");
        str_addf(&names, "%s%s", i > 0 ? ", " : "", name != NULL ? name : "");
    }
    why_say(c->why, c->answer, "%s is not placed on a node: it has scheduling gates: %s", c->label,
            str_text(&names));
    why_put(c->why, c->answer, "reason", "SchedulingGated");
    why_help(c->why, c->answer,
             "it goes on when whoever set them has removed all of "
             "spec.schedulingGates");
}

static void help_unschedulable(struct pod_case *c, const char *message)
{
    if (message != NULL && str_starts(message, "0/0 "))
        why_help(c->why, c->answer,
                 "there was no node; muster up without --no-node makes this machine one");
    else if (message != NULL && strstr(message, "Insufficient") != NULL)
        why_help(c->why, c->answer,
                 "lower resources.requests of its containers, or make room: muster top nodes, "
                 "muster get pods -A -o wide");
    else if (message != NULL && strstr(message, "Too many pods") != NULL)
        why_help(c->why, c->answer, "delete pods that are not needed, or add a node");
    else
        why_help(c->why, c->answer,
                 "compare nodeSelector, affinity and tolerations of the pod with the labels and "
                 "taints of the nodes: muster describe nodes");
}

static bool explain_unbound(struct pod_case *c)
{
    yyjson_val *pod = c->view->pod, *gates = json_at(pod, "spec.schedulingGates");
    const char *node = json_str_at(pod, "spec.nodeName");
    const char *scheduler = json_str_at(pod, "spec.schedulerName");
    yyjson_val *condition = cell_condition(pod, "PodScheduled");
    const char *message = json_str_at(condition, "message");
    if (node != NULL && *node != '\0')
        return false;
    if (yyjson_arr_size(gates) > 0) {
        explain_gates(c, gates);
    } else if (message != NULL) {
        why_say(c->why, c->answer, "%s is not placed on a node: %s", c->label, message);
        why_put(c->why, c->answer, "reason", json_str_at(condition, "reason"));
        help_unschedulable(c, message);
    } else {
        why_say(c->why, c->answer, "%s is not placed on a node: %s has not looked at it yet",
                c->label, scheduler != NULL ? scheduler : "the scheduler");
        if (scheduler != NULL && !str_eq(scheduler, "default-scheduler"))
            why_help(c->why, c->answer,
                     "is there a scheduler of that name? It is "
                     "spec.schedulerName of the pod");
    }
    return true;
}

/* ---- not taken by its node ---- */

static bool explain_untaken(struct pod_case *c)
{
    const char *node = json_str_at(c->view->pod, "spec.nodeName");
    scoped_str url = {0};
    if (json_at(c->view->pod, "status.containerStatuses") != NULL || node == NULL)
        return false;
    target_object(&KIND_NODE, NULL, node, &url);
    scoped_json *doc = why_ask(c->why, str_text(&url));
    yyjson_val *ready = cell_condition(yyjson_doc_get_root(doc), "Ready");
    why_say(c->why, c->answer, "%s is placed on node %s, which has not taken it yet", c->label,
            node);
    yyjson_mut_val *detail = why_detail(c->why, c->answer);
    const char *message = json_str_at(ready, "message");
    if (doc == NULL)
        why_say(c->why, detail, "nothing is known of node %s", node);
    else if (str_eq(json_str_at(ready, "status"), "True"))
        why_say(c->why, detail, "node %s is ready: it should not take long", node);
    else
        why_say(c->why, detail, "node %s is not ready%s%s", node, message != NULL ? ": " : "",
                message != NULL ? message : "");
    return true;
}

/* ---- held ---- */

static bool explain_held(struct pod_case *c)
{
    const struct podview_one *one = c->view->list.len > 0 ? &c->view->list.items[0] : NULL;
    const char *reason = one != NULL ? json_str_at(one->status, "state.waiting.reason") : NULL;
    const char *message = one != NULL ? json_str_at(one->status, "state.waiting.message") : NULL;
    if (one == NULL || one->life != NULL || reason == NULL)
        return false;
    why_say(c->why, c->answer, "%s is held back: %s%s%s", c->label, reason,
            message != NULL ? ": " : "", message != NULL ? message : "");
    why_put(c->why, c->answer, "reason", reason);
    if (str_eq(reason, "CreateContainerConfigError"))
        why_help(c->why, c->answer,
                 "create what is missing, or mark it as optional; the pod goes "
                 "on by itself");
    return true;
}

/* ---- containers ---- */

static bool is_cause(const struct podview *view, uint32_t i)
{
    const struct podview_one *one = &view->list.items[i];
    if (podview_is_done(one))
        return false;
    return one->state != CT_BLOCKED || podview_unmet(view, i) == NULL;
}

/* How many containers wait for this one in the end. */
static size_t count_behind(const struct podview *view, uint32_t cause)
{
    size_t behind = 0;
    for (uint32_t i = 0; i < view->list.len; i++) {
        scoped_str chain = {0};
        if (view->list.items[i].state == CT_BLOCKED && !podview_is_done(&view->list.items[i]))
            behind += i != cause && why_chain(view, i, &chain) == cause;
    }
    return behind;
}

static void add_container(struct pod_case *c, uint32_t i)
{
    const struct podview_one *one = &c->view->list.items[i];
    yyjson_mut_val *detail = why_detail(c->why, c->answer);
    scoped_str text = {0};
    const char *reason = json_str_at(one->life, "reason");
    str_addf(&text, "%s ", one->name);
    why_container(c->why, c->view, i, &text);
    why_text(c->why, detail, &text);
    why_put(c->why, detail, "container", one->name);
    why_put(c->why, detail, "state", json_str_at(one->life, "state"));
    why_put(c->why, detail, "reason",
            reason != NULL ? reason : json_str_at(one->status, "state.waiting.reason"));
    why_container_more(c->why, c->view, i, detail);
}

static size_t add_containers(struct pod_case *c, bool are_causes)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->view->list.len; i++) {
        bool is_wanted =
            !podview_is_done(&c->view->list.items[i]) && is_cause(c->view, i) == are_causes;
        if (is_wanted && ++n <= CONTAINERS_NAMED)
            add_container(c, i);
    }
    if (n > CONTAINERS_NAMED)
        why_say(c->why, why_detail(c->why, c->answer), "and %zu more that %s", n - CONTAINERS_NAMED,
                are_causes ? "are not ready" : "wait for others");
    return n;
}

/* "db is starting since 12s; 2 containers wait for it; 1 more is not ready" */
static void say_containers(struct pod_case *c, uint32_t cause, size_t n_causes)
{
    scoped_str text = {0};
    size_t behind = count_behind(c->view, cause);
    str_addf(&text, "%s is not ready: %s ", c->label, c->view->list.items[cause].name);
    why_container(c->why, c->view, cause, &text);
    if (behind > 0)
        str_addf(&text, "; %zu container%s for it", behind, behind == 1 ? " waits" : "s wait");
    if (n_causes > 1)
        str_addf(&text, "; %zu more %s not ready", n_causes - 1, n_causes == 2 ? "is" : "are");
    why_text(c->why, c->answer, &text);
}

static bool explain_containers(struct pod_case *c)
{
    uint32_t first = PODVIEW_NONE, any = PODVIEW_NONE;
    for (uint32_t i = (uint32_t)c->view->list.len; i-- > 0;) {
        first = is_cause(c->view, i) ? i : first;
        any = !podview_is_done(&c->view->list.items[i]) ? i : any;
    }
    if (any == PODVIEW_NONE)
        return false;
    size_t n_causes = add_containers(c, true);
    (void)add_containers(c, false);
    say_containers(c, first != PODVIEW_NONE ? first : any, n_causes);
    return true;
}

/* ---- conditions of others ---- */

static bool explain_readiness_gates(struct pod_case *c)
{
    scoped_str names = {0};
    size_t i, n;
    yyjson_val *gate;
    yyjson_arr_foreach(json_at(c->view->pod, "spec.readinessGates"), i, n, gate)
    {
        const char *type = json_str_at(gate, "conditionType");
        if (type != NULL && !why_is_true(c->view->pod, type))
            str_addf(&names, "%s%s", names.len > 0 ? ", " : "", type);
    }
    if (names.len == 0)
        return false;
    why_say(c->why, c->answer,
            "%s is not ready: its containers are, its readiness gates are not: "
            "%s",
            c->label, str_text(&names));
    why_help(c->why, c->answer, "whoever is in charge of these conditions has to set them to True");
    return true;
}

static bool explain_well(struct pod_case *c)
{
    size_t n = c->view->list.len;
    scoped_str age = {0};
    yyjson_val *ready = cell_condition(c->view->pod, "Ready");
    why_age(c->why, cell_time(ready, "lastTransitionTime"), &age);
    if (!str_eq(json_str_at(ready, "status"), "True"))
        why_say(c->why, c->answer, "%s is about to be ready: all its containers are", c->label);
    else if (n == 1)
        why_say(c->why, c->answer, "%s is well: its container is ready since %s", c->label,
                str_text(&age));
    else
        why_say(c->why, c->answer, "%s is well: all %zu containers are ready since %s", c->label, n,
                str_text(&age));
    return true;
}

int why_pod(struct why *why, yyjson_val *pod, yyjson_mut_val *answer)
{
    static bool (*const STEPS[])(struct pod_case * c) = {
        explain_deletion, explain_end,        explain_unbound,         explain_untaken,
        explain_held,     explain_containers, explain_readiness_gates, explain_well};
    struct podview view;
    const char *name = json_str_at(pod, "metadata.name");
    scoped_free char *label = mem_printf("pod/%s", name != NULL ? name : "");
    podview_open(&view, pod);
    struct pod_case c = {why, &view, label, answer};
    bool is_well =
        why_is_true(pod, "Ready") && json_str_at(pod, "metadata.deletionTimestamp") == NULL;
    json_mut_put(why->doc, answer, "isWell",
                 yyjson_mut_bool(why->doc,
                                 is_well || str_eq(json_str_at(pod, "status.phase"), "Succeeded")));
    for (size_t i = 0; i < ARRAY_LEN(STEPS); i++) {
        if (STEPS[i](&c))
            break;
    }
    podview_close(&view);
    return CLI_OK;
}
