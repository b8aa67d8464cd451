// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"

/* A member of an object; `value` is what the user of the sort wants to carry along. */
struct member {
    struct sv key;
    void *value;
};
void json_members_sort(struct member *members, size_t n); /* by key, equal ones as they stood */

/* json_parse() without a look at keys that are there twice. */
int json_parse_repeating(struct sv text, yyjson_doc **ret_doc);
