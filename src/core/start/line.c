// SPDX-License-Identifier: Apache-2.0
/* Two heaps on top of each other: each pod has its waiting containers by (chain, first come), the
 * line has the pods by (priority, chain of their best container, turn). That is the wanted order:
 * the pods with a container of the best (priority, chain) are those whose best one has it. A start
 * changes one turn and so moves one pod, however many different chains wait in it.
 *
 * 1. A pod has a stand exactly while a container of it waits.
 * 2. Turns are unique, so the order of pods is total. */
#include "core/start/line.h"
#include "base/mem.h"
#include "base/vec.h"
#include <assert.h>

struct stand {
    struct line_pod *pod;
    struct heap items;
    int64_t priority;
    uint64_t turn;
    size_t index; /* in line.stands */
};

struct line {
    VEC(struct stand *) stands; /* a heap */
    size_t n_items;
    uint64_t next_turn, next_seq;
};

static struct line_item *best_of(const struct stand *stand)
{
    return container_of(heap_peek(&stand->items), struct line_item, node);
}

static bool is_before(const struct stand *a, const struct stand *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    uint32_t chain_a = best_of(a)->chain, chain_b = best_of(b)->chain;
    if (chain_a != chain_b)
        return chain_a > chain_b;
    return a->turn < b->turn;
}

static void put(struct line *line, size_t index, struct stand *stand)
{
    line->stands.items[index] = stand;
    stand->index = index;
}

static void sift_up(struct line *line, struct stand *stand)
{
    size_t index = stand->index;
    while (index > 0) {
        struct stand *parent = line->stands.items[(index - 1) / 2];
        if (!is_before(stand, parent))
            break;
        put(line, index, parent);
        index = (index - 1) / 2;
    }
    put(line, index, stand);
}

static void sift_down(struct line *line, struct stand *stand)
{
    size_t index = stand->index;
    for (size_t child; (child = 2 * index + 1) < line->stands.len;) {
        struct stand **stands = line->stands.items;
        if (child + 1 < line->stands.len && is_before(stands[child + 1], stands[child]))
            child++;
        if (!is_before(stands[child], stand))
            break;
        put(line, index, stands[child]);
        index = child;
    }
    put(line, index, stand);
}

/* After anything that its place depends on changed. */
static void settle(struct line *line, struct stand *stand)
{
    sift_up(line, stand);
    sift_down(line, stand);
}

static struct stand *stand_add(struct line *line, struct line_pod *pod)
{
    struct stand *stand = mem_zalloc(sizeof(*stand));
    stand->pod = pod;
    stand->priority = pod->priority;
    stand->turn = line->next_turn++;
    stand->index = line->stands.len;
    vec_push(&line->stands, stand);
    pod->slot = stand;
    return stand;
}

/* It has no items any more, so it is taken out without being compared. */
static void stand_drop(struct line *line, struct stand *stand)
{
    struct stand *last = vec_pop(&line->stands);
    if (last != stand) {
        put(line, stand->index, last);
        settle(line, last);
    }
    stand->pod->slot = NULL;
    heap_done(&stand->items);
    mem_free(stand);
}

static void take_out(struct line *line, struct line_item *item)
{
    struct stand *stand = item->pod->slot;
    heap_remove(&stand->items, &item->node);
    item->is_queued = false;
    line->n_items--;
    if (heap_peek(&stand->items))
        settle(line, stand);
    else
        stand_drop(line, stand);
}

struct line *line_new(void)
{
    return mem_zalloc(sizeof(struct line));
}

void line_free(struct line *line)
{
    if (!line)
        return;
    assert(line->n_items == 0 && line->stands.len == 0);
    vec_done(&line->stands);
    mem_free(line);
}

void line_push(struct line *line, struct line_item *item)
{
    assert(!item->is_queued);
    struct stand *stand = item->pod->slot;
    if (!stand)
        stand = stand_add(line, item->pod);
    item->is_queued = true;
    item->seq = line->next_seq++;
    heap_node_init(&item->node);
    heap_push(&stand->items, &item->node, -(int64_t)item->chain);
    line->n_items++;
    settle(line, stand);
}

void line_remove(struct line *line, struct line_item *item)
{
    if (item->is_queued)
        take_out(line, item);
}

struct line_item *line_peek(struct line *line)
{
    return line->stands.len > 0 ? best_of(line->stands.items[0]) : NULL;
}

struct line_item *line_pop(struct line *line)
{
    struct line_item *item = line_peek(line);
    if (!item)
        return NULL;
    struct stand *stand = item->pod->slot;
    stand->turn = line->next_turn++;
    take_out(line, item);
    return item;
}

size_t line_count(const struct line *line)
{
    return line->n_items;
}
