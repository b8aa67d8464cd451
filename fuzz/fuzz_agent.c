// SPDX-License-Identifier: Apache-2.0
/* What a server says means the same in one piece and byte by byte: as an HTTP answer, and as the
 * JSON in it. Paths and texts stay within their bounds. */
#include "agent/answer.h"
#include "agent/reading.h"
#include "base/mem.h"
#include "base/str.h"
#include "fuzz.h"
#include <assert.h>
#include <string.h>

struct told {
    struct str text;
    struct reader reader;
    int r;
};

static void on_reading(void *arg, const struct reading *reading)
{
    struct told *told = arg;
    assert(reading->status.synced >= 0 && reading->status.deprecated >= 0);
    str_addf(&told->text, "%s|%s|%s|%s|%d|%lld|%lld|%d|%s|%s|%d|%s\n", reading->type,
             reading->version, reading->uid, reading->strategy, reading->is_disabled,
             (long long)reading->status.deprecated, (long long)reading->status.synced,
             reading->status.has_verdict, reading->epoch, reading->attempt, reading->code,
             reading->message);
    assert(reading_epoch(reading) >= 0);
}

static int on_body(void *arg, const char *data, size_t len)
{
    struct told *told = arg;
    str_addn(&told->text, data, len);
    told->r = reader_feed(&told->reader, data, len);
    assert(told->reader.scan.path_len < SCAN_PATH_MAX);
    assert(strlen(told->reader.scan.path) == told->reader.scan.path_len);
    return told->r;
}

/* The body is told as it came, before what is read from it: pieces differ, the order does not. */
static int feed_answer(struct told *told, const char *data, size_t size, size_t step)
{
    struct answer answer;
    int r = 0;
    size_t used = 0;
    answer_init(&answer, on_body, told);
    for (size_t at = 0; at < size && r == 0; at += used)
        r = answer_feed(&answer, data + at, size - at < step ? size - at : step, &used);
    return r == 0 ? answer_eof(&answer) : r;
}

static int feed_reader(struct told *told, const char *data, size_t size, size_t step)
{
    int r = 0;
    for (size_t at = 0; at < size && r == 0; at += step)
        r = reader_feed(&told->reader, data + at, size - at < step ? size - at : step);
    return r;
}

static void check(const char *data, size_t size, bool is_answer, bool is_event)
{
    struct told whole = {0}, bytes = {0};
    reader_init(&whole.reader, is_event, on_reading, &whole);
    reader_init(&bytes.reader, is_event, on_reading, &bytes);
    int (*feed)(struct told *, const char *, size_t, size_t) =
        is_answer ? feed_answer : feed_reader;
    int r = feed(&whole, data, size, size + 1);
    int s = feed(&bytes, data, size, 1);
    assert(r == s);
    assert(is_answer || strcmp(str_text(&whole.text), str_text(&bytes.text)) == 0);
    str_done(&whole.text);
    str_done(&bytes.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check((const char *)data, size, true, true);
    check((const char *)data, size, false, true);
    check((const char *)data, size, false, false);
    return 0;
}
