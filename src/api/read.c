// SPDX-License-Identifier: Apache-2.0
/* GET of one object and LIST. A list is spliced from the objects' bytes.
 *
 * Pages: the continue token names the revision of the first page and the last object seen. Later
 * pages show the objects as they are by then, under the first page's revision: whoever watches
 * from that revision hears of everything that changed in between. When the window of changes no
 * longer reaches back that far, the token has expired (410) and the client starts anew. */
#include "api/call.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one ---- */

static void get_as_table(struct call *call, const struct obj *obj)
{
    char meta[64];
    (void)snprintf(meta, sizeof(meta), "{\"resourceVersion\":\"%" PRIu64 "\"}", obj->revision);
    struct str out = {0};
    tables_begin(&out, call->kind, meta);
    tables_row_as(&out, call->as, obj, loop_wall(call->api->loop),
                  call_param(call, "includeObject"));
    tables_end(&out);
    call_reply_json(call, 200, &out);
}

/* What a controller knows of it and no field of it says. */
static void explain(struct call *call, const struct obj *obj)
{
    struct manager *manager = call->api->options.manager;
    struct str out = {0};
    if (manager != NULL && manager_explain(manager, obj, &out)) {
        call_reply_json(call, 200, &out);
        return;
    }
    str_done(&out);
    call_not_found(call);
}

void read_get(struct call *call)
{
    const struct obj *obj = cache_get(call->api->store->cache, call->kind, call->ns, call->name);
    if (obj == NULL) {
        struct status status = {0};
        status_not_found(&status, call->kind, call->name);
        call_refuse(call, &status);
        return;
    }
    if (strcmp(call->sub, "explain") == 0) {
        explain(call, obj);
        return;
    }
    if (strcmp(call->sub, "scale") == 0) {
        struct str out = {0};
        tables_scale(call, obj, &out);
        call_reply_json(call, 200, &out);
        return;
    }
    if (call_wants_table(call)) {
        get_as_table(call, obj);
        return;
    }
    if (call->shape == SHAPE_META) {
        struct str out = {0};
        version_add_meta(obj, &out);
        call_reply_json(call, 200, &out);
        return;
    }
    struct buf *bytes = version_bytes(call->as, obj);
    call_reply(call, 200, "application/json", NULL, bytes);
    buf_unref(bytes);
}

/* ---- many ---- */

struct page {
    uint64_t revision;
    char after_ns[64];
    char after_name[256];
    bool is_first;
    size_t limit; /* 0: all */
};

static bool parse_number(const char *text, uint64_t *ret)
{
    char *end = NULL;
    if (text == NULL || *text < '0' || *text > '9' || strlen(text) > 19)
        return false;
    *ret = strtoull(text, &end, 10);
    return *end == '\0';
}

static bool parse_continue(const char *token, struct page *page)
{
    struct sv rest = sv_of(token);
    struct sv revision = sv_cut(&rest, '.');
    struct sv ns = sv_cut(&rest, '.');
    char number[24];
    if (revision.len >= sizeof(number) || ns.len >= sizeof(page->after_ns) ||
        rest.len >= sizeof(page->after_name) || rest.len == 0)
        return false;
    (void)snprintf(number, sizeof(number), "%.*s", (int)revision.len, revision.ptr);
    (void)snprintf(page->after_ns, sizeof(page->after_ns), "%.*s", (int)ns.len, ns.ptr);
    (void)snprintf(page->after_name, sizeof(page->after_name), "%.*s", (int)rest.len, rest.ptr);
    page->is_first = false;
    return parse_number(number, &page->revision);
}

/* Versions of the past are not kept as lists: one can be shown as long as it is what is there. */
static bool page_exact(const struct call *call, uint64_t revision, struct page *page,
                       struct status *status)
{
    if (feed_has_changed(call->api->store->feed, call->kind, revision)) {
        status_set(status, 410, "Expired", "The resourceVersion for the provided list is too old.");
        return false;
    }
    page->revision = revision;
    return true;
}

static bool page_parse(const struct call *call, struct page *page, struct status *status)
{
    struct feed *feed = call->api->store->feed;
    const char *token = call_param(call, "continue");
    const char *version = call_param(call, "resourceVersion");
    const char *limit = call_param(call, "limit");
    uint64_t number = 0;
    *page = (struct page){.revision = feed_revision(feed), .is_first = true};
    if (limit != NULL && *limit != '\0' && !parse_number(limit, &number)) {
        status_bad_request(status, "limit must be a whole number, not \"%s\"", limit);
        return false;
    }
    page->limit = (size_t)number;
    if (token != NULL && *token != '\0') {
        if (!parse_continue(token, page)) {
            status_bad_request(status, "continue key is not valid: \"%s\"", token);
            return false;
        }
        if (page->revision < feed_oldest(feed)) {
            status_set(status, 410, "Expired",
                       "The provided continue parameter is too old to display a consistent list "
                       "result. You must start a new list without the continue parameter.");
            return false;
        }
        return true;
    }
    if (version != NULL && *version != '\0' && !parse_number(version, &number)) {
        status_bad_request(status, "resourceVersion must be a number, not \"%s\"", version);
        return false;
    }
    if (version != NULL && *version != '\0' && number > page->revision) {
        status_set(status, 504, "Timeout",
                   "Too large resource version: %" PRIu64 ", current: %" PRIu64, number,
                   page->revision);
        status->retry_after_s = 1;
        return false;
    }
    return !str_eq(call_param(call, "resourceVersionMatch"), "Exact") ||
           page_exact(call, number, page, status);
}

struct listing {
    const struct obj **items; /* in the call's arena */
    size_t len;
    size_t remaining; /* behind the last one, when the list was cut */
};

static void collect(struct call *call, const struct page *page, const struct filter *filter,
                    struct listing *out)
{
    struct cache *cache = call->api->store->cache;
    size_t cap = cache_count(cache, call->kind);
    if (page->limit > 0 && page->limit < cap)
        cap = page->limit;
    out->items = arena_alloc(&call->arena, (cap + 1) * sizeof(*out->items));
    struct obj *obj = page->is_first ? cache_first(cache, call->kind, call->ns)
                                     : cache_behind(cache, call->kind, call->ns, page->after_ns,
                                                    page->after_name);
    for (; obj != NULL; obj = cache_after(cache, call->kind, call->ns, obj)) {
        if (!filter_matches(filter, obj))
            continue;
        if (out->len == cap) {
            out->remaining = 1; /* counting the rest would cost the whole list each page */
            return;
        }
        out->items[out->len++] = obj;
    }
}

static void list_meta(const struct page *page, const struct listing *list, struct str *out)
{
    str_addf(out, "{\"resourceVersion\":\"%" PRIu64 "\"", page->revision);
    if (list->remaining > 0 && list->len > 0) {
        const struct obj *last = list->items[list->len - 1];
        str_addf(out, ",\"continue\":\"%" PRIu64 ".%s.%s\"", page->revision, obj_namespace(last),
                 last->meta.name);
    }
    str_addc(out, '}');
}

static void add_metas(const char *meta, const struct listing *list, struct str *out)
{
    str_addf(out,
             "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\","
             "\"metadata\":%s,\"items\":[",
             meta);
    for (size_t i = 0; i < list->len; i++) {
        if (i > 0)
            str_addc(out, ',');
        version_add_meta(list->items[i], out);
    }
    str_add(out, "]}\n");
}

static void add_items(const struct kind *kind, const char *meta, const struct listing *list,
                      struct str *out)
{
    char api_version[128];
    size_t bytes = 256 + strlen(meta);
    for (size_t i = 0; i < list->len; i++)
        bytes += list->items[i]->json->len + 1;
    (void)str_reserve(out, bytes);
    str_addf(out, "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":%s,\"items\":[",
             kind->name, kind_api_version(kind, api_version), meta);
    for (size_t i = 0; i < list->len; i++) {
        if (i > 0)
            str_addc(out, ',');
        version_add(kind, list->items[i], out);
    }
    str_add(out, "]}\n");
}

void read_list(struct call *call)
{
    struct status status = {0};
    struct page page;
    struct filter filter = {0};
    if (!listoptions_check(call, &status) || !page_parse(call, &page, &status) ||
        !filter_parse(call, &filter, &status)) {
        call_refuse(call, &status);
        return;
    }
    struct listing list = {0};
    collect(call, &page, &filter, &list);
    filter_done(&filter);
    scoped_str meta = {0};
    list_meta(&page, &list, &meta);
    struct str out = {0};
    if (call_wants_table(call)) {
        time_ms now = loop_wall(call->api->loop);
        tables_begin(&out, call->kind, str_text(&meta));
        for (size_t i = 0; i < list.len; i++)
            tables_row_as(&out, call->as, list.items[i], now, call_param(call, "includeObject"));
        tables_end(&out);
    } else if (call->shape == SHAPE_META) {
        add_metas(str_text(&meta), &list, &out);
    } else {
        add_items(call->as, str_text(&meta), &list, &out);
    }
    call_reply_json(call, 200, &out);
}
