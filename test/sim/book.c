// SPDX-License-Identifier: Apache-2.0
#include "book.h"
#include "base/mem.h"
#include "core/job/indexes.h"
#include "model/cell.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINALIZER "batch.kubernetes.io/job-tracking"
#define INDEX "batch.kubernetes.io/job-completion-index"

#define LATE_MS 1000 /* more than any delay of a write */

struct page { /* what is remembered of one pod */
    char job[40];
    bool was_tracked_at_end; /* it ended while the Job had it in its care */
    bool has_ended, is_ignored, is_released;
};

void book_init(struct book *book)
{
    *book = (struct book){.pods = map_new(), .counted = map_new(), .known = map_new()};
}

void book_start(struct book *book, struct sim *sim)
{
    book->sim = sim;
}

static bool page_free(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    mem_free(value);
    return true;
}

static bool known_free(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    obj_unref(value);
    return true;
}

void book_done(struct book *book)
{
    (void)map_each(book->known, known_free, NULL);
    map_free(book->known);
    (void)map_each(book->pods, page_free, NULL);
    map_free(book->pods);
    map_free(book->counted);
    mem_free(book->failure);
}

void book_fail(struct book *book, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (book->failure == NULL)
        book->failure = mem_strdup(text);
}

/* ---- looking at objects ---- */

enum pod_state pod_state(const struct obj *pod)
{
    const char *phase = json_str_at(pod->root, "status.phase");
    if (str_eq(phase, "Succeeded"))
        return POD_SUCCEEDED;
    if (str_eq(phase, "Failed") || (pod->meta.deleted != 0 && pod->meta.deletion_grace_s == 0))
        return POD_FAILED;
    return pod->meta.deleted != 0 ? POD_STOPS : POD_RUNS;
}

bool job_finished(const struct obj *job)
{
    yyjson_val *conditions = json_at(job->root, "status.conditions");
    return cell_condition_is(conditions, "Complete", "True") ||
           cell_condition_is(conditions, "Failed", "True");
}

static const char *index_of(const struct obj *pod)
{
    return yyjson_get_str(yyjson_obj_get(pod->meta.annotations, INDEX));
}

static bool is_tracked(const struct obj *pod)
{
    return obj_has_finalizer(pod, FINALIZER);
}

static bool is_ignored(const struct obj *job, const struct obj *pod)
{
    yyjson_val *end = json_at(yyjson_arr_get_first(json_at(pod->root, "status.containerStatuses")),
                              "state.terminated");
    return json_at(job->root, "spec.podFailurePolicy") != NULL &&
           json_int_at(end, "exitCode", 0) == 42;
}

static bool waits_for_end(const struct obj *job)
{
    return str_eq(json_str_at(job->root, "spec.podReplacementPolicy"), "Failed");
}

static bool lists_uid(yyjson_val *status, const char *path, const char *uid)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(status, path), i, n, item)
    {
        if (yyjson_equals_str(item, uid))
            return true;
    }
    return false;
}

static bool is_done_index(const struct obj *job, const char *index)
{
    scoped_indexes done = {0};
    (void)indexes_parse(sv_of(json_str_at(job->root, "status.completedIndexes")), INT32_MAX, &done,
                        NULL);
    return index != NULL && indexes_has(&done, strtoll(index, NULL, 10));
}

static const struct obj *job_of(const struct book *book, const struct obj *pod)
{
    const char *uid = json_str_at(yyjson_arr_get_first(pod->meta.owners), "uid");
    const struct obj *job = uid ? cache_by_uid(sim_store(book->sim)->cache, uid) : NULL;
    return job != NULL && job->kind == &KIND_JOB ? job : NULL;
}

/* ---- pods ---- */

static bool was_just_restarted(struct book *book)
{
    uint64_t restarts = sim_stats(book->sim).restarts;
    if (restarts != book->restarts)
        book->restarted = sim_now(book->sim);
    book->restarts = restarts;
    return sim_now(book->sim) < book->restarted + LATE_MS;
}

/* Rule 3. */
static void judge_new_pod(struct book *book, const struct obj *pod, const struct obj *job)
{
    const struct cache *cache = sim_store(book->sim)->cache;
    const char *index = index_of(pod);
    int64_t count = 0;
    struct obj *other = cache_owned_first(cache, job->meta.uid);
    for (; other != NULL; other = cache_owned_next(cache, job->meta.uid, other)) {
        enum pod_state state = pod_state(other);
        bool takes_place = state == POD_RUNS || (state == POD_STOPS && waits_for_end(job));
        count += takes_place;
        if (other != pod && index != NULL && str_eq(index, index_of(other)) &&
            (takes_place || (state == POD_SUCCEEDED && is_tracked(other) && !other->meta.deleted)))
            book_fail(book, "%s: %s and %s are of one index", job->meta.name, pod->meta.name,
                      other->meta.name);
    }
    if (count > json_int_at(job->root, "spec.parallelism", 0) && !was_just_restarted(book))
        book_fail(book, "%s has %d pods with %s", job->meta.name, (int)count, pod->meta.name);
    if (is_done_index(job, index))
        book_fail(book, "%s runs index %s again", job->meta.name, index);
}

/* Rule 1. */
static void judge_release(struct book *book, const struct obj *pod, const struct obj *job)
{
    enum pod_state state = pod_state(pod);
    if (job == NULL || job->meta.deleted != 0 || job_finished(job) || state == POD_RUNS)
        return;
    yyjson_val *status = json_at(job->root, "status");
    /* Also a pod that succeeded, when it was told to stop and has been replaced before it did. */
    if (lists_uid(status, "uncountedTerminatedPods.failed", pod->meta.uid))
        return;
    if (state == POD_SUCCEEDED &&
        (is_done_index(job, index_of(pod)) ||
         lists_uid(status, "uncountedTerminatedPods.succeeded", pod->meta.uid)))
        return;
    if (state == POD_SUCCEEDED || !is_ignored(job, pod))
        book_fail(book, "%s let %s go, and nobody has noted how it ended", job->meta.name,
                  pod->meta.name);
}

static void on_pod(struct book *book, const struct change *change)
{
    const struct obj *pod = change->obj, *job = job_of(book, pod);
    struct page *page = map_get(book->pods, pod->meta.uid);
    if (page == NULL) {
        const char *uid = json_str_at(yyjson_arr_get_first(pod->meta.owners), "uid");
        page = mem_zalloc(sizeof(*page));
        (void)snprintf(page->job, sizeof(page->job), "%s", uid ? uid : "");
        (void)map_put(book->pods, pod->meta.uid, page);
        book->pods_made++;
    }
    if (change->type == CHANGE_ADDED && job != NULL)
        judge_new_pod(book, pod, job);
    enum pod_state state = pod_state(pod);
    bool ends = state == POD_SUCCEEDED || state == POD_FAILED;
    if (ends && !page->has_ended) {
        page->has_ended = true;
        page->was_tracked_at_end =
            (change->old != NULL ? is_tracked(change->old) : true) && job != NULL;
        page->is_ignored = state == POD_FAILED && job != NULL && is_ignored(job, pod);
    }
    bool released = change->old != NULL && is_tracked(change->old) && !is_tracked(pod);
    if (released && !page->is_released) {
        page->is_released = true;
        judge_release(book, change->old, job);
    }
}

/* ---- Jobs ---- */

/* Rule 2, for one list: how many have left it; none that is there was ever counted. */
static int64_t judge_list(struct book *book, const struct obj *job, const struct obj *old,
                          const char *path)
{
    size_t i, n;
    yyjson_val *item;
    int64_t left = 0;
    yyjson_val *status = json_at(job->root, "status"), *before = json_at(old->root, "status");
    yyjson_arr_foreach(json_at(before, path), i, n, item)
    {
        const char *uid = yyjson_get_str(item);
        if (lists_uid(status, path, uid))
            continue;
        const struct obj *pod = cache_by_uid(sim_store(book->sim)->cache, uid);
        left++;
        (void)map_put(book->counted, uid, book);
        if (pod != NULL && is_tracked(pod))
            book_fail(book, "%s counted %s, which may still vanish", job->meta.name,
                      pod->meta.name);
    }
    yyjson_arr_foreach(json_at(status, path), i, n, item)
    {
        if (map_get(book->counted, yyjson_get_str(item)) != NULL)
            book_fail(book, "%s is about to count a pod twice", job->meta.name);
    }
    return left;
}

static int64_t growth(const struct obj *job, const struct obj *old, const char *path)
{
    return json_int_at(job->root, path, 0) - json_int_at(old->root, path, 0);
}

/* Rule 4. */
static void judge_end(struct book *book, const struct obj *job, const struct obj *old)
{
    yyjson_val *conditions = json_at(job->root, "status.conditions");
    yyjson_val *before = json_at(old->root, "status.conditions");
    bool is_good = cell_condition_is(conditions, "Complete", "True");
    if (!cell_condition_is(before, is_good ? "SuccessCriteriaMet" : "FailureTarget", "True"))
        book_fail(book, "%s ended and had not said how it would", job->meta.name);
    const struct cache *cache = sim_store(book->sim)->cache;
    struct obj *pod = cache_owned_first(cache, job->meta.uid);
    for (; pod != NULL; pod = cache_owned_next(cache, job->meta.uid, pod)) {
        if (is_tracked(pod) && pod_state(pod) != POD_RUNS)
            book_fail(book, "%s ended and has not counted %s", job->meta.name, pod->meta.name);
    }
    if (yyjson_obj_size(json_at(job->root, "status.uncountedTerminatedPods")) > 0)
        book_fail(book, "%s ended and its counters are not final", job->meta.name);
}

static void on_job(struct book *book, const struct change *change)
{
    const struct obj *job = change->obj, *old = change->old;
    if (old == NULL || change->type == CHANGE_DELETED)
        return;
    if (job_finished(old)) {
        if (!job_finished(job) || growth(job, old, "status.succeeded") != 0 ||
            growth(job, old, "status.failed") != 0)
            book_fail(book, "%s had ended", job->meta.name);
        return;
    }
    int64_t failed = judge_list(book, job, old, "uncountedTerminatedPods.failed");
    int64_t succeeded = judge_list(book, job, old, "uncountedTerminatedPods.succeeded");
    if (growth(job, old, "status.failed") != failed)
        book_fail(book, "%s: %d failures left the list, the counter grew by %d", job->meta.name,
                  (int)failed, (int)growth(job, old, "status.failed"));
    bool is_indexed = str_eq(json_str_at(job->root, "spec.completionMode"), "Indexed");
    if (!is_indexed && growth(job, old, "status.succeeded") != succeeded)
        book_fail(book, "%s: %d successes left the list, the counter grew by %d", job->meta.name,
                  (int)succeeded, (int)growth(job, old, "status.succeeded"));
    if (is_indexed && growth(job, old, "status.succeeded") < 0)
        book_fail(book, "%s lost a success", job->meta.name);
    if (job_finished(job))
        judge_end(book, job, old);
}

static void judge(struct book *book, enum change_type type, struct obj *obj)
{
    scoped_obj *old = type == CHANGE_DELETED ? map_del(book->known, obj->meta.uid)
                                             : map_put(book->known, obj->meta.uid, obj_ref(obj));
    struct change change = {.type = type, .obj = obj, .old = old};
    if (type != CHANGE_DELETED)
        change.type = old == NULL ? CHANGE_ADDED : CHANGE_MODIFIED;
    if (obj->kind == &KIND_POD)
        on_pod(book, &change);
    else
        on_job(book, &change);
}

static bool is_ours(const struct obj *obj)
{
    return obj->kind == &KIND_POD || obj->kind == &KIND_JOB;
}

void book_on_change(struct book *book, const struct change *change)
{
    if (book->sim == NULL)
        return;
    (void)was_just_restarted(book);
    if (is_ours(change->obj))
        judge(book, change->type, change->obj);
}

static bool find_gone(void *arg, const char *uid, void *value)
{
    struct book *book = arg;
    struct obj *obj = value;
    if (cache_by_uid(sim_store(book->sim)->cache, uid) != NULL)
        return true;
    (void)obj_ref(obj);
    judge(book, CHANGE_DELETED, obj);
    obj_unref(obj);
    return true;
}

void book_on_reopen(struct book *book)
{
    static const struct kind *const OURS[] = {&KIND_JOB, &KIND_POD};
    const struct cache *cache = sim_store(book->sim)->cache;
    for (size_t k = 0; k < ARRAY_LEN(OURS); k++) {
        struct obj *obj = cache_first(cache, OURS[k], NULL);
        for (; obj != NULL; obj = cache_after(cache, OURS[k], NULL, obj)) {
            const struct obj *known = map_get(book->known, obj->meta.uid);
            if (known == NULL || known->revision != obj->revision)
                judge(book, CHANGE_MODIFIED, obj);
        }
    }
    (void)map_each(book->known, find_gone, book);
}

/* ---- in the end ---- */

/* Rule 5. Of an index that succeeded, the index is the count. */
static bool judge_page(void *arg, const char *uid, void *value)
{
    struct book *book = arg;
    const struct page *page = value;
    const struct obj *job = cache_by_uid(sim_store(book->sim)->cache, page->job);
    const struct obj *pod = cache_by_uid(sim_store(book->sim)->cache, uid);
    if (job == NULL || job->meta.deleted != 0 || !page->was_tracked_at_end || page->is_ignored)
        return true;
    if (map_get(book->counted, uid) != NULL)
        return true;
    if (pod != NULL && is_done_index(job, index_of(pod)))
        return true;
    if (pod == NULL && str_eq(json_str_at(job->root, "spec.completionMode"), "Indexed"))
        return true; /* gone: which index it had is not known any more */
    book_fail(book, "%s never counted pod %s", job->meta.name, pod ? pod->meta.name : uid);
    return true;
}

void book_check_end(struct book *book)
{
    const struct cache *cache = sim_store(book->sim)->cache;
    struct obj *job = cache_first(cache, &KIND_JOB, NULL);
    for (; job != NULL; job = cache_after(cache, &KIND_JOB, NULL, job)) {
        if (!job_finished(job))
            book_fail(book, "%s has not come to an end", job->meta.name);
    }
    struct obj *pod = cache_first(cache, &KIND_POD, NULL);
    for (; pod != NULL; pod = cache_after(cache, &KIND_POD, NULL, pod)) {
        if (is_tracked(pod) || pod_state(pod) == POD_RUNS)
            book_fail(book, "%s is left over", pod->meta.name);
    }
    (void)map_each(book->pods, judge_page, book);
}
