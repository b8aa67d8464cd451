// SPDX-License-Identifier: Apache-2.0
/* Invariants: 1. A seat is offered exactly when its node is there, the rules allow it, it is in a
 * domain if the class needs one, what a pod wants is left, and near_problem() finds nothing. 2. A
 * domain counts for the least exactly while some node of it is allowed. 3. Keys: see rank() and
 * domain_own(); a domain's part is larger than any node's, so the top is in the domain with the
 * fewest pods among those with room. Hence one look at the top tells whether max_skew lets anything
 * in. */
#include "base/mem.h"
#include "core/place/bind_internal.h"
#include <string.h>

#define SHARE_ONE 1000000
#define PREFERENCE_UNIT (SHARE_ONE + 1) /* above any difference in room */
#define COUNT_UNIT (INT64_C(4) * BIND_PREFERENCE_MAX * PREFERENCE_UNIT)
#define CLOSED (INT64_C(1) << 61) /* what a domain costs that others own, or that was tried */

/* ---- amounts ---- */

static int64_t amount(const struct amounts_of *amounts, size_t i)
{
    return i < amounts->at.len ? amounts->at.items[i] : 0;
}

static void set_amount(struct amounts_of *amounts, size_t i, int64_t value)
{
    while (amounts->at.len <= i)
        vec_push(&amounts->at, 0);
    amounts->at.items[i] = value;
}

static int64_t left_of(const struct spot *spot, size_t i)
{
    int64_t left;
    if (__builtin_sub_overflow(amount(&spot->has, i), amount(&spot->taken, i), &left))
        return 0;
    return left;
}

int64_t bind_left(const struct bind *bind, size_t id, size_t resource)
{
    return left_of(bind->spots.items[id], resource);
}

static bool has_room(const struct spot *spot, const struct amounts_of *wants)
{
    for (size_t i = 0; i < wants->at.len; i++) {
        if (wants->at.items[i] > 0 && wants->at.items[i] > left_of(spot, i))
            return false;
    }
    return true;
}

/* Of the shared resources, the one of which the smallest part is free. */
static int64_t share_of(const struct bind *bind, const struct spot *spot)
{
    int64_t least = SHARE_ONE;
    for (size_t i = 0; i < bind->shared; i++) {
        int64_t has = amount(&spot->has, i), left = left_of(spot, i);
        int64_t share = has > 0 && left > 0 ? (int64_t)((__int128)left * SHARE_ONE / has) : 0;
        least = share < least ? share : least;
    }
    return least;
}

/* ---- claims ---- */

static char *claim_key(const struct bind_class *class, const char *name)
{
    return mem_printf("%s\n%s", class->exclusive, name);
}

static const char *owner_of(const struct bind *bind, const struct bind_class *class,
                            const char *domain)
{
    scoped_free char *key = claim_key(class, domain);
    const struct claim *claim = map_get(bind->claims, key);
    return claim != NULL ? claim->owner : NULL;
}

static const char *home_of(const struct bind *bind, const struct bind_class *class,
                           const char *owner)
{
    scoped_free char *key = claim_key(class, owner);
    return map_get(bind->homes, key);
}

/* ---- areas ---- */

static void area_renew(const struct bind *bind, const struct bind_class *class, struct area *area)
{
    bool is_closed =
        area->is_shunned || (class->exclusive != NULL && owner_of(bind, class, area->name) != NULL);
    area->dom.own =
        (class->rules.is_spread ? area->count * COUNT_UNIT : 0) + (is_closed ? CLOSED : 0);
    dom_renew(&area->dom);
}

static struct area *area_need(const struct bind *bind, struct bind_class *class, const char *name)
{
    struct area *area = map_get(class->areas, name);
    if (area != NULL)
        return area;
    area = mem_zalloc(sizeof(*area));
    area->name = mem_strdup(name);
    area->dom.up = &class->root;
    heap_node_init(&area->order);
    (void)map_put(class->areas, name, area);
    area_renew(bind, class, area);
    return area;
}

/* A node comes or goes, with its pods. */
static void area_allow(const struct bind *bind, struct bind_class *class, struct area *area,
                       int64_t pods, int sign)
{
    heap_remove(&class->least, &area->order);
    area->allowed = sign > 0 ? area->allowed + 1 : area->allowed - 1;
    area->count += sign * pods;
    if (area->allowed > 0)
        heap_push(&class->least, &area->order, area->count);
    area_renew(bind, class, area);
}

static bool area_free(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    struct area *area = value;
    dom_done(&area->dom);
    mem_free(area->name);
    mem_free(area);
    return true;
}

/* ---- seats ---- */

static int64_t bounded(int64_t preference)
{
    return preference > BIND_PREFERENCE_MAX    ? BIND_PREFERENCE_MAX
           : preference < -BIND_PREFERENCE_MAX ? -BIND_PREFERENCE_MAX
                                               : preference;
}

static int64_t rank(const struct bind *bind, const struct bind_class *class, size_t id)
{
    int64_t preference = bounded(class->seats.items[id]->preference + near_preference(class, id));
    return -preference * PREFERENCE_UNIT - share_of(bind, bind->spots.items[id]);
}

void seat_renew(const struct bind *bind, struct bind_class *class, size_t id)
{
    struct seat *seat = class->seats.items[id];
    const struct spot *spot = bind->spots.items[id];
    if (seat->area == NULL || !has_room(spot, &class->wants) ||
        near_problem(class, id) != BIND_FITS) {
        dom_withdraw(&seat->dom);
        return;
    }
    seat->dom.own = rank(bind, class, id);
    seat->dom.tie = (int32_t)id;
    dom_offer(&seat->dom);
}

static void seat_leave(const struct bind *bind, struct bind_class *class, struct seat *seat)
{
    struct area *area = seat->area;
    if (area == NULL)
        return;
    dom_withdraw(&seat->dom);
    seat->area = NULL;
    seat->dom.up = NULL;
    area_allow(bind, class, area, seat->count, -1);
}

/* The rules are asked anew. */
static void seat_judge(const struct bind *bind, struct bind_class *class, size_t id)
{
    struct seat *seat = class->seats.items[id];
    const struct spot *spot = bind->spots.items[id];
    struct bind_fit fit = {0};
    seat_leave(bind, class, seat);
    if (spot->node == NULL)
        return;
    class->rules.judge(class->rules.arg, spot->node, &fit);
    const char *domain = class->rules.has_domains ? fit.domain : "";
    if (!fit.is_allowed || domain == NULL)
        return;
    seat->preference = bounded(fit.preference);
    seat->area = area_need(bind, class, domain);
    seat->dom.up = &seat->area->dom;
    area_allow(bind, class, seat->area, seat->count, 1);
    seat_renew(bind, class, id);
}

static void seat_add(const struct bind *bind, struct bind_class *class)
{
    vec_push(&class->seats, mem_zalloc(sizeof(struct seat)));
    seat_judge(bind, class, class->seats.len - 1);
}

/* ---- nodes ---- */

size_t bind_add_node(struct bind *bind)
{
    vec_push(&bind->spots, mem_zalloc(sizeof(struct spot)));
    near_add_node(bind, bind->spots.len - 1);
    for (size_t i = 0; i < bind->classes.len; i++)
        seat_add(bind, bind->classes.items[i]);
    return bind->spots.len - 1;
}

void bind_set_node(struct bind *bind, size_t id, void *node, const int64_t *has, size_t n)
{
    struct spot *spot = bind->spots.items[id];
    bind->n_nodes += (node != NULL) - (size_t)(spot->node != NULL);
    spot->node = node;
    vec_clear(&spot->has.at);
    for (size_t i = 0; i < n; i++)
        vec_push(&spot->has.at, has[i]);
    near_set_node(bind, id);
    for (size_t i = 0; i < bind->classes.len; i++)
        seat_judge(bind, bind->classes.items[i], id);
}

void *bind_node(const struct bind *bind, size_t id)
{
    return bind->spots.items[id]->node;
}

size_t bind_nodes(const struct bind *bind)
{
    return bind->n_nodes;
}

void bind_take(struct bind *bind, size_t id, const int64_t *amounts, size_t n, int sign)
{
    struct spot *spot = bind->spots.items[id];
    for (size_t i = 0; i < n; i++) {
        int64_t sum;
        if (__builtin_add_overflow(amount(&spot->taken, i), amounts[i] * sign, &sum))
            sum = sign > 0 ? INT64_MAX : INT64_MIN;
        set_amount(&spot->taken, i, sum);
    }
    for (size_t i = 0; i < bind->classes.len; i++)
        seat_renew(bind, bind->classes.items[i], id);
}

/* ---- classes ---- */

struct bind_class *bind_class_new(struct bind *bind, const struct bind_rules *rules)
{
    struct bind_class *class = mem_zalloc(sizeof(*class));
    class->rules = *rules;
    for (size_t i = 0; i < rules->n; i++)
        vec_push(&class->wants.at, rules->wants[i]);
    class->exclusive = mem_strdup(rules->exclusive);
    class->areas = map_new();
    near_join(class, rules);
    class->index = bind->classes.len;
    vec_push(&bind->classes, class);
    for (size_t i = 0; i < bind->spots.len; i++)
        seat_add(bind, class);
    return class;
}

static void class_free(struct bind_class *class)
{
    near_leave(class);
    for (size_t i = 0; i < class->seats.len; i++)
        mem_free(class->seats.items[i]);
    vec_done(&class->seats);
    heap_done(&class->least); /* looks at the areas */
    (void)map_each(class->areas, area_free, NULL);
    map_free(class->areas);
    dom_done(&class->root);
    vec_done(&class->wants.at);
    vec_done(&class->shunned);
    vec_done(&class->skipped);
    mem_free(class->exclusive);
    mem_free(class);
}

void bind_class_free(struct bind *bind, struct bind_class *class)
{
    struct bind_class *last = vec_pop(&bind->classes);
    if (last != class) {
        bind->classes.items[class->index] = last;
        last->index = class->index;
    }
    class_free(class);
}

void bind_count(struct bind *bind, struct bind_class *class, size_t id, int sign)
{
    struct area *area = class->seats.items[id]->area;
    class->seats.items[id]->count += sign;
    if (area == NULL)
        return;
    area->count += sign;
    heap_remove(&class->least, &area->order);
    heap_push(&class->least, &area->order, area->count);
    area_renew(bind, class, area);
}

static void renew_claimed(struct bind *bind, const char *key, const char *domain)
{
    for (size_t i = 0; i < bind->classes.len; i++) {
        struct bind_class *class = bind->classes.items[i];
        if (class->exclusive == NULL || strcmp(class->exclusive, key) != 0)
            continue;
        struct area *area = map_get(class->areas, domain);
        if (area != NULL)
            area_renew(bind, class, area);
    }
}

bool bind_claim(struct bind *bind, struct bind_class *class, size_t id, const char *owner, int sign)
{
    const struct area *area = class->seats.items[id]->area;
    const char *home = home_of(bind, class, owner);
    if (sign > 0 && home == NULL && area == NULL)
        return false; /* on a node without a domain: nothing to keep others out of */
    scoped_free char *domain = mem_strdup(home != NULL ? home : area != NULL ? area->name : "");
    scoped_free char *key = claim_key(class, domain);
    scoped_free char *home_key = claim_key(class, owner);
    struct claim *claim = map_get(bind->claims, key);
    if (claim != NULL && strcmp(claim->owner, owner) != 0)
        return false; /* two are there, by somebody else's will; the first one keeps it */
    if (claim == NULL && sign > 0) {
        claim = mem_zalloc(sizeof(*claim));
        claim->owner = mem_strdup(owner);
        (void)map_put(bind->claims, key, claim);
        (void)map_put(bind->homes, home_key, mem_strdup(domain));
    }
    if (claim == NULL)
        return false;
    claim->pods = sign > 0 ? claim->pods + 1 : claim->pods - 1;
    if (claim->pods == 0) {
        (void)map_del(bind->claims, key);
        mem_free(map_del(bind->homes, home_key));
        mem_free(claim->owner);
        mem_free(claim);
    }
    renew_claimed(bind, class->exclusive, domain);
    return true;
}

/* ---- picking ---- */

static bool is_uneven(const struct bind_class *class, const struct area *area)
{
    const struct heap_node *least = heap_peek(&class->least);
    return class->rules.max_skew > 0 && least != NULL &&
           area->count + 1 - least->key > class->rules.max_skew;
}

static struct area *area_of(const struct dom *seat)
{
    return container_of(seat->up, struct area, dom);
}

static size_t pick_in(const struct bind_class *class, const struct dom *under, bool at_home,
                      enum bind_problem *ret_problem)
{
    const struct dom *best = dom_best(under);
    *ret_problem = best == NULL                                       ? BIND_NO_ROOM
                   : !at_home && area_of(best)->dom.own >= CLOSED / 2 ? BIND_EXCLUDED
                   : is_uneven(class, area_of(best))                  ? BIND_UNEVEN
                                                                      : BIND_FITS;
    return *ret_problem == BIND_FITS ? (size_t)best->tie : BIND_NONE;
}

size_t bind_pick(struct bind *bind, struct bind_class *class, const char *owner,
                 enum bind_problem *ret_problem)
{
    const char *home =
        class->exclusive != NULL && owner != NULL ? home_of(bind, class, owner) : NULL;
    if (home == NULL)
        return pick_in(class, &class->root, false, ret_problem);
    struct area *area = map_get(class->areas, home);
    if (area != NULL)
        return pick_in(class, &area->dom, true, ret_problem);
    *ret_problem = BIND_NO_ROOM;
    return BIND_NONE;
}

void bind_shun(struct bind *bind, struct bind_class *class, size_t id)
{
    struct area *area = class->seats.items[id]->area;
    if (area == NULL || area->is_shunned)
        return;
    area->is_shunned = true;
    area_renew(bind, class, area);
    vec_push(&class->shunned, area);
}

void bind_skip(struct bind_class *class, size_t id)
{
    dom_withdraw(&class->seats.items[id]->dom);
    vec_push(&class->skipped, id);
}

void bind_unshun(struct bind *bind, struct bind_class *class)
{
    for (size_t i = 0; i < class->shunned.len; i++) {
        class->shunned.items[i]->is_shunned = false;
        area_renew(bind, class, class->shunned.items[i]);
    }
    vec_clear(&class->shunned);
}

void bind_unskip(struct bind *bind, struct bind_class *class)
{
    for (size_t i = 0; i < class->skipped.len; i++)
        seat_renew(bind, class, class->skipped.items[i]);
    vec_clear(&class->skipped);
}

const char *bind_home(const struct bind *bind, const struct bind_class *class, const char *owner)
{
    return class->exclusive != NULL && owner != NULL ? home_of(bind, class, owner) : NULL;
}

enum bind_problem bind_why(struct bind *bind, struct bind_class *class, size_t id,
                           const char *owner)
{
    const struct seat *seat = class->seats.items[id];
    enum bind_problem near = near_problem(class, id);
    if (near != BIND_FITS)
        return near;
    if (seat->area == NULL || !dom_is_in(&seat->dom))
        return BIND_NO_ROOM;
    if (class->exclusive != NULL) {
        const char *there = owner_of(bind, class, seat->area->name);
        const char *home = owner != NULL ? home_of(bind, class, owner) : NULL;
        if ((there != NULL && (owner == NULL || strcmp(there, owner) != 0)) ||
            (home != NULL && strcmp(home, seat->area->name) != 0))
            return BIND_EXCLUDED;
    }
    return is_uneven(class, seat->area) ? BIND_UNEVEN : BIND_FITS;
}

/* ---- the whole ---- */

void bind_domains(struct bind *bind, const char *(*domain_of)(void *node, const char *key))
{
    bind->domain_of = domain_of;
}

struct bind *bind_new(size_t shared)
{
    struct bind *bind = mem_zalloc(sizeof(*bind));
    bind->shared = shared;
    bind->claims = map_new();
    bind->homes = map_new();
    return bind;
}

static bool free_claim(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    struct claim *claim = value;
    mem_free(claim->owner);
    mem_free(claim);
    return true;
}

static bool free_home(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    mem_free(value);
    return true;
}

void bind_free(struct bind *bind)
{
    for (size_t i = 0; i < bind->classes.len; i++)
        class_free(bind->classes.items[i]);
    vec_done(&bind->classes);
    near_free(bind);
    for (size_t i = 0; i < bind->spots.len; i++) {
        vec_done(&bind->spots.items[i]->has.at);
        vec_done(&bind->spots.items[i]->taken.at);
        mem_free(bind->spots.items[i]);
    }
    vec_done(&bind->spots);
    (void)map_each(bind->claims, free_claim, NULL);
    (void)map_each(bind->homes, free_home, NULL);
    map_free(bind->claims);
    map_free(bind->homes);
    mem_free(bind);
}
