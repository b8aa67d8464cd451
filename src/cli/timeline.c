// SPDX-License-Identifier: Apache-2.0
/* From pods to rows, and from rows to the path that decided.
 *
 * 1. Until timeline_finish() all times are of the wall clock, then they count from its start.
 * 2. The axis ends where the last start was over, with a little room behind it; while something is
 *    still on its way it ends now. What a container did hours later is not part of the start.
 * 3. The critical path is walked backwards from the row that was done last: each row's turn came
 *    when the last of its causes did. A row's share of the path is what lies between. */
#include "cli/timeline.h"
#include "cli/podview.h"

#define ROOM_PERCENT 6 /* behind the last start, so that "ready" can be seen */

void timeline_init(struct timeline *timeline, const char *title)
{
    *timeline = (struct timeline){.title = mem_strdup(title), .ready_after = -1};
}

void timeline_row_done(struct timeline_row *row)
{
    mem_free(row->pod);
    mem_free(row->name);
    mem_free(row->label);
    vec_done(&row->spans);
    vec_done(&row->causes);
}

void timeline_done(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->rows.len; i++)
        timeline_row_done(&timeline->rows.items[i]);
    for (size_t i = 0; i < timeline->notes.len; i++)
        mem_free(timeline->notes.items[i]);
    vec_done(&timeline->rows);
    vec_done(&timeline->notes);
    vec_done(&timeline->path);
    mem_free(timeline->path_text);
    mem_free(timeline->title);
}

/* ---- one pod ---- */

static void add_spans(struct timeline_row *row, yyjson_val *moves)
{
    size_t i, n;
    yyjson_val *move;
    yyjson_arr_foreach(moves, i, n, move)
    {
        struct timeline_span span = {.state = podview_state_of(json_str_at(move, "state"))};
        const char *at = json_str_at(move, "at");
        if (span.state == CT_STATE_COUNT || at == NULL ||
            rfc3339_parse(sv_of(at), &span.from, NULL) < 0)
            continue;
        if (row->spans.len > 0)
            vec_last(&row->spans)->to = span.from;
        span.to = span.from;
        vec_push(&row->spans, span);
    }
}

static time_ms came_at(const struct timeline_row *row, enum container_state state)
{
    for (size_t i = 0; i < row->spans.len; i++) {
        if (row->spans.items[i].state == state)
            return row->spans.items[i].from;
    }
    return -1;
}

static void add_row(struct timeline *timeline, const char *pod, const struct podview_one *one)
{
    struct timeline_row row = {.pod = mem_strdup(pod), .name = mem_strdup(one->name)};
    row.generation = json_int_at(one->life, "generation", 0);
    row.is_init = one->is_init;
    row.is_over = podview_is_final(one) || podview_is_done(one);
    add_spans(&row, yyjson_obj_get(one->life, "moves"));
    bool has_to_end = one->is_init && !one->is_sidecar;
    row.done_at = has_to_end ? -1 : came_at(&row, CT_READY);
    if (one->state == CT_FAILED) /* it was ready for a moment at most */
        row.done_at = -1;
    else if (row.done_at < 0 && podview_is_done(one))
        row.done_at = came_at(&row, CT_EXITED);
    vec_push(&timeline->rows, row);
}

static void add_causes(struct timeline *timeline, size_t first, const struct podview_one *one,
                       struct timeline_row *row)
{
    static const enum container_state WAITED_FOR[] = {
        [DEP_READY] = CT_READY, [DEP_COMPLETED] = CT_EXITED, [DEP_STARTED] = CT_STARTING};
    for (size_t i = 0; i < one->needs.len; i++) {
        const struct podview_need *need = &one->needs.items[i];
        struct timeline_cause cause = {.on = first + need->on};
        cause.at = came_at(&timeline->rows.items[cause.on], WAITED_FOR[need->condition]);
        vec_push(&row->causes, cause);
    }
}

void timeline_add_pod(struct timeline *timeline, yyjson_val *pod)
{
    struct podview view;
    size_t first = timeline->rows.len;
    const char *name = json_str_at(pod, "metadata.name");
    podview_open(&view, pod);
    for (size_t i = 0; i < view.list.len; i++)
        add_row(timeline, name != NULL ? name : "", &view.list.items[i]);
    for (size_t i = 0; i < view.list.len; i++)
        add_causes(timeline, first, &view.list.items[i], &timeline->rows.items[first + i]);
    timeline->pods++;
    timeline->containers += view.list.len;
    podview_close(&view);
}

/* ---- the axis ---- */

/* When nothing more was expected of it; TIME_NEVER: something still is. */
static time_ms settled_at(const struct timeline_row *row)
{
    if (row->done_at >= 0)
        return row->done_at;
    return row->is_over && row->spans.len > 0 ? vec_last(&row->spans)->from : TIME_NEVER;
}

struct window {
    time_ms from, to; /* to: TIME_NEVER while something is expected */
};

static struct window window_of(const struct timeline *timeline, bool first_starts_only)
{
    struct window window = {TIME_NEVER, 0};
    for (size_t i = 0; i < timeline->rows.len; i++) {
        const struct timeline_row *row = &timeline->rows.items[i];
        if (row->is_later || (first_starts_only && row->generation > 1))
            continue;
        time_ms from = row->spans.len > 0 ? row->spans.items[0].from : TIME_NEVER;
        time_ms to = settled_at(row);
        window.from = from < window.from ? from : window.from;
        window.to = to > window.to ? to : window.to;
    }
    return window;
}

/* A restart of one container hours after the start of its pod would make all of that a dot. */
static void set_later_apart(struct timeline *timeline)
{
    struct window window = window_of(timeline, true);
    if (window.from == TIME_NEVER || window.to == TIME_NEVER)
        return;
    time_ms limit = window.to + (window.to - window.from) + 1;
    for (size_t i = 0; i < timeline->rows.len; i++) {
        struct timeline_row *row = &timeline->rows.items[i];
        if (row->generation <= 1 || row->spans.len == 0 || row->spans.items[0].from < limit)
            continue;
        row->is_later = true;
        scoped_str after = {0}, note = {0};
        timeline_span_text(row->spans.items[0].from - window.from, &after);
        str_addf(&note, "%s was started again (start %lld) after %s; that is not in the picture",
                 row->name, (long long)row->generation, str_text(&after));
        vec_push(&timeline->notes, str_take(&note));
    }
}

static void shift_row(struct timeline *timeline, struct timeline_row *row)
{
    if (row->is_later) {
        vec_clear(&row->spans);
        row->done_at = -1;
    }
    for (size_t i = 0; i < row->spans.len; i++) {
        row->spans.items[i].from -= timeline->start;
        row->spans.items[i].to -= timeline->start;
    }
    if (row->spans.len > 0)
        vec_last(&row->spans)->to = timeline->length;
    row->done_at -= row->done_at >= 0 ? timeline->start : 0;
    for (size_t i = 0; i < row->causes.len; i++)
        row->causes.items[i].at -= row->causes.items[i].at >= 0 ? timeline->start : 0;
}

static void set_axis(struct timeline *timeline, time_ms now)
{
    set_later_apart(timeline);
    struct window window = window_of(timeline, false);
    if (window.from == TIME_NEVER) /* nothing has moved yet */
        window.from = now;
    timeline->start = window.from;
    time_ms end = window.to == TIME_NEVER ? now : window.to;
    time_ms length = end > window.from ? end - window.from : 0;
    if (window.to != TIME_NEVER)
        length += length * ROOM_PERCENT / 100;
    timeline->length = length > 0 ? length : 1;
    bool is_ready = timeline->rows.len > 0 && window.to != TIME_NEVER;
    for (size_t i = 0; i < timeline->rows.len; i++) {
        struct timeline_row *row = &timeline->rows.items[i];
        is_ready = is_ready && (row->done_at >= 0 || row->is_later);
        shift_row(timeline, row);
    }
    timeline->ready_after = is_ready ? window.to - window.from : -1;
}

/* ---- the path ---- */

static time_ms turn_came(const struct timeline_row *row)
{
    for (size_t i = 0; i < row->spans.len; i++) {
        if (row->spans.items[i].state >= CT_PENDING)
            return row->spans.items[i].from;
    }
    return TIME_NEVER;
}

/* The last to be done; while some are not, the one that has been at it for longest. */
static size_t end_of_path(const struct timeline *timeline)
{
    size_t last = TIMELINE_NONE, busy = TIMELINE_NONE;
    for (size_t i = 0; i < timeline->rows.len; i++) {
        const struct timeline_row *row = &timeline->rows.items[i];
        const struct timeline_row *rows = timeline->rows.items;
        time_ms turn = turn_came(row);
        if (row->done_at >= 0 && (last == TIMELINE_NONE || row->done_at > rows[last].done_at))
            last = i;
        if (row->done_at < 0 && turn != TIME_NEVER &&
            (busy == TIMELINE_NONE || turn < turn_came(&rows[busy])))
            busy = i;
    }
    return busy != TIMELINE_NONE ? busy : last;
}

static const struct timeline_cause *last_cause(const struct timeline_row *row)
{
    const struct timeline_cause *last = NULL;
    time_ms turn = turn_came(row);
    for (size_t i = 0; i < row->causes.len; i++) {
        const struct timeline_cause *cause = &row->causes.items[i];
        if (cause->at >= 0 && cause->at <= turn && (last == NULL || cause->at > last->at))
            last = cause;
    }
    return last;
}

static void find_path(struct timeline *timeline)
{
    size_t at = end_of_path(timeline);
    while (at != TIMELINE_NONE && !timeline->rows.items[at].is_critical) {
        struct timeline_row *row = &timeline->rows.items[at];
        const struct timeline_cause *cause = last_cause(row);
        row->is_critical = true;
        row->critical_from = cause != NULL        ? cause->at
                             : row->spans.len > 0 ? row->spans.items[0].from
                                                  : 0;
        vec_push(&timeline->path, at);
        at = cause != NULL ? cause->on : TIMELINE_NONE;
    }
    for (size_t i = 0; i < timeline->path.len / 2; i++) {
        size_t *a = &timeline->path.items[i];
        size_t *b = &timeline->path.items[timeline->path.len - 1 - i], keep = *a;
        *a = *b;
        *b = keep;
    }
}

time_ms timeline_share_end(const struct timeline *timeline, size_t step)
{
    const struct timeline_row *rows = timeline->rows.items;
    if (step + 1 < timeline->path.len)
        return rows[timeline->path.items[step + 1]].critical_from;
    const struct timeline_row *row = &rows[timeline->path.items[step]];
    return row->done_at >= 0 ? row->done_at : timeline->length;
}

static void write_path(struct timeline *timeline)
{
    struct str out = {0};
    for (size_t i = 0; i < timeline->path.len; i++) {
        const struct timeline_row *row = &timeline->rows.items[timeline->path.items[i]];
        str_addf(&out, "%s%s ", i > 0 ? " > " : "", row->label);
        timeline_span_text(timeline_share_end(timeline, i) - row->critical_from, &out);
    }
    if (out.len > 0)
        timeline->path_text = str_take(&out);
}

/* ---- finish ---- */

static void set_labels(struct timeline *timeline)
{
    bool is_one_pod = timeline->pods == 1, is_one_each = timeline->pods == timeline->containers;
    for (size_t i = 0; i < timeline->rows.len; i++) {
        struct timeline_row *row = &timeline->rows.items[i];
        struct str label = {0};
        if (!is_one_pod)
            str_add(&label, row->pod);
        if (is_one_pod || !is_one_each)
            str_addf(&label, "%s%s", is_one_pod ? "" : "/", row->name);
        if (row->generation > 1)
            str_addf(&label, " (start %lld)", (long long)row->generation);
        else if (row->is_init)
            str_add(&label, " (init)");
        row->label = str_take(&label);
    }
}

static void add_totals(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->rows.len; i++) {
        const struct timeline_row *row = &timeline->rows.items[i];
        time_ms end = row->done_at >= 0 ? row->done_at : timeline->length;
        for (size_t k = 0; k < row->spans.len; k++) {
            const struct timeline_span *span = &row->spans.items[k];
            time_ms to = span->to < end ? span->to : end;
            timeline->totals[span->state] += to > span->from ? to - span->from : 0;
        }
    }
}

void timeline_finish(struct timeline *timeline, time_ms now)
{
    set_axis(timeline, now);
    set_labels(timeline);
    find_path(timeline);
    write_path(timeline);
    add_totals(timeline);
}

/* ---- words and numbers ---- */

void timeline_span_text(time_ms span, struct str *out)
{
    if (span < 0)
        span = 0;
    if (span == 0)
        str_add(out, "0s");
    else if (span < 1000)
        str_addf(out, "%lldms", (long long)span);
    else if (span < 100000)
        str_addf(out, "%.3gs", (double)span / 1000);
    else
        duration_human(span, out);
}

time_ms timeline_tick(time_ms length, size_t ticks)
{
    static const time_ms STEPS[] = {
        1,      2,       5,       10,      20,      50,       100,      200,      500,
        1000,   2000,    5000,    10000,   20000,   30000,    60000,    120000,   300000,
        600000, 1200000, 1800000, 3600000, 7200000, 10800000, 21600000, 43200000, 86400000};
    size_t most = ticks > 0 ? ticks : 1;
    for (size_t i = 0; i < ARRAY_LEN(STEPS); i++) {
        if (length / STEPS[i] <= (time_ms)most)
            return STEPS[i];
    }
    time_ms days = length / 86400000 / (time_ms)most + 1;
    return days * 86400000;
}

bool timeline_shows(const struct timeline *timeline, enum container_state state)
{
    for (size_t i = 0; i < timeline->rows.len; i++) {
        for (size_t k = 0; k < timeline->rows.items[i].spans.len; k++) {
            const struct timeline_span *span = &timeline->rows.items[i].spans.items[k];
            if (span->state == state && span->to > span->from)
                return true;
        }
    }
    return false;
}

void timeline_summary(const struct timeline *timeline, struct str *out)
{
    size_t undone = 0;
    for (size_t i = 0; i < timeline->rows.len; i++)
        undone += timeline->rows.items[i].done_at < 0 && !timeline->rows.items[i].is_later;
    if (timeline->ready_after >= 0) {
        str_add(out, "ready after ");
        timeline_span_text(timeline->ready_after, out);
    } else {
        str_addf(out, "not ready yet, %zu of %zu are not, after ", undone, timeline->containers);
        timeline_span_text(timeline->length, out);
    }
    str_addf(out, ", %zu container%s", timeline->containers, timeline->containers == 1 ? "" : "s");
    if (timeline->pods != 1)
        str_addf(out, " of %zu pods", timeline->pods);
}

/* ---- as JSON ---- */

static yyjson_mut_val *json_spans(yyjson_mut_doc *doc, const struct timeline_row *row)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    for (size_t i = 0; i < row->spans.len; i++) {
        const struct timeline_span *span = &row->spans.items[i];
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);
        json_mut_put(doc, item, "state", yyjson_mut_str(doc, container_state_name(span->state)));
        json_mut_put(doc, item, "fromMs", yyjson_mut_sint(doc, span->from));
        json_mut_put(doc, item, "toMs", yyjson_mut_sint(doc, span->to));
    }
    return list;
}

static void json_names(yyjson_mut_doc *doc, yyjson_mut_val *item, const struct timeline_row *row)
{
    json_mut_put(doc, item, "pod", yyjson_mut_strcpy(doc, row->pod));
    json_mut_put(doc, item, "container", yyjson_mut_strcpy(doc, row->name ? row->name : ""));
}

static void json_rows(const struct timeline *timeline, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    yyjson_mut_val *rows = yyjson_mut_arr(doc), *path = yyjson_mut_arr(doc);
    for (size_t i = 0; i < timeline->rows.len; i++) {
        const struct timeline_row *row = &timeline->rows.items[i];
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, rows);
        json_names(doc, item, row);
        json_mut_put(doc, item, "generation", yyjson_mut_sint(doc, row->generation));
        if (row->done_at >= 0)
            json_mut_put(doc, item, "readyAfterMs", yyjson_mut_sint(doc, row->done_at));
        json_mut_put(doc, item, "isCritical", yyjson_mut_bool(doc, row->is_critical));
        json_mut_put(doc, item, "spans", json_spans(doc, row));
    }
    for (size_t i = 0; i < timeline->path.len; i++) {
        const struct timeline_row *row = &timeline->rows.items[timeline->path.items[i]];
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, path);
        json_names(doc, item, row);
        json_mut_put(doc, item, "fromMs", yyjson_mut_sint(doc, row->critical_from));
        json_mut_put(doc, item, "toMs", yyjson_mut_sint(doc, timeline_share_end(timeline, i)));
    }
    json_mut_put(doc, root, "criticalPath", path);
    json_mut_put(doc, root, "containers", rows);
}

void timeline_json(const struct timeline *timeline, struct str *out)
{
    scoped_json_mut *doc = yyjson_mut_doc_new(&JSON_ALC);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *totals = yyjson_mut_obj(doc);
    yyjson_mut_val *notes = yyjson_mut_arr(doc);
    scoped_str start = {0};
    rfc3339_format_ms(timeline->start, &start);
    json_mut_put(doc, root, "object", yyjson_mut_strcpy(doc, timeline->title));
    json_mut_put(doc, root, "start", yyjson_mut_strcpy(doc, str_text(&start)));
    json_mut_put(doc, root, "lengthMs", yyjson_mut_sint(doc, timeline->length));
    json_mut_put(doc, root, "isReady", yyjson_mut_bool(doc, timeline->ready_after >= 0));
    if (timeline->ready_after >= 0)
        json_mut_put(doc, root, "readyAfterMs", yyjson_mut_sint(doc, timeline->ready_after));
    for (enum container_state state = 0; state < CT_STATE_COUNT; state++)
        json_mut_put(doc, totals, container_state_name(state),
                     yyjson_mut_sint(doc, timeline->totals[state]));
    json_mut_put(doc, root, "totalsMs", totals);
    json_rows(timeline, doc, root);
    for (size_t i = 0; i < timeline->notes.len; i++)
        (void)yyjson_mut_arr_add_strcpy(doc, notes, timeline->notes.items[i]);
    json_mut_put(doc, root, "notes", notes);
    json_write_pretty(root, out);
    str_addc(out, '\n');
}
