// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "node/spawner_internal.h"
#include <errno.h>
#include <string.h>

/* Only so many starts are under way at a time; the others wait here.
 *
 *  1. Signals overtake starts, but not one's own: a stop does not wait behind a thousand starts.
 *  2. Starts are answered in the order in which they were sent. When a helper dies the first few
 *     unanswered ones are in doubt (SPAWN_WIRE_BATCH). They have failed, because nobody knows
 *     whether they run: whoever asked must clear the control group before asking again. The rest
 *     has surely not happened and goes to the next helper, unless it was signalled meanwhile. */

#define UNDER_WAY_MAX 128 /* keeps the helper busy while its answers travel */

static void list_push(struct waiting_list *list, struct waiting *item)
{
    item->next = NULL;
    *(list->last ? &list->last->next : &list->first) = item;
    list->last = item;
}

static struct waiting *list_pop(struct waiting_list *list)
{
    struct waiting *item = list->first;
    if (item == NULL)
        return NULL;
    list->first = item->next;
    if (list->first == NULL)
        list->last = NULL;
    return item;
}

static void list_remove(struct waiting_list *list, const struct held *held)
{
    struct waiting *before = NULL;
    for (struct waiting *item = list->first; item; before = item, item = item->next) {
        if (item->held != held)
            continue;
        *(before ? &before->next : &list->first) = item->next;
        if (list->last == item)
            list->last = before;
        mem_free(item);
        return;
    }
}

int queue_put(struct spawner *spawner, const struct spawn_order *order, struct held *held)
{
    scoped_str bytes = {0};
    int r = spawn_wire_put_order(&bytes, order);
    if (r < 0)
        return r;
    struct waiting *item = mem_alloc(sizeof(*item) + bytes.len);
    item->held = held;
    item->len = bytes.len;
    memcpy(item->bytes, bytes.data, bytes.len);
    list_push(&spawner->waiting, item);
    if (held) {
        held->is_queued = true;
        spawner->n_waiting++;
    }
    loop_defer(spawner->options.loop, &spawner->turn_end);
    return 0;
}

void queue_pump(struct spawner *spawner)
{
    while (spawner->waiting.first && spawner->n_under_way < UNDER_WAY_MAX) {
        struct waiting *item = list_pop(&spawner->waiting);
        str_addn(&spawner->link.out, item->bytes, item->len);
        if (item->held == NULL) {
            mem_free(item);
            continue;
        }
        item->held->is_queued = false;
        item->held->is_under_way = true;
        spawner->n_waiting--;
        list_push(&spawner->under_way, item);
        spawner->n_under_way++;
    }
}

void queue_leave(struct held *held)
{
    struct spawner *spawner = held->spawner;
    if (held->is_under_way) { /* and nearly always the first */
        list_remove(&spawner->under_way, held);
        spawner->n_under_way--;
    }
    if (held->is_queued) {
        list_remove(&spawner->waiting, held);
        spawner->n_waiting--;
    }
    held->is_under_way = held->is_queued = false;
}

void queue_done(struct spawner *spawner)
{
    struct waiting *item;
    while ((item = list_pop(&spawner->waiting)) || (item = list_pop(&spawner->under_way)))
        mem_free(item);
}

/* ---- without a helper ---- */

/* What was to be sent next, gone through: greetings and lists come again with the next connection;
 * of a dead helper only signals matter, and only to those who are ours now. */
static bool is_still_wanted(struct spawner *spawner, enum loss loss,
                            const struct spawn_order *order)
{
    struct held *held = order->id ? map_get(spawner->held, order->id) : NULL;
    if (order->type == SPAWN_SIGNAL && held && held->is_adopted)
        adopt_signal(held, order->signo, order->to_group);
    bool is_for_same =
        order->type == SPAWN_START || order->type == SPAWN_SIGNAL || order->type == SPAWN_FORGET;
    return loss == LOST_LINK && is_for_same;
}

/* Also finds which starts were not sent although their turn had come. */
static struct map *sift_out(struct spawner *spawner, enum loss loss)
{
    struct map *unsent = map_new();
    struct str out = spawner->link.out;
    struct sv rest = {str_text(&out), out.len};
    struct spawn_order order;
    struct arena arena;
    arena_init(&arena);
    spawner->link.out = (struct str){0};
    while (spawn_wire_next_order(&rest, &arena, &order) > 0) {
        if (order.type == SPAWN_START)
            (void)map_put(unsent, order.id, spawner);
        if (is_still_wanted(spawner, loss, &order))
            (void)spawn_wire_put_order(&spawner->link.out, &order); /* it was not too big before */
        arena_reset(&arena);
    }
    arena_done(&arena);
    str_done(&out);
    return unsent;
}

static void fail(struct held *held)
{
    if (held->state == HELD_ASKED) {
        spawner_tell_failed(held->spawner, held->id, ECONNRESET, "spawner");
        held_free(held);
    } else {
        queue_leave(held); /* another of that id is there, which was to be the answer */
    }
}

/* The helper lives: its list will tell which of them it got. */
static void doubt_all(struct spawner *spawner, const struct map *unsent)
{
    for (struct waiting *item = spawner->under_way.first, *next; item; item = next) {
        next = item->next;
        struct held *held = item->held;
        if (map_get(unsent, held->id))
            continue;
        held->is_doubtful = held->state == HELD_ASKED;
        queue_leave(held);
    }
}

static void redo_all(struct spawner *spawner, const struct map *unsent)
{
    struct waiting_list again = {0};
    int n_doubtful = SPAWN_WIRE_BATCH;
    for (struct waiting *item = spawner->under_way.first, *next; item; item = next) {
        next = item->next;
        bool is_doubtful = !map_get(unsent, item->held->id) && n_doubtful-- > 0;
        if (is_doubtful || item->held->is_signalled)
            fail(item->held);
    }
    struct waiting *item;
    while ((item = list_pop(&spawner->under_way))) {
        item->held->is_under_way = false;
        item->held->is_queued = true;
        spawner->n_waiting++;
        list_push(&again, item);
    }
    while ((item = list_pop(&spawner->waiting)))
        list_push(&again, item);
    spawner->waiting = again;
    spawner->n_under_way = 0;
}

static void fail_all(struct spawner *spawner)
{
    struct waiting *item;
    while ((item = spawner->under_way.first))
        fail(item->held);
    while ((item = spawner->waiting.first)) {
        if (item->held)
            fail(item->held);
        else
            mem_free(list_pop(&spawner->waiting));
    }
}

static bool unlist(void *arg, const char *key, void *value)
{
    struct held *held = value;
    (void)arg;
    (void)key;
    held->is_listed = false;
    return true;
}

void queue_settle(struct spawner *spawner, enum loss loss)
{
    if (loss == LOST_HELPER)
        adopt_all(spawner);
    struct map *unsent = sift_out(spawner, loss);
    if (loss == LOST_LINK)
        doubt_all(spawner, unsent);
    else if (loss == LOST_HELPER)
        redo_all(spawner, unsent);
    else
        fail_all(spawner);
    (void)map_each(spawner->held, unlist, NULL);
    map_free(unsent);
}
