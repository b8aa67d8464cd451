// SPDX-License-Identifier: Apache-2.0
#include "control/events.h"
#include "base/hash.h"
#include "base/mem.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The name says which event it is, so that finding the earlier one is a look-up. */
static char *event_name(const struct obj *about, const struct event_text *text)
{
    uint64_t hash = HASH_START;
    hash = hash_text(hash, about->meta.uid);
    hash = hash_text(hash, text->type);
    hash = hash_text(hash, text->reason);
    hash = hash_text(hash, text->message);
    hash = hash_text(hash, text->component);
    return mem_printf("%.230s.%016" PRIx64, about->meta.name, hash);
}

static void add_about(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct obj *about)
{
    char api_version[128];
    yyjson_mut_val *ref = yyjson_mut_obj_add_obj(doc, root, "involvedObject");
    yyjson_mut_obj_add_str(doc, ref, "kind", about->kind->name);
    yyjson_mut_obj_add_strcpy(doc, ref, "apiVersion", kind_api_version(about->kind, api_version));
    if (about->kind->namespaced)
        yyjson_mut_obj_add_strcpy(doc, ref, "namespace", obj_namespace(about));
    yyjson_mut_obj_add_strcpy(doc, ref, "name", about->meta.name);
    yyjson_mut_obj_add_strcpy(doc, ref, "uid", about->meta.uid);
    yyjson_mut_obj_add_strcpy(doc, ref, "resourceVersion", about->meta.resource_version);
}

static struct write *count_up(const struct obj *event, const char *at)
{
    struct write *write =
        write_new(WRITE_UPDATE, &KIND_EVENT, obj_namespace(event), event->meta.name);
    write->doc = obj_edit(event);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(write->doc);
    int64_t count = json_int_at(event->root, "count", 1);
    json_mut_set(write->doc, root, "count", yyjson_mut_sint(write->doc, count + 1));
    json_mut_set(write->doc, root, "lastTimestamp", yyjson_mut_strcpy(write->doc, at));
    return write;
}

struct write *event_write(struct world *world, const struct obj *about,
                          const struct event_text *text, time_ms now)
{
    const char *ns = about->kind->namespaced ? obj_namespace(about) : "default";
    scoped_free char *name = event_name(about, text);
    scoped_str at = {0};
    rfc3339_format(now, &at);
    const struct obj *earlier = cache_get(world->cache, &KIND_EVENT, ns, name);
    if (earlier != NULL)
        return count_up(earlier, str_text(&at));
    struct write *write = write_new(WRITE_CREATE, &KIND_EVENT, ns, name);
    yyjson_mut_doc *doc = write->doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    json_mut_set(doc, root, "metadata.name", yyjson_mut_strcpy(doc, name));
    json_mut_set(doc, root, "metadata.namespace", yyjson_mut_strcpy(doc, ns));
    add_about(doc, root, about);
    yyjson_mut_obj_add_strcpy(doc, root, "type", text->type);
    yyjson_mut_obj_add_strcpy(doc, root, "reason", text->reason);
    yyjson_mut_obj_add_strcpy(doc, root, "message", text->message);
    json_mut_set(doc, root, "source.component", yyjson_mut_strcpy(doc, text->component));
    yyjson_mut_obj_add_strcpy(doc, root, "firstTimestamp", str_text(&at));
    yyjson_mut_obj_add_strcpy(doc, root, "lastTimestamp", str_text(&at));
    yyjson_mut_obj_add_int(doc, root, "count", 1);
    return write;
}
