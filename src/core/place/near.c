// SPDX-License-Identifier: Apache-2.0
/* Pods near each other. A term has its pods counted by node and by domain of its topology key. A
 * seat depends on a count only through "is there any" (wants, avoids) or through the number
 * (prefers): so a pod that comes or goes is one addition, and seats are looked at again when a
 * domain gets its first or loses its last, those of that domain; with a preference, each time.
 *
 * Invariants: 1. The count of a domain is the sum over its nodes, `total` over all domains; pods on
 * a node without a domain are kept for the day when it has one. 2. A class is among the users of a
 * term exactly as often as the term is in its list. */
#include "base/mem.h"
#include "core/place/bind_internal.h"
#include <assert.h>
#include <string.h>

struct precinct { /* a domain, of a term */
    int64_t count;
    VEC(size_t) nodes;
};

struct stand {                 /* of a node, in a term */
    struct precinct *precinct; /* NULL: it has none */
    char *name;                /* of the precinct */
    size_t slot;
    int64_t count;
};

struct bind_term {
    char *key;
    struct map *precincts;
    VEC(struct stand) stands; /* by node */
    int64_t total;
    VEC(struct bind_class *) users;
    size_t index; /* in bind->terms */
};

/* ---- what a class sees ---- */

enum bind_problem near_problem(const struct bind_class *class, size_t id)
{
    bool is_alone = false, is_outside = false;
    int64_t total = 0;
    for (size_t i = 0; i < class->near.len; i++) {
        const struct bind_term *term = class->near.items[i].term;
        const struct precinct *here = term->stands.items[id].precinct;
        enum bind_nearness how = class->near.items[i].how;
        if (how == BIND_AVOIDS && here != NULL && here->count > 0)
            return BIND_TOO_NEAR;
        if (how != BIND_WANTS)
            continue;
        total += term->total;
        is_outside = is_outside || here == NULL;
        is_alone = is_alone || here == NULL || here->count == 0;
    }
    bool may_be_first = class->rules.is_near_itself && total == 0 && !is_outside;
    return is_alone && !may_be_first ? BIND_NOT_NEAR : BIND_FITS;
}

int64_t near_preference(const struct bind_class *class, size_t id)
{
    int64_t sum = 0;
    for (size_t i = 0; i < class->near.len; i++) {
        const struct precinct *here = class->near.items[i].term->stands.items[id].precinct;
        if (class->near.items[i].how == BIND_PREFERS && here != NULL)
            sum += class->near.items[i].weight * here->count;
    }
    return sum;
}

void near_join(struct bind_class *class, const struct bind_rules *rules)
{
    for (size_t i = 0; i < rules->n_near; i++) {
        vec_push(&class->near, rules->near[i]);
        vec_push(&rules->near[i].term->users, class);
    }
}

void near_leave(struct bind_class *class)
{
    for (size_t i = 0; i < class->near.len; i++) {
        struct bind_term *term = class->near.items[i].term;
        size_t at = 0;
        while (term->users.items[at] != class)
            at++;
        vec_remove_swap(&term->users, at);
    }
    vec_done(&class->near);
}

/* ---- counting ---- */

static bool prefers(const struct bind_class *class, const struct bind_term *term)
{
    for (size_t i = 0; i < class->near.len; i++) {
        if (class->near.items[i].term == term && class->near.items[i].how == BIND_PREFERS)
            return true;
    }
    return false;
}

static void renew_all(const struct bind *bind, struct bind_class *class)
{
    for (size_t id = 0; id < class->seats.len; id++)
        seat_renew(bind, class, id);
}

static void tell_users(const struct bind *bind, struct bind_term *term,
                       const struct precinct *precinct, bool is_edge, bool is_first_of_all)
{
    for (size_t i = 0; i < term->users.len; i++) {
        struct bind_class *class = term->users.items[i];
        if (is_first_of_all && class->rules.is_near_itself) {
            renew_all(bind, class); /* nobody may be the first any more, or somebody may again */
            continue;
        }
        if (!is_edge && !prefers(class, term))
            continue;
        for (size_t k = 0; k < precinct->nodes.len; k++)
            seat_renew(bind, class, precinct->nodes.items[k]);
    }
}

static bool count_in(const struct bind *bind, struct bind_term *term, struct precinct *precinct,
                     int64_t by)
{
    int64_t before = precinct->count, all = term->total;
    precinct->count += by;
    term->total += by;
    bool is_edge = (before == 0) != (precinct->count == 0);
    tell_users(bind, term, precinct, is_edge, (all == 0) != (term->total == 0));
    return before == 0 && precinct->count > 0;
}

bool bind_term_count(struct bind *bind, struct bind_term *term, size_t id, int64_t by)
{
    struct stand *stand = &term->stands.items[id];
    stand->count += by;
    return stand->precinct != NULL && by != 0 && count_in(bind, term, stand->precinct, by);
}

int64_t bind_term_total(const struct bind_term *term)
{
    return term->total;
}

/* ---- nodes ---- */

static struct precinct *precinct_need(struct bind_term *term, const char *name)
{
    struct precinct *precinct = map_get(term->precincts, name);
    if (precinct == NULL) {
        precinct = mem_zalloc(sizeof(*precinct));
        (void)map_put(term->precincts, name, precinct);
    }
    return precinct;
}

static void leave(const struct bind *bind, struct bind_term *term, size_t id)
{
    struct stand *stand = &term->stands.items[id];
    struct precinct *precinct = stand->precinct;
    if (precinct == NULL)
        return;
    if (stand->count != 0)
        (void)count_in(bind, term, precinct, -stand->count);
    vec_remove_swap(&precinct->nodes, stand->slot);
    if (stand->slot < precinct->nodes.len)
        term->stands.items[precinct->nodes.items[stand->slot]].slot = stand->slot;
    if (precinct->nodes.len == 0) {
        (void)map_del(term->precincts, stand->name);
        vec_done(&precinct->nodes);
        mem_free(precinct);
    }
    stand->precinct = NULL;
    mem_free(take_ptr(stand->name));
}

static void enter(const struct bind *bind, struct bind_term *term, size_t id, const char *name)
{
    struct stand *stand = &term->stands.items[id];
    stand->precinct = precinct_need(term, name);
    stand->name = mem_strdup(name);
    stand->slot = stand->precinct->nodes.len;
    vec_push(&stand->precinct->nodes, id);
    if (stand->count != 0)
        (void)count_in(bind, term, stand->precinct, stand->count);
}

static void settle(const struct bind *bind, struct bind_term *term, size_t id)
{
    void *node = bind->spots.items[id]->node;
    const char *name = node != NULL ? bind->domain_of(node, term->key) : NULL;
    const char *before = term->stands.items[id].name;
    if (name != NULL && before != NULL && strcmp(name, before) == 0)
        return;
    leave(bind, term, id);
    if (name != NULL)
        enter(bind, term, id, name);
}

void near_add_node(struct bind *bind, size_t id)
{
    for (size_t i = 0; i < bind->terms.len; i++) {
        assert(bind->terms.items[i]->stands.len == id);
        vec_push(&bind->terms.items[i]->stands, (struct stand){0});
    }
}

void near_set_node(struct bind *bind, size_t id)
{
    for (size_t i = 0; i < bind->terms.len; i++)
        settle(bind, bind->terms.items[i], id);
}

/* ---- terms ---- */

struct bind_term *bind_term_new(struct bind *bind, const char *key)
{
    struct bind_term *term = mem_zalloc(sizeof(*term));
    term->key = mem_strdup(key);
    term->precincts = map_new();
    term->index = bind->terms.len;
    vec_push(&bind->terms, term);
    for (size_t id = 0; id < bind->spots.len; id++) {
        vec_push(&term->stands, (struct stand){0});
        settle(bind, term, id);
    }
    return term;
}

static bool free_precinct(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    vec_done(&((struct precinct *)value)->nodes);
    mem_free(value);
    return true;
}

static void term_free(struct bind_term *term)
{
    (void)map_each(term->precincts, free_precinct, NULL);
    map_free(term->precincts);
    for (size_t i = 0; i < term->stands.len; i++)
        mem_free(term->stands.items[i].name);
    vec_done(&term->stands);
    vec_done(&term->users);
    mem_free(term->key);
    mem_free(term);
}

void bind_term_free(struct bind *bind, struct bind_term *term)
{
    assert(term->users.len == 0);
    struct bind_term *last = vec_pop(&bind->terms);
    if (last != term) {
        bind->terms.items[term->index] = last;
        last->index = term->index;
    }
    term_free(term);
}

void near_free(struct bind *bind)
{
    for (size_t i = 0; i < bind->terms.len; i++)
        term_free(bind->terms.items[i]);
    vec_done(&bind->terms);
}
