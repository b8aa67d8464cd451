// SPDX-License-Identifier: Apache-2.0
/* A duration or a point in time that is accepted can be written and read back as the same value. */
#include "base/timetext.h"
#include "fuzz.h"
#include <assert.h>

static void check_duration(struct sv input)
{
    time_ms value = 0, again = 0;
    if (duration_parse(input, &value, NULL) < 0)
        return;
    scoped_str text = {0};
    duration_format(value, &text);
    int r = duration_parse(sv_of(str_text(&text)), &again, NULL);
    assert(r == 0);
    assert(again == value);
    duration_human(value, &text);
}

static void check_point(struct sv input)
{
    time_ms value = 0, again = 0;
    if (rfc3339_parse(input, &value, NULL) < 0)
        return;
    scoped_str text = {0};
    rfc3339_format_ms(value, &text);
    int r = rfc3339_parse(sv_of(str_text(&text)), &again, NULL);
    assert(r == 0);
    assert(again == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sv input = {(const char *)data, size};
    check_duration(input);
    check_point(input);
    return 0;
}
