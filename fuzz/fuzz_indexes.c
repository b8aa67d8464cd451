// SPDX-License-Identifier: Apache-2.0
/* A set of indexes that is accepted can be written and read back as the same set, in one form. */
#include "core/job/indexes.h"
#include "fuzz.h"
#include <assert.h>

#define LIMIT 1000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_indexes set = {0}, again = {0};
    scoped_str text = {0}, text_again = {0};
    struct err err = {0};
    if (indexes_parse((struct sv){(const char *)data, size}, LIMIT, &set, &err) < 0)
        return 0;
    indexes_format(&set, &text);
    int r = indexes_parse(sv_of(str_text(&text)), LIMIT, &again, &err);
    assert(r == 0 && again.count == set.count);
    assert(indexes_common(&set, &again) == set.count);
    indexes_format(&again, &text_again);
    assert(str_eq(str_text(&text), str_text(&text_again)));
    assert(set.count == 0 || indexes_next(&set, 0) >= 0);
    return 0;
}
