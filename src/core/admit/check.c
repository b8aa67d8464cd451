// SPDX-License-Identifier: Apache-2.0
#include "core/admit/admit_internal.h"

/* Usage counted again from holders and claims must be what the cells say. */
static const char *check_usage(const struct admit *admit, const struct queue *queue)
{
    for (size_t c = 0; c < queue->node.cells.len; c++) {
        const struct cell *cell = queue->node.cells.items[c];
        amount sum = 0;
        for (size_t i = 0; i < queue->holders.len; i++) {
            const struct wl *wl = queue->holders.items[i];
            for (size_t j = 0; j < wl->uses.len; j++)
                sum += wl->uses.items[j].cell == cell ? wl->uses.items[j].amount : 0;
        }
        if (sum != cell->reserved)
            return "what holders use is not what is counted for people";
        for (size_t i = 0; i < admit->claims.len; i++) {
            const struct wl *wl = admit->claims.items[i];
            for (size_t j = 0; j < wl->uses.len; j++)
                sum += wl->uses.items[j].cell == cell ? wl->uses.items[j].amount : 0;
        }
        if (sum != cell->usage)
            return "a queue's usage is not the sum of its holders and claims";
    }
    return NULL;
}

static const char *check_shape(const struct shape *shape)
{
    bool is_try = shape->state == SHAPE_TRY;
    if (shape->wls.len == 0)
        return "a shape without workloads";
    if (is_try != (shape->try_slot > 0) || is_try == (shape->parked_slot > 0))
        return "a shape in the wrong heap";
    if (is_try && (shape->n_waiters > 0 || shape->less_slot > 0 || shape->more_slot > 0))
        return "a shape to be tried waits for something";
    if (shape->state == SHAPE_ASIDE && !shape->scope && !shape->flavor)
        return "a shape set aside for nobody";
    for (size_t i = 0; i < shape->wls.len; i++) {
        if (((struct wl *)shape->wls.items[i])->shape != shape)
            return "a workload in a shape that it does not know";
    }
    return NULL;
}

static bool check_each_shape(void *arg, const char *key, void *value)
{
    (void)key;
    *(const char **)arg = check_shape(value);
    return *(const char **)arg == NULL;
}

struct wl_check {
    const struct admit *admit;
    size_t pending, reserving;
    const char *wrong;
};

static bool check_wl(void *arg, const char *key, void *value)
{
    struct wl_check *check = arg;
    const struct wl *wl = value;
    (void)key;
    int places = (wl->shape != NULL) + (wl->holds_in != NULL) + wl->is_claiming;
    bool waits = wl->state == STATE_QUEUED, claims = wl->state == STATE_PREEMPTING;
    check->pending += wl->pending_in != NULL;
    check->reserving += wl->holds_in != NULL;
    if (places > 1)
        check->wrong = "a workload in two places";
    else if (waits != (wl->shape != NULL) || claims != wl->is_claiming)
        check->wrong = "a waiting workload is lost";
    else if (wl->facts.has_quota && !wl->facts.is_finished && !wl->holds_in)
        check->wrong = "a holder is lost";
    else if (wl->is_unready != (wl->holds_in && wl->facts.ready != READY_YES))
        check->wrong = "who is not ready is miscounted";
    else if (wl->holds_in && wl->n_grants > 0 && wl->facts.evicted == EVICTED_NOT &&
             wl->n_grants != wl->spec->n_sets)
        check->wrong = "a gang is half admitted";
    return !check->wrong;
}

const char *admit_check(const struct admit *admit)
{
    struct wl_check check = {.admit = admit};
    (void)map_each(admit->wls, check_wl, &check);
    size_t pending = 0, reserving = 0;
    for (size_t i = 0; i < admit->queue_list.len && !check.wrong; i++) {
        const struct queue *queue = admit->queue_list.items[i];
        pending += queue->pending;
        reserving += queue->reserving;
        check.wrong = check_usage(admit, queue);
        if (!check.wrong)
            (void)map_each(queue->shapes, check_each_shape, &check.wrong);
    }
    if (!check.wrong && (pending != check.pending || reserving != check.reserving))
        check.wrong = "queues miscount their workloads";
    return check.wrong;
}
