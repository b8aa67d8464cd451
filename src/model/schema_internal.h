// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

/* Between the walk (schema.c) and the checks of single values (check_value.c). */

/* Whoever knows how the value was written shows it behind this. */
#define HINT_QUOTES "write it in quotes"

/* Anything but F_OBJECT: the field itself, or one item of its list or map. */
void check_scalar(struct check *c, const struct field *field, yyjson_mut_val *val);
/* RANGE of the length of a string or list; `unit` names what is counted. */
void check_length(struct check *c, const struct field *field, yyjson_mut_val *val,
                  const char *unit);
/* NON_EMPTY of a string, list or map. true: there is nothing more to look at. */
bool check_empty(struct check *c, const struct field *field, yyjson_mut_val *val);
