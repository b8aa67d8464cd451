// SPDX-License-Identifier: Apache-2.0
/* Cumulative counters make the average of a window the difference of two points, so points may be
 * left out freely: those that come faster than the ring could hold for a whole window replace the
 * last one. A pause longer than GAP_MS, or than the window when that is longer, ends what is known:
 * an average over a night of sleep is no measure of now. */
#include "core/start/average.h"
#include <assert.h>

#define GAP_MS 10000
#define STEPS                                                                                      \
    128 /* points of one window; the ring has room for more, so it never drops a needed one */

static const struct average_point *point_at(const struct average *average, size_t i)
{
    return &average->points[(average->first + i) % AVERAGE_KEPT];
}

static time_ms reach_of(const struct average *average)
{
    return average->window_ms > GAP_MS ? average->window_ms : GAP_MS;
}

/* The oldest point inside the window; if only the newest is, the one before it. */
static const struct average_point *base_of(const struct average *average)
{
    time_ms newest = point_at(average, average->n - 1)->at;
    const struct average_point *base = NULL;
    for (size_t i = average->n - 1; i-- > 0;) {
        const struct average_point *point = point_at(average, i);
        time_ms age = newest - point->at;
        if (age > average->window_ms && (base || age > reach_of(average)))
            break;
        base = point;
    }
    return base;
}

static double percent_of(const struct average *average)
{
    const struct average_point *base = average->n >= 2 ? base_of(average) : NULL;
    if (!base)
        return AVERAGE_UNKNOWN;
    const struct average_point *newest = point_at(average, average->n - 1);
    double whole = newest->whole - base->whole;
    double part = newest->part - base->part;
    if (whole <= 0)
        return AVERAGE_UNKNOWN;
    return part >= whole ? 100 : 100 * part / whole;
}

void average_init(struct average *average, time_ms window_ms)
{
    *average = (struct average){.window_ms = window_ms, .percent = AVERAGE_UNKNOWN};
}

void average_set_window(struct average *average, time_ms window_ms)
{
    average->window_ms = window_ms;
    average->percent = percent_of(average);
}

static void append(struct average *average, const struct average_point *point)
{
    if (average->n == AVERAGE_KEPT) {
        average->first = (average->first + 1) % AVERAGE_KEPT;
        average->n--;
    }
    average->points[(average->first + average->n++) % AVERAGE_KEPT] = *point;
    assert(average->n <= AVERAGE_KEPT);
}

void average_add(struct average *average, time_ms at, double part, double whole)
{
    if (part < 0)
        return;
    const struct average_point *newest = average->n > 0 ? point_at(average, average->n - 1) : NULL;
    if (newest && (at < newest->at || part < newest->part || whole < newest->whole))
        average->n = 0; /* clock or counter went back: the old points are of another count */
    time_ms step = average->window_ms / STEPS;
    bool is_crowded = average->n >= 2 && at - point_at(average, average->n - 2)->at < step;
    bool is_same = average->n >= 1 && at == point_at(average, average->n - 1)->at;
    if (is_crowded || is_same)
        average->n--;
    append(average, &(struct average_point){at, part, whole});
    average->percent = percent_of(average);
}

double average_percent(const struct average *average, time_ms now)
{
    if (average->n == 0)
        return AVERAGE_UNKNOWN;
    time_ms age = now - point_at(average, average->n - 1)->at;
    return age > reach_of(average) || age < -reach_of(average) ? AVERAGE_UNKNOWN : average->percent;
}
