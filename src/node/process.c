// SPDX-License-Identifier: Apache-2.0
/* The runtime of plain processes. A container is one process started by the spawner, in a control
 * group of its own where we may make one, writing to its log file. This file starts and signals;
 * how a container ends is in process_end.c, questions in process_ask.c, what was left by an earlier
 * supervisor in process_adopt.c. */
#include "base/arena.h"
#include "base/hash.h"
#include "node/process_internal.h"
#include "os/fd.h"
#include "os/log.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SUPERVISOR_WEIGHT 1000 /* ten times a pod of one core */
#define FILES_PER_TURN 200

static struct process_runtime *self(struct runtime *runtime)
{
    return (struct process_runtime *)runtime;
}

/* ---- telling ---- */

void process_tell(struct process_runtime *rt, const struct runtime_event *event)
{
    if (rt->fn != NULL)
        rt->fn(rt->arg, event);
}

static void process_later(struct process_runtime *rt, enum runtime_event_type type,
                          const struct runtime_unit *unit, const char *text)
{
    vec_push(&rt->later, ((struct later){.type = type,
                                         .uid = mem_strdup(unit->uid),
                                         .container = mem_strdup(unit->container),
                                         .text = mem_strdup(text),
                                         .generation = unit->generation}));
    loop_defer(rt->loop, &rt->tell_later);
}

static void tell_later(void *arg)
{
    struct process_runtime *rt = arg;
    for (size_t i = 0; i < rt->later.len; i++) { /* telling may add more */
        struct later later = rt->later.items[i];
        struct runtime_event event = {.type = later.type,
                                      .unit = {later.uid, later.container, later.generation},
                                      .text = later.text};
        process_tell(rt, &event);
        mem_free(later.uid);
        mem_free(later.container);
        mem_free(later.text);
    }
    vec_clear(&rt->later);
}

/* ---- units ---- */

static struct ppod *pod_of(struct process_runtime *rt, const char *uid)
{
    struct ppod *pod = map_get(rt->pods, uid);
    if (pod != NULL)
        return pod;
    pod = mem_zalloc(sizeof(*pod));
    pod->uid = mem_strdup(uid);
    (void)map_put(rt->pods, pod->uid, pod);
    return pod;
}

static void pod_release(struct process_runtime *rt, struct ppod *pod)
{
    if (!pod->is_removed || !LIST_EMPTY(&pod->units))
        return;
    if (!rt->is_closing)
        process_remove_group(rt, pod->uid);
    (void)map_del(rt->pods, pod->uid);
    mem_free(pod->uid);
    mem_free(pod->ns);
    mem_free(pod->name);
    mem_free(pod->problem);
    mem_free(pod->spare);
    mem_free(pod);
}

char *punit_leaf_name(const char *container, uint32_t generation)
{
    return mem_printf("%s.g%u", container, generation);
}

struct punit *punit_new(struct process_runtime *rt, const char *uid, const char *container,
                        uint32_t generation)
{
    struct punit *unit = mem_zalloc(sizeof(*unit));
    unit->runtime = rt;
    unit->id = mem_printf("%s/%s/%u", uid, container, generation);
    unit->uid = mem_strdup(uid);
    unit->container = mem_strdup(container);
    unit->generation = generation;
    unit->leaf = punit_leaf_name(container, generation);
    unit->events_fd = -1;
    heap_node_init(&unit->drain.node);
    unit->pod = pod_of(rt, uid);
    LIST_INSERT_HEAD(&unit->pod->units, unit, siblings);
    (void)map_put(rt->units, unit->id, unit);
    return unit;
}

void punit_free(struct punit *unit)
{
    struct process_runtime *rt = unit->runtime;
    process_asks_of(unit);
    loop_io_del(unit->events_io);
    fd_close_scoped(&unit->events_fd);
    loop_timer_clear(rt->loop, &unit->drain);
    notifysock_close(unit->notify);
    (void)map_del(rt->units, unit->id);
    LIST_REMOVE(unit, siblings);
    pod_release(rt, unit->pod);
    mem_free(unit->id);
    mem_free(unit->uid);
    mem_free(unit->container);
    mem_free(unit->leaf);
    mem_free(unit);
}

struct runtime_unit punit_name(const struct punit *unit)
{
    return (struct runtime_unit){unit->uid, unit->container, unit->generation};
}

struct log_name punit_log(const struct punit *unit)
{
    const struct ppod *pod = unit->pod;
    return (struct log_name){.ns = pod->ns != NULL ? pod->ns : "",
                             .pod = pod->name != NULL ? pod->name : "",
                             .uid = unit->uid,
                             .container = unit->container,
                             .generation = unit->generation};
}

struct punit *process_unit(struct process_runtime *rt, const struct runtime_unit *unit)
{
    char id[512];
    (void)snprintf(id, sizeof(id), "%s/%s/%u", unit->uid, unit->container, unit->generation);
    return map_get(rt->units, id);
}

/* ---- pods ---- */

static int64_t weight_now(const struct runtime_pod *spec)
{
    double weight = (double)cgroup_weight_of_milli(spec->cpu_request_milli) * spec->share;
    return weight < 1 ? 1 : (int64_t)(weight + 0.5);
}

static void pod_create(struct runtime *runtime, const struct runtime_pod *spec)
{
    struct process_runtime *rt = self(runtime);
    struct ppod *pod = pod_of(rt, spec->uid);
    bool is_new = pod->ns == NULL;
    if (is_new) {
        pod->ns = mem_strdup(spec->ns);
        pod->name = mem_strdup(spec->name);
    }
    pod->weight = weight_now(spec);
    pod->n_containers = spec->n_containers;
    struct cgroup_limits limits = {.cpu_weight = pod->weight,
                                   .cpu_max_milli = spec->cpu_limit_milli,
                                   .memory_bytes = spec->memory_limit_bytes};
    struct err err = {0};
    mem_free(pod->problem);
    pod->problem = NULL;
    if (cgroup_pod_make(rt->tree, pod->uid, &limits, &err) < 0)
        pod->problem = mem_strdup(err.text);
    struct punit *unit;
    LIST_FOREACH(unit, &pod->units, siblings)
    {
        if (is_new)
            punit_resume(unit);
    }
}

static void pod_weigh(struct runtime *runtime, const struct runtime_pod *spec)
{
    struct process_runtime *rt = self(runtime);
    struct ppod *pod = map_get(rt->pods, spec->uid);
    if (pod == NULL || pod->weight == weight_now(spec))
        return;
    pod->weight = weight_now(spec);
    struct err err = {0};
    if (cgroup_pod_weigh(rt->tree, pod->uid, pod->weight, &err) < 0)
        log_warn("node.weight pod=%s/%s error=\"%s\"", pod->ns, pod->name, err.text);
}

static void pod_remove(struct runtime *runtime, const char *uid)
{
    struct process_runtime *rt = self(runtime);
    struct ppod *pod = pod_of(rt, uid);
    pod->is_removed = true;
    pod_release(rt, pod);
    vec_push(&rt->removing, mem_strdup(uid));
    loop_defer(rt->loop, &rt->remove_some);
}

/* A pod may have written any number of files: each turn takes some of one pod. */
static void remove_some(void *arg)
{
    struct process_runtime *rt = arg;
    char *uid = rt->removing.items[0];
    struct err err = {0};
    int r = volumes_remove(rt->volumes, uid, FILES_PER_TURN, &err);
    if (r < 0)
        log_warn("node.volumes pod=%s error=\"%s\"", uid, err.text);
    if (r <= 0) {
        struct runtime_unit none = {uid, "", 0};
        process_later(rt, RT_POD_REMOVED, &none, NULL);
        vec_remove_swap(&rt->removing, 0);
        mem_free(uid);
    }
    if (rt->removing.len > 0)
        loop_defer(rt->loop, &rt->remove_some);
}

static void pod_forget(struct runtime *runtime, const struct runtime_pod *pod)
{
    struct log_name name = {.ns = pod->ns, .pod = pod->name, .uid = pod->uid};
    logs_remove_pod(self(runtime)->logs, &name);
}

/* ---- starting ---- */

static void on_notify(void *arg, const char *assignment)
{
    struct punit *unit = arg;
    struct runtime_event event = {.type = RT_NOTIFY, .unit = punit_name(unit), .text = assignment};
    if (str_eq(assignment, "READY=1"))
        punit_keep_ready(unit);
    process_tell(unit->runtime, &event);
}

char *punit_notify_path(const struct punit *unit)
{
    return mem_printf("%s/%s/%s.notify", unit->runtime->pods_dir, unit->uid, unit->container);
}

int punit_listen(struct punit *unit, struct err *err)
{
    scoped_free char *dir = mem_printf("%s/%s", unit->runtime->pods_dir, unit->uid);
    scoped_free char *path = punit_notify_path(unit);
    int r = dir_make(dir, 0711, err);
    if (r < 0)
        return r;
    r = notifysock_open(unit->runtime->loop, path, on_notify, unit, &unit->notify, err);
    if (r == 0 && unit->uid_of >= 0)
        r = notifysock_allow(unit->notify, unit->uid_of, err);
    return r;
}

static const char *const *with_notify(struct arena *arena, const struct punit *unit,
                                      const struct launch *launch)
{
    size_t n = 0;
    while (launch->envp[n] != NULL)
        n++;
    const char **envp = arena_alloc(arena, (n + 3) * sizeof(*envp));
    memcpy(envp, launch->envp, n * sizeof(*envp));
    envp[n++] = arena_printf(arena, "NOTIFY_SOCKET=%s", notifysock_address(unit->notify));
    if (launch->watchdog_ms > 0)
        envp[n++] =
            arena_printf(arena, "WATCHDOG_USEC=%lld", (long long)launch->watchdog_ms * 1000);
    return envp;
}

/* Was it made while the member ran? Only once: a start that fails for want of it makes it anew. */
static bool take_spare(struct punit *unit)
{
    scoped_free char *spare = take_ptr(unit->pod->spare);
    return str_eq(spare, unit->leaf);
}

static int make_leaf(struct process_runtime *rt, struct punit *unit, const struct launch *launch,
                     struct cgroup_door *door, struct err *err)
{
    bool is_only = unit->pod->n_containers == 1; /* then the pod's weight says it all */
    unit->limits = (struct cgroup_limits){
        .cpu_weight = is_only ? 0 : cgroup_weight_of_milli(launch->cpu_request_milli),
        .cpu_max_milli = launch->cpu_limit_milli,
        .memory_bytes = launch->memory_limit_bytes,
        .pids = launch->pids_limit};
    if (!take_spare(unit)) {
        int r = cgroup_leaf_make(rt->tree, unit->uid, unit->leaf, &unit->limits, err);
        if (r < 0)
            return r;
    }
    cgroup_leaf_way(rt->tree, unit->uid, unit->leaf, &unit->limits, door);
    unit->has_leaf = rt->can.is_there;
    unit->oom_before = cgroup_leaf_oom_kills(rt->tree, unit->uid, unit->leaf);
    return 0;
}

static int begin(struct process_runtime *rt, struct punit *unit, const struct launch *launch,
                 struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    struct cgroup_door door = {0};
    scoped_free char *out = NULL;
    struct log_name name = punit_log(unit);
    struct spawn_request request = {.id = unit->id,
                                    .argv = launch->argv,
                                    .envp = launch->envp,
                                    .dir = launch->dir,
                                    .uid = launch->uid,
                                    .gid = launch->gid,
                                    .groups = launch->groups,
                                    .n_groups = launch->n_groups,
                                    .nofile_soft = rt->nofile_soft,
                                    .oom_score_adj = launch->oom_score_adj};
    int r = make_leaf(rt, unit, launch, &door, err);
    if (r == 0)
        r = logs_begin(rt->logs, &name, &out, err);
    if (r == 0)
        r = volumes_make(rt->volumes, unit->uid, launch, &arena, &request.mounts, err);
    request.n_mounts = launch->n_mounts;
    unit->uid_of = launch->uid;
    if (r == 0 && launch->wants_notify) {
        r = punit_listen(unit, err);
        if (r == 0)
            request.envp = with_notify(&arena, unit, launch);
    }
    request.out = out;
    request.cgroup = door.v2;
    request.join = (const char *const *)door.join;
    if (r == 0)
        spawners_start(rt->spawners, &request);
    unit->is_member = launch->is_member;
    if (r == 0 && unit->is_member)
        punit_ask_spare(unit);
    cgroup_door_done(&door);
    arena_done(&arena);
    return r;
}

static void start(struct runtime *runtime, const struct runtime_unit *name,
                  const struct launch *launch)
{
    struct process_runtime *rt = self(runtime);
    const struct ppod *pod = map_get(rt->pods, name->uid);
    struct err err = {0};
    if (pod == NULL || pod->problem != NULL) {
        process_later(rt, RT_NOT_RUN, name, pod == NULL ? "its pod is gone" : pod->problem);
        return;
    }
    struct punit *unit = process_unit(rt, name);
    if (unit != NULL) {
        process_later(rt, RT_NOT_RUN, name, "this generation was started before");
        return;
    }
    unit = punit_new(rt, name->uid, name->container, name->generation);
    if (begin(rt, unit, launch, &err) < 0) {
        process_later(rt, RT_NOT_RUN, name, err.text);
        (void)cgroup_leaf_remove(rt->tree, unit->uid, unit->leaf); /* nothing was born in it */
        punit_free(unit);
    }
}

static void prepare(struct runtime *runtime, const struct runtime_unit *unit, const char *image)
{
    (void)image; /* a pod that may run its image as a process has said so */
    process_later(self(runtime), RT_PREPARED, unit, NULL);
}

static int refresh(struct runtime *runtime, const struct runtime_unit *name,
                   const struct launch *launch)
{
    struct process_runtime *rt = self(runtime);
    struct err err = {0};
    int changed = volumes_refresh(rt->volumes, name->uid, launch, &err);
    if (changed < 0)
        log_warn("node.refresh pod=%s error=%d", name->uid, changed);
    return changed;
}

static void send_signal(struct runtime *runtime, const struct runtime_unit *name, int signo)
{
    struct process_runtime *rt = self(runtime);
    const struct punit *unit = process_unit(rt, name);
    if (unit != NULL && unit->stage <= PUNIT_RUNNING)
        spawners_signal(rt->spawners, unit->id, signo, true);
}

static void kill_all(struct runtime *runtime, const struct runtime_unit *name)
{
    struct punit *unit = process_unit(self(runtime), name);
    if (unit != NULL)
        punit_kill(unit);
}

static void forget(struct runtime *runtime, const struct runtime_unit *name)
{
    struct punit *unit = process_unit(self(runtime), name);
    if (unit == NULL)
        return;
    unit->is_forgotten = true;
    if (unit->stage == PUNIT_ENDED)
        punit_forget(unit);
}

static void listen_to(struct runtime *runtime, runtime_event_fn *fn, void *arg)
{
    self(runtime)->fn = fn;
    self(runtime)->arg = arg;
}

/* ---- replies ---- */

void punit_measure(struct punit *unit)
{
    struct usage_unit usage = {.uid = unit->uid,
                               .container = unit->container,
                               .leaf = unit->has_leaf ? unit->leaf : NULL,
                               .pid = unit->pid,
                               .started = unit->at};
    usage_begin(unit->runtime->usage, &usage);
}

static void on_started(struct punit *unit, const struct spawn_reply *reply)
{
    unit->stage = PUNIT_RUNNING;
    unit->pid = reply->pid;
    unit->at = reply->at_ms;
    punit_measure(unit);
    unit->runtime->spares_from = loop_now(unit->runtime->loop) + SPARES_QUIET_MS;
    struct runtime_event event = {
        .type = RT_RUNNING, .unit = punit_name(unit), .pid = unit->pid, .at = unit->at};
    process_tell(unit->runtime, &event);
}

/* A spawner that died may have started what it did not tell of. What lives in the unit's group then
 * ends first: its neighbours of the next epoch must not meet it. */
static bool was_born_unseen(const struct punit *unit, const struct spawn_reply *reply)
{
    return reply->error == ECONNRESET && unit->has_leaf &&
           cgroup_leaf_is_populated(unit->runtime->tree, unit->uid, unit->leaf);
}

static void end_unseen(struct punit *unit)
{
    struct spawn_reply end = {.type = SPAWN_EXITED,
                              .id = unit->id,
                              .status = -1,
                              .at_ms = loop_wall(unit->runtime->loop)};
    punit_exited(unit, &end);
}

static void on_failed(struct punit *unit, const struct spawn_reply *reply)
{
    struct process_runtime *rt = unit->runtime;
    if (was_born_unseen(unit, reply)) {
        end_unseen(unit);
        return;
    }
    scoped_str text = {0};
    str_addf(&text, "%s %s%s%s", reply->what, reply->path, *reply->path != '\0' ? ": " : "",
             strerror(reply->error));
    struct runtime_unit name = punit_name(unit);
    process_later(rt, RT_NOT_RUN, &name, str_text(&text));
    struct log_name log = punit_log(unit);
    logs_end(rt->logs, &log);
    (void)cgroup_leaf_remove(rt->tree, unit->uid, unit->leaf); /* nothing was born in it */
    punit_free(unit);
}

static void on_reply(void *arg, const struct spawn_reply *reply)
{
    struct process_runtime *rt = arg;
    if (rt->is_adopting && (reply->type == SPAWN_ALIVE || reply->type == SPAWN_EXITED ||
                            reply->type == SPAWN_LISTED)) {
        process_adopt_reply(rt, reply);
        return;
    }
    if (process_ask_reply(rt, reply))
        return;
    struct punit *unit = reply->id != NULL ? map_get(rt->units, reply->id) : NULL;
    if (unit == NULL)
        return;
    if (reply->type == SPAWN_STARTED)
        on_started(unit, reply);
    else if (reply->type == SPAWN_FAILED)
        on_failed(unit, reply);
    else if (reply->type == SPAWN_EXITED && unit->stage <= PUNIT_RUNNING)
        punit_exited(unit, reply);
}

/* ---- life ---- */

static const struct runtime_ops OPS = {
    .name = "process",
    .listen = listen_to,
    .adopt = process_adopt,
    .prepare = prepare,
    .pod_create = pod_create,
    .pod_weigh = pod_weigh,
    .start = start,
    .refresh = refresh,
    .signal = send_signal,
    .kill = kill_all,
    .ask = process_ask,
    .forget = forget,
    .pod_remove = pod_remove,
    .pod_forget = pod_forget,
    .hosts = process_hosts,
    .sweep = process_sweep,
};

static int open_parts(struct process_runtime *rt, const struct process_options *options,
                      struct err *err)
{
    scoped_free char *logs = mem_printf("%s/logs", rt->data);
    scoped_free char *socket = mem_printf("%s/spawner.sock", rt->data);
    int r = volumes_new(rt->pods_dir, &rt->volumes, err);
    if (r == 0)
        r = logs_open(rt->loop, logs, &rt->logs, err);
    if (r < 0)
        return r;
    /* Several servers on one machine must not take each other's groups for left-overs. */
    scoped_free char *tree =
        mem_printf("%s-%08x", options->node, (unsigned)hash_text(HASH_START, rt->data));
    rt->tree = cgroup_tree_open(options->cgroup_root, tree, &rt->warning);
    rt->can = cgroup_can(rt->tree);
    struct usage_options usage = {
        .tree = rt->tree, .node = options->node, .is_share = options->is_share, .proc = "/proc"};
    rt->usage = usage_new(&usage);
    struct err own = {0};
    if (cgroup_own(rt->tree, "supervisor", SUPERVISOR_WEIGHT, getpid(), &own) < 0)
        log_warn("node.cgroup error=\"%s\"", own.text); /* it only starts pods a little slower */
    const char *const helper[] = {options->helper[0], options->helper[1], socket, NULL};
    struct spawner_options spawner = {
        .loop = rt->loop, .socket = socket, .helper = helper, .on_reply = on_reply, .arg = rt};
    return spawners_open(&spawner, &rt->spawners, err);
}

int process_runtime_open(const struct process_options *options, struct process_runtime **ret,
                         struct err *err)
{
    struct process_runtime *rt = mem_zalloc(sizeof(*rt));
    rt->port.ops = &OPS;
    rt->loop = options->loop;
    rt->data = mem_strdup(options->data);
    rt->pods_dir = mem_printf("%s/pods", options->data);
    rt->nofile_soft = options->nofile_soft;
    rt->units = map_new();
    rt->pods = map_new();
    rt->asks = map_new();
    rt->prober = prober_new(rt->loop, process_ask_answer, rt);
    loop_task_init(&rt->tell_later, tell_later, rt);
    loop_task_init(&rt->remove_some, remove_some, rt);
    loop_timer_init(&rt->make_spares, process_make_spares, rt);
    process_groups_init(rt);
    int r = open_parts(rt, options, err);
    if (r < 0) {
        process_runtime_close(rt, false);
        return r;
    }
    *ret = rt;
    return 0;
}

static bool free_pod(void *arg, const char *key, void *value)
{
    struct process_runtime *rt = arg;
    struct ppod *pod = value;
    (void)key;
    struct punit *unit;
    while ((unit = LIST_FIRST(&pod->units)) != NULL) {
        bool is_last = LIST_NEXT(unit, siblings) == NULL;
        punit_free(unit);
        if (is_last && pod->is_removed)
            return true; /* went with it */
    }
    pod->is_removed = true;
    pod_release(rt, pod);
    return true;
}

void process_runtime_close(struct process_runtime *rt, bool quit)
{
    if (rt == NULL)
        return;
    rt->is_closing = true; /* slices stay with their processes */
    loop_task_cancel(rt->loop, &rt->tell_later);
    loop_task_cancel(rt->loop, &rt->remove_some);
    (void)map_each(rt->pods, free_pod, rt);
    map_free(rt->asks);
    prober_free(rt->prober);
    spawners_close(rt->spawners, quit);
    usage_free(rt->usage);
    if (quit && rt->tree != NULL)
        cgroup_tree_remove(rt->tree);
    cgroup_tree_close(rt->tree);
    logs_close(rt->logs);
    map_free(rt->units);
    map_free(rt->pods);
    for (size_t i = 0; i < rt->later.len; i++) {
        mem_free(rt->later.items[i].uid);
        mem_free(rt->later.items[i].container);
        mem_free(rt->later.items[i].text);
    }
    vec_done(&rt->later);
    process_spares_done(rt);
    process_groups_done(rt);
    for (size_t i = 0; i < rt->removing.len; i++)
        mem_free(rt->removing.items[i]); /* the next supervisor's sweep takes them */
    vec_done(&rt->removing);
    volumes_free(rt->volumes);
    str_done(&rt->warning);
    mem_free(rt->data);
    mem_free(rt->pods_dir);
    mem_free(rt);
}

struct runtime *process_runtime_port(struct process_runtime *rt)
{
    return &rt->port;
}

struct usage *process_runtime_usage(struct process_runtime *rt)
{
    return rt->usage;
}

struct logs *process_runtime_logs(struct process_runtime *rt)
{
    return rt->logs;
}

const char *process_runtime_warning(const struct process_runtime *rt)
{
    return rt->warning.len > 0 ? str_text(&rt->warning) : NULL;
}
