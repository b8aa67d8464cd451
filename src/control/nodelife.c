// SPDX-License-Identifier: Apache-2.0
/* Nodes that fall silent. A node says that it is alive by renewing its Lease (namespace
 * kube-node-lease, name of the node). When it has not for NODE_SILENT_MS, or for as long as its
 * lease lasts if that is longer:
 *   its conditions become Unknown, it is tainted as unreachable, for new pods (NoSchedule) and for
 *   those on it (NoExecute); pods on it are not ready, at once; each is deleted when it has borne
 *   the taint for as long as it tolerates it, five minutes unless it says otherwise.
 * A cordoned node has the taint that says so, for whoever looks at taints only.
 * When the Lease is renewed the taints go, and what was set to Unknown is set to what is usual,
 * until the node says itself. A report of the node is as good as a renewal. A node that says that
 * it is not ready is tainted in the same way, as not-ready. When a node's object is gone and does
 * not come back in that time, nobody will ever confirm the end of its pods: they are removed.
 *
 * Keys: "NODE" for the node, "NODE/NAMESPACE/NAME" for a pod that may have to go. A node whose
 * clock is wrong must not die of it: silence counts from when a sign of life was seen, by our own
 * steady clock. A new manager has seen none: it gives everybody time from its own beginning, and
 * takes nothing back before. */
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "control/binder_internal.h"
#include "control/controllers.h"
#include "model/cell.h"
#include <bsd/sys/queue.h>
#include <stdio.h>

#define LEASES "kube-node-lease"
#define UNREACHABLE "node.kubernetes.io/unreachable"
#define NOT_READY "node.kubernetes.io/not-ready"
#define REASON_SILENT "NodeStatusUnknown"
#define REASON_BACK "NodeLeaseRenewed"
#define TOLERATED_S 300 /* what a pod bears that says nothing */

struct tenant { /* a pod on a node */
    TAILQ_ENTRY(tenant) siblings;
    struct life *life;
    char *key;
};

struct life { /* of a node */
    char *name;
    time_ms heard; /* steady: of the last sign of life, or since when we listen */
    bool is_alive; /* there was one */
    time_ms span;  /* how long silence is fine */
    TAILQ_HEAD(, tenant) tenants;
};

struct lives {
    struct map *nodes;   /* name to struct life */
    struct map *tenants; /* UID of the pod to struct tenant */
    uint64_t begun;      /* the revision from which on changes are news */
};

enum health { HEALTH_GOOD, HEALTH_BAD, HEALTH_SILENT };

/* ---- what is known ---- */

static struct life *life_need(struct control *control, const char *node)
{
    struct lives *lives = control_state(control);
    struct life *life = map_get(lives->nodes, node);
    if (life != NULL)
        return life;
    life = mem_zalloc(sizeof(*life));
    life->name = mem_strdup(node);
    life->heard = control_steady(control);
    life->span = NODE_SILENT_MS;
    TAILQ_INIT(&life->tenants);
    (void)map_put(lives->nodes, node, life);
    return life;
}

static void life_forget_if_gone(struct control *control, struct life *life)
{
    struct lives *lives = control_state(control);
    if (!TAILQ_EMPTY(&life->tenants) ||
        cache_get(control_world(control)->cache, &KIND_NODE, "", life->name) != NULL)
        return;
    (void)map_del(lives->nodes, life->name);
    mem_free(life->name);
    mem_free(life);
}

static void tenant_free(struct tenant *tenant)
{
    TAILQ_REMOVE(&tenant->life->tenants, tenant, siblings);
    mem_free(tenant->key);
    mem_free(tenant);
}

static bool is_tenant(const struct obj *pod)
{
    const char *node = json_str_at(pod->root, "spec.nodeName");
    const char *phase = json_str_at(pod->root, "status.phase");
    return node != NULL && *node != '\0' && !str_eq(phase, "Succeeded") && !str_eq(phase, "Failed");
}

/* ---- from changes to keys ---- */

static void add_tenants(struct control *control, struct life *life)
{
    struct tenant *tenant;
    TAILQ_FOREACH(tenant, &life->tenants, siblings)
    {
        control_add(control, tenant->key);
    }
}

static bool same_part(const struct obj *a, const struct obj *b, const char *path)
{
    yyjson_val *x = json_at(a->root, path), *y = json_at(b->root, path);
    return x == NULL || y == NULL ? x == y : yyjson_equals(x, y);
}

static void note_sign(struct control *control, struct life *life)
{
    life->heard = control_steady(control);
    life->is_alive = true;
    control_add(control, life->name);
}

/* Our own words about a node are none of its own. */
static bool is_report(const struct obj *node, const struct obj *old)
{
    yyjson_val *now = cell_condition(node->root, "Ready");
    yyjson_val *before = cell_condition(old->root, "Ready");
    const char *reason = json_str_at(now, "reason");
    if (now == NULL || str_eq(reason, REASON_SILENT) || str_eq(reason, REASON_BACK))
        return false;
    return before == NULL || !yyjson_equals(now, before);
}

static void map_node(struct control *control, const struct change *change)
{
    struct life *life = life_need(control, change->obj->meta.name);
    if (change->type == CHANGE_MODIFIED && is_report(change->obj, change->old))
        note_sign(control, life);
    if (change->type == CHANGE_DELETED) {
        life->heard = control_steady(control);
        life->span = NODE_SILENT_MS;
        add_tenants(control, life);
        life_forget_if_gone(control, life);
        return;
    }
    control_add(control, life->name);
    if (change->old == NULL || !same_part(change->obj, change->old, "spec.taints"))
        add_tenants(control, life);
}

static void map_lease(struct control *control, const struct change *change)
{
    const struct obj *lease = change->obj;
    if (strcmp(obj_namespace(lease), LEASES) != 0 || change->type == CHANGE_DELETED)
        return;
    if (change->old != NULL && same_part(lease, change->old, "spec.renewTime"))
        return;
    struct lives *lives = control_state(control);
    struct life *life = map_get(lives->nodes, lease->meta.name);
    if (life == NULL)
        return; /* a lease alone is no node */
    time_ms span = json_int_at(lease->root, "spec.leaseDurationSeconds", 0) * 1000;
    life->span = span > NODE_SILENT_MS ? span : NODE_SILENT_MS;
    if (change->revision > lives->begun)
        note_sign(control, life);
}

static void map_pod(struct control *control, const struct change *change)
{
    struct lives *lives = control_state(control);
    const struct obj *pod = change->obj;
    struct tenant *tenant = map_get(lives->tenants, pod->meta.uid);
    if (change->type == CHANGE_DELETED || !is_tenant(pod)) {
        if (tenant == NULL)
            return;
        struct life *life = tenant->life;
        (void)map_del(lives->tenants, pod->meta.uid);
        tenant_free(tenant);
        life_forget_if_gone(control, life);
        return;
    }
    if (tenant == NULL) {
        tenant = mem_zalloc(sizeof(*tenant));
        tenant->life = life_need(control, json_str_at(pod->root, "spec.nodeName"));
        tenant->key =
            mem_printf("%s/%s/%s", tenant->life->name, obj_namespace(pod), pod->meta.name);
        TAILQ_INSERT_TAIL(&tenant->life->tenants, tenant, siblings);
        (void)map_put(lives->tenants, pod->meta.uid, tenant);
    }
    control_add(control, tenant->key);
}

static void nodelife_map(struct control *control, const struct change *change)
{
    const struct kind *kind = change->obj->kind;
    if (kind == &KIND_NODE)
        map_node(control, change);
    else if (kind == &KIND_LEASE)
        map_lease(control, change);
    else if (kind == &KIND_POD)
        map_pod(control, change);
}

/* ---- nodes ---- */

static enum health health_of(struct control *control, const struct life *life,
                             const struct obj *node)
{
    yyjson_val *conditions = json_at(node->root, "status.conditions");
    if (control_steady(control) >= life->heard + life->span)
        return HEALTH_SILENT;
    if (!life->is_alive && cell_condition_is(conditions, "Ready", "Unknown"))
        return HEALTH_SILENT;
    if (cell_condition_is(conditions, "Ready", "False"))
        return HEALTH_BAD;
    return HEALTH_GOOD;
}

static void set_text(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *text)
{
    json_mut_put(doc, obj, key, yyjson_mut_strcpy(doc, text));
}

static void set_condition(yyjson_mut_doc *doc, yyjson_mut_val *condition, const char *status,
                          const char *now)
{
    bool is_silent = str_eq(status, "Unknown");
    set_text(doc, condition, "status", status);
    set_text(doc, condition, "reason", is_silent ? REASON_SILENT : REASON_BACK);
    set_text(doc, condition, "message",
             is_silent ? "The node has stopped to renew its lease."
                       : "The node renews its lease again.");
    set_text(doc, condition, "lastTransitionTime", now);
}

static yyjson_mut_val *conditions_with_ready(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    yyjson_mut_val *list = json_mut_need_arr(doc, root, "status.conditions");
    if (json_mut_find(list, "type", "Ready") == NULL)
        set_text(doc, yyjson_mut_arr_add_obj(doc, list), "type", "Ready");
    return list;
}

/* True: there was something to change. */
static bool set_conditions(yyjson_mut_doc *doc, yyjson_mut_val *root, bool is_silent,
                           const char *now)
{
    bool is_changed = false;
    size_t i, n;
    yyjson_mut_val *condition;
    yyjson_mut_arr_foreach(conditions_with_ready(doc, root), i, n, condition)
    {
        bool is_unknown = str_eq(json_mut_str_at(condition, "status"), "Unknown");
        bool is_our_word = str_eq(json_mut_str_at(condition, "reason"), REASON_SILENT);
        if (is_silent ? is_unknown : !(is_unknown && is_our_word))
            continue;
        bool is_ready = str_eq(json_mut_str_at(condition, "type"), "Ready");
        set_condition(doc, condition, is_silent ? "Unknown" : is_ready ? "True" : "False", now);
        is_changed = true;
    }
    return is_changed;
}

/* Those that we give: whether a node should have one follows from its health and its spec. */
static const struct own_taint {
    const char *key, *effect;
    enum health health; /* HEALTH_GOOD: no matter, the node is cordoned */
} OWN_TAINTS[] = {
    {NOT_READY, "NoSchedule", HEALTH_BAD},       {NOT_READY, "NoExecute", HEALTH_BAD},
    {UNREACHABLE, "NoSchedule", HEALTH_SILENT},  {UNREACHABLE, "NoExecute", HEALTH_SILENT},
    {TAINT_CORDONED, "NoSchedule", HEALTH_GOOD},
};

static bool is_due(const struct own_taint *taint, enum health health, yyjson_mut_val *node)
{
    return taint->health != HEALTH_GOOD
               ? taint->health == health
               : yyjson_mut_get_bool(json_mut_at(node, "spec.unschedulable"));
}

/* Where in the list a taint of ours is; its length: nowhere. */
static size_t find_taint(yyjson_mut_val *list, const struct own_taint *own)
{
    size_t i, n;
    yyjson_mut_val *taint;
    yyjson_mut_arr_foreach(list, i, n, taint)
    {
        if (str_eq(json_mut_str_at(taint, "key"), own->key) &&
            str_eq(json_mut_str_at(taint, "effect"), own->effect))
            return i;
    }
    return n;
}

static void add_taint(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct own_taint *own,
                      const char *now)
{
    yyjson_mut_val *taint = yyjson_mut_arr_add_obj(doc, list);
    set_text(doc, taint, "key", own->key);
    set_text(doc, taint, "effect", own->effect);
    set_text(doc, taint, "timeAdded", now);
}

static bool set_taints(yyjson_mut_doc *doc, yyjson_mut_val *root, enum health health,
                       const char *now)
{
    yyjson_mut_val *list = json_mut_need_arr(doc, root, "spec.taints");
    bool is_changed = false;
    for (size_t i = 0; i < ARRAY_LEN(OWN_TAINTS); i++) {
        bool is_wanted = is_due(&OWN_TAINTS[i], health, root);
        size_t at = find_taint(list, &OWN_TAINTS[i]);
        if (is_wanted == (at < yyjson_mut_arr_size(list)))
            continue;
        if (is_wanted)
            add_taint(doc, list, &OWN_TAINTS[i], now);
        else
            yyjson_mut_arr_remove(list, at);
        is_changed = true;
    }
    if (yyjson_mut_arr_size(list) == 0)
        json_mut_put(doc, yyjson_mut_obj_get(root, "spec"), "taints", NULL);
    return is_changed;
}

static void tell(struct control *control, const struct obj *node, bool is_silent)
{
    control_event(control, node, "Normal", is_silent ? "NodeNotReady" : "NodeReady",
                  is_silent ? "Node %s has fallen silent" : "Node %s is back", node->meta.name);
}

/* Two writes, spec and status, each fails when somebody was faster: what he wrote may be news. */
static void write_node(struct control *control, const struct obj *node, enum health health)
{
    scoped_str now = {0};
    rfc3339_format(control_now(control), &now);
    scoped_json_mut *spec = obj_edit(node), *status = obj_edit(node);
    bool tainted = set_taints(spec, yyjson_mut_doc_get_root(spec), health, str_text(&now));
    bool said = set_conditions(status, yyjson_mut_doc_get_root(status), health == HEALTH_SILENT,
                               str_text(&now));
    struct write *write = write_new(WRITE_UPDATE, &KIND_NODE, "", node->meta.name);
    if (said) {
        write->sub = SUB_STATUS;
        write->doc = take_ptr(status);
        tell(control, node, health == HEALTH_SILENT);
    } else if (tainted) { /* the other first: the next look finds the rest */
        write->doc = take_ptr(spec);
    }
    if (write->doc != NULL)
        control_write(control, write);
    else
        write_free(write);
}

static void reconcile_node(struct control *control, const char *name)
{
    struct lives *lives = control_state(control);
    const struct life *life = map_get(lives->nodes, name);
    const struct obj *node = cache_get(control_world(control)->cache, &KIND_NODE, "", name);
    if (life == NULL || node == NULL || node->meta.deleted != 0)
        return;
    enum health health = health_of(control, life, node);
    write_node(control, node, health);
    if (health != HEALTH_SILENT)
        control_add_after(control, name, life->heard + life->span - control_steady(control));
}

/* ---- pods ---- */

static bool is_own_taint(yyjson_val *taint)
{
    const char *key = json_str_at(taint, "key");
    return str_eq(key, UNREACHABLE) || str_eq(key, NOT_READY);
}

/* How long the pod bears this taint: TIME_NEVER for ever, 0 not at all. */
static time_ms borne_ms(yyjson_val *tolerations, yyjson_val *taint)
{
    time_ms least = TIME_NEVER;
    size_t i, n;
    yyjson_val *toleration;
    bool is_borne = false;
    yyjson_arr_foreach(tolerations, i, n, toleration)
    {
        if (!match_one_tolerates(toleration, taint))
            continue;
        yyjson_val *seconds = yyjson_obj_get(toleration, "tolerationSeconds");
        time_ms span = yyjson_is_int(seconds) ? yyjson_get_sint(seconds) * 1000 : TIME_NEVER;
        span = span < 0 ? 0 : span;
        least = span < least ? span : least;
        is_borne = true;
    }
    if (is_borne)
        return least;
    return is_own_taint(taint) ? TOLERATED_S * 1000 : 0;
}

/* When the first taint that the pod does not bear for ever is borne out. */
static time_ms due_of(const struct obj *pod, const struct obj *node, time_ms now)
{
    time_ms due = TIME_NEVER;
    size_t i, n;
    yyjson_val *taint;
    yyjson_arr_foreach(json_at(node->root, "spec.taints"), i, n, taint)
    {
        if (!str_eq(json_str_at(taint, "effect"), "NoExecute"))
            continue;
        time_ms since = cell_time(taint, "timeAdded");
        time_ms span = borne_ms(json_at(pod->root, "spec.tolerations"), taint);
        since = since != 0 ? since : now;
        if (span != TIME_NEVER && since + span < due)
            due = since + span;
    }
    return due;
}

static void set_not_ready(struct control *control, const struct obj *pod)
{
    scoped_str now = {0}, text = {0};
    if (!cell_condition_is(json_at(pod->root, "status.conditions"), "Ready", "True"))
        return;
    rfc3339_format(control_now(control), &now);
    str_addf(&text,
             "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"reason\":"
             "\"NodeNotReady\",\"lastTransitionTime\":\"%s\"}]}}",
             str_text(&now));
    control_patch_status(control, pod, str_text(&text));
}

static void delete_pod(struct control *control, const struct obj *pod, int64_t grace_s)
{
    struct write *write = write_new(WRITE_DELETE, &KIND_POD, obj_namespace(pod), pod->meta.name);
    write->if_uid = mem_strdup(pod->meta.uid);
    write->propagation = PROPAGATE_BACKGROUND;
    write->grace_s = grace_s;
    control_write(control, write);
}

static void evict(struct control *control, const struct obj *pod)
{
    delete_pod(control, pod, -1);
    control_event(control, pod, "Normal", "TaintManagerEviction",
                  "Deleted because its node cannot run it any longer");
}

static void reconcile_pod(struct control *control, const char *key, const struct obj *node,
                          const struct obj *pod)
{
    time_ms now = control_now(control);
    if (cell_condition_is(json_at(node->root, "status.conditions"), "Ready", "Unknown"))
        set_not_ready(control, pod);
    time_ms due = due_of(pod, node, now);
    if (pod->meta.deleted != 0 || due == TIME_NEVER)
        return;
    if (due <= now)
        evict(control, pod);
    else
        control_add_at(control, key, due);
}

/* First it must have an end that can be counted: whoever waits for the pod looks at its phase. */
static void fail_pod(struct control *control, const struct obj *pod)
{
    control_patch_status(control, pod,
                         "{\"status\":{\"phase\":\"Failed\",\"reason\":\"NodeLost\","
                         "\"message\":\"the node of this pod is gone\"}}");
}

static void reconcile_left_behind(struct control *control, const char *key, const char *node_name,
                                  const struct obj *pod)
{
    struct lives *lives = control_state(control);
    const struct life *life = map_get(lives->nodes, node_name);
    if (life == NULL)
        return;
    time_ms left = life->heard + NODE_SILENT_MS - control_steady(control);
    if (left > 0) {
        control_add_after(control, key, left);
        return;
    }
    fail_pod(control, pod);
    control_event(control, pod, "Warning", "NodeLost", "Its node %s is gone", node_name);
    delete_pod(control, pod, 0);
}

static void nodelife_reconcile(struct control *control, const char *key)
{
    struct sv rest = sv_of(key);
    struct sv name = sv_cut(&rest, '/');
    if (name.len == strlen(key)) {
        reconcile_node(control, key);
        return;
    }
    struct sv ns = sv_cut(&rest, '/');
    struct cache *cache = control_world(control)->cache;
    scoped_free char *node_name = mem_strndup(name.ptr, name.len);
    scoped_free char *space = mem_strndup(ns.ptr, ns.len);
    const struct obj *node = cache_get(cache, &KIND_NODE, "", node_name);
    const struct obj *pod = cache_get(cache, &KIND_POD, space, rest.ptr);
    if (pod == NULL || !is_tenant(pod) ||
        !str_eq(json_str_at(pod->root, "spec.nodeName"), node_name))
        return;
    if (node != NULL)
        reconcile_pod(control, key, node, pod);
    else
        reconcile_left_behind(control, key, node_name, pod);
}

static void nodelife_begin(struct control *control)
{
    struct lives *lives = mem_zalloc(sizeof(*lives));
    lives->nodes = map_new();
    lives->tenants = map_new();
    lives->begun = feed_revision(control_world(control)->feed);
    control_set_state(control, lives);
}

static bool free_tenant(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    tenant_free(value);
    return true;
}

static bool free_life(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    struct life *life = value;
    mem_free(life->name);
    mem_free(life);
    return true;
}

static void nodelife_end(struct control *control)
{
    struct lives *lives = control_state(control);
    (void)map_each(lives->tenants, free_tenant, NULL);
    (void)map_each(lives->nodes, free_life, NULL);
    map_free(lives->tenants);
    map_free(lives->nodes);
    mem_free(lives);
    control_set_state(control, NULL);
}

/* A node that renews its lease is looked at again and again. */
static bool nodelife_is_upkeep(const char *key)
{
    return strchr(key, '/') == NULL;
}

const struct controller CONTROLLER_NODELIFE = {
    .name = "node-lifecycle",
    .map = nodelife_map,
    .reconcile = nodelife_reconcile,
    .begin = nodelife_begin,
    .end = nodelife_end,
    .is_upkeep = nodelife_is_upkeep,
};
