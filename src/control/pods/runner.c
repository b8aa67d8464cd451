// SPDX-License-Identifier: Apache-2.0
/* The controller between Pod objects and the start engine of one node.
 *
 *   key "ns/name": look at the object; put the pod into the engine, tell the engine to stop it,
 *                  write its status, confirm its deletion
 *   keys "@...":   the engine's timer, the Node object, its Lease, the settings
 *   keys "%...":   groups of pods, gang.c
 *
 * 1. A pod is in the engine at most once; a pod of the same name with another UID waits until the
 *    one before it is gone.
 * 2. Nothing is put into the engine before the runtime has told what an earlier supervisor left:
 *    otherwise a container could be started twice.
 * 3. An exit is forgotten by the runtime only after the status that tells of it is durable. Whether
 *    it is, the object says: a write may be refused, and an earlier life of ours may have written.
 * 4. A deletion is confirmed only when no process of the pod is left. */
#include "base/quantity.h"
#include "control/controllers.h"
#include "control/pods/gang.h"
#include "control/pods/hosts.h"
#include "control/pods/leave.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEY_NODE "@node"
#define KEY_LEASE "@lease"
#define KEY_SETTINGS "@settings"
#define LATE_MS 1000
#define CONFIG_RETRY_MS 10000
#define LAST_STATUS_MS 5000
#define FIRST_STATUS_MS 10000 /* in a burst of thousands each one waits for its birth */

/* ---- pods of this node ---- */

static void rpod_free(struct rpod *pod)
{
    for (size_t i = 0; i < pod->n; i++) {
        mem_free(pod->containers[i].message);
        mem_free(pod->containers[i].status);
    }
    obj_unref(pod->obj);
    mem_free(pod->containers);
    mem_free(pod->held_reason);
    mem_free(pod->held_message);
    mem_free(pod->cause);
    mem_free(pod->key);
    mem_free(pod->uid);
    mem_free(pod->ns);
    mem_free(pod->name);
    mem_free(pod);
}

static void rpod_point(struct rpod *pod)
{
    for (size_t i = 0; i < pod->n; i++)
        pod->containers[i].spec = podspec_container(pod->obj, i, &pod->containers[i].is_init);
}

/* What a pod is made of does not change: holding the newest version lets the older ones go. */
static void rpod_renew(struct rpod *pod, struct obj *obj)
{
    if (obj == pod->obj)
        return;
    obj_unref(pod->obj);
    pod->obj = obj_ref(obj);
    rpod_point(pod);
}

static struct rpod *rpod_new(struct runner *runner, const char *key, struct obj *obj)
{
    struct rpod *pod = mem_zalloc(sizeof(*pod));
    pod->runner = runner;
    pod->key = mem_strdup(key);
    pod->uid = mem_strdup(obj->meta.uid);
    pod->ns = mem_strdup(obj_namespace(obj));
    pod->name = mem_strdup(obj->meta.name);
    pod->obj = obj_ref(obj);
    pod->n = podspec_count(obj);
    pod->containers = mem_zalloc(pod->n * sizeof(*pod->containers));
    rpod_point(pod);
    const char *started = json_str_at(obj->root, "status.startTime");
    time_ms at = 0;
    if (started == NULL || rfc3339_parse(sv_of(started), &at, NULL) < 0)
        at = runner_wall(runner, control_steady(runner->control));
    pod->started_at = at;
    (void)map_put(runner->pods, key, pod);
    (void)map_put(runner->by_uid, pod->uid, pod);
    return pod;
}

static void rpod_drop(struct rpod *pod)
{
    struct runner *runner = pod->runner;
    gang_leave(pod);
    hosts_leave(pod);
    if (pod->engine != NULL)
        start_pod_remove(runner->engine, pod->engine);
    (void)map_del(runner->pods, pod->key);
    (void)map_del(runner->by_uid, pod->uid);
    rpod_free(pod);
}

static int64_t sum_of(const struct rpod *pod, const char *path, bool binary)
{
    int64_t sum = 0;
    for (size_t i = 0; i < pod->n; i++) {
        yyjson_val *value = json_at(pod->containers[i].spec, path);
        quantity q = 0;
        if (pod->containers[i].is_init || value == NULL)
            continue;
        scoped_str text = {0};
        if (yyjson_is_str(value))
            str_add(&text, yyjson_get_str(value));
        else
            json_write_val(value, &text);
        if (quantity_parse((struct sv){str_text(&text), text.len}, &q, NULL) == 0)
            sum += binary ? quantity_value(q) : quantity_milli(q);
    }
    return sum;
}

static bool all_limited(const struct rpod *pod, const char *path)
{
    for (size_t i = 0; i < pod->n; i++) {
        if (!pod->containers[i].is_init && json_at(pod->containers[i].spec, path) == NULL)
            return false;
    }
    return true;
}

struct runtime_pod rpod_slice(const struct rpod *pod)
{
    bool cpu = all_limited(pod, "resources.limits.cpu");
    bool memory = all_limited(pod, "resources.limits.memory");
    bool starts = pod->engine == NULL || start_pod_is_starting(pod->engine);
    return (struct runtime_pod){
        .uid = pod->uid,
        .ns = pod->ns,
        .name = pod->name,
        .n_containers = pod->n,
        .share = starts ? pod->runner->settings.starting_weight : 1.0,
        .cpu_request_milli = sum_of(pod, "resources.requests.cpu", false),
        .cpu_limit_milli = cpu ? sum_of(pod, "resources.limits.cpu", false) : 0,
        .memory_limit_bytes = memory ? sum_of(pod, "resources.limits.memory", true) : 0};
}

/* ---- into the engine ---- */

static void hold(struct rpod *pod, const char *reason, const char *message)
{
    pod->stage = RPOD_HELD;
    mem_free(pod->held_reason);
    mem_free(pod->held_message);
    pod->held_reason = mem_strdup(reason);
    pod->held_message = mem_strdup(message);
}

/* Everything a start will need is looked up once before: a ConfigMap that is not there yet is no
 * failed start, it is a pod that waits. */
static int look_ahead(struct runner *runner, struct rpod *pod, struct err *err)
{
    struct cache *cache = control_world(runner->control)->cache;
    for (size_t i = 0; i < pod->n; i++) {
        struct launch launch = {0};
        int r = launch_make(&runner->arena, cache, pod->obj, pod->containers[i].spec,
                            &runner->options.launch, &launch, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool can_begin(struct runner *runner, struct rpod *pod)
{
    struct err err = {0};
    int r = 0;
    if (!runner->options.is_virtual)
        r = launch_supported(pod->obj, runner->settings.ignore_images, &err);
    if (r == 0)
        r = look_ahead(runner, pod, &err);
    if (r == 0)
        return true;
    pod->is_refused = r == -ENOTSUP || r == -EINVAL;
    hold(pod, pod->is_refused ? "Unsupported" : "CreateContainerConfigError", err.text);
    if (pod->is_refused)
        control_event(runner->control, pod->obj, "Warning", "Unsupported", "%s%s%s", err.text,
                      err.hint[0] != '\0' ? ": " : "", err.hint);
    else
        control_add_after(runner->control, pod->key, CONFIG_RETRY_MS);
    return false;
}

/* A pod that was begun before we came goes on, whatever has become of its ConfigMaps. */
static void take_in(struct runner *runner, struct rpod *pod)
{
    if (!podadopt_is_begun(runner, pod) && !can_begin(runner, pod))
        return;
    enum gang_role role = gang_role(runner, pod);
    if (role == GANG_LOST && !podadopt_is_begun(runner, pod)) {
        hold(pod, "JobSetNotFound", "the JobSet of this pod is gone");
        return;
    }
    struct start_pod_spec spec = {0};
    podspec_read(&runner->arena, pod->obj, runner->options.runtime->notifies, &spec);
    spec.host = pod;
    spec.is_member = role == GANG_MEMBER;
    if (spec.deadline_ms > 0) {
        time_ms used = runner_wall(runner, control_steady(runner->control)) - pod->started_at;
        used = used > 0 ? used : 0; /* somebody may have set the clock back */
        spec.deadline_ms = spec.deadline_ms > used ? spec.deadline_ms - used : 1;
    }
    pod->stage = RPOD_LIVE;
    hosts_enter(pod);
    struct runtime_pod slice = rpod_slice(pod);
    runner->options.runtime->ops->pod_create(runner->options.runtime, &slice);
    podadopt_pod(runner, pod, &spec);
    if (role == GANG_MEMBER)
        gang_enter(runner, pod);
    if (!start_pod_is_starting(pod->engine)) { /* it was ready before we came */
        slice = rpod_slice(pod);
        runner->options.runtime->ops->pod_weigh(runner->options.runtime, &slice);
    }
}

/* ---- out of it ---- */

static void confirm_deletion(struct runner *runner, const struct obj *obj)
{
    struct write *write = write_new(WRITE_DELETE, &KIND_POD, obj_namespace(obj), obj->meta.name);
    write->if_uid = mem_strdup(obj->meta.uid);
    write->grace_s = 0;
    control_write(runner->control, write);
}

/* All ends before the current generations, or those too: their consequences are durable. */
static void forget_ends(struct runner *runner, struct rpod *pod, bool also_current)
{
    struct runtime *runtime = runner->options.runtime;
    for (uint32_t i = 0; i < pod->n; i++) {
        struct rcontainer *container = &pod->containers[i];
        uint32_t end = container->generation + also_current;
        for (; container->forgotten + 1 < end; container->forgotten++) {
            struct runtime_unit unit = {pod->uid, json_str_at(container->spec, "name"),
                                        container->forgotten + 1};
            runtime->ops->forget(runtime, &unit);
        }
    }
}

static void remove_rest(struct runner *runner, struct rpod *pod)
{
    forget_ends(runner, pod, true);
    gang_leave(pod);
    hosts_leave(pod);
    if (pod->engine != NULL)
        start_pod_remove(runner->engine, pod->engine);
    pod->engine = NULL;
    pod->stage = RPOD_REMOVING;
    runner->options.runtime->ops->pod_remove(runner->options.runtime, pod->uid);
}

static bool is_final_phase(const struct obj *obj)
{
    const char *phase = json_str_at(obj->root, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

/* ---- status ---- */

/* Would the merge patch change nothing? */
static bool is_said(yyjson_val *now, yyjson_mut_val *patch)
{
    size_t i, n;
    yyjson_mut_val *key, *want;
    yyjson_mut_obj_foreach(patch, i, n, key, want)
    {
        yyjson_val *is = yyjson_obj_get(now, yyjson_mut_get_str(key));
        bool same = yyjson_mut_is_null(want)  ? is == NULL
                    : yyjson_mut_is_obj(want) ? yyjson_is_obj(is) && is_said(is, want)
                                              : is != NULL && json_mut_identical(want, is);
        if (!same)
            return false;
    }
    return true;
}

/* True: the object says what there is to say. Compared with the object rather than with what was
 * last written: that may have been refused. The version keeps a write of an earlier life, still on
 * its way, from telling an older story. */
static bool write_status(struct runner *runner, struct rpod *pod, const struct obj *obj)
{
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *patch = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, patch);
    podstatus_make(pod, obj, doc, patch);
    pod->is_told = true;
    if (is_said(obj->root, patch)) {
        forget_ends(runner, pod, false);
        return true;
    }
    struct write *write = write_new(WRITE_PATCH, &KIND_POD, pod->ns, pod->name);
    write->sub = SUB_STATUS;
    write->patch_type = PATCH_MERGE;
    write->patch = yyjson_mut_doc_imut_copy(doc, NULL);
    write->if_uid = mem_strdup(pod->uid);
    write->if_version = mem_strdup(obj->meta.resource_version);
    control_write(runner->control, write);
    return false;
}

/* ---- reconciliation ---- */

static bool is_mine(const struct runner *runner, const struct obj *obj)
{
    return str_eq(json_str_at(obj->root, "spec.nodeName"), runner->options.node);
}

static void stop(struct runner *runner, struct rpod *pod, time_ms grace_ms)
{
    if (pod->stage == RPOD_LIVE)
        start_pod_stop(runner->engine, pod->engine, grace_ms, control_steady(runner->control));
    else if (pod->stage == RPOD_HELD)
        pod->is_over = true;
}

/* deletionTimestamp is when the grace ends, so a supervisor that was away does not give it anew. */
static time_ms grace_left(const struct runner *runner, const struct obj *obj)
{
    time_ms left = obj->meta.deleted - control_now(runner->control);
    time_ms all = obj->meta.deletion_grace_s * 1000;
    if (left > all || left > all - 1500) /* whole seconds in the object: the first look gives all */
        return all;
    return left > 0 ? left : 0;
}

/* Once for each wish. Each call is news to the engine, which brings the key back; and what is left
 * of the grace is the engine's to know, not the wall clock's. */
static void stop_once(struct runner *runner, struct rpod *pod, int64_t wish_s, time_ms grace_ms)
{
    if (pod->is_stopped && wish_s >= pod->stop_grace_s)
        return;
    pod->is_stopped = true;
    pod->stop_grace_s = wish_s;
    stop(runner, pod, grace_ms);
}

/* The object is gone or another one has its name. */
static void reconcile_lost(struct runner *runner, struct rpod *pod)
{
    if (pod->stage == RPOD_REMOVED) {
        struct runtime_pod slice = rpod_slice(pod);
        runner->options.runtime->ops->pod_forget(runner->options.runtime, &slice);
        control_add(runner->control, pod->key); /* its successor may be waiting */
        rpod_drop(pod);
        return;
    }
    stop_once(runner, pod, 0, 0);
    if (pod->is_over && pod->stage != RPOD_REMOVING)
        remove_rest(runner, pod);
}

static void reconcile_over(struct runner *runner, struct rpod *pod, struct obj *obj)
{
    if (pod->stage == RPOD_LIVE || pod->stage == RPOD_HELD) {
        bool is_awaited = obj->meta.deleted == 0 || yyjson_arr_size(obj->meta.finalizers) > 0;
        if (is_awaited && !is_final_phase(obj) && !write_status(runner, pod, obj))
            return; /* the change brings us back, or the failure does */
        remove_rest(runner, pod);
    }
    if (pod->stage != RPOD_REMOVED)
        return;
    if (obj->meta.deleted != 0)
        confirm_deletion(runner, obj);
    else
        rpod_drop(pod); /* its logs stay until the object goes */
}

/* The runtime has it, and soon there will be more to tell: one status instead of two. */
static bool is_about_to_run(const struct rpod *pod)
{
    if (pod->is_told || pod->stage != RPOD_LIVE)
        return false;
    for (uint32_t i = 0; i < pod->n; i++) {
        struct start_view view;
        start_view(pod->engine, i, &view);
        if (view.state == CT_STARTING && view.started_at == 0)
            return control_steady(pod->runner->control) - view.since < FIRST_STATUS_MS;
    }
    return false;
}

/* It was told to end and nothing of it has ended yet: that it is no longer ready says the time of
 * its deletion already. Mostly the next thing to tell is that it is gone. */
static bool is_about_to_end(const struct rpod *pod, const struct obj *obj)
{
    if (obj->meta.deleted == 0 || !pod->is_told || pod->stage != RPOD_LIVE)
        return false;
    for (uint32_t i = 0; i < pod->n; i++) {
        struct start_view view;
        start_view(pod->engine, i, &view);
        if (!view.is_ending)
            return false;
    }
    time_ms asked_at = obj->meta.deleted - obj->meta.deletion_grace_s * 1000;
    return control_now(pod->runner->control) - asked_at < LAST_STATUS_MS;
}

static void reconcile_live(struct runner *runner, struct rpod *pod, struct obj *obj)
{
    scoped_obj *before = pod->stage == RPOD_LIVE && !pod->is_stale ? obj_ref(pod->obj) : NULL;
    rpod_renew(pod, obj);
    bool is_wanted = obj->meta.deleted == 0 || podadopt_is_begun(runner, pod);
    if (pod->stage == RPOD_HELD && !pod->is_refused && !pod->is_over && is_wanted)
        take_in(runner, pod);
    pod->is_stale = false;
    renew_files(runner, pod, before);
    if (obj->meta.deleted != 0 && !pod->is_over)
        stop_once(runner, pod, obj->meta.deletion_grace_s, grace_left(runner, obj));
    else if (is_final_phase(obj) && !pod->is_over)
        stop_once(runner, pod, 0, 0); /* somebody else has said so: what has ended stays ended */
    act_pump(runner);
    if (pod->is_refused)
        pod->is_over = true;
    if (runner->is_shutdown)
        return;
    if (pod->is_over)
        reconcile_over(runner, pod, obj);
    else if (is_final_phase(obj) || gang_defers(pod))
        return; /* its units end first; or its group is told of when it has started */
    else if (is_about_to_run(pod))
        control_add_after(runner->control, pod->key, FIRST_STATUS_MS);
    else if (is_about_to_end(pod, obj))
        control_add_after(runner->control, pod->key, LAST_STATUS_MS);
    else
        (void)write_status(runner, pod, obj);
}

static void reconcile_new(struct runner *runner, const char *key, struct obj *obj)
{
    if (!is_mine(runner, obj) || !runner->has_found_all || runner->is_shutdown)
        return;
    if (is_final_phase(obj)) {
        podadopt_tidy(runner, obj->meta.uid);
        if (obj->meta.deleted != 0)
            confirm_deletion(runner, obj);
        return;
    }
    struct rpod *pod = rpod_new(runner, key, obj);
    hold(pod, "ContainerCreating", "");
    reconcile_live(runner, pod, obj);
}

static void reconcile_pod(struct runner *runner, const char *key)
{
    const char *slash = strchr(key, '/');
    scoped_free char *ns = mem_strndup(key, (size_t)(slash - key));
    struct obj *obj = cache_get(control_world(runner->control)->cache, &KIND_POD, ns, slash + 1);
    struct rpod *pod = map_get(runner->pods, key);
    if (pod == NULL && runner->has_found_all)
        podadopt_strays(runner);
    if (pod == NULL && obj != NULL)
        reconcile_new(runner, key, obj);
    else if (pod != NULL && (obj == NULL || strcmp(obj->meta.uid, pod->uid) != 0))
        reconcile_lost(runner, pod);
    else if (pod != NULL)
        reconcile_live(runner, pod, obj);
    act_pump(runner);
}

static void tick(struct runner *runner)
{
    time_ms now = control_steady(runner->control);
    time_ms late = runner->tick_at == TIME_NEVER ? 0 : now - runner->tick_at;
    runner->tick_at = TIME_NEVER;
    start_tick(runner->engine, now, late > LATE_MS ? late : 0);
    act_pump(runner);
}

static void settings_usual(struct runner *runner)
{
    node_settings_default(&runner->settings, runner->options.cores);
    if (runner->options.is_virtual)
        runner->settings.start.start_timeout_ms = 0;
}

static void read_settings(struct runner *runner)
{
    struct cache *cache = control_world(runner->control)->cache;
    settings_usual(runner);
    node_settings_find(cache, runner->options.node, &runner->settings);
    start_set(runner->engine, &runner->settings.start, control_steady(runner->control));
    if (runner->options.on_settings != NULL)
        runner->options.on_settings(runner->options.arg, runner->settings.log_bytes,
                                    runner->settings.log_files);
    act_pump(runner);
}

static void reconcile_gang(struct runner *runner, const char *key)
{
    gang_reconcile(runner, key);
    act_pump(runner);
}

static void be_late(struct runner *runner)
{
    if (runner->is_leaving && !runner->is_shutdown)
        runner_end_pods(runner);
}

static void runner_reconcile(struct control *control, const char *key)
{
    struct runner *runner = control_arg(control);
    arena_reset(&runner->arena);
    if (strcmp(key, KEY_TICK) == 0)
        tick(runner);
    else if (strcmp(key, KEY_MORE) == 0)
        act_pump(runner);
    else if (runner->is_cut_off && key[0] != '!')
        return; /* everything comes again with the next contact */
    else if (strcmp(key, KEY_SETTINGS) == 0)
        read_settings(runner);
    else if (strcmp(key, KEY_NODE) == 0)
        register_node(runner);
    else if (strcmp(key, KEY_LEASE) == 0)
        register_lease(runner);
    else if (strcmp(key, KEY_LEAVE) == 0)
        leave_reconcile(runner);
    else if (strcmp(key, KEY_LATE) == 0)
        be_late(runner);
    else if (key[0] == '!')
        act_watchdog(runner, key);
    else if (key[0] == '%')
        reconcile_gang(runner, key);
    else
        reconcile_pod(runner, key);
}

static void map_pod(struct runner *runner, const struct change *change)
{
    const struct obj *obj = change->obj;
    char key[512];
    (void)snprintf(key, sizeof(key), "%s/%s", obj_namespace(obj), obj->meta.name);
    bool is_ours = is_mine(runner, obj);
    struct rpod *kept = map_get(runner->pods, key);
    bool is_kept = kept != NULL;
    bool is_same = is_kept && change->type == CHANGE_MODIFIED && str_eq(kept->uid, obj->meta.uid);
    bool can_wait = is_same && !is_final_phase(obj) && gang_on_pod(kept, obj);
    if ((is_ours || is_kept) && !can_wait)
        control_add(runner->control, key);
    if (change->type == CHANGE_DELETED && is_ours && !is_kept) {
        struct runtime_pod slice = {
            .uid = obj->meta.uid, .ns = obj_namespace(obj), .name = obj->meta.name};
        runner->options.runtime->ops->pod_forget(runner->options.runtime, &slice);
    }
}

struct wake_config {
    struct runner *runner;
    const char *ns;
};

static bool wake_held(void *arg, const char *key, void *value)
{
    struct wake_config *wake = arg;
    struct rpod *pod = value;
    if (strcmp(pod->ns, wake->ns) != 0)
        return true;
    pod->is_stale = pod->stage == RPOD_LIVE && renew_has_files(pod->obj);
    if (pod->stage == RPOD_HELD || pod->is_stale)
        control_add(wake->runner->control, key);
    return true;
}

/* A node that hears nothing would not hear of this either: it is a rehearsal. */
static void note_contact(struct runner *runner, const struct change *change)
{
    bool was = runner->is_cut_off;
    runner->is_cut_off = change->type != CHANGE_DELETED && renew_is_cut_off(change->obj);
    if (!was || runner->is_cut_off)
        return;
    control_add(runner->control, KEY_LEASE);
    renew_contact(runner);
}

static void runner_map(struct control *control, const struct change *change)
{
    struct runner *runner = control_arg(control);
    const struct kind *kind = change->obj->kind;
    if (kind == &KIND_POD) {
        map_pod(runner, change);
    } else if (kind == &KIND_JOBSET) {
        gang_on_jobset(runner, change->obj);
        hosts_on_jobset(runner, change->obj);
        if (runner->is_leaving)
            control_add(control, KEY_LEAVE);
    } else if (kind == &KIND_NODECONFIG) {
        control_add(control, KEY_SETTINGS);
    } else if (kind == &KIND_NODE && str_eq(change->obj->meta.name, runner->options.node)) {
        control_add(control, KEY_NODE);
        note_contact(runner, change);
    } else if (kind == &KIND_CONFIGMAP) {
        struct wake_config wake = {runner, obj_namespace(change->obj)};
        (void)map_each(runner->pods, wake_held, &wake);
    }
}

static void runner_begin(struct control *control)
{
    struct runner *runner = control_arg(control);
    runner->control = control;
    runner->wall_offset = control_now(control) - control_steady(control);
    control_add(control, KEY_SETTINGS);
    control_add(control, KEY_NODE);
    control_add(control, KEY_LEASE);
    runner->options.runtime->ops->adopt(runner->options.runtime);
}

static bool drop_each(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    rpod_drop(value);
    return true;
}

/* Everything that is known comes from the objects and from the runtime: the next life learns it
 * from there. */
static void runner_end(struct control *control)
{
    struct runner *runner = control_arg(control);
    (void)map_each(runner->pods, drop_each, NULL);
    podadopt_done(runner);
    start_free(runner->engine);
    runner->engine = start_new(&runner->settings.start);
    runner->tick_at = TIME_NEVER;
    runner->has_found_all = runner->is_shutdown = runner->is_leaving = false;
    map_free(runner->leaving);
    runner->leaving = map_new();
    runner->was_sampling = false;
    runner->registered[0] = '\0';
    runner->control = NULL;
}

/* The engine's timer is judged by runner_is_steady(). */
static bool runner_is_upkeep(const char *key)
{
    return strcmp(key, KEY_LEASE) == 0 || strcmp(key, KEY_TICK) == 0;
}

bool runner_is_steady(const struct runner *runner)
{
    return start_is_steady(runner->engine);
}

struct runner *runner_new(const struct runner_options *options)
{
    struct runner *runner = mem_zalloc(sizeof(*runner));
    runner->options = *options;
    runner->controller = (struct controller){.name = "node",
                                             .map = runner_map,
                                             .reconcile = runner_reconcile,
                                             .begin = runner_begin,
                                             .end = runner_end,
                                             .is_upkeep = runner_is_upkeep,
                                             .arg = runner};
    settings_usual(runner);
    runner->engine = start_new(&runner->settings.start);
    runner->pods = map_new();
    runner->by_uid = map_new();
    runner->gangs = map_new();
    runner->hosts = map_new();
    runner->leaving = map_new();
    runner->tick_at = TIME_NEVER;
    arena_init(&runner->arena);
    options->runtime->ops->listen(options->runtime, act_on_event, runner);
    return runner;
}

void runner_free(struct runner *runner)
{
    if (runner == NULL)
        return;
    runner->options.runtime->ops->listen(runner->options.runtime, NULL, NULL);
    (void)map_each(runner->pods, drop_each, NULL);
    map_free(runner->pods);
    map_free(runner->by_uid);
    map_free(runner->gangs);
    map_free(runner->hosts);
    map_free(runner->leaving);
    podadopt_done(runner);
    start_free(runner->engine);
    arena_done(&runner->arena);
    mem_free(runner);
}

const struct controller *runner_controller(const struct runner *runner)
{
    return &runner->controller;
}

void runner_sample(struct runner *runner, const struct gate_sample *sample)
{
    if (runner->control == NULL)
        return;
    start_sample(runner->engine, sample, control_steady(runner->control));
    act_pump(runner);
    control_wake(runner->control);
}

/* ---- the end ---- */

static bool stop_each(void *arg, const char *key, void *value)
{
    struct runner *runner = arg;
    struct rpod *pod = value;
    (void)key;
    int64_t grace_s = json_int_at(pod->obj->root, "spec.terminationGracePeriodSeconds", 30);
    stop(runner, pod, runner->is_shutdown ? 0 : grace_s * 1000);
    return true;
}

size_t runner_pods(const struct runner *runner)
{
    struct start_stats stats = {0};
    start_stats(runner->engine, &stats);
    return stats.pods;
}

void runner_end_pods(struct runner *runner)
{
    (void)map_each(runner->pods, stop_each, runner);
    runner->is_shutdown = true;
    act_pump(runner);
    if (runner->control != NULL)
        control_wake(runner->control);
}

void runner_shutdown(struct runner *runner, void (*done)(void *arg), void *arg)
{
    bool is_first = !runner->is_leaving;
    runner->shutdown_done = done;
    runner->shutdown_arg = arg;
    runner->is_leaving = true;
    if (is_first && leave_begin(runner))
        return;
    runner->is_shutdown = runner->is_shutdown || !is_first; /* without grace */
    runner_end_pods(runner);
}

void runner_metrics(const struct runner *runner, struct str *out)
{
    struct start_stats stats = {0};
    start_stats(runner->engine, &stats);
    str_add(out, "# HELP muster_containers Containers of this node by state.\n"
                 "# TYPE muster_containers gauge\n");
    for (int i = 0; i < CT_STATE_COUNT; i++)
        str_addf(out, "muster_containers{state=\"%s\"} %zu\n",
                 container_state_name((enum container_state)i), stats.states[i]);
    str_add(out, "# HELP muster_container_moves_total Moves of containers into a state.\n"
                 "# TYPE muster_container_moves_total counter\n");
    for (int i = 0; i < CT_STATE_COUNT; i++)
        str_addf(out, "muster_container_moves_total{state=\"%s\"} %llu\n",
                 container_state_name((enum container_state)i), (unsigned long long)stats.moves[i]);
    const struct {
        const char *name, *help;
        uint64_t value;
    } COUNTERS[] = {
        {"forced_starts", "Starts that only minRate let through.", stats.forced},
        {"start_timeouts", "Starts that did not get ready in time.", stats.timeouts},
        {"container_restarts", "Containers started again.", stats.restarts},
        {"container_start_errors", "Starts that the runtime refused.", runner->stats.start_errors},
        {"probes", "Questions asked of containers.", runner->stats.probes},
        {"probe_failures", "Of these, answered badly or not at all.", runner->stats.probe_failures},
    };
    for (size_t i = 0; i < ARRAY_LEN(COUNTERS); i++)
        str_addf(
            out,
            "# HELP muster_%s_total %s\n# TYPE muster_%s_total counter\nmuster_%s_total %llu\n",
            COUNTERS[i].name, COUNTERS[i].help, COUNTERS[i].name, COUNTERS[i].name,
            (unsigned long long)COUNTERS[i].value);
}
