// SPDX-License-Identifier: Apache-2.0
/* The state of a job is read from the object itself at each of its changes, not put together from
 * lines: lines say when to look. Where there is a Workload it knows best. */
#include "cli/gantt.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/timeline.h"
#include "model/cell.h"
#include <string.h>

#define STUCK_TOLD 5

// clang-format off
static const char *const NAMES[GANTT_STATES] = {
    [GANTT_NONE] = "", [GANTT_WAITING] = "waiting", [GANTT_PAUSED] = "paused",
    [GANTT_STARTING] = "starting", [GANTT_RUNNING] = "running", [GANTT_STOPPING] = "evicted",
    [GANTT_CORDONED] = "cordoned", [GANTT_SILENT] = "unreachable"};
// clang-format on

const char *gantt_state_name(enum gantt_state state)
{
    return NAMES[state];
}

static bool is_given_up(const struct gantt_row *row)
{
    return row->workload != NULL && yyjson_is_false(json_at(row->workload->root, "spec.active"));
}

const char *gantt_end(const struct gantt_row *row)
{
    if (row->end != NULL)
        return row->end;
    return is_given_up(row) ? "deactivated" : NAMES[row->now];
}

/* ---- what an object says ---- */

static bool holds(const struct obj *obj, const char *condition)
{
    return obj != NULL &&
           cell_condition_is(json_at(obj->root, "status.conditions"), condition, "True");
}

static enum gantt_state state_of_workload(const struct obj *workload)
{
    bool is_stopped = holds(workload, "Evicted") || holds(workload, "Preempted");
    if (holds(workload, "Admitted") || holds(workload, "QuotaReserved")) {
        if (is_stopped)
            return GANTT_STOPPING;
        return GANTT_NONE; /* the owner knows more */
    }
    bool is_paused = json_at(workload->root, "status.requeueState.requeueAt") != NULL &&
                     !holds(workload, "Requeued");
    return is_paused ? GANTT_PAUSED : GANTT_WAITING;
}

static enum gantt_state state_of_job(const struct obj *job)
{
    int64_t active = json_int_at(job->root, "status.active", 0);
    int64_t ready = json_int_at(job->root, "status.ready", 0);
    if (yyjson_is_true(json_at(job->root, "spec.suspend")))
        return GANTT_WAITING;
    if (active == 0)
        return json_int_at(job->root, "status.succeeded", 0) > 0 ? GANTT_RUNNING : GANTT_WAITING;
    return ready < active ? GANTT_STARTING : GANTT_RUNNING;
}

static enum gantt_state state_of_jobset(const struct obj *set)
{
    size_t i, n;
    yyjson_val *item;
    int64_t wanted = 0, fine = 0, begun = 0;
    if (yyjson_is_true(json_at(set->root, "spec.suspend")))
        return GANTT_WAITING;
    yyjson_arr_foreach(json_at(set->root, "spec.replicatedJobs"), i, n, item)
    {
        wanted += json_int_at(item, "replicas", 1);
    }
    yyjson_arr_foreach(json_at(set->root, "status.replicatedJobsStatus"), i, n, item)
    {
        fine += json_int_at(item, "ready", 0) + json_int_at(item, "succeeded", 0);
        begun += json_int_at(item, "active", 0) + json_int_at(item, "ready", 0);
    }
    if (fine >= wanted)
        return GANTT_RUNNING;
    return begun + fine > 0 ? GANTT_STARTING : GANTT_WAITING;
}

static enum gantt_state state_of_pod(const struct obj *pod)
{
    if (json_str_at(pod->root, "spec.nodeName") == NULL)
        return GANTT_WAITING;
    return holds(pod, "Ready") ? GANTT_RUNNING : GANTT_STARTING;
}

static enum gantt_state state_of_node(const struct obj *node)
{
    yyjson_val *conditions = json_at(node->root, "status.conditions");
    if (cell_condition_is(conditions, "Ready", "Unknown"))
        return GANTT_SILENT;
    return yyjson_is_true(json_at(node->root, "spec.unschedulable")) ? GANTT_CORDONED : GANTT_NONE;
}

static const char *end_of(const struct obj *obj)
{
    const char *phase = json_str_at(obj->root, "status.phase");
    if (obj->kind == &KIND_POD)
        return str_eq(phase, "Succeeded") ? "succeeded" : str_eq(phase, "Failed") ? "failed" : NULL;
    if (holds(obj, "Failed"))
        return "failed";
    return holds(obj, "Complete") || holds(obj, "Completed") ? "succeeded" : NULL;
}

/* ---- rows ---- */

static void row_free(struct gantt_row *row)
{
    obj_unref(row->owner);
    obj_unref(row->workload);
    vec_done(&row->spans);
    mem_free(row->uid);
    mem_free(row->ns);
    mem_free(row->name);
    mem_free(row->label);
    mem_free(row);
}

static void set_state(struct gantt_row *row, enum gantt_state state, time_ms now)
{
    if (row->spans.len > 0) {
        struct gantt_span *last = vec_last(&row->spans);
        if (last->state == state)
            return;
        last->to = now;
        row->spent[last->state] += now - last->from;
        if (last->from == now)
            (void)vec_pop(&row->spans);
    }
    struct gantt_span span = {state, now, now};
    vec_push(&row->spans, span);
    if (state == GANTT_RUNNING && row->ready_at < 0)
        row->ready_at = now;
    row->evictions += state == GANTT_STOPPING || state == GANTT_PAUSED
                          ? row->now != GANTT_STOPPING && row->now != GANTT_PAUSED
                          : 0;
    row->now = state;
}

static void look(struct gantt_row *row, time_ms now)
{
    const struct obj *obj = row->owner;
    enum gantt_state state = GANTT_NONE;
    if (obj == NULL || row->end != NULL)
        return;
    row->end = end_of(obj);
    if (row->end != NULL) {
        row->over_at = now;
        set_state(row, GANTT_NONE, now);
        return;
    }
    if (row->workload != NULL)
        state = state_of_workload(row->workload);
    if (state == GANTT_NONE)
        state = obj->kind == &KIND_JOB      ? state_of_job(obj)
                : obj->kind == &KIND_JOBSET ? state_of_jobset(obj)
                : obj->kind == &KIND_POD    ? state_of_pod(obj)
                                            : state_of_node(obj);
    /* What has its quota only waits for pods to come up. */
    if (state == GANTT_WAITING && row->workload != NULL && holds(row->workload, "Admitted"))
        state = GANTT_STARTING;
    set_state(row, state, now);
}

static void replace(struct obj **at, const struct obj *obj)
{
    obj_unref(*at);
    *at = obj_ref((struct obj *)obj);
}

static bool is_owned(const struct obj *obj)
{
    return yyjson_arr_size(obj->meta.owners) > 0;
}

static bool has_row(const struct obj *obj)
{
    if (obj->kind == &KIND_NODE || obj->kind == &KIND_JOBSET)
        return true;
    return (obj->kind == &KIND_JOB || obj->kind == &KIND_POD) && !is_owned(obj);
}

static struct gantt_row *row_need(struct gantt *gantt, const struct obj *obj, time_ms now)
{
    struct gantt_row *row = map_get(gantt->by_uid, obj->meta.uid);
    if (row != NULL || !has_row(obj))
        return row;
    row = mem_zalloc(sizeof(*row));
    row->kind = obj->kind;
    row->uid = mem_strdup(obj->meta.uid);
    row->ns = mem_strdup(obj_namespace(obj));
    row->name = mem_strdup(obj->meta.name);
    row->created = now;
    row->ready_at = row->over_at = -1;
    gantt->jobs += obj->kind != &KIND_NODE;
    gantt->nodes += obj->kind == &KIND_NODE;
    vec_push(&gantt->rows, row);
    (void)map_put(gantt->by_uid, row->uid, row);
    return row;
}

static void add_workload(struct gantt *gantt, const struct line *line)
{
    const char *uid = json_str_at(yyjson_arr_get_first(line->obj->meta.owners), "uid");
    struct gantt_row *row = uid != NULL ? map_get(gantt->by_uid, uid) : NULL;
    if (row == NULL)
        return;
    replace(&row->workload, line->obj);
    if (line->type == LINE_DELETED) {
        obj_unref(row->workload);
        row->workload = NULL;
    }
    look(row, line->ms);
}

void gantt_add(struct gantt *gantt, const struct line *line)
{
    const struct obj *obj = line->obj;
    gantt->pods += obj->kind == &KIND_POD && line->type == LINE_CREATED;
    if (strcmp(obj->kind->name, "Workload") == 0) {
        add_workload(gantt, line);
        return;
    }
    struct gantt_row *row = row_need(gantt, obj, line->ms);
    if (row == NULL)
        return;
    replace(&row->owner, obj);
    look(row, line->ms);
    if (line->type == LINE_DELETED && row->end == NULL) {
        row->end = obj->kind == &KIND_NODE ? "gone" : "deleted";
        row->over_at = line->ms;
        set_state(row, GANTT_NONE, line->ms);
    }
}

/* ---- the whole ---- */

void gantt_init(struct gantt *gantt, const char *title)
{
    *gantt = (struct gantt){.title = mem_strdup(title), .by_uid = map_new()};
}

void gantt_done(struct gantt *gantt)
{
    for (size_t i = 0; i < gantt->rows.len; i++)
        row_free(gantt->rows.items[i]);
    vec_done(&gantt->rows);
    map_free(gantt->by_uid);
    mem_free(gantt->title);
}

/* A node is shown when there is something to see. */
static bool is_dull(const struct gantt_row *row)
{
    return row->kind == &KIND_NODE && row->end == NULL && row->spans.len == 1 &&
           row->spans.items[0].state == GANTT_NONE;
}

static char *label_of(const struct gantt_row *row)
{
    if (str_eq(row->ns, "default") || *row->ns == '\0')
        return mem_printf("%s/%s", row->kind->singular, row->name);
    return mem_printf("%s/%s/%s", row->kind->singular, row->ns, row->name);
}

static void nodes_last(struct gantt *gantt)
{
    VEC(struct gantt_row *) nodes = {0};
    size_t kept = 0;
    for (size_t i = 0; i < gantt->rows.len; i++) {
        struct gantt_row *row = gantt->rows.items[i];
        if (row->kind == &KIND_NODE)
            vec_push(&nodes, row);
        else
            gantt->rows.items[kept++] = row;
    }
    for (size_t i = 0; i < nodes.len; i++)
        gantt->rows.items[kept++] = nodes.items[i];
    vec_done(&nodes);
}

void gantt_finish(struct gantt *gantt, time_ms ms, uint64_t changes, bool is_final)
{
    size_t kept = 0;
    gantt->is_final = is_final;
    gantt->length = ms > 0 ? ms : 1;
    gantt->changes = changes;
    for (size_t i = 0; i < gantt->rows.len; i++) {
        struct gantt_row *row = gantt->rows.items[i];
        if (is_dull(row)) {
            row_free(row);
            continue;
        }
        gantt->rows.items[kept++] = row;
        row->label = label_of(row);
        if (row->spans.len == 0)
            continue;
        struct gantt_span *last = vec_last(&row->spans);
        last->to = ms;
        row->spent[last->state] += ms - last->from;
    }
    gantt->rows.len = kept;
    nodes_last(gantt);
}

static bool is_stuck(const struct gantt_row *row)
{
    bool is_waiting = row->now == GANTT_WAITING || row->now == GANTT_STARTING;
    return is_waiting && !is_given_up(row);
}

void gantt_stuck(const struct gantt *gantt, struct str *out)
{
    size_t stuck = 0;
    for (size_t i = 0; gantt->is_final && i < gantt->rows.len; i++) {
        if (!is_stuck(gantt->rows.items[i]))
            continue;
        stuck++;
        if (stuck <= STUCK_TOLD)
            str_addf(out, "%s%s", stuck > 1 ? ", " : "", gantt->rows.items[i]->label);
    }
    if (stuck > STUCK_TOLD)
        str_addf(out, " and %zu more", stuck - STUCK_TOLD);
    if (stuck > 0)
        str_add(out, " will never be ready: nothing can happen any more");
}

void gantt_summary(const struct gantt *gantt, struct str *out)
{
    str_addf(out, "%zu job%s", gantt->jobs, gantt->jobs == 1 ? "" : "s");
    str_addf(out, ", %zu pod%s", gantt->pods, gantt->pods == 1 ? "" : "s");
    str_addf(out, " on %zu node%s, ", gantt->nodes, gantt->nodes == 1 ? "" : "s");
    timeline_span_text(gantt->length, out);
    str_addf(out, " of virtual time, %llu changes", (unsigned long long)gantt->changes);
}
