// SPDX-License-Identifier: Apache-2.0
/* The status of queues: counters, usage, and whether they are active. The engine names those whose
 * counts changed; they are written after a short pause, with all that happened meanwhile. */
#include "base/quantity.h"
#include "control/admission.h"

struct page { /* a queue's status under way */
    yyjson_mut_doc *doc;
    yyjson_mut_val *status;
    const struct admit_counts *counts;
};

static yyjson_mut_val *flavor_item(struct page *page, yyjson_mut_val *list, const char *flavor)
{
    yyjson_mut_val *item = json_mut_find(list, "name", flavor);
    if (item != NULL)
        return yyjson_mut_obj_get(item, "resources");
    item = yyjson_mut_arr_add_obj(page->doc, list);
    json_mut_put(page->doc, item, "name", yyjson_mut_strcpy(page->doc, flavor));
    json_mut_put(page->doc, item, "resources", yyjson_mut_arr(page->doc));
    return yyjson_mut_obj_get(item, "resources");
}

static void put_amount(struct page *page, yyjson_mut_val *item, const char *field,
                       const char *resource, int64_t milli)
{
    scoped_str text = {0};
    gang_amount_text(resource, milli, &text);
    json_mut_put(page->doc, item, field, yyjson_mut_strcpy(page->doc, str_text(&text)));
}

static void put_usage(struct page *page, const char *field, bool reserved, bool with_borrowed)
{
    yyjson_mut_val *list = yyjson_mut_arr(page->doc);
    for (size_t i = 0; i < page->counts->n_usage; i++) {
        const struct admit_usage *usage = &page->counts->usage[i];
        yyjson_mut_val *resources = flavor_item(page, list, usage->flavor);
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(page->doc, resources);
        int64_t total = reserved ? usage->reserved : usage->used;
        int64_t over = total - usage->nominal;
        json_mut_put(page->doc, item, "name", yyjson_mut_strcpy(page->doc, usage->resource));
        put_amount(page, item, "total", usage->resource, total);
        if (with_borrowed)
            put_amount(page, item, "borrowed", usage->resource, over > 0 ? over : 0);
    }
    json_mut_put(page->doc, page->status, field, list);
}

static void put_counts(struct page *page)
{
    const struct admit_counts *counts = page->counts;
    json_mut_put(page->doc, page->status, "pendingWorkloads",
                 yyjson_mut_sint(page->doc, (int64_t)counts->pending));
    json_mut_put(page->doc, page->status, "reservingWorkloads",
                 yyjson_mut_sint(page->doc, (int64_t)counts->reserving));
    json_mut_put(page->doc, page->status, "admittedWorkloads",
                 yyjson_mut_sint(page->doc, (int64_t)counts->admitted));
}

struct activity {
    bool is_active;
    const char *reason, *message;
};

static void put_active(struct control *control, struct page *page, const struct obj *queue,
                       struct activity is)
{
    const char *status = is.is_active ? "True" : "False";
    yyjson_mut_val *list = yyjson_mut_arr(page->doc);
    yyjson_mut_val *item = yyjson_mut_arr_add_obj(page->doc, list);
    yyjson_val *before = condition_of(queue, "Active");
    scoped_str now = {0};
    rfc3339_format(control_now(control), &now);
    const char *since = str_eq(json_str_at(before, "status"), status)
                            ? json_str_at(before, "lastTransitionTime")
                            : str_text(&now);
    const struct {
        const char *field, *value;
    } FIELDS[] = {{"type", "Active"},
                  {"status", status},
                  {"lastTransitionTime", since},
                  {"reason", is.reason},
                  {"message", is.message}};
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++)
        json_mut_put(page->doc, item, FIELDS[i].field,
                     yyjson_mut_strcpy(page->doc, FIELDS[i].value ? FIELDS[i].value : ""));
    json_mut_put(page->doc, item, "observedGeneration",
                 yyjson_mut_sint(page->doc, queue->meta.generation));
    json_mut_put(page->doc, page->status, "conditions", list);
}

static struct page page_begin(const struct obj *queue, const struct admit_counts *counts)
{
    struct page page = {.doc = yyjson_mut_doc_new(&JSON_ALC), .counts = counts};
    yyjson_mut_val *root = yyjson_mut_obj(page.doc);
    yyjson_val *before = yyjson_obj_get(queue->root, "status");
    page.status =
        yyjson_is_obj(before) ? yyjson_val_mut_copy(page.doc, before) : yyjson_mut_obj(page.doc);
    yyjson_mut_doc_set_root(page.doc, root);
    json_mut_put(page.doc, root, "status", page.status);
    return page;
}

/* Unchanged is told apart by the store. */
static void page_send(struct control *control, struct page *page, const struct obj *queue)
{
    struct write *write =
        write_new(WRITE_UPDATE, queue->kind, obj_namespace(queue), queue->meta.name);
    write->sub = SUB_STATUS;
    write->if_version = mem_strdup(queue->meta.resource_version);
    write->doc = page->doc;
    control_write(control, write);
}

static uint64_t evictions_of(struct admission *admission, const char *name, const struct obj *queue,
                             const struct admit_counts *counts)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < EVICTED_REASONS; i++)
        sum += counts->evictions[i];
    /* The engine counts since it was made; the object since ever. */
    struct queue_past *past = map_get(admission->queues, name);
    if (past == NULL) {
        int64_t before = json_int_at(queue->root, "status.evictedWorkloads", 0);
        past = mem_zalloc(sizeof(*past));
        past->evicted = before > 0 ? (uint64_t)before : 0;
        (void)map_put(admission->queues, name, past);
    }
    return past->evicted + sum;
}

void queue_write_cluster(struct control *control, const char *name)
{
    struct admission *admission = control_state(control);
    const struct obj *queue =
        cache_get(control_world(control)->cache, &KIND_CLUSTERQUEUE, "", name);
    struct admit_counts counts = {0};
    if (queue == NULL)
        return;
    admit_queue_counts(admission->engine, name, &counts);
    struct page page = page_begin(queue, &counts);
    put_counts(&page);
    put_usage(&page, "flavorsReservation", true, true);
    put_usage(&page, "flavorsUsage", false, true);
    uint64_t evicted = evictions_of(admission, name, queue, &counts);
    json_mut_put(page.doc, page.status, "evictedWorkloads",
                 yyjson_mut_sint(page.doc, (int64_t)evicted));
    struct activity is = {counts.inactive == NULL, "Ready", "Can admit new workloads"};
    if (counts.inactive != NULL)
        is = (struct activity){false, counts.inactive, counts.inactive_message};
    put_active(control, &page, queue, is);
    page_send(control, &page, queue);
}

void queue_write_local(struct control *control, const char *key)
{
    struct admission *admission = control_state(control);
    struct cache *cache = control_world(control)->cache;
    struct sv rest = sv_of(key);
    struct sv ns = sv_cut(&rest, '/');
    scoped_free char *space = mem_strndup(ns.ptr, ns.len);
    const struct obj *local = cache_get(cache, &KIND_LOCALQUEUE, space, rest.ptr);
    struct admit_counts counts = {0};
    if (local == NULL)
        return;
    const char *name = json_str_at(local->root, "spec.clusterQueue");
    admit_local_counts(admission->engine, key, &counts);
    struct page page = page_begin(local, &counts);
    put_counts(&page);
    put_usage(&page, "flavorsReservation", true, false);
    put_usage(&page, "flavorsUsage", false, false);
    struct activity is = {true, "Ready", "Can submit new workloads to localQueue"};
    if (name == NULL || cache_get(cache, &KIND_CLUSTERQUEUE, "", name) == NULL)
        is = (struct activity){false, "ClusterQueueDoesNotExist",
                               "Can't submit new workloads to clusterQueue"};
    else if (counts.inactive != NULL)
        is = (struct activity){false, counts.inactive, counts.inactive_message};
    put_active(control, &page, local, is);
    page_send(control, &page, local);
}

/* All of them at the same moment: what is written together is one commit, and each commit makes
 * those wait who come right after it. */
void queue_add(struct control *control, const char *prefix, const char *key)
{
    scoped_free char *name = mem_printf("%s%s", prefix, key);
    time_ms now = control_now(control);
    control_add_at(control, name, now - now % GANG_STATUS_PAUSE_MS + GANG_STATUS_PAUSE_MS);
}

static bool free_past(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    mem_free(value);
    return true;
}

void queue_forget_all(struct admission *admission)
{
    (void)map_each(admission->queues, free_past, NULL);
    map_free(admission->queues);
}

void queue_add_changed(struct control *control)
{
    struct admission *admission = control_state(control);
    const char *name;
    while ((name = admit_changed_queue(admission->engine)) != NULL)
        queue_add(control, GANG_CLUSTER_QUEUE, name);
    while ((name = admit_changed_local(admission->engine)) != NULL)
        queue_add(control, GANG_LOCAL_QUEUE, name);
}
