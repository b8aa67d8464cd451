// SPDX-License-Identifier: Apache-2.0
/* 1. A node has a manager while it can be reached and there is a control plane; its runtime lives
 *    as long as the machine does.
 * 2. A lease of a node that can be reached lasts for the whole rehearsal: nobody has to renew
 *    thousands of leases through hours of virtual time. One that falls silent gets the usual one
 *    in that moment, as if it had renewed it just then. */
#include "sim/fleet.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "base/vec.h"
#include "control/controllers.h"
#include "control/pods/runner.h"
#include <assert.h>
#include <string.h>

/* What a scenario does not speak of is there in plenty. */
#define CORES_UNSAID 1000
#define MEMORY_UNSAID ((int64_t)1 << 50)
#define PODS_USUAL 110
#define LEASE_LONG_S (INT32_MAX / 2)
#define RUN_BUDGET 1000
#define SAMPLE_MS 1000
#define NAMES_SHOWN 5
#define LEASES "kube-node-lease"

struct node {
    struct fleet *fleet;
    char *name;
    enum node_state state;
    VEC(char *) labels, resources; /* "key=value", NULL-terminated */
    struct runner_options options;
    struct sim_runtime *runtime;
    struct runner *runner;
    struct world world;
    struct feed *feed;
    struct manager *manager;
    const struct controller *controllers[2];
    struct sim_event wake, sample;
    time_ms silent_until; /* until then somebody may find out that it is silent */
};

struct fleet {
    struct sim_clock *clock;
    uint64_t seed;
    struct rng rng;
    struct sim *sim; /* NULL: there is no control plane */
    struct watch *watch;
    struct map *by_name;
    VEC(struct node *) nodes;
};

static const char *const STATES[] = {[NODE_READY] = "Ready",
                                     [NODE_CORDONED] = "Cordoned",
                                     [NODE_DRAINED] = "Drained",
                                     [NODE_UNREACHABLE] = "Unreachable",
                                     [NODE_GONE] = "Gone"};

bool node_state_of(const char *name, enum node_state *ret_state)
{
    for (size_t i = 0; i < ARRAY_LEN(STATES); i++) {
        if (!str_eq(STATES[i], name))
            continue;
        *ret_state = (enum node_state)i;
        return true;
    }
    return false;
}

/* ---- the world of one node ---- */

static time_ms world_now(struct world *world)
{
    return sim_clock_wall(container_of(world, struct node, world)->fleet->clock);
}

static time_ms world_steady(struct world *world)
{
    return container_of(world, struct node, world)->fleet->clock->now;
}

static void world_submit(struct world *world, struct write *write)
{
    store_submit(sim_store(container_of(world, struct node, world)->fleet->sim), write);
}

static void world_wake(struct world *world, time_ms at)
{
    struct node *node = container_of(world, struct node, world);
    sim_clock_arm(node->fleet->clock, &node->wake, at);
}

static const struct world_ops WORLD_OPS = {
    .now = world_now, .steady = world_steady, .submit = world_submit, .wake = world_wake};

static void on_wake(void *arg)
{
    struct node *node = arg;
    manager_run(node->manager, RUN_BUDGET);
}

/* How busy its starts make the machine, for the gates that ask; disks are always idle. */
static void on_sample(void *arg)
{
    struct node *node = arg;
    struct sim_clock *clock = node->fleet->clock;
    struct gate_sample sample = {.at = clock->now,
                                 .cpu_busy = sim_runtime_busy_ms(node->runtime),
                                 .cpu_total = (double)clock->now * node->options.cores,
                                 .pressure_stall_ms = -1,
                                 .load1 = -1};
    sim_clock_arm(clock, &node->sample, clock->now + SAMPLE_MS);
    runner_sample(node->runner, &sample);
}

static void on_samples(void *arg, bool wanted)
{
    struct node *node = arg;
    sim_clock_arm(node->fleet->clock, &node->sample, wanted ? node->fleet->clock->now : TIME_NEVER);
}

static void connect(struct node *node)
{
    struct fleet *fleet = node->fleet;
    struct store *store = sim_store(fleet->sim);
    assert(node->manager == NULL);
    node->feed = feed_new(1);
    feed_start_at(node->feed, feed_revision(store->feed));
    node->world = (struct world){.ops = &WORLD_OPS, .cache = store->cache, .feed = node->feed};
    rng_seed(&node->world.rng, rng_next(&fleet->rng));
    node->manager = manager_new(&node->world, node->controllers);
}

static void disconnect(struct node *node)
{
    if (node->manager == NULL)
        return;
    manager_free(take_ptr(node->manager));
    sim_clock_disarm(node->fleet->clock, &node->wake);
    sim_clock_disarm(node->fleet->clock, &node->sample);
    feed_free(take_ptr(node->feed));
}

/* ---- what a machine has ---- */

static quantity capacity_of(yyjson_val *val)
{
    scoped_str text = {0};
    quantity q = 0;
    if (yyjson_is_str(val))
        str_add(&text, yyjson_get_str(val));
    else
        json_write_val(val, &text);
    return quantity_parse((struct sv){str_text(&text), text.len}, &q, NULL) == 0 ? q : 0;
}

static void read_capacity(struct node *node, yyjson_val *capacity)
{
    size_t i, n;
    yyjson_val *key, *val;
    node->options.pods_max = PODS_USUAL;
    node->options.cores = CORES_UNSAID;
    node->options.memory_bytes = MEMORY_UNSAID;
    yyjson_obj_foreach(capacity, i, n, key, val)
    {
        const char *name = yyjson_get_str(key);
        quantity q = capacity_of(val);
        if (str_eq(name, "cpu")) {
            node->options.cores = (double)quantity_milli(q) / 1000;
        } else if (str_eq(name, "memory")) {
            node->options.memory_bytes = quantity_value(q);
        } else if (str_eq(name, "pods")) {
            node->options.pods_max = quantity_value(q);
        } else {
            scoped_str text = {0};
            quantity_format(q, &text);
            vec_push(&node->resources, mem_printf("%s=%s", name, str_text(&text)));
        }
    }
    vec_push(&node->resources, NULL);
}

static void read_labels(struct node *node, yyjson_val *labels)
{
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(labels, i, n, key, val)
    {
        const char *text = yyjson_get_str(val);
        vec_push(&node->labels, mem_printf("%s=%s", yyjson_get_str(key), text ? text : ""));
    }
    vec_push(&node->labels, NULL);
}

static void build(struct node *node)
{
    struct fleet *fleet = node->fleet;
    struct sim_runtime_options options = {.clock = fleet->clock,
                                          .seed = rng_next(&fleet->rng),
                                          .notifies = true,
                                          .cores = node->options.cores};
    node->runtime = sim_runtime_new(&options);
    node->options.runtime = sim_runtime_port(node->runtime);
    node->runner = runner_new(&node->options);
    node->controllers[0] = runner_controller(node->runner);
}

static void wreck(struct node *node)
{
    disconnect(node);
    runner_free(take_ptr(node->runner));
    sim_runtime_free(take_ptr(node->runtime));
}

void fleet_add(struct fleet *fleet, const char *name, struct machine machine)
{
    struct node *node = mem_zalloc(sizeof(*node));
    node->fleet = fleet;
    node->name = mem_strdup(name);
    node->options =
        (struct runner_options){.node = node->name,
                                .launch = {.name = node->name, .host_ip = "::1", .pod_ip = "::1"},
                                .taints = machine.taints,
                                .lease_s = LEASE_LONG_S,
                                .is_virtual = true,
                                .on_samples = on_samples,
                                .arg = node,
                                .os_image = "virtual",
                                .kernel = "virtual",
                                .architecture = "amd64"};
    read_capacity(node, machine.capacity);
    read_labels(node, machine.labels);
    node->options.resources = (const char *const *)node->resources.items;
    node->options.labels = (const char *const *)node->labels.items;
    node->options.launch.cpu_milli = (int64_t)(node->options.cores * 1000);
    node->options.launch.memory_bytes = node->options.memory_bytes;
    sim_event_init(&node->wake, on_wake, node);
    node->wake.is_quiet = true;
    sim_event_init(&node->sample, on_sample, node);
    node->sample.is_quiet = true;
    build(node);
    vec_push(&fleet->nodes, node);
    (void)map_put(fleet->by_name, node->name, node);
}

/* ---- nodes that are emptied ---- */

static bool is_cordoned(const struct obj *node)
{
    return node != NULL && yyjson_is_true(json_at(node->root, "spec.unschedulable"));
}

/* As `muster drain` does it: the node takes nothing new first, then each of its pods is told to go,
 * with the time that it has for that. */
static void drain(struct node *node)
{
    struct sim *sim = node->fleet->sim;
    const struct cache *cache = sim_store(sim)->cache;
    const struct obj *pod = cache_first(cache, &KIND_POD, NULL);
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, NULL, pod)) {
        if (pod->meta.deleted != 0 || !str_eq(json_str_at(pod->root, "spec.nodeName"), node->name))
            continue;
        struct write *write =
            write_new(WRITE_DELETE, &KIND_POD, obj_namespace(pod), pod->meta.name);
        write->if_uid = mem_strdup(pod->meta.uid);
        sim_submit(sim, write);
    }
}

/* ---- who is told what ---- */

static void tell(struct node *node, const struct change *change)
{
    if (node != NULL && node->manager != NULL)
        feed_publish(node->feed, change->type, change->obj, change->old);
}

static void on_change(void *arg, struct change *change)
{
    struct fleet *fleet = arg;
    const struct kind *kind = change->obj->kind;
    if (kind == &KIND_POD) {
        const char *name = json_str_at(change->obj->root, "spec.nodeName");
        if (name != NULL)
            tell(map_get(fleet->by_name, name), change);
    } else if (kind == &KIND_NODE) {
        struct node *node = map_get(fleet->by_name, change->obj->meta.name);
        tell(node, change);
        if (node != NULL && node->state == NODE_DRAINED && is_cordoned(change->obj) &&
            !is_cordoned(change->old))
            drain(node);
    } else if (kind == &KIND_CONFIGMAP || kind == &KIND_NODECONFIG || kind == &KIND_JOBSET) {
        for (size_t i = 0; i < fleet->nodes.len; i++)
            tell(fleet->nodes.items[i], change);
    }
}

/* ---- what happens to a machine ---- */

static void patch(struct fleet *fleet, const struct kind *kind, const char *name, const char *text)
{
    bool is_lease = kind == &KIND_LEASE;
    struct write *write = write_new(WRITE_PATCH, kind, is_lease ? LEASES : "", name);
    write->patch_type = PATCH_MERGE;
    int r = json_parse(sv_of(text), &write->patch, NULL);
    assert(r == 0);
    sim_submit(fleet->sim, write);
}

static void cordon(struct node *node, bool is_cordoned)
{
    patch(node->fleet, &KIND_NODE, node->name,
          is_cordoned ? "{\"spec\":{\"unschedulable\":true}}"
                      : "{\"spec\":{\"unschedulable\":null}}");
}

static void renew_last(struct node *node)
{
    struct fleet *fleet = node->fleet;
    scoped_str now = {0};
    rfc3339_format_micro(sim_clock_wall(fleet->clock), &now);
    scoped_free char *text =
        mem_printf("{\"spec\":{\"leaseDurationSeconds\":%d,\"renewTime\":\"%s\"}}",
                   NODE_SILENT_MS / 1000, str_text(&now));
    patch(fleet, &KIND_LEASE, node->name, text);
    node->silent_until = fleet->clock->now + NODE_SILENT_MS + 1;
}

static void fall_silent(struct node *node)
{
    renew_last(node);
    disconnect(node);
}

static void unregister(struct node *node)
{
    sim_submit(node->fleet->sim, write_new(WRITE_DELETE, &KIND_NODE, "", node->name));
    sim_submit(node->fleet->sim, write_new(WRITE_DELETE, &KIND_LEASE, LEASES, node->name));
    node->silent_until = node->fleet->clock->now + NODE_SILENT_MS + 1;
}

static void vanish(struct node *node)
{
    wreck(node);
    unregister(node);
}

static bool is_reachable(const struct node *node)
{
    return node->state == NODE_READY || node->state == NODE_CORDONED || node->state == NODE_DRAINED;
}

static bool wants_cordon(const struct node *node)
{
    return node->state == NODE_CORDONED || node->state == NODE_DRAINED;
}

/* What was asked for in the moment of a crash may be lost: it is asked for again. */
static void settle(struct node *node)
{
    const struct cache *cache = sim_store(node->fleet->sim)->cache;
    const struct obj *obj = cache_get(cache, &KIND_NODE, "", node->name);
    const struct obj *lease = cache_get(cache, &KIND_LEASE, LEASES, node->name);
    if (node->state == NODE_GONE && (obj != NULL || lease != NULL))
        unregister(node);
    else if (node->state == NODE_UNREACHABLE && lease != NULL &&
             json_int_at(lease->root, "spec.leaseDurationSeconds", 0) * 1000 > NODE_SILENT_MS)
        renew_last(node);
    else if (obj != NULL && is_reachable(node) && is_cordoned(obj) != wants_cordon(node))
        cordon(node, wants_cordon(node));
    else if (node->state == NODE_DRAINED)
        drain(node);
}

void fleet_open(struct fleet *fleet, struct sim *sim)
{
    fleet->sim = sim;
    fleet->watch = feed_watch(sim_store(sim)->feed, (struct watch_filter){0}, on_change, fleet);
    for (size_t i = 0; i < fleet->nodes.len; i++) {
        settle(fleet->nodes.items[i]);
        if (is_reachable(fleet->nodes.items[i]))
            connect(fleet->nodes.items[i]);
    }
}

void fleet_close(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->nodes.len; i++)
        disconnect(fleet->nodes.items[i]);
    feed_unwatch(take_ptr(fleet->watch));
    fleet->sim = NULL;
}

void fleet_set_state(struct fleet *fleet, const char *name, enum node_state state)
{
    struct node *node = map_get(fleet->by_name, name);
    assert(node != NULL);
    enum node_state old = node->state;
    if (old == state)
        return;
    node->state = state;
    node->silent_until = 0;
    if (old == NODE_GONE)
        build(node);
    if (state == NODE_GONE) {
        vanish(node);
    } else if (state == NODE_UNREACHABLE) {
        fall_silent(node);
    } else {
        if (node->manager == NULL)
            connect(node);
        if (state == NODE_DRAINED && old == NODE_CORDONED)
            drain(node);
        else if (old != NODE_GONE || wants_cordon(node))
            cordon(node, wants_cordon(node));
    }
}

bool fleet_exit(struct fleet *fleet, const struct obj *pod, const char *container, int code)
{
    const char *name = json_str_at(pod->root, "spec.nodeName");
    struct node *node = name != NULL ? map_get(fleet->by_name, name) : NULL;
    if (node == NULL || node->runtime == NULL)
        return false;
    return sim_runtime_exit(node->runtime, pod->meta.uid, container, code);
}

/* ---- the whole ---- */

static bool is_quiet(const struct node *node)
{
    if (node->silent_until > node->fleet->clock->now)
        return false;
    return node->manager == NULL ||
           (!manager_is_pressed(node->manager) && runner_is_steady(node->runner));
}

bool fleet_is_quiet(const struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->nodes.len; i++) {
        if (!is_quiet(fleet->nodes.items[i]))
            return false;
    }
    return true;
}

uint64_t fleet_starts(const struct fleet *fleet)
{
    uint64_t starts = 0;
    for (size_t i = 0; i < fleet->nodes.len; i++) {
        if (fleet->nodes.items[i]->runtime != NULL)
            starts += sim_runtime_starts(fleet->nodes.items[i]->runtime);
    }
    return starts;
}

struct fleet *fleet_new(struct sim_clock *clock, uint64_t seed)
{
    struct fleet *fleet = mem_zalloc(sizeof(*fleet));
    fleet->clock = clock;
    fleet->seed = seed;
    rng_seed(&fleet->rng, seed);
    fleet->by_name = map_new();
    return fleet;
}

static void node_free(struct node *node)
{
    wreck(node);
    for (size_t i = 0; i < node->labels.len; i++)
        mem_free(node->labels.items[i]);
    for (size_t i = 0; i < node->resources.len; i++)
        mem_free(node->resources.items[i]);
    vec_done(&node->labels);
    vec_done(&node->resources);
    mem_free(node->name);
    mem_free(node);
}

void fleet_free(struct fleet *fleet)
{
    if (fleet == NULL)
        return;
    assert(fleet->sim == NULL);
    for (size_t i = 0; i < fleet->nodes.len; i++)
        node_free(fleet->nodes.items[i]);
    vec_done(&fleet->nodes);
    map_free(fleet->by_name);
    mem_free(fleet);
}

size_t fleet_count(const struct fleet *fleet)
{
    return fleet->nodes.len;
}

bool fleet_has(const struct fleet *fleet, const char *name)
{
    return map_get(fleet->by_name, name) != NULL;
}

void fleet_names(const struct fleet *fleet, struct str *out)
{
    for (size_t i = 0; i < fleet->nodes.len && i < NAMES_SHOWN; i++)
        str_addf(out, "%s%s", i > 0 ? ", " : "", fleet->nodes.items[i]->name);
    if (fleet->nodes.len > NAMES_SHOWN)
        str_addf(out, " and %zu more", fleet->nodes.len - NAMES_SHOWN);
}
