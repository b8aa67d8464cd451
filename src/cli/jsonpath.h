// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/json.h"

/* Templates as kubectl's -o jsonpath knows them: text with {paths} in it.
 *     {.metadata.name}  {.items[*].spec}  [0] [-1] [1:3] [::2]  ['a','b.c']  .*  ..name
 *     [?(@.type=="Ready")] with == != < <= > >=, or [?(@.x)] for "has x"
 *     {range .items[*]}...{end}  {"text\n"}  $ is the document, @ the value at hand
 * A template that is one path may leave the braces out. What is missing prints nothing. */
struct jsonpath;
int jsonpath_parse(struct sv text, struct jsonpath **ret_path, struct err *err);
void jsonpath_free(struct jsonpath *path); /* NULL is fine */
/* Appends the result; several values are separated by a space. Returns how many values were
 * found, -ERANGE for an index that a list is too short for, -E2BIG when the template multiplies
 * them beyond reason. */
int jsonpath_print(const struct jsonpath *path, yyjson_val *root, struct str *out, struct err *err);
