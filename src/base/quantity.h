// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/str.h"
#include <stdint.h>

/* A Kubernetes quantity ("1.5Gi", "100m", "1e3"), exact: an integer number of 10^-9 units in 128
 * bits, no floating point. Finer than 10^-9 is rounded up, as Kubernetes does; out of range is
 * refused. */
typedef __int128 quantity;

int quantity_parse(struct sv text, quantity *ret_q, struct err *err);
/* Canonical text of the value in decimal units: "1500m", "2", "1610612736". */
void quantity_format(quantity q, struct str *out);
/* The same with the largest exact binary suffix: "1536Mi"; for memory. */
void quantity_format_binary(quantity q, struct str *out);
int quantity_cmp(quantity a, quantity b);
/* -ERANGE when the sum does not fit; *ret is then untouched. */
int quantity_add(quantity a, quantity b, quantity *ret);
/* Whole units and thousandths, rounded up, saturating at INT64 limits. */
int64_t quantity_value(quantity q);
int64_t quantity_milli(quantity q);
quantity quantity_of(int64_t units);
quantity quantity_of_milli(int64_t milli);
