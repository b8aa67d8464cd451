// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>

/* Regular expressions in rules that people write. The syntax is POSIX's extended one, with what is
 * common elsewhere understood as well: \d \D \w \W \s \S \b, (?:...) and (?i) at the beginning.
 * What could take unlimited time or memory is refused: back references, and counts that multiply.
 */
#define PATTERN_MAX 512

/* NULL, or why it is none; valid until the next call. */
const char *pattern_problem(const char *pattern);
/* Is there a place in the text that fits? A pattern that is none fits nothing. */
bool pattern_finds(const char *pattern, const char *text);
