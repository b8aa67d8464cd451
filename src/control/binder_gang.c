// SPDX-License-Identifier: Apache-2.0
/* Gangs: pods that are bound all or not at all. Which pods are one, and how many it takes:
 *   1. annotations muster.dev/gang (a name) and muster.dev/gang-size;
 *   2. label kueue.x-k8s.io/pod-group-name, annotation kueue.x-k8s.io/pod-group-total-count;
 *   3. the pods of a JobSet, unless it starts its jobs one after the other: those would never be
 *      there together. Members that have succeeded are not waited for; their Jobs know them, as
 *      their pods may be gone.
 * Once a member has a node, the others are bound as they come: they replace members that ended. */
#include "base/mem.h"
#include "control/binder_internal.h"
#include "model/jobset.h"
#include <stdlib.h>
#include <string.h>

/* ---- which gang ---- */

static const char *note_of(const struct obj *pod, const char *key)
{
    return yyjson_get_str(yyjson_obj_get(json_at(pod->root, "metadata.annotations"), key));
}

static const char *label_of(const struct obj *pod, const char *key)
{
    return yyjson_get_str(yyjson_obj_get(pod->meta.labels, key));
}

static int64_t number_of(const char *text)
{
    char *end = NULL;
    long long number = text != NULL ? strtoll(text, &end, 10) : 0;
    return text != NULL && end != text && *end == '\0' && number > 0 && number <= 1000000 ? number
                                                                                          : 0;
}

/* Pods of a JobSet that are there together, 0 when they start one after the other. */
static int64_t jobset_size(const struct obj *set)
{
    int64_t sum = 0;
    size_t i, n;
    yyjson_val *job;
    if (str_eq(json_str_at(set->root, "spec.startupPolicy.startupPolicyOrder"), "InOrder"))
        return 0;
    yyjson_arr_foreach(json_at(set->root, "spec.replicatedJobs"), i, n, job)
    {
        yyjson_val *spec = json_at(job, "template.spec");
        int64_t parallelism = json_int_at(spec, "parallelism", 1);
        int64_t completions = json_int_at(spec, "completions", parallelism);
        if (yyjson_arr_size(yyjson_obj_get(job, "dependsOn")) > 0)
            return 0;
        sum += json_int_at(job, "replicas", 1) *
               (completions < parallelism ? completions : parallelism);
    }
    return sum;
}

/* Of the pods that the Job had at first, those that it will not make again. */
static int64_t done_of(const struct obj *job)
{
    int64_t parallelism = json_int_at(job->root, "spec.parallelism", 1);
    int64_t completions = json_int_at(job->root, "spec.completions", parallelism);
    int64_t all = completions < parallelism ? completions : parallelism;
    int64_t left = completions - json_int_at(job->root, "status.succeeded", 0);
    return left < 0 ? all : left < all ? all - left : 0;
}

static int64_t count_done(struct cache *cache, const char *set)
{
    int64_t sum = 0;
    struct obj *one = cache_owned_first(cache, set);
    for (; one != NULL; one = cache_owned_next(cache, set, one))
        sum += one->kind == &KIND_JOB ? done_of(one) : 0;
    return sum;
}

static int64_t find_gang(struct cache *cache, const struct obj *pod, const char **ret_name,
                         const struct obj **ret_set)
{
    *ret_set = NULL;
    *ret_name = note_of(pod, "muster.dev/gang");
    if (*ret_name != NULL)
        return number_of(note_of(pod, "muster.dev/gang-size"));
    *ret_name = label_of(pod, "kueue.x-k8s.io/pod-group-name");
    if (*ret_name != NULL)
        return number_of(note_of(pod, "kueue.x-k8s.io/pod-group-total-count"));
    *ret_name = label_of(pod, JOBSET_LABEL_NAME);
    const struct obj *set =
        *ret_name != NULL ? cache_get(cache, &KIND_JOBSET, obj_namespace(pod), *ret_name) : NULL;
    *ret_set = set;
    return set != NULL ? jobset_size(set) : 0;
}

static void follow_set(struct gang *gang, const struct obj *set)
{
    if (set == NULL || str_eq(gang->set, set->meta.uid))
        return;
    mem_free(gang->set);
    gang->set = mem_strdup(set->meta.uid);
    gang->is_outdated = true;
}

void binder_gang_join(struct binder *binder, struct cache *cache, struct guest *guest)
{
    const char *name;
    const struct obj *set;
    int64_t size = find_gang(cache, guest->pod, &name, &set);
    if (guest->gang != NULL || name == NULL || size <= 1)
        return;
    scoped_free char *key = mem_printf("%s/%s", obj_namespace(guest->pod), name);
    struct gang *gang = map_get(binder->gangs, key);
    if (gang == NULL) {
        gang = mem_zalloc(sizeof(*gang));
        gang->name = mem_strdup(key);
        TAILQ_INIT(&gang->waiting);
        (void)map_put(binder->gangs, key, gang);
    }
    gang->size = size;
    follow_set(gang, set);
    gang->n_members++;
    guest->gang = gang;
    if (guest->room != NULL)
        gang->n_placed++;
}

void binder_gang_leave(struct binder *binder, struct guest *guest)
{
    struct gang *gang = guest->gang;
    if (gang == NULL)
        return;
    binder_gang_stop_waiting(binder, guest);
    gang->n_placed -= guest->room != NULL;
    guest->gang = NULL;
    if (--gang->n_members > 0)
        return;
    (void)map_del(binder->gangs, gang->name);
    str_done(&gang->why);
    mem_free(gang->name);
    mem_free(gang->set);
    mem_free(gang);
}

void binder_gang_wait(struct binder *binder, struct guest *guest)
{
    if (guest->waits_in_gang)
        return;
    guest->waits_in_gang = true;
    guest->generation = guest->pod->meta.generation;
    guest->gang->n_waiting++;
    binder->n_waiting++;
    TAILQ_INSERT_TAIL(&guest->gang->waiting, guest, siblings);
}

void binder_gang_stop_waiting(struct binder *binder, struct guest *guest)
{
    if (!guest->waits_in_gang)
        return;
    guest->waits_in_gang = false;
    guest->gang->n_waiting--;
    binder->n_waiting--;
    TAILQ_REMOVE(&guest->gang->waiting, guest, siblings);
}

struct guest *binder_gang_job(struct binder *binder, const struct change *change)
{
    const struct obj *job = change->obj;
    const char *name = label_of(job, JOBSET_LABEL_NAME);
    bool is_gone = change->type == CHANGE_DELETED;
    if (name == NULL || (is_gone ? 0 : done_of(job)) == (change->old ? done_of(change->old) : 0))
        return NULL;
    scoped_free char *key = mem_printf("%s/%s", obj_namespace(job), name);
    struct gang *gang = map_get(binder->gangs, key);
    if (gang == NULL || gang->set == NULL)
        return NULL;
    gang->is_outdated = true;
    return TAILQ_FIRST(&gang->waiting);
}

int64_t binder_gang_wants(struct cache *cache, struct gang *gang)
{
    if (gang->is_outdated)
        gang->n_done = count_done(cache, gang->set);
    gang->is_outdated = false;
    return gang->size - gang->n_done;
}

bool binder_gang_is_due(const struct binder *binder, struct cache *cache, struct gang *gang)
{
    return gang->n_waiting > 0 && gang->tried_at != binder->version &&
           (int64_t)gang->n_waiting >= binder_gang_wants(cache, gang);
}

/* ---- room for all ---- */

static int by_owner(const void *a, const void *b)
{
    const struct guest *left = *(struct guest *const *)a, *right = *(struct guest *const *)b;
    int order =
        strcmp(left->owner != NULL ? left->owner : "", right->owner != NULL ? right->owner : "");
    return order != 0 ? order : strcmp(left->key, right->key);
}

static void undo(struct binder *binder, struct guest_vec *members, size_t from, size_t to)
{
    while (to > from)
        binder_guest_give(binder, members->of.items[--to]);
}

static bool same_owner(const struct guest *a, const struct guest *b)
{
    return str_eq(a->owner, b->owner);
}

struct placing { /* the members of one owner, or all that have none */
    struct binder *binder;
    struct guest_vec *members;
    size_t first, end; /* from one to behind the other */
    bool may_move;     /* they have to share a domain, and none is taken yet */
    bool has_moved;
};

static struct guest *member(const struct placing *placing, size_t i)
{
    return placing->members->of.items[i];
}

/* Who wants to be near another member comes after it. True: there was somebody to let go first. */
static bool goes_later(const struct placing *placing, size_t i, size_t *n_deferred)
{
    struct guest **of = placing->members->of.items;
    struct guest *guest = of[i];
    size_t left = placing->end - i;
    if (binder_class_need(placing->binder, guest)->n_wanted == 0 || ++*n_deferred >= left)
        return false;
    memmove(&of[i], &of[i + 1], (left - 1) * sizeof(*of));
    of[placing->end - 1] = guest;
    return true;
}

/* One domain is too small for all of them: the next time not this one. False: there is none left,
 * or it is not a matter of domains. */
static bool try_elsewhere(struct placing *placing, size_t tried)
{
    struct guest *leader = member(placing, placing->first);
    if (!placing->may_move || tried == BIND_NONE)
        return false;
    placing->has_moved = true;
    bind_shun(placing->binder->bind, binder_class_need(placing->binder, leader)->spreads[0].rules,
              tried);
    return true;
}

static bool may_move(struct binder *binder, const struct guest *leader)
{
    struct pod_class *class = binder_class_need(binder, leader);
    if (leader->owner != NULL)
        return bind_home(binder->bind, class->spreads[0].rules, leader->owner) == NULL;
    return near_may_be_first(class);
}

static void note_why(const struct placing *placing, struct guest *guest)
{
    struct str *why = &guest->gang->why; /* while the others have their rooms */
    if (placing->may_move && why->len > 0)
        return;
    str_clear(why);
    str_add(why, binder_why(placing->binder, guest));
}

/* All of them, or none. */
static bool place_all(struct placing *placing)
{
    struct binder *binder = placing->binder;
    size_t n_deferred = 0;
    for (size_t i = placing->first; i < placing->end;) {
        struct guest *guest = member(placing, i);
        struct room *room =
            binder_class_pick(binder, binder_class_need(binder, guest), guest->owner);
        if (room != NULL) {
            binder_guest_take(binder, guest, room);
            n_deferred = 0;
            i++;
            continue;
        }
        if (goes_later(placing, i, &n_deferred))
            continue;
        size_t tried = i > placing->first ? member(placing, placing->first)->room->id : BIND_NONE;
        note_why(placing, guest);
        undo(binder, placing->members, placing->first, i);
        if (!try_elsewhere(placing, tried))
            return false;
        n_deferred = 0;
        i = placing->first;
    }
    return true;
}

/* Those of one owner, from `first` on: where the next owner begins, or where it got stuck (then
 * nothing of this owner is placed). An exclusive owner needs one domain for all of its pods, and so
 * do pods that want to be near each other: when one is too small the next is tried. */
static size_t place_owner(struct binder *binder, struct guest_vec *members, size_t first,
                          bool *ret_is_stuck)
{
    struct guest *leader = members->of.items[first];
    struct placing placing = {.binder = binder,
                              .members = members,
                              .first = first,
                              .end = first,
                              .may_move = may_move(binder, leader)};
    while (placing.end < members->of.len && same_owner(leader, members->of.items[placing.end]))
        placing.end++;
    *ret_is_stuck = !place_all(&placing);
    if (placing.has_moved)
        (void)map_each(binder->classes, binder_class_unshun, binder);
    return *ret_is_stuck ? first : placing.end;
}

bool binder_gang_try(struct binder *binder, struct gang *gang, struct guest_vec *ret_members)
{
    struct guest *guest;
    bool is_stuck = false;
    uint64_t version = binder->version;
    vec_clear(&ret_members->of);
    TAILQ_FOREACH(guest, &gang->waiting, siblings)
    {
        vec_push(&ret_members->of, guest);
    }
    qsort(ret_members->of.items, ret_members->of.len, sizeof(struct guest *), by_owner);
    str_clear(&gang->why);
    binder->is_trying = true;
    size_t i = 0, n = ret_members->of.len;
    while (i < n && !is_stuck)
        i = place_owner(binder, ret_members, i, &is_stuck);
    if (is_stuck) {
        undo(binder, ret_members, 0, i);
        binder->version = gang->tried_at = version; /* all is as it was */
    }
    binder->is_trying = false;
    for (i = 0; !is_stuck && i < n; i++) {
        binder_gang_stop_waiting(binder, ret_members->of.items[i]);
        ret_members->of.items[i]->is_promised = true;
    }
    return !is_stuck;
}
