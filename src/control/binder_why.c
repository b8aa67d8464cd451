// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "control/binder_internal.h"

struct why {
    struct binder *binder;
    const struct guest *guest;
    struct pod_class *class;
    struct omap *reasons;
};

static void note(struct omap *reasons, const char *reason)
{
    uintptr_t count = (uintptr_t)omap_get(reasons, reason);
    (void)omap_put(reasons, reason, (void *)(count + 1));
}

static bool note_amounts(struct why *why, const struct room *room)
{
    const struct amounts *wants = &why->guest->wants;
    bool is_short = false;
    for (size_t i = 0; i < wants->of.len; i++) {
        int64_t wanted = wants->of.items[i];
        if (wanted == 0 || wanted <= bind_left(why->binder->bind, room->id, i))
            continue;
        scoped_free char *text =
            i == RESOURCE_PODS ? mem_strdup("Too many pods")
                               : mem_printf("Insufficient %s", why->binder->names.list.items[i]);
        note(why->reasons, text);
        is_short = true;
    }
    return is_short;
}

static void note_spreads(struct why *why, const struct room *room)
{
    static const char *const TEXTS[] = {
        [BIND_UNEVEN] = "node(s) didn't match pod topology spread constraints",
        [BIND_EXCLUDED] = "node(s) were in a domain of another job",
        [BIND_NOT_NEAR] = "node(s) didn't match pod affinity rules",
        [BIND_TOO_NEAR] = "node(s) didn't match pod anti-affinity rules",
    };
    for (size_t i = 0; i < why->class->n_spreads; i++) {
        const struct spread *spread = &why->class->spreads[i];
        yyjson_val *labels = room->node->meta.labels;
        if (spread->key != NULL && yyjson_obj_get(labels, spread->key) == NULL) {
            scoped_free char *text = mem_printf("node(s) had no label %s", spread->key);
            note(why->reasons, text);
            return;
        }
        const char *owner = i == 0 ? why->guest->owner : NULL;
        enum bind_problem problem = bind_why(why->binder->bind, spread->rules, room->id, owner);
        if (TEXTS[problem] != NULL) {
            note(why->reasons, TEXTS[problem]);
            return;
        }
    }
}

static bool note_problem(void *arg, const char *key, void *value)
{
    (void)key;
    struct why *why = arg;
    const struct room *room = value;
    char buf[256];
    if (room->node == NULL)
        return true;
    yyjson_val *spec = yyjson_obj_get(why->guest->pod->root, "spec");
    const char *problem = match_problem(room->node, spec, buf, sizeof(buf));
    if (problem != NULL)
        note(why->reasons, problem);
    else if (!note_amounts(why, room))
        note_spreads(why, room);
    return true;
}

const char *binder_why(struct binder *binder, struct guest *guest)
{
    struct pod_class *class = binder_class_need(binder, guest);
    struct str *out = &class->why;
    /* Those of a class hear the same as long as nothing has changed. */
    if (out->len > 0 && class->explained_at == binder->version && guest->owner == NULL)
        return str_text(out);
    struct why why = {binder, guest, class, omap_new()};
    (void)map_each(binder->rooms, note_problem, &why);
    str_clear(out);
    str_addf(out, "0/%zu nodes are available", bind_nodes(binder->bind));
    const char *sep = ": ";
    const struct omap_item *item = omap_seek(why.reasons, "");
    for (; item != NULL; item = omap_next(item)) {
        str_addf(out, "%s%zu %s", sep, (size_t)item->value, item->key);
        sep = ", ";
    }
    str_addc(out, '.');
    omap_free(why.reasons);
    class->explained_at = binder->version;
    return str_text(out);
}
