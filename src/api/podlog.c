// SPDX-License-Identifier: Apache-2.0
/* GET .../pods/NAME/log: which container and which of its lives is meant, then its text, as fast as
 * the client takes it. What the client has not taken yet stays in the file, not in memory. The
 * sentences are the ones kubectl knows. */
#include "api/call.h"
#include "base/mem.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_BYTES_MAX ((size_t)256 * 1024)
#define DEFAULT_CONTAINER "kubectl.kubernetes.io/default-container"

struct log_stream {
    LIST_ENTRY(log_stream) siblings;
    struct api *api;
    struct http_exchange *x;
    void *reader;
};

/* ---- the stream ---- */

static void stream_free(struct log_stream *stream)
{
    if (stream->reader != NULL)
        stream->api->options.logs->close(stream->reader);
    LIST_REMOVE(stream, siblings);
    mem_free(stream);
}

static void on_closed(void *arg)
{
    stream_free(arg);
}

static void on_room(void *arg)
{
    struct log_stream *stream = arg;
    stream->api->options.logs->resume(stream->reader);
}

static void stream_end(struct log_stream *stream)
{
    http_stream_end(stream->x, NULL);
    stream_free(stream);
}

static bool on_text(void *arg, const char *text, size_t len)
{
    struct log_stream *stream = arg;
    if (len == 0) {
        stream_end(stream);
        return true;
    }
    if (http_stream_queued(stream->x) > QUEUE_BYTES_MAX) {
        http_stream_on_room(stream->x, on_room);
        return false;
    }
    struct buf *chunk = buf_new(text, len);
    int r = http_stream_send(stream->x, chunk);
    buf_unref(chunk);
    if (r < 0)
        http_stream_on_room(stream->x, on_room);
    return r == 0;
}

void podlog_end_all(struct api *api)
{
    struct log_stream *stream;
    while ((stream = LIST_FIRST(&api->log_streams)) != NULL)
        stream_end(stream);
}

/* ---- what is asked for ---- */

static bool refuse_option(const struct call *call, const char *name, const char *why,
                          struct status *status)
{
    status_set(status, 422, "Invalid",
               "PodLogOptions \"%s\" is invalid: %s: Invalid value: \"%s\": %s", call->name, name,
               call_param(call, name), why);
    return false;
}

static bool parse_number(const struct call *call, const char *name, int64_t least, int64_t *number,
                         struct status *status)
{
    const char *text = call_param(call, name);
    char *end = NULL;
    if (text == NULL)
        return true;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least)
        return refuse_option(
            call, name, least > 0 ? "must be greater than 0" : "must be greater than or equal to 0",
            status);
    *number = value;
    return true;
}

static bool parse_since(const struct call *call, struct log_ask *ask, struct status *status)
{
    const char *time = call_param(call, "sinceTime");
    int64_t seconds = 0;
    if (!parse_number(call, "sinceSeconds", 1, &seconds, status))
        return false;
    time_ms now = loop_wall(call->api->loop);
    if (seconds > 0)
        ask->since = seconds < now / 1000 ? now - seconds * 1000 : 0;
    if (time == NULL)
        return true;
    if (seconds > 0)
        return refuse_option(call, "sinceTime",
                             "at most one of `sinceTime` or `sinceSeconds` may be specified",
                             status);
    if (rfc3339_parse(sv_of(time), &ask->since, NULL) < 0)
        return refuse_option(call, "sinceTime", "must be a time as in RFC 3339", status);
    return true;
}

/* What a container writes to its two streams is one log here, so they cannot be told apart. */
static bool check_stream(const struct call *call, struct status *status)
{
    const char *name = call_param(call, "stream");
    if (name == NULL || str_eq(name, "All") || str_eq(name, "Stdout") || str_eq(name, "Stderr"))
        return true;
    return refuse_option(call, "stream", "supported values: \"All\", \"Stderr\", \"Stdout\"",
                         status);
}

static bool parse_options(const struct call *call, struct log_ask *ask, struct status *status)
{
    ask->tail_lines = -1;
    ask->follow = call_flag(call, "follow") && str_eq(call->req->method, "GET"); /* not HEAD */
    ask->timestamps = call_flag(call, "timestamps");
    ask->previous = call_flag(call, "previous");
    return parse_number(call, "tailLines", 0, &ask->tail_lines, status) &&
           parse_number(call, "limitBytes", 1, &ask->limit_bytes, status) &&
           parse_since(call, ask, status) && check_stream(call, status);
}

/* ---- which container ---- */

static bool has_container(yyjson_val *pod, const char *name)
{
    return json_find(json_at(pod, "spec.containers"), "name", name) != NULL ||
           json_find(json_at(pod, "spec.initContainers"), "name", name) != NULL ||
           json_find(json_at(pod, "spec.ephemeralContainers"), "name", name) != NULL;
}

static void add_names(yyjson_val *list, struct str *out)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        const char *name = json_str_at(item, "name");
        str_addf(out, "%s%s", i > 0 ? " " : "", name ? name : "");
    }
}

static const char *default_container(const struct obj *pod)
{
    yyjson_val *annotations = json_at(pod->root, "metadata.annotations");
    const char *name = yyjson_get_str(yyjson_obj_get(annotations, DEFAULT_CONTAINER));
    if (name != NULL && has_container(pod->root, name))
        return name;
    yyjson_val *containers = json_at(pod->root, "spec.containers");
    return yyjson_arr_size(containers) == 1 ? json_str_at(yyjson_arr_get_first(containers), "name")
                                            : NULL;
}

static bool find_container(const struct call *call, const struct obj *pod, struct log_ask *ask,
                           struct status *status)
{
    const char *name = call_param(call, "container");
    bool given = name != NULL && *name != '\0';
    ask->container = given ? name : default_container(pod);
    if (ask->container != NULL && has_container(pod->root, ask->container))
        return true;
    if (given) {
        status_bad_request(status, "container %s is not valid for pod %s", name, call->name);
        return false;
    }
    scoped_str names = {0};
    add_names(json_at(pod->root, "spec.containers"), &names);
    yyjson_val *inits = json_at(pod->root, "spec.initContainers");
    if (yyjson_arr_size(inits) > 0) {
        str_add(&names, "] or one of the init containers: [");
        add_names(inits, &names);
    }
    status_bad_request(status, "a container name must be specified for pod %s, choose one of: [%s]",
                       call->name, str_text(&names));
    return false;
}

/* ---- which of its lives ---- */

static yyjson_val *status_of(yyjson_val *pod, const char *container)
{
    yyjson_val *status = json_find(json_at(pod, "status.containerStatuses"), "name", container);
    if (status == NULL)
        status = json_find(json_at(pod, "status.initContainerStatuses"), "name", container);
    if (status == NULL)
        status = json_find(json_at(pod, "status.ephemeralContainerStatuses"), "name", container);
    return status;
}

static bool refuse_waiting(const struct call *call, const struct obj *pod, struct log_ask *ask,
                           struct status *status)
{
    yyjson_val *known = status_of(pod->root, ask->container);
    const char *reason = json_str_at(known, "state.waiting.reason");
    bool after_others =
        json_find(json_at(pod->root, "spec.containers"), "name", ask->container) != NULL &&
        yyjson_arr_size(json_at(pod->root, "spec.initContainers")) > 0;
    if (known == NULL && str_eq(json_str_at(pod->root, "status.phase"), "Failed"))
        reason = json_str_at(pod->root, "status.reason"); /* none of them was ever begun */
    if (reason == NULL || *reason == '\0')
        reason = after_others ? "PodInitializing" : "ContainerCreating";
    status_bad_request(status, "container \"%s\" in pod \"%s\" is waiting to start: %s",
                       ask->container, call->name, reason);
    return false;
}

static bool refuse_previous(const struct call *call, const struct log_ask *ask,
                            struct status *status)
{
    status_bad_request(status, "previous terminated container \"%s\" in pod \"%s\" not found",
                       ask->container, call->name);
    return false;
}

/* A container that waits to be started again has no present life: both its log and that of the one
 * before are those of the life that ended last. */
static bool find_life(const struct call *call, const struct obj *pod, struct log_ask *ask,
                      struct status *status)
{
    yyjson_val *known = status_of(pod->root, ask->container);
    bool begun = json_at(known, "state.running") || json_at(known, "state.terminated");
    bool ended = json_at(known, "lastState.terminated") != NULL;
    int64_t restarts = json_int_at(known, "restartCount", 0);
    ask->generation = restarts >= 0 && restarts < UINT32_MAX ? (uint32_t)restarts + 1 : 0;
    if (ask->previous && !ended)
        return refuse_previous(call, ask, status);
    if (!begun && !ended)
        return refuse_waiting(call, pod, ask, status);
    ask->previous = ask->previous && begun;
    return true;
}

/* ---- starting ---- */

static void refuse_open(const struct call *call, const struct log_ask *ask, const struct err *err,
                        struct status *status)
{
    if (err->code == -ENOENT && call_flag(call, "previous"))
        (void)refuse_previous(call, ask, status);
    else if (err->code == -ENOENT)
        status_set(status, 404, "NotFound", "log of container \"%s\" in pod \"%s\" not found",
                   ask->container, call->name);
    else
        status_set(status, 500, "InternalError", "%s", err->text);
}

static bool start(struct call *call, const struct log_ask *ask, struct status *status)
{
    struct api *api = call->api;
    struct err err = {0};
    struct log_stream *stream = mem_zalloc(sizeof(*stream));
    stream->api = api;
    stream->x = call->x;
    LIST_INSERT_HEAD(&api->log_streams, stream, siblings);
    int r = api->options.logs->open(api->options.logs->arg, ask, on_text, stream, &stream->reader,
                                    &err);
    if (r < 0) {
        err.code = r;
        refuse_open(call, ask, &err, status);
        stream_free(stream);
        return false;
    }
    http_stream_start(call->x, 200, "text/plain", on_closed, stream);
    return true;
}

void podlog_start(struct call *call)
{
    struct status status = {0};
    struct log_ask ask = {.ns = call->ns, .pod = call->name};
    const struct obj *pod = cache_get(call->api->store->cache, &KIND_POD, call->ns, call->name);
    if (pod == NULL)
        status_not_found(&status, &KIND_POD, call->name);
    else if (call->api->options.logs == NULL || call->api->options.logs->open == NULL)
        status_set(&status, 501, "NotImplemented", "this server keeps no logs of containers");
    if (pod == NULL || !status_ok(&status)) {
        call_refuse(call, &status);
        return;
    }
    const char *node = json_str_at(pod->root, "spec.nodeName");
    ask.node = node ? node : "";
    ask.uid = pod->meta.uid;
    if (parse_options(call, &ask, &status) && find_container(call, pod, &ask, &status) &&
        find_life(call, pod, &ask, &status) && start(call, &ask, &status))
        call_free(call);
    else
        call_refuse(call, &status);
}
