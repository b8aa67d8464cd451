// SPDX-License-Identifier: Apache-2.0
#include "core/admit/quota.h"
#include <assert.h>

static amount least(amount a, amount b)
{
    return a < b ? a : b;
}

static amount not_below_zero(amount a)
{
    return a > 0 ? a : 0;
}

struct cell *cell_find(const struct node *node, const struct flavor *flavor, const char *resource)
{
    for (size_t i = 0; i < node->cells.len; i++) {
        struct cell *cell = node->cells.items[i];
        if (cell->flavor == flavor && cell->resource == resource)
            return cell;
    }
    return NULL;
}

struct cell *cell_make(struct node *node, struct flavor *flavor, const char *resource)
{
    struct cell *cell = cell_find(node, flavor, resource);
    if (cell)
        return cell;
    cell = mem_zalloc(sizeof(*cell));
    cell->node = node;
    cell->flavor = flavor;
    cell->resource = resource;
    cell->borrowing = cell->lending = AMOUNT_NONE;
    vec_push(&node->cells, cell);
    return cell;
}

void cells_free(struct node *node)
{
    for (size_t i = 0; i < node->cells.len; i++) {
        pq_done(&node->cells.items[i]->waiters);
        vec_done(&node->cells.items[i]->askers);
        mem_free(node->cells.items[i]);
    }
    vec_done(&node->cells);
}

static amount used_above(const struct cell *cell)
{
    return not_below_zero(cell->usage - cell->local);
}

static amount local_free(const struct cell *cell)
{
    return not_below_zero(cell->local - cell->usage);
}

void quota_derive(struct node *node)
{
    for (size_t i = 0; i < node->cells.len; i++) {
        struct cell *cell = node->cells.items[i];
        cell->subtree += cell->nominal; /* what children lend is in it already */
        bool keeps = node->parent && cell->lending != AMOUNT_NONE;
        cell->local = keeps ? not_below_zero(cell->subtree - cell->lending) : 0;
        cell->parent = NULL;
        if (!node->parent)
            continue;
        cell->parent = cell_make(node->parent, cell->flavor, cell->resource);
        cell->parent->subtree += cell->subtree - cell->local;
        cell->parent->usage += used_above(cell);
    }
}

void quota_derive_potential(struct node *node)
{
    for (size_t i = 0; i < node->cells.len; i++) {
        struct cell *cell = node->cells.items[i];
        cell->potential = cell->subtree;
        if (!cell->parent)
            continue;
        cell->potential = cell->local + cell->parent->potential;
        if (cell->borrowing != AMOUNT_NONE)
            cell->potential = least(cell->potential, cell->subtree + cell->borrowing);
    }
}

amount quota_available(const struct cell *cell)
{
    if (!cell->parent)
        return cell->subtree - cell->usage;
    amount above = quota_available(cell->parent);
    if (cell->borrowing != AMOUNT_NONE) {
        amount lent = cell->subtree - cell->local;
        above = least(above, lent - used_above(cell) + cell->borrowing);
    }
    return local_free(cell) + above;
}

bool quota_borrows(const struct cell *cell, amount more)
{
    return cell->usage + more > cell->subtree;
}

uint32_t quota_level(struct cell *cell, amount more, struct cell **ret_home)
{
    for (struct cell *at = cell;; at = at->parent) {
        if (!quota_borrows(at, more)) {
            *ret_home = at;
            return at == cell ? 0 : at->node->height;
        }
        if (!at->parent) {
            *ret_home = NULL;
            return at == cell ? 0 : at->node->height;
        }
        more -= local_free(at);
    }
}

void quota_take(struct cell *cell, amount more)
{
    for (; cell && more > 0; cell = cell->parent) {
        amount room = local_free(cell);
        cell->usage += more;
        more -= room;
    }
}

void quota_give(struct cell *cell, amount less)
{
    for (; cell && less > 0; cell = cell->parent) {
        amount above = used_above(cell);
        assert(cell->usage >= less);
        cell->usage -= less;
        less = least(less, above);
    }
}

struct cell *cell_root(struct cell *cell)
{
    while (cell->parent)
        cell = cell->parent;
    return cell;
}
