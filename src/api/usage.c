// SPDX-License-Identifier: Apache-2.0
/* metrics.k8s.io: what pods and nodes use, for `kubectl top` and whoever else asks. Names and
 * labels are those of the stored Pod or Node, numbers come from the host's usage_source at the
 * moment of the question. An object of which nothing is known (a pod that does not run yet) is left
 * out. */
#include "api/call.h"
#include <inttypes.h>
#include <string.h>

/* What one object uses, while its source tells. */
struct measured {
    struct str parts; /* the members of "containers", or the value of "usage" */
    size_t count;
    time_ms at;     /* of the oldest reading */
    time_ms window; /* the longest */
    bool is_pod;
};

static void add_reading(void *arg, const struct usage_reading *reading)
{
    struct measured *measured = arg;
    if (measured->count++ == 0 || reading->at < measured->at)
        measured->at = reading->at;
    if (reading->window_ms > measured->window)
        measured->window = reading->window_ms;
    if (measured->is_pod) {
        str_add(&measured->parts, measured->count > 1 ? ",{\"name\":" : "{\"name\":");
        json_quote(reading->name, strlen(reading->name), &measured->parts);
        str_add(&measured->parts, ",\"usage\":");
    }
    str_addf(&measured->parts, "{\"cpu\":\"%" PRId64 "n\",\"memory\":\"%" PRId64 "Ki\"}",
             reading->cpu_nano, reading->memory_bytes / 1024);
    str_add(&measured->parts, measured->is_pod ? "}" : "");
}

static void add_meta(struct str *out, const struct obj *obj, const struct measured *measured)
{
    str_add(out, "\"metadata\":{\"name\":");
    json_quote(obj->meta.name, strlen(obj->meta.name), out);
    if (measured->is_pod) {
        str_add(out, ",\"namespace\":");
        json_quote(obj_namespace(obj), strlen(obj_namespace(obj)), out);
    }
    str_add(out, ",\"creationTimestamp\":\"");
    rfc3339_format(measured->at, out);
    str_addc(out, '"');
    if (obj->meta.labels != NULL) {
        str_add(out, ",\"labels\":");
        json_write_val(obj->meta.labels, out);
    }
    str_addc(out, '}');
}

/* One PodMetrics or NodeMetrics; false: nothing is known of it. */
static bool write_one(const struct call *call, const struct obj *obj, struct str *out)
{
    const struct usage_source *source = call->api->options.usage;
    struct measured measured = {.is_pod = call->kind == &KIND_POD_METRICS};
    if (measured.is_pod)
        source->pod(source->arg, obj->meta.uid, add_reading, &measured);
    else
        source->node(source->arg, obj->meta.name, add_reading, &measured);
    if (measured.count > 0) {
        char api_version[128];
        str_addf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", call->kind->name,
                 kind_api_version(call->kind, api_version));
        add_meta(out, obj, &measured);
        str_add(out, ",\"timestamp\":\"");
        rfc3339_format(measured.at, out);
        str_add(out, "\",\"window\":\"");
        duration_format(measured.window, out);
        str_addf(out, measured.is_pod ? "\",\"containers\":[%s]}" : "\",\"usage\":%s}",
                 str_text(&measured.parts));
    }
    str_done(&measured.parts);
    return measured.count > 0;
}

/* ---- answers ---- */

static void add_row(const struct call *call, struct sv json, struct str *out)
{
    scoped_json *doc = NULL;
    if (json_parse(json, &doc, NULL) == 0) /* we wrote it ourselves */
        tables_row_view(out, call->kind, yyjson_doc_get_root(doc), loop_wall(call->api->loop),
                        call_param(call, "includeObject"));
}

static void add_item(const struct call *call, const struct obj *obj, struct str *out)
{
    scoped_str one = {0};
    if (!write_one(call, obj, &one))
        return;
    if (call_wants_table(call)) {
        add_row(call, (struct sv){str_text(&one), one.len}, out);
        return;
    }
    if (out->data[out->len - 1] != '[')
        str_addc(out, ',');
    str_addn(out, str_text(&one), one.len);
}

static void begin(const struct call *call, struct str *out)
{
    char api_version[128];
    if (call_wants_table(call))
        tables_begin(out, call->kind, "{}");
    else
        str_addf(out, "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{},\"items\":[",
                 call->kind->name, kind_api_version(call->kind, api_version));
}

static void answer_list(struct call *call, const struct kind *of)
{
    struct cache *cache = call->api->store->cache;
    struct status status = {0};
    struct filter filter = {0};
    struct str out = {0};
    if (!filter_parse(call, &filter, &status)) {
        call_refuse(call, &status);
        return;
    }
    begin(call, &out);
    struct obj *obj = cache_first(cache, of, call->ns);
    for (; obj != NULL; obj = cache_after(cache, of, call->ns, obj)) {
        if (filter_matches(&filter, obj))
            add_item(call, obj, &out);
    }
    filter_done(&filter);
    str_add(&out, "]}\n");
    call_reply_json(call, 200, &out);
}

static void answer_get(struct call *call, const struct kind *of)
{
    const struct obj *obj = cache_get(call->api->store->cache, of, call->ns, call->name);
    struct str out = {0};
    if (obj == NULL || !write_one(call, obj, &out)) {
        struct status status = {0};
        status_not_found(&status, call->kind, call->name);
        call_refuse(call, &status);
        return;
    }
    if (call_wants_table(call)) {
        struct str table = {0};
        tables_begin(&table, call->kind, "{}");
        add_row(call, (struct sv){str_text(&out), out.len}, &table);
        tables_end(&table);
        str_done(&out);
        out = table;
    }
    call_reply_json(call, 200, &out);
}

void usage_answer(struct call *call)
{
    const struct kind *of = call->kind == &KIND_POD_METRICS ? &KIND_POD : &KIND_NODE;
    if (*call->name != '\0')
        answer_get(call, of);
    else
        answer_list(call, of);
}
