// SPDX-License-Identifier: Apache-2.0
#include "model/keyindex.h"
#include <stdlib.h>

struct sv keyindex_text(const yyjson_mut_val *string)
{
    return (struct sv){string->uni.str, unsafe_yyjson_get_len((void *)string)};
}

void keyindex_add(struct keyindex *index, struct sv text, yyjson_mut_val *key, yyjson_mut_val *val)
{
    struct keyref ref = {text, index->refs.len, key, val};
    vec_push(&index->refs, ref);
}

void keyindex_add_object(struct keyindex *index, yyjson_mut_val *object)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(object);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter)))
        keyindex_add(index, keyindex_text(key), key, yyjson_mut_obj_iter_get_val(key));
}

static int compare(const void *a_, const void *b_)
{
    const struct keyref *a = a_, *b = b_;
    int order = sv_cmp(a->text, b->text);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

void keyindex_sort(struct keyindex *index)
{
    if (index->refs.len > 1)
        qsort(index->refs.items, index->refs.len, sizeof(*index->refs.items), compare);
}

struct keyref *keyindex_find(const struct keyindex *index, struct sv text)
{
    size_t low = 0, high = index->refs.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sv_cmp(index->refs.items[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == index->refs.len || !sv_eq(index->refs.items[low].text, text))
        return NULL;
    return &index->refs.items[low];
}

void keyindex_done(struct keyindex *index)
{
    vec_done(&index->refs);
}
