// SPDX-License-Identifier: Apache-2.0
/* A quantity that is accepted can be written in both forms and read back as the same value. */
#include "base/quantity.h"
#include "fuzz.h"
#include <assert.h>

static void check_reads_back(quantity value, const struct str *text)
{
    quantity again = 0;
    int r = quantity_parse(sv_of(str_text(text)), &again, NULL);
    assert(r == 0);
    assert(quantity_cmp(value, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    quantity value = 0;
    if (quantity_parse((struct sv){(const char *)data, size}, &value, NULL) < 0)
        return 0;
    scoped_str decimal = {0};
    quantity_format(value, &decimal);
    check_reads_back(value, &decimal);
    scoped_str binary = {0};
    quantity_format_binary(value, &binary);
    check_reads_back(value, &binary);
    return 0;
}
