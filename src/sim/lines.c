// SPDX-License-Identifier: Apache-2.0
#include "sim/lines.h"
#include "base/mem.h"
#include <string.h>

struct teller {
    const struct change *change;
    struct line line; /* what all lines of this change share */
    lines_fn *fn;
    void *arg;
};

static void tell(const struct teller *t, struct line line)
{
    line.ms = t->line.ms;
    line.obj = t->line.obj;
    t->fn(t->arg, &line);
}

/* ---- fields ---- */

/* By name, since a kind need not know that it is told of. A path ends at an object: then its
 * members are told one by one. Keys with dots stand in brackets at the end. */
static const struct {
    const char *kind;
    const char *path;
} FIELDS[] = {
    {"Workload", "spec.active"},
    {"Workload", "status.requeueState"},
    {"Workload", "status.admission.clusterQueue"},
    {"Workload", "status.admission.podSetAssignments"},
    {"Workload", "status.reclaimablePods"},
    {"Job", "spec.suspend"},
    {"Job", "spec.parallelism"},
    {"Job", "status.active"},
    {"Job", "status.ready"},
    {"Job", "status.succeeded"},
    {"Job", "status.failed"},
    {"JobSet", "spec.suspend"},
    {"JobSet", "status.restarts"},
    {"JobSet", "status.deprecatedEpoch"},
    {"JobSet", "status.syncedEpoch"},
    {"JobSet", "status.previousInPlaceRestartAttempt"},
    {"JobSet", "status.currentInPlaceRestartAttempt"},
    {"JobSet", "status.terminalState"},
    {"JobSet", "status.replicatedJobsStatus"},
    {"StatefulSet", "spec.replicas"},
    {"StatefulSet", "status.replicas"},
    {"StatefulSet", "status.readyReplicas"},
    {"VPod", "spec.vreplicas"},
    {"VPod", "status.placements"},
    {"VPod", "status.placement"},
    {"VPod", "status.pending"},
    {"ClusterQueue", "status.pendingWorkloads"},
    {"ClusterQueue", "status.reservingWorkloads"},
    {"ClusterQueue", "status.admittedWorkloads"},
    {"LocalQueue", "status.pendingWorkloads"},
    {"LocalQueue", "status.reservingWorkloads"},
    {"LocalQueue", "status.admittedWorkloads"},
    {"Pod", "spec.nodeName"},
    {"Pod", "metadata.annotations[jobset.sigs.k8s.io/epoch]"},
    {"Node", "spec.unschedulable"},
    {"Node", "spec.taints"},
};

static yyjson_val *value_at(yyjson_val *root, const char *path)
{
    const char *bracket = strchr(path, '[');
    if (bracket == NULL)
        return json_at(root, path);
    scoped_free char *parent = mem_strndup(path, (size_t)(bracket - path));
    return yyjson_obj_getn(json_at(root, parent), bracket + 1, strlen(bracket) - 2);
}

static bool is_same(yyjson_val *a, yyjson_val *b)
{
    return a == NULL || b == NULL ? a == b : yyjson_equals(a, b);
}

static void tell_members(const struct teller *t, const char *path, yyjson_val *now,
                         yyjson_val *before, bool is_gone)
{
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(is_gone ? before : now, i, n, key, val)
    {
        const char *name = yyjson_get_str(key);
        yyjson_val *other = yyjson_obj_get(is_gone ? now : before, name);
        if (name == NULL || (is_gone ? other != NULL : is_same(val, other)))
            continue;
        scoped_free char *whole = mem_printf("%s.%s", path, name);
        tell(t, (struct line){.type = LINE_FIELD, .what = whole, .value = is_gone ? NULL : val});
    }
}

static void tell_field(const struct teller *t, const char *path)
{
    const struct obj *old = t->change->old;
    yyjson_val *now = value_at(t->change->obj->root, path);
    yyjson_val *before = old != NULL ? value_at(old->root, path) : NULL;
    /* What an object was made with is part of its making. */
    if (is_same(now, before) || (old == NULL && str_starts(path, "spec.")))
        return;
    if (yyjson_is_obj(now) || yyjson_is_obj(before)) {
        tell_members(t, path, now, before, false);
        tell_members(t, path, now, before, true);
        return;
    }
    tell(t, (struct line){.type = LINE_FIELD, .what = path, .value = now});
}

static void tell_fields(const struct teller *t)
{
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++) {
        if (str_eq(FIELDS[i].kind, t->change->obj->kind->name))
            tell_field(t, FIELDS[i].path);
    }
}

/* ---- conditions ---- */

static void tell_conditions(const struct teller *t)
{
    const struct obj *old = t->change->old;
    yyjson_val *before = old != NULL ? json_at(old->root, "status.conditions") : NULL;
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(t->change->obj->root, "status.conditions"), i, n, item)
    {
        const char *type = json_str_at(item, "type");
        const char *status = json_str_at(item, "status"), *reason = json_str_at(item, "reason");
        yyjson_val *was = json_find(before, "type", type);
        if (type == NULL || (str_eq(json_str_at(was, "status"), status) &&
                             str_eq(json_str_at(was, "reason"), reason)))
            continue;
        tell(t, (struct line){
                    .type = LINE_CONDITION, .what = type, .state = status, .reason = reason});
    }
}

/* ---- pods ---- */

/* How many of the moves were known before: those up to the last one of then. */
static size_t known_moves(yyjson_val *moves, yyjson_val *before)
{
    yyjson_val *last = yyjson_arr_get_last(before);
    for (size_t i = yyjson_arr_size(moves); last != NULL && i > 0; i--) {
        if (yyjson_equals(yyjson_arr_get(moves, i - 1), last))
            return i;
    }
    return 0;
}

/* A supervisor that finds a container knows its state and begins its list with that. */
static bool is_found_again(yyjson_val *moves, yyjson_val *was)
{
    const char *first = json_str_at(yyjson_arr_get_first(moves), "state");
    return first != NULL && str_eq(first, json_str_at(was, "lifecycle.state"));
}

static void tell_container(const struct teller *t, yyjson_val *status, yyjson_val *was)
{
    const char *name = json_str_at(status, "name");
    yyjson_val *moves = json_at(status, "lifecycle.moves");
    bool is_same_life = json_int_at(was, "lifecycle.generation", 0) ==
                        json_int_at(status, "lifecycle.generation", 0);
    size_t known = known_moves(moves, is_same_life ? json_at(was, "lifecycle.moves") : NULL);
    if (known == 0 && is_same_life && is_found_again(moves, was))
        known = 1;
    for (size_t i = known; i < yyjson_arr_size(moves); i++)
        tell(t, (struct line){.type = LINE_CONTAINER,
                              .what = name,
                              .state = json_str_at(yyjson_arr_get(moves, i), "state")});
}

static void tell_containers(const struct teller *t)
{
    static const char *const LISTS[] = {"status.initContainerStatuses", "status.containerStatuses"};
    const struct obj *old = t->change->old;
    for (size_t k = 0; k < ARRAY_LEN(LISTS); k++) {
        yyjson_val *before = old != NULL ? json_at(old->root, LISTS[k]) : NULL;
        size_t i, n;
        yyjson_val *item;
        yyjson_arr_foreach(json_at(t->change->obj->root, LISTS[k]), i, n, item)
        {
            tell_container(t, item, json_find(before, "name", json_str_at(item, "name")));
        }
    }
}

static void tell_phase(const struct teller *t)
{
    const struct obj *old = t->change->old;
    const char *phase = json_str_at(t->change->obj->root, "status.phase");
    const char *was = old != NULL ? json_str_at(old->root, "status.phase") : NULL;
    if (phase != NULL && !str_eq(phase, was))
        tell(t, (struct line){.type = LINE_PHASE, .state = phase});
}

/* ---- all ---- */

void lines_of(const struct change *change, time_ms ms, lines_fn *fn, void *arg)
{
    const struct teller t = {change, {.ms = ms, .obj = change->obj}, fn, arg};
    /* Events tell a story of their own, and a lease that nothing is wrong. */
    if (change->obj->kind == &KIND_EVENT || change->obj->kind == &KIND_LEASE)
        return;
    if (change->type == CHANGE_ADDED)
        tell(&t, (struct line){.type = LINE_CREATED});
    if (change->type == CHANGE_DELETED) {
        tell(&t, (struct line){.type = LINE_DELETED});
        return;
    }
    if (change->obj->kind == &KIND_POD)
        tell_containers(&t);
    tell_phase(&t);
    tell_conditions(&t);
    tell_fields(&t);
}

static void put(struct str *out, const char *key, const char *text)
{
    if (text == NULL)
        text = "";
    str_addf(out, ",\"%s\":", key);
    json_quote(text, strlen(text), out);
}

void line_json(const struct line *line, struct str *out)
{
    static const char *const TYPES[] = {
        [LINE_CREATED] = "Created",     [LINE_DELETED] = "Deleted", [LINE_CONDITION] = "Condition",
        [LINE_CONTAINER] = "Container", [LINE_PHASE] = "Phase",     [LINE_FIELD] = "Field"};
    str_addf(out, "{\"ms\":%lld", (long long)line->ms);
    put(out, "kind", line->obj->kind->name);
    put(out, "namespace", obj_namespace(line->obj));
    put(out, "name", line->obj->meta.name);
    put(out, "type", TYPES[line->type]);
    if (line->type == LINE_CONDITION) {
        put(out, "condition", line->what);
        put(out, "status", line->state);
        put(out, "reason", line->reason);
    } else if (line->type == LINE_CONTAINER) {
        put(out, "container", line->what);
        put(out, "state", line->state);
    } else if (line->type == LINE_PHASE) {
        put(out, "phase", line->state);
    } else if (line->type == LINE_FIELD) {
        put(out, "path", line->what);
        str_add(out, ",\"value\":");
        if (line->value != NULL)
            json_write_val(line->value, out);
        else
            str_add(out, "null");
    }
    str_addc(out, '}');
}
