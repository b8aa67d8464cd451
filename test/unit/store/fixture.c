// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"
#include "base/map.h"
#include "base/mem.h"
#include <stdio.h>
#include <stdlib.h>

struct memory_row {
    struct disk_row row;
    char *ns, *name;
};

static struct memory_disk *memory_of(struct disk *disk)
{
    return container_of(disk, struct memory_disk, disk);
}

static bool load_one(void *arg, const char *key, void *value)
{
    (void)key;
    void **args = arg;
    int (*each)(void *, const struct disk_row *) =
        *(int (**)(void *, const struct disk_row *))args[0];
    const struct memory_row *row = value;
    return row->row.json == NULL || each(args[1], &row->row) == 0;
}

static int memory_load(struct disk *disk, int (*each)(void *arg, const struct disk_row *row),
                       void *arg, uint64_t *ret_revision, struct err *err)
{
    void *args[] = {&each, arg};
    if (!map_each(memory_of(disk)->rows, load_one, args))
        return err_set(err, -EBADMSG, "damaged");
    *ret_revision = memory_of(disk)->revision;
    return 0;
}

static void memory_commit(struct disk *disk, const struct disk_batch *batch)
{
    struct memory_disk *memory = memory_of(disk);
    assert_false(memory->is_busy);
    assert_true(batch->len > 0);
    memory->batch = *batch;
    memory->is_busy = true;
    memory->commits++;
}

static void memory_close(struct disk *disk)
{
    (void)disk;
}

static const struct disk_ops MEMORY_OPS = {
    .load = memory_load, .commit = memory_commit, .close = memory_close};

static void memory_put(struct memory_disk *memory, const struct disk_row *from)
{
    scoped_free char *key = mem_printf("%s|%s|%s", from->kind->name, from->ns, from->name);
    struct memory_row *row = map_get(memory->rows, key);
    if (row == NULL) {
        row = mem_zalloc(sizeof(*row));
        row->ns = mem_strdup(from->ns);
        row->name = mem_strdup(from->name);
        (void)map_put(memory->rows, key, row);
    }
    buf_unref(row->row.json);
    row->row = *from;
    row->row.ns = row->ns;
    row->row.name = row->name;
    row->row.json = from->json ? buf_ref(from->json) : NULL;
    assert_true(from->revision > memory->revision);
    memory->revision = from->revision;
}

static bool row_free(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    struct memory_row *row = value;
    buf_unref(row->row.json);
    mem_free(row->ns);
    mem_free(row->name);
    mem_free(row);
    return true;
}

/* ---- the store ---- */

static time_ms bench_now(void *arg)
{
    return ((struct bench *)arg)->now;
}

static void bench_dirty(void *arg)
{
    struct bench *bench = arg;
    bench->dirty++;
    if (bench->flush_at_once)
        embedded_flush(bench->store);
}

static void open_store(struct bench *bench)
{
    struct embedded_options options = {.disk = &bench->disk.disk,
                                       .window_changes = 100,
                                       .seed = 1,
                                       .now = bench_now,
                                       .on_dirty = bench_dirty,
                                       .arg = bench};
    struct err err = {0};
    assert_int_equal(embedded_open(&options, &bench->store, &err), 0);
}

void bench_open(struct bench *bench)
{
    *bench = (struct bench){.now = 1767225600000}; /* 2026-01-01 */
    bench->disk.disk.ops = &MEMORY_OPS;
    bench->disk.rows = map_new();
    open_store(bench);
    embedded_bootstrap(bench->store);
    bench_settle(bench);
}

void bench_reopen(struct bench *bench)
{
    embedded_close(bench->store);
    open_store(bench);
}

void bench_close(struct bench *bench)
{
    bench_settle(bench);
    embedded_close(bench->store);
    (void)map_each(bench->disk.rows, row_free, NULL);
    map_free(bench->disk.rows);
}

void bench_commit(struct bench *bench, int result)
{
    if (!bench->disk.is_busy)
        return;
    struct disk_batch batch = bench->disk.batch;
    for (size_t i = 0; result == 0 && i < batch.len; i++)
        memory_put(&bench->disk, &batch.rows[i]);
    bench->disk.is_busy = false;
    batch.done(batch.arg, result, result == 0 ? NULL : "no room");
}

void bench_settle(struct bench *bench)
{
    while (embedded_busy(bench->store)) {
        embedded_flush(bench->store);
        bench_commit(bench, 0);
    }
}

const char *bench_row(const struct bench *bench, const char *key)
{
    const struct memory_row *row = map_get(bench->disk.rows, key);
    return row != NULL && row->row.json != NULL ? row->row.json->data : NULL;
}

/* ---- writes ---- */

static char *with_quotes(const char *text)
{
    char *copy = mem_strdup(text);
    for (char *at = copy; *at != '\0'; at++) {
        if (*at == '\'')
            *at = '"';
    }
    return copy;
}

struct write *write_of(enum write_op op, const struct kind *kind, const char *ns, const char *name,
                       const char *body)
{
    struct write *write = write_new(op, kind, ns, name);
    if (body == NULL)
        return write;
    scoped_free char *json = with_quotes(body);
    struct err err = {0};
    int r = op == WRITE_PATCH ? json_parse(sv_of(json), &write->patch, &err)
                              : json_parse_mut(sv_of(json), &write->doc, &err);
    if (r < 0)
        fail_msg("%s: %s", json, err.text);
    return write;
}

/* However it was put together: the text and the view say the same. */
static void assert_whole(const struct obj *obj)
{
    scoped_str text = {0};
    json_write_val(obj->root, &text);
    assert_string_equal(obj->json->data, str_text(&text));
    if (obj->meta.resource_version != NULL)
        assert_int_equal(strtoull(obj->meta.resource_version, NULL, 10), obj->revision);
}

static void on_done(void *arg, struct write_result *result)
{
    struct outcome *outcome = arg;
    outcome->calls++;
    outcome->code = result->status.code;
    (void)snprintf(outcome->reason, sizeof(outcome->reason), "%s",
                   result->status.reason ? result->status.reason : "");
    (void)snprintf(outcome->message, sizeof(outcome->message), "%s",
                   str_text(&result->status.message));
    (void)snprintf(outcome->warnings, sizeof(outcome->warnings), "%s", str_text(&result->warnings));
    outcome->obj = result->obj ? obj_ref(result->obj) : NULL;
    if (result->obj != NULL)
        assert_whole(result->obj);
    outcome->created = result->created;
    outcome->removed = result->removed;
    outcome->unchanged = result->unchanged;
}

void submit(struct bench *bench, struct write *write, struct outcome *outcome)
{
    *outcome = (struct outcome){0};
    write->done = on_done;
    write->arg = outcome;
    store_submit(bench->store, write);
}

void outcome_done(struct outcome *outcome)
{
    obj_unref(outcome->obj);
    outcome->obj = NULL;
}

struct obj *must(struct bench *bench, struct write *write, int code)
{
    struct outcome outcome;
    const struct kind *kind = write->kind;
    submit(bench, write, &outcome);
    bench_settle(bench);
    assert_int_equal(outcome.calls, 1);
    if (outcome.code != code)
        fail_msg("wanted %d, got %d %s: %s", code, outcome.code, outcome.reason, outcome.message);
    struct obj *obj = outcome.obj;
    obj = obj ? cache_get(bench->store->cache, kind, obj_namespace(obj), obj->meta.name) : NULL;
    outcome_done(&outcome);
    return obj;
}

struct obj *get(const struct bench *bench, const struct kind *kind, const char *ns,
                const char *name)
{
    return cache_get(bench->store->cache, kind, ns, name);
}

struct obj *obj_of(const struct kind *kind, uint64_t revision, const char *json)
{
    scoped_free char *text = with_quotes(json);
    struct obj *obj = obj_load(kind, sv_of(text), revision);
    assert_non_null(obj);
    return obj;
}
