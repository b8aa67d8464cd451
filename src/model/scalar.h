// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

/* What a YAML word without quotes means, by the rules that kubectl reads files with: YAML 1.1
 * booleans except the bare letters y and n, integers in four bases with underscores, dates as
 * text. */
enum scalar_type {
    SCALAR_TEXT,
    SCALAR_NULL,
    SCALAR_BOOL,
    SCALAR_UINT,
    SCALAR_SINT, /* negative ones only */
    SCALAR_REAL, /* never a whole number that fits 64 bits */
    SCALAR_MERGE,
    SCALAR_NOT_FINITE, /* .inf, .nan: JSON has no word for them */
    SCALAR_TOO_BIG,    /* hexadecimal, octal or binary, and more than 64 bits */
};

struct scalar {
    enum scalar_type type;
    union {
        bool truth;
        uint64_t u64;
        int64_t i64;
        double real;
    };
};

struct scalar scalar_resolve(struct sv text);
/* Whole numbers become integers: Kubernetes' clients write 1e3 as 1000 before a server sees it. */
struct scalar scalar_of_real(double real);
/* Would some reader, of YAML 1.1 or 1.2, take this for something else than text? */
bool scalar_is_ambiguous(struct sv text);
