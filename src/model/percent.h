// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"

/* A share of a whole: "80%", or 80 with or without quotes. What could be meant as a part of 1, such
 * as 0.8, is refused unless it has its sign. NULL, or what is wrong (static text). */
const char *percent_parse(struct sv text, double *ret_percent);
/* Refused only for the missing sign, so that a hint can say how to write it. */
bool percent_is_ambiguous(struct sv text);
