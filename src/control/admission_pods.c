// SPDX-License-Identifier: Apache-2.0
/* Pods without an owner, alone or as a group. A gate holds each back until the gang is admitted;
 * stopping a pod is deleting it. Pods of a group that are alike in what they need are one set. */
#include "base/hash.h"
#include "control/admission.h"
#include "model/cell.h"
#include "model/kueue.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool has_ended(const struct obj *pod)
{
    const char *phase = json_str_at(pod->root, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

static void delete_pod(struct gang_look *look, const struct obj *pod, int64_t grace_s)
{
    struct write *write = write_new(WRITE_DELETE, &KIND_POD, obj_namespace(pod), pod->meta.name);
    write->if_uid = mem_strdup(pod->meta.uid);
    write->grace_s = grace_s;
    control_write(look->control, write);
}

bool pods_live(struct gang_look *look, const char *owner_uid, bool kill)
{
    bool any = false;
    struct obj *pod = owner_uid ? cache_owned_first(look->cache, owner_uid) : NULL;
    for (; pod != NULL && (!any || kill); pod = cache_owned_next(look->cache, owner_uid, pod)) {
        if (pod->kind != &KIND_POD || has_ended(pod))
            continue;
        any = true;
        if (kill)
            delete_pod(look, pod, 0);
    }
    return any;
}

/* ---- members ---- */

struct walk {
    const struct gang_look *look;
    void (*visit)(struct walk *walk, const struct obj *pod);
    struct gang_look *change; /* for those who write */
    yyjson_mut_doc *doc;
    yyjson_mut_val *sets;
    bool kill;
    int64_t there, gated, waiting, live, stays, ready, succeeded;
    int64_t room; /* for more starts */
    const struct obj *newest;
    const char *set;
};

static bool visit_one(void *arg, const char *name, void *value)
{
    struct walk *walk = arg;
    (void)value;
    const struct obj *pod = cache_get(walk->look->cache, &KIND_POD, walk->look->gang->ns, name);
    if (pod != NULL)
        walk->visit(walk, pod);
    return true;
}

static void walk_members(struct walk *walk)
{
    if (walk->look->gang->members != NULL)
        (void)map_each(walk->look->gang->members, visit_one, walk);
}

struct first {
    const struct gang_look *look;
    const struct obj *pod;
};

static bool take_first(void *arg, const char *name, void *value)
{
    struct first *first = arg;
    (void)value;
    first->pod = cache_get(first->look->cache, &KIND_POD, first->look->gang->ns, name);
    return first->pod == NULL; /* the walk ends with the first that is there */
}

const struct obj *pods_first(const struct gang_look *look)
{
    struct first first = {.look = look};
    if (look->gang->members != NULL)
        (void)map_each(look->gang->members, take_first, &first);
    return first.pod;
}

static bool is_gated(const struct obj *pod)
{
    return json_find(json_at(pod->root, "spec.schedulingGates"), "name", KUEUE_GATE) != NULL;
}

/* What makes pods of a group different to a queue. */
static void set_name(const struct gang_look *look, const struct obj *pod, struct str *out)
{
    static const char *const PARTS[] = {"containers", "initContainers", "nodeSelector", "affinity",
                                        "overhead"};
    if (!look->gang->is_group) {
        str_add(out, "main");
        return;
    }
    scoped_str text = {0};
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++) {
        yyjson_val *part = yyjson_obj_get(yyjson_obj_get(pod->root, "spec"), PARTS[i]);
        if (part != NULL && i < 2) { /* of containers only what they ask for */
            size_t k, n;
            yyjson_val *container;
            yyjson_arr_foreach(part, k, n, container)
            {
                yyjson_val *resources = yyjson_obj_get(container, "resources");
                if (resources != NULL)
                    json_write_val(resources, &text);
            }
        } else if (part != NULL && is_gated(pod)) {
            json_write_val(part, &text);
        }
        str_addc(&text, ';');
    }
    str_addf(out, "set-%08" PRIx64, hash_bytes(HASH_START, str_text(&text), text.len) & 0xffffffff);
}

static void describe_one(struct walk *walk, const struct obj *pod)
{
    yyjson_mut_doc *doc = walk->doc;
    scoped_str name = {0};
    set_name(walk->look, pod, &name);
    walk->there++;
    yyjson_mut_val *set = json_mut_find(walk->sets, "name", str_text(&name));
    if (set != NULL) {
        int64_t count = json_mut_int_at(set, "count", 0);
        json_mut_put(doc, set, "count", yyjson_mut_sint(doc, count + 1));
        return;
    }
    set = yyjson_mut_arr_add_obj(doc, walk->sets);
    yyjson_mut_val *spec = yyjson_val_mut_copy(doc, yyjson_obj_get(pod->root, "spec"));
    json_mut_put(doc, spec, "schedulingGates", NULL);
    json_mut_put(doc, spec, "nodeName", NULL);
    json_mut_put(doc, set, "name", yyjson_mut_strcpy(doc, str_text(&name)));
    json_mut_put(doc, set, "count", yyjson_mut_sint(doc, 1));
    json_mut_set(doc, set, "template.spec", spec);
}

static int64_t total_of(const struct gang_look *look)
{
    const struct obj *pod = look->gang->is_group ? pods_first(look) : NULL;
    const char *text =
        pod ? yyjson_get_str(yyjson_obj_get(pod->meta.annotations, KUEUE_GROUP_COUNT)) : NULL;
    return text ? strtol(text, NULL, 10) : 1;
}

static void pods_describe(const struct gang_look *look, yyjson_mut_doc *doc, yyjson_mut_val *sets)
{
    struct walk walk = {.look = look, .visit = describe_one, .doc = doc, .sets = sets};
    walk_members(&walk);
    if (walk.there >= total_of(look))
        return;
    while (yyjson_mut_arr_size(sets) > 0)
        (void)yyjson_mut_arr_remove_last(sets);
}

static void count_one(struct walk *walk, const struct obj *pod)
{
    walk->there++;
    walk->live += !has_ended(pod);
    walk->gated += is_gated(pod);
    walk->waiting += is_gated(pod) && !has_ended(pod) && pod->meta.deleted == 0;
    walk->stays += !is_gated(pod) && !has_ended(pod) && pod->meta.deleted == 0;
    bool succeeded = str_eq(json_str_at(pod->root, "status.phase"), "Succeeded");
    walk->succeeded += succeeded;
    walk->ready +=
        succeeded || cell_condition_is(json_at(pod->root, "status.conditions"), "Ready", "True");
}

static struct walk count(const struct gang_look *look)
{
    struct walk walk = {.look = look, .visit = count_one};
    walk_members(&walk);
    return walk;
}

static void find_newest(struct walk *walk, const struct obj *pod)
{
    if (!is_gated(pod) || has_ended(pod) || pod->meta.deleted != 0)
        return;
    const struct obj *newest = walk->newest;
    bool is_newer = newest == NULL || pod->meta.created > newest->meta.created ||
                    (pod->meta.created == newest->meta.created &&
                     strcmp(pod->meta.name, newest->meta.name) > 0);
    walk->newest = is_newer ? pod : newest;
}

bool pods_trim(struct gang_look *look)
{
    if (!look->gang->is_group || look->ops != &OWNER_PODS)
        return false;
    struct walk walk = count(look);
    int64_t total = total_of(look);
    if (walk.waiting == 0 || walk.succeeded + walk.stays + walk.waiting <= total)
        return false;
    walk.visit = find_newest;
    walk_members(&walk);
    tell_event(look, walk.newest, "Normal", "ExcessPodDeleted",
               "Deleted: its group has %lld pods without it", (long long)total);
    delete_pod(look, walk.newest, -1);
    return true;
}

/* ---- the owner ---- */

static bool pods_are_running(const struct gang_look *look)
{
    struct walk walk = count(look);
    return walk.gated < walk.live;
}

/* How many of those that wait may start. Each start is a write of its own, so some may have theirs
 * and others not; and one that has failed may have a successor. What is more than the group's size
 * has no quota. */
static int64_t room_of(const struct gang_look *look)
{
    struct walk walk = count(look);
    int64_t room = total_of(look) - walk.succeeded - (walk.live - walk.gated);
    return room < walk.waiting ? room : walk.waiting;
}

int64_t pods_missing(struct cache *cache, const struct crew *gang, const struct obj *workload)
{
    const struct gang_look look = {.cache = cache, .gang = (struct crew *)gang};
    if (!gang->is_group || gang->ops != &OWNER_PODS ||
        condition_is(workload, "QuotaReserved", "True"))
        return 0;
    struct walk walk = count(&look);
    int64_t missing = total_of(&look) - walk.succeeded - walk.waiting;
    return missing > 0 ? missing : 0;
}

static bool pods_are_started(const struct gang_look *look)
{
    return room_of(look) <= 0;
}

static void start_one(struct walk *walk, const struct obj *pod)
{
    struct gang_look *look = walk->change;
    if (!is_gated(pod) || pod->meta.deleted != 0 || walk->room-- <= 0)
        return;
    scoped_str name = {0};
    set_name(look, pod, &name);
    yyjson_mut_doc *doc = obj_edit(pod);
    yyjson_mut_val *spec = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "spec");
    yyjson_mut_val *gates = yyjson_mut_obj_get(spec, "schedulingGates");
    for (size_t i = yyjson_mut_arr_size(gates); i-- > 0;) {
        if (str_eq(json_mut_str_at(yyjson_mut_arr_get(gates, i), "name"), KUEUE_GATE))
            (void)yyjson_mut_arr_remove(gates, i);
    }
    adds_put(look, doc, yyjson_mut_doc_get_root(doc), pod->root, str_text(&name));
    struct write *write = write_new(WRITE_UPDATE, &KIND_POD, look->gang->ns, pod->meta.name);
    write->if_version = mem_strdup(pod->meta.resource_version);
    write->doc = doc;
    control_write_about(look->control, write, (struct obj *)pod, "FailedStart");
}

static void pods_start(struct gang_look *look)
{
    struct walk walk = {.look = look, .change = look, .visit = start_one, .room = room_of(look)};
    walk_members(&walk);
}

static void stop_one(struct walk *walk, const struct obj *pod)
{
    if (has_ended(pod))
        return;
    walk->live++;
    if (walk->kill)
        delete_pod(walk->change, pod, 0);
    else if (pod->meta.deleted == 0)
        delete_pod(walk->change, pod, -1);
}

static void pods_stop(struct gang_look *look)
{
    struct walk walk = {.look = look, .change = look, .visit = stop_one};
    walk_members(&walk);
}

static void pods_restore(struct gang_look *look)
{
    (void)look; /* they are gone */
}

static bool pods_are_ready(const struct gang_look *look)
{
    struct walk walk = count(look);
    return walk.ready >= total_of(look);
}

static int pods_end(const struct gang_look *look, struct str *message)
{
    struct walk walk = count(look);
    if (walk.there == 0 || walk.live > 0 || walk.there < total_of(look))
        return 0;
    bool good = walk.succeeded >= total_of(look);
    str_addf(message, good ? "Pods succeeded: %lld/%lld." : "Pods failed: %lld/%lld succeeded.",
             (long long)walk.succeeded, (long long)total_of(look));
    return good ? 1 : -1;
}

static bool pods_has_pods(struct gang_look *look, bool kill)
{
    if (kill) {
        struct walk walk = {.look = look, .change = look, .visit = stop_one, .kill = true};
        walk_members(&walk);
        return walk.live > 0;
    }
    return count(look).live > 0;
}

static int64_t pods_reclaimable(const struct gang_look *look, yyjson_val *pod_set)
{
    (void)pod_set;
    yyjson_val *sets = json_at(look->workload->root, "spec.podSets");
    return yyjson_arr_size(sets) == 1 ? count(look).succeeded : 0;
}

const struct owner_ops OWNER_PODS = {
    .kind = &KIND_POD,
    .prefix = "pod-",
    .describe = pods_describe,
    .is_running = pods_are_running,
    .is_started = pods_are_started,
    .start = pods_start,
    .stop = pods_stop,
    .restore = pods_restore,
    .is_ready = pods_are_ready,
    .end = pods_end,
    .has_pods = pods_has_pods,
    .reclaimable = pods_reclaimable,
};
