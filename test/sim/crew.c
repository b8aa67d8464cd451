// SPDX-License-Identifier: Apache-2.0
#include "crew.h"
#include "base/mem.h"
#include "core/job/indexes.h"
#include "core/recover/epoch.h"
#include "model/jobset.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOB_INDEX "batch.kubernetes.io/job-completion-index"
#define SET_JOB_INDEX "jobset.sigs.k8s.io/job-index"

void crew_fail(struct crew *crew, const char *fmt, ...)
{
    char text[1024];
    if (crew->failure != NULL)
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    crew->failure = mem_strdup(text);
}

void crew_init(struct crew *crew, int64_t jobs, int64_t members, int64_t members_max)
{
    size_t places = (size_t)(jobs * members_max);
    *crew = (struct crew){.jobs = jobs,
                          .members = members,
                          .members_max = members_max,
                          .mates = map_new(),
                          .announced = mem_zalloc(places * sizeof(int64_t)),
                          .started = mem_zalloc(places * sizeof(int64_t)),
                          .counted = mem_zalloc(places * sizeof(bool)),
                          .holder = mem_zalloc(places * sizeof(struct mate *))};
    vec_push(&crew->statuses, (struct member_status){0});
}

void crew_start(struct crew *crew, struct sim *sim, const char *set, int64_t max_restarts)
{
    crew->sim = sim;
    crew->set = mem_strdup(set);
    crew->max_restarts = max_restarts;
}

static void mate_free(struct mate *mate)
{
    mem_free(mate->uid);
    mem_free(mate->name);
    mem_free(mate);
}

void crew_done(struct crew *crew)
{
    for (size_t i = 0; i < crew->list.len; i++)
        mate_free(crew->list.items[i]);
    vec_done(&crew->list);
    vec_done(&crew->statuses);
    map_free(crew->mates);
    mem_free(crew->announced);
    mem_free(crew->started);
    mem_free(crew->counted);
    mem_free(crew->holder);
    mem_free(crew->set);
    mem_free(crew->failure);
}

static bool has_succeeded(const struct crew *crew, size_t place)
{
    const struct mate *mate = crew->holder[place];
    return crew->counted[place] || (mate != NULL && mate->has_succeeded);
}

/* Whoever tells the truth announces none beyond. */
static int64_t next_epoch(const struct crew *crew)
{
    return vec_last(&crew->statuses)->synced + 1;
}

/* ---- workers ---- */

/* Living workers by epoch; of two epochs at once there is never more than the moment of a check. */
static void count_alive(struct crew *crew, int64_t epoch, int64_t by)
{
    for (int i = 0; i < 2; i++) {
        if (crew->alive[i] == 0)
            crew->alive_epoch[i] = epoch;
        if (crew->alive_epoch[i] == epoch) {
            crew->alive[i] += by;
            return;
        }
    }
    crew_fail(crew, "S2: workers of three epochs");
}

static void end_work(struct mate *mate)
{
    if (mate->work == WORK_ALIVE)
        count_alive(mate->crew, mate->work_epoch, -1);
    mate->work = WORK_NONE;
}

static void break_epoch(struct mate *mate)
{
    struct crew *crew = mate->crew;
    if (mate->work != WORK_NONE && mate->work_epoch > crew->broken)
        crew->broken = mate->work_epoch;
    crew->mishaps++;
}

static void start_work(struct mate *mate)
{
    struct crew *crew = mate->crew;
    int64_t epoch = mate->member.epoch;
    const struct member_status *status = vec_last(&crew->statuses);
    if (epoch > status->synced)
        crew_fail(crew, "S1: %s starts in %" PRId64 ", which is not lifted", mate->name, epoch);
    for (int i = 0; i < 2; i++) {
        if (crew->alive[i] > 0 && crew->alive_epoch[i] != epoch)
            crew_fail(crew, "S2: %s starts in %" PRId64 " while a worker of %" PRId64 " runs",
                      mate->name, epoch, crew->alive_epoch[i]);
    }
    if (crew->last_start > epoch)
        crew_fail(crew, "S2: %s starts in %" PRId64 " after a start in %" PRId64, mate->name, epoch,
                  crew->last_start);
    if (crew->started[mate->place] >= epoch)
        crew_fail(crew, "S3: %s starts twice in %" PRId64, mate->name, epoch);
    crew->started[mate->place] = epoch;
    crew->last_start = epoch;
    crew->starts++;
    mate->work = WORK_ALIVE;
    mate->work_epoch = epoch;
    count_alive(crew, epoch, 1);
}

/* ---- writes ---- */

struct sent { /* by then the mate may be gone */
    struct crew *crew;
    char *uid;
    int64_t epoch; /* 0: its success */
};

static struct write *patch(struct mate *mate, const char *body, write_done_fn *done, int64_t epoch)
{
    struct write *write = write_new(WRITE_PATCH, &KIND_POD, "default", mate->name);
    scoped_free char *json = mem_strdup(body);
    for (char *at = json; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    if (json_parse(sv_of(json), &write->patch, NULL) < 0)
        abort();
    write->if_uid = mem_strdup(mate->uid);
    struct sent *sent = mem_zalloc(sizeof(*sent));
    *sent = (struct sent){mate->crew, mem_strdup(mate->uid), epoch};
    write->done = done;
    write->arg = sent;
    return write;
}

static struct mate *sender_of(struct sent *sent)
{
    struct mate *mate = map_get(sent->crew->mates, sent->uid);
    mem_free(sent->uid);
    mem_free(sent);
    return mate;
}

static void act(struct mate *mate, enum member_act what);

static void on_announced(void *arg, struct write_result *result)
{
    struct sent *sent = arg;
    int64_t epoch = sent->epoch;
    struct mate *mate = sender_of(sent);
    if (mate == NULL)
        return;
    mate->is_writing = false;
    /* Refused as too low: a later one of ours is there already. */
    bool is_there = status_ok(&result->status) || result->status.code == 422;
    if (is_there && mate->is_up)
        act(mate, member_written(&mate->member, epoch));
}

static void on_stray(void *arg, struct write_result *result)
{
    (void)result;
    (void)sender_of(arg);
}

static void announce(struct mate *mate, int64_t epoch, write_done_fn *done)
{
    scoped_free char *body =
        mem_printf("{'metadata':{'annotations':{'" EPOCH_NOTE "':'%" PRId64 "'}}}", epoch);
    sim_submit(mate->crew->sim, patch(mate, body, done, epoch));
}

static void on_success(void *arg, struct write_result *result)
{
    struct mate *mate = sender_of(arg);
    if (mate == NULL)
        return;
    mate->is_writing = false;
    if (!status_ok(&result->status) || mate->work != WORK_GOOD)
        return;
    end_work(mate);
    act(mate, member_ended(&mate->member, true));
}

static void report_end(struct mate *mate, const char *phase, int exit_code, write_done_fn *done)
{
    scoped_str now = {0};
    rfc3339_format(sim_now(mate->crew->sim), &now);
    scoped_free char *body = mem_printf(
        "{'status':{'phase':'%s','containerStatuses':[{'name':'c','state':{'terminated':{"
        "'exitCode':%d,'finishedAt':'%s'}}}]}}",
        phase, exit_code, str_text(&now));
    struct write *write = patch(mate, body, done, 0);
    write->sub = SUB_STATUS;
    sim_submit(mate->crew->sim, write);
}

static void let_go(struct mate *mate)
{
    struct write *write = write_new(WRITE_DELETE, &KIND_POD, "default", mate->name);
    write->grace_s = 0;
    write->if_uid = mem_strdup(mate->uid);
    struct sent *sent = mem_zalloc(sizeof(*sent));
    *sent = (struct sent){mate->crew, mem_strdup(mate->uid), 0};
    write->done = on_stray;
    write->arg = sent;
    sim_submit(mate->crew->sim, write);
}

/* ---- one mate ---- */

static void act(struct mate *mate, enum member_act what)
{
    if (what == MEMBER_START) {
        start_work(mate);
    } else if (what == MEMBER_END) {
        end_work(mate); /* told to: nothing is lost by it */
        act(mate, member_ended(&mate->member, false));
    }
    /* MEMBER_WRITE: as long as it announces, each step sees to it */
}

static void join(struct mate *mate)
{
    struct crew *crew = mate->crew;
    if (mate->work != WORK_NONE) { /* left behind by the one before */
        break_epoch(mate);
        end_work(mate);
    }
    mate->is_up = true;
    mate->member = (struct member){0};
    mate->status_seen = crew->statuses.len - 1;
    act(mate, member_join(&mate->member, mate->announced, vec_last(&crew->statuses)));
}

/* Some status that is not older than the last one it saw. */
static void see(struct mate *mate, bool sees_all)
{
    struct crew *crew = mate->crew;
    size_t last = crew->statuses.len - 1;
    if (!sees_all)
        last = mate->status_seen + rng_below(sim_rng(crew->sim), last - mate->status_seen + 1);
    mate->status_seen = last;
    act(mate, member_see(&mate->member, &crew->statuses.items[last]));
}

static bool has_ended(const struct obj *pod)
{
    const char *phase = json_str_at(pod->root, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

/* Its node stops it: what runs there ends, and that is no mishap but where it was for a lie. */
static void leave(struct mate *mate)
{
    struct crew *crew = mate->crew;
    crew->mishaps += mate->announced > next_epoch(crew);
    end_work(mate);
    mate->is_up = false;
    mate->member = (struct member){0};
    let_go(mate);
}

static void step_worker(struct mate *mate)
{
    if (mate->work == WORK_DIED) {
        mate->work = WORK_NONE;
        act(mate, member_ended(&mate->member, false));
    } else if (mate->work == WORK_GOOD && !mate->is_writing) {
        mate->is_writing = true;
        report_end(mate, "Succeeded", 0, on_success);
    }
}

void mate_step(struct mate *mate, bool sees_all)
{
    struct crew *crew = mate->crew;
    const struct obj *pod =
        cache_get(sim_store(crew->sim)->cache, &KIND_POD, "default", mate->name);
    if (pod == NULL || strcmp(pod->meta.uid, mate->uid) != 0 || crew->is_leaving)
        return;
    if (pod->meta.deleted != 0 && pod->meta.deletion_grace_s > 0) {
        leave(mate);
    } else if (has_ended(pod) || pod->meta.deleted != 0) {
        return;
    } else if (mate->has_failed) {
        report_end(mate, "Failed", mate->exit_code, on_stray);
    } else if (!mate->is_up) {
        join(mate);
    } else if (mate->work == WORK_DIED || mate->work == WORK_GOOD) {
        step_worker(mate);
    } else if (mate->member.state == MEMBER_ANNOUNCE && !mate->is_writing) {
        mate->is_writing = true;
        announce(mate, mate->member.epoch, on_announced);
    } else {
        see(mate, sees_all);
    }
}

/* A worker that ends while nobody has told it to. */
static bool may_end(const struct mate *mate)
{
    return mate->work == WORK_ALIVE && mate->member.state == MEMBER_RUN && mate->is_up;
}

void mate_die(struct mate *mate)
{
    if (!may_end(mate))
        return;
    break_epoch(mate);
    count_alive(mate->crew, mate->work_epoch, -1);
    mate->work = WORK_DIED;
}

void mate_succeed(struct mate *mate)
{
    if (!may_end(mate))
        return;
    count_alive(mate->crew, mate->work_epoch, -1);
    mate->work = WORK_GOOD;
}

void mate_crash(struct mate *mate)
{
    if (!mate->is_up || mate->has_failed)
        return;
    mate->crew->mishaps++;
    mate->is_up = false;
    mate->is_writing = false;
    mate->member = (struct member){0};
}

/* No mishap; but a success that is being counted stays one. */
void crew_come_back(struct crew *crew)
{
    crew->is_leaving = false;
    for (size_t i = 0; i < crew->list.len; i++) {
        struct mate *mate = crew->list.items[i];
        if (mate->has_failed || (mate->work == WORK_GOOD && mate->is_writing))
            continue;
        end_work(mate);
        mate->is_up = mate->is_writing = false;
        mate->member = (struct member){0};
    }
}

void mate_lose(struct mate *mate, int exit_code)
{
    if (mate->has_failed || mate->has_succeeded)
        return;
    if (mate->work == WORK_GOOD && mate->is_writing)
        return; /* it is being counted as good */
    break_epoch(mate);
    end_work(mate);
    mate->has_failed = true;
    mate->exit_code = exit_code;
    mate->is_up = false;
    mate->member = (struct member){0};
}

void mate_repeat(struct mate *mate, int64_t back)
{
    int64_t epoch = mate->announced - back;
    if (epoch > 0)
        announce(mate, epoch, on_stray);
}

/* The server takes it where it cannot tell of which JobSet the pod is. */
void mate_lie(struct mate *mate, int64_t by)
{
    if (mate->has_failed || mate->has_succeeded)
        return;
    mate->crew->mishaps++;
    scoped_free char *body = mem_printf("{'metadata':{'labels':{'" JOBSET_LABEL_NAME
                                        "':null},'annotations':{'" EPOCH_NOTE "':'%" PRId64 "'}}}",
                                        next_epoch(mate->crew) + by);
    sim_submit(mate->crew->sim, patch(mate, body, on_stray, 0));
}

/* ---- what is stored ---- */

static int64_t number_of(yyjson_val *map, const char *key, int64_t otherwise)
{
    int64_t number = otherwise;
    (void)epoch_parse(yyjson_get_str(yyjson_obj_get(map, key)), &number);
    return number;
}

static struct mate *need_mate(struct crew *crew, const struct obj *pod)
{
    struct mate *mate = map_get(crew->mates, pod->meta.uid);
    int64_t job = number_of(pod->meta.labels, SET_JOB_INDEX, -1);
    int64_t index = number_of(pod->meta.annotations, JOB_INDEX, -1);
    if (mate != NULL || job < 0 || index < 0)
        return mate;
    mate = mem_zalloc(sizeof(*mate));
    mate->crew = crew;
    mate->uid = mem_strdup(pod->meta.uid);
    mate->name = mem_strdup(pod->meta.name);
    mate->place = (size_t)(job * crew->members_max + index);
    (void)map_put(crew->mates, mate->uid, mate);
    crew->holder[mate->place] = mate;
    vec_push(&crew->list, mate);
    return mate;
}

static void take_pod(struct crew *crew, const struct obj *pod)
{
    struct mate *mate = need_mate(crew, pod);
    if (mate == NULL)
        return;
    int64_t epoch = number_of(pod->meta.annotations, EPOCH_NOTE, 0);
    if (epoch < mate->announced)
        crew_fail(crew, "S5: %s goes from %" PRId64 " to %" PRId64, mate->name, mate->announced,
                  epoch);
    crew->reports += epoch > mate->announced;
    mate->announced = epoch;
    if (epoch > crew->announced[mate->place] && epoch <= next_epoch(crew))
        crew->announced[mate->place] = epoch;
    mate->has_succeeded = str_eq(json_str_at(pod->root, "status.phase"), "Succeeded");
}

static void drop_pod(struct crew *crew, const char *uid)
{
    struct mate *mate = map_get(crew->mates, uid);
    if (mate == NULL)
        return;
    if (mate->work == WORK_ALIVE)
        crew_fail(crew, "%s is gone while its worker runs", mate->name);
    (void)map_del(crew->mates, uid);
    if (crew->holder[mate->place] == mate)
        crew->holder[mate->place] = NULL;
    for (size_t i = 0; i < crew->list.len; i++) {
        if (crew->list.items[i] == mate) {
            vec_remove_swap(&crew->list, i);
            break;
        }
    }
    mate_free(mate);
}

static void check_lift(struct crew *crew, int64_t epoch)
{
    crew->lifts++;
    for (int64_t job = 0; job < crew->jobs; job++) {
        for (int64_t i = 0; i < crew->members; i++) {
            size_t place = (size_t)(job * crew->members_max + i);
            if (!has_succeeded(crew, place) && crew->announced[place] < epoch)
                crew_fail(crew,
                          "S1: %" PRId64 " is lifted, and %" PRId64 ".%" PRId64 " is in %" PRId64,
                          epoch, job, i, crew->announced[place]);
        }
    }
}

static bool is_true(const struct obj *set, const char *type)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(set->root, "status.conditions"), i, n, item)
    {
        if (str_eq(json_str_at(item, "type"), type) && str_eq(json_str_at(item, "status"), "True"))
            return true;
    }
    return false;
}

/* Of the restarts of single Jobs: all, or those that count. */
static int64_t job_restarts(yyjson_val *status, const char *field)
{
    int64_t sum = 0;
    size_t i, n, k, m;
    yyjson_val *role, *count;
    yyjson_arr_foreach(yyjson_obj_get(status, "replicatedJobsStatus"), i, n, role)
    {
        yyjson_arr_foreach(yyjson_obj_get(role, field), k, m, count)
        {
            sum += yyjson_get_sint(count);
        }
    }
    return sum;
}

static void check_charge(struct crew *crew, const struct member_status *before,
                         const struct member_status *now, yyjson_val *status)
{
    int64_t charged = json_int_at(status, "restartsCountTowardsMax", 0) +
                      job_restarts(status, "jobRestartsCountTowardsMax");
    int64_t anew = json_int_at(status, "restarts", 0) + job_restarts(status, "jobRestarts");
    bool is_restart = now->deprecated > before->deprecated || anew > crew->anew;
    if (anew > crew->anew && now->synced > now->deprecated)
        crew_fail(crew, "Jobs are made anew while their epoch is still good");
    crew->anew = anew;
    if (charged < crew->charged || charged > crew->charged + 1 || charged > crew->max_restarts)
        crew_fail(crew, "budget: from %" PRId64 " to %" PRId64, crew->charged, charged);
    if (charged > crew->charged && !is_restart)
        crew_fail(crew, "budget: charged without a restart");
    /* One that came while the last restart was on its way may show only after it. */
    if (charged > crew->charged && crew->mishaps + crew->before == 0)
        crew_fail(crew, "budget: charged though nothing went wrong");
    crew->restarts += is_restart;
    crew->charged = charged;
    if (is_restart) {
        crew->before = crew->mishaps;
        crew->mishaps = 0;
    }
}

static void take_set(struct crew *crew, const struct obj *set)
{
    yyjson_val *status = yyjson_obj_get(set->root, "status");
    const struct member_status before = *vec_last(&crew->statuses);
    struct member_status now = {json_int_at(status, "deprecatedEpoch", 0),
                                json_int_at(status, "syncedEpoch", 0),
                                is_true(set, "Completed") || is_true(set, "Failed")};
    yyjson_val *roles = json_at(set->root, "spec.replicatedJobs");
    crew->members = json_int_at(yyjson_arr_get_first(roles), "template.spec.completions", 0);
    if (now.deprecated < before.deprecated || now.synced < before.synced ||
        (before.has_verdict && !now.has_verdict))
        crew_fail(crew, "S5: the status goes back");
    if (now.deprecated > now.synced || now.synced > now.deprecated + 1)
        crew_fail(crew, "the status is %" PRId64 "/%" PRId64, now.deprecated, now.synced);
    check_charge(crew, &before, &now, status);
    if (now.synced > before.synced)
        check_lift(crew, now.synced);
    crew->has_verdict = now.has_verdict;
    crew->is_completed = is_true(set, "Completed");
    if (now.deprecated != before.deprecated || now.synced != before.synced ||
        now.has_verdict != before.has_verdict)
        vec_push(&crew->statuses, now);
}

/* What a Job has counted; one that is complete does not grow. */
static void take_job(struct crew *crew, const struct obj *job)
{
    int64_t index = number_of(job->meta.labels, SET_JOB_INDEX, -1);
    const char *text = json_str_at(job->root, "status.completedIndexes");
    scoped_indexes done = {0};
    if (index < 0 || (text != NULL && indexes_parse(sv_of(text), INT32_MAX, &done, NULL) < 0))
        return;
    for (int64_t i = 0; i < crew->members_max; i++)
        crew->counted[index * crew->members_max + i] =
            indexes_has(&done, i) || is_true(job, "Complete");
}

void crew_on_change(struct crew *crew, const struct change *change)
{
    if (change->obj->kind == &KIND_JOB && change->type != CHANGE_DELETED)
        take_job(crew, change->obj);
    if (change->obj->kind == &KIND_JOBSET && change->type != CHANGE_DELETED)
        take_set(crew, change->obj);
    else if (change->obj->kind == &KIND_POD && change->type == CHANGE_DELETED)
        drop_pod(crew, change->obj->meta.uid);
    else if (change->obj->kind == &KIND_POD)
        take_pod(crew, change->obj);
}

/* Something may have been stored of which nobody was told. */
void crew_on_reopen(struct crew *crew)
{
    crew->is_leaving = false; /* killed before it could end */
    struct cache *cache = sim_store(crew->sim)->cache;
    struct obj *obj = cache_first(cache, &KIND_POD, "default");
    for (; obj != NULL; obj = cache_after(cache, &KIND_POD, "default", obj))
        take_pod(crew, obj);
    for (size_t i = crew->list.len; i-- > 0;) {
        if (cache_by_uid(cache, crew->list.items[i]->uid) == NULL)
            drop_pod(crew, crew->list.items[i]->uid);
    }
    for (obj = cache_first(cache, &KIND_JOB, "default"); obj != NULL;
         obj = cache_after(cache, &KIND_JOB, "default", obj))
        take_job(crew, obj);
    obj = crew->set != NULL ? cache_get(cache, &KIND_JOBSET, "default", crew->set) : NULL;
    if (obj != NULL)
        take_set(crew, obj);
}

/* ---- the end ---- */

bool crew_is_settled(const struct crew *crew)
{
    const struct member_status *status = vec_last(&crew->statuses);
    int64_t running = 0, expected = crew->jobs * crew->members;
    for (size_t i = 0; i < crew->list.len; i++) {
        const struct mate *mate = crew->list.items[i];
        if (crew->has_verdict && mate->work != WORK_NONE)
            return false;
        running += mate->work == WORK_ALIVE && mate->is_up && mate->work_epoch == status->synced &&
                   !has_succeeded(crew, mate->place);
    }
    if (crew->has_verdict)
        return true;
    for (int64_t job = 0; job < crew->jobs; job++) {
        for (int64_t i = 0; i < crew->members; i++)
            expected -= has_succeeded(crew, (size_t)(job * crew->members_max + i));
    }
    return expected > 0 && running == expected && status->synced > status->deprecated;
}

void crew_check_end(struct crew *crew)
{
    const struct member_status *status = vec_last(&crew->statuses);
    if (!crew_is_settled(crew))
        crew_fail(crew, "liveness: it has not settled, at %" PRId64 "/%" PRId64, status->deprecated,
                  status->synced);
    if (!crew->has_verdict && crew->broken > status->deprecated)
        crew_fail(crew, "S4: a worker of %" PRId64 " was lost, and only %" PRId64 " is over",
                  crew->broken, status->deprecated);
}
