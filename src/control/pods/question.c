// SPDX-License-Identifier: Apache-2.0
#include "control/pods/question.h"
#include "control/pods/companion.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

static const char *const *strings(struct arena *arena, yyjson_val *list)
{
    size_t n = yyjson_arr_size(list);
    const char **out = arena_alloc(arena, (n + 1) * sizeof(*out));
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item)
    {
        out[i] = yyjson_get_str(item);
    }
    return out;
}

static int port_of(yyjson_val *container, yyjson_val *port)
{
    if (yyjson_is_int(port))
        return (int)yyjson_get_sint(port);
    const char *name = yyjson_get_str(port);
    yyjson_val *named = name ? json_find(json_at(container, "ports"), "name", name) : NULL;
    return (int)json_int_at(named, "containerPort", -EINVAL);
}

static const char *const *headers_of(struct arena *arena, yyjson_val *list)
{
    size_t n = yyjson_arr_size(list);
    const char **out = arena_alloc(arena, (n + 1) * sizeof(*out));
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item)
    {
        out[i] =
            arena_printf(arena, "%s: %s", json_str_at(item, "name"), json_str_at(item, "value"));
    }
    return out;
}

int question_read(struct arena *arena, const struct obj *pod, yyjson_val *container,
                  yyjson_val *how, struct runtime_question *ret_question)
{
    struct runtime_question q = {0};
    yyjson_val *exec = json_at(how, "exec"), *http = json_at(how, "httpGet");
    yyjson_val *tcp = json_at(how, "tcpSocket"), *sleep = json_at(how, "sleep");
    if (exec != NULL) {
        q.type = ASK_EXEC;
        q.argv = strings(arena, json_at(exec, "command"));
    } else if (http != NULL || tcp != NULL) {
        yyjson_val *where = http != NULL ? http : tcp;
        q.type = http != NULL ? ASK_HTTP : ASK_TCP;
        q.host = json_str_at(where, "host");
        if (q.host == NULL && companion_is(container))
            q.host = companion_address(arena, pod);
        q.port = port_of(container, json_at(where, "port"));
        q.path = json_str_at(where, "path");
        q.scheme = json_str_at(where, "scheme");
        q.headers = headers_of(arena, json_at(where, "httpHeaders"));
        if (q.port <= 0)
            return -EINVAL;
    } else if (sleep != NULL) {
        q.type = ASK_SLEEP;
        q.timeout_ms = json_int_at(sleep, "seconds", 0) * 1000;
    } else {
        return -EINVAL;
    }
    *ret_question = q;
    return 0;
}

int question_signal(const char *name)
{
    static const struct {
        const char *name;
        int signo;
    } SIGNALS[] = {
        {"SIGTERM", SIGTERM}, {"SIGINT", SIGINT},     {"SIGQUIT", SIGQUIT}, {"SIGHUP", SIGHUP},
        {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2},   {"SIGKILL", SIGKILL}, {"SIGABRT", SIGABRT},
        {"SIGALRM", SIGALRM}, {"SIGWINCH", SIGWINCH},
    };
    for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++) {
        if (strcmp(SIGNALS[i].name, name) == 0)
            return SIGNALS[i].signo;
    }
    return 0;
}
