// SPDX-License-Identifier: Apache-2.0
/* Events are for people and go after an hour without news. */
#include "base/mem.h"
#include "control/controllers.h"
#include <string.h>

static time_ms time_at(yyjson_val *root, const char *path)
{
    const char *text = json_str_at(root, path);
    time_ms at = 0;
    if (text == NULL || rfc3339_parse(sv_of(text), &at, NULL) < 0)
        return 0;
    return at;
}

static time_ms last_seen(const struct obj *event)
{
    static const char *const PATHS[] = {"series.lastObservedTime", "lastTimestamp", "eventTime"};
    time_ms latest = event->meta.created;
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++) {
        time_ms at = time_at(event->root, PATHS[i]);
        latest = at > latest ? at : latest;
    }
    return latest;
}

static void expiry_map(struct control *control, const struct change *change)
{
    if (change->obj->kind != &KIND_EVENT || change->type == CHANGE_DELETED)
        return;
    scoped_free char *key = mem_printf("%s/%s", obj_namespace(change->obj), change->obj->meta.name);
    control_add_at(control, key, last_seen(change->obj) + EVENT_LIFETIME_MS);
}

static void expiry_reconcile(struct control *control, const char *key)
{
    struct sv rest = sv_of(key);
    struct sv ns = sv_cut(&rest, '/');
    scoped_free char *space = mem_strndup(ns.ptr, ns.len);
    const struct obj *event =
        cache_get(control_world(control)->cache, &KIND_EVENT, space, rest.ptr);
    if (event == NULL || event->meta.deleted != 0)
        return;
    time_ms due = last_seen(event) + EVENT_LIFETIME_MS;
    if (due > control_now(control)) {
        control_add_at(control, key, due);
        return;
    }
    struct write *write = write_new(WRITE_DELETE, &KIND_EVENT, space, rest.ptr);
    write->if_version = mem_strdup(event->meta.resource_version); /* news saves it */
    control_write(control, write);
}

static bool expiry_is_upkeep(const char *key)
{
    (void)key;
    return true;
}

const struct controller CONTROLLER_EXPIRY = {.name = "event-expiry",
                                             .map = expiry_map,
                                             .reconcile = expiry_reconcile,
                                             .is_upkeep = expiry_is_upkeep};
