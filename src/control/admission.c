// SPDX-License-Identifier: Apache-2.0
/* Admission: from changes to keys. A gang's key is that of its Workload, "namespace/name"; other
 * keys are the engine's next step and the status of queues. */
#include "control/admission.h"
#include "base/hash.h"
#include "control/controllers.h"
#include "model/configuration.h"
#include "model/kueue.h"
#include <inttypes.h>

#define NAME_MAX_LEN 253

const struct configuration *gang_configuration(struct control *control)
{
    return control_world(control)->configuration;
}

bool gang_waits_for_ready(struct control *control)
{
    const struct configuration *configuration = gang_configuration(control);
    return configuration != NULL && configuration->ready.enable;
}

/* ---- gangs ---- */

struct crew *gang_find(const struct admission *admission, const char *key)
{
    return map_get(admission->gangs, key);
}

static struct crew *gang_need(struct admission *admission, const char *ns, const char *name)
{
    scoped_free char *key = mem_printf("%s/%s", ns, name);
    struct crew *gang = map_get(admission->gangs, key);
    if (gang != NULL)
        return gang;
    gang = mem_zalloc(sizeof(*gang));
    *gang = (struct crew){.key = take_ptr(key), .ns = mem_strdup(ns), .name = mem_strdup(name)};
    (void)map_put(admission->gangs, gang->key, gang);
    return gang;
}

static void gang_free(struct crew *gang)
{
    decide_forget(gang);
    vec_done(&gang->decided);
    map_free(gang->members);
    map_free(gang->parts);
    mem_free(gang->key);
    mem_free(gang->ns);
    mem_free(gang->name);
    mem_free(gang->owner);
    mem_free(gang->owner_uid);
    mem_free(gang);
}

static struct obj *owner_of(struct cache *cache, const struct crew *gang)
{
    if (gang->ops == NULL || gang->ops == &OWNER_PODS || gang->owner == NULL)
        return NULL;
    struct obj *owner = cache_get(cache, gang->ops->kind, gang->ns, gang->owner);
    return owner != NULL && str_eq(owner->meta.uid, gang->owner_uid) ? owner : NULL;
}

static bool forget_part(void *arg, const char *uid, void *value)
{
    struct admission *admission = arg;
    (void)value;
    (void)map_del(admission->by_uid, uid);
    return true;
}

static void gang_drop_if_gone(struct control *control, struct crew *gang)
{
    struct admission *admission = control_state(control);
    struct cache *cache = control_world(control)->cache;
    bool has_members = gang->members != NULL && map_count(gang->members) > 0;
    if (has_members || owner_of(cache, gang) != NULL ||
        cache_get(cache, &KIND_WORKLOAD, gang->ns, gang->name) != NULL)
        return;
    if (gang->owner_uid != NULL)
        (void)map_del(admission->by_uid, gang->owner_uid);
    if (gang->parts != NULL) /* Jobs may outlive their JobSet for a moment */
        (void)map_each(gang->parts, forget_part, admission);
    (void)map_del(admission->gangs, gang->key);
    gang_free(gang);
}

/* ---- owners ---- */

/* Long names are cut; a hash keeps them apart. */
static char *workload_name(const char *prefix, const char *owner)
{
    char *name = mem_printf("%s%s", prefix, owner);
    if (strlen(name) <= NAME_MAX_LEN)
        return name;
    uint64_t hash = hash_bytes(HASH_START, name, strlen(name));
    (void)snprintf(name + NAME_MAX_LEN - 17, 18, "-%016" PRIx64, hash);
    return name;
}

static const char *label(const struct obj *obj, const char *name)
{
    const char *text = yyjson_get_str(yyjson_obj_get(obj->meta.labels, name));
    return text != NULL && *text != '\0' ? text : NULL;
}

static void set_owner(struct admission *admission, struct crew *gang, const struct owner_ops *ops,
                      const char *name, const char *uid)
{
    gang->ops = ops;
    if (!str_eq(gang->owner, name)) {
        mem_free(gang->owner);
        gang->owner = mem_strdup(name);
    }
    if (!str_eq(gang->owner_uid, uid)) {
        if (gang->owner_uid != NULL)
            (void)map_del(admission->by_uid, gang->owner_uid);
        mem_free(gang->owner_uid);
        gang->owner_uid = mem_strdup(uid);
    }
    if (uid != NULL)
        (void)map_put(admission->by_uid, uid, gang);
}

static void part_put(struct admission *admission, struct crew *gang, const struct obj *job)
{
    if (gang->parts == NULL)
        gang->parts = map_new();
    (void)map_put(gang->parts, job->meta.uid, gang);
    (void)map_put(admission->by_uid, job->meta.uid, gang);
}

static void part_drop(struct admission *admission, struct crew *gang, const struct obj *job)
{
    (void)map_del(admission->by_uid, job->meta.uid);
    if (gang->parts != NULL)
        (void)map_del(gang->parts, job->meta.uid);
}

/* After a restart Jobs are told of before their JobSet is. */
static void adopt_parts(struct control *control, struct crew *gang)
{
    struct cache *cache = control_world(control)->cache;
    if (gang->ops != &OWNER_JOBSET || gang->owner_uid == NULL || gang->parts != NULL)
        return;
    struct obj *job = cache_owned_first(cache, gang->owner_uid);
    for (; job != NULL; job = cache_owned_next(cache, gang->owner_uid, job)) {
        if (job->kind == &KIND_JOB)
            part_put(control_state(control), gang, job);
    }
}

/* A Job of a JobSet is part of the JobSet's gang; its pods are found through it. */
static bool map_part(struct control *control, const struct change *change)
{
    struct admission *admission = control_state(control);
    yyjson_val *ref = obj_controller(change->obj);
    if (ref == NULL)
        return false;
    const char *uid = json_str_at(ref, "uid");
    struct crew *gang = uid ? map_get(admission->by_uid, uid) : NULL;
    if (gang == NULL)
        return true;
    if (change->obj->kind == &KIND_JOB && change->type == CHANGE_DELETED)
        part_drop(admission, gang, change->obj);
    else if (change->obj->kind == &KIND_JOB)
        part_put(admission, gang, change->obj);
    if (gang->is_leaving)
        control_add(control, gang->key);
    return true;
}

static void map_owner(struct control *control, const struct change *change,
                      const struct owner_ops *ops)
{
    struct admission *admission = control_state(control);
    const struct obj *owner = change->obj;
    struct crew *known = map_get(admission->by_uid, owner->meta.uid);
    if (map_part(control, change))
        return;
    if (known == NULL && label(owner, KUEUE_QUEUE_LABEL) == NULL)
        return;
    scoped_free char *name = workload_name(ops->prefix, owner->meta.name);
    struct crew *gang = known ? known : gang_need(admission, obj_namespace(owner), name);
    if (change->type != CHANGE_DELETED)
        set_owner(admission, gang, ops, owner->meta.name, owner->meta.uid);
    adopt_parts(control, gang);
    control_add(control, gang->key);
}

static void map_pod(struct control *control, const struct change *change)
{
    struct admission *admission = control_state(control);
    const struct obj *pod = change->obj;
    if (map_part(control, change))
        return;
    const char *group = label(pod, KUEUE_GROUP_LABEL);
    if (label(pod, KUEUE_QUEUE_LABEL) == NULL)
        return;
    scoped_free char *name =
        workload_name(group ? "podgroup-" : OWNER_PODS.prefix, group ? group : pod->meta.name);
    struct crew *gang = gang_need(admission, obj_namespace(pod), name);
    gang->is_group = group != NULL;
    set_owner(admission, gang, &OWNER_PODS, group ? group : pod->meta.name, NULL);
    if (gang->members == NULL)
        gang->members = map_new();
    if (change->type == CHANGE_DELETED)
        (void)map_del(gang->members, pod->meta.name);
    else
        (void)map_put(gang->members, pod->meta.name, gang);
    control_add(control, gang->key);
}

/* ---- workloads ---- */

/* After a restart the owner may be gone already; its pods need not be. */
static void adopt_reference(struct admission *admission, struct crew *gang,
                            const struct obj *workload)
{
    static const struct owner_ops *const OPS[] = {&OWNER_JOB, &OWNER_JOBSET};
    yyjson_val *ref = obj_controller(workload);
    for (size_t i = 0; gang->ops == NULL && ref != NULL && i < ARRAY_LEN(OPS); i++) {
        if (str_eq(json_str_at(ref, "kind"), OPS[i]->kind->name))
            set_owner(admission, gang, OPS[i], json_str_at(ref, "name"), json_str_at(ref, "uid"));
    }
}

static void map_workload(struct control *control, const struct change *change)
{
    struct admission *admission = control_state(control);
    const struct obj *workload = change->obj;
    struct crew *gang = gang_need(admission, obj_namespace(workload), workload->meta.name);
    adopt_reference(admission, gang, workload);
    adopt_parts(control, gang);
    if (change->type == CHANGE_DELETED) {
        decide_forget(gang);
        admit_remove_workload(admission->engine, gang->key, control_now(control));
    } else if (gang->decided.len == 0) {
        feed_workload(control, gang, workload);
    }
    control_add(control, gang->key);
    control_add(control, GANG_STEP);
}

/* ---- queues and what they depend on ---- */

struct refeed {
    struct control *control;
    struct cache *cache;
};

struct in_queue {
    struct control *control;
    const char *queue;
};

static bool refeed_one(void *arg, const char *key, void *value)
{
    struct refeed *refeed = arg;
    struct crew *gang = value;
    (void)key;
    const struct obj *workload = cache_get(refeed->cache, &KIND_WORKLOAD, gang->ns, gang->name);
    if (workload != NULL && gang->decided.len == 0)
        feed_workload(refeed->control, gang, workload);
    return true;
}

/* Which flavors suit a workload is part of what the engine knows of it. */
static void map_flavor(struct control *control, const struct change *change)
{
    struct admission *admission = control_state(control);
    time_ms now = control_now(control);
    if (change->type == CHANGE_DELETED)
        admit_remove_flavor(admission->engine, change->obj->meta.name, now);
    else
        admit_put_flavor(admission->engine, change->obj->meta.name, now);
    struct refeed refeed = {control, control_world(control)->cache};
    if (change->type != CHANGE_DELETED)
        (void)map_each(admission->gangs, refeed_one, &refeed);
}

static void refeed_locals(struct control *control, const char *ns, const char *queue)
{
    struct cache *cache = control_world(control)->cache;
    struct obj *local = cache_first(cache, &KIND_LOCALQUEUE, ns);
    for (; local != NULL; local = cache_after(cache, &KIND_LOCALQUEUE, ns, local)) {
        if (queue == NULL || str_eq(json_str_at(local->root, "spec.clusterQueue"), queue))
            feed_local(control, local);
    }
}

/* A status that was written changes nothing here. */
static bool is_only_status(const struct change *change)
{
    return change->type == CHANGE_MODIFIED && change->old != NULL &&
           change->old->meta.generation == change->obj->meta.generation &&
           change->old->meta.deleted == change->obj->meta.deleted;
}

/* Those who have quota in the queue: what they are asked for may be otherwise now. */
static bool look_if_in(void *arg, const char *key, void *value)
{
    struct in_queue *in = arg;
    const struct crew *gang = value;
    struct cache *cache = control_world(in->control)->cache;
    const struct obj *workload = cache_get(cache, &KIND_WORKLOAD, gang->ns, gang->name);
    if (workload != NULL &&
        str_eq(json_str_at(workload->root, "status.admission.clusterQueue"), in->queue))
        control_add(in->control, key);
    return true;
}

static void map_queue(struct control *control, const struct change *change)
{
    struct admission *admission = control_state(control);
    const char *name = change->obj->meta.name;
    if (is_only_status(change))
        return;
    if (change->type == CHANGE_DELETED)
        admit_remove_queue(admission->engine, name, control_now(control));
    else
        feed_queue(control, change->obj);
    struct in_queue in = {control, name};
    if (checks_of_queue(change->obj) || (change->old != NULL && checks_of_queue(change->old)))
        (void)map_each(admission->gangs, look_if_in, &in);
    refeed_locals(control, NULL, name);
    queue_add(control, GANG_CLUSTER_QUEUE, name);
}

static void map_local(struct control *control, const struct change *change)
{
    struct admission *admission = control_state(control);
    scoped_free char *key = mem_printf("%s/%s", obj_namespace(change->obj), change->obj->meta.name);
    if (is_only_status(change))
        return;
    if (change->type == CHANGE_DELETED)
        admit_remove_local(admission->engine, key, control_now(control));
    else
        feed_local(control, change->obj);
    queue_add(control, GANG_LOCAL_QUEUE, key);
}

static void map_cohort(struct control *control, const struct change *change)
{
    struct admission *admission = control_state(control);
    if (is_only_status(change))
        return;
    if (change->type == CHANGE_DELETED)
        admit_remove_cohort(admission->engine, change->obj->meta.name, control_now(control));
    else
        feed_cohort(control, change->obj);
}

/* Queues are used when the checks that they name are there. */
static void map_check(struct control *control, const struct change *change)
{
    struct cache *cache = control_world(control)->cache;
    (void)change;
    struct obj *queue = cache_first(cache, &KIND_CLUSTERQUEUE, NULL);
    for (; queue != NULL; queue = cache_after(cache, &KIND_CLUSTERQUEUE, NULL, queue)) {
        if (!checks_of_queue(queue))
            continue;
        feed_queue(control, queue);
        queue_add(control, GANG_CLUSTER_QUEUE, queue->meta.name);
    }
}

static void map_namespace(struct control *control, const struct change *change)
{
    if (change->type != CHANGE_DELETED)
        refeed_locals(control, change->obj->meta.name, NULL);
}

static void gang_map(struct control *control, const struct change *change)
{
    static const struct {
        const struct kind *kind;
        void (*map)(struct control *control, const struct change *change);
    } QUEUES[] = {{&KIND_RESOURCEFLAVOR, map_flavor}, {&KIND_CLUSTERQUEUE, map_queue},
                  {&KIND_LOCALQUEUE, map_local},      {&KIND_COHORT, map_cohort},
                  {&KIND_ADMISSIONCHECK, map_check},  {&KIND_NAMESPACE, map_namespace}};
    const struct kind *kind = change->obj->kind;
    if (kind == &KIND_POD)
        map_pod(control, change);
    else if (kind == &KIND_WORKLOAD)
        map_workload(control, change);
    else if (kind == &KIND_JOB)
        map_owner(control, change, &OWNER_JOB);
    else if (kind == &KIND_JOBSET)
        map_owner(control, change, &OWNER_JOBSET);
    for (size_t i = 0; i < ARRAY_LEN(QUEUES); i++) {
        if (QUEUES[i].kind != kind)
            continue;
        QUEUES[i].map(control, change);
        control_add(control, GANG_STEP);
    }
}

/* ---- keys ---- */

static void step(struct control *control)
{
    struct admission *admission = control_state(control);
    struct admit_decisions decisions = {0};
    admit_step(admission->engine, control_now(control), &decisions);
    for (size_t i = 0; i < decisions.len; i++) {
        struct crew *gang = gang_find(admission, decisions.items[i].key);
        if (gang != NULL)
            decide_keep(control, gang, &decisions.items[i]);
    }
    queue_add_changed(control);
    time_ms due = admit_deadline(admission->engine);
    if (due != TIME_NEVER)
        control_add_at(control, GANG_STEP, due);
}

/* A Workload is of whom it says, whatever is called like its owner by now. */
static void settle_owner(struct gang_look *look)
{
    look->ops = look->gang->ops;
    look->owner_uid = look->gang->owner_uid;
    if (look->workload == NULL || look->ops == NULL || look->ops == &OWNER_PODS)
        return;
    yyjson_val *ref = obj_controller(look->workload);
    if (ref == NULL)
        look->ops = NULL;
    look->owner_uid = json_str_at(ref, "uid");
    if (look->owner != NULL && !str_eq(look->owner->meta.uid, look->owner_uid))
        look->owner = NULL;
}

static void reconcile_gang(struct control *control, const char *key)
{
    struct admission *admission = control_state(control);
    struct crew *gang = gang_find(admission, key);
    if (gang == NULL)
        return;
    struct cache *cache = control_world(control)->cache;
    struct gang_look look = {.control = control,
                             .admission = admission,
                             .gang = gang,
                             .workload = cache_get(cache, &KIND_WORKLOAD, gang->ns, gang->name),
                             .owner = owner_of(cache, gang),
                             .cache = cache,
                             .now = control_now(control)};
    settle_owner(&look);
    look_at_gang(&look);
    gang_drop_if_gone(control, gang);
}

static void gang_reconcile(struct control *control, const char *key)
{
    if (strcmp(key, GANG_STEP) == 0)
        step(control);
    else if (strcmp(key, GANG_TELL) == 0)
        tell_events(control);
    else if (str_starts(key, GANG_CLUSTER_QUEUE))
        queue_write_cluster(control, key + strlen(GANG_CLUSTER_QUEUE));
    else if (str_starts(key, GANG_LOCAL_QUEUE))
        queue_write_local(control, key + strlen(GANG_LOCAL_QUEUE));
    else
        reconcile_gang(control, key);
}

/* ---- life ---- */

static void gang_begin(struct control *control)
{
    struct admission *admission = mem_zalloc(sizeof(*admission));
    struct admit_settings settings;
    control_set_state(control, admission);
    gang_settings(control, &settings);
    admission->engine = admit_new(&settings, rng_next(&control_world(control)->rng));
    admission->gangs = map_new();
    admission->by_uid = map_new();
    admission->queues = map_new();
    arena_init(&admission->arena);
}

static bool free_one(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    gang_free(value);
    return true;
}

static void gang_end(struct control *control)
{
    struct admission *admission = control_state(control);
    (void)map_each(admission->gangs, free_one, NULL);
    map_free(admission->gangs);
    map_free(admission->by_uid);
    queue_forget_all(admission);
    meter_done(admission);
    tell_done(admission);
    admit_free(admission->engine);
    arena_done(&admission->arena);
    mem_free(admission);
    control_set_state(control, NULL);
}

static bool add_one(void *arg, const char *key, void *value)
{
    (void)value;
    control_add(arg, key);
    return true;
}

static void gang_configure(struct control *control)
{
    struct admission *admission = control_state(control);
    struct admit_settings settings;
    gang_settings(control, &settings);
    admit_set(admission->engine, &settings, control_now(control));
    (void)map_each(admission->gangs, add_one, control);
    control_add(control, GANG_STEP);
}

const struct controller CONTROLLER_ADMISSION = {
    .name = "admission",
    .map = gang_map,
    .reconcile = gang_reconcile,
    .begin = gang_begin,
    .end = gang_end,
    .configure = gang_configure,
    .metrics = meter_print,
    .explain = tell_explain,
};
