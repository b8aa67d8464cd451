// SPDX-License-Identifier: Apache-2.0
/* Answers for people. Nothing here is kept up to date: it is worked out when somebody asks. */
#include "core/admit/admit_internal.h"
#include <assert.h>

/* ---- what is missing ---- */

struct lister {
    struct admit *admit;
    struct queue *queue;
    const struct wl *wl;
    VEC(struct admit_shortage) found;
};

static amount needed_of(const struct spec_set *set, const char *resource)
{
    amount needed = 0;
    for (size_t i = 0; i < set->n_needs; i++) {
        if (set->needs[i].resource == resource)
            needed += (amount)set->needs[i].amount * set->count;
    }
    return needed;
}

static void list_cell(struct lister *lister, const char *pod_set, const struct cell *cell,
                      amount needed)
{
    amount available = quota_available(cell);
    if (needed == 0 || needed <= available)
        return;
    vec_push(&lister->found,
             ((struct admit_shortage){.pod_set = pod_set,
                                      .flavor = cell->flavor->name,
                                      .resource = cell->resource,
                                      .needed = amount_int(needed),
                                      .available = amount_int(available > 0 ? available : 0),
                                      .capacity = amount_int(cell->potential)}));
}

static void list_flavor(struct lister *lister, const struct spec_set *set,
                        const struct group *group, size_t flavor)
{
    const char *name = group->flavors[flavor]->name;
    for (size_t i = 0; i < set->n_unfit; i++) {
        if (set->unfit[i] == group->flavors[flavor]) {
            vec_push(
                &lister->found,
                ((struct admit_shortage){
                    .pod_set = set->name, .flavor = name, .resource = "", .why = set->why[i]}));
            return;
        }
    }
    for (size_t r = 0; r < group->n_resources; r++)
        list_cell(lister, set->name, group->cells[flavor * group->n_resources + r],
                  needed_of(set, group->resources[r]));
}

static void list_set(struct lister *lister, const struct spec_set *set)
{
    for (size_t i = 0; i < set->n_needs; i++) {
        bool is_covered = set->needs[i].is_implied;
        for (size_t g = 0; g < lister->queue->n_groups; g++) {
            for (size_t r = 0; r < lister->queue->groups[g].n_resources; r++)
                is_covered =
                    is_covered || lister->queue->groups[g].resources[r] == set->needs[i].resource;
        }
        if (!is_covered)
            vec_push(&lister->found,
                     ((struct admit_shortage){.pod_set = set->name,
                                              .flavor = "",
                                              .resource = set->needs[i].resource,
                                              .why = "the queue has no quota for it"}));
    }
    for (size_t g = 0; g < lister->queue->n_groups; g++) {
        for (size_t f = 0; f < lister->queue->groups[g].n_flavors; f++)
            list_flavor(lister, set, &lister->queue->groups[g], f);
    }
}

static bool is_unfit(const struct spec *spec, const struct flavor *flavor)
{
    for (size_t i = 0; i < spec->n_sets; i++) {
        for (size_t k = 0; k < spec->sets[i].n_unfit; k++) {
            if (spec->sets[i].unfit[k] == flavor)
                return true;
        }
    }
    return false;
}

static bool lacks_quota(const struct lister *lister)
{
    for (size_t i = 0; i < lister->found.len; i++) {
        const struct admit_shortage *shortage = &lister->found.items[i];
        if (!shortage->why || shortage->flavor[0] == '\0')
            return true;
    }
    return false;
}

/* Each pod set would fit, and not all of them: what they need of a flavor together. */
static void list_together(struct lister *lister)
{
    const struct spec *spec = lister->wl->spec;
    struct str names = {0};
    for (size_t i = 0; i < spec->n_sets; i++)
        str_addf(&names, "%s%s", i > 0 ? " + " : "", spec->sets[i].name);
    const char *together = arena_strdup(&lister->admit->view, str_text(&names));
    str_done(&names);
    for (size_t g = 0; g < lister->queue->n_groups; g++) {
        const struct group *group = &lister->queue->groups[g];
        for (size_t k = 0; k < group->n_flavors * group->n_resources; k++) {
            amount needed = 0;
            if (is_unfit(spec, group->flavors[k / group->n_resources]))
                continue;
            for (size_t i = 0; i < spec->n_sets; i++)
                needed += needed_of(&spec->sets[i], group->resources[k % group->n_resources]);
            list_cell(lister, together, group->cells[k], needed);
        }
    }
}

static void list_shortages(struct admit *admit, const struct wl *wl, struct admit_view *view)
{
    struct lister lister = {.admit = admit, .queue = wl->local->queue, .wl = wl};
    for (size_t i = 0; i < wl->spec->n_sets; i++)
        list_set(&lister, &wl->spec->sets[i]);
    if (wl->spec->n_sets > 1 && !lacks_quota(&lister))
        list_together(&lister);
    struct admit_shortage *out = arena_alloc(&admit->view, (lister.found.len + 1) * sizeof(*out));
    for (size_t i = 0; i < lister.found.len; i++)
        out[i] = lister.found.items[i];
    view->shortages = out;
    view->n_shortages = lister.found.len;
    vec_done(&lister.found);
}

/* ---- sentences ---- */

static const char *finish(struct admit *admit, struct str *text)
{
    const char *kept = arena_strdup(&admit->view, str_text(text));
    str_done(text);
    return kept;
}

/* Made of what does not change while it waits, so that it is written once. */
static void shortage_text(struct str *out, const struct admit_shortage *shortage)
{
    if (shortage->why && shortage->flavor[0] == '\0') {
        str_addf(out, "resource %s: %s", shortage->resource, shortage->why);
    } else if (shortage->why) {
        str_addf(out, "flavor %s: %s", shortage->flavor, shortage->why);
    } else {
        bool is_ever = shortage->needed <= shortage->capacity;
        str_addf(out, "insufficient %squota for %s in flavor %s (needs ", is_ever ? "unused " : "",
                 shortage->resource, shortage->flavor);
        amount_text(out, shortage->needed);
        if (!is_ever) {
            str_add(out, ", at most ");
            amount_text(out, shortage->capacity);
        }
        str_addc(out, ')');
    }
}

static const char *no_quota_message(struct admit *admit, const struct wl *wl,
                                    const struct admit_view *view)
{
    struct str text = {0};
    if (view->n_shortages == 0) {
        bool is_reserved = wl->shape && wl->shape->is_reserved;
        str_add(&text,
                is_reserved
                    ? "the quota that it would borrow is kept for a workload that comes first"
                    : "its pod sets do not fit together");
        return finish(admit, &text);
    }
    for (size_t i = 0; i < view->n_shortages && text.len < 900; i++) {
        const struct admit_shortage *shortage = &view->shortages[i];
        bool is_first_of_set = i == 0 || !str_eq(shortage->pod_set, shortage[-1].pod_set);
        if (i > 0)
            str_add(&text, is_first_of_set ? "; " : ", ");
        if (is_first_of_set)
            str_addf(&text, "couldn't assign flavors to pod set %s: ", shortage->pod_set);
        shortage_text(&text, shortage);
    }
    return finish(admit, &text);
}

/* What has to happen for the flavor that is nearest. */
static const char *no_quota_hint(struct admit *admit, const struct wl *wl,
                                 const struct admit_view *view)
{
    const struct admit_shortage *best = NULL;
    for (size_t i = 0; i < view->n_shortages; i++) {
        const struct admit_shortage *shortage = &view->shortages[i];
        if (shortage->why && shortage->flavor[0] == '\0')
            return arena_printf(&admit->view,
                                "it can never fit: give ClusterQueue %s quota for %s, or do not "
                                "ask for it",
                                wl->local->queue->node.name, shortage->resource);
        bool can = !shortage->why && shortage->needed <= shortage->capacity;
        if (can &&
            (!best || shortage->needed - shortage->available < best->needed - best->available))
            best = shortage;
    }
    struct str text = {0};
    if (best) {
        amount_text(&text, best->needed - best->available);
        str_addf(&text, " more of %s in flavor %s has to become free in ClusterQueue %s",
                 best->resource, best->flavor, wl->local->queue->node.name);
    } else if (view->n_shortages > 0) {
        str_addf(&text, "it can never fit: raise the quota of ClusterQueue %s or ask for less",
                 wl->local->queue->node.name);
    }
    return finish(admit, &text);
}

static const char *held_message(struct admit *admit, const struct wl *wl, const char **ret_hint)
{
    const struct local *local = wl->local;
    if (wl->facts.is_deleted)
        return "it is being deleted";
    if (wl->facts.missing > 0) {
        *ret_hint = "create pods with the labels of the group, in place of those that are gone";
        return arena_printf(&admit->view, "%lld of the pods of its group are missing",
                            (long long)wl->facts.missing);
    }
    if (!local->is_known) {
        *ret_hint = "create that LocalQueue, or name another in spec.queueName";
        return arena_printf(&admit->view, "LocalQueue %s does not exist", local->key);
    }
    assert(local->queue); /* one that does not exist is there as well, inactive */
    if (local->is_refused) {
        *ret_hint = "let the ClusterQueue's namespaceSelector match, or use another queue";
        return arena_printf(&admit->view, "ClusterQueue %s does not serve this namespace",
                            local->queue->node.name);
    }
    if (local->stop != STOP_NONE) {
        *ret_hint = "set the LocalQueue's stopPolicy to None";
        return arena_printf(&admit->view, "LocalQueue %s is stopped", local->key);
    }
    *ret_hint = str_eq(local->queue->inactive, "Stopped")
                    ? "set the ClusterQueue's stopPolicy to None"
                    : "put the ClusterQueue right";
    return arena_printf(&admit->view, "ClusterQueue %s cannot be used: %s", local->queue->node.name,
                        local->queue->inactive_message);
}

/* ---- who is in the way ---- */

static bool is_in_way(const struct admit *admit, const struct wl *wl, const struct wl *holder)
{
    switch (admit->settings.scope) {
    case SCOPE_CLUSTER:
        return true;
    case SCOPE_COHORT:
        return holder->holds_in->tree == wl->local->queue->tree;
    case SCOPE_QUEUE:
        return holder->holds_in == wl->local->queue;
    case SCOPE_FLAVOR:
        for (size_t i = 0; i < holder->uses.len; i++) {
            if (wl->shape && holder->uses.items[i].cell->flavor == wl->shape->flavor)
                return true;
        }
        return false;
    }
    return false;
}

static void find_unready(struct admit *admit, const struct wl *wl, struct admit_view *view)
{
    for (size_t i = 0; i < admit->queue_list.len; i++) {
        const struct queue *queue = admit->queue_list.items[i];
        for (size_t j = 0; j < queue->holders.len; j++) {
            const struct wl *holder = queue->holders.items[j];
            if (!holder->is_unready || !is_in_way(admit, wl, holder))
                continue;
            view->blocker = view->blocker ? view->blocker : holder->key;
            view->n_blockers++;
        }
    }
}

static void find_victims(const struct wl *wl, struct admit_view *view)
{
    const struct tree *tree = wl->local->queue->tree;
    for (size_t i = 0; i < tree->queues.len; i++) {
        const struct queue *queue = tree->queues.items[i];
        for (size_t j = 0; j < queue->holders.len; j++) {
            if (queue->holders.items[j]->facts.evicted == EVICTED_NOT)
                continue;
            view->blocker = view->blocker ? view->blocker : queue->holders.items[j]->key;
            view->n_blockers++;
        }
    }
}

static void find_position(const struct wl *wl, struct admit_view *view)
{
    const struct queue *queue = wl->local->queue;
    assert(queue); /* who has a place waits in one */
    const struct wl *first = NULL;
    view->position = 1;
    for (size_t i = 0; i < queue->locals.len; i++) {
        const struct local *local = queue->locals.items[i];
        for (size_t j = 0; j < local->wls.len; j++) {
            const struct wl *other = local->wls.items[j];
            if (other == wl || (!other->shape && !other->is_claiming) || !wl_is_before(other, wl))
                continue;
            view->position++;
            if (!first || wl_is_before(other, first))
                first = other;
        }
    }
    if (queue->rules.strategy == STRICT_FIFO && first && view->state == STATE_QUEUED) {
        view->state = STATE_BEHIND;
        view->blocker = first->key;
        view->n_blockers = 1;
    }
}

/* ---- the whole ---- */

/* Of one that waits: `briefly` is the message alone, without looking at all of its queue. */
static void explain_queued(struct admit *admit, const struct wl *wl, bool briefly,
                           struct admit_view *view)
{
    const struct shape *shape = wl->shape;
    if (shape && shape->state == SHAPE_PARKED)
        view->state = STATE_NO_QUOTA;
    else if (shape && shape->state == SHAPE_ASIDE)
        view->state = STATE_BLOCKED;
    if (!briefly)
        find_position(wl, view);
    switch ((int)view->state) {
    case STATE_NO_QUOTA:
        list_shortages(admit, wl, view);
        view->message = no_quota_message(admit, wl, view);
        view->hint = no_quota_hint(admit, wl, view);
        break;
    case STATE_BLOCKED:
        if (!briefly)
            find_unready(admit, wl, view);
        view->message = "waiting for all admitted workloads to be in the PodsReady condition";
        view->hint = "it is its turn as soon as those are ready, finished or evicted";
        break;
    case STATE_BEHIND:
        view->message =
            arena_printf(&admit->view, "waits behind %s in a StrictFIFO queue", view->blocker);
        view->hint = "the first has to be admitted, or the queue made BestEffortFIFO";
        break;
    default:
        view->message = "queued";
        break;
    }
}

static time_ms shown(time_ms at)
{
    return at == TIME_NEVER ? 0 : at;
}

static void explain_reserved(struct admit *admit, const struct wl *wl, struct admit_view *view)
{
    const char *check = NULL;
    (void)consent_of(wl, wl->holds_in, &check);
    if (!check) {
        view->message = "has quota";
        return;
    }
    view->message = arena_printf(&admit->view, "has quota; waits for admission check %s", check);
    view->hint = arena_printf(&admit->view,
                              "who answers for AdmissionCheck %s has to say Ready in "
                              "status.admissionChecks",
                              check);
}

static void explain_holder(struct admit *admit, const struct wl *wl, struct admit_view *view)
{
    view->queue = wl->holds_in->node.name;
    if (view->state != STATE_EVICTING) {
        view->evict_at = shown(due_patience(admit, &wl->facts));
        view->over_at = shown(due_over(&wl->facts));
    }
    if (view->state == STATE_EVICTING) {
        view->message = arena_printf(&admit->view,
                                     "evicted (%s); its quota is free when its pods "
                                     "are gone",
                                     admit_evicted_text(wl->facts.evicted));
    } else if (view->state == STATE_RESERVED) {
        explain_reserved(admit, wl, view);
    } else if (wl->facts.ready != READY_YES && admit->settings.waits_for_ready) {
        view->message = wl->facts.ready == READY_WAITS_RECOVERY
                            ? "admitted; not all of its pods are ready any more"
                            : "admitted; waits for its pods to be ready";
    } else {
        view->message = "admitted";
    }
}

static const char *inactive_message(const struct wl *wl)
{
    enum admit_evicted why = wl->facts.is_held ? wl->facts.held_by : wl->facts.evicted;
    if (why == EVICTED_LIMIT)
        return "deactivated: it did not get ready within the limit of retries";
    if (why == EVICTED_TOO_LONG)
        return "deactivated: it has run for its maximum execution time";
    if (why == EVICTED_REFUSED)
        return "deactivated: an admission check has rejected it";
    return "deactivated";
}

static void explain_wait(struct admit *admit, const struct wl *wl, bool briefly,
                         struct admit_view *view)
{
    switch ((int)view->state) {
    case STATE_HELD:
        view->message = held_message(admit, wl, &view->hint);
        break;
    case STATE_BACKOFF:
        view->retry_at = wl->facts.requeue_at;
        view->message = wl->facts.held_by == EVICTED_CHECK
                            ? "an admission check asked to try again later"
                            : "it did not get ready in time and pauses before the next try";
        break;
    case STATE_INACTIVE:
        view->message = inactive_message(wl);
        view->hint = "set spec.active to true to queue it again";
        break;
    case STATE_PREEMPTING:
        if (!briefly) {
            find_position(wl, view);
            find_victims(wl, view);
        }
        view->message = "preempted others and waits until they are gone";
        break;
    case STATE_FINISHED:
        view->message = "finished";
        break;
    default:
        explain_queued(admit, wl, briefly, view);
        break;
    }
}

void admit_explain(struct admit *admit, const char *key, time_ms now, struct admit_view *ret_view)
{
    arena_reset(&admit->view);
    *ret_view = (struct admit_view){
        .limit_count = admit->settings.limit_count, .message = "not known", .hint = ""};
    const struct wl *wl = map_get(admit->wls, key);
    (void)now;
    if (!wl)
        return;
    ret_view->state = wl->state;
    ret_view->requeue_count = wl->facts.requeue_count;
    if (wl->local->queue) {
        ret_view->queue = wl->local->queue->node.name;
        ret_view->n_pending = wl->local->queue->pending;
    }
    if (wl->holds_in)
        explain_holder(admit, wl, ret_view);
    else
        explain_wait(admit, wl, false, ret_view);
}

const char *explain_briefly(struct admit *admit, const struct wl *wl)
{
    struct admit_view view = {.state = wl->state, .message = "", .hint = ""};
    arena_reset(&admit->view);
    explain_wait(admit, wl, true, &view);
    return view.message;
}

/* ---- counts ---- */

/* What claims hold back is not usage: nobody has it yet. */
static struct admit_usage usage_of(const struct cell *cell)
{
    amount borrowed = cell->reserved > cell->nominal ? cell->reserved - cell->nominal : 0;
    return (struct admit_usage){cell->flavor->name,         cell->resource,
                                amount_int(cell->nominal),  amount_int(cell->reserved),
                                amount_int(cell->admitted), amount_int(borrowed)};
}

void admit_queue_counts(struct admit *admit, const char *name, struct admit_counts *ret_counts)
{
    const struct queue *queue = map_get(admit->queues, name);
    *ret_counts = (struct admit_counts){0};
    arena_reset(&admit->view);
    if (!queue || !queue->is_known)
        return;
    ret_counts->is_known = true;
    ret_counts->inactive = queue->inactive;
    ret_counts->inactive_message = queue->inactive_message;
    ret_counts->pending = queue->pending;
    ret_counts->reserving = queue->reserving;
    ret_counts->admitted = queue->admitted;
    ret_counts->admissions = queue->admissions;
    memcpy(ret_counts->evictions, queue->evictions, sizeof(queue->evictions));
    struct admit_usage *out = arena_alloc(&admit->view, (queue->node.cells.len + 1) * sizeof(*out));
    for (size_t g = 0; g < queue->n_groups; g++) {
        const struct group *group = &queue->groups[g];
        for (size_t i = 0; i < group->n_flavors * group->n_resources; i++)
            out[ret_counts->n_usage++] = usage_of(group->cells[i]);
    }
    ret_counts->usage = out;
}

/* Who stands behind the first of a StrictFIFO queue is in the queue as he is. */
static bool count_active(void *arg, const char *key, void *value)
{
    const struct shape *shape = value;
    size_t *active = arg;
    (void)key;
    if (shape->state != SHAPE_PARKED || shape->queue->rules.strategy == STRICT_FIFO)
        *active += shape->wls.len;
    return true;
}

size_t admit_queue_active(const struct admit *admit, const char *name)
{
    const struct queue *queue = map_get(admit->queues, name);
    if (!queue || !queue->is_known || queue->inactive)
        return 0;
    size_t active = queue->n_claims;
    (void)map_each(queue->shapes, count_active, &active);
    return active;
}

void admit_local_counts(struct admit *admit, const char *key, struct admit_counts *ret_counts)
{
    const struct local *local = map_get(admit->locals, key);
    *ret_counts = (struct admit_counts){0};
    arena_reset(&admit->view);
    if (!local || !local->is_known)
        return;
    ret_counts->is_known = true;
    bool is_stopped = local->stop != STOP_NONE;
    ret_counts->inactive = is_stopped               ? "Stopped"
                           : local->queue->inactive ? "ClusterQueueIsInactive"
                                                    : NULL;
    ret_counts->inactive_message =
        is_stopped ? "it is stopped (stopPolicy)" : local->queue->inactive_message;
    ret_counts->pending = local->pending;
    ret_counts->reserving = local->reserving;
    ret_counts->admitted = local->admitted;
    ret_counts->admissions = local->admissions;
    memcpy(ret_counts->evictions, local->evictions, sizeof(local->evictions));
    struct admit_usage *out = arena_alloc(&admit->view, (local->use.len + 1) * sizeof(*out));
    for (size_t i = 0; i < local->use.len; i++) {
        const struct local_use *use = &local->use.items[i];
        out[i] = (struct admit_usage){use->cell->flavor->name,   use->cell->resource,   0,
                                      amount_int(use->reserved), amount_int(use->used), 0};
    }
    ret_counts->usage = out;
    ret_counts->n_usage = local->use.len;
}
