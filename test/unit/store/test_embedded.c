// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/vec.h"
#include "fixture.h"

#define CM &KIND_CONFIGMAP, "default"

static struct write *creation(const char *name)
{
    scoped_free char *body = mem_printf("{'metadata':{'name':'%s'}}", name);
    return write_of(WRITE_CREATE, CM, "", body);
}

static struct write *patch(const char *name, const char *value)
{
    scoped_free char *body = mem_printf("{'data':{'k':'%s'}}", value);
    return write_of(WRITE_PATCH, CM, name, body);
}

/* Nobody knows of a write before it is durable: not the cache, not the feed, not the caller. */
static void test_known_after_commit(void **state)
{
    (void)state;
    struct bench bench;
    struct outcome a;
    bench_open(&bench);
    size_t dirty = bench.dirty;
    submit(&bench, creation("a"), &a);
    assert_int_equal(bench.dirty, dirty + 1);
    assert_true(embedded_busy(bench.store));
    embedded_flush(bench.store);
    assert_true(bench.disk.is_busy);
    assert_int_equal(a.calls, 0);
    assert_null(get(&bench, CM, "a"));
    assert_int_equal(feed_revision(bench.store->feed), 4);
    bench_commit(&bench, 0);
    assert_int_equal(a.calls, 1);
    assert_ptr_equal(get(&bench, CM, "a"), a.obj);
    assert_int_equal(feed_revision(bench.store->feed), 5);
    assert_false(embedded_busy(bench.store));
    outcome_done(&a);
    bench_close(&bench);
}

/* What came in during a commit goes with the next one, all of it at once. */
static void test_group_commit(void **state)
{
    (void)state;
    struct bench bench;
    struct outcome outcomes[10];
    bench_open(&bench);
    size_t commits = bench.disk.commits;
    submit(&bench, creation("a"), &outcomes[0]);
    embedded_flush(bench.store);
    for (size_t i = 1; i < ARRAY_LEN(outcomes); i++)
        submit(&bench, patch("a", i % 2 ? "odd" : "even"), &outcomes[i]);
    embedded_flush(bench.store); /* not while one is under way */
    assert_int_equal(bench.disk.commits, commits + 1);
    bench_commit(&bench, 0);
    assert_int_equal(bench.disk.commits, commits + 2);
    assert_int_equal(bench.disk.batch.len, 9);
    assert_int_equal(bench.disk.batch.revision, 14);
    bench_commit(&bench, 0);
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
        assert_int_equal(outcomes[i].calls, 1);
        assert_int_equal(outcomes[i].obj->revision, 5 + i);
        outcome_done(&outcomes[i]);
    }
    struct embedded_stats stats = embedded_stats(bench.store);
    assert_int_equal(stats.rows, 4 + 10);
    bench_close(&bench);
}

struct log {
    VEC(uint64_t) revisions;
    VEC(enum change_type) types;
};

static void log_change(void *arg, struct change *change)
{
    struct log *log = arg;
    vec_push(&log->revisions, change->revision);
    vec_push(&log->types, change->type);
}

/* Whoever has much to write does not keep the disk waiting until all of it is decided. */
static void test_many_writes_are_not_waited_for(void **state)
{
    (void)state;
    struct bench bench;
    struct outcome outcomes[150];
    bench_open(&bench);
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
        scoped_free char *name = mem_printf("c%zu", i);
        submit(&bench, creation(name), &outcomes[i]);
        assert_int_equal(bench.disk.is_busy, i >= 63);
    }
    assert_int_equal(bench.disk.batch.len, 64);
    bench_commit(&bench, 0);
    assert_int_equal(outcomes[63].calls, 1);
    assert_int_equal(outcomes[64].calls, 0);
    assert_int_equal(bench.disk.batch.len, 86);
    bench_settle(&bench);
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
        assert_int_equal(outcomes[i].calls, 1);
        assert_int_equal(outcomes[i].obj->revision, 5 + i);
        outcome_done(&outcomes[i]);
    }
    bench_close(&bench);
}

static void test_refused_batch(void **state)
{
    (void)state;
    static const struct {
        int error, code;
    } CASES[] = {{-ENOSPC, 507}, {-EIO, 500}, {-EROFS, 500}};
    for (size_t c = 0; c < ARRAY_LEN(CASES); c++) {
        struct bench bench;
        struct log log = {0};
        struct outcome in_batch, behind, again;
        bench_open(&bench);
        struct watch *watch =
            feed_watch(bench.store->feed, (struct watch_filter){0}, log_change, &log);
        (void)must(&bench, creation("kept"), 0);
        submit(&bench, patch("kept", "lost"), &in_batch);
        embedded_flush(bench.store);
        submit(&bench, patch("kept", "lost too"), &behind);
        bench_commit(&bench, CASES[c].error);
        assert_int_equal(in_batch.calls, 1);
        assert_int_equal(in_batch.code, CASES[c].code);
        assert_null(in_batch.obj);
        assert_int_equal(behind.calls, 1);
        assert_int_equal(behind.code, CASES[c].code);
        assert_string_equal(embedded_stats(bench.store).trouble, "no room");
        assert_int_equal(embedded_stats(bench.store).refused_batches, 1);
        assert_null(strstr(bench_row(&bench, "ConfigMap|default|kept"), "lost"));
        assert_int_equal(get(&bench, CM, "kept")->revision, 5);
        /* The overlay is gone: the next write is decided against what is really there. */
        struct write *write = patch("kept", "new");
        write->if_version = mem_strdup("5");
        submit(&bench, write, &again);
        bench_settle(&bench);
        assert_int_equal(again.code, 0);
        assert_int_equal(again.obj->revision, 8); /* 6 and 7 were given, and are not given again */
        assert_null(embedded_stats(bench.store).trouble);
        assert_int_equal(log.revisions.len, 2);
        assert_int_equal(log.revisions.items[1], 8);
        outcome_done(&again);
        feed_unwatch(watch);
        vec_done(&log.revisions);
        vec_done(&log.types);
        bench_close(&bench);
    }
}

/* "It is so already", "there is none", "somebody was before you": found by looking at a version
 * that is on its way to the disk, they are as durable as that version. */
static void test_answers_wait_for_what_they_saw(void **state)
{
    (void)state;
    static const int RESULTS[] = {0, -EIO};
    for (size_t r = 0; r < ARRAY_LEN(RESULTS); r++) {
        bool ok = RESULTS[r] == 0;
        struct bench bench;
        struct outcome first, same, conflict, removal, gone, fresh, taken;
        bench_open(&bench);
        (void)must(&bench, creation("a"), 0);
        (void)must(&bench, creation("b"), 0);
        submit(&bench, patch("a", "1"), &first);
        submit(&bench, write_of(WRITE_DELETE, CM, "b", NULL), &removal);
        submit(&bench, creation("c"), &fresh);
        embedded_flush(bench.store);
        submit(&bench, patch("a", "1"), &same);
        struct write *late = patch("a", "2");
        late->if_version = mem_strdup("5");
        submit(&bench, late, &conflict);
        submit(&bench, write_of(WRITE_DELETE, CM, "b", NULL), &gone);
        submit(&bench, creation("c"), &taken);
        assert_int_equal(same.calls + conflict.calls + gone.calls + taken.calls, 0);
        bench_commit(&bench, RESULTS[r]);
        assert_int_equal(same.calls + conflict.calls + gone.calls + taken.calls, 4);
        assert_int_equal(same.code, ok ? 0 : 500);
        assert_true(!ok || (same.unchanged && same.obj == get(&bench, CM, "a")));
        assert_int_equal(conflict.code, ok ? 409 : 500);
        assert_int_equal(gone.code, ok ? 404 : 500);
        assert_int_equal(taken.code, ok ? 409 : 500);
        assert_int_equal(get(&bench, CM, "b") == NULL, ok);
        assert_false(embedded_busy(bench.store));
        struct outcome *all[] = {&first, &same, &removal, &fresh};
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
            outcome_done(all[i]);
        bench_close(&bench);
    }
}

/* With nothing on its way there is nothing to wait for. */
static void test_refusals_at_once(void **state)
{
    (void)state;
    struct bench bench;
    struct outcome outcome;
    bench_open(&bench);
    (void)must(&bench, creation("a"), 0);
    size_t commits = bench.disk.commits;
    submit(&bench, creation("a"), &outcome);
    assert_int_equal(outcome.code, 409);
    submit(&bench, write_of(WRITE_DELETE, CM, "b", NULL), &outcome);
    assert_int_equal(outcome.code, 404);
    submit(&bench, write_of(WRITE_PATCH, CM, "a", "{}"), &outcome);
    assert_int_equal(outcome.calls, 1);
    assert_true(outcome.unchanged);
    outcome_done(&outcome);
    assert_int_equal(bench.disk.commits, commits);
    bench_close(&bench);
}

struct chain {
    struct bench *bench;
    int left;
    uint64_t last;
};

static void next_in_chain(void *arg, struct write_result *result)
{
    struct chain *chain = arg;
    assert_true(status_ok(&result->status));
    assert_true(result->obj->revision > chain->last);
    chain->last = result->obj->revision;
    if (chain->left-- == 0)
        return;
    scoped_free char *name = mem_printf("chain-%d", chain->left);
    struct write *write = creation(name);
    write->done = next_in_chain;
    write->arg = chain;
    store_submit(chain->bench->store, write);
}

/* A caller may ask for the next write while it is told of the last, with others still to be told;
 * a host may flush as soon as it hears that there is something. */
static void test_write_from_a_callback(void **state)
{
    (void)state;
    for (int at_once = 0; at_once < 2; at_once++) {
        struct bench bench;
        struct outcome other;
        bench_open(&bench);
        bench.flush_at_once = at_once;
        struct chain chain = {.bench = &bench, .left = 5};
        struct write *write = creation("first");
        write->done = next_in_chain;
        write->arg = &chain;
        store_submit(bench.store, write);
        submit(&bench, creation("beside"), &other);
        bench_settle(&bench);
        assert_int_equal(chain.left, -1);
        assert_int_equal(cache_count(bench.store->cache, &KIND_CONFIGMAP), 7);
        outcome_done(&other);
        bench_close(&bench);
    }
}

static void test_delete_and_create_in_one_batch(void **state)
{
    (void)state;
    struct bench bench;
    struct log log = {0};
    bench_open(&bench);
    (void)must(&bench, creation("a"), 0);
    struct watch *watch = feed_watch(bench.store->feed, (struct watch_filter){0}, log_change, &log);
    struct outcome gone, back;
    submit(&bench, write_of(WRITE_DELETE, CM, "a", NULL), &gone);
    submit(&bench, creation("a"), &back);
    bench_settle(&bench);
    assert_true(gone.removed);
    assert_true(back.created);
    assert_string_not_equal(gone.obj->meta.uid, back.obj->meta.uid);
    assert_int_equal(log.types.items[0], CHANGE_DELETED);
    assert_int_equal(log.types.items[1], CHANGE_ADDED);
    assert_ptr_equal(get(&bench, CM, "a"), back.obj);
    assert_null(cache_by_uid(bench.store->cache, gone.obj->meta.uid));
    feed_unwatch(watch);
    vec_done(&log.revisions);
    vec_done(&log.types);
    outcome_done(&gone);
    outcome_done(&back);
    bench_close(&bench);
}

static void test_reopen(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench);
    (void)must(&bench, creation("a"), 0);
    (void)must(&bench, creation("b"), 0);
    (void)must(&bench, write_of(WRITE_DELETE, CM, "b", NULL), 0);
    scoped_free char *json = mem_strdup(get(&bench, CM, "a")->json->data);
    bench_reopen(&bench);
    assert_int_equal(feed_revision(bench.store->feed), 7); /* also that of a deletion */
    assert_int_equal(feed_oldest(bench.store->feed), 7);
    assert_string_equal(get(&bench, CM, "a")->json->data, json);
    assert_int_equal(get(&bench, CM, "a")->revision, 5);
    assert_null(get(&bench, CM, "b"));
    embedded_bootstrap(bench.store);
    assert_false(embedded_busy(bench.store)); /* the namespaces are there */
    assert_int_equal(must(&bench, creation("c"), 0)->revision, 8);
    bench_close(&bench);
}

static void test_what_is_no_object(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "{",
                                        "\"\"",
                                        "null",
                                        "7",
                                        "[]",
                                        "[{}]",
                                        "{}",
                                        "{\"metadata\":[]}",
                                        "{\"metadata\":{\"name\":\"a\"}}",
                                        "{\"metadata\":{\"uid\":\"1\"}}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_null(obj_load(&KIND_CONFIGMAP, sv_of(texts[i]), 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_after_commit),
        cmocka_unit_test(test_group_commit),
        cmocka_unit_test(test_many_writes_are_not_waited_for),
        cmocka_unit_test(test_refused_batch),
        cmocka_unit_test(test_answers_wait_for_what_they_saw),
        cmocka_unit_test(test_refusals_at_once),
        cmocka_unit_test(test_write_from_a_callback),
        cmocka_unit_test(test_delete_and_create_in_one_batch),
        cmocka_unit_test(test_reopen),
        cmocka_unit_test(test_what_is_no_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
