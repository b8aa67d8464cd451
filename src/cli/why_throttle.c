// SPDX-License-Identifier: Apache-2.0
/* A container that is pending: which limit of its node says no, who uses what is limited, and what
 * to change for it to go on. */
#include "cli/why.h"
#include "model/cell.h"
#include <stdlib.h>

#define GATE_PREFIX "waits for the throttle: "
#define NAMED_MAX 5
#define MINRATE_MS 1000

const char *why_gate(const struct podview_one *one)
{
    const char *message = json_str_at(one->life, "message");
    if (message == NULL)
        return "";
    return str_starts(message, GATE_PREFIX) ? message + strlen(GATE_PREFIX) : message;
}

/* ---- settings ---- */

static yyjson_val *config_named(const struct why *why, const char *name)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(why->configs), "items"), i, n, item)
    {
        if (name != NULL && str_eq(json_str_at(item, "metadata.name"), name))
            return item;
    }
    return NULL;
}

static void ask_configs(struct why *why)
{
    if (why->has_asked_configs)
        return;
    scoped_str url = {0};
    target_collection(&KIND_NODECONFIG, NULL, &url);
    why->has_asked_configs = true;
    why->configs = why_ask(why, str_text(&url));
}

void why_settings(struct why *why, const char *node, struct node_settings *ret_settings)
{
    ask_configs(why);
    node_settings_default(ret_settings, 1); /* cores matter for the cap only, which is known */
    node_settings_add(ret_settings, config_named(why, "default"));
    node_settings_add(ret_settings, config_named(why, node));
}

/* The name of the NodeConfig that has this setting, or NULL. */
static const char *config_with(const struct why *why, const char *node, const char *setting)
{
    const char *const names[] = {node, "default"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        yyjson_val *throttling = json_at(config_named(why, names[i]), "spec.throttling");
        if (yyjson_obj_get(throttling, setting) != NULL)
            return names[i];
    }
    return NULL;
}

static void help_raise(struct why *why, const char *node, const char *setting,
                       yyjson_mut_val *answer)
{
    const char *config = config_with(why, node, setting);
    if (config != NULL)
        why_help(why, answer, "raise %s of NodeConfig %s", setting, config);
    else
        why_help(why, answer, "raise %s: apply a NodeConfig called default, or %s for this node",
                 setting, node != NULL ? node : "as the node");
}

/* ---- the line ---- */

static void ask_neighbours(struct why *why, const char *node)
{
    if (node == NULL || str_eq(why->node, node))
        return;
    scoped_str url = {0};
    scoped_free char *selector = mem_printf("spec.nodeName=%s", node);
    target_collection(&KIND_POD, NULL, &url);
    target_query(&url, "fieldSelector", selector);
    yyjson_doc_free(why->neighbours);
    mem_free(why->node);
    why->node = mem_strdup(node);
    why->neighbours = why_ask(why, str_text(&url));
}

struct line {
    struct str starting; /* "a/x since 3s, b/y since 1s" */
    size_t n_starting, n_pending;
};

static void count_pod(struct why *why, yyjson_val *pod, const char *ns, struct line *line)
{
    struct podview view;
    podview_open(&view, pod);
    const char *its_ns = json_str_at(pod, "metadata.namespace");
    const char *name = json_str_at(pod, "metadata.name");
    bool is_other = !str_eq(its_ns, ns);
    for (size_t i = 0; i < view.list.len; i++) {
        const struct podview_one *one = &view.list.items[i];
        line->n_pending += one->state == CT_PENDING;
        if (one->state != CT_STARTING || ++line->n_starting > NAMED_MAX)
            continue;
        str_addf(&line->starting, "%s%s%s%s/%s since ", line->starting.len > 0 ? ", " : "",
                 is_other && its_ns != NULL ? its_ns : "", is_other ? "/" : "", name, one->name);
        why_age(why, cell_time(one->life, "since"), &line->starting);
    }
    podview_close(&view);
}

static void add_line(struct why *why, const char *node, const char *ns, yyjson_mut_val *answer)
{
    struct line line = {0};
    size_t i, n;
    yyjson_val *pod;
    ask_neighbours(why, node);
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(why->neighbours), "items"), i, n, pod)
    {
        count_pod(why, pod, ns, &line);
    }
    if (line.n_starting > NAMED_MAX)
        str_addf(&line.starting, " and %zu more", line.n_starting - NAMED_MAX);
    if (line.n_starting > 0)
        why_say(why, why_detail(why, answer), "%zu container%s starting: %s", line.n_starting,
                line.n_starting == 1 ? " is" : "s are", str_text(&line.starting));
    if (line.n_pending > 1)
        why_say(why, why_detail(why, answer), "%zu containers wait for their turn", line.n_pending);
    str_done(&line.starting);
}

/* ---- gates ---- */

/* The limit of the text "cap 2/2". */
static long cap_limit(const char *gate)
{
    const char *slash = strchr(gate, '/');
    return slash != NULL ? strtol(slash + 1, NULL, 10) : 0;
}

static const char *cap_setting(const struct node_settings *settings, const char *gate)
{
    double most = settings->start.gate.max_starting;
    return most > 0 && (long)most == cap_limit(gate) ? "maxStarting"
                                                     : "maxStartingContainersPerCore";
}

static void add_min_rate(struct why *why, const struct node_settings *settings,
                         yyjson_mut_val *answer)
{
    scoped_str span = {0};
    double rate = settings->start.gate.min_rate;
    if (rate <= 0) {
        why_say(why, why_detail(why, answer), "minRate is 0: no start is forced");
        return;
    }
    duration_format((time_ms)(MINRATE_MS / rate), &span);
    why_say(why, why_detail(why, answer),
            "minRate lets one start after %s whatever this limit says", str_text(&span));
}

/* "frozen (maxRate is 0)" */
static void help_frozen(struct why *why, const char *node, const char *gate, yyjson_mut_val *answer)
{
    struct sv rest = sv_of(gate);
    (void)sv_cut(&rest, '(');
    struct sv word = sv_cut(&rest, ' ');
    scoped_free char *setting = mem_strndup(word.ptr, word.len);
    const char *config = config_with(why, node, setting);
    why_help(why, answer,
             "nothing starts on this node until %s of NodeConfig %s is above 0 or gone", setting,
             config != NULL ? config : "default");
}

void why_throttle(struct why *why, const struct podview *view, uint32_t i, yyjson_mut_val *answer)
{
    static const struct {
        const char *gate, *setting;
    } SETTINGS[] = {{"rate", "maxRate"},
                    {"cpu", "maxCPU"},
                    {"io", "maxIO"},
                    {"pressure", "maxPressure"},
                    {"load", "maxLoadAverageMultiplier"}};
    const char *gate = why_gate(&view->list.items[i]);
    const char *node = json_str_at(view->pod, "spec.nodeName");
    struct node_settings settings;
    why_settings(why, node, &settings);
    if (str_starts(gate, "frozen")) {
        help_frozen(why, node, gate, answer);
        return;
    }
    add_line(why, node, json_str_at(view->pod, "metadata.namespace"), answer);
    if (!str_starts(gate, "rate"))
        add_min_rate(why, &settings, answer);
    if (str_starts(gate, "cap"))
        help_raise(why, node, cap_setting(&settings, gate), answer);
    for (size_t k = 0; k < ARRAY_LEN(SETTINGS); k++) {
        if (str_starts(gate, SETTINGS[k].gate))
            help_raise(why, node, SETTINGS[k].setting, answer);
    }
}
