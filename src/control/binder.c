// SPDX-License-Identifier: Apache-2.0
/* Gives pods to nodes. Which node is the best is the placement engine's word (core/place/bind.h);
 * here it is told of pods and nodes, and its answers are written.
 *
 * A decision counts at once, as `assumed`, before its write is known: the next pod must not get the
 * same room. When its key comes back and the pod still has no node, the write has failed and the
 * room is given back. The members of a gang get their rooms together, as `promised`; each is then
 * written under its own key.
 *
 * Pods that fit nowhere wait in classes of equals, or in their gang. When room appears (the key
 * RETRY), the first of each class is looked at; when it fits, its turn ends with the next look at
 * the class. So room for one pod never costs a look at all that wait. */
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
/* "Scheduled" tells a person what became of his pod. Of thousands at once nobody reads it, and each
 * is an object as large as half a pod: then only so many are told. */
#define NEWS_BURST 200
#define NEWS_MS 100 /* until one more may be told */

/* ---- nodes ---- */

/* Also of a node that is not there (any more): pods may say that they are on it. */
static struct room *room_need(struct binder *binder, const char *name)
{
    struct room *room = map_get(binder->rooms, name);
    if (room != NULL)
        return room;
    room = mem_zalloc(sizeof(*room));
    room->name = mem_strdup(name);
    room->id = bind_add_node(binder->bind);
    (void)map_put(binder->rooms, name, room);
    return room;
}

static bool room_free(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    struct room *room = value;
    mem_free(room->name);
    obj_unref(room->node);
    amounts_done(&room->has);
    mem_free(room);
    return true;
}

/* Nodes report often; most of that says nothing to a pod that waits. */
static bool is_news_for_pods(const struct obj *node, const struct obj *old)
{
    static const char *const PARTS[] = {"spec", "metadata.labels", "status.allocatable"};
    if (old == NULL || node->meta.deleted != old->meta.deleted)
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
    bool is_gone = change->type == CHANGE_DELETED;
    bool is_news = is_gone || room->node == NULL || is_news_for_pods(change->obj, room->node);
    obj_unref(take_ptr(room->node));
    if (!is_gone)
        room->node = obj_ref(change->obj);
    if (!is_news)
        return;
    vec_clear(&room->has.of);
    if (!is_gone)
        amounts_read(&binder->names, json_at(change->obj->root, "status.allocatable"), &room->has);
    /* What is taken on a node that is gone is remembered, should it come back. */
    bind_set_node(binder->bind, room->id, is_gone ? NULL : room, room->has.of.items,
                  room->has.of.len);
    binder->version++;
    if (binder->n_waiting > 0 && !is_gone)
        control_add(control, RETRY);
}

/* ---- pods ---- */

static struct guest *guest_need(struct control *control, const struct obj *pod)
{
    struct binder *binder = control_state(control);
    struct guest *guest = map_get(binder->guests, pod->meta.uid);
    if (guest != NULL) {
        binder_guest_renew(binder, guest, pod);
        return guest;
    }
    guest = mem_zalloc(sizeof(*guest));
    guest->key = mem_printf("%s/%s", obj_namespace(pod), pod->meta.name);
    guest->pod = obj_ref((struct obj *)pod);
    amounts_of_pod(&binder->names, yyjson_obj_get(pod->root, "spec"), &guest->wants);
    if (exclusive_key(pod) != NULL)
        guest->owner = exclusive_owner(pod);
    binder_gang_join(binder, control_world(control)->cache, guest);
    (void)map_put(binder->guests, pod->meta.uid, guest);
    return guest;
}

static void stop_waiting(struct binder *binder, struct guest *guest)
{
    struct pod_class *class = take_ptr(guest->class);
    binder_gang_stop_waiting(binder, guest);
    if (class == NULL)
        return;
    TAILQ_REMOVE(&class->guests, guest, siblings);
    binder->n_waiting--;
}

static void guest_free(struct binder *binder, struct guest *guest)
{
    stop_waiting(binder, guest);
    binder_gang_leave(binder, guest);
    obj_unref(guest->pod);
    mem_free(guest->key);
    mem_free(guest->owner);
    vec_done(&guest->bears);
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
    bool had_room = guest->room != NULL;
    binder_guest_give(binder, guest);
    guest_free(binder, guest);
    if (had_room && binder->n_waiting > 0)
        control_add(control, RETRY);
}

/* Those who wait to be near such a pod may come now. */
static void call_near(struct control *control)
{
    struct binder *binder = control_state(control);
    if (binder->is_nearer && binder->n_waiting > 0)
        control_add(control, RETRY);
    binder->is_nearer = false;
}

static void settle(struct control *control, const struct obj *pod, const char *node)
{
    struct binder *binder = control_state(control);
    struct guest *guest = guest_need(control, pod);
    bool is_there = guest->room != NULL && str_eq(guest->room->name, node);
    stop_waiting(binder, guest);
    if (guest->is_assumed) {
        guest->is_assumed = false;
        guest->is_news = is_there;
        control_add(control, guest->key);
    }
    guest->is_promised = false;
    if (!is_there) {
        binder_guest_give(binder, guest);
        binder_guest_take(binder, guest, room_need(binder, node));
    }
    call_near(control); /* also when it got another label */
}

static void map_pod(struct control *control, const struct change *change)
{
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
    struct guest *guest = guest_need(control, pod);
    bool is_waiting = guest->class != NULL || guest->waits_in_gang;
    /* What is said about a pod that waits is mostly our own word. */
    if (!is_waiting || guest->generation != pod->meta.generation)
        control_add(control, guest->key);
}

static void map_job(struct control *control, const struct change *change)
{
    struct guest *waiting = binder_gang_job(control_state(control), change);
    if (waiting != NULL)
        control_add(control, waiting->key);
}

static void binder_map(struct control *control, const struct change *change)
{
    if (change->obj->kind == &KIND_NODE)
        map_node(control, change);
    else if (change->obj->kind == &KIND_POD)
        map_pod(control, change);
    else if (change->obj->kind == &KIND_JOB)
        map_job(control, change);
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
    return str_eq(json_str_at(cell_condition(pod->root, "PodScheduled"), "message"), message);
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
    control_patch_status(control, pod, str_text(&text));
    control_event(control, pod, "Warning", "FailedScheduling", "%s", message);
}

static void wait_for_room(struct binder *binder, struct guest *guest, bool goes_first)
{
    struct pod_class *class = binder_class_need(binder, guest);
    class->saw_no_node = class->saw_no_node || bind_nodes(binder->bind) == 0;
    guest->class = class;
    guest->generation = guest->pod->meta.generation;
    binder->n_waiting++;
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
static void explain_anew(struct control *control, struct pod_class *class)
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
    struct pod_class *class = value;
    struct guest *guest = TAILQ_FIRST(&class->guests);
    if (guest == NULL)
        return true;
    if (binder_class_pick(retry->binder, class, guest->owner) != NULL)
        control_add(retry->control, guest->key);
    else if (class->saw_no_node && bind_nodes(retry->binder->bind) > 0)
        explain_anew(retry->control, class);
    return true;
}

static bool retry_gang(void *arg, const char *name, void *value)
{
    (void)name;
    struct retry *retry = arg;
    struct gang *gang = value;
    if (gang->n_placed > 0) { /* its first ones run: the others come as they fit */
        struct guest *guest;
        TAILQ_FOREACH(guest, &gang->waiting, siblings)
        {
            control_add(retry->control, guest->key);
        }
    } else if (binder_gang_is_due(retry->binder, control_world(retry->control)->cache, gang)) {
        control_add(retry->control, TAILQ_FIRST(&gang->waiting)->key);
    }
    return true;
}

static void bind_guest(struct control *control, struct guest *guest)
{
    guest->is_promised = false;
    guest->is_assumed = true;
    bind(control, guest->pod, guest->room->name);
}

static void look_alone(struct control *control, struct guest *guest,
                       const struct pod_class *waited_in)
{
    struct binder *binder = control_state(control);
    struct pod_class *class = binder_class_need(binder, guest);
    struct room *room = binder_class_pick(binder, class, guest->owner);
    if (room == NULL) {
        const char *why = binder_why(binder, guest);
        say_unschedulable(control, guest->pod, why);
        wait_for_room(binder, guest, waited_in != NULL);
        if (waited_in != NULL && waited_in != class) /* somebody minds it now, not its equals */
            control_add(control, RETRY);
        return;
    }
    binder_guest_take(binder, guest, room);
    bind_guest(control, guest);
    call_near(control);
    if (waited_in != NULL)
        control_add(control, RETRY);
}

/* Of a gang that is not complete one member says so; of one that does not fit all do. */
static void say_incomplete(struct control *control, const struct gang *gang,
                           const struct guest *guest)
{
    scoped_str text = {0};
    if (guest != TAILQ_FIRST(&gang->waiting))
        return;
    str_addf(&text, "gang %s has %zu of its %" PRId64 " members: waiting for the others",
             gang->name, gang->n_waiting, gang->size - gang->n_done);
    say_unschedulable(control, guest->pod, str_text(&text));
}

static void say_too_large(struct control *control, struct gang *gang, const struct guest *guest)
{
    scoped_str text = {0};
    struct guest *other;
    str_addf(&text, "gang %s of %zu does not fit as a whole: %s", gang->name, gang->n_waiting,
             str_text(&gang->why));
    say_unschedulable(control, guest->pod, str_text(&text));
    if (gang->is_told)
        return;
    gang->is_told = true;
    TAILQ_FOREACH(other, &gang->waiting, siblings)
    {
        control_add(control, other->key);
    }
}

static void look_as_gang(struct control *control, struct guest *guest)
{
    struct binder *binder = control_state(control);
    struct gang *gang = guest->gang;
    struct cache *cache = control_world(control)->cache;
    struct guest_vec members = {0};
    binder_gang_wait(binder, guest);
    if ((int64_t)gang->n_waiting < binder_gang_wants(cache, gang)) {
        say_incomplete(control, gang, guest);
    } else if (binder_gang_is_due(binder, cache, gang) && binder_gang_try(binder, gang, &members)) {
        gang->is_told = false;
        for (size_t i = 0; i < members.of.len; i++) {
            if (members.of.items[i] != guest) /* each is written under its own key */
                control_add(control, members.of.items[i]->key);
        }
        bind_guest(control, guest);
        call_near(control);
    } else {
        say_too_large(control, gang, guest);
    }
    vec_done(&members.of);
}

static void look_for_room(struct control *control, const struct obj *pod)
{
    struct binder *binder = control_state(control);
    struct guest *guest = guest_need(control, pod);
    if (guest->is_promised) {
        bind_guest(control, guest);
        return;
    }
    const struct pod_class *waited_in = guest->class;
    scoped_str unsupported = {0};
    if (waited_in != NULL)
        stop_waiting(binder, guest);
    binder_guest_give(binder,
                      guest); /* the write that should have told is known, and was in vain */
    if (near_unsupported(pod, &unsupported)) {
        say_unschedulable(control, pod, str_text(&unsupported));
        return;
    }
    if (guest->gang != NULL && guest->gang->n_placed == 0) {
        look_as_gang(control, guest);
        return;
    }
    stop_waiting(binder, guest);
    look_alone(control, guest, waited_in);
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
        (void)map_each(binder->gangs, retry_gang, &retry);
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
                          key, guest->room->name);
    }
}

static const char *domain_of(void *node, const char *key)
{
    const struct room *room = node;
    return yyjson_get_str(yyjson_obj_get(room->node->meta.labels, key));
}

static void binder_begin(struct control *control)
{
    struct binder *binder = mem_zalloc(sizeof(*binder));
    resource_names_init(&binder->names);
    binder->rooms = map_new();
    binder->guests = map_new();
    binder->classes = map_new();
    binder->gangs = map_new();
    binder->terms = map_new();
    binder->bind = bind_new(RESOURCE_KNOWN);
    bind_domains(binder->bind, domain_of);
    control_set_state(control, binder);
}

static bool free_guest(void *arg, const char *key, void *value)
{
    (void)key;
    near_forget(arg, value);
    guest_free(arg, value);
    return true;
}

static void binder_end(struct control *control)
{
    struct binder *binder = control_state(control);
    (void)map_each(binder->guests, free_guest, binder);
    (void)map_each(binder->classes, binder_class_free, binder);
    (void)map_each(binder->rooms, room_free, NULL);
    map_free(binder->guests);
    map_free(binder->classes);
    map_free(binder->gangs);
    map_free(binder->terms);
    map_free(binder->rooms);
    bind_free(binder->bind);
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
