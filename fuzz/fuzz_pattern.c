// SPDX-License-Identifier: Apache-2.0
/* Patterns of rules: the first line is the pattern, the rest the text. One that is refused finds
 * nothing; none takes long, which libFuzzer's own limits watch. */
#include "base/mem.h"
#include "fuzz.h"
#include "model/pattern.h"
#include <assert.h>
#include <string.h>

#define TEXT_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > TEXT_MAX)
        return 0;
    scoped_free char *text = mem_strndup((const char *)data, size);
    char *end = strchr(text, '\n');
    if (end != NULL)
        *end++ = '\0';
    bool is_fine = pattern_problem(text) == NULL;
    bool finds = pattern_finds(text, end != NULL ? end : "");
    assert(is_fine || !finds);
    return 0;
}
