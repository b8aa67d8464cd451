// SPDX-License-Identifier: Apache-2.0
#pragma once
/* The same rules without any memory but who claims what: everything is worked out again from the
 * facts, each time, the plain way. One resource group, few of everything. */
#include "admit_kit.h"

#define N_FLAVORS 2
#define N_RESOURCES 2
#define N_QUEUES 4
#define N_COHORTS 3
#define N_NODES (N_COHORTS + N_QUEUES)
#define N_WLS 12

static const char *const FLAVOR_NAMES[N_FLAVORS] = {"one", "two"};
static const char *const RESOURCE_NAMES[N_RESOURCES] = {"cpu", "gpu"};

typedef int64_t n_amounts[N_FLAVORS][N_RESOURCES];

struct n_node {
    bool exists, is_queue;
    int parent; /* -1: none */
    int n_flavors;
    struct admit_quota quota[N_FLAVORS][N_RESOURCES];
    struct admit_queue rules;
};

struct n_wl {
    struct kit_wl *kit;
    struct admit_workload facts;
    int queue; /* node; of its local queue */
    bool is_claiming;
    n_amounts uses; /* held or claimed */
    int64_t claim_counts[KIT_SETS];
    int claim_flavors[KIT_SETS];
    int64_t needs[KIT_SETS][N_RESOURCES];
    struct admit_failed failed[N_FLAVORS];
};

struct naive {
    struct admit_settings settings;
    time_ms now;
    struct n_node nodes[N_NODES];
    struct n_wl wls[N_WLS];
    size_t n_wls;
    struct str log;
};

struct n_victim {
    struct n_wl *wl;
    bool is_own;
    enum admit_preempt_reason why;
};
struct n_try {
    struct n_wl *wl;
    int mode; /* 0 no fit, 1 no candidates, 2 preempt, 3 reclaim, 4 fit */
    int level;
    int64_t counts[KIT_SETS];
    int flavors[KIT_SETS];
    n_amounts uses;
    struct n_victim victims[N_WLS];
    size_t n_victims;
};

/* ---- quota, from the definitions ---- */

static inline int64_t n_max0(int64_t a)
{
    return a > 0 ? a : 0;
}

static int64_t n_subtree(const struct naive *n, int node, int f, int r);
static int64_t n_local(const struct naive *n, int node, int f, int r)
{
    int64_t lending = n->nodes[node].quota[f][r].lending;
    if (n->nodes[node].parent < 0 || lending == ADMIT_NO_LIMIT)
        return 0;
    return n_max0(n_subtree(n, node, f, r) - lending);
}

static int64_t n_subtree(const struct naive *n, int node, int f, int r)
{
    int64_t sum = n->nodes[node].quota[f][r].nominal;
    for (int i = 0; i < N_NODES; i++) {
        if (n->nodes[i].exists && n->nodes[i].parent == node)
            sum += n_subtree(n, i, f, r) - n_local(n, i, f, r);
    }
    return sum;
}

static int64_t n_usage(const struct naive *n, int node, int f, int r)
{
    int64_t sum = 0;
    for (size_t i = 0; n->nodes[node].is_queue && i < n->n_wls; i++)
        sum += n->wls[i].queue == node ? n->wls[i].uses[f][r] : 0;
    for (int i = 0; i < N_NODES; i++) {
        if (n->nodes[i].exists && n->nodes[i].parent == node)
            sum += n_max0(n_usage(n, i, f, r) - n_local(n, i, f, r));
    }
    return sum;
}

static int64_t n_available(const struct naive *n, int node, int f, int r)
{
    int64_t usage = n_usage(n, node, f, r), subtree = n_subtree(n, node, f, r);
    if (n->nodes[node].parent < 0)
        return subtree - usage;
    int64_t local = n_local(n, node, f, r), above = n_available(n, n->nodes[node].parent, f, r);
    int64_t borrowing = n->nodes[node].quota[f][r].borrowing;
    if (borrowing != ADMIT_NO_LIMIT) {
        int64_t most = subtree - local - n_max0(usage - local) + borrowing;
        above = most < above ? most : above;
    }
    return n_max0(local - usage) + above;
}

static int64_t n_potential(const struct naive *n, int node, int f, int r)
{
    int64_t subtree = n_subtree(n, node, f, r);
    if (n->nodes[node].parent < 0)
        return subtree;
    int64_t most = n_local(n, node, f, r) + n_potential(n, n->nodes[node].parent, f, r);
    int64_t borrowing = n->nodes[node].quota[f][r].borrowing;
    return borrowing != ADMIT_NO_LIMIT && subtree + borrowing < most ? subtree + borrowing : most;
}

static int n_height(const struct naive *n, int node)
{
    int height = 0;
    for (int i = 0; i < N_NODES; i++) {
        if (n->nodes[i].exists && n->nodes[i].parent == node && n_height(n, i) + 1 > height)
            height = n_height(n, i) + 1;
    }
    return height;
}

static int n_level(const struct naive *n, int node, int f, int r, int64_t more, int *ret_home)
{
    for (int at = node;; at = n->nodes[at].parent) {
        int64_t usage = n_usage(n, at, f, r);
        bool holds = usage + more <= n_subtree(n, at, f, r);
        *ret_home = holds ? at : -1;
        if (holds || n->nodes[at].parent < 0)
            return at == node ? 0 : n_height(n, at);
        more -= n_max0(n_local(n, at, f, r) - usage);
    }
}

static int n_root(const struct naive *n, int node)
{
    while (n->nodes[node].parent >= 0)
        node = n->nodes[node].parent;
    return node;
}

static bool n_is_below(const struct naive *n, int node, int home)
{
    for (; node >= 0; node = n->nodes[node].parent) {
        if (node == home)
            return true;
    }
    return false;
}

/* ---- order ---- */

static time_ms n_stamp(const struct naive *n, const struct n_wl *wl)
{
    bool by_eviction =
        wl->facts.evicted == EVICTED_READY_TIMEOUT && !n->settings.orders_by_creation;
    return by_eviction ? wl->facts.evicted_at : wl->facts.created;
}

static bool n_before(const struct naive *n, const struct n_wl *a, const struct n_wl *b)
{
    if (a->facts.priority != b->facts.priority)
        return a->facts.priority > b->facts.priority;
    if (n_stamp(n, a) != n_stamp(n, b))
        return n_stamp(n, a) < n_stamp(n, b);
    if (a->facts.created != b->facts.created)
        return a->facts.created < b->facts.created;
    return strcmp(a->facts.uid, b->facts.uid) < 0;
}

static bool n_is_queued(const struct naive *n, const struct n_wl *wl)
{
    const struct admit_workload *facts = &wl->facts;
    return !facts->is_finished && !facts->has_quota && !facts->is_deleted && facts->is_active &&
           n->nodes[wl->queue].rules.stop == STOP_NONE && facts->requeue_at <= n->now &&
           !facts->is_held;
}

/* ---- preemption ---- */

static int n_worth(const struct n_victim *a, const struct n_victim *b)
{
    const struct admit_workload *x = &a->wl->facts, *y = &b->wl->facts;
    if ((x->evicted != EVICTED_NOT) != (y->evicted != EVICTED_NOT))
        return x->evicted != EVICTED_NOT ? -1 : 1;
    if (a->is_own != b->is_own)
        return a->is_own ? 1 : -1;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->reserved_at != y->reserved_at)
        return x->reserved_at > y->reserved_at ? -1 : 1;
    return strcmp(x->uid, y->uid);
}

struct n_search {
    struct naive *n;
    struct n_wl *wl;
    n_amounts uses;
    bool lacks[N_FLAVORS][N_RESOURCES];
    int home;
    struct n_victim found[N_WLS];
    size_t n_found;
    n_amounts saved[N_WLS]; /* of `found` while they are away */
    bool has_limit;
    int64_t limit;
};

#define EACH_CELL(f, r)                                                                            \
    for (int f = 0; f < N_FLAVORS; f++)                                                            \
        for (int r = 0; r < N_RESOURCES; r++)

static bool n_search_fits(struct n_search *s, bool may_borrow)
{
    EACH_CELL(f, r)
    {
        if (s->uses[f][r] == 0)
            continue;
        bool borrows =
            n_usage(s->n, s->home, f, r) + s->uses[f][r] > n_subtree(s->n, s->home, f, r);
        if ((borrows && !may_borrow) || s->uses[f][r] > n_available(s->n, s->wl->queue, f, r))
            return false;
    }
    return true;
}

/* By those who hold quota; what is only claimed does not count. */
static int64_t n_held(const struct naive *n, int queue, int f, int r)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n->n_wls; i++)
        sum += n->wls[i].queue == queue && !n->wls[i].is_claiming ? n->wls[i].uses[f][r] : 0;
    return sum;
}

static bool n_queue_borrows(struct n_search *s, int queue)
{
    EACH_CELL(f, r)
    {
        if (s->lacks[f][r] && n_held(s->n, queue, f, r) > n_subtree(s->n, queue, f, r))
            return true;
    }
    return false;
}

static void n_away(struct n_search *s, size_t i, bool is_away)
{
    if (is_away) {
        memcpy(s->saved[i], s->found[i].wl->uses, sizeof(n_amounts));
        memset(s->found[i].wl->uses, 0, sizeof(n_amounts));
    } else {
        memcpy(s->found[i].wl->uses, s->saved[i], sizeof(n_amounts));
    }
}

static enum admit_preempt_reason n_why(const struct n_search *s, const struct n_victim *victim)
{
    if (victim->is_own)
        return PREEMPT_IN_QUEUE;
    bool is_limited = s->has_limit && victim->wl->facts.priority < s->limit;
    return is_limited ? PREEMPT_RECLAIM_WHILE_BORROWING : PREEMPT_RECLAIM;
}

static bool n_least(struct n_search *s, bool may_borrow, bool only_own, struct n_try *out)
{
    size_t taken[N_WLS], n_taken = 0;
    bool is_found = false;
    for (size_t i = 0; i < s->n_found && !is_found; i++) {
        const struct n_victim *victim = &s->found[i];
        if ((only_own && !victim->is_own) ||
            (!victim->is_own && !n_queue_borrows(s, victim->wl->queue)))
            continue;
        if (!victim->is_own && s->has_limit && victim->wl->facts.priority >= s->limit)
            may_borrow = false;
        n_away(s, i, true);
        taken[n_taken++] = i;
        is_found = n_search_fits(s, may_borrow);
    }
    out->n_victims = 0;
    bool is_kept[N_WLS];
    for (size_t i = n_taken; i-- > 0;) {
        is_kept[i] = true;
        if (!is_found || i + 1 == n_taken)
            continue;
        n_away(s, taken[i], false);
        is_kept[i] = !n_search_fits(s, may_borrow);
        if (is_kept[i])
            n_away(s, taken[i], true);
    }
    for (size_t i = 0; i < n_taken; i++) {
        if (is_kept[i])
            n_away(s, taken[i], false);
        if (!is_found || !is_kept[i])
            continue;
        struct n_victim *victim = &out->victims[out->n_victims++];
        *victim = s->found[taken[i]];
        victim->why = n_why(s, victim);
    }
    return is_found;
}

static void n_gather(struct n_search *s)
{
    struct naive *n = s->n;
    const struct admit_preemption *rules = &n->nodes[s->wl->queue].rules.preemption;
    for (size_t i = 0; i < n->n_wls; i++) {
        struct n_wl *held = &n->wls[i];
        if (!held->facts.has_quota || held->facts.is_finished)
            continue;
        bool uses = false;
        EACH_CELL(f, r) uses = uses || (s->lacks[f][r] && held->uses[f][r] > 0);
        bool is_own = held->queue == s->wl->queue;
        bool is_lower = held->facts.priority < s->wl->facts.priority;
        bool is_newer =
            held->facts.priority == s->wl->facts.priority && n_stamp(n, s->wl) < n_stamp(n, held);
        bool may = is_own ? (rules->within != WITHIN_NEVER && is_lower) ||
                                (rules->within == WITHIN_LOWER_OR_NEWER_EQUAL && is_newer)
                          : n_root(n, held->queue) == n_root(n, s->wl->queue) &&
                                !n_is_below(n, held->queue, s->home) &&
                                n_queue_borrows(s, held->queue) &&
                                (rules->reclaim == RECLAIM_ANY ||
                                 (rules->reclaim == RECLAIM_LOWER && is_lower));
        if (uses && may)
            s->found[s->n_found++] = (struct n_victim){held, is_own, PREEMPT_IN_QUEUE};
    }
    for (size_t i = 1; i < s->n_found; i++) {
        for (size_t j = i; j > 0 && n_worth(&s->found[j], &s->found[j - 1]) < 0; j--) {
            struct n_victim swap = s->found[j];
            s->found[j] = s->found[j - 1];
            s->found[j - 1] = swap;
        }
    }
}

static bool n_preempt(struct naive *n, struct n_wl *wl, n_amounts uses, struct n_try *out)
{
    struct n_search s = {.n = n, .wl = wl, .home = wl->queue};
    const struct admit_preemption *rules = &n->nodes[wl->queue].rules.preemption;
    memcpy(s.uses, uses, sizeof(n_amounts));
    out->n_victims = 0;
    EACH_CELL(f, r)
    s.lacks[f][r] = uses[f][r] > 0 && uses[f][r] > n_available(n, wl->queue, f, r);
    EACH_CELL(f, r)
    {
        int home;
        if (uses[f][r] == 0 || uses[f][r] <= n->nodes[wl->queue].quota[f][r].nominal)
            continue;
        (void)n_level(n, wl->queue, f, r, uses[f][r], &home);
        if (home >= 0 && n->nodes[home].parent >= 0 && n_is_below(n, s.home, home))
            s.home = home;
    }
    n_gather(&s);
    bool has_others = false, is_under = true;
    for (size_t i = 0; i < s.n_found; i++)
        has_others = has_others || !s.found[i].is_own;
    EACH_CELL(f, r)
    if (s.lacks[f][r] && n_usage(n, s.home, f, r) >= n_subtree(n, s.home, f, r))
        is_under = false;
    if (!has_others)
        return n_least(&s, true, false, out);
    if (rules->borrows_within_cohort) {
        s.has_limit = true;
        s.limit = wl->facts.priority;
        if (rules->has_threshold && rules->threshold < s.limit)
            s.limit = rules->threshold + 1;
        size_t kept = 0;
        for (size_t i = 0; i < s.n_found; i++) {
            if (is_under || s.found[i].is_own || s.found[i].wl->facts.priority < s.limit)
                s.found[kept++] = s.found[i];
        }
        s.n_found = kept;
        return n_least(&s, true, false, out);
    }
    if (is_under && n_least(&s, false, false, out))
        return true;
    return n_least(&s, true, true, out);
}

/* ---- flavors ---- */

static bool n_is_unfit(const struct n_wl *wl, size_t set, int f)
{
    const struct admit_pod_set *from = &wl->facts.pod_sets[set];
    for (size_t i = 0; i < from->n_unfit; i++) {
        if (str_eq(from->unfit[i].flavor, FLAVOR_NAMES[f]))
            return true;
    }
    return false;
}

static bool n_is_avoided(const struct naive *n, const struct n_wl *wl, int f)
{
    return wl->failed[f].until > n->now;
}

/* When the victims are gone. */
static int n_level_after(const struct naive *n, struct n_try *t, int f, int r, int64_t use)
{
    n_amounts saved[N_WLS];
    int home;
    for (size_t i = 0; i < t->n_victims; i++) {
        memcpy(saved[i], t->victims[i].wl->uses, sizeof(n_amounts));
        memset(t->victims[i].wl->uses, 0, sizeof(n_amounts));
    }
    int level = n_level(n, t->wl->queue, f, r, use, &home);
    for (size_t i = 0; i < t->n_victims; i++)
        memcpy(t->victims[i].wl->uses, saved[i], sizeof(n_amounts));
    return level;
}

static void n_try_flavor(struct naive *n, struct n_try *t, size_t set, int f, int *mode, int *level)
{
    struct n_wl *wl = t->wl;
    const struct n_node *queue = &n->nodes[wl->queue];
    *mode = 4;
    *level = 0;
    for (int r = 0; r < N_RESOURCES; r++) {
        if (wl->needs[set][r] == 0)
            continue;
        int64_t use = t->uses[f][r] + wl->needs[set][r] * t->counts[set];
        int home, at = n_level(n, wl->queue, f, r, use, &home), here = 0;
        bool fits = use <= n_available(n, wl->queue, f, r);
        bool may = use <= queue->quota[f][r].nominal || (home >= 0 && n->nodes[home].parent >= 0) ||
                   queue->rules.preemption.borrows_within_cohort;
        if (!fits && use <= n_potential(n, wl->queue, f, r) && may) {
            n_amounts uses = {{0}};
            uses[f][r] = use;
            here = n_preempt(n, wl, uses, t) ? 3 : 1;
            for (size_t i = 0; i < t->n_victims; i++)
                here = t->victims[i].is_own ? 2 : here;
            if (here > 1)
                at = n_level_after(n, t, f, r, use);
        }
        here = fits ? 4 : here;
        *level = at > *level ? at : *level;
        *mode = here < *mode ? here : *mode;
    }
}

static bool n_can_avoid(const struct naive *n, const struct n_try *t, size_t set)
{
    for (int f = 0; f < n->nodes[t->wl->queue].n_flavors; f++) {
        bool can = !n_is_unfit(t->wl, set, f) && !n_is_avoided(n, t->wl, f);
        for (int r = 0; r < N_RESOURCES; r++)
            can = can && t->wl->needs[set][r] * t->wl->facts.pod_sets[set].count <=
                             n_potential(n, t->wl->queue, f, r);
        if (can)
            return true;
    }
    return false;
}

static bool n_assign_set(struct naive *n, struct n_try *t, size_t set)
{
    const struct admit_queue *rules = &n->nodes[t->wl->queue].rules;
    int best = -1, best_mode = 0, best_level = 0;
    bool avoids = n_can_avoid(n, t, set);
    if (t->wl->needs[set][0] + t->wl->needs[set][1] == 0)
        return true; /* who needs nothing needs no flavor */
    for (int f = 0; f < n->nodes[t->wl->queue].n_flavors; f++) {
        int mode, level;
        if (n_is_unfit(t->wl, set, f) || (avoids && n_is_avoided(n, t->wl, f)))
            continue;
        n_try_flavor(n, t, set, f, &mode, &level);
        bool is_better = best < 0 || mode > best_mode || (mode == best_mode && level < best_level);
        if (best >= 0 && rules->prefers_preemption && mode > 1 && best_mode > 1 &&
            level != best_level)
            is_better = level < best_level;
        bool preempts = mode == 2 || mode == 3;
        bool borrow_ok = level == 0 || !rules->borrow_tries_next;
        bool ends =
            (mode == 4 && borrow_ok) || (preempts && !rules->preempt_tries_next && borrow_ok);
        if (is_better || ends) {
            best = f;
            best_mode = mode;
            best_level = level;
        }
        if (ends)
            break;
    }
    t->mode = best_mode < t->mode ? best_mode : t->mode;
    t->level = best_level > t->level ? best_level : t->level;
    if (best_mode == 0)
        return false;
    t->flavors[set] = best;
    for (int r = 0; r < N_RESOURCES; r++)
        t->uses[best][r] += t->wl->needs[set][r] * t->counts[set];
    return true;
}

static void n_assign(struct naive *n, struct n_try *t)
{
    memset(t->uses, 0, sizeof(t->uses));
    t->mode = 4;
    t->level = 0;
    t->n_victims = 0;
    for (size_t s = 0; s < t->wl->facts.n_pod_sets; s++) {
        if (!n_assign_set(n, t, s))
            return;
    }
    if ((t->mode == 2 || t->mode == 3) && !n_preempt(n, t->wl, t->uses, t))
        t->mode = 1;
}

static struct n_wl *n_first(struct naive *n, int queue);
static bool n_try_lifted(struct naive *n, struct n_try *t);

/* What the first of another queue, before this one, keeps from borrowers. */
static bool n_keeps(struct naive *n, int queue, const struct n_wl *before, n_amounts ret_keeps)
{
    struct n_wl *first = n_first(n, queue);
    const struct n_node *node = &n->nodes[queue];
    memset(ret_keeps, 0, sizeof(n_amounts));
    if (!first || !n_before(n, first, before) || node->rules.preemption.reclaim == RECLAIM_ANY ||
        node->parent < 0 || first->facts.n_pod_sets != 1)
        return false;
    for (size_t i = 0; i < n->n_wls; i++) {
        if (n->wls[i].is_claiming && n->wls[i].queue == queue)
            return false;
    }
    for (int f = 0; f < node->n_flavors; f++) {
        bool holds = !n_is_unfit(first, 0, f);
        for (int r = 0; r < N_RESOURCES; r++)
            holds = holds && first->needs[0][r] * first->facts.pod_sets[0].count <=
                                 node->quota[f][r].nominal;
        if (!holds)
            continue;
        struct n_try t = {.wl = first};
        if (n_try_lifted(n, &t))
            return false;
        for (int r = 0; r < N_RESOURCES; r++) {
            int64_t want = first->needs[0][r] * first->facts.pod_sets[0].count;
            int64_t left = n_max0(node->quota[f][r].nominal - n_usage(n, queue, f, r));
            ret_keeps[f][r] = want < left ? want : left;
        }
        return true;
    }
    return false;
}

static bool n_allows(struct naive *n, const struct n_try *t)
{
    n_amounts keeps[N_NODES];
    for (int q = N_COHORTS; q < N_NODES; q++) {
        memset(keeps[q], 0, sizeof(n_amounts));
        if (n->nodes[q].exists && q != t->wl->queue && n_root(n, q) == n_root(n, t->wl->queue))
            (void)n_keeps(n, q, t->wl, keeps[q]);
    }
    bool fits = true;
    for (int q = N_COHORTS; q < N_NODES; q++) { /* counted as if somebody of that queue had it */
        struct n_wl *first = n_first(n, q);
        EACH_CELL(f, r) if (first) first->uses[f][r] += keeps[q][f][r];
    }
    EACH_CELL(f, r)
    fits = fits && (t->uses[f][r] == 0 || t->uses[f][r] <= n_available(n, t->wl->queue, f, r));
    for (int q = N_COHORTS; q < N_NODES; q++) {
        struct n_wl *first = n_first(n, q);
        EACH_CELL(f, r) if (first) first->uses[f][r] -= keeps[q][f][r];
    }
    return fits;
}

static void n_try_less(struct naive *n, struct n_try *t, int64_t spare, int64_t by)
{
    for (size_t s = 0; s < t->wl->facts.n_pod_sets; s++) {
        const struct admit_pod_set *set = &t->wl->facts.pod_sets[s];
        int64_t own = set->min_count > 0 ? set->count - set->min_count : 0;
        t->counts[s] = set->count - (spare ? own * by / spare : 0);
    }
    n_assign(n, t);
}

static void n_try(struct naive *n, struct n_try *t, bool is_claim)
{
    int64_t spare = 0;
    for (size_t s = 0; s < t->wl->facts.n_pod_sets; s++) {
        const struct admit_pod_set *set = &t->wl->facts.pod_sets[s];
        spare += set->min_count > 0 ? set->count - set->min_count : 0;
    }
    n_try_less(n, t, spare, 0);
    int64_t fails = 0, fits = spare;
    if (t->mode < 2 && spare > 0) {
        n_try_less(n, t, spare, spare);
        while (t->mode >= 2 && fits - fails > 1) {
            int64_t middle = fails + (fits - fails) / 2;
            n_try_less(n, t, spare, middle);
            *(t->mode < 2 ? &fails : &fits) = middle;
            t->mode = 2; /* go on */
        }
        n_try_less(n, t, spare, fits);
    }
    if (t->mode == 4 && t->level > 0 && !is_claim && !n_allows(n, t))
        t->mode = 0;
}

/* Claims of those after it in its own queue do not count against it. */
static bool n_try_lifted(struct naive *n, struct n_try *t)
{
    n_amounts saved[N_WLS];
    n_try(n, t, false);
    if (t->mode >= 2)
        return true;
    for (size_t i = 0; i < n->n_wls; i++) {
        struct n_wl *claim = &n->wls[i];
        memcpy(saved[i], claim->uses, sizeof(n_amounts));
        if (claim->is_claiming && claim->queue == t->wl->queue && n_before(n, t->wl, claim))
            memset(claim->uses, 0, sizeof(n_amounts));
    }
    n_try(n, t, false);
    for (size_t i = 0; i < n->n_wls; i++)
        memcpy(n->wls[i].uses, saved[i], sizeof(n_amounts));
    return t->mode >= 2;
}

/* ---- the queue ---- */

static struct n_wl *n_next(struct naive *n, int queue, const struct n_wl *after)
{
    struct n_wl *best = NULL;
    for (size_t i = 0; i < n->n_wls; i++) {
        struct n_wl *wl = &n->wls[i];
        if (wl->queue == queue && n_is_queued(n, wl) && !wl->is_claiming &&
            (!after || n_before(n, after, wl)) && (!best || n_before(n, wl, best)))
            best = wl;
    }
    return best;
}

static struct n_wl *n_first(struct naive *n, int queue)
{
    return n_next(n, queue, NULL);
}

static bool n_blocked(const struct naive *n, const struct n_try *t)
{
    for (size_t i = 0; n->settings.waits_for_ready && n->settings.blocks && i < n->n_wls; i++) {
        const struct n_wl *held = &n->wls[i];
        if (!held->facts.has_quota || held->facts.is_finished || held->facts.ready == READY_YES)
            continue;
        bool is_on_flavor = false;
        EACH_CELL(f, r)
        for (int q = 0; q < N_RESOURCES; q++)
            is_on_flavor = is_on_flavor || (t->uses[f][r] > 0 && held->uses[f][q] > 0);
        if (n->settings.scope == SCOPE_CLUSTER ||
            (n->settings.scope == SCOPE_QUEUE && held->queue == t->wl->queue) ||
            (n->settings.scope == SCOPE_COHORT &&
             n_root(n, held->queue) == n_root(n, t->wl->queue)) ||
            (n->settings.scope == SCOPE_FLAVOR && is_on_flavor))
            return true;
    }
    return false;
}

static void n_note(struct naive *n, const char *text)
{
    str_addf(&n->log, "%s%s", n->log.len > 0 ? ", " : "", text);
}

static void n_admit(struct naive *n, const struct n_try *t)
{
    char text[128];
    struct admit_workload *facts = &t->wl->facts;
    int len = snprintf(text, sizeof(text), "admit %s", facts->key + 3);
    for (size_t s = 0; s < facts->n_pod_sets; s++) {
        bool needs = t->wl->needs[s][0] + t->wl->needs[s][1] > 0;
        if (needs)
            len += snprintf(text + len, sizeof(text) - (size_t)len, "%c%s", s ? '/' : ' ',
                            FLAVOR_NAMES[t->flavors[s]]);
        if (t->counts[s] != facts->pod_sets[s].count)
            len +=
                snprintf(text + len, sizeof(text) - (size_t)len, "*%lld", (long long)t->counts[s]);
    }
    n_note(n, text);
    t->wl->is_claiming = false;
    memcpy(t->wl->uses, t->uses, sizeof(n_amounts));
    facts->has_quota = facts->is_admitted = true;
    facts->admitted_at = facts->reserved_at = n->now;
    facts->evicted = EVICTED_NOT;
    facts->ready = READY_WAITS_START;
}

static void n_evict(struct naive *n, const struct n_try *t)
{
    for (size_t i = 0; i < t->n_victims; i++) {
        struct n_wl *victim = t->victims[i].wl;
        if (victim->facts.evicted != EVICTED_NOT)
            continue;
        char text[128];
        (void)snprintf(text, sizeof(text), "preempt %s by %s %s", victim->facts.key + 3,
                       t->wl->facts.key + 3, admit_preempt_text(t->victims[i].why));
        n_note(n, text);
        victim->facts.evicted = EVICTED_PREEMPTED;
        victim->facts.evicted_at = n->now;
    }
}

static void n_drop_later_claims(struct naive *n, const struct n_wl *wl)
{
    for (size_t i = 0; i < n->n_wls; i++) {
        struct n_wl *claim = &n->wls[i];
        if (claim->is_claiming && claim->queue == wl->queue && n_before(n, wl, claim)) {
            claim->is_claiming = false;
            memset(claim->uses, 0, sizeof(n_amounts));
        }
    }
}

/* With what it claims, instead of the best. */
static void n_try_as_claimed(struct naive *n, struct n_try *t, n_amounts claimed)
{
    bool fits = true;
    memcpy(t->counts, t->wl->claim_counts, sizeof(t->counts));
    memcpy(t->flavors, t->wl->claim_flavors, sizeof(t->flavors));
    memcpy(t->uses, claimed, sizeof(n_amounts));
    t->n_victims = 0;
    EACH_CELL(f, r)
    fits = fits && (t->uses[f][r] == 0 || t->uses[f][r] <= n_available(n, t->wl->queue, f, r));
    t->mode = fits ? 4 : n_preempt(n, t->wl, t->uses, t) ? 2 : 0;
}

/* Flavors are chosen anew only where that lets it in at once, or where those it claims are out of
 * reach. */
static void n_try_claim(struct naive *n, struct n_try *t, n_amounts claimed)
{
    n_try(n, t, true);
    if (t->mode == 4)
        return;
    n_try_as_claimed(n, t, claimed);
    if (t->mode < 2)
        n_try(n, t, true);
}

static void n_claim(const struct n_try *t)
{
    t->wl->is_claiming = true;
    memcpy(t->wl->uses, t->uses, sizeof(n_amounts));
    memcpy(t->wl->claim_counts, t->counts, sizeof(t->counts));
    memcpy(t->wl->claim_flavors, t->flavors, sizeof(t->flavors));
}

static void n_try_without_later(struct naive *n, struct n_try *t, n_amounts claimed)
{
    n_amounts saved[N_WLS];
    for (size_t i = 0; i < n->n_wls; i++) {
        struct n_wl *claim = &n->wls[i];
        memcpy(saved[i], claim->uses, sizeof(n_amounts));
        if (claim->is_claiming && claim->queue == t->wl->queue && n_before(n, t->wl, claim))
            memset(claim->uses, 0, sizeof(n_amounts));
    }
    n_try_claim(n, t, claimed);
    for (size_t i = 0; i < n->n_wls; i++)
        memcpy(n->wls[i].uses, saved[i], sizeof(n_amounts));
}

static bool n_retry_claims(struct naive *n)
{
    struct n_wl *claims[N_WLS];
    size_t n_claims = 0;
    for (size_t i = 0; i < n->n_wls; i++) {
        if (!n->wls[i].is_claiming)
            continue;
        size_t j = n_claims++;
        for (; j > 0 && n_before(n, &n->wls[i], claims[j - 1]); j--)
            claims[j] = claims[j - 1];
        claims[j] = &n->wls[i];
    }
    bool did = false;
    for (size_t i = 0; i < n_claims; i++) {
        struct n_try t = {.wl = claims[i]};
        n_amounts saved;
        if (!claims[i]->is_claiming)
            continue;
        memcpy(saved, claims[i]->uses, sizeof(saved));
        memset(claims[i]->uses, 0, sizeof(saved));
        n_try_claim(n, &t, saved);
        if (t.mode < 2)
            n_try_without_later(n, &t, saved);
        if (t.mode < 2) {
            claims[i]->is_claiming = false;
            did = true;
        } else if (t.mode < 4) {
            n_claim(&t);
            size_t before = n->log.len;
            n_evict(n, &t);
            did = did || n->log.len != before;
        } else if (n_blocked(n, &t)) {
            memcpy(claims[i]->uses, saved, sizeof(saved));
        } else {
            bool fits = true;
            EACH_CELL(f, r)
            fits = fits && (t.uses[f][r] == 0 || t.uses[f][r] <= n_available(n, t.wl->queue, f, r));
            if (!fits)
                n_drop_later_claims(n, t.wl);
            n_admit(n, &t);
            did = true;
        }
    }
    return did;
}

/* The first of this queue for whom something can be done. */
static bool n_candidate(struct naive *n, int queue, struct n_try *ret)
{
    bool is_strict = n->nodes[queue].rules.strategy == STRICT_FIFO;
    for (struct n_wl *wl = n_first(n, queue); wl; wl = n_next(n, queue, wl)) {
        for (size_t i = 0; is_strict && i < n->n_wls; i++) {
            const struct n_wl *claim = &n->wls[i];
            if (claim->is_claiming && claim->queue == queue && n_before(n, claim, wl))
                return false;
        }
        *ret = (struct n_try){.wl = wl};
        if (n_try_lifted(n, ret) && (ret->mode < 4 || !n_blocked(n, ret)))
            return true;
        if (is_strict)
            return false;
    }
    return false;
}

static bool n_act(struct naive *n)
{
    struct n_try best = {0};
    for (int q = N_COHORTS; q < N_NODES; q++) {
        struct n_try t;
        if (!n->nodes[q].exists || !n_candidate(n, q, &t))
            continue;
        if (!best.wl || t.level < best.level ||
            (t.level == best.level && n_before(n, t.wl, best.wl)))
            best = t;
    }
    if (!best.wl)
        return false;
    struct n_try again = {.wl = best.wl};
    n_try(n, &again, false);
    if (again.mode < 2)
        n_drop_later_claims(n, best.wl);
    if (best.mode == 4) {
        n_admit(n, &best);
    } else {
        n_claim(&best);
        n_evict(n, &best);
    }
    return true;
}

/* ---- time ---- */

/* When it is given up, counted from its first eviction since it was ready; TIME_NEVER: not. */
static time_ms n_given_up(const struct naive *n, const struct admit_workload *facts)
{
    bool was_ready = facts->evicted == EVICTED_NOT &&
                     (facts->ready == READY_YES || facts->ready == READY_WAITS_RECOVERY);
    if (n->settings.limit_ms == 0 || was_ready || facts->first_evicted_at == 0)
        return TIME_NEVER;
    return facts->first_evicted_at + n->settings.limit_ms;
}

static void n_time_out(struct naive *n, struct n_wl *wl)
{
    struct admit_workload *facts = &wl->facts;
    char text[128];
    const char *cause = facts->ready == READY_WAITS_RECOVERY ? "WaitForRecovery" : "WaitForStart";
    time_ms pause = n->settings.base_ms;
    for (int64_t i = 0; i < facts->requeue_count; i++)
        pause = pause * 2 < n->settings.max_ms ? pause * 2 : n->settings.max_ms;
    bool is_over =
        n_given_up(n, facts) <= n->now || (n->settings.limit_count != ADMIT_NO_LIMIT &&
                                           facts->requeue_count + 1 > n->settings.limit_count);
    if (is_over)
        (void)snprintf(text, sizeof(text), "deactivate %s/%s", facts->key + 3, cause);
    else
        (void)snprintf(text, sizeof(text), "evict %s PodsReadyTimeout/%s %lld +%lld",
                       facts->key + 3, cause, (long long)facts->requeue_count + 1,
                       (long long)pause / SECOND);
    n_note(n, text);
    facts->evicted = is_over ? EVICTED_LIMIT : EVICTED_READY_TIMEOUT;
    facts->evicted_at = n->now;
    facts->is_active = !is_over;
}

/* What is left to be said of one that its user has switched off. */
static void n_switched_off(struct n_wl *wl, char *text, size_t size)
{
    struct admit_workload *facts = &wl->facts;
    bool has_past = facts->requeue_count > 0 || facts->requeue_at != 0 ||
                    facts->first_evicted_at != 0 || wl->failed[0].count + wl->failed[1].count > 0;
    if (facts->evicted == EVICTED_NOT)
        (void)snprintf(text, size, "evict %s Deactivated", facts->key + 3);
    else if (has_past)
        (void)snprintf(text, size, "reset %s", facts->key + 3);
}

static void n_due(struct naive *n, struct n_wl *wl)
{
    struct admit_workload *facts = &wl->facts;
    const struct admit_settings *settings = &n->settings;
    char text[128] = "";
    if (facts->is_finished)
        return;
    if (facts->has_quota && facts->evicted == EVICTED_NOT) {
        bool is_recovery = facts->ready == READY_WAITS_RECOVERY;
        time_ms at = is_recovery ? facts->ready_since + settings->recovery_ms
                                 : facts->admitted_at + settings->timeout_ms;
        bool runs = settings->waits_for_ready && facts->ready != READY_YES &&
                    (!is_recovery || settings->recovery_ms > 0);
        bool has_failed = wl->failed[0].count + wl->failed[1].count > 0;
        if (!facts->is_active || n->nodes[wl->queue].rules.stop == STOP_HOLD_AND_DRAIN) {
            facts->evicted = facts->is_active ? EVICTED_QUEUE_STOPPED : EVICTED_INACTIVE;
            facts->evicted_at = n->now;
            (void)snprintf(text, sizeof(text), "evict %s %s", facts->key + 3,
                           admit_evicted_text(facts->evicted));
        } else if ((runs && at <= n->now) || n_given_up(n, facts) <= n->now) {
            n_time_out(n, wl);
        } else if (facts->ready == READY_YES && (facts->requeue_count > 0 || has_failed) &&
                   facts->ready_since + settings->reset_after_ms <= n->now) {
            (void)snprintf(text, sizeof(text), "reset %s", facts->key + 3);
        }
    } else if (!facts->is_active && !facts->is_deleted) {
        n_switched_off(wl, text, sizeof(text));
    } else if (!facts->has_quota && facts->is_active && !facts->is_deleted &&
               n->nodes[wl->queue].rules.stop == STOP_NONE && n_given_up(n, facts) <= n->now) {
        (void)snprintf(text, sizeof(text), "deactivate %s", facts->key + 3);
        facts->evicted = EVICTED_LIMIT;
        facts->is_active = false;
    } else if (!facts->has_quota && facts->is_active && !facts->is_deleted &&
               (n->nodes[wl->queue].rules.stop == STOP_NONE || !facts->is_held ||
                facts->held_by != EVICTED_QUEUE_STOPPED) &&
               (facts->is_held || facts->requeue_at != 0) && facts->requeue_at <= n->now) {
        const char *why = "BackoffFinished";
        if (facts->is_held && facts->held_by == EVICTED_QUEUE_STOPPED)
            why = "ClusterQueueRestarted";
        if (facts->is_held &&
            (facts->held_by == EVICTED_INACTIVE || facts->held_by == EVICTED_LIMIT)) {
            why = "Reactivated";
            memset(wl->failed, 0, sizeof(wl->failed));
        }
        (void)snprintf(text, sizeof(text), "release %s %s", facts->key + 3, why);
        facts->is_held = false;
        facts->requeue_at = 0;
    }
    if (text[0])
        n_note(n, text);
}

static inline void naive_step(struct naive *n)
{
    for (size_t i = 0; i < n->n_wls; i++)
        n_due(n, &n->wls[i]);
    for (size_t i = 0; i < n->n_wls; i++) {
        struct n_wl *wl = &n->wls[i];
        if (wl->is_claiming && !n_is_queued(n, wl)) {
            wl->is_claiming = false;
            memset(wl->uses, 0, sizeof(n_amounts));
        }
    }
    do
        while (n_retry_claims(n))
            ;
    while (n_act(n));
}
