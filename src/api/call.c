// SPDX-License-Identifier: Apache-2.0
/* From a request to a call: path, query, target, verb, identity; then the handler of the verb. */
#include "api/call.h"
#include "base/map.h"
#include "base/mem.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- answering ---- */

void call_free(struct call *call)
{
    arena_done(&call->arena);
    mem_free(call);
}

void call_reply(struct call *call, int code, const char *content_type, const char *headers,
                struct buf *body)
{
    if (call->x != NULL)
        http_reply(call->x, code, content_type, headers, body);
    call_free(call);
}

void call_reply_json(struct call *call, int code, struct str *json)
{
    struct buf *body = buf_take(json);
    call_reply(call, code, "application/json", NULL, body);
    buf_unref(body);
}

void call_refuse(struct call *call, struct status *status)
{
    scoped_str text = {0};
    char headers[128] = "";
    status_write(status, &text);
    if (status->code == 401)
        (void)snprintf(headers, sizeof(headers), "WWW-Authenticate: Bearer realm=\"muster\"\r\n");
    if (status->retry_after_s > 0)
        (void)snprintf(headers, sizeof(headers), "Retry-After: %d\r\n", status->retry_after_s);
    int code = status->code;
    status_done(status);
    struct buf *body = buf_take(&text);
    call_reply(call, code, "application/json", headers, body);
    buf_unref(body);
}

/* ---- reading the request ---- */

const char *call_param(const struct call *call, const char *name)
{
    for (size_t i = 0; i < call->param_count; i++) {
        if (strcmp(call->params[i].name, name) == 0)
            return call->params[i].value;
    }
    return NULL;
}

bool call_flag(const struct call *call, const char *name)
{
    const char *value = call_param(call, name);
    return value != NULL && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0;
}

bool call_accepts(const struct call *call, const char *what)
{
    const char *accept = http_header(call->x, "accept");
    return accept != NULL && strstr(accept, what) != NULL;
}

bool call_wants_table(const struct call *call)
{
    return call->shape == SHAPE_TABLE;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* NULL for a broken escape or a NUL byte. */
static const char *decoded(struct arena *arena, struct sv text, bool plus_is_space)
{
    char *out = arena_alloc(arena, text.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '+' && plus_is_space)
            c = ' ';
        if (c == '%') {
            if (i + 2 >= text.len)
                return NULL;
            int high = hex_digit(text.ptr[i + 1]), low = hex_digit(text.ptr[i + 2]);
            if (high < 0 || low < 0 || (high == 0 && low == 0))
                return NULL;
            c = (char)(high * 16 + low);
            i += 2;
        }
        out[n++] = c;
    }
    return out;
}

static bool split_path(struct call *call)
{
    struct sv rest = sv_of(call->req->path);
    while (rest.len > 0) {
        struct sv part = sv_cut(&rest, '/');
        if (part.len == 0)
            continue;
        const char *text = decoded(&call->arena, part, false);
        if (text == NULL || call->part_count == ARRAY_LEN(call->parts))
            return false;
        call->parts[call->part_count++] = text;
    }
    return true;
}

static bool split_query(struct call *call)
{
    struct sv rest = sv_of(call->req->query);
    while (rest.len > 0) {
        struct sv value = sv_cut(&rest, '&');
        struct sv name = sv_cut(&value, '=');
        if (name.len == 0)
            continue;
        if (call->param_count == ARRAY_LEN(call->params))
            return false;
        struct param *param = &call->params[call->param_count++];
        param->name = decoded(&call->arena, name, true);
        param->value = decoded(&call->arena, value, true);
        if (param->name == NULL || param->value == NULL)
            return false;
    }
    return true;
}

/* ---- from path to target ---- */

static bool is_namespace_sub(const char *word)
{
    return strcmp(word, "status") == 0 || strcmp(word, "finalize") == 0;
}

static const char *part(const struct call *call, size_t i)
{
    return i < call->part_count ? call->parts[i] : "";
}

static bool is_served(const struct api *api, const struct kind *kind)
{
    return kind != NULL && (!kind_is_reading(kind) || api->options.usage != NULL);
}

const struct kind *api_kind(const struct api *api, size_t index)
{
    const struct kind *kind = kind_served(index);
    return is_served(api, kind) ? kind : NULL; /* readings come last */
}

/* /api/v1/..., /apis/GROUP/VERSION/...; false: no such resource. */
static bool find_target(struct call *call)
{
    bool core = strcmp(part(call, 0), "api") == 0;
    const char *group = core ? "" : part(call, 1);
    const char *version = core ? part(call, 1) : part(call, 2);
    size_t at = core ? 2 : 3;
    bool scoped = strcmp(part(call, at), "namespaces") == 0 && call->part_count > at + 2 &&
                  !(call->part_count == at + 3 && core && is_namespace_sub(part(call, at + 2)));
    if (scoped) {
        call->ns = part(call, at + 1);
        at += 2;
    }
    call->as = kind_of_resource(group, version, part(call, at));
    call->kind = kind_stored(call->as);
    call->name = part(call, at + 1);
    call->sub = part(call, at + 2);
    if (!is_served(call->api, call->kind) || call->part_count > at + 3 ||
        (scoped && !call->kind->namespaced))
        return false;
    /* A namespaced object has no address without its namespace. */
    return !(call->kind->namespaced && !scoped && *call->name != '\0');
}

/* Sub-resources that are only asked for, never read. */
static bool is_posted(const char *sub)
{
    return strcmp(sub, "binding") == 0 || strcmp(sub, "restart") == 0 ||
           strcmp(sub, "eviction") == 0;
}

static bool find_verb(struct call *call)
{
    const char *method = call->req->method;
    bool named = *call->name != '\0';
    bool get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (get && (call_flag(call, "watch") && !named))
        call->verb = VERB_WATCH;
    else if (get)
        call->verb = named ? VERB_GET : VERB_LIST;
    else if (strcmp(method, "POST") == 0 && (!named || is_posted(call->sub)))
        call->verb = VERB_CREATE;
    else if (strcmp(method, "PUT") == 0 && named)
        call->verb = VERB_UPDATE;
    else if (strcmp(method, "PATCH") == 0 && named)
        call->verb = VERB_PATCH;
    else if (strcmp(method, "DELETE") == 0 && *call->sub == '\0')
        call->verb = named ? VERB_DELETE : VERB_DELETE_MANY;
    else
        return false;
    bool only_read = strcmp(call->sub, "log") == 0 || strcmp(call->sub, "explain") == 0;
    return call->verb == VERB_GET || !only_read;
}

static bool sub_exists(const struct call *call)
{
    if (*call->sub == '\0')
        return true;
    if (strcmp(call->sub, "status") == 0)
        return call->kind->has_status;
    if (strcmp(call->sub, "scale") == 0)
        return call->kind->scale != NULL;
    if (strcmp(call->sub, "restart") == 0)
        return call->kind == &KIND_JOBSET && strcmp(call->req->method, "POST") == 0;
    if (is_posted(call->sub) || strcmp(call->sub, "log") == 0)
        return call->kind == &KIND_POD;
    if (strcmp(call->sub, "explain") == 0)
        return call->kind == &KIND_WORKLOAD;
    return strcmp(call->sub, "finalize") == 0 && call->kind == &KIND_NAMESPACE;
}

/* What is measured can be neither changed nor watched. */
static bool verb_exists(const struct call *call)
{
    if (call->verb == VERB_DELETE_MANY && call->kind->is_deleted_singly)
        return false;
    bool reads = call->verb == VERB_GET || call->verb == VERB_LIST;
    return reads || !kind_is_reading(call->kind);
}

static void run_verb(struct call *call)
{
    switch (call->verb) {
    case VERB_GET:
        if (strcmp(call->sub, "log") == 0)
            podlog_start(call);
        else
            read_get(call);
        return;
    case VERB_LIST:
        read_list(call);
        return;
    case VERB_WATCH:
        watch_start(call);
        return;
    case VERB_CREATE:
    case VERB_UPDATE:
    case VERB_PATCH:
    case VERB_DELETE:
    case VERB_DELETE_MANY:
        change_answer(call);
        return;
    }
}

void call_not_found(struct call *call)
{
    struct status status = {0};
    status_set(&status, 404, "NotFound", "the server could not find the requested resource");
    status.resource = ""; /* clients of Kubernetes look into the details of each 404 */
    call_refuse(call, &status);
}

/* What Kubernetes has and a pod of plain processes has not: told by name, since kubectl would only
 * say that something was not found. */
static bool sub_is_missed(const struct call *call)
{
    static const char *const SUBS[] = {"exec", "attach", "portforward", "proxy"};
    for (size_t i = 0; call->kind == &KIND_POD && i < ARRAY_LEN(SUBS); i++) {
        if (strcmp(call->sub, SUBS[i]) == 0)
            return true;
    }
    return false;
}

static void refuse_missed(struct call *call)
{
    struct status status = {0};
    status_set(&status, 405, "MethodNotAllowed",
               "%s is not supported: pods here are plain processes of their node, with its files "
               "and its network; run the command there, or connect to the port there",
               call->sub);
    call_refuse(call, &status);
}

static void resource_answer(struct call *call)
{
    struct status status = {0};
    bool found = find_target(call);
    if (found && sub_is_missed(call)) {
        refuse_missed(call);
        return;
    }
    if (!found || !sub_exists(call)) {
        call_not_found(call);
        return;
    }
    if (!find_verb(call) || !verb_exists(call)) {
        status_set(&status, 405, "MethodNotAllowed",
                   "the server does not allow this method on the requested resource");
        call_refuse(call, &status);
        return;
    }
    if (!auth_allows(call, &status)) {
        call_refuse(call, &status);
        return;
    }
    call->shape = accept_shape(http_header(call->x, "accept"));
    if (call->shape == SHAPE_NONE && strcmp(call->sub, "log") != 0) {
        status_set(&status, 406, "NotAcceptable",
                   "only the following media types are accepted: application/json, alone or with "
                   "as=Table or as=PartialObjectMetadata");
        call_refuse(call, &status);
        return;
    }
    if (kind_is_reading(call->kind))
        usage_answer(call);
    else
        run_verb(call);
}

/* ---- the front door ---- */

static bool is_health(const struct call *call)
{
    const char *first = part(call, 0);
    return strcmp(first, "healthz") == 0 || strcmp(first, "livez") == 0 ||
           strcmp(first, "readyz") == 0;
}

static void dispatch(struct call *call)
{
    const char *first = part(call, 0);
    bool core = strcmp(first, "api") == 0;
    bool groups = strcmp(first, "apis") == 0;
    if ((core && call->part_count <= 2) || (groups && call->part_count <= 3))
        discovery_answer(call);
    else if (groups && selfreview_answer(call))
        return;
    else if (core || groups)
        resource_answer(call);
    else if (strcmp(first, "openapi") == 0)
        openapi_answer(call);
    else
        misc_answer(call);
}

/* Passed over, `kubectl --as` would do with all rights what was to be done with fewer. */
static void refuse_impersonation(struct call *call, const char *other)
{
    static const struct kind USERS = {.group = "", .plural = "users"};
    struct status status = {0};
    char why[512];
    (void)snprintf(why, sizeof(why),
                   "User \"%s\" cannot impersonate resource \"users\": nobody can here; a token of "
                   "another role is made with 'muster token create'",
                   call->who.name);
    status_forbidden(&status, &USERS, other, why);
    call_refuse(call, &status);
}

bool api_may_send(void *arg, const struct http_exchange *x)
{
    struct identity who;
    return auth_identify(arg, x, &who);
}

void api_on_request(void *arg, struct http_exchange *x)
{
    struct call *call = mem_zalloc(sizeof(*call));
    *call = (struct call){
        .api = arg, .x = x, .req = http_request_of(x), .ns = "", .name = "", .sub = ""};
    arena_init(&call->arena);
    struct status status = {0};
    if (!split_path(call) || !split_query(call)) {
        status_bad_request(&status, "the address cannot be understood: too long, or a broken "
                                    "%%-escape");
        call_refuse(call, &status);
        return;
    }
    bool known = auth_identify(call->api, x, &call->who);
    http_tag(x, known ? call->who.name : "");
    if (!known && !is_health(call)) {
        status_set(&status, 401, "Unauthorized", "Unauthorized");
        call_refuse(call, &status);
        return;
    }
    const char *other = http_header(x, "impersonate-user");
    if (known && other != NULL) {
        refuse_impersonation(call, other);
        return;
    }
    dispatch(call);
}

void api_on_done(void *arg, const struct http_done *done)
{
    struct api *api = arg;
    size_t hundreds = done->status >= 100 && done->status < 600 ? (size_t)done->status / 100 : 0;
    static const char *const METHODS[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"};
    for (size_t i = 0; i < ARRAY_LEN(METHODS); i++) {
        if (strcmp(done->req->method, METHODS[i]) == 0)
            api->metrics.requests[i][hundreds]++;
    }
    api->metrics.took_ms_sum += done->took_ms > 0 ? (uint64_t)done->took_ms : 0;
    if (api->log != NULL) {
        access_log_line(api->log, loop_wall(api->loop), done);
        loop_defer(api->loop, &api->log_flush);
    }
}

static void flush_log(void *arg)
{
    struct api *api = arg;
    access_log_flush(api->log);
}

int api_new(const struct api_options *options, struct api **ret_api, struct err *err)
{
    struct api *api = mem_zalloc(sizeof(*api));
    api->options = *options;
    api->loop = options->loop;
    api->store = options->store;
    LIST_INIT(&api->streams);
    LIST_INIT(&api->log_streams);
    loop_task_init(&api->log_flush, flush_log, api);
    api->openapi = map_new();
    int r = options->access_log ? access_log_open(options->access_log, &api->log, err) : 0;
    if (r < 0) {
        api_free(api);
        return r;
    }
    *ret_api = api;
    return 0;
}

static bool free_document(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    buf_unref(value);
    return true;
}

void api_free(struct api *api)
{
    if (api == NULL)
        return;
    loop_task_cancel(api->loop, &api->log_flush);
    access_log_close(api->log);
    (void)map_each(api->openapi, free_document, NULL);
    map_free(api->openapi);
    mem_free(api);
}
