// SPDX-License-Identifier: Apache-2.0
/* Gives pods to nodes: the plain way, until the placement engine does it better. A pod goes to the
 * node with the largest share of room left among those that let it in.
 *
 * What each node has left is kept up to date with every change of a pod or a node, so a pod costs a
 * walk over the nodes in order of room until one fits, mostly the first. A decision counts at once,
 * as `assumed`, before its write is known: the next pod must not get the same room. When its key
 * comes back and the pod still has no node, the write has failed and the room is given back.
 *
 * Pods that fit nowhere wait in classes of equals. When room appears (the key RETRY), the first of
 * each class is looked at; when it fits, its turn ends with the next look at the class. So room for
 * one pod never costs a look at all that wait. */
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/binder_internal.h"
#include "control/controllers.h"
#include "model/cell.h"
#include <bsd/sys/queue.h>
#include <inttypes.h>
#include <stdio.h>

#define RETRY "~" /* no pod's key: those have a / */
#define SCHEDULER "default-scheduler"
#define SHARE_ONE 1000000

struct room { /* of one node */
    char *name;
    char *order; /* its key in `by_room` */
    struct obj *node;
    struct amounts has, taken;
};

struct guest {                   /* a pod that takes room, or waits for some */
    TAILQ_ENTRY(guest) siblings; /* in its class, while it waits */
    char *key;                   /* "namespace/name" */
    char *node;                  /* where it takes room, or NULL */
    struct amounts wants;
    bool is_assumed; /* the write was asked for, the pod does not show it yet */
    bool is_news;    /* the pod got its node from us, and nobody was told yet */
    struct class *class;
    int64_t generation; /* of the pod that waits */
};

struct class
{
    char *name;
    bool saw_no_node; /* when it was last explained why its pods wait */
    TAILQ_HEAD(, guest) guests;
};

/* "Scheduled" tells a person what became of his pod. Of thousands at once nobody reads it, and each
 * is an object as large as half a pod: then only so many are told. */
#define NEWS_BURST 200
#define NEWS_MS 100 /* until one more may be told */

struct binder {
    struct resource_names names;
    time_ms news_at;      /* steady: if nothing had been told since, all of the burst were free */
    struct map *rooms;    /* name of the node to struct room */
    struct omap *by_room; /* the same, most room first */
    struct map *guests;   /* UID of the pod to struct guest */
    struct map *classes;  /* signature to struct class */
};

/* ---- nodes ---- */

/* Of cpu, memory and places, the one of which the smallest part is free. */
static int64_t free_share(const struct room *room)
{
    int64_t least = SHARE_ONE;
    for (size_t i = 0; i < RESOURCE_KNOWN; i++) {
        int64_t has = amounts_get(&room->has, i);
        int64_t left = has - amounts_get(&room->taken, i);
        int64_t share = has > 0 && left > 0 ? (int64_t)((__int128)left * SHARE_ONE / has) : 0;
        least = share < least ? share : least;
    }
    return least;
}

static void place_in_order(struct binder *binder, struct room *room)
{
    if (room->order != NULL)
        (void)omap_del(binder->by_room, room->order);
    mem_free(room->order);
    room->order = mem_printf("%07" PRId64 "|%s", SHARE_ONE - free_share(room), room->name);
    (void)omap_put(binder->by_room, room->order, room);
}

/* Also of a node that is not there (any more): pods may say that they are on it. */
static struct room *room_need(struct binder *binder, const char *name)
{
    struct room *room = map_get(binder->rooms, name);
    if (room != NULL)
        return room;
    room = mem_zalloc(sizeof(*room));
    room->name = mem_strdup(name);
    (void)map_put(binder->rooms, name, room);
    return room;
}

static bool room_free(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    struct room *room = value;
    mem_free(room->name);
    mem_free(room->order);
    obj_unref(room->node);
    amounts_done(&room->has);
    amounts_done(&room->taken);
    mem_free(room);
    return true;
}

/* Nodes report often; most of that says nothing to a pod that waits. */
static bool is_news_for_pods(const struct obj *node, const struct obj *old)
{
    static const char *const PARTS[] = {"spec", "metadata.labels", "status.allocatable"};
    if (old == NULL)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++) {
        yyjson_val *a = json_at(node->root, PARTS[i]), *b = json_at(old->root, PARTS[i]);
        if (a == NULL || b == NULL ? a != b : !yyjson_equals(a, b))
            return true;
    }
    return cell_condition_is(json_at(node->root, "status.conditions"), "Ready", "True") !=
           cell_condition_is(json_at(old->root, "status.conditions"), "Ready", "True");
}

static void map_node(struct control *control, const struct change *change)
{
    struct binder *binder = control_state(control);
    struct room *room = room_need(binder, change->obj->meta.name);
    obj_unref(take_ptr(room->node));
    vec_clear(&room->has.of);
    if (change->type == CHANGE_DELETED) {
        (void)omap_del(binder->by_room, room->order);
        mem_free(take_ptr(room->order));
        return; /* what is taken on it is remembered, should it come back */
    }
    room->node = obj_ref(change->obj);
    amounts_read(&binder->names, json_at(change->obj->root, "status.allocatable"), &room->has);
    place_in_order(binder, room);
    if (map_count(binder->classes) > 0 && is_news_for_pods(change->obj, change->old))
        control_add(control, RETRY);
}

/* ---- pods ---- */

static struct guest *guest_need(struct binder *binder, const struct obj *pod)
{
    struct guest *guest = map_get(binder->guests, pod->meta.uid);
    if (guest != NULL)
        return guest;
    guest = mem_zalloc(sizeof(*guest));
    guest->key = mem_printf("%s/%s", obj_namespace(pod), pod->meta.name);
    amounts_of_pod(&binder->names, yyjson_obj_get(pod->root, "spec"), &guest->wants);
    (void)map_put(binder->guests, pod->meta.uid, guest);
    return guest;
}

static void stop_waiting(struct binder *binder, struct guest *guest)
{
    struct class *class = take_ptr(guest->class);
    if (class == NULL)
        return;
    TAILQ_REMOVE(&class->guests, guest, siblings);
    if (!TAILQ_EMPTY(&class->guests))
        return;
    (void)map_del(binder->classes, class->name);
    mem_free(class->name);
    mem_free(class);
}

static void take_room(struct binder *binder, struct guest *guest, const char *node)
{
    struct room *room = room_need(binder, node);
    guest->node = mem_strdup(node);
    amounts_add(&room->taken, &guest->wants, 1);
    if (room->node != NULL)
        place_in_order(binder, room);
}

static void give_room_back(struct binder *binder, struct guest *guest)
{
    if (guest->node == NULL)
        return;
    struct room *room = map_get(binder->rooms, guest->node);
    amounts_add(&room->taken, &guest->wants, -1);
    if (room->node != NULL)
        place_in_order(binder, room);
    mem_free(take_ptr(guest->node));
    guest->is_assumed = false;
}

static void guest_free(struct binder *binder, struct guest *guest)
{
    stop_waiting(binder, guest);
    mem_free(guest->key);
    mem_free(guest->node);
    amounts_done(&guest->wants);
    mem_free(guest);
}

static bool has_ended(const struct obj *pod)
{
    const char *phase = json_str_at(pod->root, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

static const char *node_of(const struct obj *pod)
{
    const char *node = json_str_at(pod->root, "spec.nodeName");
    return node != NULL && *node != '\0' ? node : NULL;
}

static bool wants_node(const struct obj *pod)
{
    return pod->meta.deleted == 0 && node_of(pod) == NULL && !has_ended(pod) &&
           yyjson_arr_size(json_at(pod->root, "spec.schedulingGates")) == 0 &&
           str_eq(json_str_at(pod->root, "spec.schedulerName"), SCHEDULER);
}

static void drop_guest(struct control *control, const char *uid)
{
    struct binder *binder = control_state(control);
    struct guest *guest = map_del(binder->guests, uid);
    if (guest == NULL)
        return;
    bool had_room = guest->node != NULL;
    give_room_back(binder, guest);
    guest_free(binder, guest);
    if (had_room && map_count(binder->classes) > 0)
        control_add(control, RETRY);
}

static void settle(struct control *control, const struct obj *pod, const char *node)
{
    struct binder *binder = control_state(control);
    struct guest *guest = guest_need(binder, pod);
    stop_waiting(binder, guest);
    if (guest->is_assumed) {
        guest->is_assumed = false;
        guest->is_news = str_eq(guest->node, node);
        control_add(control, guest->key);
    }
    if (str_eq(guest->node, node))
        return;
    give_room_back(binder, guest);
    take_room(binder, guest, node);
}

static void map_pod(struct control *control, const struct change *change)
{
    struct binder *binder = control_state(control);
    const struct obj *pod = change->obj;
    if (change->type == CHANGE_DELETED || has_ended(pod)) {
        drop_guest(control, pod->meta.uid);
        return;
    }
    const char *node = node_of(pod);
    if (node != NULL) {
        settle(control, pod, node);
        return;
    }
    if (!wants_node(pod)) {
        drop_guest(control, pod->meta.uid);
        return;
    }
    struct guest *guest = guest_need(binder, pod);
    /* What is said about a pod that waits is mostly our own word. */
    if (guest->class == NULL || guest->generation != pod->meta.generation)
        control_add(control, guest->key);
}

static void binder_map(struct control *control, const struct change *change)
{
    if (change->obj->kind == &KIND_NODE)
        map_node(control, change);
    else if (change->obj->kind == &KIND_POD)
        map_pod(control, change);
}

/* ---- finding a node ---- */

static bool fits(const struct room *room, const struct amounts *wants)
{
    for (size_t i = 0; i < wants->of.len; i++) {
        int64_t wanted = wants->of.items[i];
        if (wanted > 0 && wanted > amounts_get(&room->has, i) - amounts_get(&room->taken, i))
            return false;
    }
    return true;
}

static struct room *find_room(struct binder *binder, const struct obj *pod,
                              const struct amounts *wants)
{
    char buf[256];
    yyjson_val *spec = yyjson_obj_get(pod->root, "spec");
    const struct omap_item *item = omap_seek(binder->by_room, "");
    for (; item != NULL; item = omap_next(item)) {
        struct room *room = item->value;
        if (fits(room, wants) && match_problem(room->node, spec, buf, sizeof(buf)) == NULL)
            return room;
    }
    return NULL;
}

static void note(struct omap *reasons, const char *reason)
{
    uintptr_t count = (uintptr_t)omap_get(reasons, reason);
    (void)omap_put(reasons, reason, (void *)(count + 1));
}

static void note_problem(struct binder *binder, const struct room *room, const struct obj *pod,
                         const struct amounts *wants, struct omap *reasons)
{
    char buf[256];
    const char *problem =
        match_problem(room->node, yyjson_obj_get(pod->root, "spec"), buf, sizeof(buf));
    if (problem != NULL) {
        note(reasons, problem);
        return;
    }
    for (size_t i = 0; i < wants->of.len; i++) {
        int64_t wanted = wants->of.items[i];
        if (wanted == 0 || wanted <= amounts_get(&room->has, i) - amounts_get(&room->taken, i))
            continue;
        scoped_free char *text = i == RESOURCE_PODS
                                     ? mem_strdup("Too many pods")
                                     : mem_printf("Insufficient %s", binder->names.list.items[i]);
        note(reasons, text);
    }
}

/* "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable." */
static void explain(struct binder *binder, const struct obj *pod, const struct amounts *wants,
                    struct str *out)
{
    struct omap *reasons = omap_new();
    const struct omap_item *item = omap_seek(binder->by_room, "");
    for (; item != NULL; item = omap_next(item))
        note_problem(binder, item->value, pod, wants, reasons);
    str_addf(out, "0/%zu nodes are available", omap_count(binder->by_room));
    const char *sep = ": ";
    for (item = omap_seek(reasons, ""); item != NULL; item = omap_next(item)) {
        str_addf(out, "%s%zu %s", sep, (size_t)item->value, item->key);
        sep = ", ";
    }
    str_addc(out, '.');
    omap_free(reasons);
}

/* ---- what follows ---- */

static void bind(struct control *control, const struct obj *pod, const char *node)
{
    struct write *write = write_new(WRITE_UPDATE, &KIND_POD, obj_namespace(pod), pod->meta.name);
    write->sub = SUB_BINDING;
    yyjson_mut_doc *doc = write->doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    json_mut_set(doc, root, "metadata.name", yyjson_mut_strcpy(doc, pod->meta.name));
    json_mut_set(doc, root, "metadata.uid", yyjson_mut_strcpy(doc, pod->meta.uid));
    json_mut_set(doc, root, "target.kind", yyjson_mut_str(doc, "Node"));
    json_mut_set(doc, root, "target.name", yyjson_mut_strcpy(doc, node));
    control_write(control, write);
}

static bool says_so_already(const struct obj *pod, const char *message)
{
    size_t i, n;
    yyjson_val *condition;
    yyjson_arr_foreach(json_at(pod->root, "status.conditions"), i, n, condition)
    {
        if (str_eq(json_str_at(condition, "type"), "PodScheduled"))
            return str_eq(json_str_at(condition, "message"), message);
    }
    return false;
}

static void say_unschedulable(struct control *control, const struct obj *pod, const char *message)
{
    scoped_str at = {0}, text = {0}, quoted = {0};
    if (says_so_already(pod, message))
        return;
    rfc3339_format(control_now(control), &at);
    json_quote(message, strlen(message), &quoted);
    str_addf(&text,
             "{\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
             "\"reason\":\"Unschedulable\",\"lastTransitionTime\":\"%s\",\"message\":%s}]}}",
             str_text(&at), str_text(&quoted));
    struct write *write = write_new(WRITE_PATCH, &KIND_POD, obj_namespace(pod), pod->meta.name);
    write->sub = SUB_STATUS;
    write->if_uid = mem_strdup(pod->meta.uid);
    write->patch_type = PATCH_STRATEGIC;
    (void)json_parse(sv_of(str_text(&text)), &write->patch, NULL); /* well-formed by make */
    control_write(control, write);
    control_event(control, pod, "Warning", "FailedScheduling", "%s", message);
}

/* Equal for pods that fit and fail together. */
static char *signature(const struct obj *pod, const struct amounts *wants)
{
    static const char *const PARTS[] = {"nodeSelector", "affinity", "tolerations"};
    scoped_str text = {0};
    for (size_t i = 0; i < wants->of.len; i++) {
        if (wants->of.items[i] != 0)
            str_addf(&text, "%zu=%" PRId64 ",", i, wants->of.items[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++) {
        yyjson_val *part = yyjson_obj_get(yyjson_obj_get(pod->root, "spec"), PARTS[i]);
        if (part != NULL)
            json_write_val(part, &text);
        str_addc(&text, '|');
    }
    return str_take(&text);
}

static void wait_for_room(struct binder *binder, const struct obj *pod, struct guest *guest,
                          bool goes_first)
{
    scoped_free char *name = signature(pod, &guest->wants);
    struct class *class = map_get(binder->classes, name);
    if (class == NULL) {
        class = mem_zalloc(sizeof(*class));
        class->name = mem_strdup(name);
        TAILQ_INIT(&class->guests);
        (void)map_put(binder->classes, name, class);
    }
    class->saw_no_node = class->saw_no_node || omap_count(binder->by_room) == 0;
    guest->class = class;
    guest->generation = pod->meta.generation;
    if (goes_first)
        TAILQ_INSERT_HEAD(&class->guests, guest, siblings);
    else
        TAILQ_INSERT_TAIL(&class->guests, guest, siblings);
}

/* ---- reconciling ---- */

struct retry {
    struct control *control;
    struct binder *binder;
};

static struct obj *pod_of_key(struct control *control, const char *key)
{
    struct sv rest = sv_of(key);
    struct sv ns = sv_cut(&rest, '/');
    scoped_free char *space = mem_strndup(ns.ptr, ns.len);
    return cache_get(control_world(control)->cache, &KIND_POD, space, rest.ptr);
}

/* Pods that wait are not explained again and again; but "no nodes" is what all of them hear that
 * come before the first node does, and it must not stand there for ever. */
static void explain_anew(struct control *control, struct class *class)
{
    struct guest *guest;
    class->saw_no_node = false;
    TAILQ_FOREACH(guest, &class->guests, siblings)
    {
        control_add(control, guest->key);
    }
}

static bool retry_class(void *arg, const char *name, void *value)
{
    (void)name;
    struct retry *retry = arg;
    struct class *class = value;
    struct guest *guest = TAILQ_FIRST(&class->guests);
    const struct obj *pod = pod_of_key(retry->control, guest->key);
    if (pod != NULL && find_room(retry->binder, pod, &guest->wants) != NULL)
        control_add(retry->control, guest->key);
    else if (class->saw_no_node && omap_count(retry->binder->by_room) > 0)
        explain_anew(retry->control, class);
    return true;
}

static void look_for_room(struct control *control, const struct obj *pod)
{
    struct binder *binder = control_state(control);
    struct guest *guest = guest_need(binder, pod);
    bool has_waited = guest->class != NULL;
    stop_waiting(binder, guest);
    give_room_back(binder, guest); /* the write that should have told is known, and was in vain */
    struct room *room = find_room(binder, pod, &guest->wants);
    if (room != NULL) {
        take_room(binder, guest, room->name);
        guest->is_assumed = true;
        bind(control, pod, room->name);
        if (has_waited)
            control_add(control, RETRY);
        return;
    }
    scoped_str message = {0};
    explain(binder, pod, &guest->wants, &message);
    wait_for_room(binder, pod, guest, has_waited);
    say_unschedulable(control, pod, str_text(&message));
}

static bool may_tell_news(struct control *control)
{
    struct binder *binder = control_state(control);
    time_ms now = control_steady(control);
    time_ms from = binder->news_at > now ? binder->news_at : now;
    if (from - now > (NEWS_BURST - 1) * NEWS_MS)
        return false;
    binder->news_at = from + NEWS_MS;
    return true;
}

static void binder_reconcile(struct control *control, const char *key)
{
    struct binder *binder = control_state(control);
    if (strcmp(key, RETRY) == 0) {
        struct retry retry = {control, binder};
        (void)map_each(binder->classes, retry_class, &retry);
        return;
    }
    const struct obj *pod = pod_of_key(control, key);
    if (pod == NULL)
        return;
    struct guest *guest = map_get(binder->guests, pod->meta.uid);
    if (wants_node(pod)) {
        look_for_room(control, pod);
    } else if (guest != NULL && guest->is_news) {
        guest->is_news = false;
        if (may_tell_news(control))
            control_event(control, pod, "Normal", "Scheduled", "Successfully assigned %s to %s",
                          key, guest->node);
    }
}

static void binder_begin(struct control *control)
{
    struct binder *binder = mem_zalloc(sizeof(*binder));
    resource_names_init(&binder->names);
    binder->rooms = map_new();
    binder->by_room = omap_new();
    binder->guests = map_new();
    binder->classes = map_new();
    control_set_state(control, binder);
}

static bool free_guest(void *arg, const char *key, void *value)
{
    (void)key;
    guest_free(arg, value);
    return true;
}

static void binder_end(struct control *control)
{
    struct binder *binder = control_state(control);
    (void)map_each(binder->guests, free_guest, binder);
    (void)map_each(binder->rooms, room_free, NULL);
    map_free(binder->guests);
    map_free(binder->classes);
    map_free(binder->rooms);
    omap_free(binder->by_room);
    resource_names_done(&binder->names);
    mem_free(binder);
    control_set_state(control, NULL);
}

const struct controller CONTROLLER_BINDER = {
    .name = SCHEDULER,
    .map = binder_map,
    .reconcile = binder_reconcile,
    .begin = binder_begin,
    .end = binder_end,
};
