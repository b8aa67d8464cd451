// SPDX-License-Identifier: Apache-2.0
#include "cli/place_input.h"
#include "base/map.h"
#include <errno.h>
#include <inttypes.h>

struct reader {
    yyjson_val *root;
    struct place_input input;
    struct map *nodes; /* names that are there */
    int32_t replicas;
    struct err *err;
};

/* ---- numbers and keys ---- */

/* A whole number in a range; `path` and `what` name it. */
static int whole(struct reader *r, yyjson_val *val, int64_t low, int64_t high, const char *path)
{
    bool is_int = yyjson_is_sint(val) || (yyjson_is_uint(val) && yyjson_get_uint(val) <= INT64_MAX);
    if (is_int && yyjson_get_sint(val) >= low && yyjson_get_sint(val) <= high)
        return 0;
    if (val == NULL)
        err_set(r->err, -EINVAL, "%s: is missing", path);
    else
        err_set(r->err, -EINVAL, "%s: not a whole number from %" PRId64 " to %" PRId64, path, low,
                high);
    return err_hint(r->err, "a whole number, such as %" PRId64,
                    low > 3    ? low
                    : high < 3 ? high
                               : 3);
}

static void warn_of_others(struct reader *r, yyjson_val *object, const char *const *known,
                           const char *path)
{
    size_t i, n, n_known = 0;
    yyjson_val *key, *val;
    while (known[n_known] != NULL)
        n_known++;
    yyjson_obj_foreach(object, i, n, key, val)
    {
        const char *name = unsafe_yyjson_get_str(key);
        size_t k = 0;
        while (k < n_known && strcmp(name, known[k]) != 0)
            k++;
        if (k < n_known)
            continue;
        const char *near = str_nearest(name, known, n_known);
        str_addf(&r->input.warnings, "%s: unknown key '%.60s' is not looked at", path, name);
        str_addf(&r->input.warnings, near != NULL ? "; did you mean '%s'?\n" : "\n", near);
    }
}

/* ---- nodes and pods ---- */

static int node_state(struct reader *r, yyjson_val *val, const char *path,
                      enum place_node_state *ret_state)
{
    static const char *const STATES[] = {[PLACE_NODE_OK] = "ok",
                                         [PLACE_NODE_CORDONED] = "cordoned",
                                         [PLACE_NODE_UNREACHABLE] = "unreachable"};
    *ret_state = PLACE_NODE_OK;
    if (val == NULL)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(STATES); i++) {
        if (yyjson_equals_str(val, STATES[i])) {
            *ret_state = (enum place_node_state)i;
            return 0;
        }
    }
    err_set(r->err, -EINVAL, "%s: not a state of a node", path);
    return err_hint(r->err, "ok, cordoned or unreachable");
}

static int read_node(struct reader *r, yyjson_val *item, size_t index)
{
    char path[64];
    enum place_node_state state;
    (void)snprintf(path, sizeof(path), "nodes[%zu]", index);
    size_t len = yyjson_arr_size(item);
    const char *name = yyjson_get_str(yyjson_arr_get(item, 0));
    yyjson_val *zone = yyjson_arr_get(item, 1);
    bool is_well = len >= 1 && len <= 3 && name != NULL &&
                   (zone == NULL || yyjson_is_str(zone) || yyjson_is_null(zone));
    if (!is_well) {
        err_set(r->err, -EINVAL, "%s: not a node", path);
        return err_hint(r->err,
                        "[name, zone or null, state], such as [\"node0\", \"zone0\", \"ok\"]");
    }
    int result = node_state(r, yyjson_arr_get(item, 2), path, &state);
    if (result < 0)
        return result;
    if (map_put(r->nodes, name, r) != NULL)
        return err_set(r->err, -EINVAL, "%s: node '%.60s' is there twice", path, name);
    place_set_node(r->input.place, name, yyjson_get_str(zone), state);
    return 0;
}

static int read_nodes(struct reader *r)
{
    yyjson_val *nodes = yyjson_obj_get(r->root, "nodes"), *item;
    size_t i, n;
    if (!yyjson_is_arr(nodes)) {
        err_set(r->err, -EINVAL, "nodes: %s", nodes == NULL ? "is missing" : "not a list");
        return err_hint(r->err, "[[\"node0\", \"zone0\", \"ok\"], ...]");
    }
    yyjson_arr_foreach(nodes, i, n, item)
    {
        int result = read_node(r, item, i);
        if (result < 0)
            return result;
    }
    return 0;
}

static int read_pod(struct reader *r, yyjson_val *item, size_t index, struct map *seen)
{
    char path[64], key[24];
    (void)snprintf(path, sizeof(path), "pods[%zu]", index);
    yyjson_val *node = yyjson_arr_get(item, 1);
    if (yyjson_arr_size(item) != 2 || (!yyjson_is_str(node) && !yyjson_is_null(node))) {
        err_set(r->err, -EINVAL, "%s: not a pod", path);
        return err_hint(r->err, "[ordinal, node or null], such as [0, \"node0\"]");
    }
    int result = whole(r, yyjson_arr_get(item, 0), 0, PLACE_PODS_MAX - 1, path);
    if (result < 0)
        return result;
    const char *name = yyjson_get_str(node);
    if (name != NULL && map_get(r->nodes, name) == NULL) {
        err_set(r->err, -EINVAL, "%s: there is no node '%.60s'", path, name);
        return err_hint(r->err, "add it to nodes, or write null: the pod is on no node yet");
    }
    int32_t ordinal = (int32_t)yyjson_get_sint(yyjson_arr_get(item, 0));
    (void)snprintf(key, sizeof(key), "%" PRId32, ordinal);
    if (map_put(seen, key, r) != NULL)
        return err_set(r->err, -EINVAL, "%s: pod %" PRId32 " is there twice", path, ordinal);
    place_set_pod(r->input.place, ordinal, name, false);
    return 0;
}

/* Pod i is on node i. */
static void pods_on_nodes(struct reader *r)
{
    yyjson_val *nodes = yyjson_obj_get(r->root, "nodes"), *item;
    size_t i, n;
    int32_t ordinal = 0;
    yyjson_arr_foreach(nodes, i, n, item)
    {
        if (ordinal < r->replicas)
            place_set_pod(r->input.place, ordinal++, yyjson_get_str(yyjson_arr_get(item, 0)),
                          false);
    }
    for (; ordinal < r->replicas; ordinal++)
        place_set_pod(r->input.place, ordinal, NULL, false);
}

static int read_pods(struct reader *r)
{
    yyjson_val *pods = yyjson_obj_get(r->root, "pods"), *item;
    size_t i, n;
    int result = 0;
    if (pods == NULL) {
        pods_on_nodes(r);
        return 0;
    }
    if (!yyjson_is_arr(pods)) {
        err_set(r->err, -EINVAL, "pods: not a list");
        return err_hint(r->err, "[[0, \"node0\"], ...], or leave it out: pod i is on node i");
    }
    struct map *seen = map_new();
    yyjson_arr_foreach(pods, i, n, item)
    {
        result = read_pod(r, item, i, seen);
        if (result < 0)
            break;
    }
    map_free(seen);
    return result;
}

/* ---- vpods ---- */

struct placements {
    VEC(struct place_at) at;
};

static int read_placements(struct reader *r, yyjson_val *list, const char *path,
                           struct placements *out)
{
    size_t i, n;
    yyjson_val *item;
    if (list != NULL && !yyjson_is_arr(list) && !yyjson_is_null(list)) {
        err_set(r->err, -EINVAL, "%s: not a list", path);
        return err_hint(r->err, "[[ordinal, vreplicas], ...]");
    }
    yyjson_arr_foreach(list, i, n, item)
    {
        scoped_free char *place = mem_printf("%s[%zu]", path, i);
        if (yyjson_arr_size(item) != 2) {
            err_set(r->err, -EINVAL, "%s: not a placement", place);
            return err_hint(r->err, "[ordinal, vreplicas], such as [0, 5]");
        }
        int result = whole(r, yyjson_arr_get(item, 0), 0, PLACE_PODS_MAX - 1, place);
        if (result >= 0)
            result = whole(r, yyjson_arr_get(item, 1), 0, PLACE_VREPLICAS_MAX, place);
        if (result < 0)
            return result;
        vec_push(&out->at, ((struct place_at){(int32_t)yyjson_get_sint(yyjson_arr_get(item, 0)),
                                              (int32_t)yyjson_get_sint(yyjson_arr_get(item, 1))}));
    }
    return 0;
}

static int read_wish(struct reader *r, yyjson_val *vpod, const char *path, struct place_wish *wish)
{
    scoped_free char *count = mem_printf("%s.vreplicas", path);
    scoped_free char *most = mem_printf("%s.maxPods", path);
    yyjson_val *rebalance = yyjson_obj_get(vpod, "rebalance"), *max_pods;
    int result = whole(r, yyjson_obj_get(vpod, "vreplicas"), 0, PLACE_VREPLICAS_MAX, count);
    if (result < 0)
        return result;
    wish->vreplicas = (int32_t)yyjson_get_sint(yyjson_obj_get(vpod, "vreplicas"));
    max_pods = yyjson_obj_get(vpod, "maxPods");
    if (max_pods != NULL && (result = whole(r, max_pods, 1, PLACE_PODS_MAX, most)) < 0)
        return result;
    wish->max_pods = (int32_t)yyjson_get_sint(max_pods);
    if (yyjson_equals_str(rebalance, "Minimal"))
        wish->rebalance = PLACE_MINIMAL;
    else if (rebalance != NULL && !yyjson_equals_str(rebalance, "Spread")) {
        err_set(r->err, -EINVAL, "%s.rebalance: unknown", path);
        return err_hint(r->err, "Spread (all of the vpod anew when it grows) or Minimal");
    }
    return 0;
}

static int read_vpod(struct reader *r, yyjson_val *vpod, size_t index, struct map *seen)
{
    static const char *const KEYS[] = {"name",    "vreplicas", "placements",
                                       "maxPods", "rebalance", NULL};
    scoped_free char *path = mem_printf("vpods[%zu]", index);
    scoped_free char *list = mem_printf("%s.placements", path);
    const char *name = yyjson_get_str(yyjson_obj_get(vpod, "name"));
    struct place_wish wish = {0};
    struct placements placements = {0};
    if (name == NULL) {
        err_set(r->err, -EINVAL, "%s: %s", path,
                yyjson_is_obj(vpod) ? "name is missing, or no text" : "not an object");
        return err_hint(r->err, "{\"name\": \"v\", \"vreplicas\": 15, \"placements\": [[0, 10]]}");
    }
    warn_of_others(r, vpod, KEYS, path);
    if (map_put(seen, name, r) != NULL)
        return err_set(r->err, -EINVAL, "%s: vpod '%.60s' is there twice", path, name);
    int result = read_wish(r, vpod, path, &wish);
    if (result >= 0)
        result = read_placements(r, yyjson_obj_get(vpod, "placements"), list, &placements);
    if (result >= 0) {
        place_set_vpod(r->input.place, name, &wish, placements.at.items, placements.at.len);
        vec_push(&r->input.vpods, mem_strdup(name));
    }
    vec_done(&placements.at);
    return result;
}

static int read_vpods(struct reader *r)
{
    yyjson_val *vpods = yyjson_obj_get(r->root, "vpods"), *item;
    size_t i, n;
    int result = 0;
    if (vpods != NULL && !yyjson_is_arr(vpods)) {
        err_set(r->err, -EINVAL, "vpods: not a list");
        return err_hint(r->err, "[{\"name\": \"v\", \"vreplicas\": 15, \"placements\": []}]");
    }
    struct map *seen = map_new();
    yyjson_arr_foreach(vpods, i, n, item)
    {
        result = read_vpod(r, item, i, seen);
        if (result < 0)
            break;
    }
    map_free(seen);
    return result;
}

static int read_reserved(struct reader *r)
{
    yyjson_val *reserved = yyjson_obj_get(r->root, "reserved"), *key, *list;
    size_t i, n;
    if (reserved != NULL && !yyjson_is_obj(reserved)) {
        err_set(r->err, -EINVAL, "reserved: not an object");
        return err_hint(r->err, "{\"v\": [[ordinal, vreplicas], ...]}");
    }
    yyjson_obj_foreach(reserved, i, n, key, list)
    {
        const char *name = unsafe_yyjson_get_str(key);
        scoped_free char *path = mem_printf("reserved.%.100s", name);
        struct placements placements = {0};
        int result = read_placements(r, list, path, &placements);
        for (size_t k = 0; result >= 0 && k < placements.at.len; k++)
            place_reserve(r->input.place, name, placements.at.items[k].ordinal,
                          placements.at.items[k].vreplicas);
        vec_done(&placements.at);
        if (result < 0)
            return result;
    }
    return 0;
}

/* ---- the whole ---- */

static int read_policy(struct reader *r, struct place_policy *policy)
{
    yyjson_val *type = yyjson_obj_get(r->root, "policyType");
    yyjson_val *scheduler = yyjson_obj_get(r->root, "scheduler");
    yyjson_val *descheduler = yyjson_obj_get(r->root, "descheduler");
    int result = 0;
    bool has_type = type != NULL && !yyjson_is_null(type) && !yyjson_equals_str(type, "");
    if (has_type && !yyjson_equals_str(type, "MAXFILLUP")) {
        err_set(r->err, -EINVAL, "policyType: unknown");
        return err_hint(r->err, "MAXFILLUP, or leave it out and give scheduler and descheduler");
    }
    if (!has_type && scheduler == NULL && descheduler == NULL) {
        err_set(r->err, -EINVAL, "scheduler: is missing");
        return err_hint(r->err, "give scheduler {predicates, priorities}, or policyType MAXFILLUP");
    }
    if (scheduler != NULL)
        result = place_policy_scheduler(policy, scheduler, "scheduler", r->err);
    if (result >= 0 && descheduler != NULL)
        result = place_policy_descheduler(policy, descheduler, "descheduler", r->err);
    if (result >= 0 && has_type)
        place_policy_fill_up(policy);
    return result;
}

static int read_numbers(struct reader *r)
{
    yyjson_val *pending = yyjson_obj_get(r->root, "pending");
    yyjson_val *shrink = yyjson_obj_get(r->root, "attemptScaleDown");
    int result = 0;
    r->input.pending = PLACE_COMPUTED;
    if (pending != NULL && !yyjson_is_null(pending)) {
        result = whole(r, pending, 0, INT64_C(1) << 40, "pending");
        r->input.pending = yyjson_get_sint(pending);
    }
    if (result >= 0 && shrink != NULL && !yyjson_is_bool(shrink))
        return err_set(r->err, -EINVAL, "attemptScaleDown: neither true nor false");
    r->input.may_shrink = yyjson_get_bool(shrink);
    return result;
}

static int read_all(struct reader *r)
{
    static const char *const KEYS[] = {
        "capacity",    "replicas", "nodes",    "pods",    "policyType",       "scheduler",
        "descheduler", "vpods",    "reserved", "pending", "attemptScaleDown", NULL};
    struct place_policy policy = {0};
    yyjson_val *capacity = yyjson_obj_get(r->root, "capacity");
    yyjson_val *replicas = yyjson_obj_get(r->root, "replicas");
    if (!yyjson_is_obj(r->root)) {
        err_set(r->err, -EINVAL, "not an object");
        return err_hint(r->err, "{\"capacity\": 10, \"replicas\": 3, \"nodes\": [...], ...}");
    }
    warn_of_others(r, r->root, KEYS, "the input");
    int result = whole(r, capacity, 1, PLACE_VREPLICAS_MAX, "capacity");
    if (result >= 0)
        result = whole(r, replicas, 0, PLACE_PODS_MAX, "replicas");
    if (result >= 0)
        result = read_policy(r, &policy);
    if (result < 0)
        return result;
    r->replicas = (int32_t)yyjson_get_sint(replicas);
    r->input.place = place_new(&policy, (int32_t)yyjson_get_sint(capacity));
    place_set_replicas(r->input.place, r->replicas);
    int (*const PARTS[])(struct reader *) = {read_nodes, read_pods, read_vpods, read_reserved,
                                             read_numbers};
    for (size_t i = 0; i < ARRAY_LEN(PARTS) && result >= 0; i++)
        result = PARTS[i](r);
    return result;
}

int place_input_read(yyjson_val *root, struct place_input *ret_input, struct err *err)
{
    struct err own = {0};
    struct reader reader = {.root = root, .nodes = map_new(), .err = err != NULL ? err : &own};
    int result = read_all(&reader);
    map_free(reader.nodes);
    if (result < 0)
        place_input_done(&reader.input);
    else
        *ret_input = reader.input;
    return result;
}

void place_input_done(struct place_input *input)
{
    for (size_t i = 0; i < input->vpods.len; i++)
        mem_free(input->vpods.items[i]);
    vec_done(&input->vpods);
    str_done(&input->warnings);
    place_free(input->place);
    input->place = NULL;
}
