// SPDX-License-Identifier: Apache-2.0
/* Files that a pod has of its own labels and annotations (downwardAPI) and of ConfigMaps are kept
 * up to date while it runs, all files of a volume in one step. A pod whose annotation
 * muster.dev/reload-signal names a signal gets it when something has changed; others are expected
 * to look. Who is not ready yet may not have got so far as to handle it, and would die of it: he
 * gets it when he is. */
#include "base/mem.h"
#include "control/pods/runner_internal.h"
#include <signal.h>

#define RELOAD_NOTE "muster.dev/reload-signal"

bool renew_has_files(const struct obj *pod)
{
    size_t i, n;
    yyjson_val *volume;
    yyjson_arr_foreach(json_at(pod->root, "spec.volumes"), i, n, volume)
    {
        if (yyjson_obj_get(volume, "downwardAPI") != NULL ||
            yyjson_obj_get(volume, "configMap") != NULL ||
            yyjson_obj_get(volume, "projected") != NULL)
            return true;
    }
    return false;
}

static bool same(yyjson_val *a, yyjson_val *b)
{
    return a == NULL || b == NULL ? a == b : yyjson_equals(a, b);
}

static int signal_of(const struct obj *pod)
{
    static const struct {
        const char *name;
        int signo;
    } SIGNALS[] = {{"SIGHUP", SIGHUP}, {"HUP", SIGHUP},      {"SIGUSR1", SIGUSR1},
                   {"USR1", SIGUSR1},  {"SIGUSR2", SIGUSR2}, {"USR2", SIGUSR2}};
    const char *name = yyjson_get_str(yyjson_obj_get(pod->meta.annotations, RELOAD_NOTE));
    for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++) {
        if (str_eq(name, SIGNALS[i].name))
            return SIGNALS[i].signo;
    }
    return 0;
}

static bool mounts_files(const struct launch *launch)
{
    for (size_t i = 0; i < launch->n_mounts; i++) {
        if (launch->mounts[i].type == MOUNT_CONFIG_MAP)
            return true;
    }
    return false;
}

/* Volumes are the pod's: each container refreshes those that it mounts, and whoever mounts one that
 * has changed hears of it. */
static void renew_container(struct runner *runner, struct rpod *pod, struct rcontainer *container)
{
    struct runtime *runtime = runner->options.runtime;
    struct launch launch = {0};
    if (container->generation == 0 || container->has_ended ||
        launch_make(&runner->arena, control_world(runner->control)->cache, pod->obj,
                    container->spec, &runner->options.launch, &launch, NULL) < 0 ||
        !mounts_files(&launch))
        return; /* a ConfigMap that is gone leaves what was there */
    struct runtime_unit unit = {pod->uid, json_str_at(container->spec, "name"),
                                container->generation};
    int changed =
        runtime->ops->refresh != NULL ? runtime->ops->refresh(runtime, &unit, &launch) : 0;
    if (changed > 0)
        container->owed_signal = container->generation;
}

static void pay_signal(struct runner *runner, struct rpod *pod, uint32_t i)
{
    struct rcontainer *container = &pod->containers[i];
    struct start_view view;
    int signo = signal_of(pod->obj);
    if (container->owed_signal == 0)
        return;
    start_view(pod->engine, i, &view);
    if (container->owed_signal == container->generation && view.state != CT_READY)
        return; /* one that was started anew has read what there is */
    struct runtime_unit unit = {pod->uid, json_str_at(container->spec, "name"),
                                container->generation};
    if (signo != 0 && container->owed_signal == container->generation)
        runner->options.runtime->ops->signal(runner->options.runtime, &unit, signo);
    container->owed_signal = 0;
}

void renew_files(struct runner *runner, struct rpod *pod, const struct obj *before)
{
    if (pod->stage != RPOD_LIVE || !renew_has_files(pod->obj))
        return;
    bool is_same = before != NULL && same(before->meta.annotations, pod->obj->meta.annotations) &&
                   same(before->meta.labels, pod->obj->meta.labels);
    for (uint32_t i = 0; i < pod->n; i++) {
        if (!is_same)
            renew_container(runner, pod, &pod->containers[i]);
        pay_signal(runner, pod, i);
    }
}

/* ---- a node that is cut off ---- */

bool renew_is_cut_off(const struct obj *node)
{
    return str_eq(yyjson_get_str(yyjson_obj_get(node->meta.annotations, CUT_OFF_NOTE)), "true");
}

static bool add_each(void *arg, const char *key, void *value)
{
    struct runner *runner = arg;
    (void)value;
    control_add(runner->control, key);
    return true;
}

/* Back again: everything is looked at, what came meanwhile too. */
void renew_contact(struct runner *runner)
{
    struct cache *cache = control_world(runner->control)->cache;
    (void)map_each(runner->pods, add_each, runner);
    struct obj *pod = cache_first(cache, &KIND_POD, NULL);
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, NULL, pod)) {
        scoped_free char *key = mem_printf("%s/%s", obj_namespace(pod), pod->meta.name);
        if (str_eq(json_str_at(pod->root, "spec.nodeName"), runner->options.node))
            control_add(runner->control, key);
    }
}
