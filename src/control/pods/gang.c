// SPDX-License-Identifier: Apache-2.0
/* The node as the agent of its pods: members of a JobSet that restarts in place, whose manifest
 * names no agent. core/recover/member.h decides for each; this file tells it what happened and does
 * what it says.
 *
 *   key "%UID" of a JobSet: look at its status; write the epochs that are to be announced
 *
 * 1. All that many members have to announce in one turn are the writes of one key: one group
 * commit.
 * 2. Nothing but these writes stands between a death and the last start: statuses of pods are
 *    written when the group has come to rest, or has waited so long that people will ask. The last
 *    order to start is not the last start: many are still at their exec, and they go first.
 * 3. Of those who die at once the first tells why, in its announcement; the others end because of
 * it.
 * 4. A pod is of the JobSet whose UID its label has. One of the same name is another one, and pods
 *    of the one before it stay held until they are gone. */
#include "control/pods/gang.h"
#include "core/recover/epoch.h"
#include "model/cell.h"
#include "model/jobset.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

/* A group on its way is told of when nothing has come of it for so long, or after so long at all;
 * one that has got there after a part of the time that it took, as its workers do. */
#define QUIET_MS 2000
#define QUIET_MAX_MS 30000
#define REST_PART 4
#define REST_MAX_MS 500

struct gang {
    struct runner *runner;
    char *key; /* "%UID" */
    struct member_status status;
    TAILQ_HEAD(, rpod) members, announcing;
    size_t moving;                  /* members on their way from one epoch to the next */
    time_ms moving_since, moved_at; /* since when; the last time that somebody got on */
    bool is_quiet;                  /* statuses are put off */
};

/* ---- what the objects say ---- */

static const char *label_of(const struct obj *pod, const char *name)
{
    return yyjson_get_str(yyjson_obj_get(pod->meta.labels, name));
}

static int64_t announced_by(const struct obj *pod)
{
    return member_epoch(yyjson_get_str(yyjson_obj_get(pod->meta.annotations, EPOCH_NOTE)));
}

static bool has_verdict(const struct obj *jobset)
{
    return cell_condition_as(jobset->root, "Completed", "True") != NULL ||
           cell_condition_as(jobset->root, "Failed", "True") != NULL;
}

static struct member_status status_of(const struct obj *jobset)
{
    return (struct member_status){.deprecated =
                                      json_int_at(jobset->root, "status.deprecatedEpoch", 0),
                                  .synced = json_int_at(jobset->root, "status.syncedEpoch", 0),
                                  .has_verdict = has_verdict(jobset)};
}

struct obj *gang_jobset(const struct runner *runner, const char *uid)
{
    struct obj *obj = cache_by_uid(control_world(runner->control)->cache, uid);
    return obj != NULL && obj->kind == &KIND_JOBSET ? obj : NULL;
}

static bool restarts_in_place(const struct obj *jobset)
{
    const char *strategy = json_str_at(jobset->root, "spec.failurePolicy.restartStrategy");
    return str_eq(strategy, "InPlaceRestart") &&
           yyjson_obj_get(jobset->meta.annotations, JOBSET_NOTE_NOT_IN_PLACE) == NULL;
}

bool gang_is_running(const struct obj *jobset)
{
    struct member_status status = status_of(jobset);
    return restarts_in_place(jobset) && status.synced > status.deprecated && !status.has_verdict;
}

enum gang_role gang_role(struct runner *runner, const struct rpod *pod)
{
    const char *uid = label_of(pod->obj, JOBSET_LABEL_UID);
    if (uid == NULL || jobset_pod_has_agent(yyjson_obj_get(pod->obj->root, "spec")))
        return GANG_NONE;
    const struct obj *jobset = gang_jobset(runner, uid);
    if (jobset == NULL)
        return GANG_LOST;
    return restarts_in_place(jobset) ? GANG_MEMBER : GANG_NONE;
}

/* ---- who moves ---- */

static time_ms now_of(const struct gang *gang)
{
    return control_steady(gang->runner->control);
}

static bool is_moving(const struct rpod *pod)
{
    switch (pod->member.state) {
    case MEMBER_ANNOUNCE:
    case MEMBER_WAIT:
    case MEMBER_ENDING:
        return true;
    case MEMBER_RUN:
        return pod->engine != NULL && start_pod_phase(pod->engine) == PHASE_PENDING;
    case MEMBER_DOWN:
    case MEMBER_DONE:
    case MEMBER_OVER:
    case MEMBER_STATE_COUNT:
        break;
    }
    return false;
}

/* All statuses that were put off. */
static void tell_all(struct gang *gang)
{
    struct rpod *pod;
    gang->is_quiet = false;
    TAILQ_FOREACH(pod, &gang->members, in_gang)
    {
        if (pod->is_untold)
            control_add(gang->runner->control, pod->key);
        pod->is_untold = false;
    }
}

/* How long nobody need be told; not positive: now. */
static time_ms quiet_left(const struct gang *gang)
{
    time_ms took = gang->moved_at - gang->moving_since;
    time_ms rest = took / REST_PART < REST_MAX_MS ? took / REST_PART : REST_MAX_MS;
    time_ms quiet = gang->moved_at + (gang->moving > 0 ? QUIET_MS : rest);
    time_ms most = gang->moving_since + QUIET_MAX_MS;
    return (quiet < most ? quiet : most) - now_of(gang);
}

static void tell_when_due(struct gang *gang)
{
    time_ms left = quiet_left(gang);
    if (left <= 0)
        tell_all(gang);
    else /* a look in between takes the place of the one that was planned */
        control_add_after(gang->runner->control, gang->key, left);
}

/* A group that moves again before it was told of has been quiet since then. */
static void begin_moving(struct gang *gang)
{
    if (!gang->is_quiet)
        gang->moving_since = gang->moved_at;
    gang->is_quiet = true;
    control_add_after(gang->runner->control, gang->key, QUIET_MS);
}

static void count_moving(struct rpod *pod)
{
    struct gang *gang = pod->gang;
    bool is = is_moving(pod);
    if (is == pod->is_moving)
        return;
    pod->is_moving = is;
    gang->moved_at = now_of(gang);
    if (is && gang->moving++ == 0)
        begin_moving(gang);
    else if (!is && --gang->moving == 0)
        tell_when_due(gang);
}

bool gang_defers(struct rpod *pod)
{
    if (pod->gang == NULL)
        return false;
    count_moving(pod);
    if (!pod->gang->is_quiet || quiet_left(pod->gang) <= 0)
        return false;
    pod->is_untold = true;
    return true;
}

/* ---- doing what the member says ---- */

static void stop_announcing(struct rpod *pod)
{
    if (pod->is_announcing)
        TAILQ_REMOVE(&pod->gang->announcing, pod, in_announcing);
    pod->is_announcing = false;
    mem_free(take_ptr(pod->cause));
}

static void obey(struct rpod *pod, enum member_act act)
{
    struct gang *gang = pod->gang;
    struct start *engine = gang->runner->engine;
    if (pod->member.state != MEMBER_ANNOUNCE)
        stop_announcing(pod);
    if (act != MEMBER_NOTHING)
        gang->moved_at = now_of(gang);
    switch (act) {
    case MEMBER_WRITE:
        if (!pod->is_announcing)
            TAILQ_INSERT_TAIL(&gang->announcing, pod, in_announcing);
        pod->is_announcing = true;
        control_add(gang->runner->control, gang->key);
        break;
    case MEMBER_START:
        start_pod_release(engine, pod->engine, now_of(gang));
        break;
    case MEMBER_END:
        start_pod_restart(engine, pod->engine, now_of(gang));
        break;
    case MEMBER_NOTHING:
    case MEMBER_ACT_COUNT:
        break;
    }
    count_moving(pod);
}

static void join(struct rpod *pod)
{
    const struct obj *jobset = gang_jobset(pod->gang->runner, pod->gang->key + 1);
    struct member_status status = jobset != NULL ? status_of(jobset) : pod->gang->status;
    obey(pod, member_join(&pod->member, announced_by(pod->obj), &status));
}

/* ---- members come and go ---- */

static struct gang *gang_of(struct runner *runner, const char *uid)
{
    struct gang *gang = map_get(runner->gangs, uid);
    if (gang != NULL)
        return gang;
    gang = mem_zalloc(sizeof(*gang));
    gang->runner = runner;
    gang->key = mem_printf("%%%s", uid);
    TAILQ_INIT(&gang->members);
    TAILQ_INIT(&gang->announcing);
    const struct obj *jobset = gang_jobset(runner, uid);
    if (jobset != NULL)
        gang->status = status_of(jobset);
    (void)map_put(runner->gangs, uid, gang);
    return gang;
}

/* A worker that an earlier life of ours started is of the epoch that its pod announced: the pod is
 * told of the next one only when the worker is gone. Without one, no worker should run. */
void gang_enter(struct runner *runner, struct rpod *pod)
{
    pod->gang = gang_of(runner, label_of(pod->obj, JOBSET_LABEL_UID));
    pod->member = (struct member){0};
    TAILQ_INSERT_TAIL(&pod->gang->members, pod, in_gang);
    int64_t announced = announced_by(pod->obj);
    if (!start_pod_has_process(pod->engine))
        join(pod);
    else if (announced > 0)
        obey(pod, member_resume(&pod->member, announced, &pod->gang->status));
    else
        start_pod_restart(runner->engine, pod->engine, now_of(pod->gang));
}

void gang_leave(struct rpod *pod)
{
    struct gang *gang = pod->gang;
    if (gang == NULL)
        return;
    stop_announcing(pod);
    pod->member.state = MEMBER_DONE;
    count_moving(pod);
    TAILQ_REMOVE(&gang->members, pod, in_gang);
    pod->gang = NULL;
    if (!TAILQ_EMPTY(&gang->members))
        return;
    (void)map_del(gang->runner->gangs, gang->key + 1);
    mem_free(gang->key);
    mem_free(gang);
}

/* ---- what happens ---- */

/* The others end while the death is being written and the group is told of it. */
static void end_forlorn(struct gang *gang, int64_t epoch)
{
    struct rpod *pod, *next;
    TAILQ_FOREACH_SAFE(pod, &gang->members, in_gang, next)
    {
        obey(pod, member_forlorn(&pod->member, epoch));
    }
}

static void keep_cause(struct rpod *pod)
{
    scoped_str cause = {0};
    cause_add(pod, &cause);
    mem_free(pod->cause);
    pod->cause = cause.len > 0 ? mem_strdup(str_text(&cause)) : NULL;
}

void gang_on_down(struct rpod *pod)
{
    struct gang *gang = pod->gang;
    if (gang == NULL)
        return;
    if (pod->member.state == MEMBER_DOWN) {
        join(pod);
        return;
    }
    bool was_running = pod->member.state == MEMBER_RUN;
    int64_t epoch = pod->member.epoch;
    obey(pod, member_ended(&pod->member, false));
    if (!was_running)
        return;
    keep_cause(pod);
    end_forlorn(gang, epoch);
}

bool gang_on_pod(struct rpod *pod, const struct obj *obj)
{
    if (pod->gang == NULL)
        return false;
    if (pod->is_announcing && announced_by(obj) >= pod->member.epoch)
        control_add(pod->gang->runner->control, pod->gang->key);
    return obj->meta.deleted == 0 && gang_defers(pod);
}

void gang_on_jobset(struct runner *runner, const struct obj *jobset)
{
    struct gang *gang = map_get(runner->gangs, jobset->meta.uid);
    if (gang != NULL)
        control_add(runner->control, gang->key);
}

/* ---- reconciliation ---- */

/* One that tells of an earlier epoch is taken away. */
static void put_cause(const struct rpod *pod, const struct obj *obj, yyjson_mut_doc *doc,
                      yyjson_mut_val *notes)
{
    scoped_str text = {0};
    if (pod->cause != NULL) {
        str_addf(&text, "%lld %s", (long long)pod->member.epoch, pod->cause);
        json_mut_put(doc, notes, EPOCH_CAUSE_NOTE, yyjson_mut_strcpy(doc, str_text(&text)));
    } else if (yyjson_obj_get(obj->meta.annotations, EPOCH_CAUSE_NOTE) != NULL) {
        json_mut_put(doc, notes, EPOCH_CAUSE_NOTE, yyjson_mut_null(doc));
    }
}

static void announce(struct gang *gang, const struct rpod *pod, const struct obj *obj)
{
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *notes = yyjson_mut_obj(doc);
    char text[24];
    (void)snprintf(text, sizeof(text), "%lld", (long long)pod->member.epoch);
    yyjson_mut_doc_set_root(doc, root);
    json_mut_put(doc, notes, EPOCH_NOTE, yyjson_mut_strcpy(doc, text));
    put_cause(pod, obj, doc, notes);
    json_mut_set(doc, root, "metadata.annotations", notes);
    struct write *write = write_new(WRITE_PATCH, &KIND_POD, pod->ns, pod->name);
    write->patch_type = PATCH_MERGE;
    write->patch = yyjson_mut_doc_imut_copy(doc, NULL);
    write->if_uid = mem_strdup(pod->uid);
    control_write(gang->runner->control, write);
}

/* While writes of this key are on their way it is not called: who is still in the list has none. */
static void announce_all(struct gang *gang)
{
    const struct cache *cache = control_world(gang->runner->control)->cache;
    struct rpod *pod, *next;
    TAILQ_FOREACH_SAFE(pod, &gang->announcing, in_announcing, next)
    {
        const struct obj *obj = cache_get(cache, &KIND_POD, pod->ns, pod->name);
        bool is_there = obj != NULL && str_eq(obj->meta.uid, pod->uid);
        int64_t announced = is_there ? announced_by(obj) : 0;
        if (announced >= pod->member.epoch)
            obey(pod, member_written(&pod->member, announced));
        if (is_there && obj->meta.deleted == 0 && pod->is_announcing)
            announce(gang, pod, obj);
    }
}

static bool is_same(const struct member_status *a, const struct member_status *b)
{
    return a->deprecated == b->deprecated && a->synced == b->synced &&
           a->has_verdict == b->has_verdict;
}

/* The order matters only to the eye: those who wait learn of the barrier in the order in which they
 * came. */
static void see_all(struct gang *gang)
{
    struct rpod *pod, *next;
    TAILQ_FOREACH_SAFE(pod, &gang->members, in_gang, next)
    {
        obey(pod, member_see(&pod->member, &gang->status));
    }
}

void gang_reconcile(struct runner *runner, const char *key)
{
    struct gang *gang = map_get(runner->gangs, key + 1);
    if (gang == NULL || runner->is_leaving)
        return; /* who announces now would have to do so again when we are back */
    const struct obj *jobset = gang_jobset(runner, key + 1);
    struct member_status status = jobset != NULL ? status_of(jobset) : gang->status;
    if (!is_same(&status, &gang->status)) {
        gang->status = status;
        gang->moved_at = now_of(gang);
        see_all(gang);
    }
    announce_all(gang);
    if (gang->is_quiet)
        tell_when_due(gang);
}

/* ---- for the start ---- */

static bool is_ours(const char *variable)
{
    return str_starts(variable, "MUSTER_EPOCH=");
}

void gang_env(const struct rpod *pod, struct arena *arena, struct launch *launch)
{
    if (pod->gang == NULL)
        return;
    size_t n = 0, kept = 0;
    while (launch->envp[n] != NULL)
        n++;
    const char **envp = arena_alloc(arena, (n + 2) * sizeof(*envp));
    for (size_t i = 0; i < n; i++)
        if (!is_ours(launch->envp[i]))
            envp[kept++] = launch->envp[i];
    envp[kept++] = arena_printf(arena, "MUSTER_EPOCH=%lld", (long long)pod->member.epoch);
    envp[kept] = NULL;
    launch->envp = envp;
    launch->is_member = true;
}
