// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/mem.h"
#include "base/vec.h"
#include "disk_kit.h"
#include "faulty_vfs.h"
#include "store/sqlite.h"
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The same run of batches again and again, each time with another operation of the file system
 * failing, or the power gone at it. Afterwards a healthy machine opens the file, and must find:
 *   1. every batch that was acknowledged, whole, and its revision;
 *   2. no batch in part;
 *   3. no refused batch, but for one case: the file system did not recover before the end. Then one
 *      of those refused since the last acknowledgement may be there, whole. */

#define OBJECTS 10
#define BATCHES 8
#define ROWS_MAX 6
#define OP_ANY_CHANGE (OP_WRITE | OP_SYNC | OP_TRUNCATE)

struct slot {
    uint64_t revision; /* 0: not there */
    uint64_t tag;      /* which row of which batch wrote it */
    uint64_t size;
};
struct world {
    uint64_t revision;
    struct slot slots[OBJECTS];
};

struct run {
    char name[128]; /* for messages */
    char *path;
    struct world acknowledged;
    VEC(struct world) refused; /* as it would be with one of the refused ones, since then */
    int refusals;
    int accepted;
};

/* ---- batches ---- */

struct batch {
    struct disk_row rows[ROWS_MAX];
    char names[ROWS_MAX][8];
    size_t len;
    struct world after;
};

static struct buf *value_new(uint64_t tag, uint64_t size)
{
    scoped_str json = {0};
    str_addf(&json, "{\"tag\":%" PRIu64 ",\"text\":\"", tag);
    while (json.len + 2 < size)
        str_addc(&json, (char)('a' + (tag + json.len / 512) % 26));
    str_add(&json, "\"}");
    return buf_new(json.data, json.len);
}

/* Depends on the number and on what is there, not on luck; a row's place in it is its slot. */
static void batch_make(struct batch *batch, int number, const struct world *before)
{
    static const uint64_t sizes[] = {60, 900, 5000};
    struct rng rng;
    rng_seed(&rng, (uint64_t)number);
    *batch = (struct batch){.after = *before};
    batch->len = (size_t)rng_between(&rng, 1, ROWS_MAX);
    for (size_t i = 0; i < batch->len; i++) {
        size_t object = rng_below(&rng, OBJECTS);
        struct slot *slot = &batch->after.slots[object];
        bool removed = slot->revision != 0 && rng_chance(&rng, 1, 4);
        batch->after.revision++;
        *slot = (struct slot){0};
        if (!removed)
            *slot = (struct slot){batch->after.revision, (uint64_t)number * 100 + i,
                                  sizes[rng_below(&rng, ARRAY_LEN(sizes))]};
        (void)snprintf(batch->names[i], sizeof(batch->names[i]), "o%zu", object);
        batch->rows[i] = (struct disk_row){
            .kind = object % 2 ? &KIT_POD : &KIT_JOB,
            .ns = "default",
            .name = batch->names[i],
            .revision = batch->after.revision,
            .json = removed ? NULL : value_new(slot->tag, slot->size),
        };
    }
}

static void batch_done(struct batch *batch)
{
    for (size_t i = 0; i < batch->len; i++)
        buf_unref(batch->rows[i].json);
}

/* ---- one run ---- */

static int ignore_row(void *arg, const struct disk_row *row)
{
    (void)arg;
    (void)row;
    return 0;
}

static int open_disk(const struct run *run, struct disk **ret_disk, struct err *err)
{
    struct sqlite_options options = {
        .path = run->path, .vfs = FAULTY_VFS, .sync_full = 1, .checkpoint_pages = 8};
    return sqlite_disk_open(&options, ret_disk, err);
}

static void run_batch(struct run *run, struct disk *disk, int number)
{
    struct batch batch;
    batch_make(&batch, number, &run->acknowledged);
    int r = kit_commit(disk, batch.rows, batch.len, batch.after.revision, NULL);
    if (r == 0) {
        run->accepted++;
        run->acknowledged = batch.after;
        vec_clear(&run->refused);
    } else {
        run->refusals++;
        vec_push(&run->refused, batch.after);
    }
    batch_done(&batch);
}

/* `killed`: right after the first refusal, or at the end; else it is closed in good order. */
static void run_all(struct run *run, bool killed)
{
    struct disk *disk = NULL;
    struct err err = {0};
    uint64_t revision = 0;
    int r = open_disk(run, &disk, &err);
    if (r < 0)
        return;
    r = disk->ops->load(disk, ignore_row, NULL, &revision, &err);
    for (int number = 1; r == 0 && number <= BATCHES && !(killed && run->refusals > 0); number++)
        run_batch(run, disk, number);
    if (killed)
        faulty_vfs_kill();
    disk->ops->close(disk);
}

/* ---- what is there afterwards ---- */

struct survey {
    const struct run *run;
    struct world world;
};

static int find_row(void *arg, const struct disk_row *row)
{
    struct survey *found = arg;
    scoped_json *doc = NULL;
    assert_int_equal(json_parse((struct sv){row->json->data, row->json->len}, &doc, NULL), 0);
    size_t object = (size_t)(row->name[1] - '0');
    assert_in_range(object, 0, OBJECTS - 1);
    struct slot slot = {.revision = row->revision, .size = row->json->len};
    slot.tag = (uint64_t)json_int_at(yyjson_doc_get_root(doc), "tag", 0);
    struct buf *whole = value_new(slot.tag, slot.size);
    if (whole->len != row->json->len || memcmp(whole->data, row->json->data, whole->len) != 0)
        fail_msg("%s: the value of %s is torn", found->run->name, row->name);
    buf_unref(whole);
    found->world.slots[object] = slot;
    return 0;
}

static bool same(const struct world *a, const struct world *b)
{
    if (a->revision != b->revision)
        return false;
    for (size_t i = 0; i < OBJECTS; i++)
        if (a->slots[i].revision != b->slots[i].revision || a->slots[i].tag != b->slots[i].tag ||
            a->slots[i].size != b->slots[i].size)
            return false;
    return true;
}

static void check(const struct run *run, bool doubt_allowed)
{
    struct disk *disk = NULL;
    struct err err = {0};
    struct survey found = {.run = run};
    int r = open_disk(run, &disk, &err);
    if (r == 0)
        r = disk->ops->load(disk, find_row, &found, &found.world.revision, &err);
    if (r < 0)
        fail_msg("%s: cannot be opened again: %s", run->name, err.text);
    bool fine = same(&found.world, &run->acknowledged);
    for (size_t i = 0; doubt_allowed && i < run->refused.len; i++)
        fine = fine || same(&found.world, &run->refused.items[i]);
    if (!fine)
        fail_msg("%s: found revision %" PRIu64 ", acknowledged was %" PRIu64 ", %d were refused",
                 run->name, found.world.revision, run->acknowledged.revision, run->refusals);
    disk->ops->close(disk);
}

/* ---- the loops over every operation ---- */

struct scenario {
    const char *name;
    struct fault fault;
    enum ending { CLOSE, KILL, KILL_LOSE_ALL, KILL_LOSE_SOME } ending;
    int seeds;
};

static struct run run_new(const char *folder, const struct scenario *scenario, uint64_t seed)
{
    struct run run = {.path = kit_path(folder, "store.db")};
    (void)snprintf(run.name, sizeof(run.name), "%s, at %" PRIu64 ", seed %" PRIu64, scenario->name,
                   scenario->fault.at, seed);
    return run;
}

static void end_run(const struct scenario *scenario, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed * 1000003 + scenario->fault.at);
    if (scenario->ending == CLOSE || scenario->ending == KILL)
        faulty_vfs_restart();
    else
        faulty_vfs_power_on(scenario->ending == KILL_LOSE_SOME ? &rng : NULL);
}

/* Whether the fault struck; when not, the run was too short for it and the loop is at its end. */
static bool run_once(const char *folder, const struct scenario *scenario, uint64_t seed)
{
    struct run run = run_new(folder, scenario, seed);
    faulty_vfs_reset();
    faulty_vfs_arm(scenario->fault);
    run_all(&run, scenario->ending != CLOSE && scenario->fault.span != FAULT_CUT);
    bool struck = faulty_vfs_count() >= scenario->fault.at;
    end_run(scenario, seed);
    bool once = scenario->fault.span == FAULT_ONCE;
    if (once && run.refusals > 1)
        fail_msg("%s: it did not recover by itself, %d batches refused", run.name, run.refusals);
    if (!struck && run.accepted != BATCHES)
        fail_msg("%s: %d batches accepted without any fault", run.name, run.accepted);
    check(&run, !once);
    mem_free(run.path);
    vec_done(&run.refused);
    return struck;
}

static void run_scenario(const struct scenario *scenario)
{
    char *folder = kit_folder_new();
    faulty_vfs_register();
    struct scenario now = *scenario;
    for (bool struck = true; struck;) {
        now.fault.at++;
        for (int seed = 1; struck && seed <= now.seeds; seed++)
            struck = run_once(folder, &now, (uint64_t)seed);
    }
    /* A loop that ends at once has proven nothing. */
    assert_true(now.fault.at > 2);
    print_message("# %s: %d operations\n", scenario->name, (int)now.fault.at - 1);
    faulty_vfs_reset();
    kit_folder_remove(folder);
}

static void run_scenarios(const struct scenario *scenarios, size_t len)
{
    for (size_t i = 0; i < len; i++)
        run_scenario(&scenarios[i]);
}

// clang-format off
static void test_one_failure(void **state)
{
    static const struct scenario scenarios[] = {
        {"read fails",              {OP_READ,     0, SQLITE_IOERR_READ,     FAULT_ONCE}, CLOSE,          1},
        {"write fails",             {OP_WRITE,    0, SQLITE_IOERR_WRITE,    FAULT_ONCE}, CLOSE,          1},
        {"disk full",               {OP_WRITE,    0, SQLITE_FULL,           FAULT_ONCE}, CLOSE,          1},
        {"write fails, killed",     {OP_WRITE,    0, SQLITE_IOERR_WRITE,    FAULT_ONCE}, KILL,           1},
        {"connection broken",       {OP_WRITE | OP_SYNC, 0, SQLITE_CANTOPEN, FAULT_ONCE}, CLOSE,         1},
        {"sync fails",              {OP_SYNC,     0, SQLITE_IOERR_FSYNC,    FAULT_ONCE}, CLOSE,          1},
        {"sync fails, killed",      {OP_SYNC,     0, SQLITE_IOERR_FSYNC,    FAULT_ONCE}, KILL,           1},
        {"sync fails, cut",         {OP_SYNC,     0, SQLITE_IOERR_FSYNC,    FAULT_ONCE}, KILL_LOSE_ALL,  1},
        {"sync fails, torn",        {OP_SYNC,     0, SQLITE_IOERR_FSYNC,    FAULT_ONCE}, KILL_LOSE_SOME, 3},
        {"truncate fails",          {OP_TRUNCATE, 0, SQLITE_IOERR_TRUNCATE, FAULT_ONCE}, CLOSE,          1},
    };
    (void)state;
    run_scenarios(scenarios, ARRAY_LEN(scenarios));
}

static void test_failing_until_the_end(void **state)
{
    static const struct scenario scenarios[] = {
        {"writes fail from",        {OP_WRITE, 0, SQLITE_IOERR_WRITE, FAULT_STUCK}, CLOSE,          1},
        {"full from, torn",         {OP_WRITE, 0, SQLITE_FULL,        FAULT_STUCK}, KILL_LOSE_SOME, 1},
        {"syncs fail from",         {OP_SYNC,  0, SQLITE_IOERR_FSYNC, FAULT_STUCK}, CLOSE,          1},
        {"syncs fail from, killed", {OP_SYNC,  0, SQLITE_IOERR_FSYNC, FAULT_STUCK}, KILL,           1},
        {"syncs fail from, torn",   {OP_SYNC,  0, SQLITE_IOERR_FSYNC, FAULT_STUCK}, KILL_LOSE_SOME, 3},
    };
    (void)state;
    run_scenarios(scenarios, ARRAY_LEN(scenarios));
}

static void test_power_cut(void **state)
{
    static const struct scenario scenarios[] = {
        {"power cut, all lost",     {OP_ANY_CHANGE, 0, 0, FAULT_CUT}, KILL_LOSE_ALL,  1},
        {"power cut, torn",         {OP_ANY_CHANGE, 0, 0, FAULT_CUT}, KILL_LOSE_SOME, 3},
    };
    (void)state;
    run_scenarios(scenarios, ARRAY_LEN(scenarios));
}
// clang-format on

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_failure),
        cmocka_unit_test(test_failing_until_the_end),
        cmocka_unit_test(test_power_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
