// SPDX-License-Identifier: Apache-2.0
/* The startup probe of a container that runs muster-agent beside its worker: it must ask where the
 * agent answers, for otherwise the barrier is never lifted. Where that is follows from the agent's
 * options, then from its environment, then from its defaults, as agent/config.c reads them. What is
 * known only when it starts (valueFrom, envFrom, $(NAME)) is left to it. */
#include "model/jobset.h"
#include "model/rules.h"
#include <stdlib.h>

#define PORT_DEFAULT "8080"

static const char UNKNOWN[] = "$("; /* what it will be only its start can tell */

bool jobset_runs_agent(yyjson_mut_val *container)
{
    const char *program =
        yyjson_mut_get_str(yyjson_mut_arr_get_first(yyjson_mut_obj_get(container, "command")));
    return program != NULL &&
           (str_eq(program, "muster-agent") || str_ends(program, "/muster-agent"));
}

bool jobset_asks_barrier(yyjson_mut_val *container)
{
    const char *path = json_mut_str_at(container, "startupProbe.httpGet.path");
    return str_eq(path, JOBSET_BARRIER_PATH) || str_eq(path, JOBSET_BARRIER_PATH_LATER);
}

/* ---- what it was told ---- */

struct words { /* those behind the program */
    VEC(const char *) list;
    bool has_worker; /* "--": the rest is not the agent's */
};

static struct words words_of(yyjson_mut_val *container)
{
    static const char *const LISTS[] = {"command", "args"};
    struct words words = {0};
    size_t i, n;
    yyjson_mut_val *item;
    for (size_t k = 0; k < ARRAY_LEN(LISTS); k++) {
        yyjson_mut_arr_foreach(yyjson_mut_obj_get(container, LISTS[k]), i, n, item)
        {
            const char *word = yyjson_mut_get_str(item);
            words.has_worker = words.has_worker || str_eq(word, "--");
            if (word != NULL && !words.has_worker && (k > 0 || i > 0))
                vec_push(&words.list, word);
        }
    }
    return words;
}

/* "--name value" or "--name=value"; the last one counts. */
static const char *option_of(yyjson_mut_val *container, const char *name)
{
    struct words words = words_of(container);
    const char *found = NULL;
    size_t len = strlen(name);
    for (size_t i = 0; i < words.list.len; i++) {
        const char *word = words.list.items[i];
        if (str_eq(word, name) && i + 1 < words.list.len)
            found = words.list.items[i + 1];
        else if (str_starts(word, name) && word[len] == '=')
            found = word + len + 1;
    }
    vec_done(&words.list);
    return found;
}

static const char *variable_of(yyjson_mut_val *container, const char *name)
{
    size_t i, n;
    yyjson_mut_val *item;
    const char *found =
        yyjson_mut_arr_size(yyjson_mut_obj_get(container, "envFrom")) > 0 ? UNKNOWN : NULL;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(container, "env"), i, n, item)
    {
        if (!str_eq(json_mut_str_at(item, "name"), name))
            continue;
        const char *value = json_mut_str_at(item, "value");
        found = value != NULL && *value != '\0' ? value : NULL;
        if (rules_has(item, "valueFrom"))
            found = UNKNOWN;
    }
    return found;
}

/* NULL: it cannot be known. */
static const char *told(yyjson_mut_val *container, const char *option, const char *variable,
                        const char *otherwise)
{
    const char *text = option_of(container, option);
    if (text == NULL)
        text = variable_of(container, variable);
    if (text == NULL)
        text = otherwise;
    return strstr(text, UNKNOWN) == NULL ? text : NULL;
}

/* As the worker's parent it keeps the barrier by itself, and it is the worker who answers. */
static bool is_parent(yyjson_mut_val *container)
{
    struct words words = words_of(container);
    const char *line = variable_of(container, "WORKER_COMMAND");
    vec_done(&words.list);
    return words.has_worker || (line != NULL && line != UNKNOWN);
}

/* ---- what is asked ---- */

static int64_t port_of(yyjson_mut_val *container, yyjson_mut_val *port)
{
    size_t i, n;
    yyjson_mut_val *item;
    if (!yyjson_mut_is_str(port))
        return yyjson_mut_get_sint(port);
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(container, "ports"), i, n, item)
    {
        if (str_eq(json_mut_str_at(item, "name"), yyjson_mut_get_str(port)))
            return json_mut_int_at(item, "containerPort", 0);
    }
    return 0;
}

static void check_port(struct check *c, yyjson_mut_val *container, yyjson_mut_val *get)
{
    yyjson_mut_val *port = yyjson_mut_obj_get(get, "port");
    const char *answers = told(container, "--probe-port", "STARTUP_PROBE_PORT", PORT_DEFAULT);
    int64_t asked = port_of(container, port);
    if (answers == NULL || asked <= 0 || asked == strtoll(answers, NULL, 10))
        return;
    scoped_free char *why = mem_printf("muster-agent answers on port %s", answers);
    scoped_free char *hint = mem_printf("write port: %s, or give the agent STARTUP_PROBE_PORT with "
                                        "the port of the probe",
                                        answers);
    check_invalid(c, "port", port, why);
    check_hint(c, hint);
}

static void check_path(struct check *c, yyjson_mut_val *container, yyjson_mut_val *get)
{
    yyjson_mut_val *path = yyjson_mut_obj_get(get, "path");
    const char *answers =
        told(container, "--probe-path", "STARTUP_PROBE_PATH", JOBSET_BARRIER_PATH);
    const char *asked = path != NULL ? yyjson_mut_get_str(path) : "/";
    if (answers == NULL || asked == NULL)
        return;
    size_t len = strcspn(asked, "?");
    if (len == strlen(answers) && strncmp(asked, answers, len) == 0)
        return;
    scoped_free char *why = mem_printf("muster-agent answers at %s", answers);
    scoped_free char *hint = mem_printf("write path: %s, or give the agent STARTUP_PROBE_PATH with "
                                        "the path of the probe",
                                        answers);
    if (path != NULL)
        check_invalid(c, "path", path, why);
    else
        check_required(c, "path", why);
    check_hint(c, hint);
}

static void check_get(struct check *c, yyjson_mut_val *container, yyjson_mut_val *get)
{
    yyjson_mut_val *scheme = yyjson_mut_obj_get(get, "scheme");
    size_t mark = check_enter(c, "httpGet");
    check_path(c, container, get);
    check_port(c, container, get);
    if (str_eq(yyjson_mut_get_str(scheme), "HTTPS")) {
        check_invalid(c, "scheme", scheme, "muster-agent answers without TLS");
        check_hint(c, "leave it out");
    }
    check_leave(c, mark);
}

static void check_parent(struct check *c, yyjson_mut_val *container)
{
    if (!jobset_asks_barrier(container))
        return;
    check_forbidden(c, "startupProbe", "muster-agent with a worker of its own answers nobody");
    check_hint(c, "take the probe away: the agent starts its worker when the barrier is lifted");
}

/* A program that asks is left alone: it may know what it does. */
void jobset_probe_check(struct check *c, yyjson_mut_val *container)
{
    yyjson_mut_val *probe = yyjson_mut_obj_get(container, "startupProbe");
    if (!jobset_runs_agent(container) || !rules_has(container, "startupProbe") ||
        rules_has(probe, "exec"))
        return;
    if (is_parent(container)) {
        check_parent(c, container);
        return;
    }
    size_t mark = check_enter(c, "startupProbe");
    if (rules_has(probe, "httpGet")) {
        check_get(c, container, yyjson_mut_obj_get(probe, "httpGet"));
    } else if (yyjson_mut_is_obj(probe)) {
        check_required(c, "httpGet",
                       "muster-agent listens from its start, and says over HTTP when "
                       "the barrier is lifted");
        check_hint(c, "write httpGet: {path: " JOBSET_BARRIER_PATH ", port: " PORT_DEFAULT "}");
    }
    check_leave(c, mark);
}
