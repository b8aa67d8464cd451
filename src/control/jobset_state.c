// SPDX-License-Identifier: Apache-2.0
/* What is derived from Jobs and pods, kept up to date with each change, so that a look never has to
 * go through them. A state exists as long as its JobSet is known; what was known of its Jobs and
 * pods before is read from the cache at that moment, so the order in which objects become known
 * does not matter. Jobs are found by the UID of their owner, pods by the UID of their Job: names
 * and labels that somebody else uses as well lead nowhere. */
#include "base/mem.h"
#include "control/job_internal.h"
#include "control/jobset_internal.h"
#include "core/recover/epoch.h"
#include "model/cell.h"
#include <stdlib.h>

struct sets *sets_new(void)
{
    struct sets *sets = mem_zalloc(sizeof(*sets));
    sets->states = map_new();
    sets->jobs = map_new();
    sets->members = map_new();
    return sets;
}

/* ---- small readers ---- */

const char *job_set_uid(const struct obj *job)
{
    yyjson_val *ref = obj_controller(job);
    bool is_set = str_eq(json_str_at(ref, "kind"), "JobSet") &&
                  str_starts(json_str_at(ref, "apiVersion"), "jobset.x-k8s.io/");
    return is_set ? json_str_at(ref, "uid") : NULL;
}

static bool set_is_in_place(const struct obj *set)
{
    return str_eq(json_str_at(set->root, "spec.failurePolicy.restartStrategy"), "InPlaceRestart");
}

static int64_t label_number(const struct obj *obj, const char *key, int64_t otherwise)
{
    int64_t number = otherwise;
    (void)epoch_parse(yyjson_get_str(yyjson_obj_get(obj->meta.labels, key)), &number);
    return number;
}

static size_t role_called(const struct set_state *state, const char *name)
{
    size_t i = 0;
    while (i < state->roles.len && !str_eq(state->roles.items[i].name, name))
        i++;
    return i;
}

size_t role_now(const struct role *role)
{
    return role->count[SET_LIVE] + role->count[SET_DONE] + role->count[SET_FAILED];
}

/* ---- Jobs ---- */

static int64_t job_members(yyjson_val *spec)
{
    int64_t parallelism = json_int_at(spec, "parallelism", 1);
    int64_t completions = json_int_at(spec, "completions", parallelism);
    return completions < parallelism ? completions : parallelism;
}

static enum set_class class_of_job(const struct set_job *job)
{
    const struct role *role = &job->set->roles.items[job->role];
    size_t at = (size_t)job->index;
    int64_t own = at < role->restarts.len ? role->restarts.items[at] : 0;
    if (job->is_deleted)
        return SET_LEAVING;
    if (job->attempt < job->set->attempt || job->own_attempt < own)
        return SET_OLD;
    return job->is_complete ? SET_DONE : job->is_failed ? SET_FAILED : SET_LIVE;
}

static void link_job(struct set_job *job, size_t by)
{
    struct role *role = &job->set->roles.items[job->role];
    bool is_live = job->class == SET_LIVE;
    role->count[job->class] += by;
    role->ready += is_live && job->is_ready ? by : 0;
    role->active += is_live && job->is_active ? by : 0;
    role->suspended += is_live && job->is_suspended ? by : 0;
    role->paused += is_live && job->is_paused ? by : 0;
    role->other_size += is_live && job->has_other_size ? by : 0;
}

static void job_enter(struct set_job *job)
{
    job->class = class_of_job(job);
    TAILQ_INSERT_TAIL(&job->set->lists[job->class], job, siblings);
    link_job(job, 1);
}

static void job_leave(struct set_job *job)
{
    link_job(job, (size_t)-1);
    TAILQ_REMOVE(&job->set->lists[job->class], job, siblings);
}

static void read_job(struct set_job *job, const struct obj *obj)
{
    const struct role *role = &job->set->roles.items[job->role];
    yyjson_val *spec = yyjson_obj_get(obj->root, "spec");
    yyjson_val *status = yyjson_obj_get(obj->root, "status");
    yyjson_val *failed = job_condition(obj, "Failed");
    int64_t members = job_members(spec);
    job->attempt = label_number(obj, JOBSET_RESTART_ATTEMPT, 0);
    job->own_attempt = label_number(obj, JOBSET_JOB_RESTART_ATTEMPT, 0);
    job->is_deleted = obj->meta.deleted != 0;
    job->is_complete = job_condition(obj, "Complete") != NULL;
    job->is_failed = failed != NULL;
    job->failed_at = failed != NULL ? cell_time(failed, "lastTransitionTime") : 0;
    job->is_suspended = yyjson_get_bool(yyjson_obj_get(spec, "suspend"));
    job->is_paused = job_condition(obj, "Suspended") != NULL;
    job->is_active = json_int_at(status, "active", 0) > 0;
    job->is_ready =
        json_int_at(status, "ready", 0) + json_int_at(status, "succeeded", 0) >= members;
    job->members = members;
    job->has_other_size = role->is_sized && members != role->members;
}

static struct group_place place_of(const struct set_job *job, int64_t index)
{
    return (struct group_place){.role = (uint32_t)job->role, .job = job->index, .index = index};
}

/* Indexes that are done, as the Job itself says; read once for each version of the Job. */
static const struct indexes *completed_of(struct set_job *job, const struct obj *obj)
{
    if (job->completed_in == obj->revision)
        return &job->completed;
    indexes_done(&job->completed);
    job->completed_in = obj->revision;
    const char *text = json_str_at(obj->root, "status.completedIndexes");
    if (text != NULL &&
        indexes_parse(sv_of(text), (int64_t)INT32_MAX + 1, &job->completed, NULL) < 0)
        indexes_done(&job->completed);
    int64_t size = json_int_at(obj->root, "spec.completions", INT32_MAX);
    indexes_remove_range(&job->completed, size, INT32_MAX);
    return &job->completed;
}

static void read_done(struct set_job *job, const struct obj *obj)
{
    const struct indexes *done = completed_of(job, obj);
    for (int64_t i = indexes_next(done, 0); i >= 0; i = indexes_next(done, i + 1))
        (void)group_set_done(job->set->group, place_of(job, i), true);
}

/* A Job that is complete does not grow: whoever it would have in addition is not expected. One that
 * shrinks forgets what it had, and starts it again should it grow. */
static void settle_done(struct set_job *job, int64_t size_before)
{
    const struct role *role = &job->set->roles.items[job->role];
    if (job->set->group == NULL)
        return;
    for (; job->is_complete && job->done_upto < role->members; job->done_upto++)
        (void)group_set_done(job->set->group, place_of(job, job->done_upto), true);
    for (int64_t i = job->members; i < size_before; i++)
        (void)group_set_done(job->set->group, place_of(job, i), false);
}

static struct set_job *add_job(struct sets *sets, struct set_state *state, const struct obj *obj)
{
    const char *name = yyjson_get_str(yyjson_obj_get(obj->meta.labels, JOBSET_REPLICATED_JOB));
    size_t role = role_called(state, name);
    int64_t index = label_number(obj, JOBSET_JOB_INDEX, -1);
    if (role == state->roles.len || index < 0 || index >= state->roles.items[role].replicas)
        return NULL;
    struct set_job *job = mem_zalloc(sizeof(*job));
    job->set = state;
    job->uid = mem_strdup(obj->meta.uid);
    job->name = mem_strdup(obj->meta.name);
    job->role = role;
    job->index = index;
    (void)indexes_remove(&state->roles.items[role].free, index);
    (void)map_put(sets->jobs, obj->meta.uid, job);
    return job;
}

static void put_pods_of(struct sets *sets, const struct cache *cache, const struct obj *job)
{
    struct obj *pod = cache_owned_first(cache, job->meta.uid);
    for (; pod != NULL; pod = cache_owned_next(cache, job->meta.uid, pod)) {
        if (pod->kind == &KIND_POD)
            (void)sets_put_pod(sets, cache, pod);
    }
}

void sets_put_job(struct sets *sets, const struct cache *cache, const struct obj *obj)
{
    const char *uid = job_set_uid(obj);
    struct set_job *job = map_get(sets->jobs, obj->meta.uid);
    if (job != NULL && !str_eq(job->set->uid, uid)) {
        sets_drop_job(sets, obj->meta.uid);
        job = NULL;
    }
    struct set_state *state = uid != NULL ? map_get(sets->states, uid) : NULL;
    if (state == NULL)
        return;
    bool is_new = job == NULL;
    if (is_new && (job = add_job(sets, state, obj)) == NULL)
        return;
    int64_t size_before = job->members;
    if (!is_new)
        job_leave(job);
    read_job(job, obj);
    job_enter(job);
    if (is_new && state->group != NULL)
        read_done(job, obj);
    settle_done(job, size_before);
    if (state->group != NULL && (is_new || job->members < size_before))
        put_pods_of(sets, cache, obj); /* what succeeded may count no more */
}

static void job_free(struct set_job *job)
{
    indexes_done(&job->completed);
    mem_free(job->uid);
    mem_free(job->name);
    mem_free(job);
}

void sets_drop_job(struct sets *sets, const char *uid)
{
    struct set_job *job = map_del(sets->jobs, uid);
    if (job == NULL)
        return;
    struct set_state *state = job->set;
    struct role *role = &state->roles.items[job->role];
    job_leave(job);
    (void)indexes_add(&role->free, job->index);
    for (int64_t i = 0; state->group != NULL && i < role->most; i++)
        (void)group_set_done(state->group, place_of(job, i), false);
    job_free(job);
}

/* ---- pods ---- */

/* Its Job has counted the success of this pod, or will: one that it does not care for any more, and
 * has not counted, has to run again. */
static bool counts_success(struct sets *sets, const struct cache *cache, const struct obj *pod,
                           int64_t index)
{
    const char *uid = pod_job_uid(pod);
    struct set_job *job = uid != NULL ? map_get(sets->jobs, uid) : NULL;
    const struct obj *obj = job != NULL ? cache_by_uid(cache, uid) : NULL;
    return obj_has_finalizer(pod, JOB_FINALIZER) ||
           (obj != NULL && indexes_has(completed_of(job, obj), index));
}

/* With a grace of zero nobody runs the pod any more. One that its Job does not care for any more
 * will be deleted next. */
static enum group_life life_of(const struct obj *pod)
{
    const char *phase = json_str_at(pod->root, "status.phase");
    if (str_eq(phase, "Succeeded"))
        return GROUP_SUCCEEDED;
    if (str_eq(phase, "Failed") || (pod->meta.deleted != 0 && pod->meta.deletion_grace_s == 0))
        return GROUP_FAILED;
    bool is_cared_for = pod->meta.deleted == 0 && obj_has_finalizer(pod, JOB_FINALIZER);
    return is_cared_for ? GROUP_LIVES : GROUP_LEAVES;
}

static const char *note(const struct obj *pod, const char *name)
{
    return yyjson_get_str(yyjson_obj_get(pod->meta.annotations, name));
}

static int64_t epoch_of(const struct obj *pod, bool *ret_malformed)
{
    return epoch_of_notes(note(pod, EPOCH_NOTE), note(pod, EPOCH_NOTE_LATER), ret_malformed);
}

/* A node writes the status of a member only when its group runs again, so a version that announces
 * an epoch still tells of the one before. Whatever is written after it is of that epoch; a
 * controller that has just begun takes what it finds. */
static bool is_ready_now(struct set_member *member, const struct obj *pod, int64_t epoch)
{
    bool is_news = epoch != member->epoch;
    member->epoch = epoch;
    return (!is_news || member->has_agent) &&
           cell_condition_is(json_at(pod->root, "status.conditions"), "Ready", "True");
}

static struct set_member *find_member(struct sets *sets, const struct obj *pod)
{
    return map_get(sets->members, pod->meta.uid);
}

static struct set_member *need_member(struct sets *sets, const struct obj *pod)
{
    struct set_member *member = find_member(sets, pod);
    const char *uid = pod_job_uid(pod);
    const struct set_job *job = uid != NULL ? map_get(sets->jobs, uid) : NULL;
    int64_t index;
    if (member != NULL)
        return member;
    if (job == NULL || job->set->group == NULL || !epoch_parse(note(pod, JOB_INDEX), &index))
        return NULL;
    size_t size = strlen(pod->meta.uid) + 1;
    member = mem_zalloc(sizeof(*member) + size);
    memcpy(member->uid, pod->meta.uid, size);
    member->set = job->set;
    member->place = place_of(job, index);
    member->has_agent = jobset_pod_has_agent(yyjson_obj_get(pod->root, "spec"));
    member->epoch = epoch_of(pod, NULL);
    LIST_INSERT_HEAD(&job->set->members, member, siblings);
    (void)map_put(sets->members, member->uid, member);
    return member;
}

/* Who dies first tells why; those that end because of it do not. */
static void note_cause(struct set_state *state, const struct obj *pod, int64_t epoch)
{
    if (epoch <= state->told_epoch || epoch_cause(note(pod, EPOCH_CAUSE_NOTE), epoch) == NULL)
        return;
    state->told_epoch = epoch;
    mem_free(state->told_by);
    state->told_by = mem_strdup(pod->meta.uid);
}

struct set_state *sets_put_pod(struct sets *sets, const struct cache *cache, const struct obj *pod)
{
    struct set_member *member = need_member(sets, pod);
    if (member == NULL)
        return NULL;
    struct set_state *state = member->set;
    bool is_malformed;
    struct group_pod report = {
        .uid = pod->meta.uid,
        .place = member->place,
        .created = pod->meta.created,
        .life = life_of(pod),
        .epoch = epoch_of(pod, &is_malformed),
    };
    report.is_ready = is_ready_now(member, pod, report.epoch);
    note_cause(state, pod, report.epoch);
    if (report.life == GROUP_SUCCEEDED && !counts_success(sets, cache, pod, member->place.index))
        report.life = GROUP_FAILED;
    bool is_news = group_put(state->group, &report);
    if (is_malformed && state->malformed == NULL) {
        state->malformed = mem_strdup(pod->meta.name);
        is_news = true;
    }
    sets->counts.reports += is_news;
    return is_news ? state : NULL;
}

static void member_free(struct sets *sets, struct set_member *member)
{
    LIST_REMOVE(member, siblings);
    (void)map_del(sets->members, member->uid);
    mem_free(member);
}

/* Somebody may clear away pods that succeeded; their Job remembers. */
struct set_state *sets_drop_pod(struct sets *sets, const struct cache *cache, const struct obj *pod)
{
    struct set_member *member = find_member(sets, pod);
    if (member == NULL)
        return NULL;
    struct set_state *state = member->set;
    bool is_news = false;
    if (life_of(pod) == GROUP_SUCCEEDED && counts_success(sets, cache, pod, member->place.index))
        is_news = group_set_done(state->group, member->place, true);
    is_news |= group_drop(state->group, pod->meta.uid);
    member_free(sets, member);
    return is_news ? state : NULL;
}

/* ---- JobSets ---- */

static void read_roles(struct set_state *state, yyjson_val *spec)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(spec, "replicatedJobs"), i, n, item)
    {
        struct role role = {.name = mem_strdup(json_str_at(item, "name")),
                            .group = mem_strdup(json_str_at(item, "groupName")),
                            .replicas = json_int_at(item, "replicas", 1)};
        if (role.replicas > 0)
            indexes_add_range(&role.free, 0, role.replicas - 1);
        vec_push(&state->roles, role);
    }
}

/* True: it is another number than before. */
static bool read_sizes(struct set_state *state, yyjson_val *spec)
{
    bool is_other = false;
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(spec, "replicatedJobs"), i, n, item)
    {
        if (i >= state->roles.len)
            break;
        struct role *role = &state->roles.items[i];
        yyjson_val *job = json_at(item, "template.spec");
        int64_t members = job_members(job);
        is_other |= members != role->members;
        role->members = members;
        role->most = members > role->most ? members : role->most;
        role->is_sized = json_int_at(job, "completions", -1) >= 0;
    }
    return is_other;
}

/* True: some Jobs are of another attempt than they were taken for. */
static bool read_attempts(struct set_state *state, yyjson_val *status)
{
    int64_t attempt = json_int_at(status, "restarts", 0);
    bool is_other = attempt != state->attempt;
    state->attempt = attempt;
    size_t i, n, k, m;
    yyjson_val *item, *count;
    yyjson_arr_foreach(yyjson_obj_get(status, "replicatedJobsStatus"), i, n, item)
    {
        size_t at = role_called(state, json_str_at(item, "name"));
        if (at == state->roles.len)
            continue;
        struct role *role = &state->roles.items[at];
        yyjson_arr_foreach(yyjson_obj_get(item, "jobRestarts"), k, m, count)
        {
            if (k == role->restarts.len)
                vec_push(&role->restarts, 0);
            is_other |= role->restarts.items[k] != yyjson_get_sint(count);
            role->restarts.items[k] = yyjson_get_sint(count);
        }
    }
    return is_other;
}

static void reclassify(struct sets *sets, const struct cache *cache, struct set_state *state)
{
    for (size_t i = 0; i < SET_CLASSES; i++) {
        struct set_job *job, *next;
        VEC(struct set_job *) all = {0};
        TAILQ_FOREACH_SAFE(job, &state->lists[i], siblings, next)
        {
            vec_push(&all, job);
        }
        for (size_t k = 0; k < all.len; k++) {
            const struct obj *obj = cache_by_uid(cache, all.items[k]->uid);
            if (obj != NULL)
                sets_put_job(sets, cache, obj);
        }
        vec_done(&all);
    }
}

static void tell_group(struct set_state *state, yyjson_val *status)
{
    VEC(struct group_role) roles = {0};
    for (size_t i = 0; i < state->roles.len; i++) {
        struct group_role role = {state->roles.items[i].replicas, state->roles.items[i].members};
        vec_push(&roles, role);
    }
    struct jobset_epochs epochs = jobset_epochs(status);
    group_resize(state->group, roles.items, roles.len);
    group_set_epochs(state->group, epochs.deprecated, epochs.synced);
    vec_done(&roles);
}

static struct set_state *add_state(struct sets *sets, const struct obj *set)
{
    struct set_state *state = mem_zalloc(sizeof(*state));
    state->uid = mem_strdup(set->meta.uid);
    for (size_t i = 0; i < SET_CLASSES; i++)
        TAILQ_INIT(&state->lists[i]);
    LIST_INIT(&state->members);
    if (set_is_in_place(set))
        state->group = group_new();
    read_roles(state, yyjson_obj_get(set->root, "spec"));
    (void)map_put(sets->states, set->meta.uid, state);
    return state;
}

struct set_state *sets_put(struct sets *sets, const struct cache *cache, const struct obj *set)
{
    struct set_state *state = map_get(sets->states, set->meta.uid);
    bool is_new = state == NULL;
    if (is_new)
        state = add_state(sets, set);
    if (state->revision == set->revision)
        return state;
    state->revision = set->revision;
    bool is_other = read_sizes(state, yyjson_obj_get(set->root, "spec"));
    is_other |= read_attempts(state, yyjson_obj_get(set->root, "status"));
    if (state->group != NULL)
        tell_group(state, yyjson_obj_get(set->root, "status"));
    if (is_other && !is_new)
        reclassify(sets, cache, state);
    struct obj *job = is_new ? cache_owned_first(cache, set->meta.uid) : NULL;
    for (; job != NULL; job = cache_owned_next(cache, set->meta.uid, job)) {
        if (job->kind == &KIND_JOB)
            sets_put_job(sets, cache, job);
    }
    return state;
}

static void state_free(struct sets *sets, struct set_state *state)
{
    for (size_t i = 0; i < SET_CLASSES; i++) {
        struct set_job *job;
        while ((job = TAILQ_FIRST(&state->lists[i])) != NULL) {
            TAILQ_REMOVE(&state->lists[i], job, siblings);
            (void)map_del(sets->jobs, job->uid);
            job_free(job);
        }
    }
    for (size_t i = 0; i < state->roles.len; i++) {
        struct role *role = &state->roles.items[i];
        mem_free(role->name);
        mem_free(role->group);
        indexes_done(&role->free);
        vec_done(&role->restarts);
    }
    vec_done(&state->roles);
    struct set_member *member;
    while ((member = LIST_FIRST(&state->members)) != NULL)
        member_free(sets, member);
    group_free(state->group);
    mem_free(state->told_by);
    mem_free(state->malformed);
    mem_free(state->uid);
    mem_free(state);
}

void sets_drop(struct sets *sets, const char *uid)
{
    struct set_state *state = map_del(sets->states, uid);
    if (state != NULL)
        state_free(sets, state);
}

static bool free_one(void *arg, const char *key, void *value)
{
    (void)key;
    state_free(arg, value);
    return true;
}

void sets_free(struct sets *sets)
{
    (void)map_each(sets->states, free_one, sets);
    map_free(sets->states);
    map_free(sets->jobs);
    map_free(sets->members);
    mem_free(sets);
}
