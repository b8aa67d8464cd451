// SPDX-License-Identifier: Apache-2.0
/* Invariants, asserted when a batch is applied:
 *  1. revisions only grow, over rows, batches and crashes: nothing that was stored is replaced by
 *     something older;
 *  2. one batch is under way at a time. */
#include "sim/disk.h"
#include "base/map.h"
#include "base/mem.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

enum fate { FATE_STORED, FATE_REFUSED, FATE_CRASH_BEFORE, FATE_CRASH_AFTER };

struct row {
    struct disk_row row;
    char *ns;
    char *name;
};

struct sim_disk {
    struct disk disk;
    struct sim_disk_options options;
    struct map *rows; /* in order of first appearance, which is the same in every run */
    size_t count;
    uint64_t revision;
    struct disk_batch batch; /* under way when `is_busy` */
    bool is_busy;
    bool is_off;
    enum fate fate;
    struct sim_event ready;
};

static struct sim_disk *disk_of(struct disk *disk)
{
    return container_of(disk, struct sim_disk, disk);
}

static void row_key(struct str *key, const struct kind *kind, const char *ns, const char *name)
{
    str_addf(key, "%s/%s|%s|%s", kind->group, kind->name, ns, name);
}

static struct row *row_need(struct sim_disk *disk, const struct disk_row *from)
{
    scoped_str key = {0};
    row_key(&key, from->kind, from->ns, from->name);
    struct row *row = map_get(disk->rows, str_text(&key));
    if (row != NULL)
        return row;
    row = mem_zalloc(sizeof(*row));
    row->ns = mem_strdup(from->ns);
    row->name = mem_strdup(from->name);
    row->row = (struct disk_row){.kind = from->kind, .ns = row->ns, .name = row->name};
    (void)map_put(disk->rows, str_text(&key), row);
    return row;
}

static void apply(struct sim_disk *disk)
{
    for (size_t i = 0; i < disk->batch.len; i++) {
        const struct disk_row *from = &disk->batch.rows[i];
        assert(from->revision > disk->revision);
        disk->revision = from->revision;
        struct row *row = row_need(disk, from);
        disk->count += (from->json != NULL) - (size_t)(row->row.json != NULL);
        buf_unref(row->row.json);
        row->row.json = from->json ? buf_ref(from->json) : NULL;
        row->row.revision = from->revision;
    }
    assert(disk->revision == disk->batch.revision);
}

static void answer(struct sim_disk *disk, int result, const char *text)
{
    disk->is_busy = false;
    disk->batch.done(disk->batch.arg, result, text);
}

static void on_ready(void *arg)
{
    struct sim_disk *disk = arg;
    sim_trace(disk->options.clock, "commit", disk->batch.revision * 4 + disk->fate);
    if (disk->fate == FATE_STORED || disk->fate == FATE_CRASH_AFTER)
        apply(disk);
    if (disk->fate == FATE_CRASH_BEFORE || disk->fate == FATE_CRASH_AFTER)
        disk->options.on_crash(disk->options.arg);
    else if (disk->fate == FATE_REFUSED)
        answer(disk, rng_chance(disk->options.rng, 1, 2) ? -ENOSPC : -EIO, "the disk is ill");
    else
        answer(disk, 0, NULL);
}

static enum fate draw_fate(struct sim_disk *disk)
{
    const struct sim_disk_options *o = &disk->options;
    uint64_t lot = rng_below(o->rng, 10000);
    if (lot < o->refused)
        return FATE_REFUSED;
    if (lot < o->refused + o->crash_before)
        return FATE_CRASH_BEFORE;
    if (lot < o->refused + o->crash_before + o->crash_after)
        return FATE_CRASH_AFTER;
    return FATE_STORED;
}

static void sim_disk_commit(struct disk *port, const struct disk_batch *batch)
{
    struct sim_disk *disk = disk_of(port);
    assert(!disk->is_busy && batch->len > 0);
    disk->batch = *batch;
    disk->is_busy = true;
    if (disk->is_off) {
        answer(disk, -EIO, "the power is off");
        return;
    }
    disk->fate = draw_fate(disk);
    time_ms delay = rng_between(disk->options.rng, 0, disk->options.delay_max_ms);
    sim_clock_arm(disk->options.clock, &disk->ready, disk->options.clock->now + delay);
}

struct load {
    int (*each)(void *arg, const struct disk_row *row);
    void *arg;
    int result;
};

static bool load_one(void *arg, const char *key, void *value)
{
    (void)key;
    struct load *load = arg;
    const struct row *row = value;
    if (row->row.json != NULL)
        load->result = load->each(load->arg, &row->row);
    return load->result == 0;
}

static int sim_disk_load(struct disk *port, int (*each)(void *arg, const struct disk_row *row),
                         void *arg, uint64_t *ret_revision, struct err *err)
{
    struct sim_disk *disk = disk_of(port);
    struct load load = {.each = each, .arg = arg};
    if (!map_each(disk->rows, load_one, &load))
        return err_set(err, load.result, "a stored object cannot be read");
    *ret_revision = disk->revision;
    return 0;
}

static void sim_disk_close(struct disk *port)
{
    assert(!disk_of(port)->is_busy);
}

static const struct disk_ops OPS = {
    .load = sim_disk_load, .commit = sim_disk_commit, .close = sim_disk_close};

struct sim_disk *sim_disk_new(const struct sim_disk_options *options)
{
    struct sim_disk *disk = mem_zalloc(sizeof(*disk));
    disk->disk.ops = &OPS;
    disk->options = *options;
    disk->rows = map_new();
    sim_event_init(&disk->ready, on_ready, disk);
    return disk;
}

static bool row_free(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    struct row *row = value;
    buf_unref(row->row.json);
    mem_free(row->ns);
    mem_free(row->name);
    mem_free(row);
    return true;
}

void sim_disk_free(struct sim_disk *disk)
{
    if (disk == NULL)
        return;
    assert(!disk->is_busy);
    (void)map_each(disk->rows, row_free, NULL);
    map_free(disk->rows);
    mem_free(disk);
}

struct disk *sim_disk_port(struct sim_disk *disk)
{
    return &disk->disk;
}

void sim_disk_power_off(struct sim_disk *disk)
{
    disk->is_off = true;
    sim_clock_disarm(disk->options.clock, &disk->ready);
    if (disk->is_busy)
        answer(disk, -EIO, "the power went");
}

void sim_disk_power_on(struct sim_disk *disk)
{
    assert(!disk->is_busy);
    disk->is_off = false;
}

void sim_disk_heal(struct sim_disk *disk)
{
    disk->options.refused = disk->options.crash_before = disk->options.crash_after = 0;
    if (disk->is_busy)
        disk->fate = FATE_STORED;
}

const struct disk_row *sim_disk_row(const struct sim_disk *disk, const struct kind *kind,
                                    const char *ns, const char *name)
{
    scoped_str key = {0};
    row_key(&key, kind, ns, name);
    const struct row *row = map_get(disk->rows, str_text(&key));
    return row ? &row->row : NULL;
}

size_t sim_disk_count(const struct sim_disk *disk)
{
    return disk->count;
}
