// SPDX-License-Identifier: Apache-2.0
#include "logkit.h"
#include <errno.h>
#include <string.h>

#define NOON 1767268800000 /* 2026-01-01T12:00:00Z */

/* Four lines with known times; the second came in two parts. */
static char *four_lines(struct kit *kit)
{
    char *path = kit_begin(kit, 1);
    struct log_file *file = kit_file(kit, 1);
    append_at(path, "one\n", NOON);
    log_file_look(file);
    append_at(path, "tw", NOON + 1000);
    log_file_look(file);
    append_at(path, "o\n", NOON + 2000);
    log_file_look(file);
    append_at(path, "three\nfour\n", NOON + 3005);
    log_file_look(file);
    return path;
}

static const struct {
    const char *name;
    int64_t tail;
    time_ms since;
    int64_t limit;
    bool timestamps;
    const char *text;
} ASKS[] = {
    {"all", -1, 0, 0, false, "one\ntwo\nthree\nfour\n"},
    {"tail 0", 0, 0, 0, false, ""},
    {"tail 1", 1, 0, 0, false, "four\n"},
    {"tail 3", 3, 0, 0, false, "two\nthree\nfour\n"},
    {"tail of more than there is", 99, 0, 0, false, "one\ntwo\nthree\nfour\n"},
    {"since the very moment", -1, NOON, 0, false, "one\ntwo\nthree\nfour\n"},
    {"a line is of the time of its end", -1, NOON + 1, 0, false, "two\nthree\nfour\n"},
    {"since its second part", -1, NOON + 1500, 0, false, "two\nthree\nfour\n"},
    {"since just after it", -1, NOON + 2001, 0, false, "three\nfour\n"},
    {"since after all", -1, NOON + 3006, 0, false, ""},
    {"the later of since and tail", 1, NOON + 1, 0, false, "four\n"},
    {"the later of tail and since", 99, NOON + 2001, 0, false, "three\nfour\n"},
    {"limit", -1, 0, 6, false, "one\ntw"},
    {"limit beyond the end", -1, 0, 600, false, "one\ntwo\nthree\nfour\n"},
    {"timestamps", -1, 0, 0, true,
     "2026-01-01T12:00:00.000Z one\n2026-01-01T12:00:02.000Z two\n"
     "2026-01-01T12:00:03.005Z three\n2026-01-01T12:00:03.005Z four\n"},
    {"timestamps count towards the limit", 1, 0, 10, true, "2026-01-01"},
};

static void test_asks(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    mem_free(four_lines(&kit));
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(ASKS); i++) {
            scoped_str text = {0};
            struct log_query query = kit_query(1);
            query.tail_lines = ASKS[i].tail;
            query.since = ASKS[i].since;
            query.limit_bytes = ASKS[i].limit;
            query.timestamps = ASKS[i].timestamps;
            kit_read(&kit, &query, &text);
            if (strcmp(str_text(&text), ASKS[i].text) != 0)
                fail_msg("%s, round %d: got '%s'", ASKS[i].name, round, str_text(&text));
        }
        kit_close_logs(&kit); /* all of it must be known to the next one, too */
        kit_open_logs(&kit);
    }
    kit_close(&kit);
}

static void test_unfinished_lines(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    scoped_free char *path = kit_begin(&kit, 1);
    append_at(path, "a\nb\npart", NOON);
    log_file_look(kit_file(&kit, 1));
    scoped_str text = {0};
    struct log_query query = kit_query(1);
    query.tail_lines = 2;
    query.timestamps = true;
    kit_read(&kit, &query, &text);
    assert_string_equal(str_text(&text),
                        "2026-01-01T12:00:00.000Z b\n2026-01-01T12:00:00.000Z part");

    struct sink plain, stamped;
    query = kit_query(1);
    query.follow = true;
    query.tail_lines = 1;
    sink_open(&plain, &kit, &query);
    query.timestamps = true;
    sink_open(&stamped, &kit, &query);
    sink_wants(&plain, "part"); /* a prompt is seen before it is answered */
    append_at(path, "ly\n", NOON + 7000);
    log_file_look(kit_file(&kit, 1));
    sink_wants(&plain, "partly\n");
    sink_wants(&stamped, "2026-01-01T12:00:07.000Z partly\n");
    append_at(path, "rest", NOON + 8000);
    log_file_look(kit_file(&kit, 1));
    kit_end(&kit, 1);
    kit_until(&kit, sink_has_ended, &stamped);
    kit_until(&kit, sink_has_ended, &plain);
    assert_string_equal(str_text(&stamped.text),
                        "2026-01-01T12:00:07.000Z partly\n2026-01-01T12:00:08.000Z rest");
    sink_close(&plain);
    sink_close(&stamped);
    kit_close(&kit);
}

/* Bytes of any value, lines of megabytes: nothing is changed, stamps stand where lines begin. */
static void test_long_and_binary(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    kit_limits(&kit, 100000, 100);
    scoped_free char *path = kit_begin(&kit, 1);
    scoped_str all = {0};
    for (int i = 0; i < 700000; i++)
        str_addc(&all, (char)(i % 256 == '\n' ? 'x' : i % 256));
    str_add(&all, "\nshort\n");
    for (int i = 0; i < 1500000; i++)
        str_addc(&all, (char)(i % 251 == '\n' ? 0 : i % 251));
    append_at(path, "", NOON);
    append(path, all.data, all.len);
    kit_settle(&kit);
    scoped_str text = {0};
    struct log_query query = kit_query(0);
    kit_read(&kit, &query, &text);
    assert_int_equal(text.len, all.len);
    assert_memory_equal(text.data, all.data, all.len);

    str_clear(&text);
    query.tail_lines = 2;
    kit_read(&kit, &query, &text);
    assert_int_equal(text.len, strlen("short\n") + 1500000);

    str_clear(&text);
    query.tail_lines = -1;
    query.timestamps = true;
    kit_read(&kit, &query, &text);
    size_t stamp = strlen("2026-01-01T12:00:00.000Z ");
    assert_int_equal(text.len, all.len + 3 * stamp);
    assert_memory_equal(text.data + stamp, all.data, 700001);
    assert_memory_equal(text.data + 2 * stamp + 700001, "short\n", 6);
    assert_memory_equal(text.data + 3 * stamp + 700007, all.data + 700007, 1500000);
    kit_close(&kit);
}

/* A quick writer, rotations all the time: the follower gets every byte once, then the end. */
static void test_follow_across_rotation(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    kit_limits(&kit, 50000, 3);
    scoped_free char *path = kit_begin(&kit, 1);
    struct sink sink;
    struct log_query query = kit_query(1);
    query.follow = true;
    sink_open(&sink, &kit, &query);
    scoped_str wanted = {0};
    int rotations = 0;
    for (int i = 0; i < 20; i++) { /* in steps, so that the reader always keeps up */
        pid_t pid = start_writer(path, i * 1000, 1000);
        kit_until(&kit, (bool (*)(void *))has_exited, &pid);
        add_lines(&wanted, i * 1000, 1000);
        sink_wants(&sink, str_text(&wanted));
        rotations += kit_file(&kit, 1)->state.cut > 0;
    }
    assert_true(rotations > 10);
    assert_false(sink.ended);
    kit_end(&kit, 1);
    kit_until(&kit, sink_has_ended, &sink);
    assert_string_equal(str_text(&sink.text), str_text(&wanted));
    sink_close(&sink);
    kit_close(&kit);
}

/* A reader that is far behind, in numbered files that are shifted under it, still sees all. */
static void test_slow_reader(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    kit_limits(&kit, 100000, 100);
    scoped_free char *path = kit_begin(&kit, 1);
    scoped_str wanted = {0};
    struct sink sink;
    struct log_query query = kit_query(1);
    query.follow = true;
    sink_open(&sink, &kit, &query);
    sink.refuse = true;
    for (int i = 0; i < 20; i++) {
        pid_t pid = start_writer(path, i * 3000, 3000);
        kit_until(&kit, (bool (*)(void *))has_exited, &pid);
        add_lines(&wanted, i * 3000, 3000);
        kit_settle(&kit);
        sink.refuse = i % 4 != 0;
        log_reader_resume(sink.reader);
        loop_turn(kit.loop, 0);
        sink.refuse = true;
    }
    assert_true(sink.text.len < wanted.len);
    kit_end(&kit, 1);
    sink.refuse = false;
    log_reader_resume(sink.reader);
    kit_until(&kit, sink_has_ended, &sink);
    assert_int_equal(sink.text.len, wanted.len);
    assert_string_equal(str_text(&sink.text), str_text(&wanted));
    sink_close(&sink);
    kit_close(&kit);
}

/* So slow that lines are gone: it goes on with a whole line, and knows no byte twice. */
static void test_too_slow_reader(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    kit_limits(&kit, 20000, 2);
    scoped_free char *path = kit_begin(&kit, 1);
    scoped_str all = {0}, kept = {0};
    struct sink sink;
    struct log_query query = kit_query(1);
    query.follow = true;
    append(path, "first\n", 6);
    sink_open(&sink, &kit, &query);
    sink_wants(&sink, "first\n");
    sink.refuse = true;
    pid_t pid = start_writer(path, 0, 20000);
    kit_until(&kit, (bool (*)(void *))has_exited, &pid);
    add_lines(&all, 0, 20000);
    kit_settle(&kit);
    kit_end(&kit, 1);
    size_t held = sink.text.len;
    sink.refuse = false;
    log_reader_resume(sink.reader);
    kit_until(&kit, sink_has_ended, &sink);
    query.follow = false;
    kit_read(&kit, &query, &kept);
    struct str rest = {sink.text.data + held, sink.text.len - held, 0};
    assert_true(is_end_of(&all, &kept));
    assert_true(is_end_of(&rest, &kept));
    sink_close(&sink);
    kit_close(&kit);
}

/* fn says no: nothing is lost, nothing is offered before it is asked for. */
static void test_back_pressure(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    scoped_free char *path = kit_begin(&kit, 1);
    scoped_str wanted = {0};
    add_lines(&wanted, 0, 10000);
    append(path, wanted.data, wanted.len);
    struct sink sink;
    struct log_query query = kit_query(1);
    query.follow = true;
    sink_open(&sink, &kit, &query);
    sink.refuse = true;
    for (int i = 0; i < 5; i++)
        loop_turn(kit.loop, 0);
    assert_int_equal(sink.calls, 1);
    append(path, "more\n", 5);
    str_add(&wanted, "more\n");
    kit_settle(&kit);
    for (int i = 0; i < 5; i++)
        loop_turn(kit.loop, 0);
    assert_int_equal(sink.calls, 1); /* growth does not wake a reader that was told to wait */
    log_reader_resume(sink.reader);
    loop_turn(kit.loop, 0);
    assert_int_equal(sink.calls, 2);
    assert_int_equal(sink.text.len, 0);
    sink.refuse = false;
    log_reader_resume(sink.reader);
    sink_wants(&sink, str_text(&wanted));
    sink_close(&sink);
    kit_close(&kit);
}

/* As kubectl: following a container that is started again ends with the life that was followed. */
static void test_generations(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    scoped_free char *first = kit_begin(&kit, 1);
    append(first, "life 1\n", 7);
    struct sink sink;
    struct log_query query = kit_query(0);
    query.follow = true;
    sink_open(&sink, &kit, &query);
    sink_wants(&sink, "life 1\n");
    kit_end(&kit, 1);
    scoped_free char *second = kit_begin(&kit, 2);
    append(second, "life 2\n", 7);
    kit_until(&kit, sink_has_ended, &sink);
    assert_string_equal(str_text(&sink.text), "life 1\n");
    sink_close(&sink);

    static const struct {
        uint32_t generation;
        bool previous;
        const char *text; /* NULL: no such log */
    } WANTED[] = {{0, false, "life 2\n"}, {0, true, "life 1\n"}, {2, true, "life 1\n"},
                  {1, false, "life 1\n"}, {1, true, NULL},       {3, false, "life 2\n"},
                  {3, true, "life 2\n"}};
    for (size_t i = 0; i < ARRAY_LEN(WANTED); i++) {
        query = kit_query(WANTED[i].generation);
        query.previous = WANTED[i].previous;
        scoped_str text = {0};
        struct err err = {0};
        struct log_reader *reader = NULL;
        if (WANTED[i].text == NULL) {
            assert_int_equal(log_reader_new(kit.logs, &query, NULL, NULL, &reader, &err), -ENOENT);
            continue;
        }
        kit_read(&kit, &query, &text);
        assert_string_equal(str_text(&text), WANTED[i].text);
    }
    kit_close(&kit);
}

/* Not following ends at what was there, however fast somebody writes. */
static void test_snapshot_ends(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    scoped_free char *path = kit_begin(&kit, 1);
    append(path, "then\n", 5);
    struct sink sink;
    struct log_query query = kit_query(1);
    sink_open(&sink, &kit, &query);
    append(path, "later\n", 6);
    kit_until(&kit, sink_has_ended, &sink);
    assert_string_equal(str_text(&sink.text), "then\n");
    sink_close(&sink);
    kit_close(&kit);
}

static void test_follow_with_limit_and_tail(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, NULL);
    scoped_free char *path = four_lines(&kit);
    struct sink sink;
    struct log_query query = kit_query(1);
    query.follow = true;
    query.tail_lines = 1;
    query.limit_bytes = 8;
    sink_open(&sink, &kit, &query);
    sink_wants(&sink, "four\n");
    append(path, "five\n", 5);
    kit_until(&kit, sink_has_ended, &sink);
    assert_string_equal(str_text(&sink.text), "four\nfiv");
    sink_close(&sink);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asks),
        cmocka_unit_test(test_unfinished_lines),
        cmocka_unit_test(test_long_and_binary),
        cmocka_unit_test(test_follow_across_rotation),
        cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_too_slow_reader),
        cmocka_unit_test(test_back_pressure),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_snapshot_ends),
        cmocka_unit_test(test_follow_with_limit_and_tail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
