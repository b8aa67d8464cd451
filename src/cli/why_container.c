// SPDX-License-Identifier: Apache-2.0
/* One container that is not ready: what it does now, why, and what would help. */
#include "cli/why.h"
#include "model/cell.h"

#define CHAIN_NAMED 6 /* links of a chain that are spelled out */

/* ---- ends ---- */

void why_end(yyjson_val *terminated, struct str *out)
{
    const char *reason = json_str_at(terminated, "reason");
    const char *message = json_str_at(terminated, "message");
    int64_t signal = json_int_at(terminated, "signal", 0);
    if (str_eq(reason, "StartError"))
        str_add(out, "could not be started");
    else if (str_eq(reason, "ErrImagePull"))
        str_add(out, "has an image that could not be fetched");
    else if (str_eq(reason, "StartTimeout"))
        str_add(out, "was not ready in time and was ended (StartTimeout)");
    else if (str_eq(reason, "OOMKilled"))
        str_add(out, "used more memory than its limit and was killed (OOMKilled)");
    else if (signal != 0)
        str_addf(out, "was ended by signal %lld", (long long)signal);
    else
        str_addf(out, "ended with exit code %lld",
                 (long long)json_int_at(terminated, "exitCode", 0));
    if (message != NULL)
        str_addf(out, ": %s", message);
}

static void help_end(struct why *why, const struct podview *view, const struct podview_one *one,
                     yyjson_val *terminated, yyjson_mut_val *answer)
{
    const char *reason = json_str_at(terminated, "reason");
    const char *pod = json_str_at(view->pod, "metadata.name");
    if (str_eq(reason, "StartError")) {
        why_help(why, answer, "look at its command, workingDir and user: it never ran");
        return;
    }
    if (str_eq(reason, "OOMKilled"))
        why_help(why, answer, "raise resources.limits.memory of %s", one->name);
    else if (str_eq(reason, "StartTimeout"))
        why_help(why, answer, "raise startTimeout of %s, or make its probe succeed sooner",
                 one->name);
    why_help(why, answer, "see what it printed: muster logs %s -c %s", pod, one->name);
}

/* ---- chains ---- */

uint32_t why_chain(const struct podview *view, uint32_t i, struct str *out)
{
    size_t links = 0;
    const struct podview_need *need = podview_unmet(view, i);
    while (need != NULL && links < view->list.len) {
        const struct podview_one *on = &view->list.items[need->on];
        if (links < CHAIN_NAMED)
            str_addf(out, "%s%s (%s)", links > 0 ? ", which waits for " : "", on->name,
                     podview_condition(need->condition));
        else if (links == CHAIN_NAMED)
            str_add(out, ", and so on");
        links++;
        i = need->on;
        need = on->state == CT_BLOCKED ? podview_unmet(view, i) : NULL;
    }
    return i;
}

/* ---- in a few words ---- */

static void say_over(const struct why *why, const struct podview_one *one, struct str *out)
{
    yyjson_val *end = json_at(one->status, "state.terminated");
    time_ms next = cell_time(one->life, "nextStart");
    if (end != NULL) {
        str_add(out, json_int_at(end, "exitCode", 0) != 0 ? "has failed for good: it " : "");
        why_end(end, out);
        return;
    }
    why_end(json_at(one->status, "lastState.terminated"), out);
    if (next > why->now) {
        str_add(out, ", starts again in ");
        why_left(why, next, out);
    } else {
        str_add(out, ", starts again");
    }
    str_addf(out, " (restart %lld)", (long long)json_int_at(one->status, "restartCount", 0) + 1);
}

static const char *probe_of(const struct podview_one *one)
{
    static const struct {
        const char *field, *name;
    } PROBES[] = {{"startupProbe", "startup probe"},
                  {"readinessProbe", "readiness probe"},
                  {"livenessProbe", "liveness probe"}};
    bool is_started = yyjson_get_bool(yyjson_obj_get(one->status, "started"));
    for (size_t i = is_started ? 1 : 0; i < ARRAY_LEN(PROBES); i++) {
        if (yyjson_is_obj(yyjson_obj_get(one->spec, PROBES[i].field)))
            return PROBES[i].name;
    }
    return NULL;
}

/* What the last probe, or the program itself, had to say. */
static void say_said(const struct podview_one *one, struct str *out)
{
    const char *message = json_str_at(one->life, "message");
    const char *probe = probe_of(one);
    if (message != NULL && probe != NULL)
        str_addf(out, ", its %s says: %s", probe, message);
    else if (message != NULL)
        str_addf(out, ", it says: %s", message);
}

static void say_running(const struct why *why, const struct podview_one *one, struct str *out)
{
    bool has_to_end = one->is_init && !one->is_sidecar;
    if (one->state == CT_STARTING)
        str_add(out, "is starting since ");
    else
        str_add(out, has_to_end ? "is at work since " : "runs, but is not ready, since ");
    why_age(why, cell_time(one->life, "since"), out);
    say_said(one, out);
}

/* Of a pod that is held back as a whole there is no lifecycle. */
static void say_unknown(const struct podview_one *one, struct str *out)
{
    const char *reason = json_str_at(one->status, "state.waiting.reason");
    const char *message = json_str_at(one->status, "state.waiting.message");
    if (reason == NULL)
        str_add(out, "has not been looked at yet");
    else
        str_addf(out, "waits: %s%s%s", reason, message != NULL ? ": " : "",
                 message != NULL ? message : "");
}

static void say_blocked(struct why *why, const struct podview *view, uint32_t i, struct str *out)
{
    scoped_str chain = {0};
    const struct podview_one *one = &view->list.items[i];
    uint32_t root = why_chain(view, i, &chain);
    if (root == i) {
        const char *message = json_str_at(one->life, "message");
        str_addf(out, "waits%s%s", message != NULL ? ": " : "", message != NULL ? message : "");
        return;
    }
    str_addf(out, "waits for %s; %s ", str_text(&chain), view->list.items[root].name);
    if (view->list.items[root].state == CT_BLOCKED) /* a circle cannot be; do not trust that */
        str_add(out, "waits as well");
    else
        why_container(why, view, root, out);
}

void why_container(struct why *why, const struct podview *view, uint32_t i, struct str *out)
{
    const struct podview_one *one = &view->list.items[i];
    switch (one->state) {
    case CT_DOWNLOADING:
        str_add(out, "fetches its image since ");
        why_age(why, cell_time(one->life, "since"), out);
        break;
    case CT_BLOCKED:
        say_blocked(why, view, i, out);
        break;
    case CT_PENDING:
        str_add(out, "is pending since ");
        why_age(why, cell_time(one->life, "since"), out);
        str_addf(out, ": %s", why_gate(one));
        break;
    case CT_STARTING:
    case CT_READY:
        say_running(why, one, out);
        break;
    case CT_FAILED:
    case CT_EXITED:
        say_over(why, one, out);
        break;
    case CT_STATE_COUNT:
        say_unknown(one, out);
        break;
    }
}

/* ---- the rest ---- */

static void add_timeout(struct why *why, const struct podview *view, const struct podview_one *one,
                        yyjson_mut_val *answer)
{
    const char *own = json_str_at(one->spec, "startTimeout");
    time_ms since = cell_time(one->life, "since"), span = 0;
    if (own == NULL || duration_parse(sv_of(own), &span, NULL) < 0) {
        struct node_settings settings;
        why_settings(why, json_str_at(view->pod, "spec.nodeName"), &settings);
        span = settings.start.start_timeout_ms;
    }
    if (since == 0 || span <= 0)
        return;
    scoped_str left = {0};
    why_left(why, since + span, &left);
    why_say(why, why_detail(why, answer), "it has failed if it is not ready in %s (startTimeout)",
            str_text(&left));
}

/* How the run before ended: a container that starts for the fifth time has more to tell. */
static void add_last(struct why *why, const struct podview *view, const struct podview_one *one,
                     yyjson_mut_val *answer)
{
    yyjson_val *last = json_at(one->status, "lastState.terminated");
    scoped_str text = {0};
    if (last == NULL)
        return;
    yyjson_mut_val *detail = why_detail(why, answer);
    why_end(last, &text);
    why_say(why, detail, "this is restart %lld; the run before %s",
            (long long)json_int_at(one->status, "restartCount", 0), str_text(&text));
    why_help(why, detail, "muster logs %s -c %s --previous",
             json_str_at(view->pod, "metadata.name"), one->name);
}

static void more_running(struct why *why, const struct podview *view, const struct podview_one *one,
                         yyjson_mut_val *answer)
{
    if (one->state == CT_STARTING)
        add_timeout(why, view, one, answer);
    add_last(why, view, one, answer);
    why_help(why, answer, "see what it prints: muster logs %s -c %s",
             json_str_at(view->pod, "metadata.name"), one->name);
}

void why_container_more(struct why *why, const struct podview *view, uint32_t i,
                        yyjson_mut_val *answer)
{
    const struct podview_one *one = &view->list.items[i];
    yyjson_val *end = json_at(one->status, "state.terminated");
    switch (one->state) {
    case CT_PENDING:
        why_throttle(why, view, i, answer);
        break;
    case CT_STARTING:
    case CT_READY:
        more_running(why, view, one, answer);
        break;
    case CT_FAILED:
    case CT_EXITED:
        help_end(why, view, one, end != NULL ? end : json_at(one->status, "lastState.terminated"),
                 answer);
        break;
    case CT_DOWNLOADING:
    case CT_BLOCKED:
    case CT_STATE_COUNT:
        break;
    }
}
