// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

/* Where values stood in a text. Lines and columns count from 1; columns count characters. */
struct place {
    int line, column;
};

struct position {
    const yyjson_mut_val *val;
    struct place at;
    struct place key;    /* of the member it is the value of; line 0 when it is none */
    const char *written; /* of a number, true, false or null: its word; in the document, or NULL */
};

struct positions;
struct positions *positions_new(void);
void positions_free(struct positions *positions); /* NULL is fine */
void positions_put(struct positions *positions, struct position position);
const struct position *positions_get(const struct positions *positions, const yyjson_mut_val *val);
