// SPDX-License-Identifier: Apache-2.0
/* From a pod to what a runtime needs to start one of its containers. */
#include "base/mem.h"
#include "control/pods/launch_internal.h"
#include <errno.h>
#include <string.h>

/* What the kernel looks at when memory is short, as kubelet sets it: pods that have all they may
 * ever use set aside go last, pods that asked for nothing go first. */
#define OOM_GUARANTEED (-997)
#define OOM_BEST_EFFORT 1000
#define OOM_BURSTABLE_MIN (1000 + OOM_GUARANTEED)
#define OOM_BURSTABLE_MAX (OOM_BEST_EFFORT - 1)

static const char *place_of(struct arena *arena, yyjson_val *spec, yyjson_val *container)
{
    static const char *const LISTS[] = {"initContainers", "containers"};
    for (size_t k = 0; k < ARRAY_LEN(LISTS); k++) {
        size_t i, n;
        yyjson_val *item;
        yyjson_arr_foreach(yyjson_obj_get(spec, LISTS[k]), i, n, item)
        {
            if (item == container)
                return arena_printf(arena, "spec.%s[%zu]", LISTS[k], i);
        }
    }
    return "spec.containers[]";
}

/* ---- who runs it ---- */

/* The container's own, else the pod's, else -1. */
static int64_t id_of(const struct launching *l, const char *field)
{
    yyjson_val *own = yyjson_obj_get(l->container, "securityContext");
    yyjson_val *pods = yyjson_obj_get(l->spec, "securityContext");
    int64_t id = json_int_at(own, field, -1);
    return id >= 0 ? id : json_int_at(pods, field, -1);
}

static void take_groups(struct launching *l)
{
    yyjson_val *context = yyjson_obj_get(l->spec, "securityContext");
    yyjson_val *list = yyjson_obj_get(context, "supplementalGroups");
    int64_t *groups = arena_alloc(l->arena, (yyjson_arr_size(list) + 1) * sizeof(*groups));
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        groups[l->out.n_groups++] = yyjson_get_sint(item);
    }
    if (l->out.fs_group >= 0)
        groups[l->out.n_groups++] = l->out.fs_group;
    l->out.groups = groups;
}

/* The container's word counts when it says anything. */
static bool is_non_root(const struct launching *l)
{
    yyjson_val *own = json_at(l->container, "securityContext.runAsNonRoot");
    yyjson_val *pods = json_at(l->spec, "securityContext.runAsNonRoot");
    return yyjson_get_bool(yyjson_is_bool(own) ? own : pods);
}

static int check_user(const struct launching *l, struct err *err)
{
    int64_t user = l->out.uid >= 0 ? l->out.uid : l->node->uid;
    if (l->out.uid < 0 && l->node->base_env == NULL)
        return 0; /* the image may name a user */
    if (!is_non_root(l) || user != 0)
        return 0;
    int r = err_set(err, -EINVAL,
                    "%s.securityContext.runAsNonRoot: the container would run as root", l->where);
    (void)err_hint(err, "set runAsUser to another user's number");
    return r;
}

/* Only root may become somebody else. */
static int check_change(const struct launching *l, struct err *err)
{
    const char *field = NULL;
    if (l->node->uid == 0 || l->node->base_env == NULL)
        return 0;
    if (l->out.uid >= 0 && l->out.uid != l->node->uid)
        field = "runAsUser";
    else if (l->out.gid >= 0)
        field = "runAsGroup";
    else if (l->out.n_groups > 0)
        field = l->out.fs_group >= 0 ? "fsGroup" : "supplementalGroups";
    if (field == NULL)
        return 0;
    int r = err_set(err, -ENOTSUP,
                    "%s: securityContext.%s cannot be given to a process: the node does not run as "
                    "root",
                    l->where, field);
    (void)err_hint(err, "leave it out, or start the node as root");
    return r;
}

static int take_identity(struct launching *l, struct err *err)
{
    yyjson_val *context = yyjson_obj_get(l->spec, "securityContext");
    l->out.uid = id_of(l, "runAsUser");
    l->out.gid = id_of(l, "runAsGroup");
    l->out.fs_group = json_int_at(context, "fsGroup", -1);
    take_groups(l);
    int r = check_user(l, err);
    return r < 0 ? r : check_change(l, err);
}

/* ---- what it may use ---- */

static quantity amount(yyjson_val *container, const char *which, const char *name)
{
    quantity found = 0;
    return fields_amount(container, which, name, &found) && found > 0 ? found : 0;
}

/* Who sets a limit and no request has asked for as much as he may use. */
static quantity request(yyjson_val *container, const char *name)
{
    quantity found = 0;
    if (fields_amount(container, "requests", name, &found))
        return found > 0 ? found : 0;
    return amount(container, "limits", name);
}

static int32_t burstable_score(int64_t wanted, int64_t there)
{
    if (there <= 0)
        return OOM_BURSTABLE_MAX;
    int64_t score = 1000 - (int64_t)((__int128)1000 * wanted / there);
    if (score < OOM_BURSTABLE_MIN)
        return OOM_BURSTABLE_MIN;
    return score > OOM_BURSTABLE_MAX ? OOM_BURSTABLE_MAX : (int32_t)score;
}

static int32_t oom_score(const struct launching *l)
{
    const char *class = json_str_at(l->pod->root, "status.qosClass");
    if (str_eq(class, "Guaranteed"))
        return OOM_GUARANTEED;
    if (str_eq(class, "Burstable"))
        return burstable_score(l->out.memory_request_bytes, l->node->memory_bytes);
    return OOM_BEST_EFFORT;
}

static void take_resources(struct launching *l)
{
    l->out.cpu_request_milli = quantity_milli(request(l->container, "cpu"));
    l->out.cpu_limit_milli = quantity_milli(amount(l->container, "limits", "cpu"));
    l->out.memory_request_bytes = quantity_value(request(l->container, "memory"));
    l->out.memory_limit_bytes = quantity_value(amount(l->container, "limits", "memory"));
    l->out.oom_score_adj = oom_score(l);
}

/* ---- what it is ---- */

static size_t add_words(const struct launching *l, const char *field, const char **argv)
{
    yyjson_val *list = yyjson_obj_get(l->container, field);
    size_t i, n;
    yyjson_val *word;
    yyjson_arr_foreach(list, i, n, word)
    {
        const char *text = yyjson_get_str(word);
        argv[i] = env_expand(l, text != NULL ? text : "", NULL);
    }
    return yyjson_arr_size(list);
}

static void take_command(struct launching *l)
{
    size_t room = yyjson_arr_size(yyjson_obj_get(l->container, "command")) +
                  yyjson_arr_size(yyjson_obj_get(l->container, "args")) + 1;
    const char **argv = arena_alloc(l->arena, room * sizeof(*argv));
    size_t n = add_words(l, "command", argv);
    (void)add_words(l, "args", argv + n);
    l->out.argv = argv;
}

static const char *text_or(const struct launching *l, const char *path, const char *otherwise)
{
    const char *text = json_str_at(l->container, path);
    return text != NULL && *text != '\0' ? arena_strdup(l->arena, text) : otherwise;
}

/* Callers have these seven at hand. NOLINTNEXTLINE(readability-function-size) */
int launch_make(struct arena *arena, const struct cache *cache, const struct obj *pod,
                yyjson_val *container, const struct launch_node *node, struct launch *ret_launch,
                struct err *err)
{
    struct launching l = {
        .arena = arena, .cache = cache, .pod = pod, .container = container, .node = node};
    l.spec = yyjson_obj_get(pod->root, "spec");
    l.where = place_of(arena, l.spec, container);
    l.out.image = text_or(&l, "image", "");
    l.out.dir = text_or(&l, "workingDir", NULL);
    l.out.stop_signal = text_or(&l, "lifecycle.stopSignal", "SIGTERM");
    l.out.annotations = pod->meta.annotations;
    take_resources(&l);
    int r = take_identity(&l, err);
    if (r >= 0)
        r = env_make(&l, err);
    if (r >= 0)
        r = mounts_make(&l, err);
    if (r >= 0) {
        take_command(&l);
        *ret_launch = l.out;
    }
    env_done(&l.env);
    return r;
}
