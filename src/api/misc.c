// SPDX-License-Identifier: Apache-2.0
/* Health, version, metrics. */
#include "api/call.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void reply_text(struct call *call, int code, struct str *text)
{
    struct buf *body = buf_take(text);
    call_reply(call, code, "text/plain; charset=utf-8", "X-Content-Type-Options: nosniff\r\n",
               body);
    buf_unref(body);
}

static void answer_health(struct call *call)
{
    struct api *api = call->api;
    bool readiness = strcmp(call->parts[0], "livez") != 0;
    const char *trouble =
        readiness && api->options.trouble ? api->options.trouble(api->options.arg) : NULL;
    struct str out = {0};
    if (call_param(call, "verbose") != NULL) {
        str_add(&out, "[+]ping ok\n");
        str_addf(&out, "[%c]store %s\n", trouble ? '-' : '+', trouble ? trouble : "ok");
        str_addf(&out, "%s check %s\n", call->parts[0], trouble ? "failed" : "passed");
    } else {
        str_add(&out, trouble ? trouble : "ok");
    }
    reply_text(call, trouble ? 500 : 200, &out);
}

/* The version of Kubernetes' API that clients may take us for; our own is in gitVersion. */
static void answer_version(struct call *call)
{
    struct str out = {0};
    str_add(&out,
            "{\"major\":\"1\",\"minor\":\"32\",\"gitVersion\":\"v1.32.0+muster-" MUSTER_VERSION
            "\",\"gitCommit\":\"\",\"gitTreeState\":\"\",\"buildDate\":\"\",\"goVersion\":"
            "\"\",\"compiler\":\"gcc\",\"platform\":\"linux/amd64\"}\n");
    call_reply_json(call, 200, &out);
}

/* ---- metrics ---- */

static void add_requests(struct str *out, const struct api_metrics *m)
{
    static const char *const METHODS[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"};
    str_add(out, "# HELP muster_http_requests_total Requests answered.\n"
                 "# TYPE muster_http_requests_total counter\n");
    for (size_t i = 0; i < ARRAY_LEN(METHODS); i++) {
        for (size_t code = 0; code < 6; code++) {
            if (m->requests[i][code] == 0)
                continue;
            str_addf(out, "muster_http_requests_total{method=\"%s\",code=\"%zuxx\"} %" PRIu64 "\n",
                     METHODS[i], code, m->requests[i][code]);
        }
    }
}

static void add_metric(struct str *out, const char *name, const char *type, const char *help,
                       uint64_t value)
{
    str_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name, help, name, type, name,
             value);
}

static void add_objects(struct str *out, const struct store *store)
{
    str_add(out, "# HELP muster_objects Objects of each kind.\n# TYPE muster_objects gauge\n");
    for (size_t i = 0; KINDS[i] != NULL; i++)
        str_addf(out, "muster_objects{group=\"%s\",kind=\"%s\"} %zu\n", KINDS[i]->group,
                 KINDS[i]->name, cache_count(store->cache, KINDS[i]));
}

static void add_controllers(struct str *out, const struct manager *manager)
{
    struct manager_stats stats[32];
    size_t n = manager ? manager_stats(manager, stats, ARRAY_LEN(stats)) : 0;
    if (n == 0)
        return;
    str_add(out, "# HELP muster_reconciles_total Keys that a controller worked on.\n"
                 "# TYPE muster_reconciles_total counter\n");
    for (size_t i = 0; i < n; i++)
        str_addf(out, "muster_reconciles_total{controller=\"%s\"} %" PRIu64 "\n",
                 stats[i].controller, stats[i].reconciles);
    str_add(out, "# HELP muster_reconcile_failures_total Keys that had to be tried again.\n"
                 "# TYPE muster_reconcile_failures_total counter\n");
    for (size_t i = 0; i < n; i++)
        str_addf(out, "muster_reconcile_failures_total{controller=\"%s\"} %" PRIu64 "\n",
                 stats[i].controller, stats[i].failures);
}

static void add_jobsets(struct str *out, const struct store *store)
{
    static const struct {
        const char *how, *path;
    } WAYS[] = {{"recreate", "status.restarts"}, {"in-place", "status.inPlaceRestarts"}};
    if (cache_count(store->cache, &KIND_JOBSET) == 0)
        return;
    str_add(out, "# HELP muster_jobset_restarts Restarts of all Jobs of a JobSet.\n"
                 "# TYPE muster_jobset_restarts gauge\n");
    for (size_t i = 0; i < ARRAY_LEN(WAYS); i++) {
        const struct obj *set = cache_first(store->cache, &KIND_JOBSET, NULL);
        for (; set != NULL; set = cache_after(store->cache, &KIND_JOBSET, NULL, set))
            str_addf(out,
                     "muster_jobset_restarts{namespace=\"%s\",jobset=\"%s\",how=\"%s\"} %" PRId64
                     "\n",
                     obj_namespace(set), set->meta.name, WAYS[i].how,
                     json_int_at(set->root, WAYS[i].path, 0));
    }
    str_add(out, "# HELP muster_jobset_epoch The epoch in which the members of a JobSet run.\n"
                 "# TYPE muster_jobset_epoch gauge\n");
    const struct obj *set = cache_first(store->cache, &KIND_JOBSET, NULL);
    for (; set != NULL; set = cache_after(store->cache, &KIND_JOBSET, NULL, set))
        str_addf(out, "muster_jobset_epoch{namespace=\"%s\",jobset=\"%s\"} %" PRId64 "\n",
                 obj_namespace(set), set->meta.name,
                 json_int_at(set->root, "status.syncedEpoch", 0));
}

static bool refuse_metrics(struct call *call)
{
    struct status status = {0};
    if (auth_allows_path(&call->who, "/metrics"))
        return false;
    status_set(&status, 403, "Forbidden",
               "forbidden: User \"%s\" cannot get path \"/metrics\": a token of the role view can",
               call->who.name);
    call_refuse(call, &status);
    return true;
}

static void answer_metrics(struct call *call)
{
    struct api *api = call->api;
    struct str out = {0};
    if (refuse_metrics(call))
        return;
    add_requests(&out, &api->metrics);
    add_metric(&out, "muster_http_request_milliseconds_total", "counter",
               "Time spent answering, summed up.", api->metrics.took_ms_sum);
    add_metric(&out, "muster_watches", "gauge", "Open watches.", feed_watches(api->store->feed));
    add_metric(&out, "muster_watch_events_total", "counter", "Events sent to watchers.",
               api->metrics.watch_events);
    add_metric(&out, "muster_watches_dropped_total", "counter",
               "Watchers that read too slowly and were ended.", api->metrics.watches_dropped);
    add_metric(&out, "muster_store_revision", "gauge", "The latest revision.",
               feed_revision(api->store->feed));
    add_objects(&out, api->store);
    add_jobsets(&out, api->store);
    add_controllers(&out, api->options.manager);
    if (api->options.manager != NULL)
        manager_metrics(api->options.manager, &out);
    if (api->options.more_metrics != NULL)
        api->options.more_metrics(api->options.arg, &out);
    struct buf *body = buf_take(&out);
    call_reply(call, 200, "text/plain; version=0.0.4; charset=utf-8", NULL, body);
    buf_unref(body);
}

static void answer_root(struct call *call)
{
    struct str out = {0};
    str_add(&out, "{\"paths\":[\"/api\",\"/api/v1\",\"/apis\",\"/healthz\",\"/livez\","
                  "\"/metrics\",\"/openapi/v3\",\"/readyz\",\"/version\"]}\n");
    call_reply_json(call, 200, &out);
}

void misc_answer(struct call *call)
{
    static const struct {
        const char *path;
        void (*answer)(struct call *call);
    } ROUTES[] = {{"healthz", answer_health},
                  {"livez", answer_health},
                  {"readyz", answer_health},
                  {"version", answer_version},
                  {"metrics", answer_metrics}};
    bool get = strcmp(call->req->method, "GET") == 0 || strcmp(call->req->method, "HEAD") == 0;
    if (get && call->part_count == 0) {
        answer_root(call);
        return;
    }
    for (size_t i = 0; get && i < ARRAY_LEN(ROUTES); i++) {
        if (strcmp(call->parts[0], ROUTES[i].path) == 0) {
            ROUTES[i].answer(call);
            return;
        }
    }
    call_not_found(call);
}
