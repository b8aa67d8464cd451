// SPDX-License-Identifier: Apache-2.0
#include "base/vec.h"
#include <assert.h>
#include <stdint.h>

void *vec_grow_(void *items, size_t *cap, size_t item_size)
{
    size_t wanted = *cap ? *cap * 2 : 8;
    assert(wanted > *cap && wanted <= SIZE_MAX / item_size);
    items = mem_realloc(items, wanted * item_size);
    *cap = wanted;
    return items;
}
