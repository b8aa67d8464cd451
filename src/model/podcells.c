// SPDX-License-Identifier: Apache-2.0
/* The columns of `kubectl get pods`. STATUS is not a field: it is the most telling word among the
 * pod's phase and reason and its containers' states, chosen by the rules below. People and scripts
 * know these words, so the rules are those of the Kubernetes API server, with one of our own in 3:
 *
 * 1. The reason of the pod, or else its phase; SchedulingGated when it is held back.
 * 2. The first init container that is neither done nor a started sidecar decides, as "Init:...".
 * 3. Otherwise the first container (in order) that waits or has ended gives the word; one that only
 *    waits for another leaves it to the first that waits for something else or has ended badly.
 * 4. Completed, while another container is running, is Running or NotReady.
 * 5. A pod under deletion is Terminating unless it has ended; Unknown when its node was lost. */
#include "model/podcells.h"
#include "model/cell.h"

struct summary {
    struct str status;
    int64_t ready, total;
    int64_t restarts;
    time_ms restarted; /* latest; 0: not known */
};

static void set_status(struct summary *s, const char *prefix, const char *text)
{
    str_clear(&s->status);
    str_add(&s->status, prefix);
    str_add(&s->status, text);
}

static const char *text_at(yyjson_val *root, const char *path) /* never NULL */
{
    const char *text = json_str_at(root, path);
    return text != NULL ? text : "";
}

static bool bool_at(yyjson_val *root, const char *path)
{
    return yyjson_get_bool(json_at(root, path));
}

static void count_restarts(struct summary *s, yyjson_val *status)
{
    s->restarts += json_int_at(status, "restartCount", 0);
    time_ms at = cell_time(status, "lastState.terminated.finishedAt");
    if (at > s->restarted)
        s->restarted = at;
}

/* The word for a container that has ended. */
static void set_ended(struct summary *s, const char *prefix, yyjson_val *terminated)
{
    const char *reason = text_at(terminated, "reason");
    int64_t signal = json_int_at(terminated, "signal", 0);
    if (*reason != '\0') {
        set_status(s, prefix, reason);
        return;
    }
    set_status(s, prefix, signal != 0 ? "Signal:" : "ExitCode:");
    str_addf(&s->status, "%lld",
             (long long)(signal != 0 ? signal : json_int_at(terminated, "exitCode", 0)));
}

/* ---- init containers ---- */

static bool is_sidecar(yyjson_val *root, const char *name)
{
    yyjson_val *container = json_find(json_at(root, "spec.initContainers"), "name", name);
    return str_eq(json_str_at(container, "restartPolicy"), "Always");
}

static int64_t count_sidecars(yyjson_val *root)
{
    size_t i, n;
    int64_t sidecars = 0;
    yyjson_val *container;
    yyjson_arr_foreach(json_at(root, "spec.initContainers"), i, n, container)
    {
        sidecars += str_eq(json_str_at(container, "restartPolicy"), "Always");
    }
    return sidecars;
}

static void set_init(struct summary *s, yyjson_val *root, yyjson_val *status, size_t index)
{
    yyjson_val *terminated = json_at(status, "state.terminated");
    const char *waiting = text_at(status, "state.waiting.reason");
    if (terminated != NULL) {
        set_ended(s, "Init:", terminated);
    } else if (*waiting != '\0' && !str_eq(waiting, "PodInitializing")) {
        set_status(s, "Init:", waiting);
    } else {
        str_clear(&s->status);
        str_addf(&s->status, "Init:%zu/%zu", index,
                 yyjson_arr_size(json_at(root, "spec.initContainers")));
    }
}

/* True when an init container holds the others back. sidecars: restarts of those alone. */
static bool summarize_init(struct summary *s, yyjson_val *root, struct summary *sidecars)
{
    size_t i, n;
    yyjson_val *status;
    yyjson_arr_foreach(json_at(root, "status.initContainerStatuses"), i, n, status)
    {
        bool sidecar = is_sidecar(root, json_str_at(status, "name"));
        yyjson_val *terminated = json_at(status, "state.terminated");
        count_restarts(s, status);
        if (sidecar)
            count_restarts(sidecars, status);
        if (terminated != NULL && json_int_at(terminated, "exitCode", 0) == 0)
            continue;
        if (sidecar && bool_at(status, "started")) {
            s->ready += bool_at(status, "ready");
            continue;
        }
        set_init(s, root, status, i);
        return true;
    }
    return false;
}

/* ---- containers ---- */

static bool is_ready(yyjson_val *status)
{
    return bool_at(status, "ready") && json_at(status, "state.running") != NULL;
}

/* The word of a container that waits or has ended; false when it does neither. */
static bool set_container(struct summary *s, yyjson_val *status)
{
    const char *waiting = text_at(status, "state.waiting.reason");
    yyjson_val *terminated = json_at(status, "state.terminated");
    if (*waiting != '\0')
        set_status(s, "", waiting);
    else if (terminated != NULL)
        set_ended(s, "", terminated);
    return *waiting != '\0' || terminated != NULL;
}

/* Of a reason that Kubernetes does not have: the cause is with another container. */
static bool only_depends(yyjson_val *status)
{
    return str_eq(text_at(status, "state.waiting.reason"), "DependencyNotReady");
}

static bool is_a_cause(yyjson_val *status)
{
    bool waits = *text_at(status, "state.waiting.reason") != '\0' && !only_depends(status);
    return waits || json_int_at(status, "state.terminated.exitCode", 0) != 0;
}

static void summarize_containers(struct summary *s, yyjson_val *root)
{
    bool decided = false, running = false, seeks_cause = false;
    size_t i, n;
    yyjson_val *status;
    yyjson_arr_foreach(json_at(root, "status.containerStatuses"), i, n, status)
    {
        count_restarts(s, status);
        if (seeks_cause && is_a_cause(status)) {
            (void)set_container(s, status);
            seeks_cause = false;
        } else if (!decided) {
            decided = set_container(s, status);
            seeks_cause = only_depends(status);
        }
        running |= is_ready(status);
        s->ready += is_ready(status);
    }
    if (running && str_eq(str_text(&s->status), "Completed")) {
        bool ready = cell_condition_is(json_at(root, "status.conditions"), "Ready", "True");
        set_status(s, "", ready ? "Running" : "NotReady");
    }
}

/* ---- the pod ---- */

static bool is_gated(yyjson_val *root)
{
    return str_eq(json_str_at(cell_condition(root, "PodScheduled"), "reason"), "SchedulingGated");
}

static void summarize_deletion(struct summary *s, yyjson_val *root)
{
    const char *phase = text_at(root, "status.phase");
    if (json_str_at(root, "metadata.deletionTimestamp") == NULL)
        return;
    if (str_eq(text_at(root, "status.reason"), "NodeLost"))
        set_status(s, "", "Unknown");
    else if (!str_eq(phase, "Succeeded") && !str_eq(phase, "Failed"))
        set_status(s, "", "Terminating");
}

static void summarize(struct summary *s, yyjson_val *root)
{
    const char *reason = text_at(root, "status.reason");
    set_status(s, "", *reason != '\0' ? reason : text_at(root, "status.phase"));
    if (is_gated(root))
        set_status(s, "", "SchedulingGated");
    s->total = (int64_t)yyjson_arr_size(json_at(root, "spec.containers")) + count_sidecars(root);
    struct summary sidecars = {0};
    bool initializing = summarize_init(s, root, &sidecars);
    if (!initializing ||
        cell_condition_is(json_at(root, "status.conditions"), "Initialized", "True")) {
        s->restarts = sidecars.restarts;
        s->restarted = sidecars.restarted;
        summarize_containers(s, root);
    }
    summarize_deletion(s, root);
}

/* ---- cells ---- */

static void cell_ready(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    struct summary s = {0};
    summarize(&s, root);
    cell_textf(out, "%lld/%lld", (long long)s.ready, (long long)s.total);
    str_done(&s.status);
}

static void cell_status(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    struct summary s = {0};
    summarize(&s, root);
    cell_text(out, str_text(&s.status));
    str_done(&s.status);
}

static void cell_restarts(yyjson_val *root, time_ms now, struct str *out)
{
    struct summary s = {0};
    summarize(&s, root);
    scoped_str text = {0};
    str_addf(&text, "%lld", (long long)s.restarts);
    if (s.restarts != 0 && s.restarted != 0) {
        str_add(&text, " (");
        cell_add_age(&text, s.restarted, now);
        str_add(&text, " ago)");
    }
    cell_text(out, str_text(&text));
    str_done(&s.status);
}

static void cell_ip(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    yyjson_val *first = yyjson_arr_get_first(json_at(root, "status.podIPs"));
    if (first != NULL)
        cell_at(out, first, "ip", "<none>");
    else
        cell_at(out, root, "status.podIP", "<none>");
}

static void cell_gates(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    yyjson_val *gates = json_at(root, "spec.readinessGates");
    size_t i, n, open = 0;
    yyjson_val *gate;
    if (yyjson_arr_size(gates) == 0) {
        cell_text(out, "<none>");
        return;
    }
    yyjson_arr_foreach(gates, i, n, gate)
    {
        open += cell_condition_is(json_at(root, "status.conditions"),
                                  text_at(gate, "conditionType"), "True");
    }
    cell_textf(out, "%zu/%zu", open, yyjson_arr_size(gates));
}

// clang-format off
const struct column POD_COLUMNS[] = {
    NAME_COLUMN,
    {"Ready",           "string", "", "Containers that are ready, of all.", .cell = cell_ready},
    {"Status",          "string", "", "In a word, how the pod is.", .cell = cell_status},
    {"Restarts",        "string", "", "How often containers were started again, and when last.",
     .cell = cell_restarts},
    AGE_COLUMN,
    {"IP",              "string", "", "Address of the pod.", 1, .cell = cell_ip},
    {"Node",            "string", "", "Node that runs the pod.", 1, "spec.nodeName"},
    {"Nominated Node",  "string", "", "Node on which room is made for the pod.", 1,
     "status.nominatedNodeName"},
    {"Readiness Gates", "string", "", "Conditions that are True, of those the pod waits for.", 1,
     .cell = cell_gates},
    {0}};
// clang-format on
