// SPDX-License-Identifier: Apache-2.0
#include "podbook.h"
#include "base/mem.h"
#include "model/cell.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EXIT_KILLED 137

struct unit_page {
    bool has_ended, is_not_run;
    bool was_not_run; /* an earlier start of the same name came to nothing */
    int exit_code;
};

void podbook_fail(struct podbook *book, const char *fmt, ...)
{
    char text[512];
    va_list args;
    if (book->failure != NULL)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    book->failure = mem_strdup(text);
}

void podbook_init(struct podbook *book)
{
    *book = (struct podbook){
        .units = map_new(), .pods = map_new(), .forced = map_new(), .gone = map_new()};
}

static bool free_page(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    mem_free(value);
    return true;
}

static bool free_obj(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    obj_unref(value);
    return true;
}

void podbook_done(struct podbook *book)
{
    (void)map_each(book->units, free_page, NULL);
    (void)map_each(book->pods, free_obj, NULL);
    map_free(book->units);
    map_free(book->pods);
    map_free(book->forced);
    map_free(book->gone);
    mem_free(book->failure);
}

bool has_ended(const struct obj *pod)
{
    const char *phase = json_str_at(pod->root, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

bool job_has_ended(const struct obj *job)
{
    yyjson_val *conditions = json_at(job->root, "status.conditions");
    return cell_condition_is(conditions, "Complete", "True") ||
           cell_condition_is(conditions, "Failed", "True");
}

void podbook_force(struct podbook *book, const char *uid)
{
    (void)map_put(book->forced, uid, book);
}

/* ---- units ---- */

static struct unit_page *page_of(struct podbook *book, const char *uid, const char *container,
                                 uint32_t generation)
{
    scoped_free char *id = mem_printf("%s/%s/%u", uid, container, generation);
    return map_get(book->units, id);
}

/* Rule 1. */
static void on_start(struct podbook *book, const struct runtime_unit *unit)
{
    scoped_free char *id = mem_printf("%s/%s/%u", unit->uid, unit->container, unit->generation);
    const struct obj *pod = cache_by_uid(sim_world(book->sim)->cache, unit->uid);
    if (map_get(book->gone, unit->uid) != NULL && map_get(book->forced, unit->uid) == NULL)
        podbook_fail(book, "%s was started; its pod is gone", id);
    if (pod != NULL && has_ended(pod))
        podbook_fail(book, "%s was started; its pod has ended", id);
    const struct unit_page *before =
        unit->generation > 1 ? page_of(book, unit->uid, unit->container, unit->generation - 1)
                             : NULL;
    if (unit->generation > 1 && (before == NULL || !before->has_ended))
        podbook_fail(book, "%s was started; the one before it has not ended", id);
    struct unit_page *old = map_put(book->units, id, mem_zalloc(sizeof(*old)));
    if (old != NULL && !old->is_not_run)
        podbook_fail(book, "%s was started a second time", id);
    ((struct unit_page *)map_get(book->units, id))->was_not_run = old != NULL;
    mem_free(old);
    book->restarts += unit->generation > 1;
}

static yyjson_val *status_of(const struct obj *pod, const char *container)
{
    static const char *const LISTS[] = {"status.containerStatuses", "status.initContainerStatuses"};
    for (size_t k = 0; k < ARRAY_LEN(LISTS); k++) {
        size_t i, n;
        yyjson_val *item;
        yyjson_arr_foreach(json_at(pod->root, LISTS[k]), i, n, item)
        {
            if (str_eq(json_str_at(item, "name"), container))
                return item;
        }
    }
    return NULL;
}

static bool is_end_of(yyjson_val *end, const struct runtime_unit *unit, int code)
{
    scoped_free char *id =
        mem_printf("sim://%s/%s/%u", unit->uid, unit->container, unit->generation);
    return str_eq(json_str_at(end, "containerID"), id) && json_int_at(end, "exitCode", -1) == code;
}

/* Rule 3. */
static void on_forget(struct podbook *book, const struct runtime_unit *unit, int code)
{
    const struct obj *pod = cache_by_uid(sim_store(book->sim)->cache, unit->uid);
    if (pod == NULL || pod->meta.deleted != 0)
        return;
    if (has_ended(pod) && code == EXIT_KILLED)
        return; /* an earlier life told late that the pod has ended: what this one began was killed
                 */
    yyjson_val *status = status_of(pod, unit->container);
    bool is_later = json_int_at(status, "lifecycle.generation", 0) > unit->generation &&
                    json_int_at(status, "restartCount", 0) >= unit->generation;
    if (!is_later && !is_end_of(json_at(status, "state.terminated"), unit, code) &&
        !is_end_of(json_at(status, "lastState.terminated"), unit, code))
        podbook_fail(book, "%s of %s ended with %d; it was forgotten before anybody was told",
                     unit->container, pod->meta.name, code);
}

void podbook_on_step(void *arg, enum sim_unit_step step, const struct runtime_unit *unit,
                     int exit_code)
{
    struct podbook *book = arg;
    struct unit_page *page = page_of(book, unit->uid, unit->container, unit->generation);
    switch (step) {
    case SIM_UNIT_START:
        on_start(book, unit);
        break;
    case SIM_UNIT_NOT_RUN:
        page->has_ended = page->is_not_run = true;
        break;
    case SIM_UNIT_END:
        page->has_ended = true;
        page->exit_code = exit_code;
        book->ends++;
        break;
    case SIM_UNIT_FORGET:
        on_forget(book, unit, exit_code);
        break;
    }
}

/* ---- pods ---- */

/* Rule 4. */
static void judge_end(struct podbook *book, const struct obj *pod, yyjson_val *end)
{
    const char *id = json_str_at(end, "containerID");
    if (id == NULL || !str_starts(id, "sim://"))
        return; /* it never had a process */
    const struct unit_page *page = map_get(book->units, id + strlen("sim://"));
    if (page != NULL && page->was_not_run)
        return; /* a life that heard of the first start may have told of it just now */
    if (page == NULL || !page->has_ended)
        podbook_fail(book, "%s says that %s has ended", pod->meta.name, id);
    else if (!page->is_not_run && page->exit_code != json_int_at(end, "exitCode", -1))
        podbook_fail(book, "%s says that %s ended with %d, it was %d", pod->meta.name, id,
                     (int)json_int_at(end, "exitCode", -1), page->exit_code);
}

/* A start that an earlier life told of late, when the next one already knew that nothing runs. */
static bool came_to_nothing(const struct podbook *book, yyjson_val *status)
{
    const char *id = json_str_at(status, "containerID");
    const struct unit_page *page =
        id != NULL && str_starts(id, "sim://") ? map_get(book->units, id + strlen("sim://")) : NULL;
    return page != NULL && page->is_not_run;
}

static void judge_containers(struct podbook *book, const struct obj *pod, const struct obj *old,
                             const char *list)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(pod->root, list), i, n, item)
    {
        const char *name = json_str_at(item, "name");
        judge_end(book, pod, json_at(item, "state.terminated"));
        judge_end(book, pod, json_at(item, "lastState.terminated"));
        yyjson_val *before = old != NULL ? status_of(old, name) : NULL;
        if (json_int_at(item, "restartCount", 0) < json_int_at(before, "restartCount", 0) &&
            !came_to_nothing(book, before))
            podbook_fail(book, "%s of %s has fewer restarts than before", name, pod->meta.name);
    }
}

static void on_pod_gone(struct podbook *book, const struct obj *pod)
{
    const char *uid = pod->meta.uid;
    (void)map_put(book->gone, uid, book);
    /* A grace of zero is force, whoever says so. */
    if (json_int_at(pod->root, "spec.terminationGracePeriodSeconds", 30) == 0)
        podbook_force(book, uid);
    if (map_get(book->forced, uid) == NULL && sim_runtime_alive(book->runtime, uid) > 0)
        podbook_fail(book, "%s is gone, %d of its units are not", pod->meta.name,
                     (int)sim_runtime_alive(book->runtime, uid));
}

static void judge(struct podbook *book, enum change_type type, struct obj *pod)
{
    scoped_obj *old = type == CHANGE_DELETED ? map_del(book->pods, pod->meta.uid)
                                             : map_put(book->pods, pod->meta.uid, obj_ref(pod));
    if (type == CHANGE_DELETED) {
        on_pod_gone(book, pod);
        return;
    }
    const char *phase = json_str_at(pod->root, "status.phase");
    if (old != NULL && has_ended(old) &&
        !str_eq(phase, json_str_at(old->root, "status.phase"))) /* rule 5 */
        podbook_fail(book, "%s went from %s to %s", pod->meta.name,
                     json_str_at(old->root, "status.phase"), phase);
    judge_containers(book, pod, old, "status.containerStatuses");
    judge_containers(book, pod, old, "status.initContainerStatuses");
}

void podbook_on_change(struct podbook *book, const struct change *change)
{
    if (book->sim != NULL && change->obj->kind == &KIND_POD)
        judge(book, change->type, change->obj);
}

static bool find_gone(void *arg, const char *uid, void *value)
{
    struct podbook *book = arg;
    struct obj *obj = value;
    if (cache_by_uid(sim_store(book->sim)->cache, uid) != NULL)
        return true;
    (void)obj_ref(obj);
    judge(book, CHANGE_DELETED, obj);
    obj_unref(obj);
    return true;
}

void podbook_on_reopen(struct podbook *book)
{
    const struct cache *cache = sim_store(book->sim)->cache;
    struct obj *pod = cache_first(cache, &KIND_POD, NULL);
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, NULL, pod)) {
        const struct obj *known = map_get(book->pods, pod->meta.uid);
        if (known == NULL || known->revision != pod->revision)
            judge(book, CHANGE_MODIFIED, pod);
    }
    (void)map_each(book->pods, find_gone, book);
}

/* ---- in the end ---- */

static void judge_unit(void *arg, const struct runtime_unit *unit)
{
    struct podbook *book = arg;
    const struct obj *pod = cache_by_uid(sim_store(book->sim)->cache, unit->uid);
    if (pod == NULL || has_ended(pod))
        podbook_fail(book, "%s/%s runs and nobody wants it", unit->uid, unit->container);
}

void podbook_check_end(struct podbook *book)
{
    const struct cache *cache = sim_store(book->sim)->cache;
    size_t containers = 0;
    struct obj *obj = cache_first(cache, &KIND_JOB, NULL);
    for (; obj != NULL; obj = cache_after(cache, &KIND_JOB, NULL, obj)) {
        if (!job_has_ended(obj))
            podbook_fail(book, "%s has not come to an end", obj->meta.name);
    }
    for (obj = cache_first(cache, &KIND_POD, NULL); obj != NULL;
         obj = cache_after(cache, &KIND_POD, NULL, obj)) {
        if (obj->meta.deleted != 0)
            podbook_fail(book, "%s was deleted and is still there", obj->meta.name);
        if (str_eq(json_str_at(obj->root, "status.phase"), "Pending"))
            podbook_fail(book, "%s waits for ever", obj->meta.name);
        if (!has_ended(obj))
            containers += yyjson_arr_size(json_at(obj->root, "spec.containers")) +
                          yyjson_arr_size(json_at(obj->root, "spec.initContainers"));
    }
    sim_runtime_each(book->runtime, judge_unit, book);
    if (sim_runtime_kept(book->runtime) > containers)
        podbook_fail(book, "%d units are kept for %d containers",
                     (int)sim_runtime_kept(book->runtime), (int)containers);
}
