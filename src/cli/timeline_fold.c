// SPDX-License-Identifier: Apache-2.0
/* Fewer rows, for pictures that people can look at: a row for each pod when there are several, then
 * only as many as there is room for. The rows of the critical path always stay. */
#include "cli/timeline.h"
#include <stdlib.h>

/* ---- pods instead of containers ---- */

/* What a pod as a whole is doing: the state of the container that is furthest from rest. */
static int rank(enum container_state state)
{
    static const int RANKS[CT_STATE_COUNT] = {
        [CT_FAILED] = 7,  [CT_STARTING] = 6, [CT_PENDING] = 5, [CT_DOWNLOADING] = 4,
        [CT_BLOCKED] = 3, [CT_READY] = 2,    [CT_EXITED] = 1,
    };
    return state < CT_STATE_COUNT ? RANKS[state] : 0;
}

static enum container_state state_at(const struct timeline_row *row, time_ms at)
{
    for (size_t i = row->spans.len; i-- > 0;) {
        const struct timeline_span *span = &row->spans.items[i];
        if (span->from <= at && at < span->to)
            return span->state;
    }
    return CT_STATE_COUNT;
}

static int by_value(const void *a, const void *b)
{
    const time_ms *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

struct group {
    const struct timeline_row *rows;
    size_t n;
};

static enum container_state group_state(struct group group, time_ms at)
{
    enum container_state state = CT_STATE_COUNT;
    for (size_t i = 0; i < group.n; i++) {
        enum container_state other = state_at(&group.rows[i], at);
        state = rank(other) > rank(state) ? other : state;
    }
    return state;
}

static void merge_spans(struct group group, struct timeline_row *pod)
{
    VEC(time_ms) cuts = {0};
    for (size_t i = 0; i < group.n; i++) {
        for (size_t k = 0; k < group.rows[i].spans.len; k++) {
            vec_push(&cuts, group.rows[i].spans.items[k].from);
            vec_push(&cuts, group.rows[i].spans.items[k].to);
        }
    }
    if (cuts.len > 0)
        qsort(cuts.items, cuts.len, sizeof(*cuts.items), by_value);
    for (size_t i = 0; i + 1 < cuts.len; i++) {
        struct timeline_span span = {group_state(group, cuts.items[i]), cuts.items[i],
                                     cuts.items[i + 1]};
        if (span.from == span.to || span.state == CT_STATE_COUNT)
            continue;
        if (pod->spans.len > 0 && vec_last(&pod->spans)->state == span.state &&
            vec_last(&pod->spans)->to == span.from)
            vec_last(&pod->spans)->to = span.to;
        else
            vec_push(&pod->spans, span);
    }
    vec_done(&cuts);
}

static struct timeline_row pod_row(struct group group)
{
    struct timeline_row pod = {.pod = mem_strdup(group.rows[0].pod),
                               .label = mem_strdup(group.rows[0].pod)};
    for (size_t i = 0; i < group.n; i++) {
        const struct timeline_row *row = &group.rows[i];
        pod.is_critical = pod.is_critical || row->is_critical;
        if (!row->is_later)
            pod.done_at = row->done_at < 0 || pod.done_at < 0 ? -1
                          : row->done_at > pod.done_at        ? row->done_at
                                                              : pod.done_at;
    }
    merge_spans(group, &pod);
    return pod;
}

static void fold_pods(struct timeline *timeline)
{
    size_t kept = 0, first = 0;
    struct timeline_row *rows = timeline->rows.items;
    while (first < timeline->rows.len) {
        size_t n = 1;
        while (first + n < timeline->rows.len && str_eq(rows[first + n].pod, rows[first].pod))
            n++;
        struct timeline_row pod = pod_row((struct group){&rows[first], n});
        for (size_t i = 0; i < n; i++)
            timeline_row_done(&rows[first + i]);
        rows[kept++] = pod;
        first += n;
    }
    timeline->rows.len = kept;
    vec_clear(&timeline->path);
    vec_push(&timeline->notes, mem_printf("each line is a pod, not one of its %zu containers: they "
                                          "would be too many",
                                          timeline->containers));
}

/* ---- leaving some out ---- */

static void leave_out(struct timeline *timeline, size_t rows_max)
{
    struct timeline_row *rows = timeline->rows.items;
    size_t kept = 0, others = 0, critical = 0, n = timeline->rows.len;
    for (size_t i = 0; i < n; i++)
        critical += rows[i].is_critical;
    size_t room = rows_max > critical ? rows_max - critical : 0;
    scoped_free size_t *now_at = mem_zalloc((n + 1) * sizeof(*now_at));
    for (size_t i = 0; i < n; i++) {
        if (!rows[i].is_critical && others >= room) {
            timeline_row_done(&rows[i]);
            continue;
        }
        others += !rows[i].is_critical;
        now_at[i] = kept;
        rows[kept++] = rows[i];
    }
    for (size_t i = 0; i < timeline->path.len; i++)
        timeline->path.items[i] = now_at[timeline->path.items[i]];
    timeline->rows.len = kept;
    vec_push(&timeline->notes, mem_printf("and %zu more; -o json has all of them", n - kept));
}

void timeline_fold(struct timeline *timeline, size_t rows_max)
{
    if (timeline->rows.len > rows_max && timeline->pods > 1 && timeline->pods < timeline->rows.len)
        fold_pods(timeline);
    if (timeline->rows.len > rows_max)
        leave_out(timeline, rows_max);
}
