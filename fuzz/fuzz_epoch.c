// SPDX-License-Identifier: Apache-2.0
/* Two annotations as a pod may have them, one a line. Properties: what is accepted is what one
 * would write for that number; a malformed one says nothing; both together never say less than
 * either. */
#include "base/mem.h"
#include "core/recover/epoch.h"
#include "fuzz.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void check_one(const char *text)
{
    int64_t number = -7;
    char again[32];
    if (!epoch_parse(text, &number)) {
        assert(number == -7);
        return;
    }
    assert(number >= 0 && number <= EPOCH_MAX);
    (void)snprintf(again, sizeof(again), "%" PRId64, number);
    assert(strcmp(again, text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_free char *epoch = mem_strndup((const char *)data, size);
    char *attempt = strchr(epoch, '\n');
    bool is_wrong, is_wrong_too;
    if (attempt != NULL)
        *attempt++ = '\0';
    check_one(epoch);
    if (attempt != NULL)
        check_one(attempt);
    int64_t both = epoch_of_notes(epoch, attempt, &is_wrong);
    assert(both >= 0 && both <= (int64_t)EPOCH_MAX + 1);
    assert(both >= epoch_of_notes(epoch, NULL, &is_wrong_too));
    assert(is_wrong || !is_wrong_too);
    assert(both >= epoch_of_notes(NULL, attempt, NULL));
    return 0;
}
