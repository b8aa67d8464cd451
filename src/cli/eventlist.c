// SPDX-License-Identifier: Apache-2.0
#include "cli/eventlist.h"
#include <ctype.h>
#include <stdlib.h>

/* The times an event may carry, latest first: the two APIs that write them differ. */
static const char *const LAST[] = {"series.lastObservedTime", "lastTimestamp", "eventTime",
                                   "firstTimestamp", "metadata.creationTimestamp"};
static const char *const FIRST[] = {"firstTimestamp", "eventTime", "metadata.creationTimestamp"};

static time_ms first_time(yyjson_val *event, const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        time_ms at = 0;
        const char *text = json_str_at(event, paths[i]);
        if (text != NULL && rfc3339_parse(sv_of(text), &at, NULL) == 0)
            return at;
    }
    return 0;
}

time_ms event_time(yyjson_val *event)
{
    return first_time(event, LAST, ARRAY_LEN(LAST));
}

struct sortable {
    time_ms at;
    size_t index;
    yyjson_val *event;
};

/* Of the same time the server's order is kept. */
static int sortable_cmp(const void *a, const void *b)
{
    const struct sortable *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

void eventlist_sort(yyjson_val *items, struct eventlist *ret_list)
{
    VEC(struct sortable) all = {0};
    size_t i, n;
    yyjson_val *event;
    yyjson_arr_foreach(items, i, n, event)
    {
        vec_push(&all, ((struct sortable){event_time(event), i, event}));
    }
    if (all.len > 0)
        qsort(all.items, all.len, sizeof(*all.items), sortable_cmp);
    *ret_list = (struct eventlist){0};
    for (size_t k = 0; k < all.len; k++)
        vec_push(&ret_list->list, all.items[k].event);
    vec_done(&all);
}

void eventlist_done(struct eventlist *list)
{
    vec_done(&list->list);
}

static void add_age(time_ms now, time_ms at, struct str *out)
{
    if (at == 0)
        str_add(out, "<unknown>");
    else
        duration_human(now > at ? now - at : 0, out);
}

void event_age(yyjson_val *event, time_ms now, struct str *out)
{
    int64_t count = json_int_at(event, "series.count", json_int_at(event, "count", 1));
    add_age(now, event_time(event), out);
    if (count <= 1)
        return;
    str_addf(out, " (x%lld over ", (long long)count);
    add_age(now, first_time(event, FIRST, ARRAY_LEN(FIRST)), out);
    str_addc(out, ')');
}

void event_object(yyjson_val *event, struct str *out)
{
    const char *kind = json_str_at(event, "involvedObject.kind");
    const char *name = json_str_at(event, "involvedObject.name");
    for (; kind != NULL && *kind != '\0'; kind++)
        str_addc(out, (char)tolower((unsigned char)*kind));
    str_addf(out, "/%s", name ? name : "");
}

const char *event_source(yyjson_val *event)
{
    const char *component = json_str_at(event, "source.component");
    if (component == NULL || *component == '\0')
        component = json_str_at(event, "reportingComponent");
    return component && *component ? component : "<unknown>";
}
