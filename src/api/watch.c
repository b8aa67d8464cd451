// SPDX-License-Identifier: Apache-2.0
/* Watch streams. A change is serialised by the first stream that sends it and shared by all
 * others. A reader that falls behind is told 410 and dropped: nothing is queued without limit. */
#include "api/call.h"
#include "base/mem.h"
#include "model/selector.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOOKMARK_MS 60000
#define EVENT_BYTES 40 /* around the object */
#define TIMEOUT_DEFAULT_MS (30 * 60 * 1000)
#define TIMEOUT_SPREAD_MS (30 * 60 * 1000)

struct stream {
    LIST_ENTRY(stream) siblings;
    struct api *api;
    struct http_exchange *x;
    struct watch *watch;
    const struct kind *kind;
    const struct kind *as; /* the version that was asked for */
    struct filter filter;
    enum shape shape;
    bool with_bookmarks;
    bool is_full; /* fell behind: to be ended when the walk over changes is done */
    time_ms ends_at;
    struct loop_timer timer;
    struct loop_task drop;
};

static void stream_free(struct stream *stream)
{
    LIST_REMOVE(stream, siblings);
    loop_timer_clear(stream->api->loop, &stream->timer);
    loop_task_cancel(stream->api->loop, &stream->drop);
    if (stream->watch != NULL)
        feed_unwatch(stream->watch);
    filter_done(&stream->filter);
    mem_free(stream);
}

static void stream_gone(void *arg)
{
    stream_free(arg);
}

static void stream_end(struct stream *stream, struct buf *last)
{
    http_stream_end(stream->x, last);
    buf_unref(last);
    stream_free(stream);
}

/* ---- events as bytes ---- */

static const char *const TYPE_NAMES[] = {
    [CHANGE_ADDED] = "ADDED", [CHANGE_MODIFIED] = "MODIFIED", [CHANGE_DELETED] = "DELETED"};

static void add_json(const struct stream *stream, const char *type, const struct obj *obj,
                     struct str *out)
{
    str_room(out, obj->json->len + EVENT_BYTES);
    str_add(out, "{\"type\":\"");
    str_add(out, type);
    str_add(out, "\",\"object\":");
    if (stream->shape == SHAPE_META)
        version_add_meta(obj, out);
    else
        version_add(stream->as, obj, out);
    str_add(out, "}\n");
}

static void add_table(const struct stream *stream, const char *type, const struct obj *obj,
                      struct str *out)
{
    char meta[64];
    (void)snprintf(meta, sizeof(meta), "{\"resourceVersion\":\"%" PRIu64 "\"}", obj->revision);
    str_addf(out, "{\"type\":\"%s\",\"object\":", type);
    tables_begin(out, stream->kind, meta);
    tables_row(out, obj, loop_wall(stream->api->loop), NULL);
    str_add(out, "]}}\n");
}

static void add_event(const struct stream *stream, enum change_type type, const struct obj *obj,
                      struct str *out)
{
    if (stream->shape == SHAPE_TABLE)
        add_table(stream, TYPE_NAMES[type], obj, out);
    else
        add_json(stream, TYPE_NAMES[type], obj, out);
}

static struct buf *error_event(int code, const char *reason, const char *text)
{
    struct status status = {0};
    status_set(&status, code, reason, "%s", text);
    struct str out = {0};
    str_add(&out, "{\"type\":\"ERROR\",\"object\":");
    status_write(&status, &out);
    while (out.len > 0 && out.data[out.len - 1] == '\n')
        out.len--;
    str_add(&out, "}\n");
    status_done(&status);
    return buf_take(&out);
}

static struct buf *bookmark(const struct stream *stream, uint64_t revision, bool initial_end)
{
    char api_version[128];
    bool whole = stream->shape == SHAPE_OBJECT;
    struct str out = {0};
    str_add(&out, "{\"type\":\"BOOKMARK\",\"object\":");
    scoped_str meta = {0};
    str_addf(&meta, "{\"resourceVersion\":\"%" PRIu64 "\"%s}", revision,
             initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
    if (stream->shape == SHAPE_TABLE) {
        tables_begin(&out, stream->kind, str_text(&meta));
        str_add(&out, "]}}\n");
    } else {
        str_addf(&out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":%s}}\n",
                 whole ? stream->kind->name : "PartialObjectMetadata",
                 whole ? kind_api_version(stream->as, api_version) : "meta.k8s.io/v1",
                 str_text(&meta));
    }
    return buf_take(&out);
}

/* ---- sending ---- */

static void stream_push(struct stream *stream, struct buf *bytes)
{
    if (stream->is_full)
        return;
    if (http_stream_send(stream->x, bytes) == 0) {
        stream->api->metrics.watch_events++;
        return;
    }
    /* Ending it here would free a watch in the middle of a walk that still uses the stream. */
    stream->is_full = true;
    loop_defer(stream->api->loop, &stream->drop);
}

static void stream_drop(void *arg)
{
    struct stream *stream = arg;
    stream->api->metrics.watches_dropped++;
    stream_end(stream,
               error_event(410, "Expired", "the watcher reads too slowly: list again and resume"));
}

/* With a selector an object may come into view or go out of it. -1: this change is not shown. */
static int shown_as(const struct filter *filter, const struct change *change)
{
    if (filter->labels == NULL && filter->fields == NULL)
        return (int)change->type;
    bool was = change->old != NULL && filter_matches(filter, change->old);
    bool is = change->type != CHANGE_DELETED && filter_matches(filter, change->obj);
    if (is)
        return was ? CHANGE_MODIFIED : CHANGE_ADDED;
    return was ? CHANGE_DELETED : -1;
}

/* What goes out of view is told as it was when it was last in it, as of this change. */
static void add_leaving(const struct stream *stream, const struct change *change, struct str *out)
{
    char revision[24];
    (void)snprintf(revision, sizeof(revision), "%" PRIu64, change->revision);
    scoped_json_mut *doc = obj_borrow(change->old);
    json_mut_set(doc, yyjson_mut_doc_get_root(doc), "metadata.resourceVersion",
                 yyjson_mut_strcpy(doc, revision));
    scoped_obj *last = obj_new(stream->kind, doc, change->revision);
    add_event(stream, CHANGE_DELETED, last, out);
}

/* The bytes of a change are shared by all streams that see it as what it is. Rows of tables are
 * not: they hold an age. */
static void on_change(void *arg, struct change *change)
{
    struct stream *stream = arg;
    int type = shown_as(&stream->filter, change);
    if (type < 0)
        return;
    bool same = type == (int)change->type;
    bool share = same && stream->shape == SHAPE_OBJECT && stream->as == stream->kind;
    if (share && change->as_json != NULL) {
        stream_push(stream, change->as_json);
        return;
    }
    struct str out = {0};
    if (type == CHANGE_DELETED && !same)
        add_leaving(stream, change, &out);
    else
        add_event(stream, (enum change_type)type, change->obj, &out);
    struct buf *bytes = buf_take(&out);
    stream_push(stream, bytes);
    if (share)
        change->as_json = bytes;
    else
        buf_unref(bytes);
}

/* All of it as one chunk: it may be larger than what a reader may lag behind. */
static void send_current(struct stream *stream, const char *ns)
{
    struct cache *cache = stream->api->store->cache;
    struct str out = {0};
    struct obj *obj = cache_first(cache, stream->kind, ns);
    for (; obj != NULL; obj = cache_after(cache, stream->kind, ns, obj)) {
        if (!filter_matches(&stream->filter, obj))
            continue;
        add_event(stream, CHANGE_ADDED, obj, &out);
    }
    struct buf *bytes = buf_take(&out);
    http_stream_snapshot(stream->x, bytes);
    buf_unref(bytes);
}

static void arm(struct stream *stream)
{
    time_ms now = loop_now(stream->api->loop);
    time_ms at = now + BOOKMARK_MS;
    if (!stream->with_bookmarks || at > stream->ends_at)
        at = stream->ends_at;
    loop_timer_set(stream->api->loop, &stream->timer, at);
}

static void on_timer(void *arg)
{
    struct stream *stream = arg;
    if (loop_now(stream->api->loop) >= stream->ends_at) {
        stream_end(stream, NULL);
        return;
    }
    struct buf *bytes = bookmark(stream, feed_revision(stream->api->store->feed), false);
    stream_push(stream, bytes);
    buf_unref(bytes);
    arm(stream);
}

/* ---- starting ---- */

enum start { START_NOW, START_WITH_CURRENT, START_AFTER };

static bool parse_start(struct call *call, enum start *ret_start, uint64_t *ret_revision,
                        struct status *status)
{
    const char *version = call_param(call, "resourceVersion");
    bool initial = call_flag(call, "sendInitialEvents");
    char *end = NULL;
    *ret_revision = version != NULL && *version != '\0' ? strtoull(version, &end, 10) : 0;
    if (end != NULL && (*end != '\0' || *version < '0' || *version > '9')) {
        status_bad_request(status, "resourceVersion must be a number, not \"%s\"", version);
        return false;
    }
    if (initial || *ret_revision == 0)
        *ret_start = START_WITH_CURRENT;
    else
        *ret_start = START_AFTER;
    const char *wish = call_param(call, "sendInitialEvents");
    if (wish != NULL && !initial && *ret_revision == 0)
        *ret_start = START_NOW;
    if (*ret_revision > feed_revision(call->api->store->feed)) {
        status_set(status, 504, "Timeout",
                   "Too large resource version: %" PRIu64 ", current: %" PRIu64, *ret_revision,
                   feed_revision(call->api->store->feed));
        status->retry_after_s = 1;
        return false;
    }
    return true;
}

static time_ms stream_lifetime(const struct call *call)
{
    const char *text = call_param(call, "timeoutSeconds");
    long seconds = text != NULL ? strtol(text, NULL, 10) : 0;
    if (seconds > 0 && seconds < 1000000)
        return seconds * 1000;
    /* Spread, so that watches begun together do not end together: 7919 is a prime. */
    uint64_t spread = call->api->streams_begun * 7919 % TIMEOUT_SPREAD_MS;
    return TIMEOUT_DEFAULT_MS + (time_ms)spread;
}

static struct stream *stream_new(struct call *call, struct filter *filter)
{
    struct api *api = call->api;
    struct stream *stream = mem_zalloc(sizeof(*stream));
    stream->api = api;
    stream->x = call->x;
    stream->kind = call->kind;
    stream->as = call->as;
    stream->filter = *filter;
    stream->shape = call->shape;
    stream->with_bookmarks = call_flag(call, "allowWatchBookmarks");
    api->streams_begun++;
    stream->ends_at = loop_now(api->loop) + stream_lifetime(call);
    loop_timer_init(&stream->timer, on_timer, stream);
    loop_task_init(&stream->drop, stream_drop, stream);
    LIST_INSERT_HEAD(&api->streams, stream, siblings);
    const char *name =
        filter->fields ? field_selector_exact(filter->fields, "metadata.name") : NULL;
    const char *ns = call->ns;
    if (*ns == '\0' && call->kind->namespaced && filter->fields != NULL) {
        const char *exact = field_selector_exact(filter->fields, "metadata.namespace");
        ns = exact ? exact : ns;
    }
    stream->watch = feed_watch(api->store->feed, (struct watch_filter){call->kind, ns, name},
                               on_change, stream);
    return stream;
}

static void begin(struct stream *stream, const char *ns, enum start start, uint64_t revision,
                  bool initial)
{
    struct feed *feed = stream->api->store->feed;
    if (start == START_WITH_CURRENT)
        send_current(stream, ns);
    if (start == START_AFTER && feed_replay(stream->watch, revision) < 0) {
        char text[128];
        (void)snprintf(text, sizeof(text), "too old resource version: %" PRIu64 " (%" PRIu64 ")",
                       revision, feed_oldest(feed));
        stream_end(stream, error_event(410, "Expired", text));
        return;
    }
    if (initial && stream->with_bookmarks) {
        struct buf *bytes = bookmark(stream, feed_revision(feed), true);
        stream_push(stream, bytes);
        buf_unref(bytes);
    }
    arm(stream);
}

void watch_start(struct call *call)
{
    struct status status = {0};
    struct filter filter = {0};
    enum start start;
    uint64_t revision = 0;
    if (!listoptions_check(call, &status) || !parse_start(call, &start, &revision, &status) ||
        !filter_parse(call, &filter, &status)) {
        call_refuse(call, &status);
        return;
    }
    struct stream *stream = stream_new(call, &filter);
    http_stream_start(call->x, 200, "application/json", stream_gone, stream);
    begin(stream, call->ns, start, revision, call_flag(call, "sendInitialEvents"));
    call_free(call);
}

void api_end_streams(struct api *api)
{
    struct stream *stream;
    while ((stream = LIST_FIRST(&api->streams)) != NULL)
        stream_end(stream, NULL);
    podlog_end_all(api);
}
