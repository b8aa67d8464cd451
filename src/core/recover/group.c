// SPDX-License-Identifier: Apache-2.0
/* A group is a table of places, each with the pods that hold or held it. All that a decision needs
 * is a count of places by class. The class follows from the place's newest pod and from `next`, the
 * epoch after those that the status knows; so what one report changes is one place.
 *
 *  1. Of the epochs only `next` matters: who has announced it asks for a restart while the group
 *     runs, and has arrived at the barrier while it restarts. Earlier ones are history; later ones
 *     cannot be right, as nobody has let anyone into `next` yet.
 *  2. When the barrier is lifted `next` grows by one and everybody who was there is behind: the
 * count moves as a whole, and only those beyond have to be looked at, of which there are none
 * unless somebody lies.
 *  3. A pod that leaves or has failed announces nothing; its place stays expected. A place in which
 *     somebody has succeeded is not.
 *  4. Who has announced a later one cannot announce the next any more: if his worker dies nobody
 *     hears of it. So he is expelled while the group runs, at the barrier when it waits for nobody
 *     else.
 *  5. Pods outside of the group's size, and those that have a younger one in their place, announce
 *     nothing either; but nobody starts before they are gone: they may run in an epoch that is
 * over. */
#include "core/recover/group.h"
#include "base/map.h"
#include "base/mem.h"
#include <assert.h>
#include <bsd/sys/queue.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum class {
    CLASS_NONE, /* outside, and nobody is there */
    CLASS_OUTSIDE,
    CLASS_DONE,
    CLASS_BEHIND, /* expected, and not at `next` */
    CLASS_ARRIVED,
    CLASS_BEYOND,
    CLASSES,
};

struct pod {
    LIST_ENTRY(pod) siblings; /* of the same place */
    struct place *place;
    time_ms created;
    enum group_life life;
    int64_t epoch;
    bool is_ready;
    char uid[];
};

struct place {
    struct group_place at;
    LIST_HEAD(, pod) pods;
    bool is_done; /* by other means than a pod */
    char key[];
};

struct group {
    struct map *pods;   /* uid to struct pod */
    struct map *places; /* key to struct place: those that had a pod */
    struct group_role *roles;
    size_t role_count;
    int64_t size; /* places that are expected, done or not, known or not */
    int64_t deprecated, synced;
    int64_t count[CLASSES]; /* of those in `places` */
    int64_t ghosts;         /* not ended, and their place is a younger one's, or done */
    int64_t ready;          /* in `synced` */
    int64_t ready_next;     /* arrived, and said to be ready before anybody may be */
};

struct share { /* what one place adds to the counts */
    enum class class;
    int64_t ghosts, ready, ready_next;
};

struct group *group_new(void)
{
    struct group *group = mem_zalloc(sizeof(*group));
    group->pods = map_new();
    group->places = map_new();
    return group;
}

static bool free_one(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    mem_free(value);
    return true;
}

void group_free(struct group *group)
{
    if (group == NULL)
        return;
    (void)map_each(group->pods, free_one, NULL);
    (void)map_each(group->places, free_one, NULL);
    map_free(group->pods);
    map_free(group->places);
    mem_free(group->roles);
    mem_free(group);
}

/* ---- classes ---- */

static int64_t next_epoch(const struct group *group)
{
    return (group->synced > group->deprecated ? group->synced : group->deprecated) + 1;
}

static bool is_inside(const struct group *group, const struct group_place *at)
{
    return at->role < group->role_count && at->job >= 0 && at->index >= 0 &&
           at->job < group->roles[at->role].jobs && at->index < group->roles[at->role].members;
}

static bool has_ended(const struct pod *pod)
{
    return pod->life == GROUP_FAILED || pod->life == GROUP_SUCCEEDED;
}

/* Times are of whole seconds, in which a pod can come and go; so one that has not ended is the
 * younger one. */
static bool is_newer(const struct pod *a, const struct pod *b)
{
    if (has_ended(a) != has_ended(b))
        return has_ended(b);
    return a->created != b->created ? a->created > b->created : strcmp(a->uid, b->uid) > 0;
}

static const struct pod *newest_pod(const struct place *place)
{
    const struct pod *pod, *newest = NULL;
    LIST_FOREACH(pod, &place->pods, siblings)
    {
        if (newest == NULL || is_newer(pod, newest))
            newest = pod;
    }
    return newest;
}

static bool is_empty(const struct place *place)
{
    const struct pod *pod;
    LIST_FOREACH(pod, &place->pods, siblings)
    {
        if (!has_ended(pod))
            return false;
    }
    return true;
}

static bool is_done(const struct place *place)
{
    const struct pod *pod;
    LIST_FOREACH(pod, &place->pods, siblings)
    {
        if (pod->life == GROUP_SUCCEEDED)
            return true;
    }
    return place->is_done;
}

static enum class class_of(const struct group *group, const struct place *place) {
    if (!is_inside(group, &place->at)) return is_empty(place) ? CLASS_NONE : CLASS_OUTSIDE;
    if (is_done(place)) return CLASS_DONE;
    const struct pod *pod = newest_pod(place);
    int64_t next = next_epoch(group);
    if (pod == NULL || pod->life != GROUP_LIVES || pod->epoch < next) return CLASS_BEHIND;
    return pod->epoch == next ? CLASS_ARRIVED : CLASS_BEYOND;
}

static struct share share_of(const struct group *group, const struct place *place)
{
    struct share share = {.class = class_of(group, place)};
    if (share.class <= CLASS_OUTSIDE)
        return share;
    const struct pod *pod, *holder = share.class == CLASS_DONE ? NULL : newest_pod(place);
    bool is_ready = holder != NULL && holder->is_ready && holder->life == GROUP_LIVES;
    share.ready = is_ready && holder->epoch == group->synced;
    share.ready_next = is_ready && share.class == CLASS_ARRIVED;
    LIST_FOREACH(pod, &place->pods, siblings)
    {
        share.ghosts += pod != holder && !has_ended(pod);
    }
    return share;
}

static int64_t expected(const struct group *group)
{
    return group->size - group->count[CLASS_DONE];
}

bool group_is_ready(const struct group *group)
{
    return group->synced > group->deprecated && group->ready == expected(group);
}

/* True: it makes a difference. */
static bool exchange(struct group *group, const struct share *before, const struct place *place)
{
    struct share after = share_of(group, place);
    bool was_ready = group_is_ready(group);
    group->count[before->class]--;
    group->count[after.class]++;
    group->ghosts += after.ghosts - before->ghosts;
    group->ready += after.ready - before->ready;
    group->ready_next += after.ready_next - before->ready_next;
    return before->class != after.class || before->ghosts != after.ghosts ||
           was_ready != group_is_ready(group);
}

static bool count_one(void *arg, const char *key, void *value)
{
    struct group *group = arg;
    (void)key;
    struct share share = share_of(group, value);
    group->count[share.class]++;
    group->ghosts += share.ghosts;
    group->ready += share.ready;
    group->ready_next += share.ready_next;
    return true;
}

static void recount(struct group *group)
{
    memset(group->count, 0, sizeof(group->count));
    group->ghosts = group->ready = group->ready_next = 0;
    (void)map_each(group->places, count_one, group);
}

/* ---- what is wanted ---- */

void group_resize(struct group *group, const struct group_role *roles, size_t count)
{
    bool is_same = count == group->role_count;
    for (size_t i = 0; is_same && i < count; i++)
        is_same =
            roles[i].jobs == group->roles[i].jobs && roles[i].members == group->roles[i].members;
    if (is_same)
        return;
    mem_free(group->roles);
    group->roles = mem_dup(roles, count * sizeof(*roles));
    group->role_count = count;
    group->size = 0;
    for (size_t i = 0; i < count; i++)
        group->size += roles[i].jobs * roles[i].members;
    recount(group);
}

void group_set_epochs(struct group *group, int64_t deprecated, int64_t synced)
{
    int64_t before = next_epoch(group);
    group->deprecated = deprecated;
    group->synced = synced;
    int64_t next = next_epoch(group);
    if (next == before)
        return;
    if (next != before + 1 || synced != before || group->count[CLASS_BEYOND] > 0) {
        recount(group);
        return;
    }
    group->count[CLASS_BEHIND] += group->count[CLASS_ARRIVED];
    group->count[CLASS_ARRIVED] = 0;
    group->ready = group->ready_next;
    group->ready_next = 0;
}

/* ---- what is there ---- */

#define KEY_MAX 64

static struct place *find_place(const struct group *group, const struct group_place *at, char *key)
{
    (void)snprintf(key, KEY_MAX, "%" PRIu32 "/%" PRId64 "/%" PRId64, at->role, at->job, at->index);
    return map_get(group->places, key);
}

static struct place *need_place(struct group *group, const struct group_place *at)
{
    char key[KEY_MAX];
    struct place *place = find_place(group, at, key);
    if (place != NULL)
        return place;
    place = mem_zalloc(sizeof(*place) + strlen(key) + 1);
    memcpy(place->key, key, strlen(key) + 1);
    place->at = *at;
    LIST_INIT(&place->pods);
    (void)map_put(group->places, key, place);
    group->count[class_of(group, place)]++;
    return place;
}

static void forget_if_empty(struct group *group, struct place *place)
{
    if (!LIST_EMPTY(&place->pods) || place->is_done)
        return;
    group->count[class_of(group, place)]--;
    (void)map_del(group->places, place->key);
    mem_free(place);
}

static struct pod *need_pod(struct group *group, const struct group_pod *report)
{
    struct pod *pod = map_get(group->pods, report->uid);
    if (pod != NULL)
        return pod;
    size_t len = strlen(report->uid);
    pod = mem_zalloc(sizeof(*pod) + len + 1);
    memcpy(pod->uid, report->uid, len + 1);
    pod->created = report->created;
    pod->place = need_place(group, &report->place);
    (void)map_put(group->pods, report->uid, pod);
    return pod;
}

static bool is_at(const struct place *place, const struct group_place *at)
{
    return place->at.role == at->role && place->at.job == at->job && place->at.index == at->index;
}

bool group_put(struct group *group, const struct group_pod *report)
{
    struct pod *pod = map_get(group->pods, report->uid);
    if (pod != NULL && !is_at(pod->place, &report->place))
        (void)group_drop(group, report->uid); /* a pod does not move; but somebody edits labels */
    bool is_known = map_get(group->pods, report->uid) != NULL;
    pod = need_pod(group, report);
    struct place *place = pod->place;
    struct share before = share_of(group, place);
    if (!is_known)
        LIST_INSERT_HEAD(&place->pods, pod, siblings);
    pod->life = report->life;
    pod->epoch = report->epoch;
    pod->is_ready = report->is_ready;
    return exchange(group, &before, place);
}

bool group_drop(struct group *group, const char *uid)
{
    struct pod *pod = map_del(group->pods, uid);
    if (pod == NULL)
        return false;
    struct place *place = pod->place;
    struct share before = share_of(group, place);
    LIST_REMOVE(pod, siblings);
    mem_free(pod);
    bool is_other = exchange(group, &before, place);
    forget_if_empty(group, place);
    return is_other;
}

bool group_set_done(struct group *group, struct group_place at, bool is_done)
{
    char key[KEY_MAX];
    struct place *place = is_done ? need_place(group, &at) : find_place(group, &at, key);
    if (place == NULL || place->is_done == is_done)
        return false;
    struct share before = share_of(group, place);
    place->is_done = is_done;
    bool is_other = exchange(group, &before, place);
    forget_if_empty(group, place);
    return is_other;
}

/* ---- what to do ---- */

static struct group_plan plan_running(const struct group *group, const struct group_budget *budget)
{
    if (group->count[CLASS_ARRIVED] > 0)
        return budget->used < budget->max
                   ? (struct group_plan){GROUP_DEPRECATE, group->synced, .is_charged = true}
                   : (struct group_plan){.move = GROUP_FAIL};
    if (budget->wants_restart)
        return (struct group_plan){GROUP_DEPRECATE, group->synced, .is_charged = false};
    if (group->count[CLASS_BEYOND] > 0)
        return (struct group_plan){.move = GROUP_EXPEL};
    return (struct group_plan){.move = GROUP_WAIT};
}

static struct group_plan plan_barrier(const struct group *group)
{
    int64_t missing = expected(group) - group->count[CLASS_ARRIVED];
    if (missing == 0 && group->count[CLASS_OUTSIDE] + group->ghosts == 0)
        return (struct group_plan){GROUP_SYNC, .epoch = next_epoch(group)};
    if (missing > 0 && missing == group->count[CLASS_BEYOND])
        return (struct group_plan){.move = GROUP_EXPEL};
    return (struct group_plan){.move = GROUP_WAIT};
}

struct group_plan group_plan(const struct group *group, const struct group_budget *budget)
{
    if (group->size == 0)
        return (struct group_plan){.move = GROUP_WAIT};
    if (expected(group) == 0)
        return (struct group_plan){.move = GROUP_COMPLETE};
    return group->synced > group->deprecated ? plan_running(group, budget) : plan_barrier(group);
}

/* ---- for people and tests ---- */

struct search {
    const struct group *group;
    enum class wanted;
    const struct pod *found;
};

static bool is_found(void *arg, const char *key, void *value)
{
    struct search *search = arg;
    (void)key;
    if (class_of(search->group, value) != search->wanted)
        return true;
    search->found = newest_pod(value);
    return false;
}

const char *group_culprit(const struct group *group)
{
    bool asks = group->synced > group->deprecated && group->count[CLASS_ARRIVED] > 0;
    struct search search = {group, asks ? CLASS_ARRIVED : CLASS_BEYOND, NULL};
    (void)map_each(group->places, is_found, &search);
    return search.found != NULL ? search.found->uid : NULL;
}

struct group_counts group_counts(const struct group *group)
{
    return (struct group_counts){.places = group->size,
                                 .done = group->count[CLASS_DONE],
                                 .arrived = group->count[CLASS_ARRIVED],
                                 .outside = group->count[CLASS_OUTSIDE] + group->ghosts};
}

const char *group_problem(const struct group *group)
{
    struct group other = *group;
    recount(&other);
    if (memcmp(other.count, group->count, sizeof(other.count)) != 0 ||
        other.ghosts != group->ghosts || other.ready != group->ready ||
        other.ready_next != group->ready_next)
        return "counts of places differ from a recount";
    int64_t inside = 0;
    for (int i = CLASS_DONE; i < CLASSES; i++)
        inside += group->count[i];
    return inside > group->size ? "more places than expected" : NULL;
}
