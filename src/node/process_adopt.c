// SPDX-License-Identifier: Apache-2.0
/* A supervisor takes over from one that died. The spawner knows what lives and what has ended
 * unseen; control groups that it does not know belong to a spawner that died too, and whatever is
 * left in them is ended: nobody could tell how it ends. */
#include "node/process_internal.h"
#include "os/fd.h"
#include "os/log.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "uid/container/generation" */
static struct punit *unit_of_id(struct process_runtime *rt, const char *id)
{
    const char *first = strchr(id, '/'), *last = strrchr(id, '/');
    if (first == NULL || first == last)
        return NULL;
    scoped_free char *uid = mem_strndup(id, (size_t)(first - id));
    scoped_free char *container = mem_strndup(first + 1, (size_t)(last - first - 1));
    return punit_new(rt, uid, container, (uint32_t)strtoul(last + 1, NULL, 10));
}

/* ---- who said that it is ready ---- */

/* It is said once, and who was told may die before a status says it (those of a group on its way
 * are put off for seconds). So it is kept beside the socket: a link that leads to the generation.
 */
static char *ready_path(const struct punit *unit)
{
    return mem_printf("%s/%s/%s.ready", unit->runtime->pods_dir, unit->uid, unit->container);
}

void punit_keep_ready(const struct punit *unit)
{
    scoped_free char *path = ready_path(unit);
    char generation[16];
    (void)snprintf(generation, sizeof(generation), "%u", unit->generation);
    (void)unlink(path); /* of the generation before */
    if (symlink(generation, path) < 0)
        log_warn("node.ready unit=%s error=\"%s\"", unit->id, strerror(errno));
}

static bool has_said_ready(const struct punit *unit)
{
    scoped_free char *path = ready_path(unit);
    char target[16];
    ssize_t len = readlink(path, target, sizeof(target) - 1);
    if (len <= 0)
        return false;
    target[len] = '\0';
    return strtoul(target, NULL, 10) == unit->generation;
}

/* ---- what the spawner knows ---- */

static void found(struct process_runtime *rt, const struct spawn_reply *reply)
{
    if (str_starts(reply->id, "probe/")) {
        spawners_signal(rt->spawners, reply->id, SIGKILL, true);
        spawners_forget(rt->spawners, reply->id);
        return;
    }
    struct punit *unit = map_get(rt->units, reply->id);
    if (unit == NULL)
        unit = unit_of_id(rt, reply->id);
    if (unit == NULL)
        return;
    bool has_ended = reply->type == SPAWN_EXITED;
    unit->stage = has_ended ? PUNIT_ENDED : PUNIT_RUNNING;
    unit->pid = reply->pid;
    unit->at = reply->at_ms;
    unit->has_leaf = rt->can.is_there;
    if (!has_ended)
        cgroup_leaf_found(rt->tree, unit->uid, unit->pid);
    if (has_ended) {
        unit->exit_code = exit_code_of(reply);
        (void)cgroup_leaf_kill(rt->tree, unit->uid, unit->leaf); /* what its children left */
    }
    struct runtime_event event = {.type = RT_FOUND,
                                  .unit = punit_name(unit),
                                  .pid = unit->pid,
                                  .has_ended = has_ended,
                                  .exit_code = unit->exit_code,
                                  .at = unit->at};
    process_tell(rt, &event);
    if (!has_ended && has_said_ready(unit)) {
        struct runtime_event ready = {
            .type = RT_NOTIFY, .unit = punit_name(unit), .text = "READY=1"};
        process_tell(rt, &ready);
    }
}

static void end_stray(void *arg, const char *pod, const char *leaf)
{
    struct process_runtime *rt = arg;
    const char *dot = strrchr(leaf, '.');
    if (dot == NULL || dot[1] != 'g')
        return;
    char id[512];
    (void)snprintf(id, sizeof(id), "%s/%.*s/%s", pod, (int)(dot - leaf), leaf, dot + 2);
    const struct punit *unit = map_get(rt->units, id);
    if (unit != NULL && unit->stage != PUNIT_ENDED)
        return;
    if (cgroup_leaf_is_populated(rt->tree, pod, leaf)) {
        log_warn("node.stray pod=%s leaf=%s", pod, leaf);
        (void)cgroup_leaf_kill(rt->tree, pod, leaf);
    }
    (void)cgroup_leaf_remove(rt->tree, pod, leaf); /* when not empty yet, with its pod's slice */
}

void process_adopt_reply(struct process_runtime *rt, const struct spawn_reply *reply)
{
    if (reply->type != SPAWN_LISTED) {
        found(rt, reply);
        return;
    }
    rt->is_adopting = false;
    cgroup_each_leaf(rt->tree, end_stray, rt);
    struct runtime_event all = {.type = RT_FOUND_ALL};
    process_tell(rt, &all);
}

void process_adopt(struct runtime *runtime)
{
    struct process_runtime *rt = (struct process_runtime *)runtime;
    rt->is_adopting = true;
    spawners_list(rt->spawners);
}

void punit_resume(struct punit *unit)
{
    struct process_runtime *rt = unit->runtime;
    scoped_free char *path = punit_notify_path(unit);
    scoped_free char *out = NULL;
    struct err err = {0};
    struct log_name name = punit_log(unit);
    if (unit->stage != PUNIT_RUNNING)
        return;
    punit_measure(unit);
    if (logs_begin(rt->logs, &name, &out, &err) < 0)
        log_warn("node.logs unit=%s error=\"%s\"", unit->id, err.text);
    if (file_exists(path) && unit->notify == NULL && punit_listen(unit, &err) < 0)
        log_warn("node.notify unit=%s error=\"%s\"", unit->id, err.text);
}

void process_sweep(struct runtime *runtime, bool (*is_known)(void *arg, const char *uid), void *arg)
{
    struct process_runtime *rt = (struct process_runtime *)runtime;
    DIR *dir = opendir(rt->pods_dir);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.' || is_known(arg, entry->d_name))
            continue;
        vec_push(&rt->removing, mem_strdup(entry->d_name));
        loop_defer(rt->loop, &rt->remove_some);
    }
    if (dir != NULL)
        (void)closedir(dir);
    logs_sweep(rt->logs, is_known, arg);
    process_hosts_sweep(rt);
}
