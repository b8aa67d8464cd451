// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include <stdbool.h>
#include <stdint.h>

/* A set of completion indexes, kept as what it is in text: rising intervals, "1,3-5,7". Looking one
 * up costs the logarithm of the number of intervals, changing one at most a move of them. Zero-
 * initialise to start. */
struct interval {
    int64_t first, last;
};
struct indexes {
    VEC(struct interval) runs;
    int64_t count;
};
void indexes_done(struct indexes *set);
#define scoped_indexes __attribute__((cleanup(indexes_done))) struct indexes

/* -EINVAL: not rising intervals of numbers below `limit`. "" is the empty set. */
int indexes_parse(struct sv text, int64_t limit, struct indexes *ret_set, struct err *err);
void indexes_format(const struct indexes *set, struct str *out);

bool indexes_has(const struct indexes *set, int64_t index);
bool indexes_add(struct indexes *set, int64_t index);    /* false: it was there */
bool indexes_remove(struct indexes *set, int64_t index); /* false: it was not there */
void indexes_add_range(struct indexes *set, int64_t first, int64_t last);
void indexes_remove_range(struct indexes *set, int64_t first, int64_t last);
int64_t indexes_next(const struct indexes *set, int64_t from);    /* first >= from; -1: none */
int64_t indexes_missing(const struct indexes *set, int64_t from); /* first >= from not in it */
int64_t indexes_common(const struct indexes *a, const struct indexes *b); /* how many in both */
void indexes_assign(struct indexes *to, const struct indexes *from);
