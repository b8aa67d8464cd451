// SPDX-License-Identifier: Apache-2.0
#include "core/recover/epoch.h"
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define DIGITS_MAX 10

bool epoch_parse(const char *text, int64_t *ret_number)
{
    int64_t number = 0;
    size_t len = text != NULL ? strlen(text) : 0;
    if (len == 0 || len > DIGITS_MAX || (text[0] == '0' && len > 1))
        return false;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at < '0' || *at > '9')
            return false;
        number = number * 10 + (*at - '0');
    }
    if (number > EPOCH_MAX)
        return false;
    *ret_number = number;
    return true;
}

int64_t epoch_of_notes(const char *epoch, const char *attempt, bool *ret_malformed)
{
    int64_t here = 0, later = -1;
    bool is_wrong = epoch != NULL && !epoch_parse(epoch, &here);
    is_wrong |= attempt != NULL && !epoch_parse(attempt, &later);
    if (ret_malformed != NULL)
        *ret_malformed = is_wrong;
    return here > later + 1 ? here : later + 1;
}

const char *epoch_cause(const char *note_or_null, int64_t epoch)
{
    char number[24];
    int len = snprintf(number, sizeof(number), "%" PRId64 " ", epoch);
    bool is_of = note_or_null != NULL && strncmp(note_or_null, number, (size_t)len) == 0;
    return is_of ? note_or_null + len : NULL;
}
