// SPDX-License-Identifier: Apache-2.0
/* What the server says. Watches bring every version of a workload in the order of the store, so
 * the sum of what is held is exact at each of them: more than a cohort has is a fault. */
#include "base/json.h"
#include "base/mem.h"
#include "bench/admit.h"
#include "bench/proc.h"
#include <stdlib.h>
#include <string.h>

struct stream {
    struct play *play;
    void (*take)(struct play *play, yyjson_val *obj);
    struct str line, request;
    bool is_open;
};

/* ---- workloads ---- */

static void hold(struct play *play, const struct task *task, bool holds)
{
    const struct plan *plan = play->plan;
    struct queue *queue = &play->queues[task->queue];
    int64_t cpu = plan->sorts[task->sort].cpu;
    int64_t *cohort = &play->seen.cohort_held[task->queue / plan->queues];
    uint64_t now = proc_clock_ns();
    queue->held_s += (double)queue->held * (double)(now - queue->held_ns) / 1e9;
    queue->held_ns = now;
    queue->held += holds ? cpu : -cpu;
    *cohort += holds ? cpu : -cpu;
    play->seen.over_quota += *cohort > plan->nominal * (int64_t)plan->queues ||
                             queue->held > plan->nominal + plan->borrowing;
}

struct told { /* conditions of one version */
    bool is_admitted, has_quota, is_evicted, is_ready, is_finished, is_given_up;
};

static struct told told_of(yyjson_val *obj)
{
    struct told told = {0};
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(json_at(obj, "status.conditions"), i, n, item)
    {
        const char *type = json_str_at(item, "type");
        bool is_true = str_eq(json_str_at(item, "status"), "True");
        if (str_eq(type, "Admitted"))
            told.is_admitted = is_true;
        else if (str_eq(type, "QuotaReserved"))
            told.has_quota = is_true;
        else if (str_eq(type, "PodsReady"))
            told.is_ready = is_true;
        else if (str_eq(type, "Finished"))
            told.is_finished = is_true;
        else if (str_eq(type, "Evicted"))
            told.is_evicted = is_true;
        if (str_eq(type, "Evicted") && is_true)
            told.is_given_up = strncmp(json_str_at(item, "reason"), "Deactivated", 11) == 0;
    }
    return told;
}

static void admitted_again(struct play *play, struct task *task)
{
    task->admissions++;
    task->admitted_ns = proc_clock_ns();
    play->seen.admissions++;
}

static void take_workload(struct play *play, yyjson_val *obj)
{
    const char *name = json_str_at(obj, "metadata.name");
    struct task *task = &play->tasks[strtoull(name + 1, NULL, 10)];
    struct told told = told_of(obj);
    bool holds = told.has_quota && !told.is_finished;
    bool had_ended = task->is_finished || task->is_given_up;
    task->version = strtoull(json_str_at(obj, "metadata.resourceVersion"), NULL, 10);
    play->seen.last_version = task->version;
    if (play->seen.first_version == 0)
        play->seen.first_version = task->version - 1;
    if (holds != task->holds_quota)
        hold(play, task, holds);
    if (told.is_admitted && !task->is_admitted)
        admitted_again(play, task);
    if (told.is_evicted && !task->is_evicted) {
        task->evictions++;
        play->seen.evictions++;
    }
    task->holds_quota = holds;
    task->is_admitted = told.is_admitted;
    task->is_evicted = told.is_evicted;
    task->is_ready = told.is_ready;
    task->is_finished = told.is_finished;
    task->is_given_up = told.is_given_up && !holds;
    play->seen.ended += !had_ended && (task->is_finished || task->is_given_up);
    play_look(task);
}

/* ---- queues ---- */

static void take_queue(struct play *play, yyjson_val *obj)
{
    const char *name = json_str_at(obj, "metadata.name");
    struct queue *queue = &play->queues[strtoull(name + 2, NULL, 10)];
    yyjson_val *flavor = yyjson_arr_get_first(json_at(obj, "status.flavorsUsage"));
    yyjson_val *resource = yyjson_arr_get_first(yyjson_obj_get(flavor, "resources"));
    const char *total = json_str_at(resource, "total");
    uint64_t now = proc_clock_ns();
    queue->used_s += queue->used * (double)(now - queue->used_ns) / 1e9;
    queue->used_ns = now;
    queue->used = total != NULL ? strtod(total, NULL) : 0;
    queue->pending = (uint64_t)json_int_at(obj, "status.pendingWorkloads", 0);
    queue->reserving = (uint64_t)json_int_at(obj, "status.reservingWorkloads", 0);
    play->seen.status_writes++;
}

void seen_settle(struct play *play, uint64_t now_ns)
{
    for (size_t i = 0; i < play->n_queues; i++) {
        struct queue *queue = &play->queues[i];
        queue->used_s += queue->used * (double)(now_ns - queue->used_ns) / 1e9;
        queue->held_s += (double)queue->held * (double)(now_ns - queue->held_ns) / 1e9;
        queue->used_ns = queue->held_ns = now_ns;
    }
}

bool seen_is_idle(const struct play *play)
{
    for (size_t i = 0; i < play->n_queues; i++) {
        if (play->queues[i].pending > 0 || play->queues[i].reserving > 0)
            return false;
    }
    return true;
}

/* ---- streams ---- */

static void take_line(struct stream *stream)
{
    scoped_json *doc = yyjson_read(stream->line.data, stream->line.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *type = json_str_at(root, "type");
    if (type == NULL || strcmp(type, "ERROR") == 0)
        wire_die("a watch said %.200s", str_text(&stream->line));
    if (strcmp(type, "BOOKMARK") != 0)
        stream->take(stream->play, yyjson_obj_get(root, "object"));
}

static void on_ready(struct wire *wire)
{
    struct stream *stream = wire_pool_arg(wire);
    wire_send(wire, stream->request.data, stream->request.len);
}

static void on_head(struct wire *wire)
{
    struct stream *stream = wire_pool_arg(wire);
    if (wire->status != 200)
        wire_die("a watch was answered with status %d", wire->status);
    stream->is_open = true;
}

static void on_body(struct wire *wire, const char *data, size_t len)
{
    struct stream *stream = wire_pool_arg(wire);
    const char *end = data + len, *stop;
    while ((stop = memchr(data, '\n', (size_t)(end - data))) != NULL) {
        str_addn(&stream->line, data, (size_t)(stop - data));
        take_line(stream);
        str_clear(&stream->line);
        data = stop + 1;
    }
    str_addn(&stream->line, data, (size_t)(end - data));
}

static void on_done(struct wire *wire)
{
    (void)wire;
    wire_die("the server ended a watch");
}

/* The stream lives as long as the program. */
struct wire_pool *seen_watch(struct play *play, const char *plural)
{
    struct stream *stream = mem_zalloc(sizeof(*stream));
    stream->play = play;
    stream->take = strcmp(plural, "workloads") == 0 ? take_workload : take_queue;
    text_watch(plural, &stream->request);
    struct wire_options options = play->plan->target;
    options.count = 1;
    options.on_ready = on_ready;
    options.on_head = on_head;
    options.on_body = on_body;
    options.on_done = on_done;
    options.arg = stream;
    struct wire_pool *pool = wire_pool_new(play->loop, &options);
    while (!stream->is_open)
        loop_turn(play->loop, -1);
    return pool;
}
