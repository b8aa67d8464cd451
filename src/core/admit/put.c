// SPDX-License-Identifier: Apache-2.0
/* Facts in. What says the same as before changes nothing, so hosts may put as often as they like.
 */
#include "core/admit/admit_internal.h"
#include <assert.h>
#include <errno.h>

/* ---- quotas ---- */

static int check_group(const struct admit_group *group, const char *owner, struct err *err)
{
    if (group->n_resources == 0 || group->n_flavors == 0)
        return err_set(err, -EINVAL, "%s: a resource group without %s", owner,
                       group->n_flavors == 0 ? "flavors" : "covered resources");
    for (size_t i = 0; i < group->n_flavors; i++) {
        for (size_t j = i + 1; j < group->n_flavors; j++) {
            if (str_eq(group->flavors[i], group->flavors[j]))
                return err_set(err, -EINVAL, "%s: flavor %s is listed twice", owner,
                               group->flavors[i]);
        }
    }
    for (size_t i = 0; i < group->n_flavors * group->n_resources; i++) {
        const struct admit_quota *quota = &group->quotas[i];
        if (quota->nominal < 0 || quota->borrowing < ADMIT_NO_LIMIT ||
            quota->lending < ADMIT_NO_LIMIT)
            return err_set(err, -EINVAL, "%s: quota of %s in flavor %s is below zero", owner,
                           group->resources[i % group->n_resources],
                           group->flavors[i / group->n_resources]);
    }
    return 0;
}

static int check_groups(const struct admit_group *groups, size_t n, const char *owner,
                        struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        int r = check_group(&groups[i], owner, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Equal texts are equal quotas. */
static void write_groups(struct str *out, const struct admit_group *groups, size_t n)
{
    for (size_t g = 0; g < n; g++) {
        for (size_t r = 0; r < groups[g].n_resources; r++)
            str_addf(out, "%s\x1f", groups[g].resources[r]);
        for (size_t f = 0; f < groups[g].n_flavors; f++) {
            str_addf(out, "\x1e%s", groups[g].flavors[f]);
            for (size_t r = 0; r < groups[g].n_resources; r++) {
                const struct admit_quota *quota = &groups[g].quotas[f * groups[g].n_resources + r];
                str_addf(out, "\x1f%lld,%lld,%lld", (long long)quota->nominal,
                         (long long)quota->borrowing, (long long)quota->lending);
            }
        }
        str_addc(out, '\x1c');
    }
}

static amount limit_of(int64_t limit)
{
    return limit == ADMIT_NO_LIMIT ? AMOUNT_NONE : limit;
}

static void clear_quotas(struct node *node)
{
    for (size_t i = 0; i < node->cells.len; i++) {
        node->cells.items[i]->nominal = 0;
        node->cells.items[i]->borrowing = node->cells.items[i]->lending = AMOUNT_NONE;
    }
}

static struct cell *set_quota(struct admit *admit, struct node *node,
                              const struct admit_group *group, size_t flavor, size_t resource)
{
    const struct admit_quota *quota = &group->quotas[flavor * group->n_resources + resource];
    struct cell *cell = cell_make(node, flavor_of(admit, group->flavors[flavor]),
                                  intern(admit, group->resources[resource]));
    cell->nominal = quota->nominal;
    cell->borrowing = limit_of(quota->borrowing);
    cell->lending = limit_of(quota->lending);
    return cell;
}

static void fill_group(struct admit *admit, struct queue *queue, struct group *group,
                       const struct admit_group *from)
{
    group->n_resources = from->n_resources;
    group->n_flavors = from->n_flavors;
    group->resources = mem_zalloc(from->n_resources * sizeof(char *));
    group->flavors = mem_zalloc(from->n_flavors * sizeof(struct flavor *));
    group->cells = mem_zalloc(from->n_flavors * from->n_resources * sizeof(struct cell *));
    for (size_t r = 0; r < from->n_resources; r++)
        group->resources[r] = intern(admit, from->resources[r]);
    for (size_t f = 0; f < from->n_flavors; f++) {
        group->flavors[f] = flavor_of(admit, from->flavors[f]);
        for (size_t r = 0; r < from->n_resources; r++)
            group->cells[f * from->n_resources + r] = set_quota(admit, &queue->node, from, f, r);
    }
}

static void drop_groups(struct queue *queue)
{
    for (size_t i = 0; i < queue->n_groups; i++) {
        mem_free(queue->groups[i].resources);
        mem_free(queue->groups[i].flavors);
        mem_free(queue->groups[i].cells);
    }
    mem_free(queue->groups);
    queue->groups = NULL;
    queue->n_groups = 0;
    clear_quotas(&queue->node);
}

void queue_free(struct queue *queue)
{
    drop_groups(queue);
    consent_drop(queue);
    vec_done(&queue->consents);
    cells_free(&queue->node);
    map_free(queue->shapes);
    struct pq *pqs[] = {&queue->tries,  &queue->parked,       &queue->aside,
                        &queue->lowest, &queue->scope.queues, &queue->own_tree.scope.queues};
    for (size_t i = 0; i < ARRAY_LEN(pqs); i++)
        pq_done(pqs[i]);
    tree_done(&queue->own_tree);
    vec_done(&queue->holders);
    vec_done(&queue->reserve);
    vec_done(&queue->locals);
    mem_free(queue->spec);
    mem_free(queue->cohort);
    mem_free(queue);
}

static void write_queue(struct str *out, const struct admit_queue *from)
{
    const struct admit_preemption *rules = &from->preemption;
    str_addf(out, "%s\x1f%d%d%d%d%d%d,%lld,%d%d%d\x1f", from->cohort ? from->cohort : "",
             from->strategy, from->stop, rules->within, rules->reclaim,
             rules->borrows_within_cohort, rules->has_threshold, (long long)rules->threshold,
             from->borrow_tries_next, from->preempt_tries_next, from->prefers_preemption);
    write_groups(out, from->groups, from->n_groups);
    consent_write(out, from);
}

int admit_put_queue(struct admit *admit, const struct admit_queue *from, time_ms now,
                    struct err *err)
{
    (void)now;
    int r = check_groups(from->groups, from->n_groups, from->name, err);
    if (r < 0)
        return r;
    scoped_str spec = {0};
    write_queue(&spec, from);
    struct queue *queue = queue_of(admit, from->name);
    if (queue->is_known && str_eq(queue->spec, str_text(&spec)))
        return 0;
    tree_unpark(admit); /* nobody waits in cells that may go */
    drop_groups(queue);
    mem_free(queue->spec);
    queue->spec = str_take(&spec);
    mem_free(queue->cohort);
    queue->cohort = mem_strdup(from->cohort);
    queue->rules = *from;
    queue->is_known = true;
    queue->n_groups = from->n_groups;
    queue->groups = mem_zalloc((from->n_groups + 1) * sizeof(*queue->groups));
    for (size_t i = 0; i < from->n_groups; i++)
        fill_group(admit, queue, &queue->groups[i], &from->groups[i]);
    consent_put(admit, queue, from);
    queue->needs_settling = true;
    queue_changed(admit, queue);
    return 0;
}

void admit_remove_queue(struct admit *admit, const char *name, time_ms now)
{
    struct queue *queue = map_get(admit->queues, name);
    (void)now;
    if (!queue || !queue->is_known)
        return;
    tree_unpark(admit);
    drop_groups(queue);
    queue->is_known = false;
    queue->needs_settling = true;
}

int admit_put_cohort(struct admit *admit, const struct admit_cohort *from, time_ms now,
                     struct err *err)
{
    (void)now;
    int r = check_groups(from->groups, from->n_groups, from->name, err);
    if (r < 0)
        return r;
    scoped_str spec = {0};
    str_addf(&spec, "%s\x1f", from->parent ? from->parent : "");
    write_groups(&spec, from->groups, from->n_groups);
    struct cohort *cohort = cohort_of(admit, from->name);
    if (cohort->spec && str_eq(cohort->spec, str_text(&spec)))
        return 0;
    tree_unpark(admit);
    mem_free(cohort->spec);
    cohort->spec = str_take(&spec);
    mem_free(cohort->parent);
    cohort->parent = mem_strdup(from->parent);
    clear_quotas(&cohort->node);
    for (size_t g = 0; g < from->n_groups; g++) {
        const struct admit_group *group = &from->groups[g];
        for (size_t i = 0; i < group->n_flavors * group->n_resources; i++)
            (void)set_quota(admit, &cohort->node, group, i / group->n_resources,
                            i % group->n_resources);
    }
    return 0;
}

void admit_remove_cohort(struct admit *admit, const char *name, time_ms now)
{
    struct cohort *cohort = map_get(admit->cohorts, name);
    (void)now;
    if (!cohort || !cohort->spec)
        return;
    tree_unpark(admit);
    clear_quotas(&cohort->node);
    mem_free(take_ptr(cohort->spec));
    mem_free(take_ptr(cohort->parent));
}

static void set_flavor(struct admit *admit, const char *name, bool exists)
{
    struct flavor *flavor = flavor_of(admit, name);
    if (flavor->exists == exists)
        return;
    flavor->exists = exists;
    tree_unpark(admit);
}

void admit_put_flavor(struct admit *admit, const char *name, time_ms now)
{
    (void)now;
    set_flavor(admit, name, true);
}

void admit_remove_flavor(struct admit *admit, const char *name, time_ms now)
{
    (void)now;
    set_flavor(admit, name, false);
}

/* ---- local queues ---- */

static void local_point(struct local *local, struct queue *queue)
{
    if (local->queue == queue)
        return;
    if (local->queue) {
        for (size_t i = 0; i < local->queue->locals.len; i++) {
            if (local->queue->locals.items[i] == local) {
                vec_remove_swap(&local->queue->locals, i);
                break;
            }
        }
    }
    local->queue = queue;
    if (queue)
        vec_push(&queue->locals, local);
}

void admit_put_local(struct admit *admit, const struct admit_local *from, time_ms now)
{
    struct local *local = local_of(admit, from->key);
    struct queue *queue = queue_of(admit, from->queue);
    if (local->is_known && local->queue == queue && local->stop == from->stop &&
        local->is_refused == from->is_namespace_refused)
        return;
    if (local->queue != queue) {
        for (size_t i = 0; i < local->wls.len; i++)
            wl_unplace(admit, local->wls.items[i]);
        local_point(local, queue);
    }
    local->is_known = true;
    local->stop = from->stop;
    local->is_refused = from->is_namespace_refused;
    local_changed(admit, local);
    wl_settle_local(admit, local, now);
}

void admit_remove_local(struct admit *admit, const char *key, time_ms now)
{
    struct local *local = map_get(admit->locals, key);
    if (!local || !local->is_known)
        return;
    for (size_t i = 0; i < local->wls.len; i++)
        wl_unplace(admit, local->wls.items[i]);
    local->is_known = false;
    local_point(local, NULL);
    wl_settle_local(admit, local, now);
}
