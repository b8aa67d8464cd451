// SPDX-License-Identifier: Apache-2.0
/* Which flavor each resource of each pod set gets. Flavors are looked at in the order of the queue;
 * the first that fits without borrowing ends the search, others as flavorFungibility says; if none
 * ends it, the best is taken: fits, then takes back from others, then preempts. All or nothing: one
 * resource without a flavor and the whole does not fit. */
#include "core/admit/admit_internal.h"
#include <assert.h>

void attempt_done(struct attempt *attempt)
{
    mem_free(attempt->counts);
    mem_free(attempt->picks);
    vec_done(&attempt->uses);
    vec_done(&attempt->lacks);
    vec_done(&attempt->victims);
}

struct choice { /* of a flavor, for one pod set and one group */
    size_t flavor;
    enum mode mode;
    uint32_t level;
    bool can_ever; /* if it does not fit now: with `lack` it might */
    struct take lack;
};

static amount used_so_far(const struct attempt *attempt, const struct cell *cell)
{
    for (size_t i = 0; i < attempt->uses.len; i++) {
        if (attempt->uses.items[i].cell == cell)
            return attempt->uses.items[i].amount;
    }
    return 0;
}

/* How far it would borrow is told of the time when its victims are gone. */
static enum mode mode_by_preemption(struct admit *admit, struct attempt *attempt, struct take use,
                                    uint32_t *level)
{
    take_vec uses = {.items = &use, .len = 1, .cap = 1};
    if (!preempt_search(admit, attempt, &uses))
        return MODE_NO_CANDIDATES;
    *level = preempt_level(attempt, use);
    for (size_t i = 0; i < attempt->victims.len; i++) {
        if (attempt->victims.items[i].why == PREEMPT_IN_QUEUE)
            return MODE_PREEMPT;
    }
    return MODE_RECLAIM;
}

static void try_cell(struct admit *admit, struct attempt *attempt, struct take use,
                     struct choice *choice)
{
    struct cell *home = NULL;
    uint32_t level = quota_level(use.cell, use.amount, &home);
    bool fits = use.amount <= quota_available(use.cell);
    enum mode mode = fits ? MODE_FIT : MODE_NO_FIT;
    bool may_preempt = use.amount <= use.cell->nominal || (home && home->parent) ||
                       attempt->queue->rules.preemption.borrows_within_cohort;
    if (use.amount > use.cell->potential)
        choice->can_ever = false;
    else if (!fits && may_preempt)
        mode = mode_by_preemption(admit, attempt, use, &level);
    if (!fits && !choice->lack.cell)
        choice->lack = use;
    choice->level = level > choice->level ? level : choice->level;
    choice->mode = mode < choice->mode ? mode : choice->mode;
}

static bool group_has(const struct group *group, const char *resource, size_t *ret_index)
{
    for (size_t i = 0; i < group->n_resources; i++) {
        if (group->resources[i] == resource) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

static void try_flavor(struct admit *admit, struct attempt *attempt, size_t set_index,
                       const struct group *group, struct choice *choice)
{
    const struct spec_set *set = &attempt->wl->spec->sets[set_index];
    for (size_t i = 0, r; i < set->n_needs; i++) {
        if (!group_has(group, set->needs[i].resource, &r))
            continue;
        struct cell *cell = group->cells[choice->flavor * group->n_resources + r];
        amount needed = (amount)set->needs[i].amount * attempt->counts[set_index];
        try_cell(admit, attempt, (struct take){cell, needed + used_so_far(attempt, cell)}, choice);
    }
}

static bool is_unfit(const struct spec_set *set, const struct flavor *flavor)
{
    for (size_t i = 0; i < set->n_unfit; i++) {
        if (set->unfit[i] == flavor)
            return true;
    }
    return false;
}

static bool is_avoided(const struct attempt *attempt, const struct flavor *flavor)
{
    const failed_vec *failed = &attempt->wl->failed;
    for (size_t i = 0; i < failed->len; i++) {
        if (failed->items[i].flavor == flavor)
            return failed->items[i].until > attempt->now;
    }
    return false;
}

static bool can_ever(const struct attempt *attempt, size_t set_index, const struct group *group,
                     size_t flavor)
{
    const struct spec_set *set = &attempt->wl->spec->sets[set_index];
    for (size_t i = 0, r; i < set->n_needs; i++) {
        if (!group_has(group, set->needs[i].resource, &r))
            continue;
        const struct cell *cell = group->cells[flavor * group->n_resources + r];
        if ((amount)set->needs[i].amount * set->count > cell->potential)
            return false;
    }
    return true;
}

/* A flavor on which it failed is avoided only while there is another to go to. */
static bool can_avoid(const struct attempt *attempt, size_t set_index, const struct group *group)
{
    const struct spec_set *set = &attempt->wl->spec->sets[set_index];
    if (attempt->wl->failed.len == 0)
        return false;
    for (size_t f = 0; f < group->n_flavors; f++) {
        if (!is_unfit(set, group->flavors[f]) && !is_avoided(attempt, group->flavors[f]) &&
            can_ever(attempt, set_index, group, f))
            return true;
    }
    return false;
}

static bool ends_search(const struct queue *queue, const struct choice *choice)
{
    bool borrows = choice->level > 0;
    if (choice->mode == MODE_FIT)
        return !borrows || !queue->rules.borrow_tries_next;
    bool preempts = choice->mode == MODE_PREEMPT || choice->mode == MODE_RECLAIM;
    return preempts && !queue->rules.preempt_tries_next &&
           (!borrows || !queue->rules.borrow_tries_next);
}

static bool is_better(const struct queue *queue, const struct choice *a, const struct choice *b)
{
    if (queue->rules.prefers_preemption && a->mode > MODE_NO_CANDIDATES &&
        b->mode > MODE_NO_CANDIDATES && a->level != b->level)
        return a->level < b->level;
    if (a->mode != b->mode)
        return a->mode > b->mode;
    return a->level < b->level;
}

/* Also notes, for a shape that is parked then, what it lacks. */
static struct choice choose_flavor(struct admit *admit, struct attempt *attempt, size_t set_index,
                                   const struct group *group, size_t *ret_usable)
{
    const struct spec_set *set = &attempt->wl->spec->sets[set_index];
    struct choice best = {.flavor = SIZE_MAX};
    bool avoids = can_avoid(attempt, set_index, group);
    bool notes = attempt->mode == MODE_FIT; /* the first that fails is enough to wait for */
    for (size_t f = 0; f < group->n_flavors; f++) {
        if (is_unfit(set, group->flavors[f]) || (avoids && is_avoided(attempt, group->flavors[f])))
            continue;
        struct choice choice = {.flavor = f, .mode = MODE_FIT, .can_ever = true};
        try_flavor(admit, attempt, set_index, group, &choice);
        if (choice.mode != MODE_FIT && choice.can_ever && notes)
            vec_push(&attempt->lacks, choice.lack);
        (*ret_usable)++;
        if (best.flavor == SIZE_MAX || is_better(attempt->queue, &choice, &best))
            best = choice;
        if (ends_search(attempt->queue, &choice)) {
            best = choice;
            break;
        }
    }
    if (best.mode == MODE_FIT && notes)
        vec_clear(&attempt->lacks);
    return best;
}

static void use(struct attempt *attempt, struct cell *cell, amount more)
{
    for (size_t i = 0; i < attempt->uses.len; i++) {
        if (attempt->uses.items[i].cell == cell) {
            attempt->uses.items[i].amount += more;
            return;
        }
    }
    vec_push(&attempt->uses, ((struct take){cell, more}));
}

/* `first` is where the picks of this set begin. */
static bool assign_group(struct admit *admit, struct attempt *attempt, size_t set_index,
                         const struct group *group, size_t first)
{
    const struct spec_set *set = &attempt->wl->spec->sets[set_index];
    size_t usable = 0;
    struct choice choice = choose_flavor(admit, attempt, set_index, group, &usable);
    if (usable > 1 && attempt->wl->spec->n_sets > 1)
        attempt->is_fickle = true;
    attempt->mode = choice.mode < attempt->mode ? choice.mode : attempt->mode;
    attempt->level = choice.level > attempt->level ? choice.level : attempt->level;
    if (choice.mode == MODE_NO_FIT)
        return false;
    for (size_t i = 0, r; i < set->n_needs; i++) {
        if (!group_has(group, set->needs[i].resource, &r))
            continue;
        struct cell *cell = group->cells[choice.flavor * group->n_resources + r];
        attempt->picks[first + i] = cell;
        use(attempt, cell, (amount)set->needs[i].amount * attempt->counts[set_index]);
    }
    return true;
}

static bool assign_set(struct admit *admit, struct attempt *attempt, size_t set_index, size_t first)
{
    const struct spec_set *set = &attempt->wl->spec->sets[set_index];
    for (size_t i = 0; i < set->n_needs; i++) {
        const struct group *group = NULL;
        for (size_t g = 0, r; g < attempt->queue->n_groups && !group; g++) {
            if (group_has(&attempt->queue->groups[g], set->needs[i].resource, &r))
                group = &attempt->queue->groups[g];
        }
        if (attempt->picks[first + i] || (!group && set->needs[i].is_implied))
            continue;
        if (!group || !assign_group(admit, attempt, set_index, group, first)) {
            attempt->mode = MODE_NO_FIT;
            return false;
        }
    }
    return true;
}

static size_t count_picks(const struct spec *spec)
{
    size_t n = 0;
    for (size_t i = 0; i < spec->n_sets; i++)
        n += spec->sets[i].n_needs;
    return n;
}

static void assign_all(struct admit *admit, struct attempt *attempt)
{
    const struct spec *spec = attempt->wl->spec;
    memset(attempt->picks, 0, count_picks(spec) * sizeof(struct cell *));
    vec_clear(&attempt->uses);
    vec_clear(&attempt->lacks);
    vec_clear(&attempt->victims);
    attempt->mode = MODE_FIT;
    attempt->level = 0;
    for (size_t i = 0, first = 0; i < spec->n_sets; first += spec->sets[i++].n_needs) {
        if (!assign_set(admit, attempt, i, first))
            return;
    }
    if (attempt->mode == MODE_PREEMPT || attempt->mode == MODE_RECLAIM) {
        if (preempt_search(admit, attempt, &attempt->uses))
            return;
        attempt->mode = MODE_NO_CANDIDATES;
        attempt->is_fickle = true; /* flavors after the chosen ones were not looked at */
    }
}

static void shrink(struct attempt *attempt, int64_t by)
{
    const struct spec *spec = attempt->wl->spec;
    for (size_t i = 0; i < spec->n_sets; i++) {
        const struct spec_set *set = &spec->sets[i];
        int64_t spare = set->min_count > 0 ? set->count - set->min_count : 0;
        attempt->counts[i] =
            set->count - (int64_t)((amount)spare * by / (spec->spare ? spec->spare : 1));
    }
}

/* Partial admission: the least that has to be left out, shared among the sets that allow it. */
static void assign_less(struct admit *admit, struct attempt *attempt)
{
    int64_t fails = 0, fits = attempt->wl->spec->spare;
    shrink(attempt, fits);
    assign_all(admit, attempt);
    if (attempt->mode < MODE_PREEMPT)
        return;
    while (fits - fails > 1) {
        int64_t middle = fails + (fits - fails) / 2;
        shrink(attempt, middle);
        assign_all(admit, attempt);
        *(attempt->mode < MODE_PREEMPT ? &fails : &fits) = middle;
    }
    shrink(attempt, fits);
    assign_all(admit, attempt);
}

static void begin(struct attempt *attempt)
{
    const struct spec *spec = attempt->wl->spec;
    size_t n_picks = count_picks(spec);
    attempt->counts = mem_realloc(attempt->counts, (spec->n_sets + 1) * sizeof(int64_t));
    attempt->picks = mem_realloc(attempt->picks, (n_picks + 1) * sizeof(struct cell *));
    attempt->is_fickle = attempt->is_reserved = false;
}

void assign_try(struct admit *admit, struct attempt *attempt)
{
    const struct spec *spec = attempt->wl->spec;
    begin(attempt);
    shrink(attempt, 0);
    assign_all(admit, attempt);
    if (attempt->mode < MODE_PREEMPT && spec->spare > 0)
        assign_less(admit, attempt);
    /* One without a shape has evicted others for its place already. */
    if (attempt->mode == MODE_FIT && attempt->shape && !reserve_allows(attempt)) {
        attempt->is_reserved = true;
        attempt->mode = MODE_NO_FIT;
    }
}

/* ---- what is claimed ---- */

static bool is_offered(const struct queue *queue, const struct cell *cell)
{
    for (size_t g = 0; g < queue->n_groups; g++) {
        const struct group *group = &queue->groups[g];
        for (size_t i = 0; i < group->n_flavors * group->n_resources; i++) {
            if (group->cells[i] == cell)
                return true;
        }
    }
    return false;
}

static bool use_claimed(struct attempt *attempt)
{
    const struct wl *wl = attempt->wl;
    const struct spec *spec = wl->spec;
    for (size_t i = 0, k = 0; i < spec->n_sets; i++) {
        attempt->counts[i] = wl->claim_counts[i];
        for (size_t j = 0; j < spec->sets[i].n_needs; j++, k++) {
            struct cell *cell = attempt->picks[k] = wl->claim_picks[k];
            if (cell && !is_offered(attempt->queue, cell))
                return false;
            if (cell)
                use(attempt, cell, (amount)spec->sets[i].needs[j].amount * attempt->counts[i]);
        }
    }
    return true;
}

void assign_as_claimed(struct admit *admit, struct attempt *attempt)
{
    begin(attempt);
    vec_clear(&attempt->uses);
    vec_clear(&attempt->victims);
    attempt->mode = MODE_NO_FIT;
    if (!use_claimed(attempt))
        return;
    bool fits = true;
    for (size_t i = 0; i < attempt->uses.len; i++)
        fits =
            fits && attempt->uses.items[i].amount <= quota_available(attempt->uses.items[i].cell);
    if (fits)
        attempt->mode = MODE_FIT;
    else if (preempt_search(admit, attempt, &attempt->uses))
        attempt->mode = MODE_PREEMPT;
}

void claim_change(struct wl *wl, const struct attempt *attempt)
{
    size_t n_picks = count_picks(wl->spec);
    vec_clear(&wl->uses);
    for (size_t i = 0; i < attempt->uses.len; i++)
        vec_push(&wl->uses, attempt->uses.items[i]);
    wl->claim_counts =
        mem_realloc(wl->claim_counts, (wl->spec->n_sets + 1) * sizeof(*wl->claim_counts));
    wl->claim_picks = mem_realloc(wl->claim_picks, (n_picks + 1) * sizeof(*wl->claim_picks));
    memcpy(wl->claim_counts, attempt->counts, wl->spec->n_sets * sizeof(*wl->claim_counts));
    memcpy(wl->claim_picks, attempt->picks, n_picks * sizeof(*wl->claim_picks));
}
