// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"
#include "base/vec.h"
#include <yyjson.h>

/* Texts and the values they stand for, found by binary search. yyjson looks keys up one by one;
 * a patch of n keys on an object of n keys would be quadratic. Sorted, not hashed: no choice of
 * keys makes it slow. Texts are not copied. */
struct keyref {
    struct sv text;
    size_t order; /* of insertion; among equal texts the first comes first */
    yyjson_mut_val *key, *val;
};

struct keyindex {
    VEC(struct keyref) refs;
};

void keyindex_add(struct keyindex *index, struct sv text, yyjson_mut_val *key, yyjson_mut_val *val);
void keyindex_add_object(struct keyindex *index, yyjson_mut_val *object);
void keyindex_sort(struct keyindex *index); /* after the last add, before the first find */
/* The first that was added with this text, or NULL; its equals follow it. */
struct keyref *keyindex_find(const struct keyindex *index, struct sv text);
void keyindex_done(struct keyindex *index);
#define scoped_keyindex __attribute__((cleanup(keyindex_done))) struct keyindex

struct sv keyindex_text(const yyjson_mut_val *string);
