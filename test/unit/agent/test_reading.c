// SPDX-License-Identifier: Apache-2.0
#include "agent/reading.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct reading last;
static int count;

static void on_reading(void *arg, const struct reading *reading)
{
    (void)arg;
    last = *reading;
    count++;
}

static const struct reading *read_text(bool is_event, const char *text)
{
    struct reader reader;
    count = 0;
    reader_init(&reader, is_event, on_reading, NULL);
    assert_int_equal(reader_feed(&reader, text, strlen(text)), 0);
    return &last;
}

static void test_an_event(void **state)
{
    (void)state;
    const struct reading *r = read_text(
        true,
        "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"JobSet\",\"metadata\":{\"name\":\"t\","
        "\"resourceVersion\":\"17\",\"uid\":\"u-1\"},\"type\":\"no\",\"spec\":{\"failurePolicy\":{"
        "\"restartStrategy\":\"InPlaceRestart\"}},\"status\":{\"deprecatedEpoch\":2,"
        "\"syncedEpoch\":3,\"conditions\":[{\"type\":\"Failed\",\"status\":\"False\"}]}}}\n");
    assert_int_equal(count, 1);
    assert_string_equal(r->type, "MODIFIED");
    assert_string_equal(r->version, "17");
    assert_string_equal(r->uid, "u-1");
    assert_string_equal(r->strategy, "InPlaceRestart");
    assert_false(r->is_disabled);
    assert_int_equal(r->status.deprecated, 2);
    assert_int_equal(r->status.synced, 3);
    assert_false(r->status.has_verdict);
}

static void test_upstreams_names(void **state)
{
    (void)state;
    const struct reading *r = read_text(
        true, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"annotations\":{"
              "\"jobset.sigs.k8s.io/disable-in-place-restart\":\"\"}},\"status\":{"
              "\"previousInPlaceRestartAttempt\":0,\"currentInPlaceRestartAttempt\":1}}}");
    assert_true(r->is_disabled);
    assert_int_equal(r->status.deprecated, 1);
    assert_int_equal(r->status.synced, 2);
}

static void test_verdicts(void **state)
{
    (void)state;
    static const struct {
        const char *status;
        bool has_verdict;
    } CASES[] = {
        {"{\"conditions\":[{\"type\":\"Completed\",\"status\":\"True\"}]}", true},
        {"{\"conditions\":[{\"status\":\"True\",\"type\":\"Failed\"}]}", true},
        {"{\"conditions\":[{\"type\":\"Completed\"},{\"status\":\"True\"}]}", false},
        {"{\"conditions\":[{\"type\":\"Suspended\",\"status\":\"True\"}]}", false},
        {"{\"terminalState\":\"Completed\"}", true},
        {"{\"terminalState\":\"\"}", false},
        {"{}", false},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char text[300] = "{\"type\":\"MODIFIED\",\"object\":{\"status\":";
        (void)strncat(text, CASES[i].status, 200);
        (void)strncat(text, "}}", 3);
        assert_int_equal(read_text(true, text)->status.has_verdict, CASES[i].has_verdict);
    }
}

/* What another object has at the place of a JobSet's field says nothing. */
static void test_only_the_right_place_and_type_count(void **state)
{
    (void)state;
    const struct reading *r = read_text(
        true, "{\"status\":{\"syncedEpoch\":9},\"object\":{\"status\":{\"syncedEpoch\":\"7\","
              "\"deprecatedEpoch\":-1},\"spec\":{\"status\":{\"syncedEpoch\":5}},"
              "\"status.syncedEpoch\":4},\"type\":3}");
    assert_int_equal(r->status.synced, 0);
    assert_int_equal(r->status.deprecated, 0);
    assert_string_equal(r->type, "");
}

static void test_a_pod(void **state)
{
    (void)state;
    const struct reading *r =
        read_text(false, "{\"metadata\":{\"uid\":\"p\",\"resourceVersion\":\"5\",\"annotations\":{"
                         "\"jobset.sigs.k8s.io/epoch\":\"3\"}}}");
    assert_string_equal(r->epoch, "3");
    assert_int_equal(reading_epoch(r), 3);
    r = read_text(false, "{\"metadata\":{\"annotations\":{"
                         "\"jobset.sigs.k8s.io/in-place-restart-attempt\":\"3\"}}}");
    assert_int_equal(reading_epoch(r), 4);
    r = read_text(false, "{\"metadata\":{\"annotations\":{\"jobset.sigs.k8s.io/epoch\":\"-3\","
                         "\"jobset.sigs.k8s.io/in-place-restart-attempt\":\"3\"}}}");
    assert_int_equal(reading_epoch(r), 0);
    r = read_text(false, "{\"metadata\":{\"annotations\":{\"jobset.sigs.k8s.io/epoch\":"
                         "\"11111111111111111111111111111111111111111111\"}}}");
    assert_int_equal(reading_epoch(r), 0);
}

static void test_a_refusal(void **state)
{
    (void)state;
    const struct reading *r =
        read_text(false, "{\"kind\":\"Status\",\"code\":403,\"message\":\"no \\\"way\\\"\"}");
    assert_int_equal(r->code, 403);
    assert_string_equal(r->message, "no \"way\"");
}

static void test_each_document_begins_anew(void **state)
{
    (void)state;
    const struct reading *r =
        read_text(true, "{\"type\":\"ADDED\",\"object\":{\"status\":{\"syncedEpoch\":9}}}\n"
                        "{\"type\":\"BOOKMARK\",\"object\":{}}\n");
    assert_int_equal(count, 2);
    assert_string_equal(r->type, "BOOKMARK");
    assert_int_equal(r->status.synced, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_event),
        cmocka_unit_test(test_upstreams_names),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_only_the_right_place_and_type_count),
        cmocka_unit_test(test_a_pod),
        cmocka_unit_test(test_a_refusal),
        cmocka_unit_test(test_each_document_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
